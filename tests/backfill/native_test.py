#!/usr/bin/env python3
"""Backfills runs whose nodes recorded their own GPUs.

Two nodes with a GPU each, of 500 W and 700 W, for 30 s: 15000 J of prefill, 21000 J of decode. The
expected values are watts x seconds.

usage: tests/backfill/native_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import PROGRAM, run_tests  # noqa: E402  (beside the folders that share it)

RUN = "r_cfg_conc64_gpus_2_ctx_1_gen_1"
OTHER_KIND = ["--package", "v3"]


def program(*arguments, **options):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          env={"PATH": os.environ["PATH"], "TZ": "Asia/Tokyo"}, **options)


def synthesize(logs, *options):
    done = program("synthesize", "--nodes", "2", "--prefill-nodes", "1", "--gpus", "2", "--gpu-offset",
                   "200", "--phase", "5:90", "--phase", "30:500", "--phase", "5:90", "--out", logs,
                   "--bench-out", logs.parent / f"{RUN}.json", *(options or ["--package", "native"]))
    assert done.returncode == 0, done.stderr


class Store:
    """power_audit_r with the logs and the result; the aggregate is in bmk_r."""

    def __init__(self, path, *options):
        self.root = pathlib.Path(path)
        self.store = self.root / "store"
        self.audit = self.store / "power_audit_r"
        self.audit.mkdir(parents=True)
        self.aggregate = self.store / "bmk_r" / f"agg_{RUN}.json"
        self.aggregate.parent.mkdir()
        self.aggregate.write_text('{"hw": "h200"}')
        synthesize(self.audit / "LOGS", *options)
        self.native = self.audit / "LOGS" / "native_power"
        self.passes = 0

    def backfill(self, *options):
        """The one line of the report."""
        self.passes += 1
        report = self.root / f"{self.passes}.jsonl"
        done = program("backfill", self.store, "--report", report, *options)
        lines = [json.loads(line) for line in report.read_text().splitlines()]
        runs = [line for line in lines if "outcome" in line]
        assert len(runs) == 1 and runs[0]["run"] == RUN, (lines, done.stderr)
        return runs[0]

    @property
    def row(self):
        return json.loads(self.aggregate.read_text())

    @property
    def record(self):
        return json.loads((self.aggregate.parent / f"power_validation_{RUN}.json").read_text())


def test_a_native_package_is_found_and_added_up(path):
    store = Store(path)
    line = store.backfill()
    assert line["outcome"] == "patched" and line["layout"] == "multinode", line
    row = store.row
    assert (row["prefill_gpu_energy_j"], row["decode_gpu_energy_j"]) == (15000.0, 21000.0), row
    assert row["avg_power_w"] == 600.0 and row["power_valid"] == 1
    record = store.record
    assert record["telemetry_kind"] == "native_multinode_smi"
    assert record["benchmark_result"] == f"../power_audit_r/{RUN}.json"
    assert record["computed_from"]["telemetry_source"] == "../power_audit_r/LOGS/native_power"


def test_a_cell_without_a_reading_is_bounded(path):
    """36000 J are right. contract-october.md 9.3."""
    store = Store(path)
    recording = store.native / "node-1" / "gpu_metrics.csv"
    text = recording.read_text()
    recording.write_text(text.replace("00:20.000, 0, 700.00 W", "00:20.000, 0, [N/A]"))
    assert recording.read_text() != text, text[:300]
    assert store.backfill()["outcome"] == "not_valid" and "salvage" not in store.record
    store.backfill("--salvage")
    row, salvage = store.row, store.record["salvage"]
    assert row["power_valid"] == 0 and salvage["available"], salvage
    energy = salvage["total_gpu_energy_j"]
    assert energy["low"] < 36000 < energy["high"] < 40000, energy
    assert abs(row["salvaged_total_gpu_energy_j"] - energy["estimate"]) < 0.01, row
    assert store.backfill("--salvage")["outcome"] == "unchanged"
    done = program("verify", store.store)
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_is_read_again_only_when_something_changed(path):
    store = Store(path)
    store.backfill()
    assert store.backfill()["outcome"] == "unchanged"
    assert store.backfill("--verify")["outcome"] == "unchanged"
    assert store.backfill("--salvage")["outcome"] != "failed"
    store.backfill()
    manifest = store.native / "node-1" / "manifest.json"
    sound = manifest.read_text()
    manifest.write_text(sound.replace('"clock_synchronized": true', '"clock_synchronized": false'))
    assert store.backfill("--verify")["outcome"] == "not_valid"
    assert store.record["reasons"] == ["native_clock_not_synchronized"]
    assert store.row == {"hw": "h200", "power_metric_schema_version": 2, "power_valid": 0}
    manifest.write_text(sound)
    assert store.backfill("--verify")["outcome"] == "patched"
    shutil.copytree(store.native / "node-1", store.native / "node-2")  # a folder that was not there
    assert store.backfill()["outcome"] == "not_valid"
    assert "native_node_invalid" in store.record["reasons"]


def test_a_node_without_manifest_is_missing(path):
    store = Store(path)
    (store.native / "node-1" / "manifest.json").unlink()
    assert store.backfill()["outcome"] == "not_valid"
    assert "native_node_topology_mismatch" in store.record["reasons"]


def test_both_kinds_of_package_are_ambiguous(path):
    store = Store(path, *OTHER_KIND)
    made = pathlib.Path(path) / "made"
    made.mkdir()
    synthesize(made / "LOGS")
    assert store.backfill()["outcome"] == "patched"  # srt-slurm's alone
    (made / "LOGS" / "native_power").rename(store.native)
    before = store.aggregate.read_bytes()
    line = store.backfill("--force")
    assert line["outcome"] == "ambiguous" and line["reasons"] == ["pairing_ambiguous"], line
    assert "power and native_power" in line["details"], line
    assert store.aggregate.read_bytes() == before
    assert store.backfill()["outcome"] == "ambiguous"  # also when it could pass for unchanged


def test_recordings_of_nodes_are_not_those_of_other_runs(path):
    store = Store(path)
    # Logs beside the aggregate, in a folder that is no power_audit_NAME, and a run without telemetry.
    other = store.store / "plain"
    shutil.copytree(store.audit, other)
    (other / "agg_gpu_metrics.json").write_text('{"tp": 1}')
    (other / "gpu_metrics.json").write_text((store.audit / f"{RUN}.json").read_text())
    shutil.rmtree(store.audit)
    report = pathlib.Path(path) / "other.jsonl"
    program("backfill", store.store, "--report", report)
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    [line] = [line for line in lines if line.get("run") == "gpu_metrics"]
    assert line["layout"] == "multinode" and "node-" not in (line["telemetry"] or ""), line
    assert json.loads((other / "agg_gpu_metrics.json").read_text()).get("power_valid") != 1


def test_a_package_in_an_archive(path):
    store = Store(path)
    with zipfile.ZipFile(store.store / "power_audit_r.zip", "w") as archive:
        for file in sorted(store.audit.rglob("*")):
            archive.write(file, file.relative_to(store.audit))
    shutil.rmtree(store.audit)
    assert store.backfill()["outcome"] == "patched"
    assert store.row["total_gpu_energy_j"] == 36000.0
    assert store.backfill()["outcome"] == "unchanged"


def test_no_file_of_the_package_changes(path):
    store = Store(path)
    before = {file: file.read_bytes() for file in store.native.rglob("*") if file.is_file()}
    store.aggregate.unlink()
    store.aggregate.symlink_to(store.native / "node-0" / "manifest.json")
    assert store.backfill()["outcome"] in ("not_writable", "failed")
    assert before == {file: file.read_bytes() for file in store.native.rglob("*") if file.is_file()}


if __name__ == "__main__":
    sys.exit(run_tests(globals(), str))
