#!/usr/bin/env python3
"""Checks that the settings of a run survive, and that `compare`, `report` and `recommend` heed them.

Runs are folders with a result of vLLM and a recording: one GPU of 500 W for 40 s, 20 kJ, with 50 W before and after.

usage: tests/decisions/settings_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import math
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import running  # noqa: E402
from running import run_tests  # noqa: E402

START, LENGTH = 1_800_000_000, 40
HEADER = "timestamp, index, name, driver_version, clocks.applications.graphics [MHz], power.draw [W], power.limit [W]"


class Folder(running.Folder):
    def call(self, *words, status=0, **options):
        return super().call(*words, status=status, **options).out

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


def run_without_window(folder, name="vllm", number=0):
    """vLLM's own result, with a stamp and a duration."""
    date = time.strftime("%Y%m%d-%H%M%S", time.gmtime(START + 1000 * number + LENGTH + 1))
    run = folder.run(name, number, date=date, tokenizer_id="m")
    result = json.loads((run / "result.json").read_text())
    (run / "result.json").write_text(json.dumps(
        {key: value for key, value in result.items() if not key.startswith("benchmark_") and key not in ("start_times", "ttfts")}))


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
    for wrong in ("precision", "=fp8", "precision=", "a b=c", "total_gpu_energy_j=1", "valid=true", "warnings=1",
                  "gpu_count=1"):
        folder.call("measure", "a", "--set", wrong, status=2)
        assert "--set: expected KEY=VALUE" in folder.err, folder.err
    folder.call("measure", "a", "--set", "conc=1", "--set", "conc=2", status=2)
    assert "--set: 'conc' is given twice; give it once" in folder.err, folder.err


def test_no_key_that_is_measured_can_be_set(folder):
    """All keys of a run with everything, except those that say how it was run."""
    folder.run("a", failed=1), run_without_window(folder)
    more = [[], ["--pue", "1.2"], ["--idle", "85"], ["--salvage"], ["--uncertainty"]]
    found = {key for words in more for key in folder.json("measure", "a", *words)["runs"][0]}
    found |= set(folder.json("measure", "vllm")["runs"][0])
    stated = set(folder.json("measure", "a")["runs"][0]) & {
        "hw", "power_limit_w", "driver", "clock_setting_mhz", "conc", "num_prompts", "model", "request_rate", "backend", "generator"}
    assert {"output_tokens", "energy_j_low", "tokens_per_joule", "facility", "idle", "uncertainty"} <= found, found
    for key in sorted(found - stated):
        folder.call("measure", "a", "--set", f"{key}=1", status=2)
        assert "is not one of measure's own numbers" in folder.err, (key, folder.err)
    for key in sorted(stated):
        measured = folder.json("measure", "a", "--set", f"{key}=1")["runs"][0]
        assert measured[key] == 1, (key, measured[key])


def test_a_run_has_one_configuration(folder):
    """Of a generator that writes its name."""
    run_without_window(folder)
    for words in ([], ["--set", "power_limit_w=400", "--set", "generator=mine"]):
        measured = folder.json("measure", "vllm", *words)["runs"][0]
        folder.call("measure", "vllm", *words, "--window", "estimated", "--out", "agg.json")
        written = json.loads((folder.path / "agg.json").read_text())
        own = set(written) - {"power_metric_schema_version", "power_valid"}
        assert {key: written[key] for key in own if isinstance(written[key], str)} == {
            key: measured[key] for key in own if isinstance(written[key], str)}
        assert written["generator"] == ("mine" if words else "vLLM"), written
        assert written["generator"] == measured["generator"] and written["power_limit_w"] == measured["power_limit_w"]


def test_what_was_set_is_compared(folder):
    for i, setting in enumerate(("A", "B")):
        folder.run(setting, i)
        (folder.path / f"{setting}.json").write_text(folder.call("measure", setting, "--json", "--set", f"setting={setting}"))
    found = folder.json("compare", "A.json", "--with", "B.json", status=3)
    assert "setting is A on one side and B on the other" in found["comparisons"][0]["lack"], found


