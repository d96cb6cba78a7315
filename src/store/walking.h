// The walk of a backfill: what it finds becomes tasks, or is noted.
#pragma once

#include <functional>
#include <string>

#include "store/backfill_state.h"

namespace aggregate_power {

using TakeTask = std::function<void(Task)>;

// Pushes the listed runs, and the content of the stores that are searched. Throws Interrupted.
void walk_stores(BackfillState& state);

// Walks the archive of a task, and passes its content on. Faults of the archive are counted.
void search_archive(BackfillState& state, const Task& task, const TakeTask& take);

// Takes a run that was found and is selected.
void take_found(BackfillState& state, const StoredRun& run, const TakeTask& take);

// Counts a line of the list that has no run. Only the shard of `key` does so.
void add_unfound(BackfillState& state, const std::string& line, const std::string& key,
                 const std::string& why);

}  // namespace aggregate_power
