#!/usr/bin/env python3
"""Runs `aggregate-power multinode` on native packages. Expected values were computed by hand.

Unless a test says otherwise there are two nodes with a GPU each, sampled at the seconds 0 to 4:
uuid-0 prefills with 100 W, uuid-1 decodes with 300 W. The window is from 1 to 3, so that uuid-0 uses
200 J and uuid-1 600 J; 2 requests, 20 input and 10 output tokens.

usage: tests/multinode/native_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import hashlib
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "faults"))
from mutate_test import scribbled  # noqa: E402  (beside the tests that share it)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import PROGRAM, run_tests  # noqa: E402  (beside the folders that share it)

BASE = 1_800_000_000  # 2027-01-15 08:00:00 UTC
RUN = {"benchmark_start_time_unix": BASE + 1, "benchmark_end_time_unix": BASE + 3, "duration": 2,
       "completed": 2, "total_input_tokens": 20, "total_output_tokens": 10}
REVISION = "c0" * 20
BY_ROLE = ["--prefill-gpus", "1", "--decode-gpus", "1"]
TOGETHER = ["--aggregate-gpus", "2"]
STAMPS = [f"2027/01/15 08:00:{second:02}.000" for second in range(5)]
RECORD_KEYS = ["schema_version", "telemetry_kind", "power_valid", "reasons", "benchmark_result",
               "benchmark_result_sha256", "benchmark_window", "expected_gpu_count", "nodes",
               "node_errors", "observed_gpu_count", "per_gpu_role", "per_gpu_sample_counts",
               "boundary_degenerate_rows", "per_gpu_max_sample_gap_s", "per_gpu_energy_j",
               "producer", "integration_method", "metrics", "computed_from"]
MANIFEST_KEYS = ["schema_version", "collector", "vendor", "node", "rank", "role",
                 "selected_gpu_indices", "expected_num_nodes", "job_id", "collector_revision",
                 "clock_source", "clock_synchronized", "clock_observation", "collection_start_unix",
                 "lifecycle", "collection_end_unix", "collector_exit_code"]


class Node:
    """One node's files; what a test does not change is sound."""

    def __init__(self, rank, role, watts):
        self.folder = f"node-{rank}"
        self.manifest = {
            "schema_version": 1, "collector": "inferencex-native-smi", "vendor": "nvidia",
            "node": f"host-{rank}", "rank": rank, "role": role, "selected_gpu_indices": [0],
            "expected_num_nodes": 2, "job_id": "77", "collector_revision": REVISION,
            "clock_source": "utc_ntp", "clock_synchronized": True,
            "clock_observation": {"ntp": "yes"}, "collection_start_unix": BASE,
            "lifecycle": "complete", "collection_end_unix": BASE + 4, "collector_exit_code": 0}
        # Of the two GPUs on each node the run used the first.
        self.before = f"index, uuid\n0, uuid-{rank}\n1, spare-{rank}\n"
        self.after = self.before
        self.cells = {"0": [f"{watts:.2f} W"] * 5, "1": ["9999 W"] * 5}
        self.csv = None

    def recording(self):
        if self.csv is not None:
            return self.csv
        rows = ["timestamp, index, power.draw [W]"]
        for tick, stamp in enumerate(STAMPS):
            rows += [f"{stamp}, {index}, {cells[tick]}" for index, cells in self.cells.items()]
        return "\n".join(rows) + "\n"

    def is_amd(self):
        return isinstance(self.manifest, dict) and self.manifest.get("vendor") == "amd"

    def files(self):
        names = ("gpu_metrics_devices{}.json" if self.is_amd() else "gpu_metrics_identity{}.csv")
        manifest = self.manifest
        return {"manifest.json": manifest if isinstance(manifest, str) else json.dumps(manifest),
                "gpu_metrics.csv": self.recording(), names.format(""): self.before,
                names.format("_end"): self.after}


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


class Run:
    """A package on disk, and what the program made of it."""

    def __init__(self, path, change=None, roles=("prefill", "decode")):
        self.path = pathlib.Path(path)
        self.power = self.path / "LOGS" / "native_power"
        self.nodes = [Node(0, roles[0], 100), Node(1, roles[1], 300)]
        self.result = dict(RUN)
        if change:
            change(self)
        for node in self.nodes:
            for name, content in node.files().items():
                if content is not None:
                    write(self.power / node.folder / name, content)
        write(self.path / "run.json", json.dumps(self.result))
        write(self.path / "agg_run.json", json.dumps({"hw": "h200", "avg_power_w": 5.0,
                                                      "prefill_gpu_energy_j": 6.0}, indent=2))

    def call(self, *options, power="LOGS/native_power", aggregate="agg_run.json", **environment):
        inputs = {path: path.read_bytes() for path in self.power.rglob("*") if path.is_file()}
        done = subprocess.run(
            [PROGRAM, "multinode", "--power-dir", power, "--bench-result", "run.json",
             "--agg-result", aggregate, *(options or BY_ROLE)],
            cwd=self.path, capture_output=True,
            env={"PATH": os.environ["PATH"], "TZ": "America/New_York", **environment})
        self.status = done.returncode
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()
        now = {path: path.read_bytes() for path in self.power.rglob("*") if path.is_file()}
        assert now == inputs, "files of the package changed"
        return self

    @property
    def aggregate(self):
        return json.loads((self.path / "agg_run.json").read_text())

    @property
    def record(self):
        return json.loads((self.path / "power_validation_run.json").read_text())


