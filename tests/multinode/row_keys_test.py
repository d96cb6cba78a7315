#!/usr/bin/env python3
"""The sets of --keys, and CPU samples of version 3: contract-october.md 9.1 and 9.2 by their numbers.

usage: tests/multinode/row_keys_test.py [TEST...]   with $AGGREGATE_POWER
"""
import json
import sys

from package_bed import METRICS, differences, main
from package_builder import Package, edit_json, spelled, write_csv, write_json

SEVENTEEN = """avg_power_w p75_power_w p75_total_gpu_power_w p90_power_w p90_total_gpu_power_w
avg_total_gpu_power_w total_gpu_energy_j joules_per_successful_query joules_per_input_token
joules_per_output_token joules_per_total_token prefill_gpu_energy_j decode_gpu_energy_j
prefill_avg_power_w decode_avg_power_w prefill_joules_per_input_token
decode_joules_per_output_token""".split()
VERDICT = ["power_metric_schema_version", "power_valid"]
AUDIT = ["power_invalid_reasons", "power_audit"]
CPUS = ["cpu_power_valid", "avg_cpu_socket_power_w", "avg_total_cpu_power_w", "total_cpu_energy_j"]
EFFICIENCY = ["total_gpu_and_cpu_energy_j", *(
    f"{tokens}_tokens_per_second_per_{of}_watt" for tokens in ("output", "total") for of in ("gpu", "combined"))]
# What each choice writes for a valid package of two roles with the power of its CPUs.
SETS = {"seed": {*METRICS, *VERDICT, *CPUS}, "row": {*SEVENTEEN, *VERDICT, *AUDIT},
        "agentx-row": {*SEVENTEEN, *VERDICT},
        "all": {*SEVENTEEN, *VERDICT, *AUDIT, *CPUS, *EFFICIENCY, "workers", "avg_util_pct", "avg_temp_c",
                "peak_temp_c"}}
INVALID = {"seed": {*VERDICT, "cpu_power_valid", *CPUS}, "row": {*VERDICT, *AUDIT},
           "agentx-row": {*VERDICT}, "all": {*VERDICT, *AUDIT, *CPUS}}


def added(bed):
    return set(bed.row) - set(bed.package.aggregate)


def package():
    built = Package(version=3).add_cpus()
    for gpu in built.gpus:
        gpu.util_pct = gpu.temp_c = 50.0
    return Package(built.gpus, version=3).add_cpus()


def is_passed_by_the_gate(row, keys):
    """9.2: the types that the collector takes."""
    faults = [] if type(row["power_metric_schema_version"]) is int else ["the version is no int"]
    faults += [] if type(row["power_valid"]) is int else ["the verdict is no int"]
    faults += [f"{key} is no number" for key in SEVENTEEN
               if key in row and type(row[key]) not in (int, float)]
    if keys == "row":
        faults += [] if isinstance(row["power_invalid_reasons"], list) else ["reasons"]
        faults += [] if isinstance(row["power_audit"], dict) else ["audit"]
    return faults


def sets(ground, checks):
    for keys, expected in SETS.items():
        bed = ground.bed(package())
        done = bed.run("--keys", keys, "--require-power")
        checks.add(f"9.2 {keys}: valid", differences("status", done.returncode, 0)
                   + differences("set", added(bed), expected) + is_passed_by_the_gate(bed.row, keys)
                   + differences("CPUs in the record", bed.record["cpu"]["cpu_power_valid"], True))
        bed = ground.bed(package())
        bed.run("--keys", keys, pin="other")
        checks.add(f"9.2 {keys}: not valid", differences("set", added(bed), INVALID[keys])
                   + differences("verdict", bed.row["power_valid"], 0))


def each_after_each(ground, checks):
    for first in SETS:
        for second, expected in SETS.items():
            bed = ground.bed(package())
            bed.run("--keys", first)
            bed.run("--keys", second)
            checks.add(f"9.2 {second} after {first}", differences("set", added(bed), expected))
            verified = bed.plain("verify", ".")
            checks.add(f"9.2 {second} after {first}: verified",
                       differences("status", (verified.returncode, verified.err[:300]), (0, "")))


def extended_is_all(ground, checks):
    rows = []
    for words in (["--extended"], ["--keys", "all"]):
        bed = ground.bed(package())
        bed.run(*words)
        rows.append(bed.aggregate.read_bytes())
    checks.add("--extended is --keys all", differences("row", rows[0], rows[1]))
    both = ground.bed().run("--extended", "--keys", "row")
    checks.add("not both", differences("status", both.returncode, 2))
    other = ground.bed().run("--keys", "most")
    checks.add("no other", differences("status", other.returncode, 2))


# ---- 9.1: module_w. Sockets of 100 W and modules of 750 W for 60 s, on two hosts with two sockets.

MODULES = {"avg_total_module_power_w": 3000.0, "total_module_energy_j": 180000.0}


