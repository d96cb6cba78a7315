#!/usr/bin/env python3
"""Runs `aggregate-power multinode` on recordings of several hosts; numbers are worked out by hand.

Unless a test says otherwise, hosts a and b have GPUs 0 and 1 that draw 100, 200 W and 300, 400 W all
the time, sampled each second, and the window is 100 s long: 100,000 J in all, 30,000 of them on a.

usage: tests/multinode/hosts_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import csv
import datetime
import gzip
import json
import os
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import running  # noqa: E402
from running import PROGRAM, ROOT, run_tests, same  # noqa: E402

START = 1_800_000_000
LENGTH = 100
WATTS = {"a": {"0": 100, "1": 200}, "b": {"0": 300, "1": 400}}
RUN = {"benchmark_start_time_unix": START, "benchmark_end_time_unix": START + LENGTH, "duration": LENGTH,
       "completed": 50, "total_input_tokens": 3000, "total_output_tokens": 700}
SEVEN = ["avg_power_w", "avg_total_gpu_power_w", "total_gpu_energy_j", "joules_per_successful_query",
         "joules_per_input_token", "joules_per_output_token", "joules_per_total_token"]
SIX = ["prefill_gpu_energy_j", "prefill_avg_power_w", "prefill_joules_per_input_token",
       "decode_gpu_energy_j", "decode_avg_power_w", "decode_joules_per_output_token"]
ROLES = ["--role", "prefill=a:0-1", "--role", "decode=b"]


def rows(watts, first=START - 5, last=START + LENGTH + 5, step=1):
    """A recording of GPUs that draw so many watts, or what a function of the time says."""
    lines = ["timestamp,index,power.draw [W]"]
    for second in range(first, last + 1, step):
        for gpu, draw in watts.items():
            lines.append(f"{second},{gpu},{draw(second) if callable(draw) else draw}")
    return "\n".join(lines) + "\n"


def load(idle, busy, late=0):
    """Idle, but for the window; `late` is how far the clock is ahead."""
    return lambda second: busy if START <= second - late < START + LENGTH else idle


class Folder(running.Folder):
    """A run's files, and what the program made of them."""

    def __init__(self, path, **texts):
        self.path = pathlib.Path(path)
        self.write("run.json", json.dumps(RUN))
        self.write("agg_run.json", json.dumps({"hw": "h100", "tp": 4}, indent=2))
        for host, watts in WATTS.items():
            self.write(f"{host}.csv", texts.get(host, rows(watts)))

    def call(self, *options, environment=None, aggregate="agg_run.json"):
        done = subprocess.run([PROGRAM, "multinode", *options, "--bench-result", "run.json",
                               "--agg-result", aggregate], cwd=self.path, capture_output=True,
                              env={"PATH": os.environ["PATH"], "TZ": "UTC", **(environment or {})})
        self.status = done.returncode
        self.out = done.stdout.decode(errors="replace")
        self.err = done.stderr.decode(errors="replace")
        return self

    def hosts(self, *options, **keywords):
        return self.call("--host", "a=a.csv", "--host", "b=b.csv", *options, **keywords)

    @property
    def aggregate(self):
        return self.json("agg_run.json")

    @property
    def record(self):
        return self.json("power_validation_run.json")

    def files(self):
        return {str(p.relative_to(self.path)): p.read_bytes() for p in self.path.rglob("*") if p.is_file()}


def is_in(part, text):
    assert part in text, f"expected {part!r} in\n    {text!r}"


def not_valid(folder, *reasons, detail=""):
    """Not valid for these reasons; nothing but the verdict is published."""
    same(list(reasons), folder.record["reasons"], folder.err)
    same(False, folder.record["power_valid"])
    same({}, folder.record["metrics"])
    same({"hw": "h100", "tp": 4, "power_metric_schema_version": 2, "power_valid": 0}, folder.aggregate)
    same(0, folder.status)
    same("", folder.out)
    is_in(f"power not valid: {reasons[0]}", folder.err)
    is_in(detail, folder.err)


# ---- What a good run gives


def test_whole_and_roles(folder):
    folder.hosts(*ROLES)
    same((0, ""), (folder.status, folder.err))
    aggregate = folder.aggregate
    same(["hw", "tp", "power_metric_schema_version", "power_valid", *SEVEN, *SIX], list(aggregate))
    same([250.0, 1000.0, 100000.0, 2000.0, 33.333333, 142.857143, 27.027027,
          30000.0, 150.0, 10.0, 70000.0, 350.0, 100.0], [aggregate[key] for key in SEVEN + SIX])
    same("aggregate-power: avg_power_w=250.00 total_gpu_energy_j=100000.00 prefill_gpu_energy_j=30000.00 "
         "decode_gpu_energy_j=70000.00 (n=4) -> agg_run.json\n", folder.out)
    record = folder.record
    same({key: aggregate[key] for key in SEVEN + SIX}, record["metrics"])
    same({"a/0": "prefill", "a/1": "prefill", "b/0": "decode", "b/1": "decode"}, record["per_gpu_role"])
    same({"a/0": 10000.0, "a/1": 20000.0, "b/0": 30000.0, "b/1": 40000.0}, record["per_gpu_energy_j"])
    same({gpu: 1.0 for gpu in record["per_gpu_energy_j"]}, record["per_gpu_max_sample_gap_s"])
    same({gpu: 107 for gpu in record["per_gpu_energy_j"]}, record["per_gpu_sample_counts"])
    same("a=a.csv,b=b.csv", record["telemetry_source"])
    same((4, None, [], {}), (record["observed_gpu_count"], record["expected_gpu_count"],
                             record["failures"], record["device_issues"]))
    same("computed_from", list(record)[-1])
    host = record["computed_from"]["hosts"]["b"]
    same(("b.csv", None, 0.0, "nvidia-smi", "index", "UTC", "stamps"),
         tuple(host[key] for key in ("telemetry", "identity", "clock_offset_s", "schema", "device_column",
                                     "timezone", "timezone_source")))


def test_conservation(folder):
    """The roles make up the whole, and tokens of both kinds the tokens."""
    shares = {"a": {"0": 101.7, "1": 77.3}, "b": {"0": 512.9, "1": 333.1}}
    for host, watts in shares.items():
        folder.write(f"{host}.csv", rows({gpu: lambda t, w=w: w + t % 7 for gpu, w in watts.items()}))
    metrics = folder.hosts("--role", "prefill=a:0,b:1", "--role", "decode=a:1,b:0").record["metrics"]
    roles = metrics["prefill_gpu_energy_j"] + metrics["decode_gpu_energy_j"]
    assert abs(roles - metrics["total_gpu_energy_j"]) < 2e-6, metrics
    inverse = 1 / metrics["joules_per_input_token"] + 1 / metrics["joules_per_output_token"]
    assert abs(inverse * metrics["joules_per_total_token"] - 1) < 1e-6, metrics


