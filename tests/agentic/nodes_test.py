#!/usr/bin/env python3
"""Checks 'aggregate-power agentic --power-dir': loads of agents on several nodes.

Two prefill GPUs at 400 W and two decode GPUs at 300 W for the 60 s of the load of concurrency 4: 84,000 J, of
them 48,000 J of prefill and 36,000 J of decode. Its formal result counts 10 requests, 30,000 tokens in and 6,000
out.

usage: tests/agentic/nodes_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import gzip
import json
import os
import pathlib
import resource
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "multinode"))
import package_bed  # noqa: E402  (beside the tests that share it)
from package_bed import METRICS, VERDICT, WHOLE, Bed, cpu_key, differences, patching, record_keys  # noqa: E402
from package_builder import PIN, AgenticLoad, Gpu, Load, Package, edit_json  # noqa: E402

DISAGG = {"num_prefill_gpu": 2, "num_decode_gpu": 2, "disagg": True}
SOURCE = "aiperf_multinode_custom_benchmark"
AGGREGATE, TOPOLOGY, FORMAL, OUTSIDE, SHA = GATES = (
    "agentic_aggregate_invalid", "agentic_gpu_topology_invalid", "formal_benchmark_result_missing",
    "agentic_result_outside_logs_root", "expected_producer_sha_invalid")
MISMATCH = "agentic_concurrency_mismatch"
ONE = AgenticLoad(4, 1000.0, 1060.0)
OTHER = AgenticLoad(16, 1100.0, 1110.0)
ONE_NAME = "agentic_power_concurrency_4.json"


class NodesBed(Bed):
    """A package of loads of agents in a folder of its own; the run is that of concurrency 4."""

    def __init__(self, folder, package=None, aggregate=None):
        package = package or Package(loads=[ONE])
        package.aggregate = {"hw": "gb200", **(aggregate or DISAGG)}
        super().__init__(folder, package)
        self.bench.unlink()
        self.results = self.logs / package.loads[0].folder
        self.formal = self.results / "agentic_power_concurrency_4.json"
        self.record_path = self.results / "power_validation.json"

    def run(self, *more, pin=PIN, result_dir=None, aggregate="agg_run.json", environment=None, **options):
        arguments = ["agentic", "--result-dir", result_dir or str(self.results.relative_to(self.folder)),
                     "--agg-result", aggregate, "--power-dir", "LOGS/power", "--logs-root", "LOGS"]
        pin = [] if pin is None else ["--expected-producer-sha", pin]
        return self.plain(*arguments, *pin, *more, environment=environment, **options)


class Ground(package_bed.Ground):
    def bed(self, package=None, aggregate=None):
        self.count += 1
        folder = self.root / str(self.count)
        folder.mkdir()
        return NodesBed(folder, package, aggregate)


def is_valid(bed, metrics=None, more=(), **run):
    """The faults of a run that must be valid; in the aggregate just these metrics, in order."""
    before = json.loads(bed.aggregate.read_text())
    metrics = METRICS if metrics is None else metrics
    done = bed.run("--require-power", *more, **run)
    if done.returncode != 0:
        return [f"status {done.returncode}: {done.err}"]
    kept = {key: value for key, value in before.items() if key not in METRICS}
    return [*differences("aggregate", bed.row, kept | VERDICT | metrics),
            *differences("order", list(bed.row)[-len(metrics):], list(metrics)),
            *differences("reasons", bed.record["reasons"], []),
            *differences("window's source", bed.record["computed_from"]["window_source"], SOURCE),
            *differences("record's keys", list(bed.record), record_keys())]


def is_void(bed, reasons, refused=True, **run):
    """The faults of a run that must not be valid, in both modes. Where it is refused, nothing was said of the
    package."""
    before = bed.aggregate.read_bytes() if bed.aggregate.exists() else None
    package = patching.contents(bed.power)
    faults = []
    for status, mode in ((0, ()), (1, ("--require-power",))):
        bed.record_path.unlink(missing_ok=True)
        done = bed.run(*mode, **run)
        faults += differences("status", (done.returncode, done.out), (status, ""))
        if not done.err.startswith(f"aggregate-power: power not valid: {reasons[0]}"):
            faults.append(f"stderr: {done.err!r}")
        faults += [f"not said: {reason}" for reason in reasons if reason not in done.err]
    record = bed.record
    if refused:
        faults += differences("October's record", record, {"power_valid": False, "reasons": list(reasons),
                                                           "window_source": SOURCE})
        bed.run("--compat", "august", **run)
        record = bed.record
    faults += differences("reasons", record["reasons"], list(reasons))
    faults += differences("verdict", (record["power_valid"], record["metrics"]), (False, {}))
    faults += differences("window's source", record.get("window_source"), SOURCE if refused else None)
    faults += differences("window's source", record["computed_from"]["window_source"], SOURCE)
    if refused:
        faults += differences("the package was looked at", (record["producer"]["producer_git_commit"],
                                                            record["observed_gpu_count"]), (None, 0))
        faults += differences("GPUs", record["expected_gpu_count"], 0 if TOPOLOGY in reasons else 4)
        faults += differences("record's last", list(record)[-2:], ["window_source", "computed_from"])
    try:
        row = json.loads(before)
        assert isinstance(row, dict)
        kept = {key: value for key, value in row.items() if key not in METRICS}
        faults += differences("aggregate", bed.row, kept | VERDICT | {"power_valid": 0})
    except (TypeError, ValueError, AssertionError):
        after = bed.aggregate.read_bytes() if bed.aggregate.exists() else None
        faults += differences("aggregate", after, before)
    return faults + differences("package", patching.contents(bed.power), package)


# ---- Runs that are right

def disaggregated(ground, checks):
    bed = ground.bed()
    checks.add("prefill and decode", is_valid(bed))
    checks.add("roles sum to the whole", differences(
        "energy", bed.row["prefill_gpu_energy_j"] + bed.row["decode_gpu_energy_j"], bed.row["total_gpu_energy_j"]))
    checks.add("the selected window", differences("window", bed.record["selected_window"], {
        "window_file": "windows/agentic_power_concurrency_4.json", "benchmark_type": "custom", "concurrency": 4,
        "result_path": "agentic/conc_4/agentic_power_concurrency_4.json", "start_time_unix": 1000.0,
        "end_time_unix": 1060.0, "duration": 60.0, "power_valid": True, "metrics": METRICS}) + differences(
            "result", bed.record["benchmark_result"], "LOGS/agentic/conc_4/agentic_power_concurrency_4.json"))
    before = patching.contents(bed.folder)
    done = bed.run()
    checks.add("what is said", differences("stdout", done.out, (
        "aggregate-power: avg_power_w=350.00 total_gpu_energy_j=84000.00 prefill_gpu_energy_j=48000.00 "
        "decode_gpu_energy_j=36000.00 (n=4) -> agg_run.json\n")))
    checks.add("a second time", differences("files", patching.contents(bed.folder), before))


def aggregated(ground, checks):
    """Workers that do both: no keys of roles, whichever way the aggregate counts its GPUs."""
    gpus = [Gpu(host, index, "agg", 350.0) for host in ("a", "b") for index in range(2)]
    whole = {key: METRICS[key] for key in WHOLE}
    for counts in ((4, 0), (0, 4), (3, 1)):
        bed = ground.bed(Package(gpus, [ONE]), {"num_prefill_gpu": counts[0], "num_decode_gpu": counts[1],
                                                "disagg": False})
        checks.add(f"not disaggregated: {counts}", is_valid(bed, whole))
    gpus = [Gpu("a", index, "prefill", 350.0) for index in range(4)]
    bed = ground.bed(Package(gpus, [ONE]), {"num_prefill_gpu": 4, "num_decode_gpu": 0, "disagg": True})
    prefill = {"prefill_gpu_energy_j": 84000.0, "prefill_avg_power_w": 350.0, "prefill_joules_per_input_token": 2.8}
    checks.add("prefill alone", is_valid(bed, whole | prefill))


def places(ground, checks):
    package = Package(loads=[AgenticLoad(4, 1000.0, 1060.0, "agentic")])
    checks.add("one load in LOGS/agentic", is_valid(ground.bed(package)))
    package = Package(loads=[AgenticLoad(4, 1000.0, 1060.0, ".")])
    checks.add("one load in the logs root", is_valid(ground.bed(package)))
    bed = ground.bed()
    (bed.folder / "link").symlink_to("LOGS/agentic/conc_4")
    checks.add("a link to what lies below", is_valid(bed, result_dir="link"))
    for pin in (None, ""):
        checks.add(f"what the environment says, {pin!r}", (is_valid if pin is None else is_void)(
            ground.bed(), *([[SHA]] if pin == "" else []), pin=pin, environment={"POWER_PRODUCER_SHA": PIN}))
    bed = ground.bed()
    arguments = ["agentic", "--result-dir", "LOGS/agentic/conc_4", "--agg-result", "agg_run.json", "--power-dir",
                 "LOGS/power", "--expected-producer-sha", PIN, "--require-power"]
    checks.add("LOGS where no root is given", differences("status", bed.plain(*arguments).returncode, 0))
    bed = ground.bed()
    bed.logs.rename(bed.folder / "logs")
    arguments = [word.replace("LOGS", "logs") for word in arguments]
    done = bed.plain(*arguments, environment={"POWER_RESULT_ROOT": "logs"})
    checks.add("the root of the environment", differences("status", done.returncode, 0))
    checks.add("not the root of the environment", differences("status", bed.plain(*arguments).returncode, 1))


def loads(ground, checks):
    """Each load has a window, a result folder and an aggregate of its own."""
    bed = ground.bed(Package(loads=[ONE, OTHER]))
    checks.add("the first of two", is_valid(bed))
    # 1,400 W for 10 s.
    bed.record_path = bed.logs / "agentic/conc_16/power_validation.json"
    done = bed.run("--require-power", result_dir="LOGS/agentic/conc_16")
    checks.add("the second", differences("status", done.returncode, 0)
               + differences("energy", bed.row["total_gpu_energy_j"], 14000.0)
               + differences("window", bed.record["selected_window"]["concurrency"], 16))
    bed = ground.bed(Package(loads=[ONE, OTHER]))
    (bed.windows / "agentic_power_concurrency_16.json").write_text("{")
    faults = is_void(bed, ["package_recompute_invalid", "producer_verdict_mismatch"], refused=False)
    checks.add("a broken sibling", faults)
    edit_json(bed.manifest, publication_valid=False)
    checks.add("a broken sibling, salvaged", is_valid(bed, more=["--salvage"]))


def package_faults(ground, checks):
    bed = ground.bed()
    bed.lines(lambda rows: [row for row in rows if not 1020 < float(row[1]) < 1025])
    checks.add("a gap in the samples", is_void(
        bed, ["package_recompute_invalid", "producer_verdict_mismatch"], refused=False))
    bed = ground.bed(aggregate=DISAGG | {"disagg": False})
    checks.add("other roles than were recorded", is_void(bed, ["topology_env_mismatch"], refused=False))
    bed = ground.bed()
    shutil.rmtree(bed.power)
    bed.power.mkdir()
    checks.add("an empty package", is_void(bed, ["manifest_missing"], refused=False)
               + differences("GPUs", bed.record["expected_gpu_count"], 0))
    checks.add("another recorder", is_void(ground.bed(), ["producer_commit_mismatch"], refused=False, pin="ab" * 20))


# ---- Failed requests

def request(start_s, end_s, failed=False, phase="profiling"):
    """In flight from and to so many seconds behind the load's start."""
    return {"metadata": {"request_start_ns": int((1000 + start_s) * 10**9), "benchmark_phase": phase,
                         "request_end_ns": int((1000 + end_s) * 10**9)},
            "metrics": {}, "error": {"code": 499} if failed else None}


