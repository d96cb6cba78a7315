#!/usr/bin/env python3
"""Checks 'aggregate-power plot' on the real binary: what the pictures show, and what they claim.

Energies are those that a single run publishes of the same files, or sums by hand; places in the SVG
are computed here from its own ticks.

usage: tests/runs/plot_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import csv
import io
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import PROGRAM, ROOT, run_tests, same  # noqa: E402

B200 = ROOT / "testdata" / "runs" / "b200"
RESULTS = ROOT / "testdata" / "results"
SVG = "{http://www.w3.org/2000/svg}"
START = 1_788_852_000
ENVIRONMENT = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "TZ": "UTC", "LC_ALL": "C.UTF-8"}


class Ran:
    def __init__(self, folder, *words, command="plot", stdin=None, **environment):
        words = [command, *words] if command else list(words)
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, capture_output=True, input=stdin,
                              env=ENVIRONMENT | environment, timeout=120)
        self.status, self.out, self.err = done.returncode, done.stdout.decode(), done.stderr.decode()

    @property
    def picture(self):
        return Picture(self.out)

    def __repr__(self):
        return f"status {self.status}\n{self.out[:3000]}{self.err}"


class Picture:
    """An SVG, read back."""

    def __init__(self, text):
        self.text = text
        self.root = ElementTree.fromstring(text)

    @property
    def words(self):
        return ["".join(element.itertext()) for element in self.root.iter(SVG + "text")]

    @property
    def caption(self):
        return " ".join(element.text for element in self.root.iter(SVG + "text")
                        if element.get("class") == "small muted")

    def lines(self, name):
        """The polylines of the series whose tooltip begins so, in pixels."""
        lines = []
        for path in self.root.iter(SVG + "path"):
            title = path.find(SVG + "title")
            if title is None or not title.text.startswith(name):
                continue
            for part in re.findall(r"M[^M]*", path.get("d")):
                lines.append(points_of(part))
        return lines

    def watts(self, pixels, panel=-1):
        """The power at a height, by the ticks of the panel's axis."""
        ticks = [(float(e.get("y")) - 4, float(e.text)) for e in self.root.iter(SVG + "text")
                 if e.get("text-anchor") == "end" and (e.get("class") or "") == "muted number"]
        panels = [[]]
        for y, value in ticks:
            if panels[-1] and value <= panels[-1][-1][1]:
                panels.append([])
            panels[-1].append((y, value))
        (low_y, low), (high_y, high) = panels[panel][0], panels[panel][-1]
        return low + (low_y - pixels) / (low_y - high_y) * (high - low)


def points_of(data):
    numbers = [float(number) for number in re.findall(r"-?\d*\.?\d+", data.replace("h0", ""))]
    points = [(numbers[0], numbers[1])]
    for dx, dy in zip(numbers[2::2], numbers[3::2]):
        points.append((points[-1][0] + dx, points[-1][1] + dy))
    return points


def near(expected, found, tolerance):
    assert abs(expected - found) <= tolerance, f"expected {expected!r}, found {found!r}"


def recording(folder, rows, name="power.csv"):
    """Rows of (seconds after START, GPU, cell)."""
    lines = ["timestamp,index,power.draw [W]"]
    lines += [f"{START + at:.3f},{gpu},{cell}" for at, gpu, cell in rows]
    (folder / name).write_text("\n".join(lines) + "\n")
    return name


def result(folder, start, end, name="run.json"):
    (folder / name).write_text(json.dumps({
        "benchmark_start_time_unix": START + start, "benchmark_end_time_unix": START + end, "duration": end - start,
        "completed": 10, "total_input_tokens": 1000, "total_output_tokens": 500}))
    return name


def flat(seconds, gpus=1, watts=100):
    return [(at, gpu, watts) for at in range(seconds + 1) for gpu in range(gpus)]


def published(folder, telemetry, bench, *options):
    """What a single run publishes: its aggregate and its audit record."""
    (folder / "agg.json").write_text("{}\n")
    ran = Ran(folder, "--csv", telemetry, "--bench-result", bench, "--agg-result", "agg.json", "--validation-result",
              "record.json", "--schema-version", "2", *options, command=None)
    same(0, ran.status, ran)
    return json.loads((folder / "agg.json").read_text()), json.loads((folder / "record.json").read_text())


