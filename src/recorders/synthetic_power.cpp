// Computes power from phases.
#include "recorders/synthetic_power.h"

#include <algorithm>
#include <cmath>

namespace aggregate_power {
namespace {

double phase_watts(const SyntheticOptions& options, double elapsed_s) {
  const Window window = benchmark_window(options);
  const double unix_s = options.start_unix_s + elapsed_s;
  if (unix_s >= window.start_unix_s && unix_s <= window.end_unix_s) {
    return options.phases[options.benchmark_phase].watts;
  }
  double end_s = 0;
  for (const Phase& phase : options.phases) {
    end_s += phase.duration_s;
    if (elapsed_s < end_s) return phase.watts;
  }
  return options.phases.back().watts;
}

}  // namespace

std::int64_t last_tick(const SyntheticOptions& options) {
  double total_s = 0;
  for (const Phase& phase : options.phases) total_s += phase.duration_s;
  return static_cast<std::int64_t>(std::floor(total_s / options.interval_s + 1e-9));
}

double synthetic_watts(const SyntheticOptions& options, int gpu, double elapsed_s,
                       SyntheticRandom& random) {
  return std::max(0.0, phase_watts(options, elapsed_s) + options.gpu_offset_w * gpu +
                           options.noise_w * random.symmetric());
}

}  // namespace aggregate_power
