#!/usr/bin/env python3
"""Comparisons of runs: verdicts and exit statuses, what is matched and left out, and what is printed.

Expected values are arithmetic by hand, with t quantiles from published tables. The last tests compare
real runs that the program itself measured.

usage: tests/decisions/compare_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import itertools
import json
import math
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import running  # noqa: E402
from running import ROOT, near, run_tests, same  # noqa: E402

METRIC = "joules_per_output_token"
T2, T4, NORMAL = 4.302652730, 2.776445105, 1.959963985  # 97.5 % of two, four, infinitely many degrees
UUIDS = ["GPU-5f0c1a2b-0000-1111-2222-333344445555", "GPU-6a1d2b3c-0000-1111-2222-333344445555"]


def has(part, text):
    assert part in text, f"no {part!r} in {text!r}"


class Folder(running.Folder):
    def compare(self, *words):
        return self.call("compare", *words)

    def judge(self, verdict, *words):
        """The JSON of a comparison that must have this verdict, and its exit status."""
        self.compare(*words, "--json")
        assert self.out, self.err
        found = json.loads(self.out)
        same((verdict, {"worse": 1, "better": 0, "equivalent": 0, "insufficient": 3}[verdict]),
             (found["verdict"], self.status), " ".join(map(str, words)))
        return found

    def run(self, name, joules, remove=(), **members):
        """An aggregate."""
        everything = {"hw": "h100", "tp": 8, "conc": 4, "power_metric_schema_version": 2, "power_valid": 1,
                      "avg_power_w": 500.0, "avg_total_gpu_power_w": 4000.0, METRIC: joules} | members
        return self.write(name, {key: everything[key] for key in everything if key not in remove})

    def runs(self, folder, *joules, **members):
        for number, each in enumerate(joules):
            self.run(f"{folder}/agg_{number}.json", each, **members)
        return folder

    def recorded(self, name, joules, own, whole=None, ids=("0", "1"), start=1000.0, **members):
        """An aggregate with an audit record beside it: relative uncertainties of the same boards and of all."""
        self.run(name, joules, **members)
        whole = own if whole is None else whole
        record = pathlib.Path(name).with_name("power_validation_" + pathlib.Path(name).name)
        self.write(record, {
            "schema_version": 1, "power_valid": True, "reasons": [], "telemetry_source": "gpu.csv",
            "benchmark_result": "run.json", "observed_gpu_ids": list(ids),
            "benchmark_window": {"start_time_unix": start, "end_time_unix": start + 60},
            "metrics": {METRIC: joules},
            "uncertainty": {METRIC: {
                "published": joules, "estimate": joules, "standard_uncertainty": joules * whole,
                "low": joules * (1 - 1.96 * whole), "high": joules * (1 + 1.96 * whole),
                "repeatability": {"standard_uncertainty": joules * own, "low": joules * (1 - 1.96 * own),
                                  "high": joules * (1 + 1.96 * own)}}},
            "computed_from": {"aggregate": pathlib.Path(name).name}})
        return name


def around(value, share):
    """Three repeats with that mean and standard deviation."""
    return value * (1 - share), value, value * (1 + share)


def test_a_single_long_configuration_is_named_above_its_table(folder):
    model = "meta-llama/Llama-3.1-70B-Instruct-with-a-name-that-is-long"
    folder.runs("base", *around(1.0, 0.01), model=model)
    folder.runs("new", *around(1.0, 0.01), model=model)
    for words in (["base"], ["base", "--with", "new"]):
        folder.compare(*words)
        table = folder.out.split("\n\n")[1]
        has(f"model={model}", re.search(r"(?ms)^all: (.*?)\n\n", folder.out)[1])
        same([], [line for line in folder.out.splitlines() if len(line) > 100], "lines")
        has("\nall ", table)
        has(model, folder.call("compare", *words, "--format", "markdown").out)
    for number in (1, 2):  # two configurations keep their names
        folder.runs(f"two/{number}", *around(1.0, 0.01), model=model, conc=number)
    has("\nconc=1 ", folder.compare("two").out)


# ---- Verdicts

def test_power_limits_that_differ_are_named(folder):
    """A limit is no part of a configuration: runs at two limits would be repeats in silence."""
    for number, limit in enumerate((300, 300, 250)):
        folder.run(f"base/agg_{number}.json", 2.0 + number / 100, power_limit_w=limit)
    for number, limit in enumerate((300, 300.4)):
        folder.run(f"new/agg_{number}.json", 2.0 + number / 100, power_limit_w=limit)
    mixed = ("the runs of the base were at several power limits (250 W, 300 W), which widens the interval: compare runs "
             "at one limit, or tell them apart with --match-by")
    notes = lambda *words: json.loads(folder.compare(*words, "--json").out)  # noqa: E731
    same([mixed], [note for note in notes("base", "--with", "new")["comparisons"][0]["notes"] if "limit" in note])
    same([mixed], [note for note in notes("base")["summaries"][0]["notes"] if "limit" in note])
    has("several power limits (250 W, 300 W)", " ".join(folder.compare("base", "--with", "new").out.split()))
    same([], [note for note in notes("new")["summaries"][0]["notes"] if "limit" in note])
    by_limit = notes("base", "--with", "new", "--match-by", "hw,power_limit_w")
    assert not any("limit" in note for one in by_limit["comparisons"] for note in one["notes"]), by_limit
    for number in range(3):
        folder.run(f"low/agg_{number}.json", 1.9 + number / 100, enforced_power_limit_w=250, power_limit_w=200)
    same(["the base was at a power limit of 300 W, the new side at 250 W: the change is also that of the limit"],
         [note for note in notes("new", "--with", "low")["comparisons"][0]["notes"] if "limit" in note])


def accuracy(folder, *words):
    found = json.loads(folder.compare("base", "--with", "new", "--boards", "different", "--json", *words).out)
    one = found["comparisons"][0]
    assert not any("estimates" in note for note in one["notes"]), one["notes"]
    return one["values"], one["sensor_accuracy"]


def test_bounds_of_a_window_say_nothing_about_sensors(folder):
    """An estimated window without --uncertainty: its record bounds each metric over the places of the window."""
    for side, joules in (("base", 2.0), ("new", 2.1)):
        for number in range(3):
            name = f"{side}/agg_{number}.json"
            value = joules + number / 1000
            folder.recorded(name, value, 0.001, start=1000 + 100 * number)
            record = folder.path / side / f"power_validation_agg_{number}.json"
            content = json.loads(record.read_text())
            del content["uncertainty"]
            record.write_text(json.dumps(content))
    values, plain = accuracy(folder)
    same("published", values)
    assert 0.01 < plain < 0.1, plain  # sensors of eight boards, on both sides
    for record in folder.path.glob("*/power_validation_*.json"):
        content = json.loads(record.read_text())
        value = content["metrics"][METRIC]
        content["metric_intervals"] = {METRIC: {"low": value - 0.01, "high": value + 0.02, "components": {}}}
        record.write_text(json.dumps(content))
    same(("published", plain), accuracy(folder))
    one = json.loads(folder.compare("base/agg_0.json", "--json").out)["summaries"][0]
    near(1.99, one["low"])
    near(2.02, one["high"])
    rows = [json.loads(line) for line in folder.call("export", "base", "--format", "jsonl").out.splitlines()]
    same([{}] * 3, [row["intervals"] for row in rows if row["kind"] == "run"])
    assert "_low" not in folder.call("export", "base", "--format", "prometheus").out


def test_bounds_of_a_measured_window_say_nothing_about_sensors(folder):
    def measured(name, low, high):
        run = {"valid": True, "window": {"start_unix": 1000, "end_unix": 1060}, "duration_s": 60, "gpu_ids": ["0"],
               "reasons": [], "avg_power_w": 500, "total_gpu_energy_j": 30000, METRIC: 2.0}
        bounds = {} if low is None else {"energy_j_low": low, "energy_j_high": high}
        folder.write(name, {"schema": "aggregate-power/measure-2", "runs": [run | bounds]})

    found = {}
    for bounds in ((None, None), (29700, 30300)):
        measured("base", *bounds)
        measured("new", *bounds)
        found[bounds] = accuracy(folder)
    same(found[None, None], found[29700, 30300])
    assert found[None, None][1] > 0.01, found


def test_boards_are_read_from_recordings(folder):
    """Records of the contract's keys name no UUID; the recordings that they name may."""
    start = 1_788_852_000

    def boards(base, new, states=",power.limit [W]", value=",300"):
        for side, uuids in (("base", base), ("new", new)):
            folder.recorded(f"{side}/agg_0.json", 2.0, 0.001, start=start)
            rows = [f"{start + second},{gpu},{uuids[gpu]},200{value}" for second in range(-2, 63) for gpu in (0, 1)]
            (folder.path / side / "gpu.csv").write_text(f"timestamp,index,uuid,power.draw [W]{states}\n" +
                                                        "\n".join(rows) + "\n")
        return json.loads(folder.compare("base", "--with", "new", "--json").out)["comparisons"][0]["boards"]

    others = [uuid.replace("GPU-", "GPU-9") for uuid in UUIDS]
    same("same", boards(UUIDS, UUIDS))
    same("different", boards(UUIDS, others))
    same("different", boards(UUIDS, others, "", ""))
    same("different", boards(UUIDS, [UUIDS[0], others[1]]))
    same("assumed_same", boards(UUIDS, ["", ""]))


