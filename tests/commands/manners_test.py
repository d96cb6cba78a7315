#!/usr/bin/env python3
"""What people meet at the command line: misspelt words, help, quiet runs, widths, colours, completion.

* Wrong use is one line, with the nearest name where there is one, and status 2.
* `explain` says what the table in src/core/model/reason.cpp says.
* With --quiet nothing is printed but errors; on every command.
* On a terminal of 80 columns no line of help, of a page, of `inspect` or of a backfill's summary is
  longer; colour is there only where it may be.
* The completions of bash, zsh and fish, as far as these shells are installed.
* Files that do not exist, values that are removed from the aggregate, and times in another unit.

usage: tests/commands/manners_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("AGGREGATE_POWER", ROOT / "build" / "aggregate-power")).resolve()
BUILD = PROGRAM.parent
RUN = ROOT / "testdata" / "runs" / "b200"
COMMANDS = ["agentic", "attribute", "backfill", "bundle", "calibrate", "compare", "doctor", "explain", "export", "help", "inspect", "measure", "multinode",
            "patch", "plan", "plot", "recommend", "report", "retract", "schema", "synthesize", "verify", "windows"]
ENVIRONMENT = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "TZ": "UTC", "HOME": "/", "LC_ALL": "C.UTF-8"}
AGGREGATE = ["--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
             "--expected-num-gpus", "8"]

passed = failed = 0


def same(what, wanted, found):
    global passed, failed
    if wanted == found:
        passed += 1
        return
    failed += 1
    print(f"FAILED {what}\n  expected {wanted!r}\n  got      {found!r}")


def run(*words, folder=None, **environment):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, env=ENVIRONMENT | environment, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def fresh_run(folder):
    for path in RUN.iterdir():
        shutil.copy(path, folder)
    return folder


def on_terminal(*words, columns=80, folder=None, **environment):
    """What a terminal gets on both streams, as lines."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([PROGRAM, *map(str, words)], cwd=folder, stdin=subprocess.DEVNULL, stdout=side,
                               stderr=side, env=ENVIRONMENT | {"TERM": "xterm"} | environment)
    os.close(side)
    seen = bytearray()
    try:
        while data := os.read(main, 65536):
            seen.extend(data)
    except OSError:
        pass
    process.wait(timeout=60)
    os.close(main)
    return seen.decode().replace("\r\n", "\n")


def too_long(text, columns=80):
    return [line for line in text.split("\n") if len(line) > columns]


# ---- Wrong use.

def misspelt(folder):
    see = "see 'aggregate-power patch --help'"
    of_all = "see 'aggregate-power --help'"
    cases = [
        (["--bench-reslt", "x"], f"unknown option '--bench-reslt': did you mean --bench-result? {see}"),
        (["-bench-result", "x"], f"unknown option '-bench-result': did you mean --bench-result? {see}"),
        (["--xyzzy"], f"unknown option '--xyzzy'; {see}"),
        (["--telemetry", "x"],
         f"unknown option '--telemetry': did you mean 'aggregate-power measure --telemetry', or --csv? {see}"),
        (["-x"], f"unknown option '-x'; {see}"),
        (["inspct", "a.csv"], f"unknown command 'inspct': did you mean inspect? {of_all}"),
        (["frobnicate"], "unknown command 'frobnicate', and there is no file of this name; known: "
                         f"{', '.join(COMMANDS)}; {of_all}"),
        (["backfill", "x", "--dryrun"],
         "unknown option '--dryrun': did you mean --dry-run? see 'aggregate-power backfill --help'"),
        (["inspect", "a.csv", "--timezon", "UTC", "--jsn"],
         "unknown option '--jsn': did you mean --json? see 'aggregate-power inspect --help'"),
        (["help", "resons"], "no page has 'resons': did you mean reasons?"),
        (["help", "xyzzy", "plugh"], "no page has 'xyzzy plugh'; 'aggregate-power help topics' lists them"),
        (["patch", "--out", "500"], "ambiguous option '--out': another command has it, and here it could be --output-tokens; "
                                    f"{see}"),
        (["explain", "sampling_gap_exceded"],
         "unknown code 'sampling_gap_exceded': did you mean sampling_gap_exceeded?"),
        (["explain", "nonsense"], "unknown code 'nonsense'; 'aggregate-power explain' lists all"),
    ]
    for words, message in cases:
        same(" ".join(words), (2, "", f"aggregate-power: error: {message}\n"), run(*words))
    for name in ("power.csv", "run.json"):
        (folder / name).write_text("{}")
    for words, message in (
            (["windows", "power.csv", "rn.json"], "rn.json does not exist: did you mean run.json?"),
            (["windows", "xyzzy.csv", "run.json"], "xyzzy.csv: cannot open"),
            (["windows", "power.csv"], "--windows is required, with the file of the windows, or bench:RESULT for a benchmark result"),
            (["plot"], "gpu_metrics.csv: no such recording: name one, as in 'aggregate-power plot power.csv'")):
        status, out, err = run(*words, folder=folder)
        same(" ".join(words), (2, "", True), (status, out, message in err))


