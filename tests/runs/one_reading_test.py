#!/usr/bin/env python3
"""A recording is opened once in a run, and each of its bytes is read once; a second time only where rows are
far out of order, and nothing keeps them all.

usage: tests/runs/one_reading_test.py [TEST...]   with $AGGREGATE_POWER_DYNAMIC and $FAULT_SHIM
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import ROOT, run_tests  # noqa: E402

PROGRAM = os.environ.get("AGGREGATE_POWER_DYNAMIC", str(ROOT / "build" / "tests" / "aggregate-power-dynamic"))
SHIM = os.environ.get("FAULT_SHIM", str(ROOT / "build" / "tests" / "fault_shim.so"))
START, SECONDS = 1777118400, 4000
RUN = ["--csv", "t.csv", "--bench-result", "run.json", "--agg-result", "agg.json", "--require-power"]
OF_GPUS = [*RUN, "--expected-num-gpus", "2"]
MEASURE = ["measure", "run.json", "--telemetry", "t.csv"]
ROWS = [f"{START + second},{gpu},{300 + (7 * second + gpu) % 100}\n" for second in range(SECONDS) for gpu in range(2)]
# The last one failed.
REQUESTS = [{"metadata": {"session_num": 0, "request_start_ns": (START + at) * 10**9,
                          "request_end_ns": (START + at + 30) * 10**9, "benchmark_phase": "profiling"},
             "metrics": {} if at == 1990 else {"input_sequence_length": {"value": 100, "unit": "tokens"},
                                               "output_sequence_length": {"value": 10, "unit": "tokens"}},
             "error": {"code": 500} if at == 1990 else None} for at in range(20, 2000, 10)]
REQUESTED = ["--requests", "aiperf_artifacts/profile_export.jsonl", "--gpu", "H100"]
EARLY_LAST = ROWS[200:] + ROWS[:200]  # the first minutes at the end


def readings(path, rows, *arguments):
    """How often the recording was opened, and how often its bytes were read."""
    with tempfile.TemporaryDirectory(dir=path) as name:
        folder = pathlib.Path(os.path.realpath(name))
        recording = folder / ("gpu_metrics.csv" if arguments[0] == "agentic" else "t.csv")
        recording.write_text("timestamp,index,power.draw.instant [W]\n" + "".join(rows))
        (folder / "run.json").write_text(json.dumps(
            {"benchmark_start_time_unix": START + 10.5, "benchmark_end_time_unix": START + SECONDS - 10.5,
             "duration": SECONDS - 21.0, "completed": 5, "total_input_tokens": 10, "total_output_tokens": 10}))
        (folder / "agg.json").write_text("{}")
        (folder / "windows.csv").write_text("name,start,end\na,+10,+20\nb,+1000,+2000\n")
        (folder / "prices.csv").write_text(f"time,value\n{START},1\n{START + 3600},3\n")
        profile = folder / "aiperf_artifacts"
        profile.mkdir()
        (profile / "profile_export.jsonl").write_text("\n".join(map(json.dumps, REQUESTS)) + "\n")
        (profile / "profile_export_aiperf.json").write_text(json.dumps(
            {"request_count": {"unit": "requests", "avg": len(REQUESTS) - 1}, "was_cancelled": False,
             "start_time": "2026-04-25T12:00:11+00:00", "end_time": "2026-04-25T13:06:20+00:00"}))
        log = folder / "log"
        subprocess.run([PROGRAM, *arguments], cwd=folder, check=True, capture_output=True, env={
            "PATH": os.environ["PATH"], "TZ": "UTC", "LD_PRELOAD": SHIM, "FAULT_ROOT": str(recording), "FAULT_LOG": str(log)})
        calls = log.read_text()
        read = sum(int(count) for count in re.findall(r" pread \S+ (\d+) at \d+", calls))
        # Where only the head is looked at, it is not read at places.
        opens = [part for part in re.split(r" open ", calls)[1:] if " pread " in part]
        return len(opens), read / recording.stat().st_size


def once(path, *arguments, rows=ROWS):
    opened, read = readings(path, rows, *arguments)
    assert opened == 1, f"{arguments}: opened {opened} times"
    # The last block asks for more than there is.
    assert 1 <= read < 1.9, f"{arguments}: read {read:.2f} times"


def test_a_run_reads_once(path):
    once(path, *RUN)
    once(path, *OF_GPUS)
    for more in (["--extended"], ["--uncertainty"], ["--idle", "auto"], ["--uncertainty", "--idle", "auto", "--extended"]):
        once(path, *OF_GPUS, *more)


def test_other_commands_read_once(path):
    once(path, *MEASURE)
    once(path, "windows", "--telemetry", "t.csv", "--windows", "windows.csv")
    once(path, "plot", "--bench-result", "run.json", "--telemetry", "t.csv", "--out", "p.svg")
    once(path, "plot", "--telemetry", "t.csv", "--out", "p.svg")
    once(path, "inspect", "t.csv")
    once(path, "inspect", "t.csv", "--sensor")


def test_what_the_power_of_each_moment_shows_needs_no_second_reading(path):
    once(path, *OF_GPUS, *REQUESTED)
    once(path, *MEASURE, *REQUESTED, "--phases", "--uncertainty")
    once(path, *MEASURE, "--price", "prices.csv")
    once(path, "agentic", "--result-dir", ".", "--agg-result", "agg.json", "--expected-num-gpus", "2")


def test_rows_out_of_order_are_sorted_where_all_are_kept(path):
    once(path, *OF_GPUS, "--uncertainty", rows=EARLY_LAST)
    once(path, "windows", "--telemetry", "t.csv", "--windows", "windows.csv", rows=EARLY_LAST)
    once(path, "plot", "--telemetry", "t.csv", "--out", "p.svg", rows=EARLY_LAST)


def test_rows_far_out_of_order_are_read_again(path):
    for arguments in (RUN, OF_GPUS):
        opened, read = readings(path, EARLY_LAST, *arguments, "--no-uncertainty")
        assert opened == 1 and 2 <= read < 3, f"opened {opened} times, read {read:.2f} times"


def test_a_stretch_of_idle_time_is_read_once_more(path):
    opened, read = readings(path, ROWS, *OF_GPUS, "--idle", "+0:+5")
    assert opened == 1 and 2 <= read < 3, f"opened {opened} times, read {read:.2f} times"


def test_a_row_without_a_time_changes_nothing(path):
    once(path, *RUN, rows=["yesterday,0,5\n", *ROWS])


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
