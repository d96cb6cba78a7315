#!/usr/bin/env python3
"""Runs on one node, and of agents, under the rules of October: the expectations of contract-october.md 7 by their
numbers, and the decisions of its section 8.

Expected values are those of the contract, or sums that are written beside them.

usage: tests/runs/october_single_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import datetime
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "multinode"))
import package_bed  # noqa: E402  (beside the tests that share it)
from package_bed import differences, patching  # noqa: E402
from package_builder import PIN, AgenticLoad, Gpu, Load, Package, edit_json, write_json  # noqa: E402

START = 1_800_000_000
METRIC_ORDER = ["avg_power_w", "p75_power_w", "p75_total_gpu_power_w", "p90_power_w", "p90_total_gpu_power_w",
                "avg_total_gpu_power_w", "total_gpu_energy_j", "joules_per_successful_query",
                "joules_per_input_token", "joules_per_output_token", "joules_per_total_token"]
AUDIT_ORDER = ["source", "window_start_unix", "window_end_unix", "expected_gpu_count", "observed_gpu_count",
               "sample_count", "max_sample_gap_s", "observed_gpu_ids"]
RECORD_ORDER = ["schema_version", "power_valid", "reasons", "telemetry_source", "benchmark_result",
                "benchmark_window", "integration_method", "power_percentile_method", "expected_gpu_count",
                "observed_gpu_count", "observed_gpu_ids", "per_gpu_sample_counts", "per_gpu_max_sample_gap_s",
                "per_gpu_energy_j", "device_issues", "boundary_degenerate_rows", "accumulator_check", "metrics",
                "computed_from"]


def result_of(begin, end, **changes):
    return {"benchmark_start_time_unix": begin, "benchmark_end_time_unix": end, "duration": end - begin,
            "completed": 100, "total_input_tokens": 819200, "total_output_tokens": 102400} | changes


class Node:
    """A run on one node in a folder of its own: rows of (time, GPU, watts), as they are spelled."""

    def __init__(self, folder, rows, result):
        self.folder = folder
        self.record_path = folder / "power_validation_run.json"
        lines = ["timestamp,gpu,power_w", *(",".join(map(str, row)) for row in rows)]
        (folder / "gpu_metrics.csv").write_text("\n".join(lines) + "\n")
        write_json(folder / "run.json", result)
        write_json(folder / "agg_run.json", {"hw": "h100", "is_multinode": False})

    def run(self, *more, gpus=1, csv=True, **options):
        words = ["--csv", "gpu_metrics.csv"] if csv else []
        if gpus is not None:
            words += ["--expected-num-gpus", str(gpus)]
        done = patching.run([*words, "--bench-result", "run.json", "--agg-result", "agg_run.json", *more],
                            self.folder, **options)
        done.err = done.stderr.decode()
        return done

    @property
    def row(self):
        return json.loads((self.folder / "agg_run.json").read_text())

    @property
    def record(self):
        return json.loads(self.record_path.read_text())


class Ground(package_bed.Ground):
    def fresh(self):
        self.count += 1
        folder = self.root / str(self.count)
        folder.mkdir()
        return folder

    def node(self, rows, result):
        return Node(self.fresh(), rows, result)

    def steady(self, watts=500, gpus=1, seconds=10, **changes):
        """One row a second for each GPU, from 3 s before the window until 3 s after it."""
        rows = [(START + second, gpu, watts) for second in range(-3, seconds + 4) for gpu in range(gpus)]
        return self.node(rows, result_of(START, START + seconds, **changes))

    def handed(self, package):
        """The package of a run on one node, whose row says so."""
        package.aggregate = {"hw": "h100", "is_multinode": False, "tp": len(package.gpus)}
        return self.bed(package)


def is_valid(node, *more, **options):
    done = node.run("--require-power", *more, **options)
    return [] if done.returncode == 0 else [f"status {done.returncode}: {done.err}"]


def is_void(node, reasons, *more, **options):
    """The faults of a run that must not be valid, in both modes."""
    faults = []
    for status, mode in ((0, ()), (1, ("--require-power",))):
        done = node.run(*mode, *more, **options)
        faults += differences("status", done.returncode, status)
    faults += differences("reasons", node.record["reasons"], reasons)
    return faults + differences("verdict", (node.row["power_valid"], node.record["metrics"]), (0, {}))


def has(found, wanted):
    return differences("values", {key: found.get(key) for key in wanted}, wanted)


# ---- Percentiles, rounding, keys

def test_7_48_opposite_ramps(ground, checks):
    rows = []
    for second in range(0, 11):
        rows += [(START + second, 0, 100 + 40 * second), (START + second, 1, 500 - 40 * second)]
    node = ground.node(rows, result_of(START, START + 10))
    checks.add("7.48", is_valid(node, "--extended", gpus=2)
               + has(node.row, {"p75_total_gpu_power_w": 600.0, "p90_total_gpu_power_w": 600.0}))


def test_7_49_one_rising_gpu(ground, checks):
    rows = [(START, 0, 100), (START + 1, 0, 200), (START + 1.9, 0, 290), (START + 2, 0, 300)]
    node = ground.node(rows, result_of(START + 0.5, START + 1.5))
    checks.add("7.49", is_valid(node, "--extended") + has(node.row, {
        "p75_power_w": 225.0, "p75_total_gpu_power_w": 225.0, "p90_power_w": 240.0,
        "p90_total_gpu_power_w": 240.0}))


def test_7_50_rounding(ground, checks):
    # 12.34567 W for 10 s and 1000 tokens: 0.1234567 J each.
    node = ground.steady(watts=12.34567, total_output_tokens=1000)
    checks.add("7.50", is_valid(node) + has(node.row, {"avg_power_w": 12.346,
                                                      "joules_per_output_token": 0.123457}))


def test_7_51_no_number_is_published_that_is_none(ground, checks):
    node = ground.steady(watts="9e307")
    node.run()
    checks.add("7.51", differences("numbers", {key for key in node.row if key in METRIC_ORDER}, set())
               + differences("verdict", node.row["power_valid"], 0))


def test_7_64_two_gpus_of_500_w(ground, checks):
    node = ground.steady(gpus=2)
    checks.add("7.64", is_valid(node, "--extended", gpus=2) + has(node.row, {
        "total_gpu_energy_j": 10000.0, "joules_per_successful_query": 100.0, "joules_per_input_token": 0.012207,
        "joules_per_output_token": 0.097656, "joules_per_total_token": 0.010851})
        + differences("sample_count", node.row["power_audit"]["sample_count"], 34))


OURS_OF_NOVEMBER = ["output_tokens_per_second_per_gpu_watt", "total_tokens_per_second_per_gpu_watt"]


def order_of_keys(ground, checks):
    node = ground.steady()
    faults = is_valid(node, "--extended")
    row = node.row
    faults += differences("row", list(row)[2:], ["power_metric_schema_version", "power_valid", *METRIC_ORDER,
                                                 "power_invalid_reasons", "power_audit",
                                                 *OURS_OF_NOVEMBER])
    faults += differences("audit", list(row["power_audit"]), AUDIT_ORDER)
    faults += differences("source", row["power_audit"]["source"], "power_validation_run.json")
    faults += differences("reasons", row["power_invalid_reasons"], [])
    faults += differences("record", [key for key in node.record if key != "performance_per_watt"], RECORD_ORDER)
    faults += differences("metrics", list(node.record["metrics"]), METRIC_ORDER)
    checks.add("1.5, 1.6, 1.9: the order of keys", faults)
    empty = ground.node([], result_of(START, START + 10))
    empty.run("--extended")
    checks.add("1.9: without samples, no count and no gap",
               differences("audit", list(empty.row["power_audit"]), AUDIT_ORDER[:5]))
    august = ground.steady()
    faults = is_valid(august, "--extended", "--compat", "august")
    faults += differences("row", list(august.row)[4:], [
        *(key for key in METRIC_ORDER if key[0] != "p"), *METRIC_ORDER[1:5], "power_audit"])
    # 10 s, both ends included.
    faults += differences("samples", august.row["power_audit"]["sample_count"], 11)
    checks.add("1.5, 1.9: in August the percentiles are last, and a valid row has no reasons", faults)


# ---- The benchmark result

def test_7_52_a_result_that_is_no_object(ground, checks):
    for text in ("null", "[]", "1", '"failed"', b'{"completed": "\xff"}', b"\xff"):
        node = ground.steady()
        write_json(node.folder / "run.json", text)
        checks.add(f"7.52 {text!r}", is_void(node, ["invalid_benchmark_result"]))


def test_7_53_a_start_beyond_a_double(ground, checks):
    node = ground.steady(benchmark_start_time_unix=10 ** 309)
    checks.add("7.53", is_void(node, ["invalid_benchmark_window"]))


def test_7_54_counts(ground, checks):
    for key, reason in (("completed", "invalid_successful_query_count"),
                        ("total_input_tokens", "invalid_input_token_count"),
                        ("total_output_tokens", "invalid_output_token_count")):
        for count in (0, 10 ** 310, True, 5.0):
            node = ground.steady(**{key: count})
            name = count if count < 100 else "10^310"
            checks.add(f"7.54 {key} {name}", is_void(node, [reason])
                       + differences("stored", node.record["benchmark_window"][key], 0))


def test_7_55_required_power(ground, checks):
    for value, status in (("", 0), ("YES", 1), ("on", 0), ("True", 1), (" 1", 0)):
        node = ground.steady(completed=0)
        done = node.run(environment={"REQUIRE_POWER": value})
        checks.add(f"7.55 {value!r}", differences("status", done.returncode, status))
    checks.add("7.55 the option", differences(
        "status", ground.steady(completed=0).run("--require-power").returncode, 1))


# ---- Zone and rows

def test_7_56_naive_stamps_are_utc(ground, checks):
    begin = 1767225600
    for zone in ("UTC", "Asia/Tokyo", "America/New_York"):
        node = ground.node([("2026/01/01 00:00:00", 0, 100), ("2026/01/01 00:00:02", 0, 100)],
                           result_of(begin, begin + 2))
        write_json(node.folder / "gpu_metrics_context.json", {"timestamp_timezone": "UTC", "gpus": []})
        checks.add(f"7.56 {zone}", is_valid(node, environment={"TZ": zone})
                   + has(node.row, {"total_gpu_energy_j": 200.0}))


def section_8_row_27_a_zone_file_that_cannot_be_used(ground, checks):
    def naive(second):
        return datetime.datetime.fromtimestamp(START + second, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")

    for text in ("{", "[]", "{}", '{"timestamp_timezone": "Mars"}', b'{"timestamp_timezone": "UTC", "x": "\xff"}'):
        for contract in ("october", "august"):
            node = ground.node([(naive(second), 0, 500) for second in range(-3, 14)], result_of(START, START + 10))
            write_json(node.folder / "gpu_metrics_context.json", text)
            checks.add(f"8.27 {text!r} {contract}", is_void(node, ["telemetry_file_unreadable"], "--compat", contract))
            checks.add(f"8.27 {text!r} with a zone", is_valid(node, "--timezone", "UTC", "--compat", contract))
        node = ground.node([(naive(second) + "+00:00", 0, 500) for second in range(-3, 14)],
                           result_of(START, START + 10))
        write_json(node.folder / "gpu_metrics_context.json", text)
        checks.add(f"8.27 {text!r} with stamps that have an offset", is_valid(node))


def edges(ground, checks):
    """1.2: what a row is worth at an edge of the window, and a millisecond outside it."""
    inside = [(START + second, 0, 500) for second in range(1, 10)]
    for what in (0, "N/A", "", -1):
        # The first row is good and 1 s before the window; the row in question is the last one.
        at_end = ground.node([(START - 1, 0, 500), *inside, (START + 10, 0, what)], result_of(START, START + 10))
        outside = ground.node([(START - 1, 0, 500), *inside, (START + 10.001, 0, what)], result_of(START, START + 10))
        if what == 0:
            # 500 W for 9 s, then down to 0 W within 1 s.
            checks.add("8.9: 0 W at the end is a reading", is_valid(at_end)
                       + has(at_end.row, {"total_gpu_energy_j": 9 * 500 + 250.0}))
        else:
            checks.add(f"1.2, 8.7: {what!r} at the end", is_void(
                at_end, ["invalid_power_sample", "benchmark_window_not_bracketed"]))
        checks.add(f"8.9: {what!r} after the end brackets nothing", is_void(
            outside, ["benchmark_window_not_bracketed"])
            + differences("counted", outside.record["boundary_degenerate_rows"], {"0": 1}))
    rows = [(START + second, 0, 500) for second in range(-3, 14)]
    node = ground.node([(START - 2.5, "", 0), *rows, (START + 12.5, "", "N/A"), (START + 12.6, 0, 0),
                        (START + 14, 0, 0)], result_of(START, START + 10))
    checks.add("1.2: rows without an id count under unknown", is_valid(node) + differences(
        "counted", node.record["boundary_degenerate_rows"], {"unknown": 2, "0": 1}))
    node = ground.node([*rows, (START + 5.5, 0, "N/A")], result_of(START, START + 10))
    checks.add("8.7: a blank inside the window", is_void(node, ["invalid_power_sample"]))


def section_8_row_10_stamps_that_cannot_be_read(ground, checks):
    def node(bad, begin=-20, end=31, after=()):
        """A bad stamp before each of these seconds; the window is 0 to 10, rows from -3 to 13 count."""
        rows = []
        for second in range(begin, end):
            rows += [("garbage", 0, 500)] * (second in bad)
            rows.append((START + second, 0, 500))
        return ground.node([*rows, *after], result_of(START, START + 10))

    for name, bad in (("far before", {-10}), ("far after", {20}), ("both", {-10, -9, 20}), ("the last far one", {-4})):
        far = node(bad)
        checks.add(f"8.10 {name}", is_valid(far) + differences(
            "counted", far.record["computed_from"]["skipped"]["bad_timestamp"], len(bad)))
        done = far.run()
        checks.add(f"8.10 {name} is told", [] if "bad_timestamp" in done.err else [done.err])
        checks.add(f"8.10 {name} in August", is_void(node(bad), ["invalid_timestamp_sample"], "--compat", "august"))
    for name, near in (("inside", node({5})), ("within 3 s", node({-2})), ("at the band's edge", node({-3})),
                       ("just after the band", node({14})),
                       ("with nothing before", node({-20})), ("with nothing after", node((), after=[("x", 0, 500)])),
                       ("one near", node({-10, 5}))):
        checks.add(f"8.10 {name}", is_void(near, ["invalid_timestamp_sample"]))
    # Where the file is not in order, neighbours prove nothing.
    rows = [(START + second, 0, 500) for second in (20, 21)] + [("garbage", 0, 500)] + [
        (START + second, 0, 500) for second in (22, *range(-20, 20))]
    checks.add("8.10 out of order", is_void(ground.node(rows, result_of(START, START + 10)),
                                            ["invalid_timestamp_sample"]))


# ---- Benchmarks that failed

def section_8_row_1_the_bound_of_a_gap(ground, checks):
    """100 W until the 8th second, then 500 W; from the 2nd to the 6th there is no sample. The gap of
    4 s was 100 W at both ends and may have been 500 W: 4 s x 400 W."""
    rows = [(START + t, 0, 100 if t < 8 else 500) for t in range(-2, 13) if not 2 < t < 6]
    node = ground.node(rows, result_of(START, START + 10))
    checks.add("8.1 refused without the option", is_void(node, ["sampling_gap_exceeded"])
               + differences("bound", "gap_energy_bound_j" in node.record, False))
    checks.add("8.1 a bound with it", is_valid(node, "--max-sample-gap", "5") + differences(
        "bound", node.record["gap_energy_bound_j"], {"total": 1600.0, "per_gpu": {"0": 1600.0}}))
    turned = ground.node(rows[::-1], result_of(START, START + 10))
    checks.add("8.1 rows out of order", is_valid(turned, "--max-sample-gap", "5") + differences(
        "bound", turned.record["gap_energy_bound_j"]["total"], 1600.0))
    checks.add("8.1 August has none", is_valid(node, "--max-sample-gap", "5", "--compat", "august")
               + differences("bound", "gap_energy_bound_j" in node.record, False))


def outcome(requested, completed, **changes):
    failed = requested - completed
    return {"status": "failed" if failed / requested > 0.05 else "passed", "requested": requested,
            "completed": completed, "failed": failed, "max_failure_rate": 0.05} | changes


def test_7_61_a_failed_benchmark_is_never_valid(ground, checks):
    for completed, is_good in ((95, True), (94, False), (100, True), (19, False)):
        given = {"completed": completed, "num_prompts": 100}
        for name, more in (("counts", given), ("outcome", {"benchmark_outcome": outcome(100, completed),
                                                           "completed": completed}),
                           ("both", given | {"benchmark_outcome": outcome(100, completed)})):
            node = ground.steady(**more)
            checks.add(f"7.61 {completed} {name}",
                       is_valid(node) if is_good else is_void(node, ["benchmark_failed"]))
            august = ground.steady(**more)
            checks.add(f"7.61 {completed} {name} in August", is_valid(august, "--compat", "august"))


def outcomes_that_do_not_follow(ground, checks):
    good = outcome(100, 100)
    for name, stated in (
            ("passed, but 94", outcome(100, 94, status="passed")), ("failed, but all", good | {"status": "failed"}),
            ("another number of failures", good | {"failed": 1}), ("another limit", good | {"max_failure_rate": 0.5}),
            ("more than asked for", good | {"completed": 101}), ("no counts", {"status": "passed"}),
            ("no object", "passed"), ("a list", []), ("an error", {"status": "failed", "error": "bad counts"}),
            ("counts of another run", outcome(200, 200))):
        node = ground.steady(benchmark_outcome=stated, completed=100, num_prompts=100)
        checks.add(f"1.12 {name}", is_void(node, ["benchmark_failed"]))
    long = good | {"error": "x" * 6000}
    for name, more in (("no prompts", {}), ("a long text", {"benchmark_outcome": long}), ("null", {"benchmark_outcome": None}), ("no number", {"num_prompts": "9"}),
                       ("more than prompts", {"num_prompts": 50})):
        checks.add(f"1.12 {name}", is_valid(ground.steady(completed=100, **more)))
    checks.add("a count of failed requests", is_void(ground.steady(completed=100, failed=6), ["benchmark_failed"]) + is_valid(
        ground.steady(completed=100, failed=5)))  # 6 of 106, 5 of 105
    vllm = {"date": "20260101-000000", "backend": "vllm", "tokenizer_id": "t", "model_id": "m", "best_of": 1}
    checks.add("1.12 in vLLM's layout", is_void(
        ground.steady(**vllm, completed=94, num_prompts=100), ["benchmark_failed"]) + is_void(
        ground.steady(**vllm, completed=94, benchmark_outcome=outcome(100, 94)), ["benchmark_failed"]) + is_void(
        ground.steady(**vllm, completed=95, benchmark_outcome=outcome(100, 95, status="failed")),
        ["benchmark_failed"]) + is_valid(
        ground.steady(**vllm, completed=95, num_prompts=100, benchmark_outcome=outcome(100, 95))))
    node = ground.steady()
    edit_json(node.folder / "agg_run.json", benchmark_outcome=outcome(100, 94))
    checks.add("1.12 in the aggregate", is_void(node, ["benchmark_failed"])
               + is_valid(node, "--compat", "august"))


def failed_benchmarks_of_other_commands(ground, checks):
    package = Package()
    load = package.loads[0]
    failing = load.result() | {"num_prompts": 11}  # one of 11 failed
    package.results[f"{load.folder}/{load.stem}.json"] = package.bench = failing
    bed = ground.bed(package)
    done = bed.run("--require-power")
    checks.add("1.12 in a package", differences("end", (done.returncode, bed.record["reasons"], bed.row["power_valid"]),
                                                (1, ["benchmark_failed"], 0)))
    node = ground.steady(completed=94, num_prompts=100)
    done = patching.run(["multinode", "--host", "a=gpu_metrics.csv", "--bench-result", "run.json",
                         "--agg-result", "agg_run.json", "--require-power"], node.folder)
    checks.add("1.12 on hosts", differences("end", (done.returncode, node.record["reasons"]),
                                            (1, ["benchmark_failed"])))
    done = patching.run(["measure", "run.json", "--telemetry", "gpu_metrics.csv", "--json", "--out", "new.json"],
                        node.folder)
    run = json.loads(done.stdout)["runs"][0]
    checks.add("1.12 measure shows the number, with a warning", differences("status", done.returncode, 1)
               + has(run, {"total_gpu_energy_j": 5000.0})
               + ([] if any("6 of 100 requests failed" in text for text in run["warnings"]) else [run["warnings"]]))
    new = json.loads((node.folder / "new.json").read_text())
    checks.add("1.12 what measure writes is not valid", differences(
        "verdict", (new["power_valid"], "total_gpu_energy_j" in new), (0, False)))


# ---- A package of one node

class FourLoad(Load):
    def measured(self):
        return super().measured() | {"completed": 40, "total_input_tokens": 327680, "total_output_tokens": 40960}


def four_gpus():
    """Four GPUs at 500, 501, 502 and 503 W, 70 scrapes, and the minute from the fifth second on."""
    return Package([Gpu("node-a", i, "agg", 500.0 + i) for i in range(4)], [FourLoad(4, 1005.0, 1065.0)],
                   first=1000.0, last=1069.0)


HANDED = {"POWER_ARTIFACT_DIR": "LOGS/power", "POWER_PRODUCER_SHA": PIN, "GPU_COUNT": "4"}


def hand_over(bed, *more, environment=None, **options):
    return bed.plain("--bench-result", "run.json", "--agg-result", "agg_run.json", *more,
                     environment=HANDED if environment is None else environment, **options)


def test_7_32_a_package_in_the_environment(ground, checks):
    bed = ground.handed(four_gpus())
    done = hand_over(bed, "--extended", "--require-power")
    row = bed.row
    # 2006 W for 60 s.
    faults = differences("end", (done.returncode, done.err), (0, "")) + has(row, {
        "is_multinode": False, "power_valid": 1, "total_gpu_energy_j": 120360.0, "avg_power_w": 501.5,
        "joules_per_output_token": 2.938477, "power_invalid_reasons": []})
    faults += differences("roles", [key for key in row if key.startswith(("prefill", "decode"))], [])
    faults += has(row["power_audit"], {"expected_gpu_count": 4, "observed_gpu_count": 4, "producer_sha": PIN,
                                       "source": "power_validation_run.json", "sample_count": None})
    other = ground.handed(four_gpus())
    other.run("--extended", gpus=None, agg=4)
    faults += differences("as multinode", row, other.row)
    faults += differences("as multinode", bed.record, other.record)
    checks.add("7.32", faults)


def test_7_34_the_same_package_either_way(ground, checks):
    # 1400 W for 60 s.
    wanted = {"power_valid": 1, "avg_power_w": 350.0, "total_gpu_energy_j": 84000.0}
    bed = ground.handed(Package(aggregated()))
    done = hand_over(bed, "--require-power")
    checks.add("7.34 a row of one node", differences("status", (done.returncode, done.err), (0, "")) + has(bed.row, wanted))
    bed = ground.bed(Package(aggregated()))
    done = bed.run("--require-power", gpus=None, agg=4)
    checks.add("7.34 several nodes", differences("status", (done.returncode, done.err), (0, "")) + has(bed.row, wanted))


def test_7_35_no_source_metric(ground, checks):
    package = four_gpus()
    package.changes = {"source_metric": ""}
    bed = ground.handed(package)
    checks.add("7.35", differences("status", hand_over(bed, environment=HANDED | {"REQUIRE_POWER": "1"}).returncode, 1)
               + differences("verdict", bed.row["power_valid"], 0))


def packages_in_the_environment(ground, checks):
    def ends(name, status, reasons, *more, **options):
        bed = ground.handed(four_gpus())
        done = hand_over(bed, *more, **options)
        checks.add(f"1.10 {name}", differences("end", (done.returncode, bed.record["reasons"]), (status, reasons)))

    without = {key: value for key, value in HANDED.items() if key != "GPU_COUNT"}
    ends("the option names the GPUs", 0, [], "--require-power", "--expected-num-gpus", "4", environment=without)
    ends("the aggregate names the GPUs", 0, [], "--require-power", environment=without)
    ends("auto: the aggregate names them", 0, [], "--require-power", "--expected-num-gpus", "auto")
    ends("the option goes before the variable", 1, ["topology_env_mismatch"], "--require-power",
         "--expected-num-gpus", "8")
    ends("another number", 0, ["topology_env_mismatch"], environment=HANDED | {"GPU_COUNT": "8"})
    ends("power required by the variable", 1, ["topology_env_mismatch"],
         environment=HANDED | {"GPU_COUNT": "8", "REQUIRE_POWER": "YES"})
    ends("an empty pin is none", 0, ["producer_pin_missing"], environment=HANDED | {"POWER_PRODUCER_SHA": ""})
    ends("no such package", 0, ["power_artifacts_missing"], environment=HANDED | {"POWER_ARTIFACT_DIR": "gone"})
    bed = ground.handed(four_gpus())
    for name, words in (("--csv", ["--csv", "gpu_metrics.csv", "--expected-num-gpus", "1"]),
                        ("schema 1", ["--schema-version", "1"]),
                        ("August", ["--compat", "august", "--expected-num-gpus", "1"])):
        done = hand_over(bed, *words)
        checks.add(f"8.8 {name} wants a recording", [] if "telemetry_file_missing" in done.err else [done.err])
    done = hand_over(bed, "--timezone", "UTC")
    checks.add("8.8 an option of recordings", differences("end", (done.returncode, done.err), (
        2, "aggregate-power: error: --timezone: is for a recording, and $POWER_ARTIFACT_DIR names a package: give "
           "--csv, or unset the variable\n")))
    done = hand_over(bed, environment=HANDED | {"GPU_COUNT": "four"})
    checks.add("1.10 a count that is no number", differences("status", done.returncode, 2))


def test_7_36_without_a_package_the_recording_is_missing(ground, checks):
    """Upstream such a row has no power; here a run was asked for its power."""
    node = ground.steady()
    (node.folder / "gpu_metrics.csv").unlink()
    checks.add("7.36", is_void(node, ["telemetry_file_missing"], csv=False))


def test_7_68_the_cpu_source_in_the_environment(ground, checks):
    def package():
        gpus = [Gpu("node-a", 0, "agg", 500.0), Gpu("node-b", 0, "agg", 500.0)]
        return Package(gpus, [FourLoad(4, 1005.0, 1065.0)], first=1000.0, last=1069.0).add_cpus()

    named = HANDED | {"GPU_COUNT": "2", "POWER_EXPECTED_CPU_SOURCE": "acpi"}
    bed = ground.handed(package())
    done = hand_over(bed, "--extended", "--require-power", environment=named)
    cpu = bed.row["power_audit"].get("cpu", {})
    checks.add("7.68", differences("status", (done.returncode, done.err), (0, "")) + has(cpu, {
        "sensor_kind": "grace_socket", "source": "acpi", "expected_sockets": 4, "observed_sockets": 4,
        "reason_codes": []}) + differences("order", list(cpu), [
            "sensor_kind", "source", "expected_sockets", "observed_sockets", "sample_row_count", "reason_codes"]))
    for name, words in (("alone", None), ("multinode", ["multinode", "--aggregate-gpus", "2"])):
        bed = ground.handed(package())
        done = bed.plain(*(words or []), "--bench-result", "run.json", "--agg-result", "agg_run.json", "--extended",
                         environment=named | {"POWER_EXPECTED_CPU_SOURCE": "dcgm"})
        checks.add(f"1.10 {name}: another source", differences(
            "reasons", bed.row["power_audit"]["cpu"]["reason_codes"], ["cpu_sensor_source_mismatch"]))


# ---- Agents

AGENT = AgenticLoad(4, 1000.0, 1060.0)
NODES_ROW = {"num_prefill_gpu": 2, "num_decode_gpu": 2, "disagg": True}
NODE_ROW = {"is_multinode": False, "disagg": False, "num_gpus": 4}
FAILED = ["power_valid", "reasons", "window_source"]
SOURCE = "aiperf_multinode_custom_benchmark"


class Agents:
    def __init__(self, ground, aggregate, gpus=None):
        package = Package(gpus, [AGENT])
        package.aggregate = aggregate
        self.bed = ground.bed(package)
        self.results = self.bed.logs / AGENT.folder

    def run(self, *more, package=True, **options):
        words = ["agentic", "--result-dir", "LOGS/agentic/conc_4", "--agg-result", "agg_run.json"]
        if package:
            words += ["--power-dir", "LOGS/power", "--logs-root", "LOGS", "--expected-producer-sha", PIN]
        return self.bed.plain(*words, *more, **options)

    @property
    def record(self):
        return json.loads((self.results / "power_validation.json").read_text())


def aggregated():
    return [Gpu("node-d", 0, "agg", 300.0), Gpu("node-d", 1, "agg", 300.0), Gpu("node-p", 0, "agg", 400.0),
            Gpu("node-p", 1, "agg", 400.0)]


def test_7_67_no_window_contract(ground, checks):
    stale = {"hw": "gb200", "power_valid": 1, "avg_power_w": 1.0, "prefill_avg_power_w": 2.0}
    for required in (0, 1):
        agents = Agents(ground, stale)
        done = agents.run("--multinode-contract-missing", *["--require-power"] * required, package=False)
        wanted = {"power_valid": False, "reasons": ["multinode_power_contract_missing"], "window_source": SOURCE}
        checks.add(f"7.67 {required}", differences("status", done.returncode, required)
                   + differences("record", (agents.record, list(agents.record)), (wanted, FAILED))
                   + differences("row", agents.bed.row, {"hw": "gb200", "power_valid": 0,
                                                         "power_metric_schema_version": 2}))
    agents = Agents(ground, stale)
    agents.bed.aggregate.write_text("{")
    done = agents.run("--multinode-contract-missing", package=False)
    checks.add("7.67 an aggregate that is not JSON", differences("aggregate", agents.bed.aggregate.read_text(), "{")
               + differences("record", (agents.record["power_valid"], agents.record["reasons"][0]),
                             (False, "multinode_power_contract_missing")))
    done = agents.run("--multinode-contract-missing")
    checks.add("7.67 a package is none", differences("status", done.returncode, 2))


def failure_records(ground, checks):
    agents = Agents(ground, {"hw": "gb200"})
    agents.run()
    checks.add("4: a failure has three keys", differences("record", agents.record, {
        "power_valid": False, "reasons": ["agentic_gpu_topology_invalid"], "window_source": SOURCE})
        + differences("order", list(agents.record), FAILED))
    agents.run("--compat", "august")
    checks.add("4: in August all keys", differences("last", list(agents.record)[-1], "computed_from"))
    agents = Agents(ground, {"hw": "gb200"})
    agents.bed.aggregate.write_text("[]")
    (agents.results / f"{AGENT.stem}.json").unlink()
    done = agents.bed.plain("agentic", "--result-dir", "LOGS/agentic/conc_4", "--agg-result", "agg_run.json",
                            "--power-dir", "LOGS/power", "--logs-root", "LOGS/power",
                            "--expected-producer-sha", "5e")
    checks.add("4: reasons in their order", differences("reasons", agents.record["reasons"][:5], [
        "agentic_aggregate_invalid", "agentic_gpu_topology_invalid", "formal_benchmark_result_missing",
        "agentic_result_outside_logs_root", "expected_producer_sha_invalid"]) + differences(
            "status", done.returncode, 0))


def agents_on_one_node(ground, checks):
    agents = Agents(ground, NODE_ROW, aggregated())
    done = agents.run("--expected-num-gpus", "4", "--require-power", "--extended")
    checks.add("4: N GPUs of one node", differences("status", (done.returncode, done.err), (0, ""))
               + has(agents.bed.row, {"total_gpu_energy_j": 84000.0, "avg_power_w": 350.0, "power_valid": 1})
               + differences("source", agents.bed.row["power_audit"]["source"],
                             "LOGS/agentic/conc_4/power_validation.json"))
    for name, row in (("several nodes", NODE_ROW | {"is_multinode": True}), ("roles", NODE_ROW | {"disagg": True}),
                      ("another number", NODE_ROW | {"num_gpus": 8}), ("no number", {"is_multinode": False,
                                                                                    "disagg": False}),
                      ("nothing but roles", {"num_prefill_gpu": 2, "num_decode_gpu": 2, "disagg": False})):
        agents = Agents(ground, row, aggregated())
        done = agents.run("--expected-num-gpus", "4", "--require-power")
        checks.add(f"4: N and {name}", differences("end", (done.returncode, agents.record["reasons"]),
                                                   (1, ["agentic_gpu_topology_invalid"])))
    agents = Agents(ground, {"num_prefill_gpu": 2, "num_decode_gpu": 2, "disagg": False}, aggregated())
    done = agents.run("--require-power")
    checks.add("4: not disaggregated, both together", differences("status", (done.returncode, done.err), (0, ""))
               + differences("roles", [key for key in agents.bed.row if key.startswith(("prefill", "decode"))], []))
    agents = Agents(ground, NODE_ROW, aggregated())
    done = agents.run("--expected-num-gpus", "4", "--compat", "august")
    checks.add("4: in August N is not for packages", differences("status", done.returncode, 2))


def failed_benchmarks_of_agents(ground, checks):
    agents = Agents(ground, NODES_ROW | {"benchmark_outcome": outcome(100, 94)})
    done = agents.run("--require-power")
    checks.add("4: a failed benchmark of agents", differences(
        "end", (done.returncode, agents.record["reasons"], agents.bed.row["power_valid"]), (1, ["benchmark_failed"], 0)))
    agents = Agents(ground, NODES_ROW | {"benchmark_outcome": outcome(100, 95)})
    checks.add("4: one that passed", differences("status", agents.run("--require-power").returncode, 0))


# ---- Stores

def backfilled(folder, *more):
    (folder / "report.jsonl").unlink(missing_ok=True)
    done = patching.run(["backfill", "store", "--report", "report.jsonl", *more], folder)
    lines = (folder / "report.jsonl").read_text().splitlines()
    return done, [json.loads(line) for line in lines]


def stores(ground, checks):
    def store(name, package):
        folder = ground.fresh()
        place = folder / "store" / f"power_audit_{name}"
        place.mkdir(parents=True)
        package.write(place)
        (place / "LOGS" / "power" / "power-producer-sha.txt").write_text(PIN + "\n")
        (place / "run.json").rename(place / f"{name}.json")
        (place / "agg_run.json").rename(place / f"agg_{name}.json")
        return folder, place

    package = four_gpus()
    package.aggregate = {"is_multinode": False, "tp": 4}
    folder, place = store("llama_tp4_conc4_h100", package)
    backfilled(folder)
    row = json.loads((place / "agg_llama_tp4_conc4_h100.json").read_text())
    checks.add("8.8 a package of one node in a store", has(row, {"power_valid": 1, "total_gpu_energy_j": 120360.0,
                                                                 "is_multinode": False}))

    (place / "llama_tp4_conc4_h100.pytorch.json").write_text("[]")
    (place / "agg_llama_tp4_conc4_h100.pytorch.json").write_text("[]")
    done, report = backfilled(folder)
    checks.add("7.63 copies for PyTorch's database are no runs", differences(
        "runs", [run["outcome"] for run in report if "outcome" in run], ["unchanged"]))

    for name, outcome_named in (("ds_conc4_gpus_4", "patched"), ("ds_c4_gpus_4", "patched"),
                                ("ds_conc8_gpus_4", "ambiguous"), ("ds_c8_gpus_4", "ambiguous"),
                                ("ds_concurrency_8_req_rate_inf_gpus_4", "ambiguous"),
                                ("ds_concurrency_4_req_rate_inf_gpus_4", "patched")):
        folder, place = store(name, four_gpus())
        done, report = backfilled(folder)
        checks.add(f"7.63 {name}", differences("outcome", [run["outcome"] for run in report if "outcome" in run],
                                               [outcome_named]))
        folder, place = store(name, four_gpus())
        done, report = backfilled(folder, "--compat", "august")
        checks.add(f"7.63 {name} in August", differences(
            "outcome", [run["outcome"] for run in report if "outcome" in run], ["patched"]))

    # A run on one node, whose raw result says how many requests there were.
    for completed, end in ((95, ("patched", [])), (94, ("not_valid", ["benchmark_failed"]))):
        node = ground.node([(START + t, 0, 500) for t in range(-2, 13)],
                           result_of(START, START + 10, num_prompts=100, completed=completed))
        place = node.folder / "store" / "llama"
        place.mkdir(parents=True)
        for name, to in (("run.json", "llama.json"), ("agg_run.json", "agg_llama.json"),
                         ("gpu_metrics.csv", "gpu_metrics.csv")):
            (node.folder / name).rename(place / to)
        write_json(place / "agg_llama.json", {"tp": 1})
        done, report = backfilled(node.folder, "--timezone", "UTC")
        checks.add(f"1.12 in a store, {completed} of 100 of one node", differences(
            "run", [(run["outcome"], run["reasons"]) for run in report if "outcome" in run], [end]))

    # The same where the window must be placed by the power.
    for completed, reasons in ((100, []), (60, ["benchmark_failed"])):
        node = ground.node([(START + t, 0, (500 if 0 <= t < 40 else 80) + t % 3) for t in range(-40, 80)], {
            "date": time.strftime("%Y%m%d-%H%M%S", time.gmtime(START + 42)), "backend": "vllm", "duration": 40.0,
            "num_prompts": 100, "completed": completed, "total_input_tokens": 1000, "total_output_tokens": 2000,
            "max_concurrency": 4, "request_rate": "inf", "burstiness": 1, "model_id": "m", "tokenizer_id": "m"})
        place = node.folder / "store" / "llama"
        place.mkdir(parents=True)
        for name, to in (("run.json", "llama.json"), ("agg_run.json", "agg_llama.json"), ("gpu_metrics.csv", "gpu_metrics.csv")):
            (node.folder / name).rename(place / to)
        write_json(place / "agg_llama.json", {"tp": 1})
        done, report = backfilled(node.folder, "--timezone", "UTC", "--window", "estimated")
        checks.add(f"1.12 in a store, {completed} of 100, placed", differences(
            "reasons", [run["reasons"] for run in report if "outcome" in run], [reasons]))

    package = four_gpus()
    package.aggregate = {"tp": 4, "benchmark_outcome": outcome(100, 94)}
    folder, place = store("llama_tp4_conc4_h100", package)
    done, report = backfilled(folder)
    runs = [run for run in report if "outcome" in run]
    checks.add("1.12 in a store", differences("run", [(run["outcome"], run["reasons"]) for run in runs],
                                              [("not_valid", ["benchmark_failed"])]))


TESTS = [test for name, test in list(globals().items())
         if callable(test) and getattr(test, "__code__", None) and test.__code__.co_varnames[:2] == ("ground", "checks")]


def main():
    checks = patching.Checks()
    with patching.fresh_folder("october") as root:
        ground = Ground(root)
        for test in TESTS:
            if not sys.argv[1:] or test.__name__ in sys.argv[1:]:
                test(ground, checks)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