def options_of_measure_without_it(folder):
    """Files without a command are measured; after options of measure, the message has the line that does it."""
    fresh_run(folder)
    (folder / "bin").mkdir()
    (folder / "bin" / "aggregate-power").symlink_to(PROGRAM)
    (folder / "e v$l.json").write_text('{"results": {"gsm8k": {"exact_match,strict-match": 0.5}}}')
    whole = {command: set(re.findall(r"(?m)^  (?:-\w,)?(--[a-z-]+)", run(command, "--help-all")[1])) for command in ("measure", "patch")}
    values = {"--slo": "ttft=500ms", "--carbon": "380", "--price": "0.3", "--currency": "EUR", "--pue": "1.2", "--set": "a=b c",
              "--role": "agg=0-7", "--out": "new.json", "--quality": "e v$l.json", "--questions": "100", "--accuracy": "0.5",
              "--telemetry": "gpu_metrics.csv"}
    same("measure alone has", whole["measure"] - whole["patch"], set(values))
    more = {"--currency": ["--price", "0.3"], "--questions": ["--accuracy", "0.5"], "--accuracy": ["--questions", "100"]}
    for option, value in (values | {"--json": None, "--timezone": "UTC"}).items():
        words = [option, *([value] if value else []), *more.get(option, []), "run.json", "gpu_metrics.csv"]
        status, out, err = run(*words, folder=folder)
        if option == "--telemetry":  # what it is here is said first, of a package's pipeline
            continue
        same(f"without a command: {words}", (2, "", True), (status, out, "name the command: aggregate-power measure " in err))
        named = "--bench-result is required" if option in whole["patch"] else f"option '{option}'"
        same(f"{option} is named", True, named in err)
        line = re.search(r"name the command: (.*); see 'aggregate-power measure --help'\n$", err)[1]
        done = subprocess.run(["sh", "-c", line], cwd=folder, text=True, capture_output=True,
                              env=ENVIRONMENT | {"PATH": f"{folder}/bin:{os.environ['PATH']}"})
        for name in ("new.json", "power_validation_new.json"):
            (folder / name).unlink(missing_ok=True)
        same(line, run("measure", *words, folder=folder), (done.returncode, done.stdout, done.stderr))
        same(f"{line} works", True, done.returncode == 0 or option in ("--slo", "--quality", "--questions", "--accuracy"))
        for name in ("new.json", "power_validation_new.json"):
            (folder / name).unlink(missing_ok=True)
    see = "see 'aggregate-power patch --help'"
    for words, message in (
            (["--slo", "ttft=500ms"], f"unknown option '--slo': an option of compare, measure, recommend, report; {see}"),
            (["--set", "a=b", "--csv", "x.csv"], f"unknown option '--set': an option of measure; {see}"),
            (["run.json", "--margin", "2"], "unknown option '--margin': an option of compare, plan; see 'aggregate-power measure --help'")):
        same(" ".join(words), (2, "", f"aggregate-power: error: {message}\n"), run(*words, folder=folder))


def other_words(folder):
    """A file, another command's option, a generator's name, a shortened zone: what they probably mean."""
    (folder / "vllm.json").write_text("{}")
    (folder / "gpu_metrics.csv").write_text("timestamp,gpu,power_w\n1,0,100\n")
    cases = [
        (["gpu_metrics.csv"], "measure: gpu_metrics.csv looks like a recording: name the load generator's result, too, "
                              "or give --start and --end"),
        (["measure", "--csv", "gpu_metrics.csv"],
         "unknown option '--csv': did you mean --telemetry? see 'aggregate-power measure --help'"),
    ]
    zones = {"+2": "'+02:00'", "-7": "'-07:00'", "+5:30": "'+05:30'", "UTC+2": "'+02:00'", "utc": "'UTC'",
             "PDT": "'America/Los_Angeles' or '-07:00'", "CEST": "'Europe/Berlin' or '+02:00'"}
    for zone, meant in zones.items():
        cases.append((["inspect", "gpu_metrics.csv", "--timezone", zone],
                      f"unknown time zone '{zone}'; give {meant}"))
    cases.append((["inspect", "gpu_metrics.csv", "--timezone", "+30"],
                  "unknown time zone '+30'; give 'UTC', a name such as 'America/Los_Angeles' or an offset such as '-07:00'"))
    for words, message in cases:
        status, out, err = run(*words, folder=folder)
        same(" ".join(words), (2, "", True), (status, out, err.startswith("aggregate-power: error: ")))
        if message:
            same(" ".join(words), f"aggregate-power: error: {message}\n", err)
    page = run("help", "generators")
    for name in ("vllm", "SGLang", "aiperf", "guidellm", "mlperf", "trtllm-bench", "genai-perf", "lm-eval", "InferenceX"):
        same(f"help {name}", page, run("help", name))
    for name in ("zeus", "AIPowerMeter", "gpupp"):
        page = run("help", f"coming-from-{name.lower()}")
        same(f"help {name}", (page, 0), (run("help", name), page[0]))


def lists_before_files(folder):
    """A value that is not a file is one word: the files after it are the command's."""
    fresh_run(folder)
    for words in (["--set", "a=b"], ["--role", "agg=0-7"], ["--set", "a=b", "--set", "c=d e"]):
        same(words, 0, run("measure", *words, "run.json", "gpu_metrics.csv", folder=folder)[0])


def other_json(folder):
    (folder / "mine.json").write_text('{"tokens_per_s": 5, "config": {"tp": 2}, "runs": [1, 2]}')
    status, _, err = run("inspect", "mine.json", folder=folder)
    same("its status", 1, status)
    same("one line", 1, err.count("\n"))
    same("its beginning", True, err.startswith(
        "aggregate-power: mine.json: this is JSON, but not a result that is recognized; its keys: "
        "config, runs, tokens_per_s; 'aggregate-power help generators' "))


def a_required_power_that_is_unclear(folder):
    fresh_run(folder)
    words = [*AGGREGATE, "--timezone", "Asia/Tokyo"]  # not valid
    warning = "aggregate-power: warning: REQUIRE_POWER is 'on', which counts as no: only 1, true and yes require power\n"
    status, _, err = run(*words, folder=folder, REQUIRE_POWER="on")
    same("it counts as no, with a warning", (0, True), (status, err.startswith(warning)))
    for value in ("", "0", "false", "No", "OFF", "1", "true", "YES"):
        status, _, err = run(*words, folder=folder, REQUIRE_POWER=value)
        same(f"'{value}'", (int(value in ("1", "true", "YES")), False), (status, "REQUIRE_POWER" in err))
    same("quiet", False, "REQUIRE_POWER" in run(*words, "--quiet", folder=folder, REQUIRE_POWER="on")[2])
    status, _, err = run(*words, "--require-power", folder=folder, REQUIRE_POWER="on")
    same("the option is clear", (1, False), (status, "REQUIRE_POWER" in err))


def commands_in_pages(folder):
    """A command that is folded in a page is still one command: its lines but the last end with a backslash."""
    source = (ROOT / "src" / "help" / "generators.md").read_text()
    wanted = [line.removeprefix("$ ").split() for line in source.replace("\\\n>", "").split("\n") if line.startswith("$ ")]
    for columns in ("80", "60"):
        text = run("help", "generators", COLUMNS=columns)[1].replace("\\\n    >", "")
        found = [line.strip().removeprefix("$ ").split() for line in text.split("\n") if line.startswith("    $ ")]
        same(f"commands at {columns}", wanted, found)
    same("some are folded", True, "--bench-result vllm.json \\\n    >   --agg-result" in run("help", "generators", COLUMNS="80")[1])


