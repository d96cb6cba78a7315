#!/usr/bin/env python3
"""Checks 'aggregate-power windows': the energy of each window that a script logged.

Expected values are sums by hand, those of golden.md, or a trapezoid in this file.

usage: tests/runs/windows_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import csv
import datetime
import gzip
import io
import json
import os
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import PROGRAM, ROOT, near, run_tests, same  # noqa: E402

B200 = ROOT / "testdata" / "runs" / "b200"
ZEUS = ROOT / "testdata" / "telemetry" / "zeus"
RESULTS = ROOT / "testdata" / "results"
START = 1_788_852_000
ALL_OF_B200 = "begin all 1788852019.279\nend all 1788852021.279\n"
CSV_HEADER = ("number,name,start_unix_s,end_unix_s,duration_s,depth,parent,overlaps,gpu,source,energy_j,"
              "mean_power_w,peak_power_w,share,own_duration_s,own_energy_j,reason")


class Ran:
    def __init__(self, folder, *words, limit=60):
        done = subprocess.run([PROGRAM, "windows", *map(str, words)], cwd=folder, capture_output=True,
                              env=os.environ | {"TZ": "UTC"}, timeout=limit)
        self.status, self.out, self.err = done.returncode, done.stdout.decode(), done.stderr.decode()
        self.lines = self.out.splitlines()

    @property
    def report(self):
        return json.loads(self.out)

    @property
    def windows(self):
        return {window["name"]: window for window in self.report["windows"]}

    def __repr__(self):
        return f"status {self.status}\n{self.out}{self.err}"


def write_telemetry(folder, rows, name="power.csv"):
    """Rows of (seconds after START, GPU, watts)."""
    lines = ["timestamp,gpu,power_w", *(f"{START + at!r},{gpu},{watts!r}" for at, gpu, watts in rows)]
    (folder / name).write_text("\n".join(lines) + "\n")


def write_ramp(folder):
    """GPU 0 at 100 W to 10 s, then rising to 300 W at 20 s; GPU 1 at 50 W; a sample each second."""
    write_telemetry(folder, [(at, gpu, (100 + 20 * max(0, at - 10)) if gpu == 0 else 50)
                             for at in range(21) for gpu in (0, 1)])


def write_step(folder):
    """120 W, and 520 W from 10 to 40 s, seen as the mean of a second that ended 65 ms before the stamp."""
    lines = ["timestamp, index, name, power.draw [W]"]
    for tenth in range(600):
        at = tenth / 10 + 0.03
        share = max(0, min(at - 0.065, 40) - max(at - 1.065, 10))
        lines.append(f"{START + at:.2f}, 0, NVIDIA H100 80GB HBM3, {120 + 400 * share + (tenth % 7 - 3) / 10:.2f} W")
    (folder / "power.csv").write_text("\n".join(lines) + "\n")


def measured(folder, windows, *more, telemetry="power.csv"):
    (folder / "w.txt").write_text(windows)
    return Ran(folder, "--telemetry", telemetry, "--windows", "w.txt", *more)


def b200(folder, windows, *more):
    return measured(folder, windows, "--timezone", "UTC", *more, telemetry=B200 / "gpu_metrics.csv")


def test_a_recording_that_is_not_there(folder):
    write_ramp(folder)
    (folder / "node").mkdir()
    for name, message in (("power.cvs", "power.cvs: no such recording: did you mean power.csv?"),
                          ("other", "other: no such recording"), ("node", "node is a folder")):
        done = measured(folder, "begin a +1\nend a +2\n", telemetry=name)
        same([2, ""], [done.status, done.out])
        assert message in done.err, done.err


# ---- Golden numbers

def test_golden_b200(folder):
    done = b200(folder, ALL_OF_B200 + "begin load 1788852019.529\nend load 1788852021.029\n", "--json")
    same(0, done.status, done)
    near(5597.900, done.windows["all"]["energy_j"])
    near(8 * 349.86875, done.windows["all"]["mean_power_w"])
    near(4165.455, done.windows["load"]["energy_j"])
    near(8 * 347.12125, done.windows["load"]["mean_power_w"])
    same(1, done.windows["load"]["parent"])
    near(0.5, done.windows["all"]["own_duration_s"], 1e-6)
    near(5597.900 - 4165.455, done.windows["all"]["own_energy_j"], 1e-9)
    near(1, sum(gpu["share"] for gpu in done.windows["load"]["gpus"]))
    same(["power"] * 8, [gpu["source"] for gpu in done.windows["all"]["gpus"]])


def test_golden_zeus(folder):
    options = ("--timezone", "UTC", "--power-unit", "mW", "--json")
    windows = "begin all +0\nend all -0\nbegin without the last row +0\nend without the last row -0.054272\n"
    done = measured(folder, windows, *options, telemetry=ZEUS / "zeus-monitor-sample.csv")
    same(0, done.status, done)
    near(31.00416, done.windows["all"]["energy_j"], 1e-5)
    near(0.958482, done.windows["all"]["duration_s"], 1e-5)
    near(29.25102, done.windows["without the last row"]["energy_j"], 1e-5)


def zeus_sample():
    """(Unix seconds, watts) of the golden sample."""
    rows = []
    for row in csv.DictReader((ZEUS / "zeus-monitor-sample.csv").open()):
        whole, part = row["Time"].split(".")
        at = datetime.datetime.fromisoformat(whole + "+00:00").timestamp() + float("0." + part)
        rows.append((at, float(row["Power"]) / 1000))
    return rows


def trapezoid(rows):
    return sum((right[0] - left[0]) * (left[1] + right[1]) / 2 for left, right in zip(rows, rows[1:]))


def samples_of_zeus(rows, start, end):
    """Those that `analyze.energy` uses: it drops the last line, and all outside the window."""
    rows = rows[:-1]
    begin = rows[0 if start >= 0 else -1][0] + start
    stop = rows[0 if end >= 0 else -1][0] + end
    return [row for row in rows if begin <= row[0] <= stop]


def at_line(rows, at):
    left, right = next(pair for pair in zip(rows, rows[1:]) if pair[0][0] <= at <= pair[1][0])
    return at, left[1] + (at - left[0]) / (right[0] - left[0]) * (right[1] - left[1])


def test_the_rule_of_zeus_and_the_difference(folder):
    rows = zeus_sample()
    near(29.25102, trapezoid(samples_of_zeus(rows, 0, 1e9)), 1e-5)
    first, last = rows[0][0], rows[-1][0]
    # On the stamps of samples both rules give the same; its negative times count from the last line but one.
    on_stamps = (rows[3][0] - first, rows[15][0] - first), (rows[5][0] - first, -(last - rows[16][0]))
    between = (0.2, 0.7), (0.3, -0.1)
    lines = [f"begin {n} {'+' if start >= 0 else ''}{start:.9f}\nend {n} {'+' if end >= 0 else ''}{end:.9f}\n"
             for n, (start, end) in enumerate(on_stamps + between)]
    done = measured(folder, "".join(lines), "--json", telemetry=ZEUS / "zeus-monitor-sample.csv")
    same(0, done.status, done)
    for n, (start, end) in enumerate(on_stamps + between):
        found = done.windows[str(n)]["energy_j"]
        from_s, to_s = first + start, (first if end >= 0 else last) + end
        end_of_zeus = end if end >= 0 else to_s - rows[-2][0]
        # A microsecond wider, for what the stamps were rounded to.
        kept = samples_of_zeus(rows, start - 1e-6, end_of_zeus + 1e-6)
        edges_j = (trapezoid([at_line(rows, from_s), kept[0]]) if from_s < kept[0][0] else 0) + (
            trapezoid([kept[-1], at_line(rows, to_s)]) if kept[-1][0] < to_s else 0)
        near(trapezoid(kept) + edges_j, found, 1e-5)
        assert (edges_j < 1e-3) == (n < 2), (n, edges_j)
    # What the page says of 0.2 s to 0.7 s.
    near(15.5435, trapezoid(samples_of_zeus(rows, 0.2, 0.7)), 1e-5)
    near(16.1736, done.windows["2"]["energy_j"], 1e-5)


def test_plateaus_of_a_timeline_hold(folder):
    # 100 W for 100 s, then 300 W for 1 s: 10,300 J. Lines between the changes would give 20,000 J + 300 J.
    (folder / "t.json").write_text(json.dumps({"device_instant": {"0": [[START, 100], [START + 100, 300], [START + 101, 301]]}}))
    done = measured(folder, "begin all +0\nend all -0\nbegin flat +99\nend flat +100\nbegin both +99.5\nend both +100.5\n",
                    "--json", telemetry="t.json")
    same(0, done.status, done)
    same([10300.0, 100.0, 200.0], [window["energy_j"] for window in done.report["windows"]])


def test_agrees_with_measure(folder):
    result = B200 / "run.json"
    done = Ran(folder, "--telemetry", B200 / "gpu_metrics.csv", "--windows", f"bench:{result}", "--timezone", "UTC",
               "--json")
    same(0, done.status, done)
    near(4165.455, done.windows["run"]["energy_j"])


# ---- Numbers

def test_numbers_by_hand(folder):
    write_ramp(folder)
    lines = measured(folder, '{"name": "a b", "start": "+5", "end": "+15"}\n', "--json")
    done = measured(folder, "begin a b +5\nend a b +15\n", "--json")
    same(0, done.status, done)
    window = done.windows["a b"]
    same(window, lines.windows["a b"], "an object a line")
    # GPU 0: 5 s of 100 W, then 5 s from 100 W to 200 W. GPU 1: 10 s of 50 W.
    energies = [500 + 750, 500]
    near(sum(energies), window["energy_j"])
    for gpu, energy, peak in zip(window["gpus"], energies, (200, 50)):
        near(energy, gpu["energy_j"])
        near(energy / 10, gpu["mean_power_w"])
        near(peak, gpu["peak_power_w"])
        near(energy / 1750, gpu["share"])
    same(["0", "1"], [gpu["gpu"] for gpu in window["gpus"]])


def test_edges_are_interpolated(folder):
    write_ramp(folder)
    done = measured(folder, "begin a +12.25\nend a +12.75\n", "--gpus", "0", "--json")
    # 145 W to 155 W.
    near(0.5 * 150, done.windows["a"]["energy_j"])
    near(155, done.windows["a"]["gpus"][0]["peak_power_w"])


def test_times_from_the_end(folder):
    write_ramp(folder)
    done = measured(folder, "begin a -8\nend a -0\n", "--gpus", "1", "--json")
    near(8 * 50, done.windows["a"]["energy_j"])
    near(START + 12, done.windows["a"]["start_unix_s"])


def test_nested_windows(folder):
    write_ramp(folder)
    windows = ("begin outer +0\nbegin one +1\nbegin deep +2\nend deep +3\nend one +4\nbegin two +12\nend two +14\n"
               "end outer +20\n")
    done = measured(folder, windows, "--json")
    found = done.windows
    own = {"outer": 20 - 3 - 2, "one": 3 - 1, "deep": 1, "two": 2}
    for name, seconds in own.items():
        near(seconds, found[name]["own_duration_s"])
    same([0, 1, 2, 1], [window["depth"] for window in done.report["windows"]])
    same([None, 1, 2, 1], [window["parent"] for window in done.report["windows"]])
    near(150 * 2, found["one"]["own_energy_j"])
    near(sum(window["own_energy_j"] for window in found.values()), found["outer"]["energy_j"])
    assert found["one"]["energy_j"] + found["two"]["energy_j"] <= found["outer"]["energy_j"]
    for i in (0, 1):
        near(sum(window["gpus"][i]["own_energy_j"] for window in found.values()), found["outer"]["gpus"][i]["energy_j"])


def test_overlaps_count_in_both(folder):
    write_ramp(folder)
    done = measured(folder, "begin a +1\nbegin b +3\nend a +5\nend b +9\nbegin c +9\nend c +10\n", "--json")
    same(0, done.status, done)
    same(["b", "a", None], [window["overlaps"] for window in done.report["windows"]])
    near(4 * 150, done.windows["a"]["energy_j"])
    near(6 * 150, done.windows["b"]["energy_j"])
    table = measured(folder, "begin a +1\nbegin b +3\nend a +5\nend b +9\n")
    assert "(overlaps b: their common time is in both)" in table.lines, table


def test_conservation_over_random_windows(folder):
    """Energies against a trapezoid, sample by sample; neighbouring windows add up."""
    generator = random.Random(20260908)
    at, rows = 0.0, []
    while at < 400:
        rows += [(at, gpu, generator.randint(1, 7000) / 10) for gpu in (0, 1)]
        at += generator.choice([0.5, 0.75, 1, 2.5])
    write_telemetry(folder, rows)

    def trapezoid(gpu, begin, end):
        points = [(t, w) for t, g, w in rows if g == gpu]
        joules = 0.0
        for (t0, w0), (t1, w1) in zip(points, points[1:]):
            left, right = max(t0, begin), min(t1, end)
            if left < right:
                power = [w0 + (t - t0) / (t1 - t0) * (w1 - w0) for t in (left, right)]
                joules += (right - left) * sum(power) / 2
        return joules

    edges = sorted(generator.randint(0, 400 * 64) / 64 for _ in range(60))
    edges = [edge for edge in sorted(set(edges)) if edge <= rows[-1][0]]
    lines = [f"name,start,end\nwhole,+{edges[0]},+{edges[-1]}"]
    lines += [f"p{i},+{begin},+{end}" for i, (begin, end) in enumerate(zip(edges, edges[1:]))]
    loose = []
    for i in range(200):
        begin, end = sorted(generator.sample(edges, 2))
        loose.append((f"r{i}", begin, end))
        lines.append(f"r{i},+{begin},+{end}")
    done = measured(folder, "\n".join(lines) + "\n", "--json")
    same(0, done.status, done.err)
    parts = [window for name, window in done.windows.items() if name.startswith("p")]
    near(sum(part["energy_j"] for part in parts), done.windows["whole"]["energy_j"])
    for name, begin, end in loose:
        for gpu in (0, 1):
            near(trapezoid(gpu, begin, end), done.windows[name]["gpus"][gpu]["energy_j"], 1e-7)
            peak = max(w for t, g, w in rows if g == gpu)
            assert done.windows[name]["gpus"][gpu]["peak_power_w"] <= peak


# ---- What is not measured

def test_windows_that_are_not_covered(folder):
    write_ramp(folder)
    (folder / "w.txt").write_text("begin early +0\nend early +4\nbegin late +18\nend late +25\n"
                                  "begin now +3\nend now +3\nbegin before 1788851000\nend before 1788851010\n")
    done = Ran(folder, "--telemetry", "power.csv", "--windows", "w.txt", "--json")
    same(1, done.status)
    same([True, False, False, False], [window["measured"] for window in done.report["windows"]])
    late = done.windows["late"]
    same("GPU 0: the window ends 5.000 s after the last reading", late["reason"])
    for key in ("energy_j", "mean_power_w", "own_energy_j"):
        same(None, late[key], key)
        same(None, late["gpus"][0][key], key)
    same([None, None], [late["gpus"][0][key] for key in ("share", "peak_power_w")])
    same("GPU 0: the window takes no time", done.windows["now"]["reason"])
    same("GPU 0: the window ends 990.000 s before the first reading", done.windows["before"]["reason"])
    same("aggregate-power: 3 of 4 windows not measured; the first is late: GPU 0: the window ends 5.000 s after the "
         "last reading\n", done.err)


def test_a_copy_of_a_recording_counts_once(folder):
    write_ramp(folder)
    text = (folder / "power.csv").read_text()
    (folder / "copy.csv.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "w.txt").write_text("begin w +0\nend w +20\n")
    done = Ran(folder, "--telemetry", "power.csv", "copy.csv.gz", "--windows", "w.txt")
    same((2, ""), (done.status, done.out))
    same("aggregate-power: error: GPU 0 of power.csv and GPU 0 of copy.csv.gz have the same readings at the same times: "
         "one is a copy of the other; give one of them\n", done.err)


def test_the_gpu_of_a_host_counts_once(folder):
    for name, watts in (("a.csv", 100), ("b.csv", 300)):
        rows = [f"{START + at},n1,0,{watts + at}" for at in range(10)]
        (folder / name).write_text("\n".join(["timestamp,hostname,gpu,power_w", *rows]) + "\n")
    (folder / "w.txt").write_text("begin w +0\nend w +9\n")
    done = Ran(folder, "--telemetry", "a.csv", "b.csv", "--windows", "w.txt")
    same((2, "aggregate-power: error: GPU n1/0 of a.csv is GPU n1/0 of b.csv and would count twice: give one of them\n"), (done.status, done.err))


def test_gpus_are_chosen_from_all_files_together(folder):
    # 400 W for 8 s; the file that has no such GPU is left out, and a GPU of no file is named.
    for name, gpu, watts in (("a.csv", 0, 200), ("b.csv", 3, 400)):
        write_telemetry(folder, [(at, gpu, watts + at % 2) for at in range(11)], name)
    (folder / "w.txt").write_text("begin w +0\nend w +8\n")
    done = Ran(folder, "--telemetry", "a.csv", "b.csv", "--windows", "w.txt", "--gpus", "3", "--json")
    same([0, ["3"]], [done.status, done.report["gpus"]])
    near(8 * 400.5, done.windows["w"]["energy_j"])
    done = Ran(folder, "--telemetry", "a.csv", "b.csv", "--windows", "w.txt", "--gpus", "3,7")
    same((2, "aggregate-power: error: a.csv, b.csv: GPU 7 is not in the recordings, which have 0, 3\n"),
         (done.status, done.err))


def test_a_uuid_is_one_gpu_whatever_its_index(folder):
    rows = "".join(f"{START + at},{{}},GPU-5f0c1a2b,{100 + at}\n" for at in range(10))
    for name, index in (("a.csv", 0), ("b.csv", 1)):
        (folder / name).write_text("timestamp,index,uuid,power_w\n" + rows.replace("{}", str(index)))
    (folder / "w.txt").write_text("begin w +0\nend w +9\n")
    done = Ran(folder, "--telemetry", "a.csv", "b.csv", "--windows", "w.txt")
    same((2, "aggregate-power: error: GPU 0 of a.csv is GPU 1 of b.csv, with the UUID GPU-5f0c1a2b, and would count "
          "twice: give one of them\n"), (done.status, done.err))
    (folder / "c.csv").write_text((folder / "a.csv").read_text() + rows.replace("{}", "1"))
    done = Ran(folder, "--telemetry", "c.csv", "--windows", "w.txt")
    same((2, "aggregate-power: error: c.csv: gpu_identity_conflict: UUID GPU-5f0c1a2b has index 0 in some rows and index "
          "1 in others\n"), (done.status, done.err))


def test_gpus_without_readings_and_rows_without_gpus(folder):
    (folder / "na.csv").write_text("timestamp,gpu,power_w\n" + "".join(
        f"{START + at},0,N/A\n{START + at},1,300\n" for at in range(10)))
    done = measured(folder, "begin w +0\nend w +9\n", "--json", telemetry="na.csv")
    same((1, False, None), (done.status, done.windows["w"]["measured"], done.windows["w"]["energy_j"]))
    same(["it has no reading of power", None], [gpu["reason"] for gpu in done.windows["w"]["gpus"]])
    done = measured(folder, "begin w +0\nend w +9\n", "--json", "--gpus", "1", telemetry="na.csv")
    same((0, 2700), (done.status, done.windows["w"]["energy_j"]))
    (folder / "unnamed.csv").write_text("timestamp,gpu,power_w\n" + "".join(
        f"{START + at},,200\n{START + at},1,300\n" for at in range(10)))
    done = measured(folder, "begin w +0\nend w +9\n", telemetry="unnamed.csv")
    same((2, True), (done.status, "unnamed.csv: 10 rows have a power and name no GPU" in done.err), done.err)


def test_readings_that_no_sensor_can_have_are_told(folder):
    """As 'measure' tells them, if a window that was measured counts them; above 3 kW none is."""
    write_telemetry(folder, [(at, gpu, 2999 if (at, gpu) == (50, 1) else 0 if (at, gpu) == (20, 0) else 300)
                             for at in range(100) for gpu in (0, 1)])
    at = datetime.datetime.fromtimestamp(START + 50, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    spike = (f"aggregate-power: warning: power.csv: implausible_readings: GPU 1 reads 2999 W at {START + 50}.000 ({at}), "
             "more than almost any draws; the energy includes it\n")
    zero = ("aggregate-power: warning: power.csv: implausible_readings: GPU 0 reads 0 W once between readings above 15 W; "
            "the energy includes that\n")
    same(spike, measured(folder, "begin a +40\nbegin b +45\nend b +60\nend a +70\n").err)
    same(spike + zero, measured(folder, "begin a +10\nend a +30\nbegin b +49.5\nend b +60\n").err)
    same("", measured(folder, "begin a +22\nend a +49\nbegin b +51\nend b +60\n").err)
    same(spike, measured(folder, "begin a +40\nend a +60\n", "--gpus", "1").err)
    write_telemetry(folder, [(at, gpu, 99999 if (at, gpu) == (50, 1) else 300) for at in range(100) for gpu in (0, 1)])
    done = measured(folder, "begin a +40\nend a +60\n")
    assert "GPU 1: implausible_power: a reading of 99999 W, which no GPU draws" in done.err, done
    same("", measured(folder, "begin a +22\nend a +49\nbegin b +51\nend b +60\n").err)


def test_doubtful_recordings_are_told(folder):
    (folder / "p.csv").write_text("timestamp,gpu,power_w\n" + "".join(
        f"{START + at},0,300\n{START + at},0,100\n" for at in range(8)))
    done = measured(folder, "begin w +0\nend w +7\n", "--json", telemetry="p.csv")
    same((1400, True), (done.windows["w"]["energy_j"], "GPU 0: 8 times have several readings that differ" in done.err), done)
    for back, words in ((3, "out_of_order: GPU 0: a row is 2.000 s before the one above it"), (5, "clock_set_back")):
        (folder / "p.csv").write_text("timestamp,gpu,power_w\n" + "".join(
            f"{START + (at if at < 10 else at - back)},0,{300 + at / 8}\n" for at in range(20)))
        assert words in measured(folder, "begin w +0\nend w +9\n", telemetry="p.csv").err
    (folder / "p.csv").write_text("timestamp,gpu,power_w\n" + "".join(f"{START + at},0,0.3\n" for at in range(20)))
    assert "implausible_watts" in measured(folder, "begin w +0\nend w +9\n", telemetry="p.csv").err


def test_one_gpu_that_is_not_covered(folder):
    write_telemetry(folder, [(at, gpu, 100) for at in range(11) for gpu in (0, 1) if gpu == 0 or at >= 5])
    done = measured(folder, "begin a +2\nend a +8\n", "--json")
    same(1, done.status)
    window = done.windows["a"]
    same([None, "GPU 1: the window begins 3.000 s before the first reading"], [window["energy_j"], window["reason"]])
    near(600, window["gpus"][0]["energy_j"])
    same([None, None], [gpu["share"] for gpu in window["gpus"]])
    table = measured(folder, "begin a +2\nend a +8\n")
    same(["window GPU   seconds       joules   mean W   peak W share %",
          "a      all not measured: not all GPUs are",
          "       0       6.000      600.000   100.00   100.00",
          "       1   not measured: the window begins 3.000 s before the first reading"], table.lines)


def test_long_gaps(folder):
    write_telemetry(folder, [(at, 0, 100) for at in (0, 1, 2, 6, 7)])
    windows = "begin a +0\nend a +2\nbegin b +3\nend b +4\nbegin c +6\nend c +7\n"
    done = measured(folder, windows, "--json")
    same([1, [True, False, True]], [done.status, [window["measured"] for window in done.report["windows"]]])
    same("GPU 0: 4.000 s between two readings, at most 3 s", done.windows["b"]["reason"])
    done = measured(folder, windows, "--json", "--max-sample-gap", "4")
    same(0, done.status)
    near(100, done.windows["b"]["energy_j"])


def test_zero_watts_outside(folder):
    write_telemetry(folder, [(0, 0, 0), (1, 0, 400), (2, 0, 400), (3, 0, 0)])
    done = measured(folder, "begin a +0.5\nend a +2\nbegin b +1\nend b +2\nbegin c +0\nend c +3\n", "--json")
    same("GPU 0: the last reading before the window is 0 W", done.windows["a"]["reason"])
    near(400, done.windows["b"]["energy_j"])
    near(200 + 400 + 200, done.windows["c"]["energy_j"])


def test_rows_whose_power_is_none(folder):
    # As `measure` does: a row below 0 W or without a number refuses each window that holds it, edges included.
    windows = "".join(f"begin {name} +{start}\nend {name} +{end}\n" for name, start, end in (
        ("before", 0, 4), ("touched", 0, 5), ("held", 4.5, 5.5), ("after", 6, 9)))
    for cell in ("-50", "N/A", "nan", "1e308"):
        rows = [f"{START + at},{gpu},{cell if (at, gpu) == (5, 0) else 100}" for at in range(10) for gpu in (0, 1)]
        (folder / "p.csv").write_text("timestamp,gpu,power_w\n" + "\n".join(rows) + "\n")
        done = measured(folder, windows, "--json", telemetry="p.csv")
        same([True, False, False, True], [window["measured"] for window in done.report["windows"]], cell)
        near(2 * 400, done.windows["before"]["energy_j"])
        held = done.windows["held"]
        same([1, None, [None, 100.0]], [done.status, held["energy_j"], [gpu["energy_j"] for gpu in held["gpus"]]])
        same("GPU 0: invalid_power_sample: a row states no power, or an impossible one, at 1788852005.000 "
             "(2026-09-08T07:20:05.000Z)", held["reason"], cell)
        (folder / "load.json").write_text(json.dumps(
            {"benchmark_start_time_unix": START + 4.5, "benchmark_end_time_unix": START + 5.5, "duration": 1,
             "completed": 1, "total_input_tokens": 1, "total_output_tokens": 1}))
        run = subprocess.run([PROGRAM, "measure", "load.json", "--telemetry", "p.csv"], cwd=folder,
                             capture_output=True, text=True)
        reason = "implausible_power" if cell == "1e308" else "invalid_power_sample"
        assert reason in run.stdout + run.stderr, (cell, run)


def test_power_in_another_unit(folder):
    (folder / "milliwatts.csv").write_text(  # 31 W, written as 31000
        "timestamp,gpu,power\n" + "".join(f"{1788852000 + t},0,31000\n" for t in range(11)))
    done = measured(folder, "begin a +0\nend a -0\n", "--json", telemetry="milliwatts.csv")
    same([1, None], [done.status, done.windows["a"]["energy_j"]])
    assert "--power-unit" in done.windows["a"]["reason"], done


# ---- Windows files

def test_unbalanced_lines(folder):
    write_ramp(folder)
    for text, message in (("begin a +1\n\nend b +2\n", "w.txt:3: 'b' ends here and has not begun"),
                          ("# x\nbegin a +1\n", "w.txt:2: 'a' begins here and never ends"),
                          ("begin a +2\nend a +1\n", "w.txt:2: 'a' ends 1 s before it begins on line 1"),
                          ("begin a 5\nend a +1\n", "w.txt:1: 5 is not Unix time")):
        done = measured(folder, text)
        same([2, ""], [done.status, done.out])
        assert done.err.startswith(f"aggregate-power: error: {message}"), done


def test_times(folder):
    write_ramp(folder)
    second = 1_788_852_012
    for begin, end in (("+12", "-6"), (second, second + 2), (second * 1000, (second + 2) * 1000),
                       (second * 10**9, f"{second + 2}.0"), ("2026-09-08T07:20:12Z", "2026-09-08T09:20:14+02:00")):
        done = measured(folder, f"begin a {begin}\nend a {end}\n", "--gpus", "0", "--json")
        same(0, done.status, done)
        near((140 + 180) / 2 * 2, done.windows["a"]["energy_j"])  # from 140 W to 180 W
    naive = "begin a 2026-09-08T09:20:12\nend a 2026-09-08T09:20:14\n"
    same(2, measured(folder, naive).status)
    near(320, measured(folder, naive, "--timezone", "+02:00", "--gpus", "0", "--json").windows["a"]["energy_j"])


def test_forms_agree(folder):
    write_ramp(folder)
    lines = "begin a +1\nbegin b c +2\nend b c +3\nend a +15\n"
    table = "start,name,end\n+1,a,+15\n+2,b c,+3\n"
    listed = json.dumps([{"name": "a", "start": f"{START + 1}", "end": START + 15},
                         {"name": "b c", "start": (START + 2) * 1000, "end": "+3"}])
    wanted = measured(folder, lines, "--json")
    same(0, wanted.status, wanted)
    for text in (table, listed, "\ufeff" + lines, lines.replace("\n", "\r\n")):
        same(wanted.out, measured(folder, text, "--json").out, text)
    (folder / "w.txt").write_bytes(gzip.compress(table.encode()))
    same(wanted.report["windows"], Ran(folder, "--telemetry", "power.csv", "--windows", "w.txt", "--json").report["windows"])


def test_zeus_round_trip(folder):
    write_ramp(folder)
    first = measured(folder, f"begin step, 1 {START + 1.1}\nend step, 1 {START + 7.3}\nbegin b +9\nend b -0\n",
                     "--format", "zeus")
    same(0, first.status, first)
    rows = list(csv.reader(io.StringIO(first.out)))
    same(["start_time", "window_name", "elapsed_time", "gpu0_energy", "gpu1_energy"], rows[0])
    same("step, 1", rows[1][1])
    near(6.2, float(rows[1][2]), 1e-6)
    near(6.2 * 50, float(rows[1][4]), 1e-6)
    same(first.out, measured(folder, first.out, "--format", "zeus").out)


def test_zeus_columns_are_numbers_of_gpus(folder):
    write_telemetry(folder, [(at, gpu, 50) for at in range(3) for gpu in (0, 3, 10)])
    done = measured(folder, "begin a +0\nend a +2\n", "--format", "zeus", "--gpus", "3,10")
    same("start_time,window_name,elapsed_time,gpu3_energy,gpu10_energy", done.lines[0])
    write_telemetry(folder, [(at, gpu, 50) for at in range(3) for gpu in ("GPU-aaaaaaaa", "GPU-bbbbbbbb")])
    done = measured(folder, "begin a +0\nend a +2\n", "--format", "zeus")
    same("start_time,window_name,elapsed_time,gpu0_energy,gpu1_energy", done.lines[0])
    assert "note: gpu0_energy is GPU GPU-aaaaaaaa, gpu1_energy is GPU GPU-bbbbbbbb" in done.err, done


def test_zeus_monotonic_times(folder):
    write_ramp(folder)
    done = Ran(folder, "--telemetry", "power.csv", "--windows", ZEUS / "zeus-energy-windows-4gpu.csv")
    same([2, ""], [done.status, done.out])
    assert "csv:2: start_time 13586624.12895549 is of the machine's monotonic clock" in done.err, done


def test_energies_that_a_log_states(folder):
    write_ramp(folder)
    # GPU 0: 1000 J in the first 10 s; 100 J in the last but one second, from 260 to 280 W: 270 J. GPU 1: 50 W.
    log = ("start_time,window_name,elapsed_time,gpu1_energy,gpu0_energy,gpu7_energy\n"
           f"{START},a,10,524.9,1000,1\n{START + 18},b,1,,100,1\n{START + 19},c,9,1,1,1\n")
    done = measured(folder, log, "--format", "csv")
    same(CSV_HEADER + ",logged_energy_j", done.lines[0])
    rows = list(csv.DictReader(io.StringIO(done.out)))
    same([("1000.0", "1000.0"), ("500.0", "524.9"), ("270.0", "100.0"), ("50.0", ""), ("", "1.0"), ("", "1.0")],
         [(row["energy_j"], row["logged_energy_j"]) for row in rows])
    assert ("note: w.txt: the energies in it differ by more than 5 % from those of the recording in 1 of 3 windows; "
            "the first is b: GPU 0: 100.000 J logged, 270.000 J here\n") in done.err, done
    gpus = measured(folder, log, "--json").windows["b"]["gpus"]
    same([100.0, None], [gpu["logged_energy_j"] for gpu in gpus])
    same(["own_energy_j", "logged_energy_j", "reason"], list(gpus[0])[-3:])
    assert "logged" not in measured(folder, "begin a +1\nend a +2\n", "--json").out
    # 525.1 J are more than 5 % above 500 J.
    assert "in 2 of 3 windows; the first is a: GPU 1" in measured(folder, log.replace("524.9", "525.1"), "--json").err
    write_telemetry(folder, [(at, "GPU-aaaaaaaa", 50) for at in range(21)])
    done = measured(folder, log, "--json")
    assert "note: w.txt: its energies are not compared" in done.err, done


def test_a_log_of_windows_is_no_recording(folder):
    for log in (ZEUS / "zeus-energy-windows-4gpu.csv", "log.csv"):
        (folder / "log.csv").write_text(f"start_time,window_name,elapsed_time,gpu0_energy\n{START},a,10,5\n")
        done = measured(folder, "begin a +0\nend a -0\n", telemetry=log)
        same([2, ""], [done.status, done.out])
        assert ("this is a log of Zeus' windows, which has their energies and no samples: give it as --windows to "
                "'aggregate-power windows', with a recording of the power as --telemetry") in done.err, done


def test_benchmarks(folder):
    done = Ran(folder, "--telemetry", RESULTS / "gpu_metrics.csv", "--windows", f"bench:{RESULTS / 'guidellm.json'}",
               "--json")
    same([0, 2], [done.status, len(done.report["windows"])])
    near(29, done.report["windows"][0]["duration_s"], 1e-6)
    done = Ran(folder, "--telemetry", RESULTS / "gpu_metrics.csv", "--windows", f"bench:{RESULTS / 'vllm.json'}", "--json")
    same([1, []], [done.status, done.report["windows"]])
    assert "vLLM writes only the second in which it ended" in done.report["not_exact"][0], done
    assert "no exact window: vllm: " in done.err, done


# ---- Output and options

def test_csv(folder):
    write_ramp(folder)
    done = measured(folder, "begin a, \"b\" +5\nend a, \"b\" +15\nbegin c +19\nend c +30\n", "--format", "csv")
    same(1, done.status)
    same(CSV_HEADER, done.lines[0])
    rows = list(csv.DictReader(io.StringIO(done.out)))
    same([("1", "0"), ("1", "1"), ("2", "0"), ("2", "1")], [(row["number"], row["gpu"]) for row in rows])
    same("a, \"b\"", rows[0]["name"])
    near(1250, float(rows[0]["energy_j"]))
    same(["", "the window ends 10.000 s after the last reading"], [rows[3]["energy_j"], rows[3]["reason"]])


def test_table(folder):
    write_ramp(folder)
    done = measured(folder, "begin run +0\nbegin step +5\nend step +15\nend run +20\n")
    # GPU 0: 1000 + 2000 J; own: 10 s of 150 W in all but the rise from 200 W to 300 W, 500 + 250 + 1250 + 250.
    same(["window GPU   seconds       joules   mean W   peak W share %",
          "run    all    20.000     4000.000   200.00",
          "       0      20.000     3000.000   150.00   300.00    75.0",
          "       1      20.000     1000.000    50.00    50.00    25.0",
          "(own)  all    10.000     2250.000   225.00",
          "  step all    10.000     1750.000   175.00",
          "       0      10.000     1250.000   125.00   200.00    71.4",
          "       1      10.000      500.000    50.00    50.00    28.6"], done.lines)
    same(["", "", 0], [(quiet := measured(folder, "begin run +0\nend run +20\n", "-q")).out, quiet.err, quiet.status])


def test_long_names_stay_apart(folder):
    """They are cut at the end, in the middle, at the beginning or not at all: the first that tells them apart."""
    def shown(*names):
        for name in names:
            write_telemetry(folder, [(at, 0, 100) for at in range(11)], name + ".csv")
        (folder / "w.txt").write_text(f"begin a {START}\nend a {START + 10}\n")
        done = Ran(folder, "--telemetry", *(name + ".csv" for name in names), "--windows", "w.txt")
        same((0, len(names) + 2), (done.status, len(done.lines)), done)
        return [line.split()[0] for line in done.lines[2:]]
    same(["a_long_na...", "b_long_na..."], shown("a_long_name", "b_long_name"))
    same(["gpu_m..._a:0", "gpu_m..._b:0"], shown("gpu_metrics_a", "gpu_metrics_b"))
    same(["...1_abcde:0", "...2_abcde:0"], shown("recording_in_1_abcde", "recording_in_2_abcde"))
    same(["long_name_1_of_one:0", "long_name_2_of_one:0"], shown("long_name_1_of_one", "long_name_2_of_one"))


def test_several_recordings(folder):
    write_telemetry(folder, [(at, 0, 100) for at in range(11)], "a.csv")
    write_telemetry(folder, [(at, 0, 50) for at in range(11)], "b.csv")
    (folder / "w.txt").write_text("begin x +1\nend x +9\n")
    for words in (["--telemetry", "a.csv", "b.csv"], ["--telemetry", "a.csv", "--telemetry", "b.csv"]):
        done = Ran(folder, *words, "--windows", "w.txt", "--json")
        same([0, ["a:0", "b:0"]], [done.status, done.report["gpus"]])
        near(8 * 150, done.windows["x"]["energy_j"])
    done = Ran(folder, "--telemetry", "a.csv", "./a.csv", "--windows", "w.txt")
    same([2, ""], [done.status, done.out])
    for name in ("a.csv", "b.csv"):
        write_telemetry(folder, [(at, "GPU-aaaaaaaa", 100) for at in range(11)], name)
    done = Ran(folder, "--telemetry", "a.csv", "b.csv", "--windows", "w.txt")
    same([2, "aggregate-power: error: GPU GPU-aaaaaaaa of a.csv is GPU GPU-aaaaaaaa of b.csv and would count twice: give one of them\n"], [done.status, done.err])


def test_wrong_use(folder):
    write_ramp(folder)
    (folder / "w.txt").write_text("begin x +1\nend x +9\n")
    for words in (["--windows", "w.txt"], ["--telemetry", "power.csv"], ["--telemetry", "nothing.csv", "--windows", "w.txt"],
                  ["--telemetry", "power.csv", "--windows", "nothing.txt"],
                  ["--telemetry", "power.csv", "--windows", "bench:nothing.json"],
                  ["--telemetry", "power.csv", "--windows", "w.txt", "--gpus", "7"],
                  ["--telemetry", "power.csv", "--windows", "w.txt", "--format", "xml"],
                  ["--telemetry", "power.csv", "--windows", "w.txt", "--format", "csv", "--json"],
                  ["--telemetry", "w.txt", "--windows", "w.txt"]):
        done = Ran(folder, *words)
        same([2, "", 1], [done.status, done.out, len(done.err.splitlines())], f"{words} {done}")


# ---- Hostile sizes

def test_many_windows(folder):
    write_ramp(folder)
    count = 20_000
    lines = [f"begin w{i} +{i / count * 10!r}" for i in range(count)]
    lines += [f"end w{i} +{20 - i / count * 5!r}" for i in reversed(range(count))]
    done = measured(folder, "\n".join(lines) + "\n", "--json", "--gpus", "1")
    same(0, done.status, done.err)
    windows = done.report["windows"]
    same([count, count - 1], [len(windows), windows[-1]["depth"]])
    near(20 * 50, sum(window["own_energy_j"] for window in windows), 1e-6)


def test_odd_files(folder):
    write_ramp(folder)
    for content in (b"\0" * 1000, b"begin " + b"a" * 10_000_000 + b" +1\n", b"[" * 100_000, b"\xff\xfe\xff", b"begin \xff +1\n",
                    b'name,start,end\n"' + b"a" * 200_000, b"a,b\n" * 50_000, b'[{"name": "' + b"a" * 300_000 + b'"}]'):
        (folder / "w.txt").write_bytes(content)
        done = Ran(folder, "--telemetry", "power.csv", "--windows", "w.txt")
        same([2, "", 1], [done.status, done.out, len(done.err.splitlines())], content[:40])
        assert len(done.err) < 1000, content[:40]
    (folder / "w.txt").write_bytes(b"begin \xff\x1b[31m +1\nend \xff\x1b[31m +2\n")
    words = ("--telemetry", "power.csv", "--windows", "w.txt", "--format")
    same("\ufffd\x1b[31m", Ran(folder, *words, "json").report["windows"][0]["name"])
    assert "\x1b" not in Ran(folder, *words, "table").out


def test_an_interval_holds_what_a_slow_sensor_smears(folder):
    # 1 s at 120 W and 1 s at 520 W around the rise; 2 s at 520 W inside; the whole load.
    write_step(folder)
    windows = "".join(f"begin {name} {START + a}\nend {name} {START + b}\n"
                      for name, a, b in (("edge", 9, 11), ("step", 20, 22), ("load", 10, 40)))
    truths = {"edge": 120 + 520, "step": 2 * 520, "load": 30 * 520}
    done = measured(folder, windows, "--json", "--uncertainty")
    same(0, done.status, done)
    for name, truth in truths.items():
        window = done.windows[name]
        assert window["energy_j_low"] < truth < window["energy_j_high"], (name, window)
        near(truth, window["energy_j_estimate"], 0.01)
        same(None, window["no_interval"], name)
    assert done.windows["edge"]["energy_j"] < done.windows["edge"]["energy_j_low"]  # half a second late
    table = measured(folder, windows, "--uncertainty")
    assert "estimate J \u00b1 J" in table.lines[0], table
    csv = measured(folder, windows, "--uncertainty", "--format", "csv")
    assert csv.lines[0].endswith("reason,energy_j_estimate,energy_j_low,energy_j_high,no_interval"), csv


def test_without_an_interval_it_is_said_what_the_sensor_smears(folder):
    write_step(folder)
    done = measured(folder, f"begin step {START + 20}\nend step {START + 22}\n")
    assert "NVIDIA H100 80GB HBM3 is the mean of 1 s: windows below 10 s are smeared" in done.err, done
    done = measured(folder, f"begin load {START + 10}\nend load {START + 40}\n")
    assert "smeared" not in done.err, done


def test_a_table_says_why_there_is_no_interval(folder):
    write_step(folder)
    done = measured(folder, f"begin a {START + 20}\nend a {START + 20.05}\nbegin b {START + 20}\nend b {START + 30}\n", "--uncertainty")
    same(1, done.out.count("(no interval: fewer than three readings of a GPU are in the window)"), done)
    assert "too_few_readings" not in done.out, done


def test_files_are_known_by_what_is_in_them(folder):
    write_ramp(folder)
    (folder / "zeus.csv").write_text(f"start_time,window_name,elapsed_time,gpu0_energy\n{START + 1},a,2.0,200.0\n")
    (folder / "lines.txt").write_text(f"begin a {START + 1}\nend a {START + 3}\n")
    (folder / "run.json").write_text(json.dumps({
        "benchmark_start_time_unix": START + 1, "benchmark_end_time_unix": START + 3, "duration": 2, "completed": 1,
        "total_input_tokens": 1, "total_output_tokens": 1}))
    for windows in ("zeus.csv", "lines.txt", "run.json"):
        for words in (("power.csv", windows), (windows, "power.csv"), (windows, "--telemetry", "power.csv")):
            done = Ran(folder, *words, "--json")
            same(0, done.status, done)
            near(2 * 150, done.report["windows"][0]["energy_j"])
    for words in (("power.csv",), ("zeus.csv", "lines.txt", "power.csv")):
        done = Ran(folder, *words)
        same([2, "--windows is required" in done.err], [done.status, True], done)
    done = Ran(folder, "--windows", "zeus.csv")
    same([2, "--telemetry is required" in done.err], [done.status, True], done)


def test_forms_without_intervals_refuse_them(folder):
    write_step(folder)
    for more in (("--format", "zeus"), ("--per-process",)):
        done = measured(folder, f"begin a {START + 20}\nend a {START + 22}\n", "--uncertainty", *more)
        same(2, done.status, done)
        assert "--uncertainty: " + more[0] in done.err, done


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
