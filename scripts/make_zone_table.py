#!/usr/bin/env python3
"""Makes src/base/text/zone_table_data.inc from this machine's tzdata: what the clocks of all zones showed.

usage: scripts/make_zone_table.py >src/base/text/zone_table_data.inc
"""
import pathlib
import sys
from datetime import datetime, timezone
from zoneinfo import TZPATH, ZoneInfo

FIRST_YEAR, LAST_YEAR = 2015, 2037
DAY = 86400
# Of zones whose clocks never differed, the table names the best known, else the first.
KNOWN = ["UTC", "Europe/Berlin", "Europe/London", "Europe/Helsinki", "America/New_York", "America/Chicago",
         "America/Denver", "America/Los_Angeles", "America/Sao_Paulo", "Africa/Lagos", "Africa/Nairobi",
         "Africa/Johannesburg", "Asia/Dubai", "Asia/Shanghai", "Asia/Singapore", "Asia/Tokyo"]


def zone_names():
    """The zones that people live in, and UTC."""
    table = next(path for folder in TZPATH if (path := pathlib.Path(folder) / "zone.tab").exists())
    lines = [line for line in table.read_text().splitlines() if not line.startswith("#")]
    names = sorted(line.split("\t")[2].strip() for line in lines)
    return KNOWN + [name for name in names if name not in KNOWN]


def offset_at(zone, unix_s):
    return int(datetime.fromtimestamp(unix_s, zone).utcoffset().total_seconds())


def changes(zone):
    """(minutes since 1970, minutes east of UTC), the first for all time before the second."""
    at = int(datetime(FIRST_YEAR, 1, 1, tzinfo=timezone.utc).timestamp())
    end = int(datetime(LAST_YEAR + 1, 1, 1, tzinfo=timezone.utc).timestamp())
    found = [(at // 60, offset_at(zone, at) // 60)]
    while at < end:
        before = offset_at(zone, at)
        if offset_at(zone, at + DAY) == before:
            at += DAY
            continue
        low, high = at, at + DAY
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset_at(zone, middle) == before else (low, middle)
        assert high % 60 == 0 and offset_at(zone, high) % 60 == 0
        found.append((high // 60, offset_at(zone, high) // 60))
        at = high
    return tuple(found)


def main():
    histories = {}
    for name in zone_names():
        histories.setdefault(changes(ZoneInfo(name)), name)
    print("// Made by scripts/make_zone_table.py: do not edit.")
    for history, name in sorted(histories.items(), key=lambda item: item[1]):
        print(f'{{"{name}", {{', end="")
        line = ""
        for minute, offset in history:
            cell = f"{{{minute}, {offset}}},"
            if len(line) + len(cell) > 98:
                print(line)
                line = ""
            line += cell
        print(f"{line}}}}},")


if __name__ == "__main__":
    sys.exit(main())
