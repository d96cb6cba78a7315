// Energy to the numbers that are published: one table row per metric.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace aggregate_power {

// A key of the aggregate result with its unrounded value.
struct Metric {
  std::string_view key;
  int decimals;  // in the aggregate: the consumer's audits rely on them
  double value;
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

// The three metrics of schema 1; contract.md A.2. The energy is mean power x GPUs x the reported
// duration.
Metrics schema_1_metrics(double avg_power_w, std::size_t gpus, double reported_duration_s,
                         std::int64_t input_tokens, std::int64_t output_tokens);

// Every metric key that some tool may have left in an aggregate, ours or not: the seven and the
// six of prefill and decode roles.
std::vector<std::string_view> all_metric_keys();

// round(value, decimals) as Python does it: correctly rounded from the exact binary value, ties to
// even.
double rounded(double value, int decimals);

}  // namespace aggregate_power