def test_compare_refuses_other_settings_and_says_how_to_compare(folder):
    folder.run("a/1", 1), folder.run("a/2", 2), folder.run("b/1", 3, 2000, max_concurrency=256)
    text = folder.call("compare", "a", "--with", "b", status=3)
    assert "conc is 16 on one side and 256 on the other; --match-by" in " ".join(text.split()) and ": better" not in text, text
    keys = re.search(r"--match-by\s+(\S+)\s+compares\s+them\s+all\s+the\s+same", text)[1]
    assert keys == "model", keys
    assert ": better" in folder.call("compare", "a", "--with", "b", "--match-by", keys)
    folder.run("c/1", 4, driver="560.1")
    assert "driver is 550.54.15 on one side and 560.1 on the other" in folder.call("compare", "a", "--with", "c", status=3)


def test_loads_of_other_lengths_are_other_settings(folder):
    """That only the counts state: 100 tokens a request on one side, 4 and 2 times as many on others."""
    folder.run("a/1", 1, 1000), folder.run("a/2", 2, 1010), folder.run("near", 3, 1300)
    for name, number, counts in (("out4", 4, {"tokens": 4000}), ("out2", 5, {"tokens": 2000}),
                                 ("in4", 6, {"tokens": 1000, "total_input_tokens": 400})):
        folder.run(name, number, **counts)
        text = " ".join(folder.call("compare", "a", "--with", name, status=3).split())
        lack = {"out4": "output_tokens_per_request is 100 on one side and 400 on the other", "out2": "output_tokens_per_request is 100 ",
                "in4": "input_tokens_per_request is 10 on one side and 40 on the other"}[name]
        assert lack in text and ": better" not in text, text
        keys = re.search(r"--match-by (\S+) compares them all the same", text)[1]
        found = folder.json("compare", "a", "--with", name, "--match-by", keys, status=None)
        assert (found["n_base"], found["n_new"]) == (2, 1) and found["change"] is not None, found
    found = folder.json("compare", "a", "--with", "near")
    assert (found["n_base"], found["n_new"]) == (2, 1), found
    note = "output_tokens_per_request is 100 in the base and 130 on the new side: the change is also that of the load"
    assert note in found["comparisons"][0]["notes"], found
    assert "output_tokens_per_request" not in str(folder.json("compare", "a/1", "--with", "a/2", status=None)), found
    # Each is 1.4 times as long as the one before: no chain makes them one load. 380 / 3 and 585 / 3.
    for side, lengths in (("e", (100, 140, 195)), ("f", (140, 195, 270))):
        for i, length in enumerate(lengths):
            folder.run(f"{side}/{i}", 10 * (side == "f") + 20 + i, 10 * length)
    found = folder.json("compare", "e", "--with", "f", status=None)
    same = sorted((one["n_base"], one["n_new"]) for one in found["comparisons"])
    assert same == [(1, 2), (2, 1)], found
    # The result states the length: a load that ends early is the same load.
    for side, number, tokens in (("c", 7, 1000), ("d", 8, 4000)):
        folder.run(side, number, tokens, output_len=400)
    assert folder.json("compare", "c", "--with", "d")["n_new"] == 1
    # Neither are they repeats of each other.
    assert sorted(one["n"] for one in folder.json("compare", "a", "out4")["summaries"]) == [1, 2]


def sweep_of(folder, name, count=10, limit="400.00 W"):
    """Loads of 40 s in one recording, a minute from each other: the first at 200 W, each 10 W above the one before."""
    place = folder.path / name
    place.mkdir()
    for i in range(count):
        start = START + 60 * i
        (place / f"bench_{i}.json").write_text(json.dumps(
            {"benchmark_start_time_unix": start, "benchmark_end_time_unix": start + LENGTH, "duration": LENGTH,
             "backend": "vllm", "model_id": "org/m", "completed": 10, "total_input_tokens": 100,
             "total_output_tokens": 1000, "max_concurrency": i + 1}))
    rows = [f"{START + t:.3f}, 0, NVIDIA H100 80GB HBM3, "
            f"{(200 + 10 * (t // 60) if 0 <= t < 60 * count and t % 60 < LENGTH else 50) + 2 * math.sin(97 * t):.2f} W, {limit}"
            for t in (step / 2 for step in range(-40, 120 * count))]
    (place / "power.csv").write_text("\n".join(["timestamp, index, name, power.draw [W], power.limit [W]", *rows]) + "\n")
    return place


