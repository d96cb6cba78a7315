// The file that a mistyped path probably means.
#pragma once

#include <optional>
#include <string>

namespace aggregate_power {

// If nothing is at `path`: the file in its folder whose name is nearest, as a path. Returns nullopt
// if something is there, if no name is near, or if the folder cannot be listed.
std::optional<std::string> near_file(const std::string& path);

// "PATH does not exist: did you mean NEAR?"; empty if there is nothing to propose.
std::string missing_file_hint(const std::string& path);

}  // namespace aggregate_power
