// Looks for stretches without readings, and for how far power changes within their length.
#include "energy/uncertainty/uncertainty.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>

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

}  // namespace aggregate_power
