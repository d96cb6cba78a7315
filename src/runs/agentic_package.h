// One load of agents on several nodes, end to end: its window and counts are in its formal result,
// the power in the package of the nodes' recorder.
#pragma once

#include "results/deliver.h"
#include "runs/agentic.h"

namespace aggregate_power {

// Whatever the inputs are, this ends with a report; the status is 1 only when power is required.
CommandOutput aggregate_agentic_nodes(const AgenticRequest& request);

}  // namespace aggregate_power
