#!/usr/bin/env python3
"""Checks 'aggregate-power agentic': contract.md D, and where we go further.

A result folder that is right comes first; every other test tampers with one thing in it. Energies are
worked out by hand: two GPUs draw 400 W and 600 W for all of a window of 3 s.

usage: tests/agentic/agentic_test.py [NAME...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import PROGRAM, run_tests  # noqa: E402  (beside the folders that share it)

START = 1_700_000_021  # 2023-11-14T22:13:41Z
WINDOW = ["benchmark_start_time_unix", "benchmark_end_time_unix", "duration", "completed",
          "total_input_tokens", "total_output_tokens"]
BY_GPU = ["observed_gpu_count", "observed_gpu_ids", "per_gpu_sample_counts", "per_gpu_max_sample_gap_s",
          "per_gpu_energy_j", "device_issues", "boundary_degenerate_rows"]
METRICS = {"avg_power_w": 500.0, "avg_total_gpu_power_w": 1000.0, "total_gpu_energy_j": 3000.0,
           "joules_per_successful_query": 1500.0, "joules_per_input_token": 10.0,
           "joules_per_output_token": 20.0, "joules_per_total_token": 6.666667}


def record(start_s, end_s, input_tokens=100, output_tokens=50, **others):
    """A request in flight from and to so many seconds behind START."""
    metadata = {"session_num": 0, "request_start_ns": int((START + start_s) * 10**9), "request_ack_ns": None,
                "request_end_ns": int((START + end_s) * 10**9), "benchmark_phase": "profiling",
                "was_cancelled": False, **others.pop("metadata", {})}
    metrics = {"input_sequence_length": {"value": input_tokens, "unit": "tokens"},
               "output_sequence_length": {"value": output_tokens, "unit": "tokens"},
               "inter_chunk_latency": {"value": [4.9, 5.3], "unit": "ms"}}
    return {"metadata": metadata, "metrics": metrics, "error": None, **others}


def failed(start_s, end_s, error=None, **others):
    error = error or {"code": 499, "type": "RequestCancellationError", "message": "was cancelled"}
    return record(start_s, end_s, error=error, **others) | {"metrics": {"error_isl": {"value": 9, "unit": "tokens"}}}


class Run:
    """A result folder as AIPerf and the recorder leave it, in a fresh folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.chmod(0o755)
        self.results = self.folder / "results"
        self.profile = self.results / "aiperf_artifacts"
        self.profile.mkdir(parents=True)
        self.times("2023-11-14T22:13:41+00:00", "2023-11-14T22:13:44+00:00")
        self.records(record(0, 1), record(1, 3, 200, 100))
        self.power()
        self.aggregate = self.folder / "run.json"
        self.aggregate.write_text('{"hw": "h200", "power_valid": 1, "avg_power_w": 999}\n')
        self.result = None

    def times(self, start, end):
        self.summary(json.dumps({"request_count": {"unit": "requests", "avg": 2.0}, "was_cancelled": False,
                                 "start_time": start, "end_time": end, "input_config": {"start_time": 1}}))

    def summary(self, text):
        (self.profile / "profile_export_aiperf.json").write_text(text)

    def records(self, *records):
        self.lines("".join(json.dumps(one) + "\n" for one in records).encode())

    def lines(self, data):
        (self.profile / "profile_export.jsonl").write_bytes(data)

    def power(self, watts=(400, 600), seconds=range(-2, 7)):
        rows = ["timestamp, index, power.draw [W]"]
        for second in seconds:
            rows += [f"{START + second}, {gpu}, {power} W" for gpu, power in enumerate(watts)]
        (self.results / "gpu_metrics.csv").write_text("\n".join(rows) + "\n")

    def offset(self, text):
        (self.results / "agentic_power_timezone_offset.txt").write_text(text)

    def do(self, *options, gpus="2", program=(), **variables):
        expected = ["--expected-num-gpus", gpus] if gpus else []
        self.result = subprocess.run(
            [*program, PROGRAM, "agentic", "--result-dir", "results", "--agg-result", "run.json", *expected, *options],
            cwd=self.folder, capture_output=True, text=True, timeout=60,
            env={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "TZ": "UTC", **variables})
        return self

    def json(self, name):
        return json.loads((self.folder / name).read_text())

    def audit(self):
        return self.json("results/power_validation.json")

    def window(self):
        return self.json("results/agentic_power_window.json")

    def files(self):
        return {str(path.relative_to(self.folder)): (path.read_bytes(), path.stat().st_ino, path.stat().st_mtime_ns)
                for path in sorted(self.folder.rglob("*")) if path.is_file()}


class Fault(Exception):
    pass


def same(what, wanted, found):
    if wanted != found:
        raise Fault(f"{what}: expected\n    {wanted}\n  got\n    {found}")


def expect_valid(run, metrics=None):
    same("exit status and standard error", (0, ""), (run.result.returncode, run.result.stderr))
    audit = run.audit()
    same("the verdict", (True, []), (audit["power_valid"], audit["reasons"]))
    same("the metrics", metrics or METRICS, audit["metrics"])
    same("the aggregate", {"hw": "h200", "power_valid": 1, **(metrics or METRICS), "power_metric_schema_version": 2},
         run.json("run.json"))


def expect_reason(run, reason, detail=None, strict=False):
    """The adapter's failure: the aggregate says it, and the record has B.7's shape and one key more."""
    same("exit status", 1 if strict else 0, run.result.returncode)
    same("standard output", "", run.result.stdout)
    message = f"aggregate-power: power not valid: {reason}"
    if detail is not None:
        message += f" ({detail}); see results/power_validation.json\n"
    if not run.result.stderr.startswith(message):
        raise Fault(f"expected {message!r}, got {run.result.stderr!r}")
    audit = run.audit()
    same("the record", {"schema_version": 1, "power_valid": False, "reasons": [reason],
                        "telemetry_source": "results/gpu_metrics.csv",
                        "benchmark_result": "results/agentic_power_window.json", "benchmark_window": None,
                        "integration_method": "per_device_trapezoidal_with_linear_boundary_interpolation",
                        "power_percentile_method": "time_weighted_synchronized_total_piecewise_linear",
                        "expected_gpu_count": 2, **dict(zip(BY_GPU, (0, [], {}, {}, {}, {}, {}))),
                        "accumulator_check": None, "metrics": {}, "window_source": "aiperf_profile_lifecycle"},
         {key: value for key, value in audit.items() if key != "computed_from"})
    same("the record's last keys", ["window_source", "computed_from"], list(audit)[-2:])
    same("the aggregate", {"hw": "h200", "power_valid": 0, "power_metric_schema_version": 2}, run.json("run.json"))


# ---- The folder that is right