def run_of(path, change=None, *options, roles=("prefill", "decode"), **keywords):
    return Run(path, change, roles).call(*options, **keywords)


def refused(path, change, codes, *options, **keywords):
    """The run must publish nothing, and give exactly these reasons."""
    with tempfile.TemporaryDirectory(dir=path) as folder:
        run = run_of(folder, change, *options, **keywords)
        record = run.record
        assert record["reasons"] == codes, (record["reasons"], codes, run.err)
        assert record["power_valid"] is False and record["metrics"] == {}, record
        assert run.aggregate == {"hw": "h200", "power_metric_schema_version": 2,
                                 "power_valid": 0}, run.aggregate
        assert run.status == 0 and run.out == "", run.out
        for code in codes:
            assert f"  {code}: " in run.err, run.err  # what to do
        strict = run.call(*(options or BY_ROLE), "--require-power", **keywords)
        assert strict.status == 1
        return record


def manifest(**changes):
    """Changes the manifest of node 1; `...` removes a member."""
    def change(run):
        members = run.nodes[1].manifest | changes
        run.nodes[1].manifest = {key: value for key, value in members.items() if value is not ...}
    return change


# ---- Numbers

def test_energy_of_roles_by_hand(path):
    run = run_of(path)
    assert run.status == 0 and run.err == "", run.err
    # 200 J + 600 J over 2 s and two GPUs
    expected = {"hw": "h200", "avg_power_w": 200.0, "prefill_gpu_energy_j": 200.0,
                "power_metric_schema_version": 2, "power_valid": 1,
                "avg_total_gpu_power_w": 400.0, "total_gpu_energy_j": 800.0,
                "joules_per_successful_query": 400.0, "joules_per_input_token": 40.0,
                "joules_per_output_token": 80.0,
                "joules_per_total_token": 26.666667,  # 800 / 30
                "prefill_avg_power_w": 100.0, "prefill_joules_per_input_token": 10.0,
                "decode_gpu_energy_j": 600.0, "decode_avg_power_w": 300.0,
                "decode_joules_per_output_token": 60.0}
    assert run.aggregate == expected, run.aggregate
    record = run.record
    assert list(record) == RECORD_KEYS, list(record)
    assert record["telemetry_kind"] == "native_multinode_smi"
    assert record["power_valid"] is True and record["reasons"] == []
    assert record["expected_gpu_count"] == record["observed_gpu_count"] == 2
    assert record["per_gpu_role"] == {"uuid-0": "prefill", "uuid-1": "decode"}
    assert record["per_gpu_sample_counts"] == {"uuid-0": 5, "uuid-1": 5}
    assert record["per_gpu_max_sample_gap_s"] == {"uuid-0": 1.0, "uuid-1": 1.0}
    assert record["per_gpu_energy_j"] == {"uuid-0": 200.0, "uuid-1": 600.0}
    assert record["boundary_degenerate_rows"] == {} and record["node_errors"] == []
    assert record["metrics"]["joules_per_total_token"] == 26.666667
    assert record["producer"] == {"name": "inferencex-native-smi", "revisions": [REVISION],
                                  "producer_git_commit": REVISION}
    assert record["benchmark_window"]["integration_duration_s"] == 2.0
    assert "(n=2) -> agg_run.json" in run.out, run.out


def test_record_names_each_node_and_the_digests_of_its_files(path):
    run = run_of(path)
    digest = lambda file: hashlib.sha256(file.read_bytes()).hexdigest()
    assert run.record["benchmark_result_sha256"] == digest(run.path / "run.json")
    for node, written in zip(run.nodes, run.record["nodes"], strict=True):
        folder = run.power / node.folder
        assert list(written) == [*MANIFEST_KEYS, "physical_gpu_ids", "manifest_sha256",
                                 "telemetry_sha256", "identity_sha256", "identity_end_sha256"]
        assert {key: written[key] for key in MANIFEST_KEYS} == node.manifest
        assert written["physical_gpu_ids"] == {"0": f"uuid-{node.manifest['rank']}"}
        assert written["manifest_sha256"] == digest(folder / "manifest.json")
        assert written["telemetry_sha256"] == digest(folder / "gpu_metrics.csv")
        assert written["identity_sha256"] == digest(folder / "gpu_metrics_identity.csv")
        assert written["identity_end_sha256"] == digest(folder / "gpu_metrics_identity_end.csv")


