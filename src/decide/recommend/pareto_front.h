// Which points of a sweep are worth choosing: the Pareto front of energy per token against speed,
// and its knee. Pure arithmetic.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace aggregate_power {

struct ScalingPoint {
  std::string name;  // "conc=16"
  std::optional<double> limit_w = {};
  double speed = 0;             // the more the better
  double joules_per_token = 0;  // the less the better
  std::size_t n = 1;            // runs
  bool is_on_front = false;
  bool is_knee = false;
};

// Runs that differ in their concurrency, and perhaps in their limit, alone.
struct ScalingSweep {
  std::string scenario;
  std::string speed_key;                  // "output_tput_per_gpu"
  std::vector<ScalingPoint> points = {};  // from the slowest to the fastest
};

// Marks the points that no other one beats: none is at least as good in both and better in one. The
// knee is the point of the front that is furthest from the straight line between the front's ends,
// on the better side of it, both axes scaled to the front's range (Kneedle, Satopaa and others
// 2011). A front of fewer than three different points, or one without a point on that side, has no
// knee. Sorts the points.
void mark_front(std::vector<ScalingPoint>& points);

}  // namespace aggregate_power
