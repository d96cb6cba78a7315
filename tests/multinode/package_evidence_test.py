#!/usr/bin/env python3
"""Packages with one thing wrong each, which the recorder's own verdict of true does not show.

usage: tests/multinode/package_evidence_test.py [TEST...]   with $AGGREGATE_POWER
"""
import copy
import json
import os
import shutil
import sys

from package_bed import differences, is_october, is_valid, is_void, main, patching
from package_builder import Gpu, Load, Package, edit_json, write_json

REASONS = ["package_recompute_invalid", "producer_verdict_mismatch"]
UNBOUND = [*REASONS, "window_for_result_missing"]
LIFECYCLE = ["exporter_exited", "collector_exception", "collector_interrupted",
             "collector_join_timeout", "benchmark_child_reap_timeout"]
STARTUP = ["exporter_startup_timeout", "exporter_launch_failed", "endpoint_resolution_failed"]


def of_august(*cases):
    """What only August's rules refuse."""
    return () if is_october() else cases


def void(ground, checks, name, tamper, failure, reasons=None, package=None):
    bed = ground.bed(package)
    tamper(bed)
    failures = [failure] if isinstance(failure, str) else failure
    checks.add(name, is_void(bed, reasons or REASONS, failures))


def manifest_fields(ground, checks):
    def check(field, value, failure=None, reasons=None):
        void(ground, checks, f"manifest: {field} {value!r}",
             lambda bed: edit_json(bed.manifest, **{field: value}), failure or field, reasons)

    for field, values in {
            "schema_version": [2, "1", None, ..., 1.5], "producer": ["dcgm-power", ..., 1],
            "source_metric": ["", None, 7, ..., *of_august("DCGM_FI_DEV_POWER_USAGE_INSTANT")],
            "unit": ["mW", "w", ...],
            "power_scope": ["", [], ..., *of_august("gpu")], "timestamp_source": ["clock", ...],
            "status": ["starting", "running", "incomplete", "failed", "Complete", ..., True],
            "started_at_unix": [None, ..., "990", True, float("nan"), float("inf"), []],
            "stopped_at_unix": [None, ..., "990", False, float("-inf"), {}],
            "sample_interval_seconds": [0, -1.0, None, ..., True, float("inf"), "1"],
            "request_timeout_seconds": [0.0, -1, None, ..., float("nan")],
            "scrape_count": [-1, 64, None, ..., 65.0, True, "65"],
            "sample_row_count": [-1, 259, 261, None, ..., "260"],
            "required": [None, ..., 1, "true"],
            "reason_codes": [None, ..., {}, "endpoint_timeout", [1], ["endpoint_timeout", None],
                             *([code] for code in [*LIFECYCLE, *STARTUP])],
            "dcgm_exporter": [None, ..., [], "image"]}.items():
        for value in values:
            check(field, value)
    for image in ("", None, 0, [], False):
        void(ground, checks, f"manifest: image {image!r}",
             lambda bed, image=image: edit_json(bed.manifest, dcgm_exporter={
                 "container_image_resolved": image}), "container_image_resolved")
    for field, value in (("observed_devices", []), ("observed_devices", None),
                         ("observed_devices", ...), ("window_validations", []),
                         ("window_validations", {}), ("artifact_errors", None),
                         ("artifact_errors", [{"path": "windows/x", "reason_codes": ["y"]}]),
                         ("artifact_errors", {})):
        check(field, value)


def manifest_tolerances(ground, checks):
    """What Python calls equal, and what is not looked at."""
    for name, changes in {
            "1.0 and true are 1": {"schema_version": 1.0},
            "true is 1": {"schema_version": True},
            "more scrapes than rows show": {"scrape_count": 70},
            "codes that are no failure": {"reason_codes": ["endpoint_timeout", "x"]},
            "a failed start of what was not required": {"reason_codes": STARTUP,
                                                        "required": False},
            "whole seconds": {"sample_interval_seconds": 1, "started_at_unix": 990},
            "members that nobody reads": {"job_id": None, "more": {"a": [float("nan")]},
                                          "producer_version": ...}}.items():
        bed = ground.bed()
        edit_json(bed.manifest, **changes)
        checks.add(f"manifest: {name}", is_valid(bed))
    bed = ground.bed()
    edit_json(bed.manifest, observed_devices=[
        device | {"gpu_index": float(device["gpu_index"]), "first_sample_time_unix": 998}
        for device in bed.package.observed()])
    checks.add("manifest: stored evidence is compared by value", is_valid(bed))