def test_results_that_share_a_recording_are_measured_each(folder):
    sweep_of(folder, "sweep")
    runs = folder.json("measure", "sweep")["runs"]
    assert "sweep: 10 results are in it: each is measured over its own window" in folder.err, folder.err
    assert [run["benchmark"] for run in runs] == [f"sweep/bench_{i}.json" for i in range(10)]
    for i, run in enumerate(runs):  # its power for 40 s
        assert abs(run["total_gpu_energy_j"] - 40 * (200 + 10 * i)) < 0.02 * 40 * 200, run
    compared = folder.json("compare", "sweep")["summaries"]
    assert "10 runs in sweep had not been measured" in folder.err, folder.err
    assert sorted(int(one["members"]["conc"]) for one in compared) == list(range(1, 11)), compared
    assert "10 runs, 10 valid" in folder.call("report", "sweep", "--out", "page.html")
    assert "10 runs in sweep had not been measured" in folder.err, folder.err
    found = folder.json("recommend", "sweep", status=1)  # of one limit
    assert len(found["scenarios"]) == 10, found


def test_no_result_gets_a_command_that_ran_several(folder):
    """SGLang states no times. The recorded command is as long as one load, or as all three."""
    sglang = json.loads((ROOT / "testdata" / "results" / "sglang.jsonl").read_text().splitlines()[0])
    sglang["server_info"] = {}  # of two GPUs
    for name, length in (("one", LENGTH), ("all", 180)):
        place = sweep_of(folder, name, 3)
        for i in range(3):
            (place / f"bench_{i}.json").write_text(json.dumps(sglang | {"duration": LENGTH, "max_concurrency": i + 1}))
        (place / "power_context.json").write_text(json.dumps(
            {"timestamp_timezone": "+00:00", "monitor": "nvidia-smi", "interval_s": 0.5, "clock_pairs": [],
             "window": {"start_unix": START, "end_unix": START + length}, "exit_status": 0}))
        runs = folder.json("measure", name, status=1)["runs"]
        assert [run["valid"] for run in runs] == [False] * 3, runs
        assert all("which of several benchmarks the recorded command ran is not known" in run["details"] for run in runs), runs
        folder.call("compare", name, status=None)
        assert sum(one["n"] for one in folder.json("compare", name, "--metric", "total_gpu_energy_j", status=None).get("summaries", [])) == 0
        # Named, it is the command's if that ran no other load of its length, which draws other watts.
        run = folder.json("measure", f"{name}/bench_1.json", f"{name}/power.csv", status=None)["runs"][0]
        assert (run["valid"], run["reasons"]) == ((True, []) if name == "one" else (False, ["window_not_exact"])), run


def test_the_recording_of_a_run_that_is_measured_here_is_used(folder):
    sweep_of(folder, "sweep", 2)
    folder.call("report", "sweep", "--out", "page.html")
    page = (folder.path / "page.html").read_text()
    assert "No recording was found" not in page and page.count("<svg") >= 2, page.count("<svg")
    text = folder.call("recommend", "sweep", status=1)
    assert "limit_not_confirmed" not in text and "400" in text, text
    # Another limit for the second half of the first load.
    recording = folder.path / "sweep" / "power.csv"
    header, *rows = recording.read_text().splitlines()
    recording.write_text("\n".join([header, *(row.replace("400.00 W", "300.00 W") if float(row.split(",")[0]) < START + 20 else row
                                              for row in rows)]) + "\n")
    assert "GPU 0 had another limit in" in folder.call("recommend", "sweep", status=1)


