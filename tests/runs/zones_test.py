#!/usr/bin/env python3
"""Zones and clocks of recordings and results: what is refused, what is said, and what settles it.

Joules by hand: a load of D s at 650 W between idle time at 100 W, one row a second, is 650 x D - 275 J by trapezoids
(the last second falls from 650 W to 100 W). tests/truth/zone_truth_test.py has the table over many zones.

usage: tests/runs/zones_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import os
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "truth")]
import zone_runs as z  # noqa: E402
from running import run_tests, same  # noqa: E402

START = 1788852000  # 2026-09-08T07:20:00Z
LENGTH = 60
JOULES = 650 * LENGTH - 275
HOURS = 3 * 3600


def near(wanted, run, within=0.012):
    assert run["valid"], run["details"]
    assert abs(run["total_gpu_energy_j"] - wanted) <= within * wanted, (wanted, run["total_gpu_energy_j"], run["warnings"])


def refused(run, code, *texts):
    same((False, [code]), (run["valid"], run["reasons"]), run["details"])
    for text in texts:
        assert text in run["details"], (text, run["details"])


def day(*others, around=HOURS):
    return z.rows(START - around, START + around, [(START, LENGTH), *others])


def with_result(folder, make, result_zone, zone="Europe/Berlin", rows=None):
    csv = z.as_csv(rows or day(), zone)
    return z.Run(folder, csv, make(result_zone, START, LENGTH))


# ---- Local times of a result

def test_one_clock(folder):
    for name, make in z.LOCAL.items():
        run = with_result(folder / name, make, "Europe/Berlin").measure("--timezone", "Europe/Berlin")
        near(JOULES, run)
        same("estimated", run["window_source"], name)


def test_a_result_of_a_container(folder):
    """An hour or two, and half and quarter hours; with and without a load in its place."""
    for zone, own in (("Europe/Berlin", "+02:00"), ("Asia/Kolkata", "+05:30"), ("Asia/Kathmandu", "+05:45"),
                      ("America/St_Johns", "-02:30")):
        apart = z.offset(zone, START)
        for name, make in z.LOCAL.items():
            place = folder / name / own
            around = abs(apart) + 2000
            run = with_result(place / "1", make, "UTC", zone, day(around=around)).measure("--timezone", own)
            refused(run, "window_not_exact", f"by the power its time zone is +00:00, and not the recording's, {own}",
                    "give --result-timezone +00:00")
            rows = day((START - apart, LENGTH, 400), around=around)
            place = with_result(place / "2", make, "UTC", zone, rows)
            refused(place.measure("--timezone", own), "window_not_exact", "by the power its time zone may be",
                    "+00:00", own)
            near(JOULES, place.measure("--timezone", own, "--result-timezone", "UTC"))


def test_exact_is_what_states_its_zone(folder):
    for name in ("AIPerf", "LoadGen 1.0"):
        run = with_result(folder / name, z.LOCAL[name], "Asia/Tokyo")
        for words in (["--result-timezone", "Asia/Tokyo"], ["--result-timezone", "+09:00"]):
            found = run.measure("--timezone", "Europe/Berlin", *words)
            near(JOULES, found)
            same("exact", found["window_source"], name)
        if name != "AIPerf":  # LoadGen counts no tokens, which an aggregate needs
            continue
        same(1, run.aggregate("--timezone", "Europe/Berlin", *words)["power_valid"])
        record = json.loads((run.path / "power_validation_result.json").read_text())
        same("+09:00", record["computed_from"]["options"]["result_timezone"])
        same(0, run.call("verify", ".")[0])
        # Nothing is published as exact without it.
        same(0, run.aggregate("--timezone", "Asia/Tokyo")["power_valid"])


def test_epochs_beside_local_times(folder):
    """--timezone can only be meant for the result there."""
    run = with_result(folder / "1", z.loadgen, "Europe/Berlin", None, day((START + 7200, LENGTH, 300)))
    refused(run.measure(), "window_not_exact", "by the power its time zone may be", "+00:00", "+02:00")
    for option in ("--timezone", "--result-timezone"):
        near(JOULES, run.measure(option, "+02:00"))
    run = with_result(folder / "2", z.vllm, "Europe/Berlin", None)
    refused(run.measure(), "window_not_exact", "give --result-timezone +02:00")
    # A short recording holds the load under one offset only.
    near(JOULES, with_result(folder / "3", z.vllm, "Europe/Berlin", None, day(around=300)).measure())


def test_later_versions_of_loadgen_write_utc(folder):
    for version in ("1.1", "2.1", "5.0", "10.0"):
        place = z.Run(folder / version, z.as_csv(day(), None), z.loadgen("UTC", START, LENGTH, version))
        run = place.measure()
        near(JOULES, run)
        same("exact", run["window_source"])
    for version in ("0.5a1", "1.0", "1.0.1"):
        refused(z.Run(folder / version, z.as_csv(day(), None), z.loadgen("UTC", START, LENGTH, version)).measure(),
                "window_not_exact", f"LoadGen {version} writes power_begin and power_end in local time")


def test_energy_of_tensorrt_is_a_witness(folder):
    """Two loads as long, at 650 W and at 400 W: what the server says is that of one of them."""
    rows = day((START - 7200, LENGTH, 400))
    for joules, fits in ((None, False), (39000, True), (24000, False), (100000, False)):
        place = folder / str(joules)
        run = z.Run(place, z.as_csv(rows, "Europe/Berlin"), z.tensorrt("Europe/Berlin", START, LENGTH, joules))
        found = run.measure("--timezone", "+02:00")
        if fits:
            near(JOULES, found)
        else:
            refused(found, "window_not_exact", "+04:00" if joules == 24000 else "may be")


def test_no_edge_decides_nothing(folder):
    """A load all day: its energy is the same under every offset."""
    rows = [(unix, 500) for unix in range(START - HOURS, START + HOURS)]
    near(500 * LENGTH, with_result(folder, z.vllm, "UTC", "Europe/Berlin", rows).measure("--timezone", "+02:00"))


def test_two_clocks_that_no_zone_explains(folder):
    """The recorder is in UTC, the result in Los Angeles, and so is this process: the zone of each must be stated."""
    run = with_result(folder, z.vllm, "America/Los_Angeles", "UTC", day(around=100))
    found = run.measure(zone="America/Los_Angeles")
    refused(found, "window_not_exact", "its clock and the recording's are 7 h apart", "--result-timezone")
    assert "--timezone +" not in json.dumps(found) and "--timezone -" not in json.dumps(found)
    near(JOULES, run.measure("--timezone", "UTC", "--result-timezone", "local", zone="America/Los_Angeles"))
    near(JOULES, run.measure("--timezone", "evidence", zone="America/Los_Angeles"))
    found = run.measure("--timezone", "evidence", zone="America/Los_Angeles")
    assert 0 < found["window_half_width_s"] < 3, found["window_half_width_s"]


def test_a_backfill_takes_the_zone_of_the_results(folder):
    run = z.Run(folder, z.as_csv(day(), "Europe/Berlin"), z.aiperf("UTC", START, LENGTH), {"timestamp_timezone": "+02:00"})
    os.rename(run.path / "result", run.path / "run.json")
    run.call("backfill", ".")
    same(0, json.loads((run.path / "agg_run.json").read_text()).get("power_valid", 0))
    run.call("backfill", ".", "--result-timezone", "UTC")
    aggregate = json.loads((run.path / "agg_run.json").read_text())
    same((1, JOULES), (aggregate.get("power_valid"), aggregate.get("total_gpu_energy_j")))
    same(0, run.call("verify", ".")[0])


def zone_record(run, *words, zone):
    run.aggregate("--window", "estimated", "--validation-result", "record.json", *words, zone=zone)
    record = json.loads((run.path / "record.json").read_text())
    return record, record["computed_from"].get("timezone_evidence", {})


def test_a_local_result_and_a_local_recording_show_no_zone(folder):
    """Both clocks are Berlin's, and nothing states it: the power places the load, and says nothing about the zone."""
    run = with_result(folder, z.vllm, "Europe/Berlin")
    starts = set()
    for zone in ("UTC", "Asia/Tokyo", "Europe/Berlin"):
        near(JOULES, run.measure("--timezone", "evidence", zone=zone))
        record, found = zone_record(run, "--timezone", "evidence", zone=zone)
        same(("one_witness", ["process_zone"], ["any_zone", "not_in_recording"]),
             (found["level"], found["witnesses"], found["rivals"]), zone)
        starts.add(round(record["benchmark_window"]["start_time_unix"]))
        record, _ = zone_record(run, "--timezone", "auto", zone=zone)
        same((False, ["timezone_ambiguous"]), (record["power_valid"], record["reasons"]), zone)
    same(3, len(starts))
    for zone in ("UTC", "Asia/Tokyo"):  # the result's zone is stated: the edges are of it
        record, found = zone_record(run, "--timezone", "evidence", "--result-timezone", "Europe/Berlin", zone=zone)
        same((["edges"], "+02:00"), (found["witnesses"], record["computed_from"]["utc_offset"]), zone)
        assert "any_zone" not in found["rivals"], found
        assert abs(record["benchmark_window"]["start_time_unix"] - START) < 5, record["benchmark_window"]


