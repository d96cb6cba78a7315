"""Backfills, and whether what they say and leave is what a store demands."""
import ctypes
import ctypes.util
import hashlib
import json
import os
import pathlib
import re
import stat
import subprocess
import sys
from urllib.parse import unquote_to_bytes

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faults"))
import patching  # noqa: E402  (beside the tests that share it)
from stores import POWER_KEYS  # noqa: E402

OUTCOMES = ("patched", "unchanged", "not_valid", "not_recomputable", "not_writable", "ambiguous",
            "failed")
REPORT_KEYS = ["run", "layout", "aggregate", "telemetry", "benchmark", "outcome", "reasons",
               "metrics", "timezone", "seconds", "details", "zone", "schema"]
# The load's edges alone tell the zones of most stores here; witnesses_test.py is about others.
BY_EDGES = ["--timezone", "evidence"]
# Schema 2 takes these out of an aggregate, whatever it finds.
REMOVED_KEYS = ["power_invalid_reasons", "prefill_gpu_energy_j", "prefill_avg_power_w",
                "prefill_joules_per_input_token", "decode_gpu_energy_j", "decode_avg_power_w",
                "decode_joules_per_output_token"]


def backfill(*arguments, program=None, environment=None, timeout=120, **options):
    """A backfill that has ended; paths as text, odd bytes as surrogates."""
    zone = [] if {"--timezone", "--help"} & set(arguments) else BY_EDGES
    return subprocess.run([program or patching.PROGRAM, "backfill", *map(os.fspath, arguments), *zone],
                          env=patching.ENVIRONMENT | (environment or {}), timeout=timeout,
                          stdin=subprocess.DEVNULL, capture_output=True, **options)


def read_report(path):
    return [json.loads(line) for line in pathlib.Path(path).read_bytes().splitlines()]


def without_seconds(report):
    """The lines of a report in a certain order, without what a clock told."""
    return sorted(json.dumps({key: value for key, value in line.items() if key != "seconds"},
                             sort_keys=True) for line in report)


# ---- What lies in a folder

def walk(folder):
    """Every path below the folder, as text, with its status; links are not followed."""
    pending = [os.fspath(folder)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                yield os.path.relpath(entry.path, folder), entry
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)


def file_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def contents(folder):
    """Every file and link by its path: its bytes; folders are None."""
    return {path: os.readlink(entry.path).encode(errors="surrogateescape") if entry.is_symlink()
            else None if entry.is_dir(follow_symlinks=False) else file_bytes(entry.path)
            for path, entry in walk(folder)}


def listing(folder):
    """As contents, with all that a touch would change."""
    found = {}
    for path in [".", *(path for path, _ in walk(folder))]:
        full = os.path.join(folder, path)
        status = os.lstat(full)
        data = file_bytes(full) if stat.S_ISREG(status.st_mode) else b""
        found[path] = (status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns,
                       hashlib.sha1(data).digest())
    return found


def differences(wanted, found, most=8):
    """Where two of contents or of listing differ, in words."""
    paths = [path for path in wanted.keys() | found.keys()
             if wanted.get(path, 0) != found.get(path, 0)]
    words = lambda path: ("missing" if path not in found else "new" if path not in wanted
                          else "other")
    return [f"{words(path)}: {path!r}" for path in sorted(paths)[:most]] \
        + ([f"and {len(paths) - most} more"] if len(paths) > most else [])


def without_history(data):
    """A record without the hashes of what passes before it replaced, on which nothing else depends."""
    return data and re.sub(rb',\s*"replaced": \[[^\]]*\]', b"", data)


def temporaries(folder):
    return [path for path, _ in walk(folder) if path.endswith(patching.TEMPORARY)]


def sidecar_path(aggregate):
    folder, name = os.path.split(aggregate)
    return os.path.join(folder, "power_validation_" + name.removeprefix("agg_"))


# ---- Hashes

class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def load_xxhash():
    """The library that xxHash's author wrote, where this machine has it."""
    name = ctypes.util.find_library("xxhash")
    if name is None:
        return None
    library = ctypes.CDLL(name)
    library.XXH3_128bits.restype = Hash128
    library.XXH3_128bits.argtypes = library.XXH3_64bits.argtypes = [ctypes.c_char_p,
                                                                     ctypes.c_size_t]
    library.XXH3_64bits.restype = ctypes.c_uint64
    return library


XXHASH = load_xxhash()


def xxh3_128(data):
    value = XXHASH.XXH3_128bits(data, len(data))
    return f"{value.high:016x}{value.low:016x}"


