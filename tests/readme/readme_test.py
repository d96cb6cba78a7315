#!/usr/bin/env python3
"""Checks that the README and the program agree.

* Every ```console block is run, line by line, in one fresh copy of testdata/runs/b200, with copies of
  testdata/store as `artifacts`, and of testdata's folders `nodes`, `agentic`, `agentic_nodes` and
  `package`: "$ " begins a command, "> " goes on with it, the rest is what it prints on both streams. A
  command must end with 0; one that does not ends with `; echo "exit status $?"`.
* The ```sh blocks behind "tested with stand-ins" and "tested with a stand-in" are run with stand-ins
  for what they call.
* The ```json block has the keys that are read, and no others; the faults that must fail a run do.
* Options, reason codes, schemas and keys that one of the two has and the other has not are faults.

usage: tests/readme/readme_test.py   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("AGGREGATE_POWER", ROOT / "build" / "aggregate-power"))
README = (ROOT / "README.md").read_text()
WORDS = set(re.findall(r"`([^`\n]+)`", re.sub(r"(?ms)^```.*?^```$", "", README)))

# What the benchmark script of the README calls.
STAND_INS = {
    "run_benchmark": """#!/usr/bin/env python3
import json, time
start = time.time()
time.sleep(0.5)
end = time.time()
print(json.dumps({"benchmark_start_time_unix": start, "benchmark_end_time_unix": end,
                  "duration": end - start, "completed": 1, "total_input_tokens": 8000,
                  "total_output_tokens": 1000}))
