#!/usr/bin/env python3
"""`attribute` from the command line: real traces, and small ones whose energy is worked out by hand.

The numbers of events, their sum, union and span are from an independent count of the same files; those of the
layers are the rows that GPUPP published; the rest is watts times seconds.

usage: tests/runs/attribute_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
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
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import running  # noqa: E402
from running import PROGRAM, ROOT, near, run_tests, same  # noqa: E402

TRACES = ROOT / "testdata" / "traces"
T0 = 1_800_000_000


def power(start, seconds, watts, step=1, gpus=1):
    """A recording; `watts` of a GPU and a time after the start."""
    rows = [f"{start + i * step:.6f},{gpu},{watts(gpu, i * step)}\n"
            for i in range(int(seconds / step) + 1) for gpu in range(gpus)]
    return "timestamp,index,power.draw [W]\n" + "".join(rows)


def event(name, start, duration, category="kernel", device=0, stream=7, **more):
    """Seconds after T0."""
    return {"ph": "X", "cat": category, "name": name, "pid": device, "tid": stream,
            "ts": T0 * 10**6 + round(start * 1e6), "dur": round(duration * 1e6),
            "args": {"device": device, "stream": stream}, **more}


def host(name, start, duration, thread=5, category="user_annotation"):
    return {"ph": "X", "cat": category, "name": name, "pid": 77, "tid": thread,
            "ts": T0 * 10**6 + round(start * 1e6), "dur": round(duration * 1e6)}


class Folder(running.Folder):
    def trace(self, name, *events, **more):
        return self.write(name, json.dumps({"schemaVersion": 1, "traceEvents": list(events), **more}))

    def call(self, *words, telemetry="p.csv", trace="t.json"):
        super().call("attribute", "--telemetry", telemetry, "--trace", trace, *words)
        assert self.status in (0, 1, 2), self.err
        return self

    def json(self, *words, **files):
        self.call("--format", "json", *words, **files)
        assert self.status == 0, self.err
        found = json.loads(self.out)
        check_sums(found)
        return found

    def fault(self, *words, **files):
        self.call(*words, **files)
        assert self.status != 0 and self.out == "", (self.status, self.out)
        return self.err


def check_sums(found):
    """What holds whatever the trace is."""
    rows = found["rows"] + [found["idle"]]
    near(found["energy_j"], sum(row["energy_j"] for row in rows), what="the sum of the rows")
    near(found["energy_j"], sum(gpu["energy_j"] for gpu in found["gpus"]), what="the sum of the GPUs")
    for row in rows:
        assert row["power_w"] is None or row["power_w"] <= found["highest_power_w"], row


def joules(found):
    return {row["name"]: row["energy_j"] for row in found["rows"]} | {"idle": found["idle"]["energy_j"]}


def close(wanted, found, relative=1e-6):
    same(sorted(wanted), sorted(found))
    for name, value in wanted.items():
        near(value, found[name], relative, name)


def test_files_in_any_order(folder):
    """300 W for the 2 s of a kernel."""
    folder.write("p.csv", power(T0, 10, lambda gpu, t: 300))
    folder.trace("t.json", event("k", 2, 2))
    folder.write("layers.csv", "layer_name,exec_id,start_time,end_time,duration_ms,start_power_w,end_power_w,avg_power_w,"
                 f"energy_j\nlayer,0,{T0 + 2},{T0 + 4},2000,1,1,1,1\n")
    for trace, name in (("t.json", "k"), ("layers.csv", "layer")):
        for words in ([trace, "p.csv"], ["p.csv", trace], ["--trace", trace, "p.csv"], [trace, "--telemetry", "p.csv"]):
            done = subprocess.run([PROGRAM, "attribute", "--format", "json", *words], cwd=folder.path, capture_output=True,
                                  text=True, env={"PATH": os.environ["PATH"], "TZ": "UTC"})
            near(600, joules(json.loads(done.stdout))[name], 1e-9, f"{words}: {done.stderr}")
    for words, missing in ((["p.csv"], "--trace is required"), (["t.json"], "--telemetry is required")):
        done = subprocess.run([PROGRAM, "attribute", *words], cwd=folder.path, capture_output=True, text=True)
        assert done.returncode == 2 and missing in done.stderr, done


def test_golden_traces(folder):
    goldens = {"benchmark_result": (98, 66203, 66141, 12920244, 1695835565, "microseconds since 1970"),
               "event_sync": (5, 51, 51, 263, 1707417520, "microseconds since 1970"),
               "triton_example": (1, 1.76, 1.76, 1.76, 1730156785, "microseconds since baseTimeNanoseconds")}
    for name, (events, total, union, span, start, base) in goldens.items():
        folder.write("p.csv", power(start, 30, lambda gpu, t: 100 + t))
        found = folder.json(trace=str(TRACES / f"{name}.json.gz"))
        same(events, found["event_count"], name)
        near(total / 1e6, found["event_sum_s"], what=name)
        near(union / 1e6, found["busy_s"], what=name)
        near(span / 1e6, found["span_s"], what=name)
        same([base], found["time_bases"])
        same("NVIDIA A100-PG509-200", found["gpus"][0]["model"])
        same(events, sum(row["calls"] for row in found["rows"]))
        # On a line through 100 W: the mean is that at the middle of the span.
        middle = found["start_unix"] + found["span_s"] / 2 - start
        near(100 + middle, found["mean_power_w"], 1e-6)


def test_events_at_once_share(folder):
    folder.write("p.csv", power(T0, 10, lambda gpu, t: 300))
    folder.trace("t.json", event("a", 1, 4), event("b", 3, 4, stream=8), event("copy", 9, 0.5, "gpu_memcpy"))
    found = folder.json()
    close({"a": 300 * 3, "b": 300 * 3, "copy": 300 * 0.5, "idle": 300 * 2}, joules(found))
    near(6.5, found["busy_s"], 1e-6)
    near(8.5, found["event_sum_s"], 1e-6)
    near(8.5, found["span_s"], 1e-6)
    whole = folder.json("--span", "recording")
    near(3000, whole["energy_j"])
    close({"a": 900, "b": 900, "copy": 150, "idle": 300 * 3.5}, joules(whole))


def test_ties_by_rounding_do_not_depend_on_the_order_of_events(folder):
    """Six kernels of three calls of 20 ms each at 400 W: 24 J each, whose sums differ in the last bit."""
    folder.write("p.csv", power(T0, 10, lambda gpu, t: 400))
    events = [event(f"k{i}", 0.1 + 0.37 * (i + 6 * call), 0.02) for i in range(6) for call in range(3)]
    for seed in range(20):
        random.Random(seed).shuffle(events)
        folder.trace("t.json", *events)
        for order in ("energy", "time", "power"):
            rows = folder.json("--top", 3, "--sort", order)["rows"]
            same(["k0", "k1", "k2", "(others)"], [row["name"] for row in rows])


def test_the_integral_of_a_ramp(folder):
    folder.write("p.csv", power(T0, 10, lambda gpu, t: 100 + 10 * t))
    folder.trace("t.json", event("a", 1, 2), event("b", 5, 1))
    close({"a": 2 * 120, "b": 155, "idle": 2 * 140}, joules(folder.json()))


def test_other_rows_and_order(folder):
    folder.write("p.csv", power(T0, 30, lambda gpu, t: 100))
    events = [event(f"k{i}", i, 0.1 * (i + 1)) for i in range(9)] + [event("z", 20, 0.9), event("m", 22, 0.9)]
    folder.trace("t.json", *events)
    found = folder.json("--top", 4)
    same(["k8", "m", "z", "k7", "(others)"], [row["name"] for row in found["rows"]])
    same(7, found["rows"][-1]["calls"])
    near(100 * 0.1 * sum(range(1, 8)), found["rows"][-1]["energy_j"], 1e-6)
    same(["k8", "m", "z"], [row["name"] for row in folder.json("--top", 3, "--sort", "time")["rows"][:3]])
    table = folder.call("--top", 1).out
    assert "(others)" in table and "(idle)" in table, table
    same(11, len(folder.json()["rows"]))


def test_rows_by_power(folder):
    folder.write("p.csv", power(T0, 10, lambda gpu, t: 100 if t < 5 else 400))
    folder.trace("t.json", event("long", 0, 4), event("hot", 6, 1))
    same(["hot", "long"], [row["name"] for row in folder.json("--sort", "power")["rows"]])
    same(["long", "hot"], [row["name"] for row in folder.json("--sort", "time")["rows"]])


def test_several_gpus(folder):
    folder.write("p.csv", power(T0, 10, lambda gpu, t: 100 * (gpu + 3), gpus=4))
    folder.trace("t.json", event("a", 1, 2), event("a", 2, 2, device=2))
    found = folder.json()
    close({"a": 600 + 1000, "idle": 300 + 500}, joules(found))
    same(["0", "2"], [gpu["gpu"] for gpu in found["gpus"]])
    near(400, found["mean_power_w"], 1e-6)
    close({"a": 1200 + 800, "idle": 600 + 400}, joules(folder.json("--gpus", "3,1")))
    assert "the devices with events are 2, and --gpus names 1" in folder.fault("--gpus", "3")


def test_a_process_that_saw_other_gpus(folder):
    # GPU 3 works at 500 W, the others idle at 60 W: device 0 of the trace need not be GPU 0.
    folder.write("p.csv", power(T0, 10, lambda gpu, t: 500 if gpu == 3 else 60, gpus=4))
    folder.trace("t.json", event("a", 1, 2))
    assert "only 3 worked while its events ran, so its device 0 need not be GPU 0" in folder.fault(), folder.fault()
    near(1000, folder.json("--gpus", "3")["energy_j"])
    folder.trace("t.json", event("a", 1, 2, device=3))
    near(1000, folder.json()["energy_j"])


def test_a_device_that_is_not_recorded(folder):
    folder.write("p.csv", power(T0, 10, lambda gpu, t: 100, gpus=2))
    folder.trace("t.json", event("a", 1, 2, device=5))
    same("aggregate-power: error: t.json: device 5 is not in the recording (0, 1): say with --gpus which GPUs "
         "the devices of the trace are, in their order\n", folder.fault())
    near(200, folder.json("--gpus", "1")["energy_j"])
    folder.write("p.csv", power(T0, 10, lambda gpu, t: 100))
    same("5", folder.json()["gpus"][0]["device"])


def test_several_ranks(folder):
    folder.write("p.csv", power(T0, 10, lambda gpu, t: 100 * (gpu + 1), gpus=2))
    folder.trace("t.json", event("a", 1, 2))
    folder.trace("u.json", event("a", 3, 2))
    assert "as another device is" in folder.fault("--trace", "u.json")
    found = folder.json("--trace", "u.json", "--gpus", "0,1")
    close({"a": 200 + 400, "idle": 200 + 400}, joules(found))
    near(4, found["span_s"])


def test_nested_ranges_are_not_counted_twice(folder):
    """GPUPP's example: 0.091 ms of kernels at 30.207 W are 2.749 mJ, not four times 0.16 J at 1775 W."""
    folder.write("p.csv", power(T0, 4, lambda gpu, t: 30.207))
    folder.trace("t.json", host("ProfilerStep#0", 1, 0.01), host("aten::linear", 1, 0.000085, category="cpu_op"),
                 host("aten::addmm", 1, 0.000085, category="cpu_op"), event("maxwell_sgemm_128x32_tn", 1.005, 0.000063),
                 event("elementwise", 1.006, 0.000028))
    found = folder.json()
    close({"maxwell_sgemm_128x32_tn": 30.207 * 63e-6, "elementwise": 30.207 * 28e-6,
           "idle": 30.207 * (1028 - 91) * 1e-6}, joules(found))
    near(0.002748837, sum(row["energy_j"] for row in found["rows"]))
    for row in found["rows"]:
        near(30.207, row["power_w"])


