// Selects a number by its rank.
#include "energy/quantile.h"

#include <algorithm>
#include <cstddef>

namespace aggregate_power {

double quantile_of(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto place = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, values.begin() + place);
  return values[static_cast<std::size_t>(place)];
}

}  // namespace aggregate_power
