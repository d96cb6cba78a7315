#!/usr/bin/env python3
"""Zones that nothing states: two witnesses that agree, or no number.

The recordings that once were published under a wrong zone, and the witnesses that settle one: the
load's edges, the other runs of the recorder, the file's own time.

usage: tests/backfill/witnesses_test.py   with $AGGREGATE_POWER
"""
import json
import os
import pathlib
import shutil
import sys
import tarfile
import zipfile

import judging  # noqa: F401  (finds the helpers of the other tests)
import patching
from cases_test import program
from judging import read_report

START = 1767225600  # 2026-01-01T00:00:00Z
LABEL = "conc4_b200-nv-0"
# Starts that share no timer: neither a minute nor five minutes are alike.
STARTS = [START, START + 5030, START + 9137, START + 14000 + 71]


class Store:
    def __init__(self, root):
        self.root = root
        self.folder = root / "store"
        self.reports = 0

    def run(self, name, phases, load, start=START, zone="UTC", watts=None, hardware=None):
        """A run whose phases are "SECONDS:WATTS"; `load` is the one that is measured, from 1."""
        folder = self.folder / f"power_audit_{name}"
        folder.mkdir(parents=True)
        words = [word for phase in phases.split() for word in ("--phase", phase)]
        done = program("synthesize", "--gpus", "2", "--start", start, "--timezone", zone, *words, "--benchmark-phase",
                       load, "--out", folder / "gpu_metrics.csv", "--bench-out", folder / f"{name}.json", "--agg-out",
                       folder / f"agg_{name}.json")
        assert done.returncode == 0, done.stderr
        if hardware is not None:
            (folder / f"agg_{name}.json").write_text(json.dumps({"hw": hardware, "tp": 2}))
        return folder

    def good(self, i, zone="UTC", prefix="run"):
        """One of several runs of a recorder: 100 W, then some minutes at 600 W, then 100 W."""
        return self.run(f"{prefix}{i}_{LABEL}", f"60:100 {300 + i}:600 60:100", 2, STARTS[i], zone)

    def backfill(self, *options, store=None):
        self.reports += 1
        report = self.root / f"report{self.reports}.jsonl"
        self.done = program("backfill", store or self.folder, "--report", report, *options)
        self.lines = {line["run"]: line for line in read_report(report)} if report.exists() else {}
        return {run: line["outcome"] for run, line in sorted(self.lines.items())}

    def record(self, name):
        path = self.folder / f"power_audit_{name}" / f"power_validation_{name}.json"
        return json.loads(path.read_text())

    def evidence(self, name):
        found = self.record(name)["computed_from"]["timezone_evidence"]
        return found["level"], found["witnesses"], found["rivals"]


def same(checks, what, wanted, found):
    checks.add(what, [] if wanted == found else [f"expected {wanted}", f"got      {found}"])


def write_rows(folder, unix_s_and_watts):
    lines = ["timestamp, index, power.draw [W]"]
    for unix_s, watts in unix_s_and_watts:
        day, second = divmod(int(unix_s) - START, 86400)
        hour, minute, second = second // 3600, second // 60 % 60, second % 60
        date = "2026/01/01" if day == 0 else "2025/12/31"
        lines += [f"{date} {hour:02}:{minute:02}:{second:02}.000, {gpu}, {watts}.00 W" for gpu in (0, 1)]
    (folder / "gpu_metrics.csv").write_text("\n".join(lines) + "\n")


def move_window(folder, by_s):
    """The result of a run that was so much later than its recording says."""
    name = folder.name.removeprefix("power_audit_")
    path = folder / f"{name}.json"
    result = json.loads(path.read_text())
    for key in ("benchmark_start_time_unix", "benchmark_end_time_unix"):
        result[key] += by_s
    path.write_text(json.dumps(result))


# ---- What was published under a wrong zone

def hidden_between_its_neighbours(root, checks):
    """605 W ran straight into 600 W on either side; 650 W for as long came half an hour, or an hour, later."""
    for name, gap in (("half", 1200), ("hour", 3000)):
        store = Store(root / name)
        store.run("r", f"60:100 200:600 300:605 300:600 {gap}:100 300:650 60:100", 3)
        for options in ([], ["--timezone", "evidence"]):
            same(checks, f"{name} {options}", {"r": "ambiguous"}, store.backfill(*options))