def test_extended_adds_the_percentiles_and_the_audit(path):
    run = run_of(path, None, *BY_ROLE, "--extended")
    aggregate = run.aggregate
    # Both GPUs are steady, so every percentile is the mean.
    for key, watts in {"p75_power_w": 200.0, "p90_power_w": 200.0, "p75_total_gpu_power_w": 400.0,
                       "p90_total_gpu_power_w": 400.0}.items():
        assert abs(aggregate[key] - watts) < 1e-3, (key, aggregate[key])
    assert aggregate["power_audit"]["producer_sha"] == REVISION
    assert aggregate["power_audit"]["observed_gpu_ids"] == ["uuid-0", "uuid-1"]
    assert run.record["power_percentile_method"] == "time_weighted_synchronized_total_piecewise_linear"


def test_aggregates_have_no_roles(path):
    run = run_of(path, None, *TOGETHER, roles=("aggregate", "aggregate"))
    aggregate = run.aggregate
    assert aggregate["power_valid"] == 1 and aggregate["avg_power_w"] == 200.0, run.err
    assert not [key for key in aggregate if key.startswith(("prefill", "decode"))], aggregate
    assert set(run.record["per_gpu_role"].values()) == {"aggregate"}


def test_one_role_may_be_all(path):
    run = run_of(path, None, "--prefill-gpus", "2", "--decode-gpus", "0", roles=("prefill",) * 2)
    assert run.aggregate["prefill_gpu_energy_j"] == 800.0, run.err
    assert not [key for key in run.aggregate if key.startswith("decode")]


def test_amd_devices_at_any_depth(path):
    def change(run):
        for node in run.nodes:
            rank = node.manifest["rank"]
            node.manifest["vendor"] = "amd"
            devices = {"gpu_data": [{"gpu": index, "asic": {"vendor": "AMD"}, "uuid": uuid}
                                    for index, uuid in ((0, f"uuid-{rank}"), (1, f"spare-{rank}"))]}
            node.before = node.after = json.dumps(devices)
            rows = ["timestamp,gpu,socket_power"]
            for tick in range(5):
                rows += [f"{BASE + tick},{gpu},{cells[tick].removesuffix(' W')}"
                         for gpu, cells in node.cells.items()]
            node.csv = "\n".join(rows) + "\n"
    run = run_of(path, change)
    assert run.aggregate["total_gpu_energy_j"] == 800.0, run.err


def test_stamps_without_a_zone_are_utc_whatever_is_beside_them(path):
    def change(run):
        write(run.power / "node-0" / "gpu_metrics_context.json",
              json.dumps({"timestamp_timezone": "+05:00"}))
    run = run_of(path, change, TZ="Asia/Tokyo")
    assert run.aggregate["total_gpu_energy_j"] == 800.0, run.err
    assert run.record["computed_from"]["nodes"]["node-0"]["timezone"] == "UTC"
    assert run.record["computed_from"]["timezone_source"] == "native"


def test_rows_out_of_order_are_sorted(path):
    def change(run):
        lines = run.nodes[0].recording().splitlines()
        run.nodes[0].csv = "\n".join([lines[0], *reversed(lines[1:])]) + "\n"
    assert run_of(path, change).aggregate["total_gpu_energy_j"] == 800.0


def test_a_folder_with_nodes_is_native_under_any_name(path):
    run = Run(path)
    run.power = run.power.rename(run.path / "LOGS" / "power")
    assert run.call(power="LOGS/power").aggregate["total_gpu_energy_j"] == 800.0, run.err
    # A manifest of its own makes it a package of the other kind.
    write(run.power / "manifest.json", "{}")
    run.call(power="LOGS/power", POWER_PRODUCER_SHA="ab")
    assert "telemetry_kind" not in run.record and run.record["power_valid"] is False


def test_august_judges_native_packages_too(path):
    assert run_of(path, None, *BY_ROLE, "--compat", "august").aggregate["power_valid"] == 1


def test_the_metrics_of_native_packages_have_one_order_under_both_contracts(path):
    orders = []
    for contract in ("august", "october"):
        with tempfile.TemporaryDirectory(dir=path) as folder:
            run = run_of(folder, None, *BY_ROLE, "--extended", "--compat", contract)
            orders.append(list(run.record["metrics"]))
    assert orders[0] == orders[1]
    assert orders[0][:2] == ["avg_power_w", "p75_power_w"]


# ---- Gates, each with one change

