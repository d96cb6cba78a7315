// Parses power cells.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>

#include "base/text/decimal.h"

#include "aggregate_power/sample.h"

namespace aggregate_power {

// The watts in a cell: a number with an optional unit (W, mW, kW). Returns nullopt for any other
// text, for the numbers by which tools mean "none" (formats.md section 7), and for a unit that
// contradicts the header's.
std::optional<double> parse_watts(std::string_view cell, PowerUnit header);

// ---- The implementation, which is here so that it can be inlined into the loop over rows.

// The smallest number by which a tool means "none", and the next one.
inline constexpr double kFirstSentinel = 65535;
inline constexpr double kSecondSentinel = 2147483632;

inline bool may_be_sentinel(double number) {
  return !(number < kFirstSentinel || (number > kFirstSentinel && number < kSecondSentinel));
}

// parse_watts() for cells of any form.
std::optional<double> parse_any_watts(std::string_view cell, PowerUnit header);

// "613.84 W", "95.2", "238": a decimal of up to eight characters, then nothing or " W". NaN for any
// other cell, which may still be a number.
[[gnu::always_inline]] inline double common_watts(std::string_view cell) {
  const ShortDecimal number = short_decimal(first_eight(cell));
  const std::size_t rest = cell.size() - number.size;
  const bool is_common =
      number.size > 0 &&
      (rest == 0 || (rest == 2 && cell[number.size] == ' ' && cell[number.size + 1] == 'W'));
  return is_common ? number.value : std::numeric_limits<double>::quiet_NaN();
}

// The watts of a decimal without a unit. NaN for any other cell, which may still be a number, and
// for those that may mean "none".
[[gnu::always_inline]] inline double plain_watts(std::string_view cell, PowerUnit::Size unit) {
  double number = 0;
  const bool is_plain = read_whole_decimal(cell, number) && !may_be_sentinel(number);
  return is_plain ? in_watts(number, unit) : std::numeric_limits<double>::quiet_NaN();
}

inline std::optional<double> parse_watts(std::string_view cell, PowerUnit header) {
  if (header.size == PowerUnit::Size::watt) {
    const double watts = common_watts(cell);
    if (watts < kFirstSentinel) return watts;
  }
  return parse_any_watts(cell, header);
}

}  // namespace aggregate_power
