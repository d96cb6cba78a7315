#!/usr/bin/env python3
"""Writes the first inputs of the fuzz targets.

Telemetry files (testdata, and those below $CORPUS, cut to a size that a fuzzer likes) behind the
bytes that csv_fuzz takes for choices; JSON of testdata and of synthetic runs; lines of stamps out
of the telemetry, behind the byte that stamp_fuzz takes for a zone.

usage: tests/fuzz/seeds.py PROGRAM FOLDER   fills FOLDER/csv, FOLDER/json and FOLDER/stamp
"""
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


def main(program, into):
    into = pathlib.Path(into)
    for name in ("csv", "json", "stamp"):
        (into / name).mkdir(exist_ok=True)
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
