#!/usr/bin/env python3
"""Captures are cut short and scribbled on; the program reads them without a crash or a hang.

Every file of testdata/telemetry and testdata/telemetry-written, and every one below $CORPUS, is read N times changed: half of them
cut short, half with bytes changed, put in, taken out, repeated or encoded otherwise. Each goes
through `inspect --json`, `windows`, `attribute` and a run of either schema, whose benchmark's window lies within
the unchanged file and is sometimes scribbled on itself, as are the aggregate, the energy snapshots
and the zone file. The exit status, the time, the memory, the JSON and the files left must be as
promised. What breaks something is kept, and named.

usage: tests/faults/mutate_test.py [N]   (default: 6 of each file, 1 with QUICK=1), with
       $AGGREGATE_POWER_SANITIZED (a build with POWER_DEV=ON), else $AGGREGATE_POWER;
       $TEST_SEED repeats a run
"""
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import patching
from patching import agree, arguments, claims, contents, parsed

SANITIZED = os.environ.get("AGGREGATE_POWER_SANITIZED")
PROGRAM = SANITIZED or patching.PROGRAM
FOUND = 99  # the exit status with which a sanitizer ends a run
ENVIRONMENT = patching.ENVIRONMENT | {
    "ASAN_OPTIONS": f"exitcode={FOUND}",
    "UBSAN_OPTIONS": f"halt_on_error=1:print_stacktrace=1:exitcode={FOUND}",
}
MOST_SECONDS = 20
MOST_KIB = 512 * 1024 if SANITIZED else 64 * 1024  # a sanitizer's own memory counts too
STRAY = [b",", b'"', b"\n", b"\r", b"\0", b"\xff", b"\xc3", b"\xe2\x80", b" ", b";", b"\t", b"-", b"+",
         b".", b"e", b"#", b":", b"/", b"0", b"9", b"[", b"N/A", b"nan", b"inf", b"1e308", b"9" * 400,
         b"\xef\xbb\xbf", b"\xff\xfe", b"\xe2\x82\xac", b"timestamp", b"power", b'""', b",,,,", b"\r\n\r\n"]


# ---- Changes

def cut_short(rng, data):
    near = [0, 1, 2, 3, 65535, 65536, 65537, 131072, len(data) - 1, len(data) - 2,
            data.find(b"\n"), data.find(b"\n") + 1]
    at = rng.choice(near) if rng.random() < 0.3 else rng.randrange(len(data) + 1)
    if rng.random() < 0.3:  # about a line's end
        at = data.rfind(b"\n", 0, max(at, 1)) + rng.randrange(3)
    return data[:max(at, 0)]


def scribbled(rng, data):
    text = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5, 20, 200])):
        at = rng.randrange(len(text) + 1)
        if rng.random() < 0.4:  # where it matters most
            at = min(at, rng.randrange(400))
        what = rng.random()
        if what < 0.4:
            text[at:at + 1] = bytes([rng.randrange(256)])
        elif what < 0.7:
            text[at:at] = rng.choice(STRAY)
        elif what < 0.85:
            text[at:at + rng.choice([1, 1, 10, 1000])] = b""
        else:
            other = rng.randrange(len(text) + 1)
            text[at:at] = text[other:other + rng.choice([1, 20, 200, 5000])]
    return bytes(text)


def encoded(rng, data):
    text = data.decode("utf-8", "replace")
    return rng.choice([
        lambda: b"\xef\xbb\xbf" + data,
        lambda: b"\xff\xfe" + text.encode("utf-16-le", "replace"),
        lambda: b"\xfe\xff" + text.encode("utf-16-be", "replace"),
        lambda: b"\xff\xfe" + data,
        lambda: data.replace(b"\r", b"").replace(b"\n", b"\r\n"),
        lambda: data.replace(b"\r", b"").replace(b"\n", b"\r"),
        lambda: data.replace(b"\n", b"\0\n"),
        lambda: b'"' + data,
        lambda: data.replace(b",", b";"),
        lambda: data.replace(b" ", b""),
        lambda: data * rng.choice([2, 5]),
        lambda: b"\n" * rng.choice([1, 70, 70000]) + data,
        lambda: data + b"x" * rng.choice([1, 131071, 131072, 131073, 300000]),
        lambda: b"\n".join(rng.sample(data.split(b"\n"), data.count(b"\n") + 1)),
    ])()


