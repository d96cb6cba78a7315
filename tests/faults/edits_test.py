#!/usr/bin/env python3
"""Someone who takes no lock edits the aggregate just before each file-system call of a run.

The editor adds a member, by a file of its own that takes the aggregate's place or by writing into
it. Whenever that is, the member is there in the end, with every other one. A single run patches the
aggregate as it is then; a backfill does so too, or leaves it and its audit record as they are, with
input_changed. The record never vouches for what the aggregate does not say.

usage: tests/faults/edits_test.py   with $AGGREGATE_POWER, $AGGREGATE_POWER_DYNAMIC and $FAULT_SHIM
"""
import errno
import json
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

import patching
from patching import agree, arguments, claims, parsed, run

AGGREGATE = "agg_run.json"
RECORD = "power_validation_run.json"


def added(member):
    return f"""sed '1s/{{/{{"{member}": true, /'"""


def by_rename(path, member="edited"):
    return f"{added(member)} '{path}' > '{path}.edited' && mv '{path}.edited' '{path}'"


def in_place(path, member="edited"):
    return f"""text=$({added(member)} '{path}') && printf %s "$text" > '{path}'"""


EDITORS = {"by a rename": by_rename, "in place": in_place}


def fresh(folder):
    patching.synthesize(folder)


def after(command, watts=500):
    """The files once this was run; then the recording is of 500 W."""
    def make(folder):
        patching.synthesize(folder, watts=watts)
        run(command, folder)
        aggregate = (folder / AGGREGATE).read_bytes()
        patching.synthesize(folder)
        (folder / AGGREGATE).write_bytes(aggregate)
    return make


# The editor is started from within, which a sandbox prevents.
BACKFILL = ["backfill", ".", "--jobs", "1", "--timezone", "UTC", "--report", "../report.jsonl", "--no-sandbox"]
BACKFILL_NOT_VALID = [*BACKFILL, "--expected-num-gpus", "3"]
SCENARIOS = {
    "a first valid run": (fresh, arguments()),
    "a valid run after one of other watts": (after(arguments(), watts=700), arguments()),
    "a valid run again": (after(arguments()), arguments()),
    "an invalid run after a valid one": (after(arguments()), arguments(gpus=3)),
    "schema 1": (fresh, arguments(more=["--schema-version", "1"])),
    "a first backfill": (fresh, BACKFILL),
    "a backfill after one of other watts": (after(BACKFILL, watts=700), BACKFILL),
    "a backfill that finds nothing to do": (after(BACKFILL), [*BACKFILL, "--force"]),
    "a backfill that takes a claim back": (after(BACKFILL), BACKFILL_NOT_VALID),
}


class Ground:
    """A folder of files, and a run on them that can be repeated."""

    def __init__(self, root, name):
        make, self.command = SCENARIOS[name]
        self.is_backfill = "backfill" in self.command
        self.root = root / name.replace(" ", "-")
        self.folder = self.root / "files"
        self.folder.mkdir(parents=True)
        make(self.folder)
        self.kept = self.root / "kept"
        shutil.copytree(self.folder, self.kept)
        self.before = patching.contents(self.folder)
        self.report = self.root / "report.jsonl"
        self.run()
        self.wanted = parsed(self.read(AGGREGATE))

    def run(self, **environment):
        """From the same files each time."""
        shutil.rmtree(self.folder)
        shutil.copytree(self.kept, self.folder)  # with their times
        self.report.unlink(missing_ok=True)
        environment |= {"FAULT_ROOT": str(self.folder), "LD_PRELOAD": patching.SHIM}
        return run(self.command, self.folder, patching.DYNAMIC, environment)

    def calls(self):
        log = self.root / "log"
        log.unlink(missing_ok=True)
        self.run(FAULT_LOG=str(log))
        return [line.split()[1] for line in log.read_text().splitlines()]

    def read(self, name):
        path = self.folder / name
        return path.read_bytes() if path.exists() else None

    def is_left_alone(self):
        """Whether a backfill says that the aggregate was changed, and touched neither file."""
        line = json.loads(self.report.read_text())
        if line["outcome"] != "failed" or "input_changed" not in line["reasons"]:
            return False
        record = self.read(RECORD)
        is_as_old = record is None or os.stat(self.folder / RECORD).st_mtime_ns == os.stat(
            self.kept / RECORD).st_mtime_ns
        row = parsed(self.read(AGGREGATE))
        row.pop("edited", None)
        return is_as_old and record == self.before.get(RECORD) and row == parsed(
            self.before[AGGREGATE])

    def faults(self, done):
        if done.returncode not in (0, 1) or (done.returncode == 1 and not self.is_backfill):
            yield f"exit status {done.returncode}: {done.stderr.decode()}"
        row, record = parsed(self.read(AGGREGATE)), parsed(self.read(RECORD) or b"")
        if row is None or not row.get("edited"):
            yield f"the edit is lost: {self.read(AGGREGATE)!r}"
            return
        if left := patching.temporaries(self.folder):
            yield f"left behind: {left}"
        if self.is_backfill and self.is_left_alone():
            return
        if {key: value for key, value in row.items() if key != "edited"} != self.wanted:
            yield f"expected {self.wanted}, got {row}: {done.stderr.decode()}"
        if record is not None and record["power_valid"] != claims(self.read(AGGREGATE)):
            yield f"the record says {record['reasons']}, the aggregate {row}"
        if record is not None and record["power_valid"] and not agree(
                self.read(AGGREGATE), self.read(RECORD)):
            yield "the record vouches for other numbers"


