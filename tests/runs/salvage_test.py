#!/usr/bin/env python3
"""--salvage of runs on one node, and the power limits in force: contract-october.md 9.3 and 9.8.

Two GPUs draw 600 W each for 60 s: 72000 J, by hand. One reading a second.

usage: tests/runs/salvage_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import PROGRAM, run_tests, same  # noqa: E402

START = 1788852000  # 2026-09-08T07:20:00Z
JOULES = 72000.0


def stamp(at_s):
    minutes, seconds = divmod(at_s + 20 * 60, 60)
    return f"2026/09/08 07:{int(minutes):02}:{seconds:06.3f}"


def row(at_s, gpu, watts=600.0, limits=()):
    power = watts if isinstance(watts, str) else f"{watts:.2f} W"
    return ", ".join([stamp(at_s), str(gpu), power, *(f"{limit:.2f} W" for limit in limits)])


class Run:
    def __init__(self, folder, rows, more_columns=()):
        self.folder = folder
        header = ", ".join(["timestamp, index, power.draw [W]", *more_columns])
        (folder / "gpu_metrics.csv").write_text("\n".join([header, *rows]) + "\n")
        (folder / "run.json").write_text(json.dumps({
            "model_id": "m", "max_concurrency": 4, "benchmark_start_time_unix": START + 5.0,
            "benchmark_end_time_unix": START + 65.0, "duration": 60.0, "completed": 10,
            "total_input_tokens": 1000, "total_output_tokens": 500}))
        (folder / "agg_run.json").write_text('{"hw": "h100"}')

    def command(self, *arguments):
        return subprocess.run([PROGRAM, *arguments], cwd=self.folder, capture_output=True, text=True,
                              env=os.environ | {"TZ": "UTC"})

    def __call__(self, *more):
        done = self.command("--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result",
                            "agg_run.json", "--expected-num-gpus", "2", *more)
        self.row = json.loads((self.folder / "agg_run.json").read_text())
        self.record = json.loads((self.folder / "power_validation_run.json").read_text())
        self.said = done.stdout + done.stderr
        self.salvaged = {key: value for key, value in self.row.items()
                         if key.startswith("salvaged_")}
        return self


def rows_without(missing=(), blank=(), watts=600.0):
    """`missing` and `blank`: (second, GPU)."""
    return [row(at, gpu, "[N/A]" if (at, gpu) in blank else watts)
            for at in range(71) for gpu in range(2) if (at, gpu) not in missing]


def is_salvaged(run, share, holes):
    assert run.row["power_valid"] == 0 and "total_gpu_energy_j" not in run.row, run.row
    salvage = run.record["salvage"]
    assert salvage["available"], salvage
    energy = salvage["total_gpu_energy_j"]
    assert energy["low"] < JOULES < energy["high"], energy
    assert abs(run.salvaged["salvaged_total_gpu_energy_j"] - JOULES) < 1, run.salvaged
    assert abs(run.salvaged["salvaged_joules_per_output_token"] - JOULES / 500) < 0.01, run.salvaged
    same(share, salvage["least_covered_share"], "share")
    same(holes, [hole["duration_s"] for hole in salvage["per_gpu"]["0"]["gaps"]], "holes")
    assert "salvaged: " in run.said, run.said


def is_not(run, words):
    same({}, run.salvaged)
    same(0, run.row["power_valid"])
    assert words in run.said, run.said


def test_9_3_one_cell_without_a_reading(folder):
    run = Run(folder, rows_without(blank=[(30, 0)]))
    same(["invalid_power_sample"], run().record["reasons"])
    assert "salvage" not in run.record and not run.salvaged
    is_salvaged(run("--salvage"), 1.0, [2.0])
    is_salvaged(run("--salvage", "--extended"), 1.0, [2.0])
    same({}, run().salvaged, "an earlier run's keys")


def test_9_3_two_cells_and_three(folder):
    (folder / "two").mkdir()
    is_salvaged(Run(folder / "two", rows_without(blank=[(30, 0), (40, 0)]))("--salvage"), 1.0,
                [2.0, 2.0])
    is_not(Run(folder, rows_without(blank=[(30, 0), (40, 0), (50, 0)]))("--salvage"),
           "3 cells of GPU 0 have no reading, and 2 may be without one")


def test_9_3_cells_of_one_gap_are_a_gap(folder):
    is_salvaged(Run(folder, rows_without(blank=[(at, 0) for at in range(30, 34)]))("--salvage"),
                round(1 - 5 / 60, 6), [5.0])


def test_9_3_gaps(folder):
    for seconds, share in ((4, round(1 - 4 / 60, 6)), (6, 0.9)):
        (folder / str(seconds)).mkdir()
        missing = [(at, 0) for at in range(31, 30 + seconds)]
        is_salvaged(Run(folder / str(seconds), rows_without(missing))("--salvage"), share,
                    [float(seconds)])
    is_not(Run(folder, rows_without([(at, 0) for at in range(31, 37)]))("--salvage"),
           "88.3 % of the window of GPU 0 is covered, and 90 % are needed")


def test_9_3_no_gap_of_three_seconds(folder):
    same(1, Run(folder, rows_without([(31, 0), (32, 0)]))("--salvage").row["power_valid"])


def test_9_3_a_missing_edge_and_other_reasons(folder):
    for name, rows in {"edge": rows_without([(at, 0) for at in range(64, 71)]),
                       "blank edge": rows_without(blank=[(at, 0) for at in range(63, 71)]),
                       "no GPU": rows_without(blank=[(at, 0) for at in range(71)])}.items():
        (folder / name).mkdir()
        run = Run(folder / name, rows)("--salvage")
        same(({}, 0), (run.salvaged, run.row["power_valid"]), name)


def test_9_3_a_row_of_0_watts_outside_the_window_bounds_no_gap(folder):
    """1.2: it is no reading. The last one before the window is 2 s away, so that the gap has 4 s."""
    rows = [row(at, gpu, 0.0 if (at, gpu) == (4, 0) else 600.0) for at in range(71)
            for gpu in range(2) if not (gpu == 0 and 5 <= at <= 6)]
    is_salvaged(Run(folder, rows)("--salvage"), round(1 - 2 / 60, 6), [4.0])


def test_9_3_measure(folder):
    run = Run(folder, rows_without([(31, 0), (32, 0), (33, 0)]))
    done = run.command("measure", "run.json", "gpu_metrics.csv", "--salvage")
    same(1, done.returncode)
    assert "salvaged      72000.0 J, 95 % interval" in done.stdout, done.stdout
    found = json.loads(run.command("measure", "run.json", "gpu_metrics.csv", "--salvage",
                                   "--json").stdout)["runs"][0]
    assert found["salvage"]["available"] and not found["valid"], found
    assert "salvage" not in run.command("measure", "run.json", "gpu_metrics.csv").stdout


def test_9_3_backfill(folder):
    run = Run(folder, rows_without([(31, 0), (32, 0), (33, 0)]))
    (folder / "agg_run.json").write_text('{"hw": "h100", "tp": 2}')
    done = run.command("backfill", ".", "--salvage", "--timezone", "UTC")
    found = json.loads((folder / "agg_run.json").read_text())
    same(0, found["power_valid"], done.stdout)
    assert abs(found["salvaged_total_gpu_energy_j"] - JOULES) < 1, found
    again = run.command("backfill", ".", "--salvage", "--timezone", "UTC", "--json")
    assert '"unchanged": 1' in again.stdout or "unchanged" in again.stdout, again.stdout


def limited(folder, before, after=None, enforced=True):
    """The limit changes after 30 s."""
    rows = []
    for at in range(71):
        limit = before if after is None or at < 30 else after
        rows += [row(at, gpu, 600.0, (700.0, limit) if enforced else (limit,)) for gpu in range(2)]
    columns = ["power.limit [W]", *(["enforced.power.limit [W]"] if enforced else [])]
    return Run(folder, rows, columns)


def test_9_8_the_enforced_limit_counts(folder):
    run = limited(folder, 650.0)()
    same({gpu: {"limit_w": 650.0, "source": "recording", "share_at_limit": 0.0} for gpu in "01"},
         run.record["power_limits"])
    assert "limit      650 W" in run.command("inspect", "gpu_metrics.csv").stdout
    done = run.command("measure", "run.json", "gpu_metrics.csv")
    assert "power limit   650 W, up to 0.0 % of the readings at it" in done.stdout, done.stdout
    found = json.loads(run.command("measure", "run.json", "gpu_metrics.csv", "--json").stdout)
    same(650.0, found["runs"][0]["power_limit_w"])


def test_9_8_a_limit_that_is_not_enforced_is_the_other(folder):
    rows = [f"{row(at, gpu, 600.0, (700.0,))}, [N/A]" for at in range(71) for gpu in range(2)]
    run = Run(folder, rows, ["power.limit [W]", "enforced.power.limit [W]"])()
    same(700.0, run.record["power_limits"]["0"]["limit_w"])


def test_9_8_the_share_at_the_limit(folder):
    run = limited(folder, 620.0, enforced=False)()  # 600 W are 96.8 % of it
    same(1.0, run.record["power_limits"]["0"]["share_at_limit"])


def test_9_8_a_limit_that_was_changed(folder):
    run = limited(folder, 650.0, 625.0)()
    same([650.0, 625.0], run.record["power_limits"]["0"]["limit_w"])
    assert "the power limit of GPU 0 was changed in the window: 650 W, then 625 W" in run.said, run.said
    found = json.loads(run.command("measure", "run.json", "gpu_metrics.csv", "--json").stdout)
    assert "power_limit_w" not in found["runs"][0]


def test_9_8_no_limit(folder):
    run = Run(folder, rows_without())()
    assert "power_limits" not in run.record
    assert "limit" not in run.command("measure", "run.json", "gpu_metrics.csv").stdout


def test_9_7_tokens_per_watt(folder):
    """500 tokens for 72000 J."""
    run = Run(folder, rows_without())
    assert "0.006944 output tokens/s per W of GPU" in run.command(
        "measure", "run.json", "gpu_metrics.csv").stdout
    same(round(500 / 72000, 6),
         run("--extended").row["output_tokens_per_second_per_gpu_watt"])
    same(round(1500 / 72000, 9),
         run.record["performance_per_watt"]["gpu"]["total_tokens_per_second_per_watt"])
    run()
    assert "output_tokens_per_second_per_gpu_watt" not in run.row


# ---- Recordings of trackers, each reading some 10 s after the one before

def events(folder, watts_of, apart_s=10.0, gpus=2, lasts_s=400.0):
    """W&B's wandb-events.jsonl from 50 s before START on."""
    lines = []
    for number in range(int((lasts_s + 100) / apart_s)):
        at_s = -50 + 0.5 + apart_s * number
        line = {"_wandb": True, "_timestamp": START + at_s}
        line |= {f"system.gpu.{gpu}.powerWatts": watts_of(at_s) for gpu in range(gpus)}
        lines.append(json.dumps(line))
    (folder / "wandb-events.jsonl").write_text("\n".join(lines) + "\n")