def test_the_time_of_the_file_makes_edges_of_a_local_result_a_witness(folder):
    run = with_result(folder, z.vllm, "Europe/Berlin")
    os.utime(run.path / "gpu_metrics.csv", (START + HOURS + 5, START + HOURS + 5))
    record, found = zone_record(run, "--timezone", "auto", zone="Europe/Berlin")
    same((True, "two_witnesses", ["edges", "file_time"]), (record["power_valid"], found["level"], found["witnesses"]))
    record, _ = zone_record(run, "--timezone", "evidence", zone="UTC")
    same((False, ["timezone_ambiguous"]), (record["power_valid"], record["reasons"]))


def test_local_results_are_no_votes_for_a_zone(folder):
    """In a backfill, too: the runs of one recorder agree with the process's zone, whatever it is."""
    for number, start in enumerate((START, START + 7777, START + 15999, START + 24001)):
        name = f"llama{number}_conc4_h100"
        csv = z.as_csv(z.rows(start - HOURS, start + HOURS, [(start, LENGTH)]), "Europe/Berlin")
        run = z.Run(folder / f"power_audit_{name}", csv, z.vllm("Europe/Berlin", start, LENGTH))
        os.rename(run.path / "result", run.path / f"{name}.json")
        os.rename(run.path / "agg_run.json", run.path / f"agg_{name}.json")
    for zone in ("UTC", "Asia/Tokyo"):
        z.Run.call(type("At", (), {"path": folder})(), "backfill", ".", "--window", "estimated", "--report",
                   f"{zone[:3]}.jsonl",
                   zone=zone)
        lines = [json.loads(line) for line in (folder / f"{zone[:3]}.jsonl").read_text().splitlines()]
        same([["timezone_ambiguous"]] * 4, [line["reasons"] for line in lines], zone)
        assert all("--result-timezone" in line["details"] for line in lines), lines[0]["details"]


