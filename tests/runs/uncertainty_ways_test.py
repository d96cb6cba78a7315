#!/usr/bin/env python3
"""Checks --uncertainty of every way to measure a run: the estimate of all GPUs is one, wherever their readings are.

Four GPUs draw a load that varies, and their sensors show its mean over the second before. What is asked of one recording
of all of them is asked again of the same readings as hosts, nodes, a package, agents and a store.

usage: tests/runs/uncertainty_ways_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import datetime
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in ("tests", "tests/multinode"):
    sys.path.insert(0, str(ROOT / folder))
from native_test import Node  # noqa: E402
from package_builder import PIN, AgenticLoad, Gpu, Load, Package  # noqa: E402
import running  # noqa: E402
from running import PROGRAM, run_tests  # noqa: E402

START = 1_800_000_000
LENGTH = 60
RUN = {"benchmark_start_time_unix": START, "benchmark_end_time_unix": START + LENGTH, "duration": LENGTH,
       "completed": 50, "total_input_tokens": 3000, "total_output_tokens": 700}
H100 = "NVIDIA H100 80GB HBM3"
CLOCK = ["--clock-uncertainty", "0.02"]


def power(gpu, t):
    """The mean over the second before, of 100 W and in the window a wave around 400 W and more."""
    steps = [t - 1 + (i + 0.5) / 20 for i in range(20)]
    return sum(400 + 20 * gpu + 40 * math.sin(s / 3 + gpu) if 0 <= s < LENGTH else 100 + 10 * gpu
               for s in steps) / 20


def rows(gpus, offset=0.0, first=0, model=H100, stamp=lambda unix_s: f"{unix_s:.3f}"):
    """A recording; `first` is subtracted from the GPUs' numbers, `offset` added to the clock."""
    lines = ["timestamp,index,name,power.draw [W]" if model else "timestamp,index,power.draw [W]"]
    for step in range(-50, 351):
        t = step / 5 + 0.07
        for gpu in gpus:
            named = f",{model}" if model else ""
            lines.append(f"{stamp(START + t + offset)},{gpu - first}{named},{power(gpu, t):.2f}")
    return "\n".join(lines) + "\n"


def utc(unix_s):
    return datetime.datetime.fromtimestamp(round(unix_s, 3), datetime.timezone.utc).strftime(
        "%Y/%m/%d %H:%M:%S.%f")[:-3]


class Folder(running.Folder):
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.write("run.json", json.dumps(RUN))
        self.write("agg.json", json.dumps({"hw": "h100", "tp": 4}, indent=2))

    def call(self, *arguments, status=0):
        environment = {key: value for key, value in os.environ.items()
                       if key not in ("REQUIRE_POWER", "GPU_METRICS_CSV", "POWER_ARTIFACT_DIR")}
        done = subprocess.run([PROGRAM, *arguments], cwd=self.path, capture_output=True, text=True,
                              env=environment)
        assert done.returncode == status, (arguments, done.returncode, done.stderr)
        self.printed = done.stdout + done.stderr
        return self.printed

    def patch(self, *arguments, record="record.json"):
        """A run of some way; its record."""
        self.call(*arguments, "--bench-result", "run.json", "--agg-result", "agg.json",
                  "--validation-result", record)
        return self.json(record)

    def alone(self, *more):
        self.write("all.csv", rows(range(4)))
        return self.patch("--csv", "all.csv", "--expected-num-gpus", "4", *more)

    def hosts(self, *more, offset=0.0):
        self.write("a.csv", rows([0, 1]))
        self.write("b.csv", rows([2, 3], offset, first=2))
        return self.patch("multinode", "--host", "a=a.csv", "--host", "b=b.csv", *more)


def near(found, wanted, tolerance=1e-9, what=""):
    assert abs(found - wanted) <= tolerance * max(abs(found), abs(wanted), 1e-9), (what, found, wanted)


def numbers(value, place=""):
    """All numbers of a JSON value, by their place."""
    if isinstance(value, dict):
        return {k: n for key, each in value.items() for k, n in numbers(each, f"{place}.{key}").items()}
    if isinstance(value, list):
        return {k: n for i, each in enumerate(value) for k, n in numbers(each, f"{place}[{i}]").items()}
    return {place: value} if isinstance(value, (int, float)) and not isinstance(value, bool) else {}


