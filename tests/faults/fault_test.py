#!/usr/bin/env python3
"""Every file-system call of a run fails once, in several ways; then the files must be in order.

A fault library (fault_shim.c) writes down the calls of a run below one folder and makes one of them
go wrong. Each scenario is run once as it is, then once for each call and fault; with QUICK=1, for
every fifth. After each run the
aggregate is its old bytes, or one of the whole new texts; it never claims power that the audit
record does not vouch for; the record is absent, old or whole; no temporary is left; the exit status
and stderr say what became of it.

Power loss is argued from the calls written down: they are replayed on a model of a file system in
which a name is only certain once its folder was synced and bytes only once their file was, and
every state that a loss of power could leave, at any instant, must be in order too. So must those of
a run that was killed at any call, and of the run after it.

usage: tests/faults/fault_test.py   with $AGGREGATE_POWER, $AGGREGATE_POWER_DYNAMIC and $FAULT_SHIM
"""
import errno
import itertools
import os
import pathlib
import resource
import sys
from concurrent.futures import ThreadPoolExecutor

import patching
from patching import agree, arguments, claims, contents, is_whole_sidecar, parsed, run

FAULTS = {
    "EIO": {"FAULT_ERRNO": str(errno.EIO)},
    "ENOSPC": {"FAULT_ERRNO": str(errno.ENOSPC)},
    "EACCES": {"FAULT_ERRNO": str(errno.EACCES)},
    "EROFS": {"FAULT_ERRNO": str(errno.EROFS)},
    "a short write": {"FAULT_SHORT": "1"},
}
# Calls that a signal may interrupt; they are to be made again.
INTERRUPTIBLE = {"open", "read", "write", "fsync", "flock", "fchmod", "fchown"}
RENAMES = {"rename", "renameat2"}
CLEAN_MODE = 0o640  # an aggregate's mode that no default gives


class Scenario:
    """A folder's files, a run on them, and what it leaves when nothing goes wrong."""

    def __init__(self, name, folder, make, command, agg="agg_run.json",
                 sidecar="power_validation_run.json"):
        self.name = name
        self.folder = folder
        self.command = command
        self.agg = agg
        self.sidecar = sidecar
        folder.mkdir(parents=True)
        make(folder)
        self.before = contents(folder)
        done = run(command, folder)
        self.after = contents(folder)
        self.clean = done
        # What the aggregate is when the power cannot be had.
        self.reset()
        gone = ["nowhere.csv" if word == "gpu_metrics.csv" else word for word in command]
        run(gone, folder)
        self.without_power = (folder / agg).read_bytes()

    def reset(self):
        patching.restore(self.folder, self.before)
        os.chmod(self.folder / self.agg, CLEAN_MODE)

    def run_with(self, environment, log=None, **options):
        if log is not None:
            log.write_bytes(b"")
            environment = environment | {"FAULT_LOG": str(log)}
        environment = environment | {"FAULT_ROOT": str(self.folder), "LD_PRELOAD": patching.SHIM}
        return run(self.command, self.folder, patching.DYNAMIC, environment, **options)

    def calls(self, log):
        self.reset()
        self.run_with({}, log)
        return read_log(log)

    def faults_of(self, done, harmless_expected=False):
        """What is wrong with the files and with what the run said of them."""
        faults = []
        now = contents(self.folder)
        old, new = self.before[self.agg], self.after[self.agg]
        aggregate = now.get(self.agg, b"")
        old_audit, new_audit = self.before.get(self.sidecar), self.after.get(self.sidecar)
        audit = now.get(self.sidecar)
        stderr = done.stderr.decode()
        required = "--require-power" in self.command
        # Hashing an input comes after it was measured.
        unhashed = "its hash is not in the audit record" in stderr and audit is not None
        fine = aggregate == new and (audit == new_audit or unhashed and without_inputs(audit) == without_inputs(new_audit))

        for name, data in self.before.items():
            if name not in (self.agg, self.sidecar) and now.get(name) != data:
                faults.append(f"{name} was changed")
        for name in now.keys() - self.before.keys() - {self.sidecar}:
            faults.append(f"{name} was left behind")
        if aggregate not in (old, new, self.without_power):
            faults.append(f"the aggregate is neither old nor new: {aggregate[-200:]!r}")
        if (self.folder / self.agg).stat().st_mode & 0o7777 != CLEAN_MODE:
            faults.append("the aggregate's mode was not kept")
        if audit is not None and audit != old_audit and not is_whole_sidecar(audit):
            faults.append(f"the audit record is not whole: {audit[-200:]!r}")

        if new_audit is not None:
            faults += self.contradictions(aggregate, audit, stderr)
        if harmless_expected and not fine:
            faults.append("the fault should have done nothing")
        if not fine and "power not valid: " not in stderr:
            faults.append(f"stderr does not say what happened: {stderr!r}")
        was_fine = self.before == self.after
        if fine and not was_fine and done.returncode > self.clean.returncode \
                and "sync" not in stderr:
            faults.append("all is as it should be, and yet the run failed")
        if done.returncode not in ((0, 1) if required else (0,)):
            faults.append(f"exit status {done.returncode}: {stderr}")
        if required and done.returncode == 0:
            vouched = new_audit is None or audit is not None and agree(aggregate, audit)
            if aggregate != new or not vouched:
                faults.append("exit status 0 without valid power")
            if b"avg_power_w=" not in done.stdout:
                faults.append(f"no result on stdout: {done.stdout!r}")
        return faults

    def contradictions(self, aggregate, audit, stderr):
        old, old_audit = self.before[self.agg], self.before.get(self.sidecar)
        said = parsed(audit) if audit is not None else None
        explained = said is not None and bool(
            {"aggregate_result_unwritable", "aggregate_result_missing"} & set(said["reasons"]))
        if claims(aggregate):
            if said is None and (aggregate != old or old_audit is not None):
                yield "the aggregate claims power and there is no audit record"
            elif aggregate != old and not agree(aggregate, audit):
                yield f"a new aggregate claims power and the audit record says {said['reasons']}"
            elif said is not None and not agree(aggregate, audit) and not explained:
                yield "an old claim stands beside an audit record that does not explain it"
        elif said is not None and said["power_valid"] and "validation_result_unwritable" not in stderr:
            yield "the audit record is valid, the aggregate is not, and nothing was said"
        unwritable = "aggregate_result_unwritable" in stderr
        if unwritable and "validation_result_unwritable" not in stderr and not explained:
            yield "the aggregate could not be written and the audit record does not say so"
        if unwritable and audit == old_audit and "validation_result_unwritable" not in stderr:
            yield "the aggregate could not be written and the audit record is the old one"


