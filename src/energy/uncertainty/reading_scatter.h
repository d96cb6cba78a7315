// How readings scatter around their mean. Pure arithmetic.
#pragma once

#include <cstddef>
#include <span>

#include "aggregate_power/sample.h"

namespace aggregate_power {

struct Scatter {
  std::size_t readings = 0;
  double variance_w2 = 0;
  double alike = 1;  // over how many readings they are alike
};

Scatter scatter_of(std::span<const Sample> samples);

// The same around a straight line in each 64 readings: straight lines between readings follow what
// moves so slowly. That a fast load seems to, because it is in step with the readings, has a chance
// of 2 in 100 for any of its periods.
Scatter scatter_around_trend(std::span<const Sample> samples);

}  // namespace aggregate_power