def adds_up(energy):
    """Components sum in squares; the interval is 1.96 standard uncertainties on each side."""
    u = energy["standard_uncertainty"]
    near(math.sqrt(sum(c["relative"]**2 for c in energy["components"])) * energy["estimate"], u)
    near(energy["estimate"] - energy["low"], 1.96 * u, 1e-8)
    near(energy["high"] - energy["estimate"], 1.96 * u, 1e-8)


def same(found, wanted, names=None, tolerance=1e-9):
    """Two objects `uncertainty`; `names` are those of the GPUs in the first for those in the second."""
    assert found["available"] and wanted["available"], (found["reasons"], wanted["reasons"])
    for key in ("method", "assumptions", "boundary"):
        assert found[key] == wanted[key], (key, found[key], wanted[key])
    assert ([v["code"] for v in found["verdicts"]] == [v["code"] for v in wanted["verdicts"]]), found["verdicts"]
    names = names or {gpu: gpu for gpu in wanted["per_gpu"]}
    assert list(found["per_gpu"]) == list(names.values()), list(found["per_gpu"])
    wanted = dict(wanted, per_gpu={names[gpu]: each for gpu, each in wanted["per_gpu"].items()})
    ours, theirs = numbers(found), numbers(wanted)
    assert ours.keys() == theirs.keys(), ours.keys() ^ theirs.keys()
    for place, number in theirs.items():
        near(ours[place], number, tolerance, place)
    adds_up(found["total_gpu_energy_j"])
    for gpu in found["per_gpu"].values():
        adds_up(gpu["energy_j"])


def without(record):
    """The record but for what --uncertainty adds."""
    record = json.loads(json.dumps(record))
    asked = record.pop("uncertainty", None)
    options = record["computed_from"].get("options", {})
    for key in ("uncertainty", "gpu", "sensor_accuracy", "clock_uncertainty_s"):
        options.pop(key, None)
    if not options:
        record["computed_from"].pop("options", None)
    return asked, record


def states_interval(text, total):
    """Of an energy of some hundred kJ, to four digits."""
    bounds = re.search(r"\(95 %: ([\d.]+) to ([\d.]+) kJ; ", text)
    assert bounds, text
    near(1000 * float(bounds[1]), total["low"], 1e-3)
    near(1000 * float(bounds[2]), total["high"], 1e-3)


def adds_only_the_object(folder, patch, *more):
    """`patch` with and without the option: all else stays, to the byte in the aggregate."""
    plain = patch()
    assert "uncertainty" not in plain and "uncertainty" not in plain["computed_from"].get("options", {})
    patched = (folder.path / "agg.json").read_bytes()
    asked, rest = without(patch("--uncertainty", *more))
    total = asked["total_gpu_energy_j"]
    states_interval(folder.printed, total)
    assert json.dumps(rest) == json.dumps(plain)
    assert (folder.path / "agg.json").read_bytes() == patched
    assert asked["total_gpu_energy_j"]["published"] == sum(plain["per_gpu_energy_j"].values())
    near(asked["total_gpu_energy_j"]["published"], plain["metrics"]["total_gpu_energy_j"], 1e-8)
    return asked


def is_refused(record):
    assert record["power_valid"] is False
    assert record["uncertainty"] == {"available": False, "reasons": ["power_not_valid"]}


# ---- One recording, and the same readings in several

def test_one_recording(folder):
    folder.alone()
    adds_only_the_object(folder, folder.alone)
    is_refused(folder.alone("--uncertainty", "--expected-num-gpus", "3"))
    options = folder.alone("--uncertainty", "--gpu", "H100", "--sensor-accuracy", "0.01", *CLOCK)
    assert options["computed_from"]["options"] == {
        "uncertainty": "true", "gpu": "H100", "sensor_accuracy": "0.01", "clock_uncertainty_s": "0.02"}


def test_hosts(folder):
    alone = folder.alone("--uncertainty", *CLOCK)["uncertainty"]
    names = dict(zip("0123", ["a/0", "a/1", "b/0", "b/1"]))
    folder.hosts()
    same(adds_only_the_object(folder, folder.hosts, *CLOCK), alone, names)
    # The same readings by a clock that is 7.5 s behind: their stamps round otherwise, by 1e-7 s.
    late = folder.hosts("--uncertainty", *CLOCK, "--clock-offset", "b=7.5", offset=-7.5)
    same(late["uncertainty"], alone, names, 1e-6)
    is_refused(folder.hosts("--uncertainty", "--expected-num-gpus", "5"))


