#!/usr/bin/env python3
"""Checks 'aggregate-power bundle': evidence that is handed on, verified where nothing else is, and its redaction.

* Bundles of a run, of a store, of several nodes, of packages and of vLLM's result hold in an empty place, whole and redacted.
* Equal files give equal bytes; the manifest agrees with tar, sha256sum and its schema.
* A redacted bundle has no name of a person, machine or folder, in any file, packed or not; its numbers are the same.
* A damaged bundle is refused by the member's name, and nothing is written outside.
* What is published wrongly is not bundled, and does not hold in a bundle that others wrote.
* report, compare, plot, measure and export read a bundle as a folder.

usage: tests/store/bundle_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from running import PROGRAM, run_tests, same  # noqa: E402

DATA = ROOT / "testdata"
METRICS = 7  # of a run with requests, input and output tokens
START = 1777118400


def run(folder, *words, status=0, **environment):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=120,
                          env={"PATH": os.environ["PATH"], "TZ": "UTC", "TMPDIR": str(temporary(folder))} | environment)
    assert done.returncode == status, f"{words}: status {done.returncode}\n{done.stdout[-500:]}{done.stderr[-800:]}"
    return done


def temporary(folder):
    """A folder for temporary files of the program, outside of what is tested."""
    path = pathlib.Path(str(folder) + ".tmp")
    path.mkdir(exist_ok=True)
    return path


def unzstd(path):
    return subprocess.run(["zstd", "-dc", path], capture_output=True, check=True).stdout


def members(path):
    """Each member's header and bytes, in order."""
    with tarfile.open(fileobj=io.BytesIO(unzstd(path))) as tar:
        return [(info, tar.extractfile(info).read()) for info in tar]


def manifest_of(path):
    return json.loads(members(path)[0][1])


