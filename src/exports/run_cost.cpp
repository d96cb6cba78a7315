// Prices the last rung of a ladder.
#include "exports/run_cost.h"

#include "decisions/run_facility.h"

namespace aggregate_power {

std::optional<RunCost> run_cost(const PublishedRun& run, const std::vector<BoundaryPower>& rungs,
                                const FacilityRates& rates) {
  if (!rates.is_asked() || rungs.empty()) return std::nullopt;
  const BoundaryPower& last = rungs.back();
  FacilityRates at_last = rates;
  at_last.pue.reset();
  RunCost cost{last.boundary, last.basis, facility_of_energy(run, last.energy_j, at_last)};
  if (rates.pue) {
    cost.figures.energy_j = last.energy_j;
    cost.figures.power_w = last.power_w;
  }
  // What each hour used is then assumed, not measured.
  if (!cost.figures.assumption.empty()) cost.basis = Basis::modelled;
  return cost;
}

}  // namespace aggregate_power
