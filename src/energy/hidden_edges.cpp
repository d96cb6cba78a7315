// Compares the readings on both sides of the window's edges.
#include "energy/hidden_edges.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

#include "core/telemetry/samples.h"
#include "energy/quantile.h"
#include "energy/stale_readings.h"

namespace aggregate_power::energy {
namespace {

constexpr double kMean_s = 1;  // of a usual sensor

double middle_w(std::span<const Sample> samples) {
  return quantile_of_many(
      samples.size(), [&](std::size_t i) { return samples[i].watts; }, 0.5);
}

// Readings from beyond a distance of an instant on, to one side; those nearest to it.
std::span<const Sample> near_of(std::span<const Sample> samples, double unix_s, double from_s,
                                bool is_after) {
  constexpr std::size_t kMost = 3;
  const auto place = std::ranges::lower_bound(samples, is_after ? unix_s + from_s : unix_s - from_s,
                                              {}, &Sample::unix_s);
  const auto at = static_cast<std::size_t>(place - samples.begin());
  if (is_after) return samples.subspan(at, std::min(kMost, samples.size() - at));
  return samples.subspan(at - std::min(kMost, at), std::min(kMost, at));
}

// The time for which readings around an edge are neither of the one side nor of the other: that
// of the sensor's mean, if readings are that close.
double seen_mean_s(std::span<const Sample> samples, double unix_s, double between_s,
                   const std::function<double(double)>& share_of) {
  constexpr double kClose = 0.5;
  if (between_s > kClose * kMean_s) return kMean_s;
  double on_the_way = 0;
  for (const Sample& sample :
       samples_in(samples, {unix_s - 1.5 * kMean_s, unix_s + 1.5 * kMean_s})) {
    const double share = share_of(sample.watts);
    on_the_way += share > 0.1 && share < 0.9 ? 1 : 0;
  }
  return std::min(kMean_s, on_the_way * between_s);
}

void add_edge(std::span<const Sample> samples, double unix_s, double held_s, double most_s,
              HiddenEdges& hidden) {
  const auto after = std::ranges::upper_bound(samples, unix_s, {}, &Sample::unix_s);
  if (after == samples.begin() || after == samples.end()) return;
  const double between_s = std::max(held_s, after->unix_s - (after - 1)->unix_s);
  // The reading at the edge is partly of either side.
  const auto before_edge = near_of(samples, unix_s, kMean_s / 2, false);
  const auto after_edge = near_of(samples, unix_s, kMean_s, true);
  if (before_edge.empty() || after_edge.empty()) return;
  const double from_w = middle_w(before_edge);
  const double step_w = std::abs(middle_w(after_edge) - from_w);
  const double mean_s = seen_mean_s(samples, unix_s, between_s, [&](double watts) {
    return std::abs(watts - from_w) / std::max(step_w, 1e-9);
  });
  hidden.joules += step_w * std::min(most_s, (between_s + mean_s) / 2);
  if (step_w <= hidden.step_w) return;
  hidden.step_w = step_w;
  hidden.between_s = between_s;
}

}  // namespace

HiddenEdges hidden_at_edges(std::span<const Sample> samples, Window window) {
  const double held_s = refresh_s(samples).value_or(0);
  HiddenEdges hidden;
  const double most_s = window.duration_s() / 2;
  add_edge(samples, window.start_unix_s, held_s, most_s, hidden);
  add_edge(samples, window.end_unix_s, held_s, most_s, hidden);
  return hidden;
}

}  // namespace aggregate_power::energy
