// What is beside a recording of AIPowerMeter, and what follows from both.
//
// latency.csv has the seconds of each inference, model_summary.json the size of the model, and
// omegawatt.csv the power at the wall.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/report/json_parts.h"
#include "recorders/telemetry.h"
#include "runs/inspect.h"

namespace aggregate_power {

struct BesideReport {
  std::string text;
  Json json;
};

// `sensors` are those of the recording. Returns nullopt if none of these files is there. A file
// that cannot be used is reported as such; nothing is thrown because of it.
std::optional<BesideReport> inspect_beside(const InspectRequest& request,
                                           const std::vector<SensorEnergy>& sensors);

}  // namespace aggregate_power
