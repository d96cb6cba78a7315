"""What contract.md says a run must give: a slow model of schema 1 and 2 to hold the program to.

Written from the contract alone, part 0 included where that is cheap. It leans on Python's own
csv, json, statistics and datetime, of which the contract speaks.
"""
import argparse
import codecs
import csv
import dataclasses
import datetime
import io
import json
import math
import os
import pathlib
import re
import statistics
import sys
import zoneinfo

sys.set_int_max_str_digits(0)  # a JSON number may have any length

BAND_S = 3.0  # how far from the window a row still counts, and the longest gap
MOST_WATTS = 3_000  # that a GPU can draw, on average and in any reading: part 0 rows 26 and 31
SENTINELS = {65535, 4294967295, 18446744073709551615, *range(2147483632, 2147483636),
             *range(9223372036854775792, 9223372036854775800),
             *range(140737488355328, 140737488355332)}
SENTINEL_NUMBERS = {float(number) for number in SENTINELS}

METRICS = {  # key to decimals in the aggregate
    "avg_power_w": 3, "avg_total_gpu_power_w": 3, "total_gpu_energy_j": 3,
    "joules_per_successful_query": 6, "joules_per_input_token": 6, "joules_per_output_token": 6,
    "joules_per_total_token": 6,
}
ROLE_METRICS = [
    "prefill_gpu_energy_j", "prefill_avg_power_w", "prefill_joules_per_input_token",
    "decode_gpu_energy_j", "decode_avg_power_w", "decode_joules_per_output_token",
]


@dataclasses.dataclass
class Outcome:
    status: int
    line: str | None = None  # on stdout, behind the program's name
    power_members: dict | None = None  # of the aggregate; None: its bytes stay
    sidecar: dict | None = None
    sidecar_path: str | None = None
    integration: object = None  # of schema 2


class Unreadable(Exception):
    """The CSV breaks off: a cell is too long."""


class UnknownZone(Exception):
    """A zone file is there and cannot be used."""


# ---- the command line


def parse_options(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--csv", type=pathlib.Path)
    parser.add_argument("--bench-result", type=pathlib.Path, required=True)
    parser.add_argument("--agg-result", type=pathlib.Path, required=True)
    parser.add_argument("--expected-num-gpus", type=int)
    parser.add_argument("--validation-result", type=pathlib.Path)
    parser.add_argument("--require-power", action="store_true")
    parser.add_argument("--timezone")
    parser.add_argument("--power-unit", choices=["mW", "W", "kW"])
    options = parser.parse_args(arguments)
    wanted = os.environ.get("REQUIRE_POWER", "").lower()
    options.require_power = options.require_power or wanted in ("1", "true", "yes")
    options.schema = 1 if options.expected_num_gpus is None else 2
    if options.validation_result is None and options.schema == 2:
        name = f"power_validation_{options.bench_result.stem}.json"
        options.validation_result = options.bench_result.parent / name
    return options


# ---- the benchmark result


def read_object(path):
    """The file's JSON object, or None."""
    try:
        value = json.loads(path.read_bytes().decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def as_seconds(value, schema):
    """A finite number as double, or None. Schema 1 takes booleans for 0 and 1."""
    if isinstance(value, bool) and schema == 2 or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def as_count(value, schema):
    if not isinstance(value, int) or isinstance(value, bool) and schema == 2:
        return 0
    return int(value) if 0 < value < 2**63 else 0


@dataclasses.dataclass
class Benchmark:
    start: float
    end: float
    duration: float
    completed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def record(self):
        return {
            "start_time_unix": self.start,
            "end_time_unix": self.end,
            "reported_duration_s": self.duration,
            "integration_duration_s": self.end - self.start,
            "completed": self.completed,
            "total_input_tokens": self.input_tokens,
            "total_output_tokens": self.output_tokens,
        }


def read_benchmark(path, schema):
    """The benchmark or None, and the reasons against it."""
    members = read_object(path)
    if members is None:
        return None, ["invalid_benchmark_result"]
    names = ("benchmark_start_time_unix", "benchmark_end_time_unix", "duration")
    times = [as_seconds(members.get(name), schema) for name in names]
    if None in times or times[1] <= times[0] or times[2] <= 0:
        return None, ["invalid_benchmark_window"]
    benchmark = Benchmark(*times)
    benchmark.completed = as_count(members.get("completed"), schema)
    benchmark.input_tokens = as_count(members.get("total_input_tokens"), schema)
    benchmark.output_tokens = as_count(members.get("total_output_tokens"), schema)
    if schema == 1:
        if benchmark.output_tokens:
            return benchmark, []
        return None, ["invalid_output_token_count"]
    window_s = benchmark.end - benchmark.start
    faults = {
        "benchmark_duration_mismatch":
            abs(benchmark.duration - window_s) > max(0.5, window_s * 0.01),
        "invalid_successful_query_count": not benchmark.completed,
        "invalid_input_token_count": not benchmark.input_tokens,
        "invalid_output_token_count": not benchmark.output_tokens,
    }
    return benchmark, [reason for reason, is_so in faults.items() if is_so]


# ---- cells


NUMBER = re.compile(r"-?\d+(\.\d+)?")
READING = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\w*)")
FACTORS = {"w": 1, "watt": 1, "watts": 1, "mw": 1e-3, "mwatt": 1e-3, "mwatts": 1e-3,
           "kw": 1e3, "kwatt": 1e3, "kwatts": 1e3, "kilowatt": 1e3, "kilowatts": 1e3,
           "milliwatt": 1e-3, "milliwatts": 1e-3}
SHORT_TIME = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d?):(\d\d?):(\d\d?)(\.\d+)?", re.ASCII)


