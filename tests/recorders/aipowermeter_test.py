#!/usr/bin/env python3
"""Recordings of AIPowerMeter, and the files beside them, through the built program.

The energies of the public examples are those of golden.md, and a few lines here that integrate them
again. The rest is watts times seconds, with small numbers.

usage: tests/recorders/aipowermeter_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import datetime
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import PROGRAM, ROOT, load_result, run_tests, same  # noqa: E402

READ = ROOT / "testdata" / "telemetry" / "aipowermeter"
WRITTEN = ROOT / "testdata" / "telemetry-written" / "aipowermeter"
START = 1777118400  # 2026-04-25T12:00:00Z
END = json.dumps("END OF RECORDING SEGMENT")
METER_HEADER = "#timestamp,#frame_is_ok,#U1,#U2,#U3,#current1,#activepow1,#current2,#activepow2"


def near(wanted, found, most=1e-6, what=""):
    assert abs(wanted - found) <= most, f"{what}\n    expected {wanted!r}\n    got      {found!r}"


class Ran:
    def __init__(self, folder, *words):
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"], "TZ": "UTC"})
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def report(self):
        return json.loads(self.out)

    def __repr__(self):
        return f"status {self.status}\n{self.out}{self.err}"


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))


def inspected(folder, file, *words):
    return Ran(folder, "inspect", file, "--json", "--timezone", "UTC", *words)


def record(second, gpus=None, processes=None, cpu=None):
    """A line of the recording. `gpus`: watts by GPU; `processes`: use by process, by GPU."""
    metrics = {"cpu": cpu or {}}
    if gpus is not None:
        metrics["gpu"] = {"per_gpu_power_draw": gpus}
        if processes is not None:
            metrics["gpu"]["per_gpu_per_pid_utilization_absolute"] = processes
    date = datetime.datetime.fromtimestamp(START + second, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")
    return json.dumps({"date": date, "metrics": metrics})


def write(folder, *lines, name="power_metrics.json"):
    (folder / name).write_text("\n".join(lines) + "\n")
    return name


def sensors(report):
    return {sensor["name"]: sensor for sensor in report["sensors"]["energies"]}


# ---- Sensors

def integrate(file, value_of):
    """Trapezoid and held back, of a public example."""
    segments = [[]]
    for line in file.read_text().splitlines():
        text = json.loads(line)
        if isinstance(text, str):
            segments.append([])
        else:
            at = datetime.datetime.fromisoformat(text["date"] + "+00:00").timestamp()
            segments[-1].append((at, value_of(text["metrics"])))
    pairs = [pair for segment in segments for pair in zip(segment, segment[1:])]
    seconds = [right[0] - left[0] for left, right in pairs]
    return (sum(s * (left[1] + right[1]) / 2 for s, (left, right) in zip(seconds, pairs)),
            sum(s * right[1] for s, (_, right) in zip(seconds, pairs)), sum(seconds),
            max(watts for segment in segments for _, watts in segment))


def test_public_examples(folder):
    for name, sensor, golden_j, value_of in (
            ("two-gpus-psys-sentinel.json", "gpu 0", 323.783, lambda m: m["gpu"]["per_gpu_power_draw"]["0"]),
            ("two-gpus-psys-sentinel.json", "gpu 1", 1199.647, lambda m: m["gpu"]["per_gpu_power_draw"]["1"]),
            ("two-gpus-psys-sentinel.json", "intel", 1141.262, lambda m: m["cpu"]["intel_power"]),
            ("cpu-only-2021.json", "cpu", 493.495, lambda m: m["cpu"]["total_cpu_power"])):
        found = sensors(inspected(folder, READ / name).report)[sensor]
        energy_j, held_j, duration_s, max_w = integrate(READ / name, value_of)
        near(golden_j, found["energy_j"], 6e-4, sensor)
        near(energy_j, found["energy_j"])
        near(held_j, found["held_back_j"])
        near(duration_s, found["duration_s"])
        near(energy_j / duration_s, found["mean_w"])
        near(energy_j / 3.6e6, found["energy_kwh"], 1e-12)
        same(max_w, found["max_w"])
    for name, seconds in (("two-segments-cpu-only.json", 4.381 + 4.446), ("cpu-only-2021.json", 24.127)):
        near(seconds, sensors(inspected(folder, READ / name).report)["intel"]["duration_s"], 1.1e-3)


def test_held_back_by_hand(folder):
    # Two segments: 10 s to 300 W and 20 s to 100 W; then one reading alone; then 5 s to 80 W.
    lines = [record(at, cpu={"intel_power": watts}) if at is not None else END for at, watts in (
        (0, 100), (10, 300), (30, 100), (None, 0), (40, 999), (None, 0), (50, 40), (55, 80))]
    done = inspected(folder, write(folder, *lines))
    found = sensors(done.report)["intel"]
    same([10 * 200 + 20 * 200, 0.0, 5 * 60], found["segments_j"])
    near(6300, found["energy_j"])
    near(10 * 300 + 20 * 100 + 5 * 80, found["held_back_j"])
    near(35, found["duration_s"])
    same([START, START + 55], [found["first_unix"], found["last_unix"]])
    near(180, found["mean_w"])
    near(999, found["max_w"])
    text = Ran(folder, "inspect", "power_metrics.json", "--timezone", "UTC").out
    assert "intel             6300.000     5400.000   0.001750    35.000   180.00   999.00\n" in text, text
    assert "intel             6000.000         0.000       300.000\n" in text, text
    alone = inspected(folder, write(folder, record(0, cpu={"intel_power": 70})))
    same([0.0, 0.0, None], [sensors(alone.report)["intel"][key] for key in ("held_back_j", "duration_s", "mean_w")])


# ---- What is beside a recording

def test_all_that_is_beside(folder):
    # GPUs 2400 J + 500 J, CPU 600 J, memory 100 J, in 10 s; 4 inferences of 7 s together; 450 W at the wall.
    beside = inspected(folder, WRITTEN / "inference" / "power_metrics.json").report["beside"]
    same({"inferences": 4, "mean_latency_s": 1.75, "gpu_energy_j": 2900.0, "cpu_energy_j": 600.0,
          "joules_per_query": 875.0, "joules_per_inference_running": 350 * 1.75}, beside["latency"])
    same({"parameters": 61100840, "macs": 3.5e9, "joules_per_gmac": 3500 / 14}, beside["model"])
    same({"gpu_energy_j": 2900.0, "cpu_energy_j": 600.0, "dram_energy_j": 100.0, "sum_energy_j": 3600.0,
          "common_s": 10.0, "blank_frames": 2, "sockets": [{"socket": "socket1", "energy_j": 4500.0, "ratio": 1.25}]},
         beside["wall"])
    # Each energy held back: 100 W for 2 s and 300 W for 8 s.
    near(2600, sensors(inspected(folder, WRITTEN / "inference" / "power_metrics.json").report)["gpu 0"]["held_back_j"])


def test_nothing_is_beside(folder):
    shutil.copy(WRITTEN / "inference" / "power_metrics.json", folder)
    assert "beside" not in inspected(folder, "power_metrics.json").report


def test_latencies_without_a_cpu(folder):
    write(folder, record(0, {"0": 100}), record(10, {"0": 100}))
    (folder / "latency.csv").write_text("5e-1\n1.5\n\n")
    latency = inspected(folder, "power_metrics.json").report["beside"]["latency"]
    same([2, 1.0, 1000.0, None, 500.0, 100.0], [latency[key] for key in (
        "inferences", "mean_latency_s", "gpu_energy_j", "cpu_energy_j", "joules_per_query",
        "joules_per_inference_running")])


def test_a_model_without_latencies(folder):
    write(folder, record(0, {"0": 100}), record(10, {"0": 100}))
    (folder / "model_summary.json").write_text('{"total_params": 7, "total_mult_adds": 2000000000}')
    same({"parameters": 7, "macs": 2e9, "joules_per_gmac": None},
         inspected(folder, "power_metrics.json").report["beside"]["model"])


def test_what_cannot_be_used_is_named(folder):
    write(folder, record(0, {"0": 100}), record(10, {"0": 100}))
    (folder / "latency.csv").write_text("0.5\nfast\n")
    (folder / "model_summary.json").write_text("{}")
    (folder / "omegawatt.csv").write_text(METER_HEADER + "\n" + "".join(
        f"{START + 100 + at},true,230,0,0,1,{watts},0,0\n" for at, watts in ((0, 100), (1, 100))))
    done = inspected(folder, "power_metrics.json")
    same(0, done.status, done)
    same([("latency.csv", "line 2: 'fast' is not a number of seconds"),
          ("model_summary.json", "it has no number of operations, 'total_mult_adds'"),
          ("omegawatt.csv", "it has no time in common with the recording; see --timezone")],
         [(file["file"], file["reason"]) for file in done.report["beside"]["not_used"]])


def meter(folder, rows, name="omegawatt.csv", end="\n"):
    """Rows of (seconds, ok, socket 1, socket 2)."""
    lines = [METER_HEADER]
    for at, is_ok, first, second in rows:
        lines.append(f"{START + at:.9f}," + (f"true,230.0,0.0,0.0,1.0,{first},1.0,{second}" if is_ok else "false,,,,,,,"))
    (folder / name).write_text("\n".join(lines) + end)
    return name


def test_the_wall_is_compared_in_common_time_only(folder):
    # The recording has 0 to 4 s and 6 to 10 s, at 100 W; the meter begins at 2 s: 2 s + 4 s in common.
    write(folder, *(record(at, {"0": 100}) for at in (0, 2, 4)), END, *(record(at, {"0": 100}) for at in (6, 8, 10)))
    meter(folder, [(at / 2, True, 150, 120) for at in range(4, 31)])
    wall = inspected(folder, "power_metrics.json").report["beside"]["wall"]
    near(6, wall["common_s"])
    near(600, wall["gpu_energy_j"])
    same([("socket1", 900.0, 1.5), ("socket2", 720.0, 1.2)],
         [(socket["socket"], socket["energy_j"], socket["ratio"]) for socket in wall["sockets"]])
    # A stretch of bad frames of more than 3 s is not interpolated.
    meter(folder, [(at / 2, not 13 <= at <= 19, 150, 120) for at in range(4, 31)])
    wall = inspected(folder, "power_metrics.json").report["beside"]["wall"]
    same(7, wall["blank_frames"])
    same(["4.000 s between two readings, at most 3 s"] * 2, [socket["reason"] for socket in wall["sockets"]])


# ---- The wall meter as a recording

def test_the_meter_is_read(folder):
    found = inspected(folder, WRITTEN / "inference" / "omegawatt.csv").report
    same(("omegawatt", 27, ["socket1", "socket2"]),
         (found["schema"], found["rows"], [device["id"] for device in found["devices"]]))
    same({"no_reading": 2, "preamble": 1, "torn_tail": 1}, {key: n for key, n in found["skipped"].items() if n})
    near(START - 0.5, found["devices"][0]["first_unix"])
    near(START + 12, found["devices"][0]["last_unix"])
    meter(folder, [(at, True, 100 + 10 * at, 50) for at in range(11)])
    (folder / "w.txt").write_text("begin a +2.5\nend a +7.5\n")
    done = Ran(folder, "windows", "--telemetry", "omegawatt.csv", "--windows", "w.txt", "--json")
    same(0, done.status, done)
    same([750.0, 250.0], [gpu["energy_j"] for gpu in done.report["windows"][0]["gpus"]])
    same(["socket1", "socket2"], done.report["gpus"])


def test_an_odd_meter_file(folder):
    rows = [(at, True, 100, 100) for at in range(3)]
    # Cut off inside a number: 10 W instead of 100 W.
    text = (folder / meter(folder, rows)).read_text()
    (folder / "cut.csv").write_text(text[:-2])
    found = inspected(folder, "cut.csv").report
    same((2, 1), (found["rows"], found["skipped"]["torn_tail"]))
    same(100.0, found["devices"][1]["min_w"])
    # A second header, a blank frame without its commas, and a value that is not there.
    (folder / "odd.csv").write_text(text + METER_HEADER + f"\n{START + 3},false\n{START + 4},true,230,0,0,1,100,1,\n")
    found = inspected(folder, "odd.csv").report
    same((1, 2), (found["skipped"]["repeated_header"], found["skipped"]["no_reading"]))
    same([4, 3], [device["samples"] for device in found["devices"]])


def test_sockets_are_not_gpus(folder):
    write(folder, *(record(at, {"0": 100}) for at in range(11)))
    meter(folder, [(at, True, 100, 50) for at in range(11)])
    (folder / "w.txt").write_text("begin a +2\nend a +7\n")
    done = Ran(folder, "windows", "--telemetry", "power_metrics.json", "omegawatt.csv", "--windows", "w.txt",
               "--timezone", "UTC")
    same([2, ""], [done.status, done.out])
    same("aggregate-power: error: power_metrics.json has power of the scope 'gpu' and omegawatt.csv of the scope "
         "'wall': they are never added; measure each alone\n", done.err)
    (folder / "run.json").write_text(json.dumps(load_result(START + 2, START + 7)))
    (folder / "agg.json").write_text("{}")
    for words in (("--expected-num-gpus", 2), ()):
        done = Ran(folder, "--csv", "omegawatt.csv", "--bench-result", "run.json", "--agg-result", "agg.json", *words)
        assert "it is the power of whole machines at the wall, and of no GPU" in done.err, done
        assert "avg_power_w" not in (folder / "agg.json").read_text(), words


# ---- Limits

def test_many_segments_and_sensors(folder):
    # In segment i GPU i alone: 100 W for 10 s, so 1000 J each; 1200 segments of 1201 sensors are too many to show.
    def segments(count):
        return [line for i in range(count)
                for line in (record(20 * i, {str(i): 100}), record(20 * i + 10, {str(i): 100}), END)]
    write(folder, *segments(1200))
    found = inspected(folder, "power_metrics.json").report["sensors"]["energies"]
    same({"gpu": 1200 * 1000.0, **{f"gpu {i}": 1000.0 for i in range(1200)}},
         {sensor["name"]: sensor["energy_j"] for sensor in found if not sensor["name"].startswith("attr")})
    same([[]] * len(found), [sensor["segments_j"] for sensor in found])
    write(folder, *segments(3))
    found = inspected(folder, "power_metrics.json").report["sensors"]["energies"]
    same([[1000.0] * 3, [1000.0, 0.0, 0.0], [0.0, 1000.0, 0.0], [0.0, 0.0, 1000.0]],
         [sensor["segments_j"] for sensor in found if not sensor["name"].startswith("attr")])
    write(folder, *segments(4100))
    done = Ran(folder, "inspect", "power_metrics.json", "--timezone", "UTC")
    assert "more than 4096 sensors: no machine has so many GPUs" in str(done), done


# ---- Windows

def test_a_short_pause_is_not_covered(folder):
    # 100 W throughout; stopped for 2 s, which is less than the longest gap allowed.
    write(folder, *(record(at, {"0": 100}) for at in (0, 2, 4)), END, *(record(at, {"0": 100}) for at in (6, 8, 10)))
    (folder / "w.txt").write_text("begin a +1\nend a +9\nbegin b +1\nend b +4\nbegin c +6\nend c +9\n")
    done = Ran(folder, "windows", "--telemetry", "power_metrics.json", "--windows", "w.txt", "--timezone", "UTC", "--json")
    same([1, [None, 300.0, 300.0]], [done.status, [window["energy_j"] for window in done.report["windows"]]])
    same("GPU 0: the recorder was stopped for a while inside the window", done.report["windows"][0]["reason"])


def test_metrics_and_processes(folder):
    # Two processes for 4 s; the second is there from 2 s on. CPU: 10 W, 10 W, 10 W and -, 20 W, 40 W.
    lines = []
    for at, second in ((0, None), (2, 20.0), (4, 40.0)):
        pids = {"7": 10.0} | ({"8": second} if second else {})
        line = json.loads(record(at, {"0": 100}, cpu={
            "per_process_cpu_power": pids, "total_cpu_power": sum(pids.values()) + 5,
            "per_process_mem_use_abs": {pid: 1000 for pid in pids}, "per_process_mem_use_uss": {"7": 800 + at},
            "per_process_dram_power": {"7": 1.0}}))
        line["metrics"]["gpu"]["per_gpu_attributable_mem_use"] = {"0": {"7": 1 << 20}}
        lines.append(json.dumps(line))
    write(folder, *lines)
    (folder / "results_exp.json").write_text(json.dumps([{"end_training_epoch": "2026-04-25 12:00:04", "accuracy": 0.5}]))
    report = inspected(folder, "power_metrics.json", "--per-process").report
    same({"cpu": ["per_process_cpu_power", "total_cpu_power", "per_process_mem_use_abs", "per_process_mem_use_uss",
                  "per_process_dram_power"],
          "gpu": ["per_gpu_power_draw", "per_gpu_attributable_mem_use"], "experiments": ["accuracy"]}, report["metrics"])
    found = {(use["quantity"], use["process"]): use for use in report["processes"]}
    # 7: 10 W * 4 s. 8: 0 to 20 W in 2 s, then 20 to 40 W in 2 s: 20 J + 60 J.
    same([40.0, 80.0, 120.0], [found["CPU power", process]["energy_j"] for process in ("7", "8", "all")])
    same([4.0, None], [found["DRAM power", "7"]["energy_j"], found["memory (PSS)", "7"]["energy_j"]])
    same([802.0, 804.0], [found["memory (USS)", "7"][key] for key in ("mean", "max")])
    same([(1000 + 2000 + 2000) / 3, 2000.0], [found["memory (PSS)", "all"][key] for key in ("mean", "max")])
    same([1 << 20, "0"], [found["GPU memory", "7"]["max"], found["GPU memory", "7"]["gpu"]])
    # In the last 2 s: 20 J, 60 J, and of 35 W to 55 W what no process used, 5 W.
    (folder / "w.txt").write_text("begin end +2\nend end +4\n")
    done = Ran(folder, "windows", "--telemetry", "power_metrics.json", "--windows", "w.txt", "--timezone", "UTC",
               "--per-process", "--json")
    same(["0", "cpu", "dram"], done.report["gpus"], repr(done))
    cpu, dram = done.report["windows"][0]["gpus"][1:]
    same([90.0, [("7", 20.0), ("8", 60.0), ("other", 10.0)]],
         [cpu["energy_j"], [(part["process"], part["energy_j"]) for part in cpu["processes"]]])
    same([2.0, [("7", 2.0), ("other", 0.0)]],
         [dram["energy_j"], [(part["process"], part["energy_j"]) for part in dram["processes"]]])


def test_many_short_processes_take_no_memory(folder):
    """Two records of 8,000 have each process, at 10 W, and those before and after say 0 W: 10 J each time,
    or half at an end."""
    lines = [record(at, {"0": 100}, cpu={"per_process_cpu_power": {str(at % 4000): 10.0}, "total_cpu_power": 10.0})
             for at in range(8000)]
    write(folder, *lines)
    (folder / "w.txt").write_text("begin end +100\nend end +200\n")
    for words in (("inspect", "power_metrics.json", "--per-process"),
                  ("windows", "--telemetry", "power_metrics.json", "--windows", "w.txt", "--per-process")):
        done = subprocess.run([PROGRAM, *words, "--timezone", "UTC", "--json"], cwd=folder, capture_output=True,
                              text=True, check=False, preexec_fn=limit_memory)
        report = json.loads(done.stdout)
        if words[0] == "inspect":
            found = {use["process"]: use["energy_j"] for use in report["processes"]}
            same([15.0, 20.0, 20.0, 15.0, 79990.0], [found[name] for name in ("0", "1", "2000", "3999", "all")])
        else:
            cpu = report["windows"][0]["gpus"][1]
            same([1000.0, 101], [cpu["energy_j"], sum(part["energy_j"] > 0 for part in cpu["processes"])])


def test_metrics_without_limit_are_refused(folder):
    write(folder, record(0, cpu={f"metric_{number}": {"7": 1} for number in range(300)}))
    done = inspected(folder, "power_metrics.json", "--per-process")
    assert "more than 256 metrics" in done.err, repr(done)


def test_other_recordings_have_no_processes(folder):
    (folder / "gpus.csv").write_text("timestamp,index,power_w\n1777118400,0,100\n1777118401,0,100\n")
    done = inspected(folder, "gpus.csv", "--per-process")
    same(1, done.status)
    assert "only a recording of AIPowerMeter" in done.err, repr(done)


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
