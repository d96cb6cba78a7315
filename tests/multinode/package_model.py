"""A second opinion on dcgm-power packages: how October's reader, with our documented differences,
judges one, and how August's does.

Written from the description of the original and the help pages, not from the program: where the two
disagree, one of them is wrong. judge() reads the files of a package and gives the reasons, the
members of the aggregate, the exit status, and most of the audit record.
"""
import csv
import dataclasses
import functools
import hashlib
import io
import json
import math
import os

import cpu_model
import gap_model
import salvage_model
import window_model
from window_model import is_count, is_finite_number, is_integer

FIELDS = ["schema_version", "timestamp_unix", "scrape_seq", "hostname", "gpu_index", "gpu_uuid",
          "power_w"]
HEADERS = {1: FIELDS, 2: [*FIELDS, "gpu_util_pct", "sm_active"],
           3: [*FIELDS, "gpu_util_pct", "sm_active", "temperature_c"]}
LARGEST = 2 ** 63 - 1  # of whole numbers; larger ones are not any
NO_TEMPERATURE = 2147483632
TOO_MANY_WATTS = 3000.0
LIFECYCLE_CODES = {"exporter_exited", "collector_exception", "collector_interrupted",
                   "collector_join_timeout", "benchmark_child_reap_timeout"}
STARTUP_CODES = {"exporter_startup_timeout", "exporter_launch_failed",
                 "endpoint_resolution_failed"}
CONSTANTS = {"schema_version": 1, "producer": "srt-slurm.dcgm-power", "unit": "W",
             "timestamp_source": "head_node_unix_clock"}
AUGUST_CONSTANTS = CONSTANTS | {"source_metric": "DCGM_FI_DEV_POWER_USAGE",
                                "power_scope": "gpu_device_board_as_reported_by_dcgm"}


@dataclasses.dataclass
class Options:
    contract: str = "october"
    prefill: int = 0
    decode: int = 0
    aggregate: int = 0
    pin: str | None = None
    required: bool = False
    gap_policy: str = "auto"
    cpu_source: str | None = None
    keys: str = "seed"  # of the row: seed, row, agentx-row or all


@dataclasses.dataclass
class Sample:
    unix_s: float
    seq: int
    host: str
    index: int
    uuid: str
    watts: float


class Judgement:
    """What must be in the aggregate and in the record; `codes` are told in its failures."""

    def __init__(self):
        self.reasons = []
        self.codes = set()
        self.gap_bounds = None  # by GPU
        self.workers = None     # of a valid package
        self.salvage = None     # with --salvage; None: the model does not know
        self.recomputed = False
        self.row = {}
        self.record = {}
        self.status = 0


# ---- samples.csv

def is_in(text, low, high):
    """An empty cell, or a number in this range."""
    return text == "" or low <= float(text) <= high


def sample_of(cells, version):
    """None where a cell breaks a rule."""
    try:
        unix_s, watts = float(cells[1]), float(cells[6])
        seq, index = int(cells[2]), int(cells[4])
        fits = (len(cells) == len(HEADERS[version]) and int(cells[0]) == version
                and math.isfinite(unix_s) and math.isfinite(watts) and watts >= 0
                and 0 <= seq <= LARGEST and 0 <= index <= LARGEST and cells[3] != "" and cells[5] != "")
        if version >= 2:
            fits = fits and is_in(cells[7], 0, 100) and is_in(cells[8], 0, 1)
        if version >= 3:
            fits = fits and (cells[9] == "" or -273.15 <= float(cells[9]) < NO_TEMPERATURE)
    except (ValueError, IndexError):
        return None
    return Sample(unix_s, seq, cells[3], index, cells[5], watts) if fits else None


def read_samples(data, versions, equal_times=False, malformed=None):
    """The unique rows, and the codes of what is wrong with the file; `malformed` receives rows."""
    if data is None:
        return [], {"samples_csv_missing"}
    samples, codes, seen = [], set(), set()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        text = data[:error.start].decode()
        text = text[:text.rfind("\n") + 1]
        codes.add("samples_csv_malformed")
    rows = csv.reader(io.StringIO(text, newline=""))
    header = next(rows, None)
    version = next((v for v in versions if HEADERS[v] == header), None)
    if version is None:
        return [], {"samples_csv_header_mismatch"}
    for cells in rows:
        sample = sample_of(cells, version)
        if sample is None:
            codes.add("samples_csv_malformed")
            if malformed is not None:
                malformed.append(cells)
        elif (sample.seq, sample.host, sample.index) in seen:
            codes.add("duplicate_sample_row")
        else:
            seen.add((sample.seq, sample.host, sample.index))
            samples.append(sample)
    for device in by_device(samples).values():
        times = [one.unix_s for one in sorted(device, key=lambda one: one.seq)]
        if any(b < a or (b == a and not equal_times) for a, b in zip(times, times[1:])):
            codes.add("timestamp_non_monotonic")
    return samples, codes


