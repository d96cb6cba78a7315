#!/usr/bin/env python3
"""Checks 'aggregate-power verify --sweep' and 'backfill --sweep-manifest' on sweeps that are built by hand.

Each test changes one thing of a sweep that holds; its numbers are in sweep_builder.py.

usage: tests/publication/verify_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import copy
import datetime
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys

from sweep_builder import HEAD, START, Sweep, csv_of, digest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import PROGRAM, ROOT, run_tests, same  # noqa: E402

NOBODY = 65534
MIB = 1 << 20


class Done:
    def __init__(self, folder, arguments, environment=None, program=PROGRAM, **options):
        done = subprocess.run([program, *map(str, arguments)], cwd=folder, capture_output=True,
                              env=os.environ | (environment or {}), timeout=120, **options)
        self.status, self.out, self.err = done.returncode, done.stdout.decode(), done.stderr.decode()
        self.lines = self.out.splitlines()

    def __repr__(self):
        return f"status {self.status}\n{self.out}{self.err}"


def verify(sweep, *more, **options):
    before = contents(sweep.root)
    done = Done(sweep.root, ["verify", "--sweep", "sweep_manifest.json", *more], **options)
    assert contents(sweep.root) == before, "a file was changed"
    return done


def build(sweep, *more):
    """Writes out.json; the file is gone unless it was written now."""
    sweep.path("out.json").unlink(missing_ok=True)
    return Done(sweep.root,
                ["backfill", ".", "--sweep-manifest", "out.json", "--sweep", "sweep.json", *more])


def contents(root):
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else None
            for path in root.rglob("*") if not (path.is_file() and not os.access(path, os.R_OK))}


def holds(done):
    same(0, done.status, done)
    assert done.lines[-1].endswith(": all holds") and len(done.lines) == 1, done


def fails(done, *lines):
    """Status 1, and each of these among the lines."""
    same(1, done.status, done)
    for line in lines:
        assert line in done.lines, f"{line!r} is not among: {done}"
    same(f"{len(done.lines) - 1} fault{'' if len(done.lines) == 2 else 's'}",
         done.lines[-1].split(": ")[-1], done)


def only(done, *lines):
    """Status 1, exactly these lines, in this order."""
    same(1, done.status, done)
    same(list(lines), done.lines[:-1])


def is_refused(sweep, *parts):
    """Nothing is written, and one message has all of these parts."""
    done = build(sweep)
    same(1, done.status, done)
    assert not sweep.path("out.json").exists(), "a manifest was written"
    assert any(all(part in line for part in parts) for line in done.err.splitlines()), (parts, done)


def is_written(sweep):
    done = build(sweep)
    same(0, done.status, done)
    same(json.dumps(sweep.expected(), indent=2) + "\n", sweep.path("out.json").read_text())


# ---- The whole

def test_a_sweep_that_holds(root):
    sweep = Sweep(root)
    done = verify(sweep)
    holds(done)
    same(f"5 points, {len(sweep.listed())} files: all holds", done.lines[0])
    notes = [line for line in done.err.splitlines()]
    same(1, len(notes), done)
    assert notes[0].startswith("aggregate-power: warning: agentic_agent/results/power_validation.json: check 12 could not be done from the benchmark's raw result"), done


def test_the_manifest_that_is_written(root):
    sweep = Sweep(root)
    before = contents(root)
    is_written(sweep)
    after = contents(root)
    del after["out.json"]
    same(before, after)
    holds(Done(root, ["verify", "--sweep", "out.json"]))


def test_names_and_numbers_are_written_as_python_writes_them(root):
    sweep = Sweep(root, ["solo"])
    sweep.more = {"note": "Grüße \U0001f600 \" \\ \n\x7f", "floats": [1e16, 1e-5, 0.1, 100.0, -0.0],
                  "empty": [{}, []], "full-sweep": None}
    sweep.publish()
    text = sweep.path("sweep.json").read_text().replace("1e+16", "10000000000000000.0")
    sweep.file("sweep.json", text)
    is_written(sweep)


def test_members_of_the_description_keep_their_places(root):
    sweep = Sweep(root, ["solo"])
    publication = {"mode": "replacement", "replacement_scope": [
        {"curve_scope": "curve", "previous_snapshot_workflow_run_id": 2 ** 53 - 1,
         "removed_point_identities": ["a", "b"]}]}
    sweep.more = {"schema-version": 1, "publication": publication, "points": "old"}
    sweep.publish()
    is_written(sweep)
    holds(verify(sweep))


def test_rows_in_plain_lists(root):
    sweep = Sweep(root, ["solo"])
    sweep.more = {"matrix": {"single_node": sweep.matrix["single_node"]["1k1k"]}}
    sweep.publish()
    is_written(sweep)


def test_a_concurrency_with_a_point(root):
    sweep = Sweep(root, ["solo"])
    changed(sweep, "solo", "aggregate", {"conc": 8.0})
    is_written(sweep)
    holds(verify(sweep))


def test_rows_that_require_no_power_are_passed_over(root):
    sweep = Sweep(root)
    rows = sweep.matrix["single_node"]["1k1k"]
    manifest = sweep.expected()
    rows += [rows[0] | {"require-power": False}, rows[0] | {"eval-only": True},
             rows[0] | {"require-power": 1}, rows[0] | {"require-power": None}]
    manifest["matrix"] = sweep.matrix
    sweep.json("sweep.json", sweep.description)
    sweep.json("sweep_manifest.json", manifest)
    holds(verify(sweep))
    same(0, build(sweep).status)


def test_the_same_answer_in_every_time_zone(root):
    sweep = Sweep(root, ["solo", "agent"])
    for zone in ("UTC", "America/Los_Angeles", "Asia/Kolkata"):
        holds(verify(sweep, environment={"TZ": zone}))


def test_a_recorded_zone_is_used(root):
    sweep = Sweep(root, ["solo"])
    point = sweep.point("solo")
    sweep.file("power_audit_solo_conc8/gpu_metrics.csv",
               csv_of({0: 500.0, 1: 300.0}, 10, START - 2 + 9 * 3600))
    for told in ({"timezone": "+09:00"}, {"timezone": "Asia/Tokyo"},
                 {"timezone": "local", "utc_offset": "+09:00"}):
        point.record["computed_from"] = told
        sweep.write()
        holds(verify(sweep))
    del point.record["computed_from"]
    sweep.file("power_audit_solo_conc8/gpu_metrics_context.json",
               '{"timestamp_timezone": "+09:00"}')
    sweep.write()
    holds(verify(sweep))


def test_as_json(root):
    sweep = Sweep(root, ["solo"])
    done = verify(sweep, "--json")
    same(0, done.status, done)
    same({"schema": "aggregate-power/verify-2", "file": "sweep_manifest.json", "kind": "sweep-manifest",
          "points": 1, "files": 5, "numbers": 0, "holds": True, "proofs": [], "faults": [], "warnings": []}, json.loads(done.out))
    old = digest(sweep.path("power_audit_solo_conc8/power_node.txt"))
    sweep.file("power_audit_solo_conc8/power_node.txt", "node-a")
    done = verify(sweep, "--json")
    same(1, done.status)
    same([{"check": 10, "where": "power_audit_solo_conc8/power_node.txt", "what": "SHA-256",
           "expected": old, "found": digest(sweep.path("power_audit_solo_conc8/power_node.txt"))}],
         json.loads(done.out)["faults"])


def test_the_folder_of_artifacts(root):
    sweep = Sweep(root / "artifacts", ["solo"])
    named = root / "artifacts" / "required-power-sweep-manifest" / "sweep_manifest.json"
    named.parent.mkdir()
    shutil.move(sweep.path("sweep_manifest.json"), named)
    holds(Done(root, ["verify", "--sweep", named]))
    holds(Done(named.parent, ["verify", "--sweep", "sweep_manifest.json", "--artifacts", ".."]))
    shutil.copy(named, root / "elsewhere.json")
    same(1, Done(root, ["verify", "--sweep", "elsewhere.json"]).status)
    holds(Done(root, ["verify", "--sweep", "elsewhere.json", "--artifacts", "artifacts"]))


# ---- Check 10: digests, files, and every value of the manifest

def test_every_byte_of_every_file_counts(root):
    sweep = Sweep(root)
    for path in sweep.listed():
        place = sweep.path(path)
        content = place.read_bytes()
        old = digest(place)
        place.write_bytes(content + b"\n")
        fails(verify(sweep), f"{path}: SHA-256, expected {old}, found {digest(place)}")
        place.write_bytes(content)
    holds(verify(sweep))


def test_every_value_of_the_manifest_counts(root):
    sweep = Sweep(root)
    for point in range(5):
        for keys in leaves(sweep.expected()["points"][point]):
            manifest = sweep.expected()
            holder = manifest["points"][point]
            for key in keys[:-1]:
                holder = holder[key]
            old = holder[keys[-1]]
            holder[keys[-1]] = other_than(old)
            sweep.json("sweep_manifest.json", manifest)
            done = verify(sweep)
            same(1, done.status, keys)
            if keys[0] not in ("artifacts", "identity"):
                name = ".".join(f"[{key}]" if isinstance(key, int) else key for key in keys)
                name = name.replace(".[", "[")
                assert any(f"'{name}' of the manifest, expected " in line for line in done.lines), (
                    name, done)


def leaves(value, keys=()):
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(
        value, list) else None
    if members is None:
        yield keys
        return
    for key, member in members:
        yield from leaves(member, (*keys, key))


def other_than(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return math.nextafter(value, math.inf) if isinstance(value, float) else value + 1
    return "other" if value is None else f"{value}x"


def test_a_key_that_occurs_twice(root):
    sweep = Sweep(root, ["solo"])
    text = json.dumps(sweep.expected())
    for key, value in (("run-id", 7), ("head", "x"), ("points", [])):
        sweep.path("sweep_manifest.json").write_text(text.replace(f'"{key}":', f'"{key}": {json.dumps(value)}, "{key}":', 1))
        done = verify(sweep)
        same(1, done.status, done)
        assert f"'{key}' occurs twice, and programs differ in which of the two counts" in str(done), done


def test_missing_and_further_keys_of_the_manifest(root):
    sweep = Sweep(root, ["solo"])
    manifest = sweep.expected()
    del manifest["points"][0]["topology"]["tp"]
    sweep.json("sweep_manifest.json", manifest)
    only(verify(sweep), "solo conc 8: 'topology.tp' of the manifest, expected 2, found nothing")
    manifest = sweep.expected()
    manifest["points"][0]["extra"] = 1
    sweep.json("sweep_manifest.json", manifest)
    only(verify(sweep), "solo conc 8: 'extra' of the manifest, expected nothing, found 1")
    manifest = sweep.expected()
    manifest["points"][0]["devices"].pop()
    sweep.json("sweep_manifest.json", manifest)
    only(verify(sweep),
         "solo conc 8: the length of 'devices' of the manifest, expected 2, found 1")


def test_points_without_a_partner(root):
    sweep = Sweep(root)
    for change, lines in (
            (lambda points: points.pop(0),
             ["solo conc 8: is required by the matrix and not published"]),
            (lambda points: points.append(points[0]),
             ["sweep_manifest.json: the point 'solo' is published twice"]),
            (lambda points: points.append(points[0] | {"identity": points[0]["identity"] | {
                "concurrency": 9}}),
             ["solo conc 9: is published and not required by the matrix"]),
            (lambda points: points.reverse(),
             ["sweep_manifest.json: its points are not in the order of the matrix"])):
        manifest = sweep.expected()
        change(manifest["points"])
        sweep.json("sweep_manifest.json", manifest)
        only(verify(sweep), *lines)


def test_files_that_are_not_there(root):
    sweep = Sweep(root)
    for path in sweep.listed():
        content = sweep.path(path).read_bytes()
        sweep.path(path).unlink()
        fails(verify(sweep), f"{path}: is missing")
        sweep.path(path).write_bytes(b"")
        fails(verify(sweep), f"{path}: is empty")
        sweep.path(path).unlink()
        (root / "copy").write_bytes(content)
        sweep.path(path).symlink_to(root / "copy")
        fails(verify(sweep), f"{path}: is a link")
        sweep.path(path).unlink()
        sweep.path(path).write_bytes(content)


def test_a_file_of_a_package_that_is_not_listed(root):
    sweep = Sweep(root, ["pair"])
    sweep.file("power_audit_pair/LOGS/power/late.txt", "late\n")
    only(verify(sweep),
         *(f"power_audit_pair/LOGS/power/late.txt: belongs to pair conc {conc} and is not among its artifacts"
           for conc in (4, 16)))


def test_a_listed_file_of_no_point(root):
    sweep = Sweep(root, ["solo"])
    for path, text in (("power_audit_solo_conc8/solo_conc8.json", None),
                       ("power_audit_solo_conc8/../sweep.json", "leads"), ("/etc/passwd", "leads"),
                       ("bmk_solo_conc8//agg_solo_conc8.json", "leads"), ("", "leads"),
                       ("./sweep.json", "leads")):
        manifest = sweep.expected()
        manifest["points"][0]["artifacts"].append(
            {"path": path, "sha256": digest(sweep.path(path)) if text is None else "0" * 64,
             "validation_state": "valid"})
        sweep.json("sweep_manifest.json", manifest)
        done = verify(sweep)
        fails(done, f"{path}: is among the artifacts of solo conc 8 and does not belong to it")
        if text is not None:
            assert f"{path}: is not the path of a file in the folder of artifacts" in done.lines, done


def test_a_folder_that_is_a_link(root):
    """What is below it is not an artifact, even if its bytes are right."""
    sweep = Sweep(root / "artifacts", ["solo"])
    shutil.move(sweep.path("bmk_solo_conc8"), root / "elsewhere")
    sweep.path("bmk_solo_conc8").symlink_to(root / "elsewhere")
    done = verify(sweep)
    fails(done, "bmk_solo_conc8/agg_solo_conc8.json: leads out of the folder of artifacts")


def test_the_order_of_the_artifacts(root):
    sweep = Sweep(root, ["solo"])
    manifest = sweep.expected()
    manifest["points"][0]["artifacts"].reverse()
    sweep.json("sweep_manifest.json", manifest)
    only(verify(sweep), "solo conc 8: its list of artifacts is not sorted by path")
    manifest["points"][0]["artifacts"].append(manifest["points"][0]["artifacts"][0])
    sweep.json("sweep_manifest.json", manifest)
    fails(verify(sweep), "solo conc 8: its list of artifacts names a file twice")


# ---- The head of a manifest

def test_the_head_of_the_manifest(root):
    sweep = Sweep(root, ["solo"])
    scope = {"curve_scope": "c", "previous_snapshot_workflow_run_id": 1,
             "removed_point_identities": ["a"]}
    unnamed = "a replacement scope does not name a curve, a snapshot and the points that it removes"
    for changes, what in (
            ({"schema-version": 1}, "'schema-version', expected 2, found 1"),
            ({"schema-version": 2.0}, "'schema-version', expected 2, found 2.0"),
            ({"head": HEAD[:-1]}, f"'head', expected 40 lower-case hexadecimal digits, found '{HEAD[:-1]}'"),
            ({"head": HEAD.upper()}, f"'head', expected 40 lower-case hexadecimal digits, found '{HEAD.upper()}'"),
            ({"run-id": 0}, "'run-id', expected a whole number above 0, found 0"),
            ({"run-attempt": True}, "'run-attempt', expected a whole number above 0, found true"),
            ({"run-attempt": -1}, "'run-attempt', expected a whole number above 0, found -1"),
            ({"publication": None}, "'publication' has no known mode with a list of scopes"),
            ({"publication": {"mode": "all", "replacement_scope": []}},
             "'publication' has no known mode with a list of scopes"),
            ({"publication": {"mode": "incremental", "replacement_scope": [scope]}},
             "an incremental publication replaces nothing, but 'replacement_scope' is not empty"),
            ({"publication": {"mode": "replacement", "replacement_scope": []}},
             "a replacement must name what it replaces, but 'replacement_scope' is empty"),
            ({"publication": {"mode": "replacement", "replacement_scope": [scope, scope]}},
             "the curve 'c' is replaced twice"),
            *(({"publication": {"mode": "replacement", "replacement_scope": [scope | wrong]}}, unnamed)
              for wrong in ({"curve_scope": ""}, {"previous_snapshot_workflow_run_id": 2 ** 53},
                            {"previous_snapshot_workflow_run_id": 0},
                            {"removed_point_identities": []}, {"removed_point_identities": ["a", "a"]},
                            {"removed_point_identities": [1]}))):
        sweep.json("sweep_manifest.json", sweep.expected() | changes)
        only(verify(sweep), f"sweep_manifest.json: {what}")
    good = {"mode": "replacement", "replacement_scope": [scope, scope | {"curve_scope": "d"}]}
    sweep.json("sweep_manifest.json", sweep.expected() | {"publication": good})
    holds(verify(sweep))


def test_expected_runs(root):
    sweep = Sweep(root, ["solo"])
    holds(verify(sweep, "--expected-run-id", 123, "--expected-head", HEAD, "--expected-run-attempt", 2))
    holds(verify(sweep, "--expected-run-attempt", 3))
    only(verify(sweep, "--expected-run-id", 124), "sweep_manifest.json: 'run-id', expected 124, found 123")
    only(verify(sweep, "--expected-head", "cd" * 20),
         f"sweep_manifest.json: 'head', expected {'cd' * 20}, found '{HEAD}'")
    only(verify(sweep, "--expected-run-attempt", 1),
         "sweep_manifest.json: 'run-attempt', expected 1 to 1, found 2")


def test_rows_of_the_matrix(root):
    sweep = Sweep(root, ["solo"])
    row = sweep.matrix["single_node"]["1k1k"][0]
    for change, what in (({"recipe-fingerprint": "AB" * 32}, "not 64 hexadecimal digits"),
                         ({"recipe-fingerprint": None}, "not 64 hexadecimal digits"),
                         ({"conc": "8"}, "'conc' is '8', not a whole number or a list of them"),
                         ({"conc": []}, "'conc' is"), ({"conc": [0]}, "'conc' is"),
                         ({"runner": 1}, "'runner' is not a text"), ({"exp-name": None}, "'exp-name'"),
                         ({"disagg": "no"}, "'disagg' is 'no', not true or false"),
                         ({"conc": [8, 8]}, "its fingerprint and concurrency occur twice"),
                         ({"conc": 9}, "none"), ({"precision": "fp4"}, "found none"),
                         ({"model-prefix": "x"}, "found none"), ({"framework": "x"}, "found none"),
                         ({"disagg": True}, "found none"), ({"require-power": False}, "requires the power of no point")):
        sweep.matrix["single_node"]["1k1k"][0] = row | change
        sweep.json("sweep.json", sweep.description)
        is_refused(sweep, what)
    sweep.matrix["single_node"]["1k1k"][0] = row
    sweep.json("sweep.json", sweep.description)
    sweep.json("bmk_solo_copy/agg_solo_conc8.json", sweep.point("solo").aggregate)
    is_refused(sweep, "solo conc 8: aggregates in bmk*/", "expected 1, found 2 (bmk_solo_conc8/agg_solo_conc8.json, bmk_solo_copy/agg_solo_conc8.json)")


# ---- Checks 1 to 9, by what is refused when the manifest is written

def changed(sweep, name, part, change, conc=None):
    """Changes a point's aggregate or record; `...` removes a key."""
    value = getattr(sweep.point(name, conc), part)
    value.update(change)
    for key in [key for key, new in change.items() if new is ...]:
        del value[key]
    sweep.write()


