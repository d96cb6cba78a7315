#!/usr/bin/env python3
"""Times backfills of a synthetic store against merely reading it, interleaved, and prints ratios.

usage: tests/bench/backfill_bench.py [--runs N] [--rounds N] [--work FOLDER] [--keep]
       with $AGGREGATE_POWER (default: build/aggregate-power) and build/tests/store_read and peak

The store of 2,000 runs has 3.2 GB and lies below FOLDER (default: build), on a disk, so that syncs
cost what they cost; its files are in the cache. No verdict: the figures are for people.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("AGGREGATE_POWER") or str(ROOT / "build" / "aggregate-power")
TOOLS = pathlib.Path(os.environ.get("BENCH_TOOLS") or ROOT / "build" / "tests")
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "TZ": "UTC", "LC_ALL": "C"}
NVIDIA_HEADER = ("timestamp, index, power.draw [W], temperature.gpu, clocks.current.sm [MHz], "
                 "clocks.current.memory [MHz], utilization.gpu [%], utilization.memory [%]\n")
GPUS = 8
FIRST_RUN_GOAL = "at most 10"  # times reading every byte


# ---- The store

def amd_template():
    """The header of amd-smi's CSV, and a row with places for time, GPU and watts."""
    done = subprocess.run(
        [PROGRAM, "synthesize", "--schema", "amd-smi", "--gpus", "1", "--phase", "1:777",
         "--start", "1700000000", "--out", "-"], env=ENVIRONMENT, capture_output=True, check=True)
    header, row = done.stdout.decode().replace("\r", "").split("\n")[:2]
    before, after = row.split(",777,", 1)
    return header + "\r\n", before.split(",", 2)[2], after


