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

// Consecutive readings: `count` times one of each of `size` devices, in the same order.
struct Rounds {
  std::size_t size = 0;
  std::size_t count = 1;
};

// At the front.
Rounds rounds_in(std::span<const Reading> readings) {
  constexpr std::size_t kMostDevices = 64;
  Rounds rounds;
  const auto is_new = [&](std::uint32_t device) {
    return std::ranges::find(readings.first(rounds.size), device, &Reading::device) ==
           readings.begin() + static_cast<std::ptrdiff_t>(rounds.size);
  };
  while (rounds.size < std::min(readings.size(), kMostDevices) &&
         is_new(readings[rounds.size].device)) {
    ++rounds.size;
  }
  std::size_t end = rounds.size;
  while (end < readings.size() && readings[end].device == readings[end - rounds.size].device) {
    ++end;
  }
  rounds.count = end / rounds.size;
  return rounds;
}

// Of a number that is not as large as that.
bool is_whole_second(double unix_s) {
  constexpr double kNoFraction = 0x1.8p52;  // a number this large has no digits after the point
  return (unix_s + kNoFraction) - kNoFraction == unix_s;
}

bool is_power_in(Window window, const Reading& reading) {
  return reading.kind == Reading::Kind::power && window.contains(reading.unix_s);
}

}  // namespace

void ReadingGatherer::note(const GpuState& state, std::uint64_t rows, Device& device) {
  const double limit_w = state[GpuQuantity::power_limit_w];
  // Two are enough to know that it changed.
  if (limit_w > 0 && device.limits_w.size() < 2 &&
      std::ranges::count(device.limits_w, limit_w) == 0) {
    device.limits_w.push_back(limit_w);
  }
  const double mask = state[GpuQuantity::clock_reasons];
  if (mask >= 0 && mask < 0x1p53) {
    const auto reasons = static_cast<std::uint64_t>(mask);
    device.reasoned += rows;
    if ((reasons & kSwPowerCap) != 0) device.capped += rows;
    if ((reasons & kSlowdowns) != 0) device.throttled += rows;
  }
  const double utilization_pct = state[GpuQuantity::utilization_pct];
  if (utilization_pct < device.least_utilization_pct) {
    device.least_utilization_pct = utilization_pct;
  }
}

void ReadingGatherer::gather(const Batch& batch, DeviceRows rows) {
  const Window near = {window_.start_unix_s - kAroundS, window_.end_unix_s + kAroundS};
  while (rows.first < rows.end && !is_power_in(near, batch.readings[rows.first])) {
    rows.first += rows.step;
  }
  if (rows.first >= rows.end) return;
  const std::uint32_t number = batch.readings[rows.first].device;
  if (number >= devices_.size()) devices_.resize(number + 1);
  Device& device = devices_[number];
  const std::size_t count = device.samples.size();
  const std::size_t more = (rows.end - rows.first + rows.step - 1) / rows.step;
  make_window_room(device.samples, near.end_unix_s, more);
  device.samples.resize(count + more);
  Sample* sample = device.samples.data() + count;
  double last_unix_s = count > 0 ? device.samples[count - 1].unix_s : near.start_unix_s;
  bool are_power = true;
  bool are_sorted = true;
  bool are_whole_seconds = true;
  for (std::size_t i = rows.first; i < rows.end; i += rows.step) {
    const Reading& reading = batch.readings[i];
    are_power &= reading.kind == Reading::Kind::power;
    are_sorted &= reading.unix_s >= last_unix_s;
    are_whole_seconds &= is_whole_second(reading.unix_s);
    last_unix_s = reading.unix_s;
    *sample++ = {reading.unix_s, reading.watts};
  }
  // Readings in order are between the first, which is near, and the last.
  const bool are_power_in_order = are_power && are_sorted;
  if (!are_power_in_order || !near.contains(last_unix_s)) {
    // Some are not wanted.
    device.samples.resize(count);
    for (std::size_t i = rows.first; i < rows.end; i += rows.step) {
      const Reading& reading = batch.readings[i];
      if (is_power_in(near, reading)) device.samples.push_back({reading.unix_s, reading.watts});
    }
    const auto from_last =
        std::span(device.samples).subspan(count - std::min<std::size_t>(count, 1));
    are_sorted = std::ranges::is_sorted(from_last, {}, &Sample::unix_s);
    are_whole_seconds = std::ranges::all_of(std::span(device.samples).subspan(count),
                                            is_whole_second, &Sample::unix_s);
  }
  device.is_sorted &= are_sorted;
  device.are_whole_seconds &= are_whole_seconds;
  const bool are_inside = are_power_in_order && window_.contains(last_unix_s) &&
                          window_.contains(batch.readings[rows.first].unix_s);
  if (!batch.states.empty()) note_states(batch, rows, are_inside, device);
}

// Rows that follow each other and say the same are noted together.
void ReadingGatherer::note_states(const Batch& batch, DeviceRows rows, bool are_inside,
                                  Device& device) const {
  for (std::size_t i = rows.first; i < rows.end;) {
    const std::uint32_t state = batch.states.of_rows[i];
    std::uint64_t inside = 0;
    for (; i < rows.end && batch.states.of_rows[i] == state; i += rows.step) {
      inside += (are_inside || is_power_in(window_, batch.readings[i])) ? 1 : 0;
    }
    if (inside > 0) note(batch.states.states[state], inside, device);
  }
}

std::span<const Reading> ReadingGatherer::select(const Batch& batch) {
  for (std::size_t first = 0; first < batch.readings.size();) {
    const Rounds rounds = rounds_in(batch.readings.subspan(first));
    const std::size_t end = first + rounds.count * rounds.size;
    for (std::size_t i = 0; i < rounds.size; ++i) gather(batch, {first + i, end, rounds.size});
    first = end;
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
