#include "energy/uncertainty/random_walk.h"

#include <gtest/gtest.h>

#include <vector>

namespace aggregate_power {
namespace power_pace_test {

TEST(PowerPace, OfAlternatingReadingsIsFast) {
  // 400 W, give or take 10, every second: half the mean squared difference is 20^2 / 2 at a second,
  // and nothing at two.
  std::vector<PlacedReading> readings;
  for (int i = 0; i < 100; ++i) readings.push_back({i % 2 ? 410.0 : 390.0, i * 1.0, 0.1});
  const PaceFinding found = find_pace(readings, 1);
  EXPECT_TRUE(found.jumps.empty());
  // A tenth of it is taken as walk all the same: 20 W^2 in a second, of which 2/3 / 2 show.
  EXPECT_NEAR(found.pace.walk_w2_per_s, 20, 1e-9);
  EXPECT_NEAR(found.pace.fast_w2_s, 200 - 20.0 / 3, 1e-9);
}

TEST(PowerPace, OfARampIsSlow) {
  // 2 W a second: half the squared differences are 2 and 8 W^2.
  std::vector<PlacedReading> readings;
  for (int i = 0; i < 100; ++i) readings.push_back({400 + 2.0 * i, i * 1.0, 0.1});
  EXPECT_NEAR(find_pace(readings, 1).pace.walk_w2_per_s, 2 * (8 - 2), 1e-9);
}

TEST(PowerPace, LeavesOutAJumpAndTellsWhereItWas) {
  std::vector<PlacedReading> readings;
  for (int i = 0; i < 40; ++i) readings.push_back({(i < 20 ? 100.0 : 500.0) + i % 2, i * 1.0, 0.1});
  const PaceFinding found = find_pace(readings, 1);
  ASSERT_EQ(found.jumps.size(), 1);
  EXPECT_NEAR(found.jumps[0].from_unix_s, 18.9, 1e-9);  // what the reading before may have seen
  EXPECT_NEAR(found.jumps[0].to_unix_s, 20, 1e-9);
  EXPECT_NEAR(found.jumps[0].height_w, 399, 1e-9);  // 500 after 101
  EXPECT_LT(found.pace.walk_w2_per_s, 10);
}

}  // namespace power_pace_test
}  // namespace aggregate_power
