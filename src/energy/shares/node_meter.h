// The energy of a node's sensor in a window. Pure arithmetic: no files, no clock, no printing.
#pragma once

#include <string>
#include <vector>

#include "aggregate_power/record_facts.h"
#include "core/energy/curve.h"

namespace aggregate_power {

// In order of time; of those with one stamp the last.
std::vector<NodeWitness::Reading> ordered_readings(std::vector<NodeWitness::Reading> readings);

// A meter of a node or its GPUs that shows 0 W has failed for a moment. Returns the times of
// the readings of power that were left out.
std::vector<double> leave_zeros_out(NodeWitness& meter);

class WitnessMeter {
 public:
  // The witness must outlive this object.
  explicit WitnessMeter(const NodeWitness& witness);
  WitnessMeter(const WitnessMeter&) = delete;
  WitnessMeter& operator=(const WitnessMeter&) = delete;

  // A counter's energy is a difference, that of readings of power an integral, both interpolated at
  // the edges. A total is known only for its own span, give or take the second of its stamps.
  WitnessEnergy measure(Window window) const;

 private:
  // Where a counter's energy is not known.
  struct Unknown {
    Window between;
    std::string why;
  };

  PowerTrace trace_of_counter();
  PowerTrace trace_of_power() const;
  std::string gap_fault(Window window) const;

  const NodeWitness& witness_;
  std::vector<Unknown> unknown_;  // in order of time
  PowerTrace trace_;
  TraceCoverage coverage_;
  std::vector<Window> gaps_;  // longer ones, in order of time
};

}  // namespace aggregate_power
