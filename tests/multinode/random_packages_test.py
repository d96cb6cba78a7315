#!/usr/bin/env python3
"""Random packages, judged by the program and by the model of the original: both must agree.

usage: tests/multinode/random_packages_test.py [--runs N] [--seed S] [--contract C] [--faults N]
       [--version V]   with $AGGREGATE_POWER
The folder of a failed run stays behind, with its command line and what differed in it. The last
line is "N passed, N failed".
"""
import collections
import json
import math
import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True

import package_model
import salvage_model
from random_packages import RandomPackage

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import seeds  # noqa: E402
from running import size  # noqa: E402

RUNS = size(300, 40)
KNOWN_CODES = {
    "samples_csv_missing", "samples_csv_header_mismatch", "samples_csv_malformed",
    "duplicate_sample_row", "timestamp_non_monotonic", "expected_device_missing",
    "unexpected_device", "gpu_uuid_changed", "conflicting_worker_roles", "conflicting_het_groups",
    "measurement_window_artifact_path_invalid", "measurement_window_malformed",
    "measurement_window_result_path_invalid", "measurement_window_duplicate",
    "measurement_window_unexpected", "measurement_window_missing", "measurement_window_incomplete",
    "measurement_window_result_missing", "measurement_window_result_mismatch",
    "measurement_window_clock_mismatch", "measurement_window_not_bracketed", "sample_gap_exceeded",
    "sample_loss_exceeded", "samples_digest_mismatch", "clock_sync_unverified"}
# Of these only the expected members count.
PARTS = "record", "cpu", "selected_window", "producer"
UNMODELLED = ["avg_temp_c", "peak_temp_c", "avg_util_pct", "avg_mem_used_mb"]
POWER_KEYS = re.compile(r"power_metric_schema_version|(cpu_)?power_valid|joules_per_\w+"
                        r"|(avg|p75|p90|total|prefill|decode)_\w*(_w|_j|_token)|\w+_per_(gpu|combined)_watt")


def compare(differences, what, expected, found):
    """Of an object only the expected members."""
    if isinstance(expected, dict) and isinstance(found, dict) and what in PARTS:
        for key, value in expected.items():
            name = key if key in PARTS else f"{what}: {key}"
            compare(differences, name, value, found.get(key, "<missing>"))
    elif expected != found:
        differences.append(f"{what}: expected {expected!r}, found {found!r}")


def in_order(row):
    """The contract's keys; those of 'help extended' stand anywhere."""
    return [key for key in row if "watt" not in key and "_and_" not in key]


def differences_of(run, folder, done, judgement):
    differences = []
    record = json.loads((folder / "power_validation_run.json").read_text())
    if "cpu" in judgement.record and run.options.contract == "august":
        record["cpu"] = record.get("cpu_power")
    for metrics in (record["metrics"], (record["selected_window"] or {}).get("metrics", {})):
        for key in UNMODELLED:
            metrics.pop(key, None)
    compare(differences, "record", judgement.record, record)
    told = {code for line in record["failures"] for code in re.findall(r"[a-z_]+", line)} & KNOWN_CODES
    if told != judgement.codes:
        differences.append(f"failures: expected {sorted(judgement.codes)}, found {record['failures']}")
    if judgement.row:
        whole = json.loads((folder / "agg_run.json").read_text())
        row = {key: value for key, value in whole.items() if POWER_KEYS.fullmatch(key)}
        if row != judgement.row or in_order(row) != in_order(judgement.row):
            differences.append(f"aggregate: expected {judgement.row}, found {row}")
        keys = run.options.keys
        if keys == "all":
            compare(differences, "workers", judgement.workers, whole.get("workers"))
        if keys in ("row", "all"):
            compare(differences, "reasons", judgement.reasons, whole["power_invalid_reasons"])
        if keys.endswith("row"):
            base = json.loads(json.dumps(run.package.aggregate))
            audit = {"power_invalid_reasons", "power_audit"} if keys == "row" else set()
            compare(differences, "the keys of the gate", {*judgement.row, *audit},
                    set(whole) - set(base))
    if judgement.gap_bounds is not None:
        found = record["gap_energy_bound_j"]["per_gpu"]
        if found.keys() != judgement.gap_bounds.keys() or not all(
                math.isclose(found[name], joules, rel_tol=1e-9, abs_tol=1e-6)
                for name, joules in judgement.gap_bounds.items()):
            differences.append(f"gap bounds: expected {judgement.gap_bounds}, found {found}")
    if done.returncode != judgement.status:
        differences.append(f"status: expected {judgement.status}, found {done.returncode}")
    return differences


