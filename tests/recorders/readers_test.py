#!/usr/bin/env python3
"""Recordings of other recorders, through the built program.

Energies are calculated by hand. Most files of testdata/telemetry-written have two GPUs: one at 100 W,
300 W and 300 W, 10 s apart, so 2000 J + 3000 J; the other at 50 W, so 1000 J. Those of AIPowerMeter,
Zeus and the DCGM scrapes were calculated elsewhere, from public files.

usage: tests/recorders/readers_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import running  # noqa: E402
from running import ROOT, load_result, run_tests, same  # noqa: E402

READ = ROOT / "testdata" / "telemetry"
WRITTEN = ROOT / "testdata" / "telemetry-written"
START = 1777118400  # 2026-04-25T12:00:00Z
UUIDS = ["GPU-265c9814-6156-355b-e589-ff2064894f16", "GPU-2d20791a-b4a6-ba59-97f1-e95b99fe5b49"]


def near(wanted, found, most=1e-3, what=""):
    assert abs(wanted - found) <= most, f"{what}\n    expected {wanted!r}\n    got      {found!r}"


class Folder(running.Folder):
    def put(self, source, name):
        shutil.copy(source, self.path / name)
        return name

    def inspect(self, file, *words):
        return json.loads(self.call("inspect", file, "--json", "--timezone", "UTC", *words).out)

    def run(self, telemetry, start, end, *words, gpus=2, gap=1000):
        """A run of schema 2; its record."""
        self.write("run.json", json.dumps(load_result(start, end)))
        self.write("agg_run.json", "{}")
        self.call("--csv", telemetry, "--bench-result", "run.json", "--agg-result", "agg_run.json",
                  "--expected-num-gpus", gpus, "--max-sample-gap", gap, "--timezone", "UTC",
                  "--validation-result", "record.json", *words)
        return json.loads((self.path / "record.json").read_text())


def is_run_of(folder, file, start, energies, schema, sensor, *words):
    record = folder.run(file, start + 1e-6, start + 20 - 1e-6, *words)
    same(True, record["power_valid"], f"{file}: {folder.err}")
    extended = folder.run(file, start + 1e-6, start + 20 - 1e-6, "--extended", *words)
    same((0, record["per_gpu_energy_j"]), (folder.status, extended["per_gpu_energy_j"]), f"{file}: {folder.err}")
    for gpu, joules in energies.items():
        near(joules, record["per_gpu_energy_j"][gpu], what=f"{file}: {gpu}")
    same(len(energies), len(record["per_gpu_energy_j"]))
    facts = record["computed_from"]
    same(schema, facts["schema"])
    same(sensor, (facts["collector"], facts["sensor"], facts["scope"], facts["averaging"]), file)
    same(["collector", "sensor", "scope", "averaging"],
         [key for key in facts if key in ("collector", "sensor", "scope", "averaging")])


def of_uuids(first=5000, second=1000):
    return dict(zip(UUIDS, (first, second)))


DCGM = ("DCGM", "DCGM_FI_DEV_POWER_USAGE", "gpu", "unknown")


def test_prometheus_matrix(folder):
    is_run_of(folder, WRITTEN / "prometheus/query-range-matrix.json", START + 0.5, of_uuids(), "prometheus-matrix", DCGM)


def test_victoriametrics_export(folder):
    is_run_of(folder, WRITTEN / "prometheus/victoriametrics-export.jsonl", START + 0.5, of_uuids(),
              "victoriametrics-export", DCGM)


def test_victoriametrics_export_with_blanks(folder):
    lines = (WRITTEN / "prometheus/victoriametrics-export.jsonl").read_text().splitlines()
    blanks = "\n".join(json.dumps(json.loads(line), separators=(" , ", " : ")) for line in lines)
    is_run_of(folder, folder.write("v.jsonl", blanks + "\n"), START + 0.5, of_uuids(), "victoriametrics-export", DCGM)


def test_grafana_series_without_a_name(folder):
    text = '"Time","{gpu=""0"", instance=""n1""}","{gpu=""1"", instance=""n1""}"\n' + "".join(
        f"{(START + second) * 1000},{watts},50\n" for second, watts in ((0, 100), (10, 300), (20, 300)))
    file = folder.write("g.csv", text)
    found = folder.inspect(file)
    same(("grafana-wide", ["power_column_missing", "gpu_identity_column_missing"]), (found["schema"], found["reasons"]))
    assert "the series have no name; if their values are watts, pass --power-column value" in folder.err, folder.err
    record = folder.run(file, START, START + 20, "--power-column", "value")
    same((True, {"n1/0": 5000.0, "n1/1": 1000.0}), (record["power_valid"], record["per_gpu_energy_j"]))
    same(["power_column_missing", "gpu_identity_column_missing"], folder.inspect(file, "--power-column", "watts")["reasons"])


def test_grafana(folder):
    is_run_of(folder, WRITTEN / "grafana/labels-to-fields.csv", START, of_uuids(), "grafana-long", DCGM)
    is_run_of(folder, WRITTEN / "grafana/series-joined-by-time.csv", START, {"node-a/0": 5000, "node-a/1": 1000},
              "grafana-wide", DCGM)


def test_dmon_with_dates(folder):
    # The second row of GPU 1 has no power.
    file = WRITTEN / "nvidia-smi/dmon-with-date-and-time.log"
    same(["invalid_power_sample"], folder.run(file, START, START + 20)["reasons"])
    whole = folder.write("dmon.log", file.read_text().replace("      1      - ", "      1     50 "))
    is_run_of(folder, whole, START, {"0": 5000, "1": 1000}, "nvidia-smi-dmon", ("nvidia-smi", "pwr", "gpu", "unknown"))
    commas = folder.write("dmon.csv", "#Date, Time, gpu, pwr, gtemp\n#YYYYMMDD, HH:MM:SS, Idx, W, C\n" + "".join(
        f"20260425, 12:00:{second:02d}, 0, {watts}, 52\n" for second, watts in ((0, 100), (10, 300), (20, 300))))
    near(5000, folder.run(commas, START, START + 20, gpus=1)["per_gpu_energy_j"]["0"])


def test_dcgmi_dmon(folder):
    # 100.5, 300.5 and 300.5 W a second apart; the instance GPU-I 3 is none of the GPUs.
    record = folder.run(WRITTEN / "dcgm/dmon-with-times.log", START + 0.25, START + 2.25)
    same(True, record["power_valid"], folder.err)
    same({"0": 200.5 + 300.5, "1": 101.0}, record["per_gpu_energy_j"])
    cut = (WRITTEN / "dcgm/dmon-with-times.log").read_text().replace("GPU 1     50.500", "GPU 1     50...")
    same(["invalid_power_sample", "expected_gpu_count_mismatch"],
         folder.run(folder.write("cut.log", cut), START + 0.25, START + 2.25)["reasons"])
    blank = (WRITTEN / "dcgm/dmon-with-times.log").read_text()
    for second in range(3):
        blank = blank.replace(f"{START + second}.25 ", f"[2026-04-25 12:00:0{second}.250] ")
    same({"0": 501.0, "1": 101.0}, folder.run(folder.write("b.log", blank), START + 0.25, START + 2.25)["per_gpu_energy_j"])


def test_aiperf_gpu_telemetry(folder):
    is_run_of(folder, WRITTEN / "aiperf/profile_export_gpu_telemetry.jsonl", START + 0.25, of_uuids(),
              "aiperf-gpu-telemetry", ("AIPerf", "gpu_power_usage", "gpu", "unknown"))
    newer = (WRITTEN / "aiperf/profile_export_gpu_telemetry.jsonl").read_text().replace("gpu_power", "nvidia_power")
    near(5000, folder.run(folder.write("n.jsonl", newer), START + 0.250001, START + 20.249999)["per_gpu_energy_j"][UUIDS[0]])


def test_all_smi(folder):
    is_run_of(folder, WRITTEN / "all-smi/record.ndjson", START, of_uuids(), "all-smi",
              ("all-smi", "power_consumption", "gpu", "unknown"))


def test_energibridge(folder):
    is_run_of(folder, WRITTEN / "other-meters/energibridge-two-gpus.csv", START, {"0": 5000, "1": 1000},
              "energibridge", ("EnergiBridge", "nvmlDeviceGetPowerUsage", "gpu", "unknown"))


def test_scrapes_count_instances_once(folder):
    # Instances say 52.636 W twice and 52.746 W twice; 56.121 W twice and 56.127 W twice.
    file = WRITTEN / "dcgm/scrapes-a30-mig.txt"
    record = folder.run(file, START, START + 15)
    same(True, record["power_valid"], folder.err)
    near(52.691 * 15, record["per_gpu_energy_j"][UUIDS[0]])
    near(56.124 * 15, record["per_gpu_energy_j"][UUIDS[1]])
    near(108.815, record["metrics"]["avg_total_gpu_power_w"])
    text = file.read_text()
    own = "\n".join(f"{line} {(START + 15 * (i > len(text.splitlines()) // 2)) * 1000}" if "{" in line else ""
                    for i, line in enumerate(text.splitlines()))
    near(52.691 * 15, folder.run(folder.write("own.txt", own + "\n"), START, START + 15)["per_gpu_energy_j"][UUIDS[0]])


def test_a_folder_of_scrapes(folder):
    record = folder.run(WRITTEN / "dcgm/scrape-folder", START, START + 15, gpus=4)
    same(True, record["power_valid"], folder.err)
    near(688.013, record["metrics"]["avg_total_gpu_power_w"])
    text = (WRITTEN / "dcgm/scrape-folder" / f"{START}.txt").read_text()
    for second in (0, 15):
        name = folder.write(f"by-time/scrape-{second}.txt", text)
        os.utime(folder.path / name, (START + second, START + second))
    near(688.013, folder.run("by-time", START, START + 15, gpus=4)["metrics"]["avg_total_gpu_power_w"])
    folder.write("notes/a.txt", "nothing\n")
    same(["telemetry_file_missing"], folder.run("notes", START, START + 15)["reasons"])


ROCM = ("rocm-smi", "Average Graphics Package Power (W)", "package", "unknown")


def test_rocm_smi_in_a_loop(folder):
    # A time before each line, header included; a line with the time before each round, of GPUs of two kinds;
    # and a header of the script's own.
    is_run_of(folder, WRITTEN / "rocm-smi/loop-time-before-lines.csv", START, {"card0": 5000, "card1": 1000},
              "rocm-smi-loop", ROCM)
    is_run_of(folder, WRITTEN / "rocm-smi/loop-time-lines.txt", START, {"card0": 5000, "card1": 1000}, "rocm-smi-loop",
              ("rocm-smi", "Current Socket Graphics Package Power (W)", "package", "unknown"))
    is_run_of(folder, WRITTEN / "rocm-smi/loop-epoch-column.csv", START, {"card0": 5000, "card1": 1000},
              "rocm-smi-loop", ROCM)
    text = (WRITTEN / "rocm-smi/loop-time-lines.txt").read_text()
    second_die = folder.write("die.txt", text.replace("card1,50.0,N/A", "card1,N/A (Secondary die),N/A"))
    same(False, folder.run(second_die, START, START + 20)["power_valid"])
    near(5000, folder.run(second_die, START, START + 20, "--gpus", "card0", gpus=1)["per_gpu_energy_j"]["card0"])
    # A last number that is cut off is none.
    cut = folder.write("cut.txt", text.rstrip()[:-len("0.0,N/A")])
    same(1, folder.inspect(cut)["skipped"]["torn_tail"])
    # Without any time it is what it was: a table without times.
    bare = folder.write("bare.csv", "device,Average Graphics Package Power (W)\ncard0,100.0\n")
    same(["timestamp_column_missing"], folder.inspect(bare)["reasons"])


def test_xpu_smi_query_is_utc(folder):
    file = WRITTEN / "xpu-smi/query-gpu.csv"
    is_run_of(folder, file, START, {"0": 5000, "1": 1000}, "xpu-smi-query",
              ("xpu-smi", "power.draw [W]", "gpu", "over the interval before the stamp"))
    # In whatever zone it is read; nvidia-smi writes the same with its own UUIDs, in local time.
    found = json.loads(folder.call("inspect", file, "--json").out)
    same((START, "xpu-smi-query"), (found["devices"][0]["first_unix"], found["schema"]))
    nvidia = folder.write("nvidia.csv", file.read_text().replace("00000000-0000", "GPU-00000000-0000"))
    same("nvidia-smi", folder.inspect(nvidia)["schema"])
    named = folder.write("named.csv", "timestamp, index, name, power.draw [W]\n2026/04/25 12:00:00.000, 0, "
                                      "Intel(R) Data Center GPU Max 1550, 100.00 W\n")
    same("xpu-smi-query", folder.inspect(named)["schema"])
    host = folder.write("host.csv", "timestamp, index, cpu, power.draw [W]\n2026/04/25 12:00:00.000, 0, "
                                    "Intel(R) Xeon(R) Platinum 8480C, 100.00 W\n")
    same("nvidia-smi", folder.inspect(host)["schema"])


def test_grafana_rows(folder):
    file = WRITTEN / "grafana/series-time-value.csv"
    is_run_of(folder, file, START, of_uuids(), "grafana-rows", DCGM)
    named = folder.write("named.csv", "Series;Time;Value\n" + "".join(
        f"GPU {gpu};2026-04-25T12:00:{second:02}.000Z;{watts}\n"
        for gpu, at in ((0, (100, 300, 300)), (1, (50, 50, 50))) for second, watts in zip((0, 10, 20), at)))
    same(["power_column_missing", "gpu_identity_column_missing"], folder.inspect(named)["reasons"])
    assert "pass --power-column Value" in folder.err, folder.err
    record = folder.run(named, START, START + 20, "--power-column", "Value")
    same({"GPU 0": 5000.0, "GPU 1": 1000.0}, record["per_gpu_energy_j"])


def test_grafana_rows_of_instances(folder):
    # Three instances of one GPU, each of which repeats its 300 W: 9000 J in 30 s. Whatever names the metric.
    def rows(*labels, metric="DCGM_FI_DEV_POWER_USAGE"):
        return "Series;Time;Value\n" + "".join(
            f"{metric}{{{given}}};2026-04-25T12:00:{second:02}.000Z;300\n" for second in (0, 10, 20, 30) for given in labels)
    instances = ['gpu="0", GPU_I_ID="%d"' % i for i in range(3)]
    for metric in ("DCGM_FI_DEV_POWER_USAGE", "my_power"):
        file = folder.write("mig.csv", rows(*instances, metric=metric))
        record = folder.run(file, START, START + 30, "--power-column", "Value", gpus=1)
        same({"0": 9000.0}, record["per_gpu_energy_j"], metric)
    # Nothing says that pods repeat the power of a GPU.
    file = folder.write("pods.csv", rows('gpu="0", pod="a"', 'gpu="0", pod="b"'))
    for words in ((), ("--power-column", "Value")):
        same(1, folder.call("inspect", file, *words).status)
        assert "are of one GPU at the same time" in folder.err + folder.out, folder.err
    # Labels that name no GPU: the series does.
    file = folder.write("own.csv", rows('rack="7"', 'rack="8"', metric="watts"))
    same({'watts{rack="7"}': 9000.0, 'watts{rack="8"}': 9000.0},
         folder.run(file, START, START + 30, "--power-column", "Value")["per_gpu_energy_j"])


def test_srt_slurm_samples_of_each_version(folder):
    for version in ("v1", "v3"):
        is_run_of(folder, WRITTEN / f"srt-slurm/samples-{version}.csv", START + 0.5, of_uuids(), "srt-slurm",
                  ("srt-slurm", "power_w", "gpu", "unknown"))
    # Version 2 is real: 241 W in both rows of GPU 0 of its first host, 1.000038 s apart.
    rows = [line.split(",") for line in (READ / "wrappers/srt-slurm-samples-v2.csv").read_text().splitlines()[1:]]
    same((["241"] * 2, ["100000000001"] * 2), ([row[6] for row in rows[:2]], [row[5] for row in rows[:2]]))
    start, end = (float(row[1]) for row in rows[:2])
    folder.write("w.txt", f"begin w {start!r}\nend w {end!r}\n")
    folder.call("windows", "--telemetry", READ / "wrappers/srt-slurm-samples-v2.csv", "--windows", "w.txt", "--gpus",
                "100000000001", "--json")
    near(241 * (end - start), json.loads(folder.out)["windows"][0]["energy_j"])


def test_dcgm_tables(folder):
    is_run_of(folder, WRITTEN / "dcgm/wide.csv", START, of_uuids(), "dcgm-wide", DCGM)
    is_run_of(folder, WRITTEN / "prometheus/long.csv", START, of_uuids(), "dcgm-long", DCGM)


# ---- AIPowerMeter

def sensors(found):
    return {sensor["name"]: round(sensor["energy_j"], 3) for sensor in found["sensors"]["energies"]}


def test_aipowermeter_energies(folder):
    found = folder.inspect(READ / "aipowermeter/two-gpus-psys-sentinel.json")
    same(0, folder.status, folder.err)
    same({"gpu": 1523.43, "gpu 0": 323.783, "gpu 1": 1199.647, "attributable": 1209.681, "intel": 1141.262,
          "dram": 200.165}, sensors(found))
    near(0.753, found["devices"][0]["max_gap_s"])
    sums = {row["sum"]: row for row in found["sensors"]["sums"]}
    same(True, sums["gpu = sum of its GPUs"]["holds"])
    same((False, "above it in 2 of 30 records"),
         tuple(sums["attributable is at most what each GPU draws"][key] for key in ("holds", "detail")))

    found = folder.inspect(READ / "aipowermeter/two-segments-cpu-only.json")
    same(1, folder.status)
    known = sensors(found)
    same((317.574, 491.138, 290.819, 9.632), tuple(known[name] for name in ("intel", "psys", "cpu", "dram")))
    same([2], list({len(sensor["segments_j"]) for sensor in found["sensors"]["energies"]}))
    sums = {row["sum"]: row["holds"] for row in found["sensors"]["sums"]}
    same({"intel = psys + uncore + cpu": False, "psys contains intel": True}, sums)

    known = sensors(folder.inspect(READ / "aipowermeter/cpu-only-2021.json"))
    assert "to count the CPU, pass --power-column intel_power" in folder.err, folder.err
    assert "--device-column" not in folder.err, folder.err
    same((562.127, 884.957, 493.495), tuple(known[name] for name in ("intel", "psys", "cpu")))


def test_aipowermeter_run(folder):
    # GPU 0 from its 100 W to its 300 W, GPU 1 at 50 W, in the first segment.
    file = WRITTEN / "aipowermeter/two-segments-2026-keys.json"
    is_run_of(folder, file, START + 0.5, {"0": 5000, "1": 1000}, "aipowermeter",
              ("AIPowerMeter", "per_gpu_power_draw", "gpu", "over the period before the stamp"))
    # The recorder was stopped from 20.5 s to 30.5 s.
    for start, end in ((10, 40), (21, 29), (30, 31)):
        record = folder.run(file, START + start, START + end)
        same(["sampling_gap_exceeded"], record["reasons"])
        assert "the recorder was stopped from 1777118420.500 to 1777118430.500" in folder.err, folder.err
    same(True, folder.run(file, START + 30.5, START + 50.5)["power_valid"])
    record = folder.run(file, START + 0.5, START + 20.5, "--power-column", "intel_power", gpus=1)
    near(1200, record["metrics"]["total_gpu_energy_j"])
    same("package", record["computed_from"]["scope"])
    record = folder.run(file, START + 0.5, START + 20.5, "--power-column", "psys_power", gpus=1)
    same(False, record["power_valid"])


def test_a_record_that_is_cut_off_is_counted(folder):
    text = (WRITTEN / "aipowermeter/two-segments-2026-keys.json").read_text()
    third = text.index("\n", text.index("12:00:20")) + 1
    for cut in (third - 2, third - 40, third - 200):
        found = folder.inspect(folder.write("cut.json", text[:cut]))
        same((1, 2), (found["skipped"]["torn_tail"], found["rows"]), cut)
    broken = text[:third - 40] + text[third:]
    found = folder.inspect(folder.write("broken.json", broken))
    same(["telemetry_file_unreadable"], found["reasons"])


# ---- Zeus

def test_zeus_monitor(folder):
    file = folder.put(READ / "zeus/zeus-monitor-sample.csv", "run+gpu3.power.csv")
    found = folder.inspect(file)
    same(("zeus-monitor", "mW", "file name", ["3"]),
         (found["schema"], found["power_unit"], found["device_column"], [gpu["id"] for gpu in found["devices"]]))
    first, last = found["devices"][0]["first_unix"], found["devices"][0]["last_unix"]
    near(1657678056.708783, first, 1e-6)
    record = folder.run(file, first, last, gpus=1)
    near(31.00416, record["metrics"]["total_gpu_energy_j"], 1e-5)
    same(("Zeus", "Power", "gpu", "unknown"),
         tuple(record["computed_from"][key] for key in ("collector", "sensor", "scope", "averaging")))
    # The stamps are UTC, in whatever zone the file is read.
    found = json.loads(folder.call("inspect", file, "--json").out)
    near(1657678056.708783, found["devices"][0]["first_unix"], 1e-6)
    # A column of these names with watts is not Zeus'.
    other = folder.write("other.csv", "Time,Power\n2026-04-25 12:00:00,300.5\n2026-04-25 12:00:01,300.5\n")
    same("generic", folder.inspect(other)["schema"])


def test_zeus_files_are_one_recording(folder):
    for gpu, milliwatts in ((0, 32000), (1, 50000)):
        folder.write(f"gpu{gpu}.power.csv", "Time,Power\n" + "".join(
            f"2026-04-25 12:00:{second:02d}.000000000,{milliwatts}\n" for second in range(11)))
    folder.call("measure", "--start", START, "--end", START + 10, "--telemetry", "gpu0.power.csv",
                "--telemetry", "gpu1.power.csv", "--output-tokens", 100, "--json")
    same(0, folder.status, folder.err + folder.out)
    run = json.loads(folder.out)["runs"][0]
    near(820, run["total_gpu_energy_j"])


def test_a_change_only_timeline_is_not_interpolated(folder):
    file = WRITTEN / "zeus/power-timelines.json"
    same(0, folder.call("inspect", file).status)
    assert "the last value holds" in folder.out, folder.out
    record = folder.run(file, START, START + 20)  # 10 s of 100 W and of 300 W, and 20 s of 50 W
    same((True, []), (record["power_valid"], record["reasons"]))
    near(100 * 10 + 300 * 10 + 50 * 20, record["metrics"]["total_gpu_energy_j"], 1e-3)
    same("instantaneous", record["computed_from"]["averaging"])
    record = folder.run(file, START, START + 20, "--power-column", "device_average", gpus=1)
    near(99 * 20, record["metrics"]["total_gpu_energy_j"], 1e-3)
    record = folder.run(file, START, START + 20, "--schema-version", 1)
    same(["power_only_on_change"], record["reasons"])


def test_a_run_reads_a_timeline_as_windows_does(folder):
    """Changes each 0.1 s and each 1.5 s under load, and once in 40 s or an hour before and after it."""
    fast = [[START, 60.0]] + [[START + 40 + i / 10, 300 + (7 * i) % 40] for i in range(400)] + [[START + 80, 61.0], [START + 130, 62.5]]
    slow = [[START, 55.0]] + [[START + 40 + 1.5 * i, 250.0 + 10 * (7 * i % 11)] for i in range(27)] + [[START + 81, 56.0], [START + 3700, 55.0]]
    file = folder.write("t.json", json.dumps({"device_instant": {"0": fast, "1": slow}}))
    folder.write("w.csv", f"name,start,end\nload,{START + 40},{START + 80}\npart,{START + 41.3},{START + 77.7}\n")
    folder.call("windows", "--telemetry", file, "--windows", "w.csv", "--json")
    for window in json.loads(folder.out)["windows"]:
        start, end = window["start_unix_s"], window["end_unix_s"]
        by_hand = sum(watts * max(0, min(end, later) - max(start, at)) for series in (fast, slow)
                      for (at, watts), (later, _) in zip(series, series[1:]))
        record = folder.run(file, start, end, gap=3)
        same((True, []), (record["power_valid"], record["reasons"]), window["name"])
        near(by_hand, window["energy_j"], 1e-3)
        # Between changes that come as fast as readings a run draws lines, as between any readings.
        near(by_hand, record["metrics"]["total_gpu_energy_j"], 1e-3 * by_hand)


def test_a_log_of_windows_is_shown(folder):
    found = json.loads(folder.call("inspect", READ / "zeus/zeus-energy-windows-4gpu.csv", "--json").out)
    same((0, "Zeus", "monotonic", 9), (folder.status, found["log_of"], found["clock"], len(found["windows"])))
    first = found["windows"][0]
    same(("__GlobalPowerLimitOptimizer_300", 13586624.12895549), (first["name"], first["start"]))
    near(33.27751154080033, first["duration_s"], 1e-6)
    near(3991.397 + 4170.070 + 4255.888 + 4102.666, first["energy_j"], 1e-3)
    same(["0", "1", "2", "3"], [gpu["gpu"] for gpu in first["gpus"]])
    near(4255.888, first["gpus"][2]["energy_j"], 1e-3)
    log = folder.write("log.csv", f"start_time,window_name,elapsed_time,gpu4_energy\n{START},\"a, b\",10,500\n")
    assert "clock      Unix time\n" in folder.call("inspect", log).out, folder.out
    assert folder.out.endswith("a, b                             4        10.000      500.000     50.00\n"), folder.out
    folder.write("log.csv", "start_time,window_name,elapsed_time,gpu4_energy\nyesterday,a,10,500\n")
    same((1, "aggregate-power: log.csv:2: start_time 'yesterday' is not a number\n"),
         (folder.call("inspect", log).status, folder.err))


# ---- What is not a series of power is refused

def test_labels_are_found_or_named(folder):
    unnamed = folder.write("m.json", json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [
        {"metric": {"rack": "7"}, "values": [[START, "100"], [START + 10, "100"], [START + 20, "100"]]}]}}))
    found = folder.inspect(unnamed)
    same((1, ["power_column_missing", "gpu_identity_column_missing"]), (folder.status, found["reasons"]))
    assert "pass --power-column value" in folder.err, folder.err
    record = folder.run(unnamed, START, START + 20, "--power-column", "value", "--device-column", "rack", gpus=1)
    same({"7": 2000.0}, record["per_gpu_energy_j"])
    matrix = (WRITTEN / "prometheus/query-range-matrix.json").read_text().replace("DCGM_FI_DEV_POWER_USAGE", "watts_x")
    named = folder.write("n.json", matrix)
    same(["power_column_missing", "gpu_identity_column_missing"], folder.inspect(named)["reasons"])
    record = folder.run(named, START + 0.5, START + 20.5, "--power-column", "watts_x", "--device-column", "gpu")
    same({"0": 5000.0, "1": 1000.0}, record["per_gpu_energy_j"])
    instant = folder.write("v.json", json.dumps({"status": "success", "data": {"resultType": "vector", "result": []}}))
    same(1, folder.call("inspect", instant).status)


def series(values, **labels):
    return {"metric": {"__name__": "DCGM_FI_DEV_POWER_USAGE", **labels},
            "values": [[START + 10 * i, str(value)] for i, value in values]}


def matrix(folder, *all_series):
    return folder.write("m.json", json.dumps({"status": "success", "data": {"resultType": "matrix", "result": all_series}}))


def test_series_that_labels_do_not_tell_apart_are_refused(folder):
    both = [(i, 300) for i in range(3)], [(i, 500) for i in range(3)]
    file = matrix(folder, series(both[0], Hostname="localhost", gpu="0", instance="a:9400"),
                  series(both[1], Hostname="localhost", gpu="0", instance="b:9400"))
    assert "gpu_identity_conflict" in folder.run(file, START, START + 20, gpus=1)["reasons"]
    assert "permissions" not in folder.err, folder.err
    assert "are of one GPU at the same time: name the label that tells GPUs apart with --device-column" in folder.err, folder.err
    near(16000, sum(folder.run(file, START, START + 20, "--device-column", "instance")["per_gpu_energy_j"].values()))
    # One after the other, as when a pod ends.
    file = matrix(folder, series([(0, 300), (1, 300)], gpu="0", pod="a"), series([(2, 300)], gpu="0", pod="b"))
    near(6000, folder.run(file, START, START + 20, gpus=1)["per_gpu_energy_j"]["0"])
    line = 'DCGM_FI_DEV_POWER_USAGE{{Hostname="h",gpu="0",slot="{}"}} {}\n'
    scrapes = "".join(f"# {START + 10 * i}\n" + line.format(0, 300) + line.format(1, 500) for i in range(3))
    assert "gpu_identity_conflict" in folder.run(folder.write("s.txt", scrapes), START, START + 20, gpus=1)["reasons"]
    wide = 'Time,"DCGM_FI_DEV_POWER_USAGE{gpu=""0"", slot=""0""}","DCGM_FI_DEV_POWER_USAGE{gpu=""0"", slot=""1""}"\n' + "".join(
        f"{(START + 10 * i) * 1000},300,500\n" for i in range(3))
    assert "gpu_identity_conflict" in folder.run(folder.write("w.csv", wide), START, START + 20, gpus=1)["reasons"]
    # Pods that share a GPU repeat its power, and no label makes them two.
    shared = {"UUID": "GPU-5f0c1a2b", "Hostname": "h"}
    file = matrix(folder, *(series(both[0], pod=pod, vgpu=pod, **shared) for pod in "01"))
    near(6000, folder.run(file, START, START + 20, gpus=1)["per_gpu_energy_j"]["GPU-5f0c1a2b"])
    same(["gpu_identity_conflict"], [reason for reason in folder.run(file, START, START + 20, "--device-column", "vgpu",
                                                                    gpus=2)["reasons"]])
    assert "count as two: leave out --device-column" in folder.err, folder.err


def test_headers_between_the_rows_of_grafana(folder):
    line = "DCGM_FI_DEV_POWER_USAGE{{gpu=\"0\"}};{};{}\n"
    at = [(START + 10 * i) * 1000 for i in range(4)]
    header = "Series;Time;Value\n"
    same_twice = header + line.format(at[0], 100) + line.format(at[1], 100) + header + line.format(at[2], 100)
    near(2000, folder.run(folder.write("r.csv", same_twice), START, START + 20, gpus=1)["per_gpu_energy_j"]["0"])
    swapped = header + line.format(at[0], 100) + line.format(at[1], 100) + "Series;Value;Time\n" + line.format(100, at[2])
    same(["telemetry_file_unreadable"], folder.run(folder.write("r.csv", swapped), START, START + 10, gpus=1)["reasons"])
    assert "line 4 is a header with other columns: split the recording before it" in folder.err, folder.err
    wide = 'Time,"DCGM_FI_DEV_POWER_USAGE{gpu=""0""}"\n'
    rows = [f"{stamp},100\n" for stamp in at]
    near(2000, folder.run(folder.write("w.csv", wide + rows[0] + rows[1] + wide + rows[2]), START, START + 20,
                          gpus=1)["per_gpu_energy_j"]["0"])


def test_series_without_a_value_are_named(folder):
    at = [(START + 10 * i) * 1000 for i in range(3)]
    series = 'DCGM_FI_DEV_POWER_USAGE{{gpu="{}"}}'
    wide = "Time," + ",".join('"' + series.format(gpu).replace('"', '""') + '"' for gpu in range(2)) + "\n"
    files = {"w.csv": wide + "".join(f"{stamp},100,\n" for stamp in at),
             "r.csv": "Series;Time;Value\n" + "".join(
                 f"{series.format(0)};{stamp};100\n{series.format(1)};{stamp};null\n" for stamp in at)}
    for name, text in files.items():
        folder.write(name, text)
        folder.call("measure", "--start", START, "--end", START + 20, "--telemetry", name, "--timezone", "UTC",
                    "--max-sample-gap", 20)
        assert 'silent_series: DCGM_FI_DEV_POWER_USAGE{gpu="1"} is without any value, and not counted' in " ".join(
            folder.out.split()), (name, folder.out)
        folder.write("windows.csv", f"name,start,end\na,{START},{START + 20}\n")
        folder.call("windows", "--telemetry", name, "--windows", "windows.csv", "--timezone", "UTC",
                    "--max-sample-gap", 20)
        assert "silent_series: " in folder.err, (name, folder.err)


def test_series_that_gpus_leaves_out_are_not_silent(folder):
    at = [(START + 10 * i) * 1000 for i in range(3)]
    series = 'DCGM_FI_DEV_POWER_USAGE{{gpu="{}"}}'
    wide = "Time," + ",".join('"' + series.format(gpu).replace('"', '""') + '"' for gpu in range(3)) + "\n"
    answer = {"status": "success", "data": {"resultType": "matrix", "result": [
        {"metric": {"__name__": "DCGM_FI_DEV_POWER_USAGE", "gpu": str(gpu)},
         "values": [[stamp / 1000, "100"] for stamp in at] if gpu < 2 else []} for gpu in range(3)]}}
    scrapes = "".join(f"{series.format(gpu)} 100 {stamp}\n" for stamp in at for gpu in range(2))
    files = {"w.csv": wide + "".join(f"{stamp},100,100,\n" for stamp in at), "p.json": json.dumps(answer), "s.prom": scrapes}
    for name, text in files.items():
        folder.write(name, text)
        folder.call("measure", "--start", START, "--end", START + 20, "--telemetry", name, "--timezone", "UTC",
                    "--max-sample-gap", 20, "--gpus", "0")
        out = " ".join(folder.out.split())
        assert "GPUs 1 (0)" in out and 'gpu="1"' not in out, (name, folder.out, folder.err)
        if name == "w.csv":  # the third one has no value, whether it counts or not
            assert 'silent_series: DCGM_FI_DEV_POWER_USAGE{gpu="2"} is without any value' in out, folder.out


def test_a_few_absurd_readings_are_not_the_unit(folder):
    rows = "".join(f"{START + i},0,{100 if i != 30 else 9999999}\n" for i in range(61))
    folder.run(folder.write("a.csv", "timestamp,index,power.draw [W]\n" + rows), START, START + 60, gpus=1)
    assert "GPU 0: 1e+07 W at " in folder.err and "1 of 61 readings are above 3000 W" in folder.err, folder.err
    assert "milliwatts" not in folder.err, folder.err


def test_a_scrape_may_have_no_number(folder):
    line = 'DCGM_FI_DEV_POWER_USAGE{{gpu="{}",UUID="GPU-{}"}} {}\n'
    for none in ("NaN", "+Inf"):
        scrapes = "".join(f"# {START + 10 * i}\n" + line.format(0, 0, none if i == 1 else 300) + line.format(1, 1, 100)
                          for i in range(4))
        record = folder.run(folder.write("s.txt", scrapes), START, START + 30)
        same(["invalid_power_sample"], record["reasons"], none)
        same("exporter-scrapes", folder.inspect("s.txt")["schema"], none)


def test_series_of_gpus_that_are_not_selected_may_meet(folder):
    gpus = range(4)
    line = 'DCGM_FI_DEV_POWER_USAGE{{Hostname="h",gpu="{}"}} {}\n'
    header = ",".join(f'"DCGM_FI_DEV_POWER_USAGE{{gpu=""{gpu}""}}"' for gpu in gpus)
    written = {
        "m.json": pathlib.Path(folder.path, matrix(folder, *[
            series([(i, 100 * gpu + 100) for i in range(3)], gpu=str(gpu)) for gpu in gpus])).read_text(),
        "s.txt": "".join(f"# {START + 10 * i}\n" + "".join(line.format(gpu, 100 * gpu + 100) for gpu in gpus)
                         for i in range(3)),
        "w.csv": f"Time,{header}\n" + "".join(f"{(START + 10 * i) * 1000},100,200,300,400\n" for i in range(3)),
        "e.csv": "Delta,Time," + ",".join(f"GPU{gpu}_POWER (mWatts)" for gpu in gpus) + "\n" +
                 "".join(f"0,{(START + 10 * i) * 1000},100000,200000,300000,400000\n" for i in range(3))}
    for name, text in written.items():
        gpu = "h/2" if name == "s.txt" else "2"
        record = folder.run(folder.write(name, text), START, START + 20, "--gpus", gpu, gpus=1)
        same({gpu: 6000.0}, record["per_gpu_energy_j"], name)


def test_power_of_two_recorders_is_not_mixed(folder):
    line = 'DCGM_FI_DEV_POWER_USAGE{{gpu="0",Hostname="h1"}} 300\ngpu_package_power{{gpu_id="0",hostname="h2"}} 700\n'
    file = folder.write("s.txt", "".join(f"# {START + 10 * i}\n{line.format()}" for i in range(3)))
    same(["telemetry_file_unreadable"], folder.run(file, START, START + 20, gpus=1)["reasons"])
    assert "name one of them with --power-column" in folder.err, folder.err
    near(14000, folder.run(file, START, START + 20, "--power-column", "gpu_package_power", gpus=1)["per_gpu_energy_j"]["h2/0"])


def test_a_series_that_is_cut_off_is_no_whole_recording(folder):
    text = (WRITTEN / "prometheus/victoriametrics-export.jsonl").read_text()
    file = folder.write("v.jsonl", text[:text.rindex('{"metric"') + 200])
    same(["telemetry_file_unreadable"], folder.run(file, START + 0.5, START + 20.5, gpus=1)["reasons"])
    folder.call("windows", "--telemetry", file, "--windows", folder.write("w.txt", "begin a +0\nend a -0\n"))
    same((2, True), (folder.status, folder.err.startswith("aggregate-power: error: v.jsonl: ")), folder.err)


# ---- Headers in the middle

def test_a_header_with_other_columns_ends_a_recording(folder):
    # 300 W at 50 degrees; from 12:00:10 on the two columns are in the other order.
    first, other = "timestamp, index, power.draw [W], temperature.gpu", "timestamp, index, temperature.gpu, power.draw [W]"
    def rows(seconds, watts_first):
        return "".join(f"2026/04/25 12:00:{at:02}.000, 0, {'300.00 W, 50' if watts_first else '50, 300.00 W'}\n"
                       for at in seconds)
    text = first + "\n" + rows(range(10), True)
    joined = folder.write("joined.csv", text + other + "\n" + rows(range(10, 20), False))
    record = folder.run(joined, START, START + 19, gpus=1)
    same(False, record["power_valid"])
    assert "avg_power_w" not in (folder.path / "agg_run.json").read_text()
    folder.call("inspect", joined, "--timezone", "UTC")
    assert "row 11 after the header is a header with other columns: split the recording before it" in folder.out + folder.err
    # The same header again changes nothing: 19 s at 300 W.
    again = folder.write("again.csv", text + first + "\n" + rows(range(10, 20), True))
    same({"0": 5700.0}, folder.run(again, START, START + 19, gpus=1)["per_gpu_energy_j"])


def test_other_columns_of_tables_with_a_column_for_each_gpu(folder):
    at = [(START + 10 * i) * 1000 for i in range(3)]
    header = "Delta,Time,CPU_USAGE_0,GPU0_POWER (mWatts)\n"
    wide = folder.write("wide.csv", header + f"0,{at[0]},7,300000\n" + header.replace("CPU_USAGE_0,GPU0_POWER (mWatts)",
                                                            "GPU0_POWER (mWatts),CPU_USAGE_0") + f"0,{at[1]},300000,7\n")
    same(1, folder.call("inspect", wide).status)
    assert "line 3 is a header with other columns: split the recording before it" in folder.out + folder.err, folder.err
    series = '"DCGM_FI_DEV_POWER_USAGE{{gpu=""{}""}}"'.format
    wide = folder.write("grafana.csv", f"Time,{series(0)},{series(1)}\n{at[0]},300,100\n"
                                       f"Time,{series(1)},{series(0)}\n{at[1]},100,300\n")
    folder.call("inspect", wide)
    assert "line 3 is a header with other columns: split the recording before it" in folder.out + folder.err, folder.err
    # OmegaWatt's sockets have numbers: each header says where they are. A line of NULs says nothing.
    meter = folder.write("meter.csv", f"#timestamp,#frame_is_ok,#activepow1,#activepow2\n{START},True,300,100\n\0\n"
                                      f"#timestamp,#frame_is_ok,#activepow2,#activepow1\n{START + 1},True,100,300\n")
    found = folder.inspect(meter)
    same([("socket1", 300.0, 300.0), ("socket2", 100.0, 100.0)],
         [(device["id"], device["min_w"], device["max_w"]) for device in found["devices"]])
    same(1, found["skipped"]["blank"])


def test_a_line_of_nuls_says_nothing(folder):
    text = 'Time,"DCGM_FI_DEV_POWER_USAGE{gpu=""0""}"\n' + f"{START}000,300\n\0\n{START + 1}000,300\n"
    found = folder.inspect(folder.write("wide.csv", text))
    same((1, 0, 2), (found["skipped"]["blank"], found["skipped"]["bad_timestamp"], found["devices"][0]["samples"]))
    loop = (WRITTEN / "rocm-smi/loop-time-lines.txt").read_text()
    assert "\n" in loop
    found = folder.inspect(folder.write("loop.txt", loop.replace("\n", "\n\0\n")))
    same([3, 3], [device["samples"] for device in found["devices"]])


def test_only_selected_gpus_count(folder):
    record = folder.run(WRITTEN / "prometheus/query-range-matrix.json", START + 0.5, START + 20.5, "--gpus",
                        UUIDS[1], gpus=1)
    same({UUIDS[1]: 1000.0}, record["per_gpu_energy_j"])


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
