// The summary of a backfill: how many runs had each outcome, and the reasons with the first names
// of the runs that have them.
#pragma once

#include <string>

#include "store/backfill_progress.h"

namespace aggregate_power {

// As a table for people, in lines of at most 80 columns except longer words.
std::string summary_text(const BackfillCounts& counts, bool dry_run);

// The same as one JSON object.
std::string summary_json(const BackfillCounts& counts, bool dry_run);

}  // namespace aggregate_power
