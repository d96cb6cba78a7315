#!/usr/bin/env python3
"""Small stores, each with one thing that a backfill must not get wrong.

usage: tests/backfill/cases_test.py   with $AGGREGATE_POWER
"""
import fcntl
import gzip
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import zipfile

import judging  # noqa: F401  (finds the helpers of the other tests)
import patching
from judging import read_report
from package_builder import PIN, AgenticLoad, Load, Package

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("AGGREGATE_POWER") or str(ROOT / "build" / "aggregate-power")
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "TZ": "UTC"}
START = 1767225600
NOBODY = 65534


def program(*arguments, env=None, **options):
    return subprocess.run([PROGRAM, *map(str, arguments)], env=env or ENVIRONMENT, capture_output=True, text=True,
                          timeout=120, **options)


def make_run(folder, name, watts=500, start=START, zone="UTC", schema="amd-smi", parts=("csv", "raw", "agg")):
    """A run of one GPU: 20 s at 100 W, 30 s at so many watts, 20 s at 100 W."""
    folder.mkdir(parents=True, exist_ok=True)
    outputs = {"csv": ["--out", folder / "gpu_metrics.csv"], "raw": ["--bench-out", folder / f"{name}.json"],
               "agg": ["--agg-out", folder / f"agg_{name}.json"]}
    wanted = [str(word) for part in parts for word in outputs[part]]
    if "csv" not in parts:
        wanted += ["--out", os.devnull]
    done = program("synthesize", "--schema", schema, "--gpus", "1", "--phase", "20:100", "--phase", f"30:{watts}",
                   "--phase", "20:100", "--benchmark-phase", "2", "--start", start, "--timezone", zone, *wanted)
    assert done.returncode == 0, done.stderr


def outcomes(*arguments, report, **options):
    """Exit status and, by run, the sorted outcomes."""
    done = program("backfill", *arguments, "--report", report, **options)
    found = {}
    for line in read_report(report) if report.exists() else []:
        found.setdefault(line["run"], []).append(line["outcome"])
    return done, {run: sorted(lines) for run, lines in found.items()}


def zip_of(archive, folder):
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(folder.rglob("*")):
            file.write(path, path.relative_to(folder))


def same(checks, what, wanted, found):
    checks.add(what, [] if wanted == found else [f"expected {wanted}, got {found}"])


def several_runs_in_one_artifact(root, checks):
    made = root / "made"
    for i in range(8):
        make_run(made / f"job{i}", f"q{i}")
    store = root / "store"
    store.mkdir()
    zip_of(store / "bmk_collection.zip", made)
    wanted = {f"q{i}": ["patched"] for i in range(8)}
    _, whole = outcomes(store, "--output", root / "whole", report=root / "whole.jsonl")
    same(checks, "several runs in one artifact: all", wanted, whole)
    shards = {}
    for i in range(4):
        shards.update(outcomes(store, "--output", root / "parts", "--shard", f"{i}/4",
                               report=root / f"{i}.jsonl")[1])
    same(checks, "several runs in one artifact: by four shards", wanted, shards)


def a_far_result_that_does_not_fit(root, checks):
    """Valid numbers are not taken away because a file elsewhere has the same name."""
    store = root / "store"
    make_run(store / "b", "x")
    program("backfill", store)
    before = (store / "b" / "agg_x.json").read_bytes()
    assert json.loads(before)["power_valid"] == 1
    (store / "b" / "x.json").unlink()
    make_run(store / "a", "x", start=START + 86400, parts=("raw",))
    _, found = outcomes(store, report=root / "report.jsonl")
    same(checks, "a far result that does not fit", {"x": ["ambiguous"]}, found)
    same(checks, "the aggregate of the run", before, (store / "b" / "agg_x.json").read_bytes())


def a_monitor_that_died(root, checks):
    """The window is from 20 to 50 s. The one recording and the one result of the run's name belong to it."""
    make_run(root / "made", "x", schema="generic")
    csv = (root / "made" / "gpu_metrics.csv").read_text().splitlines(keepends=True)
    until = lambda seconds: "".join([csv[0], *(line for line in csv[1:] if float(line.split(",")[0]) <= START + seconds)])
    make_run(root / "later", "x", start=START + 86400)

    def store_of(name, seconds=40, raw="raw/x.json", more=()):
        """`more` are further files of the store, with what they hold."""
        store = root / name
        put(store / "bmk_x" / "agg_x.json", (root / "made" / "agg_x.json").read_text())
        put(store / "gpu_metrics_x" / "gpu_metrics.csv", until(seconds))
        put(store / raw, (root / "made" / "x.json").read_text())
        for path, text in more:
            put(store / path, text)
        return store

    def found_in(store, *options):
        lines = lines_of(store, root / "report.jsonl", *options)["x"]
        line, = (line for line in lines if line["aggregate"].startswith(f"{store}/bmk_x"))
        return line["outcome"], line["reasons"]

    raw, later = ((root / name / "x.json").read_text() for name in ("made", "later"))
    row = (root / "made" / "agg_x.json").read_text()
    cut = ("not_valid", ["benchmark_window_not_bracketed"])
    for name, seconds, wanted in (("in the window", 40, cut), ("before it", 10, ("not_valid", ["no_usable_power_samples"])),
                                  ("at once", -1, ("not_valid", ["no_usable_power_samples"]))):
        store = store_of(name, seconds)
        same(checks, f"a monitor that died {name}", wanted, found_in(store))
        same(checks, f"its aggregate, {name}", 0, json.loads((store / "bmk_x" / "agg_x.json").read_text())["power_valid"])
        record = json.loads((store / "bmk_x" / "power_validation_x.json").read_text())
        same(checks, f"its record, {name}", ("../gpu_metrics_x/gpu_metrics.csv", "../raw/x.json", wanted[1]),
             (record["telemetry_source"], record["benchmark_result"], record["reasons"]))
        same(checks, f"a second time, {name}", ("unchanged", wanted[1]), found_in(store))
    same(checks, "with the result above", cut, found_in(store_of("above", raw="x.json")))
    same(checks, "with a copy of the result", cut, found_in(store_of("copy", more=[("again/x.json", raw)])))
    store = store_of("archives")
    for artifact in ("bmk_x", "gpu_metrics_x"):
        zip_of(store / f"{artifact}.zip", store / artifact)
        shutil.rmtree(store / artifact)
    same(checks, "in archives", cut, found_in(store, "--output", root / "out"))

    ambiguous = ("ambiguous", ["pairing_ambiguous"])
    for name, more in (("two results", [("again/x.json", later)]),
                       ("two recordings", [("again/gpu_metrics_x/gpu_metrics.csv", until(30))]),
                       ("two runs", [("again/bmk_x/agg_x.json", row)]), ("a result of another run", [("raw/agg_x.json", row)]),
                       ("a result above and another one", [("x.json", later)])):
        store = store_of(name, more=more)
        same(checks, name, ambiguous, found_in(store))
        same(checks, f"the run, with {name}", {"agg_x.json": row.encode()}, patching.contents(store / "bmk_x"))
    store = store_of("no name")
    (store / "gpu_metrics_x" / "gpu_metrics.csv").rename(store / "bmk_x" / "gpu_metrics.csv")
    same(checks, "a recording without the run's name", ambiguous, found_in(store))


