// The CPU power of a package of several nodes: its folder `cpu` to a verdict of its own, which
// never changes what is said of the GPUs. Contract.md F.4.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/files/tree.h"
#include "base/text/json.h"
#include "energy/cpu_power.h"
#include "results/dashboard_keys.h"

namespace aggregate_power {

// Nothing when there is no such folder and no source is expected. What is wrong with the files is a
// reason, never an exception.
std::optional<CpuPower> measure_cpu_power(const Tree& tree, const std::string& folder,
                                          const CpuPowerRequest& request);

// What the audit record says of it.
nlohmann::ordered_json cpu_power_json(const CpuPower& power);

// What `power_audit` says of it.
CpuAudit cpu_audit(const CpuPower& power);

// What it changes in the aggregate: `cpu_power_valid`, and its other keys set or removed.
std::vector<JsonEdit> cpu_power_edits(const CpuPower& power);

}  // namespace aggregate_power
