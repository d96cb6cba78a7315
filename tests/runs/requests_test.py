#!/usr/bin/env python3
"""The energy of each request, and of prefill and decode: --requests, --per-request, --share, --phases.

Expected values are sums by hand, or the watts that a recording was made of.

usage: tests/runs/requests_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import PROGRAM, ROOT, Folder, near, run_tests, same  # noqa: E402

START = 1777118400  # 2026-04-25T12:00:00Z


def stamp(at):
    whole = math.floor(START + at)
    return time.strftime("%Y/%m/%d %H:%M:%S", time.gmtime(whole)) + f".{round((START + at - whole) * 1000):03d}"


class Run(Folder):
    """Two GPUs of 100 W each; the window is from 10 s to 50 s."""

    def __init__(self, folder, column="power.draw [W]"):
        self.path = pathlib.Path(folder)
        self.column = column
        self.recording([(at, 100) for at in range(61)], gpus=2)
        self.window(10, 50)
        self.write("agg.json", "{}")

    def recording(self, samples, gpus=1, apart_w=0):
        rows = [f"timestamp, index, {self.column}"]
        rows += [f"{stamp(at)}, {gpu}, {watts + apart_w * gpu * (i % 2):.3f} W"
                 for i, (at, watts) in enumerate(samples) for gpu in range(gpus)]
        self.write("gpu.csv", "\n".join(rows) + "\n")
        self.gpus = gpus

    def window(self, start, end):
        self.write("run.json", {"benchmark_start_time_unix": START + start, "benchmark_end_time_unix": START + end,
                                "duration": end - start, "completed": 4, "total_input_tokens": 400,
                                "total_output_tokens": 200})

    def aiperf(self, requests, name="profile_export.jsonl"):
        """Of (start, first token, end, tokens out, phase, failed)."""
        lines = []
        for i, (start, first, end, tokens, *rest) in enumerate(requests):
            phase, failed = (*rest, False)[:2] if rest else ("profiling", False)
            lines.append(json.dumps({
                "metadata": {"x_request_id": f"r{i}", "request_start_ns": round((START + start) * 1e9),
                             "request_end_ns": round((START + end) * 1e9), "benchmark_phase": phase},
                "metrics": {} if failed else {
                    "input_sequence_length": {"value": 100}, "output_sequence_length": {"value": tokens},
                    "time_to_first_token": {"value": (first - start) * 1e3}},
                "error": {"code": 500} if failed else None}))
        return self.write(name, "\n".join(lines) + "\n")

    def call(self, *words, command=()):
        words = command or ("--csv", "gpu.csv", "--bench-result", "run.json", "--agg-result", "agg.json",
                            "--expected-num-gpus", self.gpus, "--timezone", "UTC", *words)
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=self.path, capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"], "TZ": "UTC"})
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
        record = self.path / "power_validation_run.json"
        self.record = json.loads(record.read_text()) if record.exists() else {}
        return self

    def lines(self, name="out.jsonl"):
        return [json.loads(line) for line in (self.path / name).read_text().splitlines()]

    def share(self, *words, requests="profile_export.jsonl"):
        self.call("--requests", requests, "--per-request", "out.jsonl", *words)
        assert (self.path / "out.jsonl").exists(), self.err
        return [line["energy_j"] for line in self.lines()]

    def conserves(self):
        lines = [line["energy_j"] or 0 for line in self.lines()]
        energy = self.record["request_energy"]
        near(self.record["metrics"]["total_gpu_energy_j"],
             sum(lines) + energy["unattributed_j"] + energy.get("unresolved_j", 0), 1e-9, "conservation")


def test_two_requests_that_overlap(folder):
    run = Run(folder)
    run.aiperf([(15, 16, 25, 90), (20, 22, 30, 10)])
    found = run.share()
    # 200 W: 5 s alone and 5 s of two each.
    for energy in found:
        near(1500, energy)
    energy = run.record["request_energy"]
    same(["method", "source", "requests", "unattributed_j", "mean_j", "p50_j", "p95_j", "failed_j",
          "requests_without_times", "requests_without_interval", "assumptions", "refused"], list(energy))
    near(8000 - 3000, energy["unattributed_j"])
    near(1500, energy["mean_j"])
    same(["equal", 2, 0, []], [energy[key] for key in ("method", "requests", "failed_j", "assumptions")])
    same("request_energy", list(run.record)[-2])
    same("computed_from", list(run.record)[-1])
    first = run.lines()[0]
    same({"id": "r0", "start_unix": START + 15.0, "first_token_unix": START + 16.0, "end_unix": START + 25.0,
          "ok": True, "input_tokens": 100, "output_tokens": 90, "energy_j": first["energy_j"],
          "energy_j_low": None, "energy_j_high": None, "share": "equal"}, first)
    assert "2 requests: mean 1500.00 J" in run.out, run.out


def test_requests_that_the_sensor_does_not_resolve_share_one_energy(folder):
    """Under a mean of 1 s, 0.5 s are nobody's: the value is null with the reason, and the sum has it as a remainder."""
    run = Run(folder)
    run.recording([(at / 10, 100 + at % 3) for at in range(610)], gpus=2)
    requests = [(15, 16, 25, 90), (30, 30.2, 30.5, 5), (32, 32.2, 32.9, 5), (34, 34.4, 46, 50)]
    run.aiperf(requests)
    plain = run.share()
    run.conserves()
    assert all(plain) and "unresolved_j" not in run.record["request_energy"], run.record["request_energy"]
    found = run.share("--uncertainty", "--gpu", "H100")
    run.conserves()
    same([plain[0], None, None, plain[3]], found)
    for line, (start, _, end, _) in zip(run.lines(), requests):
        if end - start < 1:
            same(("shorter_than_sensor_window", None, None),
                 (line["no_interval"], line["energy_j_low"], line["energy_j_high"]))
        else:
            assert "no_interval" not in line and line["energy_j_low"] < line["energy_j"] < line["energy_j_high"], line
    energy = run.record["request_energy"]
    same(2, energy["requests_without_interval"])
    near(plain[1] + plain[2], energy["unresolved_j"])
    assert "2 of them are too short for the sensor" in run.out, run.out
    lines = run.lines()
    run.call(command=(*MEASURE, "--requests", "profile_export.jsonl", "--per-request", "measured.jsonl",
                      "--uncertainty", "--gpu", "H100", "--json"))
    same(lines, run.lines("measured.jsonl"))
    same(energy, json.loads(run.out)["runs"][0]["request_energy"])
    # A burst just behind one of 1.05 s: how much of it is of that one, the readings do not show.
    run.recording([(at / 10, 900 if 300 <= at < 309 else 60) for at in range(610)], gpus=2)
    run.aiperf([(28.485, 28.6, 29.535, 5), (40, 41, 50, 5)])
    found = run.share("--uncertainty", "--gpu", "H100")
    same([None, "not_resolved"], [found[0], run.lines()[0].get("no_interval")])
    run.conserves()


