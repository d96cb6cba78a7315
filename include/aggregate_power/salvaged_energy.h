// The energy of a run that is not valid for nothing but samples that are missing: --salvage.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/energy_estimate.h"
#include "aggregate_power/metric.h"
#include "aggregate_power/sample.h"

namespace aggregate_power {

// Where one GPU's samples are missing.
struct SalvagedGpu {
  std::string name;
  double covered_share = 0;         // of the window: the part that is not in a gap above 3 s
  std::vector<Window> holes;        // between two samples: gaps, and around cells without a reading
  std::uint64_t missing_cells = 0;  // without a reading, inside the window
};

struct SalvagedEnergy {
  std::string refusal;  // why there is no number; empty: there is
  std::vector<SalvagedGpu> gpus;
  EnergyEstimate energy;  // by the rules of --uncertainty
  Metrics metrics;        // of its estimate
};

// A GPU whose window is covered for less is not salvaged.
inline constexpr double kLeastCoveredShare = 0.9;

}  // namespace aggregate_power
