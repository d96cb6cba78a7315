// The summary of a backfill as a table: how many runs had each outcome, and the reasons with the
// first names of the runs that have them.
#pragma once

#include <string>

#include "store/backfill_progress.h"

namespace aggregate_power {

std::string summary_text(const BackfillCounts& counts, bool dry_run);

}  // namespace aggregate_power
