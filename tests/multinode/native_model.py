"""A second opinion on native packages: the rules of contract-october.md part 3, and of 9.3 for --salvage.

Written from the description of the original and the help pages, not from the program. The rules for rows
and GPUs are those of a run on one node; they are in reference.py.
"""
import csv
import dataclasses
import datetime
import io
import json
import math
import pathlib
import sys
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "differential"))
import gap_model  # noqa: E402
import reference  # noqa: E402
import salvage_model  # noqa: E402
from package_model import benchmark_failed, benchmark_reasons, load_json, rounded_for_row  # noqa: E402
from window_model import is_count, is_finite_number, is_integer  # noqa: E402

ROLES = ("prefill", "decode", "aggregate")
OF_SAMPLES = {"sampling_gap_exceeded", "invalid_power_sample"}
IDENTITIES = {"nvidia": ("gpu_metrics_identity.csv", "gpu_metrics_identity_end.csv"),
              "amd": ("gpu_metrics_devices.json", "gpu_metrics_devices_end.json")}


class Invalid(Exception):
    """What ends the reading of a node: the class that the record names, and the text where it is fixed."""

    def __init__(self, kind, detail=None):
        super().__init__(kind, detail)
        self.kind, self.detail = kind, detail


@dataclasses.dataclass
class Options:
    prefill: int = 0
    decode: int = 0
    aggregate: int = 0
    keys: str = "seed"
    required: bool = False

    @property
    def total(self):
        return self.prefill + self.decode + self.aggregate


@dataclasses.dataclass
class Node:
    folder: str
    manifest: dict = dataclasses.field(default_factory=dict)
    is_identified: bool = False
    gpus: dict | None = None  # UUID by index, of those that were selected
    error: Invalid | None = None
    rows: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Judgement:
    reasons: list = dataclasses.field(default_factory=list)
    row: dict = dataclasses.field(default_factory=dict)
    record: dict = dataclasses.field(default_factory=dict)
    errors: list = dataclasses.field(default_factory=list)
    salvage: object = None
    names: dict = dataclasses.field(default_factory=dict)
    status: int = 0


# ---- One node

def needed(manifest, key):
    if key not in manifest:
        raise Invalid("KeyError", f"'{key}'")
    return manifest[key]


def read_text(path):
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        raise Invalid("FileNotFoundError") from None


def read_json(path):
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError:
        raise Invalid("JSONDecodeError") from None


def identify(node):
    manifest, value_error = node.manifest, lambda text: Invalid("ValueError", text)
    rank, role = needed(manifest, "rank"), needed(manifest, "role")
    if manifest.get("schema_version") != 1 or manifest.get("collector") != "inferencex-native-smi" \
            or not is_count(rank) or role not in ROLES or node.folder != f"node-{rank}":
        raise value_error("invalid_native_manifest")
    name, count = manifest.get("node"), manifest.get("expected_num_nodes")
    if not isinstance(name, str) or not name or not is_integer(count) or count < 1 \
            or not isinstance(manifest.get("job_id"), str) \
            or not isinstance(manifest.get("collector_revision"), str):
        raise value_error("invalid_native_run_identity")
    node.is_identified = True


def check_collection(node, window):
    """Rules 5a to 5c."""
    manifest, reasons = node.manifest, []
    if manifest.get("lifecycle") != "complete" or manifest.get("collector_exit_code") != 0:
        reasons.append("native_collector_incomplete")
    if manifest.get("clock_source") != "utc_ntp" or manifest.get("clock_synchronized") is not True:
        reasons.append("native_clock_not_synchronized")
    times = [needed(manifest, f"collection_{edge}_unix") for edge in ("start", "end")]
    if any(is_integer(time) and abs(time) > sys.float_info.max for time in times):
        raise Invalid("OverflowError")
    start, end = times
    covers = all(map(is_finite_number, times)) and end > start and (
        window is None or start <= window["start_time_unix"] and end >= window["end_time_unix"])
    return reasons if covers else [*reasons, "native_collection_window_mismatch"]


def pairs_in(value):
    """Index and UUID; names in any case, and an `index` goes before the `gpu`."""
    if isinstance(value, dict):
        lower = {key.lower(): member for key, member in value.items()}
        if "gpu" in lower and "uuid" in lower:
            yield lower.get("index", lower["gpu"]), lower["uuid"]
            return
        value = list(value.values())
    for item in value if isinstance(value, list) else []:
        yield from pairs_in(item)


