// Whether runs that are compared were at one power limit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "store/catalogue/published_runs.h"

namespace aggregate_power {

using LimitsByRun = std::map<const PublishedRun*, double>;

// The limits that are known, in watts: of valid runs, by the members of their aggregates; of up to
// 200 runs also by their recordings, which are read.
LimitsByRun limits_by_run(const std::vector<const PublishedRun*>& runs, unsigned most_threads);

// What is odd about the limits of the two sides of a comparison, for people; `next` may be empty.
std::vector<std::string> limit_notes(const LimitsByRun& limits_w,
                                     const std::vector<const PublishedRun*>& base,
                                     const std::vector<const PublishedRun*>& next);

}  // namespace aggregate_power
