// Correlates readings with earlier ones.
#include "energy/reading_scatter.h"

#include <algorithm>

#include "energy/sum_of.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostLags = 300;

}  // namespace

Scatter scatter_of(std::span<const Sample> samples) {
  Scatter scatter;
  scatter.readings = samples.size();
  if (samples.size() < 3) return scatter;
  const double count = static_cast<double>(samples.size());
  const double mean_w =
      sum_of(0, samples.size(), [&](std::size_t i) { return samples[i].watts; }) / count;
  const auto product = [&](std::size_t lag) {
    return sum_of(lag, samples.size(), [&](std::size_t i) {
      return (samples[i].watts - mean_w) * (samples[i - lag].watts - mean_w);
    });
  };
  const double squares_w2 = product(0);
  scatter.variance_w2 = squares_w2 / (count - 1);
  if (!(scatter.variance_w2 > 0)) return scatter;
  for (std::size_t lag = 1; lag < std::min(samples.size() / 4, kMostLags); ++lag) {
    const double correlation = product(lag) / squares_w2;
    if (correlation < 0.05) break;
    scatter.alike += 2 * correlation;
  }
  return scatter;
}

}  // namespace aggregate_power
