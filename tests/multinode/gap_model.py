"""Samples over a window by the model: the rules of gaps, energy, percentiles of the fleet's power."""
import bisect
import fractions
import math

MAX_GAP_S = 3.0
STRICTEST = ["b", "a", "c", "c'", "e", "a'", "c-early", "d"]
GAP, LOSS = "sample_gap_exceeded", "sample_loss_exceeded"


def rows_of(package, host, index):
    return package.rows.get((host, index), [])


def bracket(rows, start, end):
    """From the last row at or before the start to the first at or after the end."""
    times = [one.unix_s for one in rows]
    first, last = bisect.bisect_right(times, start) - 1, bisect.bisect_left(times, end)
    return rows[first:last + 1] if first >= 0 and last < len(times) else None


def lost_share(times, interval):
    """Of the intervals between the outer samples; all of them where the interval is none."""
    if not (math.isfinite(interval) and interval > 0):
        return 1.0
    expected = math.floor((times[-1] - times[0]) / interval)
    return (expected - (len(set(times)) - 1)) / expected if expected > 0 else 0.0


def rule_codes(rule, times, start, end, interval, timeout):
    """What the rule says of one device; section 2.11."""
    steps = list(zip(times, times[1:]))
    longest = max((b - a for a, b in steps), default=0.0)
    length = end - start

    def clipped(limit):
        return sum(min(b, end) - max(a, start) for a, b in steps if b - a > limit)

    def within(budget):
        return math.isfinite(budget) and longest <= min(10.0, max(budget, 0.005 * length)) and clipped(budget) <= 0.05 * length

    if rule == "d":  # the limit is ours: help packages
        return [GAP] if clipped(MAX_GAP_S) > 0.25 * length else []
    if rule == "e":
        whole = sum(b - a for a, b in steps if b - a > MAX_GAP_S)
        return [GAP] if longest > 10.0 or whole > 0.005 * length else []
    if rule == "a'":
        return [] if within(MAX_GAP_S) else [GAP]
    if rule in ("a", "b"):
        codes = [GAP] if longest > MAX_GAP_S else []
        return codes + [LOSS] if rule == "b" and lost_share(times, interval) > 0.05 else codes
    codes = [] if within(interval + 2 * timeout) else [GAP]
    if rule == "c" and lost_share(times, interval) > 0.05:
        codes = [GAP]
    if rule == "c'" and interval > 0:
        expected = math.floor(length / interval)
        delivered = sum(1 for time in set(times) if start <= time < end)
        if expected > 0 and expected - delivered > max(1, math.floor(0.05 * expected)):
            codes.append(LOSS)
    return codes


def number_in(manifest, key):
    """NaN, with which no rule is kept, where there is none."""
    value = manifest.get(key)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number else math.nan


def coverage(package, start, end, rule):
    """The longest gap of each device, and the codes of all of them, each once."""
    gaps, codes = {}, []
    manifest = package.manifest
    interval, timeout = (number_in(manifest, key) for key in ("sample_interval_seconds",
                                                              "request_timeout_seconds"))
    for host, index in sorted({(host, index) for host, index, _ in package.devices}):
        rows = rows_of(package, host, index)
        if len({one.uuid for one in rows}) > 1:
            codes.append("gpu_uuid_changed")
            continue
        rows = bracket(rows, start, end)
        if rows is None:
            codes.append("measurement_window_not_bracketed")
            continue
        times = [one.unix_s for one in rows]
        gaps[f"{host}/{rows[0].uuid}"] = max((b - a for a, b in zip(times, times[1:])), default=0.0)
        codes += rule_codes(rule, times, start, end, interval, timeout)
    return gaps, list(dict.fromkeys(codes))


# ---- Energy

def points(rows, start, end):
    """Time and watts at the start, at each sample strictly inside, and at the end."""
    merged = {}
    for one in rows:
        merged.setdefault(one.unix_s, []).append(one.watts)
    samples = [(time, watts[0] if len(watts) == 1 else
                float(sum(map(fractions.Fraction, watts)) / len(watts)))
               for time, watts in sorted(merged.items())]
    times = [time for time, _ in samples]

    def at(time):
        i = bisect.bisect_left(times, time)
        if abs(times[i] - time) <= 1e-9:
            return samples[i][1]
        (t0, p0), (t1, p1) = samples[i - 1], samples[i]
        return p0 + ((time - t0) / (t1 - t0)) * (p1 - p0)

    return [(start, at(start)), *((time, watts) for time, watts in samples if start < time < end),
            (end, at(end))]


def energies(package, start, end):
    found = {}
    for host, index, _ in package.devices:
        line = points(rows_of(package, host, index), start, end)
        energy = 0.0
        for (t0, p0), (t1, p1) in zip(line, line[1:]):
            energy += (t1 - t0) * (p0 + p1) / 2.0
        found[host, index] = energy
    return found


def longest_gaps(package, start, end):
    found = {}
    for host, index, _ in package.devices:
        times = [one.unix_s for one in bracket(rows_of(package, host, index), start, end)]
        found[host, index] = max((b - a for a, b in zip(times, times[1:])), default=0.0)
    return found


def energy_bounds(package, start, end):
    """By how much the long gaps let each device's energy be off: inside the window the power was
    between the lowest and the highest that the device ever had."""
    found = {}
    for host, index, _ in package.devices:
        rows = rows_of(package, host, index)
        low, high = min(one.watts for one in rows), max(one.watts for one in rows)
        bound = 0.0
        for before, after in zip(rows, rows[1:]):
            inside = min(after.unix_s, end) - max(before.unix_s, start)
            if after.unix_s - before.unix_s <= MAX_GAP_S or inside <= 0:
                continue
            (_, p0), *_, (_, p1) = points([before, after], max(before.unix_s, start),
                                          min(after.unix_s, end))
            mean = (p0 + p1) / 2
            bound += inside * max(high - mean, mean - low)
        found[host, index] = bound
    return found


def percentile(package, start, end, share):
    """Of the sum of all devices' power, by time."""
    lines = [points(rows_of(package, host, index), start, end) for host, index, _ in package.devices]
    knots = sorted({time for line in lines for time, _ in line})
    power = sum(line[0][1] for line in lines)
    slopes = {}
    for line in lines:
        for (t0, p0), (t1, p1) in zip(line, line[1:]):
            slope = (p1 - p0) / (t1 - t0)
            slopes[t0] = slopes.get(t0, 0.0) + slope
            slopes[t1] = slopes.get(t1, 0.0) - slope
    segments, slope = [], 0.0
    for t0, t1 in zip(knots, knots[1:]):
        slope += slopes.get(t0, 0.0)
        right = power + slope * (t1 - t0)
        segments.append((min(power, right), max(power, right), t1 - t0))
        power = right
    lower, upper = min(one[0] for one in segments), max(one[1] for one in segments)
    target = (end - start) * share
    for _ in range(60):
        value = lower + (upper - lower) / 2
        below = sum(dt if value >= high else dt * (value - low) / (high - low) if value > low else 0.0
                    for low, high, dt in segments)
        if below >= target:
            upper = value
        else:
            lower = value
    return upper
