#!/usr/bin/env python3
"""Checks 'aggregate-power windows --per-process': the energy of each process, from AIPowerMeter's shares.

Expected values are sums by hand, or a slow model in this file.

usage: tests/runs/per_process_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import csv
import datetime
import io
import json
import math
import os
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import PROGRAM, ROOT, near, run_tests, same  # noqa: E402

READ = ROOT / "testdata" / "telemetry" / "aipowermeter"
WRITTEN = ROOT / "testdata" / "telemetry-written" / "aipowermeter"
START = 1777118400  # 2026-04-25T12:00:00Z
END = json.dumps("END OF RECORDING SEGMENT")


class Ran:
    def __init__(self, folder, file, windows, *words):
        (folder / "w.txt").write_text(windows)
        done = subprocess.run([PROGRAM, "windows", "--telemetry", *str(file).split(), "--windows", "w.txt", "--per-process",
                               "--timezone", "UTC", *map(str, words)], cwd=folder, capture_output=True, text=True)
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    def parts(self, window=0):
        """Energies by GPU and process."""
        gpus = json.loads(self.out)["windows"][window]["gpus"]
        return {gpu["gpu"]: {part["process"]: part["energy_j"] for part in gpu["processes"]} for gpu in gpus}

    def __repr__(self):
        return f"status {self.status}\n{self.out}{self.err}"


def all_near(wanted, found, what=""):
    same(set(wanted), set(found), what)
    for name, joules in wanted.items():
        near(joules, found[name], what=f"{what} {name}")


def record(second, gpus, processes):
    date = datetime.datetime.fromtimestamp(START + second, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")
    gpu = {"per_gpu_power_draw": gpus}
    if processes is not None:
        gpu["per_gpu_per_pid_utilization_absolute"] = processes
    return json.dumps({"date": date, "metrics": {"cpu": {}, "gpu": gpu}})


def write(folder, lines, name="power_metrics.json"):
    (folder / name).write_text("\n".join(lines) + "\n")
    return name


EXAMPLE = WRITTEN / "inference" / "power_metrics.json"
WHOLE = "begin all +0\nend all -0\n"


def test_by_hand(folder):
    # GPU 0 in steps of 2 s: 200, 400, 600, 600, 600 J. Processes 101 and 102 use 0.6 and 0.2 of it in the first
    # three, 101 alone in the fourth, none in the last. 100 W are idle power: 200 J in each step.
    done = Ran(folder, EXAMPLE, WHOLE, "--json")
    same(0, done.status, done)
    found = done.parts()
    all_near({"101": 100 + (150 + 100) + (300 + 100) + 600, "102": 100 + (50 + 100) + (100 + 100), "idle": 600}, found["0"])
    # No record at 4 s says who used GPU 1.
    all_near({"idle": 400, "unknown": 100}, found["1"])
    report = json.loads(done.out)
    same([100.0, 50.0], report["idle_power_w"])
    idle = {part["process"]: part["idle_power_j"] for part in report["windows"][0]["gpus"][0]["processes"]}
    same({"101": 100 + 100 + 100 + 200, "102": 300, "idle": None}, idle)
    same("aggregate-power: warning: " + str(EXAMPLE) + ": 1 of 6 records attribute more to the experiment than a GPU drew; "
         "no energy here is above what was drawn\n", done.err)


def test_other_idle_powers(folder):
    all_near({"101": 0.75 * 1200 + 600, "102": 0.25 * 1200, "idle": 600},
             Ran(folder, EXAMPLE, WHOLE, "--json", "--idle-power", 0).parts()["0"])
    # More than was drawn: no energy is above it, and all of it is shared equally.
    all_near({"101": 1200 / 2 + 600, "102": 1200 / 2, "idle": 600},
             Ran(folder, EXAMPLE, WHOLE, "--json", "--idle-power", 4000).parts()["0"])


def test_edges_inside_a_period(folder):
    # From 3 s, at 200 W, to 4 s: 250 J; and from 4 s to 5 s: 300 J. 100 J of each are idle power.
    found = Ran(folder, EXAMPLE, "begin a +3\nend a +5\n", "--json").parts()["0"]
    all_near({"101": 0.75 * 350 + 100, "102": 0.25 * 350 + 100, "idle": 0}, found)


def test_public_example(folder):
    done = Ran(folder, READ / "two-gpus-psys-sentinel.json", WHOLE, "--json")
    same(0, done.status, done)
    found = done.parts()
    # The process uses GPU 1 in all records but the last: 0.540477 s from 67.69 W to 67.26 W.
    last_j = 0.540477 * (67.69 + 67.26) / 2
    assert math.isclose(last_j, found["1"]["idle"], rel_tol=1e-4), found
    assert math.isclose(1199.647 - last_j, found["1"]["20382"], rel_tol=1e-4), found
    same(["idle"], list(found["0"]))
    assert math.isclose(323.783, found["0"]["idle"], rel_tol=1e-5), found
    assert "2 of 30 records attribute more" in done.err, done


def test_without_processes(folder):
    for file, energies in ((WRITTEN / "two-segments-2026-keys.json", [5000.0, 1000.0]),):
        done = Ran(folder, file, "begin a +0\nend a +20\n", "--json", "--max-sample-gap", 20)
        same(1, done.status, done)
        gpus = json.loads(done.out)["windows"][0]["gpus"]
        same([(joules, None) for joules in energies], [(gpu["energy_j"], gpu["processes"]) for gpu in gpus])
        same(f"aggregate-power: {file}: attribution is not possible, because no record says which processes used a "
             "GPU; the energies are those of whole GPUs\n", done.err)
    (folder / "power.csv").write_text("timestamp,gpu,power_w\n" + "".join(f"{START + at},0,100\n" for at in range(5)))
    done = Ran(folder, "power.csv", "begin a +0\nend a +4\n", "--format", "csv")
    same([1, ["400.0"]], [done.status, [row["energy_j"] for row in csv.DictReader(io.StringIO(done.out))]])
    # A sensor of the CPU is no GPU, whatever its name.
    done = Ran(folder, EXAMPLE, WHOLE, "--json", "--power-column", "intel_power")
    same([1, None], [done.status, json.loads(done.out)["windows"][0]["gpus"][0]["processes"]])


def test_standard_input(folder):
    (folder / "w.txt").write_text(WHOLE)
    done = subprocess.run([PROGRAM, "windows", "--telemetry", "-", "--windows", "w.txt", "--per-process"], cwd=folder,
                          input=EXAMPLE.read_text(), capture_output=True, text=True)
    same([2, "", "aggregate-power: error: --per-process reads the recording twice: give a file instead of standard input\n"],
         [done.returncode, done.stdout, done.stderr])


def test_what_is_not_covered(folder):
    done = Ran(folder, EXAMPLE, "begin a +9\nend a +11\nbegin b +1\nend b +2\n", "--format", "csv", "--gpus", "0")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    same(1, done.status)
    same([("a", "all", ""), ("b", "all", "100.0"), ("b", "101", "50.0"), ("b", "102", "50.0"), ("b", "idle", "0.0")],
         [(row["name"], row["process"], row["energy_j"]) for row in rows])
    same("the window ends 1.000 s after the last reading", rows[0]["reason"])
    assert "1 of 2 windows not measured" in done.err, done


def test_two_recordings(folder):
    for host, watts in (("a", 100), ("b", 200)):
        write(folder, [record(at, {"0": watts}, {"0": {"7" + host: 0.5}}) for at in range(5)], host + ".json")
    done = Ran(folder, "a.json b.json", "begin x +0\nend x +4\n", "--json")
    same(0, done.status, done)
    found = done.parts()
    all_near({"7a": 400, "idle": 0}, found["a:0"])
    all_near({"7b": 800, "idle": 0}, found["b:0"])


def test_formats(folder):
    table = Ran(folder, EXAMPLE, WHOLE).out.splitlines()
    same("all    0   all          10.000     2400.000   240.00   100.0", table[1])
    same("           102          10.000      450.000    45.00    18.8", table[3])
    rows = list(csv.DictReader(io.StringIO(Ran(folder, EXAMPLE, WHOLE, "--format", "csv").out)))
    same([("0", "all", "2400.0", "240.0", "1.0", ""), ("0", "101", "1350.0", "135.0", "0.5625", "500.0")],
         [tuple(row[key] for key in ("gpu", "process", "energy_j", "mean_power_w", "share", "idle_power_j"))
          for row in rows[:2]])
    done = Ran(folder, EXAMPLE, WHOLE, "--format", "zeus")
    same([2, "aggregate-power: error: --per-process: --format zeus has no form for it\n"], [done.status, done.err])


# ---- Random recordings

def random_recording(random_, gpus):
    """Lines, and segments of (second, watts by GPU, use by process by GPU or None)."""
    at, segments, lines = 0.0, [], []
    pids = [str(random_.randrange(1, 99999)) for _ in range(6)]
    for _ in range(random_.randrange(1, 4)):
        segment = []
        for _ in range(random_.randrange(2, 12)):
            watts = {gpu: random_.choice([0.5, 60.0, random_.uniform(20, 700)]) for gpu in gpus}
            # Processes appear and vanish; some use nothing; some GPUs are not listed.
            uses = {gpu: {pid: random_.choice([0.0, random_.random()]) for pid in random_.sample(pids, random_.randrange(5))}
                    for gpu in gpus if random_.random() > 0.1}
            segment.append((round(at, 3), watts, uses))
            lines.append(record(round(at, 3), watts, uses))
            at += random_.uniform(0.05, 2.5)
        segments.append(segment)
        lines.append(END)
        at += 5
    return lines, segments


def modelled(segment, gpu, idle_w, start, end):
    """By sums over the periods between records, cut at the window."""
    parts = {"idle": 0.0, "unknown": 0.0}
    for (left_s, left, _), (right_s, right, uses) in zip(segment, segment[1:]):
        from_s, to_s = max(left_s, start), min(right_s, end)
        if from_s >= to_s:
            continue
        slope = (right[gpu] - left[gpu]) / (right_s - left_s)
        middle_w = left[gpu] + slope * ((from_s + to_s) / 2 - left_s)
        energy = middle_w * (to_s - from_s)
        used = {pid: use for pid, use in uses[gpu].items() if use > 0} if gpu in uses else None
        if not used:
            parts["unknown" if used is None else "idle"] += energy
            continue
        idle = min(energy, idle_w * (to_s - from_s))
        for pid, use in used.items():
            parts[pid] = parts.get(pid, 0) + (energy - idle) * use / sum(used.values()) + idle / len(used)
    return parts


def test_random_recordings(folder):
    seed = int(os.environ.get("SEED", "20260425"))
    random_ = random.Random(seed)
    for number in range(40):
        gpus = ["0", "1", "2"][:random_.randrange(1, 4)]
        lines, segments = random_recording(random_, gpus)
        write(folder, lines)
        windows, wanted = [], []
        for segment in segments:
            first, last = segment[0][0], segment[-1][0]
            start, end = sorted(random_.uniform(first, last) for _ in range(2))
            for edges in ((first, last), (round(start, 4), round(end, 4))):
                if edges[0] < edges[1] and first <= edges[0] and edges[1] <= last:
                    wanted.append((segment, *edges))
                    windows.append(f"begin w {START + edges[0]:.4f}\nend w {START + edges[1]:.4f}\n")
        idle_w = random_.choice([None, 0, 60, 5000])
        words = ["--json"] + ([] if idle_w is None else ["--idle-power", idle_w])
        done = Ran(folder, "power_metrics.json", "".join(windows), *words)
        same(0, done.status, f"seed {seed}, recording {number}: {done}")
        for window, (segment, start, end) in zip(json.loads(done.out)["windows"], wanted):
            for gpu in window["gpus"]:
                what = f"seed {seed}, recording {number}, {window['name']} {start} to {end}, GPU {gpu['gpu']}"
                found = {part["process"]: part["energy_j"] for part in gpu["processes"]}
                near(gpu["energy_j"], sum(found.values()), what=what)
                assert all(-1e-9 <= joules <= gpu["energy_j"] * (1 + 1e-12) + 1e-9 for joules in found.values()), what
                least = min(watts[gpu["gpu"]] for each in segments for _, watts, _ in each)
                model = modelled(segment, gpu["gpu"], least if idle_w is None else idle_w, start, end)
                for process in set(model) | set(found):
                    assert math.isclose(model.get(process, 0), found.get(process, 0), rel_tol=1e-5, abs_tol=1e-3), \
                        f"{what}, {process}: expected {model}, got {found}"


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