def test_every_fault_of_a_manifest_has_its_reason(path):
    cases = [
        ({"clock_synchronized": False}, "native_clock_not_synchronized"),
        ({"clock_synchronized": 1}, "native_clock_not_synchronized"),
        ({"clock_source": "local"}, "native_clock_not_synchronized"),
        ({"lifecycle": "collecting"}, "native_collector_incomplete"),
        ({"collector_exit_code": 1}, "native_collector_incomplete"),
        ({"collector_exit_code": ...}, "native_collector_incomplete"),
        ({"collection_end_unix": BASE + 2}, "native_collection_window_mismatch"),
        ({"collection_start_unix": BASE + 1.5}, "native_collection_window_mismatch"),
        ({"collection_start_unix": "0"}, "native_collection_window_mismatch"),
        ({"collection_end_unix": None}, "native_collection_window_mismatch"),
        ({"job_id": "78"}, "native_run_identity_mismatch"),
        ({"collector_revision": "d0" * 20}, "native_run_identity_mismatch"),
        ({"expected_num_nodes": 3}, "native_node_topology_mismatch"),
        ({"node": "host-0"}, "native_node_topology_mismatch"),
        ({"role": "prefill"}, "native_role_gpu_count_mismatch"),
        ({"role": "aggregate"}, "native_role_gpu_count_mismatch"),
    ]
    for changes, code in cases:
        refused(path, manifest(**changes), [code])


def test_a_node_that_cannot_be_read_is_named(path):
    # The other node is sound, but alone; it is half of the GPUs.
    alone = ["native_node_invalid", "native_role_gpu_count_mismatch", "expected_gpu_count_mismatch"]
    not_counted = ["native_node_invalid", "native_node_topology_mismatch", *alone[1:]]
    # Roles are counted from manifests and identities, before a recording is opened.
    recording = ["native_node_invalid", "expected_gpu_count_mismatch"]
    cases = [
        ({"collection_start_unix": 10 ** 310}, alone, "OverflowError", None),
        ({"collection_start_unix": ...}, alone, "KeyError", "'collection_start_unix'"),
        ({"rank": ...}, not_counted, "KeyError", "'rank'"),
        ({"schema_version": 2}, not_counted, "ValueError", "invalid_native_manifest"),
        ({"collector": "dcgm"}, not_counted, "ValueError", "invalid_native_manifest"),
        ({"rank": -1}, not_counted, "ValueError", "invalid_native_manifest"),
        ({"rank": 2}, not_counted, "ValueError", "invalid_native_manifest"),
        ({"rank": True}, not_counted, "ValueError", "invalid_native_manifest"),
        ({"role": "agg"}, not_counted, "ValueError", "invalid_native_manifest"),
        ({"node": ""}, not_counted, "ValueError", "invalid_native_run_identity"),
        ({"job_id": 77}, not_counted, "ValueError", "invalid_native_run_identity"),
        ({"expected_num_nodes": 0}, not_counted, "ValueError", "invalid_native_run_identity"),
        ({"selected_gpu_indices": []}, alone, "ValueError", "invalid_native_gpu_selection"),
        ({"selected_gpu_indices": [0, 0]}, alone, "ValueError", "invalid_native_gpu_selection"),
        ({"selected_gpu_indices": ["0"]}, alone, "ValueError", "invalid_native_gpu_selection"),
        ({"selected_gpu_indices": [7]}, alone, "KeyError", "'7'"),
        ({"vendor": "intel"}, alone, "ValueError", "unsupported_native_vendor"),
    ]
    for changes, codes, kind, detail in cases:
        record = refused(path, manifest(**changes), codes)
        [error] = record["node_errors"]
        assert (error["node"], error["type"]) == ("node-1", kind), error
        assert detail is None or error["detail"] == detail, error
        assert [node["rank"] for node in record["nodes"]] == [0]


