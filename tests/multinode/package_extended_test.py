#!/usr/bin/env python3
"""CPU power of packages, and the further keys of --extended; numbers are worked out by hand.

usage: tests/multinode/package_extended_test.py [TEST...]   with $AGGREGATE_POWER
"""
import json
import shutil
import sys

from package_bed import METRICS, cpu_key, differences, is_october, is_void, main, patching
from package_builder import (CPU_HEADERS, IMAGE, PIN, Gpu, Load, Package, edit_json, two_and_two,
                             write_csv)

CPU_KEYS = ["avg_cpu_socket_power_w", "avg_total_cpu_power_w", "total_cpu_energy_j",
            "avg_total_module_power_w", "total_module_energy_j", "avg_total_cpu_rail_power_w",
            "total_cpu_rail_energy_j", "avg_total_cpu_sysio_power_w", "total_cpu_sysio_energy_j"]
# Two hosts of two sockets of 100 W for 60 s.
CPU_METRICS = {"avg_cpu_socket_power_w": 100.0, "avg_total_cpu_power_w": 400.0,
               "total_cpu_energy_j": 24000.0}


def cpu_part(row):
    return {key: value for key, value in row.items()
            if key == "cpu_power_valid" or key in CPU_KEYS}


def without_cpu(path):
    """The members beside those of CPUs, as they are spelled, in order."""
    members = json.loads(path.read_text(), parse_float=str, parse_int=str)
    return [(key, value) for key, value in members.items()
            if key != "cpu_power_valid" and key not in CPU_KEYS]


def cpu_numbers(ground, checks):
    module = "Module Power Socket {}"
    packages = {
        "Grace sockets": (Package().add_cpus(), CPU_METRICS, "grace_socket"),
        "in version 2 of both files": (Package(version=2).add_cpus(version=2), CPU_METRICS,
                                       "grace_socket"),
        # 40 W and 10 W of each of the four sockets: 160 W and 40 W, 9600 J and 2400 J.
        "rails beside them": (
            Package().add_cpus(version=2, rails=("40.0", "10.0", "")),
            CPU_METRICS | {"avg_total_cpu_rail_power_w": 160.0, "total_cpu_rail_energy_j": 9600.0,
                           "avg_total_cpu_sysio_power_w": 40.0,
                           "total_cpu_sysio_energy_j": 2400.0}, "grace_socket"),
        "DCGM rails": (Package().add_cpus(source="dcgm", sensor="cpu{}:cpuPowerUsageW"),
                       CPU_METRICS, "dcgm_cpu_rail"),
        "modules": (Package().add_cpus(sensor=module, watts=250.0),
                    {"avg_total_module_power_w": 1000.0, "total_module_energy_j": 60000.0},
                    "module"),
        # From 100 W at 1000 a watt a second: 130 W in the mean.
        "a ramp": (Package().add_cpus(watts=lambda unix_s: 100 + (unix_s - 1000)),
                   {"avg_cpu_socket_power_w": 130.0, "avg_total_cpu_power_w": 520.0,
                    "total_cpu_energy_j": 31200.0}, "grace_socket"),
    }
    both = Package().add_cpus()
    grace = both.cpu_rows
    both.cpu_rows = both.add_cpus(sensor=module, watts=250.0).cpu_rows + grace
    packages["modules and Grace sockets"] = (
        both, CPU_METRICS | {"avg_total_module_power_w": 1000.0, "total_module_energy_j": 60000.0},
        "module")
    for name, (package, metrics, sensor) in packages.items():
        bed = ground.bed(package)
        done = bed.run("--require-power")
        record = bed.record[cpu_key()]
        checks.add(f"CPU power: {name}", differences("status", (done.returncode, done.err), (0, ""))
                   + differences("keys", cpu_part(bed.row), {"cpu_power_valid": 1} | metrics)
                   + differences("GPUs", {key: bed.row[key] for key in METRICS}, METRICS)
                   + differences("sensor", record["sensor_kind"], sensor)
                   + differences("sockets", (record["expected_sockets"],
                                             record["observed_sockets"]), (4, 4))
                   + differences("metrics", record["metrics"], metrics)
                   + differences("record's last", list(bed.record)[-2:],
                                 ["gap_energy_bound_j" if is_october() else "cpu_power",
                                  "computed_from"]))
    bed = ground.bed()
    bed.run()
    checks.add("CPU power: no folder, no key", differences("keys", cpu_part(bed.row), {})
               + differences("record", cpu_key() in bed.record, False))