def each_refused(root, points, name, part, cases, conc=None):
    sweep = Sweep(root, points)
    value = copy.deepcopy(getattr(sweep.point(name, conc), part))
    for change, *parts in cases:
        getattr(sweep.point(name, conc), part).clear()
        getattr(sweep.point(name, conc), part).update(copy.deepcopy(value))
        point = sweep.point(name, conc)
        merged = getattr(point, part)
        for key, new in change.items():
            if new is ...:
                del merged[key]
            else:
                merged[key] = new
        sweep.json(point.aggregate_path, point.aggregate)
        sweep.json(point.record_path, point.record)
        is_refused(sweep, *parts)


def test_1_the_verdict_of_the_aggregate(root):
    each_refused(root, ["pair"], "pair", "aggregate", [
        ({"power_metric_schema_version": 1}, "'power_metric_schema_version' of the aggregate, expected 2, found 1"),
        ({"power_metric_schema_version": 2.0}, "expected 2, found 2.0"),
        ({"power_valid": 0}, "'power_valid' of the aggregate, expected 1, found 0"),
        ({"power_valid": True}, "expected 1, found true"),
        *(({key: value}, f"'{key}' of the aggregate, expected a number above 0")
          for key in ("avg_power_w", "avg_total_gpu_power_w", "total_gpu_energy_j",
                      "joules_per_output_token", "prefill_gpu_energy_j", "decode_gpu_energy_j",
                      "prefill_joules_per_input_token", "decode_joules_per_output_token")
          for value in (..., 0, -1.5, True, "1"))], conc=4)


