// Compares the readings of devices with each other, and with what else was recorded of them.
#include "energy/series_check.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/gpus_option.h"
#include "base/text/unicode.h"
#include "core/telemetry/samples.h"
#include "energy/quantile.h"
#include "energy/single_series.h"
#include "energy/stale_readings.h"
#include "energy/stuck_sensor.h"
#include "energy/total_series.h"

namespace aggregate_power {
namespace {

// ---- One sensor

constexpr std::size_t kFewestTimes = 20;
constexpr std::size_t kFewestValues = 5;
// Of the times at which one of two devices changed. Some recorders ask one sensor for one device
// after the other, and it moves meanwhile.
constexpr double kMostlyEqual = 0.9;
constexpr std::size_t kEnoughToTell = 16;
constexpr std::size_t kOneMoveIn = 10;
constexpr double kTenthOfWatt = 0.1 + 1e-6;
constexpr double kRounded = 1;
// Readings that may differ by so much must move by many times as much.
constexpr double kClearRange = 20;
constexpr double kOneStepShare = 0.2;  // of the highest reading
// Steps of a sensor that are a larger share of its readings hide the differences between GPUs.
constexpr double kCoarse = 0.005;
constexpr std::size_t kMostValues = 64;
// What some copies add to readings, as a share of the highest one.
constexpr double kDither = 0.002;
constexpr double kClearlyApart = 0.02;  // of the highest reading
constexpr double kWithinDither = 0.98;  // of the times
constexpr double kClearMove = 4;        // of what they add, from sample to sample

bool is_whole(double watts) { return watts == std::floor(watts); }

bool are_whole(std::span<const Sample> samples) {
  return std::ranges::all_of(samples, is_whole, &Sample::watts);
}

double mean_interval_s(std::span<const Sample> samples) {
  if (samples.size() < 2) return 0;
  return (samples.back().unix_s - samples.front().unix_s) / static_cast<double>(samples.size() - 1);
}

// What two series have in common.
struct Agreement {
  std::size_t times = 0;
  std::size_t equal = 0;
  std::size_t moves = 0;        // times at which one of them is not as at the time before
  std::size_t equal_moves = 0;  // of them, those with equal readings
  std::vector<double> values;   // different ones of the first, up to kMostValues
  double least_w = std::numeric_limits<double>::infinity();
  double highest_w = 0;

