#!/usr/bin/env python3
"""What --salvage passes over, what it does not, and which rules of the recorder a package follows.

The result is that of concurrency 4, from 1000 to 1060; the samples that count for it lie between
997 and 1063. Its sibling of concurrency 8 goes from 1100 to 1160.

usage: tests/multinode/package_salvage_test.py [TEST...]   with $AGGREGATE_POWER
"""
import random
import shutil
import sys

from package_bed import differences, is_october, is_valid, is_void, main, patching
from package_builder import Load, Package, edit_json

RECOMPUTE = ["package_recompute_invalid"]
CHANGED = [*RECOMPUTE, "producer_verdict_mismatch"]
SIBLING = "results_concurrency_8.json"


def siblings(**options):
    return Package(loads=[Load(4, 1000.0, 1060.0), Load(8, 1100.0, 1160.0)],
                   **{"first": 990.0} | options)


def told(package, **changes):
    """The recorder saw it, too: what is wrong stands in its manifest."""
    package.changes |= {"publication_valid": False} | changes
    return package


def salvaged(bed):
    return bed.record["computed_from"].get("salvaged")


def is_salvaged(ground, checks, name, make, counts, reasons, rules="pinned", tamper=None):
    """Void without the option; with it valid, with the numbers of the untouched package."""
    bed = ground.bed(make())
    if tamper:
        tamper(bed)
    faults = [f"without: {fault}" for fault in is_void(bed, reasons)]
    faults += differences("without: salvaged", salvaged(bed), None)
    done = bed.run("--salvage", "--require-power")
    faults += differences("status", (done.returncode, done.err if done.returncode else ""), (0, ""))
    faults += is_valid(bed, more=["--salvage"]) + differences("salvaged", salvaged(bed), counts)
    faults += differences("rules", bed.record["computed_from"]["producer_rules"], rules)
    faults += [f"not told: {name}" for name in counts
               if f"salvaged: {name} ({counts[name]})" not in done.err]
    untouched = ground.bed(siblings())
    untouched.run()
    for key in ("metrics", "per_gpu_energy_j", "per_gpu_max_sample_gap_s", "per_gpu_role",
                "selected_window", "benchmark_window"):
        faults += differences(key, bed.record[key], untouched.record[key])
    faults += differences("aggregate", bed.aggregate.read_bytes(), untouched.aggregate.read_bytes())
    checks.add(f"salvaged: {name}", faults)


def without(package, uuid, first, last):
    package.rows = [row for row in package.rows
                    if row[5] != uuid or not first < float(row[1]) < last]
    return package


def row_at(rows, unix_s, uuid="GPU-node-d-1"):
    return next(i for i, row in enumerate(rows) if row[1] == repr(unix_s) and row[5] == uuid)


def changed_at(unix_s, column, value):
    def change(rows):
        at = row_at(rows, unix_s)
        rows[at] = [*rows[at][:column], value, *rows[at][column + 1:]]
        return rows
    return change


def repeated_at(unix_s):
    return lambda rows: [*rows, list(rows[row_at(rows, unix_s)])]


def swapped_at(unix_s):
    def change(rows):
        a, b = row_at(rows, unix_s), row_at(rows, unix_s + 1)
        rows[a][1], rows[b][1] = rows[b][1], rows[a][1]
        return rows
    return change


def edited(change):
    return lambda bed: bed.lines(change)