def changed(rng, data, i):
    if i % 2 == 0:
        data = cut_short(rng, data)
        return data if rng.random() < 0.8 else scribbled(rng, data)
    if rng.random() < 0.25:
        data = encoded(rng, data)
        return data if rng.random() < 0.5 else scribbled(rng, data)
    return scribbled(rng, data)


# ---- Runs

class Run:
    """How a run of the program ended, and what it took."""

    def __init__(self, words, folder):
        self.words = words
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen([PROGRAM, *words], cwd=folder, env=ENVIRONMENT,
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            timer = threading.Timer(MOST_SECONDS, process.kill)
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            timer.cancel()
            process.returncode = self.status = os.waitstatus_to_exitcode(status)
            self.kib = usage.ru_maxrss
            out.seek(0)
            err.seek(0)
            self.out, self.err = out.read(), err.read().decode(errors="replace")

    def faults(self, statuses):
        if self.status == -9:
            yield f"no end within {MOST_SECONDS} s"
        elif self.status not in statuses:
            yield f"exit status {self.status}: {self.err[-3000:]}"
        if "Sanitizer" in self.err or "runtime error" in self.err:
            yield self.err[-3000:]
        if self.kib > MOST_KIB:
            yield f"{self.kib} KiB of memory"


class Ground:
    """One folder in which runs are made, one after another."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True)

    def write(self, name, data):
        (self.folder / name).write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())

    def inspect(self):
        done = Run(["inspect", "--json", "gpu_metrics.csv", "--timezone", "UTC"], self.folder)
        found = parsed(done.out)
        faults = list(done.faults((0, 1)))
        if not faults and found is None:
            faults.append(f"inspect printed no JSON: {done.out[:500]!r}")
        return found, faults

    def share_out(self, benchmark):
        """`windows` and `attribute` in a folder of their own: a message, or numbers that are some."""
        ends = benchmark["benchmark_start_time_unix"], benchmark["benchmark_end_time_unix"]
        beside = self.folder.parent / (self.folder.name + ".beside")
        beside.mkdir(exist_ok=True)
        (beside / "windows.txt").write_text(f"begin load {ends[0]!r}\nend load {ends[1]!r}\n")
        kernel = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": ends[0] * 1e6,
                  "dur": (ends[1] - ends[0]) * 1e6, "args": {"device": 0, "stream": 7}}
        (beside / "trace.json").write_text(json.dumps({"traceEvents": [kernel]}))
        recording = ["--telemetry", str(self.folder / "gpu_metrics.csv"), "--timezone", "UTC"]
        faults = []
        for words in (["windows", *recording, "--windows", "windows.txt", "--json"],
                      ["attribute", *recording, "--trace", "trace.json", "--format", "json"]):
            done = Run(words, beside)
            faults += done.faults((0, 1, 2))
            if done.status == 0 and parsed(done.out) is None:
                faults.append(f"{words[0]} printed no JSON: {done.out[:500]!r}")
            if done.status != 0 and not done.err.strip():
                faults.append(f"{words[0]} ended with {done.status} and without a message")
        shutil.rmtree(beside)
        return faults

    def aggregate(self, rng, command):
        """A run whose record must vouch for what it writes."""
        aggregate = (self.folder / "agg_run.json").read_bytes()
        done = Run(command, self.folder)
        after = contents(self.folder)
        faults = list(done.faults((0, 1)))
        record = after.get("record.json")
        now = after["agg_run.json"]
        if record is None or parsed(record) is None:
            faults.append(f"no whole audit record: {record!r}")
        elif parsed(aggregate) is not None and parsed(now) is None:
            faults.append(f"the aggregate was broken: {now!r}")
        elif now != aggregate and claims(now) and not agree(now, record):
            faults.append("the aggregate claims what the record does not vouch for")
        elif ("--require-power" in command and done.status == 0) and not claims(now):
            faults.append("exit status 0 without valid power")
        if left := patching.temporaries(self.folder):
            faults.append(f"left behind: {left}")
        return faults


def benchmark_of(found):
    """A window within what the unchanged file holds, and its number of devices."""
    devices = (found or {}).get("devices") or []
    spans = [(device["first_unix"], device["last_unix"]) for device in devices]
    first = max((a for a, _ in spans), default=1700000000)
    last = min((b for _, b in spans), default=first + 10)
    start, end = first + 0.3 * (last - first), first + 0.7 * (last - first)
    if end <= start:
        start, end = first - 1, first + 1
    return max(len(spans), 1), {
        "duration": end - start, "benchmark_start_time_unix": start,
        "benchmark_end_time_unix": end, "completed": 10, "total_input_tokens": 1000,
        "total_output_tokens": 500}


def try_file(path, count, seed, root):
    """Every change of one file; gives the faults, how many runs it took and how many were valid."""
    rng = random.Random(f"{seed} {path.name}")
    data = path.read_bytes()
    ground = Ground(root)
    ground.write("gpu_metrics.csv", data)
    found, faults = ground.inspect()
    devices, benchmark = benchmark_of(found)
    runs, valid = 1, 0
    for i in range(count):
        patching.restore(ground.folder, {})
        ground.write("gpu_metrics.csv", changed(rng, data, i))
        benchmark_text = json.dumps(benchmark).encode()
        aggregate_text = json.dumps({"hw": "x", "tp": devices}).encode()
        if rng.random() < 0.1:
            benchmark_text = changed(rng, benchmark_text, i // 2)
        if rng.random() < 0.1:
            aggregate_text = changed(rng, aggregate_text, i // 2)
        ground.write("run.json", benchmark_text)
        ground.write("agg_run.json", aggregate_text)
        if rng.random() < 0.3:
            for which in ("start", "end"):
                ground.write(f"gpu_metrics_energy_{which}.csv", changed(
                    rng, b"gpu,total_energy_consumption\n0,1000.5\n1,2e6\n", rng.randrange(2)))
        if rng.random() < 0.2:
            ground.write("gpu_metrics_context.json", changed(
                rng, b'{"timestamp_timezone": "+00:00"}', rng.randrange(2)))
        before = contents(ground.folder)
        schema = rng.choice(["1", "2"])
        more = ["--schema-version", schema, "--validation-result", "record.json"]
        if "gpu_metrics_context.json" not in before:
            more += ["--timezone", "UTC"]
        if rng.random() < 0.5:
            more += ["--max-sample-gap", "1000"]
        if rng.random() < 0.5:
            more += ["--require-power"]
        command = arguments(gpus=devices, more=more)
        _, now = ground.inspect()
        now += ground.aggregate(rng, command)
        now += ground.share_out(benchmark)
        valid += claims((ground.folder / "agg_run.json").read_bytes())
        runs += 4
        if now:
            kept = pathlib.Path(tempfile.mkdtemp(prefix="mutate-"))
            for name, text in before.items():
                (kept / name).write_bytes(text)
            now = [f"{path.name}, left in {kept}, {' '.join(command)}: {text}" for text in now]
        faults += now
    shutil.rmtree(ground.folder)
    return faults, runs, valid


def main(count):
    seed = patching.fresh_seed()
    files = [p for kind in ("telemetry", "telemetry-written")
             for p in sorted((patching.ROOT / "testdata" / kind).rglob("*")) if p.is_file()]
    if corpus := os.environ.get("CORPUS"):
        files += [p for p in sorted(pathlib.Path(corpus).rglob("*")) if p.is_file()]
    print(f"{len(files)} files, seed {seed}, {PROGRAM}{'' if SANITIZED else ' (no sanitizers)'}")
    checks = patching.Checks()
    with patching.fresh_folder("mutate") as root, ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(try_file, path, count, seed, root / str(i))
                for i, path in enumerate(files)]
        total = 0
        for path, job in zip(files, jobs):
            faults, runs, valid = job.result()
            total += valid
            checks.add(f"{path.parent.name}/{path.name}", faults,
                       f"{runs}, {valid} of them valid,")
    if total == 0:
        checks.add("some changes do no harm", ["no run was valid"])
    return checks.end()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else patching.size(6, 1)))