def test_a_reason_that_is_accepted(run):
    # 400 W and 600 W for 3 s, and once 9000 W: 8600 J more.
    table = run.results / "gpu_metrics.csv"
    table.write_text(table.read_text().replace(f"{START + 2}, 0, 400 W", f"{START + 2}, 0, 9000 W"))
    run.do()
    same("the reasons", ["implausible_power"], run.audit()["reasons"])
    run.do("--accept", "implausible_power", "--require-power")
    same("exit status", 0, run.result.returncode)
    audit = run.audit()
    same("the reasons", ([], ["implausible_power"]), (audit["reasons"], list(audit["accepted_reasons"])))
    same("the energy", 3000.0 + 8600, run.json("run.json")["total_gpu_energy_j"])


def test_a_valid_run(run):
    run.do("--require-power")
    expect_valid(run)
    same("standard output", "aggregate-power: avg_power_w=500.00 avg_total_gpu_power_w=1000.00 "
         "total_gpu_energy_j=3000.00 (n=2) -> run.json joules_per_output_token=20.0000 joules_per_total_token=6.6667\n", run.result.stdout)
    same("the window, byte for byte", """{
  "benchmark_start_time_unix": 1700000021.0,
  "benchmark_end_time_unix": 1700000024.0,
  "duration": 3.0,
  "completed": 2,
  "total_input_tokens": 300,
  "total_output_tokens": 150
}""", (run.results / "agentic_power_window.json").read_text())
    audit = run.audit()
    same("where the window is from", "aiperf_profile_lifecycle", audit["computed_from"]["window_source"])
    same("at the top, as in the original", False, "window_source" in audit)
    same("failed requests", {"count": 0, "energy_share_j": 0.0,
                             "method": "power_shared_equally_by_requests_in_flight"}, audit["failed_requests"])
    same("the order of keys", ["metrics", "failed_requests", "computed_from"], list(audit)[-3:])
    same("the rest", [2, ["0", "1"], {"0": 9, "1": 9}, {"0": 1.0, "1": 1.0}, {"0": 1200.0, "1": 1800.0}, {}, {}],
         [audit[key] for key in BY_GPU])
    before = run.files()
    expect_valid(run.do("--require-power"))
    same("files of a second run, untouched", before, run.files())


def test_the_window_can_be_a_benchmark_result(run):
    run.do()
    again = subprocess.run([PROGRAM, "--csv", "results/gpu_metrics.csv", "--bench-result",
                            "results/agentic_power_window.json", "--agg-result", "again.json",
                            "--expected-num-gpus", "2", "--validation-result", "again_audit.json"],
                           cwd=run.folder, capture_output=True, text=True)
    same("the reason", True, "aggregate_result_missing" in again.stderr)
    record = run.json("again_audit.json")
    same("energies", run.audit()["per_gpu_energy_j"], record["per_gpu_energy_j"])


def test_a_dry_run_writes_nothing(run):
    before = run.files()
    run.do("--dry-run")
    same("exit status", 0, run.result.returncode)
    same("files", before, run.files())
    lines = run.result.stdout.splitlines()
    same("the first line", "aggregate-power: results/agentic_power_window.json: would be written", lines[0])
    same("the last line", "aggregate-power: dry run: nothing was written", lines[-1])
    same("a change", True, "aggregate-power: run.json: total_gpu_energy_j: absent -> 3000.0" in lines)
    run.do()
    run.do("--dry-run")
    same("once it is there", "aggregate-power: results/agentic_power_window.json: unchanged",
         run.result.stdout.splitlines()[0])
    run.records()
    before = run.files()
    run.do("--dry-run", "--require-power")
    same("of a run without requests", (1, before), (run.result.returncode, run.files()))


def test_extended(run):
    # 400 W and 600 W all the time.
    run.do("--require-power", "--extended")
    same("exit status", 0, run.result.returncode)
    aggregate = json.loads((run.folder / "run.json").read_text())
    same("percentiles", [1000.0, 500.0, 1000.0, 500.0],
         [aggregate[f"p{p}_{key}"] for p in (75, 90) for key in ("total_gpu_power_w", "power_w")])
    same("the record's name", "power_validation.json", aggregate["power_audit"]["source"])
    same("in the record", 1000.0, run.audit()["metrics"]["p75_total_gpu_power_w"])
    expect_valid(run.do("--require-power"))  # which takes them away again


def test_the_expected_count_is_a_choice(run):
    run.do("--require-power", gpus=None)
    expect_valid(run)
    same("expected", None, run.audit()["expected_gpu_count"])
    run.do(gpus="4")
    same("with another", ["expected_gpu_count_mismatch"], run.audit()["reasons"])
    same("the window was there", START, run.audit()["benchmark_window"]["start_time_unix"])
    same("of a run that is not valid", {"count": 0, "energy_share_j": None,
                                        "method": "power_shared_equally_by_requests_in_flight"},
         run.audit()["failed_requests"])
    same("no source at the top", False, "window_source" in run.audit())


def test_the_telemetry_is_judged_as_of_a_single_run(run):
    run.power(seconds=range(-2, 2))
    run.do("--require-power")
    same("exit status", 1, run.result.returncode)
    same("reasons", ["benchmark_window_not_bracketed"], run.audit()["reasons"])
    (run.results / "gpu_metrics.csv").unlink()
    same("without telemetry", ["telemetry_file_missing"], run.do().audit()["reasons"])
    run.power(seconds=(-2, 6))
    same("with a gap", ["sampling_gap_exceeded"], run.do("--max-sample-gap", "7.5").audit()["reasons"])
    expect_valid(run.do("--max-sample-gap", "8"))


def test_required_by_the_environment(run):
    run.records()
    for value, status in (("true", 1), ("Yes", 1), ("1", 1), ("0", 0), ("", 0)):
        same(f"REQUIRE_POWER={value}", status, run.do(REQUIRE_POWER=value).result.returncode)


# ---- Which profile

def test_a_nested_profile(run):
    nested = run.profile / "run-b"
    (run.profile / "run-a").mkdir()  # holds no records
    nested.mkdir()
    for name in ("profile_export.jsonl", "profile_export_aiperf.json"):
        shutil.move(run.profile / name, nested / name)
    expect_valid(run.do())
    later = run.profile / "run-c"
    shutil.copytree(nested, later)
    (later / "profile_export.jsonl").write_text("")
    run.do()
    same("warning", "aggregate-power: results/aiperf_artifacts: the profile is run-b/profile_export.jsonl; "
         "run-c/profile_export.jsonl is ignored\n", run.result.stderr)
    same("metrics", METRICS, run.audit()["metrics"])


