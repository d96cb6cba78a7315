#!/usr/bin/env python3
"""Numbers that the recording itself contradicts: zeros between readings, a header in another order, GPUs that count
twice, counters under other names, words that are no GPU, and a job that passes for idle.

Two GPUs draw 600 W, and 90 W outside of the window of 60 s; every third reading is 1 W more and every third 2 W.
Expected values are sums by hand over the rows: trapezoids of watts and seconds.

usage: tests/runs/contradicted_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import running  # noqa: E402
from running import PROGRAM, load_result, near, run_tests, same  # noqa: E402

START = 1_788_852_030  # 2026-09-08T07:20:30Z
WINDOW = 60  # seconds, from START
TIMES = range(-30, 91)


def power(at, gpu=0):
    return (600 if 0 <= at <= WINDOW else 90) + (at + gpu) % 3


def joules(watts):
    """Of the window, by trapezoids over a reading each second."""
    return sum((watts(at) + watts(at + 1)) / 2 for at in range(WINDOW))


class Folder(running.Folder):
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.write("run.json", load_result(START, START + WINDOW))
        self.write("agg_run.json", '{"hw": "h100"}')

    def rows(self, header, row, name="gpu_metrics.csv", gpus=2):
        lines = [header] + [f"{START + at},{row(at, gpu)}" for at in TIMES for gpu in range(gpus)]
        return self.write(name, "\n".join(lines) + "\n")

    def recorded(self, watts, name="gpu_metrics.csv"):
        return self.rows("timestamp,index,power.draw [W]", lambda at, gpu: f"{gpu},{watts(at, gpu):.2f}", name)

    def call(self, *words):
        return subprocess.run([PROGRAM, *map(str, words)], cwd=self.path, capture_output=True, text=True, timeout=60,
                              env={"PATH": os.environ["PATH"], "TZ": "UTC"})

    def measured(self, *words, files=("run.json", "gpu_metrics.csv")):
        done = self.call("measure", *files, "--json", *words)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)["runs"][0]

    def patched(self, *words):
        """What `multinode`, `agentic` and the main job write."""
        self.write("agg_run.json", '{"hw": "h100"}')
        done = self.call(*words, "--bench-result", "run.json", "--agg-result", "agg_run.json")
        return self.json("agg_run.json"), done.stderr


def test_swapped_files_are_left_alone(folder):
    """The status is that of any other fault. An aggregate with members of a result is read as before."""
    folder.recorded(power)
    before = {path.name: path.read_bytes() for path in folder.path.iterdir()}
    for command in (["patch", "--expected-num-gpus", 2], ["patch"], ["multinode", "--host", "a=gpu_metrics.csv", "--expected-num-gpus", 2]):
        for need, status in ((["--require-power"], 1), ([], 0)):
            csv = ["--csv", "gpu_metrics.csv"] if command[0] == "patch" else []
            done = folder.call(*command, *csv, "--bench-result", "agg_run.json", "--agg-result", "run.json", *need)
            same(status, done.returncode, done.stderr)
            assert "--agg-result run.json a benchmark result: they are swapped; nothing was written" in done.stderr, done.stderr
            same(before, {path.name: path.read_bytes() for path in folder.path.iterdir()})
            if not csv:
                continue
            done = folder.call(*command, "--csv", "run.json", "--bench-result", "gpu_metrics.csv", "--agg-result", "agg_run.json", *need)
            same(status, done.returncode, done.stderr)
            assert "gpu_metrics.csv is a recording, and --csv run.json a benchmark result: they are swapped" in done.stderr, done.stderr
            same(before, {path.name: path.read_bytes() for path in folder.path.iterdir()})
    folder.write("agg_run.json", load_result(START, START + WINDOW, hw="h100"))
    files = ["--csv", "gpu_metrics.csv", "--agg-result", "agg_run.json", "--expected-num-gpus", 2, "--bench-result"]
    for bench, valid in (("run.json", 1), ("none.json", 0), ("hw.json", 0)):
        folder.write("hw.json", '{"hw": "h100"}')
        done = folder.call("patch", *files, bench)
        same(valid, folder.json("agg_run.json")["power_valid"], done.stderr)


def test_an_unknown_result_is_named(folder):
    """In both orders, as `inspect` does. One that lacks a member is a result."""
    folder.recorded(power)
    folder.write("result.json", {"hello": 1, "latency": 3})
    for command in ("measure", "plot"):
        for files in (["gpu_metrics.csv", "result.json"], ["result.json", "gpu_metrics.csv"]):
            done = folder.call(command, *files)
            same(2, done.returncode, done.stderr)
            assert "result.json: this is JSON, but not a result that is recognized; its keys: hello, latency;" in done.stderr, done.stderr
    folder.write("result.json", {"duration": 60, "hello": 1})
    assert "invalid_benchmark_window" in folder.measured(files=("result.json", "gpu_metrics.csv"))["reasons"]


def refused(folder, code, files=("run.json", "gpu_metrics.csv")):
    run = folder.measured(files=files)
    same(False, run["valid"], code)
    assert code in run["reasons"], run["reasons"]
    return run


# ---- Zeros between readings


def zeros(first, count, step=1, gpus=(0, 1)):
    off = range(first, first + count * step, step)
    return lambda at, gpu=0: 0 if at in off and gpu in gpus else power(at, gpu)


def test_zeros_of_boards_that_are_on_are_refused(folder):
    """4 s, half and all of the window but 2 s, of one GPU or both, and every second reading."""
    for watts in (zeros(20, 4), zeros(15, 30, gpus=(1,)), zeros(1, 58), zeros(-10, 40), zeros(0, 30, 2)):
        folder.recorded(watts)
        refused(folder, "stuck_sensor")
        run = folder.measured("--accept", "stuck_sensor")
        near(sum(joules(lambda at, one=gpu: watts(at, one)) for gpu in (0, 1)), run["total_gpu_energy_j"])
        same(["stuck_sensor"], [one["reason"] if isinstance(one, dict) else one for one in run["accepted_reasons"]])
    folder.recorded(zeros(20, 3))
    same(True, folder.measured()["valid"])
    folder.recorded(lambda at, gpu: 8 if at < 0 else zeros(20, 30)(at, gpu))  # a board that draws little at rest
    same(True, folder.measured()["valid"])


def test_zeros_in_every_command(folder):
    folder.recorded(zeros(15, 30))
    aggregate, error = folder.patched("--csv", "gpu_metrics.csv", "--expected-num-gpus", 2)
    same(0, aggregate["power_valid"], error)
    assert "stuck_sensor" in error, error
    folder.write("windows.txt", f"begin all {START}\nend all {START + WINDOW}\n")
    events = [{"ph": "X", "cat": "kernel", "name": "k", "ts": (START + at) * 1e6, "dur": 1e6, "pid": gpu, "tid": 7,
               "args": {"device": gpu}} for at in range(WINDOW) for gpu in (0, 1)]
    folder.write("trace.json", json.dumps({"traceEvents": events}))
    for words in (["windows", "--windows", "windows.txt"], ["attribute", "--trace", "trace.json"]):
        done = folder.call(*words, "--telemetry", "gpu_metrics.csv")
        assert done.returncode != 0 and "stuck_sensor" in done.stderr, (words, done.stderr)
    folder.recorded(power, "nodes/a/gpu_metrics.csv")
    folder.recorded(zeros(15, 30), "nodes/b/gpu_metrics.csv")
    aggregate, error = folder.patched("multinode", "--nodes", "nodes", "--expected-num-gpus", 4)
    same(0, aggregate["power_valid"], error)
    assert "b: GPU" in error and "stuck_sensor" in error, error
    folder.recorded(zeros(15, 30), "store/a/gpu_metrics.csv")
    for name in ("run.json", "agg_run.json"):
        folder.write(f"store/a/{name}", (folder.path / name).read_text() if name == "run.json" else '{"hw": "h100"}')
    done = folder.call("backfill", "store")
    assert "stuck_sensor" in done.stdout, done.stdout + done.stderr
    same(0, folder.json("store/a/agg_run.json")["power_valid"])


# ---- One value with decimals through idle and load


def test_one_value_with_decimals_needs_no_witness(folder):
    """All GPUs of a recording, of a node, and one of eight."""
    folder.recorded(lambda at, gpu: 310.17)
    refused(folder, "stuck_sensor")
    folder.recorded(lambda at, gpu: 310)  # a coarse sensor at a limit
    same(True, folder.measured()["valid"])
    folder.recorded(power, "nodes/a/gpu_metrics.csv")
    folder.recorded(lambda at, gpu: 310.17, "nodes/b/gpu_metrics.csv")
    aggregate, error = folder.patched("multinode", "--nodes", "nodes", "--expected-num-gpus", 4)
    same(0, aggregate["power_valid"], error)
    assert "stuck_sensor" in error, error


# ---- A header in another order than the cells


def test_headers_that_name_temperatures_for_power(folder):
    """Rows of idle GPUs first, where the power is below 150."""
    header = "timestamp,gpu0_power_w,gpu1_power_w,gpu0_temp_c,gpu1_temp_c"
    for cells in (lambda at: f"{power(at)},{power(at, 1)},61,60", lambda at: f"61,60,{power(at)},{power(at, 1)}",
                  lambda at: f"{power(at)},61,{power(at, 1)},60,"):
        folder.rows(header, lambda at, _gpu, cells=cells: cells(at), gpus=1)
        right = cells(0).startswith("600") and cells(0).endswith("61,60")
        same(right, folder.measured()["valid"], cells(0))
    folder.rows(header, lambda at, _gpu: f"{power(at)},{power(at, 1)},{255 if at == 5 else 61},60", gpus=1)
    same(True, folder.measured()["valid"], "255 is no reading")
    lines = [header] + [f"{START + at},61,60,{power(at)},{power(at, 1)}" for at in range(-200, 91)]
    folder.write("gpu_metrics.csv", "\n".join(lines) + "\n")
    same(False, folder.measured()["valid"], "the load begins after 200 rows")


# ---- GPUs that count twice on two hosts


def named(host, uuid, watts=power):
    """Rows that name a host, a UUID, or neither; the GPUs of each host differ by a tenth of a watt."""
    extra = ("hostname," if host else "") + ("uuid," if uuid else "")
    cells = lambda gpu: (f"{host}," if host else "") + (f"GPU-{uuid}{gpu}-1111-2222-3333-444455556666," if uuid else "")
    return f"timestamp,index,{extra}power.draw [W]", lambda at, gpu: f"{gpu},{cells(gpu)}{watts(at, gpu):.2f}"


def test_gpus_of_two_nodes_that_are_one(folder):
    other = lambda at, gpu: power(at + 1, gpu) * 1.01
    for first, second, repeated in (
            (("", "0000000"), ("", "0000000"), True), (("", "0000000"), ("", "1000000"), False),
            (("alpha", ""), ("alpha", ""), True), (("alpha", ""), ("beta", ""), False), (("", ""), ("", ""), False)):
        folder.rows(*named(*first), name="nodes/a/gpu_metrics.csv")
        folder.rows(*named(*second, watts=other), name="nodes/b/gpu_metrics.csv")
        aggregate, error = folder.patched("multinode", "--nodes", "nodes", "--expected-num-gpus", 4)
        same(0 if repeated else 1, aggregate["power_valid"], f"{first} {second} {error}")
        same(repeated, "gpu_identity_conflict" in error, error)


# ---- Several GPUs under one name, in whole seconds


def test_gpus_of_one_name_in_whole_seconds(folder):
    """Eight GPUs from 97 to 103 % of 600 W, all called 0: 8 · 36 kJ would be 36 kJ."""
    lines = ["timestamp,index,power.draw [W]"]
    for at in TIMES:
        lines += [f"{START + at},0,{power(at) * (0.97 + 0.06 * gpu / 7) + (at * 7 + gpu * 3) % 5:.2f}" for gpu in range(8)]
    folder.write("gpu_metrics.csv", "\n".join(lines) + "\n")
    refused(folder, "several_gpus_in_one_series")
    aggregate, error = folder.patched("--csv", "gpu_metrics.csv", "--expected-num-gpus", 1)
    same(0, aggregate["power_valid"], error)


def whole_seconds(watts, gpus):
    """Rows of several GPUs, all called 0, as amd-smi writes them: whole seconds, whole watts."""
    return [(START + at, round(watts(at, gpu))) for at in TIMES for gpu in range(gpus)]


def test_whole_watts_of_one_name(folder):
    """Equal readings of one second are rows, too. Power steps twice, and between seconds only: eight readings of one
    GPU in each second would do that once in 8 · 8 times, and two once in 2 · 2."""
    shaken = lambda at, gpu: power(at) + (at * 7 + gpu * 5) % 4
    for gpus, is_refused in ((8, True), (2, False)):
        rows = whole_seconds(shaken, gpus)
        for name, text in (
                ("a.csv", "timestamp,gpu,socket_power\n" + "".join(f"{at},0,{watts}\n" for at, watts in rows)),
                ("a.jsonl", "".join(json.dumps({
                    "timestamp_ns": at * 10**9, "dcgm_url": "x", "gpu_index": 0, "gpu_uuid": None, "hostname": "localhost",
                    "telemetry_data": {"gpu_power_usage": float(watts)}}) + "\n" for at, watts in rows))):
            folder.write(name, text)
            if is_refused:
                refused(folder, "several_gpus_in_one_series", ("run.json", name))
            else:
                run = folder.measured(files=("run.json", name))
                assert any("several_gpus_in_one_series" in text for text in run["warnings"]), (name, run)
    one = [f"{at},0,{watts}\n" for at, watts in whole_seconds(lambda at, _: power(at), 3)]
    folder.write("a.csv", "timestamp,gpu,socket_power\n" + "".join(one))  # rows per process
    run = folder.measured(files=("run.json", "a.csv"))
    near(joules(power), run["total_gpu_energy_j"])
    assert not any("several_gpus" in text for text in run["warnings"]), run["warnings"]


def test_one_gpu_that_is_asked_more_often_than_its_stamps(folder):
    """A UUID in each row is one GPU, and so is a power that rises evenly, 200 to 600 W in 20 s."""
    ramp = lambda at: min(600, 200 + 20 * max(0, at))  # noqa: E731
    for header, identity, watts in (("timestamp,index,uuid,power.draw [W]", "0,GPU-01111111-2222-4333-8444-555555555555", power),
                                    ("timestamp,index,power.draw [W]", "0", ramp)):
        rows = "".join(f"{START + tick // 10},{identity},{watts(tick / 10):.2f}\n" for tick in range(-300, 900))
        folder.write("gpu_metrics.csv", header + "\n" + rows)
        run = folder.measured()
        same([], run["reasons"], header)
        assert "uuid" not in header or not any("several GPUs" in text for text in run["warnings"]), run["warnings"]


def test_hosts_that_are_asked_at_other_rates(folder):
    """10 readings a second of one, one each 2 s of the other: the first lacks none where the second has one."""
    shaken = lambda tick, host: power(tick / 10, host) + tick * (7 + 4 * host) % 13  # noqa: E731
    rows = "".join(f"{START + tick / 10:.3f},n{host},0,{shaken(tick, host):.2f}\n" for tick in range(-300, 900)
                   for host in (0, 1) if host == 0 or tick % 20 == 7)
    folder.write("gpu_metrics.csv", "timestamp,hostname,gpu,power_w\n" + rows)
    same([], folder.measured()["reasons"])


# ---- Some rows of a GPU lack what identifies it


def test_rows_that_lack_an_id_are_no_gpu_of_their_own(folder):
    """Half of the rows of GPU 1 have no UUID, or no host: three GPUs would have 3/2 of the energy of two."""

    def lines(lacks):
        return "".join(json.dumps({
            "timestamp_ns": (START + at) * 10**9, "dcgm_url": "http://localhost:9400/metrics", "gpu_index": gpu,
            "gpu_uuid": lacks(at, gpu), "hostname": "n", "telemetry_data": {"gpu_power_usage": float(power(at, gpu))}})
            + "\n" for at in TIMES for gpu in (0, 1))

    uuid = "GPU-%d1111111-2222-4333-8444-555555555555"
    for absent in (None, "", "N/A"):
        for every in (2, 7):
            folder.write("a.jsonl", lines(lambda at, gpu: absent if gpu == 1 and at % every == 0 else uuid % gpu))
            run = folder.measured(files=("run.json", "a.jsonl"))
            same(False, run["valid"], f"{absent} {every}")
            assert {"gpu_identity_conflict", "gpu_identity_missing"} & set(run["reasons"]), run["reasons"]
    folder.write("a.jsonl", lines(lambda at, gpu: uuid % gpu))
    same(True, folder.measured(files=("run.json", "a.jsonl"))["valid"])
    folder.rows("timestamp,hostname,gpu,power_w", lambda at, gpu: f"{'' if gpu and at % 2 else 'n'},{gpu},{power(at, gpu)}")
    run = folder.measured()
    assert not run["valid"] or abs(run["total_gpu_energy_j"] - joules(power) - joules(lambda at: power(at, 1))) < 1, run


# ---- Two recorders of one host


def test_recorders_that_name_a_model_in_other_words(folder):
    """The second asks 0.4 s later, calls the model "NVIDIA H100", and its GPUs by UUID only."""
    folder.rows("timestamp,index,power.draw [W],name",
                lambda at, gpu: f"{gpu},{power(at, gpu)},NVIDIA H100 80GB HBM3", "a.csv")
    for model, is_other in (("NVIDIA H100", False), ("NVIDIA-H100-80GB-HBM3", False), ("NVIDIA A100", True)):
        folder.write("b.jsonl", "".join(json.dumps({
            "timestamp_ns": (START + at) * 10**9 + 4 * 10**8, "dcgm_url": "x", "gpu_index": gpu,
            "gpu_uuid": f"GPU-{gpu}1111111-2222-4333-8444-555555555555", "gpu_model_name": model,
            "hostname": "n", "telemetry_data": {"gpu_power_usage": power(at + 1, gpu) * (0.95 if is_other else 1) + 0.7}}) + "\n"
            for at in TIMES for gpu in (0, 1)))
        run = folder.measured(files=("run.json", "a.csv", "b.jsonl"))
        same(is_other, run["valid"], f"{model} {run['reasons']}")
        same(not is_other, "gpu_identity_conflict" in run["reasons"], run["reasons"])


# ---- What rows of any recorder state of their GPUs


def stated_by(watts, use=lambda at: 0, limit=700):
    """Two GPUs, with utilization and limit, as each recorder writes it: its file and its text."""
    stamp = lambda at: f"2026-09-08T07:{20 + (30 + at) // 60:02d}:{(30 + at) % 60:02d}"
    csv = lambda header, row: header + "\n" + "".join(row(at, gpu) + "\n" for at in TIMES for gpu in (0, 1))
    line = lambda content: json.dumps(content) + "\n"
    return {
        "loose.csv": csv("timestamp,gpu_id,power_limit,power_w", lambda at, gpu:
                         f"{START + at},{gpu},{limit},{watts(at, gpu)}"),
        "amd.csv": csv("timestamp,gpu,socket_power,gfx_activity,power_limit", lambda at, gpu:
                       f"{START + at},{gpu},{watts(at, gpu)},{use(at)},{limit}"),
        "hl.csv": csv("timestamp,index,power.draw [W],utilization.gpu [%],power.max [W]", lambda at, gpu:
                      f"{START + at},{gpu},{watts(at, gpu)} W,{use(at)} %,{limit} W"),
        "wide.csv": "timestamp,gpu0_power_w,gpu1_power_w,gpu0_util_pct,gpu1_util_pct,gpu0_power_limit_w,"
                    "gpu1_power_limit_w\n" + "".join(
                        f"{START + at},{watts(at, 0)},{watts(at, 1)},{use(at)},{use(at)},{limit},{limit}\n" for at in TIMES),
        "wandb-events.jsonl": "".join(line({"_wandb": True, "_timestamp": START + at, "_runtime": at + 30} | {
            f"system.gpu.{gpu}.{name}": value for gpu in (0, 1) for name, value in
            (("powerWatts", watts(at, gpu)), ("gpu", use(at)), ("enforcedPowerLimitWatts", limit))}) for at in TIMES),
        "gpustat.json": "".join(line({"hostname": "n", "query_time": stamp(at) + ".000456", "gpus": [
            {"index": gpu, "uuid": f"GPU-{gpu}", "utilization.gpu": use(at), "power.draw": watts(at, gpu),
             "enforced.power.limit": limit} for gpu in (0, 1)]}) for at in TIMES),
    }


def test_sensors_that_hang_while_the_gpu_works(folder):
    """GPU 1 reads 95.25 W throughout, an idle GPU's power, and its utilization goes from 0 to 98 % with the load."""
    hangs = lambda at, gpu: 95.25 if gpu else power(at) + 0.25 * (at % 2)
    for works in (True, False):
        use = lambda at, works=works: 98 if works and 0 <= at <= WINDOW else 0
        for name, text in stated_by(hangs, use).items():
            if name == "loose.csv":  # states no utilization
                continue
            folder.write(name, text)
            run = folder.measured("--timezone", "UTC", files=("run.json", name))
            same(works, "stuck_sensor" in run["reasons"], f"{name} {works} {run['reasons']} {run['warnings']}")


