#!/usr/bin/env python3
"""Checks that time and memory of no command grow faster than n log n with what it is given.

Each command is measured at N, 2N and 4N of one thing: rows in one line, columns, devices, windows side by side
and nested, requests, members of a JSON object, one long string, kernels, series, runs, configurations, files
that are named, names in records. Processor time and peak memory, each less what the command takes at N = 1, must
be at most `most` times as much at 4N as at N: 4 log(4N) / log(N), and half as much again for noise. Memory of
what is read as a stream must not grow at all, beyond 8 MiB; some keep at most so many KiB of each.

usage: tests/growth/growth_test.py [--table] [NAME...]   with $AGGREGATE_POWER (default: build/aggregate-power)
       and $PEAK (default: build/tests/peak)
With --table it prints the table of 'help performance'.
"""
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("AGGREGATE_POWER", str(ROOT / "build" / "aggregate-power"))
PEAK = os.environ.get("PEAK", str(ROOT / "build" / "tests" / "peak"))
START = 1777118400
QUICK = os.environ.get("QUICK") == "1"
LEAST_S, LEAST_KIB = 0.03, 8192  # below these, noise decides


def run(folder, words, feed=None):
    """Processor seconds and peak KiB."""
    child = subprocess.Popen([PEAK, PROGRAM, *map(str, words)], cwd=folder, stdin=feed and feed.stdout,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             env={"PATH": os.environ["PATH"], "TZ": "UTC", "TMPDIR": str(folder)})
    said = child.stderr.read()
    child.stderr.close()
    _, status, usage = os.wait4(child.pid, 0)  # also of its children
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode in (0, 1, 3), f"{words}: {child.returncode}: {said[:300]!r}"
    return usage.ru_utime + usage.ru_stime, int(said.split()[-1])


def write(folder, name, pieces):
    with open(folder / name, "w", encoding="utf-8") as file:
        file.writelines(pieces)


def result(folder, **more):
    window = {"benchmark_start_time_unix": START + 2.0, "benchmark_end_time_unix": START + 12.0, "duration": 10.0,
              "completed": 5, "total_input_tokens": 10, "total_output_tokens": 10, **more}
    (folder / "run.json").write_text(json.dumps(window))


def recording(folder, seconds=15, gpus=2, cells=""):
    write(folder, "gpu_metrics.csv", ["timestamp,index,power.draw [W]" + cells.replace("1", "x") + "\n"] + [
        f"{START + second},{gpu},{300 + (second * 7 + gpu) % 50}.5{cells}\n"
        for second in range(seconds) for gpu in range(gpus)])


MEASURE = ["measure", "run.json", "gpu_metrics.csv"]


# ---- Recordings

def rows(folder, n):
    result(folder)
    recording(folder, n)
    return MEASURE


def columns(folder, n):
    result(folder)
    recording(folder, cells=",1" * n)
    return MEASURE


def devices(folder, n):
    result(folder)
    recording(folder, gpus=n)
    return MEASURE


def named_columns(folder, n):
    result(folder)
    recording(folder, cells=",1" * n)
    path = folder / "gpu_metrics.csv"
    head, rest = path.read_text().split("\n", 1)
    path.write_text(head[:-2 * n] + "".join(f",c{i}" for i in range(n)) + "\n" + rest)
    return MEASURE


def long_gpus(folder, n):
    """Names of GPUs that begin alike, as UUIDs of one maker may."""
    result(folder)
    write(folder, "gpu_metrics.csv", ["timestamp,gpu,power.draw [W]\n"] + [
        f"{START + second},GPU-{'a' * 60}{gpu},{300 + (second * 7 + gpu) % 50}.5\n"
        for second in range(15) for gpu in range(n)])
    return MEASURE


def hosts(folder, n):
    result(folder)
    write(folder, "gpu_metrics.csv", ["timestamp,host,gpu,power.draw [W]\n"] + [
        f"{START + second},host{host},0,{300 + (second * 7 + host) % 50}.5\n"
        for second in range(15) for host in range(n)])
    return MEASURE


def scrapes(folder, n):
    result(folder)
    write(folder, "gpu_metrics.prom", [
        f"# {START + second}\n" + "".join(f'DCGM_FI_DEV_POWER_USAGE{{gpu="{gpu}",UUID="GPU-{gpu:032x}"}} {300 + (second * 7 + gpu) % 50}.5\n'
                                          for gpu in range(n)) for second in range(15)])
    return ["measure", "run.json", "gpu_metrics.prom"]


