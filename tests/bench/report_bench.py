#!/usr/bin/env python3
"""Times 'report' of 5,000 runs with their audit records against cat of the same files, interleaved.

usage: report_bench.py PROGRAM WORK_FOLDER   WORK_FOLDER should be on tmpfs
"""
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "reporting"))
from report_store import write_store  # noqa: E402  (beside the tests that share it)

RUNS, ROUNDS = 5000, 9


def seconds(command, folder):
    """Wall and processor time."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"failed: {' '.join(command[:3])}")
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime


def main(program, work):
    root = pathlib.Path(work) / "report"
    for repeats in (5, 1):  # points of five runs, and as many points as runs
        store = root / f"store{repeats}"
        write_store(store, RUNS, repeats)
        files = [str(path.relative_to(root)) for path in sorted(store.rglob("*")) if path.is_file()]
        cat = ["cat", *files]
        report = [program, "report", store.name, "--out", f"{store.name}.html"]
        times = [[seconds(cat, root), seconds(report, root)] for _ in range(ROUNDS + 1)][1:]
        (cat_wall, cat_cpu), (wall, cpu) = ([statistics.median(column) for column in zip(*side)]
                                            for side in zip(*times))
        size = (root / f"{store.name}.html").stat().st_size
        print(f"report, {RUNS} runs, {repeats} a point: wall {wall * 1e3:.0f} ms, cat {cat_wall * 1e3:.0f} ms = "
              f"{wall / cat_wall:.2f} (at most 3); processor {cpu * 1e3:.0f} ms, cat {cat_cpu * 1e3:.0f} ms = "
              f"{cpu / cat_cpu:.2f} (at most 3); {size / 1e6:.2f} MB (at most 5)", flush=True)


main(*sys.argv[1:])
