// Reads longer decimals with exact rounding.
#include "base/text/decimal.h"

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

}  // namespace

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

}  // namespace aggregate_power
