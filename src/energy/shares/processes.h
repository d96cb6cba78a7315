// Divides the energy of a GPU among the processes that used it, and what is left. Pure arithmetic:
// no files, no clock, no printing.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "aggregate_power/gpu.h"
#include "aggregate_power/sample.h"
#include "core/energy/curve.h"

namespace aggregate_power {

struct ProcessEnergy {
  double energy_j = 0;
  double idle_power_j = 0;  // the part of it that the GPU draws anyway
};

// The parts add up to the energy of the GPU in the window.
struct DividedEnergy {
  std::vector<ProcessEnergy> processes;  // by number
  double idle_j = 0;                     // no process used the GPU
  double unknown_j = 0;                  // no record says which did
};

// The energy between two records is that of the processes in the later one: its part above
// `idle_w` in proportion to their use, and that up to `idle_w` in equal parts. `records` are in
// order of time, `processes` of them are numbered.
DividedEnergy divide_energy(const PowerTrace& power, std::span<const ShareRecord> records,
                            std::size_t processes, double idle_w, Window window);

}  // namespace aggregate_power
