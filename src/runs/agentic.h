// One agentic run on one node, from start to end. Its window and counts come from what AIPerf
// exported.
#pragma once

#include <optional>
#include <string>

#include "results/deliver.h"
#include "runs/run_options.h"

namespace aggregate_power {

// Ends with a report whatever the inputs are; the status is 1 only if power is required.
CommandOutput aggregate_agentic(const RunSpec& request);

}  // namespace aggregate_power
