#!/usr/bin/env python3
"""Checks what the program's peak resident memory may be, mapped pages counted.

The larger of 42 MiB and a quarter of the telemetry file, in whatever order its rows are; the same plus
the file itself from standard input, which is kept; 18 MiB for any file whose rows are in the order of time, if
nothing looks at all of them together (131,072 samples are kept to be judged); the whole of it plus 6 MiB for inspect; 22 MiB for any
benchmark result, and for any profile of an agentic run; where requests failed, 64 bytes more for each of all
(32, and the room in which they are gathered); 56 KiB for each further host of a run of 8 GPUs each; 64 MiB for a
trace of 1 GB; 24 bytes for each sample in memory and 160 for each of a million windows, and 16 MiB; for each
further run of a store 2.5 KiB, whatever command looks at all of them, also where 'report' computes its power.
Nor may the numbers depend on the rows' order.

How much of the program's file counts as mapped depends on the pieces in which the file was written: large ones
are mapped whole, so that `--version` takes from 4.4 to 7.1 MiB with the same bytes. A copy in pieces of a page
is measured.

usage: tests/memory/memory_test.py   with $AGGREGATE_POWER (default: build/aggregate-power) and
       $PEAK (default: build/tests/peak)
"""
import gzip
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "growth"))
import growth_test  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("AGGREGATE_POWER", str(ROOT / "build" / "aggregate-power"))
PEAK = os.environ.get("PEAK", str(ROOT / "build" / "tests" / "peak"))
START, SECONDS, GPUS = 1777118400, 150000, 8
WINDOW = {"benchmark_start_time_unix": START + 2.0, "benchmark_end_time_unix": START + SECONDS - 3.0,
          "duration": SECONDS - 5.0, "completed": 5, "total_input_tokens": 10, "total_output_tokens": 10}


def rows():
    generator = random.Random(1)
    return [[f"{START + second},{gpu},{generator.randint(10000, 70000) / 100}\n" for gpu in range(GPUS)]
            for second in range(SECONDS)]


def telemetry_files():
    by_time = rows()
    shuffled = [row for tick in by_time for row in tick]
    random.Random(2).shuffle(shuffled)
    return {"by time": [row for tick in by_time for row in tick],
            "reversed": [row for tick in reversed(by_time) for row in tick],
            "by GPU": [tick[gpu] for gpu in range(GPUS) for tick in by_time],
            "shuffled": shuffled}


def peak_mib(arguments, standard_input=None, status=0):
    output = subprocess.run([PEAK, "./program", *arguments], stdin=standard_input, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True, check=False)
    if output.returncode != status:
        sys.exit(f"failed: {arguments}: {output.stderr}")
    return int(output.stderr.split()[-1]) / 1024


def copy_by_page(source, target):
    with open(source, "rb") as read, open(target, "wb", buffering=0) as written:
        while page := read.read(4096):
            written.write(page)
    os.chmod(target, 0o755)


passed = failed = 0


def check(what, found, limit):
    global passed, failed
    good = found <= limit
    passed, failed = passed + good, failed + (not good)
    print(f"{'ok' if good else 'FAILED'} {what}: {found:.1f}, at most {limit:.1f} MiB")


