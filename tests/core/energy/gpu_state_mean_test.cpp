// How warm or busy the GPUs were over a window, against arithmetic by hand.
#include "core/energy/gpu_state_mean.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace state_mean_test {

const std::vector<std::string> kNames = {"0", "1"};

std::optional<StateSummary> mean_of(const std::vector<Reading>& readings) {
  StateMean mean(GpuQuantity::utilization_pct, {0, 4}, 3);
  mean.take(readings);
  return mean.finish(kNames);
}

TEST(StateMean, IsThatOfTheTimeThenOfTheGpus) {
  // 40 rising to 60 in 4 s; 70 for 1 s, then falling to 40 in 3 s.
  const auto mean =
      mean_of({{0, 40, 0}, {2, 50, 0}, {4, 60, 0}, {0, 70, 1}, {1, 70, 1}, {4, 40, 1}});
  ASSERT_TRUE(mean);
  EXPECT_DOUBLE_EQ(mean->mean, (50 + (70.0 + 3 * 55) / 4) / 2);
  EXPECT_EQ(mean->peak, 70);
  EXPECT_EQ(mean->gpus, 2u);
}

TEST(StateMean, OfTwoReadingsWithOneStampBelowZero) {
  const auto mean = mean_of({{0, -5, 0}, {2, -5, 0}, {2, -5, 0}, {4, -5, 0}});
  ASSERT_TRUE(mean);
  EXPECT_EQ(mean->mean, -5);
  EXPECT_EQ(mean->peak, -5);
}

TEST(StateMean, HasItsPeakInTheWindow) {
  const auto mean = mean_of({{-1, 90, 0}, {1, 50, 0}, {3, 55, 0}, {5, 99, 0}});
  ASSERT_TRUE(mean);
  EXPECT_EQ(mean->peak, 55);
}

TEST(StateMean, IsNothingWhereAGpuDoesNotCoverTheWindow) {
  EXPECT_FALSE(mean_of({}));
  EXPECT_FALSE(mean_of({{0, 40, 0}, {4, 60, 0}, {1, 70, 1}, {4, 70, 1}}));
  EXPECT_FALSE(mean_of({{0, 40, 0}, {4, 60, 0}}));  // silent for 4 s, which is over 3
  EXPECT_TRUE(mean_of({{0, 40, 0}, {2, 50, 0}, {4, 60, 0}}));
}

TEST(StateMean, TakesRowsInAnyOrder) {
  const auto mean = mean_of({{4, 60, 0}, {2, 50, 0}, {0, 40, 0}});
  ASSERT_TRUE(mean);
  EXPECT_DOUBLE_EQ(mean->mean, 50);
}

TEST(StateMean, TakesTheRowsThatHaveIt) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Reading> readings = {
      {0, 300, 0}, {1, 310, 0}, {2, 0, 0, Reading::Kind::no_power}};
  const std::vector<GpuState> states = {{{kNone, 80, kNone}}, {{50, 90, kNone}}, {{60, 99, 1}}};
  const std::vector<std::uint32_t> of_rows = {0, 1, 2};
  const RowStates each{states, of_rows};
  const auto temperatures = readings_of(GpuQuantity::temperature_c, readings, each, {0, 2});
  ASSERT_EQ(temperatures.size(), 1u);
  EXPECT_EQ(temperatures[0].unix_s, 1);
  EXPECT_EQ(temperatures[0].watts, 50);
  EXPECT_EQ(readings_of(GpuQuantity::utilization_pct, readings, each, {0, 2}).size(), 2u);
  EXPECT_TRUE(readings_of(GpuQuantity::memory_used_mb, readings, each, {0, 2}).empty());
}

TEST(StateMean, TakesNoRowOutsideTheWindowWhoseGpuIsAtZeroWatts) {
  const std::vector<Reading> readings = {{0, 0, 0}, {1, 0, 0}, {3, 0, 0}, {4, 0, 0}, {5, 1, 0}};
  const std::vector<GpuState> states = {GpuState{{50, 50, 50}}};
  const std::vector<std::uint32_t> of_rows(readings.size(), 0);
  const auto taken = readings_of(GpuQuantity::temperature_c, readings, {states, of_rows}, {1, 3});
  ASSERT_EQ(taken.size(), 3u);
  EXPECT_EQ(taken[0].unix_s, 1);
  EXPECT_EQ(taken[1].unix_s, 3);
  EXPECT_EQ(taken[2].unix_s, 5);
}

TEST(StateMean, MayBeZeroOutsideTheWindow) {
  // 0 % until 1 s before the window, then straight to 100 % at its end: 20 % at its start.
  const auto mean = mean_of({{-1, 0, 0}, {1.5, 50, 0}, {4, 100, 0}});
  ASSERT_TRUE(mean);
  EXPECT_DOUBLE_EQ(mean->mean, (20 + 100) / 2.0);
}

TEST(StateMean, IsNothingWhereTheRecorderReportsNoStates) {
  StateMean mean(GpuQuantity::utilization_pct, {0, 4}, 3);
  const std::vector<Reading> readings = {{0, 400, 0}, {2, 400, 0}, {4, 400, 0}};
  mean.take(Batch{readings});
  EXPECT_FALSE(mean.finish(kNames));
}

}  // namespace state_mean_test
}  // namespace aggregate_power
