"""Whole dcgm-power packages made from a few numbers, with the results that they speak of.

A Package is plain data until write(). What its manifest says of the samples and windows is worked
out here, from that data, by the rules of the recorder.
"""
import bisect
import dataclasses
import json
import os

PIN = "5e" * 20
IMAGE = "0f" * 32
FIELDS = ["schema_version", "timestamp_unix", "scrape_seq", "hostname", "gpu_index", "gpu_uuid",
          "power_w"]
HEADERS = {1: FIELDS, 2: [*FIELDS, "gpu_util_pct", "sm_active"],
           3: [*FIELDS, "gpu_util_pct", "sm_active", "temperature_c"]}
CPU_FIELDS = ["schema_version", "timestamp_unix", "hostname", "source", "sensor", "socket_id",
              "power_w", "total_power_w"]
CPU_HEADERS = {1: CPU_FIELDS,
               2: [*CPU_FIELDS[:-1], "cpu_rail_w", "soc_w", "dram_w", "total_power_w"],
               3: [*CPU_FIELDS[:-1], "cpu_rail_w", "soc_w", "dram_w", "module_w", "total_power_w"]}
MAX_GAP_S = 3.0


@dataclasses.dataclass
class Gpu:
    host: str
    index: int
    role: str
    watts: object  # a number, or a function of the time
    group: object = None
    worker: int = 0
    util_pct: object = 50.0  # from version 2 of the samples on; None: not said
    temp_c: object = None    # from version 3 of the samples on; None: not reported

    @property
    def uuid(self):
        return f"GPU-{self.host}-{self.index}"


@dataclasses.dataclass
class Load:
    concurrency: int
    start: float
    end: float
    kind: str = "sa-bench"
    folder: str = "cfg"

    @property
    def stem(self):
        return f"results_concurrency_{self.concurrency}"

    def result(self):
        return {"model_id": "mod\u00e8le", "max_concurrency": self.concurrency, **self.measured(),
                "more": {"b": [1, 2.5, 1e-7], "a": None}}

    def measured(self):
        return {"benchmark_start_time_unix": self.start, "benchmark_end_time_unix": self.end,
                "duration": self.end - self.start, "completed": 10, "total_input_tokens": 30000,
                "total_output_tokens": 6000}


class AgenticLoad(Load):
    """Of agents: a custom benchmark with a formal result."""

    def __init__(self, concurrency, start, end, folder=None):
        super().__init__(concurrency, start, end, "custom", folder or f"agentic/conc_{concurrency}")

    @property
    def stem(self):
        return f"agentic_power_concurrency_{self.concurrency}"

    def result(self):
        return {"max_concurrency": self.concurrency, **self.measured()}


def two_and_two():
    """Prefill GPUs of 400 W, decode GPUs of 300 W: 1400 W together."""
    return [Gpu("node-d", 0, "decode", 300.0, 1), Gpu("node-d", 1, "decode", 300.0, 1),
            Gpu("node-p", 0, "prefill", 400.0, 0), Gpu("node-p", 1, "prefill", 400.0, 0)]


def at(watts, unix_s):
    return watts(unix_s) if callable(watts) else watts


def spelled(value):
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


