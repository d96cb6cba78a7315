#!/usr/bin/env python3
"""Each form of a recording in testdata/forms, through the built program: which GPUs, which times and
which powers are read, or why it is refused.

Two GPUs, read four times, 10 s apart, from 2026-09-08T07:20:30Z on: 100, 200, 400 and 200 W, of which
the mean is 225 W, and always 50 W. By straight lines between them that is 10 * (150 + 300 + 300) =
7,500 J and 1,500 J. Local times are two hours ahead of UTC.

usage: tests/recorders/forms_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import PROGRAM, ROOT, run_tests, same  # noqa: E402  (beside the folders that share it)

FORMS = ROOT / "testdata" / "forms"
START = 1788852030
FIRST, SECOND = (225.0, 400.0), (50.0, 50.0)  # mean and maximum

# File, schema, seconds of the first reading after START, GPUs; all with FIRST and SECOND, or else with
# a factor of FIRST only.
READ = [
    ("aiperf/amd.jsonl", "aiperf-gpu-telemetry", 0.12, ["u0", "u1"]),
    ("amd-smi/monitor-partitions.csv", "amd-smi-monitor", 0, ["0", "1"]),
    ("amd-smi/watch.json", "amd-smi-json", 0, ["0", "1"]),
    ("amd-smi/file.json", "amd-smi-json", 0, ["0", "1"]),
    ("amd-smi/gpu-data.json", "amd-smi-json", 0, ["0", "1"]),
    ("desktop/hwinfo.csv", "hwinfo", 0.123, ["0", "1"]),
    ("desktop/hwinfo-iso.csv", "hwinfo", 0.123, ["0", "1"]),
    ("desktop/librehardwaremonitor.csv", "librehardwaremonitor", 0, ["gpu-nvidia/0", "gpu-nvidia/1"]),
    ("gpustat/loop.json", "gpustat", 0.123456, ["GPU-0", "GPU-1"]),
    ("hl-smi/utc.csv", "nvidia-smi", 0, ["0", "1"]),
    ("influxdb/annotated.csv", "influxdb", 0, ["GPU-0", "GPU-1"]),
    ("kepler/matrix.json", "prometheus-matrix", 0, ["GPU-0", "GPU-1"]),
    ("kepler/scrapes.txt", "exporter-scrapes", 0, ["GPU-0", "GPU-1"]),
    ("kokkos/n0-power-gpus.csv", "kokkos", 0.12, ["0", "1"]),
    ("mlflow/run", "mlflow", 0.12, ["0", "1"]),
    ("mlflow/nodes", "mlflow", 0.12, ["node-a/0", "node-a/1", "node-b/0", "node-b/1"]),
    ("nvidia-smi/q.txt", "nvidia-smi-q", 0, ["GPU-0", "GPU-1"]),
    ("nvidia-smi/q-530.txt", "nvidia-smi-q", 0, ["GPU-0", "GPU-1"]),
    ("nvidia-smi/q-x.xml", "nvidia-smi-xml", 0, ["GPU-0", "GPU-1"]),
    ("nvidia-smi/q-x-530.xml", "nvidia-smi-xml", 0, ["GPU-0", "GPU-1"]),
    ("nvitop/last.csv", "nvitop", -0.1, ["2", "3"]),
    ("nvitop/mean.csv", "nvitop", 0.12, ["2", "3"]),
    ("nvitop/resources.jsonl", "nvitop-json", 0, ["0", "1"]),
    ("trackio/system-metrics.json", "trackio", 0.12, ["0", "1"]),
    ("tt-smi/loop.json", "tt-smi", 0.123456, ["n0/0", "n0/1"]),
    ("variorum/power.jsonl", "variorum", 0.123456, ["n0/0", "n0/1"]),
    ("variorum/old.jsonl", "variorum-flat", 0.123456, ["n0/socket_0", "n0/socket_1"]),
    ("wandb/chart-wall-time.csv", "wandb-chart", 0.25, ["0", "1"]),
    ("wandb/history.csv", "wide", 0.25, ["0", "1"]),
    ("wandb/system.table.json", "wandb-table", 0.25, ["0", "1"]),
    ("wandb/wandb-events.jsonl", "wandb-events", 0.25, ["0", "1"]),
    ("wide/milliwatts.csv", "wide", 0, ["0", "1"]),
    ("wide/plain.csv", "wide", 0, ["0", "1"]),
    ("wide/profiler.csv", "wide", 0, ["0", "1"]),
    ("wide/semicolons.csv", "wide", 0, ["0", "1"]),
    ("wide/tabs-units-row.tsv", "wide", 0, ["0", "1"]),
    ("wide/with-cpu.csv", "wide", 0.25, ["0", "1"]),
    ("xpu-smi/dump-1.csv", "xpu-smi", 0, ["0", "1"]),
    ("xpu-smi/dump-2.csv", "xpu-smi-2", 0.123, ["0", "1"]),
    ("xpu-smi/dump-2.jsonl", "xpu-smi-json", 0.123, ["0", "1"]),
    ("zeus/power.txt", "zeus-power", 0.123456, ["0", "1"]),
    ("zeus/power-broken-lines.txt", "zeus-power", 0, ["0", "1"]),
]
# File, schema, first second, GPU, mean and maximum in W.
READ_OF_ONE = [
    ("apple/macmon.jsonl", "macmon", 0.123456, "0", 2.25, 4),
    ("apple/powermetrics.plist", "powermetrics-plist", 0, "0", 2.25, 4),
    ("apple/powermetrics.txt", "powermetrics", 0, "0", 2.25, 4),
    ("jetson/jtop.csv", "jtop", 0.123456, "0", 237, 412),  # Power TOT: 12 W more than the GPU's rail
    ("jetson/tegrastats.txt", "tegrastats-lines", 0, "0", 225, 400),
    ("jetson/tegrastats-vdd-in.txt", "tegrastats-lines", 0, "0", 225, 400),
    ("kokkos/nvml-power.csv", "loose", 0.12, "0", 225, 400),
    ("mlflow/run/metrics/system/gpu_0_power_usage_watts", "mlflow", 0.12, "0", 225, 400),
    ("tt-smi/two-chip-card.json", "tt-smi", 0.123456, "n0/0", 225, 400),  # board_power counts once
]
# File, reason, words that say what it is or what to do.
REFUSED = [
    ("amd-smi/once.json", "timestamp_column_missing", "amd-smi metric -p -E -w 1 --json"),
    ("apple/macmon-without-times.jsonl", "timestamp_column_missing", "a newer one does"),
    ("desktop/hwinfo-unclear-date.csv", "timestamp_column_missing", "day or the month first"),
    ("hl-smi/cest.csv", "invalid_timestamp_sample", "CEST 2026"),
    ("jetson/tegrastats-no-dates.txt", "timestamp_column_missing", "tegrastats without dates"),
    ("kokkos/nvml-energy.csv", "power_column_missing", "does not tell GPUs apart"),
    ("kokkos/power-relative.csv", "timestamp_column_missing", "count from the start"),
    ("mlflow/run/metrics/system/gpu_0_power_usage_percentage", "power_column_missing", "gpu_N_power_usage_watts"),
    ("nvidia-smi/pmon.txt", "power_column_missing", "shares of processes and no power"),
    ("nvidia-smi/pmon-dates.txt", "power_column_missing", "shares of processes and no power"),
    ("nvidia-smi/q-once.txt", "timestamp_column_missing", "one reading of nvidia-smi -q"),
    ("nvitop/mean-without-duration.csv", "power_column_missing", "duration (s)"),
    ("variorum/text.txt", "timestamp_column_missing", "no times"),
    ("wandb/chart.csv", "timestamp_column_missing", "Wall Time"),
    ("wide/header-disagrees.csv", "power_column_missing", "disagrees with its columns"),
    ("wide/no-unit.csv", "wide_power_columns", "--power-unit W"),
    ("wide/relative.csv", "timestamp_column_missing", "no column has absolute times"),
    ("xpu-smi/time-of-day.csv", "time_without_date", ""),
]


def near(wanted, found, what="", most=1e-6):
    assert abs(wanted - found) <= most, f"{what}\n    expected {wanted!r}\n    got      {found!r}"


def run(*words, folder=FORMS):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "TZ": "UTC"})
    return done.returncode, done.stdout, done.stderr


def inspected(file, *words, folder=FORMS):
    zone = () if "xpu-smi/dump-2" in str(file) else ("--timezone", "+02:00")  # which is in UTC
    status, out, err = run("inspect", file, "--json", *zone, *words, folder=folder)
    return status, json.loads(out), err


def devices_of(report):
    return [(gpu["id"], gpu["samples"], round(gpu["first_unix"] - START, 6), gpu["mean_w"], gpu["max_w"])
            for gpu in report["devices"]]


def check_two(file, schema, first_s, gpus, *words, folder=FORMS):
    _, report, err = inspected(file, *words, folder=folder)
    same((schema, []), (report["schema"], report["reasons"]), f"{file}: {err}")
    found = devices_of(report)
    same(gpus, [device[0] for device in found], file)
    for number, (_, samples, at_s, mean_w, max_w) in enumerate(found):
        wanted = (FIRST, SECOND)[number % 2]
        is_short = file == "wide/profiler.csv" and number == 1  # its last cell says None
        same(3 if is_short else 4, samples, file)
        near(first_s, at_s, file)
        near(wanted[0], mean_w, file)
        near(wanted[1], max_w, file)


def test_forms_of_two_gpus(_folder):
    for row in READ:
        check_two(*row)


def test_forms_of_one_gpu(_folder):
    for file, schema, first_s, gpu, mean_w, max_w in READ_OF_ONE:
        _, report, err = inspected(file)
        same((schema, []), (report["schema"], report["reasons"]), f"{file}: {err}")
        (found,) = devices_of(report)
        same((gpu, 4), found[:2], file)
        for wanted, value in zip((first_s, mean_w, max_w), found[2:]):
            near(wanted, value, file)


def test_the_power_of_driver_580_is_the_gpus(_folder):
    """`nvidia-smi -q -d POWER -l 1` also lists an instantaneous power, samples and the memory's 37 W."""
    _, report, err = inspected(ROOT / "testdata" / "telemetry" / "nvidia-smi" / "q-power-580.txt")
    same(("nvidia-smi-q", []), (report["schema"], report["reasons"]), err)
    (found,) = devices_of(report)
    same(("00000000:00:06.0", 4), found[:2])
    near((80.12 + 80.03 + 80.04 + 80.06) / 4, found[3])
    near(80.12, found[4])


