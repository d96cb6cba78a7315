#!/usr/bin/env python3
"""Backfills of synthetic stores whose every outcome is known beforehand (see stores.py).

usage: tests/backfill/backfill_test.py [--runs N] [--kills N] [--seed N] [--part I/N] [NAME...]
       with $AGGREGATE_POWER; with $AGGREGATE_POWER_DYNAMIC and $FAULT_SHIM, calls fail one by one

--runs of the big store (default: 1000, 200 with QUICK=1), --kills (default: 15, or 3), NAMEs of checks:
only these. --part: every N-th check, from the I-th on.
"""
import argparse
import contextlib
import fcntl
import io
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
import zlib

import judging
import patching
import stores
from judging import backfill, contents, differences, judge, listing, read_report, without_history
from stores import Recording, StoreMaker, build_store, metrics_of, raw_result

NOBODY = 65534


class Ground:
    """The stores that the checks copy, each made once, and how they look when all is done."""

    def __init__(self, root, runs, seed):
        self.root = root
        self.seed = seed
        self.count = 0
        self.big = root / "big"
        self.expected = build_store(self.big, runs, seed)
        self.big_before = contents(self.big)
        self.small = root / "small"
        self.small_expected = build_store(self.small, 120, seed + 1, StoreMaker.SOUND)
        self.small_done = None  # made by a first, uninterrupted backfill

    def copy(self, store):
        self.count += 1
        target = self.root / f"copy-{self.count}"
        subprocess.run(["cp", "-a", store, target], check=True)
        return target

    def file(self, name):
        self.count += 1
        return self.root / f"{self.count}-{name}"

    def done(self):
        """The small store's contents after one backfill that nothing disturbed."""
        if self.small_done is None:
            store = self.copy(self.small)
            ended(backfill(store))
            self.small_done = contents(store)
            shutil.rmtree(store)
        return self.small_done


def ended(done, status=0):
    """The faults of how a backfill ended."""
    if done.returncode != status:
        return [f"exit status {done.returncode}, expected {status}: {tail(done.stderr)}"]
    return []


def tail(data):
    return data.decode(errors="replace")[-400:]


def outcomes(report):
    counts = {}
    for line in report:
        counts[line["outcome"]] = counts.get(line["outcome"], 0) + 1
    return counts


def only(report, run):
    return next((line for line in report if line["run"] == run), {"outcome": "no line"})


# ---- The big store

def big_store(ground, checks):
    """Every outcome, number and byte of a store with all layouts and faults."""
    store, report = ground.copy(ground.big), ground.file("report.jsonl")
    began = time.monotonic()
    done = backfill(store, "--report", report)
    print(f"{len(ground.expected)} expectations, {time.monotonic() - began:.2f} s")
    lines = read_report(report)
    counts = outcomes(lines)
    print("outcomes:", ", ".join(f"{name} {counts.get(name, 0)}" for name in judging.OUTCOMES))
    checks.add("big store: outcomes, metrics and files as predicted",
               ended(done, 1) + judging.grouped(
                   judge(ground.big_before, store, ground.expected, lines)),
               len(lines))
    text = done.stdout.decode(errors="replace")
    checks.add("big store: the summary counts the runs of each outcome", [
        f"no line of {name} says {count}: {text[-1500:]!r}" for name, count in counts.items()
        if not re.search(rf"(?m)^.*\b{name.replace('_', '[ _]')}\b.*\b{count}\b", text)
        and not re.search(rf"(?m)^.*\b{count}\b.*\b{name.replace('_', '[ _]')}\b", text)])
    checks.add("big store: failed runs are told on standard error",
               [] if done.stderr.strip() else ["nothing was said"])
    big_store_again(ground, checks, store, counts)


def big_store_again(ground, checks, store, first):
    before = listing(store)
    report = ground.file("report.jsonl")
    done = backfill(store, "--report", report)
    lines = read_report(report)
    wanted = dict(first)
    wanted["unchanged"] = wanted.pop("patched", 0) + wanted.pop("not_valid", 0)
    faults = ended(done, 1) + differences(before, listing(store))
    if outcomes(lines) != wanted:
        faults.append(f"outcomes {outcomes(lines)}, expected {wanted}")
    checks.add("big store: a second backfill touches nothing", faults, len(lines))
    for option in ("--verify", "--force"):
        report = ground.file("report.jsonl")
        done = backfill(store, option, "--report", report)
        faults = ended(done, 1) + differences(before, listing(store))
        if outcomes(read_report(report)) != wanted:
            faults.append(f"outcomes {outcomes(read_report(report))}, expected {wanted}")
        checks.add(f"big store: a second backfill with {option} touches nothing", faults)
    done = backfill(store, "--require-power")
    checks.add("big store: --require-power ends with 1", ended(done, 1))
    shutil.rmtree(store)


def dry_run(ground, checks):
    store, report = ground.copy(ground.big), ground.file("report.jsonl")
    before = listing(store)
    done = backfill(store, "--dry-run", "--report", report)
    lines = read_report(report)
    faults = ended(done, 1) + differences(before, listing(store))
    # The files are not written: only the lines are compared.
    found = judging.Lines(lines, store)
    told = set()
    for match in re.finditer(r"(?m)^(.*): (\w+): .* -> .+$", done.stdout.decode(errors="replace")):
        told.add((match[1].removeprefix(f"{store}/"), match[2]))
    for one in ground.expected:
        for line in found.take(one):
            faults += [f"{one.kind}: {one.run!r}: {fault}"
                       for fault in judging.line_faults(line, one, False)]
        simple = one.aggregate and re.fullmatch(r"[\w ./-]+", one.aggregate, re.ASCII)
        if one.outcome == "patched" and not one.archived and not one.also and simple:
            if (one.aggregate, "total_gpu_energy_j") not in told:
                faults.append(f"no line says what would become of the energy of {one.aggregate!r}")
    faults += [f"a line too many: {line}" for line in found.left()]
    checks.add("dry run: says what would be done, writes nothing", faults, len(lines))
    report = ground.file("no-report.jsonl")
    names = set(os.listdir(ground.root))
    backfill(store, "--dry-run", cwd=ground.root)
    checks.add("dry run: no report unless asked for",
               [f"{name} is new" for name in set(os.listdir(ground.root)) - names])
    shutil.rmtree(store)


def output(ground, checks):
    """Results go to another folder; archives are folders there; the store is only read."""
    store, report = ground.copy(ground.big), ground.file("report.jsonl")
    target = ground.file("output")
    before = listing(store)
    done = backfill(store, "--output", target, "--report", report)
    lines = read_report(report)
    faults = ended(done, 1) + differences(before, listing(store))
    faults += judging.grouped(judge(ground.big_before, store, ground.expected, lines, target))
    checks.add("output: all results are there, the store is untouched", faults, len(lines))
    left = listing(target)
    done = backfill(store, "--output", target)
    checks.add("output: a second backfill touches nothing", ended(done, 1)
               + differences(before, listing(store)) + differences(left, listing(target)))
    other = ground.file("two")
    done = backfill(store, ground.small, "--output", other)
    names = sorted(os.listdir(other)) if other.is_dir() else []
    faults = ended(done, 1)
    if names != sorted([store.name, ground.small.name]):
        faults.append(f"the output of two stores has {names}")
    elif contents(other / store.name) != contents(target):
        faults += differences(contents(target), contents(other / store.name))
    checks.add("output: of two stores goes to a folder for each", faults)
    shutil.rmtree(store)


