// How warm or busy the GPUs were over a window. Pure arithmetic: no files, no clock, no printing.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/sample.h"
#include "core/energy/integrate.h"
#include "core/telemetry/samples.h"

namespace aggregate_power {

// One quantity, linear from sample to sample like power. Readings carry its value in place of the
// watts.
class StateMean {
 public:
  // Readings up to `max_sample_gap_s` before and after the window count.
  StateMean(GpuQuantity quantity, Window window, double max_sample_gap_s)
      : quantity_(quantity),
        options_{window, std::nullopt, max_sample_gap_s, Contract::october, false},
        rows_(options_),
        integrator_(options_),
        samples_({window.start_unix_s - max_sample_gap_s, window.end_unix_s + max_sample_gap_s}) {}

  // The next rows of the recording, with their states.
  void take(const Batch& batch);
  // The next readings that carry the value.
  void take(std::span<const Reading> readings);
  std::size_t size() const { return samples_.size(); }  // that were not integrated yet
  // Integrates those that were taken. is_out_of_order() and start_over() are PowerIntegrator's.
  void integrate();
  bool is_out_of_order() const { return integrator_.is_out_of_order(); }
  void start_over() { integrator_.start_over(); }

  // Returns nullopt unless each GPU that has the quantity has it throughout the window. `devices`
  // are the names by Reading::device.
  std::optional<StateSummary> finish(std::span<const std::string> devices);

 private:
  GpuQuantity quantity_;
  IntegrationOptions options_;
  WindowRows rows_;
  PowerIntegrator integrator_;
  Samples samples_;
  double peak_ = -std::numeric_limits<double>::infinity();
};

// The members of `readings` that are samples of power over `window` and have the quantity, with its
// value in place of the watts. `states` go with `readings`.
std::vector<Reading> readings_of(GpuQuantity quantity, std::span<const Reading> readings,
                                 const RowStates& states, Window window);

}  // namespace aggregate_power
