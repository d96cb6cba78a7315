// The content of a recording, device by device, without any window.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/sample.h"
#include "core/energy/exact_mean.h"
#include "core/energy/plausibility.h"

namespace aggregate_power {

struct DeviceSurvey {
  std::string id;
  std::uint64_t samples = 0;  // readings, including those that share a stamp
  double first_unix_s = 0;
  double last_unix_s = 0;
  // Between distinct stamps; nullopt if there are fewer than two.
  std::optional<double> median_interval_s;
  std::optional<double> max_gap_s;
  double mean_w = 0;  // arithmetic
  double min_w = 0;
  double max_w = 0;
};

class Surveyor {
 public:
  // The next readings, in the file's order.
  void take(std::span<const Reading> readings);

  // Devices with at least one reading, sorted as GPU ids are. `names` by Reading::device. To be
  // called exactly once, after all readings: the stamps are sorted in place.
  std::vector<DeviceSurvey> devices(std::span<const std::string> names);
  // Reasons to doubt the numbers, for people: "CODE: sentence". `read_as` is the unit of bare
  // numbers.
  std::vector<std::string> warnings(std::span<const std::string> names,
                                    PowerUnit::Size read_as = PowerUnit::Size::watt,
                                    const PlausibleWatts& plausible = {}) const;
  std::uint64_t unnamed_readings() const { return unnamed_readings_; }

 private:
  struct Device {
    std::uint64_t samples = 0;
    std::vector<double> stamps;
    ExactMean mean;
    double min_w = 0;
    double max_w = 0;
    double last_w = 0;
    std::uint64_t repeats = 0;    // readings equal to the previous one
    std::uint64_t backwards = 0;  // stamps earlier than the previous one
  };

  std::vector<Device> devices_;
  std::uint64_t unnamed_readings_ = 0;
};

// ---- Quantiles. Pure arithmetic.

// The number of a rank, from 0, among at least one more than that.
template <typename Number>
Number ranked(std::vector<Number> values, std::size_t rank) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(rank));
  return values[rank];
}

// The number in the middle, or the upper one of two; 0 if there are none.
template <typename Number>
Number upper_median(std::vector<Number> values) {
  const std::size_t middle = values.size() / 2;
  return values.empty() ? Number() : ranked(std::move(values), middle);
}

// The number below which `share` of all others are, in any order; 0 if there are none.
inline double quantile_of(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  return ranked(std::move(values), rank);
}

// A number that has nothing to do with those of the numbers around (the finalizer of SplitMix64).
inline std::uint64_t scattered(std::uint64_t number) {
  number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9U;
  number = (number ^ (number >> 27)) * 0x94D049BB133111EBU;
  return number ^ (number >> 31);
}

// A number below `count`, which is less than 2^32.
inline std::size_t scattered_below(std::size_t count, std::uint64_t number) {
  return static_cast<std::size_t>(((scattered(number) >> 32) * count) >> 32);
}

// About the same of many numbers, value(0) to value(count - 1): that of some thousand of them,
// which are spread so that they are not in step with numbers that repeat.
template <typename Value>
double quantile_of_many(std::size_t count, const Value& value, double share) {
  constexpr std::size_t kEnough = 4096;
  const std::size_t step = std::max<std::size_t>(1, (count + kEnough - 1) / kEnough);
  std::vector<double> some;
  some.reserve(count / step + 1);
  for (std::size_t first = 0; first < count; first += step) {
    some.push_back(value(first + scattered_below(std::min(step, count - first), first)));
  }
  return quantile_of(std::move(some), share);
}

// Of the power of samples; 0 if there are none.
inline double median_w(std::span<const Sample> samples) {
  return quantile_of_many(
      samples.size(), [&](std::size_t i) { return samples[i].watts; }, 0.5);
}

// The mean time between samples, at least two, in the order of time.
inline double mean_step_s(std::span<const Sample> samples) {
  return (samples.back().unix_s - samples.front().unix_s) / static_cast<double>(samples.size() - 1);
}

}  // namespace aggregate_power
