#include "energy/uncertainty/verdicts.h"

#include <gtest/gtest.h>

#include <vector>

namespace aggregate_power {
namespace load_verdicts_test {

constexpr Window kWindow = {0, 100};

// From one power at the window's start to another at its end.
std::vector<Sample> line(double from_w, double to_w) { return {{0, from_w}, {100, to_w}}; }

TEST(LoadVerdicts, TellASteadyLoadFromOthers) {
  const std::vector<Sample> level = line(400, 410);
  const PowerLine steady[] = {PowerLine(level)};
  EXPECT_EQ(steadiness(steady, kWindow).code, "steady_state");
  const std::vector<Sample> falling = line(440, 360);
  const PowerLine not_steady[] = {PowerLine(falling)};
  const Verdict verdict = steadiness(not_steady, kWindow);
  EXPECT_EQ(verdict.code, "not_steady");
  // Tenths from 5 s to 100 s: the mean is 398 W at 52.5 s, the first and last tenth are 34 W off;
  // 48 W fewer in a minute.
  EXPECT_EQ(verdict.detail,
            "a tenth of the window is +8.5 % off the mean; trend -12.1 % per minute");
}

TEST(LoadVerdicts, SeeALoadThatEndsBeforeTheWindow) {
  const std::vector<Sample> samples = {{-10, 400}, {94, 400}, {95, 100}, {110, 100}};
  const PowerLine early[] = {PowerLine(samples)};
  EXPECT_EQ(steadiness(early, kWindow).code, "not_steady");
}

TEST(LoadVerdicts, KnowPowerAtItsLimit) {
  const std::vector<Sample> level = line(660, 660);
  EXPECT_TRUE(is_power_capped(level, {.limit_w = 700}, kWindow));  // 658 W is 94 %
  EXPECT_FALSE(is_power_capped(level, {.limit_w = 710}, kWindow));
  EXPECT_FALSE(is_power_capped(level, {}, kWindow));
  EXPECT_TRUE(is_power_capped(level, {.limit_w = 1000, .capped_share = 0.5}, kWindow));
}

TEST(LoadVerdicts, KnowThrottling) {
  const std::vector<Sample> falling_samples = line(500, 400);  // thirds: 483 W and 417 W
  const std::vector<Sample> slightly_samples = line(500, 470);
  const PowerLine falling(falling_samples);
  const PowerLine slightly(slightly_samples);
  EXPECT_EQ(throttling(falling, {.throttled_share = 0.01}, kWindow), "throttled");
  EXPECT_EQ(throttling(falling, {.throttled_share = 0, .least_utilization_pct = 99}, kWindow),
            std::nullopt);
  EXPECT_EQ(throttling(falling, {.least_utilization_pct = 99}, kWindow), "throttling_suspected");
  EXPECT_EQ(throttling(slightly, {.least_utilization_pct = 99}, kWindow), std::nullopt);
  EXPECT_EQ(throttling(falling, {}, kWindow), std::nullopt);
}

TEST(LoadVerdicts, KnowMomentsOfAVaryingPower) {
  std::vector<Sample> samples;
  for (int i = 0; i < 50; ++i) samples.push_back({i * 1.0, i % 2 ? 440.0 : 360.0});
  EXPECT_NEAR(variation(samples, {0, 49}), 0.1, 1e-12);
  const ReadingSeries series(samples);
  EXPECT_TRUE(is_under_sampled(series, {.window_s = 0.025}, {0, 49}));
  EXPECT_FALSE(is_under_sampled(series, {.window_s = 1}, {0, 49}));  // a mean misses nothing
}

}  // namespace load_verdicts_test
}  // namespace aggregate_power
