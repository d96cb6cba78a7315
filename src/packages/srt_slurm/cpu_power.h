// The CPU power of a package of several nodes, from its folder `cpu`, or from what its hosts
// recorded. It is judged separately and never affects the GPUs. Contract-october.md 2.9, 9.1.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files/tree.h"
#include "core/energy/cpu_power.h"

namespace aggregate_power {

// Where recordings of CPU power may be. The recording of the hosts counts only where the package
// has none.
struct CpuFolders {
  std::string of_package;     // LOGS/power/cpu
  std::string of_hosts = {};  // LOGS/cpu_power; empty: it is not looked for
};

// The files that CPU power may come from, whether they exist or not.
std::vector<std::string> cpu_files_of_hosts(const CpuFolders& folders);

// Returns nullopt if there is no such folder and no source is expected. Faults of the files are
// reasons, never exceptions.
std::optional<CpuPower> measure_cpu_power(const Tree& tree, const CpuFolders& folders,
                                          const CpuPowerRequest& request);

}  // namespace aggregate_power
