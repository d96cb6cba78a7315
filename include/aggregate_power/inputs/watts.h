// What a power cell states.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

namespace aggregate_power {

// What a bare number in the power column counts.
struct PowerUnit {
  enum class Size { watt, milliwatt, kilowatt };
  Size size = Size::watt;
  bool stated = false;  // by the header; a cell's own unit must then agree
};

// A unit as people write it ("W", "mW", "Watts"), whatever its case. "MW" is read as milliwatts: no
// recorder of a GPU means megawatts.
std::optional<PowerUnit::Size> power_unit(std::string_view text);

// The watts a cell states: a number with an optional unit (W, mW, kW). Nothing for any other text,
// for the numbers by which tools mean "none" (formats.md section 7), and for a unit that
// contradicts the header's.
std::optional<double> parse_watts(std::string_view cell, PowerUnit header);

// ---- What follows is how; it is here so that it can be inlined into the loop over rows.

// The least number by which a tool means "none".
inline constexpr double kFirstSentinel = 65535;

// parse_watts() for cells of any form.
std::optional<double> parse_any_watts(std::string_view cell, PowerUnit header);

// The first eight characters of a cell, the first one lowest; zeros behind its end.
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

// "613.84 W", "95.2", "238": up to seven digits and a point within eight characters, then nothing
// or " W". Digits and power of ten are exact, so their quotient is the nearest double. NaN for any
// other cell, which may still be a number.
inline double common_watts(std::string_view cell) {
  static constexpr double kPowersOfTen[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7};
  constexpr double kNotCommon = std::numeric_limits<double>::quiet_NaN();
  const auto low_bytes = [](std::size_t count) { return (std::uint64_t{1} << (8 * count)) - 1; };
  const std::uint64_t values = first_eight(cell) ^ 0x3030303030303030U;  // of the digits: 0 to 9
  std::uint64_t others = (((values & 0x7F7F7F7F7F7F7F7FU) + 0x7676767676767676U) | values) &
                         0x8080808080808080U;  // a bit for each character that is no digit
  if (others == 0) return kNotCommon;
  const auto whole = static_cast<std::size_t>(std::countr_zero(others)) / 8;
  if (whole == 0) return kNotCommon;
  std::size_t end = whole;
  std::size_t places = 0;
  std::uint64_t digits = values & low_bytes(whole);
  if (whole < cell.size() && cell[whole] == '.') {
    others &= others - 1;
    if (others == 0) return kNotCommon;
    end = static_cast<std::size_t>(std::countr_zero(others)) / 8;
    places = end - whole - 1;
    if (places == 0) return kNotCommon;
    digits |= (values >> 8) & low_bytes(end - 1) & ~low_bytes(whole);
  }
  const std::size_t rest = cell.size() - end;
  if (rest != 0 && (rest != 2 || cell[end] != ' ' || cell[end + 1] != 'W')) return kNotCommon;
  // Eight digits at once: neighbours are joined to pairs, pairs to fours, fours to one number.
  digits <<= 8 * (8 - whole - places);
  digits = digits * 10 + (digits >> 8);
  constexpr std::uint64_t kPairs = 0x000000FF000000FFU;
  digits =
      ((digits & kPairs) * 0x000F424000000064U + ((digits >> 16) & kPairs) * 0x0000271000000001U) >>
      32;
  return static_cast<double>(digits) / kPowersOfTen[places];
}

inline std::optional<double> parse_watts(std::string_view cell, PowerUnit header) {
  if (header.size == PowerUnit::Size::watt) {
    const double watts = common_watts(cell);
    if (watts < kFirstSentinel) return watts;
  }
  return parse_any_watts(cell, header);
}

}  // namespace aggregate_power