def cpu_reasons(ground, checks):
    """Each reason; nothing said of the GPUs changes by a byte."""
    plain = ground.bed()
    plain.run()

    def edited(change):
        """On the rows behind the header, each a list of cells."""
        def tamper(bed):
            write_csv(bed.power / "cpu" / "samples.csv",
                      [CPU_HEADERS[1], *change([list(row) for row in bed.package.cpu_rows])])
        return tamper

    def between(first, last):
        return lambda rows: [row for row in rows if not first < float(row[1]) < last]

    def text(name, content):
        return lambda bed: (bed.power / "cpu" / name).write_text(content)

    def unlink(name):
        return lambda bed: (bed.power / "cpu" / name).unlink()

    def set_cell(at, column, value):
        def change(rows):
            rows[at][column] = value
            return rows
        return edited(change)

    malformed = "cpu_samples_malformed"
    cases = [
        ("no manifest", unlink("cpu_manifest.json"), "cpu_manifest_invalid"),
        ("a manifest that is cut off", text("cpu_manifest.json", "{"), "cpu_manifest_invalid"),
        ("a manifest that is a list", text("cpu_manifest.json", "[]"), "cpu_manifest_invalid"),
        ("no samples", unlink("samples.csv"), "cpu_samples_missing"),
        ("another header", text("samples.csv", "a,b\r\n"), "cpu_samples_header_mismatch"),
        ("nothing in it", text("samples.csv", ""), "cpu_samples_header_mismatch"),
        ("watts that are none", set_cell(50, 6, "N/A"), malformed),
        ("watts below zero", set_cell(50, 6, "-1"), malformed),
        ("another version", set_cell(50, 0, "2"), malformed),
        ("no host", set_cell(50, 2, ""), malformed),
        ("a blank line", edited(lambda rows: [*rows, [""]]), malformed),
        ("a row twice", edited(lambda rows: [*rows, rows[50]]), malformed),
        ("a socket less", edited(lambda rows: [row for row in rows if row[5] == "0"]),
         "cpu_socket_count_mismatch"),
        ("a host more", edited(lambda rows: rows + [
            [*row[:2], "node-x", *row[3:]] for row in rows if row[2] == "node-d"]),
         "cpu_socket_count_mismatch"),
        ("no sensor that counts", edited(lambda rows: [[*row[:4], "Fan", *row[5:]]
                                                       for row in rows]),
         "cpu_socket_count_mismatch"),
        ("sensors of two kinds", edited(lambda rows: [
            [*row[:4], "cpu0:cpuPowerUsageW", *row[5:]] if row[2] == "node-d" else row
            for row in rows]), "cpu_sensor_kind_mixed"),
        ("two sources", edited(lambda rows: [
            [*row[:3], "dcgm", *row[4:]] if row[2] == "node-d" else row for row in rows]),
         "cpu_sensor_kind_mixed"),
        ("samples that begin behind the start", edited(between(0, 1000.5)),
         "cpu_window_not_bracketed"),
        ("samples that end before the end", edited(between(1059.5, 9999)),
         "cpu_window_not_bracketed"),
        ("a gap of 4 s", edited(between(1020, 1024)), "cpu_sample_gap_exceeded"),
        ("watts too large to add", edited(lambda rows: [[*row[:6], "1e308", row[7]]
                                                        for row in rows]),
         "non_finite_power_metric"),
    ]
    for name, tamper, reason in cases:
        bed = ground.bed(Package().add_cpus())
        tamper(bed)
        done = bed.run("--require-power")
        record = bed.record
        checks.add(f"CPU power: {name}", differences("status", done.returncode, 0)
                   + differences("keys", cpu_part(bed.row), {"cpu_power_valid": 0})
                   + differences("GPUs", without_cpu(bed.aggregate), without_cpu(plain.aggregate))
                   + differences("reasons", (record["reasons"], record["power_valid"]), ([], True))
                   + differences("CPU reasons", record[cpu_key()]["reason_codes"], [reason])
                   + differences("metrics", record[cpu_key()]["metrics"], {})
                   + ([] if f"CPU power not valid: {reason}" in done.err else [done.err]))
    cpu_sources(ground, checks, plain)


