// Compares readings one and two windows apart.
#include "energy/uncertainty/random_walk.h"

#include <cmath>
#include <limits>
#include <utility>

#include "core/energy/curve.h"
#include "core/energy/recording_summary.h"

namespace aggregate_power {
namespace {

// Of readings that show a jump.
constexpr double kCommonShare = 0.06;

// Readings in time order, as means that ended within age_s before end_unix_s.
struct PlacedSeries {
  std::span<const PlacedReading> readings;

  std::size_t size() const { return readings.size(); }
  double watts(std::size_t i) const { return readings[i].watts; }
  double end_unix_s(std::size_t i) const { return readings[i].end_unix_s; }
  double age_s(std::size_t i) const { return readings[i].age_s; }
};

struct MomentSeries {
  std::span<const Sample> samples;

  std::size_t size() const { return samples.size(); }
  double watts(std::size_t i) const { return samples[i].watts; }
  double end_unix_s(std::size_t i) const { return samples[i].unix_s; }
  double age_s(std::size_t) const { return 0; }
};

// Readings that are next to each other in a regular recording.
struct Lag {
  std::size_t readings = 1;
  double seconds = 0;
};

// The median time between two readings.
double period_s_of(std::span<const PlacedReading> readings) {
  if (readings.size() < 2) return 0;
  const auto gap_s = [&](std::size_t i) {
    return readings[i + 1].end_unix_s - readings[i].end_unix_s;
  };
  return quantile_of_many(readings.size() - 1, gap_s, 0.5);
}

// The shortest lag at which two readings share no time.
Lag lag_of(double period_s, double window_s) {
  if (!(period_s > 0)) return {};
  const double count = std::max(1.0, std::round(window_s / period_s));
  return {static_cast<std::size_t>(count), count * period_s};
}

// The changes of readings over a lag. Few blocks of them have a jump: of the others, the sums are
// enough.
template <typename Series>
class SeriesChanges {
 public:
  static constexpr std::size_t kChangeBlock = 64;
  struct ChangeBlock {
    double largest_w = 0;
    double squares_w2 = 0;
  };

  SeriesChanges(const Series& series, std::size_t lag)
      : series_(series), lag_(lag), size_(series.size() - std::min(series.size(), lag)) {
    blocks_.reserve(size_ / kChangeBlock + 1);
    for (std::size_t first = 0; first < size_; first += kChangeBlock) {
      blocks_.push_back(block_of(first));
    }
  }

  std::size_t size() const { return size_; }
  std::size_t lag() const { return lag_; }
  double operator[](std::size_t i) const { return series_.watts(i + lag_) - series_.watts(i); }
  // The block that begins with a change, and where it ends.
  const ChangeBlock& block_at(std::size_t first) const { return blocks_[first / kChangeBlock]; }
  std::size_t end_of(std::size_t first) const { return std::min(first + kChangeBlock, size_); }

 private:
  ChangeBlock block_of(std::size_t first) const {
    const std::size_t end = end_of(first);
    Pair largest_w = {};
    Pair even_w2 = {};
    Pair odd_w2 = {};
    const auto add = [&](Pair changes_w, Pair& squares_w2) {
      largest_w = larger_of(larger_of(changes_w, -changes_w), largest_w);
      squares_w2 += changes_w * changes_w;
    };
    for (; first + 4 <= end; first += 4) {
      add(Pair{(*this)[first], (*this)[first + 1]}, even_w2);
      add(Pair{(*this)[first + 2], (*this)[first + 3]}, odd_w2);
    }
    for (; first < end; ++first) add(Pair{(*this)[first], 0}, even_w2);
    return {std::max(largest_w[0], largest_w[1]),
            (even_w2[0] + even_w2[1]) + (odd_w2[0] + odd_w2[1])};
  }

  const Series& series_;
  std::size_t lag_;
  std::size_t size_;
  std::vector<ChangeBlock> blocks_;
};

// Half the mean square of changes that are no jumps.
struct StillChanges {
  double half_square_w2 = 0;
  double largest_w = 0;                                           // of them
  double least_jump_w = std::numeric_limits<double>::infinity();  // of the others

