// Compares readings one and two windows apart.
#include "energy/power_pace.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "energy/quantile.h"

namespace aggregate_power {
namespace {

// Of readings that show a jump.
constexpr double kCommonShare = 0.06;

// Readings that are next to each other in a regular recording.
struct Lag {
  std::size_t readings = 1;
  double seconds = 0;
};

// The shortest lag at which two readings share no time.
Lag lag_of(std::span<const PlacedReading> readings, double window_s) {
  std::vector<double> gaps_s;
  for (std::size_t i = 1; i < readings.size(); ++i) {
    gaps_s.push_back(readings[i].end_unix_s - readings[i - 1].end_unix_s);
  }
  const double period_s = quantile_of(gaps_s, 0.5);
  if (!(period_s > 0)) return {};
  const double count = std::max(1.0, std::round(window_s / period_s));
  return {static_cast<std::size_t>(count), count * period_s};
}

std::vector<double> differences(std::span<const PlacedReading> readings, std::size_t lag) {
  std::vector<double> found;
  for (std::size_t i = lag; i < readings.size(); ++i) {
    found.push_back(readings[i].watts - readings[i - lag].watts);
  }
  return found;
}

// Half the mean square of those that are no jumps.
double half_mean_square(const std::vector<double>& values, double largest) {
  double sum = 0;
  std::size_t count = 0;
  for (const double value : values) {
    if (std::abs(value) > largest) continue;
    sum += value * value;
    ++count;
  }
  return count > 0 ? sum / static_cast<double>(count) / 2 : 0;
}

// Jumps are left out of the scale by which they are recognized.
double jump_limit(const std::vector<double>& values) {
  std::vector<double> sizes;
  for (const double value : values) sizes.push_back(std::abs(value));
  constexpr double kMedianOfNormal = 0.6745;
  double limit = kJumpSigmas * quantile_of(sizes, 0.5) / kMedianOfNormal;
  for (int pass = 0; pass < 3; ++pass) {
    limit = kJumpSigmas * std::sqrt(2 * half_mean_square(values, limit));
  }
  return limit;
}

std::vector<PowerJump> find_jumps(std::span<const PlacedReading> readings, std::size_t lag,
                                  double limit) {
  std::vector<PowerJump> jumps;
  bool was_jump = false;
  for (std::size_t i = lag; i < readings.size(); ++i) {
    const double change_w = readings[i].watts - readings[i - lag].watts;
    const bool is_jump = std::abs(change_w) > limit;
    // The first reading that shows a change covers it; later ones of the same sign go on with it.
    if (is_jump && !(was_jump && jumps.back().height_w * change_w > 0)) {
      const PlacedReading& before = readings[i - 1];
      const double from_unix_s = before.end_unix_s - before.age_s;
      jumps.push_back({from_unix_s, readings[i].end_unix_s, change_w});
    } else if (is_jump && std::abs(change_w) > std::abs(jumps.back().height_w)) {
      jumps.back().height_w = change_w;
    }
    was_jump = is_jump;
  }
  return jumps;
}

// The fast part from neighbours whose windows overlap: a load in step with the window shows only
// there. Half their mean squared difference is fast * L / W^2 + walk * L^2 / (2 W).
double overlapping_fast_w2_s(std::span<const PlacedReading> readings, double window_s,
                             double walk_w2_per_s) {
  const std::vector<double> changes = differences(readings, 1);
  const double half_w2 = half_mean_square(changes, jump_limit(changes));
  const double lag_s = (readings.back().end_unix_s - readings.front().end_unix_s) /
                       static_cast<double>(changes.size());
  const double walked_w2 = walk_w2_per_s * lag_s * lag_s / (2 * window_s);
  return window_s * window_s / lag_s * std::max(0.0, half_w2 - walked_w2);
}

}  // namespace

PaceFinding find_pace(std::span<const PlacedReading> readings, double window_s) {
  const Lag lag = lag_of(readings, window_s);
  const std::vector<double> near = differences(readings, lag.readings);
  const std::vector<double> far = differences(readings, 2 * lag.readings);
  double level_w = 0;
  for (const PlacedReading& reading : readings) level_w += reading.watts;
  level_w /= static_cast<double>(std::max<std::size_t>(1, readings.size()));

  double limit = std::max(jump_limit(near), 0.03 * level_w);
  PaceFinding finding;
  finding.jumps = find_jumps(readings, lag.readings, limit);
  // Where jumps are common they are the pace.
  const double jumping = static_cast<double>(finding.jumps.size() * lag.readings);
  if (finding.jumps.size() > 3 && jumping > kCommonShare * static_cast<double>(near.size())) {
    finding.jumps.clear();
    limit = std::numeric_limits<double>::infinity();
  }
  const double near_w2 = half_mean_square(near, limit);
  const double far_w2 = std::max(near_w2, half_mean_square(far, limit * std::sqrt(2.0)));
  const double lag_s = std::max(lag.seconds, 1e-3);
  double walk = 2 * (far_w2 - near_w2) / lag_s;
  // Never quite still: a walk of 0.3 % of the level in a second.
  walk = std::max({walk, 0.1 * near_w2 / lag_s, std::pow(0.003 * level_w, 2)});
  const double walked_w2 = walk * std::max(0.0, lag_s - window_s / 3) / 2;
  // Averages hide what is fast: 2 % of the level over a tenth of a second at least.
  const double hidden = std::pow(0.02 * level_w, 2) * 0.1;
  finding.pace = {walk, std::max(hidden, window_s * (near_w2 - walked_w2))};
  if (lag.readings > 1) {
    finding.pace.fast_w2_s =
        std::max(finding.pace.fast_w2_s, overlapping_fast_w2_s(readings, window_s, walk));
  }
  return finding;
}

}  // namespace aggregate_power
