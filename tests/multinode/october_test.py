#!/usr/bin/env python3
"""Packages by October's rules: what the original's newest tests expect, by the numbers that
contract-october.md section 7 gives them, and the gap rules of section 2.11.

usage: tests/multinode/october_test.py [TEST...]   with $AGGREGATE_POWER
"""
import hashlib
import json
import re
import sys

import package_bed
from package_bed import differences, main
from package_builder import PIN, Gpu, Load, Package, edit_json, two_and_two, write_csv

RECOMPUTE = ["package_recompute_invalid"]
CHANGED = [*RECOMPUTE, "producer_verdict_mismatch"]
# Package P: 8 queries, 32768 tokens in, 4096 out.
COUNTS = {"completed": 8, "total_input_tokens": 32768, "total_output_tokens": 4096}
WHOLE = {"avg_power_w": 350.0, "avg_total_gpu_power_w": 1400.0, "total_gpu_energy_j": 84000.0,
         "joules_per_successful_query": 10500.0, "joules_per_input_token": 2.563477,
         "joules_per_output_token": 20.507812, "joules_per_total_token": 2.278646}
ROLES = {"prefill_gpu_energy_j": 48000.0, "prefill_avg_power_w": 400.0,
         "prefill_joules_per_input_token": 1.464844, "decode_gpu_energy_j": 36000.0,
         "decode_avg_power_w": 300.0, "decode_joules_per_output_token": 8.789062}


class CustomLoad(Load):
    def __init__(self, concurrency, start=1000.0, end=1060.0, **counts):
        super().__init__(concurrency, start, end, "custom")
        self.counts = COUNTS | counts

    def measured(self):
        return super().measured() | self.counts


def package_p(gpus=None, loads=None, **options):
    return Package(gpus, loads or [CustomLoad(4)], **options)


def siblings(**options):
    """P with a second load, C8, from 1100 to 1160."""
    return package_p(loads=[CustomLoad(4), CustomLoad(8, 1100.0, 1160.0)], **options)


def run(ground, package, *more, gpus=(2, 2), **options):
    bed = ground.bed(package)
    bed.done = bed.run(*more, gpus=gpus, **options)
    return bed


def has(bed, metrics):
    """The faults of a run that must be valid with at least these metrics."""
    if bed.done.returncode or not bed.row.get("power_valid"):
        return [bed.done.err]
    return differences("metrics", {key: bed.row.get(key) for key in metrics}, metrics)


def refused(bed, reasons, failure=None, status=0):
    faults = differences("status", bed.done.returncode, status)
    faults += differences("valid", bed.row["power_valid"], 0)
    faults += differences("reasons", bed.record["reasons"], reasons)
    faults += differences("metrics", bed.record["metrics"], {})
    faults += [f"published: {key}" for key in [*WHOLE, *ROLES] if key in bed.row]
    if failure and not any(failure in text for text in bed.record["failures"]):
        faults.append(f"no failure tells {failure!r}: {bed.record['failures']}")
    return faults


# ---- 1 to 6: numbers and roles

def numbers(ground, checks):
    bed = run(ground, package_p(), "--extended")
    checks.add("7.1", has(bed, WHOLE | ROLES | {
        "p75_power_w": 350.0, "p75_total_gpu_power_w": 1400.0, "p90_power_w": 350.0,
        "p90_total_gpu_power_w": 1400.0}))
    checks.add("7.2", differences("workers", bed.row["workers"], [
        {"role": "decode", "worker_idx": 0, "num_gpus": 2, "avg_power_w": 300.0,
         "hosts": ["node-d"]},
        {"role": "prefill", "worker_idx": 0, "num_gpus": 2, "avg_power_w": 400.0,
         "hosts": ["node-p"]}]))
    gpus = two_and_two()
    gpus[0].watts = lambda t: 300.0 + (t - 998)
    bed = run(ground, package_p(gpus), "--extended")
    # Its mean over 1000 to 1060 is 300 + 2 + 30 W; the fleet's power goes from 1402 to 1462 W.
    checks.add("7.3", has(bed, {"decode_avg_power_w": 316.0, "avg_power_w": 358.0,
                                "avg_total_gpu_power_w": 1432.0, "p75_power_w": 361.75,
                                "p75_total_gpu_power_w": 1447.0, "p90_power_w": 364.0,
                                "p90_total_gpu_power_w": 1456.0})
               + differences("energy", bed.record["per_gpu_energy_j"]["node-d/GPU-node-d-0"],
                             19920.0))
    gpus = [Gpu(gpu.host, gpu.index, "agg", gpu.watts, None, worker)
            for gpu, worker in zip(two_and_two(), (0, 0, 1, 1))]
    bed = run(ground, package_p(gpus), "--extended", gpus=None, agg=4)
    checks.add("7.4", has(bed, WHOLE) + differences("roles", [k for k in ROLES if k in bed.row], [])
               + differences("workers", [(w["role"], w["worker_idx"], w["hosts"], w["avg_power_w"])
                                         for w in bed.row["workers"]],
                             [("agg", 0, ["node-d"], 300.0), ("agg", 1, ["node-p"], 400.0)]))
    bed = run(ground, package_p(gpus), gpus=None, agg=8)
    checks.add("7.5", refused(bed, ["topology_env_mismatch"])
               + differences("integrity", bed.record["package_integrity_valid"], True)
               + differences("selected", (bed.record["selected_window"]["power_valid"],
                                          bed.record["selected_window"]["metrics"]), (False, {})))
    bed = run(ground, package_p(gpus), gpus=(2, 2), agg=4)
    checks.add("7.6", refused(bed, ["topology_env_mismatch"],
                              "aggregate GPUs cannot be combined with prefill/decode GPUs"))
    checks.add("7.24", refused(run(ground, package_p(), gpus=(4, 2)), ["topology_env_mismatch"]))
    for name, groups, reasons in (("both in one", (0, 0), ["topology_env_mismatch"]),
                                  ("all null", (None, None), None),
                                  ("mixed null", (None, 0), ["topology_env_mismatch"])):
        gpus = two_and_two()
        for gpu in gpus:
            gpu.group = groups[gpu.role == "prefill"]
        bed = run(ground, package_p(gpus))
        checks.add(f"7.25 {name}", refused(bed, reasons) if reasons else has(bed, WHOLE))


