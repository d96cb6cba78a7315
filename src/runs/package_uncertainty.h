// Evaluates the run of a package: checks it, and adds the extras.
#pragma once

#include <string>

#include "aggregate_power/result.h"
#include "packages/check.h"
#include "runs/run_options.h"

namespace aggregate_power {

// As check_package(). `hardware` is what the aggregate calls the GPUs; empty: nothing.
Result evaluate_package(const RunOptions& run, const std::string& hardware,
                        PackageQuestion question);

}  // namespace aggregate_power
