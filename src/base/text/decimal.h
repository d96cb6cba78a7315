// Plain decimals, the form of nearly all cells in a recording, read in place and fast: digits, with
// at most one point among them. Other forms of numbers are left to from_chars() and
// python_float().
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/text/characters.h"

namespace aggregate_power {

struct ShortDecimal {
  double value = 0;        // the nearest double
  std::size_t size = 0;    // characters; 0: not a decimal, or one that is left to others
  std::size_t places = 0;  // digits after the point
};

// Sets the highest bit of each of the eight bytes that is not a digit's value, 0 to 9.
inline std::uint64_t no_digits(std::uint64_t values) {
  return (((values & 0x7F7F7F7F7F7F7F7FU) + 0x7676767676767676U) | values) & 0x8080808080808080U;
}

// The number of eight digits at once: neighbours are joined to pairs, pairs to fours, fours to one.
inline std::int64_t eight_digits(std::uint64_t values) {
  constexpr std::uint64_t kPairs = 0x000000FF000000FFU;
  values = values * 10 + (values >> 8);
  values =
      ((values & kPairs) * 0x000F424000000064U + ((values >> 16) & kPairs) * 0x0000271000000001U) >>
      32;
  return static_cast<std::int64_t>(values);
}

// Reads the decimal at the front of eight characters, the first of them lowest in memory order; the
// caller checks what follows the eighth. Left to others: eight digits, and a point without a digit
// on either side. There is no loop, because lengths vary from cell to cell.
[[gnu::always_inline]] inline ShortDecimal short_decimal(std::uint64_t characters) {
  static_assert(std::endian::native == std::endian::little);
  static constexpr std::array<double, 8> kPowersOfTen = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7};
  const auto low_bytes = [](std::size_t count) { return (std::uint64_t{1} << (8 * count)) - 1; };
  const std::uint64_t values = characters ^ 0x3030303030303030U;  // for digits: 0 to 9
  std::uint64_t others = no_digits(values);
  if (others == 0) return {};
  const auto whole = static_cast<std::size_t>(std::countr_zero(others)) / 8;
  if (whole == 0) return {};
  std::size_t size = whole;
  std::size_t places = 0;
  std::uint64_t digits = values & low_bytes(whole);
  if (((characters >> (8 * whole)) & 0xFF) == '.') {
    others &= others - 1;
    size = static_cast<std::size_t>(std::countr_zero(others)) / 8;  // 8: no other character follows
    places = size - whole - 1;
    if (places == 0) return {};
    digits |= (values >> 8) & low_bytes(size - 1) & ~low_bytes(whole);
  }
  const std::int64_t number = eight_digits(digits << (8 * (8 - whole - places)));
  // Both are exact, so their quotient is the nearest double.
  return {static_cast<double>(number) / kPowersOfTen[places], size, places};
}

// The first eight characters of a text, the first one lowest; zeros after its end.
[[gnu::always_inline]] inline std::uint64_t first_eight(std::string_view text) {
  static_assert(std::endian::native == std::endian::little);
  const auto load = [](const char* from, auto bytes) {
    std::memcpy(&bytes, from, sizeof bytes);
    return static_cast<std::uint64_t>(bytes);
  };
  const std::size_t size = text.size();
  const char* const at = text.data();
  if (size >= 8) return load(at, std::uint64_t{});
  // Two loads that overlap meet in the middle.
  if (size >= 4) {
    return load(at, std::uint32_t{}) | load(at + size - 4, std::uint32_t{}) << (8 * (size - 4));
  }
  if (size == 0) return 0;
  return load(at, std::uint8_t{}) | load(at + size / 2, std::uint8_t{}) << (8 * (size / 2)) |
         load(at + size - 1, std::uint8_t{}) << (8 * (size - 1));
}

// The nearest double of a text that is a decimal and nothing else: up to 16 digits, or up to 15 and
// a point. Returns false, and leaves `value`, if it is something else or a form that is left to
// others: a longer one, and a point without a digit on either side.
bool read_sixteen_characters(std::string_view text, double& value);
[[gnu::always_inline]] inline bool read_whole_decimal(std::string_view text, double& value) {
  const std::size_t size = text.size();
  if (size >= 8) return size <= 16 && read_sixteen_characters(text, value);
  const ShortDecimal found = short_decimal(first_eight(text));
  if (found.size == 0 || found.size != size) return false;
  value = found.value;
  return true;
}

// The same of 17 to 19 digits.
bool read_nineteen_digits(std::string_view text, double& value);

// These read at `at` and return the position after what they read. They return nullptr if it is
// something else, or a form that is left to others.

// Up to 17 digits.
const char* read_digits(const char* at, const char* end, std::int64_t& value);
// The nearest double of up to 15 digits, or of more if they are seconds since 1970 (from 2^22 to
// 2^31) with up to nine places. Left to others: all longer ones, and a point without a digit on
// either side.
const char* read_long_decimal(const char* at, const char* end, double& value);
// The same, faster for short ones.
inline const char* read_decimal(const char* at, const char* end, double& value) {
  std::uint64_t characters = 0;
  if (end - at <= static_cast<std::ptrdiff_t>(sizeof(characters))) {
    return read_long_decimal(at, end, value);
  }
  std::memcpy(&characters, at, sizeof(characters));
  const ShortDecimal found = short_decimal(characters);
  const char next = at[found.size];
  if (found.size == 0 || next == '.' || is_ascii_digit(next))
    return read_long_decimal(at, end, value);
  value = found.value;
  return at + found.size;
}

// The number that the whole text is, as std::from_chars() reads it. Returns nullopt for any other
// text, and for a number that is too large.
template <typename Number>
std::optional<Number> from_text(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end ? std::optional(number) : std::nullopt;
}

// ---- Reads numbers as Python's int() and float() do: blanks around, a sign, digits of any script,
// single underscores between digits.

// Returns nullopt if int() raises, and beyond 64 bits.
std::optional<std::int64_t> python_int(std::string_view text);

// Returns nullopt if float() raises. "nan", "inf" and numbers too large for a double are numbers.
std::optional<double> python_float(std::string_view text);

// The nearest double of a decimal numeral (digits, a point, an exponent, a minus): zero or infinite
// if it is beyond the range of doubles. Returns nullopt for any other text, including "inf" and
// "nan".
std::optional<double> nearest_double(std::string_view numeral);

}  // namespace aggregate_power