def with_requests(bed, *requests, folder="aiperf_artifacts", pack=bytes, name="profile_export.jsonl"):
    profile = bed.results / folder
    profile.mkdir(parents=True)
    if any(one["error"] for one in requests):  # among many of no length, so that it is less than 5 %
        start_ns = requests[0]["metadata"].get("request_start_ns", 10**12)
        requests = (*[request(start_ns / 10**9 - 1000, start_ns / 10**9 - 1000)] * 40, *requests)
    (profile / name).write_bytes(pack("".join(json.dumps(one) + "\n" for one in requests).encode()))
    return bed


def told(count, joules):
    return {"count": count, "energy_share_j": joules, "method": "power_shared_equally_by_requests_in_flight"}


def failed_requests(ground, checks):
    """1,400 W are shared equally by the requests in flight."""
    good, bad = request(0, 60), request(0, 30, failed=True)
    keys = [*record_keys()[:-1], "failed_requests", "computed_from"]
    for name, bed, wanted in (
            ("none", with_requests(ground.bed(), good), told(0, 0.0)),
            # For 30 s one of two.
            ("one", with_requests(ground.bed(), good, bad), told(1, 21000.0)),
            ("its end behind the load's", with_requests(ground.bed(), request(30, 90, failed=True)), told(1, 42000.0)),
            ("in the warm-up", with_requests(ground.bed(), good, request(-5, 20, True, "warmup")), told(0, 0.0)),
            ("beside the warm-up", with_requests(ground.bed(), request(-5, 30, phase="warmup"), bad), told(1, 21000.0)),
            ("compressed, a folder below", with_requests(
                ground.bed(), good, bad, folder="aiperf_artifacts/run_1", pack=gzip.compress,
                name="profile_export.jsonl.gz"), told(1, 21000.0)),
            ("not in the load at all", with_requests(ground.bed(), request(90, 95, failed=True)), told(1, None)),
            ("not told when", with_requests(ground.bed(), {"metadata": {}, "error": "lost"}), told(1, None))):
        done = bed.run("--require-power")
        checks.add(f"failed requests: {name}", differences("status", (done.returncode, done.err), (0, ""))
                   + differences("record", bed.record.get("failed_requests"), wanted)
                   + differences("keys", list(bed.record), keys)
                   + differences("aggregate", bed.row, {"hw": "gb200"} | DISAGG | VERDICT | METRICS))
    plain, both = with_requests(ground.bed(), good, bad), with_requests(ground.bed(), good, bad)
    plain.run()
    both.run("--extended")
    checks.add("failed requests: extended", differences("record", both.record["failed_requests"], told(1, 21000.0))
               + differences("metrics", plain.record["metrics"],
                             {key: both.record["metrics"].get(key) for key in plain.record["metrics"]}))
    bed = with_requests(ground.bed(), good, bad)
    bed.lines(lambda rows: [row for row in rows if not 1020 < float(row[1]) < 1025])
    bed.run()
    checks.add("failed requests: not valid", differences("record", bed.record["failed_requests"], told(1, None)))
    bed.run(pin="5e")
    checks.add("failed requests: refused", differences("record", "failed_requests" in bed.record, False))
    bed = with_requests(ground.bed(), good, pack=lambda data: data + b'{"metadata')
    checks.add("failed requests: broken records of a refused run", is_void(bed, [SHA], pin="5e"))
    bed = with_requests(ground.bed(), good, pack=lambda data: data + b'{"metadata')
    done = bed.run("--require-power")
    message = "aggregate-power: failed requests are not known: LOGS/agentic/conc_4/aiperf_artifacts/profile_export.jsonl:2:"
    checks.add("failed requests: broken records", differences("status", done.returncode, 0)
               + differences("record", list(bed.record), record_keys())
               + ([] if done.err.startswith(message) else [done.err]))
    bed = with_requests(ground.bed(), good, bad)
    bed.record_path.symlink_to("aiperf_artifacts/profile_export.jsonl")
    before = patching.contents(bed.results)
    done = bed.run("--require-power")
    checks.add("failed requests: the record would overwrite them", differences("status", done.returncode, 1)
               + differences("files", patching.contents(bed.results), before))


