// How wide the interval of an energy will be, before it is measured: that of the load that was
// seen, for a window of another length. Pure arithmetic.
#pragma once

#include <string>
#include <vector>

#include "energy/uncertainty/estimate.h"

namespace aggregate_power {

struct ExpectedInterval {
  std::string refusal;                // why there is none; empty: there is one
  std::vector<Component> components;  // relative to an energy of 1 J

  double half_width() const;  // 95 %
};

// `seen` is a recording of the load, which fills its window. What a run leaves open at random is
// less by the root of how much longer it is, what is open at its edges by how much longer, and what
// is wrong with a sensor stays.
ExpectedInterval expected_interval(EstimateQuestion seen, double window_s);

// The part of a stretch of load in which all that a sensor averages over is load, too; the whole
// stretch if it is too short for that.
Window inside_of_load(Window stretch, const GpuReadings& gpu);

}  // namespace aggregate_power
