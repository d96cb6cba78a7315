// Judges loads.
#include "energy/uncertainty/verdicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/text/lists.h"

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
  const double mean_w = summed(gpus, [&](const PowerLine& line) {
    return mean_on_line_w(line, {settled_unix_s, window.end_unix_s});
  });
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

namespace {

constexpr double kLeastDrift = 0.005;     // of power or clock, relative
constexpr double kMostDriftPerC = 0.005;  // of power or clock, relative: leakage, and governors
constexpr double kSameUtilizationPct = 2;

// The second half against the first, and how many of its standard errors that is, by the means of
// tenths. The first tenth is left out: the load begins there.
struct PowerDrift {
  double share = 0;
  double t = 0;
};

PowerDrift power_drift(const PowerLine& line, Window window) {
  constexpr std::size_t kHalf = kParts / 2;
  const double part_s = window.duration_s() / kParts;
  double means[2] = {};
  double squares[2] = {};
  for (std::size_t half = 0; half < 2; ++half) {
    std::vector<double> parts;
    for (std::size_t i = half == 0 ? 1 : kHalf; i < kHalf * (half + 1); ++i) {
      const double from = window.start_unix_s + part_s * static_cast<double>(i);
      parts.push_back(mean_on_line_w(line, {from, from + part_s}));
    }
    const auto count = static_cast<double>(parts.size());
    for (const double watts : parts) means[half] += watts / count;
    for (const double watts : parts) {
      squares[half] += (watts - means[half]) * (watts - means[half]) / (count - 1) / count;
    }
  }
  const double change_w = means[1] - means[0];
  const double error_w = std::sqrt(squares[0] + squares[1]);
  return {means[0] > 0 ? change_w / means[0] : 0,
          error_w > 0 ? std::abs(change_w) / error_w : std::numeric_limits<double>::infinity()};
}

bool is_by_heat(double change, double degrees) {
  return change * degrees > 0 && std::abs(change) >= kLeastDrift &&
         std::abs(change) <= kMostDriftPerC * std::abs(degrees);
}

}  // namespace

std::optional<std::string> thermal_drift(const PowerLine& line, const GpuConditions& conditions,
                                         Window window) {
  constexpr double kLeastT = 3;
  const auto& halves = conditions.halves;
  if (!halves || std::abs(halves->temperature_c) < kDriftC) return std::nullopt;
  if (std::abs(halves->utilization_pct.value_or(0)) > kSameUtilizationPct) return std::nullopt;
  const PowerDrift power = power_drift(line, window);
  const double clock = halves->clock_share.value_or(0);
  const bool is_power = is_by_heat(power.share, halves->temperature_c) && power.t >= kLeastT &&
                        std::abs(clock) < 2 * kLeastDrift;
  const bool is_clock =
      is_by_heat(-clock, halves->temperature_c) && std::abs(power.share) < 2 * kLeastDrift;
  if (!is_power && !is_clock) return std::nullopt;
  std::string text =
      fmt::format("{:+.1f} C and {:+.1f} % power", halves->temperature_c, 100 * power.share);
  if (halves->clock_share) text += fmt::format(", {:+.1f} % clock", 100 * clock);
  text += " from the first half of the window to the second";
  if (halves->cooling_s) text += fmt::format("; it cools down in {:.0f} s", *halves->cooling_s);
  return text;
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
