// What a run used, cost and emitted at the outermost boundary that was asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/facility.h"
#include "exports/boundary_ladder.h"
#include "store/catalogue/published_runs.h"

namespace aggregate_power {

struct RunCost {
  std::string boundary;           // the last rung of the ladder
  Basis basis = Basis::measured;  // modelled if rates changed in the window, too
  FacilityFigures figures;        // of the energy there
};

// Nullopt: no rate was asked for, or the run is not valid. The PUE of `rates` is a rung already.
std::optional<RunCost> run_cost(const PublishedRun& run, const std::vector<BoundaryPower>& rungs,
                                const FacilityRates& rates);

}  // namespace aggregate_power
