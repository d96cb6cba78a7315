#!/usr/bin/env python3
"""Checks --pue, --carbon, --price and --currency on measure, windows and attribute.

Expected values are sums by hand of whole watts and hours, or a trapezoid in this file.

usage: tests/runs/cost_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import csv
import datetime
import gzip
import io
import json
import math
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import running  # noqa: E402
from running import ROOT, near, run_tests, same  # noqa: E402

MISO = ROOT / "testdata" / "rates" / "miso.json"
SIX = int(datetime.datetime(2024, 11, 30, 6, tzinfo=datetime.timezone.utc).timestamp())
SEVEN = SIX + 3600
KWH = 3.6e6


def iso(unix_s):
    return datetime.datetime.fromtimestamp(unix_s, datetime.timezone.utc).isoformat()


class Folder(running.Folder):
    def call(self, *words, status=0):
        return super().call(*words, status=status)

    def recording(self, watts, first_s=SIX, last_s=SIX + 2 * 3600, gpus=(0,), step=1, name="gpu.csv"):
        rows = ["timestamp,index,power.draw [W]"]
        rows += [f"{s},{gpu},{watts(s, gpu)}" for s in range(first_s, last_s + 1, step) for gpu in gpus]
        self.write(name, "\n".join(rows) + "\n")

    def result(self, start_s, end_s, **more):
        self.write("run.json", json.dumps({
            "benchmark_start_time_unix": start_s, "benchmark_end_time_unix": end_s,
            "duration": end_s - start_s, "completed": 6, "total_input_tokens": 4000000,
            "total_output_tokens": 1000000, **more}))

    def rates(self, *values, first_s=SIX, name="rates.csv"):
        rows = [f"{iso(first_s + 3600 * i)},{value}" for i, value in enumerate(values)]
        self.write(name, "\n".join(["time,value", *rows]) + "\n")
        return name

    def measure(self, *words, status=0):
        self.call("measure", "run.json", "gpu.csv", "--json", *words, status=status)
        return json.loads(self.out)["runs"][0]

    def facility(self, *words):
        return self.measure(*words)["facility"]


def constant(watts):
    return lambda second, gpu: watts


HALF_PAST = (SIX + 1800, SEVEN + 1800)


def test_units_of_values(folder):
    """1 kWh: what a unit in the header makes of a number, and that an unknown one is refused."""
    folder.recording(constant(1000))
    folder.result(SIX, SEVEN)

    def column(name, value):
        folder.write("v.csv", f"time,{name}\n" + "".join(f"{iso(SIX + 3600 * i)},{value}\n" for i in range(3)))
        return "v.csv"

    for name, value in (("value", 0.2), ("value [EUR/kWh]", 0.2), ("value [EUR/MWh]", 200), ("value_eur_per_mwh", 200),
                        ("value ($/MWh)", 200), ("Value [USD/kWh]", 0.2)):
        near(0.2, folder.facility("--price", column(name, value), "--currency", "EUR")["cost"], what=name)
    for name, value in (("value", 400), ("value [g/kWh]", 400), ("value [gCO2eq/kWh]", 400), ("value [kg/kWh]", 0.4),
                        ("value [kgCO2/MWh]", 400), ("value [t/MWh]", 0.4), ("value [tCO2e/MWh]", 0.4), ("value_g_per_kwh", 400)):
        near(400, folder.facility("--carbon", column(name, value))["carbon_gco2e"], what=name)
    for option, names in (("--price", ("value [ct/kWh]", "value [cents/kWh]", "value [p/kWh]", "value [EUR/GJ]", "value [EUR]")),
                          ("--carbon", ("value [lb/MWh]", "value [mg/kWh]", "value [kg]", "value [g/MJ]", "value [oz/kWh]"))):
        for name in names:
            folder.call("measure", "run.json", "gpu.csv", option, column(name, 3), status=2)
            assert "has a unit that is not known" in folder.err, (name, folder.err)
    for option in ("--price", "--carbon"):
        for value in ("0.2 EUR/kWh", "20 ct/kWh", "0,2 EUR/kWh", "400 g/kWh", "200 EUR per MWh", "0.4 kg / kWh"):
            folder.call("measure", "run.json", "gpu.csv", option, value, status=2)
            assert "write the number alone" in folder.err, folder.err


def test_units_in_a_column_of_their_own(folder):
    """1 kWh: each row's unit counts as one in the header does."""
    folder.recording(constant(1000))
    folder.result(SIX, SEVEN)

    def write(unit, value, name="unit", header="value"):
        folder.write("v.csv", f"time,{header},{name}\n" + "".join(
            f"{iso(SIX + 3600 * i)},{value},{unit}\n" for i in range(3)))
        return "v.csv"

    for name in ("unit", "Units", "value_unit"):
        near(0.2, folder.facility("--price", write("EUR/MWh", 200, name))["cost"], what=name)
    near(0.2, folder.facility("--price", write("", 0.2))["cost"])
    near(0.2, folder.facility("--price", write("EUR/MWh", 200, header="value [EUR/MWh]"))["cost"])
    near(400, folder.facility("--carbon", write("kgCO2/MWh", 400))["carbon_gco2e"])
    for option, unit in (("--price", "ct/kWh"), ("--price", "EUR"), ("--carbon", "lb/MWh"), ("--carbon", "%")):
        folder.call("measure", "run.json", "gpu.csv", option, write(unit, 2), status=2)
        assert f"v.csv:2: '{unit}' is a unit that is not known" in folder.err, folder.err
    folder.call("measure", "run.json", "gpu.csv", "--price", write("EUR/MWh", 2, header="value [EUR/kWh]"), status=2)
    assert "'EUR/MWh' is not the unit in the header" in folder.err, folder.err
    hours = [{"datetime": iso(SIX + 3600 * i), "carbonIntensity": 400} for i in range(3)]
    for unit, rows in ((("gCO2eq/kWh", hours)), ("kg/MWh", hours)):
        folder.write("h.json", json.dumps({"zone": "DE", "unit": unit, "history": rows}))
        near(400, folder.facility("--carbon", "h.json")["carbon_gco2e"], what=unit)
    for history in ({"unit": "lb/MWh", "history": hours}, {"data": [hour | {"units": "lb/MWh"} for hour in hours]}):
        folder.write("h.json", json.dumps(history))
        folder.call("measure", "run.json", "gpu.csv", "--carbon", "h.json", status=2)
        assert "[0]: 'lb/MWh' is a unit that is not known" in folder.err, folder.err


