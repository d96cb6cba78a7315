#!/usr/bin/env python3
"""Checks that the README, the help pages and the program agree.

* Every ```sh block of the README that is followed by what it prints, a ```text block, is run in a plain copy of the
  checkout, as a newcomer does who pastes it, and every ```console block of a page, line by line, in one fresh folder for each page: a copy of
  testdata/runs/b200, with copies of testdata/store as `artifacts`, and of testdata's folders `nodes`,
  `agentic`, `agentic_nodes`, `package`, `power-limits`, `rates`, `results` and `traces`, of `publication/sweep` as `sweep`, of `runs/h100-counter`, and of recordings of Zeus
  (`zeus`) and AIPowerMeter (`aipowermeter`, `inference`): "$ " begins a command, "> " goes on with it, the
  rest is what it prints on both streams. "$ cd FOLDER" holds for the rest of its block. A command must end with 0; one that does not ends with
  `; echo "exit status $?"`.
* The other ```sh blocks of the README can be pasted, too: they name no file that is not there.
* The ```sh blocks after "tested with stand-ins" and "tested with a stand-in" are run with stand-ins
  for what they call.
* The block with a result of one's own has the keys that are read, and no others; the faults that must fail a run do.
* Keys, warnings and faults that the program has are in some page.
* Each page is listed and printed, as text and as a man page; the README is short and its links work.

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
os.environ.pop("COLUMNS", None)  # the width of help
README = (ROOT / "README.md").read_text()
HELP = ROOT / "src" / "help"
PAGES = {path.stem: path.read_text() for path in sorted(HELP.glob("*.md"))}
ALL = "\n".join([README, *PAGES.values()])
WORDS = set(re.findall(r"`([^`\n]+)`", re.sub(r"(?ms)^```.*?^```$", "", ALL)))
MOST_README_LINES = 250
MOST_PAGE_BYTES = 64 * 1024  # of one string, for every compiler

# What the benchmark script of the page on recording calls.
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


def console_commands(text):
    """The folder, the command and what it should print, of each command."""
    for block in re.findall(r"(?ms)^```console\n(.*?)^```$", text):
        folder = "."
        for part in re.split(r"(?m)^\$ ", block)[1:]:
            lines = part.splitlines(keepends=True)
            end = 1
            while end < len(lines) and lines[end].startswith("> "):
                end += 1
            command = lines[0] + "".join(line[2:] for line in lines[1:end])
            if command.startswith("cd "):
                folder = command[len("cd "):].strip()
            else:
                yield folder, command.rstrip("\n"), "".join(lines[end:])


def pasted_blocks(text):
    """Each ```sh block of the README, and what it should print; None: the README does not show it."""
    for commands, printed in re.findall(r"(?ms)^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", text):
        yield commands, printed or None


def environment(*folders):
    path = ":".join([*map(str, folders), os.environ.get("PATH", "/usr/bin:/bin")])
    return {"PATH": path, "TZ": "UTC", "HOME": os.environ.get("HOME", "/")}


def lay_out_checkout(folder):
    for name in ("testdata", "scripts", "src"):
        shutil.copytree(ROOT / name, folder / name)


def lay_out_page(folder):
    shutil.copytree(ROOT / "testdata" / "runs" / "b200", folder, dirs_exist_ok=True)
    shutil.copytree(ROOT / "testdata" / "runs" / "h100-counter", folder / "h100-counter")
    shutil.copytree(ROOT / "testdata" / "store", folder / "artifacts")
    for name in ("nodes", "agentic", "agentic_nodes", "package", "power-limits", "rates", "results", "traces"):
        shutil.copytree(ROOT / "testdata" / name, folder / name)
    shutil.copytree(ROOT / "testdata" / "telemetry-written" / "node-witnesses", folder / "node-witnesses")
    shutil.copytree(ROOT / "testdata" / "publication" / "sweep", folder / "sweep")
    for name in ("zeus", "aipowermeter"):
        shutil.copytree(ROOT / "testdata" / "telemetry" / name, folder / name)
    shutil.copytree(ROOT / "testdata" / "telemetry-written" / "aipowermeter" / "inference", folder / "inference")


def run_console(count, folder, name, text):
    for where, command, wanted in console_commands(text):
        result = subprocess.run(["sh", "-c", command], cwd=folder / where, env=environment(PROGRAM.parent),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, timeout=60)
        found = result.stdout
        if found and not found.endswith("\n"):
            found += "\n"
        if result.returncode != 0:
            found += f"(exit status {result.returncode})\n"
        count.same(f"{name}: $ {command}", wanted, found)


def paste_readme(count, folder):
    """In one shell, as they stand. What builds or installs is checked as shell alone."""
    for commands, printed in pasted_blocks(README):
        count.same(f"README: a shell reads {commands}", "", subprocess.run(
            ["sh", "-n", "-c", commands], capture_output=True, text=True).stderr)
        count.same(f"README: no gap to fill in {commands}", [], re.findall(r"\.\.\.|<[a-z]+>|\b(?:MODEL|FILE|RESULT|TIME)\b", commands))
        if printed is None:
            continue
        done = subprocess.run(["sh", "-c", commands], cwd=folder, env=environment(PROGRAM.parent), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        count.same(f"README: {commands}", (0, printed), (done.returncode, done.stdout))
    fences = re.findall(r"(?m)^```(\w+)$", README)
    count.same("blocks of other kinds", set(), set(fences) - {"sh", "text"})
    count.same("blocks of output", fences.count("text"), sum(printed is not None for _, printed in pasted_blocks(README)))
    start = README[:README.index("\n## Your generator\n")]
    count.none("missing on the first screen", {word for word in (
        "scripts/demo.sh", "scripts/test.sh", "![", "scripts/setup.sh && cmake", "scripts/monitor.sh run", "--save-detailed",
        "(95 %:", "aggregate-power compare", "aggregate-power report") if word not in start})


