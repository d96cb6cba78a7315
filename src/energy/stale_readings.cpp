// Looks at when values change, by how much, and how straight they are in between.
#include "energy/stale_readings.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "energy/quantile.h"

namespace aggregate_power::energy {
namespace {

constexpr std::size_t kFewestFresh = 5;
constexpr double kMostRepeat = 0.55;  // changes per sample
constexpr double kRegular = 0.9;      // of the times between changes

// Samples that follow each other with one value.
struct Hold {
  double watts = 0;
  double first_unix_s = 0;
  double last_unix_s = 0;
};

// Rows of one time are of several processes.
std::vector<Sample> one_of_each_time(std::span<const Sample> samples) {
  std::vector<Sample> times;
  std::ranges::unique_copy(samples, std::back_inserter(times), {}, &Sample::unix_s);
  return times;
}

std::vector<Hold> holds_of(std::span<const Sample> samples) {
  std::vector<Hold> holds;
  for (const Sample& sample : samples) {
    if (holds.empty() || holds.back().watts != sample.watts) {
      holds.push_back({sample.watts, sample.unix_s, sample.unix_s});
    }
    holds.back().last_unix_s = sample.unix_s;
  }
  return holds;
}

double middle_of(std::vector<double> values) { return quantile_of(std::move(values), 0.5); }

// The usual time between samples: a recorder may have been away.
double usual_step_s(std::span<const Sample> samples) {
  std::vector<double> steps_s;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    steps_s.push_back(samples[i].unix_s - samples[i - 1].unix_s);
  }
  return middle_of(std::move(steps_s));
}

bool hold_values(std::span<const Hold> holds, std::size_t samples) {
  const double changes = static_cast<double>(holds.size()) - 1;
  return changes <= kMostRepeat * static_cast<double>(samples);
}

std::vector<double> different_values(std::span<const Hold> holds) {
  std::vector<double> values;
  for (const Hold& hold : holds) values.push_back(hold.watts);
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::vector<double> steps_between(std::span<const Hold> holds) {
  std::vector<double> steps_w;
  for (std::size_t i = 1; i < holds.size(); ++i) {
    steps_w.push_back(std::abs(holds[i].watts - holds[i - 1].watts));
  }
  return steps_w;
}

// An idle GPU may draw the same again.
std::size_t returns_to_idle(std::span<const Hold> holds) {
  const double least_w = std::ranges::min(holds, {}, &Hold::watts).watts;
  return static_cast<std::size_t>(std::ranges::count(holds, least_w, &Hold::watts)) - 1;
}

// Whether most changes are of the last digit: then a rounded value wavers, or drifts.
bool are_last_digits(std::span<const Hold> holds) {
  constexpr double kLastDigit = 0.1;  // of the highest value, at most
  const std::vector<double> steps_w = steps_between(holds);
  const double least_w = std::ranges::min(steps_w);
  if (least_w > kLastDigit * std::ranges::max(holds, {}, &Hold::watts).watts) return false;
  const auto small =
      std::ranges::count_if(steps_w, [&](double step_w) { return step_w < 1.5 * least_w; });
  return 2 * static_cast<std::size_t>(small) > steps_w.size();
}

bool is_multiple(double watts, double of_w) {
  return std::abs(std::remainder(watts, of_w)) < 1e-6 * std::max(1.0, of_w);
}

// What all readings are multiples of.
double resolution_w(std::span<const Sample> samples) {
  for (const double unit_w : {1.0, 0.1, 0.01}) {
    if (std::ranges::all_of(samples, [&](const Sample& s) { return is_multiple(s.watts, unit_w); }))
      return unit_w;
  }
  return 0.001;
}

// Levels of a test are round numbers.
bool are_levels(std::span<const Hold> holds, double digit_w) {
  constexpr double kMostRound = 0.4;
  const double round_w = digit_w >= 1 ? 5 : 0.5;
  const std::vector<double> values = different_values(holds);
  const auto round_values =
      std::ranges::count_if(values, [&](double watts) { return is_multiple(watts, round_w); });
  return static_cast<double>(round_values) > kMostRound * static_cast<double>(values.size());
}

// The mean time for which values are held, without the first and the last one; nullopt: many of
// them are not held for longer than `max_gap_s`.
std::optional<double> slow_hold_s(std::span<const Hold> holds, double step_s, double max_gap_s) {
  constexpr double kMostQuick = 0.3;
  double quick = 0;
  double held_s = 0;
  for (std::size_t i = 1; i + 1 < holds.size(); ++i) {
    const double own_s = holds[i].last_unix_s - holds[i].first_unix_s + step_s;
    held_s += own_s;
    quick += own_s <= max_gap_s ? 1 : 0;
  }
  const double inner = static_cast<double>(holds.size()) - 2;
  if (quick > kMostQuick * inner || held_s / inner <= max_gap_s) return std::nullopt;
  return held_s / inner;
}

// ---- Lines

// Consecutive samples on one line that is not level.
struct Segment {
  double first_unix_s;
  double last_unix_s;
  double slope;
};

struct Lines {
  std::vector<Segment> segments;
  std::size_t on_lines = 0;  // samples, of those at which the power moves
  std::size_t bends = 0;     // the others of them
};

Lines lines_of(std::span<const Sample> samples) {
  constexpr double kStampS = 1e-3;  // as coarse as stamps may be
  const double digit_w = resolution_w(samples);
  Lines lines;
  bool is_inside = false;
  for (std::size_t i = 1; i + 1 < samples.size(); ++i) {
    const Sample& a = samples[i - 1];
    const Sample& b = samples[i + 1];
    const double apart_s = b.unix_s - a.unix_s;
    if (apart_s <= 0) return {};
    const double slope = (b.watts - a.watts) / apart_s;
    const double off_w = samples[i].watts - a.watts - slope * (samples[i].unix_s - a.unix_s);
    const double most_w = 1.01 * digit_w + kStampS * std::abs(slope);
    const bool moves = std::abs(b.watts - a.watts) > 4 * most_w || std::abs(off_w) > 4 * most_w;
    const bool is_on_line = std::abs(off_w) <= most_w;
    lines.on_lines += moves && is_on_line ? 1 : 0;
    lines.bends += is_on_line ? 0 : 1;
    if (is_on_line && moves) {
      if (!is_inside) lines.segments.push_back({a.unix_s, b.unix_s, slope});
      lines.segments.back().last_unix_s = b.unix_s;
    }
    is_inside = is_on_line && moves;
  }
  return lines;
}

// Ramps of a test have one slope, or the same up and down, and round numbers.
bool have_slopes_of_their_own(std::span<const Segment> segments) {
  constexpr std::size_t kFewestSlopes = 2;
  std::vector<double> slopes;
  for (const Segment& segment : segments) {
    const double slope = std::abs(segment.slope);
    const bool is_new = std::ranges::none_of(
        slopes, [&](double other) { return std::abs(slope - other) < 0.02 * other; });
    if (is_new) slopes.push_back(slope);
  }
  return slopes.size() >= kFewestSlopes;
}

}  // namespace

std::optional<double> refresh_s(std::span<const Sample> samples) {
  constexpr double kByChance = 2e-3;
  constexpr double kManySteps = 8;  // samples per value
  const std::vector<Hold> holds = holds_of(samples);
  if (holds.size() < 4 || !hold_values(holds, samples.size())) return std::nullopt;
  if (different_values(holds).size() < std::min(holds.size(), kFewestFresh)) return std::nullopt;
  if (are_last_digits(holds)) return std::nullopt;
  const double step_s = usual_step_s(samples);
  std::vector<double> between_s;
  for (std::size_t i = 2; i < holds.size(); ++i) {
    between_s.push_back(holds[i].first_unix_s - holds[i - 1].first_unix_s);
  }
  std::vector<double> sorted_s = between_s;
  std::ranges::sort(sorted_s);
  const double soonest_s = sorted_s[sorted_s.size() / 10];
  std::erase_if(sorted_s, [&](double s) { return s > 1.5 * soonest_s; });
  const double period_s = middle_of(sorted_s);
  if (period_s < 1.9 * step_s) return std::nullopt;
  const double apart_s = step_s * (period_s >= kManySteps * step_s ? 1.01 : 0.51);
  double regular = 0;
  for (const double s : between_s) {
    const double off_s = std::abs(s - period_s * std::max(1.0, std::round(s / period_s)));
    regular += off_s <= apart_s ? 1 : 0;
  }
  const bool is_regular = regular >= kRegular * static_cast<double>(between_s.size());
  const double chance = std::pow(std::min(1.0, 2 * apart_s / period_s), regular);
  if (!is_regular || chance > kByChance) return std::nullopt;
  return period_s;
}

std::optional<double> mean_hold_s(std::span<const Sample> samples, double max_gap_s) {
  constexpr std::size_t kFewestValues = 8;
  constexpr double kClearStepW = 0.3;
  const std::vector<Hold> holds = holds_of(samples);
  if (holds.size() < kFewestValues || !hold_values(holds, samples.size())) return std::nullopt;
  const double digit_w = resolution_w(samples);
  const std::size_t counted = holds.size() - returns_to_idle(holds);
  const std::size_t different = different_values(holds).size();
  if (different < kFewestValues) return std::nullopt;
  if (static_cast<double>(different) < kRegular * static_cast<double>(counted)) return std::nullopt;
  if (are_levels(holds, digit_w)) return std::nullopt;
  if (middle_of(steps_between(holds)) < std::max(kClearStepW, 4 * digit_w)) return std::nullopt;
  return slow_hold_s(holds, usual_step_s(samples), max_gap_s);
}

std::optional<double> possible_hold_s(std::span<const Sample> all, double max_gap_s) {
  constexpr std::size_t kFewestSamples = 20;
  const std::vector<Sample> samples = one_of_each_time(all);
  if (samples.size() < kFewestSamples) return std::nullopt;
  const std::vector<Hold> holds = holds_of(samples);
  const double digit_w = resolution_w(samples);
  const double length_s = samples.back().unix_s - samples.front().unix_s;
  if (are_levels(holds, digit_w) || samples.front().watts <= 0) return std::nullopt;
  const double mean_s = length_s / static_cast<double>(holds.size());
  if (mean_s <= max_gap_s || (holds.size() == 1 && digit_w >= 1)) return std::nullopt;
  if (holds.size() > 2 && are_last_digits(holds)) return std::nullopt;
  return holds.size() > 2 ? slow_hold_s(holds, usual_step_s(samples), max_gap_s) : mean_s;
}

std::optional<double> interpolated_s(std::span<const Sample> samples, double max_gap_s) {
  constexpr std::size_t kFewestOnLines = 10;
  constexpr std::size_t kFewestSegments = 2;
  constexpr double kMostlyLines = 0.6;
  if (samples.size() < kFewestOnLines) return std::nullopt;
  const Lines lines = lines_of(samples);
  const double on_lines = static_cast<double>(lines.on_lines);
  if (lines.on_lines < kFewestOnLines || lines.segments.size() < kFewestSegments ||
      on_lines < kMostlyLines * static_cast<double>(lines.on_lines + lines.bends) ||
      !have_slopes_of_their_own(lines.segments) ||
      are_levels(holds_of(samples), resolution_w(samples))) {
    return std::nullopt;
  }
  std::vector<double> lengths_s;
  for (const Segment& segment : lines.segments) {
    lengths_s.push_back(segment.last_unix_s - segment.first_unix_s);
  }
  const double length_s = middle_of(std::move(lengths_s));
  if (length_s <= max_gap_s) return std::nullopt;
  return length_s;
}

std::string stale_text(std::span<const Sample> all, double max_gap_s) {
  const std::vector<Sample> samples = one_of_each_time(all);
  if (samples.size() < 3 || usual_step_s(samples) <= 0) return {};
  const auto text = [&](std::string_view what, double found_s) {
    return fmt::format(
        "{} every {:.3g} s only, although it was sampled every {:.3g} s; the longest gap allowed is {:g} s",
        what, found_s, usual_step_s(samples), max_gap_s);
  };
  const std::optional<double> period_s = refresh_s(samples);
  if (period_s && *period_s > max_gap_s) return text("a new reading", *period_s);
  if (const auto held_s = mean_hold_s(samples, max_gap_s); held_s && !period_s) {
    return text("on average a new reading", *held_s);
  }
  if (const auto apart_s = interpolated_s(samples, max_gap_s)) {
    return text("readings on straight lines between values, of which there is one about", *apart_s);
  }
  return {};
}

}  // namespace aggregate_power::energy
