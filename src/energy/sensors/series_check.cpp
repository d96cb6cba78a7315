// Compares the readings of devices with each other, and with what else was recorded of them.
#include "energy/sensors/series_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/gpu.h"
#include "base/text/characters.h"
#include "core/energy/integrate.h"
#include "core/energy/recording_summary.h"
#include "core/energy/stale_readings.h"
#include "core/telemetry/samples.h"
#include "energy/sensors/same_course.h"

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
constexpr double kClearlyApart = 0.02;   // of the highest reading
constexpr double kBeyondDither = 0.02;   // of the times
constexpr double kClearMove = 4;         // of what they add, from sample to sample
constexpr double kManyTimesApart = 100;  // of what they add, from low to high power
constexpr double kFewestOfLevel = 5;
constexpr double kNoMore = 2;       // is added at high power than at low power
constexpr double kSameMoves = 0.7;  // what is added, as a share of how the power varies
// Different GPUs in step differ by so much at least, as a share of their power. A sensor whose
// steps are larger shows that only now and then.
constexpr double kLeastApart = 0.003;
constexpr double kSurelyApart = 5;  // times at which different GPUs would have differed

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
  double step_w() const {  // the least between two values
    std::vector<double> sorted = values;
    std::ranges::sort(sorted);
    double apart_w = std::numeric_limits<double>::infinity();
    for (std::size_t i = 1; i < sorted.size(); ++i) {
      apart_w = std::min(apart_w, sorted[i] - sorted[i - 1]);
    }
    return apart_w;
  }
  bool is_coarse() const { return step_w() > kCoarse * highest_w; }
  bool is_hopeless() const { return moves >= kEnoughToTell && equal_moves * 2 < moves; }
  bool moves_much() const {
    const bool is_long = times >= kFewestTimes && values.size() >= kFewestValues;
    return is_long && (moves >= kFewestTimes || moves * kOneMoveIn >= times);  // no steps of a test
  }
  // Whether different GPUs would have shown it.
  bool shows_differences() const {
    const double share = std::min(1.0, kLeastApart * highest_w / step_w());
    return static_cast<double>(moves) * share >= kSurelyApart;
  }
  bool is_one_sensor() const {
    if (!moves_much()) return false;
    if (equal == times) return shows_differences();
    return moves >= kFewestTimes && !is_coarse() &&
           static_cast<double>(equal_moves) >= kMostlyEqual * static_cast<double>(moves);
  }
  bool may_be_one_sensor() const {
    constexpr std::size_t kFewValues = 3;
    return equal == times &&
           (moves_much() || (moves >= kFewestTimes && values.size() >= kFewValues));
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

// The readings of two devices at the same times.
struct Pairs {
  std::vector<double> watts;
  std::vector<double> off_w;  // from the other's
  double highest_w = 0;
};

// Returns nullopt if they are too few, or clearly apart.
std::optional<Pairs> close_pairs(std::span<const Sample> few, std::span<const Sample> many) {
  const double most_s = 0.5 * mean_interval_s(few);
  Pairs pairs;
  std::size_t at = 0;
  for (const Sample& sample : few) {
    at = nearest(many, at, sample.unix_s);
    if (std::abs(many[at].unix_s - sample.unix_s) > most_s) continue;
    pairs.watts.push_back(sample.watts);
    pairs.off_w.push_back(sample.watts - many[at].watts);
    pairs.highest_w = std::max(pairs.highest_w, sample.watts);
    if (pairs.watts.size() != kEnoughToTell) continue;
    const auto apart = std::ranges::count_if(
        pairs.off_w, [&](double w) { return std::abs(w) > kClearlyApart * pairs.highest_w; });
    if (apart > 2) return std::nullopt;
  }
  if (pairs.watts.size() < kFewestTimes) return std::nullopt;
  return pairs;
}

// What is added to the readings of one level.
struct Added {
  double times = 0;
  double sum_w = 0;
  double all_w = 0;  // without signs
  double squares_w2 = 0;
  double watts_sum = 0;
  double watts_squares = 0;

  void add(double watts, double off_w) {
    ++times;
    sum_w += off_w;
    all_w += std::abs(off_w);
    squares_w2 += off_w * off_w;
    watts_sum += watts;
    watts_squares += watts * watts;
  }
  double mean_w() const { return all_w / times; }
  bool is_around_zero() const {
    return std::abs(sum_w) <= std::max(0.25 * all_w, 3 * std::sqrt(squares_w2));
  }
  bool is_small() const {
    const double mean = watts_sum / times;
    return squares_w2 <= kSameMoves * kSameMoves * (watts_squares - times * mean * mean);
  }
};

// Whether the same is added at low power and at high power, little of what the power varies by
// there. GPUs in step differ by a share of their power, and at a limit each varies by itself.
bool adds_the_same(const Pairs& pairs) {
  const auto [least_w, most_w] = std::ranges::minmax(pairs.watts);
  const double middle_w = (least_w + most_w) / 2;
  Added low;
  Added high;
  for (std::size_t i = 0; i < pairs.watts.size(); ++i) {
    (pairs.watts[i] < middle_w ? low : high).add(pairs.watts[i], pairs.off_w[i]);
  }
  if (low.times < kFewestOfLevel || high.times < kFewestOfLevel) return false;
  return low.is_around_zero() && high.is_around_zero() && high.is_small() &&
         high.mean_w() <= kNoMore * low.mean_w() &&
         most_w - least_w >= kManyTimesApart * std::max(low.mean_w(), high.mean_w());
}

// Whether they are one sensor, to whose readings something small is added, different for each
// device: much less than they move from sample to sample or between low and high power, on both
// sides, and zero on average. GPUs in lock-step differ in their gains, and each has noise of its
// own. Readings may differ by `digit_w` in any case.
Sameness dithered(std::span<const Sample> few, std::span<const Sample> many, double digit_w) {
  const std::optional<Pairs> pairs = close_pairs(few, many);
  if (!pairs) return Sameness::none;
  const double most_w = std::max(kDither * pairs->highest_w, digit_w);
  Added added;
  double above = 0, below = 0, beyond = 0;
  for (std::size_t i = 0; i < pairs->off_w.size(); ++i) {
    const double w = pairs->off_w[i];
    added.add(pairs->watts[i], w);
    above += w > 0 ? 1 : 0;
    below += w < 0 ? 1 : 0;
    beyond += std::abs(w) > most_w ? 1 : 0;
  }
  const double differ = above + below;
  const bool are_steps = 2 * beyond >= differ;  // of a coarse sensor
  if (are_steps || std::min(above, below) < 0.25 * differ || !added.is_around_zero() ||
      beyond > kBeyondDither * added.times) {
    return Sameness::none;
  }
  const bool is_certain = median_of_moves(pairs->watts) >= kClearMove * added.mean_w() ||
                          (beyond == 0 && adds_the_same(*pairs));
  if (is_certain) return Sameness::certain;
  return beyond == 0 && added.is_small() ? Sameness::possible : Sameness::none;
}

// Where both were recorded, give or take an interval.
Window common(std::span<const Sample> a, std::span<const Sample> b) {
  return {std::max(a.front().unix_s, b.front().unix_s) - mean_interval_s(a),
          std::min(a.back().unix_s, b.back().unix_s) + mean_interval_s(a)};
}

// The devices of each sensor that has several, each as places in `devices`.
using SensorGroups = std::vector<std::vector<std::size_t>>;
template <class Same>
SensorGroups one_sensor_groups(std::span<const DeviceSeries> devices, Same are_same) {
  SensorGroups groups;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const bool is_long = devices[i].samples.size() >= kFewestTimes;
    const auto same = std::ranges::find_if(groups, [&](const std::vector<std::size_t>& group) {
      return is_long && are_same(devices[group.front()], devices[i]);
    });
    if (same == groups.end()) {
      groups.push_back({i});
    } else {
      same->push_back(i);
    }
  }
  return groups;
}

