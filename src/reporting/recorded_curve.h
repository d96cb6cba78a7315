// Reads the curve of a run from its recording.
#pragma once

#include <optional>

#include "aggregate_power/sample.h"
#include "recorders/recording.h"
#include "reporting/run_curve.h"

namespace aggregate_power {

struct RecordedCurve {
  RunCurve curve;
  // The one limit that all GPUs reported throughout; nullopt: none, or several.
  std::optional<double> limit_w = {};
};

// Returns nullopt if the recording has no power at the window. Reads it once. Throws FileError and
// TelemetryError.
std::optional<RecordedCurve> recorded_curve(const Recording& recording, Window window);

}  // namespace aggregate_power