def telemetry_that_expands_to_nothing(root, checks):
    store = root / "store"
    zstd_of_nothing = b"\x28\xb5\x2f\xfd\x24\0\x01\0\0\x99\xe9\xd8\x51"  # printf '' | zstd
    for name, end, data in (("gz", ".gz", gzip.compress(b"")), ("zst", ".zst", zstd_of_nothing), ("none", ".gz", b""),
                            ("zip", ".gz", gzip.compress(b""))):
        make_run(store / f"power_audit_{name}", name, parts=("raw", "agg"))
        (store / f"power_audit_{name}" / f"gpu_metrics.csv{end}").write_bytes(data)
    zip_of(store / "power_audit_zip.zip", store / "power_audit_zip")
    shutil.rmtree(store / "power_audit_zip")
    found = lines_of(store, root / "report.jsonl", "--output", root / "out")
    for name in ("gz", "zst", "none", "zip"):
        same(checks, name, [("not_valid", ["telemetry_file_empty"])],
             [(line["outcome"], line["reasons"]) for line in found[name]])


def a_result_that_is_anothers(root, checks):
    store = root / "store"
    make_run(store / "n1", "y", watts=300, parts=("csv", "agg"))
    make_run(store / "n2", "y", watts=600)
    _, found = outcomes(store, report=root / "report.jsonl")
    same(checks, "a result with an aggregate of its own", {"y": ["ambiguous", "patched"]}, found)


def output_in_the_store(root, checks):
    store = root / "store"
    make_run(store / "r", "r")
    for output in (store, store / "r" / "out", store / "new" / "out"):
        done = program("backfill", store, "--output", output)
        same(checks, f"--output {output.relative_to(root)}", 2, done.returncode)
        checks.add("its message", [] if "is inside the store" in done.stderr else [done.stderr])
    same(checks, "what is in the store", ["agg_r.json", "gpu_metrics.csv", "r.json"],
         sorted(path.name for path in store.rglob("*") if path.is_file()))


def stores_named_by_dots(root, checks):
    make_run(root / "t" / "k" / "inner", "r1")
    make_run(root / "t" / "other", "r2")
    output = root / "out"
    done = program("backfill", ".", "../../other", "--output", output, cwd=root / "t" / "k" / "inner")
    same(checks, "stores named by dots", 0, done.returncode)
    same(checks, "where their results are", ["inner/agg_r1.json", "other/agg_r2.json"],
         sorted(str(path.relative_to(output)) for path in output.rglob("agg_*")))


def stores_that_overlap(root, checks):
    """Each run is done once, however often its store is named; the outer store's path is its own."""
    store = root / "store"
    make_run(store / "sub" / "power_audit_r", "r")
    make_run(store / "power_audit_s", "s")
    make_run(root / "zipped", "z")
    zip_of(store / "power_audit_z.zip", root / "zipped")
    (root / "link").symlink_to("store")
    archive = store / "power_audit_z.zip"
    wanted = {"r": ["patched"], "s": ["patched"], "z": ["patched"]}
    for what, names in (("twice", (store, store)), ("by two names", (store, root / "link", "store")),
                        ("and in itself", (store / "sub", store, store / "sub" / "power_audit_r")),
                        ("and its archive", (archive, store, archive))):
        output = root / f"out {what}"
        _, found = outcomes(*names, "--output", output, report=root / f"{what}.jsonl", cwd=root)
        same(checks, f"a store {what}", wanted, found)
        same(checks, f"where its results are, {what}",
             ["power_audit_s/agg_s.json", "power_audit_z.zip/agg_z.json", "sub/power_audit_r/agg_r.json"],
             sorted(str(path.relative_to(output)) for path in output.rglob("agg_*")))
    _, found = outcomes(archive, archive, "--output", root / "archives", report=root / "archive.jsonl")
    same(checks, "an archive twice", {"z": ["patched"]}, found)
    _, found = outcomes(store / "sub", root / "link", store, report=root / "in place.jsonl")
    same(checks, "in place", wanted | {"z": ["not_writable"]}, found)
    other = root / "other"
    make_run(other / "power_audit_o", "o")
    output = root / "two"
    outcomes(store / "sub", store, other, "--output", output, report=root / "two.jsonl")
    same(checks, "with another store", ["other/power_audit_o/agg_o.json", "store/power_audit_s/agg_s.json",
                                        "store/power_audit_z.zip/agg_z.json", "store/sub/power_audit_r/agg_r.json"],
         sorted(str(path.relative_to(output)) for path in output.rglob("agg_*")))
    for name in ("missing", "sub/power_audit_r/r.json"):
        done = program("backfill", store, store / name)
        same(checks, f"no store in a store: {name}", 2, done.returncode)


def empty_names(root, checks):
    make_run(root / "store", "r")
    for words in (("",), ("store", "--output", ""), ("store", "--report", ""), ("store", "--only", "")):
        same(checks, f"backfill {words}", 2, program("backfill", *words, cwd=root).returncode)
    same(checks, "the run is untouched", False, (root / "store" / "power_validation_r.json").exists())


def few_descriptors(root, checks):
    store = root / "store"
    make_run(root / "one", "r")
    for i in range(200):
        folder = store / f"power_audit_r{i}"
        folder.mkdir(parents=True)
        (folder / "gpu_metrics.csv").symlink_to(root / "one" / "gpu_metrics.csv")
        (folder / f"r{i}.json").symlink_to(root / "one" / "r.json")
        (folder / f"agg_r{i}.json").write_text('{"tp": 1}')
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))
    done, found = outcomes(store, "--jobs", "8", "--follow-links", report=root / "report.jsonl", preexec_fn=limit)
    same(checks, "few descriptors", {f"r{i}": ["patched"] for i in range(200)}, found)
    same(checks, "few descriptors: exit status", 0, done.returncode)


