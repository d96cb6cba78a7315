// Reads a recording with its format's function.
#include "recorders/telemetry.h"

namespace aggregate_power {

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

void Telemetry::read(const Take& take) {
  read_(
      {zone_, {}, uses_threads_, counters_},
      [&](std::span<const Reading> readings, std::span<const GpuState>) { take(readings); },
      head_.counts);
}

void Telemetry::read_with_states(const TakeStates& take, GpuQuantitySet states) {
  read_({zone_, states, uses_threads_, counters_}, take, head_.counts);
}

}  // namespace aggregate_power
