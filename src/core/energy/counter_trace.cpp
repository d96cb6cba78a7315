// Makes a counter's readings one rising line, and finds where it cannot be trusted.
#include "core/energy/counter_trace.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "core/energy/plausibility.h"
#include "core/energy/recording_summary.h"

namespace aggregate_power {
namespace {

constexpr double kCounts32 = 4294967296.0;
constexpr double kMillijoule = 1e-3;
// Few boards draw more: a counter whose range they use up between two readings may have begun
// again.
constexpr double kStrongBoardW = 1500;
// A counter that goes up no faster does not begin again in a gap unless it can at this power, which
// is the most that is taken to be likely.
constexpr double kMostLikelyW = 2 * kMostMeanWatts;
static_assert(kStrongBoardW <= kMostLikelyW);
// A counter that stands still for so many of its usual steps is stuck.
constexpr double kStuckSteps = 10;
// So is one that stands still for so many of them and does not make up for it.
constexpr double kFlatSteps = 3;
// More falls than these are not resets: it is another quantity.
constexpr std::size_t kMostFalls = 3;
constexpr std::size_t kReadingsPerFall = 50;

// What a look at each reading and the one before it shows.
struct Neighbours {
  bool are_in_order = true;  // each later than the one before
  bool has_falls = false;
  std::size_t changes = 0;  // of the energy
  double longest_s = 0;
  double highest_rise_j = 0;
};

Neighbours compare_neighbours(std::span<const CounterSample> samples) {
  Neighbours found;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const double gap_s = samples[i].unix_s - samples[i - 1].unix_s;
    const double rise_j = samples[i].joules - samples[i - 1].joules;
    found.are_in_order &= gap_s > 0;
    found.has_falls |= rise_j < 0;
    found.changes += rise_j != 0 ? 1 : 0;
    found.longest_s = std::max(found.longest_s, gap_s);
    found.highest_rise_j = std::max(found.highest_rise_j, rise_j);
  }
  return found;
}

void join_equal_times(std::vector<CounterSample>& samples) {
  std::ranges::stable_sort(samples, {}, &CounterSample::unix_s);
  std::size_t kept = 0;
  for (const CounterSample& sample : samples) {
    if (kept > 0 && samples[kept - 1].unix_s == sample.unix_s) {
      samples[kept - 1].joules = std::max(samples[kept - 1].joules, sample.joules);
    } else {
      samples[kept++] = sample;
    }
  }
  samples.resize(kept);
}

// A reading that falls and one that is soon back where it was are no reset: what is between them is
// wrong. The same holds for a reading above the next one, which is not below the one before.
// Returns how often it fell so.
std::size_t drop_glitches(std::vector<CounterSample>& samples) {
  constexpr std::size_t kMostInARow = 5;
  std::size_t falls = 0;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double before_j = kept > 0 ? samples[kept - 1].joules : samples[i].joules;
    std::size_t back = i;
    while (back < samples.size() && back - i <= kMostInARow && samples[back].joules < before_j) {
      ++back;
    }
    if (back > i && back < samples.size() && back - i <= kMostInARow) {
      i = back;
      ++falls;
    }
    const bool is_spike = kept > 0 && i + 1 < samples.size() &&
                          samples[i + 1].joules < samples[i].joules &&
                          samples[i + 1].joules >= samples[kept - 1].joules;
    if (is_spike) {
      ++falls;
    } else {
      samples[kept++] = samples[i];
    }
  }
  samples.resize(kept);
  return falls;
}

// The usual time, or energy, between readings: of many readings, in stretches from all over the
// recording. Quantities count from `origin`.
double usual_difference(std::span<const CounterSample> samples, double CounterSample::*quantity,
                        double origin = 0) {
  constexpr std::size_t kStretches = 64;
  constexpr std::size_t kInStretch = 256;
  std::vector<double> differences;
  const auto take = [&](std::size_t begin, std::size_t count) {
    for (std::size_t i = begin; i < begin + count; ++i) {
      differences.push_back((samples[i + 1].*quantity - origin) - (samples[i].*quantity - origin));
    }
  };
  if (samples.size() < 2) return 0;
  const std::size_t count = samples.size() - 1;
  if (count <= kStretches * kInStretch) {
    differences.reserve(count);
    take(0, count);
  } else {
    differences.reserve(kStretches * kInStretch);
    const std::size_t each = count / kStretches;
    for (std::size_t i = 0; i < kStretches; ++i) {
      // Each somewhere else in its part of the recording, out of step with anything periodic.
      const double place = std::fmod(static_cast<double>(i) * std::numbers::phi, 1.0);
      const auto later = static_cast<std::size_t>(place * static_cast<double>(each - kInStretch));
      take(i * each + later, kInStretch);
    }
  }
  return upper_median(std::move(differences));
}