def clocks(ground, checks):
    """Nodes of which nobody knows whether their clocks agree: a list of their names, or nothing at all."""
    malformed = "clock_sync_failures is not a list of strings"
    for value in (None, "node-d", "", 0, 1, True, False, {}, {"node-d": 1}, [1], [None], ["node-d", 2], [["node-d"]]):
        void(ground, checks, f"clocks: {value!r}",
             lambda bed, value=value: edit_json(bed.manifest, clock_sync_failures=value), malformed)
    for value in (..., []):
        bed = ground.bed()
        edit_json(bed.manifest, clock_sync_failures=value)
        checks.add(f"clocks: {value!r} is fine", is_valid(bed))
    unverified = "clock_sync_unverified: node-d, node-p did not prove NTP synchronisation"
    void(ground, checks, "clocks: named hosts",
         lambda bed: edit_json(bed.manifest, clock_sync_failures=["node-d", "node-p"]), unverified)
    for name, value, failure in (("malformed", {}, malformed), ("named hosts", ["node-d", "node-p"], unverified)):
        bed = ground.bed()
        edit_json(bed.manifest, clock_sync_failures=value, publication_valid=False)
        faults = is_void(bed, REASONS[:1], [failure])
        faults += is_void(bed, REASONS[:1], [failure], more=["--salvage"])
        checks.add(f"clocks: {name}, and the recorder says so too", faults)


def expected_lists(ground, checks):
    """Devices and windows that a recorder cannot have written."""
    package = Package()
    devices = package.manifest()["expected_devices"]

    def device(change):
        changed = copy.deepcopy(devices)
        change(changed[0])
        return changed

    def assignment(**members):
        return device(lambda entry: entry["assignments"][0].update(members))

    cases = {
        "no list": {"a": 1}, "a text": "x", "a number": 5, "a list of texts": ["a"],
        "a list of null": [None], "no assignments": device(lambda d: d.update(assignments=[])),
        "assignments are null": device(lambda d: d.update(assignments=None)),
        "assignments are an object": device(lambda d: d.update(assignments={"a": 1})),
        "an assignment is a text": device(lambda d: d.update(assignments=["x"])),
        "another role": assignment(worker_role="router"),
        "a role that is null": assignment(worker_role=None),
        "a worker of -1": assignment(worker_index=-1), "a worker of 0.0": assignment(worker_index=0.0),
        "a process of true": assignment(worker_process=True),
        "no process": device(lambda d: d["assignments"][0].pop("worker_process")),
        "a group of -1": assignment(het_group=-1), "a group of '1'": assignment(het_group="1"),
        "a group of false": assignment(het_group=False),
        "an empty host": device(lambda d: d.update(hostname="")),
        "a host of 1": device(lambda d: d.update(hostname=1)),
        "no host": device(lambda d: d.pop("hostname")),
        "an index of -1": device(lambda d: d.update(gpu_index=-1)),
        "an index of true": device(lambda d: d.update(gpu_index=True)),
        "an index of '0'": device(lambda d: d.update(gpu_index="0")),
    }
    for name, value in cases.items():
        bed = ground.bed()
        edit_json(bed.manifest, expected_devices=value)
        checks.add(f"expected devices: {name}", is_void(bed, ["manifest_malformed"])
                   + differences("recomputed", bed.record["producer"]
                                 ["recomputed_publication_valid"], False))
    for name, value in {
            "no list": {"a": 1}, "a list of texts": ["a"],
            "an empty kind": [{"benchmark_type": "", "concurrency": 4}],
            "no kind": [{"concurrency": 4}],
            "a concurrency of 0": [{"benchmark_type": "sa-bench", "concurrency": 0}],
            "a concurrency of 4.0": [{"benchmark_type": "sa-bench", "concurrency": 4.0}],
            "a concurrency of true": [{"benchmark_type": "sa-bench", "concurrency": True}]}.items():
        bed = ground.bed()
        edit_json(bed.manifest, expected_windows=value)
        checks.add(f"expected windows: {name}", is_void(bed, ["manifest_malformed"]))

    for value in ([], None, ..., {}, 0):
        void(ground, checks, f"expected devices: {value!r} are none",
             lambda bed, value=value: edit_json(bed.manifest, expected_devices=value),
             ["expected_device_missing", "unexpected_device"])
        void(ground, checks, f"expected windows: {value!r} are none",
             lambda bed, value=value: edit_json(bed.manifest, expected_windows=value),
             ["no expected measurement window", "measurement_window_unexpected"])
    void(ground, checks, "expected devices: one twice",
         lambda bed: edit_json(bed.manifest, expected_devices=[*devices, devices[0]]),
         "expected_devices names a device twice")
    void(ground, checks, "expected windows: one twice",
         lambda bed: edit_json(bed.manifest, expected_windows=2 * [
             {"benchmark_type": "sa-bench", "concurrency": 4}]),
         "expected_windows names a window twice")