# ---- 7 to 14: integrity apart from publication

def with_failed_c8(package):
    """Its window did not complete, and the recorder says so."""
    package.windows["results_concurrency_8.json"] |= {"status": "failed", "reason": "client failed"}
    package.changes = {"publication_valid": False}
    return package


def kept(bed, reasons=None, valid=True):
    """C4's numbers are in the record, not in the row."""
    selected = bed.record["selected_window"]
    return [*refused(bed, reasons or RECOMPUTE),
            *differences("integrity", bed.record["package_integrity_valid"], valid),
            *differences("selected", selected["power_valid"], valid),
            *differences("energy", selected["metrics"].get("total_gpu_energy_j"),
                         84000.0 if valid else None),
            *differences("per GPU", len(bed.record["per_gpu_energy_j"]), 4 if valid else 0)]


def integrity(ground, checks):
    bed = run(ground, with_failed_c8(siblings()))
    checks.add("7.7", kept(bed) + differences(
        "rows", [(row["concurrency"], row["reason_codes"])
                 for row in bed.record["window_validations"]],
        [(4, []), (8, ["measurement_window_incomplete"])]))
    done = bed.run("--require-power")
    checks.add("7.7 required", differences("status", done.returncode, 1))
    package = siblings()
    package.windows.pop("results_concurrency_8.json")
    package.changes = {"publication_valid": False}
    checks.add("7.8", kept(run(ground, package)))
    package = siblings(last=1150.0)
    package.changes = {"publication_valid": False}
    bed = run(ground, package)
    checks.add("7.9", kept(bed) + differences(
        "codes", bed.record["window_validations"][1]["reason_codes"],
        ["measurement_window_not_bracketed"]))
    package = with_failed_c8(siblings())
    package.rows.append(package.rows[-1])
    checks.add("7.10", kept(run(ground, package), valid=False))
    package = with_failed_c8(siblings())
    validations = package.manifest()["window_validations"]
    validations[1]["reason_codes"] = []
    package.changes["window_validations"] = validations
    checks.add("7.11", kept(run(ground, package), valid=False))
    package = with_failed_c8(siblings())
    package.changes = {"publication_valid": True}
    checks.add("7.12", kept(run(ground, package), CHANGED, valid=False))
    package = with_failed_c8(siblings())
    package.bench = dict(package.results["cfg/results_concurrency_8.json"])
    bed = run(ground, package)
    checks.add("7.13", refused(bed, [*RECOMPUTE, "window_for_result_missing"])
               + differences("selected", bed.record["selected_window"], None))
    package = package_p()
    package.changes = {"publication_valid": False}
    bed = run(ground, package)
    checks.add("7.14", refused(bed, ["producer_verdict_mismatch"])
               + differences("integrity", bed.record["package_integrity_valid"], False))
    for name, options, reason in (("other", {"pin": "f" * 40}, "producer_commit_mismatch"),
                                  ("none", {"pin": None}, "producer_pin_missing")):
        bed = run(ground, package_p(), **options)
        checks.add(f"7.15 pin: {name}", refused(bed, [reason]) + differences(
            "integrity", bed.record["package_integrity_valid"], False))
    bed = ground.bed(package_p())
    bed.done = bed.run("--power-dir", "nowhere")
    checks.add("7.15 no folder", refused(bed, ["power_artifacts_missing"]) + differences(
        "windows", (bed.record["window_validations"], bed.record["package_integrity_valid"]),
        ([], False)))


# ---- 16 to 30: samples

def row_of(package, host, index, seq):
    return next(row for row in package.rows if row[2:5] == [str(seq), host, str(index)])


