// Passes of a clock: set back, shown twice, two clocks in turn; and files that only look so.
#include "energy/zones/clock_passes.h"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power::energy {
namespace clock_passes_test {

constexpr double kStart = 1'767'225'600;  // 2026-01-01T00:00:00Z

// One row a second, from `first_s` on.
std::vector<double> seconds(double first_s, int count, double step_s = 1) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) times.push_back(kStart + first_s + i * step_s);
  return times;
}

std::vector<double> joined(std::vector<std::vector<double>> parts) {
  std::vector<double> all;
  for (const std::vector<double>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<SharedTime> shared(const std::vector<double>& times, Window window = kAlways) {
  ClockPasses passes(window);
  std::vector<Reading> readings;
  for (const double unix_s : times) {
    readings.push_back({unix_s, 100, 0, Reading::Kind::power});
  }
  const std::size_t half = readings.size() / 2;  // a batch ends anywhere
  passes.take(std::span(readings).first(half));
  passes.take(std::span(readings).subspan(half));
  return passes.shared();
}

std::optional<SmallFall> small_fall(const std::vector<double>& times, Window window = kAlways) {
  ClockPasses passes(kAlways);
  std::vector<Reading> readings;
  for (const double unix_s : times) readings.push_back({unix_s, 100, 0, Reading::Kind::power});
  passes.take(readings);
  return passes.small_fall(window);
}

TEST(ClockPasses, FindsAClockThatWasSetBackALittle) {
  for (const double back_s : {1.5, 2.0, 3.5}) {
    const auto found = small_fall(joined({seconds(0, 40), seconds(40 - back_s, 40)}));
    ASSERT_TRUE(found) << back_s;
    EXPECT_EQ(found->at_unix_s, kStart + 39);
    EXPECT_NEAR(found->back_s, back_s, 0.01);
  }
  const auto times = joined({seconds(0, 40), seconds(38, 40)});
  EXPECT_TRUE(small_fall(times, {kStart + 20, kStart + 60}));
  EXPECT_FALSE(small_fall(times, {kStart + 50, kStart + 60}));
}

TEST(ClockPasses, DoNotTakeRowsOutOfOrderForAClock) {
  EXPECT_FALSE(small_fall(seconds(0, 100)));
  std::vector<double> swapped = seconds(0, 100);
  std::swap(swapped[50], swapped[51]);
  EXPECT_FALSE(small_fall(swapped));
  std::vector<double> late = seconds(0, 100);  // a row is written three rows later
  std::rotate(late.begin() + 50, late.begin() + 51, late.begin() + 54);
  EXPECT_FALSE(small_fall(late));
}

TEST(ClockPasses, FindsAClockThatWasSetBack) {
  for (const double back_s : {10.0, 60.0, 1800.0, 3600.0}) {
    const auto found = shared(joined({seconds(0, 4000), seconds(4000 - back_s, 5000)}));
    ASSERT_EQ(found.size(), 1u) << back_s;
    EXPECT_EQ(found[0].window().start_unix_s, kStart + 4000 - back_s);
    EXPECT_EQ(found[0].window().end_unix_s, kStart + 3999);
  }
}

TEST(ClockPasses, AreFoundInAShortRecording) {
  const auto found = shared(joined({seconds(0, 30), seconds(20, 41)}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].window().start_unix_s, kStart + 20);
}

TEST(ClockPasses, AreFoundOfASlowRecorder) {
  const auto found = shared(joined({seconds(0, 400, 10), seconds(400, 400, 10)}));
  EXPECT_EQ(found.size(), 1u);
}

TEST(ClockPasses, FindsTwoClocksInTurn) {
  std::vector<double> times;
  for (int i = 0; i < 8000; ++i) {
    times.push_back(kStart + i);
    times.push_back(kStart + i - 3600.0 + 0.4);
  }
  EXPECT_EQ(shared(times).size(), 1u);
}

TEST(ClockPasses, MatterWhereTheWindowIs) {
  const auto times = joined({seconds(0, 4000), seconds(3000, 5000)});
  EXPECT_EQ(shared(times, {kStart + 3500, kStart + 3600}).size(), 1u);
  EXPECT_EQ(shared(times, {kStart + 3500, kStart + 7000}).size(), 1u);
  EXPECT_TRUE(shared(times, {kStart + 100, kStart + 2000}).empty());
  EXPECT_TRUE(shared(times, {kStart + 5000, kStart + 7000}).empty());
}

TEST(ClockPasses, AreNoneInFilesOfAnotherOrder) {
  EXPECT_TRUE(shared(seconds(0, 5000)).empty());
  // Parts that were joined the wrong way around, or in disorder.
  EXPECT_TRUE(shared(joined({seconds(1000, 1000), seconds(0, 1000)})).empty());
  EXPECT_TRUE(
      shared(joined({seconds(0, 10), seconds(20, 10), seconds(10, 10), seconds(30, 100)})).empty());
  // The newest first.
  std::vector<double> times = seconds(0, 3000);
  std::ranges::reverse(times);
  EXPECT_TRUE(shared(times).empty());
  // Without any order.
  std::mt19937 random(1);
  std::ranges::shuffle(times, random);
  EXPECT_TRUE(shared(times).empty());
  // A single stamp that is damaged.
  times = seconds(0, 3000);
  times[100] += 3600;
  times[200] -= 3600;
  EXPECT_TRUE(shared(times).empty());
}

TEST(ClockPasses, AreNoneOfRecordingsThatWereJoined) {
  // Two GPUs of one name, one after the other: their readings speak for themselves.
  const auto found = shared(joined({seconds(0, 600), seconds(3, 600)}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found.front().is_joined);
}

TEST(ClockPasses, SayWhereTheRowsAre) {
  ClockPasses passes(kAlways);
  EXPECT_GT(passes.extent().start_unix_s, passes.extent().end_unix_s);
  std::vector<Reading> readings;
  for (const double s : {5.0, 6.0, 2.0, 3.0, 4.0}) {
    readings.push_back({kStart + s, 100, 0, Reading::Kind::power});
  }
  passes.take(readings);
  EXPECT_EQ(passes.extent().start_unix_s, kStart + 2);
  EXPECT_EQ(passes.extent().end_unix_s, kStart + 6);
  EXPECT_EQ(passes.last_unix_s(), kStart + 4);
  EXPECT_TRUE(passes.falls());
}

}  // namespace clock_passes_test
}  // namespace aggregate_power::energy
