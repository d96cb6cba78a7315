// Power on straight lines between samples. Pure arithmetic.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// Of at least one sample: in time order, they share no stamp and are `older_s` older than their
// stamps; level beyond both ends. It refers to the samples.
class PowerLine {
 public:
  static constexpr std::size_t kBlock = 64;  // stretches between samples

  // With `blocks_j`, the energies of every kBlock stretches, long integrals are found quickly.
  explicit PowerLine(std::span<const Sample> samples, double older_s = 0,
                     std::span<const double> blocks_j = {})
      : samples_(samples), blocks_j_(blocks_j), older_s_(older_s) {}

  // The first sample from an instant on, or after it; the number of samples if there is none.
  std::size_t first_from(double unix_s) const;
  std::size_t first_after(double unix_s) const;

  double watts_at(double at_unix_s) const;
  double energy_j(Window window) const;
  // By how much that changes if the window is `later_s` later.
  double later_energy_change_j(Window window, double later_s) const;

  // The samples that bear on a stretch, in their places.
  std::vector<Sample> samples_near(Window stretch) const;

 private:
  double unix_s(std::size_t i) const { return samples_[i].unix_s - older_s_; }
  Sample sample(std::size_t i) const { return {unix_s(i), samples_[i].watts}; }
  double inside_j(std::size_t first, std::size_t last) const;

  std::span<const Sample> samples_;
  std::span<const double> blocks_j_;
  double older_s_;
};

// The energies of every PowerLine::kBlock stretches between samples.
std::vector<double> line_blocks_j(std::span<const Sample> samples);

bool share_stamps(std::span<const Sample> samples);
// Samples with one stamp count once, as their mean.
std::vector<Sample> merged(std::span<const Sample> samples);

}  // namespace aggregate_power
