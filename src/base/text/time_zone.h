// Time zones: the local time at an instant, and the instant of a local time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aggregate_power {

// The offsets from UTC of zones in use are multiples of it.
inline constexpr double kZoneStep_s = 900;

// The second in which an instant lies, for what asks a clock: an instant beyond the years 1 to
// 9999, as damaged recordings have, counts as the end of them that is nearer, and NaN as the first
// second.
std::int64_t whole_second(double unix_s);

// Local times that a clock shows twice, because it was turned back by `size_s` at their end.
struct RepeatedHour {
  std::int64_t begin_unix_s = 0;  // when they are shown first
  std::int64_t end_unix_s = 0;    // when the clock is turned back
  std::int32_t size_s = 0;
  std::int32_t offset_before_s = 0;  // of the zone, until the end

  bool contains(double unix_s) const {
    return unix_s >= static_cast<double>(begin_unix_s) && unix_s < static_cast<double>(end_unix_s);
  }
};

// How to read a stamp without an offset of its own. Copies are cheap, and may be used by several
// threads. The process's own zone is read but never changed.
class Zone {
 public:
  static Zone local();                       // the process's zone: $TZ, else /etc/localtime
  static Zone fixed(std::int32_t offset_s);  // east of UTC
  // A clock that changes once: `offset_before_s` until `step_unix_s`, `offset_after_s` from then
  // on.
  static Zone stepping(std::int32_t offset_before_s, std::int64_t step_unix_s,
                       std::int32_t offset_after_s);
  // "local", "UTC", "+HH:MM" / "-HH:MM" (also +HHMM), or a name in the tz database such as
  // "Europe/Berlin", read from the system's tzdata. Throws Error, with the remedy, for a text that
  // is none of these; the message says if the machine has no tzdata at all.
  static Zone parse(std::string_view text);

  // As given to parse(); for local() and fixed(), what parse() would accept: "local", "+05:30". For
  // stepping(), a text for people only: "+01:00, from 2026-03-29T01:00:00Z +02:00".
  const std::string& name() const { return name_; }
  // Seconds east of UTC at that instant: the time that the zone's clock shows, less `unix_s`.
  std::int32_t offset_at(std::int64_t unix_s) const { return offset_at_(unix_s); }

  // The instant at which a clock of this zone shows `local_s`, the seconds since
  // 1970-01-01T00:00:00 on its own face. Python's rule with fold=0: an hour shown twice is the
  // earlier one, an hour that was skipped is read with the offset in force before the jump. Returns
  // nullopt if Python raises: on the first and last days of the years 1 to 9999.
  std::optional<std::int64_t> unix_from_local(std::int64_t local_s) const;

  // The hour that ends in (begin, end], at most two days apart, or nullopt. unix_from_local() gives
  // its first showing.
  std::optional<RepeatedHour> repeated_hour(std::int64_t begin_unix_s,
                                            std::int64_t end_unix_s) const;

 private:
  using OffsetAt = std::function<std::int32_t(std::int64_t)>;
  Zone(std::string name, OffsetAt offset_at);

  std::string name_;
  OffsetAt offset_at_;
};

// "+05:30", "-08:00", "+00:00"; with seconds only if there are some.
std::string offset_text(std::int32_t offset_s);

// ---- The clocks of the world: the tz database of 2015 to 2037, compiled in, so that every machine
// decides the same way.

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
