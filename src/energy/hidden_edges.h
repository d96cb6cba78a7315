// How much of a load may be hidden between two readings at the edges of a window. Pure arithmetic.
#pragma once

#include <span>

#include "aggregate_power/sample.h"

namespace aggregate_power::energy {

// The power steps up or down at the window's start or end, and a reading is a mean over up to 1 s:
// where between two readings it steps, nobody knows.
struct HiddenEdges {
  double joules = 0;     // by which the energy may be off
  double step_w = 0;     // the larger one
  double between_s = 0;  // readings there, or the time for which one is held
};
// `samples` are in time order.
HiddenEdges hidden_at_edges(std::span<const Sample> samples, Window window);

}  // namespace aggregate_power::energy
