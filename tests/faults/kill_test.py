#!/usr/bin/env python3
"""Runs are killed, at every call and at random instants; the next plain run mends what they left.

After each kill the aggregate is whole and one of the texts that runs one after another could give,
it claims power only beside a whole and valid audit record, and no other file changed. Between two
valid runs of different watts the aggregate may hold the old ones beside the new record for as long
as the run after it is not made: two files cannot be replaced in one step.

usage: tests/faults/kill_test.py [N]   random kills (default: 300, 30 with QUICK=1), with $AGGREGATE_POWER,
                                       $AGGREGATE_POWER_DYNAMIC and $FAULT_SHIM
"""
import itertools
import random
import subprocess
import sys
import time

import patching
from patching import arguments, contents, run

SIDECAR = "power_validation_run.json"
AGGREGATE = "agg_run.json"
# Runs that want different things of the same two files.
COMMANDS = {
    "valid": arguments(),
    "of other watts": arguments(csv="other.csv"),
    "not valid": arguments(gpus=3),
    "without telemetry": arguments(csv="nowhere.csv"),
}


class Ground:
    """A folder, and every state in which runs that were not killed can leave it."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        patching.synthesize(folder, watts=700, csv="other.csv")
        patching.synthesize(folder)
        self.inputs = {name: data for name, data in contents(folder).items() if name != AGGREGATE}
        self.outcomes = {}  # (aggregate before, command): (aggregate, audit record)
        texts = [(folder / AGGREGATE).read_bytes()]
        self.first = texts[0]
        for text in texts:  # grows meanwhile
            for name, command in COMMANDS.items():
                (folder / AGGREGATE).write_bytes(text)
                run(command, folder)
                after = self.now()
                self.outcomes[text, name] = after
                if after[0] not in texts:
                    texts.append(after[0])
        self.aggregates = set(texts)
        self.records = {None} | {record for _, record in self.outcomes.values()}

    def now(self):
        record = self.folder / SIDECAR
        return ((self.folder / AGGREGATE).read_bytes(),
                record.read_bytes() if record.exists() else None)

    def set(self, aggregate, record):
        patching.restore(self.folder, self.inputs | {AGGREGATE: aggregate}
                         | ({SIDECAR: record} if record is not None else {}))

    def faults(self):
        """What is wrong with what a killed run left."""
        aggregate, record = self.now()
        if aggregate not in self.aggregates:
            yield f"the aggregate is not one that a run writes: {aggregate[-200:]!r}"
        if record not in self.records:
            yield f"the audit record is not one that a run writes: {record[-200:]!r}"
        if patching.claims(aggregate):
            if record is None:
                yield "the aggregate claims power and there is no audit record"
            elif not patching.parsed(record)["power_valid"]:
                yield "the aggregate claims power and the audit record is not valid"
        now = contents(self.folder)
        for name, data in self.inputs.items():
            if now.get(name) != data:
                yield f"{name} was changed"

    def mend(self, name):
        """A plain run, and what is wrong behind it."""
        before = self.now()[0]
        done = run(COMMANDS[name], self.folder)
        if done.returncode != 0:
            yield f"the next run ended with {done.returncode}: {done.stderr.decode()}"
        if before in self.aggregates and self.now() != self.outcomes[before, name]:
            yield f"the next run, {name}, did not end where it should"
        if left := patching.temporaries(self.folder):
            yield f"the next run, {name}, left {left}"


def kill_at_each_call(ground, checks):
    """Every pair of runs: the one that is killed, and the state that it starts in."""
    states = [(ground.first, None)] + sorted(
        {ground.outcomes[ground.first, name] for name in COMMANDS})
    for name, command in COMMANDS.items():
        faults, kills = [], 0
        for start, state in enumerate(states):
            for at in itertools.count(1 + start % patching.size(1, 5), patching.size(1, 5)):
                ground.set(*state)
                killed = run(command, ground.folder, patching.DYNAMIC, {
                    "FAULT_ROOT": str(ground.folder), "FAULT_AT": str(at), "FAULT_KILL": "1",
                    "LD_PRELOAD": patching.SHIM})
                if killed.returncode == 0:
                    break  # there is no such call any more
                kills += 1
                found = list(ground.faults())
                found += ground.mend(random.choice(list(COMMANDS)))
                faults += [f"start {start}, call {at}: {text}" for text in found]
        checks.add(f"killed at each call: a run {name}", faults, kills)


def kill_at_random(ground, checks, count):
    ground.set(ground.first, None)
    faults, cut, with_temporaries, mended = [], 0, 0, 0
    longest_s = 0.02  # grows and shrinks until about half of the kills come in time
    for i in range(count):
        name = random.choice(list(COMMANDS))
        delay_s = random.uniform(0, longest_s)
        process = subprocess.Popen([patching.PROGRAM, *COMMANDS[name]], cwd=ground.folder,
                                   env=patching.ENVIRONMENT, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delay_s)
        process.kill()
        came_in_time = process.wait() == -9
        longest_s *= 1.05 if came_in_time else 0.97
        cut += came_in_time
        with_temporaries += bool(patching.temporaries(ground.folder))
        found = list(ground.faults())
        # Now and then several kills come before a run that ends.
        if random.random() < 0.5:
            found += ground.mend(random.choice(list(COMMANDS)))
            mended += 1
        faults += [f"kill {i}, {name} after {1000 * delay_s:.2f} ms: {text}" for text in found]
        if random.random() < 0.1:
            ground.set(ground.first, None)
    print(f"of {count} kills {cut} came in time, {with_temporaries} times a temporary lay there, "
          f"{mended} runs mended")
    if cut < count / 20:
        faults.append("hardly a kill came in time")
    checks.add("killed at random instants", faults, count)


def main(count):
    seed = patching.fresh_seed()
    random.seed(seed)
    print(f"seed {seed}")
    checks = patching.Checks()
    with patching.fresh_folder("kills") as root:
        kill_at_each_call(Ground(root / "ground"), checks)
    # On a disk, where the syncs take most of the time and most kills come between the writes.
    with patching.fresh_folder("kills", in_memory=False) as root:
        kill_at_random(Ground(root / "ground"), checks, count)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else patching.size(300, 30)))
