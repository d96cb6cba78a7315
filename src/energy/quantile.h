// Quantiles. Pure arithmetic.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace aggregate_power {

// The number below which `share` of all others are, in any order; 0 if there are none.
double quantile_of(std::vector<double> values, double share);

// About the same of many numbers, value(0) to value(count - 1): that of some thousand of them,
// which are spread so that they are not in step with numbers that repeat.
template <typename Value>
double quantile_of_many(std::size_t count, const Value& value, double share) {
  constexpr std::size_t kEnough = 4096;
  const std::size_t step = 1 + count / kEnough;
  std::vector<double> some;
  some.reserve(count / step + 1);
  for (std::size_t first = 0; first < count; first += step) {
    const std::uint64_t any = static_cast<std::uint64_t>(first) * 0x9E3779B97F4A7C15U >> 32;
    some.push_back(value(first + any % std::min(step, count - first)));
  }
  return quantile_of(std::move(some), share);
}

}  // namespace aggregate_power
