#!/usr/bin/env python3
"""Many runs patch one aggregate at once, while others read it without a pause.

Each run is of other watts and has its own audit record; beside them other writers, which keep to
the same lock, add a member each. Every read must be of a whole file, never back to a file without
members that were there, and a claim of power must stand beside its own audit record; in the end the
aggregate is as one of the runs leaves it that came last, with every member that anyone added. Two
runs that want different things of the same two files are also taken through every place at which
one may overtake the other: both files must end as if one had run after the other.

usage: tests/faults/concurrent_test.py [ROUNDS]   (default: 3), with $AGGREGATE_POWER
"""
import ctypes
import fcntl
import itertools
import json
import os
import random
import subprocess
import sys
import threading
import time

import patching
from patching import PROGRAM, arguments, claims, parsed, run

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]

RUNS = 16
OTHER_WRITERS = 4
AGGREGATE = "agg_run.json"
REPEATS = 4  # of each run within a round


def record_of(i):
    return f"power_validation_run{i}.json"


def run_of(i, more=()):
    return arguments(csv=f"gpu{i}.csv", bench=f"run{i}.json", more=more)


def make_inputs(folder):
    for i in range(RUNS):
        patching.synthesize(folder, watts=400 + 10 * i, csv=f"gpu{i}.csv", bench=f"run{i}.json",
                            agg=AGGREGATE)


