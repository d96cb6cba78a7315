// Which stretches of a trace can be measured: energy is never extrapolated, and not interpolated
// across long gaps. Pure arithmetic: no files, no clock, no printing.
#pragma once

#include <string>
#include <vector>

#include "core/energy/curve.h"

namespace aggregate_power {

class TraceCoverage {
 public:
  // The trace must outlive this object. `max_sample_gap_s` is the longest stretch without a sample;
  // a recorder that writes only changes has no gaps.
  TraceCoverage(const PowerTrace& trace, double max_sample_gap_s);

  // Why the window cannot be measured, for people; empty: it can. Time grows with the logarithm of
  // the samples.
  std::string fault(Window window) const;

 private:
  std::string edge_fault(Window window) const;

  const PowerTrace& trace_;
  double max_sample_gap_s_;
  bool has_zeros_ = false;    // samples of 0 W
  std::vector<Window> gaps_;  // the longer ones, in order of time
};

}  // namespace aggregate_power
