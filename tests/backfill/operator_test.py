#!/usr/bin/env python3
"""What a backfill tells who runs it, and what that person can ask for.

usage: tests/backfill/operator_test.py [NAME...]   with $AGGREGATE_POWER, $AGGREGATE_POWER_DYNAMIC and
       $FAULT_SHIM; NAMEs of cases: only these
"""
import errno
import pathlib
import re
import sys

import judging
import patching
from cases_test import ROOT, make_run, program, same
from judging import backfill, read_report
from stores import build_store

STORE = ROOT / "testdata" / "store"
# By hand, of testdata/README.md: what becomes of each of its runs.
ENDS = {
    "patched": ["power_audit_llama_tp2_conc8/agg_llama_tp2_conc8.json\t",
                "bmk_qwen_tp2_conc4/agg_qwen_tp2_conc4.json\t"],
    "not_valid": ["power_audit_llama_tp2_conc16/agg_llama_tp2_conc16.json\tsampling_gap_exceeded"],
    "not_recomputable": ["bmk_qwen_tp2_conc2/agg_qwen_tp2_conc2.json\tbenchmark_result_missing"],
    "not_writable": ["power_audit_mixtral_tp2_conc1.zip/agg_mixtral_tp2_conc1.json\t"
                     "aggregate_in_archive"],
}


def lists(root, checks):
    """--list: the runs that end so, in the order of their paths, and nothing else."""
    for wanted in (["patched"], ["not_writable", "not_valid"], ["ambiguous"], list(ENDS)):
        lines = sorted(f"{STORE}/{line}\n" for name in wanted for line in ENDS.get(name, []))
        done = program("backfill", STORE, "--dry-run", "--list", ",".join(wanted))
        same(checks, f"--list {wanted}", "".join(lines), done.stdout)
        checks.add(f"--list {wanted}: the summary is on standard error",
                   [] if done.stderr.startswith("runs (dry run)               5\n") else [done.stderr])

    # As the report has them, whatever they are and however many run at a time.
    store, report = root / "store", root / "report.jsonl"
    build_store(store, 400, 3)
    every = ",".join(judging.OUTCOMES)
    done = backfill(store, "--dry-run", "--list", every, "--report", report)
    is_plain = re.compile(r"[\w ./-]+", re.ASCII).fullmatch
    found = [line for line in done.stdout.decode(errors="surrogateescape").splitlines()]
    aggregates = {line["aggregate"]: line for line in read_report(report) if line["aggregate"]}
    wanted = [f"{path}\t{','.join(line['reasons'])}" for path, line in sorted(aggregates.items())
              if is_plain(path)]
    same(checks, "all runs are listed as the report has them", wanted,
         [line for line in found if line.split("\t")[0] in aggregates and is_plain(line.split("\t")[0])])
    same(checks, "as many as the report has", len(read_report(report)), len(found))
    bytewise = lambda line: line.split("\t")[0].encode(errors="surrogateescape")
    same(checks, "sorted by path", sorted(found, key=bytewise), found)
    again = backfill(store, "--dry-run", "--list", every, "--jobs", "1")
    same(checks, "one at a time they are the same", done.stdout, again.stdout)
    done = backfill(store, "--list", "patched")
    again = backfill(store, "--list", "unchanged", "--jobs", "3")
    patched = done.stdout.splitlines()
    same(checks, "what was patched is then unchanged", patched,
         [line for line in again.stdout.splitlines() if line in patched])


def unknown_outcomes(root, checks):
    for text in ("done", "", "patched,", "patched, failed", "PATCHED"):
        done = program("backfill", STORE, "--dry-run", "--list", text)
        same(checks, f"--list {text!r}", (2, ""), (done.returncode, done.stdout))
        checks.add(f"--list {text!r}: the message names those there are",
                   [f"no {name} in {done.stderr!r}" for name in judging.OUTCOMES
                    if name not in done.stderr])


def dry_runs_are_sorted(root, checks):
    store = root / "store"
    build_store(store, 300, 4)
    whole = backfill(store, "--dry-run", "--jobs", "4").stdout
    path = re.compile(rb"(.+?\.json): (?:\w+: .+ -> |would be |not valid: |unchanged)")
    paths = [match[1] for line in whole.splitlines() if (match := path.match(line))]
    aggregates = [path for path in paths if b"/power_validation_" not in path]
    checks.add("there are many lines", [] if len(aggregates) > 200 else [str(len(aggregates))])
    same(checks, "by path", sorted(aggregates), aggregates)
    same(checks, "one at a time they are the same", whole,
         backfill(store, "--dry-run", "--jobs", "1").stdout)


