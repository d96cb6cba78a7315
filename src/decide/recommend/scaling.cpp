// Finds the front by a sweep from the fastest point, and the knee by distances from a chord.
#include "decide/recommend/pareto_front.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace aggregate_power {
namespace {

// Rounding alone bends no front.
constexpr double kLeastBend = 1e-9;

bool is_slower(const ScalingPoint& a, const ScalingPoint& b) {
  return std::tie(a.speed, a.joules_per_token, a.name, a.limit_w) <
         std::tie(b.speed, b.joules_per_token, b.name, b.limit_w);
}

void mark_knee(std::vector<ScalingPoint*> front) {
  const ScalingPoint& slowest = *front.front();
  const ScalingPoint& fastest = *front.back();
  const double speeds = fastest.speed - slowest.speed;
  const double joules = fastest.joules_per_token - slowest.joules_per_token;
  if (!(speeds > 0) || !(joules > 0)) return;
  ScalingPoint* knee = nullptr;
  double furthest = kLeastBend;
  for (ScalingPoint* const point : front) {
    // The chord is the diagonal of the unit square; the better side is below it.
    const double x = (point->speed - slowest.speed) / speeds;
    const double y = (point->joules_per_token - slowest.joules_per_token) / joules;
    if (x - y > furthest) {
      furthest = x - y;
      knee = point;
    }
  }
  if (knee != nullptr) knee->is_knee = true;
}

}  // namespace

void mark_front(std::vector<ScalingPoint>& points) {
  std::ranges::sort(points, is_slower);
  std::vector<ScalingPoint*> front;
  double least = std::numeric_limits<double>::infinity();  // of all faster points
  for (auto point = points.rbegin(); point != points.rend();) {
    // Those of one speed, of which the most sparing come first.
    auto end = point;
    while (end != points.rend() && end->speed == point->speed) ++end;
    const double joules = (end - 1)->joules_per_token;
    for (; point != end; ++point) {
      point->is_on_front = point->joules_per_token == joules && joules < least;
      if (point->is_on_front) front.push_back(&*point);
    }
    least = std::min(least, joules);
  }
  std::ranges::reverse(front);
  if (front.size() >= 3) mark_knee(front);
}

}  // namespace aggregate_power
