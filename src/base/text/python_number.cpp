// Turns Python's numerals into ones that <charconv> reads.
#include "base/text/python_number.h"

#include <charconv>
#include <cstdlib>
#include <string>
#include <system_error>

#include "base/text/ascii.h"
#include "base/text/decimal.h"
#include "base/text/characters.h"

namespace aggregate_power {
namespace {

// The form that <charconv> reads: without blanks, underscores and a plus. Returns nullopt if those
// are misplaced.
std::optional<std::string> plain_numeral(std::string_view text) {
  const std::string digits = ascii_digits(strip(text));
  std::string plain;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (digits[i] != '_') {
      plain.push_back(digits[i]);
    } else if (i == 0 || i + 1 == digits.size() || !is_ascii_digit(digits[i - 1]) ||
               !is_ascii_digit(digits[i + 1])) {
      return std::nullopt;
    }
  }
  if (plain.starts_with("+-")) return std::nullopt;
  if (plain.starts_with('+')) plain.erase(0, 1);
  return plain;
}

template <typename Number>
std::optional<Number> read(const std::string& plain) {
  Number value{};
  const char* const end = plain.data() + plain.size();
  const auto [at, error] = std::from_chars(plain.data(), end, value);
  if (at != end || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc()) return value;
  if constexpr (std::is_integral_v<Number>) return std::nullopt;
  return std::strtod(plain.c_str(), nullptr);  // zero, or infinite
}

}  // namespace

std::optional<double> nearest_double(std::string_view numeral) {
  double plain = 0;
  if (read_whole_decimal(numeral, plain)) return plain;
  const char* const end = numeral.data() + numeral.size();
  if (!numeral.empty() && read_long_decimal(numeral.data(), end, plain) == end) return plain;
  if (numeral.find_first_not_of("0123456789.eE+-") != std::string_view::npos) return std::nullopt;
  return read<double>(std::string(numeral));
}

std::optional<std::int64_t> python_int(std::string_view text) {
  const std::optional<std::string> plain = plain_numeral(text);
  return plain ? read<std::int64_t>(*plain) : std::nullopt;
}

std::optional<double> python_float(std::string_view text) {
  const std::optional<std::string> plain = plain_numeral(text);
  // "nan(...)" is valid only in C.
  return plain && !plain->ends_with(')') ? read<double>(*plain) : std::nullopt;
}

}  // namespace aggregate_power
