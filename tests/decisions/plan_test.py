#!/usr/bin/env python3
"""Checks 'aggregate-power plan': what it counts, and that the commands it prints work when pasted.

usage: tests/decisions/plan_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from running import run_tests  # noqa: E402

PROGRAM = pathlib.Path(os.environ.get("AGGREGATE_POWER", ROOT / "build" / "aggregate-power")).resolve()

# In place of aggregate-power-monitor: a load of a minute that uses as much as the command says, and 0.2 W more or less.
MONITOR = """#!/bin/sh
while [ "$1" != -- ]; do
  case $1 in --output) csv=$2 ;; esac
  shift
done
shift
watts=$("$@")
runs=$(($(cat runs 2>/dev/null || echo 0) + 1))
echo $runs >runs
aggregate-power synthesize --phase 20:100 --phase 60:$watts --phase 20:100 --benchmark-phase 2 --seed $runs --gpus 2 --noise 2 \\
  --start $((1788852000 + 1000 * runs)) --out "$csv" --bench-out "$RESULT" >/dev/null
"""


def run(folder, *words, statuses=(0,)):
    path = f"{folder}:{PROGRAM.parent}:{os.environ['PATH']}"
    done = subprocess.run(list(map(str, words)), cwd=folder, capture_output=True, text=True, timeout=120,
                          env={"PATH": path, "TZ": "UTC"})
    assert done.returncode in statuses, f"{words}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def plan(folder, *words, statuses=(0,)):
    return json.loads(run(folder, PROGRAM, "plan", *words, "--json", statuses=statuses))


def aggregates(folder, name, values):
    (folder / name).mkdir()
    for i, value in enumerate(values):
        (folder / name / f"agg_{i}.json").write_text(json.dumps({"hw": "h100", "joules_per_output_token": value}))
    return name


def paste(folder, words, watts):
    """What compare says after the commands of a plan were run, and the plan."""
    monitor = folder / "aggregate-power-monitor"
    monitor.write_text(MONITOR)
    monitor.chmod(0o755)
    found = plan(folder, *words, "--cool-down", "0", "--run", f"echo {watts[0]}", "--run-new", f"echo {watts[1]}")
    (folder / "commands").write_text(found["commands"])
    return run(folder, "sh", "commands", statuses=(0, 1, 3)), found


def test_the_commands_work_when_pasted(folder):
    told, found = paste(folder, ["--gpu-model", "H100", "--detect", "2%"], (400, 412))
    repeats = found["repeats"]
    # The same work in the same time: 3 % more watts are 3 % more joules, and the noise is 0.5 %.
    line = re.search(rf"(?m)^.* {repeats}\+{repeats} .*? \+(\d\.\d+) % .* worse$", told)
    assert line and 2.7 < float(line[1]) < 3.3, told
    runs = sorted(str(path.parent.relative_to(folder / "plan")) for path in (folder / "plan").rglob("gpu_metrics.csv"))
    assert runs == sorted(f"{side}/run_{k}" for side in ("base", "new") for k in range(1, repeats + 1)), runs


def test_a_margin_is_shown_by_the_commands(folder):
    told, found = paste(folder, ["--gpu-model", "H100", "--margin", "2%"], (400, 400))
    assert "equivalent" in told.splitlines()[0], told


# 2 (1.960 + 1.282)^2 = 21.0 times (spread / change)^2 of each side by the normal distribution, and a few more by the t test.
def test_repeats_follow_the_square_of_spread_over_change(folder):
    for spread, change, least, most in ((1, 1, 22, 24), (1, 2, 6, 8), (2, 1, 85, 87), (0.5, 0.25, 85, 87)):
        found = plan(folder, "--spread", f"{spread}%", "--detect", f"{change}%", "--gpu-model", "H100", "--window", "600s")
        assert least <= found["repeats"] <= most, (spread, change, found["repeats"])
        assert found["decided"] >= 0.88 and found["smallest_change"] <= 1.03 * change / 100, found


# 2.03 +- 1 % and 2 %: squares of 1, 0 and 1 % over 2, and of 2, 0 and 2 % over 2, the mean of both.
def test_pilot_runs_say_the_spread(folder):
    places = [aggregates(folder, "a", (1.98, 2.0, 2.02)), aggregates(folder, "b", (1.96, 2.0, 2.04))]
    for path in (folder / "b").iterdir():
        path.write_text(path.read_text().replace("h100", "h200"))
    found = plan(folder, *places, "--detect", "5%")
    assert abs(found["spread"] - ((0.01 ** 2 + 0.02 ** 2) / 2) ** 0.5) < 1e-12, found
    assert found["spread_degrees_of_freedom"] == 4, found
    assert found["repeats_if_spread_known"] < found["repeats"], found
    assert found["window_s"] is None and found["ways"][0]["sampling_s"] is None, found


def test_what_cannot_be_decided_is_said(folder):
    found = plan(folder, "--spread", "5%", "--detect", "0.1%", "--gpu-model", "H100", statuses=(1,))
    assert found["repeats"] is None and found["commands"] is None, found
    a100 = plan(folder, "--gpu-model", "A100", "--detect", "1%", "--window", "60s")
    by_power = min(way["repeats"] for way in a100["ways"] if not way["counter"])
    by_counter = min(way["repeats"] for way in a100["ways"] if way["counter"])
    assert by_counter < by_power, a100  # it sees the time that the sensor does not


# Half of an interval of n repeats is t(n - 1) times the part of one run over the root of n; t is near 1.96 for many.
def test_doctor_counts_repeats_of_the_same_windows(folder):
    recording = ROOT / "testdata" / "results" / "gpu_metrics.csv"
    ways = plan(folder, "--recording", recording, "--margin", "1%", "--window", "60s", statuses=(0, 1))["ways"]
    told = run(folder, PROGRAM, "doctor", recording, "--window-s", "60", statuses=(0, 1))
    said = re.search(r"needs (\d+) repeats of 60 s; with an energy counter, (\d+) repeats", told)
    assert said, told
    for counter, repeats in ((False, int(said[1])), (True, int(said[2]))):
        percent = [100 * way["half_width"] for way in ways if way["counter"] is counter][0]
        assert percent ** 2 <= repeats <= percent ** 2 + 4, (counter, percent, repeats)


def test_recordings_with_several_readings_at_one_stamp_are_planned(folder):
    """Stamps in whole seconds of readings every 1/8, 1/2 s, or each reading twice: the period is the mean, and ends."""
    for name, each in (("8hz", 8), ("two", 2), ("three", 3)):
        rows = [f"{1788852000 + i // each},0,{600 if 30 <= i / each < 150 else 90}.{i * 7 % 90 + 10}" for i in range(180 * each)]
        for kind, stamped in (("short", rows), ("twice", [row for row in rows for _ in (0, 1)])):
            file = folder / f"{name}_{kind}.csv"
            file.write_text("timestamp,index,name,power.draw.instant [W]\n" +
                            "\n".join(row.replace(",0,", ",0,NVIDIA H100 80GB HBM3,", 1) for row in stamped) + "\n")
            found = plan(folder, "--detect", "5%", "--recording", file, statuses=(0, 1))
            assert found["ways"] and all(way["sampling_s"] > 0.9 / each / 2 for way in found["ways"]), found


def test_looks_cost_little(folder):
    words = ["--spread", "1%", "--detect", "1%", "--gpu-model", "H100"]
    one, four = plan(folder, *words), plan(folder, *words, "--looks", "4")
    assert one["repeats"] <= four["repeats"] <= one["repeats"] + 2, (one["repeats"], four["repeats"])
    assert "--look 4/4" in four["commands"], four["commands"]


def test_each_look_has_as_many_repeats(folder):
    """A look comes after each part of the repeats: 22 or 23 of them, as without looks, and up to one part more."""
    words = ["--spread", "1%", "--detect", "1%", "--gpu-model", "H100", "--window", "600s"]
    for looks in (2, 3, 4, 7, 20):
        found = plan(folder, *words, "--looks", looks)
        assert found["repeats"] % looks == 0 and 22 <= found["repeats"] < 25 + looks, (looks, found["repeats"])
        assert found["decided"] >= 0.88, found
        told = run(folder, PROGRAM, "plan", *words, "--looks", looks)
        assert f"after each of {looks} equal parts of the repeats" in " ".join(told.split()), told
    few = plan(folder, "--spread", "0.1%", "--detect", "5%", "--gpu-model", "H100", "--window", "600s", "--looks", "20")
    assert few["repeats"] == 20, few["repeats"]
    pilots = aggregates(folder, "pilots", (1.98, 2.0, 2.02))
    of_pilots = plan(folder, pilots, "--detect", "2%", "--looks", "5")
    assert (of_pilots["repeats"] % 5, of_pilots["repeats_if_spread_known"] % 5) == (0, 0), of_pilots


def test_pilot_runs_at_several_power_limits_are_no_repeats_of_each_other(folder):
    """1 % around 2.0 at 700 W and around 1.5 at 400 W: a spread of 1 % with 2 + 2 degrees of freedom, not of 15 %."""
    (folder / "sweep").mkdir()
    for limit, mean in ((700, 2.0), (400, 1.5)):
        for i, share in enumerate((0.99, 1, 1.01)):
            members = {"hw": "h100", "joules_per_output_token": mean * share, "power_limit_w": limit + 0.4 * i}
            (folder / "sweep" / f"agg_{limit}_{i}.json").write_text(json.dumps(members))
    found = plan(folder, "sweep", "--detect", "5%")
    assert abs(found["spread"] - 0.01) < 1e-12 and found["spread_degrees_of_freedom"] == 4, found
    for path in (folder / "sweep").glob("*_[12].json"):
        path.unlink()
    run(folder, PROGRAM, "plan", "sweep", "--detect", "5%", statuses=(2,))  # one run of each


def test_equal_pilot_runs_say_nothing(folder):
    for values in ((2.01, 2.01), (2.01, 2.01, 2.01), (2.003317,) * 4, (2.003317, 2.003317, 2.003318)):
        run(folder, PROGRAM, "plan", aggregates(folder, f"pilots{values}", values), "--detect", "2%", statuses=(2,))
    # 0.0005 of 2.0 up and down: the least that is said to differ.
    assert plan(folder, aggregates(folder, "others", (1.999, 2.0, 2.001)), "--detect", "2%")["repeats"] == 2


def test_wrong_questions_are_refused(folder):
    place = aggregates(folder, "one", (2.0,))
    for words in (["--gpu-model", "H100"], ["--detect", "2%"], ["--gpu-model", "H100", "--detect", "2"], [place, "--detect", "2%"],
                  ["--gpu-model", "H100", "--detect", "1%", "--margin", "1%"], ["--gpu-model", "toaster", "--detect", "1%"],
                  ["--gpu-model", "H100", "--detect", "1%", "--looks", "4", "--alpha", "1%"]):
        run(folder, PROGRAM, "plan", *words, statuses=(2,))


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
