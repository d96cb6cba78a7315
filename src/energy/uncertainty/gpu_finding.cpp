// Asks each rule about a GPU.
#include "energy/uncertainty/gpu_finding.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "energy/uncertainty/verdicts.h"
#include "energy/uncertainty/placed_readings.h"

namespace aggregate_power {
namespace {

void observe_refresh(std::span<const Sample> samples, Window window, GpuFinding& finding) {
  const std::span<const Sample> inside = samples_in(samples, window);
  if (inside.empty()) return;
  const auto begin = static_cast<std::size_t>(inside.data() - samples.data());
  const std::size_t first = std::max<std::size_t>(begin, 1);
  const std::size_t end = begin + inside.size();
  const auto is_stale = [&](std::size_t i) { return samples[i].watts == samples[i - 1].watts; };
  std::size_t stale = 0;
  for (std::size_t i = first; i < end; ++i) stale += static_cast<std::size_t>(is_stale(i));
  if (first == end) return;
  finding.stale_share = static_cast<double>(stale) / static_cast<double>(end - first);
  // Only a recorder that asks faster sees how often the sensor refreshes.
  if (finding.stale_share <= 0.2 || end - first - stale <= 2) return;
  std::vector<Sample> changes;
  for (std::size_t i = first; i < end; ++i) {
    if (!is_stale(i)) changes.push_back(samples[i]);
  }
  finding.refresh_observed_s = median_period_s(changes);
}

}  // namespace

GpuFinding gpu_finding(const GpuEnergyQuestion& question) {
  const GpuReadings& gpu = question.gpu;
  const ReadingSeries& series = question.series;
  GpuFinding finding;
  finding.energy = gpu_energy(question);
  observe_refresh(gpu.samples, question.window, finding);
  finding.is_under_sampled =
      gpu.sensors.size() == 1 && is_under_sampled(series, gpu.sensors.front(), question.window);
  finding.is_power_capped = is_power_capped(series.samples(), gpu.conditions, question.window);
  finding.throttling = throttling(series.line(), gpu.conditions, question.window);
  return finding;
}

}  // namespace aggregate_power
