"""Random telemetry: what a monitor records around a benchmark, with its oddities."""
import re

from random_stamps import (BAD_STAMPS, CLOCK_CHANGES, CLOCK_FORMS, FAR_STAMPS, FORMS, ODD_ZONES,
                           SHORT_TIME, ZONES, epoch_stamp, iso_stamp, set_zone, slash_stamp,
                           utc_clock, wall_clock)

NO_READINGS = [
    "[N/A]", "N/A", "n/a", "NA", "", "[Not Supported]", "[Unknown Error]", "nan", "-", "None",
    "ERR!", "inf", "N/A W", "[GPU is lost]", "Enabled", "\u00a0", "W", "Infinity", "-inf W",
]

# Cells in which the original sees a number, and the contract none or another one.
MISREAD_CELLS = [
    "1e3", "1E2 W", ".5 W", "5.", "+350 W", "P0 350 W", "ERR 404", "1,234 W", "0x1F", "1_000",
    "- 5", "--5", "5-6", "350 W avg", "300W 2", '5"00', "1.5.2", "3.5e2 W", "-.5", "+-5", "1e400",
    "5 %", "12 C", "412.5 WW", "0.35 kWh", "1e-400", "1e", "5e+ W", "１e2",
]
UNIT_CELLS = ["350000 mW", "0.35 kW", "0.3 KW", "350 mw", "0.4 kilowatt"]
SENTINELS = [
    "65535", "4294967295", "2147483632", "2147483635 W", "18446744073709551615",
    "9223372036854775792", "140737488355328.0", "140737488355331", "65535.0",
]
BLANKS = ["\u00a0", "\u2003", "\t", "\x0b", "\u3000", "\x85", "\u2028", "\x1f", "  "]
STRAY_BYTES = [b"\xff", b"\xe2\x82", b"\xc0\x80", b"\xf0\x9f\x98"]
STRANGE_IDS = [
    "card0", "card1", "nvidia0", "GPU-1d2c", "10", "2", "a", "B", "é", "٣", "Ａ", "gpu 7", "0",
    "00", "000", "01", "1", "-1", "1.0", "x,y", 'q"t', "+1", "𝟗", "node/0", "ﬀ",
    "99999999999999999999", "099999999999999999999",
]

# What may go wrong with a row on which contract and original agree, and how likely a file has it.
ROW_ODDITIES = {
    "no_reading": 0.08, "blank_id": 0.05, "bad_stamp": 0.03, "far_stamp": 0.05,
    "mutated_stamp": 0.1, "zero": 0.05, "odd_number": 0.08, "negative": 0.03, "blank_cells": 0.1,
    "odd_blanks": 0.08, "quoted_cell": 0.1, "short": 0.04, "stray_bytes": 0.04,
    "broken_line": 0.03, "empty_extra": 0.05, "only_commas": 0.02, "empty_line": 0.05,
}
# The same where they do not, with the row of part 0.
WILD_ODDITIES = {
    "misread": 4, "mutated_cell": 4, "unit": 4, "sentinel": 19, "repeated_header": 5,
    "whitespace_line": 5, "long_row": 22, "nul": 16, "micros": 17, "short_time": 18,
    "year_1": 8, "huge": 2, "overflow": 9,
}


def odd_number(die, text):
    """The same number in an uncommon spelling, or one like it."""
    forms = [
        lambda: "0" * die.whole(1, 20) + text,
        lambda: text + ("000000" if "." in text else ".000"),
        lambda: text + (die.digits(die.whole(8, 40)) if "." in text else ""),
        lambda: text.translate({ord("0") + i: 0x660 + i for i in range(10)}),
        lambda: text.translate({ord("0") + i: 0xFF10 + i for i in range(10)}),
        lambda: text.translate({ord("0") + i: 0x1D7CE + i for i in range(10)}),
        lambda: die.pick(["0", "0.0", "-0", "-0.00", "0.000"]),
        lambda: die.pick(["0.1", "0.001", "1234567.891", "99999999", "1000000000000000000000"]),
        lambda: "0." + "0" * die.whole(1, 330) + "1",
    ]
    return die.pick(forms)()


