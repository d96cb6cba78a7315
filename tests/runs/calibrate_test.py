#!/usr/bin/env python3
"""A meter beside the GPUs: calibrate, its profiles, and the forms of meters, through the built program.

Two GPUs draw 100, 307 and 713 W each in turn, for 40 s at a time; they are read each second, and power is
linear between two readings. The node draws 1000 W and 1.25 W for each watt of the GPUs. A meter of power
shows the mean of the second before each reading, so that both sides have the same energy in each second.

usage: tests/runs/calibrate_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import running  # noqa: E402
from running import load_result, run_tests, same  # noqa: E402

START = 1788852000
LEVELS = (100, 307, 713)
MODEL = "NVIDIA H100 80GB HBM3"


def near(wanted, found, within, what=""):
    assert abs(wanted - found) <= within, f"{what}\n    expected {wanted!r} give or take {within!r}\n    got      {found!r}"


def inside(wanted, number, what=""):
    assert number["low"] <= wanted <= number["high"], f"{what}\n    expected {wanted!r} in {number!r}"


def gpu_w(second, hold=40, levels=LEVELS):
    """Of one GPU; before and after the recording as well."""
    return levels[second // hold % len(levels)]


def mean_w(second, **shape):
    """Of both GPUs, over the second that ends there."""
    return gpu_w(second - 1, **shape) + gpu_w(second, **shape)


class Folder(running.Folder):
    zone = "Asia/Kolkata"

    def gpus(self, name="gpus.csv", seconds=600, gpus=2, model=MODEL, column="power.draw.instant [W]", more=None,
             **shape):
        rows = [f"timestamp,index,name,{column}" + (f",{more[0]}" if more else "")]
        for second in range(seconds + 1):
            for gpu in range(gpus):
                end = f",{more[1](second)}" if more else ""
                rows.append(f"{START + second},{gpu},{model},{gpu_w(second, **shape)}{end}")
        return self.write(name, "\n".join(rows) + "\n")

    def meter(self, watts=lambda gpus: 1000 + 1.25 * gpus, name="node.csv", lag=0, seconds=600, each=1, step=0,
              column="node_power_w", **shape):
        rows = [f"timestamp,{column}"]
        for second in range(-20, seconds + 21, each):
            value = sum(watts(mean_w(second - i, **shape)) for i in range(each)) / each
            if step:
                value = round(value / step) * step
            rows.append(f"{START + second + lag},{value}")
        return self.write(name, "\n".join(rows) + "\n")

    def profile(self, *words):
        self.call("calibrate", "gpus.csv", "--json", *words)
        same(0, self.status, self.err)
        return json.loads(self.out)

    def refused(self, *words, status=1):
        self.call("calibrate", "gpus.csv", *words)
        same(status, self.status, self.out + self.err)
        same("", self.out)
        return self.err

    def load(self, levels=(399, 401), seconds=60, **more):
        """A recording of 100 s, of 400 W in the mean, and a load from second 20 on."""
        self.gpus("run.csv", seconds=100, levels=levels, hold=1, **more)
        self.write("run.json", load_result(START + 20, START + 20 + seconds))

    def measured(self, *words):
        self.call("measure", "run.json", "run.csv", "--json", *words)
        assert self.out, self.err
        return json.loads(self.out)["runs"][0]

    def seen(self, text, *words, name="meter.log", window=(10, 20)):
        """What a window of 10 s has by each witness."""
        self.gpus()
        self.write(name, text)
        self.write("w.txt", f"begin load {START + window[0]}\nend load {START + window[1]}\n")
        self.call("windows", "--telemetry", "gpus.csv", "--windows", "w.txt", "--witness", name, "--json",
                  *(words or ("--timezone", "UTC")))
        if not self.out:
            return {}
        return {each["witness"]: each["energy_j"] for each in json.loads(self.out)["windows"][0]["witnesses"]}


# ---- What a meter adds

def test_node_draws_1000_w_and_a_quarter_more(folder):
    folder.gpus()
    folder.meter()
    found = folder.profile("--witness", "node.csv")
    near(1.25, found["slope"]["value"], 0.002)
    near(1000, found["idle_w"]["value"], 2)
    inside(1.25, found["slope"])
    inside(1000, found["idle_w"])
    near(0, found["meter"]["lag_s"]["value"], 0.1)
    same([MODEL, 2, "node"], [found["gpus"]["model"], found["gpus"]["count"], found["meter"]["scope"]])
    same("aggregate-power/calibration-2", found["schema"])
    same({"telemetry", "witness"}, {each["role"] for each in found["inputs"].values()})


def test_only_a_profile_is_replaced(folder):
    folder.gpus()
    folder.meter()
    folder.write("note.txt", "of another kind")
    (folder.path / "link.json").symlink_to("gpus.csv")
    for out in ("gpus.csv", "./gpus.csv", str(folder.path / "node.csv"), "note.txt", "link.json"):
        before = {path.name: path.read_bytes() for path in folder.path.iterdir()}
        said = folder.refused("--witness", "node.csv", "--out", out, status=2)
        assert "is left as it is" in said or "another name" in said, said
        same(before, {path.name: path.read_bytes() for path in folder.path.iterdir()})
    for _ in range(2):
        folder.profile("--witness", "node.csv", "--out", "profile.json")


def test_a_counter_of_energy_serves_as_well(folder):
    folder.gpus()
    joules, rows = 0.0, []
    for second in range(601):
        joules += 1000 + 1.25 * mean_w(second)
        rows.append(f"energy: {joules:.0f} J {START + second}000000 us")
    folder.write("node.log", "\n".join(rows) + "\n")
    found = folder.profile("--witness", "node.log")
    near(1.25, found["slope"]["value"], 0.002)
    near(1000, found["idle_w"]["value"], 2)


def test_clocks_may_be_apart(folder):
    folder.gpus()
    for lag in (-7, -3, 0, 2, 7):
        folder.meter(lag=lag)
        found = folder.profile("--witness", "node.csv")
        near(lag, found["meter"]["lag_s"]["value"], 0.15, lag)
        inside(lag, found["meter"]["lag_s"], lag)
        near(1.25, found["slope"]["value"], 0.002, lag)


def test_steps_of_25_w_are_seen(folder):
    folder.gpus()
    folder.meter(lambda gpus: 1010 + 1.23 * gpus, step=25, each=2)
    found = folder.profile("--witness", "node.csv")
    same([25, 2], [found["meter"]["step"], found["meter"]["refresh_s"]])
    inside(1.23, found["slope"])
    inside(1010, found["idle_w"])
    # Levels of 1256, 1765 and 2764 W may each be 12.5 W off: some thousandths of the slope are open.
    assert found["slope"]["high"] - found["slope"]["low"] > 0.005, found["slope"]


def test_held_values_count_once(folder):
    folder.gpus()
    folder.meter(each=5)
    rows = (folder.path / "node.csv").read_text().splitlines()
    polled = [rows[0]]
    for row in rows[1:]:
        second, watts = row.split(",")
        polled += [f"{int(second) + i},{watts}" for i in range(5)]
    folder.write("polled.csv", "\n".join(polled) + "\n")
    found = folder.profile("--witness", "polled.csv")
    same(5, found["meter"]["refresh_s"])
    inside(1.25, found["slope"])  # whether its values are means or moments is not known
    near(1.25, found["slope"]["value"], 0.02)


def test_a_meter_of_moments_may_have_a_lag_of_half_a_refresh_more(folder):
    """GPUs read each 0.1 s, and a meter whose clock is 3 s ahead: moments, or means over all since the one before."""
    def load(tenth):  # of no second in step with the meter
        return LEVELS[tenth // 173 * 7 % 11 % 3]
    folder.write("gpus.csv", "timestamp,index,name,power.draw.instant [W]\n" + "".join(
        f"{START + tenth / 10:.1f},0,{MODEL},{load(tenth)}\n" for tenth in range(6001)))
    for refresh in (1, 2, 5, 10):
        for is_moment in (True, False):
            rows = ["timestamp,node_power_w"]
            for second in range(refresh, 600, refresh):
                over = [10 * second] if is_moment else range(10 * (second - refresh), 10 * second)
                watts = 900 + 1.3 * sum(map(load, over)) / len(over) + second % 7 * 0.37
                rows.append(f"{START + second + 3},{watts:.2f}")
            folder.write("node.csv", "\n".join(rows) + "\n")
            inside(3, folder.profile("--witness", "node.csv")["meter"]["lag_s"], (refresh, is_moment))


def test_a_recording_too_short_for_a_lag_is_told(folder):
    # 70 s: lags of up to a sixth of it, 11.7 s to each side, leave 46.7 s, which are 9 stretches of 5 s at most.
    folder.gpus(seconds=70)
    folder.meter(seconds=70, each=5)
    said = folder.refused("--witness", "node.csv")
    assert re.search(r"too short .* lags of up to 12 s leave [89] stretches of 5.0 s, and 12 are needed: record", said), said
    # No lag within a sixth of 72 s.
    folder.gpus(seconds=72)
    folder.write("node.csv", "timestamp,node_power_w\n" + "".join(
        f"{START + second},{1000 + 700 * (second // 3 % 2)}\n" for second in range(73)))
    said = folder.refused("--witness", "node.csv")
    assert "15 s" not in said, said


def test_a_meter_that_changes_twice_is_not_one_that_never_does(folder):
    folder.gpus()
    for changes, wanted in ((0, "shows the same value throughout"), (1, "change fewer than 3 times"), (2, "change fewer than 3 times")):
        folder.write("node.csv", "timestamp,node_power_w\n" + "".join(
            f"{START + second},{1000 + 500 * min(second // 200, changes)}\n" for second in range(601)))
        said = folder.refused("--witness", "node.csv")
        assert wanted in said, (changes, said)


def test_a_column_of_the_recording_is_a_meter(folder):
    for column in ("wall_power_w", "pdu_power_w", "node_power_w", "sys_power_w"):
        folder.gpus(more=(column, lambda second: 1000 + 1.25 * mean_w(second)))
        found = folder.profile()
        same(column, found["meter"]["witness"])
        near(1.25, found["slope"]["value"], 0.002, column)


def test_only_windows_that_are_named_count(folder):
    folder.gpus()
    folder.meter(lambda gpus: 1000 + 1.25 * gpus)
    text = (folder.path / "node.csv").read_text().splitlines()
    # After second 300 the node does something else.
    text = [row if i < 322 else f"{row.split(',')[0]},{2 * float(row.split(',')[1])}" for i, row in enumerate(text)]
    folder.write("node.csv", "\n".join(text) + "\n")
    found = folder.profile("--witness", "node.csv", "--window", f"{START},{START + 290}")
    near(1.25, found["slope"]["value"], 0.002)


def test_a_report_says_what_cannot_be_told_apart(folder):
    folder.gpus()
    folder.meter()
    folder.call("calibrate", "gpus.csv", "--witness", "node.csv")
    same(0, folder.status, folder.err)
    for words in ("fans", "conversion losses", "gain of the GPUs' sensors", "watts of the node for each watt of the GPUs"):
        assert words in " ".join(folder.out.split()), folder.out


def test_two_nodes_of_eight_h100_are_found_again(folder):
    """Simulated, with the figures of two real ones, 973 W + 1.316 W a watt and 1062 W + 1.279 W a watt, beside a BMC
    each 2 s in steps of 25 W. The GPUs' part of the node is 8 w / (idle + slope * 8 w), of the mean w."""
    for idle, slope, levels, part in ((973, 1.316, (70, 400, 738), 61.8), (1062, 1.279, (70, 661, 698), 64.2)):
        gpus_w = 8 * sum(levels) / 3
        near(part, 100 * gpus_w / (idle + slope * gpus_w), 0.05)
        folder.gpus(gpus=8, levels=levels)
        folder.meter(lambda gpus, a=idle, b=slope: a + b * 4 * gpus, step=25, each=2, levels=levels)
        found = folder.profile("--witness", "node.csv")
        same([25, 2], [found["meter"]["step"], found["meter"]["refresh_s"]])
        inside(slope, found["slope"])
        inside(idle, found["idle_w"])
        near(slope, found["slope"]["value"], 0.01)
        near(part, 100 * found["center"]["gpu_power_w"] / found["center"]["meter_w"]["value"], 0.5)
        folder.call("calibrate", "gpus.csv", "--witness", "node.csv")
        near(part, float(re.search(r"GPUs' part +([0-9.]+) %", folder.out)[1]), 0.5)


