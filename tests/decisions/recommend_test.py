#!/usr/bin/env python3
"""Checks 'aggregate-power recommend': which power limit a sweep speaks for, and the plan of a sweep.

Expected values are sums by hand, those of golden.md, or come from Python's statistics module.

usage: tests/decisions/recommend_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import csv
import datetime
import io
import itertools
import json
import math
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import PROGRAM, ROOT, near, run_tests, same  # noqa: E402

SWEEPS = ROOT / "testdata" / "power-limits"
COLUMNS = ["timestamp", "tokens_per_sec", "temperature", "fan_speed", "memory_used", "power_draw", "gpu_utilization",
           "memory_utilization", "power_limit", "max_watt"]
START = datetime.datetime(2024, 7, 5, 10, 0, 0)


class Ran:
    def __init__(self, folder, *words):
        done = subprocess.run([PROGRAM, "recommend", *map(str, words)], cwd=folder, capture_output=True,
                              env=os.environ | {"TZ": "UTC"}, timeout=120)
        self.status, self.out, self.err = done.returncode, done.stdout.decode(), done.stderr.decode()

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def groups(self):
        return {group["limit_w"]: group for group in self.json["groups"]}

    @property
    def scenarios(self):
        return {scenario["scenario"]: scenario for scenario in self.json["scenarios"]}

    def __repr__(self):
        return f"status {self.status}\n{self.out}{self.err}"


def has(text, *parts):
    for part in parts:
        assert part in text, f"expected {part!r} in:\n{text}"


def recorded(folder, name, limit, published, estimate, own):
    """A run of 1000 tokens in 60 s, whose record states its repeatability as a share."""
    path = pathlib.Path(folder) / name
    path.mkdir()
    start = 1000 + 100 * len(list(pathlib.Path(folder).iterdir()))
    path.joinpath("agg_run.json").write_text(json.dumps(
        {"hw": "x", "power_limit_w": limit, "power_metric_schema_version": 2, "power_valid": 1,
         "total_gpu_energy_j": published, "joules_per_output_token": published / 1000}))

    def interval(value):
        low, high = value * (1 - 1.96 * own), value * (1 + 1.96 * own)
        bounds = {"standard_uncertainty": value * own, "low": low, "high": high}
        return {"estimate": value, "repeatability": bounds} | bounds

    path.joinpath("power_validation_run.json").write_text(json.dumps(
        {"schema_version": 1, "power_valid": True, "reasons": [], "telemetry_source": "gpu.csv", "benchmark_result": "run.json",
         "observed_gpu_ids": ["0"], "computed_from": {"aggregate": "agg_run.json"},
         "benchmark_window": {"start_time_unix": start, "end_time_unix": start + 60, "total_output_tokens": 1000},
         "metrics": {"total_gpu_energy_j": published, "joules_per_output_token": published / 1000},
         "uncertainty": {"total_gpu_energy_j": interval(estimate), "joules_per_output_token": interval(estimate / 1000)}}))


def test_runs_are_judged_by_what_compare_takes(folder):
    """The estimates, and a spread of at least what each run is known to."""
    for number in range(3):  # published: 1 % apart; estimates: 4 % apart
        recorded(folder, f"a{number}", 300, 2000 + number, 2000 + number, 0.02)
        recorded(folder, f"b{number}", 400, 2020 + number, 2080 + number, 0.02)
    found = Ran(folder, "--json", ".").json
    near(2081 / 2001 - 1, found["margin"])
    near(2.001, found["groups"][0]["joules_per_token"])
    # 2 % of one run, of the mean of three; four degrees of freedom: t = 2.776445
    half = 2.776445105 * math.hypot(0.02 / math.sqrt(3), 0.02 / math.sqrt(3))
    near(2081 / 2001 * math.exp(-half) - 1, found["margin_interval"]["low"], 1e-6)
    near(2081 / 2001 * math.exp(half) - 1, found["margin_interval"]["high"], 1e-6)
    compared = json.loads(subprocess.run([PROGRAM, "compare", *[f"a{n}" for n in range(3)], "--with", *[f"b{n}" for n in range(3)],
                                          "--match-by", "hw", "--json"], cwd=folder, capture_output=True).stdout)
    near(found["margin"], compared["change"])
    near(found["margin_interval"]["low"], compared["change_low"], 1e-6)
    near(found["margin_interval"]["high"], compared["change_high"], 1e-6)
    has(Ran(folder, ".").out, "J/out.tok")


def test_one_run_that_states_none_leaves_the_published_ones(folder):
    for number in range(3):
        recorded(folder, f"a{number}", 300, 2000 + number, 2000 + number, 0.02)
        recorded(folder, f"b{number}", 400, 2020 + number, 2080 + number, 0.02)
    record = pathlib.Path(folder) / "b1" / "power_validation_run.json"
    record.write_text(json.dumps({k: v for k, v in json.loads(record.read_text()).items() if k != "uncertainty"}))
    near(2021 / 2001 - 1, Ran(folder, "--json", ".").json["margin"])


def row(at_s, rate, watts, limit, in_force=None, **others):
    values = {"timestamp": (START + datetime.timedelta(seconds=at_s)).isoformat(), "tokens_per_sec": rate,
              "temperature": 60, "fan_speed": 40, "memory_used": 1000.5, "power_draw": watts, "gpu_utilization": 99,
              "memory_utilization": 50, "power_limit": limit if in_force is None else in_force, "max_watt": limit}
    return values | others


def stats(folder, rows, name="inference_stats.csv"):
    columns = COLUMNS + [key for key in rows[0] if key not in COLUMNS]
    with open(folder / name, "w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    return folder / name


def stretch(start_s, count, rate, watts, limit, step_s=1, **others):
    return [row(start_s + i * step_s, rate, watts, limit, **others) for i in range(count)]


def three_limits():
    """150 W: 0.25 J/token, 200 W: 0.2, 250 W: 0.24; with a wave that does not change the means' order."""
    rows = []
    for i in range(20):
        wave = 1 + 0.01 * (-1) ** i
        rows += [row(i, 600, 150 * wave, 150), row(100 + i, 1000, 200 * wave * 0.995, 200),
                 row(200 + i, 1040, 249.6 * wave * 0.99, 250)]
    return rows


# ---- Sweeps of Zeus

def golden(file, limit, joules, most_limit, most_joules):
    ran = Ran(ROOT, SWEEPS / file, "--json")
    same(0, ran.status, ran)
    report = ran.json
    same("aggregate-power/recommend-2", list(report.items())[0][1])
    same(limit, report["recommended_limit_w"])
    near(joules, ran.groups[limit]["energy_j"], 0.05 / joules)
    near(most_joules, ran.groups[most_limit]["energy_j"], 0.05 / most_joules)
    same("dataset=cifar100 network=shufflenetv2 batch_size=1024 optimizer=adadelta", report["scenarios"][0]["scenario"])
    same(report["groups"], report["scenarios"][0]["groups"])
    for key in ("recommended_limit_w", "runner_up_w", "margin", "ties"):
        same(report[key], report["scenarios"][0][key])


def test_the_a40_sweep_has_its_least_energy_at_175_w(folder):
    golden("trace-summary_power_a40.csv", 175, 1474.5, 300, 1865.8)


def test_the_p100_sweep_has_its_least_energy_at_125_w(folder):
    golden("trace-summary_power_p100.csv", 125, 1899.2, 250, 2252.7)


def test_each_scenario_of_zeus_has_the_limit_that_a_plain_minimum_has(folder):
    for file in ("trace-summary_power_a40.csv", "trace-summary_power_p100.csv"):
        best = {}
        for line in csv.DictReader(open(SWEEPS / file)):
            name = " ".join(f"{key}={line[key]}" for key in ("dataset", "network", "batch_size", "optimizer"))
            limit, power = float(line["power_limit"]), float(line["average_power"])
            if power > 1.03 * limit:
                continue
            energy = float(line["time_per_epoch"]) * power
            best[name] = min(best.get(name, (math.inf, 0)), (energy, limit))
        found = Ran(ROOT, SWEEPS / file, "--json").scenarios
        same({name: limit for name, (_, limit) in best.items()},
             {name: scenario["recommended_limit_w"] for name, scenario in found.items()}, file)


def test_draw_above_the_limit_means_that_it_was_not_in_force(folder):
    group = Ran(ROOT, SWEEPS / "trace-summary_power_a40.csv", "--json").groups[100]  # 106.9 W
    same("limit_not_in_force", group["state"])
    has(group["why"], "106.9 W", "6.9 %")


