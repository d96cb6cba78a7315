// How fast the power behind a sensor's readings moves. Pure arithmetic.
//
// Power is a slow part, a random walk, and a fast part that averages out (white noise). Half the
// mean squared difference of two means over W that are L >= W apart is then
//   g(L) = walk * (L - W/3) / 2 + fast / W.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"
#include "core/telemetry/samples.h"
#include "energy/uncertainty/sensor_table.h"

namespace aggregate_power {

// Which readings of a sensor are new, and over which stretch of time each is a mean. Pure
// arithmetic.

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

// The median time between two stamps, or the mean if most readings share one with the next: the
// recorder stamps more coarsely than it reads. 0 if there are fewer than two readings.
double median_period_s(std::span<const Sample> samples);

// How often a sensor gave a new value: nothing shorter can be told apart.
// The median time between two changes of the value; the whole recording if it changed less than
// twice. `samples` are sorted. A recorder that samples less often than the sensor changes gives its
// own period: more the recording cannot show.
double sensor_period_s(std::span<const Sample> samples);

struct PowerPace {
  double walk_w2_per_s = 0;  // variance of the slow part's change in a second
  double fast_w2_s = 0;      // variance of the fast part's mean over a second
};

// The slow part changed by far more than its pace explains, somewhere in this stretch.
struct PowerJump {
  double from_unix_s = 0;
  double to_unix_s = 0;
  double height_w = 0;  // negative: a fall
};

struct PaceFinding {
  PowerPace pace;
  std::vector<PowerJump> jumps;  // empty where they are so common that they are the pace
  bool has_jumps = false;        // common or not
};

// A change is a jump from so many standard deviations of other changes on.
inline constexpr double kJumpSigmas = 6;

PaceFinding find_pace(std::span<const PlacedReading> readings, double window_s);
// The same of readings that are moments; `period_s` is the median time between two readings.
PaceFinding find_moment_pace(std::span<const Sample> moments, double period_s);

// ---- How readings scatter around their mean. Pure arithmetic.

struct Scatter {
  std::size_t readings = 0;
  double variance_w2 = 0;
  double alike = 1;  // over how many readings they are alike
};

Scatter scatter_of(std::span<const Sample> samples);

// The same around a straight line in each 64 readings: straight lines between readings follow what
// moves so slowly. That a fast load seems to, because it is in step with the readings, has a chance
// of 2 in 100 for any of its periods.
Scatter scatter_around_trend(std::span<const Sample> samples);

}  // namespace aggregate_power
