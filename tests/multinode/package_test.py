#!/usr/bin/env python3
"""Runs `aggregate-power multinode` on dcgm-power packages: numbers, gates, topology, binding,
record and options. Unless a test says otherwise, two prefill GPUs draw 400 W and two decode GPUs
300 W for 60 s: 48000 J and 36000 J.

usage: tests/multinode/package_test.py [TEST...]   with $AGGREGATE_POWER
"""
import copy
import gzip
import json
import os
import random
import shutil
import sys

from package_bed import (DECODE, METRICS, PREFILL, VERDICT, WHOLE, differences, is_october,
                         is_valid, is_void, main, patching, record_keys, strictly_parsed)
from package_builder import IMAGE, PIN, Gpu, Load, Package, edit_json, two_and_two, write_json

NOBODY = 65534


# ---- Numbers

def numbers(ground, checks):
    bed = ground.bed()
    checks.add("numbers of a valid package", is_valid(bed))
    checks.add("metrics follow each other as the original writes them",
               differences("keys", list(bed.row),
                           ["hw", "conc", *VERDICT, *WHOLE, *PREFILL, *DECODE]))
    text = bed.aggregate.read_bytes()
    bed.run()
    checks.add("a second run changes nothing",
               differences("aggregate", bed.aggregate.read_bytes(), text))
    done = bed.run()
    checks.add("the success line", differences(
        "stdout", done.out, "aggregate-power: avg_power_w=350.00 total_gpu_energy_j=84000.00 "
        "prefill_gpu_energy_j=48000.00 decode_gpu_energy_j=36000.00 (n=4) -> agg_run.json\n"))
    ramp(ground, checks)
    edges(ground, checks)
    missing_roles(ground, checks)


def ramp(ground, checks):
    """One decode GPU rises from 300 W by a watt a second from 998 on: 302 W at the start, 362 W at
    the end, 332 W in the mean, 19920 J."""
    gpus = two_and_two()
    gpus[0].watts = lambda unix_s: 300 + (unix_s - 998)
    bed = ground.bed(Package(gpus))
    metrics = METRICS | {
        "avg_power_w": 358.0, "avg_total_gpu_power_w": 1432.0, "total_gpu_energy_j": 85920.0,
        "joules_per_successful_query": 8592.0, "joules_per_input_token": 2.864,
        "joules_per_output_token": 14.32, "joules_per_total_token": 2.386667,
        "decode_gpu_energy_j": 37920.0, "decode_avg_power_w": 316.0,
        "decode_joules_per_output_token": 6.32}
    checks.add("numbers of a ramp", is_valid(bed, metrics))
    checks.add("energy of each GPU", differences(
        "per_gpu_energy_j", bed.record["per_gpu_energy_j"],
        {"node-d/GPU-node-d-0": 19920.0, "node-d/GPU-node-d-1": 18000.0,
         "node-p/GPU-node-p-0": 24000.0, "node-p/GPU-node-p-1": 24000.0}))


def edges(ground, checks):
    """A window between samples: 100 W, and 200 W from 1002 on; from 1000.5 to 1002.5 at 2 Hz the
    power steps between 1001.5 and 1002: 100 x 1 + 150 x 0.5 + 200 x 0.5 = 275 J."""
    gpus = [Gpu("n", 0, "prefill", lambda unix_s: 100 if unix_s < 1002 else 200)]
    bed = ground.bed(Package(gpus, [Load(4, 1000.5, 1002.5)], first=1000.0, last=1003.0,
                             interval=0.5))
    whole = {"avg_power_w": 137.5, "avg_total_gpu_power_w": 137.5, "total_gpu_energy_j": 275.0,
             "joules_per_successful_query": 27.5, "joules_per_input_token": 0.009167,
             "joules_per_output_token": 0.045833, "joules_per_total_token": 0.007639,
             "prefill_gpu_energy_j": 275.0, "prefill_avg_power_w": 137.5,
             "prefill_joules_per_input_token": 0.009167}
    checks.add("a step, edges on samples", is_valid(bed, whole, gpus=(1, 0)))
    # From 1000.25 to 1001.75: 100 x 1.25 to 1001.5, then up to 150 W at 1001.75:
    # 125 x 0.25 = 31.25 J; 156.25 J, 104.167 W.
    bed = ground.bed(Package(gpus, [Load(4, 1000.25, 1001.75)], first=1000.0, last=1003.0,
                             interval=0.5))
    bed.run(gpus=(1, 0))
    checks.add("edges between samples are read off the line", differences(
        "energy", (bed.row["total_gpu_energy_j"], bed.row["avg_power_w"]), (156.25, 104.167)))


def missing_roles(ground, checks):
    gpus = [Gpu("n", index, "prefill", 250.0) for index in range(2)]
    bed = ground.bed(Package(gpus))
    done = bed.run(gpus=(2, 0))
    checks.add("only prefill: no key of decode, and 0.00 of it in the success line",
               differences("keys", [key for key in DECODE if key in bed.row], [])
               + differences("prefill", bed.row["prefill_gpu_energy_j"], 30000.0)
               + ([] if "decode_gpu_energy_j=0.00 (n=2)" in done.out else [done.out]))


