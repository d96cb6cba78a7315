// Sums what rows state, and counts readings above twice their limit.
#include "core/energy/stated_limits.h"

#include <algorithm>
#include <limits>

namespace aggregate_power {
namespace {

// Calls `note` for each reading of a named device inside the window that states the quantity.
template <typename Device, typename Note>
void for_each_stated(const Batch& batch, Window window, GpuQuantity quantity,
                     std::vector<Device>& devices, const Note& note) {
  for (std::size_t i = 0; i < batch.states.size(); ++i) {
    const Reading& reading = batch.readings[i];
    const double value = batch.states[i][quantity];
    if (reading.kind != Reading::Kind::power || !(value >= 0)) continue;
    if (!window.contains(reading.unix_s)) continue;
    if (reading.device >= devices.size()) devices.resize(reading.device + std::size_t{1});
    note(reading, value, devices[reading.device]);
  }
}

constexpr std::size_t kMostDifferent = 4;
constexpr double kLeastLimitW = 1;  // 0: a die or a card without one

}  // namespace

bool is_above_limit(const Reading& reading, const GpuState& state) {
  const double limit_w = state[GpuQuantity::power_limit_w];
  return limit_w >= kLeastLimitW && reading.kind == Reading::Kind::power &&
         reading.watts > 2 * limit_w;
}

void StatedLimits::take(const Batch& batch) {
  const auto note = [](const Reading& reading, double limit_w, Device& device) {
    if (limit_w < kLeastLimitW) return;
    ++device.rows;
    device.limits_w += limit_w;
    if (reading.watts > kAtLimitShare * limit_w) ++device.at_limit;
    if (device.different_w.size() < kMostDifferent &&
        (device.different_w.empty() || std::ranges::count(device.different_w, limit_w) == 0)) {
      device.different_w.push_back(limit_w);
    }
    if (reading.watts <= 2 * limit_w || device.above++ > 0) return;
    device.first = {reading.unix_s, reading.watts};
    device.first_limit_w = limit_w;
  };
  for_each_stated(batch, window_, GpuQuantity::power_limit_w, devices_, note);
}

std::vector<GpuLimit> StatedLimits::in_force(std::span<const std::string> names) const {
  std::vector<GpuLimit> limits;
  for (std::size_t i = 0; i < std::min(names.size(), devices_.size()); ++i) {
    const Device& device = devices_[i];
    if (device.rows == 0) continue;
    limits.push_back({names[i], "recording", device.different_w,
                      static_cast<double>(device.at_limit) / static_cast<double>(device.rows)});
  }
  return limits;
}

void StatedValues::take(const Batch& batch) {
  const auto note = [](const Reading&, double value, Device& device) {
    ++device.rows;
    device.sum += value;
    device.highest = std::max(device.highest, value);
  };
  for_each_stated(batch, window_, quantity_, devices_, note);
}

double StatedValues::mean(std::size_t device) const {
  const bool is_stated = device < devices_.size() && devices_[device].rows > 0;
  if (!is_stated) return std::numeric_limits<double>::quiet_NaN();
  return devices_[device].sum / static_cast<double>(devices_[device].rows);
}

double StatedValues::highest(std::size_t device) const {
  const bool is_stated = device < devices_.size() && devices_[device].rows > 0;
  return is_stated ? devices_[device].highest : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace aggregate_power