// The highest plausible power between two readings. Readings that follow each other quickly may
// have a step of a longer time between them.
double highest_w(std::span<const CounterSample> samples) {
  const double usual_s = usual_difference(samples, &CounterSample::unix_s);
  double highest_w = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const double seconds = samples[i].unix_s - samples[i - 1].unix_s;
    const double mean_w = (samples[i].joules - samples[i - 1].joules) / std::max(seconds, usual_s);
    if (!is_impossible(mean_w)) highest_w = std::max(highest_w, mean_w);
  }
  return highest_w;
}

// The energy at which the register may begin again: 2^32 mJ, which is what drivers count in, or
// 2^32 of a smaller unit. 0: it counted up to `highest_j`, beyond each of them.
double range_of(double highest_j, double unit_j) {
  for (const double count_j : {std::min(unit_j, kMillijoule), kMillijoule}) {
    if (highest_j < kCounts32 * count_j) return kCounts32 * count_j;
  }
  return 0;
}

}  // namespace

bool contradict(double counter_j, double power_j, double resolution_j) {
  const double apart_j = std::abs(counter_j - power_j);
  return apart_j > kCounterTolerance * power_j && apart_j > resolution_j;
}

bool refutes(double counter_j, double power_j, double resolution_j, double duration_s) {
  constexpr double kEdgesS = 2;
  const double apart_j = std::abs(counter_j - power_j);
  const double edges_j = kEdgesS * std::max(counter_j, power_j) / duration_s;
  if (apart_j <= kCounterLimit * power_j || apart_j <= resolution_j + edges_j) return false;
  const double counter_w = counter_j / duration_s;
  const bool is_of_no_gpu = is_doubtful(counter_w, counter_w, kMostBoardWatts);
  const double power_w = power_j / duration_s;
  return !is_of_no_gpu || is_doubtful(power_w, power_w, kMostBoardWatts);
}

std::string why_unbelievable(double counter_j, double power_j, double resolution_j) {
  const bool is_far_off = counter_j > 2 * power_j || power_j > 2 * counter_j;
  if (!is_far_off || !contradict(counter_j, power_j, resolution_j)) return {};
  return fmt::format("its energy counter says {:.3f} J, and its power {:.3f} J", counter_j,
                     power_j);
}

std::optional<CounterUnit> unit_by_values(double counts, double power_j) {
  // The second is AMD's: 15.259 uJ, 2^-16 J.
  static constexpr CounterUnit kUnits[] = {
      {"uJ", 1e-6}, {"2^-16 J", 1.0 / 65536}, {"mJ", 1e-3}, {"J", 1}, {"Wh", 3600}, {"kWh", 3.6e6}};
  constexpr double kNear = 3;
  for (const CounterUnit& unit : kUnits) {
    const double ratio = counts * unit.joules / power_j;
    if (ratio > 1 / kNear && ratio < kNear) return unit;
  }
  return std::nullopt;
}

double rise_in(std::span<const CounterSample> samples, Window window) {
  double rise = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    if (!window.contains(samples[i - 1].unix_s) || !window.contains(samples[i].unix_s)) continue;
    rise += std::max(0.0, samples[i].joules - samples[i - 1].joules);
  }
  return rise;
}

std::vector<Sample> mean_powers(std::vector<CounterSample> samples) {
  std::ranges::stable_sort(samples, {}, &CounterSample::unix_s);
  std::vector<Sample> means;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const double duration_s = samples[i].unix_s - samples[i - 1].unix_s;
    const double risen_j = samples[i].joules - samples[i - 1].joules;
    if (duration_s > 0 && risen_j >= 0) means.push_back({samples[i].unix_s, risen_j / duration_s});
  }
  return means;
}

