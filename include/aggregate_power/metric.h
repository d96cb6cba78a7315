// Energy to the numbers that are published: one table row per metric.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/load.h"

namespace aggregate_power {

// What is known of a value's uncertainty.
struct Interval {
  double low = 0;
  double high = 0;
  // What it is made of, by name: the half width that each part alone would give.
  std::vector<std::pair<std::string_view, double>> components = {};
};

// A key of the aggregate result with its unrounded value.
struct Metric {
  std::string_view key;
  int decimals;  // in the aggregate: the consumer's audits rely on them
  double value;
  std::optional<Interval> interval = {};  // nothing: not known
};
using Metrics = std::vector<Metric>;

// Decimals of a metric in the audit record.
inline constexpr int kAuditDecimals = 6;

// What the seven metrics of schema 2 are made of; contract.md B.5.
struct EnergyTotals {
  double avg_power_w;
  double avg_total_gpu_power_w;
  double total_gpu_energy_j;
  std::int64_t completed;
  std::int64_t total_input_tokens;
  std::int64_t total_output_tokens;
};
Metrics schema_2_metrics(const EnergyTotals& totals);

// The GPUs of one role of a disaggregated deployment.
struct RoleEnergy {
  std::size_t gpus = 0;
  double energy_j = 0;  // in the whole window, whichever phase the role was in
};
// The three metrics of prefill, by input tokens, and the three of decode, by output tokens; none of
// a role without GPUs. Contract.md C.7.
Metrics role_metrics(const RoleEnergy& prefill, const RoleEnergy& decode, double window_s,
                     std::int64_t input_tokens, std::int64_t output_tokens);

// What a deployment of several nodes drew.
struct DeploymentEnergy {
  double energy_j = 0;
  std::size_t gpus = 0;
  RoleEnergy prefill = {};
  RoleEnergy decode = {};
};
// Those of schema 2, then those of the roles.
Metrics deployment_metrics(const DeploymentEnergy& energy, const Load& load);

// The three metrics of schema 1; contract.md A.2. The energy is mean power x GPUs x the reported
// duration.
Metrics schema_1_metrics(double avg_power_w, std::size_t gpus, double reported_duration_s,
                         std::int64_t input_tokens, std::int64_t output_tokens);

// The keys of those that are too large for a number.
std::vector<std::string_view> not_finite(const Metrics& metrics);
// Nothing where it is not among them.
std::optional<double> value_of(const Metrics& metrics, std::string_view key);

// Every metric key that some tool may have left in an aggregate, ours or not: the seven and the
// six of prefill and decode roles.
std::vector<std::string_view> all_metric_keys();

// round(value, decimals) as Python does it: correctly rounded from the exact binary value, ties to
// even.
double rounded(double value, int decimals);

}  // namespace aggregate_power
