// Expected ticks are the multiples of 1, 2 or 5 times a power of ten that one would draw by hand.
#include "chart/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace aggregate_power {
namespace axis_test {

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> labels;
  for (const Tick& tick : axis.ticks) labels.push_back(tick.label);
  return labels;
}

using Labels = std::vector<std::string>;

TEST(RoundStep, IsOneTwoOrFiveTimesAPowerOfTen) {
  struct Case {
    double span;
    std::size_t most;
    double step;
  };
  const Case cases[] = {{10, 10, 1},   {10, 9, 2},  {10, 5, 2}, {10, 4, 5},       {10, 1, 10},
                        {0.3, 3, 0.1}, {1, 5, 0.2}, {7, 6, 2},  {1e-9, 4, 5e-10}, {3e12, 5, 1e12}};
  for (const Case& each : cases) {
    EXPECT_DOUBLE_EQ(round_step(each.span, each.most), each.step) << each.span << " " << each.most;
  }
}

TEST(LinearAxis, EndsAtTicks) {
  const Axis axis = linear_axis("power (W)", 0, 693, 6);
  EXPECT_EQ(axis.low, 0);
  EXPECT_EQ(axis.high, 800);
  EXPECT_EQ(labels(axis), (Labels{"0", "200", "400", "600", "800"}));
  EXPECT_DOUBLE_EQ(axis.place(200), 0.25);
}

TEST(LinearAxis, HasTheDecimalsOfItsStep) {
  EXPECT_EQ(labels(linear_axis("", 0.05, 0.31, 6)),
            (Labels{"0.05", "0.10", "0.15", "0.20", "0.25", "0.30", "0.35"}));
  EXPECT_EQ(labels(linear_axis("", -0.2, 0.2, 4)), (Labels{"-0.2", "-0.1", "0", "0.1", "0.2"}));
  EXPECT_EQ(labels(linear_axis("", 0, 3e-7, 3)), (Labels{"0", "1e-07", "2e-07", "3e-07"}));
}

TEST(LinearAxis, RepeatsNoLabel) {
  EXPECT_EQ(labels(linear_axis("", 0.37499915, 0.3749997, 3, true)),
            (Labels{"0.3749992", "0.3749994", "0.3749996"}));
  EXPECT_EQ(labels(linear_axis("", 12345670, 12345672, 2)),
            (Labels{"12345670", "12345671", "12345672"}));
}

TEST(LinearAxis, StaysAsItIsIfExact) {
  const Axis axis = linear_axis("", 0.5, 9.5, 5, true);
  EXPECT_EQ(axis.low, 0.5);
  EXPECT_EQ(axis.high, 9.5);
  EXPECT_EQ(labels(axis), (Labels{"2", "4", "6", "8"}));
}

TEST(LinearAxis, IsWidenedAroundASingleValue) {
  for (const double value : {0.0, 5.0, -3.0, 1e300, 1e-300}) {
    const Axis axis = linear_axis("", value, value, 5);
    EXPECT_LT(axis.low, value);
    EXPECT_GT(axis.high, value);
    EXPECT_FALSE(axis.ticks.empty());
    EXPECT_LE(axis.ticks.size(), 7U);
  }
}

TEST(LinearAxis, OfNearlyEqualLargeNumbersIsNotEndless) {
  const Axis axis = linear_axis("", 1e15, std::nextafter(1e15, 2e15), 5);
  EXPECT_LE(axis.ticks.size(), 1000U);
  EXPECT_LT(axis.low, axis.high);
}

TEST(LogarithmicAxis, HasTicksAtOneTwoAndFive) {
  const Axis axis = logarithmic_axis("tokens/s", 30, 700);
  EXPECT_EQ(axis.low, 20);
  EXPECT_EQ(axis.high, 1000);
  EXPECT_EQ(labels(axis), (Labels{"20", "50", "100", "200", "500", "1000"}));
  EXPECT_DOUBLE_EQ(axis.place(20), 0);
  EXPECT_DOUBLE_EQ(axis.place(1000), 1);
  EXPECT_DOUBLE_EQ(axis.place(std::sqrt(20.0 * 1000)), 0.5);
}

TEST(LogarithmicAxis, HasOnlyPowersOfTenIfItIsLong) {
  EXPECT_EQ(labels(logarithmic_axis("", 0.001, 1000)),
            (Labels{"0.001", "0.01", "0.1", "1", "10", "100", "1000"}));
}

TEST(LogarithmicAxis, HasNoPlaceForZero) {
  EXPECT_TRUE(std::isinf(logarithmic_axis("", 1, 10).place(0)));
  EXPECT_TRUE(std::isinf(logarithmic_axis("", 1, 10).place(-1)));
}

TEST(TimeAxis, ChoosesTheUnit) {
  const Axis seconds = time_axis("time", 0, 100, 5);
  EXPECT_EQ(seconds.title, "time (s)");
  EXPECT_EQ(labels(seconds), (Labels{"0", "20", "40", "60", "80", "100"}));
  const Axis minutes = time_axis("time", 0, 600, 5);
  EXPECT_EQ(minutes.title, "time (min)");
  EXPECT_EQ(labels(minutes), (Labels{"0", "2", "4", "6", "8", "10"}));
  EXPECT_EQ(minutes.ticks[1].at, 120);
  EXPECT_EQ(time_axis("time", 0, 3 * 3600, 5).title, "time (h)");
  EXPECT_EQ(time_axis("time", 0, 10 * 86400, 5).title, "time (d)");
  EXPECT_EQ(time_axis("time", 5, 5, 5).title, "time (s)");
}

}  // namespace axis_test
}  // namespace aggregate_power