def test_links_that_are_named_are_followed(folder):
    for name in ("main", "branch"):
        folder.run(f"{name}/1", ("main", "branch").index(name) + 1), folder.run(f"{name}/2", ("main", "branch").index(name) + 3)
    here = folder.path / "here"
    here.mkdir()
    (here / "m").symlink_to("../main")
    (here / "b").symlink_to(folder.path / "branch")
    (here / "deep").symlink_to("..")
    at = Folder(here)
    for places in (["m", "--with", "b"], ["./m/", "--with", "deep/branch"], ["m/1", "m/2", "--with", "b"]):
        found = at.json("compare", *places)
        assert (found["n_base"], found["n_new"]) == (2, 2), (places, found)
    for side in ("main", "branch"):
        for run in "12":
            folder.call("measure", f"{side}/{run}", "--out", f"{side}/{run}/agg_{side}{run}.json")
    assert at.json("compare", "m", "--with", "b")["n_new"] == 2
    at.call("report", "m", "--out", "-"), at.call("recommend", "m", status=1), at.call("export", "m", "--format", "csv", "--out", "-")
    # A link in what is named leads out of it.
    store = folder.path / "store"
    store.mkdir()
    (store / "other").symlink_to(folder.path / "main")
    at.call("compare", "../store", status=2)


def test_the_proposed_command_mixes_no_models(folder):
    for side, first, conc, joules in (("a", 0, 16, 2.0), ("b", 2, 256, 1.0)):
        for i, model in enumerate(("m1", "m2")):
            (folder.path / side).mkdir(exist_ok=True)
            (folder.path / side / f"agg_{first + i}.json").write_text(json.dumps(
                {"hw": "h100", "model": model, "conc": conc, "joules_per_output_token": joules * (i + 1)}))
    lacks = [one["lack"] for one in folder.json("compare", "a", "--with", "b", status=3)["comparisons"]]
    keys = {re.search(r"--match-by (\S+) compares", lack)[1] for lack in lacks}
    assert keys == {"model"}, lacks
    found = folder.json("compare", "a", "--with", "b", "--match-by", keys.pop(), status=3)
    assert sorted(one["members"]["model"] for one in found["comparisons"]) == ["m1", "m2"], found
    assert [(one["n_base"], one["n_new"]) for one in found["comparisons"]] == [(1, 1), (1, 1)], found


def test_the_proposed_command_is_short_and_mixes_nothing(folder):
    """Members that all have are not named; one that keeps other runs apart is."""
    shared = {"hw": "h100", "framework": "vllm", "model": "m", "precision": "fp8"}
    for side, conc in (("a", 16), ("b", 256)):
        for tp in (4, 8):
            (folder.path / side).mkdir(exist_ok=True)
            (folder.path / side / f"agg_{conc}_{tp}.json").write_text(json.dumps(
                shared | {"tp": tp, "conc": conc, "joules_per_output_token": float(tp + conc)}))
    text = folder.call("compare", "a", "--with", "b", status=3)
    lines = [line for line in text.splitlines() if "--match-by" in line]
    assert lines and all("--match-by model,tp compares" in line for line in lines), text
    found = folder.json("compare", "a", "--with", "b", "--match-by", "model,tp", status=3)
    assert [(one["n_base"], one["n_new"]) for one in found["comparisons"]] == [(1, 1), (1, 1)], found


def test_a_key_of_a_generator_leads_to_ours(folder):
    folder.run("a/1", 1), folder.run("a/2", 2, max_concurrency=256)
    folder.call("compare", "a", "--match-by", "max_concurrency", status=2)
    assert "no run has 'max_concurrency': did you mean conc?; they have " in folder.err, folder.err
    folder.call("compare", "a", "--match-by", "xyzzy", status=2)
    assert "no run has 'xyzzy'; they have hw, " in folder.err and " conc," in folder.err, folder.err


def test_nothing_is_proposed_where_nothing_is_shared(folder):
    for side, conc in (("a", 16), ("b", 256)):
        (folder.path / f"{side}.json").write_text(f'{{"conc": {conc}, "joules_per_output_token": {conc}}}')
    lack = folder.json("compare", "a.json", "--with", "b.json", status=3)["comparisons"][0]["lack"]
    assert lack == "conc is 16 on one side and 256 on the other", lack


