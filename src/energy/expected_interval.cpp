// One line for each component.
#include "energy/expected_interval.h"

#include <algorithm>
#include <cmath>

namespace aggregate_power {

double ExpectedInterval::standard() const {
  double squares = 0;
  for (const ExpectedComponent& component : components) {
    squares += component.relative * component.relative;
  }
  return std::sqrt(squares);
}

double ExpectedInterval::half_width() const { return 1.96 * standard(); }

ExpectedInterval expected_interval(const RunToExpect& run, const SensorModel& sensor,
                                   const SensorAccuracy& accuracy) {
  const double gpus = static_cast<double>(run.gpus);
  const double gain_share = std::abs(run.load_w - accuracy.pivot_w) / run.load_w;
  const double readings = std::max(1.0, gpus * run.window_s / run.period_s);
  const double rise = std::max(0.0, run.load_w - run.idle_w) / run.load_w;
  const double edge_s = std::max(sensor.window_s, run.period_s);
  return {{{"shared gain", accuracy.shared_gain * gain_share},
           {"gain", accuracy.each_gain * gain_share / std::sqrt(gpus)},
           {"offset", accuracy.offset_w / run.load_w / std::sqrt(gpus)},
           {"sampling", run.deviation_w / run.load_w / std::sqrt(readings)},
           {"edges", rise * edge_s / run.window_s / std::sqrt(6.0)}}};
}

}  // namespace aggregate_power
