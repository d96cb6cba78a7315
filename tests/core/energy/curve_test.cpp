// Energy of any stretch of a trace. Expected values were computed by hand.
#include "core/energy/curve.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace power_trace_test {

// 100 W at 10 s, 300 W at 20 s, 300 W at 30 s.
PowerTrace trace(Interpolation interpolation) {
  return {"0", {{30, 300}, {10, 100}, {20, 200}, {20, 400}}, interpolation};
}

TEST(PowerTrace, IsLinearBetweenSamples) {
  const PowerTrace power = trace(Interpolation::linear);
  EXPECT_DOUBLE_EQ(power.energy_j({10, 30}), 2000 + 3000);
  EXPECT_DOUBLE_EQ(power.energy_j({15, 25}), 5 * 250 + 5 * 300);
  EXPECT_DOUBLE_EQ(power.energy_j({12, 14}), 2 * 160);
  EXPECT_DOUBLE_EQ(power.watts_at(12.5), 150);
  EXPECT_DOUBLE_EQ(power.peak_w({10, 15}), 200);
  EXPECT_DOUBLE_EQ(power.peak_w({5, 99}), 300);
}

TEST(PowerTrace, HoldsTheLastValueOfAChange) {
  const PowerTrace power = trace(Interpolation::hold);
  EXPECT_DOUBLE_EQ(power.energy_j({10, 30}), 1000 + 3000);
  EXPECT_DOUBLE_EQ(power.energy_j({15, 25}), 500 + 1500);
  EXPECT_DOUBLE_EQ(power.watts_at(19.9), 100);
  EXPECT_DOUBLE_EQ(power.peak_w({11, 19}), 100);
}

TEST(PowerTrace, EndsWithItsSamples) {
  const PowerTrace power = trace(Interpolation::linear);
  EXPECT_DOUBLE_EQ(power.energy_j({0, 99}), 5000);
  EXPECT_DOUBLE_EQ(power.energy_j({0, 10}), 0);
  EXPECT_DOUBLE_EQ(power.energy_j({30, 99}), 0);
  EXPECT_EQ(power.peak_w({31, 99}), 0);
  EXPECT_TRUE(power.covers({10, 30}));
  EXPECT_FALSE(power.covers({9.9, 30}));
}

// The recorder was stopped from 20 s to 30 s, where both segments have 300 W.
TEST(PowerTrace, DoesNotJoinWhatAPauseDivides) {
  const Window pauses[] = {{20, 30}};
  const PowerTrace power("0", {{10, 100}, {20, 300}, {30, 300}, {40, 100}}, Interpolation::linear,
                         pauses);
  EXPECT_DOUBLE_EQ(power.energy_j({10, 40}), 2000 + 2000);
  EXPECT_DOUBLE_EQ(power.energy_j({15, 25}), 5 * 250);
  EXPECT_DOUBLE_EQ(power.energy_j({25, 35}), 5 * 250);
  EXPECT_DOUBLE_EQ(power.energy_j({22, 28}), 0);
  EXPECT_EQ(power.watts_at(25), 0);
  EXPECT_EQ(power.watts_at(20), 300);
  EXPECT_TRUE(power.covers({10, 20}));
  EXPECT_TRUE(power.covers({30, 40}));
  EXPECT_FALSE(power.covers({19, 21}));
  EXPECT_FALSE(power.covers({22, 28}));
  EXPECT_FALSE(power.covers({10, 40}));
}

// 100 W throughout, a sample each second, and a pause from 10 k to 10 k + 1 for each k.
TEST(PowerTrace, FindsEachOfManyPauses) {
  std::vector<Sample> samples;
  std::vector<Window> pauses;
  for (int second = 0; second <= 100; ++second) samples.push_back({1.0 * second, 100});
  for (int start = 90; start >= 10; start -= 10) pauses.push_back({1.0 * start, start + 1.0});
  const PowerTrace power("0", samples, Interpolation::linear, pauses);
  for (int start = 0; start < 100; ++start) {
    for (int end = start + 1; end <= 100; ++end) {
      // A pause inside begins at a multiple of ten from `start` to before `end`, and after 0.
      const int first = std::max(10, (start + 9) / 10 * 10);
      EXPECT_EQ(power.covers({1.0 * start, 1.0 * end}), first >= end) << start << " to " << end;
    }
  }
  EXPECT_DOUBLE_EQ(power.energy_j({0, 100}), 100 * (100 - 9));
}

// A device that lacks the last sample of a segment is not joined across the pause either.
TEST(PowerTrace, EndsASegmentWithItsOwnLastSample) {
  const Window pauses[] = {{20, 30}};
  const PowerTrace power("0", {{10, 100}, {15, 100}, {31, 100}, {40, 100}}, Interpolation::hold,
                         pauses);
  EXPECT_DOUBLE_EQ(power.energy_j({10, 40}), 500 + 900);
  EXPECT_FALSE(power.covers({15, 18}));
}

TEST(PowerTrace, KnowsWhereARowStatesNoPower) {
  const PowerTrace power("0", {{0, 100}, {9, 100}}, Interpolation::linear, {}, {6, 3});
  EXPECT_EQ(power.first_invalid_unix_s({0, 9}), 3);
  EXPECT_EQ(power.first_invalid_unix_s({3, 4}), 3);  // edges are in the window
  EXPECT_EQ(power.first_invalid_unix_s({2, 3}), 3);
  EXPECT_EQ(power.first_invalid_unix_s({3.1, 9}), 6);
  EXPECT_EQ(power.first_invalid_unix_s({3.1, 5.9}), std::nullopt);
}

// A stretch of 10 us after a year at 700 W.
TEST(PowerTrace, LosesNothingInALongRecording) {
  std::vector<Sample> samples;
  for (int i = 0; i <= 1000; ++i) samples.push_back({i * 31536.0, 700.1});
  const PowerTrace power("0", samples, Interpolation::linear);
  EXPECT_NEAR(power.energy_j({31500000, 31500000.0009765625}), 700.1 * 0.0009765625, 1e-12);
  EXPECT_NEAR(power.energy_j({0, 31536000}), 31536000 * 700.1, 1e-5);
}

}  // namespace power_trace_test
}  // namespace aggregate_power