def sample_faults(ground, checks):
    def rows(name, change, failure, reasons=None):
        void(ground, checks, f"samples: {name}", lambda bed: bed.lines(change), failure, reasons)

    def cell(column, value):
        return lambda rows: [*rows[:20], [*rows[20][:column], value, *rows[20][column + 1:]],
                             *rows[21:]]

    void(ground, checks, "samples: none", lambda bed: bed.samples.unlink(), "samples_csv_missing")
    void(ground, checks, "samples: a folder",
         lambda bed: (bed.samples.unlink(), bed.samples.mkdir()), "samples_csv_missing")
    header = ",".join(Package().header)
    for name, text in {"empty": "", "none": "1,2,3\r\n", "another order":
                       header.replace("gpu_index,gpu_uuid", "gpu_uuid,gpu_index"), "a blank":
                       header.replace(",power_w", ", power_w"), "upper case": header.upper(),
                       "a cell more": header + ",x", "a cell less": header[:-8],
                       "a byte-order mark": "\ufeff" + header, "a line before": "\r\n" + header,
                       "of version 2, cut off": header + ",gpu_util_pct"}.items():
        void(ground, checks, f"samples: a header that is {name}",
             lambda bed, text=text: bed.samples.write_bytes(
                 text.encode() + b"\r\n" + bed.samples.read_bytes().split(b"\r\n", 1)[1]),
             ["samples_csv_header_mismatch", "observed_devices is empty"])
    malformed = "samples_csv_malformed"
    rows("a blank line", lambda rows: [*rows[:9], [""], *rows[9:]], malformed)
    rows("a line of blanks", lambda rows: [*rows[:9], ["  "], *rows[9:]], malformed)
    rows("a blank line at the end", lambda rows: [*rows, [""]], malformed)
    rows("a cell less", lambda rows: [*rows[:9], rows[9][:6], *rows[10:]], malformed)
    rows("a cell more", lambda rows: [*rows[:9], [*rows[9], ""], *rows[10:]], malformed)
    rows("a torn last row", lambda rows: [*rows[:-1], rows[-1][:3]], malformed)
    for column, values in {0: ["2", "", "1.0", "x"], 1: ["", "1.010.", "..5", "nan", "inf", "x", "0x10", "1,5"],
                           2: ["-1", "", "1.0", "x"], 3: [""], 4: ["-1", "", "0.0", "GPU0"], 5: [""],
                           6: ["", ".300.25", "..5", "-1.0", "-0.001", "nan", "inf", "1e999", "N/A", "300 W"]}.items():
        for value in values:
            rows(f"{Package().header[column]} {value!r}", cell(column, value), malformed)
    for column in (1, 2):
        rows(f"{Package().header[column]} '' in the first row", lambda rows, column=column: [
            [*rows[0][:column], "", *rows[0][column + 1:]], *rows[1:]], malformed)
    void(ground, checks, "samples: not UTF-8", lambda bed: bed.samples.write_bytes(
        bed.samples.read_bytes().replace(b"GPU-node-d-1", b"GPU-node-d-\xff", 1)), malformed)
    void(ground, checks, "samples: a quote that stays open", lambda bed: bed.lines(
        lambda rows: [*rows[:30], [*rows[30][:5], '"x', rows[30][6]], *rows[31:]]), malformed)
    rows("a scrape that none can follow", lambda rows: [*rows[:-1], [
        *rows[-1][:2], str(2**63 - 1), *rows[-1][3:]]], "scrape_count")
    rows("one scrape of a device twice", lambda rows: [*rows, rows[10]], "duplicate_sample_row")
    rows("another scrape by the number of one before",
         cell(2, "4"), "duplicate_sample_row")
    rows("a stamp that turns back", lambda rows: [
        [*row[:1], "1009.5", *row[2:]] if row[2] == "14" else row for row in rows],
        "timestamp_non_monotonic")
    rows("stamps of two scrapes swapped", lambda rows: [
        [row[0], {"10": "1009.0", "11": "1008.0"}.get(row[2], row[1]), *row[2:]]
        for row in rows], "timestamp_non_monotonic")


