#!/usr/bin/env python3
"""Where a window is: by the power, beside other loads, and with a clock that is wrong.

Two GPUs draw 100 W each, and 500 W in loads, sampled each second. Expected energies are watts times seconds.

usage: tests/runs/window_place_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import datetime
import json
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import running  # noqa: E402
from running import load_result, run_tests, same  # noqa: E402

START = 1_788_852_000  # 2026-09-08T07:20:00Z
LENGTH = 60
ENERGY = 2 * 500 * LENGTH


def near(expected, found, share=0.01, what=""):
    assert found is not None and abs(expected - found) <= share * expected, f"{what}: {expected!r}, {found!r}"


class Folder(running.Folder):
    def record(self, *loads, first=-200, last=400, name="gpu_metrics.csv", gpus=(0, 1)):
        """Loads from one second to another, after START."""
        rows = [f"{START + at},{gpu},{500 + at % 2 if any(a <= at <= b for a, b in loads) else 100 + at % 2}\n"
                for at in range(first, last) for gpu in gpus]
        return self.write(name, "timestamp,index,power_w\n" + "".join(rows))

    def result(self, off=0, length=LENGTH, name="run.json"):
        """InferenceX's, by a clock that is off."""
        return self.write(name, load_result(START + off, START + off + length))

    def vllm(self, ends, length=LENGTH, name="vllm.json"):
        date = datetime.datetime.fromtimestamp(START + ends, datetime.timezone.utc)
        return self.write(name, {"date": date.strftime("%Y%m%d-%H%M%S"), "backend": "vllm", "model_id": "m",
                                 "tokenizer_id": "m", "num_prompts": 5, "request_rate": "inf", "max_concurrency": 4,
                                 "duration": length, "completed": 5, "total_input_tokens": 8000,
                                 "total_output_tokens": 1000, "request_throughput": 0.1})

    def measure(self, *words, result="run.json"):
        self.call("measure", result, "gpu_metrics.csv", "--json", *words)
        assert self.out.startswith("{"), self.err
        return json.loads(self.out)["runs"][0]

    def patch(self, *words, result="run.json"):
        self.write("agg_run.json", {"hw": "h100", "tp": 2})
        self.call("--csv", "gpu_metrics.csv", "--bench-result", result, "--agg-result", "agg_run.json",
                  "--validation-result", "record.json", *words)
        self.aggregate = self.json("agg_run.json")
        record = self.path / "record.json"
        return json.loads(record.read_text()) if record.exists() else None


def offset_in(text):
    return float(re.search(r"--clock-offset (?:\w+=)?(-?[\d.]+)", text).group(1))


# ---- Clocks that are off

def test_a_stamp_before_the_end_of_the_load_is_of_a_wrong_clock(folder):
    """vLLM's date is the end of the load or later. Where it is earlier, no estimate may be published."""
    folder.record((0, LENGTH))
    for behind in (30, 20, 10, 0):
        folder.vllm(LENGTH + 1 - behind)
        record = folder.patch("--window", "estimated", "--expected-num-gpus", 2, "--timezone", "UTC", result="vllm.json")
        if behind:
            same(["clock_offset_suspected"], record["reasons"], behind)
            same(0, folder.aggregate["power_valid"], behind)
        else:
            near(ENERGY, folder.aggregate["total_gpu_energy_j"])


def test_a_window_at_its_load_is_measured(folder):
    folder.record((0, LENGTH))
    for off in (-4, -1, 0, 1, 4):
        folder.result(off)
        run = folder.measure()
        same([], run["reasons"], off)
        doubts = [text for text in run["warnings"] if "clock_offset_suspected: power rises and falls 4" in text]
        same(abs(off) == 4, len(doubts) == 1, run["warnings"])