def hole_of_an_hour(root, checks):
    """23:50 to 00:00 and 01:00 to 01:10, 600 W within 150 s of each full hour: no clock was turned."""
    store = Store(root)
    folder = store.run("r", "450:100 300:600 450:100", 2, START - 600)
    times = [*range(START - 600, START), *range(START + 3600, START + 4200)]
    near = lambda at: min(abs(at - START), abs(at - START - 3600)) <= 150
    write_rows(folder, [(at, 600 if near(at) else 100) for at in times])
    for options in ([], ["--timezone", "evidence"]):
        same(checks, f"hole {options}", {"r": "ambiguous"}, store.backfill(*options))


def late_recorder(root, checks):
    """It began 20 s after the window; another load began 900 s, or 3600 s, after it."""
    for name, gap in (("quarter", 600), ("hour", 3300)):
        store = Store(root / name)
        folder = store.run("r", f"280:600 {gap}:100 320:620 60:100", 1, START + 20)
        path = folder / "r.json"
        result = json.loads(path.read_text())
        result |= {"benchmark_start_time_unix": START, "benchmark_end_time_unix": START + 300, "duration": 300}
        path.write_text(json.dumps(result))
        for options in ([], ["--timezone", "evidence"]):
            found = store.backfill(*options)["r"]
            checks.add(f"late, {name} {options}", [] if found in ("ambiguous", "not_valid") else [found])


def stale_recording(root, checks):
    """The recording is of the job one hour earlier: alone, and in stores of such a timer."""
    store = Store(root)
    move_window(store.run("r", "60:100 300:600 60:100", 2), 3600)
    same(checks, "stale", {"r": "ambiguous"}, store.backfill())
    several = Store(root / "several")
    for i in range(6):
        move_window(several.run(f"r{i}_{LABEL}", f"60:100 {300 + i}:600 60:100", 2, START + 3600 * i + i % 3), 3600)
    same(checks, "stale on a timer", {"ambiguous"}, set(several.backfill().values()))


def weak_beside_strong(root, checks):
    """22 W for 263 s, over 8 W of noise; 400 W for as long came an hour later."""
    store = Store(root)
    folder = store.run("r", "300:100 263:122 3337:100 263:500 60:100", 2)
    done = program("synthesize", "--gpus", "2", "--timezone", "UTC", "--noise", "14", "--phase", "300:100", "--phase",
                   "263:122", "--phase", "3337:100", "--phase", "263:500", "--phase", "60:100", "--out",
                   folder / "gpu_metrics.csv")
    assert done.returncode == 0, done.stderr
    for options in ([], ["--timezone", "evidence"]):
        same(checks, f"weak {options}", {"r": "ambiguous"}, store.backfill(*options))


# ---- Two witnesses

def the_other_runs(root, checks):
    store = Store(root)
    for i in range(2):
        store.good(i, "+05:30")
    same(checks, "one other is not enough", {"ambiguous"}, set(store.backfill().values()))
    store.good(2, "+05:30")
    same(checks, "two others are", {"patched"}, set(store.backfill().values()))
    same(checks, "the record", ("two_witnesses", ["edges", "consensus"], []), store.evidence(f"run0_{LABEL}"))
    # 100 s at 100 W and 300 s at 600 W with samples on the edges: the mean within is 600 W.
    same(checks, "the power", 600.0, store.record(f"run0_{LABEL}")["metrics"]["avg_power_w"])
    checks.add("the summary", [] if "timezone +05:30              3  3 two_witnesses\n" in store.done.stdout
               else [store.done.stdout])
    zone = store.lines[f"run1_{LABEL}"]["zone"]
    same(checks, "the report", {"recorder": "b200-nv-0", "level": "two_witnesses", "witnesses": ["edges", "consensus"],
                                "recorder_timezone": "+05:30", "contradicts": False}, zone)
    same(checks, "a second time", {"unchanged"}, set(store.backfill().values()))
    checks.add("the summary again", [] if "timezone +05:30              3  3 two_witnesses\n" in store.done.stdout
               else [store.done.stdout])
    # Those that are up to date still speak for one that comes later.
    store.run(f"late_{LABEL}", "60:100 300:600 3300:100 300:600 60:100", 2, START + 86400 + 77, "+05:30")
    found = store.backfill()
    same(checks, "two equal loads", "patched", found[f"late_{LABEL}"])
    same(checks, "its record", ("two_witnesses", ["edges", "consensus"], []), store.evidence(f"late_{LABEL}"))


