// Quantiles. Pure arithmetic.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace aggregate_power {

// The number below which `share` of all others are, in any order; 0 if there are none.
double quantile_of(std::vector<double> values, double share);

// The same of many numbers, value(0) to value(count - 1), of which few are copied: those between
// two quantiles of a sample of them.
template <typename Value>
double quantile_of_many(std::size_t count, const Value& value, double share) {
  constexpr std::size_t kSample = 1024;
  constexpr double kAround = 0.05;  // three standard deviations of a sample's quantile
  const auto copy = [&](std::size_t step) {
    std::vector<double> values;
    values.reserve(count / step + 1);
    for (std::size_t i = 0; i < count; i += step) values.push_back(value(i));
    return values;
  };
  if (count <= 2 * kSample) return quantile_of(copy(1), share);
  const std::vector<double> sample = copy(count / kSample);
  const double low = quantile_of(sample, std::max(0.0, share - kAround));
  const double high = quantile_of(sample, std::min(1.0, share + kAround));
  // Without a branch for each: which numbers are where cannot be foreseen.
  constexpr std::size_t kChunk = 256;
  std::size_t below = 0;
  std::size_t equal = 0;  // to both
  std::vector<double> between;
  std::array<double, kChunk> chunk;
  for (std::size_t first = 0; first < count; first += kChunk) {
    const std::size_t end = std::min(first + kChunk, count);
    std::size_t kept = 0;
    for (std::size_t i = first; i < end; ++i) {
      const double one = value(i);
      below += static_cast<std::size_t>(one < low);
      chunk[kept] = one;
      kept += static_cast<std::size_t>(one >= low) & static_cast<std::size_t>(one <= high);
    }
    if (low == high) {
      equal += kept;
    } else {
      between.insert(between.end(), chunk.data(), chunk.data() + kept);
    }
  }
  const auto place = static_cast<std::size_t>(share * static_cast<double>(count - 1));
  if (below <= place && place < below + equal) return low;
  // The sample misleads where numbers repeat in step with it.
  if (place < below || place >= below + between.size()) return quantile_of(copy(1), share);
  const auto found = between.begin() + static_cast<std::ptrdiff_t>(place - below);
  std::ranges::nth_element(between, found);
  return *found;
}

}  // namespace aggregate_power
