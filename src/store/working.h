// The work of one thread of a backfill.
#pragma once

#include "store/commit_batch.h"
#include "store/walking.h"

namespace aggregate_power {

// Takes tasks until no more will come. Results to be written are left to `batch`. Throws
// Interrupted after a signal: the run in progress is dropped, but not runs that only wait to be put
// in place. Faults of a run are counted.
void do_tasks(BackfillState& state, CommitBatch& batch);

}  // namespace aggregate_power