std::string same_sensor_text(std::span<const DeviceSeries> devices, const SensorGroups& groups,
                             std::string_view agreement) {
  if (groups.size() == devices.size()) return {};
  std::vector<std::string> found;
  std::vector<std::string> kept;
  for (const std::vector<std::size_t>& group : groups) {
    kept.push_back(devices[group.front()].device);
    if (group.size() < 2) continue;
    found.push_back(joined_text(group, ", ",
                                [&](const std::size_t i) { return printable(devices[i].device); }));
  }
  return fmt::format("the readings of GPUs {} {}; {} keeps one of each",
                     fmt::join(found, ", and of GPUs "), agreement, gpus_option(kept));
}

constexpr std::string_view kSameAtAllTimes = "are the same at all times: they are of one sensor";

std::string same_sensor_text(std::span<const DeviceSeries> devices, Sameness wanted) {
  const SensorGroups groups =
      one_sensor_groups(devices, [&](const DeviceSeries& a, const DeviceSeries& b) {
        return sameness(a.samples, b.samples, false) == wanted;
      });
  return same_sensor_text(
      devices, groups,
      wanted == Sameness::certain
          ? kSameAtAllTimes
          : "are the same at all times, as far as steps that are this coarse show it: they may be of one sensor");
}

// Of devices that are read at different moments, those that follow one course.
std::string one_course_text(std::span<const DeviceSeries> devices, Sameness wanted) {
  energy::OneCourse course;
  const SensorGroups groups =
      one_sensor_groups(devices, [&](const DeviceSeries& a, const DeviceSeries& b) {
        const std::size_t pairs = devices.size() * devices.size() / 2;
        if (!energy::is_worth_comparing(a.device, b.device, pairs)) return false;
        const auto found = energy::one_course(a, b);
        if (found) course.add(*found, a, b, devices.size() - 1);
        return found.has_value();
      });
  const auto alone =
      static_cast<std::size_t>(std::ranges::count(groups, 1U, &std::vector<std::size_t>::size));
  if (course.sameness(devices.size() - groups.size() + alone) != wanted) return {};
  return same_sensor_text(devices, groups,
                          fmt::format("agree between each other's times, too: they {} of one GPU",
                                      wanted == Sameness::certain ? "are" : "may be"));
}

