// Compares readings outside a window with those inside it.
#include "energy/window_edges.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "energy/quantile.h"

namespace aggregate_power {
namespace {

constexpr double kReachOfEdge_s = 2;     // beyond that the load does not begin with the window
constexpr double kIdleOfLoad = 0.6;      // idle is below this share of the load's power
constexpr double kStillShare = 0.08;     // of the step; idle moves by less
constexpr double kTolerance_s = 0.03;    // of delay and clock
constexpr double kLongestFall_s = 0.35;  // from the first request that ends to the last one
constexpr double kLongestRise_s = 0.2;

// Idle and load on one side of the window.
struct LoadStep {
  double idle_w = 0;
  double height_w = 0;
  double threshold_w = 0;  // a reading this far from idle shows the load
};

std::optional<LoadStep> step_of(const std::vector<double>& outside,
                                const std::vector<double>& inside) {
  if (outside.size() < 2 || inside.size() < 2) return std::nullopt;
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

}  // namespace

WindowEdges window_edges(std::span<const PlacedReading> readings, double window_s, Window window) {
  std::vector<double> before;
  std::vector<double> inside;
  std::vector<double> after;
  for (const PlacedReading& reading : readings) {
    const double start_unix_s = reading.end_unix_s - reading.age_s - window_s;
    if (reading.end_unix_s <= window.start_unix_s + kTolerance_s) {
      before.push_back(reading.watts);
    } else if (start_unix_s >= window.end_unix_s - kTolerance_s) {
      after.push_back(reading.watts);
    } else if (start_unix_s >= window.start_unix_s && reading.end_unix_s <= window.end_unix_s) {
      inside.push_back(reading.watts);
    }
  }
  WindowEdges edges;
  if (const std::optional<LoadStep> step = step_of(before, inside)) {
    for (std::size_t i = before.size(); i < readings.size(); ++i) {
      if (readings[i].watts - step->idle_w <= step->threshold_w) continue;
      const PlacedReading& idle = readings[i - 1];
      const double from_unix_s = idle.end_unix_s - idle.age_s;
      if (from_unix_s > window.start_unix_s + kReachOfEdge_s) break;
      edges.rise = {from_unix_s, readings[i].end_unix_s, step->height_w};
      break;
    }
  }
  if (const std::optional<LoadStep> step = step_of(after, inside)) {
    for (std::size_t i = readings.size() - after.size(); i-- > 0;) {
      if (readings[i].watts - step->idle_w <= step->threshold_w) continue;
      const double from_unix_s = readings[i].end_unix_s - readings[i].age_s - window_s;
      const double to_unix_s = readings[i + 1].end_unix_s - window_s;
      if (to_unix_s < window.end_unix_s - kReachOfEdge_s) break;
      edges.fall = {std::min(from_unix_s, to_unix_s - 0.05), to_unix_s, -step->height_w};
      break;
    }
  }
  return edges;
}

std::optional<PowerJump> rise_inside(const PowerJump& rise, Window window) {
  const double start = window.start_unix_s;
  if (rise.to_unix_s < start || rise.from_unix_s > start) return std::nullopt;
  return PowerJump{start, std::max(rise.to_unix_s, start + kLongestRise_s), rise.height_w};
}

std::optional<PowerJump> fall_inside(const PowerJump& fall, Window window) {
  const double end = window.end_unix_s;
  if (fall.from_unix_s > end || fall.to_unix_s < end) return std::nullopt;
  return PowerJump{std::min(fall.from_unix_s, end - kLongestFall_s), end, fall.height_w};
}

}  // namespace aggregate_power
