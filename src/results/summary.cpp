// The line that sums up a valid run.
#include "results/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace aggregate_power {
namespace {

// "avg_power_w=595.00"; a missing metric is 0.
std::string shown(const Result& result, std::string_view key, int decimals = 2) {
  return fmt::format("{}={:.{}f}", key, value_of(result.metrics, key).value_or(0), decimals);
}

std::string sample_mean_line(const Result& result) {
  return fmt::format("{} (per GPU, n={}) {} {} duration={:.1f}s output_tokens={} input_tokens={}",
                     shown(result, "avg_power_w"), result.metric_gpus,
                     shown(result, "joules_per_output_token", 4),
                     shown(result, "joules_per_total_token", 4), result.load->reported_duration_s,
                     result.load->total_output_tokens, result.load->total_input_tokens);
}

std::string one_node_line(const Result& result) {
  return fmt::format("{} {} {} (n={})", shown(result, "avg_power_w"),
                     shown(result, "avg_total_gpu_power_w"), shown(result, "total_gpu_energy_j"),
                     result.metric_gpus);
}

std::string deployment_line(const Result& result) {
  std::string line =
      fmt::format("{} {}", shown(result, "avg_power_w"), shown(result, "total_gpu_energy_j"));
  const bool has_roles = value_of(result.metrics, "prefill_gpu_energy_j") ||
                         value_of(result.metrics, "decode_gpu_energy_j");
  if (has_roles || result.way == Way::package) {
    line += fmt::format(" {} {}", shown(result, "prefill_gpu_energy_j"),
                        shown(result, "decode_gpu_energy_j"));
  }
  return fmt::format("{} (n={})", line, result.metric_gpus);
}

}  // namespace

std::string cpu_line(const CpuPower& cpu) {
  const auto number = [&](std::string_view key) { return value_of(cpu.metrics, key).value_or(0); };
  return fmt::format(
      "cpu_power_valid={} sensor_kind={} avg_total_cpu_power_w={:.2f} total_cpu_energy_j={:.2f} reasons={}",
      cpu.reasons.empty() ? 1 : 0, cpu.sensor ? name(*cpu.sensor) : "None",
      number("avg_total_cpu_power_w"), number("total_cpu_energy_j"),
      cpu.reasons.empty() ? "-" : fmt::format("{}", fmt::join(cpu.reasons.codes(), ",")));
}

std::string success_line(const Result& result, const std::string& aggregate) {
  const bool is_node = result.way == Way::one_node;
  const std::string ratios =
      is_node ? fmt::format(" {} {}", shown(result, "joules_per_output_token", 4),
                            shown(result, "joules_per_total_token", 4))
              : std::string();
  const std::string line = result.way == Way::sample_mean ? sample_mean_line(result)
                           : is_node                      ? one_node_line(result)
                                                          : deployment_line(result);
  return fmt::format("{} -> {}{}", line, aggregate, ratios);
}

}  // namespace aggregate_power
