// Reads manifest.json of a `dcgm-power` package.
#pragma once

#include <optional>

#include "base/text/json_value.h"
#include "packages/srt_slurm/check.h"
#include "packages/srt_slurm/windows.h"

namespace aggregate_power::packages {

// Returns nullopt if it is missing or malformed; `findings` then say so. Throws nothing.
std::optional<JsonValue> read_manifest(const PackagePlace& place, Findings& findings);

}  // namespace aggregate_power::packages
