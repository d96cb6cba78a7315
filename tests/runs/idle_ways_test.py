#!/usr/bin/env python3
"""Checks --idle of every way to measure a run: the same readings give the same net energy, wherever they are.

Two GPUs draw 80 W and 90 W before the load, 500 W and 400 W in it, and 70 W and 80 W after it, a reading a second.

usage: tests/runs/idle_ways_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import datetime
import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
for path in ("tests", "tests/multinode", "tests/runs"):
    sys.path.insert(0, str(ROOT / path))
import idle_test  # noqa: E402
from idle_test import GROSS_J, LENGTH, START, load, near, no_numbers, same  # noqa: E402
from package_builder import PIN, Gpu, Load, Package  # noqa: E402
from running import run_tests  # noqa: E402

NET_J = GROSS_J - 170 * LENGTH


class Folder(idle_test.Folder):
    def __init__(self, path):
        super().__init__(path)
        self.recording(load(80, 70))
        self.write("agg_run.json", json.dumps({"tp": 2}))

    def ends(self, status, *words):
        self.call(*words)
        same(status, self.status, self.out + self.err)
        return self.out + self.err

    def split(self):
        """A recording of each GPU, as GPU 0 of a host of its own."""
        header, *rows = (self.path / "gpu.csv").read_text().splitlines()
        for gpu, name in enumerate(("a.csv", "b.csv")):
            own = [row.replace(f",{gpu},", ",0,") for row in rows if row.split(",")[1] == str(gpu)]
            self.write(name, "\n".join([header, *own]) + "\n")


def has_net(idle, names, watts=(80, 90), source="before_load", total_uncertainty_w=0):
    same([True, [], source], [idle["available"], idle["reasons"], idle["source"]])
    same(list(names), list(idle["per_gpu"]))
    same(list(watts), [gpu["watts"] for gpu in idle["per_gpu"].values()])
    near(GROSS_J - sum(watts) * LENGTH, idle["net_energy_j"]["value"])
    near(total_uncertainty_w * LENGTH, idle["idle_energy_j"]["standard_uncertainty"])


# ---- measure

def measured(folder, *words, status=0):
    folder.ends(status, "measure", "run.json", *words, "--json")
    return json.loads(folder.out)["runs"][0]


def check_net_text(text, idle_half_j):
    """The interval of 1,000 tokens, less 10,200 J, with the idle energy's half width in quadrature."""
    value, low, high = (1000 * float(number) for number in re.search(r"([\d.]+) J per output token +\(([\d.]+) to ([\d.]+)\)", text).groups())
    net, *ends = map(float, re.search(r"\nnet +([\d.]+) J above 10200\.00 J \(95 %: ([\d.]+) to\s+([\d.]+) J\)\n", text).groups())
    near(43800, net)
    for end, wanted in zip(ends, (value - math.hypot(value - low, idle_half_j), value + math.hypot(high - value, idle_half_j))):
        assert abs(end - (wanted - 10200)) < 30, (end, wanted, text)  # by the digits that are shown


def test_measure(folder):
    plain = measured(folder, "gpu.csv")
    run = measured(folder, "gpu.csv", "--idle", "auto")
    has_net(run.pop("idle"), "01")
    same(plain, run)
    has_net(measured(folder, "gpu.csv", "--idle", "85+-3")["idle"], "01", (85, 85), "given_watts", 6)
    has_net(measured(folder, "gpu.csv", "--idle", "+0:+20")["idle"], "01", source="given_window")
    text = folder.ends(0, "measure", "run.json", "gpu.csv", "--idle", "auto")
    assert "\nidle          170.00 W together (before_load, 28.0 s)\n" in text, text
    check_net_text(text, 0)
    text = folder.ends(0, "measure", "run.json", "gpu.csv", "--idle", "85+-3")  # 2 GPUs * 3 W * 60 s
    check_net_text(text, 1.96 * 360)
    assert "net " not in folder.ends(0, "measure", "run.json", "gpu.csv")


