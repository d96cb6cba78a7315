// Gathers long gaps and the range of each GPU's power; compares both sides of the edges.
#include "core/energy/gap_bound.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

#include "core/telemetry/samples.h"
#include "core/energy/interpolation.h"
#include "core/energy/quantile.h"
#include "core/energy/stale_readings.h"

namespace aggregate_power {
namespace {

constexpr double kSensorMean_s = 1;  // of a usual sensor

double middle_of_few_w(std::span<const Sample> samples) {
  return quantile_of_many(
      samples.size(), [&](std::size_t i) { return samples[i].watts; }, 0.5);
}

// Readings from beyond a distance of an instant on, to one side; those nearest to it.
std::span<const Sample> beyond(std::span<const Sample> samples, double unix_s, double from_s,
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
  if (between_s > kClose * kSensorMean_s) return kSensorMean_s;
  double on_the_way = 0;
  for (const Sample& sample :
       samples_in(samples, {unix_s - 1.5 * kSensorMean_s, unix_s + 1.5 * kSensorMean_s})) {
    const double share = share_of(sample.watts);
    on_the_way += share > 0.1 && share < 0.9 ? 1 : 0;
  }
  return std::min(kSensorMean_s, on_the_way * between_s);
}

void add_hidden_edge(std::span<const Sample> samples, double unix_s, double held_s, double most_s,
                     HiddenEdges& hidden) {
  const auto after = std::ranges::upper_bound(samples, unix_s, {}, &Sample::unix_s);
  if (after == samples.begin() || after == samples.end()) return;
  const double between_s = std::max(held_s, after->unix_s - (after - 1)->unix_s);
  // The reading at the edge is partly of either side.
  const auto before_edge = beyond(samples, unix_s, kSensorMean_s / 2, false);
  const auto after_edge = beyond(samples, unix_s, kSensorMean_s, true);
  if (before_edge.empty() || after_edge.empty()) return;
  const double from_w = middle_of_few_w(before_edge);
  const double step_w = std::abs(middle_of_few_w(after_edge) - from_w);
  const double mean_s = seen_mean_s(samples, unix_s, between_s, [&](double watts) {
    return std::abs(watts - from_w) / std::max(step_w, 1e-9);
  });
  hidden.joules += step_w * std::min(most_s, (between_s + mean_s) / 2);
  if (step_w <= hidden.step_w) return;
  hidden.step_w = step_w;
  hidden.between_s = between_s;
}

}  // namespace

void GapBound::add(std::uint32_t device, Sample sample) {
  if (device >= devices_.size()) devices_.resize(device + 1);
  Device& of = devices_[device];
  if (sample.unix_s - of.last.unix_s > kDefaultMaxSampleGapS) note_gap(of.last, sample, of);
  of.last = sample;
  of.lowest_w = std::min(of.lowest_w, sample.watts);
  of.highest_w = std::max(of.highest_w, sample.watts);
}

// There is no gap before the first sample: its neighbour is infinitely early.
void GapBound::note_gap(Sample before, Sample after, Device& device) {
  const double from = std::max(before.unix_s, window_.start_unix_s);
  const double to = std::min(after.unix_s, window_.end_unix_s);
  if (std::isinf(before.unix_s) || to <= from) return;
  device.gaps.push_back(
      {to - from, (watts_at(from, before, after) + watts_at(to, before, after)) / 2});
}

double GapBound::bound_j(std::uint32_t device) const {
  double bound_j = 0;
  if (device >= devices_.size()) return bound_j;
  const Device& of = devices_[device];
  for (const Gap& gap : of.gaps) {
    bound_j += gap.inside_s * std::max(of.highest_w - gap.mean_w, gap.mean_w - of.lowest_w);
  }
  return bound_j;
}

HiddenEdges hidden_at_edges(std::span<const Sample> samples, Window window) {
  const double held_s = energy::refresh_s(samples).value_or(0);
  HiddenEdges hidden;
  const double most_s = window.duration_s() / 2;
  add_hidden_edge(samples, window.start_unix_s, held_s, most_s, hidden);
  add_hidden_edge(samples, window.end_unix_s, held_s, most_s, hidden);
  return hidden;
}

}  // namespace aggregate_power
