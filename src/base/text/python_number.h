// Reads numbers as Python's int() and float() do: blanks around, a sign, digits of any script,
// single underscores between digits.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace aggregate_power {

// Returns nullopt if int() raises, and beyond 64 bits.
std::optional<std::int64_t> python_int(std::string_view text);

// Returns nullopt if float() raises. "nan", "inf" and numbers too large for a double are numbers.
std::optional<double> python_float(std::string_view text);

// The nearest double of a decimal numeral (digits, a point, an exponent, a minus): zero or infinite
// if it is beyond the range of doubles. Returns nullopt for any other text, including "inf" and
// "nan".
std::optional<double> nearest_double(std::string_view numeral);

}  // namespace aggregate_power