// ---- One GPU under two names

struct NamedTime {
  double unix_s = 0;
  bool is_second = false;
};

std::vector<NamedTime> times_of_both(const DeviceSeries& first, const DeviceSeries& second) {
  std::vector<NamedTime> times;
  for (const Sample& sample : first.samples) times.push_back({sample.unix_s, false});
  for (const Sample& sample : second.samples) times.push_back({sample.unix_s, true});
  std::ranges::stable_sort(times, {}, &NamedTime::unix_s);
  return times;
}

// Whether a device has a sample at nearly each time.
bool is_at(const DeviceSeries& device, std::span<const NamedTime> times, double near_s) {
  const auto is_near = [&](const NamedTime& time) {
    const auto next =
        std::ranges::lower_bound(device.samples, time.unix_s - near_s, {}, &Sample::unix_s);
    return next != device.samples.end() && next->unix_s <= time.unix_s + near_s;
  };
  return static_cast<double>(std::ranges::count_if(times, is_near)) >=
         kMostlyEqual * static_cast<double>(times.size());
}

// Whether a device lacks readings again and again, where another has them.
bool has_holes(const DeviceSeries& device, double usual_s) {
  constexpr std::size_t kFewestHoles = 5;
  constexpr double kHole = 1.5;
  std::size_t holes = 0;
  for (std::size_t i = 1; i < device.samples.size(); ++i) {
    const double interval_s = device.samples[i].unix_s - device.samples[i - 1].unix_s;
    holes += interval_s > kHole * usual_s ? 1 : 0;
  }
  return holes >= kFewestHoles;
}

// Whether two devices share the times of one: each is recorded only where the other is not, again
// and again, both together at even intervals, and either one of them is at several such times in a
// row, or a further device is recorded each time.
bool share_times(std::span<const DeviceSeries> devices, std::size_t first, std::size_t second) {
  constexpr std::size_t kFewestSwitches = 5;
  constexpr double kEven = 0.25;  // of the usual interval
  const std::vector<NamedTime> times = times_of_both(devices[first], devices[second]);
  if (times.size() < kFewestTimes) return false;
  std::vector<double> intervals_s;
  for (std::size_t i = 1; i < times.size(); ++i) {
    intervals_s.push_back(times[i].unix_s - times[i - 1].unix_s);
  }
  const double usual_s = quantile_of(intervals_s, 0.5);
  const double near_s = kEven * usual_s;
  std::size_t even = 0, switches = 0, repeats = 0;
  for (std::size_t i = 1; i < times.size(); ++i) {
    const bool is_even = std::abs(intervals_s[i - 1] - usual_s) <= near_s;
    const bool is_switch = times[i].is_second != times[i - 1].is_second;
    even += is_even ? 1 : 0;
    switches += is_switch ? 1 : 0;
    repeats += is_even && !is_switch ? 1 : 0;
  }
  const bool are_even =
      static_cast<double>(even) >= kMostlyEqual * static_cast<double>(intervals_s.size());
  if (!are_even || usual_s <= 0 || switches < kFewestSwitches) return false;
  if (!has_holes(devices[first], usual_s) || !has_holes(devices[second], usual_s)) return false;
  if (repeats >= kFewestSwitches) return true;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (i != first && i != second && is_at(devices[i], times, near_s)) return true;
  }
  return false;
}