def test_the_default_artifact_folder(run):
    # AIPerf names the folder of a run in artifacts by default.
    artifacts = run.results / "artifacts"
    first = artifacts / "llama-openai-chat-concurrency2"
    artifacts.mkdir()
    shutil.move(run.profile, first)
    expect_valid(run.do("--require-power"))
    second = artifacts / "llama-openai-chat-concurrency4"
    shutil.copytree(first, second)
    (run.results / "agentic_power_window.json").unlink()
    names = ["results/artifacts/llama-openai-chat-concurrency2", "results/artifacts/llama-openai-chat-concurrency4"]
    expect_reason(run.do("--require-power"), "profile_artifacts_ambiguous", ", ".join(names), strict=True)
    same("no window", False, (run.results / "agentic_power_window.json").exists())
    for name in names:
        expect_valid(run.do("--artifact-dir", name))
    expect_reason(run.do("--artifact-dir", "results/artifacts"), "profile_artifacts_ambiguous", ", ".join(names))
    before = run.files()
    run.do("--agg-result", names[0] + "/profile_export_aiperf.json")
    same("no profile is patched", before[names[0] + "/profile_export_aiperf.json"],
         run.files()[names[0] + "/profile_export_aiperf.json"])
    shutil.copytree(first, run.profile)
    expect_valid(run.do())  # aiperf_artifacts comes first
    expect_reason(run.do("--artifact-dir", "nowhere"), "profile_artifacts_missing",
                  "nowhere/profile_export_aiperf.json")


def test_a_profile_in_the_result_folder_itself(run):
    for path in list(run.profile.iterdir()):
        shutil.move(path, run.results / path.name)
    expect_valid(run.do("--require-power"))
    run.profile.rmdir()
    expect_valid(run.do("--require-power"))
    other = run.results / "artifacts" / "llama"
    other.mkdir(parents=True)
    shutil.copy(run.results / "profile_export.jsonl", other)
    expect_reason(run.do(), "profile_artifacts_ambiguous", "results/artifacts/llama, results")
    expect_valid(run.do("--artifact-dir", "results"))


def test_the_aggregate_names_the_gpus(run):
    run.aggregate.write_text('{"hw": "h200", "tp": 2}')
    run.do("--require-power", gpus="auto")
    same("exit status", (0, ""), (run.result.returncode, run.result.stderr))
    same("found", (2, "aggregate_result"),
         (run.audit()["expected_gpu_count"], run.audit()["computed_from"]["expected_gpu_count_source"]))
    run.aggregate.write_text('{"tp": 2, "pp": 2}')
    same("more than there are", ["expected_gpu_count_mismatch"], run.do(gpus="auto").audit()["reasons"])
    run.aggregate.write_text('{}')
    same("none", ["invalid_expected_gpu_count"], run.do(gpus="auto").audit()["reasons"])
    same("how many GPUs", True, "neither run.json nor results/aiperf_artifacts/profile_export.jsonl says how many GPUs "
         "the run used" in run.result.stderr)


def test_compressed_files(run):
    for path in (run.profile / "profile_export.jsonl", run.profile / "profile_export_aiperf.json",
                 run.results / "gpu_metrics.csv"):
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    expect_valid(run.do())
    same("the telemetry", "results/gpu_metrics.csv.gz", run.audit()["telemetry_source"])


# ---- What the adapter refuses, in its order

def test_profile_artifacts_missing(run):
    (run.profile / "profile_export_aiperf.json").unlink()
    expect_reason(run.do(), "profile_artifacts_missing", "results/aiperf_artifacts/profile_export_aiperf.json")
    run.times("x", "y")
    (run.profile / "profile_export.jsonl").unlink()
    expect_reason(run.do("--require-power"), "profile_artifacts_missing",
                  "results/aiperf_artifacts/profile_export.jsonl", strict=True)
    shutil.rmtree(run.profile)
    expect_reason(run.do(), "profile_artifacts_missing")
    same("no window", False, (run.results / "agentic_power_window.json").exists())


def test_profile_artifacts_invalid(run):
    good = (run.profile / "profile_export_aiperf.json").read_text()
    for text, detail in (("", ":1:1: expected a value, but the text ends"), ("[]", ": expected a JSON object"),
                         ("null", ": expected a JSON object"), (good[:-1], None)):
        run.summary(text)
        name = "results/aiperf_artifacts/profile_export_aiperf.json"
        expect_reason(run.do(), "profile_artifacts_invalid", detail and name + detail)
    run.summary(good)
    one = json.dumps(record(0, 1)).encode()
    name = "results/aiperf_artifacts/profile_export.jsonl"
    for line, detail in ((b"[1]", "expected a JSON object"), (b"null", "expected a JSON object"),
                         (b'{"metadata": null}', "'metadata' is not an object"),
                         (b'{"metadata": "profiling"}', "'metadata' is not an object"),
                         (b'{"a": "\xff"}', None), (one[:-5], None), (one + one, None), (b"\xef\xbb\xbf" + one, None)):
        run.lines(one + b"\n\n" + line + b"\n")
        expect_reason(run.do(), "profile_artifacts_invalid", detail and f"{name}:3: {detail}")
    run.lines(b'{"metadata": {}, x}\n')
    expect_reason(run.do(), "profile_artifacts_invalid", f"{name}:1:18: expected a key in double quotes after \"metadata\"")
    (run.profile / "profile_export.jsonl").write_bytes(gzip.compress(one)[:-9])
    expect_reason(run.do(), "profile_artifacts_invalid")


def test_profile_window_missing(run):
    for text in ("{}", '{"start_time": 1}', '{"end_time": 1}', '{"start_time": null, "end_time": 1}'):
        run.summary(text)
        missing = "end_time" if "start_time\": 1" in text else "start_time"
        expect_reason(run.do(), "profile_window_missing", f"'{missing}' is missing or null")
    run.records()  # comes behind
    expect_reason(run.do(), "profile_window_missing")


def untimed(*arguments):
    """A request that does not say when it was in flight."""
    return record(*arguments, metadata={"request_start_ns": None, "request_end_ns": None})


def clock(run, hours_east, seconds=range(-2, 7)):
    """The recorder's stamps as a clock so many hours east of UTC shows them."""
    csv = run.results / "gpu_metrics.csv"
    text = csv.read_text()
    for second in seconds:
        text = text.replace(f"{START + second},", f"2023/11/14 {22 + hours_east}:13:{41 + second}.000,")
    csv.write_text(text)


def test_times_without_an_offset(run):
    run.times("2023-11-14T14:13:41", "2023-11-14 14:13:44.000")
    run.records(untimed(0, 1), untimed(1, 3, 200, 100))
    name = "results/agentic_power_timezone_offset.txt"
    expect_reason(run.do(), "profile_timezone_offset_missing", name)
    for text in ("PST", "", "UTC", "0800", "-08", "-8:00", "-08000", "-2400", "-0060", "-08:00:00"):
        run.offset(text)
        expect_reason(run.do(), "profile_timezone_offset_invalid", name)
    for text in ("-0800\n", "-08:00", " \u00a0-0800\r\n"):
        run.offset(text)
        expect_valid(run.do())
    run.offset("-0830")  # half an hour beside the recording
    same("the offset counts", START + 1800, run.do().audit()["benchmark_window"]["start_time_unix"])
    (run.results / "agentic_power_timezone_offset.txt").write_bytes(b"\xff\xfe")
    expect_reason(run.do(), "profile_timezone_offset_invalid", name)


