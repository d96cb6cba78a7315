// Readings in time order, in passes.
#include "energy/time_sorter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "test_util.h"

namespace aggregate_power {

static bool operator==(const Reading& a, const Reading& b) {
  return a.unix_s == b.unix_s && a.watts == b.watts && a.device == b.device && a.kind == b.kind;
}

namespace time_sorter_test {

using Kind = Reading::Kind;
using Readings = std::vector<Reading>;

constexpr double kForever = std::numeric_limits<double>::infinity();

double exactly(double unix_s) { return unix_s; }
double whole_seconds(double unix_s) { return std::floor(unix_s); }

struct Sorted {
  Readings readings;
  int passes = 0;
};

Sorted sort(const Readings& readings, std::size_t room, Window window = {-kForever, kForever},
            TimeSorter::Key key = exactly) {
  TimeSorter sorter(window.start_unix_s, window.end_unix_s, room, key);
  Sorted sorted;
  bool wants_more = true;
  while (wants_more) {
    ++sorted.passes;
    sorter.take(std::span(readings).first(readings.size() / 3));
    sorter.take(std::span(readings).subspan(readings.size() / 3));
    wants_more = sorter.give([&](std::span<const Reading> some) {
      sorted.readings.insert(sorted.readings.end(), some.begin(), some.end());
    });
  }
  return sorted;
}

TEST(TimeSorter, SortsInOnePassWhatItHasRoomFor) {
  const Sorted sorted = sort({{3, 30}, {1, 10}, {2, 20}}, 3);
  EXPECT_EQ(sorted.readings, (Readings{{1, 10}, {2, 20}, {3, 30}}));
  EXPECT_EQ(sorted.passes, 1);
}

TEST(TimeSorter, TakesMorePassesForMore) {
  Readings readings;
  for (int t = 100; t > 0; --t) readings.push_back({static_cast<double>(t), 1});
  const Sorted sorted = sort(readings, 10);
  std::ranges::reverse(readings);
  EXPECT_EQ(sorted.readings, readings);
  EXPECT_GE(sorted.passes, 10);
  EXPECT_LE(sorted.passes, 21);  // each gives half of the room at least, but for the last
}

TEST(TimeSorter, LeavesOutOtherTimesAndRowsWithoutPower) {
  const Sorted sorted = sort({{12, 1},
                              {10, 2},
                              {9.99, 3},
                              {20, 4},
                              {20.01, 5},
                              {11, 6, 0, Kind::negative_power},
                              {11, 7, 0, Kind::no_device},
                              {11, 8, 0, Kind::no_power},
                              {11, 9, 0, Kind::bad_timestamp}},
                             100, {10, 20});
  EXPECT_EQ(sorted.readings, (Readings{{10, 2},
                                       {11, 6, 0, Kind::negative_power},
                                       {11, 7, 0, Kind::no_device},
                                       {12, 1},
                                       {20, 4}}));
}

TEST(TimeSorter, GivesReadingsOfOneKeyInOrderOfArrival) {
  const Sorted sorted = sort({{5.9, 1}, {5.1, 2}, {4.5, 3}, {5.5, 4}}, 100, {0, 10}, whole_seconds);
  EXPECT_EQ(sorted.readings, (Readings{{4.5, 3}, {5.9, 1}, {5.1, 2}, {5.5, 4}}));
}

TEST(TimeSorter, NeverPartsReadingsOfOneKey) {
  const Readings readings(50, Reading{5, 1});
  EXPECT_EQ(sort(readings, 4).readings, readings);
  EXPECT_EQ(sort(readings, 0).readings, readings);
  EXPECT_EQ(sort({}, 4).readings, Readings{});
}

TEST(TimeSorter, DoesWhatAStableSortDoes) {
  const std::uint64_t seed = test::fresh_seed();
  test::Dice dice(seed);
  for (int round = 0; round < 2000; ++round) {
    Readings readings;
    const std::size_t spread = 1 + dice.below(200);
    for (std::size_t i = 0; i < dice.below(120); ++i) {
      readings.push_back({static_cast<double>(dice.below(spread)) / 4, static_cast<double>(i)});
    }
    const TimeSorter::Key key = dice.one_in(2) ? exactly : whole_seconds;
    const Sorted sorted = sort(readings, 1 + dice.below(60), {-kForever, kForever}, key);
    std::ranges::stable_sort(readings, {}, [&](const Reading& r) { return key(r.unix_s); });
    ASSERT_EQ(sorted.readings, readings) << "TEST_SEED=" << seed << ", round " << round;
  }
}

}  // namespace time_sorter_test
}  // namespace aggregate_power
