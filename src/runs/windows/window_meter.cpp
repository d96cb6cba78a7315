// Chooses between a GPU's counter and its power, window by window.
#include "runs/windows/window_meter.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/energy/plausibility.h"
#include "core/telemetry/device_names.h"

namespace aggregate_power {
namespace {

// What was recorded of a GPU; null: it was not.
struct GpuSources {
  const PowerTrace* power = nullptr;
  DeviceCounter* counter = nullptr;
};

// By name.
std::map<std::string, GpuSources> sources_of(Traces& traces) {
  std::map<std::string, GpuSources> gpus;
  for (const std::string& silent : traces.silent) gpus[silent];
  for (const PowerTrace& device : traces.devices) gpus[device.device()].power = &device;
  for (DeviceCounter& device : traces.counters) gpus[device.device].counter = &device;
  return gpus;
}

}  // namespace

bool is_refuted(const CounterTrace& counter, double power_j, Window window,
                const MeterOptions& options) {
  if (!counter.fault(window, options.max_sample_gap_s).empty()) return false;
  const double energy_j = counter.energy_j(window);
  if (options.is_of_module && energy_j > power_j) return false;
  return refutes(energy_j, power_j, counter.resolution_j(window), window.duration_s());
}

WindowMeter::WindowMeter(std::string gpu, const PowerTrace* power,
                         std::optional<CounterTrace> counter, const MeterOptions& options)
    : gpu_(std::move(gpu)), power_(power), counter_(std::move(counter)), options_(options) {
  if (power_ != nullptr) coverage_.emplace(*power_, options_.max_sample_gap_s);
}

GpuWindow WindowMeter::by_power(Window window, const std::vector<Window>& own) const {
  GpuWindow gpu;
  gpu.fault = coverage_ ? coverage_->fault(window) : "it has no reading of power";
  if (!gpu.fault.empty()) return gpu;
  gpu.energy_j = power_->energy_j(window);
  gpu.peak_power_w = power_->peak_w(window);
  for (const Window& stretch : own) gpu.own_energy_j += power_->energy_j(stretch);
  const double mean_w = gpu.energy_j / window.duration_s();
  const std::string why = impossible_text(mean_w, *gpu.peak_power_w, options_.bounds);
  if (why.empty()) return gpu;
  GpuWindow refused;
  refused.fault = "implausible_power: " + why;
  return refused;
}

// Why the window is not measured by the counter; `gpu` is what its power says.
std::string WindowMeter::counter_fault(Window window, const GpuWindow& gpu) const {
  std::string fault = counter_->fault(window, options_.max_sample_gap_s);
  if (!fault.empty()) return fault;
  const double energy_j = counter_->energy_j(window);
  const double mean_w = energy_j / window.duration_s();
  if (is_impossible(mean_w)) return fmt::format("its energy counter says {:.1f} W", mean_w);
  if (gpu.fault.empty() && mean_w > (1 + kCounterTolerance) * *gpu.peak_power_w &&
      contradict(energy_j, gpu.energy_j, counter_->resolution_j(window))) {
    return fmt::format(
        "its energy counter says {:.2f} W, more than its highest power: it may be of a whole module",
        mean_w);
  }
  // Readings of power that are too far apart to be measured by are good enough for this.
  if (power_ == nullptr || !power_->covers(window)) return {};
  return why_unbelievable(energy_j, power_->energy_j(window), counter_->resolution_j(window));
}

GpuWindow WindowMeter::measure(Window window, const std::vector<Window>& own) const {
  GpuWindow gpu = by_power(window, own);
  if (gpu.fault.empty()) gpu.power_energy_j = gpu.energy_j;
  if (!counter_) return gpu;
  if (!options_.only_checks) gpu.counter_fault = counter_fault(window, gpu);
  const bool is_unused = options_.only_checks || !gpu.counter_fault.empty();
  if (gpu.fault.empty() && is_unused && is_refuted(*counter_, gpu.energy_j, window, options_)) {
    gpu.fault = "counter_contradicts";
  }
  if (options_.only_checks) return gpu;
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

double WindowMeter::energy_in_part(Window part, const GpuWindow& whole) const {
  return whole.source == "counter" ? counter_->energy_j(part) : power_->energy_j(part);
}

std::vector<WindowMeter> meters_of(Traces& traces, double max_sample_gap_s) {
  std::map<std::string, GpuSources> sources = sources_of(traces);
  std::vector<std::string> names;
  for (const auto& [name, gpu] : sources) names.push_back(name);
  std::ranges::stable_sort(names, device_name_less);
  MeterOptions options{.max_sample_gap_s = max_sample_gap_s};
  options.is_of_module = has_module(traces);
  std::vector<WindowMeter> meters;
  meters.reserve(names.size());
  for (const std::string& name : names) {
    const GpuSources& gpu = sources[name];
    options.bounds = bounds_of(traces, name);
    std::optional<CounterTrace> counter;
    if (gpu.counter != nullptr) {
      options.only_checks = !gpu.counter->is_unit_stated;
      counter.emplace(std::move(gpu.counter->samples), gpu.counter->unit_j, gpu.power);
    }
    meters.emplace_back(name, gpu.power, std::move(counter), options);
  }
  return meters;
}

}  // namespace aggregate_power
