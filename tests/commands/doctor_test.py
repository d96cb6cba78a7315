#!/usr/bin/env python3
"""Checks 'aggregate-power doctor' on recordings, and on machines that stand-ins make.

usage: tests/commands/doctor_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import math
import random
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import PROGRAM, ROOT, load_result, run_tests  # noqa: E402

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


def test_implausible_readings_are_told(folder):
    """By doctor, and by measure, whose number, where it is accepted, is a trapezoid over all readings."""
    load = load_result(1788852010, 1788852050)
    (folder / "run.json").write_text(json.dumps(load))
    at = "at 1788852030.000 (2026-09-08T07:20:30.000Z)"
    for odd_w, gain_j, found, warning in (
            (300, 0, None, None),
            (99999, 99699, f"1 far above all others; GPU 1; the first: GPU 1 reads 99999 W {at}",
             f"GPU 1 reads 99999 W {at}, more than any draws; the energy includes it"),
            (0, -300, f"1 at 0 W between others; GPU 1; the first: GPU 1 reads 0 W {at}",
             "GPU 1 reads 0 W once between readings above 15 W; the energy includes that")):
        recording(folder, [(second, gpu, odd_w if (second, gpu) == (30, 1) else 300 + second % 2)
                           for second in range(60) for gpu in (0, 1)])
        check = doctor(folder, "gpu_metrics.csv")["readings"]
        same(("ok", "none is implausible") if found is None else ("advice", found), (check["status"], check["found"]))
        words = [PROGRAM, "measure", "run.json", "gpu_metrics.csv", "--json", "--accept", "implausible_power"]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env={"PATH": "/nowhere", "TZ": "UTC"},
                              timeout=60)
        run = json.loads(done.stdout)["runs"][0]
        same((True, 2 * 40 * 300.5 + gain_j), (run["valid"], run["total_gpu_energy_j"]))
        told = [text for text in run["warnings"] if "implausible_readings" in text]
        same([] if warning is None else [f"gpu_metrics.csv: implausible_readings: {warning}"], told)


def test_readings_that_no_sensor_can_have(folder):
    recording(folder, [(second, 0, "1e308" if second in (30, 31) else 300) for second in range(60)])
    checks = doctor(folder, "gpu_metrics.csv", status=1)
    same(["recording"], list(checks))
    same("GPU 0 reads 1e+308 W at 1788852030.000 (2026-09-08T07:20:30.000Z)", checks["recording"]["found"])


def test_zeros_of_a_gpu_that_is_off_are_no_lone_ones(folder):
    """Four in a row, and a GPU that reads 0 W throughout."""
    load = load_result(1788852010, 1788852050)
    (folder / "run.json").write_text(json.dumps(load))
    recording(folder, [(second, gpu, 0 if gpu == 1 or 20 <= second < 24 else 300) for second in range(60)
                       for gpu in (0, 1)])
    done = subprocess.run([PROGRAM, "measure", "run.json", "gpu_metrics.csv", "--json", "--accept", "stuck_sensor"],
                          cwd=folder, capture_output=True, text=True, env={"PATH": "/nowhere", "TZ": "UTC"},
                          timeout=60)
    assert "implausible_readings" not in done.stdout, done.stdout
    same(40 * 300 - 4 * 300, json.loads(done.stdout)["runs"][0]["total_gpu_energy_j"])


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
    # NVIDIA's instant power of an unknown board: 25 ms or 100 ms of every second are seen.
    unseen = 0.015 * math.sqrt((0.975 ** 2 + 0.9 ** 2) / 2)
    width = 196 * math.sqrt(sum(part ** 2 for part in (0.022 * above, 0.029 * above, 4.9 / 488, unseen)))
    same(f"95 %: energy of 100 s +- {width:.1f} %, mostly sensor_gain_each; 2 sensors are possible",
         checks["expected interval"]["found"])


def interval_of(folder, *words):
    text = doctor(folder, "gpu_metrics.csv", *words)["expected interval"]["found"]
    return float(text.split("+- ")[1].split(" %")[0]), text


def test_the_expected_interval_is_near_the_measured_one(folder):
    """Two GPUs at 100 W, and for 120 s at 420 W, a wave of 15 W, and noise: what the run then gets."""
    noise = random.Random(7)
    def watts(gpu, t, deviation):
        load = 420 + 15 * math.sin(t * 0.86 + gpu) if 40 <= t < 160 else 100
        return load + noise.gauss(0, deviation)
    for model, power, period, deviation in (
            ("A100-SXM4-80GB", "power.draw [W]", 1, 0), ("A100-SXM4-80GB", "power.draw [W]", 1, 40),
            ("A100-SXM4-80GB", "power.draw [W]", 0.1, 0), ("A100-SXM4-80GB", "power.draw [W]", 0.1, 20),
            ("H100 80GB HBM3", "power.draw [W]", 1, 0), ("H100 80GB HBM3", "power.draw [W]", 0.1, 0),
            ("H100 80GB HBM3", "power.draw.instant [W]", 0.5, 20), ("L40S", "power.draw [W]", 1, 0),
            ("Tesla V100-SXM2-32GB", "power.draw [W]", 0.1, 0), ("Tesla V100-SXM2-32GB", "power.draw [W]", 1, 40)):
        rows = [f"{1788852000.03 + t:.3f}, {gpu}, NVIDIA {model}, {watts(gpu, t, deviation):.2f}"
                for t in (i * period for i in range(round(200 / period))) for gpu in (0, 1)]
        (folder / "gpu_metrics.csv").write_text("\n".join([f"timestamp, index, name, {power}", *rows]) + "\n")
        expected, text = interval_of(folder, "--window-s", "120")
        done = subprocess.run([PROGRAM, "measure", "--start", "1788852040", "--end", "+120s", "--telemetry",
                               "gpu_metrics.csv", "--uncertainty", "--json"], cwd=folder, capture_output=True, text=True,
                              check=True)
        total = json.loads(done.stdout)["runs"][0]["uncertainty"]["total_gpu_energy_j"]
        measured = 196 * total["standard_uncertainty"] / total["estimate"]
        assert abs(expected - measured) < 0.1 * measured, (model, power, period, deviation, text, measured)


def test_a_wide_interval_is_not_ok(folder):
    """The sensor may be off by the same watts, which matter most where little is drawn."""
    for watts, status, advice in (
            (488, "ok", None),
            (20, "advice", "wider than +- 10 %: 'aggregate-power explain sensor_offset' says where that comes from, and what helps")):
        recording(folder, [(second, 0, watts + second % 2) for second in range(60)])
        check = doctor(folder, "gpu_metrics.csv")["expected interval"]
        same((status, advice), (check["status"], check["advice"]))
        same(status == "advice", interval_of(folder)[0] > 10)


def test_one_sample_has_no_refresh(folder):
    recording(folder, [(0, gpu, 400) for gpu in (0, 1)])
    checks = doctor(folder, "gpu_metrics.csv", status=1)
    same(("advice", "not known: one sample of each GPU"), (checks["refresh"]["status"], checks["refresh"]["found"]))


def test_a_part_time_sensor_that_is_asked_often(folder):
    """25 ms of every 100 ms: it is never known what the rest was."""
    rows = [f"{1788852000 + i / 10:.3f}, 0, NVIDIA A100-SXM4-80GB, {488 if i >= 200 else 88}" for i in range(600)]
    (folder / "gpu_metrics.csv").write_text("\n".join(["timestamp, index, name, power.draw [W]", *rows]) + "\n")
    found, text = interval_of(folder, "--window-s", "100")
    above = 400 / 488
    # A load in step may be off by 1.5 % of the time that is not seen.
    parts = [0.022 * above, 0.029 * above, 4.9 / 488, 0.015 * 0.75]
    same(f"{196 * math.sqrt(sum(part ** 2 for part in parts)):.1f}", f"{found}")
    assert "time_between_windows" not in text, text


def test_no_interval_is_promised_of_what_nobody_knows(folder):
    """GH200's instant power is that of the module."""
    rows = [f"{1788852000 + i}, 0, NVIDIA GH200 480GB, 400" for i in range(60)]
    (folder / "gpu_metrics.csv").write_text("\n".join(["timestamp, index, name, power.draw.instant [W]", *rows]) + "\n")
    check = doctor(folder, "gpu_metrics.csv")["expected interval"]
    same(("advice", "none can be promised: what the readings are is not known"), (check["status"], check["found"]))