def test_a_clock_that_is_off_is_refused_with_its_offset(folder):
    folder.record((0, LENGTH))
    for off in (-120, -61, -30, -7, 7, 30, 61, 120):
        folder.result(off)
        run = folder.measure()
        same(["load_outside_window" if abs(off) > LENGTH else "clock_offset_suspected"], run["reasons"], off)
        assert abs(offset_in(run["details"]) - off) <= 1, run["details"]
        near(ENERGY, folder.measure("--clock-offset", off)["total_gpu_energy_j"], what=off)
        accepted = folder.measure("--accept", run["reasons"][0])
        same(True, accepted["valid"])
        assert abs(accepted["total_gpu_energy_j"] / ENERGY - 1) > 0.05, accepted


def test_a_load_that_others_join_is_cut(folder):
    """A warm-up of 20 s and an evaluation of 30 s at the same power: the ends of all say two offsets, one of them right."""
    for first, last in ((-20, LENGTH), (0, LENGTH + 30)):
        folder.record((first, last))
        folder.result()
        same([], folder.measure()["reasons"])
        for off in (-80, -45, 45, 80):
            folder.result(off)
            run = folder.measure()
            cut = first - off < LENGTH and last - off > 0
            if cut:
                same(["clock_offset_suspected"], run["reasons"], (first, off))
                named = [float(text) for text in re.findall(r"(\d+\.\d) s (?:later|earlier)", run["details"])]
                assert any(abs(offset - abs(off)) <= 1 for offset in named), (off, run["details"])
            else:
                assert run["reasons"] or run["warnings"], (first, off)


def test_an_idle_window_warns(folder):
    folder.record((0, LENGTH))
    folder.result(100, length=150)
    run = folder.measure()
    same([], run["reasons"])
    assert any("load_outside_window: the window is idle" in text for text in run["warnings"]), run["warnings"]
    folder.result(-50, length=LENGTH + 100)  # it holds the load
    assert not any("load_outside_window" in text for text in folder.measure()["warnings"])


def test_all_windows_together_are_judged(folder):
    """Ten steps of 6 s; the second one alone says nothing."""
    folder.record((0, LENGTH))
    for off in (0, -30, 90):
        steps = "".join(f"begin s{i} {START + off + 6 * i}\nend s{i} {START + off + 6 * i + 6}\n" for i in range(10))
        folder.write("steps.txt", steps)
        folder.call("windows", "--telemetry", "gpu_metrics.csv", "--windows", "steps.txt", "--json")
        if off == 0:
            same(0, folder.status, folder.err)
            near(ENERGY, sum(window["energy_j"] for window in json.loads(folder.out)["windows"]))
            continue
        same((2, ""), (folder.status, folder.out))
        assert ("load_outside_window" if off == 90 else "clock_offset_suspected") in folder.err, folder.err
        assert abs(offset_in(folder.err) - off) <= 1, folder.err
        folder.call("windows", "--telemetry", "gpu_metrics.csv", "--windows", "steps.txt", "--clock-offset", off)
        same(0, folder.status, folder.err)
        folder.call("windows", "--telemetry", "gpu_metrics.csv", "--windows", "steps.txt", "--accept",
                    "load_outside_window,clock_offset_suspected")
        assert folder.status == 0 and "accepted by the caller" in folder.err, folder.err
    folder.write("steps.txt", "begin head +10\nend head +70\n")  # relative to the recording: by its own clock
    folder.call("windows", "--telemetry", "gpu_metrics.csv", "--windows", "steps.txt")
    same((0, ""), (folder.status, folder.err))


def test_a_profile_of_another_clock_is_refused(folder):
    folder.record((0, LENGTH))
    for off in (0, 25):
        events = [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": (START + off + at) * 10**6,
                   "dur": 10**6, "args": {"device": 0, "stream": 7}} for at in range(LENGTH)]
        folder.write("t.json", {"schemaVersion": 1, "traceEvents": events})
        folder.call("attribute", "--telemetry", "gpu_metrics.csv", "--trace", "t.json", "--gpus", 0)
        same(0 if off == 0 else 1, folder.status, folder.err)
        if off:
            assert "clock_offset_suspected" in folder.err and abs(offset_in(folder.err) - off) <= 1, folder.err
            folder.call("attribute", "--telemetry", "gpu_metrics.csv", "--trace", "t.json", "--gpus", 0, "--clock-offset", off)
            same(0, folder.status, folder.err)