# ---- Gates

def aggregates(ground, checks):
    """What is no object says nothing of GPUs either. It stays as it is."""
    for name, text in (("no JSON", b'{"disagg": true'), ("no object", b"[]"), ("empty", b""),
                       ("no text", b'{"hw": "\xff"}'), ("number", b"5")):
        bed = ground.bed()
        bed.aggregate.write_bytes(text)
        checks.add(f"aggregate: {name}", is_void(bed, [AGGREGATE, TOPOLOGY, "aggregate_result_unwritable"]))
    bed = ground.bed()
    bed.aggregate.unlink()
    checks.add("aggregate: missing", is_void(bed, [AGGREGATE, TOPOLOGY, "aggregate_result_missing"]))
    bed = ground.bed()
    edit_json(bed.aggregate, avg_power_w=9, cpu_power_valid=1, total_cpu_energy_j=3, power_invalid_reasons=["x"],
              prefill_gpu_energy_j=1, decode_joules_per_output_token=2, tput=7, disagg=...)
    before = bed.row
    bed.run()
    checks.add("stale keys go", differences("aggregate", bed.row, {"hw": "gb200", "num_prefill_gpu": 2,
                                                                   "num_decode_gpu": 2, "tput": 7,
                                                                   "power_metric_schema_version": 2,
                                                                   "power_valid": 0})
               + differences("they were there", before["avg_power_w"], 9))


