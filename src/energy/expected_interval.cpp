// One line for each component.
#include "energy/expected_interval.h"

#include <algorithm>
#include <cmath>

#include "energy/sensor_energy.h"

namespace aggregate_power {
namespace {

template <typename Of>
double worst(std::span<const SensorModel> sensors, Of of) {
  double most = 0;
  for (const SensorModel& sensor : sensors) most = std::max(most, of(sensor));
  return most;
}

double not_seen_share(const SensorModel& sensor, double period_s) {
  if (sensor.sees_moments(period_s)) return kInStepShare * (1 - sensor.window_s / period_s);
  return sensor.is_part_time() ? kPartTimeShare : 0;
}

double between_share(const SensorModel& sensor, const RunToExpect& run) {
  if (sensor.sees_moments(run.period_s)) return 0;
  return between_windows_share(sensor, run.period_s, run.deviation_w / run.load_w);
}

// Of the mean age of what a reading shows.
double delay_deviation_s(std::span<const SensorModel> sensors) {
  const auto delay_s = [](const SensorModel& sensor) {
    return sensor.delay_s + (sensor.refresh_s + sensor.window_s) / 2;
  };
  const auto count = static_cast<double>(sensors.size());
  double mean_s = 0;
  for (const SensorModel& sensor : sensors) mean_s += delay_s(sensor) / count;
  double variance_s2 = 0;
  for (const SensorModel& sensor : sensors) {
    variance_s2 += std::pow(delay_s(sensor) - mean_s, 2) / count;
  }
  return std::sqrt(variance_s2);
}

}  // namespace

double ExpectedInterval::standard() const {
  double squares = 0;
  for (const ExpectedComponent& component : components) {
    squares += component.relative * component.relative;
  }
  return std::sqrt(squares);
}

double ExpectedInterval::half_width() const { return 1.96 * standard(); }

ExpectedInterval expected_interval(const RunToExpect& run, std::span<const SensorModel> sensors,
                                   const SensorAccuracy& accuracy) {
  const double gpus = static_cast<double>(run.gpus);
  const double gain_share = std::abs(run.load_w - accuracy.pivot_w) / run.load_w;
  const double readings = std::max(1.0, gpus * run.window_s / run.period_s);
  const double rise = std::max(0.0, run.load_w - run.idle_w) / run.load_w;
  const double edge_s =
      worst(sensors, [&](const auto& sensor) { return std::max(sensor.window_s, run.period_s); });
  return {
      {{"shared gain", accuracy.shared_gain * gain_share},
       {"gain", accuracy.each_gain * gain_share / std::sqrt(gpus)},
       {"offset", accuracy.offset_w / run.load_w / std::sqrt(gpus)},
       {"sampling", run.deviation_w / run.load_w / std::sqrt(readings)},
       {"edges", rise * edge_s / run.window_s / std::sqrt(6.0)},
       {"time not seen",
        worst(sensors, [&](const auto& sensor) { return not_seen_share(sensor, run.period_s); })},
       {"time between windows",
        worst(sensors, [&](const auto& sensor) { return between_share(sensor, run); })},
       {"unknown sensor", rise * delay_deviation_s(sensors) / run.window_s}}};
}

}  // namespace aggregate_power
