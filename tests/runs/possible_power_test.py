#!/usr/bin/env python3
"""Whether a power can be: readings that no GPU draws, counters that contradict, and --accept, which publishes anyway.

Expected values are sums by hand: watts times seconds of what the rows say.

usage: tests/runs/possible_power_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import os
import pathlib
import random
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import running  # noqa: E402
from running import PROGRAM, load_result, near, run_tests, same  # noqa: E402

START = 1_788_852_000
TIMES = range(-5, 66)
WINDOW = 60  # seconds, from START


def load(at):
    """300 W, and 100 W outside of the window; never the same twice in a row."""
    return (300 if 0 <= at <= WINDOW else 100) + (at % 3)


class Folder(running.Folder):
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.write("run.json", load_result(START, START + WINDOW))

    def rows(self, header, row, gpus=1, name="gpu_metrics.csv"):
        """A CSV with a row for each second and GPU, of what `row(at, gpu)` says after time and GPU."""
        lines = [f"timestamp,index,{header}"]
        lines += [f"{START + at},{gpu},{row(at, gpu)}" for at in TIMES for gpu in range(gpus)]
        return self.write(name, "\n".join(lines) + "\n")

    def call(self, *words, **more):
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=self.path, capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"], "TZ": "UTC"} | more)
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
        return self

    def measure(self, *more, gpus=1):
        self.call("measure", "run.json", "gpu_metrics.csv", "--expected-num-gpus", gpus, "--timezone", "UTC", "--json", *more)
        assert self.out.startswith("{"), self.err
        return json.loads(self.out)["runs"][0]

    def patch(self, *more, gpus=1):
        self.write("agg_run.json", '{"hw": "h100", "tp": 1}')
        self.call("--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
                  "--expected-num-gpus", gpus, "--timezone", "UTC", *more)
        return self.json("agg_run.json")

    def record(self):
        return self.json("power_validation_run.json")


def refuses(folder, reason, *said, gpus=1):
    """measure and the patch both refuse for this reason alone, and say these things."""
    run = folder.measure(gpus=gpus)
    same([reason], run["reasons"], run["details"])
    for words in said:
        assert words in run["details"], (words, run["details"])
    same(0, folder.patch(gpus=gpus)["power_valid"])
    same([reason], folder.record()["reasons"])


def goes_through(folder, joules, gpus=1, warns=None):
    run = folder.measure(gpus=gpus)
    same([], run["reasons"], run["details"])
    near(joules, run["total_gpu_energy_j"], 0.02)
    found = [warning for warning in run["warnings"] if "implausible" in warning or "counter" in warning]
    same(warns is not None, bool(found), found)
    assert warns is None or warns in found[0], found


# ---- Readings

def test_milliwatts_name_their_unit(folder):
    folder.rows("gpu_power_w", lambda at, gpu: 5000 + at)
    refuses(folder, "implausible_power", "W; milliwatts? pass --power-unit mW")
    near(5.03 * 60, folder.measure("--power-unit", "mW")["total_gpu_energy_j"], 1e-3)
    same(0, folder.patch("--schema-version", 1).get("power_valid", 0))
    assert "avg_power_w" not in (folder.path / "agg_run.json").read_text()


OTHER_UNITS = """power [10mW]|power [dW]|power [cW]|power [0.1W]|power [mJ]|power [%]|power [dBm]|power (x10 mW)|power [x10]|
power [W/10]|power [1e-1 W]|power [W x 10]|power (W*10)|power_dw|power_10mw|power_x10|power_dbm|power_deciwatts|power.draw [dW]|
power [nW]|power [J]|power [kWh]|power [A]|power [mV]|power [VA]|power [raw]|power [counts]|power (0.1 W)|power (dW)|power_pct|
power [% of TDP]|power [tenths of W]|power [foo]|power [deci-W]|power [10 mW] gpu|gpu_power_10mW|power [mA]|power (raw)|
power [0.001]|power [GW]|gpu power (percent)|power_mw_x10|power [10^-3 W]|power_centiwatts|power_kwh|power [1/10 W]"""
WORDS_OF_NO_UNIT = """power [W]|power (W)|power [Watts]|power [avg W]|power [W, 1 s avg]|power (avg)|power [avg]|power (GPU 0) [W]|
power [GPU0]|power[0]|power (H100) [W]|power [instant]|power (socket)|power [watts avg]|power (100ms avg)|power1_average|
power_gpu0_w|power [mean W]|power draw (instant, W)|power (A100)|power W [GPU 3]|Average Graphics Package Power (W)"""


def names_in(text):
    return [name.strip() for name in text.replace("\n", "").split("|")]


def test_other_units_are_not_watts(folder):
    """Whatever chooses the column: its name, --power-column, schema 1."""
    for name in names_in(OTHER_UNITS):
        folder.rows(name, lambda at, gpu: load(at))
        run = folder.measure("--power-column", name)
        same(["power_column_missing"], run["reasons"], name)
        assert "states the unit '" in run["details"] and "record it in W, mW, uW or kW" in run["details"], run["details"]
        same(False, folder.measure()["valid"], name)
        folder.patch("--power-column", name, "--schema-version", 1)
        assert "avg_power_w" not in (folder.path / "agg_run.json").read_text(), name
    near(300.9 * 60, folder.measure("--power-column", name, "--power-unit", "W")["total_gpu_energy_j"], 0.01)


def test_words_in_brackets_are_no_units(folder):
    for name in names_in(WORDS_OF_NO_UNIT):
        folder.rows(f'"{name}"', lambda at, gpu: load(at))
        run = folder.measure("--power-column", name)
        same([], run["reasons"], run["details"])
        near(300.9 * 60, run["total_gpu_energy_j"], 0.01)


def test_units_in_the_names_of_metrics(folder):
    for metric, watts in (("my_gpu_power_milliwatts", 1000), ("my_gpu_power_watts", 1), ("my_gpu_power", 1)):
        folder.write("gpu_metrics.csv", "".join(
            f'{metric}{{gpu="0"}} {load(at) * watts} {(START + at) * 1000}\n' for at in TIMES))
        near(300.9 * 60, folder.measure("--power-column", metric)["total_gpu_energy_j"], 0.01)
        near(300.9 * 60 * watts / 1000, folder.measure("--power-column", metric, "--power-unit", "mW", "--accept",
                                                       "implausible_power")["total_gpu_energy_j"], 0.01)
    for metric in ("my_gpu_power_deciwatts", "my_gpu_power_percent", "my_gpu_power_10mw", "my_gpu_power_dbm"):
        folder.write("gpu_metrics.csv", "".join(
            f'{metric}{{gpu="0"}} {load(at)} {(START + at) * 1000}\n' for at in TIMES))
        same(["power_column_missing"], folder.measure("--power-column", metric)["reasons"], metric)


def test_a_proposed_unit_says_what_it_leads_to(folder):
    """Tenths of watts are no unit of --power-unit: what the nearest one makes of them is said."""
    folder.rows("power", lambda at, gpu: 10 * load(at) + 2000)
    run = folder.measure()
    assert "milliwatts? pass --power-unit mW if the GPU draws as little as 5.01 W" in run["details"], run["details"]
    folder.rows("power", lambda at, gpu: 1000 * load(at))
    assert "pass --power-unit mW)" in folder.measure()["details"]


def test_longer_gaps_say_how_far_off_the_energy_may_be(folder):
    """100 W between 300 W in a gap of 20 s: up to 20 s times 200 W more or less."""
    rows = [f"{START + at},0,{load(at)}" for at in TIMES if not 20 < at < 40]
    folder.write("gpu_metrics.csv", "timestamp,index,power.draw [W]\n" + "\n".join(rows) + "\n")
    same(["sampling_gap_exceeded"], folder.measure()["reasons"])
    found = [text for text in folder.measure("--max-sample-gap", 25)["warnings"] if "long_gaps" in text]
    assert found and "may be off by up to 40" in found[0] and "(22 %)" in found[0], found
    folder.rows("power.draw [W]", lambda at, gpu: load(at))
    assert not [text for text in folder.measure("--max-sample-gap", 25)["warnings"] if "long_gaps" in text]


def test_edges_that_may_hide_much(folder):
    """A load of 60 s between 100 and 500 W, read every 10 s: 400 W for 5.5 s at both edges, of some 30 kJ."""
    def rows(every, around=20):
        folder.write("gpu_metrics.csv", "timestamp,index,power.draw [W]\n" + "".join(
            f"{START + at},0,{(500 if 0 <= at < WINDOW else 100) + at % 3 / 10}\n"
            for at in range(-around - 3, WINDOW + around, every)))

    def found(*more):
        return [text for text in folder.measure(*more)["warnings"] if "edges: " in text]
    rows(10)
    text = found("--max-sample-gap", 11, "--no-uncertainty")
    assert text and "400 W at an edge" in text[0] and "every 10 s there" in text[0] and "4400 J (" in text[0], text
    assert not found("--max-sample-gap", 11, "--uncertainty")
    for every in (1, 2):
        rows(every)
        assert not found("--no-uncertainty")


def averaged(folder, over, name="power.draw [W]"):
    """Means of a load of 400 W over 100 W, over the last seconds."""
    def mean(at):
        return 100 + 400 * max(0, min(at, WINDOW) - max(0, at - over)) / over
    folder.write("gpu_metrics.csv", f'timestamp,index,"{name}"\n' + "".join(
        f"{START + at + 0.5},{gpu},{mean(at + 0.5) * (1 + 0.03 * gpu) + at * (gpu + 2) % 7 / 10:.2f}\n" for at in range(-30, 400) for gpu in range(2)))


def test_means_over_a_long_time(folder):
    """By their edges: the share of the energy that is read after the window is half of the time over the rest."""
    for over in (10, 20, 60, 300):
        averaged(folder, over)
        run = folder.measure(gpus=2)
        same(["readings_repeat"], run["reasons"], run["details"])
        about = float(re.search("means over about ([0-9.e+]+) s", run["details"])[1])
        near(over, about, 0.1)
        same(0, folder.patch(gpus=2)["power_valid"])
        run = folder.measure("--accept", "readings_repeat", gpus=2)
        same([], run["reasons"])
    averaged(folder, 1)
    same([], folder.measure(gpus=2)["reasons"])


def test_a_clock_offset_makes_no_stamps_finer(folder):
    """Stamps cut to 0.01 s, which one GPU that is asked three times at once fills; so they do when they are corrected."""
    chance = random.Random(2)
    rows, at = ["timestamp,index,power.draw [W]"], START - 5.0
    while at < START + WINDOW + 6:
        at += chance.uniform(0.3, 1.5)
        size = 3 if chance.random() < 0.92 else chance.choice([2, 4, 5])
        for place in range(size):
            watts = (300 if START <= at <= START + WINDOW else 100) + chance.uniform(-4, 4)
            rows.append(f"{at + place * 0.01:.2f},0,{watts:.2f}")
    folder.write("gpu_metrics.csv", "\n".join(rows) + "\n")
    for offset in ("0", "0.003"):
        assert "several_gpus_in_one_series" not in json.dumps(folder.measure("--clock-offset", offset)), offset


def test_means_by_the_name_of_their_metric(folder):
    for name, refused in (("avg_over_time(DCGM_FI_DEV_POWER_USAGE[5m])", True), ("rate(gpu_energy_joules_total[1m])", True),
                          ("max_over_time(gpu_power_watts[30s:1s])", True), ("job:gpu_power_watts:avg5m", True),
                          ("avg_over_time(gpu_power_watts[2s])", False), ("irate(gpu_energy_joules_total[1m])", False),
                          ("last_over_time(gpu_power_watts[1m])", False), ("gpu_power_watts", False)):
        folder.rows(f'"{name}"', lambda at, gpu: load(at))
        run = folder.measure("--power-column", name, "--power-unit", "W")
        same(["readings_repeat"] if refused else [], run["reasons"], name)


def test_one_column_of_several_gpus_names_the_others(folder):
    for names in (("gpu0_power_w", "gpu1_power_w"), ("GPU 0 Power [W]", "GPU 1 Power [W]"), ("power_gpu0", "power_gpu1")):
        folder.write("gpu_metrics.csv", f"timestamp,{','.join(names)}\n" + "".join(f"{START + at},{load(at)},{load(at) + 50}\n" for at in TIMES))
        run = folder.measure("--power-column", names[0])
        same([], run["reasons"], run["details"])
        assert any(f"one_of_several_gpus: '{names[0]}' is of one GPU, and others are not counted: '{names[1]}'" in text
                   for text in run["warnings"]), run["warnings"]


def test_single_readings_above_any_gpu(folder):
    for watts, at in ((3001, 30), (500_000, 30), (4000, 0), (4000, WINDOW)):
        folder.rows("power_w", lambda second, gpu: watts if (second, gpu) == (at, 1) else load(second) + gpu, gpus=2)
        refuses(folder, "implausible_power", f"GPU 1: {watts} W at {START + at}.000", "1 of ", gpus=2)
        assert "avg_power_w" not in folder.patch("--schema-version", 1, gpus=2)
    # Where no energy of the window depends on it.
    folder.rows("power_w", lambda second, gpu: 9000 if second in (-3, 63) else load(second))
    goes_through(folder, 301 * 60)


def test_nothing_is_not_measured(folder):
    """0 W of all GPUs throughout, also as what is before a decimal comma; not 0 W of some, or before the load."""
    for row in (lambda at, gpu: 0, lambda at, gpu: "0.00 W", lambda at, gpu: 0 if 0 <= at <= 60 else 90 + at % 4 * gpu):
        folder.rows("power.draw [W]", row, gpus=2)
        refuses(folder, "implausible_power", "all readings in the window are 0 W", gpus=2)
    folder.rows("power [kW],note", lambda at, gpu: f"0,{load(at)}")
    refuses(folder, "implausible_power", "a unit that leaves no digits")
    folder.rows("power.draw [W]", lambda at, gpu: load(at) if 0 <= at <= 60 else 0)
    goes_through(folder, 301 * 60)


def test_two_kilowatts_warn_without_a_limit(folder):
    folder.rows("power_w", lambda at, gpu: 2500 + at % 3)
    goes_through(folder, 2501 * 60, warns="implausible_watts: a mean of 2501 W")
    folder.rows("power_w, power_limit", lambda at, gpu: f"{2500 + at % 3}, 2600")
    goes_through(folder, 2501 * 60)


def test_readings_above_twice_the_limit_of_their_row(folder):
    header = "name, power.draw [W], enforced.power.limit [W]"
    folder.rows(header, lambda at, gpu: f"NVIDIA L4, {200 if at == 9 else 60 + at % 3}.00 W, 72.00 W")
    refuses(folder, "implausible_power", f"GPU 0: 200 W at {START + 9}.000", "limit of 72 W", "1 of 61 readings")
    assert "avg_power_w" not in folder.patch("--schema-version", 1)
    # Each row has a limit of its own.
    folder.rows(header, lambda at, gpu: f"NVIDIA L4, {200 if at == 9 else 60 + at % 3}.00 W, {400 if at == 9 else 72}.00 W")
    same([], folder.measure()["reasons"])
    for column in ("power_limit", "power_cap_w", "power.limit"):
        folder.rows(f"power_w,{column}", lambda at, gpu: f"{593 + at % 3},115")
        refuses(folder, "implausible_power", "limit of 115 W")


def test_means_above_the_limit(folder):
    header = "power.draw [W], power.limit [W]"
    folder.rows(header, lambda at, gpu: f"{460 + at % 3}.00 W, 350.00 W")
    refuses(folder, "implausible_power", "a mean of 461 W, above its power limit of 350 W by more than 30 %")
    same(1, len(folder.patch("--schema-version", 1).get("avg_power_w", 0) and [1]), "schema 1 publishes it")
    # Capped loads are at their limit, and peaks go above it. 0 W is the limit of a die that has none.
    folder.rows(header, lambda at, gpu: f"{560 if at % 10 == 0 else 352}.00 W, 350.00 W")
    goes_through(folder, 352 * 60 + 6 * 208)
    folder.rows(header, lambda at, gpu: f"{load(at)}.00 W, 0.00 W")
    goes_through(folder, 301 * 60)


def test_cards_that_worked_draw_more_than_5_watts(folder):
    header = "name, utilization.gpu [%], power.draw [W]"
    folder.rows(header, lambda at, gpu: f"NVIDIA GeForce RTX 3060, 98 %, 0.{150 + at} W")
    refuses(folder, "implausible_power", "at a mean utilization of 98 %; kilowatts? pass --power-unit kW")
    folder.rows(header, lambda at, gpu: f"NVIDIA H100 80GB HBM3, 0 %, 2.{4 + at % 3} W")
    refuses(folder, "implausible_power", "less than such a board draws when it is idle")
    for model, used in (("NVIDIA GeForce MX150", 3), ("NVIDIA GeForce MX150", "[N/A]"), ("Orin", "[N/A]")):
        folder.rows(header, lambda at, gpu: f"{model}, {used} %, {3 + at % 3 / 10:.2f} W")
        goes_through(folder, 3.1 * 60)


def test_nodes_may_draw_more_than_gpus(folder):
    folder.rows("module.power.draw.average [W], power.draw [W]", lambda at, gpu: f"{3100 + at % 3}.00 W, 1400.00 W")
    run = folder.measure("--power-column", "module.power.draw.average [W]")
    same([], run["reasons"], run["details"])
    near(3101 * 60, run["total_gpu_energy_j"], 1e-3)


# ---- Counters

def counted(folder, header, cell, watts=load, factor=1.0, name=""):
    """A counter of the energy of load(), which stands at 7 MJ at first."""
    total = {}
    joules = 7e6
    for at in TIMES:
        total[at] = joules
        joules += factor * (load(at) + load(at + 1)) / 2
    folder.rows(f"{name and 'name,'}power_w,{header}",
                lambda at, gpu: f"{name and name + ','}{watts(at)},{cell(total[at])}")


def test_counters_with_units_in_their_cells_contradict(folder):
    forms = (("total_energy_consumption [mJ]", lambda j: f"{j * 1000:.0f} mJ"),
             ("total_energy_consumption", lambda j: f"{j:.1f} J"),
             ("energy_mj", lambda j: f"{j * 1000:.0f}"),
             ("gpu_energy_kwh", lambda j: f"{j / 3.6e6:.9f}"),
             ("energy [Wh]", lambda j: f"{j / 3600:.6f} Wh"),
             ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", lambda j: f"{j * 1000:.0f}"))
    for header, cell in forms:
        counted(folder, header, cell)
        goes_through(folder, 301 * 60)
        counted(folder, header, cell, watts=lambda at: 95 + at % 3)
        refuses(folder, "counter_contradicts", "GPU 0: in the window its energy counter says 18060", "its power 5760")


def test_a_cell_of_another_unit_is_no_number_of_the_counter(folder):
    counted(folder, "energy [mJ]", lambda j: f"{j:.1f} J", watts=lambda at: 95 + at % 3)
    goes_through(folder, 96 * 60)


def test_contradictions_by_a_power_of_ten_name_the_unit(folder):
    counted(folder, "energy_j", lambda j: f"{j / 100:.4f}", watts=lambda at: load(at) * 10)  # 3 W, and 3010 "W"
    refuses(folder, "implausible_power", "milliwatts? pass --power-unit mW")
    counted(folder, "energy_j", lambda j: f"{j / 100:.4f}", watts=lambda at: load(at))
    refuses(folder, "counter_contradicts", "one of them is in another unit, by a factor of 100")
    counted(folder, "energy_j", lambda j: f"{j / 200:.4f}", watts=lambda at: load(at) * 5)
    refuses(folder, "counter_contradicts", ": the power is in milliwatts? pass --power-unit mW")


def test_differences_up_to_16_percent_warn(folder):
    for factor, reasons in ((1.15, []), (0.85, []), (1.17, ["counter_contradicts"]), (0.83, ["counter_contradicts"])):
        counted(folder, "energy_j", lambda j: f"{j:.3f}", factor=factor)
        run = folder.measure()
        same(reasons, run["reasons"], factor)
        same(not reasons, any("counter_differs" in warning for warning in run["warnings"]), run["warnings"])


def test_counters_that_cannot_tell_refuse_nothing(folder):
    half = 7e6 + 9000
    for what, cell in (("reset", lambda j: f"{j if j < half else j - half:.3f}"),
                       ("wrap", lambda j: f"{(j - 7e6 + 2**32 / 1000 - 8000) % (2**32 / 1000):.3f}"),
                       ("dead", lambda j: "0"), ("coarse", lambda j: f"{j // 5000 * 5000:.0f}"),
                       ("none", lambda j: "N/A")):
        counted(folder, "energy_j", cell)
        same([], folder.measure()["reasons"], what)
    # Of an H100's power, and of the module it is on.
    counted(folder, "energy_j", lambda j: f"{j:.3f}", factor=1.4, name="NVIDIA GH200 480GB")
    goes_through(folder, 301 * 60, warns="counter_differs")
    counted(folder, "energy_j", lambda j: f"{j:.3f}", factor=0.5, name="NVIDIA GH200 480GB")
    same(["counter_contradicts"], folder.measure()["reasons"])


def test_a_counter_of_all_gpus_in_each_row(folder):
    folder.rows("power_w,energy_j", lambda at, gpu: f"{300 + gpu},{7e6 + 601 * at:.1f}", gpus=2)
    goes_through(folder, 601 * 60, gpus=2, warns="counter_differs")


def test_short_windows_are_too_short_for_a_counter(folder):
    # A sensor that averages over a second lags at both edges of 8 s: 100 W of 300 W at first.
    folder.write("run.json", load_result(START, START + 12))
    lagging = lambda at: 100 + at % 3 if at < 2 else load(at)  # noqa: E731
    counted(folder, "energy_j", lambda j: f"{j:.3f}", watts=lagging)
    same([], folder.measure()["reasons"])


# ---- Other commands

def test_windows_and_attribute_refuse_them_too(folder):
    folder.write("w.txt", f"begin w {START + 10}\nend w {START + 40}\n")
    words = ("windows", "--telemetry", "gpu_metrics.csv", "--windows", "w.txt", "--timezone", "UTC")
    for header, row, said in (
            ("gpu_power_w", lambda at, gpu: 5000 + at, "milliwatts? pass --power-unit mW"),
            ("power_w", lambda at, gpu: 9000 if at == 30 else 300, "implausible_power: a reading of 9000 W"),
            ("power_w,power_limit", lambda at, gpu: "593,115", "invalid_power_sample"),
            ("power_w,power_limit", lambda at, gpu: f"{460 + at % 3},350", "above its power limit of 350 W by more than 30 %")):
        folder.rows(header, row)
        same(1, folder.call(*words).status)
        assert said in folder.out + folder.err, folder.out + folder.err
    counted(folder, "energy_j", lambda j: f"{j:.3f}", watts=lambda at: 95 + at % 3)
    same(1, folder.call(*words).status)
    assert "counter_contradicts" in folder.out, folder.out


def test_inspect_warns_of_them(folder):
    for header, row, said in (
            ("gpu_power_w", lambda at, gpu: 5000 + at, "implausible_power: device 0 has a mean of 5030 W; milliwatts?"),
            ("power_w", lambda at, gpu: 9000 if at == 30 else 300, "implausible_power: device 0 has a reading of 9000 W"),
            ("power_w,power_limit", lambda at, gpu: "593,115", "implausible_power: device 0: 593 W at")):
        folder.rows(header, row)
        assert said in folder.call("inspect", "gpu_metrics.csv").out, folder.out


# ---- --accept

SPIKE_J = 301 * 60 + 9000 - 300  # of one reading of 9000 W in the place of 300 W


def spiked(folder, **more):
    return folder.rows("power_w", lambda at, gpu: 9000 if at == 30 else load(at), **more)


def is_accepted(record, code="implausible_power"):
    same([True, [], [code]], [record["power_valid"], record["reasons"], list(record["accepted_reasons"])])
    assert "9000 W" in record["accepted_reasons"][code], record["accepted_reasons"]


def test_accepted_reasons_are_published_and_named(folder):
    spiked(folder)
    row = folder.patch("--accept", "implausible_power,stuck_sensor", "--require-power")
    same([0, 1], [folder.status, row["power_valid"]], folder.err)
    near(SPIKE_J, row["total_gpu_energy_j"], 1e-3)
    is_accepted(folder.record())
    assert "accepted by the caller: implausible_power (GPU 0: 9000 W at" in folder.err, folder.err
    run = folder.measure("--accept", "implausible_power")
    same([True, ["implausible_power"]], [run["valid"], run["accepted_reasons"]])
    assert any("accepted by the caller: implausible_power" in warning for warning in run["warnings"]), run["warnings"]
    assert "accepted_reasons" not in folder.measure("--accept", "stuck_sensor")
    same(["implausible_power"], folder.measure("--accept", "counter_contradicts")["reasons"])


def test_accept_holds_under_schema_1(folder):
    spiked(folder)
    row = folder.patch("--schema-version", 1, "--accept", "implausible_power")
    near((301 * 60 + 301 + 8700) / 61, row["avg_power_w"], 1e-3)


def test_a_contradicting_counter_can_be_accepted(folder):
    counted(folder, "energy_j", lambda j: f"{j:.3f}", watts=lambda at: 95 + at % 3)
    same(1, folder.patch("--accept", "counter_contradicts")["power_valid"])
    same(["counter_contradicts"], list(folder.record()["accepted_reasons"]))
    assert "counter_differs" not in folder.err, folder.err


def test_unknown_codes_and_those_of_the_contract_are_errors(folder):
    spiked(folder)
    for codes, said in (("nonsense", "'nonsense' is no reason's code"), ("", "'' is no reason's code"),
                        ("sampling_gap_exceeded", "'sampling_gap_exceeded' cannot be accepted"),
                        ("implausible_power,", "'' is no reason's code"),
                        ("implausible_power,window_ambiguous", "window_ambiguous")):
        before = (folder.path / "agg_run.json").read_text() if (folder.path / "agg_run.json").exists() else ""
        same(2, folder.call("--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
                            "--accept", codes).status, folder.err)
        assert said in folder.err and "help reasons" in folder.err, folder.err
        same(before, (folder.path / "agg_run.json").read_text() if (folder.path / "agg_run.json").exists() else "")


def test_verify_recomputes_an_accepted_run(folder):
    spiked(folder)
    folder.patch("--accept", "implausible_power")
    same(0, folder.call("verify", ".").status, folder.out + folder.err)
    record = folder.record()
    same("implausible_power", record["computed_from"]["options"]["accept"])


def test_several_recordings_of_measure(folder):
    spiked(folder)
    folder.rows("power_w", lambda at, gpu: 2 * load(at), name="b.csv")
    for files in (("gpu_metrics.csv", "b.csv"), ("b.csv", "gpu_metrics.csv")):
        folder.call("measure", "run.json", *files, "--timezone", "UTC", "--json", "--accept", "implausible_power")
        run = json.loads(folder.out)["runs"][0]
        same([True, ["implausible_power"]], [run["valid"], run.get("accepted_reasons")], run)


def test_hosts_accept_reasons(folder):
    spiked(folder, name="a_gpu_metrics.csv")
    folder.rows("power_w", lambda at, gpu: 2 * load(at), name="b_gpu_metrics.csv")
    folder.write("agg_run.json", "{}")
    words = ("multinode", "--host", "a=a_gpu_metrics.csv", "--host", "b=b_gpu_metrics.csv", "--role", "prefill=a",
             "--role", "decode=b", "--bench-result", "run.json", "--agg-result", "agg_run.json", "--timezone", "UTC",
             "--validation-result", "record.json")
    folder.call(*words)
    same(["implausible_power"], folder.json("record.json")["reasons"], folder.err)
    folder.call(*words, "--accept", "implausible_power", "--require-power")
    same(0, folder.status, folder.err)
    is_accepted(folder.json("record.json"))
    near(SPIKE_J + 2 * 301 * 60, folder.json("agg_run.json")["total_gpu_energy_j"], 1e-3)


def test_backfill_accepts_reasons_and_knows_that_it_did(folder):
    store = folder.path / "store" / "power_audit_run_conc4_b200-nv-0"
    store.mkdir(parents=True)
    name = "run_conc4_b200-nv-0"
    folder.call("synthesize", "--gpus", 1, "--start", START, "--timezone", "UTC", "--phase", "30:100", "--phase", "60:300",
                "--phase", "30:100", "--benchmark-phase", 2, "--out", store / "gpu_metrics.csv", "--bench-out",
                store / f"{name}.json", "--agg-out", store / f"agg_{name}.json")
    lines = (store / "gpu_metrics.csv").read_text().splitlines(keepends=True)
    at = len(lines) // 2
    assert "300.00" in lines[at], lines[at]
    lines[at] = lines[at].replace("300.00", "9000.00")
    (store / "gpu_metrics.csv").write_text("".join(lines))

    def outcome(*more):
        folder.call("backfill", "store", "--timezone", "UTC", "--report", "report.jsonl", *more)
        found = [json.loads(line) for line in (folder.path / "report.jsonl").read_text().splitlines()]
        return next((line["outcome"], line.get("reasons", [])) for line in reversed(found) if line.get("run") == name)

    same(("not_valid", ["implausible_power"]), outcome())
    accepted = ("--accept", "implausible_power")
    same("patched", outcome(*accepted)[0], folder.err)
    is_accepted(json.loads((store / f"power_validation_{name}.json").read_text()))
    same("unchanged", outcome(*accepted)[0], folder.err)


def test_report_names_and_counts_them(folder):
    spiked(folder)
    folder.patch("--accept", "implausible_power")
    same(0, folder.call("report", ".", "--out", "page.html").status, folder.err)
    page = (folder.path / "page.html").read_text()
    assert "<b>1</b>valid in spite of a reason" in page
    assert '<section id="accepted">' in page and "<td>implausible_power</td><td class=\"n\">1</td>" in page
    (folder.path / "power_validation_run.json").unlink()
    folder.rows("power_w", lambda at, gpu: load(at))
    folder.patch()
    folder.call("report", ".", "--out", "page.html")
    assert "in spite of a reason" not in (folder.path / "page.html").read_text()


def test_help_marks_what_can_be_accepted(folder):
    page = " ".join(folder.call("help", "reasons").out.split())
    for code in ("implausible_power", "counter_contradicts", "stuck_sensor", "same_sensor", "readings_repeat"):
        assert f"It can be accepted: `--accept {code}`" in page, code
    assert "--accept sampling_gap_exceeded" not in page


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
