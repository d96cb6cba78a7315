#!/usr/bin/env python3
"""What a backfill tells who runs it, and what that person can ask for.

usage: tests/backfill/operator_test.py [NAME...]   with $AGGREGATE_POWER, $AGGREGATE_POWER_DYNAMIC and
       $FAULT_SHIM; NAMEs of cases: only these
"""
import contextlib
import errno
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

import yaml

import judging
import patching
from cases_test import ROOT, make_run, program, same, zip_of
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


def joined(summary):
    """A summary with each reason's remedy, which is wrapped in its column, on the reason's line."""
    return re.sub(r"\n {40}(?=\S)", " ", summary)


def first_names(root, checks):
    """The summary names the first runs of each reason, whoever came first."""
    store = root / "store"
    for name in ("e", "b", "d", "a", "c"):
        make_run(store / f"power_audit_{name}", name, parts=("csv", "agg"))
    for jobs in ("1", "4"):
        done = program("backfill", store, "--jobs", jobs)
        checks.add(f"the summary of {jobs} at a time",
                   [] if re.search(r"(?m)^  benchmark_result_missing +5  .*\n    a, b, c, \.\.\.$",
                                   joined(done.stdout)) else [done.stdout])


def what_helps_a_store(root, checks):
    """Runs of one name are listed by their paths; each remedy names what the command has."""
    store = root / "store"
    for name in ("a", "b", "c", "d"):
        make_run(store / name, "run", parts=("raw", "agg"))
    done = program("backfill", store)
    shown = " ".join(joined(done.stdout).split())
    checks.add("the paths", [] if ", ".join(f"{store}/{name}/agg_run.json" for name in "abc") + ", ..." in shown else [shown])
    checks.add("the name", [] if "telemetry_file_missing 4 name the recording gpu_metrics.csv" in shown else [shown])
    other = root / "other"
    other.mkdir()
    for name in ("vllm.json", "gpu_metrics.csv"):
        shutil.copy(ROOT / "testdata" / "results" / name, other)
    (other / "agg_vllm.json").write_text('{"tp": 2}')
    shown = " ".join(joined(program("backfill", other).stdout).split())
    checks.add("a window that is not exact",
               [] if "window_not_exact 1 give --window estimated or wrapped, or --result-timezone, as the details in --report say" in shown
               else [shown])


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
        checks.add(f"{name}: its remedy", [] if row in joined(done.stderr.decode()) else [done.stderr])
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


# The fields of batch/v1 that the manifest uses, by the API reference of Kubernetes 1.30.
TEXT, COUNT = str, int
JOB_FIELDS = {
    "apiVersion": TEXT, "kind": TEXT, "metadata": {"name": TEXT},
    "spec": {
        "completionMode": TEXT, "completions": COUNT, "parallelism": COUNT, "backoffLimit": COUNT,
        "template": {"spec": {
            "restartPolicy": TEXT,
            "containers": [{"name": TEXT, "image": TEXT, "command": [TEXT],
                            "env": [{"name": TEXT, "value": TEXT, "valueFrom": {"fieldRef": {"fieldPath": TEXT}}}],
                            "resources": {"requests": {"cpu": TEXT, "memory": TEXT}, "limits": {"memory": TEXT}},
                            "volumeMounts": [{"name": TEXT, "mountPath": TEXT}]}],
            "volumes": [{"name": TEXT, "persistentVolumeClaim": {"claimName": TEXT}}]}}}}


def misfits(value, fields, at="job"):
    """Where a value is not of the type that its field has, or has no field."""
    if isinstance(fields, dict) and isinstance(value, dict):
        return [fault for key, one in value.items() for fault in (
            misfits(one, fields[key], f"{at}.{key}") if key in fields else [f"{at}.{key}: no such field"])]
    if isinstance(fields, list) and isinstance(value, list):
        return [fault for i, one in enumerate(value) for fault in misfits(one, fields[0], f"{at}[{i}]")]
    return [] if isinstance(fields, type) and type(value) is fields else [f"{at}: {value!r}"]


