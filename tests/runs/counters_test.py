#!/usr/bin/env python3
"""Energy counters in recordings: each GPU of a window by its best source, and the check of a run.

Expected values are sums by hand, or differences of a recording's own counter.

usage: tests/runs/counters_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import csv
import io
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import running  # noqa: E402
from running import ROOT, load_result, near, run_tests, same  # noqa: E402

READ = ROOT / "testdata" / "telemetry"
START = 1777118400  # 2026-04-25T12:00:00Z
UUIDS = ["GPU-265c9814-6156-355b-e589-ff2064894f16", "GPU-2d20791a-b4a6-ba59-97f1-e95b99fe5b49"]
# A second apart for a minute. The power is steady, so each counter is its exact integral.
TIMES = range(61)
WATTS = [100, 300]
BASE_J = 5_000_000


class Folder(running.Folder):
    def windows(self, telemetry, windows="begin w +10\nend w +50\n", *more, **options):
        """The GPUs of the first window, by name."""
        self.write("w.txt", windows)
        self.call("windows", "--telemetry", telemetry, "--windows", "w.txt", "--json", "--timezone", "UTC", *more)
        assert self.out.startswith("{"), self.err
        self.report = json.loads(self.out)
        return {gpu["gpu"]: gpu for gpu in self.report["windows"][options.get("number", 0)]["gpus"]}

    def record(self, telemetry, start, end, *words, gpus=2):
        self.write("run.json", load_result(start, end))
        self.write("agg_run.json", "{}")
        self.call("--csv", telemetry, "--bench-result", "run.json", "--agg-result", "agg_run.json",
                  "--expected-num-gpus", gpus, "--timezone", "UTC", "--validation-result", "record.json", *words)
        return self.json("record.json")


def table(columns, row):
    """A CSV with a row for each second and GPU."""
    lines = [columns]
    for at in TIMES:
        lines += [",".join(map(str, row(at, gpu))) for gpu in (0, 1)]
    return "\n".join(lines) + "\n"


def joules(at, gpu):
    return BASE_J + WATTS[gpu] * at


def plain(unit="energy_mj", scale=1000, counter=joules, watts=lambda at, gpu: WATTS[gpu]):
    def row(at, gpu):
        count = counter(at, gpu)
        return START + at, gpu, watts(at, gpu), "N/A" if count is None else repr(count * scale)
    return table(f"timestamp,gpu,power_w,{unit}", row)


def is_by_counter(folder, file, what, names=("0", "1"), *more):
    gpus = folder.windows(file, "begin w +10\nend w +50\n", *more)
    same(sorted(names), sorted(gpus), what)
    for gpu, name in enumerate(names):
        same("counter", gpus[name]["source"], f"{what}: {folder.err} {gpus[name]}")
        near(40 * WATTS[gpu], gpus[name]["energy_j"], 1e-6, what)
        near(40 * WATTS[gpu], gpus[name]["power_energy_j"], 1e-6, what)
        near(1, gpus[name]["counter_to_power"], 1e-6, what)
    same("", folder.err, what)


# ---- Formats

def test_units_of_csv_columns(folder):
    for unit, scale in (("energy_mj", 1000), ("total_energy_consumption [mJ]", 1000), ("energy_j", 1),
                        ("gpu_energy_consumption (kJ)", 1e-3), ("energy [MJ]", 1e-6), ("energy_uj", 1e6)):
        is_by_counter(folder, folder.write("p.csv", plain(unit, scale)), unit)


def test_unknown_units_are_not_guessed(folder):
    for unit in ("energy", "ENERGY_MJ", "total_energy_consumption", "cpu_energy_j"):
        gpus = folder.windows(folder.write("p.csv", plain(unit)))
        same({"power"}, {gpu["source"] for gpu in gpus.values()}, unit)
        assert "counter_energy_j" not in gpus["0"], unit


def test_a_counter_of_an_unknown_unit_is_compared(folder):
    # The power shows which unit fits; what is left is a difference of the two.
    names = ("energy_counter", "energy_accumulator", "total_energy_consumption", "energy_consumed", "Total Energy")
    for name, scale in [(name, 1000) for name in names] + [
            ("energy_counter", scale) for scale in (1, 1e6, 65536, 1 / 3600, 1 / 3.6e6)]:
        record = folder.record(folder.write("p.csv", plain(name, scale)), START + 10, START + 50)
        same([True, []], [record["power_valid"], record["reasons"]], f"{name} {scale} {folder.err}")
        near(1, record["counter_check"]["per_gpu"]["0"]["ratio"], 1e-6, f"{name} {scale}")
        for factor in (0.5, 0.8, 1.25, 2):
            wrong = plain(name, scale, watts=lambda at, gpu: WATTS[gpu] * factor)
            record = folder.record(folder.write("p.csv", wrong), START + 10, START + 50)
            same([["counter_contradicts"], {}], [record["reasons"], record["metrics"]], f"{name} {scale} {factor}")
            near(1 / factor, record["counter_check"]["per_gpu"]["0"]["ratio"], 1e-6)
            gpus = folder.windows("p.csv")
            same({"counter_contradicts"}, {gpu["reason"] for gpu in gpus.values()}, f"{name} {scale} {factor}")


def test_a_count_that_is_no_energy_of_the_gpu_is_not_compared(folder):
    # Counts that no unit makes its energy: a hundredth of a joule, eight GPUs and more, a sum that begins again.
    for counter in (lambda at, gpu: 100 * joules(at, gpu), lambda at, gpu: 13 * joules(at, gpu),
                    lambda at, gpu: WATTS[gpu] * (1 + at % 3), lambda at, gpu: 5):
        record = folder.record(folder.write("p.csv", plain("energy_counter", 1, counter)), START + 10, START + 50)
        same([True, []], [record["power_valid"], record["reasons"]], folder.err)
        same({"power"}, {gpu["source"] for gpu in folder.windows("p.csv").values()})


def test_csvs_of_known_recorders(folder):
    xpu = table("Timestamp, DeviceId, GPU Power (W), GPU Energy Consumed (J)",
                lambda at, gpu: (START + at, f"   {gpu}", WATTS[gpu], f" {joules(at, gpu):.2f}"))
    is_by_counter(folder, folder.write("p.csv", xpu), "xpu-smi 1")
    wide = table("timestamp,gpu,UUID,DCGM_FI_DEV_POWER_USAGE,DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
                 lambda at, gpu: (START + at, gpu, UUIDS[gpu], WATTS[gpu], joules(at, gpu) * 1000))
    is_by_counter(folder, folder.write("p.csv", wide), "dcgm-wide", UUIDS)
    amd = table("timestamp,gpu,socket_power,total_energy_consumption",
                lambda at, gpu: (START + at, gpu, WATTS[gpu], joules(at, gpu)))
    is_by_counter(folder, folder.write("p.csv", amd), "amd-smi")
    # 15.259 uJ: a count of 100 J is 6553509.4...
    accumulator = table("timestamp,gpu,socket_power,energy_accumulator,counter_resolution",
                        lambda at, gpu: (START + at, gpu, WATTS[gpu], repr(joules(at, gpu) / 15.259e-6), 15.259))
    is_by_counter(folder, folder.write("p.csv", accumulator), "accumulator")
    rocm = table("timestamp,device,Average Graphics Package Power (W),Energy counter,Accumulated Energy (uJ)",
                 lambda at, gpu: (START + at, f"card{gpu}", WATTS[gpu], 1, joules(at, gpu) * 1e6))
    is_by_counter(folder, folder.write("p.csv", rocm), "rocm-smi", ["card0", "card1"])


def test_long_csv(folder):
    lines = ["timestamp,metric_name,gpu_id,uuid,value"]
    for at in TIMES:
        for gpu in (0, 1):
            lines += [f"{START + at},DCGM_FI_DEV_POWER_USAGE,{gpu},{UUIDS[gpu]},{WATTS[gpu]}",
                      f"{START + at},DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION,{gpu},{UUIDS[gpu]},{joules(at, gpu) * 1000}",
                      f"{START + at},DCGM_FI_DEV_GPU_TEMP,{gpu},{UUIDS[gpu]},50"]
    file = folder.write("long.csv", "\n".join(lines) + "\n")
    is_by_counter(folder, file, "dcgm-long", UUIDS)
    same("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
         json.loads(folder.call("inspect", file, "--json").out)["counter_column"])


def scrapes(instances=(None,)):
    text = ""
    for at in TIMES:
        text += f"# {START + at}\n"
        for name, values in (("DCGM_FI_DEV_POWER_USAGE", WATTS),
                             ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", [joules(at, gpu) * 1000 for gpu in (0, 1)])):
            text += f"# TYPE {name} gauge\n"
            for gpu in (0, 1):
                for instance in instances:
                    mig = f',GPU_I_ID="{instance}"' if instance else ""
                    text += f'{name}{{gpu="{gpu}",UUID="{UUIDS[gpu]}"{mig}}} {values[gpu]}\n'
    return text


def test_scrapes(folder):
    is_by_counter(folder, folder.write("s.txt", scrapes()), "scrapes", UUIDS)


def test_instances_of_a_gpu_count_once(folder):
    is_by_counter(folder, folder.write("s.txt", scrapes(instances=("3", "4", "5"))), "MIG", UUIDS)


def test_prometheus(folder):
    def series(name, value):
        return [{"metric": {"__name__": name, "UUID": UUIDS[gpu]},
                 "values": [[START + at, str(value(at, gpu))] for at in TIMES]} for gpu in (0, 1)]
    result = (series("DCGM_FI_DEV_POWER_USAGE", lambda at, gpu: WATTS[gpu]) +
              series("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", lambda at, gpu: joules(at, gpu) * 1000))
    matrix = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})
    is_by_counter(folder, folder.write("m.json", matrix), "matrix", UUIDS)
    lines = ""
    for each in result:
        lines += json.dumps({"metric": each["metric"], "values": [float(value) for _, value in each["values"]],
                             "timestamps": [at * 1000 for at, _ in each["values"]]}, separators=(",", ":")) + "\n"
    is_by_counter(folder, folder.write("v.jsonl", lines), "victoria", UUIDS)


def test_grafana_wide(folder):
    names = [f'DCGM_FI_DEV_{what}{{UUID=""{uuid}""}}' for what in ("POWER_USAGE", "TOTAL_ENERGY_CONSUMPTION")
             for uuid in UUIDS]
    lines = ["Time," + ",".join(f'"{name}"' for name in names)]
    for at in TIMES:
        values = WATTS + [joules(at, gpu) * 1000 for gpu in (0, 1)]
        lines.append(f"{(START + at) * 1000}," + ",".join(map(str, values)))
    is_by_counter(folder, folder.write("g.csv", "\n".join(lines) + "\n"), "grafana-wide", UUIDS)


def test_dcgmi_dmon(folder):
    lines = []
    for at in TIMES:
        lines += [f"{START + at} #Entity   POWER     TOTEC", f"{START + at} ID        W         mJ"]
        lines += [f"{START + at} GPU {gpu}     {WATTS[gpu]}.000   {joules(at, gpu) * 1000}" for gpu in (0, 1)]
        lines.append(f"{START + at} GPU-I 3   77.000    1")
    is_by_counter(folder, folder.write("d.log", "\n".join(lines) + "\n"), "dcgmi")


def test_aiperf(folder):
    for key, power in (("energy_consumption", "gpu_power_usage"), ("nvidia_energy_consumption", "nvidia_power_usage")):
        lines = [json.dumps({"timestamp_ns": (START + at) * 10**9, "dcgm_url": "http://a", "gpu_index": gpu,
                             "gpu_uuid": UUIDS[gpu], "hostname": "a",
                             "telemetry_data": {power: WATTS[gpu], key: joules(at, gpu) / 1e6}},
                            separators=(",", ":")) for at in TIMES for gpu in (0, 1)]
        is_by_counter(folder, folder.write("a.jsonl", "\n".join(lines) + "\n"), key, UUIDS)


def test_a_format_without_a_counter_stays_as_it_was(folder):
    lines = [json.dumps({"schema": 1, "header": True, "interval_ms": 1000, "hosts": ["a"], "all_smi_version": "0.22.0"})]
    for at in TIMES:
        lines.append(json.dumps({"schema": 1, "timestamp": f"2026-04-25T12:{at // 60:02}:{at % 60:02}Z",
                                 "gpus": [{"uuid": UUIDS[0], "power_consumption": 100.0}]}))
    gpu = folder.windows(folder.write("a.jsonl", "\n".join(lines) + "\n"))[UUIDS[0]]
    same(["gpu", "source", "energy_j", "mean_power_w", "peak_power_w", "share", "own_energy_j", "reason"], list(gpu))


# ---- Windows

def test_the_counter_equals_the_power_at_readings(folder):
    """The counter is the trapezoid of a power that is not steady: any window between two readings has one
    energy, whichever source it is from."""
    watts = lambda at, gpu: 100 + 37 * (at * at % 11) + 50 * gpu  # noqa: E731
    count = {gpu: [0.0] for gpu in (0, 1)}
    for gpu in (0, 1):
        for at in TIMES[1:]:
            count[gpu].append(count[gpu][-1] + (watts(at - 1, gpu) + watts(at, gpu)) / 2)
    file = folder.write("p.csv", plain("energy_j", 1, lambda at, gpu: count[gpu][at], watts))
    for start, end in ((0, 60), (3, 13), (20, 55)):
        gpus = folder.windows(file, f"begin w {START + start}\nend w {START + end}\n")
        for gpu in (0, 1):
            same("counter", gpus[str(gpu)]["source"])
            near(count[gpu][end] - count[gpu][start], gpus[str(gpu)]["energy_j"])
            near(gpus[str(gpu)]["power_energy_j"], gpus[str(gpu)]["energy_j"])


def test_a_gpu_without_a_counter_is_measured_by_its_power(folder):
    file = folder.write("p.csv", plain(counter=lambda at, gpu: joules(at, gpu) if gpu == 0 else None))
    gpus = folder.windows(file)
    same(["counter", "power"], [gpus["0"]["source"], gpus["1"]["source"]])
    same([4000, 12000], [round(gpus[gpu]["energy_j"], 6) for gpu in "01"])
    same(0, folder.status)
    folder.call("windows", "--telemetry", file, "--windows", "w.txt")
    same(["share %", "source"], [folder.out.splitlines()[0][-14:-7], folder.out.splitlines()[0][-6:]])
    same(["all", "counter", "power"], [folder.out.splitlines()[1].split()[1],
                                       *(line.split()[-1] for line in folder.out.splitlines()[2:])])


def test_a_gpu_with_a_counter_only(folder):
    def row(at, gpu):
        return START + at, gpu, "N/A" if gpu else 100, joules(at, gpu) * 1000
    gpus = folder.windows(folder.write("p.csv", table("timestamp,gpu,power_w,energy_mj", row)))
    same("counter", gpus["1"]["source"])
    near(12000, gpus["1"]["energy_j"])
    same([None, None], [gpus["1"]["peak_power_w"], gpus["1"]["power_energy_j"]])
    file = folder.write("e.csv", table("timestamp,gpu,energy_mj", lambda at, gpu: (START + at, gpu, joules(at, gpu) * 1000)))
    gpus = folder.windows(file)
    same([4000, 12000], [round(gpus[gpu]["energy_j"], 6) for gpu in "01"])
    same(0, folder.status)
    folder.call("windows", "--telemetry", file, "--windows", "w.txt")
    same("counter", folder.out.splitlines()[2].split()[-1])


def varied(*columns):
    """Counters alone, in mJ, of GPUs with these watts in each second."""
    rows = [f"{START + at},{gpu},{1000 * sum(watts(second) for second in range(at + 1))}"
            for at in TIMES for gpu, watts in columns]
    return "\n".join(["timestamp,gpu,energy_mj", *rows]) + "\n"


def test_counters_of_one_gpu_count_once(folder):
    first, other = lambda at: 200 + at * 37 % 101, lambda at: 250 + at * 53 % 97  # noqa: E731
    first_j, other_j = (sum(watts(at) for at in range(11, 51)) for watts in (first, other))
    both = folder.write("p.csv", varied((0, first), (1, other)))
    near(first_j + other_j, sum(gpu["energy_j"] for gpu in folder.windows(both).values()))
    twice = folder.write("p.csv", varied((0, first), (100, first), (1, other)))
    folder.call("windows", "--telemetry", twice, "--windows", "w.txt")
    assert folder.status and "same_sensor (the readings of GPUs 0, 100 are the same at all times" in folder.err, folder.err
    assert "--gpus 0,1 keeps one of each" in folder.err, folder.err
    near(first_j + other_j, sum(gpu["energy_j"] for gpu in folder.windows(twice, "begin w +10\nend w +50\n", "--gpus", "0,1").values()))
    near(2 * first_j + other_j, sum(gpu["energy_j"] for gpu in folder.windows(
        twice, "begin w +10\nend w +50\n", "--accept", "same_sensor").values()))
    # A die that started to count later; the sum of others; the same GPU in two files.
    later = varied((0, first), (1, other)) + "".join(
        f"{START + at},100,{1000 * (7 + sum(first(second) for second in range(at + 1)))}\n" for at in TIMES)
    total = varied((0, first), (1, other), (2, lambda at: first(at) + other(at)))
    for text, part in ((later, "GPUs 0, 100 are the same"), (total, "GPU 2 is the sum of 2 other GPUs")):
        folder.call("windows", "--telemetry", folder.write("p.csv", text), "--windows", "w.txt")
        assert folder.status and part in folder.err, folder.err


def test_a_counter_alone_is_as_plausible_as_power(folder):
    # Joules where millijoules belong: 0.65 W.
    def text(name):
        return table("timestamp,name,gpu,energy_mj", lambda at, gpu: (
            START + at, name, gpu, 650 * (at + 10 * gpu) / 1000))
    folder.windows(folder.write("p.csv", text("")))
    same(2, folder.err.count("implausible_watts: a mean of 0.00065 W per GPU"), folder.err)
    gpus = folder.windows(folder.write("p.csv", text("NVIDIA H100 80GB HBM3")))
    same((1, None), (folder.status, gpus["0"]["energy_j"]))
    assert "implausible_power: its energy counter says 0.00065 W" in gpus["0"]["reason"], gpus


def test_short_windows_are_measured_by_power(folder):
    file = folder.write("p.csv", plain())
    gpu = folder.windows(file, "begin w +10\nend w +19.5\n")["0"]
    same("power", gpu["source"])
    same("the window has 9 steps of its energy counter, at least 10 are needed", gpu["counter_reason"])
    near(950, gpu["energy_j"])
    same("counter", folder.windows(file, "begin w +10\nend w +20\n")["0"]["source"])


def test_a_gap_inside_the_window_is_counted(folder):
    text = "".join(line + "\n" for line in plain().splitlines()
                   if not START + 20 < int(line.split(",")[0].replace("timestamp", "0")) < START + 30)
    file = folder.write("p.csv", text)
    gpu = folder.windows(file)["0"]
    same(("counter", None, None), (gpu["source"], gpu["power_energy_j"], gpu["reason"]))
    near(4000, gpu["energy_j"])
    same(None, gpu["peak_power_w"])
    gpu = folder.windows(file, "begin w +10\nend w +25\n")["0"]
    same("10.000 s between two readings, at most 3 s; "
         "10.000 s between the readings of its energy counter at the window's edge", gpu["reason"])
    same(1, folder.status)


def test_a_counter_that_disagrees_is_noted(folder):
    file = folder.write("p.csv", plain(counter=lambda at, gpu: BASE_J + at * (WATTS[gpu] if gpu else 80)))
    gpus = folder.windows(file, "begin a +10\nend a +50\nbegin b +20\nend b +40\n")
    near(0.8, gpus["0"]["counter_to_power"])
    near(3200, gpus["0"]["energy_j"])
    same(1, folder.err.count("note:"), folder.err)
    assert "note: GPU 0: in window a its energy counter says 3200.000 J, its power 4000.000 J; the counter is used" \
        in folder.err, folder.err


def test_a_counter_above_the_highest_power_is_of_something_else(folder):
    # That of a GH200 is its module's: 150 W, while the GPU never draws more than 100 W.
    wrong = lambda at, gpu: BASE_J + at * (WATTS[gpu] if gpu else 150)  # noqa: E731
    named = table("timestamp,name,gpu,power_w,energy_mj", lambda at, gpu: (
        START + at, "NVIDIA GH200 480GB", gpu, WATTS[gpu], wrong(at, gpu) * 1000))
    gpus = folder.windows(folder.write("p.csv", named))
    same(["power", "counter"], [gpus[gpu]["source"] for gpu in "01"])
    near(4000, gpus["0"]["energy_j"])
    same("its energy counter says 150.00 W, more than its highest power: it may be of a whole module",
         gpus["0"]["counter_reason"])
    # Of another GPU it is not: one of the two is wrong.
    gpus = folder.windows(folder.write("p.csv", plain(counter=wrong)))
    same([None, "counter"], [gpus["0"]["energy_j"], gpus["1"]["source"]])
    assert gpus["0"]["reason"].startswith("counter_contradicts; its energy counter says 150.00 W"), gpus["0"]


def test_counters_that_are_labelled_otherwise_are_no_other_gpus(folder):
    lines = [f"# {START + at}\nnvidia_gpu_power_usage_watts{{minor_number=\"{gpu}\"}} 300\n"
             f"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{UUID=\"{UUIDS[gpu]}\"}} {10**6 + 300000 * at + gpu}\n"
             for at in TIMES for gpu in (0, 1)]
    gpus = folder.windows(folder.write("mixed.txt", "".join(lines)))
    same(["0", "1"], sorted(gpus))
    near(24000, folder.report["windows"][0]["energy_j"])
    assert "an energy counter is not used: its power names no GPU" in folder.err, folder.err


def test_one_wrong_reading_of_a_counter(folder):
    # 300 W; one 0 among 5000 J and more.
    for wrong in (0, 10**9):
        rows = [f"{START + at},0,300,{wrong if at == 15 else 5000000 + 300000 * at}" for at in range(61)]
        gpu = folder.windows(folder.write("p.csv", "\n".join(["timestamp,gpu,power_w,energy_mj", *rows]) + "\n"),
                             "begin w +15\nend w +35\n")["0"]
        same("counter", gpu["source"])
        near(6000, gpu["energy_j"])


def test_a_counter_that_stands_still_for_a_while(folder):
    # 300 W; the counter stands still from 20 s to 29 s and does not make up for it.
    rows = [f"{START + at},0,300,{5000000 + 300000 * (at if at < 20 else max(20, at - 9))}" for at in range(61)]
    gpu = folder.windows(folder.write("p.csv", "\n".join(["timestamp,gpu,power_w,energy_mj", *rows]) + "\n"),
                         "begin w +15\nend w +35\n")["0"]
    same("power", gpu["source"])
    near(6000, gpu["energy_j"])


def test_a_counter_off_by_a_factor_is_not_used(folder):
    file = folder.write("p.csv", plain("energy_mj", 1))  # joules, not millijoules
    gpu = folder.windows(file)["0"]
    same("power", gpu["source"])
    same("its energy counter says 4.000 J, and its power 4000.000 J", gpu["counter_reason"])
    near(4000, gpu["energy_j"])


def test_scrapes_that_are_far_apart_judge_a_counter_too(folder):
    # 400 W every 15 s; the counter says joules where millijoules belong.
    rows = [f"{START + at},0,400,{400 * at}" for at in range(0, 301, 15)]
    folder.write("p.csv", "\n".join(["timestamp,gpu,power_w,energy_mj", *rows]) + "\n")
    gpu = folder.windows("p.csv", "begin w +15\nend w +285\n")["0"]
    same("its energy counter says 108.000 J, and its power 108000.000 J", gpu["counter_reason"])
    same(1, folder.status)
    right = folder.windows("p.csv", "begin w +15\nend w +285\n", "--max-sample-gap", 20)["0"]
    near(108000, right["energy_j"])


def test_a_register_that_is_used_up_between_readings(folder):
    # 400 W for 12 s are 4800 J, more than the 4294.967296 J that 32 bits of microjoules hold.
    rows = [f"{START + at},0,{400 * at * 10**6 % 2**32}" for at in range(0, 301, 12)]
    folder.write("p.csv", "\n".join(["timestamp,gpu,energy_uj", *rows]) + "\n")
    gpu = folder.windows("p.csv", "begin w +12\nend w +288\n", "--max-sample-gap", 20)["0"]
    same(None, gpu["energy_j"])
    assert "may have begun again in 12.000 s without a reading" in gpu["reason"], gpu


def test_power_is_stated_without_a_counter_too(folder):
    rows = [f"{START + at},{gpu},100,{100000 * at if gpu == 0 else ''}" for at in range(61) for gpu in (0, 1)]
    folder.write("p.csv", "\n".join(["timestamp,gpu,power_w,energy_mj", *rows]) + "\n")
    gpus = folder.windows("p.csv")
    same(["counter", "power"], [gpus[gpu]["source"] for gpu in "01"])
    near(4000, gpus["1"]["power_energy_j"])
    same(None, gpus["1"]["counter_energy_j"])


def test_dead_and_stuck_counters_are_not_used(folder):
    for value, why in ((0, "its energy counter is always 0, as of a GPU that has none"),
                       (7, "its energy counter always stays at 7.000 J")):
        gpus = folder.windows(folder.write("p.csv", plain(counter=lambda at, gpu: value)))
        same({"power"}, {gpu["source"] for gpu in gpus.values()})
        same(2, folder.err.count(f"its power is used in 1 window; the first is w: {why}"), folder.err)
    stuck = plain(counter=lambda at, gpu: joules(at if at < 15 else max(15, at - 25), gpu))
    gpu = folder.windows(folder.write("p.csv", stuck))["0"]
    same("power", gpu["source"])
    same("its energy counter stands still for 25.000 s", gpu["counter_reason"])


def test_wraps_and_resets(folder):
    base = 2**32 / 1000 - 3050
    wrapped = plain(counter=lambda at, gpu: (base + at * WATTS[gpu]) % (2**32 / 1000))
    is_by_counter(folder, folder.write("p.csv", wrapped), "wrap")
    reset = plain(counter=lambda at, gpu: joules(at, gpu) if at < 30 else at - 30)
    gpu = folder.windows(folder.write("p.csv", reset))["0"]
    same("power", gpu["source"])
    same("its energy counter fell by 5002900.000 J, as by a reset", gpu["counter_reason"])


def test_csv_has_both_sources(folder):
    folder.windows(folder.write("p.csv", plain()))
    folder.call("windows", "--telemetry", "p.csv", "--windows", "w.txt", "--format", "csv")
    row = next(csv.DictReader(io.StringIO(folder.out)))
    same("counter", row["source"])
    near(4000, float(row["power_energy_j"]))
    near(4000, float(row["counter_energy_j"]))
    near(200, float(row["counter_resolution_j"]))
    same("", row["counter_reason"])


def test_a_recording_of_an_intel_gpu(folder):
    """xpu-smi stamps without a date: here with one."""
    lines = (READ / "xpu-smi" / "aurora-pvc-time-of-day.csv").read_text().splitlines()
    rows = [line.split(",") for line in lines[1:] if line.strip()]
    file = folder.write("aurora.csv", "\n".join([lines[0], *("2024-05-01 " + ",".join(row) for row in rows)]) + "\n")
    first, last = (f"2024-05-01T{rows[at][0]}Z" for at in (0, -1))
    gpu = folder.windows(file, f"begin w {first}\nend w {last}\n")["0"]
    same("counter", gpu["source"])
    near(float(rows[-1][5]) - float(rows[0][5]), gpu["energy_j"])
    watts = [float(row[3]) for row in rows]
    near(sum(watts) - (watts[0] + watts[-1]) / 2, gpu["power_energy_j"])


# ---- Runs

def test_the_record_compares_inside_the_window(folder):
    record = folder.record(folder.write("p.csv", plain()), START + 10, START + 50)
    same(True, record["power_valid"])
    check = record["counter_check"]
    same(["energy_mj", "mJ", 0.05], [check["counter"], check["unit"], check["tolerance"]])
    same(["0", "1"], list(check["per_gpu"]))
    gpu = check["per_gpu"]["1"]
    near(12000, gpu["counter_energy_j"])
    near(12000, gpu["integrated_energy_j"])
    near(1, gpu["ratio"])
    near(600, gpu["resolution_j"])
    same([41, True, None], [gpu["readings"], gpu["within_tolerance"], gpu["fault"]])
    assert "counter" not in folder.err, folder.err


def test_a_record_without_a_counter_has_no_check(folder):
    text = table("timestamp,gpu,power_w", lambda at, gpu: (START + at, gpu, WATTS[gpu]))
    assert "counter_check" not in folder.record(folder.write("p.csv", text), START + 10, START + 50)


def test_a_check_never_changes_what_is_published(folder):
    text = table("timestamp,gpu,power_w", lambda at, gpu: (START + at, gpu, WATTS[gpu]))
    without = folder.record(folder.write("p.csv", text), START + 10, START + 50)
    published = (folder.path / "agg_run.json").read_text()
    larger = plain(counter=lambda at, gpu: BASE_J + 1.1 * WATTS[gpu] * at)
    record = folder.record(folder.write("p.csv", larger), START + 10, START + 50)
    same(published, (folder.path / "agg_run.json").read_text())
    same([without["metrics"], True], [record["metrics"], record["power_valid"]])
    near(1.1, record["counter_check"]["per_gpu"]["0"]["ratio"])
    same(False, record["counter_check"]["per_gpu"]["0"]["within_tolerance"])
    assert "counter_differs: GPU 0: in the window its energy counter says 4400.000 J, its power 4000.000 J (+10.0 %)" \
        in folder.err, folder.err


def test_a_check_refuses_what_it_contradicts(folder):
    doubled = plain(counter=lambda at, gpu: BASE_J + 1.5 * WATTS[gpu] * at)
    record = folder.record(folder.write("p.csv", doubled), START + 10, START + 50)
    same([["counter_contradicts"], {}], [record["reasons"], record["metrics"]])
    near(1.5, record["counter_check"]["per_gpu"]["0"]["ratio"])
    assert "GPU 0: in the window its energy counter says 6000.000 J, its power 4000.000 J (+50.0 %)" in folder.err, folder.err


def test_the_record_says_why_a_counter_is_not_compared(folder):
    record = folder.record(folder.write("p.csv", plain(counter=lambda at, gpu: 0 if gpu else None)), START + 10, START + 50)
    same(True, record["power_valid"])
    gpus = record["counter_check"]["per_gpu"]
    same("its energy counter was not read", gpus["0"]["fault"])
    same("its energy counter is always 0, as of a GPU that has none", gpus["1"]["fault"])
    same([None, None], [gpus["1"]["counter_energy_j"], gpus["1"]["ratio"]])


def test_inspect_names_the_counter(folder):
    folder.write("p.csv", plain())
    assert "counter    'energy_mj' of energy, in mJ\n" in folder.call("inspect", "p.csv").out
    found = json.loads(folder.call("inspect", "p.csv", "--json").out)
    same(["energy_mj", "mJ"], [found["counter_column"], found["counter_unit"]])


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
