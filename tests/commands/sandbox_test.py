#!/usr/bin/env python3
"""Checks that backfill, report and verify confine themselves, and that this changes nothing else.

A helper confines itself as they do and attacks from inside; the commands themselves are run with and without
their sandbox, and on a kernel that seems to have none.

usage: tests/commands/sandbox_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import errno
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import zipfile

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))
from running import PROGRAM, run_tests  # noqa: E402

ATTACK = str(pathlib.Path(PROGRAM).parent / "tests" / "sandbox_attack")
LOAD = ["--gpus", "2", "--phase", "5:100", "--phase", "10:300", "--phase", "5:100"]
# An attempt that fails for another reason shows nothing. Landlock answers EXDEV for names of two folders.
REFUSALS = {errno.EACCES, errno.EPERM, errno.EXDEV}


def program(folder, *words, before=(), **more):
    """Status, standard output and standard error; temporaries are in a folder of their own."""
    temporary = pathlib.Path(str(folder) + ".tmp")
    temporary.mkdir(exist_ok=True)
    done = subprocess.run([*before, PROGRAM, *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=120,
                          env={"PATH": os.environ["PATH"], "TZ": "UTC", "TMPDIR": str(temporary)}, **more)
    shutil.rmtree(temporary)
    return done.returncode, done.stdout, done.stderr


def make_run(folder, name="run"):
    folder.mkdir(parents=True, exist_ok=True)
    status, _, said = program(folder, "synthesize", *LOAD, "--out", "gpu_metrics.csv", "--bench-out", f"{name}.json",
                              "--agg-out", f"agg_{name}.json")
    assert status == 0, said
    return folder


def zipped(store, archive):
    with zipfile.ZipFile(archive, "w") as out:
        for path in sorted(store.rglob("*")):
            out.write(path, path.relative_to(store))


# ---- Attacks from inside

def attempts(folder, *words):
    """By the name of each attempt: 0 if it was done, else the number of its error."""
    for name in ("in", "out", "outside"):
        (folder / name).mkdir(parents=True)
    for name in ("in/file", "outside/secret", "outside/second", "outside/third"):
        (folder / name).write_text("content")
    (folder / "in" / "link").symlink_to("../outside/secret")
    done = subprocess.run([ATTACK, *words, *(str(folder / name) for name in ("in", "out", "outside"))],
                          capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"status {done.returncode}: {done.stdout}{done.stderr}"
    lines = (line.split() for line in done.stdout.splitlines())
    return {name: 0 if said == "done" else int(said) for name, said in lines}


def test_attacks_from_inside_are_refused(folder):
    found = attempts(folder)
    landlock, seccomp = found.pop("landlock"), found.pop("seccomp")
    if not landlock:
        print("SKIPPED attacks on files: this kernel has no Landlock")
    if not seccomp:
        print("SKIPPED attacks by system calls: this kernel has no seccomp")
    free = attempts(folder / "free", "--free")
    if b"__asan_init" in pathlib.Path(ATTACK).read_bytes():
        del found["call:ptrace"]  # how the sanitizer looks for leaks
    kinds = {"work": 0, "file": 0, "call": 0}
    for name, why in found.items():
        kind = name.split(":")[0]
        kinds[kind] += 1
        if kind == "work":
            assert why == 0, f"{name} is refused: {os.strerror(why)}"
        elif (kind == "file" and landlock) or (kind == "call" and seccomp):
            assert why in REFUSALS or (name == "call:32-bit" and why), f"{name}: {os.strerror(why)}"
    assert kinds["work"] >= 8 and kinds["file"] >= 20 and kinds["call"] >= 15, kinds
    if landlock:
        assert sorted(path.name for path in (folder / "outside").iterdir()) == ["output", "second", "secret", "third"]
        assert all(path.read_text() == "content" for path in (folder / "outside").iterdir())
        assert (folder / "in" / "file").read_text() == "content"
    # Without a sandbox they are possible, so that the refusals are its doing.
    for name in ("file:read", "file:read-by-link", "file:read-reopened", "file:write", "file:create", "file:link-in",
                 "file:move-out", "file:move-in", "file:remove", "call:socket", "call:exec", "call:kill", "call:chmod",
                 "call:truncate"):
        assert free[name] == 0, f"{name}: {os.strerror(free[name])}"


# ---- The commands

def process_state(folder, *words, look=lambda process: None, **more):
    """Of a command that waits because nobody reads what it prints: the lines of /proc/PID/status."""
    reading, writing = os.pipe()
    size = fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writing, b"x" * size)
    process = subprocess.Popen([PROGRAM, *words], cwd=folder, stdout=writing, stderr=subprocess.DEVNULL,
                               stdin=subprocess.DEVNULL, **more)
    os.close(writing)
    status = pathlib.Path(f"/proc/{process.pid}/status")
    wait = pathlib.Path(f"/proc/{process.pid}/wchan")
    until = time.monotonic() + 60
    while "pipe" not in wait.read_text() and time.monotonic() < until:
        time.sleep(0.01)
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
    look(process)
    while os.read(reading, 65536):
        pass
    os.close(reading)
    process.wait(60)
    return {name: text.strip() for name, text in lines.items()}


def has_seccomp():
    return "Seccomp:" in pathlib.Path("/proc/self/status").read_text()


def test_commands_are_confined_unless_asked_not_to_be(folder):
    if not has_seccomp():
        print("SKIPPED whether commands are confined: this kernel has no seccomp")
        return
    before = [line.split()[1] for line in pathlib.Path("/proc/self/status").read_text().splitlines()
              if line.startswith("Seccomp:")]
    store = make_run(folder / "store")
    assert program(folder, "backfill", "store")[0] == 0
    for words in (["backfill", "store", "--dry-run"], ["report", "store", "--out", "-"], ["verify", "store"]):
        state = process_state(folder, *words)
        assert (state["Seccomp"], state["NoNewPrivs"]) == ("2", "1"), f"{words}: {state}"
        state = process_state(folder, *words, "--no-sandbox")
        assert state["Seccomp"] == before[0], f"{words}: {state}"
    assert store.is_dir()


def test_temporaries_are_in_a_folder_of_the_process(folder):
    """Nothing else in $TMPDIR is within reach, and it is gone afterwards, whatever ended the command."""
    make_run(folder / "store")
    assert program(folder, "backfill", "store")[0] == 0
    temporary = folder / "temporary"
    temporary.mkdir()
    seen = []

    def look(process):
        seen.append([path.stat().st_mode & 0o777 for path in temporary.iterdir() if path.is_dir()])

    def kill(process):
        look(process)
        process.kill()

    for act, options, expected in ((look, [], [0o700]), (kill, [], [0o700]), (look, ["--no-sandbox"], [])):
        process_state(folder, "report", "store", "--out", "-", *options, look=act, env={"TMPDIR": str(temporary)})
        assert seen.pop() == expected, f"{act} {options}"
        until = time.monotonic() + 30
        while any(temporary.iterdir()) and time.monotonic() < until:
            time.sleep(0.01)
        assert not list(temporary.iterdir()), f"{act} {options}"


def files_of(folder):
    """Every file's bytes; what holds times is left out."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
            for path in sorted(folder.rglob("*")) if path.suffix != ".jsonl" and not path.name.startswith("power_valid")}


