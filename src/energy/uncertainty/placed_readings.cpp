// Finds the new readings.
#include "energy/uncertainty/placed_readings.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/energy/quantile.h"

namespace aggregate_power {
namespace {

// A value that is repeated for longer than this share of the refresh is a new one: recorders and
// sensors are not that punctual.
constexpr double kSurelyStale = 0.9;
// Of a window: means that end so close to each other say the same. The work would grow with the
// cube of the rate.
constexpr double kSameOfWindow = 0.02;

}  // namespace

std::vector<PlacedReading> place_readings(std::span<const Sample> samples,
                                          const SensorModel& sensor) {
  std::vector<PlacedReading> placed;
  double newest_unix_s = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    double age_s = sensor.refresh_s;
    if (i > 0 && samples[i].unix_s - newest_unix_s < kSameOfWindow * sensor.window_s) continue;
    if (i > 0) {
      const bool is_change = samples[i].watts != samples[i - 1].watts;
      if (!is_change && samples[i].unix_s - newest_unix_s < kSurelyStale * sensor.refresh_s)
        continue;
      // A value that was not there before is younger than the reading before.
      if (is_change) age_s = std::min(age_s, samples[i].unix_s - samples[i - 1].unix_s);
    }
    newest_unix_s = samples[i].unix_s;
    placed.push_back({samples[i].watts, samples[i].unix_s - sensor.delay_s, age_s});
  }
  return placed;
}

double median_period_s(std::span<const Sample> samples) {
  if (samples.size() < 2) return 0;
  const auto gap_s = [&](std::size_t i) { return samples[i + 1].unix_s - samples[i].unix_s; };
  return quantile_of_many(samples.size() - 1, gap_s, 0.5);
}

double sensor_period_s(std::span<const Sample> samples) {
  std::vector<double> changes;  // when the value became another
  for (std::size_t i = 1; i < samples.size(); ++i) {
    if (samples[i].watts != samples[i - 1].watts) changes.push_back(samples[i].unix_s);
  }
  if (changes.size() < 2) {
    return samples.empty() ? 0 : samples.back().unix_s - samples.front().unix_s;
  }
  for (std::size_t i = 0; i + 1 < changes.size(); ++i) changes[i] = changes[i + 1] - changes[i];
  changes.pop_back();
  return upper_median(std::move(changes));
}

}  // namespace aggregate_power