def test_1_numbers_that_are_not_finite(root):
    sweep = Sweep(root, ["solo"])
    path = sweep.path(sweep.point("solo").aggregate_path)
    path.write_text(path.read_text().replace('"avg_power_w": 400.0', '"avg_power_w": Infinity'))
    is_refused(sweep, "'avg_power_w' of the aggregate, expected a number above 0, found Infinity")


def test_2_topology(root):
    each_refused(root, ["solo"], "solo", "aggregate", [
        *(({key: 3}, f"'{key}' of the aggregate") for key in ("tp", "pp", "dcp_size", "pcp_size", "ep")),
        ({"tp": ...}, "'tp' of the aggregate, expected 2, found null"),
        ({"ep": ...}, "'ep' of the aggregate, expected 2, found null"),
        ({"dp_attention": True}, "'dp_attention' of the aggregate, expected false, found true"),
        ({"dp_attention": "yes"}, "'dp_attention' of the aggregate, expected false, found 'yes'")])
    sweep = Sweep(root / "2", ["solo"])
    changed(sweep, "solo", "aggregate", {"pp": ..., "dcp_size": ..., "pcp_size": ..., "dp_attention": "false"})
    is_written(sweep)
    row = sweep.matrix["single_node"]["1k1k"][0]
    row["pp"] = 2
    sweep.publish()
    is_refused(sweep, "'pp' of the aggregate, which is 1 if absent, expected 2, found 1")
    changed(sweep, "solo", "aggregate", {"pp": 2})
    is_refused(sweep, "the GPUs of the matrix, against those of the audit record, expected 2, found 4")
    row["pp"] = 10 ** 12
    sweep.publish()
    is_refused(sweep, "the matrix does not say how many GPUs the workers have")


def test_2_topology_of_workers(root):
    keys = ["tp", "pp", "dcp_size", "pcp_size", "ep", "num_workers"]
    for role in ("prefill", "decode"):
        each_refused(root / role, ["pair"], "pair", "aggregate", [
            *(({f"{role}_{key}": 7}, f"'{role}_{key}' of the aggregate") for key in keys),
            ({f"num_{role}_gpu": 7}, f"'num_{role}_gpu' of the aggregate, expected 2, found 7"),
            ({f"{role}_dp_attention": True}, f"'{role}_dp_attention' of the aggregate")], conc=16)
    each_refused(root / "none", ["whole"], "whole", "aggregate", [
        ({"decode_tp": 2}, "'decode_tp' of the aggregate, expected 0, found 2"),
        ({"decode_ep": 1}, "'decode_ep' of the aggregate, expected 0, found 1")])


def test_3_one_audit_record(root):
    sweep = Sweep(root, ["solo"])
    record = sweep.path(sweep.point("solo").record_path)
    text = record.read_text()
    record.unlink()
    is_refused(sweep, "power_audit_solo_conc8: audit records power_validation*.json of solo conc 8, expected 1, found none")
    record.write_text(text)
    deep = "power_audit_solo_conc8/deep/power_validation_other.json"
    sweep.file(deep, text)
    is_refused(sweep, "audit records power_validation*.json of solo conc 8, expected 1, found 2")
    sweep.json(deep, json.loads(text) | {"benchmark_result": "x.json"})
    is_written(sweep)
    for name in ("results_concurrency_8.json", "/a/solo_conc8.json"):
        sweep.json(deep, json.loads(text) | {"benchmark_result": name})
        is_refused(sweep, "expected 1, found 2")
    sweep.path(deep).unlink()
    sweep.json("power_audit_solo_conc8/conc_8/power_validation.json", {"benchmark_result": "x.json"})
    is_refused(sweep, "expected 1, found 2")
    shutil.rmtree(sweep.path("power_audit_solo_conc8"))
    is_refused(sweep, "expected 1, found none")


def test_4_the_verdict_of_the_record(root):
    window = {"start_time_unix": 2.0, "end_time_unix": 1.0}
    each_refused(root, ["solo"], "solo", "record", [
        ({"power_valid": 1}, "'power_valid' of the audit record, expected true, found 1"),
        ({"power_valid": False}, "expected true, found false"),
        ({"benchmark_window": None}, "the window of the audit record"),
        ({"benchmark_window": window}, "an end after its start, both above 0, found 2.0 to 1.0"),
        ({"benchmark_window": window | {"end_time_unix": 2.0}}, "the window of the audit record"),
        ({"benchmark_window": window | {"start_time_unix": 0}}, "the window of the audit record"),
        ({"benchmark_window": window | {"start_time_unix": "1"}}, "the window of the audit record")])


def test_5_numbers_of_gpus(root):
    each_refused(root, ["solo"], "solo", "record", [
        ({"observed_gpu_count": 3}, "'observed_gpu_count' of the audit record, against its GPUs, expected 2, found 3"),
        ({"expected_gpu_count": None}, "'expected_gpu_count' of the audit record, against its GPUs, expected 2, found null"),
        ({"per_gpu_energy_j": {"0": 8000.0}}, "the GPUs of the aggregate, against those of the audit record, expected 1, found 2"),
        ({"per_gpu_energy_j": {}}, "'per_gpu_energy_j' has no GPU"),
        ({"per_gpu_energy_j": {"0": 5000.0, "1": 0}}, "GPU 1: its energy is 0, not above 0"),
        ({"per_gpu_energy_j": {"0": 5000.0, "1": None}}, "GPU 1: its energy is null, not above 0"),
        ({"per_gpu_energy_j": {"0": 5000.0, "7": 3000.0}}, "GPU 7: no file names its node and UUID")])
    sweep = Sweep(root / "2", ["solo"])
    changed(sweep, "solo", "aggregate", {"num_gpus": 3})
    is_refused(sweep, "the GPUs of the aggregate, against those of the audit record, expected 2, found 3")


def test_5_names_of_gpus(root):
    sweep = Sweep(root, ["solo"])
    audit = "power_audit_solo_conc8"
    sweep.file(f"{audit}/power_node.txt", "\n")
    is_refused(sweep, f"{audit}/power_node.txt: does not name the node")
    sweep.file(f"{audit}/power_node.txt", "n")
    sweep.file(f"{audit}/gpu_metrics_identity.csv", "index,uuid\n0,GPU-a\n1,GPU-a\n")
    is_refused(sweep, "GPU 1: another GPU has its UUID GPU-a too")
    sweep.file(f"{audit}/gpu_metrics_identity.csv", "index,name\n0,x\n")
    is_refused(sweep, f"{audit}/gpu_metrics_identity.csv: its header has no columns index and uuid")
    sweep.path(f"{audit}/gpu_metrics_identity.csv").unlink()
    is_refused(sweep, f"{audit}/gpu_metrics_devices.json: is missing")