def no_room_for_the_list(root, checks):
    make_run(root / "store", "r")
    done = program("backfill", root / "store", env={**ENVIRONMENT, "TMPDIR": "/nonexistent"})
    same(checks, "no TMPDIR", 2, done.returncode)
    checks.add("its message", [] if "$TMPDIR" in done.stderr else [done.stderr])


def a_record_that_is_a_link_to_an_input(root, checks):
    store = root / "store"
    make_run(store, "r")
    before = (store / "r.json").read_bytes()
    (store / "power_validation_r.json").symlink_to("r.json")
    _, found = outcomes(store, report=root / "report.jsonl")
    same(checks, "a record that is a link to an input", {"r": ["failed"]}, found)
    same(checks, "the input", before, (store / "r.json").read_bytes())


def links_out_of_the_store(root, checks):
    """Nothing is written where they lead; links within the store, and to it, are followed."""
    store = root / "store"
    for name in ("record", "aggregate", "free", "within", "plain"):
        make_run(store / f"power_audit_{name}", name)
    precious = put(root / "precious.txt", "precious")
    (store / "power_audit_record" / "power_validation_record.json").symlink_to("../../precious.txt")
    (store / "power_audit_free" / "power_validation_free.json").symlink_to(root / "free.json")
    aggregate = store / "power_audit_aggregate" / "agg_aggregate.json"
    aggregate.rename(root / "agg.json")
    aggregate.symlink_to(root / "agg.json")
    (store / "records").mkdir()
    (store / "power_audit_within" / "power_validation_within.json").symlink_to("../records/within.json")
    (root / "link").symlink_to("store")
    before = patching.contents(root)
    wanted = {"aggregate": ("not_writable", ["aggregate_result_unwritable"])}
    wanted |= {name: ("not_writable", ["validation_result_unwritable"]) for name in ("record", "free")}
    wanted |= {name: ("patched", []) for name in ("within", "plain")}
    for options in (("--dry-run",), ()):
        found = lines_of(root / "link", root / "report.jsonl", *options)
        (root / "report.jsonl").unlink()
        for name, line in wanted.items():
            same(checks, f"{name}, {options}", [line], [(one["outcome"], one["reasons"]) for one in found[name]])
        for name, link, target in (("record", "power_validation_record.json", precious),
                                   ("free", "power_validation_free.json", root / "free.json"),
                                   ("aggregate", "agg_aggregate.json", root / "agg.json")):
            place = f"{root}/link/power_audit_{name}/{link}: leads out of {root}/link, to {target}"
            checks.add(f"{name}: link and target, {options}",
                       [] if place in found[name][0]["details"] else [found[name][0]["details"]])
        changed = {path for path, data in patching.contents(root).items() if before.get(path) != data}
        same(checks, f"what was written, {options}", set() if options else {
            "store/records/within.json", "store/power_audit_within/agg_within.json",
            "store/power_audit_plain/agg_plain.json", "store/power_audit_plain/power_validation_plain.json"}, changed)
    same(checks, "a second time", [("unchanged", [])] * 2, [
        (line["outcome"], line["reasons"]) for name in ("within", "plain")
        for line in lines_of(store, root / "again.jsonl")[name]])


def links_out_of_the_output(root, checks):
    store, output = root / "store", root / "out"
    make_run(store / "power_audit_r", "r")
    make_run(store / "power_audit_s", "s")
    (root / "elsewhere").mkdir()
    output.mkdir()
    (output / "power_audit_r").symlink_to("../elsewhere")
    put(output / "power_audit_s" / "old.json", "{}").rename(root / "precious")
    (output / "power_audit_s" / "power_validation_s.json").symlink_to("../../precious")
    found = lines_of(store, root / "report.jsonl", "--output", output)
    for name in "rs":
        same(checks, f"{name}", ["not_writable"], [line["outcome"] for line in found[name]])
    same(checks, "a folder out of it", [], list((root / "elsewhere").iterdir()))
    same(checks, "a file out of it", "{}", (root / "precious").read_text())
    (output / "power_audit_r").unlink()
    (output / "power_audit_r").symlink_to("deeper")
    (output / "deeper").mkdir()
    found = lines_of(store, root / "report.jsonl", "--output", output)
    same(checks, "a folder in it", ["patched"], [line["outcome"] for line in found["r"]])
    same(checks, "what is there", ["agg_r.json", "power_validation_r.json"],
         sorted(path.name for path in (output / "deeper").iterdir()))


def temporaries_where_all_is_done(root, checks):
    """What a killed run left goes though there is nothing to write; what a living one holds stays."""
    store = root / "store"
    make_run(store / "power_audit_r", "r")
    program("backfill", store)
    stale = put(store / "power_audit_r" / ".agg_r.json.abcdefgh.aggregate-power.tmp", "{")
    for options in (("--dry-run",), ("--output", root / "out")):
        program("backfill", store, *options)
        same(checks, f"a temporary, with {options[0]}", True, stale.exists())
    with open(stale) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        program("backfill", store)
        same(checks, "a temporary of a living run", True, stale.exists())
    _, found = outcomes(store, report=root / "report.jsonl")
    same(checks, "a temporary of a killed run", ({"r": ["unchanged"]}, False), (found, stale.exists()))


def required_power(root, checks):
    store = root / "store"
    make_run(store / "good", "r")
    same(checks, "required power that is there", 0, program("backfill", store, "--require-power").returncode)
    make_run(store / "bare", "s", parts=("agg",))
    same(checks, "required power that is not there", 1,
         program("backfill", store, "--require-power").returncode)
    same(checks, "required by the environment", 1,
         program("backfill", store, env={**ENVIRONMENT, "REQUIRE_POWER": "1"}).returncode)
    same(checks, "not required", 0, program("backfill", store).returncode)


def the_offsets_that_remain(root, checks):
    store = root / "store"
    make_run(store, "r", watts=100, zone="+09:00", schema="nvidia-smi")
    done, found = outcomes(store, report=root / "report.jsonl")
    same(checks, "no edges", {"r": ["ambiguous"]}, found)
    details = read_report(root / "report.jsonl")[0]["details"]
    for where, text in (("report", details), ("message", done.stderr)):
        checks.add(f"the offset in the {where}", [] if "+09:00" in text else [text])
    done = program("backfill", store, "--timezone", "+09:00")
    same(checks, "with the zone given", 1, json.loads((store / "agg_r.json").read_text())["power_valid"])


