// Whether a sensor of power hangs: it shows one value while what it measures changes. Pure
// arithmetic.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power::energy {

struct DeviceSeries {
  std::string device;               // its name
  std::span<const Sample> samples;  // in time order, then in the file's order
  // Each that it stated of itself in its constant_stretches().
  std::vector<double> utilization_pct = {};
  std::vector<double> temperature_c = {};
  std::vector<double> clock_mhz = {};
};

struct SeriesRules {
  Window window = kAlways;  // whose energy counts
  double max_sample_gap_s = 3;
  double clock_offset_s = 0;  // was added to the stamps
};

// Where a device's power does not change for at least 20 samples, in the recording, or for a fifth
// of the window and up to where it changes: what else the device stated meanwhile is worth a look.
struct ConstantStretch {
  std::size_t device = 0;  // its place
  Window stretch;
};
std::vector<ConstantStretch> constant_stretches(std::span<const DeviceSeries> devices,
                                                const SeriesRules& rules);

// Why the device's sensor is stuck, for people: "GPU 2 reads 311 W in all 54 samples while GPU 0
// went from 140 to 580 W; it is 5.8 % of the energy". Empty: nothing shows it.
//
// Its power is constant, see above, while its utilization or its clock changes by much, another
// device's power changes by more than a fifth, or, if the value has decimals, its temperature does
// or it works; or its other readings, of about the same power if there are any, hardly ever repeat;
// or elsewhere its power changes as another device's does. An idle device draws about as much as
// others when they are idle; one at its limit never draws more, and is not idle. A value with
// decimals is stuck if it stays from 10 s before the window to 10 s after it, unless it is below a
// quarter of what another device reads.
//
// Or it reads 0 W four times or more in the window, in 1 % of its readings there, while all others
// of the recording are above 15 W.
std::string stuck_text(std::span<const DeviceSeries> devices, std::size_t own,
                       const SeriesRules& rules);

// The same where it may also be a steady load or rest: no device's power changes from 2 s before
// the window to 2 s after it; its other readings repeat less than it does; it changes as another
// device's does, but seldom; or it rests for half of the window and works before and after that. A
// reason to ask, and none to refuse.
std::string possibly_stuck_text(std::span<const DeviceSeries> devices, std::size_t own,
                                const SeriesRules& rules);

}  // namespace aggregate_power::energy