def test_annotations_that_overlap_end_in_the_order_in_which_they_began(folder):
    """100 W: the last to begin gets it, whichever ends first. a from 0 to 3 s, b from 1 to 4, c from 2 to 5."""
    folder.write("p.csv", power(T0, 10, lambda gpu, t: 100))
    kernels = [event("k", 0, 6, stream=9)]
    folder.trace("t.json", *kernels, *(event(name, at, 3, "gpu_user_annotation") for at, name in enumerate("abc")))
    close({"a": 100, "b": 100, "c": 300, "idle": 100}, joules(folder.json("--by", "annotation")))
    # 100,000 that are all open at once: each is found without a look at the others.
    many = [event("n", i * 1e-6, 0.12, "gpu_user_annotation") for i in range(100000)]
    folder.trace("t.json", *kernels, *many)
    begin = time.monotonic()
    found = folder.json("--by", "annotation")
    assert time.monotonic() - begin < 6
    near(100 * (0.12 + 99999e-6), joules(found)["n"], 1e-6)


def test_annotations_and_phases(folder):
    folder.write("p.csv", power(T0, 20, lambda gpu, t: 100))
    events = [event("k", 0, 18), host("prefill", 1, 4), host("attention", 2, 1), host("decode", 6, 10),
              host("attention", 7, 2)]
    folder.trace("t.json", *events)
    close({"prefill": 300, "attention": 300, "decode": 800, "idle": 400}, joules(folder.json("--by", "annotation")))
    found = folder.json("--by", "phase")
    close({"prefill": 400, "decode": 1000, "idle": 400}, joules(found))
    same([("decode", 1), ("prefill", 1)], [(row["name"], row["calls"]) for row in found["rows"]])
    # The GPU's own ranges are better than the host's.
    folder.trace("t.json", *events, event("prefill", 2, 5, "gpu_user_annotation"))
    close({"prefill": 500, "idle": 1300}, joules(folder.json("--by", "phase")))