def test_one_whole_deployment(folder):
    folder.write("agg_run.json", json.dumps({"hw": "h100", "tp": 4, "prefill_avg_power_w": 7}))
    folder.hosts("--expected-num-gpus", "4")
    same(["hw", "tp", "power_metric_schema_version", "power_valid", *SEVEN], list(folder.aggregate))
    same({"agg"}, set(folder.record["per_gpu_role"].values()))
    same(4, folder.record["expected_gpu_count"])
    is_in("avg_power_w=250.00 total_gpu_energy_j=100000.00 (n=4)", folder.out)


def test_role_agg_adds_no_keys(folder):
    folder.hosts("--role", "agg=a,b")
    same(["hw", "tp", "power_metric_schema_version", "power_valid", *SEVEN], list(folder.aggregate))


def test_one_role_alone(folder):
    folder.hosts("--role", "decode=a,b:0-1")
    same([*SEVEN, *SIX[3:]], list(folder.record["metrics"]))
    same(100000.0, folder.aggregate["decode_gpu_energy_j"])


def test_extended(folder):
    # GPU 0 of a climbs from 100 to 300 W, b has one of 400 W: together 500 to 700 W in a straight
    # line, though b's clock is 0.5 s behind. 75 % of the time it is at most 650 W, 90 % at most 680.
    climbing = rows({"0": lambda second: 100 + 2 * (second - START)})
    folder.write("a.csv", climbing)
    folder.write("b.csv", rows({"0": 400}).replace(",0,400", ".5,0,400"))
    roles = ["--role", "prefill=a", "--role", "decode=b", "--clock-offset", "b=0.5"]
    same(0, folder.hosts(*roles, "--extended", "--require-power", "--expected-num-gpus", "2").status)
    found = folder.aggregate
    # As per_gpu_sample_counts: from 3 s before the window until 3 s after it, twice.
    same([650.0, 325.0, 680.0, 340.0],
         [found[f"p{p}_{key}"] for p in (75, 90) for key in ("total_gpu_power_w", "power_w")])
    same({"window_start_unix": START, "window_end_unix": START + LENGTH, "expected_gpu_count": 2,
          "observed_gpu_count": 2, "sample_count": 214, "max_sample_gap_s": 1.0,
          "source": "power_validation_run.json", "observed_gpu_ids": ["a/0", "b/0"]}, found["power_audit"])
    same([{"role": "prefill", "worker_idx": 0, "num_gpus": 1, "avg_power_w": 200.0, "hosts": ["a"]},
          {"role": "decode", "worker_idx": 0, "num_gpus": 1, "avg_power_w": 400.0, "hosts": ["b"]}],
         found["workers"])
    same(650.0, folder.record["metrics"]["p75_total_gpu_power_w"])
    same("time_weighted_synchronized_total_piecewise_linear", folder.record["power_percentile_method"])
    # A plain run takes away what it left.
    same(0, folder.hosts(*roles, "--require-power").status)
    same(["hw", "tp", "power_metric_schema_version", "power_valid", *SEVEN, *SIX], list(folder.aggregate))


def test_extended_reasons(folder):
    folder.write("b.csv", rows(WATTS["b"], last=START + 50))
    same(0, folder.hosts("--extended").status)
    same(["benchmark_window_not_bracketed"], folder.aggregate["power_invalid_reasons"])
    same(2, folder.aggregate["power_audit"]["observed_gpu_count"] - 2)
    assert "workers" not in folder.aggregate


def test_again_nothing_is_touched(folder):
    folder.hosts(*ROLES)
    before = {p: p.stat().st_mtime_ns for p in folder.path.iterdir()}
    folder.hosts(*ROLES)
    same(before, {p: p.stat().st_mtime_ns for p in folder.path.iterdir()})


def test_rows_in_any_order(folder):
    head, *body = rows(WATTS["b"]).splitlines()
    folder.write("b.csv", "\n".join([head, *reversed(body)]))
    same(100000.0, folder.hosts().aggregate["total_gpu_energy_j"])


def test_a_host_column_of_one_host_is_no_part_of_the_name(folder):
    lines = rows(WATTS["a"]).splitlines()
    folder.write("a.csv", "\n".join(["timestamp,hostname,index,power.draw [W]"] +
                                    [line.replace(",", ",gpu-node-7,", 1) for line in lines[1:]]))
    same(30000.0, folder.hosts(*ROLES).aggregate["prefill_gpu_energy_j"])


def test_the_example(folder):
    """A real run on two nodes; the energy by a sum of trapezoids made here."""
    source = ROOT / "testdata" / "nodes"
    for path in source.rglob("*"):
        if path.is_file():
            folder.write(str(path.relative_to(source)), path.read_bytes())
            if path.suffix == ".csv":
                folder.write(f"nodes/{path.relative_to(source)}", path.read_bytes())
    folder.call("--nodes", "nodes", "--role", "prefill=node0", "--role", "decode=node1")
    run = json.loads((source / "run.json").read_text())
    start, end = run["benchmark_start_time_unix"], run["benchmark_end_time_unix"]
    energy = {}
    for node in ("node0", "node1"):
        samples = {}
        with open(source / node / "gpu_metrics.csv", newline="") as file:
            for row in csv.DictReader(file):
                samples.setdefault(row["gpu"], []).append((float(row["timestamp"]), float(row["power_w"])))
        for gpu, series in samples.items():
            for (t0, w0), (t1, w1) in zip(series, series[1:]):
                a, b = max(t0, start), min(t1, end)
                if a < b:
                    middle = w0 + ((a + b) / 2 - t0) / (t1 - t0) * (w1 - w0)
                    energy[node] = energy.get(node, 0) + (b - a) * middle
    for node, role in (("node0", "prefill"), ("node1", "decode")):
        assert abs(folder.aggregate[f"{role}_gpu_energy_j"] - energy[node]) < 0.0006, (energy, folder.aggregate)
    same(16, folder.record["observed_gpu_count"])


