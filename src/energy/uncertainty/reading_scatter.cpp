// Correlates readings with earlier ones.
#include "energy/uncertainty/reading_scatter.h"

#include <algorithm>
#include <vector>

#include "core/energy/sum_of.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostLags = 300;

// Sums of products of deviations from the mean.
struct NearProducts {
  double squares_w2 = 0;
  double neighbours_w2 = 0;
};

NearProducts near_products(std::span<const Sample> samples, double mean_w) {
  double before_w = samples[0].watts - mean_w;
  NearProducts odd = {before_w * before_w, 0};
  NearProducts even;
  std::size_t i = 1;
  for (; i + 2 <= samples.size(); i += 2) {
    const double one_w = samples[i].watts - mean_w;
    const double other_w = samples[i + 1].watts - mean_w;
    odd.squares_w2 += one_w * one_w;
    even.squares_w2 += other_w * other_w;
    odd.neighbours_w2 += before_w * one_w;
    even.neighbours_w2 += one_w * other_w;
    before_w = other_w;
  }
  if (i < samples.size()) {
    const double last_w = samples[i].watts - mean_w;
    odd.squares_w2 += last_w * last_w;
    odd.neighbours_w2 += before_w * last_w;
  }
  return {odd.squares_w2 + even.squares_w2, odd.neighbours_w2 + even.neighbours_w2};
}

// The difference of readings at equal intervals from the straight line that fits them.
void remove_trend(std::span<Sample> samples) {
  const double count = static_cast<double>(samples.size());
  const double middle = (count - 1) / 2;
  const double mean_w =
      sum_of(0, samples.size(), [&](std::size_t i) { return samples[i].watts; }) / count;
  const double products = sum_of(0, samples.size(), [&](std::size_t i) {
    return (static_cast<double>(i) - middle) * samples[i].watts;
  });
  const double slope_w = 12 * products / (count * (count * count - 1));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].watts -= mean_w + (static_cast<double>(i) - middle) * slope_w;
  }
}

}  // namespace

Scatter scatter_around_trend(std::span<const Sample> samples) {
  constexpr std::size_t kStretch = 64;
  std::vector<Sample> rest(samples.begin(), samples.end());
  const std::size_t stretches = std::max<std::size_t>(1, rest.size() / kStretch);
  if (rest.size() >= 3) {
    for (std::size_t i = 0; i < stretches; ++i) {
      const std::size_t first = i * rest.size() / stretches;
      const std::size_t end = (i + 1) * rest.size() / stretches;
      remove_trend(std::span(rest).subspan(first, end - first));
    }
  }
  return scatter_of(rest);
}

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
  const NearProducts near = near_products(samples, mean_w);
  scatter.variance_w2 = near.squares_w2 / (count - 1);
  if (!(scatter.variance_w2 > 0)) return scatter;
  for (std::size_t lag = 1; lag < std::min(samples.size() / 4, kMostLags); ++lag) {
    const double product_w2 = lag == 1 ? near.neighbours_w2 : product(lag);
    const double correlation = product_w2 / near.squares_w2;
    if (correlation < 0.05) break;
    scatter.alike += 2 * correlation;
  }
  return scatter;
}

}  // namespace aggregate_power