def one_line(folder):
    """Whatever is wrong, the answer is one line."""
    wrong = [["--csv"], ["--csv", "a"], ["--schema-version", "3"], ["--help=1"], ["--time", "UTC"], ["backfill"],
             ["backfill", "x", "--jobs", "0"], ["backfill", "x", "--json", "--list", "failed"], ["inspect"],
             ["inspect", "a", "b"], ["multinode"], ["agentic", "--result-dir", ""], ["synthesize", "--phase", "1"],
             ["help", "run", "run"], ["explain", "--nothing"], ["help", "--quiet=1"]]
    for words in wrong:
        status, out, err = run(*words)
        same(f"wrong use: {words}", (2, "", 1), (status, out, err.count("\n")))
        same(f"its beginning: {words}", True, err.startswith("aggregate-power: error: "))


def abbreviations(folder):
    """Options that every command has do not make others' abbreviations ambiguous."""
    (folder / "empty").mkdir()
    same("--ver is --verify", "no run was found\n", run("backfill", folder / "empty", "--ver")[2][-17:])
    same("--vers is --version", 0, run("inspect", "--vers")[0])
    same("--q is --quiet", (0, "", ""), run("backfill", folder / "empty", "--q"))
    whole = {command: set(re.findall(r"(?m)^  (?:-\w,)?(--[a-z-]+)", run(command, "--help-all")[1])) for command in COMMANDS}
    for command, own in whole.items():
        for other in sorted(set().union(*whole.values()) - own):
            longer = [option for option in own if option.startswith(other)]
            # The original's parser takes abbreviations of its own options.
            if not longer or (command, other) == ("multinode", "--power"):
                continue
            status, out, err = run(command, other, "1", folder=folder)
            same(f"{command} {other}", (2, "", True), (status, out, f"'{other}': another command has it, and here it could be" in err))


def given_counts(folder):
    """A count that contradicts the result's own by more than rounding: 1000 output tokens, 5 requests, 8000 input tokens."""
    fresh_run(folder)
    warned = re.compile(r"(--[a-z-]+) (\d+): the result states (\d+),")
    for words, wanted in ((["--output-tokens", "500"], [("--output-tokens", "500", "1000")]),
                          (["--output-tokens", "1005", "--request-count", "5"], []),
                          (["--input-tokens", "9000", "--request-count", "10"],
                           [("--request-count", "10", "5"), ("--input-tokens", "9000", "8000")]),
                          (["--output-tokens", "500", "--start", "2026-09-08T07:20:19.529Z", "--end", "+1.5s"],
                           [("--output-tokens", "500", "1000")]),
                          (["--output-tokens", "500", "--start", "2026-09-08T07:20:19.6Z", "--end", "+0.9s"], [])):
        for command in (["measure", "run.json", "gpu_metrics.csv"], [*AGGREGATE, "--dry-run"]):
            _, out, err = run(*command, *words, folder=folder)
            same(f"{command[:1]} {words}", wanted, warned.findall(" ".join((out + err).split())))


def short_options(folder):
    for command in ([name] for name in COMMANDS):
        same(f"{command} -h", run(*command, "--help"), run(*command, "-h"))
        same(f"{command} -V", run("--version"), run(*command, "-V"))
        same(f"{command} --version", run("--version"), run(*command, "--version"))
        for option in ("-h,--help", "-V,--version", "-q,--quiet"):
            same(f"{command}: {option} in the help", 1, run(*command, "--help-all")[1].count(f"\n  {option} "))


def overview(folder):
    """Nothing, -h and help print one screen; each command has a line, and fewer options than it has."""
    status, text, _ = run()
    same("without a word", (2, True), (status, text.count("\n") <= 30))
    same("help", (0, text, ""), run("help"))
    same("-h is --help", run("-h"), run("--help"))
    whole = run("--help")[1]
    same("--help begins so, and fits two screens", (True, True), (whole.startswith(text + "\n"), whole.count("\n") <= 66))
    for option in re.findall(r"(?m)^  (?:-\w,)?(--[a-z-]+)", run("patch", "--help-all")[1]):
        same(f"--help names {option}", True, option in whole.split())
    for words in ("--help-all", "--slo", "BMC", "W&B", "--redact", "estimated"):
        same(f"{words} is found", True, words in whole)
    for page in re.findall(r"(?m) help ([a-z-]+)$", whole):
        same(f"help {page}", 0, run("help", page)[0])
    for name in COMMANDS:
        same(f"a line for {name}", 1, len(re.findall(rf"(?m)^.{{10}}{name} +[a-zA-Z]", text)))
        short, whole = (run(name, option)[1] for option in ("--help", "--help-all"))
        shown = [set(re.findall(r"(?m)^  (?:-\w,)?(--[a-z-]+)", part)) for part in (short, whole)]
        same(f"options of {name} --help", True, shown[0] <= shown[1] and len(shown[0]) <= 18)
        same(f"--help {name}", run(name, "--help"), run("--help", name))
        same(f"help {name}", True, run("help", name)[1].startswith(run("help", {"patch": "run", "schema": "schemas", "help": "options"}.get(name, name))[1]))
    for word, page in (("timezone", "time-zones"), ("good work", "good-work"), ("reason", "reasons"), ("schema", "schemas")):
        same(f"help {word}", run("help", page), run("help", *word.split()))


def files_in_any_order(folder):
    """A result and its recording, with or without a command, in either order, or the result alone."""
    for name in ("vllm.json", "gpu_metrics.csv"):
        shutil.copy(ROOT / "testdata" / "results" / name, folder / name)
    (folder / "gpu_metrics.csv").rename(folder / "power.csv")
    wanted = run("measure", "vllm.json", "power.csv", folder=folder)
    same("measured", (0, True), (wanted[0], "valid         yes" in wanted[1]))
    for words in (["vllm.json", "power.csv"], ["power.csv", "vllm.json"], ["measure", "power.csv", "vllm.json"],
                  ["vllm.json"]):
        same(" ".join(words), wanted, run(*words, folder=folder))
    drawn = run("plot", "power.csv", "--bench-result", "vllm.json", "--window", "estimated", "--format", "json",
                folder=folder)
    for words in (["power.csv", "vllm.json"], ["vllm.json", "power.csv"]):
        same(f"plot {words}", drawn, run("plot", *words, "--window", "estimated", "--format", "json", folder=folder))
    shutil.copy(folder / "power.csv", folder / "other.csv")
    status, out, err = run("vllm.json", folder=folder)
    same("two recordings beside it", (2, ""), (status, out))
    for command in re.findall(r"'aggregate-power ([^']*)'", err):
        same(command, 0, run(*command.split(), folder=folder)[0])
    same("both are named", 2, err.count("'aggregate-power measure "))