def test_values_of_each_quarter_of_an_hour(folder):
    """1 kWh from 06:30 to 07:30: a quarter at each of 0.2, 0.3, 0.4 and 0.5."""
    folder.recording(constant(1000))
    folder.result(*HALF_PAST)
    rows = [f"{iso(SIX + 900 * i)},{i / 10}" for i in range(8)]
    folder.write("q.csv", "\n".join(["time,value", *rows]) + "\n")
    found = folder.facility("--price", "q.csv")
    near((0.2 + 0.3 + 0.4 + 0.5) / 4, found["cost"])
    same([SIX + 1800 + 900 * i for i in range(4)], [hour["start_unix"] for hour in found["hours"]])
    folder.write("q.csv", "\n".join(["time,value", *rows[:5]]) + "\n")  # to 07:15
    same((None, ["price_series_too_short"]), tuple(folder.facility("--price", "q.csv")[key] for key in ("cost", "reasons")))
    folder.write("q.csv", "\n".join(["time,value", *rows[:3], *rows[4:]]) + "\n")
    folder.call("measure", "run.json", "gpu.csv", "--price", "q.csv", status=2)
    assert "values are missing: 2024-11-30T07:00:00.000Z follows 2024-11-30T06:30:00.000Z" in folder.err, folder.err


def test_digits_after_a_comma_are_no_other_column(folder):
    folder.recording(constant(1000))
    folder.result(SIX, SEVEN)
    for header in ("time,value,note", "time,value,zone,note"):
        folder.write("v.csv", header + "\n" + "".join(f"{iso(SIX + 3600 * i)},0,{2 + i}\n" for i in range(3)))
        folder.call("measure", "run.json", "gpu.csv", "--price", "v.csv", status=2)
        assert "may be a number with a decimal comma" in folder.err, folder.err
    folder.write("v.csv", "time,value,hour\n" + "".join(f"{iso(SIX + 3600 * i)},0.{2 + i},{i}\n" for i in range(3)))
    near(0.2, folder.facility("--price", "v.csv")["cost"])


def test_the_hour_splits_exactly(folder):
    # 1800 W constant from 06:30 to 07:30: 0.5 kWh * 1.8 in each hour.
    folder.recording(constant(1800))
    folder.result(*HALF_PAST)
    found = folder.facility("--carbon", MISO)
    near(0.9 * 501 + 0.9 * 419, found["carbon_gco2e"])
    near((501 + 419) / 2, found["mean_gco2e_per_kwh"])
    same([[SIX + 1800, SEVEN, 1800 * 1800, 501], [SEVEN, SEVEN + 1800, 1800 * 1800, 419]],
         [[hour["start_unix"], hour["end_unix"], hour["measured_energy_j"], hour["gco2e_per_kwh"]]
          for hour in found["hours"]])
    same({"source": str(MISO), "zone": "US-MIDW-MISO", "per_kwh": None}, found["carbon"])
    same([None, []], [found["assumption"], found["reasons"]])
    # 1000 W for an hour: 0.5 kWh in each, 460 g.
    folder.recording(constant(1000))
    near(460, folder.facility("--carbon", MISO)["carbon_gco2e"])


def test_the_energy_of_an_hour_is_that_of_its_power(folder):
    # 1800 W before 07:00 and 200 W from then on, falling within the second before it.
    folder.recording(lambda second, gpu: 1800 if second < SEVEN else 200)
    folder.result(*HALF_PAST)
    price = folder.rates(1, 3)
    run = folder.measure("--price", price)
    first_j = 1799 * 1800 + (1800 + 200) / 2  # from 06:30 to 06:59:59, and a second's ramp
    second_j = 1800 * 200
    near(first_j + second_j, run["total_gpu_energy_j"])
    near(first_j / KWH * 1 + second_j / KWH * 3, run["facility"]["cost"])
    wrong = (first_j + second_j) / KWH * 2  # by the mean
    assert abs(run["facility"]["cost"] - wrong) > 0.3


def test_pue_multiplies_all_four(folder):
    folder.recording(constant(500), gpus=(0, 1))
    folder.result(*HALF_PAST)
    price = folder.rates(0.2, 0.4)
    found = folder.facility("--pue", 1.25, "--carbon", 400, "--price", price, "--currency", "EUR")
    same(["gpu", "facility", 1.25, "EUR"],
         [found[key] for key in ("measured_boundary", "boundary", "pue", "currency")])
    near(1250, found["facility_power_w"])
    near(1.25 * KWH, found["facility_energy_j"])
    near(1.25 * (0.5 * 0.2 + 0.5 * 0.4), found["cost"])
    near(500, found["carbon_gco2e"])
    near(0.3, found["mean_price_per_kwh"])
    # A million output tokens, five million in or out.
    for key in ("facility_energy_j", "cost", "carbon_gco2e"):
        near(found[key], found[f"{key}_per_million_output_tokens"])
        near(found[key] / 5, found[f"{key}_per_million_tokens"])
    # Half the tokens, twice the cost of a million of them.
    folder.result(*HALF_PAST, total_output_tokens=500000)
    again = folder.facility("--price", 0.3)
    near(2 * again["cost"], again["cost_per_million_output_tokens"])
    near(again["cost"] / 4.5, again["cost_per_million_tokens"])