def part_of(folder, name, begin, end, gpus=(0, 1), hold=40, levels=LEVELS):
    rows = ["timestamp,index,name,power.draw.instant [W]"]
    rows += [f"{START + second},{gpu},{MODEL},{gpu_w(second, hold=hold, levels=levels)}"
             for second in range(begin, end + 1) for gpu in gpus]
    return folder.write(name, "\n".join(rows) + "\n")


def test_several_recordings_beside_one_log_are_one_line(folder):
    parts = [part_of(folder, f"{begin}.csv", begin, end) for begin, end in ((260, 420), (0, 200), (430, 600))]
    for lag in (0, 3):
        folder.meter(lag=lag)
        folder.call("calibrate", *parts, "--witness", "node.csv", "--json")
        same(0, folder.status, folder.err)
        found = json.loads(folder.out)
        near(1.25, found["slope"]["value"], 0.002)
        near(1000, found["idle_w"]["value"], 2)
        near(lag, found["meter"]["lag_s"]["value"], 0.15)
        same(START + 600, found["recorded_until_unix_s"])
        same(4, len(found["inputs"]))
    # The log in two files, of clocks that are not the same.
    rows = (folder.path / "node.csv").read_text().splitlines()
    folder.write("one.csv", "\n".join(rows[:260]) + "\n")
    late = [f"{int(row.split(',')[0]) - 5},{row.split(',')[1]}" for row in rows[280:]]
    folder.write("two.csv", "\n".join([rows[0], *late]) + "\n")
    folder.call("calibrate", *parts, "--witness", "two.csv", "--witness", "one.csv", "--json")
    same(0, folder.status, folder.err)
    inside(1.25, json.loads(folder.out)["slope"])


def test_runs_of_one_level_count_beside_one_that_varies(folder):
    """Of 100 W and of 713 W throughout; only the third shows how far the clocks are apart."""
    files = [part_of(folder, "idle.csv", 0, 38), part_of(folder, "high.csv", 80, 118), part_of(folder, "all.csv", 200, 400)]
    folder.meter(lag=2)
    folder.call("calibrate", *files, "--witness", "node.csv", "--json")
    same(0, folder.status, folder.err)
    near(1.25, json.loads(folder.out)["slope"]["value"], 0.004)
    folder.call("calibrate", *files[:2], "--witness", "node.csv", "--json")
    same(1, folder.status, folder.out)
    assert "hardly varies in any of the recordings" in folder.err, folder.err


def test_gpus_in_files_of_their_own_are_one_recording(folder):
    files = [part_of(folder, f"gpu{gpu}.csv", 0, 600, gpus=(gpu,), levels=[each + gpu for each in LEVELS]) for gpu in (0, 1)]
    folder.meter()
    folder.call("calibrate", *files, "--witness", "node.csv", "--json")
    same(0, folder.status, folder.err)
    found = json.loads(folder.out)
    same(2, found["gpus"]["count"])
    near(1.25, found["slope"]["value"], 0.002)


def test_recordings_of_other_gpus_are_not_one_line(folder):
    folder.meter()
    part_of(folder, "two.csv", 0, 200)
    part_of(folder, "one.csv", 260, 600, gpus=(0,))
    folder.call("calibrate", "two.csv", "one.csv", "--witness", "node.csv")
    same(2, folder.status, folder.out)
    assert "2 GPUs, and 1" in folder.err and "one.csv" in folder.err, folder.err


def supplies(folder):
    """60 and 40 % of the node, as columns and as files whose times are 0.3 s apart."""
    watts = {second: 1000 + 1.25 * mean_w(second) for second in range(-20, 621)}
    folder.write("psus.csv", "timestamp,psu1_power_w,psu2_power_w\n" + "".join(
        f"{START + second},{0.6 * each},{0.4 * each}\n" for second, each in watts.items()))
    for i, share in ((1, 0.6), (2, 0.4)):
        folder.write(f"psu{i}.csv", "timestamp,power_w\n" + "".join(
            f"{START + second + 0.3 * i - 0.45},{share * each}\n" for second, each in watts.items()))


def test_supplies_of_a_node_are_added_up(folder):
    folder.gpus()
    supplies(folder)
    found = folder.profile("--witness", "psus.csv", "--scope", "node", "--meter", "psu1_power_w", "--meter", "psu2_power_w")
    near(1.25, found["slope"]["value"], 0.002)
    same("psu1_power_w + psu2_power_w", found["meter"]["witness"])
    files = ("--witness", "psu1.csv", "--witness", "psu2.csv", "--scope", "node")
    found = folder.profile(*files, "--meter", "psu1:power_w", "--meter", "psu2:power_w")
    near(1.25, found["slope"]["value"], 0.01)
    inside(1.25, found["slope"])
    for words in ((), ("--meter", "power_w")):
        assert "--meter FILE:NAME" in folder.refused(*files, *words, status=2), folder.err
    assert "one supply of several" in folder.refused(*files, "--meter", "psu1:power_w"), folder.err
    assert "psu1_power_w" in folder.refused("--witness", "psus.csv", "--scope", "node", status=2), folder.err


