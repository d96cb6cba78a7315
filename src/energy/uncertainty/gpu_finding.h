// What is to be said of one GPU alone: its energy, and what its readings show of sensor and load.
// Pure arithmetic.
#pragma once

#include <optional>
#include <string>

#include "energy/uncertainty/uncertainty.h"

namespace aggregate_power {

struct GpuFinding {
  GpuEnergy energy;
  double stale_share = 0;
  std::optional<double> refresh_observed_s;
  bool is_under_sampled = false;
  bool is_power_capped = false;
  std::optional<std::string> throttling;
};

GpuFinding gpu_finding(const GpuEnergyQuestion& question);

}  // namespace aggregate_power