def shards(ground, checks):
    """The union of four shards is the unsharded store, their reports are its report."""
    whole, whole_report = ground.copy(ground.big), ground.file("whole.jsonl")
    backfill(whole, "--report", whole_report)
    store = ground.copy(ground.big)
    joined, faults, sizes = b"", [], []
    for i in range(4):
        report = ground.file("shard.jsonl")
        done = backfill(store, "--shard", f"{i}/4", "--report", report)
        faults += [] if done.returncode in (0, 1) else ended(done)
        data = report.read_bytes() if report.exists() else b""
        joined += data
        sizes.append(data.count(b"\n"))
        if judging.XXHASH:
            for line in map(json.loads, data.splitlines()):
                # Names that are escaped in the report, or that are an archive's, are left out.
                if re.fullmatch(r"[\w.-]+_b200-\d+", line["run"]) \
                        and judging.shard_of(line["run"], 4) != i:
                    faults.append(f"{line['run']!r} does not belong into shard {i}")
    joined_report = ground.file("joined.jsonl")
    joined_report.write_bytes(joined)
    wanted = judging.without_seconds(read_report(whole_report))
    rename = lambda lines: [line.replace(str(store), "STORE").replace(str(whole), "STORE")
                            for line in lines]
    found = judging.without_seconds(read_report(joined_report))
    if rename(found) != rename(wanted):
        faults += [f"only in one of the reports: {line}"
                   for line in sorted(set(rename(found)) ^ set(rename(wanted)))[:6]]
        if len(found) != len(wanted):
            faults.append(f"{len(found)} lines, expected {len(wanted)}")
    faults += differences(contents(whole), contents(store))
    if min(sizes) < len(wanted) / 8:
        faults.append(f"the shards are uneven: {sizes}")
    checks.add("shards: their union is the whole, byte for byte", faults, sum(sizes))
    shutil.rmtree(store)

    for jobs in ("1", "4"):
        store, report = ground.copy(ground.big), ground.file("jobs.jsonl")
        done = backfill(store, "--jobs", jobs, "--report", report)
        found = rename(judging.without_seconds(read_report(report)))
        found = [line.replace(str(store), "STORE") for line in found]
        faults = ended(done, 1) + differences(contents(whole), contents(store))
        if found != rename(wanted):
            faults += [f"only in one of the reports: {line}"
                       for line in sorted(set(found) ^ set(rename(wanted)))[:6]]
            faults.append(f"{len(found)} lines, expected {len(wanted)}")
        checks.add(f"jobs: {jobs} give the same store and report", faults)
        shutil.rmtree(store)
    shutil.rmtree(whole)


# ---- Small stores

class One:
    """A store of a single run, whose pieces are then changed."""

    def __init__(self, ground, recording=None, zone=None, how="tp"):
        self.ground = ground
        self.store = ground.file("one")
        self.recording = recording or Recording(zone=330)
        self.folder = self.store / "power_audit_r1"
        self.folder.mkdir(parents=True)
        self.write()
        maker = StoreMaker(5)
        self.agg = self.folder / "agg_r1.json"
        self.agg.write_bytes(maker.aggregate(self.recording.gpus, how, stale=False, style="indent"))
        self.record = self.folder / "power_validation_r1.json"
        if zone is not None:
            (self.folder / "gpu_metrics_context.json").write_bytes(
                json.dumps({"timestamp_timezone": zone}).encode())

    def age(self):
        """Makes all files a minute older: within one tick of the clock times tell nothing."""
        then = time.time_ns() - 60 * 10**9
        for path in self.folder.iterdir():
            os.utime(path, ns=(then, then))

    def write(self):
        (self.folder / "gpu_metrics.csv").write_bytes(self.recording.csv())
        (self.folder / "r1.json").write_bytes(raw_result(*self.recording.window()))

    def run(self, *options):
        """The run's line of the report."""
        report = self.ground.file("report.jsonl")
        self.last = backfill(self.store, "--report", report, *options)
        lines = read_report(report) if report.exists() else []
        return lines[0] if len(lines) == 1 else {"outcome": f"{len(lines)} lines", "reasons": []}

    def metrics(self):
        begin, end = self.recording.window()
        return metrics_of(self.recording.total_watts(), self.recording.gpus, end - begin)

    def faults(self, line, outcome, reasons=(), energy=None):
        """What is wrong with a run's line, and with the aggregate's energy."""
        faults = []
        if line["outcome"] != outcome or (outcome != "unchanged"
                                          and line["reasons"] != list(reasons)):
            faults.append(f"{line['outcome']} {line['reasons']}, expected {outcome} {list(reasons)}"
                          f": {tail(self.last.stderr)}")
        row = json.loads(self.agg.read_bytes())
        found = row.get("total_gpu_energy_j")
        if found != energy and not (energy is not None and found is not None
                                    and abs(found - energy) < 0.001):
            faults.append(f"total_gpu_energy_j is {found}, expected {energy}")
        return faults


