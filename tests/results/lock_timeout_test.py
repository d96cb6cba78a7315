#!/usr/bin/env python3
"""A lock on an aggregate that somebody else keeps ends no run's wait with silence, and none with a change.

Whoever may read a file may lock it: by a shared or an exclusive lock, in a process that is stopped, under
another name of the file. A lock whose holder died is free. After --lock-timeout nothing is written, the
reason is aggregate_result_locked, and the message names the holder; a backfill goes on with other runs.

usage: tests/results/lock_timeout_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import running  # noqa: E402

PROGRAM = pathlib.Path(os.environ.get("AGGREGATE_POWER", ROOT / "build" / "aggregate-power")).resolve()
RUN = ["--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
       "--expected-num-gpus", "8", "--timezone", "UTC"]
WAITS = ("import fcntl, sys, time\nf = open(sys.argv[1], 'rb')\nfcntl.flock(f, getattr(fcntl, sys.argv[2]))\n"
         "print('locked', flush=True)\ntime.sleep(60)\n")


def run(folder, *words, limit=30):
    began = time.monotonic()
    done = subprocess.run([PROGRAM, *words], cwd=folder, capture_output=True, text=True, timeout=limit,
                          env={"PATH": os.environ["PATH"], "TZ": "UTC"})
    done.seconds = time.monotonic() - began
    return done


@contextlib.contextmanager
def locked(path, kind="LOCK_EX", stopped=False):
    """By another process, whose number it gives."""
    holder = subprocess.Popen([sys.executable, "-c", WAITS, path, kind], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "locked\n"
    if stopped:
        holder.send_signal(signal.SIGSTOP)
    try:
        yield holder.pid
    finally:
        holder.kill()
        holder.communicate()


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def a_run(folder):
    shutil.copytree(ROOT / "testdata" / "runs" / "b200", folder, dirs_exist_ok=True)
    return contents(folder)


def locked_out(folder, before, pid, *words):
    done = run(folder, *RUN, "--lock-timeout", "0.5", *words)
    assert 0.4 < done.seconds < 5, done.seconds
    assert f"aggregate_result_locked (agg_run.json: still locked by process {pid} after 0.5 s)" in done.stderr, done.stderr
    assert "; see " not in done.stderr, done.stderr  # there is no record of it
    assert contents(folder) == before
    return done


def test_each_kind_of_lock(folder):
    before = a_run(folder)
    for kind in ("LOCK_EX", "LOCK_SH"):
        for stopped in (False, True):
            with locked(folder / "agg_run.json", kind, stopped) as pid:
                assert locked_out(folder, before, pid).returncode == 0
                assert locked_out(folder, before, pid, "--require-power").returncode == 1


def test_another_name_of_the_file(folder):
    a_run(folder)
    os.link(folder / "agg_run.json", folder / "other name.json")
    before = contents(folder)
    with locked(folder / "other name.json") as pid:
        locked_out(folder, before, pid)


def test_what_an_earlier_run_wrote_stays(folder):
    a_run(folder)
    assert run(folder, *RUN).returncode == 0
    before = contents(folder)
    assert "power_validation_run.json" in before
    with locked(folder / "agg_run.json") as pid:
        locked_out(folder, before, pid, "--accept", "stuck_sensor")
        done = run(folder, "retract", "agg_run.json", "--where", "schema=nvidia-smi", "--lock-timeout", "0.5")
        assert done.returncode == 1 and f"still locked by process {pid} after 0.5 s" in done.stderr, done.stderr
        assert contents(folder) == before


def test_a_dry_run_does_not_wait(folder):
    before = a_run(folder)
    with locked(folder / "agg_run.json"):
        done = run(folder, *RUN, "--dry-run")
        assert done.seconds < 5 and "power_valid: absent -> 1" in done.stdout, (done.stdout, done.stderr)
    assert contents(folder) == before


def test_a_lock_that_is_given_back_in_time(folder):
    a_run(folder)
    with locked(folder / "agg_run.json") as pid:
        waiting = subprocess.Popen([PROGRAM, *RUN], cwd=folder, stderr=subprocess.PIPE, text=True)
        line = waiting.stderr.readline()  # after two seconds
        assert line == f"aggregate-power: waiting for agg_run.json, locked by process {pid}\n", line
    _, err = waiting.communicate(timeout=30)
    assert waiting.returncode == 0 and not err, err
    assert json.loads((folder / "agg_run.json").read_text())["power_valid"] == 1


def test_no_wait_at_all(folder):
    a_run(folder)
    with locked(folder / "agg_run.json") as pid:
        done = run(folder, *RUN, "--lock-timeout", "0")
        assert done.seconds < 2 and f"still locked by process {pid} after 0 s" in done.stderr, done.stderr
    assert run(folder, *RUN, "--lock-timeout", "0").returncode == 0
    assert json.loads((folder / "agg_run.json").read_text())["power_valid"] == 1


def test_values_of_the_option(folder):
    a_run(folder)
    for value in ("-1", "nan", "inf", "soon", ""):
        done = run(folder, *RUN, f"--lock-timeout={value}")
        assert done.returncode == 2 and "--lock-timeout" in done.stderr, (value, done.stderr)


def test_a_backfill_goes_on(folder):
    shutil.copytree(ROOT / "testdata" / "store", folder / "store")
    names = sorted(path for path in (folder / "store").rglob("agg_*tp2_conc*.json"))
    agg = next(path for path in names if path.name == "agg_qwen_tp2_conc4.json")
    before = agg.read_bytes()
    with locked(agg, "LOCK_SH", stopped=True) as pid:
        done = run(folder, "backfill", "store", "--lock-timeout", "0.5", "--report", "report.jsonl", "--jobs", "1")
    assert done.returncode == 1, done.stderr
    lines = {line["run"].rpartition("/")[2]: line for line in map(json.loads, (folder / "report.jsonl").read_text().splitlines())}
    failed = [line for line in lines.values() if line["outcome"] == "failed"]
    assert len(failed) == 1 and failed[0]["reasons"] == ["aggregate_result_locked"], failed
    assert f"still locked by process {pid} after 0.5 s" in done.stderr, done.stderr
    assert agg.read_bytes() == before and not agg.with_name("power_validation_qwen_tp2_conc4.json").exists()
    patched = run(folder, "backfill", "store", "--list", "patched").stdout
    assert "agg_qwen_tp2_conc4.json" in patched and patched.count("\n") == 1, patched  # the others were done before
    undone = {path: path.read_bytes() for path in names}
    report = folder / "again.jsonl"
    run(folder, "backfill", "store", "--force", "--report", str(report))
    with locked(agg) as pid:
        done = run(folder, "backfill", "--undo", str(report), "--lock-timeout", "0.5")
        assert f"still locked by process {pid}" in done.stderr or undone[agg] == agg.read_bytes(), done.stderr


def test_many_locks_are_not_waited_for_one_by_one(folder):
    """Somebody who keeps all locks of a store cannot stop a backfill for the timeout of each, nor for a second each."""
    one = next((ROOT / "testdata" / "store").rglob("agg_*tp2_conc8.json")).parent
    runs = 40
    for i in range(runs):
        shutil.copytree(one, folder / "store" / f"power_audit_r{i}")
    with contextlib.ExitStack() as held:
        for path in (folder / "store").rglob("agg_*.json"):
            file = held.enter_context(open(path, "rb"))
            fcntl.flock(file, fcntl.LOCK_EX)
        done = run(folder, "backfill", "store", "--lock-timeout", "2", "--jobs", "1", "--report", "report.jsonl")
    lines = [json.loads(line) for line in (folder / "report.jsonl").read_text().splitlines()]
    locked_runs = [line for line in lines if line["reasons"] == ["aggregate_result_locked"]]
    assert done.returncode == 1 and len(locked_runs) == len(lines) >= runs, (done.stdout, done.stderr)
    # The first for 2 s, some for 1 s each and 2 s together, the others are tried once.
    assert 2 <= done.seconds < 2 + 2 + 8, (done.seconds, done.stderr)
    details = [line["details"] for line in locked_runs]
    assert sum("after 2 s" in text for text in details) == 1 and sum("after 1 s" in text for text in details) == 2, details
    assert sum("after 0 s" in text for text in details) == len(details) - 3, details


def test_locks_that_are_given_back_after_a_timeout(folder):
    """One lock that is kept does not make the others fail that are held for a moment."""
    one = next((ROOT / "testdata" / "store").rglob("agg_*tp2_conc8.json")).parent
    for i in range(2):
        shutil.copytree(one, folder / "store" / f"power_audit_r{i}")
    kept, lent = sorted((folder / "store").rglob("agg_*.json"))
    with open(kept, "rb") as file, open(lent, "rb") as other:
        fcntl.flock(file, fcntl.LOCK_EX)
        fcntl.flock(other, fcntl.LOCK_EX)
        process = subprocess.Popen([PROGRAM, "backfill", "store", "--lock-timeout", "1.5", "--jobs", "1"], cwd=folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={"PATH": os.environ["PATH"], "TZ": "UTC"})
        time.sleep(2)  # either is waited for first
        fcntl.flock(other, fcntl.LOCK_UN)
        _, said = process.communicate(timeout=60)
    assert said.count("aggregate_result_locked") >= 1, said


if __name__ == "__main__":
    sys.exit(running.run_tests(globals()))
