#!/usr/bin/env python3
"""Checks 'aggregate-power verify --receipt' on receipts and archives that are built by hand.

Digests are hashlib's, canonical bytes are json's, archives are zipfile's.

usage: tests/publication/receipt_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import copy
import hashlib
import io
import json
import os
import pathlib
import stat
import subprocess
import sys
import warnings
import zipfile

from verify_test import MIB, Done, contents, fails, holds, only, same

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import run_tests  # noqa: E402  (beside the folders that share it)

warnings.filterwarnings("ignore", "Duplicate name")
RUN, HEAD, BUNDLE, NATIVE = "987", "cd" * 20, "b1" * 32, "a7" * 32
EXECUTION, RESULT, SAMPLES = 11, 12, 13


def sha(data):
    return hashlib.sha256(data).hexdigest()


def canonical(value):
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"),
                      allow_nan=False).encode()


def info(name, mode=stat.S_IFREG | 0o644, system=3):
    entry = zipfile.ZipInfo("placeholder")
    entry.filename = name
    entry.external_attr = mode << 16
    entry.create_system = system
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def zipped(members):
    """Members are (ZipInfo or name, bytes), in this order."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(info(name) if isinstance(name, str) else name, data)
    return packed.getvalue()


def point_of(digit, concurrency, **more):
    return {"point_id": digit * 64, "bundle_digest": BUNDLE, "execution_id": f"run-{digit}",
            "source_run_id": RUN, "source_attempt": 1, "kind": "throughput",
            "concurrency": concurrency,
            "topology": {"kind": "aggregate", "nodes": 1, "serving_gpus": 8, "tp": 8, "ep": 1},
            "artifact_ids": [EXECUTION, RESULT], "execution_artifact_id": EXECUTION,
            "execution_path": f"{digit}/execution.json", "native_manifest_sha256": NATIVE,
            "normalized_artifact_id": RESULT, "normalized_path": "rows.json",
            "normalized_format": "normalized", "metadata_path": None,
            "required_metrics": ["avg_power_w", "output_tput_tps"],
            "config": {"model": "dsv4", "hardware": "b200", "specMethod": "none",
                       "recipeFingerprint": "f" * 64, "framework": "vllm"},
            "task": None, "filters": [], "sample_count": 0, "samples_artifact_id": None,
            "samples_path": None, "dataset": {}} | more


def execution_of(point):
    return {"schema_version": 1, "point_id": point["point_id"],
            "execution_id": point["execution_id"], "bundle_digest": BUNDLE, "mode": point["kind"],
            "client_exit_code": 0,
            "source": {"repository": "org/repo", "run_id": int(RUN), "attempt": 1, "head_sha": HEAD},
            "native_receipt": {"state": "COMPLETED", "job_id": "4711", "manifest_sha256": NATIVE}}


def row_of(concurrency, **more):
    return {"conc": concurrency, "infmax_model_prefix": "dsv4", "hw": "B200-NVL", "framework": "vllm",
            "spec_decoding": "none", "recipe_fingerprint": "f" * 64, "disagg": False,
            "is_multinode": False, "tp": 8, "ep": 1, "num_gpus": 8, "avg_power_w": 512.25,
            "request_metrics": {"throughput": {"output": {"tokens_per_second": 99.5}}}} | more


