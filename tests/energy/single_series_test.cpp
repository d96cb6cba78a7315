// Recordings without a device column: of one GPU, or of several. Times are made here: a tick every
// `period_s`, and the rows of its GPUs `apart_s` after each other.
#include "energy/single_series.h"

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

}  // namespace single_series_test
}  // namespace aggregate_power
