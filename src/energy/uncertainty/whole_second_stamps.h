// When a recorder's regular loop asked, from stamps that are cut to whole seconds. Pure arithmetic.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace aggregate_power {

struct RegularLoop {
  std::vector<double> unix_s;     // of each stamp
  double uncertainty_s = 0;       // standard, shared by all
  double span_uncertainty_s = 0;  // standard, of the time from the first to the last
};

// `stamps` are in time order, one for each round of the loop. Rounds take 0.985 to 1.05 s; one may
// be late, but none is early. Nullopt: no such loop wrote these stamps.
std::optional<RegularLoop> regular_loop(std::span<const double> stamps);

}  // namespace aggregate_power
