#!/usr/bin/env python3
"""Runs `monitor.sh run` around commands that end in many ways, with stand-ins for the vendor tools.

What a command should see, and when it ran, is what the command itself says.

usage: tests/scripts/monitor_run_test.py [SCENARIO...]
"""
import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

from monitor_place import BOOT, MONITOR, NO_ENV, PYTHON, eventually, local, run_scenarios

TELLS_TIME = ["sh", "-c", '"$0" +%s.%N; sleep 0.5; "$0" +%s.%N', shutil.which("date")]


def window_is_around_the_command(place):
    done = place.run(*TELLS_TIME)
    first, last = map(float, done.out.split())
    window = place.context()["window"]
    # busybox's date knows whole seconds.
    slack = 1.6 if place.shell == "busybox" else 0.4
    place.check("the window holds the command, closely",
                first - slack <= window["start_unix"] <= first and last <= window["end_unix"] <= last + slack,
                window, first, last)
    place.same("what is said",
               "monitor.sh: recording power, clocks, temperature, utilization, memory, power limit, throttle reasons of all "
               "GPUs every 0.2 s to 'gpu_metrics.csv' with nvidia-smi, and 0 s before and after the command\n"
               "monitor.sh: to measure it: aggregate-power measure RESULT gpu_metrics.csv\n", done.err)
    place.same("what else is there", {"gpu_metrics.csv", "gpu_metrics_context.json", "gpu_metrics_identity.csv"},
               {path.name for path in place.dir.iterdir()})
    place.is_complete(0)


def a_command_without_dashes(place):
    done = place.call("run", "--interval", "0.2", "sh", "-c", "echo $0 $1", "--output", "x")
    place.same("its words", (0, "--output x\n"), (done.returncode, done.out))
    place.is_complete(0)
    for words, message in ((["sleep", "1"], "expected start, stop or run, got 'sleep'"),
                           (["run"], "run: expected a command after the options"),
                           (["run", "--"], "run: expected a command after the options"),
                           (["run", "--nothing", "true"], "unknown option '--nothing'"),
                           (["start", "true"], "start takes no command, got 'true'")):
        done = place.call(*words)
        place.same(" ".join(words), (2, f"monitor.sh: error: {message}; see monitor.sh -h\n"), (done.returncode, done.err))


def clocks_are_paired(place, python):
    if python:
        place.script("python3", f'#!/bin/sh\nexec {PYTHON} "$@"\n', place.bin)
    before = time.time() - time.monotonic()
    place.run("true")
    context = place.context()
    if place.shell == "busybox" and not python:
        place.same("no pair where date has no fractions", [], context["clock_pairs"])
        return
    start, end = context["clock_pairs"]
    for pair in start, end:
        place.same("the boot", BOOT, pair["boot_id"])
        apart = abs(pair["epoch_s"] - pair["monotonic_s"] - before)
        place.check("the clocks are of one moment", apart < (0.05 if python else 0.5), apart)  # on a busy machine
    window = context["window"]
    place.check("the pairs are taken around the window", window["start_unix"] - 20 < start["epoch_s"] <
                window["start_unix"] <= window["end_unix"] < end["epoch_s"], context)
    place.check("the window has fractions", re.search(r'"start_unix": \d+\.\d{6}, "end_unix": \d+\.\d{6}',
                (place.dir / "gpu_metrics_context.json").read_text()), context)


def clocks_from_python(place):
    clocks_are_paired(place, True)


def clocks_without_python(place):
    clocks_are_paired(place, False)


def start_and_stop_pair_clocks(place):
    place.script("python3", f'#!/bin/sh\nexec {PYTHON} "$@"\n', place.bin)
    before = time.time()
    place.call("start")
    middle = time.time()
    place.same("one pair after the start", 1, len(place.context()["clock_pairs"]))
    place.same("stop succeeds", 0, place.call("stop").returncode)
    first, second = (pair["epoch_s"] for pair in place.context()["clock_pairs"])
    place.check("their times", before <= first <= middle <= second <= time.time(), first, second)
    place.same("no window", None, place.context().get("window"))


