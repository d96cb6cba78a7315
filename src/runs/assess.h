// One recording and one load to their result: metrics, or the reasons against them.
#pragma once

#include "aggregate_power/result.h"
#include "loads/load_files.h"
#include "recorders/recording.h"
#include "runs/measurement.h"

namespace aggregate_power {

Result assess(const MeasurementRequest& request, const Recording& recording,
              const LoadReading& reading);

// A result without any measurement, which `reasons` forbid.
Result unmeasured(const MeasurementRequest& request, const std::optional<Load>& load,
                  const Reasons& reasons);

}  // namespace aggregate_power
