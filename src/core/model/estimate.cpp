// The interval of an estimate, and names of how energy is shared among requests.
#include <algorithm>
#include <array>
#include <cmath>

#include "aggregate_power/energy_estimate.h"
#include "aggregate_power/request.h"

namespace aggregate_power {
namespace {

double root_of_squares(const Estimate& estimate, bool accuracy) {
  double sum = 0;
  for (const Component& part : estimate.components) {
    if (accuracy || !part.is_accuracy) sum += part.joules * part.joules;
  }
  return std::sqrt(sum);
}

}  // namespace

double Estimate::standard_uncertainty_j() const { return root_of_squares(*this, true); }
double Estimate::repeatability_j() const { return root_of_squares(*this, false); }
double Estimate::low_j() const {
  return std::max(0.0, joules - kCoverageFactor * standard_uncertainty_j());
}
double Estimate::high_j() const { return joules + kCoverageFactor * standard_uncertainty_j(); }
double Estimate::repeatability_low_j() const {
  return std::max(0.0, joules - kCoverageFactor * repeatability_j());
}
double Estimate::repeatability_high_j() const {
  return joules + kCoverageFactor * repeatability_j();
}

std::string_view name(RequestShare share) {
  constexpr std::array<std::string_view, 3> kNames = {"equal", "tokens", "phase"};
  return kNames.at(static_cast<std::size_t>(share));
}

std::string_view name(PhaseModel model) {
  return model == PhaseModel::counts ? "counts" : "states";
}

std::string_view name(LatencyKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"ttft", "tpot", "e2e"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string Slo::text() const {
  std::string text;
  for (const SloLimit& limit : limits) text += (text.empty() ? "" : ",") + limit.text;
  return text;
}

bool GoodWork::holds(const SloLimit& limit, std::size_t place) const {
  constexpr double kRounding = 1e-9;
  return requests > 0 && static_cast<double>(kept.at(place)) >=
                             (limit.share - kRounding) * static_cast<double>(requests);
}

bool GoodWork::holds() const {
  for (std::size_t i = 0; i < slo.limits.size(); ++i) {
    if (!holds(slo.limits[i], i)) return false;
  }
  return true;
}

}  // namespace aggregate_power
