// The CPU power of a package of several nodes: its folder `cpu` to a verdict of its own, which
// never changes what is said of the GPUs. Contract.md F.4.
#pragma once

#include <optional>
#include <string>

#include "base/files/tree.h"
#include "energy/cpu_power.h"

namespace aggregate_power {

// Nothing when there is no such folder and no source is expected. What is wrong with the files is a
// reason, never an exception.
std::optional<CpuPower> measure_cpu_power(const Tree& tree, const std::string& folder,
                                          const CpuPowerRequest& request);

}  // namespace aggregate_power
