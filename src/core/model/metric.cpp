// Finds and rounds published numbers.
#include "aggregate_power/metric.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace aggregate_power {

std::vector<std::string_view> not_finite(const Metrics& metrics) {
  std::vector<std::string_view> keys;
  for (const Metric& metric : metrics) {
    if (!std::isfinite(metric.value)) keys.push_back(metric.key);
  }
  return keys;
}

std::optional<double> value_of(const Metrics& metrics, std::string_view key) {
  const auto metric = std::ranges::find(metrics, key, &Metric::key);
  return metric == metrics.end() ? std::nullopt : std::optional(metric->value);
}

double rounded(double value, int decimals) {
  if (!std::isfinite(value)) return value;
  std::array<char, 400> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                 std::chars_format::fixed, decimals)
                       .ptr;
  double result = 0;
  std::from_chars(digits.data(), end, result);
  return result;
}

}  // namespace aggregate_power