def kubernetes_job(root, checks):
    """The pods of scripts/backfill.yaml, one after the other, do what one run does."""
    job = yaml.safe_load((ROOT / "scripts" / "backfill.yaml").read_text())
    same(checks, "the manifest's fields", [], misfits(job, JOB_FIELDS))
    same(checks, "a pod is of an indexed job", ("batch/v1", "Job", "Indexed", "Never"), (
        job["apiVersion"], job["kind"], job["spec"]["completionMode"], job["spec"]["template"]["spec"]["restartPolicy"]))
    pod = job["spec"]["template"]["spec"]
    container = pod["containers"][0]
    mounts = [mount["name"] for mount in container["volumeMounts"]]
    same(checks, "mounts are volumes", mounts, [volume["name"] for volume in pod["volumes"]])
    given = {one["name"]: one.get("value") for one in container["env"]}
    same(checks, "JOB_COMPLETIONS", str(job["spec"]["completions"]), given["JOB_COMPLETIONS"])
    build_store(root / "whole" / "store", 100, 5, archives=False)
    shutil.copytree(root / "whole", root / "artifacts", symlinks=True)
    backfill(root / "whole" / "store")
    for i in range(job["spec"]["completions"]):
        words = [word.replace("$(JOB_COMPLETION_INDEX)", str(i)).replace("/artifacts", str(root / "artifacts"))
                 for word in container["command"]]
        done = backfill(*words[2:], environment={**given, "JOB_COMPLETION_INDEX": str(i)})
        checks.add(f"pod {i}", [] if done.returncode in (0, 1) else [done.stderr])
    same(checks, "the store", patching.contents(root / "whole" / "store"), patching.contents(root / "artifacts" / "store"))
    reports = sorted((root / "artifacts").glob("backfill-*.jsonl"))
    same(checks, "reports", job["spec"]["completions"], len(reports))
    same(checks, "runs", len(os.listdir(root / "whole" / "store")) > 0, sum(len(read_report(one)) for one in reports) > 0)


EVERY = ",".join(judging.OUTCOMES)


def listed(done):
    """What --list printed: path to reason codes."""
    return dict(line.split("\t") for line in
                done.stdout.decode(errors="surrogateescape").splitlines())


def with_runs(store, lines, *options, **more):
    """A dry run of the runs on a list, given on standard input."""
    return subprocess.run([patching.PROGRAM, "backfill", *([store] if store else []), "--dry-run",
                           "--list", EVERY, "--runs", "-", *judging.BY_EDGES, *options], env=patching.ENVIRONMENT,
                          input=b"".join(os.fsencode(line) + b"\n" for line in lines),
                          capture_output=True, timeout=120, **more)


def runs_by_path(root, checks):
    """What is listed is done as if all were, though the store is not searched."""
    store, whole_store = root / "store", root / "whole"
    build_store(store, 300, 6, archives=False)
    subprocess.run(["cp", "-a", store, whole_store], check=True)
    whole = {path.replace(str(whole_store), str(store)): codes
             for path, codes in listed(backfill(whole_store, "--list", EVERY)).items()}
    aggregates = [path for path in whole if path.endswith(".json") and pathlib.Path(path).is_file()]
    chosen = aggregates[::3]
    runs = root / "runs"
    runs.write_bytes(b"".join(os.fsencode(path) + b"\n" for path in chosen))
    before = judging.contents(store)
    found = listed(backfill(store, "--runs", runs, "--list", EVERY))
    same(checks, "by path: just those that are listed", sorted(chosen), sorted(found))
    far = {path for path, codes in found.items() if codes != whole[path]}
    checks.add("by path: they end as if all were done, but for those with files far off",
               [f"{path}: {found[path]!r}, not {whole[path]!r}" for path in sorted(far)
                if not set(found[path].split(",")) <= {"benchmark_result_missing",
                                                       "telemetry_file_missing"}])
    checks.add("by path: most have all near them",
               [] if len(far) < len(chosen) / 2 else [f"{len(far)} of {len(chosen)}"])
    wanted, done = judging.contents(whole_store), judging.contents(store)
    touched = {os.path.relpath(path, store) for path in chosen if path not in far}
    touched |= {judging.sidecar_path(path) for path in touched}
    checks.add("by path: the files are those of a whole backfill, others are untouched",
               judging.differences({path: wanted[path] if path in touched else before.get(path)
                                    for path in done}, done))
    # A name makes it search the store, and then what is far off is found as well.
    name = next(iter(sorted(far)))
    stem = os.path.basename(name)[len("agg_"):-len(".json")]
    found = listed(with_runs(store, [*chosen, stem]))
    checks.add("with a name the store is searched",
               [f"{path}: {found.get(path)!r}, not {whole[path]!r}" for path in chosen
                if found.get(path) != whole[path]])


