// How finished runs are recomputed.
#pragma once

#include <string>
#include <vector>

#include "runs/run_options.h"

namespace aggregate_power {

// What holds for all runs of a store. What is not given is taken from each run: the number of GPUs
// from its aggregate, the zone from evidence, the producer's commit from its package.
struct RecomputeOptions : RunOptions, PackageRules {
  bool one_witness = false;         // of a zone by evidence is enough
  std::string output;               // empty: results go where the aggregate is
  std::vector<std::string> stores;  // where nothing is written while there is an output
  bool is_searched = true;  // pieces are looked for in all of the store, not just near the run
  bool force = false;
  bool verify = false;
};

}  // namespace aggregate_power
