// The table of metrics.
#include "core/energy/metrics.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text/lists.h"

namespace aggregate_power {
namespace {

constexpr int kPowerDecimals = 3;
constexpr int kRatioDecimals = 6;

using Value = std::optional<double>;  // nullopt: the run has no such metric

// A count that is not known is 0.
Value per(double energy_j, std::int64_t count) {
  return count > 0 ? Value(energy_j / static_cast<double>(count)) : std::nullopt;
}

Value per_token(double energy_j, const Load& load) {
  if (load.total_input_tokens == 0 || load.total_output_tokens == 0) return std::nullopt;
  const std::uint64_t tokens = static_cast<std::uint64_t>(load.total_input_tokens) +
                               static_cast<std::uint64_t>(load.total_output_tokens);
  return energy_j / static_cast<double>(tokens);
}

// The inputs of the rows, each computed once.
struct Totals {
  const MeasuredEnergy& energy;
  const Load& load;
  double window_s;
  double power_w;               // of all GPUs
  std::optional<double> p75_w;  // of the power of all GPUs
  std::optional<double> p90_w;
};

Totals totals_of(const MeasuredEnergy& energy) {
  const double window_s = energy.load.window.duration_s();
  Totals totals{energy, energy.load, window_s, energy.energy_j / window_s, {}, {}};
  if (energy.fleet.power) {
    totals.p75_w = energy.fleet.power->quantile_w(0.75);
    totals.p90_w = energy.fleet.power->quantile_w(0.9);
  }
  return totals;
}

double per_gpu(const Totals& t, double value) { return value / static_cast<double>(t.energy.gpus); }

Value per_gpu(const Totals& t, Value value) {
  return value ? Value(per_gpu(t, *value)) : std::nullopt;
}

Value of_role(const RoleEnergy& role, Value value) { return role.gpus == 0 ? std::nullopt : value; }

double role_power_w(const Totals& t, const RoleEnergy& role) {
  return role.energy_j / t.window_s / static_cast<double>(role.gpus);
}

// A quantity that all GPUs have.
const StateSummary* state(const Totals& t, GpuQuantity quantity) {
  const auto& found = t.energy.fleet.states[static_cast<std::size_t>(quantity)];
  return found && found->gpus == t.energy.gpus ? &*found : nullptr;
}

Value mean(const Totals& t, GpuQuantity quantity) {
  const StateSummary* const found = state(t, quantity);
  return found ? Value(found->mean) : std::nullopt;
}

Value peak(const Totals& t, GpuQuantity quantity) {
  const StateSummary* const found = state(t, quantity);
  return found ? Value(found->peak) : std::nullopt;
}

enum class For { every_run, dashboard };

struct Row {
  std::string_view key;
  int decimals;
  For whom;
  std::string_view schemas;  // those that have it
  std::string_view meaning;
  Value (*value)(const Totals&);
};

constexpr Row kRows[] = {
    {"avg_power_w", kPowerDecimals, For::every_run, "1, 2", "mean power of one GPU",
     [](const Totals& t) { return Value(per_gpu(t, t.power_w)); }},
    {"p75_power_w", kPowerDecimals, For::dashboard, "2",
     "75th percentile of the power of all GPUs together, per GPU",
     [](const Totals& t) { return per_gpu(t, t.p75_w); }},
    {"p75_total_gpu_power_w", kPowerDecimals, For::dashboard, "2", "the same for all GPUs together",
     [](const Totals& t) { return t.p75_w; }},
    {"p90_power_w", kPowerDecimals, For::dashboard, "2",
     "90th percentile of the power of all GPUs together, per GPU",
     [](const Totals& t) { return per_gpu(t, t.p90_w); }},
    {"p90_total_gpu_power_w", kPowerDecimals, For::dashboard, "2", "the same for all GPUs together",
     [](const Totals& t) { return t.p90_w; }},
    {"avg_total_gpu_power_w", kPowerDecimals, For::every_run, "2",
     "mean power of all GPUs together", [](const Totals& t) { return Value(t.power_w); }},
    {"total_gpu_energy_j", kPowerDecimals, For::every_run, "2", "energy of all GPUs in the window",
     [](const Totals& t) { return Value(t.energy.energy_j); }},
    {"joules_per_successful_query", kRatioDecimals, For::every_run, "2", "energy / `completed`",
     [](const Totals& t) { return per(t.energy.energy_j, t.load.completed); }},
    {"joules_per_input_token", kRatioDecimals, For::every_run, "2", "energy / input tokens",
     [](const Totals& t) { return per(t.energy.energy_j, t.load.total_input_tokens); }},
    {"joules_per_output_token", kRatioDecimals, For::every_run, "1, 2", "energy / output tokens",
     [](const Totals& t) { return per(t.energy.energy_j, t.load.total_output_tokens); }},
    {"joules_per_total_token", kRatioDecimals, For::every_run, "1, 2",
     "energy / (input + output tokens)",
     [](const Totals& t) { return per_token(t.energy.energy_j, t.load); }},

    {"prefill_gpu_energy_j", kPowerDecimals, For::every_run, "several nodes",
     "energy of the role's GPUs in the window",
     [](const Totals& t) { return of_role(t.energy.prefill, t.energy.prefill.energy_j); }},
    {"prefill_avg_power_w", kPowerDecimals, For::every_run, "several nodes",
     "mean power of one GPU of the role",
     [](const Totals& t) { return of_role(t.energy.prefill, role_power_w(t, t.energy.prefill)); }},
    {"prefill_joules_per_input_token", kRatioDecimals, For::every_run, "several nodes",
     "prefill's energy / input tokens",
     [](const Totals& t) {
       return of_role(t.energy.prefill, per(t.energy.prefill.energy_j, t.load.total_input_tokens));
     }},
    {"decode_gpu_energy_j", kPowerDecimals, For::every_run, "several nodes",
     "energy of the role's GPUs in the window",
     [](const Totals& t) { return of_role(t.energy.decode, t.energy.decode.energy_j); }},
    {"decode_avg_power_w", kPowerDecimals, For::every_run, "several nodes",
     "mean power of one GPU of the role",
     [](const Totals& t) { return of_role(t.energy.decode, role_power_w(t, t.energy.decode)); }},
    {"decode_joules_per_output_token", kRatioDecimals, For::every_run, "several nodes",
     "decode's energy / output tokens",
     [](const Totals& t) {
       return of_role(t.energy.decode, per(t.energy.decode.energy_j, t.load.total_output_tokens));
     }},

    {"avg_temp_c", kPowerDecimals, For::dashboard, "2", "mean temperature",
     [](const Totals& t) { return mean(t, GpuQuantity::temperature_c); }},
    {"peak_temp_c", kPowerDecimals, For::dashboard, "2", "highest temperature",
     [](const Totals& t) { return peak(t, GpuQuantity::temperature_c); }},
    {"avg_util_pct", kPowerDecimals, For::dashboard, "2", "mean utilization",
     [](const Totals& t) { return mean(t, GpuQuantity::utilization_pct); }},
    {"avg_mem_used_mb", kPowerDecimals, For::dashboard, "2", "mean memory in use",
     [](const Totals& t) { return mean(t, GpuQuantity::memory_used_mb); }},
};

// What is wrong where this metric rounds to 0; nullopt: it may be 0, as a utilization may.
std::optional<Reason> fault_of_zero(std::string_view key) {
  if (key.ends_with("_per_successful_query")) return Reason::invalid_successful_query_count;
  if (key.ends_with("_per_input_token")) return Reason::invalid_input_token_count;
  if (key.ends_with("_token")) return Reason::invalid_output_token_count;
  const bool is_power = key.ends_with("_power_w") || key.ends_with("_energy_j");
  return is_power ? std::optional(Reason::implausible_power) : std::nullopt;
}

std::vector<std::string_view> keys_for(For whom) {
  std::vector<std::string_view> keys;
  for (const Row& row : kRows) {
    if (row.whom == whom) keys.push_back(row.key);
  }
  return keys;
}

}  // namespace

Metrics energy_metrics(const MeasuredEnergy& energy) {
  const Totals totals = totals_of(energy);
  Metrics metrics;
  Metrics of_dashboard;
  for (const Row& row : kRows) {
    const Value value = row.value(totals);
    // The dashboard's metrics are extras: one that is too large for a double invalidates nothing.
    const bool is_wanted = value && (row.whom == For::every_run || std::isfinite(*value));
    if (!is_wanted) continue;
    const bool is_last =
        !rules_of(energy.contract).keeps_order_of_metrics && row.whom == For::dashboard;
    (is_last ? of_dashboard : metrics).push_back({row.key, row.decimals, *value});
  }
  append(metrics, std::move(of_dashboard));
  return metrics;
}

Metrics sample_mean_metrics(double avg_power_w, std::size_t gpus, const Load& load) {
  const double energy_j = avg_power_w * static_cast<double>(gpus) * load.reported_duration_s;
  const auto tokens = static_cast<double>(static_cast<std::uint64_t>(load.total_input_tokens) +
                                          static_cast<std::uint64_t>(load.total_output_tokens));
  return {{"avg_power_w", kPowerDecimals, avg_power_w},
          {"joules_per_output_token", kRatioDecimals,
           energy_j / static_cast<double>(load.total_output_tokens)},
          {"joules_per_total_token", kRatioDecimals, energy_j / tokens}};
}

Reasons zero_metrics(const Metrics& metrics) {
  Reasons reasons;
  for (const Metric& metric : metrics) {
    const auto fault = fault_of_zero(metric.key);
    if (!fault || !(metric.value > 0) || rounded(metric.value, metric.decimals) > 0) continue;
    reasons.add(*fault,
                fmt::format("'{}' is {:.3g}, which no run can have: it would be written as 0.0",
                            metric.key, metric.value));
  }
  return reasons;
}

std::vector<std::string_view> all_metric_keys() { return keys_for(For::every_run); }

std::vector<std::string_view> dashboard_metric_keys() { return keys_for(For::dashboard); }

std::vector<std::string_view> percentile_keys() {
  std::vector<std::string_view> keys = dashboard_metric_keys();
  std::erase_if(keys, [](std::string_view key) { return !key.ends_with("_power_w"); });
  return keys;
}

std::vector<MetricRow> metric_rows() {
  std::vector<MetricRow> rows;
  for (const Row& row : kRows) {
    if (row.whom == For::every_run) {
      rows.push_back({row.key, row.schemas, row.meaning, row.decimals});
    }
  }
  return rows;
}

}  // namespace aggregate_power
