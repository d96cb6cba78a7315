#!/usr/bin/env python3
"""What packages have since November: contract-october.md 9.3, 9.6, 9.7 and 9.8, by their numbers.

The four GPUs draw 1400 W from 1000 to 1060: 84000 J, by hand.

usage: tests/multinode/november_package_test.py [TEST...]   with $AGGREGATE_POWER
"""
import json
import random
import sys

from package_bed import differences, main
from package_builder import Gpu, Load, Package, edit_json, two_and_two

JOULES = 84000.0
WINDOW = (1000.0, 1060.0)


def told(package, **changes):
    """The recorder saw it, too."""
    package.changes |= {"publication_valid": False, "reason_codes": ["sample_gap_exceeded"]} | changes
    return package


def without(package, uuid, first, last):
    package.rows = [row for row in package.rows
                    if row[5] != uuid or not first < float(row[1]) < last]
    return package


def with_gap(seconds, at=1010.0, end=WINDOW[1], uuid="GPU-node-d-0", **changes):
    package = Package(loads=[Load(4, WINDOW[0], end)])
    return told(without(package, uuid, at, at + seconds), **changes)


def is_salvaged(bed, share, gap_s, joules=JOULES, more=()):
    """power_valid 0, and an interval that holds the energy."""
    done = bed.run("--salvage", *more)
    row, record = bed.row, bed.record
    faults = differences("power_valid", row["power_valid"], 0)
    faults += differences("contract's keys", [key for key in row if key in (
        "avg_power_w", "total_gpu_energy_j", "joules_per_output_token")], [])
    salvage = record.get("salvage", {})
    if not salvage.get("available"):
        return [*faults, f"not salvaged: {salvage} {done.err}"]
    energy = salvage["total_gpu_energy_j"]
    if not energy["low"] <= joules <= energy["high"] or energy["high"] - energy["low"] > joules / 4:
        faults.append(f"interval: {energy}, {joules} are right")
    if abs(energy["estimate"] - joules) > 0.01 * joules:
        faults.append(f"estimate: {energy}, {joules} are right")
    faults += differences("share", salvage["least_covered_share"], share)
    longest = max((gap["duration_s"] for gpu in salvage["per_gpu"].values() for gap in gpu["gaps"]),
                  default=None)
    faults += differences("longest gap", longest, gap_s)
    if abs(row.get("salvaged_total_gpu_energy_j", 0) - energy["estimate"]) > 0.01:
        faults.append(f"salvaged_total_gpu_energy_j: {row}")
    if f"salvaged: {energy['estimate']:.1f} J" not in done.out:
        faults.append(f"not said: {done.out}")
    return faults


def is_not(bed, *words, more=()):
    done = bed.run("--salvage", *more)
    faults = differences("power_valid", bed.row["power_valid"], 0)
    faults += differences("keys", [key for key in bed.row if key.startswith("salvaged_")], [])
    return faults + [f"not said: {word!r}: {done.err}" for word in words if word not in done.err]


def gaps(ground, checks):
    """9.3: the covered share is 1 - the gaps above 3 s in the window; 90 % are needed."""
    for seconds, share in ((4.0, round(1 - 4 / 60, 6)), (6.0, 0.9)):
        checks.add(f"9.3: a gap of {seconds:g} s of 60 s",
                   is_salvaged(ground.bed(with_gap(seconds)), share, seconds))
    checks.add("9.3: 7 s of 60 s", is_not(ground.bed(with_gap(7.0)), "88.3 %", "90 %"))
    checks.add("9.3: 6 s of 10 s", is_not(ground.bed(with_gap(6.0, 1002.0, 1010.0)), "40.0 %", "90 %"))
    checks.add("9.3: a gap across the start counts as far as it is in the window",
               is_salvaged(ground.bed(with_gap(6.0, 998.0)), round(1 - 4 / 60, 6), 6.0))
    package = told(without(with_gap(4.0), "GPU-node-p-1", 1030.0, 1035.0))
    checks.add("9.3: gaps of two GPUs", is_salvaged(ground.bed(package), round(1 - 5 / 60, 6), 5.0))
    checks.add("9.3: as all keys", is_salvaged(ground.bed(with_gap(4.0)), round(1 - 4 / 60, 6), 4.0,
                                               more=["--extended"]))
    bed = ground.bed(with_gap(4.0))
    bed.run()
    checks.add("9.3: not without the option",
               differences("record", bed.record.get("salvage"), None)
               + differences("keys", [key for key in bed.row if "salvage" in key], []))
    bed.run("--salvage")
    bed.run()
    checks.add("9.3: keys of an earlier run are removed",
               differences("keys", [key for key in bed.row if "salvage" in key], []))