class Receipt:
    """Two loads and an evaluation of four documents with two filters, three of them right."""

    def __init__(self, root):
        self.root = root
        self.points = [point_of("1", 4), point_of("2", 8), point_of(
            "3", 16, kind="eval", artifact_ids=[EXECUTION, RESULT, SAMPLES], task="gsm8k",
            filters=["strict-match", "flexible-extract"], sample_count=4,
            samples_artifact_id=SAMPLES, samples_path="s/samples.jsonl",
            dataset={"name": "gsm8k", "revision": 3})]
        self.executions = [execution_of(point) for point in self.points]
        self.rows = [row_of(4), row_of(8, conc=..., users=8), row_of(
            16, task="gsm8k", n_eff=4, em_strict=0.75, dataset={"name": "gsm8k", "revision": 3})]
        self.rows = [{key: value for key, value in row.items() if value is not ...}
                     for row in self.rows]
        self.samples = [{"doc_id": doc, "filter": name, "exact_match": float(doc < 3)}
                        for name in ("strict-match", "flexible-extract") for doc in range(4)]
        self.further = {EXECUTION: [], RESULT: [], SAMPLES: []}  # members
        self.changes = {}
        self.write()

    def members(self):
        executions = [(f"{point['point_id'][0]}/execution.json", json.dumps(execution))
                      for point, execution in zip(self.points, self.executions)]
        return {EXECUTION: executions, RESULT: [("rows.json", json.dumps(self.rows))],
                SAMPLES: [("s/samples.jsonl", "".join(json.dumps(sample) + "\n"
                                                      for sample in self.samples))]}

    def write(self, archives=None, listed=None):
        """`archives` are ZIP bytes by artifact, `listed` members to list, instead of what is made."""
        artifacts = []
        for artifact, members in self.members().items():
            members = [(name, data if isinstance(data, bytes) else data.encode())
                       for name, data in [*members, *self.further[artifact]]]
            packed = (archives or {}).get(artifact) or zipped(members)
            (self.root / f"{artifact}.zip").write_bytes(packed)
            told = (listed or {}).get(artifact) or [
                {"path": name if isinstance(name, str) else name.filename, "sha256": sha(data),
                 "size": len(data)} for name, data in members
                if not (name if isinstance(name, str) else name.filename).endswith("/")]
            artifacts.append({"id": artifact, "name": f"artifact-{artifact}", "sha256": sha(packed),
                              "run_id": RUN, "members": sorted(told, key=lambda one: one["path"])})
        self.receipt = {"kind": "source-measurement-receipt", "version": 1,
                        "repository": "org/repo", "source_run_id": RUN, "source_attempt": 1,
                        "source_head_sha": HEAD, "bundle_digest": BUNDLE,
                        "contracts": {"raw": "aiperf-1.4", "normalized": "agentx-v1",
                                      "publication": 1},
                        "points": self.points, "artifacts": artifacts,
                        "issuer": {"repository": "org/Grüße", "run_id": "5", "job": "issue",
                                   "workflow_sha": "1" * 40, "collector_sha": "2" * 40}}
        self.seal()

    def seal(self, filled=None):
        """Writes the receipt with its id, that of `filled` if keys were left out."""
        value = {key: member for key, member in (self.receipt | self.changes).items()
                 if member is not ... and key != "receipt_id"}
        self.store(value | {"receipt_id": sha(canonical(filled or value))})

    def store(self, value):
        (self.root / "receipt.json").write_text(json.dumps(value, indent=2))

    def stored(self):
        return json.loads((self.root / "receipt.json").read_text())

    def verify(self, *more):
        before = contents(self.root)
        done = Done(self.root, ["verify", "--receipt", "receipt.json", *more])
        same(before, contents(self.root), "files")
        return done


def test_a_receipt_that_holds(root):
    receipt = Receipt(root)
    done = receipt.verify()
    holds(done)
    same("3 points, 4 files: all holds", done.lines[0])
    same("", done.err)


def test_as_json(root):
    done = Receipt(root).verify("--json")
    same({"schema": "aggregate-power/verify-2", "file": "receipt.json",
          "kind": "source-measurement-receipt", "points": 3, "files": 4, "numbers": 0, "holds": True, "proofs": [], "faults": [],
          "warnings": []}, json.loads(done.out))


def test_archives_by_name(root):
    receipt = Receipt(root)
    (root / "11.zip").rename(root / "artifact-11.zip")
    holds(receipt.verify())
    (root / "artifact-11.zip").unlink()
    done = receipt.verify()
    fails(done, "receipt.json: artifact 11: neither artifact-11.zip nor 11.zip is beside it")