def a_longer_gap(root, checks):
    store = root / "store"
    make_run(store, "r")
    lines = (store / "gpu_metrics.csv").read_text().splitlines(keepends=True)
    (store / "gpu_metrics.csv").write_text("".join(line for i, line in enumerate(lines) if not 30 < i / len(lines) * 70 < 37))
    _, found = outcomes(store, report=root / "1.jsonl")
    same(checks, "a gap of 7 s", {"r": ["not_valid"]}, found)
    _, found = outcomes(store, "--max-sample-gap", "10", report=root / "2.jsonl")
    same(checks, "a gap of 7 s that is allowed", {"r": ["patched"]}, found)


def an_agentic_run(root, checks):
    """2 GPUs at 400 W for 10 s; the profile stands for the raw result, so its files are inputs too."""
    store = root / "store"
    results = store / "agentic_r" / "results"
    aggregate = store / "bmk_agentic_r" / "r.json"
    shutil.copytree(ROOT / "testdata" / "agentic" / "results", results)
    aggregate.parent.mkdir()
    aggregate.write_text('{"tp": 2}')
    record = lambda: json.loads((aggregate.parent / "power_validation_r.json").read_text())
    passes = iter(range(100))
    outcome = lambda *options: outcomes(store, *options, report=root / f"{next(passes)}.jsonl")[1]["r"]

    same(checks, "an agentic run", ["patched"], outcome())
    same(checks, "its energy", 8000.0, json.loads(aggregate.read_text())["total_gpu_energy_j"])
    same(checks, "its failed request", {"count": 1, "energy_share_j": 1600.0,
                                        "method": "power_shared_equally_by_requests_in_flight"}, record()["failed_requests"])
    same(checks, "its window's source", "aiperf_profile_lifecycle", record()["computed_from"]["window_source"])
    same(checks, "the profile is its result", "../agentic_r/results/aiperf_artifacts/profile_export.jsonl",
         record()["benchmark_result"])
    same(checks, "no window is written", False, (results / "agentic_power_window.json").exists())
    same(checks, "a second time", ["unchanged"], outcome())

    profile = results / "aiperf_artifacts"
    summary = profile / "profile_export_aiperf.json"
    summary.write_text(summary.read_text().replace("09:20:10", "09:20:08"))
    same(checks, "with another summary", ["patched"], outcome())
    same(checks, "its energy then", 6400.0, json.loads(aggregate.read_text())["total_gpu_energy_j"])
    same(checks, "a second time", ["unchanged"], outcome("--verify"))
    records = profile / "profile_export.jsonl"
    records.write_text(records.read_text().replace('"value": 340', '"value": 440'))
    same(checks, "with other records", ["patched"], outcome("--verify"))
    same(checks, "their energy per token", 8.0, json.loads(aggregate.read_text())["joules_per_output_token"])

    # Where AIPerf puts the exports of its runs by default.
    default = results / "artifacts" / "llama-concurrency2"
    default.parent.mkdir()
    profile.rename(default)
    same(checks, "in AIPerf's default folder", ["patched"], outcome())
    same(checks, "the profile there", "../agentic_r/results/artifacts/llama-concurrency2/profile_export.jsonl",
         record()["benchmark_result"])
    same(checks, "the same energy", 6400.0, json.loads(aggregate.read_text())["total_gpu_energy_j"])
    shutil.copytree(default, default.parent / "llama-concurrency4")
    other = default.parent / "llama-concurrency4" / "profile_export.jsonl"
    other.write_text(other.read_text().replace('"value": 440', '"value": 540'))
    same(checks, "which of two is not known", ["ambiguous"], outcome())
    shutil.rmtree(default.parent / "llama-concurrency4")
    default.rename(profile)
    same(checks, "back", ["patched"], outcome())

    # The recorder's stamps are in the captured zone wherever the recording lies.
    (store / "gpu_metrics_r").mkdir()
    (results / "gpu_metrics.csv").rename(store / "gpu_metrics_r" / "gpu_metrics.csv")
    same(checks, "with the telemetry in an artifact of its own", ["patched"], outcome())
    same(checks, "its zone", ("+02:00", "file"), tuple(
        record()["computed_from"][key] for key in ("utc_offset", "timezone_source")))
    same(checks, "a second time", ["unchanged"], outcome())
    zone = results / "agentic_power_timezone_offset.txt"
    zone.write_text("+0300\n")
    before = aggregate.read_bytes()
    same(checks, "with a zone that the requests contradict", ["not_recomputable"], outcome())
    same(checks, "also with the telemetry's zone given", ["not_recomputable"], outcome("--timezone", "+02:00"))
    same(checks, "the aggregate stays", before, aggregate.read_bytes())
    zone.unlink()
    # The requests show the profile's zone, the telemetry's edges alone not enough of its own.
    same(checks, "without the zone", ["ambiguous"], outcome())
    same(checks, "the aggregate stays then too", before, aggregate.read_bytes())
    same(checks, "with the telemetry's zone given", ["patched"], outcome("--timezone", "+02:00"))
    same(checks, "its energy is the same", 6400.0, json.loads(aggregate.read_text())["total_gpu_energy_j"])
    same(checks, "a second time", ["unchanged"], outcome("--timezone", "+02:00"))
    same(checks, "another zone moves the telemetry alone", ["not_valid"], outcome("--timezone", "UTC"))
    same(checks, "the window stays", 1788852000.0, record()["benchmark_window"]["start_time_unix"])
    zone.write_text("+0200\n")
    same(checks, "a zone file that came later", ["patched"], outcome("--timezone", "+02:00"))


