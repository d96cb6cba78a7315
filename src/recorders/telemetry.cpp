// Reads a recording with its format's function.
#include "recorders/telemetry.h"

#include <utility>

#include "recorders/gpu_names.h"

namespace aggregate_power {

Skipped& Skipped::operator+=(const Skipped& more) {
  constexpr std::uint64_t Skipped::*kCauses[] = {
      &Skipped::blank,          &Skipped::repeated_header, &Skipped::preamble,
      &Skipped::comment,        &Skipped::bad_timestamp,   &Skipped::no_reading,
      &Skipped::too_many_cells, &Skipped::torn_tail};
  for (const auto cause : kCauses) this->*cause += more.*cause;
  return *this;
}

void TelemetryCounts::add_rows(TelemetryCounts later) {
  if (first_bad_stamp.empty() && !later.first_bad_stamp.empty()) {
    first_bad_stamp = std::move(later.first_bad_stamp);
    first_bad_row = rows + later.first_bad_row;
  }
  skipped += later.skipped;
  rows += later.rows;
  stamps += later.stamps;
  naive_stamps += later.naive_stamps;
  dropped_nuls += later.dropped_nuls;
  pauses.insert(pauses.end(), later.pauses.begin(), later.pauses.end());
  if (!counter) counter = std::move(later.counter);
}

std::vector<std::pair<std::string_view, std::uint64_t>> by_cause(const Skipped& skipped) {
  return {{"blank", skipped.blank},
          {"repeated_header", skipped.repeated_header},
          {"preamble", skipped.preamble},
          {"comment", skipped.comment},
          {"bad_timestamp", skipped.bad_timestamp},
          {"no_reading", skipped.no_reading},
          {"too_many_cells", skipped.too_many_cells},
          {"torn_tail", skipped.torn_tail}};
}

Telemetry::Telemetry(TelemetryHead head, Zone zone, Read read)
    : head_(std::move(head)), zone_(std::move(zone)), read_(std::move(read)) {}

std::vector<GpuKey> Telemetry::keys() const {
  std::vector<GpuKey> keys = head_.counts.keys;
  for (std::size_t i = keys.size(); i < devices().size(); ++i) {
    keys.push_back(key_of_name(devices()[i], facts().names_hosts));
  }
  return keys;
}

void Telemetry::read(const Take& take) {
  read_rows([&](std::span<const Reading> readings, const RowStates&) { take(readings); }, {});
}

void Telemetry::read_with_states(const TakeStates& take, GpuQuantitySet states) {
  read_rows(take, states);
}

void Telemetry::read_rows(const TakeStates& take, GpuQuantitySet states) {
  if (clock_offset_s_ == 0) {
    read_({zone_, states, uses_threads_, counters_}, take, head_.counts);
    return;
  }
  const double offset_s = clock_offset_s_;
  const auto moved = [offset_s](std::span<const Reading> readings) {
    std::vector<Reading> all(readings.begin(), readings.end());
    for (Reading& reading : all) reading.unix_s += offset_s;
    return all;
  };
  CounterStream counters;
  if (counters_ != nullptr) {
    counters.take = [&](std::span<const Reading> readings) { counters_->take(moved(readings)); };
  }
  read_(
      {zone_, states, uses_threads_, counters_ != nullptr ? &counters : nullptr},
      [&](std::span<const Reading> readings, const RowStates& of_rows) {
        take(moved(readings), of_rows);
      },
      head_.counts);
  if (counters_ != nullptr) counters_->counts = std::move(counters.counts);
  for (Window& pause : head_.counts.pauses) {
    pause = {pause.start_unix_s + offset_s, pause.end_unix_s + offset_s};
  }
}

}  // namespace aggregate_power