# What the README's load generator writes: four requests at once, of 1 s each, by the monotonic clock.
VLLM = """#!/usr/bin/env python3
import json, sys, time
words = dict(zip(sys.argv, sys.argv[1:]))
assert sys.argv[1:3] == ["bench", "serve"] and {"--save-result", "--save-detailed"} <= set(sys.argv)
began = time.perf_counter()
time.sleep(1)
detailed = {"input_lens": [1024] * 4, "output_lens": [128] * 4, "ttfts": [0.1] * 4, "itls": [[0.9 / 127] * 127] * 4,
            "start_times": [began] * 4, "generated_texts": ["a"] * 4, "errors": [""] * 4}
json.dump({"date": time.strftime("%Y%m%d-%H%M%S"), "endpoint_type": "openai", "backend": "vllm", "label": None,
           "model_id": words["--model"], "tokenizer_id": words["--model"], "num_prompts": 4, "request_rate": "inf",
           "burstiness": 1.0, "max_concurrency": None, "duration": 1.0, "completed": 4, "failed": 0,
           "total_input_tokens": 4096, "total_output_tokens": 512} | detailed, open(words["--result-filename"], "w"))
"""


def run_recorder(count, folder):
    """The first screen's recording ends with what `measure` prints."""
    command = re.search(r"<!-- tested with a stand-in for vllm -->\n```sh\n(.*?)^```$", README, re.M | re.S)[1]
    (folder / "bin").mkdir()
    (folder / "bin" / "vllm").write_text(VLLM)
    (folder / "bin" / "vllm").chmod(0o755)
    path = environment(folder / "bin", PROGRAM.parent, ROOT / "tests" / "scripts" / "stand-ins")
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=path, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120)
    facts = dict(re.findall(r"(?m)^([a-zA-Z]+)  +(.*)$", done.stdout))
    # The stand-in's GPUs draw 401.27, 411.27, ..., 471.27 W.
    good = done.returncode == 0 and facts.get("valid") == "yes" and facts.get("load", "").startswith("4 requests") and \
        facts.get("power", "").startswith("436.27 W each GPU")
    count.check("the recorder of the first screen", *([] if good else [done.stdout, done.stderr, str(done.returncode)]))