def test_limits_of_any_recorder(folder):
    """600 W at a limit of 115 W is more than twice the limit; at 700 W it is less."""
    for limit, is_possible in ((115, False), (700, True)):
        for name, text in stated_by(power, limit=limit).items():
            folder.write(name, text)
            run = folder.measured("--timezone", "UTC", files=("run.json", name))
            same(is_possible, run["valid"], f"{name} {limit} {run['reasons']}")
            same(not is_possible, "implausible_power" in run["reasons"], name)


# ---- A report that says less


def test_a_report_of_llm_d_without_its_scenario(folder):
    """A session of 60 s at 600 W, and 60 requests of 128 tokens."""
    folder.recorded(power)
    folder.write("report.yaml", """results:
  request_performance:
    aggregate:
      requests:
        failures: 0
        input_length:
          mean: 1024.0
          units: count
        output_length:
          mean: 128.0
          units: count
        total: 60
run:
  time:
    duration: PT60S
    end: '2026-09-08T07:21:30Z'
    start: '2026-09-08T07:20:30Z'
  uid: u
version: '0.2'
""")
    run = folder.measured("--timezone", "UTC", files=("report.yaml", "gpu_metrics.csv"))
    same("session", run["window_source"])
    near((joules(power) + joules(lambda at: power(at, 1))) / (60 * 128), run["joules_per_output_token"])


