// How a log of windows is understood that has energies of its own.
#pragma once

#include <optional>

#include "runs/inspect.h"

namespace aggregate_power {

// Returns nullopt if the file is not a CSV of Zeus. Throws FileError.
std::optional<InspectReport> inspect_windows_log(const InspectRequest& request);

}  // namespace aggregate_power