""",
    "make_aggregate": "#!/bin/sh\necho '{\"tp\": 8}'\n",
    # However slow the machine is, what is tested is the script.
    "aggregate-power": "#!/bin/sh\nexec \"$PROGRAM\" \"$@\" --max-sample-gap 600\n",
}


class Count:
    def __init__(self):
        self.passed = 0
        self.failed = 0

    def check(self, what, *faults):
        if faults:
            self.failed += 1
            print(f"FAILED {what}", *faults, sep="\n  ")
        else:
            self.passed += 1

    def same(self, what, wanted, found):
        self.check(what, *([] if wanted == found else [f"expected\n{wanted}\n  got\n{found}"]))

    def none(self, what, missing):
        self.check(what, *sorted(missing))


def chapter(title):
    """The text under a heading, up to the next of its level or above."""
    level = title.split(" ", 1)[0]
    text = README.split(f"\n{title}\n", 1)[1]
    return re.split(rf"\n#{{1,{len(level)}}} ", text)[0]


def first_cells(text):
    """The words in backticks in the first column of the tables of `text`."""
    rows = re.findall(r"(?m)^\| (.*?) \|", text)
    return {word for row in rows for word in re.findall(r"`([^`]+)`", row)}


def console_commands():
    """Pairs of a command and what it should print."""
    for block in re.findall(r"(?ms)^```console\n(.*?)^```$", README):
        for part in re.split(r"(?m)^\$ ", block)[1:]:
            lines = part.splitlines(keepends=True)
            end = 1
            while end < len(lines) and lines[end].startswith("> "):
                end += 1
            command = lines[0] + "".join(line[2:] for line in lines[1:end])
            yield command.rstrip("\n"), "".join(lines[end:])


def environment(*folders):
    path = ":".join([*map(str, folders), os.environ.get("PATH", "/usr/bin:/bin")])
    return {"PATH": path, "TZ": "UTC", "HOME": os.environ.get("HOME", "/")}


def run_console(count, folder):
    shutil.copytree(ROOT / "testdata" / "runs" / "b200", folder, dirs_exist_ok=True)
    shutil.copytree(ROOT / "testdata" / "store", folder / "artifacts")
    for name in ("nodes", "agentic", "agentic_nodes", "package"):
        shutil.copytree(ROOT / "testdata" / name, folder / name)
    for command, wanted in console_commands():
        result = subprocess.run(["sh", "-c", command], cwd=folder, env=environment(PROGRAM.parent),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, timeout=60)
        found = result.stdout
        if found and not found.endswith("\n"):
            found += "\n"
        if result.returncode != 0:
            found += f"(exit status {result.returncode})\n"
        count.same(f"$ {command}", wanted, found)


def run_benchmark_script(count, folder):
    script = re.search(r"<!-- tested with stand-ins.*?-->\n```sh\n(.*?)^```$", README, re.M | re.S)
    for name, text in STAND_INS.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    variables = environment(folder, ROOT / "tests" / "scripts" / "stand-ins")
    variables["PROGRAM"] = str(PROGRAM)
    variables["MONITOR"] = str(ROOT / "scripts" / "monitor.sh")
    result = subprocess.run(["sh", "-c", script.group(1)], cwd=folder, env=variables, text=True,
                            stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    # The stand-in's GPUs draw 401.27, 411.27, ..., 471.27 W: 436.27 on average.
    valid = re.fullmatch(r"aggregate-power: avg_power_w=436\.27 avg_total_gpu_power_w=3490\.16 "
                         r"total_gpu_energy_j=\d+\.\d\d \(n=8\) -> agg_run\.json\n", result.stdout)
    count.check("the benchmark script", *([] if valid and result.returncode == 0 else
                                          [result.stdout, result.stderr, str(result.returncode)]))


def run_stamping_script(count, folder):
    """Runs the recipe for a load generator that does not say when it began and ended."""
    script = re.search(r"<!-- tested with a stand-in .*?-->\n```sh\n(.*?)^```$", README, re.M | re.S)
    load = folder / "run_benchmark"
    load.write_text('#!/bin/sh\nsleep 0.5\necho \'{"completed": 1, "duration": 0.1, "x": NaN}\'\n')
    load.chmod(0o755)
    before = time.time()
    result = subprocess.run(["sh", "-c", script.group(1)], cwd=folder, env=environment(folder), text=True,
                            stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    after = time.time()
    count.same("the stamping script", "", result.stdout + result.stderr)
    run = json.loads((folder / "run.json").read_text())
    start, end = run["benchmark_start_time_unix"], run["benchmark_end_time_unix"]
    good = before <= start <= end - 0.5 and end <= after and abs(run["duration"] - (end - start)) < 1e-3
    count.check("the stamps of the stamping script", *([] if good and run["completed"] == 1 else [str(run)]))


def compare_benchmark(count):
    block = json.loads(re.search(r"(?ms)^```json\n(.*?)^```$", README).group(1))
    source = (ROOT / "src" / "inputs" / "benchmark.cpp").read_text()
    # The last one only matters to packages, and is explained there.
    in_source = set(re.findall(r'\{"([a-z_]+)"\}', source)) - {"max_concurrency"}
    count.none("keys of a benchmark result missing", in_source - set(block))
    count.none("keys of a benchmark result that are not read", set(block) - in_source)
    real = json.loads((ROOT / "testdata" / "runs" / "b200" / "run.json").read_text())
    count.same("a benchmark result", {key: real[key] for key in block}, block)


def run_faults(count, folder):
    """Each fault, in the middle of a benchmark: whether the run is valid is as README and help say."""
    text = chapter("## From CI")
    failing = set(re.findall(r"`([a-z0-9-]+)`", re.search(r"With (.*?) the same pipeline must fail", text).group(1)))
    passing = set(re.findall(r"`([a-z0-9-]+)`", re.search(r"(?s)With ([^:]*?) it must stay valid", text).group(1)))
    names = re.search(r"faults (.*?) make a run", help_of("synthesize")).group(1)
    count.same("the help on faults", failing, set(re.split(r", | and ", names)))
    listed = re.search(r"(?m)^ *--fault .*repeatable: (.*)$", help_of("synthesize")).group(1)
    count.same("every fault must fail or not", set(listed.split(", ")), failing | passing)
    outputs = ["--out", "ci.csv", "--bench-out", "ci.json", "--agg-out", "agg_ci.json"]
    for fault in sorted(failing | passing):
        for command in (["synthesize", "--gpus", "2", "--phase", "10:100", "--phase", "20:300", "--phase", "10:100",
                         "--timezone", "UTC", "--fault", fault, *outputs],
                        ["--csv", "ci.csv", "--bench-result", "ci.json", "--agg-result", "agg_ci.json",
                         "--expected-num-gpus", "2", "--timezone", "UTC", "--require-power"]):
            status = subprocess.run([PROGRAM, *command], cwd=folder, env=environment(), capture_output=True).returncode
        count.same(f"the exit status with {fault}", 1 if fault in failing else 0, status)


def help_of(*command):
    return subprocess.run([PROGRAM, *command, "--help"], capture_output=True, text=True).stdout


def compare_options(count):
    for title, command in (("### aggregate-power: one run", []),
                           ("### aggregate-power agentic: one run of agents", ["agentic"]),
                           ("### aggregate-power backfill STORE...: past runs", ["backfill"]),
                           ("### aggregate-power inspect FILE: what is understood of a telemetry file", ["inspect"]),
                           ("### aggregate-power multinode: runs of several nodes", ["multinode"]),
                           ("### aggregate-power synthesize: telemetry of known power", ["synthesize"])):
        in_help = set(re.findall(r"(?m)^  (?:-h,)?(--[a-z-]+)", help_of(*command)))
        in_table = {word.split(" ")[0] for word in first_cells(chapter(title))}
        count.none(f"options missing under '{title}'", in_help - in_table - {"--help"})
        count.none(f"options that do not exist under '{title}'", in_table - in_help)


def compare_codes(count):
    source = (ROOT / "src" / "inputs" / "reason.cpp").read_text()
    in_source = set(re.findall(r"\bROW\(([a-z_0-9]+),", source)) - {"name"}  # the macro's own
    in_tables = first_cells(chapter("## Reason codes"))
    count.none("reason codes missing", in_source - in_tables)
    count.none("reason codes that do not exist", in_tables - in_source)


def keys_of(value, but=()):
    """All member names, but those inside the members `but`."""
    if isinstance(value, list):
        return set().union(*(keys_of(item, but) for item in value), set())
    if not isinstance(value, dict):
        return set()
    return set(value) | set().union(*(keys_of(v, but) for k, v in value.items() if k not in but), set())


def compare_keys(count, folder):
    by_gpu = ("per_gpu_sample_counts", "per_gpu_max_sample_gap_s", "per_gpu_energy_j",
              "per_gpu_delta_j", "device_issues", "boundary_degenerate_rows", "per_gpu_role",
              "gpu_uuids")
    run = ["--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
           "--expected-num-gpus", "8", "--timezone", "UTC"]
    snapshot = "gpu,total_energy_consumption\n0,1\n"
    for name in ("start", "end"):
        (folder / f"gpu_metrics_energy_{name}.csv").write_text(snapshot)
    subprocess.run([PROGRAM, *run], cwd=folder, capture_output=True, check=True)
    record = json.loads((folder / "power_validation_run.json").read_text())
    count.none("keys of the audit record missing", keys_of(record, by_gpu) - WORDS)
    record = json.loads((folder / "nodes" / "power_validation_run.json").read_text())
    count.none("keys of the audit record of several hosts missing", keys_of(record, by_gpu) - WORDS - {"node0", "node1"})
    record = json.loads((folder / "agentic" / "results" / "power_validation.json").read_text())
    count.none("keys of an agentic run's audit record missing", keys_of(record, by_gpu) - WORDS)
    before = json.loads((ROOT / "testdata" / "runs" / "b200" / "agg_run.json").read_text())
    after = json.loads((folder / "agg_run.json").read_text())
    count.none("keys of the aggregate missing", set(after) - set(before) - WORDS)
    shown = subprocess.run([PROGRAM, "inspect", "gpu_metrics.csv", "--json"], cwd=folder,
                           capture_output=True, check=True)
    count.none("keys of inspect --json missing", keys_of(json.loads(shown.stdout)) - WORDS)


def compare_sources(count):
    schemas = re.findall(r'\.name = "([a-z0-9-]+)"', (ROOT / "src" / "inputs" / "schema.cpp").read_text())
    count.none("schemas missing", set(schemas) - first_cells(chapter("## What is read")))
    sources = "".join(path.read_text() for path in (ROOT / "src").rglob("*.cpp"))
    warnings = set(re.findall(r'"([a-z]+(?:_[a-z]+)+): (?:device|readings|all|\{)', sources))
    count.none("warnings missing", warnings - WORDS)
    faults = set(re.findall(r'\{"([a-z0-9-]+)", FaultKind::', sources))
    count.none("faults missing", faults - WORDS)
    version = re.search(r"project\(aggregate-power VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    count.check("a chapter on this version's changes",
                *([] if f"\n### {version.group(1)}\n" in chapter("## Changes") + "\n" else [version.group(1)]))
    links = set(re.findall(r"\]\(([^)#:]+)\)", README))
    count.none("links to files that are not there", {link for link in links if not (ROOT / link).exists()})


def main():
    count = Count()
    with tempfile.TemporaryDirectory() as folder:
        run_console(count, pathlib.Path(folder))
        compare_keys(count, pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        run_benchmark_script(count, pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        run_stamping_script(count, pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        run_faults(count, pathlib.Path(folder))
    compare_benchmark(count)
    compare_options(count)
    compare_codes(count)
    compare_sources(count)
    print(f"{count.passed} passed, {count.failed} failed")
    return 1 if count.failed else 0


if __name__ == "__main__":
    sys.exit(main())