def test_clocks_of_several_hosts_are_less_sure(folder):
    alone = folder.alone("--uncertainty")
    assert alone["uncertainty"] == folder.alone("--uncertainty", "--clock-uncertainty", "0.01")["uncertainty"]
    hosts = folder.hosts("--uncertainty")["uncertainty"]
    assert hosts == folder.hosts("--uncertainty", "--clock-uncertainty", "0.05")["uncertainty"]
    timing = [next(c["relative"] for c in each["total_gpu_energy_j"]["components"] if c["name"] == "timing")
              for each in (alone["uncertainty"], hosts)]
    assert timing[1] > timing[0]
    one = folder.patch("multinode", "--host", "a=all.csv", "--uncertainty")["uncertainty"]
    same(one, alone["uncertainty"], {gpu: f"a/{gpu}" for gpu in "0123"})


def test_hosts_with_stamps_of_whole_seconds(folder):
    """Stamps are judged by their own clock: a host's are cut although the offset is not whole."""
    cut = "\n".join(line for line in rows([2, 3], -7.5, first=2, stamp=lambda s: str(math.floor(s))).split("\n"))
    folder.write("a.csv", rows([0, 1]))
    folder.write("b.csv", cut)
    record = folder.patch("multinode", "--host", "a=a.csv", "--host", "b=b.csv", "--clock-offset", "b=7.5",
                          "--uncertainty")
    gpus = record["uncertainty"]["per_gpu"]
    assert [gpus[gpu]["sensor"]["stamps"] for gpu in ("a/0", "b/0")] == ["query_time", "whole_seconds"]
    cut_by = {gpu: {c["name"] for c in each["energy_j"]["components"]} for gpu, each in gpus.items()}
    assert "stamp_cut" in cut_by["b/0"] and "stamp_cut" not in cut_by["a/0"], cut_by


def test_measure(folder):
    alone = folder.alone("--uncertainty", *CLOCK)["uncertainty"]
    measured = json.loads(folder.call("measure", "run.json", "all.csv", "--json", "--uncertainty", *CLOCK))
    same(measured["runs"][0]["uncertainty"], alone)
    folder.hosts()
    several = json.loads(folder.call("measure", "run.json", "a.csv", "b.csv", "--json", "--uncertainty", *CLOCK))
    run = several["runs"][0]
    same(run["uncertainty"], alone, dict(zip("0123", ["a.csv/0", "a.csv/1", "b.csv/0", "b.csv/1"])))
    plain = json.loads(folder.call("measure", "run.json", "a.csv", "b.csv", "--json", "--no-uncertainty"))["runs"][0]
    assert {key: each for key, each in run.items() if key != "uncertainty"} == plain
    text = folder.call("measure", "run.json", "a.csv", "b.csv", "--uncertainty", *CLOCK)
    total = alone["total_gpu_energy_j"]
    states_interval(text, total)


def test_measure_writes_a_record(folder):
    alone = folder.alone("--uncertainty", *CLOCK)["uncertainty"]
    folder.call("measure", "run.json", "all.csv", "--uncertainty", *CLOCK, "--out", "new.json")
    same(folder.json("power_validation_new.json")["uncertainty"], alone)
    folder.call("measure", "run.json", "all.csv", "--uncertainty", "--expected-num-gpus", "3", "--out",
                "new.json", status=1)
    is_refused(folder.json("power_validation_new.json"))


def test_a_model_that_only_the_aggregate_names(folder):
    """Its name is what the aggregate calls the GPUs, in each way."""
    folder.write("a.csv", rows([0, 1], model=None))
    folder.write("b.csv", rows([2, 3], first=2, model=None))
    hosts = folder.patch("multinode", "--host", "a=a.csv", "--host", "b=b.csv", "--uncertainty")
    sensor = hosts["uncertainty"]["per_gpu"]["b/1"]["sensor"]
    assert (sensor["name"], sensor["known_from"], sensor["window_s"]) == ("h100", "aggregate", [1.0]), sensor


# ---- Agents

