// The power between two samples: linear interpolation. Contract.md B.4.
#pragma once

#include <cmath>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// `left` and `right` are neighbouring samples, `right` the first one at or after `unix_s`; a sample
// within a nanosecond of `unix_s` is taken as it is. In this order: other orders differ in the last
// bit.
inline double watts_at(double unix_s, Sample left, Sample right) {
  constexpr double kSameInstantS = 1e-9;
  if (std::abs(right.unix_s - unix_s) <= kSameInstantS) return right.watts;
  const double fraction = (unix_s - left.unix_s) / (right.unix_s - left.unix_s);
  return left.watts + fraction * (right.watts - left.watts);
}

}  // namespace aggregate_power
