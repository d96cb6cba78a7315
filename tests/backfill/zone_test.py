#!/usr/bin/env python3
"""The zone that backfill finds by one witness, the load's edges, is right or refused.

Recordings of 1 minute to 3 days in all zones, windows of 20 s to 6 h. Where a single load shows its
edges at the window's edges, the zone must be found in nine of ten (noise may hide an edge); where the power tells nothing, or two loads fit,
it must be refused; where it is hard, it may be refused, but a number that is given must be right.

usage: tests/backfill/zone_test.py [N [SEED]]   recordings (default: 120), with $AGGREGATE_POWER
"""
import math
import random
import sys

import judging
import patching
from judging import backfill, read_report
from stores import OFFSETS, Recording, offset_text, raw_result

RIGHT, REFUSED, EITHER = "right", "refused", "either"


class Curve(Recording):
    """A recording of one GPU whose watts stand in a list, by tick."""
    levels = ()
    edges = (0, 0)  # the window's, in ticks

    def csv(self):
        lines, minute, prefix = [self.header()], None, ""
        behind = {watts: self.row("", 0, watts) for watts in set(self.levels)}
        for tick, watts in enumerate(self.levels):
            unix_s = self.start + tick * self.interval
            if unix_s // 60 != minute:
                minute = unix_s // 60
                prefix = self.stamp(minute * 60)[:-len("00.000")]
            lines.append(f"{prefix}{unix_s % 60:02}.000{behind[watts]}")
        return ("\n".join(lines) + "\n").encode()

    def energy(self):
        """By trapezoids; the window's edges lie on samples."""
        begin, end = self.edges
        return self.interval * math.fsum(
            (self.levels[i] + self.levels[i + 1]) / 2 for i in range(begin, end))


def base(die, levels, edges, interval):
    # A clock that is changed while it records is the business of backfill_test.py.
    curve = Curve(gpus=1, interval=interval, zone=die.choice(OFFSETS),
                  start=die.randrange(1735689600, 1788220800))
    curve.levels, curve.edges = levels, edges
    return curve