def by_device(samples):
    devices = {}
    for sample in samples:
        devices.setdefault((sample.host, sample.index), []).append(sample)
    return devices


def uuids_of(rows):
    return list(dict.fromkeys(one.uuid for one in sorted(rows, key=lambda one: one.seq)))


def observed_devices(samples):
    return [{"hostname": host, "gpu_index": index,
             "gpu_uuids": uuids_of(rows),
             "first_sample_time_unix": min(one.unix_s for one in rows),
             "last_sample_time_unix": max(one.unix_s for one in rows)}
            for (host, index), rows in sorted(by_device(samples).items())]


# ---- manifest.json

def is_text(value):
    return isinstance(value, str) and value != ""


def expected_devices(manifest):
    """A list of (host, index, assignments); None where it cannot be read."""
    entries = manifest.get("expected_devices") or []
    if not isinstance(entries, list):
        return None
    devices = []
    for entry in entries:
        if not isinstance(entry, dict) or not is_text(entry.get("hostname")) \
                or not is_count(entry.get("gpu_index")):
            return None
        assignments = entry.get("assignments")
        if not isinstance(assignments, list) or not assignments:
            return None
        for one in assignments:
            if not isinstance(one, dict) or one.get("worker_role") not in ("prefill", "decode", "agg") \
                    or not is_count(one.get("worker_index")) \
                    or not is_count(one.get("worker_process")) \
                    or not (one.get("het_group") is None or is_count(one.get("het_group"))):
                return None
        devices.append((entry["hostname"], entry["gpu_index"], assignments))
    return devices


def expected_windows(manifest):
    entries = manifest.get("expected_windows") or []
    if not isinstance(entries, list):
        return None
    for entry in entries:
        if not isinstance(entry, dict) or not is_text(entry.get("benchmark_type")) \
                or not is_count(entry.get("concurrency")) or entry["concurrency"] < 1:
            return None
    return [(entry["benchmark_type"], entry["concurrency"]) for entry in entries]


def wire_faults(manifest, contract):
    """How many of the manifest's own members break a rule."""
    is_october = contract == "october"
    constants = CONSTANTS if is_october else AUGUST_CONSTANTS
    faults = [key for key, value in constants.items() if manifest.get(key) != value]
    if is_october:
        faults += [key for key in ("source_metric", "power_scope") if not is_text(manifest.get(key))]
    if manifest.get("status") != "complete":
        faults.append("status")
    faults += [key for key in ("started_at_unix", "stopped_at_unix")
               if not is_finite_number(manifest.get(key))]
    faults += [key for key in ("sample_interval_seconds", "request_timeout_seconds")
               if not (is_finite_number(manifest.get(key)) and manifest[key] > 0)]
    faults += [key for key in ("scrape_count", "sample_row_count") if not is_count(manifest.get(key))]
    required = manifest.get("required")
    if not isinstance(required, bool):
        faults.append("required")
    codes = manifest.get("reason_codes")
    if not isinstance(codes, list) or not all(isinstance(code, str) for code in codes):
        faults.append("reason_codes")
    elif LIFECYCLE_CODES & set(codes) or (required is True and STARTUP_CODES & set(codes)):
        faults.append("reason_codes")
    exporter = manifest.get("dcgm_exporter")
    if not isinstance(exporter, dict) or not exporter.get("container_image_resolved"):
        faults.append("dcgm_exporter")
    return faults


