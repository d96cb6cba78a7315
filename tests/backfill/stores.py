"""Synthetic stores of past runs, and what a first backfill must make of each run.

Nothing here asks the program: power is constant within a phase and the window's edges lie on
samples, so that energy is watts x seconds x GPUs, and every fault is put in where it is known what
it does. The same seed gives the same bytes.
"""
import gzip
import io
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "multinode"))
from package_builder import PIN, AgenticLoad, Gpu, Load, Package, two_and_two  # noqa: E402

NVIDIA_HEADER = ("timestamp, index, power.draw [W], temperature.gpu, clocks.current.sm [MHz], "
                 "clocks.current.memory [MHz], utilization.gpu [%], utilization.memory [%]")
AMD_HEADER = "timestamp,gpu,gfx_activity,umc_activity,socket_power,gfx_voltage,edge,hotspot,mem"
GENERIC_HEADER = "timestamp,gpu,power_w"
# Offsets that clocks are set to all year, in minutes; most of them several times a store.
OFFSETS = [0, 60, 120, 180, 210, 270, 330, 345, 390, 480, 525, 540, 570, 630, 720, 780, 840,
           -60, -180, -240, -300, -360, -420, -480, -540, -570, -600, -660]
ZONES = ["Europe/Berlin", "America/Los_Angeles", "Asia/Kolkata", "Asia/Tokyo", "UTC",
         "Australia/Lord_Howe"]
ODD_NAMES = ["two\nlines", "bytes\udcff\udcfe", "a blank ", " 'quoted' \"twice\"", "-rf", "größe",
             "per%cent%41", "back\\slash", "tab\there", "{braces}", "star*", "$HOME", "a,b;c",
             "\U0001f600", "..dots..", "x" * 120]
POWER_KEYS = ["power_metric_schema_version", "power_valid", "avg_power_w", "avg_total_gpu_power_w",
              "total_gpu_energy_j", "joules_per_successful_query", "joules_per_input_token",
              "joules_per_output_token", "joules_per_total_token"]
ZSTD = shutil.which("zstd")
# Of runs whose window is not inside the telemetry: where the raw result was found by its name
# alone, somewhere in the store, that pairing is not sure.
UNSURE = ("ambiguous",)
AGENTIC_NODES = "agentic, several nodes"


@dataclass
class Expected:
    """What a first backfill must say of one aggregate."""
    run: str
    layout: str | None
    aggregate: str | None  # below the store; an archive in the path is a folder
    outcome: str  # with --output, or where the aggregate lies in a plain folder
    reasons: list[str] | None = None  # None: not checked
    metrics: dict | None = None
    zone: str | None = None  # the UTC offset at the window's start, such as +05:30
    zone_source: str | None = None
    kind: str = ""
    archived: bool = False  # the aggregate lies in an archive: not writable without --output
    also: tuple = ()  # other outcomes that the specification leaves open
    optional: bool = False  # whether there is a line is left open too
    inputs: dict = field(default_factory=dict)  # role: path below the store, where it is a file
    failed_requests: tuple | None = None  # of an agentic run: how many, and their joules

    @property
    def has_package(self):
        return self.layout == "multinode" or self.kind == AGENTIC_NODES

    def outcomes(self, with_output=False):
        """The outcomes that are right."""
        if self.archived and not with_output:
            # What nothing would be written for may be told as what it is, too.
            if self.outcome in ("patched", "not_valid"):
                return ("not_writable", *self.also)
            return ("not_writable", self.outcome, *self.also)
        return (self.outcome, *self.also)

    def is_written(self, with_output=False):
        return "not_writable" not in self.outcomes(with_output) \
            and self.outcome in ("patched", "not_valid")


def offset_text(minutes):
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def offset_of(zone, unix_s):
    """The offset in minutes of an offset in minutes or of a named zone."""
    if isinstance(zone, int):
        return zone
    return int(datetime.fromtimestamp(unix_s, ZoneInfo(zone)).utcoffset().total_seconds()) // 60


@dataclass
class Recording:
    """Phases of constant power on several GPUs; the phases named `loads` are benchmark windows."""
    schema: str = "nvidia-smi"
    gpus: int = 4
    start: int = 1767225600
    phases: list = field(default_factory=lambda: [(20, 100), (60, 700), (20, 150)])
    loads: list = field(default_factory=lambda: [1])
    interval: int = 1
    step: int = 0  # GPU i draws i times so much more
    zone: object = 0  # minutes, or a name
    faults: tuple = ()
    until: int | None = None  # seconds; recorded no longer than this

    def window(self, load=None):
        load = self.loads[0] if load is None else load
        begin = sum(seconds for seconds, _ in self.phases[:load])
        return self.start + begin, self.start + begin + self.phases[load][0]

    def middle(self):
        begin, end = self.window()
        return (begin + end) // 2 - self.start

    def total_watts(self, load=None):
        load = self.loads[0] if load is None else load
        return self.gpus * self.phases[load][1] + self.step * self.gpus * (self.gpus - 1) // 2

    def watts(self, elapsed):
        begin = 0
        for load, (seconds, watts) in enumerate(self.phases):
            if load in self.loads and begin <= elapsed <= begin + seconds:
                return watts
            begin += seconds
        begin = 0
        for seconds, watts in self.phases:
            begin += seconds
            if elapsed < begin:
                return watts
        return self.phases[-1][1]

    def header(self):
        return {"nvidia-smi": NVIDIA_HEADER, "amd-smi": AMD_HEADER,
                "generic": GENERIC_HEADER}[self.schema]

    def row(self, stamp, gpu, watts):
        if self.schema == "nvidia-smi":
            cell = "[N/A]" if watts is None else f"{watts}.00 W"
            return f"{stamp}, {gpu}, {cell}, 60, 1980 MHz, 2619 MHz, 97 %, 40 %"
        if self.schema == "amd-smi":
            return f"{stamp},{gpu},0,0,{'N/A' if watts is None else watts},N/A,N/A,37,23"
        return f"{stamp},{gpu},{'' if watts is None else f'{watts}.000'}"

    def stamp(self, unix_s):
        if self.schema == "amd-smi":
            return str(unix_s)
        if self.schema == "generic":
            return f"{unix_s}.000"
        local = datetime.fromtimestamp(unix_s, timezone.utc) \
            + timedelta(minutes=offset_of(self.zone, unix_s))
        return local.strftime("%Y/%m/%d %H:%M:%S.000")

    def csv(self):
        """The faults are those of `synthesize --fault`, at the middle of the first window."""
        total = sum(seconds for seconds, _ in self.phases)
        if self.until is not None:
            total = min(total, self.until)
        middle = self.middle()
        lines, torn = [self.header()], b""
        for elapsed in range(0, total + 1, self.interval):
            struck = elapsed <= middle < elapsed + self.interval
            watts = self.watts(elapsed)
            stamp = self.stamp(self.start + elapsed)
            if struck and "repeated-header" in self.faults:
                lines.append(self.header())
            if struck and "garbage-time" in self.faults:
                lines.append("not a time" + self.row(stamp, 0, watts)[10:])
            if "gap" in self.faults and middle <= elapsed < middle + 5:
                continue
            gpus = self.gpus - ("dropped-gpu" in self.faults and elapsed >= middle)
            rows = [self.row(stamp, gpu, None if gpu == 0 and struck and "na" in self.faults
                             else watts + self.step * gpu) for gpu in range(gpus)]
            lines += rows * (2 if struck and "duplicate-stamps" in self.faults else 1)
            if self.schema == "amd-smi" and elapsed < total:
                lines.append("")
        if "torn-tail" in self.faults:
            last = lines.pop()
            torn = last[:last.index(",") + 2].encode()
        end = "\r\n" if "crlf" in self.faults or self.schema == "amd-smi" else "\n"
        data = end.join(lines).encode() + end.encode() + torn
        if "utf16" in self.faults:
            return b"\xff\xfe" + data.decode().encode("utf-16-le")
        return b"\xef\xbb\xbf" + data if "bom" in self.faults else data


