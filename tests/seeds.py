"""Runs that are made from seeds, each judged by the program and by a model."""
import argparse
import os
import pathlib
import shlex
import shutil
import tempfile

BUILT = pathlib.Path(__file__).resolve().parents[1] / "build" / "aggregate-power"
PROGRAM = os.path.abspath(os.environ.get("AGGREGATE_POWER") or BUILT)


def seed_options(runs):
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--seed", type=int, default=1)
    return parser


def run_seeds(what, seeds, judge, summary=None):
    """The exit status. `judge(seed, folder)` makes a run in the empty folder and gives notes on it, its command
    line, and what differs; the folder of a run with differences stays. `summary()` is printed before the last line."""
    work = pathlib.Path(tempfile.mkdtemp(prefix=f"aggregate-power-{what}-"))
    failed = 0
    for seed in seeds:
        folder = work / f"seed-{seed}"
        folder.mkdir()
        notes, command, differences = judge(seed, folder)
        if not differences:
            shutil.rmtree(folder)
            continue
        failed += 1
        title = f"seed {seed}: {', '.join(notes)}"
        (folder / "differences.txt").write_text("\n".join([title, shlex.join(command), *differences]) + "\n")
        print(f"FAILED: {folder}: {title}\n  " + "\n  ".join(differences), flush=True)
    if not failed:
        shutil.rmtree(work)
    if summary:
        print(summary())
    print(f"{len(seeds) - failed} passed, {failed} failed")
    return 1 if failed else 0
