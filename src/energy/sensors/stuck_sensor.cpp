// Compares a device's constant power with what else moved meanwhile.
#include "aggregate_power/gpu.h"
#include "energy/sensors/series_check.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "core/telemetry/samples.h"

namespace aggregate_power::energy {
namespace {

constexpr std::size_t kFewestReadings = 20;
constexpr double kFifth = 0.2;
constexpr double kOneAskS = 0.05;      // a recorder asks all devices within that
constexpr double kBusyPct = 20;        // of utilization
constexpr double kSurelyBusyPct = 50;  // where only a part of the window is constant
constexpr double kIdlePct = 5;
constexpr double kIdleLevel = 1.25;  // an idle GPU draws at most so many times the least of others
constexpr double kWholeIdleLevel = 1.5;  // the same, if it draws one whole number of watts
constexpr double kSurelyIdle = 0.25;     // of the others' highest, if none of them is ever idle
constexpr double kIdleShare = 0.6;       // of its highest reading
constexpr double kAboveLimit = 1.005;  // of the value: a GPU that is held at a limit draws no more
constexpr double kAroundS = 10;        // on both sides of the window: its load begins and ends
constexpr const char* kLoadItself = "the load begins and ends";

bool is_whole_watts(double watts) { return watts == std::floor(watts); }

bool is_constant(std::span<const Sample> samples) {
  return samples.size() >= kFewestReadings &&
         std::ranges::all_of(
             samples, [&](const Sample& sample) { return sample.watts == samples.front().watts; });
}

Window span_of(std::span<const Sample> samples) {
  return {samples.front().unix_s, samples.back().unix_s};
}

struct ValueRange {
  double least = 0;
  double highest = 0;
};

// Without a few on both sides: the recorder may be at fault.
ValueRange usual_range(std::vector<double> values) {
  constexpr std::size_t kOdd = 2;
  if (values.size() < kFewestReadings / 2) return {};
  std::ranges::sort(values);
  return {values[kOdd], values[values.size() - 1 - kOdd]};
}

ValueRange usual_range(std::span<const Sample> samples) {
  std::vector<double> watts;
  for (const Sample& sample : samples) watts.push_back(sample.watts);
  return usual_range(std::move(watts));
}

bool changes_much(const ValueRange& range) {
  return range.highest > 0 && range.highest - range.least > kFifth * range.highest;
}

double mean_reading_w(std::span<const Sample> samples) {
  return samples.empty() ? 0
                         : summed(samples, &Sample::watts) / static_cast<double>(samples.size());
}

// Where a device's power is one value.
struct Constant {
  std::span<const Sample> samples;
  bool is_of_window = false;  // and elsewhere the power changes
  bool is_of_part = false;    // of the window only

