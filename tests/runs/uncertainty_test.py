#!/usr/bin/env python3
"""The interval of a run's energy: estimate, components, verdicts, sensors and scopes.

Expected values are sums by hand, or those of the public measurements that the help page names.

usage: tests/runs/uncertainty_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import math
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import running  # noqa: E402
from running import PROGRAM, ROOT, load_result, near, run_tests, same  # noqa: E402

REAL = ROOT / "testdata" / "runs" / "h100-counter"
H200 = ROOT / "testdata" / "runs" / "h200-counter"
START = 1788852000  # 2026-09-08T07:20:00Z


def stamp(at_s):
    """As nvidia-smi writes it, in UTC."""
    minutes, seconds = divmod(at_s + 20 * 60, 60)
    return f"2026/09/08 07:{int(minutes):02}:{seconds:06.3f}"


def wobble(i):
    """A load moves a little: three watts up and down."""
    return (0, 3, 1, -2, -3, 2, -1)[i % 7]


def apart(i, gpu):
    """No two sensors read the same at all times."""
    return 0.01 * gpu * (i < 16)


def minute_of_load(i, gpu):
    """What a mean over 1 s shows of 500 W from START to START + 60, and of 100 W else. A reading 0.25 s
    after the second is of the second that ended 15 ms and 50 ms earlier."""
    end_s = i - 10 + 0.25 - 0.065
    on = max(0.0, min(end_s, 60) - max(end_s - 1, 0))
    return 100 + 400 * on + wobble(i + gpu)


class Folder(running.Folder):
    def csv(self, header, watts, seconds=80, more="", gpus=2, first_s=-10, columns=None):
        """A row a second for each GPU; `watts(second, gpu)`. `columns(second, gpu)` are further cells.
        Two GPUs never read the same at all times."""
        rows = [f"timestamp, index, {header}"]
        for i in range(seconds):
            for gpu in range(gpus):
                cells = columns(i, gpu) if columns else more
                rows.append(f"{stamp(first_s + i + 0.25)}, {gpu}, {watts(i, gpu) + apart(i, gpu):.2f} W{cells}")
        return self.write("gpu.csv", "\n".join(rows) + "\n")

    def record(self, *words, telemetry="gpu.csv", start=START, end=START + 60, gpus=2, agg="{}"):
        self.write("run.json", load_result(start, end))
        self.write("agg_run.json", agg)
        self.call("--csv", telemetry, "--bench-result", "run.json", "--agg-result", "agg_run.json",
                  "--expected-num-gpus", gpus, "--timezone", "UTC", "--validation-result", "record.json", *words)
        same(0, self.status, self.err)
        return self.json("record.json")

    def uncertainty(self, *words, **options):
        record = self.record("--uncertainty", *words, **options)
        same(["uncertainty", "computed_from"], list(record)[-2:])
        return record["uncertainty"]


def codes(uncertainty):
    return [verdict["code"] for verdict in uncertainty["verdicts"]]


def check_squares(energy):
    squares = sum(component["relative"] ** 2 for component in energy["components"])
    near((energy["standard_uncertainty"] / energy["estimate"]) ** 2, squares, 1e-9, "squares")
    for low, high, sigma in [(energy["low"], energy["high"], energy["standard_uncertainty"]),
                             (energy["repeatability"]["low"], energy["repeatability"]["high"],
                              energy["repeatability"]["standard_uncertainty"])]:
        near(energy["estimate"] - 1.96 * sigma, low, 1e-12)
        near(energy["estimate"] + 1.96 * sigma, high, 1e-12)


def relative(energy, name):
    return next((c["relative"] for c in energy["components"] if c["name"] == name), 0)


def test_a_real_recording_with_a_counter(folder):
    for name in ("gpu_metrics.csv", "run.json", "agg_run.json"):
        shutil.copy(REAL / name, folder.path / name)
    words = ["--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
             "--expected-num-gpus", "2"]
    folder.call(*words)
    same(0, folder.status, folder.err)
    plain = folder.json("power_validation_run.json")
    aggregate = (folder.path / "agg_run.json").read_bytes()
    assert "uncertainty" not in plain
    folder.call(*words, "--uncertainty")
    record = folder.json("power_validation_run.json")
    uncertainty = record.pop("uncertainty")
    same({"uncertainty": "true"}, record["computed_from"].pop("options"))
    same(plain, record, "the contract's numbers")
    same(aggregate, (folder.path / "agg_run.json").read_bytes(), "the aggregate")

    total = uncertainty["total_gpu_energy_j"]
    check_squares(total)
    energy_j = total["estimate"]
    # The model turns about 88 W, two boards for 18 s.
    turned_j = energy_j - 88 * 36
    near(0.022 * turned_j / energy_j, relative(total, "sensor_gain_shared"), 1e-6)
    gpus = uncertainty["per_gpu"]
    each_j = math.hypot(*(0.029 * (gpu["energy_j"]["estimate"] - 88 * 18) for gpu in gpus.values()))
    near(each_j / energy_j, relative(total, "sensor_gain_each"), 1e-6)
    near(4.9 * 18 * math.sqrt(2) / energy_j, relative(total, "sensor_offset"), 1e-6)
    near(sum(plain["per_gpu_energy_j"].values()), total["published"], 1e-12)
    corrected = total["published"] + sum(c["joules"] for c in uncertainty["corrections"])
    near(energy_j, corrected, 1e-9, "published and corrections")
    for name, gpu in gpus.items():
        check_squares(gpu["energy_j"])
        same(["NVIDIA H100 80GB HBM3", "name_column", "power_w", [1.0]],
             [gpu["sensor"][key] for key in ("name", "known_from", "column", "window_s")])
        same("energy_mj", gpu["counter"]["column"])  # ten readings a second are as good
        assert abs(gpu["counter"]["disagreement"]) < 0.01
        assert relative(gpu["energy_j"], "counter_construction") > 0
    # The recorder's own mark: an idle GPU is not held back by heat, and a constant value is no fault.
    same(["averaged_sensor", "steady_state"], codes(uncertainty))
    # Ratios have the relative interval of the energy.
    per_token = uncertainty["joules_per_output_token"]
    near(energy_j / 1024, per_token["estimate"], 1e-12)
    near(total["low"] / 1024, per_token["low"], 1e-12)
    near(total["repeatability"]["high"] / 1024, per_token["repeatability"]["high"], 1e-12)
    near(energy_j / 36, uncertainty["avg_power_w"]["estimate"], 1e-12)
    near(energy_j / 18, uncertainty["avg_total_gpu_power_w"]["estimate"], 1e-12)


def test_the_counter_is_within_the_interval_of_the_power_alone(folder):
    """The counter is a witness of the time axis."""
    lines = (REAL / "gpu_metrics.csv").read_text().splitlines()
    folder.write("gpu.csv", "".join(line.rpartition(",")[0] + "\n" for line in lines))
    first_s = float(lines[1].split(",")[0])
    for start, end in [(5.5, 24.5), (6, 16), (10, 24)]:
        found = folder.uncertainty(start=first_s + start, end=first_s + end)
        for index, gpu in found["per_gpu"].items():
            same(None, gpu["counter"])
            steps = [(float(c[0]), int(c[-1]) / 1000) for c in (line.split(",") for line in lines[1:])
                     if c[2] == index and first_s + start <= float(c[0]) <= first_s + end]
            span_s = steps[-1][0] - steps[0][0]
            counter_w = (steps[-1][1] - steps[0][1]) / span_s
            interval = gpu["energy_j"]["repeatability"]
            # Its two ends are each known to a step of 0.1 s.
            slack_w = counter_w * 0.1 * math.sqrt(2) / span_s
            assert interval["low"] / (end - start) - slack_w <= counter_w <= \
                interval["high"] / (end - start) + slack_w, (start, index, counter_w, interval)


def test_a_load_beside_other_loads_against_the_counter(folder):
    """An H200 at one reading a second: products of matrices and copies of memory for 12 s each, with 4 s
    between them, and NVML's counter at both ends of each. It is up to 0.1 s old: 0.7 % of such a load."""
    for line in (H200 / "phases.jsonl").read_text().splitlines():
        phase = json.loads(line)
        counted_j = (phase["mJ_end"] - phase["mJ_start"]) / 1000
        found = subprocess.run(
            [PROGRAM, "measure", H200 / "gpu_metrics.csv", "--start", repr(phase["start"]), "--end",
             repr(phase["end"]), "--uncertainty", "--json"], capture_output=True, text=True, check=True)
        energy = json.loads(found.stdout)["runs"][0]["uncertainty"]["total_gpu_energy_j"]
        what = f"{phase['phase']}: {energy['estimate']} J, counted {counted_j} J"
        assert energy["low"] < counted_j < energy["high"], what
        assert abs(energy["estimate"] / counted_j - 1) < 0.01, what
        # A mean over the last second misses half a second of the load at its start.
        assert -0.05 < energy["published"] / counted_j - 1 < -0.025, what