def unix_seconds(text, zone, fold=0):
    """The time that a stripped cell tells, or None; of an hour shown twice, in the first pass or the second."""
    if NUMBER.fullmatch(text):
        number = float(text)
        for limit, divisor in ((1e17, 1e9), (1e14, 1e6), (1e12, 1e3)):
            if number > limit:
                return number / divisor if math.isfinite(number) else None
        return number if math.isfinite(number) else None
    clock = None
    for form in ("%Y/%m/%d %H:%M:%S.%f", "%Y/%m/%d %H:%M:%S"):
        try:
            clock = datetime.datetime.strptime(text, form)
            break
        except ValueError:
            pass
    if clock is None:
        short = SHORT_TIME.fullmatch(text)
        if short:
            text = "{} {:0>2}:{:0>2}:{:0>2}{}".format(*short.groups(default=""))
        if "T" not in text:
            text = text.replace(" ", "T", 1)
        try:
            clock = datetime.datetime.fromisoformat(text)
        except ValueError:
            return None
    if clock.tzinfo is None and clock.toordinal() == 1:
        return None  # its neighbours in other zones are before the first year
    try:
        if clock.tzinfo is None and zone is not None:
            clock = clock.replace(tzinfo=zone)
        return clock.replace(fold=fold).timestamp()
    except (ValueError, OverflowError):
        return None


def watts_of(text, header_factor, given_factor=None):
    """The reading of a stripped power cell, or None. What is given goes before the header."""
    if given_factor:
        header_factor = None
    match = READING.fullmatch(text)
    if not match:
        return None
    unit = match[2].lower()
    if unit and unit not in FACTORS:
        return None
    if unit and header_factor and FACTORS[unit] != header_factor:
        return None
    number = float(match[1])
    if not math.isfinite(number) or number in SENTINEL_NUMBERS:
        return None
    factor = FACTORS[unit] if unit else given_factor or header_factor or 1
    watts = number / 1000 if factor == 1e-3 else number * factor
    return watts if math.isfinite(watts) else None


# ---- the telemetry


LIMIT = re.compile(r"limit|cap|default|enforced|requested|(^|[^a-z])(max|min)([^a-z]|$)", re.I)
NO_DRAW = re.compile(r"power[._ ]?(management|state|profile|mode|unit|type)|brake|throttle|_mj$"
                     r"|energy|joule|clocks_(event|throttle)_reasons", re.I)
NO_STAMP = re.compile(r"time[ ._-]?(ms|s|us)$|up_?time|elapsed|duration|run_?time|relative", re.I)
OWN_POWER = ["socket_power", "current_socket_power", "average_socket_power", "current_power",
             "power_usage", "power.draw", "power.draw.average", "power.draw.instant"]
# Words that name no GPU, as `names_no_gpu` has them.
NO_GPUS = {"-1", "-", "--", "n/a", "na", "none", "null", "nil", "nan", "not available", "not supported", "not found",
           "unknown", "undefined", "error", "unknown error"}
GPU_NAMES = re.compile(r"index|gpu|gpu_id|gpu_index|card|device", re.I)
UNIT = re.compile(r"(.*?)\s*[\[(]\s*(\w+)\s*[\])]|(.*[ ._-](\w+))")


def split_unit(name):
    """A header's name without its unit, and the factor that the unit means or None."""
    match = UNIT.fullmatch(name)
    unit = match and (match[2] or match[4]).lower()
    if unit not in FACTORS:
        return name, None
    return (match[1] if match[2] else name), FACTORS[unit]


