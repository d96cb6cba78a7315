// The walk of a backfill: what it meets becomes tasks, or is noted.
#pragma once

#include <functional>
#include <string>

#include "store/backfill_state.h"

namespace aggregate_power {

using TakeTask = std::function<void(Task)>;

// Pushes the listed runs, and what the stores hold where they are searched. Throws Interrupted.
void walk_stores(BackfillState& state);

// Walks the archive of a task, and gives what it holds. What is wrong with it is counted.
void search_archive(BackfillState& state, const Task& task, const TakeTask& take);

// A run that was found and is selected.
void take_found(BackfillState& state, const StoredRun& run, const TakeTask& take);

// A line of the list, for which there is no run. The shard of `key` says so.
void add_unfound(BackfillState& state, const std::string& line, const std::string& key,
                 const std::string& why);

}  // namespace aggregate_power
