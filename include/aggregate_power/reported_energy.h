// The energy in a recorder's own report: a witness, which no number depends on.
#pragma once

#include <optional>
#include <string>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// One leg of power_energy_*.json. Contract-october.md 9.7.
struct ReportedEnergy {
  std::string file;
  std::string leg;  // "gpu", "cpu"
  Window window;    // the report's own, which may not be the run's
  double reported_j = 0;
  std::optional<double> measured_j = {};  // by us, over that window; nullopt: `fault`
  double tolerance_j = 0;  // half an interval at each edge, which it does not interpolate
  std::string fault = {};
};

}  // namespace aggregate_power
