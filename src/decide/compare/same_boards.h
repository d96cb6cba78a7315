// Whether runs were measured on the same boards, and what that means for their comparison.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "store/catalogue/published_runs.h"

namespace aggregate_power {

enum class Boards {
  same,          // the UUIDs of the GPUs are equal
  assumed_same,  // no UUIDs; ids, hardware and hosts are equal as far as they are known
  different,
};

std::string_view boards_name(Boards boards);

// None may be nullptr.
Boards boards_of(const std::vector<const PublishedRun*>& runs);

// The relative standard uncertainty of what the sensors of a run's boards do to an energy, by the
// public measurements of other boards; for a run that states none itself.
double prior_accuracy(const PublishedRun& run);

}  // namespace aggregate_power
