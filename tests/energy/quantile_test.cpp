#include "energy/quantile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>

namespace aggregate_power {
namespace {

TEST(Quantile, IsANumberByRank) {
  EXPECT_EQ(quantile_of({}, 0.5), 0);
  EXPECT_EQ(quantile_of({7}, 0.99), 7);
  EXPECT_EQ(quantile_of({3, 1, 2}, 0), 1);
  EXPECT_EQ(quantile_of({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile_of({3, 1, 4, 2}, 0.5), 2);  // the lower one of two in the middle
  EXPECT_EQ(quantile_of({3, 1, 2}, 1), 3);
}

// 0 to 9999 in another order: 7919 and 10000 have no common divisor.
double shuffled(std::size_t i) { return static_cast<double>(i * 7919 % 10000); }

TEST(Quantile, OfManyIsTheSameNumberByRank) {
  for (const double share : {0.0, 0.25, 0.5, 0.99, 1.0}) {
    EXPECT_EQ(quantile_of_many(10000, shuffled, share), std::floor(share * 9999)) << share;
  }
}

TEST(Quantile, OfManyEqualNumbersIsOneOfThem) {
  const auto tenths = [](std::size_t i) { return shuffled(i) < 1000 ? 5.0 : 7.0; };
  EXPECT_EQ(quantile_of_many(10000, tenths, 0.05), 5);
  EXPECT_EQ(quantile_of_many(10000, tenths, 0.5), 7);
}

// Every ninth of 10000 numbers is looked at first: these are high, all others low.
TEST(Quantile, OfManyIsNotMisledByNumbersThatRepeat) {
  const auto comb = [](std::size_t i) {
    return i % 9 == 0 ? 1e6 + static_cast<double>(i) : static_cast<double>(i % 3);
  };
  EXPECT_EQ(quantile_of_many(10000, comb, 0.5), 1);
}

}  // namespace
}  // namespace aggregate_power
