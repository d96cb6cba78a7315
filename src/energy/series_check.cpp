// Compares the readings of devices with each other, and with what else was recorded of them.
#include "energy/series_check.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/unicode.h"
#include "core/telemetry/samples.h"
#include "energy/single_series.h"

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

bool is_whole(double watts) { return watts == std::floor(watts); }

bool are_whole(std::span<const Sample> samples) {
  return std::ranges::all_of(samples, is_whole, &Sample::watts);
}

Window stretch_of(std::span<const Sample> samples) {
  return {samples.front().unix_s, samples.back().unix_s};
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
  std::vector<double> values;   // different ones of the first, up to kFewestValues
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
    if (values.size() < kFewestValues && std::ranges::find(values, watts) == values.end()) {
      values.push_back(watts);
    }
  }
  bool is_hopeless() const { return moves >= kEnoughToTell && equal_moves * 2 < moves; }
  bool is_one_sensor() const {
    if (times < kFewestTimes || values.size() < kFewestValues) return false;
    if (moves < kFewestTimes && moves * kOneMoveIn < times) return false;  // steps of a test
    if (equal == times) return true;
    return moves >= kFewestTimes &&
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
    kept.push_back(printable(devices[group.front()].device));
    if (group.size() < 2) continue;
    std::vector<std::string> names;
    for (const std::size_t i : group) names.push_back(printable(devices[i].device));
    found.push_back(fmt::format("{}", fmt::join(names, ", ")));
  }
  return fmt::format(
      "the readings of GPUs {} are the same at all times: they are of one sensor; --gpus {} keeps one of each",
      fmt::join(found, ", and of GPUs "), fmt::join(kept, ","));
}

// ---- Repeated readings

struct Change {
  double unix_s;
  double from_w;
  double to_w;
};

std::vector<Change> value_changes(std::span<const Sample> samples) {
  std::vector<Change> changes;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    if (samples[i].watts == samples[i - 1].watts) continue;
    changes.push_back({samples[i].unix_s, samples[i - 1].watts, samples[i].watts});
  }
  return changes;
}

double middle_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// Whether a sensor that moved gave the values: steps return to where they were.
bool are_fresh(std::span<const Change> changes) {
  std::vector<double> values = {changes.front().from_w};
  for (const Change& change : changes) values.push_back(change.to_w);
  const std::size_t runs = values.size();
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values.size() >= std::min(runs, kFewestValues);
}

// Whether all changes are of the last digit: then a rounded value wavers.
bool waver(std::span<const Change> changes) {
  double least_w = std::numeric_limits<double>::infinity();
  double most_w = 0;
  for (const Change& change : changes) {
    const double step_w = std::abs(change.to_w - change.from_w);
    least_w = std::min(least_w, step_w);
    most_w = std::max(most_w, step_w);
  }
  return most_w < 1.5 * least_w;
}

// ---- Stuck sensors

constexpr std::size_t kFewestReadings = 20;
constexpr double kFifth = 0.2;
constexpr double kWorkingPct = 20;   // of utilization
constexpr double kIdleLevel = 1.25;  // an idle GPU draws at most so many times the least of others
constexpr double kIdleShare = 0.6;   // of its highest reading
constexpr double kAtLimit = 0.97;    // of the highest reading: it may be held there

bool is_constant(std::span<const Sample> samples) {
  return samples.size() >= kFewestReadings &&
         std::ranges::all_of(
             samples, [&](const Sample& sample) { return sample.watts == samples.front().watts; });
}

struct Range {
  double least = 0;
  double highest = 0;
};

// Without a few on both sides: the recorder may be at fault.
Range usual_range(std::vector<double> values) {
  constexpr std::size_t kOdd = 2;
  if (values.size() < kFewestReadings / 2) return {};
  std::ranges::sort(values);
  return {values[kOdd], values[values.size() - 1 - kOdd]};
}

Range usual_range(std::span<const Sample> samples) {
  std::vector<double> watts;
  for (const Sample& sample : samples) watts.push_back(sample.watts);
  return usual_range(std::move(watts));
}

bool changes_much(const Range& range) {
  return range.highest > 0 && range.highest - range.least > kFifth * range.highest;
}

double mean_reading_w(std::span<const Sample> samples) {
  double sum_w = 0;
  for (const Sample& sample : samples) sum_w += sample.watts;
  return samples.empty() ? 0 : sum_w / static_cast<double>(samples.size());
}

