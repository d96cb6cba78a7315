// Judges loads.
#include "energy/uncertainty/verdicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/energy/curve.h"
#include "energy/uncertainty/random_walk.h"

namespace aggregate_power {
namespace {

constexpr int kParts = 10;
constexpr double kSteadyShare = 0.03;

double mean_on_line_w(const PowerLine& line, Window window) {
  return line.energy_j(window) / window.duration_s();
}

}  // namespace

Verdict steadiness(std::span<const PowerLine> gpus, Window window) {
  const double part_s = window.duration_s() / kParts;
  const double settled_unix_s = window.start_unix_s + std::min(5.0, part_s);
  // As many as are needed to see all of the settled window: they overlap a little.
  const double last_from = window.end_unix_s - part_s;
  std::vector<std::pair<double, double>> means;  // middle in seconds, watts
  for (int i = 0; i < kParts; ++i) {
    const double from = settled_unix_s + (last_from - settled_unix_s) * i / (kParts - 1);
    double watts = 0;
    for (const PowerLine& line : gpus) watts += mean_on_line_w(line, {from, from + part_s});
    means.emplace_back(from + part_s / 2 - window.start_unix_s, watts);
  }
  double mean_w = 0;
  for (const PowerLine& line : gpus) {
    mean_w += mean_on_line_w(line, {settled_unix_s, window.end_unix_s});
  }
  double mean_s = 0;
  for (const auto& [at_s, watts] : means) mean_s += at_s / kParts;
  double largest = 0;
  double product = 0;
  double squares = 0;
  for (const auto& [at_s, watts] : means) {
    const double off = mean_w > 0 ? watts / mean_w - 1 : 0;
    if (std::abs(off) > std::abs(largest)) largest = off;
    product += (at_s - mean_s) * off;
    squares += (at_s - mean_s) * (at_s - mean_s);
  }
  if (std::abs(largest) <= kSteadyShare) return {"steady_state", {}, {}};
  const double trend = squares > 0 ? product / squares * 60 : 0;
  return {"not_steady",
          {},
          fmt::format("a tenth of the window is {:+.1f} % off the mean; trend {:+.1f} % per minute",
                      100 * largest, 100 * trend)};
}

bool is_power_capped(std::span<const Sample> samples, const GpuConditions& conditions,
                     Window window) {
  if (conditions.capped_share && *conditions.capped_share >= 0.5) return true;
  if (!conditions.limit_w) return false;
  double above_s = 0;
  double seen_s = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const double from = std::max(samples[i - 1].unix_s, window.start_unix_s);
    const double to = std::min(samples[i].unix_s, window.end_unix_s);
    if (from >= to) continue;
    seen_s += to - from;
    if (samples[i].watts > 0.94 * *conditions.limit_w) above_s += to - from;
  }
  return seen_s > 0 && above_s >= 0.5 * seen_s;
}

std::optional<std::string> throttling(const PowerLine& line, const GpuConditions& conditions,
                                      Window window) {
  if (conditions.throttled_share) {
    if (*conditions.throttled_share >= 0.01) return "throttled";
    return std::nullopt;
  }
  if (conditions.least_utilization_pct.value_or(0) < 95) return std::nullopt;
  const double third_s = window.duration_s() / 3;
  const double first_w = mean_on_line_w(line, {window.start_unix_s, window.start_unix_s + third_s});
  const double last_w = mean_on_line_w(line, {window.end_unix_s - third_s, window.end_unix_s});
  if (last_w <= 0.92 * first_w) return "throttling_suspected";
  return std::nullopt;
}

double variation(std::span<const Sample> samples, Window window) {
  const std::span<const Sample> inside = samples_in(samples, window);
  const auto watts = [&](std::size_t i) { return inside[i].watts; };
  const double sum = sum_of(0, inside.size(), watts);
  if (!(sum > 0)) return 0;
  const double squares =
      sum_of(0, inside.size(), [&](std::size_t i) { return watts(i) * watts(i); });
  const auto count = static_cast<double>(inside.size());
  const double mean = sum / count;
  return std::sqrt(std::max(0.0, squares / count - mean * mean)) / mean;
}

bool is_under_sampled(const ReadingSeries& series, const SensorModel& sensor, Window window) {
  return sensor.sees_moments(series.period_s()) && variation(series.samples(), window) > 0.08;
}

}  // namespace aggregate_power