def write(path, files):
    """A bundle of these (name or header, bytes)."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name, content in files:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = len(content) if info.isreg() else 0
            tar.addfile(info, io.BytesIO(content))
    subprocess.run(["zstd", "-q", "-f", "-o", path], input=raw.getvalue(), check=True)
    return path


def with_manifest(files, change=lambda manifest: None):
    """Files as a bundle has them, with a manifest that fits."""
    manifest = json.loads(files[0][1])
    manifest["files"] = [{"path": name.removeprefix("files/"), "role": "context", "bytes": len(content),
                          "sha256": hashlib.sha256(content).hexdigest()} for name, content in files[1:]]
    change(manifest)
    return [("bundle.json", json.dumps(manifest).encode()), *files[1:]]


def plain(path):
    return [(info.name, content) for info, content in members(path)]


# ---- Runs

def b200(folder):
    shutil.copytree(DATA / "runs" / "b200", folder / "run")
    run(folder / "run", "--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
        "--expected-num-gpus", 8, "--timezone", "UTC")
    return "run", 1, METRICS


def store(folder):
    shutil.copytree(DATA / "store", folder / "store")
    run(folder, "backfill", "store", "--quiet")
    return "store", 3, 2 * METRICS  # one run is not valid


def nodes(folder):
    shutil.copytree(DATA / "nodes", folder / "nodes")
    run(folder / "nodes", "multinode", "--nodes", ".", "--bench-result", "run.json", "--agg-result", "agg_run.json",
        "--expected-num-gpus", 16, "--timezone", "UTC")
    return "nodes", 1, METRICS


def vllm(folder):
    shutil.copytree(DATA / "results", folder / "results")
    (folder / "results" / "agg_run.json").write_text('{"hw": "h100"}')
    run(folder / "results", "--csv", "gpu_metrics.csv", "--bench-result", "vllm_detailed.json", "--agg-result", "agg_run.json",
        "--expected-num-gpus", 2)
    return "results/vllm_detailed.json", 1, METRICS


def package(folder):
    shutil.copytree(DATA / "package", folder / "package")
    run(folder, "multinode", "--power-dir", "package/LOGS/power", "--bench-result", "package/run.json", "--agg-result",
        "package/agg_run.json", "--logs-root", "package/LOGS", "--prefill-gpus", 2, "--decode-gpus", 2,
        "--expected-producer-sha", (DATA / "package/LOGS/power/power-producer-sha.txt").read_text().strip())
    return "package", 1, None


def agents(folder):
    shutil.copytree(DATA / "agentic_nodes", folder / "agents")
    run(folder, "agentic", "--result-dir", "agents/LOGS/agentic/conc_4", "--agg-result", "agents/coding_conc4.json", "--power-dir",
        "agents/LOGS/power", "--logs-root", "agents/LOGS", "--expected-producer-sha",
        (DATA / "agentic_nodes/LOGS/power/power-producer-sha.txt").read_text().strip())
    return "agents", 1, None


def native(folder):
    """Nodes that recorded themselves, whose folders and objects are named by rank."""
    run(folder, "synthesize", "--package", "native", "--prefill-nodes", 1, "--gpus", 4, "--phase", "5:100", "--phase", "20:400",
        "--phase", "5:100", "--benchmark-phase", 2, "--out", "native", "--bench-out", "run.json", "--agg-out", "agg_run.json")
    (folder / "native-run").mkdir()
    for name in ("native", "run.json", "agg_run.json"):
        shutil.move(folder / name, folder / "native-run" / name)
    run(folder / "native-run", "multinode", "--power-dir", "native/native_power", "--bench-result", "run.json", "--agg-result", "agg_run.json",
        "--prefill-gpus", 2, "--decode-gpus", 2)
    assert json.loads((folder / "native-run" / "agg_run.json").read_text())["power_valid"] == 1
    return "native-run", 1, None


RUNS = {"native": native, "b200": b200, "store": store, "nodes": nodes, "vllm": vllm, "package": package, "agents": agents}


def elsewhere(folder, bundle):
    """The bundle alone in an empty folder."""
    other = folder / "elsewhere"
    shutil.rmtree(other, ignore_errors=True)
    other.mkdir()
    shutil.copy(folder / bundle, other)
    return other


def published(folder):
    """The numbers in all aggregates of a folder, in order."""
    values = []
    for path in sorted(folder.rglob("*.json")):
        content = json.loads(path.read_text())
        if isinstance(content, dict) and "power_valid" in content and "computed_from" not in content:
            values.append({key: value for key, value in content.items() if isinstance(value, (int, float))})
    return values


def extracted(path, to):
    for info, content in members(path):
        target = to / info.name.removeprefix("files/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return to


def test_bundles_hold_elsewhere(folder):
    for name, make in RUNS.items():
        here = folder / name
        here.mkdir()
        place, runs, numbers = make(here)
        before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
        for words in ([], ["--redact"]):
            bundle = "run.bundle.tar.zst"
            said = run(here, "bundle", place, "--out", bundle, *words)
            other = elsewhere(here, bundle)
            shutil.move(here / (place.split("/")[0]), here / "away")
            done = run(other, "verify", bundle)
            shutil.move(here / "away", here / (place.split("/")[0]))
            proof = re.fullmatch(r"(\S+)( \(redacted\))?: (\d+) numbers? of (\d+) runs? are what the recordings give; bundled by "
                                 r"aggregate-power \S+ \(SHA-256 (\w+)\), verified by the same program; SHA-256 of the bundle (\w+)\n",
                                 done.stdout)
            assert proof, f"{name} {words}: {done.stdout}{done.stderr}"
            same((bundle, bool(words), str(runs)), (proof[1], proof[2] is not None, proof[4]))
            assert numbers in (None, int(proof[3])), f"{name}: {proof[3]}"
            assert int(proof[3]) > 0, name
            same(hashlib.sha256(pathlib.Path(PROGRAM).read_bytes()).hexdigest(), proof[5])
            same(hashlib.sha256((other / bundle).read_bytes()).hexdigest(), proof[6])
            assert f"{proof[3]} number" in said.stdout, said.stdout
            same([bundle], os.listdir(other))
            same(published(here / place.split("/")[0]), published(extracted(here / bundle, here / "read")))
            shutil.rmtree(here / "read")
            (here / bundle).unlink()
            shutil.rmtree(other)
        same(before, {path: path.read_bytes() for path in here.rglob("*") if path.is_file()})
        same([], os.listdir(temporary(here)))


def test_equal_files_give_equal_bytes(folder):
    one, other = folder / "one", folder / "other" / "deeper"
    for here in (one, other):
        here.mkdir(parents=True)
        store(here)
        for path in here.rglob("*"):
            os.utime(path, (START, START) if here == one else None)
        for words, out in (([], "a.bundle.tar.zst"), (["--redact"], "b.bundle.tar.zst")):
            run(here, "bundle", "store", "--out", out, *words)
    for name in ("a.bundle.tar.zst", "b.bundle.tar.zst"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    headers = [info for info, _ in members(one / "a.bundle.tar.zst")]
    same({(0, 0, 0, "", "", 0o644)}, {(info.mtime, info.uid, info.gid, info.uname, info.gname, info.mode) for info in headers})
    same(["bundle.json", *sorted(info.name for info in headers[1:])], [info.name for info in headers])


def test_manifest(folder):
    place, runs, numbers = store(folder)
    run(folder, "bundle", place, "--out", "x.bundle.tar.zst")
    manifest = manifest_of(folder / "x.bundle.tar.zst")
    files = dict(plain(folder / "x.bundle.tar.zst"))
    del files["bundle.json"]
    same(sorted(files), [f"files/{each['path']}" for each in manifest["files"]])
    for each in manifest["files"]:
        content = files[f"files/{each['path']}"]
        same((len(content), hashlib.sha256(content).hexdigest()), (each["bytes"], each["sha256"]))
        same(content, (folder / "store" / each["path"]).read_bytes())
    roles = {each["path"].split("/")[-1]: each["role"] for each in manifest["files"] if "llama_tp2_conc8" in each["path"]}
    same({"agg_llama_tp2_conc8.json": "aggregate", "gpu_metrics.csv": "recording", "gpu_metrics_context.json": "context",
          "llama_tp2_conc8.json": "result", "power_validation_llama_tp2_conc8.json": "record"}, roles)
    same((runs, numbers, None), (manifest["runs"], manifest["numbers"], manifest["redacted"]))
    titles = {json.loads(run(folder, "schema", name).stdout)["title"]
              for name in re.findall(r"(?m)^(\S+)", run(folder, "schema").stdout)}
    same(sorted(titles), manifest["schemas"])


def test_long_names(folder):
    """Names that need a header of their own: GNU tar and Python read them."""
    deep = folder / ("a" * 60) / ("b" * 90) / ("c" * 99)
    deep.mkdir(parents=True)
    b200(deep)
    run(folder, "bundle", ".", "--out", "x.bundle.tar.zst")
    run(elsewhere(folder, "x.bundle.tar.zst"), "verify", "x.bundle.tar.zst")
    names = [info.name for info, _ in members(folder / "x.bundle.tar.zst")]
    same(5, len(names))
    listed = subprocess.run(["tar", "-t"], input=unzstd(folder / "x.bundle.tar.zst"), capture_output=True, check=True)
    same(names, listed.stdout.decode().splitlines())


def test_what_is_there_stays(folder):
    b200(folder)
    for name, content in (("mine.tar.zst", b"mine"), ("mine.txt", b"mine")):
        (folder / name).write_bytes(content)
        run(folder, "bundle", "run", "--out", name, status=2)
        same(content, (folder / name).read_bytes())
    run(folder, "bundle", "run", "--out", "run", status=2)
    run(folder, "bundle", "run", "--out", "x.tar.zst")
    before = (folder / "x.tar.zst").read_bytes()
    run(folder, "bundle", "run", "--out", "x.tar.zst")  # a bundle is replaced
    same(before, (folder / "x.tar.zst").read_bytes())
    assert "no such" in run(folder, "bundle", "nowhere", "--out", "y.tar.zst", status=2).stderr.lower()
    assert not (folder / "y.tar.zst").exists()


# ---- Redaction

UUIDS = ["GPU-4f6e1a2b-9c3d-4e5f-8a9b-0c1d2e3f4a5b", "GPU-0aa1a2b3-9c3d-4e5f-8a9b-0c1d2e3f4a5c"]
SECRETS = ["alice", "gb-node-07", "gb-node-11", "hpc.acme.test", "1650522003820", "1650522003999", "4f6e1a2b", "0aa1a2b3", "0c1d2e3f4a5b",
           "4E:00.0", "9A:00.0", "10.11.12.13", "fd00:12::7", "de:ad:be:ef:00:07", "secretproject", "lustre", "whisper", "the answer is 42",
           "2f0c6d1e", "bob.builder", "128006"]


def secret_run(folder, compress=False):
    """A run whose files are full of names."""
    here = folder / "run"
    here.mkdir()
    rows = ["timestamp,hostname,index,uuid,serial,pci.bus_id,power.draw [W]"]
    for second in range(30):
        for gpu, (uuid, serial, bus) in enumerate(zip(UUIDS, ("1650522003820", "1650522003999"),
                                                      ("00000000:4E:00.0", "00000000:9A:00.0"))):
            rows.append(f"{START + second}.5,gb-node-07.hpc.acme.test,{gpu},{uuid},{serial},{bus},{300 + 7 * gpu + second % 3}.25")
    text = "\n".join(rows).encode() + b"\n"
    name = "gpu_metrics.csv.gz" if compress else "gpu_metrics.csv"
    (here / name).write_bytes(gzip.compress(text) if compress else text)
    (here / "gpu_metrics_context.json").write_text(json.dumps({
        "timestamp_timezone": "UTC", "host": "GB-NODE-07", "user": "alice", "monitor": "nvidia-smi",
        "command": "vllm serve /lustre/secretproject/alice/models/Llama-3 --host 10.11.12.13 --peer fd00:12::7",
        "mac": "de:ad:be:ef:00:07", "mail": "bob.builder@hpc.acme.test", "gpu_serial": 1650522003820,
        "peers": {"nodes": {"gb-node-11": {"state": "up"}}},
        "clock_pairs": [{"epoch_s": START, "monotonic_s": 100.0, "boot_id": "2f0c6d1e-8d3b-4c6f-9b8a-1a2b3c4d5e6f"}]}))
    (here / "run.json").write_text(json.dumps({
        "benchmark_start_time_unix": START + 4, "benchmark_end_time_unix": START + 24, "duration": 20, "completed": 5,
        "total_input_tokens": 8000, "total_output_tokens": 1000, "base_url": "http://gb-node-07.hpc.acme.test:8000/v1",
        "tokenizer": "/home/alice/models/Llama-3", "input_texts": ["whisper \u00e9"], "generated_texts": ["the answer is 42", ""],
        "context": [128006, 9125], "model": "org/model"}))
    (here / "agg_run.json").write_text(json.dumps({"hw": "h100", "tp": 2, "submitted_by": "alice", "host": "gb-node-07"}))
    run(folder, "--csv", here / name, "--bench-result", here / "run.json", "--agg-result", here / "agg_run.json",
        "--expected-num-gpus", 2)
    return here


def expanded(path):
    return {info.name: gzip.decompress(content) if info.name.endswith(".gz") else content for info, content in members(path)}


def test_no_name_stays(folder):
    for compress in (False, True):
        here = folder / ("alice" if compress else "plain") / "secretproject"
        here.mkdir(parents=True)
        secret_run(here, compress)
        run(here, "bundle", "run", "--out", "x.bundle.tar.zst", "--redact")
        files = expanded(here / "x.bundle.tar.zst")
        for name, content in files.items():
            for secret in SECRETS:
                assert secret.lower() not in content.decode().lower(), f"{name}: {secret}\n{content.decode()[:1500]}"
            assert str(folder) not in content.decode(), name
        assert "x.bundle.tar.zst (redacted): 7 numbers of 1 run" in run(elsewhere(here, "x.bundle.tar.zst"), "verify",
                                                                        "x.bundle.tar.zst").stdout
        counts = json.loads(files["bundle.json"])["redacted"]
        same({"hosts": 2, "domains": 1, "users": 2, "serials": 2, "uuids": 3, "pci_bus_ids": 2, "ip_addresses": 2,
              "mac_addresses": 1, "texts": 2}, {key: value for key, value in counts.items() if key != "folders"})
        # Each by the same word, in a form that fits, and the numbers as they were.
        table = [line.split(",") for line in next(content for name, content in files.items() if "gpu_metrics.csv" in name)
                 .decode().splitlines()]
        before = gzip.decompress((here / "run" / "gpu_metrics.csv.gz").read_bytes()) if compress else \
            (here / "run" / "gpu_metrics.csv").read_bytes()
        rows = [line.split(",") for line in before.decode().splitlines()]
        same([(row[0], row[2], row[6]) for row in rows], [(row[0], row[2], row[6]) for row in table])
        same(2, len({tuple(row[1:6]) for row in table[1:]}))
        # Sorted as the names were, so that readers add up in the same order.
        ours = dict((old[3], new[3]) for old, new in zip(rows[1:], table[1:]))
        same(sorted(ours), sorted(ours, key=ours.get))
        for row in table[1:]:
            assert re.fullmatch(r"host-\d\.domain-1\.example,\d,GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12},\d{13},"
                                r"[0-9a-f]{8}:[0-9a-f]{2}:[0-9a-f]{2}\.\d", ",".join(row[1:6])), row
        result = json.loads(files["files/run.json"])
        same(([""], ["", ""], [], "org/model", 20), tuple(result[key] for key in
                                                          ("input_texts", "generated_texts", "context", "model", "duration")))
        run(here, "bundle", "run", "--out", "x.bundle.tar.zst", "--redact", "--keep-texts")
        kept = json.loads(expanded(here / "x.bundle.tar.zst")["files/run.json"])
        same((["whisper \u00e9"], [128006, 9125]), (kept["input_texts"], kept["context"]))


def test_names_in_lists_lines_and_elements(folder):
    """As Slurm, launchers and nvidia-smi -q (text and XML) write them."""
    b200(folder)
    path = folder / "run" / "run.json"
    result = json.loads(path.read_text())
    result |= {"env": {"SLURM_NODELIST": "acme-node[07-09]", "MASTER_ADDR": "acme-node21", "HF_TOKEN": "hf_abcDEF123456"},
               "hostnames": "acme-node11,acme-node12", "worker_hosts": ["acme-node24"], "repo": "git@gitlab.acme.com:x",
               "log": "Serial Number         : 1652022003344\n<serial>1652022003355</serial>\nran on acme-node08"}
    path.write_text(json.dumps(result))
    run(folder / "run", "--csv", "gpu_metrics.csv", "--bench-result", "run.json", "--agg-result", "agg_run.json",
        "--expected-num-gpus", 8, "--timezone", "UTC")
    run(folder, "bundle", "run", "--out", "x.bundle.tar.zst", "--redact")
    content = expanded(folder / "x.bundle.tar.zst")["files/run.json"].decode()
    for secret in ("acme", "abcDEF", "1652022"):
        assert secret not in content, content
    assert '"repo": "git@' in content, content
    run(folder, "verify", "x.bundle.tar.zst")


def test_no_hash_of_what_was_redacted(folder):
    """With it, who guesses a name could check the guess."""
    here = secret_run(folder)
    run(folder, "bundle", "run", "--out", "x.bundle.tar.zst", "--redact")
    files = dict(plain(folder / "x.bundle.tar.zst"))
    for each in json.loads(files["bundle.json"])["files"]:
        same(hashlib.sha256(files[f"files/{each['path']}"]).hexdigest(), each["sha256"])
        before = (here / each["path"]).read_bytes()
        if before == files[f"files/{each['path']}"]:
            continue
        for content in files.values():
            assert hashlib.sha256(before).hexdigest() not in content.decode(), each
    record = json.loads((here / "power_validation_run.json").read_text())
    for role, of in record["computed_from"]["inputs"].items():
        assert of["xxh3_128"] not in files["files/power_validation_run.json"].decode(), role


def test_nothing_else_changes(folder):
    """What names nobody is byte for byte what it was."""
    b200(folder)
    run(folder, "bundle", "run", "--out", "a.tar.zst")
    run(folder, "bundle", "run", "--out", "b.tar.zst", "--redact")
    same(plain(folder / "a.tar.zst")[1:], plain(folder / "b.tar.zst")[1:])


def test_what_cannot_be_redacted(folder):
    here = secret_run(folder)
    text = (here / "gpu_metrics.csv").read_text()
    (here / "gpu_metrics.csv").write_bytes(text.encode("utf-16"))
    run(folder, "--csv", here / "gpu_metrics.csv", "--bench-result", here / "run.json", "--agg-result", here / "agg_run.json",
        "--expected-num-gpus", 2)
    assert "is not text" in run(folder, "bundle", "run", "--out", "x.tar.zst", "--redact", status=2).stderr
    run(folder, "bundle", "run", "--out", "x.tar.zst")


# ---- Numbers that are false

def test_what_is_false_is_not_bundled(folder):
    b200(folder)
    aggregate = folder / "run" / "agg_run.json"
    good = aggregate.read_text()
    for change in ((aggregate, "347.121", "337.121"), (folder / "run" / "gpu_metrics.csv", "380.42", "380.43"),
                   (folder / "run" / "power_validation_run.json", "2776.97", "2776.98")):
        path, old, new = change
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        for words in ([], ["--redact"]):
            done = run(folder, "bundle", "run", "--out", "x.tar.zst", *words, status=1)
            assert "was not bundled" in done.stderr, done.stderr
            assert not (folder / "x.tar.zst").exists()
        path.write_text(text)
    same(good, aggregate.read_text())


def test_a_false_number_does_not_hold(folder):
    """Bundles that others wrote: with a manifest that fits what is false."""
    b200(folder)
    run(folder, "bundle", "run", "--out", "x.tar.zst")
    files = dict(plain(folder / "x.tar.zst"))

    def forged(change):
        made = dict(files)
        change(made)
        write(folder / "y.tar.zst", with_manifest(list(made.items())))
        done = run(folder, "verify", "y.tar.zst", status=1)
        assert "are what the recordings give" not in done.stdout, done.stdout
        return done.stdout

    def replace(name, old, new):
        def change(made):
            assert old in made[name], (name, old)
            made[name] = made[name].replace(old, new)
        return change
    write(folder / "y.tar.zst", with_manifest(list(files.items())))
    run(folder, "verify", "y.tar.zst")
    assert "tampered: 'avg_power_w'" in forged(replace("files/agg_run.json", b"347.121", b"337.121"))
    assert "changed" in forged(replace("files/gpu_metrics.csv", b"380.42", b"380.43"))
    assert "tampered" in forged(replace("files/power_validation_run.json", b"2776.97", b"2776.98"))

    # Another aggregate, of any name and schema, that no record is about.
    for name in ("files/agg_other.json", "files/other/summary.json"):
        for content in ({"avg_power_w": 1.0}, {"power_valid": 1, "power_metric_schema_version": 2, "total_gpu_energy_j": 1.0}):
            assert "missing" in forged(lambda made: made.update({name: json.dumps(content).encode()}))
    # A record that says its run was withdrawn, and an aggregate that still has its numbers.
    record = json.loads(files["files/power_validation_run.json"])
    record["retracted"] = {"where": {"version": "*"}}
    assert "tampered" in forged(lambda made: made.update({"files/power_validation_run.json": json.dumps(record).encode()}))
    # A record that does not say what it is computed from.
    bare = {key: value for key, value in record.items() if key not in ("retracted", "computed_from")}
    forged(lambda made: made.update({"files/power_validation_run.json": json.dumps(bare).encode()}))
    # A manifest that promises more.
    write(folder / "y.tar.zst", with_manifest(list(files.items()), lambda manifest: manifest.update(numbers=700)))
    assert "'numbers', expected 7, found 700" in run(folder, "verify", "y.tar.zst", status=1).stdout
    # Nothing at all.
    write(folder / "y.tar.zst", with_manifest([("bundle.json", files["bundle.json"])]))
    run(folder, "verify", "y.tar.zst", status=1)


def test_several_bundles(folder):
    """A line of proof for each that holds, and the sum unless all are bundles that hold."""
    b200(folder)
    for name in ("a.tar.zst", "b.tar.zst"):
        run(folder, "bundle", "run", "--out", name)
    same(2, len(run(folder, "verify", "a.tar.zst", "b.tar.zst").stdout.splitlines()))
    lines = run(folder, "verify", "a.tar.zst", "run").stdout.splitlines()
    assert "7 numbers of 1 run" in lines[0] and lines[1] == "2 runs, 8 files: all holds", lines
    files = plain(folder / "a.tar.zst")
    write(folder / "b.tar.zst", files[:-1])
    lines = run(folder, "verify", "a.tar.zst", "b.tar.zst", status=1).stdout.splitlines()
    assert len(lines) == 3 and files[-1][0] in lines[0] and lines[2].endswith("1 fault"), lines


# ---- Nothing is published yet

def suggested(folder, *words):
    done = run(folder, "bundle", *words, "--out", "x.tar.zst", status=1)
    assert "does not hold" not in done.stderr and not (folder / "x.tar.zst").exists(), done.stderr
    return re.search(r"nothing is published yet.*: (aggregate-power [^;\n]*)(; it says: .*)?$", done.stderr)


def test_the_command_that_publishes_is_named(folder):
    """It is given with its words, and what was named is bundled after it."""
    shutil.copytree(DATA / "runs" / "b200", folder / "it's a run")
    shutil.copytree(DATA / "runs" / "h100-counter", folder / "no count")
    (folder / "no count" / "agg_run.json").write_text("{}")
    shutil.copytree(DATA / "runs" / "b200", folder / "without")
    (folder / "without" / "agg_run.json").unlink()
    shutil.copytree(DATA / "store", folder / "store")
    for place, verb in (("it's a run", "patch"), ("it's a run/run.json", "patch"), ("it's a run/agg_run.json", "patch"), ("no count", "patch"),
                        ("without", "measure"), ("store", "backfill")):
        found = suggested(folder, place)
        assert found and found[1].startswith(f"aggregate-power {verb} ") and not found[2], f"{place}: {found}"
        subprocess.run(found[1].replace("aggregate-power", PROGRAM, 1), shell=True, cwd=folder, check=True, capture_output=True,
                       env={"PATH": os.environ["PATH"], "TZ": "UTC"})
        run(folder, "bundle", place, "--out", "x.tar.zst")
        (folder / "x.tar.zst").unlink()
        for made in (folder / place if (folder / place).is_dir() else (folder / place).parent).glob("power_validation*"):
            made.unlink()
        if place.startswith("it's"):
            shutil.copy(DATA / "runs" / "b200" / "agg_run.json", folder / "it's a run")


def test_a_run_that_cannot_be_published_says_why(folder):
    shutil.copytree(DATA / "runs" / "b200", folder / "run")
    rows = (folder / "run" / "gpu_metrics.csv").read_text().splitlines()
    (folder / "run" / "gpu_metrics.csv").write_text("\n".join(rows[:9]) + "\n")
    assert "insufficient_power_samples" in suggested(folder, "run")[2]


def test_a_power_without_a_record_does_not_hold(folder):
    """That is no run that was never patched."""
    shutil.copytree(DATA / "runs" / "b200", folder / "run")
    (folder / "run" / "agg_run.json").write_text('{"power_metric_schema_version": 2, "power_valid": 1, "avg_power_w": 300.0}')
    for place in ("run", "run/agg_run.json"):
        assert "does not hold" in run(folder, "bundle", place, "--out", "x.tar.zst", status=1).stderr


# ---- The proof as JSON

def test_proofs_as_json(folder):
    b200(folder)
    run(folder, "bundle", "run", "--out", "a.tar.zst")
    run(folder, "bundle", "run", "--out", "b.tar.zst", "--redact")
    files = plain(folder / "a.tar.zst")
    write(folder / "c.tar.zst", with_manifest([(name, content.replace(b"347.121", b"337.121") if "agg_" in name else content) for name, content in files]))
    write(folder / "d.tar.zst", [("bundle.json", b"{"), *files[1:]])
    found = json.loads(run(folder, "verify", *(f"{each}.tar.zst" for each in "abcd"), "--json", status=1).stdout)
    program = {"version": run(folder, "--version").stdout.split()[-1], "sha256": hashlib.sha256(pathlib.Path(PROGRAM).read_bytes()).hexdigest()}
    for name, proof, redacted, writer, holds, numbers in zip("abcd", found["proofs"], (False, True, False, False), (program, program, program, None),
                                                             (True, True, False, False), (METRICS, METRICS, None, 0)):
        bundle = folder / f"{name}.tar.zst"
        same((bundle.name, hashlib.sha256(bundle.read_bytes()).hexdigest(), redacted, writer, program, holds),
             tuple(proof[key] for key in ("bundle", "sha256", "redacted", "bundled_by", "verified_by", "holds")))
        assert numbers in (None, proof["numbers"]), proof
    same(("aggregate-power/verify-2", False, 3), (found["schema"], found["holds"], found["points"]))
    assert found["numbers"] == sum(proof["numbers"] for proof in found["proofs"])
    same([], json.loads(run(folder, "verify", "run", "--json").stdout)["proofs"])


# ---- Damage

def refused(folder, files, *named, status=1):
    path = write(folder / "hostile" / "z.bundle.tar.zst", files)
    before = sorted(str(each) for each in folder.rglob("*"))
    done = run(folder / "hostile", "verify", path.name, status=status)
    for text in named:
        assert text in done.stdout + done.stderr, f"{named}: {done.stdout}{done.stderr}"
    assert "are what" not in done.stdout
    for words in (["report", path.name, "--out", "page.html"], ["measure", path.name], ["compare", path.name]):
        done = run(folder / "hostile", *words, status=2)
        assert named[0] in done.stderr, f"{words}: {done.stderr}"
    same(before, sorted(str(each) for each in folder.rglob("*")))
    same([], os.listdir(temporary(folder / "hostile")))


def test_damaged_members_are_named(folder):
    b200(folder)
    (folder / "hostile").mkdir()
    run(folder, "bundle", "run", "--out", "x.tar.zst")
    files = plain(folder / "x.tar.zst")
    temporary(folder / "hostile")
    for i, (name, content) in enumerate(files[1:], 1):
        for at in (0, len(content) // 2, len(content) - 1):
            other = bytearray(content)
            other[at] ^= 1
            refused(folder, [*files[:i], (name, bytes(other)), *files[i + 1:]], name, "SHA-256")
        refused(folder, [*files[:i], *files[i + 1:]], name, "manifest only")
        refused(folder, [*files[:i], (name, content + b" "), *files[i + 1:]], name, "size")
        refused(folder, [*files[:i], (name, content[:-1]), *files[i + 1:]], name, "size")
    refused(folder, [*files, ("files/more.txt", b"x")], "files/more.txt", "not in the manifest")
    refused(folder, [*files, files[1]], files[1][0], "twice")
    manifest = json.loads(files[0][1])
    for change in (lambda m: m["files"].pop(0), lambda m: m["files"][0].update(sha256="0" * 64),
                   lambda m: m["files"].append(m["files"][0]), lambda m: m["files"][0].update(bytes=1 << 60),
                   lambda m: m["files"][0].update(bytes=-1), lambda m: m.update(schema="aggregate-power/bundle-9"),
                   lambda m: m["files"][0].update(path="../up.json"), lambda m: m["files"][0].update(sha256="x"),
                   lambda m: m.pop("files")):
        other = json.loads(json.dumps(manifest))
        change(other)
        refused(folder, [("bundle.json", json.dumps(other).encode()), *files[1:]], "z.bundle.tar.zst")
    refused(folder, [("bundle.json", b"{"), *files[1:]], "bundle.json")


def test_names_that_lead_elsewhere(folder):
    b200(folder)
    (folder / "hostile").mkdir()
    run(folder, "bundle", "run", "--out", "x.tar.zst")
    files = plain(folder / "x.tar.zst")
    temporary(folder / "hostile")
    for name in ("files/../../up.txt", "../up.txt", "/tmp/aggregate-power-absolute.txt", "files//x", "./files/x", "files/./x"):
        refused(folder, [*files, (name, b"x")], name, "not in the manifest")
        refused(folder, with_manifest([*files, ("files/" + name.removeprefix("files/"), b"x")]), "z.bundle.tar.zst")
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
        info = tarfile.TarInfo("files/gpu_metrics.csv")
        info.type, info.linkname = kind, "/etc/passwd"
        refused(folder, [each for each in files if each[0] != info.name] + [(info, b"")], "files/gpu_metrics.csv", "tampered")
        info = tarfile.TarInfo("files/link")
        info.type, info.linkname = kind, "/etc/passwd"
        refused(folder, [*files, (info, b"")], "files/link")


def test_names_that_no_folder_can_hold(folder):
    """Each is refused by its name before anything is unpacked, also where the file system would say so later."""
    b200(folder)
    (folder / "hostile").mkdir()
    run(folder, "bundle", "run", "--out", "x.tar.zst")
    files = plain(folder / "x.tar.zst")
    temporary(folder / "hostile")
    deep = "/".join(["d" * 200] * 30)
    for names, named, why in (
            (("a", "a/b"), "files/a/b", "lists files/a as a file"), (("a/b/c", "a/b", "a/b-x"), "files/a/b/c", "lists files/a/b as a file"),
            (("gpu_metrics.csv/x",), "files/gpu_metrics.csv/x", "lists files/gpu_metrics.csv as a file"),
            (("n" * 256,), "n" * 256, "256 bytes, and at most 255"), (("\u00e9" * 128,), "\u00e9" * 128, "256 bytes, and at most 255"),
            (("/".join("d" * 52),), "files/d/d", "in 51 folders, and at most 50"), ((deep,), deep, "bytes, and at most 4095"),
            (("a/../b",), "files/a/../b", "leads elsewhere"), (("a/./b",), "files/a/./b", "leads elsewhere"), (("a//b",), "files/a//b", "leads elsewhere"),
            (("a/",), "files/a/", "leads elsewhere"), (("",), "files/", "leads elsewhere"), (("a\0b",), "files/a", "leads elsewhere")):
        more = [(f"files/{name}", b"x") for name in names]
        made = with_manifest([*files, *more])
        refused(folder, [made[0], *files[1:]], "z.bundle.tar.zst", named, why, "fetch the bundle again")
    fits = [("files/" + "/".join("d" * 51), b"x"), ("files/" + "n" * 255, b"x")]
    write(folder / "y.tar.zst", with_manifest([*files, *fits]))
    run(folder, "verify", "y.tar.zst")
    # So many that none is looked at.
    def many(manifest):
        manifest["files"] = manifest["files"][:1] * 200001
    refused(folder, with_manifest(files, many), "z.bundle.tar.zst", "200001 files are more than a bundle may have (200000)")
    # Together they are larger than what one may be.
    def large(manifest):
        for each in manifest["files"]:
            each["bytes"] = 1 << 29
    refused(folder, with_manifest(files, large), "z.bundle.tar.zst", "expands to more than")


def test_damaged_archives(folder):
    b200(folder)
    run(folder, "bundle", "run", "--out", "x.tar.zst")
    whole = (folder / "x.tar.zst").read_bytes()
    for size in (len(whole) - 1, len(whole) // 2, 40):
        (folder / "y.tar.zst").write_bytes(whole[:size])
        run(folder, "verify", "y.tar.zst", status=2)
    for at in range(5, len(whole), max(1, len(whole) // 40)):
        other = bytearray(whole)
        other[at] ^= 0x10
        (folder / "y.tar.zst").write_bytes(other)
        done = subprocess.run([PROGRAM, "verify", "y.tar.zst"], cwd=folder, capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"], "TMPDIR": str(temporary(folder))})
        if done.returncode == 0:  # a byte that says nothing, such as the size of a window
            same(plain(folder / "x.tar.zst"), plain(folder / "y.tar.zst"))
            assert hashlib.sha256(other).hexdigest() in done.stdout
        else:
            assert done.returncode in (1, 2) and "are what" not in done.stdout, f"{at}: {done.stdout}{done.stderr}"
    # A member that expands to more than is listed is not written.
    files = plain(folder / "x.tar.zst")
    bomb = [(name, b"\0" * (1 << 28) if name.endswith(".csv") else content) for name, content in files]
    write(folder / "y.tar.zst", bomb)
    assert "size" in run(folder, "verify", "y.tar.zst", status=1).stdout
    same([], os.listdir(temporary(folder)))


# ---- As a folder

def test_read_as_folders(folder):
    store(folder)
    b200(folder)
    vllm(folder)
    run(folder, "bundle", "store", "--out", "store.bundle.tar.zst")
    run(folder, "bundle", "run", "--out", "run.bundle.tar.zst")
    run(folder, "bundle", "results/vllm_detailed.json", "--out", "vllm.bundle.tar.zst", "--redact")
    other = folder / "elsewhere"
    other.mkdir()
    for path in folder.glob("*.tar.zst"):
        shutil.copy(path, other)
    shutil.rmtree(folder / "store" / "power_audit_mixtral_tp2_conc1.zip", ignore_errors=True)
    assert "3 runs, 2 valid" in run(other, "report", "store.bundle.tar.zst", "--out", "page.html").stdout
    page = (other / "page.html").read_text()
    assert "store.bundle/" in page and str(temporary(other)) not in page
    compared = run(other, "compare", "store.bundle.tar.zst", "--json").stdout
    assert str(temporary(other)) not in compared
    twice = run(other, "compare", "store.bundle.tar.zst", "--with", "store.bundle.tar.zst", status=3).stdout
    assert "copies of one measurement" in twice, twice
    measured = json.loads(run(other, "measure", "vllm.bundle.tar.zst", "--json").stdout)
    straight = json.loads(run(folder, "measure", "results/vllm_detailed.json", "results/gpu_metrics.csv", "--json").stdout)
    same(straight["runs"][0]["total_gpu_energy_j"], measured["runs"][0]["total_gpu_energy_j"])
    assert str(temporary(other)) not in json.dumps(measured)
    run(other, "vllm.bundle.tar.zst")
    assert "<svg" in run(other, "plot", "run.bundle.tar.zst", "--timezone", "UTC").stdout
    same(4, len(run(other, "export", "store.bundle.tar.zst", "--format", "csv").stdout.splitlines()))
    assert "nvidia-smi" in run(other, "inspect", "vllm.bundle.tar.zst/gpu_metrics.csv").stdout
    same([], os.listdir(temporary(other)))


def test_a_report_of_a_bundle_is_that_of_its_folder(folder):
    store(folder)
    run(folder, "bundle", "store", "--out", "s.bundle.tar.zst")
    extracted(folder / "s.bundle.tar.zst", folder / "s.bundle")
    (folder / "s.bundle" / "bundle.json").unlink()
    for words in (["compare", "{}", "--json"], ["export", "{}", "--format", "csv"]):
        texts = [run(folder, *[word.format(place) for word in words]).stdout for place in ("s.bundle", "s.bundle.tar.zst")]
        same(*texts)


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