# ---- Rows of parts of a GPU


def test_rows_of_tiles(folder):
    """Two tiles with half of the card's power each are no card; the card's own rows are."""
    header = "Timestamp, DeviceId, TileId, GPU Power (W)"
    stamp = lambda at: f"2026-09-08T07:{20 + (30 + at) // 60:02d}:{(30 + at) % 60:02d}.000"
    rows = lambda cells: header + "\n" + "".join(
        f"{stamp(at)}, {gpu}, {tile}, {watts}\n" for at in TIMES for gpu in (0, 1) for tile, watts in cells(at, gpu))
    folder.write("a.csv", rows(lambda at, gpu: [(tile, power(at, gpu) / 2) for tile in (0, 1)]))
    run = folder.measured("--timezone", "UTC", files=("run.json", "a.csv"))
    same((False, True), (run["valid"], "gpu_identity_conflict" in run["reasons"]), run["reasons"])
    folder.write("a.csv", rows(lambda at, gpu: [(0, power(at, gpu))]))
    same([], folder.measured("--timezone", "UTC", files=("run.json", "a.csv"))["reasons"], "GPUs of one tile")
    folder.write("a.csv", rows(lambda at, gpu: [("", power(at, gpu))]))
    run = folder.measured("--timezone", "UTC", files=("run.json", "a.csv"))
    near(joules(power) + joules(lambda at: power(at, 1)), run["total_gpu_energy_j"])