def test_what_cannot_be_read_is_named(_folder):
    for file, reason, words in REFUSED:
        status, report, err = inspected(file)
        assert status != 0, file
        assert reason in report["reasons"], f"{file}: {report['reasons']}"
        assert words in err, f"{file}: {err}"


def test_every_form_has_a_test(_folder):
    tested = {row[0] for row in READ + READ_OF_ONE + REFUSED}
    for file in FORMS.rglob("*"):
        name = str(file.relative_to(FORMS))
        assert not file.is_file() or name in tested or name.startswith("mlflow/"), name


def test_bare_columns_of_gpus_need_the_unit(_folder):
    check_two("wide/no-unit.csv", "wide", 0, ["0", "1"], "--power-unit", "W")


def test_one_column_may_be_named(_folder):
    _, report, _ = inspected("wide/plain.csv", "--power-column", "gpu1_power_w")
    same(("named", "gpu1_power_w"), (report["schema"], report["power_column"]))
    near(50, report["devices"][0]["mean_w"])


def test_names_of_wide_columns(folder):
    """Which names are the power of a numbered GPU, and which other columns are left out."""
    for first, second, others in [
            ("GPU0 Power", "GPU1 Power", ["GPU0 Power Limit", "Total GPU Power"]),
            ("gpu_0_power_draw_w", "gpu_1_power_draw_w", ["gpu_0_power_cap_w", "cpu_0_power_w"]),
            ("power_gpu0_w", "power_gpu1_w", ["power_total_w", "power_cpu_w"]),
            ("system.gpu.0.powerWatts", "system.gpu.1.powerWatts",
             ["system.gpu.0.powerPercent", "system.gpu.process.0.powerWatts"]),
            ("system/gpu_0_power_usage_watts", "system/gpu_1_power_usage_watts",
             ["system/gpu_0_power_usage_percentage"]),
            ("gpu/0/power", "gpu/1/power", ["gpu/total_power", "gpu/0/power_limit", "gpu/0/temp"]),
            ("card0 [W]", "card1 [W]", ["card0 [%]", "node power [W]"])]:
        rows = [["time", first, *others, second]]
        rows += [[START + 10 * i, watts, *[90] * len(others), 50]
                 for i, watts in enumerate((100, 200, 400, 200))]
        (folder / "wide.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
        check_two("wide.csv", "wide", 0, ["0", "1"], folder=folder)


def test_two_columns_of_one_gpu_are_refused(folder):
    (folder / "twice.csv").write_text("time,gpu0_power_w,gpu0_board_power_w,gpu1_power_w\n"
                                      + "".join(f"{START + i},100,120,50\n" for i in range(4)))
    _, report, err = inspected("twice.csv", folder=folder)
    assert "ambiguous_power_column" in report["reasons"], report
    assert "'gpu0_power_w' and 'gpu0_board_power_w' are both the power of GPU 0" in err, err


def test_hosts_of_rows_are_kept_apart(folder):
    """Two hosts write into one table: GPU 0 is not one GPU."""
    rows = [f"{START + 10 * i},{host},{watts + more},50\n" for i, watts in enumerate((100, 200, 400, 200))
            for host, more in (("a", 0), ("b", 100))]
    (folder / "hosts.csv").write_text("time,hostname,gpu0_power_w,gpu1_power_w\n" + "".join(rows))
    _, report, err = inspected("hosts.csv", folder=folder)
    same([], report["reasons"], err)
    same([("a/0", 225), ("a/1", 50), ("b/0", 325), ("b/1", 50)],
         sorted((gpu[0], gpu[3]) for gpu in devices_of(report)))


def test_counters_are_read_along(_folder):
    for file, counter, unit in [("amd-smi/watch.json", "total_energy_consumption", "J"),
                                ("aiperf/amd.jsonl", "energy_consumption", "MJ"),
                                ("kepler/scrapes.txt", "kepler_node_gpu_joules_total", "J")]:
        _, report, _ = inspected(file)
        same((counter, unit), (report["counter_column"], report["counter_unit"]), file)


def test_a_cut_off_end_does_not_count(folder):
    """No cut within the last record makes another number of it."""
    for file in ["nvidia-smi/q.txt", "nvidia-smi/q-x.xml", "zeus/power-broken-lines.txt",
                 "apple/powermetrics.txt", "jetson/tegrastats.txt", "gpustat/loop.json",
                 "amd-smi/watch.json", "wide/plain.csv", "influxdb/annotated.csv"]:
        text = (FORMS / file).read_bytes()
        for cut in range(max(len(text) * 2 // 3, len(text) - 160), len(text), 7):
            (folder / "cut").write_bytes(text[:cut])
            _, report, err = inspected("cut", folder=folder)
            for gpu in report["devices"]:
                seen = {gpu["min_w"], gpu["max_w"]}
                assert seen <= {50, 100, 200, 400} or seen <= {1, 2, 4}, f"{file} cut at {cut}: {gpu} {err}"


def test_means_of_a_gpu_that_misses_a_row(folder):
    """nvitop's means of 10, 20, ... s. GPU 2 draws 100, 200, 400 and 200 W, GPU 3 always 50 W; its cells
    may be missing, which changes no other: what it drew meanwhile is a mean since its last cell."""
    name = "metrics-daemon/cuda:{0} (gpu:{0})/power_usage (W)/mean"
    header = f"metrics-daemon/timestamp,metrics-daemon/duration (s),{name.format(2)},{name.format(3)}\n"
    for missing in ("", "None", "nan", "x"):
        for number in range(4):
            rows = [[START + 10 * i, 10.0 * (i + 1), mean, 50.0] for i, mean in enumerate((100, 150, 700 / 3, 225))]
            rows[number][3] = missing
            (folder / "mean.csv").write_text(header + "".join(",".join(map(str, row)) + "\n" for row in rows))
            _, report, err = inspected("mean.csv", folder=folder)
            first, second = report["devices"]
            near(225, first["mean_w"], f"{missing} in {number}: {err}")
            same([50, 50], [second["min_w"], second["max_w"]], f"{missing} in {number}: {err}")
    # It begins again while GPU 3 has no cell: 40 J of 20 s, not what is above 50 W in 10 s.
    rows = [[START, 10, 100, 50], [START + 10, 5, 100, ""], [START + 20, 20, 100, 2]]
    (folder / "mean.csv").write_text(header + "".join(",".join(map(str, row)) + "\n" for row in rows))
    _, report, err = inspected("mean.csv", folder=folder)
    same([(100, 100), (2, 50)], [(gpu["min_w"], gpu["max_w"]) for gpu in report["devices"]], err)


def test_means_that_begin_again_between_two_rows(folder):
    """Cleared 20 s before the second row, which is 30 s after the first: its duration does not fall. 100 W for
    10 s, then 40 W. A clock that is late by some ms changes nothing."""
    head = "d/timestamp,d/duration (s),d/gpu:0/power_usage (W)/mean\n"
    rows = [(START, 10, 100), (START + 30, 20, 40), (START + 60.004, 50, 40)]
    (folder / "mean.csv").write_text(head + "".join(",".join(map(str, row)) + "\n" for row in rows))
    _, report, err = inspected("mean.csv", folder=folder)
    same([(3, 40, 100)], [(gpu["samples"], gpu["min_w"], gpu["max_w"]) for gpu in report["devices"]], err)


def test_limits_and_models(folder):
    """A limit that is stated with each reading is checked, and shown by `measure`."""
    head = "==============NVSMI LOG==============\n\n"
    def text(i, watts):
        return (f"{head}Timestamp                                 : Tue Sep  8 07:20:{i:02} 2026\n"
                "GPU 00000000:18:00.0\n    Product Name                          : NVIDIA H100 80GB HBM3\n"
                "    GPU Power Readings\n"
                f"        Average Power Draw                : {watts} W\n"
                "        Current Power Limit               : 650.00 W\n"
                "        Max Power Limit                   : 700.00 W\n\n")
    def xml(i, watts):
        return (f"<nvidia_smi_log>\n<timestamp>Tue Sep  8 07:20:{i:02} 2026</timestamp>\n"
                '<gpu id="00000000:18:00.0">\n<product_name>NVIDIA H100 80GB HBM3</product_name>\n'
                f"<gpu_power_readings>\n<average_power_draw>{watts} W</average_power_draw>\n"
                "<current_power_limit>650.00 W</current_power_limit>\n"
                "<max_power_limit>700.00 W</max_power_limit>\n</gpu_power_readings>\n</gpu>\n</nvidia_smi_log>\n")
    def gpustat(i, watts):
        return json.dumps({"query_time": f"2026-09-08T07:20:{i:02}", "gpus": [
            {"index": 0, "uuid": "GPU-0", "name": "NVIDIA H100 80GB HBM3", "power.draw": watts,
             "enforced.power.limit": 650}]}) + "\n"
    def wandb(i, watts):
        return json.dumps({"_timestamp": START - 30 + i, "system.gpu.0.powerWatts": watts,
                           "system.gpu.0.enforcedPowerLimitWatts": 650}) + "\n"
    def trackio(i, watts):
        last = "]}\n" if i == 59 else ",\n"
        first = '{"project":"p","run":"r","system_metrics":[\n' if i == 0 else ""
        return first + json.dumps({"timestamp": f"2026-09-08T07:20:{i:02}+00:00", "gpu/0/power": watts,
                                   "gpu/0/power_limit": 650.0}) + last
    def wide(i, watts):
        names = "time,gpu0_power_w,gpu0_power_limit_w,gpu1_power_w,gpu1_power_limit_w\n" if i == 0 else ""
        return f"{names}{START - 30 + i},{watts},650,{watts - 1.5},650\n"
    (folder / "wandb-metadata.json").write_text('{"gpu_nvidia": [{"name": "NVIDIA H100 80GB HBM3"}]}')
    for form in (text, xml, gpustat, wandb, trackio, wide):
        for factor, is_valid in ((1, True), (3, False)):
            (folder / "r").write_text("".join(form(i, factor * (450 + i * 7 % 11)) for i in range(60)))
            status, out, err = run("measure", "r", "--start", START - 25, "--end", START + 25, "--json", folder=folder)
            (found,) = json.loads(out)["runs"]
            same(is_valid, found["valid"], f"{form.__name__}: {found['details']}")
            if is_valid:
                same(650.0, found["power_limit_w"], form.__name__)
                if form not in (trackio, wide, wandb):
                    same("NVIDIA H100 80GB HBM3", found["hw"], form.__name__)
            else:
                same(["implausible_power"], found["reasons"], form.__name__)


def test_means_of_w_and_b(folder):
    """Rows 30 s apart are means of the time before: 300 W to 120 s, then 600 W, and one more row."""
    rows = [(30 * i, 300 if i <= 4 else 600) for i in range(12)]
    (folder / "events.jsonl").write_text("".join(json.dumps(
        {"_timestamp": START + at, "system.gpu.0.powerWatts": watts + i % 2 / 10}) + "\n"
        for i, (at, watts) in enumerate(rows)))
    _, report, err = inspected("events.jsonl", folder=folder)
    assert any("means_of_30_s" in warning for warning in report["warnings"]), report
    _, out, err = run("measure", "events.jsonl", "--start", START + 15, "--end", START + 285, "--json", folder=folder)
    (found,) = json.loads(out)["runs"]
    energy = found["salvage"]["total_gpu_energy_j"]
    near(105 * 300 + 165 * 600, energy["estimate"], out, 0.02 * 130500)
    assert energy["low"] < 130500 < energy["high"], energy


def test_columns_of_a_gpu_that_is_not_there(folder):
    """They are empty throughout, which says nothing against the header."""
    rows = [f"{START + 10 * i},61,{watts},,\n" for i, watts in enumerate((100, 200, 400, 200))]
    (folder / "one.csv").write_text("timestamp,gpu0_temp_c,gpu0_power_w,gpu1_temp_c,gpu1_power_w\n" + "".join(rows))
    _, report, err = inspected("one.csv", folder=folder)
    same(([], [("0", 225)]), (report["reasons"], [(gpu["id"], gpu["mean_w"]) for gpu in report["devices"]]), err)


def test_a_column_of_one_gpu(folder):
    """225 W of GPU 0 on average. A column of indices counts if there is one, and a bare number names no power."""
    for name, gpu in (("gpu0_power_w", "0"), ("GPU 3 Power (W)", "3"), ("gpu1 (W)", "1")):
        rows = [f"{START + 10 * i},{watts},61\n" for i, watts in enumerate((100, 200, 400, 200))]
        (folder / "one.csv").write_text(f"timestamp,{name},gpu{gpu}_temp_c\n" + "".join(rows))
        _, report, err = inspected("one.csv", folder=folder)
        same(([], [(gpu, 225)]), (report["reasons"], [(one["id"], one["mean_w"]) for one in report["devices"]]), err)
        if "(W)" in name and "Power" not in name:
            continue
        rows = [f"{START + 10 * i},{index},{watts}\n" for i, watts in enumerate((100, 200, 400, 200)) for index in (4, 5)]
        (folder / "rows.csv").write_text(f"timestamp,index,{name}\n" + "".join(rows))
        _, report, err = inspected("rows.csv", folder=folder)
        same([("4", 225), ("5", 225)], [(one["id"], one["mean_w"]) for one in report["devices"]], err)


def test_times_under_any_name(folder):
    """The only column of dates is the time."""
    rows = [["ts_iso", "boot", "gpu0_power_w", "gpu1_power_w"]]
    rows += [[f"2026-09-08T07:20:{30 + i}+00:00", 5, watts, 50] for i, watts in enumerate((100, 200, 400, 200))]
    (folder / "iso.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    check_two("iso.csv", "wide", 0, ["0", "1"], folder=folder)


def test_blank_lines_before_the_header(folder):
    """A row of units counts after them, too, and another separator is seen."""
    for file in ["wide/tabs-units-row.tsv", "wide/semicolons.csv", "wide/plain.csv"]:
        (folder / "blank").write_bytes(b"\n\r\n" + (FORMS / file).read_bytes())
        check_two("blank", "wide", 0, ["0", "1"], folder=folder)


def test_timelines_in_a_result_of_ml_energy(folder):
    """Of three seconds 100, 300 and 300 W; without --telemetry it is a result. Keys may be sorted."""
    result = json.loads((FORMS.parent / "generators" / "ml_energy.json").read_text())
    power = {"device_instant": {"0": [[START, 100], [START + 1, 300], [START + 3, 300]]},
             "memory_average": {"0": [[START, 60], [START + 3, 60]]}}
    result["timeline"] = {"benchmark_start_time": START, "benchmark_end_time": START + 3, "power": power}
    for is_sorted in (False, True):
        (folder / "r.json").write_text(json.dumps(result, sort_keys=is_sorted))
        (folder / "w.txt").write_text(f"begin a {START}\nend a {START + 3}\n")
        status, out, err = run("windows", "--telemetry", "r.json", "--windows", "w.txt", "--json", folder=folder)
        same(700, json.loads(out)["windows"][0]["energy_j"], err)
        assert "ML.ENERGY" in run("inspect", "r.json", folder=folder)[1]


def test_dates_whose_order_counts(folder):
    """5/5/2026 is the same day in both orders and decides nothing."""
    head = 'Date,Time,"GPU Power [W]",\n'
    for last, day in [("13/5/2026", 13), ("5/13/2026", 13), ("5/5/2026", 5), ("6/5/2026", None)]:
        (folder / "dates.csv").write_text(f"{head}5/5/2026,9:20:30.000,100.0,\n{last},9:20:31.000,100.0,\n")
        _, report, err = inspected("dates.csv", folder=folder)
        same(["timestamp_column_missing"] if day is None else [], report["reasons"], f"{last}: {err}")
        if day is not None:  # 5 May 2026, 07:20:30 UTC
            near(1777965630, report["devices"][0]["first_unix"], last)
            near(1777965631 + 86400 * (day - 5), report["devices"][0]["last_unix"], last)
    # After the rows by which a table is known.
    rows = [f"5/5/2026,9:{20 + i // 60}:{i % 60:02}.000,100.0,\n" for i in range(100)]
    (folder / "dates.csv").write_text(head + "".join(rows) + "6/5/2026,9:20:30.000,100.0,\n")
    status, report, err = inspected("dates.csv", folder=folder)
    assert status == 1 and "day or the month first" in err, (report, err)


def test_a_word_within_a_name_is_no_temperature(folder):
    rows = [f"{START + i},200,60,50\n" for i in range(4)]
    for name, is_doubted in [("attempt", False), ("attempts", False), ("temp", True), ("gpu_temp_c", True),
                             ("Temperature [C]", True)]:
        (folder / "wide.csv").write_text(f"time,{name},gpu0_power_w,gpu1_power_w\n" + "".join(rows))
        _, report, err = inspected("wide.csv", folder=folder)
        same(["power_column_missing"] if is_doubted else [], report["reasons"], f"{name}: {err}")


def test_names_of_values_in_json(folder):
    """A bare name is not a power, and one that is not in watts is refused beside those that are."""
    line = {"_timestamp": START, "system.gpu.0.powerWatts": 100.0, "gpu.0": 55, "gpu.1": 55}
    (folder / "events.jsonl").write_text("".join(json.dumps(line | {"_timestamp": START + i}) + "\n" for i in range(4)))
    _, report, err = inspected("events.jsonl", folder=folder)
    same([("0", 100)], [(gpu["id"], gpu["max_w"]) for gpu in report["devices"]], err)
    line |= {"system.gpu.1.power_mw": 50000}
    (folder / "events.jsonl").write_text("".join(json.dumps(line | {"_timestamp": START + i}) + "\n" for i in range(4)))
    status, report, err = inspected("events.jsonl", folder=folder)
    assert status == 1 and "is not in watts" in err, (report, err)


def test_hostile_records_end_soon(folder):
    """Names in another order, GPUs and series without end: time and memory stay small."""
    keys = ["system.gpu.0.powerWatts", *(f"system.disk.{number}" for number in range(60000))]
    line = {"_timestamp": START} | dict.fromkeys(keys, 1.0)
    other = {"_timestamp": START + 1} | dict.fromkeys(reversed(keys), 1.0)
    (folder / "events.jsonl").write_text(json.dumps(line) + "\n" + json.dumps(other) + "\n")
    gpus = '{"schema":1,"timestamp":%d,"gpus":[%s{"uuid":"a","power_consumption":1}]}' % (START, "{}," * 70000)
    (folder / "gpus.json").write_text(gpus + "\n")
    head = ",result,table,_time,_value,_field,_measurement,host\n"
    (folder / "influx.csv").write_text(
        head + ",,0,2026-09-08T07:20:30Z,1,power_draw,nvidia_smi,a\n"
        + "".join(f",,0,2026-09-08T07:20:30Z,1,cpu,cpu,{number}\n" for number in range(65536)))
    for file, words in [("events.jsonl", ""), ("gpus.json", "more than 65536 GPUs"),
                        ("influx.csv", "more than 65536 series")]:
        done = subprocess.run([PROGRAM, "inspect", file, "--json"], cwd=folder, capture_output=True, text=True,
                              timeout=20, check=False)
        assert words in done.stderr, f"{file}: {done.stderr[:500]}"


def table(folder, header, rows, name="table.csv"):
    """What inspect says of a table with a row each second."""
    rows = [f"{START + i},{','.join(map(str, row))}\n" for i, row in enumerate(rows)]
    (folder / name).write_text(f"time,{header}\n" + "".join(rows))
    _, report, err = inspected(name, folder=folder)
    return report, err


def measured(folder, name, start=START, end=START + 30):
    """The reasons, and the energy."""
    _, out, err = run("measure", "--telemetry", name, "--start", start, "--end", end, "--json", folder=folder)
    found = json.loads(out)["runs"][0]
    return found["reasons"], found.get("total_gpu_energy_j"), out + err


def test_columns_that_tell_hosts_apart(folder):
    """In each row one of two nodes: of either, GPU 0 draws 100 or 200 W."""
    for column, words in [("server", "ab"), ("rank", "01"), ("pod", "pq"), ("node_id", "34"), ("machine", "ab")]:
        report, err = table(folder, f"{column},gpu0_power_w,gpu1_power_w",
                            [(words[i % 2], 100 + 100 * (i % 2), 50) for i in range(40)])
        same([], report["reasons"], err)
        same([(f"{word}/{gpu}", 100 + 100 * k if gpu == 0 else 50) for k, word in enumerate(words) for gpu in (0, 1)],
             sorted((gpu[0], gpu[3]) for gpu in devices_of(report)), column)
    for column, words in [("blade", "xy"), ("slot_no", "12")]:
        report, err = table(folder, f"{column},gpu0_power_w,gpu1_power_w",
                            [(words[i % 2], 100 + i, 50 + i) for i in range(64)])
        assert "gpu_identity_conflict" in report["reasons"] and f"column '{column}'" in err, (column, report, err)
    report, err = table(folder, "hostname,instance,gpu0_power_w,gpu1_power_w",
                        [("ab"[i % 2], "x", 100, 50) for i in range(40)])
    same(["a/x/0", "a/x/1", "b/x/0", "b/x/1"], sorted(gpu[0] for gpu in devices_of(report)))


def test_powers_of_other_names_are_not_left_out(folder):
    """Two GPUs fit the pattern, and a third column has the power of a GPU under another name."""
    for other in ["node1_gpu0_power_w", "gpu_c_power_w", "node_1_gpu_0_power_w", "decode_gpu0_power_w"]:
        report, err = table(folder, f"gpu0_power_w,gpu1_power_w,{other}", [(100, 50, 70)] * 4)
        assert report["reasons"] and f"'{other}'" in err, (other, report, err)
    for other in ["gpu0_hbm_power_w", "gpu_power_limit_w", "total_gpu_power_w", "cpu_power_w", "gpu_power_w",
                  "gpu_total_power_w", "gpu0_power_std", "power_cap_gpu0_w", "gpu0_smoothed_power_w"]:
        report, err = table(folder, f"gpu0_power_w,gpu1_power_w,{other}", [(100, 50, 70)] * 4)
        same([], report["reasons"], other + err)


def test_percentages_above_a_hundred_are_none(folder):
    header = "gpu0_power_w,gpu0_{0},gpu1_power_w,gpu1_{0}"
    for name in ["util_pct", "utilization", "percent"]:
        report, err = table(folder, header.format(name), [(2, 400, 3, 350)] * 4)
        assert report["reasons"] and "disagrees" in err, (name, report, err)
        report, err = table(folder, header.format(name), [(400, 100, 350, 99.5)] * 4)
        same([], report["reasons"], err)
    report, err = table(folder, "gpu0_power_w,gpu1_power_w,cpu_percent", [(400, 350, 1600)] * 4)
    same([], report["reasons"], err)


def test_failed_readings_of_one_gpu_are_refused(folder):
    """A word or no cell at all is no reading where the row has the other GPU's; an empty row has none."""
    for cells, is_good in [("200,nan", False), ("200,None", False), ("200", False), ("200,N/A", False), ("nan,nan", True),
                           (",", True), ("None,", True)]:
        rows = [f"{START + i}," + (cells if i % 2 else "200,300") + "\n" for i in range(32)]
        (folder / "failed.csv").write_text("time,gpu0_power_w,gpu1_power_w\n" + "".join(rows))
        reasons, energy_j, text = measured(folder, "failed.csv")
        same([] if is_good else ["invalid_power_sample"], reasons, cells + text)
        if is_good:
            near(30 * 500, energy_j, cells)


def test_one_name_of_gpus_of_two_nodes(folder):
    """Exporters call a GPU whose UUID they do not know by its number; localhost is each node."""
    line = ('{{"timestamp_ns":{},"{}":"{}","gpu_index":0,"gpu_uuid":"{}","hostname":"{}",'
            '"telemetry_data":{{"gpu_power_usage":{}}}}}\n')
    for uuid, hosts, names in [("amd-gpu-0", ["n0", "n1"], ["n0/amd-gpu-0", "n1/amd-gpu-0"]),
                               ("", ["localhost", "localhost"], ["n0:9400/0", "n1:9400/0"]),
                               ("gpu0", ["127.0.0.1", ""], ["n0:9400/gpu0", "n1:9400/gpu0"]),
                               ("GPU-5f0c1a2b", ["n0", "n0"], ["GPU-5f0c1a2b"]),
                               ("72ff74a1-0000-1000-8078-0123456789ab", ["n0", "n0"],
                                ["72ff74a1-0000-1000-8078-0123456789ab"])]:
        for url in ["dcgm_url", "telemetry_source_url"]:
            (folder / "two.jsonl").write_text("".join(
                line.format((START + i) * 10**9 + node, url, f"http://n{node}:9400/metrics", uuid, hosts[node],
                            100 + 100 * node) for i in range(8) for node in (0, 1)))
            _, report, err = inspected("two.jsonl", folder=folder)
            same(names, sorted(gpu[0] for gpu in devices_of(report)), err)


def test_a_card_with_two_chips_counts_once(folder):
    """Only one chip has the card's power, first or second: 100 W, in which both chips' 30 W are."""
    def chip(power):
        return {"board_info": {"board_id": "b0"}, "telemetry": {"power": "30.0", "board_power": power}}

    for powers in [("100.0", "N/A"), ("N/A", "100.0"), ("100.0", "100.0")]:
        (folder / "tt.json").write_text("".join(json.dumps(
            {"time": f"2026-09-08T07:20:{30 + i}", "host_info": {"Hostname": "n0"},
             "device_info": [chip(power) for power in powers]}) + "\n" for i in range(8)))
        _, report, err = inspected("tt.json", "--timezone", "UTC", folder=folder)
        same([100], [gpu[3] for gpu in devices_of(report)], err)


def test_other_boards_of_a_desktop(folder):
    """Boards of two makers have their power under two names."""
    def of(*columns):
        rows = [f"8.9.2026,07:20:{30 + i}.000," + ",".join("50" for _ in columns) + ",\n" for i in range(8)]
        (folder / "hw.csv").write_text("Date,Time," + ",".join(f'"{name} [W]"' for name in columns) + ",\n" + "".join(rows))
        _, report, err = inspected("hw.csv", folder=folder)
        return report["reasons"], err

    gpu, total, chip = "GPU Power", "Total Board Power (TBP)", "GPU ASIC Power"
    for names in [(gpu, total), (gpu, chip), (total, chip, chip), (gpu, total, chip)]:
        reasons, err = of(*names)
        assert "ambiguous_power_column" in str(reasons) + err, (names, reasons, err)
    for names in [(gpu,), (gpu, gpu), (total, chip), (chip,)]:
        same([], of(*names)[0], names)
    ids = ",/gpu-amd/0/power/0,/gpu-nvidia/0/power/0\nTime,GPU Core,GPU Package\n"
    (folder / "lhm.csv").write_text(ids + "".join(f'"09/28/2026 07:20:{30 + i}",50,60\n' for i in range(8)))
    _, report, _ = inspected("lhm.csv", folder=folder)
    assert "gpu_left_out: /gpu-amd/0" in str(report["warnings"]), report


def test_events_of_several_hosts(folder):
    """All keys have a host's label, so that the first line looks like a header of numbered powers."""
    (folder / "wandb-events.jsonl").write_text("".join(
        f'{{"_wandb": true, "_timestamp": {START + i}.25, "_runtime": {i}, "system.gpu.0.powerWatts/l:n0": 60.0, '
        f'"system.gpu.0.powerWatts/l:n1": 50.0}}\n' for i in range(8)))
    _, report, err = inspected("wandb-events.jsonl", folder=folder)
    same([("n0/0", 60), ("n1/0", 50)], sorted((gpu[0], gpu[3]) for gpu in devices_of(report)), err)


def test_counters_of_one_gpu_that_are_no_copies(folder):
    """Kepler counts what a GPU drew idle and in use apart; two jobs may be two GPUs; pods share one."""
    (folder / "load.txt").write_text(f"begin load {START + 5}\nend load {START + 25}\n")
    kepler = 'kepler_node_gpu_joules_total{{gpu="0",gpu_uuid="GPU-0",mode="{}"}}'
    dcgm = 'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{gpu="0",{}="{}"}}'
    shared = 'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{gpu="0",UUID="GPU-0",pod="{}"}}'
    for series, is_good in [([kepler.format("idle"), kepler.format("dynamic")], False),
                            ([dcgm.format("job", "a"), dcgm.format("job", "b")], False),
                            ([dcgm.format("pod", "a"), dcgm.format("pod", "b")], False),
                            ([shared.format("a"), shared.format("b")], True), ([kepler.format("idle")], True)]:
        (folder / "scrapes.txt").write_text("".join(
            f"# {START + i}\n" + "".join(f"{name} {(5000 + 200 * i) * (1 if 'joules' in name else 1000)}\n"
                                         for name in series) for i in range(31)))
        status, out, err = run("windows", "--telemetry", "scrapes.txt", "--windows", "load.txt", folder=folder)
        same(is_good, status == 0, (series, out, err))
        same(not is_good, "gpu_identity_conflict" in err, err)


def test_sparse_samples_are_refused(_folder):
    """Trackers sample each 10 to 30 s. From the second reading to the last: 300 W and 50 W for 20 s."""
    window = ("--start", START + 10.25, "--end", START + 30.25, "--telemetry", "wandb/wandb-events.jsonl")
    status, out, err = run("measure", *window)
    assert status == 1 and "sampling_gap_exceeded" in out + err, (status, out, err)
    status, out, err = run("measure", *window, "--max-sample-gap", 11, "--json")
    near(7000, json.loads(out)["runs"][0]["total_gpu_energy_j"], out)


def test_every_form_is_known_by_position(_folder):
    """A form that 'inspect' reads is a recording for 'measure', whatever its name ends with, and never the result."""
    window = ("--start", START + 1, "--end", "+1s", "--json")
    for file, *_ in [*READ, *READ_OF_ONE]:
        _, by_position, err = run("measure", file, *window)
        _, by_option, _ = run("measure", "--telemetry", file, *window)
        assert by_position and by_position == by_option, f"{file}: {err}{by_position}"
        status, out, err = run("measure", file)
        is_named = "looks like a recording" in err or "it is AIPerf's GPU telemetry, a recording: give" in " ".join(out.split())
        assert status != 0 and is_named, f"{file}: {status} {out}{err}"
    for file in ("rates/miso.json", "results/gpu_metrics_context.json"):  # a time and no power
        status, out, err = run("measure", file, folder=FORMS.parent)
        assert "looks like a recording" not in err, f"{file}: {status} {out}{err}"


# A file that is no recording of power over time, and what its reason says.
EMISSIONS = ("timestamp,project_name,run_id,duration,emissions,cpu_power,gpu_power,energy_consumed\n"
             "2026-04-25T12:00:00+00:00,p,r,60,0.1,100,400,0.01\n")
OTHERS = {
    "emissions.csv": (EMISSIONS, "use the recorder's raw log"),
    "empty.json": ('{"status": "success", "data": {"resultType": "vector", "result": []}}', "do what the reason says"),
    "error.json": ('{"status": "error", "errorType": "bad_data", "error": "exceeded"}', "do what the reason says"),
    "page.csv": ("<!doctype html><html></html>\n", "do what the reason says"),
    "limits.csv": ("timestamp,index,power.limit [W]\n1777118400,0,700\n1777118401,0,700\n", "record the draw, not the limit"),
}


def test_no_column_is_asked_of_what_is_no_recording(_):
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, wanted) in OTHERS.items():
            (pathlib.Path(folder) / name).write_text(text)
            _, out, err = run("measure", "--telemetry", name, "--start", START, "--end", "+2s", "--json", folder=folder)
            remedies = json.loads(out)["runs"][0]["remedies"]
            same([1, True], [len(remedies), wanted in remedies[0]], f"{name}: {remedies} {err}")
        (pathlib.Path(folder) / "plain.csv").write_text("time,watt_hours\n1777118400,5\n")  # a recording without its columns
        remedies = json.loads(run("measure", "--telemetry", "plain.csv", "--start", START, "--end", "+2s", "--json",
                                  folder=folder)[1])["runs"][0]["remedies"]
        assert any("name it with --power-column" in remedy for remedy in remedies), remedies


def series_of(host, gpu, watts):
    uuid = f"GPU-0000abc{gpu}-0000-0000-0000-00000000000{host[-1]}"
    return {"metric": {"__name__": "DCGM_FI_DEV_POWER_USAGE", "Hostname": host, "UUID": uuid, "gpu": str(gpu)},
            "values": [[START + second, str(watts)] for second in range(11)]}


def test_gpus_with_uuids_are_also_chosen_by_host_and_number(_):
    """100, 200, 300 and 400 W for 10 s."""
    watts = {("n1", 0): 100, ("n1", 1): 200, ("n2", 0): 300, ("n2", 1): 400}
    matrix = {"status": "success", "data": {"resultType": "matrix",
                                            "result": [series_of(*key, value) for key, value in watts.items()]}}
    scrapes = []
    for second in range(11):
        for one in matrix["data"]["result"]:
            labels = ",".join(f'{key}="{value}"' for key, value in one["metric"].items() if key != "__name__")
            scrapes.append(f"DCGM_FI_DEV_POWER_USAGE{{{labels}}} {one['values'][second][1]} {(START + second) * 1000}\n")
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "matrix.json").write_text(json.dumps(matrix))
        (pathlib.Path(folder) / "scrapes.txt").write_text("".join(scrapes))
        for file in ("matrix.json", "scrapes.txt"):
            for chosen, joules in (("n1/0", 1000), ("n2/1", 4000), ("n1/0,n2/0", 4000), ("GPU-0000abc1-0000-0000-0000-000000000001", 2000)):
                _, out, err = run("measure", "--telemetry", file, "--start", START, "--end", "+10s", "--gpus", chosen, "--json", folder=folder)
                found = json.loads(out)["runs"][0]
                same((True, joules), (found["valid"], found.get("total_gpu_energy_j")), f"{file} {chosen} {found['details']} {err}")
            for chosen, wanted in (("0", "may be any of"), ("n3/0", "is not in the recording")):
                _, out, _ = run("measure", "--telemetry", file, "--start", START, "--end", "+10s", "--gpus", chosen, "--json", folder=folder)
                found = json.loads(out)["runs"][0]
                same((["selected_gpu_missing"], True), (found["reasons"][:1], wanted in found["details"]), f"{file} {chosen} {found['details']}")


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
