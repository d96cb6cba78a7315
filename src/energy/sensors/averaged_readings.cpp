// Follows the power from one level to the other at both edges of a window.
#include "energy/sensors/averaged_readings.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/energy/recording_summary.h"
#include "core/telemetry/samples.h"

namespace aggregate_power::energy {
namespace {

constexpr double kLeastStep = 0.2;    // of the power at the window's end
constexpr double kWaver = 0.06;       // of the step, which noise may go back on a slow edge
constexpr std::size_t kFewestOn = 3;  // samples on an edge
constexpr double kBefore_s = 20;

// The levels of a load, before the window and at its end.
struct Levels {
  double low_w = 0;
  double high_w = 0;

  double step_w() const { return high_w - low_w; }
  double at(double share) const { return low_w + share * step_w(); }
  double share_of(double watts) const { return (watts - low_w) / step_w(); }
};

std::optional<Levels> levels_at(std::span<const Sample> samples, Window window) {
  constexpr std::size_t kFewestBefore = 3;
  constexpr std::size_t kFewestInside = 6;
  constexpr double kJust_s = 1e-3;  // a sample at the start may show the load
  const std::span<const Sample> before =
      samples_in(samples, {window.start_unix_s - kBefore_s, window.start_unix_s - kJust_s});
  const std::span<const Sample> inside = samples_in(samples, window);
  if (before.size() < kFewestBefore || inside.size() < kFewestInside) return std::nullopt;
  const std::size_t last = std::max<std::size_t>(3, inside.size() / 10);
  const Levels levels = {median_w(before), median_w(inside.last(last))};
  if (levels.step_w() < kLeastStep * levels.high_w) return std::nullopt;
  const bool is_steady = std::ranges::all_of(before.last(kFewestBefore), [&](const Sample& sample) {
    return std::abs(levels.share_of(sample.watts)) <= 2 * kWaver;
  });
  return is_steady ? std::optional(levels) : std::nullopt;
}

// Seconds after an instant at which the power has made 10, 50 and 90 % of a step.
struct SlowEdge {
  double first_s = 0;
  double middle_s = 0;
  double last_s = 0;
  std::size_t samples = 0;  // between the first and the last
};

// `done(watts)`: the share of the step. Nullopt: it is not made, or goes back on the way.
template <class Done>
std::optional<SlowEdge> edge_from(std::span<const Sample> samples, double unix_s, Done done) {
  SlowEdge edge;
  double* const wanted[] = {&edge.first_s, &edge.middle_s, &edge.last_s};
  constexpr double kShares[] = {0.1, 0.5, 0.9};
  std::size_t next = 0;
  double most = 0;
  const auto first = std::ranges::lower_bound(samples, unix_s, {}, &Sample::unix_s);
  for (auto sample = first; sample != samples.end() && next < std::size(kShares); ++sample) {
    const double share = done(sample->watts);
    if (next > 0 && share < most - kWaver) return std::nullopt;
    const Sample& before = sample == samples.begin() ? *sample : *(sample - 1);
    const double share_before = std::min(done(before.watts), share);
    while (next < std::size(kShares) && share >= kShares[next]) {
      const double part =
          share > share_before ? (kShares[next] - share_before) / (share - share_before) : 1;
      *wanted[next] = before.unix_s + std::clamp(part, 0.0, 1.0) * (sample->unix_s - before.unix_s);
      *wanted[next++] -= unix_s;
    }
    if (next > 0 && next < std::size(kShares)) ++edge.samples;
    most = std::max(most, share);
  }
  return next == std::size(kShares) ? std::optional(edge) : std::nullopt;
}

// It begins at the instant, and most of the time is on its way: a wrong clock has steep edges, and
// later.
bool is_slow(const SlowEdge& edge) {
  constexpr double kBeginsSoon = 0.35;
  constexpr double kLong = 1.2;
  return edge.samples >= kFewestOn && edge.middle_s > 0 &&
         edge.first_s <= kBeginsSoon * edge.middle_s &&
         edge.last_s - edge.first_s >= kLong * edge.middle_s;
}

// Whether readings hardly move against each other, as means of many do: a load of its own with slow
// edges has noise. On a straight line three readings in turn have no second difference. `load_w` is
// the load's power above idle.
bool are_smooth(std::span<const Sample> samples, double load_w) {
  constexpr double kHardly = 0.0025;
  std::vector<double> bends_w;
  for (std::size_t i = 2; i < samples.size(); ++i) {
    bends_w.push_back(std::abs(samples[i].watts - 2 * samples[i - 1].watts + samples[i - 2].watts));
  }
  return quantile_of(std::move(bends_w), 0.5) <= kHardly * load_w;
}

// The energy of a load that is read after an instant, until its power is back.
double read_after_j(std::span<const Sample> samples, double unix_s, const Levels& levels) {
  constexpr double kGone = 0.02;
  double joules = 0;
  const auto first = std::ranges::lower_bound(samples, unix_s, {}, &Sample::unix_s);
  for (auto sample = first; sample != samples.end(); ++sample) {
    if (sample == samples.begin()) continue;
    const Sample& before = *(sample - 1);
    const double from_s = std::max(before.unix_s, unix_s);
    const double over_w = (before.watts + sample->watts) / 2 - levels.low_w;
    joules += std::max(0.0, over_w) * (sample->unix_s - from_s);
    if (levels.share_of(sample->watts) <= kGone) break;
  }
  return joules;
}

// A rise over exactly the whole window: the mean is over a longer time.
bool rises_throughout(const SlowEdge& rise, Window window) {
  constexpr double kOff = 0.07;
  const double length_s = window.duration_s();
  const auto is_at = [&](double at_s, double share) {
    return std::abs(at_s / length_s - share) <= kOff;
  };
  return rise.samples >= 2 * kFewestOn && is_at(rise.first_s, 0.1) && is_at(rise.middle_s, 0.5) &&
         is_at(rise.last_s, 0.9);
}

}  // namespace

AveragedEdges averaged_edges(std::span<const Sample> samples, Window window) {
  constexpr double kAlike = 0.25;
  const std::optional<Levels> levels = levels_at(samples, window);
  if (!levels) return {};
  AveragedEdges found{.has_edge = true};
  const auto risen = [&](double watts) { return levels->share_of(watts); };
  const auto fallen = [&](double watts) { return 1 - levels->share_of(watts); };
  const auto end = std::ranges::upper_bound(samples, window.end_unix_s, {}, &Sample::unix_s);
  const std::span<const Sample> until_end = {samples.begin(), end};
  const auto rise = edge_from(until_end, window.start_unix_s, risen);
  const double after_s = samples.back().unix_s - window.end_unix_s;
  if (!rise || !is_slow(*rise)) return found;
  const std::span<const Sample> inside = samples_in(samples, window);
  const double step_s = mean_step_s(inside);
  const auto fall = edge_from(samples, window.end_unix_s, fallen);
  const double missing_j = read_after_j(samples, window.end_unix_s, *levels);
  if (fall && is_slow(*fall) &&
      std::abs(fall->middle_s - rise->middle_s) <=
          kAlike * std::max(fall->middle_s, rise->middle_s) + step_s / 2) {
    found.readings = {2 * missing_j / levels->step_w(), missing_j};
  } else if (rises_throughout(*rise, window)) {
    const double way_s = rise->last_s - rise->first_s;
    const bool falls = fall && std::abs((fall->last_s - fall->first_s) / way_s - 1) <= kAlike;
    const bool goes_on = !fall && after_s > 3 * step_s;
    if (falls) {
      found.readings = {fall->middle_s + rise->middle_s, missing_j};
    } else if (goes_on) {
      found.readings = {window.duration_s(), 0, false};
    }
  }
  if (found.readings) {
    const double seen = std::min(1.0, window.duration_s() / found.readings->over_s);
    found.readings->are_smooth = are_smooth(inside, levels->step_w() / seen);
  }
  return found;
}

}  // namespace aggregate_power::energy