def lenient(ground, checks):
    def stray(bed):
        (bed.windows / "notes.txt").write_text("hello")

    def malformed_sibling(bed):
        (bed.windows / SIBLING).write_text("{")

    def no_result(bed):
        (bed.logs / "cfg" / SIBLING).unlink()

    def check(name, tamper, counts, make=siblings, reasons=None):
        is_salvaged(ground, checks, name, make, counts, reasons or CHANGED, tamper=tamper)

    check("a stray file", stray, {"artifact_errors": 1, "measurement_window_malformed": 1})
    check("a stray file that the recorder told of", stray,
          {"measurement_window_malformed": 1, "publication_valid": 1},
          lambda: told(siblings(), artifact_errors=[
              {"path": "windows/notes.txt", "reason_codes": ["measurement_window_malformed"]}]),
          RECOMPUTE)
    check("a folder among the windows", lambda bed: (bed.windows / "old").mkdir(),
          {"artifact_errors": 1, "measurement_window_artifact_path_invalid": 1})
    check("a malformed sibling", malformed_sibling,
          {"artifact_errors": 1, "measurement_window_malformed": 1, "measurement_window_missing": 1,
           "window_validations": 1})
    check("no sibling", lambda bed: (bed.windows / SIBLING).unlink(),
          {"measurement_window_missing": 1, "window_validations": 1})
    check("a sibling with a path that leads out", lambda bed: edit_json(
        bed.windows / SIBLING, result_path=f"../{SIBLING}"),
        {"artifact_errors": 1, "measurement_window_missing": 1,
         "measurement_window_result_path_invalid": 1, "window_validations": 1})
    check("a failed sibling", lambda bed: edit_json(bed.windows / SIBLING, status="failed",
                                                    reason="why"),
          {"measurement_window_incomplete": 1, "window_validations": 1})
    check("a sibling without its result", no_result,
          {"measurement_window_result_missing": 1, "window_validations": 1})

    def torn(bed):
        bed.samples.write_bytes(bed.samples.read_bytes()[:-9])

    check("a torn last row far behind all windows", torn,
          {"malformed_sample_row": 1, "observed_devices": 1, "sample_row_count": 1},
          lambda: siblings(last=1170.0))

    def without_result():
        package = siblings()
        del package.results[f"cfg/{SIBLING}"]
        return told(package)

    check("a sibling without its result, which the recorder told of", None,
          {"measurement_window_result_missing": 1, "publication_valid": 1}, without_result,
          RECOMPUTE)
    check("a sibling with another result", lambda bed: edit_json(
        bed.logs / "cfg" / SIBLING, duration=1.0),
        {"measurement_window_result_mismatch": 1, "window_validations": 1})
    check("a sibling with a gap, and so a verdict of false", None,
          {"publication_valid": 1, "sample_gap_exceeded": 1},
          lambda: told(without(siblings(), "GPU-node-p-1", 1120, 1125)), RECOMPUTE)
    check("a sibling whose samples end early", None,
          {"measurement_window_not_bracketed": 1, "publication_valid": 1},
          lambda: told(without(siblings(), "GPU-node-p-1", 1120, 2000)), RECOMPUTE)
    rows(check)


def rows(check):
    check("a blank line", edited(lambda rows: [*rows[:400], [""], *rows[400:]]),
          {"blank_sample_row": 1})
    check("blank lines, also among the rows of this window",
          edited(lambda rows: [[""], *rows[:100], [""], *rows[100:], [""]]), {"blank_sample_row": 3})
    for unix_s in (1064.0, 996.0):
        check(f"a row at {unix_s} with a power that is none", edited(changed_at(unix_s, 6, "N/A")),
              {"malformed_sample_row": 1, "sample_row_count": 1})
    check("a row of the sibling with too few cells", edited(
        lambda rows: [row[:6] if row[1] == "1120.0" and row[5] == "GPU-node-d-1" else row
                      for row in rows]),
        {"malformed_sample_row": 1, "sample_row_count": 1, "window_validations": 1})
    # Of the rows, the recorder counted the good ones.
    check("a row that the recorder counted as bad, too", edited(changed_at(1080.0, 6, "N/A")),
          {"malformed_sample_row": 1, "publication_valid": 1},
          lambda: told(siblings(), sample_row_count=4 * 173 - 1), RECOMPUTE)
    check("a row twice", edited(repeated_at(1080.0)), {"duplicate_sample_row": 1})
    check("stamps in disorder", edited(swapped_at(1080.0)), {"timestamp_non_monotonic": 1})

    def many(bed):
        bed.lines(changed_at(1070.0, 6, ""))
        bed.lines(changed_at(1072.0, 0, "9"))
        bed.lines(repeated_at(1080.0))
        bed.lines(repeated_at(1081.0))
        bed.lines(lambda rows: [*rows, [""]])
        (bed.windows / "x").write_text("")

    check("all together", many,
          {"artifact_errors": 1, "blank_sample_row": 1, "duplicate_sample_row": 2,
           "malformed_sample_row": 2, "measurement_window_malformed": 1, "sample_row_count": 1})