def test_windows_are_not_read_in_a_wrong_zone_of_the_process(folder):
    stamp = datetime.datetime.fromtimestamp
    berlin = datetime.timezone(datetime.timedelta(hours=2))
    rows = [f"{stamp(START + at, berlin):%Y/%m/%d %H:%M:%S.000}, 0, {500 + at % 2 if 0 <= at < LENGTH else 100 + at % 2} W\n"
            for at in range(-9000, 9000)]
    folder.write("gpu_metrics.csv", "timestamp, index, power.draw [W]\n" + "".join(rows))
    folder.write("steps.txt", f"begin load {START}\nend load {START + LENGTH}\n")
    folder.call("windows", "--telemetry", "gpu_metrics.csv", "--windows", "steps.txt")
    same((2, ""), (folder.status, folder.out))
    assert "timezone_ambiguous" in folder.err and "+02:00" in folder.err, folder.err
    folder.call("windows", "--telemetry", "gpu_metrics.csv", "--windows", "steps.txt", "--timezone", "+02:00")
    same(0, folder.status, folder.err)


# ---- A clock that was set by a little

def test_a_clock_that_was_set_warns(folder):
    """By 2 s: back, rows at equal intervals go back once; forward, the recorder's clock pairs show it."""
    rows = [f"{START + at - (2 if at > 30 else 0)},{gpu},{500 + at % 2}\n" for at in range(-10, 80) for gpu in (0, 1)]
    folder.write("gpu_metrics.csv", "timestamp,index,power_w\n" + "".join(rows))
    folder.result()
    found = folder.measure("--accept", "several_gpus_in_one_series")
    assert any("clock that was set back by 2.0 s" in text for text in found["warnings"]), found
    rows = [f"{START + at + (2 if at > 30 else 0)},{gpu},{500 + at % 2}\n" for at in range(-10, 80) for gpu in (0, 1)]
    folder.write("gpu_metrics.csv", "timestamp,index,power_w\n" + "".join(rows))
    same([], folder.measure()["warnings"])
    for step in (0, 2):
        folder.write("gpu_metrics_context.json", {"clock_pairs": [
            {"epoch_s": START - 11, "monotonic_s": 100, "boot_id": "b"},
            {"epoch_s": START + 82, "monotonic_s": 193 - step, "boot_id": "b"}]})
        found = folder.measure()
        same(step > 0, any("its clock was set forward by 2.0 s" in text for text in found["warnings"]), found["warnings"])


def test_patching_records_the_offset(folder):
    folder.record((0, LENGTH))
    folder.result(-30)
    record = folder.patch("--expected-num-gpus", 2)
    same((0, ["clock_offset_suspected"]), (folder.aggregate["power_valid"], record["reasons"]))
    record = folder.patch("--expected-num-gpus", 2, "--clock-offset", -30)
    near(ENERGY, folder.aggregate["total_gpu_energy_j"])
    same("-30.0", record["computed_from"]["options"]["clock_offset_s"])


def test_schema_1_warns(folder):
    folder.record((0, LENGTH))
    folder.result(-30)
    folder.patch()
    assert "avg_power_w" in folder.aggregate, folder.err
    assert "clock_offset_suspected: power rises and falls 30" in folder.err, folder.err


def test_a_zone_is_off_by_quarter_hours(folder):
    folder.record((0, LENGTH), first=-200, last=4200)
    folder.result(3600)
    run = folder.measure()
    same(["load_outside_window"], run["reasons"])
    assert "-4 quarter hours" in run["details"] and "--timezone" in run["details"], run["details"]
    folder.result(3333)
    assert "not a whole number of quarter hours" in folder.measure()["details"]


