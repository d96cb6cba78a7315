#!/usr/bin/env python3
"""No command waits for a special file, whichever option or place on the command line names it.

Each option that takes a value, by the help of each command, and each file of a command's own line is replaced
by a pipe with a name that nobody opens, /dev/zero, a link to each, and a socket. The commands are such that every
file of theirs is opened. A command that is new needs a line here.

usage: tests/commands/special_files_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import os
import pathlib
import re
import resource
import shutil
import socket
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import running  # noqa: E402

PROGRAM = pathlib.Path(os.environ.get("AGGREGATE_POWER", ROOT / "build" / "aggregate-power")).resolve()
ENVIRONMENT = {"PATH": os.environ["PATH"], "TZ": "UTC"}
LONGEST_S, MOST_MIB = 20, 1500
START = 1777118400
# Commands that succeed, each with files; "{}" is where an option more goes.
LINES = {
    "agentic": ["--result-dir agentic --agg-result agg_run.json --timezone UTC {}"],
    "attribute": ["--telemetry gpu_metrics.csv --trace trace.json {}"],
    "backfill": ["store --timezone UTC --dry-run {}", "--undo report.jsonl {}",
                 "store --timezone UTC --sweep-manifest out --sweep sweep.json {}"],
    "bundle": ["store --out new.tar.zst {}", "run.json --out new.tar.zst --redact {}"],
    "compare": ["agg_run.json --with agg_run.json {}"],
    "calibrate": ["gpu_metrics.csv --witness windows.csv {}"],
    "doctor": ["gpu_metrics.csv {}"],
    "explain": ["{}"],
    "export": ["agg_run.json --format csv {}", "agg_run.json --format prometheus --names aipowermeter {}"],
    "help": ["{}"],
    "inspect": ["gpu_metrics.csv {}", "run.json {}", "windows.csv {}"],
    "measure": ["run.json gpu_metrics.csv {}", "run.json gpu_metrics.csv --pue 1.2 --currency EUR {}"],
    "multinode": ["--host a=gpu_metrics.csv --role agg=a --bench-result run.json --agg-result agg_run.json {}"],
    "patch": ["--csv gpu_metrics.csv --bench-result run.json --agg-result agg_run.json --gpus 0,1 {}"],
    "plan": ["--recording gpu_metrics.csv --gpu-model H100 --detect 2% {}"],
    "plot": ["run.json gpu_metrics.csv {}"],
    "recommend": ["agg_run.json {}", "--tokens tokens.csv --samples gpu_metrics.csv {}"],
    "report": ["agg_run.json --out page.html {}"],
    "retract": ["store --where version=* --dry-run {}"],
    "schema": ["measure {}"],
    "synthesize": ["--phase 5:100 --phase 5:300 --out new.csv {}"],
    "verify": ["store {}", "--sweep manifest.json {}", "--receipt receipt.json {}"],
    "windows": ["--windows windows.csv --telemetry gpu_metrics.csv {}"],
}
VALUES_WITH_MORE = {"--host": "a={}", "--expected-num-gpus": None}


def run(words, folder, seconds=LONGEST_S):
    """Status and output; nullopt: it waited."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MIB << 20, MOST_MIB << 20))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    try:
        done = subprocess.run([PROGRAM, *words], cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=seconds, preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return None, "waited"
    return done.returncode, done.stderr.decode(errors="replace")


def commands():
    done = subprocess.run([PROGRAM, "--generate-bash-completion"], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return sorted(set(re.findall(r"(?m)^    ([a-z]+):\*\) options", done.stdout)))


def options(command):
    """Those that take a value."""
    done = subprocess.run([PROGRAM, command, "--help-all"], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return sorted(set(re.findall(r"(?m)^  (?:-\w,)?(--[a-z-]+) [^ ]", done.stdout)))


def make_files(folder):
    load = ["--gpus", "2", "--phase", "5:100", "--phase", "10:300", "--phase", "5:100", "--start", str(START)]
    status, said = run(["synthesize", *load, "--out", "gpu_metrics.csv", "--bench-out", "run.json", "--agg-out", "agg_run.json"], folder)
    assert status == 0, said
    assert run(["patch", "--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json"], folder)[0] == 0
    store = folder / "store" / "power_audit_run"
    store.mkdir(parents=True)
    for name in ("gpu_metrics.csv", "run.json", "agg_run.json"):
        shutil.copy(folder / name, store / name)
    assert run(["backfill", "store", "--timezone", "UTC", "--force", "--report", "report.jsonl"], folder)[0] == 0
    agentic = folder / "agentic"
    agentic.mkdir()
    shutil.copy(folder / "gpu_metrics.csv", agentic)
    (folder / "windows.csv").write_text(f"name,start,end\nload,{START + 6},{START + 14}\n")
    (folder / "tokens.csv").write_text("timestamp,tokens_per_sec,power_limit\n" + "".join(
        f"{START + 6 + i},{100 + i},{300 + 100 * (i % 2)}\n" for i in range(8)))
    (folder / "trace.json").write_text(json.dumps({"traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "k", "ts": (START + 7) * 1e6, "dur": 4e6, "pid": 0, "tid": 7,
         "args": {"device": 0, "stream": 7}}]}))
    for name in ("sweep.json", "manifest.json", "receipt.json"):
        (folder / name).write_text("{}")


def make_special(folder):
    names = ["pipe", "link-to-pipe", "/dev/zero", "link-to-zero", "socket"]
    os.mkfifo(folder / "pipe")
    (folder / "link-to-pipe").symlink_to("pipe")
    (folder / "link-to-zero").symlink_to("/dev/zero")
    here = os.getcwd()
    os.chdir(folder)  # a socket's path is short
    socket.socket(socket.AF_UNIX).bind("socket")
    os.chdir(here)
    for ending in (".csv", ".json", ".jsonl", ".html", ".svg", ".gz"):  # by which formats are known
        os.mkfifo(folder / f"pipe{ending}")
    return names


def waits_of(folder, words):
    status, said = run(words, folder)
    if status not in (0, 1, 2, 3) or "bad_alloc" in said:
        return [f"{' '.join(map(str, words))}: {status}: {said[-200:].strip()}"]
    return []


def test_options(folder):
    make_files(folder)
    special = make_special(folder)
    faults, tried = [], 0
    assert set(commands()) <= set(LINES), "a command without a line"
    for command in commands():
        for line in LINES[command]:
            for i, option in enumerate(options(command)):
                form = VALUES_WITH_MORE.get(option, "{}")
                for name in special if not running.QUICK else [special[0], special[2 + i % 3]]:
                    if form is None:
                        continue
                    words = line.replace("{}", "").split()
                    value = form.format(name)
                    if option in words:
                        words[words.index(option) + 1] = value
                    else:
                        words += [option, value]
                    faults += waits_of(folder, [command, *words])
                    tried += 1
    assert not faults, "\n".join([f"{len(faults)} of {tried}", *faults])
    assert tried > 400, tried


def test_words(folder):
    """Files of a command's own line, also without the name of a command."""
    make_files(folder)
    special = make_special(folder) + [f"pipe{ending}" for ending in (".csv", ".json", ".jsonl", ".html", ".svg", ".gz")]
    faults = []
    for command, lines in LINES.items():
        for line in lines:
            words = line.replace("{}", "").split()
            for i, word in enumerate(words):
                if word.startswith("--") or not (folder / word.split("=")[-1]).exists():
                    continue
                for name in special:
                    other = [*words[:i], word.replace(word.split("=")[-1], name), *words[i + 1:]]
                    faults += waits_of(folder, [command, *other])
    for name in special:
        for words in ([name], [name, "gpu_metrics.csv"], ["run.json", name], ["plot", name], ["compare", name, name],
                      ["recommend", name], ["export", name, "--format", "jsonl"], ["verify", name], ["backfill", name],
                      ["backfill", "store", "--runs", name], ["doctor", name], ["inspect", name, "--validate"]):
            faults += waits_of(folder, words)
    assert not faults, "\n".join([f"{len(faults)} faults", *faults])


def test_pipes_without_a_name(folder):
    """What a shell makes of <(...) and | is read: files of rates, windows, results, standard input by its name."""
    make_files(folder)
    (folder / "price.csv").write_text("time,value\n" + "".join(f"{START + 3600 * hour},0.25\n" for hour in range(-1, 3)))
    for line in ('"$0" measure <(cat run.json) gpu_metrics.csv',
                 '"$0" windows --windows <(cat windows.csv) --telemetry gpu_metrics.csv',
                 'cat windows.csv | "$0" windows --windows /dev/stdin --telemetry gpu_metrics.csv',
                 'cat gpu_metrics.csv | "$0" measure run.json -',
                 'mkfifo p; cat run.json >p & "$0" measure /dev/stdin gpu_metrics.csv <p',
                 '"$0" measure run.json gpu_metrics.csv --pue 1.1 --price <(cat price.csv)',
                 '"$0" attribute --telemetry gpu_metrics.csv --trace <(cat trace.json)'):
        done = subprocess.run(["bash", "-c", f"set -o pipefail; {line}", PROGRAM], cwd=folder, env=ENVIRONMENT,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST_S)
        assert done.returncode == 0, f"{line}: {done.returncode}: {done.stdout}{done.stderr}"


if __name__ == "__main__":
    sys.exit(running.run_tests(globals()))
