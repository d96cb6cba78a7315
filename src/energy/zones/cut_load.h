// A load that a window cuts: it begins in idle time and ends in the middle of the load, or the
// other way round. Pure arithmetic.
#pragma once

#include <optional>

#include "aggregate_power/sample.h"
#include "energy/zones/power_cells.h"

namespace aggregate_power::energy {

// What is known of a window's edges, and of the recording.
struct EdgeSlack {
  double blur_s = 1;          // edges are known to this
  double late_s = 5;          // a load that begins so much later than the window is late
  double before_load_s = 5;   // an edge may be inside of the window by this
  double outside_load_s = 2;  // and outside of it by this
  double lowest_w = 0;        // the least power, over some seconds
};

struct CutLoad {
  double rise_s = 0;  // the load begins this much later than the window
  double fall_s = 0;  // and ends this much later; both are of one sign
  double length_s = 0;
  double load_w = 0;
};

// Nullopt unless power is idle at one end of the window for longer than a load may be late, which
// is three times as long as any pause of the load itself, and the load goes on beyond the other
// end, at which its power does not change.
std::optional<CutLoad> cut_load(const PowerCells& cells, Window window, const EdgeSlack& slack);

}  // namespace aggregate_power::energy