def test_only_times_without_an_offset_need_one(run):
    run.offset("rubbish")
    run.do()
    same("exit status", (0, True), (run.result.returncode, run.audit()["power_valid"]))
    run.records(untimed(0, 1))
    run.times(START, "2023-11-14T22:13:44")
    expect_reason(run.do(), "profile_timezone_offset_invalid")


# ---- Whose clock it is: the requests' epochs say it, START to START + 3 here

def test_the_requests_show_the_profiles_zone(run):
    run.times("2023-11-14T14:13:41", "2023-11-14T14:13:44")  # 8 h west
    expect_valid(run.do())
    same("the window", START, run.window()["benchmark_start_time_unix"])
    run.times("2023-11-15T11:58:41", "2023-11-15T11:58:44")  # 13:45 h east, as on Chatham in summer
    expect_valid(run.do())
    run.records(record(0, 1), record(1, 3, 200, 100), record(-9, -8, metadata={"benchmark_phase": "warmup"}),
                untimed(0, 0, 0, 0))
    expect_valid(run.do(), {**METRICS, "joules_per_successful_query": 1000.0})


def test_the_telemetrys_zone_does_not_move_the_profile(run):
    # AIPerf in a container by UTC, the recorder on a host one hour east.
    run.times("2023-11-14T22:13:41", "2023-11-14T22:13:44")
    clock(run, 1)
    expect_valid(run.do("--timezone", "+01:00"))
    same("the option is the telemetry's", ("+01:00", "option"),
         tuple(run.audit()["computed_from"][key] for key in ("timezone", "timezone_source")))
    run.do("--timezone", "UTC")
    same("another moves the telemetry alone", (START, ["no_usable_power_samples"]),
         (run.window()["benchmark_start_time_unix"], run.audit()["reasons"]))
    advice = run.result.stderr.split("pass ")[1].split(";")[0].split()
    expect_valid(run.do(*advice))  # does not loop


def test_the_telemetrys_zone_by_evidence(run):
    # 60 s of load at 2 x 500 W, by a clock one hour east; AIPerf's is by UTC.
    run.times("2023-11-14T22:13:41", "2023-11-14T22:14:41")
    run.records(record(0, 30), record(1, 59, 200, 100))
    rows = ["timestamp, index, power.draw [W]"]
    for second in range(-60, 120):
        watts = 500 if 0 <= second <= 60 else 100
        minute, rest = divmod(13 * 60 + 41 + second, 60)
        rows += [f"2023/11/14 23:{minute:02}:{rest:02}.000, {gpu}, {watts} W" for gpu in (0, 1)]
    csv = run.results / "gpu_metrics.csv"
    csv.write_text("\n".join(rows) + "\n")
    os.utime(csv, (START + 120, START + 120))  # just after its last sample
    run.do("--timezone", "auto", "--require-power")
    same("exit status", (0, ""), (run.result.returncode, run.result.stderr))
    audit = run.audit()
    same("the energy", 60000.0, audit["metrics"]["total_gpu_energy_j"])
    same("the evidence", ("+01:00", ["edges", "file_time"]),
         (audit["computed_from"]["utc_offset"], audit["computed_from"]["timezone_evidence"]["witnesses"]))
    os.utime(csv, (START + 9000, START + 9000))
    run.do("--timezone", "auto", "--require-power")
    same("one witness", (1, ["timezone_ambiguous"]), (run.result.returncode, run.audit()["reasons"]))


def test_a_captured_offset_that_the_requests_contradict(run):
    run.times("2023-11-14T22:13:41", "2023-11-14T22:13:44")
    clock(run, 1)
    run.offset("+0100\n")
    expect_reason(run.do("--require-power"), "profile_timezone_offset_invalid",
                  "results/agentic_power_timezone_offset.txt says +01:00, but the requests, from 1700000021.000 to "
                  "1700000024.000, are between start_time and end_time under +00:00", strict=True)
    same("no window", False, (run.results / "agentic_power_window.json").exists())
    expect_valid(run.do("--profile-timezone", "UTC"))  # the file is then the recorder's alone
    same("the file's", ("+01:00", "file"),
         tuple(run.audit()["computed_from"][key] for key in ("utc_offset", "timezone_source")))


def test_an_unusable_offset_that_nothing_needs(run):
    run.times("2023-11-14T14:13:41", "2023-11-14T14:13:44")
    run.offset("PST")
    run.do()
    same("a warning", (0, True, True),
         (run.result.returncode, run.audit()["power_valid"], "unknown time zone 'PST'" in run.result.stderr))
    same("the window", START, run.window()["benchmark_start_time_unix"])
    clock(run, -8)  # the recorder's stamps need it
    same("the reason", ["telemetry_file_unreadable"], run.do().audit()["reasons"])
    expect_valid(run.do("--timezone", "-08:00"))


def test_the_profiles_zone_named_by_the_user(run):
    run.times("2023-11-14T23:13:41", "2023-11-14T23:13:44")
    expect_valid(run.do("--profile-timezone", "Europe/Berlin"))
    run.offset("-0800")
    expect_valid(run.do("--profile-timezone", "+01:00"))
    run.do("--profile-timezone", "UTC")
    same("one that the requests contradict", ["profile_timezone_offset_invalid"], run.audit()["reasons"])
    same("which", True, "--profile-timezone says UTC, but the requests" in run.result.stderr)
    run.records(untimed(0, 1), untimed(1, 3, 200, 100))
    expect_valid(run.do("--profile-timezone", "+01:00"))  # where the requests say nothing


def test_requests_that_fit_several_offsets(run):
    # From 221 s before the requests to 976 s after them: 15 minutes less fit too.
    run.times("2023-11-14T22:10:00", "2023-11-14T22:30:00")
    run.do()
    same("reason", ["profile_timezone_offset_missing"], run.audit()["reasons"])
    same("which", True, "are between start_time and end_time under +00:00, +00:15)" in run.result.stderr)
    run.do("--profile-timezone", "UTC")
    same("which one", START - 221, run.window()["benchmark_start_time_unix"])
    run.offset("+0000")
    same("by the file", START - 221, run.do().window()["benchmark_start_time_unix"])
    run.offset("+0800")
    same("not by any", ["profile_timezone_offset_invalid"], run.do().audit()["reasons"])


