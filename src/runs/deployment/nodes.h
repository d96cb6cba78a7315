// Adds up what the GPUs of several nodes drew, together and by role.
#pragma once

#include <span>

#include "aggregate_power/gpu.h"
#include "aggregate_power/result.h"
#include "aggregate_power/sample.h"

namespace aggregate_power {

struct NodeFleet {
  const FleetMeasurement& fleet;
};

// All nodes together, on one clock. The curve is for a valid run, in which every node has one.
FleetMeasurement fleet_of_all(std::span<const NodeFleet> nodes, Window window, bool with_curve);

struct NodeGpu {
  Role role;
  double energy_j;
};

// Sets the metrics of a valid run, by its load and fleet and by the energies of its GPUs, which are
// added in this order. `contract` gives the order of the metrics. One that is too large for a
// number is a reason.
void add_node_metrics(std::span<const NodeGpu> gpus, Contract contract, Result& result);

}  // namespace aggregate_power