def profile(folder, path="results"):
    """AIPerf's exports of one request as long as the window."""
    text = datetime.datetime.fromtimestamp(START, datetime.timezone.utc)
    summary = {"start_time": text.isoformat(), "end_time": (text + datetime.timedelta(seconds=LENGTH)).isoformat(),
               "request_count": {"unit": "requests", "avg": 1}}
    request = {"metadata": {"session_num": 0, "request_start_ns": START * 10**9,
                            "request_end_ns": (START + LENGTH) * 10**9, "benchmark_phase": "profiling",
                            "was_cancelled": False},
               "metrics": {"input_sequence_length": {"value": 3000, "unit": "tokens"},
                           "output_sequence_length": {"value": 700, "unit": "tokens"}}, "error": None}
    folder.write(f"{path}/aiperf_artifacts/profile_export_aiperf.json", json.dumps(summary))
    folder.write(f"{path}/aiperf_artifacts/profile_export.jsonl", json.dumps(request) + "\n")
    folder.write(f"{path}/gpu_metrics.csv", rows(range(4)))


def agents(folder, *more):
    folder.call("agentic", "--result-dir", "results", "--agg-result", "agg.json", *more)
    return folder.json("results/power_validation.json")


def test_agents(folder):
    alone = folder.alone("--uncertainty", *CLOCK)["uncertainty"]
    folder.write("agg.json", json.dumps({"hw": "h100", "tp": 4}, indent=2))
    profile(folder)
    patch = lambda *more: agents(folder, "--expected-num-gpus", "4", *more)  # noqa: E731
    patch()
    found = adds_only_the_object(folder, patch, *CLOCK)
    for key in ("total_gpu_energy_j", "per_gpu"):
        assert numbers(found[key]) == numbers(alone[key])
    is_refused(agents(folder, "--expected-num-gpus", "3", "--uncertainty"))
    (folder.path / "results/aiperf_artifacts/profile_export.jsonl").unlink()
    is_refused(agents(folder, "--uncertainty"))


# ---- Packages

def nodes(folder, path="LOGS/native_power", model=H100, identity="index, uuid\n0, uuid-{0}-0\n1, uuid-{0}-1\n"):
    for rank in (0, 1):
        node = Node(rank, "prefill" if rank == 0 else "decode", 0)
        node.manifest |= {"selected_gpu_indices": [0, 1], "collection_start_unix": START - 20,
                          "collection_end_unix": START + LENGTH + 20}
        node.before = node.after = identity.format(rank)
        node.csv = rows([2 * rank, 2 * rank + 1], first=2 * rank, model=model, stamp=utc)
        for name, text in node.files().items():
            folder.write(f"{path}/{node.folder}/{name}", text)


def test_native_package(folder):
    alone = folder.alone("--uncertainty", *CLOCK)["uncertainty"]
    nodes(folder)
    gpus = ["--power-dir", "LOGS/native_power", "--prefill-gpus", "2", "--decode-gpus"]
    patch = lambda *more: folder.patch("multinode", *gpus, "2", *more)  # noqa: E731
    patch()
    found = adds_only_the_object(folder, patch, *CLOCK)
    same(found, alone, dict(zip("0123", ["uuid-0-0", "uuid-0-1", "uuid-1-0", "uuid-1-1"])))
    is_refused(folder.patch("multinode", *gpus, "3", "--uncertainty"))
    nodes(folder, model=None, identity=f"index, uuid, name\n0, uuid-{{0}}-0, {H100}\n1, uuid-{{0}}-1, {H100}\n")
    sensor = patch("--uncertainty", *CLOCK)["uncertainty"]["per_gpu"]["uuid-1-0"]["sensor"]
    assert (sensor["name"], sensor["known_from"]) == (H100, "identity_file"), sensor


def package(load, watts, **options):
    gpus = [Gpu(host, i, role, watts(2 * n + i), n) for n, (host, role) in
            enumerate((("node-a", "prefill"), ("node-b", "decode"))) for i in (0, 1)]
    made = Package(gpus, [load], first=START - 20.4, last=START + LENGTH + 20.0, **options)
    made.changes = {"started_at_unix": START - 30.0, "stopped_at_unix": START + LENGTH + 30.0}
    return made


def package_patch(folder, decode="2", compat="october"):
    arguments = ["--compat", compat, "--power-dir", "LOGS/power", "--logs-root", "LOGS", "--expected-producer-sha",
                 PIN, "--prefill-gpus", "2", "--decode-gpus", decode]
    return lambda *more: folder.patch("multinode", *arguments, *more)