def provenance_codes(manifest, samples, data):
    """October: the bytes are those that the recorder vouched for, between its start and end."""
    faults, codes = [], set()
    digest = manifest.get("samples_sha256")
    if digest is not None:
        is_digest = isinstance(digest, str) and len(digest) == 64 \
            and set(digest) <= set("0123456789abcdef")
        if data is None or not is_digest or digest != hashlib.sha256(data).hexdigest():
            faults.append("samples_sha256")
            codes.add("samples_digest_mismatch")
    started, stopped = manifest.get("started_at_unix"), manifest.get("stopped_at_unix")
    times = [one.unix_s for one in samples]
    if is_finite_number(started) and is_finite_number(stopped):
        if stopped < started or (times and (min(times) < started or max(times) > stopped)):
            faults.append("lifecycle")
    return faults, codes


def clock_codes(manifest):
    failures = manifest.get("clock_sync_failures", [])
    if not isinstance(failures, list) or not all(isinstance(one, str) for one in failures):
        return ["clock_sync_failures"], set()
    return (["clock"], {"clock_sync_unverified"}) if failures else ([], set())


def device_codes(expected, samples):
    codes = set()
    seen = by_device(samples)
    wanted = {(host, index) for host, index, _ in expected}
    if not wanted or wanted - seen.keys():
        codes.add("expected_device_missing")
    if seen.keys() - wanted:
        codes.add("unexpected_device")
    uuids = [{one.uuid for one in rows} for rows in seen.values()]
    if any(len(one) > 1 for one in uuids) or len(set().union(*uuids)) < sum(map(len, uuids)):
        codes.add("gpu_uuid_changed")
    roles, groups = {}, {}
    for host, index, assignments in expected:
        for one in assignments:
            roles.setdefault((host, index), set()).add(one["worker_role"])
            groups.setdefault(host, set()).add(one.get("het_group"))
    if any(len(one) > 1 for one in roles.values()):
        codes.add("conflicting_worker_roles")
    if any(len(one) > 1 for one in groups.values()):
        codes.add("conflicting_het_groups")
    return codes


# ---- What is stored against what is recomputed

def same_rows(stored, recomputed, is_october):
    """Equal, but for members of October's rows that nobody knows."""
    if not isinstance(stored, list) or len(stored) != len(recomputed):
        return False
    for mine, theirs in zip(recomputed, stored):
        if is_october and isinstance(theirs, dict):
            theirs = {key: value for key, value in theirs.items() if key in mine}
        if mine != theirs:
            return False
    return True


@dataclasses.dataclass
class Package:
    """A package as it was read, before anybody judged it."""
    manifest: dict
    data: bytes | None
    samples: list
    sample_codes: set
    devices: list
    expected: list
    scan: window_model.Scan
    contract: str
    malformed: list

    @functools.cached_property
    def header(self):
        line = (self.data or b"").split(b"\r\n")[0].decode(errors="replace")
        return next((names for names in HEADERS.values() if ",".join(names) == line), [])

    def sample_of(self, cells):
        return next((sample_of(cells, version) for version, names in HEADERS.items()
                     if names == self.header), None)

    def validations(self, rule, emptied):
        return window_model.validations(self, rule, emptied)

    @functools.cached_property
    def rows(self):
        """By device, in the order of time."""
        return {device: sorted(rows, key=lambda one: one.unix_s)
                for device, rows in by_device(self.samples).items()}

    def observed(self):
        return observed_devices(self.samples)


def read_package(logs, manifest, contract, versions=(1, 2, 3), equal_times=False):
    power = logs / "power"
    devices, expected = expected_devices(manifest), expected_windows(manifest)
    if devices is None or expected is None:
        return None
    path = power / "samples.csv"
    data = path.read_bytes() if path.is_file() else None
    malformed = []
    samples, codes = read_samples(data, versions, equal_times, malformed)
    return Package(manifest, data, samples, codes, devices, expected,
                   window_model.scan(power, logs, expected), contract, malformed)


def chosen_rule(package, options):
    """The rule of gaps, and whether the stored rows are those that it gives."""
    stored = package.manifest.get("window_validations")
    is_october = options.contract == "october"
    rules = gap_model.STRICTEST if is_october and options.gap_policy != "consumer" else ["a"]
    for rule in rules:
        for emptied in (True, False):
            if same_rows(stored, package.validations(rule, emptied), is_october):
                return rule, True
    return "a", False