def strict(ground, checks):
    """The same within this window, and what concerns all windows."""
    def check(name, tamper, failure, reasons=None, package=None):
        bed = ground.bed(package or siblings())
        if tamper:
            tamper(bed)
        checks.add(f"not salvaged: {name}", is_void(bed, reasons or CHANGED, [failure],
                                                    more=["--salvage"]))

    unbound = [*CHANGED, "window_for_result_missing"]
    check("this window is malformed", lambda bed: bed.window.write_text("{"),
          "measurement_window_malformed", unbound)
    check("this window failed", lambda bed: edit_json(bed.window, status="failed", reason="why"),
          "measurement_window_incomplete", unbound)
    check("this window's path leads out", lambda bed: edit_json(
        bed.window, result_path="../results_concurrency_4.json"),
        "measurement_window_result_path_invalid", unbound)
    check("this window without its result",
          lambda bed: (bed.logs / "cfg" / "results_concurrency_4.json").unlink(),
          "measurement_window_result_missing", [*CHANGED, "measurement_window_result_missing"])
    check("the folder of windows lies elsewhere", lambda bed: (
        bed.windows.rename(bed.logs / "windows"), bed.windows.symlink_to("../windows")),
        "measurement_window_artifact_path_invalid (windows)", unbound)
    check("this window is not expected", lambda bed: edit_json(
        bed.manifest, expected_windows=[{"benchmark_type": "sa-bench", "concurrency": 8}]),
        "measurement_window_unexpected (windows/results_concurrency_4.json)")
    check("this window is expected twice", lambda bed: edit_json(
        bed.manifest, expected_windows=[{"benchmark_type": "sa-bench", "concurrency": concurrency}
                                        for concurrency in (4, 8, 4)]),
        "expected_windows names a window twice")
    check("this window has a gap, and so a verdict of false", None,
          "sample_gap_exceeded (window sa-bench/4: node-p/1 has no samples for 7.000 s, at most 3 s)", RECOMPUTE,
          told(without(siblings(), "GPU-node-p-1", 1020, 1027)))
    check("this window is not covered", None, "measurement_window_not_bracketed", RECOMPUTE,
          told(without(siblings(), "GPU-node-p-1", 900, 1001)))
    for unix_s in (997.0, 1030.0, 1063.0):
        check(f"a row at {unix_s} with a power that is none", edited(changed_at(unix_s, 6, "N/A")),
              "samples_csv_malformed")
    check("a row without a time", edited(changed_at(1080.0, 1, "x")), "samples_csv_malformed")
    check("a row of blanks", edited(lambda rows: [*rows, ["  "]]), "samples_csv_malformed")
    check("a row twice", edited(repeated_at(1030.0)), "duplicate_sample_row")
    check("stamps in disorder", edited(swapped_at(1030.0)), "timestamp_non_monotonic")
    check("another header", lambda bed: bed.samples.write_bytes(
        b"x" + bed.samples.read_bytes()), "samples_csv_header_mismatch")
    check("bytes that are no text, behind which nothing is read",
          lambda bed: bed.samples.write_bytes(bed.samples.read_bytes().replace(
              b"1080.0,90,node-d,1,GPU", b"1080.0,90,node-d,1,\xff")), "sample_row_count is 692")
    check("rows are gone", lambda bed: bed.lines(lambda rows: [
        row for row in rows if row[1] != "1080.0"]), "sample_row_count")
    check("a GPU changed its UUID later", lambda bed: bed.lines(changed_at(1150.0, 5, "GPU-new")),
          "gpu_uuid_changed")
    check("the manifest", lambda bed: edit_json(bed.manifest, unit="kW"), "unit is")
    check("a verdict of false with nothing wrong",
          lambda bed: edit_json(bed.manifest, publication_valid=False), "publication_valid is false",
          ["producer_verdict_mismatch"])
    check("no verdict, and a stray file", lambda bed: (
        edit_json(bed.manifest, publication_valid=...),
        (bed.windows / "notes.txt").write_text("hello")), "publication_valid is null",
        ["producer_verdict_mismatch"])
    check("evidence on this window", lambda bed: edit_json(bed.manifest, window_validations=[]),
          "window_validations is not")
    check("evidence of devices", lambda bed: edit_json(bed.manifest, observed_devices=[]),
          "observed_devices is not")
    check("another producer", lambda bed: edit_json(bed.manifest, producer_git_commit="x"),
          "producer_git_commit", ["producer_commit_mismatch"])
    bed = ground.bed(siblings())
    (bed.windows / "notes.txt").write_text("hello")
    checks.add("not salvaged: the topology", is_void(
        bed, ["topology_env_mismatch"], ["found 2"], gpus=(4, 2), more=["--salvage"]))
    bed = ground.bed(siblings())
    checks.add("nothing to salvage", is_valid(bed, more=["--salvage"])
               + differences("salvaged", salvaged(bed), {}))


