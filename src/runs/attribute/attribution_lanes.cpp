// Pairs the devices of traces with those of recordings.
#include "runs/attribute/attribution_lanes.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "core/energy/plausibility.h"

namespace aggregate_power {
namespace {

struct DevicePlace {
  GpuTrace* trace;
  std::int64_t number;
  TraceDevice* device;
};

std::vector<DevicePlace> places_of(std::vector<GpuTrace>& traces) {
  std::vector<DevicePlace> places;
  for (GpuTrace& trace : traces) {
    for (auto& [number, device] : trace.devices) places.push_back({&trace, number, &device});
  }
  return places;
}

std::vector<std::string> recorded_names(const Traces& power) {
  std::vector<std::string> names;
  for (const PowerTrace& device : power.devices) names.push_back(device.device());
  return names;
}

// The recorded GPUs that `name` is that of.
std::vector<std::size_t> gpus_named(const Traces& power, const std::string& name) {
  const auto names_hosts = [](const TraceFile& file) { return file.facts.series.names_hosts; };
  const bool has_hosts = std::ranges::any_of(power.files, names_hosts);
  const GpuSelection selection{{name}};
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < power.devices.size(); ++i) {
    if (selection.has(power.devices[i].device(), has_hosts)) found.push_back(i);
  }
  return found;
}

// The GPUs of `places`, in their order.
std::vector<std::size_t> gpus_of(const std::vector<DevicePlace>& places, const Traces& power,
                                 const GpuSelection& gpus) {
  if (!gpus.is_given() && places.size() == 1 && power.devices.size() == 1) return {0};
  if (gpus.is_given() && gpus.names.size() != places.size()) {
    throw Error(fmt::format(
        "the devices with events are {}, and --gpus names {}: name one GPU for each, in the order of traces and devices",
        places.size(), gpus.names.size()));
  }
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::string name = gpus.is_given() ? gpus.names[i] : std::to_string(places[i].number);
    const std::vector<std::size_t> named = gpus_named(power, name);
    if (named.size() != 1) {
      throw Error(fmt::format(
          "{}: device {} is {} in the recording ({}): say with --gpus which GPUs the devices of the trace are, in their order",
          places[i].trace->path, places[i].number, named.empty() ? "not" : "several GPUs",
          fmt::join(recorded_names(power), ", ")));
    }
    if (std::ranges::find(found, named.front()) != found.end()) {
      throw Error(fmt::format(
          "{}: device {} would be GPU {} of the recording, as another device is: say with --gpus which GPUs the devices of the traces are, in their order",
          places[i].trace->path, places[i].number, power.devices[named.front()].device()));
    }
    found.push_back(named.front());
  }
  return found;
}

// The trace numbers the devices that its process saw: its device 0 may be any GPU of the node. That
// is settled where the GPUs that worked are those that the numbers name.
void refuse_idle_lanes(const std::vector<DevicePlace>& places,
                       const std::vector<std::size_t>& found, const Traces& power) {
  std::vector<double> means_w;
  for (const PowerTrace& device : power.devices) {
    double energy_j = 0;
    double time_s = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const double origin_s =
          static_cast<double>(places[i].trace->origin_s) + places[i].trace->origin_rest_s;
      const Window span{origin_s + places[i].device->events.first_start_s(),
                        origin_s + places[i].device->events.last_end_s()};
      if (!device.covers(span) || span.duration_s() <= 0) continue;
      energy_j += device.energy_j(span);
      time_s += span.duration_s();
    }
    means_w.push_back(time_s > 0 ? energy_j / time_s : 0);
  }
  const std::vector<bool> is_idle = idle_devices(means_w);
  const auto named = [&](std::size_t i) { return std::ranges::find(found, i) != found.end(); };
  std::vector<std::string> busy;
  bool is_settled = true;
  for (std::size_t i = 0; i < is_idle.size(); ++i) {
    if (!is_idle[i]) busy.push_back(power.devices[i].device());
    is_settled = is_settled && is_idle[i] != named(i);
  }
  const bool are_all_busy = busy.size() == is_idle.size();
  if (is_settled || are_all_busy) return;
  throw Error(fmt::format(
      "{}: {} GPUs were recorded and only {} worked while its events ran, so its device {} need not be GPU {} of the recording (CUDA_VISIBLE_DEVICES): say with --gpus which GPUs the devices are, in their order",
      places.front().trace->path, is_idle.size(), fmt::join(busy, ", "), places.front().number,
      power.devices[found.front()].device()));
}

PowerTrace from_origin(const PowerTrace& power, const GpuTrace& trace) {
  std::vector<Sample> samples(power.samples().begin(), power.samples().end());
  const auto origin_s = static_cast<double>(trace.origin_s);
  const auto in_trace = [&](double unix_s) { return (unix_s - origin_s) - trace.origin_rest_s; };
  for (Sample& sample : samples) sample.unix_s = in_trace(sample.unix_s);
  std::vector<double> invalid_s;
  for (const double unix_s : power.invalid_unix_s()) invalid_s.push_back(in_trace(unix_s));
  return {power.device(), std::move(samples), power.interpolation(), {}, std::move(invalid_s)};
}

}  // namespace

std::vector<AttributionLane> attribution_lanes(std::vector<GpuTrace>& traces, Traces power,
                                               const GpuSelection& gpus) {
  std::vector<AttributionLane> lanes;
  const std::vector<DevicePlace> places = places_of(traces);
  if (places.empty()) {
    if (power.devices.size() > 1 && !gpus.is_given()) {
      throw Error(fmt::format(
          "{}: its layers do not say on which GPU they ran, and {} GPUs were recorded ({}): name those that count with --gpus",
          traces.front().path, power.devices.size(), fmt::join(recorded_names(power), ", ")));
    }
    for (const PowerTrace& device : power.devices) {
      lanes.push_back({&traces.front(), 0, nullptr, from_origin(device, traces.front())});
    }
    return lanes;
  }
  const std::vector<std::size_t> found = gpus_of(places, power, gpus);
  if (!gpus.is_given() && power.devices.size() > places.size())
    refuse_idle_lanes(places, found, power);
  for (std::size_t i = 0; i < places.size(); ++i) {
    lanes.push_back({places[i].trace, places[i].number, places[i].device,
                     from_origin(power.devices[found[i]], *places[i].trace)});
  }
  return lanes;
}

}  // namespace aggregate_power
