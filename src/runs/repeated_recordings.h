// Recordings that are given twice would count twice.
#pragma once

#include <span>
#include <string>

namespace aggregate_power {

// Throws Error if two of the paths lead to one file.
void refuse_repeated_recordings(std::span<const std::string> paths);

}  // namespace aggregate_power
