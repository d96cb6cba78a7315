// Gathers readings by device, in the file's order, and sorts them at the end.
#include "energy/reading_gatherer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "energy/window_room.h"

namespace aggregate_power {
namespace {

constexpr double kLargestTime_s = 1e15;

// NVML's nvmlClocksEventReason bits.
constexpr std::uint64_t kSwPowerCap = 0x4;
// Hardware slowdown, software thermal, hardware thermal, hardware power brake.
constexpr std::uint64_t kSlowdowns = 0x8 | 0x20 | 0x40 | 0x80;

// Of a number that is not as large as that.
bool is_whole_second(double unix_s) {
  constexpr double kNoFraction = 0x1.8p52;  // a number this large has no digits after the point
  return (unix_s + kNoFraction) - kNoFraction == unix_s;
}

}  // namespace

[[gnu::always_inline]] inline void ReadingGatherer::note(const GpuState& state, Device& device) {
  const double limit_w = state[GpuQuantity::power_limit_w];
  // Two are enough to know that it changed.
  if (limit_w > 0 && device.limits_w.size() < 2 &&
      std::ranges::count(device.limits_w, limit_w) == 0) {
    device.limits_w.push_back(limit_w);
  }
  const double mask = state[GpuQuantity::clock_reasons];
  if (mask >= 0 && mask < 0x1p53) {
    const auto reasons = static_cast<std::uint64_t>(mask);
    ++device.reasoned;
    if ((reasons & kSwPowerCap) != 0) ++device.capped;
    if ((reasons & kSlowdowns) != 0) ++device.throttled;
  }
  const double utilization_pct = state[GpuQuantity::utilization_pct];
  if (utilization_pct < device.least_utilization_pct) {
    device.least_utilization_pct = utilization_pct;
  }
}

[[gnu::always_inline]] inline void ReadingGatherer::add(const Reading& reading,
                                                        Device& device) const {
  if (device.samples.size() == device.samples.capacity()) {
    make_window_room(device.samples, window_.end_unix_s + kAroundS);
  }
  device.samples.push_back({reading.unix_s, reading.watts});
  if (reading.unix_s < device.last_unix_s) device.is_sorted = false;
  device.last_unix_s = reading.unix_s;
  if (device.are_whole_seconds) device.are_whole_seconds = is_whole_second(reading.unix_s);
}

std::span<const Reading> ReadingGatherer::select(const Batch& batch) {
  const Window inside = window_;
  const Window near = {inside.start_unix_s - kAroundS, inside.end_unix_s + kAroundS};
  const bool have_states = !batch.states.empty();
  for (std::size_t i = 0; i < batch.readings.size(); ++i) {
    const Reading& reading = batch.readings[i];
    if (reading.kind != Reading::Kind::power || !near.contains(reading.unix_s)) continue;
    if (reading.device >= devices_.size()) devices_.resize(reading.device + 1);
    Device& device = devices_[reading.device];
    add(reading, device);
    if (have_states && inside.contains(reading.unix_s)) note(batch.states[i], device);
  }
  return {};
}

std::vector<GatheredReadings> ReadingGatherer::finish(std::span<const std::string> devices) {
  std::vector<GatheredReadings> gathered;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    Device& device = devices_[i];
    if (device.samples.empty()) continue;
    if (!device.is_sorted) {
      std::ranges::stable_sort(device.samples, {}, &Sample::unix_s);
    }
    GatheredReadings gpu{devices[i], std::move(device.samples), {}};
    gpu.are_whole_seconds =
        device.are_whole_seconds && std::abs(gpu.samples.back().unix_s) < kLargestTime_s;
    // A limit that was changed in the window is none of it.
    if (device.limits_w.size() == 1) gpu.conditions.limit_w = device.limits_w[0];
    gpu.limits_w = std::move(device.limits_w);
    if (device.reasoned > 0) {
      const auto share = [&](std::uint64_t rows) {
        return static_cast<double>(rows) / static_cast<double>(device.reasoned);
      };
      gpu.conditions.capped_share = share(device.capped);
      gpu.conditions.throttled_share = share(device.throttled);
    }
    if (std::isfinite(device.least_utilization_pct)) {
      gpu.conditions.least_utilization_pct = device.least_utilization_pct;
    }
    gathered.push_back(std::move(gpu));
  }
  return gathered;
}

}  // namespace aggregate_power