def test_power_limits_of_recordings_are_named(folder):
    start = 1_788_852_000
    for number, limit in enumerate((300, 250)):
        name = f"base/agg_{number}.json"
        folder.recorded(name, 2.0, 0.001, start=start + 100 * number)
        record = folder.path / "base" / f"power_validation_agg_{number}.json"
        record.write_text(record.read_text().replace('"gpu.csv"', f'"gpu_{number}.csv"'))
        rows = [f"{start + 100 * number + second},{gpu},200,{limit}" for second in range(-2, 63) for gpu in (0, 1)]
        (folder.path / "base" / f"gpu_{number}.csv").write_text("timestamp,index,power.draw [W],power.limit [W]\n" +
                                                                "\n".join(rows) + "\n")
    folder.compare("base", "--json")
    has("several power limits (250 W, 300 W)", folder.out)


def test_numbers_that_no_run_can_have(folder):
    """Sums of them are infinite, and their quotients are not numbers: such runs are not valid, for every command."""
    unfit = re.compile(r"(?<![A-Za-z_])[-+]?(inf|nan)(?![A-Za-z_])", re.IGNORECASE)
    for value, key in itertools.product((1e308, 1e200, 1e-308, 5e-324), (METRIC, "avg_total_gpu_power_w", "tput")):
        for side in ("a", "b"):
            members = {"tput": 100.0, "power_limit_w": 300 if side == "a" else 250, "total_gpu_energy_j": 4000.0}
            folder.runs(side, 1.0, 1.1, 1.2, **members)
            folder.run(f"{side}/agg_8.json", 1.0, **members | {key: value})
            folder.run(f"{side}/agg_9.json", 1.0, **members | {key: value})
        metric = ("--metric", key, "--match-by", "hw")
        for words in (("compare", "a", "--with", "b", *metric), ("compare", "a", "--with", "b", *metric, "--json"),
                      ("compare", "a", *metric), ("recommend", "a", "b"), ("recommend", "a", "b", "--json"),
                      ("report", "a", "b", "--out", "-"), ("export", "a", "b", "--format", "prometheus", "--tdp", "auto"),
                      ("export", "a", "b", "--format", "jsonl", "--tdp", "auto")):
            folder.call(*words)
            assert 0 <= folder.status <= 3, (value, words, folder.status, folder.err)
            lines = [line for line in (folder.out + folder.err).splitlines()
                     if unfit.search(line) and not line.startswith(("<style>", "<title>"))]
            same([], lines, f"{value} {words}")
        folder.compare("a", "--with", "b", *metric, "--json")
        found = json.loads(folder.out)["comparisons"][0]
        same((3, 3), (found["base"]["n"], found["new"]["n"]), f"{key} {value}")
        same(4, len(found["excluded"]))
        for run in found["excluded"]:
            has(f"'{key}' is ", run["reason"])
            has("which no run can have", run["reason"])


def test_repeats_are_compared_by_welch(folder):
    folder.runs("base", *around(2.0, 0.01))
    folder.runs("new", *around(2.1, 0.01))
    found = folder.judge("worse", "base", "--with", "new")
    half_width = T4 * 0.01 * math.sqrt(2 / 3)
    near(0.05, found["change"])
    near(1.05 * math.exp(-half_width) - 1, found["change_low"], 1e-8)
    near(1.05 * math.exp(half_width) - 1, found["change_high"], 1e-8)
    same((3, 3, "hw=h100 tp=8 conc=4"), (found["n_base"], found["n_new"], found["decided_by"]))
    one = found["comparisons"][0]
    same(("welch", "published", METRIC), (one["method"], one["values"], one["metric"]))
    near(4, one["degrees_of_freedom"])
    near(2.0 - T2 * 0.02 / math.sqrt(3), one["base"]["low"], 1e-8)
    near(0.021, one["new"]["standard_deviation"])
    same(["new/agg_0.json", "new/agg_1.json", "new/agg_2.json"], one["new"]["files"])
    same(0.02, found["margin"])


def test_each_verdict_has_its_status(folder):
    folder.runs("base", *around(2.0, 0.001))
    for mean, verdict in ((2.1, "worse"), (1.9, "better"), (2.0, "equivalent"), (2.01, "equivalent"),
                          (2.04, "worse")):
        folder.runs("new", *around(mean, 0.001))
        folder.judge(verdict, "base", "--with", "new")
        same({"worse": 1}.get(verdict, 0), folder.compare("base", "--with", "new").status)
    folder.runs("new", *around(2.0, 0.02))  # the interval reaches beyond 2 %, on both sides
    found = folder.judge("insufficient", "base", "--with", "new")
    has("repeat", found["comparisons"][0]["lack"])
    same(3, folder.compare("base", "--with", "new").status)


def test_one_percent_is_decided_by_three_repeats(folder):
    for share in (0.001, 0.002, 0.003):
        folder.runs("base", *around(2.0, share))
        folder.runs("new", *around(2.02, share))
        folder.judge("worse", "base", "--with", "new", "--margin", "0.5%")
        folder.judge("better", "new", "--with", "base", "--margin", "0.2 %")
        folder.judge("equivalent", "base", "--with", "new")  # the whole interval is within 2 %


def test_a_fifth_of_a_percent_is_not(folder):
    folder.runs("base", *around(2.0, 0.0075))
    folder.runs("new", *around(2.004, 0.0075))
    folder.judge("insufficient", "base", "--with", "new", "--margin", "1%")
    # 0.2 % +- 1.70 %: certainly no more than 2 %, though.
    found = folder.judge("equivalent", "base", "--with", "new")
    near(1.002 * math.exp(T4 * 0.0075 * math.sqrt(2 / 3)) - 1, found["change_high"], 1e-8)


def test_less_is_better_for_energy_and_more_for_throughput(folder):
    for name, falls in ((METRIC, "better"), ("joules_per_total_token", "better"), ("avg_power_w", "better"),
                        ("output_seconds", "better"), ("tput_per_gpu", "worse"),
                        ("output_tput_per_gpu", "worse"), ("total_throughput", "worse"),
                        ("Tokens_per_Joule", "worse"), ("mean_intvty", "worse")):
        for side, mean in (("base", 100.0), ("new", 90.0)):
            for number, value in enumerate(around(mean, 0.001)):
                folder.run(f"{side}/agg_{number}.json", 1.0, **{name: value})
        found = folder.judge(falls, "base", "--with", "new", "--metric", name)
        same(falls == "worse", found["higher_is_better"], name)
        folder.judge({"better": "worse"}.get(falls, "better"), "new", "--with", "base", "--metric", name)
        near(-0.1, found["change"])
    folder.judge("worse", "base", "--with", "new", "--metric", "mean_intvty", "--higher-is-better")