def test_package(folder):
    """As a file of DCGM's metric with the same samples, scraped at the same times."""
    made = package(Load(4, float(START), float(START + LENGTH)),
                   lambda gpu: lambda unix_s: round(power(gpu, unix_s - START), 2))
    made.write(folder.path)
    patch = package_patch(folder)
    shutil.copy(folder.path / "agg_run.json", folder.path / "agg.json")
    patch()
    found = adds_only_the_object(folder, patch, "--gpu", "H100", *CLOCK)
    names = [f"{gpu.host}/{gpu.uuid}" for gpu in made.gpus]
    assert list(found["per_gpu"]) == names
    sensor = found["per_gpu"][names[0]]["sensor"]
    assert (sensor["column"], sensor["stamps"]) == ("DCGM_FI_DEV_POWER_USAGE", "query_time"), sensor
    folder.write("all.csv", "timestamp,gpu,DCGM_FI_DEV_POWER_USAGE\n" + "".join(
        f"{row[1]},{row[3]}/{row[5]},{row[6]}\n" for row in made.rows))
    alone = folder.patch("--csv", "all.csv", "--expected-num-gpus", "4", "--uncertainty", "--gpu", "H100", *CLOCK)
    same(found, alone["uncertainty"])
    # The energy that flowed, by the wave itself.
    steps = 60_000
    true_j = sum(400 + 20 * gpu + 40 * math.sin((k + 0.5) / 1000 / 3 + gpu)
                 for gpu in range(4) for k in range(steps)) / 1000
    total = found["total_gpu_energy_j"]
    assert total["low"] < true_j < total["high"], (total, true_j)
    assert abs(total["estimate"] - true_j) < abs(total["published"] - true_j), (total, true_j)
    is_refused(package_patch(folder, "3")("--uncertainty"))
    august = package_patch(folder, compat="august")
    august()
    assert adds_only_the_object(folder, august, "--gpu", "H100", *CLOCK) == found


def test_package_of_level_power(folder):
    """400 W of each GPU before, in and after the window are 400 W x 60 s, whatever the sensor."""
    package(Load(4, float(START), float(START + LENGTH)), lambda gpu: 400.0).write(folder.path)
    shutil.copy(folder.path / "agg_run.json", folder.path / "agg.json")
    found = package_patch(folder)("--uncertainty")["uncertainty"]
    near(found["total_gpu_energy_j"]["estimate"], 4 * 400 * LENGTH, 1e-6)


def test_package_of_another_scope(folder):
    """What counts more than the GPU gets no interval."""
    made = package(Load(4, float(START), float(START + LENGTH)), lambda gpu: 400.0)
    made.changes |= {"power_scope": "module_with_cpu", "source_metric": "my_power"}
    made.write(folder.path)
    shutil.copy(folder.path / "agg_run.json", folder.path / "agg.json")
    record = package_patch(folder)("--uncertainty")
    assert record["power_valid"], record["failures"]
    found = record["uncertainty"]
    assert (found["available"], found["reasons"]) == (False, ["sensor_scope_unknown"]), found


def test_package_of_agents(folder):
    made = package(AgenticLoad(16, float(START), float(START + LENGTH)), lambda gpu: 400.0)
    made.write(folder.path)
    aggregate = {"is_multinode": True, "disagg": True, "conc": 16, "hw": "h100", "num_prefill_gpu": 2,
                 "num_decode_gpu": 2}
    folder.write("agg.json", json.dumps(aggregate, indent=2))

    def patch(*more):
        folder.call("agentic", "--result-dir", "LOGS/agentic/conc_16", "--agg-result", "agg.json", "--power-dir",
                    "LOGS/power", "--logs-root", "LOGS", "--expected-producer-sha", PIN, *more)
        return folder.json("LOGS/agentic/conc_16/power_validation.json")

    patch()
    found = adds_only_the_object(folder, patch)
    near(found["total_gpu_energy_j"]["estimate"], 4 * 400 * LENGTH, 1e-6)


# ---- Past runs

def stored(folder):
    folder.write("store/run/gpu_metrics.csv", rows(range(4)))
    folder.write("store/run/x.json", json.dumps(RUN))
    folder.write("store/run/agg_x.json", json.dumps({"hw": "h100", "tp": 4}, indent=2))


def backfill(folder, *more):
    return json.loads(folder.call("backfill", "store", "--json", "--quiet", *more))["outcomes"]


