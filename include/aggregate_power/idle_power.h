// The power of GPUs that have nothing to do: the baseline of a net energy.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// A power with its standard uncertainty.
struct Power {
  double watts = 0;
  double standard_uncertainty_w = 0;
};

struct IdlePower {
  std::vector<std::string> reasons;  // why there is no baseline; if set, there are no numbers
  // "given_watts", "given_window", "before_load", "after_load"; empty: none was found.
  std::string source;
  std::optional<Window> stretch;  // where it was read; nullopt: it was given in watts
  std::vector<std::pair<std::string, Power>> gpus;
  Power total;  // its uncertainty is not always the quadratic sum: GPUs may drift together

  bool is_available() const { return reasons.empty(); }
};

}  // namespace aggregate_power
