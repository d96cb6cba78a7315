#include "energy/uncertainty/uncertainty.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace aggregate_power {
namespace unseen_power_test {

// 2 W more each second, without the readings from 41 s to 49 s.
std::vector<Sample> ramp_with_gap() {
  std::vector<Sample> samples;
  for (int i = 0; i <= 100; ++i) {
    if (i <= 40 || i >= 50) samples.push_back({i * 1.0, 100 + 2.0 * i});
  }
  return samples;
}

const SensorModel kSensor = {.window_s = 0.1};

TEST(UnseenPower, IsHowFarPowerChangesInHalfAGap) {
  const std::vector<Sample> samples = ramp_with_gap();
  // Readings that are 5 s apart differ by 10 W.
  EXPECT_NEAR(unseen_j(ReadingSeries(samples), kSensor, {0, 100}), 10 * std::sqrt(10 * 10 / 2.0),
              1e-9);
  // A half of the gap is in this window.
  EXPECT_NEAR(unseen_j(ReadingSeries(samples), kSensor, {0, 45}), 5 * std::sqrt(10 * 10 / 2.0),
              1e-9);
  EXPECT_EQ(unseen_j(ReadingSeries(samples), kSensor, {0, 40}), 0);
}

TEST(UnseenPower, AveragesOutWhereReadingsHaveNothingInCommon) {
  // 100 W and 300 W in turn, but not always: neighbours do not resemble each other.
  std::vector<Sample> samples;
  for (int i = 0; i < 400; ++i) {
    if (i >= 200 && i < 225) continue;
    samples.push_back({i * 1.0, i * i % 7 % 2 == 0 ? 100.0 : 300.0});
  }
  const double open_j = unseen_j(ReadingSeries(samples), kSensor, {0, 399});
  // Of 26 independent seconds, each 100 W off, a root of 26 times 100 J; somewhat more or less.
  EXPECT_GT(open_j, 0.6 * 100 * std::sqrt(26.0));
  EXPECT_LT(open_j, 2 * 100 * std::sqrt(26.0));
}

TEST(UnseenPower, IsNothingWithoutGaps) {
  std::vector<Sample> samples;
  for (int i = 0; i <= 100; ++i) samples.push_back({i * 1.0, 100 + 2.0 * i});
  EXPECT_EQ(unseen_j(ReadingSeries(samples), kSensor, {0, 100}), 0);
  samples.erase(samples.begin() + 50);  // two periods are no gap
  EXPECT_EQ(unseen_j(ReadingSeries(samples), kSensor, {0, 100}), 0);
}

}  // namespace unseen_power_test
}  // namespace aggregate_power