def sampling(folder, rows, status):
    recording(folder, rows)
    check = doctor(folder, "gpu_metrics.csv", status=status)["sampling"]
    return check["status"], check["found"].split("; ", 1)[1]


def test_the_help_names_every_collector(folder):
    """Of the recordings that are here."""
    page = (ROOT / "src" / "help" / "record.md").read_text().split("`collector` is what asked")[1].split("\n\n")[0]
    named = set(re.findall("`([^`]+)`", page))
    found = set()
    for folder in ("telemetry", "telemetry-written"):
        for path in sorted((ROOT / "testdata" / folder).rglob("*")):
            if path.is_dir() or path.suffix == ".md":
                continue
            done = subprocess.run([PROGRAM, "doctor", path, "--json"], capture_output=True, text=True,
                                  env={"PATH": "/nowhere", "TZ": "UTC"}, timeout=60)
            checks = {check["check"]: check["found"] for check in json.loads(done.stdout or '{"checks": []}')["checks"]}
            if "recorder" in checks:
                found.add(checks["recorder"].split(", ")[0])
    assert len(found) > 12, found
    same(set(), found - named)


def test_a_gap_is_a_problem(folder):
    recording(folder, [(second, 0, 400) for second in (0, 1, 2, 7, 8)])
    checks = doctor(folder, "gpu_metrics.csv", status=1)
    same("problem", checks["sampling"]["status"])
    same("every 1.000 s, longest gap 5.000 s; GPU 0 has no reading for 5.000 s, 2.000 s after the start, under load",
         checks["sampling"]["found"])


