#!/usr/bin/env python3
"""Checks that all commands find the same runs in one store.

The store has runs in several layouts, some of them deep and with odd names, one that is not valid, a
link to a folder of runs, which no command follows, and files that only look like those of runs.

usage: tests/store/catalogue_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import csv
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))
from running import PROGRAM, ROOT, run_tests  # noqa: E402  (beside the folders that share it)

RUN = "power_audit_llama_tp2_conc8"  # its aggregate, its recording and its result
NAMES = ["a b", "räume", "x.y", "llama_tp2_conc8", "deep"]


def program(folder, *words, status=(0,)):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "TZ": "UTC"}, timeout=120)
    assert done.returncode in status, f"{words}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def make_run(place, name):
    shutil.copytree(ROOT / "testdata" / "store" / RUN, place / f"power_audit_{name}")
    for path in (place / f"power_audit_{name}").glob("*llama_tp2_conc8*"):
        path.rename(path.with_name(path.name.replace("llama_tp2_conc8", name)))


def make_store(folder):
    store = folder / "store"
    shutil.copytree(ROOT / "testdata" / "store", store)
    for path in store.glob("*mixtral*"):  # not written to: it is an archive
        path.unlink()
    for path in store.glob("*qwen_tp2_conc2"):  # it has no result
        shutil.rmtree(path)
    for name in NAMES:
        make_run(store / "/".join(["more"] * (1 + 5 * (name == "deep"))) / name.split(".")[0], name)
    make_run(folder / "elsewhere", "linked")
    (store / "link").symlink_to(folder / "elsewhere")
    (store / "power_validation_notes.json").write_text('{"notes": []}')
    (store / "agg_list.txt").write_text("agg_a.json\n")
    return store


def found_by_backfill(folder):
    program(folder, "backfill", "store", "--report", "report.jsonl")
    lines = map(json.loads, (folder / "report.jsonl").read_text().splitlines())
    return {line["aggregate"] for line in lines}


def aggregate_of(record):
    return re.sub(r"power_validation_([^/]*)$", r"agg_\1", record)


def found_by_verify(folder):
    """Each run is named when its recording is gone."""
    shutil.copytree(folder / "store", folder / "copy" / "store", symlinks=True)
    for path in (folder / "copy" / "store").rglob("gpu_metrics.csv*"):
        path.unlink()
    faults = json.loads(program(folder / "copy", "verify", "store", "--json", status=(1,)))["faults"]
    named = [re.fullmatch("named by (.*)", fault["what"]) for fault in faults]
    return {aggregate_of(match[1]) for match in named if match}


def found_by_export(folder):
    rows = csv.DictReader(io.StringIO(program(folder, "export", "store", "--format", "csv")))
    return {row["source"] for row in rows}


def found_by_retract(folder):
    result = json.loads(program(folder, "retract", "store", "--where", "collector=*", "--dry-run", "--json"))
    return {run["run"] for run in result["runs"]}


def found_by_compare(folder):
    result = json.loads(program(folder, "compare", "store", "store", "--json", status=(0, 3)))
    files = [file for summary in result["summaries"] for file in summary["files"]]
    return set(files) | {one["file"] for summary in result["summaries"] for one in summary["excluded"]}


def found_by_report(folder):
    program(folder, "report", "store", "--out", "page.html")
    links = re.findall(r'href="(store/[^"]*)"', (folder / "page.html").read_text())
    return {aggregate_of(re.sub("%([0-9A-F]{2})", lambda match: chr(int(match[1], 16)), link)
                         .encode("latin-1").decode()) for link in links}


def test_all_commands_find_the_same_runs(folder):
    store = make_store(folder)
    wanted = {str(path.relative_to(folder)) for path in store.rglob("agg_*.json")}
    assert len(wanted) == len(NAMES) + 3, wanted
    for find in (found_by_backfill, found_by_verify, found_by_export, found_by_retract, found_by_compare,
                 found_by_report):
        found = find(folder)
        assert found == wanted, f"{find.__name__}: lacks {wanted - found}, adds {found - wanted}"


def renamed_store(folder):
    """A store whose files got the run's name after the run: its record names "agg_run.json"."""
    store = folder / "store"
    store.mkdir()
    for name in ("gpu_metrics.csv", "run.json", "agg_run.json"):
        shutil.copy(ROOT / "testdata" / "runs" / "b200" / name, store / name)
    program(store, "--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
            "--expected-num-gpus", "8", "--timezone", "UTC")
    (store / "agg_run.json").rename(store / "agg_b200_conc1.json")
    (store / "power_validation_run.json").rename(store / "power_validation_b200_conc1.json")
    return store


def test_an_aggregate_and_its_record_that_were_renamed_are_one_run(folder):
    store = renamed_store(folder)
    wanted = {"store/agg_b200_conc1.json"}
    for find in (found_by_export, found_by_compare, found_by_report, found_by_retract):
        assert find(folder) == wanted, f"{find.__name__}: {find(folder)}"
    assert "1 run, 4 files: all holds" in program(folder, "verify", "store")
    # Numbers of another run: the two do not belong together.
    aggregate = store / "agg_b200_conc1.json"
    text = aggregate.read_text()
    assert "4165.455" in text
    aggregate.write_text(text.replace("4165.455", "4165.458"))
    assert found_by_export(folder) == wanted | {"store/power_validation_b200_conc1.json"}


def test_an_archive_is_found_however_it_is_named(folder):
    """Also by its bare name, from the folder that holds it."""
    make_run(folder / "store", "a")
    for form, name in (("zip", "runs.zip"), ("tar", "runs.tar"), ("gztar", "runs.tar.gz")):
        shutil.make_archive(folder / "runs", form, folder / "store")
        for i, spelling in enumerate((name, f"./{name}", folder / name, f"../{folder.name}/{name}")):
            summary = program(folder, "backfill", spelling, "--output", f"out-{form}-{i}", "--json")
            assert json.loads(summary)["outcomes"]["patched"] == 1, f"{spelling}: {summary}"


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