def test_a_log_of_zeus_s_optimizer_is_a_sweep(folder):
    """Each limit is in the name of a window; the energies of all GPUs are added."""
    log = ROOT / "testdata/telemetry/zeus/zeus-energy-windows-4gpu.csv"
    ran = Ran(folder, log, "--json")
    same((0, 100), (ran.status, ran.json["recommended_limit_w"]), ran)
    near(3724.4 + 3780.606 + 3753.95 + 3696.866, ran.groups[100]["energy_j"], 1e-6)
    near(3991.397 + 4170.07 + 4255.888 + 4102.666, ran.groups[300]["energy_j"], 1e-6)
    same([100, 125, 150, 175, 200, 225, 250, 275, 300], sorted(ran.groups))
    same(300, Ran(folder, log, "--json", "--objective", "time").json["recommended_limit_w"] + 25, "33.006 s at 275 W")
    head = "start_time,window_name,elapsed_time,gpu0_energy,gpu1_energy\n"
    (folder / "log.csv").write_text(head + "1,__GlobalPowerLimitOptimizer_200,10,1900,1900\n2,epoch,99,1,1\n"
                                    "3,__GlobalPowerLimitOptimizer_100,10,1300,1300\n4,__GlobalPowerLimitOptimizer_150,10,1400,\n")
    ran = Ran(folder, "log.csv", "--json")
    same([100, 200], sorted(ran.groups))
    same(200, ran.json["recommended_limit_w"], "130 W of each GPU are more than the limit of 100 W")
    has(ran.err, "log.csv: 2 rows without a limit, a time and a power were left out")
    (folder / "log.csv").write_text(head + "1,epoch,10,1900,1900\n")
    same(2, Ran(folder, "log.csv").status)


def zeus(folder, *rows, name="sweep.csv"):
    (folder / name).write_text("dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power\n" +
                               "".join(f"d,n,8,o,{limit},{seconds},{watts}\n" for limit, seconds, watts in rows))
    return folder / name


def test_two_files_of_zeus_are_never_mixed(folder):
    zeus(folder, (100, 10, 90), (200, 5, 190), name="a.csv")
    zeus(folder, (100, 20, 90), (200, 5, 180), name="b.csv")
    same(["a.csv: dataset=d network=n batch_size=8 optimizer=o", "b.csv: dataset=d network=n batch_size=8 optimizer=o"],
         list(Ran(folder, "a.csv", "b.csv", "--json").scenarios))


def test_max_slowdown_is_against_the_highest_limit(folder):
    sweep = zeus(folder, (100, 12, 90), (150, 10.9, 110), (200, 10, 190))  # 1080, 1199, 1900 J
    same(100, Ran(folder, sweep, "--json").json["recommended_limit_w"])
    ran = Ran(folder, sweep, "--json", "--max-slowdown", "1.1")
    same(150, ran.json["recommended_limit_w"])
    same(["too_slow", "ok", "ok"], [group["state"] for group in ran.json["groups"]])
    near(1.2, ran.groups[100]["slowdown"])
    same(200, ran.json["scenarios"][0]["reference_limit_w"])
    same(100, Ran(folder, sweep, "--json", "--max-slowdown", "1.2").json["recommended_limit_w"])


def test_objectives(folder):
    sweep = zeus(folder, (100, 12, 90), (150, 10.9, 110), (200, 10, 190))
    same(200, Ran(folder, sweep, "--json", "--objective", "time").json["recommended_limit_w"])
    # 0.5 x 1080 + 0.5 x 200 x 12 = 1740; 0.5 x 1199 + 1090 = 1689.5; 950 + 1000 = 1950
    ran = Ran(folder, sweep, "--json", "--objective", "cost", "--eta", "0.5")
    same([1740, 1689.5, 1950], [round(group["value"], 9) for group in ran.json["groups"]])
    same((150, 100), (ran.json["recommended_limit_w"], ran.json["runner_up_w"]))
    near(1740 / 1689.5 - 1, ran.json["margin"])
    same(200, Ran(folder, sweep, "--json", "--objective", "cost", "--eta", "0").json["recommended_limit_w"])
    same(100, Ran(folder, sweep, "--json", "--objective", "cost", "--eta", "1").json["recommended_limit_w"])
    # P_max of 300 W: 0.5 x 1080 + 0.5 x 300 x 12 = 2340
    ran = Ran(folder, sweep, "--json", "--objective", "cost", "--max-power", "300")
    near(2340, ran.groups[100]["value"])
    ran = Ran(folder, sweep, "--objective", "energy-per-token")
    same(1, ran.status)
    has(ran.out, "no recommendation: the tokens are not known")


def test_equal_energies_are_a_tie(folder):
    ran = Ran(folder, zeus(folder, (100, 12, 90), (150, 9, 120), (200, 8, 190)), "--json")  # 1080 J both
    same((150, [100], 0), tuple(ran.json[key] for key in ("recommended_limit_w", "ties", "margin")))  # the faster one
    has(Ran(folder, "sweep.csv").out, "= a tie: 100 W cannot be told from it\n"
        "no intervals: each limit was measured once, so other ties cannot be judged\n")
    same(["= a tie: 100 W cannot be told from it"],
         [line for line in Ran(folder, zeus(folder, (100, 12, 90), (150, 9, 120))).out.splitlines() if "tie" in line])


def test_repeats_give_intervals_and_ties(folder):
    sweep = zeus(folder, (100, 10, 90), (100, 10.2, 90), (150, 9, 101), (150, 9.2, 101), (200, 8, 140), (200, 8.2, 140))
    ran = Ran(folder, sweep, "--json")
    half = 12.7062047 * statistics.stdev([900, 918]) / math.sqrt(2)  # Student's t of 1 degree of freedom
    near(909 - half, ran.groups[100]["interval"]["low"], 1e-6)
    near(909 + half, ran.groups[100]["interval"]["high"], 1e-6)
    same((100, [150], 2), (ran.json["recommended_limit_w"], ran.json["ties"], ran.groups[150]["n"]))
    for limit, values in ((100, (900, 918)), (150, (909, 929.2))):
        for i, value in enumerate(values):
            pathlib.Path(folder, f"{limit}_{i}.json").write_text(json.dumps({"hw": "x", "joules_per_output_token": value}))
    compared = json.loads(subprocess.run([PROGRAM, "compare", "100_0.json", "100_1.json", "--with", "150_0.json", "150_1.json", "--json"],
                                         cwd=folder, capture_output=True).stdout)
    for ours, theirs in (("margin", "change"), ("low", "change_low"), ("high", "change_high")):
        near((ran.json | ran.json["margin_interval"])[ours], compared[theirs], 1e-6)


def test_one_limit_alone_is_no_comparison(folder):
    ran = Ran(folder, zeus(folder, (100, 10, 90)), "--json")
    same((1, None), (ran.status, ran.json["recommended_limit_w"]))
    has(ran.json["why_not"], "only one limit")


# ---- Rows of gpu-tune

def test_energy_and_tokens_are_integrals(folder):
    # 200 W throughout; 100, 200, 100 tokens/s: 400 J / 300 tokens, and the mean of 2, 1 and 2 J.
    rows = [row(0, 100, 200, 200), row(1, 200, 200, 200), row(2, 100, 200, 200)]
    rows += stretch(10, 3, 50, 100, 100)
    ran = Ran(folder, stats(folder, rows), "--json")
    group = ran.groups[200]
    near(400, group["energy_j"])
    near(300, group["tokens"])
    near(400 / 300, group["joules_per_token"])
    near(5 / 3, group["mean_joules_per_token"])
    near(2, group["time_s"])
    near(200, group["mean_power_w"])
    near(2, ran.groups[100]["joules_per_token"])
    near(2, ran.groups[100]["mean_joules_per_token"])  # constant: both agree
    near(3, ran.groups[100]["slowdown"])  # 50 tokens/s against 150
    same(200, ran.json["recommended_limit_w"])


def test_a_cumulative_rate_is_the_mean_since_the_start(folder):
    # Began at -10 s; 100 tokens/s for 20 s, then 200: cumulative 100, 100, 400/3 at 0, 10, 20 s.
    rows = [row(0, 100, 200, 200), row(10, 100, 200, 200), row(20, 4000 / 30, 200, 200)] + stretch(50, 3, 50, 100, 100)
    group = Ran(folder, stats(folder, rows), "--json", "--rate", "cumulative").groups[200]
    near(3000, group["tokens"])  # 1000 in the first ten seconds, 2000 in the second
    near(4000 / 3000, group["joules_per_token"])


def test_the_order_of_rows_and_files_makes_no_difference(folder):
    rows = three_limits()
    expected = Ran(folder, stats(folder, rows), "--json").out
    same(200, json.loads(expected)["recommended_limit_w"])
    for seed in range(5):
        random.Random(seed).shuffle(rows)
        same(expected, Ran(folder, stats(folder, rows), "--json").out)
    stats(folder, rows[:23], "inference_a.csv")
    stats(folder, rows[23:], "inference_b.csv")
    same(expected, Ran(folder, "inference_b.csv", "inference_a.csv", "inference_a.csv", "--json").out)


def test_the_order_of_a_zeus_file_makes_no_difference(folder):
    lines = (SWEEPS / "trace-summary_power_p100.csv").read_text().splitlines()
    expected = Ran(folder, SWEEPS / "trace-summary_power_p100.csv", "--json").out
    body = lines[1:]
    random.Random(7).shuffle(body)
    (folder / "shuffled.csv").write_text("\n".join([lines[0], *body]) + "\n")
    same(expected, Ran(folder, "shuffled.csv", "--json").out)


