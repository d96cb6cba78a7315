#include "energy/expected_interval.h"

#include <gtest/gtest.h>

#include <cmath>

namespace aggregate_power {
namespace {

// Four GPUs at 488 W for 100 s, idle at 88 W, read every second, by sensors that are 2 % off
// together, 4 % each, and by 9.76 W each.
const RunToExpect kRun = {4, 100, 488, 88, 48.8, 1};
const SensorAccuracy kAccuracy = {0.02, 0.04, 9.76, 88};

TEST(ExpectedInterval, IsTheSumOfItsComponentsByHand) {
  const ExpectedInterval found = expected_interval(kRun, {.window_s = 1}, kAccuracy);
  const double above = 400.0 / 488.0;
  ASSERT_EQ(found.components.size(), 5U);
  EXPECT_DOUBLE_EQ(found.components[0].relative, 0.02 * above);
  EXPECT_DOUBLE_EQ(found.components[1].relative, 0.02 * above);  // 4 % / sqrt(4)
  EXPECT_DOUBLE_EQ(found.components[2].relative, 0.01);          // 9.76 / 488 / 2
  EXPECT_DOUBLE_EQ(found.components[3].relative, 0.1 / 20);      // 400 readings
  EXPECT_DOUBLE_EQ(found.components[4].relative, above * 0.01 / std::sqrt(6.0));
  // 0.016393^2 * 2 + 0.01^2 + 0.005^2 + 0.003346^2 = 0.00067369
  EXPECT_NEAR(found.standard(), 0.025956, 1e-6);
  EXPECT_NEAR(found.half_width(), 0.050873, 2e-6);
}

TEST(ExpectedInterval, HasEdgesAsWideAsThePeriodIfTheSensorIsFaster) {
  RunToExpect slow = kRun;
  slow.period_s = 2;
  const ExpectedInterval found = expected_interval(slow, {.window_s = 0.025}, kAccuracy);
  EXPECT_DOUBLE_EQ(found.components[4].relative, 400.0 / 488.0 * 0.02 / std::sqrt(6.0));
}

}  // namespace
}  // namespace aggregate_power
