#!/usr/bin/env python3
"""Keeps a list of everything that the program prints or writes, so that no change goes unnoticed.

usage: tests/outputs/outputs.py --write FILE | --compare FILE   with $AGGREGATE_POWER

An output is a command, its exit status, what it printed, and the files that it wrote or removed:

  cases      the golden cases of testdata/cases
  help       every help page as text and as a man page, every --help, the completions
  examples   the commands of tests/outputs/examples.txt, on copies of testdata
  files      every recording and result of testdata: inspected, measured, aggregated, drawn
  random     300 runs of tests/differential, from a fixed seed
  packages   200 packages of several nodes, of every dialect
  store      a store of 200 runs: backfilled, verified, compared, reported, exported
  simulated  a simulated run of each class of tests/truth, with its interval

FILE has two lines for each output: "SHA-256 NAME", and a character of a digest for each of its lines.
--compare shows the lines that differ: next to what they were if build/outputs still has the text
that FILE describes (the last comparison without a difference leaves it there), otherwise alone.
Exit status: 0 the same; 1 not the same.
"""
import base64
import concurrent.futures
import difflib
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
for name in ("backfill", "cases", "differential", "faults", "multinode"):
    sys.path.insert(0, str(ROOT / "tests" / name))
sys.dont_write_bytecode = True
import cases_test  # noqa: E402
import differential_test  # noqa: E402
import patching  # noqa: E402
import random_packages  # noqa: E402
import random_runs  # noqa: E402
import stores  # noqa: E402
from judging import contents  # noqa: E402

DATA = ROOT / "testdata"
TEXTS = ROOT / "build" / "outputs"
TRUTH = os.environ.get("ENERGY_TRUTH", str(ROOT / "build" / "tests" / "energy_truth"))
WRITTEN = 1788000000  # the time of change of every input
MOST_SHOWN, MOST_LINES = 12, 24  # outputs that are shown, and lines of each
CLOCK = re.compile(rb'("seconds": ?)[-+.e\d]+')  # in the report of a backfill


# ---- Outputs

def text_of(data):
    """A file's lines; bytes that are not text are digested, since a diff would not show them."""
    if data is None:
        return "removed"
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"{len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}"


def in_order(data):
    """Lines of a backfill, whose runs come as the file system lists them, without the time that each took."""
    return b"".join(sorted(CLOCK.sub(rb"\1...", data).splitlines(keepends=True)))


class Folder:
    """A fresh folder in which commands are run."""

    def __init__(self, root, name):
        self.path = root / hashlib.sha256(name.encode()).hexdigest()[:16]
        self.path.mkdir(parents=True)
        self.name = name

    def settle(self):
        """Notes what there is before the first command."""
        for path, _, files in os.walk(os.fsencode(self.path)):
            for file in files:
                os.utime(os.path.join(path, file), (WRITTEN, WRITTEN), follow_symlinks=False)
        self.before = contents(self.path)
        return self

    def output(self, words, name=None, stdin=b"", environment=None, limit=120):
        """Runs a command; gives (name, text)."""
        done = subprocess.run([patching.PROGRAM, *words], cwd=self.path, input=stdin, capture_output=True,
                              env=patching.ENVIRONMENT | (environment or {}), timeout=limit)
        parts = [f"$ aggregate-power {shlex.join(words)}", f"status {done.returncode}"]
        for stream in ("stdout", "stderr"):
            if data := getattr(done, stream):
                if words[:1] == ["backfill"]:
                    data = in_order(data)
                parts += [f"--- {stream}", text_of(data)]
        for report in self.path.glob("report.jsonl"):
            report.write_bytes(in_order(report.read_bytes()))
        now = contents(self.path)
        for path in sorted(now.keys() | self.before.keys()):
            if now.get(path, 0) != self.before.get(path, 0):
                parts += [f"--- file {path}", "a folder" if path in now and now[path] is None
                          else text_of(now.get(path))]
        self.before = now
        text = "\n".join(parts).replace(str(self.path), "FOLDER") + "\n"
        return f"{self.name}/{name}" if name else self.name, text

    def end(self):
        shutil.rmtree(self.path)


# ---- What is run: each group gives functions that run some commands and give (name, text) of each.
# Inputs that come from generators are made in the group itself: these know of one run at a time.

def cases(root):
    def one(case):
        def make():
            folder = Folder(root, f"cases/{case.name}")
            cases_test.copy_inputs(case, folder.path)
            folder.settle()
            environment = dict(line.split("=", 1) for line in (case / "environment").read_text().splitlines()) \
                if (case / "environment").is_file() else {}
            stdin = (case / "stdin").read_bytes() if (case / "stdin").is_file() else b""
            for i, line in enumerate((case / "args").read_text().splitlines()):
                yield folder.output(shlex.split(line), str(i + 1), stdin, environment)
            folder.end()
        return make
    return [one(case) for case in sorted(cases_test.CASES.iterdir()) if case.is_dir()]


