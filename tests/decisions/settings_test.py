#!/usr/bin/env python3
"""Checks that the settings of a run survive, and that `compare`, `report` and `recommend` heed them.

Runs are folders with a result of vLLM and a recording: one GPU of 500 W for 40 s, 20 kJ, with 50 W before and after.

usage: tests/decisions/settings_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import math
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from running import run_tests  # noqa: E402

PROGRAM = os.environ.get("AGGREGATE_POWER", str(ROOT / "build" / "aggregate-power"))
START, LENGTH = 1_800_000_000, 40
HEADER = "timestamp, index, name, driver_version, clocks.applications.graphics [MHz], power.draw [W], power.limit [W]"


class Folder:
    def __init__(self, path):
        self.path = pathlib.Path(path)

    def call(self, *words, status=0):
        environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "TZ": "UTC"}
        done = subprocess.run([PROGRAM, *words], cwd=self.path, env=environment, capture_output=True, text=True)
        assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
        self.said = done.stderr
        return done.stdout

    def json(self, *words, status=0):
        return json.loads(self.call(*words, "--json", status=status))

    def run(self, name, number=0, tokens=1000, watts=500, limit=700, driver="550.54.15", **more):
        """Number 1, 2, ... are repeats of one day."""
        folder = self.path / name
        folder.mkdir(parents=True)
        start = START + 1000 * number
        result = {"benchmark_start_time_unix": start, "benchmark_end_time_unix": start + LENGTH, "duration": LENGTH,
                  "backend": "vllm", "model_id": "org/m", "num_prompts": 10, "request_rate": "inf", "completed": 10,
                  "total_input_tokens": 100, "total_output_tokens": tokens, "max_concurrency": 16,
                  "start_times": [0], "ttfts": [0.1], **more}
        (folder / "result.json").write_text(json.dumps(result))
        rows = [f"{start + t:.3f}, 0, NVIDIA H100 80GB HBM3, {driver}, 1980 MHz, "
                f"{(watts if 0 <= t < LENGTH else 50) + 2 * math.sin(97 * t):.2f} W, {limit}.00 W" for t in
                (step / 2 for step in range(-40, 2 * LENGTH + 40))]
        (folder / "power.csv").write_text("\n".join([HEADER, *rows]) + "\n")
        return folder


SETTINGS = {"hw": "NVIDIA H100 80GB HBM3", "gpu_count": 1, "power_limit_w": 700, "driver": "550.54.15",
            "clock_setting_mhz": 1980, "model": "org/m", "conc": 16, "num_prompts": 10}


def test_measure_keeps_what_result_and_recording_say(folder):
    folder.run("a", tensor_parallel_size=1, random_input_len=128, osl=64, dtype="bfloat16")
    wanted = SETTINGS | {"tp": 1, "input_len": 128, "output_len": 64, "precision": "bfloat16"}
    measured = folder.json("measure", "a")["runs"][0]
    folder.call("measure", "a", "--out", "agg.json")
    for found in (measured, json.loads((folder.path / "agg.json").read_text())):
        assert {key: found.get(key) for key in wanted} == wanted, found


def test_set_adds_and_goes_before_the_files(folder):
    folder.run("a")
    run = folder.json("measure", "a", "--set", "precision=fp8", "--set", "conc=32", "--set", "setting=A")["runs"][0]
    assert (run["precision"], run["conc"], run["setting"]) == ("fp8", 32, "A")
    for wrong in ("precision", "=fp8", "precision=", "a b=c", "total_gpu_energy_j=1", "valid=true", "warnings=1"):
        folder.call("measure", "a", "--set", wrong, status=2)
        assert "--set: expected KEY=VALUE" in folder.said, folder.said


def test_what_was_set_is_compared(folder):
    for i, setting in enumerate(("A", "B")):
        folder.run(setting, i)
        (folder.path / f"{setting}.json").write_text(folder.call("measure", setting, "--json", "--set", f"setting={setting}"))
    found = folder.json("compare", "A.json", "--with", "B.json", status=3)
    assert "setting is A on one side and B on the other" in found["comparisons"][0]["lack"], found


def test_compare_refuses_other_settings_and_says_how_to_compare(folder):
    folder.run("a/1", 1), folder.run("a/2", 2), folder.run("b/1", 3, 2000, max_concurrency=256)
    text = folder.call("compare", "a", "--with", "b", status=3)
    assert "conc is 16 on one side and 256 on the other; --match-by hw compares them all the same" in text, text
    assert ": better" not in text
    assert ": better" in folder.call("compare", "a", "--with", "b", "--match-by", "hw")
    folder.run("c/1", 4, driver="560.1")
    assert "driver is 550.54.15 on one side and 560.1 on the other" in folder.call("compare", "a", "--with", "c", status=3)


def test_a_configuration_that_both_sides_have_is_compared_beside_others(folder):
    folder.run("a/1", 1), folder.run("a/2", 2, max_concurrency=32), folder.run("b/1", 3)
    comparisons = folder.json("compare", "a", "--with", "b", status=3)["comparisons"]
    lacks = [one["lack"] for one in comparisons if one["members"]["conc"] == "32"]
    assert lacks == ["no run on the new side: measure this configuration there, or match by fewer members with --match-by"]


def test_more_repeats_that_would_decide_are_counted(folder):
    # Means 2.02 and 2.04, 0.5 % standard deviation each: with 4 + 4 repeats the interval is
    # t(6) = 2.447 times 0.495 % times the root of 2/4, 0.86 %, below the change of 0.99 %.
    for side, first in (("a", 201), ("b", 203)):
        for i in range(3):
            (folder.path / f"{side}{i}.json").write_text(f'{{"conc": 4, "joules_per_output_token": {(first + i) / 100}}}')
    files = [[f"{side}{i}.json" for i in range(3)] for side in "ab"]
    found = folder.json("compare", *files[0], "--with", *files[1], "--margin", "1%", status=3)
    assert found["comparisons"][0]["lack"].endswith("repeat more often; about 1 more of each side for ±0.85 %"), found


def test_unmeasured_folders_are_measured_and_nothing_is_written(folder):
    for i in range(3):
        folder.run(f"slow/{i}", i, 1000 + i)
        folder.run(f"fast/{i}", i + 3, 1250 + i)
    before = sorted(folder.path.rglob("*"))
    found = folder.json("compare", "slow", "--with", "fast")
    assert folder.said.count("3 runs in ") == 2 and "measured here, and not written" in folder.said, folder.said
    assert found["verdict"] == "better" and (found["n_base"], found["n_new"]) == (3, 3)
    change = found["change"]
    assert abs(change - (1001 / 1251 - 1)) < 0.002, change  # the same energy, more tokens
    assert sorted(folder.path.rglob("*")) == before
    page = folder.call("report", "slow", "fast", "--out", "-")
    assert "org/m" in page and "6 runs in slow, fast had not been measured" in folder.said


def test_recommend_measures_a_sweep(folder):
    for i, (limit, watts, tokens) in enumerate(((700, 600, 1000), (400, 350, 900))):
        for repeat in range(2):
            folder.run(f"sweep/{limit}-{repeat}", 2 * i + repeat, tokens + repeat, watts, limit)
    found = folder.json("recommend", "sweep")
    assert [one["recommended_limit_w"] for one in found["scenarios"]] == [400], found


def test_a_run_that_was_measured_is_not_measured_again(folder):
    folder.run("all/a", 1), folder.run("all/b", 2)
    folder.call("measure", "all/a", "--out", "all/a/agg_a.json")
    found = folder.json("compare", "all")
    assert "1 run in all had not been measured" in folder.said, folder.said
    assert sum(one["n"] for one in found["summaries"]) == 2, found


def test_a_store_of_other_aggregates_is_left_to_backfill(folder):
    folder.run("store/b", 2)
    (folder.path / "store" / "agg_x.json").write_text('{"hw": "h100", "joules_per_output_token": 2.5}')
    folder.call("compare", "store")
    assert "measured" not in folder.said, folder.said


def test_two_recordings_are_asked_about(folder):
    run = folder.run("all/a", 1)
    (run / "other.csv").write_text((run / "power.csv").read_text())
    folder.run("all/b", 2)
    folder.call("compare", "all")
    assert "2 recordings are beside it: choose one" in folder.said, folder.said


def test_links_are_not_followed(folder):
    run = folder.run("all/a", 1)
    (run / "power.csv").rename(folder.path / "elsewhere.csv")
    (run / "power.csv").symlink_to(folder.path / "elsewhere.csv")
    folder.run("all/b", 2)
    assert sum(one["n"] for one in folder.json("compare", "all")["summaries"]) == 1
    assert "all/a: a link leads to its files" in folder.said, folder.said


def test_the_zone_of_recordings_is_an_option_of_compare(folder):
    run = folder.run("a")
    header, *rest = (run / "power.csv").read_text().splitlines()
    local = [subprocess.run(["date", "-u", "-d", f"@{float(row.split(',')[0]) + 7200:.3f}", "+%Y/%m/%d %H:%M:%S.%3N"],
                            capture_output=True, text=True).stdout.strip() + row[row.index(","):] for row in rest[::4]]
    (run / "power.csv").write_text("\n".join([header, *local]) + "\n")
    assert folder.json("compare", "a", "--timezone", "+02:00")["summaries"][0]["n"] == 1


def test_a_limit_that_nothing_states_is_the_makers(folder):
    (folder.path / "agg_1.json").write_text('{"hw": "h100", "avg_power_w": 500, "joules_per_output_token": 2.5}')
    folder.call("report", "agg_1.json", "--out", "page.html", "--tdp", "auto")
    assert "do not state a power limit: it is the one of --tdp" in folder.said, folder.said
    assert "700&quot;" in (folder.path / "page.html").read_text()


def test_the_help_page_lists_the_keys(folder):
    page = folder.call("help", "settings")
    for key in ("hw", "conc", "tp", "precision", "driver", "max_concurrency", "tensor_parallel_size"):
        assert f"`{key}`" in page, key


def test_folders_next_to_the_current_one(folder):
    for number in (1, 2):
        folder.run(f"main/{number}", number)
        folder.run(f"branch/{number}", number + 2)
    (folder.path / "here" / "deeper").mkdir(parents=True)
    beside = Folder(folder.path / "here" / "deeper")
    text = beside.call("compare", "../../main", "--with", "./../../branch")
    assert "2+2" in text, text


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
