// The CPU power of a package of several nodes, from its folder `cpu`. It is judged separately and
// never affects the GPUs. Contract.md F.4.
#pragma once

#include <optional>
#include <string>

#include "base/files/tree.h"
#include "energy/cpu_power.h"

namespace aggregate_power {

// Returns nullopt if there is no such folder and no source is expected. Faults of the files are
// reasons, never exceptions.
std::optional<CpuPower> measure_cpu_power(const Tree& tree, const std::string& folder,
                                          const CpuPowerRequest& request);

}  // namespace aggregate_power