def first_names(root, checks):
    """The summary names the first runs of each reason, whoever came first."""
    store = root / "store"
    for name in ("e", "b", "d", "a", "c"):
        make_run(store / f"power_audit_{name}", name, parts=("csv", "agg"))
    for jobs in ("1", "4"):
        done = program("backfill", store, "--jobs", jobs)
        checks.add(f"the summary of {jobs} at a time",
                   [] if re.search(r"(?m)^  benchmark_result_missing +5  .*\n    a, b, c, \.\.\.$",
                                   done.stdout) else [done.stdout])


FULL = ("the disk or the quota is full: make room and run again; a backfill can write elsewhere with "
        "--output FOLDER")
READ_ONLY = ("the file system is read-only: mount it for writing; a backfill can write elsewhere with "
             "--output FOLDER")
DENIED = ("the permissions do not allow it: run as the owner of the files; a backfill can write "
          "elsewhere with --output FOLDER")
OBSTACLES = ((errno.ENOSPC, FULL, "failed", 1), (errno.EDQUOT, FULL, "failed", 1),
             (errno.EROFS, READ_ONLY, "not_writable", 0), (errno.EACCES, DENIED, "not_writable", 0),
             (errno.EPERM, DENIED, "not_writable", 0))


def failing(call, number, folder):
    """The environment in which every such call below the folder fails."""
    return {"FAULT_ROOT": str(folder), "FAULT_CALL": call, "FAULT_ERRNO": str(number),
            "LD_PRELOAD": patching.SHIM}


def remedies(root, checks):
    """What hinders the writing decides what to do about it; the codes are the same."""
    store = root / "store"
    make_run(store / "power_audit_r", "r")
    before = patching.contents(store)
    for number, remedy, outcome, status in OBSTACLES:
        name = errno.errorcode[number]
        done = backfill(store, "--list", outcome, program=patching.DYNAMIC,
                        environment=failing("write", number, store))
        same(checks, f"{name}: exit status and outcome",
             (status, f"{store}/power_audit_r/agg_r.json\taggregate_result_unwritable\n".encode()),
             (done.returncode, done.stdout))
        row = f"  aggregate_result_unwritable        1  {remedy}\n    r\n"
        checks.add(f"{name}: its remedy", [] if row in done.stderr.decode() else [done.stderr])
        one = patching.run(["--csv", "gpu_metrics.csv", "--bench-result", "r.json", "--agg-result",
                            "agg_r.json", "--expected-num-gpus", "1"], store / "power_audit_r",
                           patching.DYNAMIC, failing("write", number, store))
        told = [f"aggregate-power:   {code}: {remedy}" for code in (
            "aggregate_result_unwritable", "validation_result_unwritable")]
        same(checks, f"{name}: remedies of a single run", told,
             [line for line in one.stderr.decode().splitlines() if line.startswith("aggregate-power:   ")])
        same(checks, f"{name}: the store", before, patching.contents(store))
    output = root / "output"
    done = backfill(store, "--output", output, program=patching.DYNAMIC,
                    environment=failing("write", errno.EROFS, store))
    same(checks, "--output goes round it", (0, True),
         (done.returncode, (output / "power_audit_r" / "power_validation_r.json").is_file()))


def shards_of_a_scheduler(root, checks):
    store = root / "store"
    build_store(store, 100, 5, archives=False)
    whole = backfill(store, "--dry-run", "--list", "patched").stdout.splitlines()
    of_slurm = lambda i: {"SLURM_ARRAY_TASK_ID": str(2 * i + 1), "SLURM_ARRAY_TASK_COUNT": "3",
                          "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_MAX": "5",
                          "SLURM_ARRAY_TASK_STEP": "2"}  # --array=1-5:2
    of_kubernetes = lambda i: {"JOB_COMPLETION_INDEX": str(i), "JOB_COMPLETIONS": "3"}
    for name, variables in (("Slurm", of_slurm), ("Kubernetes", of_kubernetes)):
        parts = [backfill(store, "--dry-run", "--list", "patched", "--shard", "auto",
                          environment=variables(i)).stdout.splitlines() for i in range(3)]
        same(checks, f"--shard auto, {name}: together they are the whole", sorted(whole),
             sorted(sum(parts, [])))
        given = backfill(store, "--dry-run", "--list", "patched", "--shard", "1/3").stdout.splitlines()
        same(checks, f"--shard auto, {name}: the second is 1/3", given, parts[1])
    for variables in ({}, {"JOB_COMPLETION_INDEX": "0"}):
        done = backfill(store, "--dry-run", "--shard", "auto", environment=variables)
        same(checks, f"--shard auto with {variables}", (2, b""), (done.returncode, done.stdout))


CASES = (lists, unknown_outcomes, dry_runs_are_sorted, first_names, remedies,
         shards_of_a_scheduler)


def main(names):
    checks = patching.Checks()
    for case in CASES:
        if names and case.__name__ not in names:
            continue
        with patching.fresh_folder(case.__name__.replace("_", "-")) as root:
            case(pathlib.Path(root), checks)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
