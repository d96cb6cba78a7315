// Times and durations for people.
#pragma once

#include <string>

#include "base/text/time_zone.h"

namespace aggregate_power {

// "1788819619.279 (2026-09-07T22:20:19.279Z)"; the number alone if it is not in the years 1 to
// 9999.
std::string unix_and_iso(double unix_s);

// "2026-09-08 09:20:30.000 +02:00": as a clock in that zone shows it.
std::string wall_time(double unix_s, const Zone& zone);

// A duration of either sign, in its two largest units: "9 h", "2 min 3 s", "1.5 s", "3 d 4 h".
std::string difference_in_words(double seconds);

// "1.500 s"; with the same in words if it is a minute or more: "123.000 s (2 min 3 s)".
std::string seconds_and_words(double seconds);

// "in milliseconds: divide by 1000", also for 1e6 and 1e9; empty for another `factor`.
std::string unit_text(double factor);

// The same for a Unix time that is too large to be in seconds, by the bounds of epoch_seconds().
std::string wrong_unit_text(double unix_s);

}  // namespace aggregate_power
