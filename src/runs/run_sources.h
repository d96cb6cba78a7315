// The options of a run that its record does not say elsewhere, and how they are given again.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "packages/topology.h"
#include "runs/run_options.h"

namespace aggregate_power {

using NamedOptions = std::vector<std::pair<std::string, std::string>>;

// Of options that have their default, there is none.
NamedOptions unrecorded_options(const RunOptions& run);

// Sets what unrecorded_options() gave. A name or value that it does not know is left out.
void set_unrecorded_options(const NamedOptions& options, RunOptions& run);

// The same of a run with a package: also where its results are, what was expected of it, and the
// GPUs by role.
NamedOptions unrecorded_options(const RunOptions& run, const PackageOptions& package,
                                const RoleCounts& gpus);
void set_unrecorded_options(const NamedOptions& options, PackageOptions& package, RoleCounts& gpus);

}  // namespace aggregate_power