def test_6_roles(root):
    roles = {"node-d/GPU-node-d-0": "prefill", "node-d/GPU-node-d-1": "decode",
             "node-p/GPU-node-p-0": "prefill", "node-p/GPU-node-p-1": "prefill"}
    each_refused(root, ["pair"], "pair", "record", [
        ({"per_gpu_role": roles}, "'num_decode_gpu' of the aggregate, against the GPUs of that role, expected 1, found 2"),
        ({"per_gpu_role": roles}, "'decode_gpu_energy_j' of the aggregate, against the sum of the GPUs, expected 18000.0, found 36000.0"),
        ({"per_gpu_role": roles | {"node-p/GPU-node-p-0": "router"}}, "GPU node-p/GPU-node-p-0: its role is 'router'"),
        ({"per_gpu_role": ...}, "its role is ''")], conc=4)
    each_refused(root / "2", ["whole"], "whole", "record", [
        ({"per_gpu_role": {f"{host}/GPU-{host}-{index}": "prefill" for host in ("node-1", "node-2")
                           for index in (0, 1)}},
         "the role of node-1/GPU-node-1-0, expected aggregate, found prefill")])


def test_6_and_8_sums_of_energy(root):
    """Of a decode energy of 36,000 J 1e-4 is 3.6 J, of the total of 84,000 J 8.4 J."""
    sweep = Sweep(root, ["pair"])
    for conc, key, inside, outside in ((4, "decode_gpu_energy_j", 36003.5, 36003.7),
                                       (4, "decode_gpu_energy_j", 35996.5, 35996.3),
                                       (4, "prefill_gpu_energy_j", 48004.7, 48004.9),
                                       (4, "total_gpu_energy_j", 84008.3, 84008.5),
                                       (4, "total_gpu_energy_j", 83991.7, 83991.5)):
        point = sweep.point("pair", conc)
        old = point.aggregate[key]
        changed(sweep, "pair", "aggregate", {key: inside}, conc)
        is_written(sweep)
        changed(sweep, "pair", "aggregate", {key: outside}, conc)
        is_refused(sweep, f"'{key}' of the aggregate, against the sum of the GPUs, expected {old}, found {outside}")
        changed(sweep, "pair", "aggregate", {key: old}, conc)


def test_8_the_least_tolerance(root):
    """0.01 J, which is more than 1e-4 of 80 J."""
    sweep = Sweep(root, [])
    sweep.add_solo("tiny", watts={0: 5.0, 1: 3.0})
    sweep.write()
    changed(sweep, "tiny", "aggregate", {"total_gpu_energy_j": 80.0099})
    is_written(sweep)
    changed(sweep, "tiny", "aggregate", {"total_gpu_energy_j": 80.0101})
    is_refused(sweep, "'total_gpu_energy_j' of the aggregate, against the sum of the GPUs")


def test_7_nodes(root):
    sweep = Sweep(root, ["pair"])
    sweep.matrix["multi_node"]["1k1k"][0]["node-count"] = 3
    sweep.publish()
    is_refused(sweep, "'node-count' of the matrix, against the nodes of the GPUs, expected 2, found 3")
    del sweep.matrix["multi_node"]["1k1k"][0]["node-count"]
    sweep.publish()
    is_refused(sweep, "'node-count' of the matrix, against the nodes of the GPUs, expected 2, found null")


def test_9_the_window_of_a_package(root):
    sweep = Sweep(root, ["pair"])
    window = sweep.path("power_audit_pair/LOGS/power/windows/results_concurrency_4.json")
    whole = json.loads(window.read_text())
    for change, what in (({"status": "failed"}, "'status', expected 'completed', found 'failed'"),
                         ({"concurrency": 5}, "'concurrency', expected 4, found 5"),
                         ({"benchmark_start_time_unix": 1000.5}, "'benchmark_start_time_unix', expected 1000.0, found 1000.5"),
                         ({"benchmark_end_time_unix": 1059.0}, "'benchmark_end_time_unix', expected 1060.0, found 1059.0")):
        window.write_text(json.dumps(whole | change))
        is_refused(sweep, "windows/results_concurrency_4.json: " + what)
    window.write_text(json.dumps(whole))
    point = sweep.point("pair", 4)
    for file in ("../../../sweep.json", "/etc/passwd", None):
        selected = point.record["selected_window"]
        point.record["selected_window"] = selected | {"window_file": file}
        sweep.write()
        is_refused(sweep, "'selected_window' does not name a file of the package")
        point.record["selected_window"] = selected
    sweep.write()
    sweep.file("power_audit_pair/more/samples.csv", "x")
    is_written(sweep)
    sweep.file("power_audit_pair/more/manifest.json", "{}")
    is_refused(sweep, "power_audit_pair: files samples.csv with a manifest.json beside them, expected 1, found 2")


def test_9_cpus_have_samples_of_their_own(root):
    sweep = Sweep(root, [])
    from package_builder import Load, Package
    package = Package(loads=[Load(4, 1000.0, 1060.0)]).add_cpus()
    sweep.add_package("pair", package, True, 2)
    sweep.write()
    is_written(sweep)
    holds(verify(sweep))


def test_9_native_packages(root):
    sweep = native_sweep(root)
    is_written(sweep)
    done = verify(sweep)
    holds(done)
    same("", done.err)
    package = sweep.path("power_audit_native/LOGS/native_power")
    shutil.move(package / "node-1", sweep.path("power_audit_native/LOGS/node-1"))
    is_refused(sweep, "power_audit_native: folders that hold the folders of nodes, expected 1, found 2")
    shutil.rmtree(sweep.path("power_audit_native/LOGS/node-1"))
    is_refused(sweep, "power_audit_native: files gpu_metrics.csv, one for each node of the record, expected 2, found 1")


def native_sweep(root, roles=("prefill", "decode")):
    """Two nodes with one GPU each, 100 W and 300 W for 2 s."""
    from native_test import BASE, RUN, Node
    from sweep_builder import (Point, base_aggregate, base_row, layout, metrics_of, record_of,
                               rounded_row, window_of)
    sweep = Sweep(root, [])
    joules, roles = {"uuid-0": 200.0, "uuid-1": 600.0}, dict(zip(("uuid-0", "uuid-1"), roles))
    counts, disagg = (2, 20, 10), "decode" in roles.values()
    metrics = metrics_of(joules, 2, counts, roles)
    workers = [{"num-worker": 1, "tp": 1, "ep": 1}, {"num-worker": 1, "tp": 1, "ep": 1}]
    if not disagg:
        workers = [{"num-worker": 2, "tp": 1, "ep": 1}, {"num-worker": 0, "tp": 1, "ep": 1}]
    row = base_row("native", 2, disagg=disagg, prefill=workers[0], decode=workers[1],
                   **{"node-count": 2})
    layouts = layout("prefill_", 1, 1, 1) | layout("decode_", 1, 1, 1) if disagg else (
        layout("prefill_", 1, 2, 2) | layout("decode_", 0, 0, 0))
    aggregate = base_aggregate("native", 2, True, **layouts, disagg=disagg,
                               power_metric_schema_version=2, power_valid=1, **rounded_row(metrics))
    nodes = []
    audit = "power_audit_native"
    files = []
    for rank, watts in ((0, 100), (1, 300)):
        node = Node(rank, roles[f"uuid-{rank}"], watts)
        folder = f"{audit}/LOGS/native_power/{node.folder}"
        for name, content in node.files().items():
            sweep.file(f"{folder}/{name}", content)
            files.append(f"{folder}/{name}")
        of = lambda name: digest(sweep.path(f"{folder}/{name}"))
        nodes.append(node.manifest | {
            "physical_gpu_ids": {"0": f"uuid-{rank}"}, "manifest_sha256": of("manifest.json"),
            "telemetry_sha256": of("gpu_metrics.csv"),
            "identity_sha256": of("gpu_metrics_identity.csv"),
            "identity_end_sha256": of("gpu_metrics_identity_end.csv")})
    record = record_of("native.json", window_of(BASE + 1, 2, counts), joules, metrics,
                       telemetry_kind="native_multinode_smi", nodes=nodes, per_gpu_role=roles)
    point = Point("native", "native", 2, row, aggregate, record,
                  ("bmk_native/agg_native.json", f"{audit}/power_validation_native.json"))
    point.devices = [(f"host-{rank}", uuid, roles[uuid], uuid)
                     for rank, uuid in ((0, "uuid-0"), (1, "uuid-1"))]
    point.evidence = files
    sweep.json(f"{audit}/native.json", RUN)
    sweep.add_row("multi_node", "1k1k", row)
    sweep.points.append(point)
    sweep.write()
    return sweep


# ---- Check 11

