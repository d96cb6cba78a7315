// Computes the total power of all devices over a window. Pure arithmetic: no files, no clock, no
// printing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "aggregate_power/fleet_power.h"
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

}  // namespace aggregate_power