def odd_aggregates(ground, checks):
    """Nothing waits for what never ends, and whatever the aggregate is there is a record."""
    bed = ground.bed()
    bed.aggregate.unlink()
    os.mkfifo(bed.aggregate)
    for name, path, reason in (("a pipe", "agg_run.json", "aggregate_result_missing"),
                               ("a device", "/dev/zero", "aggregate_result_missing"),
                               ("a folder", "LOGS", "aggregate_result_missing"),
                               ("absurdly large", "big.json", "aggregate_result_unwritable")):
        bed.record_path.unlink(missing_ok=True)
        with open(bed.folder / "big.json", "w", encoding="utf-8") as file:
            file.truncate(3 << 30)
        done = bed.run("--require-power", aggregate=path, preexec_fn=little_memory)
        checks.add(f"aggregate: {name}", differences("status", done.returncode, 1)
                   + differences("reasons", bed.record["reasons"], [AGGREGATE, TOPOLOGY, reason])
                   + ([] if f"{AGGREGATE} ({path}: " in done.err else [done.err]))
    bed = ground.bed()
    bed.aggregate.write_text('{"x": [' + "1," * 10**7 + "1], " + json.dumps(DISAGG)[1:])
    done = bed.run("--require-power", preexec_fn=little_memory)
    checks.add("aggregate: large", differences("status", (done.returncode, done.err), (0, "")))


def little_memory():
    resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))


def messages(ground, checks):
    """Where, what; and nothing of what follows from it."""
    counts = "num_prefill_gpu is {}, num_decode_gpu is {}, disagg is {}"
    for name, text, told in (
            ("no JSON", '{"disagg": true', f"{AGGREGATE} (agg_run.json:1:"),
            ("no object", "[]", f"{AGGREGATE} (agg_run.json: expected a JSON object), {TOPOLOGY}, "),
            ("no members", "{}", f"{TOPOLOGY} ({counts.format('missing', 'missing', 'missing')})"),
            ("others", '{"disagg": null, "num_prefill_gpu": [2], "num_decode_gpu": "2"}',
             f"{TOPOLOGY} ({counts.format('an array', chr(39) + '2' + chr(39), 'null')})")):
        bed = ground.bed()
        bed.aggregate.write_text(text)
        done = bed.run()
        checks.add(f"message: {name}", [] if told in done.err else [done.err])


# ---- One load

def named(bed, concurrency):
    """The formal result under another load's name."""
    bed.formal = bed.formal.rename(bed.results / f"agentic_power_concurrency_{concurrency}.json")
    return bed