def test_11_aggregate_and_record(root):
    """W and J within 0.000501, ratios within 0.000000501."""
    sweep = Sweep(root, ["solo"])
    whole = dict(sweep.point("solo").aggregate)
    for key, value, inside, outside in (("avg_power_w", 400.0, 0.0005, 0.000502),
                                        ("avg_total_gpu_power_w", 800.0, 0.0005, 0.000502),
                                        ("total_gpu_energy_j", 8000.0, 0.0005, 0.000502),
                                        ("joules_per_successful_query", 1600.0, 0.0000005, 0.00000051),
                                        ("joules_per_input_token", 1.0, 0.0000005, 0.00000051),
                                        ("joules_per_output_token", 8.0, 0.0000005, 0.00000051)):
        for sign in (1, -1):
            changed(sweep, "solo", "aggregate", {key: value + sign * inside})
            holds(verify(sweep))
            changed(sweep, "solo", "aggregate", {key: value + sign * outside})
            done = verify(sweep)
            same(1, done.status, (key, done))
            assert done.lines[0].startswith(f"solo conc 8: '{key}' of the aggregate, against the audit record, expected {value}, found "), done
            changed(sweep, "solo", "aggregate", {key: whole[key]})


def test_11_metrics_on_one_side_only(root):
    sweep = Sweep(root, ["solo"])
    changed(sweep, "solo", "aggregate", {"joules_per_input_token": ...})
    only(verify(sweep), "solo conc 8: 'joules_per_input_token' of the aggregate, against the audit record, expected 1.0, found null")
    changed(sweep, "solo", "aggregate", {"joules_per_input_token": 1.0, "prefill_avg_power_w": 400.0})
    only(verify(sweep), "solo conc 8: 'prefill_avg_power_w' of the aggregate, against the audit record, expected none, found 400.0")


def test_11_the_record_against_itself(root):
    """Energy by duration within 0.000002 W, energy by counts within 0.000000501 J."""
    sweep = Sweep(root, ["solo"])
    metrics = sweep.point("solo").record["metrics"]
    metrics["avg_total_gpu_power_w"] = 800.000001
    sweep.write()
    assert "against its energy and window" not in verify(sweep).out
    metrics["avg_total_gpu_power_w"] = 800.000003
    sweep.write()
    fails(verify(sweep), "solo conc 8: 'avg_total_gpu_power_w' of the audit record, against its energy and window, expected 800.0, found 800.000003")


# ---- Check 12

def test_12_telemetry_with_other_watts(root):
    """From 500 W to 501 W: 10 J more in the window."""
    sweep = Sweep(root, ["solo"])
    path = sweep.path("power_audit_solo_conc8/gpu_metrics.csv")
    path.write_text(path.read_text().replace("500.00 W", "501.00 W"))
    sweep.publish()
    done = verify(sweep)
    where = "of the audit record, recomputed from power_audit_solo_conc8/gpu_metrics.csv"
    only(done,
         f"solo conc 8: 'avg_power_w' {where}, expected 400.5, found 400.0",
         f"solo conc 8: 'avg_total_gpu_power_w' {where}, expected 801.0, found 800.0",
         f"solo conc 8: 'total_gpu_energy_j' {where}, expected 8010.0, found 8000.0",
         f"solo conc 8: 'joules_per_successful_query' {where}, expected 1602.0, found 1600.0",
         f"solo conc 8: 'joules_per_input_token' {where}, expected 1.00125, found 1.0",
         f"solo conc 8: 'joules_per_output_token' {where}, expected 8.01, found 8.0",
         f"solo conc 8: 'joules_per_total_token' {where}, expected 0.89, found 0.888889",
         f"solo conc 8: the energy of GPU 0 {where}, expected 5010.0, found 5000.0")


def test_12_telemetry_that_gives_no_power(root):
    sweep = Sweep(root, ["solo"])
    path = sweep.path("power_audit_solo_conc8/gpu_metrics.csv")
    path.write_text("\n".join(path.read_text().splitlines()[:9]) + "\n")
    sweep.publish()
    done = verify(sweep)
    fails(done)
    assert done.lines[0].startswith("solo conc 8: recomputed from power_audit_solo_conc8/gpu_metrics.csv, its power is not valid: benchmark_window_not_bracketed"), done


def test_12_differences_within_the_tolerance_are_reported(root):
    sweep = Sweep(root, ["solo"])
    point = sweep.point("solo")
    point.record["per_gpu_energy_j"]["0"] = 5000.0004
    sweep.write()
    done = verify(sweep)
    holds(done)
    assert "the energy of GPU 0 differs within its tolerance: recomputed 5000.0, recorded 5000.0004" in done.err, done
    point.record["per_gpu_energy_j"]["0"] = 5000.0006
    sweep.write()
    only(verify(sweep), "solo conc 8: the energy of GPU 0 of the audit record, recomputed from power_audit_solo_conc8/gpu_metrics.csv, expected 5000.0, found 5000.0006")


def test_12_every_metric_of_every_record(root):
    sweep = Sweep(root)
    for point in sweep.points:
        for key, value in list(point.record["metrics"].items()):
            ratio = not key.endswith(("_w", "_j"))
            point.record["metrics"][key] = value + (0.000002 if ratio else 0.0006)
            sweep.write()
            done = verify(sweep)
            same(1, done.status, (point.name, key))
            label = f"{point.name} conc {point.conc}: '{key}' of the audit record, recomputed from "
            assert any(line.startswith(label) for line in done.lines), (key, done)
            point.record["metrics"][key] = value
    sweep.write()


def test_12_samples_of_a_package_with_other_watts(root):
    """With one sample of 300 W at 301 W: the package is whole, its energy is 1 J more."""
    sweep = Sweep(root, ["pair"])
    path = sweep.path("power_audit_pair/LOGS/power/samples.csv")
    rows = path.read_text(newline="") if False else path.read_bytes().decode()
    changed_row = next(row for row in rows.split("\r\n") if row.startswith("1,1030.0,") and ",node-d,0," in row)
    path.write_bytes(rows.replace(changed_row, changed_row.replace(",300.0", ",301.0")).encode())
    sweep.publish()
    done = verify(sweep)
    where = "of the audit record, recomputed from power_audit_pair/LOGS/power"
    fails(done,
          f"pair conc 4: 'total_gpu_energy_j' {where}, expected 84001.0, found 84000.0",
          f"pair conc 4: 'decode_gpu_energy_j' {where}, expected 36001.0, found 36000.0",
          f"pair conc 4: the energy of GPU node-d/GPU-node-d-0 {where}, expected 18001.0, found 18000.0")
    assert not any(line.startswith("pair conc 16") for line in done.lines), done


