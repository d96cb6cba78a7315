#!/usr/bin/env python3
"""Sensors beside the GPUs: their energy in windows and runs, through the built program.

The files are those of testdata/telemetry-written/node-witnesses, from 12:00:00 to 12:01:00: two GPUs at
300 W and 100 W, a node at 800 W, an accelerator at 310 W, a package at 150 W. A CPU's counter begins
anew at 12:00:20, and the package's wraps at 12:00:21. Energies are watts times seconds.

usage: tests/runs/witnesses_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import running  # noqa: E402
from running import ROOT, load_result, run_tests, same  # noqa: E402

FILES = ROOT / "testdata" / "telemetry-written" / "node-witnesses"
BMC = ROOT / "testdata" / "telemetry" / "wrappers" / "bmc-system-power-crlf.csv"
START = 1777118400
LOAD = (10, 40)  # in it the GPUs use 400 W, 12,000 J


def near(wanted, found, what=""):
    assert abs(wanted - found) < 1e-6, f"{what}\n    expected {wanted!r}\n    got      {found!r}"


class Folder(running.Folder):
    zone = "Asia/Kolkata"

    def __init__(self, path):
        self.path = pathlib.Path(path)
        shutil.copy(FILES / "gpus.csv", self.path / "gpus.csv")

    def edited(self, name, old, new):
        text = (FILES / name).read_text()
        assert old in text, old
        return self.write(name, text.replace(old, new))

    def windows(self, window, *witnesses, more=("--timezone", "UTC")):
        self.write("w.txt", f"begin load {START + window[0]}\nend load {START + window[1]}\n")
        words = [word for witness in witnesses for word in ("--witness", witness)]
        return self.call("windows", "--telemetry", "gpus.csv", "--windows", "w.txt", *words, *more)

    def seen(self, window, *witnesses, more=("--timezone", "UTC")):
        """The JSON of each witness in the window, by its name."""
        self.windows(window, *witnesses, more=("--json", *more))
        assert self.out, self.err
        self.report = json.loads(self.out)
        return {each["witness"]: each for each in self.report["windows"][0]["witnesses"]}

    def run(self, *words, window=LOAD):
        self.write("run.json", load_result(START + window[0], START + window[1]))
        self.write("agg_run.json", "{}")
        self.call("--csv", "gpus.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
                  "--expected-num-gpus", 2, *words)
        return self.json("power_validation_run.json")


def energies(seen):
    return {name: each["energy_j"] for name, each in seen.items()}


def test_counters_are_differences_and_power_is_integrated(folder):
    seen = folder.seen(LOAD, FILES / "pm_counters.log")
    same({"accel0_energy": 310 * 30, "cpu_energy": None, "energy": 800 * 30, "power": 800 * 30}, energies(seen))
    same({"accel0_energy": None, "cpu_energy": None, "energy": 0.5, "power": 0.5},
         {name: each["gpu_ratio"] for name, each in seen.items()})
    same(800, seen["energy"]["mean_power_w"])
    assert "was set back at 1777118420" in seen["cpu_energy"]["reason"], seen["cpu_energy"]
    same(0, folder.status, folder.err)
    same({"accel0_energy": "module", "cpu_energy": "cpu", "energy": "node", "power": "node"},
         {each["witness"]: each["scope"] for each in folder.report["witnesses"]})
    same(12000, folder.report["windows"][0]["energy_j"])
    # Readings are 5 s apart: interpolated at the edges. Before and after the reset the counter is known.
    near(800 * 25, folder.seen((12.5, 37.5), FILES / "pm_counters.log")["energy"]["energy_j"])
    near(120 * 8, folder.seen((6, 14), FILES / "pm_counters.log")["cpu_energy"]["energy_j"])
    near(120 * 19, folder.seen((21, 40), FILES / "pm_counters.log")["cpu_energy"]["energy_j"])


def test_the_time_in_which_a_supply_is_dead_is_not_known(folder):
    """Two supplies that draw 600 and 400 W, and the second 800 W from second 30 on; the first shows that from second 20 on."""
    def log(first):
        return folder.write("psus.jsonl", "".join(json.dumps({
            "timestamp": START + second, "PowerSupplies": [
                {"Name": "PSU1", "PowerInputWatts": first(second)},
                {"Name": "PSU2", "PowerInputWatts": 800 if second >= 30 else 400}]}) + "\n" for second in range(0, 61, 2)))

    whole = log(lambda second: 1200 if second >= 30 else 600)
    near(1000 * 8 + 1500 * 2 + 2000 * 20, folder.seen((20, 50), whole)["PowerSupplies input"]["energy_j"])
    for first in (lambda second: 0 if second >= 20 else 600, lambda second: 0 if 20 <= second <= 40 else 600 + second,
                  lambda second: 650 if second >= 20 else 600):
        name = log(first)
        seen = folder.seen((20, 50), name)["PowerSupplies input"]
        same(None, seen["energy_j"])
        assert "'PSU1' shows " in folder.err + folder.out and f" W from {START + 20}" in folder.err + folder.out, folder.out
        assert "'PSU2' shows " not in folder.err + folder.out, folder.out
        assert folder.seen((4, 16), name)["PowerSupplies input"]["energy_j"] >= 12000 - 1e-6
    seen = folder.seen((20, 50), log(lambda second: 0))  # it waits for the other to fail
    near(400 * 8 + 600 * 2 + 800 * 20, seen["PowerSupplies input"]["energy_j"])


def test_a_folder_of_counters(folder):
    same({"energy": 24000, "memory_energy": 1200}, energies(folder.seen(LOAD, FILES / "pm_counters")))
    both = folder.seen(LOAD, FILES / "pm_counters", FILES / "pm_counters.log")
    same(2, len([name for name in both if name.endswith("pm_counters:energy") or
                 name.endswith("pm_counters.log:pm_counters:energy")]), both.keys())
    (folder.path / "none").mkdir()
    folder.windows(LOAD, "none")
    same((2, ""), (folder.status, folder.out))
    assert "no file in it has readings of /sys/cray/pm_counters" in folder.err, folder.err


def test_a_job_that_was_queued_again(folder):
    """sacct -D has a row for each time that it ran, under one number."""
    row = "38113|1|COMPLETED|2026-04-25T12:00:10|2026-04-25T12:00:40|24000|24K\n"
    again = "38113|1|REQUEUED|2026-04-25T11:00:10|2026-04-25T11:10:40|9000|9K\n"
    for rows in (row + again, row + again + row, row + row + again + again):
        seen = folder.seen(LOAD, folder.edited("sacct.txt", row, rows))
        same(["job 38113", "job 38113, run 2"], sorted(seen))
        same((24000, None), (seen["job 38113"]["energy_j"], seen["job 38113, run 2"]["energy_j"]))
        same([24000, 9000], [each["energy_j"] for each in folder.report["witnesses"]])
    seen = folder.seen(LOAD, folder.edited("sacct.txt", row, row * 3))
    same(["job 38113"], sorted(seen))


def test_a_total_is_compared_in_its_own_span(folder):
    seen = folder.seen(LOAD, FILES / "sacct.txt")
    same(["job 38113"], list(seen))  # no steps, no job without an energy, none that has not ended
    same((24000, 0.5, None), tuple(seen["job 38113"][key] for key in ("energy_j", "gpu_ratio", "reason")))
    other = folder.seen((20, 30), FILES / "sacct.txt")["job 38113"]
    same(None, other["energy_j"])
    assert other["reason"].startswith("it is one total, from 1777118410"), other
    own = folder.report["witnesses"][0]
    same((START + 10, START + 40, 24000, 12000, 0.5, None), tuple(own[key] for key in (
        "start_unix_s", "end_unix_s", "energy_j", "gpu_energy_j", "gpu_ratio", "reason")))
    # In -02:00 the job was two hours later, where no GPU was recorded.
    folder.seen((20, 30), FILES / "sacct.txt", more=("--timezone", "-02:00"))
    own = folder.report["witnesses"][0]
    same((START + 7210, None, None), (own["start_unix_s"], own["gpu_energy_j"], own["gpu_ratio"]))
    assert "after the last reading" in own["reason"], own


def test_slurm_forms(folder):
    head = "JobID|Start|End|ConsumedEnergy|\n"
    span = "2026-04-25T12:00:10|2026-04-25T12:00:40"
    for text, wanted in ((f"7|{span}|24.00K|\n", {"job 7": 24000}),
                         (f"7|{span}||\n7.batch|{span}|23.5K|\n7.0|{span}|20K|\n",
                          {"job 7.batch": 23500, "job 7.0": 20000}),
                         (f"7_3|{span}|1.5M|\n8|{span}|4294967294|\n9|{span}|0|\n", {"job 7_3": 1.5e6})):
        same(wanted, energies(folder.seen(LOAD, folder.write("s.txt", head + text))), text)
    for text, why in ((head + f"7|{span}|0|\n", "no job in it has ended and has an energy"),
                      (head + f"7|{span}|24000|", "no job in it has ended and has an energy"),  # cut off
                      ("JobID|ConsumedEnergyRaw\n7|5\n", "expected the columns JobID, Start, End")):
        folder.windows(LOAD, folder.write("s.txt", text))
        same(2, folder.status)
        assert why in folder.err, folder.err
    folder.windows(LOAD, FILES / "sacct.txt", more=())
    same((2, ""), (folder.status, folder.out))
    assert "has no offset from UTC: name the zone with --timezone" in folder.err, folder.err


def test_rapl_wraps(folder):
    same({"package-0": 150 * 30, "dram-0": 30 * 30}, energies(folder.seen(LOAD, FILES / "rapl.csv")))
    # A fall from far below the counter's end is none: 90 kJ, then 150 J.
    rows = "".join(f"{START + second},{joules}000000\n" for second, joules in
                   ((0, 89700), (10, 90000), (20, 150), (30, 450), (40, 750)))
    table = folder.write("t.csv", "timestamp,package-0\n" + rows)
    assert "was set back" in folder.seen((5, 35), table)["package-0"]["reason"]
    near(300, folder.seen((25, 35), table)["package-0"]["energy_j"])
    # With the range beside it, it is one: 90,100 J hold 100 J more, then 150 J.
    stated = "timestamp,domain,energy_uj,max_energy_range_uj\n" + "".join(
        f"{row.split(',')[0]},package-0,{row.split(',')[1]},90100000000\n" for row in rows.splitlines())
    near(300 + 250 + 300, folder.seen((0, 30), folder.write("s.csv", stated))["package-0"]["energy_j"])
    # Readings so far apart may have a wrap between them that nothing shows.
    far = folder.write("f.csv", f"timestamp,package-0\n{START},5000000\n{START + 300},6000000\n")
    assert "may have wrapped unseen" in folder.seen((10, 40), far)["package-0"]["reason"]
    watts = folder.write("p.csv", f"timestamp,package-0\n{START},150.5\n{START + 60},150.5\n")
    folder.windows(LOAD, watts)
    same(2, folder.status)
    assert "not a whole number of microjoules" in folder.err, folder.err
    named = folder.write("n.csv", f"timestamp,package-0_w\n" + "".join(f"{START + s},150.5\n" for s in range(0, 61, 10)))
    near(150.5 * 30, folder.seen(LOAD, named)["package-0_w"]["energy_j"])


def test_powercap_and_hwmon_files(folder):
    # The package wraps at 65,532.61 J, which the file states. The module is at 500 W until 12:00:25 and at
    # 600 W from 12:00:30.
    seen = folder.seen(LOAD, FILES / "sensors.txt")
    same({"package-0": 3000, "Module Power Socket 0": 500 * 15 + 550 * 5 + 600 * 10}, energies(seen))
    same(["cpu", "module"], [each["scope"] for each in folder.report["witnesses"]])
    late = folder.write("late.txt", "/sys/class/hwmon/hwmon3/power1_average:500000000\n"
                        + (FILES / "sensors.txt").read_text())
    folder.windows(LOAD, late)
    same(0, folder.status)
    assert "1 readings are before the first line with a time" in folder.err, folder.err


def test_dcmi(folder):
    # 900 W, rising by 1 W each second.
    near(925 * 30, folder.seen(LOAD, FILES / "dcmi.txt")["DCMI"]["energy_j"])
    seen = folder.seen(LOAD, folder.edited("dcmi.txt", "Sat Apr 25 12:00:20 2026", "Thu Jan  1 00:00:00 1970"))
    assert seen["DCMI"]["reason"].startswith("20.000 s between two readings, at most 10.000 s"), seen
    assert "1 readings have no time that can be read" in folder.err, folder.err
    off = folder.edited("dcmi.txt", "is:                   activated", "is:                   deactivated")
    same(2, folder.windows(LOAD, off).status)
    assert "it has no reading with a time" in folder.err, folder.err
    # The time that a script wrote goes before that of the management controller.
    text = "".join(f"{START + s}\n  Instantaneous power reading:  910 Watts\n  IPMI timestamp:  Thu Jan  1 00:00:00 1970\n"
                   for s in range(0, 61, 10))
    near(910 * 30, folder.seen(LOAD, folder.write("own.txt", text), more=())["DCMI"]["energy_j"])
    american = folder.write("us.txt", "".join(
        f"Instantaneous power reading : 700 Watts\nIPMI timestamp : 04/25/2026 12:00:{s:02} UTC\n" for s in range(0, 60, 5)))
    near(700 * 30, folder.seen(LOAD, american, more=())["DCMI"]["energy_j"])


def test_a_table_of_a_nodes_power(folder):
    # 2250 W and 2625 W are 2.001 s apart in a real log of a management controller.
    lines = BMC.read_text().splitlines()
    same(["2250", "2625"], [line.split(",")[2] for line in lines[1:3]])
    first = 1775333004.330
    folder.write("gpus.csv", "timestamp,index,power.draw [W]\n" + "".join(
        f"{first + s},0,100.00 W\n" for s in range(4)))
    folder.write("w.txt", f"begin load {first}\nend load {first + 2.001}\n")
    folder.call("windows", "--telemetry", "gpus.csv", "--windows", "w.txt", "--witness", BMC, "--json")
    [seen] = json.loads(folder.out)["windows"][0]["witnesses"]
    assert abs(seen["energy_j"] - (2250 + 2625) / 2 * 2.001) < 1e-3, seen
    same("sys_power_w", seen["witness"])


def test_gpus_cannot_use_more_than_their_node(folder):
    folder.seen(LOAD, FILES / "pm_counters.log")
    same("", folder.err)
    low = folder.write("low.log", "".join(f"energy: {300 * s} J {(START + s) * 1000000} us\n" for s in range(0, 61, 5)))
    same(9000, folder.seen(LOAD, low)["energy"]["energy_j"])
    same(0, folder.status)
    assert ("warning: load: the GPUs' 12000.0 J are more than the 9000.0 J of energy, which should include them"
            in folder.err), folder.err
    record = folder.run("--witness", low)
    same(True, record["power_valid"])
    assert "the GPUs' 12000.0 J are more than the 9000.0 J" in folder.err, folder.err


def test_the_table(folder):
    plain = folder.windows(LOAD).out
    folder.windows(LOAD, FILES / "pm_counters.log", FILES / "sacct.txt")
    same(plain, folder.out[:len(plain)])
    block = folder.out[len(plain):].splitlines()
    same("witnesses, never summed with the GPUs", block[1])
    same(["load", "accel0_energy", "module", "9300.000", "310.00"], block[3].split())
    same(["energy", "node", "24000.000", "800.00", "50.0"], block[5].split())
    same(["(span)", "job", "38113", "job", "24000.000", "800.00", "50.0"], block[8].split())
    for words in (("--format", "csv"), ("--format", "zeus")):
        folder.windows(LOAD, FILES / "pm_counters.log", more=words)
        same((2, ""), (folder.status, folder.out))
        assert "rows of GPUs alone" in folder.err, folder.err


def test_what_is_refused(folder):
    for witness, why in ((FILES / "gpus.csv", "no form of a node's sensors that is known"),
                         ("none.log", "no such file"),
                         (folder.write("empty", ""), "no form of a node's sensors that is known")):
        folder.windows(LOAD, witness)
        same((2, ""), (folder.status, folder.out))
        assert why in folder.err.lower() or why in folder.err, folder.err
    folder.windows(LOAD, FILES / "rapl.csv", FILES / "rapl.csv")
    same(2, folder.status)
    assert "give it once" in folder.err, folder.err


def test_inspect_says_what_they_are(folder):
    for name in ("pm_counters.log", "sacct.txt", "sensors.txt", "dcmi.txt"):
        same(1, folder.call("inspect", FILES / name).status)
        assert "these are readings of a node's sensors, not of GPUs" in folder.err + folder.out, folder.err


def test_the_record_has_witnesses_and_the_rest_stays(folder):
    plain = folder.run("--timezone", "UTC")
    files = plain["computed_from"].pop("inputs")
    aggregate = (folder.path / "agg_run.json").read_text()
    same(12000, plain["metrics"]["total_gpu_energy_j"])
    assert "witnesses" not in plain
    record = folder.run("--timezone", "UTC", "--witness", FILES / "pm_counters.log", "--witness", FILES / "sacct.txt",
                        "--witness", FILES / "dcmi.txt")
    same(aggregate, (folder.path / "agg_run.json").read_text())
    seen = {each["witness"]: each for each in record.pop("witnesses")}
    same(len(files) + 3, len(record["computed_from"].pop("inputs")))
    same(plain, record)
    same({"accel0_energy": 9300, "cpu_energy": None, "energy": 24000, "power": 24000, "job 38113": 24000,
          "DCMI": 27750}, energies(seen))
    same({"witness": "energy", "source": "pm_counters", "scope": "node", "file": str(FILES / "pm_counters.log"),
          "energy_j": 24000, "mean_power_w": 800, "gpu_ratio": 0.5, "reason": None}, seen["energy"])
    # One that cannot be read changes nothing but its own entry.
    record = folder.run("--timezone", "UTC", "--witness", "none.log")
    [seen] = record.pop("witnesses")
    same(files, record["computed_from"].pop("inputs"))
    same((plain, 0), (record, folder.status))
    assert "none.log" in seen["reason"] and seen["energy_j"] is None, seen
    # Of several, too: the others are as they would be without it.
    alone = folder.run("--timezone", "UTC", "--witness", FILES / "pm_counters.log")["witnesses"]
    for bad, why in (("none.log", "none.log"), (folder.write("odd.log", "hello\n"), "no form of a node's sensors")):
        for order in ((bad, FILES / "pm_counters.log"), (FILES / "pm_counters.log", bad)):
            record = folder.run("--timezone", "UTC", *[word for each in order for word in ("--witness", each)])
            same(alone, [each for each in record["witnesses"] if each["file"] != bad])
            [lost] = [each for each in record["witnesses"] if each["file"] == bad]
            assert why in lost["reason"] and lost["energy_j"] is None, lost
            same(1, folder.err.count("--witness: "), folder.err)
    # No file that is read is written.
    folder.write("low.log", "energy: 5 J 1777118400000000 us\n")
    folder.run("--timezone", "UTC", "--witness", "low.log", "--validation-result", "low.log")
    same("energy: 5 J 1777118400000000 us\n", (folder.path / "low.log").read_text())


def test_long_names_stay_apart_in_the_table(folder):
    folder.write("rack.csv", "timestamp,node_power_of_the_rack_a_w,node_power_of_the_rack_b_w\n" + "".join(
        f"{START + second},500,600\n" for second in range(61)))
    table = folder.windows(LOAD, "rack.csv").out
    assert "node_powe...rack_a_w node       15000.000" in table, table
    assert "node_powe...rack_b_w node       18000.000" in table, table


def every_second(header, rows):
    """A table with these rows, "T" for the time, each second for a minute."""
    return header + "\n" + "".join(row.replace("T", str(START + s)) + "\n" for s in range(61) for row in rows)


def test_sensors_of_a_table_are_told_apart(folder):
    # Watts times 30 s, each sensor for itself.
    for header, rows, wanted in (
            ("timestamp,host,node_power_w", ("T,n0,1000", "T,n1,3000"),
             {"n0:node_power_w": 30000, "n1:node_power_w": 90000}),
            ("timestamp,socket,package_w", ("T,0,200", "T,1,100"),
             {"socket 0 package_w": 6000, "socket 1 package_w": 3000}),
            ("timestamp_unix,hostname,source,sensor,socket_id,power_w,dram_w", (
                "T,n0,acpi,Grace,0,100,20", "T,n0,acpi,Grace,1,110,30"),
             {"socket 0 Grace power_w": 3000, "socket 0 Grace dram_w": 600,
              "socket 1 Grace power_w": 3300, "socket 1 Grace dram_w": 900}),
            ("timestamp,host,node_power_w", ("T,n0,1000",), {"node_power_w": 30000})):
        same(wanted, energies(folder.seen(LOAD, folder.write("t.csv", every_second(header, rows)))), header)
    # Counters that rise by 200 J and by 50 J each second.
    uj = folder.write("uj.csv", "timestamp,socket,package_uj\n" + "".join(
        f"{START + s},0,{1000000000 + 200000000 * s}\n{START + s},1,{5000000000 + 50000000 * s}\n" for s in range(61)))
    same({"socket 0 package_uj": 6000, "socket 1 package_uj": 1500}, energies(folder.seen(LOAD, uj)))
    # Without a column that is known to tell them apart, wherever the second value stands.
    for text, row, other in ((every_second("timestamp,slot,node_power_w", ("T,a,1000", "T,b,3000")), 3, 2),
                             ("timestamp,slot,node_power_w\n" + "".join(
                                 f"{START + s},{slot},{watts}\n" for slot, watts in (("a", 1000), ("b", 3000))
                                 for s in range(61)), 63, 2)):
        folder.windows(LOAD, folder.write("slots.csv", text))
        same((2, ""), (folder.status, folder.out))
        assert f"slots.csv: row {row}: 'node_power_w' has another value than in row {other} at the same time" \
            in folder.err, folder.err
    # The same reading twice is one.
    twice = folder.write("twice.csv", every_second("timestamp,node_power_w", ("T,1000", "T,1000")))
    same({"node_power_w": 30000}, energies(folder.seen(LOAD, twice)))


def test_units_of_a_tables_columns(folder):
    # Energies rise by 1000 J each second, and power is 1000 W.
    for name, size in (("energy_MJ", 1e6), ("energy_kJ", 1e3), ("energy_J", 1), ("energy_mJ", 1e-3), ("energy_mj", 1e-3),
                       ("package-0 (joules)", 1), ("energy_uj", 1e-6), ("PACKAGE_UJ", 1e-6)):
        rows = "".join(f"{START + s},{round(1000 * (s + 1) / size, 6):.15g}\n" for s in range(61))
        near(30000, folder.seen(LOAD, folder.write("e.csv", f"timestamp,{name}\n{rows}"))[name]["energy_j"], name)
    for name, size in (("node_power_kw", 1e3), ("node_power_kW", 1e3), ("Node Power [W]", 1), ("sys_power_mW", 1e-3),
                       ("sys_power_MW", 1e6), ("power (kW)", 1e3), ("node_power_watts", 1)):
        table = folder.write("p.csv", every_second(f"timestamp,{name}", (f"T,{1000 / size:.15g}",)))
        near(30000, folder.seen(LOAD, table)[name]["energy_j"], name)
    # Capitals alone do not tell MJ from mJ.
    for name in ("ENERGY_MJ", "NODE_POWER_MW", "node_power_dbm"):
        folder.windows(LOAD, folder.write("u.csv", every_second(f"timestamp,{name}", ("T,1000",))))
        same((2, ""), (folder.status, folder.out))
        assert f"Its columns are 'timestamp', '{name}'. A table needs a time" in folder.err, folder.err
        assert "node_power_w, sys_power_kw" in folder.err, folder.err


def test_another_header_within_a_table(folder):
    first = "timestamp,node_power_w,package-0_w\n" + "".join(f"{START + s},1000,200\n" for s in range(20))
    turned = "timestamp,package-0_w,inlet,node_power_w\n" + "".join(f"{START + s},200,25,1000\n" for s in range(20, 61))
    same({"node_power_w": 30000, "package-0_w": 6000},
         energies(folder.seen(LOAD, folder.write("t.csv", first + turned))))
    other = first + "timestamp,inlet,outlet\n" + "".join(f"{START + s},25,30\n" for s in range(20, 61))
    folder.windows(LOAD, folder.write("o.csv", other))
    same((2, ""), (folder.status, folder.out))
    assert "o.csv: row 22: it is another header" in folder.err, folder.err
    # Longer than what is read at once: 5000 rows of 1 s before the window.
    long = "timestamp,node_power_w\n" + "".join(f"{START + s},1000\n" for s in range(-5000, 61))
    same({"node_power_w": 30000}, energies(folder.seen(LOAD, folder.write("l.csv", long))))


def test_a_reset_is_no_wrap(folder):
    # 10 W, set back at 61,500 J of a counter that may wrap at 65,532 J: 4,032 J in 10 s would be 403 W.
    def table(before, after):
        return folder.write("t.csv", "timestamp,package-0\n" + "".join(
            f"{START + 10 * i},{round(joules * 1e6)}\n" for i, joules in enumerate(before + after)))
    reset = table([61300, 61400, 61500], [0, 100, 200, 300])
    assert "was set back at 1777118430" in folder.seen(LOAD, reset)["package-0"]["reason"]
    near(300, folder.seen((30, 60), reset)["package-0"]["energy_j"])
    # 10 W: 65,500 J, then 32.610987 J to the wrap and 67.389013 J after it.
    wrap = table([65300, 65400, 65500], [67.389013, 167.389013, 267.389013, 367.389013])
    near(300, folder.seen(LOAD, wrap)["package-0"]["energy_j"])
    # Nothing beside it says what the power was.
    alone = table([65500], [67.389013])
    assert "was set back" in folder.seen((2, 8), alone)["package-0"]["reason"]


def test_gpus_of_several_nodes_are_not_compared_with_one(folder):
    def ratio():
        report = json.loads(folder.out)
        seen = {each["witness"]: each for each in report["windows"][0]["witnesses"]}
        same(24000, seen["energy"]["energy_j"])
        same(24000, report["witnesses"][-1]["energy_j"])
        return seen["energy"]["gpu_ratio"], report["witnesses"][-1]["gpu_ratio"]

    def rows(hosts, gpu=0):
        return "timestamp,hostname,index,power.draw [W]\n" + "".join(
            f"{START + s},{host},{gpu},300\n" for s in range(61) for host in hosts)

    def compare(*recordings):
        folder.write("w.txt", f"begin load {START + 10}\nend load {START + 40}\n")
        words = [word for each in recordings for word in ("--telemetry", each)]
        words += ["--windows", "w.txt", "--witness", FILES / "pm_counters.log", "--witness", FILES / "sacct.txt",
                  "--timezone", "UTC"]
        shares = [line.split()[-1] for line in folder.call("windows", *words).out.splitlines() if " node " in line]
        folder.call("windows", *words, "--json")
        return (*ratio(), shares)
    folder.write("one.csv", rows(["n0"]))
    folder.write("one1.csv", rows(["n0"], 1))
    folder.write("two.csv", rows(["n0", "n1"]))
    folder.write("plain.csv", (folder.path / "gpus.csv").read_text().replace("300.00", "310.00"))
    same((9000 / 24000, 9000 / 24000, ["37.5", "37.5"]), compare("one.csv"))
    same((18000 / 24000, 18000 / 24000, ["75.0", "75.0"]), compare("one.csv", "one1.csv"))
    same((None, None, ["800.00", "800.00"]), compare("two.csv"))
    same((None, None, ["800.00", "800.00"]), compare("gpus.csv", "plain.csv"))
    # Nor one node's with the meters of two.
    meters = folder.write("m.csv", every_second("timestamp,host,node_power_w", ("T,n0,1000", "T,n1,3000")))
    same({None}, {each["gpu_ratio"] for each in folder.seen(LOAD, meters).values()})


def test_sensor_files_of_two_hosts(folder):
    # 10 W and 20 W.
    text = "".join(f"{START + s}\n" + "".join(
        f"{host}:/sys/class/powercap/intel-rapl:0/{name}:{value}\n" for host, watts in (("n0", 10), ("n1", 20))
        for name, value in (("name", "package-0"), ("energy_uj", watts * 1000000 * (s + 1)))) for s in range(61))
    same({"package-0 (n0:/sys/class/powercap/intel-rapl:0)": 300, "package-0 (n1:/sys/class/powercap/intel-rapl:0)": 600},
         energies(folder.seen(LOAD, folder.write("s.txt", text))))
    # On one host the folder's own name is enough.
    text = text.replace("n0:", "").replace("n1:/sys/class/powercap/intel-rapl:0", "/sys/class/powercap/intel-rapl:1")
    same({"package-0 (intel-rapl:0)": 300, "package-0 (intel-rapl:1)": 600},
         energies(folder.seen(LOAD, folder.write("s.txt", text))))


def test_gaps_of_a_counter_count_at_edges_alone(folder):
    # 100 W; readings 20 s apart, but for 10 s around 12:00:20.
    log = folder.write("e.log", "".join(f"energy: {100 * s} J {(START + s) * 1000000} us\n" for s in (0, 15, 25, 45, 65)))
    near(1000, folder.seen((15, 25), log)["energy"]["energy_j"])
    near(4500, folder.seen((0, 45), log)["energy"]["energy_j"])
    assert "20.000 s between two readings" in folder.seen((18, 40), log)["energy"]["reason"]
    assert "15.000 s between two readings" in folder.seen((10, 40), log)["energy"]["reason"]


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
