"""Random runs of the program: its input files, options and environment.

Most runs are as a monitor and a benchmark leave them, with an oddity or two on which the
contract agrees with the original. Runs of the `wild` kind also hold what contract.md part 0
decides otherwise; each such run says in `notes` which rows of it are touched.
"""
import json
import pathlib
from dataclasses import dataclass, field

from random_stamps import ODD_ZONES, Die
from random_telemetry import TelemetryMaker


@dataclass
class Run:
    schema: int
    arguments: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    notes: set[str] = field(default_factory=set)  # "row 4": of part 0
    csv: str = "gpu_metrics.csv"
    benchmark: str = "run.json"
    aggregate: str = "agg_run.json"
    sidecar: str | None = None


BENCHMARK_NOISE = {
    "date": '"20260101-000000"', "num_prompts": "32", "request_rate": "Infinity",
    "ttfts": "[0.1, 0.25, 1e-3, []]", "errors": '["", "a\\u00e9\\ud83d\\ude00"]',
    "nested": '{"duration": 5, "completed": [{}]}', "mean": "12.5", "none": "null",
    "größe": "-0.0", 'q\\"uote': "true", "lone": '"\\ud800 \\udc00\\ud800"',
    "nul": '"\\u0000\\/\\b"', "well": "[" * 300 + "]" * 300,
}
AGGREGATE_NOISE = [
    ("hw", '"h200-nvs"'), ("tp", "8"), ("conc", "64"), ("model", '"deep\\/seek \\u00e9"'),
    ("tput_per_gpu", "1234.5678901234567"), ("median_ttft", "1e5"), ("p99", "1E-7"),
    ("disagg", "false"), ("none", "null"), ("list", "[1, 2.50, [], {}]"),
    ("deep", '{"avg_power_w": 5, "power_valid": [0]}'), ("minus", "-0"), ("x", "0.1000"),
    ("long", "123456789012345678901234567890"), ("schlüssel", '"naïve \U0001f600"'),
    ("escape\\n\\u0041", '"\\ud83d\\ude00\\t"'), ("", '""'), ("big", "1E400"),
    ("digits", "0.12345678901234567890123"), ("del", '"\x7f"'),
    ("lone", '["\\ud800", {"\\udfff": 1}]'), ("well", "[" * 300 + "]" * 300),
]
AGGREGATE_POWER = [
    ("avg_power_w", "411.5"), ("joules_per_output_token", "0.5"),
    ("joules_per_total_token", "1e-3"), ("power_valid", "1"), ("power_valid", "true"),
    ("power_metric_schema_version", "1"), ("power_metric_schema_version", '"2"'),
    ("power_invalid_reasons", '["x"]'), ("avg_total_gpu_power_w", "null"),
    ("total_gpu_energy_j", "12"), ("joules_per_input_token", "NaN"),
    ("joules_per_successful_query", '{"a": 1}'), ("avg_power\\u005fw", "5"),
    ("\\u0070ower_valid", "0"), ("power_valid ", "1"), ("Power_valid", "1"),
]
NOT_JSON = [
    "01", "1.", ".5", "-", "+1", "1e", "-NaN", "nan", "True", "'x'", '"\t"', "1_0", "0x1", "--1",
    "1.e5", "1e+", "Inf", '"\\x"', '"\\u12"', "]", "[1,]", '{"a"}', '{"a":}', '"', "",
]
NO_COUNTS = ["0", "-1", "-0", "null", '"5"', "1.0", "1e3", "NaN", "[]", "{}", "false"]
NO_TIMES = ["null", '"5"', "[]", "{}", "0", "0.0", "-0", "-1", "NaN", "Infinity", "-Infinity",
            "1e400", "-1e400", "false"]
ODD_TIMES = ["12345678901234567890123", "1.7e+9", "17E8", "1700000000.00000000000000000000001",
             "1e-400", "5", "1e3", "9007199254740993", "123456789.000000059604644775390625"]
ODD_COUNTS = ["9223372036854775807", "9007199254740993", "12345678901234567", "1"]
NO_ZONES = [b"", b"{", b"[]", b"5", b'"UTC"', b"{}", b'{"timestamp_timezone": null}',
            b'{"timestamp_timezone": 9}', b'{"timestamp_timezone": "PDT"}',
            b'{"timestamp_timezone": "+9"}', b'{"timezone": "UTC"}',
            b'{"timestamp_timezone": "UTC", "x": "\xff"}']
