// How the result of a load generator is understood.
#pragma once

#include <optional>

#include "runs/inspect.h"

namespace aggregate_power {

// Returns nullopt if the file is not recognized as a result: then it may be telemetry. Throws
// FileError.
std::optional<InspectReport> inspect_result(const InspectRequest& request);

}  // namespace aggregate_power