# ---- Energies.

def test_the_energies_are_those_that_a_single_run_publishes(folder):
    for source, bench, options in ((B200, "run.json", ["--timezone", "UTC"]),
                                   (ROOT / "testdata" / "runs" / "h100-counter", "run.json", []),
                                   (RESULTS, "vllm.json", ["--window", "estimated"])):
        here = folder / source.name
        shutil.copytree(source, here)
        aggregate, record = published(here, "gpu_metrics.csv", bench, *options)
        drawn = json.loads(Ran(here, "gpu_metrics.csv", "--bench-result", bench, *options, "--format", "json").out)
        same(aggregate["total_gpu_energy_j"], drawn["total_gpu_energy_j"])
        same({f"GPU {gpu}": joules for gpu, joules in record["per_gpu_energy_j"].items()}, drawn["per_gpu_energy_j"])
        words = Ran(here, "gpu_metrics.csv", "--bench-result", bench, *options).picture.words
        for joules in (aggregate["total_gpu_energy_j"], *record["per_gpu_energy_j"].values()):
            assert f"{round(joules, 3):.3f} J" in words, (joules, words)


def test_a_folder_is_the_only_run_in_it(folder):
    for name in ("a", "b"):
        (folder / "runs" / name).mkdir(parents=True)
        for file in ("vllm_detailed.json", "gpu_metrics.csv", "gpu_metrics_context.json"):
            shutil.copy(RESULTS / file, folder / "runs" / name)
    ran = Ran(folder, "runs/a", "--format", "json")
    same = json.loads(Ran(folder, "runs/a/gpu_metrics.csv", "--bench-result", "runs/a/vllm_detailed.json", "--format", "json").out)
    assert ran.status == 0 and json.loads(ran.out) == same, ran
    ran = Ran(folder, "runs")
    assert (ran.status, ran.err) == (2, "aggregate-power: error: runs: 2 runs are in it: name one, as in 'aggregate-power plot "
                                        "runs/a/vllm_detailed.json'\n"), ran
    (folder / "empty").mkdir()
    assert Ran(folder, "empty").status == 2


def test_the_whole_recording_has_its_own_energy(folder):
    recording(folder, [(0, 0, 100), (1, 0, 200), (2, 0, 300), (0, 1, 50), (1, 1, 50), (2, 1, 50)])
    ran = Ran(folder, "power.csv", "--format", "json")
    same((0, ""), (ran.status, ran.err))
    same(400.0 + 100, json.loads(ran.out)["total_gpu_energy_j"])
    assert "energy of the recording" in Ran(folder, "power.csv").picture.words


def test_a_refused_run_is_drawn_and_claims_nothing(folder):
    recording(folder, [row for row in flat(30) if not 10 < row[0] < 20])
    result(folder, 5, 25)
    ran = Ran(folder, "power.csv", "--bench-result", "run.json")
    same(1, ran.status)
    same("aggregate-power: power not valid: sampling_gap_exceeded (GPU 0: 10.000 s, at most 3 s)\n", ran.err)
    assert "sampling_gap_exceeded (GPU 0: 10.000 s, at most 3 s)" in ran.picture.caption
    assert not re.search(r"\d J\b", ran.out), ran.out
    drawn = json.loads(Ran(folder, "power.csv", "--bench-result", "run.json", "--format", "json").out)
    same((False, None, {}), (drawn["valid"], drawn["total_gpu_energy_j"], drawn["per_gpu_energy_j"]))
    for term in ([], ["--term"]):
        assert not re.search(r"\d J\b", Ran(folder, "power.csv", *term).out)


