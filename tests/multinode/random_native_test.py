#!/usr/bin/env python3
"""Random native packages, judged by the program and by the model of the original: both must agree.

usage: tests/multinode/random_native_test.py [--runs N] [--seed S] [--faults N]   with $AGGREGATE_POWER
The folder of a failed run stays behind, with its command line and what differed in it. The last line is
"N passed, N failed".
"""
import collections
import json
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True

import native_model
import salvage_model
from random_native import RandomNative

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import seeds  # noqa: E402
from running import size  # noqa: E402

RUNS = size(200, 40)
AUDIT = {"power_invalid_reasons", "power_audit"}
BEYOND_THE_GATE = {"avg_temp_c", "peak_temp_c", "avg_util_pct", "avg_mem_used_mb", "workers",
                   *(f"{kind}_tokens_per_second_per_gpu_watt" for kind in ("output", "total"))}
# At a rounding edge the original's bisection gives another last digit: help differences.
PERCENTILES = {f"{name}_{of}power_w" for name in ("p75", "p90") for of in ("", "total_gpu_")}


def is_same(key, expected, found):
    return abs(found - expected) < 0.0011 if key in PERCENTILES else found == expected


def row_faults(run, judgement, row):
    keys, base = run.options.keys, set(json.loads(run.aggregate))
    faults = [f"{key}: expected {value}, found {row.get(key)}" for key, value in judgement.row.items()
              if key not in row or not is_same(key, value, row[key])]
    allowed = base | set(judgement.row) | (AUDIT if keys in ("row", "all") else set())
    needed = AUDIT if keys in ("row", "all") else set()
    more = {key for key in set(row) - allowed if not (keys == "all" and key in BEYOND_THE_GATE)}
    more = {key for key in more if not key.startswith("salvaged_")}
    faults += [f"{key} is not of --keys {keys}" for key in more]
    faults += [f"{key} is missing" for key in needed - set(row)]
    if "power_invalid_reasons" in row and row["power_invalid_reasons"] != judgement.reasons[:32]:
        faults.append(f"power_invalid_reasons: {row['power_invalid_reasons']}")
    return faults


def error_faults(judgement, record):
    found = [(error["node"], error["type"], error["detail"]) for error in record["node_errors"]]
    is_so = len(found) == len(judgement.errors) and all(
        mine[:2] == theirs[:2] and mine[2] in (None, theirs[2])
        for mine, theirs in zip(judgement.errors, found))
    return [] if is_so else [f"node_errors: expected {judgement.errors}, found {found}"]


def faults_of(run, folder, done, judgement):
    record = json.loads((folder / "power_validation_run.json").read_text())
    faults = [f"{key}: expected {value!r}, found {record[key]!r}" for key, value in judgement.record.items()
              if record[key] != value]
    faults += error_faults(judgement, record)
    if done.returncode != judgement.status:
        faults.append(f"status: expected {judgement.status}, found {done.returncode}")
    if judgement.row:
        faults += row_faults(run, judgement, json.loads((folder / "agg_run.json").read_text()))
    return faults


def salvage_faults(run, folder, done, judgement):
    faults = [f"--salvage: {fault}" for fault in faults_of(run, folder, done, judgement)]
    salvage = json.loads((folder / "power_validation_run.json").read_text()).get("salvage")
    if judgement.row:
        row = json.loads((folder / "agg_run.json").read_text())
        faults += salvage_model.faults_of_row(run.options.keys, salvage, row)
    if judgement.salvage is None or not judgement.row:
        return faults + ([] if salvage is None or not salvage["available"] else [f"salvaged: {salvage}"])
    return faults + salvage_model.faults_of_record(judgement.salvage, salvage, judgement.names)


def judged_by_both(program, seed, count, folder):
    run = RandomNative(seed, count)
    run.write(folder)
    judgement = native_model.judge(folder, run.options)
    command = [program, *run.arguments()]
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo"}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True)
        faults = faults_of(run, folder, done, judgement)
        if not faults:
            command.append("--salvage")
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True)
            faults = salvage_faults(run, folder, done, judgement)
    except (OSError, ValueError, KeyError, TypeError) as error:
        faults = [f"{type(error).__name__}: {error}: {done.stderr.decode(errors='replace')}"]
    return run, faults, command, judgement


def main():
    parser = seeds.seed_options(RUNS)
    parser.add_argument("--faults", type=int, help="of each package, instead of some few")
    given = parser.parse_args()
    outcomes = collections.Counter()

    def judge(seed, folder):
        run, faults, command, judgement = judged_by_both(seeds.PROGRAM, seed, given.faults, folder)
        kind = judgement.salvage.kind if judgement.salvage else "refused"
        outcomes["valid" if not judgement.reasons else kind] += 1
        return run.notes, command, faults

    return seeds.run_seeds("native", range(given.seed, given.seed + given.runs), judge,
                           lambda: dict(sorted(outcomes.items())))


if __name__ == "__main__":
    sys.exit(main())
