// Shares of energy against a slow sum over every piece of time; small ones by hand.
#include "energy/shares/attribution.h"

#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "energy/uncertainty/random_walk.h"

namespace aggregate_power {
namespace attribution_test {

using Intervals = std::vector<TraceInterval>;

EnergyShares shares_of(const PowerTrace& power, const Intervals& intervals,
                       AttributionRules rules) {
  IntervalStore store;
  for (const TraceInterval& interval : intervals) store.add(interval);
  EnergyShares shares;
  attribute_energy(power, store, rules, shares);
  return shares;
}

AttributionRules rules(Window window, Nesting nesting = Nesting::none) {
  AttributionRules wanted;
  wanted.window = window;
  wanted.nesting = nesting;
  return wanted;
}

PowerTrace constant(double watts) {
  return {"0", {{0, watts}, {100, watts}}, Interpolation::linear};
}

double joules(const EnergyShares& shares, std::size_t name) {
  return shares.by_name.at(name).energy_j.value();
}

// 100 W: alone for 2 s, two for 2 s, three for 1 s, then one alone for 1 s; 4 s of nothing.
TEST(Attribution, SharesPowerAmongThoseThatRunAtOnce) {
  const EnergyShares shares =
      shares_of(constant(100), {{10, 15, 0, 0}, {12, 15, 1, 0}, {14, 16, 2, 0}}, rules({8, 18}));
  EXPECT_DOUBLE_EQ(joules(shares, 0), 100 * (2 + 2 / 2.0 + 1 / 3.0));
  EXPECT_DOUBLE_EQ(joules(shares, 1), 100 * (2 / 2.0 + 1 / 3.0));
  EXPECT_DOUBLE_EQ(joules(shares, 2), 100 * (1 / 3.0 + 1));
  EXPECT_DOUBLE_EQ(shares.rest.energy_j.value(), 100 * 4);
  EXPECT_DOUBLE_EQ(shares.rest.time_s.value(), 4);
  EXPECT_DOUBLE_EQ(shares.by_name[0].time_s.value(), 5);
}

// A step from 10 to 50 s has a layer from 20 to 30 s, in which a part runs from 22 to 24 s.
TEST(Attribution, GivesNestedTimeToTheInnermostOrTheOutermost) {
  const Intervals nested = {{10, 50, 0, 7}, {20, 30, 1, 7}, {22, 24, 2, 7}};
  const EnergyShares inner = shares_of(constant(10), nested, rules({0, 60}, Nesting::innermost));
  EXPECT_DOUBLE_EQ(joules(inner, 0), 10 * 30);
  EXPECT_DOUBLE_EQ(joules(inner, 1), 10 * 8);
  EXPECT_DOUBLE_EQ(joules(inner, 2), 10 * 2);
  EXPECT_DOUBLE_EQ(inner.rest.energy_j.value(), 10 * 20);
  const EnergyShares outer = shares_of(constant(10), nested, rules({0, 60}, Nesting::outermost));
  EXPECT_DOUBLE_EQ(joules(outer, 0), 10 * 40);
  EXPECT_EQ(outer.by_name[1].calls, 0U);
}

TEST(Attribution, CutsOffWhatIsOutsideOfTheWindow) {
  const EnergyShares shares = shares_of(
      constant(10), {{0, 5, 0, 0}, {1, 2, 0, 0}, {8, 99, 0, 0}, {50, 60, 0, 0}}, rules({4, 10}));
  EXPECT_DOUBLE_EQ(joules(shares, 0), 10 * (1 + 2));
  EXPECT_EQ(shares.by_name[0].calls, 2U);
  EXPECT_EQ(shares.outside, 2U);
}

TEST(Attribution, CountsWhatIsShorterThanTheSensorsPeriod) {
  AttributionRules wanted = rules({0, 100});
  wanted.sensor_period_s = 1;
  const EnergyShares shares =
      shares_of(constant(10), {{0, 1, 0, 0}, {3, 3.5, 0, 0}, {4, 4, 0, 0}}, wanted);
  EXPECT_EQ(shares.by_name[0].calls, 3U);
  EXPECT_EQ(shares.by_name[0].short_calls, 2U);
}

// ---- Random traces against a slow sum.

PowerTrace random_power(std::mt19937& random) {
  std::vector<Sample> samples;
  std::uniform_real_distribution<double> watts(0, 700);
  std::uniform_real_distribution<double> step(0.001, 0.4);
  double time_s = -0.5;
  while (time_s < 11) {
    samples.push_back({time_s, watts(random)});
    time_s += step(random);
  }
  return {"0", std::move(samples), random() % 4 == 0 ? Interpolation::hold : Interpolation::linear};
}

// Starts on a coarse grid, so that many meet; from microseconds to seconds.
Intervals random_intervals(std::mt19937& random) {
  Intervals intervals;
  const std::size_t count = random() % 300;
  for (std::size_t i = 0; i < count; ++i) {
    const double start_s = static_cast<double>(random() % 1000) / 100;
    const double lengths[] = {0, 1e-6, 1.76e-6, 0.01, 0.013, 0.5, 3};
    intervals.push_back({start_s, start_s + lengths[random() % 7],
                         static_cast<std::uint32_t>(random() % 9),
                         static_cast<std::uint32_t>(random() % 3)});
  }
  return intervals;
}

double slow_energy(const PowerTrace& power, double from, double to) {
  std::vector<double> edges = {from};
  for (const Sample& sample : power.samples()) {
    if (sample.unix_s > from && sample.unix_s < to) edges.push_back(sample.unix_s);
  }
  edges.push_back(to);
  double joules = 0;
  for (std::size_t i = 1; i < edges.size(); ++i) {
    const double middle = edges[i - 1] + (edges[i] - edges[i - 1]) / 2;
    joules += (edges[i] - edges[i - 1]) * power.watts_at(middle);  // exact on straight lines
  }
  return joules;
}

// Every piece between two edges, divided among all that are open in it.
std::map<std::uint32_t, double> slow_shares(const PowerTrace& power, const Intervals& intervals,
                                            Window window) {
  constexpr std::uint32_t kRest = 99;
  std::set<double> edges = {window.start_unix_s, window.end_unix_s};
  for (const TraceInterval& interval : intervals) {
    for (const double edge : {interval.start_s, interval.end_s}) {
      if (window.contains(edge)) edges.insert(edge);
    }
  }
  std::map<std::uint32_t, double> shares;
  for (auto edge = edges.begin(); std::next(edge) != edges.end(); ++edge) {
    const double from = *edge;
    const double to = *std::next(edge);
    std::vector<std::uint32_t> open;
    for (const TraceInterval& interval : intervals) {
      if (interval.start_s <= from && interval.end_s >= to) open.push_back(interval.name);
    }
    const double energy_j = slow_energy(power, from, to);
    if (open.empty()) shares[kRest] += energy_j;
    for (const std::uint32_t name : open) {
      shares[name] += energy_j / static_cast<double>(open.size());
    }
  }
  return shares;
}

TEST(Attribution, AgreesWithASlowSum) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const PowerTrace power = random_power(random);
    const Intervals intervals = random_intervals(random);
    const Window window{static_cast<double>(random() % 500) / 100,
                        5 + static_cast<double>(random() % 500) / 100};
    const EnergyShares shares = shares_of(power, intervals, rules(window));
    std::map<std::uint32_t, double> wanted = slow_shares(power, intervals, window);
    EXPECT_NEAR(shares.rest.energy_j.value(), wanted[99], 1e-8);
    for (std::uint32_t name = 0; name < shares.by_name.size(); ++name) {
      EXPECT_NEAR(joules(shares, name), wanted[name], 1e-8) << name;
    }
  }
}

