// Quantiles of a few numbers. Pure arithmetic.
#pragma once

#include <vector>

namespace aggregate_power {

// The number below which `share` of all others are, in any order; 0 if there are none.
double quantile_of(std::vector<double> values, double share);

}  // namespace aggregate_power