def samples(ground, checks):
    def void(name, change, reasons, failure, **options):
        package = package_p()
        change(package)
        bed = run(ground, package, **options)
        checks.add(name, refused(bed, reasons, failure))
        return bed

    def one_uuid(package):
        for row in package.rows:
            if row[3:5] == ["node-d", "1"]:
                row[5] = "GPU-node-d-0"

    def swapped(package):
        a, b = row_of(package, "node-d", 0, 20), row_of(package, "node-d", 0, 21)
        a[1], b[1] = b[1], a[1]

    def without(condition):
        def change(package):
            package.rows = [row for row in package.rows if not condition(row)]
        return change

    void("7.16", one_uuid, CHANGED, "gpu_uuid_changed")
    # Both GPUs are one member, as in the original's map; what was stored so is not wrong.
    package = package_p()
    one_uuid(package)
    validation = package.validation(package.loads[0])
    validation["per_device_max_sample_gap_seconds"].pop("node-d/GPU-node-d-1")
    package.changes = {"window_validations": [validation]}
    bed = run(ground, package)
    gaps = re.search(r'"per_device_max_sample_gap_seconds": {(.*?)}', bed.record_path.read_text(), re.S)
    checks.add("7.16 each member once", differences(
        "gaps", gaps[1].count('"node-d/GPU-node-d-0"'), 1) + differences(
            "failures", [text for text in bed.record["failures"] if "window_validations" in text], []))
    void("7.17", swapped, CHANGED, "timestamp_non_monotonic")
    bed = void("7.18", without(lambda row: row[3:5] == ["node-d", "0"] and 20 <= int(row[2]) <= 24),
               CHANGED, "sample_gap_exceeded")
    checks.add("7.18: the cause is told first", [] if (
        "package_recompute_invalid (sample_gap_exceeded (window custom/4: node-d/0 has no samples for "
        "6.000 s, at most 3 s)") in bed.done.err else [bed.done.err])
    void("7.19", without(lambda row: row[3:5] == ["node-d", "0"] and float(row[1]) <= 1000),
         CHANGED, "measurement_window_not_bracketed")
    gpus = two_and_two()
    gpus[0].watts = 9e307
    bed = run(ground, package_p(gpus))
    checks.add("7.20", refused(bed, ["non_finite_power_metric"]) + differences(
        "energies", list(bed.record["per_gpu_energy_j"].values()), [None] * 4)
        + differences("integrity", bed.record["package_integrity_valid"], True))

    def evil(package):
        package.windows["results_concurrency_4.json"]["result_path"] = "../evil.json"
        package.results["../evil.json"] = package.results["cfg/results_concurrency_4.json"]

    void("7.21", evil, [*CHANGED, "window_for_result_missing"],
         "measurement_window_result_path_invalid")
    void("7.22", lambda package: package.bench.update(completed=9), ["result_content_mismatch"],
         None)
    bed = void("7.23", lambda package: package.bench.update(max_concurrency=8),
               ["window_for_result_missing"], None)
    checks.add("7.23 recomputed", differences(
        "producer", bed.record["producer"]["recomputed_publication_valid"], True))
    for name, changes in (("producer", {"producer": "other"}), ("rows", {"sample_row_count": 1}),
                          ("status", {"status": "incomplete"})):
        void(f"7.26 {name}", lambda package, changes=changes: package.changes.update(changes),
             CHANGED, None)
    package = package_p()
    package.bench["duration"] = package.results["cfg/results_concurrency_4.json"]["duration"] = 60.1
    package.windows["results_concurrency_4.json"]["duration"] = 60.1
    bed = run(ground, package, "--extended")
    checks.add("7.30", has(bed, {"avg_power_w": 350.0}) + differences(
        "workers", [worker["avg_power_w"] for worker in bed.row["workers"]], [300.0, 400.0]))


def versions(ground, checks):
    def changed(version, column, value):
        package = package_p(version=version)
        package.rows[100][column] = value
        return package

    for cells in (["", ""], ["75.5", "0.9"]):
        package = package_p(version=2)
        package.rows[100][7:9] = cells
        checks.add(f"7.27 version 2: {cells}", has(run(ground, package), WHOLE))
    for value in ("", "0", "65.5", "-273.15", "200"):
        checks.add(f"7.27 version 3: {value!r}", has(run(ground, changed(3, 9, value)), WHOLE))
    for column, value in ((0, "1"), (7, "nan"), (7, "101"), (8, "1.1")):
        checks.add(f"7.28: {value}", refused(run(ground, changed(2, column, value)), CHANGED,
                                             "samples_csv_malformed"))
    package = package_p(version=2)
    package.rows[100].pop()
    checks.add("7.28: a short row", refused(run(ground, package), CHANGED, "samples_csv_malformed"))
    for value in ("nan", "inf", "bad", "-300", "9223372036854775794", "2147483632"):
        checks.add(f"7.29: {value}", refused(run(ground, changed(3, 9, value)), CHANGED,
                                             "samples_csv_malformed"))
    bed = run(ground, changed(3, 9, "200.1"))
    checks.add("8.4: a temperature that no GPU has", has(bed, WHOLE)
               + ([] if "1 temperatures above 200 degrees" in bed.done.err else [bed.done.err]))
    package = package_p(version=3)
    package.header = package.header[:-1] + ["temp_c"]
    checks.add("another header", refused(run(ground, package), CHANGED,
                                         "samples_csv_header_mismatch"))
    bed = run(ground, package_p(version=3), "--compat", "august")
    checks.add("August knows no version 3", refused(bed, CHANGED, "samples_csv_header_mismatch"))
    gpus = two_and_two()
    for gpu in gpus:
        gpu.temp_c = 60.0
    bed = run(ground, package_p(gpus, version=3), "--extended")
    checks.add("temperatures for the dashboard", has(bed, WHOLE) + differences(
        "mean", bed.row.get("avg_temp_c"), 60.0))


