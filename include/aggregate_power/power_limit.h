// The power limits of a run's GPUs.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace aggregate_power {

// One GPU's, as far as it was in force in a window. Contract-october.md 9.8.
struct GpuLimit {
  std::string gpu;
  std::string source;  // "recording", or the launcher's file
  // In W, each once, in the order of time; several: it was changed in the window. A recording that
  // changes it all the time states the first few.
  std::vector<double> limits_w;
  // Of the readings in the window, those at the limit; nullopt: they were not compared.
  std::optional<double> share_at_limit = {};
  // What the launcher found before it set the limit, and after it had set the old one again.
  std::optional<double> before_w = {};
  std::optional<double> restored_w = {};
};

// A reading above this share of its limit is at the limit.
inline constexpr double kAtLimitShare = 0.94;

}  // namespace aggregate_power
