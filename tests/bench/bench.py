#!/usr/bin/env python3
"""Times the whole program against a newline scan of the same file, interleaved, and prints the ratios.

usage: bench.py PROGRAM TOOLS_FOLDER WORK_FOLDER DISK_FOLDER [--quick | --ratios]
--ratios takes less than a minute and prints one line for each ratio that a change to the program must keep.
WORK_FOLDER should be on tmpfs. No verdict: the figures are for people.
"""
import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys
import time

import backfill_bench

program, tools, work, disk = sys.argv[1:5]
quick = "--quick" in sys.argv
environment = {**os.environ, "TZ": "UTC"}
environment.pop("REQUIRE_POWER", None)

STARTUP_LIMIT_MS = 2
UNCERTAINTY_LIMIT = 1.6
SAX_LIMIT = "1/6"
CHUNK = 512  # requests of a benchmark result that are generated and then repeated
# For each recording: the limit in newline scans, the number of GPUs and options of `synthesize`.
SINGLE_RUNS = {
    "nvidia-20min": (2.6, 8, ("--phase", "60:120", "--phase", "1080:650", "--phase", "60:300")),
    "nvidia-24h": (2.0, 8, ("--phase", "300:120", "--phase", "85800:650", "--phase", "300:300")),
    "amd-60MB": (2.0, 8, ("--schema", "amd-smi", "--phase", "60:120", "--phase", "7300:650", "--phase", "60:300")),
}
LARGE_RUNS = {
    "nvidia-72x10Hz-1GB": (2.0, 72, ("--interval", "0.1", "--phase", "60:120", "--phase", "18800:650",
                                     "--phase", "60:300")),
    "amd-726MB": (2.0, 8, ("--schema", "amd-smi", "--phase", "60:120", "--phase", "89700:650", "--phase", "60:300")),
}


def run(command, folder):
    """Wall seconds of one run."""
    begin = time.perf_counter()
    status = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL).returncode
    if status != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}")
    return time.perf_counter() - begin


def peak_mib(command, folder):
    """Peak resident memory, mapped pages counted."""
    output = subprocess.run([os.path.join(tools, "peak"), *command], cwd=folder, env=environment,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    return int(output.stderr.split()[-1]) / 1024


def compare(commands, folder, rounds, after_round=lambda: None):
    """Medians of interleaved runs; the first round warms the cache. `after_round` is not timed."""
    seconds = [[] for _ in commands]
    for turn in range(rounds + 1):
        for i, command in enumerate(commands):
            wall = run(command, folder)
            if turn > 0:
                seconds[i].append(wall)
        after_round()
    return [statistics.median(s) for s in seconds]


def synthesize(name, *arguments):
    subprocess.run([program, "synthesize", "--out", f"{name}.csv", "--bench-out", f"{name}.json",
                    "--agg-out", f"agg_{name}.json", "--timezone", "UTC", "--noise", "40", *arguments],
                   cwd=work, check=True)
    return os.path.getsize(os.path.join(work, f"{name}.csv"))


def aggregate(name, *arguments):
    return [program, "--csv", f"{name}.csv", "--bench-result", f"{name}.json", "--agg-result",
            f"agg_{name}.json", *arguments]


def timed_startup():
    """The size of a tiny recording, which is left for timed_result; seconds of an empty program and of a run on it."""
    size = synthesize("tiny", "--gpus", "2", "--phase", "5:100", "--phase", "10:500", "--phase", "5:100")
    return size, compare([[os.path.join(tools, "empty")], aggregate("tiny", "--expected-num-gpus", "2")], work, 201)


def startup():
    _, walls = timed_startup()
    print(f"start-up: empty program {walls[0] * 1e3:.2f} ms, a run on a tiny file {walls[1] * 1e3:.2f} ms: "
          f"{(walls[1] - walls[0]) * 1e3:.2f} ms more (at most {STARTUP_LIMIT_MS})", flush=True)


def timed_telemetry(name, gpus, arguments):
    """A recording's size, the number of rounds, our commands (schemas 2 and 1), and seconds of a newline scan and of ours."""
    size = synthesize(name, "--gpus", str(gpus), *arguments)
    rounds = 101 if size < 5e6 else 21 if size < 2e8 else 5
    scan = [os.path.join(tools, "newline_scan"), f"{name}.csv"]
    schemas = [aggregate(name, "--expected-num-gpus", str(gpus)), aggregate(name)]
    return size, rounds, schemas, compare([scan, *schemas], work, rounds)


def telemetry(name, limit, gpus, arguments):
    size, rounds, schemas, walls = timed_telemetry(name, gpus, arguments)
    peak = max(peak_mib(command, work) for command in schemas)
    print(f"{name:<22} {size / 1e6:8.1f} MB  scan {walls[0] * 1e3:8.2f} ms  schema 2 {walls[1] * 1e3:8.2f} ms "
          f"= {walls[1] / walls[0]:.2f}  schema 1 {walls[2] * 1e3:8.2f} ms = {walls[2] / walls[0]:.2f}  "
          f"(at most {limit})  peak {peak:.1f} MiB (at most {size / 4 / 2**20 + 8:.1f})",
          flush=True)
    if size < 1e8:
        subprocess.run(["cp", f"{name}.csv", f"{name}.json", f"agg_{name}.json", disk], cwd=work, check=True)
        walls = compare(schemas[:1], disk, min(rounds, 21))
        print(f"{'':<22} on disk, with its fsyncs: {walls[0] * 1e3:.2f} ms", flush=True)
        for file in (f"{name}.csv", f"{name}.json", f"agg_{name}.json", f"power_validation_{name}.json"):
            os.remove(os.path.join(disk, file))
    os.remove(os.path.join(work, f"{name}.csv"))


def big_result(name, megabytes):
    """A raw result with per-request arrays, as vLLM's benchmark writes it with --save-detailed.

    One chunk of requests is generated and repeated: this takes 1 s, and 14 s if every request is generated.
    """
    generator = random.Random(7)
    path = os.path.join(work, f"{name}.json")
    with open(os.path.join(work, "tiny.json"), encoding="utf-8") as file:
        result = json.load(file)
    words = ["the", "of", "energy", "per", "token", "\n\n", "“quoted”", "データ", "and"]
    details = {
        "input_lens": [generator.randint(1, 9000) for _ in range(CHUNK)],
        "ttfts": [generator.random() for _ in range(CHUNK)],
        "itls": [[generator.random() / 40 for _ in range(700)] for _ in range(CHUNK)],
        "generated_texts": [" ".join(generator.choices(words, k=750)) for _ in range(CHUNK)],
        "errors": [""] * CHUNK,
    }
    chunks = megabytes * 1000000 // 19500 // CHUNK
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(result)[:-1])
        for key, values in details.items():
            text = json.dumps(values)[1:-1]
            file.write(f', "{key}": [')
            file.writelines([text + ", "] * (chunks - 1))
            file.write(text + "]")
        file.write("}")
    return os.path.getsize(path)


