// Where a load begins and ends that is idle before and after a window. Pure arithmetic.
#pragma once

#include <optional>
#include <span>

#include "aggregate_power/sample.h"
#include "energy/uncertainty/placed_readings.h"
#include "energy/uncertainty/random_walk.h"

namespace aggregate_power {

// The stretches in which a load rose from idle and fell back to it, by the last readings that show
// nothing but idle. Nullopt: it was not idle just before the window (after it), or the edge is far
// from the window's.
struct WindowEdges {
  std::optional<PowerJump> rise;
  std::optional<PowerJump> fall;
};

WindowEdges window_edges(std::span<const PlacedReading> readings, double window_s, Window window);

// The same edges if the load is inside the window: it neither rises before its start nor goes on
// after its end. Nullopt if the readings exclude that.
std::optional<PowerJump> rise_inside(const PowerJump& rise, Window window);
std::optional<PowerJump> fall_inside(const PowerJump& fall, Window window);

}  // namespace aggregate_power
