// Sums of many terms. Pure arithmetic.
#pragma once

#include <cstddef>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace aggregate_power {

// Two numbers on which the processor calculates at once. GCC does not find such pairs by itself: it
// takes the terms of several rounds apart and puts them together again.
using Pair = double __attribute__((vector_size(2 * sizeof(double))));

// The larger ones of both, or the second ones where one is NaN.
inline Pair larger_of(Pair one, Pair other) {
#if defined(__SSE2__)
  return _mm_max_pd(one, other);
#else
  return one > other ? one : other;
#endif
}

// term(first) + ... + term(end - 1). Several sums at once do not wait for each other.
template <typename Term>
double sum_of(std::size_t first, std::size_t end, const Term& term) {
  Pair even = {};
  Pair odd = {};
  for (; first + 4 <= end; first += 4) {
    even += Pair{term(first), term(first + 1)};
    odd += Pair{term(first + 2), term(first + 3)};
  }
  for (; first < end; ++first) even[0] += term(first);
  return (even[0] + even[1]) + (odd[0] + odd[1]);
}

}  // namespace aggregate_power