# ---- The scenarios

def without_inputs(audit):
    record = parsed(audit)
    record["computed_from"].pop("inputs", None)
    return record


def fresh(folder):
    patching.synthesize(folder)


def after(*commands):
    """The files once these were run."""
    def make(folder):
        fresh(folder)
        for command in commands:
            run(command, folder)
    return make


def with_other_run(gpus=2):
    """The aggregate and the audit record are those of other watts."""
    def make(folder):
        patching.synthesize(folder, watts=700)
        run(arguments(gpus=gpus), folder)
        aggregate = (folder / "agg_run.json").read_bytes()
        patching.synthesize(folder)
        (folder / "agg_run.json").write_bytes(aggregate)
    return make


def apart(folder):
    """The inputs in one folder; the aggregate in another, behind a link; records in a third."""
    fresh(folder)
    (folder / "aggregates" / "real").mkdir(parents=True)
    (folder / "agg_run.json").rename(folder / "aggregates" / "real" / "agg.json")
    (folder / "aggregates" / "agg.json").symlink_to("real/agg.json")


def with_stale_temporaries(folder):
    """None of them is the sort of name that a run on these files would look for alone."""
    after(VALID)(folder)
    (folder / ".other.json.abcdefgh.aggregate-power.tmp").write_bytes(b"{")


VALID = arguments()
REQUIRED = arguments(more=["--require-power"])
NOT_VALID = arguments(gpus=3)
NOT_VALID_REQUIRED = arguments(gpus=3, more=["--require-power"])
AUDITED_APART = ["--validation-result", "audits/deep/power_validation_run.json"]