  double watts() const { return samples.front().watts; }
};

// The longest stretch of one value around or inside of the window.
std::span<const Sample> longest_constant(const DeviceSeries& device, Window window) {
  const std::span<const Sample> all = device.samples;
  const std::span<const Sample> inside = samples_in(all, window);
  std::span<const Sample> longest;
  if (inside.empty()) return longest;
  auto begin = static_cast<std::size_t>(inside.data() - all.data());
  const std::size_t last = begin + inside.size();
  while (begin > 0 && all[begin - 1].watts == all[begin].watts) --begin;
  while (begin < last) {
    std::size_t end = begin + 1;
    while (end < all.size() && all[end].watts == all[begin].watts) ++end;
    if (end - begin > longest.size()) longest = all.subspan(begin, end - begin);
    begin = end;
  }
  return longest;
}

std::optional<Constant> constant_in(const DeviceSeries& device, const SeriesRules& rules) {
  if (is_constant(device.samples)) return Constant{device.samples};
  const std::span<const Sample> longest = longest_constant(device, rules.window);
  if (longest.size() < kFewestReadings) return std::nullopt;
  const Window stretch = span_of(longest);
  const Window all = span_of(device.samples);
  const Window window = {std::max(rules.window.start_unix_s, all.start_unix_s),
                         std::min(rules.window.end_unix_s, all.end_unix_s)};
  const double inside_s = std::min(stretch.end_unix_s, window.end_unix_s) -
                          std::max(stretch.start_unix_s, window.start_unix_s);
  if (inside_s < kFifth * window.duration_s()) return std::nullopt;
  const bool is_of_part =
      samples_in(longest, rules.window).size() < samples_in(device.samples, rules.window).size();
  return Constant{longest, true, is_of_part};
}

// Whether a reading that stays says nothing: the sensor shows whole watts, or steps that are a
// large share of it.
bool is_coarse_sensor(const DeviceSeries& device, double watts) {
  constexpr double kCoarseShare = 0.005;
  constexpr std::size_t kMostLevels = 64;
  std::set<double> values;
  bool is_whole = true;
  for (const Sample& sample : device.samples) {
    is_whole = is_whole && is_whole_watts(sample.watts);
    if (values.size() < kMostLevels) values.insert(sample.watts);
  }
  if (is_whole) return true;
  if (values.size() < 2) return false;
  double least_w = watts;
  for (auto value = std::next(values.begin()); value != values.end(); ++value) {
    least_w = std::min(least_w, *value - *std::prev(value));
  }
  return least_w > kCoarseShare * watts;
}

// Whether its other readings vary as a sensor's do, and not as steps between levels.
bool varies_elsewhere(const DeviceSeries& device, const Constant& constant) {
  constexpr std::size_t kNoisy = 5;
  const Window when = span_of(constant.samples);
  std::set<double> values;
  for (const Sample& sample : device.samples) {
    if (!when.contains(sample.unix_s)) values.insert(sample.watts);
    if (values.size() >= kNoisy) return true;
  }
  return false;
}

// How often the next reading is the same, outside of the constant stretch.
struct Repeats {
  std::size_t pairs = 0;
  std::size_t repeats = 0;
  std::size_t longest = 1;  // samples with one value

  double share() const { return static_cast<double>(repeats) / static_cast<double>(pairs); }
};

Repeats repeats_elsewhere(const DeviceSeries& device, const Constant& constant, double least_w,
                          double most_w) {
  const Window when = span_of(constant.samples);
  Repeats found;
  std::size_t alike = 1;
  for (std::size_t i = 1; i < device.samples.size(); ++i) {
    const Sample& before = device.samples[i - 1];
    const Sample& sample = device.samples[i];
    if (when.contains(before.unix_s) || when.contains(sample.unix_s)) continue;
    if (before.watts < least_w || before.watts > most_w) continue;
    ++found.pairs;
    found.repeats += sample.watts == before.watts ? 1 : 0;
    alike = sample.watts == before.watts ? alike + 1 : 1;
    found.longest = std::max(found.longest, alike);
  }
  return found;
}

// Whether a value that stays is unlike the sensor, whatever the load is: readings of about the same
// power, or, unless it is idle, those at work, or all if there are few, repeat in `most_share` of
// the cases at most, and never for so long.
bool is_unlike_itself(const DeviceSeries& device, const Constant& constant, bool is_idle,
                      double most_share) {
  constexpr double kNear = 0.1;  // of the value
  constexpr double kAtWork = 0.6;
  constexpr std::size_t kFewestPairs = 8;
  constexpr std::size_t kFewestWhole = 30;
  constexpr std::size_t kManyTimes = 10;
  constexpr double kAnyWatts = 1e9;
  const double watts = constant.watts();
  if (!constant.is_of_window || watts <= 0) return false;
  Repeats other =
      is_idle ? repeats_elsewhere(device, constant, (1 - kNear) * watts, (1 + kNear) * watts)
              : repeats_elsewhere(device, constant, kAtWork * watts, kAnyWatts);
  const bool is_coarse = is_coarse_sensor(device, watts);
  if (!is_idle && !is_coarse && other.pairs < kFewestPairs) {
    other = repeats_elsewhere(device, constant, 0, kAnyWatts);
  }
  const std::size_t held = constant.samples.size();
  return other.pairs >= kFewestPairs && other.share() <= most_share &&
         held >= kManyTimes * other.longest && (held >= kFewestWhole || !is_coarse);
}

// A GPU that is held at its limit draws as much, to the watt, and never more.
bool may_be_at_limit(const DeviceSeries& device, const Constant& constant) {
  const double most_w = std::ranges::max(device.samples, {}, &Sample::watts).watts;
  return constant.is_of_window && constant.watts() * kAboveLimit >= most_w &&
         is_coarse_sensor(device, constant.watts());
}

// How the power of two devices changes at the same times, in the constant stretch of the first and
// elsewhere.
struct Company {
  std::size_t moves = 0;         // elsewhere, of either by much
  std::size_t moves_inside = 0;  // of the other
  double products = 0;
  double squares = 0;
  double others = 0;

