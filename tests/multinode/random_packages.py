"""Random packages: whole ones, and ones with a few things wrong, as recorders of every kind leave
them. What the manifest says of the samples is worked out by the model, by a random rule of gaps."""
import hashlib
import json
import random

import gap_model
import package_model
from package_builder import PIN, Gpu, Load, Package, edit_json, write_csv

SCOPES = [("DCGM_FI_DEV_POWER_USAGE", "gpu_device_board_as_reported_by_dcgm"),
          ("gpu_power_usage", "gpu_device_power_as_reported_by_amd_device_metrics_exporter"),
          ("my_power", "what the supply says")]
COUNTS = [0, -1, 1.0, True, None, "5", ..., 10 ** 310]
NUMBERS = ["nan", "inf", "-inf", "-1", "", "x", " 5.0 ", "1_0", "1e3", "0", "-0.0", "0x10", "+7", "5 W",
           "9" * 25, "\u0665"]
WIRE = {"schema_version": [2, "1", None, ..., 1.0, True], "producer": ["x", ...], "unit": ["mW", ...],
        "source_metric": ["", None, ...], "power_scope": ["", 5, ...],
        "timestamp_source": ["clock", ...], "status": ["incomplete", "running", "failed", ...],
        "started_at_unix": [None, ..., "990", True], "stopped_at_unix": [None, ..., []],
        "sample_interval_seconds": [0, -1.0, None, ..., "1"],
        "request_timeout_seconds": [0.0, None, ...], "scrape_count": [-1, 1, None, 5.0, 10 ** 6],
        "sample_row_count": [-1, 1, None, ...], "required": [None, 1, ..., False],
        "reason_codes": [None, ..., ["endpoint_timeout"], ["exporter_exited"], [1],
                         ["exporter_startup_timeout"], ["sample_schedule_overrun"]],
        "dcgm_exporter": [None, ..., {}, {"container_image_resolved": ""}],
        "clock_sync_failures": [[], ["node-a"], ["a", 1], "a", None, {}],
        "power_profile": ["dcgm", {"name": "x"}, 5], "artifact_errors": [None, ..., {}],
        "expected_devices": [None, [], {}, [{"hostname": "n"}]], "expected_windows": [None, [], {}],
        "observed_devices": [None, ..., []]}


class RandomLoad(Load):
    def __init__(self, die, concurrency, start, end):
        super().__init__(concurrency, start, end, die.choice(["sa-bench", "custom"]))
        self.counts = {"completed": die.randint(1, 500), "total_input_tokens": die.randint(1, 10 ** 6),
                       "total_output_tokens": die.randint(1, 10 ** 5)}

    def measured(self):
        return super().measured() | self.counts


