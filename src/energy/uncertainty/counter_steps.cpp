// Finds the first and the last step.
#include "energy/uncertainty/counter_steps.h"

#include <algorithm>
#include <cstddef>

namespace aggregate_power {

std::optional<CounterSpan> counter_span(std::span<const CounterSample> counter, Window window,
                                        double refresh_s) {
  constexpr int kFewestSteps = 4;
  CounterSpan span;
  int steps = 0;
  double first_j = 0;
  for (std::size_t i = 1; i < counter.size(); ++i) {
    const CounterSample& sample = counter[i];
    if (!window.contains(sample.unix_s)) continue;
    const CounterSample& before = counter[i - 1];
    if (sample.joules < before.joules) span.runs_backwards = true;
    if (sample.joules == before.joules) continue;
    if (steps == 0) {
      first_j = sample.joules;
      span.between.start_unix_s = sample.unix_s;
    }
    ++steps;
    span.age_s = std::max(span.age_s, std::min(refresh_s, sample.unix_s - before.unix_s));
    span.between.end_unix_s = sample.unix_s;
    span.energy_j = sample.joules - first_j;
  }
  if (span.runs_backwards) return span;
  if (steps < kFewestSteps) return std::nullopt;
  return span;
}

}  // namespace aggregate_power