def sample_tolerances(ground, checks):
    """What Python's int(), float() and csv take is no fault."""
    def cells(column, value):
        return lambda rows: [[*row[:column], value(row[column]), *row[column + 1:]]
                             if row[2] in ("20", "21") else row for row in rows]

    for name, change in {
            "blanks around numbers": cells(6, lambda watts: f" {watts}\t"),
            "a sign, underscores, an exponent": cells(6, lambda watts: {
                "300.0": "+3_00e0", "400.0": "4.0E2"}[watts]),
            "a version of 01": cells(0, lambda version: "0" + version),
            "a scrape with a blank": cells(2, lambda scrape: " " + scrape),
            "digits of another script": cells(2, lambda scrape: scrape.replace("2", "\u0662")),
            "quoted cells": cells(5, lambda uuid: f'"{uuid}"'),
            "a quoted cell, half of it": cells(5, lambda uuid: f'"{uuid[:3]}"{uuid[3:]}')}.items():
        bed = ground.bed()
        bed.lines(change)
        checks.add(f"samples: {name}", is_valid(bed))
    for name, change in {
            "LF alone": lambda data: data.replace(b"\r\n", b"\n"),
            "no end of the last line": lambda data: data[:-2],
            "a quoted header": lambda data: data.replace(b"power_w", b'"power_w"', 1)}.items():
        bed = ground.bed()
        bed.samples.write_bytes(change(bed.samples.read_bytes()))
        checks.add(f"samples: {name}", is_valid(bed))


def devices(ground, checks):
    void(ground, checks, "devices: one never seen", lambda bed: bed.lines(
        lambda rows: [row for row in rows if row[5] != "GPU-node-d-1"]),
        ["expected_device_missing (device identity/topology: node-d/1)",
         "measurement_window_not_bracketed", "sample_row_count", "observed_devices"])
    void(ground, checks, "devices: one too many", lambda bed: edit_json(
        bed.manifest, expected_devices=bed.package.manifest()["expected_devices"][:3]),
        "unexpected_device", [*REASONS, "topology_env_mismatch"])
    void(ground, checks, "devices: a GPU was replaced", lambda bed: bed.lines(
        lambda rows: [[*row[:5], "GPU-new", row[6]] if row[5] == "GPU-node-d-1"
                      and int(row[2]) > 30 else row for row in rows]),
        ["gpu_uuid_changed (device identity/topology)", "gpu_uuid_changed (window sa-bench/4: node-d/1 has 2 uuids)"])
    void(ground, checks, "devices: two of one UUID", lambda bed: bed.lines(
        lambda rows: [[*row[:5], "GPU-node-d-0", row[6]] if row[5] == "GPU-node-d-1" else row
                      for row in rows]), "gpu_uuid_changed (device identity/topology)")


