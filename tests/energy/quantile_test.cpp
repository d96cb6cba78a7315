#include "energy/quantile.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace aggregate_power