def test_many_hosts_are_as_one_file_of_them_all(folder):
    """The same readings in one file with a column for the host, as a run on one node."""
    generator = random.Random(9)
    table = ["timestamp,hostname,index,power.draw [W]"]
    options = []
    for host in ("n0", "n1", "n2", "n3"):
        lines = ["timestamp,index,power.draw [W]"]
        for second in range(-4, LENGTH + 5):
            for gpu in range(3):
                stamp = START + second + generator.randint(0, 900) / 1000
                draw = generator.randint(0, 90000) / 100
                lines.append(f"{stamp:.3f},{gpu},{draw}")
                table.append(f"{stamp:.3f},{host},{gpu},{draw}")
        folder.write(f"{host}.csv", "\n".join(lines))
        options += ["--host", f"{host}={host}.csv"]
    folder.write("all.csv", "\n".join(table))
    folder.call(*options)
    many, gaps = folder.record["per_gpu_energy_j"], folder.record["per_gpu_max_sample_gap_s"]
    metrics = folder.aggregate
    subprocess.run([PROGRAM, "--csv", "all.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
                    "--expected-num-gpus", "12"], cwd=folder.path, check=True, capture_output=True)
    same((many, gaps), (folder.record["per_gpu_energy_j"], folder.record["per_gpu_max_sample_gap_s"]))
    same([metrics[key] for key in SEVEN], [folder.aggregate[key] for key in SEVEN])


# ---- Folders


def nodes(folder, **names):
    for host, name in {"a": "gpu_metrics.csv", "b": "gpu_metrics.csv", **names}.items():
        folder.write(f"nodes/{host}/{name}", (folder.path / f"{host}.csv").read_bytes())
    return folder


def test_a_folder_for_each_host(folder):
    nodes(folder).call("--nodes", "nodes/", *ROLES)
    same((30000.0, 70000.0), (folder.aggregate["prefill_gpu_energy_j"], folder.aggregate["decode_gpu_energy_j"]))
    same("nodes", folder.record["telemetry_source"])
    same("nodes/a/gpu_metrics.csv", folder.record["computed_from"]["hosts"]["a"]["telemetry"])


def test_the_only_csv_and_a_compressed_one(folder):
    nodes(folder, a="power.csv")
    for beside in ("power_energy_start.csv", "power_identity.csv", "notes.txt"):
        folder.write(f"nodes/a/{beside}", "index,uuid\n0,U0\n1,U1\n")
    (folder.path / "nodes/b/gpu_metrics.csv").unlink()
    folder.write("nodes/b/gpu_metrics.csv.gz", gzip.compress(rows(WATTS["b"]).encode()))
    folder.call("--nodes", "nodes", *ROLES)
    same(70000.0, folder.aggregate["decode_gpu_energy_j"])
    same(["a/U0", "a/U1", "b/0", "b/1"], list(folder.record["per_gpu_role"]))


def test_several_csvs(folder):
    nodes(folder, a="one.csv").write("nodes/a/two.csv", rows(WATTS["a"]))
    folder.call("--nodes", "nodes")
    not_valid(folder, "telemetry_file_missing",
              detail="a: nodes/a contains several CSV files: one.csv, two.csv; name the recording gpu_metrics.csv")


def test_a_folder_without_a_recording(folder):
    (nodes(folder).path / "nodes/c").mkdir()
    (folder.path / "nodes/.cache").mkdir()
    folder.call("--nodes", "nodes")
    not_valid(folder, "telemetry_file_missing", detail="(c: nodes/c/gpu_metrics.csv)")


def test_links_to_folders_are_hosts(folder):
    nodes(folder)
    (folder.path / "nodes/b").rename(folder.path / "elsewhere")
    (folder.path / "nodes/b").symlink_to("../elsewhere")
    same(100000.0, folder.call("--nodes", "nodes").aggregate["total_gpu_energy_j"])


def test_no_hosts(folder):
    (folder.path / "empty").mkdir()
    folder.call("--nodes", "empty", *ROLES)
    not_valid(folder, "telemetry_file_missing", detail="empty does not contain a folder of a host")
    folder.call("--nodes", "absent")
    not_valid(folder, "telemetry_file_missing", detail="absent: cannot list: No such file or directory")


def test_hosts_are_sorted_by_name(folder):
    for name in ("10", "9", "node"):
        folder.write(f"nodes/{name}/gpu_metrics.csv", rows({"0": 1000}))
    folder.call("--nodes", "nodes")
    same(["9/0", "10/0", "node/0"], list(folder.record["per_gpu_energy_j"]))


# ---- What voids a run


def test_each_fault_of_one_host_voids_the_run(folder):
    late = rows({"0": 300}) + "".join(rows({"1": 400}, first=START + 2).splitlines(True)[1:])
    gap = [line for line in rows(WATTS["b"]).splitlines(True) if not line.startswith(
        tuple(f"{START + second},1," for second in range(50, 54)))]
    once = [line for line in rows(WATTS["b"]).splitlines(True) if ",1," not in line or line.startswith(f"{START},1")]
    faults = {
        "telemetry_file_missing": (None, "b: b.csv"),
        "telemetry_file_empty": ("", "b: b.csv"),
        "timestamp_column_missing": ("index,power.draw [W]\n0,1\n", "b"),
        "power_column_missing": ("timestamp,index\n1,1\n", "b"),
        "gpu_identity_column_missing": ("timestamp,power.draw [W]\n1800000000,1\n", "b"),
        "invalid_timestamp_sample": (rows(WATTS["b"]) + "yesterday,0,300\n", "b: 1 of 223 rows"),
        "invalid_power_sample": (rows(WATTS["b"]) + f"{START},0,broken\n", "b: the first at"),
        "gpu_identity_missing": (rows(WATTS["b"]) + f"{START},,300\n", "b"),
        "no_usable_power_samples": (rows(WATTS["b"], first=START - 90, last=START - 50),
                                    "b: the recording goes from"),
        "insufficient_power_samples": ("".join(once), "b: GPU 1: 1 sample"),
        "benchmark_window_not_bracketed": (late, "b: GPU 1: first sample 2.000 s after the start"),
        "sampling_gap_exceeded": ("".join(gap), "b: GPU 1: 5.000 s, at most 3 s"),
        "telemetry_file_unreadable": (rows(WATTS["b"]) + '1,"' + "x" * 200000, "b: b.csv"),
    }
    expands_to_nothing = ("telemetry_file_empty", (gzip.compress(b""), "b: b.csv"))
    for reason, (text, detail) in [*faults.items(), expands_to_nothing]:
        folder.write("agg_run.json", json.dumps({"hw": "h100", "tp": 4}, indent=2))
        (folder.path / "b.csv").unlink(missing_ok=True)
        if text is not None:
            folder.write("b.csv", text)
        folder.hosts(*ROLES)
        not_valid(folder, reason, detail=f"{reason} ({detail}")
        record = folder.record
        same(([], [reason]), (record["hosts"]["a"]["reasons"], record["hosts"]["b"]["reasons"]))
        same(1, len(record["failures"]))
        is_in(f"b: {reason}", record["failures"][0])
        same(10000.0, record["per_gpu_energy_j"]["a/0"])
        same(1, folder.hosts(*ROLES, "--require-power").status)
        same(1, folder.hosts(*ROLES, environment={"REQUIRE_POWER": "yes"}).status)


