#!/usr/bin/env python3
"""Times a run on each recorder's form: lines against a newline scan, JSON against nlohmann's SAX parser.

usage: recorders_bench.py PROGRAM TOOLS_FOLDER WORK_FOLDER [--quick] [FORM...]
WORK_FOLDER should be on tmpfs. Eight GPUs, ten samples a second. No verdict: the figures are for people.
"""
import datetime
import json
import os
import statistics
import subprocess
import sys
import time

program, tools, work = sys.argv[1:4]
megabytes = 20 if "--quick" in sys.argv else 200
START = 1777118400
GPUS = 8
UUIDS = [f"GPU-265c9814-6156-355b-e589-ff2064894f{gpu:02d}" for gpu in range(GPUS)]
environment = {**os.environ, "TZ": "UTC"}
environment.pop("REQUIRE_POWER", None)


def watts(i, gpu):
    return 400 + (i * 7 + gpu * 13) % 97 + 0.25


def at(i):
    return START + i / 10


def utc(i, form):
    return datetime.datetime.fromtimestamp(at(i), datetime.timezone.utc).strftime(form)


def dumped(value):
    return json.dumps(value, separators=(",", ":"))


def series(gpu):
    return {"__name__": "DCGM_FI_DEV_POWER_USAGE", "Hostname": "node-a", "UUID": UUIDS[gpu], "gpu": str(gpu)}


# Each gives the text of sample i of all GPUs.

def dmon(i):
    return "".join(f" {utc(i, '%Y%m%d')}   {utc(i, '%H:%M:%S')}  {gpu:>5}  {watts(i, gpu):5.0f}     52      -      5      7\n"
                   for gpu in range(GPUS))


def dcgmi(i):
    return "".join(f"{at(i):.2f} GPU {gpu}     {watts(i, gpu):.3f}   {1000 + i}   {watts(i, gpu):.3f}\n" for gpu in range(GPUS))


def scrape(i):
    return f"# {at(i):.1f}\n" + "".join(
        f'DCGM_FI_DEV_POWER_USAGE{{gpu="{gpu}",UUID="{UUIDS[gpu]}",device="nvidia{gpu}",modelName="NVIDIA H100"}} {watts(i, gpu):.6f}\n'
        for gpu in range(GPUS))


def grafana_wide(i):
    return f"{utc(i, '%Y-%m-%d %H:%M:%S.%f')}," + ",".join(str(watts(i, gpu)) for gpu in range(GPUS)) + "\n"


def grafana_long(i):
    return "".join(f"{at(i) * 1000:.0f},DCGM_FI_DEV_POWER_USAGE,node-a,{UUIDS[gpu]},{gpu},{watts(i, gpu)}\n" for gpu in range(GPUS))


def energibridge(i):
    return f"100,{at(i) * 1000:.0f},12.5," + ",".join(f"{watts(i, gpu) * 1000:.0f}" for gpu in range(GPUS)) + ",5000\n"


def aiperf(i):
    return "".join(dumped({
        "timestamp_ns": int(at(i) * 10) * 100000000, "dcgm_url": "http://localhost:9400/metrics", "gpu_index": gpu,
        "gpu_model_name": "NVIDIA H100 80GB HBM3", "gpu_uuid": UUIDS[gpu], "pci_bus_id": None, "device": f"nvidia{gpu}",
        "hostname": "node-a", "telemetry_data": {"gpu_power_usage": watts(i, gpu), "energy_consumption": 0.23,
                                                 "gpu_utilization": 66.0, "gpu_memory_used": 46.3, "xid_errors": 0.0}}) + "\n"
        for gpu in range(GPUS))


def all_smi(i):
    return json.dumps({"schema": 1, "timestamp": utc(i, "%Y-%m-%dT%H:%M:%S.%fZ"), "hostname": "node-a", "gpus": [{
        "uuid": UUIDS[gpu], "time": utc(i, "%Y-%m-%d %H:%M:%S"), "name": "NVIDIA H100", "device_type": "GPU",
        "hostname": "node-a", "utilization": 66.0, "power_consumption": watts(i, gpu)} for gpu in range(GPUS)],
        "cpus": [{"hostname": "node-a", "power_consumption": 120.0}]}) + "\n"


def aipowermeter(i):
    return json.dumps({"date": utc(i, "%Y-%m-%dT%H:%M:%S.%f"), "metrics": {"cpu": {"intel_power": 65.25, "total_dram_power": 11.5}, "gpu": {
        "nvidia_draw_absolute": sum(watts(i, gpu) for gpu in range(GPUS)),
        "per_gpu_power_draw": {str(gpu): watts(i, gpu) for gpu in range(GPUS)},
        "per_gpu_attributable_mem_use": {str(gpu): {"12412": 2141192192} for gpu in range(GPUS)}}}}) + "\n"