def concurrencies(ground, checks):
    """The formal result's name and content, the aggregate and the window are of one load."""
    def two():
        return ground.bed(Package(loads=[ONE, OTHER]))

    checks.add("the name is another load's", is_void(named(two(), 16), [MISMATCH]))
    for value in (8, 4.5, "4", True, None, ...):
        bed = ground.bed()
        edit_json(bed.formal, max_concurrency=value)
        checks.add(f"max_concurrency {value!r}", is_void(bed, [MISMATCH]))
    bed = two()
    shutil.copy(bed.logs / "agentic/conc_16/agentic_power_concurrency_16.json", bed.formal)
    checks.add("the content is another load's", is_void(bed, [MISMATCH]))
    edit_json(bed.manifest, publication_valid=False)
    done = bed.run("--salvage")
    checks.add("the content is another load's, salvaged", differences("aggregate", bed.row, {
        "hw": "gb200"} | DISAGG | VERDICT | {"power_valid": 0})
        + ([] if f"{MISMATCH} (LOGS/agentic/conc_4/agentic_power_concurrency_4.json: max_concurrency is 16)" in done.err
           else [done.err]))
    for conc in (8, -4, 2**70, 8.0, 8.5):
        checks.add(f"conc {conc}", is_void(ground.bed(aggregate=DISAGG | {"conc": conc}), [MISMATCH]))
    for conc in (4, 4.0, "8", None, True):
        checks.add(f"conc {conc!r}", is_valid(ground.bed(aggregate=DISAGG | {"conc": conc})))
    bed = ground.bed()
    bed.formal.write_text("{")
    checks.add("a broken formal result", is_void(
        bed, ["package_recompute_invalid", "producer_verdict_mismatch", "invalid_benchmark_result"], refused=False))
    # Of the same numbers, and of another kind.
    bed = ground.bed(Package(loads=[Load(4, 1000.0, 1060.0)]))
    bed.results = bed.logs / "agentic/conc_4"
    bed.results.mkdir(parents=True)
    shutil.copy(bed.logs / "cfg/results_concurrency_4.json", bed.results / "agentic_power_concurrency_4.json")
    bed.record_path = bed.results / "power_validation.json"
    checks.add("another window", is_void(bed, [MISMATCH], refused=False)
               + differences("window", bed.record["selected_window"], None))


def stored(ground, checks):
    """The same of a store."""
    for name, concurrency, conc, wanted in (("one load", 4, 4, []), ("another name", 16, 16, [MISMATCH]),
                                            ("another conc", 4, 5, [MISMATCH])):
        bed = named(ground.bed(), concurrency)
        bed.results.rename(bed.results.with_name(f"conc_{concurrency}"))
        if concurrency != 4:
            bed.results.mkdir()
            shutil.copy(bed.logs / f"agentic/conc_{concurrency}" / bed.formal.name, bed.results / ONE_NAME)
        (bed.power / "power-producer-sha.txt").write_text(PIN)
        audit = bed.folder / "store/power_audit_r"
        audit.mkdir(parents=True)
        bed.logs.rename(audit / "LOGS")
        aggregate = audit / f"r_conc{concurrency}.json"
        aggregate.write_text(json.dumps(DISAGG | {"conc": conc}))
        for more in ((), ("--salvage", "--force")):
            bed.plain("backfill", "store", *more)
            record = json.loads((audit / f"power_validation_r_conc{concurrency}.json").read_text())
            checks.add(f"stored: {name} {more}", differences("reasons", record["reasons"], wanted)
                       + differences("aggregate", json.loads(aggregate.read_text())["power_valid"], int(not wanted)))


def topology(ground, checks):
    for changes in ({"num_prefill_gpu": ...}, {"num_decode_gpu": ...}, {"disagg": ...}, {"num_prefill_gpu": True},
                    {"num_prefill_gpu": -1}, {"num_prefill_gpu": 2.0}, {"num_decode_gpu": "2"},
                    {"num_decode_gpu": None}, {"num_prefill_gpu": 0, "num_decode_gpu": 0}, {"disagg": "true"},
                    {"disagg": 1}, {"disagg": None}, {"num_prefill_gpu": 2**64},
                    {"num_prefill_gpu": 2**63 - 1, "num_decode_gpu": 1}):
        bed = ground.bed()
        edit_json(bed.aggregate, **changes)
        checks.add(f"topology: {changes}", is_void(bed, [TOPOLOGY]))
    for changes in ({"num_prefill_gpu": 0}, {"num_decode_gpu": 0}, {"num_prefill_gpu": 10**12}):
        bed = ground.bed()
        edit_json(bed.aggregate, **changes)
        checks.add(f"topology, of others: {changes}", is_void(bed, ["topology_env_mismatch"], refused=False))