def test_requests_that_fit_no_offset(run):
    run.times("2023-11-14T22:23:41", "2023-11-14T22:23:44")  # ten minutes late: of another run
    run.do("--require-power")
    same("reason", (1, ["profile_window_invalid"]), (run.result.returncode, run.audit()["reasons"]))
    run.times("2023-11-14T22:14:40", "2023-11-14T22:14:43")  # 59 s late: a worker's clock
    run.do()
    same("but for a minute", START + 59, run.window()["benchmark_start_time_unix"])


def test_the_recorders_stamps_are_in_the_captured_zone_too(run):
    run.times("2023-11-14T14:13:41", "2023-11-14T14:13:44")
    run.offset("-0800")
    clock(run, -8)
    expect_valid(run.do())
    same("its source", ("-0800", "file"), tuple(run.audit()["computed_from"][key] for key in ("timezone", "timezone_source")))


def test_profile_window_invalid(run):
    for start, end, detail in (
            (START + 3, START, "the end is not after the start"), (START, START, "the end is not after the start"),
            (True, START, "'start_time' is true"), (START, [], "'end_time' is []"),
            (START, "", "'end_time' is \"\""), ("yesterday", START, "'start_time' is \"yesterday\""),
            ("2023-11-14T22:13:41z", START + 3, None), ("1700000021", START + 3, None),
            (-1.7976931348623157e308, 1.7976931348623157e308, "the end is not after the start")):
        run.times(start, end)
        expect_reason(run.do(), "profile_window_invalid", detail)
    for text in ('{"start_time": NaN, "end_time": 1}', '{"start_time": 0, "end_time": Infinity}',
                 '{"start_time": 1, "end_time": 1' + "0" * 400 + "}"):
        run.summary(text)
        expect_reason(run.do(), "profile_window_invalid")
    run.records()
    expect_reason(run.do(), "profile_window_invalid")


def test_successful_request_count_invalid(run):
    run.records()
    expect_reason(run.do(), "successful_request_count_invalid", "0 failed")
    run.records(failed(0, 1), failed(0, 1), record(0, 1, metadata={"benchmark_phase": "warmup"}))
    expect_reason(run.do(), "successful_request_count_invalid", "2 failed")


def test_incomplete_token_accounting(run):
    good = record(0, 1)
    for value in (None, -1, "x", "", [], {}, {"unit": "tokens"}, {"value": None}, {"value": float("nan")},
                  {"value": float("inf")}, 10**20, 1e30, "1.5"):
        for key in ("input_sequence_length", "output_sequence_length"):
            run.records(good, {**good, "metrics": {**good["metrics"], key: value}})
            expect_reason(run.do(), "incomplete_token_accounting", "1 of 2 successful requests")
    for metrics in (None, [], "x"):
        run.records(good, {**good, "metrics": metrics})
        expect_reason(run.do(), "incomplete_token_accounting", "1 of 2 successful requests")
    run.records(record(0, 1, 0, 5))
    expect_reason(run.do(), "incomplete_token_accounting", "all inputs are empty")
    run.records(record(0, 1, 5, 0))
    expect_reason(run.do(), "incomplete_token_accounting", "all outputs are empty")
    run.records(record(0, 1, 2**62), record(0, 1, 2**62))  # too many together
    expect_reason(run.do(), "incomplete_token_accounting")


# ---- What it takes

def test_lengths_as_python_reads_them(run):
    good = record(0, 1)
    for value, tokens in ((100.9, 100), ("100", 100), (" 1_0 ", 10), ({"value": "7"}, 7), (True, 1), (-0.5, 0), (0, 0),
                          ({"value": 3e2}, 300), ("\u0663", 3)):
        run.records(good, {**good, "metrics": {**good["metrics"], "input_sequence_length": value}})
        run.do()
        same(f"tokens of {value!r}", 100 + tokens, run.window()["total_input_tokens"])


def test_which_records_count(run):
    good = record(0, 1)
    old = {key: value for key, value in good.items() if key != "error"}
    old["metadata"] = {}
    without = {key: value for key, value in old.items() if key != "metadata"}
    counted = [{**good, "error": error} for error in (None, "", {}, [], 0, 0.0, -0.0, False)]
    counted += [{**good, "metadata": {"benchmark_phase": None}}, old, without]
    dropped = [{**good, "error": error} for error in ("boom", {"a": 1}, [0], 1, -0.5, True, " ")]
    warm_up = [{**good, "metadata": {"benchmark_phase": phase}} for phase in ("warmup", "", "Profiling", 5, True, [])]
    run.records(*counted, *dropped, *warm_up)
    run.do()
    same("the window's counts", {**run.window(), "completed": len(counted), "total_input_tokens": 100 * len(counted),
                                 "total_output_tokens": 50 * len(counted)}, run.window())
    same("failed", len(dropped), run.audit()["failed_requests"]["count"])


def test_lines_end_as_python_ends_them(run):
    one, two = (json.dumps(each).encode() for each in (record(0, 1), record(1, 3, 200, 100)))
    for text in (one + b"\n" + two, one + b"\r\n" + two + b"\r\n", one + b"\r" + two + b"\r", b"\n \n" + one + b"\n\xc2\xa0\n" + two,
                 b"\t" + one + b" \n" + two):
        run.lines(text)
        expect_valid(run.do())


def test_times_in_any_form(run):
    for start in ("2023-11-14T22:13:41Z", "2023-11-14 22:13:41.000+00:00", "20231114T221341Z", "2023-11-15T07:13:41,0+09:00",
                  " 2023-11-14T22:13:41+00:00\n", START, float(START), START * 10**3, START * 10**6, START * 10**9):
        run.times(start, "2023-11-14T22:13:44+00:00")
        expect_valid(run.do())
    run.times(START * 1000 + 500, (START + 2.5) * 1000)
    run.do()
    same("milliseconds", [START + 0.5, START + 2.5, 2.0], [run.window()[key] for key in WINDOW[:3]])
    same("their energy", 2000.0, run.audit()["metrics"]["total_gpu_energy_j"])


# ---- What cannot be written

def test_power_window_unwritable(run):
    window = run.results / "agentic_power_window.json"
    window.mkdir()
    expect_reason(run.do("--require-power"), "power_window_unwritable",
                  "results/agentic_power_window.json: cannot replace: Is a directory", strict=True)
    run.do("--dry-run")
    same("a dry run says so too", True, "power_window_unwritable" in run.result.stderr)
    window.rmdir()
    window.symlink_to("gpu_metrics.csv")
    before = (run.results / "gpu_metrics.csv").read_bytes()
    expect_reason(run.do(), "power_window_unwritable",
                  "results/agentic_power_window.json would overwrite results/gpu_metrics.csv")
    same("the telemetry", before, (run.results / "gpu_metrics.csv").read_bytes())