def test_hours_of_a_zone_that_nothing_states_warn(folder):
    run = with_result(folder, z.vllm, "Europe/Berlin")
    for option, unit in (("--carbon", 1), ("--price", 0.001)):
        hours = "".join(f"2026-09-08T{hour:02}:00:00Z,{unit * (100 + hour)}\n" for hour in range(24))
        (run.path / f"rate{option}.csv").write_text("time,value\n" + hours)
    words = lambda *more, zone="UTC": [text for text in run.measure(*more, zone=zone)["warnings"]  # noqa: E731
                                       if "nothing states the time zone" in text]
    for option in ("--carbon", "--price"):
        [warning] = words(option, f"rate{option}.csv")
        assert option in warning and "+00:00" in warning and "--timezone" in warning, warning
        same([], words(option, f"rate{option}.csv", "--timezone", "Europe/Berlin"))
        same([], words(option, "380" if option == "--carbon" else "0.38"))
    assert "+09:00" in words("--carbon", "rate--carbon.csv", zone="Asia/Tokyo")[0]


# ---- The process's own zone

def test_the_zone_of_the_process(folder):
    for zone in ("Europe/Berlin", "Asia/Kathmandu"):
        around = z.offset(zone, START) + 2000
        run = z.Run(folder / zone, z.as_csv(day(around=around), zone), z.exact(START, LENGTH))
        own = "+02:00" if zone == "Europe/Berlin" else "+05:45"
        refused(run.measure(), "timezone_ambiguous", "in +00:00, the process's own zone, the GPUs are idle",
                f"the time zone is {own}")
        same(0, run.aggregate()["power_valid"])
        found = run.measure(zone=zone)
        near(JOULES, found)
        same([], found["warnings"])
        near(JOULES, run.measure("--timezone", own))


def test_a_sweep_in_the_zone_of_the_process(folder):
    """Loads of other power every 15 or 60 minutes: other zones' fit if they begin and end as exactly with the window."""
    for every in (900, 3600):
        for late, longer, is_refused in ((0, 0, True), (4, 0, False), (0, 4, False), (-4, 8, False)):
            most = 3 * 3600 // every
            others = [(START + every * n + late, LENGTH + longer, 250 + 20 * (n % 5)) for n in range(-most, most + 1) if n]
            rows = [(unix, watts + unix % 7) for unix, watts in day(*others, around=4 * 3600)]
            found = z.Run(folder, z.as_csv(rows, "UTC"), z.exact(START, LENGTH)).measure()
            if is_refused:
                refused(found, "timezone_ambiguous", "and with other power in")
            else:
                near(JOULES + 3 * LENGTH, found)