def test_12_a_package_that_contradicts_itself(root):
    sweep = Sweep(root, ["whole"])
    path = sweep.path("power_audit_whole/LOGS/power/manifest.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"sample_row_count": 1}))
    sweep.publish()
    done = verify(sweep)
    fails(done)
    assert done.lines[0].startswith("whole conc 4: recomputed from power_audit_whole/LOGS/power, its power is not valid: package_recompute_invalid"), done


def test_12_without_the_raw_result(root):
    """The window of the record gives power and energy; changed telemetry is still found."""
    sweep = Sweep(root)
    for name in ("solo_conc8/solo_conc8.json", "pair/pair_cfg_conc4_gpus_4.json",
                 "pair/pair_cfg_conc16_gpus_4.json", "whole/whole_cfg_conc4_gpus_4.json"):
        sweep.path(f"power_audit_{name}").unlink()
    done = verify(sweep)
    holds(done)
    same(2, done.err.count("check 12 could not be done from the benchmark's raw result"), done)
    for name in ("pair", "whole"):
        shutil.rmtree(sweep.path(f"power_audit_{name}/LOGS/cfg"))
    done = verify(sweep)
    holds(done)
    same(5, done.err.count("check 12 could not be done from the benchmark's raw result"), done)
    path = sweep.path("power_audit_whole/LOGS/power/samples.csv")
    path.write_bytes(path.read_bytes().replace(b",350.0\r\n", b",351.0\r\n"))
    sweep.publish()
    fails(verify(sweep),
          "whole conc 4: 'total_gpu_energy_j' of the audit record, recomputed from power_audit_whole/LOGS/power, expected 84240.0, found 84000.0")


def test_12_a_raw_result_that_says_otherwise(root):
    sweep = Sweep(root, ["solo"])
    path = sweep.path("power_audit_solo_conc8/solo_conc8.json")
    raw = json.loads(path.read_text())
    path.write_text(json.dumps(raw | {"completed": 6}))
    fails(verify(sweep), "solo conc 8: 'completed' of the audit record, against the benchmark's result, expected 6, found 5")
    path.write_text(json.dumps(raw | {"benchmark_end_time_unix": START + 9.75}))
    fails(verify(sweep), f"solo conc 8: 'end_time_unix' of the audit record, against the benchmark's result, expected {START + 9.75}, found {START + 10.0}")


def test_12_percentiles(root):
    """A GPU at 500 W and one that rises by 10 W each second from 280 W: in the window 300 W to 400 W, 8,500 J."""
    sweep = Sweep(root, [])
    sweep.add_solo()
    point = sweep.point("solo")
    lines = csv_of({0: 500.0}, 10).splitlines()
    rows = [lines[0]]
    for second, line in enumerate(lines[1:]):
        rows += [line, line.replace(", 0, 500.00 W", f", 1, {280 + 10 * second:.2f} W")]
    sweep.file("power_audit_solo_conc8/gpu_metrics.csv", "\n".join(rows) + "\n")
    from sweep_builder import metrics_of, rounded_row
    joules = {"0": 5000.0, "1": 3500.0}
    # A quarter of the time the total is above 875 W, a tenth above 890 W.
    metrics = metrics_of(joules, 10, (5, 8000, 1000)) | {
        "p75_power_w": 437.5, "p75_total_gpu_power_w": 875.0, "p90_power_w": 445.0,
        "p90_total_gpu_power_w": 890.0}
    point.aggregate |= rounded_row(metrics)
    point.record |= {"per_gpu_energy_j": joules, "metrics": {key: round(value, 6) for key, value in metrics.items()}}
    sweep.write()
    holds(verify(sweep))
    point.record["metrics"]["p90_power_w"] = 445.0006
    sweep.write()
    fails(verify(sweep), "solo conc 8: 'p90_power_w' of the audit record, recomputed from power_audit_solo_conc8/gpu_metrics.csv, expected 445.0, found 445.0006")


def idle_first(root):
    """GPUs 0 and 1 draw 100 W and 60 W for 30 s, then 500 W and 300 W for the 10 s of the window and 5 s more."""
    sweep = Sweep(root, ["solo"])
    lines = csv_of({0: 100.0, 1: 60.0}, 25, START - 30).splitlines()
    lines += csv_of({0: 500.0, 1: 300.0}, 10, START).splitlines()[1:]
    sweep.file("power_audit_solo_conc8/gpu_metrics.csv", "\n".join(lines) + "\n")
    return sweep


def published_by_a_run(sweep, *options):
    """Publishes what a run writes with these options."""
    point = sweep.point("solo")
    audit = sweep.path("power_audit_solo_conc8")
    sweep.path(point.record_path).unlink()
    done = Done(audit, ["--csv", "gpu_metrics.csv", "--bench-result", "solo_conc8.json", "--agg-result",
                        sweep.path(point.aggregate_path), "--expected-num-gpus", 2, "--timezone", "UTC", *options])
    same(0, done.status, done)
    point.aggregate = json.loads(sweep.path(point.aggregate_path).read_text())
    point.record = json.loads(sweep.path(point.record_path).read_text())
    sweep.publish()
    done = verify(sweep)
    holds(done)
    same("", done.err)
    return point


def each_digit_is_found(sweep, key):
    """Every number below a key of the record, changed by a digit. Returns how many there are."""
    point = sweep.point("solo")
    record = copy.deepcopy(point.record)
    count = 0
    for keys in leaves(record[key], (key,)):
        value = record
        for step in keys:
            value = value[step]
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            continue
        point.record = copy.deepcopy(record)
        place = point.record
        for step in keys[:-1]:
            place = place[step]
        place[keys[-1]] = value + 1
        sweep.write()
        name = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in keys)[1:]
        done = verify(sweep)
        same(1, done.status, (name, value, done))
        assert any(line.startswith(f"solo conc 8: '{name}' of the audit record, against its telemetry, expected ")
                   for line in done.lines), (name, done)
        count += 1
    point.record = record
    sweep.write()
    holds(verify(sweep))
    return count


def test_12_idle_power(root):
    """160 W idle: 1,600 J of the 8,000 J, so 6,400 J net and 6.4 J for each of 1,000 output tokens."""
    sweep = idle_first(root)
    point = published_by_a_run(sweep, "--idle", "auto")
    same(6400.0, round(point.record["idle"]["net_energy_j"]["value"], 6))
    assert each_digit_is_found(sweep, "idle") > 10
    point.record["idle"]["net_energy_j"]["value"] = 6401.0
    sweep.write()
    only(verify(sweep), "solo conc 8: 'idle.net_energy_j.value' of the audit record, against its telemetry, expected 6400.0, found 6401.0")
    point.record["idle"]["net_energy_j"]["value"] = 6400.0
    del point.record["idle"]["net_energy_j"]["low"]
    sweep.write()
    done = verify(sweep)
    only(done, "solo conc 8: 'idle.net_energy_j.low' of the audit record, against its telemetry, expected null, found nothing")
    assert "its net energy has no bounds" in done.err, done


def test_12_idle_power_that_nobody_can_compute(root):
    """Without the option that asked for it."""
    sweep = idle_first(root)
    point = published_by_a_run(sweep, "--idle", "85+-3")
    del point.record["computed_from"]["options"]["idle"]
    sweep.write()
    done = verify(sweep)
    holds(done)
    assert f"{point.record_path}: 'idle' could not be computed again" in done.err, done


def test_12_the_interval_of_the_energy(root):
    sweep = idle_first(root)
    published_by_a_run(sweep, "--uncertainty", "--gpu", "H100")
    assert each_digit_is_found(sweep, "uncertainty") > 50


def test_12_the_interval_of_an_estimated_window(root):
    """The result says how long the load was, and not when."""
    sweep = idle_first(root)
    lines = csv_of({0: 100.0, 1: 60.0}, 25, START - 30).splitlines()
    lines += csv_of({0: 500.0, 1: 300.0}, 5, START).splitlines()[1:]
    lines += csv_of({0: 100.0, 1: 60.0}, 25, START + 10).splitlines()[1:]
    sweep.file("power_audit_solo_conc8/gpu_metrics.csv", "\n".join(lines) + "\n")
    ended = datetime.datetime.fromtimestamp(START + 11, datetime.timezone.utc)
    result = json.loads((ROOT / "testdata" / "generators" / "vllm.json").read_text())
    result |= {"date": f"{ended:%Y%m%d-%H%M%S}", "duration": 9.8, "completed": 5, "num_prompts": 5, "max_concurrency": 8,
               "total_input_tokens": 8000, "total_output_tokens": 1000}
    sweep.json("power_audit_solo_conc8/solo_conc8.json", {
        key: value for key, value in result.items() if not isinstance(value, list)})
    point = published_by_a_run(sweep, "--window", "estimated", "--uncertainty", "--gpu", "H100")
    same("estimated", point.record["computed_from"]["window_source"])
    assert point.record["uncertainty"]["available"], point.record["uncertainty"]
    names = [part["name"] for part in point.record["uncertainty"]["total_gpu_energy_j"]["components"]]
    assert "window_place" in names, names
    assert each_digit_is_found(sweep, "metric_intervals") > 5
    bounds = point.record.pop("metric_intervals")
    sweep.write()
    only(verify(sweep), "solo conc 8: 'metric_intervals' of the audit record, against its telemetry, expected an object, found nothing")
    point.record["metric_intervals"] = bounds
    sweep.write()
    assert each_digit_is_found(sweep, "uncertainty") > 50
    point.record["benchmark_window"]["start_time_unix"] += 1
    point.record["benchmark_window"]["end_time_unix"] += 1
    sweep.write()
    assert any("'start_time_unix' of the audit record, against the benchmark's result" in line
               for line in verify(sweep).lines)


def test_12_some_gpus_of_a_recording(root):
    """The run used GPU 1 alone: 300 W, 3,000 J."""
    from sweep_builder import metrics_of, rounded_row
    sweep = Sweep(root, ["solo"])
    point = sweep.point("solo")
    metrics = metrics_of({"1": 3000.0}, 10, (5, 8000, 1000))
    point.record |= {"per_gpu_energy_j": {"1": 3000.0}, "expected_gpu_count": 1, "observed_gpu_count": 1,
                     "selected_gpus": ["1"], "metrics": {key: round(value, 6) for key, value in metrics.items()}}
    point.aggregate |= rounded_row(metrics) | {"tp": 1, "ep": 1}
    sweep.matrix["single_node"]["1k1k"][0].update(tp=1, ep=1)
    point.devices = point.devices[1:]
    sweep.write()
    holds(verify(sweep))


def test_12_agents_on_several_nodes(root):
    """Their results are in another artifact than their package."""
    from package_builder import AgenticLoad, Package
    from sweep_builder import Sweep as Builder
    sweep = Builder(root, [])
    package = Package(loads=[AgenticLoad(4, 1000.0, 1060.0)])
    sweep.add_package("nodes", package, True, 2)
    point = sweep.point("nodes")
    results = "agentic_nodes/LOGS/agentic"
    sweep.path("agentic_nodes/LOGS").mkdir(parents=True)
    shutil.move(sweep.path("power_audit_nodes/LOGS/agentic"), sweep.path(results))
    for made in sweep.path("power_audit_nodes").glob("*.json"):
        made.unlink()
    point.agentic = True
    point.row["scenario-type"] = "agentic-coding"
    point.aggregate_path = "bmk_agentic_nodes/nodes_conc4.json"
    point.record_path = f"{results}/conc_4/power_validation.json"
    point.record["benchmark_result"] = "LOGS/agentic/conc_4/agentic_power_concurrency_4.json"
    sweep.write()
    done = verify(sweep)
    holds(done)
    same("", done.err)
    is_written(sweep)
    result = sweep.path(f"{results}/conc_4/agentic_power_concurrency_4.json")
    text = result.read_text()
    result.write_text(text.replace("30000", "30001"))
    fails(verify(sweep), "nodes conc 4: 'total_input_tokens' of the audit record, against the benchmark's result, expected 30001, found 30000")
    result.unlink()
    done = verify(sweep)
    holds(done)
    assert "check 12 could not be done from the benchmark's raw result" in done.err, done