def test_a_folder_that_cannot_be_written(run):
    run.do()
    run.records(record(0, 3))  # of which nothing gets out
    for path in (run.folder, run.results, run.profile):
        path.chmod(0o555 if path == run.results else 0o777)
    run.aggregate.chmod(0o666)
    before = run.files()
    # To root all folders can be written.
    program = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.getuid() == 0 else []
    run.do("--require-power", program=program)
    run.results.chmod(0o755)
    same("exit status", 1, run.result.returncode)
    same("both reasons", True, "power_window_unwritable (" in run.result.stderr and
         "validation_result_unwritable (" in run.result.stderr)
    same("the aggregate", (0, False), (run.json("run.json")["power_valid"], "avg_power_w" in run.json("run.json")))
    after = run.files()
    del before["run.json"], after["run.json"]
    same("all other files", before, after)


def test_the_aggregate_cannot_be_patched(run):
    for text, reason in (("[1]", "aggregate_result_unwritable"), ("{", "aggregate_result_unwritable"),
                         (None, "aggregate_result_missing")):
        run.aggregate.unlink()
        if text is not None:
            run.aggregate.write_text(text)
        run.do("--require-power")
        same("exit status", 1, run.result.returncode)
        same("reasons", [reason], run.audit()["reasons"])
        same("metrics", {}, run.audit()["metrics"])
        if text is None:
            run.aggregate.touch()
        else:
            same("its bytes", text, run.aggregate.read_text())
    run.records()
    run.aggregate.unlink()
    same("and no request", ["successful_request_count_invalid", "aggregate_result_missing"],
         run.do().audit()["reasons"])


def test_no_input_is_the_aggregate(run):
    (run.results / "gpu_metrics_context.json").write_text('{"timestamp_timezone": "+00:00"}')
    run.lines((json.dumps(record(0, 3)) + "\n").encode())  # one request: one JSON object
    run.do("--require-power")
    same("exit status", 0, run.result.returncode)
    names = ["gpu_metrics_context.json", "agentic_power_window.json", "aiperf_artifacts/profile_export_aiperf.json",
             "aiperf_artifacts/profile_export.jsonl"]
    for tamper in (lambda: None, lambda: (run.results / "gpu_metrics.csv").unlink(), lambda: run.times("x", "y")):
        tamper()
        for name in names:
            before = {path: content for path, (content, *_) in run.files().items()}
            run.do("--require-power", "--agg-result", f"results/{name}")
            after = {path: content for path, (content, *_) in run.files().items()}
            same("exit status", 1, run.result.returncode)
            same(f"results/{name}", before[f"results/{name}"], after[f"results/{name}"])
            same("it is said", True, "is an input of this run" in run.result.stderr or
                 "agentic_power_window.json would overwrite" in run.result.stderr)
            same("the record stays that of the aggregate that was meant", (True, 1),
                 (run.audit()["power_valid"], run.json("run.json")["power_valid"]))


# ---- What failed requests used: 1000 W shared equally by the requests in flight

def among_many(run, *records, at=0):
    """With 60 requests of no length or tokens, so that three failed ones are less than 5 %."""
    run.records(*records, *[record(at, at, 0, 0)] * 60)


def share(run):
    run.do()
    same("the verdict", [], run.audit()["reasons"])
    found = run.audit()["failed_requests"]
    return found["count"], found["energy_share_j"]


def test_failed_requests_share_the_power(run):
    among_many(run, record(0, 3), failed(1, 2))
    same("half of one second", (1, 500.0), share(run))
    same("the energy is that of all", 3000.0, run.audit()["metrics"]["total_gpu_energy_j"])
    same("the count that of successes", 61, run.window()["completed"])
    among_many(run, record(0, 3), failed(0, 3), failed(1, 2))
    same("1/2, 2/3, 1/2", (2, 1666.666667), share(run))
    among_many(run, record(0, 1), failed(1, 2.5), record(2, 3))
    same("alone for 1 s, one of two for 0.5 s", (1, 1250.0), share(run))
    among_many(run, record(0, 3), failed(2, 1e6))
    same("no longer than the window", (1, 500.0), share(run))
    among_many(run, record(0, 3), failed(-1e6, 1), failed(4, 5), failed(-9, -1))
    same("nor before it", (3, 500.0), share(run))
    among_many(run, record(0, 3), failed(1, 1), record(1, 1))
    same("of no length", (1, 0.0), share(run))
    among_many(run, record(0, 3), failed(1, 2), record(0, 3, metadata={"benchmark_phase": "warmup"}))
    same("beside a warm-up that goes on", (1, 333.333333), share(run))


def test_failed_requests_while_the_power_changes(run):
    rows = ["timestamp, index, power.draw [W]"]
    rows += [f"{START + second}, 0, {power} W" for second, power in ((-1, 0), (0, 0), (1, 600), (2, 600), (3, 0), (4, 0))]
    (run.results / "gpu_metrics.csv").write_text("\n".join(rows) + "\n")
    among_many(run, record(0, 3), failed(0.5, 2))
    # From 300 W to 600 W in half a second: 225 J; then 600 J; half of it.
    run.do(gpus="1")
    same("share", 412.5, run.audit()["failed_requests"]["energy_share_j"])


def test_rows_without_power_outside_the_window(run):
    # Rows of 0 W at half a second from either edge would lower the first and the last second.
    among_many(run, record(0, 3), failed(0, 1))
    telemetry = run.results / "gpu_metrics.csv"
    telemetry.write_text(telemetry.read_text() + "".join(
        f"{START + second}, {gpu}, {cell}\n" for second in (-0.5, 3.5) for gpu in (0, 1) for cell in ("0 W", "[N/A]")))
    same("the share of the failed one", (1, 500.0), share(run))
    audit = run.audit()
    same("the energy", 3000.0, audit["metrics"]["total_gpu_energy_j"])
    same("the rows", {"0": 4, "1": 4}, audit["boundary_degenerate_rows"])
    run.power(seconds=range(-2, 3))
    telemetry.write_text(telemetry.read_text() + "".join(f"{START + 4}, {gpu}, 0 W\n" for gpu in (0, 1)))
    run.do()
    same("bracketed by nothing else", ["benchmark_window_not_bracketed"], run.audit()["reasons"])


def test_failed_requests_that_cannot_be_placed(run):
    nowhere = ({"request_start_ns": None}, {"request_end_ns": None}, {"request_start_ns": (START + 9) * 10**9},
               {"request_start_ns": "1"}, {"request_end_ns": 1e18}, {"request_end_ns": 10**30})
    for metadata in nowhere:
        among_many(run, record(0, 3, metadata=metadata), failed(1, 2))
        same(f"with {metadata}", (1, None), share(run))
        among_many(run, record(0, 3, metadata=metadata))
        same("where none failed", (0, 0.0), share(run))
    among_many(run, record(0, 3), failed(1, 2))
    run.power(seconds=range(-2, 2))
    run.do()
    same("of a run that is not valid", (1, None),
         tuple(run.audit()["failed_requests"][key] for key in ("count", "energy_share_j")))