def test_interleaved_rows_do_not_count_the_time_between(folder):
    rows = stretch(0, 5, 100, 100, 150) + stretch(10, 5, 100, 190, 200) + stretch(20, 5, 100, 110, 150) + \
        stretch(30, 5, 100, 190, 200)
    ran = Ran(folder, stats(folder, rows), "--json")
    near(8, ran.groups[150]["time_s"])
    near(4 * 100 + 4 * 110, ran.groups[150]["energy_j"])
    same(2, ran.groups[150]["runs"])


def test_a_gap_of_more_than_ten_steps_ends_a_run(folder):
    rows = stretch(0, 5, 100, 100, 150) + stretch(15, 5, 100, 100, 150) + stretch(50, 5, 100, 190, 200)
    near(8, Ran(folder, stats(folder, rows), "--json").groups[150]["time_s"])  # the gap is 11 s
    rows = stretch(0, 5, 100, 100, 150) + stretch(14, 5, 100, 100, 150) + stretch(50, 5, 100, 190, 200)
    near(18, Ran(folder, stats(folder, rows), "--json").groups[150]["time_s"])  # and here 10 s


def test_one_row_is_insufficient_and_never_wins(folder):
    ran = Ran(folder, stats(folder, stretch(0, 1, 1e6, 1, 150) + stretch(10, 5, 100, 190, 200)), "--json")
    same(("insufficient", "ok"), (ran.groups[150]["state"], ran.groups[200]["state"]))
    same((200, None, None), tuple(ran.json[key] for key in ("recommended_limit_w", "runner_up_w", "margin")))
    same(None, ran.groups[150]["joules_per_token"])
    ran = Ran(folder, stats(folder, stretch(0, 1, 100, 100, 150) + stretch(10, 1, 100, 190, 200)), "--json")
    same((1, None), (ran.status, ran.json["recommended_limit_w"]))


def test_rows_that_never_follow_each_other_are_insufficient(folder):
    rows = stretch(0, 1, 1000, 10, 150) + stretch(1, 5, 100, 190, 200) + stretch(7, 1, 1000, 10, 150) + \
        stretch(8, 5, 100, 240, 250)
    group = Ran(folder, stats(folder, rows), "--json").groups[150]
    same(("insufficient", 2), (group["state"], group["n"]))


def test_equal_rows_tie(folder):
    rows = stretch(0, 10, 100, 140, 150) + stretch(20, 10, 100, 140, 200) + stretch(40, 10, 100, 190, 250)
    ran = Ran(folder, stats(folder, rows), "--json")
    same((150, 200, [200], 0),
         tuple(ran.json[key] for key in ("recommended_limit_w", "runner_up_w", "ties", "margin")))


def noisy(limit, start_s, watts, spread, seed):
    draw = random.Random(seed)
    return [row(start_s + i, 100, watts + draw.gauss(0, spread), limit) for i in range(60)]


def test_noise_makes_ties_and_a_clear_difference_does_not(folder):
    ran = Ran(folder, stats(folder, noisy(150, 0, 140, 15, 1) + noisy(200, 100, 141, 15, 1) +
                            noisy(250, 200, 240, 15, 3)), "--json")
    best = ran.json["recommended_limit_w"]
    same({150, 200}, {best, *ran.json["ties"]})
    assert ran.json["margin_interval"]["low"] <= 0 <= ran.json["margin_interval"]["high"], ran
    group = ran.groups[250]
    assert group["interval"]["low"] < group["joules_per_token"] < group["interval"]["high"], group
    same("rows", ran.json["scenarios"][0]["interval_from"])


def test_intervals_hold_the_truth_as_often_as_they_say(folder):
    hits = total = 0
    for seed in range(40):
        rows = noisy(150, 0, 140, 15, 10 * seed) + noisy(200, 100, 190, 15, 10 * seed + 1)
        groups = Ran(folder, stats(folder, rows), "--json").groups
        for limit, truth in ((150, 1.4), (200, 1.9)):
            total += 1
            hits += groups[limit]["interval"]["low"] <= truth <= groups[limit]["interval"]["high"]
    assert hits >= 0.87 * total, f"{hits} of {total}"


def test_outliers(folder):
    rows = stretch(0, 19, 100, 140, 150) + [row(19, 5000, 140, 150)] + stretch(50, 20, 100, 190, 200)
    path = stats(folder, rows)
    ran = Ran(folder, path, "--json")
    same((1, 19), (ran.groups[150]["outliers"], ran.groups[150]["n"]))
    near(1.4, ran.groups[150]["joules_per_token"])
    same(0, ran.groups[200]["outliers"])  # no spread: all are kept
    same(20, ran.groups[200]["n"])
    has(Ran(folder, path).out, "1 outlier left out, by zscore")
    ran = Ran(folder, path, "--json", "--outliers", "none")
    same((0, 20), (ran.groups[150]["outliers"], ran.groups[150]["n"]))
    # The rates of most rows are equal: their median absolute deviation is 0, and nothing is left out.
    same(0, Ran(folder, path, "--json", "--outliers", "mad").groups[150]["outliers"])


def test_outliers_below_count_too(folder):
    rates = [100, 101, 99, 100, 102, 98, 100, 101, 99, 100, 100, 101, 99, 100, 5]
    rows = [row(i, rate, 140, 150) for i, rate in enumerate(rates)] + stretch(50, 5, 100, 190, 200)
    path = stats(folder, rows)
    mean, sigma = statistics.fmean(rates), statistics.pstdev(rates)
    same(1, sum(abs(rate - mean) >= 3 * sigma for rate in rates))
    same(1, Ran(folder, path, "--json").groups[150]["outliers"])
    same(1, Ran(folder, path, "--json", "--outliers", "mad").groups[150]["outliers"])


def test_mad_finds_what_the_deviation_hides_in_ten_rows(folder):
    rates = [100, 101, 99, 100, 102, 98, 100, 101, 5]  # of nine rows none can be 3 deviations off
    path = stats(folder, [row(i, rate, 140, 150) for i, rate in enumerate(rates)] + stretch(50, 5, 100, 190, 200))
    same(0, Ran(folder, path, "--json").groups[150]["outliers"])
    same(1, Ran(folder, path, "--json", "--outliers", "mad").groups[150]["outliers"])


def test_a_limit_that_did_not_take_cannot_win(folder):
    rows = stretch(0, 5, 1000, 140, 150, in_force=300) + stretch(10, 5, 100, 190, 200) + stretch(20, 5, 100, 240, 250)
    ran = Ran(folder, stats(folder, rows), "--json")
    same(("limit_not_in_force", 300), (ran.groups[150]["state"], ran.groups[150]["limit_in_force_w"]))
    same(200, ran.json["recommended_limit_w"])
    has(Ran(folder, "inference_stats.csv").out, "! 150 W: limit_not_in_force: the limit in force was 300 W")


def test_a_limit_is_in_force_within_a_watt_or_half_a_percent(folder):
    for asked, in_force, state in ((150, 151, "ok"), (150, 151.1, "limit_not_in_force"), (400, 402, "ok"),
                                   (400, 402.1, "limit_not_in_force"), (400, 397.9, "limit_not_in_force")):
        rows = stretch(0, 5, 100, 140, asked, in_force=in_force) + stretch(10, 5, 100, 190, 700)
        same(state, Ran(folder, stats(folder, rows), "--json").groups[asked]["state"], (asked, in_force))


def test_a_draw_of_over_three_percent_above_the_limit(folder):
    for watts, state in ((154.4, "ok"), (154.6, "limit_not_in_force")):  # 150 x 1.03 = 154.5
        rows = stretch(0, 5, 100, watts, 150) + stretch(10, 5, 100, 190, 200)
        same(state, Ran(folder, stats(folder, rows), "--json").groups[150]["state"], watts)


def test_the_total_of_all_gpus_is_the_energy(folder):
    rows = stretch(0, 5, 100, 140, 150, total_power_draw=420) + stretch(10, 5, 100, 190, 200, total_power_draw=570)
    ran = Ran(folder, stats(folder, rows), "--json", "--objective", "cost", "--eta", "0")
    near(4.2, ran.groups[150]["joules_per_token"])
    near(140, ran.groups[150]["gpu_power_w"])
    near(200 * 3 / 100, ran.groups[150]["value"])  # P_max: three GPUs at the highest limit, for one token


def test_rows_without_numbers_are_counted(folder):
    rows = stretch(0, 5, 100, 140, 150) + stretch(10, 5, 100, 190, 200)
    rows[2]["power_draw"] = "N/A"
    rows[8]["tokens_per_sec"] = ""
    ran = Ran(folder, stats(folder, rows), "--json")
    has(ran.err, "inference: 2 rows without a time, a rate, a power or a limit were left out")
    same([4, 4], [group["n"] for group in ran.json["groups"]])


def test_training_and_inference(folder):
    stats(folder, stretch(0, 5, 100, 140, 150) + stretch(10, 5, 100, 190, 200), "training_stats.csv")
    stats(folder, stretch(0, 5, 100, 140, 150) + stretch(10, 5, 200, 190, 200), "inference_stats.csv")
    ran = Ran(folder, "inference_stats.csv", "training_stats.csv", "--json")
    same({"training": 150, "inference": 200},
         {name: scenario["recommended_limit_w"] for name, scenario in ran.scenarios.items()})
    same(150, ran.json["recommended_limit_w"])
    text = Ran(folder, "inference_stats.csv", "training_stats.csv").out
    table = text[text.index("\n      ", text.index("\n\ninference")):].splitlines()[1:]
    same(["training", "inference"], table[0].split())
    same(["150", "1.4", "1.000", "140.0", "*", "1.4", "2.000", "140.0"], table[2].split())
    assert all(len(line) <= 80 for line in text.splitlines()), text