with tempfile.TemporaryDirectory() as folder:
    copy_by_page(os.path.abspath(PROGRAM), os.path.join(folder, "program"))
    os.chdir(folder)
    os.environ["TZ"] = "UTC"
    os.environ.pop("REQUIRE_POWER", None)
    pathlib.Path("run.json").write_text(json.dumps(WINDOW))
    run = ["--bench-result", "run.json", "--agg-result", "agg.json", "--require-power"]
    results = {}
    for order, lines in telemetry_files().items():
        pathlib.Path("t.csv").write_text("timestamp,gpu,power_w\n" + "".join(lines))
        size_mib = os.path.getsize("t.csv") / 2**20
        most, whole = max(42, size_mib / 4), size_mib + 6
        for schema, options in (1, []), (2, ["--expected-num-gpus", str(GPUS)]):
            pathlib.Path("agg.json").write_text("{}")
            peak = peak_mib(["--csv", "t.csv", *run, *options])
            check(f"schema {schema}, rows {order}", peak, 18 if order == "by time" else most)
            written = pathlib.Path("agg.json").read_text()
            if results.setdefault(schema, written) != written:
                failed += 1
                print(f"FAILED rows {order}: {written}, else {results[schema]}")
        with open("t.csv", "rb") as csv:
            check(f"standard input, rows {order}", peak_mib(["--csv", "-", *run], csv), size_mib + most)
        check(f"inspect, rows {order}", peak_mib(["inspect", "t.csv"]), whole)

    big = {**WINDOW, "itls": [[random.random() for _ in range(700)] for _ in range(2500)],
           "generated_texts": ["a long answer " * 300] * 2500, "one": "x" * 5_000_000}
    pathlib.Path("run.json").write_text(json.dumps(big))
    size_mib = os.path.getsize("run.json") / 2**20
    pathlib.Path("t.csv").write_text("timestamp,gpu,power_w\n" + "".join(
        f"{START + second},0,100\n" for second in range(SECONDS)))
    check(f"benchmark result of {size_mib:.0f} MiB", peak_mib(["--csv", "t.csv", *run]), 22)

    for i in range(128):
        text = "timestamp,gpu,power_w\n" + "".join(
            f"{START + second},{gpu},{100 + second % 7 + 64 * gpu + i / 2}\n" for second in range(600) for gpu in range(GPUS))
        pathlib.Path(f"nodes/node{i}").mkdir(parents=True)
        pathlib.Path(f"nodes/node{i}/gpu_metrics.csv").write_text(text)
    pathlib.Path("run.json").write_text(json.dumps(
        {**WINDOW, "benchmark_end_time_unix": START + 597.0, "duration": 595.0}))
    one = peak_mib(["--csv", "nodes/node0/gpu_metrics.csv", *run, "--expected-num-gpus", str(GPUS)])
    check("128 hosts", peak_mib(["multinode", "--nodes", "nodes", *run]), one + 2 + 127 * 56 / 1024)

    profile = pathlib.Path("results/aiperf_artifacts")
    profile.mkdir(parents=True)
    os.rename("t.csv", "results/gpu_metrics.csv")
    pathlib.Path("agg.json").write_text("{}")
    (profile / "profile_export_aiperf.json").write_text(json.dumps(
        {"start_time": START + 2, "end_time": START + SECONDS - 3}))
    requests = 100_000
    for error, what in ((None, "none failed"), ("timeout", "one failed")):
        with open(profile / "profile_export.jsonl", "w", encoding="utf-8") as file:
            for request in range(requests):
                start = (START + request % SECONDS) * 10**9
                file.write(json.dumps({
                    "metadata": {"benchmark_phase": "profiling", "request_start_ns": start,
                                 "request_end_ns": start + 10**9},
                    "metrics": {"input_sequence_length": 9, "output_sequence_length": 9,
                                "inter_chunk_latency": {"value": [0.125] * 50}},
                    "error": error if request == 7 else None}) + "\n")
        size_mib = os.path.getsize(profile / "profile_export.jsonl") / 2**20
        room = 22 + (64 * requests / 2**20 if error else 0)
        check(f"profile of {size_mib:.0f} MiB, {what}", peak_mib(
            ["agentic", "--result-dir", "results", "--agg-result", "agg.json", "--require-power"]), room)

    block = "".join(json.dumps(event) + ",\n" for i in range(10000) for event in (
        {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 1, "ts": 1e6 * START + 5e6 + 100 * i, "dur": 90.5,
         "args": {"External id": i, "Record function id": 0, "Sequence number": i, "Fwd thread id": 0, "Ev Idx": i}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 1e6 * START + 5e6 + 100 * i + 5,
         "dur": 4.1, "args": {"External id": i, "cbid": 211, "correlation": i}},
        {"ph": "X", "cat": "kernel", "name": f"kernel {i % 500}", "pid": 0, "tid": 7, "ts": 1e6 * START + 5e6 + 100 * i + 9,
         "dur": 80.25, "args": {"device": 0, "stream": 7, "correlation": i}})).encode()
    blocks = 10**9 // len(block) + 1
    with open("trace.json.gz", "wb") as file:
        file.write(gzip.compress(b'{"traceEvents": [\n'))
        member = gzip.compress(block, 1)
        for _ in range(blocks):
            file.write(member)
        file.write(gzip.compress(b'{"ph": "M"}]}\n'))
    pathlib.Path("short.csv").write_text("timestamp,gpu,power_w\n" + "".join(
        f"{START + second},0,{100 + second % 7}\n" for second in range(600)))
    check(f"trace of {blocks * len(block) / 2**20:.0f} MiB",
          peak_mib(["attribute", "--telemetry", "short.csv", "--trace", "trace.json.gz"]), 64)

    with open("windows.csv", "w", encoding="utf-8") as file:
        file.write("name,start,end\n" + "".join(f"w,+{i / 2000:.4f},+{i / 2000 + 0.25:.4f}\n" for i in range(1_000_000)))
    check("a million windows", peak_mib(["windows", "--telemetry", "short.csv", "--windows", "windows.csv", "--format", "csv"]),
          16 + 160 * 10**6 / 2**20)
    def peak_of_store(runs, words):
        growth_test.store(pathlib.Path(), runs, 50)
        # The runs of this store have no recordings.
        return peak_mib(words, status=1 if words[0] == "verify" else 0)

    for words in (["report", "store", "--out", "page.html"], ["compare", "store"], ["export", "store", "--format", "csv"],
                  ["export", "store", "--format", "prometheus"],
                  ["export", "store", "--format", "prometheus", "--out", "store.prom"], ["verify", "store", "--sample", "100"]):
        few, many = (peak_of_store(runs, [*words]) for runs in (2000, 8000))
        check(f"8,000 runs: {' '.join(words)}", many, few + 1 + 6000 * 2.5 / 1024)

    # What follows "conc8_" is a runner's label: each run is the only one of its recorder.
    for make in (growth_test.without_power, growth_test.unmeasured):
        few, many = (peak_mib(make(pathlib.Path(), runs, "r_conc8_")) for runs in (2000, 8000))
        check(f"8,000 runs: report of {make.__name__}", many, few + 1 + 6000 * 2.5 / 1024)
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
