// Whether readings are means over a long time: of a query such as avg_over_time, or of a slow
// sensor. Pure arithmetic.
#pragma once

#include <optional>
#include <span>

#include "aggregate_power/sample.h"

namespace aggregate_power::energy {

// What means over a long time do to a load that fills the window: its power rises slowly from the
// window's start, and falls as slowly after its end, when a load itself is gone.
struct AveragedReadings {
  double over_s = 0;        // about
  double missing_j = 0;     // of the load, which the readings show after the window; 0: unknown
  bool falls_later = true;  // else the recording ends too early, and only the rise is known
  bool are_smooth = true;   // else a load of its own may rise and fall like that
};

struct AveragedEdges {
  bool has_edge = false;  // the power rises with the window, from a steady level
  std::optional<AveragedReadings> readings = {};  // absent if it does not do so like that
};
// A load that has slow edges of its own falls before the window ends. `samples` are in time order.
AveragedEdges averaged_edges(std::span<const Sample> samples, Window window);

}  // namespace aggregate_power::energy