def two_results(folder):
    for name in ("vllm.json", "vllm_detailed.json", "gpu_metrics.csv"):
        shutil.copy(ROOT / "testdata" / "results" / name, folder / name)
    for words in (["vllm.json", "vllm_detailed.json"], ["gpu_metrics.csv", "vllm.json", "vllm_detailed.json"],
                  ["vllm.json", "gpu_metrics.csv", "vllm_detailed.json"]):
        same(f"{words}", (2, "", True), (*run(*words, folder=folder)[:2],
                                         "2 results are named: name one of" in run(*words, folder=folder)[2]))
    shutil.copy(ROOT / "README.md", folder / "notes.txt")
    for extra in ("notes.txt", "gpu_metrics.csv"):
        same(f"with {extra}", False, "results are named" in run("vllm.json", extra, folder=folder)[2])
    for name, text in (("agg_vllm.json", '{"tp": 2}'), ("power_validation_vllm.json", '{"schema_version": 1}')):
        (folder / name).write_text(text)
        for words in (["vllm.json", "gpu_metrics.csv", name], [name, "gpu_metrics.csv", "vllm.json"], ["plot", "gpu_metrics.csv", name]):
            status, out, err = run(*words, folder=folder)
            same(f"{words}", (2, "", True), (status, out, f"{name} is neither a result nor a recording: leave it out" in err))
        (folder / name).unlink()
    for name in ("xyzzy.json", "plugh/xyzzy", "a.csv"):
        same(name, (2, "", f"aggregate-power: error: {name} does not exist: name the load generator's result and the recording; "
                    "see 'aggregate-power --help'\n"), run(name, folder=folder))
    same("mistyped", "aggregate-power: error: vllm_detaild.json does not exist: did you mean vllm_detailed.json? see "
         "'aggregate-power --help'\n", run("vllm_detaild.json", "gpu_metrics.csv", folder=folder)[2])


def pictures_replace_pictures_alone(folder):
    for name in ("vllm.json", "gpu_metrics.csv"):
        shutil.copy(ROOT / "testdata" / "results" / name, folder / name)
    draw = ["plot", "gpu_metrics.csv", "--out"]
    for name, text in (("notes.svg", "mine\n"), ("notes.csv", "a,b\n"), ("vllm.json", None), ("x.md", "# mine\n")):
        if text is not None:
            (folder / name).write_text(text)
        before = (folder / name).read_bytes()
        status, _, err = run(*draw, name, folder=folder)
        same(name, (2, True, before), (status, "is left as it is" in err, (folder / name).read_bytes()))
    for name in ("new.svg", "new.csv", "new.json", "none"):
        same(f"{name}, twice", [0, 0], [run(*draw, name, folder=folder)[0] for _ in range(2)])


def numbers_are_no_models(folder):
    for option in ("--gpu", "--gpu-model"):
        for value in ("0", "0,1", "0-3"):
            err = run("measure", "x.json", "--uncertainty", option, value, folder=folder)[2]
            same(f"{option} {value}", True, "expected a model such as H100" in err and "--gpus chooses GPUs" in err)


def folders_of_runs(folder):
    """A folder with a result and a recording is a run, and a folder of such folders is several."""
    source = ROOT / "testdata" / "results"
    for name, result in (("a", "vllm.json"), ("b", "vllm_detailed.json"), ("c", "vllm.json")):
        (folder / "runs" / name).mkdir(parents=True)
        shutil.copy(source / result, folder / "runs" / name / "result.json")
        shutil.copy(source / "gpu_metrics.csv", folder / "runs" / name / "power.csv")
        shutil.copy(source / "gpu_metrics_context.json", folder / "runs" / name / "power_context.json")
    (folder / "runs" / "notes").mkdir()
    (folder / "runs" / "notes" / "todo.txt").write_text("nothing\n")
    alone = [json.loads(run("measure", f"runs/{name}/result.json", f"runs/{name}/power.csv", "--json",
                            folder=folder)[1])["runs"][0] for name in "abc"]
    same("one", alone[:1], json.loads(run("runs/a", "--json", folder=folder)[1])["runs"])
    wanted = [{"benchmark": f"runs/{name}"} | one for name, one in zip("abc", alone)]
    for words in (["measure", "runs"], ["runs"], ["runs/a", "runs/b", "runs/c"], ["runs/a/", "runs/b/", "runs/c/"]):
        same(f"{words}", wanted, json.loads(run(*words, "--json", folder=folder)[1])["runs"])
    # A run that has two recordings keeps no other from being measured; one elsewhere is not its.
    (folder / "runs" / "d").mkdir()
    shutil.copy(source / "vllm.json", folder / "runs" / "d" / "result.json")
    for name in ("runs/d/a.csv", "runs/d/b.csv", "gpu_metrics.csv"):
        shutil.copy(source / "gpu_metrics.csv", folder / name)
    status, out, err = run("runs", "--json", folder=folder)
    same("with one that is unclear", (2, wanted), (status, json.loads(out)["runs"]))
    same("and why", True, "runs/d/result.json: 2 recordings are beside it" in err)
    shutil.rmtree(folder / "runs" / "d")
    (folder / "gpu_metrics.csv").unlink()
    same("as text", 3, run("runs", folder=folder)[1].count("\nvalid         yes"))
    same("--out", 2, run("runs", "--out", "x.json", folder=folder)[0])
    shutil.copy(source / "vllm.json", folder / "runs" / "b" / "second.json")
    named = [json.loads(run("measure", f"runs/b/{name}.json", "runs/b/power.csv", "--json", folder=folder)[1])["runs"][0]
             for name in ("result", "second")]
    status, out, err = run("runs/b", "--json", folder=folder)
    same("two results", (0, [{"benchmark": f"runs/b/{name}.json"} | one for name, one in zip(("result", "second"), named)]),
         (status, json.loads(out)["runs"]))
    same("and that both are measured", True, "runs/b: 2 results are in it: each is measured over its own window" in err)
    same("among others", wanted[:1] + json.loads(out)["runs"] + wanted[2:], json.loads(run("runs", "--json", folder=folder)[1])["runs"])
    same("a named one", 0, run("runs/b/second.json", folder=folder)[0])
    shutil.copy(source / "guidellm.json", folder / "runs" / "b" / "third.json")
    status, out, err = run("runs/b", folder=folder)
    same("of two generators", (2, "", True), (status, out, "results of 2 generators are in it: name one of runs/b/result.json, runs/b/second.json" in err))