def test_the_time_of_the_file(folder):
    """No edge in reach: the power is up all day. The recorder wrote its last row then."""
    rows = [(unix, 500 + unix % 7) for unix in range(START - HOURS, START + HOURS)]
    run = z.Run(folder, z.as_csv(rows, "Europe/Berlin"), z.exact(START, LENGTH))
    for late, zone, outcome in ((20, "Europe/Berlin", "used"), (3, "UTC", "refused"), (20, "UTC", "doubted"),
                                (5000, "UTC", "warned"), (5000, "Europe/Berlin", "warned")):
        at = START + HOURS + late
        os.utime(run.path / "gpu_metrics.csv", (at, at))
        found = run.measure(zone=zone)
        if outcome == "refused":
            refused(found, "timezone_ambiguous", "last written, the time zone is +02:00, and not +00:00")
        else:
            near(503 * LENGTH, found)
            same(outcome == "warned", any("nothing states the time zone" in text for text in found["warnings"]), outcome)
            same(outcome == "doubted", any("unless it was copied" in text for text in found["warnings"]), outcome)


def test_a_copy_has_any_later_time(folder):
    """Power without an edge, by the process's own clock, copied up to a day later: few times are just another zone's."""
    rows = [(unix, 500 + unix % 7) for unix in range(START - HOURS, START + HOURS)]
    run = z.Run(folder, z.as_csv(rows, "UTC"), z.exact(START, LENGTH))
    for hours in range(24):
        at = START + HOURS + hours * 3600 + 17 * hours + 40
        os.utime(run.path / "gpu_metrics.csv", (at, at))
        near(503 * LENGTH, run.measure(zone="UTC"))


# ---- Clocks of the recorder

def test_clock_pairs_contradict(folder):
    pairs = [{"epoch_s": unix, "monotonic_s": unix - START + HOURS, "boot_id": "b"} for unix in (START - HOURS, START + HOURS)]
    for context in ({"timestamp_timezone": "+01:00"}, {"timestamp_timezone": "+03:00"}):
        run = z.Run(folder, z.as_csv(day(), "Europe/Berlin"), z.exact(START, LENGTH), context | {"clock_pairs": pairs})
        refused(run.measure(), "timezone_contradicts_clocks", "clock_pairs")
        near(JOULES, run.measure("--timezone", "Europe/Berlin"))
        same(0, run.aggregate()["power_valid"])
    run = z.Run(folder, z.as_csv(day(), "Europe/Berlin"), z.exact(START, LENGTH),
                {"timestamp_timezone": "+02:00", "clock_pairs": pairs})
    near(JOULES, run.measure())
    refused(run.measure("--timezone", "UTC"), "timezone_contradicts_clocks")
    (run.path / "w.txt").write_text(f"begin w {START}\nend w {START + LENGTH}\n")
    status, _, err = run.call("windows", "--telemetry", "gpu_metrics.csv", "--windows", "w.txt", "--timezone", "UTC")
    assert status and "timezone_contradicts_clocks" in err, err


def test_a_change_that_the_context_does_not_say_well(folder):
    good = {"unix_s": START, "offset": "+02:00"}
    for changes in ([{}], [good, good], [{"unix_s": "x", "offset": "+02:00"}], [{"unix_s": START}]):
        run = z.Run(folder, z.as_csv(day(), "UTC"), z.exact(START, LENGTH),
                    {"timestamp_timezone": "UTC", "timezone_changes": changes})
        refused(run.measure(), "telemetry_file_unreadable", "'timezone_changes'")


# ---- Hours that are shown twice

CHANGE = 1792890000  # 2026-10-25T01:00:00Z, Berlin's clock goes from 03:00 back to 02:00


def autumn(start, zone="Europe/Berlin", first=-9000, last=9000):
    return z.as_csv(z.rows(CHANGE + first, CHANGE + last, [(start, 600)]), zone), z.exact(start, 600)


def test_both_passes_of_an_hour(folder):
    for number, start in enumerate((CHANGE - 7000, CHANGE - 3000, CHANGE - 300, CHANGE + 600, CHANGE + 3000, CHANGE + 5000)):
        for first in (-9000, -3400):
            if start < CHANGE + first:
                continue
            run = z.Run(folder / str(number) / str(first), *autumn(start, first=first))
            near(650 * 600 - 275, run.measure("--timezone", "Europe/Berlin"))
            near(650 * 600 - 275, run.measure(zone="Europe/Berlin"))