def test_faults_of_files(path):
    alone = ["native_node_invalid", "native_role_gpu_count_mismatch", "expected_gpu_count_mismatch"]
    not_counted = ["native_node_invalid", "native_node_topology_mismatch", *alone[1:]]
    # Roles are counted from manifests and identities, before a recording is opened.
    recording = ["native_node_invalid", "expected_gpu_count_mismatch"]

    def set_node(**members):
        def change(run):
            for name, value in members.items():
                setattr(run.nodes[1], name, value)
        return change
    cases = [
        (set_node(manifest="{"), not_counted, "JSONDecodeError", None),
        (set_node(manifest="[]"), not_counted, "ValueError", "invalid_native_manifest"),
        (set_node(before=None), alone, "FileNotFoundError", None),
        (set_node(after=None), alone, "FileNotFoundError", None),
        (set_node(before="index\n0\n"), alone, "ValueError", "invalid_device_identity"),
        (set_node(before="index,uuid\n0,N/A\n"), alone, "ValueError", "invalid_device_identity"),
        (set_node(before="index,uuid\nx,u\n"), alone, "ValueError", "invalid_device_identity"),
        (set_node(before="index,uuid\n0,u\n0,v\n"), alone, "ValueError",
         "duplicate_device_identity"),
        (set_node(before="index,uuid\n0,u\n1,u\n"), alone, "ValueError",
         "duplicate_device_identity"),
        (set_node(before="index,uuid\n"), alone, "ValueError", "device_identity_missing"),
        (set_node(csv="timestamp,index\n1,0\n"), recording, "ValueError",
         "native_telemetry_columns_missing"),
        (set_node(csv="timestamp,power.draw [W]\n1,5\n"), recording, "ValueError",
         "native_telemetry_columns_missing"),
        (set_node(csv=""), recording, "ValueError", "native_telemetry_columns_missing"),
    ]
    for change, codes, kind, detail in cases:
        [error] = refused(path, change, codes)["node_errors"]
        assert error["type"] == kind and detail in (None, error["detail"]), error


def test_a_missing_recording_is_a_fault_of_its_node(path):
    with tempfile.TemporaryDirectory(dir=path) as folder:
        run = Run(folder)
        (run.power / "node-1" / "gpu_metrics.csv").unlink()
        [error] = run.call().record["node_errors"]
        assert error["type"] == "FileNotFoundError" and run.aggregate["power_valid"] == 0
        assert run.record["reasons"] == ["native_node_invalid", "expected_gpu_count_mismatch"]
        assert run.record["per_gpu_role"] == {"uuid-0": "prefill", "uuid-1": "decode"}
        assert run.record["power_percentile_method"].startswith("time_weighted")


def test_revisions_are_sorted(path):
    def others(run):
        for node, revision in zip(run.nodes, ("b" * 40, "a" * 40)):
            node.manifest["collector_revision"] = revision
    record = refused(path, others, ["native_run_identity_mismatch"])
    assert record["producer"]["revisions"] == ["a" * 40, "b" * 40], record["producer"]


def test_gpus_must_stay_the_same(path):
    def changed(run):
        run.nodes[1].after = "index, uuid\n0, uuid-2\n1, spare-1\n"

    def gone(run):
        run.nodes[1].after = "index, uuid\n1, spare-1\n"

    def spare_changed(run):
        run.nodes[1].after = "index, uuid\n0, uuid-1\n1, other\n"
    refused(path, changed, ["native_device_identity_changed"])
    refused(path, gone, ["native_device_identity_changed"])
    assert run_of(path, spare_changed).aggregate["power_valid"] == 1


def test_a_gpu_belongs_to_one_node(path):
    def change(run):
        run.nodes[1].before = run.nodes[1].after = "index, uuid\n0, uuid-0\n1, spare-1\n"
    refused(path, change, ["native_duplicate_physical_gpu", "expected_gpu_count_mismatch"])


def test_rows_of_unknown_gpus(path):
    def known_but_not_selected(run):
        run.nodes[1].csv = run.nodes[1].recording() + "no time, 1, N/A\n"

    def unknown(run):
        run.nodes[1].cells["7"] = ["100 W"] * 5

    def long_after(run):
        run.nodes[1].csv = run.nodes[1].recording() + "2027/01/16 00:00:00.000, 7, 100 W\n"

    def nameless(run):
        run.nodes[1].csv = run.nodes[1].recording() + f"{STAMPS[2]}, , 100 W\n"
    with tempfile.TemporaryDirectory(dir=path) as folder:
        assert run_of(folder, known_but_not_selected).aggregate["total_gpu_energy_j"] == 800.0
    for change in (unknown, long_after, nameless):
        refused(path, change, ["native_unknown_device_index"])


def test_no_nodes_at_all(path):
    codes = ["native_manifests_missing", "native_node_topology_mismatch",
             "native_run_identity_mismatch", "native_role_gpu_count_mismatch",
             "no_usable_power_samples"]

    def change(run):
        run.nodes = []
        run.power.mkdir(parents=True)
    refused(path, change, codes)
    with tempfile.TemporaryDirectory(dir=path) as folder:  # nor a folder
        run = Run(folder, lambda run: setattr(run, "nodes", []))
        assert run.call().record["reasons"] == codes


def test_numbers_that_were_asked_for(path):
    mixed = ["--aggregate-gpus", "2", "--prefill-gpus", "1", "--decode-gpus", "0"]
    refused(path, None, ["native_mixed_aggregate_role_topology", "native_role_gpu_count_mismatch",
                         "expected_gpu_count_mismatch"], *mixed)
    refused(path, None, ["invalid_expected_gpu_count", "native_role_gpu_count_mismatch"],
            "--prefill-gpus", "0", "--decode-gpus", "0")
    refused(path, None, ["native_role_gpu_count_mismatch", "expected_gpu_count_mismatch"],
            "--prefill-gpus", "2", "--decode-gpus", "1")
    refused(path, None, ["native_role_gpu_count_mismatch"], *TOGETHER)


