#include "core/energy/recording_summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "test_util.h"

namespace aggregate_power {
namespace quantile_test {

TEST(Quantile, IsANumberByRank) {
  EXPECT_EQ(quantile_of({}, 0.5), 0);
  EXPECT_EQ(quantile_of({7}, 0.99), 7);
  EXPECT_EQ(quantile_of({3, 1, 2}, 0), 1);
  EXPECT_EQ(quantile_of({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile_of({3, 1, 4, 2}, 0.5), 2);  // the lower one of two in the middle
  EXPECT_EQ(quantile_of({3, 1, 2}, 1), 3);
}

// 0 to count - 1 in another order: 7919 and the counts have no common divisor.
auto shuffled(std::size_t count) {
  return [count](std::size_t i) { return static_cast<double>(i * 7919 % count); };
}

TEST(Quantile, OfSomeThousandIsTheNumberByRank) {
  for (const std::size_t count : {1, 2, 100, 4095, 4096}) {
    for (const double share : {0.0, 0.25, 0.5, 0.99, 1.0}) {
      EXPECT_EQ(quantile_of_many(count, shuffled(count), share),
                std::floor(share * static_cast<double>(count - 1)));
    }
  }
  EXPECT_EQ(quantile_of_many(0, shuffled(1), 0.5), 0);
}

TEST(Quantile, OfManyIsAboutTheNumberByRank) {
  for (const std::size_t count : {4097, 10000, 100'000, 1'000'000}) {
    for (const double share : {0.05, 0.25, 0.5, 0.99}) {
      // Three standard deviations of the rank in 2048 numbers.
      const double error = 3 * std::sqrt(share * (1 - share) / 2048);
      EXPECT_NEAR(quantile_of_many(count, shuffled(count), share) / static_cast<double>(count),
                  share, error)
          << count;
    }
  }
}

TEST(Quantile, OfManyIsNotMisledByNumbersThatRepeat) {
  // Five standard deviations of a share of 2048 numbers: each of many periods is tried.
  const double error = 5 * std::sqrt(0.25 / 2048);
  for (const std::size_t count : {36'000, 100'000, 864'000}) {
    for (std::size_t period = 2; period < 1000; period += 1000 / test::rounds(1000)) {
      // The first ones of a period are low, the others high.
      const std::size_t low = (period + 1) / 2;
      const auto comb = [&](std::size_t i) { return i % period < low ? 0.0 : 1.0; };
      const double share = static_cast<double>(low) / static_cast<double>(period);
      EXPECT_EQ(quantile_of_many(count, comb, share - error), 0) << period << " of " << count;
      EXPECT_EQ(quantile_of_many(count, comb, std::min(1.0, share + error)), 1)
          << period << " of " << count;
    }
  }
}

}  // namespace quantile_test
}  // namespace aggregate_power
