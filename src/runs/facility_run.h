// What the energy of a run is, costs and emits at the facility.
#pragma once

#include <list>

#include "aggregate_power/facility.h"
#include "recorders/recording.h"
#include "results/run_report.h"

namespace aggregate_power {

// Adds it to a run that was measured by `recordings` together. They are read once more if a rate
// changes in its window. A run that is not valid gets the reason and no number.
void add_facility(const FacilityRates& rates, const std::list<Recording>& recordings,
                  double max_sample_gap_s, RunReport& run);

}  // namespace aggregate_power