def both_ways(folder, make, *commands, **more):
    """Runs commands in two equal places, with the sandbox and without; the answers and files must be the same."""
    answers = []
    for option in ([], ["--no-sandbox"]):
        place = folder / "place"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        make(place)
        answers.append(([program(place, *words, *option, **more) for words in commands], files_of(place)))
    with_it, without = answers
    assert with_it[0] == without[0], f"{commands}: {with_it[0]} instead of {without[0]}"
    assert with_it[1] == without[1], f"{commands}: {sorted(with_it[1])} instead of {sorted(without[1])}"
    return with_it


def test_nothing_else_changes(folder):
    run = make_run(folder / "run")

    def store(place):
        shutil.copytree(run, place / "store" / "bmk_run")

    def linked(place):
        shutil.copytree(run, place / "there" / "bmk_run")
        (place / "store").symlink_to("there")

    def archived(place):
        store(place)
        zipped(place / "store", place / "store.zip")
        shutil.rmtree(place / "store")

    def apart(place):
        shutil.copytree(run, place / "artifacts" / "bmk_run")
        (place / "store").mkdir()

    def leads_out(place):
        store(place)
        (place / "gpu_metrics.csv").write_bytes((run / "gpu_metrics.csv").read_bytes())
        (place / "store" / "bmk_run" / "gpu_metrics.csv").unlink()
        (place / "store" / "bmk_run" / "gpu_metrics.csv").symlink_to("../../gpu_metrics.csv")

    def named(place):
        store(place)
        (place / "list").write_text("run\n")

    zone = ["--timezone", "UTC"]
    backfill = ["backfill", "store", *zone]
    pipeline = ([*backfill, "--report", "report.jsonl"], ["verify", "store"], ["report", "store", "--out", "page.html"],
                ["backfill", "--undo", "report.jsonl"])
    for make in (store, linked):
        answers, files = both_ways(folder, make, *pipeline)
        assert [answer[0] for answer in answers] == [0, 0, 0, 0], answers
        assert "page.html" in files, sorted(files)
    answers, files = both_ways(folder, archived, ["backfill", "store.zip", *zone, "--output", "new/deep/patched"],
                               ["report", "new/deep/patched", "--out", "-"], ["verify", "new"],
                               ["report", "store.zip", "--out", "new/page.html"])
    assert [answer[0] for answer in answers][0] == 0 and "new/deep/patched/bmk_run/agg_run.json" in files, (answers, sorted(files))
    for commands in (
            [["backfill", "../place/store/./", *zone], ["verify", "store/bmk_run/agg_run.json"], ["verify", "./store/../store"]],
            [[*backfill, "--output", "store/below"]],
            [[*backfill, "--output", "new/deep", "--dry-run"]],
            [["backfill", "stoer", *zone], ["report", "stoer", "--out", "page.html"], ["verify", "stoer"]],
            [["backfill", "stoer", "--report", "new.txt"], [*backfill, "--runs", "lits", "--report", "other.txt"]],
            [["report", "store", "--out", "missing/page.html"], ["report", "store", "--out", "store"]],
            [[*backfill, "--runs", "lits"], [*backfill, "--report", "missing/report.jsonl"]],
            [["report", "store", "--out", "page.html", "--timezone", "Europe/Berlin"]],
            [["report", "store", "--out", "page.html", "--price", "0.3"],
             ["report", "store", "--out", "page.html", "--price", "prices.csv"]]):
        answers, files = both_ways(folder, store, *commands)
        assert "new" not in files and "store/below" not in files, sorted(files)
    both_ways(folder, named, [*backfill, "--runs", "list"])
    answers, _ = both_ways(folder, store, [*backfill, "--runs", "-"], input="run\n")
    assert answers[0][0] == 0, answers
    both_ways(folder, store, [*backfill, "--runs", "/dev/stdin"], input="run\n")
    answers, _ = both_ways(folder, leads_out, backfill)
    assert "out of the store" in answers[0][1], answers
    answers, _ = both_ways(folder, leads_out, [*backfill, "--follow-links"])
    assert "patched 1" in " ".join(answers[0][1].split()), answers
    both_ways(folder, leads_out, [*backfill, "--artifacts", "."])
    both_ways(folder, apart, ["backfill", "artifacts", *zone, "--output", "store"], ["verify", "store"],
              ["verify", "store", "--artifacts", "artifacts"])


