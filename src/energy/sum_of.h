// Sums of many terms. Pure arithmetic.
#pragma once

#include <cstddef>

namespace aggregate_power {

// term(first) + ... + term(end - 1). Several sums at once do not wait for each other.
template <typename Term>
double sum_of(std::size_t first, std::size_t end, const Term& term) {
  double sums[4] = {};
  for (; first + 4 <= end; first += 4) {
    for (std::size_t i = 0; i < 4; ++i) sums[i] += term(first + i);
  }
  for (; first < end; ++first) sums[0] += term(first);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace aggregate_power
