"""The windows of a package by the model: the files of the folder `windows`, what each expected
window comes to, and which of them a result belongs to."""
import dataclasses
import hashlib
import json
import math
import pathlib

import gap_model

CLOCK = "head_node_unix_clock"


def is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)


def is_count(value):
    return is_integer(value) and value >= 0


def is_finite_number(value):
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


@dataclasses.dataclass
class Window:
    name: str
    content: dict

    @property
    def key(self):
        return self.content["benchmark_type"], self.content["concurrency"]

    @property
    def start(self):
        return float(self.content["benchmark_start_time_unix"])

    @property
    def end(self):
        return float(self.content["benchmark_end_time_unix"])

    def told(self):
        return {"window_file": f"windows/{self.name}", "result_path": self.content["result_path"],
                "benchmark_type": self.content["benchmark_type"],
                "concurrency": self.content["concurrency"], "start_time_unix": self.start,
                "end_time_unix": self.end, "duration": float(self.content["duration"])}


@dataclasses.dataclass
class Scan:
    """The files of the folder: the windows by key, and what is wrong with the others."""
    logs: pathlib.Path
    windows: dict
    duplicates: set
    errors: list


def parsed(path):
    try:
        return json.loads(path.read_bytes().decode())
    except (OSError, ValueError, RecursionError):
        return None


def is_identified(content):
    return (isinstance(content, dict) and content.get("schema_version") == 1
            and content.get("clock_source") == CLOCK
            and content.get("status") in ("running", "completed", "failed", "interrupted")
            and isinstance(content.get("benchmark_type"), str)
            and is_integer(content.get("concurrency"))
            and is_finite_number(content.get("benchmark_start_time_unix")))


def status_holds(content):
    end, duration, reason = (content.get(key) for key in ("benchmark_end_time_unix", "duration",
                                                          "reason"))
    measured = is_finite_number(end) and is_finite_number(duration) and duration > 0
    has_reason = isinstance(reason, str) and reason != ""
    return {"running": end is None and duration is None and reason is None,
            "interrupted": end is None and duration is None and has_reason,
            "completed": measured and reason is None,
            "failed": measured and has_reason}[content["status"]]


def is_safe(result_path, name, logs):
    if not isinstance(result_path, str) or not result_path or result_path[0] in "/~":
        return False
    parts = [part for part in result_path.split("/") if part not in ("", ".")]
    if not parts or ".." in parts:
        return False
    below = (logs / result_path).resolve().is_relative_to(logs.resolve())
    return below and pathlib.PurePosixPath(result_path).stem == pathlib.PurePosixPath(name).stem


def scan(power, logs, expected):
    found = Scan(logs, {}, set(), [])
    folder = power / "windows"
    if not folder.is_dir():
        return found

    def wrong(name, code):
        found.errors.append({"path": f"windows/{name}", "reason_codes": [code]})

    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if path.is_symlink() or not path.is_file():
            wrong(path.name, "measurement_window_artifact_path_invalid")
            continue
        content = parsed(path)
        if not is_identified(content):
            wrong(path.name, "measurement_window_malformed")
            continue
        if not is_safe(content.get("result_path"), path.name, logs):
            wrong(path.name, "measurement_window_result_path_invalid")
            continue
        if not status_holds(content):
            wrong(path.name, "measurement_window_malformed")
            continue
        window = Window(path.name, content)
        if window.key in found.windows:
            wrong(found.windows[window.key].name, "measurement_window_duplicate")
            wrong(path.name, "measurement_window_duplicate")
            found.duplicates.add(window.key)
        else:
            found.windows[window.key] = window
    for key in found.duplicates:
        found.windows.pop(key)
    for key, window in sorted(found.windows.items()):
        if key not in expected:
            wrong(window.name, "measurement_window_unexpected")
    return found


def result_codes(window, logs):
    original = logs / window.content["result_path"]
    if not original.is_file():
        return ["measurement_window_result_missing"]
    try:
        result = json.loads(original.read_bytes().decode())
    except (OSError, ValueError):
        return ["measurement_window_result_missing"]
    names = "benchmark_start_time_unix", "benchmark_end_time_unix", "duration"
    if not isinstance(result, dict) or any(
            not isinstance(result.get(name), (int, float)) or isinstance(result.get(name), bool)
            or result[name] != window.content[name] for name in names):
        return ["measurement_window_result_mismatch"]
    duration = window.content["duration"]
    if abs((window.end - window.start) - duration) > max(0.5, 0.01 * duration):
        return ["measurement_window_clock_mismatch"]
    return []


def validations(package, rule, emptied):
    """What the samples show about each expected window, by a rule of gaps."""
    rows = []
    for key in dict.fromkeys(package.expected):  # ours: a window that is named twice is told once
        window = package.scan.windows.get(key)
        gaps, name = {}, None
        if window is None:
            codes = ["measurement_window_duplicate" if key in package.scan.duplicates
                     else "measurement_window_missing"]
        else:
            name = f"windows/{window.name}"
            if window.content["status"] != "completed":
                codes = ["measurement_window_incomplete"]
            else:
                codes = result_codes(window, package.scan.logs)
                if not codes:
                    gaps, codes = gap_model.coverage(package, window.start, window.end, rule)
        rows.append({"benchmark_type": key[0], "concurrency": key[1], "window_file": name,
                     "power_coverage_valid": not codes, "reason_codes": codes,
                     "per_device_max_sample_gap_seconds": {} if codes and emptied else gaps})
    return rows


def canonical(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).digest()


def bind(scan, logs, result, is_sound):
    """The window that the result belongs to, or why there is none; the times of a sound benchmark
    must be the window's."""
    if not isinstance(result, dict):
        return None, "invalid_benchmark_result"
    concurrency = result.get("max_concurrency")
    candidates = [window for window in scan.windows.values()
                  if window.content["status"] == "completed"
                  and window.content["concurrency"] == concurrency]
    if len(candidates) != 1:
        return None, "window_for_result_missing"
    window = candidates[0]
    original = logs / window.content["result_path"]
    try:
        content = json.loads(original.read_bytes().decode())
    except (OSError, ValueError):
        return None, "measurement_window_result_missing"
    if canonical(content) != canonical(result):
        return None, "result_content_mismatch"
    if is_sound and (result["benchmark_start_time_unix"] != window.start
                     or result["benchmark_end_time_unix"] != window.end):
        return None, "measurement_window_result_mismatch"
    return window, None