def test_rows_that_name_no_gpu_are_not_summed(folder):
    rows = [f"{START + at},{100 + 300 * gpu}" for at in range(10) for gpu in range(2)]
    (folder / "power.csv").write_text("timestamp,power.draw [W]\n" + "\n".join(rows) + "\n")
    ran = Ran(folder, "power.csv")
    same((1, True), (ran.status, "gpu_identity_column_missing" in ran.picture.caption), ran)
    same(1, Ran(folder, "power.csv", "--expected-num-gpus", "1").status)
    (folder / "power.csv").write_text("timestamp,power.draw [W]\n" + "\n".join(rows[::2]) + "\n")
    ran = Ran(folder, "power.csv", "--expected-num-gpus", "1", "--format", "json")
    same((0, 900.0), (ran.status, json.loads(ran.out)["total_gpu_energy_j"]), ran)


def test_a_window_by_hand(folder):
    recording(folder, flat(30, gpus=2))
    ran = Ran(folder, "power.csv", "--start", START + 5, "--end", "+10s", "--format", "json")
    drawn = json.loads(ran.out)
    same({"start_unix": START + 5, "end_unix": START + 15, "class": "given"}, drawn["window"])
    same(2 * 10 * 100.0, drawn["total_gpu_energy_j"])
    same(1 * 10 * 100.0,
         json.loads(Ran(folder, "power.csv", "--start", START + 5, "--end", "+10s", "--gpus", "1", "--format", "json")
                    .out)["total_gpu_energy_j"])


def test_a_failed_count_claims_nothing(folder):
    recording(folder, flat(30, gpus=2))
    result(folder, 5, 25)
    ran = Ran(folder, "power.csv", "--bench-result", "run.json", "--expected-num-gpus", "3")
    same((1, False), (ran.status, "J" in ran.picture.words))
    assert "expected_gpu_count_mismatch" in ran.picture.caption


def test_several_recordings(folder):
    recording(folder, flat(30, gpus=2), "a.csv")
    recording(folder, flat(30, watts=300), "b.csv")
    result(folder, 5, 25)
    ran = Ran(folder, "a.csv", "b.csv", "--bench-result", "run.json", "--expected-num-gpus", "3", "--format", "json")
    drawn = json.loads(ran.out)
    same({"a: GPU 0": 2000.0, "a: GPU 1": 2000.0, "b: GPU 0": 6000.0}, drawn["per_gpu_energy_j"], ran)
    same(10000.0, drawn["total_gpu_energy_j"])
    same(["a, 2 GPUs", "b, 1 GPU", "a: GPU 0", "a: GPU 1", "b: GPU 0"], [each["name"] for each in drawn["series"]])
    shutil.copy(folder / "a.csv", folder / "copy.csv")
    copied = Ran(folder, "a.csv", "copy.csv", "--bench-result", "run.json")
    same((2, "aggregate-power: error: copy.csv is a copy of a.csv: give it once\n"), (copied.status, copied.err))


# ---- What is drawn.

def test_a_peak_of_one_sample_keeps_its_height(folder):
    rows = [(at / 100, 0, 400 + at % 13) for at in range(60_000)]
    rows[34_567] = (345.67, 0, 987.25)
    recording(folder, rows)
    ran = Ran(folder, "power.csv")
    assert len(ran.out) < 60_000, len(ran.out)
    line = ran.picture.lines("GPU 0")[0]
    assert 600 <= len(line) <= 2500, len(line)
    near(987.25, ran.picture.watts(min(y for _, y in line)), 1)
    peak_x = min(line, key=lambda point: point[1])[0]
    first, last = line[0][0], line[-1][0]
    near(345.67 / 599.99, (peak_x - first) / (last - first), 0.001)
    drawn = list(csv.DictReader(io.StringIO(Ran(folder, "power.csv", "--format", "csv").out)))
    assert {"series": "GPU 0", "line": "1", "time_s": "345.670000", "power_w": "987.25"} in drawn


def test_a_gap_breaks_the_line(folder):
    recording(folder, [row for row in flat(60, gpus=2) if row[1] == 1 or not 20 <= row[0] < 30])
    picture = Ran(folder, "power.csv").picture
    same([2, 1, 2], [len(picture.lines(name)) for name in ("GPU 0", "GPU 1", "sum")])
    for line in picture.lines("GPU 0") + picture.lines("sum"):
        assert max(y for _, y in line) - min(y for _, y in line) < 0.2, "nothing falls to 0"
    left, right = picture.lines("GPU 0")
    near((30 - 19) / 60, (right[0][0] - left[-1][0]) / (right[-1][0] - left[0][0]), 0.002)
    assert any("1 gap" in word for word in picture.words), picture.words
    same(1, len(Ran(folder, "power.csv", "--max-sample-gap", "11").picture.lines("GPU 0")))