def raw_result(begin, end, completed=100, tokens_in=819200, tokens_out=102400, **changes):
    """A raw result as benchmark_serving.py writes it, compact; a change to None takes a key out."""
    result = {"date": "20260101-000000", "backend": "vllm", "model_id": "deepseek",
              "num_prompts": completed, "request_rate": "inf", "max_concurrency": 64,
              "duration": float(end - begin), "benchmark_start_time_unix": float(begin),
              "benchmark_end_time_unix": float(end), "completed": completed,
              "total_input_tokens": tokens_in, "total_output_tokens": tokens_out,
              "request_throughput": 1.25, "input_lens": [8192] * 5, "mean_ttft_ms": 12.5}
    result |= changes
    return json.dumps({key: value for key, value in result.items() if value is not None},
                      separators=(",", ":")).encode()


def metrics_of(watts, gpus, seconds, completed=100, tokens_in=819200, tokens_out=102400):
    """The metrics of so many watts, of all GPUs together, for so many seconds."""
    joules = watts * seconds
    return {"avg_power_w": watts / gpus, "avg_total_gpu_power_w": float(watts),
            "total_gpu_energy_j": float(joules), "joules_per_successful_query": joules / completed,
            "joules_per_input_token": joules / tokens_in,
            "joules_per_output_token": joules / tokens_out,
            "joules_per_total_token": joules / (tokens_in + tokens_out)}


def profile_record(begin, end, tokens_in, tokens_out, phase="profiling", error=None):
    """A request as AIPerf exports it, in flight all the time."""
    return {"metadata": {"session_num": 0, "request_start_ns": begin * 10**9, "request_end_ns": end * 10**9,
                         "benchmark_phase": phase, "was_cancelled": False},
            "metrics": {"input_sequence_length": {"value": tokens_in, "unit": "tokens"},
                        "output_sequence_length": {"value": tokens_out, "unit": "tokens"}},
            "error": error}


# ---- Archives

def zip_bytes(files, folders=True):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        made = set()
        for name, data in files.items():
            for parent in list(pathlib.PurePosixPath(name).parents)[-2::-1] if folders else []:
                if str(parent) not in made:
                    made.add(str(parent))
                    archive.writestr(zipfile.ZipInfo(f"{parent}/", (2026, 1, 2, 3, 4, 6)), b"")
            info = zipfile.ZipInfo(name, (2026, 1, 2, 3, 4, 6))
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return out.getvalue()


def tar_bytes(files, dotted=False):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(f"./{name}" if dotted else name)
            info.size, info.mtime = len(data), 1767225600
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zstd_bytes(data):
    return subprocess.run([ZSTD, "-q", "-1", "-c"], input=data, capture_output=True,
                          check=True).stdout


def packed(files, suffix, die):
    if suffix == ".zip":
        return zip_bytes(files, die.random() < 0.5)
    tar = tar_bytes(files, die.random() < 0.5)
    if suffix == ".tar.zst":
        return zstd_bytes(tar)
    return tar if suffix == ".tar" else gzip.compress(tar, 1, mtime=0)


SUFFIXES = [".zip", ".zip", ".tar", ".tar.gz", ".tgz"]


# ---- Stores

