// Reads what a kWh costs or emits: a number, or a file with one for each hour.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/facility.h"

namespace aggregate_power {

enum class RateKind { carbon, price };  // grams of CO2e, money

// `text` is a number or a path. A file, which may be compressed, is one of these:
//   time,value                  a CSV with these columns, in any order and among others
//   {"history": [{"datetime": ..., "carbonIntensity": ...}, ...]}   JSON of Electricity Maps, also
//                               with "data"; of carbon only; an hour whose intensity is null is
//                               missing
// A time is that of the hour's beginning, with an offset or Z, or Unix seconds. The hours may be in
// any order; each must follow another by an hour. Throws FileError if the file cannot be opened,
// and Error for what is none of these, and for a carbon below 0.
EnergyRate read_energy_rate(const std::string& text, RateKind kind);

// The same for a file's text. `name` is for messages.
EnergyRate energy_rate_in(std::string_view text, const std::string& name, RateKind kind);

// Throws as read_energy_rate().
FacilityRates read_facility_rates(const FacilityOptions& options);

// What is hardly plausible about them, for people: most likely a wrong unit.
std::vector<std::string> facility_doubts(const FacilityRates& rates);

// "2024-11-30T06:00:00Z to 2024-12-01T06:00:00Z": the hours of a rate, for people.
std::string hours_text(const EnergyRate& rate);

}  // namespace aggregate_power
