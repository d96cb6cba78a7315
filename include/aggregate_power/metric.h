// A published number and its uncertainty.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace aggregate_power {

// The uncertainty of a value.
struct Interval {
  double low = 0;
  double high = 0;
  // The contributions, by name: the half width that each would give alone.
  std::vector<std::pair<std::string_view, double>> components = {};
};

// A key of the aggregate result with its unrounded value.
struct Metric {
  std::string_view key;
  int decimals;  // in the aggregate: the consumer's audits rely on them
  double value;
  std::optional<Interval> interval = {};  // nullopt: unknown
};

using Metrics = std::vector<Metric>;

// Decimals of a metric in the audit record.
inline constexpr int kAuditDecimals = 6;

// Returns nullopt if `key` is not among the metrics.
std::optional<double> value_of(const Metrics& metrics, std::string_view key);

// The keys of the metrics that are too large for a double.
std::vector<std::string_view> not_finite(const Metrics& metrics);

// round(value, decimals) as Python does it: correctly rounded from the exact binary value, ties to
// even.
double rounded(double value, int decimals);

}  // namespace aggregate_power
