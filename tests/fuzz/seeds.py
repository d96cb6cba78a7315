#!/usr/bin/env python3
"""Writes the first inputs of the fuzz targets.

Telemetry files (testdata, and those below $CORPUS, cut to a size that a fuzzer likes) behind the
bytes that csv_fuzz takes for choices; JSON of testdata and of synthetic runs; results, traces and
windows files behind the byte that load_fuzz takes for a choice; lines of stamps out of the
telemetry, behind the byte that stamp_fuzz takes for a zone.

usage: tests/fuzz/seeds.py PROGRAM FOLDER   fills FOLDER/csv, FOLDER/json, FOLDER/load and FOLDER/stamp
"""
import gzip
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

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


def loads(into):
    """What load_fuzz reads, by its first byte: traces, layers, windows, results."""
    for path in files_below(ROOT / "testdata" / "traces"):
        data = path.read_bytes()
        keep(into, b"\0" + (gzip.decompress(data) if path.suffix == ".gz" else data)[:LARGEST])
    keep(into, b'\0{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1777118410000000, "dur": 5, "pid": 0, "tid": 7,'
               b' "args": {"device": 0, "stream": 7}}, {"ph": "X", "cat": "gpu_memcpy", "name": "m", "ts": 1777118410000002, "dur": 5,'
               b' "args": {"device": 0, "stream": 8}}], "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}]}')
    keep(into, b"\1layer_name,exec_id,start_time,end_time,duration_ms\nfc1,0,1777118410.5,1777118410.75,250\nfc2,0,1777118410.75,1777118411,250\n")
    for text in WINDOWS:
        keep(into, b"\2" + text)
    for path in files_below(ROOT / "testdata" / "generators") + files_below(ROOT / "testdata" / "results"):
        keep(into, b"\3" + path.read_bytes()[:LARGEST])


def main(program, into):
    into = pathlib.Path(into)
    for name in ("csv", "json", "load", "stamp"):
        (into / name).mkdir(exist_ok=True)
    loads(into / "load")
    with tempfile.TemporaryDirectory() as folder:
        files = made(os.path.abspath(program), pathlib.Path(folder))
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
