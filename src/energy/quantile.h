// Quantiles. Pure arithmetic.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace aggregate_power {

// The number below which `share` of all others are, in any order; 0 if there are none.
double quantile_of(std::vector<double> values, double share);

// The same of many numbers, value(0) to value(count - 1), of which few are copied if they are
// spread evenly.
template <typename Value>
double quantile_of_many(std::size_t count, const Value& value, double share) {
  constexpr std::size_t kFew = 512;
  constexpr std::size_t kBins = 1024;
  double least = count > 0 ? value(0) : 0;
  double most = least;
  for (std::size_t i = 1; i < count; ++i) {
    least = std::min(least, value(i));
    most = std::max(most, value(i));
  }
  const double bins_per_unit = kBins / (most - least);
  if (!std::isfinite(bins_per_unit)) return least;  // all are as good as equal
  const auto bin_of = [&](double one) {
    return std::min(static_cast<std::size_t>((one - least) * bins_per_unit), kBins - 1);
  };
  // The bin that the number is in, and how many are in those before it.
  auto place = static_cast<std::size_t>(share * static_cast<double>(count - 1));
  std::size_t bin = 0;
  std::size_t before = 0;
  if (count > kFew) {
    std::array<std::size_t, kBins> counts = {};
    for (std::size_t i = 0; i < count; ++i) ++counts[bin_of(value(i))];
    while (before + counts[bin] <= place) before += counts[bin++];
  }
  std::vector<double> candidates;
  for (std::size_t i = 0; i < count; ++i) {
    const double one = value(i);
    if (count <= kFew || bin_of(one) == bin) candidates.push_back(one);
  }
  place -= before;
  std::ranges::nth_element(candidates, candidates.begin() + static_cast<std::ptrdiff_t>(place));
  return candidates[place];
}

}  // namespace aggregate_power
