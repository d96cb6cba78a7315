// Integrates whole recordings and compares them with energy counters.
#include "energy/counter_check.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "aggregate_power/gpu.h"

namespace aggregate_power {

void StreamEnergy::take(std::span<const Reading> readings) {
  for (const Reading& reading : readings) {
    if (reading.kind != Reading::Kind::power && reading.kind != Reading::Kind::negative_power) {
      continue;
    }
    if (reading.device >= devices_.size()) devices_.resize(reading.device + 1);
    add(devices_[reading.device], reading.unix_s, reading.watts);
  }
}

void StreamEnergy::add(Device& device, double unix_s, double watts) {
  if (device.seen && unix_s == device.last_unix_s) {
    device.lowest_watts = std::min(device.lowest_watts, watts);
    device.highest_watts = std::max(device.highest_watts, watts);
    return;
  }
  if (device.seen && unix_s < device.last_unix_s) out_of_order_ = true;
  if (device.seen) {
    close_stamp(device);
  } else {
    device.first_unix_s = device.stamp_before_unix_s = unix_s;
  }
  device.seen = true;
  device.last_unix_s = unix_s;
  device.lowest_watts = device.highest_watts = watts;
}

// Adds the trapezoid that ends at the device's newest stamp; the first stamp ends none.
void StreamEnergy::close_stamp(Device& device) {
  device.energy_j += (device.last_unix_s - device.stamp_before_unix_s) *
                     (device.highest_watts_before + device.lowest_watts) / 2.0;
  device.stamp_before_unix_s = device.last_unix_s;
  device.highest_watts_before = device.highest_watts;
}

void StreamEnergy::finish() {
  for (Device& device : devices_) {
    if (device.seen) close_stamp(device);
  }
}

CounterCheck check_counters(const EnergySnapshot& start, const EnergySnapshot& end,
                            const StreamEnergy& stream, std::span<const std::string> names) {
  CounterCheck check;
  for (const auto& [id, joules] : start) {
    const auto later = end.find(id);
    if (later == end.end()) {
      check.unmatched_gpus.push_back(id);
    } else {
      check.per_gpu_delta_j.emplace_back(id, later->second - joules);
    }
  }
  for (const auto& [id, joules] : end) {
    if (!start.contains(id)) check.unmatched_gpus.push_back(id);
  }
  std::ranges::sort(check.unmatched_gpus, device_name_less);
  std::ranges::sort(check.per_gpu_delta_j, device_name_less,
                    &std::pair<std::string, double>::first);

  std::unordered_map<std::string_view, std::size_t> numbers;
  for (std::size_t i = 0; i < names.size(); ++i) numbers.emplace(names[i], i);
  double first_unix_s = 0;
  double last_unix_s = 0;
  for (const auto& [id, delta_j] : check.per_gpu_delta_j) {
    check.accumulator_delta_j += delta_j;
    if (delta_j < 0) check.negative_delta_gpus.push_back(id);
    const auto number = numbers.find(id);
    if (number == numbers.end() || number->second >= stream.devices().size()) continue;
    const StreamEnergy::Device& device = stream.devices()[number->second];
    if (!device.seen) continue;
    const bool is_first = check.integrated_gpu_ids.empty();
    check.integrated_gpu_ids.push_back(id);
    check.integrated_stream_j += device.energy_j;
    first_unix_s = is_first ? device.first_unix_s : std::min(first_unix_s, device.first_unix_s);
    last_unix_s = is_first ? device.last_unix_s : std::max(last_unix_s, device.last_unix_s);
  }
  check.stream_span_s = last_unix_s - first_unix_s;
  if (check.accumulator_delta_j > 0) {
    check.relative_error =
        std::abs(check.accumulator_delta_j - check.integrated_stream_j) / check.accumulator_delta_j;
    check.within_tolerance =
        check.negative_delta_gpus.empty() && *check.relative_error <= check.tolerance;
  }
  return check;
}

}  // namespace aggregate_power