def gaps_alone(ground, checks):
    """9.3: codes of what was met at run time may stand beside the gap; no other fault may."""
    bed = ground.bed(with_gap(4.0, reason_codes=["endpoint_timeout", "invalid_power_value",
                                                 "sample_gap_exceeded"]))
    checks.add("9.3: endpoint_timeout beside it", is_salvaged(bed, round(1 - 4 / 60, 6), 4.0))
    for name, package in {
            "its recorder calls it valid": with_gap(4.0, publication_valid=True),
            "a clock is not proven": with_gap(4.0, clock_sync_failures=["node-d"]),
            "another digest": with_gap(4.0, samples_sha256="0" * 64),
            "another count of rows": with_gap(4.0, sample_row_count=7),
            "another producer": with_gap(4.0, producer_git_commit="00" * 20)}.items():
        checks.add(f"9.3: not for gaps alone: {name}", is_not(ground.bed(package)))
    package = told(without(Package(), "GPU-node-d-0", 1058.0, 1e9),
                   reason_codes=["measurement_window_not_bracketed"])
    checks.add("9.3: an edge is missing", is_not(ground.bed(package)))
    package = Package(loads=[Load(4, 1000.0, 1060.0), Load(8, 1100.0, 1160.0)])
    told(without(package, "GPU-node-d-0", 1110.0, 1150.0))
    bed = ground.bed(package)
    bed.run("--salvage")
    checks.add("9.3: a sibling's gap does not matter", differences("valid", bed.row["power_valid"], 1))


def cells(ground, checks):
    """8 row 7 and 9.3: two cells without a number, or 1 % of them."""
    for cells_without, is_there in ((1, True), (2, True), (3, False)):
        package = Package()
        places = [i for i, row in enumerate(package.rows)
                  if row[5] == "GPU-node-d-1"][10:40:10][:cells_without]
        rows, package.rows = package.rows, [row for i, row in enumerate(package.rows)
                                            if i not in places]
        bed = ground.bed(told(package, reason_codes=["samples_csv_malformed"]))
        bed.lines(lambda _: [[*row[:6], ""] if i in places else row for i, row in enumerate(rows)])
        name = f"9.3: {cells_without} cells without a number"
        checks.add(name, is_salvaged(bed, 1.0, 2.0) if is_there else is_not(bed, "may be without"))


def random_gaps(ground, checks):
    """The truth is known: the samples before some were taken out."""
    dice = random.Random(9)
    faults = []
    for _ in range(8):
        low, high = dice.uniform(150, 300), dice.uniform(300, 700)
        phase, period = dice.uniform(0, 20), dice.uniform(15, 40)
        watts = lambda at, low=low, high=high, phase=phase, period=period: \
            high if (at + phase) % period < period / 2 else low  # noqa: E731
        gpus = [Gpu(gpu.host, gpu.index, gpu.role, watts, gpu.group) for gpu in two_and_two()]
        package = Package(gpus=gpus, loads=[Load(4, 1000.0, 1100.0)])
        truth = 4 * sum(watts(1000.0 + i) / 2 + watts(1001.0 + i) / 2 for i in range(100))
        gap = dice.randint(4, 9)
        at = 1000.0 + dice.randint(5, 80)
        bed = ground.bed(told(without(package, "GPU-node-d-1", at, at + gap)))
        bed.run("--salvage")
        energy = bed.record.get("salvage", {}).get("total_gpu_energy_j")
        if not energy or not energy["low"] <= truth <= energy["high"]:
            faults.append(f"{truth} J are right: {energy}")
    checks.add("9.3: intervals hold the truth", faults)