std::string two_names_text(std::span<const DeviceSeries> devices) {
  std::size_t most = 0;
  for (const DeviceSeries& device : devices) most = std::max(most, device.samples.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (std::size_t j = i + 1; j < devices.size(); ++j) {
      const std::size_t both = devices[i].samples.size() + devices[j].samples.size();
      const bool may_share = devices.size() == 2 || both <= most + most / 10;
      if (!may_share || !share_times(devices, i, j)) continue;
      return fmt::format(
          "GPUs {} and {} are recorded in turn, never at one time, and together as often as one GPU: some rows lack what identifies it; record the same columns in each row",
          printable(devices[i].device), printable(devices[j].device));
    }
  }
  return {};
}

// The first of them, and how many more there are.
void add_all(Reason reason, const std::vector<std::string>& texts, Reasons& reasons) {
  constexpr std::size_t kMostTexts = 3;
  if (texts.empty()) return;
  const std::size_t shown = std::min(texts.size(), kMostTexts);
  std::string text = joined_text(std::span(texts).first(shown), "; ");
  if (shown < texts.size()) text += fmt::format("; and {} more GPUs", texts.size() - shown);
  reasons.add(reason, std::move(text));
}

// The readings of the window say it if there are enough; many more say no more.
std::span<const Sample> telling_samples(const DeviceSeries& device, const SeriesRules& rules) {
  constexpr std::size_t kEnough = 64;
  constexpr std::size_t kMost = 1 << 13;
  std::span<const Sample> samples = samples_in(device.samples, rules.window);
  if (samples.size() < kEnough) samples = device.samples;
  return samples.first(std::min(samples.size(), kMost));
}

std::string possibly_several_text(const DeviceSeries& device, const SeriesRules& rules) {
  if (device.has_uuid) return {};
  SingleSeries series(rules.clock_offset_s);
  series.take(telling_samples(device, rules));
  const std::string doubt = series.possible_doubt_of_device();
  return doubt.empty() ? doubt
                       : fmt::format("GPU {} has {}: it may be several GPUs",
                                     printable(device.device), doubt);
}

std::string several_gpus_text(const DeviceSeries& device, const SeriesRules& rules, bool is_only) {
  constexpr std::size_t kMostOfWhole = 1 << 15;
  const std::span<const Sample> samples = telling_samples(device, rules);
  SingleSeries series(rules.clock_offset_s);
  series.take(samples);
  std::string doubt = series.doubt_of_device();
  if (doubt.empty() && !device.has_uuid && !series.possible_doubt_of_device().empty()) {
    SingleSeries whole(rules.clock_offset_s);
    whole.take(device.samples.first(std::min(device.samples.size(), kMostOfWhole)));
    doubt = whole.doubt_of_full_times();
  }
  // A load that repeats itself in step with the sampling looks like GPUs in turn.
  if (doubt.empty() && !device.has_uuid) {
    doubt = doubt_of_turns(samples, is_only, device.samples);
  }
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
  const Agreement exact = agreement(few, many, 0);
  if (exact.is_one_sensor()) return Sameness::certain;
  const Sameness noisy = dithered(few, many, 0);
  if (noisy == Sameness::certain) return noisy;
  const bool are_alike_whole = are_whole(few) && dithered(few, many, kRounded) == Sameness::certain;
  const double highest_w = std::ranges::max_element(few, {}, &Sample::watts)->watts;
  // Rounding does not hide by how much GPUs of their own differ at such power.
  if (are_alike_whole && kLeastApart * highest_w >= kRounded) return Sameness::certain;
  if (noisy == Sameness::possible || are_alike_whole || exact.may_be_one_sensor()) {
    return Sameness::possible;
  }
  if (!of_two_recordings) return Sameness::none;
  const double apart_w = are_whole(few) == are_whole(many) ? kTenthOfWatt : kRounded;
  const Agreement found = agreement(few, many, apart_w);
  if (found.is_one_sensor() && found.range_w() >= kClearRange * apart_w) return Sameness::certain;
  const bool is_possible = found.times >= kFewestTimes && found.equal == found.times &&
                           found.range_w() > kOneStepShare * found.highest_w;
  return is_possible ? Sameness::possible : Sameness::none;
}

