// Runs in folders that nobody has measured yet.
#pragma once

#include <string>
#include <vector>

#include "runs/evaluate/run_options.h"
#include "store/catalogue/published_runs.h"

namespace aggregate_power {

// Measures the runs in the folders among `places`, as `measure` does, and adds them to what was
// `found` there, with a note. Where aggregates were found that other programs made, nothing is
// measured: their store is what `backfill` computes. Nothing is written.
void add_unmeasured_runs(const std::vector<std::string>& places, const RunSpec& measuring,
                         unsigned most_threads, PublishedRuns& found);

}  // namespace aggregate_power
