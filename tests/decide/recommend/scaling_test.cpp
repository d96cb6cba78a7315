// The front of a sweep over concurrency, and its knee.
#include "decide/recommend/sweep.h"

#include <utility>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace pareto_front_test {

// (speed, joules per token); named by their place.
std::vector<ScalingPoint> points_at(const std::vector<std::pair<double, double>>& places) {
  std::vector<ScalingPoint> points;
  for (const auto& [speed, joules] : places) {
    points.push_back({.name = std::string(1, static_cast<char>('a' + points.size())),
                      .speed = speed,
                      .joules_per_token = joules});
  }
  mark_front(points);
  return points;
}

std::string front_of(const std::vector<std::pair<double, double>>& places) {
  std::string names;
  for (const ScalingPoint& point : points_at(places)) {
    if (point.is_on_front) names += point.name;
  }
  return names;
}

std::string knee_of(const std::vector<std::pair<double, double>>& places) {
  std::string names;
  for (const ScalingPoint& point : points_at(places)) {
    if (point.is_knee) names += point.name;
  }
  return names;
}

TEST(MarkFront, LeavesOutWhatAnotherPointBeats) {
  EXPECT_EQ(front_of({}), "");
  EXPECT_EQ(front_of({{1, 1}}), "a");
  EXPECT_EQ(front_of({{1, 1}, {2, 2}}), "ab");
  EXPECT_EQ(front_of({{1, 2}, {2, 1}}), "b");            // better in both
  EXPECT_EQ(front_of({{1, 1}, {1, 2}}), "a");            // as fast, with more energy
  EXPECT_EQ(front_of({{1, 1}, {2, 1}}), "b");            // as sparing, and faster
  EXPECT_EQ(front_of({{1, 1}, {1, 1}, {2, 2}}), "abc");  // equal ones do not beat each other
  EXPECT_EQ(front_of({{4, 4}, {1, 1}, {3, 5}, {2, 2}, {2, 3}}), "bda");
}

TEST(MarkFront, FindsTheKneeFurthestBelowTheChord) {
  // Scaled to the square, the chord is the diagonal: b is 0.5 below it, c 0.25.
  EXPECT_EQ(knee_of({{0, 0}, {6, 1}, {8, 5.5}, {10, 10}}), "b");
  EXPECT_EQ(knee_of({{0, 0}, {6, 4}, {8, 2}, {10, 10}}), "c");  // b is not on the front
  EXPECT_EQ(knee_of({{1000, 0.5}, {1500, 0.6}, {2000, 1.5}}), "b");
}

TEST(MarkFront, HasNoKneeWithoutABend) {
  EXPECT_EQ(knee_of({{0, 0}, {10, 10}}), "");
  EXPECT_EQ(knee_of({{0, 0}, {5, 5}, {10, 10}}), "");  // a straight line
  EXPECT_EQ(knee_of({{0, 0}, {5, 8}, {10, 10}}), "");  // bent to the worse side
  EXPECT_EQ(knee_of({{1, 1}, {1, 1}, {1, 1}}), "");
}

}  // namespace pareto_front_test
}  // namespace aggregate_power
