// Chooses between a GPU's counter and its power, window by window.
#include "runs/window_meter.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "energy/plausibility.h"
#include "recorders/device_names.h"

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

WindowMeter::WindowMeter(std::string gpu, const PowerTrace* power,
                         std::optional<CounterTrace> counter, const MeterOptions& options)
    : gpu_(std::move(gpu)),
      power_(power),
      counter_(std::move(counter)),
      max_sample_gap_s_(options.max_sample_gap_s),
      most_w_(options.most_w),
      limit_w_(options.limit_w),
      is_of_module_(options.is_of_module),
      only_checks_(options.only_checks),
      unit_(options.unit) {
  if (power_ != nullptr) coverage_.emplace(*power_, max_sample_gap_s_);
}

GpuWindow WindowMeter::by_power(Window window, const std::vector<Window>& own) const {
  GpuWindow gpu;
  gpu.fault = coverage_ ? coverage_->fault(window) : "it has no reading of power";
  if (!gpu.fault.empty()) return gpu;
  gpu.energy_j = power_->energy_j(window);
  gpu.peak_power_w = power_->peak_w(window);
  for (const Window& stretch : own) gpu.own_energy_j += power_->energy_j(stretch);
  const double mean_w = gpu.energy_j / window.duration_s();
  std::string why = impossible_window_text(mean_w, *gpu.peak_power_w, unit_, most_w_);
  if (why.empty() && limit_w_ > 0) why = above_limit_text(mean_w, limit_w_);
  if (why.empty()) return gpu;
  GpuWindow refused;
  refused.fault = "implausible_power: " + why;
  return refused;
}

// Why the window is not measured by the counter; `gpu` is what its power says.
std::string WindowMeter::counter_fault(Window window, const GpuWindow& gpu) const {
  std::string fault = counter_->fault(window, max_sample_gap_s_);
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

// Whether the counter, which is not used, says that the power is wrong.
bool WindowMeter::is_refuted(Window window, const GpuWindow& gpu) const {
  const bool is_used = gpu.counter_fault.empty() && !only_checks_;
  if (is_used || !counter_->fault(window, max_sample_gap_s_).empty()) return false;
  const double energy_j = counter_->energy_j(window);
  if (is_of_module_ && energy_j > gpu.energy_j) return false;
  return refutes(energy_j, gpu.energy_j, counter_->resolution_j(window), window.duration_s());
}

GpuWindow WindowMeter::measure(Window window, const std::vector<Window>& own) const {
  GpuWindow gpu = by_power(window, own);
  if (gpu.fault.empty()) gpu.power_energy_j = gpu.energy_j;
  if (!counter_) return gpu;
  if (!only_checks_) gpu.counter_fault = counter_fault(window, gpu);
  if (gpu.fault.empty() && is_refuted(window, gpu)) gpu.fault = "counter_contradicts";
  if (only_checks_) return gpu;
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
  MeterOptions options{.max_sample_gap_s = max_sample_gap_s,
                       .most_w = plausible_watts_of(traces).most_w,
                       .unit = unit_of(traces)};
  options.is_of_module = std::ranges::any_of(
      traces.files, [](const TraceFile& file) { return is_of_module(file.facts.series); });
  std::vector<WindowMeter> meters;
  meters.reserve(names.size());
  for (const std::string& name : names) {
    const GpuSources& gpu = sources[name];
    const auto limit = traces.limits_w.find(name);
    options.limit_w = limit == traces.limits_w.end() ? 0 : limit->second;
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
