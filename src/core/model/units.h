// Numbers that no quantity of a run can have.
#pragma once

#include <cmath>

namespace aggregate_power {

// Whether no energy, power, time, rate or price can be so large, or so near to 0 without being 0:
// above 1e15 or below 1e-15, or not a number. Sums, squares and quotients of all others are finite.
inline bool is_beyond_measure(double value) {
  constexpr double kMost = 1e15;
  const double size = std::abs(value);
  return !(size <= kMost) || (size > 0 && size < 1 / kMost);
}

}  // namespace aggregate_power
