// Numbers as people read them in tables.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace aggregate_power {

// "1 run", "2 runs".
std::string counted(std::size_t count, std::string_view noun);

// Four digits that say something, and no exponent where it can be: "0.4123", "12.35", "1235",
// "123456".
std::string shown_number(double value);

// With half the width of its interval, both to the second digit of that: "0.4123 ± 0.0021". An
// interval that is far from symmetric is shown itself: "0.41 (0.40 to 0.47)".
std::string shown_interval(double value, double low, double high);

// The same with its interval itself, whatever its form.
std::string shown_range(double value, double low, double high);

// "2026-09-08 07:20 UTC"; empty if it is not in the years 1 to 9999.
std::string shown_minute(double unix_s);

}  // namespace aggregate_power