def test_reasons_are_in_order(folder):
    """Benchmark first, then the hosts as they were given, then what concerns all."""
    folder.write("run.json", json.dumps({**RUN, "completed": 0, "duration": 200}))
    folder.write("a.csv", rows(WATTS["a"]) + "yesterday,0,300\n")
    folder.write("b.csv", rows(WATTS["b"], last=START + 50))
    folder.write("a_identity.csv", "nothing\n")
    folder.call("--host", "b=b.csv", "--host", "a=a.csv", "--expected-num-gpus", "5", "--role", "agg=a")
    same(["benchmark_duration_mismatch", "invalid_successful_query_count", "benchmark_window_not_bracketed",
          "invalid_timestamp_sample", "gpu_identity_unreadable", "expected_gpu_count_mismatch",
          "topology_env_mismatch"], folder.record["reasons"])
    same(["b: benchmark_window_not_bracketed", "a: invalid_timestamp_sample", "a: gpu_identity_unreadable"],
         [": ".join(failure.split(": ")[:2]) for failure in folder.record["failures"][:3]])
    same(["benchmark_duration_mismatch", "invalid_successful_query_count", "expected_gpu_count_mismatch",
          "topology_env_mismatch"], [failure.split(": ")[0] for failure in folder.record["failures"][3:]])
    is_in("4 seen on 2 hosts, 5 expected", folder.record["failures"][5])
    same({"b/0": ["benchmark_window_not_bracketed"], "b/1": ["benchmark_window_not_bracketed"]},
         folder.record["device_issues"])


def test_without_a_window_nothing_is_read(folder):
    folder.write("run.json", "{")
    folder.call("--host", "a=absent.csv")
    not_valid(folder, "invalid_benchmark_result")
    same(({}, None), (folder.record["hosts"], folder.record["benchmark_window"]))


def test_expected_count_is_of_all_hosts(folder):
    folder.hosts("--expected-num-gpus", "8")
    not_valid(folder, "expected_gpu_count_mismatch", detail="(4 seen on 2 hosts, 8 expected)")
    folder.hosts("--expected-num-gpus", "0")
    not_valid(folder, "invalid_expected_gpu_count")


def test_max_sample_gap(folder):
    folder.write("b.csv", rows(WATTS["b"], step=5))
    not_valid(folder.hosts(), "sampling_gap_exceeded")
    same(100000.0, folder.hosts("--max-sample-gap", "5").aggregate["total_gpu_energy_j"])
    folder.hosts("--max-sample-gap", "nan")
    same(["invalid_max_sample_gap"], folder.record["reasons"])


def test_absurd_watts(folder):
    folder.write("b.csv", rows({"0": "1e308", "1": "1e308"}))
    not_valid(folder.hosts(), "implausible_power", detail="b: GPU 0: a mean of more watts than a number holds")


def test_milliwatts_of_one_host(folder):
    folder.write("b.csv", rows({"0": 300, "1": 400000}).replace("[W]", ""))
    folder.hosts(*ROLES)
    not_valid(folder, "implausible_power", detail="(b: GPU 1: a mean of 400000 W; milliwatts? pass --power-unit mW)")
    same({"b/1": ["implausible_power"]}, folder.record["device_issues"])
    same(([], ["implausible_power"]), tuple(folder.record["hosts"][host]["reasons"] for host in "ab"))
    assert "implausible_watts" not in folder.err, folder.err


def test_aggregate_faults(folder):
    (folder.path / "agg_run.json").unlink()
    folder.hosts()
    same(["aggregate_result_missing"], folder.record["reasons"])
    folder.write("agg_run.json", "[1]")
    folder.hosts()
    same((["aggregate_result_unwritable"], b"[1]"),
         (folder.record["reasons"], (folder.path / "agg_run.json").read_bytes()))


def test_the_record_goes_over_no_input(folder):
    folder.write("b_identity.csv", "index,uuid\n0,U0\n1,U1\n")
    for target in ("b.csv", "b_identity.csv", "run.json", "agg_run.json"):
        before = folder.files()
        folder.hosts("--validation-result", target)
        is_in("validation_result_unwritable", folder.err)
        same(before[target] if target != "agg_run.json" else None,
             folder.files()[target] if target != "agg_run.json" else None)
    same(0, folder.hosts("--validation-result", "new/record.json").status)
    same(True, folder.json("new/record.json")["power_valid"])


def test_no_input_is_the_aggregate(folder):
    files = {"gpu_metrics.csv": rows(WATTS["a"]), "gpu_metrics_context.json": '{"timestamp_timezone": "+00:00"}',
             "gpu_metrics_devices.json": '[{"gpu": 0, "uuid": "U0"}, {"gpu": 1, "uuid": "U1"}]'}
    for name, text in files.items():
        folder.write(f"nodes/a/{name}", text)
    for target in ("run.json", *(f"nodes/a/{name}" for name in files)):
        before = folder.files()
        folder.call("--nodes", "nodes", "--require-power", aggregate=target)
        same(1, folder.status)
        is_in(f"aggregate_result_unwritable ({target}: is an input of this run)", folder.err)
        same(["aggregate_result_unwritable"], folder.record["reasons"])
        after = folder.files()
        same(before[target], after[target], target)


def test_rows_without_power_outside_the_window(folder):
    """They are counted by host and GPU, and change nothing; alone they bracket nothing."""
    folder.write("b_identity.csv", "index,uuid\n0,GPU-b0\n1,GPU-b1\n2,GPU-b2\n")
    end = START + LENGTH
    gone = f"{end}.5,1,0\n{end + 1}.5,2,N/A\n{START - 1}.5,7,-3\n{end + 1}.5,,0\n{end + 2}.5,1,0\n"
    folder.write("b.csv", rows(WATTS["b"]) + gone)
    metrics = folder.hosts(*ROLES, "--expected-num-gpus", "4").record["metrics"]
    same((30000.0, 70000.0), (metrics["prefill_gpu_energy_j"], metrics["decode_gpu_energy_j"]), folder.err)
    same({"b/GPU-b1": 2, "b/GPU-b2": 1, "b/7": 1, "b/unknown": 1}, folder.record["boundary_degenerate_rows"])
    keys = list(folder.record)
    same("boundary_degenerate_rows", keys[keys.index("device_issues") + 1])
    same(4, folder.record["observed_gpu_count"])
    # With --extended too: 1000 W all the time.
    folder.hosts("--extended")
    same((1000.0, {"b/GPU-b1": 2, "b/GPU-b2": 1, "b/7": 1, "b/unknown": 1}),
         (folder.aggregate["p75_total_gpu_power_w"], folder.record["boundary_degenerate_rows"]))
    folder.write("agg_run.json", json.dumps({"hw": "h100", "tp": 4}, indent=2))
    folder.write("b.csv", rows(WATTS["b"], last=end - 1) + gone)
    not_valid(folder.hosts(), "benchmark_window_not_bracketed",
              detail="b: GPU 0: last sample 1.000 s before the end")