def test_half_a_window_late(folder):
    """A load of 500 W from start to end, seen as a mean over the second before: the published energy
    misses half of it at the start and has it at the end, where the load begins earlier than the window
    and goes on."""
    folder.csv("power.draw.average [W], name", minute_of_load, more=", NVIDIA H100 80GB HBM3")
    found = folder.uncertainty()
    total = found["total_gpu_energy_j"]
    assert abs(total["estimate"] / 60000 - 1) < 0.004, total["estimate"]
    assert total["repeatability"]["low"] < 60000 < total["repeatability"]["high"]
    check_squares(total)
    assert {"averaged_sensor", "steady_state"} <= set(codes(found)), codes(found)
    assert "load_starts_in_window" in found["assumptions"]


def test_bounds_in_the_aggregate_go_when_they_are_not_asked_for(folder):
    folder.csv("power.draw [W], name", lambda i, g: 400 + wobble(i), more=", NVIDIA H100 PCIe")
    record = folder.record("--uncertainty", "--extended", agg='{"hw": "h100", "mine": 1}')
    total = record["uncertainty"]["total_gpu_energy_j"]
    text = (folder.path / "agg_run.json").read_text()
    aggregate = json.loads(text)
    keys = [key for key in aggregate if key.endswith(("_low", "_high")) or key == "power_verdicts"]
    same(9, len(keys))
    same(keys, list(aggregate)[-9:], "behind all other keys")
    # Rounded outwards.
    assert total["low"] - 0.001 < aggregate["total_gpu_energy_j_low"] <= total["low"]
    assert total["high"] + 0.001 > aggregate["total_gpu_energy_j_high"] >= total["high"]
    same(codes(record["uncertainty"]), aggregate["power_verdicts"])
    for words in ([], ["--extended"]):
        folder.write("agg_run.json", text)
        folder.call("--csv", "gpu.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
                    "--expected-num-gpus", "2", "--timezone", "UTC", *words)
        left = folder.json("agg_run.json")
        same([], [key for key in left if key in keys], words)
        same(1, left["mine"])