Reasons possible_series_reasons(std::span<const DeviceSeries> devices, const SeriesRules& rules) {
  std::vector<std::string> several;
  std::vector<std::string> held;
  std::vector<std::string> stuck;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (std::string text = possibly_several_text(devices[i], rules); !text.empty()) {
      several.push_back(std::move(text));
    }
    const std::string name = printable(devices[i].device);
    if (const auto found_s =
            energy::possible_hold_s(devices[i].samples, rules.max_sample_gap_s, rules.window)) {
      held.push_back(fmt::format("GPU {} reads the same for {:.3g} s", name, *found_s));
    }
    if (const auto found_s = energy::possible_lines_s(devices[i].samples, rules.max_sample_gap_s)) {
      held.push_back(
          fmt::format("the readings of GPU {} are on lines of about {:.3g} s", name, *found_s));
    }
    if (std::string text = energy::possibly_stuck_text(devices, i, rules); !text.empty()) {
      stuck.push_back(std::move(text));
    }
  }
  Reasons reasons;
  add_all(Reason::several_gpus_in_one_series, several, reasons);
  if (std::string text = same_sensor_text(devices, Sameness::possible); !text.empty()) {
    reasons.add(Reason::same_sensor, std::move(text));
  }
  if (std::string text = one_course_text(devices, Sameness::possible); !text.empty()) {
    reasons.add(Reason::same_sensor, std::move(text));
  }
  if (2 * held.size() >= devices.size()) add_all(Reason::readings_repeat, held, reasons);
  add_all(Reason::stuck_sensor, stuck, reasons);
  return reasons;
}

namespace {

// A number that was cut at a decimal comma leaves one digit: of its fraction, or of a column beside
// the power.
bool has_one_digit(const DeviceSeries& device) {
  constexpr std::size_t kFewest = 20;
  return device.is_in_watts && device.samples.size() >= kFewest &&
         std::ranges::all_of(device.samples, [](const Sample& sample) {
           return sample.watts < 10 && sample.watts == std::floor(sample.watts);
         });
}

std::string one_digit_text(std::span<const DeviceSeries> devices) {
  const auto draws = [](const DeviceSeries& device) {
    return std::ranges::any_of(device.samples, [](const Sample& one) { return one.watts > 0; });
  };
  if (!std::ranges::all_of(devices, has_one_digit) || std::ranges::none_of(devices, draws)) {
    return {};
  }
  return "all readings are whole numbers below 10 W, as parts of numbers that a decimal comma cuts: "
         "write decimal points, or quote the cells";
}

Reasons same_sensor_reasons(std::span<const DeviceSeries> devices) {
  Reasons reasons;
  for (std::string text :
       {same_sensor_text(devices, Sameness::certain), one_course_text(devices, Sameness::certain),
        energy::total_text(devices)}) {
    if (!text.empty()) reasons.add(Reason::same_sensor, std::move(text));
  }
  return reasons;
}

}  // namespace

Reasons same_counter_reasons(std::span<const DeviceSeries> counts,
                             std::span<const DeviceSeries> powers) {
  const SensorGroups groups =
      one_sensor_groups(counts, [](const DeviceSeries& a, const DeviceSeries& b) {
        return a.samples.front().watts != a.samples.back().watts &&
               std::ranges::equal(a.samples, b.samples, {}, &Sample::watts, &Sample::watts);
      });
  Reasons reasons;
  if (std::string text = same_sensor_text(counts, groups, kSameAtAllTimes); !text.empty()) {
    reasons.add(Reason::same_sensor, std::move(text));
  }
  reasons.add(same_sensor_reasons(powers));
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
  add(energy::only_means_text(devices), several);
  Reasons reasons;
  if (std::string text = one_digit_text(devices); !text.empty()) {
    reasons.add(Reason::implausible_power, std::move(text));
  }
  if (std::string text = two_names_text(devices); !text.empty()) {
    reasons.add(Reason::gpu_identity_conflict, std::move(text));
  }
  add_all(Reason::several_gpus_in_one_series, several, reasons);
  reasons.add(same_sensor_reasons(devices));
  add_all(Reason::readings_repeat, repeat, reasons);
  add_all(Reason::stuck_sensor, stuck, reasons);
  return reasons;
}

}  // namespace aggregate_power
