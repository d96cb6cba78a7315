#include "energy/uncertainty/readings.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace aggregate_power {
namespace reading_series_test {

TEST(ReadingSeries, CountsReadingsWithOneStampOnceAsMoments) {
  const std::vector<Sample> samples = {{0, 100}, {0, 300}, {1, 200}, {1, 400}, {2, 100}};
  ReadingSeries moved(samples);
  const ReadingSeries series = std::move(moved);
  EXPECT_EQ(series.samples().size(), 5);
  EXPECT_EQ(series.period_s(), 0.5);  // the mean of 0, 1, 0, 1 s
  EXPECT_EQ(series.moment_period_s(), 1);
  EXPECT_DOUBLE_EQ(series.line().energy_j({0, 2}), 250 + 200);  // 200 W, 300 W, 100 W
}

TEST(ReadingSeries, TellsTheScatterOfEachStretch) {
  std::vector<Sample> samples;
  for (int i = 0; i < 40; ++i) samples.push_back({i * 1.0, i % 2 ? 200.0 : 400.0});
  for (int i = 40; i < 80; ++i) samples.push_back({i * 1.0, 300});
  const ReadingSeries series(samples);
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(series.scatter(0, 40).readings, 40);
    EXPECT_DOUBLE_EQ(series.scatter(0, 40).variance_w2, 1e4 * 40 / 39);
    EXPECT_DOUBLE_EQ(series.scatter(0, 40).alike, 1);  // neighbours differ
  }
  EXPECT_EQ(series.scatter(40, 80).variance_w2, 0);
}

// A ramp and two levels are followed by straight lines; what changes from reading to reading is
// not.
TEST(ReadingSeries, TellsTheScatterAroundATrend) {
  std::vector<Sample> ramp;
  std::vector<Sample> levels;
  std::vector<Sample> fast;
  for (int i = 0; i < 640; ++i) {
    ramp.push_back({i * 1.0, 100 + 0.5 * i});
    levels.push_back({i * 1.0, i < 448 ? 600.0 : 250.0});  // at the end of a stretch of 64
    fast.push_back({i * 1.0, 100 + 0.5 * i + (i % 2 ? 100 : -100)});
  }
  EXPECT_NEAR(ReadingSeries(ramp).scatter_around_trend(0, 640).variance_w2, 0, 1e-9);
  EXPECT_NEAR(ReadingSeries(levels).scatter_around_trend(0, 640).variance_w2, 0, 1e-9);
  EXPECT_GT(ReadingSeries(levels).scatter(0, 640).variance_w2, 2e4);
  EXPECT_NEAR(ReadingSeries(fast).scatter_around_trend(0, 640).variance_w2, 1e4, 50);
  EXPECT_DOUBLE_EQ(ReadingSeries(fast).scatter_around_trend(0, 640).alike, 1);
  EXPECT_EQ(ReadingSeries(fast).scatter_around_trend(0, 2).variance_w2, 0);
}

}  // namespace reading_series_test
}  // namespace aggregate_power