def test_by_tokens(folder):
    run = Run(folder)
    run.aiperf([(15, 16, 25, 90), (20, 22, 30, 10)])  # 9 and 1 tokens/s
    found = run.share("--share", "tokens")
    near(1000 + 900, found[0])
    near(100 + 1000, found[1])
    near(1100 + 0.95 * 800, run.record["request_energy"]["p95_j"])
    run.conserves()


def test_what_reaches_over_an_edge_counts_inside(folder):
    run = Run(folder)
    run.aiperf([(0, 5, 9, 5, "warmup"), (5, 6, 12, 5, "warmup"), (48, 49, 70, 5), (20, 20, 21, 0, "profiling", True)])
    same([0, 400, 400, 200], [round(each, 6) for each in run.share()])
    lines = run.lines()
    same([True, True, None, None], [line.get("warm_up") for line in lines])
    same([True, True, True, False], [line["ok"] for line in lines])
    energy = run.record["request_energy"]
    same(3, energy["requests"])
    near(200, energy["failed_j"])
    near(400, energy["p50_j"])  # of 200, 400, 400
    near(400, energy["p95_j"])
    run.conserves()


def test_times_of_a_monotonic_clock(folder):
    run = Run(folder)
    run.write("vllm.json", {
        "date": "20260425-120050", "backend": "vllm", "tokenizer_id": "m", "num_prompts": 3, "duration": 40.0,
        "completed": 2, "total_input_tokens": 2, "total_output_tokens": 2, "input_lens": [7, 8, 0],
        "output_lens": [3, 4, 0], "ttfts": [1.0, 2.0, 0.0], "itls": [[2.0, 2.0], [3.0], []],
        "start_times": [1005.0, 1000.0, 1001.0], "errors": ["", "", "broken"]})
    found = run.share(requests="vllm.json")
    # The smallest start is set on 10 s: 15 to 20, and 10 to 15. Of the failed one no end is known.
    near(1000, found[0])
    near(1000, found[1])
    same(None, found[2])
    lines = run.lines()
    same([START + 15, START + 16, START + 20], [lines[0][key] for key in ("start_unix", "first_token_unix", "end_unix")])
    same([1, 2, 3], [line["id"] for line in lines])
    same(["first_request_starts_with_window"], run.record["request_energy"]["assumptions"])
    same(1, run.record["request_energy"]["requests_without_times"])
    run.conserves()


