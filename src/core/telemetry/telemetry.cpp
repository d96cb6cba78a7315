// Reads a recording with its format's function.
#include "core/telemetry/telemetry.h"

#include "core/telemetry/gpu_names.h"

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
  append(pauses, later.pauses);
  if (!counter) counter = std::move(later.counter);
  if (!later.sensors.empty()) sensors = std::move(later.sensors);
  if (!later.sums.empty()) sums = std::move(later.sums);
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

std::vector<std::string> Telemetry::identity_conflicts() const {
  const std::vector<std::string>& conflicts = head_.counts.identity_conflicts;
  return conflicts.empty() ? spelled_twice(devices(), keys()) : conflicts;
}

void Telemetry::read(const Take& take) {
  read_rows([&](std::span<const Reading> readings, const RowStates&) { take(readings); }, {});
}

void Telemetry::read_with_states(const TakeStates& take, GpuQuantitySet states) {
  read_rows(take, states);
}

void Telemetry::read_rows(const TakeStates& take, GpuQuantitySet states) {
  if (clock_offset_s_ == 0) {
    read_sorted_out({zone_, states, workers_, counters_}, take);
    return;
  }
  const double offset_s = clock_offset_s_;
  const auto moved = [offset_s](std::span<const Reading> readings) {
    std::vector<Reading> all(readings.begin(), readings.end());
    for (Reading& reading : all) reading.unix_s += offset_s;
    return all;
  };
  const auto move = [offset_s](Window& window) {
    window = {window.start_unix_s + offset_s, window.end_unix_s + offset_s};
  };
  CounterStream counters;
  if (counters_ != nullptr) {
    counters.take = [&](std::span<const Reading> readings) { counters_->take(moved(readings)); };
  }
  read_sorted_out({zone_, states, workers_, counters_ != nullptr ? &counters : nullptr},
                  [&](std::span<const Reading> readings, const RowStates& of_rows) {
                    take(moved(readings), of_rows);
                  });
  if (counters_ != nullptr) counters_->counts = std::move(counters.counts);
  std::ranges::for_each(head_.counts.pauses, move);
  for (AmbiguousHour& hour : head_.counts.ambiguous_hours) move(hour.window);
}

namespace {

// Passes on the readings; those in an hour that was shown twice get the times of their pass.
class SortedOut {
 public:
  explicit SortedOut(const Zone& zone) : hours_(zone) {}

  std::span<const Reading> of(std::span<const Reading> readings) {
    if (!hours_.concern(readings)) return readings;
    moved_.assign(readings.begin(), readings.end());
    hours_.sort_out(moved_);
    return moved_;
  }
  std::vector<AmbiguousHour> ambiguous() const { return hours_.ambiguous(); }

 private:
  RepeatedHours hours_;
  std::vector<Reading> moved_;
};

}  // namespace

void Telemetry::read_sorted_out(const Wants& wants, const TakeStates& take) {
  if (!head_.first_wall_s) return read_(wants, take, head_.counts);
  SortedOut power(zone_);
  SortedOut energy(zone_);
  const auto take_power = [&](std::span<const Reading> readings, const RowStates& states) {
    take(power.of(readings), states);
  };
  CounterStream counters;
  Wants own = wants;
  if (wants.counters != nullptr) {
    counters.take = [&](std::span<const Reading> readings) {
      wants.counters->take(energy.of(readings));
    };
    own.counters = &counters;
  }
  read_(own, take_power, head_.counts);
  if (wants.counters != nullptr) wants.counters->counts = std::move(counters.counts);
  head_.counts.ambiguous_hours = power.ambiguous();
}

}  // namespace aggregate_power