def a_temporary_in_the_list(root, checks):
    """A list made by find(1) may name what a killed run left."""
    store = root / "store"
    make_run(store / "a", "a")
    left = store / "a" / ".agg_a.json.0aZ9bY8c.aggregate-power.tmp"
    left.write_text("{}")
    runs = root / "runs"
    runs.write_text(f"{left}\n{store}/a/agg_a.json\n")
    found = listed(backfill(store, "--runs", runs, "--list", EVERY))
    same(checks, "a temporary in the list is not found, and the rest is done",
         {str(left): "run_not_found"}, {path: codes for path, codes in found.items() if codes})
    same(checks, "the run beside the temporary", 1,
         json.loads((store / "a" / "agg_a.json").read_text())["power_valid"])


def no_store_is_listed(root, checks):
    """With paths alone no folder is listed but those that are written to."""
    store, log = root / "store", root / "log"
    for name in ("a", "b", "c"):
        make_run(store / "deep" / f"power_audit_{name}", name)
    make_run(store / "far", "d", parts=("raw",))
    make_run(store / "bmk_d", "d", parts=("agg",))
    make_run(store / "gpu_metrics_d", "d", parts=("csv",))
    runs = root / "runs"
    runs.write_text(f"{store}/deep/power_audit_b/agg_b.json\n{store}/bmk_d/agg_d.json\n")
    watched = {"FAULT_ROOT": str(store), "FAULT_LOG": str(log), "LD_PRELOAD": patching.SHIM}
    done = backfill(store, "--runs", runs, "--list", EVERY, "--no-sandbox", program=patching.DYNAMIC,
                    environment=watched)
    same(checks, "one is done, the other's result is far off",
         {f"{store}/deep/power_audit_b/agg_b.json": "",
          f"{store}/bmk_d/agg_d.json": "benchmark_result_missing"}, listed(done))
    row = ("  benchmark_result_missing           1  only files near the run were considered: keep them "
           "there, or give --runs the run's name instead of its path\n    d\n")
    checks.add("and the summary says so", [] if row in joined(done.stderr.decode()) else [done.stderr])
    opened = {line.split()[2].rstrip("/") for line in log.read_text().splitlines()
              if line.split()[1] == "opendir"}
    same(checks, "folders that are listed", {f"{store}/deep/power_audit_b"}, opened)
    log.write_text("")
    runs.write_text("d\n")
    done = backfill(store, "--runs", runs, "--list", EVERY, "--no-sandbox", program=patching.DYNAMIC,
                    environment=watched)
    same(checks, "by its name it is done", {f"{store}/bmk_d/agg_d.json": ""}, listed(done))
    opened = {line.split()[2] for line in log.read_text().splitlines()
              if line.split()[1] == "opendir"}
    checks.add("then all folders are listed",
               [] if opened >= {str(store), f"{store}/far", f"{store}/deep"} else [str(opened)])