# ---- Counters under other names


def test_counters_that_say_a_third(folder):
    """They rise by 200 J a second under load, where the power is 600 W."""

    def count(at):
        return 30 * 90 + 200 * min(at, WINDOW) if at >= 0 else 90 * (at + 30)

    folder.rows("timestamp,index,power.draw [W],TOTEC",
                lambda at, gpu: f"{gpu},{power(at, gpu)},{1000 * count(at)}")
    refused(folder, "counter_contradicts")
    lines = [json.dumps({"_wandb": True, "_timestamp": START + at, "_runtime": at + 30} | {
        f"system.gpu.{gpu}.{name}": value for gpu in (0, 1) for name, value in
        (("powerWatts", float(power(at, gpu))), ("totalEnergyConsumption", 1000 * count(at)))}) for at in TIMES]
    folder.write("wandb-events.jsonl", "\n".join(lines) + "\n")
    refused(folder, "counter_contradicts", ("run.json", "wandb-events.jsonl"))
    rows = [{"timestamp": f"2026-09-08T07:{20 + (30 + at) // 60:02d}:{(30 + at) % 60:02d}.000000+00:00"} | {
        f"gpu/{gpu}/{name}": value for gpu in (0, 1) for name, value in
        (("power", float(power(at, gpu))), ("energy_consumed", float(count(at))))} for at in TIMES]
    folder.write("metrics.json", json.dumps({"project": "p", "run": "r", "system_metrics": rows}))
    refused(folder, "counter_contradicts", ("run.json", "metrics.json"))


