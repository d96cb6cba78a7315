// Puts an interval on a run's energy: which sensors its readings are of, and what they leave open.
#pragma once

#include <string>
#include <vector>

#include "aggregate_power/result.h"
#include "runs/run_options.h"
#include "runs/sensor_readings.h"

namespace aggregate_power {

// Sets Result::uncertainty, if it is wanted; of a run that is not valid it says only that. The
// recordings' GPUs have names that differ. `hardware` is what the aggregate calls the GPUs; empty:
// nothing.
void add_uncertainty(const UncertaintyOptions& options, std::vector<SensorReadings> recordings,
                     const std::string& hardware, Result& result, bool may_use_threads = false);

// The same for a run without power, or whose power is not known yet.
void refuse_uncertainty(const UncertaintyOptions& options, Result& result);

}  // namespace aggregate_power