def add_member(path, key):
    """What a well-behaved other writer does: lock, check that it is still the file, replace it."""
    while True:
        with open(path, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            mine, named = os.fstat(file.fileno()), os.stat(path)
            if mine.st_ino != named.st_ino:
                continue
            value = json.loads(file.read())
            value[key] = True
            beside = path.with_name(f"other-{key}")
            beside.write_text(json.dumps(value, indent=2))
            os.replace(beside, path)
            return


def start(folder, command):
    return subprocess.Popen([PROGRAM, *command], cwd=folder, env=patching.ENVIRONMENT,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


class Reader(threading.Thread):
    """Reads the aggregate until stopped; says what was wrong with what it saw."""

    def __init__(self, folder):
        super().__init__()
        self.folder = folder
        self.faults = []
        self.reads = 0
        self.stop = threading.Event()

    def run(self):
        members = set()
        while not self.stop.is_set():
            data = (self.folder / AGGREGATE).read_bytes()
            self.reads += 1
            value = parsed(data)
            if value is None:
                self.faults.append(f"read a part: {data[:80]!r}...{data[-80:]!r}")
                continue
            now = {key for key in value if key.startswith("member-")}
            if members - now:
                self.faults.append(f"members were lost: {members - now}")
            members = now
            if claims(data):
                i = round((value["avg_power_w"] - 400) / 10)
                try:
                    record = (self.folder / record_of(i)).read_bytes()
                except FileNotFoundError:
                    record = b""
                if not patching.agree(data, record):
                    self.faults.append(f"the claim of run {i} has no audit record yet")


def all_at_once(folder, checks, rounds):
    faults, reads, processes = [], 0, 0
    make_inputs(folder)
    first = (folder / AGGREGATE).read_bytes()
    outcomes = set()
    for i in range(RUNS):
        (folder / AGGREGATE).write_bytes(first)
        run(run_of(i), folder)
        outcomes.add(json.dumps(parsed((folder / AGGREGATE).read_bytes())))
    for _ in range(rounds):
        for i in range(RUNS):
            (folder / record_of(i)).unlink(missing_ok=True)
        (folder / AGGREGATE).write_bytes(first)
        reader = Reader(folder)
        reader.start()
        keys = [f"member-{i}" for i in range(OTHER_WRITERS * REPEATS)]
        writers = [threading.Thread(target=lambda some=keys[k::OTHER_WRITERS]: [
            add_member(folder / AGGREGATE, key) for key in some]) for k in range(OTHER_WRITERS)]
        for writer in writers:
            writer.start()
        for _ in range(REPEATS):
            running = [start(folder, run_of(i, ["--require-power"]))
                       for i in random.sample(range(RUNS), RUNS)]
            for process in running:
                out, err = process.communicate()
                processes += 1
                if process.returncode != 0:
                    faults.append(f"a run ended with {process.returncode}: {err.decode()}")
        for writer in writers:
            writer.join()
        reader.stop.set()
        reader.join()
        reads += reader.reads
        faults += reader.faults
        value = parsed((folder / AGGREGATE).read_bytes())
        missing = [key for key in keys if key not in value]
        if missing:
            faults.append(f"members were lost: {missing}")
        rest = json.dumps({key: v for key, v in value.items() if key not in keys})
        if rest not in {*outcomes, first}:
            faults.append(f"the end is not that of any run: {rest}")
        if left := patching.temporaries(folder):
            faults.append(f"left behind: {left}")
    print(f"{processes} runs, {reads} reads")
    if reads < rounds:
        faults.append("hardly anything was read")
    checks.add("many runs, many members, one aggregate", faults, processes)


def two_minds(folder, checks, rounds):
    """Runs of one benchmark that come to different verdicts: in the end both files say the same."""
    patching.synthesize(folder)
    commands = [arguments(), arguments(gpus=3)]
    faults = []
    pairs = 40 * rounds
    for _ in range(pairs):
        for process in [start(folder, command) for command in commands * 2]:
            process.communicate()
        aggregate = (folder / AGGREGATE).read_bytes()
        record = parsed((folder / "power_validation_run.json").read_bytes())
        if record is None or claims(aggregate) != record["power_valid"]:
            faults.append(f"power_valid is {claims(aggregate)} in the aggregate, "
                          f"{record and record['power_valid']} in the audit record")
    checks.add("valid and invalid runs of one benchmark at once", faults, 4 * pairs)


class Traced:
    """A run that stops before each of its system calls."""

    TRACE_ME, DETACH, SYSCALL = 0, 17, 24

    def __init__(self, folder, command):
        self.pid = os.fork()
        if self.pid == 0:
            os.chdir(folder)
            nothing = os.open(os.devnull, os.O_RDWR)
            for fd in range(3):
                os.dup2(nothing, fd)
            LIBC.ptrace(self.TRACE_ME, 0, None, None)
            os.execve(PROGRAM, [PROGRAM, *command], patching.ENVIRONMENT)
        self.wait()
        self.go_on()

    def wait(self):
        self.ended = not os.WIFSTOPPED(os.waitpid(self.pid, 0)[1])

    def go_on(self):
        """To where a call begins or has been made."""
        if not self.ended:
            LIBC.ptrace(self.SYSCALL, self.pid, None, None)
            self.wait()

    def step(self):
        """To the next call; False when there is none."""
        self.go_on()
        self.go_on()
        return not self.ended

    def let_go(self):
        if not self.ended:
            LIBC.ptrace(self.DETACH, self.pid, None, None)
            self.wait()

    def holds_lock(self):
        return any(f" {self.pid} " in line for line in locks())


def locks():
    with open("/proc/locks") as lines:
        return list(lines)


def is_waiting_for_lock(process):
    """Asleep: a run sleeps nowhere but between two attempts to take a lock."""
    try:
        with open(f"/proc/{process.pid}/wchan", encoding="ascii") as name:
            return name.read() == "hrtimer_nanosleep"
    except FileNotFoundError:
        return False


def calls_until_lock(folder, command):
    traced = Traced(folder, command)
    calls = 0
    while not traced.holds_lock() and traced.step():
        calls += 1
    traced.let_go()
    return calls


def two_by_two(root, checks, rounds):
    """One run is stopped at each of its calls while another goes by, or waits for it."""
    folder = root / "ground"
    folder.mkdir()
    record = folder / "power_validation_run.json"
    patching.synthesize(folder, watts=700, csv="other.csv")
    patching.synthesize(folder)
    first = (folder / AGGREGATE).read_bytes()
    commands = {"valid": arguments(), "not valid": arguments(gpus=3),
                "of other watts": arguments(csv="other.csv")}

    def reset():
        (folder / AGGREGATE).write_bytes(first)
        record.unlink(missing_ok=True)

    def end_of(*names):
        reset()
        for name in names:
            run(commands[name], folder)
        return (folder / AGGREGATE).read_bytes(), record.read_bytes()

    for one, other in itertools.permutations(commands, 2):
        ends = {end_of(one, other), end_of(other, one)}
        faults, waited, runs = [], 0, 0
        reset()
        at = calls_until_lock(folder, commands[one]) - 1
        while True:
            reset()
            stopped = Traced(folder, commands[one])
            if not all(stopped.step() for _ in range(at)):
                break
            passing = start(folder, commands[other])
            while passing.poll() is None and not is_waiting_for_lock(passing):
                time.sleep(0.001)
            waited += passing.poll() is None
            stopped.let_go()
            passing.communicate(timeout=60)
            runs += 1
            if ((folder / AGGREGATE).read_bytes(), record.read_bytes()) not in ends:
                row = claims((folder / AGGREGATE).read_bytes())
                audit = parsed(record.read_bytes())["power_valid"]
                faults.append(f"stopped before call {at + 1}: power_valid is {row} in the "
                              f"aggregate, {audit} in the audit record")
            if left := patching.temporaries(folder):
                faults.append(f"stopped before call {at + 1}: left {left}")
            at += 1
        if waited == 0:
            faults.append("the other run never had to wait")
        print(f"{waited} times of {runs} the other one waited")
        checks.add(f"a run {one} lets one {other} go by", faults, runs)


def kills_among_the_living(folder, checks, rounds):
    """Some of the runs are killed: the others lose no temporary, and no one waits for the dead."""
    make_inputs(folder)
    faults, killed, processes = [], 0, 0
    for _ in range(3 * rounds):
        running = [(i, start(folder, run_of(i, ["--require-power"]))) for i in range(RUNS)]
        victims = {i for i, process in running if i % 3 == 0 and (process.kill() or True)}
        for i, process in running:
            try:
                _, err = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                faults.append(f"run {i} waited for a minute")
                continue
            processes += 1
            killed += process.returncode == -9
            if i not in victims and process.returncode != 0:
                faults.append(f"run {i} ended with {process.returncode}: {err.decode()}")
        if parsed((folder / AGGREGATE).read_bytes()) is None:
            faults.append("the aggregate is not whole")
    run(run_of(0), folder)
    run(run_of(1), folder)  # something to change, whoever came last
    left = patching.temporaries(folder)
    if left:
        faults.append(f"left behind: {left}")
    print(f"{processes} runs, {killed} killed")
    checks.add("runs that live among runs that are killed", faults, processes)


def long_waits(folder, checks, _):
    """Who waits for a lock longer than two seconds says so, and who has it."""
    patching.synthesize(folder)
    faults = []
    for seconds, told in ((1, []), (2.7, [f"aggregate-power: waiting for {AGGREGATE}, locked by "
                                          f"process {os.getpid()}"])):
        with open(folder / AGGREGATE, "r+b") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            process = start(folder, arguments())
            time.sleep(seconds)
        _, err = process.communicate(timeout=60)
        lines = [line for line in err.decode().splitlines() if ": edges: " not in line]  # the run is short
        if process.returncode != 0 or lines != told:
            faults.append(f"after {seconds} s: status {process.returncode}, {err!r}")
        if not claims((folder / AGGREGATE).read_bytes()):
            faults.append(f"after {seconds} s: the aggregate was not patched")
    checks.add("long waits for a lock are reported", faults, 2)


def main(rounds):
    checks = patching.Checks()
    for work in (all_at_once, two_minds, two_by_two, kills_among_the_living,
                 long_waits):
        with patching.fresh_folder("concurrent") as folder:
            work(folder, checks, rounds)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3))
