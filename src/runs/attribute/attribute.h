// What the energy of a recording was used for, by the events of a profiler's trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runs/attribute/report.h"
#include "runs/evaluate/run_options.h"

namespace aggregate_power {

struct AttributeRequest : RunOptions {
  std::vector<std::string> telemetry;  // normal paths
  std::vector<std::string> traces;     // normal paths
  std::string by;                      // empty: kernel, or layer for a CSV of layers
  AttributionOrder order = AttributionOrder::energy;
  bool whole_recording = false;  // else from the first to the last event
  std::uint64_t warm_up = 0;     // iterations that are not measured ones
  bool lists_calls = false;      // AttributionReport::calls are wanted
};

// Throws Error, or FileError if a file cannot be opened.
AttributionReport attribute_run(const AttributeRequest& request);

}  // namespace aggregate_power