def lines_of_lists(root, checks):
    """However a line is written; what leads to no run is reported, and counted."""
    store, other = root / "store", root / "other"
    make_run(store / "power_audit_a", "a")
    make_run(store / "power_audit_b", "b")
    make_run(store / "power_audit_b" / "below", "deep")
    make_run(store / "results_bmk", "none")
    make_run(other, "c")
    make_run(root / "elsewhere", "e")
    (store / "link").symlink_to(store / "power_audit_a")
    make_run(root / "packed", "z")
    zip_of(store / "power_audit_z.zip", root / "packed")
    agg = store / "power_audit_a" / "agg_a.json"
    good = ((str(agg), str(agg)), ("store/power_audit_a/agg_a.json", str(agg)),
            ("./store//power_audit_a/./agg_a.json", str(agg)), (f"{agg}\r", str(agg)),
            (f"{agg}\tsampling_gap_exceeded", str(agg)), ("a", str(agg)),
            ("store/power_audit_b/below/agg_deep.json", f"{store}/power_audit_b/below/agg_deep.json"),
            (f"{other}/agg_c.json", f"{other}/agg_c.json"))
    for line, path in good:
        done = with_runs(store, [line, "", "  "], other, cwd=root)
        same(checks, f"the line {line!r}", (0, {path: ""}), (done.returncode, listed(done)))
    same(checks, "a run in an archive", {f"{store}/power_audit_z.zip/agg_z.json": ""},
         listed(with_runs(store, [f"{store}/power_audit_z.zip/agg_z.json"], "--output",
                          root / "output")))
    same(checks, "the archive as the store", {f"{store}/power_audit_z.zip/agg_z.json": ""},
         listed(with_runs(store / "power_audit_z.zip", [f"{store}/power_audit_z.zip/agg_z.json"],
                          "--output", root / "output")))
    bad = (f"{store}/power_audit_a/agg_x.json", f"{root}/elsewhere/agg_e.json", "elsewhere/agg_e.json",
           f"{store}/power_audit_a", f"{store}/power_audit_a/a.json", f"{store}/link/agg_a.json",
           f"{store}/power_audit_b/../power_audit_a/agg_a.json", f"{store}/results_bmk/agg_none.json",
           f"{store}/power_audit_a/agg_a.json/agg_a.json", f"{store}/power_audit_z.zip",
           f"{store}/power_audit_z.zip/agg_x.json", "x", "agg_a", "agg_x.json", f"{agg}\0", "/")
    for line in bad:
        done = with_runs(store, [line], other, "--output", root / "output", cwd=root)
        same(checks, f"the line {line!r} leads to no run", (1, ["run_not_found"]),
             (done.returncode, list(listed(done).values())))
        checks.add(f"the line {line!r} is reported", [] if b": failed: run_not_found (" in done.stderr
                   else [done.stderr])
    report = root / "report.jsonl"
    done = with_runs(store, [str(agg), "a", "store/power_audit_a/agg_a.json", "b", "b", bad[0], bad[0]],
                     "--report", report, cwd=root)
    same(checks, "by path and by name, each once or twice",
         {"a": ["patched", "patched"], "b": ["patched"], "agg_x.json": ["failed"]},
         {run: [line["outcome"] for line in read_report(report) if line["run"] == run]
          for run in {line["run"] for line in read_report(report)}})
    for lines in ([], ["", " "]):
        done = with_runs(store, lines)
        same(checks, "an empty list", (0, b""), (done.returncode, done.stdout))
    for what, words in (("no such file", [root / "none"]), ("a folder", [root])):
        done = backfill(store, "--dry-run", "--runs", *words)
        same(checks, f"--runs of {what}", (2, b""), (done.returncode, done.stdout))
    same(checks, "a line without end", 2, with_runs(store, ["x" * 70000]).returncode)


def parts_of_lists(root, checks):
    """--shard and --only choose among the runs that are listed; no line is reported twice or never."""
    store = root / "store"
    names = [f"r{i}" for i in range(12)]
    for name in names:
        make_run(store / f"power_audit_{name}", name)
    make_run(root / "packed", "packed")
    for i in range(6):
        zip_of(store / f"power_audit_z{i}.zip", root / "packed")
        zip_of(store / f"z{i}.zip", root / "packed")
    missing = [f"{store}/{folder}{i}{end}/agg_x.json" for i in range(6)
               for folder, end in (("none", ""), ("power_audit_z", ".zip"), ("z", ".zip"))]
    missing += ["nobody", "noone"]
    for kind, lines in (("paths", [f"{store}/power_audit_{name}/agg_{name}.json" for name in names[:8]]),
                        ("names", names[:8])):
        whole = listed(with_runs(store, lines + missing))
        same(checks, f"{kind}: all", (8 + len(missing), len(missing)),
             (len(whole), sum(codes == "run_not_found" for codes in whole.values())))
        parts = [listed(with_runs(store, lines + missing, "--shard", f"{i}/3")) for i in range(3)]
        same(checks, f"{kind}: in three parts each once", sorted(whole),
             sorted(path for part in parts for path in part))
        some = listed(with_runs(store, lines, "--only", "r[12]"))
        same(checks, f"{kind}: --only", 2, len(some))


