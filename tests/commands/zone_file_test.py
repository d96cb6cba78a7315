#!/usr/bin/env python3
"""Zone files that cannot be used: by every command that reads telemetry, and in every way.

One GPU draws 500 W for 14 s, the window is the 10 s in their middle: 5000 J. Read in the process's
zone, UTC, stamps without an offset cover it: an unusable zone file that was passed over would leave a
valid run.

usage: tests/commands/zone_file_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import running  # noqa: E402
from running import PROGRAM, load_result, run_tests, same  # noqa: E402

START = 1_800_000_000
NOBODY = 65534
RUN = load_result(START, START + 10)
CONTEXT = "gpu_metrics_context.json"
OFFSET = "agentic_power_timezone_offset.txt"
UNKNOWN = "unknown time zone '{}'; give 'UTC', a name such as 'America/Los_Angeles' or an offset such as '-07:00'"
BROKEN = [
    (CONTEXT, "{", "it is not a JSON object"),
    (CONTEXT, "", "it is not a JSON object"),
    (CONTEXT, '{"timestamp_timezone": "UTC"} x', "it is not a JSON object"),
    (CONTEXT, b'{"timestamp_timezone": "UTC", "x": "\xff"}', "it is not a JSON object"),
    (CONTEXT, '["UTC"]', "it is not a JSON object"),
    (CONTEXT, '"UTC"', "it is not a JSON object"),
    (CONTEXT, "{}", "it has no 'timestamp_timezone'"),
    (CONTEXT, '{"timezone": "UTC"}', "it has no 'timestamp_timezone'"),
    (CONTEXT, '{"timestamp_timezone": null}', "its 'timestamp_timezone' is not a string"),
    (CONTEXT, '{"timestamp_timezone": 0}', "its 'timestamp_timezone' is not a string"),
    (CONTEXT, '{"timestamp_timezone": "PDT"}', "unknown time zone 'PDT'; give 'America/Los_Angeles' or '-07:00'"),
    (CONTEXT, '{"timestamp_timezone": ""}', UNKNOWN.format("")),
    (OFFSET, "", UNKNOWN.format("")),
    (OFFSET, "midnight\n", UNKNOWN.format("midnight")),
]


def naive(second):
    return datetime.datetime.fromtimestamp(START + second, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def csv(stamp=naive):
    return "timestamp,gpu,power_w\n" + "".join(f"{stamp(second)},0,500\n" for second in range(-2, 13))


class Folder(running.Folder):
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.write("gpu_metrics.csv", csv())
        self.write("run.json", json.dumps(RUN))
        self.write("agg_run.json", '{"tp": 1}')

    def call(self, *words, program=PROGRAM, stdin=b"", **options):
        done = subprocess.run([program, *words], cwd=self.path, capture_output=True, input=stdin,
                              env={"PATH": os.environ["PATH"], "TZ": "UTC"}, **options)
        self.status, self.out, self.err = done.returncode, done.stdout.decode(), done.stderr.decode()
        return self

    def run(self, *words, csv="gpu_metrics.csv", gpus=("--expected-num-gpus", "1"), **options):
        return self.call("--csv", csv, "--bench-result", "run.json", "--agg-result", "agg_run.json", *gpus, *words,
                         **options)

    def is_refused(self, detail, record="power_validation_run.json"):
        record = self.json(record)
        same((False, ["telemetry_file_unreadable"], {}), (record["power_valid"], record["reasons"], record["metrics"]),
             self.err)
        assert f"power not valid: telemetry_file_unreadable ({detail})" in self.err, self.err
        same({"tp": 1, "power_metric_schema_version": 2, "power_valid": 0}, self.json("agg_run.json"))
        return record

    def is_valid(self, err="", record="power_validation_run.json"):
        same((5000.0, err), (self.json(record)["metrics"].get("total_gpu_energy_j"), self.err), self.err)
        return self.json(record)


def test_each_kind_is_refused(folder):
    for name, text, fault in BROKEN:
        folder.write(name, text)
        record = folder.run().is_refused(f"{name}: {fault}")
        same((0, [], None, None, None),
             (record["observed_gpu_count"], record["observed_gpu_ids"],
              *(record["computed_from"][key] for key in ("timezone", "timezone_source", "utc_offset"))), text)
        same(1, folder.run("--require-power").status)
        folder.run("--timezone", "UTC").is_valid()
        (folder.path / name).unlink()
        folder.run().is_valid()


def test_an_option_that_contradicts_is_told(folder):
    """--timezone counts, as ever, but not in silence. The load is two hours later than the file's zone says."""
    moved = 2 * 3600
    run = RUN | {key: RUN[key] - moved for key in RUN if "time_unix" in key}
    folder.write("run.json", json.dumps(run))
    folder.write("w.txt", f"begin w {START - moved}\nend w {START - moved + 10}\n")
    for name, text in ((CONTEXT, '{"timestamp_timezone": "UTC"}'), (OFFSET, "+0000\n")):
        folder.write(name, text)
        doubt = f"{name}: it says {'UTC' if name == CONTEXT else '+0000'}, but +02:00 is used, as --timezone says"
        folder.run("--timezone", "+02:00")
        same(5000.0, folder.json("power_validation_run.json")["metrics"].get("total_gpu_energy_j"), folder.err)
        assert doubt in folder.err, folder.err
        folder.call("measure", "run.json", "gpu_metrics.csv", "--timezone", "+02:00", "--json")
        (measured,) = json.loads(folder.out)["runs"]
        same((5000.0, True), (measured["total_gpu_energy_j"], any(doubt in text for text in measured["warnings"])))
        for words in (("windows", "--windows", "w.txt"), ("plot", "--bench-result", "run.json", "--out", "p.svg")):
            recording = ("gpu_metrics.csv",) if words[0] == "plot" else ("--telemetry", "gpu_metrics.csv")
            folder.call(words[0], *recording, *words[1:], "--timezone", "+02:00")
            assert doubt in folder.err, (words, folder.err)
        folder.call("measure", "run.json", "gpu_metrics.csv", "--timezone", "UTC")
        assert "as --timezone says" not in folder.out + folder.err
        (folder.path / name).unlink()