def aiperf_gpus(folder, n):
    result(folder)
    write(folder, "gpu_metrics.jsonl", [json.dumps({
        "timestamp_ns": (START + second) * 10**9, "dcgm_url": "u", "gpu_index": gpu, "gpu_uuid": f"GPU-{gpu}",
        "gpu_model_name": "H100", "hostname": "h", "telemetry_data": {"gpu_power_usage": 300.5}}) + "\n"
        for second in range(6) for gpu in range(n)])
    return ["measure", "run.json", "gpu_metrics.jsonl"]


def blank_rows(folder, n):
    result(folder)
    recording(folder)
    with open(folder / "gpu_metrics.csv", "a", encoding="utf-8") as file:
        file.write("\n" * n)
    return MEASURE


def repeated_headers(folder, n):
    result(folder)
    recording(folder)
    with open(folder / "gpu_metrics.csv", "a", encoding="utf-8") as file:
        file.write("timestamp,index,power.draw [W]\n" * n)
    return MEASURE


def one_row(folder, n):
    """One cell without an end, which arrives in small pieces."""
    write(folder, "long.csv", ["timestamp,index,power.draw [W]\n", "x" * n])
    return ["inspect", "-"], ["sh", "-c", "dd if=long.csv bs=64 2>/dev/null"]


