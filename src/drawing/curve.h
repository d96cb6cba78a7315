// A smooth curve through points that never leaves their range.
#pragma once

#include <cstddef>
#include <span>

#include "drawing/chart.h"

namespace aggregate_power {

// The monotone cubic interpolation of Fritsch and Carlson (1980): between two neighbours the curve
// stays between their values, and rises or falls only. `points` are sorted by strictly rising x.
// Each stretch becomes `steps` straight lines; the points themselves are on the curve. Fewer than
// three points give themselves.
Polyline monotone_curve(std::span<const Point> points, std::size_t steps);

}  // namespace aggregate_power