def test_where_the_model_comes_from(folder):
    def sensor(*words, **options):
        gpu = folder.uncertainty(*words, **options)["per_gpu"]["0"]["sensor"]
        return gpu["name"], gpu["known_from"], gpu["window_s"]
    folder.csv("power.draw [W]", lambda i, g: 300 + wobble(i + g))
    same((None, None, [1.0, 0.1, 0.025]), sensor())
    same(("b200", "aggregate", [1.0]), sensor(agg='{"hw": "b200"}'))
    same(("A100", "option", [0.025]), sensor("--gpu", "A100", agg='{"hw": "b200"}'))
    folder.write("gpu_identity.csv", "index,uuid,name\n0,GPU-a,Tesla V100-SXM2-16GB\n1,GPU-b,Tesla V100-SXM2-16GB\n")
    same(("Tesla V100-SXM2-16GB", "identity_file", [0.01]), sensor())
    folder.csv("power.draw [W], name", lambda i, g: 300 + wobble(i + g), more=", NVIDIA A100-SXM4-80GB")
    same(("NVIDIA A100-SXM4-80GB", "name_column", [0.025]), sensor("--gpu", "a100"))
    folder.csv("power.draw [W], name", lambda i, g: 300 + wobble(i + g), more=", NVIDIA GeForce RTX 4090")
    same([1.0, 0.1], sensor()[2])  # without the average beside it, the driver may not average
    folder.csv("power.draw [W], power.draw.average [W], name", lambda i, g: 300 + wobble(i + g),
               more=", 300.00 W, NVIDIA GeForce RTX 4090")
    same([1.0], sensor()[2])


def test_a_model_that_contradicts_the_file(folder):
    folder.csv("power.draw [W], name", lambda i, g: 300 + wobble(i), more=", NVIDIA A100-SXM4-80GB")
    found = folder.uncertainty("--gpu", "H100")
    same(False, found["available"])
    same(["sensor_scope_unknown"], found["reasons"])
    assert "--gpu-model: 'H100' contradicts the recording" in found["advice"][0], found
    assert "contradicts" in folder.err
    assert "total_gpu_energy_j" not in found


def test_a_model_of_another_maker(folder):
    folder.csv("power.draw [W]", lambda i, g: 300 + wobble(i))
    same(["sensor_scope_unknown"], folder.uncertainty("--gpu", "MI300X")["reasons"])
    # What an aggregate says of another machine is nothing.
    same([1.0, 0.1, 0.025], folder.uncertainty(agg='{"hw": "mi300x"}')["per_gpu"]["0"]["sensor"]["window_s"])
    folder.csv("power.draw [W], name", lambda i, g: 300 + wobble(i),
               columns=lambda i, g: f", NVIDIA {('A100', 'H100')[g]}")
    same(["sensor_scope_unknown"], folder.uncertainty("--gpu", "B200")["reasons"])
    for given, fits in [("A10", False), ("a", False), ("A100 80GB", True), ("a100", True)]:
        folder.csv("power.draw [W], name", lambda i, g: 300 + wobble(i), more=", NVIDIA A100-SXM4-80GB")
        same(fits, folder.uncertainty("--gpu", given)["available"], given)