def status_is_the_commands(place):
    not_executable = place.dir / "data"
    not_executable.write_text("x")
    for wanted, *command in [(0, "true"), (7, "sh", "-c", "exit 7"), (127, "./nothing-here"), (126, "./data"),
                             (137, "sh", "-c", "kill -9 $$"), (143, "sh", "-c", "kill -TERM $$"),
                             (127, "start"), (5, "./a=b/program")]:
        (place.dir / "a=b").mkdir(exist_ok=True)
        place.script("program", "#!/bin/sh\nexit 5\n", place.dir / "a=b")
        place.same(f"the status of {command}", wanted, place.run(*command).returncode)
        place.is_complete(wanted)


def streams_are_the_commands(place):
    done = place.run("sh", "-c", "cat; echo to stderr >&2", input="to\nstdin\n")
    place.same("standard input and output", "to\nstdin\n", done.out)
    place.check("standard error", "\nto stderr\n" in done.err, done.err)
    done = place.run("sh", "-c", "exec <&-; echo closed; exit 3")
    place.same("a command that closes its input", (3, "closed\n"), (done.returncode, done.out))
    listing = [PYTHON, "-c", "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd')))"]
    read_end, write_end = os.pipe()
    os.dup2(read_end, 9)
    for closing in ("", "<&-", "9<&-", "4<&9 5<&9"):
        as_is = subprocess.run(["sh", "-c", f'exec {closing}; exec "$@"', "sh", *listing], capture_output=True,
                               text=True, pass_fds=[9], stdin=subprocess.DEVNULL)
        by_run = subprocess.run(["sh", "-c", f'exec {closing}; exec "$@"', "sh", *place.words("run", "--", *listing)],
                                capture_output=True, text=True, pass_fds=[9], stdin=subprocess.DEVNULL,
                                cwd=place.dir, env=place.variables())
        place.same(f"the open files with {closing}", as_is.stdout, by_run.stdout)
    for number in (read_end, write_end, 9):
        os.close(number)


def environment_is_the_commands(place):
    shows = [PYTHON, "-c", "import json, os; print(json.dumps(dict(os.environ)))"]
    odd = {name: f"{name}'s \"value\"\nof two lines" for name in
           "command csv interval gpus result name stem context state log scratch status child me path".split()}
    variables = {**place.variables(**odd, environment="theirs"), "SHELLOPTS": "braceexpand", "empty": ""}
    as_is = subprocess.run([str(place.bin / "sh"), "-c", 'exec "$@"', "sh", *shows], env=variables, cwd=place.dir,
                           capture_output=True, text=True)
    done = place.run(*shows, env=variables)
    wanted, found = json.loads(as_is.stdout), json.loads(done.out or "{}")
    for own in ("_", "SHLVL", "SHELLOPTS", "OLDPWD", "PWD"):  # which a shell sets itself
        wanted.pop(own, None)
        found.pop(own, None)
    place.same("the environment", wanted, found)


COUNTS = """
import signal, sys, time
seen = []
for name in ("INT", "TERM", "HUP", "USR1"):
    number = getattr(signal, "SIG" + name)
    print(name, signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler))
    signal.signal(number, lambda number, frame: seen.append(signal.Signals(number).name))
print("ready", flush=True)
until = time.monotonic() + 5
while not seen and time.monotonic() < until:
    time.sleep(0.05)
time.sleep(0.7)
print(*seen, flush=True)
sys.exit(9)
"""


def signals_are_passed_on(place):
    if place.shell in NO_ENV:
        return
    for name in ("TERM", "INT", "HUP", "USR1"):
        for to in (os.kill, os.killpg):
            process = place.start("run", "--", PYTHON, "-c", COUNTS, start_new_session=True)
            while process.stdout.readline() not in ("ready\n", ""):
                pass
            to(process.pid, getattr(signal, f"SIG{name}"))
            out, err = process.communicate(timeout=60)
            place.same(f"{name} by {to.__name__}, once", f"SIG{name}\n", out)
            place.same("the status", 9, process.returncode)
            place.is_complete(9)