def is_counted_up(cells):
    if len({int(cell) for cell, _ in cells}) < 5:
        return False
    steps = [(int(b) - int(a), time != before) for (a, before), (b, time) in zip(cells, cells[1:])]
    return all(step == 1 for step, _ in steps) or all(step == later for step, later in steps)


class Columns:
    """Which names of a header hold what; of a name that occurs twice the last column counts."""

    def __init__(self, header, rows):
        self.size = len(header)
        self.place = {name.strip(): i for i, name in enumerate(header)}
        names = list(dict.fromkeys(name.strip() for name in header))
        self.power = self.choose_power(names)
        times = [name for name in names if "time" in name.lower() and not NO_STAMP.search(name)]
        own = [name for name in times if name.lower() in ("timestamp", "timestamp_unix")]
        self.stamp = (own + times + [None])[0]
        self.gpu = self.choose_gpu(names, rows)
        self.uuid = next((name for name in names if name.lower() in ("uuid", "gpu_uuid")), None)
        self.factor = split_unit(self.power)[1] if self.power else None

    @staticmethod
    def choose_power(names):
        for wanted in OWN_POWER:
            for name in names:
                if split_unit(name)[0].lower() == wanted:
                    return name
        for name in names:
            if "power" in name.lower() and not LIMIT.search(name) and not NO_DRAW.search(name):
                return name
        return None

    def choose_gpu(self, names, rows):
        def varies(name):
            cells = {self.cell(row, name) for row in rows} - {""}
            return len(cells) > 1

        candidates = [name for name in names if GPU_NAMES.fullmatch(name)]
        candidates = [name for name in candidates if not self.numbers_the_rows(rows, name, candidates)]
        for other in ("uuid", "gpu_uuid", "pci.bus_id", "serial", "pci.bus", "module_id"):
            candidates += [name for name in names if name.lower() == other]
        if not candidates:
            return None
        return next((name for name in candidates if varies(name)), candidates[0])

    def timed_numbers(self, rows, name):
        """A column's numbers with the times beside them; none if a cell is something else."""
        cells = [(self.cell(row, name), self.cell(row, self.stamp)) for row in rows
                 if self.place[name] < len(row)]
        return cells if all(re.fullmatch(r"\d+", cell) for cell, _ in cells) else []

    def numbers_the_rows(self, rows, name, others):
        """Whether it has the next number in each row, or at each time, as a count of samples has: rows of many
        seconds are no GPUs, nor where another column names GPUs."""
        if not self.stamp or self.stamp == name or not is_counted_up(self.timed_numbers(rows, name)):
            return False
        seconds = {re.match(r"\d{10}(?=\d*$)|[^.,]*", time)[0] for _, time in self.timed_numbers(rows, name)}
        theirs = [self.timed_numbers(rows, other) for other in others if other != name]
        return len(seconds) >= 5 or any(
            len({cell for cell, _ in cells}) < len(cells) and not is_counted_up(cells) for cells in theirs)

    def cell(self, row, name):
        place = self.place[name]
        return row[place].strip() if place < len(row) else ""


def decode(data):
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = data.decode("utf-16", errors="replace")
    else:
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", errors="replace")
    return text.replace("\0", "")


def split_rows(text):
    """The rows, as far as they can be read; whether all can; whether the last one is terminated."""
    mark = "end of text"
    rows = []
    try:
        for row in csv.reader(io.StringIO(text + mark, newline=""), skipinitialspace=True):
            rows.append(row)
    except csv.Error:
        return rows, False, True
    terminated = rows[-1] == [mark]
    if terminated:
        rows.pop()
    else:
        rows[-1][-1] = rows[-1][-1].removesuffix(mark)
    return rows, True, terminated


def holds_line_break(row):
    return any("\n" in cell or "\r" in cell for cell in row)


def is_blank(row):
    return len(row) == 0 or len(row) == 1 and not row[0].strip()


@dataclasses.dataclass
class Row:
    unix_s: float | None
    watts: float | None
    gpu: str | None


# Two clocks on which only a stamp with an offset of its own is one instant.
ELSEWHERE = [datetime.timezone(datetime.timedelta(hours=hours)) for hours in (1, 2)]


def read_telemetry(options):
    zone, is_known = zone_of(options)
    telemetry = Telemetry(options.csv, zone, FACTORS.get((options.power_unit or "").lower()))
    if telemetry.is_naive and not is_known:
        raise UnknownZone
    if not telemetry.columns.gpu and options.expected_num_gpus == 1:  # all rows are those of GPU 0
        telemetry.rows = [dataclasses.replace(row, gpu="0") for row in telemetry.rows]
        telemetry.is_of_only_gpu = True
    return telemetry


