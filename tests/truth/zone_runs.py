"""Runs whose recorder and load generator keep different clocks, and whose energy is known.

A recording is a list of (Unix time, watts), one row a second: 650 W in a load and 100 W beside it, on steps, so
that a load of D s uses 650 x D - 550 J by trapezoids from its first second to its end: the rows in
[start, end) are at 650 W, so the last second goes from 650 W to 100 W: 650 x D - 275 J.
"""
import datetime
import json
import os
import pathlib
import subprocess
import zoneinfo

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("AGGREGATE_POWER", str(ROOT / "build" / "aggregate-power"))
LOAD_W, IDLE_W = 650, 100
COUNTS = {"completed": 5, "total_input_tokens": 8000, "total_output_tokens": 1000}


def offset(zone, unix):
    """Seconds east of UTC; a zone is a name, or "+HH:MM"."""
    if zone[0] in "+-":
        sign = -1 if zone[0] == "-" else 1
        return sign * (int(zone[1:3]) * 3600 + int(zone[4:6]) * 60)
    if zone == "UTC":
        return 0
    return int(datetime.datetime.fromtimestamp(unix, zoneinfo.ZoneInfo(zone)).utcoffset().total_seconds())


def shown(zone, unix):
    return datetime.datetime.fromtimestamp(unix + offset(zone, unix), datetime.timezone.utc)


def rows(first, last, loads):
    """loads: (start, duration) or (start, duration, watts)."""
    found = []
    for unix in range(int(first), int(last) + 1):
        watts = [load[2] if len(load) > 2 else LOAD_W for load in loads if load[0] <= unix < load[0] + load[1]]
        found.append((unix, max(watts, default=IDLE_W)))
    return found


def energy(start, duration, all_rows):
    """By trapezoids, between whole seconds."""
    watts = dict(all_rows)
    return sum((watts[unix] + watts[unix + 1]) / 2 for unix in range(int(start), int(start + duration)))


def as_csv(all_rows, zone):
    """As nvidia-smi writes it in `zone`; None: in Unix time."""
    stamp = (lambda unix: str(unix)) if zone is None else (lambda unix: shown(zone, unix).strftime("%Y/%m/%d %H:%M:%S.000"))
    return "timestamp, index, power.draw [W]\n" + "".join(f"{stamp(unix)}, 0, {watts:.2f} W\n" for unix, watts in all_rows)


def exact(start, duration):
    return json.dumps(COUNTS | {"benchmark_start_time_unix": start, "benchmark_end_time_unix": start + duration,
                                "duration": duration})


def vllm(zone, start, duration, late=1):
    """Its date is written `late` seconds after the load."""
    return json.dumps(COUNTS | {"date": shown(zone, start + duration + late).strftime("%Y%m%d-%H%M%S"), "backend": "vllm",
                                "endpoint_type": "openai", "model_id": "m", "tokenizer_id": "m", "num_prompts": 5,
                                "request_rate": "inf", "duration": duration})


def tensorrt(zone, start, duration, joules=None, late=1):
    return json.dumps(COUNTS | {"date": shown(zone, start + duration + late).strftime("%Y%m%d-%H%M%S"),
                                "backend": "openai", "tokenizer_id": "m", "num_prompts": 5, "duration": duration,
                                "user_throughput": 1, "avg_decoded_tokens_per_iter": 1,
                                **({"energy": {"total_energy_j": joules}} if joules else {})})


def aiperf(zone, start, duration):
    count = {"unit": "requests", "avg": 5}
    return json.dumps({"input_config": {}, "request_count": count, "request_latency": {"unit": "ms", "avg": 1000},
                       "benchmark_duration": {"unit": "sec", "avg": duration}, "total_isl": {"unit": "tokens", "avg": 8000},
                       "total_osl": {"unit": "tokens", "avg": 1000}, "start_time": shown(zone, start).strftime("%Y-%m-%dT%H:%M:%S"),
                       "end_time": shown(zone, start + duration).strftime("%Y-%m-%dT%H:%M:%S")})


def loadgen(zone, start, duration, version="1.0"):
    stamp = lambda unix: shown(zone, unix).strftime("%m-%d-%Y %H:%M:%S.000")
    values = {"loadgen_version": version, "effective_scenario": "Server", "effective_test_mode": "PerformanceOnly",
              "power_begin": stamp(start), "power_end": stamp(start + duration), "result_validity": "VALID",
              "result_query_count": 5}
    return "".join(":::MLLOG " + json.dumps({"key": key, "value": value, "time_ms": 0.0, "namespace": "mlperf::logging",
                                             "event_type": "POINT_IN_TIME", "metadata": {}}) + "\n"
                   for key, value in values.items())


LOCAL = {"vLLM": vllm, "TensorRT-LLM": tensorrt, "AIPerf": aiperf, "LoadGen 1.0": loadgen}


class Run:
    """A folder with a recording and a result; what the program says of them."""

    def __init__(self, path, csv, result, context=None):
        self.path = pathlib.Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / "gpu_metrics.csv").write_text(csv)
        (self.path / "result").write_text(result)
        (self.path / "agg_run.json").write_text('{"hw": "h100", "tp": 1}')
        if context is not None:
            (self.path / "gpu_metrics_context.json").write_text(json.dumps(context))

    def call(self, *words, zone="UTC"):
        done = subprocess.run([PROGRAM, *words], cwd=self.path, capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"], "TZ": zone})
        return done.returncode, done.stdout, done.stderr

    def measure(self, *words, zone="UTC"):
        status, out, err = self.call("measure", "result", "gpu_metrics.csv", "--json", *words, zone=zone)
        assert out, (status, err)
        return json.loads(out)["runs"][0]

    def aggregate(self, *words, zone="UTC"):
        self.call("--csv", "gpu_metrics.csv", "--bench-result", "result", "--agg-result", "agg_run.json",
                  "--expected-num-gpus", "1", *words, zone=zone)
        return json.loads((self.path / "agg_run.json").read_text())


def verdict(run, joules, within=0.012):
    """right, wrong, warned (wrong, and it is said), or refused."""
    if not run["valid"]:
        return "refused"
    if abs(run["total_gpu_energy_j"] - joules) <= within * joules:
        return "right"
    return "warned" if any("zone" in text or "where the load was is not certain" in text for text in run["warnings"]) else "wrong"
