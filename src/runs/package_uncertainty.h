// Checks a package, and puts an interval on its energy.
#pragma once

#include <string>

#include "aggregate_power/result.h"
#include "packages/check.h"

namespace aggregate_power {

// As check_package(). `hardware` is what the aggregate calls the GPUs; empty: nothing.
Result check_package_with(const UncertaintyOptions& options, const std::string& hardware,
                          PackageQuestion question);

}  // namespace aggregate_power
