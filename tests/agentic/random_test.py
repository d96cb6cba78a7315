#!/usr/bin/env python3
"""Compares 'aggregate-power agentic' on random profiles with a reference of its own: contract.md D.

What the reference says is the window or the one reason against it, and what failed requests used of a
constant power. Python's own json, datetime and fractions do the work there.

usage: tests/agentic/random_test.py [RUNS [SEED]]   (default: 400 runs, 100 with QUICK=1), with
       $AGGREGATE_POWER (default: build/aggregate-power)
"""
import fractions
import json
import math
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta, timezone

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / "tests" / folder) for folder in ("", "differential", "multinode")]
import reference  # noqa: E402
import salvage_model  # noqa: E402
from running import PROGRAM, size  # noqa: E402

START = 1_700_000_000
WATTS = 450  # of the only GPU, at all times
ABSENT = object()
KEYS = ("benchmark_start_time_unix", "benchmark_end_time_unix", "duration", "completed", "total_input_tokens",
        "total_output_tokens")


# ---- The reference

class Refused(Exception):
    pass


def unix_seconds(value, zone):
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise Refused("profile_window_invalid")
    if isinstance(value, str):
        try:
            time = datetime.fromisoformat(value.strip().replace("Z", "+00:00"))
        except ValueError:
            raise Refused("profile_window_invalid") from None
        return (time if time.tzinfo else time.replace(tzinfo=zone)).timestamp()
    if not math.isfinite(value):
        raise Refused("profile_window_invalid")
    for limit, divisor in ((1e17, 1e9), (1e14, 1e6), (1e12, 1e3)):
        if value > limit:
            return value / divisor
    return float(value)


def is_naive(value):
    try:
        return isinstance(value, str) and not datetime.fromisoformat(value.strip().replace("Z", "+00:00")).tzinfo
    except ValueError:
        return False


def captured(text):
    if text is None:
        raise Refused("profile_timezone_offset_missing")
    parts = re.fullmatch(r"([+-])(\d\d):?(\d\d)", text.strip())
    if not parts or int(parts[2]) > 23 or int(parts[3]) > 59:
        raise Refused("profile_timezone_offset_invalid")
    minutes = int(parts[2]) * 60 + int(parts[3])
    return timezone(timedelta(minutes=-minutes if parts[1] == "-" else minutes))


def zone_of(start, end, offset, records):
    """The zone of naive times: the requests are between them, but for a minute, and no other zone is stated."""
    flown = [pair for record in records if is_profiling(record) and (pair := times_of(record))]
    if not flown:
        return captured(offset)
    first, last = min(begin for begin, _ in flown) / 10**9, max(end for _, end in flown) / 10**9

    def fits(zone):
        begin, finish = unix_seconds(start, zone), unix_seconds(end, zone)
        return begin < finish and begin <= first + 60 and finish >= last - 60

    try:
        stated, refused = captured(offset), None
    except Refused as reason:
        stated, refused = None, reason
    some = stated or timezone.utc
    if unix_seconds(end, some) <= unix_seconds(start, some):
        raise Refused("profile_window_invalid")
    if stated:
        if not fits(stated):
            raise Refused("profile_timezone_offset_invalid")
        return stated
    quarters = [timezone(timedelta(minutes=15 * quarter)) for quarter in range(-48, 57)]
    fitting = [zone for zone in quarters if fits(zone)]
    if not fitting:
        raise Refused("profile_window_invalid")
    if len(fitting) > 1:
        raise refused
    return fitting[0]


def length(record, key):
    """What int() makes of it; nothing where it raises, or beyond 64 bits."""
    value = record.get("metrics", {}).get(key)
    value = value.get("value") if isinstance(value, dict) else value
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) < 2**63 else None