def signals_kill_the_command(place):
    for name, to in (("TERM", os.killpg), ("INT", os.killpg), ("TERM", os.kill), ("INT", os.kill)):
        if place.shell in NO_ENV and to == os.kill:
            continue
        process = place.start("run", "--", "sh", "-c", "echo ready; exec sleep 60", start_new_session=True)
        process.stdout.readline()
        number = getattr(signal, f"SIG{name}")
        to(process.pid, number)
        out, err = process.communicate(timeout=60)
        place.same(f"the status after {name}", 128 + number, process.returncode)
        place.is_complete(128 + number)


def a_signal_waits_in_the_foreground(place):
    """Where env cannot give signals back: the command has them as they were, and ends first."""
    place.lacks("env")
    place.script("env", '#!/bin/sh\ncase $1 in --*) exit 125 ;; esac\nexit 1\n', place.bin)
    process = place.start("run", "--", PYTHON, "-c", COUNTS.replace("+ 5", "+ 0.5"))
    defaults = [process.stdout.readline() for _ in range(5)]
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    place.same("the signals of the command", ["INT True\n", "TERM True\n", "HUP True\n", "USR1 True\n", "ready\n"], defaults)
    place.same("nothing was passed on", ("\n", 9), (out, process.returncode))
    place.is_complete(9)


def ignored_signals_stay_ignored(place):
    shows = "import signal; print(*(signal.getsignal(n) == signal.SIG_IGN for n in (1, 2, 3, 15)))"
    for ignored, wanted in (("HUP INT", "True True False False\n"), ("QUIT", "False False True False\n")):
        done = subprocess.run(["sh", "-c", f'trap "" {ignored}; exec "$@"', "sh",
                               *place.words("run", "--", PYTHON, "-c", shows)],
                              cwd=place.dir, env=place.variables(), capture_output=True, text=True)
        place.same(f"with {ignored} ignored", wanted, done.stdout)


