// Counts what GPUs state, and cuts their samples.
#include "energy/uncertainty/gather.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace aggregate_power {
namespace {

constexpr double kLargestTime_s = 1e15;

// NVML's nvmlClocksEventReason bits.
constexpr std::uint64_t kSwPowerCap = 0x4;
// Hardware slowdown, software thermal, hardware thermal, hardware power brake.
constexpr std::uint64_t kSlowdowns = 0x8 | 0x20 | 0x40 | 0x80;

// Of a stamp to which an offset was added.
bool is_whole_second(double unix_s, double clock_offset_s) {
  constexpr double kRounding_s = 1e-6;
  const double stamp_s = unix_s - clock_offset_s;
  const double off_s = std::abs(stamp_s - std::round(stamp_s));
  return std::abs(stamp_s) < kLargestTime_s && off_s <= (clock_offset_s == 0 ? 0 : kRounding_s);
}

}  // namespace

void StateNotes::HalfMeans::take(double value, bool is_second) {
  if (!std::isfinite(value)) return;
  sums[is_second ? 1 : 0] += value;
  counts[is_second ? 1 : 0] += 1;
}

bool StateNotes::HalfMeans::are_known() const {
  constexpr double kFewest = 10;
  return counts[0] >= kFewest && counts[1] >= kFewest;
}

void StateNotes::note(const GpuState& state, double unix_s, Device& device) const {
  const bool is_second = unix_s - window_.start_unix_s > window_.duration_s() / 2;
  device.temperature_c.take(state[GpuQuantity::temperature_c], is_second);
  device.utilization_pct.take(state[GpuQuantity::utilization_pct], is_second);
  device.clock_mhz.take(state[GpuQuantity::clock_mhz], is_second);
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

void StateNotes::take(const Batch& batch) {
  for (std::size_t i = 0; i < batch.states.size(); ++i) {
    const Reading& reading = batch.readings[i];
    if (reading.kind != Reading::Kind::power || !around_.contains(reading.unix_s)) continue;
    if (reading.device >= devices_.size()) devices_.resize(reading.device + 1);
    Device& device = devices_[reading.device];
    const double celsius = batch.states[i][GpuQuantity::temperature_c];
    const bool is_next =
        device.temperatures.empty() || reading.unix_s >= device.temperatures.back().unix_s + 1;
    if (is_next && std::isfinite(celsius)) device.temperatures.push_back({reading.unix_s, celsius});
    if (window_.contains(reading.unix_s)) note(batch.states[i], reading.unix_s, device);
  }
}

std::optional<GpuConditions::HalfChange> StateNotes::halves_of(const Device& device) const {
  if (!device.temperature_c.are_known()) return std::nullopt;
  GpuConditions::HalfChange change{.temperature_c = device.temperature_c.change()};
  if (std::abs(change.temperature_c) < kDriftC) return std::nullopt;
  const HalfMeans& clock_mhz = device.clock_mhz;
  if (device.utilization_pct.are_known()) change.utilization_pct = device.utilization_pct.change();
  if (clock_mhz.are_known() && clock_mhz.mean(0) > 0) {
    change.clock_share = clock_mhz.change() / clock_mhz.mean(0);
  }
  change.cooling_s = thermal_course(device.temperatures, window_).cooling_s;
  return change;
}

void StateNotes::give(std::size_t device, GatheredReadings& gpu) const {
  if (device >= devices_.size()) return;
  const Device& of = devices_[device];
  // A limit that was changed in the window is none of it.
  if (of.limits_w.size() == 1) gpu.conditions.limit_w = of.limits_w[0];
  gpu.limits_w = of.limits_w;
  if (of.reasoned > 0) {
    const auto share = [&](std::uint64_t rows) {
      return static_cast<double>(rows) / static_cast<double>(of.reasoned);
    };
    gpu.conditions.capped_share = share(of.capped);
    gpu.conditions.throttled_share = share(of.throttled);
  }
  if (std::isfinite(of.least_utilization_pct)) {
    gpu.conditions.least_utilization_pct = of.least_utilization_pct;
  }
  gpu.conditions.halves = halves_of(of);
}

std::vector<GatheredReadings> gather(Window window, Samples samples, const StateNotes& notes,
                                     std::span<const std::string> names, double clock_offset_s) {
  const auto is_whole = [&](double unix_s) { return is_whole_second(unix_s, clock_offset_s); };
  std::vector<GatheredReadings> gathered;
  for (std::size_t i = 0; i < samples.devices().size(); ++i) {
    std::vector<Sample>& all = samples.devices()[i];
    const std::span<const Sample> around = samples_in(all, gathered_around(window));
    if (around.empty()) continue;
    GatheredReadings& gpu = gathered.emplace_back(GatheredReadings{names[i], {}, {}});
    if (around.size() == all.size()) {
      gpu.samples = std::move(all);
    } else {
      gpu.samples.assign(around.begin(), around.end());
    }
    gpu.are_whole_seconds = std::ranges::all_of(gpu.samples, is_whole, &Sample::unix_s);
    notes.give(i, gpu);
  }
  return gathered;
}

}  // namespace aggregate_power