  bool is_close(std::size_t fewest_moves) const {
    constexpr double kClose = 0.8;
    return moves >= fewest_moves && moves_inside >= fewest_moves &&
           products >= kClose * std::sqrt(squares * others);
  }
};

Company company_of(const DeviceSeries& device, const DeviceSeries& other,
                   const Constant& constant) {
  const Window when = span_of(constant.samples);
  const double large_w = kFifth * std::ranges::max(other.samples, {}, &Sample::watts).watts;
  Company company;
  std::size_t at = 0;
  std::optional<double> before_w;
  for (std::size_t i = 0; i < device.samples.size(); ++i) {
    const double unix_s = device.samples[i].unix_s;
    while (at + 1 < other.samples.size() && other.samples[at + 1].unix_s <= unix_s + kOneAskS) ++at;
    const double other_w = other.samples[at].watts;
    if (before_w) {
      const double own = device.samples[i].watts - device.samples[i - 1].watts;
      const double others = other_w - *before_w;
      const bool is_inside = when.contains(unix_s);
      const bool is_large = std::abs(others) > large_w;
      company.moves_inside += is_inside && is_large ? 1 : 0;
      company.moves += !is_inside && (is_large || std::abs(own) > large_w) ? 1 : 0;
      company.products += is_inside ? 0 : own * others;
      company.squares += is_inside ? 0 : own * own;
      company.others += is_inside ? 0 : others * others;
    }
    before_w = other_w;
  }
  return company;
}

// The device whose power changes as this one's does elsewhere; nullptr: none.
const DeviceSeries* companion_of(std::span<const DeviceSeries> devices, std::size_t own,
                                 const Constant& constant, std::size_t fewest_moves) {
  if (!constant.is_of_window) return nullptr;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (i == own || devices[i].samples.empty()) continue;
    if (company_of(devices[own], devices[i], constant).is_close(fewest_moves)) return &devices[i];
  }
  return nullptr;
}

// An idle GPU draws about as much as others when they are idle, but never nothing at all.
bool is_as_idle_as(double watts, std::vector<double> least_w, double highest_w) {
  if (watts <= 0) return false;
  std::erase_if(least_w, [&](double least) { return least > kIdleShare * highest_w; });
  const bool is_whole = is_whole_watts(watts);
  if (least_w.empty()) return is_whole && watts <= kSurelyIdle * highest_w;
  return watts <= (is_whole ? kWholeIdleLevel : kIdleLevel) * std::ranges::max(least_w);
}

// What the other devices did meanwhile; empty: nothing that this one would have done, too.
std::string what_others_did(std::span<const DeviceSeries> devices, std::size_t own,
                            const Constant& constant) {
  const Window when = span_of(constant.samples);
  std::vector<double> least_w;
  double highest_w = 0;
  std::optional<ValueRange> moved;
  std::string whose;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (i == own) continue;
    const ValueRange range = usual_range(samples_in(devices[i].samples, when));
    least_w.push_back(range.least);
    highest_w = std::max(highest_w, range.highest);
    if (!changes_much(range) || (moved && range.highest <= moved->highest)) continue;
    moved = range;
    whose = devices[i].device;
  }
  if (!moved || is_as_idle_as(constant.watts(), std::move(least_w), highest_w)) return {};
  return fmt::format("GPU {} went from {:.6g} to {:.6g} W", printable(whose), moved->least,
                     moved->highest);
}