def lengths(die, shortest_idle=10):
    """A window and what is recorded before and behind it, in ticks, and the interval."""
    window_s = round(math.exp(die.uniform(math.log(20), math.log(6 * 3600))))
    total_s = round(math.exp(die.uniform(math.log(max(60, window_s * 1.3)), math.log(3 * 86400))))
    if die.random() < 0.6:
        total_s = min(total_s, 4 * window_s + 3600)
    interval = 1 if total_s < 3 * 3600 else 2 if total_s < 86400 else 3
    window, total = max(8, window_s // interval), total_s // interval
    rest = max(total - window, 2 * shortest_idle)
    before = die.randint(shortest_idle, rest - shortest_idle)
    return window, before, rest - before, interval


def noisy(die, watts, count, noise):
    return [watts + die.randint(-noise, noise) for _ in range(count)]


def single_load(die):
    window, before, behind, interval = lengths(die)
    noise = die.choice([0, 0, 5, 25])
    idle, load = die.randint(60, 150), die.randint(400, 1000)
    levels = noisy(die, idle, before, noise) + noisy(die, load, window + 1, noise) \
        + noisy(die, idle + die.randint(0, 60), behind, noise)
    return RIGHT, base(die, levels, (before, before + window), interval)


def load_then_evaluation(die):
    """Another load of another length, with a pause between the two."""
    window, before, behind, interval = lengths(die, 60)
    other = max(5, behind // 4)
    if abs(other - window) < max(10, window // 10):
        other = max(5, window // 3)
    behind = max(behind, other + 40)
    levels = noisy(die, 90, before, 3) + noisy(die, 700, window + 1, 3) + noisy(die, 95, 20, 3) \
        + noisy(die, 450, other, 3) + noisy(die, 90, behind - 20 - other, 3)
    return EITHER, base(die, levels, (before, before + window), interval)


def flat(die):
    window, before, behind, interval = lengths(die)
    levels = [die.choice([0, 75, 500])] * (before + window + behind + 1)
    return REFUSED, base(die, levels, (before, before + window), interval)


def only_noise(die):
    window, before, behind, interval = lengths(die)
    levels = noisy(die, 500, before + window + behind + 1, die.choice([2, 20, 100]))
    return EITHER, base(die, levels, (before, before + window), interval)


def twice(die):
    """The same load again, some full hours later."""
    interval = 2
    window = die.randint(20, 400)
    period = 3600 // interval * -(-(window + 30) // (3600 // interval))
    idle = period - window - 1
    load = [90] * die.randint(20, 300) + ([700] * (window + 1) + [90] * idle) * 2
    before = load.index(700)
    curve = base(die, load, (before, before + window), interval)
    curve.zone = die.choice([-300, 0, 60, 330])  # its neighbours are zones, too
    return REFUSED, curve


def late_edges(die):
    """The load begins before the window, or ends behind it."""
    window, before, behind, interval = lengths(die, 40)
    early, late = die.randint(-6, 15), die.randint(-6, 15)
    levels = [90] * (before - early) + [700] * (window + 1 + early + late) + [110] * (behind - late)
    return EITHER, base(die, levels, (before, before + window), interval)


def within_a_load(die):
    """The window's edges show nowhere; the recording's own load is much longer."""
    window, before, behind, interval = lengths(die, 40)
    levels = [90] * (before // 2) + noisy(die, 700, before - before // 2 + window + behind // 2, 4) \
        + [90] * (behind - behind // 2 + 1)
    return EITHER, base(die, levels, (before, before + window), interval)


def ramp(die):
    window, before, behind, interval = lengths(die, 40)
    rise = max(1, min(30, window // 4))
    load = [90 + 600 * min(i, window - i, rise) // rise for i in range(window + 1)]
    levels = [90] * before + load + [90] * behind
    return EITHER, base(die, levels, (before, before + window), interval)


def bursts(die):
    """Loads at random: what a shared machine shows."""
    levels = []
    while len(levels) < 6000:
        levels += noisy(die, die.choice([80, 300, 500, 700]), die.randint(15, 600), 8)
    begin = die.randint(50, 2000)
    return EITHER, base(die, levels, (begin, begin + die.randint(20, 3000)), 1)


SHAPES = [single_load] * 5 + [load_then_evaluation, flat, only_noise, twice, late_edges,
                              within_a_load, ramp, bursts]


def main(count=120, seed=1):
    die = random.Random(seed)
    print(f"seed {seed}")
    checks = patching.Checks()
    made = {}
    with patching.fresh_folder("zones") as root:
        store = root / "store"
        for i in range(count):
            shape = SHAPES[i % len(SHAPES)]
            wanted, curve = shape(die)
            folder = store / f"power_audit_{i}"
            folder.mkdir(parents=True)
            (folder / "gpu_metrics.csv").write_bytes(curve.csv())
            begin, end = (curve.start + tick * curve.interval for tick in curve.edges)
            (folder / f"{i}.json").write_bytes(raw_result(begin, end))
            (folder / f"agg_{i}.json").write_bytes(b'{"tp": 1}')
            made[str(i)] = shape.__name__, wanted, curve
        done = backfill(store, "--timezone", "evidence", "--report", root / "report.jsonl")
        if done.returncode != 0:
            checks.add("ends with 0", [done.stderr.decode()[-400:]])
        lines = {line["run"]: line for line in read_report(root / "report.jsonl")}
        judged = {}
        for i, (name, wanted, curve) in made.items():
            faults, found = judged.setdefault(name, ([], {}))
            line = lines.get(i, {"outcome": "no line", "reasons": []})
            outcome = line["outcome"]
            found[outcome] = found.get(outcome, 0) + 1
            label = (f"run {i}: zone {offset_text(curve.zone)}, window "
                     f"{(curve.edges[1] - curve.edges[0]) * curve.interval} s of "
                     f"{(len(curve.levels) - 1) * curve.interval} s")
            record = patching.parsed(judging.file_bytes(
                store / f"power_audit_{i}" / f"power_validation_{i}.json")) \
                if outcome in ("patched", "not_valid") else None
            if outcome == "patched":
                energy = line["metrics"].get("total_gpu_energy_j", 0)
                if abs(energy - curve.energy()) > 0.001:
                    faults.append(f"{label}: WRONG: {energy} J, expected {curve.energy()}")
                offset = record["computed_from"]["utc_offset"]
                if offset != offset_text(curve.zone):
                    faults.append(f"{label}: WRONG: the offset is {offset}")
                if wanted == REFUSED:
                    faults.append(f"{label}: should have been refused")
            elif outcome != "ambiguous" or line["reasons"] != ["timezone_ambiguous"]:
                faults.append(f"{label}: {outcome} {line['reasons']}")
            elif wanted == RIGHT:
                print(f"{name}: {label}: refused")
        for name, (faults, found) in judged.items():
            if name == "single_load" and found.get("patched", 0) < 0.9 * sum(found.values()):
                faults.append("refused too often")
            print(f"{name}: {found}")
            checks.add(f"zones: {name}", faults, sum(found.values()))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
