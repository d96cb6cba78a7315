// The runs that wait until all of the stores was seen.
#pragma once

#include "store/backfill_state.h"

namespace aggregate_power {

// The second round: runs whose pieces may be anywhere in the stores, listed ones that were found,
// and those without an aggregate. Throws Interrupted.
void push_those_that_wait(BackfillState& state);

// The third round: runs whose zones those of one recorder decide together. Throws Interrupted.
void push_those_without_zone(BackfillState& state);

}  // namespace aggregate_power
