#!/usr/bin/env python3
"""Runs `aggregate-power synthesize --package`, and judges what it wrote with `multinode`.

Four GPUs on two nodes draw 500, 501, 502 and 503 W for 60 s: 2006 W together, 120360 J; 40 requests,
327680 tokens in and 40960 out.

usage: tests/multinode/synthesize_package_test.py [TEST...]   with $AGGREGATE_POWER (default:
build/aggregate-power)
"""
import csv
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import PROGRAM, run_tests  # noqa: E402  (beside the folders that share it)

LOAD = ["--gpus", "4", "--gpu-offset", "1", "--phase", "5:100", "--phase", "60:500", "--phase",
        "5:100", "--requests", "40", "--input-tokens", "327680", "--output-tokens", "40960"]
FILES = ["--out", "LOGS", "--bench-out", "run.json", "--agg-out", "agg_run.json"]
HEADERS = {1: "schema_version,timestamp_unix,scrape_seq,hostname,gpu_index,gpu_uuid,power_w"}
HEADERS[2] = HEADERS[1] + ",gpu_util_pct,sm_active"
HEADERS[3] = HEADERS[2] + ",temperature_c"
POWER = {"dcgm": ("DCGM_FI_DEV_POWER_USAGE", "gpu_device_board_as_reported_by_dcgm"),
         "amd": ("gpu_power_usage", "gpu_device_power_as_reported_by_amd_device_metrics_exporter")}


def call(folder, *arguments, **variables):
    done = subprocess.run([PROGRAM, *map(str, arguments)], cwd=folder, capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "TZ": "America/New_York"} | variables)
    return done


def synthesize(folder, *options):
    done = call(folder, "synthesize", *LOAD, *FILES, *options)
    assert done.returncode == 0 and not done.stderr, done.stderr


def judge(folder, *options, contract="october"):
    pin = (folder / "LOGS/power/power-producer-sha.txt").read_text().strip()
    return call(folder, "multinode", "--power-dir", "LOGS/power", "--logs-root", "LOGS",
                "--expected-producer-sha", pin, "--bench-result", "run.json", "--agg-result",
                "agg_run.json", "--require-power", "--compat", contract, *options)


def judge_native(folder, *options):
    return call(folder, "multinode", "--power-dir", "LOGS/native_power", "--bench-result",
                "run.json", "--agg-result", "agg_run.json", "--require-power", *options)


def energies(folder):
    aggregate = json.loads((folder / "agg_run.json").read_text())
    return {key: value for key, value in aggregate.items()
            if key.endswith(("_j", "_w", "token", "query"))}


def is_as_computed(folder, **roles):
    found = energies(folder)
    expected = {"avg_power_w": 501.5, "avg_total_gpu_power_w": 2006.0,
                "total_gpu_energy_j": 120360.0, "joules_per_successful_query": 3009.0,
                "joules_per_output_token": 2.938477}  # 120360 / 40960
    for key, value in (expected | roles).items():
        assert found[key] == value, (key, found)
    has_roles = any(key.startswith(("prefill", "decode")) for key in found)
    assert has_roles == bool(roles), found


def test_every_version_of_every_exporter_is_valid(path):
    for version in (1, 2, 3):
        for exporter in ("dcgm", "amd", "custom"):
            with tempfile.TemporaryDirectory(dir=path) as name:
                folder = pathlib.Path(name)
                synthesize(folder, "--package", f"v{version}", "--exporter", exporter)
                power = folder / "LOGS" / "power"
                samples = (power / "samples.csv").read_bytes()
                assert samples.split(b"\r\n")[0].decode() == HEADERS[version]
                manifest = json.loads((power / "manifest.json").read_text())
                assert manifest["producer"] == "srt-slurm.dcgm-power"
                named = (manifest["source_metric"], manifest["power_scope"])
                assert named == POWER.get(exporter, named)
                assert manifest["samples_sha256"] == hashlib.sha256(samples).hexdigest()
                done = judge(folder, "--aggregate-gpus", "4")
                assert done.returncode == 0, (version, exporter, done.stderr)
                is_as_computed(folder)


def test_august_takes_what_it_knows(path):
    for version in (1, 2):
        with tempfile.TemporaryDirectory(dir=path) as name:
            folder = pathlib.Path(name)
            synthesize(folder, "--package", f"v{version}")
            done = judge(folder, "--aggregate-gpus", "4", contract="august")
            assert done.returncode == 0, done.stderr
            is_as_computed(folder)


def test_nodes_prefill_and_decode(path):
    synthesize(path, "--package", "v3", "--prefill-nodes", "1")
    done = judge(path, "--prefill-gpus", "2", "--decode-gpus", "2")
    assert done.returncode == 0, done.stderr
    is_as_computed(path, prefill_gpu_energy_j=60060.0, decode_gpu_energy_j=60300.0,
                   prefill_avg_power_w=500.5, decode_avg_power_w=502.5)
    [window] = (path / "LOGS/power/windows").iterdir()
    assert window.name == "results_concurrency_64_gpus_4_ctx_2_gen_2.json"