def test_every_generator(folder):
    run = Run(folder)
    s = START
    files = {
        "guidellm": {"metadata": {"guidellm_version": "0.6"}, "benchmarks": [{
            "start_time": s + 10, "end_time": s + 50, "requests": {"successful": [
                {"request_id": "a", "request_start_time": s + 15, "request_end_time": s + 25,
                 "time_to_first_token_ms": 1000, "prompt_tokens": 5, "output_tokens": 5}]}}]},
        "trtllm": [{"id": 4, "num_input_tokens": 5, "start_timestamp": 10**12, "first_token_timestamp": 1001 * 10**9,
                    "end_timestamp": 101 * 10**10, "num_output_tokens": 5}],
        "inference_perf": [{"start_time": 500.0, "end_time": 510.0, "info": {"input_tokens": 5, "output_tokens": 5}}],
        "perf_analyzer": {"experiments": [{"experiment": {"mode": "request_rate", "value": 1}, "requests": [
            {"timestamp": (s + 15) * 10**9, "response_timestamps": [(s + 16) * 10**9, (s + 25) * 10**9]}]}]}}
    for name, content in files.items():
        run.write("requests.json", content)
        found = run.share(requests="requests.json")
        same(1, len(found), name)
        near(2000, found[0], 1e-6, name)


def test_the_result_itself_lists_them(folder):
    run = Run(folder)
    run.window(10, 50)
    lines = run.aiperf([(10, 11, 20, 5), (30, 31, 50, 5)])
    run.call("--per-request", "out.jsonl")  # this one does not
    assert "run.json lists no requests with their times: give the requests of AIPerf" in run.err, run.err
    run.write("run.json", (run.path / lines).read_text())
    run.call("--per-request", "out.jsonl")
    same([2000, 4000], [round(line["energy_j"], 5) for line in run.lines()])


def test_a_number_is_still_the_count(folder):
    run = Run(folder)
    run.call("--requests", "8")
    near(8000 / 8, run.record["metrics"]["joules_per_successful_query"])
    assert "request_energy" not in run.record
    run.call("--requests", "0")
    same(2, run.status)
    assert "a whole number above 0" in run.err, run.err