def read_identity(path, vendor):
    if vendor == "amd":
        pairs = [tuple(str(one) if is_integer(one) or isinstance(one, str) else "" for one in pair)
                 for pair in pairs_in(read_json(path))]
    else:
        rows = [row for row in csv.reader(io.StringIO(read_text(path)), skipinitialspace=True) if row]
        names = [name.strip().lower() for name in rows[0]] if rows else []
        index = "index" if "index" in names else "gpu"
        if rows and not {index, "uuid"} <= set(names):
            raise Invalid("ValueError", "invalid_device_identity")
        pairs = [tuple((row + [""] * len(names))[names.index(name)].strip() for name in (index, "uuid"))
                 for row in rows[1:]]
    found = {}
    for index, uuid in pairs:
        if not (index.isascii() and index.isdigit()) \
                or uuid.strip().lower() in ("", "n/a", "[n/a]", "none", "null"):
            raise Invalid("ValueError", "invalid_device_identity")
        if index in found or uuid in found.values():
            raise Invalid("ValueError", "duplicate_device_identity")
        found[index] = uuid
    if not found:
        raise Invalid("ValueError", "device_identity_missing")
    return found


def selected_gpus(folder, node):
    """Sets the GPUs; whether they are the same at the end, and the identity."""
    selected, vendor = needed(node.manifest, "selected_gpu_indices"), None
    if not isinstance(selected, list) or not selected or not all(map(is_count, selected)) \
            or len(set(selected)) < len(selected):
        raise Invalid("ValueError", "invalid_native_gpu_selection")
    vendor = needed(node.manifest, "vendor")
    if vendor not in IDENTITIES:
        raise Invalid("ValueError", "unsupported_native_vendor")
    begin, end = (read_identity(folder / name, vendor) for name in IDENTITIES[vendor])
    for index in map(str, selected):
        if index not in begin:
            raise Invalid("KeyError", f"'{index}'")
    node.gpus = {index: begin[index] for index in map(str, selected)}
    is_same = all(end.get(index) == uuid for index, uuid in node.gpus.items())
    return ([] if is_same else ["native_device_identity_changed"]), begin


def unix_seconds(text):
    return reference.unix_seconds(text.strip(), datetime.timezone.utc)


def read_rows(folder, node, identity):
    """Rows of the selected GPUs; whether others are of GPUs that nobody knows."""
    table = list(csv.reader(io.StringIO(read_text(folder / "gpu_metrics.csv")), skipinitialspace=True))
    columns = reference.Columns(table[0], table[1:64]) if table else None
    if columns is None or not (columns.stamp and columns.power and columns.gpu):
        raise Invalid("ValueError", "native_telemetry_columns_missing")
    is_unknown = False
    for row in filter(None, table[1:]):
        index = columns.cell(row, columns.gpu)
        if index not in identity:
            is_unknown = True
        elif index in node.gpus:
            watts = reference.watts_of(columns.cell(row, columns.power), columns.factor)
            node.rows.append(reference.Row(unix_seconds(columns.cell(row, columns.stamp)), watts,
                                           node.gpus[index]))
    return ["native_unknown_device_index"] if is_unknown else []


def read_node(folder, window, met):
    """The node and the reasons that it gives; `met` are the UUIDs of the nodes before."""
    node, reasons = Node(folder.name), []
    try:
        node.manifest = read_json(folder / "manifest.json")
        if not isinstance(node.manifest, dict):
            raise Invalid("ValueError", "invalid_native_manifest")
        identify(node)
        reasons += check_collection(node, window)
        more, identity = selected_gpus(folder, node)
        reasons += more
        if met & set(node.gpus.values()):
            reasons.append("native_duplicate_physical_gpu")
        met |= set(node.gpus.values())
        if window is not None:
            reasons += read_rows(folder, node, identity)
    except Invalid as error:
        node.error = error
        reasons.append("native_node_invalid")
    return node, reasons


# ---- All nodes

def check_together(nodes, options):
    """Rules 6 to 8."""
    found = [node.manifest for node in nodes if node.is_identified]
    counts = dict.fromkeys(ROLES, 0)
    for node in nodes:
        if node.gpus is not None:
            counts[node.manifest["role"]] += len(node.gpus)
    reasons = []
    if {one["expected_num_nodes"] for one in found} != {len(found)} \
            or sorted(one["rank"] for one in found) != list(range(len(found))) \
            or len({one["node"] for one in found}) < len(found):
        reasons.append("native_node_topology_mismatch")
    for key in ("job_id", "collector_revision"):
        values = {one[key] for one in found}
        if len(values) != 1 or values == {""}:
            reasons.append("native_run_identity_mismatch")
    wanted = dict(zip(ROLES, (options.prefill, options.decode, options.aggregate)))
    if options.aggregate:
        wanted |= {"prefill": 0, "decode": 0}
    if counts != wanted:
        reasons.append("native_role_gpu_count_mismatch")
    return reasons