def test_both_passes_under_one_offset(folder):
    for offset, start in (("+01:00", CHANGE + 600), ("+02:00", CHANGE - 3000)):
        run = z.Run(folder / offset, *autumn(start))
        refused(run.measure("--timezone", offset), "clock_set_back", "go back by 1 h", "both passes")
        same(0, run.aggregate("--timezone", offset)["power_valid"])
        (run.path / "w.txt").write_text(f"begin w {start}\nend w {start + 600}\n")
        _, _, err = run.call("windows", "--telemetry", "gpu_metrics.csv", "--windows", "w.txt", "--timezone", offset)
        assert "clock_set_back" in err, err
        run.aggregate("--timezone", offset, "--accept", "clock_set_back")
        same(["clock_set_back"], list(json.loads((run.path / "power_validation_result.json").read_text())["accepted_reasons"]))


def test_a_recording_that_begins_in_the_second_pass(folder):
    run = z.Run(folder, *autumn(CHANGE + 1200, first=900))
    found = run.measure("--timezone", "Europe/Berlin")
    same((False, "clock_set_back"), (found["valid"], found["reasons"][0]))
    assert "the clock showed 60 min twice" in found["details"] and "--timezone +01:00" in found["details"], found["details"]
    near(650 * 600 - 275, run.measure("--timezone", "+01:00"))


def test_an_export_that_is_sorted(folder):
    """Grafana's rows of one series: in the order of time, and sorted by what they show."""
    rows = z.rows(CHANGE - 9000, CHANGE + 9000, [(CHANGE - 3000, 600)])
    series = 'DCGM_FI_DEV_POWER_USAGE{gpu="0", instance="a"}'
    lines = [f"{series};{z.shown('Europe/Berlin', unix):%Y-%m-%dT%H:%M:%S};{watts}" for unix, watts in rows]
    for name, ordered in (("time", lines), ("text", sorted(lines))):
        run = z.Run(folder / name, "Series;Time;Value\n" + "\n".join(ordered) + "\n", z.exact(CHANGE - 3000, 600))
        found = run.measure("--timezone", "Europe/Berlin")
        if name == "time":
            near(650 * 600 - 275, found)
        else:
            refused(found, "clock_set_back", "the clock showed 60 min twice, from 1792886400.000 (2026-10-25T00:00:00.000Z)")
    (run.path / "result").write_text(z.exact(CHANGE - 8000, 600))
    # Away from the hour, and idle.
    near(100 * 600, run.measure("--timezone", "Europe/Berlin", "--accept", "load_outside_window"))


# ---- Clocks that were set

def test_a_clock_that_was_set_back(folder):
    rows = day()
    for ahead, at, is_good in ((3600, START - 120, False), (3600, START + 30, False), (20, START + 30, False),
                               (3600, START + HOURS - 600, True), (3600, START - HOURS + 60, True)):
        csv = z.as_csv([(unix + ahead if unix < at else unix, watts) for unix, watts in rows], None)
        run = z.Run(folder, csv, z.exact(START if at < START + LENGTH else START + ahead, LENGTH))
        found = run.measure()
        if is_good:
            near(JOULES, found)
        else:
            refused(found, "clock_set_back", "the clock was set back")


def test_files_in_another_order_are_good(folder):
    rows = day(around=2000)
    half = len(rows) // 2
    for name, ordered in (("halves", rows[half:] + rows[:half]), ("newest first", rows[::-1]), ("twice", rows + rows),
                          ("parts", rows[:100] + rows[200:300] + rows[100:200] + rows[300:])):
        near(JOULES, z.Run(folder / name, z.as_csv(ordered, None), z.exact(START, LENGTH)).measure())


def test_two_recorders_in_two_zones(folder):
    rows = day(around=6 * 3600)
    lines = [z.as_csv(rows, zone).splitlines() for zone in ("UTC", "Asia/Kolkata")]
    csv = lines[0][0] + "\n" + "".join(f"{a}\n{b}\n" for a, b in zip(lines[0][1:], lines[1][1:]))
    run = z.Run(folder, csv, z.exact(START, LENGTH))
    for zone in ("UTC", "+05:30"):
        refused(run.measure("--timezone", zone), "clock_set_back", "two clocks wrote one file")


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
