// How warm or busy the GPUs were over a window. Pure arithmetic: no files, no clock, no printing.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/sample.h"
#include "energy/integrate.h"

namespace aggregate_power {

// One quantity, which runs straight from sample to sample as power does. Readings carry its value
// in the place of the watts.
class StateMean {
 public:
  // Readings up to `max_sample_gap_s` before and behind the window count.
  StateMean(Window window, double max_sample_gap_s)
      : window_(window), integrator_({window, std::nullopt, max_sample_gap_s, false}) {}

  void take(std::span<const Reading> readings);
  // As PowerIntegrator.
  bool out_of_order() const { return integrator_.out_of_order(); }
  void start_over();
  Window band() const { return integrator_.band(); }

  // Nothing unless each GPU that has the quantity has it all over the window. `devices` are the
  // names by Reading::device.
  std::optional<StateSummary> finish(std::span<const std::string> devices);

 private:
  Window window_;
  PowerIntegrator integrator_;
  double peak_ = -std::numeric_limits<double>::infinity();
};

// Those of `readings` that are samples of power over `window` and have the quantity, with its value
// in the place of the watts. `states` go with `readings`.
std::vector<Reading> readings_of(GpuQuantity quantity, std::span<const Reading> readings,
                                 std::span<const GpuState> states, Window window);

}  // namespace aggregate_power
