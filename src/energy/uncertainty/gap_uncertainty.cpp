// Bounds what stretches without readings leave open, between readings and where some are missing.
#include "energy/uncertainty/uncertainty.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "core/telemetry/samples.h"
#include "energy/uncertainty/interval.h"

namespace aggregate_power {
namespace {

constexpr double kGapPeriods = 3;
constexpr double kGapWindows = 2;
constexpr std::size_t kFewestPairs = 8;
constexpr std::size_t kMostPairs = 4096;

// Half the mean square difference of readings in the window that are `apart_s` apart.
double half_square_difference_w2(std::span<const Sample> samples, double apart_s, double period_s,
                                 double otherwise_w2) {
  const std::size_t step = 1 + samples.size() / kMostPairs;
  double sum = 0;
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < samples.size(); i += step) {
    const double later_unix_s = samples[i].unix_s + apart_s;
    const auto other =
        std::ranges::lower_bound(samples.subspan(i), later_unix_s, {}, &Sample::unix_s);
    if (other == samples.end()) break;
    if (other->unix_s - later_unix_s > period_s) continue;  // that one was not read
    sum += std::pow(other->watts - samples[i].watts, 2);
    ++pairs;
  }
  return pairs < kFewestPairs ? otherwise_w2 : sum / static_cast<double>(2 * pairs);
}

}  // namespace

double unseen_j(const ReadingSeries& series, const SensorModel& sensor, Window window) {
  const std::span<const Sample> samples = series.samples();
  const double period_s = series.period_s();
  const double shortest_s = std::max(kGapPeriods * period_s, kGapWindows * sensor.window_s);
  const PowerLine line = series.line();
  std::map<int, double> changes_w2;  // by length, in steps of a fifth
  double squares = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const double gap_s = samples[i].unix_s - samples[i - 1].unix_s;
    if (gap_s <= shortest_s) continue;
    const double inside_s = std::min(samples[i].unix_s, window.end_unix_s) -
                            std::max(samples[i - 1].unix_s, window.start_unix_s);
    if (inside_s <= 0) continue;
    const std::size_t first = line.first_from(window.start_unix_s);
    const std::size_t end = line.first_after(window.end_unix_s);
    const Scatter scatter = series.scatter(first, end);
    const auto [change, is_new] =
        changes_w2.try_emplace(static_cast<int>(std::round(4 * std::log2(gap_s))));
    if (is_new) {
      change->second = half_square_difference_w2(samples, gap_s / 2, period_s, scatter.variance_w2);
    }
    const double alike = std::min(1.0, scatter.alike * period_s / gap_s);
    squares += inside_s * inside_s * change->second * alike;
  }
  return std::sqrt(squares);
}

namespace {

// The limit on the side of `beyond`; `drawn` begins with the values that are nearest to it. Groups
// of many values count as the one nearest to it.
double mean_limit(std::span<const double> drawn, double beyond, double tail) {
  constexpr std::size_t kMostGroups = 256;
  const std::size_t step = 1 + drawn.size() / kMostGroups;
  double share = binomial_upper_limit(0, drawn.size(), tail);
  double mean = share * beyond;
  for (std::size_t i = 0; i < drawn.size(); i += step) {
    const std::size_t end = std::min(i + step, drawn.size());
    const double before = std::exchange(share, binomial_upper_limit(end, drawn.size(), tail));
    mean += (share - before) * drawn[i];
  }
  return mean;
}

MeanLimits mean_limits(std::vector<double> drawn, double least, double most, double tail) {
  MeanLimits limits;
  std::ranges::sort(drawn);
  limits.low = mean_limit(drawn, least, tail);
  std::ranges::sort(drawn, std::greater());
  limits.high = mean_limit(drawn, most, tail);
  return limits;
}

}  // namespace

double between_readings_j(const ReadingSeries& series, Window window, double most_w) {
  constexpr double kTail = 0.025;
  constexpr double kMissingPeriods = 2.5;
  const std::span<const Sample> samples = series.samples();
  std::vector<double> drawn;
  double missing_s = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (window.contains(samples[i].unix_s)) drawn.push_back(samples[i].watts);
    if (i == 0) continue;
    const Window gap = {samples[i - 1].unix_s, samples[i].unix_s};
    const double inside_s = std::min(gap.end_unix_s, window.end_unix_s) -
                            std::max(gap.start_unix_s, window.start_unix_s);
    if (inside_s > 0 && gap.duration_s() > kMissingPeriods * series.period_s()) {
      missing_s += inside_s;
    }
  }
  const double seen_s = window.duration_s() - missing_s;
  const MeanLimits mean = mean_limits(std::move(drawn), 0, most_w, kTail);
  const double joules = series.line().energy_j(window);
  const double above_j = seen_s * mean.high + missing_s * most_w - joules;
  const double below_j = joules - seen_s * mean.low;
  return std::max({above_j, below_j, 0.0}) / kCoverageFactor;
}

}  // namespace aggregate_power