def terminals_interrupt_once(place):
    """Ctrl-C reaches the command from the terminal, and not a second time from the script."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(place.dir)
        os.execve(place.words()[0], place.words("run", "--", PYTHON, "-c", COUNTS), place.variables())
    text = b""
    pressed = False
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            break
        if not piece:
            break
        text += piece
        if b"ready" in text and not pressed:
            os.write(terminal, b"\x03")
            pressed = True
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    place.same("the status", 9, os.waitstatus_to_exitcode(status))
    place.same("interrupted once", 1, text.count(b"SIGINT"))
    place.is_complete(9)


def a_signal_during_the_start(place):
    state = place.dir / "gpu_metrics_monitor.pid"
    for to in (os.killpg, os.kill):
        process = place.start("run", "--", "touch", "ran", mode="silent", start_new_session=True)
        place.check("the tool runs", eventually(lambda: state.exists() and "tool" in state.read_text()))
        to(process.pid, signal.SIGTERM)
        process.communicate(timeout=60)
        place.same("the status", 143, process.returncode)
        place.check("the command did not run", not (place.dir / "ran").exists())
        if to == os.killpg:
            place.same("nothing is left", [], list(place.dir.iterdir()))
        place.is_over()


def nothing_to_record_with(place):
    place.lacks("nvidia-smi")
    older = place.csv
    older.write_text("another recorder's")
    done = place.run(*TELLS_TIME, options=("--result", "run.json"))
    place.same("what is said",
               "monitor.sh: error: none of nvidia-smi, amd-smi and rocm-smi is on the PATH; nothing is recorded\n"
               "monitor.sh: nothing is recorded of this command, which runs all the same\n"
               "monitor.sh: 'run.json' is not measured: nothing was recorded\n", done.err)
    place.same("the status", 0, done.returncode)
    first, last = map(float, done.out.split())
    context = place.context()
    window = context["window"]
    place.check("the window", first - 1.6 <= window["start_unix"] <= first and last <= window["end_unix"] <= last + 1.6)
    place.same("the rest", (None, "+05:30", 0), (context["monitor"], context["timestamp_timezone"], context["exit_status"]))
    place.same("another recorder's file", "another recorder's", older.read_text())
    of_older = place.context()
    place.run("true")
    place.same("the context of an older recording", of_older, place.context())


def recorders_that_do_not_start(place):
    for why, mode, options in (("the driver", "fails", ("--output", "new folder/x.csv")),
                               ("the options", "", ("--output", "new folder/x.csv", "--gpus", "broken"))):
        if why == "the options":
            place.lacks("nvidia-smi")
            place.script("nvidia-smi", "#!/bin/sh\necho No devices were found\nexit 6\n", place.bin)
        done = place.run("sh", "-c", "echo ran; exit 4", mode=mode, options=options)
        place.same(f"{why}: the command ran", (4, "ran\n"), (done.returncode, done.out))
        place.check(f"{why}: it is said", "nothing is recorded of this command" in done.err, done.err)
        context = json.loads((place.dir / "new folder" / "x_context.json").read_text())
        place.same(f"{why}: the context", (4, None), (context["exit_status"], context["monitor"]))
        place.is_over()


def folders_that_take_nothing(place):
    done = place.run("sh", "-c", "echo ran; exit 4", options=("--output", "/proc/none/x.csv"))
    place.same("the command ran", (4, "ran\n"), (done.returncode, done.out))
    place.check("the window is told", re.search(
        r"'/proc/none/x_context.json' could not get the window, from \d+[.\d]* to \d+[.\d]* \(Unix time\)\n$", done.err), done.err)


def full_disks(place):
    """The disk fills before the start, and during the command."""
    inner = place.dir / "small"
    inner.mkdir()
    for when, size, fill in (("before", "4k", "true"), ("during", "64k", "dd if=/dev/zero of=small/zeros bs=1k")):
        words = shlex.join(place.words("run", "--interval", "0.1", "--output", "small/x.csv", "--", "sh", "-c",
                                       f"{fill} 2>/dev/null; sleep 0.5; echo ran; exit 4"))
        script = (f"mount -t tmpfs -o size={size} none small || exit 99\n"
                  f"if [ {when} = before ]; then dd if=/dev/zero of=small/zeros bs=1k 2>/dev/null; fi\n{words}\n"
                  "status=$?\nls small\ncat small/x_context.json\nexit $status\n")
        done = subprocess.run(["unshare", "-rm", "sh", "-c", script], cwd=place.dir, capture_output=True, text=True,
                              env=place.variables() | {"PATH": f"{place.bin}:{os.environ['PATH']}"}, timeout=60)
        if done.returncode in (1, 99) and "ran" not in done.stdout:
            print(f"skipped: {place.name} (cannot mount a small disk: {done.stderr.strip()})")
            return
        place.same(f"{when}: the command ran", (4, True), (done.returncode, done.stdout.startswith("ran\n")))
        place.check(f"{when}: the window is told", "could not get the window, from" in done.stderr, done.stderr)
        place.check(f"{when}: no half context", '{"' not in done.stdout or '"clock_pairs": [' in done.stdout, done.stdout)
        place.check(f"{when}: no recorder runs on", eventually(lambda: not place.living()), place.living())


def two_at_once(place):
    waits = "echo ready; until [ -e go ]; do sleep 0.1; done; exit 1"
    first = place.start("run", "--output", "one.csv", "--", "sh", "-c", waits)
    first.stdout.readline()
    began = time.time()
    other = place.run("sh", "-c", "exit 2", options=("--output", "two.csv"))
    same = place.run("sh", "-c", "echo ran; exit 3", options=("--output", "one.csv"))
    place.same("another file", (2, 2), (other.returncode, place.context("two")["exit_status"]))
    place.same("the same file: the command runs", (3, "ran\n"), (same.returncode, same.out))
    place.check("the same file: it is said", "already recording to 'one.csv'" in same.err
                and "'one_context.json' could not get the window" in same.err, same.err)
    place.check("the first goes on", "exit_status" not in place.context("one"))
    until = time.time()
    (place.dir / "go").touch()
    first.communicate(timeout=60)
    window = place.context("one")["window"]
    place.same("the first has its own end", (1, 1), (first.returncode, place.context("one")["exit_status"]))
    place.check("and its own window", window["start_unix"] <= began <= until <= window["end_unix"], window, began, until)
    place.is_over()


def recorders_that_die(place):
    done = place.run("sleep", "2", options=("--interval", "0.1"), mode="dies")
    place.same("the status is the command's", 0, done.returncode)
    place.check("it is said", "nvidia-smi had ended before the stop" in done.err
                and "samples are missing since 20" in done.err, done.err)
    place.same("the window is kept", 0, place.context()["exit_status"])
    place.is_over()


def others_that_stop_it(place):
    inner = shlex.join(place.words("stop"))
    done = place.run("sh", "-c", f"{inner}; exit 6")
    place.same("the status", 6, done.returncode)
    place.same("the window is kept", 6, place.context()["exit_status"])
    place.is_over()
    # Another host's recorder has taken the file over: its own is ended, and the other's files stay.
    taken = "sed -i.bak -e 's/^host .*/host elsewhere/' -e 's/^pid .*/pid 1/' gpu_metrics_monitor.pid; cat gpu_metrics_context.json"
    done = place.run("sh", "-c", taken)
    place.same("the other's context", json.loads(done.out), place.context())
    place.check("the window is told", "could not get the window" in done.err, done.err)
    place.check("its own recorder is ended", eventually(lambda: not place.living()), place.living())


def results_are_measured(place):
    tool = '#!/bin/sh\nprintf "%s|" measured "$@"\necho\ncat\nexit ${MEASURE_STATUS-0}\n'
    place.script("aggregate-power", tool, place.bin)
    writes = ["sh", "-c", 'echo load; echo "{}" >>"it\'s a run.json"']
    done = place.run(*writes, options=("--result", "it's a run.json"), input="not for the measure")
    place.same("what it prints", "load\nmeasured|measure|it's a run.json|gpu_metrics.csv|\n", done.out)
    line = done.err.splitlines()[-1].removeprefix("monitor.sh: to measure it: ")
    place.same("the line that is shown", ["aggregate-power", "measure", "it's a run.json", "gpu_metrics.csv"], shlex.split(line))
    done = place.run(*writes, options=("--result=it's a run.json",), env=place.variables() | {"MEASURE_STATUS": "3"})
    place.same("a measure that fails", (0, True), (done.returncode, done.err.endswith("\nmonitor.sh: aggregate-power measure ended with 3\n")))
    with open(place.dir / "by redirection.json", "w") as file:
        done = place.run("echo", "{}", options=("--result", "by redirection.json"), stdout=file)
    place.same("a result by redirection", "{}\n", (place.dir / "by redirection.json").read_text())
    place.check("what is measured is shown", "measured|measure|by redirection.json|" in done.err, done.err)
    done = place.run("sh", "-c", "exit 8", options=("--result", "it's a run.json"))
    place.same("an older result", (8, "", True), (done.returncode, done.out, done.err.endswith(
        "\nmonitor.sh: 'it's a run.json' is not measured: the command did not write it\n")))
    place.lacks("aggregate-power")
    done = place.run(*writes, options=("--result", "it's a run.json"))
    place.same("without the program", (0, "load\n", True), (done.returncode, done.out, done.err.endswith(
        "\nmonitor.sh: 'it's a run.json' is not measured: aggregate-power is not on the PATH\n")))


def children_of_the_command(place):
    began = time.monotonic()
    done = place.start("run", "--", "sh", "-c", "sleep 30 >/dev/null 2>&1 & echo $!; exit 2")
    child = int(done.stdout.readline())
    done.communicate(timeout=60)
    place.same("the status", 2, done.returncode)
    place.check("it does not wait for them", time.monotonic() - began < 20)
    os.kill(child, 0)  # it lives
    os.kill(child, signal.SIGKILL)
    place.is_complete(2)


def readers_that_went_away(place):
    """Standard error is a pipe that nobody reads."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = place.run("sh", "-c", "echo ran; exit 2", stderr=write_end)
    os.close(write_end)
    place.same("a pipe that nobody reads", (2, "ran\n"), (done.returncode, done.out))
    place.is_complete(2)
    done = subprocess.run(["sh", "-c", 'exec 2>&-; exec "$@"', "sh", *place.words("run", "--", "sh", "-c", "exit 2")],
                          cwd=place.dir, env=place.variables())
    place.same("no standard error", 2, done.returncode)
    place.is_complete(2)
    place.same("start without standard output", 0, subprocess.run(
        ["sh", "-c", 'exec >&-; exec "$@"', "sh", *place.words("start")], cwd=place.dir, env=place.variables(),
        stderr=subprocess.DEVNULL).returncode)
    place.same("its stop", 0, place.call("stop").returncode)