def test_clocks_that_the_recorder_noted_contradict(folder):
    """The recorder read its clock at the start and the end of the recording."""
    moved = 2 * 3600
    folder.write("run.json", json.dumps(RUN | {key: RUN[key] - moved for key in RUN if "time_unix" in key}))
    pairs = [{"epoch_s": START + second, "monotonic_s": 1000 + second, "boot_id": "a"} for second in (-2, 12)]
    for context in ({}, {"timestamp_timezone": "+02:00"}):
        folder.write(CONTEXT, json.dumps(context | {"clock_pairs": pairs}))
        folder.call("measure", "run.json", "gpu_metrics.csv", "--timezone", "+02:00", "--json")
        (measured,) = json.loads(folder.out)["runs"]
        same((False, ["timezone_contradicts_clocks"]), (measured["valid"], measured["reasons"]))
        assert measured["details"].startswith(
            f"timezone_contradicts_clocks ({CONTEXT}: its clock_pairs are of 1799999998.000 (2027-01-15T07:59:58.000Z), "
            "but in +02:00 the recording begins at 1799992798.000 (2027-01-15T05:59:58.000Z)"), measured["details"]
        folder.call("measure", "run.json", "gpu_metrics.csv", "--timezone", "+02:00", "--json", "--accept",
                    "timezone_contradicts_clocks")
        same(5000.0, json.loads(folder.out)["runs"][0]["total_gpu_energy_j"])
    folder.write("run.json", json.dumps(RUN))
    folder.write(CONTEXT, json.dumps({"timestamp_timezone": "UTC", "clock_pairs": pairs}))
    folder.call("measure", "run.json", "gpu_metrics.csv", "--json")
    same([], json.loads(folder.out)["runs"][0]["warnings"])


def test_something_that_is_no_file(folder):
    (folder.path / CONTEXT).mkdir()
    folder.run().is_refused(f"{CONTEXT}: it is not a file")
    (folder.path / CONTEXT).rmdir()
    (folder.path / OFFSET).symlink_to("gone")
    folder.run().is_refused(f"{OFFSET}: it is not a file")


def test_a_file_without_permission(folder):
    program = shutil.copy(PROGRAM, folder.path / "program")
    folder.write(CONTEXT, '{"timestamp_timezone": "UTC"}')
    (folder.path / CONTEXT).chmod(0)
    folder.path.chmod(0o777)
    (folder.path / "agg_run.json").chmod(0o666)
    other = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
    folder.run(program=program, **other).is_refused(f"{CONTEXT}: cannot open: Permission denied")


def test_the_first_file_decides(folder):
    """The second is read where the first is not there, not where it cannot be used."""
    folder.write(OFFSET, "+0000\n")
    folder.write(CONTEXT, "{}")
    folder.run().is_refused(f"{CONTEXT}: it has no 'timestamp_timezone'")
    folder.write(CONTEXT, '{"timestamp_timezone": "Z"}')
    same("UTC", folder.run().is_valid()["computed_from"]["timezone"])
    folder.write(OFFSET, "rubbish")
    folder.run().is_valid()


def test_rows_are_not_judged_where_their_time_is_not_known(folder):
    folder.write(CONTEXT, "{}")
    folder.write("gpu_metrics.csv", csv() + f"{naive(3)},0,broken\n{naive(20)},0,0\n")
    folder.run("--extended", gpus=("--expected-num-gpus", "0"))
    record = folder.json("power_validation_run.json")
    same((["invalid_expected_gpu_count", "telemetry_file_unreadable"], {}),
         (record["reasons"], record["boundary_degenerate_rows"]))