def test_backfill(folder):
    alone = folder.alone("--uncertainty", *CLOCK)["uncertainty"]
    stored(folder)
    assert backfill(folder)["patched"] == 1
    record = "store/run/power_validation_x.json"
    plain, patched = folder.json(record), (folder.path / "store/run/agg_x.json").read_bytes()
    assert backfill(folder, "--uncertainty", *CLOCK)["patched"] == 1
    found, rest = without(folder.json(record))
    same(found, alone)
    assert rest == plain
    assert (folder.path / "store/run/agg_x.json").read_bytes() == patched
    options = folder.json(record)["computed_from"]["options"]
    assert (options["uncertainty"], options["clock_uncertainty_s"]) == (True, 0.02), options
    # Up to date only if the same is asked.
    before = (folder.path / record).read_bytes()
    assert backfill(folder, "--uncertainty", *CLOCK)["unchanged"] == 1
    assert (folder.path / record).read_bytes() == before
    for more in (["--uncertainty"], ["--uncertainty", "--gpu", "H100"], ["--uncertainty", "--sensor-accuracy", "0.01"],
                 []):
        assert backfill(folder, *more)["patched"] == 1, more
        assert backfill(folder, *more)["unchanged"] == 1, more
    assert folder.json(record) == plain
    folder.call("backfill", "store", "--uncertainty", "--schema-version", "1", status=2)


def test_backfill_of_several_candidates(folder):
    """Two recordings bear the run's name; the one that covers its window is chosen, and measured again."""
    alone = folder.alone("--uncertainty", *CLOCK)["uncertainty"]
    folder.write("store/bmk_x/agg_x.json", json.dumps({"hw": "h100", "tp": 4}, indent=2))
    folder.write("store/bmk_x/x.json", json.dumps(RUN))
    folder.write("store/c/gpu_metrics_x/gpu_metrics.csv", rows(range(4), 5000))
    folder.write("store/d/gpu_metrics_x/gpu_metrics.csv", rows(range(4)))
    assert backfill(folder, "--uncertainty", *CLOCK)["patched"] == 1
    record = folder.json("store/bmk_x/power_validation_x.json")
    assert record["telemetry_source"] == "../d/gpu_metrics_x/gpu_metrics.csv"
    same(record["uncertainty"], alone)


def test_backfill_notices_another_model(folder):
    """The file beside the recording that names the GPUs is an input of an interval, and of nothing else."""
    stored(folder)
    folder.write("store/run/gpu_metrics.csv", rows(range(4), model=None))
    record = "store/run/power_validation_x.json"
    for names, window_s in (("NVIDIA A100-SXM4-80GB", 0.025), (H100, 1.0)):
        folder.write("store/run/gpu_metrics_identity.csv",
                     "index,uuid,name\n" + "".join(f"{gpu},GPU-{gpu},{names}\n" for gpu in range(4)))
        assert backfill(folder, "--uncertainty")["patched"] == 1
        assert folder.json(record)["uncertainty"]["per_gpu"]["0"]["sensor"]["window_s"] == [window_s]
        assert backfill(folder, "--uncertainty")["unchanged"] == 1
    assert backfill(folder)["patched"] == 1
    (folder.path / "store/run/gpu_metrics_identity.csv").unlink()
    assert backfill(folder)["unchanged"] == 1


def test_backfill_that_refuses(folder):
    stored(folder)
    backfill(folder, "--uncertainty", "--expected-num-gpus", "3")
    is_refused(folder.json("store/run/power_validation_x.json"))


def test_backfill_of_packages(folder):
    load = Load(4, float(START), float(START + LENGTH))
    made = package(load, lambda gpu: 400.0)
    made.write(folder.path / "store" / "run")
    run = folder.path / "store" / "run"
    (run / "LOGS/power/power-producer-sha.txt").write_text(PIN)
    aggregate = {"hw": "h100", "conc": 4, "num_prefill_gpu": 2, "num_decode_gpu": 2, "is_multinode": True}
    (run / "agg_run.json").write_text(json.dumps(aggregate, indent=2))
    counts = backfill(folder, "--uncertainty")
    record = next((folder.path / "store").rglob("power_validation_*.json"), None)
    assert record, counts
    found = json.loads(record.read_text())
    assert found["power_valid"], found["failures"]
    near(found["uncertainty"]["total_gpu_energy_j"]["estimate"], 4 * 400 * LENGTH, 1e-6)
    assert found["computed_from"]["options"]["uncertainty"] is True
    assert backfill(folder, "--uncertainty")["unchanged"] == 1