def timed_uncertainty():
    """The size of a day of 8 GPUs, our commands (without the interval, with it) and their seconds."""
    size = synthesize("interval", "--gpus", "8", "--phase", "300:120", "--phase", "85800:650", "--phase", "300:300")
    ours = [aggregate("interval", "--expected-num-gpus", "8", *more) for more in ([], ["--uncertainty"])]
    return size, ours, compare(ours, work, 21)


def uncertainty():
    size, ours, walls = timed_uncertainty()
    peaks = [peak_mib(command, work) for command in ours]
    samples = 8 * 85800
    print(f"--uncertainty          {size / 1e6:8.1f} MB  without {walls[0] * 1e3:.1f} ms  with {walls[1] * 1e3:.1f} ms "
          f"= {walls[1] / walls[0]:.2f} (at most {UNCERTAINTY_LIMIT})  peak {peaks[1]:.1f} MiB "
          f"(at most {peaks[0] + 64 * samples / 2**20:.1f})", flush=True)
    os.remove(os.path.join(work, "interval.csv"))


def timed_result(megabytes, rounds):
    """A benchmark result's size, our command, and seconds of nlohmann's SAX parser and of ours."""
    size = big_result("big", megabytes)
    sax = [os.path.join(tools, "sax_parse"), "big.json"]
    ours = [program, "--csv", "tiny.csv", "--bench-result", "big.json", "--agg-result", "agg_tiny.json",
            "--expected-num-gpus", "2"]
    return size, ours, compare([sax, ours], work, rounds)


def benchmark_result(megabytes):
    size, ours, walls = timed_result(megabytes, 5)
    print(f"benchmark result       {size / 1e6:8.1f} MB  nlohmann SAX {walls[0] * 1e3:.0f} ms  ours {walls[1] * 1e3:.0f} ms "
          f"= 1/{walls[0] / walls[1]:.1f} (at most {SAX_LIMIT})  peak {peak_mib(ours, work):.1f} MiB (at most 16)")


def repeated(path, head, record, separator, tail, megabytes):
    """A file of one record again and again."""
    count = megabytes * 1000000 // len(record)
    with open(path, "w", encoding="utf-8") as file:
        file.write(head + separator.join([record] * count) + tail)
    return os.path.getsize(path)


