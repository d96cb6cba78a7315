#include "energy/uncertainty/uncertainty.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include <algorithm>
#include <vector>

namespace aggregate_power {
namespace window_edges_test {

constexpr Window kWindow = {10, 20};

// 100 W but for a load of 500 W between two instants, seen through a second, a reading a second.
std::vector<PlacedReading> load_between(double rise, double fall) {
  std::vector<PlacedReading> readings;
  for (double end = 4.4; end < 28; end += 1) {
    const double on = std::max(0.0, std::min(end, fall) - std::max(end - 1, rise));
    readings.push_back({100 + 400 * on, end, 0.1});
  }
  return readings;
}

TEST(WindowEdges, AreBetweenTheLastIdleReadingAndTheFirstOther) {
  const WindowEdges edges = window_edges(load_between(10, 20), 1, kWindow);
  ASSERT_TRUE(edges.start);
  EXPECT_NEAR(edges.start->from_unix_s, 9.4 - 0.1, 1e-9);
  EXPECT_NEAR(edges.start->to_unix_s, 10.4, 1e-9);
  EXPECT_NEAR(edges.start->height_w, 400, 1e-9);
  ASSERT_TRUE(edges.end);
  EXPECT_NEAR(edges.end->from_unix_s, 20.4 - 0.1 - 1, 1e-9);
  EXPECT_NEAR(edges.end->to_unix_s, 21.4 - 1, 1e-9);
  EXPECT_NEAR(edges.end->height_w, -400, 1e-9);
}

// Means over 1 s, each second: 100 W, and 500 W from 10 to 18, from where it falls to 100 W at 21:
// the last answers come after the window. A fall in three readings is three steps of a third.
TEST(WindowEdges, LastAsLongAsTheReadingsFall) {
  std::vector<PlacedReading> readings;
  for (const double end_s : {4, 5, 6, 7, 8, 9, 10}) readings.push_back({100, end_s + 0.0, 0.1});
  for (int end_s = 11; end_s <= 18; ++end_s) readings.push_back({500, end_s + 0.0, 0.1});
  for (const auto& [watts, end_s] : {std::pair(433.3, 19.0), {300, 20}, {166.7, 21}}) {
    readings.push_back({watts, end_s, 0.1});
  }
  for (int end_s = 22; end_s <= 28; ++end_s) readings.push_back({100, end_s + 0.0, 0.1});
  const WindowEdges edges = window_edges(readings, 1, {10, 20});
  ASSERT_TRUE(edges.end);
  EXPECT_NEAR(edges.end->from_unix_s, 18 - 0.1, 1e-9);
  EXPECT_NEAR(edges.end->to_unix_s, 22 - 1, 1e-9);
  EXPECT_NEAR(edges.end->height_w, -400 / std::sqrt(3), 1e-9);
}

// 500 W from 10 to 20, and in loads that end 3.5 s before and begin 3.5 s after it: the readings of
// 6.4 s, 7.4 s, 24.4 s and later are partly of these.
TEST(WindowEdges, AreThoseOfTheLoadBesideOthers) {
  std::vector<Sample> samples;
  for (const PlacedReading& reading : load_between(10, 20)) {
    samples.push_back({reading.end_unix_s,
                       reading.watts + 400 * std::clamp(6.5 - reading.end_unix_s + 1, 0.0, 1.0) +
                           400 * std::clamp(reading.end_unix_s - 23.5, 0.0, 1.0)});
  }
  const Window own = without_other_loads(samples, kWindow);
  EXPECT_NEAR(own.start_unix_s, 8.4, 1e-9);
  EXPECT_NEAR(own.end_unix_s, 23.4, 1e-9);
  const Window all =
      without_other_loads(std::vector<Sample>{{1, 100}, {2, 100}, {30, 100}}, kWindow);
  EXPECT_FALSE(std::isfinite(all.start_unix_s));
}

// The pause from 10 to 20 is between loads.
TEST(WindowEdges, AreThoseOfAPause) {
  std::vector<PlacedReading> readings = load_between(10, 20);
  for (PlacedReading& reading : readings) reading.watts = 600 - reading.watts;
  const WindowEdges edges = window_edges(readings, 1, kWindow);
  ASSERT_TRUE(edges.start);
  EXPECT_NEAR(edges.start->from_unix_s, 9.4 - 0.1, 1e-9);
  EXPECT_NEAR(edges.start->to_unix_s, 10.4, 1e-9);
  EXPECT_NEAR(edges.start->height_w, -400, 1e-9);
  ASSERT_TRUE(edges.end);
  EXPECT_NEAR(edges.end->height_w, 400, 1e-9);
}

// A pause ends the load before it, and the next one begins after it.
TEST(WindowEdges, OfAPauseLieOutsideOfIt) {
  const auto fall = beside_edge({9.3, 10.4, -400}, 10);
  ASSERT_TRUE(fall);
  EXPECT_EQ(fall->from_unix_s, 10 - 0.35);
  EXPECT_EQ(fall->to_unix_s, 10);
  const auto rise = beside_edge({19.3, 20.4, 400}, 20);
  ASSERT_TRUE(rise);
  EXPECT_EQ(rise->from_unix_s, 20);
  EXPECT_EQ(rise->to_unix_s, 20.4);
}

TEST(WindowEdges, AreNoneIfTheLoadGoesOn) {
  const WindowEdges edges = window_edges(load_between(3, 30), 1, kWindow);
  EXPECT_FALSE(edges.start);
  EXPECT_FALSE(edges.end);
}

TEST(WindowEdges, LieInsideTheWindowIfTheReadingsAllowIt) {
  const auto rise = beside_edge({9.3, 10.4, 400}, 10);
  ASSERT_TRUE(rise);
  EXPECT_EQ(rise->from_unix_s, 10);
  EXPECT_EQ(rise->to_unix_s, 10.4);
  EXPECT_FALSE(beside_edge({8.3, 9.4, 400}, 10));
  const auto fall = beside_edge({19.3, 20.4, -400}, 20);
  ASSERT_TRUE(fall);
  EXPECT_EQ(fall->from_unix_s, 20 - 0.35);  // a benchmark ends with its last answers
  EXPECT_EQ(fall->to_unix_s, 20);
  EXPECT_FALSE(beside_edge({20.3, 21.4, -400}, 20));
}

}  // namespace window_edges_test
}  // namespace aggregate_power