def test_what_says_the_scenario(folder):
    rows = stretch(0, 5, 100, 140, 150) + stretch(10, 5, 100, 190, 200)
    named = lambda *words: list(Ran(folder, *words, "--json").scenarios)  # noqa: E731
    same(["inference"], named(stats(folder, rows, "rows.csv")))
    same(["training"], named(stats(folder, rows, "llm_TRAIN.csv")))
    same(["training"], named(stats(folder, [line | {"loss": 2.5} for line in rows], "rows.csv")))
    same(["training"], named("--scenario", f"training={stats(folder, rows, 'rows.csv')}"))
    mixed = [line | {"scenario": "train" if i % 2 else "inference"} for i, line in enumerate(rows)]
    same(["training", "inference"], named(stats(folder, mixed, "rows.csv")))


def test_a_word_counts_only_as_a_whole(folder):
    rows = stretch(0, 5, 100, 140, 150) + stretch(10, 5, 100, 190, 200)
    named = lambda *words: list(Ran(folder, *words, "--json").scenarios)  # noqa: E731
    for name, scenario in (("constrained.csv", "inference"), ("strain_stats.csv", "inference"),
                           ("trainRun2.csv", "training"), ("llm-train.csv", "training"), ("Training.csv", "training"),
                           ("inferenceOfTrains.csv", "inference")):
        same([scenario], named(stats(folder, rows, name)), name)
    constrained = [line | {"task": "constrained decoding"} for line in rows]
    same(["inference"], named(stats(folder, constrained, "rows.csv")))


# ---- The join

def tokens(folder, rows, name="tokens.csv"):
    (folder / name).write_text("timestamp,tokens_per_sec,max_watt\n" + "".join(
        f"{(START + datetime.timedelta(seconds=at)).isoformat()},{rate},{limit}\n" for at, rate, limit in rows))
    return folder / name


def smi(folder, rows, name="gpu_metrics.csv"):
    (folder / name).write_text(
        "timestamp, index, power.draw [W], power.limit [W], temperature.gpu, utilization.gpu [%], memory.used [MiB]\n" +
        "".join(f"{(START + datetime.timedelta(seconds=at)).strftime('%Y/%m/%d %H:%M:%S.%f')[:-3]}, {gpu}, {watts} W, "
                f"{limit} W, 60, 97 %, 1000 MiB\n" for at, gpu, watts, limit in rows))
    return folder / name


def test_the_join_takes_the_last_sample_of_at_most_five_seconds_before(folder):
    tokens(folder, [(3, 10, 150), (10, 10, 150), (10.001, 10, 150), (11, 10, 150), (30, 10, 200), (31, 10, 200)])
    smi(folder, [(0, 0, 100, 150), (5, 0, 120, 150), (29.5, 0, 180, 200)])
    ran = Ran(folder, "--tokens", "tokens.csv", "--samples", "gpu_metrics.csv", "--json")
    same({"tokens": 6, "joined": 4, "out_of_tolerance": 2, "unreadable": 0, "gpus": ["0"]}, ran.json["join"])
    near((100 + 120) / 2 * 7, ran.groups[150]["energy_j"])  # exactly 5 s is near enough
    near(180, ran.groups[200]["energy_j"])
    has(Ran(folder, "--tokens", "tokens.csv", "--samples", "gpu_metrics.csv").out,
        "6 rows of tokens, 4 joined with samples of 1 GPU; 2 out of tolerance")
    ran = Ran(folder, "--tokens", "tokens.csv", "--samples", "gpu_metrics.csv", "--json", "--tolerance", "6")
    same(0, ran.json["join"]["out_of_tolerance"])
    ran = Ran(folder, "--tokens", "tokens.csv", "--samples", "gpu_metrics.csv", "--json", "--tolerance", "0.4")
    same(6, ran.json["join"]["out_of_tolerance"])


def test_the_join_sums_gpus_and_needs_all_of_them(folder):
    tokens(folder, [(1, 10, 150), (2, 10, 150), (8, 10, 150), (21, 10, 200), (22, 10, 200)])
    smi(folder, [(0, 0, 100, 150), (0, 1, 140, 150), (7, 0, 100, 150), (20, 0, 150, 200), (20, 1, 150, 300)])
    ran = Ran(folder, "--tokens", "tokens.csv", "--samples", "gpu_metrics.csv", "--json")
    same((4, 1, ["0", "1"]), tuple(ran.json["join"][key] for key in ("joined", "out_of_tolerance", "gpus")))
    near(240, ran.groups[150]["energy_j"])
    near(120, ran.groups[150]["gpu_power_w"])
    same("limit_not_in_force", ran.groups[200]["state"])  # of GPU 1


def test_samples_of_the_sweep_tool_keep_all_columns(folder):
    tokens(folder, [(0.5, 10, 150), (1.5, 10, 150), (20.5, 10, 200), (21.5, 10, 200)])
    header = "timestamp,temperature,fan_speed,memory_used,power_draw,gpu_utilization,memory_utilization,power_limit\n"
    (folder / "gpu_metrics_log.csv").write_text(header + "".join(
        f"{(START + datetime.timedelta(seconds=at)).isoformat()},61,33,1000.5,{watts},98,44,{limit}\n"
        for at, watts, limit in ((0, 140, 150), (1, 142, 150), (20, 190, 200), (21, 191, 200))))
    ran = Ran(folder, "--tokens", "tokens.csv", "--samples", "gpu_metrics_log.csv", "--stats-out", "out", "--json")
    same(0, ran.status, ran)
    lines = list(csv.DictReader(open(folder / "out" / "inference_stats.csv")))
    same({"temperature": "61", "fan_speed": "33", "memory_used": "1000.5", "power_draw": "140",
          "gpu_utilization": "98", "memory_utilization": "44", "power_limit": "150", "max_watt": "150",
          "total_power_draw": "140", "tokens_per_sec": "10", "timestamp": "2024-07-05T10:00:00.500000"},
         {key: value for key, value in lines[0].items() if "energy" not in key})


def test_tokens_without_a_limit_take_that_of_the_samples(folder):
    (folder / "tokens.csv").write_text("timestamp,tokens_per_sec\n" + "".join(
        f"{(START + datetime.timedelta(seconds=at)).isoformat()},10\n" for at in (1, 2, 21, 22)))
    smi(folder, [(0, 0, 100, 150), (20, 0, 190, 200)])
    ran = Ran(folder, "--tokens", "tokens.csv", "--samples", "gpu_metrics.csv", "--json")
    same([150, 200], [group["limit_w"] for group in ran.json["groups"]])


# ---- Stats CSVs

def test_stats_go_round(folder):
    rows = [line | {"loss": 2.5, "epoch": 3, "note": 'a "b", c'} for line in three_limits()]
    random.Random(3).shuffle(rows)
    given = stats(folder, rows, "my_training.csv")
    same(0, Ran(folder, given, "--stats-out", "one").status)
    once = (folder / "one" / "training_stats.csv").read_bytes()
    same(0, Ran(folder, "one/training_stats.csv", "--stats-out", "two").status)
    same(once, (folder / "two" / "training_stats.csv").read_bytes())
    same(Ran(folder, given, "--json").out, Ran(folder, "one/training_stats.csv", "--json").out)
    lines = list(csv.DictReader(io.StringIO(once.decode())))
    same(COLUMNS + ["loss", "epoch", "note", "energy_per_token", "mean_energy_per_token", "total_energy_per_token"],
         list(lines[0]))
    written = {tuple(line[key] for key in COLUMNS + ["loss", "epoch", "note"]) for line in lines}
    same({tuple(str(line[key]) for key in COLUMNS + ["loss", "epoch", "note"]) for line in rows}, written)
    group = Ran(folder, given, "--json").groups[200]
    of_200 = [line for line in lines if line["max_watt"] == "200"]
    same({str(group["joules_per_token"])}, {line["total_energy_per_token"] for line in of_200})
    near(statistics.fmean(float(line["power_draw"]) / 1000 for line in of_200),
         float(of_200[0]["mean_energy_per_token"]))
    near(float(of_200[0]["power_draw"]) / 1000, float(of_200[0]["energy_per_token"]))
    same(sorted(line["timestamp"] for line in lines), [line["timestamp"] for line in lines])


def test_stats_are_never_written_over_an_input(folder):
    path = stats(folder, three_limits())
    before = path.read_bytes()
    (folder / "link").symlink_to(folder)
    for target in (".", "link"):
        ran = Ran(folder, path, "--stats-out", target)
        same(2, ran.status)
        has(ran.err, "inference_stats.csv: is an input: name another folder with --stats-out")
        same(before, path.read_bytes())
    same(2, Ran(folder, SWEEPS / "trace-summary_power_p100.csv", "--stats-out", "out").status)
    assert not (folder / "out").exists()


