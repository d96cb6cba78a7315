// Looks at when values change, by how much, and how straight they are in between.
#include "core/energy/stale_readings.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text/lists.h"
#include "core/energy/recording_summary.h"

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
  auto values = mapped<double>(holds, &Hold::watts);
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

// Whether all steps are multiples of the least one, as far as the readings' digits show it.
bool are_multiples(std::span<const double> steps_w, double least_w, double digit_w) {
  constexpr double kClearDigits = 10;
  const double error_w = least_w < kClearDigits * digit_w ? 0 : 1.01 * digit_w;
  return std::ranges::all_of(steps_w, [&](double step_w) {
    const double times = std::max(1.0, std::round(step_w / least_w));
    return std::abs(step_w - times * least_w) <= times * error_w + 1e-6;
  });
}

// Whether most changes are of the last digit: then a rounded value wavers, or drifts. Of a few,
// most may be alike by chance.
bool are_last_digits(std::span<const Hold> holds, double digit_w) {
  constexpr double kLastDigit = 0.1;  // of the highest value, at most
  constexpr std::size_t kFewSteps = 6;
  const std::vector<double> steps_w = steps_between(holds);
  const double least_w = std::ranges::min(steps_w);
  if (least_w > kLastDigit * std::ranges::max(holds, {}, &Hold::watts).watts) return false;
  if (steps_w.size() <= kFewSteps && !are_multiples(steps_w, least_w, digit_w)) return false;
  const auto small =
      std::ranges::count_if(steps_w, [&](double step_w) { return step_w < 1.5 * least_w; });
  return 2 * static_cast<std::size_t>(small) > steps_w.size();
}

// Levels of a test are round numbers.
bool are_levels(std::span<const Hold> holds, double digit_w) {
  constexpr std::size_t kManyValues = 8;
  const double round_w = digit_w >= 1 ? 5 : 0.5;
  const std::vector<double> values = different_values(holds);
  // One in five is round by chance.
  const double most_round = values.size() < kManyValues ? 0.7 : 0.5;
  const auto round_values =
      std::ranges::count_if(values, [&](double watts) { return is_multiple(watts, round_w); });
  return static_cast<double>(round_values) > most_round * static_cast<double>(values.size());
}

// Whether values change at multiples of a time that is many samples long.
bool change_regularly(std::span<const Hold> holds, double step_s) {
  constexpr std::size_t kFewestChanges = 3;
  constexpr double kManySamples = 10;
  if (holds.size() <= kFewestChanges) return false;
  std::vector<double> between_s;
  for (std::size_t i = 2; i < holds.size(); ++i) {
    between_s.push_back(holds[i].first_unix_s - holds[i - 1].first_unix_s);
  }
  const double least_s = std::ranges::min(between_s);
  return least_s >= kManySamples * step_s && std::ranges::all_of(between_s, [&](double s) {
           return std::abs(s - least_s * std::round(s / least_s)) <= 1.1 * step_s;
         });
}