def without_edges(root, checks):
    store = Store(root)
    for i in range(2):
        store.good(i)
    store.run(f"flat_{LABEL}", "200:600 300:600 200:600", 2, START + 40090)
    store.run(f"idle_{LABEL}", "200:120 300:120 200:120", 2, START + 50177)
    found = store.backfill()
    same(checks, "flat at a load's power", "patched", found[f"flat_{LABEL}"])
    same(checks, "its record", ("two_witnesses", ["consensus"], ["not_in_recording"]), store.evidence(f"flat_{LABEL}"))
    same(checks, "flat at idle power", "ambiguous", found[f"idle_{LABEL}"])


def a_contradiction(root, checks):
    store = Store(root)
    for i in range(3):
        store.good(i)
    store.good(3, "+01:00", "other")
    same(checks, "contradicted", {"ambiguous"}, set(store.backfill().values()))
    against = store.lines[f"other3_{LABEL}"]
    same(checks, "who contradicts", {f"other3_{LABEL}"},
         {run for run, line in store.lines.items() if line["zone"]["contradicts"]})
    same(checks, "the recorder's zone", "+00:00", against["zone"]["recorder_timezone"])
    named = "1 of the runs of 'b200-nv-0' contradict the others"
    checks.add("named in the others", [] if all(
        named in line["details"] and f"other3_{LABEL}.json (+01:00)" in line["details"]
        for line in store.lines.values()) else [str(against["details"])])
    # A zone file for it, and nothing contradicts any more but what is stated.
    (store.folder / f"power_audit_other3_{LABEL}" / "gpu_metrics_context.json").write_text(
        '{"timestamp_timezone": "+01:00"}')
    found = store.backfill()
    same(checks, "stated, it is patched", "patched", found[f"other3_{LABEL}"])
    same(checks, "and still contradicts", {"ambiguous"},
         {outcome for run, outcome in found.items() if run.startswith("run")})


def a_zone_file_that_its_own_run_refutes(root, checks):
    """Two bad zone files do not decide a third run: its loads are an hour apart, at 500 W and 600 W."""
    store = Store(root)
    for i in range(2):
        (store.good(i) / "gpu_metrics_context.json").write_text('{"timestamp_timezone": "+01:00"}')
    store.run(f"two_{LABEL}", "60:100 300:500 3300:100 300:600 60:100", 2, START + 40090)
    for i in range(2):
        found = store.backfill()
        same(checks, f"pass {i}", ("ambiguous", "not_valid"), (found[f"two_{LABEL}"], found[f"run0_{LABEL}"])
             if i == 0 else (found[f"two_{LABEL}"], "not_valid"))


def copies_of_a_run(root, checks):
    """A run and a copy of its folder are one witness."""
    store = Store(root)
    folder = store.good(0)
    (folder / "gpu_metrics_context.json").write_text('{"timestamp_timezone": "UTC"}')
    shutil.copytree(folder, store.folder / "copy" / folder.name)
    store.good(1)
    same(checks, "not two", "ambiguous", store.backfill()[f"run1_{LABEL}"])


def two_machines_of_one_kind(root, checks):
    """Two at +01:00 do not settle which load of a third, in UTC, is its run's."""
    store = Store(root)
    for i in range(2):
        store.run(f"r{i}", f"60:100 {300 + i}:600 60:100", 2, STARTS[i], "+01:00", hardware="b200")
    store.run("two", "60:100 300:500 3300:100 300:600 60:100", 2, START + 40090, "UTC", hardware="b200")
    same(checks, "refused", "ambiguous", store.backfill()["two"])


def a_part_of_the_store(root, checks):
    """Those who contradict, and those that were copied too, may lie in the other part."""
    store = Store(root)
    for i in range(3):
        store.good(i)
    store.good(3, "+01:00", "other")
    same(checks, "with --only", {"ambiguous"}, set(store.backfill("--only", "run*").values()))
    names = root / "names"
    names.write_text("".join(f"run{i}_{LABEL}\n" for i in range(3)))
    same(checks, "with --runs", {"ambiguous"}, set(store.backfill("--runs", names).values()))

    copies = Store(root / "copies")
    for name, start in (("r", START), ("s", START + 86400)):
        folder = copies.run(name, "60:100 300:600 60:100", 2, start)
        set_written(folder, START + 425)
        os.utime(folder / f"{name}.json", (START + 365,) * 2)
    for options in (["--only", "r"], [], ["--shard", "0/2"], ["--shard", "1/2"]):
        found = copies.backfill(*options)
        checks.add(f"copied, {options}", [] if "patched" not in found.values() else [str(found)])