def test_invalid_stretches_are_marked(folder):
    recording(folder, [(at, 0, "[N/A]" if 10 <= at < 12 else -5 if at == 12 else 100) for at in range(30)])
    drawn = json.loads(Ran(folder, "power.csv", "--format", "json").out)
    marked = [(each["kind"], each["from_s"], each["to_s"]) for each in drawn["stretches"]]
    assert ("invalid", 10.0, 12.0) in marked, marked
    same(["invalid_power_sample", "sampling_gap_exceeded"], drawn["reasons"])
    for series in drawn["series"]:
        for line in series["lines"]:
            assert all(watts == 100 for _, watts in line), line


def test_limit_and_idle_power(folder):
    rows = ["timestamp,index,power.draw [W],power.limit [W]"]
    for at in range(100):
        watts = 500 + at % 3 if 40 <= at < 80 else 80 + at % 2
        rows += [f"2026/09/08 07:{20 + at // 60:02}:{at % 60:02}.000,{gpu},{watts}.0{gpu * (at % 2)} W,700.00 W" for gpu in (0, 1)]
    (folder / "power.csv").write_text("\n".join(rows) + "\n")
    window = ["--start", "2026-09-08T07:20:40Z", "--end", "+39s", "--timezone", "UTC"]
    drawn = json.loads(Ran(folder, "power.csv", *window, "--format", "json").out)
    levels = {(level["panel"], level["name"].split()[0]): level["power_w"] for level in drawn["levels"]}
    same(1400.0, levels["power together (W)", "limits"])
    same(700.0, levels["power of each GPU (W)", "limit"])
    near(80.5, levels["power of each GPU (W)", "idle"], 0.1)
    near(161, levels["power together (W)", "idle"], 0.2)
    assert "limit 700 W" in Ran(folder, "power.csv", *window).picture.words
    same(0, len([1 for level in json.loads(Ran(folder, "power.csv", "--format", "json").out)["levels"]
                 if "idle" in level["name"]]))


def value_at(lines, at):
    """Of a line of steps, between two of them."""
    before = [value for line in lines for time, value in line if time <= at]
    return before[-1]


def test_requests_and_tokens_are_drawn_over_time(folder):
    words = [RESULTS / "gpu_metrics.csv", "--bench-result", RESULTS / "vllm_detailed.json", "--window", "estimated"]
    ran = Ran(folder, *words, "--format", "json")
    drawn = json.loads(ran.out)
    load = {each["name"]: each["lines"] for each in drawn["load"]}
    same(["requests in flight", "prefill: input tokens/s", "decode: output tokens/s"], list(load))
    stated = json.loads((RESULTS / "vllm_detailed.json").read_text())
    shift = drawn["window"]["start_unix"] - drawn["start_unix"] - min(stated["start_times"])
    spans = [(start + shift, start + shift + ttft + sum(itl)) for start, ttft, itl in
             zip(stated["start_times"], stated["ttfts"], stated["itls"])]
    for at in (span + 0.37 for span in range(-5, 60, 3)):
        same(sum(start <= at < end for start, end in spans),
             value_at(load["requests in flight"], at) if at > spans[0][0] else 0, at)
    for name, wanted in (("prefill: input tokens/s", sum(stated["input_lens"])), ("decode: output tokens/s", sum(stated["output_lens"]))):
        line = [point for part in load[name] for point in part]
        near(wanted, sum((b[0] - a[0]) * a[1] for a, b in zip(line, line[1:])), wanted * 0.001)
    picture = Ran(folder, *words).picture
    assert {"requests in flight", "requests", "tokens/s"} <= set(picture.words), picture.words
    same({"series", "line", "time_s", "power_w"}, set(Ran(folder, *words, "--format", "csv").out.split("\n")[0].split(",")))
    assert "requests in flight" not in Ran(folder, *words, "--format", "csv").out


