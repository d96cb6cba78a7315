#!/usr/bin/env python3
"""compare, report and export have the number and the interval that measure printed of the same run.

One load of 500 W for 40 s, between 100 W, on two GPUs: in an exact window, in one that is placed by the power around the
time at which the result was written, and in one inside the command that a recorder ran.

usage: tests/decisions/printed_numbers_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import csv
import io
import json
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import Folder, run_tests, same  # noqa: E402

START = 1777118400  # 2026-04-25T12:00:00Z
BEGIN, END = 30.4, 70.4  # of the load
METRIC = "joules_per_output_token"
TOKENS = 20000


def near(expected, found, tolerance, what=""):
    assert found is not None and abs(found - expected) <= tolerance * abs(expected), \
        f"{what}: expected {expected!r}, found {found!r}"


def stamp(at):
    return time.strftime("%Y/%m/%d %H:%M:%S", time.gmtime(START + int(at))) + f".{round(at % 1 * 1000):03d}"


class Run(Folder):
    def __init__(self, folder, period_s=0.5):
        self.path = pathlib.Path(folder)
        rows = ["timestamp, index, name, power.draw [W]"]
        for i in range(round(100 / period_s)):
            at = i * period_s + 0.013
            # The mean of the second before.
            share = max(0, min(at, END) - max(at - 1, BEGIN))
            for gpu in range(2):
                watts = 100 + 400 * share + (i * 7 + gpu) % 5 * 0.3
                rows.append(f"{stamp(at)}, {gpu}, NVIDIA H100 80GB HBM3, {watts:.2f} W")
        (self.path / "gpu_metrics.csv").write_text("\n".join(rows) + "\n")

    def vllm(self, late_s, **more):
        """Written so long after the load."""
        date = time.strftime("%Y%m%d-%H%M%S", time.gmtime(START + END + late_s))
        self.write("run.json", {"date": date, "backend": "vllm", "model_id": "m", "tokenizer_id": "m", "num_prompts": 100,
                                "duration": END - BEGIN, "completed": 100, "total_input_tokens": 100000,
                                "total_output_tokens": TOKENS, **more})

    def exact(self):
        self.vllm(1, benchmark_start_time_unix=START + BEGIN, benchmark_end_time_unix=START + END)

    def wrapped(self, begin=21.0, end=76.5):
        """By a recorder that ran the command for longer than the load."""
        self.vllm(1)
        pair = {"monotonic_s": 3331.0, "boot_id": "903bd4df-45d3-4b4c-b051-e646313c3059"}
        self.write("gpu_metrics_context.json", {
            "timestamp_timezone": "+00:00", "monitor": "nvidia-smi", "interval_s": 0.5,
            "clock_pairs": [{"epoch_s": START + begin - 0.3, **pair},
                            {"epoch_s": START + end + 0.2, **pair, "monotonic_s": 3331.0 + end - begin + 0.5}],
            "window": {"start_unix": START + begin, "end_unix": START + end}, "exit_status": 0})

    def measure(self, *words):
        same(0, self.call("measure", "run.json", "gpu_metrics.csv", *words, "--json").status, self.err)
        (self.path / "m.json").write_text(self.out)
        return json.loads(self.out)["runs"][0]

    def check(self, value, low, high, energy_low=None, energy_high=None):
        """Joules per output token in all commands that read what measure wrote."""
        (found,) = json.loads(self.call("compare", "m.json", "--json").out)["summaries"]
        near(value, found["mean"], 1e-6, "compare")
        for key, expected in (("low", low), ("high", high)):
            if expected is None:
                same(None, found[key], key)
            else:
                near(expected, found[key], 1e-6, f"compare {key}")
        (row,) = csv.DictReader(io.StringIO(self.call("export", "m.json", "--format", "csv").out))
        if energy_low is not None:
            near(energy_low, float(row["total_gpu_energy_j_low"]), 1e-6, "export low")
            near(energy_high, float(row["total_gpu_energy_j_high"]), 1e-6, "export high")
        same(0, self.call("report", "m.json", "--out", "report.html").status, self.err)
        page = (self.path / "report.html").read_text()
        assert re.search(rf"\b{value:.4g}"[:6], page), f"no {value} in the report"
        return row

    def check_estimate(self, run):
        """The number and the interval that measure prints unless it is asked not to."""
        of_token, energy = run["uncertainty"][METRIC], run["uncertainty"]["total_gpu_energy_j"]
        repeated = of_token["repeatability"]
        row = self.check(of_token["estimate"], repeated["low"], repeated["high"], energy["low"], energy["high"])
        near(energy["published"], float(row["total_gpu_energy_j"]), 1e-6)  # the contract's number stays

    def check_placed(self):
        run = self.measure()
        energy = run["uncertainty"]["total_gpu_energy_j"]
        near(energy["low"], run["energy_j_low"], 1e-6)
        near(energy["high"], run["energy_j_high"], 1e-6)
        self.check_estimate(run)
        run = self.measure("--no-uncertainty")
        same("estimated", run["window_source"])
        energy, low, high = (run[key] for key in ("total_gpu_energy_j", "energy_j_low", "energy_j_high"))
        assert low < energy < high and low < 2 * 500 * (END - BEGIN) < high, (low, energy, high)
        row = self.check(run[METRIC], low / TOKENS, high / TOKENS)
        same("", row["total_gpu_energy_j_low"])  # bounds of the window are no interval of what flowed
        near(energy, float(row["total_gpu_energy_j"]), 1e-6)
        near(run[METRIC], float(row[METRIC]), 1e-6)


def test_an_exact_window(folder):
    run = Run(folder)
    run.exact()
    measured = run.measure("--no-uncertainty")
    assert "energy_j_low" not in measured, measured
    row = run.check(measured[METRIC], None, None)
    near(measured["total_gpu_energy_j"], float(row["total_gpu_energy_j"]), 1e-6)
    same("", row["total_gpu_energy_j_low"])


def test_an_exact_window_with_an_interval(folder):
    run = Run(folder)
    run.exact()
    for words in ([], ["--uncertainty"]):
        run.check_estimate(run.measure(*words))


def test_a_placed_window_that_was_patched(folder):
    """Its record has the bounds: two such runs do not differ for sure by what their windows may be off."""
    run = Run(folder)
    run.vllm(2)
    printed = run.measure("--no-uncertainty")
    run.write("agg_run.json", {"tp": 2})
    same(0, run.call("--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
                     "--expected-num-gpus", 2, "--timezone", "UTC", "--window", "estimated").status, run.err)
    (row,) = csv.DictReader(io.StringIO(run.call("export", "agg_run.json", "--format", "csv").out))
    same(["", ""], [row["total_gpu_energy_j_low"], row["total_gpu_energy_j_high"]])  # as above
    (found,) = json.loads(run.call("compare", "agg_run.json", "--json").out)["summaries"]
    near(printed[METRIC], found["mean"], 1e-5)
    near(printed["energy_j_low"] / TOKENS, found["low"], 1e-5)


def test_a_window_placed_by_the_power(folder):
    run = Run(folder)
    run.vllm(2)
    run.check_placed()


def test_a_window_inside_the_recorded_command(folder):
    run = Run(folder)
    run.wrapped()
    run.check_placed()
    same(0, run.call("measure", "run.json").status)
    assert "placed by the power inside the" in run.out and "recorded command" in run.out, run.out
    for recommended in ("aggregate-power-monitor run", "benchmark_start_time_unix", "--window estimated"):
        assert recommended not in run.out + run.err, (recommended, run.out, run.err)


def test_a_command_in_which_the_load_has_no_place(folder):
    """Two loads of one length in one command: either may be meant. No number is called valid, and the energy is
    between the least and the most that 40 s of the command can have drawn."""
    run = Run(folder)
    run.wrapped(begin=1.0, end=99.0)
    text = (run.path / "gpu_metrics.csv").read_text().splitlines()
    rows = []
    for i, line in enumerate(text[1:]):
        at = i // 2 * 0.5 + 0.013
        watts = 100 + 400 * ((i // 2 * 131) % 7 > 2) + i % 5 * 0.3  # restless throughout
        rows.append(", ".join(line.split(", ")[:3]) + f", {watts:.2f} W")
    (run.path / "gpu_metrics.csv").write_text("\n".join([text[0], *rows]) + "\n")
    run.call("measure", "run.json", "--json")
    found = json.loads(run.out)["runs"][0]
    assert not found["valid"] or found["energy_j_low"] < found["energy_j_high"], found
    if found["valid"]:
        mean_w = 2 * (100 + 400 * 4 / 7)
        assert found["energy_j_low"] < mean_w * (END - BEGIN) < found["energy_j_high"], found


def test_records_in_a_store(folder):
    run = Run(folder)
    run.exact()
    run.write("agg_run.json", {"hw": "h100", "conc": 1})
    run.call("--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
             "--expected-num-gpus", "2", "--timezone", "UTC", "--uncertainty")
    same(0, run.status, run.err)
    known = json.loads((run.path / "power_validation_run.json").read_text())["uncertainty"]
    (run.path / "m.json").write_text("{}")
    (one,) = json.loads(run.call("compare", ".", "--json").out)["summaries"]
    near(known[METRIC]["estimate"], one["mean"], 1e-9)
    near(known[METRIC]["repeatability"]["low"], one["low"], 1e-9)
    near(known[METRIC]["repeatability"]["high"], one["high"], 1e-9)
    (row,) = [row for row in csv.DictReader(io.StringIO(run.call("export", ".", "--format", "csv").out))]
    near(known["total_gpu_energy_j"]["low"], float(row["total_gpu_energy_j_low"]), 1e-9)
    near(known["total_gpu_energy_j"]["high"], float(row["total_gpu_energy_j_high"]), 1e-9)


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
