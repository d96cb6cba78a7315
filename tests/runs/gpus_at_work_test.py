#!/usr/bin/env python3
"""Whether the load was on the GPUs that count, and whether a run's files belong together.

Each recording has 30 s before a window of 60 s, and 30 s after it. A GPU draws one power outside of the window and
another inside, with noise of 1 W, so energies and which GPU worked are known.

usage: tests/runs/gpus_at_work_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import running  # noqa: E402
from running import PROGRAM, load_result, run_tests  # noqa: E402

START = 1_788_852_000
WINDOW = 60  # seconds, from START
IDLE, WORKING, TENANT = (80, 80), (80, 600), (400, 400)  # watts outside and inside of the window
CODE = "idle_gpus_counted"


def inside(at):
    return 0 <= at <= WINDOW


class Folder(running.Folder):
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.result()

    def result(self, name="run.json", start=0, end=WINDOW, **more):
        return self.write(name, load_result(START + start, START + end) | more)

    def record(self, gpus, name="gpu_metrics.csv", columns=(), cells=lambda gpu, at: (), times=range(-30, 91),
               seed=7):
        """`gpus`: of each the watts outside and inside of the window."""
        die = random.Random(seed)
        rows = [",".join(["timestamp", "index", "power.draw [W]", *columns])]
        for at in times:
            for gpu, (outside, within) in enumerate(gpus):
                watts = (within if inside(at) else outside) + die.uniform(-1, 1)
                rows.append(",".join([str(START + at), str(gpu), f"{watts:.2f}", *map(str, cells(gpu, at))]))
        return self.write(name, "\n".join(rows) + "\n")

    def measure(self, *more, files=("gpu_metrics.csv",)):
        self.call("measure", "run.json", *files, "--timezone", "UTC", "--json", *more)
        assert self.out.startswith("{"), self.err
        return json.loads(self.out)["runs"][0]

    def single(self, *more):
        """The lines of a run that patches agg_run.json."""
        if not (self.path / "agg_run.json").exists():
            self.write("agg_run.json", {})
        self.call("--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json", *more)
        return self.err

    def backfill(self, store="store"):
        self.call("backfill", store, "--timezone", "UTC", "--report", "report.jsonl")
        lines = (self.path / "report.jsonl").read_text().splitlines()
        return {line["run"]: line for line in map(json.loads, lines)}


def refused(folder, *said, more=(), files=("gpu_metrics.csv",)):
    run = folder.measure(*more, files=files)
    assert run["reasons"] == [CODE], (run["reasons"], run.get("details"))
    for words in said:
        assert words in run["details"], (words, run["details"])


def warned(folder, *said, more=()):
    run = folder.measure(*more)
    assert run["reasons"] == [], (run["reasons"], run.get("details"))
    warnings = "\n".join(run["warnings"])
    for words in said:
        assert words in warnings, (words, warnings)
    return run


def silent(folder, *more):
    run = folder.measure(*more)
    assert run["reasons"] == [] and run["warnings"] == [], (run["reasons"], run["warnings"])


# ---- The load was on none of them

def utilized(percent, memory=None):
    columns = ["utilization.gpu [%]"] + ["memory.used [MiB]"] * (memory is not None)
    return {"columns": columns,
            "cells": lambda gpu, at: [f"{percent(gpu, at)} %"] + [f"{memory} MiB"] * (memory is not None)}


def test_gpus_without_utilization_are_refused(folder):
    for stated in ({}, {"tp": 4}):
        folder.result(**stated)
        folder.record([IDLE] * 4, **utilized(lambda gpu, at: 0, memory=1))
        refused(folder, "80 W each", "utilization of at most 0 %")
        folder.record([IDLE] * 4, times=range(0, 61), **utilized(lambda gpu, at: at % 2))
        refused(folder, "utilization of at most 1 %")
    folder.record([IDLE] * 4, columns=["memory.used [MiB]"], cells=lambda gpu, at: ["3 MiB"])
    refused(folder, "with 3 MB of their memory in use")
    assert folder.measure("--accept", CODE)["reasons"] == []


def test_the_load_of_gpus_left_out_is_found(folder):
    folder.result(tp=4)
    folder.record([IDLE] * 4 + [WORKING] * 4)
    refused(folder, "pass --gpus 4,5,6,7", more=["--gpus", "0-3"])
    folder.record([TENANT] * 2 + [WORKING] * 2)
    refused(folder, "pass --gpus 2,3", more=["--gpus", "0,1"])
    folder.result()
    silent(folder, "--gpus", "2,3")


def test_each_way_refuses_idle_gpus(folder):
    folder.record([IDLE] * 2, **utilized(lambda gpu, at: 0))
    said = folder.single("--expected-num-gpus", "2", "--require-power")
    assert folder.status == 1 and CODE in said, said
    said = folder.single()
    assert f"warning: {CODE}" in said or CODE in said, said
    folder.record([IDLE] * 2, name="b.csv", seed=8, **utilized(lambda gpu, at: 0))
    folder.call("multinode", "--host", "a=gpu_metrics.csv", "--host", "b=b.csv", "--bench-result", "run.json",
                "--agg-result", folder.write("agg.json", {}), "--timezone", "UTC", "--require-power")
    assert folder.status == 1 and CODE in folder.err, folder.err
    folder.result("store/x.json")
    shutil.copy(folder.path / "gpu_metrics.csv", folder.path / "store" / "gpu_metrics.csv")
    folder.write("store/agg_x.json", {"tp": 2})
    line = folder.backfill()["x"]
    assert line["reasons"] == [CODE], line


def test_power_like_that_of_idle_gpus_warns(folder):
    folder.record([IDLE] * 4)
    warned(folder, f"{CODE}: the power of all GPUs that count is that of idle ones, 80 W each")
    folder.record([(70, 70)] * 2, columns=["name"], cells=lambda gpu, at: ["NVIDIA H100 80GB HBM3"])
    warned(folder, CODE)


def test_good_runs_are_silent(folder):
    for gpus in ([WORKING] * 4, [(400, 400)] * 2, [(300, 300)], [(120, 150)] * 2):
        folder.record(gpus)
        silent(folder)
    folder.record([(100, 108)] * 2, **utilized(lambda gpu, at: 30 if inside(at) else 0))
    silent(folder)
    folder.record([(70, 70)], columns=["name"], cells=lambda gpu, at: ["Tesla T4"])  # at its limit
    silent(folder)
    folder.record([(80, 80)] * 2, **utilized(lambda gpu, at: 90))
    assert folder.measure()["reasons"] == []


def test_bursts_are_a_load(folder):
    die = random.Random(3)
    rows = ["timestamp,index,power.draw [W],utilization.gpu [%]"]
    for at in range(-30, 91):
        burst = inside(at) and at % 20 < 3
        rows.append(f"{START + at},0,{(140 if burst else 80) + die.uniform(-1, 1):.2f},{60 if burst else 0} %")
    folder.write("gpu_metrics.csv", "\n".join(rows) + "\n")
    silent(folder)


def test_a_window_without_tokens_may_be_idle(folder):
    folder.record([IDLE] * 2, **utilized(lambda gpu, at: 0))
    folder.call("measure", "--csv", "gpu_metrics.csv", "--start", START, "--end", START + WINDOW, "--timezone", "UTC")
    assert CODE not in folder.err + folder.out, folder.err


# ---- It was on some of them

def test_another_jobs_gpus_warn(folder):
    folder.record([WORKING] * 4 + [TENANT] * 4)
    warned(folder, "GPU 4, 5, 6, 7 (400 W each) is the same before, in and after the window", "pass --gpus 0,1,2,3")
    folder.result(tp=8)
    warned(folder, "pass --gpus 0,1,2,3")


def test_idle_gpus_beside_others_warn_where_a_number_is_stated(folder):
    folder.result(tp=4)
    folder.record([IDLE] * 2 + [WORKING] * 2)
    warned(folder, f"{CODE}: the mean power of 0, 1 is below 40 %", "pass --gpus 2, 3".replace(", ", ","))
    said = folder.single("--expected-num-gpus", "4")
    assert CODE in said and "power not valid" not in said, said


# ---- Their number

def test_a_number_that_contradicts_is_named(folder):
    folder.result(tp=4)
    folder.record([WORKING] * 4)
    warned(folder, "2 GPUs count, and the result states 4: the energy is that of only some of them",
           more=["--gpus", "0,1"])
    folder.write("agg_run.json", {"tp": 8})
    said = folder.single("--expected-num-gpus", "4")
    assert "4 GPUs count, and the aggregate states 8" in said, said
    folder.result(num_nodes=2, gpus_per_node=4)
    assert folder.measure()["reasons"] == ["expected_gpu_count_mismatch"]
    folder.result(tp_size=2)
    assert folder.measure()["reasons"] == ["expected_gpu_count_mismatch"]


# ---- Their boards

def named(name):
    return {"columns": ["name"], "cells": lambda gpu, at: [name]}


def test_no_board_draws_more_than_its_maker_states(folder):
    for name, most, too_much in (("Tesla T4", 100, 110), ("NVIDIA L40S", 520, 530), ("NVIDIA H100 80GB HBM3", 1000, 1060)):
        folder.record([(30, most)], **named(name))
        silent(folder)
        folder.record([(30, too_much)], **named(name))
        run = folder.measure()
        assert run["reasons"] == ["implausible_power"], run
        windows = folder.write("w.csv", f"name,start,end\nload,{START},{START + WINDOW}\n")
        folder.call("windows", "--telemetry", "gpu_metrics.csv", "--windows", windows, "--timezone", "UTC")
        assert "implausible_power" in folder.out + folder.err, folder.out + folder.err
    folder.record([(600, 600)], **named("NVIDIA L40S"))
    folder.call("inspect", "gpu_metrics.csv")
    assert "implausible_power" in folder.out + folder.err, folder.out


def test_a_busy_board_that_draws_hardly_any_power_warns(folder):
    folder.record([(70, 70)], columns=["name", "utilization.gpu [%]"],
                  cells=lambda gpu, at: ["NVIDIA H100 80GB HBM3", "99 %"])
    warned(folder, "a mean utilization of 99 %, 10 % of its limit of 700 W")


def test_hardware_of_another_name_warns(folder):
    folder.record([(80, 300)], **named("NVIDIA L40S"))
    folder.write("agg_run.json", {"hw": "b200-nb"})
    assert "hw is b200-nb, and the recording is of L40S" in folder.single("--expected-num-gpus", "1"), folder.err
    folder.write("agg_run.json", {"hw": "l40s"})
    assert "hw is" not in folder.single("--expected-num-gpus", "1"), folder.err


# ---- Its files

def test_an_aggregate_that_contradicts_the_result_warns(folder):
    folder.result(max_concurrency=8, model_id="meta-llama/Llama-3.1-8B", tp=2)  # 1000 tokens in 60 s: 16.7/s
    folder.record([WORKING] * 2)
    good = {"conc": 8, "model": "Llama-3.1-8B", "output_tput_per_gpu": 8.333, "tp": 2}
    for more, said in (({}, ""), ({"conc": 64}, "conc 64 for max_concurrency 8"),
                       ({"model": "Qwen/Qwen3-8B"}, "model 'Qwen/Qwen3-8B' for model_id"),
                       ({"output_tput_per_gpu": 1700}, "output_tput_per_gpu 1700 for 16.6667 output tokens/s")):
        folder.write("agg_run.json", good | more)
        err = folder.single("--expected-num-gpus", "2")
        assert ("contradicts the result" in err) == bool(said) and said in err, err
        folder.result("store/x_conc8.json", max_concurrency=8, model_id="meta-llama/Llama-3.1-8B", tp=2)
        shutil.copy(folder.path / "gpu_metrics.csv", folder.path / "store" / "gpu_metrics.csv")
        folder.write("store/agg_x_conc8.json", good | more)
        line = folder.backfill()["x_conc8"]
        assert said in (line["details"] or "") and bool(line["details"]) == bool(said), line
        shutil.rmtree(folder.path / "store")
        (folder.path / "report.jsonl").unlink()


def test_a_long_model_of_an_aggregate_is_passed_over(folder):
    """A text of more than 5000 bytes is not kept, and says nothing."""
    folder.record([WORKING] * 4)
    folder.result(model_id="meta-llama/Llama-3.1-8B")
    folder.write("agg_run.json", {"model": "x" * 6000})
    folder.single("--expected-num-gpus", "4")
    assert folder.status == 0 and folder.json("agg_run.json")["power_valid"] == 1, folder.err


def test_a_name_of_another_concurrency_warns(folder):
    for name in ("x_conc64", "x_conc64_concurrent"):
        folder.result(f"store/{name}.json", max_concurrency=8)
        folder.record([WORKING] * 2, name="store/gpu_metrics.csv")
        folder.write(f"store/agg_{name}.json", {})
        assert "a name with conc64 for max_concurrency 8" in folder.backfill()[name]["details"]
        shutil.rmtree(folder.path / "store")
        (folder.path / "report.jsonl").unlink()


def test_loads_at_the_same_time_on_one_recording_warn(folder):
    folder.record([WORKING] * 2)
    folder.result("other.json", start=30, end=80, total_output_tokens=500)
    warned(folder, "the load of other.json ran at the same time for 30.0 s")
    folder.result("other.json", start=-25, end=-1)
    silent(folder)
    folder.result("other.json", start=30, end=80)
    folder.record([WORKING] * 2, name="gpu_metrics_other.csv")
    silent(folder)
    folder.record([WORKING] * 2, name="store/gpu_metrics.csv")
    for name, tokens in (("c1", 400), ("c2", 600)):
        folder.result(f"store/{name}.json", total_output_tokens=tokens)
        folder.write(f"store/agg_{name}.json", {})
    lines = folder.backfill()
    assert "the load of c2.json ran at the same time for 60.0 s" in lines["c1"]["details"], lines
    assert "the load of c1.json ran at the same time for 60.0 s" in lines["c2"]["details"], lines


def test_one_result_under_two_names_warns(folder):
    folder.record([WORKING] * 2, name="store/gpu_metrics.csv")
    for name in ("a", "b"):
        folder.result(f"store/{name}.json")
        folder.write(f"store/agg_{name}.json", {})
    lines = folder.backfill()
    assert "b.json is a result of the same load" in lines["a"]["details"], lines
    assert "a.json is a result of the same load" in lines["b"]["details"], lines
    (folder.path / "store" / "agg_b.json").unlink()
    folder.call("backfill", "store", "--timezone", "UTC", "--force", "--report", "again.jsonl")
    assert "same load" not in (folder.path / "again.jsonl").read_text()


def test_a_result_that_cannot_be_read_hides_no_other(folder):
    folder.record([WORKING] * 2)
    folder.result("other.json", start=30, end=80, total_output_tokens=500)
    folder.result("a_secret.json", start=30, end=80)
    (folder.path / "a_secret.json").chmod(0)
    folder.path.chmod(0o755)
    program = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.getuid() == 0 else []
    done = subprocess.run([*program, PROGRAM, "measure", "run.json", "gpu_metrics.csv", "--json"], cwd=folder.path,
                          capture_output=True, text=True, env={"PATH": os.environ["PATH"], "TZ": "UTC"})
    warnings = json.loads(done.stdout)["runs"][0]["warnings"]
    assert any("the load of other.json ran at the same time for 30.0 s" in one for one in warnings), done.stdout


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
