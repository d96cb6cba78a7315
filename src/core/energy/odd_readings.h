// Readings of one GPU that no sensor can be right about, and that count in the energy of windows.
// Pure arithmetic.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "aggregate_power/gpu.h"
#include "aggregate_power/sample.h"

namespace aggregate_power {

// Above what usual boards draw, and up to three zeros in a row between readings above 15 W.
class OddReadings {
 public:
  // `samples` in time order.
  explicit OddReadings(std::span<const Sample> samples);

  // The energy of `window` is published. Windows may overlap; time grows with the logarithm of the
  // odd readings, and with those that were not met before.
  void count_in(Window window);
  // Those that were met: the members that odd_samples_text() reads.
  DeviceEnergy found() const;

 private:
  struct Odd {
    Sample sample;
    Window reach;      // where the power depends on it
    std::size_t next;  // itself, or, once it was met, one that is not before the next unmet one
  };
  std::size_t next_unmet(std::size_t i);

  std::vector<Odd> odd_;
};

}  // namespace aggregate_power