def test_measure_says_why_there_is_none(folder):
    folder.recording(load(80, 70), first_s=-8, last_s=LENGTH + 8)
    run = measured(folder, "gpu.csv", "--idle", "auto")
    no_numbers(run["idle"], "no_plateau")
    assert run["warnings"][-1].startswith("no net energy: no_plateau: record 15 s without load"), run["warnings"]
    assert "net energy: no_plateau" in folder.ends(0, "measure", "run.json", "gpu.csv", "--idle", "auto")
    run = measured(folder, "gpu.csv", "--idle", "85", "--expected-num-gpus", "3", status=1)
    no_numbers(run["idle"], "power_not_valid")


def test_measure_of_several_recordings(folder):
    """A plateau is one that the GPUs of all recordings have; a stretch would be of one of them."""
    folder.split()
    run = measured(folder, "a.csv", "b.csv", "--idle", "auto")
    has_net(run["idle"], ["a.csv/0", "b.csv/0"])
    same([START - 30, START - 2], [run["idle"]["start_unix"], run["idle"]["end_unix"]])
    has_net(measured(folder, "a.csv", "b.csv", "--idle", "85±3")["idle"], ["a.csv/0", "b.csv/0"], (85, 85),
            "given_watts", 6)
    text = folder.ends(2, "measure", "run.json", "a.csv", "b.csv", "--idle", "+0:+20")
    assert "START:END is of one recording, and there are 2; got '+0:+20'" in text, text
    lines = (folder.path / "b.csv").read_text().splitlines()
    folder.write("b.csv", "\n".join([lines[0], *lines[23:]]) + "\n")  # 8 s before the load only
    run = measured(folder, "a.csv", "b.csv", "--idle", "auto")
    has_net(run["idle"], ["a.csv/0", "b.csv/0"], (70, 80), "after_load")


def test_measure_writes_a_record(folder):
    folder.ends(0, "measure", "run.json", "gpu.csv", "--idle", "auto", "--out", "new.json")
    has_net(folder.json("power_validation_new.json")["idle"], "01")


# ---- Agents

def profile(folder):
    """AIPerf's exports of one request as long as the window."""
    def text(unix_s):
        return datetime.datetime.fromtimestamp(unix_s, datetime.timezone.utc).isoformat()
    folder.write("results/aiperf_artifacts/profile_export_aiperf.json", json.dumps(
        {"start_time": text(START), "end_time": text(START + LENGTH),
         "request_count": {"unit": "requests", "avg": 1}}))
    folder.write("results/aiperf_artifacts/profile_export.jsonl", json.dumps(
        {"metadata": {"session_num": 0, "request_start_ns": START * 10**9,
                      "request_end_ns": (START + LENGTH) * 10**9, "benchmark_phase": "profiling",
                      "was_cancelled": False},
         "metrics": {"input_sequence_length": {"value": 3000, "unit": "tokens"},
                     "output_sequence_length": {"value": 700, "unit": "tokens"}}, "error": None}) + "\n")
    folder.write("results/gpu_metrics.csv", (folder.path / "gpu.csv").read_text())


AGENTIC = ["agentic", "--result-dir", "results", "--agg-result", "agg_run.json"]