// What the device itself stated meanwhile that no power is constant with; empty: nothing.
std::string what_it_stated(const DeviceSeries& device, const Constant& constant, bool is_coarse,
                           bool may_be_held) {
  const ValueRange used = usual_range(device.utilization_pct);
  const double working_pct = constant.is_of_part ? kSurelyBusyPct : kBusyPct;
  const double resting_pct = may_be_held ? kIdlePct : used.highest / 2;
  if (used.highest >= working_pct && used.least <= resting_pct) {
    return fmt::format("its utilization went from {:g} to {:g} %", used.least, used.highest);
  }
  if (constant.is_of_window && !is_coarse && used.least >= kBusyPct &&
      varies_elsewhere(device, constant)) {
    return fmt::format("its utilization was {:g} % or more, and its other readings vary",
                       used.least);
  }
  // At a limit, the clock is what changes.
  const ValueRange clock = usual_range(device.clock_mhz);
  if (!may_be_held && clock.least > 0 && changes_much(clock)) {
    return fmt::format("its clock went from {:g} to {:g} MHz", clock.least, clock.highest);
  }
  const ValueRange heat = usual_range(device.temperature_c);
  if (!is_coarse && changes_much(heat)) {
    return fmt::format("its temperature went from {:g} to {:g} C", heat.least, heat.highest);
  }
  return {};
}

// What is to be compared with a device's constant power.
struct Judged {
  bool is_coarse = false;    // the sensor
  bool may_be_held = false;  // at a limit
  bool is_idle = false;      // by its other readings
};

Judged judged(const DeviceSeries& device, const Constant& constant) {
  const double watts = constant.watts();
  const ValueRange whole = usual_range(device.samples);
  return {is_coarse_sensor(device, watts), may_be_at_limit(device, constant),
          watts <= kIdleLevel * whole.least && watts <= kIdleShare * whole.highest};
}

// What changed by more than a fifth while the device's power did not; empty: nothing.
std::string what_moved(std::span<const DeviceSeries> devices, std::size_t own,
                       const Constant& constant) {
  const DeviceSeries& device = devices[own];
  const Judged is = judged(device, constant);
  if (std::string text = what_it_stated(device, constant, is.is_coarse, is.may_be_held);
      !text.empty()) {
    return text;
  }
  const DeviceSeries* const companion =
      is.is_idle ? nullptr : companion_of(devices, own, constant, 8);
  if (companion != nullptr) {
    return fmt::format("GPU {} changes as it does elsewhere", printable(companion->device));
  }
  if (is.may_be_held) return {};
  const double most_share = !is.is_coarse ? 0.4 : is.is_idle ? 0.05 : 0.3;
  if (is_unlike_itself(device, constant, is.is_idle, most_share)) {
    return "its other readings hardly ever repeat";
  }
  if (constant.is_of_window && is.is_idle) return {};
  const ValueRange used = usual_range(device.utilization_pct);
  const bool states_idle = device.utilization_pct.size() >= kFewestReadings / 2 &&
                           used.highest <= kIdlePct && is.is_coarse && constant.watts() > 0;
  return states_idle || constant.is_of_part ? std::string()
                                            : what_others_did(devices, own, constant);
}

