"""What --salvage makes of a package by the model: sections 8 row 7 and 9.3 of the original's description.

Only of packages whose faults all are of one of three kinds; of others nothing is said.
"""
import bisect
import dataclasses
import math

import gap_model
from gap_model import GAP, LOSS, MAX_GAP_S

NEEDED_SHARE = 0.9
BAND_S = 3.0  # farther from the window a row concerns nobody


@dataclasses.dataclass
class Salvage:
    """`kind`: "valid" (what is wrong concerns other windows), "bounded" or "nothing"."""
    kind: str
    why: str = ""  # there is nothing: part of the reason that is given
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


def bounded(package, bound, blanks):
    salvage = Salvage("bounded")
    for host, index, _ in package.devices:
        device = host, index
        times = [one.unix_s for one in gap_model.rows_of(package, host, index)]
        found = sorted(blanks.get(device, []))
        salvage.holes[device], share, isolated = holes_of(times, found, bound.start, bound.end)
        salvage.shares[device] = share
        salvage.cells[device] = sum(bound.start <= time <= bound.end for time in found)
        readings = bisect.bisect_right(times, bound.end) - bisect.bisect_left(times, bound.start)
        if share < NEEDED_SHARE - 1e-6:
            salvage.kind, salvage.why = "nothing", "90 % are needed"
        elif isolated > max(2, (readings + salvage.cells[device]) // 100):
            salvage.kind, salvage.why = "nothing", "may be without one"
    if salvage.kind == "bounded":
        salvage.lines = gap_model.energies(package, bound.start, bound.end)
    return salvage


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


def is_finite(salvage):
    return all(math.isfinite(joules) for joules in salvage.lines.values())