def test_energy_counters_are_not_compared(folder):
    folder.write(CONTEXT, "{}")
    for which in ("start", "end"):
        folder.write(f"gpu_metrics_energy_{which}.csv", "gpu,total_energy_consumption\n0,1\n")
    record = folder.run().is_refused(f"{CONTEXT}: it has no 'timestamp_timezone'")
    same({"available": False, "reason": "cross_check_error"}, record["accumulator_check"])


def test_schema_1(folder):
    folder.write(CONTEXT, "{}")
    folder.run(gpus=())
    same({"tp": 1}, folder.json("agg_run.json"))
    assert f"telemetry_file_unreadable ({CONTEXT}: it has no 'timestamp_timezone')" in folder.err, folder.err
    folder.run("--timezone", "UTC", gpus=())
    same(500.0, folder.json("agg_run.json")["avg_power_w"])


def test_stamps_with_offsets_need_none(folder):
    warning = f"aggregate-power: {CONTEXT}: it has no 'timestamp_timezone'; it is not needed: every timestamp has an offset\n"
    for stamp in (lambda second: f"{naive(second)}Z", lambda second: str(START + second)):
        folder.write("gpu_metrics.csv", csv(stamp))
        folder.write(CONTEXT, "{}")
        same("stamps", folder.run().is_valid(warning)["computed_from"]["timezone_source"])
        (folder.path / CONTEXT).unlink()
        folder.run().is_valid()
    # One stamp without an offset among them is enough.
    folder.write(CONTEXT, "{}")
    folder.write("gpu_metrics.csv", csv(lambda second: naive(second) + ("" if second == 12 else "Z")))
    folder.run().is_refused(f"{CONTEXT}: it has no 'timestamp_timezone'")


def test_a_file_that_differs_from_the_stamps(folder):
    folder.write("gpu_metrics.csv", csv(lambda second: f"{naive(second)}+00:00"))
    for zone in ("+09:00", "Asia/Tokyo"):
        folder.write(CONTEXT, json.dumps({"timestamp_timezone": zone}))
        folder.run().is_valid(f"aggregate-power: {CONTEXT}: it says {zone}, but the timestamps themselves say +00:00, which is used\n")
    folder.write(CONTEXT, '{"timestamp_timezone": "UTC"}')
    folder.run().is_valid()
    folder.write("gpu_metrics.csv", csv(lambda second: str(START + second)))  # an epoch is in no zone
    folder.write(CONTEXT, '{"timestamp_timezone": "+09:00"}')
    folder.run().is_valid()


def test_a_recorder_that_writes_utc(folder):
    folder.write("gpu_metrics.csv", csv().replace("timestamp,gpu,power_w", "Timestamp, DeviceId, power.draw (W)"))
    folder.write(CONTEXT, "{}")
    folder.run().is_valid(f"aggregate-power: {CONTEXT}: it has no 'timestamp_timezone'; it is not needed: the recorder writes UTC\n")
    folder.write(CONTEXT, '{"timestamp_timezone": "+09:00"}')
    folder.run()
    same(["no_usable_power_samples"], folder.json("power_validation_run.json")["reasons"])
    assert folder.err.startswith(
        f"aggregate-power: {CONTEXT}: it says +09:00, which is used, but the recorder writes UTC\n"), folder.err


def test_standard_input_has_none(folder):
    folder.write("-_context.json", "{}")
    folder.write(CONTEXT, "{}")
    folder.write(OFFSET, "rubbish")
    folder.run(csv="-", stdin=csv().encode()).is_valid()


def test_inspect(folder):
    folder.write(CONTEXT, "{}")
    folder.call("inspect", "gpu_metrics.csv", "--json")
    told = json.loads(folder.out)
    same((1, ["telemetry_file_unreadable"], [], None, None),
         (folder.status, *(told[key] for key in ("reasons", "devices", "timezone", "timezone_source"))), folder.err)
    assert f"no power series: telemetry_file_unreadable ({CONTEXT}: it has no" in folder.err, folder.err
    same(0, folder.call("inspect", "gpu_metrics.csv", "--timezone", "UTC").status)
    folder.write("gpu_metrics.csv", csv(lambda second: f"{naive(second)}Z"))
    same(0, folder.call("inspect", "gpu_metrics.csv").status)
    assert f"warning: {CONTEXT}: it has no 'timestamp_timezone'; it is not needed" in folder.out, folder.out