def test_without_a_pue_the_boundary_is_what_was_measured(folder):
    folder.recording(constant(1000))
    folder.result(SIX, SEVEN)
    found = folder.facility("--price", 0.25)
    same(["gpu", "gpu", None, None, None, None],
         [found[key] for key in ("measured_boundary", "boundary", "pue", "facility_power_w", "facility_energy_j",
                                 "carbon_gco2e")])
    near(0.25, found["cost"])
    folder.call("measure", "run.json", "gpu.csv", "--price", 0.25)
    text = " ".join(folder.out.split())
    assert "cost 0.25 (in the price's currency); of the GPUs alone, without the rest of their nodes; no --pue 0.25 " \
           "per million output tokens, 0.05 in or out" in text, text


def test_a_pue_of_one_is_a_facility(folder):
    folder.recording(constant(1000))
    folder.result(SIX, SEVEN)
    found = folder.facility("--pue", 1)
    same(["facility", 1, KWH], [found["boundary"], found["pue"], found["facility_energy_j"]])


def test_nothing_is_asked_nothing_is_said(folder):
    folder.recording(constant(1000))
    folder.result(SIX, SEVEN)
    assert "facility" not in folder.measure()


def test_the_aggregate_never_gets_a_cost(folder):
    folder.recording(constant(1000))
    folder.result(SIX, SEVEN)
    folder.measure("--out", "plain.json")
    folder.measure("--out", "priced.json", "--pue", 1.3, "--price", 0.25, "--carbon", 400)
    same((folder.path / "plain.json").read_text(), (folder.path / "priced.json").read_text())
    for name in ("priced.json", "power_validation_priced.json"):
        text = (folder.path / name).read_text()
        assert "facility" not in text and "carbon" not in text and '"cost' not in text, text


def test_several_recordings_are_priced_together(folder):
    # 100 W, and 900 W until 07:00 alone.
    folder.recording(constant(100), name="a.csv")
    folder.recording(lambda second, gpu: 900 if second <= SEVEN else 100, name="b.csv")
    folder.result(*HALF_PAST)
    folder.call("measure", "run.json", "a.csv", "b.csv", "--json", "--price", folder.rates(1, 2))
    run = json.loads(folder.out)["runs"][0]
    same(2, run["gpu_count"])
    second_j = 1800 * 200 + (900 - 100) / 2  # the second of the fall
    near(1800 * 1000 / KWH + 2 * second_j / KWH, run["facility"]["cost"])


def test_a_series_that_is_too_short_gives_no_number(folder):
    folder.recording(constant(1000))
    folder.result(*HALF_PAST)
    one_hour = folder.rates(100)
    run = folder.measure("--carbon", one_hour, "--price", 0.25, "--pue", 1.5)
    found = run["facility"]
    same([True, None, None, None, ["carbon_series_too_short"]],
         [run["valid"], found["carbon_gco2e"], found["carbon_gco2e_per_million_tokens"], found["mean_gco2e_per_kwh"],
          found["reasons"]])
    near(1.5 * 0.25, found["cost"])
    near(1.5 * KWH, found["facility_energy_j"])
    assert any("carbon_series_too_short: rates.csv has the hours from 2024-11-30T06:00:00.000Z to "
               "2024-11-30T07:00:00.000Z, which do not cover the window: no carbon" in warning
               for warning in run["warnings"]), run["warnings"]
    found = folder.facility("--price", folder.rates(1, first_s=SEVEN))
    same([None, ["price_series_too_short"]], [found["cost"], found["reasons"]])
    # To the second: the hours reach exactly to the window's edges, or miss them by a second.
    folder.recording(constant(1000), first_s=SIX - 10, last_s=SEVEN + 10)
    folder.result(SIX, SEVEN)
    near(100, folder.facility("--carbon", folder.rates(100))["carbon_gco2e"])
    folder.result(SIX, SEVEN + 1)
    same(None, folder.facility("--carbon", folder.rates(100))["carbon_gco2e"])
    folder.result(SIX - 1, SEVEN)
    same(None, folder.facility("--carbon", folder.rates(100))["carbon_gco2e"])


def test_a_run_that_is_not_valid_costs_nothing_known(folder):
    folder.recording(constant(1000), last_s=SIX + 2000)
    folder.result(*HALF_PAST)
    run = folder.measure("--pue", 1.5, "--price", 1, status=1)
    found = run["facility"]
    same([False, None, None, None, ["power_not_valid"], []],
         [run["valid"], found["facility_power_w"], found["facility_energy_j"], found["cost"], found["reasons"],
          found["hours"]])


def test_no_tokens_no_cost_of_tokens(folder):
    folder.recording(constant(1000))
    folder.call("measure", "--start", SIX, "--end", "+3600s", "gpu.csv", "--json", "--price", 0.5)
    found = json.loads(folder.out)["runs"][0]["facility"]
    near(0.5, found["cost"])
    same([None, None], [found["cost_per_million_output_tokens"], found["cost_per_million_tokens"]])
    folder.call("measure", "--start", SIX, "--end", "+3600s", "gpu.csv", "--json", "--price", 0.5,
                "--output-tokens", 250000)
    found = json.loads(folder.out)["runs"][0]["facility"]
    near(2, found["cost_per_million_output_tokens"])
    same(None, found["cost_per_million_tokens"])