def cpu_sources(ground, checks, plain):
    bed = ground.bed()
    bed.run("--expected-cpu-source", "acpi", "--require-power")
    checks.add("CPU power: asked for, and no folder",
               differences("keys", cpu_part(bed.row), {"cpu_power_valid": 0})
               + differences("GPUs", without_cpu(bed.aggregate), without_cpu(plain.aggregate))
               + differences("reason", bed.record[cpu_key()]["reason_codes"],
                             ["cpu_artifacts_missing"]))
    for source, valid in (("acpi", 1), ("dcgm", 0)):
        bed = ground.bed(Package().add_cpus())
        bed.run("--expected-cpu-source", source)
        checks.add(f"CPU power: from acpi, {source} expected",
                   differences("valid", bed.row["cpu_power_valid"], valid)
                   + differences("reason", bed.record[cpu_key()]["reason_codes"],
                                 [] if valid else ["cpu_sensor_source_mismatch"]))
    bed = ground.bed(Package().add_cpus())
    bed.run(pin="other")
    checks.add("CPU power is valid though GPU power is not", differences(
        "keys", cpu_part(bed.row), {"cpu_power_valid": 1} | CPU_METRICS)
        + differences("power_valid", bed.row["power_valid"], 0))
    bed = ground.bed(Package().add_cpus())
    bed.window.unlink()
    bed.run()
    checks.add("CPU power: no window", differences(
        "keys", cpu_part(bed.row), {"cpu_power_valid": 0}) + differences(
        "reason", bed.record[cpu_key()]["reason_codes"], ["cpu_window_unavailable"]))
    bed = ground.bed(Package().add_cpus())
    edit_json(bed.aggregate, **dict.fromkeys(CPU_KEYS, 7), cpu_power_valid=1)
    (bed.power / "cpu" / "samples.csv").unlink()
    bed.run()
    checks.add("CPU power: stale keys go",
               differences("keys", cpu_part(bed.row), {"cpu_power_valid": 0}))
    bed = ground.bed(Package().add_cpus())
    bed.aggregate.unlink()
    checks.add("CPU power: without an aggregate",
               differences("status", bed.run().returncode, 0)
               + differences("reasons", bed.record["reasons"], ["aggregate_result_missing"]))


# ---- --extended

def extended(ground, checks):
    """One decode GPU rises from 300 W at 1000 by a watt a second, so that all draw 1400 to 1460 W:
    1445 W or less for three quarters of the time, 1454 W or less for nine tenths."""
    gpus = two_and_two()
    gpus[0].watts = lambda unix_s: 300 + (unix_s - 1000)
    bed = ground.bed(Package(gpus))
    done = bed.run("--extended", "--require-power")
    row = bed.row
    checks.add("extended: percentiles of a ramp", differences("status", done.returncode, 0)
               + differences("p75", (row["p75_total_gpu_power_w"], row["p75_power_w"]),
                             (1445.0, 361.25))
               + differences("p90", (row["p90_total_gpu_power_w"], row["p90_power_w"]),
                             (1454.0, 363.5))
               + differences("method", bed.record["power_percentile_method"],
                             "time_weighted_synchronized_total_piecewise_linear"))
    ids = ["node-d/GPU-node-d-0", "node-d/GPU-node-d-1", "node-p/GPU-node-p-0",
           "node-p/GPU-node-p-1"]
    checks.add("extended: power_audit", differences("power_audit", row["power_audit"], {
        "window_start_unix": 1000.0, "window_end_unix": 1060.0, "expected_gpu_count": 4,
        "observed_gpu_count": 4, "max_sample_gap_s": 1.0,
        **({} if is_october() else {"sample_count": 244}),
        "source": "power_validation_run.json", "observed_gpu_ids": ids, "producer_sha": PIN,
        "exporter_image_sha256": IMAGE}))
    # 330 W and 300 W in the mean.
    checks.add("extended: workers", differences("workers", row["workers"], [
        {"role": "decode", "worker_idx": 0, "num_gpus": 2, "avg_power_w": 315.0,
         "hosts": ["node-d"]},
        {"role": "prefill", "worker_idx": 0, "num_gpus": 2, "avg_power_w": 400.0,
         "hosts": ["node-p"]}]))
    checks.add("extended: version 1 has no utilisation",
               differences("key", "avg_util_pct" in row, False))
    several_workers(ground, checks)
    utilization(ground, checks)
    extended_void(ground, checks)
    leftovers(ground, checks)