# ---- 31 to 35: exporters and clocks

EXPORTERS = {
    "dcgm": {},
    "amd": {"source_metric": "gpu_power_usage",
            "power_scope": "gpu_device_power_as_reported_by_amd_device_metrics_exporter"},
    "custom": {"source_metric": "my_power", "power_scope": "what the PSU says"}}


def replay(exporter="dcgm", hosts=1):
    """Four GPUs at 500 + i W, 70 scrapes; the window is from the 5th second to the 65th."""
    gpus = [Gpu(f"n{i % hosts}", i // hosts, "agg", 500.0 + i) for i in range(4)]
    load = CustomLoad(16, 1005.0, 1065.0, completed=40, total_input_tokens=327680,
                      total_output_tokens=40960)
    package = package_p(gpus, [load], version=3, first=1000.0, last=1069.0)
    package.changes = dict(EXPORTERS[exporter])
    return package


def exporters(ground, checks):
    for exporter, changes in EXPORTERS.items():
        bed = run(ground, replay(exporter), gpus=None, agg=4)
        origin = bed.record["computed_from"]
        checks.add(f"7.31 {exporter}", has(bed, {
            "total_gpu_energy_j": 120360.0, "avg_power_w": 501.5,
            "joules_per_output_token": 2.938477}) + differences(
                "provenance", {key: origin[key] for key in changes}, changes))
    package = replay()
    package.changes = {"clock_sync_failures": ["n0"], "publication_valid": False}
    bed = run(ground, package, gpus=None, agg=4)
    checks.add("7.33", refused(bed, RECOMPUTE)
               + ([] if any(text.startswith("clock_sync_unverified: n0")
                            for text in bed.record["failures"]) else [bed.record["failures"]])
               + differences("selected", bed.record["selected_window"]["metrics"], {})
               + differences("integrity", bed.record["package_integrity_valid"], False))
    gpus = [Gpu("n", i, "agg", lambda t: 241.0) for i in range(2)]
    for exporter in ("amd", "dcgm"):
        package = package_p(gpus, version=3)
        package.changes = dict(EXPORTERS[exporter])
        bed = run(ground, package, gpus=None, agg=2)
        warned = "100 % of the samples of n/0 repeat the one before exactly" in bed.done.err
        checks.add(f"8.18 a stale cache, {exporter}", has(bed, {"avg_power_w": 241.0})
                   + differences("warned", warned, exporter == "amd"))
    package = replay(hosts=2)
    package.changes = {"clock_sync_failures": ["n0", "n1"], "publication_valid": False}
    bed = run(ground, package, "--salvage", gpus=None, agg=4)
    selected = bed.record["selected_window"]
    checks.add("8.17 unproven clocks, salvaged", refused(bed, RECOMPUTE) + differences(
        "labelled", (selected["clocks"], selected["metrics"]["total_gpu_energy_j"]),
        ("not proven to agree", 120360.0)))
    for profile in ("dcgm", {"name": "dcgm"}, 5):
        package = package_p()
        package.changes = {"power_profile": profile}
        checks.add(f"7.34 {profile}", has(run(ground, package), WHOLE))
    package = replay()
    package.changes = {"source_metric": ""}
    checks.add("7.35", refused(run(ground, package, "--require-power", gpus=None, agg=4), CHANGED,
                               "source_metric is not a non-empty string", status=1))


# ---- 37 to 47: CPUs

def cpus(ground, checks):
    def with_cpus(package=None, **options):
        return (package or package_p()).add_cpus(**options)

    package = with_cpus(watts=600.0)
    for row in package.cpu_rows:
        row[6] = "500.0" if row[5] == "0" else "700.0"
    cpu = {"cpu_power_valid": 1, "avg_cpu_socket_power_w": 600.0, "avg_total_cpu_power_w": 2400.0,
           "total_cpu_energy_j": 144000.0}
    bed = run(ground, package)
    checks.add("7.37", has(bed, WHOLE | cpu) + differences(
        "stdout", bed.done.out.splitlines()[0],
        "aggregate-power: cpu_power_valid=1 sensor_kind=grace_socket "
        "avg_total_cpu_power_w=2400.00 total_cpu_energy_j=144000.00 reasons=-"))
    rails = {"avg_total_cpu_rail_power_w": 800.0, "total_cpu_rail_energy_j": 48000.0,
             "avg_total_cpu_sysio_power_w": 200.0, "total_cpu_sysio_energy_j": 12000.0}
    package = with_cpus(version=2, watts=600.0, rails=("200.0", "50.0", ""))
    checks.add("7.38", has(run(ground, package), cpu | rails))
    for row in package.cpu_rows:
        if 1020 <= float(row[1]) <= 1030:
            row[7] = ""
    bed = run(ground, package)
    checks.add("7.39", has(bed, cpu | {"total_cpu_sysio_energy_j": 12000.0}) + differences(
        "rail", bed.row.get("total_cpu_rail_energy_j"), None))
    package = with_cpus(source="dcgm", sensor="cpu{}:cpuPowerUsageW", watts=300.0)
    bed = run(ground, package)
    checks.add("7.40", has(bed, {"avg_total_cpu_power_w": 1200.0}) + differences(
        "kind", bed.record["cpu"]["sensor_kind"], "dcgm_cpu_rail"))
    package = with_cpus(watts=600.0)
    both = with_cpus(package_p(), watts=1500.0, sensor="Module Power Socket {}")
    package.cpu_rows += both.cpu_rows
    checks.add("7.41", has(run(ground, package), {"avg_total_module_power_w": 6000.0,
                                                  "avg_total_cpu_power_w": 2400.0}))
    package = with_cpus(watts=600.0)
    package.cpu_rows += [row for row in both.cpu_rows if row[2] == "node-d"]
    checks.add("7.42", differences("kind", run(ground, package).record["cpu"]["sensor_kind"],
                                   "grace_socket"))
    bed = run(ground, package_p(), "--expected-cpu-source", "acpi", "--require-power")
    checks.add("7.43", differences("status", bed.done.returncode, 1)
               + differences("valid", (bed.row["power_valid"], bed.row["cpu_power_valid"]), (1, 0))
               + ([] if "Required CPU power is invalid" in bed.done.err else [bed.done.err])
               + differences("energy", bed.row["total_gpu_energy_j"], 84000.0))
    bed = run(ground, package_p(), "--expected-cpu-source", "acpi")
    checks.add("7.44", differences("status", bed.done.returncode, 0))
    bed = run(ground, with_cpus(source="dcgm", sensor="cpu{}:cpuPowerUsageW"),
              "--expected-cpu-source", "acpi")
    checks.add("7.45", differences("reasons", bed.record["cpu"]["reason_codes"],
                                   ["cpu_sensor_source_mismatch"]))

    def cpu_fault(name, change, reason):
        package = with_cpus(watts=600.0)
        change(package)
        bed = run(ground, package, "--require-power")
        checks.add(f"7.46 {name}", has(bed, WHOLE | {"cpu_power_valid": 0}) + differences(
            "reasons", bed.record["cpu"]["reason_codes"], [reason]))

    cpu_fault("a socket is missing", lambda package: setattr(package, "cpu_rows", [
        row for row in package.cpu_rows if (row[2], row[5]) != ("node-d", "1")]),
        "cpu_socket_count_mismatch")
    cpu_fault("a hole", lambda package: setattr(package, "cpu_rows", [
        row for row in package.cpu_rows if not 1020 < float(row[1]) < 1024]),
        "cpu_sample_gap_exceeded")

    def mixed(package):
        for row in package.cpu_rows:
            if row[2] == "node-d":
                row[4] = f"Module Power Socket {row[5]}"

    cpu_fault("kinds are mixed", mixed, "cpu_sensor_kind_mixed")
    cpu_fault("n/a", lambda package: package.cpu_rows[50].__setitem__(6, "n/a"),
              "cpu_samples_malformed")
    package = with_cpus()
    package.windows["results_concurrency_4.json"] |= {"status": "failed", "reason": "client failed"}
    package.changes = {"publication_valid": False}
    bed = run(ground, package)
    checks.add("7.47", differences("reasons", bed.record["cpu"]["reason_codes"],
                                   ["cpu_window_unavailable"]))
    # The manifest expects no window, so nothing was checked about the one of this result.
    package = with_cpus()
    package.changes = {"expected_windows": [], "window_validations": [], "publication_valid": False,
                       "artifact_errors": [{"path": "windows/results_concurrency_4.json",
                                            "reason_codes": ["measurement_window_unexpected"]}]}
    bed = run(ground, package)
    checks.add("CPUs: a window that nobody expects", differences(
        "reasons", bed.record["cpu"]["reason_codes"], ["cpu_window_unavailable"])
        + differences("valid", bed.row["cpu_power_valid"], 0))
    # As the table of section 2.9 has it: without an aggregate there is no CPU power either.
    for name, text in (("missing", None), ("unwritable", "[]")):
        bed = ground.bed(with_cpus())
        bed.aggregate.unlink() if text is None else bed.aggregate.write_text(text)
        done = bed.run()
        checks.add(f"CPUs: the aggregate is {name}", differences("record", [
            bed.record["cpu"][key] for key in ("cpu_power_valid", "reason_codes", "metrics")],
            [False, [f"aggregate_result_{name}"], {}]) + differences(
                "told", done.out.split()[1:2], ["cpu_power_valid=0"]))
    # GPUs that do not cover the window leave the CPUs alone; a clock that is off does not.
    package = with_cpus(siblings(last=1150.0))
    package.rows = [row for row in package.rows
                    if not (row[3:5] == ["node-d", "0"] and float(row[1]) <= 1000)]
    package.changes = {"publication_valid": False}
    bed = run(ground, package)
    checks.add("CPUs: coverage of the GPUs does not matter", differences(
        "valid", (bed.row["power_valid"], bed.row["cpu_power_valid"]), (0, 1)))


# ---- 65 and 66: bytes and times

def bytes_and_times(ground, checks):
    def with_digest(digest):
        package = package_p()
        bed = ground.bed(package)
        edit_json(bed.manifest, samples_sha256=digest(bed.samples.read_bytes()))
        return bed

    def sha256(data):
        return hashlib.sha256(data).hexdigest()

    bed = with_digest(sha256)
    bed.done = bed.run()
    checks.add("a digest that fits", has(bed, WHOLE))
    bed.lines(lambda lines: [[*line[:6], "300.5"] if i == 9 else line
                             for i, line in enumerate(lines)])
    bed.done = bed.run()
    checks.add("7.65 one watt changed", refused(bed, CHANGED, "samples_sha256 mismatch: manifest")
               + differences("integrity", bed.record["package_integrity_valid"], False)
               + ([] if any(text.startswith("samples_digest_mismatch")
                            for text in bed.record["failures"]) else ["no line of its own"]))
    bed.done = bed.run("--salvage")
    checks.add("7.65 nobody salvages other bytes", refused(bed, CHANGED))
    bed.done = bed.run("--compat", "august")
    checks.add("August does not look", has(bed, {}))
    for value in ("ABC", sha256(b"").upper(), 5):
        bed = with_digest(lambda data, value=value: value)
        bed.done = bed.run()
        checks.add(f"7.65 {value!r}", refused(bed, CHANGED,
                                              "is not a lowercase SHA-256 digest"))
    package = package_p(last=1065.0)
    package.rows = [row for row in package.rows if int(row[2]) % 5 == 0]
    checks.add("7.66 every 5th second only", refused(run(ground, package), CHANGED,
                                                     "sample_gap_exceeded"))
    package = package_p()
    window = package.windows["results_concurrency_4.json"]
    for part in (window, package.results["cfg/results_concurrency_4.json"], package.bench):
        part["benchmark_start_time_unix"], part["benchmark_end_time_unix"] = 1060.0, 1000.0
    bed = run(ground, package)
    checks.add("7.66 a reversed window", [] if any(
        "measurement_window_clock_mismatch" in text for text in bed.record["failures"])
        else [bed.record["failures"]])
    for name, changes, failure in (
            ("stopped before it started", {"started_at_unix": 990.0, "stopped_at_unix": 980.0},
             "stopped_at_unix is before started_at_unix"),
            ("a sample before the start", {"started_at_unix": 999.0}, "is before started_at_unix"),
            ("a sample after the end", {"stopped_at_unix": 1061.0}, "is after stopped_at_unix")):
        package = package_p()
        package.changes = changes
        checks.add(f"times: {name}", refused(run(ground, package), CHANGED, failure))
    package = package_p()
    package.changes = {"window_validations": [package.manifest()["window_validations"][0]
                                              | {"more": 1}]}
    bed = run(ground, package)
    checks.add("8.22 a member that nobody knows", has(bed, WHOLE) + (
        [] if "window_validations.more is not known" in bed.done.err else [bed.done.err]))


# ---- Gaps: the worked edges of section 2.11

# By rule, in the order of gap_rules(): G is a long gap, L lost samples.
EDGES = """
60   1 2 -            ok  ok  ok  ok  ok  ok  ok  ok
60   1 2 gap:3        ok  ok  ok  ok  ok  ok  ok  ok
60   1 2 gap:4        G   G   G   ok  ok  ok  ok  G
60   1 2 gap:6        G   G+L G   G   G   G+L ok  G
60   1 2 second       ok  L   ok  ok  G   L   ok  ok
19   1 2 gap:2        ok  L   ok  ok  G   ok  ok  ok
20   1 2 gap:2        ok  ok  ok  ok  ok  ok  ok  ok
39   1 2 gap:3        ok  L   ok  ok  G   L   ok  ok
40   1 2 gap:3        ok  ok  ok  ok  ok  ok  ok  ok
1200 1 2 gap:6        G   G   ok  ok  ok  ok  ok  ok
1200 1 2 gap:7        G   G   G   G   G   G   ok  G
1200 1 2 gaps:10x6    G   G   ok  ok  ok  ok  ok  G
1200 1 2 gaps:11x6    G   G   G   G   G   G   ok  G
3600 1 2 gap:10       G   G   ok  ok  ok  ok  ok  ok
3600 1 2 gap:11       G   G   G   G   G   G   ok  G
60   1 2 start:6      G   G+L G   G   G   G   ok  G
60   2 5 gap:10       G   G+L G   ok  G   L   ok  G
"""
COLUMNS = ["a", "b", "a'", "c-early", "c", "c'", "d", "e"]
STRICTEST = ["b", "a", "c", "c'", "e", "a'", "c-early", "d"]
CODES = {"ok": [], "G": ["sample_gap_exceeded"], "L": ["sample_loss_exceeded"],
         "G+L": ["sample_gap_exceeded", "sample_loss_exceeded"]}


def lost(what, interval):
    """Whether a sample at this second after the window's start is missing."""
    kind, _, size = what.partition(":")
    if kind == "second":
        return lambda t: t % 2 == 1
    if kind == "start":
        return lambda t: -3 < t < 3
    if kind == "gap":
        return lambda t: 10 * interval < t < 10 * interval + float(size)
    if kind == "gaps":
        count, length = map(int, size.split("x"))
        return lambda t: any(20 * k < t < 20 * k + length for k in range(1, count + 1))
    return lambda t: False


def edge_package(length, interval, timeout, what):
    margin = 4 * interval
    package = package_p([Gpu("n", 0, "agg", 100.0)], [CustomLoad(4, 1000.0, 1000.0 + length)],
                        first=1000.0 - margin, last=1000.0 + length + margin,
                        interval=float(interval))
    is_lost = lost(what, interval)
    package.rows = [row for row in package.rows if not is_lost(float(row[1]) - 1000)]
    package.changes = {"sample_interval_seconds": float(interval),
                       "request_timeout_seconds": float(timeout), "stopped_at_unix": 9000.0}
    return package


def edges(ground, checks):
    for line in EDGES.strip().splitlines():
        length, interval, timeout, what, *verdicts = line.split()
        by_rule = dict(zip(COLUMNS, verdicts))
        longest = max(edge_package(int(length), int(interval), int(timeout), what)
                      .coverage(1000.0, 1000.0 + int(length))[0].values())
        for rule, verdict in by_rule.items():
            package = edge_package(int(length), int(interval), int(timeout), what)
            codes = CODES[verdict]
            package.changes |= {"publication_valid": not codes, "window_validations": [
                package.validation(package.loads[0]) | {
                    "power_coverage_valid": not codes, "reason_codes": codes,
                    "per_device_max_sample_gap_seconds": {"n/GPU-n-0": longest}}]}
            bed = run(ground, package, gpus=None, agg=1)
            # The strictest of those that give what was stored.
            name = next(one for one in STRICTEST if by_rule[one] == verdict)
            faults = differences("rule", bed.record["gap_dialect"], name)
            faults += has(bed, {"total_gpu_energy_j": 100.0 * int(length)}) if not codes \
                else refused(bed, RECOMPUTE, codes[0])
            checks.add(f"gaps: {length} s, {what}, stored by {rule}", faults)


def gap_bounds(ground, checks):
    def with_gap(watts, publication_valid=True):
        package = edge_package(60, 1, 2, "gap:4")
        package.gpus[0].watts = watts
        for row in package.rows:
            row[6] = str(float(watts(float(row[1]))))
        package.changes |= {"publication_valid": publication_valid, "window_validations": [
            package.validation(package.loads[0]) | {
                "power_coverage_valid": True, "reason_codes": [],
                "per_device_max_sample_gap_seconds": {"n/GPU-n-0": 4.0}}]}
        return package

    # From 100 W to 500 W in the middle of the recording: in the gap, from 1010 to 1014, it was
    # 100 W, which is 400 W below the highest: 4 s x 400 W.
    bed = run(ground, with_gap(lambda t: 100 if t < 1030 else 500), gpus=None, agg=1)
    checks.add("gap bound: at the lower end", has(bed, {}) + differences(
        "bound", bed.record["gap_energy_bound_j"],
        {"total": 1600.0, "per_gpu": {"n/GPU-n-0": 1600.0}}))
    # 300 W with 100 W and 500 W elsewhere: half of it.
    bed = run(ground, with_gap(lambda t: 300 if t < 1030 else 500 if t < 1040 else 100),
              gpus=None, agg=1)
    checks.add("gap bound: in the middle", differences(
        "bound", bed.record["gap_energy_bound_j"]["total"], 800.0))
    bed = run(ground, with_gap(lambda t: 300), "--gap-policy", "consumer", gpus=None, agg=1)
    checks.add("gaps: the reader's own rule", refused(bed, CHANGED, "sample_gap_exceeded")
               + differences("rule", bed.record["gap_dialect"], "a"))
    bed = run(ground, with_gap(lambda t: 300), "--compat", "august", gpus=None, agg=1)
    checks.add("gaps: August's rule", refused(bed, CHANGED, "sample_gap_exceeded"))
    # 100 W throughout; the last sample before the window is 20 s away from it. Rule d accepts that.
    package = edge_package(60, 1, 2, "-")
    package.rows = [row for row in package.rows if float(row[1]) > 1000]
    package.rows.insert(0, ["1", "980.0", "0", "n", "0", "GPU-n-0", "100.0"])
    package.changes |= {"started_at_unix": 900.0, "window_validations": [
        package.validation(package.loads[0]) | {
            "power_coverage_valid": True, "reason_codes": [],
            "per_device_max_sample_gap_seconds": {"n/GPU-n-0": 21.0}}]}
    bed = run(ground, package, "--extended", gpus=None, agg=1)
    checks.add("gaps: percentiles of a window whose edge is in a long one", has(
        bed, {"total_gpu_energy_j": 6000.0, "p75_power_w": 100.0, "p90_power_w": 100.0}))
    bed = run(ground, package_p())
    checks.add("gap bound: nothing is missing", differences(
        "bound", bed.record["gap_energy_bound_j"]["total"], 0.0))


# ---- What must not slip through

def traps(ground, checks):
    # By the older rules X is the only window of concurrency 4, by today's Y is.
    x = CustomLoad(4, 905.0, 965.0)
    x.kind = "other"
    package = package_p(loads=[CustomLoad(4)], first=900.0)
    for row in package.rows:
        row[6] = "35.0" if float(row[1]) < 990 else row[6]
    window = package.windows["results_concurrency_4.json"]
    package.windows["a_results_concurrency_4.json"] = window | {
        "schema_version": 1.0, "result_path": "cfg/a_results_concurrency_4.json"}
    package.windows["x_results_concurrency_4.json"] = Package.window(x) | {
        "schema_version": 1.0, "result_path": "cfg/x_results_concurrency_4.json"}
    for name in ("a", "x"):
        load = CustomLoad(4) if name == "a" else x
        package.results[f"cfg/{name}_results_concurrency_4.json"] = load.result()
    for more in ((), ("--salvage",)):
        bed = run(ground, package, *more)
        energy = bed.row.get("total_gpu_energy_j")
        checks.add(f"two rules, two windows {more}", [] if energy in (None, 84000.0) else [energy])
    # A whole window without samples.
    package = package_p()
    package.rows = [row for row in package.rows if not 1000 < float(row[1]) < 1060]
    gaps = {f"{gpu.host}/{gpu.uuid}": 60.0 for gpu in package.gpus}
    package.changes = {"window_validations": [package.validation(package.loads[0]) | {
        "power_coverage_valid": True, "reason_codes": [],
        "per_device_max_sample_gap_seconds": gaps}]}
    checks.add("a window without samples", refused(run(ground, package), CHANGED,
                                                   "sample_gap_exceeded"))
    # An outcome behind keys that need more than one look.
    package = package_p()
    for result in (package.bench, package.results["cfg/results_concurrency_4.json"]):
        result["benchmark_outcome"] = {
            "status": "failed", "requested": 100, "completed": 8, "failed": 92,
            "max_failure_rate": 0.05, "d\u00e9": 1}
    checks.add("a benchmark that failed", refused(run(ground, package), ["benchmark_failed"]))
    # A row of the aggregate whose key is like ours, inside another.
    bed = ground.bed(package_p())
    bed.aggregate.write_text('{"notes": {"\\u0070ower_valid": 7, "\\u0061vg_power_w": 8}, "hw": "gb200"}')
    bed.done = bed.run()
    checks.add("keys inside others", has(bed, WHOLE) + differences(
        "notes", bed.row["notes"], {"power_valid": 7, "avg_power_w": 8}))
    # Many windows of one name, and keys that a terminal might obey.
    package = package_p()
    package.changes = {"expected_windows": [{"benchmark_type": "custom", "concurrency": 4}] * 5000}
    checks.add("a window named 5000 times", refused(run(ground, package), CHANGED,
                                                    "expected_windows names a window twice"))
    package = package_p()
    row = package.manifest()["window_validations"][0]
    package.changes = {"window_validations": [row | {f"\x1b[31m{i}": i for i in range(500)}]}
    bed = run(ground, package)
    checks.add("many unknown members", has(bed, WHOLE) + differences(
        "escapes", "\x1b" in bed.done.err, False) + differences(
        "lines", len(bed.done.err.splitlines()), 11))


TESTS = [traps, numbers, integrity, samples, versions, exporters, cpus, bytes_and_times, edges, gap_bounds]

if __name__ == "__main__":
    sys.exit(main(TESTS, sys.argv[1:], contracts=["october"]))