def test_a_margin_of_zero_leaves_nothing_equivalent(folder):
    folder.runs("base", *around(2.0, 0.001))
    folder.runs("new", *around(2.0, 0.001))
    folder.judge("insufficient", "base", "--with", "new", "--margin", "0")
    for text in ("2", "0.02", "-1%", "101%", "x", "", "%", "nan%"):
        folder.compare("base", "--with", "new", "--margin", text)
        same(2, folder.status, text)
    has("expected a percentage", folder.err)


# ---- Spread

def test_equal_repeats_are_not_infinitely_certain(folder):
    folder.runs("base", 2.0, 2.0, 2.0)
    folder.runs("new", 2.0, 2.0, 2.0)
    found = folder.judge("equivalent", "base", "--with", "new")
    half_width = T4 * 5e-7 / math.sqrt(3) / 2 * math.sqrt(2 / 3)  # six decimals are published
    near(math.expm1(half_width), found["change_high"], 1e-12)
    assert found["change_low"] < 0 < found["change_high"]
    # Of a number of somebody else's, as many as are written: 100.5 has one.
    for side in ("base", "new"):
        for number in range(3):
            folder.run(f"{side}/agg_{number}.json", 1.0, tput_per_gpu=100.5)
    found = folder.judge("equivalent", "base", "--with", "new", "--metric", "tput_per_gpu")
    near(math.expm1(T4 * 0.05 / math.sqrt(3) / 100.5 * math.sqrt(2 / 3)), found["change_high"], 1e-10)


def test_copies_of_one_number_are_no_repeats(folder):
    """Aggregates with nothing but 2.003317, in several folders."""
    others = ("avg_power_w", "avg_total_gpu_power_w", "power_metric_schema_version", "power_valid")
    for side, joules in (("base", 2.003317), ("new", 2.061244)):
        for attempt in range(3):
            folder.run(f"{side}/{attempt}/agg_x.json", joules, others, attempt=attempt)
    found = folder.judge("insufficient", "base", "--with", "new")
    same((1, 1), (found["n_base"], found["n_new"]))
    for attempt in range(3):
        folder.run(f"base/{attempt}/agg_x.json", 2.003 + attempt / 1000, others)
        folder.run(f"new/{attempt}/agg_x.json", 2.061, others)  # three runs may have the same four digits
    same((3, 3), tuple(folder.judge("worse", "base", "--with", "new")[key] for key in ("n_base", "n_new")))


def test_one_run_of_several_recorders_is_no_repeat(folder):
    for side, factor in (("base", 1), ("new", 1.08)):
        for recorder, joules in enumerate((77.926995, 78.021399, 78.093050)):
            folder.recorded(f"{side}/{recorder}/agg.json", factor * joules, 0.01, start=1000.123456 * factor)
    found = folder.judge("worse", "base", "--with", "new")
    same((1, 1), (found["n_base"], found["n_new"]))
    for recorder, joules in enumerate((77.926995, 78.021399, 78.093050)):  # three nodes at once
        folder.recorded(f"base/{recorder}/agg.json", joules, 0.01, ids=(f"n{recorder}/0",), start=1000.123456)
    folder.compare("base", "--with", "new", "--json")
    same(3, json.loads(folder.out)["n_base"])


def test_other_hardware_and_settings_are_named(folder):
    folder.runs("base", *around(2.0, 0.001), gpu_name="NVIDIA H100 80GB HBM3")
    folder.runs("new", *around(1.6, 0.001), gpu_name="NVIDIA H200")
    folder.judge("insufficient", "base", "--with", "new")
    folder.runs("base", *around(2.0, 0.001), kv_cache_dtype="auto", driver_version="550.1", max_model_len=4096)
    folder.runs("new", *around(1.6, 0.001), kv_cache_dtype="fp8", max_model_len=4096)
    found = folder.judge("better", "base", "--with", "new")
    has("not matched by kv_cache_dtype (auto and fp8), driver_version (550.1 and not stated), which differ",
        json.dumps(found["comparisons"][0]["notes"]))


def test_copies_are_no_repeats(folder):
    """No two runs agree in all of 2.003317 and 2003.317; round numbers may."""
    for side, joules in (("base", 2.003317), ("new", 2.061244)):
        for copy in "abc":
            folder.run(f"{side}/{copy}/agg.json", joules, avg_power_w=500.123, avg_total_gpu_power_w=1000 * joules)
    found = folder.judge("insufficient", "base", "--with", "new")
    same((1, 1), (found["n_base"], found["n_new"]))
    has("a copy is no repeat", json.dumps(found))
    folder.run("new/d/agg.json", 2.061251, avg_power_w=500.125, avg_total_gpu_power_w=2061.251)
    folder.compare("base", "--with", "new", "--json")
    same(2, json.loads(folder.out)["n_new"])
    # Another writer adds keys, or rounds to five digits.
    for side, joules in (("first", 2.003317), ("second", 2.061244)):
        for copy, decimals, more in (("a", 6, {}), ("b", 6, {"avg_temp_c": 50}), ("c", 4, {"other": 1.5}), ("d", 5, {})):
            folder.run(f"{side}/{copy}/agg.json", round(joules, decimals), avg_power_w=round(500.123, decimals - 3),
                       avg_total_gpu_power_w=round(1000 * joules, decimals - 3), **more)
    found = folder.judge("insufficient", "first", "--with", "second")
    same((1, 1), (found["n_base"], found["n_new"]))
    # One in the last of its five digits is another run.
    folder.run("first/e/agg.json", 2.0034, avg_power_w=500.1, avg_total_gpu_power_w=2003.4)
    folder.compare("first", "--with", "second", "--json")
    same(2, json.loads(folder.out)["n_base"])


def test_schemas_and_models_are_not_mixed(folder):
    folder.runs("base", *around(2.0, 0.001), total_gpu_energy_j=9000.0)
    folder.runs("new", *around(2.1, 0.001), remove=["power_metric_schema_version", "avg_total_gpu_power_w"])
    found = folder.judge("insufficient", "base", "--with", "new")
    same([0, 3], sorted(one["base"]["n"] for one in found["comparisons"]))
    has("schema 1", " ".join(found["warnings"]))
    folder.runs("other", *around(2.1, 0.001), model_name="m2")
    folder.runs("first", *around(2.0, 0.001), model_name="m1")
    same(2, len(folder.judge("insufficient", "first", "--with", "other")["comparisons"]))


def test_another_unit_is_no_change(folder):
    for factor in (1e-3, 1e3, 1 / 3600):
        folder.runs("base", *around(2.0, 0.001))
        folder.runs("new", *around(2.1 * factor, 0.001))
        has("another unit", json.dumps(folder.judge("insufficient", "base", "--with", "new")))


def test_runs_that_state_no_load_are_noted(folder):
    folder.runs("base", *around(2.0, 0.001), remove=["conc"])
    folder.runs("new", *around(2.1, 0.001), remove=["conc"])
    has("no run states its model, concurrency or request rate", json.dumps(folder.judge("worse", "base", "--with", "new")))