def finished_neighbours(root, checks):
    """A recording of a finished run, written in the same second, still tells of a copy."""
    store = Store(root)
    other = store.run("s", "60:100 300:600 60:100", 2, START + 86400)
    (other / "gpu_metrics_context.json").write_text('{"timestamp_timezone": "UTC"}')
    folder = store.run("r", "60:100 300:600 60:100", 2)
    set_written(other, START + 425.2)
    set_written(folder, START + 425)
    os.utime(folder / "r.json", (START + 365,) * 2)
    for i in range(2):
        same(checks, f"pass {i}", "ambiguous", store.backfill()["r"])


def links_to_other_files(root, checks):
    """Nothing is written through a link to another file of the store."""
    store = Store(root)
    folder = store.run("r", "60:100 300:600 60:100", 2)
    other = store.run("s", "60:100 300:600 60:100", 2, START + 5030)
    for target in ("gpu_metrics.csv", "s.json", "agg_s.json"):
        record = folder / "power_validation_r.json"
        record.unlink(missing_ok=True)
        record.symlink_to(other / target)
        before = (other / target).read_bytes()
        same(checks, f"record to {target}", "not_writable", store.backfill("--timezone", "UTC", "--only", "r")["r"])
        same(checks, f"{target} is as it was", before, (other / target).read_bytes())


def summer_and_winter(root, checks):
    """Berlin in January and in July: one zone, two offsets."""
    store = Store(root)
    for i, start in enumerate([START, START + 5030, START + 15811200 + 9137, START + 15811200 + 14071]):
        store.run(f"r{i}_{LABEL}", "60:100 300:600 60:100", 2, start, "Europe/Berlin")
    same(checks, "patched", {"patched"}, set(store.backfill().values()))
    same(checks, "their offsets", ["+01:00", "+01:00", "+02:00", "+02:00"],
         [store.lines[run]["timezone"] for run in sorted(store.lines)])
    same(checks, "the recorder's zone", "Europe/Berlin", store.lines[f"r0_{LABEL}"]["zone"]["recorder_timezone"])


def by_hardware(root, checks):
    """Runs whose names carry no label, on hardware that their aggregates name."""
    store = Store(root)
    for i in range(3):
        store.run(f"r{i}", f"60:100 {300 + i}:600 60:100", 2, STARTS[i], hardware="mi355x")
    store.run("other", "60:100 300:600 60:100", 2, STARTS[3], hardware="b200")
    found = store.backfill()
    same(checks, "of one hardware", {"other": "ambiguous", "r0": "patched", "r1": "patched", "r2": "patched"}, found)
    same(checks, "the recorder", "mi355x", store.lines["r0"]["zone"]["recorder"])


def set_written(folder, unix_s):
    os.utime(folder / "gpu_metrics.csv", (unix_s, unix_s))


def the_files_own_time(root, checks):
    last = START + 60 + 300 + 60
    for what, late_s, wanted in (("soon after", 5, "patched"), ("a minute after", 60, "patched"),
                                 ("later", 62, "ambiguous"), ("before", -30, "ambiguous"),
                                 ("as another zone would have it", 3605, "ambiguous")):
        store = Store(root / what)
        folder = store.run("r", "60:100 300:600 60:100", 2, zone="+02:00")
        set_written(folder, last + late_s)
        same(checks, f"written {what}", {"r": wanted}, store.backfill())
        if what == "soon after":
            same(checks, "the record", ("two_witnesses", ["edges", "file_time"], []), store.evidence("r"))


def copied_files(root, checks):
    """Of files that were written in one second, the times are those of a copy."""
    store = Store(root)
    folder = store.run("r", "60:100 300:600 60:100", 2)
    set_written(folder, START + 425)
    os.utime(folder / "r.json", (START + 425.3,) * 2)
    same(checks, "with its result", {"r": "ambiguous"}, store.backfill())
    os.utime(folder / "r.json", (START + 365,) * 2)
    other = store.run("s", "60:100 300:600 60:100", 2, START + 86400)
    set_written(other, START + 425.9)
    same(checks, "with another recording", "ambiguous", store.backfill()["r"])
    set_written(other, START + 427.5)
    same(checks, "alone", "patched", store.backfill()["r"])