def verdicts(ground, checks):
    """9.6: exit 0 without failures, else 1; rules by their numbers."""
    def validate(bed, *more):
        return bed.plain("inspect", "LOGS/power", "--validate", *more)

    bed = ground.bed(Package())
    edit_json(bed.manifest, samples_sha256=__import__("hashlib").sha256(
        bed.samples.read_bytes()).hexdigest())
    done = validate(bed)
    checks.add("9.6: a valid package", differences("status", done.returncode, 0) + [
        f"not said: {word}" for word in ("validation_ok true", "publication_valid true", "job_id 77",
                                         "expected_devices 4", "observed_devices 4", "stable_uuids 4",
                                         "windows 1", "max_sample_gap_seconds 1.000",
                                         "window sa-bench/4: valid") if word not in done.out]
        + differences("warnings", done.out.count("warning:"), 0))
    found = json.loads(validate(bed, "--json").stdout)
    checks.add("9.6: as JSON", differences("ok", (found["validation_ok"], found["failures"]), (True, []))
               + differences("rows", found["sample_rows"], len(bed.package.rows)))
    checks.add("9.6: the log directory", differences(
        "status", bed.plain("inspect", "LOGS", "--validate").returncode, 0))
    checks.add("9.6: no folder", differences(
        "status", bed.plain("inspect", "nothing", "--validate").returncode, 2))
    for number, change, words in (
            (2, {"unit": "kW"}, "FAIL unit is 'kW', expected 'W'"),
            (4, {"status": "failed"}, "FAIL status is 'failed'"),
            (9, {"samples_sha256": "0" * 64}, "FAIL samples_digest_mismatch: samples_sha256 mismatch"),
            (10, {"expected_devices": [1]}, "FAIL manifest malformed"),
            (12, {"started_at_unix": 999.5}, "FAIL the first sample"),
            (13, {"expected_devices": []}, "FAIL "),
            (14, {"expected_windows": []}, "FAIL no expected measurement window"),
            (17, {"sample_row_count": 3}, "FAIL sample_row_count is 3"),
            (18, {"reason_codes": ["sample_gap_exceeded"]},
             "FAIL disk-derived reason_codes mismatch"),
            (4, {"stopped_at_unix": 900.0}, "FAIL stopped_at_unix is before started_at_unix"),
            (5, {"sample_interval_seconds": 0}, "FAIL sample_interval_seconds is not finite and above 0"),
            (5, {"request_timeout_seconds": None}, "FAIL request_timeout_seconds"),
            (6, {"samples_sha256": "ABC"}, "samples_sha256 is not a lowercase SHA-256 digest"),
            (7, {"required": 1}, "FAIL required is 1"),
            (7, {"reason_codes": ["exporter_exited"]}, "FAIL complete, but with reason_codes exporter_exited"),
            (8, {"dcgm_exporter": {}}, "FAIL dcgm_exporter.container_image_resolved is empty"),
            (10, {"expected_windows": [{}]}, "FAIL manifest malformed"),
            (13, {"expected_devices": Package().manifest()["expected_devices"][:3]}, "FAIL unexpected_device"),
            (16, {"observed_devices": []}, "FAIL observed_devices is not what samples.csv shows"),
            (20, {"expected_windows": 2 * Package().manifest()["expected_windows"]},
             "FAIL expected_windows names a window twice"),
            (19, {"publication_valid": False}, "FAIL publication_valid is false, recomputed true"),
            (19, {"required": False, "reason_codes": ["exporter_launch_failed"]},
             "FAIL publication_valid is true, recomputed false")):
        package = Package()
        package.changes |= change
        done = validate(ground.bed(package))
        checks.add(f"9.6 rule {number}: {change}", differences("status", done.returncode, 1) + (
            [] if words in done.out else [f"not said: {words!r}: {done.out}"]))
    for number, change, words in (
            (2, {"source_metric": "gpu_power_usage"}, "source_metric is"),
            (3, {"job_id": ""}, "job_id is not a non-empty string"),
            (3, {"producer_git_commit": "abc"}, "producer_git_commit is neither"),
            (5, {"sample_interval_seconds": 4.0}, "exceeds the 3.0s coverage limit"),
            (2, {"schema_version": True}, "schema_version is true, expected 1"),
            (5, {"max_scrape_duration_seconds": -1}, "max_scrape_duration_seconds is neither null nor a number"),
            (8, {"dcgm_exporter": {"container_image_resolved": "x", "port": 0}}, "dcgm_exporter.port is not a port"),
            (6, {}, "samples_sha256 is missing"),
            (7, {"reason_codes": ["a", "a"]}, "unknown v1 values"),
            (7, {"reason_codes": ["endpoint_timeout"] * 2}, "reason_codes contains duplicates")):
        package = Package()
        package.changes |= change
        done = validate(ground.bed(package))
        checks.add(f"9.6 rule {number}, a warning: {change}",
                   differences("status", done.returncode, 0) + (
                       [] if words in done.out else [f"not said: {words!r}: {done.out}"]))
    files(ground, checks, validate)
    done = validate(ground.bed(with_gap(6.0)))
    checks.add("9.6: a gap", differences("status", done.returncode, 1)
               + ([] if "window sa-bench/4: sample_gap_exceeded" in done.out else [done.out]))


