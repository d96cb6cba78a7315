// Scales the components of an estimate.
#include "energy/uncertainty/expected_interval.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "energy/uncertainty/placed_readings.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kAtRandom[] = {"sampling_and_edges", "moments_for_means"};
constexpr std::string_view kAtEdges[] = {"window_known", "sensor_window_unknown", "stamp_cut",
                                         "timing", "clock_offset"};

bool is_among(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

double ExpectedInterval::half_width() const {
  double squares = 0;
  for (const Component& part : components) squares += part.joules * part.joules;
  return kCoverageFactor * std::sqrt(squares);
}

ExpectedInterval expected_interval(EstimateQuestion seen, double window_s) {
  const double times_longer = window_s / seen.window.duration_s();
  const EnergyEstimate estimate = estimate_energy(std::move(seen));
  if (!estimate.is_available()) return {estimate.reasons.front(), {}};
  ExpectedInterval expected;
  for (Component part : estimate.total.components) {
    part.joules /= estimate.total.joules;
    if (is_among(part.name, kAtRandom)) part.joules /= std::sqrt(times_longer);
    if (is_among(part.name, kAtEdges)) part.joules /= times_longer;
    expected.components.push_back(std::move(part));
  }
  return expected;
}

Window inside_of_load(Window stretch, const GpuReadings& gpu) {
  constexpr double kLeastPeriods = 5;
  const double period_s = median_period_s(gpu.samples);
  double edge_s = 0;
  for (const SensorModel& sensor : gpu.sensors) {
    edge_s = std::max(edge_s, sensor.window_s + sensor.refresh_s + sensor.delay_s + period_s);
  }
  const Window inside = {stretch.start_unix_s + edge_s, stretch.end_unix_s - edge_s};
  return inside.duration_s() < kLeastPeriods * period_s ? stretch : inside;
}

}  // namespace aggregate_power
