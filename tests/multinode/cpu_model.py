"""CPU power of a package by the model: section 2.9 of the original's description."""
import csv
import io
import json
import math
import re

from package_builder import CPU_HEADERS

MAX_GAP_S = 3.0
KINDS = ["module", "grace_socket", "dcgm_cpu_rail"]
PATTERNS = {"module": r"Module Power Socket \d+",
            "grace_socket": r"Grace Power Socket \d+|Total (Input )?Power (in uW )?Socket \d+"
                            r"|[^:]*:cpuSidePowerUsageW",
            "dcgm_cpu_rail": r"[^:]*:cpuPowerUsageW"}
FAMILIES = {"cpu_rail_w": "cpu_rail", "soc_w": "cpu_sysio"}
BLANK = [*FAMILIES, "module_w"]  # columns whose cells may be blank
COVERAGE = {"measurement_window_not_bracketed", "sample_gap_exceeded", "gpu_uuid_changed",
            "sample_loss_exceeded"}


def kind_of(sensor):
    return next((kind for kind in KINDS if re.fullmatch(PATTERNS[kind], sensor)), None)


def is_watts(text):
    try:
        return math.isfinite(float(text)) and float(text) >= 0
    except ValueError:
        return False


def row_of(cells, header, version):
    """None where a cell breaks a rule."""
    if len(cells) != len(header):
        return None
    row = dict(zip(header, cells))
    try:
        if int(row["schema_version"]) != version or int(row["socket_id"]) < 0 \
                or not math.isfinite(float(row["timestamp_unix"])):
            return None
    except ValueError:
        return None
    if not (row["hostname"] and row["source"] and row["sensor"]) or not is_watts(row["power_w"]):
        return None
    if any(name in row and row[name] != "" and not is_watts(row[name]) for name in BLANK):
        return None
    return row | {"unix_s": float(row["timestamp_unix"]), "kind": kind_of(row["sensor"]),
                  "socket": (row["hostname"], int(row["socket_id"]))}


def read_rows(path):
    if not path.is_file():
        return [], ["cpu_samples_missing"]
    rows = csv.reader(io.StringIO(path.read_bytes().decode(), newline=""))
    header = next(rows, None)
    version = next((v for v, names in CPU_HEADERS.items() if names == header), None)
    if version is None:
        return [], ["cpu_samples_header_mismatch"]
    found, codes, seen = [], [], set()
    for cells in rows:
        row = row_of(cells, header, version)
        key = row and (row["socket"], row["kind"], row["unix_s"])
        if row is None or key in seen:
            codes = ["cpu_samples_malformed"]
            continue
        seen.add(key)
        found.append(row)
    return found, codes


def integrated(series, start, end):
    """The energy of one series of (time, watts), or the code of what is missing."""
    series = sorted(series)
    times = [time for time, _ in series]
    first = max((i for i, time in enumerate(times) if time <= start), default=None)
    last = min((i for i, time in enumerate(times) if time >= end), default=None)
    if first is None or last is None:
        return None, "cpu_window_not_bracketed"
    used = series[first:last + 1]
    if any(b[0] - a[0] > MAX_GAP_S for a, b in zip(used, used[1:])):
        return None, "cpu_sample_gap_exceeded"

    def at(time):
        for (t0, p0), (t1, p1) in zip(used, used[1:]):
            if t0 <= time <= t1:
                return p1 if abs(t1 - time) <= 1e-9 else p0 if t0 == time \
                    else p0 + ((time - t0) / (t1 - t0)) * (p1 - p0)
        return used[0][1]

    line = [(start, at(start)), *(one for one in used if start < one[0] < end), (end, at(end))]
    energy = 0.0
    for (t0, p0), (t1, p1) in zip(line, line[1:]):
        energy += (t1 - t0) * (p0 + p1) / 2.0
    return energy, None


def family(rows, sockets, column, bound):
    """The energies of the sockets by one column, and the codes of all of them."""
    energies, codes = {}, []
    for socket in sorted(sockets):
        series = [(row["unix_s"], float(row[column])) for row in rows
                  if row["socket"] == socket and row[column] != ""]
        energies[socket], code = integrated(series, bound.start, bound.end)
        if code:
            codes.append(code)
    return energies, list(dict.fromkeys(codes))


