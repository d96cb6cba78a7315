// Notes which bytes of an element may differ.
#include "base/text/json_elements.h"

#include <algorithm>
#include <cmath>

namespace aggregate_power {

template <typename Element>
void JsonElementLayout<Element>::learn(std::string_view text, const Element& element) {
  if (in_a_row_ >= kOfUse) patience_.reward();
  in_a_row_ = 0;
  if (!patience_.is_due()) return;
  const auto is_decimal = [](const JsonScalar& scalar) { return !std::isnan(scalar.number); };
  const bool has_layout =
      text.size() <= kMost && std::ranges::all_of(scalars_of(element), is_decimal);
  size_ = has_layout ? text.size() : 0;
  if (!has_layout) return;
  lowest_.fill(0);
  range_.fill(0xFF);  // what comes after the element may be anything
  std::ranges::copy(text, lowest_.begin());
  std::fill_n(range_.begin(), size_, std::uint8_t{0});
  for (std::size_t i = 0; i < kScalars; ++i) {
    const JsonScalar& scalar = scalars_of(element)[i];
    const auto begin = static_cast<std::size_t>(scalar.text.data() - text.data());
    places_[i] = {begin, scalar.text.size(), scalar.kind, DecimalLayout(scalar.text)};
    for (std::size_t at = begin; at < begin + scalar.text.size(); ++at) {
      if (text[at] == '.') continue;
      lowest_[at] = '0';
      range_[at] = 9;
    }
    const bool may_lead_with_zero = scalar.text.size() == 1 || scalar.text[1] == '.';
    if (scalar.kind == JsonKind::string || may_lead_with_zero) continue;
    lowest_[begin] = '1';
    range_[begin] = 8;
  }
}

template class JsonElementLayout<JsonScalar>;
template class JsonElementLayout<JsonPair>;

}  // namespace aggregate_power
