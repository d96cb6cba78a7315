// Compares the hardware's own energy counters with the integral of the samples. Only advice, never
// a verdict. Contract.md B.8: the counters bracket the monitor's whole life, so the whole file is
// integrated: this checks the sensor, not the window.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/result.h"
#include "core/telemetry/samples.h"

namespace aggregate_power {

// Of one device, over a whole recording.
struct StreamEnergy {
  bool seen = false;
  double first_unix_s = 0;
  double last_unix_s = 0;
  double energy_j = 0;  // the trapezoid over every reading, negative ones included
};

// By Reading::device. Both are in time order; `negative` has the readings below 0 W.
std::vector<StreamEnergy> stream_energies(const Samples& power, const Samples& negative);

using EnergySnapshot = std::map<std::string, double>;  // joules by GPU

// `streams` and `names` are indexed by Reading::device.
CounterCheck check_counters(const EnergySnapshot& start, const EnergySnapshot& end,
                            std::span<const StreamEnergy> streams,
                            std::span<const std::string> names);

}  // namespace aggregate_power
