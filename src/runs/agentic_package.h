// One load of agents on several nodes, end to end: its window and counts are in its formal result,
// the power in the package of the nodes' recorder.
#pragma once

#include <optional>
#include <string>

#include "results/deliver.h"

namespace aggregate_power {

struct AgenticNodesRequest {
  std::string result_dir;  // these are normal paths
  std::string agg_result;
  std::string power_dir;
  std::string logs_root;
  std::string expected_producer_sha;
  std::optional<std::string> expected_cpu_source;
  bool salvage = false;
  bool extended = false;  // the consumer's further keys too
  bool require_power = false;
  bool dry_run = false;
};

// Whatever the inputs are, this ends with a report; the status is 1 only when power is required.
CommandOutput aggregate_agentic_nodes(const AgenticNodesRequest& request);

}  // namespace aggregate_power