def test_a_configuration_that_both_sides_have_is_compared_beside_others(folder):
    folder.run("a/1", 1), folder.run("a/2", 2, max_concurrency=32), folder.run("b/1", 3)
    comparisons = folder.json("compare", "a", "--with", "b", status=3)["comparisons"]
    lacks = [one["lack"] for one in comparisons if one["members"]["conc"] == "32"]
    assert lacks == ["no run on the new side: measure this configuration there, or match by fewer members with --match-by"]


def test_more_repeats_that_would_decide_are_counted(folder):
    # Means 2.02 and 2.04, 0.495 % standard deviation each: the logarithm of the change is 0.985 % of a half width of
    # 2.776 x 0.495 % x sqrt(2/3) = 1.122 %. 0.985 / (1 - (0.985 / 1.122)^2) is above 1.2 x 1.122 % = 1.346 %, which counts. For 95 %
    # a known spread wants 2 (1.960 + 1.645)^2 (0.495 / 1.346)^2 = 3.5 of each side by the normal distribution, 5 by the t test.
    for side, first in (("a", 201), ("b", 203)):
        for i in range(3):
            (folder.path / f"{side}{i}.json").write_text(f'{{"conc": 4, "joules_per_output_token": {(first + i) / 100}}}')
    files = [[f"{side}{i}.json" for i in range(3)] for side in "ab"]
    found = folder.json("compare", *files[0], "--with", *files[1], "--margin", "1%", status=3)
    more = re.search(r"repeat more often; about (\d+) more of each side would probably decide it$",
                     found["comparisons"][0]["lack"])
    assert more and 4 <= 3 + int(more[1]) <= 6, found


def test_unmeasured_folders_are_measured_and_nothing_is_written(folder):
    for i in range(3):
        folder.run(f"slow/{i}", i, 1000 + i)
        folder.run(f"fast/{i}", i + 3, 1250 + i)
    before = sorted(folder.path.rglob("*"))
    found = folder.json("compare", "slow", "--with", "fast")
    assert folder.err.count("3 runs in ") == 2 and "measured here, and not written" in folder.err, folder.err
    assert found["verdict"] == "better" and (found["n_base"], found["n_new"]) == (3, 3)
    change = found["change"]
    assert abs(change - (1001 / 1251 - 1)) < 0.002, change  # the same energy, more tokens
    assert sorted(folder.path.rglob("*")) == before
    page = folder.call("report", "slow", "fast", "--out", "-")
    assert "org/m" in page and "6 runs in slow, fast had not been measured" in folder.err


def test_the_joules_of_a_request_and_of_a_token_state_a_length(folder):
    """256 J a request: 128 tokens of 2 J, and 512 of 0.5 J."""
    for side, each in (("a", 2.0), ("b", 0.5)):
        (folder.path / side).mkdir()
        for i in range(3):
            (folder.path / side / f"agg_{i}.json").write_text(json.dumps({
                "hw": "h100", "conc": 4, "power_metric_schema_version": 2, "power_valid": 1, "avg_power_w": 500 + i / 100,
                "total_gpu_energy_j": 25600 + i, "joules_per_successful_query": 256 + i / 100,
                "joules_per_output_token": each * (1 + i / 25600)}))
    text = " ".join(folder.call("compare", "a", "--with", "b", status=3).split())
    assert "output_tokens_per_request is 128 on one side and 512 on the other" in text, text


def test_benchmarks_that_failed_are_not_compared(folder):
    """5 of 10 requests failed, with the tokens of the others."""
    for i in range(3):
        folder.run(f"good/{i}", i, 1000 + i)
        folder.run(f"next/{i}", i + 3, 1000 + i)
    folder.run("next/bad", 7, 500, completed=5, total_input_tokens=50)
    found = folder.json("compare", "good", "--with", "next", status=None)
    assert (found["n_base"], found["n_new"]) == (3, 3), found
    assert "next/bad/result.json" in str(found) and "benchmark_failed" in str(found), found
    folder.json("compare", "good", "--with", "next/bad", status=3)
    page = folder.call("report", "next", "--out", "-")
    assert "benchmark_failed" in page
    for i, limit in enumerate((700, 400)):
        for repeat in range(2):
            folder.run(f"sweep/{limit}-{repeat}", 2 * i + repeat + 10, 1000 + repeat, 600 - 200 * i, limit)
    folder.run("sweep/300-0", 20, 500, 100, 300, completed=5, total_input_tokens=50)
    assert [one["recommended_limit_w"] for one in folder.json("recommend", "sweep", status=None)["scenarios"]] == [400]


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
    assert "1 run in all had not been measured" in folder.err, folder.err
    assert sum(one["n"] for one in found["summaries"]) == 2, found