def files(ground, checks, validate):
    """9.6 rules 1, 11, 15 and 17: what is on disk."""
    def rewritten(change):
        return lambda bed: bed.lines(change)

    def renamed(rows):
        rows[8][5] = "other"
        return rows

    def swapped(rows):
        rows[8][1], rows[12][1] = rows[12][1], rows[8][1]
        return rows

    for number, tamper, words in (
            (1, lambda bed: bed.manifest.unlink(), "FAIL manifest_missing: "),
            (1, lambda bed: bed.manifest.write_text("{"), "FAIL manifest_malformed: "),
            (1, lambda bed: bed.manifest.write_text("[]"), "FAIL manifest_malformed: "),
            (11, lambda bed: bed.samples.unlink(), "FAIL samples_csv_missing in samples.csv"),
            (11, lambda bed: bed.samples.write_text("x\n"), "FAIL samples_csv_header_mismatch in samples.csv"),
            (11, rewritten(lambda rows: [*rows, ["x"]]), "FAIL samples_csv_malformed in samples.csv"),
            (11, rewritten(lambda rows: [*rows, rows[5]]), "FAIL duplicate_sample_row in samples.csv"),
            (11, rewritten(swapped), "FAIL timestamp_non_monotonic in samples.csv"),
            (13, rewritten(renamed), "FAIL gpu_uuid_changed"),
            (14, lambda bed: bed.window.unlink(), "FAIL measurement_window_missing (window sa-bench/4"),
            (15, lambda bed: (bed.windows / "x.json").write_text("{"),
             "FAIL measurement_window_malformed (windows/x.json)"),
            (15, lambda bed: edit_json(bed.window, result_path="../x.json"),
             "FAIL measurement_window_result_path_invalid")):
        bed = ground.bed()
        tamper(bed)
        done = validate(bed)
        checks.add(f"9.6 rule {number}: {words[5:]}", differences("status", done.returncode, 1) + (
            [] if words in done.out else [f"not said: {words!r}: {done.out}"]))

    def same_stamp(rows):
        rows[12][1] = rows[8][1]
        return rows
    package = Package()
    same_stamp(package.rows)
    bed = ground.bed(package)
    done = validate(bed)
    checks.add("9.6 rule 11: equal stamps do not fail here", differences("status", done.returncode, 0)
               + ([] if "dashboards refuse that" in done.out else [done.out]))
    bed.run()
    checks.add("9.6 rule 11: the consumer refuses them", differences("valid", bed.row["power_valid"], 0))
    done = bed.plain("measure", "run.json", "LOGS/power")
    checks.add("9.6: a package in a recording's place", [] if "'inspect --validate' judges it" in " ".join(
        (done.out + done.err).split()) else [done.out + done.err])


