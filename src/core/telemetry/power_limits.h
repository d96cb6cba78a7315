// The table of GPUs' power limits: what a maker states that a board may draw (TDP, TBP).
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace aggregate_power {

struct PowerLimit {
  std::string_view gpu;  // "H100 SXM"
  double watts = 0;
  std::string_view source;  // who states it, for people
};

// The limit of a GPU by any name that contains its model: "h200-nb", "NVIDIA H100 80GB HBM3". A
// name without a form factor means the one with the higher limit. Nullopt: none is known.
std::optional<PowerLimit> power_limit_of(std::string_view name);

std::span<const PowerLimit> power_limits();  // in the order of the help page

}  // namespace aggregate_power