def test_the_time_in_which_a_supply_is_dead_does_not_count(folder):
    """60 and 40 % of the node: one fails, keeps its value, or leaves its load to the other, for a part of the log."""
    folder.gpus()
    supplies(folder)
    rows = (folder.path / "psus.csv").read_text().splitlines()
    meters = ("--scope", "node", "--meter", "psu1_power_w", "--meter", "psu2_power_w")
    for dead in ((300, 700), (-20, 250), (200, 400)):
        for kind in ("zero", "zero, and the other bears all", "frozen"):
            told = [rows[0]]
            for row in rows[1:]:
                at, first, second = row.split(",")
                if dead[0] <= int(at) - START < dead[1]:
                    second = str(float(first) + float(second)) if "bears" in kind else second
                    first = "1111" if kind == "frozen" else "0"
                told.append(f"{at},{first},{second}")
            folder.write("dead.csv", "\n".join(told) + "\n")
            found = folder.profile("--witness", "dead.csv", *meters)
            near(1.25, found["slope"]["value"], 0.01, (dead, kind))
            inside(1.25, found["slope"], (dead, kind))
            inside(1000, found["idle_w"], (dead, kind))
            watts = "1111" if kind == "frozen" else "0"
            assert f"'psu1_power_w' shows {watts} W from {START + dead[0]}" in folder.err, (kind, folder.err)
            assert "'psu2_power_w' shows" not in folder.err, (kind, folder.err)
    # A supply that waits for others to fail adds nothing, or a few watts, at all times.
    for watts in (0, 12):
        folder.write("dead.csv", rows[0] + "\n" + "".join(
            f"{row.split(',')[0]},{watts},{float(row.split(',')[1]) / 0.6}\n" for row in rows[1:]))
        found = folder.profile("--witness", "dead.csv", *meters)
        near(1.25, found["slope"]["value"], 0.002)
        near(1000 + watts, found["idle_w"]["value"], 3)
        assert "left out" not in folder.err, folder.err
    # One that keeps its value throughout is no meter at any time.
    folder.write("dead.csv", rows[0] + "\n" + "".join(f"{row.split(',')[0]},1500,{row.split(',')[2]}\n" for row in rows[1:]))
    assert "'psu1_power_w' shows 1500 W" in folder.refused("--witness", "dead.csv", *meters, status=2), folder.err


def test_a_meter_that_shows_half_of_the_node_for_a_time_is_named(folder):
    folder.gpus()
    folder.meter()
    rows = (folder.path / "node.csv").read_text().splitlines()
    halved = [rows[0]] + [f"{at},{float(watts) / (2 if int(at) - START >= 300 else 1)}"
                          for at, watts in (row.split(",") for row in rows[1:])]
    folder.write("node.csv", "\n".join(halved) + "\n")
    folder.call("calibrate", "gpus.csv", "--witness", "node.csv")
    assert folder.status == 1 or "of the meter's variations are not the GPUs'" in folder.err, folder.err


def test_counters_that_count_in_kwh_are_meters(folder):
    """A Shelly that says only its energy, in mWh; and a Tasmota, whose steps of 1 Wh are 3600 J."""
    folder.gpus()
    for within, line in ((0.01, lambda joules, at: {"switch:0": {"id": 0, "aenergy": {"total": round(joules / 3600, 3)}}, "sys": {"unixtime": at}}),
                         (0.1, lambda joules, at: {"Time": at, "ENERGY": {"Total": round(joules / 3.6e6, 3)}})):
        joules, rows = 0.0, []
        for second in range(-20, 621):
            joules += 1000 + 1.25 * mean_w(second)
            rows.append(json.dumps(line(joules, START + second)))
        folder.write("plug.jsonl", "\n".join(rows) + "\n")
        found = folder.profile("--witness", "plug.jsonl")
        near(1.25, found["slope"]["value"], within)
        inside(1.25, found["slope"])
        inside(1000, found["idle_w"])


def kepler(folder, answer=False):
    """The platform's energy in two modes, 600 W of it idle; 200 W of two packages; a container's, which does not count."""
    labels = {"instance": "n0", "job": "kepler"}
    series = {(name, mode, package): [] for name, packages in (("kepler_node_platform_joules_total", ("",)), ("kepler_node_package_joules_total", ("0", "1")))
              for mode in ("dynamic", "idle") for package in packages}
    dynamic = 0.0
    for second in range(-20, 621):
        dynamic += 400 + 1.25 * mean_w(second)
        for (name, mode, package), values in series.items():
            seconds = second + 21
            joules = 50.0 * seconds if package else dynamic if mode == "dynamic" else 600.0 * seconds
            values.append((START + second, joules))
    sets = [({"__name__": name, **labels, "mode": mode, **({"package": package} if package else {})}, values)
            for (name, mode, package), values in series.items()]
    if answer:
        return folder.write("kepler.json", json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [
            {"metric": metric, "values": [[at, str(joules)] for at, joules in values]} for metric, values in sets]}}))
    rows = []
    for i, second in enumerate(range(-20, 621)):
        rows += [f"# {START + second}", "# TYPE kepler_node_platform_joules_total counter",
                 f'kepler_container_joules_total{{container_id="a",mode="idle"}} {5 * i}']
        for metric, values in sets:
            named = ",".join(f'{key}="{value}"' for key, value in metric.items() if key != "__name__")
            rows.append(f"{metric['__name__']}{{{named}}} {values[i][1]}")
    return folder.write("kepler.txt", "\n".join(rows) + "\n")


def test_kepler_is_a_meter_and_its_modes_are_added(folder):
    folder.gpus()
    for answer in (False, True):
        name = kepler(folder, answer)
        found = folder.profile("--witness", name)
        same("kepler_node_platform_joules_total", found["meter"]["witness"])
        near(1.25, found["slope"]["value"], 0.002)
        near(1000, found["idle_w"]["value"], 2)
        seen = folder.seen((folder.path / name).read_text(), name=name)
        near(1000, seen.pop("kepler_node_platform_joules_total") / 10 - 1.25 * 200, 1e-6)
        same({"kepler_node_package_joules_total 0": 1000.0, "kepler_node_package_joules_total 1": 1000.0}, seen)
        # Processors say nothing of the GPUs.
        folder.refused("--witness", name, "--meter", "kepler_node_package_joules_total 0", status=2)
        assert "measures the scope 'cpu' and not the GPUs" in folder.err, folder.err


def test_processors_and_other_json_are_no_meters(folder):
    folder.gpus()
    rapl = "".join(f"{START + at},{100 + at % 7}.5,{10 + at % 5}.5,{90 + at % 3}.5\n" for at in range(0, 600))
    for columns, scopes in (("package-0_w,dram-0_w,core_w", ("cpu", "memory", "rail")),
                            ("cpu_pkg0_w,cpu_pkg0_dram_w,cpu_package_1_power_w", ("cpu", "memory", "cpu"))):
        folder.write("rapl.csv", f"timestamp,{columns}\n{rapl}")
        folder.refused("--witness", "rapl.csv", status=2)
        assert "none measures the GPUs: give a meter of the node" in folder.err, folder.err
        for name, scope in zip(columns.split(","), scopes):
            assert f"'{name}' ({scope})" in folder.err, (name, folder.err)
    folder.write("other.jsonl", "".join(json.dumps({"time": START + at, "foo": 1.5 * at}) + "\n" for at in range(600)))
    folder.refused("--witness", "other.jsonl", status=2)
    assert "It is JSON" in folder.err and "columns" not in folder.err and str(START) not in folder.err, folder.err