def a_package(root, checks):
    """Two prefill GPUs at 400 W, two decode GPUs at 300 W for 10 s; its aggregate lies in bmk_R."""
    store = root / "store"
    audit, aggregate = store / "power_audit_r", store / "bmk_r" / "agg_r_cfg_conc4_gpus_4_ctx_2_gen_2.json"
    shutil.copytree(ROOT / "testdata" / "package" / "LOGS", audit / "LOGS")
    shutil.copy(ROOT / "testdata" / "package" / "run.json", audit / "r_cfg_conc4_gpus_4_ctx_2_gen_2.json")
    aggregate.parent.mkdir()
    aggregate.write_text('{"hw": "gb200"}')
    record = lambda: json.loads((aggregate.parent / f"power_validation_{aggregate.stem[4:]}.json").read_text())
    passes = iter(range(100))

    def outcome(*options):
        status, found = outcomes(store, *options, report=root / f"{next(passes)}.jsonl")
        same(checks, "no other run is seen", [aggregate.stem[4:]], sorted(found))
        return found[aggregate.stem[4:]]

    same(checks, "a package", ["patched"], outcome("--require-power"))
    row = json.loads(aggregate.read_text())
    same(checks, "its energies", (14000.0, 8000.0, 6000.0, 4000.0), tuple(row[key] for key in (
        "total_gpu_energy_j", "prefill_gpu_energy_j", "decode_gpu_energy_j", "total_cpu_energy_j")))
    same(checks, "who is trusted", "package", record()["computed_from"]["producer_pin"])
    same(checks, "a second time", ["unchanged"], outcome())
    same(checks, "with options that are not for packages", ["unchanged"],
         outcome("--max-sample-gap", "50", "--timezone", "Asia/Tokyo", "--expected-num-gpus", "9"))
    stray = audit / "LOGS" / "power" / "windows" / "stray"
    stray.symlink_to("nowhere")
    same(checks, "with a link among the windows", ["not_valid"], outcome("--verify"))
    stray.unlink()
    same(checks, "without it", ["patched"], outcome())
    shutil.rmtree(audit / "LOGS" / "power" / "cpu")
    same(checks, "without its CPUs", ["patched"], outcome())
    same(checks, "they are not claimed", [], [key for key in json.loads(aggregate.read_text()) if "cpu" in key])
    pin = audit / "LOGS" / "power" / "power-producer-sha.txt"
    sha = pin.read_text().strip()
    pin.unlink()
    same(checks, "without a pin", ["not_valid"], outcome())
    same(checks, "its reason", ["producer_pin_missing"], record()["reasons"])
    same(checks, "with the pin given", ["patched"], outcome("--expected-producer-sha", sha))
    same(checks, "who is trusted then", "option", record()["computed_from"]["producer_pin"])
    with open(audit / "LOGS" / "power" / "samples.csv", "ab") as samples:
        samples.write(b"\r\n")
    same(checks, "with a blank line", ["not_valid"], outcome("--expected-producer-sha", sha))
    same(checks, "salvaged", ["patched"], outcome("--expected-producer-sha", sha, "--salvage"))


def loads_of_agents(root, checks):
    """1400 W, in a load of concurrency 4 for 40 s and in one of 16 for 30 s."""
    store = root / "store"
    audit, bmk = store / "power_audit_r", store / "bmk_agentic_r"
    made = root / "made"
    Package(loads=[AgenticLoad(4, 1000.0, 1040.0), AgenticLoad(16, 1050.0, 1080.0)]).write(made)
    store.mkdir()
    (made / "LOGS" / "power" / "power-producer-sha.txt").write_text(PIN + "\n")
    audit.mkdir()
    (made / "LOGS").rename(audit / "LOGS")
    logs = audit / "LOGS"
    bmk.mkdir()
    for load in ("4", "16"):
        (bmk / f"r_conc{load}.json").write_text('{"disagg": true, "num_prefill_gpu": 2, "num_decode_gpu": 2}')
    row = lambda load: json.loads((bmk / f"r_conc{load}.json").read_text())
    record = lambda load: json.loads((bmk / f"power_validation_r_conc{load}.json").read_text())
    passes = iter(range(100))

    def outcome(*options, sixteen="unchanged"):
        _, found = outcomes(store, *options, report=root / f"{next(passes)}.jsonl")
        same(checks, "the other load", ["r_conc16", "r_conc4"], sorted(found))
        same(checks, "the other load's outcome", [sixteen], found["r_conc16"])
        return found["r_conc4"]

    same(checks, "agents on several nodes", ["patched"], outcome("--require-power", sixteen="patched"))
    same(checks, "their energies", (56000.0, 32000.0, 24000.0, 42000.0), (
        *(row("4")[key] for key in ("total_gpu_energy_j", "prefill_gpu_energy_j", "decode_gpu_energy_j")),
        row("16")["total_gpu_energy_j"]))
    same(checks, "their windows", [4, 16], [record(load)["selected_window"]["concurrency"] for load in ("4", "16")])
    same(checks, "whose result", "../power_audit_r/LOGS/agentic/conc_4/agentic_power_concurrency_4.json",
         record("4")["benchmark_result"])
    same(checks, "who is trusted", ("package", "aiperf_multinode_custom_benchmark"), tuple(
        record("4")["computed_from"][key] for key in ("producer_pin", "window_source")))
    same(checks, "nothing is written beside the results", [], list(logs.rglob("power_validation*")))
    same(checks, "a second time", ["unchanged"], outcome())
    same(checks, "by their hashes", ["unchanged"], outcome("--verify"))
    profile = logs / "agentic" / "conc_4" / "aiperf_artifacts"
    profile.mkdir()
    request = {"metadata": {"request_start_ns": 1000 * 10**9, "request_end_ns": 1010 * 10**9}, "error": "lost"}
    good = {"metadata": {"request_start_ns": 1000 * 10**9, "request_end_ns": 1000 * 10**9}, "error": None}
    (profile / "profile_export.jsonl").write_text("".join(json.dumps(one) + "\n" for one in [request, *[good] * 20]))
    same(checks, "with a profile", ["patched"], outcome())
    same(checks, "its failed request", (1, 14000.0), tuple(
        record("4")["failed_requests"][key] for key in ("count", "energy_share_j")))
    same(checks, "a second time", ["unchanged"], outcome())

    aggregate = bmk / "r_conc4.json"
    whole = aggregate.read_text()
    aggregate.write_text(whole.replace("true", "1"))
    same(checks, "with no word on disaggregation", ["not_valid"], outcome())
    same(checks, "its reason", ["agentic_gpu_topology_invalid"], record("4")["reasons"])
    same(checks, "no keys of roles", [], [key for key in row("4") if key.endswith("_j")])
    same(checks, "a second time", ["unchanged"], outcome())
    aggregate.write_text(whole)
    same(checks, "mended", ["patched"], outcome())
    same(checks, "with a short commit", ["not_valid"], outcome("--expected-producer-sha", "5e", sixteen="not_valid"))
    same(checks, "its reason", ["expected_producer_sha_invalid"], record("4")["reasons"])
    same(checks, "without it", ["patched"], outcome(sixteen="patched"))

    results = logs / "agentic" / "conc_4"
    results.rename(root / "elsewhere")
    results.symlink_to(root / "elsewhere")
    same(checks, "results that a link leads away", ["not_valid"], outcome("--follow-links", sixteen="not_valid"))
    same(checks, "its reason", ["agentic_result_outside_logs_root"], record("4")["reasons"])
    results.unlink()
    (root / "elsewhere").rename(results)
    same(checks, "without the link", ["patched"], outcome(sixteen="patched"))
    formal = results / "agentic_power_concurrency_4.json"
    shutil.copy(formal, results / "agentic_power_concurrency_16.json")
    before = aggregate.read_bytes()
    same(checks, "two formal results", ["not_recomputable"], outcome())
    same(checks, "the aggregate stays", before, aggregate.read_bytes())
    (results / "agentic_power_concurrency_16.json").unlink()
    window = logs / "power" / "windows" / "agentic_power_concurrency_16.json"
    text = window.read_text()
    window.write_text("{")
    same(checks, "with the other's window broken", ["not_valid"], outcome(sixteen="not_valid"))
    manifest = logs / "power" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"publication_valid": true', '"publication_valid": false'))
    same(checks, "salvaged", ["patched"], outcome("--salvage", sixteen="not_valid"))
    window.write_text(text)
    manifest.write_text(manifest.read_text().replace('"publication_valid": false', '"publication_valid": true'))
    same(checks, "mended", ["patched"], outcome(sixteen="patched"))
    power = logs / "power"
    power.rename(root / "power")
    same(checks, "without a package", ["not_recomputable"], outcome(sixteen="not_recomputable"))
    same(checks, "their reason", ["power_artifacts_missing"],
         read_report(root / f"{next(passes) - 1}.jsonl")[0]["reasons"])