def test_ranks_count_from_zero(path):
    def change(run):
        run.nodes[1].folder = "node-2"
        run.nodes[1].manifest["rank"] = 2
    refused(path, change, ["native_node_topology_mismatch"])


# ---- Rows

def test_rows_without_power(path):
    def outside(run):
        for node, ticks in zip(run.nodes, ((0, 4), (4,))):
            for tick in ticks:
                node.cells["0"][tick] = "[N/A]"
        # Samples further out cover the window.
        for node in run.nodes:
            before = f"2027/01/15 07:59:59.000, 0, {node.cells['0'][2]}"
            after = f"2027/01/15 08:00:05.000, 0, {node.cells['0'][2]}"
            head, *rows = node.recording().splitlines()
            node.csv = "\n".join([head, before, *rows, after]) + "\n"
    run = run_of(path, outside)
    assert run.aggregate["total_gpu_energy_j"] == 800.0, run.err
    assert run.record["boundary_degenerate_rows"] == {"uuid-0": 2, "uuid-1": 1}

    def inside(run):
        run.nodes[0].cells["0"][2] = "N/A"
    refused(path, inside, ["invalid_power_sample"])


def test_faults_of_rows_and_samples(path):
    def bad_stamp(run):
        run.nodes[0].csv = run.nodes[0].recording() + "yesterday, 0, 100 W\n"

    def short(run):
        lines = run.nodes[1].recording().splitlines()
        run.nodes[1].csv = "\n".join(line for line in lines if STAMPS[3] not in line
                                     and STAMPS[4] not in line) + "\n"

    def elsewhere(run):
        run.nodes[1].csv = run.nodes[1].recording().replace("2027/01/15 08", "2027/01/15 09")

    def everywhere(run):
        for node in run.nodes:
            node.csv = node.recording().replace("2027/01/15 08", "2027/01/15 09")
    refused(path, bad_stamp, ["invalid_timestamp_sample"])
    refused(path, short, ["benchmark_window_not_bracketed"])
    refused(path, elsewhere, ["expected_gpu_count_mismatch"])
    refused(path, everywhere, ["no_usable_power_samples"])


def test_gaps(path):
    def change(run):
        run.result = RUN | {"benchmark_start_time_unix": BASE + 4.5,
                            "benchmark_end_time_unix": BASE + 6.5}
        for node in run.nodes:
            node.manifest["collection_end_unix"] = BASE + 60
            power = node.cells["0"][0]
            node.csv = node.recording() + f"2027/01/15 08:00:07.001, 0, {power}\n"
    refused(path, change, ["sampling_gap_exceeded"])  # 3.001 s


def test_faults_of_the_result_come_first(path):
    def change(run):
        run.result = RUN | {"duration": 9, "completed": 0}
        run.nodes[1].manifest["clock_synchronized"] = False
    refused(path, change, ["benchmark_duration_mismatch", "invalid_successful_query_count",
                           "native_clock_not_synchronized"])


def test_a_benchmark_that_failed_is_refused(path):
    def change(run):
        run.result = RUN | {"num_prompts": 100, "completed": 2}
    refused(path, change, ["benchmark_failed"])


def test_without_a_window_the_nodes_are_still_judged(path):
    def change(run):
        run.result = RUN | {"benchmark_end_time_unix": None}
        run.nodes[1].manifest["clock_synchronized"] = False
    record = refused(path, change, ["invalid_benchmark_window", "native_clock_not_synchronized"])
    assert record["benchmark_window"] is None and record["observed_gpu_count"] == 0


def test_impossible_power_is_refused(path):
    def change(run):
        run.nodes[0].cells["0"] = ["100000 W"] * 5  # milliwatts
    refused(path, change, ["implausible_power"])


# ---- Files

def test_damaged_files(path):
    """A file that was cut short may still do; one that was scribbled on is judged without a crash."""
    seed = 20261122
    rng = random.Random(seed)
    for i in range(80):
        with tempfile.TemporaryDirectory(dir=path) as folder:
            run = Run(folder)
            file = rng.choice(sorted((run.power / "node-1").iterdir()))
            data = file.read_bytes()
            is_cut = i % 2 == 0
            file.write_bytes(data[:rng.randrange(len(data))] if is_cut else scribbled(rng, data))
            run.call()
            what = f"seed {seed}, change {i} of {file.name}: {run.err}"
            assert run.status == 0 and "Sanitizer" not in run.err, what
            valid = run.record["power_valid"]
            assert run.aggregate["power_valid"] == int(valid), what
            assert not valid or not is_cut or run.aggregate["total_gpu_energy_j"] == 800.0, what