def conservation(ground, checks):
    """Roles sum to the whole, GPUs to their roles, and joules per token add up like resistors in
    parallel."""
    faults = []
    for seed in range(20):
        gpus = [Gpu(f"n{host}", index, "prefill" if host < 2 else "decode",
                    lambda unix_s, phase=seed + 3 * host + index: 100 + (unix_s * phase) % 37)
                for host in range(3) for index in range(1 + seed % 3)]
        bed = ground.bed(Package(gpus, [Load(4, 1000.1 + seed / 7, 1030.3 + seed / 3)]))
        count = 1 + seed % 3
        done = bed.run("--require-power", gpus=(2 * count, count))
        faults += differences("status", done.returncode, 0)
        row, record = bed.row, bed.record
        energy = record["per_gpu_energy_j"]
        of_role = {role: sum(joules for gpu, joules in energy.items()
                             if record["per_gpu_role"][gpu] == role)
                   for role in ("prefill", "decode")}
        total = row["total_gpu_energy_j"]
        if abs(row["prefill_gpu_energy_j"] + row["decode_gpu_energy_j"] - total) > 0.0011:
            faults.append(f"roles do not sum to {total}: {row}")
        faults += [f"{role}: {of_role[role]}, {row[role + '_gpu_energy_j']}" for role in of_role
                   if abs(of_role[role] - row[f"{role}_gpu_energy_j"]) > 0.0006]
        metrics = record["metrics"]
        parallel = 1 / metrics["joules_per_input_token"] + 1 / metrics["joules_per_output_token"]
        if abs(1 / metrics["joules_per_total_token"] - parallel) > 1e-5 * parallel:
            faults.append(f"joules per token: {metrics}")
        seconds = bed.package.loads[0].end - bed.package.loads[0].start
        if abs(row["avg_power_w"] * len(gpus) * seconds - total) > 0.0006 * len(gpus) * seconds:
            faults.append(f"mean power times GPUs times seconds is not {total}")
    checks.add("energy is conserved", faults, 20)


def sample_order(ground, checks):
    """Rows in any order of scrapes give the very same bytes."""
    gpus = two_and_two()
    gpus[1].watts = lambda unix_s: 300 + (unix_s * 13) % 7
    sorted_bed = ground.bed(Package(gpus))
    sorted_bed.run()
    faults = []
    orders = {"backwards": lambda rows: rows[::-1], "rotated": lambda rows: rows[100:] + rows[:100],
              "by device": lambda rows: sorted(rows, key=lambda row: (row[3], row[4])),
              "two swapped": lambda rows: [*rows[:40], rows[44], *rows[41:44], rows[40],
                                           *rows[45:]]}
    for name, order in orders.items():
        bed = ground.bed(Package(gpus))
        bed.lines(order)
        faults += differences(f"{name}: status", bed.run("--require-power").returncode, 0)
        faults += differences(name, bed.aggregate.read_bytes(), sorted_bed.aggregate.read_bytes())
        records = [json.loads(one.record_path.read_bytes()) for one in (bed, sorted_bed)]
        for record in records:
            del record["computed_from"]["inputs"]["LOGS/power/samples.csv"]
        faults += differences(name, *map(json.dumps, records))
    checks.add("samples out of order give what sorted ones give", faults, len(orders))


# ---- Gates, in order

def gates(ground, checks):
    """Each reason that stands at the top of a record."""
    recompute = "package_recompute_invalid"
    mismatch = "producer_verdict_mismatch"

    def manifest(**changes):
        return lambda bed: edit_json(bed.manifest, **changes)

    def renamed(bed):
        for path in (bed.bench, bed.logs / "cfg" / f"{bed.package.loads[0].stem}.json"):
            edit_json(path, max_concurrency=8)

    def stored_and_recomputed_false(bed):
        edit_json(bed.manifest, status="incomplete", publication_valid=False)

    cases = [
        ("power_artifacts_missing", lambda bed: shutil.rmtree(bed.power), ["power_artifacts_missing"],
         "LOGS/power: no such folder"),
        ("power_artifacts_missing: a file", lambda bed: (shutil.rmtree(bed.power),
                                                         bed.power.write_text("")),
         ["power_artifacts_missing"], "LOGS/power"),
        ("manifest_missing", lambda bed: bed.manifest.unlink(), ["manifest_missing"],
         "LOGS/power/manifest.json"),
        ("manifest_missing: a folder", lambda bed: (bed.manifest.unlink(), bed.manifest.mkdir()),
         ["manifest_missing"], ""),
        ("manifest_malformed: cut off", lambda bed: bed.manifest.write_text('{"a": 1'),
         ["manifest_malformed"], "manifest.json:1:8"),
        ("manifest_malformed: not UTF-8", lambda bed: bed.manifest.write_bytes(b'{"a": "\xff"}'),
         ["manifest_malformed"], "manifest.json"),
        ("manifest_malformed: a byte-order mark",
         lambda bed: bed.manifest.write_bytes(b"\xef\xbb\xbf" + bed.manifest.read_bytes()),
         ["manifest_malformed"], "manifest.json"),
        ("manifest_malformed: a list", lambda bed: bed.manifest.write_text("[]"),
         ["manifest_malformed"], "expected a JSON object"),
        ("manifest_malformed: expected devices", manifest(expected_devices=[{}]),
         ["manifest_malformed"], "assignments"),
        ("producer_commit_mismatch", manifest(producer_git_commit="5f" * 20),
         ["producer_commit_mismatch"], "producer_git_commit"),
        ("producer_commit_mismatch, expected a text that is not empty", manifest(producer_git_commit=7),
         ["producer_commit_mismatch"], "producer_git_commit is 7"),
        ("package_recompute_invalid, and a stored verdict of true", manifest(unit="kW"),
         [recompute, mismatch], "unit is 'kW', expected 'W'"),
        ("package_recompute_invalid, and a stored verdict of false", stored_and_recomputed_false,
         [recompute], "status is 'incomplete'"),
        ("producer_verdict_mismatch", manifest(publication_valid=False), [mismatch],
         "publication_valid is false"),
        ("producer_verdict_mismatch: no verdict", manifest(publication_valid=...), [mismatch],
         "publication_valid is null"),
        ("producer_verdict_mismatch: 1 is not true", manifest(publication_valid=1), [mismatch],
         "publication_valid is 1"),
        ("window_for_result_missing", renamed, ["window_for_result_missing"], "max_concurrency, 8"),
        ("result_content_mismatch", lambda bed: edit_json(bed.bench, model_id="other"),
         ["result_content_mismatch"], "cfg/results_concurrency_4.json"),
        ("measurement_window_result_missing",
         lambda bed: (bed.logs / "cfg" / "results_concurrency_4.json").unlink(),
         [recompute, mismatch, "measurement_window_result_missing"],
         "measurement_window_result_missing (window sa-bench/4)"),
        ("measurement_window_result_mismatch", lambda bed: [
            edit_json(path, benchmark_start_time_unix=1000.5, duration=59.5)
            for path in (bed.bench, bed.logs / "cfg" / "results_concurrency_4.json")],
         [recompute, mismatch, "measurement_window_result_mismatch"],
         "measurement_window_result_mismatch (window sa-bench/4)"),
    ]
    for name, tamper, reasons, failure in cases:
        bed = ground.bed()
        tamper(bed)
        checks.add(f"gate {name}", is_void(bed, reasons, [failure]))
    pipes = (("manifest.json", ["manifest_missing"]),
             ("samples.csv", [recompute, mismatch]),
             ("../cfg/results_concurrency_4.json",
              [recompute, mismatch, "measurement_window_result_missing"]),
             ("../../run.json", ["invalid_benchmark_result"]))
    for name, reasons in pipes:
        bed = ground.bed()
        (bed.power / name).unlink()
        os.mkfifo(bed.power / name)
        checks.add(f"gate {reasons[-1]}: a pipe", is_void(bed, reasons))
    bed = ground.bed()
    checks.add("gate producer_pin_missing", is_void(bed, ["producer_pin_missing"], pin=None))
    checks.add("gate producer_pin_missing: an empty one",
               is_void(ground.bed(), ["producer_pin_missing"], pin=""))
    benchmark_gates(ground, checks)
    overflow(ground, checks)
    implausible(ground, checks)
    all_at_once(ground, checks)


