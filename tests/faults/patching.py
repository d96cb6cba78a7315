"""Runs of the program on small inputs, and what must hold of the files that they leave."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from running import fresh_seed, size, some_of  # noqa: E402, F401  (for the tests that import this)

ROOT = pathlib.Path(__file__).resolve().parents[2]


def built(variable, default):
    return os.environ.get(variable) or str(ROOT / "build" / default)


PROGRAM = built("AGGREGATE_POWER", "aggregate-power")
DYNAMIC = built("AGGREGATE_POWER_DYNAMIC", "tests/aggregate-power-dynamic")
SHIM = built("FAULT_SHIM", "tests/fault_shim.so")
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "TZ": "UTC", "LC_ALL": "C"}
TEMPORARY = ".aggregate-power.tmp"


class Checks:
    """Counts named checks, each of which may be made of many runs."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def add(self, name, faults, runs=None):
        if faults:
            self.failed += 1
            print(f"FAILED {name}: {len(faults)} faults", *faults[:8], sep="\n  ", flush=True)
        else:
            self.passed += 1
            if runs is not None:
                print(f"ok {name} ({runs} runs)", flush=True)

    def end(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0


@contextlib.contextmanager
def fresh_folder(name, in_memory=True):
    """A folder without links in its path, gone afterwards; in memory where that is to be had."""
    memory = pathlib.Path("/dev/shm")
    is_wanted = in_memory and "TMPDIR" not in os.environ
    where = memory if is_wanted and os.access(memory, os.W_OK) else None
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"aggregate-power-{name}-", dir=where)).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def run(arguments, folder, program=PROGRAM, environment=None, **options):
    """What a run of the program said, and how it ended; it has a minute."""
    return subprocess.run([program, *arguments], cwd=folder, env=ENVIRONMENT | (environment or {}),
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60, **options)


def synthesize(folder, watts=500, csv="gpu_metrics.csv", bench="run.json", agg="agg_run.json",
               gpus=2, seconds=10):
    done = run(["synthesize", "--gpus", str(gpus), "--phase", "4:100", "--phase",
                f"{seconds}:{watts}", "--phase", "4:100", "--timezone", "UTC", "--out", csv,
                "--bench-out", bench, "--agg-out", agg], folder)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode())


def arguments(csv="gpu_metrics.csv", bench="run.json", agg="agg_run.json", gpus=2, more=()):
    """A run that is valid with the GPUs that there are, and not with another number of them."""
    return ["--csv", csv, "--bench-result", bench, "--agg-result", agg, "--expected-num-gpus",
            str(gpus), "--max-sample-gap", "3", *more]


def contents(folder):
    """Every file below the folder, by its name there; links as they are."""
    return {str(p.relative_to(folder)): os.readlink(p).encode() if p.is_symlink()
            else p.read_bytes() for p in folder.rglob("*") if p.is_symlink() or p.is_file()}


def restore(folder, wanted):
    """Makes the folder hold just these files again."""
    for path in sorted(folder.rglob("*"), reverse=True):
        name = str(path.relative_to(folder))
        if path.is_dir() and not path.is_symlink():
            if not any(other.startswith(name + "/") for other in wanted):
                path.rmdir()
        elif name not in wanted:
            path.unlink()
    for name, data in wanted.items():
        path = folder / name
        if path.is_symlink():
            continue
        if not path.is_file() or path.read_bytes() != data:
            path.write_bytes(data)


def temporaries(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*" + TEMPORARY))


def parsed(data):
    """The object that the bytes are; None when they are not one, whole."""
    try:
        value = json.loads(data, parse_constant=lambda word: 1 / 0)
    except (ValueError, ZeroDivisionError):
        return None
    return value if isinstance(value, dict) else None


SIDECAR_KEYS = ["schema_version", "power_valid", "reasons", "telemetry_source", "benchmark_result"]


def is_whole_sidecar(data):
    value = parsed(data)
    return (value is not None and list(value)[:5] == SIDECAR_KEYS
            and list(value)[-1] == "computed_from"
            and value["power_valid"] == (value["reasons"] == [])
            and bool(value["metrics"]) == value["power_valid"])


def claims(data):
    """Whether these bytes of an aggregate say that the power is valid; schema 1 has no verdict."""
    value = parsed(data)
    return value is not None and value.get("power_valid", int("avg_power_w" in value)) == 1


def agree(aggregate, sidecar):
    """Whether a valid aggregate's metrics are those that the sidecar vouches for."""
    row, audit = parsed(aggregate), parsed(sidecar)
    return (row is not None and audit is not None and audit["power_valid"] is True
            and all(abs(row.get(key, -1) - value) <= 0.000501
                    for key, value in audit["metrics"].items()))