def test_metrics_of_other_exporters_are_witnesses(folder):
    rows = {"kepler_node_cpu_joules_total{node_name=\"n0\",zone=\"package\",path=\"/a\"}": lambda t: 100 * t,
            "kepler_node_cpu_joules_total{node_name=\"n0\",zone=\"dram\",path=\"/b\"}": lambda t: 20 * t,
            "kepler_node_cpu_idle_joules_total{node_name=\"n0\",zone=\"package\",path=\"/a\"}": lambda t: 30 * t,
            "kepler_platform_watts{node_name=\"n0\",power_control_name=\"Server Power Control\"}": lambda t: 1500,
            "node_rapl_package_joules_total{index=\"0\"}": lambda t: 90 * t,
            "ipmi_dcmi_power_consumption_watts{id=\"\"}": lambda t: 1490}
    text = "".join(f"# {START + second}\n" + "".join(f"{series} {value(second)}\n" for series, value in rows.items())
                   for second in range(31))
    same({"kepler_node_cpu_joules_total package /a": 1000.0, "kepler_node_cpu_joules_total dram /b": 200.0,
          "kepler_platform_watts": 15000.0, "node_rapl_package_joules_total": 900.0,
          "ipmi_dcmi_power_consumption_watts": 14900.0}, folder.seen(text))
    # Without a time nothing is known; and with the stamp of each sample in milliseconds it is.
    bare = "".join(line + "\n" for line in text.splitlines() if not line.startswith("#"))
    same({}, folder.seen(bare))
    stamped = "".join(f"ipmi_dcmi_power_consumption_watts{{id=\"\"}} 1490 {1000 * (START + second)}\n" for second in range(31))
    same({"ipmi_dcmi_power_consumption_watts": 14900.0}, folder.seen(stamped))


# ---- Meters that fail, repeat themselves, or bend

def test_readings_of_0_w_are_none(folder):
    folder.gpus()
    for each, status in ((30, 0), (7, 1)):
        folder.meter()
        rows = (folder.path / "node.csv").read_text().splitlines()
        zeroed = [row.split(",")[0] + ",0" if i % each == 5 else row for i, row in enumerate(rows)]
        folder.write("node.csv", "\n".join(zeroed) + "\n")
        folder.call("calibrate", "gpus.csv", "--witness", "node.csv", "--json")
        same(status, folder.status, folder.err)
        # Up to 15 s beside the recording count: the clocks may be so far apart.
        count = sum(row.endswith(",0") and -15 <= int(row.split(",")[0]) - START <= 615 for row in zeroed[1:])
        assert f"{count} of the meter's" in folder.err and "0 W" in folder.err, folder.err
        if status == 0:
            near(1.25, json.loads(folder.out)["slope"]["value"], 0.01)
            near(1000, json.loads(folder.out)["idle_w"]["value"], 10)
    # Of a run of 400 W, whose node draws 1500 W.
    folder.load()
    folder.write("node.csv", "timestamp,node_power_w\n" + "".join(
        f"{START + second},{0 if second % 30 == 25 else 1500}\n" for second in range(101)))
    run = folder.measured("--witness", "node.csv")
    near(1500 * 60, run["witnesses"][0]["energy_j"], 1, run["witnesses"])
    assert "3 readings of 'node_power_w' are 0 W" in folder.err + folder.out, folder.out


def test_levels_that_a_meter_shows_exactly_are_not_held(folder):
    """Moments each 2 s, in steps of 25 W, of a load without noise: a level lasts 40 s, and a new reading 2 s."""
    folder.gpus(seconds=900, gpus=8, levels=(70, 400, 738))
    folder.write("node.csv", "timestamp,node_power_w\n" + "".join(
        f"{START + second},{25 * round((973 + 1.316 * 8 * gpu_w(second, levels=(70, 400, 738))) / 25)}\n"
        for second in range(0, 900, 2)))
    found = folder.profile("--witness", "node.csv")
    same(2, found["meter"]["refresh_s"])
    inside(1.316, found["slope"])
    inside(973, found["idle_w"])


def test_a_meter_that_bends_is_named(folder):
    folder.gpus()
    folder.meter()
    folder.profile("--witness", "node.csv")
    assert "straight line" not in folder.err, folder.err
    # Between 200 and 1426 W, a curve of 0.0003 W for each square watt is 0.0003 * 1226^2 / 4 = 113 W off.
    for bend, words in ((-0.0003, "W above"), (0.0003, "W below")):
        folder.meter(lambda gpus, by=bend: 1000 + 1.5 * gpus + by * gpus * gpus)
        folder.profile("--witness", "node.csv")
        assert words in folder.err and "straight line" in folder.err, folder.err
        near(113, float(re.search(r"it is (\d+) W", folder.err)[1]), 15)


# ---- What is refused

def test_gpus_whose_power_hardly_varies_say_nothing(folder):
    folder.gpus(levels=(500, 501))
    folder.meter(levels=(500, 501))
    err = folder.refused("--witness", "node.csv")
    assert "hardly varies" in err and "idle" in err, err


def test_too_short_recordings_are_refused(folder):
    folder.gpus(seconds=30)
    folder.meter(seconds=30)
    err = folder.refused("--witness", "node.csv")
    assert "record 10 minutes" in err or "no lag" in err, err


def test_a_meter_of_another_hour_is_refused(folder):
    folder.gpus()
    folder.meter(lag=7200)
    assert "over the same time" in folder.refused("--witness", "node.csv")


def test_a_meter_of_another_node_is_refused(folder):
    folder.gpus()
    folder.meter(hold=23, levels=(700, 120, 410, 330, 640))
    err = folder.refused("--witness", "node.csv")
    assert "not calibrated" in err, err


def test_a_meter_that_is_of_no_whole_node_is_refused(folder):
    """One of two supplies, and kW or mW that a column calls W."""
    folder.gpus()
    for divided, words in ((2, "one supply of several"), (1000, "show kW"), (0.001, "show mW")):
        folder.meter(lambda gpus, by=divided: (1000 + 1.25 * gpus) / by)
        assert words in folder.refused("--witness", "node.csv"), folder.err
    # Sensors of GPUs that show 5 % too much.
    folder.meter(lambda gpus: 1000 + 0.95 * gpus)
    inside(0.95, folder.profile("--witness", "node.csv")["slope"])


def test_a_meter_of_the_gpus_that_no_sensor_can_differ_from_so_is_refused(folder):
    folder.gpus()
    for gain, words in ((1000, "mW"), (0.001, "kW"), (2, "other GPUs"), (0.5, "not all GPUs")):
        rows = [json.dumps({"timestamp": START + second, "Id": "TotalGPU_Power_0", "Reading": gain * mean_w(second),
                            "ReadingType": "Power", "ReadingUnits": "W"}) for second in range(-20, 621)]
        folder.write("gpus.log", "\n".join(rows) + "\n")
        assert words in folder.refused("--witness", "gpus.log"), folder.err


def test_a_node_that_would_draw_less_than_nothing_is_refused(folder):
    folder.gpus()
    folder.meter(lambda gpus: 1.3 * gpus - 100)
    assert "if its GPUs drew nothing" in folder.refused("--witness", "node.csv"), folder.err


def test_a_clock_that_is_minutes_off_is_named(folder):
    folder.gpus()
    shape = {"hold": 23, "levels": (120, 713, 240, 560, 410, 330, 640)}
    for lag in (40, 300, -300):
        folder.meter(lag=lag, **shape)
        folder.gpus(**shape)
        rows = (folder.path / "gpus.csv").read_text().splitlines()  # of GPUs that are never quite still
        cells = [row.rsplit(",", 1) for row in rows[1:]]
        folder.write("gpus.csv", "\n".join([rows[0]] + [f"{begin},{int(watts) + 3 * ((7 * (i // 2) + i) % 5)}" for i, (begin, watts) in enumerate(cells)]) + "\n")
        assert "its clock" in folder.refused("--witness", "node.csv"), (lag, folder.err)


def test_a_meter_that_shows_one_value_is_refused(folder):
    folder.gpus()
    folder.meter(lambda gpus: 1500)
    err = folder.refused("--witness", "node.csv")
    assert "same value" in err, err


def test_what_a_sensor_measures_must_be_known(folder):
    folder.gpus()
    folder.meter(column="power_w")
    err = folder.refused("--witness", "node.csv", status=2)
    assert "--scope" in err, err
    found = folder.profile("--witness", "node.csv", "--scope", "node", "--meter", "power_w")
    near(1.25, found["slope"]["value"], 0.002)


def test_one_of_several_meters_must_be_named(folder):
    folder.gpus()
    folder.meter(column="node_power_w,sys_power_w", watts=lambda gpus: 1000 + 1.25 * gpus)
    rows = (folder.path / "node.csv").read_text().splitlines()
    folder.write("node.csv", "\n".join([rows[0]] + [f"{row},{500 + 2 * i}" for i, row in enumerate(rows[1:])]) + "\n")
    err = folder.refused("--witness", "node.csv", status=2)
    assert "--meter" in err and "sys_power_w" in err, err
    near(1.25, folder.profile("--witness", "node.csv", "--meter", "node_power_w")["slope"]["value"], 0.002)


def test_wrong_windows_are_refused(folder):
    folder.gpus()
    folder.meter()
    for window in ("5", "10,5", "2026-09-08T07:20:00,2026-09-08T07:30:00"):
        assert "--window" in folder.refused("--witness", "node.csv", "--window", window, status=2), window