def measured(folder, length_s, *more):
    done = subprocess.run([PROGRAM, "measure", "wandb-events.jsonl", "--start", str(START), "--end",
                           str(START + length_s), "--gpu-model", "H100", *more], cwd=folder,
                          capture_output=True, text=True, env=os.environ | {"TZ": "UTC"})
    return done.returncode, done.stdout


def test_a_tracker_gets_a_number_that_is_not_valid(folder):
    """30 readings of 400 W. What they miss is less than 1 - 0.025^(1/30) = 11.57 % of the time, at 0 W:
    46.3 W, or at 700 W: 34.7 W."""
    events(folder, lambda _: 400.0)
    for more in ([], ["--salvage"]):
        status, out = measured(folder, 300, *more)
        same(1, status)
        assert "valid         no: benchmark_window_not_bracketed" in out, out
        assert "salvaged      240000.0 J" in out and "a reading comes every 10 s" in " ".join(out.split()), out
        salvage = json.loads(measured(folder, 300, "--json", *more)[1])["runs"][0]["salvage"]
        energy = salvage["total_gpu_energy_j"]
        between = {part["name"]: part["relative"] for part in energy["components"]}["between_readings"]
        assert abs(between - (1 - 0.025 ** (1 / 30)) / 1.96) < 1e-6, energy
        assert energy["repeatability"]["low"] < 240000 * (1 - 0.1157) < 240000 < energy["repeatability"]["high"]
        same(1.0, salvage["least_covered_share"])