def cpu_version_3(ground, checks):
    def run(name, sensor_kind, more, module, expected=None, **built):
        bed = ground.bed(Package().add_cpus(version=3, sensor="CPU{}:cpuSidePowerUsageW",
                                            module=module, **built))
        done = bed.run("--expected-cpu-source", "acpi", "--require-power")
        row = bed.row
        valid = {key: row.get(key) for key in METRICS}
        cpu = bed.record["cpu"]
        notes = "module power is left out" in done.err
        checks.add(f"9.1 {name}", differences("status", done.returncode, 0)
                   + differences("GPUs", valid, METRICS)
                   + differences("kind", (cpu["sensor_kind"], cpu["source"]), (sensor_kind, "acpi"))
                   + differences("CPUs", row["total_cpu_energy_j"], 24000.0)
                   + differences("modules", {key: row.get(key) for key in MODULES},
                                 more or dict.fromkeys(MODULES))
                   + differences("a line of detail", notes, not more))

    run("modules", "module", MODULES, "750.0")
    run("no module's watts at all", "grace_socket", {}, "")
    for what, hole in (("one socket has none", lambda t: True), ("an edge is missing", lambda t: t <= 1000),
                       ("a gap of 4 s", lambda t: 1020 < t < 1024)):
        run(what, "grace_socket", {},
            lambda t, host, socket, hole=hole: "" if (host, socket) == ("node-p", 1) and hole(t) else "750.0")
    run("a gap of 3 s", "module", MODULES,
        lambda t, host, socket: "" if 1020 < t < 1023 else "750.0")
    bed = ground.bed(Package().add_cpus(version=3, source="dcgm", sensor="CPU{}:cpuPowerUsageW", module="750.0"))
    bed.run("--expected-cpu-source", "acpi")
    checks.add("9.1 acpi is expected, and the rows are dcgm's", differences(
        "reasons", bed.record["cpu"]["reason_codes"], ["cpu_sensor_source_mismatch"]))
    bed = ground.bed(Package().add_cpus(version=3, module="750.0", rails=("", "", "x")))
    bed.run()
    checks.add("9.1 dram_w and total_power_w are not looked at", differences(
        "CPUs", bed.row["total_cpu_energy_j"], 24000.0))
    for cell in ("x", "-1", "nan", "inf"):
        bed = ground.bed(Package().add_cpus(version=3, module=cell))
        bed.run()
        checks.add(f"9.1 module_w {cell!r}", differences(
            "reasons", bed.record["cpu"]["reason_codes"], ["cpu_samples_malformed"]))


HOSTS_5 = ("schema_version,timestamp_unix,timestamp_local,hostname,source,sensor,socket_id,power_w,"
           "cpu_rail_w,soc_w,dram_w,module_w,total_power_w,cpu_util_total,cpu_util_user,cpu_util_nice,"
           "cpu_util_sys,cpu_util_irq").split(",")


def recorded_by_hosts(bed, watts):
    """cpu_power/samples.csv, version 5."""
    rows = [HOSTS_5]
    for tenth in range(9980, 10641, 5):
        for host in ("node-d", "node-p"):
            for socket in (0, 1):
                cells = [5, tenth / 10, "2026-09-08T11:20:00+02:00", host, "acpi",
                         f"CPU{socket}:cpuSidePowerUsageW", socket, watts, "", "", "", 750.0, "", "", "", "",
                         "", ""]
                rows.append([spelled(cell) for cell in cells])
    folder = bed.logs / "cpu_power"
    folder.mkdir()
    write_csv(folder / "samples.csv", rows)
    write_json(folder / "manifest.json", {"schema_version": 1, "status": "complete"})


def hosts_own(ground, checks):
    bed = ground.bed(Package())
    recorded_by_hosts(bed, 110.0)
    done = bed.run("--require-power", "--expected-cpu-source", "acpi")
    checks.add("9.1 B: the hosts' own", differences("status", (done.returncode, done.err), (0, ""))
               + differences("CPUs", bed.row["total_cpu_energy_j"], 26400.0)
               + differences("modules", bed.row["total_module_energy_j"], 180000.0)
               + differences("file", bed.record["cpu"]["samples_file"], "cpu_power/samples.csv"))
    inputs = bed.record["computed_from"]["inputs"]
    checks.add("9.1 B: an input", differences("inputs", "LOGS/cpu_power/samples.csv" in inputs, True))
    verified = bed.plain("verify", ".")
    checks.add("9.1 B: verified", differences("status", verified.returncode, 0))
    bed = ground.bed(Package().add_cpus())
    recorded_by_hosts(bed, 110.0)
    bed.run()
    checks.add("9.1: A, else B", differences("CPUs", bed.row["total_cpu_energy_j"], 24000.0)
               + differences("file", bed.record["cpu"]["samples_file"], "power/cpu/samples.csv"))
    bed = ground.bed(Package())
    recorded_by_hosts(bed, 110.0)
    (bed.logs / "cpu_power" / "manifest.json").unlink()
    bed.run()
    checks.add("9.1 B: gates as A", differences(
        "reasons", bed.record["cpu"]["reason_codes"], ["cpu_manifest_invalid"]))


TESTS = [sets, each_after_each, extended_is_all, cpu_version_3, hosts_own]

if __name__ == "__main__":
    sys.exit(main(TESTS, sys.argv[1:], ["october"]))
