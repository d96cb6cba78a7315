// What each sensor of a recording used, and the sums that its recorder states of them.
#pragma once

#include <string>
#include <vector>

#include "base/report/json_parts.h"
#include "recorders/telemetry.h"

namespace aggregate_power {

// Of all segments.

// Total, mean and highest; the energy by segments, if there are several; and the sums. Empty
// without sensors.
std::string sensors_text(const std::vector<SensorEnergy>& sensors,
                         const std::vector<SensorSum>& sums);
Json sensors_json(const std::vector<SensorEnergy>& sensors, const std::vector<SensorSum>& sums);

}  // namespace aggregate_power
