// Computes the total power of all devices over a window. Pure arithmetic: no files, no clock, no
// printing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "aggregate_power/result.h"
#include "aggregate_power/sample.h"
#include "core/telemetry/samples.h"

namespace aggregate_power {

// The sum of curves over one window. Their first and last knots count as its edges, so curves on
// clocks that were corrected by an offset are summed correctly too. `curves` is not empty.
FleetPower sum_of(std::vector<FleetPower> curves, Window window);

struct FleetCurve {
  // Nullopt if there is no device, or if the samples of one do not reach an edge.
  std::optional<FleetPower> power;
  // Number of distinct stamps of all devices from the window's start to its end, both included.
  std::uint64_t samples_in_window = 0;
};

// The curve of all devices from their samples, in any order; a device without samples does not
// count. Each device's power is linear from sample to sample; samples with one stamp are averaged
// exactly, and the window's edges are interpolated, as in DeviceIntegrator. The fleet's knots are
// the stamps of all devices, and both edges.
//
// Curves are added in pairs, and pairs of pairs, so that a knot results from one interpolation and
// one addition per doubling of the devices: with 1,024 of them it is off by at most 6e-15 of the
// highest power near it, however many samples there are. Time grows with samples x log(samples).
// Memory is 16 to 32 bytes per sample, and up to 37 while the last pair is added; when finished, 16
// per knot.
FleetCurve fleet_curve(std::vector<std::vector<Sample>> devices, Window window);

// The same from the samples of a recording up to `margin_s` before and after the window; outside it
// only those above 0 W count.
FleetCurve fleet_curve(const Samples& samples, Window window, double margin_s);

// ---- The power of several devices together at every instant. Pure arithmetic: no files, no clock,
// no printing.

struct PowerSumOptions {
  Interpolation interpolation = Interpolation::linear;
  double max_gap_s = 3;  // samples farther apart are not connected; held ones always are
};

// Whether the power between two samples is known.
bool are_connected(const PowerSumOptions& options, Sample before, Sample after);

struct PowerKnot {
  double unix_s = 0;
  double watts = 0;
  bool is_connected = false;  // with the knot before it
};

// Passes on the sum of all devices' powers, each linear between its samples, or held: a knot at
// each of their stamps, in time order. It is known only where the power of every device is known:
// not before one's first sample, after its last one, or where two of its samples are not connected.
// `devices`: of each at least one sample, in time order, with stamps of its own.
void sum_powers(const PowerSumOptions& options, std::span<const std::span<const Sample>> devices,
                const std::function<void(const PowerKnot&)>& take);

}  // namespace aggregate_power