def evidence_faults(package, rule_fits):
    manifest, samples = package.manifest, package.samples
    is_october = package.contract == "october"
    faults = [] if rule_fits else ["window_validations"]
    if manifest.get("sample_row_count") != len(samples):
        faults.append("sample_row_count")
    if samples and is_count(manifest.get("scrape_count")) \
            and manifest["scrape_count"] < max(one.seq for one in samples) + 1:
        faults.append("scrape_count")
    if not samples or not same_rows(manifest.get("observed_devices"), package.observed(), is_october):
        faults.append("observed_devices")
    if not same_rows(manifest.get("artifact_errors"), package.scan.errors, is_october):
        faults.append("artifact_errors")
    names = [(host, index) for host, index, _ in package.devices]
    if len(set(names)) < len(names) or len(set(package.expected)) < len(package.expected):
        faults.append("duplicates")
    return faults


def recompute(package, options):
    """All that is wrong with the package itself: faults, codes, and the windows' validations."""
    rule, fits = chosen_rule(package, options)
    validations = package.validations(rule, emptied=False)
    codes = set(package.sample_codes) | device_codes(package.devices, package.samples)
    faults = wire_faults(package.manifest, package.contract) + evidence_faults(package, fits)
    if package.contract == "october":
        more, more_codes = provenance_codes(package.manifest, package.samples, package.data)
        faults += more
        codes |= more_codes
    more, more_codes = clock_codes(package.manifest)
    faults += more
    codes |= more_codes
    if not package.expected:
        faults.append("no expected measurement window")
    codes |= {code for error in package.scan.errors for code in error["reason_codes"]}
    window_codes = {code for row in validations for code in row["reason_codes"]}
    return rule, validations, [*faults, *sorted(codes)], codes, window_codes


# ---- Topology, the benchmark, numbers

def topology_holds(package, codes, options):
    if options.aggregate and (options.prefill or options.decode):
        return False
    wanted = {role: count for role, count in (("prefill", options.prefill),
                                              ("decode", options.decode),
                                              ("agg", options.aggregate)) if count > 0}
    if not wanted:
        return False
    if not package.devices or "conflicting_worker_roles" in codes:
        return True
    if "conflicting_het_groups" in codes:
        return False
    counts, groups = {}, {}
    for role, group in resolved(package).values():
        counts[role] = counts.get(role, 0) + 1
        groups.setdefault(role, set()).add(group)
    if counts != wanted:
        return False
    if all(one == {None} for one in groups.values()):
        return True
    return all(len(one) == 1 and None not in one for one in groups.values()) \
        and len(set().union(*groups.values())) == len(groups)


def resolved(package):
    """Role and group by device."""
    return {(host, index): (assignments[0]["worker_role"], assignments[0].get("het_group"))
            for host, index, assignments in package.devices}


def benchmark_reasons(result):
    if not isinstance(result, dict):
        return ["invalid_benchmark_result"], None
    values = [result.get(key) for key in ("benchmark_start_time_unix", "benchmark_end_time_unix",
                                          "duration")]
    if not all(map(is_finite_number, values)) or values[1] <= values[0] or values[2] <= 0:
        return ["invalid_benchmark_window"], None
    start, end, duration = map(float, values)
    reasons = []
    if abs(duration - (end - start)) > max(0.5, 0.01 * (end - start)):
        reasons.append("benchmark_duration_mismatch")
    counts = {}
    for key, reason in (("completed", "invalid_successful_query_count"),
                        ("total_input_tokens", "invalid_input_token_count"),
                        ("total_output_tokens", "invalid_output_token_count")):
        counts[key] = result.get(key)
        if not is_integer(counts[key]) or not 0 < counts[key] <= LARGEST:
            reasons.append(reason)
            counts[key] = 0
    window = {"start_time_unix": start, "end_time_unix": end, "reported_duration_s": duration,
              "integration_duration_s": end - start, **counts}
    return reasons, window


def benchmark_failed(result):
    """More than 5 % of the requests failed, or an outcome that says so or contradicts."""
    if not isinstance(result, dict):
        return False
    completed, prompts = result.get("completed"), result.get("num_prompts")
    outcome = result.get("benchmark_outcome")
    if isinstance(outcome, dict) and outcome.get("status") == "failed":
        return True
    if is_integer(completed) and is_integer(prompts) and prompts > 0 and completed >= 0:
        return (prompts - completed) / prompts > 0.05
    return False


