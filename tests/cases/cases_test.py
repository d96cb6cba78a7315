#!/usr/bin/env python3
"""Runs the cases of testdata/cases against the built program; a new case needs no code.

A case is a folder:
  args         one run a line, as a shell would split it: the words behind the program's name
  why.txt      what it shows, and where the expected values come from
  stdin        what the runs read on standard input (absent: nothing)
  environment  NAME=VALUE lines beside PATH and TZ=UTC (absent: none)
  expected/    stdout, stderr (absent: nothing) and status (one line a run; absent: all 0), of all
               runs together; any other file there is a file that the runs write
  and the input files.

The input files are copied to a fresh folder and the runs made there. Then every file must be there
with the expected bytes, and no other. An input file without a twin in expected/ must be the very
file it was, time of change included. A line "..." in an expected stdout or stderr stands for any
lines; the line that states a run's interval, "aggregate-power: energy ...", is compared only where expected/stdout has
one, since tests/runs/shown_interval_test.py checks it. @VERSION@ stands in any file for the project's version. The fresh folder of a case that fails is
kept and named.

usage: tests/cases/cases_test.py [NAME...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import difflib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = ROOT / "testdata" / "cases"
PROGRAM = os.environ.get("AGGREGATE_POWER", str(ROOT / "build" / "aggregate-power"))
VERSION = re.search(r"project\(aggregate-power VERSION ([0-9.]+)",
                    (ROOT / "CMakeLists.txt").read_text()).group(1)
INTERVAL = re.compile(rb"(?m)^aggregate-power: energy .*\n")
NOT_INPUT = {"args", "why.txt", "stdin", "environment", "expected"}


def bytes_of_case(path, default=b""):
    if not path.is_file():
        return default
    return path.read_bytes().replace(b"@VERSION@", VERSION.encode())


def files_below(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if not p.is_dir())


def identity(path):
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_mode


def matches(printed, pattern):
    """Whether `printed` is `pattern`, in which a line "..." stands for any lines."""
    parts = re.split(rb"(?m)^\.\.\.\n", pattern)
    return re.fullmatch(rb"(?:.*\n)*?".join(map(re.escape, parts)), printed) is not None


def copy_inputs(case, into):
    for entry in case.iterdir():
        if entry.name in NOT_INPUT:
            continue
        if entry.is_dir():
            shutil.copytree(entry, into / entry.name, symlinks=True)
        else:
            shutil.copy2(entry, into / entry.name, follow_symlinks=False)
        # A folder that git could not keep empty holds a .keep.
    for keep in into.rglob(".keep"):
        keep.unlink()
    for path in into.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
        if path.is_file():
            path.write_bytes(bytes_of_case(path))


def difference(name, wanted, found):
    """Both as lines; bytes that are no text are escaped."""
    lines = [text.decode(errors="backslashreplace").splitlines() for text in (wanted, found)]
    diff = list(difflib.unified_diff(*lines, "expected", "got", lineterm="")) or ["the line ends differ"]
    return "\n    ".join([f"{name}:", *diff])


def run_case(case, folder):
    """What is wrong, one text a fault."""
    if not (case / "why.txt").is_file():
        return ["why.txt is missing"]
    copy_inputs(case, folder)
    inputs = {name: identity(folder / name) for name in files_below(folder)}
    expected = case / "expected"
    environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "TZ": "UTC"}
    if (case / "environment").is_file():
        lines = (case / "environment").read_text().splitlines()
        environment.update(line.split("=", 1) for line in lines)
    stdin = (case / "stdin").read_bytes() if (case / "stdin").is_file() else b""

    printed = {"stdout": b"", "stderr": b"", "status": b""}
    for line in (case / "args").read_text().splitlines():
        result = subprocess.run([PROGRAM, *shlex.split(line)], cwd=folder, env=environment,
                                input=stdin, capture_output=True, timeout=60)
        printed["stdout"] += result.stdout
        printed["stderr"] += result.stderr
        printed["status"] += b"%d\n" % result.returncode

    faults = []
    no_failures = b"0\n" * printed["status"].count(b"\n")
    for stream, text in printed.items():
        wanted = bytes_of_case(expected / stream, no_failures if stream == "status" else b"")
        if INTERVAL.search(text) and not INTERVAL.search(wanted):
            text = INTERVAL.sub(b"", text)
        if not matches(text, wanted):
            faults.append(difference(stream, wanted, text))
    written = set(files_below(expected)) - printed.keys() if expected.is_dir() else set()
    for name in sorted(written | inputs.keys() | set(files_below(folder))):
        path = folder / name
        if not path.is_file():
            faults.append(f"{name}: is missing")
        elif name in written:
            wanted = bytes_of_case(expected / name)
            if path.read_bytes() != wanted:
                faults.append(difference(name, wanted, path.read_bytes()))
        elif name not in inputs:
            faults.append(f"{name}: was not expected")
        elif path.read_bytes() != bytes_of_case(case / name):
            faults.append(difference(f"{name}, which should have stayed", bytes_of_case(case / name),
                                     path.read_bytes()))
        elif identity(path) != inputs[name]:
            faults.append(f"{name}: an input that should have stayed was replaced by its like")
    return faults


def main(names):
    failed = 0
    cases = [CASES / name for name in names] or sorted(p for p in CASES.iterdir() if p.is_dir())
    for case in cases:
        folder = pathlib.Path(tempfile.mkdtemp(prefix=f"case-{case.name}-"))
        try:
            faults = run_case(case, folder)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            faults = [f"{type(error).__name__}: {error}"]
        if faults:
            failed += 1
            print(f"FAILED {case.name} (left in {folder})", *faults, sep="\n  ")
        else:
            shutil.rmtree(folder)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
