// Finds the changes of a value.
#include "energy/sensor_period.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace aggregate_power {

double sensor_period_s(std::span<const Sample> samples) {
  std::vector<double> changes;  // when the value became another
  for (std::size_t i = 1; i < samples.size(); ++i) {
    if (samples[i].watts != samples[i - 1].watts) changes.push_back(samples[i].unix_s);
  }
  if (changes.size() < 2) {
    return samples.empty() ? 0 : samples.back().unix_s - samples.front().unix_s;
  }
  for (std::size_t i = 0; i + 1 < changes.size(); ++i) changes[i] = changes[i + 1] - changes[i];
  changes.pop_back();
  const auto middle = changes.begin() + static_cast<std::ptrdiff_t>(changes.size() / 2);
  std::ranges::nth_element(changes, middle);
  return *middle;
}

}  // namespace aggregate_power