def whole_metrics(energies, start, end, window, options, package):
    seconds = end - start
    total = 0.0
    for energy in energies.values():
        total += energy
    per_gpu = total / seconds / len(energies)
    metrics = {"avg_power_w": per_gpu}
    if options.keys != "seed":
        names = ("p75", 0.75), ("p90", 0.9)
        for name, share in names:
            fleet = gap_model.percentile(package, start, end, share)
            metrics |= {f"{name}_power_w": fleet / len(energies),
                        f"{name}_total_gpu_power_w": fleet}
    metrics |= {
        "avg_total_gpu_power_w": total / seconds, "total_gpu_energy_j": total,
        "joules_per_successful_query": total / window["completed"],
        "joules_per_input_token": total / window["total_input_tokens"],
        "joules_per_output_token": total / window["total_output_tokens"],
        "joules_per_total_token": total / (window["total_input_tokens"]
                                           + window["total_output_tokens"])}
    roles = resolved(package)
    for role, count, tokens in (("prefill", options.prefill, "input"),
                                ("decode", options.decode, "output")):
        if count > 0:
            energy = 0.0
            for device, joules in energies.items():
                if roles[device][0] == role:
                    energy += joules
            metrics |= {f"{role}_gpu_energy_j": energy, f"{role}_avg_power_w": energy / seconds / count,
                        f"{role}_joules_per_{tokens}_token":
                            energy / window[f"total_{tokens}_tokens"]}
    return metrics


def rounded_for_row(metrics):
    return {key: round(value, 3 if key.endswith(("_w", "_j")) else 6)
            for key, value in metrics.items()}


def rounded_for_record(metrics):
    return {key: round(value, 6) for key, value in metrics.items()}


# ---- The verdict

def load_json(path):
    """`...` where there is nothing that Python reads."""
    try:
        return json.loads(path.read_bytes().decode())
    except (OSError, ValueError, RecursionError):
        return ...


def add(reasons, *more):
    for reason in more:
        if reason not in reasons:
            reasons.append(reason)


def judge(folder, options):
    """The folder has LOGS, run.json and agg_run.json."""
    judgement = Judgement()
    if options.contract == "october":
        judge_by(judgement, folder, options, (1, 2, 3), False)
        return judgement
    # August accepts what either the rules that the original copied or those of today accept.
    is_first = is_first_version(folder / "LOGS" / "power" / "samples.csv")
    judge_by(judgement, folder, options, (1,) if is_first else (1, 2), not is_first)
    if is_first and "package_recompute_invalid" in judgement.reasons:
        today = Judgement()
        judge_by(today, folder, options, (1, 2), True)
        if "package_recompute_invalid" not in today.reasons:
            return today
    return judgement


def is_first_version(path):
    line = path.read_bytes().splitlines()[:1] if path.is_file() else []
    return line != [",".join(HEADERS[2]).encode()]


def stored_verdict(manifest):
    verdict = manifest.get("publication_valid")
    return verdict if isinstance(verdict, bool) else None


def gates_before_the_package(judgement, logs, options):
    """Steps 1 to 5: the manifest and what can be read of it."""
    if not (logs / "power").is_dir():
        add(judgement.reasons, "power_artifacts_missing")
        return None
    if not (logs / "power" / "manifest.json").is_file():
        add(judgement.reasons, "manifest_missing")
        return None
    manifest = load_json(logs / "power" / "manifest.json")
    if not isinstance(manifest, dict):
        add(judgement.reasons, "manifest_malformed")
        return None
    commit = manifest.get("producer_git_commit")
    commit = commit if isinstance(commit, str) else None
    if not options.pin:
        add(judgement.reasons, "producer_pin_missing")
    elif commit != options.pin:
        add(judgement.reasons, "producer_commit_mismatch")
    if expected_devices(manifest) is None or expected_windows(manifest) is None:
        add(judgement.reasons, "manifest_malformed")
        return None
    return manifest


@dataclasses.dataclass
class Found:
    """What was found out about a package on the way to its judgement."""
    window: dict | None  # of the benchmark
    package: Package | None = None
    bound: window_model.Window | None = None
    validations: list = dataclasses.field(default_factory=list)
    faults: list = dataclasses.field(default_factory=list)  # other than of windows
    integrity: bool = False
    rule: str | None = None
    energies: dict = dataclasses.field(default_factory=dict)
    gaps: dict = dataclasses.field(default_factory=dict)
    metrics: dict = dataclasses.field(default_factory=dict)

    def own_validation(self):
        """That of the window of the result; None where there is none."""
        return self.bound and next((row for row in self.validations if self.bound.key == (
            row["benchmark_type"], row["concurrency"])), None)


