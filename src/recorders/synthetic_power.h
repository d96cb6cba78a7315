// The power that synthetic telemetry reports, whatever its form.
#pragma once

#include <cstdint>

#include "recorders/synthetic.h"

namespace aggregate_power {

// SplitMix64: a few lines that give the same numbers everywhere; the standard library's
// distributions do not.
class SyntheticRandom {
 public:
  explicit SyntheticRandom(std::uint64_t seed) : state_(seed) {}
  // Uniform from -1 to 1.
  double symmetric() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t bits = state_;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9U;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBU;
    bits ^= bits >> 31;
    return static_cast<double>(bits >> 11) / static_cast<double>(std::uint64_t{1} << 52) - 1;
  }

 private:
  std::uint64_t state_;
};

// The number of the last tick, counted from 0: ticks are an interval apart, and the last one is at
// or before the end of the last phase.
std::int64_t last_tick(const SyntheticOptions& options);

// Watts of a GPU, with noise, `elapsed_s` after the start. `gpu` counts over all nodes.
double synthetic_watts(const SyntheticOptions& options, int gpu, double elapsed_s,
                       SyntheticRandom& random);

}  // namespace aggregate_power
