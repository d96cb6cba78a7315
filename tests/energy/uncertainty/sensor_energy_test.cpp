#include "energy/uncertainty/uncertainty.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "energy/uncertainty/random_walk.h"

namespace aggregate_power {
namespace sensor_energy_test {

constexpr Window kWindow = {1000, 1020};
const SensorModel kAverage = {.window_s = 1, .refresh_s = 0.1, .delay_s = 0};
const SensorModel kMoment = {.window_s = 0.02, .refresh_s = 0.02, .delay_s = 0};

TEST(LineEnergy, IsThatOfStraightLines) {
  // 100 W rising to 300 W over two seconds, then flat.
  const Sample ramp[] = {{0, 100}, {2, 300}, {4, 300}};
  EXPECT_DOUBLE_EQ(line_energy_j(ramp, {1, 3}), 250 * 1 + 300 * 1);
  EXPECT_DOUBLE_EQ(line_energy_j(ramp, {3, 6}), 300 * 3);  // level beyond the ends
}

TEST(LineEnergy, TakesTheMeanOfReadingsWithOneStamp) {
  const Sample samples[] = {{0, 100}, {1, 100}, {1, 200}, {1, 300}, {2, 100}};
  EXPECT_DOUBLE_EQ(line_energy_j(samples, {0, 2}), 150 * 1 + 150 * 1);
}

TEST(SensedEnergy, OfConstantPowerIsExact) {
  std::vector<Sample> samples;
  for (double at = 995; at < 1025; at += 1) samples.push_back({at, 400});
  const ReadingSeries series(samples);
  for (const SensorModel& sensor : {kAverage, kMoment}) {
    const SensedEnergy energy = sensor_energy({series, sensor, kWindow});
    EXPECT_NEAR(energy.joules, 400 * 20, 1);
    EXPECT_NEAR(energy.timing_j, 0, 0.1);
    EXPECT_NEAR(energy.moments_j, 0, 1e-9);
  }
}

// 80 W but for the window, when it is 500 W. The recorder asks right after each refresh.
std::vector<Sample> load_in_window(double period) {
  std::vector<Sample> samples;
  for (double at = 993.45; at < 1027; at += period) {
    const double on_s = std::min(at, 1020.0) - std::max(at - 1, 1000.0);
    samples.push_back({at, std::round(100 * (80 + 420 * std::max(0.0, on_s))) / 100});
  }
  return samples;
}

TEST(SensedEnergy, UndoesTheBlurOfALoadThatIsTheWindow) {
  for (const double period : {0.1, 1.0}) {
    const std::vector<Sample> samples = load_in_window(period);
    const ReadingSeries series(samples);
    const SensedEnergy energy = sensor_energy({series, kAverage, kWindow});
    EXPECT_TRUE(energy.assumes_load_in_window);
    // The readings are 50 ms older than taken: of 420 W, at either edge.
    EXPECT_NEAR(energy.joules, 500 * 20, 420 * 0.06);
    // The trapezoid rule loses half of a second at the start and gains nothing.
    EXPECT_NEAR(line_energy_j(samples, kWindow), 500 * 20 - 420 * 0.5, 420 * 0.15);
  }
}

TEST(SensedEnergy, KnowsHowLittleMomentsSee) {
  // 200 and 400 W in turn: the variance of 21 draws is 10000 * 21 / 20 W^2 about their mean.
  std::vector<Sample> samples;
  for (int i = -5; i < 26; ++i) samples.push_back({1000.02 + i, i % 2 ? 200.0 : 400.0});
  const ReadingSeries series(samples);
  const SensedEnergy energy = sensor_energy({series, kMoment, kWindow});
  EXPECT_NEAR(energy.joules, 300 * 20, 15);
  EXPECT_GT(energy.moments_j, 0.95 * 100 / std::sqrt(20) * 20);
  EXPECT_LT(energy.moments_j, 1.1 * 100 / std::sqrt(20) * 20);
}

double half_width_j(const SensedEnergy& energy) {
  return 1.96 * std::hypot(energy.sampling_j, energy.between_windows_j, energy.timing_j);
}

// Every other second is seen: an edge that no reading shows may be as sharp as this one. 95 % of 20
// places of the readings are 19.
TEST(SensedEnergy, HoldsSharpEdgesThatNoReadingShows) {
  const std::vector<Sample> all = load_in_window(0.1);
  std::size_t held = 0;
  for (std::size_t first = 0; first < 20; ++first) {
    std::vector<Sample> samples;
    for (std::size_t i = first; i < all.size(); i += 20) samples.push_back(all[i]);
    const ReadingSeries series(samples);
    const SensedEnergy energy = sensor_energy({series, kAverage, kWindow});
    if (std::abs(energy.joules - 500 * 20) <= half_width_j(energy)) ++held;
  }
  EXPECT_GE(held, 18);
}

// 600 W for five seconds and 150 W for fifteen: the step at the start leads to 600 W, whatever most
// readings show.
TEST(SensedEnergy, HoldsALoadThatBeginsHigherThanItGoesOn) {
  for (const double phase_s : {0.0, 0.2, 0.4, 0.6, 0.8}) {
    std::vector<Sample> samples;
    for (double at = 980 + phase_s; at < 1040; at += 1) {
      const auto on_s = [&](double from, double to) {
        return std::max(0.0, std::min(at, to) - std::max(at - 1, from));
      };
      samples.push_back({at, 80 + 520 * on_s(1000, 1005) + 70 * on_s(1005, 1020)});
    }
    const ReadingSeries series(samples);
    const SensedEnergy energy = sensor_energy({series, kAverage, kWindow});
    EXPECT_NEAR(energy.joules, 600 * 5 + 150 * 15, half_width_j(energy)) << phase_s;
  }
}

// 100 W for four seconds, after 600 W for one: readings of the first second show both, and none
// shows 600 W alone for long.
TEST(SensedEnergy, HoldsAPauseAfterALoadAsShortAsTheMean) {
  for (const double load_s : {0.6, 0.8, 1.0}) {
    std::vector<Sample> samples;
    for (double at = 980; at < 1030; at += 0.1) {
      const double on_s = std::min(at, 1000.0) - std::max(at - 1, 1000 - load_s);
      samples.push_back({at, 100 + 500 * std::max(0.0, on_s)});
    }
    const ReadingSeries series(samples);
    const SensedEnergy energy = sensor_energy({series, kAverage, {1000, 1004}});
    EXPECT_NEAR(energy.joules, 100 * 4, half_width_j(energy)) << load_s;
  }
}

// Readings of a stuck sensor are left out. What was drawn meanwhile is between the powers around.
TEST(SensedEnergy, OfALongWindowKnowsLittleOfAStretchWithoutReadings) {
  constexpr Window kLong = {1000, 1420};
  for (const double unseen_from : {990.0, 1100.0, 1290.0}) {
    std::vector<Sample> samples;
    for (int i = -100; i < 4300; ++i) {
      const double at = 1000 + 0.1 * i;
      const double watts = 400 + 10 * std::sin(0.37 * i);
      if (at < unseen_from || at > unseen_from + 130) samples.push_back({at, watts});
    }
    const ReadingSeries series(samples);
    const SensedEnergy energy = sensor_energy({series, kAverage, kLong});
    EXPECT_NEAR(energy.joules, 400 * 420, 0.01 * 400 * 420) << unseen_from;
    EXPECT_TRUE(std::isfinite(energy.sampling_j)) << unseen_from;
  }
}

TEST(AtLeastNear, AreTheNearestWhereFewAreInside) {
  std::vector<Sample> samples;
  for (const double at : {0, 1, 2, 3, 4, 5, 20, 100, 101, 102, 103, 104, 105}) {
    samples.push_back({at, 1});
  }
  const std::span<const Sample> all = samples;
  const auto times = [&](Window window) {
    const std::span<const Sample> near = at_least_near(all, window, &Sample::unix_s);
    return near.empty() ? Window() : Window{near.front().unix_s, near.back().unix_s};
  };
  // Three are enough.
  EXPECT_EQ(times({1, 3}).start_unix_s, 1);
  EXPECT_EQ(times({1, 3}).end_unix_s, 3);
  // Ten, the nearest: 20, then those from 0 to 5, before 100 to 102.
  EXPECT_EQ(times({10, 30}).start_unix_s, 0);
  EXPECT_EQ(times({10, 30}).end_unix_s, 102);
  EXPECT_EQ(times({200, 300}).start_unix_s, 3);
  EXPECT_TRUE(at_least_near(all.first(0), {0, 1}, &Sample::unix_s).empty());
}

}  // namespace sensor_energy_test
}  // namespace aggregate_power