def check_question(nodes, options):
    reasons = []
    if options.aggregate and (options.prefill or options.decode):
        reasons.append("native_mixed_aggregate_role_topology")
    if not nodes:
        reasons.append("native_manifests_missing")
    if options.total <= 0:
        reasons.append("invalid_expected_gpu_count")
    return reasons


def add(reasons, more):
    reasons += [reason for reason in dict.fromkeys(more) if reason not in reasons]


def metrics_of(integration, roles, benchmark, options):
    seconds = benchmark.end - benchmark.start
    metrics = reference.metrics_of(integration.energies, benchmark)
    if options.keys != "seed":
        line = types.SimpleNamespace(
            devices=[(gpu, 0, None) for gpu in integration.samples],
            rows={(gpu, 0): [types.SimpleNamespace(unix_s=time, watts=watts) for time, watts in samples]
                  for gpu, samples in integration.samples.items()})
        for name, share in (("p75", 0.75), ("p90", 0.9)):
            fleet = gap_model.percentile(line, benchmark.start, benchmark.end, share)
            metrics |= {f"{name}_power_w": fleet / len(integration.samples), f"{name}_total_gpu_power_w": fleet}
    for role, tokens in (("prefill", "input"), ("decode", "output")):
        joules = [integration.energies[gpu] for gpu in integration.energies if roles[gpu] == role]
        if joules:
            energy = reference.add_up(joules)
            metrics |= {f"{role}_gpu_energy_j": energy, f"{role}_avg_power_w": energy / seconds / len(joules),
                        f"{role}_joules_per_{tokens}_token": energy / getattr(benchmark, f"{tokens}_tokens")}
    return metrics


def salvage_of(integration):
    times = {gpu: [time for time, _ in samples] for gpu, samples in integration.samples.items()}
    return salvage_model.of_series(times, integration.blanks, integration.start, integration.end,
                                   integration.energies)


def judge(folder, options):
    """The folder has LOGS/native_power, run.json and agg_run.json."""
    judgement, result = Judgement(), load_json(folder / "run.json")
    judgement.reasons, window = benchmark_reasons(result)
    if benchmark_failed(result):
        judgement.reasons.append("benchmark_failed")
    power, met, of_nodes = folder / "LOGS" / "native_power", set(), []
    nodes = []
    for path in sorted(power.glob("node-*/manifest.json")):
        node, more = read_node(path.parent, window, met)
        nodes.append(node)
        of_nodes += more
    add(judgement.reasons, check_question(nodes, options))
    add(judgement.reasons, of_nodes)
    add(judgement.reasons, check_together(nodes, options))
    judgement.errors = [(node.folder, node.error.kind, node.error.detail) for node in nodes if node.error]
    roles = {uuid: node.manifest["role"] for node in nodes if node.gpus is not None for uuid in node.gpus.values()}
    metrics, integration = {}, None
    if window is not None:
        benchmark = reference.Benchmark(window["start_time_unix"], window["end_time_unix"],
                                        window["reported_duration_s"], window["completed"],
                                        window["total_input_tokens"], window["total_output_tokens"])
        rows = [row for node in nodes if node.error is None for row in node.rows]
        integration = reference.Integration(rows, benchmark)
        integration.finish(options.total)
        add(judgement.reasons, integration.reasons)
        if not judgement.reasons:
            metrics = metrics_of(integration, roles, benchmark, options)
        elif set(judgement.reasons) <= OF_SAMPLES:
            judgement.salvage = salvage_of(integration)
            judgement.names = {gpu: gpu for gpu in integration.samples}
    finish(judgement, folder, metrics, integration, roles)
    judgement.status = int(options.required and bool(judgement.reasons))
    return judgement


def finish(judgement, folder, metrics, integration, roles):
    if not isinstance(load_json(folder / "agg_run.json"), dict):
        add(judgement.reasons, ["aggregate_result_unwritable"])
    else:
        judgement.row = {"power_metric_schema_version": 2, "power_valid": int(not judgement.reasons)}
        if not judgement.reasons:
            judgement.row |= rounded_for_row(metrics)
    judgement.record = {
        "power_valid": not judgement.reasons, "reasons": judgement.reasons, "per_gpu_role": roles,
        "observed_gpu_count": len(integration.samples) if integration else 0,
        "boundary_degenerate_rows": integration.boundary_rows if integration else {},
        "per_gpu_max_sample_gap_s": integration.gaps if integration else {}}
    assert all(map(math.isfinite, metrics.values()))
