// One run with a native package, from start to end: checks, patches the aggregate and writes the
// audit record.
#pragma once

#include "results/deliver.h"
#include "runs/package.h"

namespace aggregate_power {

// `request.power_dir` is a native package. Ends with a report whatever the inputs are; the status
// is 1 only if power is required.
CommandOutput multinode_native(const RunSpec& request);

}  // namespace aggregate_power