def window_of(profile):
    """The window's fields, and all records."""
    if profile["summary"] is None or profile["records"] is None:
        raise Refused("profile_artifacts_missing")
    try:
        summary = json.loads(profile["summary"])
        records = [json.loads(line) for line in re.split("[\r\n]", profile["records"]) if line.strip()]
    except ValueError:
        raise Refused("profile_artifacts_invalid") from None
    if not isinstance(summary, dict) or not all(
            isinstance(record, dict) and isinstance(record.get("metadata", {}), dict) for record in records):
        raise Refused("profile_artifacts_invalid")
    start, end = summary.get("start_time"), summary.get("end_time")
    if start is None or end is None:
        raise Refused("profile_window_missing")
    zone = None
    if is_naive(start) or is_naive(end):
        zone = zone_of(start, end, profile["offset"], records)
    start, end = unix_seconds(start, zone), unix_seconds(end, zone)
    if end <= start:
        raise Refused("profile_window_invalid")
    good = [record for record in records if is_profiling(record) and not record.get("error")]
    if not good:
        raise Refused("successful_request_count_invalid")
    sums = []
    for key in ("input_sequence_length", "output_sequence_length"):
        lengths = [length(record, key) for record in good]
        if None in lengths or min(lengths) < 0 or sum(lengths) == 0:
            raise Refused("incomplete_token_accounting")
        sums.append(sum(lengths))
    return dict(zip(KEYS, (start, end, end - start, len(good), *sums))), records


def is_profiling(record):
    return record.get("metadata", {}).get("benchmark_phase") in (None, "profiling")


def times_of(record):
    """When it was in flight, in ns; nothing where it does not say so."""
    metadata = record.get("metadata", {})
    pair = metadata.get("request_start_ns"), metadata.get("request_end_ns")
    return pair if all(type(ns) is int for ns in pair) and pair[1] >= pair[0] else None


def failed_share(window, records):
    """How many requests failed, and their joules; nothing for these where some record has no times, or
    none was in flight in the window."""
    failed = [bool(is_profiling(record) and record.get("error")) for record in records]
    if not any(failed):
        return 0, 0.0
    times = [times_of(record) for record in records]
    if None in times:
        return sum(failed), None
    edges = [round(window[key] * 10**9) for key in KEYS[:2]]
    if not any(start < edges[1] and end > edges[0] for start, end in times):
        return sum(failed), None
    points = sorted({*edges, *(ns for pair in times for ns in pair)})
    share = fractions.Fraction(0)
    for left, right in zip(points, points[1:]):
        if left < edges[0] or right > edges[1]:
            continue
        flying = [fails for fails, (start, end) in zip(failed, times) if start <= left and right <= end]
        if flying:
            share += fractions.Fraction(right - left, 10**9) * WATTS * sum(flying) / len(flying)
    return sum(failed), float(share)


# ---- Random profiles

def written(die, unix_s):
    """A time in one of the many forms that are taken, or in one that is not."""
    zone = timezone(timedelta(minutes=die.choice([0, 0, 330, -480, 60])))
    time = datetime.fromtimestamp(unix_s, zone)
    kind = die.randrange(24)
    if kind < 8:
        return time.isoformat()
    if kind < 13:
        return time.replace(tzinfo=None).isoformat(sep=die.choice("T T"))
    if kind < 15:
        return time.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if kind < 20:
        return die.choice([unix_s, float(unix_s), unix_s * 10**3, unix_s * 1000.0, unix_s * 10**6, unix_s * 10**9])
    if kind < 21:
        return time.strftime(die.choice(["%Y%m%dT%H%M%S%z", "%G-W%V-%uT%H:%M:%S", " %Y-%m-%dT%H:%M:%S,%f%z\n"]))
    if kind < 22:
        text = list(time.isoformat())
        text[die.randrange(len(text))] = die.choice("0123456789TZ:-+. ,x")
        return "".join(text)
    return die.choice([None, ABSENT, True, [], "", "  ", "x", "2023", float("nan"), float("inf"), -5, 0])


def random_length(die):
    value = die.choice([1, 7, 100, die.randrange(10**5)])
    if die.random() < 0.05:
        value = die.choice([0, -1, -0.5, 100.9, 1e3, 10**20, 1e300, "100", " 7 ", "1_0", "x", "", "1.5", True, None, [], {},
                            float("nan"), float("inf"), "\u0663"])
    return die.choice([value, {"value": value, "unit": "tokens"}, {"value": value}])