def form(name, record, prefix="", head="", separator="\n", tail="\n"):
    """One form of a load generator's result against SAX. Lines are one array for SAX."""
    megabytes = 20 if quick else 200
    text = json.dumps(record)
    size = repeated(os.path.join(work, "form"), head, prefix + text, separator, tail, megabytes)
    is_lines = separator == "\n"
    if is_lines:
        repeated(os.path.join(work, "form_sax"), "[", text, ",\n", "]", megabytes)
    sax = [os.path.join(tools, "sax_parse"), "form_sax" if is_lines else "form"]
    ours = [program, "inspect", "form"]
    walls = compare([sax, ours], work, 5)
    print(f"{name:<22} {size / 1e6:8.1f} MB  nlohmann SAX {walls[0] * 1e3:.0f} ms  ours {walls[1] * 1e3:.0f} ms "
          f"= 1/{walls[0] / walls[1]:.1f} (at most {SAX_LIMIT})  peak {peak_mib(ours, work):.1f} MiB (at most 16, and 24 bytes a request)",
          flush=True)


def forms():
    with open(os.path.join(os.path.dirname(__file__), "../../testdata/generators/aiperf_requests.jsonl"), encoding="utf-8") as file:
        form("AIPerf lines", json.loads(file.readline()))
    stamps = [1788852030150000000 + i * 10000000 for i in range(60)]
    form("Perf Analyzer", {"timestamp": 1788852030100000000, "request_inputs": {"payload": json.dumps({"a": "x " * 200})},
                           "response_timestamps": stamps, "response_outputs": [{"response": 'data: {"b": 1}'}] * 60},
         head='{"experiments": [{"experiment": {"mode": "concurrency", "value": 2}, "requests": [', separator=", ",
         tail="]}]}")
    power = ('{"key": "power_begin", "value": "09-08-2026 07:20:30.000", "namespace": "mlperf::logging"}',
             '{"key": "power_end", "value": "09-08-2026 07:21:30.000"}')
    form("MLPerf log", {"key": "query", "value": 123456, "time_ms": 123456.5, "namespace": "mlperf::logging",
                        "event_type": "POINT_IN_TIME"}, prefix=":::MLLOG ",
         head="".join(f":::MLLOG {line}\n" for line in power))


def windows(count):
    """Windows at random over a day of 8 GPUs, against one window: that is reading the telemetry."""
    size = synthesize("day", "--gpus", "8", "--phase", "86400:650")
    generator = random.Random(7)
    with open(os.path.join(work, "many.csv"), "w", encoding="utf-8") as file:
        file.write("name,start,end\n")
        for i in range(count):
            begin = generator.random() * 82000
            end = begin + 0.001 + generator.random() * (4000 if i % 100 == 0 else 10)
            file.write(f"step {i},+{begin:.6f},+{end:.6f}\n")
    with open(os.path.join(work, "one.csv"), "w", encoding="utf-8") as file:
        file.write("name,start,end\nall,+0,-0\n")
    ours = [[program, "windows", "--telemetry", "day.csv", "--windows", f"{name}.csv", "--format", "csv"]
            for name in ("one", "many")]
    walls = compare(ours, work, 3)
    peaks = [peak_mib(command, work) for command in ours]
    print(f"windows: 1 over {size / 1e6:.1f} MB of telemetry {walls[0] * 1e3:.0f} ms, peak {peaks[0]:.1f} MiB; "
          f"{count} {walls[1] * 1e3:.0f} ms = {walls[1] / walls[0]:.1f}, peak {peaks[1]:.1f} MiB", flush=True)