  void add(double watts, bool is_equal, bool moves_now) {
    ++times;
    equal += is_equal ? 1 : 0;
    moves += moves_now ? 1 : 0;
    equal_moves += moves_now && is_equal ? 1 : 0;
    if (!is_equal) return;
    least_w = std::min(least_w, watts);
    highest_w = std::max(highest_w, watts);
    if (values.size() < kMostValues && std::ranges::find(values, watts) == values.end()) {
      values.push_back(watts);
    }
  }
  bool is_coarse() const {
    std::vector<double> sorted = values;
    std::ranges::sort(sorted);
    double apart_w = std::numeric_limits<double>::infinity();
    for (std::size_t i = 1; i < sorted.size(); ++i) {
      apart_w = std::min(apart_w, sorted[i] - sorted[i - 1]);
    }
    return apart_w > kCoarse * highest_w;
  }
  bool is_hopeless() const { return moves >= kEnoughToTell && equal_moves * 2 < moves; }
  bool is_one_sensor() const {
    if (times < kFewestTimes || values.size() < kFewestValues) return false;
    if (moves < kFewestTimes && moves * kOneMoveIn < times) return false;  // steps of a test
    if (equal == times) return true;
    return moves >= kFewestTimes && !is_coarse() &&
           static_cast<double>(equal_moves) >= kMostlyEqual * static_cast<double>(moves);
  }
  double range_w() const { return highest_w - least_w; }
};

// The place of the sample of `samples` nearest to `unix_s`, from `at` on.
std::size_t nearest(std::span<const Sample> samples, std::size_t at, double unix_s) {
  while (at + 1 < samples.size() &&
         std::abs(samples[at + 1].unix_s - unix_s) < std::abs(samples[at].unix_s - unix_s)) {
    ++at;
  }
  return at;
}

// Compares each sample of `few` with the nearest one of `many`, and with its neighbours too if
// readings may be `apart_w` apart: then two recorders asked, and not at the same times.
Agreement agreement(std::span<const Sample> few, std::span<const Sample> many, double apart_w) {
  const bool has_neighbours = apart_w > 0;
  const double most_s =
      (has_neighbours ? 1.0 : 0.5) * std::max(mean_interval_s(many), mean_interval_s(few));
  Agreement found;
  std::size_t at = 0;
  double few_before = -1;
  double many_before = -1;
  for (const Sample& sample : few) {
    at = nearest(many, at, sample.unix_s);
    if (std::abs(many[at].unix_s - sample.unix_s) > most_s) continue;
    const std::size_t first = has_neighbours && at > 0 ? at - 1 : at;
    const std::size_t last = has_neighbours && at + 1 < many.size() ? at + 1 : at;
    bool is_equal = false;
    for (std::size_t i = first; i <= last; ++i) {
      is_equal = is_equal || std::abs(many[i].watts - sample.watts) <= apart_w;
    }
    const bool moves = few_before >= 0 && (std::abs(sample.watts - few_before) > apart_w ||
                                           std::abs(many[at].watts - many_before) > apart_w);
    found.add(sample.watts, is_equal, moves);
    few_before = sample.watts;
    many_before = many[at].watts;
    if (found.is_hopeless()) break;
  }
  return found;
}

double median_of_moves(std::span<const double> values) {
  std::vector<double> moves;
  for (std::size_t i = 1; i < values.size(); ++i) {
    moves.push_back(std::abs(values[i] - values[i - 1]));
  }
  return quantile_of(std::move(moves), 0.5);
}

// Whether they are one sensor, to whose readings something small is added, different for each
// device: much less than they move from sample to sample, on both sides, and zero on average. GPUs
// in lock-step differ in their gains, and each has noise of its own.
bool is_dithered(std::span<const Sample> few, std::span<const Sample> many) {
  const double most_s = 0.5 * mean_interval_s(few);
  std::vector<double> watts;
  std::vector<double> off_w;
  double highest_w = 0;
  std::size_t at = 0;
  for (const Sample& sample : few) {
    at = nearest(many, at, sample.unix_s);
    if (std::abs(many[at].unix_s - sample.unix_s) > most_s) continue;
    watts.push_back(sample.watts);
    off_w.push_back(sample.watts - many[at].watts);
    highest_w = std::max(highest_w, sample.watts);
    const bool is_hopeless =
        watts.size() == kEnoughToTell && std::ranges::count_if(off_w, [&](double w) {
                                           return std::abs(w) > kClearlyApart * highest_w;
                                         }) > 2;
    if (is_hopeless) return false;
  }
  if (watts.size() < kFewestTimes) return false;
  double sum_w = 0;
  double all_w = 0;
  double above = 0, below = 0, within = 0;
  for (const double w : off_w) {
    sum_w += w;
    all_w += std::abs(w);
    above += w > 0 ? 1 : 0;
    below += w < 0 ? 1 : 0;
    within += std::abs(w) <= kDither * highest_w ? 1 : 0;
  }
  const double times = static_cast<double>(watts.size());
  const bool is_around_zero =
      std::min(above, below) >= 0.25 * (above + below) && std::abs(sum_w) <= 0.25 * all_w;
  return all_w > 0 && is_around_zero && within >= kWithinDither * times &&
         median_of_moves(watts) >= kClearMove * all_w / times;
}

// Where both were recorded, give or take an interval.
Window common(std::span<const Sample> a, std::span<const Sample> b) {
  return {std::max(a.front().unix_s, b.front().unix_s) - mean_interval_s(a),
          std::min(a.back().unix_s, b.back().unix_s) + mean_interval_s(a)};
}

// The devices of each sensor that has several, each as places in `devices`.
std::vector<std::vector<std::size_t>> one_sensor_groups(std::span<const DeviceSeries> devices) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const bool is_long = devices[i].samples.size() >= kFewestTimes;
    const auto same = std::ranges::find_if(groups, [&](const std::vector<std::size_t>& group) {
      return is_long && sameness(devices[group.front()].samples, devices[i].samples, false) ==
                            Sameness::certain;
    });
    if (same == groups.end()) {
      groups.push_back({i});
    } else {
      same->push_back(i);
    }
  }
  return groups;
}

std::string same_sensor_text(std::span<const DeviceSeries> devices) {
  const auto groups = one_sensor_groups(devices);
  if (groups.size() == devices.size()) return {};
  std::vector<std::string> found;
  std::vector<std::string> kept;
  for (const std::vector<std::size_t>& group : groups) {
    kept.push_back(devices[group.front()].device);
    if (group.size() < 2) continue;
    std::vector<std::string> names;
    for (const std::size_t i : group) names.push_back(printable(devices[i].device));
    found.push_back(fmt::format("{}", fmt::join(names, ", ")));
  }
  return fmt::format(
      "the readings of GPUs {} are the same at all times: they are of one sensor; {} keeps one of each",
      fmt::join(found, ", and of GPUs "), gpus_option(kept));
}

