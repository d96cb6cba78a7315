// Energies of GPUs and CPUs together, and tokens per second and watt. Contract-october.md 9.7.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/result.h"
#include "base/report/json_parts.h"
#include "base/text/json_patch.h"

namespace aggregate_power::results {

// Whose energy, and what it is of.
struct EnergyLeg {
  double joules = 0;
  std::string boundary;  // in the recorder's words where it has some
};

// Of a valid run; nullopt: there is none, or it was not valid.
std::optional<EnergyLeg> gpu_leg(const Result& result);
// The sockets, or the rails of their CPUs. The watts of a superchip's module are no leg: they hold
// its GPUs too.
std::optional<EnergyLeg> cpu_leg(const Result& result);

// `performance_per_watt`: energies with their boundaries, and tokens per second and watt of the
// GPUs, and of GPUs and CPUs. Null without the energy of the GPUs.
Json efficiency_json(const Result& result);
// Rows of a table: of the GPUs, which used `gpu_energy_j`, and of GPUs and CPUs.
std::vector<std::string> efficiency_texts(const Result& result, double gpu_energy_j);
// The keys of --extended.
std::vector<JsonEdit> efficiency_edits(const Result& result);
std::vector<std::string_view> efficiency_keys();

// `energy_reports`: what the recorder's own reports say, and by how much we differ.
Json energy_reports_json(const std::vector<ReportedEnergy>& reports);

}  // namespace aggregate_power::results
