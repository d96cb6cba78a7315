// Climbs from boundary to boundary.
#include "exports/boundary_ladder.h"

#include "energy/facility_energy.h"

namespace aggregate_power {
namespace {

std::optional<double> scaled(const PublishedRun& run, std::string_view key, double factor) {
  const auto number = run.number(key);
  return number ? std::optional(number->value * factor) : std::nullopt;
}

BoundaryPower rung(const PublishedRun& run, std::string boundary, Basis basis, double factor) {
  return {std::move(boundary),
          basis,
          factor,
          scaled(run, "total_gpu_energy_j", factor),
          scaled(run, "avg_total_gpu_power_w", factor),
          scaled(run, "joules_per_output_token", factor)};
}

}  // namespace

std::string_view basis_name(Basis basis) {
  return basis == Basis::measured ? "measured" : "modelled";
}

std::vector<BoundaryPower> boundary_ladder(const PublishedRun& run,
                                           const BoundaryFactors& factors) {
  if (run.state != PowerState::valid) return {};
  const std::string at = measured_boundary(run.scope);
  std::vector<BoundaryPower> rungs = {rung(run, at, Basis::measured, 1)};
  double factor = 1;
  const auto climb = [&](const char* boundary, const std::optional<double>& by) {
    if (!by) return;
    factor *= *by;
    rungs.push_back(rung(run, boundary, Basis::modelled, factor));
  };
  const bool is_node = at == "node" || at == "wall";
  if (!is_node) climb("node", factors.node);
  climb("rack", factors.rack);
  climb("facility", factors.pue);
  return rungs;
}

}  // namespace aggregate_power
