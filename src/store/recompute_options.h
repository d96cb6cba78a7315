// How finished runs are recomputed.
#pragma once

#include <string>
#include <vector>

#include "aggregate_power/result.h"
#include "runs/run_options.h"

namespace aggregate_power {

// Options for all runs in a store. Missing ones are taken from each run: the number of GPUs from
// its aggregate, the zone from evidence, the producer's commit from its package.
struct RecomputeOptions : RunOptions, PackageRules {
  std::string output;               // empty: results go where the aggregate is
  std::vector<std::string> stores;  // if there is an output, nothing is written here
  bool is_searched = true;          // search the whole store for pieces, not just near the run
  bool force = false;
  bool verify = false;
  bool republish = false;  // also what was retracted
};

// The options as the record of a run shows them.
Origin one_node_origin(const RecomputeOptions& options);
Origin package_origin(const RecomputeOptions& options);

}  // namespace aggregate_power