def test_a_log_of_days_is_cut_to_the_recording(folder):
    folder.gpus()
    folder.meter()
    rows = (folder.path / "node.csv").read_text().splitlines()
    day = 86400
    before = [f"{START + second},900" for second in range(-day, -20, 10)]
    after = [f"{START + second},{900 + second % 7}" for second in range(630, day, 10)]
    folder.write("node.csv", "\n".join([rows[0], *before, *rows[1:], *after]) + "\n")
    found = folder.profile("--witness", "node.csv")
    same(4, found["stretch_s"], "four readings of a GPU each second")
    near(1.25, found["slope"]["value"], 0.002)
    near(1000, found["idle_w"]["value"], 2)
    folder.write("node.csv", "\n".join([rows[0], *before, *after]) + "\n")
    assert "over the same time" in folder.refused("--witness", "node.csv")


# ---- What a profile is good for

def test_the_energy_of_a_node_is_modelled_apart_from_what_is_measured(folder):
    folder.gpus()
    folder.meter()
    folder.profile("--witness", "node.csv", "--out", "node.json")
    folder.load()
    plain = folder.measured()
    run = folder.measured("--calibration", "node.json")
    node = run.pop("modelled_node")
    assert "one machine" in run["warnings"].pop(), run
    # 800 W of both GPUs: (1000 + 1.25 * 800) W * 60 s.
    near(120000, node["energy_j"], 60)
    assert node["energy_j_low"] <= 120000 <= node["energy_j_high"], node
    same([False, "node_power_w", None], [node["is_measured"], node["meter"], node["reason"]])
    same(plain, run)
    folder.call("measure", "run.json", "run.csv", "--calibration", "node.json")
    assert "modelled, not measured" in folder.out, folder.out


def test_a_profile_of_another_machine_is_refused(folder):
    """Hosts and UUIDs that both name decide; where one is silent, a warning names what both are."""
    def on(machine, name):
        rows = (folder.path / name).read_text().splitlines()
        column, value = machine or ("note", "x")
        folder.write(name, "\n".join([f"{rows[0]},{column}"] + [
            f"{row},{value.format(row.split(',')[1])}" for row in rows[1:]]) + "\n")

    n1, n2 = ("hostname", "n1"), ("hostname", "n2")
    a, b = ("uuid", "GPU-{}0000000-1111-2222-3333-444444444444"), ("uuid", "GPU-{}5555555-1111-2222-3333-444444444444")
    for calibrated, measured, is_used, words in (
            (n1, n1, True, ()), (n1, ("hostname", "n1.example.org"), True, ()), (n1, n2, False, (f"{MODEL} on n1", f"{MODEL} on n2", "another machine")),
            (a, a, True, ()), (a, b, False, ("GPU-00000000-1111", "GPU-05555555-1111", "another machine")),
            (n1, None, True, (f"{MODEL} on n1", f"{MODEL} on a host that is not named", "nothing says")),
            (None, a, True, ("GPU-00000000-1111", "a host that is not named", "nothing says"))):
        folder.gpus()
        on(calibrated, "gpus.csv")
        folder.meter()
        folder.profile("--witness", "node.csv", "--out", "node.json")
        folder.load()
        on(measured, "run.csv")
        run = folder.measured("--calibration", "node.json")
        same(is_used, run["modelled_node"]["energy_j"] is not None, (calibrated, measured, run["warnings"]))
        said = [text for text in run["warnings"] if "--calibration" in text]
        same(1 if words else 0, len(said), said)
        assert all(word in said[0] for word in words), said


def test_a_meter_that_stands_still_or_loses_a_supply_is_refused(folder):
    """1000 W and 1.25 W a watt, but for a part of 600 s: 0 W a watt while it stands still, 0.625 with half of it."""
    folder.gpus()
    usual = lambda second: 1000 + 1.25 * mean_w(second)  # noqa: E731
    for first, last, watts in ((300, 400, lambda second: 2000), (200, 270, lambda second: 2500),
                               (300, 620, lambda second: usual(second) / 2), (300, 420, lambda second: usual(second) / 2)):
        rows = [f"{START + second},{watts(second) if first <= second < last else usual(second)}"
                for second in range(-20, 621)]
        folder.write("node.csv", "timestamp,node_power_w\n" + "\n".join(rows) + "\n")
        said = folder.refused("--witness", "node.csv", "--out", "node.json")
        assert ("for each watt of the GPUs at" in said and "--window" in said) or "hardly follows" in said, said
        assert not (folder.path / "node.json").exists()
    jobs = [f"{START + second},{usual(second) + (400 if second // 90 % 2 else 0)}" for second in range(-20, 621)]
    folder.write("node.csv", "timestamp,node_power_w\n" + "\n".join(jobs) + "\n")
    inside(1.25, folder.profile("--witness", "node.csv")["slope"])  # another load of the node comes and goes


def test_a_profile_of_other_gpus_is_refused(folder):
    folder.gpus()
    folder.meter()
    folder.profile("--witness", "node.csv", "--out", "node.json")
    for words, change in (("2 GPUs, and 1", {"gpus": 1}), ("the model", {"model": "NVIDIA A100-SXM4-80GB"}),
                          ("the sensor", {"column": "power.draw.average [W]"}),
                          ("were calibrated", {"levels": (20, 21)})):
        folder.load(**change)
        run = folder.measured("--calibration", "node.json")
        same(None, run["modelled_node"]["energy_j"], words)
        assert words in run["modelled_node"]["reason"], run["modelled_node"]
        assert any("--calibration" in warning for warning in run["warnings"]), run["warnings"]


def test_a_node_that_draws_less_than_its_gpus_is_not_modelled(folder):
    """Profiles that were written before: half of a node, kW, and nodes of 1.25 W for each watt less 400 W, and of 0.95 W
    for each watt and 10 W, which are 770 W for 800 W of the GPUs."""
    folder.gpus()
    folder.meter()
    folder.profile("--witness", "node.csv", "--out", "node.json")
    profile = folder.json("node.json")
    folder.load()

    def scaled(number, by):
        return {key: value * by for key, value in number.items()}

    def less(number, watts):
        return {key: value - (0 if key == "standard_uncertainty" else watts) for key, value in number.items()}

    center = profile["center"]
    ratio = 0.95 / profile["slope"]["value"]
    low_w = 10 + 0.95 * center["gpu_power_w"]
    for words, change in (
            ("one supply", {"slope": scaled(profile["slope"], 0.5), "center": center | {"meter_w": scaled(center["meter_w"], 0.5)},
                            "idle_w": scaled(profile["idle_w"], 0.5)}),
            ("kW", {"slope": scaled(profile["slope"], 0.001), "center": center | {"meter_w": scaled(center["meter_w"], 0.001)},
                    "idle_w": scaled(profile["idle_w"], 0.001)}),
            ("drew nothing", {"center": center | {"meter_w": less(center["meter_w"], 1400)}, "idle_w": less(profile["idle_w"], 1400)}),
            ("its GPUs drew 800", {"slope": scaled(profile["slope"], ratio), "idle_w": less(profile["idle_w"], profile["idle_w"]["value"] - 10),
                                   "center": center | {"meter_w": less(center["meter_w"], center["meter_w"]["value"] - low_w)}})):
        folder.write("node.json", json.dumps(profile | change))
        node = folder.measured("--calibration", "node.json")["modelled_node"]
        same(None, node["energy_j"], words)
        assert words in node["reason"], node


def test_an_interval_of_a_node_begins_at_its_gpus(folder):
    """A line that is known to 2000 W only: 2000 W for the GPUs' 800 W, which the node draws at least."""
    folder.gpus()
    folder.meter()
    folder.profile("--witness", "node.csv", "--out", "node.json")
    profile = folder.json("node.json")
    profile["center"]["meter_w"]["standard_uncertainty"] = 2000
    folder.write("node.json", json.dumps(profile))
    folder.load()
    node = folder.measured("--calibration", "node.json")["modelled_node"]
    near(120000, node["energy_j"], 60)
    near(48000, node["energy_j_low"], 60)
    assert node["energy_j_high"] > 300000, node


def test_a_profile_that_a_hand_has_changed_is_refused(folder):
    folder.gpus()
    folder.meter()
    profile = folder.profile("--witness", "node.csv")
    folder.load()
    slope, center, gpus = profile["slope"], profile["center"], profile["gpus"]
    for change in ({"slope": slope | {"value": 2}}, {"slope": slope | {"value": "1.25"}}, {"slope": slope | {"low": 5}},
                   {"slope": {key: -value for key, value in slope.items()}}, {"slope": slope | {"standard_uncertainty": -1}},
                   {"center": center | {"gpu_power_w": 5000}}, {"gpu_power_range_w": [900, 100]}, {"slow_s": 0},
                   {"gpus": gpus | {"count": 0}}, {"meter": profile["meter"] | {"scope": "rack"}},
                   {"meter": profile["meter"] | {"accuracy": -0.1}}, {"idle_w": profile["idle_w"] | {"value": 5000, "high": 9000}}):
        folder.write("node.json", json.dumps(profile | change))
        node = folder.measured("--calibration", "node.json")["modelled_node"]
        same(None, node["energy_j"], change)
        assert "no profile" in node["reason"], (change, node)


