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

}  // namespace aggregate_power