def test_the_id(root):
    """Each value of a receipt counts."""
    receipt = Receipt(root)
    stored = receipt.stored()
    receipt.store(stored | {"receipt_id": "0" * 64})
    only(receipt.verify(), f"receipt.json: 'receipt_id', expected {stored['receipt_id']}, found {'0' * 64}")
    for change in ({"source_attempt": 2}, {"repository": "org/other"}, {"bundle_digest": "0" * 64}):
        receipt.store(stored | change)
        fails(receipt.verify())
    # Blanks and the order of keys do not.
    (root / "receipt.json").write_text(json.dumps(dict(reversed(stored.items())), ensure_ascii=False))
    holds(receipt.verify())


def test_the_order_of_keys_is_by_code_point(root):
    receipt = Receipt(root)
    keys = {"\U0001f600": "a", "\uffff": "b", "é": "c", "Z": "d", "z\"\\\n\x7f\x1f": "e"}
    for point, row in zip(receipt.points, receipt.rows):
        point["config"] = dict(keys)
        row.update(keys)
    receipt.write()
    holds(receipt.verify())


def test_keys_that_may_be_absent(root):
    receipt = Receipt(root)
    whole = copy.deepcopy(receipt.points)
    for point in receipt.points[:2]:
        for key in ("normalized_format", "metadata_path", "task", "filters", "sample_count",
                    "samples_artifact_id", "samples_path", "dataset"):
            del point[key]
    receipt.write()
    receipt.seal({key: value for key, value in receipt.receipt.items()} | {"points": whole})
    holds(receipt.verify())


def test_shapes(root):
    """Unknown keys, missing keys and wrong values, at every depth."""
    receipt = Receipt(root)
    stored = receipt.stored()
    places = [((), "kind"), ((), "version"), ((), "receipt_id"), ((), "source_head_sha"),
              (("contracts",), "raw"), (("contracts",), "publication"), (("issuer",), "run_id"),
              (("issuer",), "collector_sha"), (("points", 0), "point_id"),
              (("points", 2), "concurrency"), (("points", 0), "topology"),
              (("points", 1, "topology"), "nodes"), (("points", 1, "topology"), "kind"),
              (("points", 0), "artifact_ids"), (("points", 0), "config"),
              (("artifacts", 0), "id"), (("artifacts", 1), "members"),
              (("artifacts", 1, "members", 0), "size"), (("artifacts", 2, "members", 0), "sha256")]
    for keys, last in places:
        name = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in (*keys, last))[1:]
        for new in (..., None, True, 1.5, -1, "x", [1.5], {"x": 1.5}):
            if name == "points[0].artifact_ids" and new is ...:
                continue
            value = copy.deepcopy(stored)
            holder = value
            for key in keys:
                holder = holder[key]
            if new is ...:
                del holder[last]
            else:
                holder[last] = new
            receipt.store(value)
            done = receipt.verify()
            same(1, done.status, (name, new))
            assert any(line.startswith(f"receipt.json: '{name}") for line in done.lines), (name, new, done)
        value = copy.deepcopy(stored)
        holder = value
        for key in keys:
            holder = holder[key]
        holder["extra"] = 1
        receipt.store(value)
        name = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in (*keys, "extra"))[1:]
        only(receipt.verify(), f"receipt.json: '{name}', expected no such key, found 1")