def test_nothing_written_leaves_no_new_folder(folder):
    make_run(folder / "store")
    status, _, said = program(folder, "backfill", "store", "--output", "new/deep", "--only", "none")
    assert status == 0 and "no run was found" in said and not (folder / "new").exists(), said
    status, _, said = program(folder, "backfill", "store", "--output", "store/new/deep")
    assert status == 2 and "inside the store" in said, said
    assert not (folder / "store" / "new").exists()
    status, _, said = program(folder, "report", "stoer", "--out", "new")
    assert status == 2 and "stoer" in said and os.listdir(folder) == ["store"], (said, os.listdir(folder))


def test_what_is_next_to_an_output_is_neither_read_nor_written(folder):
    """A folder in which the caller himself may only add files and read none of the others."""
    (folder / "home").mkdir()
    make_run(folder / "store")
    (folder / "home" / "other").write_text("content")
    for words, name in ((["report", "store", "--out"], "page.html"), (["backfill", "store", "--timezone", "UTC", "--report"], "r.jsonl")):
        status, _, said = program(folder, *words, folder / "home" / name)
        assert status == 0 and (folder / "home" / name).stat().st_size > 0, said
    assert sorted(os.listdir(folder / "home")) == ["other", "page.html", "r.jsonl"]
    assert (folder / "home" / "other").read_text() == "content"


def test_works_where_the_kernel_has_none(folder):
    without = [ATTACK, "--without-kernel"]
    make_run(folder / "store")
    for words in (["backfill", "store", "--timezone", "UTC"], ["verify", "store"], ["report", "store", "--out", "page.html"]):
        status, _, said = program(folder, *words, before=without)
        assert status == 0 and "sandbox" not in said, said
    for before, found in ((without, {"advice"}), ([], {"ok", "advice"})):
        _, said, _ = program(folder, "doctor", "--json", before=before)
        checks = {check["check"]: check for check in json.loads(said)["checks"]}
        assert checks["sandbox"]["status"] in found, checks
    assert checks["sandbox"]["found"] != "this kernel has no Landlock and no seccomp" or not has_seccomp(), checks


def test_a_file_outside_is_refused_with_the_way_to_it(folder):
    """A link in the store that leads to a place which no option names."""
    make_run(folder / "store")
    status, _, said = program(folder, "backfill", "store", "--timezone", "UTC", "--dry-run")
    assert status == 0, said
    (folder / "store" / "gpu_metrics.csv").rename(folder / "gpu_metrics.csv")
    (folder / "store" / "gpu_metrics.csv").symlink_to(folder / "gpu_metrics.csv")
    _, shown, said = program(folder, "backfill", "store", "--timezone", "UTC", "--list", "not_valid,failed,ambiguous")
    assert "--follow-links" in shown + said, shown + said


if __name__ == "__main__":
    if not pathlib.Path(ATTACK).exists():
        sys.exit(f"{ATTACK} is not built: ninja -C build test_tools")
    sys.exit(run_tests(globals()))
