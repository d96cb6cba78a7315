// Sums curves, states and energies over nodes.
#include "runs/deployment/nodes.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/energy/fleet_power.h"
#include "core/energy/metrics.h"

namespace aggregate_power {
namespace {

// Returns nullopt unless every node has the quantity.
std::optional<StateSummary> state_of_all(std::span<const NodeFleet> nodes, std::size_t quantity) {
  StateSummary all;
  all.peak = -std::numeric_limits<double>::infinity();
  for (const NodeFleet& node : nodes) {
    const auto& state = node.fleet.states[quantity];
    if (!state) return std::nullopt;
    all.mean += state->mean * static_cast<double>(state->gpus);
    all.peak = std::max(all.peak, state->peak);
    all.gpus += state->gpus;
  }
  all.mean /= static_cast<double>(all.gpus);
  return all;
}

}  // namespace

FleetMeasurement fleet_of_all(std::span<const NodeFleet> nodes, Window window, bool with_curve) {
  FleetMeasurement whole;
  std::vector<FleetPower> curves;
  for (const NodeFleet& node : nodes) {
    whole.samples_in_window += node.fleet.samples_in_window;
    if (!with_curve || !node.fleet.power) continue;
    curves.push_back(*node.fleet.power);
  }
  if (!with_curve || curves.size() != nodes.size()) return whole;
  whole.power = sum_of(std::move(curves), window);
  for (std::size_t i = 0; i < whole.states.size(); ++i) whole.states[i] = state_of_all(nodes, i);
  return whole;
}

void add_node_metrics(std::span<const NodeGpu> gpus, Contract contract, Result& result) {
  MeasuredEnergy sum{.gpus = gpus.size(), .load = *result.load, .contract = contract};
  if (result.fleet) sum.fleet = *result.fleet;
  for (const NodeGpu& gpu : gpus) {
    sum.energy_j += gpu.energy_j;
    if (gpu.role == Role::agg) continue;
    RoleEnergy& role = gpu.role == Role::prefill ? sum.prefill : sum.decode;
    ++role.gpus;
    role.energy_j += gpu.energy_j;
  }
  result.metric_gpus = gpus.size();
  result.metrics = energy_metrics(sum);
  for (const std::string_view key : not_finite(result.metrics)) {
    result.reasons.add(Reason::non_finite_power_metric, std::string(key));
  }
  result.reasons.add(zero_metrics(result.metrics));
}

}  // namespace aggregate_power