def test_rules_of_points(root):
    receipt = Receipt(root)
    whole = copy.deepcopy(receipt.points)
    for index, change, what in ((0, {"config": {}}, "has no config"),
                                (0, {"required_metrics": []}, "requires no metric"),
                                (0, {"execution_id": ""}, "has no execution"),
                                (0, {"artifact_ids": [EXECUTION, RESULT, RESULT]}, "names an artifact twice"),
                                (0, {"artifact_ids": [RESULT]}, "has its execution in no artifact"),
                                (0, {"artifact_ids": [EXECUTION]}, "has its result in no artifact"),
                                (0, {"normalized_format": "lm-eval"}, "has a raw result without its metadata"),
                                (2, {"normalized_format": "lm-eval"}, "has a raw result without its metadata"),
                                *((2, change, "does not name its task, filters, count and samples")
                                  for change in ({"task": None}, {"filters": []}, {"sample_count": 0},
                                                 {"samples_artifact_id": None}, {"samples_path": None},
                                                 {"filters": ["a", "a"]}))):
        receipt.points = copy.deepcopy(whole)
        receipt.points[index].update(change)
        receipt.write()
        fails(receipt.verify(), f"receipt.json: point {str(index + 1) * 64} {what}")
    receipt.points = [whole[0], whole[0] | {"concurrency": 9}]
    receipt.write()
    fails(receipt.verify(), f"receipt.json: point {'1' * 64} occurs twice")


def test_the_set_of_artifacts(root):
    receipt = Receipt(root)
    receipt.receipt["artifacts"].append(receipt.receipt["artifacts"][0] | {"id": 14})
    receipt.seal()
    only(receipt.verify(), "receipt.json: artifact 14 is listed and not needed")
    receipt.receipt["artifacts"].pop()
    receipt.receipt["artifacts"].pop()
    receipt.seal()
    only(receipt.verify(), "receipt.json: artifact 13 is needed and not listed")
    receipt.write()
    receipt.receipt["artifacts"].append(receipt.receipt["artifacts"][0])
    receipt.seal()
    only(receipt.verify(), "receipt.json: artifact 11 occurs twice")
    receipt.write()
    receipt.receipt["artifacts"][0]["run_id"] = "5"
    receipt.seal()
    fails(receipt.verify(), f"receipt.json: the run of artifact 11, expected {RUN}, found 5")


# ---- Archives

def breaks(root, entry, *parts, data=b"x", before=()):
    """An archive with such a member, listed as it is."""
    receipt = Receipt(root)
    receipt.further[SAMPLES] = [*before, (entry, data)]
    receipt.write()
    done = receipt.verify()
    same(1, done.status, (entry, done))
    assert any(line.startswith("13.zip: ") and all(part in line for part in parts)
               for line in done.lines), (parts, done)


def test_names_of_members(root):
    for name, why in (("a\\b", "a backslash"), ("..\\x", "a backslash"), ("/etc/x", "an absolute name"),
                      ("C:x", "a drive"), ("c:/x", "a drive"), ("../x", "leads elsewhere"),
                      ("a/../../x", "leads elsewhere"), ("a/./x", "leads elsewhere"),
                      ("a//x", "leads elsewhere"), ("./x", "leads elsewhere"), ("..", "leads elsewhere"),
                      ("a/..", "leads elsewhere"), ("a//", "leads elsewhere")):
        for system in (0, 3):  # backslashes of DOS too
            breaks(root, info(name, system=system), "breaks a rule of archives", why)


def test_members_that_occur_twice(root):
    breaks(root, "s/samples.jsonl", "member s/samples.jsonl: occurs twice")
    breaks(root, "s/samples.jsonl/more", "member s/samples.jsonl: is a file and a folder")
    breaks(root, "s", "member s: is a file and a folder")
    breaks(root, info("d/", stat.S_IFDIR | 0o755), "member d/: occurs twice", data=b"", before=[("d", b"")])


def test_links_and_special_files(root):
    for kind in (stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK):
        for system in (0, 3):
            breaks(root, info("x", kind | 0o777, system), "member x: is a link or a special file")


def test_members_that_are_allowed(root):
    receipt = Receipt(root)
    receipt.further[SAMPLES] = [(info("d/", stat.S_IFDIR | 0o755), b""), (info("d/e/", 0), b""),
                                (info("d/e/f", 0), b"data"), ("empty", b""), ("ü/é", b"x"),
                                ("a...b/..c", b"y")]
    receipt.write()
    holds(receipt.verify())


