// Averages temperature, utilization and memory over a window.
#include "energy/state_mean.h"

#include <algorithm>
#include <cmath>

namespace aggregate_power {

Analysis::Wants StateMean::wants() const {
  Wants wants = integrator_.wants();
  wants.states = quantity_set({quantity_});
  return wants;
}

std::span<const Reading> StateMean::select(const Batch& batch) {
  selected_ = readings_of(quantity_, batch.readings, batch.states, window_);
  return selected_;
}

void StateMean::take(std::span<const Reading> readings) {
  integrator_.take(readings);
  for (const Reading& reading : readings) {
    if (reading.unix_s < window_.start_unix_s || reading.unix_s > window_.end_unix_s) continue;
    peak_ = std::max(peak_, reading.watts);
  }
}

std::optional<StateSummary> StateMean::finish(std::span<const std::string> devices) {
  const Integration integration = integrator_.finish(devices);
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