def scribbled(ground, checks):
    """Scribbles on what does not concern this window: it is void or has its old numbers."""
    dice = random.Random(41)
    untouched = ground.bed(siblings())
    untouched.run()
    bed = ground.bed(siblings())
    files = patching.contents(bed.folder)
    lines = files["LOGS/power/samples.csv"].split(b"\r\n")
    far = [i for i, line in enumerate(lines[1:-1], 1)
           if not 997 <= float(line.split(b",")[1]) <= 1063]

    def scribble(data):
        at, some = dice.randrange(len(data) + 1), dice.choice([
            b"", b"\x00", b"\xff", b'"', b",", b"\n", b"\r\n", b"-", b"9", b"e", b".", b"{", b"]"])
        return data[:at] + some + data[at + dice.randrange(3):]

    def scribble_rows():
        changed = list(lines)
        for _ in range(dice.randint(1, 3)):
            at = dice.choice(far)
            changed[at] = dice.choice([scribble, scribble, lambda line: line + b"\r\n" + line,
                                       lambda line: b""])(changed[at])
        (bed.power / "samples.csv").write_bytes(b"\r\n".join(changed))

    def scribble_sibling():
        path = dice.choice([bed.windows / SIBLING, bed.logs / "cfg" / SIBLING])
        path.write_bytes(scribble(path.read_bytes()))

    faults, valid, runs = [], 0, 600
    for number in range(runs):
        patching.restore(bed.folder, files)
        for _ in range(dice.randint(1, 2)):
            dice.choice([scribble_rows, scribble_rows, scribble_sibling])()
        done = bed.run("--salvage", "--require-power")
        record = bed.record
        valid += record["power_valid"]
        faults += differences("status", done.returncode, 0 if record["power_valid"] else 1)
        if record["power_valid"]:
            faults += [f"{number}: {fault}" for key in (
                "metrics", "per_gpu_energy_j", "per_gpu_role", "per_gpu_max_sample_gap_s")
                       for fault in differences(key, record[key], untouched.record[key])]
    if not runs // 5 < valid < runs:
        faults.append(f"{valid} of {runs} are valid")
    print(f"{valid} of {runs} scribbled packages are salvaged")
    checks.add("salvaged: scribbles elsewhere change no number", faults, runs)


# ---- The recorder's rules, then and now

def rules_of(bed):
    origin = bed.record["computed_from"]
    return origin["producer_rules"], origin["samples_version"]


def accepted(ground, checks, name, package, rules, version=1):
    bed = ground.bed(package)
    checks.add(f"rules: {name}", is_valid(bed) + differences("rules", rules_of(bed),
                                                             (rules, version)))


def refused(ground, checks, name, package, failure, reasons=None):
    bed = ground.bed(package)
    checks.add(f"rules: {name}", is_void(bed, reasons or CHANGED, [failure]))


def rules(ground, checks):
    accepted(ground, checks, "version 1", Package(), "pinned")
    accepted(ground, checks, "version 2", Package(version=2), "current", 2)
    refused(ground, checks, "version 2 in the rows alone", other_version(),
            "samples_csv_malformed")
    equal_stamps(ground, checks)
    no_suffix(ground, checks)
    third_duplicate(ground, checks)
    words_for_numbers(ground, checks)
    no_length(ground, checks)
    kept_gaps(ground, checks)
    shares(ground, checks)