def test_negative_prices_are_prices(folder):
    folder.recording(constant(1000))
    folder.result(*HALF_PAST)
    near(0.5 * -0.3 + 0.5 * 0.1, folder.facility("--price", folder.rates(-0.3, 0.1))["cost"])
    near(-0.05, folder.facility("--price=-0.05")["cost"])
    near(-0.05, folder.facility("--price", "-0.05")["cost"])


def test_wrong_options(folder):
    folder.recording(constant(1000))
    folder.result(SIX, SEVEN)
    for words, message in [
            (["--pue", "0.99"], "--pue: expected a factor from 1"),
            (["--pue", "nan"], "--pue: expected a factor from 1"),
            (["--pue", "inf"], "--pue: expected a factor from 1"),
            (["--pue", "1,3"], "--pue: expected a factor from 1"),
            (["--carbon=-1"], "--carbon: expected grams of CO2e per kWh from 0, or a file, got '-1'"),
            (["--carbon", "nan"], "got 'nan'"),
            (["--carbon", ""], "got ''"),
            (["--price", "inf"], "--price: expected a price per kWh, or a file, got 'inf'"),
            (["--currency", "EUR"], "--currency requires --price"),
            (["--carbon", "missing.json"], "missing.json: cannot open: No such file"),
            (["--price", MISO], "a history of Electricity Maps is one of carbon"),
            (["--carbon", "gpu.csv"], "gpu.csv:1: expected a CSV with the columns time and value")]:
        folder.call("measure", "run.json", "gpu.csv", *words, status=2)
        assert message in folder.err, folder.err
        same("", folder.out)


def test_doubtful_units_are_named(folder):
    folder.recording(constant(1000))
    folder.result(SIX, SEVEN)
    assert any("--pue 3.01: facilities have 1.1 to 2" in text for text in folder.measure("--pue", 3.01)["warnings"])
    for grams, part in ((0.4, "are these kilograms?"), (400000, "400000/MWh"), (2001, "more than any grid")):
        folder.call("measure", "run.json", "gpu.csv", "--carbon", grams, status=2)
        assert part in folder.err, folder.err
    same([], folder.measure("--pue", 3, "--carbon", 0)["warnings"])


def test_files_that_leave_something_to_guess(folder):
    folder.recording(constant(1000))
    folder.result(SIX, SEVEN)
    for rows, message in [
            ("2024-11-30T06:00:00,1", "has no offset from UTC: write one"),
            ("2024-11-30T06:00:00Z,1\n2024-11-30T08:00:00Z,1", "hours are missing"),
            ("2024-11-30T06:00:00Z,1\n2024-11-30T06:25:00Z,1", "expected one value an hour"),
            ("2024-11-30T06:00:00Z,1\n2024-11-30T07:00:00+01:00,2", "has two values, 1 and 2"),
            ("2024-11-30T06:00:00Z,", "'' is not a number"), ("", "it has no hour")]:
        folder.write("rates.csv", f"time,value\n{rows}\n")
        folder.call("measure", "run.json", "gpu.csv", "--price", "rates.csv", status=2)
        assert message in folder.err and folder.err.startswith("aggregate-power: error: rates.csv"), folder.err
    folder.write("rates.csv", "time,value\n2024-11-30T06:00:00Z,-3\n")
    folder.call("measure", "run.json", "gpu.csv", "--carbon", "rates.csv", status=2)
    assert "rates.csv:2: -3 g of CO2e per kWh is below 0" in folder.err, folder.err
    near(-3, folder.facility("--price", "rates.csv")["cost"])


def test_rows_in_any_order_and_zone_and_compressed(folder):
    folder.recording(constant(1000))
    folder.result(*HALF_PAST)
    # 07:00Z, then 06:00Z twice, in three ways to write a time.
    rows = f"time,value\n2024-11-30T08:00:00+01:00,3\n{SIX},1\n2024-11-30T11:30:00+05:30,1\n"
    (folder.path / "rates.csv.gz").write_bytes(gzip.compress(rows.encode()))
    near(0.5 * 1 + 0.5 * 3, folder.facility("--price", "rates.csv.gz")["cost"])
    history = json.loads(MISO.read_text())
    random.Random(3).shuffle(history["history"])
    folder.write("mixed.json", json.dumps(history))
    near(460, folder.facility("--carbon", "mixed.json")["carbon_gco2e"])
    del history["history"][[one["datetime"][:13] for one in history["history"]].index("2024-11-30T12")]
    folder.write("mixed.json", json.dumps(history))
    folder.call("measure", "run.json", "gpu.csv", "--carbon", "mixed.json", status=2)
    assert "hours are missing: 2024-11-30T13:00:00.000Z follows 2024-11-30T11:00:00.000Z" in folder.err, folder.err