def benchmark_gates(ground, checks):
    """The benchmark's own reasons come behind those of the package."""
    both = lambda bed: [bed.bench, bed.logs / "cfg" / "results_concurrency_4.json"]  # noqa: E731

    def edited(**changes):
        return lambda bed: [edit_json(path, **changes) for path in both(bed)]

    recompute = ["package_recompute_invalid", "producer_verdict_mismatch"]
    cases = [
        ("no file", lambda bed: bed.bench.unlink(), ["invalid_benchmark_result"]),
        ("not JSON", lambda bed: bed.bench.write_text("{"), ["invalid_benchmark_result"]),
        ("a list", lambda bed: bed.bench.write_text("[1]"), ["invalid_benchmark_result"]),
        ("no queries", edited(completed=0), ["invalid_successful_query_count"]),
        ("no tokens in", edited(total_input_tokens=0), ["invalid_input_token_count"]),
        ("tokens out are a text", edited(total_output_tokens="6000"),
         ["invalid_output_token_count"]),
        ("its own duration", edited(duration=50.0),
         [*recompute, "benchmark_duration_mismatch"]),
        ("no start", edited(benchmark_start_time_unix=...),
         [*recompute, "invalid_benchmark_window"]),
    ]
    for name, tamper, reasons in cases:
        bed = ground.bed()
        tamper(bed)
        checks.add(f"benchmark: {name}", is_void(bed, reasons))
    bed = ground.bed()
    for path in both(bed):
        edit_json(path, completed=0)
    bed.run(pin="other")
    checks.add("benchmark reasons come last", differences(
        "reasons", bed.record["reasons"],
        ["producer_commit_mismatch", "invalid_successful_query_count"]))
    checks.add("a benchmark whose counts are invalid still has a window in the record",
               differences("window", bed.record["benchmark_window"] and
                           bed.record["benchmark_window"]["start_time_unix"], 1000.0))


def overflow(ground, checks):
    """Each sample is a number; their sum is none."""
    gpus = two_and_two()
    for gpu in gpus:
        gpu.watts = 9e307
    bed = ground.bed(Package(gpus))
    checks.add("gate non_finite_power_metric",
               is_void(bed, ["non_finite_power_metric"], ["total_gpu_energy_j"])
               + differences("energies", set(bed.record["per_gpu_energy_j"].values()), {None}))


def implausible(ground, checks):
    """Milliwatts in a package, whose format states watts: nothing is published, and no option takes them."""
    gpus = two_and_two()
    gpus[1].watts = 350000.0
    bed = ground.bed(Package(gpus))
    checks.add("implausible: one GPU of four", is_void(bed, ["implausible_power"], [": a mean of 350000 W; milliwatts?"]))
    done = bed.run("--require-power", "--accept", "implausible_power")
    checks.add("implausible: accepted", differences("status", done.returncode, 0)
               + differences("reasons", (bed.record["reasons"], list(bed.record["accepted_reasons"])), ([], ["implausible_power"]))
               + differences("verdict", bed.row["power_valid"], 1))
    gpus[1].watts = 3000.0
    bed = ground.bed(Package(gpus))
    done = bed.run("--require-power")
    checks.add("implausible: 3 kW are not", differences("status", done.returncode, 0)
               + differences("reasons", bed.record["reasons"], []))


def all_at_once(ground, checks):
    """Reasons stand in the order of the gates."""
    bed = ground.bed()
    edit_json(bed.manifest, unit="kW")
    edit_json(bed.bench, max_concurrency=8, completed=0)
    bed.aggregate.unlink()
    done = bed.run("--require-power", pin="other", gpus=(4, 2))
    checks.add("all reasons, in order", differences("status", done.returncode, 1) + differences(
        "reasons", bed.record["reasons"],
        ["producer_commit_mismatch", "package_recompute_invalid", "producer_verdict_mismatch",
         "topology_env_mismatch", "window_for_result_missing", "invalid_successful_query_count",
         "aggregate_result_missing"]))


# ---- The aggregate and the record

