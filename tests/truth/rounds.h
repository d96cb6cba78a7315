// How many runs of each class a test of figures takes.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define AGGREGATE_POWER_IS_SANITIZED
#endif
#endif

namespace truth {

#ifdef AGGREGATE_POWER_IS_SANITIZED
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

// Sanitizers are slow: one run of each class shows that nothing is undefined, and gives no figures.
constexpr std::size_t runs_of_each(std::size_t runs) { return kIsSanitized ? 1 : runs; }

}  // namespace truth
