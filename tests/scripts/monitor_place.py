"""What the tests of monitor.sh share: a folder with stand-ins for the vendor tools, and scenarios under every shell.

Each scenario runs under every shell that is installed of dash, bash and busybox, on a PATH that holds
nothing but the utilities that the script needs.
"""
import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
MONITOR = HERE.parents[1] / "scripts" / "monitor.sh"
UTILITIES = ("awk cat cut date dd echo env grep head mkdir mv rm sed setsid sleep stat stdbuf tail tr true "
             "uname wc").split()
NO_ENV = ("busybox",)  # its env cannot give signals back, so the command runs in the foreground
BUSYBOX = (subprocess.run(["busybox", "--list"], capture_output=True, text=True).stdout.split()
           if shutil.which("busybox") else [])
BOOT = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
PYTHON = os.path.realpath(sys.executable)


class Place:
    """A folder to work in, a PATH with one vendor tool or none, and what was found wrong."""

    def __init__(self, work, shell, scenario):
        self.name = f"{scenario.__name__} ({shell})"
        self.shell = shell
        self.passed = 0
        self.faults = []
        self.bin = work / "bin"
        self.dir = work / "it's a \"run\" of ü"
        self.bin.mkdir(parents=True)
        self.dir.mkdir()
        for utility in UTILITIES:
            if shell != "busybox":
                (self.bin / utility).symlink_to(shutil.which(utility))
            elif utility in BUSYBOX:
                (self.bin / utility).symlink_to(shutil.which("busybox"))
        (self.bin / "sh").symlink_to(shutil.which(shell))
        self.csv = self.dir / "gpu_metrics.csv"
        self.has("nvidia-smi")

    def has(self, *programs):
        for program in programs:
            (self.bin / program).symlink_to(HERE / "stand-ins" / program)

    def lacks(self, program):
        (self.bin / program).unlink()

    def script(self, name, text, folder=None):
        path = (folder or self.dir) / name
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def variables(self, mode="", **others):
        return {"PATH": str(self.bin), "STAND_IN": mode, "TZ": "IST-5:30", "HOME": "/", **others}

    def words(self, *arguments):
        """Without the seconds before and after a command, unless they are asked for."""
        words = list(map(str, arguments))
        if words[:1] == ["run"] and words[1:] and "--margin" not in words:
            words[1:1] = ["--margin", "0"]
        return [str(self.bin / "sh"), str(MONITOR), *words]

    def start(self, *arguments, mode="", **others):
        options = {"cwd": self.dir, "env": self.variables(mode), "stdin": subprocess.DEVNULL,
                   "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **others}
        return subprocess.Popen(self.words(*arguments), **options)

    def call(self, *arguments, mode="", input=None, **others):
        if input is not None:
            others["stdin"] = subprocess.PIPE
        process = self.start(*arguments, mode=mode, **others)
        process.out, process.err = process.communicate(input, timeout=60)
        return process

    def run(self, *command, options=("--interval", "0.2"), **others):
        return self.call("run", *options, "--", *command, **others)

    def context(self, stem="gpu_metrics"):
        return json.loads((self.dir / f"{stem}_context.json").read_text())

    def check(self, what, good, *found):
        if good:
            self.passed += 1
        else:
            self.faults.append(" ".join([f"FAILED {self.name}: {what}", *map(repr, found)]))

    def same(self, what, wanted, found):
        self.check(what, wanted == found, wanted, found)

    def is_complete(self, status, context=None):
        """The recording is over, whole, and covers the window."""
        context = context or self.context()
        self.same("the exit status in the context", status, context.get("exit_status"))
        self.same("the zone", "+05:30", context["timestamp_timezone"])
        self.same("a pair of clocks at both ends", 0 if self.shell == "busybox" else 2, len(context["clock_pairs"]))
        lines = self.csv.read_text().splitlines()
        stamps = [line[:23] for line in lines if line[:1].isdigit()]
        self.check("whole rows", all(line.count(",") == 12 for line in lines), lines[-1:])
        start, end = (local(context["window"][key]) for key in ("start_unix", "end_unix"))
        if self.shell == "busybox":  # whole seconds: the stamps' are rounded down, the window's end up
            stamps = [stamp[:19] for stamp in stamps]
            start, end = start[:19], local(context["window"]["end_unix"] - 1)[:19]
        self.check("covered", stamps[0] <= start <= end <= stamps[-1], stamps[0], start, end, stamps[-1])
        self.is_over()

    def is_over(self):
        left = [path.name for path in self.dir.iterdir() if "_monitor." in path.name or ".json." in path.name]
        self.same("files left over", [], left)
        self.check("no recorder runs on", eventually(lambda: not self.living()), self.living())

    def living(self):
        """Processes that work in the folder, as nothing else does."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(process / "cwd") == str(self.dir):
                    found.append((process / "cmdline").read_bytes())
            except OSError:
                pass
        return found


def eventually(condition, seconds=5):
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def local(unix):
    """The time as the stand-in writes it, in a zone five and a half hours ahead."""
    return time.strftime("%Y/%m/%d %H:%M:%S", time.gmtime(unix + 19800)) + f".{int(unix % 1 * 1000):03}"


def play(work, shell, scenario, place_of):
    place = place_of(work / f"{scenario.__name__}.{shell}", shell, scenario)
    try:
        scenario(place)
    except Exception as error:  # a scenario that breaks off is one that failed
        place.check(f"it ran to its end: {type(error).__name__}: {error}", False)
    return place


def run_scenarios(scenarios, place_of=Place, alone=(), at_a_time=8):
    """The exit status. Words of the command line are the names of those to run, instead of all. Those in `alone`
    change what is the process's."""
    # A caller in the background may have had these ignored, which commands would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    chosen = [scenario for scenario in scenarios if not sys.argv[1:] or scenario.__name__ in sys.argv[1:]]
    shells = [shell for shell in ("dash", "bash", "busybox") if shutil.which(shell)]
    pairs = [(shell, scenario) for scenario in chosen for shell in shells]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(at_a_time) as pool:
        work = pathlib.Path(folder).resolve()
        places = [play(work, *pair, place_of) for pair in pairs if pair[1] in alone]
        places += pool.map(lambda pair: play(work, *pair, place_of), [pair for pair in pairs if pair[1] not in alone])
    for place in places:
        for fault in place.faults:
            print(fault)
    passed, failed = sum(place.passed for place in places), sum(len(place.faults) for place in places)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