class RandomPackage:
    """A package, the options of a run on it, and notes of what is wrong."""

    def __init__(self, seed, contract, count=None, version=None):
        """`count` is how many things are wrong; some few, if it is not given. `version`: of the samples."""
        self.version = version
        self.die = random.Random(f"{contract} {seed}")
        self.notes = []
        self.options = package_model.Options(contract=contract, pin=PIN)
        self.after = []  # changes of the files, once they are written
        # A few more runs ask for it, too, and the power that was is then known.
        self.salvage = contract == "october" and random.Random(seed).random() < 0.5
        # Of these nothing is wrong but what the rules of gaps differ about.
        is_gappy = self.die.random() < 0.25
        self.compose(0.4 if is_gappy else 0.1)
        faults = self.die.choices(FAULTS, k=count or self.die.choice([0, 0, 1, 1, 1, 2, 3]))
        if is_gappy:
            faults = self.die.choices([gap, gap, gaps, every_nth_missing, stamps_in_between],
                                      k=count or self.die.choice([1, 1, 2]))
        self.whole_rows = [list(row) for row in self.package.rows]
        for fault in sorted(faults, key=FAULTS.index):
            self.notes.append(fault.__name__)
            fault(self)

    def compose(self, long_share):
        die, options = self.die, self.options
        self.interval = die.choice([0.5, 1.0, 1.0, 1.0, 2.0])
        self.timeout = die.choice([0.5, 1.0, 2.0, 2.0, 5.0])
        lengths = [1200.0] if die.random() < long_share else [10.0, 19.0, 40.0, 60.0]
        start, loads = 1000.0 + die.choice([0.0, 0.0, 0.25, round(die.random(), 3)]), []
        for i in range(die.choice([1, 1, 2, 2, 3])):
            length = die.choice(lengths) + die.choice([0.0, 0.0, round(die.random(), 3)])
            loads.append(RandomLoad(die, 4 * 2 ** i, start, start + length))
            start += length + die.choice([5.0, 10.0])
        version = die.choice([1, 2, 3] if options.contract == "october" else [1, 1, 2])
        version = self.version or version
        package = Package(self.gpus(lengths == [1200.0]), loads, version, first=992.0,
                          last=loads[-1].end + 8, interval=self.interval)
        # The model works these out, from the files.
        package.observed, package.validation = list, lambda load: {}
        self.package, self.chosen = package, die.choice(loads)
        package.bench = dict(self.chosen.result())
        if options.contract == "october":
            metric, scope = die.choice(SCOPES)
            package.changes |= {"source_metric": metric, "power_scope": scope}
            options.keys = die.choice(["seed"] * 6 + ["row", "agentx-row", "all", "all"])
            options.gap_policy = "consumer" if die.random() < 0.1 else "auto"
        package.changes |= {"sample_interval_seconds": self.interval, "stopped_at_unix": start + 100,
                            "request_timeout_seconds": self.timeout, "samples_schema_version": version}
        options.required = die.random() < 0.5
        if die.random() < 0.3:
            self.add_cpus()

    def gpus(self, few):
        die, options = self.die, self.options
        hosts = 1 if few else die.choice([1, 2, 2, 3])
        roles = die.choice([["agg"], ["prefill", "decode"], ["decode"]])
        grouped, gpus = die.random() < 0.5, []
        for i in range(hosts):
            role = roles[i % len(roles)]
            for index in range(1 if few else die.choice([1, 2])):
                gpus.append(Gpu(f"node-{'cab'[i]}", index, role, self.watts(),
                                roles.index(role) if grouped else None, i,
                                temp_c=die.choice([None, 60.5, 200, -5.0])))
        count = {role: sum(gpu.role == role for gpu in gpus) for role in ("prefill", "decode", "agg")}
        options.prefill, options.decode, options.aggregate = count.values()
        die.shuffle(gpus)
        return gpus

    def watts(self):
        die = self.die
        base, slope = die.uniform(0, 900), die.uniform(0, 5)
        noise = random.Random(die.random())
        return die.choice([round(base), base, lambda t: base + slope * abs(t - 1010),
                           lambda t: round(noise.uniform(0, 1000), die.choice([0, 2, 3]))])

    def add_cpus(self):
        die = self.die
        source, sensor = die.choice([("acpi", "Grace Power Socket {}"),
                                     ("acpi", "Module Power Socket {}"),
                                     ("dcgm", "cpu{}:cpuPowerUsageW")])
        version = die.choice([1, 2, 3])
        # Of modules in a column all is there, nothing, or all but a few readings of one socket.
        hole = die.uniform(990, 1100)
        module = die.choice(["", "480.5", lambda t, host, socket: "" if (host, socket) == (
            self.package.gpus[0].host, 0) and hole < t < hole + 3 else "480.5"])
        if version == 3 and sensor.startswith("Module"):
            module = ""
        self.package.add_cpus(version, source, sensor, watts=lambda t: 100 + t % 7,
                              rails=("40.5", die.choice(["", "10.0"]), ""), module=module)
        self.options.cpu_source = die.choice([None, None, "acpi", "dcgm"])

    # ---- On disk

    def write(self, folder):
        package, die = self.package, self.die
        package.write(folder)
        for change in self.after:
            change(folder)
        logs = folder / "LOGS"
        path = logs / "power" / "manifest.json"
        manifest = json.loads(path.read_text())
        data = (logs / "power" / "samples.csv").read_bytes()
        if die.random() < 0.5:
            manifest["samples_sha256"] = hashlib.sha256(data).hexdigest()
        self.state_evidence(logs, manifest)
        path.write_text(json.dumps(manifest, indent=2))
        edit_json(path, **self.wire())

    def state_evidence(self, logs, manifest):
        """As a recorder of a random kind would, mostly."""
        die, contract = self.die, self.options.contract
        rules = (1, 2, 3), False
        if contract == "august":
            rules = die.choice([((1,), False), ((1, 2), True)])
        read = package_model.read_package(logs, manifest, contract, *rules)
        if read is None:
            return
        rule = die.choice(gap_model.STRICTEST) if contract == "october" else "a"
        emptied = die.random() < 0.5
        self.notes.append(f"stored by {rule}, {'emptied' if emptied else 'kept'}")
        manifest |= {"window_validations": read.validations(rule, emptied),
                     "observed_devices": read.observed(), "artifact_errors": read.scan.errors,
                     "sample_row_count": len(read.samples)}
        verdict = manifest["publication_valid"]
        if die.random() < 0.85:
            _, _, faults, _, codes = package_model.recompute(read, self.options)
            verdict = not faults and not codes
        manifest["publication_valid"] = verdict
        if die.random() < 0.08:
            self.tamper(manifest)

    def tamper(self, manifest):
        die = self.die
        kind = die.choice(["unknown", "value", "less", "verdict"])
        self.notes.append(f"stored: {kind}")
        rows = manifest[die.choice(["window_validations", "observed_devices"])]
        if kind == "verdict":
            manifest["publication_valid"] = die.choice([None, 1, "true", True, False])
        elif rows and kind == "unknown":
            rows[0]["more"] = 1
        elif rows and kind == "less":
            rows[0].pop(die.choice(list(rows[0])))
        elif rows:
            rows[-1][die.choice(list(rows[-1]))] = 7

    def wire(self):
        """Members of the manifest that a fault sets at last; `...` removes one."""
        return getattr(self, "last_changes", {})

    def arguments(self):
        options = self.options
        given = ["multinode", "--compat", options.contract, "--power-dir", "LOGS/power",
                 "--logs-root", "LOGS", "--bench-result", "run.json", "--agg-result", "agg_run.json"]
        if options.prefill or options.decode or not options.aggregate:
            given += ["--prefill-gpus", str(options.prefill), "--decode-gpus", str(options.decode)]
        for name, value in (("aggregate-gpus", options.aggregate), ("expected-producer-sha", options.pin),
                            ("expected-cpu-source", options.cpu_source)):
            given += [f"--{name}", str(value)] if value else []
        given += ["--gap-policy", "consumer"] if options.gap_policy == "consumer" else []
        given += ["--require-power"] * options.required
        return given + (["--keys", options.keys] if options.keys != "seed" else [])