def test_every_command_refuses_a_profile_with_the_same_words(folder):
    folder.gpus()
    folder.meter()
    folder.profile("--witness", "node.csv", "--out", "node.json")
    folder.load(model="NVIDIA A100-SXM4-80GB")
    folder.write("w.txt", f"begin load {START + 20}\nend load {START + 80}\n")
    folder.write("agg_run.json", "{}")
    words = "it is not used: it is of the model NVIDIA H100 80GB HBM3, and NVIDIA A100-SXM4-80GB was measured"
    (folder.path / "runs").mkdir()
    for file, name in (("run.csv", "gpu_metrics.csv"), ("run.json", "run.json")):
        (folder.path / "runs" / name).write_bytes((folder.path / file).read_bytes())
    for command in (("compare", "runs", "--with", "run.json"), ("report", "runs", "--out", "r.html"), ("export", "runs", "--format", "jsonl"), ("recommend", "runs"),
                    ("measure", "run.json", "run.csv"), ("windows", "--telemetry", "run.csv", "--windows", "w.txt"),
                    ("patch", "--csv", "run.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json", "--expected-num-gpus", 2)):
        folder.call(*command, "--calibration", "node.json")
        said = " ".join((folder.out + folder.err).split())
        same(1, said.count(words), f"{command}: {said}")


def test_what_is_modelled_is_never_compared(folder):
    """Two runs of 800 and of 900 W, by a profile of a node and without one: the same words and numbers."""
    folder.gpus()
    folder.meter()
    folder.profile("--witness", "node.csv", "--out", "node.json")
    for name, more in (("with", ("--calibration", "node.json")), ("without", ())):
        for side, levels in (("base", (399, 401)), ("next", (449, 451))):
            folder.load(levels=levels)
            folder.call("measure", "run.json", "run.csv", "--json", *more)
            same(name == "with", "modelled_node" in folder.out)
            folder.write(f"{side}.json", folder.out)
        said = [folder.call("compare", "base.json", "--with", "next.json", *form).out for form in ((), ("--json",))]
        said.append(folder.call("export", "base.json", "--format", "jsonl").out)
        assert "modelled" not in "".join(said), said
        if name == "with":
            wanted = said
    same(wanted, said)


def test_windows_have_the_node_beside_what_was_measured(folder):
    folder.gpus()
    folder.meter()
    folder.profile("--witness", "node.csv", "--out", "node.json")
    folder.load()
    folder.write("w.txt", f"begin load {START + 20}\nend load {START + 80}\nbegin last {START + 90}\nend last {START + 120}\n")
    words = ("windows", "--telemetry", "run.csv", "--windows", "w.txt")
    plain = json.loads(folder.call(*words, "--json").out)
    report = json.loads(folder.call(*words, "--json", "--calibration", "node.json").out)
    node = report["windows"][0].pop("modelled_node")
    near(120000, node["energy_j"], 60)
    same(False, node["is_measured"])
    same(plain, report, "nothing else, and nothing in a window that was not measured")
    folder.call(*words, "--calibration", "node.json")
    same(1, " ".join(folder.out.split()).count("modelled, not measured"), folder.out)
    for form in ("csv", "zeus"):
        folder.call(*words, "--format", form, "--calibration", "node.json")
        same(2, folder.status, form)


def gpu_profile(folder):
    folder.gpus()
    rows = [json.dumps({"timestamp": START + second, "Id": "TotalGPU_Power_0", "Reading": 1.01 * mean_w(second),
                        "ReadingType": "Power", "ReadingUnits": "W"}) for second in range(-20, 621)]
    folder.write("gpus.log", "\n".join(rows) + "\n")
    folder.profile("--witness", "gpus.log", "--meter-accuracy", 0.002, "--out", "gpus.json")


def test_windows_have_narrower_intervals_by_a_meter_of_the_gpus(folder):
    gpu_profile(folder)
    folder.load()
    folder.write("w.txt", f"begin load {START + 20}\nend load {START + 80}\n")
    words = ("windows", "--telemetry", "run.csv", "--windows", "w.txt", "--json", "--uncertainty")
    width = []
    for more in ((), ("--calibration", "gpus.json")):
        window = json.loads(folder.call(*words, *more).out)["windows"][0]
        width.append(window["energy_j_high"] - window["energy_j_low"])
        assert "modelled_node" not in window, window
    assert width[1] < 0.8 * width[0], width


def test_an_interval_by_a_meter_of_the_gpus_is_verified(folder):
    gpu_profile(folder)
    folder.load()
    folder.write("agg_run.json", "{}")
    folder.call("patch", "--csv", "run.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
                "--expected-num-gpus", 2, "--uncertainty", "--calibration", "gpus.json")
    record = folder.json("power_validation_run.json")
    same("gpus.json", record["computed_from"]["options"]["calibration"])
    folder.call("verify", "agg_run.json")
    same(0, folder.status, folder.out + folder.err)


def test_a_backfill_models_the_node_until_the_profile_changes(folder):
    folder.gpus()
    folder.meter()
    run = folder.path / "store" / "run"
    run.mkdir(parents=True)
    profile = folder.profile("--witness", "node.csv", "--out", "store/node.json")
    folder.load()
    (folder.path / "run.csv").rename(run / "gpu_metrics.csv")
    (folder.path / "run.json").rename(run / "run.json")
    (run / "agg_run.json").write_text('{"num_gpus": 2}')
    words = ("backfill", "store", "--expected-num-gpus", 2, "--calibration", "store/node.json", "--json", "--timezone", "UTC")

    def backfilled():
        summary = json.loads(folder.call(*words).out)
        record = json.loads((run / "power_validation_run.json").read_text())
        return summary, record

    summary, record = backfilled()
    near(120000, record["modelled_node"]["energy_j"], 60)
    assert "modelled" not in (run / "agg_run.json").read_text()
    assert "calibration" in record["computed_from"]["inputs"], record["computed_from"]
    before = (run / "power_validation_run.json").stat().st_mtime_ns
    backfilled()
    same(before, (run / "power_validation_run.json").stat().st_mtime_ns, "it is up to date")
    folder.call("verify", "store")
    same(0, folder.status, folder.out + folder.err)
    # The profile is an input as every other one.
    profile["gpus"]["count"] = 8
    folder.write("store/node.json", json.dumps(profile))
    folder.call("verify", "store")
    assert folder.status == 1 and "node.json: changed" in folder.out + folder.err, folder.out + folder.err
    summary, record = backfilled()
    same(None, record["modelled_node"]["energy_j"])
    folder.call("verify", "store")
    same(0, folder.status, folder.out + folder.err)


def test_another_driver_is_a_warning(folder):
    folder.gpus()
    folder.meter()
    profile = folder.profile("--witness", "node.csv")
    profile["gpus"]["driver"] = "535.1"
    folder.write("node.json", json.dumps(profile))
    folder.load(more=("driver_version", lambda second: "580.2"))
    run = folder.measured("--calibration", "node.json")
    near(120000, run["modelled_node"]["energy_j"], 60)
    same(1, sum("driver 535.1" in warning and "driver 580.2" in warning for warning in run["warnings"]), run["warnings"])


def test_what_is_not_a_profile_is_refused(folder):
    folder.load()
    for text in ("", "[]", "{}", '{"schema": "aggregate-power/calibration-1"}', "not JSON"):
        folder.write("node.json", text)
        node = folder.measured("--calibration", "node.json")["modelled_node"]
        same(None, node["energy_j"], text)
        assert "no profile" in node["reason"], node


def test_a_profile_that_is_nested_deep_is_refused(folder):
    folder.load()
    for end in ("", "]" * 100000 + "}"):
        folder.write("node.json", '{"schema":"aggregate-power/calibration-1","gpus":' + "[" * 100000 + end)
        assert "no profile" in folder.measured("--calibration", "node.json")["modelled_node"]["reason"]