def may_be_of_several(rows):
    """Whether rows that name no GPU repeat a time, go back in time, or come in groups."""
    stamps = [row.unix_s for row in rows if row.unix_s is not None]
    intervals = [b - a for a, b in zip(stamps, stamps[1:])]
    if min(intervals, default=1) <= 0:
        return True
    uneven = sum(max(a, b) > 4 * min(a, b) for a, b in zip(intervals, intervals[1:]))
    return uneven >= 2 and 12 * uneven > len(intervals) - 1


@dataclasses.dataclass
class Passes:
    """How the rows of one GPU go through an hour that is shown twice."""
    last: float | None = None
    was_inside: bool = False
    hour: tuple | None = None
    falls: int = 0
    is_disordered: bool = False
    lacks_an_hour: bool = False

    def go_on(self, unix_s, size):
        falls = self.last is not None and unix_s < self.last - 3
        if size > 0:
            begin = unix_s // size * size
            self.hour = (begin, begin + 2 * size)
            self.falls += falls and self.was_inside
            self.is_disordered |= falls and not self.was_inside
            self.last = unix_s if falls or self.last is None else max(unix_s, self.last)
        else:
            if self.was_inside and not self.falls and unix_s - self.last >= (self.hour[1] - self.hour[0]) / 2:
                self.lacks_an_hour = True
            self.last = unix_s
        self.was_inside = size > 0

    def is_ambiguous(self):
        return self.hour and (self.is_disordered or self.falls > 1 or not self.falls and self.lacks_an_hour)


class Telemetry:
    def __init__(self, path, zone, factor):
        self.rows = []
        self.factor = factor  # that was given
        self.complete = True
        self.is_naive = False  # some stamp has no offset of its own
        self.is_of_only_gpu = False  # without a column that says so
        self.passes = {}  # by GPU: how it went through an hour shown twice
        text = decode(path.read_bytes())
        rows, self.complete, terminated = split_rows(text)
        header_at, self.columns = self.find_header(rows)
        columns = self.columns
        if not columns.stamp or not columns.power:
            return
        rows = rows[header_at + 1 :]
        for i, row in enumerate(rows):
            is_last = not terminated and i == len(rows) - 1
            torn = is_last and len(row) < columns.size and not holds_line_break(row)
            if is_blank(row) or torn or is_last and self.is_power_cut_off(row, rows[:63]):
                continue
            self.take(row, zone)

    def is_power_cut_off(self, row, others):
        """Whether the row ends in a number that lacks the unit, or digits, of all others."""
        columns = self.columns
        if len(row) != columns.size or columns.place[columns.power] != columns.size - 1:
            return False
        forms = [re.fullmatch(r"\d*\.?(\d*)\s*(\w*)", columns.cell(one, columns.power)) for one in [row, *others]]
        if None in forms or len(forms) < 2:
            return False
        (places, unit), *rest = [(len(form[1]), form[2]) for form in forms]
        return places < min(one for one, _ in rest) or len({one for _, one in rest}) == 1 and unit != rest[0][1]

    @staticmethod
    def find_header(rows):
        for i, row in enumerate(rows[:64]):
            columns = Columns(row, rows[i + 1 : 64])
            if columns.stamp and columns.power and columns.stamp != columns.power:
                return i, columns
        for i, row in enumerate(rows[:64]):  # nvidia-smi's names are known without a time too
            columns = Columns(row, rows[i + 1 : 64])
            if columns.power and columns.power.startswith("power.draw") and columns.gpu:
                return i, columns
        for i, row in enumerate(rows):
            if not is_blank(row) and not row[0].strip().startswith("#"):
                return i, Columns(row, rows[i + 1 : 64])
        return 0, Columns([], [])

    def in_its_pass(self, gpu, first, second):
        """Part 0 row 33: the order of the rows says which pass of an hour they are of."""
        if first is None or second is None:
            return first
        gone = self.passes.setdefault(gpu, Passes())
        gone.go_on(first, second - first)
        return second if second > first and gone.falls else first

    def repeated_hours(self):
        """The hours, as seconds from one time to another, whose rows may be of either pass."""
        return {gone.hour for gone in self.passes.values() if gone.is_ambiguous()}

    def take(self, row, zone):
        columns = self.columns
        stamp, power = columns.cell(row, columns.stamp), columns.cell(row, columns.power)
        unix_s = unix_seconds(stamp, zone)
        if unix_s is not None and unix_seconds(stamp, ELSEWHERE[0]) != unix_seconds(stamp, ELSEWHERE[1]):
            self.is_naive = True
        is_header = len(row) == columns.size and (stamp, power) == (columns.stamp, columns.power)
        if unix_s is None and is_header:
            return
        too_long = any(cell.strip() for cell in row[columns.size:])
        watts = None if too_long else watts_of(power, columns.factor, self.factor)
        gpu = columns.cell(row, columns.gpu) if columns.gpu else None
        unix_s = self.in_its_pass(gpu, unix_s, unix_seconds(stamp, zone, fold=1))
        uuid = columns.cell(row, columns.uuid) if columns.uuid else ""
        if names_no_gpu(uuid):
            uuid = ""
        if gpu and names_no_gpu(gpu):
            gpu = uuid
        elif gpu and gpu.isdigit() and not gpu.isdecimal() and not uuid:
            gpu = ""
        self.rows.append(Row(unix_s, watts, gpu))