// Whether a device's power stays as it is from before the window until after it.
bool stays_around(const DeviceSeries& device, Window window) {
  const std::span<const Sample> longest = longest_constant(device, window);
  if (longest.size() < kFewestReadings) return false;
  const Window stretch = span_of(longest);
  return stretch.start_unix_s <= window.start_unix_s - kAroundS &&
         stretch.end_unix_s >= window.end_unix_s + kAroundS;
}

// Whether no load and no rest can be so steady: a value with decimals, unless the device may be
// idle next to one that works.
bool hangs_around(std::span<const DeviceSeries> devices, std::size_t own, const Constant& constant,
                  Window window) {
  const double watts = constant.watts();
  const auto is_far_above = [&](const Sample& sample) {
    return watts < kSurelyIdle * sample.watts;
  };
  const bool may_be_idle = std::ranges::any_of(devices, [&](const DeviceSeries& device) {
    return std::ranges::any_of(device.samples, is_far_above);
  });
  return !may_be_idle && stays_around(devices[own], window) &&
         !is_coarse_sensor(devices[own], watts);
}

// Whether a device rests for half of the window or more, and draws more before and after that.
bool rests_in_between(const DeviceSeries& device, const Constant& constant, Window window) {
  constexpr double kAtWork = 1.5;  // of the value
  constexpr double kHalf = 0.5;
  const Window rest = span_of(constant.samples);
  if (!constant.is_of_part || rest.duration_s() < kHalf * window.duration_s()) return false;
  const auto works_in = [&](Window part) {
    return std::ranges::any_of(samples_in(device.samples, part), [&](const Sample& sample) {
      return sample.watts >= kAtWork * constant.watts();
    });
  };
  const Window all = span_of(device.samples);
  return works_in({all.start_unix_s, rest.start_unix_s}) &&
         works_in({rest.end_unix_s, all.end_unix_s});
}

// What a steady load hardly leaves as it is.
std::string what_may_have_moved(std::span<const DeviceSeries> devices, std::size_t own,
                                const Constant& constant, Window window) {
  constexpr double kMostShare = 0.75;
  constexpr std::size_t kFewestMoves = 3;
  const DeviceSeries& device = devices[own];
  const bool do_all_stay = std::ranges::all_of(
      devices, [&](const DeviceSeries& one) { return stays_around(one, window); });
  if (do_all_stay) return kLoadItself;
  if (!constant.is_of_window) return {};
  const Judged is = judged(device, constant);
  if (is_unlike_itself(device, constant, is.is_idle, kMostShare)) {
    return "its other readings repeat for shorter times";
  }
  const DeviceSeries* const companion = companion_of(devices, own, constant, kFewestMoves);
  if (companion != nullptr) {
    return fmt::format("GPU {} changes as it does elsewhere", printable(companion->device));
  }
  return rests_in_between(device, constant, window) ? "it works before and after that"
                                                    : std::string();
}

// Zeros in the window between readings of a board that never draws little: no board draws nothing
// while it is on.
struct BetweenReadings {
  std::size_t zeros = 0;
  std::size_t in_a_row = 0;
  std::size_t readings = 0;

  static constexpr std::size_t kFewest = 4;
  bool count() const {
    constexpr double kLeastShare = 0.01;  // less changes no number that is published
    return zeros >= kFewest &&
           static_cast<double>(zeros) >= kLeastShare * static_cast<double>(readings);
  }
};

BetweenReadings zeros_between(std::span<const Sample> samples, Window window) {
  constexpr double kOnW = 15;
  const auto is_on = [](const Sample& sample) { return sample.watts > kOnW; };
  const auto first = std::ranges::find_if(samples, is_on);
  const auto last = std::find_if(samples.rbegin(), samples.rend(), is_on).base();
  const auto is_little = [&](const Sample& sample) { return sample.watts != 0 && !is_on(sample); };
  if (first == samples.end() || std::ranges::any_of(samples, is_little)) return {};
  BetweenReadings found = {.readings = samples_in(samples, window).size()};
  std::size_t in_a_row = 0;
  for (const Sample& sample : samples_in(std::span(first, last), window)) {
    in_a_row = sample.watts == 0 ? in_a_row + 1 : 0;
    found.zeros += in_a_row > 0 ? 1 : 0;
    found.in_a_row = std::max(found.in_a_row, in_a_row);
  }
  return found;
}