def test_several_recordings_have_neither_witness_nor_profile(folder):
    folder.gpus()
    folder.meter()
    folder.profile("--witness", "node.csv", "--out", "node.json")
    folder.load()
    rows = (folder.path / "run.csv").read_text().splitlines()
    for i in range(2):
        own = [row for row in rows[1:] if row.split(",")[1] == str(i)]
        folder.write(f"run_{i}.csv", "\n".join([rows[0], *own]) + "\n")
    folder.call("measure", "run.json", "run_0.csv", "run_1.csv", "--witness", "node.csv", "--calibration", "node.json",
                "--out", "agg.json", "--json")
    run = json.loads(folder.out)["runs"][0]
    assert "modelled_node" not in run and "witnesses" not in run, run
    said = "--witness and --calibration are of one recording and are not used for several"
    assert said in run["warnings"], run["warnings"]
    record = (folder.path / "power_validation_agg.json").read_text()
    assert "node.csv" not in record and "node.json" not in record, record


def test_a_meter_of_the_gpus_alone_narrows_the_interval(folder):
    folder.gpus()
    rows = [json.dumps({"timestamp": START + second, "Id": "TotalGPU_Power_0", "Reading": 1.01 * mean_w(second),
                        "ReadingType": "Power", "ReadingUnits": "W"}) for second in range(-20, 621)]
    folder.write("gpus.log", "\n".join(rows) + "\n")
    found = folder.profile("--witness", "gpus.log", "--meter-accuracy", 0.002, "--out", "gpus.json")
    same("gpu", found["meter"]["scope"])
    near(1.01, found["slope"]["value"], 0.002)
    folder.load()
    plain = folder.measured("--uncertainty")
    run = folder.measured("--uncertainty", "--calibration", "gpus.json")
    width = [each["uncertainty"]["total_gpu_energy_j"]["high"] - each["uncertainty"]["total_gpu_energy_j"]["low"] for each in (plain, run)]
    assert width[1] < 0.8 * width[0], width
    same(plain["total_gpu_energy_j"], run["total_gpu_energy_j"])
    assert "modelled_node" not in run, run


def test_an_audit_record_has_the_model_and_is_verified(folder):
    folder.gpus()
    folder.meter()
    folder.profile("--witness", "node.csv", "--out", "node.json")
    folder.load()
    folder.write("agg_run.json", "{}")
    folder.call("patch", "--csv", "run.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
                "--expected-num-gpus", 2, "--calibration", "node.json")
    record = folder.json("power_validation_run.json")
    near(120000, record["modelled_node"]["energy_j"], 60)
    assert "modelled" not in (folder.path / "agg_run.json").read_text()
    folder.call("verify", "agg_run.json")
    same(0, folder.status, folder.out + folder.err)


def test_a_witness_of_a_measured_run_is_shown(folder):
    folder.load()
    folder.meter(seconds=100, levels=(399, 401), hold=1)
    run = folder.measured("--witness", "node.csv")
    same([120000.0, 2000.0, 0.4], [run["witnesses"][0][key] for key in ("energy_j", "mean_power_w", "gpu_ratio")])


# ---- The forms of meters: 1500 W for 10 s are 15,000 J

def clock(second):
    return f"07:{20 + second // 60:02}:{second % 60:02}"


def test_ptdaemon_counts_while_it_tests(folder):
    rows = []
    for second in range(31):
        mark = "run_testing" if 5 <= second <= 25 else "run_ranging"
        watts = 1500 if mark == "run_testing" else 900
        rows.append(f"Time,09-08-2026 {clock(second)}.000,Watts,{watts},Volts,229.9,Amps,6.55,PF,0.995,Mark,{mark},Ch1,Watts,700")
    near(15000, folder.seen("\n".join(rows) + "\n")["Watts"], 1e-6)
    old = "\n".join(rows).replace("09-08-2026", "28-12-2020")  # the day comes first
    folder.write("spl.txt", old + "\n")
    folder.write("w.txt", "begin load 2020-12-28T07:20:10Z\nend load 2020-12-28T07:20:20Z\n")
    folder.call("windows", "--telemetry", "gpus.csv", "--windows", "w.txt", "--witness", "spl.txt", "--timezone", "UTC",
                "--json")
    same([15000.0], [each["energy_j"] for each in json.loads(folder.out)["windows"][0]["witnesses"]], folder.err)
    assert "--timezone" in folder.call("windows", "--telemetry", "gpus.csv", "--windows", "w.txt", "--witness", "spl.txt").err


def test_marks_of_ptdaemon_may_have_other_names(folder):
    for mark, joules in (("testing-workload", 15000.0), ("notset", 15000.0), ("run_ranging", None)):
        rows = [f"Time,09-08-2026 {clock(second)}.000,Watts,1500,Volts,229.9,Amps,6.55,PF,0.995,Mark,{mark}"
                for second in range(31)]
        same(joules, folder.seen("\n".join(rows) + "\n").get("Watts"), mark)


def test_mlperf_training_logs_readings(folder):
    rows = []
    for second in range(31):
        for key, value in (("power_reading", 1500.0), ("power_measurement_stop", None), ("conversion_eff", 0.9)):
            rows.append(":::MLLOG " + json.dumps({
                "namespace": "", "time_ms": 1000 * (START + second), "event_type": "POINT_IN_TIME", "key": key,
                "value": value, "metadata": {"host": "node_0"} if second % 2 else ""}))
    seen = folder.seen("\n".join(rows) + "\n", name="node_0.txt")
    near(15000, seen["node_0"], 1e-6)
    assert "conversion_eff" in folder.err, folder.err


def test_redfish_needs_the_time_of_its_logger(folder):
    def answer(second, **more):
        return json.dumps({"Id": "Power", "PowerControl": [
            {"MemberId": "0", "Name": "System Power Control", "PowerConsumedWatts": 1500,
             "PowerMetrics": {"AverageConsumedWatts": 1490, "IntervalInMin": 1}},
            {"MemberId": "1", "Name": "CPU Sub-system Power", "PowerConsumedWatts": 300}], **more})
    inside_json = "".join(answer(second, timestamp=START + second) + "\n" for second in range(31))
    seen = folder.seen(inside_json)
    near(15000, seen["System Power Control"], 1e-6)
    near(3000, seen["CPU Sub-system Power"], 1e-6)
    before = "".join(f"2026-09-08T{clock(second)}Z {answer(second)}\n" for second in range(31))
    near(15000, folder.seen(before)["System Power Control"], 1e-6)
    same({}, folder.seen("".join(answer(second) + "\n" for second in range(31))))
    assert "no time" in folder.err, folder.err


def test_redfish_sensors_have_units(folder):
    for unit, reading in (("W", 1500), ("kW", 1.5), ("Watts", 1500), ("VA", 1500), ("Cel", 1500)):
        rows = [json.dumps({"timestamp": START + second, "Id": "TotalPower", "Reading": reading, "ReadingType": "Power"}
                           | {"ReadingUnits": unit}) for second in range(31)]
        seen = folder.seen("\n".join(rows) + "\n")
        if unit in ("VA", "Cel"):
            same({}, seen, unit)
        else:
            same(["TotalPower"], list(seen), f"{unit} {folder.err}")
            near(15000, seen["TotalPower"], 1e-6, unit)


def test_shelly_and_tasmota_measure_plugs(folder):
    gen2 = "".join(json.dumps({"switch:0": {"id": 0, "apower": 1500, "aprt_power": 1600, "aenergy": {
        "total": 1000 + 1500 * second / 3600, "by_minute": [25000.0]}}, "sys": {"unixtime": START + second}}) + "\n"
        for second in range(31))
    folder.seen(gen2)
    seen = json.loads(folder.out)["windows"][0]["witnesses"]
    same(2, len(seen), "its power and its energy")
    for each in seen:
        near(15000, each["energy_j"], 1e-3, each)
    gen1 = "".join(json.dumps({"unixtime": START + second, "meters": [
        {"power": 1500, "is_valid": True, "timestamp": 5, "total": 99}, {"power": 7, "is_valid": False}]}) + "\n"
        for second in range(31))
    same({"meter 0": 15000.0}, folder.seen(gen1))
    tasmota = "".join(json.dumps({"Time": f"2026-09-08T{clock(second)}", "ENERGY": {
        "Period": 12, "Power": 1500, "ApparentPower": 1600}}) + "\n" for second in range(31))
    same({"ENERGY": 15000.0}, folder.seen(tasmota))


def test_pdus_have_units_of_their_own(folder):
    for oid, value, name in (("SNMPv2-SMI::enterprises.13742.6.5.4.3.1.4.1.1.5", 1500, "outlet 1"),
                             ("PowerNet-MIB::rPDU2DeviceStatusPower.1", 150, "PDU 1"),
                             ("PowerNet-MIB::rPDU2OutletMeteredStatusPower.3", 1500, "outlet 3")):
        text = "".join(f"2026-09-08 {clock(second)}.000,{oid} = Gauge32: {value}\n" for second in range(31))
        same({name: 15000.0}, folder.seen(text), oid)
    none = "".join(f"2026-09-08 {clock(second)}.000,{oid} = INTEGER: -1\n" for second in range(31))
    same({}, folder.seen(none))
    same({}, folder.seen(f"{oid} = Gauge32: 1500\n" * 5))
    assert "date and time" in folder.err, folder.err