def test_a_window_without_any_request(run):
    among_many(run, record(7200, 7203), failed(7201, 7202), at=7200)
    same("nothing is said of them", (1, None), share(run))
    same("a doubt", True, "the zone of start_time and end_time may be wrong" in run.result.stderr)
    among_many(run, record(7200, 7203), record(1, 2))
    run.do("--require-power")
    same("no doubt", "", run.result.stderr)


def test_more_failed_requests_than_may(run):
    # 3 of 60 are 5 %, 3 of 59 are more.
    good = [record(0, 1)] * 57
    run.records(*good, *[failed(1, 2)] * 3)
    same("5 %", [], run.do().audit()["reasons"])
    run.records(*good[1:], *[failed(1, 2)] * 3)
    run.do("--require-power")
    same("the verdict", (1, ["benchmark_failed"]), (run.result.returncode, run.audit()["reasons"]))
    same("the counts are there", True, "3 of 59 requests failed" in run.result.stderr)
    run.do("--require-power", "--accept", "benchmark_failed")
    same("accepted", (0, []), (run.result.returncode, run.audit()["reasons"]))
    run.records(*good[:1], *[failed(1, 2, metadata={"benchmark_phase": "warmup"})] * 3)
    same("in the warm-up", [], run.do().audit()["reasons"])


def test_requests_that_are_listed_twice(run):
    def named(name, start_s, end_s):
        return record(start_s, end_s, metadata={"x_request_id": name})

    twice = [named("a", 0, 1), named("b", 1, 3)]
    run.records(*twice, *twice)
    run.do()
    same("each once", (2, 200, 100), tuple(run.window()[key] for key in WINDOW[3:]))
    same("a warning", True, "2 requests are listed twice" in run.result.stderr)
    run.records(named("a", 0, 1), named("a", 1, 3), record(1, 3), record(1, 3))
    run.do()
    same("others", (4, ""), (run.window()["completed"], run.result.stderr))


def test_profiles_that_are_there_twice(run):
    """Ten requests on the quarters of a second; those of the copy have other ids, or none has any."""
    def placed(i, name):
        return record(i / 4, i / 4 + 0.25, metadata={"session_num": i, "turn_index": 0, "x_request_id": f"{name}{i}"})

    run.records(*[placed(i, "a") for i in range(10)], *[placed(i, "b") for i in range(10)])
    same("each once", (10, 1000, 500), tuple(run.do().window()[key] for key in WINDOW[3:]))
    moved = [placed(i, "a") for i in range(10)]
    for each in moved:
        each["metadata"]["session_num"] += 10
    run.records(*[placed(i, "a") for i in range(10)], *moved)
    same("with other sessions", (10, 1000, 500), tuple(run.do().window()[key] for key in WINDOW[3:]))
    once = [record(i / 4, i / 4 + 0.25) for i in range(10)]
    run.records(*once)
    same("once", [], run.do().audit()["reasons"])
    run.records(*once, *once)
    same("twice", ["profile_artifacts_invalid"], run.do().audit()["reasons"])
    same("what to do", True, "give a file that lists each request once" in run.result.stderr)


def test_output_tokens_that_contradict_themselves(run):
    """A third of the answers has no token; the server counted five times as many."""
    def usage(i, tokens):
        each = record(i / 4, i / 4 + 0.25, output_tokens=tokens)
        each["metrics"]["usage_completion_tokens"] = {"value": 5 * tokens, "unit": "tokens"}
        return each

    run.records(*[usage(i, 0 if i < 3 else 50) for i in range(9)])
    same("the tokens", 300, run.do().window()["total_output_tokens"])
    for words in ("3 of 9 successful requests have no output tokens",
                  "'output_sequence_length' is 300, and 'usage_completion_tokens' is 1500"):
        same(words, True, words in run.result.stderr)


# ---- Wrong use

def test_wrong_options(run):
    for options in (["--result-dir", "results"], ["--agg-result", "run.json"], []):
        result = subprocess.run([PROGRAM, "agentic", *options], cwd=run.folder, capture_output=True, text=True)
        same(f"exit status with {options}", 2, result.returncode)
    same("a count that is none", 2, run.do(gpus="many").result.returncode)
    same("a zone that is none", 2, run.do("--timezone", "Mars").result.returncode)
    same("the aggregate", 999, run.json("run.json")["avg_power_w"])


def test_requests_that_aiperf_cancelled_itself_do_not_make_a_run_fail(run):
    good = [record(0, 3), record(0, 3, 200, 100)]
    run.records(*good, failed(1, 2, metadata={"was_cancelled": True}))
    run.do("--require-power")
    same("cancelled", (0, 1), (run.result.returncode, run.audit()["failed_requests"]["count"]))
    run.records(*good, failed(1, 2))
    run.do()
    same("failed", ["benchmark_failed"], run.audit()["reasons"])


# ---- contract-october.md 9.5

def test_an_audit_has_the_source_that_is_given(run):
    text = "results/power validation.json"
    run.do("--require-power", "--audit-source", text)
    row = run.json("run.json")
    same("source", text, row["power_audit"]["source"])
    same("reasons", [], row["power_invalid_reasons"])
    same("no percentiles", [], [key for key in row if key.startswith("p75")])
    same("in the record", {"audit_source": text}, run.audit()["computed_from"]["options"])
    verified = subprocess.run([PROGRAM, "verify", "."], cwd=run.folder, capture_output=True, text=True,
                              timeout=60)
    same("verified", 0, verified.returncode)
    run.do("--keys", "agentx-row", "--audit-source", text)
    same("an AgentX row has none", 2, run.result.returncode)
    run.do("--keys", "all", "--audit-source", text)
    same("with all keys", text, run.json("run.json")["power_audit"]["source"])
    run.records()
    run.do("--audit-source", text)
    row = run.json("run.json")
    same("not valid", (text, 0), (row["power_audit"]["source"], row["power_valid"]))
    same("its reasons", run.audit()["reasons"], row["power_invalid_reasons"])
    run.do()
    same("without it", set(), {"power_audit", "power_invalid_reasons"} & set(run.json("run.json")))


def test_an_audit_of_an_aggregate_that_is_missing(run):
    run.aggregate.unlink()
    for more, status in (([], 0), (["--require-power"], 1)):
        run.do("--audit-source", "x", *more)
        same("status", status, run.result.returncode)
        same("message", True, run.result.stderr.startswith("[agentx_power] Audit summary unavailable: "))
        same("no aggregate", False, run.aggregate.exists())