def test_repeats_that_drift_are_noted(folder):
    """By the times at which they ran, whatever their files are called: 2.00 to 2.04 rise by 4 x 0.098 / 10 = 0.0392, 1.9 % of 2.02."""
    for values, drifts in (([2.00, 2.011, 2.02, 2.029, 2.04], "+1.9 %"), ([2.02, 2.00, 2.04, 2.01, 2.03], None),
                           ([2.04, 2.029, 2.02, 2.011, 2.00], "-1.9 %"), ([2.0, 2.02, 2.04, 2.06], None)):
        runs = [{"generator": "vLLM", "valid": True, "model": "m", "window": {"start_unix": 1000 + 100 * i, "end_unix": 1010 + 100 * i},
                 "duration_s": 10, "gpu_ids": ["0"], "total_gpu_energy_j": 50 * value, METRIC: value, "reasons": []}
                for i, value in enumerate(values)]
        for i, run in enumerate(runs):
            folder.write(f"{(7 * i) % 5}.json", {"schema": "aggregate-power/measure-1", "runs": [run]})
        folder.compare(*(f"{(7 * i) % 5}.json" for i in range(len(runs))), "--json")
        notes = json.dumps(json.loads(folder.out)["summaries"][0]["notes"])
        same(drifts is not None, "from the first to the last, in the order in which they ran" in notes, notes)
        has(f"change by {drifts or ''}" if drifts else "", notes)


def test_bounds_on_one_side_do_not_move_the_estimate(folder):
    """The energy of an estimated window is at an end of its bounds: 100 J, 80 J to 100 J."""
    run = {"generator": "vLLM", "valid": True, "window_source": "estimated", "model": "m",
           "window": {"start_unix": 1000, "end_unix": 1010}, "duration_s": 10, "gpu_ids": ["0"], "total_gpu_energy_j": 100.0,
           "energy_j_low": 80.0, "energy_j_high": 100.0, METRIC: 2.0, "reasons": []}
    folder.write("a.json", {"schema": "aggregate-power/measure-1", "runs": [run]})
    folder.compare("a.json", "--json")
    (one,) = json.loads(folder.out)["summaries"]
    near(2.0, one["mean"])
    near(4.0, one["low"] + one["high"])


def test_equal_repeats_are_as_uncertain_as_they_state(folder):
    for side in ("base", "new"):
        for number in range(3):
            start = 1000 + 100 * number + 1000 * (side == "new")
            folder.recorded(f"{side}/{number}/agg.json", 2.0, 0.004, start=start)
    found = folder.judge("equivalent", "base", "--with", "new")
    near(math.expm1(T4 * 0.004 * math.sqrt(2 / 3)), found["change_high"], 1e-6)


def test_repeats_on_one_side_lend_their_spread(folder):
    folder.runs("base", *around(2.0, 0.001))
    folder.runs("new", 2.2)
    found = folder.judge("worse", "base", "--with", "new")
    half_width = T2 * 0.001 * math.sqrt(1 / 3 + 1)
    near(1.1 * math.exp(-half_width) - 1, found["change_low"], 1e-8)
    same((3, 1, "spread_of_one_side"), (found["n_base"], found["n_new"], found["comparisons"][0]["method"]))
    found = folder.judge("better", "new", "--with", "base")
    near(math.exp(half_width) / 1.1 - 1, found["change_high"], 1e-8)


def test_single_runs_need_intervals(folder):
    folder.runs("base", 2.0)
    folder.runs("new", 3.0)
    found = folder.judge("insufficient", "base", "--with", "new")
    same([None, None], [found["change"], found["change_low"]])
    for part in ("three times", "--uncertainty"):
        has(part, found["comparisons"][0]["lack"])
        has(part, folder.compare("base", "--with", "new").out.replace("\n ", ""))
    folder.recorded("stated/agg.json", 2.0, 0.003)
    folder.judge("insufficient", "base", "--with", "stated")
    folder.recorded("other/agg.json", 2.2, 0.004)
    found = folder.judge("worse", "stated", "--with", "other")
    near(1.1 * math.exp(-NORMAL * 0.005) - 1, found["change_low"], 1e-8)
    same(("measurement", None), (found["comparisons"][0]["method"], found["comparisons"][0]["degrees_of_freedom"]))


def test_bounds_in_aggregates_count_without_their_record(folder):
    def bounded(name, joules):
        return folder.run(name, joules, **{
            METRIC + "_low": joules * 0.9, METRIC + "_high": joules * 1.1,
            METRIC + "_repeatability_low": joules * (1 - 1.96 * 0.003),
            METRIC + "_repeatability_high": joules * (1 + 1.96 * 0.003)})
    bounded("base/agg.json", 2.0)
    bounded("new/agg.json", 2.2)
    found = folder.judge("worse", "base", "--with", "new")
    near(1.1 * math.exp(-NORMAL * 0.003 * math.sqrt(2)) - 1, found["change_low"], 1e-8)
    folder.judge("insufficient", "base", "--with", "new", "--boards", "different")


# ---- Boards

def test_between_boards_the_accuracy_of_sensors_is_added(folder):
    folder.recorded("base/agg.json", 2.0, 0.003, 0.013, ids=UUIDS[:1])
    folder.recorded("same/agg.json", 2.0, 0.004, 0.0124, ids=UUIDS[:1], start=2000.0)
    folder.recorded("other/agg.json", 2.0, 0.004, 0.0124, ids=UUIDS[1:], start=2000.0)
    found = folder.judge("equivalent", "base", "--with", "same")
    near(math.expm1(NORMAL * 0.005), found["change_high"], 1e-6)
    same("same", found["comparisons"][0]["boards"])
    found = folder.judge("insufficient", "base", "--with", "other")
    near(math.expm1(NORMAL * math.hypot(0.013, 0.0124)), found["change_high"], 1e-6)
    same("different", found["comparisons"][0]["boards"])
    has("same boards", found["comparisons"][0]["lack"])
    folder.judge("equivalent", "base", "--with", "other", "--boards", "same")
    folder.judge("insufficient", "base", "--with", "same", "--boards", "different")


def test_repeats_do_not_average_a_gain_away(folder):
    for number in range(3):
        folder.recorded(f"base/{number}/agg.json", around(2.0, 0.001)[number], 0.0001, 0.03, ids=UUIDS[:1],
                        start=1000.0 + 100 * number)
        folder.recorded(f"new/{number}/agg.json", around(2.06, 0.001)[number], 0.0001, 0.03, ids=UUIDS[1:],
                        start=5000.0 + 100 * number)
    found = folder.judge("insufficient", "base", "--with", "new")
    assert found["change_low"] < -0.05 and found["change_high"] > 0.1, found["change_low"]
    near(math.sqrt(2 * (0.03 ** 2 - 0.0001 ** 2)), found["comparisons"][0]["sensor_accuracy"], 1e-4)
    folder.judge("worse", "base", "--with", "new", "--boards", "same")


def test_boards_are_told_apart_by_ids_hosts_and_hardware(folder):
    def boards(first, second, *words):
        folder.recorded("base/agg.json", 2.0, 0.003, **first)
        folder.recorded("new/agg.json", 2.0, 0.003, start=2000.0, **second)
        found = folder.compare("base", "--with", "new", "--match-by", "tp", "--json", *words).out
        return json.loads(found)["comparisons"][0]["boards"]
    same("assumed_same", boards({}, {}))
    same("different", boards({"ids": ["0", "1"]}, {"ids": ["2", "3"]}))
    same("different", boards({}, {"hw": "h200"}))
    same("different", boards({"hostname": "a"}, {"hostname": "b"}))
    same("assumed_same", boards({"hostname": "a"}, {}))
    same("same", boards({"ids": UUIDS, "hostname": "a"}, {"ids": UUIDS[::-1], "hostname": "b"}))
    same("different", boards({"ids": UUIDS}, {"ids": UUIDS[:1]}))
    out = folder.compare("base", "--with", "new", "--boards", "different").out
    assert "assumed" not in out, out
    boards({}, {})
    has("assumed to be the same", folder.compare("base", "--with", "new").out)