def shard_of(run, count):
    """By the label of the runner, "..._concN_LABEL", which all runs of the big store have."""
    name = os.fsencode(re.fullmatch(r".*_conc\d+_(.*?)(?:_recipe-.{16})?", run, re.DOTALL)[1])
    return XXHASH.XXH3_64bits(name, len(name)) % count


# ---- One aggregate

def close(key, wanted, found, decimals=None):
    """Equal but for the rounding to so many decimals."""
    if not isinstance(found, (int, float)) or isinstance(found, bool):
        return False
    places = decimals or (3 if key.endswith(("_w", "_j")) else 6)
    return abs(wanted - found) <= 0.500001 * 10 ** -places + 1e-12 * abs(wanted)


def members(data):
    """Pairs of keys and values, numbers as they are spelt."""
    spelt = lambda text: ("number", text)
    return json.loads(data, object_pairs_hook=lambda pairs: pairs, parse_int=spelt,
                      parse_float=spelt)


def aggregate_faults(old, new, metrics):
    """What is wrong with an aggregate behind its backfill under schema 2; metrics {}: not valid."""
    row = patching.parsed(new)
    if row is None:
        yield f"the aggregate is no object any more: {new[-200:]!r}"
        return
    ours = set(POWER_KEYS) | set(REMOVED_KEYS)
    if row.get("power_metric_schema_version") != 2 or row.get("power_valid") != int(bool(metrics)):
        yield f"the aggregate's verdict: {row.get('power_valid')!r}"
    found = {key for key in row if key in ours} - {"power_metric_schema_version", "power_valid"}
    if found != set(metrics):
        yield f"the aggregate has the metrics {sorted(found)}"
    for key, value in metrics.items():
        if not close(key, value, row.get(key)):
            yield f"aggregate: {key} is {row.get(key)!r}, expected {value:.6f}"
    others = lambda data: [pair for pair in members(data) if pair[0] not in ours]
    if others(old) != others(new):
        yield "other members of the aggregate changed"
    # Byte for byte: what is new stands behind the last member; else the lines of the others.
    if not ours & {key for key, _ in members(old)}:
        head = old.rstrip()[:-1].rstrip()
        tail = old[len(head):]
        if not (new.startswith(head) and new.endswith(tail)):
            yield f"other bytes of the aggregate changed: {new!r}"
    elif b"\n" in old:
        lines = lambda data: [line.rstrip().rstrip(b",") for line in data.split(b"\n")
                              if not any(f'"{key}"'.encode() in line for key in ours)]
        if lines(old) != lines(new):
            yield f"other lines of the aggregate changed: {new!r}"
    if old[-1:] != new[-1:]:
        yield "the aggregate's end changed"


def sidecar_faults(data, expected, store=None):
    """What is wrong with the audit record of a run that is patched or not valid."""
    record = patching.parsed(data)
    if record is None or list(record)[:3] != ["schema_version", "power_valid", "reasons"] \
            or list(record)[-1] != "computed_from":
        yield f"the audit record is not whole: {data[-200:]!r}"
        return
    valid = expected.outcome == "patched"
    if record["power_valid"] is not valid:
        yield f"the audit record's power_valid is {record['power_valid']!r}"
    if expected.reasons is not None and record["reasons"] != expected.reasons:
        yield f"the audit record's reasons are {record['reasons']}"
    wanted = expected.metrics if valid and expected.metrics else {}
    if set(record["metrics"]) != set(wanted):
        yield f"the audit record has the metrics {sorted(record['metrics'])}"
    for key, value in wanted.items():
        if not close(key, value, record["metrics"].get(key), 6):
            yield f"audit record: {key} is {record['metrics'].get(key)!r}, expected {value:.6f}"
    origin = record["computed_from"]
    if expected.layout == "agentic":
        yield from agentic_faults(record, expected)
    tail = list(origin)[list(origin).index("inputs"):] if "inputs" in origin else []
    if tail != ["inputs", "options", "patched"]:
        yield f"the last keys of computed_from are {list(origin)[-3:]}"
        return
    if expected.zone_source is not None:
        if origin.get("timezone_source") != expected.zone_source:
            yield f"timezone_source is {origin.get('timezone_source')!r}"
        level = origin.get("timezone_evidence", {}).get("level")
        if expected.zone_source == "evidence" and level not in ("one_witness", "two_witnesses") \
                or expected.zone_source in ("file", "option") and level != "stated":
            yield f"the zone of the source {expected.zone_source} is of the level {level}"
    if expected.zone is not None and origin.get("utc_offset") != expected.zone:
        yield f"utc_offset is {origin.get('utc_offset')!r}, expected {expected.zone}"
    if sorted(origin["options"]) != ["expected_num_gpus", "max_sample_gap_s", "schema_version", "timezone"]:
        yield f"the options are {origin['options']}"
    yield from input_faults(origin["inputs"], expected, store)