def odd_names(ground, checks):
    """Names that a terminal must not obey, or that are long."""
    gpus = [Gpu("node\x1b[31m", 0, "prefill", 100.0), Gpu("n\u00f6de", 0, "prefill", 100.0)]
    bed = ground.bed(Package(gpus))
    done = bed.run("--require-power", gpus=(2, 0))
    checks.add("odd names of hosts are names", differences(
        "status", (done.returncode, done.err), (0, "")) + differences(
        "roles", list(bed.record["per_gpu_role"]),
        ["node\x1b[31m/GPU-node\x1b[31m-0", "n\u00f6de/GPU-n\u00f6de-0"]))
    bed = ground.bed(Package(gpus))
    bed.lines(lambda rows: [row for row in rows if row[3] != gpus[0].host])
    checks.add("odd names of hosts do not reach the terminal", is_void(
        bed, REASONS, ["node\x1b[31m/0"], gpus=(2, 0)) + differences(
        "escape", "\x1b" in bed.run(gpus=(2, 0)).err, False))
    bed = ground.bed()
    (bed.windows / ("x" * 200 + "\n")).write_text("")
    checks.add("odd names of windows do not break the line", is_void(bed, REASONS) + differences(
        "lines", bed.run().err.count("\n"), 3))


def coverage(ground, checks):
    def without(keep):
        return lambda bed: bed.lines(lambda rows: [
            row for row in rows if row[5] != "GPU-node-p-0" or keep(float(row[1]))])

    void(ground, checks, "coverage: a gap of 4 s", without(lambda t: not 1010 < t < 1014),
         "sample_gap_exceeded (window sa-bench/4: node-p/0 has no samples for 4.000 s, at most 3 s)")
    void(ground, checks, "coverage: samples begin behind the start", without(lambda t: t > 1000),
         "measurement_window_not_bracketed (window sa-bench/4: node-p/0 has samples from 1001.000 to "
         "1062.000, the window is 1000.000 to 1060.000)")
    void(ground, checks, "coverage: samples end before the end", without(lambda t: t < 1060),
         "measurement_window_not_bracketed (window sa-bench/4: node-p/0 has samples from 998.000 to "
         "1059.000, the window is 1000.000 to 1060.000)")
    for name, keep in {"a gap of 3 s": lambda t: not 1010 < t < 1013,
                       "samples from start to end": lambda t: 1000 <= t <= 1060,
                       "a gap of 5 s outside the window": lambda t: not 1060 < t < 1065}.items():
        package = Package(last=1070.0)
        package.rows = [row for row in package.rows
                        if row[5] != "GPU-node-p-0" or keep(float(row[1]))]
        checks.add(f"coverage: {name} is fine", is_valid(ground.bed(package)))
    # The last sample before is at 998, the first one inside at 1001.5.
    package = Package()
    package.rows = [row for row in package.rows if not 998 < float(row[1]) < 1002]
    bed = ground.bed(package)
    checks.add("coverage: a gap over the window's edge", is_void(
        bed, REASONS, ["sample_gap_exceeded (window sa-bench/4: node-d/0 has no samples for 4.000 s, at most 3 s)"]))


