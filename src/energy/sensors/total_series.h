// Whether a recording has the total or the mean of its GPUs as a device of its own. Pure
// arithmetic.
#pragma once

#include <span>
#include <string>

#include "energy/sensors/series_check.h"

namespace aggregate_power::energy {

// Devices that are called "total", "sum", "all", "average" or the like where others are not; those
// that are called a sensor of the machine, such as "system" or "node 0"; and
// those whose readings are the sum or the mean of the others' at all times, at least 20, with at
// least 5 values: of all others, or of all others on the same host ("host/0"). Says which, for
// people, with the --gpus that leaves them out; empty: there is none.
std::string total_text(std::span<const DeviceSeries> devices);

// Where all devices are means by their names ("mean", "avg"), or several GPUs ("0,1,2,3", or "1.5",
// the mean of their indices): says which. Empty: some are not.
std::string only_means_text(std::span<const DeviceSeries> devices);

}  // namespace aggregate_power::energy
