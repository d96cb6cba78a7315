// The range of several lines at each x.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "drawing/chart.h"

namespace aggregate_power {

// From the lowest to the highest of all lines, in `columns` columns of equal width from the first
// to the last x; broken where there is no line. A ribbon's points are at the columns' middles.
std::vector<Ribbon> envelope(std::span<const Polyline> lines, std::size_t columns);

}  // namespace aggregate_power
