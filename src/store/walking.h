// What a backfill finds in the stores, round by round: it becomes tasks, or is noted.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "store/backfill_request.h"
#include "store/met_runs.h"
#include "store/run_list.h"
#include "store/selection.h"
#include "store/tally.h"
#include "store/task_queue.h"
#include "store/zone_cases.h"

namespace aggregate_power {

// The state that the walk and the workers of a backfill share.
struct BackfillState {
  // Throws what Backfill's constructor throws. `request` and `watcher` must outlive this object.
  BackfillState(const BackfillRequest& request, const BackfillWatcher& watcher);
  BackfillState(const BackfillState&) = delete;
  BackfillState& operator=(const BackfillState&) = delete;

  const BackfillRequest& request;
  RecomputeOptions options;
  Selection selection;
  Tally tally;
  std::vector<StorePath> stores;
  MetRuns met;
  std::optional<RunList> list;  // nullopt: all runs in the stores are wanted
  ZoneCases zone_cases;
  TaskQueue tasks;
};

using TakeTask = std::function<void(Task)>;

// The first round: pushes the listed runs, and the content of the stores that are searched. Throws
// Interrupted.
void walk_stores(BackfillState& state);

// The second round: runs whose pieces may be anywhere in the stores, listed runs that were found,
// and those without an aggregate. Throws Interrupted.
void push_those_that_wait(BackfillState& state);

// The third round: runs whose zones are decided together with others of one recorder. Throws
// Interrupted.
void push_those_without_zone(BackfillState& state);

// Walks the archive of a task, and passes its content on. Faults of the archive are counted.
void search_archive(BackfillState& state, const Task& task, const TakeTask& take);

}  // namespace aggregate_power