// Whatever the nesting, nothing is lost, and no mean is above the highest sample.
TEST(Attribution, SumsToTheIntegral) {
  for (unsigned seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const PowerTrace power = random_power(random);
    const Intervals intervals = random_intervals(random);
    const double start_s = static_cast<double>(random() % 1000) / 100;
    const Window window{
        start_s, std::min(start_s + 0.001 + static_cast<double>(random() % 700) / 100, 11.0)};
    const Nesting nesting[] = {Nesting::none, Nesting::innermost, Nesting::outermost};
    const EnergyShares shares = shares_of(power, intervals, rules(window, nesting[seed % 3]));
    double sum_j = shares.rest.energy_j.value();
    double sum_s = shares.rest.time_s.value();
    for (const EnergyShare& share : shares.by_name) {
      sum_j += share.energy_j.value();
      sum_s += share.time_s.value();
      EXPECT_LE(share.energy_j.value(),
                share.time_s.value() * power.peak_w(window) * (1 + 1e-9) + 1e-12);
    }
    const double wanted_j = power.energy_j(window);
    EXPECT_NEAR(sum_j, wanted_j, 1e-9 * wanted_j + 1e-12);
    EXPECT_GE(sum_s, window.duration_s() * (1 - 1e-9));
  }
}

// A hundred thousand kernels of 1.76 us in a recording of a day at 700.1 W.
TEST(Attribution, LosesNothingOfManyShortOnes) {
  const PowerTrace power("0", {{0, 700.1}, {86400, 700.1}}, Interpolation::linear);
  IntervalStore store;
  constexpr int kCount = 100'000;
  for (int i = 0; i < kCount; ++i) store.add({i * 0.05, i * 0.05 + 1.76e-6, 0, 0});
  EnergyShares shares;
  attribute_energy(power, store, rules({0, 86400}), shares);
  const double wanted_j = 700.1 * 0.176;
  EXPECT_NEAR(joules(shares, 0), wanted_j, 1e-5 * wanted_j);  // their ends are rounded to 7e-12 s
  EXPECT_NEAR(joules(shares, 0) + shares.rest.energy_j.value(), 700.1 * 86400,
              1e-9 * 700.1 * 86400);
}