# ---- Published runs

def is_guarded(folder, record):
    """What was computed is found again, and a digit of the interval that was changed by hand is found."""
    assert "all holds" in folder.call("verify", record)
    sound = (folder.path / record).read_text()
    changed = json.loads(sound)
    changed["uncertainty"]["total_gpu_energy_j"]["low"] += 0.001
    folder.write(record, json.dumps(changed, indent=2))
    assert "'uncertainty.total_gpu_energy_j.low'" in folder.call("verify", record, status=1)
    folder.write(record, sound)


def test_verify_runs(folder):
    asked = ["--uncertainty", "--gpu", "H100", "--sensor-accuracy", "0.015", *CLOCK]
    folder.alone(*asked)
    is_guarded(folder, "record.json")
    folder.hosts(*asked)
    is_guarded(folder, "record.json")
    nodes(folder)
    folder.patch("multinode", "--power-dir", "LOGS/native_power", "--prefill-gpus", "2", "--decode-gpus", "2", *asked)
    is_guarded(folder, "record.json")
    profile(folder)
    agents(folder, "--expected-num-gpus", "4", *asked)
    is_guarded(folder, "results/power_validation.json")
    stored(folder)
    backfill(folder, *asked)
    is_guarded(folder, "store/run/power_validation_x.json")


def test_verify_a_package(folder):
    package(Load(4, float(START), float(START + LENGTH)), lambda gpu: 400.0).write(folder.path)
    shutil.copy(folder.path / "agg_run.json", folder.path / "agg.json")
    package_patch(folder)("--uncertainty", "--gpu", "H100")
    is_guarded(folder, "record.json")


def test_verify_names_the_file_with_the_model(folder):
    """It is an input of the interval: its change is no fault of the record."""
    folder.write("all.csv", rows(range(4), model=None))
    identity = "index,uuid,name\n" + "".join(f"{gpu},GPU-{gpu},{H100}\n" for gpu in range(4))
    folder.write("all_identity.csv", identity)
    folder.patch("--csv", "all.csv", "--expected-num-gpus", "4", "--uncertainty")
    is_guarded(folder, "record.json")
    folder.write("all_identity.csv", identity.replace("H100", "A100"))
    found = folder.call("verify", "record.json", status=1)
    assert "all_identity.csv: changed" in found and "tampered" not in found, found


def test_verify_a_sweep(folder):
    """A digit of the interval that was changed by hand is found, whoever signs the file."""
    shutil.copytree(ROOT / "testdata/publication/sweep", folder.path / "sweep")
    audit = "sweep/power_audit_solo_conc8"
    aggregate = "sweep/bmk_solo_conc8/agg_solo_conc8.json"
    record = f"{audit}/power_validation_solo_conc8.json"
    folder.call("--csv", f"{audit}/gpu_metrics.csv", "--bench-result", f"{audit}/solo_conc8.json", "--agg-result",
                aggregate, "--validation-result", record, "--expected-num-gpus", "2", "--timezone", "UTC",
                "--uncertainty", "--gpu", "H100", "--sensor-accuracy", "0.015", *CLOCK)
    assert folder.json(record)["uncertainty"]["available"]

    def verified(status):
        manifest = ["--sweep", "sweep/sweep.json", "--sweep-manifest", "sweep/sweep_manifest.json"]
        folder.call("backfill", "sweep", *manifest)
        return folder.call("verify", "--sweep", "sweep/sweep_manifest.json", status=status)

    assert "all holds" in verified(0)
    sound = folder.json(record)
    changed = json.loads(json.dumps(sound))
    changed["uncertainty"]["total_gpu_energy_j"]["low"] += 0.001
    folder.write(record, json.dumps(changed, indent=2))
    assert "'uncertainty.total_gpu_energy_j.low'" in verified(1)
    changed = json.loads(json.dumps(sound))
    del changed["uncertainty"]["per_gpu"]["1"]
    folder.write(record, json.dumps(changed, indent=2))
    assert "'uncertainty.per_gpu.1'" in verified(1)
    folder.write(record, json.dumps({key: value for key, value in sound.items() if key != "uncertainty"}, indent=2))
    assert "all holds" in verified(0)


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