def names_no_gpu(text):
    return text.strip("[]").lower() in NO_GPUS


def is_clock_set_back(telemetry, benchmark):
    return any(begin < benchmark.end and end > benchmark.start for begin, end in telemetry.repeated_hours())


def gpu_order(name):
    return (0, int(name), "") if name.isdecimal() else (1, 0, name)


# ---- schema 1


def mean_power(rows, benchmark):
    """Mean watts per GPU and the number of GPUs, or None."""
    ticks = {}
    for row in rows:
        if row.unix_s is None or row.watts is None or row.watts < 0:
            continue
        if benchmark.start <= row.unix_s <= benchmark.end:
            ticks.setdefault(round(row.unix_s, 3), []).append(row)
    if not ticks:
        return None
    by_gpu = {}
    for row in (row for tick in ticks.values() for row in tick if row.gpu):
        by_gpu.setdefault(row.gpu, []).append(row.watts)
    if any(row.watts > MOST_WATTS for tick in ticks.values() for row in tick):
        return None
    seen = {row.gpu for tick in ticks.values() for row in tick} - {"", None}
    if not seen:
        means = [add_up(row.watts for row in tick) / len(tick) for tick in ticks.values()]
        return statistics.mean(means), max(len(tick) for tick in ticks.values())
    return statistics.mean(map(mean_of_tick, ticks.values())), len(seen)


def mean_of_tick(tick):
    shares = []  # a GPU's readings, or one reading of no GPU
    for row in tick:
        same = next((share for share in shares if row.gpu and share[0].gpu == row.gpu), None)
        if same is None:
            shares.append([row])
        else:
            same.append(row)
    named = sum(1 for share in shares if share[0].gpu)
    return add_up(mean_watts(share) for share in shares) / max(named, 1)


def mean_watts(rows):
    return rows[0].watts if len(rows) == 1 else statistics.mean(row.watts for row in rows)


def add_up(numbers):
    """From left to right, as sum() did before Python 3.12."""
    total = 0.0
    for number in numbers:
        total += number
    return total


# ---- schema 2


class Integration:
    def __init__(self, rows, benchmark):
        self.start, self.end = benchmark.start, benchmark.end
        self.reasons = []
        self.samples = {}  # GPU to (time, watts) in order, each time once
        self.counts, self.gaps, self.energies, self.issues = {}, {}, {}, {}
        self.highest = {}  # of the readings that the energy depends on
        self.blanks = {}  # GPU to times inside the window without a reading
        self.boundary_rows = {}  # GPU to rows outside the window that have no power: part 0 row 24
        self.collect(rows)

    def say(self, reason):
        if reason not in self.reasons:
            self.reasons.append(reason)

    def collect(self, rows):
        readings = {}
        nameless = False
        for row in rows:
            if row.unix_s is None:
                self.say("invalid_timestamp_sample")
            elif not self.start - BAND_S <= row.unix_s <= self.end + BAND_S:
                continue
            elif not self.start <= row.unix_s <= self.end and not (row.watts or 0) > 0:
                name = row.gpu or "unknown"
                self.boundary_rows[name] = self.boundary_rows.get(name, 0) + 1
            elif row.watts is None or row.watts < 0:
                self.say("invalid_power_sample")
                self.blanks.setdefault(row.gpu or "unknown", []).append(row.unix_s)
            elif not row.gpu:
                nameless = True
            else:
                readings.setdefault(row.gpu, {}).setdefault(row.unix_s, []).append(row)
        self.nameless = nameless
        for gpu in sorted(readings, key=gpu_order):
            by_time = sorted(readings[gpu].items())
            self.samples[gpu] = [(unix_s, mean_watts(same)) for unix_s, same in by_time]

    def finish(self, expected):
        if self.nameless:
            self.say("gpu_identity_missing")
        if not self.samples:
            self.say("no_usable_power_samples")
            return
        if expected > 0 and len(self.samples) != expected:
            self.say("expected_gpu_count_mismatch")
        for gpu, samples in self.samples.items():
            self.counts[gpu] = len(samples)
            issue = self.measure(gpu, samples)
            if issue:
                self.issues[gpu] = [issue]
                self.say(issue)
        for gpu in self.energies:
            if self.highest[gpu] > MOST_WATTS or self.energies[gpu] / (self.end - self.start) > MOST_WATTS:
                self.issues.setdefault(gpu, ["implausible_power"])
                self.say("implausible_power")
        seen = [any(self.start <= unix_s <= self.end for unix_s, _ in samples) for samples in self.samples.values()]
        if not self.reasons and not all(seen):
            self.say("insufficient_power_samples")  # of our own: no reading is in the window

    def measure(self, gpu, samples):
        """Energy and largest gap of one GPU. Gives what is wrong with it, or None."""
        if len(samples) < 2:
            return "insufficient_power_samples"
        if samples[0][0] > self.start or samples[-1][0] < self.end:
            return "benchmark_window_not_bracketed"
        first = max(i for i, (unix_s, _) in enumerate(samples) if unix_s <= self.start)
        last = min(i for i, (unix_s, _) in enumerate(samples) if unix_s >= self.end)
        around = [unix_s for unix_s, _ in samples[first : last + 1]]
        gap = max((b - a for a, b in zip(around, around[1:])), default=0.0)
        self.gaps[gpu] = gap
        inside = [sample for sample in samples if self.start < sample[0] < self.end]
        edges = [(edge, watts_at(samples, edge)) for edge in (self.start, self.end)]
        self.highest[gpu] = max(watts for _, watts in samples[first : last + 1])
        points = edges[:1] + inside + edges[1:]
        self.energies[gpu] = trapezoids(points)
        return "sampling_gap_exceeded" if gap > BAND_S else None


