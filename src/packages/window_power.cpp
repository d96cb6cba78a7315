// Feeds the samples of a package to the integrators.
#include "packages/window_power.h"

#include "packages/package.h"

namespace aggregate_power {

void WindowPower::begin(Window window) {
  window_ = window;
  integrators_.clear();
  if (with_fleet_) fleet_.emplace(window, kPackageMaxSampleGapS);
  if (extended_) utilization_.emplace(GpuQuantity::utilization_pct, window, kPackageMaxSampleGapS);
}

void WindowPower::take(std::span<const PackageSample> samples) {
  for (const PackageSample& sample : samples) {
    while (sample.device >= integrators_.size()) integrators_.emplace_back(window_);
    integrators_[sample.device].add(sample.unix_s, sample.watts);
  }
  if (with_fleet_) {
    for (const PackageSample& sample : samples) {
      fleet_->add(sample.device, {sample.unix_s, sample.watts});
    }
  }
  if (extended_) take_utilization(samples);
}

double WindowPower::energy_j(std::uint32_t device) {
  return device < integrators_.size() ? integrators_[device].finish().energy_j : 0;
}

FleetMeasurement WindowPower::fleet(std::span<const std::string> devices) {
  FleetMeasurement measured;
  if (!fleet_) return measured;
  measured.power = fleet_->finish();
  measured.samples_in_window = fleet_->samples_in_window();
  if (!extended_) return measured;
  measured.states[static_cast<std::size_t>(GpuQuantity::utilization_pct)] =
      utilization_->finish(devices);
  return measured;
}

void WindowPower::take_utilization(std::span<const PackageSample> samples) {
  readings_.clear();
  for (const PackageSample& sample : samples) {
    if (std::isnan(sample.gpu_util_pct)) continue;
    readings_.push_back({sample.unix_s, sample.gpu_util_pct, sample.device});
  }
  utilization_->take(readings_);
}

}  // namespace aggregate_power