def several_workers(ground, checks):
    """Decode worker 1 has GPUs on two hosts."""
    gpus = [Gpu("a", 0, "decode", 100.0), Gpu("b", 0, "decode", 200.0, worker=1),
            Gpu("c", 0, "decode", 400.0, worker=1), Gpu("d", 0, "prefill", 50.0)]
    bed = ground.bed(Package(gpus))
    bed.run("--extended", gpus=(1, 3))
    checks.add("extended: several workers", differences("workers", bed.row["workers"], [
        {"role": "decode", "worker_idx": 0, "num_gpus": 1, "avg_power_w": 100.0, "hosts": ["a"]},
        *([{"role": "decode", "worker_idx": 1, "num_gpus": 1, "avg_power_w": 200.0, "hosts": ["b"]},
           {"role": "decode", "worker_idx": 2, "num_gpus": 1, "avg_power_w": 400.0, "hosts": ["c"]}]
          if is_october() else
          [{"role": "decode", "worker_idx": 1, "num_gpus": 2, "avg_power_w": 300.0,
            "hosts": ["b", "c"]}]),
        {"role": "prefill", "worker_idx": 0, "num_gpus": 1, "avg_power_w": 50.0,
         "hosts": ["d"]}]))


def utilization(ground, checks):
    def of(*shares):
        gpus = two_and_two()
        for gpu, share in zip(gpus, shares):
            gpu.util_pct = share
        bed = ground.bed(Package(gpus, version=2))
        bed.run("--extended")
        return bed.row.get("avg_util_pct")

    checks.add("extended: utilisation, 20, 40, 60 and 80 %",
               differences("avg_util_pct", of(20.0, 40.0, 60.0, 80.0), 50.0))
    # From 10 % at 1000 to 70 % at 1060: 40 % in the mean.
    checks.add("extended: utilisation that rises", differences(
        "avg_util_pct", of(lambda unix_s: max(0.0, unix_s - 990), 40.0, 40.0, 80.0), 50.0))
    checks.add("extended: no mean where a GPU says nothing of it",
               differences("avg_util_pct", of(20.0, 40.0, 60.0, None), None))


def extended_void(ground, checks):
    bed = ground.bed()
    bed.run("--extended", pin="other")
    row = bed.row
    checks.add("extended: not valid", differences(
        "reasons", row["power_invalid_reasons"], ["producer_commit_mismatch"])
        + differences("keys", [key for key in row if key.startswith(("p75", "p90", "workers"))], [])
        + differences("audit", row["power_audit"]["producer_sha"], PIN))
    for name, tamper, reasons in (
            ("no package", lambda bed: shutil.rmtree(bed.power), ["power_artifacts_missing"]),
            ("no manifest", lambda bed: bed.manifest.unlink(), ["manifest_missing"]),
            ("no window of the result", lambda bed: bed.window.unlink(),
             ["package_recompute_invalid", "producer_verdict_mismatch",
              "window_for_result_missing"])):
        bed = ground.bed()
        tamper(bed)
        bed.run("--extended")
        checks.add(f"extended: {name}", differences(
            "reasons", bed.row.get("power_invalid_reasons"), reasons) + differences(
            "audit", bed.row.get("power_audit", {}).get("source"), "power_validation_run.json"))
    bed = ground.bed(Package().add_cpus())
    bed.run("--extended")
    checks.add("extended: power_audit.cpu", differences("cpu", bed.row["power_audit"]["cpu"], {
        "sensor_kind": "grace_socket", "source": "acpi", "expected_sockets": 4,
        "observed_sockets": 4,
        **({"sample_row_count": len(bed.package.cpu_rows)} if is_october() else {}),
        "reason_codes": []}))