def test_a_counter_far_off_is_rejected(folder):
    """At moments a counter may be right and the power wrong, but not by a fifth."""
    folder.csv("power.draw [W], name, energy_mj", lambda i, g: 300 + wobble(i),
               columns=lambda i, g: f", NVIDIA A100-SXM4-80GB, {10**9 + 240_000 * i}")
    found = folder.uncertainty("--accept", "counter_contradicts")  # by 20 %
    assert "counter_rejected" in codes(found)
    assert abs(found["total_gpu_energy_j"]["estimate"] / 36000 - 1) < 0.01
    folder.csv("power.draw [W], name, energy_mj", lambda i, g: 300 + wobble(i),
               more=", NVIDIA A100-SXM4-80GB, 1000000000")
    found = folder.uncertainty()
    assert "counter_rejected" in codes(found)
    same((False, None), (found["per_gpu"]["0"]["counter"]["used"], found["per_gpu"]["0"]["counter"]["energy_j"]))


def test_a_plateau_above_the_limit_is_no_spike(folder):
    folder.csv("power.draw [W], name, power.limit [W]", lambda i, g: (560 if i // 10 % 2 else 300) + wobble(i),
               more=", NVIDIA GeForce RTX 3090, 350.00 W")
    found = folder.uncertainty()
    assert "implausible_readings" not in codes(found)
    assert abs(found["total_gpu_energy_j"]["estimate"] / (2 * 25800) - 1) < 0.03, found["total_gpu_energy_j"]


def test_a_sensor_that_lags_is_no_clock(folder):
    """Readings without any delay, of a GPU whose sensor may be an average."""
    folder.csv("power.draw [W], name", lambda i, g: (400 if 10 <= i + 0.25 < 70 else 60) + wobble(i),
               more=", NVIDIA GeForce RTX 4090")
    assert "clock_offset_suspected" not in codes(folder.uncertainty())


def holds_the_window(total, low, high):
    """Of two GPUs whose power steps by 482 W: a window of 1.7 s earlier or later, but none that the power excludes."""
    place = relative(total, "window_place") * total["estimate"]
    most = min(2 * 482 * 1.7, max(high - total["published"], total["published"] - low))
    assert abs(place / (most / math.sqrt(3)) - 1) < 0.02, (place, most, total)
    # Its interval alone is as wide as all windows that are possible, and the whole interval has them all.
    assert 1.96 * place >= max(high - total["published"], total["published"] - low), (place, low, high)
    for bounds in (total, total["repeatability"]):
        assert bounds["low"] <= low and high <= bounds["high"], (total, low, high)


def test_a_window_whose_place_is_an_estimate(folder):
    for name in ("gpu_metrics.csv", "vllm.json", "gpu_metrics_context.json"):
        shutil.copy(ROOT / "testdata" / "results" / name, folder.path / name)
    asked = ("--uncertainty", "--gpu", "H100")
    folder.write("agg.json", "{}")
    folder.call("--csv", "gpu_metrics.csv", "--bench-result", "vllm.json", "--agg-result", "agg.json",
                "--expected-num-gpus", "2", "--window", "estimated", *asked, "--validation-result", "record.json")
    same(0, folder.status, folder.err)
    record = folder.json("record.json")
    low, high = (record["metric_intervals"]["total_gpu_energy_j"][end] for end in ("low", "high"))
    assert low < high, (low, high)
    alone = record["uncertainty"]["total_gpu_energy_j"]
    holds_the_window(alone, low, high)
    # Runs of a store, and of several recordings, know their window no better.
    store = folder.path / "store" / "run"
    store.mkdir(parents=True)
    for name, stored in (("gpu_metrics.csv", "gpu_metrics.csv"), ("gpu_metrics_context.json", "gpu_metrics_context.json"),
                         ("vllm.json", "x.json")):
        shutil.copy(folder.path / name, store / stored)
    (store / "agg_x.json").write_text(json.dumps({"tp": 2}))
    folder.call("backfill", "store", "--window", "estimated", *asked)
    same(0, folder.status, folder.err)
    stored = json.loads((store / "power_validation_x.json").read_text())
    same(alone, stored["uncertainty"]["total_gpu_energy_j"])
    header, *rows = (folder.path / "gpu_metrics.csv").read_text().splitlines()
    at = [cell.strip() for cell in header.split(",")].index("index")
    for gpu in "01":
        own = [row for row in rows if row.split(",")[at].strip() == gpu]
        folder.write(f"{gpu}.csv", "\n".join([header, *own]) + "\n")
        shutil.copy(folder.path / "gpu_metrics_context.json", folder.path / f"{gpu}_context.json")
    folder.call("measure", "vllm.json", "0.csv", "1.csv", *asked, "--json")
    same(0, folder.status, folder.err)
    run = json.loads(folder.out)["runs"][0]
    same((1.7, "estimated"), (run["window_half_width_s"], run["window_source"]))
    holds_the_window(run["uncertainty"]["total_gpu_energy_j"], low, high)


def test_an_energy_is_not_negative(folder):
    folder.csv("power.draw [W], name", lambda i, g: 8 + wobble(i) / 10, more=", NVIDIA H100 PCIe")
    same(0.0, folder.uncertainty()["total_gpu_energy_j"]["low"])


def test_requests_that_cannot_be_read_cost_no_power(folder):
    folder.csv("power.draw [W]", lambda i, g: 300 + wobble(i))
    folder.record()
    before = (folder.path / "agg_run.json").read_bytes()
    record = folder.record("--requests", "missing.jsonl")
    same((True, ["requests_unreadable"]), (record["power_valid"], record["request_energy"]["refused"]))
    assert "missing.jsonl" in folder.err
    same(before, (folder.path / "agg_run.json").read_bytes())


def test_unknown_windows_widen_the_interval(folder):
    """At ten readings a second the same readings are of an average, or of moments."""
    rows = ["timestamp, index, power.draw [W]"]
    for i in range(800):
        rows.append(f"{stamp(-10 + i / 10 + 0.03)}, 0, {300 + 40 * math.sin(i / 9) + wobble(i):.2f} W")
    folder.write("gpu.csv", "\n".join(rows) + "\n")
    unknown = folder.uncertainty(gpus=1)
    known = folder.uncertainty("--gpu", "H100", gpus=1)
    assert "sensor_unknown" in codes(unknown) and "sensor_unknown" not in codes(known)
    assert relative(unknown["total_gpu_energy_j"], "sensor_window_unknown") > 0
    width = [u["total_gpu_energy_j"]["repeatability"]["standard_uncertainty"] for u in (unknown, known)]
    assert width[0] > width[1], width


def test_calibrated_sensors_and_other_clocks(folder):
    # It ends with 500 W and began with 100 W: a clock that is off counts.
    folder.csv("power.draw [W], name", lambda i, g: 100 + 5 * i + wobble(i), more=", NVIDIA H100 PCIe")
    usual = folder.uncertainty()["total_gpu_energy_j"]
    calibrated = folder.uncertainty("--sensor-accuracy", "0.005")["total_gpu_energy_j"]
    near(0.005 / 0.022 * relative(usual, "sensor_gain_shared"), relative(calibrated, "sensor_gain_shared"))
    same(0, relative(calibrated, "sensor_gain_each"))
    near(relative(usual, "sensor_offset"), relative(calibrated, "sensor_offset"))
    apart = folder.uncertainty("--clock-uncertainty", "0.05")["total_gpu_energy_j"]
    assert relative(apart, "timing") > 2 * relative(usual, "timing")


def test_scopes(folder):
    # An MI250X: the even dies report both.
    def dies(odd_w):
        def watts(i, gpu):
            return odd_w(i) if gpu % 2 else 350 + wobble(i)
        rows = [f"{START - 10 + i},{gpu},{watts(i, gpu) + (apart(i, gpu) if watts(i, gpu) else 0):.2f}" for i in range(80) for gpu in range(4)]
        folder.write("gpu.csv", "timestamp,gpu,socket_power\n" + "\n".join(rows) + "\n")
    dies(lambda i: 0)
    found = folder.uncertainty("--gpu", "MI250X", gpus=4)  # the edges are samples of 0 W
    same(["1", "3"], [gpu for v in found["verdicts"] if v["code"] == "second_die" for gpu in v["gpus"]])
    found = folder.uncertainty("--gpu", "MI250X", gpus=4, start=START + 0.5, end=START + 59.5)
    same(["power_not_valid"], found["reasons"])
    assert found["advice"][0].startswith("GPUs 1, 3 read 0 W throughout"), found
    assert found["advice"][0].endswith("--gpus 0,2"), found
    found = folder.uncertainty("--gpu", "MI250X", "--gpus", "0,2")
    same(["0", "2"], list(found["per_gpu"]))
    assert "first_dies_report_both" in found["assumptions"]
    dies(lambda i: 340 + 2 * wobble(i))
    same(["sensor_scope_unknown"], folder.uncertainty("--gpu", "MI250X", gpus=4)["reasons"])
    # In the window alone the contract takes zeros for readings; here that takes --accept.
    dies(lambda i: 0 if 10 <= i < 70 else 350 + wobble(i))
    found = folder.uncertainty("--accept", "stuck_sensor", start=START + 0.5, end=START + 59, gpus=4)
    same((False, ["sensor_scope_unknown"]), (found["available"], found["reasons"]))
    # Two slices of one GPU.
    folder.csv("power.draw [W], name", lambda i, g: 300 + wobble(i), more=", NVIDIA A100-SXM4-40GB MIG 3g.20gb")
    same(["sensor_scope_unknown"], folder.uncertainty()["reasons"])
    # GH200: its counter is the module's.
    folder.csv("power.draw [W], name, energy_mj", lambda i, g: 500 + wobble(i),
               columns=lambda i, g: f", NVIDIA GH200 480GB, {10**9 + 700_000 * i}")
    found = folder.uncertainty()
    assert "counter_of_module_not_used" in found["assumptions"], found
    same(None, found["per_gpu"]["0"]["counter"])
    folder.csv("power.draw.instant [W], name", lambda i, g: 500 + wobble(i), more=", NVIDIA GH200 480GB")
    same(["sensor_scope_unknown"], folder.uncertainty()["reasons"])
    folder.csv("module.power.draw.average [W], name", lambda i, g: 500 + wobble(i), more=", NVIDIA GH200 480GB")
    same(["sensor_scope_unknown"], folder.uncertainty("--power-column", "module.power.draw.average")["reasons"])


def test_idle_gpus_are_named(folder):
    folder.csv("power.draw [W], name", lambda i, g: (450 if g == 0 else 70) + wobble(i) / 3,
               more=", NVIDIA H100 PCIe", gpus=3)
    found = folder.uncertainty(gpus=3)
    same(["1", "2"], next(v for v in found["verdicts"] if v["code"] == "idle_gpu")["gpus"])


def test_limits_and_reasons_of_the_recorder(folder):
    name = ", NVIDIA H100 PCIe"
    # 660 of 700 W is 94.3 %.
    folder.csv("power.draw [W], name, power.limit [W]", lambda i, g: 661 + wobble(i) / 3, more=name + ", 700.00 W")
    same(["0", "1"], next(v for v in folder.uncertainty()["verdicts"] if v["code"] == "power_capped")["gpus"])
    folder.csv("power.draw [W], name, power.limit [W]", lambda i, g: 640 + wobble(i) / 3, more=name + ", 700.00 W")
    assert "power_capped" not in codes(folder.uncertainty())
    header = "power.draw [W], name, clocks_event_reasons.active"
    reason = lambda mask, share: lambda i, g: f"{name}, 0x{mask if i % 100 < share else 1:016x}"  # noqa: E731
    folder.csv(header, lambda i, g: 500 + wobble(i), columns=reason(4, 100))
    same({"averaged_sensor", "power_capped", "steady_state"}, set(codes(folder.uncertainty())))
    # Two of 60 seconds are 3 %; the mask is hardware thermal slowdown.
    folder.csv(header, lambda i, g: 500 + wobble(i), columns=reason(0x40, 12))
    same({"averaged_sensor", "throttled", "steady_state"}, set(codes(folder.uncertainty())))
    header = "power.draw [W], name, clocks_event_reasons.sw_power_cap, clocks_event_reasons.hw_slowdown"
    folder.csv(header, lambda i, g: 500 + wobble(i), more=name + ", Active, Not Active")
    assert "power_capped" in codes(folder.uncertainty())
    assert "throttled" not in codes(folder.uncertainty())
    # No such column, busy throughout, and the last third is 10 % below the first.
    folder.csv("power.draw [W], name, utilization.gpu [%]", lambda i, g: (500 if i < 45 else 450) + wobble(i),
               more=name + ", 99 %")
    assert {"throttling_suspected", "not_steady"} <= set(codes(folder.uncertainty()))
    folder.csv("power.draw [W], name, utilization.gpu [%]", lambda i, g: (500 if i < 45 else 450) + wobble(i),
               more=name + ", 60 %")
    assert "throttling_suspected" not in codes(folder.uncertainty())


def test_a_gpu_that_warms_up(folder):
    """From 40 C to 70 C with a time constant of 100 s, at 0.2 % more power for each C; after the load 30 + 38.5 exp(-t / 60) C, which
    is 31 C after 60 s ln 38.5 = 219 s. The halves of 300 s: 70 - 20 (1 - exp(-1.5)) = 54.5 C and 70 - 20 (exp(-1.5) - exp(-3)) = 66.5 C.
    Without the first tenth, the first half is 57.1 C: 413.6 W, and the second 421.2 W."""
    def celsius(i):
        at_s = i - 10
        return 30 if at_s < 0 else 70 - 30 * math.exp(-at_s / 100) if at_s <= 300 else 30 + 38.5 * math.exp(-(at_s - 300) / 60)

    def drift(watts_per_c=0.002, heat=1, busy=lambda i: 100, tail_s=240):
        watts = lambda i, gpu: (400 * (1 + watts_per_c * (celsius(i) - 40)) if 10 <= i <= 310 else 80) + wobble(i + gpu)  # noqa: E731
        columns = lambda i, gpu: f", NVIDIA H100 PCIe, {30 + heat * (celsius(i) - 30):.0f}, {busy(i)} %"  # noqa: E731
        folder.csv("power.draw [W], name, temperature.gpu, utilization.gpu [%]", watts, seconds=311 + tail_s, columns=columns)
        folder.call("measure", "gpu.csv", "--start", START, "--end", START + 300, "--json", "--timezone", "UTC")
        found = json.loads(folder.out)["runs"][0]["uncertainty"]["verdicts"]
        return next((verdict for verdict in found if verdict["code"] == "thermal_drift"), None)

    found = drift()
    same(["0", "1"], found["gpus"])
    assert found["detail"].startswith(("+12.0 C and +1.8 % power", "+12.1 C and +1.8 % power")), found
    near(219, float(found["detail"].split("cools down in ")[1].split(" s")[0]), 0.05)
    assert "cools" not in drift(tail_s=5)["detail"], "nothing was recorded after the load"
    same(None, drift(watts_per_c=0), "the power does not care")
    same(None, drift(watts_per_c=0.01), "the load itself grows: 1 % for each C")
    same(None, drift(heat=0.2), "2.4 C")
    same(None, drift(busy=lambda i: 80 if i < 160 else 90), "the load itself grows")


def test_faulty_readings(folder):
    name = ", NVIDIA H100 PCIe"
    header = "power.draw [W], name"
    folder.csv(header, lambda i, g: 0 if i == 30 and g == 0 else 500 + wobble(i), more=name)
    found = folder.uncertainty()
    same(["0"], next(v for v in found["verdicts"] if v["code"] == "implausible_readings")["gpus"])
    # The zero costs the published number 500 J.
    assert abs(found["per_gpu"]["0"]["energy_j"]["estimate"] - 30000) < 60, found["per_gpu"]["0"]["energy_j"]
    assert abs(found["per_gpu"]["0"]["energy_j"]["published"] - 29500) < 60
    assert "published_biased" in codes(found)
    folder.csv(header, lambda i, g: 501 if g == 1 and 30 <= i < 50 else 500 + wobble(i), more=name)
    same(["stuck_sensor"], folder.record("--uncertainty")["reasons"])
    found = folder.uncertainty("--accept", "stuck_sensor")
    same(["1"], next(v for v in found["verdicts"] if v["code"] == "stuck_sensor")["gpus"])
    # A counter that was reset.
    folder.csv(header + ", energy_mj", lambda i, g: 500 + wobble(i),
               columns=lambda i, g: f"{name}, {500_000 * (i if i < 40 else i - 39)}")
    found = folder.uncertainty()
    assert "counter_rejected" in codes(found)
    same(False, found["per_gpu"]["0"]["counter"]["used"])


def test_a_burst_is_no_spike(folder):
    """Of a mean over 1 s: 350, 603 and 350 W on 100 W. Each reading counts for a second, so what 20 s draw is 2000 J
    and 250 + 503 + 250 J; a lone one may be a spike, and the interval holds both."""
    for burst, least, most in [((350, 603, 350), 3003, 3003), ((350, 603, 603, 350), 3506, 3506), ((603,), 2003, 2503)]:
        folder.csv("power.draw [W], name", lambda i, g, burst=burst: burst[i - 28] if 0 <= i - 28 < len(burst)
                   else 100 + 0.3 * (i % 3), more=", NVIDIA H100 80GB HBM3")
        found = folder.uncertainty(start=START + 10, end=START + 30)
        energy = found["per_gpu"]["0"]["energy_j"]
        assert energy["low"] < least and most < energy["high"], (burst, energy)
        assert abs(energy["estimate"] - most) < 0.02 * most, (burst, energy)
        assert "implausible_readings" not in codes(found), burst


def test_a_clock_that_is_off(folder):
    folder.csv("power.draw [W], name", minute_of_load, more=", NVIDIA H100 PCIe")
    found = folder.uncertainty(start=START + 2, end=START + 62)
    assert "clock_offset_suspected" in codes(found)
    assert relative(found["total_gpu_energy_j"], "clock_offset") > 0
    assert any(c["name"] == "window_moved_to_load" for c in found["corrections"])
    assert "clock_offset_suspected" not in codes(folder.uncertainty())


def test_no_interval(folder):
    folder.csv("power.draw [W], name", lambda i, g: 500 + wobble(i), more=", NVIDIA H100 PCIe")
    found = folder.uncertainty(gpus=3)  # a GPU is missing
    same({"available": False, "reasons": ["power_not_valid"]}, found)
    found = folder.uncertainty(start=START + 10.5, end=START + 12)
    same({"available": False, "reasons": ["too_few_readings"]}, found)
    folder.csv("power.draw [W], name", lambda i, g: 501.0 if 9 <= i < 71 else 500 + wobble(i), seconds=400,
               more=", NVIDIA H100 PCIe")
    same(["stuck_all_window"], folder.uncertainty()["reasons"])


def test_wrong_options(folder):
    folder.csv("power.draw [W]", lambda i, g: 500 + wobble(i))
    folder.write("run.json", "{}")
    words = ["--csv", "gpu.csv", "--bench-result", "run.json", "--agg-result", "agg.json"]
    for more, text in [(["--uncertainty"], "--uncertainty: expected schema 2"),
                       (["--expected-num-gpus", "2", "--uncertainty", "--no-uncertainty"], "--no-uncertainty"),
                       (["--expected-num-gpus", "2", "--uncertainty", "--sensor-accuracy", "2"], "--sensor-accuracy"),
                       (["--expected-num-gpus", "2", "--uncertainty", "--clock-uncertainty", "-1"],
                        "--clock-uncertainty")]:
        folder.call(*words, *more)
        same(2, folder.status, more)
        assert text in folder.err, folder.err


def test_whole_seconds_of_amd_smi(folder):
    """A load from 0 to 60 s, seen at moments; the loop asks 0.4 s after each second, and the stamp has none
    of it."""
    rows = ["timestamp,gpu,socket_power"]
    for i in range(80):
        for gpu in range(2):
            on = 0 <= i - 10 + 0.4 < 60
            rows.append(f"{START - 10 + i},{gpu},{(600 if on else 150) + wobble(i + gpu)}")
    folder.write("gpu.csv", "\n".join(rows) + "\n")
    found = folder.uncertainty("--gpu", "MI300X")
    gpu = found["per_gpu"]["0"]
    same(("whole_seconds", "MI300X"), (gpu["sensor"]["stamps"], gpu["sensor"]["name"]))
    assert "regular_recorder_loop" in found["assumptions"]
    total = found["total_gpu_energy_j"]
    assert relative(total, "stamp_cut") > 0
    assert total["repeatability"]["low"] < 72000 < total["repeatability"]["high"], total


def test_what_inspect_shows_of_sensors(folder):
    rows = ["timestamp, index, power.draw [W], name"]
    # Asked every 50 ms, the sensor changes every 100 ms.
    for i in range(400):
        rows.append(f"{stamp(i / 20)}, 0, {300 + wobble(i // 2)}.00 W, NVIDIA A100-SXM4-80GB")
    folder.write("gpu.csv", "\n".join(rows) + "\n")
    folder.call("inspect", "gpu.csv", "--sensor", "--json", "--timezone", "UTC")
    same(0, folder.status, folder.err)
    shown = json.loads(folder.out)["gpu_sensors"]
    same(["NVIDIA A100-SXM4-80GB", "name_column", "GA100", [0.025], 0.1, "query_time", None],
         [shown[key] for key in ("model", "known_from", "boards", "window_s", "refresh_s", "stamps", "unresolved")])
    device = shown["devices"]["0"]
    near(0.05, device["period_s"], 1e-6)
    near(0.1, device["refresh_observed_s"], 1e-6)
    near(0.5, device["stale_share"], 0.01)
    same(1.0, device["quantum_w"])
    folder.call("inspect", "gpu.csv", "--sensor", "--timezone", "UTC")
    assert "model      NVIDIA A100-SXM4-80GB (named by the recording)" in folder.out
    assert "GA100: a reading is the mean power over 0.025 s every 0.1 s" in folder.out


def test_verdicts_are_explained(folder):
    folder.call("explain", "stuck_sensor")
    same(0, folder.status)
    assert "\n\nstuck_sensor\n  when: a stretch of at least 4 s" in folder.out, folder.out
    folder.call("explain", "power_capped", "--json")
    same(["code", "rule", "remedy"], list(json.loads(folder.out)))
    folder.call("explain", "stuck_sensors")
    same(2, folder.status)
    assert "stuck_sensor" in folder.err


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
