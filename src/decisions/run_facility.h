// What the energy of a published run is, costs and emits at the facility.
#pragma once

#include "aggregate_power/facility.h"
#include "decisions/published_run.h"

namespace aggregate_power {

// Of `total_gpu_energy_j`, in the window that the record states: the measured boundary is "gpu".
// Only that total is known: where a rate changes in the window, the power is taken as constant.
// Nothing is written anywhere.
FacilityFigures facility_of(const PublishedRun& run, const FacilityRates& rates);

TokenCounts tokens_of(const PublishedRun& run);

}  // namespace aggregate_power