ENORMOUS = ["1" + "0" * 400, "9" * 5000, "9" * 25]


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
        """Whether this run shall hold what row `row` of part 0 is about."""
        if not self.wild or not self.die.chance(probability):
            return False
        self.run.notes.add(f"row {row}")
        return True

    def make(self):
        run = self.run
        self.telemetry = TelemetryMaker(self.die, run, self.odd, self.deviates)
        self.name_files()
        run.files[run.csv] = self.telemetry.csv()
        run.files[run.benchmark] = self.benchmark()
        run.files[run.aggregate] = self.aggregate()
        if self.die.chance(0.15):
            self.add_snapshots()
        self.give_arguments()
        if self.deviates(7, 0.15):
            self.tell_zone()
        self.mislay_files()
        return run

    def name_files(self):
        die, run = self.die, self.run
        if self.odd(0.05):
            run.csv = die.pick(["a b.csv", "größe.csv", "noext", ".csv", "x.tar.gz", "end.", "..x",
                                "a.b.c", "\U0001f600.csv", "-x.csv"])
        if self.odd(0.05):
            run.benchmark = die.pick(["run.v2.json", "run", ".hidden", "run.", "..json", "é.json",
                                      "a..json", "r n.json"])
        if self.odd(0.05):
            run.aggregate = die.pick(["agg", "agg.x.json", ".agg", "ag g.json", "ägg.json"])

    # ---- JSON

    def benchmark(self):
        die = self.die
        start, end = self.telemetry.start, self.telemetry.end
        duration = window_s = end - start
        if die.chance(0.3):
            duration += die.uniform(-0.4, 0.4) * min(1, window_s)
        if self.odd(0.05):
            off = die.pick([0.5, -0.5, 0.51, 3, -3, 0.6, 0.01 * window_s])
            duration = window_s + (off if off > -window_s else -off)
        members = {
            "benchmark_start_time_unix": self.number(start),
            "benchmark_end_time_unix": self.number(end),
            "duration": self.number(duration),
            "completed": str(die.whole(1, 1000)),
            "total_input_tokens": str(die.pick([1, 7, 1000, 240_000, 123_457, 10**12])),
            "total_output_tokens": str(die.pick([1, 3, 1000, 30_000, 98_765, 10**12])),
        }
        if self.odd(0.1):
            for _ in range(die.whole(1, 2)):
                self.spoil_benchmark(members)
        return self.json_object(self.with_noise(members))

    def with_noise(self, members):
        die = self.die
        if self.odd(0.05) and members:
            key = die.pick(list(members))
            members = {name.replace("_", "\\u005f") if name == key else name: value
                       for name, value in members.items()}
        noise = dict(BENCHMARK_NOISE)
        if self.odd(0.05):  # longer than a buffer
            latencies = [i / 7 for i in range(die.whole(5000, 30_000))]
            noise["itls"] = json.dumps(latencies)
            noise["texts"] = '"' + "ab\\u00e9\\n\\\\" * die.whole(5000, 20_000) + '"'
        order = list(members.items()) + die.some(list(noise.items()), die.whole(0, len(noise)))
        die.shuffle(order)
        if self.odd(0.05) and members and self.run.schema == 2:
            order.append((die.pick(list(members)), die.pick(["1", "null", "5.5", "1700000000"])))
        return order

    def number(self, value):
        forms = [repr(value)] * 6
        if self.odd(0.2):
            forms = [f"{value:.17e}", f"{value:.9f}", f"{value:.20E}"]
            forms += [repr(value) + "0"] if "e" not in repr(value) else []
            forms += [str(int(value))] if value == int(value) else []
        return self.die.pick(forms)

    def spoil_benchmark(self, members):
        """Takes a member out, or gives it a value that is odd or none at all."""
        die = self.die
        key = die.pick(list(members))
        is_time = "time" in key or key == "duration"
        values = NO_TIMES + ODD_TIMES if is_time else NO_COUNTS + ODD_COUNTS
        value = die.pick([*values, "true"] if self.run.schema == 2 or not is_time else values)
        if self.deviates(8, 0.1):
            value = die.pick(ENORMOUS)
        if self.run.schema == 1 and is_time and value not in ("null", '"5"', "[]", "{}"):
            # The original averages whatever it gets: part 0 row 2.
            if not self.deviates(2, 0.5):
                return
        if die.chance(0.15):
            del members[key]
        else:
            members[key] = value

    def aggregate(self):
        die = self.die
        members = die.some(AGGREGATE_NOISE, die.whole(0, len(AGGREGATE_NOISE)))
        if die.chance(0.4):
            members += die.some(AGGREGATE_POWER, die.whole(1, 6))
        if self.odd(0.05):
            members.append(("nan", die.pick(["NaN", "Infinity", "-Infinity"])))
        if self.deviates(11, 0.03):
            members += [("prefill_avg_power_w", "5"), ("decode_gpu_energy_j", "6")]
        die.shuffle(members)
        if self.deviates(8, 0.03):
            return die.pick([b"[]", b"5", b'"x"', b"null", b'{"a": "\xff"}', b"[{}]"])
        return self.json_object(members)

    def json_object(self, members):
        """The members in some layout; now and then it is not JSON."""
        die = self.die
        layout = die.pick([(",", ":", ""), (", ", ": ", ""), (" ,\t", " :  ", ""),
                           (",\n  ", ": ", "\n"), (",\n    ", ": ", "\n")])
        comma, colon, edge = layout
        text = "{" + (comma[1:] if edge else "")
        text += comma.join(f'"{key}"{colon}{value}' for key, value in members) + edge + "}"
        if not members:
            text = "{}"
        if die.chance(0.2):
            text = text.replace("\n", "\r\n")
        text += die.pick(["", "", "\n", " \n\t"])
        return self.spoil_json(text) if self.odd(0.06) else text.encode()

    def spoil_json(self, text):
        die = self.die
        spoiled = [
            lambda: text[: die.whole(0, len(text) - 1)],
            lambda: text.replace("}", ",}"),
            lambda: text + "x",
            lambda: text.replace('"', "'"),
            lambda: "\ufeff" + text,
            lambda: "// x\n" + text,
            lambda: die.pick(["", "   "]),
            lambda: text.replace(":", f": {die.pick(NOT_JSON)}" + ', "z":', 1),
        ]
        return (die.mutated(text) if die.chance(0.5) else die.pick(spoiled)()).encode()

    # ---- the energy counters

    def add_snapshots(self):
        die = self.die
        numbers = [int(gpu) for gpu in self.telemetry.ids if gpu.isdecimal()]
        if len(set(numbers)) < len(numbers):
            return  # equal numbers, such as 0 and 00, stand in no certain order there
        header = die.pick(["gpu,total_energy_consumption", "timestamp,gpu,total_energy_consumption",
                           " gpu , total_energy_consumption ", '"gpu","total_energy_consumption"'])
        if die.chance(0.07):
            header = die.pick(["GPU,total_energy_consumption", "gpu,energy", ""])
        odd = die.chance(0.3)
        ids = [gpu for gpu in self.telemetry.ids if "," not in gpu and '"' not in gpu]
        base = {gpu: die.uniform(0, 1e7) for gpu in ids}
        stem = pathlib.PurePath(self.run.csv).stem
        for which, spent in {"start": 0, "end": die.uniform(-100 if odd else 1000, 50_000)}.items():
            joules = {gpu: base[gpu] + spent for gpu in ids if not (odd and die.chance(0.1))}
            if die.chance(0.95):
                self.run.files[f"{stem}_energy_{which}.csv"] = self.snapshot(header, joules, odd)

    def snapshot(self, header, joules, odd):
        die = self.die
        names = [name.strip(' "') for name in header.split(",")]
        lines = [header]
        for gpu, value in joules.items():
            text = f"{value:.3f}"
            if odd:
                text = die.pick([f"{value:.3e}", f" {value:.0f} ", "1_000", "inf", "nan", "N/A", "",
                                 "+5", "1_0.5e1_0", "0x10", ".5", "5.", "١٢", "1e400",
                                 repr(value)])
            cells = {"gpu": gpu, "timestamp": "5", "total_energy_consumption": text}
            lines.append(",".join(cells.get(name, "1") for name in names))
            if odd and die.chance(0.1):
                lines.append(die.pick(["", ",", lines[-1], "0", "0,5,6,7"]))
        return ("\r\n" if odd else "\n").join(lines).encode() + b"\n"

    # ---- the command line

    def give_arguments(self):
        die, run = self.die, self.run
        csv, benchmark = run.csv, run.benchmark
        if self.odd(0.1):
            csv = die.pick(["./", ".//", "sub/../", "sub/.././", "sub/..//./"]) + csv
            run.folders.append("sub")
        if self.odd(0.05):
            benchmark = die.pick(["./", "sub/../", ".//"]) + benchmark
            run.folders.append("sub")
        options = [
            (die.pick(["--bench-result", "--bench-result", "--bench", "--b"]), benchmark),
            (die.pick(["--agg-result", "--agg-result", "--agg", "--a"]), run.aggregate),
        ]
        if run.csv == "gpu_metrics.csv" and self.deviates(21, 0.03):
            if die.chance(0.5):
                run.environment["GPU_METRICS_CSV"] = csv
        else:
            options.append((die.pick(["--csv", "--csv", "--cs", "--c"]), csv))
        if run.schema == 2:
            options += self.schema_2_options(benchmark)
        die.shuffle(options)
        if self.odd(0.02):
            options.insert(0, ("--csv", "other.csv"))
        for name, value in options:
            joined = die.chance(0.2) or value.startswith("-x")
            run.arguments += [f"{name}={value}"] if joined else [name, value]
        self.add_flags()
        if self.odd(0.02):
            wrong = [["extra"], ["--nonsense"], ["--csv"], ["--expected-num-gpus", "x"]]
            run.arguments = die.pick([run.arguments + words for words in wrong]
                                     + [[word for word in run.arguments if "agg" not in word]])

    def schema_2_options(self, benchmark):
        die, run = self.die, self.run
        count = str(len(set(self.telemetry.ids)))
        if self.odd(0.05):
            count = die.pick(["0", "-1", "1", "8", "+2", " 4 ", "1_0", "٣", "007", "-0", "1__0",
                              "_1", "", "1.0", "0x4", "1e1", "+-1", "- 1", "4_", "\u00a05", "x",
                              "-", "+", "９"])
        options = [(die.pick(["--expected-num-gpus", "--expected", "--e"]), count)]
        run.sidecar = f"power_validation_{pathlib.PurePath(benchmark).stem}.json"
        if benchmark.startswith("sub/"):
            run.sidecar = "sub/../" + run.sidecar
        if die.chance(0.2):
            run.sidecar = die.pick(["audit.json", "made/for/it.json", "./audit"])
            options.append((die.pick(["--validation-result", "--val", "--v"]), run.sidecar))
        if self.deviates(10, 0.01):
            run.folders.append(run.sidecar)  # so that it cannot be written
        return options

    def add_flags(self):
        die, run = self.die, self.run
        if run.schema == 1:
            return
        if die.chance(0.15):
            run.arguments.insert(0, die.pick(["--require-power", "--req", "--r"]))
        if die.chance(0.3):
            run.environment["REQUIRE_POWER"] = die.pick(
                ["1", "true", "TRUE", "Yes", "yes", "0", "", "no", " 1", "yes ", "on", "2"]
            )

    def tell_zone(self):
        """Says which zone the stamps are of; it need not be true."""
        die, run = self.die, self.run
        own = self.telemetry.zone if self.telemetry.zone not in ODD_ZONES else "UTC"
        zone = die.pick(["UTC", "local", "+05:30", "-0700", "America/New_York", "Europe/Berlin",
                         "Australia/Lord_Howe", own, own, own])
        if die.chance(0.4):
            run.arguments += ["--timezone", zone]
        context = pathlib.PurePath(run.csv).stem + "_context.json"
        offset = "agentic_power_timezone_offset.txt"
        if die.chance(0.5):
            run.files[context] = json.dumps({"timestamp_timezone": zone, "x": 1}).encode()
        if die.chance(0.3):
            run.files[offset] = die.pick([b"+0530\n", b"-0800", b"+0000\n"])
        if die.chance(0.3):
            run.files[die.pick([context, context, offset])] = die.pick(NO_ZONES)

    def mislay_files(self):
        die, run = self.die, self.run
        if not self.odd(0.04):
            return
        name = die.pick([run.csv, run.csv, run.benchmark, run.aggregate])
        what = die.pick(["missing", "missing", "folder", "empty"])
        if what == "empty":
            run.files[name] = b""
        else:
            del run.files[name]
        if what == "folder":
            run.folders.append(name)


def make_run(seed, wild):
    """The run of this seed. The process's time zone is the run's afterwards."""
    return RunMaker(seed, wild).make()