def commands():
    """The names of the subcommands, from the sources, so that none is forgotten."""
    table = (ROOT / "src" / "commands" / "commands.cpp").read_text()
    names = re.findall(r'^    \{"([a-z]+)", CommandGroup', table, re.M)
    assert len(names) > 15, names
    return names


def help_texts(root):
    topics = re.findall(r"\b[a-z-]+\b", re.search(r"set\(help_topics\n(.*?)\)", (ROOT / "CMakeLists.txt").read_text(),
                                                  re.S)[1])
    words = [["--help"], ["--version"], ["help"], ["help", "topics"], ["help", "power", "limit"], ["help", "--json"], ["explain"], ["explain", "--json"]]
    words += [[command, option] for command in commands() for option in ("--help", "--help-all")]
    words += [[f"--generate-{what}"] for what in ("man-page", "bash-completion", "zsh-completion", "fish-completion")]
    for topic in topics:
        words += [["help", topic], ["help", topic, "--json"], ["--generate-man-page", topic]]

    def make():
        folder = Folder(root, "help").settle()
        for each in words:
            yield folder.output(each, " ".join(each).replace("--generate-", ""))
        folder.end()
    return [make]


def examples(root):
    """A section of the file: the folders of testdata that are copied, then commands."""
    sections = re.split(r"(?m)^\[(.*)\]\n", (ROOT / "tests" / "outputs" / "examples.txt").read_text())[1:]

    def one(where, lines):
        def make():
            folder = Folder(root, f"examples/{where}")
            for name in where.split():
                source, _, target = name.partition("=")
                if (DATA / source).is_dir():
                    shutil.copytree(DATA / source, folder.path / target, dirs_exist_ok=True, symlinks=True)
                else:
                    shutil.copy(DATA / source, folder.path / (target or pathlib.Path(source).name))
            folder.settle()
            for line in lines:
                yield folder.output(shlex.split(line), line)
            folder.end()
        return make
    return [one(where, [line for line in lines.splitlines() if line and line[0] != "#"])
            for where, lines in zip(sections[::2], sections[1::2])]


def window_of(inspected):
    """A third of what all devices of a recording have in common, and how many they are."""
    try:
        devices = json.loads(inspected.partition("--- stdout\n")[2].partition("\n--- stderr")[0])["devices"]
        first, last = max(d["first_unix"] for d in devices), min(d["last_unix"] for d in devices)
    except (ValueError, KeyError, TypeError):
        return 1, 1788000000.0, 1788000060.0
    return len(devices), first + (last - first) / 3, first + (last - first) * 2 / 3


def recordings(root):
    """Each file of testdata that may be a recording or a result, read in every way."""
    paths = [path for kind in ("telemetry", "telemetry-written", "generators", "traces", "results", "rates",
                               "snapshots", "power-limits")
             for path in sorted((DATA / kind).rglob("*")) if path.is_file()]
    paths.append(DATA / "telemetry-written" / "dcgm" / "scrape-folder")

    def one(path):
        def make():
            folder = Folder(root, f"files/{path.relative_to(DATA)}")
            copy = shutil.copytree if path.is_dir() else shutil.copy
            copy(path, folder.path / path.name)
            shutil.copy(DATA / "results" / "gpu_metrics.csv", folder.path / "load.csv")
            (folder.path / "agg_run.json").write_text('{"hw": "x"}')
            (folder.path / "all.csv").write_text("name,start,end\nall,+0,-0\n")
            utc = ["--timezone", "UTC"]
            folder.settle()
            inspected = folder.output(["inspect", "--json", "--sensor", path.name, *utc], "inspect --json")
            gpus, start, end = window_of(inspected[1])
            (folder.path / "run.json").write_text(json.dumps(
                {"benchmark_start_time_unix": start, "benchmark_end_time_unix": end, "duration": end - start,
                 "completed": 10, "total_input_tokens": 1000, "total_output_tokens": 500}))
            folder.before = contents(folder.path)
            run = ["--bench-result", "run.json", "--agg-result", "agg_run.json", "--csv", path.name,
                   "--max-sample-gap", "1000", *utc]
            yield inspected
            yield folder.output(["inspect", path.name, *utc], "inspect")
            yield folder.output(run, "schema 1")
            yield folder.output([*run, "--expected-num-gpus", str(gpus), "--extended", "--uncertainty"], "schema 2")
            yield folder.output(["measure", "run.json", path.name, *utc], "measure")
            yield folder.output(["measure", "--json", path.name, "load.csv", *utc], "measured as a result, --json")
            for form in ([], ["--json"]):
                yield folder.output(["windows", "--telemetry", path.name, "--windows", "all.csv", *form, *utc],
                                    " ".join(["windows", *form]))
                yield folder.output(["doctor", path.name, *form, *utc], " ".join(["doctor", *form]))
            yield folder.output(["plot", path.name, "--format", "json", *utc], "plot --json")
            yield folder.output(["plot", path.name, "--term", *utc], "plot")
            folder.end()
        return make
    return [one(path) for path in paths]