def compare_picture(count, folder):
    """The README's picture is what the program draws of the run that it shows."""
    shown = (folder / "testdata" / "pictures" / "vllm.svg").read_text()
    subprocess.run([PROGRAM, "plot", "testdata/results/vllm_detailed.json", "testdata/results/gpu_metrics.csv", "--out",
                    "drawn.svg"], cwd=folder, env=environment(), check=True)
    count.same("the README's picture", shown, (folder / "drawn.svg").read_text())


def run_benchmark_script(count, folder):
    script = re.search(r"<!-- tested with stand-ins.*?-->\n```sh\n(.*?)^```$", PAGES["recording"], re.M | re.S)
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
                         r"total_gpu_energy_j=\d+\.\d\d \(n=8\) -> agg_run\.json joules_per_output_token=\S+ joules_per_total_token=\S+\n"
                         r"aggregate-power: energy \S+ kJ .*\n", result.stdout)
    count.check("the benchmark script", *([] if valid and result.returncode == 0 else
                                          [result.stdout, result.stderr, str(result.returncode)]))


def run_stamping_script(count, folder):
    """Runs the recipe for a load generator that does not say when it began and ended."""
    script = re.search(r"<!-- tested with a stand-in for run_benchmark -->\n```sh\n(.*?)^```$",
                       PAGES["recording"], re.M | re.S)
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
    block = json.loads(re.search(r"(?ms)^cat >run.json <<'END'\n(.*?)^END$", README).group(1))
    source = (ROOT / "src" / "core" / "load" / "benchmark.h").read_text()
    fields = re.search(r"(?s)kStatedFields\[\] = \{(.*?)\};", source).group(1)
    # The others only matter to packages, to --expected-num-gpus auto and to benchmarks that failed,
    # and are explained there.
    in_source = set(re.findall(r'"([a-z_]+)"', fields)) - {
        "max_concurrency", "num_gpus", "world_size", "tensor_parallel_size", "pipeline_parallel_size",
        "data_parallel_size", "tp", "pp", "dp", "dp_attention", "num_prompts", "benchmark_outcome",
        "failed", "model_id", "gpu_count", "n_gpus", "tp_size", "pp_size", "dp_size", "gpus_per_node", "num_nodes",
        "nnodes"}
    settings = (ROOT / "src" / "core" / "load" / "stated_totals.cpp").read_text()
    settings = re.search(r"(?s)kSpellings\[\] = \{(.*?)\n\};", settings).group(1)
    for keys in re.findall(r'\{"[a-z_]+",\s*"([a-z_ ]+)"', settings):
        in_source -= set(keys.split())  # 'help settings' lists them
    count.none("keys of a benchmark result missing", in_source - set(block))
    count.none("keys of a benchmark result that are not read", set(block) - in_source)
    real = json.loads((ROOT / "testdata" / "runs" / "b200" / "run.json").read_text())
    count.same("a benchmark result", {key: real[key] for key in block}, block)


def run_faults(count, folder):
    """Each fault, in the middle of a benchmark: whether the run is valid is as the page and --help say."""
    text = PAGES["synthesize"]
    failing = set(re.findall(r"`([a-z0-9-]+)`", re.search(r"With (.*?) the same pipeline must fail", text).group(1)))
    passing = set(re.findall(r"`([a-z0-9-]+)`", re.search(r"(?s)With ([^:]*?) it must stay valid", text).group(1)))
    help_text = " ".join(help_of("synthesize").split())
    names = re.search(r"the faults (.*?) make a run", help_text).group(1)
    count.same("the help on faults", failing, set(re.split(r", | and ", names)))
    listed = re.search(r" --fault NAME.*?repeatable: (.*?) --out ", help_text).group(1)
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
    return subprocess.run([PROGRAM, *command, "--help-all"], capture_output=True, text=True).stdout