def agentic_faults(record, expected):
    source = "aiperf_multinode_custom_benchmark" if expected.has_package else "aiperf_profile_lifecycle"
    if record["computed_from"].get("window_source") != source:
        yield "the window's source is not told"
    # Of what was refused without a look at the package.
    refused = any(reason.startswith(("agentic_", "expected_producer_")) for reason in expected.reasons)
    if ("window_source" in record) != refused or ("failed_requests" in record) == refused:
        yield f"the record's keys are {list(record)}"
    if refused:
        return
    count, joules = expected.failed_requests
    found = record["failed_requests"]
    share = found["energy_share_j"]
    if found["count"] != count or (share is None) != (joules is None) or abs((share or 0) - (joules or 0)) > 1e-5:
        yield f"failed_requests is {found}, expected {count} and {joules}"


def input_faults(inputs, expected, store):
    roles = {"telemetry", "benchmark_result", "aggregate_result"}
    zone_files = {"timezone_file", "timezone_offset_file"}
    known = roles | zone_files | {"energy_start", "energy_end"}
    if expected.has_package:
        roles = {"benchmark_result", "aggregate_result", "manifest.json", "samples.csv", "windows", "links"}
        known = roles | {role for role in inputs if role == "power-producer-sha.txt"
                         or role.startswith(("windows/", "result/"))}
        if expected.layout == "agentic":
            roles |= {role for role in inputs if role.startswith("profile_records/")} or {"profile_records/..."}
            known |= roles
    elif expected.layout == "agentic":
        roles |= {"profile_summary"}
        known |= {"profile_summary", "profile_timezone_offset"}
    if not roles <= set(inputs) <= known:
        yield f"the inputs are {sorted(inputs)}"
    if expected.zone_source == "file" and not zone_files & set(inputs):
        yield "the zone file is no input"
    for role, value in inputs.items():
        if set(value) != {"bytes", "xxh3_128"} or not isinstance(value["bytes"], int) \
                or not re.fullmatch("[0-9a-f]{32}", value["xxh3_128"]):
            yield f"the input {role} is {value}"
        elif store is not None and role in expected.inputs:
            data = file_bytes(os.path.join(store, expected.inputs[role]))
            if value["bytes"] != len(data):
                yield f"the input {role} has {value['bytes']} bytes, its file {len(data)}"
            elif XXHASH and value["xxh3_128"] != xxh3_128(data):
                yield f"the input {role} has the hash {value['xxh3_128']}, not {xxh3_128(data)}"


# ---- A whole backfill

def line_faults(line, expected, with_output):
    """What is wrong with the line of a report of a first backfill."""
    # Of an aggregate that had such members before, they are there too, for --undo.
    is_written_in_place = line.get("outcome") in ("patched", "not_valid") and not with_output
    more = [key for key in ("before", "record_xxh3_128") if key in line]
    if list(line) != [*REPORT_KEYS, *more] or more and not is_written_in_place:
        yield f"the keys are {list(line)}"
        return
    if "before" in line and list(line["before"]) != ["members", "record"]:
        yield f"before is {line['before']}"
    outcomes = expected.outcomes(with_output)
    outcome = line["outcome"]
    if outcome not in outcomes:
        yield f"the outcome is {outcome} {line['reasons']}, expected {' or '.join(outcomes)} " \
              f"{expected.reasons}"
        return
    if expected.layout is not None and line["layout"] != expected.layout:
        yield f"the layout is {line['layout']!r}, expected {expected.layout}"
    if outcome == expected.outcome and expected.reasons is not None \
            and line["reasons"] != expected.reasons:
        yield f"the reasons are {line['reasons']}, expected {expected.reasons}"
    if outcome == "not_writable" and expected.archived \
            and line["reasons"] != ["aggregate_in_archive"]:
        yield f"the reasons are {line['reasons']}, expected aggregate_in_archive"
    if outcome == "patched":
        if set(line["metrics"]) != set(expected.metrics):
            yield f"the metrics are {sorted(line['metrics'])}"
        for key, value in expected.metrics.items():
            if not close(key, value, line["metrics"].get(key)):
                yield f"{key} is {line['metrics'].get(key)!r}, expected {value:.6f}"
    elif outcome == "not_valid" and line["metrics"]:
        yield f"not valid, and yet the metrics are {line['metrics']}"
    if not isinstance(line["seconds"], (int, float)) or line["seconds"] < 0:
        yield f"seconds: {line['seconds']!r}"


