// How fast the power behind a sensor's readings moves. Pure arithmetic.
//
// Power is a slow part, a random walk, and a fast part that averages out (white noise). Half the
// mean squared difference of two means over W that are L >= W apart is then
//   g(L) = walk * (L - W/3) / 2 + fast / W.
#pragma once

#include <span>
#include <vector>

#include "energy/uncertainty/placed_readings.h"

namespace aggregate_power {

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
  std::vector<PowerJump> jumps;
};

// A change is a jump from so many standard deviations of other changes on.
inline constexpr double kJumpSigmas = 6;

PaceFinding find_pace(std::span<const PlacedReading> readings, double window_s);
// The same of readings that are moments; `period_s` is the median time between two readings.
PaceFinding find_moment_pace(std::span<const Sample> moments, double period_s);

}  // namespace aggregate_power
