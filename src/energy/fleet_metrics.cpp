// The power of all GPUs together, and their states, to metrics.
#include "energy/fleet_metrics.h"

#include <cmath>

namespace aggregate_power {
namespace {

constexpr int kDecimals = 3;

}  // namespace

Metrics percentile_metrics(const FleetPower& power, std::size_t gpus) {
  const double p75_w = power.quantile_w(0.75);
  const double p90_w = power.quantile_w(0.9);
  const auto count = static_cast<double>(gpus);
  return {{"p75_power_w", kDecimals, p75_w / count},
          {"p75_total_gpu_power_w", kDecimals, p75_w},
          {"p90_power_w", kDecimals, p90_w / count},
          {"p90_total_gpu_power_w", kDecimals, p90_w}};
}

Metrics fleet_metrics(const FleetMeasurement& fleet, std::size_t gpus) {
  Metrics metrics;
  if (fleet.power) metrics = percentile_metrics(*fleet.power, gpus);
  const auto state = [&](GpuQuantity quantity) {
    const auto& found = fleet.states[static_cast<std::size_t>(quantity)];
    return found && found->gpus == gpus ? found : std::nullopt;
  };
  if (const auto temperature = state(GpuQuantity::temperature_c)) {
    metrics.push_back({"avg_temp_c", kDecimals, temperature->mean});
    if (std::isfinite(temperature->peak)) {
      metrics.push_back({"peak_temp_c", kDecimals, temperature->peak});
    }
  }
  if (const auto utilization = state(GpuQuantity::utilization_pct)) {
    metrics.push_back({"avg_util_pct", kDecimals, utilization->mean});
  }
  if (const auto memory = state(GpuQuantity::memory_used_mb)) {
    metrics.push_back({"avg_mem_used_mb", kDecimals, memory->mean});
  }
  // They are extras: one that is too large for a number voids nothing.
  std::erase_if(metrics, [](const Metric& metric) { return !std::isfinite(metric.value); });
  return metrics;
}

}  // namespace aggregate_power
