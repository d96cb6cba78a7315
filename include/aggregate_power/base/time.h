// Written times to Unix seconds: the forms that CPython 3.11's datetime reads, in a given zone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace aggregate_power {

// What a stamp without an offset of its own means. Copies are cheap. The process's own zone
// is read but never changed.
class Zone {
 public:
  static Zone local();                       // the process's zone: $TZ, else /etc/localtime
  static Zone fixed(std::int32_t offset_s);  // so many seconds east of UTC
  // "local", "UTC", "+HH:MM" / "-HH:MM" (also +HHMM), or a name of the tz database such as
  // "Europe/Berlin", read from the system's tzdata. Throws Error, with the remedy, for a text that
  // is none of these; the message says when the machine has no tzdata at all.
  static Zone parse(std::string_view text);

  // As given to parse(): "local", "UTC", "+05:30", "Europe/Berlin".
  const std::string& name() const { return name_; }
  std::int32_t offset_at(std::int64_t unix_s) const;  // seconds east of UTC at that instant

  // The instant at which a clock of this zone shows `local_s`, the seconds since
  // 1970-01-01T00:00:00 on its own face. Python's rule with fold=0: an hour shown twice is the
  // earlier one, an hour that was skipped is read with the offset in force before the jump.
  std::int64_t unix_from_local(std::int64_t local_s) const;

 private:
  ...
};

// "+05:30", "-08:00", "+00:00"; with seconds only where there are some.
std::string offset_text(std::int32_t offset_s);

struct Stamp {
  double unix_s;  // bit for bit what Python's datetime.timestamp() gives
  bool naive;     // the text had no offset of its own and is no epoch: the zone decided
};

// Reads stamps one after another; remembers the last minute it saw, since the next stamp is
// mostly of the same minute.
class StampParser {
 public:
  explicit StampParser(Zone zone);
  // `text` is already stripped. Nothing when it is no time. Forms, in this order:
  //   epoch      -?digits[.digits]: seconds; above 1e12 ms, above 1e14 us, above 1e17 ns
  //   slashes    YYYY/M/D H:M:S[.f], as strptime reads it
  //   ISO 8601   as CPython 3.11's datetime.fromisoformat, after the first blank became T
  //              (if there is a blank and no T); one-digit hours in YYYY-MM-DD H:MM:SS[.f] too
  std::optional<Stamp> parse(std::string_view text);

 private:
  ...
};

}  // namespace aggregate_power
