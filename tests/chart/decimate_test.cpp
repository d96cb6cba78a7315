// What is kept of a long line: every column's lowest and highest point, and every break.
#include "chart/curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace aggregate_power {
namespace decimate_test {

std::vector<Point> all_points(const Decimator& line) {
  std::vector<Point> all;
  for (const Polyline& part : line.lines()) all.insert(all.end(), part.begin(), part.end());
  return all;
}

bool has_point(const Decimator& line, Point point) {
  const std::vector<Point> all = all_points(line);
  return std::ranges::find(all, point) != all.end();
}

TEST(Decimator, KeepsAShortLineWhole) {
  Decimator line(5);
  Polyline points;
  for (int i = 0; i < 10; ++i) points.push_back({double(i), std::sin(i)});
  for (const Point& point : points) line.add(point.x, point.y);
  ASSERT_EQ(line.lines().size(), 1U);
  EXPECT_EQ(line.lines()[0], points);
}

// 100,000 points in at most 200 columns of at most 4 points. One of them is a peak, one a hole.
TEST(Decimator, KeepsAPeakOfOnePoint) {
  Decimator line(100);
  for (int i = 0; i < 100000; ++i) {
    line.add(i, i == 54321 ? 999.5 : i == 77777 ? -3 : 400 + i % 7);
  }
  EXPECT_LE(line.size(), 200U);
  EXPECT_GE(line.size(), 100U);
  EXPECT_LE(all_points(line).size(), 800U);
  EXPECT_TRUE(has_point(line, {54321, 999.5}));
  EXPECT_TRUE(has_point(line, {77777, -3}));
  EXPECT_TRUE(has_point(line, {0, 400}));
  EXPECT_TRUE(has_point(line, {99999, 400 + 99999 % 7}));
}

TEST(Decimator, KeepsTheLowestAndHighestOfEachColumn) {
  std::mt19937 random(3);
  std::normal_distribution<double> noise(500, 50);
  Decimator line(50);
  std::vector<Point> points;
  for (int i = 0; i < 5000; ++i) {
    points.push_back({i * 0.1, noise(random)});
    line.add(points.back().x, points.back().y);
  }
  const auto columns = line.columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    double low = 1e9;
    double high = -1e9;
    for (const Point& point : points) {
      if (point.x < columns[i].first.x || point.x > columns[i].last.x) continue;
      low = std::min(low, point.y);
      high = std::max(high, point.y);
    }
    EXPECT_EQ(columns[i].low.y, low);
    EXPECT_EQ(columns[i].high.y, high);
    if (i > 0) {
      EXPECT_GT(columns[i].first.x, columns[i - 1].last.x);
    }
  }
  const std::vector<Point> all = all_points(line);
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &Point::x));
}

TEST(Decimator, BreaksTheLine) {
  Decimator line(100);
  for (int i = 0; i < 10; ++i) line.add(i, 1, i != 4);
  const std::vector<Polyline> lines = line.lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].back(), (Point{3, 1}));
  EXPECT_EQ(lines[1].front(), (Point{4, 1}));
}

TEST(Decimator, BreaksALongLineToo) {
  Decimator line(50);
  for (int i = 0; i < 10000; ++i) line.add(i + (i >= 5000 ? 3000 : 0), i % 10, i != 5000);
  std::size_t bridges = 0;
  for (const Polyline& part : line.lines()) {
    bridges += part.front().x < 5000 && part.back().x >= 8000 ? 1 : 0;
  }
  EXPECT_EQ(bridges, 0U);
  EXPECT_TRUE(has_point(line, {4999, 9}));
  EXPECT_TRUE(has_point(line, {8000, 0}));
}

// Every point is alone: nothing is connected with anything, and memory stays bounded.
TEST(Decimator, NeverConnectsWhatWasNotConnected) {
  Decimator line(20);
  for (int i = 0; i < 10000; ++i) line.add(i, i == 777 ? 50 : 1, false);
  EXPECT_LE(line.size(), 40U);
  for (const Polyline& part : line.lines()) EXPECT_EQ(part.size(), 1U);
  EXPECT_TRUE(has_point(line, {777, 50}));
}

TEST(Decimator, CanBeMadeCoarser) {
  Decimator line(500);
  for (int i = 0; i < 900; ++i) line.add(i, i == 321 ? 7 : 1);
  EXPECT_EQ(line.size(), 900U);
  line.coarsen(100);
  EXPECT_LE(line.size(), 100U);
  EXPECT_TRUE(has_point(line, {321, 7}));
  EXPECT_TRUE(has_point(line, {899, 1}));
  line.add(900, 3);
  EXPECT_TRUE(has_point(line, {900, 3}));
}

TEST(Decimator, OfNothingIsNothing) {
  Decimator line(10);
  line.coarsen(5);
  EXPECT_EQ(line.size(), 0U);
  EXPECT_TRUE(line.lines().empty());
  line.add(1.8e9, 4);
  EXPECT_EQ(line.lines(), (std::vector<Polyline>{{{1.8e9, 4}}}));
}

TEST(Decimator, StandsManyPointsAtOneX) {
  Decimator line(10);
  for (int i = 0; i < 1000; ++i) line.add(5, i);
  EXPECT_LE(line.size(), 20U);
  EXPECT_TRUE(has_point(line, {5, 999}));
  EXPECT_TRUE(has_point(line, {5, 0}));
}

}  // namespace decimate_test
}  // namespace aggregate_power