def changes(ground, checks):
    """What was changed is computed anew; nothing else is."""
    joules = 4 * 700 * 60

    def begin(**options):
        one = One(ground, **options)
        return one, one.faults(one.run(), "patched", energy=joules)

    one, faults = begin()
    size = (one.folder / "gpu_metrics.csv").stat().st_size
    one.recording.phases[1] = (60, 800)
    one.write()
    assert size == (one.folder / "gpu_metrics.csv").stat().st_size
    faults += one.faults(one.run(), "patched", energy=4 * 800 * 60)
    faults += one.faults(one.run(), "unchanged", energy=4 * 800 * 60)
    checks.add("changes: a CSV of the same size is read anew", faults)

    # The same change, with times from before the record's: only --verify looks at the bytes.
    one.recording.phases[1] = (60, 900)
    one.write()
    now = time.time_ns()
    one.age()
    os.utime(one.record, ns=(now, now))
    faults = one.faults(one.run(), "unchanged", energy=4 * 800 * 60)
    faults += one.faults(one.run("--verify"), "patched", energy=4 * 900 * 60)
    faults += one.faults(one.run("--verify"), "unchanged", energy=4 * 900 * 60)
    checks.add("changes: --verify sees bytes that changed behind the same time", faults)

    one = One(ground, zone="+05:30")
    faults = one.faults(one.run(), "patched", energy=joules)
    begin_s, end_s = one.recording.window()
    (one.folder / "r1.json").write_bytes(raw_result(begin_s, end_s - 10))
    faults += one.faults(one.run(), "patched", energy=4 * 700 * 50)
    checks.add("changes: another window is read anew", faults)

    one, faults = begin(zone="+05:30")
    context = one.folder / "gpu_metrics_context.json"
    context.write_bytes(context.read_bytes().replace(b"+05:30", b"+05:45"))
    faults += one.faults(one.run(), "not_valid", ["no_usable_power_samples"])
    faults += one.faults(one.run(), "unchanged")
    context.write_bytes(context.read_bytes().replace(b"+05:45", b"+05:30"))
    faults += one.faults(one.run(), "patched", energy=joules)
    context.unlink()
    faults += one.faults(one.run(), "patched", energy=joules)  # by evidence now
    checks.add("changes: another zone file is read anew", faults)

    one, faults = begin()
    text = one.agg.read_bytes()
    one.agg.write_bytes(text.replace(b'"tp": 4', b'"tp": 8'))
    faults += one.faults(one.run(), "not_valid", ["expected_gpu_count_mismatch"])
    one.agg.write_bytes(one.agg.read_bytes().replace(b'"tp": 8', b'"tp": 4'))
    faults += one.faults(one.run(), "patched", energy=joules)
    if one.agg.read_bytes() != text:
        faults.append(f"the aggregate is not what it was: {one.agg.read_bytes()!r}")
    checks.add("changes: another number of GPUs is looked at", faults)

    one, faults = begin()
    text, record = one.agg.read_bytes(), one.record.read_bytes()
    one.agg.write_bytes(text.replace(b"168000.0", b"999999.0"))
    if one.agg.read_bytes() == text:
        faults.append(f"the energy is not spelt 168000.0: {text!r}")
    one.run()
    faults += [] if one.agg.read_bytes() == text else ["our own key was not put right"]
    # As another writer leaves it: without any of our keys.
    row = {key: value for key, value in json.loads(text).items() if key not in stores.POWER_KEYS}
    one.agg.write_bytes(json.dumps(row, indent=2).encode())
    one.run()
    faults += [] if one.agg.read_bytes() == text else ["our own keys were not put back"]
    faults += [] if without_history(one.record.read_bytes()) == record \
        else ["our own keys in the aggregate are an input"]
    one.record.unlink()
    one.run()
    faults += [] if one.record.exists() and one.record.read_bytes() == record \
        else ["the audit record was not made anew"]
    one.record.write_bytes(record[:-30])
    one.run()
    faults += [] if one.record.read_bytes() == record else ["a damaged audit record was kept"]
    checks.add("changes: our own files are put right", faults)

    one, faults = begin()
    text = one.agg.read_bytes()
    one.agg.write_bytes(text.replace(b'"fp8"', b'"fp4"'))
    one.run()
    faults += [] if one.agg.read_bytes() == text.replace(b'"fp8"', b'"fp4"') \
        else ["another writer's change was lost"]
    faults += one.faults(one.run(), "unchanged", energy=joules)
    checks.add("changes: another writer's change stays", faults)

    one, faults = begin()
    before = listing(one.store)
    faults += one.faults(one.run("--force"), "unchanged", energy=joules)
    faults += differences(before, listing(one.store))
    checks.add("changes: --force on what is right touches nothing", faults)

    one, faults = begin()
    faults += one.faults(one.run("--expected-num-gpus", "8"), "not_valid",
                         ["expected_gpu_count_mismatch"])
    faults += one.faults(one.run("--expected-num-gpus", "4"), "patched", energy=joules)
    checks.add("changes: other options are another backfill", faults)


def options(ground, checks):
    joules = 4 * 700 * 60
    one = One(ground)
    faults = one.faults(one.run("--timezone", "+05:30"), "patched", energy=joules)
    record = json.loads(one.record.read_bytes())
    if record["computed_from"]["timezone_source"] != "option":
        faults.append(f"timezone_source is {record['computed_from']['timezone_source']}")
    faults += one.faults(one.run("--timezone", "UTC"), "not_valid", ["no_usable_power_samples"])
    faults += one.faults(one.run("--timezone", "Asia/Kolkata"), "patched", energy=joules)
    checks.add("options: a zone that is given is taken", faults)

    one = One(ground)
    line = one.run("--schema-version", "1")
    row = json.loads(one.agg.read_bytes())
    begin, end = one.recording.window()
    faults = [] if line["outcome"] == "patched" else [f"{line}"]
    if abs(row.get("avg_power_w", 0) - 700) > 0.001 or "power_valid" in row \
            or abs(row.get("joules_per_output_token", 0) - joules / 102400) > 1e-6:
        faults.append(f"the aggregate is {row}")
    faults += [] if one.record.exists() else ["no audit record in schema 1"]
    faults += one.faults(one.run("--schema-version", "1"), "unchanged")
    faults += one.faults(one.run(), "patched", energy=joules)
    checks.add("options: schema 1, with its audit record, and then schema 2", faults)

    one = One(ground, how="wrong")
    faults = one.faults(one.run("--require-power"), "not_valid", ["expected_gpu_count_mismatch"])
    faults += ended(one.last, 1)
    one.run()
    faults += ended(one.last, 0)
    one.run("--require-power")
    faults += ended(one.last, 1)  # unchanged, and not valid still
    one = One(ground)
    one.run("--require-power")
    faults += ended(one.last, 0)
    one.run("--require-power")
    faults += ended(one.last, 0)
    checks.add("options: --require-power", faults)

    store, report = ground.copy(ground.small), ground.file("report.jsonl")
    names = sorted({one.run for one in ground.small_expected})
    done = backfill(store, "--only", "*conc16_*", "--report", report)
    faults = ended(done)
    lines = read_report(report)
    wanted = {name for name in names if "conc16_" in name}
    required = {one.run for one in ground.small_expected if not one.optional} & wanted
    found = {line["run"] for line in lines}
    if not required <= found <= wanted:
        faults.append(f"found {sorted(found ^ wanted)[:4]} too many or too few")
    done = ground.done()
    now, before = contents(store), contents(ground.small)
    for path, data in now.items():
        mine = "conc16_" in path
        if data != (done.get(path) if mine else before.get(path)):
            faults.append(f"{path!r} is neither done nor untouched")
    checks.add("options: --only", faults[:10], len(lines))


USAGE = [
    ([], "without a store"),
    (["{store}", "--jobs", "0"], "--jobs 0"),
    (["{store}", "--jobs", "-1"], "--jobs -1"),
    (["{store}", "--jobs", "many"], "--jobs many"),
    (["{store}", "--shard", "4/4"], "--shard 4/4"),
    (["{store}", "--shard", "0/0"], "--shard 0/0"),
    (["{store}", "--shard", "-1/4"], "--shard -1/4"),
    (["{store}", "--shard", "1"], "--shard 1"),
    (["{store}", "--shard", "a/b"], "--shard a/b"),
    (["{store}", "--schema-version", "3"], "--schema-version 3"),
    (["{store}", "--timezone", "Nowhere/Land"], "--timezone Nowhere/Land"),
    (["{store}", "--expected-num-gpus", "some"], "--expected-num-gpus some"),
    (["{store}", "--nonsense"], "an unknown option"),
    (["{root}/no such store"], "a store that does not exist"),
    (["{store}", "{root}/no such store"], "one store of two that does not exist"),
]