def test_a_day_of_noise_equals_a_slow_sum(folder):
    """Every hour of the MISO file, by a trapezoid of each second that is cut at hours."""
    noise = random.Random(11)
    step = 20
    length = 24 * 3600
    watts = {s: noise.randint(100, 900) for s in range(SIX, SIX + length + 1, step)}
    folder.recording(lambda second, gpu: watts[second], last_s=SIX + length, step=step)
    intensity = {int(datetime.datetime.fromisoformat(one["datetime"].replace("Z", "+00:00")).timestamp()):
                 one["carbonIntensity"] for one in json.loads(MISO.read_text())["history"]}
    start, end = SIX + 123, SIX + length - 777
    folder.result(start, end)

    def at(second):
        before = SIX + (second - SIX) // step * step
        if before == second:
            return watts[before]
        return watts[before] + (watts[before + step] - watts[before]) * (second - before) / step

    grams = joules = 0
    for second in range(start, end):
        one = (at(second) + at(second + 1)) / 2
        joules += one
        grams += one / KWH * intensity[SIX + (second - SIX) // 3600 * 3600]
    run = folder.measure("--carbon", MISO, "--pue", 1.1, "--max-sample-gap", step)
    near(joules, run["total_gpu_energy_j"] + 0, what="joules")
    near(1.1 * grams, run["facility"]["carbon_gco2e"])
    same(24, len(run["facility"]["hours"]))
    near(joules, sum(hour["measured_energy_j"] for hour in run["facility"]["hours"]))


# ---- windows


def windows_of_two_gpus(folder):
    """GPU 0 draws 1000 W, GPU 1 draws 200 W, from 07:00 on 3000 W and 600 W."""
    def watts(second, gpu):
        return (1000, 200)[gpu] * (1 if second < SEVEN else 3)
    folder.recording(watts, gpus=(0, 1))
    folder.write("w.txt", f"begin whole {SIX + 1800}\nbegin first {SIX + 1800}\nend first {SIX + 3000}\n"
                          f"end whole {SEVEN + 1800}\nbegin late {SEVEN}\nend late {SEVEN + 9999}\n")


def hours_of(gpu):
    """Its kWh in both hours of the window 'whole': a second's ramp ends at 07:00."""
    watts = (1000, 200)[gpu]
    return (1799 * watts + 2 * watts) / KWH, 1800 * 3 * watts / KWH


def test_windows_have_figures_for_each_gpu(folder):
    windows_of_two_gpus(folder)
    words = ["windows", "--telemetry", "gpu.csv", "--windows", "w.txt", "--pue", 1.5, "--carbon", MISO,
             "--price", folder.rates(1, 2), "--currency", "EUR"]
    folder.call(*words, "--json", status=1)
    report = json.loads(folder.out)
    same(["gpu", "facility", 1.5, "EUR"],
         [report["facility"][key] for key in ("measured_boundary", "boundary", "pue", "currency")])
    whole, first, late = report["windows"]
    kwh = [sum(hours_of(gpu)[hour] for gpu in (0, 1)) for hour in (0, 1)]
    near(1.5 * (kwh[0] * 501 + kwh[1] * 419), whole["facility"]["carbon_gco2e"])
    near(1.5 * (kwh[0] + kwh[1] * 2), whole["facility"]["cost"])
    near(1.5 * (kwh[0] + kwh[1]) * KWH, whole["facility"]["facility_energy_j"])
    near(1.5 * (kwh[0] + kwh[1]) * 1000, whole["facility"]["facility_power_w"])
    near(1.5 * 1200 * 1200 / KWH * 501, first["facility"]["carbon_gco2e"])
    same([None, "late"], [late["facility"], late["name"]])

    folder.call(*words, "--format", "csv", status=1)
    rows = list(csv.DictReader(io.StringIO(folder.out)))
    same(["facility_energy_j", "cost", "carbon_gco2e", "facility_reason"], list(rows[0])[-4:])
    for gpu in (0, 1):
        before, after = hours_of(gpu)
        near(1.5 * (before + after) * KWH, float(rows[gpu]["facility_energy_j"]))
        near(1.5 * (before + 2 * after), float(rows[gpu]["cost"]))
        near(1.5 * (before * 501 + after * 419), float(rows[gpu]["carbon_gco2e"]))
    same(["", "", "", ""], list(rows[4].values())[-4:])

    folder.call(*words, status=1)
    lines = folder.out.splitlines()
    assert lines[0].endswith("share %   facility J         cost        gCO2e"), lines[0]
    same([f"{1.5 * sum(kwh) * KWH:.3f}", f"{1.5 * (kwh[0] + 2 * kwh[1]):.6g}",
          f"{1.5 * (kwh[0] * 501 + kwh[1] * 419):.6g}"], lines[1].split()[-3:])
    same(1, len({len(line) for line in lines[:3]}))
    same("(facility: the GPUs times PUE 1.5; cost in EUR)", lines[-1])


def test_windows_have_only_the_columns_that_are_asked_for(folder):
    windows_of_two_gpus(folder)
    words = ["windows", "--telemetry", "gpu.csv", "--windows", "w.txt"]
    folder.call(*words, status=1)
    plain = folder.out
    same("window  GPU   seconds       joules   mean W   peak W share %", plain.splitlines()[0])
    folder.call(*words, "--price", 0.25, status=1)
    same("window  GPU   seconds       joules   mean W   peak W share %         cost", folder.out.splitlines()[0])
    same("(cost and carbon: the GPUs alone, no --pue; cost in the price's currency)", folder.out.splitlines()[-1])
    folder.call(*words, "--format", "csv", status=1)
    assert "facility" not in folder.out
    folder.call(*words, "--json", status=1)
    assert "facility" not in folder.out


def test_a_window_outside_of_the_hours(folder):
    windows_of_two_gpus(folder)
    words = ["windows", "--telemetry", "gpu.csv", "--windows", "w.txt", "--carbon", folder.rates(100), "--pue", 2]
    folder.call(*words, "--format", "csv", status=1)
    rows = list(csv.DictReader(io.StringIO(folder.out)))
    same(["", "carbon_series_too_short"], [rows[0]["carbon_gco2e"], rows[0]["facility_reason"]])
    same("", rows[2]["facility_reason"])
    near(2 * 1200 * 1000 / KWH * 100, float(rows[2]["carbon_gco2e"]))
    assert "warning: 1 of 3 windows lack cost or carbon; the first is whole: carbon_series_too_short: rates.csv " \
           "has the hours" in folder.err, folder.err
    folder.call(*words, status=1)
    assert folder.out.splitlines()[1].endswith(" -"), folder.out


def test_windows_priced_by_counters(folder):
    # A counter that runs at twice what the power says would be refused: it runs 3 % faster.
    rows = ["timestamp,index,power.draw [W],total_energy_consumption [mJ]"]
    joules = 0
    for second in range(SIX, SIX + 7201):
        watts = 1000 if second < SEVEN else 3000
        rows.append(f"{second},0,{watts},{round(joules * 1000)}")
        joules += 1.03 * watts
    folder.write("gpu.csv", "\n".join(rows) + "\n")
    folder.write("w.txt", f"begin whole {SIX + 1800}\nend whole {SEVEN + 1800}\n")
    folder.call("windows", "--telemetry", "gpu.csv", "--windows", "w.txt", "--json", "--price", folder.rates(1, 2))
    window = json.loads(folder.out)["windows"][0]
    same("counter", window["gpus"][0]["source"])
    near(1.03 * (1800 * 1000 + 2 * 1800 * 3000) / KWH, window["facility"]["cost"])


def test_forms_without_room(folder):
    windows_of_two_gpus(folder)
    words = ["windows", "--telemetry", "gpu.csv", "--windows", "w.txt", "--price", 1]
    for more, what in [(["--format", "zeus"], "--format zeus"), (["--per-process"], "--per-process")]:
        folder.call(*words, *more, status=2)
        assert f"--pue, --carbon and --price: {what} has no form for them" in folder.err, folder.err


# ---- attribute


def trace_of(folder, events):
    """Kernels on GPU 0: name, start and end in seconds after 06:00."""
    folder.write("trace.json", json.dumps({"traceEvents": [
        {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": round((SIX + start) * 1e6),
         "dur": round((end - start) * 1e6), "args": {"device": 0}} for name, start, end in events]}))


def test_an_attribution_is_priced(folder):
    # 1000 W, from 07:00 on 3000 W; a runs in the first hour, b in both.
    folder.recording(lambda second, gpu: 1000 if second < SEVEN else 3000)
    trace_of(folder, [("a", 3000, 3300), ("b", 3300, 3900)])
    words = ["attribute", "--telemetry", "gpu.csv", "--trace", "trace.json"]
    price = folder.rates(1, 2)
    folder.call(*words, "--format", "json", "--pue", 2, "--price", price, "--carbon", 360)
    report = json.loads(folder.out)
    before_j = 599 * 1000 + (1000 + 3000) / 2
    after_j = 300 * 3000
    found = report["facility"]
    near(before_j + after_j, report["energy_j"])
    near(2 * (before_j + 2 * after_j) / KWH, found["cost"])
    near(2 * (before_j + after_j) / KWH * 360, found["carbon_gco2e"])
    near(2 * (before_j + after_j) / 900, found["facility_power_w"])
    same("share cost and carbon by their energy", found["rows"])
    rows = {row["name"]: row for row in [*report["rows"], report["idle"]]}
    near(found["cost"] * 300 * 1000 / (before_j + after_j), rows["a"]["cost"])
    near(found["cost"], sum(row["cost"] for row in rows.values()))
    near(2 * 300 * 1000, rows["a"]["facility_energy_j"])

    folder.call(*words, "--format", "csv", "--price", 3.6)
    table = list(csv.DictReader(io.StringIO(folder.out)))
    same(["name", "calls", "time_s", "mean_time_s", "energy_j", "power_w", "unresolved_calls", "facility_energy_j",
          "cost", "carbon_gco2e", "facility_reason"], list(table[0]))
    for row in table:
        near(float(row["energy_j"]) / 1e6, float(row["cost"]))
        same(["", ""], [row["facility_energy_j"], row["carbon_gco2e"]])

    folder.call(*words, "--price", price, "--currency", "EUR")
    assert f"cost       {(before_j + 2 * after_j) / KWH:.6g} EUR; of the GPUs alone" in folder.out, folder.out
    folder.call(*words)
    assert "cost" not in folder.out and "facility" not in folder.out


def test_the_whole_recording_is_priced(folder):
    folder.recording(lambda second, gpu: 1000 if second < SEVEN else 3000)
    trace_of(folder, [("a", 3000, 3300)])
    folder.call("attribute", "--telemetry", "gpu.csv", "--trace", "trace.json", "--span", "recording", "--format",
                "json", "--price", folder.rates(1, 2))
    near(((3599 * 1000 + 2000) + 2 * 3600 * 3000) / KWH, json.loads(folder.out)["facility"]["cost"])
    # A span of 60 ms across the hour, where Unix time in doubles is too coarse for the whole.
    trace_of(folder, [("a", 3599.97, 3600.03)])
    folder.call("attribute", "--telemetry", "gpu.csv", "--trace", "trace.json", "--format", "json", "--price",
                folder.rates(1, 2))
    found = json.loads(folder.out)["facility"]
    same([], found["reasons"])
    # In the last 0.03 s before 07:00 the power rises from 2940 W to 3000 W.
    expected = (0.03 * 2970 + 2 * 0.03 * 3000) / KWH
    assert math.isclose(expected, found["cost"], rel_tol=1e-4), (expected, found["cost"])


def test_an_attribution_outside_of_the_hours(folder):
    folder.recording(constant(1000))
    trace_of(folder, [("a", 3000, 4000)])
    words = ["attribute", "--telemetry", "gpu.csv", "--trace", "trace.json", "--price", folder.rates(1)]
    folder.call(*words, "--format", "json")
    report = json.loads(folder.out)
    same([None, ["price_series_too_short"]], [report["facility"]["cost"], report["facility"]["reasons"]])
    same(None, report["rows"][0]["cost"])
    assert "price_series_too_short: rates.csv has the hours" in folder.err, folder.err
    for more, what in [(["--format", "gpupp"], "--format gpupp"), (["--with", "x.json"], "--with")]:
        folder.call(*words, *more, status=2)
        assert f"{what} has no form for them" in folder.err, folder.err


# ---- what was published: only totals are known


def publish(folder, name, start_s, end_s, energy_j, **more):
    """An aggregate and its record, as they are known after a run; four million tokens in, one out."""
    ours = {"power_metric_schema_version": 2, "power_valid": 1, "total_gpu_energy_j": energy_j,
            "avg_total_gpu_power_w": energy_j / (end_s - start_s), "joules_per_output_token": energy_j / 1e6}
    metrics = {key: value for key, value in ours.items() if "_j" in key or "_w" in key or "joules" in key}
    folder.write(f"agg_{name}.json", json.dumps({"hw": "h100", "tp": 1, **ours}))
    folder.write(f"power_validation_{name}.json", json.dumps({
        "schema_version": 1, "power_valid": True, "reasons": [], "telemetry_source": "gpu.csv",
        "benchmark_result": "run.json",
        "benchmark_window": {"start_time_unix": start_s, "end_time_unix": end_s, "completed": 6,
                             "total_input_tokens": 4000000, "total_output_tokens": 1000000},
        "observed_gpu_ids": ["0"], "per_gpu_energy_j": {"0": energy_j}, "metrics": metrics,
        "computed_from": {"aggregate": f"agg_{name}.json", "scope": "gpu"}, **more}))
    return f"agg_{name}.json"


def test_published_totals_assume_constant_power(folder):
    name = publish(folder, "a", SIX + 2700, SEVEN + 2700, 3.6e6)
    before = {path.name: path.read_bytes() for path in folder.path.iterdir()}
    words = ["export", name, "--carbon", MISO, "--price", 0.25, "--currency", "EUR"]
    folder.call(*words, "--format", "jsonl")
    found = json.loads(folder.out)["facility"]
    same(["gpu", "gpu", "modelled", "EUR", "constant power in the window", []],
         [found[key] for key in ("measured_boundary", "boundary", "basis", "currency", "assumption", "reasons")])
    near(0.25 * 501 + 0.75 * 419, found["carbon_gco2e"])
    near(found["carbon_gco2e"] / 5, found["carbon_gco2e_per_million_tokens"])
    near(0.25, found["cost_per_million_output_tokens"])
    # The boundary is the last rung, and all factors count once.
    folder.call(*words, "--format", "jsonl", "--node-factor", 1.5, "--pue", 1.2)
    found = json.loads(folder.out)["facility"]
    same(["gpu", "facility", "modelled"], [found[key] for key in ("measured_boundary", "boundary", "basis")])
    near(1.8 * (0.25 * 501 + 0.75 * 419), found["carbon_gco2e"])
    near(1.8 * 0.25, found["cost"])
    same(before, {path.name: path.read_bytes() for path in folder.path.iterdir()})


def test_export_takes_the_pue_as_the_other_commands_do(folder):
    """Times what was measured, unless factors stand between the GPUs and the facility."""
    name = publish(folder, "a", SIX, SEVEN, 3.6e6)
    folder.call("export", name, "--format", "jsonl", "--pue", 1.3)
    run = json.loads(folder.out)
    same([("gpu", "measured"), ("facility", "modelled")], [(one["boundary"], one["basis"]) for one in run["boundaries"]])
    found = run["facility"]
    same(["gpu", "facility", "modelled", 1.3, None],
         [found[key] for key in ("measured_boundary", "boundary", "basis", "pue", "price")])
    for key, wanted in (("facility_energy_j", 1.3 * 3.6e6), ("facility_power_w", 1300),
                        ("facility_energy_j_per_million_output_tokens", 1.3 * 3.6e6),
                        ("facility_energy_j_per_million_tokens", 1.3 * 3.6e6 / 5)):
        near(wanted, found[key])
    folder.call("export", name, "--format", "csv", "--pue", 1.3, "--price", 0.25)
    row = next(csv.DictReader(io.StringIO(folder.out)))
    near(1.3 * 3.6e6, float(row["facility_energy_j"]))
    near(1.3 * 0.25, float(row["cost"]))
    same("facility", row["cost_boundary"])
    folder.call("export", name, "--format", "prometheus", "--pue", 1.3)
    assert re.search(r'^aggregate_power_facility_energy_joules\{.*basis="modelled"\} 4680000.0$', folder.out, re.M), folder.out
    folder.call("compare", name, "--metric", "facility_energy_j", "--pue", 1.3, "--json")
    near(1.3 * 3.6e6, json.loads(folder.out)["summaries"][0]["mean"])
    folder.call("export", name, "--format", "jsonl", "--node-factor", 1.5, "--rack-factor", 1.2, "--pue", 1.1)
    near(1.5 * 1.2 * 1.1 * 3.6e6, json.loads(folder.out)["facility"]["facility_energy_j"])


def test_export_has_costs_in_each_format(folder):
    name = publish(folder, "a", SIX, SEVEN, 3.6e6)
    folder.call("export", name, "--format", "csv")
    plain = next(csv.reader(io.StringIO(folder.out)))
    words = ["export", name, "--carbon", MISO, "--price", 0.25, "--currency", "EUR"]
    folder.call(*words, "--format", "csv")
    row = next(csv.DictReader(io.StringIO(folder.out)))
    same(plain + ["cost_boundary", "cost_basis", "currency", "cost", "cost_per_million_output_tokens",
                  "cost_per_million_tokens", "carbon_gco2e", "carbon_gco2e_per_million_output_tokens",
                  "carbon_gco2e_per_million_tokens", "cost_assumption", "cost_reasons"], list(row))
    same(["gpu", "measured", "EUR", "0.25", "0.25", "0.05", "501.0", "501.0", "100.2", "", ""], list(row.values())[-11:])
    folder.call(*words, "--format", "prometheus")
    labels = 'run="a",hw="h100",tp="1",basis="measured",boundary="gpu"'
    lines = folder.out.splitlines()
    for line in [f"aggregate_power_carbon_grams{{{labels}}} 501.0",
                 f"aggregate_power_carbon_per_million_tokens_grams{{{labels}}} 100.2",
                 f'aggregate_power_cost{{{labels},currency="EUR"}} 0.25',
                 f'aggregate_power_cost_per_million_output_tokens{{{labels},currency="EUR"}} 0.25']:
        assert line in lines, folder.out


def test_export_of_runs_outside_of_the_hours(folder):
    name = publish(folder, "a", SIX, SEVEN + 1, 3.6e6)
    folder.call("export", name, "--format", "jsonl", "--price", folder.rates(1))
    found = json.loads(folder.out)["facility"]
    same([None, None, ["price_series_too_short"]],
         [found["cost"], found["cost_per_million_tokens"], found["reasons"]])
    assert "some runs lack cost or carbon; the first is" in folder.err, folder.err
    (folder.path / "power_validation_a.json").unlink()
    folder.call("export", name, "--format", "jsonl", "--price", "rates.csv", "--carbon", 360)
    found = json.loads(folder.out)["facility"]
    same([None, ["window_unknown"]], [found["cost"], found["reasons"]])
    near(360, found["carbon_gco2e"])


def test_compare_takes_costs_as_metrics(folder):
    # 1 % more energy, in an hour that is 20 % cheaper.
    for k in range(3):
        publish(folder, f"base_{k}", SIX + 60 * k, SIX + 60 * k + 60, 36000 + k)
        publish(folder, f"new_{k}", SEVEN + 60 * k, SEVEN + 60 * k + 60, 36360 + k)
    base = [f"agg_base_{k}.json" for k in range(3)]
    new = [f"agg_new_{k}.json" for k in range(3)]
    words = ["compare", *base, "--with", *new, "--price", folder.rates(1, 0.8), "--json", "--pue", 1.5]
    for metric, tokens in [("cost", 1), ("cost_per_million_output_tokens", 1), ("cost_per_million_tokens", 5)]:
        folder.call(*words, "--metric", metric)
        found = json.loads(folder.out)
        near(1.5 * 36001 / KWH / tokens, found["comparisons"][0]["base"]["mean"])
        near(0.8 * 36361 / 36001 - 1, found["change"])
        same(["better", 1.5], [found["verdict"], found["facility"]["pue"]])
    folder.call(*words, "--metric", "facility_energy_j")
    found = json.loads(folder.out)
    near(1.5 * 36361, found["comparisons"][0]["new"]["mean"])
    near(36361 / 36001 - 1, found["change"])
    folder.call(*words, status=2)
    assert "--pue, --carbon and --price: name what to compare with --metric" in folder.err, folder.err
    folder.call("compare", *base, "--with", *new, "--price", "rates.csv", "--metric", "cost")
    assert "cost and carbon: the GPUs alone, no --pue; cost in the price's currency" in folder.out, folder.out


def test_equal_costs_are_as_uncertain_as_their_energies(folder):
    for side in ("base", "new"):
        for k in range(3):
            publish(folder, f"{side}_{k}", SIX + 60 * k + 600 * (side == "new"), SIX + 60 * k + 660, 36000.5)
    words = ["compare", *[f"agg_base_{k}.json" for k in range(3)], "--with",
             *[f"agg_new_{k}.json" for k in range(3)], "--json"]
    widths = []
    for more in (["--metric", "total_gpu_energy_j"], ["--metric", "cost", "--price", "0.3"]):
        folder.call(*words, *more)
        found = json.loads(folder.out)
        widths.append(found["change_high"] - found["change_low"])
    assert widths[0] > 0 and math.isclose(*widths, rel_tol=1e-6), widths


def test_compare_by_the_interval_of_the_energy(folder):
    def spread(energy_j):
        return {"uncertainty": {"verdicts": [], "total_gpu_energy_j": {
            "low": energy_j * 0.95, "high": energy_j * 1.05, "standard_uncertainty": energy_j * 0.025,
            "repeatability": {"low": energy_j * 0.99, "high": energy_j * 1.01, "standard_uncertainty": energy_j * 0.005}}}}
    base = publish(folder, "base", SIX, SIX + 60, 36000, **spread(36000))
    new = publish(folder, "new", SIX + 120, SIX + 180, 36000 * 1.1, **spread(36000 * 1.1))
    found = []
    for more in (["--metric", "total_gpu_energy_j"], ["--metric", "cost", "--price", "0.3"]):
        folder.call("compare", base, "--with", new, "--json", *more, status=1)
        found.append(json.loads(folder.out))
        same(["worse", "measurement"], [found[-1]["verdict"], found[-1]["comparisons"][0]["method"]])
    for key in ("change", "change_low", "change_high"):
        near(found[0][key], found[1][key], what=key)


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