# ---- Faults of samples.csv

def one_device(run):
    gpu = run.die.choice(run.package.gpus)
    return lambda row: row[3:5] == [gpu.host, str(gpu.index)]


def within(run):
    """A time in one of the windows, mostly the chosen one."""
    load = run.chosen if run.die.random() < 0.7 else run.die.choice(run.package.loads)
    return run.die.uniform(load.start - 5, load.end + 5)


def gap(run):
    is_device, begin = one_device(run), within(run)
    begin = run.die.choice([begin, float(int(begin))])
    size = run.die.choice([2, 3, 4, 4, 5, 5, 6, 6, 7, 9, 10, 11])
    run.package.rows = [row for row in run.package.rows
                        if not (is_device(row) and begin < float(row[1]) < begin + size)]


def gaps(run):
    for _ in range(run.die.choice([2, 5, 10])):
        gap(run)


def every_nth_missing(run):
    is_device, n = one_device(run), run.die.choice([2, 3, 15, 20, 21])
    run.package.rows = [row for row in run.package.rows if not (is_device(row) and int(row[2]) % n == 1)]


def an_edge_missing(run):
    is_device, load, early = one_device(run), run.die.choice(run.package.loads), run.die.random() < 0.5
    run.package.rows = [row for row in run.package.rows if not (is_device(row) and (
        float(row[1]) <= load.start if early else float(row[1]) >= load.end))]


def random_rows_missing(run):
    share = run.die.choice([0.005, 0.05, 0.3])
    run.package.rows = [row for row in run.package.rows if run.die.random() >= share]


