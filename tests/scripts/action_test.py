#!/usr/bin/env python3
"""The step of continuous integration: what it appends, and how it ends. The shell of action.yml and gitlab.yml is run
as it stands there.

usage: tests/scripts/action_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from running import run_tests  # noqa: E402  (beside the folders that share it)

PROGRAM = pathlib.Path(os.environ.get("AGGREGATE_POWER") or ROOT / "build/aggregate-power").resolve()
ENERGY_J = 4165.455  # of testdata/runs/b200, as testdata/README.md adds up
ACTION = ROOT / "scripts/action"


def shell_of(name, key):
    """The one command that a YAML file has under a key."""
    return re.search(rf"^ *(?:{key}: |- )(.*measure\.sh\"?)$", (ACTION / name).read_text(), re.M)[1]


def step(folder, command=None, **variables):
    run = folder / "run"
    if not run.exists():
        shutil.copytree(ROOT / "testdata/runs/b200", run)
    for name in ("summary", "outputs"):
        (folder / name).write_text("")
    given = {"RESULT": "run/run.json", "RECORDING": "run/gpu_metrics.csv", "OPTIONS": "--timezone UTC",
             "SUMMARY": "summary", "OUTPUTS": "outputs"} | variables
    done = subprocess.run(["sh", "-c", command or f'sh "{ACTION}/measure.sh"'], cwd=folder, capture_output=True, text=True,
                          env={"PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"} | given)
    outputs = dict(line.split("=", 1) for line in (folder / "outputs").read_text().splitlines())
    return done, outputs, (folder / "summary").read_text()


def runs(folder, side, watts):
    """Three aggregates of 1,000 output tokens for each 1,000 s: joules per token are the watts."""
    for repeat in range(3):
        place = folder / side / f"agg_{repeat}.json"
        place.parent.mkdir(exist_ok=True)
        place.write_text(json.dumps({"hw": "h100", "conc": 4, "power_valid": 1, "avg_power_w": watts + repeat / 10,
                                     "joules_per_output_token": watts + repeat / 10}))
    return side


def test_a_run_is_measured_and_drawn(folder):
    done, outputs, summary = step(folder)
    assert done.returncode == 0, done.stderr
    # 4165.455 J of 1,000 output tokens, as testdata/README.md adds up.
    assert outputs == {"valid": "true", "joules_per_output_token": "4.165455", "total_gpu_energy_j": "4165.455"}, outputs
    for part in ("### Energy", "Power over time", "sum of 8 GPUs"):
        assert part in summary, summary
    assert summary.count("```") % 2 == 0


def test_a_run_that_is_not_valid_fails_with_its_reason(folder):
    done, outputs, summary = step(folder, OPTIONS="--timezone UTC --expected-num-gpus 9")
    assert done.returncode == 1 and outputs["valid"] == "false", (done, outputs)
    assert outputs["joules_per_output_token"] == "" and "expected_gpu_count_mismatch" in summary, summary


def test_a_change_is_compared(folder):
    for watts, status, verdict in ((100, 0, "equivalent"), (110, 1, "worse"), (90, 0, "better")):
        shutil.rmtree(folder / "new", ignore_errors=True)
        done, outputs, summary = step(folder, BASE=runs(folder, "base", 100.05), NEW=runs(folder, "new", watts))
        assert (done.returncode, outputs["verdict"]) == (status, verdict), (watts, done, outputs)
        assert f"| {verdict} |" in summary, summary


def test_what_is_compared_was_measured_with_the_same_options(folder):
    # Of 8 alike GPUs one has an eighth of the power.
    for name in ("base", "run"):
        shutil.copytree(ROOT / "testdata/runs/b200", folder / name, ignore=shutil.ignore_patterns("agg*"))
    one = step(folder, OPTIONS="--gpus 0 --timezone UTC", BASE="base")
    all_of = step(folder, OPTIONS="--timezone=UTC --idle 5", BASE="base")
    for (done, outputs, summary), gpus in ((one, 1), (all_of, 8)):
        assert done.returncode == 3, done.stderr  # one run of each decides nothing
        mean = float(re.search(r"^\| [^|]*\| 1\+1 \| ([0-9.]+) \|", summary, re.M)[1])
        assert abs(mean / float(outputs["joules_per_output_token"]) - 1) < 1e-3, summary
        assert abs(mean / (ENERGY_J / 1000 * gpus / 8) - 1) < 0.1, mean


def test_too_few_runs_decide_nothing(folder):
    runs(folder, "base", 100)
    runs(folder, "new", 101)
    done, outputs, _ = step(folder, BASE="base/agg_0.json", NEW="new/agg_0.json")
    assert (done.returncode, outputs["verdict"]) == (3, "insufficient"), (done, outputs)


    done, outputs, _ = step(folder, BASE="base/agg_0.json", NEW="new/agg_0.json", ACCEPT="insufficient")
    assert (done.returncode, outputs["verdict"]) == (0, "insufficient"), (done, outputs)
    done, _, _ = step(folder, ACCEPT="worse")
    assert done.returncode == 2 and "ACCEPT" in done.stderr, done


def test_what_is_accepted_is_nothing_else(folder):
    done, outputs, _ = step(folder, BASE=runs(folder, "base", 100), NEW=runs(folder, "new", 110), ACCEPT="insufficient")
    assert (done.returncode, outputs["verdict"]) == (1, "worse"), (done, outputs)
    done, _, _ = step(folder, OPTIONS="--timezone UTC --expected-num-gpus 9", ACCEPT="insufficient")
    assert done.returncode == 1, done


def test_the_picture_has_the_window_of_the_summary(folder):
    """vLLM's own result has only an estimated window; the recording is found next to it."""
    shutil.copytree(ROOT / "testdata/results", folder / "results")
    for result, options in (("vllm.json", ""), ("vllm.json", "--window estimated"), ("vllm_detailed.json", "")):
        for recording in ("results/gpu_metrics.csv", ""):
            done, outputs, summary = step(folder, RESULT=f"results/{result}", RECORDING=recording, OPTIONS=options)
            assert done.returncode == 0 and outputs["valid"] == "true", (result, done)
            assert "Power over time" in summary and "sum of 2 GPUs" in summary, (result, options, recording, summary)
            assert "Not valid" not in summary, (result, options, recording, summary)


