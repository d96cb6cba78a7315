// Feeds the samples of a package to the integrators.
#include "packages/srt_slurm/window_power.h"

#include <utility>

#include "packages/srt_slurm/package.h"

namespace aggregate_power {

void WindowPower::begin(Window window) {
  window_ = window;
  integrators_.clear();
  outside_.clear();
  if (with_fleet_) fleet_.emplace();
  if (!extended_) return;
  utilization_.emplace(GpuQuantity::utilization_pct, window, kPackageMaxSampleGapS);
  temperature_.emplace(GpuQuantity::temperature_c, window, kPackageMaxSampleGapS);
}

void WindowPower::take(std::span<const PackageSample> samples) {
  for (const PackageSample& sample : samples) {
    while (sample.device >= integrators_.size()) integrators_.emplace_back(window_);
    integrators_[sample.device].add(sample.unix_s, sample.watts);
  }
  if (with_fleet_) {
    for (const PackageSample& sample : samples) add_to_fleet(sample);
  }
  if (extended_) take_states(samples);
}

DeviceEnergy WindowPower::energy(std::uint32_t device) {
  return device < integrators_.size() ? integrators_[device].finish() : DeviceEnergy();
}

FleetMeasurement WindowPower::fleet(std::span<const std::string> devices) {
  FleetMeasurement measured;
  if (!fleet_) return measured;
  FleetCurve curve = fleet_curve(std::move(*fleet_), window_);
  measured.power = std::move(curve.power);
  measured.samples_in_window = curve.samples_in_window;
  if (!extended_) return measured;
  const auto state = [&](GpuQuantity quantity) -> auto& {
    return measured.states[static_cast<std::size_t>(quantity)];
  };
  state(GpuQuantity::utilization_pct) = utilization_->finish(devices);
  state(GpuQuantity::temperature_c) = temperature_->finish(devices);
  return measured;
}

void WindowPower::add_to_fleet(const PackageSample& sample) {
  // The window's edges may be in a gap of any length: a gap rule decides, not this.
  if (sample.device >= outside_.size()) {
    outside_.resize(sample.device + 1);
    fleet_->resize(sample.device + 1);
  }
  Outside& outside = outside_[sample.device];
  std::vector<Sample>& samples = (*fleet_)[sample.device];
  if (sample.unix_s < window_.start_unix_s) {
    if (!outside.before.empty() && outside.before.back().unix_s != sample.unix_s) {
      outside.before.clear();
    }
    outside.before.push_back({sample.unix_s, sample.watts});
    return;
  }
  samples.insert(samples.end(), outside.before.begin(), outside.before.end());
  outside.before.clear();
  if (sample.unix_s > window_.end_unix_s) {
    if (!outside.after_unix_s) outside.after_unix_s = sample.unix_s;
    if (sample.unix_s != *outside.after_unix_s) return;
  }
  samples.push_back({sample.unix_s, sample.watts});
}

void WindowPower::take_states(std::span<const PackageSample> samples) {
  const auto take = [&](double PackageSample::*quantity, StateMean& mean) {
    readings_.clear();
    for (const PackageSample& sample : samples) {
      if (std::isnan(sample.*quantity)) continue;
      readings_.push_back({sample.unix_s, sample.*quantity, sample.device});
    }
    mean.take(readings_);
    mean.integrate();
  };
  take(&PackageSample::gpu_util_pct, *utilization_);
  take(&PackageSample::temperature_c, *temperature_);
}

}  // namespace aggregate_power
