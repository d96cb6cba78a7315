// What energy is, costs and emits at the facility, for people and for programs.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/facility.h"
#include "base/report/json_parts.h"
#include "runs/measure/measure_report.h"
#include "runs/measure/seen_power.h"

namespace aggregate_power {

// What was asked for, and of what: `measured_boundary`, `boundary`, `pue`, `currency`, and of each
// rate where it is from.
Json facility_terms_json(const FacilityRates& rates, const std::string& measured);

// `facility_power_w`, `facility_energy_j`, `cost`, `carbon_gco2e`, `assumption` and `reasons`.
Json facility_figures_json(const FacilityFigures& figures);

// All of that, with the mean of each rate, figures per million tokens, and what each hour used.
Json facility_json(const FacilityRates& rates, const std::string& measured,
                   const FacilityFigures& figures, TokenCounts tokens);

// `facility_energy_j`, `cost` and `carbon_gco2e` of a row, null if they are not known, and perhaps
// `facility_reason`: several have blanks between them.
void add_facility_members(const std::optional<FacilityFigures>& figures, bool with_reasons,
                          Json::object_t& row);

// Rows of a table, name and text: "facility", "cost", "carbon", as far as they were asked for.
std::vector<std::pair<std::string, std::string>> facility_rows(const FacilityRates& rates,
                                                               const std::string& measured,
                                                               const FacilityFigures& figures,
                                                               TokenCounts tokens);

// A sentence that says what the columns of a table of windows are.
std::string facility_note(const FacilityRates& rates, const std::string& measured);

// Why a number is missing, with what the rates cover, a sentence for each reason.
std::vector<std::string> facility_faults(const FacilityRates& rates,
                                         const FacilityFigures& figures);

// ---- What the energy of a run is, costs and emits at the facility.

// Adds it to a run that was measured. `power` is of each of its recordings, watched if a rate
// changes in its window. A run that is not valid gets the reason and no number.
void add_facility(const FacilityRates& rates, const std::list<SeenPower>& power, RunReport& run);

}  // namespace aggregate_power
