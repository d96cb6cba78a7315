// What a worker of a backfill does.
#pragma once

#include "store/backfill_state.h"
#include "store/commit_batch.h"

namespace aggregate_power {

// Takes tasks until there will be no more. Results to be written are left to `batch`. Throws
// Interrupted after a signal: the run in hand is dropped, but not those that only wait to be put in
// place. What is wrong with a run is counted.
void do_tasks(BackfillState& state, CommitBatch& batch);

}  // namespace aggregate_power