def window_files(ground, checks):
    malformed = "measurement_window_malformed (windows/results_concurrency_4.json)"

    def check(name, tamper, failure=malformed):
        void(ground, checks, f"window: {name}", tamper, failure, UNBOUND)

    for name, text in {"empty": "", "no JSON": "{", "a list": "[]", "not UTF-8": b'{"a":"\xff"}',
                       "a byte-order mark": b"\xef\xbb\xbf{}"}.items():
        check(name, lambda bed, text=text: write_json(bed.window, text))
    for field, values in {
            "schema_version": [2, "1", None, ...], "clock_source": ["clock", None, ...],
            "status": ["done", None, ..., "Completed", "running", "interrupted", "failed"],
            "benchmark_type": [None, ..., 1], "concurrency": [None, ..., "4", 4.0],
            "benchmark_start_time_unix": [None, ..., "1000", True, float("nan"), float("inf")],
            "benchmark_end_time_unix": [None, ..., "1060", float("nan"), float("-inf"), True],
            "duration": [None, ..., 0, 0.0, -60.0, float("inf"), "60", True],
            "reason": ["why", "", 0, False]}.items():
        for value in values:
            check(f"{field} {value!r}", lambda bed, field=field, value=value:
                  edit_json(bed.window, **{field: value}))
    for name, changes in {
            "a failed one without a reason": {"status": "failed"},
            "a failed one with an empty reason": {"status": "failed", "reason": ""},
            "a running one with an end": {"status": "running", "duration": None},
            "a running one with a reason": {"status": "running", "duration": None, "reason": "x",
                                            "benchmark_end_time_unix": None},
            "an interrupted one without a reason": {"status": "interrupted", "duration": None,
                                                    "benchmark_end_time_unix": None}}.items():
        check(name, lambda bed, changes=changes: edit_json(bed.window, **changes))
    incomplete = "measurement_window_incomplete (window sa-bench/4)"
    for name, changes in {
            "a failed one": {"status": "failed", "reason": "why"},
            "a running one": {"status": "running", "duration": None, "benchmark_end_time_unix": None},
            "an interrupted one": {"status": "interrupted", "duration": None, "reason": "why",
                                   "benchmark_end_time_unix": None}}.items():
        check(name, lambda bed, changes=changes: edit_json(bed.window, **changes), incomplete)
    check("none", lambda bed: bed.window.unlink(), "measurement_window_missing (window sa-bench/4)")
    check("no folder", lambda bed: shutil.rmtree(bed.windows),
          "measurement_window_missing (window sa-bench/4)")
    check("another kind", lambda bed: edit_json(bed.window, concurrency=5),
          ["measurement_window_missing (window sa-bench/4)", "measurement_window_unexpected"])

    def second(bed):
        shutil.copy(bed.window, bed.windows / "b.json")
        edit_json(bed.windows / "b.json", result_path="cfg/b.json")

    check("two of one load", second, [
        "measurement_window_duplicate (window sa-bench/4)",
        "measurement_window_duplicate (windows/b.json)",
        "measurement_window_duplicate (windows/results_concurrency_4.json)"])


def window_results(ground, checks):
    """The original result that a window names."""
    def result(bed):
        return bed.logs / "cfg" / "results_concurrency_4.json"

    missing = "measurement_window_result_missing (window sa-bench/4)"
    mismatch = "measurement_window_result_mismatch (window sa-bench/4)"
    unbound = [*REASONS, "measurement_window_result_missing"]
    other = [*REASONS, "result_content_mismatch"]
    for name, tamper, failure, reasons in (
            ("a folder", lambda bed: (result(bed).unlink(), result(bed).mkdir()), missing, unbound),
            ("no JSON", lambda bed: result(bed).write_text("{"), missing, unbound),
            ("a list", lambda bed: result(bed).write_text("[]"), mismatch, other),
            ("another start", lambda bed: edit_json(
                result(bed), benchmark_start_time_unix=1000.25), mismatch, other),
            ("another end", lambda bed: edit_json(
                result(bed), benchmark_end_time_unix=1060.0000001), mismatch, other),
            ("another duration", lambda bed: edit_json(result(bed), duration=60.5), mismatch, other),
            ("no duration", lambda bed: edit_json(result(bed), duration=...), mismatch, other),
            ("a text for a start", lambda bed: edit_json(
                result(bed), benchmark_start_time_unix="1000.0"), mismatch, other)):
        void(ground, checks, f"window's result: {name}", tamper, failure, reasons)
    # 60 s by the stamps: at most 1 % of the duration, or half a second, off.
    for duration, is_fine in ((60.5, True), (59.5, True), (60.75, False), (59.25, False)):
        package = Package()
        for part in (package.windows, package.results):
            next(iter(part.values()))["duration"] = duration
        package.bench["duration"] = duration
        bed = ground.bed(package)
        if is_fine:
            checks.add(f"window's clock: {duration} s", is_valid(bed))
        else:
            checks.add(f"window's clock: {duration} s", is_void(
                bed, [*REASONS, "benchmark_duration_mismatch"],
                ["measurement_window_clock_mismatch (window sa-bench/4)"]))