def test_a_gap_matters_where_the_load_was(folder):
    """GPU 0 and GPU 1 are idle for 20 s, loaded for 20 s, and idle for 19 s; GPU 1 misses some readings."""
    def rows(*missing):
        return [(second, gpu, 488 if 20 <= second < 40 else 88) for second in range(60) for gpu in (0, 1)
                if not (gpu == 1 and any(a < second < b for a, b in missing))]
    for missing, at, status, place in [
            ((25, 30), 25, "problem", "under load"), ((18, 23), 18, "problem", "where the load begins"),
            ((15, 20), 15, "problem", "where the load begins"), ((39, 44), 39, "problem", "where the load ends"),
            ((36, 41), 36, "problem", "where the load ends"),
            ((5, 10), 5, "advice", "without load"), ((45, 50), 45, "advice", "without load")]:
        same((status, f"GPU 1 has no reading for 5.000 s, {at}.000 s after the start, {place}"),
             sampling(folder, rows(missing), 1 if status == "problem" else 0))
    # The one that matters is named, not the longest.
    same(("problem", "GPU 1 has no reading for 4.000 s, 25.000 s after the start, under load"),
         sampling(folder, rows((5, 15), (25, 29)), 1))


def limit(folder, rows):
    """Of (watts, limit), a second each."""
    lines = ["timestamp, index, power.draw [W], power.limit [W]"]
    lines += [f"{1788852000 + i // 2}, {i % 2}, {watts} W, {limit} W" for i, (watts, limit) in enumerate(rows)]
    (folder / "gpu_metrics.csv").write_text("\n".join(lines) + "\n")
    check = doctor(folder, "gpu_metrics.csv")["power limit"]
    return check["status"], check["found"]


