// Computes the published metrics from energy, one table row per metric.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "aggregate_power/contract.h"
#include "aggregate_power/load.h"
#include "aggregate_power/metric.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/result.h"

namespace aggregate_power {

// The GPUs of one role of a disaggregated deployment.
struct RoleEnergy {
  std::size_t gpus = 0;
  double energy_j = 0;  // in the whole window, whatever phase the role was in
};

// The quantities that metrics are computed from.
struct MeasuredEnergy {
  double energy_j = 0;  // of all GPUs in the window
  std::size_t gpus = 0;
  Load load = {};
  RoleEnergy prefill = {};
  RoleEnergy decode = {};
  FleetMeasurement fleet = {};  // as far as it is known
  Contract contract = Contract::october;
};

// The seven metrics of schema 2 (contract.md B.5); three for each role that has GPUs, prefill by
// input tokens and decode by output tokens (C.7); and those of the dashboard: percentiles of the
// power, and the states that all GPUs have, except values too large for a double (F.5). The
// percentiles follow the mean (contract-october.md 1.5); in August they were last.
Metrics energy_metrics(const MeasuredEnergy& energy);

// The three metrics of schema 1; contract.md A.2. The energy is mean power x GPUs x the reported
// duration.
Metrics sample_mean_metrics(double avg_power_w, std::size_t gpus, const Load& load);

// Energies per token or request, powers and energies that are above 0 and would be written as 0.0:
// a count or a unit that no run can have. One reason each, by the count or the power at fault.
Reasons zero_metrics(const Metrics& metrics);

// The keys of energy_metrics(): those of every run, and those of the dashboard.
std::vector<std::string_view> all_metric_keys();
std::vector<std::string_view> dashboard_metric_keys();
// The keys of the dashboard that the original has, too.
std::vector<std::string_view> percentile_keys();

// The rows for every run, as the help page shows them.
struct MetricRow {
  std::string_view key;
  std::string_view schemas;  // those that have it: "1, 2"
  std::string_view meaning;  // code in backticks
  int decimals;
};
std::vector<MetricRow> metric_rows();

}  // namespace aggregate_power
