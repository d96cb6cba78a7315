// One load that several recordings measured, each on GPUs of its own.
#pragma once

#include "aggregate_power/result.h"
#include "recorders/recording.h"

namespace aggregate_power {

// Energies of several recordings of one load, added to those of `sum`. A GPU that is in both by a
// name that is unique is a reason. The number of expected GPUs is not checked.
void add_recording(Result& sum, Result other);

// Throws Error if one recording has the same bytes as the other.
void refuse_copy(const Recording& first, const Recording& other);

}  // namespace aggregate_power