def test_rows_without_power_of_a_host_with_a_host_column(folder):
    lines = (rows(WATTS["a"]) + f"{START - 1},1,0\n{START - 1},5,0\n{START - 1},,0\n").splitlines()
    folder.write("a.csv", "\n".join(["timestamp,hostname,index,power.draw [W]"] +
                                    [line.replace(",", ",gpu-node-7,", 1) for line in lines[1:]]) + "\n")
    same({"a/1": 1, "a/5": 1, "a/unknown": 1}, folder.hosts(*ROLES).record["boundary_degenerate_rows"])


# ---- Who the GPUs are


def test_uuids_from_each_kind_of_file(folder):
    folder.write("a_identity.csv", "index, uuid, name\n0, GPU-a0, H100\n1, GPU-a1, H100\n2, [N/A], H100\n")
    for name, text in {
        "b_devices.json": [{"gpu": 0, "uuid": "GPU-b0"}, {"gpu": "1", "uuid": " GPU-b1 "}],
        "b_identity.json": {"gpu_data": [{"gpu": 0, "asic": {"vendor": "AMD", "uuid": "GPU-b0"}},
                                         {"gpu": 1, "board": {"x": [{"uuid": "N/A"}, {"uuid": "GPU-b1"}]}}]},
    }.items():
        folder.write(name, json.dumps(text))
        folder.hosts("--role", "prefill=a:GPU-a0,1", "--role", "decode=b:0,GPU-b1")
        same(30000.0, folder.aggregate["prefill_gpu_energy_j"], folder.err)
        same(["a/GPU-a0", "a/GPU-a1", "b/GPU-b0", "b/GPU-b1"], list(folder.record["per_gpu_energy_j"]))
        same({"0": "GPU-b0", "1": "GPU-b1"}, folder.record["hosts"]["b"]["gpu_uuids"])
        same(name, folder.record["computed_from"]["hosts"]["b"]["identity"])
        (folder.path / name).unlink()
    folder.write("b_identity.json", json.dumps([{"gpu": 0, "asic": {"asic_serial": "0xB0"}},
                                                {"gpu": 1, "asic": {"asic_serial": "0xB1"}}]))
    same(["a/GPU-a0", "a/GPU-a1", "b/0xB0", "b/0xB1"], list(folder.hosts().record["per_gpu_energy_j"]))


def test_a_recording_that_names_uuids(folder):
    folder.write("a.csv", rows({"GPU-x": 100, "GPU-y": 200}).replace("index", "uuid"))
    same({"GPU-x": "GPU-x", "GPU-y": "GPU-y"}, folder.hosts().record["hosts"]["a"]["gpu_uuids"])
    folder.write("a_identity.csv", "index,uuid\n1,GPU-x\n0,GPU-y\n")
    folder.hosts("--role", "prefill=a:1,b:0", "--role", "decode=a:0,b:1")
    same(40000.0, folder.aggregate["prefill_gpu_energy_j"])  # GPU-x and b's 0


def test_a_uuid_twice(folder):
    folder.write("a_identity.csv", "index,uuid\n0,GPU-1\n1,GPU-2\n")
    folder.write("b_identity.csv", "index,uuid\n0,GPU-3\n1,GPU-2\n")
    folder.hosts(*ROLES)
    not_valid(folder, "gpu_uuid_repeated", detail="(a: GPU 1 and b: GPU 1 are both GPU-2)")
    same(["a/0", "a/1", "b/0", "b/1"], list(folder.record["per_gpu_energy_j"]))
    folder.write("b_identity.csv", "index,uuid\n0,GPU-4\n1,GPU-4\n")
    not_valid(folder.hosts(), "gpu_uuid_repeated", detail="(b: GPU 0 and b: GPU 1 are both GPU-4)")


def test_a_file_twice_by_a_hard_link(folder):
    (folder.path / "b.csv").unlink()
    os.link(folder.path / "a.csv", folder.path / "b.csv")
    folder.hosts()
    not_valid(folder, "gpu_uuid_repeated", detail="a and b have the same file")


def test_a_file_twice(folder):
    (folder.path / "link.csv").symlink_to("a.csv")
    folder.call("--host", "a=a.csv", "--host", "b=./link.csv")
    not_valid(folder, "gpu_uuid_repeated", detail="(a and b have the same file)")
    same("a=a.csv,b=link.csv", folder.record["telemetry_source"])


def test_damaged_identities(folder):
    """Cut off and scribbled on: whatever it is then, the run ends with its record."""
    generator = random.Random(4)
    texts = {"a_identity.csv": b"index, uuid\r\n0, GPU-a0\r\n1, GPU-a1\r\n",
             "b_identity.json": b'{"gpu_data": [{"gpu": 0, "asic": {"uuid": "b0"}}, {"gpu": 1, "uuid": "b1"}]}'}
    seen = set()
    for _ in range(300):
        name, text = generator.choice(list(texts.items()))
        damaged = bytearray(text[:generator.randint(0, len(text))] if generator.random() < 0.3 else text)
        for _ in range(generator.randint(0, 3) if damaged else 0):
            damaged[generator.randrange(len(damaged))] = generator.randrange(256)
        folder.write(name, bytes(damaged))
        folder.hosts()
        same(0, folder.status, damaged)
        assert set(folder.record["reasons"]) <= {"gpu_identity_unreadable", "gpu_uuid_repeated"}, damaged
        seen.update(folder.record["reasons"] or ["valid"])
    assert {"gpu_identity_unreadable", "valid"} <= seen, seen


def test_unreadable_identities(folder):
    for name, text, fault in (
            ("b_identity.csv", "", "it names no GPU by index and UUID"),
            ("b_identity.csv", "bus,uuid\n0,GPU-0\n", "its header has no columns index and uuid"),
            ("b_identity.csv", "index,uuid\n0,GPU-0\n", "it does not name GPU 1"),
            ("b_identity.csv", "index,uuid\n0,GPU-0\n1,GPU-1\n1,GPU-2\n", "it gives GPU 1 two UUIDs"),
            ("b_identity.csv", 'index,uuid\n0,"' + "x" * 200000, "a cell of more than 131072 characters"),
            ("b_devices.json", "[1", "it is not JSON"),
            ("b_devices.json", '{"gpu": 0}', "it is not a list of GPUs"),
            ("b_devices.json", '[{"gpu": 0}, 7, [], "x"]', "it names no GPU by index and UUID"),
            ("b_identity.json", "[" * 100000, "it is not JSON"),
            ("b_identity.json", "[" * 5000 + "]" * 5000, "it is not JSON"),  # as deep as no JSON is
    ):
        folder.write(name, text)
        folder.hosts(*ROLES)
        not_valid(folder, "gpu_identity_unreadable", detail=f"(b: {name}: {fault})")
        same(["gpu_identity_unreadable"], folder.record["hosts"]["b"]["reasons"])
        (folder.path / name).unlink()


