// Places the points of a chart.
#include "drawing/chart.h"

#include <cmath>

namespace aggregate_power {

std::vector<Polyline> placed_lines(const Polyline& line, const Axis& x, const Axis& y) {
  std::vector<Polyline> parts;
  bool is_connected = false;
  for (const Point& point : line) {
    const Point place{x.place(point.x), y.place(point.y)};
    if (!std::isfinite(place.x) || !std::isfinite(place.y)) {
      is_connected = false;
      continue;
    }
    if (!is_connected) parts.emplace_back();
    is_connected = true;
    parts.back().push_back(place);
  }
  return parts;
}

}  // namespace aggregate_power
