// One load of agents on several nodes, from start to end. Its window and counts come from its
// formal result, its power from the package of the nodes' recorder.
#pragma once

#include "results/deliver.h"
#include "runs/agentic.h"

namespace aggregate_power {

// Ends with a report whatever the inputs are; the status is 1 only if power is required.
CommandOutput aggregate_agentic_nodes(const RunSpec& request);

}  // namespace aggregate_power