def aggregates(ground, checks):
    bed = ground.bed()
    bed.aggregate.unlink()
    done = bed.run()
    checks.add("aggregate missing, best effort", differences("status", done.returncode, 0)
               + differences("reasons", bed.record["reasons"], ["aggregate_result_missing"])
               + differences("metrics", bed.record["metrics"], {})
               + differences("there", bed.aggregate.exists(), False))
    checks.add("aggregate missing, required",
               differences("status", bed.run("--require-power").returncode, 1))

    for name, text in (("no JSON", b'{"hw": '), ("a list", b"[1]"), ("not UTF-8", b'{"a": "\xff"}'),
                       ("a number", b"7")):
        bed = ground.bed()
        bed.aggregate.write_bytes(text)
        statuses = [bed.run().returncode, bed.run("--require-power").returncode]
        checks.add(f"aggregate that is {name}: left as it is", differences("status", statuses, [0, 1])
                   + differences("reasons", bed.record["reasons"], ["aggregate_result_unwritable"])
                   + differences("bytes", bed.aggregate.read_bytes(), text))

    bed = ground.bed()
    bed.aggregate.write_bytes(b'{"b": 1e2,\t"a": "\\u00e9", "b": 3}\n')
    bed.run()
    text = bed.aggregate.read_bytes()
    checks.add("other bytes of the aggregate stay",
               [] if text.startswith(b'{"b": 1e2,\t"a": "\\u00e9", "b": 3') else [repr(text)])

    stale = {key: 1 for key in METRICS} | {"power_valid": 1, "power_invalid_reasons": ["x"]}
    bed = ground.bed()
    bed.aggregate.write_text(json.dumps(bed.package.aggregate | stale))
    bed.run(pin="other")
    checks.add("stale keys go from an aggregate that is not valid", differences(
        "row", bed.row, bed.package.aggregate | VERDICT | {"power_valid": 0}))
    bed.aggregate.write_text(json.dumps(bed.package.aggregate | stale))
    bed.run()
    checks.add("stale keys go from a valid aggregate",
               differences("row", bed.row, bed.package.aggregate | VERDICT | METRICS))


def unwritable(ground, checks):
    """Without rights to write, nothing is written but what may be."""
    someone = {}
    if os.geteuid() == 0:  # nothing keeps root from writing
        program = ground.root / "aggregate-power"
        shutil.copy(patching.PROGRAM, program)
        program.chmod(0o755)
        ground.root.chmod(0o755)
        someone = {"program": program, "user": NOBODY, "group": NOBODY, "extra_groups": []}

    def statuses(bed):
        return [bed.run(*more, **someone).returncode for more in ((), ("--require-power",))]

    bed = ground.bed()
    before = patching.contents(bed.folder)
    bed.folder.chmod(0o555)
    checks.add("a folder that cannot be written", differences("status", statuses(bed), [0, 1])
               + differences("files", patching.contents(bed.folder), before))
    bed.folder.chmod(0o755)

    bed = ground.bed()
    bed.folder.chmod(0o777)
    bed.aggregate.chmod(0o444)
    before = bed.aggregate.read_bytes()
    checks.add("an aggregate that cannot be written", differences("status", statuses(bed), [0, 1])
               + differences("aggregate", bed.aggregate.read_bytes(), before)
               + differences("reasons", bed.record["reasons"], ["aggregate_result_unwritable"])
               + differences("metrics", bed.record["metrics"], {}))

    for name, reasons in (("manifest.json", ["manifest_malformed"]), ("samples.csv", [
            "package_recompute_invalid", "producer_verdict_mismatch"])):
        bed = ground.bed()
        bed.folder.chmod(0o777)
        bed.aggregate.chmod(0o666)
        (bed.power / name).chmod(0)
        checks.add(f"a {name} that cannot be read",
                   differences("status", statuses(bed), [0, 1])
                   + differences("reasons", bed.record["reasons"], reasons))

    bed = ground.bed()
    others = {name: data for name, data in patching.contents(bed.folder).items()
              if name != "agg_run.json"}
    more = ("--validation-result", "run.json/record.json")
    done = bed.run(*more)
    checks.add("a record that cannot be written: no claim in the aggregate",
               differences("status", (done.returncode, bed.run(*more, "--require-power").returncode),
                           (0, 1))
               + differences("row", bed.row, bed.package.aggregate | VERDICT | {"power_valid": 0})
               + ([] if "validation_result_unwritable" in done.err else [done.err])
               + differences("others", {name: data for name, data in
                                        patching.contents(bed.folder).items()
                                        if name != "agg_run.json"}, others))


def record_over_input(ground, checks):
    for name in ("run.json", "agg_run.json", "LOGS/power/manifest.json", "LOGS/power/samples.csv",
                 "LOGS/cfg/results_concurrency_4.json",
                 "LOGS/power/windows/results_concurrency_4.json",
                 "LOGS/power/cpu/samples.csv", "LOGS/power/cpu/cpu_manifest.json"):
        bed = ground.bed(Package().add_cpus())
        before = patching.contents(bed.folder)
        done = bed.run("--validation-result", name)
        after = patching.contents(bed.folder)
        checks.add(f"a record over {name}", differences("status", done.returncode, 0)
                   + differences("input", after[name] if name != "agg_run.json" else None,
                                 before[name] if name != "agg_run.json" else None)
                   + differences("power_valid", bed.row.get("power_valid"), 0)
                   + ([] if "is an input of this run and is not overwritten" in done.err
                      or "is in a folder of inputs" in done.err
                      else [done.err]))