def times_in_archives(root, checks):
    """A tar has UTC times; a zip has them in a field of its own, or those of a clock on some wall."""
    store = Store(root)
    folder = store.run("r", "60:100 300:600 60:100", 2)
    set_written(folder, START + 425)
    os.utime(folder / "r.json", (START + 365,) * 2)
    with tarfile.open(root / "a.tar", "w") as archive:
        archive.add(folder, "power_audit_r")
    same(checks, "tar", {"r": "patched"}, store.backfill("--output", root / "tar", store=root / "a.tar"))

    def zipped(name, extra):
        with zipfile.ZipFile(root / name, "w") as archive:
            for path in sorted(folder.iterdir()):
                info = zipfile.ZipInfo(f"power_audit_r/{path.name}", (2026, 1, 1, 0, 7, 4))
                at = int(path.stat().st_mtime)
                if extra:  # "UT": flags, then the times of the last change and the last access
                    info.extra = b"UT\x09\x00\x03" + at.to_bytes(4, "little") + (at + 7).to_bytes(4, "little")
                archive.writestr(info, path.read_bytes())
        return root / name

    same(checks, "zip with UTC", {"r": "patched"},
         store.backfill("--output", root / "zip", store=zipped("a.zip", True)))
    same(checks, "zip without", {"r": "ambiguous"},
         store.backfill("--output", root / "plain", store=zipped("b.zip", False)))


def by_the_users_word(root, checks):
    store = Store(root)
    store.run("r", "60:100 300:600 60:100", 2)
    same(checks, "two are asked for", {"r": "ambiguous"}, store.backfill())
    details = store.lines["r"]["details"]
    checks.add("what is missing", [] if "by the rise and fall of the power, the time zone is +00:00" in details
               and "may belong to another run" in details else [details])
    same(checks, "one is enough", {"r": "patched"}, store.backfill("--timezone", "evidence"))
    same(checks, "the record", ("one_witness", ["edges"], ["not_in_recording"]), store.evidence("r"))
    same(checks, "two again: what stands is not touched", {"r": "ambiguous"}, store.backfill())
    same(checks, "stated", {"r": "patched"}, store.backfill("--timezone", "UTC"))
    same(checks, "its record", ("stated", ["option"], []), store.evidence("r"))
    (store.folder / "power_audit_r" / "gpu_metrics_context.json").write_text('{"timestamp_timezone": "UTC"}')
    same(checks, "by a zone file", {"r": "patched"}, store.backfill())
    same(checks, "its record", ("stated", ["zone_file"], []), store.evidence("r"))


def a_zone_file_that_does_not_fit(root, checks):
    store = Store(root)
    folder = store.run("r", "60:100 300:600 60:100", 2)
    (folder / "gpu_metrics_context.json").write_text('{"timestamp_timezone": "+03:00"}')
    same(checks, "not valid", {"r": "not_valid"}, store.backfill())
    details = store.lines["r"]["details"]
    checks.add("with the offset that would cover the window", [] if "+00:00" in details else [details])


def shards(root, checks):
    """Runs of one recorder are in one shard, and come out as in the whole store."""
    store = Store(root)
    for i in range(3):
        store.good(i)
    found = [store.backfill("--shard", f"{i}/3") for i in range(3)]
    same(checks, "one shard has them all", [{"patched"}], [set(one.values()) for one in found if one])
    same(checks, "and all are there", 3, sum(map(len, found)))


def order_and_threads(root, checks):
    """What comes of a run depends on the runs alone, not on who is first."""
    records = []
    for jobs in (1, 2, 8):
        store = Store(root / str(jobs))
        for i in range(4):
            store.good(i)
        store.run(f"flat_{LABEL}", "200:600 300:600 200:600", 2, START + 40090)
        store.backfill("--jobs", str(jobs))
        records.append({name: store.record(name) for name in store.lines})
    same(checks, "the same records", [records[0]] * 3, records)


def main():
    checks = patching.Checks()
    tests = [hidden_between_its_neighbours, hole_of_an_hour, late_recorder, stale_recording, weak_beside_strong,
             the_other_runs, without_edges, a_contradiction, a_zone_file_that_its_own_run_refutes, copies_of_a_run,
             two_machines_of_one_kind, a_part_of_the_store, finished_neighbours, links_to_other_files,
             summer_and_winter, by_hardware, the_files_own_time,
             copied_files, times_in_archives, by_the_users_word, a_zone_file_that_does_not_fit, shards,
             order_and_threads]
    for test in tests:
        with patching.fresh_folder(test.__name__) as root:
            test(pathlib.Path(root), checks)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
