"""Instants as monitors write them, and as nobody should."""
import datetime
import os
import random
import re
import time

ZONES = [
    "UTC", "America/New_York", "America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata",
    "Asia/Kathmandu", "Australia/Lord_Howe", "Australia/Sydney", "America/St_Johns",
    "Asia/Shanghai", "Africa/Casablanca", "Europe/Dublin", "America/Sao_Paulo", "Pacific/Apia",
    "Pacific/Chatham", "Asia/Tehran",
]
ODD_ZONES = [
    "", "UTC0", "EST5EDT", "EST5EDT,M3.2.0,M11.1.0", "CET-1CEST,M3.5.0,M10.5.0/3",
    "<+0545>-5:45", "XXX-5:30:15", "IST-1GMT0,M10.5.0,M3.5.0/1",
    "EST5EDT4,M3.2.0/-2,M11.1.0/26", "NNN3SSS,J60/1,J300", "Nowhere/None", ":America/New_York",
    "/usr/share/zoneinfo/Europe/Berlin", ":", "Etc/GMT+5", "EST", "<-03>3<-02>,60,300/4", "ABC",
    "right/UTC", "posix/Europe/Berlin", "utc", "GMT0BST,M3.5.0/1,M10.5.0",
]

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
    "EST5EDT4,M3.2.0/-2,M11.1.0/26": [1710039600, 1730700000],
    "IST-1GMT0,M10.5.0,M3.5.0/1": [1711846800, 1729990800],
    "NNN3SSS,J60/1,J300": [1709265600, 1729994400],
    "CET-1CEST,M3.5.0,M10.5.0/3": [1711846800, 1729990800],
    "/usr/share/zoneinfo/Europe/Berlin": [1711846800, 1729990800],
    "GMT0BST,M3.5.0/1,M10.5.0": [1711846800, 1729990800],
}

BAD_STAMPS = [
    "", "N/A", "[N/A]", "-", "garbage", "12:34:56", "2025/13/01 00:00:00.000",
    "2025/02/30 00:00:00.000", "2025/01/15 24:00:00.000", "2025/01/15 23:59:60.000",
    "2025-01-15T24:00:00", "2025-01-15T12:00:00z", "2025-01-15T12:00:00+24:00", "1.7e9",
    "+1700000000", "1700000000.", ".5", "inf", "nan", "NaN", "0x10", "60 seconds",
    "2025/01/15T12:00:00", "2025/01/15 12:00:00.1234567", "2025/01/15", "2025-W54-1",
    "2025-02-29T00:00:00", "1700000000 s", "--5", "1,700,000,000", "9" * 400, "-" + "9" * 400,
    "10000-01-01T00:00:00", "Tue May  3 09:04:37 2022", "1700000000_0", "２０２５/01/15 12:00",
]
FAR_STAMPS = [
    "0", "-1", "-0.0", "1", "20250115", "1000000000000", "1000000000001", "-1700000000",
    "1999/01/01 00:00:00", "2025-01-15", "20250115T12", "2025W03", "2025-W03-3T12:34",
    "1970-01-01T00:00:00Z", "0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59Z",
    "2025-01-15T12:34Z", "٢", "١٧٠٠٠٠٠٠٠٠.٥", "0." + "0" * 340 + "1",
]
# Part 0 row 18.
SHORT_TIME = re.compile(r"\d{4}-\d\d?-\d\d? +(\d:|\d\d:\d:|\d\d:\d\d:\d(\.|$))")

FORMS = ["seconds", "float", "float6", "float9", "millis", "slash", "iso", "iso_z", "iso_offset"]
CLOCK_FORMS = FORMS[5:]


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

    def digits(self, count):
        return "".join(self.pick("0123456789") for _ in range(count))

    def mutated(self, text):
        """`text` with one character changed, added or taken out."""
        at = self.whole(0, len(text))
        kind = self.pick(["change", "add", "drop"])
        if kind == "drop":
            return text[:at] + text[at + 1 :]
        new = self.pick("0123456789 .:-/TZ+,WwNn\"'{}[]\\\t\u00a0\u0663aeE_x")
        return text[:at] + new + text[at + (kind == "change") :]


def set_zone(name):
    """Makes `name` this process's own time zone."""
    os.environ["TZ"] = name
    time.tzset()


def utc_clock(unix_us):
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=unix_us)


def wall_clock(unix_us):
    """The clock on the wall at an instant, in the process's zone."""
    local = time.localtime(unix_us // 1_000_000)
    return datetime.datetime(*local[:5], min(local.tm_sec, 59), unix_us % 1_000_000)


def epoch_stamp(die, unix_us, form):
    sign, size_us = ("-" if unix_us < 0 else ""), abs(unix_us)
    seconds, micros = size_us // 1_000_000, size_us % 1_000_000
    if form == "seconds":
        return f"{sign}{seconds}"
    if form == "millis":
        return f"{sign}{size_us // 1000}" + die.pick(["", "", f".{size_us % 1000:03d}"])
    if form == "float":
        return f"{sign}{seconds}.{micros // 1000:03d}"
    more = die.digits(die.pick([3, 3, 20])) if form == "float9" else ""
    return f"{sign}{seconds}.{micros:06d}{more}"


def slash_stamp(die, at, digits, plain):
    text = f"{at.year:04d}/{at.month:02d}/{at.day:02d} "
    text += f"{at.hour:02d}:{at.minute:02d}:{at.second:02d}"
    if not plain:
        form = die.pick(["short", "blanks", "tab", "same"])
        if form == "short":
            text = f"{at.year:04d}/{at.month}/{at.day} {at.hour}:{at.minute}:{at.second}"
        elif form == "blanks":
            text = text.replace(" ", "   ")
        elif form == "tab":
            text = text.replace(" ", "\t")
    return text + fraction(die, at.microsecond, min(digits, 6))


def fraction(die, micros, digits, point="."):
    if digits == 0:
        return ""
    return point + (f"{micros:06d}" + die.digits(3))[:digits]


def iso_stamp(die, at, digits, plain, offset):
    """`offset` is in minutes; None: the text has none."""
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
    clock += fraction(die, at.microsecond, digits, point)
    return date + separator + clock + ("" if offset is None else offset_text(die, offset, plain))


def offset_text(die, offset, plain):
    sign, hours, minutes = ("-" if offset < 0 else "+"), abs(offset) // 60, abs(offset) % 60
    forms = [f"{sign}{hours:02d}:{minutes:02d}"]
    if not plain:
        forms += [f"{sign}{hours:02d}{minutes:02d}", f" {sign}{hours:02d}:{minutes:02d}",
                  f"{sign}{hours:02d}:{minutes:02d}:00"]
        if minutes == 0:
            forms.append(f"{sign}{hours:02d}")
    if offset == 0:
        forms += ["Z", "Z"]
    return die.pick(forms)