def a_device_missing(run):
    is_device = one_device(run)
    run.package.rows = [row for row in run.package.rows if not is_device(row)]


def a_device_more(run):
    run.package.rows += [[*row[:3], "node-x", "0", "GPU-x", *row[6:]]
                         for row in run.package.rows[:: len(run.package.gpus)]]


def duplicate_rows(run):
    for row in run.die.sample(run.package.rows, min(2, len(run.package.rows))):
        run.package.rows.append([*row[:6], "1.0", *row[7:]])


def swapped_stamps(run):
    rows = list(filter(one_device(run), run.package.rows))
    if len(rows) > 5:
        i = run.die.randrange(len(rows) - 1)
        rows[i][1], rows[i + 1][1] = rows[i + 1][1], rows[i][1]


def equal_stamps(run):
    rows = list(filter(one_device(run), run.package.rows))
    if len(rows) > 5:
        i = run.die.randrange(len(rows) - 1)
        rows[i][1] = rows[i + 1][1]


def shuffled_rows(run):
    run.die.shuffle(run.package.rows)


def stamps_in_between(run):
    """Each scrape a little off its time, as in life."""
    offsets = {}
    for row in run.package.rows:
        offset = offsets.setdefault(row[2], run.die.uniform(-0.4, 0.4) * run.interval)
        row[1] = repr(float(row[1]) + offset)


def a_cell(run):
    if run.package.rows:
        row = run.die.choice(run.package.rows)
        row[run.die.choice([i for i in range(len(row)) if i not in (3, 5)])] = run.die.choice(NUMBERS)


def an_empty_name(run):
    if run.package.rows:
        run.die.choice(run.package.rows)[run.die.choice([3, 5])] = run.die.choice(["", " "])


def a_line(run):
    run.package.rows.insert(run.die.randrange(len(run.package.rows) + 1),
                            run.die.choice([[""], [" "], ["1"], list(run.package.header)]))


def blank_cells(run):
    """Rows without a number of power, of one device or of any."""
    is_device = run.die.choice([one_device(run), lambda row: True])
    rows = [row for row in run.package.rows if is_device(row)]
    for row in run.die.sample(rows, min(run.die.choice([1, 1, 2, 2, 3, 5]), len(rows))):
        row[6] = run.die.choice(["", "nan", "N/A"])


def a_cell_more_or_less(run):
    row = run.die.choice(run.package.rows)
    row.append("5") if run.die.random() < 0.5 else row.pop()


def temperatures(run):
    if run.package.version == 3 and run.package.rows:
        run.die.choice(run.package.rows)[9] = run.die.choice(
            ["200", "200.1", "5000", "2147483631.9", "2147483632", "-273.15", "-273.2", "", "nan", "x"])


def another_header(run):
    run.package.header[-1] = "w"


def a_changed_uuid(run):
    is_device, begin = one_device(run), within(run)
    for row in run.package.rows:
        if is_device(row) and float(row[1]) > begin:
            row[5] = "GPU-new"


def a_shared_uuid(run):
    a, b = one_device(run), one_device(run)
    for row in run.package.rows:
        if a(row) or b(row):
            row[5] = "GPU-shared"


def many_watts(run):
    is_device, watts = one_device(run), run.die.choice(["9999.0", "10001.0", "400000", "9e307", "1e308"])
    for row in run.package.rows:
        if is_device(row):
            row[6] = watts


# ---- Faults of windows and results

def a_window(run):
    load = run.die.choice(run.package.loads)
    return load, f"{load.stem}.json", run.package.windows.get(f"{load.stem}.json")


def a_status(run):
    _, name, window = a_window(run)
    if isinstance(window, dict):
        window |= run.die.choice([
            {"status": "failed", "reason": "client failed"},
            {"status": "running", "benchmark_end_time_unix": None, "duration": None},
            {"status": "interrupted", "reason": "x", "benchmark_end_time_unix": None, "duration": None},
            {"status": "failed"}, {"status": "completed", "reason": "x"}, {"status": "done"}])


def a_window_missing(run):
    run.package.windows.pop(a_window(run)[1], None)


