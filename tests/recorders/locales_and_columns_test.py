#!/usr/bin/env python3
"""Columns, units and cells as other programs and other locales write them: read, or refused by name.

Each recording is of one or two GPUs whose power is constant, so that every energy is watts times
seconds.

usage: tests/recorders/locales_and_columns_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import running  # noqa: E402
from running import PROGRAM, ROOT, run_tests  # noqa: E402

T0 = 1788852000  # 2026-09-08 07:20:00 UTC
START = T0 + 5


class Folder(running.Folder):
    def call(self, *words):
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=self.path, capture_output=True, text=True,
                              errors="replace", stdin=subprocess.DEVNULL, timeout=60,
                              env={"PATH": os.environ["PATH"], "TZ": "UTC"})
        self.status, self.said = done.returncode, " ".join((done.stdout + done.stderr).split())
        return done.stdout

    def measure(self, content, *more):
        """Of 10 s; gives the joules, or None if it was refused."""
        self.write("log.csv", content)
        out = self.call("measure", "--start", START, "--end", "+10s", "--telemetry", "log.csv",
                        "--timezone", "UTC", "--json", *more)
        assert self.status in (0, 1), self.said
        run = json.loads(out)["runs"][0]
        self.why = " ".join([run["details"], *run["remedies"], *run["warnings"]])
        return run["total_gpu_energy_j"] if run["valid"] else None

    def reads(self, joules, content, *more):
        found = self.measure(content, *more)
        assert found is not None and abs(found - joules) < 1e-6 * joules, \
            f"expected {joules} J, got {found}: {self.why}\n{content[:200]!r}"

    def refuses(self, pattern, content, *more):
        found = self.measure(content, *more)
        assert found is None, f"{found} J were published\n{content[:200]!r}"
        assert re.search(pattern, self.why), f"{pattern!r} is not said: {self.why}"


def iso(second, mark=" "):
    return f"2026-09-08{mark}07:20:{second:02}"


def table(header, row, seconds=20, end="\n"):
    """`row` of a second; it may have several lines."""
    return header + end + "".join(row(i) + end for i in range(seconds))


# ---- Which column

def test_no_part_is_taken_for_the_gpu(folder):
    for name in ("gpu_core_power", "core_power", "GPU Core Power [W]", "memory_power", "battery_power",
                 "batteryPower", "gpu_package_power", "cpu_package_power", "cpu_power", "soc_power",
                 "fan_power", "power_percent", "power %", "screen_power", "igpu_power", "vddgfx_power", "gpu_chip_power", "hbm_power_avg", "gpu_energy_power_j"):
        content = table(f"timestamp,index,{name},total_board_power", lambda i: f"{T0 + i},0,70,100")
        folder.refuses("power_column_missing", content)
        folder.refuses("--power-column", content)
        folder.reads(1000, content, "--power-column", "total_board_power")
    folder.refuses("'gpu_core_power', 'memory_power', 'total_board_power'", table(
        "timestamp,index,gpu_core_power,memory_power,total_board_power", lambda i: f"{T0 + i},0,70,10,100"))


def test_the_loose_rule_takes_what_is_no_part(folder):
    folder.reads(1000, table("timestamp,index,my_power_reading,core_power", lambda i: f"{T0 + i},0,100,70"))
    folder.reads(1000, table("timestamp,index,core_power,my_power_reading", lambda i: f"{T0 + i},0,70,100"))


def test_a_package_that_is_all_counts(folder):
    for name in ("package_power (W)", "gpu_package_power", "Average Graphics Package Power (W)"):
        folder.reads(1000, table(f"timestamp,card,{name},power_limit", lambda i: f"{T0 + i},0,100,300"))


def test_schema_1_keeps_its_rule(folder):
    folder.write("log.csv", table("timestamp,index,gpu_core_power", lambda i: f"{T0 + i},0,70"))
    folder.write("run.json", json.dumps({
        "benchmark_start_time_unix": START, "benchmark_end_time_unix": START + 10, "duration": 10,
        "completed": 5, "total_input_tokens": 10, "total_output_tokens": 10}))
    folder.write("agg.json", "{}")
    folder.call("--schema-version", 1, "--csv", "log.csv", "--bench-result", "run.json", "--agg-result", "agg.json")
    assert folder.json("agg.json")["avg_power_w"] == 70, folder.said
    for command in (["inspect", "log.csv"], ["doctor", "log.csv"]):
        folder.call(*command)
        assert folder.status != 0 and "core_power" in folder.said, folder.said


def test_loads_are_no_names(folder):
    loads = [0, 0, 0, 97, 98, 95, 99, 98, 98, 96, 97, 99, 93, 99, 98, 97, 0, 0, 0, 0]
    for cells in ([str(n) for n in loads], [f"{n} %" for n in loads], [f"{n}.5" for n in loads]):
        content = table("timestamp,cpu,gpu,ram,power", lambda i: f"{T0 + i},35,{cells[i]},41,100")
        folder.refuses("percent", content)
        folder.refuses("--expected-num-gpus 1", content)
        folder.reads(1000, content, "--expected-num-gpus", 1)


def test_loads_are_no_names_after_a_long_idle_time(folder):
    # 300 s of idle before the load, in which the recording says nothing about the column.
    content = table("timestamp,cpu,gpu,ram,power", lambda i: f"{T0 - 300 + i},35,"
                    f"{0 if i < 300 else 60 + 37 * i % 40},41,100", 330)
    folder.refuses("percent", content, "--max-sample-gap", 60)
    folder.reads(1000, content, "--expected-num-gpus", 1)


def test_two_loads_are_no_two_gpus(folder):
    loads = [99, 100, 99, 99, 100, 100, 100, 99, 100, 99, 99, 99, 100, 100, 99, 100, 100, 100, 99, 99]
    content = table("timestamp,cpu,gpu,ram,power", lambda i: f"{T0 + i},35,{loads[i]},41,100")
    folder.refuses("percent", content, "--max-sample-gap", 60)
    # A GPU after another, each alone.
    one = "".join(f"{T0 + i - (0 if gpu == 20 else 200)},{gpu},100\n" for gpu in (30, 20) for i in range(30))
    folder.reads(1000, "timestamp,gpu,power_w\n" + one, "--gpus", 20)


def test_row_numbers_are_no_names(folder):
    two = lambda first: lambda i: "\n".join(f"{first(i, gpu)},{T0 + i},{gpu},{100 + 100 * gpu}" for gpu in (0, 1))
    for first in (lambda i, gpu: 2 * i + gpu, lambda i, gpu: 500 + 2 * i + gpu, lambda i, gpu: i):
        folder.reads(3000, table("index,timestamp,gpu_id,power_w", two(first)))
    alone = table("index,timestamp,power_w", lambda i: f"{i},{T0 + i},100")
    folder.refuses("'index' numbers the rows", alone)
    folder.reads(1000, alone, "--expected-num-gpus", 1)


def test_names_that_look_like_numbers_of_rows_stay(folder):
    # 72 GPUs, each at its own millisecond; GPU 0 to 71 at 10 W.
    folder.reads(7200, table("timestamp,index,power.draw [W]", lambda i: "\n".join(
        f"{iso(i)}.{gpu:03},{gpu},10.00 W" for gpu in range(72))))
    # As pandas writes names beside a missing one.
    folder.reads(3000, table("timestamp,gpu,power_w", lambda i: f"{T0 + i},0.0,100\n{T0 + i},1.0,200"))
    # The rows of one GPU, then the rows of another, each with the same times.
    one = [f"{T0 + i},{gpu},{watts}" for gpu, watts in ((20, 100), (30, 200), (40, 300)) for i in range(20)]
    folder.reads(6000, "timestamp,gpu,power_w\n" + "\n".join(one) + "\n")
    # Irregular, as from a recorder that asks each GPU when it can.
    folder.reads(6000, table("timestamp,gpu,power_w", lambda i: "\n".join(
        f"{T0 + i}.{n},{gpu},{watts}" for n, (gpu, watts) in enumerate(((40, 100), (18, 200), (33, 300))))))


# ---- Units

def test_units_are_understood_as_people_write_them(folder):
    for name in ("power_milliwatts", "gpu_power_milliwatts", "power_milliwatt", "power [milliwatts]",
                 "power (milliwatts)", "power (mW)", "power_usage_milliwatts", "gpu_power_usage_milliwatts",
                 "powerMilliwatts", "power mW", "powermW", "gpu_power_mw", "gpu_milliwatts", "power_mw_avg",
                 "Power in milliwatts", "power.draw [mW]", "power_draw_mwatts", "power [mW] now"):
        folder.reads(1000, table(f"timestamp,index,{name}", lambda i: f"{T0 + i},0,100000"))
    for name in ("power_microwatts", "power [microwatts]", "power (uW)", "power_uw", "power [\u00b5W]"):
        folder.reads(1000, table(f"timestamp,index,{name}", lambda i: f"{T0 + i},0,100000000"))
    for name in ("power_kilowatts", "power [kilowatts]", "power_kw", "power (kW)"):
        folder.reads(1000, table(f"timestamp,index,{name}", lambda i: f"{T0 + i},0,0.1"))
    folder.reads(1000, table("timestamp,index,power_w", lambda i: f"{T0 + i},0,100"))
    folder.reads(1000, table("timestamp,index,power", lambda i: f"{T0 + i},0,100000 milliwatts"))


def test_a_unit_that_is_not_known_is_no_watt(folder):
    for name in ("power_nanowatts", "power_deciwatts", "power [cW]", "power_megawatts", "power_nw"):
        folder.refuses("power_column_missing", table(f"timestamp,index,{name}", lambda i: f"{T0 + i},0,1000"))


def test_power_unit_takes_and_proposes_microwatts(folder):
    content = table("timestamp,index,power", lambda i: f"{T0 + i},0,100000000")
    folder.refuses("--power-unit uW", content)
    folder.reads(1000, content, "--power-unit", "uW")
    content = table("timestamp,index,power", lambda i: f"{T0 + i},0,100000")
    folder.refuses("--power-unit mW", content)
    folder.reads(1000, content, "--power-unit", "mW")


def test_jetsons_write_milliwatts_of_the_module(folder):
    loads = lambda i: (7 * i) % 100
    for header, row in (
            ("time,uptime,nvp model,CPU1,GPU,power cur,power avg", lambda i: f"{iso(i)},22:47,MAXN,5,{loads(i)},5000,4899"),
            ("time,GPU,power cur,power avg", lambda i: f"{iso(i)},{loads(i)},5000,4899"),
            ("time,uptime,GPU,Power VDD_CPU,Power TOT,jetson_clocks,nvp model", lambda i: f"{iso(i)},1,{loads(i)},99,5000,OFF,MAXN"),
            ("timestamp,GPU,VDD_IN", lambda i: f"{iso(i)},{loads(i)},5000"),
            ("timestamp,GR3D,POM_5V_IN", lambda i: f"{iso(i)},{loads(i)},5000 mW")):
        folder.reads(50, table(header, row))
        assert "module" in folder.why, folder.why


# ---- Cells

def test_a_cell_below_no_name_does_not_fit(folder):
    for end in (",", ",,", " ,"):
        bad = table(f"timestamp,index,temperature,power [W]{end}", lambda i: f"{T0 + i},0,63,5,100.25{end}")
        folder.refuses("row 1 after the header has 5 cells, and the header has 4", bad)
        folder.reads(1000, table(f"timestamp,index,temperature,power [W]{end}", lambda i: f"{T0 + i},0,63,100{end}"))
    folder.refuses("5 cells", table("timestamp,index,temperature,power [W],", lambda i: f"{T0 + i},,63,5,100.25,"))
    folder.refuses("5 cells", table('timestamp,index,temperature,power [W],', lambda i: f'{T0 + i},"0",63,5,"100.25",'))
    # A first column without a name, as pandas writes it, is not among these.
    folder.reads(1000, table(",timestamp,gpu,power_w", lambda i: f"{i},{T0 + i},0,100"))


def test_a_long_row_of_a_wide_table_does_not_fit(folder):
    header = 'Time,"DCGM_FI_DEV_POWER_USAGE{gpu=""0""}","DCGM_FI_DEV_POWER_USAGE{gpu=""1""}"'
    for end in ("", ","):
        folder.refuses("invalid_power_sample", table(header + end, lambda i: f"{iso(i)},90,5,88,5{end}"))
        folder.reads(2000, table(header + end, lambda i: f"{iso(i)},100,100{end}"))
        folder.reads(2000, table(header + end, lambda i: f'{iso(i)},"100,0","100,0"{end}'))


def test_other_locales_are_read(folder):
    grafana = '"Time";"DCGM_FI_DEV_POWER_USAGE{Hostname=""n1"", UUID=""GPU-aa"", gpu=""0""}";' \
              '"DCGM_FI_DEV_POWER_USAGE{Hostname=""n1"", UUID=""GPU-bb"", gpu=""1""}"'
    rows = lambda i: f"{iso(i)};100,5;99,5"
    folder.reads(2000, table(grafana, rows))
    folder.reads(2000, table("sep=;\n" + grafana, rows))
    folder.reads(2000, "\ufeffsep=;\r\n" + table(grafana, rows, end="\r\n"))
    for separator in (";", "\t"):
        for watts, joules in (("100,25", 1002.5), ("100.25", 1002.5), ("100", 1000), ("100,25 W", 1002.5)):
            content = table(separator.join(("timestamp", "index", "power.draw [W]")),
                            lambda i: separator.join((iso(i), "0", watts)))
            folder.reads(joules, content)
            folder.reads(joules, content.encode("utf-16"))
            folder.reads(joules, content.rstrip("\n"))
    folder.reads(1002.5, table("timestamp,index,power", lambda i: f'{iso(i)},0,"100,25"'))
    folder.reads(1002.5, table("timestamp;index;power", lambda i: f"{iso(i)},5;0;100,25" if i else f"{iso(i)},0;0;100,25"))


def test_what_does_not_agree_is_refused_by_name(folder):
    folder.refuses("'1,234'", table("timestamp;index;power_mw", lambda i: f"{T0 + i};0;1,234"))
    folder.refuses("'100,25'", table("timestamp;index;limit;power", lambda i: f"{T0 + i};0;300.5;100,25"))
    late = table("timestamp;index;power", lambda i: f"{iso(i % 60)};0;100,25", 20) + \
        "".join(f"2026-09-08 07:{21 + i // 60}:{i % 60:02};0;{'100.25' if i == 100 else '100,25'}\n" for i in range(120))
    folder.refuses("row 122: '100.25' has a decimal point", late)
    folder.refuses("comma", table("timestamp,index,power", lambda i: f"{T0 + i},0,100,25"))


def test_times_with_a_comma_before_the_fraction(folder):
    for fraction in ("123456789+00:00", "123456", "123456Z", "000123"):
        folder.reads(1000, table("timestamp,index,power", lambda i: f"{iso(i, 'T')},{fraction},0,100"))
    folder.reads(1000, table("timestamp,index,power", lambda i: f"{iso(i)},{(37 * i) % 1000:03},0,100"))
    folder.reads(1000, table("index,timestamp,power", lambda i: f'0,"{iso(i)},500",100'))
    # Three digits may be a power under a name that is missing.
    folder.refuses("5 cells|4 cells", table("timestamp,index,power", lambda i: f"{iso(i)},{300 + 37 * i % 300},0,100"))


def test_a_last_number_that_was_cut_off_does_not_count(folder):
    last = f"{T0 + 20},0,"
    for header, cell, cut in (("power", "652.17 W", "6"), ("power", "652.17 W", "652.17"), ("power", "652.17", "652.1"),
                              ("power", "652.17", "652"), ("power", "652", "65"), ("power [W]", "652.00 W", "652.00 ")):
        content = table(f"timestamp,index,{header}", lambda i: f"{T0 + i},0,{cell}") + last + cut
        folder.write("log.csv", content)
        folder.call("inspect", "log.csv")
        assert "torn_tail" in folder.said, (cell, cut, folder.said)
        folder.write("log.csv", content + cell[len(cut):] if cell.startswith(cut) else content)
        folder.call("inspect", "log.csv")
        assert "torn_tail" not in folder.said, (cell, cut, folder.said)
    whole = table("timestamp,index,power", lambda i: f"{T0 + i},0,{600 + i / 2:g}") + last + "610"
    folder.write("log.csv", whole)
    folder.call("inspect", "log.csv")
    assert "torn_tail" not in folder.said, folder.said


# ---- Prices

def test_prices_of_other_locales(folder):
    log = table("timestamp,index,power", lambda i: f"{T0 + 60 * i},0,100", 62)

    def cost(prices, *more):
        folder.write("price.csv", prices)
        folder.write("log.csv", log)
        out = folder.call("measure", "--start", T0, "--end", "+3600s", "--telemetry", "log.csv", "--timezone", "UTC",
                          "--max-sample-gap", 100, "--price", *(more or ("price.csv", "--currency", "EUR")), "--json")
        return json.loads(out)["runs"][0]["facility"]["cost"] if out.strip() and folder.status == 0 else None

    hours = lambda *cells: "".join(f"2026-09-08T{7 + i:02}:00:00Z{cell}\n" for i, cell in enumerate(cells))
    near = lambda found: found is not None and abs(found - 0.02) < 1e-9  # 0.1 kWh at 0.2
    assert near(cost("time,value\n" + hours(",0.2", ",0.2"))), folder.said
    assert near(cost("time;value\n" + hours(";0,2", ";0,2"))), folder.said
    assert near(cost("sep=;\ntime;value\n" + hours(";0,2", ";0,2"))), folder.said
    assert near(cost('time,value\n' + hours(',"0,2"', ',"0,2"'))), folder.said
    assert near(cost("time,value [EUR/MWh]\n" + hours(",200", ",200"))), folder.said
    assert near(cost("", "200/MWh")), folder.said
    assert cost("time,value\n" + hours(",0,2", ",0,5")) is None
    assert folder.status == 2 and "price.csv:2: the row has 3 cells" in folder.said, folder.said
    assert cost("time,value,\n" + hours(",0,2", ",0,5")) is None, folder.said
    assert cost("", "0,2") is None and folder.status == 2 and "decimal comma" in folder.said, folder.said
    assert cost("time,value\n" + hours(",200", ",200")) is None
    assert folder.status == 2 and "200/MWh" in folder.said, folder.said


# ---- Remedies, windows and attribute

def test_without_a_readable_time_there_is_a_message(folder):
    folder.write("w.txt", f"begin load {T0}\nend load {T0 + 5}\n")
    folder.write("trace.json", json.dumps({"traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": T0 * 1e6, "dur": 5e6,
         "args": {"device": 0, "stream": 7}}]}))
    pvc = (ROOT / "testdata" / "telemetry" / "aurora-pvc-time-of-day.csv")
    contents = [table("timestamp, index, power.draw [W]", lambda i: f"{time(i)}, 0, 500.00 W")
                for time in (lambda i: f"9/8/2026 7:20:{i:02} AM", lambda i: f"46273.30{i:02}", lambda i: f"07:20:{i:02}",
                             lambda i: "yesterday")]
    for content in contents + ([pvc.read_text()] if pvc.exists() else []):
        folder.write("log.csv", content)
        for words in (["windows", "--telemetry", "log.csv", "--windows", "w.txt"],
                      ["attribute", "--telemetry", "log.csv", "--trace", "trace.json"]):
            folder.call(*words)
            assert folder.status == 2 and "time" in folder.said, (words[0], folder.status, folder.said)


def test_a_missing_id_names_the_way_out(folder):
    content = table("timestamp,GPU Power", lambda i: f"{T0 + i},100")
    folder.refuses("--query-gpu=timestamp,index,uuid,power.draw", content)
    folder.refuses("--expected-num-gpus 1", content)
    folder.reads(1000, content, "--expected-num-gpus", 1)
    folder.call("explain", "gpu_identity_column_missing")
    assert "--expected-num-gpus 1" in folder.said.split("what to do")[-1], folder.said


def test_a_sensor_that_states_zero_is_named(folder):
    folder.refuses("GPU 0 states 0 W in all its", table(
        "timestamp,index,power.draw [W]", lambda i: f"{iso(i)}.123,0,0.00 W\n{iso(i)}.125,1,90.00 W"))


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