def paths(ground, checks):
    """Results that lie elsewhere, by their names or by links."""
    code = "measurement_window_result_path_invalid (windows/results_concurrency_4.json)"
    name = "results_concurrency_4.json"

    def result_path(value):
        return lambda bed: edit_json(bed.window, result_path=value)

    for value in ("", ".", "/", "..", f"../{name}", f"cfg/../cfg/{name}", f"cfg/../../{name}",
                  f"/etc/{name}", f"//{name}", f"~/{name}", f"~root/{name}", "cfg/..", "cfg",
                  "cfg/other.json", "cfg/results_concurrency_4.json.gz", None, 5, ["cfg", name], ...):
        void(ground, checks, f"result path {value!r}", result_path(value), code, UNBOUND)
    absolute = lambda bed: edit_json(bed.window, result_path=str(bed.logs / "cfg" / name))  # noqa: E731
    void(ground, checks, "result path: absolute, though below the root", absolute, code, UNBOUND)

    def link_out(bed):
        bed.logs.joinpath("cfg").rename(bed.folder / "cfg")
        bed.logs.joinpath("cfg").symlink_to("../cfg")

    def file_link_out(bed):
        shutil.move(bed.logs / "cfg" / name, bed.folder / name)
        (bed.logs / "cfg" / name).symlink_to(bed.folder / name)

    def loop(bed):
        (bed.logs / "loop").symlink_to("loop")
        edit_json(bed.window, result_path=f"loop/{name}")

    def up_and_down(bed):
        (bed.logs / "up").symlink_to("..")
        edit_json(bed.window, result_path=f"up/LOGS-old/{name}")
        (bed.folder / "LOGS-old").mkdir()
        shutil.copy(bed.logs / "cfg" / name, bed.folder / "LOGS-old" / name)

    def root_itself(bed):
        (bed.logs / name).symlink_to(".")
        edit_json(bed.window, result_path=name)

    void(ground, checks, "result path: a link to the root", root_itself,
         "measurement_window_result_missing (window sa-bench/4)",
         [*REASONS, "measurement_window_result_missing"])
    for what, tamper in (("a linked folder outside", link_out), ("a linked file outside",
                         file_link_out), ("a link to itself", loop),
                         ("a folder whose name begins as the root's", up_and_down)):
        void(ground, checks, f"result path: {what}", tamper, code, UNBOUND)

    def inner_link(bed):
        (bed.logs / "cfg").rename(bed.logs / "real")
        (bed.logs / "cfg").symlink_to("real")

    for what, tamper in {
            "a link within the root": inner_link, "a dot": result_path(f"./cfg/./{name}"),
            "two slashes": result_path(f"cfg//{name}"),
            "a folder called '..x'": lambda bed: (
                (bed.logs / "cfg").rename(bed.logs / "..x"),
                edit_json(bed.window, result_path=f"..x/{name}"))}.items():
        bed = ground.bed()
        tamper(bed)
        checks.add(f"result path: {what} is fine", is_valid(bed))


def artifacts(ground, checks):
    """What lies in the folder of windows."""
    code = "measurement_window_artifact_path_invalid"
    for name, tamper, path in (
            ("a folder", lambda bed: (bed.windows / "old").mkdir(), "windows/old"),
            ("a folder with a suffix", lambda bed: (bed.windows / "a.json").mkdir(),
             "windows/a.json"),
            ("a link to a window", lambda bed: (bed.windows / "a.json").symlink_to(bed.window.name),
             "windows/a.json"),
            ("a link that leads nowhere", lambda bed: (bed.windows / "a.json").symlink_to("none"),
             "windows/a.json"),
            ("a pipe", lambda bed: os.mkfifo(bed.windows / "a.json"), "windows/a.json")):
        void(ground, checks, f"windows: {name}", tamper, f"{code} ({path})")
    void(ground, checks, "windows: a link to a window beside it, for the window itself",
         lambda bed: (bed.window.rename(bed.power / "w.json"),
                      bed.window.symlink_to("../w.json")),
         f"{code} (windows/results_concurrency_4.json)", UNBOUND)
    void(ground, checks, "windows: any other file", lambda bed: (
        bed.windows / "notes.txt").write_text("hello"),
        "measurement_window_malformed (windows/notes.txt)")
    void(ground, checks, "windows: a name that is no text", lambda bed: os.mkdir(
        os.fsencode(bed.windows) + b"/\xff"), code)

    def folder_elsewhere(bed):
        bed.windows.rename(bed.logs / "windows")
        bed.windows.symlink_to("../windows")

    void(ground, checks, "windows: a folder that lies elsewhere", folder_elsewhere,
         f"{code} (windows)", UNBOUND)

    def folder_within(bed):
        bed.windows.rename(bed.power / "real")
        bed.windows.symlink_to("real")

    bed = ground.bed()
    folder_within(bed)
    checks.add("windows: a folder linked within the package is fine", is_valid(bed))


