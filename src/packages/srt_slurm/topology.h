// What each GPU of a package was used for, and whether the GPUs are the expected ones. Contract.md
// C.4, C.5.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/gpu.h"
#include "packages/srt_slurm/faults.h"
#include "packages/srt_slurm/srt_slurm.h"

namespace aggregate_power {

struct Topology {
  std::map<DeviceKey, std::string> roles;                         // empty if some GPU has two
  std::map<std::string, std::optional<std::int64_t>> het_groups;  // by host; empty if some host has
                                                                  // two
  std::vector<std::string> conflicts;  // conflicting_worker_roles, conflicting_het_groups
};
Topology topology_of(const std::vector<ExpectedDevice>& devices);

// How the GPUs with samples differ from the expected ones, and how they contradict each other.
PackageFaults device_faults(const std::vector<ExpectedDevice>& devices, const Topology& topology,
                            const std::vector<SeenDevice>& observed);

// How roles and groups differ from the requested ones, one sentence each. `wanted` has the number
// of GPUs of each role. Contract.md C.5.
std::vector<std::string> topology_faults(const std::vector<ExpectedDevice>& devices,
                                         const Topology& topology,
                                         const std::map<std::string, std::int64_t>& wanted);

}  // namespace aggregate_power