def scenarios(root):
    real = "aggregates/real/agg.json"
    deep = {"agg": real, "sidecar": "audits/deep/power_validation_run.json"}
    schema_1 = ["--schema-version", "1"]
    for name, make, command, places in [
        ("a first valid run", fresh, REQUIRED, {}),
        ("a valid run after a valid one of other watts", with_other_run(), REQUIRED, {}),
        ("a valid run after an invalid one", after(NOT_VALID), VALID, {}),
        ("a valid run without its record", lambda folder: (
            with_other_run()(folder), (folder / "power_validation_run.json").unlink()), VALID, {}),
        ("a first invalid run", fresh, NOT_VALID, {}),
        ("an invalid run after a valid one", after(VALID), NOT_VALID, {}),
        ("an invalid run after a valid one, required", after(VALID), NOT_VALID_REQUIRED, {}),
        ("a valid run again", after(VALID), REQUIRED, {}),
        ("an invalid run again", after(NOT_VALID), NOT_VALID, {}),
        ("a first valid run, files apart", apart,
         arguments(agg="aggregates/agg.json", more=AUDITED_APART), deep),
        ("an invalid run, files apart", apart,
         arguments(agg="aggregates/agg.json", gpus=3, more=AUDITED_APART), deep),
        ("schema 1", fresh, VALID + schema_1, {"sidecar": "none"}),
        ("schema 1 with a record", fresh, REQUIRED + schema_1 + AUDITED_APART,
         {"sidecar": AUDITED_APART[1]}),
    ]:
        yield Scenario(name, root / name.replace(" ", "-").replace(",", ""), make, command, **places)


# ---- One fault in each call

def read_log(log):
    """(name, path, rest) of each call."""
    lines = [line.split(" ", 3) for line in log.read_text().splitlines()]
    return [(line[1], line[2], line[3] if len(line) > 3 else "") for line in lines]


def each_call_fails(scenario, log, checks):
    calls = scenario.calls(log)
    faults = scenario.faults_of(scenario.clean)
    if scenario.after != contents(scenario.folder):
        faults.append("the fault library changed the outcome")
    checks.add(f"{scenario.name}: as it is", faults)
    for i, (fault, environment) in enumerate(FAULTS.items()):
        faults, runs = [], 0
        eligible = [(at, call) for at, call in enumerate(calls, 1)
                    if fault != "a short write" or call[0] == "write"]
        for at, (name, path, rest) in patching.some_of(eligible, i):
            scenario.reset()
            done = scenario.run_with(environment | {"FAULT_AT": str(at)})
            runs += 1
            where = f"call {at}, {name} {pathlib.Path(path).name} {rest}: "
            if name == "unlink":  # what cannot be removed stays, for a later run to remove
                for left in patching.temporaries(scenario.folder):
                    (scenario.folder / left).unlink()
            faults += [where + text
                       for text in scenario.faults_of(done, fault == "a short write")]
        checks.add(f"{scenario.name}: {fault}", faults, runs)
    faults, runs = [], 0
    interruptible = [(at, name, path) for at, (name, path, _) in enumerate(calls, 1) if name in INTERRUPTIBLE]
    for at, name, path in patching.some_of(interruptible):
        scenario.reset()
        done = scenario.run_with({"FAULT_AT": str(at), "FAULT_ERRNO": str(errno.EINTR)})
        runs += 1
        faults += [f"call {at}, {name} {pathlib.Path(path).name}: {text}"
                   for text in scenario.faults_of(done, True)]
    checks.add(f"{scenario.name}: EINTR", faults, runs)


# ---- Faults that stay

def limited(which, limit):
    return lambda: resource.setrlimit(which, (limit, limit))


def each_limit(scenario, checks):
    """No file may grow beyond a size; no more than so many files may be open."""
    sizes = sorted({size + step for size in map(len, scenario.after.values()) for step in (-1, 0)}
                   | {0, 1, 100})
    faults, runs = [], 0
    for which, word, limits in [(resource.RLIMIT_FSIZE, "bytes", sizes),
                                (resource.RLIMIT_NOFILE, "files", range(3, 12))]:
        for limit in patching.some_of(limits):
            scenario.reset()
            # Python's own children would not ignore SIGXFSZ.
            done = run(scenario.command, scenario.folder, preexec_fn=limited(which, limit),
                       restore_signals=False)
            runs += 1
            faults += [f"at most {limit} {word}: {text}" for text in scenario.faults_of(done)]
    checks.add(f"{scenario.name}: limits", faults, runs)


# ---- Loss of power

