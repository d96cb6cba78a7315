// Intervals of changes, with numbers by hand and t quantiles from tables.
#include "decide/compare/change.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace relative_change_test {

constexpr double kT2 = 4.302652730;  // 97.5 %, two degrees of freedom
constexpr double kT4 = 2.776445105;
constexpr double kNormal = 1.959963985;

RepeatedValues repeats(const std::vector<double>& values, double half_last_digit = 5e-7) {
  RepeatedValues repeated{.values = {}, .half_last_digit = half_last_digit};
  for (const double value : values) repeated.values.push_back({.value = value});
  return repeated;
}

RepeatedValues single(double value, double repeatability) {
  return {.values = {{.value = value, .repeatability = repeatability}}, .half_last_digit = 0};
}

// Deviations of -1, 0 and 1: the variance of the sample is (1 + 0 + 1) / 2 = 1.
TEST(RepeatStatistics, AreThoseOfTheSample) {
  const RepeatStatistics statistics = repeat_statistics(repeats({101, 99, 100}));
  EXPECT_EQ(statistics.count, 3U);
  EXPECT_EQ(statistics.mean, 100);
  EXPECT_EQ(statistics.median, 100);
  EXPECT_EQ(statistics.smallest, 99);
  EXPECT_EQ(statistics.largest, 101);
  EXPECT_DOUBLE_EQ(*statistics.standard_deviation, 1);
  EXPECT_NEAR(*statistics.low, 100 - kT2 / std::sqrt(3), 1e-7);
  EXPECT_NEAR(*statistics.high, 100 + kT2 / std::sqrt(3), 1e-7);
  EXPECT_EQ(repeat_statistics(repeats({1, 4, 2, 3})).median, 2.5);
}

TEST(RepeatStatistics, OfOneValueHaveItsOwnIntervalOrNone) {
  EXPECT_EQ(repeat_statistics(repeats({5})).low, std::nullopt);
  EXPECT_EQ(repeat_statistics(repeats({5})).standard_deviation, std::nullopt);
  const RepeatStatistics statistics = repeat_statistics(single(200, 0.01));
  EXPECT_NEAR(*statistics.low, 200 - kNormal * 2, 1e-6);
}

TEST(RepeatStatistics, DoNotDependOnTheOrder) {
  std::vector<double> values = {0.1, 0.7, 0.2, 1e-9, 0.3, 1234.5, 0.6};
  const RepeatStatistics first = repeat_statistics(repeats(values));
  std::ranges::sort(values);
  do {
    const RepeatStatistics next = repeat_statistics(repeats(values));
    ASSERT_EQ(first.mean, next.mean);
    ASSERT_EQ(first.standard_deviation, next.standard_deviation);
    ASSERT_EQ(first.low, next.low);
  } while (std::next_permutation(values.begin(), values.end()) && values[0] < 0.1);
}

// Both sides: spread 1 %, so 1 % x sqrt(1/3 + 1/3) with 2 + 2 degrees of freedom.
TEST(RelativeChange, OfRepeatsIsWelchs) {
  const auto change = relative_change(repeats({99, 100, 101}), repeats({198, 200, 202}), 0);
  ASSERT_TRUE(change);
  EXPECT_DOUBLE_EQ(change->change, 1);
  EXPECT_EQ(change->method, ChangeMethod::welch);
  EXPECT_NEAR(change->degrees_of_freedom, 4, 1e-9);
  const double half_width = kT4 * 0.01 * std::sqrt(2.0 / 3);
  EXPECT_NEAR(change->low, 2 * std::exp(-half_width) - 1, 1e-9);
  EXPECT_NEAR(change->high, 2 * std::exp(half_width) - 1, 1e-9);
}

// Squared uncertainties of the means in units of 1e-4 / 3: 1 and 4. (1 + 4)^2 / (1/2 + 16/2) =
// 50/17.
TEST(RelativeChange, HasTheDegreesOfFreedomOfWelchAndSatterthwaite) {
  const auto change = relative_change(repeats({99, 100, 101}), repeats({98, 100, 102}), 0);
  EXPECT_NEAR(change->degrees_of_freedom, 50.0 / 17, 1e-9);
  // Three values and five with the squares 1/3 and 2.5/5 = 1/2 (deviations 2, 1, 0, 1, 2):
  // (1/3 + 1/2)^2 / ((1/9)/2 + (1/4)/4) = (25/36) / (17/144) = 100/17.
  const auto five = relative_change(repeats({99, 100, 101}), repeats({98, 99, 100, 101, 102}), 0);
  EXPECT_NEAR(five->degrees_of_freedom, 100.0 / 17, 1e-9);
}

TEST(RelativeChange, IsReciprocalWhenTheSidesAreExchanged) {
  const RepeatedValues a = repeats({99, 100, 101.5});
  const RepeatedValues b = repeats({103, 104, 104.2, 107});
  const auto there = relative_change(a, b, 0.01);
  const auto back = relative_change(b, a, 0.01);
  EXPECT_NEAR((1 + there->change) * (1 + back->change), 1, 1e-14);
  EXPECT_NEAR((1 + there->low) * (1 + back->high), 1, 1e-12);
}