def leftovers(ground, checks):
    bed = ground.bed(Package().add_cpus())
    bed.run()
    plain = bed.aggregate.read_bytes()
    bed.run("--extended")
    bed.run()
    checks.add("extended: a run without it takes its keys away again",
               differences("aggregate", json.loads(bed.aggregate.read_bytes()), json.loads(plain)))


def cpus_no_more(ground, checks):
    """What an earlier run said of CPUs goes when the package says nothing of them."""
    bed = ground.bed(Package().add_cpus())
    bed.run()
    claimed = bed.row.get("cpu_power_valid")
    shutil.rmtree(bed.power / "cpu")
    checks.add("cpu: no more", differences("claimed", claimed, 1) + is_valid_without_cpus(bed))


def is_valid_without_cpus(bed):
    status = bed.run("--require-power").returncode
    return differences("status", status, 0) + differences("keys", cpu_part(bed.row), {})


def too_large(ground, checks):
    """A percentile beyond all doubles is left out, and nothing else is harmed: the GPUs draw
    1.7e308 W for so short a time that their energy is small."""
    gpus = two_and_two()
    package = Package(gpus)
    rows = [[*row[:2], str(int(row[2]) * 10), *row[3:]] for row in package.rows]
    at = next(i for i, row in enumerate(rows) if float(row[1]) == 1030.0)
    scrape = int(rows[at][2])
    spike = [[row[0], repr(1030.0 + step * 2e-6), str(scrape + step), *row[3:6], watts]
             for step, watts in ((1, "1.7e308"), (2, "300.0")) for row in rows[at:at + 4]]
    package.rows = rows[:at + 4] + spike + rows[at + 4:]
    package.scrapes *= 10
    bed = ground.bed(package)
    done = bed.run("--extended")
    row = bed.row  # strict JSON
    checks.add("extended: powers too large for a number are no crash, and never written",
               differences("status", done.returncode, 0)
               + differences("a verdict", row.get("power_metric_schema_version"), 2))


def same_numbers(ground, checks):
    """The option changes nothing of the other keys, however the samples lie."""
    for name, options, change in (
            ("as recorded", {}, lambda rows: rows), ("backwards", {}, lambda rows: rows[::-1]),
            ("version 2", {"version": 2}, lambda rows: rows),
            ("version 2, backwards", {"version": 2}, lambda rows: rows[::-1]),
            ("windows off the samples", {"loads": [Load(4, 1000.3, 1047.9)]}, lambda rows: rows)):
        gpus = two_and_two()
        gpus[2].watts = lambda unix_s: 100 + (unix_s * 17) % 41
        faults = []
        rows = {}
        for more in ((), ("--extended",)):
            bed = ground.bed(Package(gpus, **options))
            bed.lines(change)
            faults += differences("status", bed.run(*more, "--require-power").returncode, 0)
            rows[more] = bed.row
        found = {key: value for key, value in rows["--extended",].items() if key in rows[()]}
        checks.add(f"extended: {name}: the same otherwise",
                   faults + differences("row", found, rows[()]))


TESTS = [cpu_numbers, cpu_reasons, cpus_no_more, extended, too_large, same_numbers]

if __name__ == "__main__":
    sys.exit(main(TESTS, sys.argv[1:]))
