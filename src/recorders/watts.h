// Parses power cells.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "base/text/decimal.h"

#include "aggregate_power/power_unit.h"

namespace aggregate_power {

// The watts in a cell: a number with an optional unit (W, mW, kW). Returns nullopt for any other
// text, for the numbers by which tools mean "none" (formats.md section 7), and for a unit that
// contradicts the header's.
std::optional<double> parse_watts(std::string_view cell, PowerUnit header);

// ---- The implementation, which is here so that it can be inlined into the loop over rows.

// The smallest number by which a tool means "none".
inline constexpr double kFirstSentinel = 65535;

// parse_watts() for cells of any form.
std::optional<double> parse_any_watts(std::string_view cell, PowerUnit header);

// The first eight characters of a cell, the first one lowest; zeros after its end.
inline std::uint64_t first_eight(std::string_view cell) {
  static_assert(std::endian::native == std::endian::little);
  const auto load = [](const char* from, auto bytes) {
    std::memcpy(&bytes, from, sizeof bytes);
    return static_cast<std::uint64_t>(bytes);
  };
  const std::size_t size = cell.size();
  const char* const at = cell.data();
  if (size >= 8) return load(at, std::uint64_t{});
  // Two loads that overlap meet in the middle.
  if (size >= 4) {
    return load(at, std::uint32_t{}) | load(at + size - 4, std::uint32_t{}) << (8 * (size - 4));
  }
  if (size == 0) return 0;
  return load(at, std::uint8_t{}) | load(at + size / 2, std::uint8_t{}) << (8 * (size / 2)) |
         load(at + size - 1, std::uint8_t{}) << (8 * (size - 1));
}

// "613.84 W", "95.2", "238": a decimal of up to eight characters, then nothing or " W". NaN for any
// other cell, which may still be a number.
inline double common_watts(std::string_view cell) {
  const ShortDecimal number = short_decimal(first_eight(cell));
  const std::size_t rest = cell.size() - number.size;
  const bool is_common =
      number.size > 0 &&
      (rest == 0 || (rest == 2 && cell[number.size] == ' ' && cell[number.size + 1] == 'W'));
  return is_common ? number.value : std::numeric_limits<double>::quiet_NaN();
}

inline std::optional<double> parse_watts(std::string_view cell, PowerUnit header) {
  if (header.size == PowerUnit::Size::watt) {
    const double watts = common_watts(cell);
    if (watts < kFirstSentinel) return watts;
  }
  return parse_any_watts(cell, header);
}

}  // namespace aggregate_power