def former_names(folder):
    """Options that got better names have their old ones, too."""
    for name in ("vllm_detailed.json", "gpu_metrics.csv", "gpu_metrics_context.json"):
        shutil.copy(ROOT / "testdata" / "results" / name, folder / name)
    run_of = ["measure", "vllm_detailed.json", "--uncertainty"]
    for old, new in ((["--gpu", "H100"], ["--gpu-model", "H100"]), (["--requests", "3"], ["--request-count", "3"])):
        wanted = run(*run_of, *new, folder=folder)
        same(f"{new} changes what is printed", True, wanted[1] != run(*run_of, folder=folder)[1])
        same(f"{old} is {new}", wanted, run(*run_of, *old, folder=folder))
    sweep = ROOT / "testdata" / "power-limits" / "trace-summary_power_a40.csv"
    same("--objective cost", run("recommend", sweep, "--objective", "energy-time"), run("recommend", sweep, "--objective", "cost"))


def instants(folder):
    """A time as people have it before them; one without an offset needs a zone."""
    for name in ("gpu_metrics.csv", "gpu_metrics_context.json"):
        shutil.copy(ROOT / "testdata" / "results" / name, folder / name)

    def measured(start, *more):
        return run("measure", "--start", start, "--end", "+30s", "--telemetry", "gpu_metrics.csv", *more, folder=folder)
    wanted = measured("1788852030")
    same("measured", (0, True), (wanted[0], "energy        " in wanted[1]))
    for start in ("2026-09-08T07:20:30Z", "2026-09-08 07:20:30+00:00", "2026-09-08 09:20:30 +02:00",
                  "Tue Sep  8 07:20:30 UTC 2026", "Tue Sep  8 07:20:30 AM UTC 2026", "Tue Sep 8 07:20:30 GMT 2026"):
        same(start, wanted, measured(start))
    for start in ("2026/09/08 09:20:30.000", "2026-09-08 09:20:30", "Tue Sep  8 09:20:30 2026",
                  "Tue Sep  8 09:20:30 AM 2026"):
        same(start, wanted[1], measured(start, "--timezone", "Europe/Berlin")[1])
        err = measured(start)[2]
        same(f"{start} without a zone", True, "has no offset: append Z or +HH:MM, or name the zone with --timezone" in err)
    for start in ("Tue Sep  8 07:20:30 CEST 2026", "Tue Sop  8 07:20:30 UTC 2026", "Tue Sep  8 13:20:30 PM UTC 2026",
                  "Tue Sep 31 07:20:30 UTC 2026"):
        same(f"{start} is none", 2, measured(start)[0])


def durations(folder):
    shutil.copy(ROOT / "testdata" / "results" / "gpu_metrics.csv", folder / "gpu_metrics.csv")
    for text in ("1e308h", "inf", "nan", "-1s", "0"):
        status, out, err = run("measure", "--start", "1788852030", "--duration", text, "--telemetry", "gpu_metrics.csv",
                               folder=folder)
        same(f"--duration {text}", (2, "", 1), (status, out, err.count("\n")))


def search(folder):
    """Words that people try lead to a page; a code leads to its explanation."""
    same("a code", run("explain", "sampling_gap_exceeded"), run("help", "sampling_gap_exceeded"))
    same("a package's code", True, "chrony" in run("help", "clock_sync_unverified")[1])
    for words in (["monitor"], ["energy"], ["codecarbon"], ["wandb"], ["power", "limit"], ["docker"], ["slurm"],
                  ["Kubernetes"], ["mlflow"]):
        status, text, _ = run("help", *words)
        same(f"help {words}", (0, True), (status, " ".join(words).lower() in text.lower()))
        named = re.findall(r"(?m)^(?:  )?help ([a-z-]+):? ", text)
        same(f"pages of {words}", (True, True), (len(named) > 0, all(run("help", name)[0] == 0 for name in set(named))))


# ---- Explanations.

def rows_of_reasons():
    source = (ROOT / "include" / "aggregate_power" / "reason_rows.h").read_text()
    text = r'"((?:[^"\\]|\\.)*)"'
    return re.findall(rf"REASON\(\s*([a-z_0-9]+), \w+,\s*{text},\s*{text},\s*{text}\)", source)


def rows_of_words():
    """Of the objects' words, in the order of the list."""
    rows = []
    for path, table in (("core/model/code_descriptions.cpp", "kVerdicts"), ("energy/uncertainty/interval.cpp", ""),
                        ("core/model/code_descriptions.cpp", "kAssumptions"),
                        ("core/model/code_descriptions.cpp", "kNo"),
                        ("packages/srt_slurm/package_codes.cpp", ""),
                        *(("core/model/code_descriptions.cpp", table) for table in ("kWindows", "kZones", "kCorrections"))):
        source = (ROOT / "src" / path).read_text()
        if table:
            source = "".join(re.findall(rf"(?ms)^constexpr ExplainedWord {table}\w*\[\] = {{(.*?)^}};", source))
        text = r'"((?:[^"\\]|\\.)*)"'
        # A list of three codes is no row.
        rows.append([row for row in re.findall(rf"{{{text},\s*{text},\s*{text}}}", source) if " " in row[1]])
    return rows


def plain_words(words):
    return [dict(zip(("code", "rule", "remedy"), (part.replace("`", "") for part in row))) for row in words]