def profile(path, megabytes):
    """A trace as kineto writes it: an operator, a call of the runtime and a kernel, again and again."""
    generator = random.Random(3)
    names = [f"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<c10::Half>, at::detail::Array"
             f"<char*, 1> >(int, at::native::FillFunctor<c10::Half>, at::detail::Array<char*, {i}>)" for i in range(300)]
    kernel = {"queued": 0, "device": 0, "context": 1, "stream": 7, "registers per thread": 16, "shared memory": 0,
              "blocks per SM": 1.185185, "grid": [128, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 7}
    micros, size, number = 0.0, 0, 0
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"schemaVersion": 1, "traceEvents": [\n')
        while size < megabytes * 1000000:
            number += 1
            micros += generator.random() * 20 + 8
            host = {"pid": 9483, "tid": 9483}
            events = [{"ph": "X", "cat": "cpu_op", "name": "aten::linear", **host, "ts": round(micros - 9, 3), "dur": 20.105,
                       "args": {"External id": number, "Record function id": 0, "Ev Idx": number}},
                      {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", **host, "ts": round(micros - 5, 3),
                       "dur": 4.101, "args": {"External id": number, "cbid": 211, "correlation": number}},
                      {"ph": "X", "cat": "kernel", "name": generator.choice(names), "pid": 0, "tid": 7,
                       "ts": round(micros, 3), "dur": round(generator.random() * 14 + 1, 3),
                       "args": {"External id": number, **kernel}}]
            size += file.write("".join(json.dumps(event) + ",\n" for event in events))
        file.write('{"ph": "M", "name": "process_name"}], "baseTimeNanoseconds": 1800000000000000000}\n')
    return size, micros / 1e6


def attribution():
    validate = os.path.join(tools, "rapidjson_validate")
    if not os.path.exists(validate):
        return
    size, seconds = profile(os.path.join(work, "trace.json"), 20 if quick else 500)
    with open(os.path.join(work, "power.csv"), "w", encoding="utf-8") as file:
        file.write("timestamp,index,power.draw [W]\n" +
                   "".join(f"{1800000000 + i * 0.1 - 1:.1f},0,{400 + i % 5}\n" for i in range(int(seconds * 10) + 20)))
    ours = [program, "attribute", "--telemetry", "power.csv", "--trace", "trace.json"]
    walls = compare([[validate, "trace.json"], ours], work, 5)
    print(f"attribute              {size / 1e6:8.1f} MB  RapidJSON SAX {walls[0] * 1e3:.0f} ms  ours {walls[1] * 1e3:.0f} ms "
          f"= {walls[1] / walls[0]:.2f} (at most 1.5)  peak {peak_mib(ours, work):.1f} MiB (at most 64)", flush=True)


def timed_backfill(runs, rounds):
    """The size of a store on a disk, and seconds of reading every byte of it and of a first, durable backfill."""
    backfill_bench.PROGRAM = program
    store = pathlib.Path(disk, "store")
    size = backfill_bench.build(store, runs)
    reading = [os.path.join(tools, "store_read"), store, "2"]
    restorer = backfill_bench.Restorer(store)
    return size, compare([reading, backfill_bench.backfill(store)], disk, rounds, restorer.restore)


def ratio_line(name, size, names, walls, ratio, limit):
    """Prints one line. `names` and `walls` each have the measure first and our program second."""
    print(f"{name:<22} {size / 1e6:8.1f} MB  {names[0]:<13} {walls[0] * 1e3:8.2f} ms  {names[1]:<12} {walls[1] * 1e3:8.2f} ms"
          f"  {ratio:>9}  ({limit})", flush=True)


def processor():
    """The processor's model name, or its architecture if the kernel does not state the model."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()


def ratios():
    print(f"{processor()}, usable cores: {len(os.sched_getaffinity(0))}", flush=True)
    size, walls = timed_startup()
    ratio_line("start-up", size, ("empty program", "tiny run"), walls, f"+ {(walls[1] - walls[0]) * 1e3:.2f} ms",
               f"at most {STARTUP_LIMIT_MS} ms")
    for name, (limit, gpus, arguments) in SINGLE_RUNS.items():
        size, _, _, walls = timed_telemetry(name, gpus, arguments)
        ratio_line(name, size, ("newline scan", "schema 2"), walls, f"= {walls[1] / walls[0]:.2f}", f"at most {limit}")
    size, _, walls = timed_uncertainty()
    ratio_line("--uncertainty", size, ("without", "with"), walls, f"= {walls[1] / walls[0]:.2f}",
               f"at most {UNCERTAINTY_LIMIT}")
    size, _, walls = timed_result(200, 3)
    ratio_line("benchmark result", size, ("nlohmann SAX", "ours"), walls, f"= 1/{walls[0] / walls[1]:.1f}",
               f"at most {SAX_LIMIT}")
    size, walls = timed_backfill(200, 7)
    ratio_line("backfill, 200 runs", size, ("store read", "durable run"), walls, f"= {walls[1] / walls[0]:.2f}",
               f"goal: {backfill_bench.FIRST_RUN_GOAL}")


def figures():
    startup()
    for name, single in {**SINGLE_RUNS, **({} if quick else LARGE_RUNS)}.items():
        telemetry(name, *single)
    uncertainty()
    benchmark_result(20 if quick else 200)
    forms()
    windows(100_000 if quick else 1_000_000)
    attribution()


if __name__ == "__main__":
    if "--ratios" in sys.argv:
        ratios()
    else:
        figures()