def report_of(bed, gpu_j, cpu_j=0, start=1000.25, end=1059.75, name="power_energy_report.json",
              **more):
    report = {"benchmark_type": "sa-bench", "concurrency": 4, "start_unix": start, "end_unix": end,
              "gpu_total_joules": gpu_j, "cpu_total_joules": cpu_j} | more
    text = json.dumps(report if name.endswith("l") else [report])
    path = bed.logs / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


def witnesses(ground, checks):
    """9.7: over their window, 59.5 s, 1400 W are 83300 J. They take the nearest samples, so half an
    interval at each edge may differ: 1400 J in all."""
    for name, reported, agrees in (("exact", 83300.0, True), ("nearest samples", 84000.0, True),
                                   ("another run's", 70000.0, False)):
        bed = ground.bed(Package())
        report_of(bed, reported)
        done = bed.run()
        found = bed.record["energy_reports"]
        checks.add(f"9.7: {name}", differences("legs", [leg["leg"] for leg in found], ["gpu"])
                   + differences("measured", found[0]["measured_j"], 83300.0)
                   + differences("agrees", found[0]["agrees"], agrees)
                   + differences("warned", "the recorder's own report" in done.err, not agrees)
                   + differences("valid", bed.row["power_valid"], 1))
    bed = ground.bed(Package())
    report_of(bed, 1.0, name="power_energy_report.jsonl", emitted_at_unix=5)
    with open(bed.logs / "power_energy_report.jsonl", "a") as lines:
        lines.write(json.dumps({"concurrency": 4, "emitted_at_unix": 6, "start_unix": 1000.0,
                                "end_unix": 1060.0, "gpu_total_joules": JOULES}) + "\n")
        lines.write(json.dumps({"concurrency": 8, "emitted_at_unix": 7}) + "\n")
    report_of(bed, JOULES, start=1000.0, end=1060.0, name="cfg/power_energy_c4.json")
    bed.run()
    checks.add("9.7: the latest line, and beside the result", differences(
        "reports", [(leg["file"], leg["reported_j"], leg["agrees"])
                    for leg in bed.record["energy_reports"]],
        [("power_energy_report.jsonl", JOULES, True), ("cfg/power_energy_c4.json", JOULES, True)]))
    with open(bed.logs / "power_energy_report.jsonl", "a") as lines:
        lines.write('{"concurrency": 4, "emitted_at_un')
    bed.run()
    checks.add("9.7: a line that broke off", differences("reported", bed.record["energy_reports"][0]["reported_j"],
                                                         JOULES))
    bed = ground.bed(Package())
    report_of(bed, JOULES, start=2000.0, end=2060.0)
    done = bed.run()
    checks.add("9.7: a window without samples", differences("valid", bed.row["power_valid"], 1)
               + differences("agrees", "agrees" in bed.record["energy_reports"][0], False)
               + ([] if "not compared: the samples do not cover the report's window" in done.err else [done.err]))
    bed = ground.bed(Package())
    (bed.logs / "power_energy_report.json").write_text("{")
    done = bed.run()
    checks.add("9.7: a broken report", differences("valid", bed.row["power_valid"], 1)
               + ([] if "power_energy_report.json" in done.err else [done.err]))


def both(ground, checks):
    """9.7: 4 sockets of 100 W are 24000 J; 6000 tokens out, 36000 in all."""
    bed = ground.bed(Package().add_cpus())
    report_of(bed, JOULES, 24000.0, 1000.0, 1060.0)
    bed.run("--extended")
    found = bed.record["performance_per_watt"]
    checks.add("9.7: GPU and CPU", differences("cpu", found["cpu"]["energy_j"], 24000.0)
               + differences("boundary", (found["gpu"]["boundary"], found["cpu"]["boundary"]),
                             ("gpu_device_board_as_reported_by_dcgm", "cpu_sockets"))
               + differences("both", (found["gpu_and_cpu"]["energy_j"],
                                      found["gpu_and_cpu"]["avg_power_w"]), (108000.0, 1800.0))
               + differences("gpu", found["gpu"]["output_tokens_per_second_per_watt"],
                             round(6000 / 84000, 9))
               + differences("per watt", found["gpu_and_cpu"]["total_tokens_per_second_per_watt"],
                             round(36000 / 108000, 9))
               + differences("keys", bed.row["output_tokens_per_second_per_combined_watt"],
                             round(6000 / 108000, 6))
               + differences("witness", [leg["agrees"] for leg in bed.record["energy_reports"]],
                             [True, True]))
    bed = ground.bed(Package())
    bed.run()
    checks.add("9.7: no CPU, no member", differences("member", "performance_per_watt" in bed.record,
                                                     False))