def test_the_power_limit_in_force(folder):
    idle, busy = [(100, 500)] * 40, [(400, 500)] * 40
    same(("ok", "500 W in force; at most 400.0 W, 80.0 % of it"), limit(folder, idle + busy))
    # GPU 1 is near its limit for 12 of 20 seconds, then for 8: less than half of the load.
    for near, capped in ((12, "; GPU 1 capped"), (8, "")):
        rows = idle + [(480 if i % 2 and i < 2 * near else 400, 500) for i in range(40)]
        same(("advice" if capped else "ok", f"500 W in force; at most 480.0 W, 96.0 % of it{capped}"),
             limit(folder, rows))
    same(("ok", "500 to 700 W in force; at most 400.0 W, 80.0 % of it"),
         limit(folder, [(watts, 700 if i % 2 else 500) for i, (watts, _) in enumerate(idle + busy)]))
    same(("advice", "400 to 500 W, changed on GPU 0, 1"), limit(folder, idle + [(300, 400)] * 40))
    recording(folder, [(second, 0, 400) for second in range(30)])
    same(("advice", "not recorded"), tuple(doctor(folder, "gpu_metrics.csv")["power limit"][key]
                                           for key in ("status", "found")))


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


def test_a_folder_of_runs_leads_to_a_recording(folder):
    shutil.copytree(ROOT / "testdata/results", folder / "runs/one")
    for name in (folder / "runs/one").glob("*"):
        if name.name not in ("vllm.json", "gpu_metrics.csv"):
            shutil.rmtree(name) if name.is_dir() else name.unlink()
    done = subprocess.run([PROGRAM, "doctor", "runs"], cwd=folder, capture_output=True, text=True, timeout=60)
    command = "aggregate-power doctor runs/one/gpu_metrics.csv"
    same((2, f"aggregate-power: error: runs: is a folder: name a recording in it, as in '{command}'\n"),
         (done.returncode, done.stderr))


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


def thermal_recording(folder, tail_s):
    """Idle for 30 s, a load of 100 s, and 40 degrees too many that fall with a time constant of 60 s."""
    lines = ["timestamp, index, power.draw [W], temperature.gpu"]
    for second in range(130 + tail_s):
        watts, celsius = (100, 30) if second < 30 else (500 + second % 2, 50 if second < 80 else 70)
        if second >= 130:
            watts, celsius = 100, 30 + 40 * math.exp(-(second - 129) / 60)
        lines.append(f"2026-09-08T07:{second // 60:02}:{second % 60:02}.000+00:00, 0, {watts} W, {celsius:.0f}")
    (folder / "gpu_metrics.csv").write_text("\n".join(lines) + "\n")


def test_how_long_gpus_cool_down(folder):
    thermal_recording(folder, 200)
    check = doctor(folder, "gpu_metrics.csv", "--gpu-model", "H100")["temperature"]
    cooling = re.search(r"^30.0 C before the load, 70.0 C in the second half of the load; cools down in (\d+) s$", check["found"])
    assert cooling and abs(int(cooling[1]) - 60 * math.log(40)) < 8, check
    assert check["status"] == "advice" and check["advice"].startswith("20.0 C more than in the first half"), check
    plan = [PROGRAM, "plan", "--recording", "gpu_metrics.csv", "--gpu-model", "H100", "--detect", "1%", "--json"]
    planned = json.loads(subprocess.run(plan, cwd=folder, capture_output=True, text=True, check=True).stdout)
    # The idle time after a run and before the next one counts: 2 x 17 s.
    assert abs(planned["cool_down_s"] + 2 * planned["idle_s"] - 60 * math.log(40)) < 9, planned
    thermal_recording(folder, 20)
    check = doctor(folder, "gpu_metrics.csv", "--gpu-model", "H100")["temperature"]
    assert check["found"].endswith("cannot be told: the recording ends before the GPUs have cooled down by half"), check


def test_how_many_repeats_a_percent_takes(folder):
    """For a spread of 0.5 %: 4.303 x 0.5 % / sqrt(3) = 1.24 %, 3.182 x 0.5 % / sqrt(4) = 0.80 %."""
    thermal_recording(folder, 30)
    found = doctor(folder, "gpu_metrics.csv", "--gpu-model", "H100")["repeats"]["found"]
    assert found.startswith("+- 1 % needs 4 repeats of 60 s, if repeats differ by 0.5 %"), found


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