TEST(IntervalStore, GivesThemInTheOrderOfTheirStarts) {
  std::mt19937 random(1);
  IntervalStore store;
  for (std::uint32_t i = 0; i < 150'000; ++i) {
    const double start_s = static_cast<double>(random() % 100'000);
    store.add({start_s, start_s + static_cast<double>(random() % 3), i, 0});
  }
  std::vector<bool> seen(150'000);
  TraceInterval last{-1, 0, 0, 0};
  store.each([&](const TraceInterval& interval) {
    ASSERT_FALSE(seen[interval.name]);
    seen[interval.name] = true;
    ASSERT_TRUE(last.start_s < interval.start_s ||
                (last.start_s == interval.start_s && last.end_s >= interval.end_s));
    last = interval;
  });
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 150'000);
}

// 1 ms samples of a sensor that gives a new value every 20 ms.
TEST(SensorPeriod, IsTheTimeBetweenChanges) {
  std::vector<Sample> samples;
  for (int i = 0; i < 1000; ++i) samples.push_back({i * 0.001, 100.0 + i / 20});
  EXPECT_NEAR(sensor_period_s(samples), 0.020, 1e-12);
}

TEST(SensorPeriod, IsThatOfTheRecorderIfEachSampleDiffers) {
  EXPECT_DOUBLE_EQ(sensor_period_s(std::vector<Sample>{{0, 1}, {1, 2}, {2, 3}, {3, 1}}), 1);
}

TEST(SensorPeriod, IsTheWholeRecordingIfNothingChanges) {
  EXPECT_DOUBLE_EQ(sensor_period_s(std::vector<Sample>{{5, 30.207}, {6, 30.207}, {9, 30.207}}), 4);
}

}  // namespace attribution_test
}  // namespace aggregate_power
