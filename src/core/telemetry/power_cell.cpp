// Parses power cells of any form.
#include "core/telemetry/power_cell.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

#include "base/text/characters.h"

namespace aggregate_power {
namespace {

// Numbers that tools write for "no reading" (formats.md section 7).
bool is_sentinel(double number) {
  if (!may_be_sentinel(number)) return false;
  constexpr double kSentinels[] = {
      65535, 4294967295, 18446744073709551615.0, 2147483632, 2147483633, 2147483634, 2147483635,
      // DCGM's blanks for 64-bit integers (one double represents all eight) and for floating point.
      9223372036854775792.0, 140737488355328.0, 140737488355329.0, 140737488355330.0,
      140737488355331.0};
  return std::ranges::find(kSentinels, number) != std::end(kSentinels);
}

// The unit after a number: none, or one that does not contradict the header's.
std::optional<PowerUnit::Size> unit_of(std::string_view rest, PowerUnit header) {
  if (rest.empty()) return header.size;
  const auto size = power_unit(strip(rest));
  if (!size || (header.stated && *size != header.size)) return std::nullopt;
  return size;
}

std::optional<double> checked_watts(double number, std::string_view rest, PowerUnit header) {
  const auto size = unit_of(rest, header);
  if (!size || is_sentinel(number)) return std::nullopt;
  const double watts = in_watts(number, *size);
  if (!std::isfinite(watts)) return std::nullopt;
  return watts;
}

}  // namespace

std::optional<double> parse_any_watts(std::string_view cell, PowerUnit header) {
  double plain = 0;
  const char* const end_of_cell = cell.data() + cell.size();
  if (!cell.empty() && read_long_decimal(cell.data(), end_of_cell, plain) == end_of_cell) {
    return checked_watts(plain, {}, header);
  }
  const std::string digits = ascii_digits(strip(cell));
  std::string_view text = digits;
  if (text.starts_with('+')) text.remove_prefix(1);
  const std::string_view unsigned_text = text.starts_with('-') ? text.substr(1) : text;
  // from_chars would accept "inf" and "nan" too.
  if (unsigned_text.empty() ||
      !(unsigned_text[0] == '.' || (unsigned_text[0] >= '0' && unsigned_text[0] <= '9')) ||
      (text.size() != digits.size() && text.starts_with('-'))) {
    return std::nullopt;
  }
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range) {
    number = std::strtod(std::string(text).c_str(), nullptr);  // zero, or infinite
  } else if (error != std::errc()) {
    return std::nullopt;
  }
  return checked_watts(number, {end, text.data() + text.size()}, header);
}

}  // namespace aggregate_power