def a_window_malformed(run):
    _, name, window = a_window(run)
    if isinstance(window, dict):
        run.package.windows[name] = run.die.choice([
            b"{", b"[]", b"\xff", "", window | {"schema_version": 2}, window | {"clock_source": "x"},
            window | {"benchmark_type": 5}, window | {"duration": 0}, window | {"concurrency": "4"},
            window | {"benchmark_start_time_unix": None}])


def a_window_more(run):
    load, name, window = a_window(run)
    if isinstance(window, dict):
        key = run.die.choice([{"concurrency": 77}, {"benchmark_type": "other"}, {}])
        path = {"result_path": f"{load.folder}/other.json"}
        run.package.windows["other.json"] = window | key | path
        run.package.results[f"{load.folder}/other.json"] = load.result()


def a_stray_entry(run):
    kind = run.die.choice(["folder", "link", "file"])

    def change(folder):
        path = folder / "LOGS" / "power" / "windows" / "z.json"
        if path.is_symlink() or path.exists():
            return
        if kind == "folder":
            path.mkdir()
        elif kind == "link":
            path.symlink_to(f"{run.chosen.stem}.json")
        else:
            path.write_text("stray")
    run.after.append(change)


def a_result_path(run):
    _, name, window = a_window(run)
    if isinstance(window, dict):
        window["result_path"] = run.die.choice(["../evil.json", "/etc/passwd", "", ".", "~/x.json", None,
                                                "cfg/other.json", f"cfg/./{name}", f"cfg//{name}"])


def an_original(run):
    load = run.die.choice(run.package.loads)
    path = f"{load.folder}/{load.stem}.json"
    result = run.package.results.get(path)
    kind = run.die.choice(["missing", "text", "list", "end", "duration", "count", "float"])
    if not isinstance(result, dict):
        return
    if kind == "missing":
        run.package.results.pop(path)
    elif kind in ("text", "list"):
        run.package.results[path] = "x" if kind == "text" else "[]"
    elif kind == "count":
        result["completed"] += 1
    elif kind == "float":
        result["max_concurrency"] = float(result["max_concurrency"])
    else:
        result["benchmark_end_time_unix" if kind == "end" else "duration"] += 0.25


def durations(run):
    """The same in all three files, but not that of the times."""
    load = run.chosen
    more = run.die.choice([0.4, 0.6, 1.0])
    window = run.package.windows.get(f"{load.stem}.json")
    parts = [window, run.package.results.get(f"{load.folder}/{load.stem}.json"), run.package.bench]
    for part in parts:
        if isinstance(part, dict) and isinstance(part.get("duration"), float):
            part["duration"] += more


def both_results(run, change):
    """The copy and the original alike, and the window's times."""
    path = f"{run.chosen.folder}/{run.chosen.stem}.json"
    original = run.package.results.get(path)
    for result in (run.package.bench, original):
        if isinstance(result, dict):
            result |= {key: value for key, value in change.items() if value is not ...}
            for key in [key for key, value in change.items() if value is ...]:
                result.pop(key, None)


def odd_counts(run):
    key = run.die.choice(["completed", "total_input_tokens", "total_output_tokens"])
    both_results(run, {key: run.die.choice(COUNTS)})


