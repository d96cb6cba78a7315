// Turns one recording and one load into a result: metrics, or the reasons against them.
#pragma once

#include "aggregate_power/result.h"
#include "loads/load_files.h"
#include "recorders/recording.h"
#include "runs/measurement.h"

namespace aggregate_power {

// An uncertainty or idle power that is wanted is refused here; whoever passes
// MeasurementRequest::readings adds it.
Result assess(const MeasurementRequest& request, const Recording& recording,
              const LoadReading& reading);

// The result of a run that was not measured because of `reasons`.
Result unmeasured(const MeasurementRequest& request, const std::optional<Load>& load,
                  const Reasons& reasons);

}  // namespace aggregate_power
