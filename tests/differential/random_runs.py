# Random runs of the program: its input files, options and environment.
#
# Most runs are as a monitor and a benchmark leave them, with an oddity or two on which the
# contract agrees with the original. Runs of the `wild` kind also hold what contract.md part 0
# decides otherwise; each such run says in `notes` which rows of it are touched.
import datetime
import json
import os
import pathlib
import random
import re
import time
from dataclasses import dataclass, field



@dataclass
class Run:
    schema: int
    arguments: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    notes: set[str] = field(default_factory=set)  # "row 4": part 0 of contract.md; else a remark
    sidecar: str | None = None  # where it belongs
    csv: str = "gpu_metrics.csv"
    benchmark: str = "run.json"
    aggregate: str = "agg_run.json"


ZONES = [
    "UTC", "America/New_York", "America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata",
    "Asia/Kathmandu", "Australia/Lord_Howe", "Australia/Sydney", "America/St_Johns",
    "Asia/Shanghai", "Africa/Casablanca", "Europe/Dublin", "America/Sao_Paulo", "Pacific/Apia",
    "Pacific/Chatham", "Asia/Tehran",
]  # fmt: skip
ODD_ZONES = [
    "", "UTC0", "EST5EDT", "EST5EDT,M3.2.0,M11.1.0", "CET-1CEST,M3.5.0,M10.5.0/3",
    "<+0545>-5:45", "XXX-5:30:15", "AAA4BBB", "IST-1GMT0,M10.5.0,M3.5.0/1",
    "EST5EDT4,M3.2.0/-2,M11.1.0/26", "NNN3SSS,J60/1,J300", "Nowhere/None", ":America/New_York",
    "/usr/share/zoneinfo/Europe/Berlin", ":", "Etc/GMT+5", "EST", "<-03>3<-02>,60,300/4", "ABC",
    "right/UTC", "posix/Europe/Berlin", "utc", "GMT0BST,M3.5.0/1,M10.5.0",
]  # fmt: skip

# Instants at which clocks were set, by zone.
CLOCK_CHANGES = {
    "America/New_York": [1710054000, 1730613600, 1741503600, 1762063200],
    "America/Los_Angeles": [1710064800, 1730624400],
    "Europe/Berlin": [1711846800, 1729990800, 1743296400, 1761440400],
    "Australia/Lord_Howe": [1712415600, 1728142200, 1743865200],
    "Australia/Sydney": [1712419200, 1728144000],
    "America/St_Johns": [1710048600, 1730608200],
    "Europe/Dublin": [1711846800, 1729990800],
    "Pacific/Chatham": [1712412000, 1728136800],
    "Africa/Casablanca": [1710036000, 1713060000],
    "EST5EDT": [1710054000, 1730613600],
    "EST5EDT,M3.2.0,M11.1.0": [1710054000, 1730613600, 2708661600],
    ":America/New_York": [1710054000, 1730613600],
    "AAA4BBB": [1710050400, 1730610000],
    "EST5EDT4,M3.2.0/-2,M11.1.0/26": [1710039600, 1730700000],
    "IST-1GMT0,M10.5.0,M3.5.0/1": [1711846800, 1729990800],
    "NNN3SSS,J60/1,J300": [1709265600, 1729994400],
    "CET-1CEST,M3.5.0,M10.5.0/3": [1711846800, 1729990800],
    "/usr/share/zoneinfo/Europe/Berlin": [1711846800, 1729990800],
    "GMT0BST,M3.5.0/1,M10.5.0": [1711846800, 1729990800],
}


def set_zone(name):
    """Makes `name` this process's own time zone."""
    os.environ["TZ"] = name
    time.tzset()


