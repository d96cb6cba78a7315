// The power of all GPUs together over a window.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// A piecewise linear curve. Knots are in time order, no time twice; the first and the last are the
// window's edges.
class FleetPower {
 public:
  explicit FleetPower(std::vector<Sample> knots) : knots_(std::move(knots)) {}

  std::span<const Sample> knots() const { return knots_; }

  // Joules between two instants; only what lies in the window counts.
  double energy_j(double from_unix_s, double to_unix_s) const;

  // The smallest power that the curve is at or below for at least the share `q`, from 0 to 1, of
  // the window. Exact but for rounding: between two neighbouring powers of knots that time is a
  // straight line. Infinite when some power is too large for a number.
  double quantile_w(double q) const;

 private:
  std::vector<Sample> knots_;
};

}  // namespace aggregate_power
