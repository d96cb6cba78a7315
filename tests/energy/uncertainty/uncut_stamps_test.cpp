#include "energy/uncertainty/uncertainty.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace aggregate_power {
namespace uncut_stamps_test {

constexpr double kBetweenStamps_s = 0.25;

GpuReadings cut_readings(int seconds) {
  GpuReadings gpu;
  for (int i = 0; i < seconds; ++i) {
    gpu.samples.push_back({1000.0 + i, 400});
    gpu.counter.push_back({1000.0 + i, 400.0 * i});
  }
  return gpu;
}

TEST(UncutStamps, PlaceAllReadingsOfAShortRecordingOnOneLoop) {
  GpuReadings gpu = cut_readings(60);
  const UncutStamps stamps(gpu.samples, {1010, 1050}, 1);
  stamps.place(gpu);
  for (std::size_t i = 0; i < gpu.samples.size(); ++i) {
    EXPECT_NEAR(gpu.samples[i].unix_s - gpu.samples[0].unix_s, static_cast<double>(i), 0.2);
    EXPECT_EQ(gpu.counter[i].unix_s, gpu.samples[i].unix_s);
  }
  EXPECT_LT(stamps.uncertainty().place_s, 0.4);
}

TEST(UncutStamps, PlaceWhatIsFarFromTheEdgesInTheMiddleOfItsSecond) {
  GpuReadings gpu = cut_readings(2000);
  gpu.counter[900].unix_s += kBetweenStamps_s;  // no reading has this stamp
  const UncutStamps stamps(gpu.samples, {1060, 2940}, 1);
  stamps.place(gpu);
  EXPECT_EQ(gpu.samples[1000].unix_s, 2000.5);
  EXPECT_EQ(gpu.counter[1000].unix_s, 2000.5);
  EXPECT_EQ(gpu.counter[900].unix_s, 1900 + kBetweenStamps_s + 0.5);
  for (const std::size_t i : {5, 200, 1795, 1995}) {  // within 150 s
    EXPECT_EQ(gpu.counter[i].unix_s, gpu.samples[i].unix_s);
    EXPECT_LT(stamps.uncertainty().place_s, 0.4);
  }
}

// A round that is late shares its second with the next one.
TEST(UncutStamps, PlaceTwoRoundsOfOneSecondOneAfterTheOther) {
  GpuReadings gpu;
  for (int i = 0; i < 30; ++i) {
    const double asked = 1000.6 + i + (i == 12 ? 0.5 : 0);
    gpu.samples.push_back({std::floor(asked), 400});
    gpu.counter.push_back({std::floor(asked), 400.0 * i});
  }
  ASSERT_EQ(gpu.samples[12].unix_s, gpu.samples[13].unix_s);
  const UncutStamps stamps(gpu.samples, {1005, 1025}, 1);
  stamps.place(gpu);
  for (std::size_t i = 10; i < 16; ++i) EXPECT_EQ(gpu.counter[i].unix_s, gpu.samples[i].unix_s);
  EXPECT_NEAR(gpu.samples[13].unix_s - gpu.samples[11].unix_s, 2, 0.05);
  EXPECT_GT(gpu.samples[13].unix_s - gpu.samples[12].unix_s, 0.2);
}

// A recorder that asks each 1.01 s drifts through the second: no round of it takes 1 or 2 s.
TEST(UncutStamps, FindTheRoundsOfARecorderThatDrifts) {
  GpuReadings gpu;
  std::vector<double> instants;
  for (int i = 0; i < 300; ++i) {
    instants.push_back(1000.3 + 1.01 * i);
    gpu.samples.push_back({std::floor(instants.back()), 400});
  }
  const UncutStamps stamps(gpu.samples, {1050, 1250}, 1);
  stamps.place(gpu);
  for (std::size_t i = 0; i < instants.size(); ++i) {
    EXPECT_NEAR(gpu.samples[i].unix_s, instants[i], 2 * stamps.uncertainty().place_s) << i;
    if (i == 0 || i >= 150) continue;  // loops are fitted to stretches of 150
    EXPECT_NEAR(gpu.samples[i].unix_s - gpu.samples[i - 1].unix_s, 1.01, 0.005) << i;
  }
}

TEST(UncutStamps, AreTheSameForGpusThatWereAskedTogether) {
  const GpuReadings gpu = cut_readings(2000);
  const UncutStamps stamps(gpu.samples, {1060, 2940}, 1);
  EXPECT_TRUE(stamps.is_same_of(gpu.samples));
  std::vector<Sample> others = gpu.samples;
  others[1000].unix_s -= 1;  // far from both edges
  EXPECT_TRUE(stamps.is_same_of(others));
  others[100].unix_s += 1;
  EXPECT_FALSE(stamps.is_same_of(others));
  EXPECT_FALSE(stamps.is_same_of(std::vector<Sample>(gpu.samples.begin() + 1, gpu.samples.end())));
}

TEST(UncutStamps, AreHalfASecondLateIfOneEdgeIsWithoutALoop) {
  for (const std::size_t threads : {1, 2}) {
    for (const std::size_t first : {1, 1701}) {
      GpuReadings gpu = cut_readings(2000);
      // Two in a second.
      for (std::size_t i = first; i < first + 299; i += 2) gpu.samples[i].unix_s -= 1;
      const UncutStamps stamps(gpu.samples, {1060, 2940}, threads);
      const std::vector<Sample> cut = gpu.samples;
      stamps.place(gpu);
      for (std::size_t i = 0; i < cut.size(); ++i) {
        EXPECT_EQ(gpu.samples[i].unix_s, cut[i].unix_s + 0.5) << i;
        EXPECT_EQ(gpu.counter[i].unix_s, 1000.5 + static_cast<double>(i));
      }
      EXPECT_EQ(stamps.uncertainty().place_s, 0.29);
    }
  }
}

TEST(UncutStamps, AreHalfASecondLateWithoutALoop) {
  GpuReadings gpu;
  for (int i = 0; i < 60; ++i) gpu.samples.push_back({std::floor(1000 + i / 2.0), 400});
  gpu.counter = {{1003, 0}};
  const UncutStamps stamps(gpu.samples, {1005, 1020}, 1);
  stamps.place(gpu);
  EXPECT_EQ(gpu.samples[20].unix_s, 1010.5);
  EXPECT_EQ(gpu.counter[0].unix_s, 1003.5);
  EXPECT_DOUBLE_EQ(stamps.uncertainty().span_s, std::sqrt(2.0) * stamps.uncertainty().place_s);
}

}  // namespace uncut_stamps_test
}  // namespace aggregate_power