def usage(ground, checks):
    store = ground.copy(ground.small)
    before = listing(store)
    faults = []
    for words, name in USAGE:
        done = backfill(*[word.format(store=store, root=ground.root) for word in words])
        if done.returncode != 2 or not done.stderr.strip():
            faults.append(f"{name}: exit status {done.returncode}: {tail(done.stderr)}")
    faults += differences(before, listing(store))
    checks.add("usage: wrong use ends with 2 and touches nothing", faults, len(USAGE))
    done = backfill("--help-all")
    checks.add("usage: --help", ended(done) + [
        f"{option} is not there" for option in (
            "--dry-run", "--output", "--jobs", "--shard", "--report", "--timezone", "--only",
            "--expected-num-gpus", "--schema-version", "--require-power", "--force", "--verify")
        if option.encode() not in done.stdout])

    faults = []
    for data in (b"something else\n", b'{"tp": 4}\n', b"timestamp,index\n", b"[]\n",
                 b"\0" * 100):
        report = ground.file("precious")
        report.write_bytes(data)
        done = backfill(store, "--report", report)
        faults += ended(done, 2)
        if report.read_bytes() != data:
            faults.append(f"{data!r} was changed")
    faults += differences(before, listing(store))
    checks.add("report: a file that is no report is refused", faults)

    report = ground.file("report.jsonl")
    report.write_bytes(b"")
    backfill(store, "--report", report)
    once = report.read_bytes()
    backfill(store, "--report", report)
    twice = report.read_bytes()
    faults = [] if once and twice.startswith(once) and twice.count(b"\n") == 2 * once.count(b"\n") \
        else [f"{len(once.splitlines())} lines, then {len(twice.splitlines())}"]
    checks.add("report: lines are appended", faults)
    empty = ground.file("empty")
    empty.mkdir()
    done = backfill(empty)
    checks.add("an empty store is done", ended(done))


def archive_as_store(ground, checks):
    """The store itself is an archive."""
    maker = StoreMaker(ground.seed + 3, archives=False)
    maker.fill(12, [])
    folder = ground.file("archive-store")
    folder.mkdir()
    faults, lines = [], 0
    for suffix in (".zip", ".tar", ".tar.gz", ".tgz"):
        path = folder / f"all{suffix}"
        path.write_bytes(stores.packed(maker.files, suffix, random.Random(1)))
        report, target = ground.file("report.jsonl"), ground.file("target")
        done = backfill(path, "--report", report)
        found = read_report(report)
        faults += ended(done)
        if {line["outcome"] for line in found if line["aggregate"]} != {"not_writable"}:
            faults.append(f"{suffix}: {outcomes(found)}")
        report = ground.file("report.jsonl")
        done = backfill(path, "--output", target, "--report", report)
        faults += ended(done)
        found = read_report(report)
        lines += len(found)
        patched = sum(line["outcome"] == "patched" for line in found)
        if patched != sum(one.outcome == "patched" for one in maker.expected):
            faults.append(f"{suffix}: {outcomes(found)}")
        written = sorted(name for name, data in contents(target).items() if data is not None) \
            if target.exists() else []
        if len(written) != 2 * patched:
            faults.append(f"{suffix}: written were {written[:4]}")
    checks.add("archives: as the store itself", faults, lines)