def paths_for_eval(place):
    for output in ("gpu_metrics.csv", "it's \"a\" $(touch x) `b`\\ folder/run 1.csv", "-x.csv"):
        script = (f'eval "$("$@" start --output {shlex.quote(output)} | tail -n 1)" && printf %s "$GPU_METRICS_CSV"; '
                  f'"$@" stop --output {shlex.quote(output)}')
        done = subprocess.run([str(place.bin / "sh"), "-c", script, "sh", *place.words()], cwd=place.dir,
                              env=place.variables(), capture_output=True, text=True, timeout=60)
        place.same("nothing is said", "", done.stderr)
        place.same("the path", os.path.realpath(place.dir / output), os.path.realpath(done.stdout))
        place.check("it is absolute", done.stdout.startswith("/"))
        json.loads((place.dir / output).with_name((place.dir / output).stem + "_context.json").read_text())
    place.check("nothing of it was run", not (place.dir / "x").exists())


def gpus_are_chosen(place):
    place.lacks("nvidia-smi")
    for tool, interval, column in (("nvidia-smi", "0.2", 1), ("amd-smi", "1", 1), ("rocm-smi", "0.2", 1)):
        place.has(tool)
        done = place.run("sleep", "0.3", options=("--gpus", "0,2", "--interval", interval))
        rows = [line.split(",") for line in place.csv.read_text().splitlines() if line[:1].isdigit()]
        found = {row[column].strip().removeprefix("card") for row in rows}
        place.same(f"{tool}: the GPUs", {"0", "2"}, found)
        place.same(f"{tool}: in the context", ["0", "2"], place.context()["gpus"])
        place.check(f"{tool}: nothing is missing at the end", "covered" not in done.err, done.err)
        place.call("start", "--gpus=0,2", "--interval", interval)
        place.call("stop")
        rows = [line.split(",") for line in place.csv.read_text().splitlines() if line[:1].isdigit()]
        place.same(f"{tool}: from start to stop", {"0", "2"}, {row[column].strip().removeprefix("card") for row in rows})
        if tool != "rocm-smi":
            name = "gpu_metrics_identity.csv" if tool == "nvidia-smi" else "gpu_metrics_energy_end.csv"
            lines = (place.dir / name).read_text().splitlines()[1:]
            place.same(f"{tool}: {name}", ["0", "2"], [line.split(",")[0] for line in lines])
        place.lacks(tool)


