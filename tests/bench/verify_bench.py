#!/usr/bin/env python3
"""Times 'verify --sweep' of 200 points against sha256sum of the same files, interleaved.

25 packages of 32 GPUs and 8 windows of 10 minutes each, 216 MB: each package is shared by 8 points.

usage: verify_bench.py PROGRAM WORK_FOLDER   WORK_FOLDER should be on tmpfs
"""
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "publication"))
from sweep_builder import Gpu, Load, Package, Sweep  # noqa: E402  (beside the tests that share it)

PACKAGES, WINDOWS, ROUNDS = 25, 8, 5


def sweep_in(root):
    gpus = [Gpu(f"node-{host}", index, "prefill" if host < 4 else "decode",
                400.0 if host < 4 else 300.0, host // 4) for host in range(8) for index in range(4)]
    loads = [Load(2 ** i, 1000.0 + 700 * i, 1600.0 + 700 * i) for i in range(WINDOWS)]
    package = Package(gpus=gpus, loads=loads, version=3)
    package.changes = {"stopped_at_unix": 1000.0 + 700 * WINDOWS}
    first = root / "first"
    package.write(first)
    sweep = Sweep(root, [])
    package.write = lambda audit: shutil.copytree(first, audit)
    for number in range(PACKAGES):
        sweep.add_package(f"package{number}", package, True, 4)
        sweep.matrix["multi_node"]["1k1k"][-1]["node-count"] = 8
    sweep.write()
    shutil.rmtree(first)


def seconds(command, folder):
    begin = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main(program, work):
    root = pathlib.Path(work) / "sweep"
    root.mkdir()
    sweep_in(root)
    files = [str(path) for path in root.rglob("*") if path.is_file()]
    verify = [program, "verify", "--sweep", "sweep_manifest.json"]
    walls = [[seconds(["sha256sum", *files], root), seconds(verify, root)] for _ in range(ROUNDS + 1)]
    hashing, verifying = (statistics.median(column) for column in zip(*walls[1:]))
    print(f"verify, {PACKAGES * WINDOWS} points of {PACKAGES} packages: {verifying:.2f} s, "
          f"sha256sum {hashing:.2f} s, ratio {verifying / hashing:.2f}")


main(*sys.argv[1:])