ROW = '{"disagg": true, "num_prefill_gpu": 2, "num_decode_gpu": 2}'


def nodes_of(folder, loads, changes=None):
    """LOGS of two prefill GPUs at 400 W and two decode GPUs at 300 W, with the recorder's pin."""
    made = folder.parent / f"made {folder.name}"
    package = Package(loads=loads)
    package.changes = changes or {}
    package.write(made)
    (made / "LOGS" / "power" / "power-producer-sha.txt").write_text(PIN + "\n")
    folder.mkdir(parents=True, exist_ok=True)
    (made / "LOGS").rename(folder / "LOGS")
    shutil.rmtree(made)
    return folder / "LOGS"


def put(path, text=ROW):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def lines_of(store, report, *options, **more):
    """By run, the lines of a backfill's report."""
    report.unlink(missing_ok=True)
    outcomes(store, *options, report=report, **more)
    found = {}
    for line in read_report(report):
        found.setdefault(line["run"], []).append(line)
    return found


def a_damaged_neighbour(root, checks):
    """An archive that a run does not need does not fail it; it has a line of its own."""
    store = root / "one"
    shutil.copytree(ROOT / "testdata" / "agentic" / "results", store / "agentic_r")
    put(store / "bmk_agentic_r" / "r.json", '{"tp": 2}')
    put(store / "power_audit_r.zip", "PK\3\4xx")
    done, found = outcomes(store, report=root / "one.jsonl")
    same(checks, "a damaged audit beside a run of one node",
         {"r": ["patched"], "power_audit_r.zip": ["failed"]}, found)
    same(checks, "its exit status", 1, done.returncode)
    store = root / "several"
    nodes_of(store / "agentic_s", [AgenticLoad(4, 1000.0, 1040.0)])
    put(store / "bmk_agentic_s" / "s_conc4.json")
    put(store / "power_audit_s.zip", "PK\3\4xx")
    _, found = outcomes(store, report=root / "several.jsonl")
    same(checks, "a damaged audit beside a package",
         {"s_conc4": ["patched"], "power_audit_s.zip": ["failed"]}, found)