def test_hosts(folder):
    folder.write("b.csv", csv())
    folder.write("b_context.json", "[]")
    hosts = ["multinode", "--host", "a=gpu_metrics.csv", "--host", "b=b.csv", "--bench-result", "run.json",
             "--agg-result", "agg_run.json"]
    record = folder.call(*hosts).is_refused("b: b_context.json: it is not a JSON object")
    same(([], ["telemetry_file_unreadable"]), tuple(record["hosts"][host]["reasons"] for host in "ab"))
    assert "clock_offset" not in folder.err, folder.err
    folder.call(*hosts, "--timezone", "UTC")
    same(10000.0, folder.json("agg_run.json")["total_gpu_energy_j"])


def agentic(folder, times):
    folder.write("aiperf_artifacts/profile_export_aiperf.json", json.dumps(times))
    folder.write("aiperf_artifacts/profile_export.jsonl", json.dumps(
        {"metadata": {}, "metrics": {"input_sequence_length": 8, "output_sequence_length": 1}}) + "\n")
    return folder.call("agentic", "--result-dir", ".", "--agg-result", "agg_run.json", "--expected-num-gpus", "1")


def test_agentic(folder):
    epochs = {"start_time": START, "end_time": START + 10}
    for name in (CONTEXT, OFFSET):
        folder.write(name, "?")
        fault = "it is not a JSON object" if name == CONTEXT else UNKNOWN.format("?")
        agentic(folder, epochs).is_refused(f"{name}: {fault}", record="power_validation.json")
        (folder.path / name).unlink()
    agentic(folder, epochs).is_valid(record="power_validation.json")


def backfill(folder, *options):
    """The outcome of the store's only run, its reasons and details."""
    (folder.path / "report.jsonl").unlink(missing_ok=True)
    folder.call("backfill", "store", "--report", "report.jsonl", *options)
    line = folder.json("report.jsonl")
    return line["outcome"], line["reasons"], line["details"] or ""


def test_backfill(folder):
    """A load between idle times is a witness of its zone, but a zone file that is there must be right."""
    step = "timestamp,gpu,power_w\n" + "".join(
        f"{naive(second)},0,{500 if 0 <= second <= 40 else 100}\n" for second in range(-60, 101))
    folder.write("store/r/gpu_metrics.csv", step)
    folder.write("store/r/r.json", json.dumps(RUN | {"benchmark_end_time_unix": START + 40, "duration": 40}))
    folder.write("store/r/agg_r.json", '{"tp": 1}')
    same(("patched", [], ""), backfill(folder, "--timezone", "evidence"), folder.err)
    folder.write(f"store/r/{CONTEXT}", "{}")
    fault = f"store/r/{CONTEXT}: it has no 'timestamp_timezone'"
    same(("not_valid", ["telemetry_file_unreadable"], f"telemetry_file_unreadable ({fault})"), backfill(folder))
    same({"tp": 1, "power_metric_schema_version": 2, "power_valid": 0}, folder.json("store/r/agg_r.json"))
    same("unchanged", backfill(folder)[0])
    same(("patched", []), backfill(folder, "--timezone", "UTC")[:2])
    folder.write(f"store/r/{OFFSET}", "+0000")
    same("not_valid", backfill(folder)[0])
    (folder.path / f"store/r/{CONTEXT}").unlink()
    same("patched", backfill(folder)[0])
    same("unchanged", backfill(folder)[0])
    folder.write(f"store/r/{CONTEXT}", '{"timestamp_timezone": "+09:00"}')
    same(("not_valid", ["no_usable_power_samples"]), backfill(folder)[:2])
    folder.write("store/r/gpu_metrics.csv", csv(lambda second: f"{naive(second)}Z"))
    folder.write("store/r/r.json", json.dumps(RUN))
    same(("patched", [], f"store/r/{CONTEXT}: it says +09:00, but the timestamps themselves say +00:00, which is used"),
         backfill(folder))


def test_a_backfill_leaves_a_run_whose_zone_file_cannot_be_read(folder):
    """That is the system's fault: what was published before stays."""
    program = shutil.copy(PROGRAM, folder.path / "program")
    folder.write("store/r/gpu_metrics.csv", csv())
    folder.write("store/r/r.json", json.dumps(RUN))
    folder.write("store/r/agg_r.json", '{"tp": 1, "power_valid": 1}')
    folder.write(f"store/r/{CONTEXT}", '{"timestamp_timezone": "UTC"}')
    (folder.path / f"store/r/{CONTEXT}").chmod(0)
    (folder.path / "store/r").chmod(0o777)
    (folder.path / "store/r/agg_r.json").chmod(0o666)
    folder.path.chmod(0o777)
    other = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
    folder.call("backfill", "store", "--report", "report.jsonl", program=program, **other)
    line = folder.json("report.jsonl")
    same((1, "failed"), (folder.status, line["outcome"]), folder.err)
    assert f"{CONTEXT}: cannot open: Permission denied" in line["details"], line
    same({"tp": 1, "power_valid": 1}, folder.json("store/r/agg_r.json"))


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Folder))
