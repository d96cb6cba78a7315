// One run whose power is in a package, written by the recorder of several nodes, from start to end:
// reads package and benchmark result, patches the aggregate and writes the audit record.
#pragma once

#include <string>

#include "packages/check.h"
#include "results/deliver.h"
#include "runs/run_options.h"

namespace aggregate_power {

// Ends with a report whatever the inputs are; the status is 1 only if power is required.
CommandOutput multinode(const RunSpec& request);

}  // namespace aggregate_power
