// What the energy of a run is, costs and emits at the facility.
#pragma once

#include <list>

#include "aggregate_power/facility.h"
#include "runs/measure/measure_report.h"
#include "runs/measure/seen_power.h"

namespace aggregate_power {

// Adds it to a run that was measured. `power` is of each of its recordings, watched if a rate
// changes in its window. A run that is not valid gets the reason and no number.
void add_facility(const FacilityRates& rates, const std::list<SeenPower>& power, RunReport& run);

}  // namespace aggregate_power