class TelemetryMaker:
    """Window, GPUs and the file of one run. `run` gets the notes and its zone."""

    def __init__(self, die, run, odd, deviates):
        self.die, self.run, self.odd, self.deviates = die, run, odd, deviates
        self.choose_zone()
        self.choose_window()
        self.choose_gpus()
        self.choose_columns()
        self.choose_unit()

    # ---- where, when and who

    def choose_zone(self):
        die = self.die
        self.zone = "UTC" if die.chance(0.4) else die.pick(ZONES)
        if self.odd(0.05):
            self.zone = die.pick(ODD_ZONES)
        self.run.environment["TZ"] = self.zone
        set_zone(self.zone)

    def choose_window(self):
        die = self.die
        base = die.whole(1_690_000_000, 1_790_000_000)
        if self.odd(0.05):
            base = die.pick([10, 1000, 200_000_000, 500_000_000, 2_300_000_000, 4_000_000_000,
                             -5000, -600_000_000])
        self.at_clock_change = self.zone in CLOCK_CHANGES and die.chance(0.25)
        if self.at_clock_change:
            base = die.pick(CLOCK_CHANGES[self.zone]) - die.whole(0, 60)
        self.period_s = die.pick([0.1, 0.25, 0.5, 1, 1, 1, 1.003, 2, 2.5])
        window_s = die.pick([1, 2, 5, 10, 10, 20, 30, 60]) * die.uniform(0.5, 1.2)
        if self.odd(0.1):
            window_s = die.pick([0.001, 0.01, 0.1, 0.5, 1e-6, 1e-3])
        self.window_s = min(window_s, 60 * self.period_s)
        digits = die.pick([0, 3, 3, 6, 6, 7, 9])
        self.start = round(base + die.random.random(), digits) if digits else float(base)
        self.end = round(self.start + self.window_s, digits)
        if self.end <= self.start:
            self.end = self.start + 1

    def choose_gpus(self):
        die = self.die
        self.gpu_count = die.pick([1, 1, 2, 2, 3, 4, 8, 8, 9])
        if self.odd(0.02):
            self.gpu_count = die.pick([18, 72])
        self.ids = [str(i) for i in range(self.gpu_count)]
        if self.odd(0.15) and self.gpu_count <= len(STRANGE_IDS):
            self.ids = die.some(STRANGE_IDS, self.gpu_count)
        elif self.odd(0.05):
            start = die.whole(5, 12)
            self.ids = [str(start + i) for i in range(self.gpu_count)]
        if self.deviates(8, 0.02):
            self.ids[-1] = die.pick(["²", "③", "1²"])

    # ---- the header

    def choose_names(self):
        """Names of the three columns, of others, and of others that may only follow the power."""
        die = self.die
        recorder = self.recorder = die.weighted({"nvidia": 5, "amd": 4, "generic": 4})
        stamp = die.pick(["timestamp"] * 9 + ["sample_time"])
        if recorder == "nvidia":
            names = [stamp, die.pick(["index", "index", "index", "gpu", "card"]),
                     die.pick(["power.draw [W]", "power.draw [W]", "power.draw"])]
            others = ["temperature.gpu", "utilization.gpu [%]", "clocks.current.sm [MHz]",
                      "memory.used [MiB]", "name", "pstate"]
            followers = ["power.limit [W]", "enforced.power.limit [W]", "power.draw.instant [W]",
                         "power.draw.average [W]", "power.max_limit [W]", "uuid"]
            self.stamp_form = "slash"
        elif recorder == "amd":
            names = [stamp, "gpu", die.pick(["socket_power", "socket_power", "power_usage",
                                             "current_socket_power"])]
            others = ["gfx_activity", "umc_activity", "vcn_activity", "throttle_status"]
            followers = ["power_management", "max_power", "gfx_voltage", "power_limit", "power_cap"]
            self.stamp_form = "seconds"
        else:
            stamp = die.pick(["timestamp", "time", "Timestamp", "timestamp_unix", "TIME", "ts_time",
                              "sample time", "timestamp_utc", "datetime", "Time Stamp", "utc_time",
                              "timestamp [UTC]", "local_timestamp", "event_time"])
            power = die.pick(["power", "power_w", "gpu_power", "Power [W]", "gpu_power_w",
                              "POWER (W)", "Power Draw", "board_power", "power_watts", "avg_power",
                              "PowerDraw", "gpu0 power", "power_consumption", "asic.power",
                              "package_power (W)", "power1", "instant_power"])
            names = [stamp, die.pick(["gpu", "gpu_id", "gpu_index", "device", "card", "Index",
                                      "GPU_ID"]), power]
            others = ["temp", "util", "clock", "note", "fan"]
            followers = ["power_limit", "limit", "powercap", "max_power_w"]
            self.stamp_form = die.pick(FORMS)
        if self.odd(0.1):
            self.stamp_form = die.pick(FORMS)
        return names, others, followers

    def choose_columns(self):
        die = self.die
        names, others, followers = self.choose_names()
        self.stamp_name, self.gpu_name, self.power_name = names
        columns = names if die.chance(0.7) else die.some(names, 3)
        if self.odd(0.03):
            columns.remove(self.gpu_name)
            self.gpu_name = None
            followers = [name for name in followers if name != "uuid"]  # it would do: row 14
        if self.odd(0.01):
            columns.remove(self.power_name)
            self.power_name = None
            stand_ins = ("power.draw", "power_management")
            followers = [name for name in followers if not name.startswith(stand_ins)]
        if self.odd(0.01):
            columns.remove(self.stamp_name)
            self.stamp_name = None
        for name in die.some(others, die.whole(0, len(others) if die.chance(0.4) else 1)):
            columns.insert(die.whole(0, len(columns)), name)
        if die.chance(0.3):
            columns += die.some(followers, die.whole(1, len(followers)))
        self.columns = columns
        self.deviate_columns()
        self.repeat_columns()

    def deviate_columns(self):
        die, columns = self.die, self.columns
        if self.deviates(3, 0.03):
            brake = "clocks_event_reasons.hw_power_brake_slowdown"
            columns.insert(0, die.pick(["uptime", "time_ms", "power_management", "power_state",
                                        brake]))
        if self.recorder != "amd" and self.deviates(14, 0.03):
            columns.insert(0, die.pick(["index", "card", "uuid"]))
        if self.power_name and self.deviates(20, 0.02):
            named = die.pick(["power.draw [mW]", "power (kW)", "power_mw"])
            columns[columns.index(self.power_name)] = named
            self.power_name = named

    def choose_unit(self):
        """Numbers of milliwatts, or of kilowatts, with or without a word of it."""
        die = self.die
        self.scale = 1
        if not self.power_name or not self.deviates(26, 0.1):
            return
        self.scale = die.pick([1, 1000, 1000, 0.001])
        if die.chance(0.6):
            self.run.arguments += ["--power-unit", die.pick(["mW", "mW", "W", "kW"])]

    def repeat_columns(self):
        """Of a name that is there twice, the last column has the value."""
        die, columns = self.die, self.columns
        if self.odd(0.05):
            columns.append(die.pick([name for name in columns if name in self.own_names()]))
        self.last_place = {name: i for i, name in enumerate(columns)}
        if self.gpu_name and len(set(self.ids)) > 1 and self.odd(0.05):
            second = die.pick(["index", "gpu", "gpu_id", "device"])
            if second not in columns:
                columns.append(second)

    def own_names(self):
        return {self.stamp_name, self.gpu_name, self.power_name} - {None}

    def header_line(self):
        die = self.die
        if self.recorder == "nvidia" and die.chance(0.9):
            return ", ".join(self.columns)
        cells = list(self.columns)
        if self.odd(0.05):
            cells = [die.pick(['"{}"', " {} ", "{}\u00a0", "{}"]).format(cell) for cell in cells]
        if self.odd(0.05):
            recase = die.pick([str.upper, str.title])
            recased = [recase(cell) for cell in cells]
            if len(set(recased)) == len(set(cells)):
                cells = recased
        return ",".join(cells)

    # ---- what was measured

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
        most = 150 if self.gpu_count < 10 else 20
        at = self.start - lead
        ticks = []
        while at < self.end + tail and len(ticks) < most:
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
        """(instant in microseconds, number of the GPU, watts as text), in the file's order."""
        die = self.die
        spread_us = die.pick([0, 0, 0, 1000, 1000, 3000, 137, 40_000])
        shape = die.pick(["noise", "steady", "ramp"])
        digits = die.pick([2, 2, 2, 0, 1, 3, 6, 15])
        late = {die.whole(0, self.gpu_count - 1)} if self.odd(0.05) else set()
        dead = {die.whole(0, self.gpu_count - 1)} if self.odd(0.05) else set()
        repeats = self.odd(0.05) and (self.run.schema == 2 or self.deviates(1, 0.5))
        ticks = self.ticks()
        samples = []
        for i, tick in enumerate(ticks):
            gpus = list(range(self.gpu_count))
            if i == len(ticks) - 1 and self.odd(0.1):
                gpus = gpus[: die.whole(0, self.gpu_count)]
            for order, gpu in enumerate(gpus):
                if gpu in late and i < len(ticks) // 2 and die.chance(0.95):
                    continue
                if gpu in dead and i > len(ticks) // 2:
                    continue
                base = 100 + 70 * gpu
                more = {"noise": die.uniform(0, 500), "steady": 0, "ramp": 3.7 * i}[shape]
                text = f"{(base + more) * self.scale:.{digits}f}"
                again = die.whole(2, 3) if repeats and die.chance(0.05) else 1
                samples += [(tick + order * spread_us, gpu, text)] * again
        if self.run.schema == 1 and not repeats:
            samples = self.apart(samples)
        return self.reordered(samples + self.tear_down(ticks))

    def tear_down(self, ticks):
        """Rows of GPUs that go or have gone, after the last tick or among the last ones."""
        die = self.die
        if not ticks or not die.chance(0.15):
            return []
        first = ticks[-1] if die.chance(0.5) else round(self.end * 1e6)
        texts = die.pick([["0", "0.00"], ["[N/A]", ""], ["-1.00"], ["0", "[N/A]", "-5", "N/A"]])
        return [(first + round(die.uniform(0, 4) * 1e6), die.whole(0, self.gpu_count - 1),
                 die.pick(texts)) for _ in range(die.whole(1, 6))]

    def apart(self, samples):
        """Schema 1 adds readings of a GPU that share a stamp: part 0 row 1."""
        if self.deviates(1, 0.3):
            return samples
        digits = 0 if self.stamp_form == "seconds" else 3
        if self.stamp_form in CLOCK_FORMS:
            digits = min(self.stamp_digits, 3)
        step_us = 10 ** (6 - digits)
        taken = set()
        kept = []
        for sample in samples:
            near = {((sample[0] + shift) // step_us, sample[1]) for shift in (-501, 0, 501)}
            if not near & taken:
                taken |= near
                kept.append(sample)
        return kept

    def reordered(self, samples):
        if self.odd(0.05):
            self.die.shuffle(samples)
        elif self.odd(0.05):
            samples.sort(key=lambda sample: sample[1])
        elif self.odd(0.03):
            samples.reverse()
        return samples

    # ---- rows

    def stamp_text(self, unix_us):
        die = self.die
        form = die.pick(FORMS) if self.mixed_stamps else self.stamp_form
        if form not in CLOCK_FORMS:
            return epoch_stamp(die, unix_us, form)
        plain = not self.odd_stamps
        if form == "slash":
            return slash_stamp(die, wall_clock(unix_us), self.stamp_digits, plain)
        if form == "iso":
            return iso_stamp(die, wall_clock(unix_us), self.stamp_digits, plain, None)
        offset = 0 if form == "iso_z" else self.stamp_offset
        at = utc_clock(unix_us + offset * 60_000_000)
        return iso_stamp(die, at, self.stamp_digits, plain, offset)

    def rows(self):
        die = self.die
        self.odd_stamps = self.odd(0.1)
        self.mixed_stamps = self.run.schema == 2 and self.odd(0.05)
        self.stamp_digits = die.pick([3, 3, 3, 6, 0, 1, 9])
        self.stamp_offset = die.pick([0, 60, -420, 330, 345, -210, 840, -720])
        self.unit = " W" if self.recorder == "nvidia" and die.chance(0.8) else ""
        if self.recorder == "generic" and die.chance(0.2):
            self.unit = die.pick([" W", "W", " w", " watts"])
        samples = self.samples()
        rates = self.row_oddities()
        self.has_short_rows = "short" in rates
        headers = self.deviates(5, 0.03)  # one before every tick, as amd-smi prints them
        rows = []
        for i, (unix_us, gpu, watts) in enumerate(samples):
            if headers and i > 0 and unix_us // 1_000_000 != samples[i - 1][0] // 1_000_000:
                rows.append(self.header_line())
            if self.at_clock_change and self.run.schema == 2 and self.odd(0.02):
                unix_us += die.pick([-3600, 3600, -1800, 1800]) * 1_000_000
            values = {
                self.stamp_name: self.stamp_text(unix_us),
                self.gpu_name: self.ids[gpu],
                self.power_name: watts + self.unit,
            }
            kinds = [kind for kind, rate in rates.items() if die.chance(rate)]
            for kind in kinds:
                self.spoil_cells(values, kind)
            row = self.row_line(values, gpu)
            for kind in kinds:
                row = self.spoil_row(row, kind)
            rows.append(row)
            rows += [line for line in map(self.stray_line, kinds) if line is not None]
        if self.odd(0.01):
            rows = []
        if self.odd(0.01):
            rows = self.warm_up_rows(die.whole(2000, 8000)) + rows
        return rows

    def warm_up_rows(self, count):
        """More rows than any buffer holds, before the window."""
        rows = []
        first_us = round((self.start - 20 - count) * 1e6)
        for i in range(count):
            gpu = i % self.gpu_count
            values = {self.stamp_name: self.stamp_text(first_us + i * 1_000_000),
                      self.gpu_name: self.ids[gpu], self.power_name: str(i)}
            rows.append(self.row_line(values, gpu))
        return rows

    def row_oddities(self):
        """Which oddities the rows of this file have, and how often."""
        rates = {}
        for kind, probability in ROW_ODDITIES.items():
            if self.odd(probability):
                rates[kind] = self.die.pick([0.01, 0.01, 0.05, 0.5])
        if "short" in rates:
            rates.pop("stray_bytes", None)  # they could end up behind the watts: part 0 row 4
        if "uuid" in self.columns:
            rates.pop("blank_id", None)  # the other column would vary: part 0 row 14
        if self.run.schema == 1:
            for kind, row in {"negative": 2, "mutated_stamp": 1, "far_stamp": 1}.items():
                if kind in rates and not self.deviates(row, 0.5):
                    del rates[kind]
        for kind, row in WILD_ODDITIES.items():
            if self.deviates(row, 0.02):
                rates[kind] = self.die.pick([0.01, 0.05, 0.3])
        return rates

    def spoil_cells(self, values, kind):
        die = self.die
        stamp, gpu, power = self.stamp_name, self.gpu_name, self.power_name
        texts = {
            "no_reading": (power, lambda: die.pick(NO_READINGS)),
            "misread": (power, lambda: die.pick(MISREAD_CELLS)),
            "mutated_cell": (power, lambda: die.mutated(values[power])),
            "unit": (power, lambda: die.pick(UNIT_CELLS)),
            "sentinel": (power, lambda: die.pick(SENTINELS)),
            "zero": (power, lambda: die.pick(["0", "0.00", "0.0"]) + self.unit),
            "negative": (power, lambda: "-" + values[power].lstrip("-")),
            "huge": (power, lambda: "9" * 400),
            "overflow": (power, lambda: "1" + "0" * 308),
            "blank_id": (gpu, lambda: die.pick(["", " ", "\u00a0", "\t"])),
            "bad_stamp": (stamp, lambda: die.pick(BAD_STAMPS)),
            "far_stamp": (stamp, lambda: die.pick(FAR_STAMPS)),
            "year_1": (stamp, lambda: "0001-01-01T00:00:00"),
            "short_time":
                (stamp, lambda: f"2025-10-23 {die.whole(0, 9)}:{die.whole(0, 59)}:{die.whole(0, 59)}"
                 + die.pick(["", ".243"])),
            "micros": (stamp, lambda: self.fine_epoch()),
        }
        if kind in texts:
            name, text = texts[kind]
            values[name] = text()
        elif kind == "mutated_stamp":
            text = die.mutated(values[stamp])
            values[stamp] = "" if SHORT_TIME.match(text) or text[14:].isdigit() else text
        elif kind == "odd_number":
            number = values[power].removesuffix(self.unit)
            if number.replace(".", "").isdigit():
                values[power] = odd_number(die, number) + self.unit
        elif kind == "blank_cells":
            for name in values:
                values[name] = " " * die.whole(0, 2) + values[name] + " " * die.whole(0, 2)
        elif kind == "odd_blanks":
            name = die.pick(list(values))
            values[name] = die.pick(BLANKS) + values[name] + die.pick(BLANKS)

    def fine_epoch(self):
        """An instant after the start, in microseconds or nanoseconds."""
        die = self.die
        return str(round(self.start * 1e6) + die.whole(0, 10**6)) + die.pick(["", "000"])

    def row_line(self, values, gpu):
        die = self.die
        cells = []
        for i, name in enumerate(self.columns):
            if name in values and i < self.last_place[name] and die.chance(0.5):
                cells.append(die.pick(["5", "", "N/A", "1700000000"]))
            elif name in values:
                cells.append(values[name])
            elif name.startswith("power.draw"):
                cells.append(self.same_power(values))
            else:
                cells.append(self.other_cell(name, gpu))
        for i, cell in enumerate(cells):
            if ("," in cell or cell.startswith('"') != cell.endswith('"')) and "'" not in cell:
                cells[i] = '"' + cell.replace('"', '""') + '"'
        return (", " if self.recorder == "nvidia" else ",").join(cells)

    def same_power(self, values):
        """Its mean or its value at once: a column that says otherwise is part 0 row 31."""
        factor = self.die.uniform(0.95, 1.05)
        number = re.match(r"\s*(\d+(\.\d+)?)", values.get(self.power_name, ""))
        return f"{float(number[1]) * factor:.2f} W" if number else "N/A"

    def other_cell(self, name, gpu):
        die = self.die
        if any(word in name.lower() for word in ("limit", "cap", "max_power")):
            return "3000.00 W"  # twice as much is beyond all GPUs anyway: part 0 row 31
        fixed = {"power_management": "ENABLED", "throttle_status": "\"['N/A', 'N/A']\"",
                 "uuid": f"GPU-{gpu}", "card": "0", "index": "0", "gpu": "0", "gpu_id": "0",
                 "device": "0"}
        return fixed.get(name) or die.pick(["42", "0 %", "", "N/A", "NVIDIA H100", "P0"])

    def spoil_row(self, row, kind):
        die = self.die
        cells = row.split(",")
        at = die.whole(0, len(cells) - 1)
        if kind in ("quoted_cell", "broken_line", "short") and '"' not in row:
            if kind == "quoted_cell":
                cells[at] = die.pick(['"{}"', ' "{}"', '  "{}"']).format(cells[at])
            elif kind == "broken_line":
                cells[at] = '"' + cells[at] + die.pick(["\n", "\r\n", "\r"]) + '"'
            else:
                del cells[max(at, 1) :]
            return ",".join(cells)
        if kind == "stray_bytes" and "uuid" not in self.columns:
            stray = die.pick(STRAY_BYTES).decode("latin-1")
            return stray + row if self.columns[-1] == self.power_name else row + stray
        if kind == "empty_extra":
            return row + die.pick([",", ",,", ",,,", ',""'])
        if kind == "long_row":
            return row + ",1,2"
        if kind == "nul":
            return row[:3] + "\0" + row[3:]
        return row

    def stray_line(self, kind):
        if kind == "only_commas":
            return "," * (len(self.columns) - 1)
        if kind == "empty_line":
            return ""
        if kind == "repeated_header":
            return self.header_line()
        if kind == "whitespace_line":
            return self.die.pick([" ", "   ", "\t", "\u00a0"])
        return None

    # ---- bytes

    def csv(self):
        die = self.die
        ending = die.weighted({"\n": 8, "\r\n": 3, "\r": 1})
        if self.recorder == "amd" and die.chance(0.3):
            ending = "\r\n"
        text = self.header_line() + ending
        mixed = self.odd(0.05)
        for row in self.rows():
            text += row + (die.pick(["\n", "\r\n", "\r"]) if mixed else ending)
        if self.odd(0.1) and not self.has_short_rows:
            text = text.rstrip("\r\n")
        if self.deviates(5, 0.03):  # the recorder was killed while it wrote a row
            text = text[: -die.whole(1, 40)]
        if self.odd(0.02):  # a cell longer than the reader takes
            text = text.rstrip("\r\n") + ending
            text += die.pick(['"' + "x" * 131073 + '"\n', "1," + "x" * 131073 + "\n"])
        if self.odd(0.02):  # a quote that is never closed
            at = text.find(ending, len(text) // 2) + len(ending)
            if ending in text[at:]:  # else it is a torn row
                text = text[:at] + '"' + text[at:]
        if self.deviates(5, 0.02):  # killed inside quotes
            text = text.rstrip("\r\n")
            at = text.rfind(ending) + len(ending)
            text = text[:at] + '"' + text[at:]
        if self.deviates(15, 0.02):
            preambles = ["# preamble\n", "CTRL + C to stop\n", "\n", "Device log v1, x\n"]
            text = die.pick(preambles) + text
        if self.deviates(6, 0.03):
            if die.chance(0.5):
                return b"\xef\xbb\xbf" + text.encode()
            return ("\ufeff" + text).encode(die.pick(["utf-16-le", "utf-16-be"]))
        # Bytes that are no UTF-8 were single characters until now.
        data = text.encode()
        for byte in sorted(set(b"".join(STRAY_BYTES))):
            if die.chance(0.5):
                data = data.replace(chr(byte).encode(), bytes([byte]))
        return data
