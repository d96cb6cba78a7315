#!/usr/bin/env python3
"""Times one run on many hosts against a newline scan of the same files, interleaved, and tells its
memory.

usage: multinode_bench.py PROGRAM NEWLINE_SCAN PEAK WORK_FOLDER [HOSTS]   (default: 128 hosts of 8 GPUs, an hour at 1 Hz)
WORK_FOLDER should be on tmpfs; the tools are tests/bench/*.cpp, built. No verdict: the figures are
for people.
"""
import os
import statistics
import subprocess
import sys
import time

program, scan, peak, work = (os.path.abspath(path) for path in sys.argv[1:5])
hosts = int(sys.argv[5]) if len(sys.argv) > 5 else 128
environment = {**os.environ, "TZ": "UTC"}
environment.pop("REQUIRE_POWER", None)
names = [f"node{i:03d}" for i in range(hosts)]
files = [f"nodes/{name}/gpu_metrics.csv" for name in names]


def synthesize(path, seed):
    os.makedirs(os.path.join(work, os.path.dirname(path)), exist_ok=True)
    subprocess.run([program, "synthesize", "--out", path, "--bench-out", "run.json", "--agg-out", "agg_run.json",
                    "--timezone", "UTC", "--noise", "40", "--jitter", "0.2", "--seed", str(seed), "--gpus", "8",
                    "--phase", "60:120", "--phase", "3480:650", "--phase", "60:300"], cwd=work, check=True)


def call(command):
    subprocess.run(command, cwd=work, env=environment, stdout=subprocess.DEVNULL, check=True)


def peak_mib(command):
    output = subprocess.run([peak, *command], cwd=work, env=environment, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True, check=True)
    return int(output.stderr.split()[-1]) / 1024


def seconds(what):
    begin = time.perf_counter()
    what()
    return time.perf_counter() - begin


for seed, path in enumerate(files):
    synthesize(path, seed)
results = ["--bench-result", "run.json", "--agg-result", "agg_run.json", "--require-power"]
multinode = [program, "multinode", "--nodes", "nodes", "--role", f"prefill={names[0]}", "--role",
             "decode=" + ",".join(names[1:]), *results]
single = [program, "--csv", files[0], "--expected-num-gpus", "8", *results]
walls = {"scan": [], "single": [], "multinode": []}
for turn in range(16):
    walls["scan"].append(seconds(lambda: call([scan, *files])))
    walls["single"].append(seconds(lambda: [call([*single[:2], path, *single[3:]]) for path in files]))
    walls["multinode"].append(seconds(lambda: call(multinode)))
medians = {what: statistics.median(all_walls[1:]) for what, all_walls in walls.items()}
size = sum(os.path.getsize(os.path.join(work, path)) for path in files)
print(f"{hosts} hosts, {size / 1e6:.0f} MB: scan {medians['scan']:.3f} s, one run for each host "
      f"{medians['single']:.3f} s, multinode {medians['multinode']:.3f} s = "
      f"{medians['multinode'] / medians['scan']:.2f}")
print(f"peak memory: one run {peak_mib(single):.1f} MiB, multinode {peak_mib(multinode):.1f} MiB")
