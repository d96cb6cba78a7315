// Which readings of a sensor are new, and over which stretch of time each is a mean. Pure
// arithmetic.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"
#include "core/telemetry/samples.h"
#include "energy/uncertainty/sensor_model.h"

namespace aggregate_power {

// The mean power over a stretch of the sensor's window_s that ended between end_unix_s - age_s and
// end_unix_s; nobody knows when.
struct PlacedReading {
  double watts = 0;
  double end_unix_s = 0;
  double age_s = 0;
};

// Of readings in time order with stamps of asking. A sensor asked faster than it refreshes repeats
// its value: then only readings that differ from the one before are new, and one for each refresh
// without a change.
std::vector<PlacedReading> place_readings(std::span<const Sample> samples,
                                          const SensorModel& sensor);

// Those inside a window, of readings in order of `time`; where there are only a few, the nearest
// ones too.
template <typename Timed>
std::span<const Timed> at_least_near(std::span<const Timed> readings, Window window,
                                     double Timed::*time) {
  constexpr std::ptrdiff_t kFewest = 3;
  constexpr std::ptrdiff_t kWanted = 10;
  auto first = std::ranges::lower_bound(readings, window.start_unix_s, {}, time);
  auto end = std::ranges::upper_bound(readings, window.end_unix_s, {}, time);
  if (end - first >= kFewest) return {first, end};
  while (end - first < kWanted && (first != readings.begin() || end != readings.end())) {
    const bool is_before_nearer =
        end == readings.end() ||
        (first != readings.begin() &&
         window.start_unix_s - (*(first - 1)).*time <= (*end).*time - window.end_unix_s);
    is_before_nearer ? static_cast<void>(--first) : static_cast<void>(++end);
  }
  return {first, end};
}

// The median time between two stamps; 0 if there are fewer than two.
double median_period_s(std::span<const Sample> samples);

// How often a sensor gave a new value: nothing shorter can be told apart.
// The median time between two changes of the value; the whole recording if it changed less than
// twice. `samples` are sorted. A recorder that samples less often than the sensor changes gives its
// own period: more the recording cannot show.
double sensor_period_s(std::span<const Sample> samples);

}  // namespace aggregate_power