class Die:
    """A random number generator with the words used here."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.uniform = self.random.uniform
        self.pick = self.random.choice
        self.whole = self.random.randint
        self.shuffle = self.random.shuffle
        self.some = self.random.sample

    def chance(self, probability):
        return self.random.random() < probability

    def weighted(self, weights):
        return self.random.choices(list(weights), list(weights.values()))[0]


# ---- times as text


def utc_clock(unix_us):
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=unix_us)


def wall_clock(unix_us):
    """The clock on the wall at an instant, in the process's zone."""
    local = time.localtime(unix_us // 1_000_000)
    return datetime.datetime(*local[:5], min(local.tm_sec, 59), unix_us % 1_000_000)


def fraction(micros, digits):
    return f"{micros:06d}000"[:digits]


def slash_stamp(die, at, digits, plain):
    text = f"{at.year:04d}/{at.month:02d}/{at.day:02d} {at.hour:02d}:{at.minute:02d}:{at.second:02d}"
    if not plain:
        form = die.pick(["short", "blanks", "tab", "same"])
        if form == "short":
            text = f"{at.year:04d}/{at.month}/{at.day} {at.hour}:{at.minute}:{at.second}"
        elif form == "blanks":
            text = text.replace(" ", "   ")
        elif form == "tab":
            text = text.replace(" ", "\t")
    digits = min(digits, 6)
    return text + ("." + fraction(at.microsecond, digits) if digits else "")


def iso_stamp(die, at, digits, plain, offset):
    separator = "T" if plain else die.pick(["T", " ", "T", " ", "t", "_", "/"])
    date = f"{at.year:04d}-{at.month:02d}-{at.day:02d}"
    clock = f"{at.hour:02d}:{at.minute:02d}:{at.second:02d}"
    point = "."
    if not plain:
        form = die.pick(["basic", "week", "comma", "same", "same"])
        if form == "basic":
            date, clock = date.replace("-", ""), clock.replace(":", "")
        elif form == "week":
            year, week, day = at.isocalendar()
            date = f"{year:04d}-W{week:02d}-{day}"
        elif form == "comma":
            point = ","
    if digits:
        clock += point + fraction(at.microsecond, digits)
    if offset is None:
        return date + separator + clock
    sign, minutes = ("-" if offset < 0 else "+"), abs(offset)
    forms = [f"{sign}{minutes // 60:02d}:{minutes % 60:02d}"]
    if not plain:
        forms.append(f"{sign}{minutes // 60:02d}{minutes % 60:02d}")
        forms.append(f" {sign}{minutes // 60:02d}:{minutes % 60:02d}")
        forms.append(f"{sign}{minutes // 60:02d}:{minutes % 60:02d}:00")
        if minutes % 60 == 0:
            forms.append(f"{sign}{minutes // 60:02d}")
    if offset == 0:
        forms += ["Z", "Z"]
    return date + separator + clock + die.pick(forms)


BAD_STAMPS = [
    "", "N/A", "[N/A]", "-", "garbage", "12:34:56", "2025/13/01 00:00:00.000",
    "2025/02/30 00:00:00.000", "2025/01/15 24:00:00.000", "2025/01/15 23:59:60.000",
    "2025-01-15T24:00:00", "2025-01-15T12:00:00z", "2025-01-15T12:00:00+24:00", "1.7e9",
    "+1700000000", "1700000000.", ".5", "inf", "nan", "NaN", "0x10", "60 seconds",
    "2025/01/15T12:00:00", "2025/01/15 12:00:00.1234567", "2025/01/15", "2025-W54-1",
    "2025-02-29T00:00:00", "1700000000 s", "--5", "1,700,000,000", "9" * 400, "-" + "9" * 400,
    "10000-01-01T00:00:00", "Tue May  3 09:04:37 2022", "1700000000_0", "２０２５/01/15 12:00",
]  # fmt: skip

ONE_DIGIT_HOUR = re.compile(r"\d{4}-\d\d?-\d\d? +\d:")

FAR_STAMPS = [
    "0", "-1", "-0.0", "1", "20250115", "1000000000000", "1000000000001", "-1700000000",
    "1999/01/01 00:00:00", "2025-01-15", "20250115T12", "2025W03", "2025-W03-3T12:34",
    "1970-01-01T00:00:00Z", "0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59Z",
    "2025-01-15T12:34Z", "٢", "١٧٠٠٠٠٠٠٠٠.٥",
]  # fmt: skip

# ---- cells

NO_READINGS = [
    "[N/A]", "N/A", "n/a", "NA", "", "[Not Supported]", "[Unknown Error]", "nan", "-", "None",
    "ERR!", "inf", "N/A W", "[GPU is lost]", "Enabled", "\u00a0", "W", "Infinity", "-inf W",
]  # fmt: skip

# Cells in which the original sees a number and the contract none, or another one.
MISREAD_CELLS = [
    "1e3", "1E2 W", ".5 W", "5.", "+350 W", "P0 350 W", "ERR 404", "1,234 W", "0x1F", "1_000",
    "- 5", "--5", "5-6", "350 W avg", "300W 2", '5"00', "1.5.2", "3.5e2 W", "-.5", "+-5", "1e400",
    "5 %", "12 C", "412.5 WW", "0.35 kWh",
]  # fmt: skip
UNIT_CELLS = ["350000 mW", "0.35 kW", "0.3 KW", "350 mw"]
SENTINELS = ["65535", "4294967295", "2147483632", "2147483635 W", "18446744073709551615",
             "9223372036854775792", "140737488355328.0", "140737488355331", "65535.0"]  # fmt: skip

BLANKS = ["\u00a0", "\u2003", "\t", "\x0b", "\u3000", "\x85", "\u2028", "\x1f", "  "]


def odd_number(die, text):
    """The same number in an uncommon spelling, or one like it."""
    forms = [
        lambda: "0" * die.whole(1, 20) + text,
        lambda: text + ("000000" if "." in text else ".000"),
        lambda: text + ("".join(die.pick("0123456789") for _ in range(die.whole(8, 40)))
                        if "." in text else ""),
        lambda: text.translate({ord("0") + i: 0x660 + i for i in range(10)}),
        lambda: text.translate({ord("0") + i: 0xFF10 + i for i in range(10)}),
        lambda: text.translate({ord("0") + i: 0x1D7CE + i for i in range(10)}),
        lambda: die.pick(["0", "0.0", "-0", "-0.00", "0.000"]),
        lambda: die.pick(["0.1", "0.001", "1234567.891", "99999999", "1000000000000000000000"]),
        lambda: "0." + "0" * die.whole(1, 330) + "1",
    ]  # fmt: skip
    return die.pick(forms)()


# ---- one run


class RunMaker:
    def __init__(self, seed, wild):
        self.die = Die(seed)
        self.wild = wild
        self.run = Run(schema=2 if self.die.chance(0.7) else 1)
        # How many oddities: most runs have few, so that numbers get compared.
        self.oddness = self.die.pick([0, 0, 0.3, 1, 1, 2.5])

    def odd(self, probability):
        return self.die.chance(min(probability * self.oddness, 0.9))

    def deviates(self, row, probability):
        if not self.wild or not self.die.chance(probability):
            return False
        self.run.notes.add(f"row {row}")
        return True

    def make(self):
        self.choose_zone()
        self.choose_times()
        self.choose_gpus()
        self.choose_names()
        self.run.files[self.run.csv] = self.telemetry()
        self.run.files[self.run.benchmark] = self.benchmark()
        self.run.files[self.run.aggregate] = self.aggregate()
        if self.die.chance(0.15):
            self.snapshots()
        self.arguments()
        if self.deviates(7, 0.04):
            self.tell_zone()
        self.mislay_files()
        return self.run

    def choose_names(self):
        die, run = self.die, self.run
        if self.odd(0.05):
            run.csv = die.pick(["a b.csv", "größe.csv", "noext", ".csv", "x.tar.gz", "end.", "..x",
                                "a.b.c", "\U0001f600.csv", "-x.csv"])  # fmt: skip
        if self.odd(0.05):
            run.benchmark = die.pick(["run.v2.json", "run", ".hidden", "run.", "..json", "é.json",
                                      "a..json", "r n.json"])  # fmt: skip
        if self.odd(0.05):
            run.aggregate = die.pick(["agg", "agg.x.json", ".agg", "ag g.json", "ägg.json"])

    # ---- where and when

    def choose_zone(self):
        die = self.die
        self.zone = "UTC" if die.chance(0.4) else die.pick(ZONES)
        if self.odd(0.05):
            self.zone = die.pick(ODD_ZONES)
        self.run.environment["TZ"] = self.zone
        set_zone(self.zone)

    def choose_times(self):
        die = self.die
        base = die.whole(1_690_000_000, 1_790_000_000)
        if self.odd(0.05):
            base = die.pick([1000, 100_000_000, 500_000_000, 2_300_000_000, 4_000_000_000, 10])
        self.at_clock_change = self.zone in CLOCK_CHANGES and die.chance(0.25)
        if self.at_clock_change:
            base = die.pick(CLOCK_CHANGES[self.zone]) - die.whole(0, 60)
        self.recorder = die.weighted({"nvidia": 5, "amd": 4, "generic": 4})
        self.period_s = die.pick([0.1, 0.25, 0.5, 1, 1, 1, 1.003, 2, 2.5])
        self.window_s = die.pick([1, 2, 5, 10, 10, 20, 30, 60]) * die.uniform(0.5, 1.2)
        if self.odd(0.1):
            self.window_s = die.pick([0.001, 0.01, 0.1, 0.5, 1e-6, 1e-3])
        self.window_s = min(self.window_s, 60 * self.period_s)
        digits = die.pick([0, 3, 3, 6, 6, 7, 9])
        self.start = round(base + die.random.random(), digits) if digits else float(base)
        self.end = round(self.start + self.window_s, digits)
        if self.end <= self.start:
            self.end = self.start + 1

    def choose_gpus(self):
        die = self.die
        self.gpu_count = die.pick([1, 1, 2, 2, 3, 4, 8, 8, 9])
        self.ids = [str(i) for i in range(self.gpu_count)]
        if self.odd(0.15):
            pool = ["card0", "card1", "nvidia0", "GPU-1d2c", "10", "2", "a", "B", "é", "٣", "Ａ",
                    "gpu 7", "0", "00", "000", "01", "1", "-1", "1.0", "x,y", 'q"t', "+1", "𝟗",
                    "node/0", "99999999999999999999", "099999999999999999999", "ﬀ"]  # fmt: skip
            self.ids = die.some(pool, self.gpu_count)
        elif self.odd(0.05):
            start = die.whole(5, 12)
            self.ids = [str(start + i) for i in range(self.gpu_count)]
        if self.deviates(8, 0.02):
            self.ids[-1] = die.pick(["²", "③", "1²"])

    # ---- the telemetry

    def telemetry(self):
        die = self.die
        self.choose_columns()
        rows = self.rows()
        if self.odd(0.01):
            rows = []
        if self.odd(0.01):  # longer than any buffer
            rows = self.warm_up_rows(die.whole(2000, 8000)) + rows
        return self.encode([self.header_line()] + rows)

    def choose_columns(self):
        die = self.die
        others = []
        if self.recorder == "nvidia":
            self.stamp_form = "slash"
            names = [die.pick(["timestamp"] * 9 + ["sample_time"]), die.pick(["index", "index", "index", "gpu", "card"]),
                     die.pick(["power.draw [W]", "power.draw [W]", "power.draw"])]  # fmt: skip
            others = ["temperature.gpu", "utilization.gpu [%]", "clocks.current.sm [MHz]",
                      "memory.used [MiB]", "name", "pstate"]  # fmt: skip
            late = ["power.limit [W]", "enforced.power.limit [W]", "power.draw.instant [W]",
                    "power.draw.average [W]", "power.max_limit [W]", "uuid"]  # fmt: skip
        elif self.recorder == "amd":
            self.stamp_form = "seconds"
            names = [die.pick(["timestamp"] * 9 + ["sample_time"]), "gpu", die.pick(["socket_power", "socket_power", "power_usage",
                                                   "current_socket_power"])]  # fmt: skip
            others = ["gfx_activity", "umc_activity", "vcn_activity", "throttle_status"]
            late = ["power_management", "max_power", "gfx_voltage", "power_limit", "power_cap"]
        else:
            self.stamp_form = die.pick(["seconds", "float", "millis", "iso", "iso_z", "slash",
                                        "iso_offset", "float6", "float9"])  # fmt: skip
            names = [die.pick(["timestamp", "time", "Timestamp", "timestamp_unix", "TIME", "ts_time",
                               "sample time", "timestamp_utc", "datetime", "Time Stamp", "utc_time",
                               "timestamp [UTC]", "local_timestamp", "event_time"]),
                     die.pick(["gpu", "gpu_id", "gpu_index", "device", "card", "Index", "GPU_ID"]),
                     die.pick(["power", "power_w", "gpu_power", "Power [W]", "gpu_power_w",
                               "POWER (W)", "Power Draw", "board_power", "power_watts", "avg_power",
                               "PowerDraw", "gpu0 power", "power_consumption", "asic.power",
                               "package_power (W)", "power1", "instant_power"])]  # fmt: skip
            others = ["temp", "util", "clock", "note", "fan"]
            late = ["power_limit", "limit", "powercap", "max_power_w"]
        if self.odd(0.1):
            self.stamp_form = die.pick(["seconds", "float", "millis", "iso", "iso_z", "slash",
                                        "iso_offset", "float6", "float9"])  # fmt: skip
        columns = names if die.chance(0.7) else die.some(names, 3)
        self.stamp_name, self.gpu_name, self.power_name = names
        if self.odd(0.03):
            columns.remove(self.gpu_name)
            self.gpu_name = None
            late = [name for name in late if name != "uuid"]  # it would take that place: row 14
        if self.odd(0.01):
            columns.remove(self.power_name)
            self.power_name = None
            late = [name for name in late if name[:10] not in ("power.draw", "power_mana")]
        if self.odd(0.01):
            columns.remove(self.stamp_name)
            self.stamp_name = None
        for name in die.some(others, die.whole(0, len(others) if die.chance(0.4) else 1)):
            columns.insert(die.whole(0, len(columns)), name)
        if die.chance(0.3):
            columns += die.some(late, die.whole(1, len(late)))
        if self.deviates(3, 0.03):
            columns.insert(0, die.pick(["uptime", "power_management", "power_state", "time_ms",
                                        "clocks_event_reasons.hw_power_brake_slowdown"]))  # fmt: skip
        if self.recorder != "amd" and self.deviates(14, 0.03):
            columns.insert(0, die.pick(["index", "card", "uuid"]))
        if self.deviates(20, 0.02) and self.power_name:
            named = die.pick(["power.draw [mW]", "power (kW)", "power_mw"])
            columns[columns.index(self.power_name)] = named
            self.power_name = named
        self.columns = columns
        # Of a name that is there twice, the last column has the value.
        if self.odd(0.05):
            name = die.pick([name for name in names if name in columns])
            columns.append(name)
        self.last_place = {name: i for i, name in enumerate(columns)}
        if self.gpu_name and len(set(self.ids)) > 1 and self.odd(0.05):
            second = die.pick(["index", "gpu", "gpu_id", "device"])
            if second not in columns and second != self.gpu_name:
                columns.append(second)

    def header_line(self):
        die = self.die
        if self.recorder == "nvidia" and die.chance(0.9):
            return ", ".join(self.columns)
        cells = list(self.columns)
        if self.odd(0.05):
            cells = [die.pick(['"{}"', " {} ", "{}\u00a0", "{}"]).format(cell) for cell in cells]
        if self.odd(0.05):
            recase = die.pick([str.upper, str.title])
            cells = [recase(cell) for cell in cells]
        return ",".join(cells)

    def ticks(self):
        """Instants at which the monitor looks at the GPUs, in microseconds."""
        die = self.die
        lead = die.pick([0, 0.1, 1, 2, 2.9, 5, 10]) + self.period_s * die.uniform(0, 1)
        tail = die.pick([0.1, 1, 2, 2.9, 5, 10]) + self.period_s
        if self.odd(0.06):
            lead = die.uniform(-self.window_s, 0.5)
        if self.odd(0.06):
            tail = die.uniform(-self.window_s, 0.5)
        jitter = self.period_s * die.pick([0, 0, 0.01, 0.1, 0.3])
        at = self.start - lead
        ticks = []
        while at < self.end + tail and len(ticks) < 150:
            ticks.append(round((at + die.uniform(-jitter, jitter)) * 1e6))
            at += self.period_s
        if self.odd(0.08) and len(ticks) > 4:  # the monitor stalls
            first = die.whole(1, len(ticks) - 2)
            width = round(die.pick([1, 2.9, 3, 3, 3.1, 5]) / self.period_s)
            del ticks[first : first + width]
        if self.odd(0.1) and ticks:  # a tick just on an edge
            ticks[die.whole(0, len(ticks) - 1)] = round(die.pick([self.start, self.end]) * 1e6)
            ticks.sort()
        return ticks

    def samples(self):
        die = self.die
        spread_us = die.pick([0, 0, 0, 1000, 1000, 3000, 137, 40_000])
        shape = die.pick(["noise", "steady", "ramp"])
        digits = die.pick([2, 2, 2, 0, 1, 3, 6, 15])
        ticks = self.ticks()
        late = {die.whole(0, self.gpu_count - 1)} if self.odd(0.05) else set()
        dead = {die.whole(0, self.gpu_count - 1)} if self.odd(0.05) else set()
        short_tail = self.odd(0.1)
        samples = []
        for i, tick in enumerate(ticks):
            gpus = list(range(self.gpu_count))
            if short_tail and i == len(ticks) - 1:
                gpus = gpus[: die.whole(0, self.gpu_count)]
            for order, gpu in enumerate(gpus):
                if gpu in late and i < len(ticks) // 2 and die.chance(0.95):
                    continue
                if gpu in dead and i > len(ticks) // 2:
                    continue
                base = 100 + 70 * gpu
                watts = {"noise": base + die.uniform(0, 500), "steady": base,
                         "ramp": base + 3.7 * i}[shape]  # fmt: skip
                text = f"{watts:.{digits}f}"
                repeats = 1 if not self.odd(0.005) else die.whole(2, 3)
                if self.run.schema == 1 and repeats > 1:
                    if not self.wild:
                        repeats = 1
                    else:
                        self.run.notes.add("row 1")
                for _ in range(repeats):
                    samples.append([tick + order * spread_us, gpu, text])
        if self.run.schema == 1:
            samples = self.apart(samples)
        if self.odd(0.05):
            die.shuffle(samples)
        elif self.odd(0.05):
            samples.sort(key=lambda sample: sample[1])
        elif self.odd(0.03):
            samples.reverse()
        return samples

    def apart(self, samples):
        """Schema 1 adds readings of a GPU that share a stamp: part 0 row 1."""
        if self.wild and self.die.chance(0.3):
            self.run.notes.add("row 1")
            return samples
        digits = 0 if self.stamp_form == "seconds" else 3
        if self.stamp_form in ("slash", "iso", "iso_z", "iso_offset"):
            digits = min(self.stamp_digits, 3)
        step_us = 10 ** (6 - digits)
        kept = {}
        for sample in samples:
            near = {(sample[0] + shift) // step_us for shift in (-501, 0, 501)}
            if not any((stamp, sample[1]) in kept for stamp in near):
                kept.update({(stamp, sample[1]): sample for stamp in near})
        return sorted(set(map(tuple, kept.values())), key=lambda sample: sample[0])

    def stamp_text(self, unix_us):
        die, form = self.die, self.stamp_form
        plain = not self.odd_stamps
        if form == "seconds":
            return str(unix_us // 1_000_000)
        if form == "float":
            return f"{unix_us // 1_000_000}.{unix_us // 1000 % 1000:03d}"
        if form == "float6":
            return f"{unix_us // 1_000_000}.{unix_us % 1_000_000:06d}"
        if form == "float9":
            return f"{unix_us // 1_000_000}.{unix_us % 1_000_000:06d}{die.whole(0, 999):03d}"
        if form == "millis":
            return str(unix_us // 1000) + ("" if plain else f".{unix_us % 1000:03d}")
        digits = self.stamp_digits
        if form == "slash":
            return slash_stamp(die, wall_clock(unix_us), digits, plain)
        if form == "iso":
            return iso_stamp(die, wall_clock(unix_us), digits, plain, None)
        offset = 0 if form == "iso_z" else self.stamp_offset
        at = utc_clock(unix_us + offset * 60_000_000)
        return iso_stamp(die, at, digits, plain, offset)

    def rows(self):
        die = self.die
        self.odd_stamps = self.odd(0.1)
        self.stamp_digits = die.pick([3, 3, 3, 6, 0, 1, 9])
        self.stamp_offset = die.pick([0, 60, -420, 330, 345, -210, 840, -720])
        samples = self.samples()
        rates = self.row_oddities()
        self.has_short_rows = "short" in rates
        unit = " W" if self.recorder == "nvidia" and die.chance(0.8) else ""
        if self.recorder == "generic" and die.chance(0.2):
            unit = die.pick([" W", "W", " w", " watts"])
        rows = []
        for unix_us, gpu, watts in samples:
            if self.at_clock_change and self.run.schema == 2 and self.odd(0.02):
                unix_us += die.pick([-3600, 3600, -1800, 1800]) * 1_000_000
            values = {
                self.stamp_name: self.stamp_text(unix_us),
                self.gpu_name: self.ids[gpu],
                self.power_name: watts + unit,
            }
            for kind, rate in rates.items():
                if die.chance(rate):
                    self.spoil(values, kind, unit)
            rows.append(self.row_line(values, gpu))
            for kind, rate in rates.items():
                if die.chance(rate):
                    self.spoil_line(rows, kind)
        return rows

    def warm_up_rows(self, count):
        rows = []
        first_us = round((self.start - 20 - count) * 1e6)
        for i in range(count):
            gpu = i % self.gpu_count
            values = {self.stamp_name: self.stamp_text(first_us + i * 1_000_000),
                      self.gpu_name: self.ids[gpu], self.power_name: str(i)}  # fmt: skip
            rows.append(self.row_line(values, gpu))
        return rows

    def row_oddities(self):
        """Which oddities the rows of this file have, and how often."""
        die = self.die
        kinds = {"no_reading": 0.08, "blank_id": 0.05, "bad_stamp": 0.03, "zero": 0.05,
                 "odd_number": 0.08, "far_stamp": 0.05, "negative": 0.03, "quote_cells": 0.1,
                 "blank_cells": 0.1, "short": 0.04, "odd_blanks": 0.08, "stray_bytes": 0.04,
                 "broken_lines": 0.03, "empty_extra": 0.05, "only_commas": 0.02,
                 "empty_line": 0.05, "quoted_comma": 0.02,
                 "mutated_stamp": 0.1}  # fmt: skip
        rates = {}
        for kind, probability in kinds.items():
            if self.odd(probability):
                rates[kind] = die.pick([0.01, 0.01, 0.05, 0.5])
        if "uuid" in self.columns:
            rates.pop("blank_id", None)  # the other column would vary: part 0 row 14
        if self.run.schema == 1:
            for kind, row in {"negative": 2, "mutated_stamp": 1, "far_stamp": 1}.items():
                if kind in rates and self.wild:
                    self.run.notes.add(f"row {row}")
                else:
                    rates.pop(kind, None)
        for kind, row in {"misread": 4, "unit": 4, "sentinel": 19, "repeated_header": 5,
                          "whitespace_line": 5, "long_row": 22, "nul": 16, "micros": 17,
                          "one_digit_hour": 18, "year_1": 8, "huge": 2}.items():  # fmt: skip
            if self.deviates(row, 0.02):
                rates[kind] = die.pick([0.01, 0.05, 0.3])
        return rates

    def spoil(self, values, kind, unit):
        die = self.die
        stamp, gpu, power = self.stamp_name, self.gpu_name, self.power_name
        if kind == "mutated_stamp":
            values[stamp] = self.mutated(values[stamp])
            if ONE_DIGIT_HOUR.match(values[stamp]) or values[stamp][14:].isdigit():
                values[stamp] = ""
        elif kind == "no_reading":
            values[power] = die.pick(NO_READINGS)
        elif kind == "blank_id":
            values[gpu] = die.pick(["", " ", "\u00a0", "\t"])
        elif kind == "bad_stamp":
            values[stamp] = die.pick(BAD_STAMPS)
        elif kind == "far_stamp":
            values[stamp] = die.pick(FAR_STAMPS)
        elif kind == "zero":
            values[power] = die.pick(["0", "0.00", "0.0"]) + unit
        elif kind == "odd_number":
            number = values[power].removesuffix(unit)
            if number.replace(".", "").isdigit():
                values[power] = odd_number(die, number) + unit
        elif kind == "negative":
            values[power] = "-" + values[power]
        elif kind == "blank_cells":
            for name in values:
                values[name] = " " * die.whole(0, 2) + values[name] + " " * die.whole(0, 2)
        elif kind == "odd_blanks":
            name = die.pick(list(values))
            values[name] = die.pick(BLANKS) + values[name] + die.pick(BLANKS)
        elif kind == "misread":
            values[power] = die.pick(MISREAD_CELLS)
        elif kind == "unit":
            values[power] = die.pick(UNIT_CELLS)
        elif kind == "sentinel":
            values[power] = die.pick(SENTINELS)
        elif kind == "micros":
            values[stamp] = str(round(self.start * 1e6) + die.whole(0, 10**6)) + die.pick(["", "000"])
        elif kind == "one_digit_hour":
            values[stamp] = f"2025-10-23 {die.whole(0, 9)}:24:14" + die.pick(["", ".243"])
        elif kind == "year_1":
            values[stamp] = "0001-01-01T00:00:00"
        elif kind == "huge":
            values[power] = "9" * 400

    def mutated(self, text):
        """`text` with one character changed, added or taken out."""
        die = self.die
        at = die.whole(0, len(text))
        new = die.pick("0123456789 .:-/TZ+,WwNn\"'{}[]\\\t\u00a0\u0663aeE_x")
        kind = die.pick(["change", "add", "drop"])
        if kind == "drop":
            return text[:at] + text[at + 1 :]
        return text[:at] + new + text[at + (kind == "change") :]

    def row_line(self, values, gpu):
        die = self.die
        cells = []
        for i, name in enumerate(self.columns):
            if name in values and i < self.last_place[name] and die.chance(0.5):
                cells.append(die.pick(["5", "", "N/A", "1700000000"]))
            elif name in values:
                cells.append(values[name])
            elif name.startswith("power.draw"):
                cells.append(f"{die.uniform(50, 700):.2f} W")
            elif "limit" in name:
                cells.append("700.00 W")
            elif name == "power_management":
                cells.append("ENABLED")
            elif name == "throttle_status":
                cells.append("\"['N/A', 'N/A']\"")
            elif name == "uuid":
                cells.append(f"GPU-{gpu}")
            elif name in ("card", "index", "gpu", "gpu_id", "device"):
                cells.append("0")
            else:
                cells.append(die.pick(["42", "0 %", "", "N/A", "NVIDIA H100", "P0"]))
        quoted = []
        for cell in cells:
            if ("," in cell or (cell.startswith('"') != cell.endswith('"'))) and "'" not in cell:
                cell = '"' + cell.replace('"', '""') + '"'
            quoted.append(cell)
        return (", " if self.recorder == "nvidia" else ",").join(quoted)

    def spoil_line(self, rows, kind):
        die = self.die
        if kind == "quote_cells":
            cells = rows[-1].split(",")
            if '"' not in rows[-1]:
                i = die.whole(0, len(cells) - 1)
                cells[i] = die.pick(['"{}"', ' "{}"', '  "{}"', '"{}" ', '"{}"x'][:3]).format(cells[i])
                rows[-1] = ",".join(cells)
        elif kind == "short" and '"' not in rows[-1]:
            cells = rows[-1].split(",")
            rows[-1] = ",".join(cells[: die.whole(1, len(cells))])
        elif kind == "stray_bytes":
            stray = die.pick([b"\xff", b"\xe2\x82", b"\xc0\x80", b"\xf0\x9f\x98"]).decode("latin-1")
            if "uuid" in self.columns:
                return
            last_is_power = self.columns[-1] == self.power_name
            rows[-1] = stray + rows[-1] if last_is_power else rows[-1] + stray
        elif kind == "broken_lines":
            cells = rows[-1].split(",")
            i = die.whole(0, len(cells) - 1)
            if '"' not in rows[-1]:
                cells[i] = '"' + cells[i] + die.pick(["\n", "\r\n", "\r"]) + '"'
                rows[-1] = ",".join(cells)
        elif kind == "empty_extra":
            rows[-1] += "," * die.whole(1, 3)
        elif kind == "only_commas":
            rows.append("," * (len(self.columns) - 1))
        elif kind == "empty_line":
            rows.append("")
        elif kind == "quoted_comma":
            rows[-1] += ',""'
        elif kind == "repeated_header":
            rows.append(self.header_line())
        elif kind == "whitespace_line":
            rows.append(die.pick([" ", "   ", "\t", "\u00a0"]))
        elif kind == "long_row":
            rows[-1] += ",1,2"
        elif kind == "nul":
            rows[-1] = rows[-1][:3] + "\0" + rows[-1][3:]

    def encode(self, lines):
        die = self.die
        ending = die.weighted({"\n": 8, "\r\n": 3, "\r": 1})
        if self.recorder == "amd" and die.chance(0.3):
            ending = "\r\n"
        joined = lines[0] + ending
        mixed = self.odd(0.05)
        for line in lines[1:]:
            joined += line + (die.pick(["\n", "\r\n", "\r"]) if mixed else ending)
        if self.odd(0.1) and not self.has_short_rows:
            joined = joined.rstrip("\r\n")
        if self.deviates(5, 0.03):
            joined = joined[: -die.whole(1, 40)]
        if self.odd(0.02):  # a cell longer than the reader takes
            joined = joined.rstrip("\r\n") + ending
            joined += die.pick(['"' + "x" * 131073 + '"\n', "1," + "x" * 131073 + "\n"])
        if self.deviates(5, 0.02):  # a quote that is never closed
            joined = joined.rstrip("\r\n") + ending
            at = joined.rfind(ending, 0, len(joined) - len(ending))
            if at > 0:
                joined = joined[: at + len(ending)] + '"' + joined[at + len(ending) :].rstrip("\r\n")
        if self.deviates(15, 0.02):
            joined = die.pick(["# preamble\n", "CTRL + C to stop\n", "\n", "Device log v1, x\n"]) + joined
        stray = "".join(chr(byte) for byte in (0xFF, 0xC0, 0x80, 0xE2, 0x82, 0xF0, 0x9F, 0x98))
        if self.deviates(6, 0.03):
            if die.chance(0.5):
                return b"\xef\xbb\xbf" + joined.encode()
            return ("\ufeff" + joined).encode(die.pick(["utf-16-le", "utf-16-be"]))
        # Bytes that are no UTF-8 were kept as single characters until now.
        data = joined.encode()
        for character in stray:
            if self.die.chance(0.5):
                data = data.replace(character.encode(), character.encode("latin-1"))
        return data

    # ---- the benchmark result

    def benchmark(self):
        die = self.die
        window_s = self.end - self.start
        duration = window_s
        if die.chance(0.3):
            duration = window_s + die.uniform(-0.4, 0.4) * min(1, window_s)
        if self.odd(0.05):
            off = die.pick([0.5, -0.5, 0.51, 3, -3, 0.6, 0.01 * window_s])
            duration = window_s + (off if off > -window_s else -off)
        members = {
            "benchmark_start_time_unix": self.number(self.start),
            "benchmark_end_time_unix": self.number(self.end),
            "duration": self.number(duration),
            "completed": str(die.whole(1, 1000)),
            "total_input_tokens": str(die.pick([1, 7, 1000, 240_000, 123_457, 10**12])),
            "total_output_tokens": str(die.pick([1, 3, 1000, 30_000, 98_765, 10**12])),
        }
        if self.odd(0.08):
            self.spoil_benchmark(members)
        noise = {
            "date": '"20260101-000000"', "num_prompts": "32", "request_rate": "Infinity",
            "ttfts": "[0.1, 0.25, 1e-3, []]", "errors": '["", "a\\u00e9\\ud83d\\ude00"]',
            "nested": '{"duration": 5, "completed": [{}]}', "mean": "12.5", "none": "null",
            "größe": "-0.0", "q\\\"uote": "true", "lone": '"\\ud800 \\udc00\\ud800"',
            "nul": '"\\u0000\\/\\b"', "well": "[" * 300 + "]" * 300,
        }  # fmt: skip
        if self.odd(0.05):
            key = die.pick(list(members) or ["x"])
            members = {name.replace("_", "\\u005f") if name == key else name: value
                       for name, value in members.items()}  # fmt: skip
        order = list(members.items()) + die.some(list(noise.items()), die.whole(0, len(noise)))
        die.shuffle(order)
        if self.odd(0.05) and members:
            order.append((die.pick(list(members)), die.pick(["1", "null", "5.5", "1700000000"])))
        text = self.object_text(order)
        if self.odd(0.06):
            return self.spoil_json(text)
        return text.encode()

    def number(self, value):
        forms = [repr(value)] * 6
        if self.odd(0.2):
            forms = [f"{value:.17e}", f"{value:.9f}", f"{value:.20E}", repr(value) + "0"]
            if value == int(value):
                forms.append(str(int(value)))
        return self.die.pick(forms)

    def spoil_benchmark(self, members):
        die = self.die
        for _ in range(die.whole(1, 2)):
            key = die.pick(list(members))
            values = ["null", '"5"', "0", "-1", "-0", "0.0", "NaN", "[]", "{}", "false", "1.0",
                      "12345678901234567", "1e3"]  # fmt: skip
            if self.run.schema == 2 or key not in ("duration", "benchmark_end_time_unix"):
                values += ["Infinity", "-Infinity", "1e400"]
            if self.run.schema == 2:
                values.append("true")
            value = die.pick([*values, None])
            if self.run.schema == 1 and self.strange_window(key, value):
                if not self.wild:
                    continue
                self.run.notes.add("row 2")
            if self.deviates(8, 0.1):
                value = die.pick(["1" + "0" * 400, "9" * 5000, "9" * 25])
            if value is None:
                members.pop(key)
                if not members:
                    return
            else:
                members[key] = value

    @staticmethod
    def strange_window(key, value):
        """What the original averages anyway in schema 1: part 0 row 2."""
        if key == "duration":
            return value in ("0", "-1", "-0", "0.0", "NaN", "false")
        return value in ("NaN", "Infinity", "-Infinity", "1e400") and key.startswith("benchmark")

    def object_text(self, members):
        die = self.die
        style = die.pick(["compact", "python", "indent", "indent4", "wide"])
        if not members:
            return "{}"
        if style in ("compact", "python", "wide"):
            comma, colon = {"compact": (",", ":"), "python": (", ", ": "),
                            "wide": (" ,\t", " :  ")}[style]  # fmt: skip
            text = "{" + comma.join(f'"{key}"{colon}{value}' for key, value in members) + "}"
        else:
            blanks = {"indent": "  ", "indent4": "    "}[style]
            lines = [f'{blanks}"{key}": {value}' for key, value in members]
            text = "{\n" + ",\n".join(lines) + "\n}"
        if die.chance(0.2):
            text = text.replace("\n", "\r\n")
        return text + die.pick(["", "", "\n", " \n\t"])

    def spoil_json(self, text):
        die = self.die
        if die.chance(0.6):
            return self.mutated(text).encode()
        form = die.pick(["cut", "comma", "empty", "trailing", "quote", "bom", "comment", "blank",
                         "value"])  # fmt: skip
        if form == "value":
            value = die.pick(["01", "1.", ".5", "-", "+1", "1e", "-NaN", "nan", "True", "'x'", '"\t"',
                              "1_0", "0x1", "--1", "1.e5", "1e+", "Inf", '"\\x"', '"\\u12"'])
            return text.replace(":", ": " + value + ', "z":', 1).encode()
        if form == "cut":
            return text[: die.whole(0, len(text) - 1)].encode()
        if form == "comma":
            return text.replace("}", ",}").encode()
        if form == "empty":
            return b""
        if form == "trailing":
            return (text + "x").encode()
        if form == "quote":
            return text.replace('"', "'").encode()
        if form == "bom":
            return b"\xef\xbb\xbf" + text.encode()
        if form == "comment":
            return ("// x\n" + text).encode()
        return b"   "

    # ---- the aggregate

    def aggregate(self):
        die = self.die
        noise = [
            ("hw", '"h200-nvs"'), ("tp", "8"), ("conc", "64"), ("model", '"deep\\/seek \\u00e9"'),
            ("tput_per_gpu", "1234.5678901234567"), ("median_ttft", "1e5"), ("p99", "1E-7"),
            ("disagg", "false"), ("none", "null"), ("list", "[1, 2.50, [], {}]"),
            ("deep", '{"avg_power_w": 5, "power_valid": [0]}'), ("minus", "-0"), ("x", "0.1000"),
            ("long", "123456789012345678901234567890"), ("schlüssel", '"naïve \U0001f600"'),
            ("escape\\n\\u0041", '"\\ud83d\\ude00\\t"'), ("", '""'), ("big", "1E400"),
            ("digits", "0.12345678901234567890123"), ("del", '"\x7f"'),
            ("lone", '["\\ud800", {"\\udfff": 1}]'), ("well", "[" * 300 + "]" * 300),
        ]  # fmt: skip
        members = die.some(noise, die.whole(0, len(noise)))
        power = [
            ("avg_power_w", "411.5"), ("joules_per_output_token", "0.5"),
            ("joules_per_total_token", "1e-3"), ("power_valid", "1"), ("power_valid", "true"),
            ("power_metric_schema_version", "1"), ("power_metric_schema_version", '"2"'),
            ("power_invalid_reasons", '["x"]'), ("avg_total_gpu_power_w", "null"),
            ("total_gpu_energy_j", "12"), ("joules_per_input_token", "NaN"),
            ("joules_per_successful_query", '{"a": 1}'), ("avg_power\\u005fw", "5"),
            ("\\u0070ower_valid", "0"), ("power_valid ", "1"), ("Power_valid", "1"),
        ]  # fmt: skip
        if die.chance(0.4):
            members += die.some(power, die.whole(1, 6))
        if self.odd(0.05):
            members.append(("nan", die.pick(["NaN", "Infinity", "-Infinity"])))
        if self.deviates(11, 0.03):
            members += [("prefill_avg_power_w", "5"), ("decode_gpu_energy_j", "6")]
        die.shuffle(members)
        text = self.object_text(members)
        if self.deviates(8, 0.03):
            self.run.notes.add("row 9")
            return die.pick([b"[]", b"5", b'"x"', b"null", b'{"a": "\xff"}', b"[{}]"])
        if self.odd(0.06):
            return self.spoil_json(text)
        return text.encode()

    # ---- what else there is

    def snapshots(self):
        die = self.die
        numbers = [int(gpu_id) for gpu_id in self.ids if gpu_id.isdecimal()]
        if len(set(numbers)) < len(numbers):
            return  # equal numbers, such as 0 and 00, stand in no certain order there
        header = die.pick(["gpu,total_energy_consumption", "timestamp,gpu,total_energy_consumption",
                           " gpu , total_energy_consumption ", '"gpu","total_energy_consumption"'])
        if die.chance(0.07):
            header = die.pick(["GPU,total_energy_consumption", "gpu,energy", ""])
        odd = die.chance(0.3)
        ids = [gpu_id for gpu_id in self.ids if "," not in gpu_id and '"' not in gpu_id]
        base = {gpu_id: die.uniform(0, 1e7) for gpu_id in ids}

        def cell(value):
            if not odd:
                return f"{value:.3f}"
            return die.pick([f"{value:.3e}", f" {value:.0f} ", "1_000", "inf", "nan", "N/A", "", "+5",
                             "1_0.5e1_0", "0x10", ".5", "5.", "١٢", "1e400", repr(value)])

        def text(which):
            lines = [header]
            for gpu_id in ids:
                if odd and die.chance(0.1):
                    continue
                value = base[gpu_id] + which * die.uniform(-100 if odd else 1000, 50_000)
                cells = {"gpu": gpu_id, "timestamp": "5", "total_energy_consumption": cell(value)}
                names = [name.strip(' "') for name in header.split(",")]
                lines.append(",".join(cells.get(name, "1") for name in names))
                if odd and die.chance(0.1):
                    lines.append(die.pick(["", ",", lines[-1], "0", "0,5,6,7"]))
            return ("\r\n" if odd else "\n").join(lines).encode() + b"\n"

        stem = pathlib.PurePath(self.run.csv).stem
        for which in (0, 1):
            if die.chance(0.95):
                self.run.files[f"{stem}_energy_{['start', 'end'][which]}.csv"] = text(which)

    def arguments(self):
        die, run = self.die, self.run
        csv, benchmark = run.csv, run.benchmark
        if self.odd(0.1):
            csv = die.pick(["./", ".//", "sub/../", "sub/.././", "sub/..//./"]) + csv
            run.folders.append("sub")
        if self.odd(0.05):
            benchmark = die.pick(["./", "sub/../", ".//"]) + benchmark
            run.folders.append("sub")
        options = [
            (die.pick(["--csv", "--csv", "--cs", "--c"]), csv),
            (die.pick(["--bench-result", "--bench-result", "--bench", "--b"]), benchmark),
            (die.pick(["--agg-result", "--agg-result", "--agg", "--a"]), run.aggregate),
        ]
        run.sidecar = None
        if run.schema == 2:
            count = str(len(set(self.ids)))
            if self.odd(0.05):
                count = die.pick(["0", "-1", "1", "8", "+2", " 4 ", "1_0", "٣", "007", "-0", "1__0", "_1",
                                  "", "1.0", "0x4", "1e1", "+-1", "- 1", "4_", "\u00a05", "x",
                                  "-", "+", "９"])  # fmt: skip
            options.append((die.pick(["--expected-num-gpus", "--expected", "--e"]), count))
            run.sidecar = f"power_validation_{pathlib.PurePath(benchmark).stem}.json"
            if die.chance(0.2):
                run.sidecar = die.pick(["audit.json", "made/for/it.json", "./audit"])
                options.append((die.pick(["--validation-result", "--val", "--v"]), run.sidecar))
        die.shuffle(options)
        if self.odd(0.02):
            options.insert(0, ("--csv", "other.csv"))
        words = []
        for name, value in options:
            joined = die.chance(0.2) or value.startswith("-x")
            words += [f"{name}={value}"] if joined else [name, value]
        if run.schema == 2:
            if die.chance(0.15):
                words.insert(0, die.pick(["--require-power", "--req", "--r"]))
            if die.chance(0.3):
                run.environment["REQUIRE_POWER"] = die.pick(
                    ["1", "true", "TRUE", "Yes", "yes", "0", "", "no", " 1", "yes ", "on", "2"]
                )
        if self.odd(0.02):
            words = die.pick([words + ["extra"], words + ["--nonsense"], words + ["--csv"],
                              words + ["--expected-num-gpus", "x"],
                              [word for word in words if "agg" not in word]])  # fmt: skip
        run.arguments = words

    def tell_zone(self):
        """Says which zone the stamps are of; it need not be true."""
        die, run = self.die, self.run
        zone = die.pick(["UTC", "local", "+05:30", "-0700", "America/New_York", "Europe/Berlin",
                         "Australia/Lord_Howe", self.zone, self.zone, self.zone])  # fmt: skip
        if zone in ODD_ZONES:
            zone = "UTC"
        if die.chance(0.5):
            run.arguments += ["--timezone", zone]
        else:
            name = pathlib.PurePath(run.csv).stem + "_context.json"
            run.files[name] = json.dumps({"timestamp_timezone": zone, "x": 1}).encode()

    def mislay_files(self):
        die, run = self.die, self.run
        if self.odd(0.04):
            name = die.pick([run.csv, run.csv, run.benchmark, run.aggregate])
            what = die.pick(["missing", "missing", "folder", "empty"])
            if what == "empty":
                run.files[name] = b""
            else:
                del run.files[name]
            if what == "folder":
                run.folders.append(name)


def make_run(seed, wild=False):
    return RunMaker(seed, wild).make()


if __name__ == "__main__":
    import sys

    made = make_run(int(sys.argv[1]), len(sys.argv) > 2)
    print(json.dumps(made.arguments), made.environment, sorted(made.notes))
    for file_name, content in made.files.items():
        print("----", file_name)
        print(content.decode(errors="replace")[:3000])