def zeros_deflated(size):
    """Raw deflate of so many zeros, made from one piece."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = packer.compress(bytes(1 << 24)) + packer.flush(zlib.Z_FULL_FLUSH)
    return piece * (size >> 24) + b"\x03\x00"


def hostile(ground, checks):
    """Archives that mean harm: nothing is written outside, nothing takes for ever."""
    area = ground.file("hostile")
    store = area / "store"
    store.mkdir(parents=True)
    maker = StoreMaker(77)
    recording = Recording(schema="generic")
    csv, raw = recording.csv(), raw_result(*recording.window())
    agg = maker.aggregate(4, stale=False)
    evil = {}
    for prefix in ("../", "../../", "a/../../../", "/tmp/aggregate-power-evil/", "./../",
                   "C:\\\\x\\\\..\\\\"):
        evil |= {f"{prefix}power_audit_evil/gpu_metrics.csv": csv,
                 f"{prefix}power_audit_evil/evil.json": raw,
                 f"{prefix}power_audit_evil/agg_evil.json": agg}
    good = {"power_audit_good/gpu_metrics.csv": csv, "power_audit_good/good.json": raw,
            "power_audit_good/agg_good.json": agg}
    (store / "evil.zip").write_bytes(stores.zip_bytes(evil | good, folders=False))
    (store / "evil.tar").write_bytes(stores.tar_bytes(evil | good))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, kind, target in [
                ("power_audit_l/gpu_metrics.csv", tarfile.SYMTYPE, "/etc/passwd"),
                ("power_audit_l/l.json", tarfile.LNKTYPE, "../../../etc/passwd"),
                ("power_audit_l/pipe.csv", tarfile.FIFOTYPE, ""),
                ("power_audit_m", tarfile.SYMTYPE, "/tmp")]:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            archive.addfile(info)
        for name in ("power_audit_l/agg_l.json", "power_audit_m/agg_m.json"):
            info = tarfile.TarInfo(name)
            info.size = len(agg)
            archive.addfile(info, io.BytesIO(agg))
    (store / "links.tar").write_bytes(out.getvalue())
    plain = store / "power_audit_plain"
    plain.mkdir()
    for name, data in (("gpu_metrics.csv", csv), ("plain.json", raw), ("agg_plain.json", agg)):
        (plain / name).write_bytes(data)
    # Several GiB in a few MiB, under the name of telemetry.
    folder = store / "power_audit_bomb"
    folder.mkdir()
    (folder / "bomb.json").write_bytes(raw)
    (folder / "agg_bomb.json").write_bytes(agg)
    (folder / "gpu_metrics.csv.gz").write_bytes(
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff" + zeros_deflated(6 << 30) + bytes(8))
    # An archive in an archive in an archive.
    nested = stores.zip_bytes(good)
    for _ in range(5):
        nested = stores.zip_bytes({"power_audit_good.zip": nested})
    (store / "nested.zip").write_bytes(nested)
    target, report = area / "in" / "here" / "output", area / "report.jsonl"
    before = listing(store)

    def limits():
        if "AGGREGATE_POWER_SANITIZED" not in os.environ:  # it maps its shadow of all memory
            resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))

    began = time.monotonic()
    done = backfill(store, "--output", target, "--report", report, timeout=60, preexec_fn=limits)
    seconds = time.monotonic() - began
    faults = [] if done.returncode in (0, 1) else ended(done, 1)
    faults += differences(before, listing(store))
    lines = read_report(report) if report.exists() else []
    patched = sorted(line["aggregate"] for line in lines if line["outcome"] == "patched")
    if not any("power_audit_plain/" in path for path in patched):
        faults.append(f"the sound run beside the evil ones: patched are {patched}")
    if any("evil" in path.rpartition("/")[2] or "bomb" in path or path.endswith("_l.json")
           for path in patched):
        faults.append(f"patched were {patched}")
    if outside := {entry.name for entry in area.iterdir()} - {"store", "in", "report.jsonl"}:
        faults.append(f"outside of the output: {outside}")
    target.mkdir(parents=True, exist_ok=True)
    if outside := [path for path, data in contents(area / "in").items()
                   if data is not None and not path.startswith("here/output/")]:
        faults.append(f"outside of the output: {outside}")
    if os.path.exists("/tmp/aggregate-power-evil"):
        faults.append("an absolute name was followed")
    if seconds > 30:
        faults.append(f"it took {seconds:.0f} s")
    print(f"hostile archives: {seconds:.1f} s, "
          + ", ".join(sorted(f"{line['run']} {line['outcome']}" for line in lines)))
    checks.add("hostile archives do no harm", faults, len(lines))


# ---- Interruptions and other trouble

def disturbed(ground, store, faults):
    """A plain backfill, and whether the small store is then as if nothing had happened."""
    done = backfill(store)
    return (faults + ended(done) + differences(ground.done(), contents(store))
            + [f"left behind: {path!r}" for path in judging.temporaries(store)])


def kills(ground, checks, count):
    before, wanted = contents(ground.small), ground.done()
    faults, cut, with_temporaries = [], 0, 0
    store = ground.copy(ground.small)
    began = time.monotonic()
    backfill(store)
    longest = time.monotonic() - began
    shutil.rmtree(store)
    for i in range(count):
        store = ground.copy(ground.small)
        for _ in range(random.choice([1, 1, 2, 4])):
            delay = random.uniform(0, longest * 1.05)
            process = subprocess.Popen([patching.PROGRAM, "backfill", str(store), *judging.BY_EDGES],
                                       env=patching.ENVIRONMENT, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(delay)
            process.kill()
            cut += process.wait() == -signal.SIGKILL
            for path, data in contents(store).items():
                # No file is a part of one, and no aggregate claims power without its record.
                if data is None or data == before.get(path) or path.endswith(patching.TEMPORARY):
                    continue
                if data != wanted.get(path):
                    faults.append(f"kill {i}: {path!r} is neither old nor new")
                elif os.path.basename(path).startswith("agg_") and patching.claims(data) \
                        and not os.path.exists(os.path.join(store, judging.sidecar_path(path))):
                    faults.append(f"kill {i}: {path!r} claims power without a record")
            with_temporaries += bool(judging.temporaries(store))
        faults += [f"kill {i}: {fault}" for fault in disturbed(ground, store, [])]
        shutil.rmtree(store)
    print(f"{cut} kills came in time, {with_temporaries} times temporaries lay there")
    if count >= 10 and cut < count / 4:
        faults.append("hardly a kill came in time")
    checks.add("killed at random instants, then done again: as if uninterrupted", faults, cut)


def start(*words, program=None, environment=None, **options):
    """A backfill that goes on by itself."""
    return subprocess.Popen([program or patching.PROGRAM, "backfill", *map(str, words), *judging.BY_EDGES],
                            env=patching.ENVIRONMENT | (environment or {}),
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, **options)


STATUS_OF = {signal.SIGINT: 130, signal.SIGTERM: 143}
GO_ON = "aggregate-power: interrupted; run the same command again to continue"


def until_signals_are_caught(process):
    """Before that a signal ends the process as ever, with nothing under way; as it does after the end."""
    for _ in range(5000):
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        caught = re.search(r"^SigCgt:\s*([0-9a-f]+)", status, re.MULTILINE)
        if process.poll() is not None or (caught and int(caught[1], 16) >> (signal.SIGTERM - 1) & 1):
            return
        time.sleep(0.002)


def interrupted_faults(ground, store, report, process, number):
    """What is wrong with what a signal left; whether it came in time."""
    out, err = (data.decode(errors="replace") for data in process.communicate(timeout=60))
    came_in_time = process.returncode != 0
    faults = []
    if process.returncode not in (0, STATUS_OF[number]):
        faults.append(f"exit status {process.returncode}: {err[-300:]}")
    if came_in_time and err.splitlines()[-1:] != [GO_ON]:
        faults.append(f"standard error ends with {err[-300:]!r}")
    before, wanted, now = contents(ground.small), ground.done(), contents(store)
    faults += [f"left behind: {path!r}" for path in judging.temporaries(store)]
    lines = read_report(report) if report.exists() else []
    told = sum(line["outcome"] in ("patched", "not_valid") for line in lines)
    records = sum(os.path.basename(path).startswith("power_validation_")
                  for path in now.keys() - before.keys())
    if told != records:
        faults.append(f"{told} runs are reported as written, there are {records} new records")
    if not re.search(rf"(?m)^runs +{len(lines)}$", out):
        faults.append(f"{len(lines)} lines of the report, the summary says {out[:60]!r}")
    for path, data in now.items():
        if data is None or data == before.get(path):
            continue
        if data != wanted.get(path):
            faults.append(f"{path!r} is neither old nor new")
        # The two files of a run are both done or both not.
        name = os.path.basename(path)
        if name.startswith("agg_") and judging.sidecar_path(path) not in now:
            faults.append(f"{path!r} has no record")
    return faults, came_in_time


def interrupts(ground, checks, count):
    faults, cut, longest_s = [], 0, 0
    store = ground.copy(ground.small)
    began = time.monotonic()
    backfill(store, "--jobs", "2")
    whole_s = time.monotonic() - began
    shutil.rmtree(store)
    for i in range(count):
        store, report = ground.copy(ground.small), ground.file("interrupted.jsonl")
        number = random.choice(list(STATUS_OF))
        process = start(store, "--report", report, "--jobs", "2")
        until_signals_are_caught(process)
        time.sleep(random.uniform(0, whole_s))
        began = time.monotonic()
        process.send_signal(number)
        found, came_in_time = interrupted_faults(ground, store, report, process, number)
        longest_s = max(longest_s, time.monotonic() - began)
        cut += came_in_time
        faults += [f"signal {i}: {fault}" for fault in found + disturbed(ground, store, [])]
        shutil.rmtree(store)
    print(f"{cut} of {count} signals came in time, the longest took {longest_s:.2f} s")
    if count >= 10 and cut < count / 4:
        faults.append("hardly a signal came in time")
    checks.add("interrupted at random instants: finished or undone, then as if uninterrupted",
               faults, cut)


def one_signal(process, number, faults, within_s=3):
    """Sends it, and notes what is wrong with how the process ends."""
    began = time.monotonic()
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    seconds = time.monotonic() - began
    if process.returncode != STATUS_OF[number]:
        faults.append(f"exit status {process.returncode}, {err[-300:]!r}")
    if seconds > within_s:
        faults.append(f"it took {seconds:.2f} s to end")
    return err.decode(errors="replace")


def interrupted_while_waiting(ground, checks):
    """Signals while one run waits for a lock, and while one recording is read."""
    store, report = ground.copy(ground.small), ground.file("locked.jsonl")
    agg = sorted(path for path in store.rglob("agg_*.json")
                 if str(path.relative_to(store)) in patched_paths(ground))[0]
    before, faults = agg.read_bytes(), []
    with open(agg, "r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        process = start(store, "--report", report, "--jobs", "2")
        line = process.stderr.readline().decode()
        while line and "waiting for " not in line:
            line = process.stderr.readline().decode()
        if line != f"aggregate-power: waiting for {agg}, locked by process {os.getpid()}\n":
            faults.append(f"of the lock it says {line!r}")
        err = one_signal(process, signal.SIGTERM, faults)
    if GO_ON not in err:
        faults.append(f"it ends with {err!r}")
    if agg.read_bytes() != before:
        faults.append("the locked aggregate was patched")
    faults = disturbed(ground, store, faults)
    checks.add("interrupted while it waits for a lock", faults)

    if not has_fault_library("interruptions of slow calls"):
        return
    # 25 MB: some 100 reads, each of which takes 100 ms.
    one = One(ground)
    csv = one.folder / "gpu_metrics.csv"
    data = csv.read_bytes()
    header, _, rows = data.partition(b"\n")
    csv.write_bytes(header + b"\n" + rows * (25_000_000 // len(rows)))
    slow = {"FAULT_ROOT": str(csv), "FAULT_DELAY_MS": "100", "LD_PRELOAD": patching.SHIM}
    before, faults = listing(one.store), []
    process = start(one.store, program=patching.DYNAMIC, environment=slow)
    time.sleep(1)
    one_signal(process, signal.SIGINT, faults)
    checks.add("interrupted within a long recording", faults + differences(before,
                                                                          listing(one.store)))

    # The first signal waits for the end of a call that takes 20 s; the second does not.
    slow["FAULT_DELAY_MS"] = "20000"
    process = start(one.store, program=patching.DYNAMIC, environment=slow)
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    faults = [] if process.poll() is None else [f"it ended with {process.returncode} already"]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    if process.returncode != -signal.SIGINT:
        faults.append(f"exit status {process.returncode}")
    checks.add("interrupted twice: it ends at once", faults + differences(before,
                                                                         listing(one.store)))


def patched_paths(ground):
    return {one.aggregate for one in ground.small_expected
            if one.outcome == "patched" and not one.archived and not one.also}


def interrupted_without_readers(ground, checks):
    """Nobody reads what it prints any more, as when Ctrl-C ends a whole pipeline."""
    faults = []
    for _ in range(5):
        store = ground.copy(ground.small)
        process = start(store, "--jobs", "2")
        process.stdout.close()
        process.stderr.close()
        until_signals_are_caught(process)
        process.send_signal(signal.SIGINT)
        if process.wait(timeout=30) not in (0, 1, 130):
            faults.append(f"exit status {process.returncode}")
        faults += [f"left behind: {path!r}" for path in judging.temporaries(store)]
        shutil.rmtree(store)
    checks.add("interrupted with closed pipes", faults)

    store = ground.copy(ground.small)
    process = start(store, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    faults = [] if process.returncode == 0 else [f"exit status {process.returncode}"]
    faults += differences(ground.done(), contents(store))
    checks.add("a signal that the caller ignores is ignored", faults)

    # Nothing is under way yet.
    process = subprocess.Popen([patching.PROGRAM, "backfill", str(store), "--runs", "-", *judging.BY_EDGES],
                               env=patching.ENVIRONMENT, stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    status = process.wait(timeout=10)
    process.stdin.close()
    checks.add("a signal while the list of runs is awaited ends it",
               [] if status == -signal.SIGTERM else [f"exit status {status}"])


def two_at_once(ground, checks):
    faults = []
    for _ in range(3):
        store = ground.copy(ground.small)
        running = []
        for i in range(2):
            report = ground.file("two.jsonl")
            running.append((report, subprocess.Popen(
                [patching.PROGRAM, "backfill", str(store), "--report", str(report), *judging.BY_EDGES],
                env=patching.ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE)))
        for report, process in running:
            _, err = process.communicate(timeout=120)
            if process.returncode != 0:
                faults.append(f"one of two ended with {process.returncode}: {tail(err)}")
            found = outcomes(read_report(report))
            if found.get("failed"):
                faults.append(f"one of two: {found}")
        faults += differences(ground.done(), contents(store))
        faults += [f"left behind: {path!r}" for path in judging.temporaries(store)]
        shutil.rmtree(store)
    checks.add("two backfills at once", faults)


def vanishing_and_growing(ground, checks):
    """Files go away and grow while the backfill runs."""
    store, faults = ground.copy(ground.small), []
    folders = sorted(path for path in store.rglob("power_audit_*") if path.is_dir())
    doomed = folders[::3]

    def remove():
        for folder in doomed:
            shutil.rmtree(folder, ignore_errors=True)
            time.sleep(0.0005)

    thread = threading.Thread(target=remove)
    thread.start()
    report = ground.file("report.jsonl")
    done = backfill(store, "--report", report)
    thread.join()
    faults += [] if done.returncode in (0, 1) else ended(done)
    left, wanted = contents(store), ground.done()
    gone = {str(folder.relative_to(store)) for folder in doomed}
    touched = {one.run for one in ground.small_expected
               if any(one.run in folder for folder in gone)}
    for path, data in wanted.items():
        if data is not None and not any(run in path for run in touched) \
                and not any(path.startswith(folder + "/") for folder in gone) \
                and left.get(path) != data:
            faults.append(f"{path!r} is not as it should be")
    for folder in doomed:
        shutil.rmtree(folder, ignore_errors=True)
    again = backfill(store)
    faults += [f"left behind: {path!r}" for path in judging.temporaries(store)]
    faults += [] if again.returncode in (0, 1) else ended(again)
    checks.add("files that vanish harm no other run", faults, len(doomed))
    shutil.rmtree(store)

    store, faults = ground.copy(ground.small), []
    csvs = sorted(path for path in store.rglob("gpu_metrics*.csv") if "energy" not in path.name)
    stop = threading.Event()

    def append():
        die = random.Random(3)
        while not stop.is_set():
            path = die.choice(csvs)
            # A row like the last one: behind the window, so that no number changes.
            with open(path, "r+b") as file:
                data = file.read()
                if data.endswith(b"\n") and b"\0" not in data and b"\r" not in data:
                    last = data.rstrip(b"\n").rsplit(b"\n", 1)[-1]
                    if last.count(b",") > 1:
                        file.write(last + b"\n")

    thread = threading.Thread(target=append)
    thread.start()
    report = ground.file("report.jsonl")
    done = backfill(store, "--report", report)
    stop.set()
    thread.join()
    lines = read_report(report)
    faults += [] if done.returncode in (0, 1) else ended(done)
    for line in lines:
        if line["outcome"] == "failed" and "input_changed" not in line["reasons"]:
            faults.append(f"failed: {line['run']!r} {line['reasons']}")
    print("growing:", outcomes(lines))
    fresh = ground.file("fresh")
    subprocess.run(["cp", "-a", store, fresh], check=True)
    for path in fresh.rglob("power_validation_*.json"):
        path.unlink()
    faults += ended(backfill(store)) + ended(backfill(fresh))
    wanted, found = ({path: without_history(data) for path, data in contents(folder).items()} for folder in (fresh, store))
    faults += differences(wanted, found)
    checks.add("files that grow are read anew in the end", faults, len(lines))


@contextlib.contextmanager
def small_disk(folder):
    """A file system of its own in memory; nothing where it cannot be had."""
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", folder],
                          capture_output=True)
    if done.returncode != 0:
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def full_disk(ground, checks):
    with small_disk(ground.file("disk")) as disk:
        if disk is None:
            print("skipped: a full disk, which needs a mount of its own")
            return
        store = disk / "store"
        subprocess.run(["cp", "-a", ground.small, store], check=True)
        before = contents(store)
        status = os.statvfs(disk)
        used = (status.f_blocks - status.f_bfree) * status.f_frsize
        resize = lambda size: subprocess.run(
            ["mount", "-o", f"remount,size={size}", disk], check=True)
        resize(used + 200 * 1024)
        report = ground.file("report.jsonl")
        done = backfill(store, "--report", report)
        lines = read_report(report)
        counts = outcomes(lines)
        print("full disk:", counts)
        faults = ended(done, 1)
        faults += [] if counts.get("failed") and counts.get("patched") \
            else [f"expected some failed and some patched, got {counts}"]
        faults += [] if b"space" in done.stderr.lower() \
            else [f"nothing is said of the space: {tail(done.stderr)}"]
        faults += [f"left behind: {path!r}" for path in judging.temporaries(store)]
        found = judging.Lines(lines, store)
        now = contents(store)
        for one in ground.small_expected:
            for line in found.take(one):
                if one.aggregate is None or one.archived:
                    continue
                aggregate = now[one.aggregate]
                if line["outcome"] == "failed" and aggregate != before[one.aggregate]:
                    faults.append(f"failed, and yet patched: {one.run!r}")
                if line["outcome"] == "patched" and aggregate != ground.done()[one.aggregate]:
                    faults.append(f"patched, and not as it should be: {one.run!r}")
        resize("400m")
        faults = disturbed(ground, store, faults)
        checks.add("a full disk half-way", faults, len(lines))


@contextlib.contextmanager
def someone_else(ground):
    """The program for a user without rights: how to start it, or nothing."""
    if os.getuid() != 0:
        yield patching.PROGRAM, {}
        return
    program = ground.file("aggregate-power")
    shutil.copy(patching.PROGRAM, program)
    program.chmod(0o755)
    ground.root.chmod(0o755)
    options = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    done = subprocess.run([program, "--version"], capture_output=True, **options)
    yield (program, options) if done.returncode == 0 else (None, None)


def rights(ground, checks):
    """Read-only stores and folders that may not be read, as a user without rights."""
    with someone_else(ground) as (program, options):
        if program is None:
            print("skipped: rights, which need a user without them")
            return
        store = ground.copy(ground.small)
        for path, entry in list(judging.walk(store)):
            if not entry.is_symlink():
                os.chmod(entry.path, 0o555 if entry.is_dir() else 0o444)
        store.chmod(0o555)
        before = listing(store)
        folder = ground.file("reports")
        folder.mkdir()
        folder.chmod(0o777)
        report = folder / "read-only.jsonl"
        done = backfill(store, "--report", report, program=program, **options)
        lines = read_report(report) if report.exists() else []
        faults = ended(done, 0) + differences(before, listing(store))
        found = judging.Lines(lines, store)
        for one in ground.small_expected:
            wanted = ("not_writable",) if one.outcome in ("patched", "not_valid") \
                else (one.outcome, "not_writable")
            wanted += tuple(one.also)
            for line in found.take(one):
                if line["outcome"] not in wanted:
                    faults.append(f"{one.kind}: {one.run!r}: {line['outcome']} {line['reasons']}")
        checks.add("rights: a read-only store is not writable, and stays as it is", faults[:10],
                   len(lines))
        target = folder / "output"
        target.mkdir()
        target.chmod(0o777)
        report = folder / "output.jsonl"
        done = backfill(store, "--output", target, "--report", report, program=program, **options)
        lines = read_report(report) if report.exists() else []
        faults = ended(done, 0) + differences(before, listing(store))
        faults += judging.grouped(
            judge(contents(store), store, ground.small_expected, lines, target))
        checks.add("rights: a read-only store with --output is done there", faults[:10], len(lines))

        store = ground.copy(ground.small)
        audits = sorted(path for path in store.rglob("power_audit_*")
                        if path.is_dir() and any(path.glob("agg_*.json")))
        closed = audits[:3]
        for path in [store, *store.rglob("*")]:
            if not path.is_symlink():
                path.chmod(0o777 if path.is_dir() else 0o666)
        for folder_ in closed:
            folder_.chmod(0)
        report = folder / "closed.jsonl"
        done = backfill(store, "--report", report, program=program, **options)
        lines = read_report(report) if report.exists() else []
        faults = ended(done, 1)
        told = [line for line in lines if line["reasons"] == ["folder_unreadable"]]
        if len(told) != len(closed) or any(line["outcome"] != "failed" for line in told):
            faults.append(f"of {len(closed)} unreadable folders {told} was told")
        for folder_ in closed:
            folder_.chmod(0o777)
        hidden = {path.name for path in closed}
        wanted = ground.done()
        now = contents(store)
        runs = {name[len("power_audit_"):] for name in hidden}
        faults += [f"{path!r} is not as it should be" for path, data in wanted.items()
                   if data is not None and not any(run in path for run in runs)
                   and now.get(path) != data]
        checks.add("rights: an unreadable folder is told, the others are done", faults[:10],
                   len(lines))


def long_names(ground, checks):
    """Names so long that the audit record's, or a temporary's, is too long for a file."""
    store = ground.file("long")
    recording = Recording(schema="generic")
    faults = []
    for length in (190, 205, 220, 235, 243):
        name = "n" * length
        folder = store / str(length)
        folder.mkdir(parents=True)
        (folder / "gpu_metrics.csv").write_bytes(recording.csv())
        (folder / f"{name}.json").write_bytes(raw_result(*recording.window()))
        (folder / f"agg_{name}.json").write_bytes(b'{"tp": 4}')
    report = ground.file("report.jsonl")
    done = backfill(store, "--report", report)
    lines = {len(line["run"]): line["outcome"] for line in read_report(report)}
    print("long names:", lines)
    faults += [] if done.returncode in (0, 1) else ended(done, 1)
    for length in (190, 205, 220, 235, 243):
        folder = store / str(length)
        agg = (folder / f"agg_{'n' * length}.json").read_bytes()
        record = folder / f"power_validation_{'n' * length}.json"
        if lines.get(length) not in ("patched", "failed", "not_writable", "not_valid"):
            faults.append(f"{length} letters: {lines.get(length)}")
        if patching.claims(agg) and not (length <= 234 and record.exists()):
            faults.append(f"{length} letters: the aggregate claims power without a record")
        if lines.get(length) == "patched" and not patching.claims(agg):
            faults.append(f"{length} letters: patched, and yet it claims no power")
    if lines.get(190) != "patched":
        faults.append(f"190 letters: {lines.get(190)}")
    checks.add("names of almost 255 bytes", faults)


def on_terminal(words, program=patching.PROGRAM, environment=None, interrupt=False):
    """A backfill with a terminal for standard error: how it ended, what the terminal got.

    Interrupted, if at all, once there is a progress line.
    """
    main, side = os.openpty()
    seen = bytearray()
    process = subprocess.Popen([program, "backfill", *map(str, words), *judging.BY_EDGES],
                               env=patching.ENVIRONMENT | {"TERM": "xterm"} | (environment or {}),
                               stderr=side, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    os.close(side)
    with contextlib.suppress(OSError):
        while data := os.read(main, 4096):
            seen.extend(data)
            if interrupt and b" runs, " in seen:
                process.send_signal(signal.SIGINT)
                interrupt = False
    status = process.wait(timeout=120)
    os.close(main)
    return status, seen


def terminal(ground, checks):
    """On a terminal a progress line that is gone at the end; else none."""
    store = ground.file("quiet")
    build_store(store, 400, ground.seed + 9, [], archives=False)
    status, seen = on_terminal([store, "--jobs", "1"])
    faults = [] if status == 0 else [f"exit status {status}"]
    if left := judging.screen(bytes(seen)):
        faults.append(f"left on the screen: {left}")
    if any(len(part) > 200 for part in re.split(rb"[\r\n]", bytes(seen))):
        faults.append("a progress line is longer than 200 bytes")
    print(f"progress: {len(seen)} bytes to the terminal, such as "
          f"{bytes(seen[:120]).decode(errors='replace')!r}")
    checks.add("terminal: the progress line is gone at the end", faults)

    if has_fault_library("interruptions on a terminal"):
        interrupted_on_terminal(store, checks)

    store = ground.copy(ground.small)
    done = backfill(store)
    faults = ended(done)
    others = [line for line in done.stderr.splitlines() if b": ambiguous: " not in line]
    if others:
        faults.append(f"standard error has {others[:3]}")
    if b"\r" in done.stdout or b"\x1b" in done.stdout:
        faults.append("standard output has codes for terminals")
    checks.add("terminal: elsewhere nothing but the summary", faults)


def interrupted_on_terminal(store, checks):
    slow = {"FAULT_ROOT": str(store), "FAULT_DELAY_MS": "2", "LD_PRELOAD": patching.SHIM}
    status, seen = on_terminal([store, "--force", "--jobs", "1"], patching.DYNAMIC, slow,
                               interrupt=True)
    faults = [] if status == 130 else [f"exit status {status}"]
    if judging.screen(bytes(seen)) != [GO_ON]:
        faults.append(f"the screen shows {judging.screen(bytes(seen))}")
    checks.add("terminal: the progress line of an interrupted one is gone too", faults)


def has_fault_library(what):
    is_there = os.path.exists(patching.DYNAMIC) and os.path.exists(patching.SHIM)
    if not is_there:
        print(f"skipped: {what}, which need the fault library")
    return is_there


def failing_calls(ground, checks):
    """Each of some calls fails once: no run is spoilt, and the next backfill mends it."""
    if not has_fault_library("failing calls"):
        return
    tiny = ground.file("tiny")
    expected = build_store(tiny, 6, ground.seed + 5, [], archives=False)
    done_store = ground.copy(tiny)
    backfill(done_store)
    wanted = contents(done_store)
    before = contents(tiny)
    shim = lambda store, **more: {"FAULT_ROOT": str(store), "LD_PRELOAD": patching.SHIM,
                                  **{key: str(value) for key, value in more.items()}}
    store, log = ground.copy(tiny), ground.file("log")
    log.write_bytes(b"")
    backfill(store, "--jobs", "1", program=patching.DYNAMIC,
             environment=shim(store, FAULT_LOG=log))
    calls = [line.split()[1].decode() for line in log.read_bytes().splitlines()]
    die = random.Random(ground.seed)
    writing = [i for i, name in enumerate(calls, 1) if name in (
        "write", "fsync", "rename", "renameat", "fdatasync", "fchmod", "link", "syncfs")]
    chosen = sorted(set(die.sample(range(1, len(calls) + 1), min(15, len(calls)))
                        + die.sample(writing, min(15, len(writing)))))
    faults = []
    for at in chosen:
        shutil.rmtree(store)
        shutil.copytree(tiny, store, symlinks=True)
        number = die.choice([5, 28, 13, 30])
        done = backfill(store, "--jobs", "1", program=patching.DYNAMIC,
                        environment=shim(store, FAULT_AT=at, FAULT_ERRNO=number))
        label = f"call {at} ({calls[at - 1]}) fails with {number}"
        if done.returncode not in (0, 1):
            faults.append(f"{label}: exit status {done.returncode}: {tail(done.stderr)}")
        now = contents(store)
        for one in expected:
            if one.aggregate and now.get(one.aggregate) not in (before[one.aggregate],
                                                                wanted[one.aggregate]):
                row = patching.parsed(now.get(one.aggregate) or b"")
                if row is None or row.get("power_valid") != 0:
                    faults.append(f"{label}: {one.run} is neither old nor new")
            if one.aggregate and patching.claims(now.get(one.aggregate) or b"") \
                    and now.get(one.aggregate) == wanted[one.aggregate] \
                    and before[one.aggregate] != wanted[one.aggregate] \
                    and judging.sidecar_path(one.aggregate) not in now:
                faults.append(f"{label}: {one.run} claims power without its record")
        backfill(store)
        faults += [f"{label}: {fault}" for fault in differences(wanted, contents(store))]
    print(f"failing calls: {len(chosen)} of {len(calls)}")
    checks.add("calls that fail spoil no run", faults, len(chosen))


CHECKS = {"big": big_store, "dry": dry_run, "output": output, "shards": shards, "changes": changes,
          "options": options, "usage": usage, "archive": archive_as_store, "hostile": hostile,
          "kills": kills, "interrupts": interrupts, "waiting": interrupted_while_waiting,
          "readers": interrupted_without_readers, "two": two_at_once, "vanish": vanishing_and_growing, "disk": full_disk,
          "rights": rights, "names": long_names, "terminal": terminal, "calls": failing_calls}


def main():
    # What was started in a shell's background ignores Ctrl-C, and so would all that is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=patching.size(1000, 200))
    parser.add_argument("--kills", type=int, default=patching.size(15, 3))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="1/1", metavar="I/N")
    parser.add_argument("names", nargs="*", choices=[*CHECKS, []])
    chosen = parser.parse_args()
    part, parts = map(int, chosen.part.split("/"))
    random.seed(chosen.seed)
    print(f"seed {chosen.seed}", flush=True)
    checks = patching.Checks()
    with patching.fresh_folder("backfill") as root:
        ground = Ground(root, chosen.runs, chosen.seed)
        for name in (chosen.names or list(CHECKS))[part - 1::parts]:
            began = time.monotonic()
            try:
                if name in ("kills", "interrupts"):
                    CHECKS[name](ground, checks, chosen.kills)
                else:
                    CHECKS[name](ground, checks)
            except (subprocess.TimeoutExpired, OSError, ValueError, KeyError, IndexError) as error:
                checks.add(f"{name}: broke off", [f"{type(error).__name__}: {error}"])
            print(f"({name}: {time.monotonic() - began:.1f} s)", flush=True)
    return checks.end()


if __name__ == "__main__":
    # A caller in the background may have had it ignored, which the program would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main())