class Csv:
    """Telemetry whose load begins and ends with the window, in about so many bytes."""

    def __init__(self, amd, size, die, start, offset_s):
        self.amd = amd
        row_bytes = 1150 if amd else 72
        ticks = max(60, size // row_bytes // GPUS)
        idle = ticks // 5
        self.window = start + idle, start + ticks - idle
        self.start, self.ticks, self.offset_s = start, ticks, offset_s
        # A few sets of readings, one after another, so that no two ticks are alike.
        self.levels = {watts: [[watts + die.randint(-30, 30) for _ in range(GPUS)]
                               for _ in range(7)] for watts in (110, 680)}

    def rows(self, template):
        """For each level the sets of rows behind their time."""
        if self.amd:
            _, before, after = template
            return {level: [[f",{gpu},{before},{watts},{after}\r\n"
                             for gpu, watts in enumerate(readings)] for readings in sets]
                    for level, sets in self.levels.items()}
        return {level: [[f", {gpu}, {watts}.{gpu}7 W, 60, 1980 MHz, 2619 MHz, 97 %, 40 %\n"
                         for gpu, watts in enumerate(readings)] for readings in sets]
                for level, sets in self.levels.items()}

    def text(self, template):
        rows = self.rows(template)
        begin, end = self.window
        parts = [template[0] if self.amd else NVIDIA_HEADER]
        minute, prefix = None, ""
        for tick in range(self.ticks):
            unix_s = self.start + tick
            readings = rows[680 if begin <= unix_s <= end else 110][tick % 7]
            if self.amd:
                stamp = str(unix_s)
            else:
                local = unix_s + self.offset_s
                if local // 60 != minute:
                    minute = local // 60
                    prefix = datetime.fromtimestamp(minute * 60, timezone.utc).strftime(
                        "%Y/%m/%d %H:%M:")
                stamp = f"{prefix}{local % 60:02}.000"
            parts += [stamp + row for row in readings]
        return "".join(parts)


def details(die):
    """A piece of a raw result's detailed lists, of about 1 MB, in many copies behind each other."""
    times = ",".join(f"{die.random() / 40:.17g}" for _ in range(700))
    return f"[{times}]," * (1_000_000 // len(times))


def raw_result(window, size, piece):
    begin, end = window
    result = {"backend": "vllm", "model_id": "deepseek", "num_prompts": 640, "request_rate": "inf",
              "duration": float(end - begin), "benchmark_start_time_unix": float(begin),
              "benchmark_end_time_unix": float(end), "completed": 640,
              "total_input_tokens": 5242880, "total_output_tokens": 655360,
              "input_lens": [8192] * 640, "output_lens": [1024] * 640}
    text = json.dumps(result, separators=(",", ":"))
    if size < len(text) + len(piece):
        return text
    return text[:-1] + ',"itls":[' + piece * (size // len(piece)) + "[]]}"


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def build(store, runs, small=False):
    """Runs of which 85 % are nvidia-smi's; in the layouts of the workflow."""
    die = random.Random(1)
    template, piece, total = amd_template(), details(die), 0
    for i in range(runs):
        name = f"dsr1_fp8_sglang_tp8-ep1-dpafalse_disagg-false_spec-none_conc{i % 64}_b200-{i:06}"
        amd = i % 20 >= 17
        size = 20_000 if small else die.randint(300_000, 1_000_000)
        csv = Csv(amd, size, die, die.randrange(1735689600, 1788220800),
                  die.choice([0, 3600, 7200, 19800, 28800, -18000, -25200]))
        raw_size = die.randint(1_000_000, 20_000_000) if i % 10 == 3 and not small else 0
        place = store / f"{i % 50:02}"
        audit, bmk = place / f"power_audit_{name}", place / f"bmk_{name}"
        audit.mkdir(parents=True)
        agg = audit
        if i % 3 == 0:  # apart, as artifacts of their own
            agg = bmk
            bmk.mkdir()
            recording = place / f"gpu_metrics_{name}"
            recording.mkdir()
        else:
            recording = audit
        text, raw = csv.text(template), raw_result(csv.window, raw_size, piece)
        write(recording / "gpu_metrics.csv", text)
        write(audit / f"{name}.json", raw)
        write(agg / f"agg_{name}.json", json.dumps(
            {"hw": "b200", "framework": "sglang", "precision": "fp8", "tp": GPUS, "conc": i % 64,
             "tput_per_gpu": 1234.5678901234567, "median_ttft": 0.125}, indent=2))
        total += len(text) + len(raw)
    return total


class Restorer:
    """Puts a store back into the state before its first backfill."""

    def __init__(self, store):
        self.aggregates = {path: path.read_bytes() for path in store.rglob("agg_*.json")}

    def restore(self):
        for path, data in self.aggregates.items():
            path.write_bytes(data)
            record = path.parent / path.name.replace("agg_", "power_validation_", 1)
            record.unlink(missing_ok=True)
        os.sync()


# ---- The clock

def seconds(command):
    began = time.perf_counter()
    done = subprocess.run(command, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wall = time.perf_counter() - began
    if done.returncode != 0:
        sys.exit(f"failed with {done.returncode}: {' '.join(map(str, command))}\n{done.stderr}")
    return wall


def peak_mib(command):
    done = subprocess.run([TOOLS / "peak", *command], env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    return int(done.stderr.split()[-1]) / 1024


class Table:
    """Medians of what is timed by turns."""

    def __init__(self):
        self.walls = {}

    def time(self, name, command):
        self.walls.setdefault(name, []).append(seconds(command))

    def forget(self):
        self.walls = {}

    def median(self, name):
        return statistics.median(self.walls[name])

    def line(self, name, measure=None, goal=""):
        walls = self.walls[name]
        text = f"{name:<34} {self.median(name):8.3f} s  ({min(walls):.3f} to {max(walls):.3f})"
        if measure is not None:
            text += f"  = {self.median(name) / self.median(measure):5.2f} times {measure}"
        print(text + (f"  (goal: {goal})" if goal else ""), flush=True)


def backfill(store, *options):
    return [PROGRAM, "backfill", store, *options]


def times(store, restorer, rounds):
    table = Table()
    read, metadata = [TOOLS / "store_read", store, "2"], [TOOLS / "store_read", "--metadata", store]
    for turn in range(rounds + 1):
        table.time("reading every byte, two threads", read)
        table.time("dry run", backfill(store, "--dry-run"))
        table.time("dry run, --jobs 1", backfill(store, "--dry-run", "--jobs", "1"))
        table.time("dry run, --jobs 2", backfill(store, "--dry-run", "--jobs", "2"))
        table.time("durable run", backfill(store))
        table.time("metadata and audit records", metadata)
        table.time("second run, nothing to do", backfill(store))
        table.time("second run, --verify", backfill(store, "--verify"))
        restorer.restore()
        table.time("durable run, --jobs 1", backfill(store, "--jobs", "1"))
        restorer.restore()
        if turn == 0:
            table.forget()  # it warmed the cache
    every = "reading every byte, two threads"
    table.line(every)
    table.line("durable run", every, FIRST_RUN_GOAL)
    table.line("dry run", every, "at most 8")
    table.line("metadata and audit records")
    table.line("second run, nothing to do", "metadata and audit records", "at most 2")
    table.line("second run, --verify", every)
    table.line("dry run, --jobs 1", "dry run, --jobs 2", "at least 1.7")
    table.line("durable run, --jobs 1", "durable run", "at least 1.7")


def memory(store, restorer, work):
    # What the runs in work need alone: the hungriest of a sample, twice, for two workers.
    alone = work / "alone"
    most = 0
    for path in sorted(store.rglob("power_audit_*"))[1:60:3]:
        if any(path.glob("agg_*.json")):
            shutil.rmtree(alone, ignore_errors=True)
            shutil.copytree(path, alone / path.name)
            most = max(most, peak_mib(backfill(alone, "--dry-run", "--jobs", "1")))
    shutil.rmtree(alone, ignore_errors=True)
    figures = {"dry run": peak_mib(backfill(store, "--dry-run")),
               "durable run": peak_mib(backfill(store)),
               "second run": peak_mib(backfill(store))}
    restorer.restore()
    print(f"peak memory: a store of one run {most:.1f} MiB; "
          + ", ".join(f"{name} {mib:.1f} MiB" for name, mib in figures.items())
          + "  (goal: at most 64 MiB beyond what the runs in work need alone)", flush=True)


def slope(work):
    """Peak memory by the number of small runs."""
    peaks = {}
    for runs in (1000, 4000, 16000):
        store = work / "slope"
        build(store, runs, small=True)
        for name, options in (("first run", []), ("second run", [])):
            peaks[runs, name] = peak_mib(backfill(store, *options))
        shutil.rmtree(store)
        print(f"peak memory, {runs} small runs: first run {peaks[runs, 'first run']:.1f} MiB, "
              f"second run {peaks[runs, 'second run']:.1f} MiB", flush=True)
    for name in ("first run", "second run"):
        kib = (peaks[16000, name] - peaks[1000, name]) * 1024 / 15000
        print(f"slope, {name}: {1024 * kib:.0f} bytes a run, {kib * 1e6 / 1024:.0f} MiB a million",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--keep", action="store_true", help="leave the store there")
    chosen = parser.parse_args()
    work = pathlib.Path(tempfile.mkdtemp(prefix="backfill-bench.", dir=chosen.work)).resolve()
    try:
        store = work / "store"
        began = time.monotonic()
        total = build(store, chosen.runs)
        print(f"store: {chosen.runs} runs, {total / 1e9:.2f} GB, built in "
              f"{time.monotonic() - began:.0f} s", flush=True)
        restorer = Restorer(store)
        times(store, restorer, chosen.rounds)
        memory(store, restorer, work)
        if not chosen.keep:
            shutil.rmtree(store)
        slope(work)
    finally:
        if not chosen.keep:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
