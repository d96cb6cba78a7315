// Loads whose place is known, in random recordings.
#include "energy/shares/window_placement.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numbers>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test_util.h"

namespace aggregate_power {
namespace window_placement_test {

using Curve = std::function<double(double)>;  // watts at a time

constexpr double kIdle_w = 100;
constexpr double kLoad_w = 500;

// Power between two times, and nothing else.
double between(double unix_s, double start_s, double end_s, double watts) {
  return unix_s >= start_s && unix_s < end_s ? watts : 0;
}

std::vector<Reading> sampled(const Curve& watts, double first_s, double last_s, double step_s,
                             std::uint32_t device = 0) {
  std::vector<Reading> readings;
  for (double i = 0; first_s + i * step_s <= last_s; ++i) {
    Reading reading;
    reading.kind = Reading::Kind::power;
    reading.device = device;
    reading.unix_s = first_s + i * step_s;
    reading.watts = watts(reading.unix_s);
    readings.push_back(reading);
  }
  return readings;
}

std::optional<Placement> place(const PlacementRange& range, const std::vector<Reading>& readings) {
  Samples samples(placement_surroundings(range));
  samples.take(readings);
  samples.sort();
  return find_placement(range, samples);
}

// For a stamp of the end, as a caller makes it: written up to 30 s later, to the second.
PlacementRange range_of_end(double duration_s, double stamp_s) {
  const double second_s = std::floor(stamp_s);
  return {.duration_s = duration_s,
          .earliest_start_s = second_s - 30 - duration_s,
          .latest_start_s = second_s + 1 - duration_s,
          .likely_start_s = second_s - duration_s};
}

// A load of 60 s from 1000 on.
double block(double unix_s) { return kIdle_w + between(unix_s, 1000, 1060, kLoad_w - kIdle_w); }

TEST(Placement, FindsALoadBetweenIdleTimes) {
  const auto placement = place(range_of_end(60, 1067.5), sampled(block, 900, 1160, 0.1));
  ASSERT_TRUE(placement);
  EXPECT_TRUE(placement->is_by_power);
  EXPECT_NEAR(placement->window.start_unix_s, 1000, 0.11);
  EXPECT_NEAR(placement->energy_j, 60 * kLoad_w, 0.11 * kLoad_w);
  // A load may show itself half a second and a sample later than it starts: 400 W for 0.6 s less.
  EXPECT_NEAR(placement->low_j, 60 * kLoad_w - 240, 50);
  EXPECT_LE(placement->half_width_s, 1.2);
}

TEST(Placement, AddsTheDevices) {
  std::vector<Reading> readings = sampled(block, 900, 1160, 0.5, 0);
  const auto second = sampled([](double) { return 50.0; }, 900, 1160, 0.7, 3);
  readings.insert(readings.end(), second.begin(), second.end());
  const auto placement = place(range_of_end(60, 1062), readings);
  ASSERT_TRUE(placement);
  EXPECT_NEAR(placement->energy_j, 60 * (kLoad_w + 50), 0.5 * kLoad_w);
}

TEST(Placement, AllPlacesRemainWhereThePowerDoesNotTell) {
  // The load rises by 1 W a second throughout: each place has its own energy.
  const auto rising = [](double unix_s) { return unix_s - 500; };
  const PlacementRange range = range_of_end(60, 1060);
  const auto placement = place(range, sampled(rising, 900, 1160, 0.5));
  ASSERT_TRUE(placement);
  EXPECT_FALSE(placement->is_by_power);
  EXPECT_NEAR(placement->window.start_unix_s, range.likely_start_s, 0.1);
  // The mean power is that of the middle: starts from 970 to 1001, so 500 W to 531 W.
  EXPECT_NEAR(placement->low_j, 60 * 500, 10);
  EXPECT_NEAR(placement->high_j, 60 * 531, 60);
  EXPECT_NEAR(placement->half_width_s, 30, 0.1);
}

TEST(Placement, AWarmUpAsLongAsTheLoadRemainsPossible) {
  for (const double warm_up_w : {480.0, 500.0, 600.0}) {
    const auto twice = [&](double unix_s) {
      return kIdle_w + between(unix_s, 1000, 1010, 400) +
             between(unix_s, 985, 995, warm_up_w - 100);
    };
    const auto placement = place(range_of_end(10, 1010.5), sampled(twice, 900, 1100, 0.1));
    ASSERT_TRUE(placement);
    EXPECT_LE(placement->low_j, 10 * kLoad_w + 1) << warm_up_w;
    EXPECT_GE(placement->high_j, 10 * std::max(warm_up_w, kLoad_w) - 60) << warm_up_w;
  }
}

// A load of 40 s from 1000 on: half of it at full power, then a tail of few requests.
double with_tail(double unix_s) {
  return kIdle_w + between(unix_s, 1000, 1020, kLoad_w - kIdle_w) + between(unix_s, 1020, 1040, 80);
}
constexpr double kTail_j = 20 * kLoad_w + 20 * (kIdle_w + 80);

TEST(Placement, HoldsALoadThatAWarmUpJoins) {
  for (const double warm_up_s : {5.0, 15.0, 25.0}) {
    const auto joined = [&](double unix_s) {
      return with_tail(unix_s) + between(unix_s, 1000 - warm_up_s, 1000, kLoad_w - kIdle_w);
    };
    const auto placement = place(range_of_end(40, 1041.5), sampled(joined, 900, 1140, 0.5));
    ASSERT_TRUE(placement);
    EXPECT_FALSE(placement->is_by_power);
    EXPECT_LE(placement->low_j, kTail_j) << warm_up_s;
    // The place with the highest energy takes in the whole warm-up, or 20 s of it.
    EXPECT_GE(placement->high_j, kTail_j + std::min(warm_up_s, 20.0) * 320 - 400) << warm_up_s;
    EXPECT_NEAR(placement->energy_j, kTail_j, 0.05 * kTail_j) << warm_up_s;
  }
}

TEST(Placement, HoldsALoadThatAnotherOneFollows) {
  const auto followed = [](double unix_s) {
    return block(unix_s) + between(unix_s, 1060, 1090, 300);
  };
  const auto placement = place(range_of_end(60, 1065), sampled(followed, 900, 1160, 0.5));
  ASSERT_TRUE(placement);
  EXPECT_GE(placement->high_j, 60 * kLoad_w - 100);
  EXPECT_NEAR(placement->energy_j, 60 * kLoad_w, 0.01 * 60 * kLoad_w);
}

TEST(Placement, ALoadThatStandsAloneIsPlacedWhateverIsNextToIt) {
  for (const double pause_s : {3.0, 8.0}) {
    const auto paused = [&](double unix_s) {
      return with_tail(unix_s) + between(unix_s, 985 - pause_s, 1000 - pause_s, 400);
    };
    const auto placement = place(range_of_end(40, 1041.5), sampled(paused, 900, 1140, 0.5));
    ASSERT_TRUE(placement);
    EXPECT_TRUE(placement->is_by_power) << pause_s;
    EXPECT_NEAR(placement->energy_j, kTail_j, 0.02 * kTail_j) << pause_s;
    EXPECT_LE(placement->high_j - placement->low_j, 0.1 * kTail_j) << pause_s;
  }
}

TEST(Placement, TakesInATailThatIsHardlySeen) {
  const auto faint = [](double unix_s) {
    return kIdle_w + between(unix_s, 1000, 1020, 400) + between(unix_s, 1020, 1040, 10);
  };
  const auto placement = place(range_of_end(40, 1041.5), sampled(faint, 900, 1140, 0.5));
  ASSERT_TRUE(placement);
  EXPECT_TRUE(placement->is_by_power);
  EXPECT_NEAR(placement->window.start_unix_s, 1000, 1);
  EXPECT_NEAR(placement->energy_j, 40 * kIdle_w + 20 * 410, 300);
}

TEST(Placement, NoPlaceIsCovered) {
  EXPECT_FALSE(place(range_of_end(60, 1060), {}));
  EXPECT_FALSE(place(range_of_end(60, 1060), sampled(block, 1020, 1160, 1)));
  EXPECT_FALSE(place(range_of_end(60, 5000), sampled(block, 900, 1160, 1)));
}

TEST(Placement, OddRanges) {
  const auto readings = sampled(block, 900, 1160, 1);
  EXPECT_FALSE(
      place({.duration_s = 1e300, .earliest_start_s = -1e300, .latest_start_s = -1e300}, readings));
  const auto point = place({60, 1000, 1000, 1000}, readings);
  ASSERT_TRUE(point);
  EXPECT_EQ(point->window.start_unix_s, 1000);
  EXPECT_EQ(point->low_j, point->high_j);
  // Two samples of one instant.
  auto twice = readings;
  twice.insert(twice.end(), readings.begin(), readings.end());
  const auto same = place(range_of_end(60, 1062), twice);
  ASSERT_TRUE(same);
  EXPECT_TRUE(std::isfinite(same->energy_j));
  EXPECT_NEAR(same->energy_j, 60 * kLoad_w, kLoad_w);
}

// ---- Random recordings

// The same block in a long command, at instants that steps through the range do not meet: 600 s at
// 600 W between 100 W.
TEST(Placement, FindsABlockAnywhereInALongCommand) {
  for (const double duration_s : {600.0, 20.0, 4.0}) {
    for (const double start_s : {9000.0, 9001.0, 9002.3, 9003.0, 9004.0, 9006.0}) {
      const auto load = [&](double unix_s) {
        return kIdle_w + between(unix_s, start_s, start_s + duration_s, 500);
      };
      const PlacementRange range = {.duration_s = duration_s,
                                    .earliest_start_s = 0,
                                    .latest_start_s = 14'400 - duration_s,
                                    .likely_start_s = 0,
                                    .is_of_command = true};
      const auto placement = place(range, sampled(load, -20, 14'420, 1));
      ASSERT_TRUE(placement) << start_s;
      const double truth_j = 600 * duration_s;
      EXPECT_TRUE(placement->is_by_power) << duration_s << " from " << start_s;
      EXPECT_NEAR(placement->window.start_unix_s, start_s, 1.5) << duration_s;
      EXPECT_LE(placement->low_j, truth_j) << duration_s << " from " << start_s;
      EXPECT_GE(placement->high_j, truth_j) << duration_s << " from " << start_s;
      EXPECT_NEAR(placement->energy_j, truth_j, 600) << duration_s << " from " << start_s;
    }
  }
}

// A duration below the resolution of times must not stop the clock of a loop.
TEST(Placement, EndsHoweverShortTheLoadIs) {
  constexpr double kUnix_s = 1.79e9;
  const auto load = [&](double unix_s) { return block(unix_s - kUnix_s); };
  const auto readings = sampled(load, kUnix_s, kUnix_s + 2000, 1);
  for (const double duration_s : {1e-9, 1e-7, 1e-5, 1e-3, 0.1}) {
    for (const double length_s : {30.0, 1900.0}) {
      PlacementRange range{duration_s, kUnix_s + 20, kUnix_s + 20 + length_s, kUnix_s + 30};
      const auto placement = place(range, readings);
      EXPECT_TRUE(!placement || std::isfinite(placement->energy_j)) << duration_s;
    }
  }
}

class RandomRun {
 public:
  explicit RandomRun(unsigned seed) : random_(seed) {
    duration_s = std::exp(uniform(std::log(10.0), std::log(300.0)));
    start_s = 1e6 + uniform(0, 1);
    const double end_s = start_s + duration_s;
    const double load_w = uniform(250, 700);
    const double ramp_s = chance(0.5) ? uniform(0, 3) : 0;
    const double drain_s = chance(0.5) ? uniform(0, std::min(10.0, duration_s / 4)) : 0;
    const double wave_w = chance(0.5) ? uniform(0, 0.2) * load_w : 0;
    const double wave_s = uniform(2, 60);
    const double tail_s = chance(0.3) ? uniform(0.2, 0.7) * duration_s : 0;
    const double tail_w = load_w * uniform(0.05, 0.4);
    parts_.push_back([=, this](double t) {
      if (t < start_s || t >= end_s) return 0.0;
      const double up = ramp_s > 0 ? std::min(1.0, (t - start_s) / ramp_s) : 1;
      if (tail_s > 0 && t >= end_s - tail_s) return tail_w;
      const double down = drain_s > 0 ? std::min(1.0, 0.3 + 0.7 * (end_s - t) / drain_s) : 1;
      return load_w * std::min(up, down) + wave_w * std::sin(t / wave_s * 2 * std::numbers::pi);
    });
    if (chance(0.5)) {  // a warm-up
      const double gap_s = chance(0.3) ? 0 : uniform(0, 12);
      const double length_s = uniform(1, 40);
      const double watts = load_w * uniform(0.5, 1.15);
      const double last_s = start_s - gap_s;
      parts_.push_back([=](double t) { return between(t, last_s - length_s, last_s, watts); });
    }
    lag_s = uniform(0, 20);
    if (chance(0.4)) {  // an evaluation, before or after the stamp is written
      const double first_s = end_s + uniform(0, 5);
      const double length_s = uniform(3, 40);
      const double watts = load_w * uniform(0.4, 1.15);
      parts_.push_back([=](double t) { return between(t, first_s, first_s + length_s, watts); });
    }
    step_s = std::exp(uniform(std::log(0.1), std::log(5.0)));
    noise_w = uniform(0, 0.03) * load_w;
    sample();
  }

  std::vector<Reading> readings;
  double duration_s = 0;
  double start_s = 0;
  double lag_s = 0;
  double step_s = 0;
  double noise_w = 0;

  // By trapezoids between the samples, and straight lines at the ends.
  double true_energy_j() const {
    double sum_j = 0;
    for (std::size_t i = 1; i < readings.size(); ++i) {
      const Reading& a = readings[i - 1];
      const Reading& b = readings[i];
      const double from_s = std::max(a.unix_s, start_s);
      const double to_s = std::min(b.unix_s, start_s + duration_s);
      if (to_s <= from_s) continue;
      const auto at = [&](double t) {
        return a.watts + (b.watts - a.watts) * (t - a.unix_s) / (b.unix_s - a.unix_s);
      };
      sum_j += (to_s - from_s) * (at(from_s) + at(to_s)) / 2;
    }
    return sum_j;
  }

 private:
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  bool chance(double share) { return uniform(0, 1) < share; }

  // A sensor that shows the mean of the last second.
  double shown_w(double t) const {
    double sum_w = 0;
    constexpr int kParts = 20;
    for (int i = 0; i < kParts; ++i) {
      for (const Curve& part : parts_) sum_w += part(t - (i + 0.5) / kParts);
    }
    return kIdle_w + sum_w / kParts;
  }

  void sample() {
    std::normal_distribution<double> noise(0, noise_w);
    const double last_s = start_s + duration_s + 60;
    for (double t = start_s - 80; t <= last_s; t += step_s * uniform(0.9, 1.1)) {
      Reading reading;
      reading.kind = Reading::Kind::power;
      reading.device = 0;
      reading.unix_s = t;
      reading.watts = shown_w(t) + noise(random_);
      readings.push_back(reading);
    }
  }

  std::mt19937 random_;
  std::vector<Curve> parts_;
};

TEST(Placement, TheIntervalHoldsTheTruth) {
  const auto runs = static_cast<unsigned>(test::rounds(1000));
  int inside = 0;
  int by_power = 0;
  std::vector<double> widths;
  std::vector<double> errors;
  for (unsigned seed = 0; seed < runs; ++seed) {
    const RandomRun run(seed);
    const auto placement =
        place(range_of_end(run.duration_s, run.start_s + run.duration_s + run.lag_s), run.readings);
    ASSERT_TRUE(placement) << seed;
    const double truth_j = run.true_energy_j();
    // Places are tried 0.1 s apart.
    const double slack_j = 0.1 * 700;
    const bool holds =
        truth_j >= placement->low_j - slack_j && truth_j <= placement->high_j + slack_j;
    inside += holds ? 1 : 0;
    widths.push_back((placement->high_j - placement->low_j) / truth_j);
    errors.push_back(std::abs(placement->energy_j / truth_j - 1));
    by_power += placement->is_by_power ? 1 : 0;
    EXPECT_LE(placement->low_j, placement->energy_j) << seed;
    EXPECT_GE(placement->high_j, placement->energy_j) << seed;
  }
  std::ranges::sort(widths);
  std::ranges::sort(errors);
  const double mean_error = std::accumulate(errors.begin(), errors.end(), 0.0) / runs;
  const std::string found = fmt::format(
      "{} of {} intervals hold the truth; {} placed by power; error {:.2f} % in the mean, {:.2f} % in "
      "the median; interval {:.2f} % wide in the median",
      inside, runs, by_power, 100 * mean_error, 100 * errors[runs / 2], 100 * widths[runs / 2]);
  RecordProperty("found", found);
  EXPECT_GE(inside, runs * 99 / 100) << found;
  EXPECT_GE(by_power, runs * 6 / 10) << found;
  EXPECT_LE(mean_error, 0.05) << found;
  EXPECT_LE(errors[runs / 2], 0.01) << found;
  if (std::getenv("SHOW") != nullptr) std::printf("%s\n", found.c_str());
}

}  // namespace window_placement_test
}  // namespace aggregate_power
