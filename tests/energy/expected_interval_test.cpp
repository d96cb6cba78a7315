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
  const SensorModel sensor = {.window_s = 1, .window_uncertainty = 0.06};
  const ExpectedInterval found = expected_interval(kRun, {&sensor, 1}, kAccuracy);
  const double above = 400.0 / 488.0;
  ASSERT_EQ(found.components.size(), 8U);
  EXPECT_DOUBLE_EQ(found.components[0].relative, 0.02 * above);
  EXPECT_DOUBLE_EQ(found.components[1].relative, 0.02 * above);  // 4 % / sqrt(4)
  EXPECT_DOUBLE_EQ(found.components[2].relative, 0.01);          // 9.76 / 488 / 2
  EXPECT_DOUBLE_EQ(found.components[3].relative, 0.1 / 20);      // 400 readings
  EXPECT_DOUBLE_EQ(found.components[4].relative, above * 0.01 / std::sqrt(6.0));
  EXPECT_DOUBLE_EQ(found.components[5].relative, 0);            // it looks all of the time
  EXPECT_DOUBLE_EQ(found.components[6].relative, 0.06 * 0.08);  // 6 % of it, of a swing of 8 %
  EXPECT_DOUBLE_EQ(found.components[7].relative, 0);            // it is the only one
  // 0.016393^2 * 2 + 0.01^2 + 0.005^2 + 0.003346^2 + 0.0048^2 = 0.00069673
  EXPECT_NEAR(found.standard(), 0.026396, 1e-6);
  EXPECT_NEAR(found.half_width(), 0.051736, 2e-6);
}

TEST(ExpectedInterval, TakesTheWorstOfThePossibleSensors) {
  const SensorModel sensors[] = {{.window_s = 1, .refresh_s = 0.1, .delay_s = 0},
                                 {.window_s = 0.1, .refresh_s = 0.2, .delay_s = 0}};
  RunToExpect run = kRun;
  run.deviation_w = 0;
  const ExpectedInterval found = expected_interval(run, sensors, kAccuracy);
  const double above = 400.0 / 488.0;
  EXPECT_DOUBLE_EQ(found.components[5].relative, 0.015 * 0.9);  // moments of 0.1 s every second
  EXPECT_DOUBLE_EQ(found.components[6].relative, 0.06 * 0.03);  // means over the second
  EXPECT_NEAR(found.components[7].relative, above * 0.2 / 100, 1e-12);  // 0.55 s or 0.15 s late
}

TEST(ExpectedInterval, KnowsSensorsThatLookPartOfTheTime) {
  const SensorModel sensor = {.window_s = 0.025, .refresh_s = 0.1};
  RunToExpect run = kRun;
  run.period_s = 0.1;
  run.deviation_w = 9.76;  // 2 %
  const ExpectedInterval found = expected_interval(run, {&sensor, 1}, kAccuracy);
  EXPECT_DOUBLE_EQ(found.components[5].relative, 0.01);
  EXPECT_DOUBLE_EQ(found.components[6].relative, 0.04);  // most of the time is left out
}

TEST(ExpectedInterval, HasEdgesAsWideAsThePeriodIfTheSensorIsFaster) {
  RunToExpect slow = kRun;
  slow.period_s = 2;
  const SensorModel sensor = {.window_s = 0.025};
  const ExpectedInterval found = expected_interval(slow, {&sensor, 1}, kAccuracy);
  EXPECT_DOUBLE_EQ(found.components[4].relative, 400.0 / 488.0 * 0.02 / std::sqrt(6.0));
}

}  // namespace
}  // namespace aggregate_power
