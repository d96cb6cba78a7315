#include "energy/uncertainty/uncertainty.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <vector>

namespace aggregate_power {
namespace change_correlation_test {

using Gpus = std::vector<std::vector<Sample>>;

// A load that all share, and noise of each.
Gpus random_gpus(std::size_t count, std::size_t samples) {
  std::mt19937 random(count);
  std::uniform_real_distribution<double> watts(0, 100);
  Gpus gpus(count, std::vector<Sample>(samples));
  for (std::size_t i = 0; i < samples; ++i) {
    const double shared_w = 3 * watts(random);
    for (std::vector<Sample>& gpu : gpus) {
      gpu[i] = {1.0 * static_cast<double>(i), shared_w + watts(random)};
    }
  }
  return gpus;
}

// The mean of Pearson's r (about 0) over the pairs with the first four.
double by_definition(const Gpus& gpus, std::size_t first, std::size_t end) {
  const auto sum = [&](std::size_t one, std::size_t other) {
    long double products = 0;
    for (std::size_t i = first + 1; i < end; ++i) {
      products += static_cast<long double>(gpus[one][i].watts - gpus[one][i - 1].watts) *
                  (gpus[other][i].watts - gpus[other][i - 1].watts);
    }
    return static_cast<double>(products);
  };
  double correlations = 0;
  int pairs = 0;
  for (std::size_t one = 0; one < 4 && one < gpus.size(); ++one) {
    for (std::size_t other = one + 1; other < gpus.size(); ++other, ++pairs) {
      correlations += sum(one, other) / std::sqrt(sum(one, one) * sum(other, other));
    }
  }
  return correlations / pairs;
}

double correlation(const Gpus& gpus, Window window) {
  return change_correlation(std::vector<std::span<const Sample>>(gpus.begin(), gpus.end()), window);
}

TEST(ChangeCorrelation, SaysHowAlikeGpusChange) {
  const Sample up[] = {{0, 1}, {1, 3}, {2, 2}, {3, 5}};
  const Sample also_up[] = {{0, 11}, {1, 15}, {2, 13}, {3, 19}};
  const Sample down[] = {{0, 5}, {1, 3}, {2, 4}, {3, 1}};
  const std::span<const Sample> alike[] = {up, also_up};
  EXPECT_NEAR(change_correlation(alike, {0, 3}), 1, 1e-12);
  const std::span<const Sample> opposite[] = {up, down};
  EXPECT_EQ(change_correlation(opposite, {0, 3}), 0);  // never less than nothing
  const std::span<const Sample> one[] = {up};
  EXPECT_EQ(change_correlation(one, {0, 3}), 0);
}

TEST(ChangeCorrelation, OfLongRecordingsIsThatOfAllTheirChanges) {
  for (const std::size_t samples : {5, 256, 257, 258, 259, 260, 515, 1000}) {
    for (const std::size_t count : {2, 4, 5, 9}) {
      const Gpus gpus = random_gpus(count, samples);
      EXPECT_NEAR(correlation(gpus, {0, 1.0 * static_cast<double>(samples)}),
                  std::max(0.0, by_definition(gpus, 0, samples)), 1e-12)
          << samples << " samples of " << count;
    }
  }
}

TEST(ChangeCorrelation, HasNothingOutsideTheWindow) {
  const Gpus gpus = random_gpus(3, 900);
  EXPECT_NEAR(correlation(gpus, {100, 849}), by_definition(gpus, 100, 850), 1e-12);
}

TEST(ChangeCorrelation, ComparesWhatAGpuShowedLastIfItWasAskedAtAnotherTime) {
  Gpus gpus = random_gpus(5, 600);
  const double expected = by_definition(gpus, 0, 600);
  // Asked a little before the others, in the last rounds alone.
  for (std::size_t i = 580; i < 600; ++i) gpus[4][i].unix_s -= 0.25;
  EXPECT_NEAR(correlation(gpus, {0, 600}), expected, 1e-12);
}

}  // namespace change_correlation_test
}  // namespace aggregate_power
