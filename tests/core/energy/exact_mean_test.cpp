// The mean of doubles, rounded once. Expected values are by hand or CPython's statistics.mean.
#include "core/energy/exact_mean.h"

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace aggregate_power {
namespace exact_mean_test {

double mean_of(const std::vector<double>& values) {
  ExactMean mean;
  for (const double value : values) mean.add(value);
  EXPECT_EQ(mean.count(), values.size());
  return mean.mean();
}

struct Case {
  std::vector<double> values;
  double mean;
};

void expect(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(mean_of(c.values)), std::bit_cast<std::uint64_t>(c.mean))
        << fmt::format("mean of {} is {}, not {}", c.values, mean_of(c.values), c.mean);
  }
}

constexpr double kTiny = std::numeric_limits<double>::denorm_min();  // 2^-1074
constexpr double kHuge = std::numeric_limits<double>::max();
constexpr double kStep = std::numeric_limits<double>::epsilon();  // from 1 to the next double

TEST(ExactMean, IsThatOfNegativeValuesToo) {
  expect({{{-5.0, -5.0}, -5.0},
          {{-1.0, 4.0}, 1.5},
          {{4.0, -5.0}, -0.5},
          {{-3.5, 3.5}, 0.0},
          {{-0.1, -0.2, -0.3}, -0.2},
          {{-5.3, 0.1, 2.2}, -0.9999999999999999},
          {{-kHuge, -kHuge, kTiny}, -1.1984620899082105e+308}});
}

TEST(ExactMean, IsTheMean) {
  expect({{{}, 0},
          {{5}, 5},
          {{0}, 0},
          {{0, 0, 0}, 0},
          {{1, 2}, 1.5},
          {{1, 2, 3, 4}, 2.5},
          {{500, 500, 500}, 500},
          {{0, 600}, 300},
          {{-0.0, 600}, 300},
          {{1, 1, 2}, 4.0 / 3}});
}

TEST(ExactMean, RoundsATieToEven) {
  expect({
      {{1, 1 + kStep}, 1},                          // halfway to 1 + 1 step: down to even
      {{1 + kStep, 1 + 2 * kStep}, 1 + 2 * kStep},  // halfway from 1 to 2 steps: up to even
      {{1 + 2 * kStep, 1 + 3 * kStep}, 1 + 2 * kStep},
      {{2, 2 + 2 * kStep, 0, 0}, 1},
      {{2, 2 + 2 * kStep, 0, kTiny}, 1 + kStep},  // a quarter of the smallest number breaks the tie
      {{1, 1, 1 + kStep}, 1},                     // a third of a step
      {{1, 1 + kStep, 1 + kStep}, 1 + kStep},     // two thirds
      {{2 - kStep, 2}, 2},  // halfway between neighbours of two sizes: 2 is the even one
  });
}

TEST(ExactMean, LosesNothingBetweenTheSmallestAndTheLargest) {
  expect({
      {{1e300, 1e-300}, 5e299},
      {{1e16, 1, 1, 2}, 2500000000000001},  // a plain sum loses the ones
      {{kHuge, kHuge}, kHuge},
      {{kHuge, kHuge, kHuge, kHuge, kHuge}, kHuge},
      {{kHuge, 0}, kHuge / 2},
      {{kTiny}, kTiny},
      {{kTiny, 0}, 0},              // half of it: a tie, to even
      {{kTiny, kTiny, 0}, kTiny},   // two thirds
      {{3 * kTiny, 0}, 2 * kTiny},  // one and a half
      {{5 * kTiny, 0}, 2 * kTiny},  // two and a half
      {{3 * kTiny, kTiny}, 2 * kTiny},
      {{std::numeric_limits<double>::min(), 0}, std::numeric_limits<double>::min() / 2},
      {{std::numeric_limits<double>::min() - kTiny, std::numeric_limits<double>::min() + kTiny},
       std::numeric_limits<double>::min()},
  });
}

TEST(ExactMean, IsPythonsStatisticsMean) {
  expect({
      {{0.1, 0.2, 0.3}, 0.2},  // a plain sum gives 0.20000000000000004
      {{108.86, 509.42, 992.22}, 536.8333333333334},
      {{2.2323896460701454e+19, 5.829969044604073e-18, 57710.29486174987}, 7.441298820233838e+18},
      {{638.913468926184, 9.743057599473337e-18, 5.643682931333866e+18}, 1.8812276437779556e+18},
      {{298.11, 215.72, 935.8, 98.23}, 386.965},  // 386.96500000000003
      {{38.90800073923441, 0.001225224460636918, 1142.9392232137393, 7.003825336815536},
       297.2130686285625},
      {{408.15, 420.21, 596.01, 956.27, 82.52}, 492.632},  // 492.63199999999995
      {{9.359599608690361e-05, 4.740983374196444e-17, 0.006066942759721972, 64712885.45276688,
        2845.955320941492},
       12943146.282849671},
      {{297.14, 469.14, 1045.71, 96.7, 539.02}, 489.542},  // 489.54200000000003
      {{0.2319565540782872, 993.2031367803352, 1.0509856840951453, 9.32327283000513,
        1512.4619816229683},
       503.2542666942964},
      {{0.0007998386493906747, 154.8952962810606, 15.183174907412472, 0.0007969083448836622,
        851.775145180432, 1216.9233446459493},
       373.12975962697476},
      {{8.588466155616559e-16, 7.496739204424309e-05, 4.786219435099912e-11, 5.163345189623215e-08,
        9509855728747.021, 36175245900901.055, 9141457827913.945},
       7832365636794.574},
      {{982.0, 887.85, 272.09, 621.17, 426.68, 34.78, 33.52}, 465.44142857142856},
      {{2.7941853904902983e-05, 1.9364494601280934e+17, 95651507.63413379, 80.85657427983075,
        955.0006313213331, 8.053812548862638e-16, 2.2684582673072796e-09},
       2.7663563729780268e+16},
      {{1.2703836729786432e-12, 590812302.4169512, 8.06501982032196e-12, 6.115733372160083e+17,
        98.03059434470305, 155912425731569.8, 1.309838520094504e-21, 7.99357011697368e-15,
        5.265810470990555e-13},
       6.796991669250581e+16},
      {{0.4932747921489314, 0.436953503168881, 0.12591720294802855, 0.501161715014769,
        4.691496901244278, 34.83856992690415, 0.0020480292603001007, 11.838759689461194,
        938.3143532265663},
       110.13805944296853},
  });
  ExactMean mean;
  for (int i = 0; i < 600; ++i) mean.add(i * 7919 % 100000 / 100.0);
  EXPECT_EQ(mean.mean(), 495.73833333333334) << "a plain sum gives 495.73833333333323";
}

TEST(ExactMean, MayBeAskedAgainAndGoOn) {
  ExactMean mean;
  EXPECT_EQ(mean.mean(), 0);
  mean.add(1);
  mean.add(2);
  EXPECT_EQ(mean.mean(), 1.5);
  EXPECT_EQ(mean.mean(), 1.5);
  mean.add(6);
  EXPECT_EQ(mean.mean(), 3);
  EXPECT_EQ(mean.count(), 3u);
}

TEST(ExactMean, DoesNotDriftOverManyValues) {
  ExactMean mean;
  for (int i = 0; i < 1000000; ++i) mean.add(0.1);
  EXPECT_EQ(mean.mean(), 0.1);
  for (int i = 0; i < 1000000; ++i) mean.add(kHuge);
  EXPECT_EQ(mean.mean(), kHuge / 2);
}

}  // namespace exact_mean_test
}  // namespace aggregate_power