def formal_results(ground, checks):
    def removed(bed):
        bed.formal.unlink()

    def renamed(name):
        return lambda bed: bed.formal.rename(bed.results / name)

    def joined(name):
        return lambda bed: shutil.copy(bed.formal, bed.results / name)

    def a_folder(bed):
        bed.formal.unlink()
        bed.formal.mkdir()

    names = ["agentic_power_concurrency_04.json", "agentic_power_concurrency_0.json",
             "agentic_power_concurrency_.json", "agentic_power_concurrency_4.json.gz",
             "agentic_power_concurrency_4x.json", "agentic_power_concurrency_-4.json", "agentic_power_window.json"]
    for name, tamper in [("none", removed), ("a folder", a_folder),
                         ("two", joined("agentic_power_concurrency_16.json")),
                         *((name, renamed(name)) for name in names)]:
        bed = ground.bed()
        tamper(bed)
        checks.add(f"formal result: {name}", is_void(bed, [FORMAL]))
        checks.add(f"formal result: {name}: the folder is named", differences(
            "record", bed.record["benchmark_result"], "LOGS/agentic/conc_4"))
    for name in names:
        bed = ground.bed()
        joined(name)(bed)
        checks.add(f"formal result: beside {name}", is_valid(bed))


def outside(ground, checks):
    bed = ground.bed()
    shutil.move(bed.results, bed.folder / "elsewhere")
    bed.results.symlink_to("../../elsewhere")
    checks.add("a link out of the logs root", is_void(bed, [OUTSIDE]))
    bed = ground.bed()
    shutil.copytree(bed.results, bed.folder / "LOGS2")
    bed.record_path = bed.folder / "LOGS2/power_validation.json"
    checks.add("a folder beside the logs root", is_void(bed, [OUTSIDE], result_dir="LOGS2"))
    bed = ground.bed()
    shutil.copytree(bed.results, bed.folder / "up")
    bed.record_path = bed.folder / "up/power_validation.json"
    checks.add("a path that leads up", is_void(bed, [OUTSIDE], result_dir="LOGS/../up"))
    bed = ground.bed()
    done = bed.run("--require-power", result_dir="LOGS/agentic/conc_5")
    checks.add("no such folder", differences("status", done.returncode, 1)
               + differences("it is not made", (bed.logs / "agentic/conc_5").exists(), False)
               + differences("aggregate", bed.row["power_valid"], 0)
               + [f"not said: {code} {done.err}" for code in (FORMAL, "validation_result_unwritable")
                  if code not in done.err])


def producer_sha(ground, checks):
    for pin in (None, "", PIN[:-1], PIN + "5", PIN.upper(), "g" * 40, " " + PIN[1:], PIN[:-1] + "\n"):
        checks.add(f"commit {pin!r}", is_void(ground.bed(), [SHA], pin=pin))


def several_gates(ground, checks):
    """All are tried, in one order; the package is not asked."""
    bed = ground.bed()
    bed.aggregate.write_text("{")
    shutil.rmtree(bed.power)
    bed.power.mkdir()
    (bed.folder / "empty").mkdir()
    bed.record_path = bed.folder / "empty/power_validation.json"
    checks.add("all gates", is_void(bed, [*GATES, "aggregate_result_unwritable"], result_dir="empty", pin="5e"))
    bed = ground.bed()
    edit_json(bed.aggregate, disagg="no")
    bed.formal.unlink()
    checks.add("two gates", is_void(bed, [TOPOLOGY, FORMAL]))
    bed = ground.bed()
    edit_json(bed.aggregate, disagg="no")
    checks.add("first and last", is_void(bed, [TOPOLOGY, SHA], pin="none"))


# ---- Options

def dry_runs(ground, checks):
    for name, pin, status, told in (("valid", PIN, 0, "total_gpu_energy_j: absent -> 84000.0"),
                                    ("refused", "no", 1, "power_valid: absent -> 0")):
        bed = ground.bed()
        before = patching.contents(bed.folder)
        done = bed.run("--dry-run", "--require-power", pin=pin)
        checks.add(f"dry run: {name}", differences("status", done.returncode, status)
                   + differences("files", patching.contents(bed.folder), before)
                   + ([] if told in done.out else [f"stdout: {done.out!r}"]))


def audits(ground, checks):
    """Contract-october.md 9.5."""
    bed = ground.bed()
    text = "results/power_validation.json"
    done = bed.run("--audit-source", text, "--require-power")
    checks.add("audit: valid", differences("status", done.returncode, 0)
               + differences("source", bed.row["power_audit"]["source"], text)
               + differences("reasons", bed.row["power_invalid_reasons"], []))
    bed.run("--audit-source", text, pin="5e")
    checks.add("audit: refused", differences("audit", bed.row["power_audit"], {"source": text})
               + differences("reasons", bed.row["power_invalid_reasons"], [SHA]))
    bed.run("--validation-result", "v.json")
    checks.add("record elsewhere", differences(
        "verdict", json.loads((bed.folder / "v.json").read_text())["power_valid"], True)
        + differences("audit", "power_audit" in bed.row, False))


