// How the result of a load generator is understood.
#pragma once

#include <optional>

#include "runs/inspect.h"

namespace aggregate_power {

// Returns nullopt if the file is not recognized as a result: then it may be telemetry. Throws
// FileError.
// What a JSON file is that is neither a result nor telemetry, for people: with its top-level keys.
// Returns nullopt for any other file. Throws FileError.
std::optional<std::string> unrecognized_json(const std::string& path);

// What a file is that this program wrote as JSON; nullopt: it did not. Throws FileError.
std::optional<InspectReport> inspect_own_file(const InspectRequest& request);

std::optional<InspectReport> inspect_result(const InspectRequest& request);

}  // namespace aggregate_power
