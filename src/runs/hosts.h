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

// The number of GPUs is the total of all hosts; columns and zone apply to every host. Every host
// must cover the whole window: a fault of one host invalidates the run. Ends with a report whatever
// the inputs are.
CommandOutput aggregate_hosts(const RunSpec& request);

}  // namespace aggregate_power