def explain(folder):
    rows = rows_of_reasons()
    same("all rows were found", True, len(rows) > 80)
    found = json.loads(run("explain", "--json")[1])
    same("explain --json", [dict(zip(("code", "meaning", "causes", "remedy"),
                                     (part.replace("`", "") for part in row))) for row in rows], found[:len(rows)])
    verdicts, *others = rows_of_words()
    same("all words were found", [19, 15, 13, 30, 43, 6, 9, 5], [len(words) for words in [verdicts, *others]])
    words = [word for part in [verdicts, *others] for word in part]
    same("verdicts", plain_words(verdicts), found[len(rows):len(rows) + len(verdicts)])
    told = found[len(rows) + len(verdicts):]
    same("where", ["components of uncertainty"] * 15, [word["where"][4:] for word in told[:15]])
    same("others", plain_words(words[len(verdicts):]),
         [{key: text for key, text in word.items() if key != "where"} for word in told])
    same("one as JSON", found[0], json.loads(run("explain", "--json", found[0]["code"])[1]))
    same("two as JSON", found[2:0:-1], json.loads(run("explain", found[2]["code"], found[1]["code"], "--json")[1]))
    same("one word of three objects", [word for word in told if word["code"] == "too_few_readings"],
         json.loads(run("explain", "too_few_readings", "--json")[1]))
    listed = run("explain")[1]
    same("the list", [row[0] for row in rows + words], re.findall(r"(?m)^([a-z_0-9]+) ", listed))
    for code, meaning, causes, remedy in rows:
        status, out, err = run("explain", code)
        whole = f"{code} what happened: {meaning} usual causes: {causes} what to do: {remedy}".replace("`", "")
        # A verdict may have the same name, and comes after it.
        told = " ".join(out.split()) if code not in [word[0] for word in words] else " ".join(out.split())[:len(whole)]
        same(f"explain {code}", (0, "", whole), (status, err, told))
    for code, rule, remedy in words:
        status, out, err = run("explain", code)
        same(f"explain {code}", (0, ""), (status, err))
        assert f"when: {rule} what to do: {remedy}".replace("`", "") in " ".join(out.split()), out


# ---- JSON and quiet.

def help_as_json(folder):
    topics = json.loads(run("help", "--json")[1])
    same("topics", sorted(path.stem for path in (ROOT / "src" / "help").glob("*.md")),
         sorted(one["topic"] for one in topics))
    page = json.loads(run("help", "run", "--json")[1])
    same("a page", run("help", "run")[1], page["text"])


def backfill_as_json(folder):
    shutil.copytree(ROOT / "testdata" / "store", folder / "store")
    status, out, err = run("backfill", folder / "store", "--json", "--dry-run")
    dry = json.loads(out)
    same("a dry run's lines are on stderr", True, "total_gpu_energy_j: absent -> 38400.0\n" in err)
    status, out, err = run("backfill", folder / "store", "--json")
    summary = json.loads(out)
    # The page on backfill has the same store's table.
    same("the summary", (5, 2, 1, 1, 1), (summary["runs"], *(summary["outcomes"][name] for name in (
        "patched", "not_valid", "not_recomputable", "not_writable"))))
    same("the reasons", {"sampling_gap_exceeded": ["llama_tp2_conc16"], "benchmark_result_missing": ["qwen_tp2_conc2"],
                         "aggregate_in_archive": ["mixtral_tp2_conc1"]},
         {reason["code"]: reason["first_runs"] for reason in summary["reasons"]})
    same("a dry run's summary", (True, summary["outcomes"]), (dry["dry_run"], dry["outcomes"]))
    same("the status", (0, ""), (status, err))


def quiet(folder):
    fresh_run(folder)
    for option in ("-q", "--quiet"):
        same("a valid run", (0, "", ""), run(*AGGREGATE, option, folder=folder))
    same("its aggregate", 1, json.loads((folder / "agg_run.json").read_text())["power_valid"])
    same("a dry run", (0, "", ""), run(*AGGREGATE, "-q", "--dry-run", folder=folder))
    schema_1 = [word for word in AGGREGATE if word not in ("--expected-num-gpus", "8")]
    (folder / "no_ids.csv").write_text("timestamp,power.draw [W]\n1788852019,100\n1788852020,100\n1788852021,100\n")
    named = ["no_ids.csv" if word == "gpu_metrics.csv" else word for word in schema_1]
    same("without it there are warnings", True, "no_device_column" in run(*named, "--dry-run", folder=folder)[2])
    same("warnings", (0, "", ""), run(*named, "-q", folder=folder))
    status, out, err = run(*AGGREGATE, "-q", "--timezone", "+09:00", "--require-power", folder=folder)
    same("a run that is not valid", (1, "", True),
         (status, out, err.startswith("aggregate-power: power not valid: no_usable_power_samples (")))
    same("inspect", (0, "", ""), run("inspect", "gpu_metrics.csv", "-q", folder=folder))
    same("inspect --json", run("inspect", "gpu_metrics.csv", "--json", folder=folder),
         run("inspect", "gpu_metrics.csv", "--json", "-q", folder=folder))
    same("inspect of nothing", (2, "", True), (lambda s, o, e: (s, o, "telemetry_file_missing" in e))(
        *run("inspect", "nothing.csv", "-q", folder=folder)))
    same("help", (0, "", ""), run("help", "-q"))
    same("explain", (0, "", ""), run("explain", "sampling_gap_exceeded", "-q"))
    same("explain --json", run("explain", "--json"), run("explain", "--json", "-q"))
    same("an unknown code", 2, run("explain", "x", "-q")[0])
    same("synthesize", (0, "", ""), run("synthesize", "--phase", "1:1", "--out", "s.csv", "-q", folder=folder))
    same("its file", True, (folder / "s.csv").exists())
    shutil.copytree(ROOT / "testdata" / "store", folder / "store")
    listed = run("backfill", folder / "store", "--dry-run", "--list", "not_valid")[1]
    same("a list that was asked for", (0, listed, ""),
         run("backfill", folder / "store", "--dry-run", "--list", "not_valid", "-q"))
    same("a backfill's dry run", (0, "", ""), run("backfill", folder / "store", "--dry-run", "-q"))
    same("a backfill", (0, "", ""), run("backfill", folder / "store", "-q"))


# ---- Terminals.