def inputs_stay(ground, checks):
    """Neither the record nor the aggregate goes where inputs are."""
    def packages():
        loads = [Load(4, 1000.0, 1060.0), Load(8, 1100.0, 1160.0)]
        return ground.bed(Package(loads=loads).add_cpus())

    for name in ("LOGS/power/windows/new.json", "LOGS/power/windows/new/new.json",
                 "LOGS/power/power-producer-sha.txt", "LOGS/power/exporter-image.sha256",
                 "LOGS/cfg/results_concurrency_8.json"):
        bed = packages()
        (bed.power / "power-producer-sha.txt").write_text(PIN)
        (bed.power / "exporter-image.sha256").write_text("0" * 64)
        before = patching.contents(bed.logs)
        done = bed.run("--validation-result", name)
        checks.add(f"no record over {name}", differences("status", done.returncode, 0)
                   + differences("inputs", patching.contents(bed.logs), before)
                   + differences("power_valid", bed.row.get("power_valid"), 0))
    def break_manifest(bed):
        bed.manifest.write_text("{")

    def repeat_window(bed):
        shutil.copy(bed.windows / "results_concurrency_8.json", bed.windows / "results_concurrency_9.json")
        edit_json(bed.windows / "results_concurrency_9.json", result_path="cfg/results_concurrency_9.json")

    for tamper in (None, break_manifest, repeat_window):
        for name in ("run.json", "LOGS/power/manifest.json", "LOGS/cfg/results_concurrency_4.json",
                     "LOGS/cfg/results_concurrency_8.json", "LOGS/power/cpu/cpu_manifest.json"):
            bed = packages()
            if tamper:
                tamper(bed)
            before = patching.contents(bed.folder)
            done = bed.run("--require-power", "--agg-result", name)
            after = patching.contents(bed.folder)
            record = after.pop("power_validation_run.json", b"")
            checks.add(f"{name} is no aggregate, {getattr(tamper, '__name__', 'sound')}",
                       differences("status", done.returncode, 1) + differences("files", after, before)
                       + ([] if b"aggregate_result_unwritable" in record else [repr(record)]))
    # Only what a package consists of is an input.
    bed = ground.bed()
    for path in (bed.bench, bed.aggregate):
        path.rename(bed.power / path.name)
    done = bed.plain("multinode", "--power-dir", ".", "--logs-root", "..", "--bench-result", "run.json",
                     "--agg-result", "agg_run.json", "--prefill-gpus", "2", "--decode-gpus", "2",
                     "--expected-producer-sha", PIN, "--require-power", folder=bed.power)
    checks.add("an aggregate and a record beside the manifest", differences(
        "status", (done.returncode, done.err), (0, ""))
        + differences("record", (bed.power / "power_validation_run.json").exists(), True))
    for option in ("--power-dir", "--logs-root", "--nodes"):
        done = ground.bed().run(option, "")
        checks.add(f"an empty {option}", differences("status", done.returncode, 2)
                   + ([] if f"{option}: expected a name, got ''" in done.err else [done.err]))


def compressed_result(ground, checks):
    bed = ground.bed()
    packed = gzip.compress(bed.bench.read_bytes())
    bed.bench.unlink()
    (bed.folder / "run.json.gz").write_bytes(packed)
    done = bed.run("--require-power", "--bench-result", "run.json.gz")
    checks.add("a compressed result", differences("status", (done.returncode, done.err), (0, ""))
               + differences("energy", bed.row.get("total_gpu_energy_j"), 84000.0))


def dry_run(ground, checks):
    for name, tamper, status in (("valid", lambda bed: None, 0),
                                 ("not valid", lambda bed: bed.samples.unlink(), 1)):
        bed = ground.bed()
        tamper(bed)
        before = patching.contents(bed.folder)
        done = bed.run("--dry-run", "--require-power")
        checks.add(f"a dry run of a package that is {name}",
                   differences("status", done.returncode, status)
                   + differences("files", patching.contents(bed.folder), before)
                   + ([] if "dry run: nothing was written" in done.out else [done.out])
                   + ([] if "power_valid" in done.out else [done.out]))


def records(ground, checks):
    bed = ground.bed()
    bed.run()
    record = bed.record
    window = {"start_time_unix": 1000.0, "end_time_unix": 1060.0, "reported_duration_s": 60.0,
              "integration_duration_s": 60.0, "completed": 10, "total_input_tokens": 30000,
              "total_output_tokens": 6000}
    roles = {"node-d/GPU-node-d-0": "decode", "node-d/GPU-node-d-1": "decode",
             "node-p/GPU-node-p-0": "prefill", "node-p/GPU-node-p-1": "prefill"}
    expected = {
        "schema_version": 1, "power_valid": True, "reasons": [], "failures": [],
        "telemetry_source": "LOGS/power", "benchmark_result": "run.json",
        "benchmark_window": window,
        "selected_window": {"window_file": "windows/results_concurrency_4.json",
                            "result_path": "cfg/results_concurrency_4.json",
                            "benchmark_type": "sa-bench", "concurrency": 4,
                            "start_time_unix": 1000.0, "end_time_unix": 1060.0, "duration": 60.0,
                            **({"power_valid": True, "metrics": METRICS} if is_october() else {})},
        "integration_method": "per_device_trapezoidal_with_linear_boundary_interpolation",
        "producer": {"producer_git_commit": PIN, "expected_producer_git_commit": PIN,
                     "exporter_image_sha256": IMAGE, "stored_publication_valid": True,
                     "recomputed_publication_valid": True},
        "expected_gpu_count": 4, "observed_gpu_count": 4, "per_gpu_role": roles,
        "per_gpu_max_sample_gap_s": {gpu: 1.0 for gpu in roles},
        "per_gpu_energy_j": {gpu: 18000.0 if role == "decode" else 24000.0
                             for gpu, role in roles.items()},
        "metrics": METRICS}
    checks.add("keys of the record, in order", differences("keys", list(record), record_keys()))
    for key, value in expected.items():
        checks.add(f"record: {key}", differences(key, json.dumps(record[key]), json.dumps(value)))
    origin = record["computed_from"]
    checks.add("record: computed_from", differences("keys", list(origin), [
        "tool_version", "contract", "schema", "samples_version", "producer_rules", "producer_pin", "timezone",
        "timezone_source", "source_metric", "power_scope", "collector", "sensor", "scope", "averaging",
        "aggregate", "inputs", "options"]) + differences("values", list(origin.values())[1:15], [
            "october" if is_october() else "august", "srt-slurm samples", 1, "pinned", "option", "UTC",
            "stamps", "DCGM_FI_DEV_POWER_USAGE", "gpu_device_board_as_reported_by_dcgm", "srt-slurm",
            "DCGM_FI_DEV_POWER_USAGE", "gpu", "unknown", "agg_run.json"]))

    bed = ground.bed()
    bed.manifest.unlink()
    bed.run(pin=None)
    checks.add("record of what was never read", differences(
        "record", {key: bed.record[key] for key in record_keys()[6:-1] if key != "benchmark_window"},
        {"selected_window": None, "integration_method": expected["integration_method"],
         "producer": dict.fromkeys(expected["producer"]), "expected_gpu_count": 0,
         "observed_gpu_count": 0, "per_gpu_role": {}, "per_gpu_max_sample_gap_s": {},
         "per_gpu_energy_j": {}, "metrics": {},
         **({"package_integrity_valid": False, "window_validations": [], "gap_dialect": None,
             "gap_energy_bound_j": None} if is_october() else {})}))

    bed = ground.bed()
    bed.lines(lambda rows: [row for row in rows if row[3:5] != ["node-d", "1"]])
    bed.run()
    checks.add("record: a GPU that was never seen goes by its index", differences(
        "roles", list(bed.record["per_gpu_role"]),
        ["node-d/GPU-node-d-0", "node-d/1", "node-p/GPU-node-p-0", "node-p/GPU-node-p-1"])
        + differences("observed", bed.record["observed_gpu_count"], 3))