def watts_at(samples, edge):
    after = next(i for i, (unix_s, _) in enumerate(samples) if unix_s >= edge)
    t1, p1 = samples[after]
    if t1 - edge <= 1e-9:
        return p1
    t0, p0 = samples[after - 1]
    return p0 + ((edge - t0) / (t1 - t0)) * (p1 - p0)


def trapezoids(points):
    return add_up((t1 - t0) * (p0 + p1) / 2.0 for (t0, p0), (t1, p1) in zip(points, points[1:]))


def finite_or_none(number):
    return number if number is None or math.isfinite(number) else None


def metrics_of(energies, benchmark):
    energy = add_up(energies.values())
    total_w = energy / (benchmark.end - benchmark.start)
    values = [
        total_w / len(energies),
        total_w,
        energy,
        energy / benchmark.completed,
        energy / benchmark.input_tokens,
        energy / benchmark.output_tokens,
        energy / (benchmark.input_tokens + benchmark.output_tokens),
    ]
    return dict(zip(METRICS, values))


# ---- the energy counters


def read_snapshot(path):
    try:
        rows, complete, _ = split_rows(decode(path.read_bytes()))
    except OSError:
        raise Unreadable from None
    if not complete:
        raise Unreadable
    rows = [row for row in rows if not is_blank(row)]
    header = [name.strip() for name in rows[0]] if rows else []
    if "gpu" not in header or "total_energy_consumption" not in header:
        return None
    place = {name: i for i, name in enumerate(header)}
    joules = {}
    for row in rows[1:]:
        cells = [row[i].strip() if i < len(row) else ""
                 for i in (place["gpu"], place["total_energy_consumption"])]
        try:
            number = float(cells[1])
        except ValueError:
            continue
        if cells[0] and math.isfinite(number):
            joules[cells[0]] = number
    return joules or None


def check_counters(options):
    csv_path = options.csv
    paths = {which: csv_path.parent / f"{csv_path.stem}_energy_{which}.csv"
             for which in ("start", "end")}
    if not any(path.is_file() for path in paths.values()):
        return None
    for which, path in paths.items():
        if not path.is_file():
            return {"available": False, "reason": f"missing_{which}_snapshot"}
    snapshots = []
    try:
        for which, path in paths.items():
            snapshots.append(read_snapshot(path))
            if snapshots[-1] is None:
                return {"available": False, "reason": f"unparseable_{which}_snapshot"}
        telemetry = read_telemetry(options)
    except (OSError, Unreadable, UnknownZone):
        return {"available": False, "reason": "cross_check_error"}
    has_gpus = telemetry.columns.gpu or telemetry.is_of_only_gpu
    has_columns = telemetry.columns.stamp and telemetry.columns.power and has_gpus
    if has_columns and not telemetry.complete:
        return {"available": False, "reason": "cross_check_error"}
    return compare_counters(*snapshots, telemetry.rows if has_columns else [])


