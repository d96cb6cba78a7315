"""Writes stores of runs of known numbers: aggregates with their audit records, and recordings."""
import json
import pathlib
import random

HARDWARE = {"h100": (700, 1.0), "h200": (700, 0.8), "b200": (1000, 0.5), "mi300x": (750, 0.95), "mi355x": (1400, 0.55)}
CONCURRENCIES = (1, 4, 16, 64, 256)
START = 1_788_852_000


def joules_per_token(hardware, concurrency):
    """Falls with the load, and is what a point of the chart must show."""
    return round(HARDWARE[hardware][1] * (0.3 + 4 / concurrency ** 0.5), 6)


def interactivity(hardware, concurrency):
    return round(120 / HARDWARE[hardware][1] / (1 + concurrency / 40), 3)


def number_name(number):
    return f"run_{number:05}"


class Run:
    """One run: `members` of its aggregate beside the measured ones, `record` beside the usual ones."""

    def __init__(self, number, hardware="h100", concurrency=16, repeat=0, joules=None, reasons=(), **members):
        self.name = number_name(number)
        self.reasons = list(reasons)
        self.joules = joules if joules is not None else joules_per_token(hardware, concurrency)
        self.gpus = 8
        self.start = START + number * 700
        self.duration = 300.0
        load = HARDWARE[hardware][0] * (0.3 + 0.6 * concurrency / (concurrency + 30)) * self.gpus
        self.tokens = round(load * self.duration / self.joules)
        self.energy = self.joules * self.tokens
        self.watts = self.energy / self.duration / self.gpus
        self.members = {"hw": hardware, "framework": "vllm", "model": "llama-70b", "precision": "fp8", "tp": 8,
                        "conc": concurrency, "median_intvty": interactivity(hardware, concurrency), **members}
        self.record_more = {}

    def draw(self, watts):
        """The same energy of a token at another power of each GPU."""
        self.watts = watts
        self.energy = watts * self.gpus * self.duration
        self.tokens = round(self.energy / self.joules)
        return self

    def aggregate(self):
        measured = {"power_metric_schema_version": 2, "power_valid": 0}
        if not self.reasons:
            measured = {"power_metric_schema_version": 2, "power_valid": 1, "avg_power_w": round(self.watts, 3),
                        "avg_total_gpu_power_w": round(self.watts * self.gpus, 3),
                        "total_gpu_energy_j": round(self.energy, 3), "joules_per_output_token": round(self.joules, 6)}
        return {**self.members, **measured}

    def record(self):
        ids = [str(i) for i in range(self.gpus)]
        metrics = {key: value for key, value in self.aggregate().items() if key.startswith(("avg_", "total_", "joules_"))}
        return {"schema_version": 1, "power_valid": not self.reasons, "reasons": self.reasons,
                "telemetry_source": "gpu_metrics.csv", "benchmark_result": "run.json",
                "benchmark_window": {"start_time_unix": self.start, "end_time_unix": self.start + self.duration,
                                     "duration_s": self.duration, "completed": 100, "total_input_tokens": self.tokens * 8,
                                     "total_output_tokens": self.tokens},
                "expected_gpu_count": self.gpus, "observed_gpu_count": self.gpus, "observed_gpu_ids": ids,
                "per_gpu_sample_counts": {i: 302 for i in ids}, "per_gpu_max_sample_gap_s": {i: 1.0 for i in ids},
                "per_gpu_energy_j": {} if self.reasons else {i: self.energy / self.gpus for i in ids},
                "metrics": metrics,
                "computed_from": {"tool": "aggregate-power", "tool_version": "0.1.0", "collector": "nvidia-smi",
                                  "schema": "nvidia-smi", "timezone": "UTC", "aggregate": f"agg_{self.name}.json",
                                  "inputs": {name: {"bytes": 12345, "xxh3_128": "0123456789abcdef" * 2}
                                             for name in ("gpu_metrics.csv", "run.json")}},
                **self.record_more}

    def write(self, root, has_record=True):
        folder = pathlib.Path(root) / self.name
        folder.mkdir(parents=True)
        (folder / f"agg_{self.name}.json").write_text(json.dumps(self.aggregate(), indent=2))
        if has_record:
            (folder / f"power_validation_{self.name}.json").write_text(json.dumps(self.record(), indent=2))
        return folder

    def write_telemetry(self, folder, watts=None, every_s=1.0, missing=(), limit=None):
        """Samples of each GPU from 60 s before the window to 60 s after it. `watts` of seconds after the start."""
        watts = watts or (lambda second: self.watts if 0 <= second <= self.duration else 90.0)
        lines = ["timestamp,index,power.draw [W]" + (",power.limit [W]" if limit else "")]
        end = f",{limit:.2f}" if limit else ""
        steps = int((self.duration + 120) / every_s)
        for step in range(steps + 1):
            second = step * every_s - 60
            if any(begin < second < end for begin, end in missing):
                continue
            for gpu in range(self.gpus):
                lines.append(f"{self.start + second:.3f},{gpu},{watts(second):.2f}{end}")
        (pathlib.Path(folder) / "gpu_metrics.csv").write_text("\n".join(lines) + "\n")


def runs_of_sweep(count, repeats=3):
    """So many runs: each hardware at each concurrency, `repeats` times, then the next tensor parallelism; the
    repeats differ by a known amount."""
    runs = []
    number = 0
    tp = 1
    die = random.Random(5)
    while len(runs) < count:
        for hardware in HARDWARE:
            for concurrency in CONCURRENCIES:
                for repeat in range(repeats):
                    if len(runs) >= count:
                        return runs
                    joules = joules_per_token(hardware, concurrency) * (1 + (repeat - 1) * 0.004) * (1 + tp / 50)
                    reasons = ["sampling_gap_exceeded"] if number % 41 == 40 else []
                    runs.append(Run(number, hardware, concurrency, repeat, joules, reasons, tp=tp,
                                    median_intvty=round(interactivity(hardware, concurrency) * (1 + die.random() / 100) * tp ** 0.3, 3)))
                    number += 1
        tp += 1
    return runs


def write_store(root, count, repeats=3, telemetry=False):
    runs = runs_of_sweep(count, repeats)
    for run in runs:
        folder = run.write(root)
        if telemetry:
            run.write_telemetry(folder)
    return runs


def write_limits(root, limits=(300, 400, 500, 600, 700), repeats=3, **members):
    """A sweep over power limits whose least energy per token is at 500 W."""
    runs = []
    for i, limit in enumerate(limits):
        for repeat in range(repeats):
            joules = (1 + ((limit - 500) / 400) ** 2) * (1 + (repeat - 1) * 0.002)
            run = Run(len(runs), joules=joules, power_limit_w=limit, avg_temp_c=40 + i * 5.0, avg_util_pct=99 - i * 0.5,
                      **members)
            run.draw(limit * 0.97).write(root)
            runs.append(run)
    return runs


if __name__ == "__main__":
    import sys
    write_store(sys.argv[1], int(sys.argv[2]), repeats=int(sys.argv[3]) if len(sys.argv) > 3 else 3,
                telemetry="--telemetry" in sys.argv)