def records_that_cannot_be_read(root, checks):
    """What the failed requests used only informs."""
    store = root / "store"
    logs = nodes_of(store / "power_audit_r", [AgenticLoad(4, 1000.0, 1040.0)])
    put(store / "bmk_agentic_r" / "r_conc4.json")
    record = lambda: json.loads((store / "bmk_agentic_r" / "power_validation_r_conc4.json").read_text())
    records = put(logs / "agentic" / "conc_4" / "aiperf_artifacts" / "profile_export.jsonl", '{"metadata"')
    doubt = "failed requests are not known: "
    line = lines_of(store, root / "1.jsonl")["r_conc4"][0]
    same(checks, "broken records", ("patched", []), (line["outcome"], line["reasons"]))
    checks.add("their doubt", [] if (line["details"] or "").startswith(doubt) else [str(line)])
    same(checks, "no failed requests", False, "failed_requests" in record())
    someone = {}
    if os.geteuid() == 0:  # nothing keeps root from reading
        program = root / "aggregate-power"
        shutil.copy(PROGRAM, program)
        for path in (root, program, *root.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        someone = {"executable": program, "user": NOBODY, "group": NOBODY, "extra_groups": []}
    request = '{"metadata": {"request_start_ns": 1, "request_end_ns": 2}, "error": null}\n'
    records.write_text(request)
    os.utime(records, (1, 1))
    records.chmod(0)
    for what, outcome in (("unreadable records", "patched"), ("a second time", "unchanged")):
        line = lines_of(store, root / "2.jsonl", **someone)["r_conc4"][0]
        same(checks, what, (outcome, []), (line["outcome"], line["reasons"]))
        checks.add("their doubt", [] if (line["details"] or "").startswith(doubt) else [str(line)])
    name = "power_validation_r_conc4.json"
    (store / "bmk_agentic_r" / name).rename(root / name)
    (store / "bmk_agentic_r" / name).symlink_to(records)
    line = lines_of(store, root / "7.jsonl", **someone)["r_conc4"][0]
    same(checks, "a record that is a link to them", "failed", line["outcome"])
    (root / name).replace(store / "bmk_agentic_r" / name)
    records.chmod(0o644)
    same(checks, "they stay", request, records.read_text())
    line = lines_of(store, root / "3.jsonl", **someone)["r_conc4"][0]
    same(checks, "records that can be read again", ("patched", None), (line["outcome"], line["details"]))
    same(checks, "their count", 0, record()["failed_requests"]["count"])
    other = put(records.parent / "x" / records.name, request.replace("null", "1234"))
    os.utime(other, (1, 1))
    lines_of(store, root / "4.jsonl")
    same(checks, "which records", (0, True), (record()["failed_requests"]["count"],
         "profile_records/profile_export.jsonl" in record()["computed_from"]["inputs"]))
    records.unlink()
    lines_of(store, root / "5.jsonl")
    same(checks, "older records of that size elsewhere", (1, True), (record()["failed_requests"]["count"],
         "profile_records/x/profile_export.jsonl" in record()["computed_from"]["inputs"]))


def aggregates_in_each_place(root, checks):
    loads = [AgenticLoad(4, 1000.0, 1040.0), AgenticLoad(16, 1050.0, 1080.0)]
    both = {"r_conc4": ["patched"], "r_conc16": ["patched"]}
    for what, four, sixteen in (
            ("apart", "bmk_agentic_r/", "agentic_r/"), ("beside the results and in them", "", "agentic_r/"),
            ("beside", "", ""), ("in the results", "agentic_r/", "agentic_r/")):
        store = root / what
        nodes_of(store / "agentic_r", loads)
        (store / "bmk_agentic_r").mkdir()
        put(store / f"{four}r_conc4.json")
        put(store / f"{sixteen}r_conc16.json")
        same(checks, f"aggregates {what}", both, outcomes(store, report=root / "report.jsonl")[1])
        (root / "report.jsonl").unlink()
    store = root / "none"
    for kind in ("agentic_", "power_audit_", "bmk_agentic_"):
        put(store / f"{kind}r" / "LOGS" / "agentic" / "log.txt", "")
    found = lines_of(store, root / "none.jsonl")
    same(checks, "no aggregate anywhere", [["aggregate_result_missing"]],
         [line["reasons"] for lines in found.values() for line in lines])
    for name, wanted in (("r_conc16.json", {**both, "r_conc16": ["not_writable"]}),
                         ("notes.json", {"r_conc4": ["patched"]})):
        store = root / f"archive with {name}"
        nodes_of(root / f"in {name}", loads)
        put(root / f"in {name}" / name)
        store.mkdir()
        zip_of(store / "agentic_r.zip", root / f"in {name}")
        put(store / "bmk_agentic_r" / "r_conc4.json")
        same(checks, f"an archive with {name}", wanted, outcomes(store, report=root / f"{name}l")[1])


def two_packages(root, checks):
    """One run has one package; the same one twice is that."""
    store = root / "store"
    load = AgenticLoad(4, 1000.0, 1040.0)
    nodes_of(store / "agentic_c", [load])
    aggregate = put(store / "bmk_agentic_c" / "c_conc4.json")
    shutil.copytree(store / "agentic_c", store / "power_audit_c")
    outcome = lambda: lines_of(store, root / "report.jsonl")["c_conc4"][0]
    same(checks, "the same package twice", "patched", outcome()["outcome"])
    same(checks, "a second time", "unchanged", outcome()["outcome"])
    before = aggregate.read_bytes()
    samples = store / "power_audit_c" / "LOGS" / "power" / "samples.csv"
    samples.write_text(samples.read_text().replace("400.0", "500.0"))
    line = outcome()
    same(checks, "two packages", ("ambiguous", ["pairing_ambiguous"]), (line["outcome"], line["reasons"]))
    for kind in ("agentic_c", "power_audit_c"):
        checks.add("both are told", [] if f"{kind}/LOGS/power" in line["details"] else [line["details"]])
    same(checks, "the aggregate stays", before, aggregate.read_bytes())
    shutil.rmtree(store / "power_audit_c" / "LOGS" / "agentic")
    same(checks, "a package without the agents' results counts less", "unchanged", outcome()["outcome"])
    nodes_of(store / "power_audit_d", [load])
    shutil.copytree(store / "power_audit_d" / "LOGS" / "agentic", store / "agentic_d" / "LOGS" / "agentic")
    (store / "agentic_d" / "LOGS" / "power").mkdir()
    put(store / "bmk_agentic_d" / "d_conc4.json")
    same(checks, "a folder without a manifest is no package", ["patched"],
         [line["outcome"] for line in lines_of(store, root / "report.jsonl")["d_conc4"]])


def packages_by_their_place(root, checks):
    """Whether a run is one of several nodes need not stand in its name."""
    store = root / "store"
    load = Load(4, 1000.0, 1040.0)
    for name, how in (("n1", "folder"), ("n2", "archive")):
        nodes_of(store / f"power_audit_{name}", [load])
        put(store / f"power_audit_{name}" / f"{name}.json", json.dumps(load.result()))
        if how == "archive":
            zip_of(store / f"power_audit_{name}.zip", store / f"power_audit_{name}")
            shutil.rmtree(store / f"power_audit_{name}")
        put(store / f"bmk_{name}" / f"agg_{name}.json")
        line = lines_of(store, root / "report.jsonl")[name]
        same(checks, f"a package in the audit's {how}", [("patched", "multinode", 56000.0)],
             [(one["outcome"], one["layout"], one["metrics"].get("total_gpu_energy_j")) for one in line])
        line = lines_of(store, root / "report.jsonl")[name]
        same(checks, "a second time", ["unchanged"], [one["outcome"] for one in line])
    nodes_of(store / "agentic_a", [AgenticLoad(4, 1000.0, 1040.0)])
    shutil.rmtree(store / "agentic_a" / "LOGS" / "agentic")
    put(store / "bmk_agentic_a" / "a_conc4.json")
    same(checks, "a package of agents without their results",
         [("not_recomputable", ["formal_benchmark_result_missing"])],
         [(line["outcome"], line["reasons"]) for line in lines_of(store, root / "report.jsonl")["a_conc4"]])


def links_to_results(root, checks):
    """Where links lead is in no file; it counts all the same."""
    store = root / "store"
    logs = nodes_of(store / "power_audit_r", [AgenticLoad(4, 1000.0, 1040.0)])
    put(store / "bmk_agentic_r" / "r_conc4.json")
    for path in logs.rglob("*"):
        os.utime(path, (1, 1))
    outcome = lambda: [(line["outcome"], line["reasons"])
                       for line in lines_of(store, root / "report.jsonl", "--follow-links")["r_conc4"]]
    (logs / "agentic").rename(root / "elsewhere")
    (logs / "agentic").symlink_to(root / "elsewhere")
    outside = ["agentic_result_outside_logs_root"]
    same(checks, "results out of the store", [("not_valid", outside)], outcome())
    same(checks, "a second time", [("unchanged", outside)], outcome())
    (logs / "agentic").unlink()
    (root / "elsewhere").rename(logs / "agentic")
    same(checks, "results that are there", [("patched", [])], outcome())
    same(checks, "a second time", [("unchanged", [])], outcome())


def an_output_that_is_a_file(root, checks):
    store = root / "store"
    make_run(store, "r")
    output = put(root / "out", "x")
    for path in (output, output / "deeper"):
        done = program("backfill", store, "--output", path)
        same(checks, f"--output {path.relative_to(root)}", 2, done.returncode)
        checks.add("its message", [] if "is not a folder" in done.stderr and not done.stdout else [done.stderr])
    same(checks, "the file stays", "x", output.read_text())


def an_output_of_links(root, checks):
    """Nothing in the store is written, also where the output's files and folders lead back to it."""
    store = root / "store"
    make_run(store / "power_audit_r", "r")
    make_run(store / "power_audit_s", "s")
    result = root / "to-result" / "power_audit_r" / "agg_r.json"
    another = root / "to-another" / "power_audit_r" / "agg_r.json"
    record = root / "to-record" / "power_audit_r" / "power_validation_r.json"
    for link, target in ((result, "r.json"), (another, "../power_audit_s/agg_s.json"), (record, "r.json")):
        link.parent.mkdir(parents=True)
        link.symlink_to((store / "power_audit_r" / target).resolve())
    (root / "to-folder").mkdir()
    (root / "to-folder" / "power_audit_r").symlink_to(store / "power_audit_r")
    subprocess.run(["cp", "-as", store, root / "mirror"], check=True)
    before = patching.contents(store)
    for output in ("to-result", "to-another", "to-record", "to-folder", "mirror"):
        for options in (("--dry-run",), ()):
            line = lines_of(store, root / "report.jsonl", "--output", root / output, *options)["r"][0]
            same(checks, f"{output} {options}", "failed", line["outcome"])
            same(checks, f"the store, {output} {options}", before, patching.contents(store))


def names_that_say_otherwise(root, checks):
    """What does not agree is told; the name counts."""
    store = root / "store"
    load = Load(4, 1000.0, 1040.0)
    logs = nodes_of(store / "power_audit_g", [load])
    told = {"g_gpus_8_ctx_2_gen_2": (ROW, "the name says 8 GPUs, but 2 for prefill and 2 for decode"),
            "g_gpus_4_ctx_2_gen_2": ('{"num_prefill_gpu": 1, "num_decode_gpu": 3}',
                                     "the name says 4 GPUs, 2 for prefill and 2 for decode, its aggregate 1 for prefill "
                                     "and 3 for decode"),
            "g_conc4_gpus_4_ctx_2_gen_2": (ROW, None), "g_x_gpus_4_ctx_2_gen_2": ('{"tp": 8}', None)}
    for name, (row, _) in told.items():
        put(logs.parent / f"agg_{name}.json", row)
        put(logs.parent / f"{name}.json", json.dumps(load.result()))
    found = lines_of(store, root / "report.jsonl")
    for name, (_, doubt) in told.items():
        same(checks, name, [("patched", [], doubt)],
             [(line["outcome"], line["reasons"], line["details"]) for line in found[name]])


def a_package_is_read_once(root, checks):
    """Its large files are hashed while they are judged; the record has the hash of every file."""
    store, log = root / "store", root / "log"
    audit, name = store / "power_audit_r", "r_cfg_conc4_gpus_4_ctx_2_gen_2"
    shutil.copytree(ROOT / "testdata" / "package" / "LOGS", audit / "LOGS")
    shutil.copy(ROOT / "testdata" / "package" / "run.json", audit / f"{name}.json")
    (audit / f"agg_{name}.json").write_text('{"hw": "gb200"}')
    samples = audit / "LOGS" / "power" / "samples.csv"

    def readings_begun(*options):
        """How often each file of the package was read from its start."""
        log.write_text("")
        watched = ENVIRONMENT | {"FAULT_ROOT": str(audit), "FAULT_LOG": str(log), "LD_PRELOAD": patching.SHIM}
        done = subprocess.run([patching.DYNAMIC, "backfill", str(store), "--no-sandbox", *options], env=watched,
                              capture_output=True, text=True, timeout=120)
        same(checks, f"backfill {options}", (0, ""), (done.returncode, done.stderr.partition("error")[1]))
        counts = {}
        for line in log.read_text().splitlines():
            call, path = line.split(" ")[1:3]
            if call.startswith("pread") and line.endswith(" at 0"):
                counts[path] = counts.get(path, 0) + 1
        return counts

    begun = readings_begun("--force")
    large = [samples, audit / "LOGS" / "power" / "cpu" / "samples.csv", audit / "LOGS" / "power" / "manifest.json"]
    same(checks, "readings of the large files", [1, 1, 1], [begun.get(str(path)) for path in large])
    record = audit / f"power_validation_{name}.json"
    inputs = json.loads(record.read_text())["computed_from"]["inputs"]
    files = [path for path in (audit / "LOGS").rglob("*") if path.is_file() and path.suffix != ".sha256"]
    same(checks, "every file is among the inputs",
         sorted(path.stat().st_size for path in [*files, audit / f"{name}.json"]),
         sorted(entry["bytes"] for role, entry in inputs.items()
                if role not in ("windows", "links", "aggregate_result")))
    before = record.read_bytes()
    readings_begun("--verify")
    same(checks, "with the hash of all of it", before, record.read_bytes())
    # Rows out of order are read twice, and hashed once.
    rows = samples.read_text().splitlines(keepends=True)
    rows[1:] = rows[1:][::-1]
    samples.write_text("".join(rows))
    same(checks, "readings of a file out of order", 2, readings_begun().get(str(samples)))
    before = record.read_bytes()
    readings_begun("--verify")
    same(checks, "with its hash", before, record.read_bytes())


CASES = (several_runs_in_one_artifact, a_far_result_that_does_not_fit, a_monitor_that_died,
         telemetry_that_expands_to_nothing, a_result_that_is_anothers, output_in_the_store, stores_named_by_dots,
         stores_that_overlap, empty_names, few_descriptors, no_room_for_the_list, a_record_that_is_a_link_to_an_input,
         links_out_of_the_store, links_out_of_the_output, temporaries_where_all_is_done, required_power,
         the_offsets_that_remain, a_longer_gap, an_agentic_run, a_package, loads_of_agents, a_damaged_neighbour,
         records_that_cannot_be_read, aggregates_in_each_place, two_packages, packages_by_their_place,
         links_to_results, a_package_is_read_once, an_output_that_is_a_file, an_output_of_links, names_that_say_otherwise)


def main():
    checks = patching.Checks()
    for case in CASES:
        with patching.fresh_folder(case.__name__.replace("_", "-")) as root:
            case(pathlib.Path(root), checks)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