def test_noise_and_many_nodes_stay_consistent(path):
    done = call(path, "synthesize", "--package", "v3", "--exporter", "amd", "--nodes", "12",
                "--gpus", "48", "--prefill-nodes", "4", "--phase", "10:90", "--phase", "30:700",
                "--phase", "10:90", "--noise", "20", "--jitter", "0.2", "--interval", "0.5",
                "--start", "1800000000.25", *FILES)
    assert done.returncode == 0, done.stderr
    done = judge(path, "--prefill-gpus", "16", "--decode-gpus", "32")
    assert done.returncode == 0, done.stderr
    assert abs(energies(path)["avg_power_w"] - 700) < 20
    with (path / "LOGS/power/samples.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 48 * 101 and {row["temperature_c"] for row in rows} == {"60.0"}


def test_a_changed_sample_is_noticed(path):
    synthesize(path, "--package", "v3")
    samples = path / "LOGS/power/samples.csv"
    samples.write_bytes(samples.read_bytes().replace(b",500.0,", b",900.0,", 1))
    done = judge(path, "--aggregate-gpus", "4")
    assert done.returncode == 1 and "package_recompute_invalid" in done.stderr, done.stderr


def test_native_packages(path):
    for schema, vendor in (("nvidia-smi", "nvidia"), ("amd-smi", "amd")):
        with tempfile.TemporaryDirectory(dir=path) as name:
            folder = pathlib.Path(name)
            synthesize(folder, "--package", "native", "--schema", schema, "--prefill-nodes", "1")
            manifest = json.loads((folder / "LOGS/native_power/node-1/manifest.json").read_text())
            assert (manifest["vendor"], manifest["role"]) == (vendor, "decode")
            done = judge_native(folder, "--prefill-gpus", "2", "--decode-gpus", "2")
            assert done.returncode == 0, done.stderr
            is_as_computed(folder, prefill_gpu_energy_j=60060.0, decode_gpu_energy_j=60300.0)


def test_a_native_package_that_the_environment_hands_over(path):
    synthesize(path, "--package", "native", "--prefill-nodes", "0")
    done = call(path, "--bench-result", "run.json", "--agg-result", "agg_run.json",
                "--expected-num-gpus", "4", "--require-power", POWER_ARTIFACT_DIR="LOGS/native_power")
    assert done.returncode == 0, done.stderr
    is_as_computed(path)


def test_native_packages_with_faults(path):
    for fault, status in (("gap@30", 1), ("na@30", 1), ("garbage-time@30", 1), ("crlf", 0),
                          ("torn-tail", 0), ("repeated-header@30", 0)):
        with tempfile.TemporaryDirectory(dir=path) as name:
            folder = pathlib.Path(name)
            synthesize(folder, "--package", "native", "--fault", fault)
            done = judge_native(folder, "--aggregate-gpus", "4")
            assert done.returncode == status, (fault, done.stderr)


def test_what_cannot_be_written_is_refused(path):
    cases = [
        (["--package", "v4"], "v1, v2, v3 or native"),
        (["--exporter", "amd"], "--package"),
        (["--package", "native", "--exporter", "amd"], "--exporter"),
        (["--package", "native", "--schema", "generic"], "--schema"),
        (["--package", "v3", "--schema", "amd-smi"], "--schema"),
        (["--package", "v3", "--fault", "gap"], "--fault"),
        (["--package", "v3", "--timezone", "UTC"], "--timezone"),
        (["--package", "v3", "--nodes", "3"], "--gpus"),
        (["--package", "v3", "--prefill-nodes", "2"], "--prefill-nodes"),
        (["--package", "v3", "--interval", "4"], "do not cover|apart"),
        (["--package", "v3", "--benchmark-phase", "1", "--jitter", "0.4"], "do not cover"),
        (["--package", "v3", "--out", "-"], "--out"),
        (["--package", "v3", "--phase", "1e300:100"], "--phase"),
        (["--phase", "1e10:100"], "--phase"),
        (["--package", "v3", "--bench-out", "LOGS/power/samples.csv"], "--bench-out"),
    ]
    for options, said in cases:
        done = call(path, "synthesize", *LOAD, *FILES, *options)
        assert done.returncode == 2, (options, done)
        assert any(text in done.stderr for text in said.split("|")), (options, done.stderr)
        assert not list(path.iterdir()), (options, list(path.iterdir()))


def test_an_existing_package_is_left_alone(path):
    synthesize(path, "--package", "v3")
    before = (path / "LOGS/power/samples.csv").read_bytes()
    for package in ("v1", "native"):
        done = call(path, "synthesize", *LOAD, *FILES, "--package", package)
        assert done.returncode == 2 and "exists already" in done.stderr, done.stderr
    assert (path / "LOGS/power/samples.csv").read_bytes() == before
    assert not (path / "LOGS/native_power").exists()


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
