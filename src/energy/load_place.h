// Whether a load of a window's length is where the window is. Pure arithmetic.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power::energy {

// A load that is as long as a window, and elsewhere.
struct LoadElsewhere {
  bool is_window_idle = false;  // all of it; else the load overlaps the window
  double offset_s = 0;          // the load begins and ends this much later than the window
  double length_s = 0;          // of the load
  double window_w = 0;          // means of all GPUs together: in the window, and in the load
  double load_w = 0;
  std::vector<double> others_s = {};  // offsets of other such loads, the nearest first

  // A whole number of quarter hours is how far time zones are apart.
  bool is_by_quarter_hours() const;
};

// Looks for the load in the power of all GPUs that cover the window, each in time order. There are
// two cases:
//
// * The window is idle: its mean is within a tenth of the step from the idle power beside a load of
//   about its length, and no load of its own stands out in it.
// * The load overlaps the window: power rises and falls once each at one offset from the window's
//   edges, to 1 s or the time between two readings. The offset is at least 5 s, 5 % of the window,
//   and two such times. Power is idle in the part of the window that the load leaves out, or the
//   window's own edges show nothing, and it is up in the part of the load that the window leaves
//   out.
//
// Nullopt where a load rises and falls with the window, and where the recording shows no such load.
std::optional<LoadElsewhere> load_elsewhere(std::span<const std::span<const Sample>> gpus,
                                            Window window);

}  // namespace aggregate_power::energy