CounterTrace::CounterTrace(std::vector<CounterSample> samples, double unit_j,
                           const PowerTrace* power)
    : samples_(std::move(samples)) {
  Neighbours between = compare_neighbours(samples_);
  if (!between.are_in_order) {
    join_equal_times(samples_);
    between = compare_neighbours(samples_);
  }
  if (samples_.size() < 2) {
    fault_ = "its energy counter was read less than twice";
    return;
  }
  const double first_j = samples_[0].joules;
  if (between.changes == 0) {
    fault_ = first_j == 0 ? "its energy counter is always 0, as of a GPU that has none"
                          : fmt::format("its energy counter always stays at {:.3f} J", first_j);
    return;
  }
  // Most counters only rise, and are read so often that none can begin again unseen.
  const double range_j = range_of(samples_.back().joules, unit_j);
  const bool may_begin_again = range_j > 0 && between.longest_s * kMostLikelyW >= range_j;
  if (between.has_falls || may_begin_again) {
    const std::size_t glitches = drop_glitches(samples_);
    unwrap(unit_j, glitches);
    between = compare_neighbours(samples_);
  }
  first_j_ = first_j;
  find_steps(between.changes);
  if (fault_.empty()) find_faults(between.highest_rise_j, power);
}

// Adds the range after each wrap. A fall that is none is a reset, over which the difference is
// lost.
void CounterTrace::unwrap(double unit_j, std::size_t falls) {
  const double most_w = 2 * highest_w(samples_);
  const double range_j =
      range_of(std::ranges::max(samples_, {}, &CounterSample::joules).joules, unit_j);
  double added_j = 0;
  double before_j = samples_[0].joules;  // as it was read
  for (std::size_t i = 1; i < samples_.size(); ++i) {
    const Window between = {samples_[i - 1].unix_s, samples_[i].unix_s};
    const double rise_j = samples_[i].joules - before_j;
    const double likely_j = between.duration_s() * most_w;  // at most
    const double wrapped_j = rise_j + range_j;
    if (rise_j < 0 && range_j > 0 && wrapped_j >= 0 &&
        wrapped_j <= std::min(likely_j, range_j / 8)) {
      added_j += range_j;
    } else if (rise_j < 0) {
      ++falls;
      holes_.push_back(
          {between, fmt::format("its energy counter fell by {:.3f} J, as by a reset", -rise_j)});
      added_j -= rise_j;
    } else if (range_j > 0 && std::max(likely_j, between.duration_s() * kStrongBoardW) >= range_j) {
      holes_.push_back(
          {between,
           fmt::format("its energy counter may have begun again in {:.3f} s without a reading",
                       between.duration_s())});
    }
    before_j = samples_[i].joules;
    samples_[i].joules += added_j;
  }
  if (falls > kMostFalls && falls * kReadingsPerFall > samples_.size()) {
    fault_ = fmt::format("its energy counter falls {} times: it is not a sum", falls);
  }
}

// What comes after a hole has nothing to do with what was before it. `changes` is the number of
// samples with another energy than the one before.
void CounterTrace::find_steps(std::size_t changes) {
  if (changes + 1 == samples_.size()) return;  // all of them are
  steps_.reserve(changes + 1 + holes_.size());
  auto hole = holes_.begin();
  for (const CounterSample& sample : samples_) {
    const bool ends_hole = hole != holes_.end() && hole->between.end_unix_s == sample.unix_s;
    if (ends_hole) ++hole;
    if (steps_.empty() || ends_hole || sample.joules != steps_.back().joules) {
      steps_.push_back(sample);
    }
  }
}

// Stretches in which it is stuck, or goes up as no GPU can.
void CounterTrace::find_faults(double highest_rise_j, const PowerTrace* power) {
  const std::span<const CounterSample> all_steps = steps();
  const double usual_s = usual_difference(all_steps, &CounterSample::unix_s);
  const double usual_j = usual_difference(all_steps, &CounterSample::joules, first_j_);
  usual_step_j_ = usual_j;
  // There are no others if each reading is a step, none of which is so high.
  if (steps_.empty() && !is_impossible(highest_rise_j / usual_s)) return;
  // `made_up_j` is the step after the stretch.
  const auto is_stuck = [&](Window stretch, std::size_t readings, double made_up_j) {
    if (power != nullptr) {
      const double power_j = power->energy_j(stretch);
      return power_j > kStuckSteps * usual_j ||
             (power_j > kFlatSteps * usual_j && made_up_j < power_j / 2);
    }
    return stretch.duration_s() > kStuckSteps * usual_s &&
           static_cast<double>(readings) > kStuckSteps;
  };
  std::size_t next = 0;  // the first sample that is not before a step
  for (std::size_t i = 1; i <= all_steps.size(); ++i) {
    const CounterSample& before = all_steps[i - 1];
    const bool is_last = i == all_steps.size();
    const std::size_t first = next;
    while (next < samples_.size() && (is_last || samples_[next].unix_s < all_steps[i].unix_s)) {
      ++next;
    }
    const Window flat = {before.unix_s, samples_[next - 1].unix_s};
    const double rise_j = is_last ? 0 : risen_j(all_steps[i]) - risen_j(before);
    if (flat.start_unix_s < flat.end_unix_s && is_stuck(flat, next - first, rise_j)) {
      holes_.push_back(
          {{flat.start_unix_s, is_last ? flat.end_unix_s : all_steps[i].unix_s},
           fmt::format("its energy counter stands still for {:.3f} s", flat.duration_s())});
    }
    if (is_last) break;
    const Window step = {before.unix_s, all_steps[i].unix_s};
    if (is_impossible(rise_j / std::max(step.duration_s(), usual_s))) {
      holes_.push_back({step, fmt::format("its energy counter rises by {:.3f} J in {:.3f} s",
                                          rise_j, step.duration_s())});
    }
  }
  std::ranges::stable_sort(holes_, {}, [](const Hole& hole) { return hole.between.end_unix_s; });
}

