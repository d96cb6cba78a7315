// The runs that wait until all stores have been searched.
#pragma once

#include "store/backfill_state.h"

namespace aggregate_power {

// The second round: runs whose pieces may be anywhere in the stores, listed runs that were found,
// and those without an aggregate. Throws Interrupted.
void push_those_that_wait(BackfillState& state);

// The third round: runs whose zones are decided together with others of one recorder. Throws
// Interrupted.
void push_those_without_zone(BackfillState& state);

}  // namespace aggregate_power