def test_words_of_a_result_stay_words(folder):
    """Neither a line of OUTPUTS nor a block of Markdown is theirs."""
    words = "a\nverdict=better\n```\n# x\n\"valid\": true,\n\"joules_per_output_token\": \"$(id)\","
    step(folder)
    result = folder / "run/run.json"
    load = json.loads(result.read_text())
    result.write_text(json.dumps(load | {"model": words, "model_id": words, "backend": words, "valid": words,
                                         "joules_per_output_token": words, "window_source": words, "verdict": words}))
    done, outputs, summary = step(folder)
    assert done.returncode == 0, done
    assert outputs == {"valid": "true", "joules_per_output_token": "4.165455", "total_gpu_energy_j": "4165.455"}, outputs
    fences = [line for line in summary.splitlines() if "```" in line]
    assert fences == ["```"] * 4 and "\n# x" not in summary, summary


def test_wrong_use_is_told(folder):
    done, _, summary = step(folder, RESULT="")
    assert done.returncode == 2 and "RESULT is empty" in done.stderr and not summary, done
    done, _, _ = step(folder, RESULT="none.json")
    assert done.returncode == 2 and "none.json" in done.stderr, done


def test_the_wrappers_call_it(folder):
    github = {"GITHUB_ACTION_PATH": str(ACTION), "GITHUB_STEP_SUMMARY": "summary", "GITHUB_OUTPUT": "outputs"}
    gitlab = {"AGGREGATE_POWER_SCRIPTS": str(ACTION)}
    for name, key, variables in (("action.yml", "run", github), ("gitlab.yml", "script", gitlab)):
        done, outputs, summary = step(folder, shell_of(name, key), **variables)
        assert done.returncode == 0 and outputs["valid"] == "true" and "### Energy" in summary, (name, done)


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
