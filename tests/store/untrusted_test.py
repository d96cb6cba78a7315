#!/usr/bin/env python3
"""Checks that no file, link or name in an untrusted folder or archive harms who reads it.

Nothing outside of the store is read into an output, nothing but what is ours is written, no special file
makes a command wait, and no file is read into memory beyond its limit.

usage: tests/store/untrusted_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import gzip
import io
import json
import os
import pathlib
import resource
import shutil
import socket
import subprocess
import sys
import tarfile
import time
import zipfile

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))
from running import PROGRAM, run_tests  # noqa: E402  (beside the folders that share it)

SECRET = "SECRET-WORD"
LOAD = ["--gpus", "2", "--phase", "5:100", "--phase", "10:300", "--phase", "5:100"]
SINGLE = ["--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
          "--expected-num-gpus", "2", "--timezone", "UTC"]


def program(folder, *words, seconds=120, memory=0, **more):
    """Status and what was said; `memory`: the address space in MiB that it may use."""
    def limit():
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory << 20, memory << 20))
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, capture_output=True, text=True,
                          errors="replace", timeout=seconds, preexec_fn=limit,
                          env={"PATH": os.environ["PATH"], "TZ": "UTC", **more})
    said = done.stdout + done.stderr
    assert "bad_alloc" not in said, f"{words}: {said}"
    return done.returncode, said


def make_run(folder, name="run", watts=300):
    folder.mkdir(parents=True, exist_ok=True)
    load = [word.replace("300", str(watts)) for word in LOAD]
    status, said = program(folder, "synthesize", *load, "--out", "gpu_metrics.csv", "--bench-out",
                           f"{name}.json", "--agg-out", f"agg_{name}.json")
    assert status == 0, said
    return folder


def lines_of(folder, store="store", *words):
    report = folder / "report.jsonl"
    report.unlink(missing_ok=True)
    status, said = program(folder, "backfill", store, "--timezone", "UTC", "--report", report, *words)
    return {line["run"]: line for line in map(json.loads, report.read_text().splitlines())}, said


# ---- Writing

def single_run(folder):
    return program(folder, *SINGLE, "--schema-version", "2")


def measured(folder):
    return program(folder, "measure", "run.json", "gpu_metrics.csv", "--timezone", "UTC", "--out", "agg_m.json")


def test_a_record_replaces_only_a_record(folder):
    make_run(folder)
    record = folder / "power_validation_run.json"
    precious = folder / "profile"
    precious.write_text("precious")
    other = {"other": "mine"}

    def put(what):
        record.unlink(missing_ok=True)
        if what == "link":
            record.symlink_to("profile")
        elif what == "absolute link":
            record.symlink_to(precious.resolve())
        elif what == "link to nothing":
            record.symlink_to("new")
        elif what == "chain":
            (folder / "hop").unlink(missing_ok=True)
            (folder / "hop").symlink_to("profile")
            record.symlink_to("hop")
        elif what == "fifo":
            os.mkfifo(record)
        elif what == "socket":
            socket.socket(socket.AF_UNIX).bind(str(record))
        elif what == "device":
            record.symlink_to("/dev/zero")
        elif what == "hard link":
            os.link(precious, record)
        elif what == "huge":
            record.touch()
            os.truncate(record, 40 << 30)
        else:
            record.write_text(json.dumps(other) if what == "JSON" else what)
    for what in ("link", "absolute link", "link to nothing", "chain", "fifo", "socket", "device", "hard link",
                 "huge", "JSON", "no JSON", '{"power_valid": true}', "[" * 100000):
        put(what)
        status, said = single_run(folder)
        assert "validation_result_unwritable" in said, f"{what[:20]}: {said}"
        assert precious.read_text() == "precious", what
        assert not (folder / "new").exists(), what
        if what == "JSON":
            assert json.loads(record.read_text()) == other
        assert json.loads((folder / "agg_run.json").read_text()).get("power_valid") != 1, what
    record.unlink()
    for _ in range(2):  # a new record, then one that is replaced
        assert single_run(folder)[0] == 0 and json.loads(record.read_text())["power_valid"] is True
    record.write_text("")  # holds nothing
    single_run(folder)
    assert json.loads(record.read_text())["power_valid"] is True


def test_a_link_of_its_own_name_is_followed(folder):
    make_run(folder)
    (folder / "real").mkdir()
    (folder / "agg_run.json").rename(folder / "real" / "agg_run.json")
    (folder / "agg_run.json").symlink_to("real/agg_run.json")
    (folder / "power_validation_run.json").symlink_to("real/power_validation_run.json")
    assert single_run(folder)[0] == 0
    assert json.loads((folder / "real" / "agg_run.json").read_text())["power_valid"] == 1
    assert json.loads((folder / "real" / "power_validation_run.json").read_text())["power_valid"] is True


def test_a_mistyped_aggregate_does_not_cost_the_record_of_another(folder):
    """What is not there, or no aggregate; the record names its own aggregate by a path, or from another folder."""
    make_run(folder)
    assert single_run(folder)[0] == 0
    record = folder / "power_validation_run.json"
    good, aggregate = record.read_bytes(), (folder / "agg_run.json").read_bytes()
    (folder / "folder").mkdir()
    (folder / "list.json").write_text("[1]")
    (folder / "empty.json").write_text("")
    (folder / "words.txt").write_text("words")
    os.mkfifo(folder / "pipe")

    def patch(name, place=folder, **more):
        words = [word.replace("agg_run.json", name) for word in SINGLE]
        words = [str(folder / word) if (folder / word).is_file() and place != folder else word for word in words]
        return program(place, *words, "--require-power", **more)
    for name in ("agg_rnu.json", "folder", "list.json", "empty.json", "words.txt", "pipe", "no/agg_run.json", "/dev/null"):
        for place in (folder, folder / "folder"):
            status, said = patch(name if place == folder or name.startswith("/") else f"../{name}", place)
            assert status == 1 and "aggregate_result_" in said and "validation_result_unwritable" in said, f"{name}: {said}"
            assert "is the audit record of" in " ".join(said.split()), said
            assert (record.read_bytes(), (folder / "agg_run.json").read_bytes()) == (good, aggregate), name
    # What the run itself has, or the record's aggregate lacks, changes the record as before.
    (folder / "agg_run.json").write_text("[1]")
    assert patch("agg_run.json")[0] == 1 and json.loads(record.read_text())["reasons"] == ["aggregate_result_unwritable"]
    (folder / "agg_run.json").write_text("{}")
    assert patch("agg_run.json")[0] == 0 and json.loads(record.read_text())["power_valid"] is True
    (folder / "agg_run.json").unlink()
    assert patch("agg_rnu.json")[0] == 1 and json.loads(record.read_text())["reasons"] == ["aggregate_result_missing"]
    assert patch("agg_run.json")[0] == 1 and json.loads(record.read_text())["reasons"] == ["aggregate_result_missing"]
    (folder / "agg_run.json").write_text("{}")
    (folder / "agg_other.json").write_text("{}")
    assert patch("agg_run.json")[0] == 0
    assert patch("agg_other.json")[0] == 0, "another aggregate that can be patched has the record next"
    assert json.loads(record.read_text())["computed_from"]["aggregate"] == "agg_other.json"


def test_no_output_is_written_through_a_link(folder):
    make_run(folder)
    precious = folder / "profile"
    outputs = {
        "agg_m.json": ["measure", "run.json", "gpu_metrics.csv", "--timezone", "UTC", "--out"],
        "page.html": ["report", "agg_run.json", "--out"],
        "runs.csv": ["export", "agg_run.json", "--format", "csv", "--out"],
        "p.svg": ["plot", "run.json", "gpu_metrics.csv", "--timezone", "UTC", "--out"],
        "requests.jsonl": [*SINGLE, "--per-request"],
    }
    assert single_run(folder)[0] == 0
    for name, words in outputs.items():
        for target in ("profile", str(precious.resolve()), "/dev/full"):
            precious.write_text("precious")
            path = folder / name
            path.unlink(missing_ok=True)
            path.symlink_to(target)
            program(folder, *words, name)
            assert precious.read_text() == "precious", f"{name} -> {target}"
            assert path.is_symlink(), name


def test_special_files_are_not_waited_for(folder):
    make_run(folder)
    aggregate = folder / "agg_run.json"
    text = aggregate.read_text()
    for target in ("/dev/zero", "/dev/full", "/dev/random"):
        aggregate.unlink()
        aggregate.symlink_to(target)
        status, said = program(folder, *SINGLE, seconds=20, memory=2000)
        assert "aggregate_result" in said, said
        for words in (["inspect", target], ["measure", "run.json", target], ["report", target, "--out", "x.html"],
                      ["export", target, "--format", "csv"], ["verify", target]):
            status, said = program(folder, *words, seconds=20, memory=2000)
            assert status != 0, words
    aggregate.unlink()
    os.mkfifo(aggregate)
    assert "aggregate_result" in program(folder, *SINGLE, seconds=20)[1]
    aggregate.unlink()
    aggregate.write_text(text)
    for beside in ("gpu_metrics_context.json", "gpu_metrics_energy_start.csv", "gpu_metrics_identity.csv"):
        os.mkfifo(folder / beside)
    program(folder, *SINGLE, seconds=20)
    program(folder, "inspect", "gpu_metrics.csv", seconds=20)
    program(folder, "backfill", folder, "--timezone", "UTC", seconds=20)


def test_pipes_may_be_results_and_recordings(folder):
    make_run(folder)
    done = subprocess.run(["bash", "-c", f"cat gpu_metrics.csv | {PROGRAM} measure <(cat run.json) - --timezone UTC"],
                          cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "6000" in done.stdout.replace(",", ""), done.stdout + done.stderr
    with open(folder / "run.json", encoding="utf-8") as result:
        done = subprocess.run([PROGRAM, "measure", "/dev/stdin", "gpu_metrics.csv", "--timezone", "UTC"], cwd=folder,
                              stdin=result, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


# ---- Reading

def make_store(folder):
    """A run in a store, with its record, next to secrets that are not in it."""
    run = make_run(folder / "store" / "power_audit_run")
    (folder / "netrc").write_text(f"machine,login,{SECRET}\n")
    (folder / "config.json").write_text(json.dumps({"model": SECRET, "power_valid": 1, "avg_power_w": 5.0,
                                                    "total_gpu_energy_j": 7.0}))
    return run


COMMANDS = (["report", "store", "--out", "page.html"], ["export", "store", "--format", "jsonl"],
            ["export", "store", "--format", "prometheus"], ["compare", "store", "--json"],
            ["recommend", "store", "--json"], ["verify", "store"], ["verify", "store", "--json"],
            ["retract", "store", "--where", "version=*", "--dry-run"])


def outputs_of(folder, *options):
    """What each command says and writes."""
    for words in COMMANDS:
        page = folder / "page.html"
        page.unlink(missing_ok=True)
        status, said = program(folder, *words, *options, seconds=30)
        yield words, status, said + (page.read_text() if page.exists() else "")


def test_names_in_records_do_not_lead_out(folder):
    run = make_store(folder)
    assert program(run, *SINGLE, "--schema-version", "2")[0] == 0
    path = run / "power_validation_run.json"
    good = json.loads(path.read_text())
    (folder / "store" / "sub").symlink_to(folder)
    hash_of_nothing = "99aa06d3014798d86001c324468d497f"
    for name in (str(folder / "config.json"), "../../config.json", "../../../" + folder.name + "/config.json",
                 "config.json", "./config.json", "store/../config.json", "sub/config.json",
                 "store/sub/config.json", "/proc/self/environ", "/proc/kmsg", "/etc/passwd"):
        record = json.loads(json.dumps(good))
        record["computed_from"]["aggregate"] = name
        record["telemetry_source"] = record["benchmark_result"] = name
        record["computed_from"]["inputs"] = {name: {"bytes": 1, "xxh3_128": hash_of_nothing}}
        path.write_text(json.dumps(record))
        for words, _, text in outputs_of(folder):
            assert SECRET not in text, f"{name}: {words}: {text}"
            assert "XXH3" not in text, f"{name}: {words}: {text}"
        if name not in ("/proc/kmsg",):
            verify = program(folder, "verify", "store")
            assert verify[0] == 1, verify
        if "config" in name and not name.startswith("/") and "/" not in name.lstrip("./"):
            continue
        if (folder / name).exists() or name.startswith("/"):
            assert "leads out of store" in verify[1], f"{name}: {verify[1]}"
    record["computed_from"]["aggregate"] = str(folder / "config.json")
    record["computed_from"]["inputs"] = {}
    path.write_text(json.dumps(record))
    for options in (["--follow-links"], ["--artifacts", folder]):
        _, said = program(folder, "export", "store", "--format", "jsonl", *options)
        assert SECRET in said, f"{options}: {said}"


def test_links_in_a_store_do_not_lead_out(folder):
    run = make_store(folder)
    kept = folder / "kept.csv"
    csv = run / "gpu_metrics.csv"
    csv.rename(kept)
    for target, secret in ((folder / "netrc", True), ("../../netrc", True), (kept, False), ("/proc/kmsg", False),
                           ("/dev/zero", False), (folder / "loop", False)):
        csv.symlink_to(target)
        lines, said = lines_of(folder)
        text = json.dumps(lines) + said
        assert lines["run"]["outcome"] not in ("patched", "unchanged"), (target, lines)
        assert SECRET not in text and "machine" not in text, text
        csv.unlink()
    csv.symlink_to(kept)
    lines, said = lines_of(folder)
    assert "gpu_metrics.csv: leads out of store, to" in said and "--follow-links" in said, said
    for option in (["--follow-links"], ["--artifacts", folder]):
        lines, said = lines_of(folder, "store", "--force", *option)
        assert lines["run"]["outcome"] in ("patched", "unchanged"), (option, lines)
    csv.unlink()
    kept.rename(csv)
    # An aggregate, a result and a file next to the recording.
    for name in ("agg_run.json", "run.json", "gpu_metrics_context.json"):
        path = run / name
        if path.exists():
            path.rename(folder / "moved")
        path.symlink_to(folder / "config.json")
        lines, said = lines_of(folder, "store", "--force")
        assert SECRET not in json.dumps(lines) + said, name
        for words, _, text in outputs_of(folder):
            assert SECRET not in text, (name, words)
        path.unlink()
        if (folder / "moved").exists():
            (folder / "moved").rename(path)


def test_links_within_a_store_are_followed(folder):
    run = make_store(folder)
    (folder / "store" / "common").mkdir()
    (run / "gpu_metrics.csv").rename(folder / "store" / "common" / "all.csv")
    (run / "gpu_metrics.csv").symlink_to("../common/all.csv")
    (folder / "way").symlink_to("store")
    for store in ("store", "way", folder / "store", "store/../store/."):
        lines, said = lines_of(folder, store, "--force")
        assert lines["run"]["outcome"] in ("patched", "unchanged"), (store, lines, said)
        assert program(folder, "verify", store)[0] == 0, store


def test_the_report_of_a_backfill_does_not_lead_out(folder):
    make_store(folder)
    (folder / "in").mkdir()
    report = folder / "in" / "report.jsonl"
    line = {"run": "run", "outcome": "patched", "aggregate": str(folder / "config.json"), "reasons": [],
            "metrics": {}}
    report.write_text(json.dumps(line) + "\n")
    for words in (["export", report, "--format", "jsonl"], ["report", report, "--out", "page.html"],
                  ["compare", report, "--json"]):
        _, said = program(folder, *words)
        page = folder / "page.html"
        assert SECRET not in said + (page.read_text() if page.exists() else ""), words
    _, said = program(folder, "export", report, "--format", "jsonl")
    assert "leads out of" in said, said
    _, said = program(folder, "export", report, "--format", "jsonl", "--follow-links")
    assert SECRET in said, said


def test_records_that_name_each_other_end(folder):
    store = folder / "store"
    store.mkdir()
    for a, b in (("a", "b"), ("b", "a"), ("c", "c")):
        (store / f"power_validation_{a}.json").write_text(json.dumps({
            "power_valid": True, "reasons": [], "benchmark_window": {}, "metrics": {},
            "telemetry_source": f"power_validation_{b}.json", "benchmark_result": f"power_validation_{b}.json",
            "computed_from": {"aggregate": f"power_validation_{b}.json", "inputs": {}}}))
    for words, _, _ in outputs_of(folder):
        assert words


def test_long_names_are_not_there(folder):
    """No search grows faster than the names that it is given."""
    store = folder / "store"
    deep = store
    for _ in range(60):
        deep = deep / "a"
    deep.mkdir(parents=True)
    (store / "agg_r.json").write_text('{"power_valid": 1, "total_gpu_energy_j": 5.0}')

    def seconds(name, inputs=0):
        (store / "power_validation_r.json").write_text(json.dumps({
            "power_valid": True, "reasons": [], "benchmark_window": {}, "metrics": {}, "telemetry_source": name,
            "computed_from": {"aggregate": name, "inputs": {
                f"{name}{i}": {"bytes": 1, "xxh3_128": ""} for i in range(inputs)}}}))
        began = time.monotonic()
        for words, _, _ in outputs_of(folder):
            assert words
        return time.monotonic() - began
    for name in ("./" * 200000 + "x", "a/" * 100000 + "x", "../" * 100000 + "x", "x" * 1000000, "a/" * 45 + "x",
                 "/" * 5000, "a\x00b"):
        took = seconds(name)
        assert took < 5, f"{name[:12]}: {took} s"
    took = seconds("a/" * 45 + "x", 200)
    assert took < 10, f"200 names: {took} s"


# ---- Memory and temporary space

def sparse(path, size=40 << 30):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.touch()
    os.truncate(path, size)


def test_huge_files_fail_one_run(folder):
    for name in ("agg_run.json", "power_validation_run.json", "gpu_metrics_context.json",
                 "gpu_metrics_energy_start.csv", "gpu_metrics_identity.csv"):
        shutil.rmtree(folder / "store", ignore_errors=True)
        for run in ("run", "other"):
            make_run(folder / "store" / f"power_audit_{run}", run)
        is_ours = name.startswith(("agg_", "power_"))
        sparse(folder / "store" / "power_audit_run" / name, 40 << 30 if is_ours else 1 << 30)  # inputs are hashed
        report = folder / "report.jsonl"
        report.unlink(missing_ok=True)
        program(folder, "backfill", "store", "--timezone", "UTC", "--report", report, memory=900)
        lines = {line["run"]: line for line in map(json.loads, report.read_text().splitlines())}
        assert lines["other"]["outcome"] == "patched", (name, lines)
        if name in ("agg_run.json", "power_validation_run.json"):
            assert lines["run"]["outcome"] in ("failed", "not_writable"), (name, lines)
            most = 64 if name == "agg_run.json" else 16
            details = lines["run"]["details"]
            assert f"larger than {most} MiB" in details or "has holes of more than 1 GiB" in details, (name, lines)
        for words in COMMANDS if is_ours else ():
            program(folder, *words, memory=900)
        program(folder, "inspect", "store/power_audit_run/gpu_metrics.csv", memory=900)
    sparse(folder / "report.jsonl")
    program(folder, "export", "report.jsonl", "--format", "csv", memory=3000)
    program(folder, "backfill", "--undo", "report.jsonl", memory=3000)
    sparse(folder / "list.json")
    for words in (["export", "list.json", "--format", "csv"], ["compare", "list.json"], ["verify", "list.json"],
                  ["report", "list.json", "--out", "x.html"]):
        status, said = program(folder, *words, memory=3000)
        assert status != 0, (words, said)


def test_tables_that_are_read_whole_have_a_limit(folder):
    """Of what takes memory, not only of bytes: a short cell or value takes a hundred bytes."""
    header = "timestamp,tokens_per_sec,power_draw,power_limit\n"
    for name, text in (("rows", header + "2024-07-05 10:00:00,1,2,3\n" * 1_250_001), ("wide", header + "," * 5_000_001),
                       ("empty", header + "\n" * 5_000_001), ("semicolons", header + ";" * 5_000_001)):
        (folder / "stats.csv").write_text(text)
        status, said = program(folder, "recommend", "stats.csv", memory=900)
        assert status != 0 and "stats.csv: has more than 5,000,000 cells, the most that such a file may have" in said, (name, said)
    for text in ("[" + "{}," * 1_000_001 + "{}]", "[" + "1," * 2_000_001 + "1]", '[{"a":[' + "0," * 2_000_001 + "0]}]"):
        (folder / "list.json").write_text(text)
        for words in (["export", "list.json", "--format", "csv"], ["compare", "list.json"], ["report", "list.json", "--out", "x.html"]):
            status, said = program(folder, *words, memory=900)
            assert status != 0 and "list.json: has more than 2,000,000 values" in said, (text[:10], words, said)


def zipped(members):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in members:
            with archive.open(name, "w", force_zip64=True) as member:
                for piece in content if not isinstance(content, bytes) else [content]:
                    member.write(piece)
    return data.getvalue()


def most_temporary(folder, *words):
    """The most bytes of files without a name that the program had at one time."""
    child = subprocess.Popen([PROGRAM, *words], cwd=folder, env={**os.environ, "TMPDIR": str(folder)},
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    most = 0
    while child.poll() is None:
        try:
            stats = [os.stat(f"/proc/{child.pid}/fd/{n}") for n in os.listdir(f"/proc/{child.pid}/fd")]
            most = max(most, sum(s.st_blocks * 512 for s in stats if s.st_nlink == 0))
        except OSError:
            pass
        time.sleep(0.01)
    return most, child.stderr.read()


def test_nested_archives_share_one_budget(folder):
    """Three archives of 0.5 GiB in one of 100 kB: the third does not fit."""
    inner = zipped([("agg_run.json", b"{}"), ("gpu_metrics.csv", (b"\n" * (1 << 20) for _ in range(512)))])
    outer = zipped([(f"power_audit_{i}.zip", inner) for i in range(3)])
    store = folder / "store"
    store.mkdir()
    (store / "all.zip").write_bytes(outer)
    most, said = most_temporary(folder, "backfill", "store", "--dry-run")
    assert most <= 1 << 30, most
    assert "expands to more than 1000 times" in said, said
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w:gz") as archive:
        info = tarfile.TarInfo("gpu_metrics.csv")
        info.size = 2 << 30
        archive.addfile(info, io.BufferedReader(Zeros(info.size)))
    (store / "all.zip").write_bytes(zipped([("power_audit_t.tar.gz", tar.getvalue())]))
    most, said = most_temporary(folder, "backfill", "store", "--dry-run")
    assert most <= 1 << 30, most


class Zeros(io.RawIOBase):
    def __init__(self, size):
        super().__init__()
        self.left = size

    def readable(self):
        return True

    def readinto(self, into):
        count = min(len(into), self.left)
        into[:count] = bytes(count)
        self.left -= count
        return count


def test_the_absolute_limit_has_an_option(folder):
    """2 GiB that are stored, not packed, are below the ratio, and above a limit of 1 GiB."""
    store = folder / "store"
    store.mkdir()
    with tarfile.open(store / "power_audit_run.tar", "w") as archive:
        info = tarfile.TarInfo("gpu_metrics.csv")
        info.size = (1 << 30) + (1 << 20)
        archive.addfile(info, io.BufferedReader(Zeros(info.size)))
    _, said = program(folder, "backfill", "store", "--dry-run", "--max-unpacked", "1", TMPDIR=str(folder))
    assert "expands to more than 1 GiB: raise the limit with --max-unpacked" in said, said
    _, said = program(folder, "backfill", "store", "--dry-run", "--max-unpacked", "2", TMPDIR=str(folder))
    assert "expands to more" not in said, said


def test_members_of_archives_that_are_links_are_not_followed(folder):
    run = make_store(folder)
    with tarfile.open(folder / "packed.tar", "w") as archive:
        archive.add(run / "agg_run.json", "power_audit_run/agg_run.json")
        archive.add(run / "run.json", "power_audit_run/run.json")
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            info = tarfile.TarInfo(f"power_audit_run/gpu_metrics.csv{kind.decode()}"[:-1])
            info.type, info.linkname = kind, str(folder / "netrc")
            archive.addfile(info)
    lines, said = lines_of(folder, "packed.tar", "--output", "out")
    assert SECRET not in json.dumps(lines) + said, lines
    record = {"power_valid": True, "reasons": [], "benchmark_window": {}, "metrics": {}, "telemetry_source": "x",
              "computed_from": {"aggregate": "../../config.json", "inputs": {}}}
    (folder / "store.zip").write_bytes(zipped([("a/b/power_validation_x.json", json.dumps(record).encode())]))
    for name in ("../config.json", "../../config.json", "../../../config.json", str(folder / "config.json")):
        record["computed_from"]["aggregate"] = name
        (folder / "store.zip").write_bytes(zipped([("a/b/power_validation_x.json", json.dumps(record).encode())]))
        for words in (["export", "store.zip", "--format", "jsonl"], ["report", "store.zip", "--out", "page.html"],
                      ["verify", "store.zip"]):
            _, said = program(folder, *words)
            page = folder / "page.html"
            assert SECRET not in said + (page.read_text() if page.exists() else ""), (name, words)


def test_deep_folders_and_deep_json_end(folder):
    run = make_store(folder)
    (run / "agg_run.json").write_text("[" * 100000)
    lines, _ = lines_of(folder)
    assert lines["run"]["outcome"] == "failed", lines
    (run / "agg_run.json").write_text('{"a":' * 100000 + "1" + "}" * 100000)
    lines, _ = lines_of(folder)
    assert lines["run"]["outcome"] == "failed", lines
    for words, _, _ in outputs_of(folder):
        assert words
    here = os.open(folder / "store", os.O_RDONLY)
    for _ in range(3000):  # beyond PATH_MAX
        os.mkdir("dd", dir_fd=here)
        below = os.open("dd", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    for words, _, _ in outputs_of(folder):
        assert words
    lines_of(folder)
    subprocess.run(["rm", "-rf", folder / "store"], check=False)


# ---- One aggregate, one run

def test_schema_1_leaves_nothing_of_schema_2(folder):
    for command in ("backfill", "single"):
        place = folder / command
        make_run(place)

        def run(schema, expected=2):
            if command == "backfill":
                return program(place, "backfill", ".", "--timezone", "UTC", "--schema-version", schema, "--force",
                               "--expected-num-gpus", expected)
            words = [word if word != "2" else str(expected) for word in SINGLE]
            return program(place, *words, "--schema-version", schema, "--validation-result",
                           "power_validation_run.json")
        aggregate = place / "agg_run.json"
        mine = set(json.loads(aggregate.read_text()))
        assert run(2)[0] == 0
        assert json.loads(aggregate.read_text())["total_gpu_energy_j"] == 6000
        make_run(place / "new", watts=700)
        shutil.copy(place / "new" / "gpu_metrics.csv", place / "gpu_metrics.csv")
        shutil.rmtree(place / "new")
        run(1)
        ours = set(json.loads(aggregate.read_text())) - mine
        assert ours == {"avg_power_w", "joules_per_output_token", "joules_per_total_token"} or (
            len(ours) == 3 and "power_valid" not in ours and "total_gpu_energy_j" not in ours), (command, ours)
        assert program(place, "verify", ".")[0] == 0, program(place, "verify", ".")
        before = aggregate.read_bytes()
        run(2)
        run(1)
        assert aggregate.read_bytes() == before, command
        # A refused run of schema 1 does not leave the claim of schema 2 either.
        run(2)
        run(1, 3)
        assert "power_valid" not in json.loads(aggregate.read_text()), (command, aggregate.read_text())


def test_a_kill_between_the_two_files_is_seen(folder):
    """The record of schema 1 next to the aggregate of schema 2, with the same and with another recording."""
    for watts in (300, 700):
        place = folder / str(watts)
        make_run(place)
        program(place, "backfill", ".", "--timezone", "UTC")
        second = (place / "agg_run.json").read_bytes()
        make_run(place / "new", watts=watts)
        shutil.copy(place / "new" / "gpu_metrics.csv", place / "gpu_metrics.csv")
        shutil.rmtree(place / "new")
        program(place, "backfill", ".", "--timezone", "UTC", "--schema-version", "1", "--force")
        first = (place / "agg_run.json").read_bytes()
        (place / "agg_run.json").write_bytes(second)
        status, said = program(place, "verify", ".")
        assert status == 1 and "total_gpu_energy_j" in said and "power_valid" in said, said
        _, said = program(place, "export", ".", "--format", "jsonl")
        assert '"valid": true' not in said.replace('":true', '": true'), said
        (place / "gpu_metrics.csv").rename(place / "kept")  # verify without the inputs
        status, said = program(place, "verify", ".")
        assert status == 1 and "'total_gpu_energy_j'" in said, said
        (place / "kept").rename(place / "gpu_metrics.csv")
        program(place, "backfill", ".", "--timezone", "UTC", "--schema-version", "1")
        assert (place / "agg_run.json").read_bytes() == first, watts


# ---- Names that change their meaning during a run

def exchanging(a, b):
    """A process that exchanges two names all the time, as whoever owns a folder can."""
    script = ("import ctypes, sys, time, random\nlibc = ctypes.CDLL(None)\na, b = (name.encode() for name in sys.argv[1:])\n"
              "while True:\n    libc.renameat2(-100, a, -100, b, 2)\n    time.sleep(random.random() * 3e-4)\n")
    return subprocess.Popen([sys.executable, "-c", script, str(a), str(b)])


def while_exchanging(a, b, seconds, action):
    other = exchanging(a, b)
    try:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            action()
    finally:
        other.kill()
        other.wait()


def test_folders_that_are_exchanged_for_links_lead_nowhere(folder):
    """The folder of a run becomes a link between the look at it and the writing: nothing outside changes."""
    run = make_store(folder)
    outside = folder / "outside"
    shutil.copytree(run, outside)
    (outside / "power_validation_run.json").write_text("precious")
    before = {path.name: path.read_bytes() for path in outside.iterdir()}
    link = run.parent / "zlink"
    link.symlink_to(outside)
    while_exchanging(run, link, 6, lambda: program(folder, "backfill", "store", "--force", "--timezone", "UTC", seconds=30))
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == before
    own = run if not run.is_symlink() else link
    program(folder, "backfill", "store", "--force", "--timezone", "UTC")
    undo = folder / "report.jsonl"
    program(folder, "backfill", "store", "--force", "--timezone", "UTC", "--report", undo)
    assert own.is_dir()
    while_exchanging(run, link, 3, lambda: program(folder, "retract", "store", "--where", "schema=nvidia-smi", seconds=30))
    while_exchanging(run, link, 3, lambda: program(folder, "backfill", "--undo", undo, seconds=30))
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == before


def test_files_that_are_exchanged_for_pipes_make_nobody_wait(folder):
    run = make_store(folder)
    pipe = run.parent / "zpipe"
    os.mkfifo(pipe)
    program(folder, "backfill", "store", "--timezone", "UTC")
    for name in ("agg_run.json", "power_validation_run.json", "gpu_metrics.csv", "run.json"):
        for words in (["backfill", "store", "--force", "--timezone", "UTC"], ["verify", "store"]):
            while_exchanging(run / name, pipe, 1.5, lambda: program(folder, *words, seconds=30))


def test_files_that_are_nearly_all_holes_are_not_read(folder):
    """They cost nothing to make, 8 EiB of them hours to read; each kind of file, alone and in a store."""
    run = make_store(folder)
    program(folder, "backfill", "store", "--timezone", "UTC")
    for name in ("gpu_metrics.csv", "run.json", "agg_run.json", "power_validation_run.json", "gpu_metrics_context.json",
                 "gpu_metrics_energy_start.csv", "gpu_metrics_energy_end.csv", "gpu_metrics_identity.csv"):
        path = run / name
        before = path.read_bytes() if path.exists() else None
        with open(path, "ab") as file:
            file.truncate(1 << 40)
        for words in (["backfill", "store", "--force", "--timezone", "UTC"], ["verify", "store"],
                      ["export", "store"], ["report", "store", "--out", "page.html"],
                      ["measure", run / "run.json", run / "gpu_metrics.csv"]):
            began = time.monotonic()
            program(folder, *words, seconds=30)
            assert time.monotonic() - began < 20, (name, words)
        if before is None:
            path.unlink()
        else:
            path.write_bytes(before)
    with open(run / "gpu_metrics.csv", "ab") as file:
        file.truncate(1 << 40)
    _, said = program(folder, "measure", run / "run.json", run / "gpu_metrics.csv")
    assert "has holes of more than 1 GiB" in " ".join(said.split()), said


def test_a_hole_that_is_written_out_ends_a_recording(folder):
    """The same bytes without a hole, plain and compressed: 16 MiB of them are enough to end it."""
    make_run(folder)
    good = (folder / "gpu_metrics.csv").read_bytes()
    zeros = bytes(64 << 20)
    for name, packed in (("plain.csv", good + zeros), ("packed.csv.gz", gzip.compress(good + zeros, 1))):
        (folder / name).write_bytes(packed)
        status, said = program(folder, "measure", "run.json", name, seconds=20)
        assert status == 1 and "a row with more than 16 MiB of NUL bytes" in " ".join(said.split()), said
    (folder / "few.csv").write_bytes(good + bytes(1 << 20))  # what a crash leaves
    status, said = program(folder, "measure", "run.json", "few.csv")
    assert status == 0, said


def test_a_compressed_file_has_the_absolute_limit_too(folder):
    """1.1 GiB that are no hole, within the ratio."""
    make_run(folder)
    with gzip.open(folder / "long.csv.gz", "wb", 1) as file:
        file.write((folder / "gpu_metrics.csv").read_bytes())
        for i in range(1100):
            file.write((b"x" * 65535 + b"\n") * 16)
    status, said = program(folder, "measure", "run.json", "long.csv.gz", "--max-unpacked", "1", seconds=120)
    assert status == 1 and "expands to more than 1 GiB: raise the limit with --max-unpacked" in " ".join(said.split()), said


def test_large_files_beside_a_recording_are_not_hashed(folder):
    run = make_store(folder)
    for name in ("gpu_metrics_context.json", "gpu_metrics_energy_start.csv"):
        path = run / name
        path.write_bytes(b" " * (17 << 20))
        report = folder / "report.jsonl"
        report.unlink(missing_ok=True)
        _, said = program(folder, "backfill", "store", "--dry-run", "--report", report)  # without a zone, which the context has
        (line,) = map(json.loads, report.read_text().splitlines())
        fault = "is larger than 16 MiB" if name.endswith("json") else "an energy snapshot beside it cannot be read"
        assert fault in (line["details"] or ""), (name, line, said)
        path.unlink()


def test_an_aggregate_that_is_too_large_is_named(folder):
    store = folder / "store"
    store.mkdir()
    good = '{"hw": "h100", "tp": 2, "power_valid": 1, "avg_power_w": 500.0, "power_metric_schema_version": 2}'
    (store / "agg_small.json").write_text(good)
    (store / "agg_large.json").write_text(good + " " * (65 << 20))
    (store / "agg_below.json").write_text(good + " " * (20 << 20))
    status, said = program(folder, "export", "store", "--format", "jsonl")
    assert status == 0 and "agg_below" in said and "agg_small" in said, said
    assert "agg_large.json: is larger than 64 MiB, the most that an aggregate may have, and was passed over" in said, said


def test_links_of_outputs_that_are_written_piece_by_piece(folder):
    make_store(folder)
    (folder / "precious").write_text("")
    (folder / "out.csv").symlink_to("precious")
    (folder / "out.jsonl").symlink_to("precious")
    (folder / "new.csv").symlink_to("is not there")
    for words in (["synthesize", "--phase", "3:100", "--out", "out.csv"], ["synthesize", "--phase", "3:100", "--out", "new.csv"],
                  ["backfill", "store", "--dry-run", "--report", "out.jsonl"]):
        status, said = program(folder, *words)
        assert status != 0 and "which is another file, and is not written" in said, (words, status, said)
    assert (folder / "precious").read_text() == "" and not (folder / "is not there").exists()


def was_read(path):
    """Since its time of access was set to 1970; always false where the file system does not note such times."""
    return path.stat().st_atime > 0


def test_the_package_of_a_single_run_is_read_within_its_store(folder):
    store = folder / "store"
    store.mkdir()
    program(store, "synthesize", "--package", "v3", "--nodes", "2", "--gpus", "2", *LOAD[2:], "--out", "LOGS",
            "--bench-out", "run.json", "--agg-out", "agg_run.json")
    program(store, "multinode", "--power-dir", "LOGS/power", "--logs-root", "LOGS", "--bench-result", "run.json",
            "--agg-result", "agg_run.json", "--prefill-gpus", "2", "--decode-gpus", "0", "--expected-producer-sha",
            (store / "LOGS/power/power-producer-sha.txt").read_text().strip())
    status, said = program(folder, "verify", "store")
    assert status == 0, said
    secret = folder / "secret.json"
    secret.write_text(json.dumps({SECRET: 1}))
    for place in ("windows/other.json", "cpu_power", "energy.json"):
        link = store / "LOGS/power" / place
        link.symlink_to(secret)
        os.utime(secret, (0, secret.stat().st_mtime))
        _, said = program(folder, "verify", "store")
        assert not was_read(secret) and SECRET not in said, (place, said)
        link.unlink()


def test_a_key_that_is_there_twice_is_not_verified(folder):
    """Some readers take the first value, others the last."""
    run = make_store(folder)
    program(folder, "backfill", "store", "--timezone", "UTC")
    status, said = program(folder, "verify", "store")
    assert status == 0, said
    path = run / "agg_run.json"
    good = path.read_text()
    key = '"avg_power_w":'
    assert good.count(key) == 1, good
    path.write_text(good.replace(key, f'{key} 1.0,\n  {key}'))
    status, said = program(folder, "verify", "store")
    assert status == 1 and "'avg_power_w' occurs twice" in said, said


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