def test_files_that_cannot_be_used(folder):
    run = Run(folder)
    before = (run.path / "agg.json").read_text()
    for content, message in (("", "requests.json"), ("[1, 2", "requests.json"), ("{}", "requests.json"),
                             ('{"metadata": {"request_start_ns": 1', "requests.json"),
                             ({"backend": "vllm", "tokenizer_id": "m", "num_prompts": 1, "date": "20260425-120050",
                               "duration": 4.0, "completed": 1}, "--save-detailed")):
        run.write("requests.json", content)
        run.call("--requests", "requests.json", "--per-request", "out.jsonl")
        assert "error: " in run.err and message in run.err, run.err
        same(before, (run.path / "agg.json").read_text())
        assert not (run.path / "out.jsonl").exists()
    run.call("--requests", "nothing.jsonl")
    assert "nothing.jsonl" in run.err, run.err
    # A file that breaks off, or has other times than numbers.
    text = (run.path / run.aiperf([(15, 16, 25, 90), (20, 22, 30, 10)])).read_text()
    run.write("requests.json", text[:-30])
    run.call("--requests", "requests.json", "--per-request", "out.jsonl")
    assert "error: " in run.err and not (run.path / "out.jsonl").exists(), run.err


def test_no_input_is_overwritten(folder):
    run = Run(folder)
    run.aiperf([(15, 16, 25, 90)])
    os.link(run.path / "gpu.csv", run.path / "link.csv")
    files = ["gpu.csv", "run.json", "agg.json", "profile_export.jsonl", "power_validation_run.json", "link.csv", "./gpu.csv"]
    before = {name: (run.path / name).read_text() for name in files if (run.path / name).exists()}
    for name in files:
        run.call("--requests", "profile_export.jsonl", "--per-request", name)
        assert "would overwrite" in run.err, (name, run.err)
    same(before, {name: (run.path / name).read_text() for name in before})
    run.call("--requests", "profile_export.jsonl", "--per-request", "out.jsonl", "--dry-run")
    assert not (run.path / "out.jsonl").exists()


def test_a_run_that_is_not_valid_has_none(folder):
    run = Run(folder)
    run.aiperf([(15, 16, 25, 90)])
    run.share("--phases")
    run.window(10, 500)
    run.call("--requests", "profile_export.jsonl", "--per-request", "out.jsonl", "--phases")
    same([], run.lines())
    same(["power_not_valid"], run.record["request_energy"]["refused"])
    assert "mean_j" not in run.record["request_energy"]
    same({"refused": ["power_not_valid"]}, run.record["phase_energy"])


def test_requests_of_another_day(folder):
    run = Run(folder)
    run.aiperf([(90015, 90016, 90025, 90)])
    run.call("--requests", "profile_export.jsonl", "--per-request", "out.jsonl", "--phases")
    same(["no_request_in_window"], run.record["request_energy"]["refused"])
    same([], run.lines())


def test_conservation_of_random_requests(folder):
    chance = random.Random(1)
    for share in ("equal", "tokens"):
        run = Run(folder)
        run.recording([(at / 4, chance.uniform(50, 700)) for at in range(241)], gpus=3, apart_w=1)
        requests = []
        for _ in range(400):
            start = chance.uniform(0, 55)
            first = start + chance.expovariate(1)
            requests.append((start, first, first + chance.expovariate(0.3), chance.randrange(1000), "profiling",
                             chance.random() < 0.1))
        run.aiperf(requests)
        run.share("--share", share)
        run.conserves()


def phase_run(folder, seconds=400, sensor_s=1.0, closed=False, column="power.draw.average [W]"):
    """A GPU of 100 W, and 200 W for each prefill and 20 W for each decode."""
    chance = random.Random(7)
    run = Run(folder, column)
    requests = []
    if closed:
        for slot in range(8):
            at = 5 + 0.1 * slot
            while at < seconds - 5:
                first = at + chance.uniform(0.3, 0.9)
                requests.append((at, first, first + chance.uniform(1, 4), 50))
                at = requests[-1][2]
    else:
        at = 5
        while (at := at + chance.expovariate(0.8)) < seconds - 10:
            first = at + chance.uniform(0.3, 0.9)
            requests.append((at, first, first + chance.uniform(1, 4), 50))
    cells = 100  # a second
    watts = [100.0] * (seconds + 10) * cells
    for start, first, end, _ in requests:
        for cell in range(round(start * cells), round(first * cells)):
            watts[cell] += 200
        for cell in range(round(first * cells), round(end * cells)):
            watts[cell] += 20
    sums = [0.0]
    for each in watts:
        sums.append(sums[-1] + each)
    span = round(sensor_s * cells)
    samples = []
    for second in range(2, seconds + 8):
        end = second * cells - chance.randrange(1, 11) - 1  # up to 0.1 s old, and a little late
        samples.append((second + chance.randrange(1, 10) / 1000, (sums[end] - sums[end - span]) / span))
    run.recording(samples)
    run.window(5, seconds)
    run.aiperf(requests)
    run.requests = requests
    return run


