// One run whose power a recorder of several nodes packed, end to end: package and benchmark result
// in, patched aggregate and audit record out.
#pragma once

#include <string>

#include "packages/check.h"
#include "results/deliver.h"
#include "runs/run_options.h"

namespace aggregate_power {

struct MultinodeRequest : RunOptions, RunFiles, PackageOptions {
  std::string power_dir;  // normal path
  RoleCounts gpus;
};

// Whatever the inputs are, this ends with a report; the status is 1 only when power is required.
CommandOutput multinode(const MultinodeRequest& request);

}  // namespace aggregate_power
