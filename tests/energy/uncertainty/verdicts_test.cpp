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

// From 400 W in the first half to another power in the second: 6 W are 1.5 %.
std::optional<std::string> drift(double second_w, GpuConditions::HalfChange halves) {
  const std::vector<Sample> samples = {{0, 400}, {50, 400}, {50.001, second_w}, {100, second_w}};
  return thermal_drift(PowerLine(samples), {.halves = halves}, kWindow);
}

TEST(ThermalDrift, IsPowerThatFollowsTheTemperature) {
  EXPECT_EQ(drift(406, {.temperature_c = 5, .utilization_pct = 1, .cooling_s = 221}),
            "+5.0 C and +1.5 % power from the first half of the window to the second; it cools "
            "down in 221 s");
  EXPECT_EQ(
      drift(394, {.temperature_c = -5, .clock_share = 0.001}),
      "-5.0 C and -1.5 % power, +0.1 % clock from the first half of the window to the second");
  EXPECT_TRUE(drift(400, {.temperature_c = 5, .clock_share = -0.015}));  // at a power limit
}

TEST(ThermalDrift, IsNotSuspectedOfALoadThatChanges) {
  const std::vector<Sample> level = line(400, 400);
  EXPECT_FALSE(thermal_drift(PowerLine(level), {}, kWindow));
  EXPECT_FALSE(drift(406, {.temperature_c = 2.9}));
  EXPECT_FALSE(drift(401, {.temperature_c = 5}));  // 0.25 %
  EXPECT_FALSE(drift(412, {.temperature_c = 5}));  // 3 %: 0.6 % a degree
  EXPECT_FALSE(drift(394, {.temperature_c = 5}));  // the other way
  EXPECT_FALSE(drift(406, {.temperature_c = 5, .utilization_pct = 3}));
  EXPECT_FALSE(drift(406, {.temperature_c = 5, .clock_share = 0.015}));  // a governor
  EXPECT_FALSE(drift(400, {.temperature_c = 5, .clock_share = 0.015}));
}

// Tenths of 380 and 420 W in turn: 1 % between the halves is chance.
TEST(ThermalDrift, IsNotSuspectedOfNoise) {
  std::vector<Sample> samples;
  for (int i = 0; i < 10; ++i) {
    const double watts = (i % 2 == 0 ? 380.0 : 420.0) + (i < 5 ? 0 : 4);
    samples.push_back({10.0 * i, watts});
    samples.push_back({10.0 * i + 9.999, watts});
  }
  samples.push_back({100, samples.back().watts});
  EXPECT_FALSE(thermal_drift(PowerLine(samples), {.halves = {{.temperature_c = 5}}}, kWindow));
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