# ---- Aggregates

def run_of(folder, name, watts, tokens_out, *, limit=None, seconds=10, smi_limit=None, reasons=None, gpus=2, **members):
    """A run that the program itself patched: `gpus` at `watts` each for `seconds`. Each begins a minute later."""
    place = folder / name
    place.mkdir(parents=True)
    begin = datetime.datetime(2026, 9, 8, 7, 20) + datetime.timedelta(minutes=len(list(folder.iterdir())))
    header = "timestamp, index, power.draw [W]" + (", power.limit [W]" if smi_limit else "") + \
        (", clocks_event_reasons.active" if reasons else "")
    lines = [header]
    for second, gpu in itertools.product(range(-1, seconds + 2), range(gpus)):
        stamp = (begin + datetime.timedelta(seconds=second)).strftime("%Y/%m/%d %H:%M:%S.000")
        line = f"{stamp}, {gpu}, {watts:.2f} W"
        if smi_limit:
            line += f", {smi_limit[gpu] if isinstance(smi_limit, list) else smi_limit:.2f} W"
        lines.append(line + (f", {reasons}" if reasons else ""))
    (place / "gpu_metrics.csv").write_text("\n".join(lines) + "\n")
    start = begin.replace(tzinfo=datetime.timezone.utc).timestamp()
    (place / "run.json").write_text(json.dumps({
        "benchmark_start_time_unix": start, "benchmark_end_time_unix": start + seconds, "duration": seconds,
        "completed": 5, "total_input_tokens": 8000, "total_output_tokens": tokens_out}))
    aggregate = {"hw": "h100", "tp": gpus, "conc": 4} | members | ({} if limit is None else {"power_limit_w": limit})
    (place / "agg_run.json").write_text(json.dumps(aggregate))
    done = subprocess.run([PROGRAM, "--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result",
                           "agg_run.json", "--expected-num-gpus", str(gpus), "--timezone", "UTC", "--require-power"],
                          cwd=place, capture_output=True, timeout=60)
    same(0, done.returncode, done.stderr)


def test_aggregates_with_a_member_for_the_limit(folder):
    run_of(folder, "a", 300, 6000, limit=300)  # 6000 J
    run_of(folder, "b", 400, 10000, limit=400)  # 8000 J
    run_of(folder, "c", 500, 10500, limit=500)  # 10000 J
    ran = Ran(folder, ".", "--json")
    same(0, ran.status, ran)
    same((400, 500), (ran.json["recommended_limit_w"], ran.json["runner_up_w"]))
    group = ran.groups[400]
    for key, value in {"n": 1, "energy_j": 8000, "tokens": 10000, "joules_per_token": 0.8, "mean_power_w": 800,
                       "gpu_power_w": 400, "time_s": 10, "limit_in_force_w": None, "state": "ok"}.items():
        same(value, round(group[key], 9) if isinstance(group[key], float) else group[key], key)
    near(1.05 * 10 / 10, ran.groups[400]["slowdown"])  # 10,500 tokens against 10,000 in the same time
    near((10000 / 10500) / 0.8 - 1, ran.json["margin"])
    same(["hw=h100 tp=2 conc=4"], list(ran.scenarios))
    same(500, Ran(folder, ".", "--json", "--objective", "time").json["recommended_limit_w"])
    same(ran.out, Ran(folder, "c/agg_run.json", "a", "b/agg_run.json", "--json").out)
    # 0.5 x 0.8 J + 0.5 x (500 W x 2) x 10 s / 10,000
    near(0.9, Ran(folder, ".", "--json", "--objective", "cost").groups[400]["value"])


def test_a_limit_by_another_name_and_none_at_all(folder):
    run_of(folder, "a", 300, 6000, cap="300 W")
    run_of(folder, "b", 400, 10000, cap="400 W")
    ran = Ran(folder, ".", "--json")
    same(1, ran.status)
    has(ran.err, "2 runs have no power limit", "--limit-key")
    same(400, Ran(folder, ".", "--json", "--limit-key", "cap").json["recommended_limit_w"])


def test_a_limit_key_that_no_run_has_is_refused(folder):
    # The recordings know limits, which must not answer in the place of the member that was meant.
    run_of(folder, "a", 300, 6000, cap="300 W", smi_limit=500)
    run_of(folder, "b", 400, 10000, cap="400 W", smi_limit=600)
    ran = Ran(folder, ".", "--limit-key", "kap")
    same((2, ""), (ran.status, ran.out))
    has(ran.err, "--limit-key: no run has 'kap': did you mean cap?")


def test_the_recording_says_the_limit(folder):
    run_of(folder, "a", 290, 6000, smi_limit=300)
    run_of(folder, "b", 390, 10000, smi_limit=400)
    ran = Ran(folder, ".", "--json")
    same((400, [300, 400]), (ran.json["recommended_limit_w"], [group["limit_w"] for group in ran.json["groups"]]))
    same(400, ran.groups[400]["limit_in_force_w"])


def test_the_recording_denies_the_limit(folder):
    run_of(folder, "a", 290, 9000, limit=300, smi_limit=700)
    run_of(folder, "b", 390, 10000, limit=400, smi_limit=[400, 700])
    run_of(folder, "c", 490, 10500, limit=500, smi_limit=500)
    run_of(folder, "d", 590, 10500, limit=600, smi_limit=600)
    ran = Ran(folder, ".", "--json")
    same(["limit_not_in_force", "limit_not_in_force", "ok", "ok"], [group["state"] for group in ran.json["groups"]])
    has(ran.groups[400]["why"], "GPU 1 had another limit in 100 % of the samples")
    same(500, ran.json["recommended_limit_w"])


def test_heat_that_slowed_the_gpus_down_is_no_limit(folder):
    run_of(folder, "a", 290, 9000, limit=300, smi_limit=300, reasons="0x0000000000000020")
    run_of(folder, "b", 390, 10000, limit=400, smi_limit=400, reasons="0x0000000000000004")  # the limit itself
    run_of(folder, "c", 490, 10500, limit=500, smi_limit=500, reasons="0x0000000000000000")
    ran = Ran(folder, ".", "--json")
    same(["limit_not_in_force", "ok", "ok"], [group["state"] for group in ran.json["groups"]])
    has(ran.groups[300]["why"], "heat or hardware slowed GPU 0 down in 100 % of the samples")


def test_a_run_that_drew_more_than_its_limit(folder):
    run_of(folder, "a", 320, 20000, limit=300)
    run_of(folder, "b", 390, 10000, limit=400)
    ran = Ran(folder, ".", "--json")
    same(("limit_not_in_force", 400), (ran.groups[300]["state"], ran.json["recommended_limit_w"]))


def test_scenarios_are_configurations(folder):
    for tp, best in ((2, 300), (4, 400)):
        run_of(folder, f"a{tp}", 300, 9000 if best == 300 else 6000, limit=300, tp=tp)
        run_of(folder, f"b{tp}", 400, 10000, limit=400, tp=tp)
    ran = Ran(folder, ".", "--json")
    same({"hw=h100 tp=2 conc=4": 300, "hw=h100 tp=4 conc=4": 400},
         {name: scenario["recommended_limit_w"] for name, scenario in ran.scenarios.items()})
    same(["hw=h100"], list(Ran(folder, ".", "--json", "--group-by", "hw").scenarios))


def test_runs_that_are_not_valid_do_not_count(folder):
    run_of(folder, "a", 300, 6000, limit=300)
    run_of(folder, "b", 400, 10000, limit=400)
    run_of(folder, "c", 200, 10000, limit=200)
    path = folder / "c" / "power_validation_run.json"
    path.write_text(path.read_text().replace('"power_valid": true', '"power_valid": false'))
    ran = Ran(folder, ".", "--json")
    same([300, 400], [group["limit_w"] for group in ran.json["groups"]])
    has(ran.err, "c/agg_run.json: left out")


def test_repeated_runs(folder):
    for i, tokens_out in enumerate((9000, 9100, 9200)):
        run_of(folder, f"a{i}", 300, tokens_out, limit=300)
        run_of(folder, f"b{i}", 400, tokens_out + 1000, limit=400)
    ran = Ran(folder, ".", "--json")
    same((300, 3), (ran.json["recommended_limit_w"], ran.groups[300]["n"]))
    near((6000 / 9000 + 6000 / 9100 + 6000 / 9200) / 3, ran.groups[300]["joules_per_token"])
    near(6000, ran.groups[300]["energy_j"])  # of a run
    same("repeats", ran.json["scenarios"][0]["interval_from"])
    same([], ran.json["ties"])


def equal_repeats(folder, watts=(290, 390), joules=(0.7, 0.69), repeats=3):
    runs = [{"hw": "x", "num_gpus": 4, "max_watt": limit, "power_valid": 1, "avg_power_w": drawn,
             "joules_per_output_token": each} for limit, drawn, each in zip((300, 400), watts, joules)] * repeats
    (folder / "all.json").write_text(json.dumps(runs))
    return "all.json"


