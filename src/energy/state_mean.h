// How warm or busy the GPUs were over a window. Pure arithmetic: no files, no clock, no printing.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/sample.h"
#include "energy/analysis.h"
#include "energy/integrate.h"

namespace aggregate_power {

// One quantity, linear from sample to sample like power. Readings carry its value in place of the
// watts.
class StateMean final : public Analysis {
 public:
  // Readings up to `max_sample_gap_s` before and after the window count.
  StateMean(GpuQuantity quantity, Window window, double max_sample_gap_s)
      : quantity_(quantity),
        window_(window),
        integrator_({window, std::nullopt, max_sample_gap_s, Contract::october, false}) {}

  // As in PowerIntegrator.
  Wants wants() const override;
  std::span<const Reading> select(const Batch& batch) override;
  void take(std::span<const Reading> readings) override;
  bool out_of_order() const override { return integrator_.out_of_order(); }
  void start_over() override { integrator_.start_over(); }

  // Returns nullopt unless each GPU that has the quantity has it throughout the window. `devices`
  // are the names by Reading::device.
  std::optional<StateSummary> finish(std::span<const std::string> devices);

 private:
  GpuQuantity quantity_;
  Window window_;
  PowerIntegrator integrator_;
  std::vector<Reading> selected_;
  double peak_ = -std::numeric_limits<double>::infinity();
};

// The members of `readings` that are samples of power over `window` and have the quantity, with its
// value in place of the watts. `states` go with `readings`.
std::vector<Reading> readings_of(GpuQuantity quantity, std::span<const Reading> readings,
                                 const RowStates& states, Window window);

}  // namespace aggregate_power