def judge_by(judgement, folder, options, versions, equal_times):
    logs = folder / "LOGS"
    result = load_json(folder / "run.json")
    result_reasons, window = benchmark_reasons(result)
    if options.contract == "october" and benchmark_failed(result):
        result_reasons.append("benchmark_failed")
    found = Found(window)
    manifest = gates_before_the_package(judgement, logs, options)
    if manifest is not None:
        found.package = read_package(logs, manifest, options.contract, versions, equal_times)
        topology = check_package(judgement, found, options)
        found.bound, reason = window_model.bind(found.package.scan, logs, result,
                                                not result_reasons)
        add(judgement.reasons, *([reason] if reason else []))
        own = found.own_validation()
        ready = found.integrity and topology and own and own["power_coverage_valid"]
        if ready and not result_reasons and (options.contract == "october" or not judgement.reasons):
            measure(judgement, found, options)
    add(judgement.reasons, *result_reasons)
    if manifest is not None and options.contract == "october":
        judgement.salvage = salvage_model.expected(judgement, found, stored_verdict(manifest))
    finish(judgement, folder, found.metrics)
    tell(judgement, found, options)
    judge_cpus(judgement, folder, found, options)
    judgement.status = int(options.required and (
        not judgement.record["power_valid"]
        or options.contract == "october" and options.cpu_source is not None
        and not judgement.record["cpu"]["cpu_power_valid"]))


def check_package(judgement, found, options):
    """Steps 6 to 8. Returns whether the roles are those asked for."""
    found.rule, found.validations, faults, codes, window_codes = recompute(found.package, options)
    judgement.codes = codes | window_codes
    found.faults = faults
    pin_holds = not judgement.reasons
    judgement.recomputed = not faults and not window_codes
    stored = stored_verdict(found.package.manifest)
    found.integrity = not faults and pin_holds and stored is judgement.recomputed
    if not judgement.recomputed:
        add(judgement.reasons, "package_recompute_invalid")
    if stored is not judgement.recomputed:
        add(judgement.reasons, "producer_verdict_mismatch")
    topology = topology_holds(found.package, codes, options)
    if not topology:
        add(judgement.reasons, "topology_env_mismatch")
    return topology


def is_impossible(found, start, end):
    """A mean or a reading that the energy depends on is too large for a GPU."""
    highest = [one.watts for host, index, _ in found.package.devices
               for one in gap_model.bracket(gap_model.rows_of(found.package, host, index), start, end)]
    return max(highest) > TOO_MANY_WATTS or any(
        energy / (end - start) > TOO_MANY_WATTS for energy in found.energies.values())


def measure(judgement, found, options):
    start, end = found.bound.start, found.bound.end
    found.energies = gap_model.energies(found.package, start, end)
    found.gaps = gap_model.longest_gaps(found.package, start, end)
    metrics = whole_metrics(found.energies, start, end, found.window, options, found.package)
    if not all(map(math.isfinite, [*metrics.values(), *found.energies.values()])):
        add(judgement.reasons, "non_finite_power_metric")
    elif is_impossible(found, start, end):
        add(judgement.reasons, "implausible_power")
    else:
        found.metrics = metrics


def workers(package, energies, seconds):
    """One of each role and host."""
    groups, numbers, found = {}, {}, []
    for device, (role, _) in resolved(package).items():
        groups.setdefault((role, device[0]), []).append(energies[device])
    for (role, host), joules in sorted(groups.items()):
        number = numbers.setdefault(role, 0)
        numbers[role] += 1
        found.append({"role": role, "worker_idx": number, "num_gpus": len(joules),
                      "avg_power_w": round(sum(joules) / seconds / len(joules), 3), "hosts": [host]})
    return found


def finish(judgement, folder, metrics):
    """The aggregate."""
    aggregate = folder / "agg_run.json"
    if not aggregate.is_file():
        add(judgement.reasons, "aggregate_result_missing")
    elif not isinstance(load_json(aggregate), dict):
        add(judgement.reasons, "aggregate_result_unwritable")
    else:
        valid = not judgement.reasons
        judgement.row = {"power_metric_schema_version": 2, "power_valid": int(valid)}
        if valid:
            judgement.row |= rounded_for_row(metrics)


