#!/usr/bin/env python3
"""Times one run from a package of several nodes against a newline scan of its samples, interleaved,
and tells its memory: 72 GPUs at 10 Hz for an hour, and 1,024 on 128 hosts at 1 Hz.

usage: package_bench.py PROGRAM NEWLINE_SCAN PEAK WORK_FOLDER
WORK_FOLDER should be on tmpfs; the tools are tests/bench/*.cpp, built. No verdict: the figures are
for people.
"""
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time

program, scan, peak, work = (os.path.abspath(path) for path in sys.argv[1:5])
# On one processor: of two one may be the slower, for others use it.
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
environment = {key: value for key, value in os.environ.items() if key != "REQUIRE_POWER"}
SHA = "0123456789abcdef0123456789abcdef01234567"
START = 1788852000.0
BENCH = {"max_concurrency": 4, "benchmark_start_time_unix": START + 30.5, "benchmark_end_time_unix": START + 3570.5,
         "duration": 3540.0, "completed": 8, "total_input_tokens": 32000, "total_output_tokens": 4000}
STEM = "results_concurrency_4"


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", newline="") as file:
        json.dump(content, file)


def build(folder, hosts, gpus, hertz):
    """Half of the hosts prefill, half decode; stamps as time.time() gives them."""
    generator = random.Random(hosts)
    power = os.path.join(folder, "LOGS", "power")
    os.makedirs(power)
    names = [f"gb200-rack{host // 18:02d}-node{host:03d}" for host in range(hosts)]
    uuids = {(name, gpu): f"GPU-{generator.getrandbits(32):08x}-{generator.getrandbits(16):04x}-4a5b-9c8d-"
             f"{generator.getrandbits(48):012x}" for name in names for gpu in range(gpus)}
    bounds, gaps = {}, {}
    with open(os.path.join(power, "samples.csv"), "w", newline="") as file:
        file.write("schema_version,timestamp_unix,scrape_seq,hostname,gpu_index,gpu_uuid,power_w\r\n")
        for scrape in range(3600 * hertz):
            for name in names:
                stamp = START + scrape / hertz + generator.random() * 0.02
                first, last = bounds.get(name, (stamp, stamp))
                window = (BENCH["benchmark_start_time_unix"], BENCH["benchmark_end_time_unix"])
                if stamp > window[0] and last < window[1]:
                    gaps[name] = max(gaps.get(name, 0.0), stamp - last)
                bounds[name] = (first, stamp)
                file.write("".join(
                    f"1,{stamp!r},{scrape},{name},{gpu},{uuids[name, gpu]},{generator.randrange(600000, 1200000) / 1000!r}\r\n"
                    for gpu in range(gpus)))
    devices = sorted(uuids)
    write(os.path.join(power, "manifest.json"), {
        "schema_version": 1, "producer": "srt-slurm.dcgm-power", "producer_git_commit": SHA,
        "source_metric": "DCGM_FI_DEV_POWER_USAGE", "unit": "W",
        "power_scope": "gpu_device_board_as_reported_by_dcgm", "timestamp_source": "head_node_unix_clock",
        "sample_interval_seconds": 1 / hertz, "request_timeout_seconds": 2.0, "required": True,
        "started_at_unix": START - 1, "stopped_at_unix": START + 3601, "status": "complete",
        "publication_valid": True, "dcgm_exporter": {"container_image_resolved": "/x.sqsh"},
        "expected_devices": [{"hostname": name, "gpu_index": gpu, "assignments": [
            {"worker_role": "prefill" if names.index(name) * 2 < hosts else "decode", "worker_index": 0,
             "worker_process": 0, "het_group": None}]} for name, gpu in devices],
        "observed_devices": [{"hostname": name, "gpu_index": gpu, "gpu_uuids": [uuids[name, gpu]],
                              "first_sample_time_unix": bounds[name][0],
                              "last_sample_time_unix": bounds[name][1]} for name, gpu in devices],
        "expected_windows": [{"benchmark_type": "sa-bench", "concurrency": 4}],
        "scrape_count": 3600 * hertz, "sample_row_count": 3600 * hertz * len(devices),
        "window_validations": [{"benchmark_type": "sa-bench", "concurrency": 4,
                                "window_file": f"windows/{STEM}.json", "power_coverage_valid": True,
                                "reason_codes": [], "per_device_max_sample_gap_seconds": {
                                    f"{name}/{uuids[name, gpu]}": gaps[name] for name, gpu in devices}}],
        "artifact_errors": [], "reason_codes": []})
    write(os.path.join(power, "windows", f"{STEM}.json"), {
        "schema_version": 1, "benchmark_type": "sa-bench", "result_path": f"{STEM}.json", "concurrency": 4,
        "clock_source": "head_node_unix_clock", "status": "completed", "reason": None,
        **{key: BENCH[key] for key in ("benchmark_start_time_unix", "benchmark_end_time_unix", "duration")}})
    write(os.path.join(folder, "LOGS", f"{STEM}.json"), BENCH)
    write(os.path.join(folder, "run.json"), BENCH)
    write(os.path.join(folder, "agg_run.json"), {})


def seconds(command, folder):
    begin = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def peak_mib(command, folder):
    output = subprocess.run([peak, *command], cwd=folder, env=environment, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True, check=True)
    return int(output.stderr.split()[-1]) / 1024


for hosts, gpus, hertz in ((18, 4, 10), (128, 8, 1)):
    folder = os.path.join(work, f"package-{hosts}")
    shutil.rmtree(folder, ignore_errors=True)
    build(folder, hosts, gpus, hertz)
    half = hosts // 2 * gpus
    ours = [program, "multinode", "--prefill-gpus", str(half), "--decode-gpus", str(half), "--expected-producer-sha",
            SHA, "--bench-result", "run.json", "--agg-result", "agg_run.json", "--require-power"]
    samples = os.path.join(folder, "LOGS", "power", "samples.csv")
    walls = {"scan": [], "ours": [], "extended": []}
    for turn in range(16):
        walls["scan"].append(seconds([scan, samples], folder))
        walls["ours"].append(seconds(ours, folder))
        walls["extended"].append(seconds([*ours, "--extended"], folder))
    medians = {what: statistics.median(all_walls[1:]) for what, all_walls in walls.items()}
    print(f"{hosts * gpus} GPUs on {hosts} hosts, {hertz} Hz, {3600 * hertz * hosts * gpus:,} rows, "
          f"{os.path.getsize(samples) / 1e6:.0f} MB: scan {medians['scan'] * 1e3:.0f} ms, "
          f"multinode {medians['ours'] * 1e3:.0f} ms = {medians['ours'] / medians['scan']:.2f}, "
          f"--extended {medians['extended'] * 1e3:.0f} ms; peak {peak_mib(ours, folder):.1f} MiB, "
          f"--extended {peak_mib([*ours, '--extended'], folder):.1f} MiB", flush=True)
    shutil.rmtree(folder)