# ---- Topology

def topology(ground, checks):
    def roles(*names, groups=(1, 1, 0, 0)):
        gpus = two_and_two()
        for gpu, name, group in zip(gpus, names, groups):
            gpu.role, gpu.group = name, group
        return gpus

    disagg = ("decode", "decode", "prefill", "prefill")
    fine = [
        ("no het groups at all", roles(*disagg, groups=[None] * 4), {}, METRICS),
        ("aggregate workers", roles(*["agg"] * 4, groups=[None] * 4),
         {"gpus": None, "agg": 4}, {key: METRICS[key] for key in WHOLE}),
        ("aggregate workers in one het group, zeros beside", roles(*["agg"] * 4, groups=[3] * 4),
         {"gpus": (0, 0), "agg": 4}, {key: METRICS[key] for key in WHOLE}),
        ("only prefill", roles(*["prefill"] * 4, groups=[0] * 4), {"gpus": (4, 0)},
         {key: METRICS[key] for key in WHOLE} | {
             "prefill_gpu_energy_j": 84000.0, "prefill_avg_power_w": 350.0,
             "prefill_joules_per_input_token": 2.8}),
    ]
    for name, gpus, run, metrics in fine:
        checks.add(f"topology: {name}", is_valid(ground.bed(Package(gpus)), metrics, **run))
    void = [
        ("too few prefill GPUs", roles(*disagg), {"gpus": (4, 2)}, "expected 4 prefill GPUs, found 2"),
        ("one decode GPU too many", roles(*disagg), {"gpus": (2, 1)},
         "expected 1 decode GPUs, found 2"),
        ("no decode asked for", roles(*disagg), {"gpus": (2, 0)}, "expected roles prefill"),
        ("nothing asked for", roles(*disagg), {"gpus": (0, 0)}, "counts are all zero"),
        ("less than nothing asked for", roles(*disagg), {"gpus": (-1, -1)}, "counts are all zero"),
        ("aggregate workers, asked for as prefill", roles(*["agg"] * 4, groups=[None] * 4),
         {"gpus": (4, 0)}, "expected roles prefill, found agg"),
        ("too few aggregate workers", roles(*["agg"] * 4, groups=[None] * 4),
         {"gpus": None, "agg": 8}, "expected 8 agg GPUs, found 4"),
        ("aggregate and prefill together", roles(*disagg), {"gpus": (2, 2), "agg": 4},
         "cannot be combined"),
        ("roles share a het group", roles(*disagg, groups=[0] * 4), {}, "roles share a het group"),
        ("a role in two het groups",
         [Gpu("a", 0, "decode", 1.0, 1), Gpu("b", 0, "decode", 1.0, 2),
          Gpu("c", 0, "prefill", 1.0, 0), Gpu("d", 0, "prefill", 1.0, 0)], {},
         "role decode spans het groups 1, 2"),
        ("het groups for one role alone", roles(*disagg, groups=[1, 1, None, None]), {},
         "role prefill has het group None"),
    ]
    for name, gpus, run, failure in void:
        checks.add(f"topology: {name}", is_void(ground.bed(Package(gpus)),
                                                ["topology_env_mismatch"], [failure], **run))

    recompute = ["package_recompute_invalid", "producer_verdict_mismatch"]
    package = Package()
    devices = package.manifest()["expected_devices"]
    both = copy.deepcopy(devices)
    both[0]["assignments"].append(both[2]["assignments"][0] | {"het_group": 1})
    package.changes = {"expected_devices": both}
    checks.add("topology: one GPU of two roles, so that roles are not compared",
               is_void(ground.bed(package), recompute, ["conflicting_worker_roles"], gpus=(7, 7)))
    two_groups = copy.deepcopy(devices)
    two_groups[0]["assignments"][0]["het_group"] = 5
    package = Package()
    package.changes = {"expected_devices": two_groups}
    checks.add("topology: one host in two het groups",
               is_void(ground.bed(package), [*recompute, "topology_env_mismatch"],
                       ["conflicting_het_groups (device", "conflicting_het_groups (topology)"]))


# ---- Which window the result is of

