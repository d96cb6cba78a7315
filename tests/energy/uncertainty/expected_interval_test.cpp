#include "energy/uncertainty/interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace aggregate_power {
namespace expected_interval_test {

double part(const ExpectedInterval& interval, const std::string& name) {
  for (const Component& one : interval.components) {
    if (one.name == name) return one.joules;
  }
  return 0;
}

// Four GPUs of one model at 488 W and a ripple of 4 W, read every `period_s` for 120 s, by sensors
// that are 2 % off together, 4 % each, and by 9.76 W each.
EstimateQuestion seen_by(const SensorModel& sensor, double period_s) {
  EstimateQuestion seen;
  seen.window = {1010, 1110};
  seen.accuracy = {0.02, 0.04, 9.76, 88};
  for (int gpu = 0; gpu < 4; ++gpu) {
    GpuReadings readings{.name = std::to_string(gpu), .model = {}, .samples = {}, .counter = {}};
    readings.sensors = {sensor};
    for (int i = 0; i * period_s <= 120; ++i) {
      readings.samples.push_back({1000 + i * period_s, 488 + 4 * std::sin(1.7 * i + gpu)});
    }
    seen.gpus.push_back(readings);
  }
  return seen;
}

TEST(ExpectedInterval, HasTheAccuracyOfSensorsByHand) {
  const ExpectedInterval found = expected_interval(seen_by({}, 1), 60);
  EXPECT_EQ(found.refusal, "");
  const double above = 400.0 / 488.0;
  EXPECT_NEAR(part(found, "sensor_gain_shared"), 0.02 * above, 2e-5);
  EXPECT_NEAR(part(found, "sensor_gain_each"), 0.02 * above, 2e-5);  // 4 % / sqrt(4)
  EXPECT_NEAR(part(found, "sensor_offset"), 0.01, 2e-5);             // 9.76 / 488 / 2
  double squares = 0;
  for (const Component& one : found.components) squares += one.joules * one.joules;
  EXPECT_DOUBLE_EQ(found.half_width(), 1.96 * std::sqrt(squares));
}

// 25 ms of every 100 ms, read as often: it is never known what the rest was.
TEST(ExpectedInterval, KnowsSensorsThatLookPartOfTheTime) {
  const ExpectedInterval found = expected_interval(seen_by({.window_s = 0.025}, 0.1), 60);
  // 1.5 % of three quarters. The readings of the GPUs rise and fall together or not: from
  // 1 / sqrt(4) of a GPU's to all of it.
  EXPECT_GE(part(found, "time_not_seen"), 0.015 * 0.75 / 2 - 1e-9);
  EXPECT_LE(part(found, "time_not_seen"), 0.015 * 0.75 + 1e-9);
  EXPECT_EQ(part(found, "time_between_windows"), 0);
}

TEST(ExpectedInterval, OfFourTimesTheWindowHasHalfOfWhatIsRandom) {
  const EstimateQuestion seen = seen_by({.window_s = 0.02, .refresh_s = 0.001}, 1);
  const ExpectedInterval once = expected_interval(seen, 100);
  const ExpectedInterval longer = expected_interval(seen, 400);
  for (const char* const name : {"sampling_and_edges", "moments_for_means"}) {
    EXPECT_GT(part(once, name), 0) << name;
    EXPECT_NEAR(part(longer, name), part(once, name) / 2, 1e-12) << name;
  }
  EXPECT_GT(part(once, "timing"), 0);
  EXPECT_NEAR(part(longer, "timing"), part(once, "timing") / 4, 1e-12);
  EXPECT_DOUBLE_EQ(part(longer, "sensor_offset"), part(once, "sensor_offset"));
  EXPECT_DOUBLE_EQ(part(longer, "time_not_seen"), part(once, "time_not_seen"));
}

TEST(ExpectedInterval, IsRefusedWhereAnEstimateWouldBe) {
  EstimateQuestion seen = seen_by({}, 1);
  for (GpuReadings& gpu : seen.gpus) gpu.samples.resize(12);  // two in the window
  EXPECT_EQ(expected_interval(seen, 60).refusal, "too_few_readings");
}

TEST(ExpectedInterval, IsOfTheInsideOfALoad) {
  const EstimateQuestion seen = seen_by({.window_s = 1, .refresh_s = 0.1, .delay_s = 0}, 1);
  const Window inside = inside_of_load({1010, 1110}, seen.gpus[0]);  // 1 + 0.1 + 1 s less
  EXPECT_NEAR(inside.start_unix_s, 1012.1, 1e-9);
  EXPECT_NEAR(inside.end_unix_s, 1107.9, 1e-9);
  const Window brief = inside_of_load({1010, 1018}, seen.gpus[0]);  // 3.8 s would be left
  EXPECT_EQ(brief.start_unix_s, 1010);
  EXPECT_EQ(brief.end_unix_s, 1018);
}

}  // namespace expected_interval_test
}  // namespace aggregate_power
