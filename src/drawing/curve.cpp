// Limits the slopes of a cubic Hermite spline.
#include "drawing/curve.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace aggregate_power {
namespace {

// dy/dx at each point. Fritsch and Carlson, SIAM Journal on Numerical Analysis 17 (1980) 238-246:
// the means of the secants, shortened to the circle of radius 3 on which the cubic is monotone.
std::vector<double> limited_slopes(std::span<const Point> points) {
  const std::size_t last = points.size() - 1;
  std::vector<double> secants(last);
  for (std::size_t i = 0; i < last; ++i) {
    secants[i] = (points[i + 1].y - points[i].y) / (points[i + 1].x - points[i].x);
  }
  std::vector<double> slopes(points.size());
  slopes[0] = secants[0];
  slopes[last] = secants[last - 1];
  for (std::size_t i = 1; i < last; ++i) {
    const bool is_turn = secants[i - 1] * secants[i] <= 0;
    slopes[i] = is_turn ? 0 : secants[i - 1] / 2 + secants[i] / 2;
  }
  for (std::size_t i = 0; i < last; ++i) {
    if (secants[i] == 0) {
      slopes[i] = slopes[i + 1] = 0;
      continue;
    }
    const double a = slopes[i] / secants[i];
    const double b = slopes[i + 1] / secants[i];
    const double length = std::hypot(a, b);
    if (length <= 3) continue;
    slopes[i] = 3 / length * a * secants[i];
    slopes[i + 1] = 3 / length * b * secants[i];
  }
  return slopes;
}

double hermite(Point left, double left_slope, Point right, double right_slope, double share) {
  const double width = right.x - left.x;
  const double rest = 1 - share;
  return (1 + 2 * share) * rest * rest * left.y + share * rest * rest * width * left_slope +
         share * share * (3 - 2 * share) * right.y - share * share * rest * width * right_slope;
}

}  // namespace

Polyline monotone_curve(std::span<const Point> points, std::size_t steps) {
  Polyline curve;
  if (points.size() < 3) return {points.begin(), points.end()};
  const std::vector<double> slopes = limited_slopes(points);
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const Point left = points[i];
    const Point right = points[i + 1];
    const auto [low, high] = std::minmax(left.y, right.y);
    curve.push_back(left);
    for (std::size_t step = 1; step < steps; ++step) {
      const double share = static_cast<double>(step) / static_cast<double>(steps);
      const double y = hermite(left, slopes[i], right, slopes[i + 1], share);
      // Rounding may lead out by a bit.
      curve.push_back({left.x + share * (right.x - left.x), std::clamp(y, low, high)});
    }
  }
  curve.push_back(points.back());
  return curve;
}

}  // namespace aggregate_power