def device_name(package, device):
    uuids = {one.uuid for one in package.samples if (one.host, one.index) == device}
    return f"{device[0]}/{uuids.pop() if len(uuids) == 1 else device[1]}"


def tell(judgement, found, options):
    """The record, as far as the model knows it."""
    valid, package, bound = not judgement.reasons, found.package, found.bound
    record = {"power_valid": valid, "reasons": judgement.reasons,
              "benchmark_window": found.window,
              "metrics": rounded_for_record(found.metrics) if valid else {},
              "selected_window": None if bound is None else bound.told()}
    if package is not None:
        names = {device: device_name(package, device) for device in resolved(package)}
        record |= of_devices(judgement, found, names, options)
        if found.metrics:
            joules = gap_model.energy_bounds(package, bound.start, bound.end)
            judgement.gap_bounds = {names[device]: joules[device] for device in joules}
            if valid:
                judgement.workers = workers(package, found.energies, bound.end - bound.start)
    if options.contract == "october":
        record |= {"package_integrity_valid": found.integrity,
                   "window_validations": found.validations, "gap_dialect": found.rule}
        if bound is not None:
            record["selected_window"] |= {"power_valid": bool(found.metrics),
                                          "metrics": rounded_for_record(found.metrics)}
    else:
        judgement.gap_bounds = None
    judgement.record = record


def of_devices(judgement, found, names, options):
    package = found.package
    all_null = options.contract == "october" and "non_finite_power_metric" in judgement.reasons
    return {
        "per_gpu_energy_j": {
            names[device]: None if all_null or not math.isfinite(energy) else energy
            for device, energy in found.energies.items()},
        "per_gpu_max_sample_gap_s": {names[device]: gap for device, gap in found.gaps.items()},
        "per_gpu_role": {} if "conflicting_worker_roles" in judgement.codes else {
            names[device]: role for device, (role, _) in sorted(resolved(package).items())},
        "expected_gpu_count": len(package.devices),
        "observed_gpu_count": len(by_device(package.samples)),
        "producer": {"stored_publication_valid": stored_verdict(package.manifest),
                     "recomputed_publication_valid": judgement.recomputed}}


def judge_cpus(judgement, folder, found, options):
    cpu = folder / "LOGS" / "power" / "cpu"
    if not cpu.is_dir() and options.cpu_source is None:
        if options.keys == "all" and judgement.row.get("power_valid"):
            judgement.row |= efficiency(found, {"metrics": {}})
        return
    is_october = options.contract == "october"
    hosts = sorted({host for host, _, _ in found.package.devices}) if found.package else []
    own = found.own_validation()
    # August did not ask whether the window was expected.
    codes = own["reason_codes"] if own else None if is_october else []
    told = cpu_model.judge(cpu, hosts, found.bound, codes, options.cpu_source)
    if not judgement.row and is_october:
        told |= {"cpu_power_valid": False, "metrics": {},
                 "reason_codes": [*told["reason_codes"], judgement.reasons[-1]]}
    judgement.record["cpu"] = told | {"metrics": rounded_for_record(told["metrics"])}
    if judgement.row and options.keys in ("seed", "all"):
        judgement.row["cpu_power_valid"] = int(told["cpu_power_valid"])
        if told["cpu_power_valid"]:
            judgement.row |= rounded_for_row(told["metrics"])
    if options.keys == "all" and judgement.row.get("power_valid"):
        judgement.row |= efficiency(found, told if told["cpu_power_valid"] else {"metrics": {}})


def efficiency(found, cpu):
    """Help extended: tokens per second and watt are tokens per joule. Watts of modules hold both, and
    are never added."""
    window, gpus_j = found.window, found.metrics["total_gpu_energy_j"]
    tokens = {"output": window["total_output_tokens"]}
    tokens["total"] = tokens["output"] + window["total_input_tokens"]
    cpus_j = cpu["metrics"].get("total_cpu_energy_j")
    both = {} if cpus_j is None else {"total_gpu_and_cpu_energy_j": round(gpus_j + cpus_j, 2)}
    of = {"gpu": gpus_j} | ({} if cpus_j is None else {"combined": gpus_j + cpus_j})
    return both | {f"{kind}_tokens_per_second_per_{name}_watt": round(count / joules, 6)
                   for name, joules in of.items() for kind, count in tokens.items()}
