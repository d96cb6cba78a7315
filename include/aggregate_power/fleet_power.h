// The power of all GPUs together over a window.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// A piecewise linear curve. Knots are in time order without duplicate times; the first and the last
// are the window's edges.
class FleetPower {
 public:
  explicit FleetPower(std::vector<Sample> knots) : knots_(std::move(knots)) {}

  std::span<const Sample> knots() const { return knots_; }

  // Joules between two instants; time outside the window does not count.
  double energy_j(double from_unix_s, double to_unix_s) const;

  // The smallest power that the curve is at or below for at least the share `q`, from 0 to 1, of
  // the window. Exact apart from rounding: between the powers of two neighbouring knots, that time
  // is linear. Infinite when some power is too large for a double.
  double quantile_w(double q) const;

 private:
  std::vector<Sample> knots_;
};

}  // namespace aggregate_power
