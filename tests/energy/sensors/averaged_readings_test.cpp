// Steps of 400 W that are averaged: a mean over T seconds reads T / 2 times the step after the
// load's end, an exponential one with the constant C reads C times it.
#include "energy/sensors/averaged_readings.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/energy/integrate.h"
#include "energy/zones/window_doubts.h"

namespace aggregate_power {
namespace averaged_readings_test {

using energy::averaged_edges;
using energy::WindowDoubts;
using Series = std::vector<Sample>;

constexpr Window kWindow = {1000, 1060};
constexpr double kIdleW = 100;
constexpr double kStepW = 400;

// `share(at_s)` of the step, `at_s` from the window's start.
Series read(const std::function<double(double)>& share, double period_s = 1, double until_s = 500) {
  Series samples;
  for (double at_s = -29.7; at_s < until_s; at_s += period_s) {
    samples.push_back({kWindow.start_unix_s + at_s, kIdleW + kStepW * share(at_s)});
  }
  return samples;
}

// The mean of a load over the window, over the last seconds.
double mean_of_load(double at_s, double over_s) {
  const double from_s = std::max(0.0, at_s - over_s);
  const double to_s = std::min(kWindow.duration_s(), at_s);
  return std::max(0.0, to_s - from_s) / over_s;
}

Series averaged(double over_s, double period_s = 1, double until_s = 500) {
  return read([&](double at_s) { return mean_of_load(at_s, over_s); }, period_s, until_s);
}

WindowDoubts doubts_of(const Series& samples) {
  const std::span<const Sample> gpus[] = {samples, samples};
  return energy::window_doubts(gpus, kWindow, {});
}

TEST(AveragedEdges, FindsTheTimeOfAMean) {
  for (const double over_s : {6.0, 10.0, 30.0, 60.0}) {
    const auto edges = averaged_edges(averaged(over_s), kWindow);
    ASSERT_TRUE(edges.readings) << over_s;
    EXPECT_NEAR(edges.readings->over_s, over_s, 0.1 * over_s + 0.5);
    EXPECT_NEAR(edges.readings->missing_j, kStepW * over_s / 2, 0.05 * kStepW * over_s);
    EXPECT_TRUE(doubts_of(averaged(over_s)).certain.contains(Reason::readings_repeat)) << over_s;
  }
}

TEST(AveragedEdges, FindsAMeanThatIsLongerThanTheWindow) {
  const auto edges = averaged_edges(averaged(300), kWindow);
  ASSERT_TRUE(edges.readings);
  EXPECT_NEAR(edges.readings->over_s, 300, 15);
  EXPECT_TRUE(edges.readings->falls_later);
  const auto cut = averaged_edges(averaged(300, 1, 90), kWindow);
  ASSERT_TRUE(cut.readings);
  EXPECT_FALSE(cut.readings->falls_later);
  EXPECT_TRUE(doubts_of(averaged(300, 1, 90)).possible.contains(Reason::readings_repeat));
}

TEST(AveragedEdges, FindsASlowSensor) {
  constexpr double kConstantS = 6;
  const auto slow = [](double at_s) {
    const double on = at_s <= 0 ? 0 : 1 - std::exp(-at_s / kConstantS);
    return at_s <= 60 ? on : (1 - std::exp(-60 / kConstantS)) * std::exp((60 - at_s) / kConstantS);
  };
  const auto edges = averaged_edges(read(slow), kWindow);
  ASSERT_TRUE(edges.readings);
  EXPECT_NEAR(edges.readings->missing_j, kStepW * kConstantS, 0.1 * kStepW * kConstantS);
}

TEST(AveragedEdges, WarnsWhereLittleIsMissing) {
  // 400 W for 1.5 s of 500 W for 60 s: 2 %.
  const WindowDoubts doubts = doubts_of(averaged(3, 0.5));
  EXPECT_TRUE(doubts.certain.empty());
  EXPECT_TRUE(doubts.possible.contains(Reason::readings_repeat));
}

// Engines that ramp up for 10 s and drain for 10 s have the edges of a mean, and noise of their
// own: here 4 W up and down, 1 % of the step, and a mean over 10 s would leave a tenth.
TEST(AveragedEdges, OnlyWarnsOfEdgesWhereReadingsHaveNoise) {
  int readings = 0;
  Series ramps =
      read([](double at_s) { return std::clamp(std::min(at_s / 10, (70 - at_s) / 10), 0.0, 1.0); });
  for (Sample& sample : ramps) sample.watts += ++readings % 2 == 0 ? 2 : -2;
  const WindowDoubts doubts = doubts_of(ramps);
  EXPECT_TRUE(doubts.certain.empty()) << doubts.certain.text();
  EXPECT_NE(doubts.possible.text().find("may be means over about"), std::string::npos)
      << doubts.possible.text();
}

TEST(AveragedEdges, PassesLoadsWithEdgesOfTheirOwn) {
  const auto ramps = [](double at_s) {
    return std::clamp(std::min(at_s / 15, (60 - at_s) / 15), 0.0, 1.0);
  };
  const std::function<double(double)> loads[] = {
      ramps, [](double at_s) { return at_s >= 0 && at_s < 60 ? 1.0 : 0.0; },
      // Up slowly, and gone at once; up at once, and a tail; late by 8 s.
      [](double at_s) { return at_s < 60 ? std::clamp(at_s / 20, 0.0, 1.0) : 0.0; },
      [](double at_s) { return at_s < 0 ? 0.0 : std::clamp((80 - at_s) / 20, 0.0, 1.0); },
      [](double at_s) { return at_s >= 8 && at_s < 68 ? 1.0 : 0.0; },
      // It goes on.
      [](double at_s) { return std::clamp(at_s / 20, 0.0, 1.0); }};
  for (std::size_t i = 0; i < std::size(loads); ++i) {
    EXPECT_FALSE(averaged_edges(read(loads[i]), kWindow).readings) << i;
    EXPECT_FALSE(doubts_of(read(loads[i])).certain.contains(Reason::readings_repeat)) << i;
  }
  EXPECT_FALSE(averaged_edges(averaged(1), kWindow).readings) << "a usual sensor";
  EXPECT_FALSE(averaged_edges({}, kWindow).has_edge);
}

// ---- What edges may hide

TEST(HiddenEdges, AreHalfOfWhatIsBetweenTwoReadings) {
  const auto load = [](double at_s) { return at_s >= 0 && at_s < 60 ? 1.0 : 0.0; };
  // Of 10 s and a sensor's mean of 1 s, at both edges.
  const auto sparse = hidden_at_edges(read(load, 10), kWindow);
  EXPECT_DOUBLE_EQ(sparse.joules, 2 * kStepW * (10 + 1) / 2);
  EXPECT_DOUBLE_EQ(sparse.step_w, kStepW);
  EXPECT_NEAR(sparse.between_s, 10, 1e-6);
  EXPECT_NEAR(hidden_at_edges(read(load, 0.1), kWindow).joules, 2 * kStepW * 0.1 / 2, 1);
  EXPECT_DOUBLE_EQ(hidden_at_edges(read([](double) { return 0.5; }), kWindow).joules, 0);
  EXPECT_DOUBLE_EQ(hidden_at_edges({}, kWindow).joules, 0);
}

// A load of 1 s and 660 W, as a mean over 1 s shows it each second on an H200: 352 J of 667 J are
// under the line.
TEST(HiddenEdges, MayHideAllOfAShortLoad) {
  const std::vector<Sample> readings = {
      {-1.5, 126}, {-0.5, 126}, {0.5, 351}, {1.5, 472}, {2.5, 128}};
  const auto hidden = hidden_at_edges(readings, {0, 1});
  EXPECT_DOUBLE_EQ(hidden.step_w, 472 - 126);
  EXPECT_DOUBLE_EQ(hidden.between_s, 1);
  EXPECT_DOUBLE_EQ(hidden.joules, 2 * 346 * 1 / 2.0);
  EXPECT_DOUBLE_EQ(
      hidden_at_edges(std::vector<Sample>{{-0.5, 126}, {0.5, 126}, {1.5, 126}}, {0, 1}).joules, 0);
}

}  // namespace averaged_readings_test
}  // namespace aggregate_power