class Package:
    def __init__(self, gpus=None, loads=None, version=1, first=998.0, last=None, interval=1.0,
                 rules="pinned"):
        self.gpus = gpus or two_and_two()
        self.loads = loads or [Load(4, 1000.0, 1060.0)]
        self.version = version
        self.rules = rules
        self.header = list(HEADERS[version])
        self.rows = []  # lists of cells, as text
        self.scrapes = 0
        last = self.loads[-1].end + 2 if last is None else last
        while first + interval * self.scrapes <= last:
            self.scrape(first + interval * self.scrapes)
        self.windows = {f"{load.stem}.json": self.window(load) for load in self.loads}
        self.results = {f"{load.folder}/{load.stem}.json": load.result() for load in self.loads}
        self.bench = dict(self.results[f"{self.loads[0].folder}/{self.loads[0].stem}.json"])
        self.aggregate = {"hw": "gb200", "conc": self.loads[0].concurrency}
        self.cpu_version = 1
        self.cpu_rows = None
        self.changes = {}  # of the manifest, over what is worked out

    # ---- What was recorded

    def scrape(self, unix_s):
        for gpu in sorted(self.gpus, key=lambda gpu: (gpu.host, gpu.index)):
            cells = [self.version, float(unix_s), self.scrapes, gpu.host, gpu.index, gpu.uuid,
                     float(at(gpu.watts, unix_s))]
            if self.version >= 2:
                cells += [at(gpu.util_pct, unix_s), None]
            if self.version >= 3:
                cells.append(at(gpu.temp_c, unix_s))
            self.rows.append([spelled(cell) for cell in cells])
        self.scrapes += 1

    def add_cpus(self, version=1, source="acpi", sensor="Grace Power Socket {}", watts=100.0,
                 rails=("", "", ""), interval=1.0, module=""):
        """Two sockets for each host, over the whole recording; all of the same watts. The watts of
        the module in version 3 may be those of a time, host and socket."""
        self.cpu_version = version
        self.cpu_rows = []
        begin, end = float(self.rows[0][1]), float(self.rows[-1][1])
        for i in range(int((end - begin) / interval) + 1):
            unix_s = begin + i * interval
            for host in sorted({gpu.host for gpu in self.gpus}):
                for socket in range(2):
                    power = float(at(watts, unix_s))
                    cells = [version, unix_s, host, source, sensor.format(socket), socket, power,
                             *(rails if version > 1 else ()),
                             *([module(unix_s, host, socket) if callable(module) else module]
                               if version == 3 else []), 2 * power]
                    self.cpu_rows.append([spelled(cell) for cell in cells])
        return self

    @staticmethod
    def window(load):
        return {"schema_version": 1, "benchmark_type": load.kind,
                "result_path": f"{load.folder}/{load.stem}.json", "concurrency": load.concurrency,
                "benchmark_start_time_unix": load.start, "benchmark_end_time_unix": load.end,
                "duration": load.end - load.start, "clock_source": "head_node_unix_clock",
                "status": "completed", "reason": None}

    # ---- What the recorder says of it

    def observed(self):
        devices = {}
        for row in self.rows:
            devices.setdefault((row[3], int(row[4])), []).append(row)
        return [{"hostname": host, "gpu_index": index,
                 "gpu_uuids": list(dict.fromkeys(row[5] for row in rows)),
                 "first_sample_time_unix": min(float(row[1]) for row in rows),
                 "last_sample_time_unix": max(float(row[1]) for row in rows)}
                for (host, index), rows in sorted(devices.items())]

    def coverage(self, start, end):
        """The largest gap of each GPU, and what is wrong."""
        gaps, codes = {}, []
        for gpu in sorted(self.gpus, key=lambda gpu: (gpu.host, gpu.index)):
            times = sorted(float(row[1]) for row in self.rows
                           if (row[3], row[4]) == (gpu.host, str(gpu.index)))
            first = bisect.bisect_right(times, start) - 1
            last = bisect.bisect_left(times, end)
            if first < 0 or last == len(times):
                codes.append("measurement_window_not_bracketed")
                continue
            gap = max((b - a for a, b in zip(times[first:last], times[first + 1:last + 1])),
                      default=0.0)
            gaps[f"{gpu.host}/{gpu.uuid}"] = gap
            if gap > MAX_GAP_S:
                codes.append("sample_gap_exceeded")
        return gaps, list(dict.fromkeys(codes))

    def validation(self, load):
        name = f"{load.stem}.json"
        window = self.windows.get(name)
        gaps = {}
        if not isinstance(window, dict):
            name, codes = None, ["measurement_window_missing"]
        elif window["status"] != "completed":
            codes = ["measurement_window_incomplete"]
        elif window["result_path"] not in self.results:
            codes = ["measurement_window_result_missing"]
        else:
            gaps, codes = self.coverage(load.start, load.end)
        return {"benchmark_type": load.kind, "concurrency": load.concurrency,
                "window_file": name and f"windows/{name}", "power_coverage_valid": not codes,
                "reason_codes": codes,
                "per_device_max_sample_gap_seconds":
                    {} if codes and self.rules == "pinned" else gaps}

    def manifest(self):
        manifest = {
            "schema_version": 1, "producer": "srt-slurm.dcgm-power", "producer_version": "1.0",
            "producer_git_commit": PIN, "source_metric": "DCGM_FI_DEV_POWER_USAGE", "unit": "W",
            "power_scope": "gpu_device_board_as_reported_by_dcgm",
            "timestamp_source": "head_node_unix_clock", "job_id": "77", "run_name": "run",
            "sample_interval_seconds": 1.0, "request_timeout_seconds": 2.0,
            "max_scrape_duration_seconds": 0.05, "required": True, "started_at_unix": 990.0,
            "stopped_at_unix": 2000.0, "status": "complete", "publication_valid": True,
            "dcgm_exporter": {"container_image_resolved": "/images/exporter.sqsh",
                              "container_image_sha256": IMAGE, "port": 9401, "command": "run"},
            "expected_devices": [
                {"hostname": gpu.host, "gpu_index": gpu.index,
                 "assignments": [{"worker_role": gpu.role, "worker_index": gpu.worker,
                                  "worker_process": 0, "het_group": gpu.group}]}
                for gpu in self.gpus],
            "observed_devices": self.observed(),
            "expected_windows": [{"benchmark_type": load.kind, "concurrency": load.concurrency}
                                 for load in self.loads],
            "scrape_count": self.scrapes, "sample_row_count": len(self.rows),
            "window_validations": [self.validation(load) for load in self.loads],
            "artifact_errors": [], "reason_codes": []}
        return manifest | self.changes

    # ---- On disk

    def write(self, folder):
        """LOGS/power, the original results below LOGS, run.json and agg_run.json."""
        logs = folder / "LOGS"
        power = logs / "power"
        (power / "windows").mkdir(parents=True)
        write_json(power / "manifest.json", self.manifest())
        write_csv(power / "samples.csv", [self.header, *self.rows])
        for name, window in self.windows.items():
            write_json(power / "windows" / name, window)
        for path, result in self.results.items():
            (logs / path).parent.mkdir(parents=True, exist_ok=True)
            write_json(logs / path, result)
        if self.cpu_rows is not None:
            (power / "cpu").mkdir()
            write_json(power / "cpu" / "cpu_manifest.json", {"schema_version": self.cpu_version})
            write_csv(power / "cpu" / "samples.csv",
                      [CPU_HEADERS[self.cpu_version], *self.cpu_rows])
        # The processed copy was written by another program.
        (folder / "run.json").write_text(json.dumps(self.bench, sort_keys=True,
                                                    ensure_ascii=False))
        (folder / "agg_run.json").write_text(json.dumps(self.aggregate, indent=2))


def write_json(path, value):
    """Text and bytes are written as they are."""
    if isinstance(value, bytes):
        path.write_bytes(value)
    else:
        path.write_text(value if isinstance(value, str) else json.dumps(value, indent=2))


def write_csv(path, rows):
    path.write_bytes(b"".join(os.fsencode(",".join(row)) + b"\r\n" for row in rows))


def edit_json(path, **changes):
    """Sets members of an object; `...` removes one."""
    value = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({key: member for key, member in value.items()
                                if member is not ...}, indent=2))