def long_name(folder, n):
    """A column whose name is one word, of words that a power may have: a text in another encoding has such headers."""
    write(folder, "name.csv", ["timestamp,index,", "gpu" * (n // 3), "power.draw [W]\n"])
    return ["inspect", "name.csv"]


def long_string(folder, n):
    result(folder, text="x" * n)
    recording(folder)
    return MEASURE


def escapes(folder, n):
    write(folder, "run.json", ['{"text": "', "\\\\u00e9" * n, '"}'])
    recording(folder)
    return ["inspect", "run.json"]


def members(folder, n):
    result(folder, **{f"key{i}": i for i in range(n)})
    recording(folder)
    return MEASURE


def nested_lists(folder, n):
    result(folder, lists=[[[i]] for i in range(n)])
    recording(folder)
    return MEASURE


def requests(folder, n):
    result(folder)
    recording(folder)
    (folder / "requests.json").write_text(json.dumps({
        "date": "20260425-120050", "backend": "vllm", "tokenizer_id": "m", "num_prompts": n, "duration": 9.5,
        "completed": n, "total_input_tokens": n, "total_output_tokens": 2 * n, "input_lens": [1] * n,
        "output_lens": [2] * n, "ttfts": [0.1] * n, "itls": [[0.01]] * n, "errors": [""] * n,
        "start_times": [START + 2 + 9 * i / n for i in range(n)]}))
    return [*MEASURE, "--requests", "requests.json", "--per-request", "out.jsonl"]


def windows(folder, n):
    recording(folder, 1000, 1)
    write(folder, "windows.csv", ["name,start,end\n"] + [
        f"w{i},{START + 1 + 900 * i / n},{START + 1 + 900 * (i + 1) / n}\n" for i in range(n)])
    return ["windows", "windows.csv", "--telemetry", "gpu_metrics.csv", "--format", "json"]


def nested_windows(folder, n):
    recording(folder, 1000, 1)
    write(folder, "windows.csv", ["name,start,end\n"] + [
        f"w{i},{START + 1 + 400 * i / n},{START + 990 - 400 * i / n}\n" for i in range(n)])
    return ["windows", "windows.csv", "--telemetry", "gpu_metrics.csv", "--format", "json"]


def kernels(folder, n):
    recording(folder, 1000, 1)
    write(folder, "trace.json", ['{"traceEvents": [', ",".join(
        json.dumps({"ph": "X", "cat": "kernel", "name": f"k{i % 100}", "pid": 0, "tid": 7,
                    "ts": (START + 1 + 900 * i / n) * 1e6, "dur": 800e6 / n, "args": {"device": 0}})
        for i in range(n)), '], "baseTimeNanoseconds": 0}'])
    return ["attribute", "--trace", "trace.json", "--telemetry", "gpu_metrics.csv", "--format", "json"]


def series(folder, n):
    result(folder)
    write(folder, "gpu_metrics.json", ['{"status": "success", "data": {"resultType": "matrix", "result": [', ",".join(
        json.dumps({"metric": {"__name__": "DCGM_FI_DEV_POWER_USAGE", "gpu": str(i)},
                    "values": [[START + s, "300.5"] for s in range(15)]}) for i in range(n)), "]}}"])
    return ["measure", "run.json", "gpu_metrics.json"]


def layers(folder, n):
    recording(folder, 1000, 1)
    write(folder, "layers.csv", ["layer,start,end\n"] + [
        f"l{i % 50},{START + 1 + 900 * i / n},{START + 1 + 900 * (i + 1) / n}\n" for i in range(n)])
    return ["attribute", "--layers", "layers.csv", "--telemetry", "gpu_metrics.csv", "--format", "json"]


def open_windows(folder, n):
    """A log of windows that begin and do not end."""
    recording(folder, 1000, 1)
    write(folder, "windows.log", [f"begin w{i} {START + 1 + 400 * i / n}\n" for i in range(n)])
    return ["windows", "windows.log", "--telemetry", "gpu_metrics.csv", "--format", "json"]


def carbon(folder, n):
    result(folder)
    recording(folder)
    write(folder, "carbon.csv", ["datetime,carbon_intensity\n"] + [
        f"{START - 3600 * n + 3600 * i},{i % 90 + 10}\n" for i in range(n)])
    return [*MEASURE, "--carbon", "carbon.csv", "--timezone", "UTC"]


def witness(folder, n):
    result(folder)
    recording(folder)
    write(folder, "node.csv", ["timestamp,power\n"] + [f"{START + 15 * i / n},900\n" for i in range(n)])
    (folder / "agg.json").write_text('{"tp": 2}')
    return ["--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg.json",
            "--expected-num-gpus", "2", "--witness", "node.csv", "--timezone", "UTC", "--dry-run"]


def of_recording(*words):
    def make(folder, n):
        result(folder)
        recording(folder, n)
        return list(words)
    return make


def meter(folder, n):
    recording(folder, n)
    write(folder, "meter.csv", ["timestamp,node_power_w\n"] + [
        f"{START + second},{1000 + (second * 7) % 50}\n" for second in range(n)])
    return ["calibrate", "gpu_metrics.csv", "--witness", "meter.csv"]


def nodes(folder, n):
    result(folder)
    (folder / "agg.json").write_text("{}")
    for i in range(n):
        host = folder / "nodes" / f"h{i}"
        host.mkdir(parents=True)
        recording(host, gpus=1)
    return ["multinode", "--nodes", "nodes", "--role", "agg=" + ",".join(f"h{i}" for i in range(n)), "--bench-result", "run.json",
            "--agg-result", "agg.json", "--timezone", "UTC", "--dry-run"]


def package_nodes(folder, n):
    words = ["synthesize", "--package", "v2", "--nodes", str(n), "--gpus", str(4 * n), "--phase", "5:100", "--phase", "10:300",
             "--phase", "5:100", "--out", "logs", "--bench-out", "logs/run.json", "--agg-out", "agg_run.json"]
    run(folder, words)
    return ["multinode", "--power-dir", "logs/power", "--logs-root", "logs", "--aggregate-gpus", str(4 * n), "--bench-result",
            "logs/run.json", "--agg-result", "agg_run.json", "--dry-run", "--expected-producer-sha",
            (folder / "logs" / "power" / "power-producer-sha.txt").read_text().strip()]


def agentic_requests(folder, n):
    profile = folder / "results" / "aiperf_artifacts"
    profile.mkdir(parents=True)
    recording(folder / "results")
    (folder / "results" / "agentic_power_timezone_offset.txt").write_text("+0000")
    (folder / "agg.json").write_text('{"tp": 2}')
    (profile / "profile_export_aiperf.json").write_text(json.dumps({
        "start_time": "2026-04-25T12:00:02", "end_time": "2026-04-25T12:00:12", "was_cancelled": False}))
    write(profile, "profile_export.jsonl", [json.dumps({
        "metadata": {"benchmark_phase": "profiling", "x_request_id": f"r{i}"},
        "metrics": {"input_sequence_length": {"value": 10}, "output_sequence_length": {"value": 20}}}) + "\n" for i in range(n)])
    return ["agentic", "--result-dir", "results", "--agg-result", "agg.json", "--timezone", "UTC", "--dry-run"]


def synthetic(folder, n):
    return ["synthesize", "--phase", f"{n}:300", "--noise", "5", "--out", "-"]


# ---- Stores

def store(folder, n, configurations=1, tail=""):
    place = folder / "store"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for i in range(n):
        (place / f"agg_r{i}.json").write_text(json.dumps({
            "hw": "h100", "model": "llama", "framework": "vllm", "precision": "fp8", "tp": 8,
            "conc": i % configurations, "isl": 1024, "osl": 1024, "power_metric_schema_version": 2, "power_valid": 1,
            "avg_power_w": 500.0 + i % 97, "avg_total_gpu_power_w": 4000.0 + 8 * (i % 97),
            "total_gpu_energy_j": 240000.0 + i, "joules_per_output_token": 0.5 + i * 1e-6}))
        (place / f"power_validation_r{i}.json").write_text(json.dumps({
            "power_valid": True, "reasons": [], "telemetry_source": f"gpu_metrics_r{i}.csv{tail}",
            "benchmark_window": {"start_time_unix": START + 100 * i, "end_time_unix": START + 100 * i + 60,
                                 "completed": 5, "total_input_tokens": 10, "total_output_tokens": 10},
            "observed_gpu_ids": [str(gpu) for gpu in range(8)],
            "metrics": {"avg_power_w": 500.0 + i % 97, "avg_total_gpu_power_w": 4000.0 + 8 * (i % 97),
                        "total_gpu_energy_j": 240000.0 + i, "joules_per_output_token": 0.5 + i * 1e-6},
            "computed_from": {"aggregate": f"agg_r{i}.json{tail}", "inputs": {}}}))
    return place


def of_store(*words, configurations=1):
    def make(folder, n):
        store(folder, n, configurations or n)
        return list(words)
    return make


def named_files(folder, n):
    store(folder, n)
    return ["verify", *(f"store/agg_r{i}.json" for i in range(n))]


def backfill(folder, n, begin="r"):
    place = folder / "store"
    shutil.rmtree(place, ignore_errors=True)
    one = folder / "one"
    one.mkdir(exist_ok=True)
    result(one)
    recording(one)
    for name in (f"{begin}{i}" for i in range(n)):
        run_folder = place / f"power_audit_{name}"
        run_folder.mkdir(parents=True)
        shutil.copy(one / "gpu_metrics.csv", run_folder / "gpu_metrics.csv")
        shutil.copy(one / "run.json", run_folder / f"{name}.json")
        (run_folder / f"agg_{name}.json").write_text('{"tp": 2}')
    return ["backfill", "store", "--dry-run", "--timezone", "UTC"]


def without_power(folder, n, begin="r"):
    """Aggregates that nobody has patched."""
    backfill(folder, n, begin)
    return ["report", "store", "--out", "page.html"]


def unmeasured(folder, n, begin="r"):
    """Results and recordings without an aggregate."""
    words = without_power(folder, n, begin)
    for aggregate in (folder / "store").glob("*/agg_*.json"):
        aggregate.unlink()
    return words


def bundle(folder, n):
    backfill(folder, n)
    subprocess.run([PROGRAM, "backfill", "store", "--timezone", "UTC", "--quiet"], cwd=folder, check=True)
    return ["bundle", "store", "--out", "x.tar.zst", "--redact"]


def results_of_one_folder(folder, n):
    """Each of n runs looks at the results of the others."""
    place = folder / "store" / "power_audit_r"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    recording(place, 3 * n + 10, 1)
    for i in range(n):
        result(place, benchmark_start_time_unix=START + 2.0 + 3 * i, benchmark_end_time_unix=START + 4.0 + 3 * i, duration=2.0,
               itls=[0.0123] * 40000)
        (place / "run.json").rename(place / f"r{i}.json")
        (place / f"agg_r{i}.json").write_text('{"tp": 1}')
    return ["backfill", "store", "--dry-run", "--timezone", "UTC"]


def long_names(folder, n):
    store(folder, 1, tail="/a" * n)
    return ["export", "store", "--format", "csv"]


def names_in_record(folder, n):
    place = store(folder, 1)
    path = place / "power_validation_r0.json"
    record = json.loads(path.read_text())
    record["computed_from"]["inputs"] = {f"some/where/x{i}.csv": {"bytes": 1, "xxh3_128": "0"} for i in range(n)}
    path.write_text(json.dumps(record))
    return ["verify", "store"]


def record_with(key, value):
    """A record of which one member has n parts."""
    def make(folder, n):
        path = store(folder, 1) / "power_validation_r0.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {key: value(n)}))
        return ["export", "store", "--format", "jsonl"]
    return make


def archive(folder, n):
    (folder / "store").mkdir()
    with zipfile.ZipFile(folder / "store" / "power_audit_r.zip", "w") as packed:
        for i in range(n):
            packed.writestr(f"d{i}/x{i}.json", "{}")
    return ["backfill", "store", "--dry-run"]


def report_lines(folder, n):
    store(folder, 1)
    write(folder, "report.jsonl", [json.dumps({"run": f"r{i}", "outcome": "patched",
                                               "aggregate": "store/agg_r0.json"}) + "\n" for i in range(n)])
    return ["export", "report.jsonl", "--format", "csv"]


def other_configurations(folder, n):
    """Two sides without a configuration in common."""
    for side, first in (("a", 0), ("b", n)):
        write(folder, f"{side}.json", [json.dumps([
            {"hw": "h100", "model": "llama", "conc": first + i, "joules_per_output_token": 0.5} for i in range(n)])])
    return ["compare", "a.json", "--with", "b.json"]


# The thing, what is measured, N, and whether memory may grow with it.
ROWS = [
    ("rows of a recording", rows, 40000, True),
    ("columns", columns, 2000, True),
    ("columns of different names", named_columns, 2000, True),
    ("GPUs", devices, 1000, True),
    ("GPUs with long names", long_gpus, 500, True),
    ("hosts of a recording", hosts, 500, True),
    ("series of exporter scrapes", scrapes, 500, True),
    ("GPUs of AIPerf's telemetry", aiperf_gpus, 2000, True),
    ("blank rows", blank_rows, 400000, True),
    ("headers that are repeated", repeated_headers, 40000, True),
    ("bytes of one row in pieces", one_row, 1 << 17, False),
    ("bytes of a column's name", long_name, 12000, True),
    ("bytes of a string in a result", long_string, 1 << 22, True),
    ("escapes in a string", escapes, 1 << 18, True),
    ("members of a result", members, 40000, True),
    ("lists in a result", nested_lists, 40000, True),
    ("requests", requests, 10000, True),
    ("windows side by side", windows, 4000, True),
    ("windows in each other", nested_windows, 4000, True),
    ("kernels of a trace", kernels, 10000, True),
    ("layers of a file", layers, 4000, True),
    ("windows that do not end", open_windows, 4000, True),
    ("rows of carbon intensities", carbon, 5000, True),
    ("rows of a witness", witness, 20000, True),
    ("series of a Prometheus matrix", series, 1000, True),
    ("runs: backfill", backfill, 150, True),
    ("runs: bundle", bundle, 100, True),
    ("runs: report", of_store("report", "store", "--out", "page.html"), 500, True),
    ("runs without power: report", without_power, 500, 4),
    ("runs without aggregates: report", unmeasured, 500, 4),
    ("runs: export to CSV", of_store("export", "store", "--format", "csv"), 500, True),
    ("runs: export to Prometheus", of_store("export", "store", "--format", "prometheus"), 500, True),
    ("runs: compare", of_store("compare", "store"), 500, True),
    ("configurations: compare", of_store("compare", "store", configurations=0), 400, True),
    ("configurations of one side only: compare", other_configurations, 1000, True),
    ("configurations: report", of_store("report", "store", "--out", "page.html", configurations=0), 400, True),
    ("runs: recommend", of_store("recommend", "store", "--limit-key", "conc", configurations=0), 400, True),
    ("runs: retract", of_store("retract", "store", "--where", "version=*", "--dry-run"), 500, True),
    ("runs: verify", of_store("verify", "store"), 300, True),
    ("files of one folder: verify", named_files, 300, True),
    ("results of one folder: backfill", results_of_one_folder, 15, True),
    ("folders of a name in a record", long_names, 10000, True),
    ("names in one record: verify", names_in_record, 2000, True),
    ("lines of a report", report_lines, 5000, True),
    ("reasons in a record", record_with("reasons", lambda n: [f"reason_{i}" for i in range(n)]), 5000, True),
    ("GPUs in a record", record_with("observed_gpu_ids", lambda n: [f"g{i}" for i in range(n)]), 5000, True),
    ("bytes of a source in a record", record_with("telemetry_source", lambda n: "../" * (n // 3)), 20000, True),
    ("members of an archive", archive, 4000, True),
    ("rows: calibrate", meter, 4000, True),
    ("rows: doctor", of_recording("doctor", "gpu_metrics.csv"), 20000, True),
    ("rows: plan", of_recording("plan", "--gpu-model", "H100", "--detect", "1%", "--recording", "gpu_metrics.csv"), 20000, True),
    ("rows: plot", of_recording("plot", "run.json", "gpu_metrics.csv", "--out", "p.svg"), 20000, True),
    ("hosts: multinode", nodes, 100, True),
    ("nodes of a package: multinode", package_nodes, 25, True),
    ("requests: agentic", agentic_requests, 10000, False),
    ("samples: synthesize", synthetic, 10000, False),
]
HAVE_NO_INPUT = {"explain", "help", "schema"}


def commands_without_a_row():
    done = subprocess.run([PROGRAM, "--generate-bash-completion"], capture_output=True, text=True, check=True)
    commands = set(re.findall(r"(?m)^    ([a-z]+):\*\) options", done.stdout)) - HAVE_NO_INPUT
    for _, make, _, _ in ROWS:
        with tempfile.TemporaryDirectory() as path:
            made = make(pathlib.Path(path), 1)
        command = (made[0] if isinstance(made, tuple) else made)[0]
        commands.discard("patch" if command.startswith("--") else command)
    return sorted(commands)


def measured(make, n):
    """The best of three times, and the peak."""
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        made = make(folder, n)
        words, feed = made if isinstance(made, tuple) else (made, None)
        runs = []
        for _ in range(1 if n == 1 else 3):
            source = subprocess.Popen(feed, cwd=folder, stdout=subprocess.PIPE) if feed else None
            runs.append(run(folder, words, source))
            if source:
                source.stdout.close()
                source.wait()
        bytes_in = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        return min(seconds for seconds, _ in runs), min(kib for _, kib in runs), bytes_in >> 10


def check(thing, make, n, may_keep):
    base_s, base_kib, _ = measured(make, 1)
    times, peaks, inputs = [], [], []
    for factor in (1, 2, 4):
        seconds, kib, input_kib = measured(make, factor * n)
        inputs.append(input_kib)
        times.append(max(seconds - base_s, 0))
        peaks.append(max(kib - base_kib, 0))
    most = 1.5 * 4 * math.log(4 * n) / math.log(n)
    faults = []
    if times[2] > most * max(times[0], LEAST_S / 4):
        faults.append(f"time: {times[0]:.3f}, {times[1]:.3f}, {times[2]:.3f} s")
    allowed_kib = most * max(peaks[0], inputs[0], LEAST_KIB / 4) if may_keep else LEAST_KIB
    if may_keep not in (True, False):  # so many KiB of each
        allowed_kib = min(allowed_kib, peaks[0] + 3 * n * may_keep + LEAST_KIB / 4)
    if peaks[2] > allowed_kib:
        faults.append(f"memory: {peaks[0]}, {peaks[1]}, {peaks[2]} KiB")
    return times, peaks, faults


def row_of_table(thing, n, times, peaks):
    shown = [f"{seconds:.2f} s" for seconds in times] + [f"{kib / 1024:.1f} MiB" for kib in (peaks[0], peaks[2])]
    return f"| {thing} | {n:,} | {' | '.join(shown)} |"


def main():
    words = sys.argv[1:]
    is_table = "--table" in words
    names = [word for word in words if word != "--table"]
    passed = failed = 0
    if not names:
        missing = commands_without_a_row()
        failed = len(missing)
        print("".join(f"FAILED {command} has no row\n" for command in missing), end="")
    for number, (thing, make, n, may_keep) in enumerate(ROWS):
        if names and not any(name in thing for name in names):
            continue
        if QUICK and number % 5:
            continue
        times, peaks, faults = check(thing, make, n, may_keep)
        if is_table:
            print(row_of_table(thing, n, times, peaks), flush=True)
        failed += bool(faults)
        passed += not faults
        for fault in faults:
            print(f"FAILED {thing} at {n}, {2 * n} and {4 * n}: {fault}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