def test_counters_under_schema_1(folder):
    """A warning, with both sums: 2 · 60 · 200 J, and 2 · 61 readings of 601 W on average."""
    folder.rows("timestamp,index,power.draw [W],energy_mj",
                lambda at, gpu: f"{gpu},{power(at, gpu)},{200_000 * (at + 30)}")
    aggregate, error = folder.patched("--csv", "gpu_metrics.csv", "--schema-version", 1)
    assert "power_metric_schema_version" not in aggregate and aggregate["avg_power_w"] > 600, aggregate
    assert "counter_contradicts" in error and "24000.000 J" in error, error
    folder.rows("timestamp,index,power.draw [W],energy_mj",
                lambda at, gpu: f"{gpu},{power(at, gpu)},{601_000 * (at + 30)}")
    _, error = folder.patched("--csv", "gpu_metrics.csv", "--schema-version", 1)
    assert "counter" not in error, error


# ---- Two columns of one power


def test_an_average_that_says_otherwise(folder):
    header = "timestamp,index,power.draw [W],power.draw.average [W],power.draw.instant [W]"
    for own_w, average, is_right in ((92, "power", False), (440, "power", False), (600, "power", True), (600, "[N/A]", True)):
        folder.rows(header, lambda at, gpu: f"{gpu},{power(at, gpu) * own_w / 600:.2f},"
                    f"{power(at + 1, gpu) if average == 'power' else average},{power(at, gpu)}")
        run = folder.measured("--timezone", "UTC")
        same([] if is_right else ["implausible_power"], run["reasons"])
        assert is_right or "one of them is wrong" in run["details"], run["details"]
    at_once = "timestamp,index,power.draw [W],power.draw.instant [W]"
    for header_of_two, own, other in ((at_once, 92, 600), (at_once, 600, 300),
                                      ("timestamp,gpu,DCGM_FI_DEV_POWER_USAGE,DCGM_FI_DEV_POWER_USAGE_INSTANT", 600, 92),
                                      ("timestamp,gpu,socket_power,current_socket_power", 600, 92)):
        folder.rows(header_of_two, lambda at, gpu: f"{gpu},{power(at, gpu) * own / 600:.2f},{power(at, gpu) * other / 600:.2f}")
        refused(folder, "implausible_power")
    # 100 and 900 W in turn: readings that miss parts of such a power explain 480 W beside 500 W, and 620 W.
    folder.rows(at_once, lambda at, gpu: f"{gpu},{power(at, gpu) * 1.03:.2f},{(100, 900)[at % 2] if 0 <= at <= WINDOW else 90}")
    same([], folder.measured("--timezone", "UTC")["reasons"])
    folder.rows(header, lambda at, gpu: f"{gpu},92.0{at % 3},{power(at, gpu)},{power(at, gpu)}")
    run = folder.measured("--power-column", "power.draw.average [W]")
    same(True, run["valid"], run["reasons"])
    near(joules(power) + joules(lambda at: power(at, 1)), run["total_gpu_energy_j"])
    # 600 and 150 W in turn, asked in one phase: the mean over each second has 375 W. Zeros are no readings.
    for other in (600, 0):
        folder.rows(at_once, lambda at, gpu: f"{gpu},{(375 + at % 3 if 0 <= at <= WINDOW else 90)},{other if 0 <= at <= WINDOW else other and 90}")
        same([], folder.measured("--timezone", "UTC")["reasons"], other)