def failed_requests(run):
    prompts = run.die.choice([100, 20, 200])
    done = prompts - run.die.choice([0, prompts // 20, prompts // 20 + 1])
    both_results(run, {"num_prompts": prompts, "completed": done})


def another_benchmark(run):
    if isinstance(run.package.bench, dict):
        run.package.bench |= run.die.choice([{"max_concurrency": 99}, {"completed": 3}, {"max_concurrency": None},
                                             {"more": {"b": [1, 2.5, 1e-7], "a": 0}}])


def no_benchmark(run):
    text = run.die.choice(["{", "[]", "null", ""])
    run.after.append(lambda folder: (folder / "run.json").write_text(text))


# ---- Faults of the manifest and of what is asked for

def wire(run):
    key = run.die.choice(list(WIRE))
    run.last_changes = {key: run.die.choice(WIRE[key])}
    run.notes.append(f"{key} {run.last_changes[key]!r}")


def lifecycle(run):
    run.package.changes |= run.die.choice([
        {"started_at_unix": 992.0}, {"started_at_unix": 993.5}, {"stopped_at_unix": 1005.0},
        {"stopped_at_unix": 900.0}, {"started_at_unix": 99999.0}])


def a_digest(run):
    run.last_changes = {"samples_sha256": run.die.choice(["0" * 64, "ABC", None, 5, "A" * 64])}


def clocks(run):
    run.package.changes["clock_sync_failures"] = run.die.choice([[], ["node-a", "node-b"], [1], {}])


def a_pin(run):
    run.options.pin = run.die.choice([None, "f" * 40])


def a_verdict(run):
    run.last_changes = {"publication_valid": run.die.choice([True, False, None, 1, "true"])}


def counts_of_gpus(run):
    name = run.die.choice(["prefill", "decode", "aggregate"])
    setattr(run.options, name, run.die.choice([0, 1, 2, 7]))


def groups(run):
    run.die.choice(run.package.gpus).group = run.die.choice([None, 0, 1, 5])


def a_role(run):
    run.die.choice(run.package.gpus).role = run.die.choice(["prefill", "decode", "agg"])


def two_assignments(run):
    devices = run.package.manifest()["expected_devices"]
    one = run.die.choice(devices)["assignments"]
    one.append(one[0] | run.die.choice([{"worker_process": 1}, {"worker_role": "agg"}, {"het_group": 9},
                                        {"worker_role": "router"}, {"worker_index": -1}]))
    run.package.changes["expected_devices"] = devices


def twice_expected(run):
    manifest = run.package.manifest()
    key = run.die.choice(["expected_devices", "expected_windows"])
    run.package.changes[key] = manifest[key] + manifest[key][:1]


def no_aggregate(run):
    text = run.die.choice([None, "{", "[]"])

    def change(folder):
        path = folder / "agg_run.json"
        path.unlink() if text is None else path.write_text(text)
    run.after.append(change)


# ---- Faults of CPUs

def cpu_rows(run):
    package, die = run.package, run.die
    if not package.cpu_rows:
        run.options.cpu_source = die.choice(["acpi", "dcgm"])
        return
    kind = die.choice(["gap", "edge", "socket", "cell", "twice", "other kind", "rail", "version"])
    at = within(run)
    if kind == "gap":
        package.cpu_rows = [row for row in package.cpu_rows if not at < float(row[1]) < at + 4.5]
    elif kind == "edge":
        package.cpu_rows = [row for row in package.cpu_rows if float(row[1]) > run.chosen.start]
    elif kind == "socket":
        package.cpu_rows = [row for row in package.cpu_rows if row[5] == "0"]
    elif kind == "cell":
        die.choice(package.cpu_rows)[die.choice([0, 1, 5, 6])] = die.choice(["", "nan", "-1", "x", "7"])
    elif kind == "twice":
        package.cpu_rows.append(package.cpu_rows[0])
    elif kind == "other kind":
        for row in package.cpu_rows:
            if row[2] == package.gpus[0].host:
                row[4] = f"Module Power Socket {row[5]}"
    elif kind == "rail" and package.cpu_version == 2:
        for row in package.cpu_rows:
            if at < float(row[1]) < at + die.choice([2, 6]):
                row[7] = ""
    elif kind == "version":
        package.cpu_rows[-1][0] = "9"


FAULTS = [gap, gap, gap, gaps, every_nth_missing, every_nth_missing, an_edge_missing,
          random_rows_missing, a_device_missing, a_device_more, duplicate_rows, swapped_stamps,
          equal_stamps, shuffled_rows, stamps_in_between, stamps_in_between, temperatures,
          another_header, a_changed_uuid, a_shared_uuid, many_watts, a_status, a_status, a_window_missing, a_window_malformed,
          a_window_more, a_stray_entry, a_result_path, an_original, durations, odd_counts,
          failed_requests, another_benchmark, no_benchmark, wire, wire, lifecycle, a_digest, clocks,
          a_pin, a_verdict, counts_of_gpus, groups, a_role, two_assignments, twice_expected,
          no_aggregate, cpu_rows, cpu_rows,
          # Rows that no other fault reads any more.
          blank_cells, blank_cells, a_cell, a_cell, an_empty_name, a_cell_more_or_less, a_line]
