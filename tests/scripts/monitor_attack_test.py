#!/usr/bin/env python3
"""monitor.sh in a folder into which others can write, under every shell that is installed.

Others put links, pipes and files of theirs where the recorder writes, and write state files: what is
outside of the folder must stay as it is, no process that the recorder did not start may end, nothing in
a state file may be run, reach a vendor tool or the context file, and no call may hang. What the caller
does, such as a CSV that is a link of the caller's, must go on working.

usage: tests/scripts/monitor_attack_test.py [SCENARIO...]
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from monitor_place import Place, run_scenarios

OTHER = 12345  # a user; only root can make files for one
IS_ROOT = os.geteuid() == 0
PRECIOUS = "precious\n"


def processes_began(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[19]


class Yard(Place):
    """A place with precious files outside of it, and the words that the vendor tool was called with."""

    def __init__(self, work, shell, scenario):
        super().__init__(work, shell, scenario)
        self.outside = work / "outside"
        self.outside.mkdir()
        self.state = self.dir / "gpu_metrics_monitor.pid"
        self.calls = work / "calls"
        tool = self.bin / "nvidia-smi"
        stand_in = os.path.realpath(tool)
        tool.unlink()
        self.script("nvidia-smi", f'#!/bin/sh\necho "$*" >>{self.calls}\nexec sh {stand_in} "$@"\n', self.bin)

    def precious(self, name):
        path = self.outside / name
        path.write_text(PRECIOUS)
        return path

    def is_untouched(self, what):
        for path in self.outside.iterdir():
            self.same(f"{what}: {path.name}", PRECIOUS, path.read_text())

    def begin(self):
        done = self.call("start", "--interval", "0.2")
        self.same("start", (0, ""), (done.returncode, done.err))

    def end(self):
        done = self.call("stop")
        self.same("stop", (0, ""), (done.returncode, done.err))
        self.is_over()

    def planted(self, **changes):
        """A state file as start writes it, of a process that the recorder did not start."""
        victim = subprocess.Popen(["sleep", "60"], start_new_session=True)
        fields = {"output": "gpu_metrics.csv", "pid": victim.pid, "since": processes_began(victim.pid), "host": os.uname().nodename,
                  "interval": "1", "tool": "nvidia-smi", "gpus": "", "zone": "+00:00", "clock_pairs": ""} | changes
        self.state.write_text("".join(f"{key} {value}\n" for key, value in fields.items()))
        self.state.chmod(0o600)
        if not self.csv.exists():
            self.csv.write_text("timestamp, index, power.draw [W]\n")
        return victim

    def survives(self, what, victim):
        self.same(f"{what}: a process of others lives on", None, victim.poll())
        victim.kill()
        victim.wait()

    def refuses(self, what, command="stop"):
        before = os.lstat(self.state)
        done = self.call(command)
        self.check(f"{what}: {command} refuses it", done.returncode == 1 and "'gpu_metrics_monitor.pid'" in done.err
                   and done.err.count("\n") == 1, done.returncode, done.err)
        self.same(f"{what}: it stays", before.st_ino, os.lstat(self.state).st_ino)
        return done.err


OUTPUTS = ("gpu_metrics_monitor.log", "gpu_metrics_monitor.tmp", "gpu_metrics_monitor.tmp.raw", "gpu_metrics_context.json",
           "gpu_metrics_identity.csv", "gpu_metrics_identity.json", "gpu_metrics_energy_start.csv", "gpu_metrics_energy_end.csv")


def links_where_it_writes(yard):
    for tool, interval in (("nvidia-smi", "0.2"), ("amd-smi", "1"), ("rocm-smi", "0.2")):
        if tool != "nvidia-smi":
            yard.lacks("nvidia-smi" if tool == "amd-smi" else "amd-smi")
            yard.has(tool)
        for name in OUTPUTS:
            path = yard.dir / name
            if path.is_symlink() or path.exists():
                path.unlink()
            path.symlink_to(yard.precious(f"{tool} {name}"))
        done = yard.call("start", "--interval", interval)
        yard.same(f"{tool}: start", (0, ""), (done.returncode, done.err))
        yard.is_untouched("start")
        for name in ("gpu_metrics_identity.csv", "gpu_metrics_energy_end.csv", "gpu_metrics_context.json"):
            path = yard.dir / name
            if path.exists():
                path.unlink()
            path.symlink_to(yard.precious(f"{tool} {name} at the stop"))
        yard.same(f"{tool}: stop", 0, yard.call("stop").returncode)
        yard.is_untouched("stop")
        yard.same(f"{tool}: the context is a file", False, (yard.dir / "gpu_metrics_context.json").is_symlink())
        for path in yard.dir.iterdir():
            path.unlink()


def names_with_a_number(yard):
    """The number of a process is easy to guess."""
    first = os.getpid()
    newest = int(pathlib.Path("/proc/loadavg").read_text().split()[-1])
    for number in [*range(newest, newest + 1500), first]:
        for name in (f"gpu_metrics_context.json.{number}", f"gpu_metrics_monitor.new.{number}", f"gpu_metrics_monitor.pid.{number}"):
            (yard.dir / name).symlink_to(yard.outside / "target")
    yard.precious("target")
    yard.begin()
    yard.call("stop")
    yard.is_untouched("names with a number")
    yard.same("it recorded", True, yard.csv.read_text().count("\n") > 8)


def links_to_nothing(yard):
    for name in OUTPUTS:
        (yard.dir / name).symlink_to(yard.outside / f"new {name}")
    yard.begin()
    yard.call("stop")
    yard.same("files outside", [], os.listdir(yard.outside))


def csv_of_the_callers_own(yard):
    """A link to another disk is the caller's to make."""
    target = yard.outside.parent / "on another disk.csv"
    target.write_text("an older recording\n" * 100)
    yard.csv.symlink_to(target)
    yard.begin()
    yard.end()
    yard.same("it is still a link", True, yard.csv.is_symlink())
    yard.check("the recording", target.read_text().startswith("timestamp, index") and target.read_text().count("\n") >= 17,
               target.read_text()[:200])
    target.unlink()
    done = yard.run("true")
    yard.same("to a file that is not yet there", (0, True), (done.returncode, target.exists()))
    yard.csv.unlink()
    yard.csv.write_text("an older recording\n")
    yard.run("true")
    yard.check("a file", yard.csv.read_text().startswith("timestamp, index"))


