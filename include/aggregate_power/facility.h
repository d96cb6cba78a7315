// What an energy is at the meter of the facility, what it cost, and what it emitted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power {

inline constexpr double kJoulesInKwh = 3.6e6;
inline constexpr double kJoulesInWattHour = 3600;
inline constexpr double kSecondsInHour = 3600;

// As the command line says it.
struct FacilityOptions {
  std::optional<double> pue = {};
  std::string carbon = {};    // grams of CO2e per kWh, or a path; empty: not asked for
  std::string price = {};     // the same per kWh
  std::string currency = {};  // of the price; empty: not named

  bool is_asked() const { return pue || !carbon.empty() || !price.empty(); }
};

// A price, or an intensity of carbon, per kWh: one number, or one for each step of time.
struct EnergyRate {
  std::string source = {};  // the file; empty: it was given as a number
  std::string zone = {};    // of the grid, as the file names it; empty: it does not
  // Of consecutive steps; the first one begins at `first_unix_s`. Without a file, the only
  // number holds at all times.
  std::vector<double> per_kwh = {};
  double first_unix_s = 0;
  double step_s = kSecondsInHour;  // an hour, or what divides it

  bool is_hourly() const { return !source.empty(); }
  double end_unix_s() const { return first_unix_s + step_s * static_cast<double>(per_kwh.size()); }
};

struct FacilityRates {
  std::optional<double> pue = {};  // nullopt: the numbers are of what was measured alone
  std::optional<EnergyRate> carbon = {};
  std::optional<EnergyRate> price = {};
  std::string currency = {};

  bool is_asked() const { return pue || carbon || price; }
};

// A stretch of a window in which no rate changes.
struct RatedStretch {
  Window window;
  double measured_j = 0;
  std::optional<double> carbon_per_kwh = {};
  std::optional<double> price_per_kwh = {};
};

struct FacilityFigures {
  double measured_j = 0;
  std::optional<double> power_w = {};   // of the facility; nullopt, as the energy, without a PUE
  std::optional<double> energy_j = {};  // of the facility
  std::optional<double> cost = {};
  std::optional<double> carbon_g = {};
  std::vector<std::string> reasons = {};     // why a number that was asked for is missing
  std::string assumption = {};               // empty: none was needed
  std::vector<RatedStretch> stretches = {};  // in order of time; empty if the window is unknown
};

// The tokens of a load; 0: unknown.
struct TokenCounts {
  std::int64_t input = 0;
  std::int64_t output = 0;
  bool are_approximate = false;

  // 0 unless both are known.
  std::int64_t total() const { return input > 0 && output > 0 ? input + output : 0; }
};

// The figures of one run.
struct FacilityReport {
  FacilityRates rates;
  std::string measured = "gpu";  // measured_boundary()
  FacilityFigures figures = {};
};

// What is measured, for a sensor's scope: "gpu", "module", "node".
std::string measured_boundary(std::string_view sensor_scope);
// What cost, carbon and the other figures are of: "facility", or what was measured without a PUE.
std::string boundary_of_figures(const FacilityRates& rates, const std::string& measured);

}  // namespace aggregate_power
