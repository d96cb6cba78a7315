#!/usr/bin/env python3
"""Checks the one interval that `measure` and a single run print without being asked.

Two GPUs draw 600 W and 700 W for 60 s, 78 kJ, and 100 W before and after; their sensors show the mean over the last
second, as those of an H100 do. 1500 output tokens, 30 requests: 52 J and 2600 J each.

usage: tests/runs/shown_interval_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import running  # noqa: E402
from running import run_tests  # noqa: E402

START, LENGTH, TRUE_J = 1_800_000_000, 60, (600 + 700) * 60
COUNTS = {"completed": 30, "total_input_tokens": 6000, "total_output_tokens": 1500, "duration": LENGTH}
RUN = {"benchmark_start_time_unix": START, "benchmark_end_time_unix": START + LENGTH, **COUNTS}
VLLM = {"date": "20270115-080101", "backend": "vllm", "model_id": "m", "tokenizer_id": "m", "num_prompts": 30,
        "request_rate": "inf", "max_concurrency": 8, **COUNTS}  # the date is 1 s after the end
PATCH = ["--csv", "power.csv", "--bench-result", "run.json", "--agg-result", "agg.json", "--expected-num-gpus", "2"]


def mean_power(gpu, t):
    """Of the second before, with a ripple of 2 W that no two readings share."""
    inside = max(0, min(t, LENGTH) - max(t - 1, 0))
    return 100 + (500 + 100 * gpu) * inside + math.sin(97 * t + gpu)


class Folder(running.Folder):
    def __init__(self, path):
        super().__init__(path)
        (self.path / "run.json").write_text(json.dumps(RUN))
        (self.path / "vllm.json").write_text(json.dumps(VLLM))
        self.record()
        self.aggregate()

    def record(self, model=", NVIDIA H100 80GB HBM3"):
        lines = ["timestamp, index" + (", name" if model else "") + ", power.draw [W]"]
        for step in range(-150, 5 * LENGTH + 150):
            t = step / 5 + 0.07
            lines += [f"{START + t:.3f}, {gpu}{model}, {mean_power(gpu, t):.2f} W" for gpu in (0, 1)]
        (self.path / "power.csv").write_text("\n".join(lines) + "\n")

    def aggregate(self):
        (self.path / "agg.json").write_text('{"hw": "h100", "tp": 2}')

    def call(self, *words, status=0, **options):
        return super().call(*words, status=status, **options).out

    def json(self, *words):
        return json.loads(self.call("measure", *words, "--json"))["runs"][0]


def headline(text):
    """The number, the bounds and the percents of the first line on the energy, in J."""
    found = re.search(r"^energy +([\d.]+) kJ  \(95 %: ([\d.]+) to ([\d.]+) kJ; ±([\d.]+) % between runs on these GPUs\)$",
                      text, re.M)
    assert found, text
    number, low, high, percent = map(float, found.groups())
    return 1000 * number, 1000 * low, 1000 * high, percent


def near(found, wanted, rel=6e-4):  # of four digits the last one may be rounded
    assert abs(found - wanted) <= rel * abs(wanted), (found, wanted)


def test_the_energy_has_one_interval_that_holds_the_truth(folder):
    text = folder.call("run.json", "power.csv")
    number, low, high, percent = headline(text)
    assert low < TRUE_J < high
    near(number, TRUE_J, 0.01)
    of_json = folder.json("run.json", "power.csv")["uncertainty"]["total_gpu_energy_j"]
    for shown, exact in ((number, "estimate"), (low, "low"), (high, "high")):
        near(shown, of_json[exact])
    spread = of_json["repeatability"]
    near(percent, 100 * (spread["high"] - spread["low"]) / 2 / of_json["estimate"], 0.06)
    assert len(re.findall("95 %", text)) == 1 and "verdicts" not in text and "averaged_sensor" not in text, text
    assert "a reading is a mean over 1 s" in " ".join(text.split()), text


def test_each_joules_per_token_has_it_too(folder):
    text = folder.call("run.json", "power.csv")
    number, low, high, _ = headline(text)
    for what, count in (("output token", 1500), ("input token", 6000), ("token in or out", 7500), ("request", 30)):
        found = re.search(rf"^ +([\d.]+) J per {what}  \(([\d.]+) to ([\d.]+)\)$", text, re.M)
        assert found, (what, text)
        for shown, joules in zip(map(float, found.groups()), (number, low, high)):
            near(shown, joules / count, 1.2e-3)
    words = " ".join(text.split())
    for unit, value in (("output tokens per joule", 1500 / number), ("Wh per 1,000 output tokens", number / 3600 / 1.5),
                        ("Wh per request", number / 3600 / 30)):
        near(float(re.search(rf"([\d.]+) {unit}", words)[1]), value, 1.2e-3)


def test_what_is_published_is_said_in_joules(folder):
    folder.call(*PATCH)
    published = json.loads((folder.path / "agg.json").read_text())["total_gpu_energy_j"]
    text = folder.call("run.json", "power.csv")
    line = re.search(r"^ +([\d.]+) J \(([\d.]+) Wh\)", text, re.M)
    near(float(line[1]), published, 1e-6)
    near(float(line[2]), published / 3600, 1e-4)
    run = folder.json("run.json", "power.csv")
    near(run["total_gpu_energy_j"], published, 1e-6)
    near(run["tokens_per_joule"], 1500 / published, 1e-4)
    near(run["wh_per_1000_output_tokens"], published / 3600 / 1.5, 1e-5)
    near(run["wh_per_query"], published / 3600 / 30, 1e-5)


def test_no_uncertainty_leaves_it_out(folder):
    for words in (["measure", "run.json", "power.csv"], [*PATCH, "--dry-run"]):
        assert "95 %" in folder.call(*words)
        assert "95 %" not in folder.call(*words, "--no-uncertainty")
    assert "uncertainty" not in folder.json("run.json", "power.csv", "--no-uncertainty")
    assert re.search(r"^energy +[\d.]+ kJ$", folder.call("measure", "run.json", "power.csv", "--no-uncertainty"), re.M)
    folder.call("measure", "run.json", "power.csv", "--no-uncertainty", "--uncertainty", status=2)


def test_what_the_interval_takes_is_refused_without_one(folder):
    for option in (["--sensor-accuracy", "0.01"], ["--clock-uncertainty", "0.1"]):
        for words in (["measure", "run.json", "power.csv", "--no-uncertainty"], [*PATCH, "--no-uncertainty"]):
            folder.call(*words, *option, status=2)
            assert option[0] in folder.err and "--no-uncertainty" in folder.err, folder.err
        for schema_1 in (PATCH[:-2], [*PATCH, "--schema-version", "1"]):
            folder.call(*schema_1, *option, status=2)
            assert option[0] in folder.err and "expected schema 2" in folder.err, folder.err
        folder.aggregate()
        folder.call(*PATCH, *option)


def test_uncertainty_changes_no_number(folder):
    assert folder.call("run.json", "power.csv") == folder.call("run.json", "power.csv", "--uncertainty")
    assert folder.json("run.json", "power.csv") == folder.json("run.json", "power.csv", "--uncertainty")


def test_a_single_run_prints_it_and_writes_what_it_wrote(folder):
    written = []
    for more in (["--no-uncertainty"], []):
        folder.aggregate()
        printed = folder.call(*PATCH, "--extended", *more)
        record = json.loads((folder.path / "power_validation_run.json").read_text())
        written.append(((folder.path / "agg.json").read_bytes(), json.dumps(record)))
        shown = [line for line in printed.splitlines() if line.startswith("aggregate-power: energy ")]
        assert len(shown) == (0 if more else 1), printed
    assert written[0] == written[1]
    assert re.search(r"; 5[123]\.\d\d J per output token  \(\d+\.\d+ to \d+\.\d+\)", shown[0]), shown
    assert shown[0].endswith("a reading is a mean over 1 s"), shown


def test_schema_1_has_none(folder):
    assert "95 %" not in folder.call(*PATCH[:-2])


def test_a_new_aggregate_has_it_in_its_record(folder):
    folder.call("measure", "run.json", "power.csv", "--out", "new.json")
    record = json.loads((folder.path / "power_validation_new.json").read_text())
    assert record["uncertainty"]["total_gpu_energy_j"] == folder.json("run.json", "power.csv")["uncertainty"][
        "total_gpu_energy_j"]
    assert "power_valid\": 1" in (folder.path / "new.json").read_text()
    folder.call("verify", ".")


def test_an_estimated_window_is_part_of_it(folder):
    text = folder.call("vllm.json", "power.csv")
    number, low, high, _ = headline(text)
    assert "estimated" in text and low < TRUE_J < high and text.count(" to ") == 2 + 4, text  # window, energy, ratios
    run = folder.json("vllm.json", "power.csv")
    interval = run["uncertainty"]["total_gpu_energy_j"]
    near(run["energy_j_low"], interval["low"], 1e-9)
    near(run["energy_j_high"], interval["high"], 1e-9)
    exact = folder.json("run.json", "power.csv")["uncertainty"]["total_gpu_energy_j"]
    assert interval["high"] - interval["low"] > exact["high"] - exact["low"]
    without = folder.call("vllm.json", "power.csv", "--no-uncertainty")
    assert re.search(r"^energy +[\d.]+ kJ  \([\d.]+ to [\d.]+ kJ, by the place of the window\)$", without, re.M), without


def test_what_publishes_an_estimated_window_is_named(folder):
    words = lambda *more, status=0: " ".join(folder.call("measure", "vllm.json", "power.csv", *more, status=status).split())
    assert "valid yes, over a window that is estimated: --out and plot need --window estimated" in words()
    assert "valid yes, over" not in words("--window", "estimated")
    assert "window_not_exact: give --window estimated; or record the run" in words("--out", "new.json", status=1)
    assert "valid yes " in words("--out", "new.json", "--window", "estimated") + " "
    folder.call("plot", "power.csv", "vllm.json", "--format", "csv", "--window", "estimated")
    # No option accepts the window of a whole session.
    session = folder.call("measure", "run.json", "power.csv")
    assert re.search(r"^valid +yes$", session, re.M), session


def test_the_gap_that_would_be_allowed_is_named(folder):
    rows = (folder.path / "power.csv").read_text().splitlines()
    kept = [row for row in rows if not row[:1].isdigit() or not 20 < float(row.split(",")[0]) - START < 32]
    (folder.path / "power.csv").write_text("\n".join(kept) + "\n")  # from 19.87 (the stamp is 20 ms before 20) to 32.07
    text = " ".join(folder.call("measure", "run.json", "power.csv", status=1).split())
    assert "allow a longer gap with --max-sample-gap 13 " in text + " ", text
    folder.call("measure", "run.json", "power.csv", "--max-sample-gap", "13")
    folder.call("measure", "run.json", "power.csv", "--max-sample-gap", "12", status=1)
    folder.aggregate()
    folder.call(*PATCH)
    assert folder.err.count("--max-sample-gap 13\n") == 1, folder.err


def test_where_there_is_none_the_reason_is_said_in_words(folder):
    rows = (folder.path / "power.csv").read_text().splitlines()
    few = [row for row in rows if not row[:1].isdigit() or float(row.split(",")[0]) % 30 < 0.3]
    (folder.path / "power.csv").write_text("\n".join(few) + "\n")
    text = folder.call("run.json", "power.csv", "--start", str(START), "--end", str(START + 1), "--max-sample-gap", "60")
    assert "(no interval: fewer than three readings of a GPU are in the window)" in text, text
    assert "no interval" not in folder.err


def test_a_single_run_keeps_no_readings_of_a_large_recording(folder):
    """1200 rows with a note of 15 KB each."""
    header, *rows = (folder.path / "power.csv").read_text().splitlines()
    note = "x" * 15_000
    (folder.path / "power.csv").write_text("\n".join([header + ", note", *(f"{row}, {note}" for row in rows)]) + "\n")
    assert (folder.path / "power.csv").stat().st_size > 16 << 20
    printed = folder.call(*PATCH)
    assert "(no interval: the recording has more than 16 MiB" in printed and "95 %" not in printed, printed
    folder.aggregate()
    assert "(95 %: " in folder.call(*PATCH, "--uncertainty")
    assert "(95 %: " in folder.call("run.json", "power.csv")


def test_the_mean_is_that_of_the_sensor_that_has_it(folder):
    """The first GPU, an A100, looks at 25 ms of every 100 ms; the second averages 1 s."""
    header, *rows = (folder.path / "power.csv").read_text().splitlines()
    for gpu, model in enumerate(("NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3")):
        own = [row.replace("NVIDIA H100 80GB HBM3", model) for row in rows if f", {gpu}, N" in row]
        (folder.path / f"{gpu}.csv").write_text("\n".join([header, *own]) + "\n")
    text = " ".join(folder.call("measure", "run.json", "0.csv", "1.csv").split())
    assert re.search("GPU [^:]*1: a reading is a mean over 1 s", text), text


def test_an_unknown_model_is_named_with_the_nearest(folder):
    folder.record(model="")
    assert "whether the sensor averages is unknown: name the GPUs with --gpu-model" in " ".join(
        folder.call("run.json", "power.csv").split())
    warnings = folder.json("run.json", "power.csv", "--gpu-model", "H10")["warnings"]
    assert any("no GPU is known as 'H10': did you mean H100?" in warning for warning in warnings), warnings
    assert folder.json("run.json", "power.csv", "--gpu-model", "h100")["warnings"] == []


def test_a_short_load_beside_its_window(folder):
    """15 s, of which the result states 3 s too late: 19.5 kJ; 3 s of idle power are in the window instead."""
    length, late = 15, 3
    lines = ["timestamp, index, name, power.draw [W]"]
    for t in (step + 0.07 for step in range(-40, length + 40)):
        inside = max(0, min(t, length) - max(t - 1, 0))
        lines += [f"{START + t:.3f}, {gpu}, NVIDIA H100 80GB HBM3, {100 + (500 + 100 * gpu) * inside + math.sin(97 * t + gpu):.2f} W"
                  for gpu in (0, 1)]
    (folder.path / "power.csv").write_text("\n".join(lines) + "\n")
    (folder.path / "run.json").write_text(json.dumps({
        **RUN, "duration": length, "benchmark_start_time_unix": START + late, "benchmark_end_time_unix": START + late + length}))
    text = folder.call("measure", "run.json", "power.csv")
    number, low, high, _ = headline(text)
    assert low <= 19500 <= high and abs(number - 19500) < 0.02 * 19500, text
    assert "the load is -3.0" in text and "clock_offset_suspected" in text, text
    folder.call(*PATCH)
    assert "clock_offset_suspected: the load is -3.0" in folder.err, folder.err


def test_the_mean_of_a_second_is_no_long_mean(folder):
    """Ten readings a second of a sensor that averages over 1 s: 15 s, 19.5 kJ."""
    length = 15
    lines = ["timestamp, index, name, power.draw [W]"]
    for t in (step / 10 + 0.07 for step in range(-400, 10 * length + 400)):
        inside = max(0, min(t, length) - max(t - 1, 0))
        lines += [f"{START + t:.3f}, {gpu}, NVIDIA H100 80GB HBM3, {100 + (500 + 100 * gpu) * inside + math.sin(97 * t + gpu) / 4:.2f} W"
                  for gpu in (0, 1)]
    (folder.path / "power.csv").write_text("\n".join(lines) + "\n")
    (folder.path / "run.json").write_text(json.dumps({**RUN, "duration": length, "benchmark_end_time_unix": START + length}))
    number, low, high, _ = headline(folder.call("measure", "run.json", "power.csv"))
    assert low <= 19500 <= high and abs(number - 19500) < 0.01 * 19500, (low, number, high)
    assert "readings_repeat" not in folder.err, folder.err


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
