// One agentic run on one node, end to end: its window and counts come from what AIPerf exported.
#pragma once

#include <string>

#include "results/deliver.h"
#include "runs/run_options.h"

namespace aggregate_power {

// The zone is that of the telemetry and of the profile.
struct AgenticRequest : RunOptions, PackageOptions {
  std::string result_dir;  // normal paths
  std::string agg_result;
  std::string power_dir;  // of the nodes' package; empty: the run is on one node
};

// Whatever the inputs are, this ends with a report; the status is 1 only when power is required.
CommandOutput aggregate_agentic(const AgenticRequest& request);

}  // namespace aggregate_power