// Whether the power rises at the window's start and falls at its end, and nowhere else.
bool change_at_edges(std::span<const Hold> holds, Window window, double step_s) {
  constexpr double kSlack_s = 1;
  const double most_s = 1.5 * step_s + kSlack_s;
  for (std::size_t i = 1; i < holds.size(); ++i) {
    const double edge_s =
        holds[i].watts > holds[i - 1].watts ? window.start_unix_s : window.end_unix_s;
    if (!(std::abs(holds[i].first_unix_s - edge_s) <= most_s)) return false;
  }
  return true;
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

// Consecutive samples on one line, as far as the readings' digits show it.
struct Segment {
  std::size_t first;
  std::size_t last;
  double slope;     // in W/s
  double height_w;  // between its ends
  double length_s;
};

// The longest such segment from a sample on.
Segment segment_at(std::span<const Sample> samples, std::size_t first, double digit_w) {
  constexpr double kStampS = 1e-3;  // as coarse as stamps may be
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  Segment segment{first, first, 0, 0, 0};
  const Sample& start = samples[first];
  for (std::size_t i = first + 1; i < samples.size(); ++i) {
    const double length_s = samples[i].unix_s - start.unix_s;
    if (length_s <= 0) break;
    const double rise_w = samples[i].watts - start.watts;
    const double error =
        1.01 * digit_w / length_s + kStampS * std::abs(rise_w / length_s) / length_s;
    least = std::max(least, rise_w / length_s - error);
    most = std::min(most, rise_w / length_s + error);
    if (least > most) break;
    segment = {first, i, rise_w / length_s, std::abs(rise_w), length_s};
  }
  return segment;
}

// The samples as lines that follow each other, each from the end of the one before.
std::vector<Segment> lines_of(std::span<const Sample> samples, double digit_w) {
  std::vector<Segment> lines;
  for (std::size_t i = 0; i + 1 < samples.size(); i = std::max(i + 1, lines.back().last)) {
    lines.push_back(segment_at(samples, i, digit_w));
  }
  return lines;
}

// Ramps of a test have one slope, or the same up and down, and round numbers. Stamps may be late.
bool have_slopes_of_their_own(std::span<const Segment> segments) {
  constexpr double kSameWay = 0.2;
  constexpr double kUpAndDown = 0.02;
  const double first = segments.front().slope;
  return std::ranges::any_of(segments, [&](const Segment& segment) {
    const double most = (segment.slope > 0) == (first > 0) ? kSameWay : kUpAndDown;
    return std::abs(std::abs(segment.slope) - std::abs(first)) >= most * std::abs(first);
  });
}

bool go_both_ways(std::span<const Segment> segments) {
  return std::ranges::any_of(segments, [&](const Segment& segment) {
    return (segment.slope > 0) != (segments.front().slope > 0);
  });
}

// The middle length of the lines that rise or fall by `least_digits` or more, see interpolated_s().
std::optional<double> line_length_s(std::span<const Sample> samples, double max_gap_s,
                                    double least_digits,
                                    bool (*are_many)(std::span<const Segment>)) {
  constexpr std::size_t kFewestOnLines = 10;
  constexpr std::size_t kFewestOfLine = 5;
  constexpr double kMostlyLines = 0.6;
  if (samples.size() < kFewestOnLines) return std::nullopt;
  const double digit_w = resolution_w(samples);
  std::vector<Segment> steep;
  std::vector<double> lengths_s;
  std::size_t on_lines = 0;
  std::size_t on_steep = 0;
  for (const Segment& line : lines_of(samples, digit_w)) {
    const std::size_t steps = line.last - line.first;
    if (steps + 1 < kFewestOfLine || line.length_s <= max_gap_s) continue;
    on_lines += steps;
    if (line.height_w < least_digits * digit_w) continue;
    on_steep += steps;
    steep.push_back(line);
    lengths_s.push_back(line.length_s);
  }
  const bool are_mostly_lines =
      static_cast<double>(on_lines) >= kMostlyLines * static_cast<double>(samples.size());
  if (on_steep < kFewestOnLines || !are_mostly_lines || !are_many(steep) ||
      are_levels(holds_of(samples), digit_w)) {
    return std::nullopt;
  }
  return middle_of(std::move(lengths_s));
}

// The usual time between the readings that have all others on straight lines between them; nullopt:
// they are not, or closer than `max_gap_s`. Of the samples, 6 in 10 are on lines of 5 or more, with
// two slopes at least, that rise or fall by 20 of the readings' last digits: no noise is on a line.
std::optional<double> interpolated_s(std::span<const Sample> samples, double max_gap_s) {
  return line_length_s(samples, max_gap_s, 20, have_slopes_of_their_own);
}

// The mean time for which values are held at times without a period; nullopt: they are not. Most
// are held for longer than `max_gap_s`, none comes back, and the steps between them are larger than
// the last digit: a sensor that is rounded returns to its values, and one that works changes at
// once. Levels of a test are round numbers.
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

}  // namespace

std::optional<double> refresh_s(std::span<const Sample> samples) {
  constexpr double kByChance = 2e-3;
  constexpr double kManySteps = 8;  // samples per value
  const std::vector<Hold> holds = holds_of(samples);
  if (holds.size() < 4 || !hold_values(holds, samples.size())) return std::nullopt;
  if (different_values(holds).size() < std::min(holds.size(), kFewestFresh)) return std::nullopt;
  if (are_last_digits(holds, resolution_w(samples))) return std::nullopt;
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

std::optional<double> possible_hold_s(std::span<const Sample> all, double max_gap_s,
                                      Window window) {
  constexpr std::size_t kFewestSamples = 20;
  const std::vector<Sample> samples = one_of_each_time(all);
  if (samples.size() < kFewestSamples) return std::nullopt;
  const std::vector<Hold> holds = holds_of(samples);
  const double digit_w = resolution_w(samples);
  const double length_s = samples.back().unix_s - samples.front().unix_s;
  if (are_levels(holds, digit_w) || samples.front().watts <= 0) return std::nullopt;
  if (holds.size() > 1 && change_at_edges(holds, window, usual_step_s(samples))) {
    return std::nullopt;
  }
  const double mean_s = length_s / static_cast<double>(holds.size());
  if (mean_s <= max_gap_s || (holds.size() == 1 && digit_w >= 1)) return std::nullopt;
  if (holds.size() > 2 && are_last_digits(holds, digit_w) &&
      !change_regularly(holds, usual_step_s(samples))) {
    return std::nullopt;
  }
  return holds.size() > 2 ? slow_hold_s(holds, usual_step_s(samples), max_gap_s) : mean_s;
}

std::optional<double> possible_lines_s(std::span<const Sample> samples, double max_gap_s) {
  constexpr double kClearlyLonger = 2;
  return line_length_s(one_of_each_time(samples), kClearlyLonger * max_gap_s, 8,
                       [](std::span<const Segment> segments) {
                         return have_slopes_of_their_own(segments) || go_both_ways(segments);
                       });
}

std::string stale_text(std::span<const Sample> all, double max_gap_s) {
  const std::vector<Sample> samples = one_of_each_time(all);
  if (samples.size() < 3 || usual_step_s(samples) <= 0) return {};
  if (usual_step_s(samples) > max_gap_s) return {};  // each step is a gap, and the reason for that
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
