// From the power that was measured at the GPUs to that of the node, the rack and the facility
// around them, by stated factors.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/catalogue/published_runs.h"

namespace aggregate_power {

// A number is one or the other, never a mixture that hides it: what is multiplied by a factor, or
// comes from a table, is modelled.
enum class Basis { measured, modelled };
std::string_view basis_name(Basis basis);

struct BoundaryFactors {
  std::optional<double> node;  // what the node draws, by what its GPUs draw
  std::optional<double> rack;  // what the rack draws, by what its nodes draw
  std::optional<double> pue;   // what the facility draws, by what its racks draw

  bool are_any() const { return node || rack || pue; }
};

// One rung: what is inside a boundary, in the run's window.
struct BoundaryPower {
  std::string boundary;  // "gpu", "node", "rack", "facility"; what was measured: the sensor's scope
  Basis basis = Basis::measured;
  double factor = 1;  // from what was measured to here
  std::optional<double> energy_j = {};
  std::optional<double> power_w = {};
  std::optional<double> joules_per_output_token = {};
};

// What was measured first; only that of a run without factors, nothing of one that is not valid. A
// factor is left out where the sensor was outside its boundary already.
std::vector<BoundaryPower> boundary_ladder(const PublishedRun& run, const BoundaryFactors& factors);

}  // namespace aggregate_power
