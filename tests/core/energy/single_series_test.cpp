// Recordings without a device column: of one GPU, or of several. Times are made here: a tick every
// `period_s`, and the rows of its GPUs `apart_s` after each other.
#include "core/energy/integrate.h"

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace single_series_test {

std::string doubt(const std::vector<double>& stamps) {
  SingleSeries series;
  std::vector<Reading> readings;
  for (const double unix_s : stamps) readings.push_back({unix_s, 100, 0, Reading::Kind::power});
  series.take(std::span(readings).first(readings.size() / 2));
  series.take(std::span(readings).subspan(readings.size() / 2));
  return series.doubt();
}

std::vector<double> ticks(int count, int gpus, double period_s, double apart_s) {
  std::vector<double> stamps;
  for (int tick = 0; tick < count; ++tick) {
    for (int gpu = 0; gpu < gpus; ++gpu) stamps.push_back(1e9 + tick * period_s + gpu * apart_s);
  }
  return stamps;
}

TEST(SingleSeries, AcceptsRowsAtMostlyEqualIntervals) {
  EXPECT_EQ(doubt({}), "");
  EXPECT_EQ(doubt({1e9}), "");
  EXPECT_EQ(doubt({1e9, 1e9 + 1}), "");
  EXPECT_EQ(doubt(ticks(50, 1, 1, 0)), "");
  EXPECT_EQ(doubt(ticks(50, 1, 0.01, 0)), "");
  // A last sample soon after the others, as a monitor takes one when it is stopped.
  EXPECT_EQ(doubt({1e9, 1e9 + 1, 1e9 + 2, 1e9 + 2.1}), "");
}

TEST(SingleSeries, AcceptsAStallNowAndThen) {
  std::vector<double> stamps;
  for (int i = 0; i < 200; ++i) stamps.push_back(1e9 + i * 0.1 + (i / 50) * 2.0);
  EXPECT_EQ(doubt(stamps), "");  // 3 stalls, so 6 of 198 intervals differ from the one before
}

TEST(SingleSeries, RefusesTwoRowsAtOneTime) {
  EXPECT_EQ(
      doubt({1e9, 1e9 + 1, 1e9 + 1, 1e9 + 2}),
      "two rows have the time 1000000001.000; rows that name no GPU may be of several: record "
      "a column that identifies the GPU");
}

TEST(SingleSeries, RefusesOneGpuAfterTheOther) {
  EXPECT_EQ(doubt({1e9, 1e9 + 1, 1e9 + 0.5, 1e9 + 1.5}),
            "a row at 1000000000.500 comes after one at 1000000001.000; rows that name no GPU may "
            "be of several: record a column that identifies the GPU");
}

TEST(SingleSeries, RefusesGroupsOfRows) {
  for (const int gpus : {2, 3, 4, 8, 16}) {
    for (const int count : {3, 10, 100}) {
      EXPECT_TRUE(doubt(ticks(count, gpus, 1, 0.002)).starts_with("the rows come in groups: "))
          << gpus << " GPUs, " << count << " ticks";
    }
  }
  EXPECT_TRUE(doubt(ticks(20, 8, 0.1, 0.001)).starts_with("the rows come in groups: "));
  // 2 GPUs, 3 ticks: 1 ms, 1 s, 1 ms, 1 s, 1 ms. Each of 4 intervals differs from the one before.
  EXPECT_TRUE(doubt(ticks(3, 2, 1, 0.001)).starts_with("the rows come in groups: 4 of 4 "));
}

TEST(SingleSeries, LooksAtTimesOnly) {
  SingleSeries series;
  const Reading readings[] = {{1e9, 0, 0, Reading::Kind::no_power},
                              {0, 0, 0, Reading::Kind::bad_timestamp},
                              {0, 0, 0, Reading::Kind::bad_timestamp},
                              {1e9, -1, 0, Reading::Kind::negative_power}};
  series.take(readings);
  EXPECT_TRUE(series.doubt().starts_with("two rows have the time 1000000000.000"))
      << series.doubt();
}

// ---- GPUs in turn under one name

// Rows at `phases_s` of each second, with a power for each place in a round and some noise.
std::vector<Sample> turns(const std::vector<double>& watts, const std::vector<double>& phases_s,
                          double noise_w) {
  std::vector<Sample> samples;
  for (int second = 0; second < 80; ++second) {
    for (const double phase_s : phases_s) {
      const auto i = static_cast<int>(samples.size());
      const double noise = noise_w * ((i * 37 + i * i * 11) % 101 / 50.0 - 1);
      samples.push_back({1e9 + second + phase_s, watts[samples.size() % watts.size()] + noise});
    }
  }
  return samples;
}

TEST(DoubtOfTurns, FindsLevelsThatKeepTheirPlaces) {
  for (const std::vector<double>& watts :
       std::vector<std::vector<double>>{{600, 80},
                                        {600, 500},
                                        {600, 350, 80},
                                        {600, 600, 80, 80},
                                        {600, 500, 400, 300, 200, 350, 450, 550}}) {
    EXPECT_TRUE(doubt_of_turns(turns(watts, {0}, 4), false).starts_with("the power of "))
        << watts.size();
    EXPECT_TRUE(doubt_of_turns(turns(watts, {0, 0.5}, 4), true).starts_with("the power of "))
        << watts.size();
  }
}

TEST(DoubtOfTurns, FindsEqualGpusByTheirPhases) {
  for (const std::vector<double>& phases_s :
       std::vector<std::vector<double>>{{0, 0.1}, {0, 0.3}, {0, 0.1, 0.5}, {0, 0.2, 0.25, 0.7}}) {
    const std::vector<Sample> samples = turns({600}, phases_s, 6);
    EXPECT_TRUE(doubt_of_turns(samples, true).starts_with("rows in groups of ")) << phases_s.size();
    EXPECT_EQ(doubt_of_turns(samples, false), "") << "the recorder asks all GPUs at such times";
  }
}

TEST(DoubtOfTurns, PassesOverOneGpu) {
  EXPECT_EQ(doubt_of_turns(turns({400}, {0}, 150), true), "");
  EXPECT_EQ(doubt_of_turns(turns({400}, {0, 0.5}, 150), true), "");
  EXPECT_EQ(doubt_of_turns(turns({400}, {0, 0.1}, 0), true), "") << "it was asked again";
  std::vector<double> slow(40, 100);  // a load that repeats itself after 40 s
  slow.resize(80, 600);
  EXPECT_EQ(doubt_of_turns(turns(slow, {0}, 4), true), "");
  EXPECT_EQ(doubt_of_turns(turns({100, 120, 140, 160, 180, 200, 220}, {0}, 0), true), "")
      << "i % 7";
  EXPECT_NE(doubt_of_turns(turns({600, 80}, {0}, 0), true), "") << "load and idle";
  const std::vector<Sample> few = turns({600, 80}, {0}, 4);
  EXPECT_EQ(doubt_of_turns(std::span(few).first(17), true), "");
  std::vector<Sample> pulses;  // every 2.3 s, which is no whole number of samples
  for (int i = 0; i < 200; ++i) {
    pulses.push_back({1e9 + i, std::fmod(i, 2.3) < 1.15 ? 600.0 : 100.0});
  }
  EXPECT_EQ(doubt_of_turns(pulses, true), "");
}

}  // namespace single_series_test
}  // namespace aggregate_power