def random_record(die):
    begin = START * 10**9 + die.randrange(-5 * 10**9, 25 * 10**9)
    metadata = {"benchmark_phase": "profiling", "request_start_ns": begin,
                "request_end_ns": begin + die.choice([0, 10**9, die.randrange(10**10)])}
    if die.random() < 0.2:
        metadata["benchmark_phase"] = die.choice(["warmup", "warmup", None, "", 5, "Profiling", []])
    if die.random() < 0.02:
        metadata[die.choice(["request_start_ns", "request_end_ns"])] = die.choice([None, "1", 1.0, 1])
    record = {"metadata": metadata, "error": None, "metrics": {
        "input_sequence_length": random_length(die), "output_sequence_length": random_length(die)}}
    if die.random() < 0.3:
        record["error"] = die.choice([{"type": "X"}, "boom", 500, 1.5, [0], True, {}, "", [], 0, -0.0, False])
    for key in ("metadata", "error", "metrics"):
        if die.random() < 0.02:
            del record[key]
    if die.random() < 0.005:
        record["metadata"] = die.choice([None, "profiling", []])
    return record


def random_profile(die):
    begin = START + die.randrange(5)
    summary = {"request_count": {"avg": 2.0}, "start_time": written(die, begin),
               "end_time": written(die, begin + die.choice([3, 10]))}
    if die.random() < 0.4:  # as AIPerf writes them, by the clock of some machine
        clock = timezone(timedelta(minutes=die.choice([0, 330, -480, 60, 825])))
        finish = begin + die.choice([3, 10, 700, 800, 1500, 4000])
        summary["start_time"], summary["end_time"] = (
            datetime.fromtimestamp(unix_s, clock).replace(tzinfo=None).isoformat() for unix_s in (begin, finish))
    text = json.dumps({key: value for key, value in summary.items() if value is not ABSENT})
    lines = [json.dumps(random_record(die), ensure_ascii=die.random() < 0.5) for _ in range(die.choice([0, 1, 2, 3, 8]))]
    records = "".join(line + die.choice(["\n", "\n", "\r\n", "\n \n"]) for line in lines)
    offset = die.choice(["+0000", "-0800", "+05:30", " +0100\n", None, "PST", "+2400", "0800"] + ["+0000\n"] * 4)
    if die.random() < 0.03:
        text = die.choice([None, "[]", "null", text[:-3]])
    if die.random() < 0.03:
        records = die.choice([None, records + "[]\n", records + "{", records + "5"])
    return {"summary": text, "records": records, "offset": offset}


def random_telemetry(die):
    """Seconds with the power that is written; some are missing, or have none."""
    rows = {second: str(WATTS) for second in range(-10, 40)}
    kind = die.choice(["whole"] * 5 + ["blanks", "blanks", "gap"])
    if kind == "blanks":
        for second in die.sample(range(-10, 20), die.choice([1, 1, 2, 3])):
            rows[second] = die.choice(["[N/A]", "N/A", ""])
    elif kind == "gap":
        begin = die.randrange(-10, 12)
        for second in range(begin, begin + die.choice([2, 3, 4, 5])):
            del rows[second]
    return rows


# ---- --salvage, and the sets of --keys: contract-october.md 9.2 and 9.3

PERCENTILES = {f"{name}_{of}power_w" for name in ("p75", "p90") for of in ("", "total_gpu_")}
AUDIT = {"power_invalid_reasons", "power_audit"}
METRICS = {*reference.METRICS, "power_metric_schema_version", "power_valid"}
MAY_HAVE = {"seed": METRICS, "row": METRICS | PERCENTILES | AUDIT, "agentx-row": METRICS | PERCENTILES,
            "all": METRICS | PERCENTILES | AUDIT | {
                f"{kind}_tokens_per_second_per_gpu_watt" for kind in ("output", "total")}}
OF_SAMPLES = {"sampling_gap_exceeded", "invalid_power_sample"}