class StoreMaker:
    """Files by their path below the store, made run by run."""

    def __init__(self, seed, archives=True):
        self.die = random.Random(seed)
        self.files = {}
        self.links = {}
        self.expected = []
        self.count = 0
        self.archives = archives
        self.trees = {}  # archive: files in it

    # ---- names and places

    def name(self):
        die = self.die
        self.count += 1
        return (f"{die.choice(['70b', 'dsr1', 'gptoss'])}_{die.choice(['fp4', 'fp8', 'bf16'])}_"
                f"{die.choice(['sglang', 'vllm', 'trt'])}_tp4-ep1-dpafalse_disagg-false_spec-none_"
                f"conc{die.choice([1, 4, 16, 64])}_b200-{self.count:04}")

    def zone_of(self, recording, begin):
        """What an audit record says of the zone where only the evidence tells it."""
        if recording.schema != "nvidia-smi":
            return None, None
        return offset_text(offset_of(recording.zone, begin)), "evidence"

    def place(self):
        return self.die.choice(["", "", "2026-08/", "nightly/b200/", "a/b/c/d/",
                                f"run-{self.die.randint(1, 9)}/", "artifacts of june/"])

    def aggregate(self, gpus, how="tp", stale=None, style=None):
        """An aggregate's text, and what a valid run must leave of its other members."""
        die = self.die
        row = {"hw": die.choice(["b200", "h200", "mi355x"]), "framework": "sglang",
               "precision": "fp8", "conc": die.choice([1, 4, 64])}
        if how == "tp":
            row["tp"] = gpus
        elif how == "pp":
            row |= {"tp": gpus // 2, "pp": 2, "ep": 4}
        elif how == "pcp":
            row |= {"tp": gpus // 2, "pp": 1, "pcp_size": 2, "dcp_size": 8}
        elif how == "disagg":
            prefill = die.randint(1, gpus - 1)
            row |= {"disagg": True, "tp": 1, "num_prefill_gpu": prefill,
                    "num_decode_gpu": gpus - prefill}
        elif how == "halves":
            row |= {"disagg": True, "num_prefill_gpu": gpus // 2, "num_decode_gpu": gpus // 2}
        elif how == "wrong":
            row["tp"] = gpus * 2
        row |= {"tput_per_gpu": 1234.5678901234567, "median_ttft": 0.125}
        if stale if stale is not None else die.random() < 0.15:
            row |= {"avg_power_w": 12.5, "power_valid": 1, "power_metric_schema_version": 2,
                    "total_gpu_energy_j": 3, "prefill_avg_power_w": 8}
        row["p99_itl"] = 1e-07
        style = style or die.choice(["indent"] * 3 + ["newline", "compact", "wide"])
        if style == "compact":
            return json.dumps(row, separators=(",", ":")).encode()
        text = json.dumps(row, indent=4 if style == "wide" else 2)
        return (text + ("\n" if style == "newline" else "")).encode()

    def run(self, kind, recording, outcome="patched", reasons=None, *, how=None, csv=None,
            raw=None, agg=None, layout=None, zone_file=None, name=None, plain=False, also=(),
            counts=None, parts=("csv", "raw"), metrics=None, extra=None):
        """Puts one run into the store in some layout; csv, raw and agg are its files' bytes."""
        die = self.die
        name = name if name is not None else self.name()
        counts = counts or (die.randint(1, 500), die.randint(1, 10**6), die.randint(1, 10**6))
        begin, end = recording.window()
        csv = csv if csv is not None else recording.csv()
        raw = raw if raw is not None else raw_result(begin, end, *counts)
        how = how or die.choice(["tp", "tp", "tp", "pp", "pcp", "disagg", "none"])
        agg = agg if agg is not None else self.aggregate(recording.gpus, how)
        pieces = {}
        if "csv" in parts:
            pieces["telemetry"] = ("gpu_metrics.csv", csv)
        if "raw" in parts:
            pieces["benchmark_result"] = (f"{name}.json", raw)
        if not plain and die.random() < 0.08:
            pieces = {role: (file + ".gz", gzip.compress(data, 1, mtime=0))
                      for role, (file, data) in pieces.items()}
        elif not plain and ZSTD and die.random() < 0.02:
            pieces = {role: (file + ".zst", zstd_bytes(data))
                      for role, (file, data) in pieces.items()}
        extra = dict(extra or {})
        if zone_file is not None:
            extra |= zone_file
        layout = layout or die.choice(["power_audit"] * 3 + ["bmk"] * 4 + ["folder"] * 2)
        layout_name, aggregate, files, at = getattr(self, "as_" + layout)(name, pieces, extra, agg)
        archived, files, at = self.maybe_archived(aggregate, files, at, plain)
        if archived:
            aggregate = archived
        self.files.update(files)
        zone, source = self.zone_of(recording, begin) if outcome in ("patched", "not_valid") \
            else (None, None)
        if outcome == "patched":
            metrics = metrics or metrics_of(recording.total_watts(), recording.gpus, end - begin,
                                            *counts)
        expected = Expected(
            name, layout_name, aggregate, outcome,
            reasons if reasons is not None else [] if outcome == "patched" else None, metrics,
            zone, "file" if source and zone_file is not None else source, kind, bool(archived),
            also, inputs=at)
        self.expected.append(expected)
        return expected

    def as_power_audit(self, name, pieces, extra, agg):
        folder = f"{self.place()}power_audit_{name}/"
        files = {folder + file: data for file, data in [*pieces.values(), *extra.items()]}
        files[folder + f"agg_{name}.json"] = agg
        if self.die.random() < 0.3:
            files |= {folder + file: data for file, data in self.snapshots().items()}
        return ("power_audit", folder + f"agg_{name}.json", files,
                {role: folder + file for role, (file, _) in pieces.items()})

    def as_bmk(self, name, pieces, extra, agg):
        die = self.die
        place = self.place()
        files = {f"{place}bmk_{name}/agg_{name}.json": agg}
        raw_in = die.choice(["power_audit", "parent", "far", "own", "full"])
        csv_in = "parent" if raw_in == "parent" and die.random() < 0.5 else "gpu_metrics"
        if raw_in == "parent":  # a folder of its own, so that no other run's pieces lie there
            place += f"job {self.count}/"
            files = {f"{place}bmk_{name}/agg_{name}.json": agg}
        at = {}
        raw_folders = {"power_audit": f"{place}power_audit_{name}/", "parent": place,
                       "far": die.choice(["results/raw/", "zz/far/away/", f"elsewhere/{name}/"]),
                       "own": f"{place}bmk_{name}/", "full": f"{place}power_audit_{name}/"}
        if "benchmark_result" in pieces:
            file, data = pieces["benchmark_result"]
            at["benchmark_result"] = raw_folders[raw_in] + file
            files[at["benchmark_result"]] = data
            if raw_in in ("power_audit", "full"):
                # Its aggregate is the one of bmk_: whether that one is missed is left open.
                self.expected.append(Expected(name, "power_audit", None, "not_recomputable",
                                              ["aggregate_result_missing"], kind="raw only",
                                              optional=True, also=("not_writable",)))
        folder = f"{place}gpu_metrics_{name}/" if csv_in == "gpu_metrics" else place
        if "telemetry" in pieces:
            file, data = pieces["telemetry"]
            at["telemetry"] = folder + file
            files[at["telemetry"]] = data
            if raw_in == "full":
                # The audit artifact holds the telemetry as well: equal bytes are one candidate.
                files[f"{place}power_audit_{name}/{file}"] = data
                del at["telemetry"]
        files |= {folder + file: data for file, data in extra.items()}
        if raw_in == "full":
            files |= {f"{place}power_audit_{name}/{file}": data for file, data in extra.items()}
        if die.random() < 0.3:
            files |= {folder + file: data for file, data in self.snapshots().items()}
        if die.random() < 0.3:  # never telemetry of the run
            decoy = Recording(gpus=1, phases=[(5, 33), (10, 44), (5, 33)]).csv()
            files[f"{place}eval_gpu_metrics_{name}/gpu_metrics.csv"] = decoy
        return "bmk", f"{place}bmk_{name}/agg_{name}.json", files, at

    def as_folder(self, name, pieces, extra, agg):
        folder = f"{self.place()}{self.die.choice(['run', 'exp', 'b200 node'])} {self.count}/"
        at, files = {}, {folder + f"agg_{name}.json": agg}
        own_csv = self.die.random() < 0.4 and not extra
        for role, (file, data) in pieces.items():
            if role == "telemetry" and own_csv:
                file = file.replace("gpu_metrics", f"gpu_metrics_{name}")
            at[role] = folder + file
            files[at[role]] = data
        files |= {folder + file: data for file, data in extra.items()}
        return "folder", folder + f"agg_{name}.json", files, at

    def snapshots(self):
        die = self.die
        start = {gpu: die.randint(0, 10**6) for gpu in range(4)}
        table = lambda rows: ("gpu,total_energy_consumption\n" + "".join(
            f"{gpu},{joules}\n" for gpu, joules in rows.items())).encode()
        return {"gpu_metrics_energy_start.csv": table(start),
                "gpu_metrics_energy_end.csv": table({g: j + 50000 for g, j in start.items()}),
                "gpu_metrics_identity.json": b'[{"gpu": 0, "power": 1}]'}

    def maybe_archived(self, aggregate, files, at, plain):
        """Now and then some of the run's artifacts are archives, or the run is in a whole tree."""
        die = self.die
        if plain or not self.archives or die.random() < 0.75:
            return None, files, at
        if die.random() < 0.35:
            tree = f"trees/{die.choice(['old', 'june'])}-{die.randint(1, 3)}" + die.choice(SUFFIXES)
            self.trees.setdefault(tree, {}).update(files)
            return f"{tree}/{aggregate}", {}, {}
        folders = sorted({path.rpartition("/")[0] for path in files})
        out, rest, archived = {}, dict(files), None
        for folder in folders:
            if not folder or die.random() < 0.4 or folder.rpartition("/")[2].startswith(
                    ("job ", "raw", "away", "elsewhere")):
                continue
            mine = {path: data for path, data in files.items() if path.startswith(folder + "/")}
            suffix = die.choice(SUFFIXES)
            out[folder + suffix] = packed(
                {path[len(folder) + 1:]: data for path, data in mine.items()}, suffix, die)
            for path in mine:
                rest.pop(path, None)
            if aggregate in mine:
                archived = folder + suffix + aggregate[len(folder):]
        at = {role: path for role, path in at.items() if path in rest}
        return archived, rest | out, at

    def archive(self, folder):
        """Makes a folder an archive; how paths in it begin then."""
        suffix = self.die.choice(SUFFIXES)
        mine = [path for path in self.files if path.startswith(folder + "/")]
        self.files[folder + suffix] = packed(
            {path[len(folder) + 1:]: self.files.pop(path) for path in mine}, suffix, self.die)
        return f"{folder}{suffix}/"

    # ---- recordings

    def start(self):
        return self.die.randrange(1735689600, 1788220800)

    def recording(self, schema=None, **changes):
        die = self.die
        load = die.choice([20, 30, 45, 60, 90])
        phases = [(die.randint(10, 30), die.randint(60, 140)), (load, die.randint(500, 900)),
                  (die.randint(8, 25), die.randint(80, 200))]
        if die.random() < 0.3:  # an evaluation behind the benchmark
            phases += [(die.randint(8, 25), die.randint(300, 450)), (8, 90)]
        if die.random() < 0.2:  # the server's start
            phases = [(die.randint(10, 20), die.randint(60, 90)), *phases]
        loads = [max(range(len(phases)), key=lambda i: phases[i][1])]
        schema = schema or die.choice(["nvidia-smi"] * 7 + ["amd-smi"] * 2 + ["generic"])
        values = {"schema": schema, "gpus": die.choice([2, 4, 4, 8]), "start": self.start(),
                  "phases": phases, "loads": loads, "step": die.choice([0, 0, 1, 3]),
                  "zone": die.choice(OFFSETS)}
        return Recording(**(values | changes))

    def zone_file(self, recording):
        """A file beside the CSV that tells the zone of its stamps."""
        zone = recording.zone
        minutes = offset_of(zone, recording.start)
        if isinstance(zone, int) and self.die.random() < 0.3:
            text = offset_text(minutes).replace(":", self.die.choice(["", ":"]))
            return {"agentic_power_timezone_offset.txt": text.encode() + b"\n"}
        word = zone if isinstance(zone, str) else offset_text(zone)
        return {"gpu_metrics_context.json": json.dumps(
            {"timestamp_timezone": word, "interval_s": 1}).encode()}

    # ---- kinds of runs, each adding one run or a few

    def healthy(self):
        self.run("healthy", self.recording())

    def healthy_zone_file(self):
        recording = self.recording("nvidia-smi")
        # Power that tells nothing: only the file can.
        if self.die.random() < 0.5:
            recording.phases = [(seconds, 500) for seconds, _ in recording.phases]
        self.run("zone file", recording, zone_file=self.zone_file(recording), plain=True,
                 layout=self.die.choice(["power_audit", "folder"]))

    def healthy_named_zone(self):
        recording = self.recording("nvidia-smi", zone=self.die.choice(ZONES))
        self.run("named zone", recording, zone_file=self.zone_file(recording), plain=True,
                 layout="power_audit")

    def healthy_long(self):
        """Longer than several offsets' distance: only the load's edges tell them apart."""
        die = self.die
        phases = [(die.randrange(900, 1500, 2), 90), (die.randrange(300, 1200, 2), 650),
                  (die.randrange(1200, 2000, 2), 130)]
        self.run("long", self.recording("nvidia-smi", gpus=2, interval=2, phases=phases, loads=[1],
                                        start=self.start() // 2 * 2, step=0), how="tp")

    def healthy_fault(self):
        for fault in ("torn-tail", "repeated-header", "duplicate-stamps", "bom", "crlf", "utf16"):
            self.run(fault, self.recording(faults=(fault,)))

    def invalid_fault(self):
        reasons = {"gap": "sampling_gap_exceeded", "na": "invalid_power_sample",
                   "garbage-time": "invalid_timestamp_sample",
                   "dropped-gpu": "benchmark_window_not_bracketed"}
        for fault, reason in reasons.items():
            recording = self.recording(faults=(fault,))
            # A gap may hide an edge of a short load.
            known = self.zone_file(recording) if fault in ("dropped-gpu", "gap") \
                and recording.schema == "nvidia-smi" else None
            self.run(fault, recording, "not_valid", [reason], zone_file=known,
                     plain=known is not None)

    def invalid_stopped_early(self):
        recording = self.recording(self.die.choice(["amd-smi", "generic"]))
        recording.until = recording.window()[1] - recording.start - 7
        self.run("stopped early", recording, "not_valid", ["benchmark_window_not_bracketed"],
                 also=UNSURE)

    def invalid_other_day(self):
        recording = self.recording(self.die.choice(["amd-smi", "generic"]))
        begin, end = recording.window()
        self.run("another day", recording, "not_valid", ["no_usable_power_samples"], also=UNSURE,
                 raw=raw_result(begin + 86400, end + 86400))

    def invalid_csv(self):
        recording = self.recording("nvidia-smi")
        rows = recording.csv().decode().splitlines()
        without = lambda column: "\n".join(
            ", ".join(cell for i, cell in enumerate(row.split(", ")) if i != column)
            for row in rows).encode() + b"\n"
        for kind, reason, data in [
                ("empty CSV", "telemetry_file_empty", b""),
                ("no time column", "timestamp_column_missing", without(0)),
                ("no GPU column", "gpu_identity_column_missing", without(1)),
                ("no power column", "power_column_missing", without(2))]:
            expected = self.run(kind, self.recording("nvidia-smi"), "not_valid", [reason], csv=data)
            expected.zone = expected.zone_source = None
        quoted = recording.csv().replace(b" 60,", b'"60,', 1)
        expected = self.run("unclosed quote", recording, "not_valid", csv=quoted,
                            also=("ambiguous",))
        expected.zone = expected.zone_source = None

    def invalid_counts(self):
        recording = self.recording()
        begin, end = recording.window()
        self.run("no success", recording, "not_valid", ["invalid_successful_query_count"],
                 raw=raw_result(begin, end, completed=0))
        recording = self.recording()
        begin, end = recording.window()
        self.run("stepped clock", recording, "not_valid", ["benchmark_duration_mismatch"],
                 raw=raw_result(begin, end, duration=end - begin + 5.0))

    def invalid_gpu_count(self):
        self.run("wrong tp", self.recording(), "not_valid", ["expected_gpu_count_mismatch"],
                 how="wrong")

    def no_raw(self):
        self.run("no raw result", self.recording(), "not_recomputable",
                 ["benchmark_result_missing"], parts=("csv",))

    def no_telemetry(self):
        self.run("no telemetry", self.recording(), "not_recomputable",
                 ["telemetry_file_missing"], parts=("raw",))

    def no_window(self):
        recording = self.recording()
        begin, end = recording.window()
        self.run("no window", recording, "not_recomputable", ["invalid_benchmark_window"],
                 raw=raw_result(begin, end, benchmark_start_time_unix=None,
                                benchmark_end_time_unix=None))
        recording = self.recording()
        self.run("raw result cut short", recording, "not_recomputable",
                 ["invalid_benchmark_result"], raw=raw_result(*recording.window())[:-40])

    def no_aggregate(self):
        recording = self.recording()
        name = self.name()
        folder = f"{self.place()}power_audit_{name}/"
        self.files |= {folder + "gpu_metrics.csv": recording.csv(),
                       folder + f"{name}.json": raw_result(*recording.window())}
        self.expected.append(Expected(name, None, None, "not_recomputable",
                                      ["aggregate_result_missing"], kind="no aggregate"))
        name = self.name()
        self.files[f"{self.place()}gpu_metrics_{name}/gpu_metrics.csv"] = self.recording().csv()
        self.expected.append(Expected(name, None, None, "not_recomputable",
                                      ["aggregate_result_missing"], kind="orphan telemetry"))

    def bad_aggregate(self):
        for agg in (b'{"tp": 4,', b'[{"tp": 4}]', b"", b'{"tp": 4} x'):
            self.run("bad aggregate", self.recording(), "failed", None, agg=agg, plain=True)

    def flat(self):
        recording = self.recording("nvidia-smi")
        recording.phases = [(seconds, 500) for seconds, _ in recording.phases]
        self.run("flat", recording, "ambiguous", ["timezone_ambiguous"])

    def periodic(self):
        """Two equal loads an hour apart: two offsets fit."""
        recording = self.recording("nvidia-smi", gpus=2, interval=2, step=0,
                                   phases=[(400, 90), (300, 650), (3300, 90), (300, 650), (400, 90)],
                                   loads=[1, 3], zone=self.die.choice([-420, 0, 60, 330]))
        self.run("periodic", recording, "ambiguous", ["timezone_ambiguous"], how="tp")

    def clock_change(self):
        """The clock is put forward or back while it records: right, or refused."""
        for change, zone in ((1774746000, "Europe/Berlin"), (1761440400, "Europe/Berlin"),
                             (1762066800, "America/Chicago")):
            for before in (5, 60, 110):
                recording = self.recording("nvidia-smi", zone=zone, start=change - before,
                                           phases=[(40, 90), (60, 700), (30, 120)], loads=[1])
                self.run("clock change", recording, also=("ambiguous", "not_valid")).zone = None

    def rivals(self):
        """Two raw results of that name, equally far away."""
        for outcome, shift in (("patched", 86400), ("ambiguous", 3)):
            recording = self.recording(self.die.choice(["amd-smi", "generic"]))
            name = self.name()
            begin, end = recording.window()
            counts = (100, 819200, 102400)
            self.run("rival results", recording, outcome,
                     [] if outcome == "patched" else ["pairing_ambiguous"], name=name, plain=True,
                     parts=("csv",), layout="bmk", counts=counts)
            self.files[f"one/{name}.json"] = raw_result(begin, end, *counts)
            self.files[f"other/{name}.json"] = raw_result(begin + shift, end + shift - 1, *counts,
                                                          duration=end - begin - 1.0)

    def copies(self):
        """The aggregate lies in bmk_ and in power_audit_, as the workflow leaves it."""
        recording = self.recording()
        name = self.name()
        counts = (10, 1000, 500)
        place = self.place()
        csv, raw = recording.csv(), raw_result(*recording.window(), *counts)
        agg = self.aggregate(recording.gpus)
        audit, bmk = f"{place}power_audit_{name}/", f"{place}bmk_{name}/"
        self.files |= {audit + "gpu_metrics.csv": csv, audit + f"{name}.json": raw,
                       audit + f"agg_{name}.json": agg, bmk + f"agg_{name}.json": agg,
                       f"{place}gpu_metrics_{name}/gpu_metrics.csv": csv,
                       f"copies of all/{name}.json": raw}
        archived = self.archives and self.die.random() < 0.4
        if archived:
            bmk = self.archive(bmk[:-1])
        begin, end = recording.window()
        for layout, folder in (("power_audit", audit), ("bmk", bmk)):
            self.expected.append(Expected(
                name, layout, folder + f"agg_{name}.json", "patched", [],
                metrics_of(recording.total_watts(), recording.gpus, end - begin, *counts),
                *self.zone_of(recording, begin), kind="copies",
                archived=archived and layout == "bmk"))

    def shared(self):
        """Several runs in one folder share its CSV."""
        die = self.die
        loads = [(die.randint(20, 40), die.randint(500, 900)) for _ in range(3)]
        phases = [(15, 90), loads[0], (17, 95), loads[1], (21, 99), loads[2], (15, 90)]
        recording = self.recording(phases=phases, loads=[1, 3, 5])
        folder = f"{self.place()}shared {self.count}/"
        self.files[folder + "gpu_metrics.csv"] = recording.csv()
        for load in recording.loads:
            name = self.name()
            begin, end = recording.window(load)
            self.files |= {folder + f"{name}.json": raw_result(begin, end),
                           folder + f"agg_{name}.json": self.aggregate(recording.gpus)}
            self.expected.append(Expected(
                name, "folder", folder + f"agg_{name}.json", "patched", [],
                metrics_of(recording.total_watts(load), recording.gpus, end - begin),
                *self.zone_of(recording, begin), kind="shared CSV",
                inputs={"telemetry": folder + "gpu_metrics.csv",
                        "benchmark_result": folder + f"{name}.json"}))

    def multinode(self):
        """A package of two loads, with its results beside it and their aggregates there and in bmk_."""
        name = self.name()
        loads = [Load(4, 1000.0, 1040.0), Load(8, 1050.0, 1080.0)]
        self.package(name, two_and_two(), loads, "_ctx_2_gen_2")
        faulty = self.name()
        fault = self.die.choice(["gap", "no pin", "blank line", "stray file"])
        reasons = {"gap": ["package_recompute_invalid", "producer_verdict_mismatch"],
                   "no pin": ["producer_pin_missing"]}.get(
                       fault, ["package_recompute_invalid", "producer_verdict_mismatch"])
        self.package(faulty, two_and_two(), loads[:1], "_ctx_2_gen_2", fault, reasons)
        both = [Gpu(host, index, "agg", 250.0 + index) for host in ("a", "b") for index in range(4)]
        self.package(self.name(), both, loads[1:], "")
        # Without its package, and its results.
        name = self.name()
        run = f"{name}_cfg1_conc4_gpus_16"
        folder = f"{self.place()}bmk_{name}/"
        self.files[f"{folder}agg_{run}.json"] = self.aggregate(16, stale=False)
        archived = self.archives and self.die.random() < 0.3
        if archived:
            folder = self.archive(folder[:-1])
        self.expected.append(Expected(
            run, "multinode", f"{folder}agg_{run}.json", "not_recomputable",
            ["power_artifacts_missing", "benchmark_result_missing"], kind="multi-node", archived=archived))

    def package(self, name, gpus, loads, tail, fault=None, reasons=()):
        place = self.place()
        audit, bmk = f"{place}power_audit_{name}/", f"{place}bmk_{name}/"
        package = Package(gpus, loads)
        if fault == "gap":
            package.rows = [row for row in package.rows if not 20 <= int(row[2]) <= 24]
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            package.write(folder)
            if fault != "no pin":
                (folder / "LOGS/power/power-producer-sha.txt").write_text(PIN + "\n")
            if fault == "blank line":
                with open(folder / "LOGS/power/samples.csv", "ab") as samples:
                    samples.write(b"\r\n")
            if fault == "stray file":
                (folder / "LOGS/power/windows/notes.txt").write_text("see the wiki")
            for file in sorted((folder / "LOGS").rglob("*")):
                if file.is_file():
                    self.files[audit + str(file.relative_to(folder))] = file.read_bytes()
        runs = []
        # How many GPUs there are the name says, or the aggregate.
        counts, how = self.die.choice([(f"_gpus_{len(gpus)}{tail}", None), ("", "halves" if tail else "tp")])
        for load in loads:
            run = f"{name}_cfg1_conc{load.concurrency}{counts}"
            result = package.results[f"{load.folder}/{load.stem}.json"]
            agg = self.aggregate(len(gpus), how or "tp", stale=False)
            self.files |= {f"{audit}{run}.json": json.dumps(result, indent=1).encode(),
                           f"{audit}agg_{run}.json": agg, f"{bmk}agg_{run}.json": agg}
            runs.append((run, load, result))
        archived = {audit: self.archives and self.die.random() < 0.4, bmk: False}
        for folder in (audit, bmk):
            shown = self.archive(folder[:-1]) if archived[folder] else folder
            for run, load, result in runs:
                self.expected.append(Expected(
                    run, "multinode", f"{shown}agg_{run}.json",
                    "not_valid" if fault else "patched", list(reasons),
                    {} if fault else self.metrics_of_package(gpus, load, result),
                    zone_source="stamps", kind="multi-node", archived=archived[folder]))

    @staticmethod
    def metrics_of_package(gpus, load, result):
        seconds = load.end - load.start
        tokens = {"prefill": result["total_input_tokens"], "decode": result["total_output_tokens"]}
        metrics = metrics_of(sum(gpu.watts for gpu in gpus), len(gpus), seconds,
                             result["completed"], tokens["prefill"], tokens["decode"])
        for role, kind in (("prefill", "input"), ("decode", "output")):
            watts = [gpu.watts for gpu in gpus if gpu.role == role]
            if watts:
                metrics |= {f"{role}_gpu_energy_j": sum(watts) * seconds,
                            f"{role}_avg_power_w": sum(watts) / len(watts),
                            f"{role}_joules_per_{kind}_token": sum(watts) * seconds / tokens[role]}
        return metrics

    def agentic(self):
        """AIPerf's exports in the place of a raw result, at any depth of the artifact."""
        die = self.die
        name = self.name()
        place = self.place()
        recording = self.recording("nvidia-smi")
        begin, end = recording.window()
        minutes = offset_of(recording.zone, begin)
        naive = lambda unix_s: datetime.fromtimestamp(unix_s, timezone(timedelta(minutes=minutes))) \
            .replace(tzinfo=None).isoformat()
        lengths = [(die.randint(1, 9999), die.randint(1, 999)) for _ in range(die.randint(1, 20))] + [(1, 1)] * 40
        results = f"{place}agentic_{name}/" + die.choice(["", "results/", "a/results/"])
        profile = results + "aiperf_artifacts/" + die.choice(["", "", "run_1/"])
        records = [profile_record(begin, end, *pair) for pair in lengths]
        records.insert(die.randrange(len(records)), profile_record(begin - 9, begin, 1, 1, "warmup"))
        failed = die.choice([0, 0, 1, 2])
        records += [profile_record(begin, end, 7, 7, error={"code": 499})] * failed
        files = {"gpu_metrics.csv": recording.csv(),
                 "agentic_power_timezone_offset.txt": offset_text(minutes).replace(":", "").encode() + b"\n",
                 profile[len(results):] + "profile_export_aiperf.json": json.dumps(
                     {"start_time": naive(begin), "end_time": naive(end)}).encode(),
                 profile[len(results):] + "profile_export.jsonl": "".join(
                     json.dumps(record) + "\n" for record in records).encode()}
        fault = die.choice([None] * 5 + list(self.AGENTIC_FAULTS))
        outcome, reasons = "patched", []
        if fault:
            outcome, reasons = "not_recomputable", [fault]
            change = self.AGENTIC_FAULTS[fault]
            for path in [path for path in files if path.endswith(change[0])]:
                files[path] = change[1]
                if change[1] is None:
                    del files[path]
                if change[0].endswith("offset.txt"):  # nor do the requests show the zone
                    records_path = profile[len(results):] + "profile_export.jsonl"
                    files[records_path] = re.sub(rb'"request_(start|end)_ns": \d+', rb'"request_\1_ns": null',
                                                 files[records_path])
        self.files |= {results + path: data for path, data in files.items()}
        aggregate = die.choice([f"{place}bmk_agentic_{name}/{name}.json"] * 3 +
                               [f"{place}agentic_{name}/{name}.json", f"{place}{name}.json"])
        self.files[aggregate] = self.aggregate(recording.gpus, stale=False)
        archived = False
        if self.archives and die.random() < 0.4:
            which = die.choice(["agentic", "bmk_agentic"])
            folder = f"{place}{which}_{name}"
            if any(path.startswith(folder + "/") for path in self.files):
                archived = aggregate.startswith(folder + "/")
                shown = self.archive(folder)
                if archived:
                    aggregate = shown + aggregate[len(folder) + 1:]
        inputs = {} if archived or fault else {"telemetry": results + "gpu_metrics.csv",
                                               "benchmark_result": profile + "profile_export.jsonl"}
        self.expected.append(Expected(
            name, "agentic", aggregate, outcome, reasons,
            metrics_of(recording.total_watts(), recording.gpus, end - begin, len(lengths),
                       *map(sum, zip(*lengths))) if not fault else None,
            offset_text(minutes) if not fault else None, "file" if not fault else None,
            kind="agentic", archived=archived,
            inputs={role: path for role, path in inputs.items() if path in self.files},
            failed_requests=(failed, recording.total_watts() * (end - begin) * failed / (failed + len(lengths)))))

    # What is wrong with the profile, in which file, which has these bytes then.
    AGENTIC_FAULTS = {
        "profile_artifacts_missing": ("profile_export_aiperf.json", None),
        "profile_artifacts_invalid": ("profile_export.jsonl", b'{"metadata": {}}\n{"metad'),
        "profile_window_missing": ("profile_export_aiperf.json", b'{"start_time": 5}'),
        "profile_window_invalid": ("profile_export_aiperf.json", b'{"start_time": 5, "end_time": 5}'),
        "profile_timezone_offset_missing": ("agentic_power_timezone_offset.txt", None),
        "profile_timezone_offset_invalid": ("agentic_power_timezone_offset.txt", b"PST"),
        "successful_request_count_invalid": ("profile_export.jsonl", b'{"error": "timeout"}\n'),
        "incomplete_token_accounting": ("profile_export.jsonl", b'{"metrics": {}}\n')}

    def agentic_nodes(self):
        """Loads of agents on several nodes: a formal result and an aggregate each, one package for all."""
        loads = [AgenticLoad(4, 1000.0, 1040.0), AgenticLoad(16, 1050.0, 1080.0)]
        both = [Gpu(host, index, "agg", 250.0 + index) for host in ("a", "b") for index in range(4)]
        split = {"disagg": True, "num_prefill_gpu": 2, "num_decode_gpu": 2}
        self.agentic_package(two_and_two(), loads, split)
        self.agentic_package(both, [AgenticLoad(8, 1000.0, 1030.0, "agentic")],
                             {"disagg": False, "num_prefill_gpu": 8, "num_decode_gpu": 0})
        fault = self.die.choice(list(self.AGENTIC_PACKAGE_FAULTS))
        change = {"disagg": "yes"} if fault in ("topology", "topology and no pin") else {}
        self.agentic_package(two_and_two(), loads[:1], split | change, fault)
        # Without a package, as they once were kept.
        name = self.name()
        place = self.place()
        run = self.die.choice([name, f"{name}_conc4"])
        is_formal = run != name and self.die.random() < 0.5
        results = f"{place}agentic_{name}/LOGS/agentic/"
        self.files |= {f"{place}bmk_agentic_{name}/{run}.json": b'{"tp": 8}',
                       f"{results}conc_4/aiperf_artifacts/profile_export.jsonl": b"{}\n"}
        if is_formal:
            self.files[f"{results}conc_4/agentic_power_concurrency_4.json"] = b"{}"
        if self.archives and self.die.random() < 0.3:
            self.archive(f"{place}agentic_{name}")
        self.expected.append(Expected(
            run, "agentic", f"{place}bmk_agentic_{name}/{run}.json", "not_recomputable",
            ["power_artifacts_missing", *([] if is_formal else ["formal_benchmark_result_missing"])],
            kind=AGENTIC_NODES))

    # What each comes to.
    AGENTIC_PACKAGE_FAULTS = {
        "gap": ("not_valid", ["package_recompute_invalid", "producer_verdict_mismatch"]),
        "topology": ("not_valid", ["agentic_gpu_topology_invalid"]),
        "no pin": ("not_valid", ["expected_producer_sha_invalid"]),
        "short pin": ("not_valid", ["expected_producer_sha_invalid"]),
        "topology and no pin": ("not_valid", ["agentic_gpu_topology_invalid", "expected_producer_sha_invalid"]),
        "no formal result": ("not_recomputable", ["formal_benchmark_result_missing"]),
        "two formal results": ("not_recomputable", ["formal_benchmark_result_missing"]),
        "another's formal result": ("not_recomputable", ["formal_benchmark_result_missing"]),
        "broken formal result": ("not_recomputable", ["package_recompute_invalid", "producer_verdict_mismatch",
                                                      "invalid_benchmark_result"])}

    def agentic_package(self, gpus, loads, counts, fault=None):
        die = self.die
        name = self.name()
        place = self.place()
        kind = die.choice(["power_audit", "agentic"])
        artifact, bmk = f"{place}{kind}_{name}/", f"{place}bmk_agentic_{name}/"
        package = Package(gpus, loads)
        if fault == "gap":
            package.rows = [row for row in package.rows if not 20 <= int(row[2]) <= 24]
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            package.write(folder)
            results = folder / "LOGS" / loads[0].folder
            requests = [(60 + die.randint(1, 5), die.choice([0, 0, 1, 3])) for _ in loads]  # that succeed, and fail
            for load, (good, bad) in zip(loads, requests):
                profile = folder / "LOGS" / load.folder / "aiperf_artifacts"
                profile.mkdir()
                sound = profile_record(int(load.start), int(load.end), 1, 1)
                (profile / "profile_export.jsonl").write_text("".join(
                    json.dumps(record) + "\n" for record in [sound] * good + [sound | {"error": "lost"}] * bad))
            formal = results / f"{loads[0].stem}.json"
            pin = "" if "no pin" in (fault or "") else PIN[:9] if fault == "short pin" else PIN
            if pin:
                (folder / "LOGS/power/power-producer-sha.txt").write_text(pin + "\n")
            if fault == "no formal result":
                formal.unlink()
            elif fault == "two formal results":
                shutil.copy(formal, results / "agentic_power_concurrency_5.json")
            elif fault == "another's formal result":
                formal.rename(results / "agentic_power_concurrency_5.json")
            elif fault == "broken formal result":
                formal.write_text('{"max_concurrency": 4,')
            for file in sorted((folder / "LOGS").rglob("*")):
                if file.is_file():
                    self.files[artifact + str(file.relative_to(folder))] = file.read_bytes()
        if die.random() < 0.2:  # the same package twice
            twin = f"{place}{'agentic' if kind == 'power_audit' else 'power_audit'}_{name}/"
            self.files |= {twin + path[len(artifact):]: data for path, data in self.files.items()
                           if path.startswith(artifact)}
        # Those of an audit count beside others of their name, as in other packages.
        folders = die.choice([[bmk], [artifact], [artifact, bmk] if kind == "power_audit" else [bmk]])
        row = json.loads(self.aggregate(len(gpus), "none", stale=False, style="compact")) | counts
        for folder in folders:
            for load in loads:
                of_load = json.dumps(row | {"conc": load.concurrency}, indent=2)
                self.files[f"{folder}{name}_conc{load.concurrency}.json"] = of_load.encode()
        archived = {folder: self.archives and die.random() < 0.4 for folder in dict.fromkeys([artifact, *folders])}
        shown = {folder: self.archive(folder[:-1]) if is_archived else folder
                 for folder, is_archived in archived.items()}
        outcome, reasons = self.AGENTIC_PACKAGE_FAULTS[fault] if fault else ("patched", [])
        for folder in folders:
            for load, (good, bad) in zip(loads, requests):
                run = f"{name}_conc{load.concurrency}"
                joules = sum(gpu.watts for gpu in gpus) * (load.end - load.start) * bad / (good + bad)
                self.expected.append(Expected(
                    run, "agentic", f"{shown[folder]}{run}.json", outcome, reasons,
                    {} if fault else self.metrics_of_package(gpus, load, load.result()),
                    zone_source="stamps", kind=AGENTIC_NODES, archived=archived[folder],
                    failed_requests=(bad, None if fault else joules)))

    def odd_name(self):
        for name in ODD_NAMES:
            self.count += 1
            self.run("odd name", self.recording(), name=f"{name}{self.count}" if name != "-rf" else
                     f"-rf{self.count}", plain=True, layout=self.die.choice(["power_audit", "bmk"]))

    def linked(self):
        """The CSV is a link to a file elsewhere, and folders link round in circles."""
        recording = self.recording()
        name = self.name()
        folder = f"linked {self.count}/"
        self.files |= {folder + f"{name}.json": raw_result(*recording.window(), 7, 70, 700),
                       folder + f"agg_{name}.json": self.aggregate(recording.gpus),
                       f"common disk/{self.count}.csv": recording.csv()}
        begin, end = recording.window()
        self.links[folder + "gpu_metrics.csv"] = f"../common disk/{self.count}.csv"
        self.links[folder + "loop"] = "."
        self.links[folder + "up"] = ".."
        self.links[folder + "nowhere"] = "no such file"
        self.links[folder + "itself"] = "itself"
        self.expected.append(Expected(
            name, "folder", folder + f"agg_{name}.json", "patched", [],
            metrics_of(recording.total_watts(), recording.gpus, end - begin, 7, 70, 700),
            *self.zone_of(recording, begin), kind="linked",
            inputs={"telemetry": folder + "gpu_metrics.csv",
                    "benchmark_result": folder + f"{name}.json"}))

    def bystanders(self):
        """What is no run."""
        self.files |= {f"results_bmk {self.count}.txt": b"agg_x.json",
                       "results_bmk/agg_bmk.json": b'[{"tp": 8}, {"tp": 4}]',
                       f"eval_gpu_metrics_{self.name()}/gpu_metrics.csv": self.recording().csv(),
                       "notes/README.md": b"agg_notes.json is not here\n",
                       "notes/aggregate.json": b"{}", "empty folder/.keep": b""}

    def damaged(self):
        name = self.name()
        good = zip_bytes({"gpu_metrics.csv": self.recording().csv()})
        self.files[f"gpu_metrics_{name}.zip"] = good[:len(good) // 2]
        self.files[f"damaged/{self.count}.tar.gz"] = gzip.compress(b"\0\1\2 no tar" * 500, mtime=0)
        self.files[f"damaged/{self.count}.zip"] = b"PK\3\4" + b"rubbish" * 100
        for path in (f"gpu_metrics_{name}.zip", f"damaged/{self.count}.tar.gz",
                     f"damaged/{self.count}.zip"):
            self.expected.append(Expected(path, None, None, "failed", ["archive_unreadable"],
                                          kind="damaged archive"))

    # ---- all of it

    SPECIAL = ["healthy_zone_file", "healthy_named_zone", "healthy_long", "healthy_fault",
               "invalid_fault", "invalid_stopped_early", "invalid_other_day", "invalid_csv",
               "invalid_counts", "invalid_gpu_count", "no_raw", "no_telemetry", "no_window",
               "no_aggregate", "bad_aggregate", "flat", "periodic", "clock_change", "rivals",
               "copies", "shared", "multinode", "agentic", "agentic_nodes", "odd_name", "linked", "bystanders",
               "damaged"]
    SOUND = ["healthy_zone_file", "healthy_fault", "invalid_fault", "invalid_gpu_count", "no_raw",
             "flat", "copies", "shared", "agentic"]  # of which no run fails

    def fill(self, runs, kinds):
        # Each kind comes at least once; many runs are of no special kind.
        for kind in kinds:
            self.healthy()
            getattr(self, kind)()
        often = [kind for kind in kinds
                 if kind not in ("odd_name", "damaged", "bystanders", "clock_change")]
        while sum(not expected.optional for expected in self.expected) < runs:
            is_special = often and self.die.random() < 0.25
            getattr(self, self.die.choice(often) if is_special else "healthy")()

    def write(self, folder):
        folder = os.fspath(folder)
        for tree, files in self.trees.items():
            suffix = next(s for s in (".tar.gz", ".tar", ".tgz", ".zip") if tree.endswith(s))
            self.files[tree] = packed(files, suffix, self.die)
        made = set()
        for path, data in self.files.items():
            path = os.fsencode(os.path.join(folder, path))
            parent = os.path.dirname(path)
            if parent not in made:
                os.makedirs(parent, exist_ok=True)
                made.add(parent)
            with open(path, "wb") as file:
                file.write(data)
        for path, target in self.links.items():
            os.symlink(target, os.path.join(folder, path))


def build_store(folder, runs, seed=1, kinds=None, archives=True):
    """Fills the folder, which is made, with about so many runs; what backfill must make of each.

    kinds: names of StoreMaker's functions to mix among healthy runs; default all of them.
    """
    maker = StoreMaker(seed, archives)
    maker.fill(runs, StoreMaker.SPECIAL if kinds is None else kinds)
    os.makedirs(folder, exist_ok=True)
    maker.write(folder)
    return maker.expected