def random_single_runs(root, count=300):
    def one(seed):
        run = random_runs.make_run(seed, wild=seed % 2 == 0)

        def make():
            for contract in ("august", "october"):
                folder = Folder(root, f"random/{seed} {contract}")
                folder.path.rmdir()
                differential_test.lay_out(run, folder.path)
                yield folder.settle().output(["--compat", contract, *run.arguments],
                                             environment=differential_test.environment_of(run))
                folder.end()
        return make
    return [one(seed) for seed in range(1, count + 1)]


def random_packages_of_nodes(root, count=160):
    def one(seed):
        contract = "august" if seed % 4 == 0 else "october"
        folder = Folder(root, f"packages/{seed}")
        run = random_packages.RandomPackage(seed, contract)
        run.write(folder.path)

        def make():
            yield folder.settle().output(run.arguments(), contract)
            folder.end()
        return make
    return [one(seed) for seed in range(1, count + 1)]


def synthetic_packages(root):
    """40 packages: each version with each exporter, and those that nodes recorded themselves."""
    versions = [["--package", version, "--exporter", exporter] for version in ("v1", "v2", "v3")
                for exporter in ("dcgm", "amd", "custom")]
    native = [["--package", "native", "--schema", schema, *(["--fault", fault] if fault else [])]
              for schema in ("nvidia-smi", "amd-smi")
              for fault in ("", "gap@20", "na@20", "garbage-time@20", "dropped-gpu@20", "torn-tail", "crlf")]
    kinds = [[*kind, "--gpus", str(gpus)] for kind in versions for gpus in (4, 8)]
    kinds += [[*kind, "--prefill-nodes", "1"] for kind in versions[:8]] + native

    def one(kind):
        def make():
            folder = Folder(root, f"packages/{' '.join(kind)}").settle()
            power = "native_power" if "native" in kind else "power"
            gpus = 4 if "4" in kind else 8
            roles = ["--prefill-gpus", str(gpus // 2), "--decode-gpus", str(gpus // 2)] \
                if "--prefill-nodes" in kind else ["--aggregate-gpus", str(gpus)]
            yield folder.output(["synthesize", *kind, "--noise", "9", "--phase", "10:120", "--phase", "20:500",
                                 "--phase", "10:300", "--out", "LOGS", "--bench-out", "run.json", "--agg-out",
                                 "agg_run.json"], "synthesize")
            pin = folder.path / "LOGS" / power / "power-producer-sha.txt"
            trust = ["--logs-root", "LOGS", "--expected-producer-sha", pin.read_text().strip()] if pin.is_file() else []
            measure = ["multinode", "--power-dir", f"LOGS/{power}", *roles, *trust,
                       "--bench-result", "run.json", "--agg-result", "agg_run.json"]
            yield folder.output(measure, "multinode")
            yield folder.output([*measure, "--extended", "--uncertainty", "--json"], "multinode --json")
            folder.end()
        return make
    return [one(kind) for kind in kinds]


def store(root):
    folder = Folder(root, "store")
    stores.build_store(folder.path / "store", 200, seed=1)
    folder.settle()

    def make():
        common = ["store", "--timezone", "auto", "--jobs", "1"]
        for words in (["backfill", *common, "--dry-run"],
                      ["backfill", *common, "--report", "report.jsonl"],
                      ["backfill", *common, "--verify"],
                      ["verify", "store"], ["verify", "store", "--json"],
                      ["compare", "store"], ["compare", "store", "--json"],
                      ["recommend", "store"], ["recommend", "store", "--json"],
                      *(["export", "store", "--format", form] for form in
                        ("prometheus", "openmetrics", "jsonl", "csv")),
                      ["report", "store", "--out", "page.html"],
                      ["retract", "store", "--where", "collector=amd-smi"]):
            yield from split_files(*folder.output(words, " ".join(word for word in words if word not in common)))
        folder.end()
    return [make]


def split_files(name, text):
    """An output that wrote many files, as one output for each."""
    head, *files = re.split(r"(?m)^(?=--- file )", text)
    yield name, head
    for file in files:
        yield f"{name}/{file.splitlines()[0].removeprefix('--- file ')}", file


def simulated_runs(root):
    """A simulated recording of each class, with faults and without, and the interval of its energy."""
    folder = Folder(root, "simulated")
    subprocess.run([TRUTH, "--write", folder.path, "1"], check=True)

    def one(path):
        def make():
            run = Folder(root, f"simulated/{path.relative_to(folder.path)}")
            shutil.copytree(path, run.path, dirs_exist_ok=True)
            gpus = len(json.loads((path / "truth.json").read_text())["true_j"])
            yield run.settle().output(["--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result",
                                       "agg_run.json", "--timezone", "UTC", "--expected-num-gpus", str(gpus),
                                       "--max-sample-gap", "60", "--uncertainty"])
            run.end()
        return make
    return [one(path.parent) for path in sorted(folder.path.rglob("gpu_metrics.csv"))]


GROUPS = {"simulated": simulated_runs, "store": store, "cases": cases, "help": help_texts, "examples": examples, "files": recordings,
          "random": random_single_runs, "packages": random_packages_of_nodes, "synthetic": synthetic_packages}


def shown_name(name):
    return name.encode("unicode_escape", "backslashreplace").decode()


def all_outputs():
    found = {}
    with patching.fresh_folder("outputs") as root, \
            concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        jobs = [pool.submit(lambda make=make: list(make())) for group in GROUPS.values() for make in group(root)]
        for job in jobs:
            for name, text in job.result():
                assert found.setdefault(shown_name(name), text) is text, f"two outputs are named {name}"
    return dict(sorted(found.items()))


# ---- The list

def encoded(text):
    return text.encode(errors="surrogateescape")


def sha256(text):
    return hashlib.sha256(encoded(text)).hexdigest()


def line_digests(lines):
    """One of 64 characters for each line: 63 of 64 changed lines are found by it."""
    return "".join(base64.b64encode(hashlib.sha256(encoded(line)).digest()[:1]).decode()[0] for line in lines)


def write_list(path, outputs):
    with open(path, "w", encoding="utf-8") as file:
        for name, text in outputs.items():
            file.write(f"{sha256(text)} {name}\n {line_digests(text.splitlines())}\n")


def read_list(path):
    """name: (SHA-256, digests of the lines)."""
    lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
    return {head[65:]: (head[:64], digests[1:]) for head, digests in zip(lines[::2], lines[1::2])}


def keep_texts(outputs):
    """The texts that the list stands for, for the next comparison."""
    shutil.rmtree(TEXTS, ignore_errors=True)
    TEXTS.mkdir(parents=True)
    for text in outputs.values():
        (TEXTS / sha256(text)).write_bytes(encoded(text))


def kept_text(digest):
    path = TEXTS / digest
    return path.read_bytes().decode(errors="surrogateescape") if path.is_file() else None


def lines_that_differ(was, text):
    """The difference of one output; `was` is its SHA-256 and the digests of its lines."""
    now, before = text.splitlines(), kept_text(was[0])
    if before is not None:
        yield from list(difflib.unified_diff(before.splitlines(), now, lineterm="", n=0))[2:]
        return
    for what, a, b, c, d in difflib.SequenceMatcher(None, was[1], line_digests(now), autojunk=False).get_opcodes():
        if what != "equal":
            yield f"@@ line {c + 1}" + (f", in place of {b - a} lines @@" if b > a else " @@")
            yield from (f"+{line}" for line in now[c:d])


def compare(path, outputs):
    listed = read_list(path)
    changed = [name for name in outputs if name in listed and listed[name][0] != sha256(outputs[name])]
    missing, new = sorted(listed.keys() - outputs.keys()), sorted(outputs.keys() - listed.keys())
    for name in changed[:MOST_SHOWN]:
        lines = list(lines_that_differ(listed[name], outputs[name]))
        print(f"changed: {name}", *lines[:MOST_LINES], sep="\n  ")
        if len(lines) > MOST_LINES:
            print(f"  and {len(lines) - MOST_LINES} more lines")
    for what, names in (("changed", changed[MOST_SHOWN:]), ("missing", missing), ("new", new)):
        print(*(f"{what}: {name}" for name in names[:MOST_SHOWN]), sep="\n", end="\n" if names else "")
        if len(names) > MOST_SHOWN:
            print(f"and {len(names) - MOST_SHOWN} more that are {what}")
    total = len(changed) + len(missing) + len(new)
    print(f"{len(outputs) - len(changed) - len(new)} passed, {total} failed")
    return total


def main(words):
    if len(words) != 2 or words[0] not in ("--write", "--compare"):
        print("\n".join(__doc__.splitlines()[2:3]), file=sys.stderr)
        return 2
    option, path = words
    outputs = all_outputs()
    if option == "--write":
        write_list(path, outputs)
        print(f"{len(outputs)} outputs, {sum(text.count(chr(10)) for text in outputs.values())} lines -> {path}")
    elif compare(path, outputs):
        print(f"If the change is meant: scripts/outputs.sh --write {path}, in the commit that changes the outputs.")
        return 1
    keep_texts(outputs)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