def test_without_intervals_other_boards_have_the_accuracy_of_public_ones(folder):
    # 500 W, eight GPUs: 2.2 % and 2.9 % of what is above 88 W, and 4.9 W; all but the first by sqrt(8).
    turned = 1 - 88 / 500
    own = math.sqrt(((0.029 * turned) ** 2 + (4.9 / 500) ** 2) / 8)
    each = math.hypot(0.022 * turned, own)
    folder.runs("base", *around(2.0, 0.001), hostname="a", hw="h100")
    folder.runs("new", *around(2.1, 0.001), hostname="b", hw="b200")
    words = ("base", "--with", "new", "--match-by", "tp")
    found = folder.judge("insufficient", *words)
    near(each * math.sqrt(2), found["comparisons"][0]["sensor_accuracy"])
    has("public measurements", " ".join(found["comparisons"][0]["notes"]))
    lack = found["comparisons"][0]["lack"]
    assert lack.endswith("measure both on the same boards: 1000 more repeats of each side would not decide it"), lack
    # Boards of one model are off by one gain, and by their own: 5 % with 2.5 %.
    folder.runs("new", *around(2.1, 0.001), hostname="b", hw="h100")
    found = folder.judge("worse", *words)
    near(own * math.sqrt(2), found["comparisons"][0]["sensor_accuracy"])
    # At other powers it turns by other parts: 1 - 88 / 250 of the 2.2 %.
    folder.runs("new", *around(2.1, 0.001), hostname="b", hw="h100", avg_power_w=250.0, avg_total_gpu_power_w=2000.0)
    other = 1 - 88 / 250
    rest = math.sqrt(((0.029 * other) ** 2 + (4.9 / 250) ** 2) / 8)
    near(math.sqrt((0.022 * (turned - other)) ** 2 + own ** 2 + rest ** 2),
         json.loads(folder.compare(*words, "--json").out)["comparisons"][0]["sensor_accuracy"])
    # What does not state its hardware may be anything.
    for side in ("base", "new"):
        folder.runs(side, *around(2.0, 0.001), hostname=side, remove=("hw",))
    near(each * math.sqrt(2), json.loads(folder.compare(*words, "--json").out)["comparisons"][0]["sensor_accuracy"])


def test_a_stated_gain_of_one_model_cancels_between_its_boards(folder):
    """Of 3 %, 2 % are the gain of all boards of the model; calibrated ones have none that they share."""
    def found(hw, *names):
        for side, first, start in (("base", "h100", 1000.0), ("new", hw, 5000.0)):
            folder.recorded(f"{side}/agg.json", 2.0, 0.0, 0.03, ids=[side], start=start, hw=first)
            path = folder.path / side / "power_validation_agg.json"
            record = json.loads(path.read_text())
            record["uncertainty"]["total_gpu_energy_j"] = {"components": [
                {"name": name, "relative": 0.02 if name == "sensor_gain_shared" else 0.0224} for name in names]}
            path.write_text(json.dumps(record))
        one = folder.compare("base", "--with", "new", "--match-by", "tp", "--json").out
        return json.loads(one)["comparisons"][0]["sensor_accuracy"]
    both = ("sensor_gain_shared", "sensor_gain_each")
    near(math.sqrt(2 * (0.03 ** 2 - 0.02 ** 2)), found("h100", *both), 1e-9)
    near(math.sqrt(2) * 0.03, found("b200", *both), 1e-9)
    near(math.sqrt(2) * 0.03, found("h100", "sensor_gain_shared"), 1e-9)


def test_no_sensor_is_between_a_throughput_and_its_number(folder):
    for side, value in (("base", 100.0), ("new", 95.0)):
        folder.runs(side, 2.0, 2.0, 2.0, hostname=side, tput_per_gpu=value)
    folder.judge("worse", "base", "--with", "new", "--metric", "tput_per_gpu")


def test_uuids_of_hosts_in_records_count(folder):
    for side, uuid in (("base", UUIDS[0]), ("new", UUIDS[1]), ("same", UUIDS[0])):
        folder.recorded(f"{side}/agg.json", 2.0, 0.001)
        file = folder.path / side / "power_validation_agg.json"
        record = json.loads(file.read_text())
        record["hosts"] = {"node-a": {"reasons": [], "observed_gpu_count": 1, "gpu_uuids": {"0": uuid}}}
        file.write_text(json.dumps(record))
    for side, boards in (("new", "different"), ("same", "same")):
        folder.compare("base", "--with", side, "--json")
        same(boards, json.loads(folder.out)["comparisons"][0]["boards"])


# ---- Configurations

def test_configurations_are_matched_and_the_worst_decides(folder):
    for conc, joules in ((16, 2.0), (4, 3.0), (128, 1.0)):
        folder.runs(f"base/{conc}", *around(joules, 0.001), conc=conc)
    folder.runs("new/16", *around(2.2, 0.001), conc=16)
    folder.runs("new/4", *around(3.0, 0.001), conc=4)
    found = folder.judge("worse", "base", "--with", "new")  # although 128 is insufficient
    same(["hw=h100 tp=8 conc=4", "hw=h100 tp=8 conc=16", "hw=h100 tp=8 conc=128"],
         [one["configuration"] for one in found["comparisons"]])
    same(["equivalent", "worse", "insufficient"], [one["verdict"] for one in found["comparisons"]])
    same("hw=h100 tp=8 conc=16", found["decided_by"])
    near(0.1, found["change"])
    same({"hw": "h100", "tp": "8", "conc": "4"}, found["comparisons"][0]["members"])
    lines = folder.compare("base", "--with", "new").out.splitlines()
    same(["conc=4", "conc=16", "conc=128"], [line.split()[0] for line in lines if re.match(r"conc=\d+ ", line)])
    same("all: hw=h100 tp=8", lines[1])
    folder.runs("new/16", *around(1.8, 0.001), conc=16)
    found = folder.judge("insufficient", "base", "--with", "new")
    same(("hw=h100 tp=8 conc=128", 3, 0), (found["decided_by"], found["n_base"], found["n_new"]))
    shutil.rmtree(folder.path / "base" / "128")
    folder.judge("better", "base", "--with", "new")
    folder.runs("new/8", *around(1.8, 0.001), conc=8)  # on the new side only
    folder.judge("insufficient", "base", "--with", "new")


def test_members_that_are_not_known_do_not_part_runs(folder):
    folder.runs("base", *around(2.0, 0.001), commit="aaa", date="2026-01-01", some_new_flag=1)
    folder.runs("new", *around(2.0, 0.001), commit="bbb", tput_per_gpu=7.5)
    folder.judge("equivalent", "base", "--with", "new")
    folder.runs("base", *around(2.0, 0.001), framework="vllm", precision="fp8")
    folder.runs("new", *around(2.2, 0.001), framework="sglang", precision="fp8")
    folder.judge("insufficient", "base", "--with", "new")
    found = folder.judge("worse", "base", "--with", "new", "--match-by", "precision,conc")
    same("precision=fp8 conc=4", found["decided_by"])
    folder.compare("base", "--with", "new", "--match-by", "precison")
    same(2, folder.status)
    has("no run has 'precison': did you mean precision?", folder.err)
    same(2, folder.compare("base", "--with", "new", "--match-by", "tp,,conc").status)


def test_runs_of_several_forms_are_compared(folder):
    folder.runs("base", *around(2.0, 0.001))
    members = [json.loads((folder.path / "base" / f"agg_{n}.json").read_text()) for n in range(3)]
    for each in members:
        each[METRIC] *= 1.1
    folder.write("all.json", members)
    found = folder.judge("worse", "base", "--with", "all.json")
    same((3, ["all.json"] * 3), (found["n_new"], found["comparisons"][0]["new"]["files"]))
    found = folder.judge("worse", "base", "--with", "all.json", "all.json", "./all.json")
    same(3, found["n_new"], "each counts once")


# ---- Which configuration is best