def widths(folder):
    for columns in (80, 70):
        for command in [[], *([name] for name in COMMANDS)]:
            text = on_terminal(*command, "--help", columns=columns)
            same(f"{command} --help in {columns}", (True, []), (len(text) > 300, too_long(text, columns)))
    topics = [one["topic"] for one in json.loads(run("help", "--json")[1])]
    for words in [["help"], ["explain"], ["explain", "manifest_missing"], *(["help", topic] for topic in topics)]:
        text = on_terminal(*words)
        same(f"{words} in 80", (True, []), (len(text) > 200, too_long(text)))
    wide = on_terminal("help", "limits", columns=300)
    same("never wider than 100", (True, []), (len(too_long(wide)) > 3, too_long(wide, 100)))
    same("$COLUMNS", [], too_long(run("help", "limits", COLUMNS="50")[1], 50))
    same("80 elsewhere", run("help", "limits")[1], run("help", "limits", COLUMNS="80")[1])


def tables(folder):
    fresh_run(folder)
    text = on_terminal("inspect", "gpu_metrics.csv", "--bench-result", "run.json", folder=folder)
    same("inspect in 80", (True, []), ("\ndevice " in text, too_long(text)))
    shutil.copytree(ROOT / "testdata" / "store", folder / "store")
    text = on_terminal("backfill", folder / "store", "--dry-run", "--list", "failed", folder=folder)
    summary = text[text.rindex("runs (dry run)"):]
    same("a summary in 80", (True, []), ("sampling_gap_exceeded" in summary, too_long(summary)))


def examples_are_commands(folder):
    """A shell reads each example of the help as one command, in however many lines it is."""
    for command in [[], *([name] for name in COMMANDS)]:
        text = run(*(command or ["patch"]), "--help")[1].split("\nExamples:\n")[1].split("\n\n")[0]
        for line in text.replace("\\\n", " ").splitlines():
            same(f"an example of {command}", True, line.startswith("  aggregate-power"))


def colours(folder):
    red = "aggregate-power: \x1b[31merror:\x1b[0m unknown option '-x'; see 'aggregate-power patch --help'\n"
    plain = red.replace("\x1b[31m", "").replace("\x1b[0m", "")
    same("an error on a terminal", red, on_terminal("-x"))
    same("NO_COLOR", plain, on_terminal("-x", NO_COLOR="1"))
    same("an empty NO_COLOR says nothing", red, on_terminal("-x", NO_COLOR=""))
    same("TERM=dumb", plain, on_terminal("-x", TERM="dumb"))
    same("no terminal", plain, run("-x", TERM="xterm")[2])
    fresh_run(folder)
    text = on_terminal(*AGGREGATE, "--timezone", "+09:00", folder=folder)
    same("a verdict", True, text.startswith("aggregate-power: \x1b[31mpower not valid:\x1b[0m no_usable"))
    same("nothing else", False, "\x1b" in on_terminal(*AGGREGATE, folder=folder))
    same("help", False, "\x1b" in on_terminal("help", "run"))


# ---- Completion.

def generated_completions(folder):
    for name, option in (("aggregate-power.bash", "bash"), ("_aggregate-power", "zsh"), ("aggregate-power.fish", "fish")):
        status, out, err = run(f"--generate-{option}-completion")
        same(f"{option}: generated", (0, ""), (status, err))
        same(f"{option}: in the build folder", out, (BUILD / name).read_text())
        for word in (*COMMANDS, "sampling_gap_exceeded", "time-zones", "torn-tail", "quiet", "expected-num-gpus"):
            same(f"{option}: has {word}", True, word in out)


def bash_completes(folder, *words):
    script = '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _aggregate_power; echo "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script, BUILD / "aggregate-power.bash", "aggregate-power", *words],
                          capture_output=True, text=True, timeout=30)
    return done.stdout.split()


def fish_completes(folder, *words):
    done = subprocess.run(["fish", "--no-config", "-c", 'source $argv[1]; complete -C "$argv[2]"',
                           BUILD / "aggregate-power.fish", " ".join(["aggregate-power", *words])], cwd=folder,
                          capture_output=True, text=True, timeout=60,
                          env=ENVIRONMENT | {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / ".config"),
                                             "PATH": f"{BUILD}:{ENVIRONMENT['PATH']}"})
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


class Zsh:
    """An interactive zsh, of which each line is completed and then printed."""

    def __init__(self, folder):
        self.main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 400, 0, 0))
        self.process = subprocess.Popen(["zsh", "-f", "-i"], stdin=side, stdout=side, stderr=side, cwd=folder,
                                        env=ENVIRONMENT | {"TERM": "xterm", "HOME": str(folder),
                                                           "PATH": f"{BUILD}:{ENVIRONMENT['PATH']}"},
                                        start_new_session=True)
        os.close(side)
        self.say(f"PS1=; unsetopt beep; fpath=({BUILD} $fpath); autoload -Uz compinit; compinit -u -D\n")
        self.say("bindkey -e; bindkey '^I' complete-word; zstyle ':completion:*' completer _complete\n")
        self.say("print REA''DY\n")
        self.until("READY")

    def say(self, text):
        os.write(self.main, text.encode())

    def until(self, mark):
        seen = ""
        end = time.monotonic() + 30
        while mark not in seen and time.monotonic() < end:
            if select.select([self.main], [], [], 0.2)[0]:
                seen += os.read(self.main, 65536).decode(errors="replace")
        return seen

    def line(self, *words):
        """The words with the last one completed, as far as only one way leads on."""
        self.say(" ".join(["aggregate-power", *words]) + "\t")
        time.sleep(0.5)
        self.say("\x01print -r -- '<\x05>'\n")  # at both ends of the line
        seen = self.until(">\r\n")
        found = re.findall(r"(?m)^<(.*)>\r?$", re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]", "", seen))
        return found[-1].split()[1:] if found else seen

    def close(self):
        self.say("exit\n")
        self.process.wait(timeout=30)
        os.close(self.main)


# Words, and what the last one becomes.
UNIQUE = [
    (["insp"], "inspect"),
    (["--expected-n"], "--expected-num-gpus"),
    (["synthesize", "--benchm"], "--benchmark-phase"),
    (["synthesize", "--fault", "to"], "torn-tail"),
    (["help", "tim"], "time-zones"),
    (["explain", "sampling_g"], "sampling_gap_exceeded"),
    (["explain", "sampling_gap_exceeded", "manifest_mi"], "manifest_missing"),
    (["backfill", "--qui"], "--quiet"),
    (["--csv", "gpu_m"], "gpu_metrics.csv"),
    (["inspect", "gpu_m"], "gpu_metrics.csv"),
]