// Then the power as a whole is not plausible, which is another reason.
bool read_nothing(std::span<const DeviceSeries> devices, Window window) {
  return std::ranges::all_of(devices, [&](const DeviceSeries& device) {
    return std::ranges::all_of(samples_in(device.samples, window),
                               [](const Sample& sample) { return sample.watts == 0; });
  });
}

std::string zeros_text(const DeviceSeries& device, const BetweenReadings& found) {
  return fmt::format(
      "GPU {} reads 0 W in {} of its {} samples in the window, and more than 15 W in all others: it was on, and the energy lacks what it drew meanwhile",
      printable(device.device), found.zeros, found.readings);
}

// A die whose board another one measures states nothing.
std::string without_zeros(std::span<const DeviceSeries> devices) {
  std::vector<std::string> others;
  for (const DeviceSeries& device : devices) {
    const bool has_power =
        std::ranges::any_of(device.samples, [](const Sample& sample) { return sample.watts > 0; });
    if (has_power) others.push_back(device.device);
  }
  return fmt::format("; if others measure its board, {} leaves it out", gpus_option(others));
}

std::string where_text(const Constant& constant) {
  if (constant.is_of_part) return " in a row";
  return constant.is_of_window ? " around the window" : "";
}

std::string text_of(std::span<const DeviceSeries> devices, std::size_t own,
                    const Constant& constant, std::string_view moved, Window window) {
  const double total_w = summed(devices, [&](const DeviceSeries& device) {
    return mean_reading_w(samples_in(device.samples, window));
  });
  const double watts = constant.watts();
  return fmt::format(
      "GPU {} reads {:.6g} W in {}{} samples{} while {}; it is {:.1f} % of the energy{}",
      printable(devices[own].device), watts, constant.is_of_part ? "" : "all ",
      constant.samples.size(), where_text(constant), moved, total_w > 0 ? 100 * watts / total_w : 0,
      watts > 0 ? "" : without_zeros(devices));
}

}  // namespace

std::vector<ConstantStretch> constant_stretches(std::span<const DeviceSeries> devices,
                                                const SeriesRules& rules) {
  std::vector<ConstantStretch> found;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (const auto constant = constant_in(devices[i], rules)) {
      found.push_back({i, span_of(constant->samples)});
    }
  }
  return found;
}

std::string stuck_text(std::span<const DeviceSeries> devices, std::size_t own,
                       const SeriesRules& rules) {
  const BetweenReadings zeros = zeros_between(devices[own].samples, rules.window);
  if (zeros.count() && !read_nothing(devices, rules.window)) {
    return zeros_text(devices[own], zeros);
  }
  const std::optional<Constant> constant = constant_in(devices[own], rules);
  if (!constant) return {};
  std::string moved = what_moved(devices, own, *constant);
  if (moved.empty() && hangs_around(devices, own, *constant, rules.window)) moved = kLoadItself;
  return moved.empty() ? moved : text_of(devices, own, *constant, moved, rules.window);
}

std::string possibly_stuck_text(std::span<const DeviceSeries> devices, std::size_t own,
                                const SeriesRules& rules) {
  const BetweenReadings zeros = zeros_between(devices[own].samples, rules.window);
  if (zeros.in_a_row >= BetweenReadings::kFewest) return zeros_text(devices[own], zeros);
  const std::optional<Constant> constant = constant_in(devices[own], rules);
  if (!constant) return {};
  const std::string moved = what_may_have_moved(devices, own, *constant, rules.window);
  return moved.empty() ? moved : text_of(devices, own, *constant, moved, rules.window);
}

}  // namespace aggregate_power::energy