def other_version():
    package = Package()
    for row in package.rows:
        row[0] = "2"
    return package


def still(version=1):
    """Scrape 32 has the stamps of scrape 31: a gap of 2 s is behind it."""
    package = siblings(version=version)
    stamps = {row[3]: row[1] for row in package.rows if row[2] == "31"}
    for row in package.rows:
        if row[2] == "32":
            row[1] = stamps[row[3]]
    return package


def equal_stamps(ground, checks):
    if is_october():  # what reads packages now refuses them, whoever wrote them
        for version in (1, 2):
            refused(ground, checks, f"equal stamps in version {version}", still(version),
                    "timestamp_non_monotonic")
    else:
        accepted(ground, checks, "equal stamps are the rules of today", still(), "current")
        accepted(ground, checks, "equal stamps in version 2", still(2), "current", 2)
        bed = ground.bed(still())
        (bed.windows / "notes.txt").write_text("hello")
        checks.add("rules: equal stamps, and a stray file to salvage", is_void(bed, CHANGED)
                   + is_valid(bed, more=["--salvage"])
                   + differences("rules", rules_of(bed), ("current", 1)))
    # Without the option the verdict is the one of old.
    bed = ground.bed(Package())
    shutil.copy(bed.window, bed.windows / "results_concurrency_4")
    checks.add("rules: a second window without a suffix", is_void(
        bed, [*CHANGED, "window_for_result_missing"]) + differences(
        "rules", rules_of(bed), ("pinned", 1)) + is_valid(bed, more=["--salvage"]) + differences(
        "salvaged", (rules_of(bed), salvaged(bed)), (("current", 1), {
            "artifact_errors": 1, "measurement_window_artifact_path_invalid": 1})))
    package = still()
    package.windows["results_concurrency_4.json"]["schema_version"] = 1.0
    refused(ground, checks, "equal stamps with what was allowed then", package,
            "timestamp_non_monotonic")
    for version in (1, 2):
        package = siblings(version=version)
        at = row_at(package.rows, 1030.0)
        package.rows[at][1] = "1028.5"
        refused(ground, checks, f"a stamp that turns back, version {version}", package,
                "timestamp_non_monotonic")


def no_suffix(ground, checks):
    def renamed(version):
        package = Package(version=version)
        window = package.windows.pop("results_concurrency_4.json")
        validations = [package.validation(package.loads[0])]
        package.windows["results_concurrency_4"] = window
        gaps = {f"{gpu.host}/{gpu.uuid}": 1.0 for gpu in package.gpus}
        package.changes["window_validations"] = [validations[0] | {
            "window_file": "windows/results_concurrency_4", "power_coverage_valid": True,
            "reason_codes": [], "per_device_max_sample_gap_seconds": gaps}]
        return package

    accepted(ground, checks, "a window without a suffix was allowed then", renamed(1), "pinned")
    refused(ground, checks, "a window without a suffix is none today", renamed(2),
            "measurement_window_artifact_path_invalid (windows/results_concurrency_4)",
            [*CHANGED, "window_for_result_missing"])


def third_duplicate(ground, checks):
    """Three windows of the sibling's load: then the first was named each time."""
    def tripled(version, names):
        package = siblings(version=version)
        validations = [package.validation(load) for load in package.loads]
        validations[1] |= {"window_file": None, "power_coverage_valid": False,
                           "reason_codes": ["measurement_window_duplicate"],
                           "per_device_max_sample_gap_seconds": {}}
        for stem in ("s1", "s2"):
            package.windows[f"{stem}.json"] = package.windows[SIBLING] | {
                "result_path": f"cfg/{stem}.json"}
        return told(package, window_validations=validations, artifact_errors=[
            {"path": f"windows/{name}", "reason_codes": ["measurement_window_duplicate"]}
            for name in names])

    then = [SIBLING, "s1.json", SIBLING, "s2.json"]
    today = [SIBLING, "s1.json", "s2.json"]
    for version, names, counts in (
            (1, then, {"measurement_window_duplicate": 5, "publication_valid": 1}),
            (2, today, {"measurement_window_duplicate": 4, "publication_valid": 1}),
            (1, today, {"artifact_errors": 1, "measurement_window_duplicate": 5,
                        "publication_valid": 1}),
            (2, then, {"artifact_errors": 1, "measurement_window_duplicate": 4,
                       "publication_valid": 1})):
        bed = ground.bed(tripled(version, names))
        checks.add(f"rules: a third duplicate, version {version}, {len(names)} errors",
                   is_void(bed, RECOMPUTE) + is_valid(bed, more=["--salvage"])
                   + differences("salvaged", salvaged(bed), counts))


