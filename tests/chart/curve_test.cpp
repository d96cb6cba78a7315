// A monotone curve stays between its points; the values by hand are those of the Hermite cubic.
#include "chart/curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace aggregate_power {
namespace curve_test {

TEST(MonotoneCurve, IsStraightThroughAStraightLine) {
  const Point points[] = {{0, 0}, {1, 2}, {3, 6}, {4, 8}};
  for (const Point& point : monotone_curve(points, 8)) EXPECT_NEAR(point.y, 2 * point.x, 1e-12);
}

// The slopes are 0, 0 and 1: the middle point is a corner between a flat and a rising secant. On
// the second stretch y = 3t^2 - 2t^3 + (t^3 - t^2) * 1, at t = 1/2: 0.75 - 0.25 - 0.125 = 0.375.
TEST(MonotoneCurve, IsFlatWhereAStretchIsFlat) {
  const Point points[] = {{0, 0}, {1, 0}, {2, 1}};
  const Polyline curve = monotone_curve(points, 2);
  ASSERT_EQ(curve.size(), 5U);
  EXPECT_DOUBLE_EQ(curve[1].y, 0);
  EXPECT_DOUBLE_EQ(curve[3].x, 1.5);
  EXPECT_DOUBLE_EQ(curve[3].y, 0.375);
}

TEST(MonotoneCurve, GivesFewPointsBack) {
  const Point points[] = {{0, 3}, {1, 5}};
  EXPECT_EQ(monotone_curve(points, 8), (Polyline{{0, 3}, {1, 5}}));
  EXPECT_TRUE(monotone_curve({}, 8).empty());
}

TEST(MonotoneCurve, NeverLeavesTheRangeOfTwoNeighbours) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> step(0.01, 3);
  std::normal_distribution<double> height(0, 100);
  for (int round = 0; round < 200; ++round) {
    std::vector<Point> points;
    double x = 0;
    for (int i = 0; i < 12; ++i) points.push_back({x += step(random), height(random)});
    const Polyline curve = monotone_curve(points, 16);
    ASSERT_EQ(curve.size(), 11 * 16 + 1U);
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
      const auto [low, high] = std::minmax(points[i].y, points[i + 1].y);
      const bool rises = points[i].y <= points[i + 1].y;
      for (std::size_t j = 0; j < 16; ++j) {
        const double from = curve[i * 16 + j].y;
        const double to = curve[i * 16 + j + 1].y;
        EXPECT_GE(to, low);
        EXPECT_LE(to, high);
        EXPECT_TRUE(rises ? to >= from - 1e-9 : to <= from + 1e-9) << "round " << round;
      }
    }
  }
}

}  // namespace curve_test
}  // namespace aggregate_power