def compare_counters(start, end, rows):
    stream = {}
    for row in rows:
        if row.unix_s is not None and row.watts is not None and row.gpu:
            stream.setdefault(row.gpu, []).append((row.unix_s, row.watts))
    for samples in stream.values():
        samples.sort()
    deltas = {gpu: end[gpu] - start[gpu] for gpu in sorted(set(start) & set(end), key=gpu_order)}
    integrated = [gpu for gpu in deltas if gpu in stream]
    stream_j = add_up(trapezoids(stream[gpu]) for gpu in integrated)
    delta_j = add_up(deltas.values())
    stamps = [unix_s for gpu in integrated for unix_s, _ in stream[gpu]]
    negative = [gpu for gpu, delta in deltas.items() if delta < 0]
    error = abs(delta_j - stream_j) / delta_j if delta_j > 0 else None
    return {
        "available": True,
        "accumulator_delta_j": finite_or_none(delta_j),
        "integrated_stream_j": finite_or_none(stream_j),
        "relative_error": finite_or_none(error),
        "within_tolerance": error is not None and not negative and error <= 0.05,
        "tolerance": 0.05,
        "per_gpu_delta_j": deltas,
        "integrated_gpu_ids": integrated,
        "unmatched_gpus": sorted(set(start) ^ set(end), key=gpu_order),
        "negative_delta_gpus": negative,
        "stream_span_s": max(stamps) - min(stamps) if stamps else 0.0,
    }


# ---- one run


def zone_named(text):
    """The zone, None for the process's. Raises ValueError or KeyError for a text that is none."""
    if text == "local":
        return None
    if re.fullmatch(r"[+-]\d\d:?\d\d", text):
        size = datetime.timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
        return datetime.timezone(-size if text[0] == "-" else size)
    return zoneinfo.ZoneInfo("UTC" if text == "Z" else text)


def zone_of(options):
    """The zone of stamps without an offset, and whether it is known: part 0 row 7."""
    if options.timezone is not None:
        return zone_named(options.timezone), True
    context = options.csv.parent / f"{options.csv.stem}_context.json"
    offset = options.csv.parent / "agentic_power_timezone_offset.txt"
    try:
        if context.exists():
            return zone_named((read_object(context) or {})["timestamp_timezone"]), True
        return zone_named(offset.read_text().strip() if offset.exists() else "local"), True
    except (ValueError, KeyError, TypeError):
        return None, False


def find_csv():
    named = os.environ.get("GPU_METRICS_CSV")
    if named:
        return pathlib.Path(named)
    usual = [pathlib.Path("gpu_metrics.csv"), pathlib.Path("/workspace/gpu_metrics.csv")]
    return next((path for path in usual if path.exists()), usual[0])


def aggregate(arguments):
    """What a run in the current folder and environment must give."""
    try:
        options = parse_options(arguments)
    except SystemExit as stop:
        return Outcome(status=stop.code)
    options.csv = options.csv or find_csv()
    benchmark, reasons = read_benchmark(options.bench_result, options.schema)
    model = schema_1 if options.schema == 1 else schema_2
    return model(options, benchmark, reasons)


def zero_faults(metrics):
    """No run has a metric that would be written as 0.0 although it is more."""
    faults = {"joules_per_successful_query": "invalid_successful_query_count",
              "joules_per_input_token": "invalid_input_token_count"}
    found = [faults.get(key, "invalid_output_token_count" if key.startswith("joules_") else "implausible_power")
             for key, value in metrics.items() if value > 0 and round(value, METRICS[key]) == 0]
    return list(dict.fromkeys(found))


def schema_1(options, benchmark, reasons):
    invalid = Outcome(status=1 if options.require_power else 0)
    if reasons:
        return invalid
    if not options.csv.is_file() or options.csv.stat().st_size == 0:
        return invalid
    try:
        telemetry = read_telemetry(options)
    except UnknownZone:
        return invalid
    result = mean_power(telemetry.rows, benchmark) if telemetry.complete else None
    if is_clock_set_back(telemetry, benchmark):
        return invalid
    if result is None or read_object(options.agg_result) is None:
        return invalid
    watts, gpus = result
    if watts > MOST_WATTS:
        return invalid
    energy = watts * gpus * benchmark.duration
    per_output = energy / benchmark.output_tokens
    per_token = energy / (benchmark.output_tokens + benchmark.input_tokens)
    if not all(map(math.isfinite, (watts, per_output, per_token))):
        return invalid
    if zero_faults({"avg_power_w": watts, "joules_per_output_token": per_output, "joules_per_total_token": per_token}):
        return invalid
    line = (
        f"avg_power_w={watts:.2f} (per GPU, n={gpus}) joules_per_output_token={per_output:.4f} "
        f"joules_per_total_token={per_token:.4f} duration={benchmark.duration:.1f}s "
        f"output_tokens={benchmark.output_tokens} input_tokens={benchmark.input_tokens} "
        f"-> {options.agg_result}"
    )
    members = {
        "avg_power_w": round(watts, 3),
        "joules_per_output_token": round(per_output, 6),
        "joules_per_total_token": round(per_token, 6),
    }
    return Outcome(status=0, line=line, power_members=members)