def test_an_aggregate_without_an_energy_does_not_hide_its_run(folder):
    """'measure --out' refuses an estimated window, and 'compare' and 'report' measure over it."""
    for number, name in enumerate(("all/a", "all/b")):
        run_without_window(folder, name, number)
        folder.call("measure", name, "--out", f"{name}/energy.json", status=1)
    for place, folder_of_call in (("all", "."), (".", "all"), ("all/a all/b", ".")):
        path, folder.path = folder.path, folder.path / folder_of_call
        assert [one["n"] for one in folder.json("compare", *place.split())["summaries"]] == [2], folder.err
        assert "not used" not in folder.call("compare", *place.split())
        folder.path = path
    assert "2 runs, 2 valid" in folder.call("report", "all", "--out", "page.html")
    # What is refused for a reason of its own stays refused, once.
    (folder.path / "all/a/power.csv").write_text(HEADER + "\n")
    assert folder.call("compare", "all").count("all/a/") == 1


def name_gpus(run, header, uuid):
    """As nvidia-smi writes UUIDs next to indices, or the recorder in a file of its own."""
    names, *rows = (run / "power.csv").read_text().splitlines()
    if header == "file":
        (run / "power_identity.csv").write_text(f"index,uuid\n0,{uuid}\n")
        return
    names = names.replace("index, name", header)
    cell = {"index, uuid, name": f" 0, {uuid}, ", "uuid, name": f" {uuid}, ", "uuid, index, name": f" {uuid}, 0, "}[header]
    (run / "power.csv").write_text("\n".join([names, *(row.replace(" 0, ", cell, 1) for row in rows)]) + "\n")


def test_uuids_tell_boards_apart_whatever_the_ids_are(folder):
    boards = {"a": "GPU-5f0c1a2b-0000-1111-2222-333344445555", "b": "GPU-6a1d2b3c-0000-1111-2222-333344445555"}
    for header in ("index, uuid, name", "uuid, index, name", "uuid, name", "file"):
        place = header.replace(", ", "-")
        for number, (name, uuid) in enumerate((("a", boards["a"]), ("same", boards["a"]), ("b", boards["b"]))):
            name_gpus(folder.run(f"{place}/{name}", number), header, uuid)
            folder.call("measure", f"{place}/{name}", "--out", f"{place}-out-{name}.json")
        for base, new, wanted in (("a", "same", "same"), ("a", "b", "different")):
            for sides in ((f"{place}/{base}", f"{place}/{new}"), (f"{place}-out-{base}.json", f"{place}-out-{new}.json")):
                found = folder.json("compare", sides[0], "--with", sides[1], status=None)
                assert found["comparisons"][0]["boards"] == wanted, (header, sides, found)
    # A GPU whose UUID nobody knows makes the list worthless.
    name_gpus(folder.run("partly/a"), "file", "[N/A]"), name_gpus(folder.run("partly/b", 1), "file", boards["b"])
    found = folder.json("compare", "partly/a", "--with", "partly/b", status=None)
    assert found["comparisons"][0]["boards"] == "assumed_same", found
    # Recordings of two hosts name GPUs alike.
    one = folder.path / "index-uuid-name/a/power.csv"
    (folder.path / "other.csv").write_text(one.read_text().replace(boards["a"], boards["b"]))
    run = folder.json("measure", str(one), "other.csv", "--start", str(START), "--end", f"+{LENGTH}s", status=None)["runs"][0]
    assert (run["gpu_ids"], run["gpu_uuids"]) == (["0", "0"], list(boards.values())), run


