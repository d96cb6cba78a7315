#include "chart/curve.h"

#include <gtest/gtest.h>

#include <vector>

namespace aggregate_power {
namespace envelope_test {

// Columns of width 1 from 0 to 4. The second line rises from 0 to 4 with x.
TEST(Envelope, IsFromTheLowestToTheHighestLine) {
  const std::vector<Polyline> lines = {{{0, 10}, {4, 10}}, {{0, 0}, {4, 4}}};
  const std::vector<Ribbon> ribbons = envelope(lines, 4);
  ASSERT_EQ(ribbons.size(), 1U);
  ASSERT_EQ(ribbons[0].size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(ribbons[0][i].x, static_cast<double>(i) + 0.5);
    EXPECT_DOUBLE_EQ(ribbons[0][i].low, static_cast<double>(i));
    EXPECT_DOUBLE_EQ(ribbons[0][i].high, 10);
  }
}

TEST(Envelope, KeepsAPeak) {
  const std::vector<Ribbon> ribbons =
      envelope(std::vector<Polyline>{{{0, 1}, {1.5, 99}, {2, 1}, {10, 1}}}, 5);
  EXPECT_DOUBLE_EQ(ribbons[0][0].high, 99);
}

TEST(Envelope, IsBrokenWhereNoLineIs) {
  const std::vector<Polyline> lines = {{{0, 1}, {1, 1}}, {{9, 2}, {10, 2}}};
  const std::vector<Ribbon> ribbons = envelope(lines, 10);
  ASSERT_EQ(ribbons.size(), 2U);
  EXPECT_EQ(ribbons[0].back().high, 1);
  EXPECT_EQ(ribbons[1].front().low, 2);
}

TEST(Envelope, OfNothingIsNothing) {
  EXPECT_TRUE(envelope({}, 10).empty());
  EXPECT_TRUE(envelope(std::vector<Polyline>{{}}, 10).empty());
  EXPECT_EQ(envelope(std::vector<Polyline>{{{5, 7}}}, 10).size(), 1U);
}

}  // namespace envelope_test
}  // namespace aggregate_power