class Lines:
    """The lines of a report, found by what they are about."""

    def __init__(self, report, store):
        self.prefix = os.fsencode(store).rstrip(b"/") + b"/"
        self.report = report
        self.unseen = set(range(len(report)))
        self.by_run, self.by_aggregate = {}, {}
        for i, line in enumerate(report):
            for index, key in ((self.by_run, "run"), (self.by_aggregate, "aggregate")):
                for name in self.names(line[key]):
                    index.setdefault(name, set()).add(i)

    def names(self, text):
        """What a text of the report may stand for: names that are no UTF-8 are percent-escaped."""
        if text is None:
            return set()
        names = {text.encode(errors="surrogatepass"), unquote_to_bytes(text)}
        return names | {name[len(self.prefix):] for name in names if name.startswith(self.prefix)}

    def take(self, expected):
        """The lines about a run, which count as found from now on."""
        run = os.fsencode(expected.run)
        if expected.kind == "damaged archive":
            base = os.path.basename(run)
            found = {i for i, line in enumerate(self.report) if line["outcome"] == "failed" and any(
                base in name for key in ("run", "aggregate", "telemetry", "benchmark")
                for name in self.names(line[key]))}
        elif expected.aggregate is None:
            found = {i for i in self.by_run.get(run, ()) if self.report[i]["aggregate"] is None}
        else:
            found = self.by_run.get(run, set()) & self.by_aggregate.get(
                os.fsencode(expected.aggregate), set())
        found &= self.unseen
        self.unseen -= found
        return [self.report[i] for i in sorted(found)]

    def left(self):
        """The lines that no expectation was about."""
        return [self.report[i] for i in sorted(self.unseen)]


def judge(before, store, expected, report, output=None):
    """What is wrong with a first backfill of a store; before: the contents that it had.

    output: the folder that the results went to, when it was not the store.
    """
    lines = Lines(report, store)
    allowed = set()
    now = contents(output or store)
    for one in expected:
        found = lines.take(one)
        label = f"{one.kind}: {one.run!r}"
        if not found and one.optional:
            continue
        if one.kind == "damaged archive" and len(found) > 1:
            found = found[:1]
        if len(found) != 1:
            yield f"{label}: {len(found)} lines, expected one ({one.outcome} {one.reasons})"
            continue
        for fault in line_faults(found[0], one, output is not None):
            yield f"{label}: {fault}"
        outcome = found[0]["outcome"]
        if outcome not in ("patched", "not_valid") or one.aggregate is None:
            continue
        allowed |= {one.aggregate, sidecar_path(one.aggregate)}
        if outcome == one.outcome:
            yield from (f"{label}: {fault}" for fault in written_faults(before, store, one, now))
    for line in lines.left():
        yield f"a line too many: {line}"
    was = before if output is None else {}
    changed = {path for path in was.keys() | now.keys()
               if was.get(path, 0) != now.get(path, 0) and now.get(path, 0) is not None}
    for path in sorted(changed - allowed)[:8]:
        yield f"should not have been written: {path!r}"


def grouped(faults):
    """Faults that say the same of several runs as one, with how often it was said."""
    groups = {}
    for fault in faults:
        kind, _, text = fault.partition(": ")
        groups.setdefault((kind, text.rpartition("': ")[2] or fault), []).append(fault)
    return [same[0] if len(same) == 1 else f"{len(same)} times: {same[0]}"
            for same in sorted(groups.values(), key=len, reverse=True)]


def written_faults(before, store, one, now):
    """What is wrong with the two files that a backfill wrote for a run."""
    new, record = now.get(one.aggregate), now.get(sidecar_path(one.aggregate))
    if new is None or record is None:
        yield "the aggregate or its audit record is not there"
        return
    old = before.get(one.aggregate)
    if old is not None:
        yield from aggregate_faults(old, new, one.metrics if one.outcome == "patched" else {})
    yield from sidecar_faults(record, one, store)


def screen(data):
    """What a terminal shows after these bytes: its lines, without the empty ones at the end."""
    lines, row, column = [[]], 0, 0
    for part in re.findall(rb"\x1b\[[0-9;?]*[A-Za-z]|[\s\S]", data):
        if part == b"\r":
            column = 0
        elif part == b"\n":
            row += 1
            if row == len(lines):
                lines.append([])
        elif part.startswith(b"\x1b["):
            number = int(re.sub(rb"\D", b"", part) or 0)
            if part.endswith(b"K"):
                keep = lines[row][:column] if number == 0 else []
                lines[row] = keep
            elif part.endswith(b"A"):
                row = max(0, row - max(1, number))
            elif part.endswith(b"G"):
                column = max(0, number - 1)
        else:
            lines[row] += b" " * (column + 1 - len(lines[row]))
            lines[row][column] = part[0]
            column += 1
    text = [bytes(line).rstrip().decode(errors="replace") for line in lines]
    while text and not text[-1]:
        text.pop()
    return text
