// Compares readings outside a window with those inside it.
#include "energy/uncertainty/window_edges.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/energy/quantile.h"

namespace aggregate_power {
namespace {

constexpr double kReachOfEdge_s = 2;     // beyond that the load does not begin with the window
constexpr double kIdleOfLoad = 0.6;      // idle is below this share of the load's power
constexpr double kStillShare = 0.08;     // of the step; idle moves by less
constexpr double kTolerance_s = 0.03;    // of delay and clock
constexpr double kLongestFall_s = 0.35;  // from the first request that ends to the last one
constexpr double kLongestRise_s = 0.4;
constexpr double kLeastEdge_s = 0.2;    // of either, as readings are late by some of that
constexpr std::size_t kFewestIdle = 2;  // readings that show what idle is
constexpr double kFullShare = 0.98;     // of the step: a reading that high shows nothing but load
constexpr double kLongestEdge_s = 4;    // from nothing but idle to nothing but load

// Idle and load on one side of the window.
struct LoadStep {
  double idle_w = 0;
  double height_w = 0;
  double threshold_w = 0;  // a reading this far from idle shows the load
};

std::optional<LoadStep> step_beside(const std::vector<double>& outside,
                                    const std::vector<double>& inside) {
  if (outside.size() < kFewestIdle || inside.size() < 2) return std::nullopt;
  LoadStep step;
  step.idle_w = quantile_of(outside, 0.5);
  const double load_w = quantile_of(inside, 0.5);
  step.height_w = load_w - step.idle_w;
  double moves_w = 0;
  for (const double watts : outside) moves_w = std::max(moves_w, std::abs(watts - step.idle_w));
  step.threshold_w = std::max(2 * moves_w, 0.02 * step.height_w);
  if (step.idle_w > kIdleOfLoad * load_w || moves_w > kStillShare * step.height_w) {
    return std::nullopt;
  }
  return step;
}

// The rest of an edge that takes longer than a reading: a benchmark's last requests end one after
// the other. Stays at the given instants if no reading near them shows nothing but the load.
double full_load_from(std::span<const PlacedReading> readings, std::size_t rising, double window_s,
                      const LoadStep& step) {
  const double edge_unix_s = readings[rising].end_unix_s;
  for (std::size_t i = rising; i < readings.size(); ++i) {
    const double start_unix_s = readings[i].end_unix_s - window_s;
    if (start_unix_s > edge_unix_s + kLongestEdge_s) break;
    if (readings[i].watts - step.idle_w >= kFullShare * step.height_w) {
      return std::max(edge_unix_s, start_unix_s);
    }
  }
  return edge_unix_s;
}

double full_load_until(std::span<const PlacedReading> readings, std::size_t falling,
                       double from_unix_s, const LoadStep& step) {
  for (std::size_t i = falling + 1; i-- > 0;) {
    const double end_unix_s = readings[i].end_unix_s - readings[i].age_s;
    if (end_unix_s < from_unix_s - kLongestEdge_s) break;
    if (readings[i].watts - step.idle_w >= kFullShare * step.height_w) {
      return std::min(from_unix_s, end_unix_s);
    }
  }
  return from_unix_s;
}

// A slow edge is several steps, one in each of the sensor's windows: their variances add up.
PowerJump jump_between(double from_unix_s, double to_unix_s, double height_w, double window_s) {
  const double steps =
      std::max(1.0, std::round((to_unix_s - from_unix_s) / std::max(window_s, 0.1)));
  return {from_unix_s, to_unix_s, height_w / std::sqrt(steps)};
}

// Readings before, inside and after a window.
struct Sides {
  std::vector<double> before;
  std::vector<double> inside;
  std::vector<double> after;
};

Sides sides_at(std::span<const PlacedReading> readings, double window_s, Window window,
               double apart_s) {
  Sides sides;
  for (const PlacedReading& reading : readings) {
    const double start_unix_s = reading.end_unix_s - reading.age_s - window_s;
    if (reading.end_unix_s <= window.start_unix_s - apart_s) {
      sides.before.push_back(reading.watts);
    } else if (start_unix_s >= window.end_unix_s + apart_s) {
      sides.after.push_back(reading.watts);
    } else if (start_unix_s >= window.start_unix_s && reading.end_unix_s <= window.end_unix_s) {
      sides.inside.push_back(reading.watts);
    }
  }
  return sides;
}

// A load may reach out of the window: idle is what readings farther away show, if there are some.
Sides sides_of(std::span<const PlacedReading> readings, double window_s, Window window) {
  Sides near = sides_at(readings, window_s, window, -kTolerance_s);
  Sides far = sides_at(readings, window_s, window, kReachOfEdge_s);
  if (far.before.size() >= kFewestIdle) near.before = std::move(far.before);
  if (far.after.size() >= kFewestIdle) near.after = std::move(far.after);
  return near;
}

}  // namespace

WindowEdges window_edges(std::span<const PlacedReading> readings, double window_s, Window window) {
  const Sides sides = sides_of(readings, window_s, window);
  const auto& [before, inside, after] = sides;
  WindowEdges edges;
  if (const std::optional<LoadStep> step = step_beside(before, inside)) {
    for (std::size_t i = before.size(); i < readings.size(); ++i) {
      if (readings[i].watts - step->idle_w <= step->threshold_w) continue;
      const PlacedReading& idle = readings[i - 1];
      const double from_unix_s = idle.end_unix_s - idle.age_s;
      if (from_unix_s > window.start_unix_s + kReachOfEdge_s) break;
      edges.rise = jump_between(from_unix_s, full_load_from(readings, i, window_s, *step),
                                step->height_w, window_s);
      break;
    }
  }
  if (const std::optional<LoadStep> step = step_beside(after, inside)) {
    for (std::size_t i = readings.size() - after.size(); i-- > 0;) {
      if (readings[i].watts - step->idle_w <= step->threshold_w) continue;
      const double from_unix_s = readings[i].end_unix_s - readings[i].age_s - window_s;
      const double to_unix_s = readings[i + 1].end_unix_s - window_s;
      if (to_unix_s < window.end_unix_s - kReachOfEdge_s) break;
      edges.fall =
          jump_between(full_load_until(readings, i, std::min(from_unix_s, to_unix_s - 0.05), *step),
                       to_unix_s, -step->height_w, window_s);
      break;
    }
  }
  return edges;
}

std::optional<PowerJump> rise_inside(const PowerJump& rise, Window window) {
  const double start = window.start_unix_s;
  if (rise.to_unix_s < start || rise.from_unix_s > start) return std::nullopt;
  const double to = std::max(rise.to_unix_s, start + kLeastEdge_s);
  return PowerJump{start, std::min(to, start + kLongestRise_s), rise.height_w};
}

std::optional<PowerJump> fall_inside(const PowerJump& fall, Window window) {
  const double end = window.end_unix_s;
  if (fall.from_unix_s > end || fall.to_unix_s < end) return std::nullopt;
  const double from = std::min(fall.from_unix_s, end - kLeastEdge_s);
  return PowerJump{std::max(from, end - kLongestFall_s), end, fall.height_w};
}

}  // namespace aggregate_power