class Disk:
    """What may be on the disk: names and bytes that are certain, and those that may be lost."""

    def __init__(self, files):
        self.names = dict(files)  # path: (what the bytes are called, whether they are certain)
        self.seen = dict(files)   # the same, as the living system sees it
        self.pending = []         # (folder, path, file or None), in order

    def set_name(self, path, file):
        if file is None:
            self.seen.pop(path, None)
        else:
            self.seen[path] = file
        self.pending.append((os.path.dirname(path), path, file))

    def apply(self, name, path, rest):
        if name == "open" and "O_CREAT" in rest and path not in self.seen:
            self.set_name(path, [path, False])
        elif name == "write":
            self.seen[path][1] = False
        elif name == "rename":
            target = rest.split()[0]
            file = self.seen[path]
            self.set_name(path, None)
            self.set_name(target, file)
        elif name == "renameat2":  # the two trade names
            target = rest.split()[0]
            file = self.seen[path]
            self.set_name(path, self.seen[target])
            self.set_name(target, file)
        elif name == "unlink":
            self.set_name(path, None)
        elif name == "mkdir":
            self.set_name(path, ["folder", True])
        elif name == "fsync":
            if path in self.seen and self.seen[path][0] != "folder":
                self.seen[path][1] = True
            else:
                for change in [c for c in self.pending if c[0] == path]:
                    self.make_certain(change)
                self.pending = [c for c in self.pending if c[0] != path]

    def make_certain(self, change):
        _, path, file = change
        if file is None:
            self.names.pop(path, None)
        else:
            self.names[path] = file

    def states(self):
        """All that a loss of power could leave, now: any of the changes may have got through."""
        for kept in itertools.product([False, True], repeat=len(self.pending)):
            names = dict(self.names)
            for change, is_kept in zip(self.pending, kept):
                _, path, file = change
                if is_kept and file is not None:
                    names[path] = file
                elif is_kept:
                    names.pop(path, None)
            yield names

    def file_at(self, names, path):
        """The name and certainty of what is at the path; None when it, or a folder, is not."""
        for folder in pathlib.PurePath(path).parents:
            if any(str(folder) == p and f is not None for _, p, f in self.pending) \
                    and str(folder) not in names:
                return None
        return names.get(path)


def losses(scenario, calls):
    """What a loss of power at any instant of the calls would break."""
    agg, sidecar = (str(scenario.folder / name) for name in (scenario.agg, scenario.sidecar))
    old_claims = claims(scenario.before[scenario.agg])
    new_claims = claims(scenario.after[scenario.agg])
    old_audit = parsed(scenario.before.get(scenario.sidecar, b""))
    new_audit = parsed(scenario.after.get(scenario.sidecar, b""))
    changes_audit = old_audit != new_audit
    disk = Disk({str(scenario.folder / name): [None, True] for name in scenario.before})
    for at, call in enumerate(calls, 1):
        disk.apply(*call)
        for names in disk.states():
            row, audit = disk.file_at(names, agg), disk.file_at(names, sidecar)
            where = f"after call {at} ({call[0]} {pathlib.Path(call[1]).name})"
            if row is None:
                yield f"{where} the aggregate could be gone"
                continue
            if not row[1]:
                yield f"{where} the aggregate could be without its bytes"
            if audit is not None and not audit[1]:
                yield f"{where} the audit record could be without its bytes"
            row_is_new, audit_is_new = row[0] is not None, audit is not None and audit[0] is not None
            if row_is_new and new_claims and changes_audit and not audit_is_new:
                yield f"{where} the aggregate could claim power without its audit record"
            if audit_is_new and not new_claims and old_claims and not row_is_new:
                yield f"{where} an old claim could stand beside an invalid audit record"
    if disk.file_at(disk.names, agg) != disk.seen.get(agg) or \
            disk.file_at(disk.names, sidecar) != disk.seen.get(sidecar):
        yield "at the end a loss of power could take the result back"


def order_of(scenario, calls):
    """The syncs and renames of a run, in words."""
    words = {str(scenario.folder / scenario.agg): "aggregate",
             str(scenario.folder / scenario.sidecar): "record"}
    temporaries = {path: words[rest.split()[0]] for name, path, rest in calls if name in RENAMES}
    made = {os.path.dirname(path) for name, path, _ in calls if name == "mkdir"}
    order, renamed = [], None
    for name, path, rest in calls:
        if name in RENAMES:
            renamed = rest.split()[0]
            order.append(f"rename {words[renamed]}")
        elif name == "fsync" and path in temporaries:
            order.append(f"fsync {temporaries[path]}")
        elif name == "fsync" and renamed is not None and path == os.path.dirname(renamed):
            order.append(f"fsync folder of {words[renamed]}")
        elif name == "fsync" and path not in made:
            order.append(f"fsync {path}")
    return order