def keys_of(value, but=()):
    """All member names, but those inside the members `but`."""
    if isinstance(value, list):
        return set().union(*(keys_of(item, but) for item in value), set())
    if not isinstance(value, dict):
        return set()
    return set(value) | set().union(*(keys_of(v, but) for k, v in value.items() if k not in but), set())


BY_GPU = ("per_gpu_sample_counts", "per_gpu_max_sample_gap_s", "per_gpu_energy_j", "per_gpu_delta_j",
          "device_issues", "boundary_degenerate_rows", "per_gpu_role", "gpu_uuids",
          "per_series_max_sample_gap_s", "per_series_energy_j", "per_gpu", "per_device_max_sample_gap_seconds", "metrics", "inputs")

# What the commands of a page leave behind: the audit record and, with how it was before, the aggregate.
LEFT_BEHIND = {
    "hosts": ("nodes/power_validation_run.json", "nodes/agg_run.json"),
    "agentic": ("agentic/results/power_validation.json", "agentic/coding_tp2_conc2.json"),
    "packages": ("package/power_validation_run.json", "package/agg_run.json"),
    "extended": ("power_validation_run.json", "agg_run.json"),
}


def compare_keys(count, name, folder):
    """The keys of what the commands of a page wrote are in some page."""
    if name == "measure":
        compare_reports(count, folder / "results")
    if name not in LEFT_BEHIND:
        return
    record, aggregate = LEFT_BEHIND[name]
    written = json.loads((folder / record).read_text())
    count.none(f"{name}: keys of the audit record missing", keys_of(written, BY_GPU) - WORDS - {"node0", "node1"})
    source = {"extended": ROOT / "testdata" / "runs" / "b200" / "agg_run.json"}.get(name, ROOT / "testdata" / aggregate)
    new = set(json.loads((folder / aggregate).read_text())) - set(json.loads(source.read_text()))
    # The metrics are in a table that the program prints.
    printed = set(re.findall(r"`([^`\n]+)`", help_on("metrics").stdout))
    count.none(f"{name}: keys of the aggregate missing", new - WORDS - printed)
    if name == "extended":
        compare_inspection_and_snapshots(count, folder)


def compare_reports(count, folder):
    """The keys of measure --json and of inspect --json are in some page."""
    for command in ("measure vllm.json", "measure guidellm.json", "inspect guidellm.json", "inspect vllm_detailed.json",
                    "windows --telemetry gpu_metrics.csv --windows windows.txt"):
        shown = subprocess.run([PROGRAM, *command.split(), "--json"], cwd=folder, env=environment(), capture_output=True,
                               check=True)
        keys = keys_of(json.loads(shown.stdout), ("settings", "uncertainty"))  # as in the audit record
        count.none(f"keys of {command} --json missing", keys - WORDS)


def compare_inspection_and_snapshots(count, folder):
    for end in ("start", "end"):
        (folder / f"gpu_metrics_energy_{end}.csv").write_text("gpu,total_energy_consumption\n0,1\n")
    subprocess.run([PROGRAM, "--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
                    "--expected-num-gpus", "8", "--timezone", "UTC"], cwd=folder, capture_output=True, check=True)
    record = json.loads((folder / "power_validation_run.json").read_text())
    count.none("keys of the audit record missing", keys_of(record, BY_GPU) - WORDS)
    shown = subprocess.run([PROGRAM, "inspect", "gpu_metrics.csv", "--json"], cwd=folder, capture_output=True, check=True)
    count.none("keys of inspect --json missing", keys_of(json.loads(shown.stdout)) - WORDS)


