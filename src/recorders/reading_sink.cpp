// Numbers devices, counts rows, and gathers readings.
#include "recorders/reading_sink.h"

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/text/unicode.h"
#include "recorders/energy_counter.h"
#include "recorders/watts.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kBatch = 1024;
constexpr std::uint32_t kLeftOut = kNoDevice - 1;  // a device that was not selected

}  // namespace

ReadingSink::ReadingSink(const Zone& zone, GpuSelection gpus, bool names_hosts,
                         PowerUnit::Size unit, const Telemetry::TakeStates& take,
                         TelemetryCounts& counts)
    : stamps_(zone),
      gpus_(std::move(gpus)),
      names_hosts_(names_hosts),
      unit_(unit),
      take_(take),
      counts_(counts) {}

bool ReadingSink::start_row(std::string_view stamp) {
  stamp = strip(stamp);
  Stamp time{};
  ++counts_.rows;
  if (stamps_.read(stamp, time)) {
    note_time(time);
    return true;
  }
  if (counts_.skipped.bad_timestamp++ == 0) {
    counts_.first_bad_stamp = fmt::format("'{}' in row {}", printable(stamp), counts_.rows);
  }
  add(Reading{.device = kNoDevice, .kind = Reading::Kind::bad_timestamp});
  return false;
}

void ReadingSink::start_row(double unix_s) {
  ++counts_.rows;
  note_time({unix_s, false});
}

void ReadingSink::note_time(Stamp stamp) {
  ++counts_.stamps;
  counts_.naive_stamps += stamp.naive ? 1 : 0;
  unix_s_ = stamp.unix_s;
  if (std::exchange(segment_has_ended_, false) && first_stamp_ && last_unix_s_ < unix_s_) {
    counts_.pauses.push_back({last_unix_s_, unix_s_});
  }
  last_unix_s_ = unix_s_;
  if (!first_stamp_) first_stamp_ = stamp;
}

std::uint32_t ReadingSink::find(std::string_view device) {
  return known(devices_.find(strip(device)));
}

std::uint32_t ReadingSink::find(std::string_view host, std::string_view device) {
  return known(devices_.find(strip(host), strip(device)));
}

std::uint32_t ReadingSink::known(std::uint32_t device) {
  if (device == kNoDevice) return device;
  while (selected_.size() <= device) {
    const std::string& name = devices_.names()[selected_.size()];
    counts_.devices.push_back(name);
    selected_.push_back(!gpus_.is_given() || gpus_.has(name, names_hosts_));
  }
  return selected_[device] ? device : kLeftOut;
}

void ReadingSink::add_to(std::uint32_t device, std::string_view watts) {
  const auto value = counter_unit_j_ > 0 ? parse_counter(strip(watts), counter_unit_j_)
                                         : parse_watts(strip(watts), {unit_, false});
  add_to(device, value.value_or(std::numeric_limits<double>::quiet_NaN()));
}

void ReadingSink::add_to(std::uint32_t device, double watts) {
  if (device == kLeftOut) return;
  Reading reading{unix_s_, 0, device, Reading::Kind::no_power};
  const bool is_named = device != kNoDevice;
  if (!std::isfinite(watts) || watts < 0) ++counts_.skipped.no_reading;
  if (std::isfinite(watts)) {
    reading.watts = watts;
    if (watts >= 0) reading.kind = is_named ? Reading::Kind::power : Reading::Kind::no_device;
    if (watts < 0 && is_named) reading.kind = Reading::Kind::negative_power;
  }
  add(reading);
}

void ReadingSink::add(Reading reading) {
  batch_.push_back(reading);
  if (batch_.size() == kBatch) finish();
}

void ReadingSink::count_energy(const EnergyCounter& counter) {
  counter_unit_j_ = counter.unit_j;
  counts_.counter = counter;
}

void ReadingSink::note_counter(const PowerSeries& series) {
  if (series.counter() == nullptr || counts_.counter) return;
  counts_.counter = *series.counter();
  if (series.reads_counters()) count_energy(*series.counter());
}

void ReadingSink::tell_sensors(std::vector<SensorEnergy> sensors, std::vector<SensorSum> sums) {
  counts_.sensors = std::move(sensors);
  counts_.sums = std::move(sums);
}

void ReadingSink::finish() {
  if (!batch_.empty()) take_(batch_, {});
  batch_.clear();
}

}  // namespace aggregate_power