def test_the_record_goes_where_it_is_asked_to(run):
    run.do("--require-power", "--validation-result", "elsewhere/v.json")
    same("status", 0, run.result.returncode)
    same("verdict", True, run.json("elsewhere/v.json")["power_valid"])
    same("not here", False, (run.results / "power_validation.json").exists())
    run.do("--multinode-contract-missing", "--validation-result", "w.json", gpus=None)
    same("without a contract", ["multinode_power_contract_missing"], run.audit()["reasons"])
    same("not there", False, (run.folder / "w.json").exists())


# ---- contract-october.md 9.4

WINDOW_KEYS = ["schema_version", "benchmark_type", "result_path", "concurrency", "benchmark_start_time_unix",
               "benchmark_end_time_unix", "duration", "clock_source", "status", "reason"]
FORMAL = "agentic_power_concurrency_8.json"


class Windows:
    """The folders of a load on several nodes: the results below LOGS, as `run` has them."""

    def __init__(self, run):
        self.run = run
        self.logs = run.folder / "LOGS"
        self.folder = self.logs / "power" / "windows"
        self.folder.mkdir(parents=True)
        self.results = self.logs / "agentic" / "conc_8"
        self.results.parent.mkdir()
        run.results.rename(self.results)
        self.window, self.result = self.folder / FORMAL, self.results / FORMAL

    def write(self, state, *more, concurrency="8", results=None, **variables):
        environment = {"SRT_MEASUREMENT_WINDOW_DIR": str(self.folder), **variables}
        self.done = subprocess.run(
            [PROGRAM, "agentic", "--result-dir", str(results or self.results), "--write-multinode-window", state,
             *(["--concurrency", concurrency] if concurrency else []), *more],
            cwd=self.run.folder, capture_output=True, text=True, timeout=60,
            env={"PATH": "/usr/bin:/bin", "TZ": "UTC", **{k: v for k, v in environment.items() if v is not None}})
        return self.done


def test_a_window_is_written_before_a_load_and_after_it(run):
    windows = Windows(run)
    same("status", (0, "", ""), (windows.write("running").returncode, windows.done.stdout, windows.done.stderr))
    running = json.loads(windows.window.read_text())
    same("members", WINDOW_KEYS, list(running))
    same("status", ("running", None, None, None), tuple(running[key] for key in (
        "status", "benchmark_end_time_unix", "duration", "reason")))
    same("no result", False, windows.result.exists())
    same("status", 0, windows.write("completed", "--require-power").returncode)
    text = windows.window.read_text()
    same("no final newline", False, text.endswith("\n"))
    same("window", {"schema_version": 1, "benchmark_type": "custom", "result_path": f"agentic/conc_8/{FORMAL}",
                    "concurrency": 8, "benchmark_start_time_unix": float(START),
                    "benchmark_end_time_unix": START + 3.0, "duration": 3.0,
                    "clock_source": "head_node_unix_clock", "status": "completed", "reason": None}, json.loads(text))
    same("order", WINDOW_KEYS, list(json.loads(text)))
    same("result", {"max_concurrency": 8, "benchmark_start_time_unix": float(START),
                    "benchmark_end_time_unix": START + 3.0, "duration": 3.0, "completed": 2,
                    "total_input_tokens": 300, "total_output_tokens": 150}, json.loads(windows.result.read_text()))
    same("files", {FORMAL}, {path.name for path in windows.folder.iterdir()})


def test_a_window_needs_its_environment(run):
    windows = Windows(run)
    other = windows.logs / "other"
    (other / "windows").mkdir(parents=True)
    link = windows.logs / "agentic" / "link"
    link.symlink_to(run.folder)
    shallow = pathlib.Path("/windows")
    bad = [{"SRT_MEASUREMENT_WINDOW_DIR": value} for value in (
        None, "", "LOGS/power/windows", str(windows.logs / "power"), str(windows.logs / "none" / "windows"),
        str(shallow))]
    bad += [{"concurrency": value} for value in ("0", "-3")]
    bad += [{"results": value} for value in ("LOGS/agentic/conc_8", windows.logs / "none", run.folder, link)]
    bad += [{"SRT_MEASUREMENT_WINDOW_RESULT_ROOT": value} for value in ("LOGS", str(windows.logs / "no"), str(other))]
    bad += [{"SRT_MEASUREMENT_WINDOW_BENCHMARK_TYPE": "sa-bench"}]
    bad += [{"SRT_MEASUREMENT_WINDOW_CONCURRENCIES": value} for value in ("4 16", "8 8", "08 8", "8,16", "0 8", "8 x")]
    for change in bad:
        for more, status in (([], 0), (["--require-power"], 1)):
            for state in ("running", "completed"):
                done = windows.write(state, *more, **change)
                same(f"status of {change}", status, done.returncode)
                same(f"message of {change}", True, done.stderr.startswith(
                    "[agentx_power] Invalid formal measurement-window contract for multinode AgentX"))
    same("nothing is written", [], [path.name for path in (*windows.folder.iterdir(), *windows.results.glob("agentic_power_c*"))])
    good = {"SRT_MEASUREMENT_WINDOW_RESULT_ROOT": str(run.folder), "SRT_MEASUREMENT_WINDOW_BENCHMARK_TYPE": "custom",
            "SRT_MEASUREMENT_WINDOW_CONCURRENCIES": "4 8 16"}
    same("August's four", 0, windows.write("running", "--require-power", **good).returncode)
    same("the root that is named", f"LOGS/agentic/conc_8/{FORMAL}",
         json.loads(windows.window.read_text())["result_path"])


def test_a_window_needs_a_profile_and_its_options(run):
    windows = Windows(run)
    windows.write("running")
    before = windows.window.read_bytes()
    (windows.results / "aiperf_artifacts" / "profile_export.jsonl").unlink()
    for more, status in (([], 0), (["--require-power"], 1)):
        done = windows.write("completed", *more)
        same("status", status, done.returncode)
        same("message", True, done.stderr.startswith(
            "[agentx_power] Failed to complete formal measurement-window contract: profile_artifacts_missing"))
    same("a running window stays", before, windows.window.read_bytes())
    same("no concurrency", 2, windows.write("running", concurrency=None).returncode)
    same("a number as Python reads it", (0, True), (windows.write("running", concurrency=" +08").returncode,
                                                    windows.window.exists()))
    same("another state", 2, windows.write("failed").returncode)
    same("a number that is none", 2, windows.write("running", concurrency="x").returncode)
    same("a load that is not its own", 2, run.do("--concurrency", "8").result.returncode)
    windows.window.unlink()
    windows.window.mkdir()
    done = windows.write("running", "--require-power")
    same("cannot be written", (1, True), (done.returncode, done.stderr.startswith(
        "[agentx_power] Failed to write formal measurement-window contract: ")))


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Run))