def test_the_best_of_several_configurations_is_named(folder):
    for conc, joules in ((4, 2.0), (16, 1.5), (64, 1.0)):
        folder.runs(f"all/{conc}", *around(joules, 0.001), conc=conc)
    found = json.loads(folder.compare("all", "--json").out)["to_best"]
    same([("64", "16"), ("64", "4")], [tuple(one[key].split("conc=")[1] for key in ("best", "other")) for one in found])
    near(1 / 1.5 - 1, found[0]["change"], 1e-5)
    near(1 / 2.0 - 1, found[1]["change"], 1e-5)
    # Two sides of three repeats that spread alike have four degrees of freedom: u = 0.001 * sqrt(2 / 3).
    half = T4 * 0.001 * math.sqrt(2 / 3)
    near(1 / 1.5 * math.exp(-half) - 1, found[0]["change_low"], 1e-4)
    near(1 / 1.5 * math.exp(half) - 1, found[0]["change_high"], 1e-4)
    lines = folder.compare("all").out.splitlines()
    same(["conc=64 uses 33.33 % less than conc=16 (33.18 % to 33.48 %)",
          "conc=64 uses 50.00 % less than conc=4 (49.89 % to 50.11 %)"], lines[-2:])
    has("* conc=64 uses 50.00 % less than conc=4 (49.89 % to 50.11 %)\n", folder.compare("all", "--format", "markdown").out)
    # As a comparison of the two sides has it.
    two = folder.judge("better", "all/16", "--with", "all/64", "--match-by", "hw")
    near(two["change_low"], found[0]["change_low"])


def test_what_may_be_chance_is_named(folder):
    folder.runs("all/4", 1.9, 2.0, 2.1, conc=4)
    folder.runs("all/8", 1.89, 1.99, 2.09, conc=8)
    last = folder.compare("all").out.splitlines()[-1]
    assert last.startswith("conc=8 uses +0.5 % less than conc=4 (-") and last.endswith(", which may be chance"), last
    folder.run("single/4/agg.json", 2.0, conc=4)
    folder.run("single/8/agg.json", 1.0, conc=8)
    has("conc=8 uses 50.00 % less than conc=4; without repeats", folder.compare("single").out)


def test_other_work_is_not_better(folder):
    for model, conc, joules in (("a", 4, 2.0), ("a", 8, 1.0), ("b", 4, 0.1)):
        folder.runs(f"all/{model}{conc}", *around(joules, 0.001), model=model, conc=conc)
    found = json.loads(folder.compare("all", "--json").out)["to_best"]
    assert len(found) == 1 and all("model=a" in found[0][key] for key in ("best", "other")), found
    for conc in (16, 32, 64, 128, 256):
        folder.runs(f"all/a{conc}", *around(3.0 + conc, 0.001), model="a", conc=conc)
    same(4, len(json.loads(folder.compare("all", "--json").out)["to_best"]), "at most")
    same([], json.loads(folder.compare("all/a4", "--json").out)["to_best"])


def test_more_is_better_for_throughput(folder):
    for conc, rate in ((4, 100.0), (8, 150.0)):
        folder.runs(f"all/{conc}", *around(2.0, 0.001), conc=conc, tput_per_gpu=rate)
    has("conc=8 has 50.00 % more than conc=4", folder.compare("all", "--metric", "tput_per_gpu", "--higher-is-better").out)


def test_why_an_interval_is_wider_than_the_spread(folder):
    """Repeats that differ by 0.1 % with estimated windows that are known to 1 %."""
    for source in ("estimated", "exact"):
        for number, joules in enumerate(around(2.0, 0.001)):
            folder.recorded(f"{source}/agg_{number}.json", joules, 0.01, start=1000.0 + 100 * number, window_source=source)
    has("note: wider than the spread: each run is known to ±2 % only, since its window is estimated;", folder.compare("estimated").out)
    assert "wider than" not in folder.compare("exact").out, folder.out
    for number, joules in enumerate(around(2.0, 0.05)):
        folder.recorded(f"spread/agg_{number}.json", joules, 0.01, start=1000.0 + 100 * number, window_source="estimated")
    assert "wider than" not in folder.compare("spread").out, folder.out


# ---- What does not count

def test_runs_that_are_not_valid_are_left_out_and_named(folder):
    folder.runs("base", *around(2.0, 0.001))
    folder.runs("new", *around(2.0, 0.001))
    folder.run("new/agg_3.json", 9.0, remove=[METRIC], power_valid=0,
               power_invalid_reasons=["sampling_gap_exceeded"])
    found = folder.judge("equivalent", "base", "--with", "new")
    same([{"file": "new/agg_3.json", "side": "new", "reason": "not valid: sampling_gap_exceeded"}],
         found["comparisons"][0]["excluded"])
    same(3, found["n_new"])
    has("not used: new: new/agg_3.json: not valid: sampling_gap_exceeded", folder.compare("base", "--with", "new").out)
    for number in range(3):
        (folder.path / f"new/agg_{number}.json").unlink()
    found = folder.judge("insufficient", "base", "--with", "new")
    has("no run is left on the new side", found["comparisons"][0]["lack"])


def test_a_record_that_contradicts_its_aggregate_is_not_believed(folder):
    folder.recorded("base/agg.json", 2.0, 0.001)
    folder.recorded("new/agg.json", 2.0, 0.001, start=2000.0)
    folder.judge("equivalent", "base", "--with", "new")
    file = folder.path / "new" / "agg.json"
    file.write_text(file.read_text().replace("2.0", "1.5"))
    found = folder.judge("insufficient", "base", "--with", "new")
    has("1.5 in the aggregate and 2.0 in its audit record", found["comparisons"][0]["excluded"][0]["reason"])
    # Nor is an interval that belongs to another number.
    record = folder.path / "new" / "power_validation_agg.json"
    text = json.loads(record.read_text())
    text["metrics"][METRIC] = 1.5
    record.write_text(json.dumps(text))
    folder.judge("insufficient", "base", "--with", "new")


def test_a_copy_is_no_repeat(folder):
    for number in range(3):
        folder.recorded(f"base/{number}/agg.json", 2.0, 0.001)
        folder.recorded(f"new/{number}/agg.json", 2.0, 0.001, start=2000.0 + number)
    found = folder.judge("equivalent", "base", "--with", "new")
    same((1, 3), (found["n_base"], found["n_new"]))
    has("the same measurement as base/0/agg.json", found["comparisons"][0]["excluded"][0]["reason"])


def test_a_run_on_both_sides_is_an_error(folder):
    folder.runs("base", *around(2.0, 0.001))
    for words in (["base", "--with", "base"], ["base", "--with", "base/agg_1.json"],
                  ["base/agg_1.json", "--with", folder.path / "base" / ".." / "base" / "agg_1.json"]):
        folder.compare(*words)
        same((2, ""), (folder.status, folder.out))
        has("it is on both sides", folder.err)


def test_files_that_cannot_be_used(folder):
    folder.runs("base", *around(2.0, 0.001))
    (folder.path / "empty").mkdir()
    folder.write("number.json", 3)
    for words, message in ((["base", "--with", "nothing.json"], "nothing.json"),
                           (["nothing", "--with", "base"], "nothing"),
                           (["base", "--with", "number.json"], "expected an aggregate"),
                           (["empty"], "no results in empty"),
                           (["--with", "base"], "expected BASE"),
                           ([], "expected BASE"),
                           (["base", "--with"], "--with: expected a value")):
        folder.compare(*words)
        same((2, ""), (folder.status, folder.out), str(words))
        has(message, folder.err)
    found = folder.judge("insufficient", "base", "--with", "empty")
    has("no run on the new side", found["comparisons"][0]["lack"])