def test_a_tracker_that_lacks_a_tenth(folder):
    events(folder, lambda _: 400.0)
    path = folder / "wandb-events.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:12] + lines[16:]) + "\n")  # 50 s of 300 s
    assert "83.3 % of the window of GPU 0 is covered, and 90 % are needed" in " ".join(measured(folder, 300)[1].split())
    assert "no sample from the end on" in measured(folder, 900)[1]


def test_the_interval_of_sparse_readings_holds_the_energy(folder):
    """Waves, bursts and ramps of some 100 to 690 W, read every 10 to 30 s."""
    random = __import__("random").Random(4)
    held = found_any = 0
    for number in range(60):
        low_w, high_w, period_s = random.uniform(90, 300), random.uniform(350, 690), random.uniform(3, 120)
        share = random.uniform(0.05, 0.9)
        length_s = random.choice([120, 300, 600])
        watts_of = [lambda at: high_w if (at / period_s) % 1 < share else low_w,
                    lambda at: low_w + (high_w - low_w) * ((at / period_s) % 1),
                    lambda at: low_w + (high_w - low_w) * min(1, max(0, at / length_s))][number % 3]
        events(folder, lambda at: round(watts_of(at) + random.gauss(0, 4), 2),
               random.choice([10.003, 15.01, 28.3]), 1, length_s + 60)
        found = json.loads(measured(folder, length_s, "--json")[1])["runs"][0]
        if "several_gpus_in_one_series" in found["reasons"]:  # every other reading is alike
            continue
        found_any += 1
        assert found.get("salvage", {}).get("available"), found
        energy = found["salvage"]["total_gpu_energy_j"]
        steps = 10 * length_s
        joules = sum(watts_of((step + 0.5) / 10) for step in range(steps)) / 10
        held += energy["repeatability"]["low"] <= joules <= energy["repeatability"]["high"]
    assert found_any >= 50 and held >= 0.95 * found_any, (held, found_any)


def test_sparse_readings_are_not_published(folder):
    run = Run(folder, [row(at, gpu) for at in range(0, 71, 10) for gpu in range(2)])()
    assert "salvage" not in run.record and not run.salvaged, run.row
    same({}, run("--salvage").salvaged)


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