def test_idrac_and_ipmi_are_logged_in_tables(folder):
    table = "timestamp,realtime_power,max_last_day,min_last_day\n" + "".join(
        f"2026-09-08 {clock(second)},1500 W,2100 W,600 W\n" for second in range(31))
    same({"realtime_power": 15000.0}, folder.seen(table))
    table = "Timestamp,UnixTimestamp,PowerReading_Watts\n" + "".join(
        f"2026-09-08 12:50:{second:02},{START + second},1500\n" for second in range(31))
    same({"powerreading_watts": 15000.0}, folder.seen(table, "--timezone", "Asia/Kolkata"))
    racadm = "".join(f"# {START + second}\nRealtime.Power=1500 W | 5118 Btu/hr\n" for second in range(31))
    same({"Realtime.Power": 15000.0}, folder.seen(racadm))


def test_lines_that_are_nested_deep_are_no_readings(folder):
    deep = "[" * 100000
    for begin in (f'{{"timestamp":{START},"aenergy":', f'{{"timestamp":{START},"PowerControl":[{{"x":',
                  f'{{"PowerWatts":{{}},"time":', f'{{"meters":[],"sys":',
                  ':::MLLOG {"key": "power_reading", "value": 1, "metadata": '):
        for end in ("", "]" * 100000 + "}"):
            folder.seen(begin + deep + end + "\n")
            same(2, folder.status, begin)


def sensors(folder, *parts, name="meter.log"):
    """What a log has in lines with these members, each second."""
    return folder.seen("".join(json.dumps({"timestamp": START + second, **part}) + "\n"
                               for second in range(31) for part in parts), name=name)


def test_sensors_with_one_name_stay_apart(folder):
    def plug(watts):
        return {"switch:0": {"id": 0, "apower": watts}}

    def chassis(watts, **more):
        return {**more, "PowerControl": [{"MemberId": "0", "Name": "System Power Control", "PowerConsumedWatts": watts}]}

    same({"a/switch:0": 15000.0, "b/switch:0": 7000.0}, sensors(folder, {"a": plug(1500), "b": plug(700)}))
    same({"plugs 0/switch:0": 15000.0, "plugs 1/switch:0": 7000.0}, sensors(folder, {"plugs": [plug(1500), plug(700)]}))
    same({"switch:0": 15000.0, "switch:1": 7000.0},
         sensors(folder, {"a": {"switch:0": {"apower": 1500}}, "b": {"switch:1": {"apower": 700}}}))
    same({"switch 0": 15000.0, "switch 1": 7000.0}, sensors(folder, {"id": 0, "apower": 1500}, {"id": 1, "apower": 700}))
    same({"x/switch:0": 15000.0, "y/switch:0": 7000.0},
         sensors(folder, {"src": "x", **plug(1500)}, {"src": "y", **plug(700)}))
    same({"a/ENERGY": 15000.0, "b/ENERGY": 7000.0},
         sensors(folder, {"a": {"ENERGY": {"Power": 1500}}, "b": {"ENERGY": {"Power": 700}}}))
    same({"ENERGY 1": 15000.0, "ENERGY 2": 7000.0}, sensors(folder, {"ENERGY": {"Power": [1500, 700]}}))
    same({"meters/meter 0": 15000.0, "emeters/meter 0": 7000.0},
         sensors(folder, {"meters": [{"power": 1500}], "emeters": [{"power": 700}]}))
    for found in (sensors(folder, {"a": chassis(1500), "b": chassis(700)}),
                  sensors(folder, chassis(1500, **{"@odata.id": "/redfish/v1/Chassis/A/Power"}),
                          chassis(700, **{"@odata.id": "/redfish/v1/Chassis/B/Power"}))):
        same([7000.0, 15000.0], sorted(found.values()), found)
    nodes = [{"MemberId": str(i), "Name": "Node", "PowerConsumedWatts": watts} for i, watts in enumerate((1500, 700))]
    same([7000.0, 15000.0], sorted(sensors(folder, {"PowerControl": nodes}).values()))
    same([7000.0, 15000.0], sorted(sensors(folder, *(
        {"Id": part, "Name": "Power", "Reading": watts, "ReadingUnits": "W"}
        for part, watts in (("A", 1500), ("B", 700)))).values()))
    pdus = "".join(f"2026-09-08 {clock(second)}.000,SNMPv2-SMI::enterprises.13742.6.5.4.3.1.4.{pdu}.1.5 = Gauge32: {watts}\n"
                   for second in range(31) for pdu, watts in ((1, 1500), (2, 700)))
    same({"PDU 1/outlet 1": 15000.0, "PDU 2/outlet 1": 7000.0}, folder.seen(pdus))


def test_two_values_at_one_time_are_of_two_sensors(folder):
    plugs = ({"switch:0": {"apower": watts}} for watts in (1500, 700))
    same({}, sensors(folder, *plugs))
    assert "two values at one time" in folder.err and "1500 and 700" in folder.err, folder.err
    ptd = "".join(f"Time,09-08-2026 {clock(second)}.000,Watts,{watts},Volts,229.9\n"
                  for second in range(31) for watts in (1500, 700))
    same({}, folder.seen(ptd))
    assert "two values at one time" in folder.err, folder.err
    same({"switch:0": 15000.0}, sensors(folder, *({"switch:0": {"apower": 1500}} for _ in range(2))))
    # The clock of a management controller counts whole seconds.
    dcmi = "".join(f"    Instantaneous power reading: {watts} Watts\n    IPMI timestamp: Tue Sep  8 {clock(second)} 2026\n"
                   for second in range(31) for watts in (1400, 1600))
    same({"DCMI": 15000.0}, folder.seen(dcmi), "their mean")


def test_a_time_of_day_is_not_the_time(folder):
    for more in ({"time": "09:20", "unixtime": 0}, {"sys": {"time": "09:20", "unixtime": 0}}):
        def timed(second, part=None):
            part = more if part is None else part
            return {key: timed(second, value) if key == "sys" else START + second if key == "unixtime" else value
                    for key, value in part.items()}
        log = "".join(json.dumps({**timed(second), "switch:0": {"apower": 1500}}) + "\n" for second in range(31))
        same({"switch:0": 15000.0}, folder.seen(log), more)


def test_rows_of_several_hosts_are_several_meters(folder):
    table = "timestamp,hostname,gpu,wall_power_w\n" + "".join(
        f"{START + second},{host},{gpu},{watts}\n"
        for second in range(31) for host, watts in (("n1", 1500), ("n2", 700)) for gpu in (0, 1))
    same({"n1/wall_power_w": 15000.0, "n2/wall_power_w": 7000.0}, folder.seen(table))
    same({"wall_power_w": 15000.0}, folder.seen("".join(
        row for row in table.splitlines(keepends=True) if ",n2," not in row)))
    # The first row of each time lacks a reading.
    same({"wall_power_w": 15000.0}, folder.seen("timestamp,gpu,wall_power_w\n" + "".join(
        f"{START + second},0,[N/A]\n{START + second},1,1500\n" for second in range(31))))
    same({"wall_power_w": 15000.0}, folder.seen('timestamp,"wall_power_w"\n' + "".join(
        f'{START + second}, "1500 W"\n' for second in range(31))))


def test_ipmitool_may_be_logged_in_one_line(folder):
    for before, stamp in (("", "Tue Sep 8 {} 2026"), ("", "09/08/2026 {} UTC"), ("node_0 | ", "Tue Sep  8 {} 2026")):
        for between in (" ", ", ", "     Minimum during sampling period: 7 Watts  Average power reading over sample period: 9 Watts "):
            log = "".join(f"{before}Instantaneous power reading: 1500 Watts{between}IPMI timestamp: {stamp.format(clock(second))}"
                          "   Sampling period: 00000001 Seconds. Power reading state is: activated\n" for second in range(31))
            same({"DCMI": 15000.0}, folder.seen(log), log.splitlines()[0])
    own = "".join(f"{START + second} Instantaneous power reading: 1500 Watts\n" for second in range(31))
    same({"DCMI": 15000.0}, folder.seen(own))
    off = "Instantaneous power reading: 0 Watts IPMI timestamp: Tue Sep 8 07:20:30 2026 Power reading state is: deactivated\n"
    same({}, folder.seen(off * 3))


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