def test_12_native_telemetry_with_another_digit(root):
    """310 W instead of 300 W in the middle of the window: 10 J more."""
    sweep = native_sweep(root)
    path = sweep.path("power_audit_native/LOGS/native_power/node-1/gpu_metrics.csv")
    path.write_text(path.read_text().replace(":02.000, 0, 300.00 W", ":02.000, 0, 310.00 W"))
    sweep.point("native").record["nodes"][1]["telemetry_sha256"] = digest(path)
    sweep.write()
    where = "of the audit record, recomputed from power_audit_native/LOGS/native_power"
    done = verify(sweep)
    fails(done,
          f"native conc 2: 'total_gpu_energy_j' {where}, expected 810.0, found 800.0",
          f"native conc 2: 'decode_gpu_energy_j' {where}, expected 610.0, found 600.0",
          f"native conc 2: the energy of GPU uuid-1 {where}, expected 610.0, found 600.0")
    assert not any("prefill" in line for line in done.lines), done


def test_12_native_aggregates_with_another_digit(root):
    sweep = native_sweep(root)
    changed(sweep, "native", "aggregate", {"avg_power_w": 200.01})
    only(verify(sweep), "native conc 2: 'avg_power_w' of the aggregate, against the audit record, expected 200.0, found 200.01")
    sweep.point("native").record["metrics"]["avg_power_w"] = 200.01
    sweep.write()
    only(verify(sweep), "native conc 2: 'avg_power_w' of the audit record, recomputed from power_audit_native/LOGS/native_power, expected 200.0, found 200.01")
    sweep.point("native").record["metrics"]["avg_power_w"] = 200.0
    changed(sweep, "native", "aggregate", {"avg_power_w": 200.0, "total_gpu_energy_j": 800.1})
    fails(verify(sweep), "native conc 2: 'total_gpu_energy_j' of the aggregate, against the sum of the GPUs, expected 800.0, found 800.1")


def test_12_native_nodes_of_the_record(root):
    """What the record says of the nodes is what their files say, though nothing is computed from it."""
    sweep = native_sweep(root)
    whole = copy.deepcopy(sweep.point("native").record)
    for change, line in (
            ({"node": "host-9"}, "'nodes[1].node' of the audit record, against its package, expected 'host-1', found 'host-9'"),
            ({"telemetry_sha256": "0" * 64}, "'nodes[1].telemetry_sha256' of the audit record, against its package"),
            ({"clock_synchronized": False}, "'nodes[1].clock_synchronized' of the audit record, against its package, expected true, found false")):
        record = copy.deepcopy(whole)
        record["nodes"][1] |= change
        sweep.point("native").record.update(record)
        sweep.point("native").devices[1] = (record["nodes"][1]["node"], "uuid-1", "decode", "uuid-1")
        sweep.write()
        done = verify(sweep)
        assert any(line in found for found in done.lines), done
        same(1, len(done.lines) - 1, done)


def test_12_native_roles_of_the_record(root):
    sweep = native_sweep(root)
    point = sweep.point("native")
    point.record["per_gpu_role"] = {"uuid-0": "decode", "uuid-1": "prefill"}
    point.devices = [("host-0", "uuid-0", "decode", "uuid-0"), ("host-1", "uuid-1", "prefill", "uuid-1")]
    sweep.write()
    fails(verify(sweep), "native conc 2: the role of GPU uuid-0 of the audit record, recomputed from power_audit_native/LOGS/native_power, expected prefill, found decode")


def test_12_native_nodes_that_do_both(root):
    sweep = native_sweep(root, roles=("aggregate", "aggregate"))
    is_written(sweep)
    holds(verify(sweep))


def test_12_native_without_the_raw_result(root):
    sweep = native_sweep(root)
    sweep.path("power_audit_native/native.json").unlink()
    done = verify(sweep)
    holds(done)
    assert "check 12 could not be done from the benchmark's raw result" in done.err, done


def test_12_a_native_record_of_our_own(root):
    """What a run writes can be published."""
    sweep = native_sweep(root)
    point = sweep.point("native")
    audit = sweep.path("power_audit_native")
    aggregate = sweep.path(point.aggregate_path)
    for options, percentiles in ((["--compat", "august"], False), ([], False), (["--extended"], True)):
        sweep.path(point.record_path).unlink()
        done = Done(audit, ["multinode", "--power-dir", "LOGS/native_power", "--bench-result", "native.json",
                            "--agg-result", aggregate, "--prefill-gpus", 1, "--decode-gpus", 1, *options])
        same(0, done.status, done)
        point.aggregate = json.loads(aggregate.read_text())
        point.record = json.loads(sweep.path(point.record_path).read_text())
        same(percentiles, "p90_power_w" in point.aggregate)
        sweep.publish()
        done = verify(sweep)
        holds(done)
        same("", done.err)


def test_12_roles_of_a_package_without_its_raw_result(root):
    """The manifest of the package says the roles, not the record."""
    sweep = Sweep(root, ["pair"])
    for path in [*root.glob("power_audit_pair/pair_*.json")]:
        path.unlink()
    shutil.rmtree(sweep.path("power_audit_pair/LOGS/cfg"))
    holds(verify(sweep))
    swapped = {"prefill": "decode", "decode": "prefill"}
    for point in sweep.points:
        point.record["per_gpu_role"] = {gpu: swapped[role] for gpu, role in point.record["per_gpu_role"].items()}
        point.devices = [(node, uuid, swapped[role], key) for node, uuid, role, key in point.devices]
        for values in (point.record["metrics"], point.aggregate):
            old = dict(values)
            for what in ("gpu_energy_j", "avg_power_w"):
                for role, other in swapped.items():
                    values[f"{role}_{what}"] = old[f"{other}_{what}"]
    sweep.write()
    done = verify(sweep)
    fails(done, "pair conc 4: the role of GPU node-d/GPU-node-d-0 of the audit record, recomputed from power_audit_pair/LOGS/power, expected decode, found prefill")


def test_3_a_record_of_two_points(root):
    """A second point of the same run without a record of its own, with the numbers of the first."""
    sweep = native_sweep(root)
    first = sweep.point("native")
    second = copy.copy(first)
    second.conc = 4
    second.aggregate = first.aggregate | {"conc": 4}
    second.aggregate_path = "bmk_native/agg_native_conc4.json"
    sweep.points.append(second)
    first.row["conc"] = [2, 4]
    sweep.write()
    is_refused(sweep, "power_audit_native/power_validation_native.json: is the audit record of 2 points")
    only(verify(sweep), "power_audit_native/power_validation_native.json: is the audit record of 2 points")


def test_11_cpus_of_the_aggregate_only(root):
    sweep = Sweep(root, ["pair"])
    changed(sweep, "pair", "aggregate", {"avg_total_cpu_power_w": 150.0}, 4)
    only(verify(sweep), "pair conc 4: 'avg_total_cpu_power_w' of the aggregate, against the audit record, expected none, found 150.0")


def test_12_a_metric_that_nothing_gives(root):
    sweep = Sweep(root, ["solo"])
    sweep.point("solo").record["metrics"]["gpu_magic_w"] = 5.0
    changed(sweep, "solo", "aggregate", {"gpu_magic_w": 5.0})
    only(verify(sweep), "solo conc 8: 'gpu_magic_w' of the audit record, recomputed from power_audit_solo_conc8/gpu_metrics.csv, expected none, found 5.0")


def test_records_of_many_gpus_and_metrics(root):
    """They are refused at once: comparing them would take hours."""
    sweep = Sweep(root, ["pair"])
    point = sweep.point("pair", 4)
    whole = copy.deepcopy(point.record)
    many = {f"node-d/{i}": "prefill" for i in range(300_000)}
    point.record |= {"per_gpu_energy_j": {gpu: 1 for gpu in many}, "per_gpu_role": many}
    sweep.json(point.record_path, point.record)
    is_refused(sweep, "'per_gpu_energy_j' has 300000 GPUs, more than a run has")
    point.record = whole
    point.record["metrics"] = {f"m{i}": i for i in range(300_000)}
    sweep.write()
    fails(verify(sweep), "pair conc 4: the audit record has 300000 metrics, more than there are")


def test_long_manifests(root):
    """A key meets the end of each 256 KiB that are read at once."""
    sweep = Sweep(root, ["solo"])
    for more in range(0, 40):
        sweep.more = {"note": "x" * (256 * 1024 - 1500 + 20 * more)}
        sweep.publish()
        holds(verify(sweep))


def test_12_percentiles_of_packages(root):
    """Powers that do not change; both windows of the package are from one reading of it."""
    sweep = Sweep(root, ["pair"])
    for point in sweep.points:
        for values in (point.record["metrics"], point.aggregate):
            for share in ("p75", "p90"):
                values |= {f"{share}_power_w": 350.0, f"{share}_total_gpu_power_w": 1400.0}
    sweep.write()
    holds(verify(sweep))
    sweep.point("pair", 16).record["metrics"]["p90_power_w"] = 351.0
    changed(sweep, "pair", "aggregate", {"p90_power_w": 351.0}, 16)
    only(verify(sweep), "pair conc 16: 'p90_power_w' of the audit record, recomputed from power_audit_pair/LOGS/power, expected 350.0, found 351.0")