std::string CounterTrace::edge_fault(double unix_s, double max_sample_gap_s) const {
  const auto after = std::ranges::lower_bound(samples_, unix_s, {}, &CounterSample::unix_s);
  if (after == samples_.end() || after->unix_s == unix_s || after == samples_.begin()) return {};
  const double gap_s = after->unix_s - (after - 1)->unix_s;
  if (gap_s <= max_sample_gap_s) return {};
  return fmt::format("{:.3f} s between the readings of its energy counter at the window's edge",
                     gap_s);
}

std::string CounterTrace::fault(Window window, double max_sample_gap_s) const {
  if (!fault_.empty()) return fault_;
  if (!(window.start_unix_s < window.end_unix_s)) return "the window takes no time";
  if (window.start_unix_s < samples_.front().unix_s || window.end_unix_s > samples_.back().unix_s) {
    return "its energy counter was not read before and after the window";
  }
  const auto hole = std::ranges::upper_bound(
      holes_, window.start_unix_s, {}, [](const Hole& each) { return each.between.end_unix_s; });
  if (hole != holes_.end() && hole->between.start_unix_s < window.end_unix_s) return hole->why;
  if (window.end_unix_s > steps().back().unix_s) {
    return "its energy counter has no step after the window";
  }
  for (const double edge : {window.start_unix_s, window.end_unix_s}) {
    if (std::string fault = edge_fault(edge, max_sample_gap_s); !fault.empty()) return fault;
  }
  const auto first =
      std::ranges::upper_bound(steps(), window.start_unix_s, {}, &CounterSample::unix_s);
  const auto behind =
      std::ranges::upper_bound(steps(), window.end_unix_s, {}, &CounterSample::unix_s);
  const auto inside = static_cast<std::size_t>(behind - first);
  if (inside >= kFewestSteps) return {};
  return fmt::format("the window has {} step{} of its energy counter, at least {} are needed",
                     inside, inside == 1 ? "" : "s", kFewestSteps);
}

double CounterTrace::energy_until(double unix_s) const {
  const auto after = std::ranges::lower_bound(steps(), unix_s, {}, &CounterSample::unix_s);
  if (after == steps().end()) return risen_j(steps().back());
  if (after->unix_s == unix_s || after == steps().begin()) return risen_j(*after);
  const CounterSample& before = *(after - 1);
  return risen_j(before) + (unix_s - before.unix_s) / (after->unix_s - before.unix_s) *
                               (risen_j(*after) - risen_j(before));
}

double CounterTrace::energy_j(Window window) const {
  return energy_until(window.end_unix_s) - energy_until(window.start_unix_s);
}

// The height of the step that an instant is in.
double CounterTrace::step_at(double unix_s) const {
  if (steps().size() < 2) return 0;
  const auto after = std::ranges::upper_bound(steps(), unix_s, {}, &CounterSample::unix_s);
  const auto number = static_cast<std::size_t>(after - steps().begin());
  const std::size_t next = std::clamp(number, std::size_t{1}, steps().size() - 1);
  const double step_j = risen_j(steps()[next]) - risen_j(steps()[next - 1]);
  return usual_step_j_ > 0 ? std::min(step_j, kStuckSteps * usual_step_j_) : step_j;
}

double CounterTrace::resolution_j(Window window) const {
  return step_at(window.start_unix_s) + step_at(window.end_unix_s);
}

std::size_t CounterTrace::readings(Window window) const {
  const auto first =
      std::ranges::lower_bound(samples_, window.start_unix_s, {}, &CounterSample::unix_s);
  const auto behind =
      std::ranges::upper_bound(samples_, window.end_unix_s, {}, &CounterSample::unix_s);
  return static_cast<std::size_t>(behind - first);
}

}  // namespace aggregate_power