def csv_of_others(yard):
    if not IS_ROOT:
        return
    yard.csv.symlink_to(yard.precious("target"))
    os.lchown(yard.csv, OTHER, OTHER)
    done = yard.call("start")
    yard.same("start", (1, "monitor.sh: error: 'gpu_metrics.csv' is a link that somebody else made\n"), (done.returncode, done.err))
    yard.is_untouched("start")
    yard.is_over()
    done = yard.run("sh", "-c", "echo ran; exit 3")
    yard.same("run: the command runs", (3, "ran\n"), (done.returncode, done.out))
    yard.is_untouched("run")
    yard.csv.unlink()
    yard.csv.write_text("theirs\n")
    os.chown(yard.csv, OTHER, OTHER)
    yard.begin()
    yard.same("a file of theirs is replaced", os.geteuid(), yard.csv.stat().st_uid)
    yard.csv.unlink()
    yard.csv.symlink_to(yard.outside / "target")
    os.lchown(yard.csv, OTHER, OTHER)
    done = yard.call("stop")
    yard.same("stop", (1, True), (done.returncode, "'gpu_metrics.csv' belongs to somebody else" in done.err))
    yard.is_untouched("stop")
    yard.is_over()


def csv_that_is_no_file(yard):
    os.mkfifo(yard.csv)
    done = yard.call("start")
    yard.same("a pipe", (1, "monitor.sh: error: 'gpu_metrics.csv' is not a regular file\n"), (done.returncode, done.err))
    yard.csv.unlink()


def secrets_are_not_shown(yard):
    """What the tool said is read from the CSV and the log."""
    secret = yard.outside.parent / "secret"
    secret.write_text("password\n" * 3)
    for name in ("gpu_metrics_monitor.log", "gpu_metrics.csv"):
        done = yard.call("start", "--interval", "0.2", mode="dies")
        time.sleep(1)
        (yard.dir / name).unlink()
        (yard.dir / name).symlink_to(secret)
        if IS_ROOT:
            os.lchown(yard.dir / name, OTHER, OTHER)
        elif name.endswith("csv"):
            continue
        done = yard.call("stop")
        yard.check(f"{name}: nothing of it is shown", "password" not in done.err + done.out, done.err)
        if (yard.dir / name).is_symlink():
            (yard.dir / name).unlink()
    done = yard.call("start", mode="fails")
    yard.script("nvidia-smi", "#!/bin/sh\nprintf 'No \\033[2Jdevices\\r\\n::error::x \\302\\2332J\\n'\nexit 6\n", yard.bin)
    done = yard.call("start")
    yard.check("what a tool says has no control characters", done.err.isascii() and done.err.count("\n") == 1
               and all(c.isprintable() for c in done.err[:-1]), done.err)