def test_the_watts_of_phases(folder):
    run = phase_run(folder)
    run.share("--phases")
    phases = run.record["phase_energy"]
    same(["model", "r2", "condition", "sensor_window_s", "idle", "prefill", "decode", "unexplained_j", "assumptions",
          "refused"], list(phases))
    same(["counts", []], [phases["model"], phases["refused"]])
    near(200, phases["prefill"]["watts_each"], 0.02, "prefill")
    near(20, phases["decode"]["watts_each"], 0.03, "decode")
    near(100, phases["idle"]["watts"], 0.02, "idle")
    for phase, truth in (("prefill", 200), ("decode", 20)):
        error = phases[phase]["standard_error"]
        assert 0 < error and abs(phases[phase]["watts_each"] - truth) < 3 * error, phases[phase]
    near(run.record["metrics"]["total_gpu_energy_j"],
         sum(phases[phase]["energy_j"] for phase in ("idle", "prefill", "decode")) + phases["unexplained_j"], 1e-9)
    near(phases["prefill"]["energy_j"] / (100 * len(run.requests)), phases["prefill"]["joules_per_input_token"], 1e-6)
    near(phases["decode"]["energy_j"] / (50 * len(run.requests)), phases["decode"]["joules_per_output_token"], 1e-6)
    assert "prefill " in run.out and "model counts" in run.out, run.out
    same(2, run.out.count(" W for each request in flight, "), run.out)
    same(["phase_energy", "computed_from"], list(run.record)[-2:])


def test_by_the_watts_of_phases(folder):
    run = phase_run(folder)
    found = run.share("--share", "phase", "--phases")
    run.conserves()
    # A request that is alone has all of the power, whatever the weights are.
    equal = run.share()
    assert found != equal
    inputs = [first - start for start, first, _, _ in run.requests]
    # Long prefills cost more than equal shares say.
    longest = max(range(len(inputs)), key=inputs.__getitem__)
    assert found[longest] > equal[longest]


def test_phases_that_cannot_be_told_apart(folder):
    run = phase_run(folder, closed=True)
    run.share("--share", "phase", "--phases")
    same({"refused": ["phase_never_varies"]}, run.record["phase_energy"])
    same(["phase_never_varies"], run.record["request_energy"]["refused"])
    same([], run.lines())
    assert "no power of prefill and decode: phase_never_varies" in run.out, run.out
    run = phase_run(folder, seconds=22)
    run.call("--requests", "profile_export.jsonl", "--phases")
    same(["too_few_readings"], run.record["phase_energy"]["refused"])
    run = Run(folder)  # its stamps are whole seconds
    run.aiperf([(15, 16, 25, 90), (20, 22, 30, 10)])
    run.call("--requests", "profile_export.jsonl", "--phases")
    same(["stamps_of_whole_seconds"], run.record["phase_energy"]["refused"])


MEASURE = ("measure", "run.json", "gpu.csv", "--timezone", "UTC")