def test_a_metric_that_no_run_has_is_named_with_those_they_have(folder):
    folder.runs("base", 2.0, 2.0)
    for file in (folder.path / "base").iterdir():
        members = json.loads(file.read_text())
        del members[METRIC]
        file.write_text(json.dumps(members))
    folder.compare("base")
    same((2, ""), (folder.status, folder.out))
    for part in (METRIC, "counts of tokens", "--metric", "avg_power_w"):
        has(part, folder.err)
    same(0, folder.compare("base", "--metric", "avg_power_w").status)
    folder.compare("base", "--metric", "avg_power")
    has("did you mean avg_power_w?", folder.err)
    folder.runs("base", 2.0)
    found = json.loads(folder.compare("base", "--json").out)["summaries"][0]
    same((1, f"it has no '{METRIC}'"), (found["n"], found["excluded"][0]["reason"]))


def test_results_without_power_do_not_decide(folder):
    folder.runs("base", *around(2.0, 0.001))
    folder.runs("new", *around(2.0, 0.001))
    power = ["power_valid", "power_metric_schema_version", "avg_power_w", "avg_total_gpu_power_w", METRIC]
    for side in ("base", "new"):
        folder.run(f"{side}/agg_evaluation.json", 0, remove=power, conc=99, accuracy=0.9)
    found = folder.judge("equivalent", "base", "--with", "new")
    same(2, len(found["without_power"]))
    folder.run("new/agg_evaluation.json", 2.0, conc=99)  # on one side it has
    folder.judge("insufficient", "base", "--with", "new")
    for side in ("base", "new"):
        shutil.rmtree(folder.path / side)
        folder.run(f"{side}/agg_evaluation.json", 0, remove=power, tput_per_gpu=5.25)
    folder.compare("base", "--with", "new")
    same(2, folder.status)
    has("none of the 2 results has power", folder.err)
    folder.judge("insufficient", "base", "--with", "new", "--metric", "tput_per_gpu")


def test_values_that_are_not_above_0_are_left_out(folder):
    folder.runs("base", *around(2.0, 0.001), 0.0, -1.0)
    folder.runs("new", *around(2.0, 0.001))
    found = folder.judge("equivalent", "base", "--with", "new")
    same((3, 2), (found["n_base"], len(found["comparisons"][0]["excluded"])))


# ---- What is printed

def test_the_order_of_files_changes_nothing(folder):
    values = [0.1, 0.7, 1234567.891, 0.3]  # whose sum depends on the order of its terms
    for number, value in enumerate(values):
        folder.run(f"base{number}.json", value)
        folder.run(f"new{number}.json", value * 1.01)
    printed = set()
    for order in itertools.permutations(range(4)):
        folder.compare(*[f"base{n}.json" for n in order], "--with", *[f"new{n}.json" for n in order[::-1]], "--json")
        printed.add(folder.out)
    same(1, len(printed))
    near(sum(sorted(values)) / 4, json.loads(printed.pop())["comparisons"][0]["base"]["mean"], 1e-15)
    # Nor does which file has which value.
    means = set()
    for order in itertools.permutations(values):
        for number, value in enumerate(order):
            folder.run(f"base{number}.json", value)
        found = json.loads(folder.compare("base0.json", "base1.json", "base2.json", "base3.json", "--json").out)
        means.add(json.dumps({key: found["summaries"][0][key] for key in ("mean", "standard_deviation", "low", "high")}))
    same(1, len(means))


def test_a_base_alone_is_summarized(folder):
    for number, value in enumerate((2.0, 2.2, 1.9, 2.5, 2.1)):
        folder.run(f"session/run_{number}/agg_run.json", value)
    found = json.loads(folder.compare("session", "--format", "json").out)
    same(0, folder.status)
    one = found["summaries"][0]
    same((5, 2.1, 1.9, 2.5), (one["n"], one["median"], one["smallest"], one["largest"]))
    near(2.14, one["mean"])
    deviation = math.sqrt((0.14 ** 2 + 0.06 ** 2 + 0.24 ** 2 + 0.36 ** 2 + 0.04 ** 2) / 4)
    near(deviation, one["standard_deviation"])
    near(deviation / 2.14, one["relative_standard_deviation"])
    near(0.6 / 2.14, one["relative_range"])
    near(2.14 - T4 * deviation / math.sqrt(5), one["low"], 1e-8)
    same(["session/run_0/agg_run.json"], one["files"][:1])
    assert "verdict" not in found and "comparisons" not in found
    has("--match-by", one["notes"][0])  # a spread of 11 % is not that of repeats
    row = folder.compare("session").out.splitlines()[3].split()
    same(["5", "2.14", "2.1", "11", "%", "28", "%"], row[3:10])
    has("| `hw=h100 tp=8 conc=4` | 5 | 2.14 | 2.1 |", folder.compare("session", "--format", "markdown").out)


def test_markdown_is_a_table_without_html(folder):
    for side, joules in (("base", 2.0), ("new", 2.2)):
        folder.runs(side, *around(joules, 0.001), model="a|b<script>`x`\n_y_*@all*")
        folder.runs(side + "/2", *around(joules, 0.001), model="plain")
    folder.run("new/2/agg_<b>*x*.json", 2.0, remove=[METRIC], power_valid=0, model="plain")
    folder.compare("base", "--with", "new", "--format", "markdown")
    same(1, folder.status)
    lines = folder.out.splitlines()
    has("worse", lines[0])
    table = [line for line in lines if line.startswith("|")]
    same(4, len(table))
    for line in table:
        same(8, len(re.sub(r"\\.", "", line).split("|")) - 1, line)
    same("| --- | ---: | ---: | ---: | ---: | ---: | --- |", table[1])
    for line in lines:
        bare = re.sub(r"\\.", "", re.sub(r"`[^`]*`", "", line))
        assert "<" not in bare and "@" not in bare, line
    same(1, folder.out.count("agg\\_\\<b\\>\\*x\\*.json"))
    folder.compare("base", "--with", "new", "--format", "markdown", "--quiet")
    same(lines, folder.out.splitlines())


def test_quiet_leaves_the_status(folder):
    folder.runs("base", *around(2.0, 0.001))
    folder.runs("new", *around(2.2, 0.001))
    folder.compare("base", "--with", "new", "--quiet")
    same((1, "", ""), (folder.status, folder.out, folder.err))


def test_json_has_its_keys_and_no_nan(folder):
    folder.runs("base", 2.0)
    folder.runs("new", 2.0)
    for words in (["base"], ["base", "--with", "new"], ["--self-test", "base"]):
        folder.compare(*words, "--json")
        found = json.loads(folder.out, parse_constant=lambda name: 1 / 0)
        same("schema", next(iter(found)))
        same("aggregate-power/compare-2", found["schema"])
    found = folder.judge("insufficient", "base", "--with", "new")
    for key in ("change", "change_low", "change_high", "n_base", "n_new", "decided_by", "comparisons", "margin"):
        assert key in found, key
    one = found["comparisons"][0]
    for key in ("configuration", "metric", "verdict", "base", "new", "change", "change_low", "change_high", "n_base",
                "n_new", "method", "boards", "excluded"):
        assert key in one, key
    for side in ("base", "new"):
        for key in ("n", "mean", "median", "standard_deviation", "low", "high", "files"):
            assert key in one[side], key


def test_nothing_is_changed(folder):
    folder.recorded("base/agg.json", 2.0, 0.001)
    folder.recorded("new/agg.json", 2.0, 0.001, start=2000.0)
    before = {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}
    for words in (["base"], ["base", "--with", "new"], ["--self-test", "base"]):
        folder.compare(*words)
    same(before, {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()})


# ---- The gate itself