def test_no_file_of_the_package_is_written(path):
    run = Run(path)
    for aggregate in ("LOGS/native_power/node-0/manifest.json", "LOGS/native_power/agg.json"):
        write(run.path / "LOGS" / "native_power" / "agg.json", "{}")
        run.call(aggregate=aggregate)  # compares the package before and after
        assert run.record["reasons"] == ["aggregate_result_unwritable"], run.record["reasons"]
    record = "LOGS/native_power/node-1/gpu_metrics.csv"
    run.call(*BY_ROLE, "--validation-result", record)
    assert run.aggregate["power_valid"] == 0 and "validation_result_unwritable" in run.err


def test_a_link_into_the_package_does_not_lead_to_damage(path):
    run = Run(path)
    write(run.path / "shared.csv", (run.power / "node-0" / "gpu_metrics.csv").read_text())
    (run.power / "node-0" / "gpu_metrics.csv").unlink()
    (run.power / "node-0" / "gpu_metrics.csv").symlink_to(run.path / "shared.csv")
    before = (run.path / "shared.csv").read_bytes()
    run.call(*BY_ROLE, "--validation-result", "shared.csv")
    assert (run.path / "shared.csv").read_bytes() == before


def test_a_missing_aggregate_has_the_originals_reason(path):
    run = Run(path)
    (run.path / "agg_run.json").unlink()
    run.call()
    assert run.record["reasons"] == ["aggregate_result_unwritable"] and not run.record["metrics"]


def test_options_that_have_no_meaning_are_refused(path):
    run = Run(path)
    for option in (["--expected-producer-sha", "ab"], ["--gap-policy", "consumer"],
                   ["--expected-cpu-source", "acpi"]):
        run.call(*BY_ROLE, *option)
        assert run.status == 2 and "not for a native one" in run.err, run.err
        assert not (run.path / "power_validation_run.json").exists()


# ---- --salvage: contract-october.md 9.3. 100 W and 300 W for 60 s are 6000 J and 18000 J.

def of_a_minute(missing=(), blank=(), folder=1):
    """The load goes from 5 to 65; node 1 has no rows, or no power, at these seconds."""
    def change(run):
        run.result |= {"benchmark_start_time_unix": BASE + 5, "benchmark_end_time_unix": BASE + 65, "duration": 60}
        for node, watts in zip(run.nodes, (100, 300)):
            node.manifest["collection_end_unix"] = BASE + 70
            rows = ["timestamp, index, power.draw [W]"]
            for at in range(71):
                is_node = node is run.nodes[folder]
                if is_node and at in missing:
                    continue
                power = "[N/A]" if is_node and at in blank else f"{watts:.2f} W"
                rows.append(f"2027/01/15 08:{at // 60:02}:{at % 60:02}.000, 0, {power}")
            node.csv = "\n".join(rows) + "\n"
    return change


def salvaged_keys(run):
    return {key: value for key, value in run.aggregate.items() if key.startswith("salvaged_")}


def is_salvaged(run, share, gap_s):
    assert run.record["power_valid"] is False and run.record["metrics"] == {}, run.record
    salvage = run.record["salvage"]
    assert salvage["available"] and salvage["least_covered_share"] == share, salvage
    energy = salvage["total_gpu_energy_j"]
    assert energy["low"] < 24000 < energy["high"] < 30000, energy
    assert [gap["duration_s"] for gap in salvage["per_gpu"]["uuid-1"]["gaps"]] == [gap_s], salvage
    found = salvaged_keys(run)
    assert abs(found["salvaged_total_gpu_energy_j"] - 24000) < 10, found
    assert abs(found["salvaged_prefill_gpu_energy_j"] - 6000) < 5, found
    assert abs(found["salvaged_decode_avg_power_w"] - 300) < 0.2, found
    assert "salvaged: " in run.out + run.err, run.err


def test_salvage(folder):
    folder = pathlib.Path(folder)
    run = Run(folder / "gap", of_a_minute(missing=range(31, 34)))
    run.call()
    assert run.record["reasons"] == ["sampling_gap_exceeded"] and "salvage" not in run.record, run.record
    assert not salvaged_keys(run)
    is_salvaged(run.call(*BY_ROLE, "--salvage"), round(1 - 4 / 60, 6), 4.0)
    assert run.record["gap_energy_bound_j"]["per_gpu"]["uuid-0"] == 0, run.record
    is_salvaged(run.call(*BY_ROLE, "--salvage", "--extended"), round(1 - 4 / 60, 6), 4.0)
    assert not salvaged_keys(run.call()), "an earlier run's keys"
    is_salvaged(run_of(folder / "cell", of_a_minute(blank=[30]), *BY_ROLE, "--salvage"), 1.0, 2.0)
    strict = run.call(*BY_ROLE, "--salvage", "--require-power")
    assert strict.status == 1, strict.err


