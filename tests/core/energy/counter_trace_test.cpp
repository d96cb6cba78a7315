// Energy of any stretch of a counter. Expected values were computed by hand.
#include "core/energy/counter_trace.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace counter_trace_test {

using Samples = std::vector<CounterSample>;

constexpr double kGap = 3;

// A reading each second from `from_s` to `to_s`; the counter goes up by `watts` each second.
Samples rising(double from_s, double to_s, double from_j, double watts) {
  Samples samples;
  for (double s = from_s; s <= to_s; ++s) samples.push_back({s, from_j + (s - from_s) * watts});
  return samples;
}

Samples joined(Samples first, const Samples& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

CounterTrace trace(Samples samples, double unit_j = 1, const PowerTrace* power = nullptr) {
  return {std::move(samples), unit_j, power};
}

TEST(CounterTrace, IsTheDifferenceBetweenReadings) {
  const CounterTrace counter = trace(rising(0, 20, 5e8, 100));
  EXPECT_EQ(counter.fault({2, 18}, kGap), "");
  EXPECT_DOUBLE_EQ(counter.energy_j({2, 18}), 16 * 100);
  EXPECT_EQ(counter.readings({2, 18}), 17U);
}

TEST(CounterTrace, IsOnALineBetweenTheReadingsAroundAnEdge) {
  // 100 W until 10 s, 300 W after it.
  const CounterTrace counter = trace(joined(rising(0, 10, 0, 100), rising(11, 20, 1300, 300)));
  EXPECT_DOUBLE_EQ(counter.energy_j({1.5, 12.25}), 850 + 675);
  // The step at each edge: 100 J and 300 J.
  EXPECT_DOUBLE_EQ(counter.resolution_j({1.5, 12.25}), 400);
}

TEST(CounterTrace, TakesReadingsInAnyOrderAndTheHighestOfOneTime) {
  Samples samples = rising(0, 20, 0, 100);
  std::ranges::reverse(samples);
  samples.push_back({10, 999});  // an instance of the same GPU, read a little earlier
  EXPECT_DOUBLE_EQ(trace(samples).energy_j({0, 10}), 1000);
}

TEST(CounterTrace, GoesOnAfterARegisterOf32BitsBeganAgain) {
  constexpr double kRange = 4294967.296;  // 2^32 mJ
  Samples samples = rising(0, 20, kRange - 950, 100);
  for (CounterSample& sample : samples) {
    if (sample.joules >= kRange) sample.joules -= kRange;
  }
  const CounterTrace counter = trace(samples, 1e-3);
  EXPECT_EQ(counter.fault({1, 19}, kGap), "");
  EXPECT_NEAR(counter.energy_j({1, 19}), 1800, 1e-6);
  // In joules too: drivers count in millijoules.
  EXPECT_NEAR(trace(samples, 1).energy_j({1, 19}), 1800, 1e-6);
}

TEST(CounterTrace, GoesOnAfter32BitsOfASmallerUnit) {
  constexpr double kUnit = 15.259e-6;
  constexpr double kRange = 4294967296 * kUnit;  // 65537 J
  Samples samples = rising(0, 20, kRange - 950, 100);
  for (CounterSample& sample : samples) {
    if (sample.joules >= kRange) sample.joules -= kRange;
  }
  EXPECT_NEAR(trace(samples, kUnit).energy_j({1, 19}), 1800, 1e-6);
}

TEST(CounterTrace, LosesTheDifferenceOverAReset) {
  const CounterTrace counter = trace(joined(rising(0, 20, 70000, 100), rising(21, 40, 30, 100)));
  EXPECT_EQ(counter.fault({5, 30}, kGap), "its energy counter fell by 71970.000 J, as by a reset");
  EXPECT_EQ(counter.fault({20.5, 35}, kGap), counter.fault({5, 30}, kGap));
  EXPECT_EQ(counter.fault({5, 20}, kGap), "");
  EXPECT_DOUBLE_EQ(counter.energy_j({5, 20}), 1500);
  EXPECT_EQ(counter.fault({21, 40}, kGap), "");
  EXPECT_DOUBLE_EQ(counter.energy_j({21, 40}), 1900);
}

TEST(CounterTrace, DoesNotTakeAResetNearTheRangeForAWrap) {
  // It would have used 20 kJ in one second.
  constexpr double kRange = 4294967.296;
  const CounterTrace counter =
      trace(joined(rising(0, 20, kRange - 22000, 100), rising(21, 40, 0, 100)), 1e-3);
  EXPECT_NE(counter.fault({5, 30}, kGap), "");
}

TEST(CounterTrace, MayHaveWrappedInALongGap) {
  // 2^32 uJ is 4295 J, and twice the highest power in 30 s would be 6000 J.
  const CounterTrace counter =
      trace(joined(rising(0, 20, 0, 100), rising(50, 70, 2100, 100)), 1e-6);
  EXPECT_EQ(counter.fault({1, 69}, kGap),
            "its energy counter may have begun again in 30.000 s without a reading");
  EXPECT_EQ(counter.fault({1, 19}, kGap), "");
}

TEST(CounterTrace, CountsThroughAGapThatIsInsideTheWindow) {
  const CounterTrace counter =
      trace(joined(rising(0, 20, 0, 100), rising(50, 80, 9000, 100)), 1e-3);
  EXPECT_EQ(counter.fault({1, 79}, kGap), "");
  EXPECT_DOUBLE_EQ(counter.energy_j({1, 79}), 1900 + 7000 + 2900);
  EXPECT_EQ(counter.fault({1, 45}, kGap),
            "30.000 s between the readings of its energy counter at the window's edge");
}

TEST(CounterTrace, IsNeverUsedIfItIsAlwaysZeroOrTheSame) {
  EXPECT_EQ(trace(rising(0, 20, 0, 0)).fault(),
            "its energy counter is always 0, as of a GPU that has none");
  EXPECT_EQ(trace(rising(0, 20, 7.5, 0)).fault(), "its energy counter always stays at 7.500 J");
  EXPECT_EQ(trace({{1, 2}}).fault(), "its energy counter was read less than twice");
}

TEST(CounterTrace, IsNeverUsedIfItIsNotASum) {
  Samples samples;  // joules of each second
  for (int s = 0; s < 40; ++s) samples.push_back({static_cast<double>(s), s % 2 == 0 ? 100. : 90.});
  EXPECT_EQ(trace(samples).fault(), "its energy counter falls 20 times: it is not a sum");
}

TEST(CounterTrace, IsNotUsedWhereItIsStuck) {
  const Samples samples =
      joined(joined(rising(0, 20, 0, 100), rising(21, 50, 2000, 0)), rising(51, 80, 2100, 100));
  EXPECT_EQ(trace(samples).fault({15, 60}, kGap), "its energy counter stands still for 30.000 s");
  EXPECT_EQ(trace(samples).fault({0, 20}, kGap), "");
  EXPECT_EQ(trace(samples).fault({51, 80}, kGap), "");
  const PowerTrace busy("0", {{0, 100}, {80, 100}}, Interpolation::linear);
  EXPECT_EQ(trace(samples, 1, &busy).fault({15, 60}, kGap),
            "its energy counter stands still for 30.000 s");
  // A GPU that draws next to nothing, 10 J in 30 s, has no energy to count.
  const PowerTrace idle("0", {{0, 0.33}, {80, 0.33}}, Interpolation::linear);
  EXPECT_EQ(trace(samples, 1, &idle).fault({15, 60}, kGap), "");
  EXPECT_DOUBLE_EQ(trace(samples, 1, &idle).energy_j({15, 60}), 500 + 1000);
}

TEST(CounterTrace, IsNotUsedWhereItRisesAsNoGpuCan) {
  const CounterTrace counter = trace(joined(rising(0, 20, 0, 100), rising(21, 40, 50000, 100)));
  EXPECT_EQ(counter.fault({5, 35}, kGap), "its energy counter rises by 48000.000 J in 1.000 s");
  EXPECT_EQ(counter.fault({21, 40}, kGap), "");
}

TEST(CounterTrace, FindsTheFaultsOfALongRecording) {
  // 300 W, and nothing for 100 s; then a jump of 50 kJ.
  Samples samples = joined(rising(0, 40000, 0, 300), rising(40001, 40100, 12e6, 0));
  samples = joined(joined(samples, rising(40101, 59999, 12e6 + 300, 300)),
                   rising(60000, 80000, 20e6, 300));
  const CounterTrace counter = trace(samples);
  EXPECT_EQ(counter.fault({100, 39900}, kGap), "");
  EXPECT_DOUBLE_EQ(counter.energy_j({100.5, 39900}), 39799.5 * 300);
  EXPECT_EQ(counter.fault({100, 50000}, kGap), "its energy counter stands still for 100.000 s");
  EXPECT_EQ(counter.fault({41000, 70000}, kGap),
            "its energy counter rises by 2030300.000 J in 1.000 s");
  EXPECT_EQ(counter.fault({61000, 79000}, kGap), "");
}

TEST(CounterTrace, IsOnALineBetweenStepsThatAreLongerThanThePeriod) {
  // Read each 0.125 s, in whole kilojoules: a step each 2.5 s at 400 W.
  Samples samples;
  for (double s = 0; s <= 60; s += 0.125) {
    samples.push_back({s, 1000 * std::floor(s * 400 / 1000)});
  }
  const CounterTrace counter = trace(samples, 1e3);
  EXPECT_EQ(counter.fault({10, 50}, kGap), "");
  EXPECT_DOUBLE_EQ(counter.energy_j({10, 50}), 16000);
  EXPECT_DOUBLE_EQ(counter.energy_j({11, 49}), 15200);
  EXPECT_DOUBLE_EQ(counter.resolution_j({11, 49}), 2000);
}

TEST(CounterTrace, DoesNotResolveAWindowOfFewSteps) {
  const CounterTrace counter = trace(rising(0, 20, 0, 100));
  EXPECT_EQ(counter.fault({5.2, 5.8}, kGap),
            "the window has 0 steps of its energy counter, at least 10 are needed");
  EXPECT_EQ(counter.fault({5.5, 6.5}, kGap),
            "the window has 1 step of its energy counter, at least 10 are needed");
  EXPECT_EQ(counter.fault({5, 15}, kGap), "");
}

TEST(CounterTrace, DoesNotReachBeyondItsReadings) {
  const CounterTrace counter = trace(rising(10, 30, 0, 100));
  const std::string outside = "its energy counter was not read before and after the window";
  EXPECT_EQ(counter.fault({9.9, 25}, kGap), outside);
  EXPECT_EQ(counter.fault({12, 30.1}, kGap), outside);
  EXPECT_EQ(counter.fault({12, 12}, kGap), "the window takes no time");
  EXPECT_EQ(counter.fault({10, 30}, kGap), "");
}

TEST(CounterTrace, RefutesAPowerThatIsApartByMoreThanASixth) {
  // 60 s at 300 W are 18000 J.
  EXPECT_FALSE(refutes(18000 * 1.159, 18000, 30, 60));
  EXPECT_TRUE(refutes(18000 * 1.17, 18000, 30, 60));
  EXPECT_TRUE(refutes(18000 * 0.83, 18000, 30, 60));
  EXPECT_FALSE(refutes(18000 * 1.17, 18000, 4000, 60));  // its steps are too high
  // 2 s of 10 s at 370 W may be missing at the edges.
  EXPECT_FALSE(refutes(3700, 3000, 30, 10));
  EXPECT_TRUE(refutes(4900, 3000, 30, 10));
  // 0.3 W and 300 kW are of no GPU: it is the counter's unit that is wrong.
  EXPECT_FALSE(refutes(18, 18000, 0, 60));
  EXPECT_FALSE(refutes(18e6, 18000, 0, 60));
  EXPECT_TRUE(refutes(18, 0.018, 0, 60));
  EXPECT_TRUE(refutes(0, 0.018, 0, 60));
}

TEST(Contradict, IsMoreThanFivePercentAndMoreThanTheSteps) {
  EXPECT_FALSE(contradict(104, 100, 1));
  EXPECT_TRUE(contradict(106, 100, 1));
  EXPECT_TRUE(contradict(94, 100, 1));
  EXPECT_FALSE(contradict(106, 100, 7));
  EXPECT_EQ(why_unbelievable(199, 100, 1), "");
  EXPECT_EQ(why_unbelievable(201, 100, 1),
            "its energy counter says 201.000 J, and its power 100.000 J");
  EXPECT_NE(why_unbelievable(49, 100, 1), "");
  EXPECT_EQ(why_unbelievable(49, 100, 60), "");
}

}  // namespace counter_trace_test
}  // namespace aggregate_power