def check_order(scenario, log, checks, first, second):
    """Both temporaries on disk before either is renamed, and the folder after each."""
    order = order_of(scenario, scenario.calls(log))
    faults = []
    if sorted(order[:2]) != ["fsync aggregate", "fsync record"]:
        faults.append(f"both temporaries are to be synced first: {order}")
    rest = [word for which in (first, second)
            for word in (f"rename {which}", f"fsync folder of {which}")]
    if order[2:] != rest:
        faults.append(f"expected {rest} behind that, got {order[2:]}")
    checks.add(f"{scenario.name}: the {first} is put in place first", faults)


def each_loss_of_power(scenario, log, checks):
    calls = scenario.calls(log)
    checks.add(f"{scenario.name}: power loss", list(losses(scenario, calls)))


def each_kill_then_loss_of_power(scenario, log, checks):
    """A run dies before a call of its; the next one finds what it left and ends the work."""
    faults, runs = [], 0
    count = len(scenario.calls(log))
    for at in patching.some_of(range(1, count + 1)):
        scenario.reset()
        killed = scenario.run_with({"FAULT_AT": str(at), "FAULT_KILL": "1"}, log)
        runs += 1
        if killed.returncode != -9:
            faults.append(f"the kill at call {at} did not come: {killed.returncode}")
        calls = read_log(log)[:-1]
        second = scenario.run_with({}, log)
        text = f"killed at call {at} of the first run: "
        now = contents(scenario.folder)
        if now != scenario.after:
            left = sorted(name for name in now.keys() | scenario.after.keys()
                          if now.get(name) != scenario.after.get(name))
            faults.append(f"{text}the second did not mend {left}")
        if second.returncode != scenario.clean.returncode:
            faults.append(f"{text}the second ended with {second.returncode}")
        faults += [text + loss for loss in losses(scenario, calls + read_log(log))][:1]
    checks.add(f"{scenario.name}: killed at each call, then power loss", faults, runs)


# ---- What else may go wrong

def input_is_never_overwritten(root, log, checks):
    """The audit record is asked for where an input is; also when looking for that goes wrong."""
    command = arguments(more=["--validation-result", "run.json"])
    scenario = Scenario("an input as record", root / "input", fresh, command, sidecar="none")
    calls = scenario.calls(log)
    faults = []
    for at, (name, path, _) in enumerate(calls, 1):
        scenario.reset()
        scenario.run_with({"FAULT_AT": str(at), "FAULT_ERRNO": str(errno.EIO)})
        if (scenario.folder / "run.json").read_bytes() != scenario.before["run.json"]:
            faults.append(f"call {at}, {name} {pathlib.Path(path).name}: run.json was overwritten")
    checks.add("an input named as audit record is never overwritten", faults, len(calls))


def stale_temporaries_go(root, checks):
    for name, command, make in [
        ("a run that changes files", NOT_VALID, after(VALID)),
        ("a run that changes nothing", VALID, after(VALID)),
    ]:
        folder = root / name.replace(" ", "-")
        folder.mkdir()
        make(folder)
        stale = folder / ".other.json.abcdefgh.aggregate-power.tmp"
        stale.write_bytes(b"{")
        run(command, folder)
        checks.add(f"{name} removes stale temporaries",
                   [f"{stale.name} is still there"] if stale.exists() else [])


def main():
    checks = patching.Checks()
    with patching.fresh_folder("faults") as root:
        everything = list(scenarios(root))

        def work(scenario):
            log = root / (scenario.folder.name + ".log")
            each_call_fails(scenario, log, checks)
            each_limit(scenario, checks)
            if scenario.sidecar != "none" and "schema 1" not in scenario.name:
                each_loss_of_power(scenario, log, checks)
                each_kill_then_loss_of_power(scenario, log, checks)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(work, everything))
        for scenario in everything:
            if scenario.name.startswith("a first valid run"):
                check_order(scenario, root / "log", checks, "record", "aggregate")
            elif scenario.name in ("a first invalid run", "an invalid run after a valid one",
                                   "an invalid run, files apart"):
                check_order(scenario, root / "log", checks, "aggregate", "record")
        input_is_never_overwritten(root, root / "log", checks)
        stale_temporaries_go(root, checks)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