// Where a device's power is one value.
struct Constant {
  std::span<const Sample> samples;
  bool is_of_window = false;  // and elsewhere the power changes
};

std::optional<Constant> constant_in(const DeviceSeries& device, const SeriesRules& rules) {
  if (is_constant(device.samples)) return Constant{device.samples};
  const std::span<const Sample> inside = samples_in(device.samples, rules.window);
  if (!is_constant(inside)) return std::nullopt;
  const double watts = inside.front().watts;
  auto begin = static_cast<std::size_t>(inside.data() - device.samples.data());
  std::size_t end = begin + inside.size();
  while (begin > 0 && device.samples[begin - 1].watts == watts) --begin;
  while (end < device.samples.size() && device.samples[end].watts == watts) ++end;
  return Constant{device.samples.subspan(begin, end - begin), true};
}

// Whether its other readings vary as a sensor's do, and not as steps between levels.
bool varies_elsewhere(const DeviceSeries& device, const Constant& constant) {
  constexpr std::size_t kNoisy = 5;
  const Window when = stretch_of(constant.samples);
  std::set<double> values;
  for (const Sample& sample : device.samples) {
    if (!when.contains(sample.unix_s)) values.insert(sample.watts);
    if (values.size() >= kNoisy) return true;
  }
  return false;
}

// What changed by more than a fifth while the device's power did not; empty: nothing.
std::string what_moved(std::span<const DeviceSeries> devices, std::size_t own,
                       const Constant& constant) {
  const DeviceSeries& device = devices[own];
  const double watts = constant.samples.front().watts;
  const Range whole = usual_range(device.samples);
  const bool is_at_limit = is_whole(watts) && watts >= kAtLimit * whole.highest;
  if (constant.is_of_window && is_at_limit) return {};
  const Range used = usual_range(device.utilization_pct);
  if (used.highest >= kWorkingPct && used.least <= used.highest / 2) {
    return fmt::format("its utilization went from {:g} to {:g} %", used.least, used.highest);
  }
  if (constant.is_of_window && !is_whole(watts) && used.least >= kWorkingPct &&
      varies_elsewhere(device, constant)) {
    return fmt::format("its utilization was {:g} % or more, and its other readings vary",
                       used.least);
  }
  const Range heat = usual_range(device.temperature_c);
  if (!is_whole(watts) && changes_much(heat)) {
    return fmt::format("its temperature went from {:g} to {:g} C", heat.least, heat.highest);
  }
  const bool is_idle = watts <= kIdleLevel * whole.least && watts <= kIdleShare * whole.highest;
  if (constant.is_of_window && is_idle) return {};
  const Window when = stretch_of(constant.samples);
  std::vector<double> least_w;  // of the others
  double highest_w = 0;
  std::optional<Range> moved;
  std::string whose;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (i == own) continue;
    const Range range = usual_range(samples_in(devices[i].samples, when));
    least_w.push_back(range.least);
    highest_w = std::max(highest_w, range.highest);
    if (!changes_much(range) || (moved && range.highest <= moved->highest)) continue;
    moved = range;
    whose = devices[i].device;
  }
  if (!moved) return {};
  // An idle GPU draws about as much as others when they are idle, but never nothing at all.
  std::erase_if(least_w, [&](double least) { return least > kIdleShare * highest_w; });
  const double idle_w = least_w.empty() ? 0 : std::ranges::max(least_w);
  if (watts > 0 && watts <= kIdleLevel * idle_w) return {};
  return fmt::format("GPU {} went from {:.6g} to {:.6g} W", printable(whose), moved->least,
                     moved->highest);
}

// A die whose board another one measures states nothing.
std::string without_zeros(std::span<const DeviceSeries> devices) {
  std::vector<std::string> others;
  for (const DeviceSeries& device : devices) {
    const bool has_power =
        std::ranges::any_of(device.samples, [](const Sample& sample) { return sample.watts > 0; });
    if (has_power) others.push_back(printable(device.device));
  }
  return fmt::format("; if others measure its board, --gpus {} leaves it out",
                     fmt::join(others, ","));
}

