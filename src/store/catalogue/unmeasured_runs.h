// Runs in folders that nobody has measured yet.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runs/evaluate/run_options.h"
#include "store/catalogue/published_runs.h"

namespace aggregate_power {

// Measures the runs in the folders among `places`, as `measure` does, and adds them to what was
// `found` there, with a note. Where aggregates were found that other programs made, nothing is
// measured: their store is what `backfill` computes. Neither is a run whose files a record among
// `found` states as its inputs. Nothing is written. Returns how many were measured.
std::size_t add_unmeasured_runs(const std::vector<std::string>& places, const RunSpec& measuring,
                                unsigned most_threads, PublishedRuns& found);

// Where nothing was measured: names the options of measuring that were given.
void note_unused_options(const RunSpec& measuring, std::vector<std::string>& notes);

}  // namespace aggregate_power