def binding(ground, checks):
    """The processed copy is the original's by content, however it is written."""
    def text(change):
        def write(bed):
            bed.bench.write_text(change(json.dumps(bed.package.bench)))
        return write

    nan = Package()
    for result in (*nan.results.values(), nan.bench):
        result["odd"] = [float("nan"), float("-inf"), 1e22]
    exact = Package()
    for result in (*exact.results.values(), exact.bench):
        result["max_concurrency"] = 4.0
    equal = [
        ("blanks and escapes", Package(), text(lambda t: t.replace(", ", " ,\n\t"))),
        ("order of keys", Package(),
         lambda bed: bed.bench.write_text(json.dumps(dict(reversed(bed.package.bench.items()))))),
        ("other spellings of one number", Package(),
         text(lambda t: t.replace("2.5", "25e-1").replace("1e-07", "0.0000001"))),
        ("escapes", Package(), text(lambda t: t.replace("mod", "\\u006d\\u006fd"))),
        ("a key twice, the last counts", Package(),
         text(lambda t: t.replace('{"model_id"', '{"completed": 99, "model_id"', 1))),
        ("NaN and infinities", nan, lambda bed: None),
        ("a concurrency of 4.0", exact, lambda bed: None),
    ]
    for name, package, tamper in equal:
        bed = ground.bed(package)
        tamper(bed)
        checks.add(f"binding: {name} do not matter", is_valid(bed))
    other = [
        ("60 for 60.0", lambda t: t.replace('"duration": 60.0', '"duration": 60')),
        ("10.0 for 10", lambda t: t.replace('"completed": 10', '"completed": 10.0')),
        ("another number", lambda t: t.replace("2.5", "2.5000000000000004")),
        ("-0.0 for 0.0", lambda t: t.replace("1e-07", "-0.0")),
        ("an item more", lambda t: t.replace("[1, ", "[1, 1, ")),
        ("a member more", lambda t: t.replace('"a": null', '"a": null, "c": null')),
        ("a member less", lambda t: t.replace('"a": null', '"b": null')),
        ("true for 1", lambda t: t.replace("[1, ", "[true, ")),
        ("a text for null", lambda t: t.replace("null", '"null"')),
        ("NaN for a number", lambda t: t.replace("2.5", "NaN")),
        ("another case", lambda t: t.replace("mod", "Mod")),
    ]
    for name, change in other:
        bed = ground.bed()
        text(change)(bed)
        reasons = ["result_content_mismatch"]
        if name == "10.0 for 10":  # which is no count of queries, either
            reasons.append("invalid_successful_query_count")
        checks.add(f"binding: {name} is another result", is_void(bed, reasons))
    random_copies(ground, checks)
    candidates(ground, checks)


def random_copies(ground, checks):
    """Random values in the original and the copy, written in random ways: bound when Python writes
    both the same."""
    dice = random.Random(8)
    atoms = ["0", "-0", "0.0", "-0.0", "1", "1.0", "10e-1", "true", "null", "NaN", "-Infinity",
             "1e999", "9007199254740993", "9007199254740993.0", "1e16", "10000000000000000.0",
             '"a"', '"\\u0061"', '"\\ud83d\\ude00"', '"\U0001f600"', '"\\ud83d"', '"1"', "{}", "[]"]

    def value(depth):
        kind = dice.random()
        if depth == 0 or kind < 0.5:
            return dice.choice(atoms)
        if kind < 0.7:
            return "[" + " , ".join(value(depth - 1) for _ in range(dice.randrange(3))) + "]"
        return "{" + ",".join(f'"{dice.choice("abc")}" :{value(depth - 1)}'
                              for _ in range(dice.randrange(4))) + "}"

    faults, same, runs = [], 0, 400
    bed = ground.bed()
    original = bed.logs / "cfg" / "results_concurrency_4.json"
    text = json.dumps(bed.package.bench)[:-1]
    for _ in range(runs):
        texts = [value(2), value(2)]
        if dice.random() < 0.5:  # alike
            texts[1] = texts[0]
            for a, b in (("1.0", "10e-1"), ('"a"', '"\\u0061"'), ("1e999", "Infinity"), (" ,", ",")):
                texts[1] = texts[1].replace(a, b) if dice.random() < 0.7 else texts[1]
        written = [f'{text}, "more": {texts[0]}}}', f'{text}, "more": {texts[1]}}}']
        original.write_text(written[0])
        bed.bench.write_text(written[1])
        done = bed.run("--require-power")
        canonical = [json.dumps(json.loads(one), sort_keys=True) for one in written]
        same += canonical[0] == canonical[1]
        faults += differences(f"{texts}", bed.record["reasons"], []
                              if canonical[0] == canonical[1] else ["result_content_mismatch"])
        faults += differences("status", done.returncode, int(canonical[0] != canonical[1]))
    if not runs // 4 < same < runs - runs // 4:
        faults.append(f"{same} of {runs} are the same")
    checks.add("binding: as Python writes the values", faults, runs)


def candidates(ground, checks):
    loads = [Load(4, 1000.0, 1060.0), Load(8, 1100.0, 1160.0)]
    bed = ground.bed(Package(loads=loads))
    checks.add("binding: one of two windows", is_valid(bed))
    package = Package(loads=loads)
    package.bench = dict(package.results["cfg/results_concurrency_8.json"])
    bed = ground.bed(package)
    checks.add("binding: the other of two windows", is_valid(bed) + differences(
        "window", bed.record["selected_window"]["window_file"],
        "windows/results_concurrency_8.json"))
    # Two kinds of benchmark with one concurrency.
    package = Package(loads=[Load(4, 1000.0, 1060.0), Load(8, 1100.0, 1160.0, kind="custom")])
    package.loads[1].concurrency = 4
    for part in (package.windows, package.results):
        part[next(name for name in part if "_8" in name)].update(
            {"concurrency": 4} if part is package.windows else {"max_concurrency": 4})
    validations = [package.validation(package.loads[0]),
                   package.validation(package.loads[0]) | {
                       "benchmark_type": "custom",
                       "window_file": "windows/results_concurrency_8.json"}]
    package.changes = {"window_validations": validations}
    checks.add("binding: two candidates are one too many",
               is_void(ground.bed(package), ["window_for_result_missing"],
                       ["2 completed windows"]))
    bed = ground.bed()
    edit_json(bed.window, status="failed", reason="why")
    checks.add("binding: a failed window is no candidate",
               is_void(bed, ["package_recompute_invalid", "producer_verdict_mismatch",
                             "window_for_result_missing"], ["measurement_window_incomplete"]))
    bed = ground.bed()
    edit_json(bed.bench, max_concurrency=...)
    checks.add("binding: a result without a concurrency",
               is_void(bed, ["window_for_result_missing"], ["null"]))


# ---- Options

