// The steps of an energy counter inside a window. Pure arithmetic.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// From the first to the last step inside the window; the counter says nothing of what remains of
// it.
struct CounterSpan {
  Window between;  // stamps of the readings that first showed each step
  double energy_j = 0;
  double age_s = 0;  // at most so long before each of these stamps the step was
  bool runs_backwards = false;
};

// `counter` is in time order; it makes a step every `refresh_s` if it is asked so often. Nullopt if
// there are fewer than four steps inside.
std::optional<CounterSpan> counter_span(std::span<const CounterSample> counter, Window window,
                                        double refresh_s);

}  // namespace aggregate_power
