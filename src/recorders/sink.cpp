// Numbers devices, counts rows, and gathers readings.
#include "recorders/recorders.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

namespace aggregate_power {
ReadingSink::ReadingSink(const Options& options, const Telemetry::TakeStates& take,
                         TelemetryCounts& counts)
    : stamps_(options.zone),
      gpus_(options.gpus),
      names_hosts_(options.names_hosts),
      unit_(options.unit),
      take_(take),
      counts_(counts) {}

bool ReadingSink::start_bad_row(std::string_view stamp) {
  ++counts_.rows;
  if (counts_.skipped.bad_timestamp++ == 0) {
    counts_.first_bad_stamp = fmt::format("'{}'", printable(stamp));
    counts_.first_bad_row = counts_.rows;
  }
  add(0, 0, kNoDevice, Reading::Kind::bad_timestamp);
  return false;
}

void ReadingSink::begin_segment(Stamp stamp) {
  if (std::exchange(segment_has_ended_, false) && first_stamp_ && last_unix_s_ < unix_s_) {
    counts_.pauses.push_back({last_unix_s_, unix_s_});
  }
  if (!first_stamp_) first_stamp_ = stamp;
}

std::uint32_t ReadingSink::find(std::string_view host, std::string_view device) {
  return known(devices_.find(strip(host), strip(device)));
}

void ReadingSink::select_up_to(std::uint32_t device) {
  while (passed_on_.size() <= device) {
    const auto number = static_cast<std::uint32_t>(passed_on_.size());
    const std::string& name = devices_.names()[number];
    counts_.devices.push_back(name);
    const bool is_selected = !gpus_.is_given() || gpus_.has(name, key_of_next_, names_hosts_);
    passed_on_.push_back(is_selected ? number : kLeftOut);
  }
}

// What is no power, or of no device.
void ReadingSink::add_odd(std::uint32_t device, double watts) {
  const bool is_finite = std::isfinite(watts);
  if (!is_finite || watts < 0) ++counts_.skipped.no_reading;
  Reading::Kind kind = Reading::Kind::no_power;
  if (is_finite && watts >= 0) kind = Reading::Kind::no_device;
  if (is_finite && watts < 0 && device != kNoDevice) kind = Reading::Kind::negative_power;
  add(unix_s_, is_finite ? watts : 0, device, kind);
}

std::uint32_t ReadingSink::place_of(const GpuState& state) {
  const auto number = [&](GpuQuantity quantity) {
    const double value = state[quantity];
    return std::isnan(value) ? -1 : value;
  };
  const auto [place, is_new] = places_.try_emplace(
      {number(GpuQuantity::power_limit_w), number(GpuQuantity::utilization_pct)}, states_.size());
  if (is_new) states_.push_back(state);
  return place->second;
}

void ReadingSink::state(std::uint32_t device, GpuQuantity quantity, double value) {
  if (device >= kLeftOut) return;
  const bool is_limit = quantity == GpuQuantity::power_limit_w;
  const bool is_known = std::isfinite(value) && (is_limit ? value > 0 : value >= 0);
  if (states_.empty()) {
    if (!is_known) return;
    state_of_row_.assign(kBatch, place_of({}));
  }
  if (state_of_.size() <= device) state_of_.resize(device + 1);
  GpuState state = states_[state_of_[device]];
  double& own = state.values[static_cast<std::size_t>(quantity)];
  own = is_known ? (is_limit ? value : std::round(value)) : GpuState()[quantity];
  state_of_[device] = place_of(state);
}

void ReadingSink::note_state(std::uint32_t device) {
  state_of_row_[count_] = device < state_of_.size() ? state_of_[device] : 0;
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
  const std::size_t count = std::exchange(count_, 0);
  if (count == 0) return;
  RowStates states;
  if (!states_.empty()) states = {states_, std::span(state_of_row_).first(count)};
  take_(std::span(batch_).first(count), states);
}

}  // namespace aggregate_power