def telemetry_faults(path):
    if not path.is_file():
        return ["telemetry_file_missing"]
    return ["telemetry_file_empty"] if path.stat().st_size == 0 else []


def integrate(options, benchmark):
    """The integration or None, and the reasons against it."""
    count = options.expected_num_gpus
    early = ["invalid_expected_gpu_count"] if count <= 0 else []
    faults = telemetry_faults(options.csv)
    if faults:
        return None, early + faults
    try:
        telemetry = read_telemetry(options)
    except UnknownZone:
        return None, early + ["telemetry_file_unreadable"]
    columns = telemetry.columns
    named = {"timestamp": columns.stamp, "power": columns.power, "gpu_identity": columns.gpu or telemetry.is_of_only_gpu}
    missing = [f"{what}_column_missing" for what, name in named.items() if not name]
    if missing:
        return None, early + missing
    integration = Integration(telemetry.rows, benchmark)
    if is_clock_set_back(telemetry, benchmark):
        integration.say("clock_set_back")
    if not telemetry.complete:
        integration.say("telemetry_file_unreadable")
        integration.samples = {}  # but the rows that were counted stay
        return integration, early + integration.reasons
    if telemetry.is_of_only_gpu and may_be_of_several(telemetry.rows):
        return None, early + ["gpu_identity_column_missing"]
    integration.finish(count)
    return integration, early + integration.reasons


def schema_2(options, benchmark, reasons):
    integration = None
    if benchmark:
        integration, more = integrate(options, benchmark)
        reasons = reasons + more
    metrics = metrics_of(integration.energies, benchmark) if not reasons else {}
    finite = all(map(math.isfinite, metrics.values()))
    reasons += zero_faults(metrics) if finite else []
    if not options.agg_result.is_file():
        reasons.append("aggregate_result_missing")
    elif read_object(options.agg_result) is None or not finite:
        reasons.append("aggregate_result_unwritable")
    can_patch = reasons[-1:] not in (["aggregate_result_missing"], ["aggregate_result_unwritable"])
    if options.validation_result.is_dir():  # part 0 row 10: no verdict without its record
        reasons.append("validation_result_unwritable")
    valid = not reasons
    members = {"power_metric_schema_version": 2, "power_valid": 1 if valid else 0}
    if valid:
        members |= {key: round(value, METRICS[key]) for key, value in metrics.items()}
    found = integration or argparse.Namespace(
        samples={}, counts={}, gaps={}, energies={}, issues={}, boundary_rows={}
    )
    sidecar = {
        "schema_version": 1,
        "power_valid": valid,
        "reasons": reasons,
        "telemetry_source": str(options.csv),
        "benchmark_result": str(options.bench_result),
        "benchmark_window": benchmark.record() if benchmark else None,
        "integration_method": "per_device_trapezoidal_with_linear_boundary_interpolation",
        "expected_gpu_count": options.expected_num_gpus,
        "observed_gpu_count": len(found.samples),
        "observed_gpu_ids": list(found.samples),
        "per_gpu_sample_counts": found.counts,
        "per_gpu_max_sample_gap_s": found.gaps,
        "per_gpu_energy_j": {gpu: finite_or_none(found.energies[gpu]) for gpu in found.energies},
        "device_issues": found.issues,
        "boundary_degenerate_rows": found.boundary_rows,
        "accumulator_check": check_counters(options),
        "metrics": {key: round(value, 6) for key, value in metrics.items()} if valid else {},
    }
    line = None
    if valid:
        line = (
            f"avg_power_w={metrics['avg_power_w']:.2f} "
            f"avg_total_gpu_power_w={metrics['avg_total_gpu_power_w']:.2f} "
            f"total_gpu_energy_j={metrics['total_gpu_energy_j']:.2f} "
            f"(n={len(found.samples)}) -> {options.agg_result} "
            f"joules_per_output_token={metrics['joules_per_output_token']:.4f} "
            f"joules_per_total_token={metrics['joules_per_total_token']:.4f}"
        )
    return Outcome(
        status=1 if options.require_power and not valid else 0,
        line=line,
        power_members=members if can_patch else None,
        sidecar=sidecar if "validation_result_unwritable" not in reasons else None,
        sidecar_path=str(options.validation_result),
        integration=integration,
    )