# ---- --salvage

def compare_valid(differences, run, judgement, record, row):
    """What is wrong concerned other windows: the numbers are those of the window that was selected."""
    compare(differences, "salvaged power_valid", 1, row["power_valid"])
    compare(differences, "salvaged metrics", judgement.record["selected_window"]["metrics"],
            {key: value for key, value in record["metrics"].items() if key not in UNMODELLED})
    compare(differences, "salvaged energies", judgement.record["per_gpu_energy_j"], record["per_gpu_energy_j"])


def device_names(run, device):
    return {f"{device[0]}/{one[5]}" for one in run.package.rows if one[3:5] == [device[0], str(device[1])]} | {
        f"{device[0]}/{device[1]}"}


def salvage_differences(run, folder, done, judgement, before):
    """`before` is the row without --salvage."""
    expected = judgement.salvage
    record = json.loads((folder / "power_validation_run.json").read_text())
    row = json.loads((folder / "agg_run.json").read_text()) if judgement.row else {}
    salvage = record.get("salvage")
    differences = salvage_model.faults_of_row(run.options.keys, salvage, row) if judgement.row else []
    if expected is None:
        if judgement.row.get("power_valid") and row != before:
            differences.append(f"a valid row changed: {row}")
        return differences
    if expected.kind == "valid":
        compare_valid(differences, run, judgement, record, row)
        return differences
    compare(differences, "the row", before,
            {key: value for key, value in row.items() if not key.startswith("salvaged_")})
    compare(differences, "status", judgement.status, done.returncode)
    names = {device: next(name for name in salvage["per_gpu"] if name in device_names(run, device))
             for device in expected.shares} if salvage else {}
    return differences + salvage_model.faults_of_record(expected, salvage, names)


def salvaged_by_both(run, command, folder, environment, judgement):
    before = json.loads((folder / "agg_run.json").read_text()) if judgement.row else {}
    done = subprocess.run([*command, "--salvage"], cwd=folder, env=environment, capture_output=True)
    return salvage_differences(run, folder, done, judgement, before)


def judged_by_both(program, seed, contract, kind, folder):
    run = RandomPackage(seed, contract, *kind)
    run.write(folder)
    judgement = package_model.judge(folder, run.options)
    command = [program, *run.arguments()]
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True)
    try:
        differences = differences_of(run, folder, done, judgement)
    except (OSError, ValueError, KeyError) as error:
        differences = [f"{type(error).__name__}: {error}: {done.stderr.decode(errors='replace')}"]
    if run.salvage and not differences:
        try:
            differences = salvaged_by_both(run, command, folder, environment, judgement)
        except (OSError, ValueError, KeyError, StopIteration) as error:
            differences = [f"--salvage: {type(error).__name__}: {error}"]
        command.append("--salvage")
    return run, differences, command, judgement


def main():
    parser = seeds.seed_options(RUNS)
    parser.add_argument("--contract", choices=["october", "august"])
    parser.add_argument("--faults", type=int, help="of each package, instead of some few")
    parser.add_argument("--version", type=int, choices=[1, 2, 3], help="of samples.csv")
    given = parser.parse_args()
    outcomes, salvaged = collections.Counter(), collections.Counter()

    def judge(seed, folder):
        # Every fourth by the rules of August.
        contract = given.contract or ("august" if seed % 4 == 0 else "october")
        try:
            run, differences, command, judgement = judged_by_both(seeds.PROGRAM, seed, contract, (given.faults, given.version),
                                                                  folder)
        except Exception:
            print(f"the model broke off at seed {seed}, {contract}", flush=True)
            raise
        outcomes["valid"] += judgement.row.get("power_valid", 0)
        if run.salvage:
            salvaged[judgement.salvage.kind if judgement.salvage else "other"] += 1
        return [contract, *run.notes], command, differences

    return seeds.run_seeds("packages", range(given.seed, given.seed + given.runs), judge, lambda: (
        f"{outcomes['valid']} of the packages are valid; with --salvage: {dict(sorted(salvaged.items()))}"))


if __name__ == "__main__":
    sys.exit(main())