# ---- Check 13

def test_13_the_digest_of_the_samples(root):
    sweep = Sweep(root, ["whole"])
    path = sweep.path("power_audit_whole/LOGS/power/manifest.json")
    samples = digest(path.parent / "samples.csv")
    whole = json.loads(path.read_text())
    for stated, shown in ((samples, None), ("0" * 64, "0" * 64), ("ABC", "'ABC'"), (None, "null")):
        path.write_text(json.dumps(whole | {"samples_sha256": stated}))
        sweep.publish()
        done = verify(sweep)
        if shown is None:
            holds(done)
        else:
            assert f"power_audit_whole/LOGS/power/manifest.json: 'samples_sha256', expected {shown}, found {samples}" in done.lines, done
            same(1, done.status)


# ---- What cannot be read

def test_a_manifest_without_the_option_leads_to_it(root):
    Sweep(root, ["solo"])
    done = Done(root, ["verify", "sweep_manifest.json"])
    same((2, "", "aggregate-power: error: sweep_manifest.json: is a sweep manifest, not a run: "
          "verify it with --sweep sweep_manifest.json\n"), (done.status, done.out, done.err))
    (root / "a receipt.json").write_text('{"kind": "source-measurement-receipt"}')
    done = Done(root, ["verify", "a receipt.json"])
    same((2, "", "aggregate-power: error: a receipt.json: is a source-measurement-receipt, not a run: "
          "verify it with --receipt 'a receipt.json'\n"), (done.status, done.out, done.err))


def test_what_cannot_be_opened(root):
    sweep = Sweep(root, ["solo"])
    done = Done(root, ["verify", "--sweep", "none.json"])
    same((2, ""), (done.status, done.out), done)
    assert done.err.startswith("aggregate-power: error: none.json: cannot open: No such file"), done
    program = shutil.copy(PROGRAM, root.parent / "program")
    path = sweep.path("power_audit_solo_conc8/gpu_metrics.csv")
    path.chmod(0)
    root.chmod(0o755)
    root.parent.chmod(0o755)
    other = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
    done = Done(root, ["verify", "--sweep", "sweep_manifest.json"], program=program, **other)
    same(2, done.status, done)
    assert any("gpu_metrics.csv" in line and "Permission denied" in line for line in done.lines), done


def test_files_that_are_not_what_they_should_be(root):
    sweep = Sweep(root, ["solo"])
    point = sweep.point("solo")
    for path in (point.aggregate_path, point.record_path):
        text = sweep.path(path).read_bytes()
        for content in (b"[]", b"{", b"\xff", b"null", b'{"a": 1} x'):
            sweep.path(path).write_bytes(content)
            sweep.publish()
            fails(verify(sweep))
            same(1, build(sweep).status)
        sweep.path(path).write_bytes(text)
    for content in ("[]", "{", "\xff", '{"schema-version": 2}', '{"schema-version": 2, "matrix": []}',
                    '{"schema-version": 2, "matrix": {"single_node": [1, null, [[]]]}, "points": [1, {"artifacts": [1]}]}'):
        sweep.file("sweep_manifest.json", content)
        fails(verify(sweep))


def test_damaged_files(root):
    """Bytes changed, cut off or repeated anywhere: there is an answer, and it is the same twice."""
    sweep = Sweep(root)
    random.seed(5)
    places = [*sweep.listed(), *["sweep_manifest.json"] * 10]
    for turn in range(120):
        path = sweep.path(random.choice(places))
        content = path.read_bytes()
        at = random.randrange(len(content))
        damaged = random.choice([
            content[:at], content[:at] + bytes([random.randrange(256)]) + content[at + 1:],
            content[:at] + random.choice([b"{", b"[", b"null", b"-1", b"1e999", b'"']) + content[at + 4:],
            content[:at] + content[at // 2:]])
        path.write_bytes(damaged)
        done = verify(sweep)
        assert done.status in (0, 1) and done.lines, (turn, path, at, done)
        assert done.status == 1 or damaged == content or path.name == "sweep_manifest.json", (turn, path, at)
        path.write_bytes(content)


def test_hostile_sizes_need_little_memory(root):
    if "AGGREGATE_POWER_SANITIZED" in os.environ:
        return
    sweep = Sweep(root, ["solo"])
    point = sweep.point("solo")
    huge = b'{"a": [' + b"0," * (7 * MIB) + b"0]}"
    for path in (point.record_path, "sweep_manifest.json"):
        text = sweep.path(path).read_bytes()
        for content in (huge, b'{"a": "' + b"x" * (17 * MIB) + b'"}'):
            sweep.path(path).write_bytes(content)
            status, peak = measured(root)
            same(1, status)
            assert peak < 300 * MIB, peak
        sweep.path(path).write_bytes(text)


def measured(root):
    """Status and peak memory, in a process of its own, because only maxima are known."""
    child = ("import resource, subprocess, sys; "
             "done = subprocess.run(sys.argv[1:], capture_output=True); "
             "print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    text = subprocess.run([sys.executable, "-c", child, PROGRAM, "verify", "--sweep", "sweep_manifest.json"],
                          cwd=root, capture_output=True, check=True).stdout.split()
    return int(text[0]), int(text[1]) * 1024


# ---- Options

def test_quietly(root):
    sweep = Sweep(root, ["solo"])
    done = verify(sweep, "--quiet")
    same((0, "", ""), (done.status, done.out, done.err))
    sweep.path("power_audit_solo_conc8/power_node.txt").unlink()
    done = verify(sweep, "--quiet")
    same((1, ""), (done.status, done.out))
    assert done.err.startswith("aggregate-power: error: power_audit_solo_conc8/power_node.txt: is missing\n"), done


def test_wrong_use(root):
    sweep = Sweep(root, ["solo"])
    for arguments, part in (
            (["verify"], "verify: expected STORE, AGGREGATE or BUNDLE, --sweep MANIFEST or --receipt FILE"),
            (["verify", "--sweep", "a", "--receipt", "b"], "--sweep"),
            (["verify", "--receipt", "b", "--expected-run-id", "1"], "--sweep"),
            (["verify", "--sweep", "a", "--expected-head", "abc"], "expected 40 lower-case hexadecimal digits, got 'abc'"),
            (["verify", "--sweep", "a", "--expected-run-id", "0"], "--expected-run-id"),
            (["backfill", ".", "--sweep-manifest", "out.json"], "--sweep"),
            (["backfill", ".", "--sweep", "sweep.json"], "--sweep-manifest"),
            (["backfill", ".", "--sweep-manifest", "out.json", "--sweep", "sweep.json", "--dry-run"],
             "--dry-run has no effect beside --sweep-manifest"),
            (["backfill", ".", "bmk_solo_conc8", "--sweep-manifest", "out.json", "--sweep", "sweep.json"],
             "takes one STORE")):
        done = Done(root, arguments)
        same((2, ""), (done.status, done.out), (arguments, done))
        assert part in done.err, done
        assert not sweep.path("out.json").exists()


def test_the_manifest_overwrites_no_input(root):
    sweep = Sweep(root, ["solo"])
    before = contents(root)
    for out in ("sweep.json", "bmk_solo_conc8/agg_solo_conc8.json", "power_audit_solo_conc8/new.json", "./bmk_x/../bmk_solo_conc8/new.json"):
        done = Done(root, ["backfill", ".", "--sweep-manifest", out, "--sweep", "sweep.json"])
        assert done.status != 0, done
        same(before, contents(root), out)


def test_an_older_manifest_is_replaced_only_by_a_whole_one(root):
    sweep = Sweep(root, ["solo"])
    sweep.file("out.json", "old")
    same(0, Done(root, ["backfill", ".", "--sweep-manifest", "out.json", "--sweep", "sweep.json"]).status)
    same(json.dumps(sweep.expected(), indent=2) + "\n", sweep.path("out.json").read_text())
    sweep.file("out.json", "old")
    sweep.path("power_audit_solo_conc8/power_node.txt").unlink()
    same(1, Done(root, ["backfill", ".", "--sweep-manifest", "out.json", "--sweep", "sweep.json"]).status)
    same("old", sweep.path("out.json").read_text())


# ---- The example of the original

def test_the_golden_manifest(root):
    """Of its five files two are known; the others are not there."""
    golden = ROOT / "testdata" / "publication" / "golden"
    shutil.copytree(golden, root / "golden")
    done = Done(root / "golden", ["verify", "--sweep", "sweep_manifest.json", "--expected-run-id", 123,
                                  "--expected-head", "b" * 40, "--expected-run-attempt", 1])
    same(1, done.status)
    same(["golden conc 1: aggregates in bmk*/ with its fingerprint, concurrency, model, hardware and kind, expected 1, found none",
          "agentic_golden/gpu_metrics_identity.csv: is missing", "agentic_golden/power_validation.json: is missing",
          "bmk_agentic_golden/agg.json: is missing", "1 point, 5 files: 4 faults"], done.lines)


def sweep_folder(path):
    root = pathlib.Path(path) / "sweep"
    root.mkdir()
    return root


if __name__ == "__main__":
    sys.exit(run_tests(globals(), sweep_folder))
