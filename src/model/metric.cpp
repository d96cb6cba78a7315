// Energy to the numbers that are published.
#include "aggregate_power/metric.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>

namespace aggregate_power {
namespace {

constexpr int kPowerDecimals = 3;
constexpr int kRatioDecimals = 6;

double per(double energy_j, std::int64_t count) { return energy_j / static_cast<double>(count); }

struct Row {
  std::string_view key;
  int decimals;
  double (*value)(const EnergyTotals&);
};

constexpr Row kSchema2[] = {
    {"avg_power_w", kPowerDecimals, [](const EnergyTotals& t) { return t.avg_power_w; }},
    {"avg_total_gpu_power_w", kPowerDecimals,
     [](const EnergyTotals& t) { return t.avg_total_gpu_power_w; }},
    {"total_gpu_energy_j", kPowerDecimals,
     [](const EnergyTotals& t) { return t.total_gpu_energy_j; }},
    {"joules_per_successful_query", kRatioDecimals,
     [](const EnergyTotals& t) { return per(t.total_gpu_energy_j, t.completed); }},
    {"joules_per_input_token", kRatioDecimals,
     [](const EnergyTotals& t) { return per(t.total_gpu_energy_j, t.total_input_tokens); }},
    {"joules_per_output_token", kRatioDecimals,
     [](const EnergyTotals& t) { return per(t.total_gpu_energy_j, t.total_output_tokens); }},
    {"joules_per_total_token", kRatioDecimals,
     [](const EnergyTotals& t) {
       const std::uint64_t tokens = static_cast<std::uint64_t>(t.total_input_tokens) +
                                    static_cast<std::uint64_t>(t.total_output_tokens);
       return t.total_gpu_energy_j / static_cast<double>(tokens);
     }},
};

struct RoleKeys {
  std::string_view energy;
  std::string_view power;
  std::string_view per_token;
};

constexpr RoleKeys kPrefill = {"prefill_gpu_energy_j", "prefill_avg_power_w",
                               "prefill_joules_per_input_token"};
constexpr RoleKeys kDecode = {"decode_gpu_energy_j", "decode_avg_power_w",
                              "decode_joules_per_output_token"};

void add_role(Metrics& metrics, const RoleKeys& keys, const RoleEnergy& role, double window_s,
              std::int64_t tokens) {
  if (role.gpus == 0) return;
  const double power_w = role.energy_j / window_s / static_cast<double>(role.gpus);
  metrics.push_back({keys.energy, kPowerDecimals, role.energy_j});
  metrics.push_back({keys.power, kPowerDecimals, power_w});
  metrics.push_back({keys.per_token, kRatioDecimals, per(role.energy_j, tokens)});
}

}  // namespace

Metrics schema_2_metrics(const EnergyTotals& totals) {
  Metrics metrics;
  for (const Row& row : kSchema2) metrics.push_back({row.key, row.decimals, row.value(totals)});
  return metrics;
}

Metrics role_metrics(const RoleEnergy& prefill, const RoleEnergy& decode, double window_s,
                     std::int64_t input_tokens, std::int64_t output_tokens) {
  Metrics metrics;
  add_role(metrics, kPrefill, prefill, window_s, input_tokens);
  add_role(metrics, kDecode, decode, window_s, output_tokens);
  return metrics;
}

Metrics deployment_metrics(const DeploymentEnergy& energy, const Load& load) {
  const double window_s = load.window.duration_s();
  const double power_w = energy.energy_j / window_s;
  Metrics metrics =
      schema_2_metrics({power_w / static_cast<double>(energy.gpus), power_w, energy.energy_j,
                        load.completed, load.total_input_tokens, load.total_output_tokens});
  std::ranges::copy(role_metrics(energy.prefill, energy.decode, window_s, load.total_input_tokens,
                                 load.total_output_tokens),
                    std::back_inserter(metrics));
  return metrics;
}

Metrics schema_1_metrics(double avg_power_w, std::size_t gpus, double reported_duration_s,
                         std::int64_t input_tokens, std::int64_t output_tokens) {
  const double energy_j = avg_power_w * static_cast<double>(gpus) * reported_duration_s;
  const std::uint64_t tokens =
      static_cast<std::uint64_t>(input_tokens) + static_cast<std::uint64_t>(output_tokens);
  return {{"avg_power_w", kPowerDecimals, avg_power_w},
          {"joules_per_output_token", kRatioDecimals, per(energy_j, output_tokens)},
          {"joules_per_total_token", kRatioDecimals, energy_j / static_cast<double>(tokens)}};
}

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

std::vector<std::string_view> all_metric_keys() {
  std::vector<std::string_view> keys;
  for (const Row& row : kSchema2) keys.push_back(row.key);
  for (const RoleKeys& role : {kPrefill, kDecode}) {
    keys.insert(keys.end(), {role.energy, role.power, role.per_token});
  }
  return keys;
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