def settings_are_recorded(place):
    place.run("true")
    header, *rows = place.csv.read_text().splitlines()
    row = dict(zip(header.split(", "), rows[0].split(", ")))
    place.same("the settings in each row", ("NVIDIA H100 80GB HBM3", "550.54.15", "700.00 W", "0x0000000000000001"),
               tuple(row[key] for key in ("name", "driver_version", "power.limit [W]", "clocks_event_reasons.active")))


def idle_is_recorded_around_the_command(place):
    for options, least in (((), 5), (("--margin", "1"), 1)):
        before = time.time()
        process = subprocess.run([str(place.bin / "sh"), str(MONITOR), "run", *options, "--", "sh", "-c", "exit 3"],
                                 cwd=place.dir, env=place.variables(), capture_output=True, text=True, timeout=60)
        after = time.time()
        window = place.context()["window"]
        stamps = [line[:23] for line in place.csv.read_text().splitlines() if line[:1].isdigit()]
        slack = 1 if place.shell == "busybox" else 0  # whole seconds
        place.check(f"{least} s before the window", stamps[0][:19] <= local(window["start_unix"] - least + slack)[:19], stamps[0], window)
        place.check(f"{least} s after it", stamps[-1][:19] >= local(window["end_unix"] + least - slack)[:19], stamps[-1], window)
        place.check("it took as long", after - before >= 2 * least, after - before)
        place.check("it is said", f"and {least} s before and after the command\n" in process.stderr, process.stderr)
        place.is_complete(3)


