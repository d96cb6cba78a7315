// Prices published runs.
#include "decisions/run_facility.h"

#include "energy/facility_energy.h"

namespace aggregate_power {

FacilityFigures facility_of(const PublishedRun& run, const FacilityRates& rates) {
  const auto energy = run.number("total_gpu_energy_j");
  if (!energy) {
    return no_facility_figures(run.state == PowerState::valid ? "no_energy_published"
                                                              : "power_not_valid");
  }
  Window window;
  if (run.start_unix_s > 0 && run.duration_s > 0) {  // neither 0 nor NaN
    window = {run.start_unix_s, run.start_unix_s + run.duration_s};
  }
  return facility_figures_of_total(rates, window, energy->value);
}

TokenCounts tokens_of(const PublishedRun& run) { return {run.input_tokens, run.output_tokens}; }

}  // namespace aggregate_power
