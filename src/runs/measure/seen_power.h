// The power of a recording's GPUs around the window, kept while the recording is measured.
#pragma once

#include <optional>
#include <vector>

#include "aggregate_power/result.h"
#include "aggregate_power/sample.h"
#include "core/telemetry/samples.h"
#include "recorders/recording.h"
#include "runs/evaluate/evaluate.h"

namespace aggregate_power {

class SeenPower {
 public:
  // Looks at the rows of the next recording that `request` measures over the window, 16 bytes a
  // sample. Must outlive that. If it is measured again, the last time counts.
  void watch(MeasurementRequest& request, Window window);

  // Reads a recording for it alone. Throws FileError and TelemetryError.
  SeriesFacts read(const Recording& recording, Window window);

  // Of all GPUs together; nullopt if one does not cover the window, or if nothing was watched.
  std::optional<FleetPower> curve() const;
  // Of all GPUs together, inside the window.
  std::vector<Sample> readings() const;

 private:
  Window window_ = kNever;
  double margin_s_ = 0;
  Samples samples_{kNever};
};

}  // namespace aggregate_power