def signals_end_the_wait(place):
    """Before the command it does not run; after it, its status stays."""
    for to in (os.kill, os.killpg):
        process = place.start("run", "--margin", "30", "--", "touch", "ran", start_new_session=True)
        while "before and after" not in process.stderr.readline():
            pass
        to(process.pid, signal.SIGTERM)
        process.communicate(timeout=20)
        place.same("the status before", 143, process.returncode)
        place.check("the command did not run", not (place.dir / "ran").exists())
        place.is_over()
        done = place.start("run", "--margin", "3", "--", "sh", "-c", "echo ready; exit 4", start_new_session=True)
        done.stdout.readline()
        time.sleep(0.5)
        began = time.monotonic()
        to(done.pid, signal.SIGINT)
        done.communicate(timeout=20)
        place.same("the status after", 4, done.returncode)
        place.is_complete(4)


def a_run_that_is_killed(place):
    """The recorder ends by itself, and what it wrote does not look like a run that came to its end."""
    for again in (False, True):
        process = place.start("run", "--", "sh", "-c", "echo ready; exec sleep 1")
        process.stdout.readline()
        process.kill()
        process.communicate(timeout=60)
        if again:
            place.call("stop")  # or the recording ended before
        place.check("the recorder ends", eventually(lambda: not place.living(), 20), place.living())
        place.same("no window", None, place.context().get("window"))
        place.check("whole rows", all(line.count(",") == 12 for line in place.csv.read_text().splitlines()))
        place.is_over()


SCENARIOS = [window_is_around_the_command, a_command_without_dashes, clocks_from_python, clocks_without_python, start_and_stop_pair_clocks,
             status_is_the_commands, streams_are_the_commands, environment_is_the_commands, signals_are_passed_on,
             signals_kill_the_command, a_signal_waits_in_the_foreground, ignored_signals_stay_ignored,
             terminals_interrupt_once, a_signal_during_the_start, nothing_to_record_with, recorders_that_do_not_start,
             folders_that_take_nothing, full_disks, two_at_once, recorders_that_die, others_that_stop_it,
             results_are_measured, children_of_the_command, readers_that_went_away, paths_for_eval, gpus_are_chosen,
             settings_are_recorded, idle_is_recorded_around_the_command, signals_end_the_wait, a_run_that_is_killed]


if __name__ == "__main__":
    # It takes a file number for itself, and forks of others would inherit it.
    sys.exit(run_scenarios(SCENARIOS, alone=[streams_are_the_commands]))