// 1 % x sqrt(1/3 + 1) with the two degrees of freedom of the repeats, whichever side they are on.
TEST(RelativeChange, TakesTheSpreadOfTheSideThatHasOne) {
  const double half_width = kT2 * 0.01 * std::sqrt(4.0 / 3);
  const RepeatedValues three = repeats({99, 100, 101});
  const auto after = relative_change(three, repeats({110}), 0);
  EXPECT_EQ(after->method, ChangeMethod::one_spread);
  EXPECT_NEAR(after->low, 1.1 * std::exp(-half_width) - 1, 1e-8);
  const auto before = relative_change(repeats({110}), three, 0);
  EXPECT_NEAR(before->high, std::exp(half_width) / 1.1 - 1, 1e-8);
}

// 0.3 % and 0.4 % in quadrature: 0.5 %.
TEST(RelativeChange, OfSingleMeasurementsIsByWhatTheyState) {
  const auto change = relative_change(single(100, 0.003), single(102, 0.004), 0);
  EXPECT_EQ(change->method, ChangeMethod::measurement);
  EXPECT_TRUE(std::isinf(change->degrees_of_freedom));
  EXPECT_NEAR(change->low, 1.02 * std::exp(-kNormal * 0.005) - 1, 1e-10);
  EXPECT_EQ(relative_change(single(100, 0.003), repeats({102}), 0), std::nullopt);
  EXPECT_EQ(relative_change(repeats({100}), repeats({102}), 0), std::nullopt);
}

// Repeats do not average it away: with very many of them, the interval is that of the accuracy.
TEST(RelativeChange, AddsTheAccuracyOfSensorsBetweenBoards) {
  const auto singles = relative_change(single(100, 0.003), single(100, 0.004), 0.012);
  EXPECT_NEAR(singles->high, std::exp(kNormal * 0.013) - 1, 1e-10);
  std::vector<double> many(1000, 100);
  many[0] = 101;
  many[1] = 99;
  const auto change = relative_change(repeats(many), repeats(many), 0.03);
  EXPECT_NEAR(change->high, std::exp(kNormal * 0.03) - 1, 1e-4);
  // (2/3 + 1)^2 / (2 x (1/9) / 2), in units of 1 %.
  const auto three = relative_change(repeats({99, 100, 101}), repeats({99, 100, 101}), 0.01);
  EXPECT_NEAR(three->degrees_of_freedom, 25, 1e-9);
}

// 0.0005 / sqrt(3) of 1: three equal values of three decimals on both sides, 2 + 2 degrees.
TEST(RelativeChange, OfEqualRepeatsIsAsWideAsTheirRounding) {
  const auto change = relative_change(repeats({1, 1, 1}, 0.0005), repeats({1, 1, 1}, 0.0005), 0);
  EXPECT_EQ(change->change, 0);
  const double half_width = kT4 * 0.0005 / std::sqrt(3) * std::sqrt(2.0 / 3);
  EXPECT_NEAR(change->high, std::expm1(half_width), 1e-12);
  EXPECT_NEAR(change->low, std::expm1(-half_width), 1e-12);
}

TEST(RelativeChange, OfEqualRepeatsIsAsWideAsTheirMeasurementStates) {
  RepeatedValues stated = repeats({1, 1, 1}, 0);
  for (MeasuredValue& each : stated.values) each.repeatability = 0.002;
  const auto change = relative_change(stated, stated, 0);
  EXPECT_NEAR(change->high, std::expm1(kT4 * 0.002 * std::sqrt(2.0 / 3)), 1e-10);
  // More spread than they state: theirs counts, not the sum.
  stated.values[0].value = 0.9;
  stated.values[2].value = 1.1;
  EXPECT_DOUBLE_EQ(*repeat_statistics(stated).uncertainty, 0.1 / std::sqrt(3));
}

// What is public of repeats: they differ by 0.1 to 0.75 % (one standard deviation).
TEST(RelativeChange, OfOnePercentIsDecidedByThreeRepeatsAndOfAFifthIsNot) {
  const auto spread = [](double mean, double share) {
    return repeats({mean * (1 - share), mean, mean * (1 + share)});
  };
  for (const double base : {0.001, 0.002, 0.003}) {
    for (const double next : {0.001, 0.002, 0.003}) {
      EXPECT_GT(relative_change(spread(100, base), spread(101, next), 0)->low, 0) << base << next;
      EXPECT_LT(relative_change(spread(100, base), spread(99, next), 0)->high, 0) << base << next;
    }
  }
  const auto small = relative_change(spread(100, 0.0075), spread(100.2, 0.0075), 0);
  EXPECT_LT(small->low, 0);
  EXPECT_GT(small->high, 0.01);
}

// Normal noise of 0.5 %, no change: the interval should hold 0 in about 95 of 100 trials.
TEST(RelativeChange, CoversNoChangeInNineteenOfTwentyTrials) {
  constexpr int kTrials = 4000;
  for (const double accuracy : {0.0, 0.01}) {
    std::mt19937_64 random(20260101);
    std::normal_distribution<double> noise(0, 0.005);
    std::normal_distribution<double> gain(0, 1);
    int covered = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      const double of_boards = 1 + accuracy * gain(random);
      std::vector<double> base;
      std::vector<double> next;
      for (int i = 0; i < 3; ++i) base.push_back(2 * (1 + noise(random)));
      for (int i = 0; i < 3; ++i) next.push_back(2 * of_boards * (1 + noise(random)));
      const auto change = relative_change(repeats(base), repeats(next), accuracy);
      covered += change->low <= 0 && 0 <= change->high ? 1 : 0;
    }
    EXPECT_GE(covered, 0.93 * kTrials) << accuracy;
    EXPECT_LE(covered, 0.97 * kTrials) << accuracy;
  }
}

}  // namespace relative_change_test
}  // namespace aggregate_power