def test_agents(folder):
    profile(folder)
    folder.ends(0, *AGENTIC, "--expected-num-gpus", 2)
    plain, aggregate = folder.json("results/power_validation.json"), folder.json("agg_run.json")
    text = folder.ends(0, *AGENTIC, "--expected-num-gpus", 2, "--idle", "auto")
    assert "idle 170.00 W together (before_load, 28.0 s); net 43800.00 J above 10200.00 J" in text, text
    record = folder.json("results/power_validation.json")
    same({"idle": "auto"}, record["computed_from"].pop("options"))
    has_net(record.pop("idle"), "01")
    same(plain, record)
    same(aggregate, folder.json("agg_run.json"))
    folder.ends(0, "verify", "results/power_validation.json")
    folder.ends(0, *AGENTIC, "--expected-num-gpus", 3, "--idle", "auto")
    no_numbers(folder.json("results/power_validation.json")["idle"], "power_not_valid")
    (folder.path / "results/aiperf_artifacts/profile_export.jsonl").unlink()
    folder.ends(0, *AGENTIC, "--idle", "auto")
    no_numbers(folder.json("results/power_validation.json")["idle"], "power_not_valid")
    folder.ends(2, *AGENTIC, "--power-dir", "x", "--idle", "auto")


# ---- Several nodes

def hosts(folder, *words, status=0):
    folder.split()
    return folder.ends(status, "multinode", "--host", "a=a.csv", "--host", "b=b.csv", "--bench-result", "run.json",
                       "--agg-result", "agg_run.json", "--validation-result", "record.json", *words)


def test_hosts(folder):
    hosts(folder)
    plain = folder.json("record.json")
    text = hosts(folder, "--idle", "auto")
    assert "idle 170.00 W together (before_load, 28.0 s); net 43800.00 J above 10200.00 J" in text, text
    record = folder.json("record.json")
    same({"idle": "auto"}, record["computed_from"].pop("options"))
    has_net(record.pop("idle"), ["a/0", "b/0"])
    same(plain, record)
    folder.ends(0, "verify", "record.json")
    hosts(folder, "--idle", "85", "--extended")
    has_net(folder.json("record.json")["idle"], ["a/0", "b/0"], (85, 85), "given_watts")
    same(43800.0, folder.json("agg_run.json")["net_gpu_energy_j"])
    hosts(folder, "--idle", "85", "--expected-num-gpus", "3")
    no_numbers(folder.json("record.json")["idle"], "power_not_valid")
    assert "each host has its own; got '+0:+20'" in hosts(folder, "--idle", "+0:+20", status=2)


def test_a_wrong_clock_is_corrected_first(folder):
    folder.split()
    header, *rows = (folder.path / "b.csv").read_text().splitlines()
    moved = [",".join([str(int(row.split(",")[0]) - 40), *row.split(",")[1:]]) for row in rows]
    folder.write("b.csv", "\n".join([header, *moved]) + "\n")
    folder.ends(0, "multinode", "--host", "a=a.csv", "--host", "b=b.csv", "--bench-result", "run.json", "--agg-result",
                "agg_run.json", "--validation-result", "record.json", "--clock-offset", "b=40", "--idle", "auto")
    has_net(folder.json("record.json")["idle"], ["a/0", "b/0"])


def test_packages_are_refused(folder):
    text = folder.ends(2, "multinode", "--power-dir", "LOGS/power", "--aggregate-gpus", "2", "--bench-result",
                       "run.json", "--agg-result", "agg_run.json", "--idle", "auto")
    assert "--idle: is for --host or --nodes, not for a dcgm-power package" in text, text


# ---- Past runs

RECORD = "store/run/power_validation_x.json"


def stored(folder):
    for name, source in [("gpu_metrics.csv", "gpu.csv"), ("x.json", "run.json"), ("agg_x.json", "agg_run.json")]:
        folder.write(f"store/run/{name}", (folder.path / source).read_text())


def backfill(folder, *words):
    folder.ends(0, "backfill", "store", "--json", "--quiet", "--timezone", "UTC", *words)
    return json.loads(folder.out)["outcomes"]


