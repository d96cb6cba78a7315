#include "energy/uncertainty/random_walk.h"

#include <gtest/gtest.h>

namespace aggregate_power {
namespace placed_readings_test {

const SensorModel kSensor = {.window_s = 1, .refresh_s = 0.1, .delay_s = 0.015};

TEST(PlacedReadings, EndBeforeTheirStampsByDelayAndAge) {
  const Sample samples[] = {{100, 300}, {101, 310}};
  const auto placed = place_readings(samples, kSensor);
  ASSERT_EQ(placed.size(), 2);
  EXPECT_DOUBLE_EQ(placed[1].end_unix_s, 101 - 0.015);
  EXPECT_DOUBLE_EQ(placed[1].age_s, 0.1);  // somewhere in a refresh
}

TEST(PlacedReadings, DropRepeatsWithinARefresh) {
  // Asked every 25 ms; the value changes at the fourth reading, and repeats for more than a
  // refresh.
  const Sample samples[] = {{100, 300},     {100.025, 300}, {100.05, 300},
                            {100.075, 310}, {100.1, 310},   {100.125, 310},
                            {100.15, 310},  {100.16, 310},  {100.18, 310}};
  const auto placed = place_readings(samples, kSensor);
  ASSERT_EQ(placed.size(), 3);
  EXPECT_DOUBLE_EQ(placed[1].end_unix_s, 100.075 - 0.015);
  EXPECT_NEAR(placed[1].age_s, 0.025, 1e-9);  // it was not there 25 ms before
  EXPECT_DOUBLE_EQ(placed[2].end_unix_s, 100.18 - 0.015);
  EXPECT_DOUBLE_EQ(placed[2].age_s, 0.1);
}

// A thousand readings a second of a mean over a second are as good as fifty.
TEST(PlacedReadings, AreNotCloserThanAFiftiethOfAWindow) {
  std::vector<Sample> samples;
  for (int i = 0; i < 1000; ++i) samples.push_back({100 + 0.001 * i, 300.0 + i});
  const auto placed = place_readings(samples, {.window_s = 1, .refresh_s = 0.001});
  EXPECT_LE(placed.size(), 50);
  EXPECT_GE(placed.size(), 45);
}

TEST(PlacedReadings, HaveAMedianPeriod) {
  const Sample samples[] = {{0, 1}, {1, 1}, {2, 1}, {7, 1}};
  EXPECT_DOUBLE_EQ(median_period_s(samples), 1);
  EXPECT_DOUBLE_EQ(median_period_s(std::span(samples, 1)), 0);
}

}  // namespace placed_readings_test
}  // namespace aggregate_power