def compare_sources(count):
    sources = "".join(path.read_text() for path in (ROOT / "src").rglob("*.cpp"))
    warnings = set(re.findall(r'"([a-z]+(?:_[a-z]+)+): (?:device|readings|all|\{)', sources))
    count.none("warnings missing", warnings - WORDS)
    faults = set(re.findall(r'\{"([a-z0-9-]+)", FaultKind::', sources))
    count.none("faults missing", faults - WORDS)
    version = re.search(r"project\(aggregate-power VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    changes = README.split("\n## Changes\n", 1)[1]
    count.check("a chapter on this version's changes",
                *([] if f"\n### {version.group(1)}\n" in changes else [version.group(1)]))


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"(?m)^#+ (.*)$", re.sub(r"(?ms)^```.*?^```$", "", text))
    return {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}


def check_links(count):
    source = ROOT / "src"
    for name, folder, text in [("README", ROOT, README), ("src/README", source, (source / "README.md").read_text()), *((name, HELP, text) for name, text in PAGES.items())]:
        broken = set()
        for link in re.findall(r"\]\(([^)]+)\)", re.sub(r"(?ms)^```.*?^```$", "", text)):
            path, _, anchor = link.partition("#")
            if "://" in link:
                continue
            target = text if not path else (folder / path).read_text() if (folder / path).exists() else None
            if target is None or (anchor and anchor not in anchors(target)):
                broken.add(link)
        count.none(f"{name}: links that lead nowhere", broken)


def help_on(*words):
    return subprocess.run([PROGRAM, "help", *words], capture_output=True, text=True)


def check_pages(count):
    lines = README.count("\n")
    count.check("the README's length", *([] if lines <= MOST_README_LINES else [f"{lines} lines"]))
    count.none("pages that are too long", {name for name, text in PAGES.items() if len(text.encode()) >= MOST_PAGE_BYTES})
    listed = help_on("topics")
    count.same("the topics that are listed", set(PAGES), set(re.findall(r"(?m)^  ([a-z-]+) ", listed.stdout)))
    count.none("topics that the README does not name",
               {name for name in PAGES if f"(src/help/{name}.md)" not in README})
    for name, text in PAGES.items():
        title, empty, sentence = text.split("\n")[:3]
        good = title.startswith("# ") and empty == "" and re.fullmatch(r"[A-Z].{,77}\.", sentence)
        count.check(f"{name} begins with a title and a short sentence", *([] if good else [title, sentence]))
        count.check(f"{name} is listed with its sentence",
                    *([] if sentence in " ".join(listed.stdout.split()) else [sentence]))
        page = help_on(name)
        count.same(f"the exit status of help {name}", 0, page.returncode)
        starts = page.stdout.startswith(title[2:] + "\n") and "<!--" not in page.stdout and "prints this table" not in page.stdout
        count.check(f"help {name} prints the page", *([] if starts else [page.stdout, page.stderr]))
    topics = ", ".join(re.findall(r"(?m)^  ([a-z-]+) ", listed.stdout))
    for topic, answer in (("reason", ": did you mean reasons?"), ("nothing", f"; known: {topics}")):
        unknown = subprocess.run([PROGRAM, "--generate-man-page", topic], capture_output=True, text=True)
        count.same(f"an unknown topic {topic}", (2, "", f"aggregate-power: error: unknown topic '{topic}'{answer}\n"),
                   (unknown.returncode, unknown.stdout, unknown.stderr))
    as_json = json.loads(help_on("--json").stdout)
    count.same("the topics as JSON", {name: text.split("\n")[2] for name, text in PAGES.items()},
               {one["topic"]: one["summary"] for one in as_json})


