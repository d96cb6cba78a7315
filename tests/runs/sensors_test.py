#!/usr/bin/env python3
"""Sensors that were newly characterized, whatever the spelling; a counter that the interval of the power does not hold;
and how late a sensor is.

usage: tests/runs/sensors_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import PROGRAM, near, run_tests, same  # noqa: E402

START = 1777118400  # 2026-04-25T12:00:00Z


def call(folder, *words):
    return subprocess.run([PROGRAM, *map(str, words)], cwd=folder, capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "TZ": "UTC"})


def stamp(at):
    return time.strftime("%Y/%m/%d %H:%M:%S", time.gmtime(START + int(at))) + f".{round(at % 1 * 1000):03d}"


def write(folder, text, name="gpu.csv"):
    (pathlib.Path(folder) / name).write_text(text)


def named(folder, model, watts=lambda at, gpu: 300 + (at * 7 + gpu) % 5 * 1.3):
    """60 s of two GPUs of a model."""
    write(folder, "timestamp, index, name, power.draw [W]\n" +
          "".join(f"{stamp(at + 0.013)}, {gpu}, {model}, {watts(at, gpu):.2f} W\n"
                  for at in range(60) for gpu in range(2)))


def sensor_of(folder, model):
    named(folder, model)
    done = call(folder, "inspect", "gpu.csv", "--sensor")
    return next((line for line in done.stdout.splitlines() if line.startswith("sensor")), done.stderr)


def measure(folder, *words):
    done = call(folder, "measure", "--telemetry", "gpu.csv", "--start", START + 10, "--end", "+40s", "--timezone", "UTC",
                *words, "--json")
    return json.loads(done.stdout)["runs"][0]


def test_b300_is_a_mean_of_1_s(folder):
    for name in ("NVIDIA B300 SXM6 AC", "B300", "b300", "NVIDIA GB300", "NVIDIA GB300 NVL72", "HGX B300",
                 "NVIDIA B300-SXM-288GB", "NVIDIA HGX B300 8-GPU", "B300_SXM6", "GB300_NVL72"):
        sensor = sensor_of(folder, name)
        assert "B300: a reading is the mean power over 1 s every 0.1 s" in sensor, (name, sensor)
    for name in ("NVIDIA B200", "NVIDIA H100 80GB HBM3", "NVIDIA RTX PRO 6000 Blackwell"):
        assert "B300" not in sensor_of(folder, name), name


def test_consumer_rdna3_reads_low(folder):
    """The meter had 1 / 0.855 of the reading of a W7700: the interval holds that, and what the reading says."""
    for name in ("AMD Radeon PRO W7700", "Radeon Pro W7700", "W7700", "AMD Radeon RX 7900 XTX", "RX 7900XT", "RX7900XTX",
                 "AMD Radeon RX 7600", "RX 7800 XT", "Navi 31", "navi33", "AMD Radeon PRO W7900 Dual Slot",
                 "Radeon PRO W7800 48GB", "Radeon RX 7900 GRE", "RX 7700S", "RX 7600M XT", "RX 7900M", "Radeon RX 7400",
                 "Navi 31 [Radeon RX 7900 XT/7900 XTX/7900M]", "AMD Radeon(TM) PRO W7700", "Radeon PRO W7500"):
        sensor = sensor_of(folder, name)
        assert "RDNA3: " in sensor, (name, sensor)
        known = measure(folder, "--uncertainty")["uncertainty"]
        energy = known["total_gpu_energy_j"]
        gain = next(part for part in energy["components"] if part["name"] == "sensor_gain_shared")
        near(0.098, gain["relative"], 0.01, name)
        assert energy["low"] < energy["published"] < energy["published"] / 0.85 < energy["high"], (name, energy)
        assert "rdna3_reads_low" in known["assumptions"], (name, known["assumptions"])
    for name in ("AMD Radeon RX 6800", "AMD Radeon RX 9070 XT", "AMD Instinct MI300X", "AMD Radeon VII"):
        assert "RDNA3" not in sensor_of(folder, name), name


SYSTEM_COLUMNS = ("system_power", "System Power", "SYSTEM_POWER", "node_power", "Node Power (W)", "node_power_w", "npm_power",
                  "NodePower", "systemPower_W", "sys_power", "platform_power", "baseboard_power", "ubb_power",
                  "current_node_power", "total_node_power", "socket_power_system")
SYSTEM_NAMES = ("system", "System", "SYSTEM", "node", "node0", "Node 0", "NODE_0", "sys", "system_0", "platform",
                "baseboard", "UBB", "host", "server", "chassis", "npm", "node-power", "system power", "total_system_power")
TWO_GPUS = 2 * 501 * 40  # 500, 501 and 502 W in turn


def test_the_system_sensor_in_a_column_is_no_gpu(folder):
    """Node 0 shows 3000 W of the system beside two GPUs."""
    for column in SYSTEM_COLUMNS:
        for is_first in (False, True):
            rows = [("timestamp,gpu,{},socket_power" if is_first else "timestamp,gpu,socket_power,{}").format(column)]
            for at in range(60):
                for gpu in range(2):
                    cells = [str(500 + at % 3), "3000" if gpu == 0 or is_first else "N/A"]
                    rows.append(",".join([str(START + at), str(gpu), *(reversed(cells) if is_first else cells)]))
            write(folder, "\n".join(rows) + "\n")
            run = measure(folder)
            same((True, ["0", "1"]), (run["valid"], run["gpu_ids"]), column)
            near(TWO_GPUS, run["total_gpu_energy_j"], 1e-3, column)
        write(folder, f"timestamp,gpu,{column}\n" + "".join(f"{START + at},0,{3000 + at % 3}\n" for at in range(60)))
        same((False, ["power_column_missing"]), (measure(folder)["valid"], measure(folder)["reasons"]), column)


def test_the_system_sensor_in_a_row_is_no_gpu(folder):
    for name in SYSTEM_NAMES:
        rows = ["timestamp,gpu,socket_power"]
        rows += [f"{START + at},{gpu},{3000 if gpu == name else 500 + at % 3}" for at in range(60) for gpu in (0, 1, name)]
        write(folder, "\n".join(rows) + "\n")
        run = measure(folder)
        same((False, ["same_sensor"]), (run["valid"], run["reasons"]), name)
        assert f"GPU {name} is a sensor of the machine" in run["details"] and "--gpus 0,1" in run["details"], run["details"]
        chosen = measure(folder, "--gpus", "0,1")
        near(TWO_GPUS, chosen["total_gpu_energy_j"], 1e-3, name)


def counted(folder, factor):
    """A counter that has so many times the energy of 400 W."""
    write(folder, "timestamp, index, name, power.draw [W], energy_mj\n" +
          "".join(f"{stamp(at / 10 + 0.013)}, 0, NVIDIA H100 80GB HBM3, {400 + at % 3} W, {5e9 + factor * 40100 * at:.0f}\n"
                  for at in range(600)))
    write(folder, f"name,start,end\nall,{START + 10},{START + 50}\n", "windows.csv")


def test_windows_name_a_counter_that_the_interval_does_not_hold(folder):
    for factor, is_told in ((1.0, False), (1.03, True), (0.97, True)):
        counted(folder, factor)
        done = call(folder, "windows", "--telemetry", "gpu.csv", "--windows", "windows.csv", "--uncertainty", "--timezone", "UTC")
        same(0, done.returncode, done.stderr)
        told = "its counter disagrees with the power by more than the interval" in done.stderr
        same(is_told, told, (factor, done.stderr))
        if is_told:
            assert f"all: the counter is {'+' if factor > 1 else '-'}" in done.stderr, done.stderr


def test_attribute_names_a_counter_that_the_interval_does_not_hold(folder):
    write(folder, json.dumps([{"ph": "X", "cat": "kernel", "name": f"k{i % 2}", "ts": (START + 10 + 4 * i) * 1e6,
                               "dur": 4e6, "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7}} for i in range(10)]),
          "trace.json")
    for factor, is_told in ((1.0, False), (1.03, True), (0.97, True)):
        counted(folder, factor)
        for words in ((), ("--uncertainty",)):
            done = call(folder, "attribute", "--trace", "trace.json", "--telemetry", "gpu.csv", "--timezone", "UTC", *words)
            same(0, done.returncode, done.stderr)
            told = "its counter is" in done.stderr and "J off its power, whose interval is" in done.stderr
            same(is_told and bool(words), told, (factor, words, done.stderr))


def test_the_record_states_how_late_the_sensor_is(folder):
    """500 W begin and end with the window of 40 s, between 100 W. A mean over 1 s that is refreshed each 0.1 s is
    15 ms + (1 s + 0.1 s) / 2 late: the trapezoid rule misses 400 W for so long at the start, and the end is idle's. The
    estimate has it, and the number of the contract stays."""
    def watts(at, gpu):
        share = max(0, min(at + 0.013 - 0.065, 50) - max(at + 0.013 - 1.065, 10))
        own = 1.01 if gpu == 0 else 0.99  # of its power is what each draws
        return own * (100 + 400 * share) + (round(at * 10) % 7 - 3) * 0.1 + 0.3 * gpu * (round(at * 10) % 3 - 1)
    write(folder, "timestamp, index, name, power.draw [W]\n" +
          "".join(f"{stamp(at / 10 + 0.013)}, {gpu}, NVIDIA H100 80GB HBM3, {watts(at / 10, gpu):.2f} W\n"
                  for at in range(620) for gpu in range(2)))
    plain = measure(folder)
    run = measure(folder, "--uncertainty")
    same(plain["total_gpu_energy_j"], run["total_gpu_energy_j"])
    energy = run["uncertainty"]["total_gpu_energy_j"]
    near(2 * 400 * 0.565, 2 * 500 * 40 - energy["published"], 0.05, "the trapezoid rule")
    near(2 * 500 * 40, energy["estimate"], 0.002, "the estimate")
    corrections = {one["name"]: one["joules"] for one in run["uncertainty"]["corrections"]}
    near(energy["estimate"], energy["published"] + sum(corrections.values()), 1e-9, "corrections")
    # Readings rise and fall over 1 s. 0.565 s of the fall's readings have 0.5 s of it, and so have the rise's: moving
    # them adds what flowed at the end, less what was counted at the start; the averaging takes 400 W for 1/8 s at each edge.
    near(2 * ((500 * 0.565 - 400 / 8) - (100 * 0.565 + 400 / 8)), corrections["half_window_shift"], 0.05, "shift")
    near(2 * 2 * 400 / 8, corrections["edges_deconvolved"], 0.15, "edges")


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