def judge(folder, hosts, bound, window_codes, expected_source):
    wanted = {(host, socket) for host in hosts for socket in (0, 1)}
    told = {"cpu_power_valid": False, "reason_codes": [], "sensor_kind": None, "source": None,
            "expected_sockets": 0, "metrics": {}}
    if not folder.is_dir():
        return told | {"reason_codes": ["cpu_artifacts_missing"]}
    told["expected_sockets"] = len(wanted)
    codes = []
    try:
        fits = isinstance(json.loads((folder / "cpu_manifest.json").read_bytes().decode()), dict)
    except (OSError, ValueError):
        fits = False
    if not fits:
        codes.append("cpu_manifest_invalid")
    rows, more = read_rows(folder / "samples.csv")
    codes += more
    if bound is None or window_codes is None or set(window_codes) - COVERAGE:
        codes.append("cpu_window_unavailable")
    if codes:
        return told | {"reason_codes": codes}
    return measured(told, [row for row in rows if row["kind"]], wanted, bound, expected_source)


def with_modules(rows, wanted, bound):
    """Section 9.1: `module_w` is a sensor of its own where all sockets have it over the whole
    window, and else left out."""
    if not rows or "module_w" not in rows[0]:
        return rows
    others = [row for row in rows if row["kind"] != "module"]
    modules = [row for row in rows if row["kind"] == "module"]
    modules += [row | {"kind": "module", "power_w": row["module_w"]} for row in others
                if row["module_w"] != ""]
    return others if family(modules, wanted, "power_w", bound)[1] else others + modules


def measured(told, rows, wanted, bound, expected_source):
    told["observed_sockets"] = len({row["socket"] for row in rows})
    if {row["socket"] for row in rows} != wanted:
        return told | {"reason_codes": ["cpu_socket_count_mismatch"]}

    def of(kind):
        return [row for row in rows if row["kind"] == kind]

    rows = with_modules(rows, wanted, bound)
    common = [kind for kind in KINDS if {row["socket"] for row in of(kind)} == wanted]
    if not common or len({row["source"] for row in of(common[0])}) > 1:
        return told | {"reason_codes": ["cpu_sensor_kind_mixed"]}
    kind = common[0]
    source = of(kind)[0]["source"]
    told |= {"sensor_kind": kind, "source": source}
    if expected_source and (source != expected_source
                            or expected_source == "acpi" and kind == "dcgm_cpu_rail"):
        return told | {"reason_codes": ["cpu_sensor_source_mismatch"]}
    return integrate(told, of, common, wanted, bound)


def integrate(told, of, common, wanted, bound):
    seconds = bound.end - bound.start
    metrics = {}
    for kind in common[:2] if common[0] == "module" else common[:1]:
        energies, codes = family(of(kind), wanted, "power_w", bound)
        if codes:
            return told | {"reason_codes": codes}
        total = 0.0
        for energy in energies.values():
            total += energy
        if kind == "module":
            metrics |= {"avg_total_module_power_w": total / seconds, "total_module_energy_j": total}
        else:
            metrics |= {"avg_cpu_socket_power_w": total / seconds / len(wanted),
                        "avg_total_cpu_power_w": total / seconds, "total_cpu_energy_j": total}
    for column, name in FAMILIES.items():
        grace = of("grace_socket")
        if "grace_socket" not in common or column not in grace[0]:
            continue
        energies, codes = family(grace, wanted, column, bound)
        if not codes:
            total = 0.0
            for energy in energies.values():
                total += energy
            metrics |= {f"avg_total_{name}_power_w": total / seconds,
                        f"total_{name}_energy_j": total}
    if not all(map(math.isfinite, metrics.values())):
        return told | {"reason_codes": ["non_finite_power_metric"]}
    in_order = sorted(metrics, key=lambda key: ("module" in key) + 2 * ("_cpu_rail_" in key)
                      + 3 * ("sysio" in key))
    return told | {"cpu_power_valid": True, "metrics": {key: metrics[key] for key in in_order}}