UNSAFE = ("files on a mount without locks or atomic renames are not replaced: give --output FOLDER on a "
          "local disk")


def refused_in_place(root, store, checks, what, why, **more):
    """Nothing on the mount is written without --output; a dry run says so too."""
    before = patching.contents(store)
    for options in (["--dry-run"], []):
        done = backfill(store, "--list", EVERY, *options, **more)
        same(checks, f"{what} {options}: it is not writable",
             (0, {f"{store}/power_audit_r/agg_r.json": "replacement_unsafe",
                  f"{store}/power_audit_x/agg_x.json": "telemetry_file_missing"}),
             (done.returncode, listed(done)))
        checks.add(f"{what} {options}: its remedy", [] if UNSAFE in joined(done.stderr.decode())
                   else [done.stderr])
        same(checks, f"{what} {options}: the store", before, patching.contents(store))
    report = root / f"{what}.jsonl"
    backfill(store, "--report", report, **more)
    same(checks, f"{what}: why", f"replacement_unsafe ({store}/power_audit_r/agg_r.json: {why})",
         next(line["details"] for line in read_report(report) if line["run"] == "r"))
    output = root / f"output of {what}"
    done = backfill(store, "--output", output, "--list", "patched", **more)
    same(checks, f"{what}: with --output it is done", (0, {f"{store}/power_audit_r/agg_r.json": ""}, 2),
         (done.returncode, listed(done), len(list((output / "power_audit_r").iterdir()))))
    same(checks, f"{what}: with --output, the store", before, patching.contents(store))


def make_two(store):
    make_run(store / "power_audit_r", "r")
    make_run(store / "power_audit_x", "x", parts=("raw", "agg"))


def no_locks(root, checks):
    store = root / "store"
    make_two(store)
    for number in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
        refused_in_place(root, store, checks, errno.errorcode[number], "its file system has no locks",
                         program=patching.DYNAMIC, environment=failing("flock", number, store))
    done = backfill(store, "--list", "patched,failed")
    same(checks, "with locks it is done", {f"{store}/power_audit_r/agg_r.json": ""}, listed(done))
    done = backfill(store, "--list", "unchanged,not_writable", program=patching.DYNAMIC,
                    environment=failing("flock", errno.ENOLCK, store))
    same(checks, "what is done is unchanged without locks", {f"{store}/power_audit_r/agg_r.json": ""},
         listed(done))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def web_mount(remote, mount):
    """A folder, served as WebDAV and mounted by rclone; None where that cannot be had."""
    if shutil.which("rclone") is None or not os.access("/dev/fuse", os.W_OK):
        yield None
        return
    mount.mkdir()
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    port = free_port()
    serving = subprocess.Popen(["rclone", "serve", "webdav", remote, "--addr", f"127.0.0.1:{port}"],
                               **quiet)
    mounting = subprocess.Popen(["rclone", "mount", ":webdav:", mount, "--webdav-url",
                                 f"http://127.0.0.1:{port}", "--vfs-cache-mode", "writes",
                                 "--cache-dir", mount.parent / "cache"], **quiet)
    try:
        for _ in range(100):
            if os.path.ismount(mount) or mounting.poll() is not None:
                break
            time.sleep(0.1)
        yield mount if os.path.ismount(mount) else None
    finally:
        mounting.terminate()
        mounting.wait(timeout=30)
        serving.terminate()
        serving.wait(timeout=30)


def web_folders(root, checks):
    make_two(root / "remote" / "store")
    with web_mount(root / "remote", root / "mount") as mount:
        if mount is None:
            print("skipped: a mount of a web folder, which needs rclone and FUSE")
            return
        refused_in_place(root, mount / "store", checks, "rclone",
                         "it is on a mount of rclone, which has no atomic renames")


CASES = (lists, unknown_outcomes, dry_runs_are_sorted, first_names, what_helps_a_store, remedies,
         shards_of_a_scheduler, kubernetes_job, runs_by_path, a_temporary_in_the_list,
         no_store_is_listed, lines_of_lists, parts_of_lists, no_locks, web_folders)


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
