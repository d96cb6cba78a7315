// Energy to the numbers that are published.
#include "aggregate_power/analysis/metrics.h"

#include <array>
#include <charconv>
#include <cmath>

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

constexpr std::string_view kRoleKeys[] = {
    "prefill_gpu_energy_j", "prefill_avg_power_w", "prefill_joules_per_input_token",
    "decode_gpu_energy_j",  "decode_avg_power_w",  "decode_joules_per_output_token",
};

}  // namespace

Metrics schema_2_metrics(const EnergyTotals& totals) {
  Metrics metrics;
  for (const Row& row : kSchema2) metrics.push_back({row.key, row.decimals, row.value(totals)});
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

std::vector<std::string_view> all_metric_keys() {
  std::vector<std::string_view> keys;
  for (const Row& row : kSchema2) keys.push_back(row.key);
  keys.insert(keys.end(), std::begin(kRoleKeys), std::end(kRoleKeys));
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