def test_the_gate_says_what_it_would_catch(folder):
    # Spread 0.1 %: +-2.776 x 0.1 % x sqrt(2/3) = 0.227 %.
    folder.runs("base", *around(2.0, 0.001))
    before = sorted((path, path.read_bytes()) for path in (folder.path / "base").iterdir())
    for margin, smallest, words in (
            ("2%", 0.02, ["equivalent"] * 4 + ["worse"] * 3),
            ("0", 0.005, ["insufficient"] * 2 + ["worse"] * 5),
            ("1%", 0.01, ["equivalent"] * 3 + ["worse"] * 4)):
        found = json.loads(folder.compare("--self-test", "base", "--margin", margin, "--json").out)
        same(0, folder.status)
        same(True, found["can_fail"])
        one = found["self_test"][0]
        same([0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1], [each["amount"] for each in one["amounts"]])
        same(words, [each["verdict"] for each in one["amounts"]], margin)
        same(smallest, one["smallest_caught"])
        near(0.05, one["amounts"][5]["change"])
        near(1.05 * math.exp(-T4 * 0.001 * math.sqrt(2 / 3)) - 1, one["amounts"][5]["change_low"], 1e-8)
    same(before, sorted((path, path.read_bytes()) for path in (folder.path / "base").iterdir()))
    has("caught from: hw=h100 tp=8 conc=4: 2 %", folder.compare("--self-test", "base").out)


def test_a_gate_that_cannot_fail_says_what_to_do(folder):
    folder.runs("base", 2.0)
    found = json.loads(folder.compare("--self-test", "base", "--json").out)
    same((3, False, None), (folder.status, found["can_fail"], found["self_test"][0]["smallest_caught"]))
    has("--uncertainty", folder.compare("--self-test", "base").out)
    folder.runs("base", *around(2.0, 0.2))
    same(3, folder.compare("--self-test", "base").status)
    folder.runs("base", *around(2.0, 0.001))
    folder.runs("base/2", 2.0, conc=8)  # one configuration that nothing would be seen in
    same(3, folder.compare("--self-test", "base").status)


def test_the_gate_is_tested_with_the_new_side(folder):
    folder.runs("base", *around(100.0, 0.001), tput_per_gpu=1.0)
    folder.runs("new", *around(98.0, 0.001))
    found = json.loads(folder.compare("--self-test", "base", "--with", "new", "--margin", "0", "--json").out)
    amounts = found["self_test"][0]["amounts"]
    near(0.98 * 1.05 - 1, amounts[5]["change"])
    same(["better"] * 4 + ["insufficient"] + ["worse"] * 2, [each["verdict"] for each in amounts])
    for side in ("base", "new"):
        for number, value in enumerate(around(100.0, 0.001)):
            folder.run(f"{side}/agg_{number}.json", 1.0, tput_per_gpu=value)
    found = json.loads(folder.compare("--self-test", "base", "--with", "new", "--metric", "tput_per_gpu",
                                      "--json").out)
    near(-0.05, found["self_test"][0]["amounts"][5]["change"])
    same("worse", found["self_test"][0]["amounts"][5]["verdict"])


# ---- Real runs

def measured(folder, name, *words):
    target = folder.path / name
    shutil.copytree(ROOT / "testdata" / "runs" / "h100-counter", target)
    folder.call("--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
                "--expected-num-gpus", "2", *words, folder=name)
    same(0, folder.status, folder.err)
    return target


def heavier(recording, factor):
    """Another run of the same GPUs, a day later: every power is `factor` times as high."""
    rows = recording.read_text().splitlines()
    head = rows[0].split(",")
    changed = [rows[0]]
    for row in rows[1:]:
        cells = dict(zip(head, row.split(",")))
        cells["timestamp"] = f"{float(cells['timestamp']) + 86400:.3f}"
        cells["power_w"] = f"{float(cells['power_w']) * factor:.2f}"
        cells["energy_mj"] = ""
        changed.append(",".join(cells[key] for key in head))
    recording.write_text("\n".join(changed) + "\n")
    result = recording.parent / "run.json"
    members = json.loads(result.read_text())
    for key in members:
        if key.endswith("_unix"):
            members[key] += 86400
    result.write_text(json.dumps(members))


def test_the_level_of_an_early_look_is_not_100_percent(folder):
    """Bounds of gsDesign for sfLDOF, four looks: z = 4.3326, 2.9631, 2.3590, 2.0141, so 0.00147, 0.305, 1.83 and 4.40 %."""
    folder.runs("base", *around(2.0, 0.01))
    folder.runs("new", *around(2.1, 0.01))
    for look, percent in ((1, 0.00147), (2, 0.305), (3, 1.83), (4, 4.40)):
        told = folder.compare("base", "--with", "new", "--look", f"{look}/4").out
        level = float(re.search(r"([\d.]+) % interval", told)[1])
        near(percent, 100 - level, 0.02)
    has("over 99.9999999 % interval", folder.compare("base", "--with", "new", "--look", "1/20").out)


def test_copies_on_both_sides_are_no_comparison(folder):
    """All of them, or one of three; with records and without; a metric of ours, and another one."""
    for number, joules in enumerate((2.003317, 2.013321, 2.023329)):
        for side in ("base", "new"):
            members = {"avg_power_w": 500.123 + number, "tput": 100.5 + number}
            folder.recorded(f"records/{side}/agg_{number}.json", joules, 0.001, start=1000 + 100 * number, **members)
            folder.run(f"plain/{side}/agg_{number}.json", joules, **members)
            if number == 0:
                folder.run(f"shared/{side}/agg_0.json", joules, **members)
            else:
                other = 0.0011 * (side == "new")
                folder.run(f"shared/{side}/agg_{number}.json", joules + other, **members)
    for place in ("records", "plain", "shared"):
        for metric in (METRIC, "tput"):
            found = folder.judge("insufficient", f"{place}/base", "--with", f"{place}/new", "--metric", metric)
            has("are copies of one measurement: give each run on one side only", found["comparisons"][0]["lack"])
        same(0, folder.compare("--self-test", f"{place}/base").status)


def test_a_real_run_says_nothing_beside_its_copy(folder):
    measured(folder, "base", "--uncertainty")
    measured(folder, "new", "--uncertainty")
    found = folder.judge("insufficient", "base", "--with", "new")
    same((0, 1, 1, "measurement", "estimate", "assumed_same"),
         (found["change"], found["n_base"], found["n_new"], *[found["comparisons"][0][key] for key in
                                                             ("method", "values", "boards")]))
    record = json.loads((folder.path / "base" / "power_validation_run.json").read_text())
    own = record["uncertainty"][METRIC]["repeatability"]
    near(math.expm1(NORMAL * math.sqrt(2) * own["standard_uncertainty"] / own["low"] * own["low"] /
                    record["uncertainty"][METRIC]["estimate"]), found["change_high"], 1e-6)
    has("copies of one measurement", found["comparisons"][0]["lack"])
    folder.judge("insufficient", "base", "--with", "new", "--boards", "different")
    same(0, folder.compare("--self-test", "base").status)


def test_real_runs_without_an_interval_are_insufficient(folder):
    measured(folder, "base")
    measured(folder, "new")
    folder.judge("insufficient", "base", "--with", "new")


def test_a_real_run_that_draws_more_is_worse(folder):
    measured(folder, "base", "--uncertainty")
    for factor, verdict in ((1.05, "worse"), (0.95, "better"), (1.005, "equivalent")):
        target = folder.path / f"new-{factor}"
        shutil.copytree(ROOT / "testdata" / "runs" / "h100-counter", target)
        heavier(target / "gpu_metrics.csv", factor)
        folder.call("--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
                    "--expected-num-gpus", "2", "--uncertainty", folder=target.name)
        same(0, folder.status, folder.err)
        found = folder.judge(verdict, "base", "--with", target.name)
        near(factor - 1, found["change"], 0.01)


def test_outputs_of_measure_are_compared(folder):
    for side in ("base", "new"):
        shutil.copytree(ROOT / "testdata" / "runs" / "h100-counter", folder.path / side)
        if side == "new":
            heavier(folder.path / side / "gpu_metrics.csv", 1.05)
        folder.call("measure", "run.json", "gpu_metrics.csv", "--uncertainty", "--json", folder=side)
        (folder.path / f"{side}.json").write_text(folder.out)
    folder.judge("worse", "base.json", "--with", "new.json")


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