def test_an_archive_that_leads_out_is_not_read_in_the_sandbox(root):
    if "sandbox" not in Done(root, ["doctor"]).out or "no Landlock" in Done(root, ["doctor"]).out:
        print("SKIPPED an archive that leads out: this kernel has no Landlock")
        return
    for name in ("receipt", "elsewhere", "tmp"):
        (root / name).mkdir()
    receipt = Receipt(root / "receipt")
    (root / "receipt" / "12.zip").rename(root / "elsewhere" / "12.zip")
    (root / "receipt" / "12.zip").symlink_to("../elsewhere/12.zip")
    words = ["verify", "--receipt", "receipt.json"]
    done = Done(receipt.root, words, {"TMPDIR": str(root / "tmp")})
    assert done.status != 0 and "12.zip: cannot open: Permission denied; it is outside" in done.out + done.err, done
    assert "--no-sandbox" in done.out + done.err, done
    holds(Done(receipt.root, [*words, "--no-sandbox"], {"TMPDIR": str(root / "tmp")}))


def test_sizes(root):
    """What a member's header says of it must be what it is."""
    receipt = Receipt(root)
    packed = bytearray((root / "13.zip").read_bytes())
    at = packed.rindex(b"PK\x01\x02") + 24
    size = int.from_bytes(packed[at:at + 4], "little")
    for wrong in (size + 1, size - 1, 0):
        packed[at:at + 4] = wrong.to_bytes(4, "little")
        receipt.write(archives={SAMPLES: bytes(packed)})
        done = receipt.verify()
        fails(done)
        assert done.lines[0].startswith("13.zip: "), done
    packed[at:at + 4] = (0xFFFFFFFE).to_bytes(4, "little")
    receipt.write(archives={SAMPLES: bytes(packed)})
    assert receipt.verify().status != 0


def zip64_of(size):
    """The directory of an archive that says that its member has this size."""
    packed = bytearray(zipped([("big", b"")]))
    at = packed.rindex(b"PK\x01\x02")
    packed[at + 24:at + 28] = b"\xff" * 4
    extra = b"\x01\x00\x08\x00" + size.to_bytes(8, "little")
    packed[at + 30:at + 32] = len(extra).to_bytes(2, "little")
    packed[at + 49:at + 49] = extra
    end = packed.rindex(b"PK\x05\x06")
    packed[end + 12:end + 16] = (49 + len(extra)).to_bytes(4, "little")
    return bytes(packed)


def test_sizes_beyond_the_limits(root):
    receipt = Receipt(root)
    receipt.write(archives={SAMPLES: zip64_of(10 * 2 ** 30 + 1)})
    fails(receipt.verify(),
          "13.zip: breaks a rule of archives: 13.zip: member big: is larger than 10 GiB")


def test_digests_of_archives_and_members(root):
    receipt = Receipt(root)
    old = receipt.receipt["artifacts"][1]["sha256"]
    packed = zipped([("rows.json", json.dumps(receipt.rows) + " ")])
    (root / "12.zip").write_bytes(packed)
    member = receipt.receipt["artifacts"][1]["members"][0]
    now = json.dumps(receipt.rows) + " "
    only(receipt.verify(), f"12.zip: SHA-256, expected {old}, found {sha(packed)}",
         f"12.zip/rows.json: size, expected {member['size']}, found {member['size'] + 1}",
         f"12.zip/rows.json: SHA-256, expected {member['sha256']}, found {sha(now.encode())}")