def completion_in_bash(folder):
    for words, wanted in UNIQUE:
        if wanted == "gpu_metrics.csv":
            wanted = None  # left to the shell
        same(f"bash: {words}", [wanted] if wanted else [], bash_completes(folder, *words))
    same("bash: commands", COMMANDS, [word for word in bash_completes(folder, "") if not word.startswith("-")])


def completion_in_fish(folder):
    if shutil.which("fish") is None:
        print("skipped: completion in fish (fish is not installed)")
        return
    syntax = subprocess.run(["fish", "--no-execute", BUILD / "aggregate-power.fish"], capture_output=True, text=True)
    same("fish: syntax", (0, ""), (syntax.returncode, syntax.stderr))
    (folder / "gpu_metrics.csv").touch()
    (folder / "gpu_folder").mkdir()
    for words, wanted in UNIQUE:
        same(f"fish: {words}", [wanted], fish_completes(folder, *words))
    same("fish: commands", sorted(COMMANDS), sorted(fish_completes(folder, "")))
    same("fish: folders", ["gpu_folder/"], fish_completes(folder, "agentic", "--result-dir", "gpu_"))
    same("fish: no files for a number", [], fish_completes(folder, "--expected-num-gpus", "gpu_"))


def completion_in_zsh(folder):
    if shutil.which("zsh") is None:
        print("skipped: completion in zsh (zsh is not installed)")
        return
    syntax = subprocess.run(["zsh", "-f", "-n", BUILD / "_aggregate-power"], capture_output=True, text=True)
    same("zsh: syntax", (0, ""), (syntax.returncode, syntax.stderr))
    (folder / "gpu_metrics.csv").touch()
    zsh = Zsh(folder)
    for words, wanted in UNIQUE:
        same(f"zsh: {words}", [*words[:-1], wanted], zsh.line(*words))
    (folder / "gpu_folder").mkdir()
    same("zsh: folders", ["agentic", "--result-dir", "gpu_folder"], zsh.line("agentic", "--result-dir", "gpu_"))
    same("zsh: no files for a number", ["--expected-num-gpus", "gpu_"], zsh.line("--expected-num-gpus", "gpu_"))
    zsh.close()


# ---- Files and times.

def missing_files(folder):
    fresh_run(folder)
    run(*AGGREGATE, "--timezone", "UTC", folder=folder)
    keys = [key for key in json.loads((folder / "agg_run.json").read_text()) if "power_w" in key or "joules" in key
            or key == "total_gpu_energy_j"]
    same("values of an earlier run", 7, len(keys))
    words = [*AGGREGATE, "--csv", "gpu_metrcs.csv"]
    removed = f"aggregate-power:   values of an earlier run were removed from agg_run.json: {', '.join(keys)}\n"
    near = "aggregate-power:   gpu_metrcs.csv does not exist: did you mean gpu_metrics.csv?\n"
    err = run(*words, folder=folder)[2]
    same("a mistyped --csv", (True, True), (near in err, err.endswith(near + removed)))
    same("they are gone", True, keys[0] not in json.loads((folder / "agg_run.json").read_text()))
    same("the second time there is nothing to remove", False, "were removed" in run(*words, folder=folder)[2])
    (folder / "agg_run.json").write_text('{"avg_power_w": 1, "tp": 8}')
    same("one key", True, run(*words, folder=folder)[2].endswith("removed from agg_run.json: avg_power_w\n"))
    (folder / "agg_run.json").write_text('{"avg_power_w": 1, "tp": 8}')
    same("a dry run removes nothing", False, "were removed" in run(*words, "--dry-run", folder=folder)[2])
    for option, wrong, right in (("--bench-result", "run.jsn", "run.json"), ("--agg-result", "agg_rn.json", "agg_run.json")):
        err = run(*AGGREGATE, option, wrong, folder=folder)[2]
        same(f"a mistyped {option}", 1, err.count(f"aggregate-power:   {wrong} does not exist: did you mean {right}?\n"))
    err = run("inspect", "gpu_metrcs.csv", folder=folder)[2]
    same("inspect", 1, err.count("aggregate-power: gpu_metrcs.csv does not exist: did you mean gpu_metrics.csv?\n"))
    err = run(*AGGREGATE, "--csv", "elsewhere.csv", folder=folder)[2]
    same("nothing is near", False, "did you mean" in err)


def units(folder):
    fresh_run(folder)
    result = json.loads((folder / "run.json").read_text())
    for key in ("benchmark_start_time_unix", "benchmark_end_time_unix"):
        result[key] *= 1000
    (folder / "ms.json").write_text(json.dumps(result))
    words = [*AGGREGATE, "--bench-result", "ms.json"]
    err = run(*words, folder=folder)[2]
    same("times in ms", True, "benchmark_duration_mismatch (1.500 s reported, 1500.000 s between start and end; "
         "'benchmark_start_time_unix' is in milliseconds: divide by 1000)" in err)
    result["duration"] *= 1000
    (folder / "ms.json").write_text(json.dumps(result))
    status, out, err = run(*words, folder=folder)
    same("all in ms", (0, "", True), (status, out, "to 1788852021029.000: the window's times are in milliseconds: "
                                      "divide by 1000)" in err))
    same("the codes", ["no_usable_power_samples"],
         json.loads((folder / "power_validation_ms.json").read_text())["reasons"])


TESTS = {test.__name__: test for test in (
    misspelt, options_of_measure_without_it, other_words, lists_before_files, other_json, a_required_power_that_is_unclear, commands_in_pages, one_line, abbreviations, given_counts, short_options, explain, help_as_json, backfill_as_json, quiet, widths, tables,
    examples_are_commands, colours, generated_completions, completion_in_bash, completion_in_fish, completion_in_zsh,
    missing_files, units, overview, files_in_any_order, two_results, pictures_replace_pictures_alone, numbers_are_no_models, folders_of_runs, former_names, instants, durations, search)}


def main():
    for name in sys.argv[1:] or TESTS:
        with tempfile.TemporaryDirectory() as folder:
            TESTS[name](pathlib.Path(folder))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
