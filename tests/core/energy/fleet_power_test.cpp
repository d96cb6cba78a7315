// The power of all devices together, against arithmetic by hand and a slow sum.
#include "core/energy/fleet_power.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "aggregate_power/sample.h"
#include "core/energy/integrate.h"

namespace aggregate_power {
namespace fleet_power_test {

using Curve = std::vector<Sample>;

std::optional<FleetPower> fleet(Window window, const std::vector<Curve>& devices) {
  return fleet_curve(devices, window).power;
}

// Of the rows of a recording, up to 3 s from the window.
FleetCurve recorded(Window window, const std::vector<Reading>& readings) {
  aggregate_power::Samples samples(kAlways);
  samples.take(readings);
  return fleet_curve(samples, window, 3);
}

std::vector<std::pair<double, double>> knots(const FleetPower& power) {
  std::vector<std::pair<double, double>> pairs;
  for (const Sample& knot : power.knots()) pairs.emplace_back(knot.unix_s, knot.watts);
  return pairs;
}

using Knots = std::vector<std::pair<double, double>>;

TEST(FleetPower, AddsDevicesWhoseStampsDoNotCoincide) {
  // 0 to 200 W over the window, and 100 W until 1, down to 0 W at 3, and there until 4.
  const auto power = fleet({0, 4}, {{{0, 0}, {4, 200}}, {{0, 100}, {1, 100}, {3, 0}, {4, 0}}});
  ASSERT_TRUE(power);
  EXPECT_EQ(knots(*power), (Knots{{0, 100}, {1, 150}, {3, 150}, {4, 200}}));
  EXPECT_DOUBLE_EQ(power->energy_j(0, 4), 125 + 300 + 175);
  EXPECT_DOUBLE_EQ(power->energy_j(0.5, 2), (125 + 150) / 2.0 * 0.5 + 150);
  // At or below 150 W for 3 s: 1 s rising to it, 2 s at it.
  EXPECT_DOUBLE_EQ(power->quantile_w(0.75), 150);
  EXPECT_DOUBLE_EQ(power->quantile_w(0.9), 150 + 0.6 / 1 * 50);
  EXPECT_DOUBLE_EQ(power->quantile_w(0.125), 125);
}

TEST(FleetPower, ReadsTheEdgesOffTheLines) {
  const auto power = fleet({1, 3}, {{{0, 0}, {4, 400}}, {{0.5, 50}, {1.5, 150}, {3.5, 150}}});
  ASSERT_TRUE(power);
  EXPECT_EQ(knots(*power), (Knots{{1, 100 + 100}, {1.5, 150 + 150}, {3, 300 + 150}}));
}

TEST(FleetPower, IsNothingWhenADeviceStopsShortOfAnEdge) {
  const Curve whole = {{0, 100}, {4, 100}};
  EXPECT_FALSE(fleet({1, 3}, {}));
  EXPECT_FALSE(fleet({1, 3}, {whole, {{1.5, 100}, {4, 100}}}));
  EXPECT_FALSE(fleet({1, 3}, {whole, {{0, 100}, {2.5, 100}}}));
  EXPECT_FALSE(fleet({1, 3}, {whole, {{2, 100}}}));
  EXPECT_TRUE(fleet({4, 6}, {{{0, 100}, {10, 100}}}));
  EXPECT_FALSE(recorded({4, 6}, {{0, 100, 0}, {10, 100, 0}}).power);  // more than 3 s off
  EXPECT_TRUE(fleet({1, 3}, {whole, {{1, 100}, {3, 100}}}));
  EXPECT_TRUE(fleet({1, 3}, {{}, whole}));  // a number that was not met is no device
}

TEST(FleetPower, TakesNoZeroWattsFromOutsideTheWindow) {
  const std::vector<Reading> steady = {{0, 500, 0}, {2, 500, 0}, {3, 500, 0}};
  const auto with = [&](std::vector<Reading> more) {
    more.insert(more.end(), steady.begin(), steady.end());
    return recorded({1, 3}, more).power;
  };
  // The row of 0 W at 0.5 would lower the window's first second.
  EXPECT_EQ(knots(with({{0.5, 0, 0}, {4, 0, 0}}).value()), (Knots{{1, 500}, {2, 500}, {3, 500}}));
  EXPECT_EQ(knots(with({{1, 0, 0}}).value()), (Knots{{1, 0}, {2, 500}, {3, 500}})) << "on its edge";
}

TEST(FleetPower, AveragesReadingsOfOneStampInAnyOrder) {
  const auto power = fleet({0, 2}, {{{2, 40}, {0, 10}, {1, 500}, {0, 30}, {1, 100}, {1, 300}}});
  ASSERT_TRUE(power);
  EXPECT_EQ(knots(*power), (Knots{{0, 20}, {1, 300}, {2, 40}}));
}

TEST(FleetPower, CountsTheSamplesOfTheWindow) {
  const std::vector<Reading> readings = {{0, 100, 0},
                                         {1, 100, 0},
                                         {1, 200, 0},
                                         {3, 100, 0},
                                         {4, 100, 0},
                                         {2, 100, 7},
                                         {2.5, 100, 7, Reading::Kind::no_power}};
  const FleetCurve curve = recorded({1, 3}, readings);
  EXPECT_FALSE(curve.power);  // device 7 has one sample
  EXPECT_EQ(curve.samples_in_window, 2 + 1u);
}

// ---- Quantiles.

struct QuantileCase {
  const char* what;
  Curve knots;
  double q;
  double watts;
};

TEST(FleetPower, GivesQuantilesOfTheTime) {
  const QuantileCase cases[] = {
      {"a ramp", {{0, 0}, {10, 100}}, 0.75, 75},
      {"a ramp, all of it", {{0, 0}, {10, 100}}, 1, 100},
      {"a ramp, nothing of it", {{0, 0}, {10, 100}}, 0, 0},
      {"a ramp down", {{0, 100}, {10, 0}}, 0.9, 90},
      {"up and down", {{0, 0}, {1, 100}, {10, 0}}, 0.75, 75},
      {"constant", {{0, 300}, {5, 300}, {10, 300}}, 0.75, 300},
      {"constant, all of it", {{0, 300}, {10, 300}}, 1, 300},
      {"constant, nothing of it", {{0, 300}, {10, 300}}, 0, 300},
      // 8 s at 100 W and 2 s at 200 W, with steps of no time between.
      {"below a step", {{0, 100}, {8, 100}, {8, 200}, {10, 200}}, 0.75, 100},
      {"at a step", {{0, 100}, {8, 100}, {8, 200}, {10, 200}}, 0.8, 100},
      {"above a step", {{0, 100}, {8, 100}, {8, 200}, {10, 200}}, 0.875, 200},
      // 4 s from 0 to 100 W, 2 s at 100 W, 4 s from 100 to 200 W.
      {"before a plateau", {{0, 0}, {4, 100}, {6, 100}, {10, 200}}, 0.25, 62.5},
      {"where a plateau begins", {{0, 0}, {4, 100}, {6, 100}, {10, 200}}, 0.4, 100},
      {"on a plateau", {{0, 0}, {4, 100}, {6, 100}, {10, 200}}, 0.5, 100},
      {"where a plateau ends", {{0, 0}, {4, 100}, {6, 100}, {10, 200}}, 0.6, 100},
      {"behind a plateau", {{0, 0}, {4, 100}, {6, 100}, {10, 200}}, 0.75, 137.5},
      // 4 s over 0 to 100 W and 4 s over 50 to 100 W: 25 W/s below 50 W, 25/3 W/s above.
      {"two ramps over each other", {{0, 0}, {4, 100}, {8, 50}}, 0.25, 50},
      {"two ramps, where both count", {{0, 0}, {4, 100}, {8, 50}}, 0.625, 75},
      {"no power", {{0, 0}, {10, 0}}, 0.9, 0},
  };
  for (const QuantileCase& c : cases) {
    EXPECT_DOUBLE_EQ(FleetPower(c.knots).quantile_w(c.q), c.watts) << c.what;
  }
}

TEST(FleetPower, HasNoQuantileWhenAPowerIsTooLargeForANumber) {
  const Curve huge = {{0, 1e308}, {1, 1.5e308}, {2, 1e308}};
  const auto power = fleet({0, 2}, {huge, huge, {{0, 0}, {0.5, 0}, {2, 0}}});
  ASSERT_TRUE(power);
  EXPECT_FALSE(std::isfinite(power->quantile_w(0.75)));
}

TEST(FleetPower, KeepsItsDigitsWhereSegmentsAreSteepOrAlmostFlat) {
  // 1 s at 300 W, a millionth of a second up to 900 W, 1 s there but for the last digit.
  const double almost_w = std::nextafter(900.0, 1000.0);
  const FleetPower power({{0, 300}, {1, 300}, {1.000001, 900}, {2.000001, almost_w}});
  EXPECT_DOUBLE_EQ(power.quantile_w(0.25), 300);
  EXPECT_NEAR(power.quantile_w(1.0000005 / 2.000001), 600, 1e-6);
  EXPECT_DOUBLE_EQ(power.quantile_w(0.75), 900);
}

// ---- Random fleets against the slow way.

double watts_of(const Curve& samples, double unix_s) {
  std::size_t i = 1;
  while (samples[i].unix_s < unix_s) ++i;
  const Sample& a = samples[i - 1];
  const Sample& b = samples[i];
  return (a.watts * (b.unix_s - unix_s) + b.watts * (unix_s - a.unix_s)) / (b.unix_s - a.unix_s);
}

// By bisection over the time that each segment of the sum is below.
double slow_quantile_w(const Curve& curve, double q) {
  const double wanted_s = q * (curve.back().unix_s - curve.front().unix_s);
  double low_w = 0;
  double high_w = 1e6;
  for (int step = 0; step < 100; ++step) {
    const double middle_w = (low_w + high_w) / 2;
    double time_s = 0;
    for (std::size_t i = 1; i < curve.size(); ++i) {
      const double from_w = std::min(curve[i - 1].watts, curve[i].watts);
      const double to_w = std::max(curve[i - 1].watts, curve[i].watts);
      const double share =
          to_w > from_w ? (middle_w - from_w) / (to_w - from_w) : (middle_w >= from_w ? 1.0 : 0.0);
      time_s += std::clamp(share, 0.0, 1.0) * (curve[i].unix_s - curve[i - 1].unix_s);
    }
    (time_s >= wanted_s ? high_w : low_w) = middle_w;
  }
  return high_w;
}

TEST(FleetPower, AgreesWithTheSlowWay) {
  std::mt19937 random(20261121);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  for (int run = 0; run < 300; ++run) {
    const Window window = {1788852019.5, 1788852019.5 + pick(1, 40)};
    const bool coarse = pick(0, 1) == 1;  // stamps and powers that often coincide
    std::vector<Curve> devices(static_cast<std::size_t>(pick(1, 9)));
    std::set<double> stamps = {window.start_unix_s, window.end_unix_s};
    double energy_j = 0;
    for (Curve& samples : devices) {
      double unix_s = window.start_unix_s - 1 - 0.25 * pick(0, 4);
      do {
        samples.push_back({unix_s, static_cast<double>(coarse ? 100 * pick(0, 3) : pick(0, 999))});
        unix_s += coarse ? 0.5 : 0.001 * pick(1, 1500);
      } while (samples.back().unix_s < window.end_unix_s);
      DeviceIntegrator integrator(window);
      for (const Sample& sample : samples) {
        integrator.add(sample.unix_s, sample.watts);
        if (sample.unix_s > window.start_unix_s && sample.unix_s < window.end_unix_s) {
          stamps.insert(sample.unix_s);
        }
      }
      energy_j += integrator.finish().energy_j;
    }
    Curve slow;
    for (const double unix_s : stamps) {
      double watts = 0;
      for (const Curve& samples : devices) watts += watts_of(samples, unix_s);
      slow.push_back({unix_s, watts});
    }
    std::ranges::shuffle(devices.front(), random);

    const auto power = fleet(window, devices);
    ASSERT_TRUE(power);
    ASSERT_EQ(power->knots().size(), slow.size());
    for (std::size_t i = 0; i < slow.size(); ++i) {
      ASSERT_EQ(power->knots()[i].unix_s, slow[i].unix_s);
      ASSERT_NEAR(power->knots()[i].watts, slow[i].watts, 1e-9);
    }
    ASSERT_NEAR(power->energy_j(window.start_unix_s, window.end_unix_s), energy_j, 1e-7);
    for (const double q : {0.01, 0.25, 0.5, 0.75, 0.9, 0.99}) {
      // A share of the time that a plateau just fills may be missed by the last digit.
      const double watts = power->quantile_w(q);
      const double from_w = slow_quantile_w(slow, q - 1e-9) - 1e-6;
      const double to_w = slow_quantile_w(slow, q + 1e-9) + 1e-6;
      ASSERT_TRUE(watts >= from_w && watts <= to_w)
          << "run " << run << ", " << q << ": " << watts << " not in " << from_w << " to " << to_w;
    }
  }
}

}  // namespace fleet_power_test
}  // namespace aggregate_power
