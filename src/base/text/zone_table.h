// The clocks of the world: the tz database of 2015 to 2037, compiled in, so that every machine
// decides the same way.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace aggregate_power {

// From `unix_s` on, a clock shows `offset_s` more than UTC.
struct ClockChange {
  std::int64_t unix_s = 0;
  std::int32_t offset_s = 0;
};

// All changes of one clock. Zones whose clocks never differed share one history.
struct ClockHistory {
  std::string_view zone;             // the best known of them, else the first: "Europe/Berlin"
  std::vector<ClockChange> changes;  // never empty; the first holds for all time before the second

  std::int32_t offset_at(double unix_s) const;
  // Changes after `begin_unix_s`, up to and including `end_unix_s`.
  std::span<const ClockChange> changes_between(double begin_unix_s, double end_unix_s) const;
};

// What some zone's clock shows more than UTC at that instant, from west to east.
std::vector<std::int32_t> offsets_in_use(double unix_s);

// The clocks of all inhabited zones (zone.tab of the tz database).
std::span<const ClockHistory> clock_histories();

}  // namespace aggregate_power