  // Whether this limit leaves out the same.
  bool is_that_below(double limit_w) const {
    return largest_w <= limit_w && limit_w < least_jump_w;
  }
};

template <typename Series>
StillChanges changes_below(const SeriesChanges<Series>& changes, double limit_w) {
  StillChanges found;
  std::size_t jumps = 0;
  double sum_w2 = 0;
  for (std::size_t first = 0; first < changes.size(); first = changes.end_of(first)) {
    const auto& block = changes.block_at(first);
    if (block.largest_w <= limit_w) {
      found.largest_w = std::max(found.largest_w, block.largest_w);
      sum_w2 += block.squares_w2;
      continue;
    }
    for (std::size_t i = first; i < changes.end_of(first); ++i) {
      const double change_w = std::abs(changes[i]);
      if (change_w > limit_w) {
        ++jumps;
        found.least_jump_w = std::min(found.least_jump_w, change_w);
      } else {
        found.largest_w = std::max(found.largest_w, change_w);
        sum_w2 += change_w * change_w;
      }
    }
  }
  if (changes.size() > jumps) {
    found.half_square_w2 = sum_w2 / static_cast<double>(changes.size() - jumps) / 2;
  }
  return found;
}

template <typename Series>
double half_mean_square(const SeriesChanges<Series>& changes, double limit_w) {
  return changes_below(changes, limit_w).half_square_w2;
}

struct JumpLimit {
  double watts = 0;
  StillChanges still;  // below it
};

// Jumps are left out of the scale by which they are recognized.
template <typename Series>
JumpLimit jump_limit(const SeriesChanges<Series>& changes) {
  constexpr double kMedianOfNormal = 0.6745;
  const auto size = [&](std::size_t i) { return std::abs(changes[i]); };
  JumpLimit limit = {kJumpSigmas * quantile_of_many(changes.size(), size, 0.5) / kMedianOfNormal,
                     {}};
  limit.still = changes_below(changes, limit.watts);
  for (int pass = 0; pass < 3; ++pass) {
    limit.watts = kJumpSigmas * std::sqrt(2 * limit.still.half_square_w2);
    if (!limit.still.is_that_below(limit.watts)) limit.still = changes_below(changes, limit.watts);
  }
  return limit;
}

template <typename Series>
std::vector<PowerJump> find_jumps(const Series& series, const SeriesChanges<Series>& changes,
                                  double limit_w) {
  std::vector<PowerJump> jumps;
  bool was_jump = false;
  for (std::size_t first = 0; first < changes.size(); first = changes.end_of(first)) {
    if (changes.block_at(first).largest_w <= limit_w) {
      was_jump = false;
      continue;
    }
    for (std::size_t i = first; i < changes.end_of(first); ++i) {
      const double change_w = changes[i];
      const bool is_jump = std::abs(change_w) > limit_w;
      // The first reading that shows a change covers it; later ones of the same sign go on with it.
      if (is_jump && !(was_jump && jumps.back().height_w * change_w > 0)) {
        const std::size_t shown = i + changes.lag();
        const double from_unix_s = series.end_unix_s(shown - 1) - series.age_s(shown - 1);
        jumps.push_back({from_unix_s, series.end_unix_s(shown), change_w});
      } else if (is_jump && std::abs(change_w) > std::abs(jumps.back().height_w)) {
        jumps.back().height_w = change_w;
      }
      was_jump = is_jump;
    }
  }
  return jumps;
}

// The fast part from neighbours whose windows overlap: a load in step with the window shows only
// there. Half their mean squared difference is fast * L / W^2 + walk * L^2 / (2 W).
template <typename Series>
double overlapping_fast_w2_s(const Series& series, double window_s, double walk_w2_per_s) {
  const SeriesChanges<Series> changes(series, 1);
  const double half_w2 = jump_limit(changes).still.half_square_w2;
  const double lag_s = (series.end_unix_s(series.size() - 1) - series.end_unix_s(0)) /
                       static_cast<double>(changes.size());
  const double walked_w2 = walk_w2_per_s * lag_s * lag_s / (2 * window_s);
  return window_s * window_s / lag_s * std::max(0.0, half_w2 - walked_w2);
}

template <typename Series>
PaceFinding pace_of(const Series& series, double period_s, double window_s) {
  const Lag lag = lag_of(period_s, window_s);
  const SeriesChanges<Series> near(series, lag.readings);
  const SeriesChanges<Series> far(series, 2 * lag.readings);
  const double level_w = sum_of(0, series.size(), [&](std::size_t i) { return series.watts(i); }) /
                         static_cast<double>(std::max<std::size_t>(1, series.size()));

  const JumpLimit usual = jump_limit(near);
  double limit = std::max(usual.watts, 0.03 * level_w);
  PaceFinding finding;
  finding.jumps = find_jumps(series, near, limit);
  finding.has_jumps = !finding.jumps.empty();
  // Where jumps are common they are the pace.
  const double jumping = static_cast<double>(finding.jumps.size() * lag.readings);
  if (finding.jumps.size() > 3 && jumping > kCommonShare * static_cast<double>(near.size())) {
    finding.jumps.clear();
    limit = std::numeric_limits<double>::infinity();
  }
  const double near_w2 =
      usual.still.is_that_below(limit) ? usual.still.half_square_w2 : half_mean_square(near, limit);
  const double far_w2 = std::max(near_w2, half_mean_square(far, limit * std::sqrt(2.0)));
  const double lag_s = std::max(lag.seconds, 1e-3);
  double walk = 2 * (far_w2 - near_w2) / lag_s;
  // Never quite still: a walk of 0.3 % of the level in a second.
  walk = std::max({walk, 0.1 * near_w2 / lag_s, std::pow(0.003 * level_w, 2)});
  const double walked_w2 = walk * std::max(0.0, lag_s - window_s / 3) / 2;
  // Averages hide what is fast: 2 % of the level over a tenth of a second at least.
  const double hidden = std::pow(0.007 * level_w, 2) * 0.1;
  finding.pace = {walk, std::max(hidden, window_s * (near_w2 - walked_w2))};
  if (lag.readings > 1) {
    finding.pace.fast_w2_s =
        std::max(finding.pace.fast_w2_s, overlapping_fast_w2_s(series, window_s, walk));
  }
  return finding;
}

}  // namespace

PaceFinding find_pace(std::span<const PlacedReading> readings, double window_s) {
  return pace_of(PlacedSeries{readings}, period_s_of(readings), window_s);
}

PaceFinding find_moment_pace(std::span<const Sample> moments, double period_s) {
  return pace_of(MomentSeries{moments}, period_s, 0);
}

// ---- Finds the new readings.

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
  const double median_s = quantile_of_many(samples.size() - 1, gap_s, 0.5);
  return median_s > 0 ? median_s : mean_step_s(samples);
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

// ---- Correlates readings with earlier ones.

namespace {

constexpr std::size_t kMostLags = 300;

// Sums of products of deviations from the mean.
struct NearProducts {
  double squares_w2 = 0;
  double neighbours_w2 = 0;
};

NearProducts near_products(std::span<const Sample> samples, double mean_w) {
  double before_w = samples[0].watts - mean_w;
  NearProducts odd = {before_w * before_w, 0};
  NearProducts even;
  std::size_t i = 1;
  for (; i + 2 <= samples.size(); i += 2) {
    const double one_w = samples[i].watts - mean_w;
    const double other_w = samples[i + 1].watts - mean_w;
    odd.squares_w2 += one_w * one_w;
    even.squares_w2 += other_w * other_w;
    odd.neighbours_w2 += before_w * one_w;
    even.neighbours_w2 += one_w * other_w;
    before_w = other_w;
  }
  if (i < samples.size()) {
    const double last_w = samples[i].watts - mean_w;
    odd.squares_w2 += last_w * last_w;
    odd.neighbours_w2 += before_w * last_w;
  }
  return {odd.squares_w2 + even.squares_w2, odd.neighbours_w2 + even.neighbours_w2};
}

// The difference of readings at equal intervals from the straight line that fits them.
void remove_trend(std::span<Sample> samples) {
  const double count = static_cast<double>(samples.size());
  const double middle = (count - 1) / 2;
  const double mean_w =
      sum_of(0, samples.size(), [&](std::size_t i) { return samples[i].watts; }) / count;
  const double products = sum_of(0, samples.size(), [&](std::size_t i) {
    return (static_cast<double>(i) - middle) * samples[i].watts;
  });
  const double slope_w = 12 * products / (count * (count * count - 1));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].watts -= mean_w + (static_cast<double>(i) - middle) * slope_w;
  }
}

}  // namespace