// The first of them, and how many more there are.
void add_all(Reason reason, const std::vector<std::string>& texts, Reasons& reasons) {
  constexpr std::size_t kMostTexts = 3;
  if (texts.empty()) return;
  const std::size_t shown = std::min(texts.size(), kMostTexts);
  std::string text = fmt::format("{}", fmt::join(std::span(texts).first(shown), "; "));
  if (shown < texts.size()) text += fmt::format("; and {} more GPUs", texts.size() - shown);
  reasons.add(reason, std::move(text));
}

// The readings of the window say it if there are enough; many more say no more.
std::string several_gpus_text(const DeviceSeries& device, const SeriesRules& rules, bool is_only) {
  constexpr std::size_t kEnough = 64;
  constexpr std::size_t kMost = 1 << 13;
  std::span<const Sample> samples = samples_in(device.samples, rules.window);
  if (samples.size() < kEnough) samples = device.samples;
  SingleSeries series(rules.clock_offset_s);
  series.take(samples.first(std::min(samples.size(), kMost)));
  std::string doubt = series.doubt_of_device();
  if (doubt.empty())
    doubt = doubt_of_turns(samples.first(std::min(samples.size(), kMost)), is_only);
  if (doubt.empty()) return {};
  return fmt::format("GPU {} has {}: it seems to be several GPUs", printable(device.device), doubt);
}

std::string repeat_text(const DeviceSeries& device, const SeriesRules& rules) {
  const std::string why = energy::stale_text(device.samples, rules.max_sample_gap_s);
  return why.empty() ? why : fmt::format("GPU {} has {}", printable(device.device), why);
}

}  // namespace

Sameness sameness(std::span<const Sample> a, std::span<const Sample> b, bool of_two_recordings) {
  if (a.empty() || b.empty()) return Sameness::none;
  const Window both = common(a, b);
  std::span<const Sample> few = samples_in(a, both);
  std::span<const Sample> many = samples_in(b, both);
  if (few.size() > many.size()) std::swap(few, many);
  if (few.size() < kFewestTimes) return Sameness::none;
  if (agreement(few, many, 0).is_one_sensor()) return Sameness::certain;
  if (is_dithered(few, many)) return Sameness::certain;
  if (!of_two_recordings) return Sameness::none;
  const double apart_w = are_whole(few) == are_whole(many) ? kTenthOfWatt : kRounded;
  const Agreement found = agreement(few, many, apart_w);
  if (found.is_one_sensor() && found.range_w() >= kClearRange * apart_w) return Sameness::certain;
  const bool is_possible = found.times >= kFewestTimes && found.equal == found.times &&
                           found.range_w() > kOneStepShare * found.highest_w;
  return is_possible ? Sameness::possible : Sameness::none;
}

Reasons possible_series_reasons(std::span<const DeviceSeries> devices, const SeriesRules& rules) {
  std::vector<std::string> held;
  for (const DeviceSeries& device : devices) {
    const auto found_s = energy::possible_hold_s(device.samples, rules.max_sample_gap_s);
    if (!found_s) continue;
    held.push_back(
        fmt::format("GPU {} reads the same for {:.3g} s", printable(device.device), *found_s));
  }
  Reasons reasons;
  if (2 * held.size() < devices.size()) return reasons;
  add_all(Reason::readings_repeat, held, reasons);
  return reasons;
}

Reasons series_reasons(std::span<const DeviceSeries> devices, const SeriesRules& rules) {
  std::vector<std::string> several;
  std::vector<std::string> repeat;
  std::vector<std::string> stuck;
  const auto add = [](std::string text, std::vector<std::string>& texts) {
    if (!text.empty()) texts.push_back(std::move(text));
  };
  for (std::size_t i = 0; i < devices.size(); ++i) {
    add(several_gpus_text(devices[i], rules, devices.size() == 1), several);
    add(repeat_text(devices[i], rules), repeat);
    add(energy::stuck_text(devices, i, rules), stuck);
  }
  Reasons reasons;
  add_all(Reason::several_gpus_in_one_series, several, reasons);
  if (std::string text = same_sensor_text(devices); !text.empty()) {
    reasons.add(Reason::same_sensor, std::move(text));
  }
  if (std::string text = energy::total_text(devices); !text.empty()) {
    reasons.add(Reason::same_sensor, std::move(text));
  }
  add_all(Reason::readings_repeat, repeat, reasons);
  add_all(Reason::stuck_sensor, stuck, reasons);
  return reasons;
}

}  // namespace aggregate_power
