// One agentic run on one node, from start to end. Its window and counts come from what AIPerf
// exported.
#pragma once

#include <string>

#include "results/deliver.h"
#include "runs/run_options.h"

namespace aggregate_power {

// The zone applies to both the telemetry and the profile.
struct AgenticRequest : RunOptions, PackageOptions {
  std::string result_dir;  // normal paths
  std::string agg_result;
  std::string power_dir;  // the nodes' package; empty: the run is on one node
};

// Ends with a report whatever the inputs are; the status is 1 only if power is required.
CommandOutput aggregate_agentic(const AgenticRequest& request);

}  // namespace aggregate_power