def state_that_is_no_file(yard):
    victim = yard.planted()
    text = yard.state.read_text()
    for what in ("pipe", "link", "link to nothing", "folder", "second name", "written by the group", "written by all", "long", "theirs"):
        yard.state.unlink()
        if what == "pipe":
            os.mkfifo(yard.state)
        elif what == "link":
            target = yard.outside.parent / "state"
            target.write_text(text)
            yard.state.symlink_to(target)
        elif what == "link to nothing":
            yard.state.symlink_to(yard.outside / "nothing")
        elif what == "folder":
            yard.state.mkdir()
        elif what == "second name":
            yard.state.write_text(text)
            os.link(yard.state, yard.outside.parent / "another name")
        elif what == "long":
            yard.state.write_text(text)
            os.truncate(yard.state, 1 << 40)
        elif what == "theirs":
            yard.state.write_text(text)
            if not IS_ROOT:
                continue
            os.chown(yard.state, OTHER, OTHER)
        else:
            yard.state.write_text(text)
            yard.state.chmod(0o664 if "group" in what else 0o646)
        for command in ("stop", "start"):
            yard.refuses(what, command)
        done = yard.run("sh", "-c", "echo ran; exit 5")
        yard.same(f"{what}: run: the command runs", (5, "ran\n"), (done.returncode, done.out))
        if what == "folder":
            yard.state.rmdir()
            yard.state.touch()
    yard.same("nothing was made", [], os.listdir(yard.outside))
    yard.survives("state", victim)


def words_in_each_field(yard):
    ran = yard.outside / "RAN"
    words = [f"stopped[$(touch {ran})0]", f"$(touch {ran})", f"`touch {ran}`", f"0 -f {ran}", f"0; touch {ran}", "*", "-1", "1 1", "0x10",
             "010", "UTC\", \"injected\": \"yes", "}], \"injected\": [{", "a\tb", "\x1b[2J", "9" * 400, "1e3", "../x", "/etc/passwd",
             "--help", "%s%n", "$IFS", "'", "\"", "\\", "é", "-f/x"]
    # Names of GPUs, a name of the caller's, another host.
    good = {*(("gpus", word) for word in ("0x10", "010", "1e3", "9" * 400)), *(("output", word) for word in words if "/" not in word)}
    for field in ("pid", "since", "host", "interval", "tool", "gpus", "zone", "clock_pairs", "window", "exit_status", "stopping", "output", "other"):
        for word in words:
            if (field, word) in good or field == "host" and len(word) < 256 and set(word) <= set(map(chr, range(33, 127))):
                continue
            victim = yard.planted(**{field: word})
            yard.refuses(f"{field} {word[:20]!r}")
            yard.survives(f"{field} {word[:20]!r}", victim)
            yard.same(f"{field} {word[:20]!r}: nothing ran", False, ran.exists())
    yard.check("the tool was not called", not yard.calls.exists(), yard.calls.exists() and yard.calls.read_text())
    yard.same("no context", False, (yard.dir / "gpu_metrics_context.json").exists())


def fields_that_are_cut_off(yard):
    for text in ("", "pid\n", "pid", "\0" * 100, "pid 1\npid 2\n", "\n\n", "a" * 5000, "interval 1\n" * 600):
        yard.state.write_text(text)
        yard.state.chmod(0o600)
        done = yard.call("stop")
        yard.check(f"{text[:20]!r}: stop ends", done.returncode == 1 and done.err.count("\n") == 1, done.returncode, done.err)


def processes_of_others(yard):
    """Every field is right, but the process is not a recorder."""
    victim = yard.planted()
    error = yard.refuses("a process")
    yard.check("the message names it", f"names process {victim.pid}, which is not a recorder" in error, error)
    yard.survives("a process", victim)
    victim = yard.planted()
    fields = yard.state.read_text().splitlines()
    # A session whose leader is gone.
    parent = subprocess.Popen(["setsid", "sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $$; exit"], stdout=subprocess.PIPE, text=True)
    leader = parent.communicate()[0].strip()
    yard.state.write_text("\n".join([f"pid {leader}" if line.startswith("pid ") else line for line in fields]) + "\n")
    yard.refuses("a session without its leader")
    left = subprocess.run(["ps", "-o", "pid=", "-s", leader], capture_output=True, text=True).stdout.split() if shutil.which("ps") else []
    for number in left:
        os.kill(int(number), signal.SIGKILL)
    yard.survives("a session", victim)


def what_start_writes_is_trusted(yard):
    """Whatever the umask, a recording that is begun can be ended."""
    for umask in (0o002, 0o000, 0o077, 0o022):
        before = os.umask(umask)
        try:
            yard.begin()
            yard.same(f"umask {umask:03o}: the state is the caller's to write", 0, yard.state.stat().st_mode & 0o022)
            yard.end()
        finally:
            os.umask(before)
    done = yard.run("true", options=("--interval", "0.2", "--gpus", "0,3"))
    yard.same("run", (0, ["0", "3"]), (done.returncode, yard.context()["gpus"]))


