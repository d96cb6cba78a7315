// One run on several hosts, each with its own recording, from start to end.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "results/deliver.h"
#include "runs/host_folders.h"
#include "runs/roles.h"
#include "runs/run_options.h"

namespace aggregate_power {

// The number of GPUs is the total of all hosts; columns and zone apply to every host.
struct HostsRequest : RunOptions, RunFiles {
  std::vector<HostFile> hosts = {};   // in the order in which they are read and recorded
  std::string no_hosts = {};          // why there are none
  std::string telemetry_source = {};  // as named in the audit record
  std::vector<RoleShare> roles = {};  // none: one whole deployment
  std::map<std::string, double> clock_offsets_s = {};  // by host; added to its stamps
};

// Every host must cover the whole window: a fault of one host invalidates the run. Ends with a
// report whatever the inputs are.
CommandOutput aggregate_hosts(const HostsRequest& request);

}  // namespace aggregate_power
