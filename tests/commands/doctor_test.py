#!/usr/bin/env python3
"""Checks 'aggregate-power doctor' on recordings, and on machines that stand-ins make.

usage: tests/commands/doctor_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import run_tests  # noqa: E402  (beside the folders that share it)

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("AGGREGATE_POWER", str(ROOT / "build" / "aggregate-power"))
GPU = "0, NVIDIA H100 80GB HBM3, 550.54.15, {mode}, {limit}, 700.00, 70.00"


def doctor(folder, *words, path=None, status=0):
    done = subprocess.run([PROGRAM, "doctor", *words, "--json"], cwd=folder, capture_output=True, text=True,
                          env={"PATH": path or "/nowhere", "TZ": "UTC"}, timeout=60)
    assert done.returncode == status, f"status {done.returncode}: {done.stdout}{done.stderr}"
    answer = json.loads(done.stdout)
    assert answer["holds"] == (status == 0), answer
    return {check["check"]: check for check in answer["checks"]}


def same(expected, found):
    assert expected == found, f"expected {expected!r}, found {found!r}"


def recording(folder, rows, power="power.draw.instant [W]"):
    lines = [f"timestamp, index, {power}"]
    lines += [f"2026-09-08T07:20:{second:06.3f}+00:00, {gpu}, {watts} W" for second, gpu, watts in rows]
    (folder / "gpu_metrics.csv").write_text("\n".join(lines) + "\n")


def tool(folder, name, text):
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / name).write_text("#!/bin/sh\n" + text)
    (folder / "bin" / name).chmod(0o755)
    return f"{folder / 'bin'}:/usr/bin:/bin"


def test_a_recording_of_two_levels(folder):
    """One GPU, 20 s at 88 W and 40 s at 488 W: 400/488 of the gain counts, and no reading deviates."""
    recording(folder, [(second, 0, 88 if second < 20 else 488) for second in range(60)])
    checks = doctor(folder, "gpu_metrics.csv", "--window-s", "100")
    same("88.0 W each, 488.0 W under load", checks["idle level"]["found"])
    same("every 1.000 s, longest gap 1.000 s", checks["sampling"]["found"])
    same(("ok", "the stamps state their offset"),
         (checks["clock and zone"]["status"], checks["clock and zone"]["found"]))
    above = 400 / 488
    parts = [0.022 * above, 0.029 * above, 4.9 / 488, 0, above * 1 / 100 / math.sqrt(6)]
    width = 196 * math.sqrt(sum(part ** 2 for part in parts))
    same(f"95 %: energy of 100 s +- {width:.1f} %, mostly gain", checks["expected interval"]["found"])


def test_a_gap_is_a_problem(folder):
    recording(folder, [(second, 0, 400) for second in (0, 1, 2, 7, 8)])
    checks = doctor(folder, "gpu_metrics.csv", status=1)
    same("problem", checks["sampling"]["status"])
    same("every 1.000 s, longest gap 5.000 s", checks["sampling"]["found"])


def test_phases_shorter_than_the_sensor_sees_are_advised_against(folder):
    recording(folder, [(second, 0, 400 + second) for second in range(30)], "power.draw.average [W]")
    same("advice", doctor(folder, "gpu_metrics.csv", "--shortest-phase", "1.5")["averaging"]["status"])
    same("ok", doctor(folder, "gpu_metrics.csv", "--shortest-phase", "2.5")["averaging"]["status"])


def test_what_is_no_recording_is_a_problem(folder):
    (folder / "x.csv").write_text("a,b\n1,2\n")
    same(["recording"], list(doctor(folder, "x.csv", status=1)))
    (folder / "empty.csv").write_text("")
    same(["recording"], list(doctor(folder, "empty.csv", status=1)))


def test_what_cannot_be_opened_is_wrong_use(folder):
    (folder / "gpu_metrics.csv").write_text("")
    (folder / "folder").mkdir()
    (folder / "loop.csv").symlink_to("loop.csv")
    for name, why in [("gone.csv", "gone.csv: cannot open: No such file or directory"),
                      ("folder", "folder: is a folder"),
                      ("gpu_metrics.csv/x", "gpu_metrics.csv/x: cannot open: Not a directory"),
                      ("loop.csv", "loop.csv: cannot open: Too many levels of symbolic links"),
                      ("gpu_metrcs.csv", "gpu_metrcs.csv does not exist: did you mean gpu_metrics.csv?")]:
        done = subprocess.run([PROGRAM, "doctor", name], cwd=folder, capture_output=True, text=True, timeout=60)
        same((2, "", f"aggregate-power: error: {why}\n"), (done.returncode, done.stdout, done.stderr))


def test_a_machine_without_tools(folder):
    same("problem", doctor(folder, status=1)["recorder"]["status"])


def test_a_machine_as_it_should_be(folder):
    path = tool(folder, "nvidia-smi", f"echo '{GPU.format(mode='Enabled', limit='700.00')}'\n")
    checks = doctor(folder, path=path)
    same("1 x NVIDIA H100 80GB HBM3, driver 550.54.15", checks["GPUs"]["found"])
    same(["ok", "ok", "ok"], [checks[key]["status"] for key in ("nvidia-smi", "persistence mode", "power limit")])
    same("70.0 W each; this is the idle level if nothing runs", checks["power now"]["found"])


def test_persistence_mode_and_a_lower_limit_are_advised_against(folder):
    path = tool(folder, "nvidia-smi", f"echo '{GPU.format(mode='Disabled', limit='500.00')}'\n")
    checks = doctor(folder, path=path)
    same(("advice", "off on GPU 0"), (checks["persistence mode"]["status"], checks["persistence mode"]["found"]))
    same(("advice", "below the default of 700.00 W on GPU 0"),
         (checks["power limit"]["status"], checks["power limit"]["found"]))


def test_a_tool_that_fails_or_hangs_is_a_problem(folder):
    path = tool(folder, "nvidia-smi", "trap '' TERM\nsleep 100 &\nwhile :; do sleep 1; done\n")
    tool(folder, "amd-smi", "exit 9\n")
    begun = time.monotonic()
    checks = doctor(folder, path=path, status=1)
    assert 9 < time.monotonic() - begun < 30, "it is not bounded"
    same("no answer within 10 s", checks["nvidia-smi"]["found"])
    same("exit status 9", checks["amd-smi"]["found"])


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
