#!/usr/bin/env python3
"""Writes the first inputs of the fuzz targets, made of testdata and of synthetic runs.

Telemetry files, and those below $CORPUS, are cut to a size that a fuzzer likes. What a target takes for
choices comes before the text: four bytes for csv_fuzz, none for aiperf, json, load, record and report, one
for the others. Packages and stores are sections, each behind a line "== NAME".

usage: tests/fuzz/seeds.py PROGRAM FOLDER   fills FOLDER/TARGET for each target
"""
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LARGEST = 4000
STAMP = re.compile(rb"(?:\d{4}[-/.]?\d\d?[-/.]?\d\d?[T ]?[^,;\"|]{0,24}|\b\d{10,19}(?:\.\d+)?\b)")


def keep(folder, data):
    (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


def files_below(folder):
    return [p for p in sorted(pathlib.Path(folder).rglob("*")) if p.is_file()]


def made(program, folder):
    """A synthetic run of each schema, and what the program made of it."""
    for schema in ("nvidia-smi", "amd-smi", "generic"):
        for gpus in ("1", "2"):
            name = f"{schema}-{gpus}"
            subprocess.run([program, "synthesize", "--schema", schema, "--gpus", gpus, "--phase",
                            "3:100", "--phase", "5:400", "--phase", "2:90", "--noise", "3", "--out",
                            f"{name}.csv", "--bench-out", f"{name}.json", "--agg-out",
                            f"agg-{name}.json"], cwd=folder, check=True)
            keep_unpatched = (folder / f"agg-{name}.json").read_bytes()
            (folder / f"agg-{name}-before.json").write_bytes(keep_unpatched)
            subprocess.run([program, "--csv", f"{name}.csv", "--bench-result", f"{name}.json",
                            "--agg-result", f"agg-{name}.json", "--expected-num-gpus", gpus],
                           cwd=folder, check=True, capture_output=True)
    return files_below(folder)


WINDOWS = [b"begin a b +1\nbegin c 1777118410\nend c 1777118412.5\nend a b -3\n",
           b"name,start,end\nwarm-up,+0,+5\n\"a, b\",2026-04-25T12:00:10Z,2026-04-25T12:00:20Z\n",
           b'[{"name": "a", "start": 1777118410, "end": "+20"}]',
           b"start_time,window_name,elapsed_time,gpu0_energy\n1777118410,a,2.5,100\n"]


def traces(into):
    """Behind a byte that says whether it is a trace or layers."""
    for path in files_below(ROOT / "testdata" / "traces"):
        data = path.read_bytes()
        keep(into, b"\0" + (gzip.decompress(data) if path.suffix == ".gz" else data)[:LARGEST])
    keep(into, b'\0{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1777118410000000, "dur": 5, "pid": 0, "tid": 7,'
               b' "args": {"device": 0, "stream": 7}}, {"ph": "X", "cat": "gpu_memcpy", "name": "m", "ts": 1777118410000002, "dur": 5,'
               b' "args": {"device": 0, "stream": 8}}], "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}]}')
    keep(into, b"\1layer_name,exec_id,start_time,end_time,duration_ms\nfc1,0,1777118410.5,1777118410.75,250\nfc2,0,1777118410.75,1777118411,250\n")


def results(into):
    for path in files_below(ROOT / "testdata" / "generators") + files_below(ROOT / "testdata" / "results"):
        keep(into, path.read_bytes()[:LARGEST])


def requests(into):
    for path in (ROOT / "testdata").rglob("*.jsonl"):
        lines = path.read_bytes().splitlines(keepends=True)
        keep(into, b"".join(lines[:4])[:2 * LARGEST])
        keep(into, b"".join(lines[-1:])[:LARGEST])


def witnesses(into):
    keep(into, b"\0JobID|Start|End|ConsumedEnergyRaw\n38113|2026-04-25T12:00:10|2026-04-25T12:10:10|123456\n38113.0|2026-04-25T12:00:11|2026-04-25T12:10:09|1234\n")
    keep(into, b"\1Instantaneous power reading: 212 Watts\nAverage power reading over sample period: 200 Watts\n"
               b"IPMI timestamp: Sat Apr 25 12:00:10 2026\nSampling period: 1 Seconds.\n")
    keep(into, b"\1energy: 123456 J 1777118410000000 us\npower: 1000 W 1777118410000000 us\nenergy: 124456 J 1777118411000000 us\n")
    keep(into, b"\1timestamp,package-0,dram\n1777118410,1000000,2000\n1777118411,1900000,3000\n1777118412,2000,4000\n")
    keep(into, b"\0" b"1777118410\n/sys/class/powercap/intel-rapl:0/energy_uj:123\n1777118411\n/sys/class/powercap/intel-rapl:0/energy_uj:1000123\n")
    for folder in ("telemetry/other-meters", "telemetry-written"):
        for path in files_below(ROOT / "testdata" / folder):
            keep(into, b"\1" + path.read_bytes()[:LARGEST])


def compact(path):
    return json.dumps(json.loads(path.read_bytes()), separators=(",", ":")).encode()


def sections(files):
    return b"".join(b"== " + name.encode() + b"\n" + data.rstrip(b"\n") + b"\n" for name, data in files)


def packages(into):
    """A package whose windows and samples fit into an input, with and without what makes it whole."""
    logs = ROOT / "testdata" / "package" / "LOGS"
    files = [(f"power/{path.relative_to(logs / 'power')}", compact(path) if path.suffix == ".json" else path.read_bytes()[:6 * LARGEST])
             for path in files_below(logs / "power")]
    files += [(f"1p1d/{path.name}", compact(path)) for path in files_below(logs / "1p1d")]
    files.append(("run.json", compact(ROOT / "testdata" / "package" / "run.json")))
    for choice in (b"\0", b"\1", b"\2", b"\4"):
        keep(into, choice + sections(files))
    for i in range(len(files)):
        keep(into, b"\0" + sections(files[:i] + files[i + 1:]))


def archives(into):
    """Small trees in each form, behind the byte that says the name: zip, tar, tar.gz, tgz, tar.zst, gz."""
    members = [("a/b.json", b"{}"), ("a/c/d.csv", b"1,2\n" * 40), ("e.zip", b"")]
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("x/y.json", "{}")
    members[2] = ("e.zip", inner.getvalue())
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as zipped:
            for name, data in members:
                zipped.writestr(name, data)
        keep(into, b"\0" + out.getvalue())
    for form, choice in (("w", b"\1"), ("w:gz", b"\2"), ("w:gz", b"\3")):
        for style in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            out = io.BytesIO()
            with tarfile.open(fileobj=out, mode=form, format=style) as tar:
                for name, data in members + [("long/" * 30 + "name", b"x")]:
                    member = tarfile.TarInfo(name)
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
                link = tarfile.TarInfo("link")
                link.type, link.linkname = tarfile.SYMTYPE, "a/b.json"
                tar.addfile(link)
            keep(into, choice + out.getvalue())
    keep(into, b"\5" + gzip.compress(b"timestamp,power\n" + b"1,2\n" * 100))
    for path in (ROOT / "testdata").rglob("*.zip"):
        keep(into, b"\0" + path.read_bytes())
    for path in (ROOT / "testdata").rglob("*.zst"):
        keep(into, b"\5" + path.read_bytes()[:LARGEST])


def records(into, folder):
    """Records of synthetic runs; and with their aggregates as stores for reports."""
    for path in folder.glob("power_validation_*.json"):
        keep(into / "record", compact(path))
        name = path.stem.removeprefix("power_validation_")
        aggregate = compact(folder / f"agg-{name}.json")
        keep(into / "report", sections([(f"power_audit_r/agg_r.json", aggregate), (f"power_audit_r/{path.name}", compact(path))]))
        keep(into / "report", sections([(f"{i}/agg_{i}.json", aggregate.replace(b'"tp":', b'"conc":%d,"tp":' % i)) for i in range(4)]))
    for path in (ROOT / "testdata" / "power-limits").rglob("*.csv"):
        keep(into / "report", sections([(path.name, path.read_bytes()[:LARGEST])]))


def main(program, into):
    into = pathlib.Path(into)
    for name in ("aiperf", "archive", "csv", "json", "load", "package", "price", "record", "report", "stamp", "trace", "windows", "witness"):
        (into / name).mkdir(exist_ok=True)
    traces(into / "trace")
    results(into / "load")
    requests(into / "aiperf")
    witnesses(into / "witness")
    packages(into / "package")
    archives(into / "archive")
    for text in WINDOWS:
        keep(into / "windows", b"\0" + text)
        keep(into / "windows", b"\1" + text)
    for path in files_below(ROOT / "testdata" / "rates"):
        keep(into / "price", b"\0" + path.read_bytes()[:LARGEST])
        keep(into / "price", b"\1" + path.read_bytes()[:LARGEST])
    with tempfile.TemporaryDirectory() as folder:
        files = made(os.path.abspath(program), pathlib.Path(folder))
        records(into, pathlib.Path(folder))
        files += files_below(ROOT / "testdata")
        if corpus := os.environ.get("CORPUS"):
            files += files_below(corpus)
        for i, path in enumerate(files):
            data = path.read_bytes()
            if path.suffix == ".json":
                keep(into / "json", data[:LARGEST])
                if not any(part.startswith("telemetry") for part in path.parts):
                    continue
            if path.name in ("args", "why.txt", "stdout", "stderr", "README.md", "INDEX.md"):
                continue
            choices = bytes([0x83 + 37 * i & 0xFF, i & 15, 61 * i & 0xFF, 7 * i & 0xFF])
            keep(into / "csv", choices + data[:LARGEST])
            stamps = [match.strip() for match in STAMP.findall(data[:LARGEST])]
            keep(into / "stamp", bytes([i & 0xFF]) + b"\n".join(stamps[:40]))
            if data[:1] in (b"{", b"["):
                keep(into / "json", data[:LARGEST])


if __name__ == "__main__":
    main(*sys.argv[1:])
