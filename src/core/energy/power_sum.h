// The power of several devices together at every instant. Pure arithmetic: no files, no clock, no
// printing.
#pragma once

#include <functional>
#include <span>

#include "aggregate_power/sample.h"

namespace aggregate_power {

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