def salvage(ground, checks):
    """Contract-october.md 9.3: 4 s of 60 s are missing."""
    package = Package(loads=[ONE])
    package.rows = [row for row in package.rows if row[5] != "GPU-node-d-0" or not 1010 < float(row[1]) < 1014]
    package.changes |= {"publication_valid": False, "reason_codes": ["sample_gap_exceeded"]}
    bed = ground.bed(package)
    for keys, has_keys in (("seed", True), ("agentx-row", False), ("all", True)):
        bed.run("--salvage", "--keys", keys)
        salvaged = bed.record["salvage"]
        energy = salvaged["total_gpu_energy_j"]
        checks.add(f"salvage, --keys {keys}", differences("verdict", bed.row["power_valid"], 0)
                   + differences("share", salvaged["least_covered_share"], round(1 - 4 / 60, 6))
                   + differences("keys", "salvaged_total_gpu_energy_j" in bed.row, has_keys)
                   + ([] if energy["low"] < 84000 < energy["high"] else [f"interval: {energy}"]))


def extended(ground, checks):
    bed = ground.bed()
    done = bed.run("--extended", "--require-power")
    row = bed.row
    # Power is constant, so every percentile is the mean.
    percentiles = {"p75_total_gpu_power_w": 1400.0, "p90_total_gpu_power_w": 1400.0, "p75_power_w": 350.0,
                   "p90_power_w": 350.0}
    checks.add("extended", differences("status", (done.returncode, done.err), (0, ""))
               + differences("metrics", {key: row[key] for key in METRICS}, METRICS)
               + differences("percentiles", {key: row.get(key) for key in percentiles}, percentiles)
               + differences("source", row["power_audit"]["source"],
                             "LOGS/agentic/conc_4/power_validation.json")
               + differences("workers", [(worker["role"], worker["num_gpus"], worker["avg_power_w"])
                                         for worker in row["workers"]],
                             [("decode", 2, 300.0), ("prefill", 2, 400.0)]))
    bed.run()
    checks.add("extended no more", differences("aggregate", bed.row, {"hw": "gb200"} | DISAGG | VERDICT | METRICS))
    bed.run("--extended", pin="5e")
    checks.add("extended, refused", differences("reasons", bed.row["power_invalid_reasons"], [SHA])
               + differences("audit", bed.row["power_audit"],
                             {"source": "LOGS/agentic/conc_4/power_validation.json"})
               + differences("percentiles", "p75_power_w" in bed.row, False))
    bed.manifest.write_text("{")
    bed.run("--extended")
    checks.add("extended, no manifest", differences("audit", {
        key: value for key, value in bed.row["power_audit"].items() if key.endswith("_count")}, {
            "expected_gpu_count": 4, "observed_gpu_count": 0}))


def cpus(ground, checks):
    bed = ground.bed(Package(loads=[ONE]).add_cpus())
    bed.run("--require-power", "--expected-cpu-source", "acpi")
    # Four sockets of 100 W for 60 s.
    checks.add("CPU power", differences("energy", (bed.row.get("cpu_power_valid"), bed.row.get("total_cpu_energy_j")),
                                        (1, 24000.0)))
    bed.run(pin="5e")
    checks.add("CPU power of a refused run", differences(
        "keys", [key for key in bed.row if "cpu" in key] + [cpu_key()] * (cpu_key() in bed.record), []))


def mixtures(ground, checks):
    bed = ground.bed()
    before = patching.contents(bed.folder)
    base = ["agentic", "--result-dir", "LOGS/agentic/conc_4", "--agg-result", "agg_run.json"]
    for words, message in (
            (["--logs-root", "LOGS"], "--logs-root requires --power-dir"),
            (["--expected-producer-sha", PIN], "--expected-producer-sha requires --power-dir"),
            (["--expected-cpu-source", "acpi"], "--expected-cpu-source requires --power-dir"),
            (["--power-dir", "LOGS/power", "--expected-num-gpus", "1", "--compat", "august"], "--expected-num-gpus"),
            *((["--power-dir", "LOGS/power", option, "1"], option)
              for option in ("--max-sample-gap", "--timestamp-column", "--power-column",
                             "--device-column", "--timezone"))):
        done = bed.plain(*base, *words)
        told = (message,) if "requires" in message else (f"{message} excludes --power-dir",
                                                         f"--power-dir excludes {message}")
        checks.add(f"mixture: {' '.join(words[-2:])}", differences("status", done.returncode, 2)
                   + ([] if any(text in done.err for text in told) else [done.err]))
    for option in ("--result-dir", "--power-dir", "--logs-root"):
        done = bed.run("--require-power", option, "")
        checks.add(f"an empty {option}", differences("status", done.returncode, 2)
                   + ([] if f"error: {option}: expected a name, got ''" in done.err else [done.err]))
    checks.add("mixtures write nothing", differences("files", patching.contents(bed.folder), before))


