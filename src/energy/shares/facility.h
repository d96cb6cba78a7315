// Takes an energy to the meter of the facility, and prices it hour by hour. Pure arithmetic: no
// files, no clock, no printing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/facility.h"

namespace aggregate_power {

// The window, cut at each hour at which a rate changes. Rates that do not cover the window do not
// cut it, and are left out of the stretches. The energies are 0.
std::vector<RatedStretch> rated_stretches(const FacilityRates& rates, Window window);

// The energy that was measured in a part of the window, in joules; nullopt: it is unknown.
using EnergyInPart = std::function<std::optional<double>(Window)>;

// `measured_j` is that of the window; `energy_in` is asked for parts of it only if a rate changes
// in the window. PUE multiplies power, energy, cost and carbon alike. A rate that does not cover
// the window gives no number, but "carbon_series_too_short" or "price_series_too_short"; parts
// whose energy is unknown give "hourly_energy_unknown".
FacilityFigures facility_figures(const FacilityRates& rates, Window window, double measured_j,
                                 const EnergyInPart& energy_in);

// For an energy of which only the window's total is known: its power is taken as constant in the
// window, and the figures say so if that matters. A window without a length is unknown: only rates
// without hours then give numbers.
FacilityFigures facility_figures_of_total(const FacilityRates& rates, Window window,
                                          double measured_j);

// Of a run whose energy is not known.
FacilityFigures no_facility_figures(const std::string& reason);

// A part of figures that is `share` of their energy, taken to be drawn when the rest was.
FacilityFigures share_of(const FacilityFigures& figures, double share);

// The mean of the prices or the intensities, weighted with energy; nullopt: unknown.
std::optional<double> mean_carbon_per_kwh(const FacilityFigures& figures);
std::optional<double> mean_price_per_kwh(const FacilityFigures& figures);

// Nullopt if there are no tokens.
std::optional<double> per_million(std::optional<double> value, std::int64_t tokens);

}  // namespace aggregate_power