def test_backfill(folder):
    stored(folder)
    same(1, backfill(folder)["patched"])
    plain, aggregate = folder.json(RECORD), (folder.path / "store/run/agg_x.json").read_bytes()
    same(1, backfill(folder, "--idle", "auto")["patched"])
    record = folder.json(RECORD)
    same("auto", record["computed_from"]["options"].pop("idle"))
    has_net(record.pop("idle"), "01")
    same(plain, record)
    same(aggregate, (folder.path / "store/run/agg_x.json").read_bytes())
    folder.ends(0, "verify", "store")
    # Up to date only if the same is asked.
    same(1, backfill(folder, "--idle", "auto")["unchanged"])
    for words in (["--idle", "85"], ["--idle", "85+-3"], ["--idle", "85", "--uncertainty", "--gpu", "H100"], []):
        same(1, backfill(folder, *words)["patched"], str(words))
        same(1, backfill(folder, *words)["unchanged"], str(words))
    same(plain, folder.json(RECORD))


def test_backfill_refuses_what_is_of_one_run(folder):
    stored(folder)
    for stretch in (f"{START - 20}:{START - 5}", "+0:+20"):
        text = folder.ends(2, "backfill", "store", "--idle", stretch)
        assert f"START:END is of one recording, and a store has many; got '{stretch}'" in text, text
    assert "schema 2" in folder.ends(2, "backfill", "store", "--idle", "auto", "--schema-version", "1")


def test_backfill_of_a_run_without_idle_time(folder):
    folder.recording(load(80, 70), first_s=-8, last_s=LENGTH + 8)
    stored(folder)
    same(1, backfill(folder, "--idle", "auto", "--report", "report.jsonl")["patched"])
    assert folder.json("report.jsonl")["details"].startswith("no net energy: no_plateau: record 15 s without load")
    no_numbers(folder.json(RECORD)["idle"], "no_plateau")


def test_backfill_of_several_candidates(folder):
    """Of two recordings the one that covers the window is chosen, and measured again with its idle power."""
    folder.write("store/bmk_x/agg_x.json", json.dumps({"tp": 2}))
    folder.write("store/bmk_x/x.json", (folder.path / "run.json").read_text())
    folder.write("store/d/gpu_metrics_x/gpu_metrics.csv", (folder.path / "gpu.csv").read_text())
    header, *rows = (folder.path / "gpu.csv").read_text().splitlines()
    late = [",".join([str(int(row.split(",")[0]) + 5000), *row.split(",")[1:]]) for row in rows]
    folder.write("store/c/gpu_metrics_x/gpu_metrics.csv", "\n".join([header, *late]) + "\n")
    same(1, backfill(folder, "--idle", "auto")["patched"])
    has_net(folder.json("store/bmk_x/power_validation_x.json")["idle"], "01")


def test_backfill_says_that_packages_have_none(folder):
    gpus = [Gpu("node-a", 0, "prefill", 400.0, 0), Gpu("node-b", 0, "decode", 400.0, 1)]
    made = Package(gpus, [Load(4, float(START), float(START + LENGTH))], first=START - 30.0, last=START + LENGTH + 30.0)
    made.changes = {"started_at_unix": START - 40.0, "stopped_at_unix": START + LENGTH + 40.0}
    made.write(folder.path / "store" / "run")
    run = folder.path / "store" / "run"
    (run / "LOGS/power/power-producer-sha.txt").write_text(PIN)
    (run / "agg_run.json").write_text(json.dumps(
        {"hw": "h100", "conc": 4, "num_prefill_gpu": 1, "num_decode_gpu": 1, "is_multinode": True}))
    same(1, backfill(folder, "--idle", "85", "--report", "report.jsonl")["patched"])
    record = json.loads(next((folder.path / "store").rglob("power_validation_*.json")).read_text())
    assert record["power_valid"], record["failures"]
    no_numbers(record["idle"], "not_for_packages")
    same("no net energy: not_for_packages: the samples of a package are not searched for idle time; "
         "subtract it by hand", folder.json("report.jsonl")["details"])
    same("85", record["computed_from"]["options"]["idle"])
    same(1, backfill(folder, "--idle", "85")["unchanged"])
    folder.ends(0, "verify", "store")


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