def check_man_pages(count, folder):
    groff = shutil.which("groff")
    if groff is None:
        print("skipped: man pages without warnings (groff is not installed)")
    for name in PAGES:
        page = subprocess.run([PROGRAM, "--generate-man-page", name], capture_output=True, text=True)
        heads = page.stdout.startswith(f".TH AGGREGATE\\-POWER\\-{name.upper()}".replace(f"{name.upper()}", name.upper().replace("-", "\\-")) + " 7 ")
        count.check(f"the man page on {name}", *([] if page.returncode == 0 and heads else [page.stdout[:200], page.stderr]))
        if groff:
            path = folder / f"{name}.7"
            path.write_text(page.stdout)
            warnings = subprocess.run([groff, "-man", "-Tutf8", "-ww", "-z", path], capture_output=True, text=True)
            count.same(f"groff's warnings about {name}", "", warnings.stdout + warnings.stderr)


def check_tables(count):
    """Tables that come from the program's rows are in their pages; expected by hand."""
    reasons = help_on("reasons").stdout
    count.check("a reason with its meaning and its remedy", *([] if re.search(
        r"(?s)\n  `sampling_gap_exceeded`\n      what happened: the gap between two samples of a GPU is longer than allowed\n"
        r"      usual causes: .*?\n      what to do: .*?--max-sample-gap\n", reasons) else [reasons]))
    source = (ROOT / "include" / "aggregate_power" / "reason_rows.h").read_text()
    codes = re.findall(r"(?m)^REASON\(\s*([a-z_0-9]+),", source)
    count.same("the reason codes of the page", sorted(codes), sorted(re.findall(r"(?m)^  `([a-z_0-9]+)`$", reasons)))
    count.check("a schema with its columns", *([] if re.search(
        r"`amd-smi-monitor`\s.*?`power_usage`", help_on("telemetry-formats").stdout, re.S) else ["missing"]))
    count.check("a metric with its decimals", *([] if re.search(
        r"(?m)^  `total_gpu_energy_j`\n +schema: 2\n +meaning: energy of all GPUs in the window\n +decimals: 3$",
        help_on("metrics").stdout) else ["missing"]))
    generators = help_on("generators").stdout
    rows = (ROOT / "src" / "generators" / "generator_table.cpp").read_text()
    count.none("generators missing", {name for name in re.findall(r'\.name = "([^"]+)"', rows)
                                      if not re.search(f"(?m)^  {re.escape(name)}$", generators)})
    count.check("a generator with its window", *([] if re.search(
        r"(?m)^  guidellm\n +file: benchmarks\.json or .*\n.*\n +window: exact, the measured part$", generators) else [generators]))
    count.check("a variable", *([] if "`GPU_METRICS_CSV`" in help_on("files").stdout else ["missing"]))
    for topic, command in (("run", []), *((name, [name]) for name in
                                          ("agentic", "backfill", "doctor", "inspect", "measure", "multinode", "synthesize",
                                           "verify", "windows"))):
        options = set(re.findall(r"(?m)^  (?:-[hVq],)?(--[a-z-]+)", help_of(*command).split("\nExamples:")[0]))
        shown = set(re.findall(r"(?m)^  `(--[a-z-]+)", help_on(topic).stdout))
        count.same(f"the options on the page {topic}", options, shown)
        count.check(f"the exit statuses of {topic}",
                    *([] if f"`{' '.join(['aggregate-power', *command])}`" in help_on("exit-statuses").stdout else [topic]))


def main():
    count = Count()
    for name, text in PAGES.items():
        with tempfile.TemporaryDirectory() as folder:
            lay_out_page(pathlib.Path(folder))
            run_console(count, pathlib.Path(folder), name, text)
            compare_keys(count, name, pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        lay_out_checkout(pathlib.Path(folder))
        paste_readme(count, pathlib.Path(folder))
        compare_picture(count, pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        check_man_pages(count, pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        lay_out_checkout(pathlib.Path(folder))
        run_recorder(count, pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        run_benchmark_script(count, pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        run_stamping_script(count, pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        run_faults(count, pathlib.Path(folder))
    compare_benchmark(count)
    compare_sources(count)
    check_links(count)
    check_pages(count)
    check_tables(count)
    print(f"{count.passed} passed, {count.failed} failed")
    return 1 if count.failed else 0


if __name__ == "__main__":
    sys.exit(main())
