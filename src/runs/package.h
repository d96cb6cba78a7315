// One run whose power a recorder of several nodes packed, end to end: package and benchmark result
// in, patched aggregate and audit record out.
#pragma once

#include <optional>
#include <string>

#include "packages/check.h"
#include "results/deliver.h"

namespace aggregate_power {

struct MultinodeRequest {
  std::string power_dir;  // these are normal paths
  std::string logs_root;
  std::string bench_result;
  std::string agg_result;
  std::string validation_result;  // empty: beside the benchmark result
  RoleCounts gpus;
  std::string expected_producer_sha;  // empty: none
  std::optional<std::string> expected_cpu_source;
  bool salvage = false;
  bool extended = false;  // the consumer's further keys too
  bool require_power = false;
  bool dry_run = false;
};

// Whatever the inputs are, this ends with a report; the status is 1 only when power is required.
CommandOutput multinode(const MultinodeRequest& request);

}  // namespace aggregate_power
