"""What --salvage makes of a package by the model: sections 8 row 7 and 9.3 of the original's description.

Only of packages whose faults all are of one of three kinds; of others nothing is said.
"""
import bisect
import dataclasses

import gap_model
from gap_model import GAP, LOSS, MAX_GAP_S

NEEDED_SHARE = 0.9
BAND_S = 3.0  # farther from the window a row concerns nobody


@dataclasses.dataclass
class Salvage:
    """`kind`: "valid" (what is wrong concerns other windows), "bounded" or "nothing"."""
    kind: str
    why: list = dataclasses.field(default_factory=list)  # there is nothing: one of these is said
    shares: dict = dataclasses.field(default_factory=dict)  # by device
    holes: dict = dataclasses.field(default_factory=dict)   # by device, (start, end)
    cells: dict = dataclasses.field(default_factory=dict)   # by device, how many have no reading
    lines: dict = dataclasses.field(default_factory=dict)   # joules by device, linear in the gaps


def holes_of(times, blanks, start, end):
    """The stretches without readings, how much of the window lies in gaps, and cells outside them."""
    holes, lost, isolated = [], 0.0, 0
    for a, b in zip(times, times[1:]):
        inside = min(b, end) - max(a, start)
        if inside <= 0:
            continue
        cells = [time for time in blanks if max(a, start) <= time < min(b, end)]
        if b - a > MAX_GAP_S:
            holes.append((a, b))
            lost += inside
        elif cells:
            holes.append((a, b))
            isolated += len(cells)
    return holes, 1 - lost / (end - start), isolated


def blank_cells(package, version_size, power=6):
    """The times of rows that are whole but for their power, by device; None: others are malformed, too."""
    blanks = {}
    for cells in package.malformed:
        if len(cells) != version_size:
            return None
        whole = [*cells[:power], "1.0", *cells[power + 1:]]
        sample = package.sample_of(whole)
        if sample is None:
            return None
        blanks.setdefault((sample.host, sample.index), []).append(sample.unix_s)
    return blanks


def of_series(times_by_device, blanks, start, end, joules):
    """Of times in order; `joules` by straight lines, by device."""
    salvage = Salvage("bounded")
    for device, times in times_by_device.items():
        found = sorted(blanks.get(device, []))
        salvage.holes[device], share, isolated = holes_of(times, found, start, end)
        salvage.shares[device] = share
        salvage.cells[device] = sum(start <= time <= end for time in found)
        readings = bisect.bisect_right(times, end) - bisect.bisect_left(times, start)
        if share < NEEDED_SHARE - 1e-6:
            salvage.why.append("90 % are needed")
        elif isolated > max(2, (readings + salvage.cells[device]) // 100):
            salvage.why.append("may be without one")
    if salvage.why:
        salvage.kind = "nothing"
    else:
        salvage.lines = joules
    return salvage


def bounded(package, bound, blanks):
    times = {(host, index): [one.unix_s for one in gap_model.rows_of(package, host, index)]
             for host, index, _ in package.devices}
    return of_series(times, blanks, bound.start, bound.end,
                     gap_model.energies(package, bound.start, bound.end))


def expected(judgement, found, stored):
    """Nothing where the model does not know. `stored`: the recorder's own verdict."""
    refused_alone = judgement.reasons == ["package_recompute_invalid"] and stored is False
    package, own = found.package, found.own_validation()
    if not refused_alone or own is None:
        return None
    if found.faults:
        blanks = blank_cells(package, len(package.header)) if found.faults == ["samples_csv_malformed"] else None
        if blanks is None or set(own["reason_codes"]) - {GAP, LOSS}:
            return None
        near = [time for times in blanks.values() for time in times
                if found.bound.start - BAND_S <= time <= found.bound.end + BAND_S]
        return bounded(package, found.bound, blanks) if near else None
    codes = set(own["reason_codes"])
    if not codes:
        return Salvage("valid")
    if codes - {GAP, LOSS}:
        return Salvage("nothing")
    return bounded(package, found.bound, {})



# ---- What the program says against it

# It is at least an energy, an interval and a share that a row has.
KEYS = [f"salvaged_{key}" for key in (
    "total_gpu_energy_j", "total_gpu_energy_j_low", "total_gpu_energy_j_high", "covered_share")]


def faults_of_row(keys, salvage, row):
    """`keys` is the choice of them; `salvage` the member of the record, None where there is none."""
    named = [key for key in row if key.startswith("salvaged_")]
    is_there = bool(salvage and salvage["available"]) and keys in ("seed", "all")
    if is_there and set(KEYS) <= set(named) and row["salvaged_total_gpu_energy_j"] == round(
            salvage["total_gpu_energy_j"]["estimate"], 3):
        return []
    return [] if not is_there and not named else [f"salvaged keys: {named}, with {salvage}"]


def faults_of_record(expected, salvage, names):
    """`names` are those of the record, by device."""
    if expected.kind == "nothing":
        is_so = salvage is None or not salvage["available"] and (
            not expected.why or any(why in salvage["refusal"] for why in expected.why))
        return [] if is_so else [f"salvage: expected nothing for {expected.why}, found {salvage}"]
    faults = []
    for device, name in names.items():
        found = salvage["per_gpu"][name]
        told = (found["covered_share"], found["missing_cells"],
                [(gap["start_unix"], gap["end_unix"]) for gap in found["gaps"]])
        wanted = (round(expected.shares[device], 6), expected.cells[device], expected.holes[device])
        faults += [] if told == wanted else [f"{name}: expected {wanted}, found {told}"]
    if salvage["least_covered_share"] != round(min(expected.shares.values()), 6):
        faults.append(f"least share: {salvage['least_covered_share']}, {expected.shares}")
    if not salvage["available"]:
        is_so = salvage["refusal"].startswith("no interval: ")
        return faults + ([] if is_so else [f"salvage: expected an energy, found {salvage['refusal']}"])
    energy, line, bound = salvage["total_gpu_energy_j"], sum(expected.lines.values()), largest_error_j(expected)
    if not energy["low"] <= energy["estimate"] <= energy["high"] or abs(energy["estimate"] - line) > bound:
        faults.append(f"salvage: {energy}, {line} J by straight lines, give or take {bound}")
    return faults


def largest_error_j(expected):
    """How far an estimate may be from straight lines: 3 kW of each GPU over its holes, and 5 % for edges."""
    holes_s = sum(end - start for holes in expected.holes.values() for start, end in holes)
    return 3000 * holes_s + 0.05 * sum(expected.lines.values()) + 2000 * len(expected.lines)