def test_numbers_that_a_decimal_comma_cuts(folder):
    """Rows without their last cell: 63,5 C is 63 C and 5 W, and 20,002 s is GPU 002."""
    stamp = lambda at, gpu: f"{START + at}.{gpu:03}"  # noqa: E731
    for header, row in (("timestamp,gpu,temp,power_w,util", lambda at, gpu: f"{stamp(at, gpu)},{gpu},{63 + at % 3},{(at + gpu) % 10},90"),
                        ("timestamp,gpu,power_w,temp", lambda at, gpu: f"{START + at},{2 * gpu:03},{gpu},{power(at, gpu)}")):
        folder.write("gpu_metrics.csv", "\n".join([header] + [row(at, gpu) for at in TIMES for gpu in (0, 1)]) + "\n")
        refused(folder, "implausible_power")
        assert "decimal comma" in folder.measured()["details"]


def test_limits_by_other_names(folder):
    """350 W beside 600 W. What may be set at most is a board's, of which half as much again is allowed."""
    for column, cell in (("power_cap_watts", "350"), ("power_limit_mw", "350000"), ("power.max_limit [W]", "350.00 W"),
                         ("power_limit [mW]", "350000")):
        folder.rows(f"timestamp,index,power.draw [W],{column}", lambda at, gpu: f"{gpu},{power(at, gpu)},{cell}")
        refused(folder, "implausible_power")
        folder.rows(f"timestamp,index,power.draw [W],{column}", lambda at, gpu: f"{gpu},{power(at, gpu) / 2},{cell}")
        same([], folder.measured()["reasons"], column)
    # A share, a flag, the highest power so far, and a limit beside a power in another unit are none.
    for header, cells in (("power.draw [W],power_cap", lambda w: f"{w},100"), ("power.draw [W],GPU power limit", lambda w: f"{w},1"),
                          ("power.draw [W],power_max_w", lambda w: f"{w},{w}"),
                          ("power_mw,enforced.power.limit", lambda w: f"{w * 1000},350")):
        folder.rows(f"timestamp,index,{header}", lambda at, gpu: f"{gpu},{cells(power(at, gpu))}")
        run = folder.measured()
        same(([], None), (run["reasons"], run.get("power_limits")), header)