def words_for_numbers(ground, checks):
    def of_one(version):
        package = Package(loads=[Load(1, 1000.0, 1060.0)], version=version)
        package.windows["results_concurrency_1.json"]["concurrency"] = True
        return package

    accepted(ground, checks, "a concurrency of true was 1 then", of_one(1), "pinned")
    refused(ground, checks, "a concurrency of true is none today", of_one(2),
            "measurement_window_malformed", [*CHANGED, "window_for_result_missing"])
    for value in (1.0, True):
        for version in (1, 2):
            package = Package(version=version)
            package.windows["results_concurrency_4.json"]["schema_version"] = value
            if version == 1:
                accepted(ground, checks, f"a window of version {value} was allowed then", package,
                         "pinned")
            else:
                refused(ground, checks, f"a window of version {value} is none today", package,
                        "measurement_window_malformed", [*CHANGED, "window_for_result_missing"])


def no_length(ground, checks):
    """A sibling that starts and ends at once, and says that it took 0.4 s."""
    def instant(version):
        package = Package(loads=[Load(4, 1000.0, 1060.0), Load(8, 1100.0, 1100.0)],
                          version=version)
        for part in (package.windows[SIBLING], package.results[f"cfg/{SIBLING}"]):
            part["duration"] = 0.4
        return package

    accepted(ground, checks, "a sibling of no length was allowed then", instant(1), "pinned")
    refused(ground, checks, "a sibling of no length is none today", instant(2),
            "measurement_window_result_mismatch (window sa-bench/8)")


def kept_gaps(ground, checks):
    """The gaps of a sibling that is not covered: then thrown away, today kept."""
    for version, rules, counts in (
            (1, "pinned", {"publication_valid": 1, "sample_gap_exceeded": 1}),
            (2, "current", {"publication_valid": 1, "sample_gap_exceeded": 1}),
            (2, "pinned", {"publication_valid": 1, "sample_gap_exceeded": 1,
                           "window_validations": 1}),
            (1, "current", {"publication_valid": 1, "sample_gap_exceeded": 1,
                            "window_validations": 1})):
        if is_october():  # either form is what was found
            counts.pop("window_validations", None)
        package = told(without(siblings(version=version, rules=rules), "GPU-node-p-1", 1120, 1125))
        bed = ground.bed(package)
        checks.add(f"rules: gaps, version {version}, written by the {rules} rules",
                   is_void(bed, RECOMPUTE) + is_valid(bed, more=["--salvage"])
                   + differences("salvaged", salvaged(bed), counts))


def shares(ground, checks):
    """The cells that version 2 adds may be blank; a number is a share."""
    for column, good, bad in ((7, ["", "0", "100", "55.5", "1e1"], ["-1", "100.1", "nan", "x", "inf"]),
                              (8, ["", "0", "1", "0.5"], ["-0.1", "1.01", "nan", "x"])):
        for value in good + bad:
            package = Package(version=2)
            package.rows[100][column] = value
            if value in good:
                accepted(ground, checks, f"version 2, cell {column} {value!r}", package, "current", 2)
            else:
                refused(ground, checks, f"version 2, cell {column} {value!r}", package,
                        "samples_csv_malformed")


TESTS = [lenient, strict, scribbled, rules]

if __name__ == "__main__":
    sys.exit(main(TESTS, sys.argv[1:]))