def test_measure_says_the_same(folder):
    run = phase_run(folder)
    run.share("--phases", "--share", "phase", "--uncertainty", "--gpu", "H100")
    lines, record = run.lines(), run.record
    ask = ("--requests", "profile_export.jsonl", "--per-request", "measured.jsonl", "--share", "phase", "--phases",
           "--uncertainty", "--gpu", "H100")
    run.call(command=(*MEASURE, *ask, "--json"))
    same(0, run.status, run.err)
    found = json.loads(run.out)["runs"][0]
    for key in ("request_energy", "phase_energy"):
        same(record[key], found.pop(key), key)
    same(lines, run.lines("measured.jsonl"))
    run.call(command=(*MEASURE, "--uncertainty", "--gpu", "H100", "--json"))
    same(json.loads(run.out)["runs"][0], found)
    run.call("--requests", "profile_export.jsonl", "--phases")
    told = run.out.splitlines()[-2:]
    run.call(command=(*MEASURE, "--requests", "profile_export.jsonl", "--phases"))
    shown = " ".join(line[14:] for line in run.out.splitlines())  # the table breaks long lines
    for line in told:
        assert line.removeprefix("aggregate-power: ") in shown, (line, run.out)
    assert "\nrequests      " in run.out and "\nphases        prefill" in run.out, run.out
    run.call(command=(*MEASURE, "--requests", "profile_export.jsonl", "--out", "new.json"))
    written = json.loads((run.path / "power_validation_new.json").read_text())
    same("equal", written["request_energy"]["method"])
    assert "profile_export.jsonl" in written["computed_from"]["inputs"], written["computed_from"]


def test_measure_of_what_has_no_requests(folder):
    run = Run(folder)
    run.aiperf([(15, 16, 25, 90), (20, 22, 30, 10)])
    run.write("other.csv", (run.path / "gpu.csv").read_text().replace("100.000 W", "101.000 W"))
    for name in ("guidellm.json", "gpu_metrics.csv"):  # of two benchmarks
        run.write(name, (ROOT / "testdata" / "results" / name).read_text())
    requests = ("--requests", "profile_export.jsonl")
    given = ("measure", "--telemetry", "gpu.csv", "--start", START + 10, "--end", "+40s", "--timezone", "UTC")
    for command, message in [
            ((*MEASURE, "other.csv", *requests), "take one recording, and there are 2"),
            (("measure", "guidellm.json", "gpu_metrics.csv", *requests), "take one benchmark; choose it with --select"),
            ((*given, "--per-request", "out.jsonl"), "expected --requests FILE, which lists the requests"),
            ((*MEASURE, *requests, "--per-request", "gpu.csv"), "would overwrite"),
            ((*MEASURE, *requests, "--out", "new.json", "--per-request", "power_validation_new.json"),
             "would overwrite"),
            ((*MEASURE, "--requests", "gone.jsonl"), "gone.jsonl"),
            ((*MEASURE, "--per-request", "out.jsonl"), "run.json lists no requests with their times")]:
        before = {path.name: path.read_text() for path in run.path.iterdir()}
        run.call(command=command)
        same(2, run.status, run.err)
        assert message in run.err, (message, run.err)
        same(before, {path.name: path.read_text() for path in run.path.iterdir()})
    run.call(command=(*given, *requests, "--per-request", "out.jsonl"))
    same([1500, 1500], [round(line["energy_j"], 6) for line in run.lines()])
    run.window(10, 500)
    run.call(command=(*MEASURE, *requests, "--per-request", "out.jsonl", "--json"))
    same(["power_not_valid"], json.loads(run.out)["runs"][0]["request_energy"]["refused"])
    same([], run.lines())


def test_shares_of_nothing(folder):
    run = Run(folder)
    (run.path / "gpu_metrics.csv").write_text((run.path / "gpu.csv").read_text())
    before = (run.path / "agg.json").read_text()
    for command in (("--csv", "gpu.csv", "--bench-result", "run.json", "--agg-result", "agg.json",
                     "--expected-num-gpus", "2", "--requests", "4"), MEASURE,
                    ("agentic", "--result-dir", ".", "--agg-result", "agg.json")):
        for share in ("equal", "tokens"):
            run.call(command=(*command, "--share", share))
            same(2, run.status, run.err)
            assert "--share: " in run.err and "add --per-request FILE, or --requests" in run.err, run.err
    same(before, (run.path / "agg.json").read_text())


