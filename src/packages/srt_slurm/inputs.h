// The files that make up a package, and those that belong to it: no run may change them.
#pragma once

#include <string>
#include <vector>

#include "packages/srt_slurm/cpu_power.h"
#include "packages/srt_slurm/windows.h"

namespace aggregate_power {

struct PackageInputs {
  std::vector<std::string> files;    // including the results that its windows name
  std::vector<std::string> folders;  // including everything below them
};

// Where the package's CPU power may be recorded.
CpuFolders cpu_folders(const PackagePlace& place);

// Works whether or not the package is sound: a file that cannot be read is listed by name.
PackageInputs package_inputs(const PackagePlace& place);

}  // namespace aggregate_power