def test_layers_of_a_trace(folder):
    folder.write("p.csv", power(T0, 20, lambda gpu, t: 100))
    folder.trace("t.json", event("k", 0, 18), host("nn.Module: Net_0", 1, 9, category="python_function"),
                 host("nn.Module: Linear_0", 2, 3, category="python_function"),
                 host("train.py(7): step", 1, 12, category="python_function"))
    close({"Net_0": 600, "Linear_0": 300, "idle": 900}, joules(folder.json("--by", "layer")))
    folder.trace("t.json", event("k", 0, 18))
    assert "it has no layer" in folder.fault("--by", "layer")
    assert "it has no annotation" in folder.fault("--by", "phase")


def test_layers_as_gpupp_published_them(folder):
    layers = TRACES / "layers.csv"
    folder.write("p.csv", power(1763508235, 10, lambda gpu, t: 30.207))
    folder.call("--format", "gpupp", trace=str(layers))
    wanted = list(csv.reader(io.StringIO(layers.read_text())))
    found = list(csv.reader(io.StringIO(folder.out)))
    same(wanted[0], found[0])
    same(4, len(found))
    for want, got in zip(wanted[1:], found[1:]):
        same(want[:2], got[:2])
        for a, b in zip(want[2:], got[2:]):
            near(float(a), float(b), 1e-12)
    folder.call("--format", "gpupp", "--top", "2", trace=str(layers))
    rows = list(csv.reader(io.StringIO(folder.out)))
    same(["layer_name", "exec_id", "avg_power_w", "duration_ms", "energy_j"], rows[0])
    same([["0", "0"], ["2", "2"]], [row[:2] for row in rows[1:]])
    found = folder.json(trace=str(layers))
    same(("layer", "nothing"), (found["by"], found["measured"]))