# ---- Roles


def test_wrong_use(folder):
    """Refused with 2 and a message; no file is touched."""
    two = ["--host", "a=a.csv", "--host", "b=b.csv"]
    before = folder.files()
    for options, message in (
            ([], "give --host HOST=FILE for each host, or --nodes FOLDER"),
            (["--host", "a"], "--host: expected HOST=FILE, with a file after '=', got 'a'"),
            (["--host", "=a.csv"], "--host: expected HOST=FILE, with no ':', ',' or '/' in HOST, got '=a.csv'"),
            (["--host", "a="], "--host: expected HOST=FILE, with a file after '=', got 'a='"),
            (["--host", "a=-"], "--host: expected HOST=FILE, with a file after '=', got 'a=-'"),
            (["--host", "x:y=a.csv"],
             "--host: expected HOST=FILE, with no ':', ',' or '/' in HOST, got 'x:y=a.csv'"),
            (["--host", "a=a.csv", "--host", "a=b.csv"], "--host: 'a' is named twice"),
            (two + ["--nodes", "."], "--host excludes --nodes"),
            (two + ["--role", "a:0"], "--role: expected prefill, decode or agg before '=', got 'a:0'"),
            (two + ["--role", "tail=a"], "--role: expected prefill, decode or agg before '=', got 'tail=a'"),
            (two + ["--role", "prefill="], "--role: unknown host ''; known: a, b in 'prefill='"),
            (two + ["--role", "prefill=c:0"], "--role: unknown host 'c'; known: a, b in 'prefill=c:0'"),
            (two + ["--role", "prefill=a,1"], "--role: unknown host '1'; known: a, b in 'prefill=a,1'"),
            (two + ["--role", "prefill=a:"], "--role: expected a GPU after 'a:' in 'prefill=a:'"),
            (two + ["--role", "prefill=a:1-0"], "--role: expected FIRST-LAST, got '1-0' in 'prefill=a:1-0'"),
            (two + ["--role", "prefill=a:0-3", "--role", "decode=b,a:3"],
             "--role: a:0-3 (prefill) and a:3 (decode) share GPUs"),
            (two + ["--role", "prefill=a", "--role", "prefill=a:7"],
             "--role: a (prefill) and a:7 (prefill) share GPUs"),
            (two + ["--clock-offset", "a"], "--clock-offset: expected HOST=SECONDS, got 'a'"),
            (two + ["--clock-offset", "a=inf"], "--clock-offset: expected HOST=SECONDS, got 'a=inf'"),
            (two + ["--clock-offset", "c=1"], "--clock-offset: unknown host 'c'"),
            (two + ["--clock-offset", "a=1", "--clock-offset", "a=2"], "--clock-offset: 'a' is named twice"),
            (two + ["--timezone", "Nowhere/Town"], "unknown time zone 'Nowhere/Town'"),
            (two + ["--expected-num-gpus", "many"], "expected a whole number, got 'many'"),
            (two + ["--max-sample-gap", "long"], "expected a number of seconds, got 'long'"),
    ):
        folder.call(*options)
        same((2, ""), (folder.status, folder.out), options)
        is_in(message, folder.err)
        same(before, folder.files(), options)


def test_odd_roles(folder):
    """Whatever is written for a role is refused, or does not fit, or fits."""
    generator = random.Random(3)
    seen = set()
    for _ in range(400):
        words = [generator.choice(["prefill", "decode", "=", ",", ":", "-", "a", "b", "0", "1", "0-1",
                                   "99999999999999999999", "a:0-1", "b:", "\u00e4", " "]) for _ in range(6)]
        roles = "".join(["prefill="] + words[:generator.randint(0, 6)])
        folder.hosts("--role", roles, "--role", generator.choice(["decode=b", "decode=a:0", "agg=b:1"]))
        assert folder.status in (0, 2), (roles, folder.status, folder.err)
        if folder.status == 0:
            assert set(folder.record["reasons"]) <= {"topology_env_mismatch"}, roles
            seen.update(folder.record["reasons"] or ["valid"])
    same({"valid", "topology_env_mismatch"}, seen)


def test_roles_and_what_was_recorded(folder):
    for roles, detail in (
            (["prefill=a:0-2", "decode=b"], "(a: no GPU 2)"),
            (["prefill=a:0,5-9,1", "decode=b"], "(a: no GPU 5)"),
            (["prefill=a:0-18446744073709551615", "decode=b"], "(a: no GPU 2)"),
            (["prefill=a", "decode=b:GPU-7"], "(b: no GPU GPU-7)"),
            (["prefill=a", "decode=b:1"], "(b: GPU 0 has no role)"),
            (["prefill=a"], "(b: GPU 0 has no role)"),
    ):
        folder.hosts(*(word for role in roles for word in ("--role", role)))
        not_valid(folder, "topology_env_mismatch", detail=detail)
        same({}, folder.record["per_gpu_role"])
    folder.write("a_identity.csv", "index,uuid\n0,GPU-0\n1,GPU-1\n")
    folder.hosts("--role", "prefill=a:0-1", "--role", "decode=a:GPU-1,b")
    not_valid(folder, "topology_env_mismatch", detail="(a: GPU 1 is named twice)")


def test_a_host_may_be_called_anything(folder):
    """What a folder is called comes back in the record and in no message as it is."""
    names = [b"line\nbreak", b"\x1b[31mred", b"\xff\xfe", b"a,b:c=d", b'"quoted"', "Knoten-\u00e4".encode(), b"-x"]
    nodes = os.fsencode(folder.path / "nodes")
    os.mkdir(nodes)
    for name in names:
        folder.write("x/gpu_metrics.csv", rows({"0": 100}))
        os.rename(folder.path / "x", nodes + b"/" + name)
    folder.call("--nodes", "nodes")
    same((0, 70000.0), (folder.status, folder.aggregate["total_gpu_energy_j"]), folder.err)
    same({'"quoted"/0', "%FF%FE/0", "-x/0", "Knoten-\u00e4/0", "a,b:c=d/0", "line\nbreak/0", "\x1b[31mred/0"},
         set(folder.record["per_gpu_energy_j"]))
    os.remove(nodes + b"/\x1b[31mred/gpu_metrics.csv")
    for options in ([], ["--role", "agg=a"], ["--clock-offset", "\x1b=1"]):
        folder.call("--nodes", "nodes", *options)
        same(2 if options else 0, folder.status)
        same(set(), {c for c in folder.err if c < " "} - {"\n"}, folder.err)