def test_repeats_that_are_equal_in_every_digit_are_no_certainty(folder):
    """They are copies, or have too few digits: they say nothing about how repeats differ."""
    ran = Ran(folder, equal_repeats(folder), "--json")
    (scenario,) = ran.json["scenarios"]
    same((400, None, None, False), (scenario["recommended_limit_w"], scenario["interval_from"],
                                    scenario["margin_interval"], scenario["ties_judged"]))
    same([3, 3], [group["n"] for group in scenario["groups"]])
    same([None, None], [group["interval"] for group in scenario["groups"]])
    has(Ran(folder, "all.json").out, "no intervals: repeats are equal in every digit, so ties cannot be judged")


def test_what_cannot_be_judged_is_said(folder):
    ran = Ran(folder, equal_repeats(folder, repeats=1))
    has(ran.out, "no intervals: each limit was measured once, so ties cannot be judged")
    has(ran.out, "limit_not_confirmed: nothing was recorded of the limit in force")
    ran = Ran(folder, "all.json", "--json")
    same(["limit_not_confirmed"] * 2, [group["note"] for group in ran.json["groups"]])
    same((["ok"] * 2, False), ([group["state"] for group in ran.json["groups"]], ran.json["ties_judged"]))
    rows = [line for limit, start in ((150, 0), (200, 100)) for line in noisy(limit, start, 0.9 * limit, 5, limit)]
    ran = Ran(folder, stats(folder, rows), "--json")
    same(([None, None], True), ([group["note"] for group in ran.json["groups"]], ran.json["ties_judged"]))
    run_of(folder, "sweep/a", 290, 9000, limit=300, smi_limit=300)
    run_of(folder, "sweep/b", 390, 10000, limit=400)
    ran = Ran(folder, "sweep", "--json")
    same([None, "limit_not_confirmed"], [group["note"] for group in ran.json["groups"]])
    has(Ran(folder, "sweep").out, "limit_not_confirmed at 400 W: nothing was recorded of the limit in force")


def test_group_by_refuses_names_that_no_run_has(folder):
    ran = Ran(folder, equal_repeats(folder), "--group-by", "hv")
    same((2, ""), (ran.status, ran.out))
    has(ran.err, "--group-by: no run has 'hv': did you mean hw?")


def test_a_copy_is_no_repeat(folder):
    run_of(folder, "a", 300, 6000, limit=300)
    run_of(folder, "b", 400, 10000, limit=400)
    shutil.copytree(folder / "b", folder / "copy")
    ran = Ran(folder, ".", "--json")
    same([1, 1], [group["n"] for group in ran.json["groups"]])
    same(None, ran.json["scenarios"][0]["interval_from"])
    has(ran.err, "copy/agg_run.json: left out: the same measurement as b/agg_run.json: a copy is no repeat")


def test_plain_aggregates_without_records(folder):
    runs = [{"hw": "x", "num_gpus": 4, "max_watt": limit, "power_valid": 1, "avg_power_w": watts,
             "joules_per_output_token": joules} for limit, watts, joules in ((300, 290, 0.7), (400, 390, 0.6))]
    (folder / "all.json").write_text(json.dumps(runs))
    ran = Ran(folder, "all.json", "--json")
    same((400, None, None), (ran.json["recommended_limit_w"], ran.groups[400]["energy_j"], ran.groups[400]["tokens"]))
    near(0.6, ran.groups[400]["joules_per_token"])
    near((0.7 / 1160) / (0.6 / 1560), ran.groups[300]["slowdown"])  # seconds for a token


def test_a_backfill_report(folder):
    run_of(folder, "a", 300, 6000, limit=300)
    run_of(folder, "b", 400, 10000, limit=400)
    (folder / "report.jsonl").write_text("".join(
        json.dumps({"run": name, "aggregate": str(folder / name / "agg_run.json")}) + "\n" for name in ("a", "b")))
    same(400, Ran(folder, "report.jsonl", "--json").json["recommended_limit_w"])


# ---- Concurrency

def test_the_front_over_concurrency_and_its_knee(folder):
    # (conc, tokens/s for a GPU, J/token): 8 is beaten by 16 in both; the chord from 4 to 64 is 0.5 J per 300.
    points = ((4, 100, 0.5), (8, 150, 0.7), (16, 300, 0.55), (32, 350, 0.8), (64, 400, 1.0))
    runs = [{"hw": "x", "conc": conc, "power_valid": 1, "joules_per_output_token": joules, "tput_per_gpu": speed,
             "median_intvty": 1000 / conc} for conc, speed, joules in points]
    (folder / "all.json").write_text(json.dumps(runs))
    ran = Ran(folder, "all.json", "--json")
    same(0, ran.status, ran)
    same(None, ran.json["recommended_limit_w"])
    scalings = {scaling["speed_key"]: scaling for scaling in ran.json["scaling"]}
    same(["median_intvty", "tput_per_gpu"], sorted(scalings))
    found = scalings["tput_per_gpu"]["points"]
    same(["conc=4", "conc=16", "conc=32", "conc=64"], [point["name"] for point in found if point["front"]])
    same(["conc=16"], [point["name"] for point in found if point["knee"]])
    # The fastest for each user also needs least energy: the front is one point.
    same(["conc=4"], [point["name"] for point in scalings["median_intvty"]["points"] if point["front"]])
    has(Ran(folder, "all.json").out, "hw=x: J/output token against tput_per_gpu", "front, knee")


def test_the_front_is_found_by_comparing_all_points(folder):
    draw = random.Random(11)
    for _ in range(20):
        points = [(conc, draw.randrange(1, 20), draw.randrange(1, 20)) for conc in range(1, 16)]
        (folder / "all.json").write_text(json.dumps(
            [{"hw": "x", "conc": conc, "power_valid": 1, "joules_per_output_token": joules, "tput_per_gpu": speed}
             for conc, speed, joules in points]))
        front = {f"conc={conc}" for conc, speed, joules in points
                 if not any(s >= speed and j <= joules and (s, j) != (speed, joules) for _, s, j in points)}
        found = Ran(folder, "all.json", "--json").json["scaling"][0]["points"]
        same(front, {point["name"] for point in found if point["front"]}, points)


# ---- Clocks