def test_equal_loads_of_a_sweep_are_good(folder):
    loads = [(at, at + LENGTH) for at in (-160, -80, 0, 80, 160, 240)]
    folder.record(*loads)
    for first, _ in loads:
        folder.result(first)
        same([], folder.measure()["reasons"], first)


def test_hosts_are_judged_one_by_one(folder):
    folder.record((0, LENGTH), name="a.csv")
    folder.record((-150, -150 + LENGTH), name="b.csv", gpus=(0, 1))
    folder.result()
    folder.write("agg_run.json", {"hw": "h100", "tp": 4})
    hosts = ["multinode", "--host", "a=a.csv", "--host", "b=b.csv", "--bench-result", "run.json", "--agg-result",
             "agg_run.json", "--expected-num-gpus", 4]
    folder.call(*hosts)
    same(0, folder.json("agg_run.json")["power_valid"])
    assert "load_outside_window (b: " in folder.err and "--clock-offset b=" in folder.err, folder.err
    assert abs(offset_in(folder.err) - 150) <= 1, folder.err
    folder.call(*hosts, "--clock-offset", "b=150")
    near(2 * ENERGY, folder.json("agg_run.json")["total_gpu_energy_j"])


def test_stores_and_their_clock(folder):
    folder.record((0, LENGTH), name="store/run/gpu_metrics.csv")
    folder.result(-30, name="store/run/run.json")
    folder.write("store/run/agg_run.json", {"hw": "h100", "tp": 2})
    folder.call("backfill", "store", "--timezone", "UTC")
    same(0, folder.json("store/run/agg_run.json")["power_valid"], folder.err)
    assert "clock_offset_suspected" in folder.out, folder.out
    folder.call("backfill", "store", "--timezone", "UTC", "--clock-offset", "-30")
    near(ENERGY, folder.json("store/run/agg_run.json")["total_gpu_energy_j"])
    record = folder.json("store/run/power_validation_run.json")
    same(-30, record["computed_from"]["options"]["clock_offset_s"])
    folder.call("backfill", "store", "--timezone", "UTC", "--clock-offset", "-30")
    assert "unchanged" in folder.out, folder.out


def test_an_offset_must_be_a_number(folder):
    same(2, folder.call("measure", "run.json", "--clock-offset", "soon").status)
    assert "--clock-offset: expected a number of seconds, such as -30, got 'soon'" in folder.err, folder.err


# ---- Estimated windows

def test_stamps_of_other_results_fence_a_window(folder):
    """A load of 12 s ended 8 s before the one that is meant began; its own result says when it was written."""
    folder.record((-20, -8), (0, 12))
    folder.vllm(13, length=12)
    wide = folder.measure("--timezone", "UTC", result="vllm.json")
    folder.vllm(-7, length=12, name="before.json")
    fenced = folder.measure("--timezone", "UTC", result="vllm.json")
    assert fenced["window_half_width_s"] <= 3 < wide["window_half_width_s"], (wide, fenced)
    near(2 * 500 * 12, fenced["total_gpu_energy_j"])


def test_a_late_stamp_is_looked_for_in_the_whole_recording(folder):
    folder.record((0, LENGTH))
    for lag in (2, 45, 200):
        folder.vllm(LENGTH + lag)
        run = folder.measure("--timezone", "UTC", result="vllm.json")
        same([], run["reasons"], lag)
        near(ENERGY, run["total_gpu_energy_j"], what=lag)


