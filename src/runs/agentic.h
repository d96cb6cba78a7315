// One agentic run on one node, from start to end. Its window and counts come from what AIPerf
// exported.
#pragma once

#include <optional>
#include <string>

#include "results/deliver.h"
#include "runs/run_options.h"

namespace aggregate_power {

// `zone` is that of the telemetry.
struct AgenticRequest : RunOptions, PackageOptions {
  std::string result_dir;  // normal paths
  std::string agg_result;
  std::string artifact_dir;          // empty: found in result_dir
  std::optional<Zone> profile_zone;  // nullopt: as the requests show it
  std::string power_dir;             // the package; empty: the run has a recording
  bool lacks_contract = false;       // there was no place for a package's windows
};

// Ends with a report whatever the inputs are; the status is 1 only if power is required.
CommandOutput aggregate_agentic(const AgenticRequest& request);

}  // namespace aggregate_power
