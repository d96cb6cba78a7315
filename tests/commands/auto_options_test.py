#!/usr/bin/env python3
"""Checks 'auto' as the value of --timezone and --expected-num-gpus in single runs.

A recorder whose clock is 9 h east of UTC samples two GPUs once a second: 100 W each, and 500 W from the
start of the window to its end, 60 s later. All energies are 2 x 500 W x 60 s.

usage: tests/commands/auto_options_test.py [NAME...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import datetime
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import running  # noqa: E402
from running import Folder, load_result, run_tests  # noqa: E402

START = 1_700_000_000
ENERGY = 60000.0
NINE_EAST = datetime.timezone(datetime.timedelta(hours=9))


class Run(Folder):
    def __init__(self, path):
        super().__init__(path)
        self.power()
        self.bench()
        self.aggregate('{"tp": 2}')
        self.touch("run.json", START + 70)

    def power(self, first=-60, last=120, load=(0, 60)):
        rows = ["timestamp, index, power.draw [W]"]
        for second in range(first, last + 1):
            clock = datetime.datetime.fromtimestamp(START + second, NINE_EAST).strftime("%Y/%m/%d %H:%M:%S.000")
            watts = 500 if load[0] <= second <= load[1] else 100
            rows += [f"{clock}, {gpu}, {watts}.00 W" for gpu in (0, 1)]
        self.write("gpu_metrics.csv", "\n".join(rows) + "\n")
        self.touch("gpu_metrics.csv", START + last)

    def touch(self, name, unix_s):
        os.utime(self.path / name, (unix_s, unix_s))

    def bench(self, **others):
        self.write("run.json", load_result(START, START + 60, **others))
        self.touch("run.json", START + 70)

    def aggregate(self, text):
        self.write("agg.json", text)

    def do(self, *options, csv="gpu_metrics.csv", **more):
        return self.call("--csv", csv, "--bench-result", "run.json", "--agg-result", "agg.json",
                         "--validation-result", "audit.json", *options, **more)

    def audit(self):
        return self.json("audit.json")

    def row(self):
        return self.json("agg.json")


def same(what, wanted, found):
    running.same(wanted, found, what)


AUTO = ("--expected-num-gpus", "2", "--timezone", "auto", "--require-power")


def expect_valid(run):
    same("exit status and standard error", (0, ""), (run.status, run.err))
    same("the energy", ENERGY, run.row()["total_gpu_energy_j"])


def expect_ambiguous(run, *texts):
    same("exit status", 1, run.status)
    audit = run.audit()
    same("the reason", ["timezone_ambiguous"], audit["reasons"])
    same("nothing is claimed", ({}, {}, None, None), (
        audit["metrics"], audit["per_gpu_energy_j"], audit["computed_from"]["timezone"],
        audit["computed_from"]["utc_offset"]))
    same("the aggregate", 0, run.row()["power_valid"])
    for text in (*texts, "--timezone evidence accepts one sign"):
        same(f"it says {text!r}", True, text in run.err)


# ---- --timezone

def test_two_witnesses_are_enough(run):
    same("by the process's zone", ["no_usable_power_samples"],
         run.do("--expected-num-gpus", "2").audit()["reasons"])
    expect_valid(run.do(*AUTO))
    found = run.audit()["computed_from"]
    same("the zone", ("+09:00", "evidence", "+09:00"),
         tuple(found[key] for key in ("timezone", "timezone_source", "utc_offset")))
    same("the evidence", {"level": "two_witnesses", "witnesses": ["edges", "file_time"], "rivals": [], "recorder": None},
         found["timezone_evidence"])


def test_one_witness_is_not(run):
    run.touch("gpu_metrics.csv", START + 700)  # was copied later
    run.do(*AUTO)
    expect_ambiguous(run, "by the rise and fall of the power, the time zone is +09:00, but nothing else confirms it")
    expect_valid(run.do(*AUTO, "--timezone", "evidence"))
    same("the evidence", ("one_witness", ["edges"], ["not_in_recording"]), tuple(
        run.audit()["computed_from"]["timezone_evidence"][key] for key in ("level", "witnesses", "rivals")))
    expect_valid(run.do(*AUTO, "--timezone", "+09:00"))
    same("an option is no evidence", False, "timezone_evidence" in run.audit()["computed_from"])


def test_a_copy_made_with_the_result_is_no_witness(run):
    run.touch("run.json", START + 120.5)
    expect_ambiguous(run.do(*AUTO), "by the rise and fall of the power, the time zone is +09:00, but nothing else confirms it")


def test_witnesses_that_contradict_each_other(run):
    run.touch("gpu_metrics.csv", START + 120 + 3600)  # as if it were 8 h east
    expect_ambiguous(run.do(*AUTO), "by the rise and fall of the power, the time zone is +09:00; "
                     "by the time when the recording was last written, it is +08:00")
    expect_ambiguous(run.do(*AUTO, "--timezone", "evidence"), "by the time when the recording was last written, it is +08:00")


def test_a_recording_without_edges(run):
    run.power(load=(-1000, 1000), first=-1900, last=1900)
    run.touch("gpu_metrics.csv", START + 5000)
    run.do(*AUTO)
    same("the reason", (1, ["timezone_ambiguous"]), (run.status, run.audit()["reasons"]))


def test_a_stated_zone_needs_no_evidence(run):
    run.touch("gpu_metrics.csv", START + 7000)
    (run.path / "gpu_metrics_context.json").write_text('{"timestamp_timezone": "+09:00"}')
    expect_valid(run.do(*AUTO))
    same("the evidence", ("stated", ["zone_file"]), tuple(
        run.audit()["computed_from"]["timezone_evidence"][key] for key in ("level", "witnesses")))
    (run.path / "gpu_metrics_context.json").write_text('{}')
    same("one that cannot be used", ["telemetry_file_unreadable"], run.do(*AUTO).audit()["reasons"])


def test_stamps_that_state_their_zone(run):
    csv = run.path / "gpu_metrics.csv"
    csv.write_text(csv.read_text().replace(".000,", ".000+09:00,").replace("2023/11/15 ", "2023-11-15T"))
    expect_valid(run.do(*AUTO))
    same("the source", "stamps", run.audit()["computed_from"]["timezone_source"])


def test_a_recording_that_covers_the_window_in_no_zone(run):
    run.power(first=0, last=30)
    run.do(*AUTO)
    # Whatever the zone is, the reason is the recording's own.
    same("the reason", ["no_usable_power_samples"], run.audit()["reasons"])


def test_standard_input_has_no_time(run):
    with open(run.path / "gpu_metrics.csv") as csv:
        run.do(*AUTO, csv="-", stdin=csv)
    expect_ambiguous(run, "by the rise and fall of the power, the time zone is +09:00, but nothing else confirms it")
    with open(run.path / "gpu_metrics.csv") as csv:
        expect_valid(run.do(*AUTO, "--timezone", "evidence", csv="-", stdin=csv))


def test_schema_1_finds_it_too(run):
    run.do("--timezone", "auto", "--require-power")
    same("exit status", (0, 500.0), (run.status, run.row()["avg_power_w"]))
    run.aggregate('{"tp": 2}')
    run.touch("gpu_metrics.csv", START + 700)
    run.do("--timezone", "auto", "--require-power")
    same("or patches nothing", (1, {"tp": 2}), (run.status, run.row()))


def test_a_dry_run_finds_the_same(run):
    run.do(*AUTO, "--dry-run")
    same("the energy", True, "total_gpu_energy_j: absent -> 60000.0" in run.out)
    same("nothing is written", {"tp": 2}, run.row())


# ---- --expected-num-gpus

COUNT = ("--expected-num-gpus", "auto", "--timezone", "+09:00", "--require-power")


def counted(run):
    return run.audit()["expected_gpu_count"], run.audit()["computed_from"].get("expected_gpu_count_source")


def test_the_aggregate_names_the_gpus(run):
    for text in ('{"tp": 2}', '{"tp": 1, "pp": 2}', '{"num_prefill_gpu": 1, "num_decode_gpu": 1, "tp": 8}'):
        run.aggregate(text)
        expect_valid(run.do(*COUNT))
        same(f"with {text}", (2, "aggregate_result"), counted(run))
    run.bench(tp=8)  # the aggregate comes first, with a warning
    run.do(*COUNT)
    same("a warning", True, "2 GPUs count, and the result states 8" in run.err)
    same(f"with {text}", (0, (2, "aggregate_result")), (run.status, counted(run)))
    run.aggregate('{"tp": 4}')
    run.do(*COUNT)
    same("more than there are", (1, ["expected_gpu_count_mismatch"]), (run.status, run.audit()["reasons"]))
    run.do("--expected-num-gpus", "2", "--timezone", "+09:00")
    same("a number is nobody's", (2, None), counted(run))


def test_the_result_names_the_gpus(run):
    run.aggregate('{"hw": "b200"}')
    run.bench(tp=2)
    expect_valid(run.do(*COUNT))
    same("found", (2, "benchmark_result"), counted(run))
    run.bench(tp=3)
    same("more than there are", ["expected_gpu_count_mismatch"], run.do(*COUNT).audit()["reasons"])


def test_nothing_names_the_gpus(run):
    for aggregate, bench in (("{}", {}), ('{"tp": 0}', {"tp": 0}), ('{"tp": null}', {"tp": None})):
        run.aggregate(aggregate)
        run.bench(**bench)
        run.do(*COUNT)
        same("the reason", (1, ["invalid_expected_gpu_count"], (None, None)),
             (run.status, run.audit()["reasons"], counted(run)))
        same("it says what was read", True,
             "neither agg.json nor run.json says how many GPUs the run used" in run.err)
        same("the aggregate", 0, run.row()["power_valid"])


def test_numbers_in_other_spellings(run):
    for aggregate, bench, source in (('{"tp": "2"}', {"tp": 0}, "aggregate_result"), ('{"tp": 0}', {"tp": "2"}, "benchmark_result"),
                                     ('{"tp": 2.0}', {"tp": None}, "aggregate_result")):
        run.aggregate(aggregate)
        run.bench(**bench)
        expect_valid(run.do(*COUNT))
        same("found", (2, source), counted(run))
    run.aggregate('{"tp": "two"}')
    run.do(*COUNT)
    same("the reason", (1, ["invalid_expected_gpu_count"]), (run.status, run.audit()["reasons"]))
    same("it quotes the number", True, "'tp' is 'two'" in run.err)


def test_an_aggregate_that_cannot_be_read(run):
    (run.path / "agg.json").unlink()
    run.do(*COUNT)
    same("reasons", (1, ["invalid_expected_gpu_count", "aggregate_result_missing"]),
         (run.status, run.audit()["reasons"]))
    run.aggregate('{"tp": 2')
    run.do(*COUNT)
    same("reasons", ["invalid_expected_gpu_count", "aggregate_result_unwritable"], run.audit()["reasons"])
    same("its bytes", '{"tp": 2', (run.path / "agg.json").read_text())


def test_both(run):
    expect_valid(run.do("--expected-num-gpus", "auto", "--timezone", "auto"))
    same("found", (2, "aggregate_result"), counted(run))


def test_wrong_options(run):
    for options in (("--expected-num-gpus", "automatic"), ("--timezone", "Auto")):
        same(f"exit status with {options}", 2, run.do(*options).status)
    same("the last one counts", (2, None), counted(run.do(*COUNT, "--expected-num-gpus", "2")))
    same("the last one counts", (2, "aggregate_result"), counted(run.do("--expected-num-gpus", "9", *COUNT)))


if __name__ == "__main__":
    sys.exit(run_tests(globals(), Run))