def integrated(window, telemetry):
    benchmark = reference.Benchmark(*(window[key] for key in KEYS))
    rows = [reference.Row(float(START + second), reference.watts_of(power, None), "0")
            for second, power in telemetry.items()]
    integration = reference.Integration(rows, benchmark)
    integration.finish(0)
    return integration


def salvage_faults(folder, profile, window, record):
    row, keys = json.loads((folder / "run.json").read_text()), profile["keys"]
    added = {key for key in row if not key.startswith("salvaged_")}
    if added - MAY_HAVE[keys] or (row["power_valid"] and keys != "seed" and PERCENTILES - added):
        yield f"--keys {keys}: {sorted(added)}"
    found, told = integrated(window, profile["telemetry"]), set(record["reasons"]) - {"benchmark_failed"}
    if told != set(found.reasons):
        yield f"expected {found.reasons}, got {record['reasons']}"
    yield from salvage_model.faults_of_row(keys, record.get("salvage"), row)
    if not told or not set(record["reasons"]) <= OF_SAMPLES or told != set(found.reasons):
        return
    times = {gpu: [unix_s for unix_s, _ in samples] for gpu, samples in found.samples.items()}
    expected = salvage_model.of_series(times, found.blanks, found.start, found.end, found.energies)
    yield from salvage_model.faults_of_record(expected, record.get("salvage"), {gpu: gpu for gpu in times})


# ---- One run

def write(folder, profile):
    artifacts = folder / "results" / "aiperf_artifacts"
    artifacts.mkdir(parents=True)
    for path, text in ((artifacts / "profile_export_aiperf.json", profile["summary"]),
                       (artifacts / "profile_export.jsonl", profile["records"]),
                       (folder / "results" / "agentic_power_timezone_offset.txt", profile["offset"])):
        if text is not None:
            path.write_bytes(text.encode())
    (folder / "results" / "gpu_metrics.csv").write_text("timestamp,index,power.draw [W]\n" + "".join(
        f"{START + second},0,{power}\n" for second, power in profile["telemetry"].items()))
    (folder / "run.json").write_text("{}")


def faults(folder, profile):
    write(folder, profile)
    done = subprocess.run([PROGRAM, "agentic", "--result-dir", "results", "--agg-result", "run.json", "--salvage",
                           "--keys", profile["keys"]], cwd=folder, capture_output=True, text=True, timeout=60, env={"PATH": "/usr/bin:/bin", "TZ": "UTC"})
    record = json.loads((folder / "results" / "power_validation.json").read_text())
    path = folder / "results" / "agentic_power_window.json"
    try:
        window, records = window_of(profile)
    except Refused as reason:
        if record["reasons"] != [str(reason)] or path.exists():
            yield f"expected {reason}, got {record['reasons']} ({done.stderr.strip()})"
        return
    if not path.exists() or path.read_text() != json.dumps(window, indent=2):
        yield f"expected {window}, got {path.read_text() if path.exists() else record['reasons']}"
    elif record["power_valid"]:
        count, joules = failed_share(window, records)
        found = record["failed_requests"]
        alike = found["energy_share_j"] is None if joules is None else \
            isinstance(found["energy_share_j"], float) and abs(found["energy_share_j"] - joules) < 2e-3
        if found["count"] != count or not alike:
            yield f"expected {count} and {joules}, got {found}"
    yield from salvage_faults(folder, profile, window, record)


def main(runs=size(400, 100), seed=1):
    failed = 0
    for run in range(runs):
        profile = random_profile(random.Random(seed * 1_000_003 + run))
        die = random.Random(f"telemetry {seed} {run}")
        profile |= {"telemetry": random_telemetry(die), "keys": die.choice(list(MAY_HAVE))}
        folder = pathlib.Path(tempfile.mkdtemp(prefix="agentic-"))
        found = list(faults(folder, profile))
        if found:
            failed += 1
            print(f"FAILED run {run} of seed {seed} (left in {folder})", *found, sep="\n  ")
        else:
            shutil.rmtree(folder)
    print(f"{runs - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