# ---- Clocks


def test_a_clock_offset_is_applied(folder):
    folder.write("a.csv", rows({"0": load(100, 500)}))
    folder.write("b.csv", rows({"0": load(100, 500, late=5)}, first=START, last=START + LENGTH + 10))
    right = folder.hosts("--clock-offset", "b=-5").record
    # 99 s x 500 W, and a second of slope at 300 W on average: the reading at the end is idle.
    same({"a/0": 49800.0, "b/0": 49800.0}, right["per_gpu_energy_j"])
    same((0.0, -5.0), tuple(right["computed_from"]["hosts"][host]["clock_offset_s"] for host in "ab"))
    same("", folder.err)
    same(0.0, right["clock_offset_estimates"]["b"]["offset_s"])


def test_an_offset_is_estimated_and_not_applied(folder):
    folder.write("a.csv", rows({"0": load(100, 500)}, first=START - 20, last=START + LENGTH + 20))
    folder.write("b.csv", rows({"0": load(100, 500, late=5)}, first=START - 20, last=START + LENGTH + 20))
    folder.hosts()
    same({"a/0": 49800.0, "b/0": 48200.0}, folder.record["per_gpu_energy_j"])
    # b: 4 s x 100 W, 1 s of slope at 300 W on average, 95 s x 500 W.
    estimates = folder.record["clock_offset_estimates"]
    same((0.0, -5.0), (estimates["a"]["offset_s"], estimates["b"]["offset_s"]))
    assert estimates["b"]["uncertainty_s"] <= 3, estimates
    is_in("aggregate-power: b: clock_offset: the load starts and ends 5 s later than on a (give or take", folder.err)
    is_in("if its clock is wrong, pass --clock-offset b=-5; if the clock of a is wrong, pass --clock-offset a=5\n", folder.err)
    same(0.0, folder.record["computed_from"]["hosts"]["b"]["clock_offset_s"])
    folder.hosts("--clock-offset", "b=-2")
    same(-3.0, folder.record["clock_offset_estimates"]["b"]["offset_s"])  # what is left of it
    is_in("pass --clock-offset b=-5; if the clock of a is wrong, pass --clock-offset a=3\n", folder.err)
    folder.call("--host", "a=a.csv", "--host", "the b=b.csv")
    is_in("pass --clock-offset 'the b=-5'; if the clock of a is wrong, pass --clock-offset a=5\n", folder.err)


def test_columns_that_no_header_rule_finds_are_named(folder):
    """As the remedy says; for every host."""
    odd = {host: rows(watts).replace("timestamp,index,power.draw [W]", "t,n,p") for host, watts in WATTS.items()}
    for host, text in odd.items():
        folder.write(f"{host}.csv", text)
    is_in("--power-column", folder.hosts().err)
    named = ("--timestamp-column", "t", "--power-column", "p", "--device-column", "n")
    energy = folder.hosts(*named).record["per_gpu_energy_j"]
    same("", folder.err)
    for host, watts in WATTS.items():
        folder.write(f"{host}.csv", rows(watts))
    same(folder.hosts().record["per_gpu_energy_j"], energy)
    folder.call("--power-dir", "none", "--aggregate-gpus", "1", "--power-column", "p")
    same(2, folder.status)
    is_in("--power-column: is for --host or --nodes, not for a dcgm-power package", folder.err)


def test_of_three_hosts_the_one_that_differs_is_named(folder):
    for host, late in (("a", 0), ("b", 5), ("c", 0)):
        folder.write(f"{host}.csv", rows({"0": load(100, 500, late=late)}, first=START - 20, last=START + LENGTH + 20))
    folder.call("--host", "a=a.csv", "--host", "b=b.csv", "--host", "c=c.csv")
    is_in("aggregate-power: b: clock_offset: the load starts and ends 5 s later than on the other hosts", folder.err)
    is_in("pass --clock-offset b=-5\n", folder.err)


def test_a_host_without_the_load_of_the_others_is_told(folder):
    """Its clock may be an hour off, and its recording long enough to hold the window all the same."""
    folder.write("a.csv", rows({"0": load(100, 500)}, first=START - 20, last=START + LENGTH + 20))
    folder.write("b.csv", rows({"0": lambda at: 100.0}, first=START - 20, last=START + LENGTH + 20))
    folder.hosts()
    same(0, folder.aggregate["power_valid"])
    same(["load_outside_window"], folder.record["reasons"])
    is_in("load_outside_window (b: its GPUs draw 100 W each throughout the window, those of the busiest host 498 W: "
          "it was idle, or its clock or its zone is wrong)", folder.err)
    folder.hosts("--accept", "load_outside_window")
    same(1, folder.aggregate["power_valid"])
    same(["load_outside_window"], list(folder.record["accepted_reasons"]))
    same({"a": None, "b": None}, folder.record["clock_offset_estimates"])
    is_in("aggregate-power: b: clock_offset: no load starts or ends within 30 s of the window's start and end, "
          "as it does on other hosts; unless this host was idle, its clock or its zone is wrong\n", folder.err)


def test_no_edge_no_estimate(folder):
    same({"a": None, "b": None}, folder.hosts().record["clock_offset_estimates"])


def test_a_zone_for_each_host(folder):
    """STEM_context.json beside each file; --timezone goes before it."""
    def stamp(second, hours):
        return (datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=second, hours=hours)).strftime(
            "%Y/%m/%d %H:%M:%S")

    for host, hours in (("a", 0), ("b", 9)):
        lines = rows(WATTS[host]).splitlines()
        folder.write(f"{host}.csv", "\n".join([lines[0]] + [
            ",".join([stamp(int(line.split(",")[0]), hours), *line.split(",")[1:]]) for line in lines[1:]]))
        folder.write(f"{host}_context.json", json.dumps({"timestamp_timezone": f"+0{hours}:00"}))
    same(100000.0, folder.hosts().aggregate["total_gpu_energy_j"])
    same(("+09:00", "file"), tuple(folder.record["computed_from"]["hosts"]["b"][key]
                                   for key in ("timezone", "timezone_source")))
    folder.hosts("--timezone", "UTC")
    same(["no_usable_power_samples"], folder.record["reasons"])
    is_in("  b: the recording would cover the window if its timestamps were in +09:00: pass --timezone +09:00, "
          "which applies to all hosts, or write it to b_context.json; or this recording belongs to another run\n", folder.err)


# ---- Dry run


