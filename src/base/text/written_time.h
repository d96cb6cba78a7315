// The content of a written time, before any zone is applied. Text is UTF-8 and already stripped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace aggregate_power {

struct WrittenTime {
  std::int64_t clock_s;                   // local time as seconds since its own 1970-01-01T00:00:00
  int micros;                             // to be added
  std::optional<std::int64_t> offset_us;  // how far the clock is east of UTC; nullopt: naive
};

// YYYY/M/D H:M:S[.f], as CPython 3.11's strptime reads "%Y/%m/%d %H:%M:%S.%f", or that without
// ".%f".
std::optional<WrittenTime> read_slashes(std::string_view text);

// As CPython 3.11's datetime.fromisoformat reads it, after the first blank became T (if there is a
// blank and no T); also YYYY-MM-DD H:M:S[.f] with numbers of one digit.
std::optional<WrittenTime> read_iso(std::string_view text);

// "Tue Sep  8 07:20:30 2026", as ctime and `date` write it, in ISO 8601: "2026-09-08 07:20:30".
// `date` adds UTC or GMT before the year, or another zone, which its letters do not define; and AM
// or PM before that. Empty: it is not written so, or is in such a zone.
std::string iso_of_ctime(std::string_view text);

}  // namespace aggregate_power