def limits(ground, checks):
    """9.8: applied was in force; who is not listed is unknown."""
    header = "node,gpu_index,power_limit_w"
    bed = ground.bed(Package())

    def write(name, *rows):
        (bed.logs / f"gpu_power_limits_{name}.csv").write_bytes(
            "".join(f"{row}\r\n" for row in (header, *rows)).encode())

    write("before", "node-d,0,1200", "node-d,1,1200")
    write("applied", "node-d,0,310", "node-d,1,700", "node-p.cluster.local,0,900")
    write("restored", "node-d,0,1200")
    bed.run()
    found = bed.record["power_limits"]
    checks.add("9.8: by GPU", differences(
        "limits", {gpu: (one["limit_w"], one["share_at_limit"], one.get("before_w"),
                         one.get("restored_w")) for gpu, one in found.items()},
        {"node-d/GPU-node-d-0": (310.0, 1.0, 1200.0, 1200.0),
         "node-d/GPU-node-d-1": (700.0, 0.0, 1200.0, None),
         "node-p/GPU-node-p-0": (900.0, 0.0, None, None)}))
    write("applied", "node-d,0,700", "node-d,0,800")
    done = bed.run()
    checks.add("9.8: two limits of a GPU", differences("member", bed.record.get("power_limits"), None)
               + ([] if "the GPU has another limit above" in done.err else [done.err]))
    write("applied", "node-d,0,N/A")
    done = bed.run()
    checks.add("9.8: a broken file", differences("member", bed.record.get("power_limits"), None)
               + differences("valid", bed.row["power_valid"], 1)
               + ([] if "gpu_power_limits_applied.csv: not read" in done.err else [done.err]))


def places(ground, checks):
    """A load that is partly in its window warns; a window that is idle refuses."""
    for late, reason, valid in ((0, None, 1), (20, "clock_offset_suspected", 1), (90, "load_outside_window", 0)):
        def watts(unix_s, late=late):
            return 350.0 if 1100 + late <= unix_s < 1160 + late else 80.0

        gpus = two_and_two()
        for gpu in gpus:
            gpu.watts = watts
        done = (bed := ground.bed(Package(gpus, loads=[Load(4, 1100.0, 1160.0)], first=991.0, last=1350.0))).run()
        said = [code for code in ("clock_offset_suspected", "load_outside_window") if code in done.err]
        published = bed.row["power_valid"]
        accepted = bed.run("--accept", "load_outside_window")
        checks.add(f"place: {late} s late", differences("said", said, [reason] if reason else [])
                   + differences("valid", published, valid)
                   + differences("accepted", accepted.returncode, 0) + differences("row", bed.row["power_valid"], 1))


def means(ground, checks):
    """Means over 20 s of a load that fills its window: a sixth of its energy is read later."""
    def watts(unix_s, over_s=20.0):
        return 80 + 270 * max(0.0, min(unix_s, 1160.0) - max(1100.0, unix_s - over_s)) / over_s

    gpus = two_and_two()
    for gpu in gpus:
        gpu.watts = watts
    bed = ground.bed(Package(gpus, loads=[Load(4, 1100.0, 1160.0)], first=991.0, last=1350.0))
    bed.run()
    checks.add("means: refused", differences("valid", bed.row["power_valid"], 0)
               + differences("reasons", bed.record["reasons"], ["readings_repeat"]))
    bed.run("--accept", "readings_repeat")
    checks.add("means: accepted", differences("valid", bed.row["power_valid"], 1))


TESTS = [means, gaps, gaps_alone, cells, random_gaps, verdicts, witnesses, both, limits, places]

if __name__ == "__main__":
    sys.exit(main(TESTS, sys.argv[1:], contracts=("october",)))