def test_a_result_without_requests_has_power_alone(folder):
    recording(folder, flat(30))
    result(folder, 5, 25)
    drawn = json.loads(Ran(folder, "power.csv", "--bench-result", "run.json", "--format", "json").out)
    same([], drawn["load"])


def test_the_energy_of_a_token_is_that_of_measure(folder):
    words = [RESULTS / "gpu_metrics.csv", "--bench-result", RESULTS / "vllm_detailed.json", "--window", "estimated"]
    drawn = json.loads(Ran(folder, *words, "--format", "json").out)
    measured = json.loads(Ran(folder, words[2], words[0], *words[3:], "--json", command="measure").out)["runs"][0]
    for ratio in drawn["ratios"]:
        if ratio["key"] in measured:
            same(measured[ratio["key"]], ratio["value"], ratio)
        assert ratio["low"] < ratio["value"] < ratio["high"], ratio
    same(["joules_per_output_token", "joules_per_input_token", "joules_per_total_token", "joules_per_successful_query"],
         [ratio["key"] for ratio in drawn["ratios"]])
    text = " ".join(Ran(folder, words[2], words[0], *words[3:], command="measure").out.split())
    shown = re.search(r"[\d.]+ J per output token \([\d.]+ to [\d.]+\)", text).group()
    assert shown in " ".join(drawn["caption"]), (shown, drawn["caption"])
    recording(folder, [row for row in flat(30) if not 10 <= row[0] < 20])
    result(folder, 5, 25)
    refused = json.loads(Ran(folder, "power.csv", "--bench-result", "run.json", "--format", "json").out)
    same(([], ["sampling_gap_exceeded"]), (refused["ratios"], refused["reasons"]))