def clock_run(folder, name, mhz, watts, tokens, limit=700, reasons="0x0000000000000000", every=None, column="clocks.current.sm",
              other=(0, 0)):
    """A run of a minute that nobody has measured: what was locked is in its recording alone."""
    (folder / name).mkdir(parents=True)
    start = 1788852000 + 1000 * len(list(folder.iterdir()))
    lines = ["timestamp, index, power.draw [W], power.limit [W], " + column +
             " [MHz], clocks_event_reasons.active"]
    for second in range(-10, 71):
        stamp = datetime.datetime.fromtimestamp(start + second, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000+00:00")
        inside = 0 <= second <= 60
        clock = mhz + (every or 0) * (second % 3) if inside else 345
        clock = other[0] if 20 <= second < 20 + other[1] else clock
        lines.append(f"{stamp}, 0, {watts if inside else 80} W, {limit} W, {clock} MHz, {reasons if inside else '0x0000000000000001'}")
    (folder / name / "gpu_metrics.csv").write_text("\n".join(lines) + "\n")
    (folder / name / "run.json").write_text(json.dumps({
        "benchmark_start_time_unix": start, "benchmark_end_time_unix": start + 60, "duration": 60, "completed": 10,
        "total_input_tokens": 1000, "total_output_tokens": tokens}))


def test_a_sweep_over_clocks_is_read_from_the_recordings(folder):
    """300 W x 60 s / 6,000 tokens = 3 J, 320 x 60 / 8,000 = 2.4 J, 405 x 60 / 9,000 = 2.7 J: 12.5 % more."""
    for name, mhz, watts, tokens in (("x", 1500, 405, 9000), ("y", 900, 300, 6000), ("z", 1200, 320, 8000)):
        clock_run(folder / "sweep", name, mhz, watts, tokens)
    ran = Ran(folder, "sweep", "--json")
    same(0, ran.status, ran)
    report = ran.json
    same([900, 1200, 1500], [group["limit_mhz"] for group in report["groups"]])
    same([None] * 3, [group["limit_w"] for group in report["groups"]])
    same([900, 1200, 1500], [group["limit_in_force_mhz"] for group in report["groups"]])
    for group, joules in zip(report["groups"], (3.0, 2.4, 2.7)):
        near(joules, group["joules_per_token"], 2e-3)  # by the estimate: a reading is older than its stamp
    same((1200, 1500, None), (report["recommended_limit_mhz"], report["runner_up_mhz"], report["recommended_limit_w"]))
    near(0.125, report["margin"], 2e-3)
    same(True, report["scenarios"][0]["clocks"])
    has(Ran(folder, "sweep").out, "recommended 1200 MHz, by energy per token; then 1500 MHz, 12.5")


def test_a_sweep_over_clocks_is_on_the_page(folder):
    """The runs of the test before, with clocks from recordings and from aggregates; 133.3 tokens/s at 1200 MHz."""
    for case in ("recorded", "stated"):
        for name, mhz, watts, tokens in (("x", 1500, 405, 9000), ("y", 900, 300, 6000), ("z", 1200, 320, 8000)):
            clock_run(folder / case, name, mhz, watts, tokens)
            if case == "stated":
                done = subprocess.run([PROGRAM, "measure", "run.json", "gpu_metrics.csv", "--out", "agg_run.json", "--set",
                                       f"gpu_clock_mhz={mhz}"], cwd=folder / case / name, capture_output=True)
                same(0, done.returncode, done.stderr)
        done = subprocess.run([PROGRAM, "report", case, "--out", f"{case}.html", "--curves", "all" if case == "recorded" else "0"],
                              cwd=folder, capture_output=True, text=True)
        same(0, done.returncode, done.stderr)
        page = (folder / f"{case}.html").read_text()
        for words in ('<section id="clocks">', "graphics clock of a GPU (MHz)", "Energy against clock", "Throughput against clock",
                      "Recommended by energy per token: 1200 MHz; then 1500 MHz, 12.5", "1200 MHz: 2.40", "1200 MHz: 133.3"):
            has(page, words)
        assert "power limit of a GPU (W)</text>" not in page and '<section id="limits">' not in page, case


def test_a_clock_that_the_power_limit_held_back_cannot_win(folder):
    clock_run(folder / "sweep", "a", 900, 300, 6000)
    clock_run(folder / "sweep", "b", 1200, 320, 8000)
    (folder / "sweep" / "a" / "agg_run.json").write_text(json.dumps({"gpu_clock_mhz": 900}))
    (folder / "sweep" / "b" / "agg_run.json").write_text(json.dumps({"gpu_clock_mhz": 1200}))
    clock_run(folder / "sweep", "c", 1395, 330, 9000, reasons="0x0000000000000004")
    (folder / "sweep" / "c" / "agg_run.json").write_text(json.dumps({"gpu_clock_mhz": 1500}))
    for name in "abc":
        words = ["--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json", "--expected-num-gpus", "1"]
        done = subprocess.run([PROGRAM, *words], cwd=folder / "sweep" / name, capture_output=True, timeout=60)
        same(0, done.returncode, done.stderr)
    ran = Ran(folder, "sweep", "--json")
    states = {group["limit_mhz"]: (group["state"], group["why"]) for group in ran.json["groups"]}
    same({900: ("ok", None), 1200: ("ok", None),
          1500: ("limit_not_in_force", "the power limit held the clock of GPU 0 back in 100 % of the samples")}, states)
    same(1200, ran.json["recommended_limit_mhz"])


def clock_states(folder, case, **more):
    """Of 900, 1200 and 1500 MHz, as aggregates state them; the run of 1200 MHz was another one, by `more`."""
    for name, mhz, watts, tokens in (("a", 900, 300, 6000), ("b", 1200, 320, 8000), ("c", 1500, 405, 9000)):
        clock_run(folder / case, name, more.get("mhz", mhz) if name == "b" else mhz, watts, tokens,
                  **({key: value for key, value in more.items() if key != "mhz"} if name == "b" else {}))
        done = subprocess.run([PROGRAM, "measure", "run.json", "gpu_metrics.csv", "--out", "agg_run.json", "--set",
                               f"gpu_clock_mhz={mhz}"], cwd=folder / case / name, capture_output=True)
        same(0, done.returncode, done.stderr)
    ran = Ran(folder, case, "--json").json
    return {group["limit_mhz"]: (group["state"], group["why"]) for group in ran["groups"]}[1200], ran["recommended_limit_mhz"]


def test_an_asked_clock_is_confirmed_by_each_column_of_it(folder):
    for i, column in enumerate(("clocks.gr", "clocks.sm", "clocks.current.graphics", "clocks.current.sm")):
        same((("ok", None), 1200), clock_states(folder, f"held{i}", column=column), column)
        same((("limit_not_in_force", "the clock in force was 1500 MHz"), 1500),
             clock_states(folder, f"other{i}", column=column, mhz=1500), column)


def test_an_asked_clock_must_hold_in_all_but_a_few_samples(folder):
    """3 of some 60 samples are 5 %, 6 are 10 %."""
    same((("ok", None), 1200), clock_states(folder, "few", other=(900, 3)))
    same((("ok", None), 1200), clock_states(folder, "steps", other=(1185, 30)))
    state, best = clock_states(folder, "tenth", other=(900, 6))
    same(("limit_not_in_force", "GPU 0 had another clock in 10 % of the samples", 1500), (*state, best))


def test_limits_and_clocks_that_both_change_are_named(folder):
    clock_run(folder / "sweep", "a", 900, 200, 6000, limit=300)
    clock_run(folder / "sweep", "b", 1200, 320, 8000, limit=500)
    clock_run(folder / "sweep", "c", 1500, 405, 9000, limit=500)
    ran = Ran(folder, "sweep", "--json")
    has(ran.err, "both the power limit (300 to 500 W) and the clock (900 to 1500 MHz) change")
    same([300, 500], [group["limit_w"] for group in ran.json["groups"]])
    for name, mhz, watts, limit in (("a", 900, 298, 300), ("b", 1200, 398, 400), ("c", 1500, 498, 500)):
        clock_run(folder / "reached", name, mhz, watts, 8000, limit=limit)
    ran = Ran(folder, "reached", "--json")  # the limit lowers the clock: nothing else changed
    assert "both the power limit" not in ran.err, ran.err
    same([300, 400, 500], [group["limit_w"] for group in ran.json["groups"]])


def test_clocks_that_wander_are_no_sweep(folder):
    """By 2 % between runs, or by 5 % within one: a boost, not a lock. Two clocks may be of two machines."""
    for case, clocks, every in (("near", (1950, 1980, 2010), 0), ("wandering", (1300, 1500, 1900), 60), ("two", (1300, 1500), 0)):
        for i, mhz in enumerate(clocks):
            clock_run(folder / case, f"r{i}", mhz, 400 + i, 8000, every=every)
        groups = Ran(folder, case, "--json").json["groups"]
        same([(700, None)], [(group["limit_w"], group["limit_mhz"]) for group in groups], case)


def test_a_plan_over_clocks_locks_and_unlocks_them(folder):
    text, path = plan(folder, "--plan", "900:1500:300", "--over", "clocks", "--repeats", "1", "--cool-down", "0", "--run",
                      'echo "{}" >"$RESULT"')
    same([(1, 900), (1, 1200), (1, 1500)], measures(text))
    assert " W" not in text and "power" not in text.replace("aggregate-power", ""), text
    tools = folder / "tools"
    tools.mkdir()
    for name, script in (("sudo", 'exec "$@"'), ("aggregate-power", "exit 0"), ("aggregate-power-monitor", STAND_INS["aggregate-power-monitor"]),
                         ("nvidia-smi", 'case $* in *index*) echo 0 ;; *) echo "$*" >>"$STATE/log" ;; esac')):
        (tools / name).write_text(script if script.startswith("#!") else f"#!/bin/sh\n{script}\n")
        (tools / name).chmod(0o755)
    (folder / "0").write_text("")
    done = subprocess.run(["sh", path], cwd=folder, capture_output=True, text=True, timeout=60,
                          env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "STATE": str(folder)})
    same(0, done.returncode, done.stderr)
    same(["-i 0 -lgc 900,900", "-i 0 -lgc 1200,1200", "-i 0 -lgc 1500,1500", "-i 0 -rgc"], (folder / "log").read_text().splitlines())
    same({"gpu_clock_mhz": 900}, json.loads((folder / "sweep" / "pass1-900MHz" / "agg_run.json").read_text()))
    same(2, Ran(folder, "--plan", "900:1500:300", "--over", "clocks", "--vendor", "amd").status)


# ---- The plan

def plan(folder, *words):
    ran = Ran(folder, *words)
    same(0, ran.status, ran)
    path = folder / "plan.sh"
    path.write_text(ran.out)
    same(0, subprocess.run(["sh", "-n", path], timeout=60).returncode, ran.out)
    if shutil.which("shellcheck"):
        done = subprocess.run(["shellcheck", path], capture_output=True, timeout=60)
        same(b"", done.stdout, ran.out)
    return ran.out, path


def measures(text):
    return [tuple(map(int, line.split()[1:])) for line in text.splitlines() if line.startswith("measure ")]


def test_a_plan_goes_up_and_down(folder):
    text, _ = plan(folder, "--plan", "150:200:25")
    same([(1, 150), (1, 175), (1, 200), (2, 200), (2, 175), (2, 150), (3, 150), (3, 175), (3, 200)], measures(text))
    has(text, "nvidia-smi -i", "-pl", "aggregate-power-monitor run", "trap put_back EXIT", "cool_down=60")
    text, _ = plan(folder, "--plan", "150:190:25", "--repeats", "1", "--cool-down", "5", "--vendor", "amd", "--gpus", "0,3")
    same([(1, 150), (1, 175)], measures(text))
    has(text, "amd-smi set", "gpu_list=0,3", "cool_down=5")
    plan(folder, "--plan", "300:300:1", "--run", "echo \"it's\" $RESULT; (")