def test_kernels_in_gpupps_columns(folder):
    folder.write("p.csv", power(T0, 10, lambda gpu, t: 100))
    folder.trace("t.json", event("b, \"x\"", 1, 2), event("a", 4, 1), event("a", 6, 3))
    rows = list(csv.reader(io.StringIO(folder.call("--format", "gpupp").out)))
    same(["kernel_name", "exec_id", "duration_ms", "avg_power_w", "energy_j"], rows[0])
    same([["b, \"x\"", "0"], ["a", "1"], ["a", "2"]], [row[:2] for row in rows[1:]])
    for row, wanted in zip(rows[1:], ((2000, 100, 200), (1000, 100, 100), (3000, 100, 300))):
        for value, want in zip(row[2:], wanted):
            near(want, float(value), 1e-6)
    rows = list(csv.reader(io.StringIO(folder.call("--format", "gpupp", "--top", 1).out)))
    same(["kernel_name", "total_duration_ms", "avg_power_w", "total_energy_j"], rows[0])
    same(["a"], [row[0] for row in rows[1:]])


def test_what_the_sensor_resolves(folder):
    """A new value each 0.1 s in samples of 10 ms: 0.05 s is not resolved, 0.5 s is."""
    folder.write("p.csv", power(T0, 10, lambda gpu, t: 100 + round(t * 100 + 1e-6) // 10 % 7, step=0.01))
    folder.trace("t.json", event("long", 1, 0.5), event("short", 2, 0.05), event("short", 3, 0.05))
    found = folder.json()
    near(0.1, found["sensor_period_s"], 1e-3)
    same((2, "sum"), (found["unresolved_events"], found["measured"]))
    same({"long": 0, "short": 2}, {row["name"]: row["unresolved_calls"] for row in found["rows"]})
    table = folder.call().out
    assert "2 of 3 intervals are shorter (*); only the" in table, table
    folder.trace("t.json", event("long", 1, 0.5))
    same("rows", folder.json()["measured"])
    folder.trace("t.json", event("short", 1, 0.05))
    same("nothing", folder.json()["measured"])


def test_a_trace_outside_of_the_recording(folder):
    folder.write("p.csv", power(T0 + 100, 10, lambda gpu, t: 100))
    folder.trace("t.json", event("a", 1, 2))
    same("aggregate-power: error: t.json: its events are from 1800000001.000 (2027-01-15T08:00:01.000Z) to "
         "1800000003.000 (2027-01-15T08:00:03.000Z), but GPU 0 was recorded from 1800000100.000 "
         "(2027-01-15T08:01:40.000Z) to 1800000110.000 (2027-01-15T08:01:50.000Z)\n", folder.fault())
    assert "but GPU 0 was recorded" in folder.fault("--span", "recording")
    same(1, folder.status)


def test_a_recording_in_another_zone(folder):
    rows = "".join(f"2027/01/15 10:00:{second:02d}.000,0,100\n" for second in range(20))
    folder.write("p.csv", "timestamp,index,power.draw [W]\n" + rows)
    folder.trace("t.json", event("a", 1, 2))
    error = folder.fault()
    assert "the recording would cover the window if its timestamps were in +02:00: pass --timezone +02:00" in error, error
    near(200, folder.json("--timezone", "+02:00")["energy_j"])


def test_a_trace_partly_in_the_recording(folder):
    folder.write("p.csv", power(T0, 10, lambda gpu, t: 100))
    folder.trace("t.json", event("a", 8, 4), event("b", 20, 1))
    assert folder.fault().endswith("; --span recording counts what was recorded of them\n")
    found = folder.json("--span", "recording")
    close({"a": 200, "idle": 800}, joules(found))
    assert any("1 intervals are outside of the span" in warning for warning in found["warnings"]), found["warnings"]


def test_a_gap_in_the_recording(folder):
    rows = power(T0, 20, lambda gpu, t: 100).splitlines(keepends=True)
    folder.write("p.csv", "".join(rows[:5] + rows[10:]))
    folder.trace("t.json", event("a", 1, 18))
    assert "GPU 0 has no sample for 6.000 s from 1800000003.000" in folder.fault(), folder.err
    near(1800, folder.json("--max-sample-gap", "6")["energy_j"])
    folder.trace("t.json", event("a", 10, 5))
    near(500, folder.json()["energy_j"])


def test_a_row_whose_power_is_none(folder):
    folder.trace("t.json", event("k", 4, 2))
    for cell in ("-50", "N/A", "1e308"):
        rows = [f"{T0 + at},0,{cell if at == 5 else 100}" for at in range(10)]
        folder.write("p.csv", "timestamp,gpu,power_w\n" + "\n".join(rows) + "\n")
        assert "GPU 0: invalid_power_sample: a row states no power, or an impossible one, at " in folder.fault(), cell


def test_an_impossible_power(folder):
    folder.write("p.csv", power(T0, 10, lambda gpu, t: 300_000))
    folder.trace("t.json", event("a", 1, 2))
    assert "implausible_power" in folder.fault()


def test_a_reading_that_no_sensor_can_have_is_told(folder):
    folder.trace("t.json", event("k", 4, 2), event("k", 4, 2, device=1))
    text = "p.csv: implausible_readings: GPU 1 reads 2999 W at {}.000 ({}), more than almost any draws; the energy includes it"
    for at, told in ((5, True), (8, False)):
        folder.write("p.csv", power(T0, 10, lambda gpu, t: 2999 if (gpu, t) == (1, at) else 100, gpus=2))
        stamp = datetime.datetime.fromtimestamp(T0 + at, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        same([text.format(T0 + at, stamp)] if told else [], folder.json()["warnings"])
    folder.write("p.csv", power(T0, 10, lambda gpu, t: 9999 if (gpu, t) == (1, 5) else 100, gpus=2))
    assert "GPU 1: implausible_power: a" in folder.call().err, folder.err


def test_iterations_and_warm_up(folder):
    folder.write("p.csv", power(T0, 20, lambda gpu, t: 100))
    folder.trace("t.json", event("k", 0, 12), *[host(f"ProfilerStep#{5 + i}", 4 * i, 4 - i) for i in range(3)])
    found = folder.json("--warm-up", 1)
    same([(5, True), (6, False), (7, False)], [(i["iteration"], i["is_warm_up"]) for i in found["iterations"]])
    for iteration, seconds in zip(found["iterations"], (4, 3, 2)):
        near(100 * seconds, iteration["energy_j"])
        near(100, iteration["mean_power_w"])
    table = folder.call("--warm-up", 1).out
    assert "warm-up    1 iteration, each 4 s, 400 J, 100.00 W\n" in table, table
    assert "measured   2 iterations, each 2.5 s, 250 J, 100.00 W\n" in table, table


def test_compressed_traces(folder):
    folder.write("p.csv", power(T0, 10, lambda gpu, t: 100))
    text = (folder.path / folder.trace("t.json", event("a", 1, 2), event("b", 4, 2))).read_bytes()
    plain = folder.json()
    folder.write("t.json.gz", gzip.compress(text))
    packed = folder.json(trace="t.json.gz")
    same(plain["rows"], packed["rows"])
    folder.write("t.json.gz", gzip.compress(text)[:-12])
    folder.fault(trace="t.json.gz")
    folder.write("t.json.gz", gzip.compress(text)[:40] + b"\xff" * 20 + gzip.compress(text)[60:])
    folder.fault(trace="t.json.gz")


def test_damaged_traces(folder):
    folder.write("p.csv", power(T0, 10, lambda gpu, t: 100))
    text = (folder.path / folder.trace("t.json", event("a", 1, 2), host("x", 1, 1))).read_bytes()
    for end in range(0, len(text), 7):
        folder.write("t.json", text[:end])
        error = folder.fault()
        assert error.startswith("aggregate-power: error: t.json:"), error
    for at in range(0, len(text), 29):  # whatever it gives, it ends, and what it prints sums up
        folder.write("t.json", text[:at] + b"9" + text[at + 1:])
        folder.call("--format", "json")
        if folder.status == 0:
            check_sums(json.loads(folder.out))
    same(2, folder.call(trace="missing.json").status)


def test_traces_that_cannot_be_used(folder):
    folder.write("p.csv", power(T0, 10, lambda gpu, t: 100))
    folder.trace("t.json", host("aten::mm", 1, 2, category="cpu_op"))
    assert "it has no event of a GPU" in folder.fault()
    assert "a profile of kernels has no times" in folder.fault(trace=str(TRACES / "kernels.csv"))
    assert "a CSV of layers gives only --by layer" in folder.fault("--by", "kernel", trace=str(TRACES / "layers.csv"))
    folder.trace("t.json", event("a", 1, 0))
    assert "its events have no duration" in folder.fault()


def begins_and_ends(name, start, duration, category="kernel"):
    whole = event(name, start, duration, category)
    del whole["dur"]
    return {**whole, "ph": "B"}, {**whole, "ph": "E", "ts": whole["ts"] + round(duration * 1e6)}


def test_pairs_of_events_are_told(folder):
    folder.write("p.csv", power(T0, 10, lambda gpu, t: 100))
    pairs = [*begins_and_ends("a", 1, 2), *begins_and_ends("b", 4, 2), *begins_and_ends("c", 4, 2, "cpu_op")]
    folder.trace("t.json", *pairs)
    assert "its 2 events of GPUs are pairs of a beginning and an end" in folder.fault(), folder.err
    folder.trace("t.json", *pairs, event("d", 1, 2))
    close({"d": 200, "idle": 0}, joules(folder.json()))
    assert "warning: t.json: 2 events of GPUs are pairs of a beginning and an end" in folder.call().err, folder.err


def test_events_without_a_name(folder):
    folder.write("p.csv", power(T0, 10, lambda gpu, t: 100))
    unnamed = event("", 6, 1)
    del unnamed["name"]
    folder.trace("t.json", event("a", 1, 2), event("", 4, 1), unnamed, event("k" * 6000, 8, 1))
    close({"a": 200, "(no name)": 200, "(a name of more than 5000 bytes)": 100, "idle": 300}, joules(folder.json()))


def test_layers_and_several_gpus(folder):
    layers = str(TRACES / "layers.csv")
    folder.write("p.csv", power(1763508235, 10, lambda gpu, t: 30.207, gpus=3))
    same(f"aggregate-power: error: {layers}: its layers do not say on which GPU they ran, and 3 GPUs were recorded "
         "(0, 1, 2): name those that count with --gpus\n", folder.fault(trace=layers))
    one = folder.json("--gpus", "1", trace=layers)
    same(3, sum(row["calls"] for row in one["rows"]))
    both = folder.json("--gpus", "0,2", trace=layers)
    same((6, ["0", "2"]), (sum(row["calls"] for row in both["rows"]), [gpu["gpu"] for gpu in both["gpus"]]))
    near(2 * one["energy_j"], both["energy_j"])
    rows = folder.call("--gpus", "0,2", "--format", "gpupp", trace=layers).out.splitlines()
    same(7, len(rows))


def test_two_attributions(folder):
    folder.write("p.csv", power(T0, 20, lambda gpu, t: 100))
    folder.trace("t.json", event("gemm", 0, 8), event("copy", 9, 1), event("old", 12, 1))
    folder.json()
    folder.write("before.json", folder.out)
    folder.trace("t.json", event("gemm", 0, 3), event("copy", 4, 1.5), event("new", 6, 1))
    folder.call("--with", "before.json", "--format", "json")
    found = json.loads(folder.out)["changes"]
    same(["gemm", "(idle)", "new", "old", "copy"], [change["name"] for change in found])
    for change, wanted in zip(found, (-500, -150, 100, -100, 50)):
        near(wanted, change["change_j"], 1e-6)
    same((True, False), (found[2]["in_this"], found[2]["in_other"]))
    table = folder.call("--with", "before.json", "--top", 2).out.splitlines()
    same(["gemm", "(idle)", "(others)", "(all)"], [line.split("  ")[-1] for line in table[1:]])
    rows = list(csv.reader(io.StringIO(folder.call("--with", "before.json", "--format", "csv").out)))
    same(["name", "change_j", "other_energy_j", "energy_j", "other_time_s", "time_s"], rows[0])
    same(6, len(rows))
    folder.write("before.json", "{}")
    assert "it is not what 'attribute --format json' writes" in folder.fault("--with", "before.json")
    folder.json("--top", 1)
    folder.write("before.json", folder.out)
    assert "write it without --top" in folder.fault("--with", "before.json")


def test_csv_sums_up(folder):
    folder.write("p.csv", power(T0, 10, lambda gpu, t: 100 + t))
    folder.trace("t.json", event("a", 1, 4), event("b", 3, 4, stream=8))
    rows = list(csv.DictReader(io.StringIO(folder.call("--format", "csv", "--top", 1).out)))
    same(["b", "(others)", "(idle)"], [row["name"] for row in rows])
    near(6 * 104, sum(float(row["energy_j"]) for row in rows))


def test_rows_have_intervals_or_say_why_not(folder):
    # 120 W, and 520 W from 10 to 40 s, seen as the mean of a second that ended 65 ms before the stamp.
    start = 1_788_852_000
    lines = ["timestamp, index, name, power.draw [W]"]
    for tenth in range(600):
        at = tenth / 10 + 0.03
        share = max(0, min(at - 0.065, 40) - max(at - 1.065, 10))
        watts = 120 + 400 * share + (tenth % 7 - 3) / 10
        lines.append(f"{start + at:.2f}, 0, NVIDIA H100 80GB HBM3, {watts:.2f} W")
    folder.write("step.csv", "\n".join(lines) + "\n")
    layers = {"rise": (9, 11), "load": (12, 30), "short": (41, 41.5)}
    folder.write(
        "step_layers.csv",
        "layer_name,exec_id,start_time,end_time,duration_ms,start_power_w,end_power_w,avg_power_w,energy_j\n" +
        "".join(f"{name},0,{start + a},{start + b},{1000 * (b - a)},1,1,1,1\n" for name, (a, b) in layers.items()))
    words = [PROGRAM, "attribute", "--telemetry", "step.csv", "--trace", "step_layers.csv", "--timezone", "UTC",
             "--uncertainty", "--format", "json"]
    done = subprocess.run(words, cwd=folder.path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in json.loads(done.stdout)["rows"]}
    for name, truth in (("rise", 120 + 520), ("load", 18 * 520)):
        assert rows[name]["energy_j_low"] < truth < rows[name]["energy_j_high"], rows[name]
        assert rows[name]["no_interval"] is None, rows[name]
    assert rows["short"]["energy_j_low"] is None, rows["short"]
    assert rows["short"]["no_interval"] == "shorter_than_sensor_window", rows["short"]


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
