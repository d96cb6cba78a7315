// The quantities that a report shows of runs.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "decisions/relative_change.h"
#include "store/catalogue/published_runs.h"

namespace aggregate_power {

enum class ReportQuantity {
  energy_per_token,
  gpu_power,
  energy,
  duration,
  throughput,
  interactivity,
  temperature,
  utilization,
};
inline constexpr std::size_t kReportQuantities = 8;

// The metric by which energy is divided by work in a whole report.
struct EnergyMetric {
  std::string_view key;      // "joules_per_output_token"
  std::string_view unit;     // "J/output token"
  std::string_view formula;  // "energy / output tokens"
};
// The first that some run `has`; joules_per_output_token if none has any.
const EnergyMetric& energy_metric_of(const std::function<bool(std::string_view key)>& has);

struct QuantityFacts {
  std::string key;         // of its column
  std::string title;       // of an axis: "energy (J/output token)"
  std::string column;      // of a column: "J/output token"
  double column_unit = 1;  // that its numbers are divided by
  std::string unit;        // "J/output token"
  std::string formula;     // what it is, in a few words
};
QuantityFacts facts_of(ReportQuantity quantity, const EnergyMetric& metric);

// Nullopt: unknown, which is not 0. Power and energy are known of valid runs only.
std::optional<double> quantity_of(const PublishedRun& run, ReportQuantity quantity,
                                  const EnergyMetric& metric);
// Its interval between runs on the same boards; nullopt: the record states none.
std::optional<Spread> repeatability_of(const PublishedRun& run, ReportQuantity quantity,
                                       const EnergyMetric& metric);
// Its value with what the record states of its uncertainty.
std::optional<MeasuredValue> measured_quantity(const PublishedRun& run, ReportQuantity quantity,
                                               const EnergyMetric& metric);
// Half of the last digit that is published.
double half_digit_of(ReportQuantity quantity);

}  // namespace aggregate_power