Scatter scatter_around_trend(std::span<const Sample> samples) {
  constexpr std::size_t kStretch = 64;
  std::vector<Sample> rest(samples.begin(), samples.end());
  const std::size_t stretches = std::max<std::size_t>(1, rest.size() / kStretch);
  if (rest.size() >= 3) {
    for (std::size_t i = 0; i < stretches; ++i) {
      const std::size_t first = i * rest.size() / stretches;
      const std::size_t end = (i + 1) * rest.size() / stretches;
      remove_trend(std::span(rest).subspan(first, end - first));
    }
  }
  return scatter_of(rest);
}

Scatter scatter_of(std::span<const Sample> samples) {
  Scatter scatter;
  scatter.readings = samples.size();
  if (samples.size() < 3) return scatter;
  const double count = static_cast<double>(samples.size());
  const double mean_w =
      sum_of(0, samples.size(), [&](std::size_t i) { return samples[i].watts; }) / count;
  const auto product = [&](std::size_t lag) {
    return sum_of(lag, samples.size(), [&](std::size_t i) {
      return (samples[i].watts - mean_w) * (samples[i - lag].watts - mean_w);
    });
  };
  const NearProducts near = near_products(samples, mean_w);
  scatter.variance_w2 = near.squares_w2 / (count - 1);
  if (!(scatter.variance_w2 > 0)) return scatter;
  for (std::size_t lag = 1; lag < std::min(samples.size() / 4, kMostLags); ++lag) {
    const double product_w2 = lag == 1 ? near.neighbours_w2 : product(lag);
    const double correlation = product_w2 / near.squares_w2;
    if (correlation < 0.05) break;
    scatter.alike += 2 * correlation;
  }
  return scatter;
}

}  // namespace aggregate_power