def test_a_folder_above_measured_runs_is_measured(folder):
    run = folder.run("all/a", 1)
    folder.run("all/a/old", 2)
    folder.call("measure", "all/a/old", "--out", "all/a/old/agg_x.json")
    assert sum(one["n"] for one in folder.json("compare", "all")["summaries"]) == 2
    assert "1 run in all had not been measured" in folder.err, (run, folder.err)


def test_a_run_whose_aggregate_is_elsewhere_is_not_measured_again(folder):
    folder.run("all/a", 1), folder.run("all/b", 2)
    (folder.path / "all" / "out").mkdir()
    folder.call("measure", "all/a", "--out", "all/out/agg_a.json")
    run = folder.path / "all" / "b"
    folder.call("measure", str(run), "--out", str(folder.path / "agg_b.json"))
    folder.run("all/c", 3)
    for places, count, published in ((["all"], 2, 1), (["all", "agg_b.json"], 1, 2)):
        found = folder.json("compare", *places)
        assert f"{count} run{'s' * (count > 1)} in" in folder.err, (places, folder.err)
        assert sum(one["n"] for one in found["summaries"]) == count + published, found


def test_options_of_measuring_without_a_run_to_measure_are_noted(folder):
    folder.run("all/a", 1)
    folder.call("compare", "all", "--gpus", "0", "--timezone", "UTC")
    assert "had no effect" not in folder.err, folder.err
    folder.call("measure", "all/a", "--out", "all/a/agg_a.json")
    for options in (["--gpus", "0"], ["--window", "wrapped"], ["--timezone", "UTC"], ["--result-timezone", "UTC"]):
        for command in (["compare", "all"], ["report", "all", "--out", "-"]):
            folder.call(*command, *options)
            assert f"{options[0]} had no effect: only runs that are measured here heed it, and none was" in " ".join(
                folder.err.split()), (command, folder.err)
    folder.call("compare", "all")
    assert "had no effect" not in folder.err


def test_runs_measured_side_by_side_keep_no_readings_of_large_recordings(folder):
    """Two recordings above 16 MiB: rows with a note of 120 KB."""
    for i in (1, 2):
        path = folder.run(f"all/{i}", i) / "power.csv"
        header, *rows = path.read_text().splitlines()
        path.write_text("\n".join([header + ", note", *(f"{row}, {'x' * 120_000}" for row in rows)]) + "\n")
        assert path.stat().st_size > 16 << 20
    summary = folder.json("compare", "all")["summaries"]
    alone = folder.json("compare", "all/1")["summaries"]
    assert (sum(one["n"] for one in summary), sum(one["n"] for one in alone)) == (2, 1)
    assert alone[0]["values"] == "estimate" and summary[0]["values"] != "estimate", summary
    page = folder.call("report", "all", "--out", "-")
    assert "2 runs in all had not been measured" in folder.err and "org/m" in page


def test_a_store_of_other_aggregates_is_left_to_backfill(folder):
    folder.run("store/b", 2)
    (folder.path / "store" / "agg_x.json").write_text('{"hw": "h100", "joules_per_output_token": 2.5}')
    folder.call("compare", "store")
    assert "measured" not in folder.err, folder.err


def test_two_recordings_are_asked_about(folder):
    run = folder.run("all/a", 1)
    (run / "other.csv").write_text((run / "power.csv").read_text())
    folder.run("all/b", 2)
    folder.call("compare", "all")
    assert "2 recordings are beside it: choose one" in folder.err, folder.err


def test_links_are_not_followed(folder):
    run = folder.run("all/a", 1)
    (run / "power.csv").rename(folder.path / "elsewhere.csv")
    (run / "power.csv").symlink_to(folder.path / "elsewhere.csv")
    folder.run("all/b", 2)
    assert sum(one["n"] for one in folder.json("compare", "all")["summaries"]) == 1
    assert "all/a: a link leads to its files" in folder.err, folder.err


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
    assert "do not state a power limit: it is the one of --tdp" in folder.err, folder.err
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