def test_lists_of_members(root):
    receipt = Receipt(root)
    receipt.further[RESULT] = [("a.txt", b"a")]
    receipt.write()
    members = receipt.receipt["artifacts"][1]["members"]
    same(["a.txt", "rows.json"], [member["path"] for member in members])
    for changed, line in ((members[1:], "12.zip/a.txt: is in the archive and not listed"),
                          ([*members, {"path": "z", "sha256": "0" * 64, "size": 1}],
                           "12.zip/z: is listed and not in the archive"),
                          (members[::-1], "12.zip/a.txt: is not listed in the order of the paths"),
                          ([*members, members[1]], "12.zip/rows.json: is listed twice")):
        receipt.receipt["artifacts"][1]["members"] = changed
        receipt.seal()
        only(receipt.verify(), line)


def test_archives_that_cannot_be_read(root):
    receipt = Receipt(root)
    whole = (root / "12.zip").read_bytes()
    for damaged in (b"", b"PK", whole[:-10], whole[:len(whole) // 2], b"x" * 100, whole[10:],
                    whole.replace(b"rows.json", b"rowz.json", 1)):
        receipt.write(archives={RESULT: damaged or b"\0"})
        done = receipt.verify()
        fails(done)
        assert any(line.startswith("12.zip: ") for line in done.lines), (damaged[:20], done)
    done = Done(root, ["verify", "--receipt", "none.json"])
    same((2, ""), (done.status, done.out), done)


def test_many_damaged_archives(root):
    """Whatever byte is damaged, an archive that passes holds what the receipt says."""
    receipt = Receipt(root)
    whole = (root / "11.zip").read_bytes()
    for at in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[at] ^= 0xFF
        receipt.write(archives={EXECUTION: bytes(damaged)})
        done = receipt.verify()
        assert done.status in (0, 1), (at, done)
        if done.status == 0:
            expected = {name: data.encode() for name, data in receipt.members()[EXECUTION]}
            same(expected, unpacked(damaged) or expected, at)


def unpacked(packed):
    """None if zipfile does not know a mark, or looks at a checksum elsewhere."""
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except (NotImplementedError, zipfile.BadZipFile):
        return None


# ---- What the archives say

def test_execution_evidence(root):
    receipt = Receipt(root)
    whole = copy.deepcopy(receipt.executions)
    for keys, value in ((("schema_version",), 2), (("schema_version",), True), (("schema_version",), 1.0),
                        (("point_id",), "x"), (("execution_id",), None), (("bundle_digest",), "x"),
                        (("mode",), "eval"), (("client_exit_code",), 1), (("client_exit_code",), False),
                        (("source", "repository"), "x"), (("source", "run_id"), 5),
                        (("source", "attempt"), "1"), (("source", "head_sha"), "x"),
                        (("native_receipt", "state"), "FAILED"), (("native_receipt", "job_id"), "0"),
                        (("native_receipt", "job_id"), "12x"), (("native_receipt", "manifest_sha256"), "x"),
                        (("source",), []), (("native_receipt",), None)):
        receipt.executions = copy.deepcopy(whole)
        holder = receipt.executions[0]
        for key in keys[:-1]:
            holder = holder[key]
        holder[keys[-1]] = value
        receipt.write()
        done = receipt.verify()
        same(1, done.status, (keys, value))
        assert any(line.startswith(f"point {'1' * 64}: '{'.'.join(keys)}") for line in done.lines), (keys, value, done)
    receipt.executions = copy.deepcopy(whole)
    receipt.executions[0]["source"]["run_id"] = RUN
    receipt.executions[0]["native_receipt"]["job_id"] = 4711
    receipt.write()
    holds(receipt.verify())


def test_normalized_rows(root):
    receipt = Receipt(root)
    whole = copy.deepcopy(receipt.rows)
    for key, value in (("infmax_model_prefix", "x"), ("hw", "h100"), ("spec_decoding", "mtp"),
                       ("recipe_fingerprint", "x"), ("framework", "sglang"), ("disagg", True),
                       ("disagg", None), ("is_multinode", 0), ("tp", 4), ("ep", 8), ("num_gpus", 4),
                       ("avg_power_w", None), ("avg_power_w", -1), ("avg_power_w", True),
                       ("avg_power_w", "1"), ("request_metrics", {}),
                       ("deployment", {"kind": "aggregate"})):
        receipt.rows = copy.deepcopy(whole)
        receipt.rows[0][key] = value
        receipt.write()
        done = receipt.verify()
        same(1, done.status, (key, value))
        told = {"infmax_model_prefix": "model", "hw": "hardware", "spec_decoding": "specMethod",
                "recipe_fingerprint": "recipeFingerprint", "request_metrics": "output_tput_tps"}.get(key, key)
        only(done, *(line for line in done.lines[:-1]
                     if line.startswith(f"point {'1' * 64}: '{told}' of the normalized row, expected ")))
        same(2, len(done.lines), done)
    receipt.rows = copy.deepcopy(whole)
    receipt.rows[0] |= {"avg_power_w": 0, "deployment": receipt.points[0]["topology"],
                        "model_prefix": "other"}
    receipt.write()
    holds(receipt.verify())
    receipt.rows[0]["conc"] = 5
    receipt.write()
    only(receipt.verify(), f"point {'1' * 64}: rows of the normalized result with its concurrency and task, expected 1, found 0")
    receipt.rows[0] = receipt.rows[1]
    receipt.write()
    fails(receipt.verify(), f"point {'2' * 64}: rows of the normalized result with its concurrency and task, expected 1, found 2")


def test_numbers_that_are_not_finite(root):
    receipt = Receipt(root)
    text = json.dumps(receipt.rows).replace("512.25", "NaN", 1).encode()
    receipt.write(archives={RESULT: zipped([("rows.json", text)])},
                  listed={RESULT: [{"path": "rows.json", "sha256": sha(text), "size": len(text)}]})
    only(receipt.verify(), f"point {'1' * 64}: 'avg_power_w' of the normalized row, expected a number of 0 or more, found NaN")


def test_evaluations(root):
    receipt = Receipt(root)
    whole = copy.deepcopy(receipt.samples)
    point = f"point {'3' * 64}: "
    for change, line in (
            (lambda samples: samples.pop(), "the samples in s/samples.jsonl, each document with each filter, expected 8, found 7"),
            (lambda samples: samples.append(samples[0]), "the samples in s/samples.jsonl: line 9: document 0 occurs twice for a filter"),
            (lambda samples: samples[1].update(doc_id=4), "the samples in s/samples.jsonl: line 2: 'doc_id' is 4, not one of 4"),
            (lambda samples: samples[1].update(doc_id=True), "the samples in s/samples.jsonl: line 2: 'doc_id' is true, not one of 4"),
            (lambda samples: samples[1].update(doc_id=-1), "the samples in s/samples.jsonl: line 2: 'doc_id' is -1, not one of 4"),
            (lambda samples: samples[5].update(filter="x"), "the samples in s/samples.jsonl: line 6: 'filter' is 'x', which is not required"),
            (lambda samples: samples[5].update(task_name="x"), "the samples in s/samples.jsonl: line 6: 'task_name' is 'x', not 'gsm8k'"),
            (lambda samples: samples[0].update(exact_match=0.5), "the samples in s/samples.jsonl: line 1: the score is 0.5, not 0 or 1"),
            (lambda samples: samples[0].update(exact_match=0), "'em_strict' of the normalized row, against the samples in s/samples.jsonl, expected 0.5, found 0.75"),
            (lambda samples: samples[0].update({"exact_match,strict-match": 0}), "'em_strict' of the normalized row, against the samples in s/samples.jsonl, expected 0.5, found 0.75")):
        receipt.samples = copy.deepcopy(whole)
        change(receipt.samples)
        receipt.write()
        only(receipt.verify(), point + line)
    receipt.samples = copy.deepcopy(whole)
    for key, value, what in (("n_eff", 5, "'n_eff' of the normalized row, expected 4, found 5"),
                             ("em_strict", 0.75 + 2e-12, "'em_strict' of the normalized row"),
                             ("dataset", {"name": "x"}, "'dataset' of the normalized row")):
        old = receipt.rows[2][key]
        receipt.rows[2][key] = value
        receipt.write()
        done = receipt.verify()
        fails(done)
        assert done.lines[0].startswith(point + what), done
        receipt.rows[2][key] = old
    receipt.rows[2]["em_strict"] = 0.75 + 5e-13
    receipt.write()
    holds(receipt.verify())


def test_raw_evaluations_are_checked_in_part(root):
    receipt = Receipt(root)
    receipt.points[2].update(normalized_format="lm-eval", metadata_path="meta.json")
    receipt.write()
    done = receipt.verify()
    holds(done)
    assert "only the coverage of its samples is checked" in done.err, done


def test_members_that_a_point_lacks(root):
    receipt = Receipt(root)
    receipt.points[0]["execution_path"] = "none.json"
    receipt.points[2]["samples_path"] = "none.jsonl"
    receipt.write()
    only(receipt.verify(), f"point {'1' * 64}: none.json of artifact 11 was not read",
         f"point {'3' * 64}: the samples in none.jsonl, each document with each filter, expected 8, found 0")


def test_hostile_sizes_need_little_memory(root):
    """A member of 1 GiB, a line of 300 MiB, and counts of many samples."""
    if "AGGREGATE_POWER_SANITIZED" in os.environ:
        return
    receipt = Receipt(root)
    receipt.points[2]["sample_count"] = 10 ** 15
    blob = b"\0" * (1024 * MIB)
    receipt.further[EXECUTION] = [("blob", blob)]
    receipt.write(archives={SAMPLES: zipped([("s/samples.jsonl", b"x" * (300 * MIB))])})
    child = ("import resource, subprocess, sys; "
             "done = subprocess.run(sys.argv[1:], capture_output=True); "
             "print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    from verify_test import PROGRAM
    text = subprocess.run([sys.executable, "-c", child, PROGRAM, "verify", "--receipt", "receipt.json"],
                          cwd=root, capture_output=True, check=True).stdout.split()
    same(1, int(text[0]))
    assert int(text[1]) < 150 * 1024, text


# ---- Publication records

def test_publication_records(root):
    (root / "31.zip").write_bytes(b"receipt")
    (root / "32.zip").write_bytes(b"changelog")
    record = {"kind": "publication-record", "version": 1, "receipt_id": "1" * 64,
              "receipt_artifact_id": 31, "receipt_artifact_sha256": sha(b"receipt"),
              "source_run_id": RUN, "merge_run_id": "9", "merge_sha": "a" * 40,
              "changelog_artifact_id": 32, "changelog_artifact_sha256": sha(b"changelog"),
              "ingest_sha": "b" * 40, "app_sha": "c" * 40}

    def verified(value):
        (root / "record.json").write_text(json.dumps(value))
        return Done(root, ["verify", "--receipt", "record.json"])

    done = verified(record)
    holds(done)
    same("0 points, 3 files: all holds", done.lines[0])
    only(verified(record | {"changelog_artifact_sha256": "0" * 64}),
         f"32.zip: SHA-256, expected {'0' * 64}, found {sha(b'changelog')}")
    for key in record:
        fails(verified({name: value for name, value in record.items() if name != key}))
        fails(verified(record | {key: None}))
    only(verified(record | {"x": 1}), "record.json: 'x', expected no such key, found 1")
    (root / "31.zip").unlink()
    done = verified(record)
    holds(done)
    assert "warning: record.json: 31.zip is not beside it: the digest of its receipt is not checked" in done.err, done


def test_other_files(root):
    for content in ("[]", "{", "{}", '{"kind": "other"}', '{"kind": 1.5}'):
        (root / "receipt.json").write_text(content)
        fails(Done(root, ["verify", "--receipt", "receipt.json"]))


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