def inputs_stay(ground, checks):
    """What the run reads is never overwritten."""
    bed = ground.bed()
    shutil.copy(bed.aggregate, bed.record_path)
    before = bed.record_path.read_bytes()
    done = bed.plain("agentic", "--result-dir", "LOGS/agentic/conc_4", "--agg-result",
                     "LOGS/agentic/conc_4/power_validation.json", "--power-dir", "LOGS/power",
                     "--expected-producer-sha", PIN, "--require-power")
    checks.add("the record would be the aggregate", differences("status", done.returncode, 1) + (
        [] if "validation_result_unwritable" in done.err else [done.err]))
    checks.add("it claims nothing", differences("members", json.loads(bed.record_path.read_text()),
                                                json.loads(before) | VERDICT | {"power_valid": 0}))
    def refuse(bed):
        return {"pin": "5e"}

    def break_manifest(bed):
        bed.manifest.write_text("{")

    def break_window(bed):
        (bed.windows / "agentic_power_concurrency_16.json").write_text(
            '{"result_path": "agentic/conc_16/agentic_power_concurrency_16.json"}')

    def two_results(bed):
        shutil.copy(bed.formal, bed.results / "agentic_power_concurrency_8.json")

    names = ("LOGS/agentic/conc_4/agentic_power_concurrency_4.json",
             "LOGS/agentic/conc_16/agentic_power_concurrency_16.json",
             "LOGS/agentic/conc_4/aiperf_artifacts/profile_export.jsonl", "LOGS/power/manifest.json",
             "LOGS/power/samples.csv", "LOGS/power/power-producer-sha.txt", "LOGS/power/cpu/samples.csv",
             "LOGS/power/windows/agentic_power_concurrency_16.json", "LOGS/power/windows/notes/new.json")
    for tamper in (None, refuse, break_manifest, break_window, two_results):
        for name in names:
            for link in (None, os.link, os.symlink):
                bed = with_requests(ground.bed(Package(loads=[ONE, OTHER]).add_cpus()), request(0, 60))
                (bed.windows / "notes").mkdir()
                for extra in ("windows/notes/new.json", "power-producer-sha.txt"):
                    (bed.power / extra).write_text("{}")
                options = (tamper(bed) if tamper else None) or {}
                aggregate = "link.json" if link else name
                if link:
                    link(bed.folder / name, bed.folder / "link.json")
                is_elsewhere = link is os.link and name.endswith("notes/new.json")  # known by its folder
                before = patching.contents(bed.folder)
                done = bed.run("--require-power", aggregate=aggregate, **options)
                after = patching.contents(bed.folder)
                after.pop("LOGS/agentic/conc_4/power_validation.json", None)
                what = f"{name}, {getattr(link, '__name__', 'itself')}, {getattr(tamper, '__name__', 'sound')}"
                checks.add(f"no aggregate: {what}", [] if is_elsewhere else (
                    differences("status", done.returncode, 1) + differences("files", after, before)
                    + ([] if f"aggregate_result_unwritable ({aggregate}: is an input of this run" in done.err
                       or f"aggregate_result_unwritable ({aggregate}: is in a folder of inputs" in done.err
                       else [done.err])))
                if link is not os.symlink:
                    continue
                # Nor is the record written through a link.
                bed.record_path.unlink(missing_ok=True)
                bed.record_path.symlink_to(bed.folder / name)
                before = patching.contents(bed.logs)
                done = bed.run("--require-power", **options)
                checks.add(f"no record: {what}", differences("status", done.returncode, 1)
                           + differences("files", patching.contents(bed.logs), before)
                           + ([] if "validation_result_unwritable" in done.err else [done.err])
                           + ([f"no such option: {done.err}"] if "--validation-result" in done.err else []))
    bed = with_requests(ground.bed(), request(0, 60), pack=lambda data: data + b'{"metadata')
    before = patching.contents(bed.results)
    bed.record_path.symlink_to("aiperf_artifacts/profile_export.jsonl")
    bed.run(aggregate="LOGS/agentic/conc_4/aiperf_artifacts/profile_export.jsonl")
    bed.record_path.unlink()
    checks.add("broken records stay", differences("files", patching.contents(bed.results), before))
    bed = ground.bed()
    bed.aggregate.rename(bed.power / "agg_run.json")
    done = bed.plain("agentic", "--result-dir", "../agentic/conc_4", "--agg-result", "agg_run.json", "--power-dir", ".",
                     "--logs-root", "..", "--expected-producer-sha", PIN, "--require-power", folder=bed.power)
    checks.add("beside the package's files", differences("status", (done.returncode, done.err), (0, "")))


def main():
    tests = (disaggregated, aggregated, places, loads, package_faults, failed_requests, aggregates, odd_aggregates,
             messages, concurrencies, stored, topology, formal_results, outside, producer_sha, several_gates, dry_runs,
             audits, salvage, extended, cpus, mixtures, inputs_stay)
    wanted = sys.argv[1:]
    checks = patching.Checks()
    with patching.fresh_folder("agentic-nodes") as root:
        ground = Ground(root)
        for test in tests:
            if not wanted or test.__name__ in wanted:
                test(ground, checks)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
