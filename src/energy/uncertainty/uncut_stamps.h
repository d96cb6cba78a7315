// Puts the readings of a GPU whose stamps are cut to whole seconds where its recorder asked. Pure
// arithmetic.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"
#include "energy/uncertainty/estimate.h"
#include "energy/uncertainty/gpu_energy.h"
#include "energy/uncertainty/whole_second_stamps.h"

namespace aggregate_power {

// A regular loop is fitted to all stamps, or, of a long recording, to those near the window's
// edges; the others are placed in the middle of their seconds.
class UncutStamps {
 public:
  // Of samples in time order.
  UncutStamps(std::span<const Sample> samples, Window window, std::size_t most_threads);

  // Whether it would be the same of other samples. A recorder asks all GPUs in one round, so it
  // mostly is.
  bool is_same_of(std::span<const Sample> samples) const;
  const StampUncertainty& uncertainty() const { return uncertainty_; }
  // Moves samples and counter, of samples of which it is the same.
  void place(GpuReadings& gpu) const;

 private:
  // Consecutive samples.
  struct FittedPart {
    std::size_t first = 0;
    std::vector<double> stamps = {};
    std::vector<double> instants = {};  // empty: no regular loop wrote these stamps
  };
  std::vector<FittedPart> parts_in(std::span<const Sample> samples) const;
  void place(std::vector<CounterSample>& counter) const;

  Window window_;
  std::vector<FittedPart> parts_;
  StampUncertainty uncertainty_;
};

}  // namespace aggregate_power