def test_salvage_refuses(folder):
    folder = pathlib.Path(folder)
    for name, change, words in (
            ("a long gap", of_a_minute(missing=range(31, 37)), "88.3 % of the window of GPU uuid-1"),
            ("three cells", of_a_minute(blank=[20, 30, 40]), "3 cells of GPU uuid-1 have no reading"),
            ("an edge", of_a_minute(missing=[*range(31, 34), *range(65, 71)]), "benchmark_window_not_bracketed"),
            ("no reading", of_a_minute(blank=range(71)), "expected_gpu_count_mismatch")):
        run = run_of(folder / name, change, *BY_ROLE, "--salvage")
        assert not salvaged_keys(run) and words in run.err, (name, run.err)

    def unsynchronized(run):
        of_a_minute(missing=range(31, 34))(run)
        run.nodes[0].manifest["clock_synchronized"] = False
    run = run_of(folder / "clock", unsynchronized, *BY_ROLE, "--salvage")
    assert not salvaged_keys(run), run.aggregate


def test_a_node_with_an_accepted_reason_is_not_left_out(folder):
    """4000 W, more than a GPU draws, and 300 W for 60 s: 258000 J."""
    def impossible(missing):
        def change(run):
            of_a_minute(missing)(run)
            run.nodes[0].csv = run.nodes[0].csv.replace(" 100.00 W", " 4000.00 W")
        return change
    accepted = [*BY_ROLE, "--accept", "implausible_power"]
    run = run_of(pathlib.Path(folder) / "gap", impossible(range(31, 34)), *accepted, "--salvage")
    assert run.record["reasons"] == ["sampling_gap_exceeded"], run.record["reasons"]
    assert set(run.record["salvage"]["per_gpu"]) == {"uuid-0", "uuid-1"}, run.record["salvage"]
    assert abs(salvaged_keys(run)["salvaged_total_gpu_energy_j"] - 258000) < 500, run.aggregate
    run = run_of(pathlib.Path(folder) / "whole", impossible(()), *accepted, "--uncertainty")
    assert run.aggregate["total_gpu_energy_j"] == 258000, run.err
    energy = run.record["uncertainty"]["total_gpu_energy_j"]
    assert energy["low"] < 258000 < energy["high"], energy


def test_identity_files_name_their_columns_in_the_originals_ways(folder):
    """Names in any case; an index goes before a gpu."""
    def of_csv(text):
        def change(run):
            for rank, node in enumerate(run.nodes):
                node.before = node.after = text.format(rank=rank)
        return change

    def of_json(make):
        def change(run):
            for rank, node in enumerate(run.nodes):
                node.manifest["vendor"] = "amd"
                node.before = node.after = json.dumps(make(rank))
        return change
    for name, change in (
            ("gpu", of_csv("gpu, uuid\n0, uuid-{rank}\n1, spare-{rank}\n")),
            ("both", of_csv("GPU, Index, UUID\n7, 0, uuid-{rank}\n8, 1, spare-{rank}\n")),
            ("upper", of_json(lambda rank: [{"GPU": 0, "UUID": f"uuid-{rank}"}, {"Gpu": 1, "uuid": f"spare-{rank}"}])),
            ("index", of_json(lambda rank: {"gpu": 7, "index": 0, "uuid": f"uuid-{rank}"}))):
        run = run_of(pathlib.Path(folder) / name, change)
        if name == "index":  # the second GPU is not in it
            assert run.record["reasons"] == ["native_unknown_device_index"], run.record["reasons"]
        else:
            assert run.aggregate["total_gpu_energy_j"] == 800.0, (name, run.err)


def test_power_limits_and_tokens_per_watt(folder):
    """10 tokens for 800 J."""
    def change(run):
        for node, limit in zip(run.nodes, (700, 310)):
            head, *rows = node.recording().splitlines()
            node.csv = "\n".join([head + ", power.limit [W]", *(f"{row}, {limit}.00 W" for row in rows)]) + "\n"
    run = run_of(folder, change, *BY_ROLE, "--extended")
    limits = {gpu: (one["limit_w"], one["share_at_limit"]) for gpu, one in run.record["power_limits"].items()}
    assert limits == {"uuid-0": (700.0, 0.0), "uuid-1": (310.0, 1.0)}, limits
    assert run.record["performance_per_watt"]["gpu"]["output_tokens_per_second_per_watt"] == 0.0125, run.record


if __name__ == "__main__":
    sys.exit(run_tests(globals(), str))