def options(ground, checks):
    required = ["--bench-result", "run.json", "--agg-result", "agg_run.json"]
    gpus = ["--prefill-gpus", "2", "--decode-gpus", "2"]
    environment = {"POWER_PRODUCER_SHA": PIN}

    def ended(name, status, arguments, environment=None, faults=lambda bed, done: []):
        bed = ground.bed()
        done = bed.plain("multinode", *arguments, environment=environment)
        checks.add(f"options: {name}", differences("status", done.returncode, status)
                   + faults(bed, done) + ([] if done.returncode == status else [done.err]))

    def says_valid(bed, done):
        return differences("power_valid", bed.row.get("power_valid"), 1)

    ended("LOGS/power and LOGS are the defaults, the pin comes from $POWER_PRODUCER_SHA", 0,
          [*required, *gpus], environment, says_valid)
    ended("unambiguous beginnings of names", 0,
          ["--power", "LOGS/power", "--logs", "LOGS", "--bench", "run.json", "--agg-r",
           "agg_run.json", "--prefill", "2", "--decode", "2", "--expected-producer", PIN,
           "--require"], None, says_valid)
    ended("NAME=VALUE", 0, [*required, "--prefill-gpus=2", "--decode-gpus= +2 ",
                            f"--expected-producer-sha={PIN}"], None, says_valid)
    ended("$REQUIRE_POWER", 1, [*required, *gpus], {"REQUIRE_POWER": "True"})
    ended("$REQUIRE_POWER is no word for yes", 0, [*required, *gpus], {"REQUIRE_POWER": "2"})
    ended("an option goes before the variable", 1,
          [*required, *gpus, "--expected-producer-sha", "other", "--require-power"], environment)
    ended("an empty pin is none, whatever the variable says", 1,
          [*required, *gpus, "--expected-producer-sha", "", "--require-power"], environment,
          lambda bed, done: differences("reasons", bed.record["reasons"], ["producer_pin_missing"]))
    ended("an empty variable is no pin", 1, [*required, *gpus, "--require-power"],
          {"POWER_PRODUCER_SHA": ""})
    for name, arguments, said in (
            ("no benchmark result", ["--agg-result", "a.json", *gpus], "--bench-result"),
            ("no aggregate", ["--bench-result", "r.json", *gpus], "--agg-result"),
            ("no numbers of GPUs", required, "--prefill-gpus"),
            ("prefill GPUs alone", [*required, "--prefill-gpus", "2"], "--decode-gpus"),
            ("decode GPUs alone", [*required, "--decode-gpus", "2"], "--prefill-gpus"),
            ("no number", [*required, "--prefill-gpus", "two", "--decode-gpus", "2"],
             "--prefill-gpus: expected a whole number, got 'two'"),
            ("no whole number", [*required, "--prefill-gpus", "2.0", "--decode-gpus", "2"], "'2.0'"),
            ("an unknown option", [*required, *gpus, "--frobnicate"], "--frobnicate"),
            ("an option of hosts", [*required, *gpus, "--timezone", "UTC"],
             "--timezone: is for --host or --nodes"),
            ("an option of packages with hosts", [*required, "--host", "a=a.csv", "--expected-cpu-source", "acpi"],
             "--expected-cpu-source: is for a dcgm-power package"),
            ("standard input", ["--bench-result", "-", "--agg-result", "a.json", *gpus],
             "expected a file"),
            ("a value that is missing", [*required, *gpus, "--power-dir"], "--power-dir"),
            ("an ambiguous beginning", [*required, *gpus, "--p", "x"], "--p")):
        ended(name, 2, arguments, environment,
              lambda bed, done, said=said: ([] if said in done.err else [done.err])
              + differences("stdout", done.out, "")
              + differences("record", bed.record_path.exists(), False))
    moved(ground, checks)


def moved(ground, checks):
    """Folders elsewhere, by variables and by options, absolute and not."""
    bed = ground.bed()
    (bed.folder / "else").mkdir()
    bed.power.rename(bed.folder / "else" / "packed")
    bed.logs.rename(bed.folder / "else" / "results")
    places = {"POWER_ARTIFACT_DIR": "./else//packed/", "POWER_RESULT_ROOT":
              str(bed.folder / "else" / "results"), "POWER_PRODUCER_SHA": PIN}
    arguments = ["multinode", "--bench-result", "run.json", "--agg-result", "agg_run.json",
                 "--prefill-gpus", "2", "--decode-gpus", "2"]
    done = bed.plain(*arguments, environment=places)
    checks.add("$POWER_ARTIFACT_DIR and $POWER_RESULT_ROOT",
               differences("status", (done.returncode, done.err), (0, ""))
               + differences("power_valid", bed.row["power_valid"], 1)
               + differences("source", bed.record["telemetry_source"], "else/packed"))
    done = bed.plain(*arguments, "--power-dir", "else/packed", "--logs-root", "else/results",
                     "--validation-result", "new/audit.json", "--require-power",
                     environment={"POWER_ARTIFACT_DIR": "no", "POWER_RESULT_ROOT": "no",
                                  "POWER_PRODUCER_SHA": PIN})
    checks.add("options go before variables; the record goes where it is wanted",
               differences("status", (done.returncode, done.err), (0, ""))
               + differences("valid", strictly_parsed(bed.folder / "new" / "audit.json")
                             ["power_valid"], True))


def links(ground, checks):
    """An aggregate that is a link stays one; a package may be reached by links."""
    bed = ground.bed()
    (bed.folder / "real").mkdir()
    bed.aggregate.rename(bed.folder / "real" / bed.aggregate.name)
    bed.aggregate.symlink_to(f"real/{bed.aggregate.name}")
    bed.logs.rename(bed.folder / "real-logs")
    bed.logs.symlink_to("real-logs")
    checks.add("links to the aggregate and to the logs", is_valid(bed)
               + differences("link", bed.aggregate.is_symlink(), True))
    # The package lies elsewhere, linked into the logs.
    bed = ground.bed()
    bed.power.rename(bed.folder / "packed")
    bed.power.symlink_to("../packed")
    checks.add("a link to the package", is_valid(bed))


def empty_result(ground, checks):
    bed = ground.bed()
    write_json(bed.bench, "{}")
    checks.add("an empty result", is_void(bed, ["window_for_result_missing",
                                                "invalid_benchmark_window"]))


TESTS = [numbers, conservation, sample_order, gates, aggregates, unwritable, record_over_input, inputs_stay, compressed_result,
         dry_run, records, topology, binding, options, moved, links, empty_result]

if __name__ == "__main__":
    sys.exit(main(TESTS, sys.argv[1:]))