def unexpected(ground, checks):
    """A window of a load that was not expected, known to the recorder or not."""
    loads = [Load(4, 1000.0, 1060.0), Load(8, 1100.0, 1160.0)]
    package = Package(loads=loads)
    manifest = package.manifest()
    package.changes = {"expected_windows": manifest["expected_windows"][:1],
                       "window_validations": manifest["window_validations"][:1]}
    bed = ground.bed(package)
    told = "measurement_window_unexpected (windows/results_concurrency_8.json)"
    checks.add("unexpected window", is_void(bed, REASONS, [told, "artifact_errors"]))
    package.changes |= {"artifact_errors": [{"path": "windows/results_concurrency_8.json",
                                             "reason_codes": ["measurement_window_unexpected"]}],
                        "publication_valid": False}
    bed = ground.bed(package)
    checks.add("unexpected window, told by the recorder", is_void(
        bed, ["package_recompute_invalid"], [told])
        + differences("failures", any("artifact_errors is" in text
                                      for text in bed.record["failures"]), False))


def evidence(ground, checks):
    """What the manifest says of samples and windows, changed a little."""
    def change(field, edit):
        def tamper(bed):
            value = json.loads(bed.manifest.read_text())[field]
            edit(value)
            edit_json(bed.manifest, **{field: value})
        return tamper

    for name, field, edit in (
            ("another first sample", "observed_devices",
             lambda value: value[0].update(first_sample_time_unix=998.5)),
            ("another last sample", "observed_devices",
             lambda value: value[3].update(last_sample_time_unix=1063.0)),
            ("another UUID", "observed_devices",
             lambda value: value[1].update(gpu_uuids=["GPU-x"])),
            ("a UUID more", "observed_devices",
             lambda value: value[1]["gpu_uuids"].append("GPU-x")),
            ("another order of devices", "observed_devices", lambda value: value.reverse()),
            ("a device less", "observed_devices", lambda value: value.pop()),
            *of_august(("a member more", "observed_devices",
                        lambda value: value[0].update(x=None))),
            ("a member less", "observed_devices", lambda value: value[0].pop("gpu_index")),
            ("coverage of false", "window_validations",
             lambda value: value[0].update(power_coverage_valid=False)),
            ("another gap", "window_validations", lambda value: value[0]
             ["per_device_max_sample_gap_seconds"].update({"node-d/GPU-node-d-0": 1.0000001})),
            ("a gap less", "window_validations", lambda value: value[0]
             ["per_device_max_sample_gap_seconds"].pop("node-d/GPU-node-d-0")),
            ("another window file", "window_validations",
             lambda value: value[0].update(window_file="windows/x.json")),
            ("a code", "window_validations",
             lambda value: value[0]["reason_codes"].append("sample_gap_exceeded")),
            ("a window twice", "window_validations", lambda value: value.append(value[0]))):
        void(ground, checks, f"evidence: {field}: {name}", change(field, edit), f"{field} is not")


TESTS = [manifest_fields, manifest_tolerances, clocks, expected_lists, sample_faults, sample_tolerances,
         devices, odd_names, coverage, window_files, window_results, paths, artifacts, unexpected, evidence]

if __name__ == "__main__":
    sys.exit(main(TESTS, sys.argv[1:]))