def test_a_stamp_that_the_power_contradicts(folder):
    """The client's clock is behind, and its stamp is before the end of the load: no window before it is the load's."""
    for length, first in ((LENGTH, 0), (20, 40)):
        folder.record((first, first + length))
        for behind in (5, 8, 20, 30):
            folder.vllm(first + length - behind, length=length)
            run = folder.measure("--timezone", "UTC", result="vllm.json")
            assert not run["valid"] and "total_gpu_energy_j" not in run, (length, behind, run)
            record = folder.patch("--expected-num-gpus", 2, "--timezone", "UTC", "--window", "estimated", result="vllm.json")
            same(0, folder.aggregate["power_valid"], (length, behind))
            assert set(record["reasons"]) <= {"clock_offset_suspected", "load_outside_window"}, record["reasons"]
        for lag in (0, 1, 10, 28):  # as generators write it
            folder.vllm(first + length + lag, length=length)
            run = folder.measure("--timezone", "UTC", result="vllm.json")
            same([], run["reasons"], (length, lag))
            near(1000 * length, run["total_gpu_energy_j"], what=(length, lag))


def test_a_load_is_placed_inside_the_recorded_command(folder):
    folder.record((0, LENGTH), first=-30, last=64)
    folder.write("gpu_metrics_context.json", {"timestamp_timezone": "UTC", "exit_status": 0, "window": {
        "start_unix": START - 20, "end_unix": START + LENGTH + 2.5}})
    folder.vllm(LENGTH + 1)
    run = folder.measure(result="vllm.json")
    same(("estimated", True), (run["window_source"], run["valid"]))
    near(ENERGY, run["total_gpu_energy_j"])
    assert run["window_half_width_s"] <= 2, run
    record = folder.patch("--expected-num-gpus", 2, result="vllm.json")
    same(["window_not_exact"], record["reasons"])
    assert "aggregate-power-monitor" not in folder.err, folder.err
    folder.patch("--expected-num-gpus", 2, "--window", "estimated", result="vllm.json")
    near(ENERGY, folder.aggregate["total_gpu_energy_j"])


def test_a_block_anywhere_in_a_long_command_is_found(folder):
    """Of 600 s in four hours, at 600 W over 100 W."""
    for begins in (9000, 9001, 9002, 9003, 9005):
        rows = [f"{START + at},0,{(600 if begins <= at < begins + 600 else 100) + at % 3 / 10}\n" for at in range(-20, 14_421)]
        folder.write("gpu_metrics.csv", "timestamp,index,power_w\n" + "".join(rows))
        folder.write("gpu_metrics_context.json", {"timestamp_timezone": "UTC", "exit_status": 0, "window": {
            "start_unix": START, "end_unix": START + 14_400}})
        folder.write("vllm.json", {"completed": 5, "total_input_tokens": 8000, "total_output_tokens": 1000, "duration": 600})
        folder.patch("--expected-num-gpus", 1, "--window", "estimated", result="vllm.json")
        assert folder.aggregate.get("power_valid") == 1, folder.err
        near(600 * 600, folder.aggregate["total_gpu_energy_j"], what=begins)


def test_a_tiny_duration_ends(folder):
    folder.record((0, LENGTH))
    for length in (1e-7, 1e-5, 1e-3):
        folder.vllm(LENGTH, length=length)
        before = time.monotonic()
        folder.measure("--timezone", "UTC", result="vllm.json")
        assert time.monotonic() - before < 1, length


def test_what_a_message_joins_is_not_empty(folder):
    """Of a result without a time and a recorded command that failed, and so on: no "; " at the beginning."""
    folder.record((0, LENGTH))
    for window in (None, {"start_unix": START, "end_unix": START + LENGTH}):
        for status in (0, 1):
            context = {"timestamp_timezone": "UTC", "exit_status": status} | ({"window": window} if window else {})
            folder.write("gpu_metrics_context.json", context)
            for length in (LENGTH, 2 * LENGTH, 0.5, None):
                folder.vllm(LENGTH, length=length)
                for words in ((), ("--window", "estimated"), ("--window", "wrapped"), ("--window", "exact")):
                    record = folder.patch("--expected-num-gpus", 2, *words, result="vllm.json")
                    for reason, detail in (record or {}).get("reason_details", {}).items():
                        assert not str(detail).startswith(("; ", ": ")), (reason, detail)
                    assert not re.search(r"[(:] ?; ", folder.err), folder.err


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