def edits_before_each_call(root, name, checks):
    ground = Ground(root, name)
    for i, (editor, command) in enumerate(EDITORS.items()):
        faults, left_alone = [], 0
        calls = ground.calls()
        chosen = patching.some_of(enumerate(calls, 1), i)
        for at, call in chosen:
            done = ground.run(FAULT_AT=str(at), FAULT_RUN=command(ground.folder / AGGREGATE))
            faults += [f"before call {at}, {call}: {fault}" for fault in ground.faults(done)]
            left_alone += ground.is_backfill and ground.is_left_alone()
        if "renameat2" not in calls and ground.wanted != parsed(ground.before[AGGREGATE]):
            faults.append("the aggregate was not replaced")
        if ground.is_backfill and left_alone == 0:
            faults.append("no edit kept the backfill from its work")
        checks.add(f"{name}: edits {editor}", faults, len(chosen))


def edits_of_some_calls(ground, edit, which):
    """A run before whose calls of that name, by their number, member editN is added."""
    (ground.root / "count").unlink(missing_ok=True)
    edits = "; ".join(f"{i}) {edit(ground.folder / AGGREGATE, f'edit{i}')} ;" for i in which)
    return ground.run(FAULT_CALL="renameat2", FAULT_RUN=f"""
        cd {ground.root}; echo >> count; case $(wc -l < count) in {edits}; esac""")


def edits_again_and_again(root, checks):
    """Every attempt is in vain: the run gives up. Ours is put in place at odd calls, and taken back
    at even ones."""
    for editor, edit in EDITORS.items():
        for name in ("a first valid run", "a valid run after one of other watts"):
            ground = Ground(root / editor.replace(" ", "-"), name)
            which = list(range(1, 21, 2))
            done = edits_of_some_calls(ground, edit, which)
            row, record = parsed(ground.read(AGGREGATE)), parsed(ground.read(RECORD))
            wanted = parsed(ground.before[AGGREGATE]) | {f"edit{i}": True for i in which}
            faults = [] if row == wanted else [f"expected {wanted}, got {row}"]
            if record["reasons"] != ["input_changed"] or record["power_valid"]:
                faults.append(f"the record says {record}")
            if b"input_changed" not in done.stderr:
                faults.append(f"stderr: {done.stderr!r}")
            checks.add(f"{name}: edits {editor}, again and again", faults)


def edits_of_what_is_taken_back(root, checks):
    """The newest of two edits within one attempt stays."""
    for editor, edit in EDITORS.items():
        ground = Ground(root / editor.replace(" ", "-"), "a first valid run")
        edits_of_some_calls(ground, edit, [1, 2])
        row = parsed(ground.read(AGGREGATE))
        faults = [] if row == ground.wanted | {"edit2": True} else [f"{row}"]
        if not agree(ground.read(AGGREGATE), ground.read(RECORD)):
            faults.append("the record vouches for other numbers")
        checks.add(f"an edit {editor} of what is taken back", faults)


def without_trading_names(root, checks):
    """On file systems where names cannot be traded, all else is as it is elsewhere."""
    for name in SCENARIOS:
        ground = Ground(root, name)
        wanted = patching.contents(ground.folder)
        faults = []
        for number in (errno.EINVAL, errno.ENOSYS, errno.EPERM):
            done = ground.run(FAULT_CALL="renameat2", FAULT_ERRNO=str(number))
            if done.returncode != 0 or patching.contents(ground.folder) != wanted:
                faults.append(f"{number}: {done.stderr.decode()} {patching.contents(ground.folder)}")
        checks.add(f"{name}: where names cannot be traded", faults)


def main():
    checks = patching.Checks()
    with patching.fresh_folder("edits") as root, ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda name: edits_before_each_call(root, name, checks), SCENARIOS))
        for work in (edits_again_and_again, edits_of_what_is_taken_back, without_trading_names):
            work(root / work.__name__, checks)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
