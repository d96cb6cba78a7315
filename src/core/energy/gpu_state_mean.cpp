// Averages temperature, utilization and memory over a window.
#include "core/energy/gpu_state_mean.h"

#include <algorithm>
#include <cmath>

namespace aggregate_power {

void StateMean::take(const Batch& batch) {
  take(readings_of(quantity_, batch.readings, batch.states, options_.window));
}

void StateMean::take(std::span<const Reading> readings) {
  rows_.take(readings);
  samples_.take(readings);
  for (const Reading& reading : readings) {
    if (options_.window.contains(reading.unix_s)) peak_ = std::max(peak_, reading.watts);
  }
}

void StateMean::integrate() {
  samples_.sort();
  integrator_.take(samples_);
  samples_.clear();
}

std::optional<StateSummary> StateMean::finish(std::span<const std::string> devices) {
  integrate();
  const Integration integration = integrator_.finish(rows_, devices);
  if (!integration.reasons.empty()) return std::nullopt;
  return StateSummary{*integration.avg_power_w, peak_, integration.gpus.size()};
}

std::vector<Reading> readings_of(GpuQuantity quantity, std::span<const Reading> readings,
                                 const RowStates& states, Window window) {
  std::vector<Reading> found;
  if (states.empty()) return found;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const double value = states[i][quantity];
    if (readings[i].kind != Reading::Kind::power || std::isnan(value)) continue;
    if (!states_power(readings[i], window)) continue;
    found.push_back(readings[i]);
    found.back().watts = value;
  }
  return found;
}

}  // namespace aggregate_power
