// What a package consists of, and what belongs to it: files that no run may change.
#pragma once

#include <string>
#include <vector>

#include "packages/windows.h"

namespace aggregate_power {

struct PackageInputs {
  std::vector<std::string> files;    // those that its windows name as their results among them
  std::vector<std::string> folders;  // with all that is below them
};

// Whether the package is sound or not: of what cannot be read, the name alone.
PackageInputs package_inputs(const PackagePlace& place);

}  // namespace aggregate_power