def test_a_window_without_a_reading(folder):
    """Readings each second say nothing about 0.4 s between two of them."""
    folder.rows("timestamp,index,power.draw [W]", lambda at, gpu: f"{gpu},{power(at, gpu)}")
    for start, end, is_seen in ((10.3, 10.7, False), (10.05, 10.95, False), (10.3, 11.2, True), (10, 10.5, True)):
        folder.write("run.json", json.dumps({
            "benchmark_start_time_unix": START + start, "benchmark_end_time_unix": START + end, "duration": end - start,
            "completed": 5, "total_input_tokens": 8000, "total_output_tokens": 1000}))
        same([] if is_seen else ["insufficient_power_samples"], folder.measured()["reasons"], (start, end))


def test_a_recording_in_two_files(folder):
    """A log that was rotated is not a second host: the advice is to join both."""
    row = lambda at, gpu: f"{START + at},{gpu},{power(at, gpu)}"  # noqa: E731
    for first_end, second_start in ((30, 30), (25, 33), (35, 28)):
        for name, times in (("a.csv", range(-30, first_end)), ("b.csv", range(second_start, 91))):
            folder.write(name, "\n".join(["timestamp,index,power.draw [W]"] + [row(at, gpu) for at in times for gpu in (0, 1)]) + "\n")
        run = json.loads(folder.call("measure", "run.json", "a.csv", "b.csv", "--json").stdout)["runs"][0]
        same(False, run["valid"])
        [said] = [text for text in run["warnings"] if "gpu_identity" in text]
        assert "append the rows of b.csv to a.csv" in said and "twice" not in said, said


# ---- Words that name no GPU


def test_words_that_are_no_gpu(folder):
    """Rows of 600 W each second that do not say whose they are."""
    for word in ("ERR!", "65535", "4294967295", "18446744073709551615", "no", "?", "[GPU requires reset]", "N/A"):
        lines = ["timestamp,index,power.draw [W]"]
        for at in TIMES:
            lines += [f"{START + at},{gpu},{power(at)}" for gpu in (0, 1, word)]
        folder.write("gpu_metrics.csv", "\n".join(lines) + "\n")
        refused(folder, "gpu_identity_missing")


# ---- A job before the load


def test_a_job_that_ends_seconds_before_the_load_is_not_idle(folder):
    """300 W until 3 s before the load, then 90 W: the net energy of 60 s would lack 60 · 210 J."""
    for idle_s in (2, 3, 8):
        folder.recorded(lambda at, gpu: 300 + (at + gpu) % 3 if at < -idle_s else power(at, gpu))
        run = folder.measured("--idle", "auto")
        same(True, run["valid"])
        total_w = (run["idle"].get("total") or {}).get("watts")
        assert total_w is None or total_w < 2 * 95, run["idle"]


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
