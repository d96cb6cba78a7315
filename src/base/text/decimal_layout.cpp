// Notes where a decimal has its point.
#include "base/text/decimal_layout.h"

#include <algorithm>

namespace aggregate_power {
namespace {

constexpr std::size_t kEight = 8;

std::size_t digits_in(std::string_view text) {
  return text.size() - (text.find('.') == text.npos ? 0 : 1);
}

// Exact, as the powers are up to 10^22.
double power_of_ten(std::size_t exponent) {
  double power = 1;
  for (std::size_t i = 0; i < exponent; ++i) power *= 10;
  return power;
}

}  // namespace

DecimalLayout::Part::Part(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::size_t digits = digits_in(text);
  before = first_bytes(point);
  after = first_bytes(digits) & ~before;
  shift = static_cast<int>(8 * (kEight - digits));
}

DecimalLayout::DecimalLayout(std::string_view decimal) : is_long_(decimal.size() > kEight) {
  last_at_ = is_long_ ? decimal.size() - kEight : decimal.size();
  first_ = Part(decimal.substr(0, last_at_));
  if (is_long_) {
    last_ = Part(decimal.substr(last_at_));
    scale_ = static_cast<std::int64_t>(power_of_ten(digits_in(decimal.substr(last_at_))));
  }
  const std::size_t point = decimal.find('.');
  power_of_ten_ = power_of_ten(point == decimal.npos ? 0 : decimal.size() - point - 1);
}

}  // namespace aggregate_power
