// The state that the walk and the workers of a backfill share.
#pragma once

#include <optional>
#include <vector>

#include "store/backfill_request.h"
#include "store/met_runs.h"
#include "store/run_list.h"
#include "store/selection.h"
#include "store/tally.h"
#include "store/task_queue.h"
#include "store/zone_cases.h"

namespace aggregate_power {

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

}  // namespace aggregate_power
