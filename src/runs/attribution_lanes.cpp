// Pairs the devices of traces with those of recordings.
#include "runs/attribution_lanes.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"

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
  for (std::size_t i = 0; i < places.size(); ++i) {
    lanes.push_back({places[i].trace, places[i].number, places[i].device,
                     from_origin(power.devices[found[i]], *places[i].trace)});
  }
  return lanes;
}

}  // namespace aggregate_power