def test_plans_that_are_none(folder):
    for text, why in (("150:300:0", "a step of at least 1 W"), ("300:150:25", "START to be at most END"),
                      ("a:b:c", "START:END:STEP"), ("150:300", "START:END:STEP"), ("1.5:2:1", "START:END:STEP"),
                      ("150:300:-25", "a step of at least 1 W"), ("0:300:25", "limits from 1"),
                      ("150:300:25:1", "START:END:STEP")):
        ran = Ran(folder, f"--plan={text}")
        same(2, ran.status, text)
        has(ran.err, why, f"'{text}'")
    same(2, Ran(folder, "--repeats", "2").status)
    same(2, Ran(folder, "--plan", "150:300:25", "--repeats", "0").status)
    same(2, Ran(folder, "--plan", "150:300:25", "--gpus", "0;reboot").status)
    same(2, Ran(folder, "--plan", "150:300:25", "rows.csv").status)


STAND_INS = {
    "sudo": '#!/bin/sh\nexec "$@"\n',
    # Limits are kept in files; a query of them prints two decimals.
    "nvidia-smi": """#!/bin/sh
set -eu
gpu= limit=
for word in "$@"; do
  case $word in --query-gpu=index) echo 0; echo 1; exit ;; esac
done
while [ $# -gt 0 ]; do
  case $1 in -i) gpu=$2; shift ;; -pl) limit=$2; shift ;; esac
  shift
done
if [ -n "$limit" ]; then echo "$gpu $limit" >>"$STATE/log"; echo "${STUCK-$limit}" >"$STATE/$gpu"; exit; fi
printf '%.2f\\n' "$(cat "$STATE/$gpu")"
""",
    "amd-smi": """#!/bin/sh
set -eu
case "$*" in
  "list --csv") printf 'gpu,bdf\\n0,a\\n1,b\\n'; exit ;;
  static*) printf '[{"gpu": %s, "limit": {"ppt0": {"max_power_limit": {"value": 750, "unit": "W"}, "socket_power_limit":' "$3"
    printf ' {"value": %s, "unit": "W"}}, "ppt1": {"socket_power_limit": "N/A"}}}]\\n' "$(cat "$STATE/$3")"; exit ;;
esac
[ "$5" = ppt0 ] || [ -n "${OLD-}" ] || exit 2
[ "$5" != ppt0 ] || [ -z "${OLD-}" ] || exit 2
if [ "$5" = ppt0 ]; then echo "$6" >"$STATE/$3"; else echo "$5" >"$STATE/$3"; fi
""",
    "aggregate-power-monitor": """#!/bin/sh
set -eu
while [ "$1" != -- ]; do [ "$1" != --output ] || csv=$2; shift; done
shift
cat "$STATE/0" >"$csv"
exec "$@"
""",
    # Stands for the measurement: 2 J per watt of the limit, 10 tokens each up to 200 W.
    "aggregate-power": """#!/bin/sh
set -eu
if [ "$1" = recommend ]; then exec "$PROGRAM" "$@" --json; fi
while [ $# -gt 0 ]; do [ "$1" != --agg-result ] || aggregate=$2; shift; done
python3 - "$aggregate" <<'END'
import json, sys
path = sys.argv[1]
run = json.load(open(path))
watts = run["power_limit_w"]
run |= {"hw": "x", "power_valid": 1, "avg_power_w": watts, "total_gpu_energy_j": 2.0 * watts,
        "joules_per_output_token": 2 * watts / (10 * min(watts, 200))}
json.dump(run, open(path, "w"))
END
""",
}


def stand_ins(folder):
    tools = folder / "tools"
    state = folder / "state"
    tools.mkdir()
    state.mkdir()
    for name, text in STAND_INS.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    for gpu in "01":
        (state / gpu).write_text("700")
    return os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "STATE": str(state), "PROGRAM": PROGRAM}


def limits_now(folder):
    return [float((folder / "state" / gpu).read_text()) for gpu in "01"]


def test_a_plan_runs_and_puts_the_limits_back(folder):
    environment = stand_ins(folder)
    for vendor, more in (("nvidia", {}), ("amd", {}), ("amd", {"OLD": "1"})):
        _, path = plan(folder, "--plan", "150:250:50", "--repeats", "2", "--cool-down", "0", "--vendor", vendor, "--run",
                       'echo "{}" >"$RESULT"; echo "$LIMIT_W" >>seen')
        shutil.rmtree(folder / "sweep", ignore_errors=True)
        for gpu in "01":
            (folder / "state" / gpu).write_text("700")
        (folder / "seen").unlink(missing_ok=True)
        done = subprocess.run(["sh", path], cwd=folder, env=environment | more, capture_output=True, timeout=120)
        same(0, done.returncode, done.stderr.decode())
        same("150 200 250 250 200 150", " ".join((folder / "seen").read_text().split()))
        same([700, 700], limits_now(folder))
        report = json.loads(done.stdout)
        same([(150, 2), (200, 2), (250, 2)], [(group["limit_w"], group["n"]) for group in report["groups"]])
        same(150, report["groups"][0]["limit_in_force_w"])
        same([200], report["ties"])  # 0.2 J/token at 150 W and at 200 W
        same("700.00" if vendor == "nvidia" else "700",
             (folder / "sweep" / "limits_before").read_text().split()[1])


def test_a_plan_undoes_after_a_failure(folder):
    environment = stand_ins(folder)
    _, path = plan(folder, "--plan", "150:250:50", "--cool-down", "0", "--run", "exit 7")
    done = subprocess.run(["sh", path], cwd=folder, env=environment, capture_output=True, timeout=60)
    same(7, done.returncode, done.stderr.decode())
    same([700, 700], limits_now(folder))
    # A folder that is there is never used again.
    done = subprocess.run(["sh", path], cwd=folder, env=environment, capture_output=True, timeout=60)
    same(1, done.returncode)
    has(done.stderr.decode(), "name a folder that does not exist yet")


def test_a_plan_undoes_after_a_signal(folder):
    environment = stand_ins(folder)
    _, path = plan(folder, "--plan", "150:250:50", "--cool-down", "0", "--run", "touch running; sleep 1")
    process = subprocess.Popen(["sh", path], cwd=folder, env=environment, stderr=subprocess.DEVNULL)
    while not (folder / "running").exists():
        time.sleep(0.02)
    same([150, 150], limits_now(folder))
    process.send_signal(signal.SIGTERM)
    same(143, process.wait(timeout=60))
    same([700, 700], limits_now(folder))


def test_a_plan_stops_where_a_limit_does_not_take(folder):
    environment = stand_ins(folder) | {"STUCK": "700"}
    _, path = plan(folder, "--plan", "150:250:50", "--cool-down", "0", "--run", "touch ran")
    done = subprocess.run(["sh", path], cwd=folder, env=environment, capture_output=True, timeout=60)
    same(1, done.returncode)
    has(done.stderr.decode(), "150 W was set, and 700.00 W is in force")
    assert not (folder / "ran").exists()


def test_a_plan_without_a_load_changes_nothing(folder):
    environment = stand_ins(folder)
    _, path = plan(folder, "--plan", "150:250:50")
    done = subprocess.run(["sh", path], cwd=folder, env=environment, capture_output=True, timeout=60)
    same(1, done.returncode)
    has(done.stderr.decode(), "write the load's command into 'load'")
    assert not (folder / "state" / "log").exists() and not (folder / "sweep").exists()


# ---- Wrong use

def test_wrong_use(folder):
    (folder / "other.csv").write_text("a,b\n1,2\n")
    (folder / "rates.csv").write_text("timestamp,tokens_per_sec,max_watt\n2024-07-05T10:00:00,1,150\n")
    for words, why in (((), "expected RESULT"), (("none.csv",), "none.csv"), (("other.csv",), "other.csv: expected"),
                       (("rates.csv",), "join it with a recording"), (("--tokens", "rates.csv"), "--samples"),
                       (("--tokens", "other.csv", "--samples", "rates.csv"), "timestamp and tokens_per_sec"),
                       (("rates.csv", "--eta", "1.1"), "--eta"), (("rates.csv", "--objective", "speed"), "--objective"),
                       (("rates.csv", "--scenario", "other=rates.csv"), "--scenario"),
                       (("rates.csv", "--max-slowdown", "0.9"), "--max-slowdown"),
                       ((SWEEPS / "trace-summary_power_p100.csv", "--group-by", "gpu"), "there is no column 'gpu'")):
        ran = Ran(folder, *words)
        same((2, ""), (ran.status, ran.out), words)
        has(ran.err, why)
        same(1, len(ran.err.splitlines()), words)


def test_damaged_files_are_never_fatal(folder):
    draw = random.Random(5)
    sources = [SWEEPS / name for name in ("training_stats.csv", "trace-summary_power_p100.csv", "tokens.csv")]
    for i in range(90):
        text = bytearray(sources[i % 3].read_bytes())
        if i % 2:
            del text[draw.randrange(len(text)):]
        else:
            for _ in range(draw.randrange(1, 30)):
                text[draw.randrange(len(text))] = draw.choice(b'\x00\xff",\n\r-e.9N')
        (folder / "damaged.csv").write_bytes(text)
        words = ["--tokens", "damaged.csv", "--samples", SWEEPS / "gpu_metrics.csv"] if i % 3 == 2 else ["damaged.csv"]
        ran = Ran(folder, *words, "--json")
        assert ran.status in (0, 1, 2), ran
        if ran.status < 2:
            assert "NaN" not in ran.out and "Infinity" not in ran.out, ran
            json.loads(ran.out)


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