def calibrated(folder, slope, scope):
    """Two GPUs at 100, 300 and 700 W in turn for 40 s; a meter shows 1000 W, or 0 W, and `slope` W for each of theirs."""
    def watts(second):
        return (100, 300, 700)[second // 40 % 3]
    recording(folder, [(at, gpu, watts(at)) for at in range(241) for gpu in (0, 1)])
    idle = 1000 if scope == "node" else 0
    (folder / "meter.csv").write_text("timestamp,node_power_w\n" + "".join(
        f"{START + at},{idle + slope * (watts(at - 1) + watts(at))}\n" for at in range(1, 241)))
    ran = Ran(folder, "power.csv", "--witness", "meter.csv", "--scope", scope, "--out", "profile.json", command="calibrate")
    same(0, ran.status, ran)


def test_a_calibrated_meter_is_drawn_with_its_band(folder):
    for slope, scope, idle in ((1.25, "node", 1000), (1.05, "gpu", 0)):
        calibrated(folder, slope, scope)
        window = ["--bench-result", result(folder, 45, 75)]
        for options in ([], window):
            plain = json.loads(Ran(folder, "power.csv", "--format", "json", *options).out)
            ran = Ran(folder, "power.csv", "--calibration", "profile.json", "--format", "json", *options)
            same(0, ran.status, ran)
            found = json.loads(ran.out)
            same(plain["total_gpu_energy_j"], found["total_gpu_energy_j"], "what is measured stays")
            lines = {series["name"]: series["lines"] for series in found["series"]}
            name, = (name for name in lines if name.endswith(", modelled"))
            assert "node_power_w" in name, name
            for at, gpus in ((10, 200), (60, 600), (100, 1400)):
                near(idle + slope * gpus, value_at(lines[name], at), 0.02 * (idle + slope * gpus))
                assert value_at(lines[name + ": lowest"], at) < idle + slope * gpus < value_at(lines[name + ": highest"], at)
            caption = " ".join(found["caption"])
            assert "Modelled, not measured" in caption and "profile.json" in caption, caption
            same(scope == "node", "J modelled" in caption, caption)
        if scope == "node":  # 30 s at 600 W of the GPUs
            near(30 * 1750, float(re.search(r"energy: ([0-9.]+) J modelled", caption)[1]), 0.01 * 30 * 1750)
            assert ", modelled" in " ".join(Ran(folder, "power.csv", "--calibration", "profile.json").picture.words)
    ran = Ran(folder, "power.csv", "--calibration", "profile.json", "--gpus", "0")
    assert ran.status == 0 and "it is not used: it is of 2 GPUs, and 1 were measured" in ran.err, ran
    assert "modelled" not in ran.out, ran


def test_means_are_drawn_over_their_time(folder):
    """W&B's old rows: each is the mean of the 30 s before it."""
    for form in ("jsonl", "csv"):
        rows = [(30 * i, 300 + i if 3 <= i < 7 else 60 + i) for i in range(12)]
        name = "wandb-events.jsonl" if form == "jsonl" else "history.csv"
        (folder / name).write_text(
            "".join(json.dumps({"_wandb": True, "_timestamp": START + at, "_runtime": at, "system.gpu.0.powerWatts": watts}) + "\n"
                    for at, watts in rows) if form == "jsonl" else
            "_timestamp,_runtime,system.gpu.0.powerWatts\n" + "".join(f"{START + at},{at},{watts}\n" for at, watts in rows))
        ran = Ran(folder, name, "--max-sample-gap", "31", "--format", "json")
        line, = json.loads(ran.out)["series"][0]["lines"]
        for at, watts in ((31, 62), (59, 62), (61, 303), (89, 303), (209, 67)):
            near(watts, value_at([line], at), 1e-9)
        assert "the mean of the time since the one before" in " ".join(json.loads(ran.out)["caption"]), ran


def test_logged_windows_are_marked(folder):
    recording(folder, flat(60))
    (folder / "windows.txt").write_text(f"begin <step> 1 {START + 10}\nend <step> 1 {START + 20}\nbegin tail +50\nend tail -5\n")
    ran = Ran(folder, "power.csv", "--windows", "windows.txt", "--format", "json")
    same([("window", 10.0, 20.0, "<step> 1: 10.000 s to 20.000 s"), ("window", 50.0, 55.0, "tail: 50.000 s to 55.000 s")],
         [(each["kind"], each["from_s"], each["to_s"], each["label"]) for each in json.loads(ran.out)["stretches"]], ran)
    picture = Ran(folder, "power.csv", "--windows", "windows.txt").picture
    assert "2 logged windows" in picture.words, picture.words
    same(2, sum(1 for rectangle in picture.root.iter(SVG + "rect") if rectangle.get("class") == "window" and rectangle.find(SVG + "title") is not None))
    assert "2 logged windows" in Ran(folder, "power.csv", "--windows", "windows.txt", "--term").out
    for words in (["--windows", "none.txt"], ["--windows", "power.csv"]):
        same(2, Ran(folder, "power.csv", *words).status, words)
    (folder / "far.txt").write_text(f"begin far {START + 9999}\nend far {START + 10999}\n")
    for form in ("--term", "--format=svg"):
        same(0, Ran(folder, "power.csv", "--windows", "far.txt", form).status, form)


def test_a_title_of_ones_own(folder):
    recording(folder, flat(10))
    words = ["power.csv", "--title", "<b> & c"]
    same("<b> & c", json.loads(Ran(folder, *words, "--format", "json").out)["title"])
    assert "<b> & c" in Ran(folder, *words).picture.words


def test_more_than_16_gpus_are_a_range(folder):
    recording(folder, [(at, gpu, 100 + gpu) for at in range(20) for gpu in range(17)])
    result(folder, 5, 15)
    drawn = json.loads(Ran(folder, "power.csv", "--bench-result", "run.json", "--format", "json").out)
    series = {each["name"]: each["lines"][0] for each in drawn["series"]}
    same(["sum of 17 GPUs", "lowest", "highest", "mean"], list(series))
    same(({100.0}, {116.0}, {108.0}, {17 * 108.0}),
         tuple({watts for _, watts in series[name]} for name in ("lowest", "highest", "mean", "sum of 17 GPUs")))
    assert any("More than 16 GPUs" in line for line in drawn["caption"])
    sixteen = json.loads(Ran(folder, "power.csv", "--gpus", "0-15", "--format", "json").out)
    same(17, len(sixteen["series"]))


def test_rows_in_any_order(folder):
    rows = [(at, gpu, 100 + at % 7 + gpu) for at in range(300) for gpu in range(3)]
    recording(folder, rows, "in_order.csv")
    recording(folder, sorted(rows, key=lambda row: row[1]), "by_gpu.csv")
    recording(folder, rows[::-1], "backwards.csv")
    pictures = [json.loads(Ran(folder, name, "--format", "json").out)["series"]
                for name in ("in_order.csv", "by_gpu.csv", "backwards.csv")]
    same(pictures[0], pictures[1])
    same(pictures[0], pictures[2])


def test_extreme_recordings(folder):
    result(folder, 5, 25)
    for what, rows, status in (("no sample", [], 1), ("one sample", [(7, 0, 100)], 0), ("NaN", [(1, 0, "nan"), (2, 0, "inf")], 1),
                               ("constant", flat(30), 0), ("all 0 W", flat(30, watts=0), 0),
                               ("huge", flat(30, watts=1e300), 1)):
        recording(folder, rows)
        for words in ([], ["--bench-result", "run.json"]):
            ran = Ran(folder, "power.csv", *words)
            assert ran.status in (status, 1), f"{what}: {ran}"
            assert ran.out.endswith("</svg>\n"), f"{what}: {ran}"
            assert not re.search(r'"[^"]*\b(nan|inf)\b[^"]*"', ran.out), f"{what}: {ran.out}"
            ran.picture
            same(ran.status, Ran(folder, "power.csv", *words, "--term").status, what)
            json.loads(Ran(folder, "power.csv", *words, "--format", "json").out)
    recording(folder, [(7, 0, 100)])
    same(1, len(Ran(folder, "power.csv").picture.lines("GPU 0")))


def test_a_window_outside_of_the_recording(folder):
    recording(folder, flat(30))
    for start, is_shown in ((40, True), (100_000, False), (-100_000, False)):
        result(folder, start, start + 20)
        ran = Ran(folder, "power.csv", "--bench-result", "run.json")
        same((1, is_shown), (ran.status, "window-edge" in ran.out.split("</style>")[1]), ran)
        same(is_shown, "It is far from the recording" not in ran.picture.caption)
        assert "no energy: not valid" in ran.picture.words


def test_hostile_names_are_escaped(folder):
    lines = ["timestamp,gpu,power"]
    lines += [f'{START + at},"<image href=""x""/>\x1b[31m{gpu}",100' for at in range(10) for gpu in range(2)]
    (folder / "power.csv").write_text("\n".join(lines) + "\n")
    shutil.copy(folder / "power.csv", folder / "<b>&'\".csv")
    ran = Ran(folder, "<b>&'\".csv", "--device-column", "gpu")
    tags = {element.tag.removeprefix(SVG) for element in ran.picture.root.iter()}
    same(set(), tags & {"script", "image", "b"})
    assert any(word.startswith("<image") for word in ran.picture.words), ran.picture.words
    same(False, "\x1b" in ran.out)
    term = Ran(folder, "power.csv", "--device-column", "gpu", "--term").out
    same(False, "\x1b" in term)


def test_it_says_what_it_shows(folder):
    shutil.copytree(B200, folder / "run")
    ran = Ran(folder / "run", "gpu_metrics.csv", "--bench-result", "run.json", "--timezone", "UTC")
    picture = ran.picture
    for text in ("GPU boards as reported", "(t2 - t1) (P1 + P2) / 2", "gpu_metrics.csv", "2026-09-08 07:20:19.279 +00:00",
                 "exact: stated by the result", "run.json"):
        assert text in picture.caption, (text, picture.caption)
    same("img", picture.root.get("role"))
    assert picture.root.find(SVG + "title").text and picture.root.find(SVG + "desc").text
    assert "prefers-color-scheme:dark" in ran.out
    assert "power of each GPU (W)" in picture.words and "time since the recording's start (s)" in picture.words
    same(ran.out, Ran(folder / "run", "gpu_metrics.csv", "--bench-result", "run.json", "--timezone", "UTC").out)


# ---- Outputs.

def test_where_it_goes(folder):
    recording(folder, flat(10))
    same(0, Ran(folder, "power.csv", "--out", "power.svg").status)
    Picture((folder / "power.svg").read_text())
    same((folder / "power.svg").read_text(), Ran(folder, "power.csv").out)
    same((folder / "power.svg").read_text(), Ran(folder, "power.csv", "--out", "-").out)
    same((folder / "power.svg").read_text(),
         Ran(folder, "-", stdin=(folder / "power.csv").read_bytes()).out.replace("Power of 1 GPU: -", "Power of 1 GPU: power.csv")
         .replace("Source: -,", "Source: power.csv,"))
    before = (folder / "power.csv").read_bytes()
    os.link(folder / "power.csv", folder / "link.csv")
    result(folder, 2, 8)
    for out in ("power.csv", "link.csv", "run.json"):
        ran = Ran(folder, "power.csv", "--bench-result", "run.json", "--out", out)
        same(2, ran.status)
        assert f"--out {out}: would overwrite" in ran.err, ran
    same(before, (folder / "power.csv").read_bytes())
    same(2, Ran(folder, "power.csv", "--out", "no/such/power.svg").status)


def test_missing_files(folder):
    ran = Ran(folder, "missing.csv")
    same((2, ""), (ran.status, ran.out))
    assert "missing.csv" in ran.err
    recording(folder, flat(10))
    ran = Ran(folder, "power.csv", "--bench-result", "missing.json")
    same((2, ""), (ran.status, ran.out))
    assert "missing.json" in ran.err


def test_in_the_terminal(folder):
    recording(folder, flat(10, gpus=2))
    utf8 = Ran(folder, "power.csv", "--term", COLUMNS="60").out
    assert "┤" in utf8 and any("⠀" < c <= "⣿" for c in utf8), utf8
    plain = Ran(folder, "power.csv", "--term", COLUMNS="60", LC_ALL="C").out
    assert plain.isascii(), plain
    for text in (utf8, plain):
        assert max(map(len, text.splitlines())) <= 60, text
        assert "2000.000 J" in text and "GPU 1" in text, text
    main, side = pty.openpty()
    process = subprocess.Popen([PROGRAM, "plot", "power.csv"], cwd=folder, stdout=side, stderr=side,
                               env=ENVIRONMENT | {"TERM": "xterm"})
    os.close(side)
    seen = b""
    try:
        while data := os.read(main, 65536):
            seen += data
    except OSError:
        pass
    process.wait(timeout=60)
    assert "┤" in seen.decode() and "<svg" not in seen.decode(), seen


def test_every_recording_of_testdata(folder):
    """Whatever is recorded: a well-formed picture, or a message."""
    drawn = 0
    for path in sorted((ROOT / "testdata" / "telemetry").rglob("*")):
        if not path.is_file():
            continue
        ran = Ran(folder, path, "--timezone", "UTC")
        assert ran.status in (0, 1, 2), f"{path}: {ran}"
        same(ran.status == 2, ran.out == "", f"{path}: {ran}")
        same(ran.status != 0, "aggregate-power: power not valid" in ran.err or "aggregate-power: error" in ran.err, path)
        if ran.status != 2:
            ran.picture
            same(ran.status == 0, bool(re.search(r">[0-9.]+ J<", ran.out)) or "nothing to integrate" in ran.out, path)
            drawn += ran.status == 0
    assert drawn >= 10, drawn


def test_a_million_samples_are_a_small_file(folder):
    with open(folder / "big.csv", "w", encoding="utf-8") as file:
        file.write("timestamp,index,power.draw [W]\n")
        for at in range(62_500):
            file.write("".join(f"{START + at / 10:.1f},{gpu},{300 + (at * 7919 + gpu * 104729) % 401}\n" for gpu in range(16)))
    ran = Ran(folder, "big.csv")
    same(0, ran.status, ran.err)
    assert len(ran.out) < 300_000, len(ran.out)
    ran.picture


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
