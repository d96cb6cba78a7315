// Computes runs that have a recording and no power yet, and writes nothing.
#pragma once

#include <string>
#include <vector>

#include "base/files/tree.h"
#include "reporting/report_runs.h"

namespace aggregate_power {

// Replaces those of `runs` without power that are in `stores` by what a backfill with its default
// options would make of them; of a run that it cannot compute, the reasons. Returns notes for
// people.
std::vector<std::string> compute_missing_runs(const std::vector<std::string>& stores,
                                              unsigned most_threads, const StoreAccess& access,
                                              std::vector<ReportRun>& runs);

}  // namespace aggregate_power
