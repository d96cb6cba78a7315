#!/usr/bin/env python3
"""Who was measured: totals, spellings, hosts in columns of other names, and GPUs in turn under one name.

Energies are sums by hand: mean watts times 60 s. The readings of each GPU are whole numbers around its mean
whose sum over the window is known.

usage: tests/runs/measured_gpus_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import math
import pathlib
import random
import re
import shlex
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import running  # noqa: E402
from running import load_result, run_tests  # noqa: E402

START = 1_788_852_000
TIMES = range(-5, 66)
WINDOW = 60  # seconds, from START
UUIDS = ["GPU-5f0c1a2b-1111-2222-3333-444455556600", "GPU-a7d01c3e-1111-2222-3333-444455556601"]
PCI = ["00000000:07:00.0", "00000000:0B:00.0"]


def power(seed, mean):
    """Watts by time, with noise of 30 W."""
    die = random.Random(seed)
    return {at: mean + die.randint(-30, 30) for at in TIMES}


GPUS = [power(seed, 300 + 40 * seed) for seed in range(4)]


def joules(watts):
    """By the trapezoid, from 0 to WINDOW."""
    return sum((watts[at] + watts[at + 1]) / 2 for at in range(WINDOW))


class Folder(running.Folder):
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.result()

    def result(self, **more):
        self.write("run.json", json.dumps(load_result(START, START + WINDOW) | more))

    def table(self, header, rows, name="gpu.csv"):
        return self.write(name, header + "\n" + "\n".join(rows) + "\n")

    def measure(self, *more, files=("gpu.csv",)):
        self.call("measure", "run.json", *files, "--timezone", "UTC", "--json", *more)
        assert self.out.startswith("{"), self.err
        return json.loads(self.out)["runs"][0]


def refuses(folder, reason, *said, more=()):
    run = folder.measure(*more)
    assert reason in run["reasons"], (run["reasons"], run["details"])
    for words in said:
        assert words in run["details"], (words, run["details"])


def is_valid(folder, expected, more=()):
    run = folder.measure(*more)
    assert run["reasons"] == [], run["details"]
    found = run["total_gpu_energy_j"]
    assert abs(found - expected) < 1e-3 * expected, (expected, found)
    return run


# ---- Totals

def with_total(folder, name, of, gpus=3):
    rows = []
    for at in TIMES:
        own = [GPUS[gpu][at] for gpu in range(gpus)]
        rows += [f"{START + at},{gpu},{watts}" for gpu, watts in enumerate(own)]
        rows.append(f"{START + at},{name},{of(own):.2f}")
    folder.table("timestamp,index,power.draw [W]", rows)
    return sum(joules(GPUS[gpu]) for gpu in range(gpus))


def test_totals_do_not_count(folder):
    for name, of in (("total", sum), ("all", sum), ("gpu_total", sum), ("8", sum), ("3", sum),
                     ("average", lambda own: sum(own) / len(own)), ("9", lambda own: sum(own) / len(own))):
        right = with_total(folder, name, of)
        refuses(folder, "same_sensor", "--gpus 0,1,2 ")
        is_valid(folder, right, more=["--gpus", "0,1,2"])
        folder.result(num_gpus=4)
        refuses(folder, "same_sensor")
        folder.result()


def test_the_mean_of_gpus_is_no_gpu(folder):
    for name in ("mean", "avg", '"0,1,2,3"', "3.5"):
        folder.table("timestamp,index,power.draw [W]", [f"{START + at},{name},{GPUS[0][at]}" for at in TIMES])
        refuses(folder, "several_gpus_in_one_series", "is several GPUs, or their mean, by its name")
        run = folder.measure("--accept", "several_gpus_in_one_series")
        assert run["reasons"] == [] and any("several_gpus_in_one_series" in text for text in run["warnings"]), run


def test_a_host_as_a_device_warns(folder):
    for column in ("hostname", "node_name", "instance", "host"):
        folder.table(f"timestamp,power.draw [W],{column}", [f"{START + at},{GPUS[0][at]},n1" for at in TIMES])
        run = folder.measure("--device-column", column)
        assert run["reasons"] == [] and any("host_as_gpu: " in text for text in run["warnings"]), run
    folder.table("timestamp,index,power.draw [W],hostname", [f"{START + at},0,{GPUS[0][at]},n1" for at in TIMES])
    assert not any("host_as_gpu" in text for text in folder.measure()["warnings"])


def test_mig_warns(folder):
    for mode, warns in (("Enabled", True), ("Disabled", False), ("[N/A]", False)):
        folder.table("timestamp,index,power.draw [W],mig.mode.current",
                     [f"{START + at},0,{GPUS[0][at]},{mode}" for at in TIMES])
        assert any("mig: MIG is enabled" in text for text in folder.measure()["warnings"]) == warns, mode


def course(at, gpu, later_s=0):
    """A power that changes in seconds, and differs from GPU to GPU."""
    at += later_s
    return round((1 + 0.03 * gpu) * (400 + 30 * math.sin(0.6 * at + gpu) + 20 * math.sin(0.21 * at + gpu)), 2)


def later(folder, name, columns, spelled, later_s, gpus=2):
    return folder.table(f"timestamp,{columns},power.draw [W]", [
        f"{START + at + later_s},{spelled.format(gpu)},{course(at, gpu, later_s)}" for at in TIMES for gpu in range(gpus)], name)


def test_one_gpu_that_is_read_twice(folder):
    """Under two names, in one file or two, in a place of its own or another id, and on two hosts."""
    for column, first, other in (("pod,gpu", "a,{}", "b,{}"), ("instance,gpu", "10.0.0.1:9400,{}", "node:9400,{}"),
                                 ("gpu", "{}", "#{}"), ("gpu", "{}", "00000000:1{}:00.0")):
        rows = [f"{START + at + later_s},{spelled.format(gpu)},{course(at, gpu, later_s)}"
                for at in TIMES for spelled, later_s in ((first, 0), (other, 0.4)) for gpu in range(2)]
        folder.table(f"timestamp,{column},power.draw [W]", rows)
        refuses(folder, "same_sensor", "agree between each other's times, too: they are of one GPU")
    later(folder, "a.csv", "index", "{}", 0)
    later(folder, "b.csv", "index", "{}", 0.3)
    for words in ((), ("--pue", "1.2"), ("--price", "0.2"), ("--idle", "auto")):  # no recording is left
        assert folder.measure("--gpus", "99", *words, files=("a.csv", "b.csv"))["reasons"] == ["selected_gpu_missing"], words
    run = folder.measure(files=("a.csv", "b.csv"))
    assert "same_sensor" in run["reasons"] and "leave out b.csv" in run["details"], run
    for name in ("node-1.csv", "node-2.csv"):
        later(folder, name, "index", "{}", 0.3 if name == "node-2.csv" else 0)
    assert "same_sensor" in folder.measure(files=("node-1.csv", "node-2.csv"))["reasons"]


def test_gpus_of_two_hosts_that_are_read_apart_are_two(folder):
    for host, later_s in ((0, 0), (1, 0.4)):
        folder.table("timestamp,index,power.draw [W]", [
            f"{START + at + later_s},{gpu},{course(at, 2 * host + gpu, later_s)}" for at in TIMES for gpu in range(2)],
            f"node-{host}.csv")
    run = folder.measure(files=("node-0.csv", "node-1.csv"))
    assert run["reasons"] == [] and not any("one GPU" in text for text in run["warnings"]), run


def test_a_total_may_be_chosen(folder):
    is_valid(folder, with_total(folder, "total", sum), more=["--gpus", "total"])


# ---- Spellings

def halves(folder, header, first, second):
    """The names of two GPUs, which change in every other row."""
    rows = []
    for at in TIMES:
        for half in (0, 1):
            for gpu in range(2):
                name = (first, second)[half](gpu)
                rows.append(f"{START + at + half / 2},{name},{GPUS[gpu][at]}")
    folder.table(header, rows)


def test_two_spellings_of_one_gpu_are_not_two(folder):
    pairs = [("index", str, other) for other in (
        lambda gpu: f"GPU {gpu}", lambda gpu: f"nvidia{gpu}", lambda gpu: f"0{gpu}", lambda gpu: f"gpu{gpu}",
        lambda gpu: f"{gpu}.0")]
    pairs += [("uuid", lambda gpu: UUIDS[gpu], other) for other in (
        lambda gpu: UUIDS[gpu][4:], lambda gpu: UUIDS[gpu].upper(), lambda gpu: UUIDS[gpu].replace("-", ""),
        lambda gpu: UUIDS[gpu][:12])]
    pairs += [("pci.bus_id", lambda gpu: PCI[gpu], other) for other in (
        lambda gpu: PCI[gpu][4:], lambda gpu: PCI[gpu][9:])]
    for column, first, second in pairs:
        halves(folder, f"timestamp,{column},power.draw [W]", first, second)
        refuses(folder, "gpu_identity_conflict", "are one GPU in two spellings")


def test_spellings_beside_a_uuid_are_one_gpu(folder):
    halves(folder, "timestamp,index,uuid,power.draw [W]", lambda gpu: f"{gpu},{UUIDS[gpu]}",
           lambda gpu: f"GPU {gpu},{UUIDS[gpu][4:].upper()}")
    run = folder.measure()
    assert (run["reasons"], run["num_gpus"] if "num_gpus" in run else 2) == ([], 2), run


def by_uuid(folder, row):
    folder.table("timestamp,index,uuid,power.draw [W]", [
        f"{START + at},{row(at, gpu)},{GPUS[gpu][at]}" for at in TIMES for gpu in range(2)])
    return joules(GPUS[0]) + joules(GPUS[1])


def test_uuids_count_where_indices_change(folder):
    both = by_uuid(folder, lambda at, gpu: f"{gpu if at < 30 else 1 - gpu},{UUIDS[gpu]}")
    is_valid(folder, both)
    is_valid(folder, joules(GPUS[1]), more=["--gpus", UUIDS[1]])


def test_swapped_cells_are_read(folder):
    is_valid(folder, by_uuid(folder, lambda at, gpu: f"{gpu},{UUIDS[gpu]}" if at < 30 else f"{UUIDS[gpu]},{gpu}"))


def test_gpus_may_be_named_by_any_of_their_names(folder):
    by_uuid(folder, lambda at, gpu: f"{gpu},{UUIDS[gpu]}")
    for name in ("1", "gpu1", "GPU 1", UUIDS[1], UUIDS[1][:12], UUIDS[1][4:], UUIDS[1][4:].upper(),
                 UUIDS[1].replace("-", "")):
        is_valid(folder, joules(GPUS[1]), more=["--gpus", name])


# ---- Two recordings

AGAIN = [power(30 + seed, 300 + 40 * seed) for seed in range(2)]  # as two recorders of one GPU see its noise
BUSY = [power(40 + seed, 600 + 50 * seed) for seed in range(2)]


def recording(folder, name, spelled, watts, column="index", apart=0.4):
    (folder.path / name).parent.mkdir(parents=True, exist_ok=True)
    folder.table(f"timestamp,{column},power.draw [W]", [
        f"{START + at + apart},{spelled(gpu)},{watts[gpu][at]}" for at in TIMES for gpu in range(2)], name)


def two(folder, first, second, *more):
    """What `measure` finds in both, and whether `windows` reads them."""
    folder.write("windows.csv", f"name,start,end\nload,{START},{START + WINDOW}\n")
    folder.call("windows", "--telemetry", first, second, "--windows", "windows.csv", "--timezone", "UTC")
    status, err = folder.status, folder.err
    run = folder.measure(*more, files=(first, second))
    return run, status, err


def counts_both(folder, first, second, watts, *more, quiet=True):
    run, status, err = two(folder, first, second, *more)
    assert run["reasons"] == [] and (more or status == 0), (first, second, run["details"], err)
    right = sum(joules(one) for one in watts)
    assert abs(run["total_gpu_energy_j"] - right) < 5e-3 * right, (run["total_gpu_energy_j"], right)
    warned = any("gpu_identity: " in text and "would count twice" in text for text in run["warnings"])
    assert warned != quiet, (first, second, run["warnings"])
    assert more or ("would count twice" in err) != quiet, err


def counts_none(folder, first, second, *said):
    run, status, err = two(folder, first, second)
    assert "gpu_identity_conflict" in run["reasons"] and status == 2, (first, second, run["details"], err)
    for words in (*said, "would count twice"):
        assert words in run["details"], (words, run["details"])


def test_paths_tell_hosts_apart(folder):
    for first, second in (("node-1/gpu.csv", "node-2/gpu.csv"), ("host_a.csv", "host_b.csv"), ("hosta.csv", "hostb.csv"),
                          ("nodes/node0/gpu.csv", "nodes/node1/gpu.csv"), ("gpu_node7.csv", "gpu_node8.csv"),
                          ("ip-10-0-0-1.csv", "ip-10-0-0-2.csv"), ("dgx01.csv", "dgx02.csv"), ("Server3.csv", "Server4.csv")):
        for column, name in (("index", str), ("pci.bus_id", PCI.__getitem__)):
            recording(folder, first, name, GPUS, column)
            recording(folder, second, name, AGAIN, column, 0)
            counts_both(folder, first, second, [*GPUS[:2], *AGAIN])


def test_recordings_that_nothing_tells_apart_warn(folder):
    """Two hosts, or one host that two recorders asked: unless the number of GPUs is stated, or their power differs."""
    for first, second in (("a.csv", "b.csv"), ("gpu.csv", "gpu_2.csv"), ("rank0.csv", "rank1.csv"), ("run1/gpu.csv", "run2/gpu.csv"),
                          ("nodes.csv", "hosts.csv"), ("node1/a.csv", "node1/b.csv"), ("worker0.csv", "worker1.csv")):
        for column, name in (("index", str), ("pci.bus_id", PCI.__getitem__)):
            recording(folder, first, name, GPUS, column)
            recording(folder, second, name, AGAIN, column, 0)
            counts_both(folder, first, second, [*GPUS[:2], *AGAIN], quiet=False)
            counts_both(folder, first, second, [*GPUS[:2], *AGAIN], "--expected-num-gpus", 4)
            recording(folder, second, name, BUSY, column, 0)
            counts_both(folder, first, second, [*GPUS[:2], *BUSY])
    recording(folder, "a.csv", str, GPUS)
    recording(folder, "b.csv", lambda gpu: gpu + 2, AGAIN)
    counts_both(folder, "a.csv", "b.csv", [*GPUS[:2], *AGAIN])


def test_names_of_two_kinds_are_refused(folder):
    """An index here, a PCI address or a UUID there: unless the power, the paths or the number of GPUs says who is who."""
    kinds = {"index": str, "pci.bus_id": PCI.__getitem__, "uuid": UUIDS.__getitem__}
    pairs = [(a, b) for a in kinds for b in kinds if a != b]
    for one, other in pairs:
        recording(folder, "a.csv", kinds[one], GPUS, one)
        recording(folder, "b.csv", kinds[other], AGAIN, other, 0)
        counts_none(folder, "a.csv", "b.csv", "may be GPU")
        counts_both(folder, "a.csv", "b.csv", [*GPUS[:2], *AGAIN], "--expected-num-gpus", 4)
        counts_both(folder, "a.csv", "b.csv", [*GPUS[:2], *AGAIN], "--accept", "gpu_identity_conflict")
        recording(folder, "b.csv", kinds[other], BUSY, other, 0)
        counts_both(folder, "a.csv", "b.csv", [*GPUS[:2], *BUSY])
        recording(folder, "node1.csv", kinds[one], GPUS, one)
        recording(folder, "node2.csv", kinds[other], AGAIN, other, 0)
        counts_both(folder, "node1.csv", "node2.csv", [*GPUS[:2], *AGAIN])
    for column, other in (("index", "GPU {}".format), ("pci.bus_id", lambda gpu: PCI[gpu][4:].lower())):
        recording(folder, "a.csv", kinds[column], GPUS, column)
        recording(folder, "b.csv", other, AGAIN, column, 0)
        counts_none(folder, "a.csv", "b.csv", "may be GPU")


def test_files_beside_tell_gpus_apart(folder):
    def beside(name, boot=None, uuids=None):
        if boot:
            folder.write(f"{name}_context.json", json.dumps({"timestamp_timezone": "UTC", "clock_pairs": [
                {"epoch_s": START - 6, "monotonic_s": 1000, "boot_id": boot}]}))
        if uuids:
            folder.write(f"{name}_identity.csv", "index, uuid\n" + "".join(f"{i}, {uuid}\n" for i, uuid in enumerate(uuids)))

    recording(folder, "a.csv", str, GPUS)
    recording(folder, "b.csv", str, AGAIN)
    beside("a", boot="one")
    beside("b", boot="one")
    counts_none(folder, "a.csv", "b.csv", "GPU 0 of a.csv is GPU 0 of b.csv")
    beside("b", boot="two")
    counts_both(folder, "a.csv", "b.csv", [*GPUS[:2], *AGAIN])
    for name in "ab":
        (folder.path / f"{name}_context.json").unlink()
        beside(name, uuids=UUIDS)
    counts_none(folder, "a.csv", "b.csv", f"with the UUID {UUIDS[0]}")
    beside("b", uuids=[uuid.replace("GPU-", "GPU-1")[:40] for uuid in UUIDS])
    counts_both(folder, "a.csv", "b.csv", [*GPUS[:2], *AGAIN])


# ---- Hosts in columns of other names

OTHERS = [power(10 + seed, 300 + 40 * seed) for seed in range(4)]


def two_hosts(folder, column, way):
    """Rows of two hosts, each with GPUs 0 and 1: at the same times, at others, or one host after the other."""
    apart = 0.37 if way == "apart" else 0
    rows = [(at + (apart if host else 0), host, gpu, (GPUS, OTHERS)[host][gpu][at])
            for at in TIMES for host in (0, 1) for gpu in range(2)]
    if way == "blocks":
        rows.sort(key=lambda row: row[1])
    folder.table(f"timestamp,{column},index,power.draw [W]",
                 [f"{START + at},host-{'ab'[host]},{gpu},{watts}" for at, host, gpu, watts in rows])
    return sum(joules(watts[gpu]) for watts in (GPUS, OTHERS) for gpu in range(2))


def test_columns_of_hosts_tell_gpus_apart(folder):
    for column in ("fqdn", "SLURMD_NODENAME", "job_host", "computer", "machine_name"):
        for way in ("together", "blocks"):
            is_valid(folder, two_hosts(folder, column, way))


def test_unknown_columns_of_hosts_are_refused(folder):
    for column in ("source", "where", "chassis", "env"):
        for way in ("together", "apart"):
            two_hosts(folder, column, way)
            refuses(folder, "gpu_identity_conflict", f"'host-a' and 'host-b' in column '{column}'")
        two_hosts(folder, column, "blocks")
        refuses(folder, "several_gpus_in_one_series", "go through the same time twice")


def numbered_hosts(folder, column, hosts=2, gpus=2, apart=0.37, place=lambda row: row, seconds=TIMES):
    """Rows of hosts that are numbered in a column, at times of their own."""
    rows = [(at + apart * host, host, gpu) for at in seconds for host in range(hosts) for gpu in range(gpus)]
    die = random.Random(5)
    rows = [row for row in rows if die.random() > 0.01]
    folder.table(f"timestamp,{column},index,power.draw [W]",
                 [f"{START + at:.2f},{place(host)},{gpu},{GPUS[gpu][min(int(at), 65)] + 50 * host + host}" for at, host, gpu in rows])


def test_numbers_of_hosts_are_refused(folder):
    for column in ("slot", "source", "unit", "box", "bay"):
        for hosts, gpus, apart in ((2, 1, 0.37), (2, 2, 0.5), (2, 8, 0.37), (3, 2, 0.31), (4, 1, 0.25)):
            numbered_hosts(folder, column, hosts, min(gpus, 4), apart, place=lambda host: 11 + host)
            refuses(folder, "gpu_identity_conflict", "alternate between '11' and '12' in column")
    for column in ("host", "node", "server"):
        numbered_hosts(folder, column)
        run = folder.measure()
        assert run["reasons"] == [] and len(run["gpus"]) == 4 if "gpus" in run else run["valid"], run


def test_numbers_that_say_nothing_of_the_gpu_are_passed_over(folder):
    """Measured values, counts, states, milliseconds of the time, and what GPUs or nobody changes."""
    die = random.Random(7)
    many = {"clocks.sm": lambda at, gpu: die.choice((1980, 1965)), "fan": lambda at, gpu: 45 + at % 3, "sample": lambda at, gpu: at + 5,
            "ecc": lambda at, gpu: 0, "serial_no": lambda at, gpu: 1320 + gpu, "throttle": lambda at, gpu: die.randint(0, 1),
            "utilization.gpu [%]": lambda at, gpu: 98 + at % 2, "ms": lambda at, gpu: 500 * (at % 2), "temp": lambda at, gpu: 60 + at // 9,
            "pstate_no": lambda at, gpu: 0 if at % 9 else 2, "frac_ms": lambda at, gpu: 250 * (at % 4)}
    for column, number in many.items():
        folder.table(f"timestamp,{column},index,power.draw [W]", [
            f"{START + at},{number(at, gpu)},{gpu},{GPUS[gpu][at]}" for at in TIMES for gpu in range(2)])
        is_valid(folder, joules(GPUS[0]) + joules(GPUS[1]))


def test_words_that_say_nothing_of_the_gpu_are_passed_over(folder):
    """States that change now and then, times, and processes that repeat their GPU's power."""
    for word in (lambda at, gpu: "P0" if at % 7 else "P2", lambda at, gpu: f"t{at}",
                 lambda at, gpu: ["Active", "Not Active"][(at // 3) % 2]):
        folder.table("timestamp,what,index,power.draw [W]", [
            f"{START + at},{word(at, gpu)},{gpu},{GPUS[gpu][at]}" for at in TIMES for gpu in range(2)])
        is_valid(folder, joules(GPUS[0]) + joules(GPUS[1]))
    folder.table("timestamp,process_name,index,power.draw [W]", [
        f"{START + at},{process},{gpu},{GPUS[gpu][at]}" for at in TIMES for gpu in range(2) for process in ("a", "b")])
    is_valid(folder, joules(GPUS[0]) + joules(GPUS[1]))


def test_a_copy_after_the_rows_counts_once(folder):
    rows = [f"{START + at},{gpu},{GPUS[gpu][at]}" for at in TIMES for gpu in range(2)]
    folder.table("timestamp,index,power.draw [W]", rows + rows)
    is_valid(folder, joules(GPUS[0]) + joules(GPUS[1]))


# ---- GPUs in turn

def test_gpus_in_turn_under_one_name_are_refused(folder):
    for levels in ((600, 80), (600, 350, 80), (600, 600, 80, 80)):
        folder.table("timestamp,index,power.draw [W]", [
            f"{START + at},0,{levels[at % len(levels)] + GPUS[0][at] / 100:.2f}" for at in TIMES])
        refuses(folder, "several_gpus_in_one_series")
    for count, levels in ((20, (600, 80)), (24, (600, 300)), (30, (600, 350, 80))):  # rows of a short window
        folder.result(benchmark_end_time_unix=START + count - 10, duration=count - 10)
        folder.table("timestamp,index,power.draw [W]", [
            f"{START + at},0,{levels[at % len(levels)] + GPUS[0][at] / 100:.2f}" for at in range(-5, count - 5)])
        refuses(folder, "several_gpus_in_one_series")
    folder.result()
    die = random.Random(3)
    folder.table("timestamp,index,power.draw [W]", [
        f"{START + at + phase},0,{600 + die.uniform(-6, 6):.2f}" for at in TIMES for phase in (0, 0.1)])
    refuses(folder, "several_gpus_in_one_series", "at the same phases")


# ---- What a refusal proposes

def test_a_load_in_step_with_the_sampling_is_measured_with_uuids(folder):
    """Each row names its GPU; a number or zeros in that column name none."""
    for levels in ((600, 80), (600, 350, 80), (600, 600, 80, 80), (600, 600, 600, 250, 250)):
        watts = [{at: levels[at % len(levels)] + gpu[at] / 100 for at in TIMES} for gpu in GPUS[:2]]
        for index in ("index,", ""):
            rows = [f"{START + at},{f'{gpu},' if index else ''}{UUIDS[gpu]},{watts[gpu][at]:.2f}" for at in TIMES for gpu in range(2)]
            folder.table(f"timestamp,{index}uuid,power.draw [W]", rows)
            is_valid(folder, joules(watts[0]) + joules(watts[1]))
        for name in ("7", "GPU-00000000-0000-0000-0000-000000000000"):
            folder.table("timestamp,index,uuid,power.draw [W]", [f"{START + at},0,{name},{watts[0][at]:.2f}" for at in TIMES])
            refuses(folder, "several_gpus_in_one_series", "rows before in each row")
    folder.call("measure", "run.json", "gpu.csv", "--timezone", "UTC")
    assert "--accept several_gpus_in_one_series publishes" in " ".join(folder.out.split()), folder.out


MIG = [f"MIG-{digit * 8}-1111-2222-3333-444455556600" for digit in "123"]
NONE = {at: "N/A" for at in TIMES}
ZERO = {at: 0 for at in TIMES}


def named(folder, column, devices):
    folder.table(f"timestamp,{column},power.draw [W]", [f"{START + at},{name},{watts[at]}" for at in TIMES for name, watts in devices])


def proposed(folder, *more):
    """The first --gpus in a refusal or a warning, as a shell splits it."""
    run = folder.measure(*more)
    found = re.search(r"--gpus ('[^']*'|[^ ;)]+)", " ".join([run["details"], *run["warnings"]]))
    assert found, run["details"]
    return shlex.split(found[0])


def test_a_proposed_selection_is_right(folder):
    """Of parents and their instances, partitions, dies, virtual GPUs and totals, whatever their names are."""
    one, other = GPUS[:2]
    alone, both = joules(one), joules(one) + joules(other)
    old = [f"MIG-{uuid}/1/0" for uuid in UUIDS]
    total = {at: one[at] + other[at] for at in TIMES}
    for column, devices, right in (
            ("index", [("0", one), (MIG[0], one), (MIG[1], one)], alone),
            ("index", [(MIG[0], one), (MIG[1], one), ("0", one)], alone),
            ("index", [("0", one), (MIG[0], one), ("1", other), (MIG[1], other), (MIG[2], other)], both),
            ("index", [("0", one), ("0/0", one), ("0/1", one)], alone),
            ("index", [("0", one), ("0:0", one), ("0:1", one)], alone),
            ("index", [("GPU 0", one), ("GPU 0 MIG 1", one), ("GPU 0 MIG 2", one)], alone),
            ("uuid", [(UUIDS[0], one), (MIG[0], one), (UUIDS[1], other), (MIG[1], other)], both),
            ("uuid", [(UUIDS[0], one), (old[0], one), (UUIDS[1], other), (old[1], other)], both),
            ("index,uuid", [(f"0,{UUIDS[0]}", one), (f"0,{old[0]}", one), (f"1,{UUIDS[1]}", other)], both),
            ("hostname,index", [("a,0", one), ("a,1", one), ("b,0", other)], both),
            ("index", [("0", one), ("1", one), ("2", other), ("3", other)], both),
            ("index", [("0", one), ("1", NONE), ("2", other), ("3", NONE)], both),
            ("index", [("0", one), ("1", other), ("2", ZERO), ("total", total)], both)):
        named(folder, column, devices)
        assert not folder.measure()["reasons"] == [], devices[0]
        is_valid(folder, right, more=proposed(folder))
    named(folder, "index", [('"a,1"', one), ('"a,2"', one)])
    refuses(folder, "same_sensor", "; --gpus keeps one of each")


def test_a_selection_after_a_total_may_need_another(folder):
    one, other = GPUS[:2]
    named(folder, "index", [("0", one), ("1", other), ("2", other), ("total", {at: one[at] + 2 * other[at] for at in TIMES})])
    is_valid(folder, joules(one) + joules(other), more=proposed(folder, *proposed(folder)))


def test_a_selection_of_one_of_each_names_the_idle_ones(folder):
    idle = [{at: 100 + (at * gpu) % 7 for at in TIMES} for gpu in (2, 3)]
    named(folder, "index", [("0", GPUS[0]), ("1", GPUS[0]), ("2", idle[0]), ("3", idle[1])])
    assert any("GPUs that were idle count, too" in text for text in folder.measure()["warnings"])
    folder.result(tp=2)
    named(folder, "index", [("0", GPUS[0]), ("1", idle[0]), ("2", GPUS[1])])
    refuses(folder, "expected_gpu_count_mismatch", "3 observed, and the result states 2: choose them with --gpus 0,2")


def proposed_commands(said):
    return [shlex.split(words)[1:] for words in re.findall(r"'(aggregate-power measure [^']*)'", " ".join(said.split()))]


def of_two_hosts(folder, form, second_is_idle=False):
    """Two GPUs on each host, 0 and 1, in one file with a column of hosts, or in a file of each. Returns joules by host."""
    hosts = {"node-1": GPUS[:2], "node-2": [{at: 60 + at % 3 for at in TIMES}] * 2 if second_is_idle else GPUS[2:]}
    if form == "one":
        folder.table("timestamp,hostname,index,power.draw [W]", [
            f"{START + at},{host},{i},{gpu[at] + i}" for at in TIMES for host, gpus in hosts.items() for i, gpu in enumerate(gpus)])
    else:
        for name, gpus in zip(form, hosts.values()):
            folder.table("timestamp,index,power.draw [W]", [f"{START + at},{i},{gpu[at] + i}" for at in TIMES for i, gpu in enumerate(gpus)], name)
    return [sum(joules(gpu) for gpu in gpus) + WINDOW for gpus in hosts.values()]  # one of the two draws 1 W more


def measures(folder, words, wanted):
    run = json.loads(folder.call(*words, "--timezone", "UTC", "--json").out)["runs"][0]
    assert run["reasons"] == [] and abs(run["total_gpu_energy_j"] - wanted) < 1e-3 * wanted, (words, wanted, run["details"], run.get("total_gpu_energy_j"))


def test_what_is_proposed_for_two_hosts_works(folder):
    """Every command and option, whatever the result states."""
    folder.result(tp=2)
    each = of_two_hosts(folder, "one")
    options = re.findall(r"--gpus [\w/,-]+", folder.measure()["details"])
    assert options == ["--gpus node-1/0,node-1/1", "--gpus node-2/0,node-2/1"], options
    for option, wanted in zip(options, each):
        is_valid(folder, wanted, more=option.split())
    each = of_two_hosts(folder, "one", second_is_idle=True)
    is_valid(folder, each[0], more=proposed(folder))
    for files in (("a.csv", "b.csv"), ("node-1.csv", "node-2.csv")):
        (folder.path / "gpu.csv").unlink(missing_ok=True)
        for idle in (False, True):
            each = of_two_hosts(folder, files, idle)
            folder.result(tp=2)
            commands = proposed_commands(folder.measure(files=files)["details"])
            assert len(commands) == 2, commands
            for words, wanted in zip(commands, each):
                measures(folder, words, wanted)
            folder.result(tp=4)
            one = folder.measure(files=files[:1])["details"]
            assert "2 observed, and the result states 4: record all of them, or give the recordings of all hosts" in one, one
            # Of the folder: one of them, or both.
            commands = proposed_commands(folder.call("measure", "run.json", "--timezone", "UTC").err)
            assert [len(words) for words in commands] == [3, 3, 4], commands
            measures(folder, commands[2], sum(each))
            folder.result()
            for words, wanted in zip(commands, [*each, sum(each)]):
                measures(folder, words, wanted)
            said = " ".join(folder.measure(files=files)["warnings"])
            if idle:
                assert "give only their recordings" in said and "--gpus 0" not in said, said
        for name in files:
            (folder.path / name).unlink()


def test_a_recording_that_repeats_others_is_left_out(folder):
    for first, second, out in (((0, 1), (0, 1), "leave out b.csv"), ((0, 1), (1,), "leave out b.csv"), ((1,), (0, 1), "leave out a.csv"),
                               ((0, 1), (1, 2), "name the GPUs that count with --gpus, each once")):
        for name, gpus, spelled in (("a.csv", first, "{}"), ("b.csv", second, "card-{}")):
            folder.table("timestamp,index,power.draw [W]", [
                f"{START + at},{spelled.format(gpu)},{GPUS[gpu][at]}" for at in TIMES for gpu in gpus], name)
        run = folder.measure(files=("a.csv", "b.csv"))
        assert "same_sensor" in run["reasons"] and out in run["details"], run["details"]


# ---- Idle

def with_utilization(folder, gpus):
    folder.table("timestamp,index,power.draw [W],utilization.gpu [%]", [
        f"{START + at},{gpu},{watts + GPUS[gpu][at] / 100:.2f},{used} %"
        for at in TIMES for gpu, (watts, used) in enumerate(gpus)])


def test_gpus_that_worked_are_not_idle(folder):
    with_utilization(folder, [(600, 98), (200, 98), (200, 98), (200, 98)])
    run = folder.measure()
    assert run["reasons"] == [] and not any("below 40 %" in warning for warning in run["warnings"]), run
    with_utilization(folder, [(600, 98), (200, 0), (200, 0), (200, 0)])
    refuses(folder, "idle_gpus_counted", "--gpus 0")


def test_single_runs_warn_of_idle_gpus(folder):
    folder.write("agg_run.json", "{}")
    with_utilization(folder, [(600, 98), (600, 98), (60, 0)])
    folder.call("--csv", "gpu.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json")
    assert "idle_gpus_counted: the mean power of 2 is below 40 %" in folder.err, folder.err
    with_utilization(folder, [(600, 98), (600, 98), (200, 98)])
    folder.call("--csv", "gpu.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json")
    assert "idle_gpus_counted" not in folder.err, folder.err


def test_an_index_that_counts_rows_is_named_a_few_times(folder):
    """Each row pair has its own index, which is of both GPUs: three of 71 are named, and that there are 68 more."""
    rows = [f"{row},{START + at}.{gpu},{UUIDS[gpu]},{GPUS[gpu][at]}" for row, at in enumerate(TIMES) for gpu in (0, 1)]
    folder.table("index,timestamp,gpu_uuid,power_w", rows)
    folder.call("measure", "run.json", "gpu.csv", "--json")
    run = json.loads(folder.out)["runs"][0]
    told = [text for text in run["warnings"] if "which count as 2 GPUs" in text]
    assert len(told) == 3 and "(68 more indices like this)" in told[-1], told
    assert run["total_gpu_energy_j"] > 0.99 * (joules(GPUS[0]) + joules(GPUS[1])), run


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
