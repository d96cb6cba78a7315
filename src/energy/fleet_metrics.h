// The power of all GPUs together, and their states, to metrics.
#pragma once

#include <cstddef>

#include "aggregate_power/metric.h"
#include "aggregate_power/result.h"

namespace aggregate_power {

// The four percentiles: of the power of all GPUs together, and that divided by their number.
Metrics percentile_metrics(const FleetPower& power, std::size_t gpus);

// The percentiles, and the means of the GPUs' states where all of them have any. They follow the
// other metrics of a valid run. A metric that is too large for a number is left out.
Metrics fleet_metrics(const FleetMeasurement& fleet, std::size_t gpus);

}  // namespace aggregate_power
