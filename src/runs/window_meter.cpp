// Chooses between a GPU's counter and its power, window by window.
#include "runs/window_meter.h"

#include <utility>

#include <fmt/format.h>

#include "energy/plausibility.h"

namespace aggregate_power {

WindowMeter::WindowMeter(std::string gpu, const PowerTrace* power,
                         std::optional<CounterTrace> counter, double max_sample_gap_s)
    : gpu_(std::move(gpu)),
      power_(power),
      counter_(std::move(counter)),
      max_sample_gap_s_(max_sample_gap_s) {
  if (power_ != nullptr) coverage_.emplace(*power_, max_sample_gap_s);
}

GpuWindow WindowMeter::by_power(Window window, const std::vector<Window>& own) const {
  GpuWindow gpu;
  gpu.fault = coverage_ ? coverage_->fault(window) : "it has no reading of power";
  if (!gpu.fault.empty()) return gpu;
  gpu.energy_j = power_->energy_j(window);
  gpu.peak_power_w = power_->peak_w(window);
  for (const Window& stretch : own) gpu.own_energy_j += power_->energy_j(stretch);
  const double mean_w = gpu.energy_j / window.duration_s();
  if (!is_impossible(mean_w)) return gpu;
  GpuWindow refused;
  refused.fault =
      fmt::format("a mean of {:.1f} W; see --power-unit if that is another unit", mean_w);
  return refused;
}

// Why the window is not measured by the counter.
std::string WindowMeter::counter_fault(Window window) const {
  std::string fault = counter_->fault(window, max_sample_gap_s_);
  if (!fault.empty()) return fault;
  const double energy_j = counter_->energy_j(window);
  const double mean_w = energy_j / window.duration_s();
  if (is_impossible(mean_w)) return fmt::format("its energy counter says {:.1f} W", mean_w);
  // Readings of power that are too far apart to be measured by are good enough for this.
  if (power_ == nullptr || !power_->covers(window)) return {};
  return why_unbelievable(energy_j, power_->energy_j(window), counter_->resolution_j(window));
}

GpuWindow WindowMeter::measure(Window window, const std::vector<Window>& own) const {
  GpuWindow gpu = by_power(window, own);
  if (gpu.fault.empty()) gpu.power_energy_j = gpu.energy_j;
  if (!counter_) return gpu;
  gpu.counter_fault = counter_fault(window);
  if (!gpu.counter_fault.empty()) {
    if (!gpu.fault.empty()) gpu.fault += "; " + gpu.counter_fault;
    return gpu;
  }
  gpu.fault.clear();
  gpu.source = "counter";
  gpu.energy_j = counter_->energy_j(window);
  gpu.counter_energy_j = gpu.energy_j;
  gpu.counter_resolution_j = counter_->resolution_j(window);
  gpu.own_energy_j = 0;
  for (const Window& stretch : own) gpu.own_energy_j += counter_->energy_j(stretch);
  return gpu;
}

}  // namespace aggregate_power