def test_dry_run(folder):
    before = folder.files()
    folder.hosts(*ROLES, "--dry-run")
    same(before, folder.files())
    is_in("agg_run.json: prefill_gpu_energy_j: absent -> 30000.0\n", folder.out)
    is_in("dry run: nothing was written", folder.out)
    same(0, folder.status)
    folder.write("b.csv", "")
    same(1, folder.hosts("--dry-run", "--require-power").status)


# ---- --salvage: contract-october.md 9.3. GPU 0 of b draws 300 W at all times.

def lacking(host, missing=(), blank=(), watts=None):
    """The host's recording without GPU 0 at the seconds in `missing`, and without its power in `blank`."""
    kept = []
    for line in rows(watts or WATTS[host]).splitlines():
        second, gpu, draw = line.split(",")
        after_s = int(second) - START if second.isdigit() else None
        if gpu == "0" and after_s in missing:
            continue
        kept.append(f"{second},{gpu},[N/A]" if gpu == "0" and after_s in blank else line)
    return "\n".join(kept) + "\n"


def salvaged_keys(folder):
    return {key: value for key, value in folder.aggregate.items() if key.startswith("salvaged_")}


def is_salvaged(folder, share, gap_s, joules=100000.0):
    same((False, 0), (folder.record["power_valid"], folder.aggregate["power_valid"]))
    salvage = folder.record["salvage"]
    same((True, share), (salvage["available"], salvage["least_covered_share"]), salvage)
    energy = salvage["total_gpu_energy_j"]
    assert energy["low"] < joules < energy["high"] < 1.25 * joules, energy
    same([gap_s], [gap["duration_s"] for gap in salvage["per_gpu"]["b/0"]["gaps"]])
    same([], salvage["per_gpu"]["a/1"]["gaps"])
    assert abs(salvaged_keys(folder)["salvaged_total_gpu_energy_j"] - joules) < 100, folder.aggregate
    assert not set(SEVEN) & set(folder.aggregate), folder.aggregate
    is_in("salvaged: ", folder.out + folder.err)


def is_not_salvaged(folder, words):
    same(({}, 0), (salvaged_keys(folder), folder.aggregate["power_valid"]))
    is_in(words, folder.err)


def test_salvage_gaps_and_cells(folder):
    folder.write("b.csv", lacking("b", missing=range(31, 36)))
    folder.hosts(*ROLES)
    same(["sampling_gap_exceeded"], folder.record["reasons"])
    assert "salvage" not in folder.record and not salvaged_keys(folder)
    folder.hosts("--salvage", *ROLES)
    is_salvaged(folder, 0.94, 6.0)
    found = salvaged_keys(folder)
    assert abs(found["salvaged_prefill_gpu_energy_j"] - 30000) < 1, found
    assert abs(found["salvaged_decode_joules_per_output_token"] - 100) < 0.1, found
    same(0.0, folder.record["gap_energy_bound_j"]["per_gpu"]["a/0"])
    folder.hosts("--salvage", "--extended")
    is_salvaged(folder, 0.94, 6.0)
    folder.hosts()
    same({}, salvaged_keys(folder), "an earlier run's keys")
    folder.write("b.csv", lacking("b", blank=[50]))
    is_salvaged(folder.hosts("--salvage"), 1.0, 2.0)
    (folder.path / "nodes").mkdir()
    for host in WATTS:
        folder.write(f"nodes/{host}/gpu_metrics.csv", (folder.path / f"{host}.csv").read_bytes())
    is_salvaged(folder.call("--nodes", "nodes", "--salvage"), 1.0, 2.0)
    done = subprocess.run([PROGRAM, "verify", "."], cwd=folder.path, capture_output=True, text=True)
    same(0, done.returncode, done.stdout + done.stderr)


def test_salvage_refuses(folder):
    for words, text in (
            ("89.0 % of the window of GPU b/0 is covered, and 90 % are needed", lacking("b", missing=range(31, 41))),
            ("3 cells of GPU b/0 have no reading, and 2 may be without one", lacking("b", blank=[30, 40, 50])),
            ("benchmark_window_not_bracketed", lacking("b", missing=[*range(31, 36), *range(-5, 1)])),
            ("nothing salvaged: GPU b/0 has no sample", lacking("b", blank=range(-5, 106)))):
        folder.write("b.csv", text)
        is_not_salvaged(folder.hosts("--salvage"), words)
    folder.write("b.csv", lacking("b", missing=range(31, 36)))
    is_not_salvaged(folder.hosts("--salvage", "--expected-num-gpus", "5"), "expected_gpu_count_mismatch")
    folder.write("b.csv", lacking("a", missing=range(31, 36)))
    folder.write("a_identity.csv", "index,uuid\n0,GPU-1\n1,GPU-2\n")
    folder.write("b_identity.csv", "index,uuid\n0,GPU-1\n1,GPU-3\n")
    is_not_salvaged(folder.hosts("--salvage"), "gpu_uuid_repeated")


def test_salvage_of_a_host_that_was_idle(folder):
    """Its gap does not hide that its clock is wrong."""
    folder.write("a.csv", rows({"0": load(90, 600), "1": load(90, 610)}))
    folder.write("b.csv", lacking("b", missing=range(31, 36), watts={"0": 90, "1": 91}))
    folder.hosts("--salvage")
    same(["sampling_gap_exceeded", "load_outside_window"], folder.record["reasons"])
    is_not_salvaged(folder, "it was idle, or its clock")


# ---- 9.7 and 9.8: what the hosts' recordings state

def test_power_limits_and_tokens_per_watt(folder):
    """700 tokens for 100000 J. GPU 1 of a draws 200 W, at its limit; that of b is changed after 50 s."""
    def limited(host, limits):
        lines = rows(WATTS[host]).splitlines()
        named = [f"{line},{limits(line.split(',')) if line[0].isdigit() else 'power.limit [W]'}" for line in lines]
        return "\n".join(named) + "\n"
    folder.write("a.csv", limited("a", lambda cells: 700 if cells[1] == "0" else 205))
    folder.write("b.csv", limited("b", lambda cells: 700 if int(cells[0]) < START + 50 else 600))
    folder.hosts("--extended")
    record = folder.record
    same({"a/0": (700.0, 0.0), "a/1": (205.0, 1.0), "b/0": ([700.0, 600.0], 0.0), "b/1": ([700.0, 600.0], 0.0)},
         {gpu: (one["limit_w"], one["share_at_limit"]) for gpu, one in record["power_limits"].items()})
    is_in("the power limit of GPU b/0 was changed in the window: 700 W, then 600 W", folder.err)
    same((0.007, "gpu"), (record["performance_per_watt"]["gpu"]["output_tokens_per_second_per_watt"],
                            record["performance_per_watt"]["gpu"]["boundary"]))


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
