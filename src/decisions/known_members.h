// Names of members that a command line gives.
#pragma once

#include <string_view>
#include <vector>

#include "decisions/published_run.h"

namespace aggregate_power {

// Throws Error, with the nearest name, for one of `keys` that no run has: it is misspelt. `option`
// gave them.
void require_members(std::string_view option, const std::vector<const PublishedRun*>& runs,
                     const std::vector<std::string>& keys);

}  // namespace aggregate_power