def folders_for_temporaries(yard):
    for folder in (str(yard.outside / "is not there"), "/proc"):
        done = yard.run("true", env=yard.variables() | {"TMPDIR": folder})
        yard.same(f"$TMPDIR is {folder}", (0, 0), (done.returncode, yard.context()["exit_status"]))
        yard.is_over()
    own = yard.outside.parent / "own"
    own.mkdir()
    done = yard.run("true", env=yard.variables() | {"TMPDIR": str(own)})
    yard.same("nothing stays in $TMPDIR", [], os.listdir(own))


def exchanging(yard, path, what):
    """A process that puts `what` at `path` again and again, by a shell's words."""
    script = yard.script("exchange", f"while :; do {what}; mv -fT exchanged '{path.name}' 2>/dev/null; done\n", yard.outside.parent)
    return subprocess.Popen(["/bin/sh", script], cwd=yard.dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def pipes_at_its_names(yard):
    """A pipe that comes between two looks makes no call wait, and gets nothing."""
    for name in ("gpu_metrics.csv", "gpu_metrics_identity.csv", "gpu_metrics_context.json"):
        other = exchanging(yard, yard.dir / name, "mkfifo exchanged")
        try:
            for command in ("start", "stop") * 3:
                began = time.monotonic()
                yard.call(command, "--interval", "0.2")
                yard.check(f"{name}: {command} ends", time.monotonic() - began < 40)
        finally:
            other.kill()
            other.wait()
        for path in yard.dir.iterdir():
            path.unlink(missing_ok=True)


def links_to_a_pipe(yard):
    """A link to a pipe or a device of others is replaced, never written through."""
    pipe = yard.outside / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        for name in ("gpu_metrics_identity.csv", "gpu_metrics_context.json", "gpu_metrics_monitor.log"):
            other = exchanging(yard, yard.dir / name, f"ln -s '{pipe}' exchanged")
            try:
                for command in ("start", "stop") * 2:
                    yard.call(command, "--interval", "0.2")
            finally:
                other.kill()
                other.wait()
            for path in yard.dir.iterdir():
                path.unlink(missing_ok=True)
        try:
            got = os.read(reader, 4096)
        except BlockingIOError:
            got = b""
        yard.same("what came through the pipe", b"", got)
    finally:
        os.close(reader)


def folders_whose_names_others_change(yard):
    """What is temporary is in no folder in which others may rename, and its name cannot be taken before."""
    shared = yard.outside.parent / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    seen = shared / "seen"
    tool = yard.script("nvidia-smi", f'#!/bin/sh\nls -a {shared} >>{yard.outside.parent}/seen\n{(yard.bin / "nvidia-smi").read_text()}',
                       yard.bin)
    yard.check("the tool is there", os.path.exists(tool) and not seen.exists())
    done = yard.run("true", env=yard.variables() | {"TMPDIR": str(shared)})
    yard.same("run", 0, done.returncode)
    listed = (yard.outside.parent / "seen").read_text() if (yard.outside.parent / "seen").exists() else ""
    yard.check("nothing was made in it", "aggregate-power-monitor" not in listed, listed[:200])
    yard.same("nothing stays in it", [], os.listdir(shared))


def files_that_are_read_only(yard):
    """The caller's own, which nobody has to write to."""
    others = {}
    if IS_ROOT:  # whom no permission stops
        work = yard.calls.parent
        os.chown(yard.dir, OTHER, OTHER)
        work.chmod(0o777)
        work.parent.chmod(0o711)
        others = {"user": OTHER, "group": OTHER, "extra_groups": []}
    done = yard.call("start", "--interval", "0.2", **others)
    yard.same("start", (0, ""), (done.returncode, done.err))
    for path in yard.dir.iterdir():
        path.chmod(0o444 if path != yard.state else 0o400)
    done = yard.call("stop", **others)
    yard.check("stop", done.returncode == 0 and done.err.count("\n") <= 1 and "may not be covered" in done.err, done.err)
    yard.is_over()
    yard.check("it recorded", yard.csv.read_text().count("\n") > 8)


SCENARIOS = [links_where_it_writes, names_with_a_number, links_to_nothing, csv_of_the_callers_own, csv_of_others, csv_that_is_no_file,
             secrets_are_not_shown, state_that_is_no_file, words_in_each_field, fields_that_are_cut_off, processes_of_others,
             what_start_writes_is_trusted, folders_for_temporaries, pipes_at_its_names, links_to_a_pipe,
             folders_whose_names_others_change, files_that_are_read_only]


if __name__ == "__main__":
    # It changes the process's umask.
    sys.exit(run_scenarios(SCENARIOS, Yard, alone=[what_start_writes_is_trusted], at_a_time=4))
