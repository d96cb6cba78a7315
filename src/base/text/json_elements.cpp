// Notes which bytes of an element may differ.
#include "base/text/json_elements.h"

#include <algorithm>
#include <cmath>

namespace aggregate_power {

void JsonElementLayout::learn_all(std::string_view element, std::span<const JsonScalar> scalars) {
  size_ = 0;
  const auto is_decimal = [](const JsonScalar& scalar) { return !std::isnan(scalar.number); };
  if (element.size() > kMost || !std::ranges::all_of(scalars, is_decimal)) return;
  size_ = element.size();
  lowest_.fill(0);
  range_.fill(0xFF);  // what comes after the element may be anything
  std::ranges::copy(element, lowest_.begin());
  std::fill_n(range_.begin(), size_, std::uint8_t{0});
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    const auto& [kind, text, number] = scalars[i];
    const auto begin = static_cast<std::size_t>(text.data() - element.data());
    places_[i] = {begin, text.size(), kind, DecimalLayout(text)};
    for (std::size_t at = begin; at < begin + text.size(); ++at) {
      if (element[at] == '.') continue;
      lowest_[at] = '0';
      range_[at] = 9;
    }
    const bool has_leading_digit = text.size() > 1 && text[1] != '.';
    if (kind == JsonKind::string || !has_leading_digit) continue;
    lowest_[begin] = '1';
    range_[begin] = 8;
  }
}

}  // namespace aggregate_power
