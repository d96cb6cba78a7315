// Reads longer decimals with exact rounding.
#include "base/text/decimal.h"

#include <cstdlib>
#include <string>

namespace aggregate_power {
namespace {

constexpr std::array<std::int64_t, 10> kTens = {
    1, 10, 100, 1000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000, 1'000'000'000};
constexpr std::ptrdiff_t kMostDigits = 17;
constexpr std::ptrdiff_t kExactDigits = 15;  // a double represents any number with so many digits
                                             // exactly

// Seconds since 1970 with more digits than a double: in units of 2^-32 s, with a last bit that says
// whether something was cut off, all bits that matter are present, and the conversion rounds once.
double unix_seconds(std::int64_t whole, std::int64_t fraction, std::int64_t scale) {
  const std::int64_t shifted = fraction << 31;
  const std::int64_t quotient = shifted / scale;
  const std::int64_t rest = quotient * scale == shifted ? 0 : 1;
  return static_cast<double>((((whole << 31) | quotient) << 1) | rest) * 0x1p-32;
}

constexpr std::uint64_t kDigitZeros = 0x3030303030303030U;

std::uint64_t low_bytes(std::size_t count) {
  return count == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * count)) - 1;
}

std::uint64_t load_eight(const char* from) {
  std::uint64_t characters = 0;
  std::memcpy(&characters, from, sizeof(characters));
  return characters;
}

// Takes out the point at `point`: the digits before it come to its place, after a zero.
std::uint64_t without_point(std::uint64_t values, std::size_t point) {
  return (values & low_bytes(point)) << 8 | (values & ~low_bytes(point + 1));
}

}  // namespace

bool read_sixteen_characters(std::string_view text, double& value) {
  static constexpr std::array<double, 15> kPowersOfTen = {
      1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};
  constexpr std::size_t kEight = 8;
  const std::size_t first_size = text.size() - kEight;  // what is before the last eight
  std::uint64_t first = (load_eight(text.data()) ^ kDigitZeros) & low_bytes(first_size);
  std::uint64_t last = load_eight(text.data() + first_size) ^ kDigitZeros;
  const std::uint64_t no_first = no_digits(first);
  const std::uint64_t no_last = no_digits(last);
  std::size_t places = 0;
  std::int64_t scale = 100'000'000;
  if ((no_first | no_last) != 0) {
    const bool is_in_last = no_first == 0;
    const std::uint64_t others = is_in_last ? no_last : no_first;
    const auto point = static_cast<std::size_t>(std::countr_zero(others)) / 8;
    std::uint64_t& part = is_in_last ? last : first;
    const bool is_point = (others & (others - 1)) == 0 && (is_in_last || no_last == 0) &&
                          ((part >> (8 * point)) & 0xFF) == ('.' ^ '0');
    places = text.size() - 1 - (is_in_last ? first_size : 0) - point;
    if (!is_point || places == 0 || places + 1 == text.size()) return false;
    part = without_point(part, point);
    if (is_in_last) scale = 10'000'000;
  }
  first <<= 8 * (kEight - first_size) % 64;
  const std::int64_t number =
      (first_size == 0 ? 0 : eight_digits(first) * scale) + eight_digits(last);
  // Up to 15 digits are exact, so their quotient is the nearest double; without a point there is
  // one rounding.
  value = static_cast<double>(number) / kPowersOfTen[places];
  return true;
}

bool read_nineteen_digits(std::string_view text, double& value) {
  constexpr std::size_t kSixteen = 16;
  if (text.size() <= kSixteen || text.size() > 19) return false;
  const std::uint64_t first = load_eight(text.data()) ^ kDigitZeros;
  const std::uint64_t second = load_eight(text.data() + 8) ^ kDigitZeros;
  if ((no_digits(first) | no_digits(second)) != 0) return false;
  auto number =
      static_cast<std::uint64_t>(eight_digits(first) * 100'000'000 + eight_digits(second));
  for (const char c : text.substr(kSixteen)) {
    if (!is_ascii_digit(c)) return false;
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  value = static_cast<double>(number);
  return true;
}

const char* read_digits(const char* at, const char* end, std::int64_t& value) {
  const char* const begin = at;
  value = 0;
  constexpr std::size_t kEight = 8;
  while (end - at >= static_cast<std::ptrdiff_t>(kEight)) {
    std::uint64_t characters = 0;
    std::memcpy(&characters, at, kEight);
    const std::uint64_t values = characters ^ 0x3030303030303030U;
    const auto digits = static_cast<std::size_t>(std::countr_zero(no_digits(values))) / 8;
    const char* const behind = at + digits;
    if (behind - begin > kMostDigits) return nullptr;
    if (digits > 0) value = value * kTens[digits] + eight_digits(values << (8 * (kEight - digits)));
    at = behind;
    if (digits < kEight) return at == begin ? nullptr : at;
  }
  for (; at < end && is_ascii_digit(*at); ++at) {
    if (at - begin == kMostDigits) return nullptr;
    value = value * 10 + (*at - '0');
  }
  return at == begin ? nullptr : at;
}

const char* read_long_decimal(const char* at, const char* end, double& value) {
  const char* const begin = at;
  std::int64_t whole = 0;
  at = read_digits(at, end, whole);
  if (at == nullptr) return nullptr;
  value = static_cast<double>(whole);
  if (at == end || *at != '.') return at - begin > kExactDigits ? nullptr : at;
  const char* const point = at;
  std::int64_t fraction = 0;
  at = read_digits(at + 1, end, fraction);
  if (at == nullptr) return nullptr;
  const auto places = static_cast<std::size_t>(at - point - 1);
  if (places >= kTens.size()) return nullptr;
  const std::int64_t scale = kTens[places];
  if (at - begin - 1 <= kExactDigits) {
    value = static_cast<double>(whole * scale + fraction) / static_cast<double>(scale);
    return at;
  }
  // Neither less than the cut-off bit allows, nor too large for 63 bits.
  if (whole >> 22 == 0 || whole >> 31 != 0) return nullptr;
  value = unix_seconds(whole, fraction, scale);
  return at;
}

// ---- Turns Python's numerals into ones that <charconv> reads.

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
