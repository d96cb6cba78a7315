// What the energy of a published run is, costs and emits at the facility.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/facility.h"
#include "store/catalogue/published_runs.h"

namespace aggregate_power {

// Of `total_gpu_energy_j`, in the window that the record states. Only that total is known: where a
// rate changes in the window, the power is taken as constant. Nothing is written anywhere.
FacilityFigures facility_of(const PublishedRun& run, const FacilityRates& rates);
// The same for another energy of the run, such as that of its nodes.
FacilityFigures facility_of_energy(const PublishedRun& run, std::optional<double> energy_j,
                                   const FacilityRates& rates);

TokenCounts tokens_of(const PublishedRun& run);

// "facility_energy_j", "cost", "carbon_gco2e", each also "..._per_million_output_tokens" and
// "..._per_million_tokens", as far as the rates ask for them. Nullopt: not known.
using FacilityNumber = std::pair<std::string, std::optional<double>>;
std::vector<FacilityNumber> facility_numbers(const PublishedRun& run,
                                             const FacilityFigures& figures,
                                             const FacilityRates& rates);
// Whether it is one of those names.
bool is_facility_key(std::string_view key);

// Of a number that is `factor` times another one.
Boxed<Spread> scaled_spread(const Boxed<Spread>& spread, double factor);

// Adds the known ones to the numbers of the runs, with the relative spread of their energy. What is
// not known of valid runs, and what was assumed, is said in `warnings`.
void add_facility_numbers(const FacilityRates& rates, std::vector<PublishedRun>& runs,
                          std::vector<std::string>& warnings);

}  // namespace aggregate_power