def matrix(samples):
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [
        {"metric": series(gpu), "values": [[at(i), str(watts(i, gpu))] for i in range(samples)]}
        for gpu in range(GPUS)]}}, separators=(",", ":"))


def victoria(samples):
    return "".join(dumped({"metric": series(gpu), "values": [watts(i, gpu) for i in range(begin, min(begin + 10000, samples))],
                           "timestamps": [int(at(i) * 1000) for i in range(begin, min(begin + 10000, samples))]}) + "\n"
                   for begin in range(0, samples, 10000) for gpu in range(GPUS))


def streamed(head, sample):
    """The text of so many samples that it is large enough."""
    def text(path):
        size, i = 0, 0
        with open(path, "w", encoding="utf-8") as file:
            size += file.write(head)
            while size < megabytes * 1000000:
                size += file.write(sample(i))
                i += 1
        return i
    return text


def whole(text_of, bytes_each):
    def text(path):
        samples = megabytes * 1000000 // (bytes_each * GPUS)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text_of(samples))
        return samples
    return text


WIDE_HEAD = '"Time",' + ",".join(f'"DCGM_FI_DEV_POWER_USAGE{{Hostname=""node-a"", gpu=""{gpu}""}}"' for gpu in range(GPUS)) + "\n"
FORMS = {
    "nvidia-smi dmon": streamed("#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem\n"
                                "#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %\n", dmon),
    "dcgmi dmon": streamed(f"{START} #Entity   POWER     TOTEC     POWINST\n{START} ID        W         mJ        W\n", dcgmi),
    "exporter scrapes": streamed("", scrape),
    "Grafana, wide": streamed(WIDE_HEAD, grafana_wide),
    "Grafana, long": streamed('"Time","__name__","Hostname","UUID","gpu","Value"\n', grafana_long),
    "EnergiBridge": streamed("Delta,Time,CPU_USAGE_0," + ",".join(f"GPU{gpu}_POWER (mWatts)" for gpu in range(GPUS)) +
                             ",PACKAGE_ENERGY (J)\n", energibridge),
    "AIPerf lines": streamed("", aiperf),
    "all-smi": streamed('{"schema": 1, "header": true, "interval_ms": 100, "hosts": ["node-a"], "all_smi_version": "0.22.0"}\n', all_smi),
    "AIPowerMeter": streamed("", aipowermeter),
    "Prometheus matrix": whole(matrix, 24),
    "VictoriaMetrics": whole(victoria, 21),
}


def as_one_array(path, into):
    """For a parser of one value."""
    with open(path, encoding="utf-8") as file, open(into, "w", encoding="utf-8") as out:
        begin = "["
        for line in file:
            out.write(begin + line)
            begin = ","
        out.write("]")


def seconds_of(command):
    """Wall seconds and processor seconds of one run."""
    begin = time.perf_counter()
    child = subprocess.Popen(command, cwd=work, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(command)}: {said}")
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime


def compare(name):
    path = os.path.join(work, "recording")
    samples = FORMS[name](path)
    end = at(samples) - 3
    with open(os.path.join(work, "run.json"), "w", encoding="utf-8") as file:
        json.dump({"benchmark_start_time_unix": START + 1, "benchmark_end_time_unix": end, "duration": end - START - 1,
                   "completed": 5, "total_input_tokens": 8000, "total_output_tokens": 1000}, file)
    with open(os.path.join(work, "agg_run.json"), "w", encoding="utf-8") as file:
        file.write("{}")
    ours = [program, "--csv", "recording", "--bench-result", "run.json", "--agg-result", "agg_run.json",
            "--expected-num-gpus", str(GPUS), "--require-power", "--timezone", "UTC"]
    with open(path, encoding="utf-8") as file:
        is_json = file.read(1) == "{"
    if is_json:
        as_one_array(path, os.path.join(work, "array"))
    theirs = [os.path.join(tools, "sax_parse"), "array"] if is_json else [os.path.join(tools, "newline_scan"), "recording"]
    rounds = [[seconds_of(command) for command in (theirs, ours)] for _ in range(6)][1:]
    (their_wall, their_cpu), (wall, cpu) = ([statistics.median(values) for values in zip(*runs)] for runs in zip(*rounds))
    what = "nlohmann SAX" if is_json else "newline scan"
    ratios = [f"1/{other / own:.1f}" if is_json else f"{own / other:.1f}" for other, own in ((their_wall, wall), (their_cpu, cpu))]
    print(f"{name:<18} {os.path.getsize(path) / 1e6:8.1f} MB  {what} {their_wall * 1e3:6.1f} ms  ours {wall * 1e3:6.1f} ms = {ratios[0]} "
          f"(at most {'1/6' if is_json else '3'})  processor time {ratios[1]}", flush=True)


chosen = [word for word in sys.argv[4:] if word != "--quick"]
for form in chosen or FORMS:
    compare(form)