// A sensor of one value through idle and load, or through the window.
std::string stuck_text(std::span<const DeviceSeries> devices, std::size_t own,
                       const SeriesRules& rules) {
  const std::optional<Constant> constant = constant_in(devices[own], rules);
  if (!constant) return {};
  const std::string moved = what_moved(devices, own, *constant);
  if (moved.empty()) return {};
  double total_w = 0;
  for (const DeviceSeries& device : devices) {
    total_w += mean_reading_w(samples_in(device.samples, rules.window));
  }
  const double watts = constant->samples.front().watts;
  return fmt::format(
      "GPU {} reads {:.6g} W in all {} samples{} while {}; it is {:.1f} % of the energy{}",
      printable(devices[own].device), watts, constant->samples.size(),
      constant->is_of_window ? " around the window" : "", moved,
      total_w > 0 ? 100 * watts / total_w : 0, watts > 0 ? "" : without_zeros(devices));
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
std::string several_gpus_text(const DeviceSeries& device, const SeriesRules& rules) {
  constexpr std::size_t kEnough = 64;
  constexpr std::size_t kMost = 1 << 13;
  std::span<const Sample> samples = samples_in(device.samples, rules.window);
  if (samples.size() < kEnough) samples = device.samples;
  SingleSeries series;
  series.take(samples.first(std::min(samples.size(), kMost)));
  const std::string doubt = series.doubt_of_device();
  if (doubt.empty()) return {};
  return fmt::format("GPU {} has {}: it seems to be several GPUs", printable(device.device), doubt);
}

std::string repeat_text(const DeviceSeries& device, const SeriesRules& rules) {
  const std::optional<double> found_s = refresh_s(device.samples);
  if (!found_s || *found_s <= rules.max_sample_gap_s) return {};
  return fmt::format(
      "GPU {} has a new reading every {:.3g} s only, although it was sampled every {:.3g} s; the longest gap allowed is {:g} s",
      printable(device.device), *found_s, mean_interval_s(device.samples), rules.max_sample_gap_s);
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
  if (!of_two_recordings) return Sameness::none;
  const double apart_w = are_whole(few) == are_whole(many) ? kTenthOfWatt : kRounded;
  const Agreement found = agreement(few, many, apart_w);
  if (found.is_one_sensor() && found.range_w() >= kClearRange * apart_w) return Sameness::certain;
  const bool is_possible = found.times >= kFewestTimes && found.equal == found.times &&
                           found.range_w() > kOneStepShare * found.highest_w;
  return is_possible ? Sameness::possible : Sameness::none;
}

std::optional<double> refresh_s(std::span<const Sample> samples) {
  constexpr double kMostRepeat = 0.5;  // changes per sample
  constexpr double kRegular = 0.9;     // of the times between changes
  constexpr double kByChance = 2e-3;
  constexpr double kManySteps = 8;  // samples per value
  const std::vector<Change> changes = value_changes(samples);
  if (changes.size() < 3) return std::nullopt;
  const double step_s = mean_interval_s(samples);
  if (static_cast<double>(changes.size()) >
      kMostRepeat * 1.1 * static_cast<double>(samples.size())) {
    return std::nullopt;
  }
  if (!are_fresh(changes) || waver(changes)) return std::nullopt;
  std::vector<double> between_s;
  for (std::size_t i = 1; i < changes.size(); ++i) {
    between_s.push_back(changes[i].unix_s - changes[i - 1].unix_s);
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

std::vector<ConstantStretch> constant_stretches(std::span<const DeviceSeries> devices,
                                                const SeriesRules& rules) {
  std::vector<ConstantStretch> found;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (const auto constant = constant_in(devices[i], rules)) {
      found.push_back({i, stretch_of(constant->samples)});
    }
  }
  return found;
}

Reasons series_reasons(std::span<const DeviceSeries> devices, const SeriesRules& rules) {
  std::vector<std::string> several;
  std::vector<std::string> repeat;
  std::vector<std::string> stuck;
  const auto add = [](std::string text, std::vector<std::string>& texts) {
    if (!text.empty()) texts.push_back(std::move(text));
  };
  for (std::size_t i = 0; i < devices.size(); ++i) {
    add(several_gpus_text(devices[i], rules), several);
    add(repeat_text(devices[i], rules), repeat);
    add(stuck_text(devices, i, rules), stuck);
  }
  Reasons reasons;
  add_all(Reason::several_gpus_in_one_series, several, reasons);
  if (std::string text = same_sensor_text(devices); !text.empty()) {
    reasons.add(Reason::same_sensor, std::move(text));
  }
  add_all(Reason::readings_repeat, repeat, reasons);
  add_all(Reason::stuck_sensor, stuck, reasons);
  return reasons;
}

}  // namespace aggregate_power