def test_schema_1_has_no_energy(folder):
    run = Run(folder)
    run.aiperf([(15, 16, 25, 90)])
    for option in (["--phases"], ["--requests", "profile_export.jsonl"], ["--per-request", "out.jsonl"]):
        run.call(command=("--csv", "gpu.csv", "--bench-result", "run.json", "--agg-result", "agg.json", *option))
        same(2, run.status)
        assert f"{option[0]}: expected schema 2" in run.err, run.err


def test_agents_have_their_own_requests(folder):
    run = Run(folder)
    (run.path / "gpu.csv").rename(run.path / "gpu_metrics.csv")
    run.write("profile_export_aiperf.json", {"start_time": "2026-04-25T12:00:10", "end_time": "2026-04-25T12:00:50"})
    run.write("profile_export_aiperf.json", {
        "start_time": "2026-04-25T12:00:10", "end_time": "2026-04-25T12:00:50", "was_cancelled": False,
        "input_config": {}, "benchmark_duration": {"unit": "sec", "avg": 40}, "request_latency": {"unit": "ms"}})
    run.aiperf([(12, 13, 22, 50), (17, 18, 27, 50)])
    run.call(command=("agentic", "--result-dir", ".", "--agg-result", "agg.json", "--timezone", "UTC",
                      "--profile-timezone", "UTC", "--per-request", "out.jsonl"))
    record = json.loads((run.path / "power_validation.json").read_text())
    same([], record["reasons"], run.err)
    same([1500, 1500], [round(line["energy_j"], 6) for line in run.lines()])
    same(2, record["request_energy"]["requests"])
    run.call(command=("agentic", "--result-dir", ".", "--agg-result", "agg.json", "--per-request",
                      "profile_export.jsonl"))
    assert "would overwrite" in run.err, run.err


def test_llama_bench_needs_no_model(folder):
    """A test of prompts alone is prefill, one of generation alone is decode."""
    run = Run(folder)
    # 400 W while prompts are processed from 10 s to 30 s, 150 W while tokens are generated from 40 s to 60 s.
    run.recording([(at / 2, 400 if 10 <= at / 2 < 30 else 150 if 40 <= at / 2 < 60 else 50) for at in range(240)])
    tests = [{"build_commit": "a", "model_filename": "m", "n_prompt": prompt, "n_gen": gen, "n_depth": 0,
              "test_time": "2026-04-25T12:00:%02dZ" % at, "samples_ns": [10 * 10**9] * 2}
             for prompt, gen, at in ((512, 0, 10), (0, 128, 40))]
    run.write("llama.json", tests)
    run.call(command=("measure", "llama.json", "--telemetry", "gpu.csv", "--timezone", "UTC", "--json"))
    runs = json.loads(run.out)
    runs = runs["runs"] if isinstance(runs, dict) and "runs" in runs else runs
    prefill, decode = runs
    near(400 * 20 / 1024, prefill["joules_per_input_token"], 0.05)
    assert "joules_per_output_token" not in prefill, prefill
    near(150 * 20 / 256, decode["joules_per_output_token"], 0.05)
    assert "joules_per_input_token" not in decode, decode


def test_many_requests_take_little_time(folder):
    run = phase_run(folder, seconds=1000)
    chance = random.Random(2)
    requests = []
    for _ in range(100_000):
        start = chance.uniform(0, 990)
        first = start + chance.uniform(0.2, 0.8)
        requests.append((start, first, first + chance.uniform(1, 4), 50))
    run.aiperf(requests)
    began = time.monotonic()
    run.share("--phases")
    took = time.monotonic() - began
    run.conserves()
    overlaps = sum(end - start for start, _, end, _ in requests)  # a reading a second
    print(f"# 100,000 requests, {overlaps:.0f} overlaps with readings: {took:.2f} s")
    assert took < 60 * overlaps / 1e6, took  # the program may be built without optimization


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
