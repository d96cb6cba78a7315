// Follows each device's times through the hour.
#include "core/telemetry/repeated_hours.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text/show_time.h"

namespace aggregate_power {
namespace {

constexpr double kDay_s = 86'400;
constexpr double kAround_s = 21'600;  // rows so near to the hour say on which side they are
constexpr double kDisorder_s = 3;     // rows of one time may be out of order by this

}  // namespace

bool RepeatedHours::Device::is_ambiguous() const {
  if (!is_inside) return false;
  return is_disordered || falls > 1 || (falls == 0 && lacks_an_hour);
}

RepeatedHours::RepeatedHours(Zone zone) : zone_(std::move(zone)) {}

bool RepeatedHours::concern(std::span<const Reading> readings) const {
  const auto is_plain = [&](const Reading& reading) {
    return reading.kind == Reading::Kind::bad_timestamp || near_.contains(reading.unix_s);
  };
  return here_ < hours_.size() || !std::ranges::all_of(readings, is_plain);
}

void RepeatedHours::look_near(double unix_s) {
  const double day_s = std::floor(unix_s / kDay_s) * kDay_s;
  near_ = {day_s, day_s + kDay_s};
  const auto found = zone_.repeated_hour(whole_second(day_s - kAround_s),
                                         whole_second(day_s + kDay_s + kAround_s));
  here_ = hours_.size();
  if (!found) return;
  const auto known = std::ranges::find(hours_, found->end_unix_s,
                                       [](const Hour& hour) { return hour.hour.end_unix_s; });
  here_ = static_cast<std::size_t>(known - hours_.begin());
  if (known == hours_.end()) hours_.push_back({*found, {}});
}

RepeatedHours::Device& RepeatedHours::device_of(const Reading& reading) {
  std::vector<Device>& devices = hours_[here_].devices;
  const std::size_t number = reading.device == kNoDevice ? 0 : std::size_t{reading.device} + 1;
  if (number >= devices.size()) devices.resize(number + 1);
  return devices[number];
}

void RepeatedHours::sort_out(Reading& reading) {
  const RepeatedHour& hour = hours_[here_].hour;
  Device& device = device_of(reading);
  const double unix_s = reading.unix_s;
  const bool was_inside = device.last_unix_s && hour.contains(*device.last_unix_s);
  if (!hour.contains(unix_s)) {
    const bool jumps = was_inside && unix_s - *device.last_unix_s >= hour.size_s;
    if (jumps && device.falls == 0) device.lacks_an_hour = true;
    device.last_unix_s = unix_s;
    return;
  }
  device.is_inside = true;
  const bool falls = device.last_unix_s && unix_s < *device.last_unix_s - kDisorder_s;
  if (falls && was_inside) ++device.falls;
  if (falls && !was_inside) device.is_disordered = true;
  device.last_unix_s = falls ? unix_s : std::max(unix_s, device.last_unix_s.value_or(unix_s));
  if (device.falls > 0) reading.unix_s += hour.size_s;
}

void RepeatedHours::sort_out(std::span<Reading> readings) {
  for (Reading& reading : readings) {
    if (reading.kind == Reading::Kind::bad_timestamp || !std::isfinite(reading.unix_s)) continue;
    if (!near_.contains(reading.unix_s)) look_near(reading.unix_s);
    if (here_ < hours_.size()) sort_out(reading);
  }
}

std::string RepeatedHours::text_of(const Hour& hour) const {
  const auto& [begin_unix_s, end_unix_s, size_s, offset_before_s] = hour.hour;
  const std::string before = offset_text(offset_before_s);
  const std::string after = offset_text(offset_before_s - size_s);
  return fmt::format(
      "in {} the clock showed {} min twice, from {} at {} and again at {}, and the order of the rows does not say which pass they are of: give the offset that held, --timezone {} or --timezone {}",
      zone_.name(), size_s / 60, unix_and_iso(static_cast<double>(begin_unix_s)), before, after,
      before, after);
}

std::vector<AmbiguousHour> RepeatedHours::ambiguous() const {
  std::vector<AmbiguousHour> found;
  for (const Hour& hour : hours_) {
    if (std::ranges::none_of(hour.devices, &Device::is_ambiguous)) continue;
    const auto begin_s = static_cast<double>(hour.hour.begin_unix_s);
    const auto end_s = static_cast<double>(hour.hour.end_unix_s + hour.hour.size_s);
    found.push_back({{begin_s, end_s}, text_of(hour)});
  }
  return found;
}

}  // namespace aggregate_power
