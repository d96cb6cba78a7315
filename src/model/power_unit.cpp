// Names and symbols of power units.
#include "aggregate_power/power_unit.h"

#include <algorithm>
#include <string>

#include "base/text/unicode.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kLongestUnit = std::string_view("micro-watts").size();

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

// "powermw", "drawmilliwatts": a word that ends in a unit, after one that power columns have.
std::optional<PowerUnit::Size> unit_at_end(std::string_view word) {
  constexpr std::string_view kBefore[] = {"power", "pwr", "draw", "usage", "consumption", "gpu"};
  const std::string lower = lower_ascii(word);
  const std::size_t first = lower.size() - std::min(lower.size(), kLongestUnit);
  for (std::size_t begin = std::max<std::size_t>(first, 1); begin < lower.size(); ++begin) {
    const std::string_view before = std::string_view(lower).substr(0, begin);
    const auto size = power_unit(std::string_view(lower).substr(begin));
    if (size && std::ranges::any_of(kBefore, [&](auto end) { return before.ends_with(end); })) {
      return size;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<PowerUnit::Size> power_unit(std::string_view text) {
  if (text.size() > kLongestUnit) return std::nullopt;
  const std::string lower = lower_ascii(text);
  std::string_view unit = lower;
  for (const std::string_view end : {"watts", "watt", "w"}) {
    if (!unit.ends_with(end)) continue;
    unit.remove_suffix(end.size());
    if (unit.ends_with('-')) unit.remove_suffix(1);
    if (unit.empty()) return PowerUnit::Size::watt;
    if (unit == "m" || unit == "milli") return PowerUnit::Size::milliwatt;
    if (unit == "k" || unit == "kilo") return PowerUnit::Size::kilowatt;
    if (unit == "u" || unit == "micro" || unit == "\u00B5" || unit == "\u03BC") {
      return PowerUnit::Size::microwatt;
    }
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<PowerUnit::Size> power_unit_in_name(std::string_view name) {
  std::optional<PowerUnit::Size> found;
  while (!name.empty()) {
    const auto end = std::ranges::find_if_not(name, is_letter);
    const std::string_view word(name.begin(), end);
    auto size = power_unit(word);
    if (!size) size = unit_at_end(word);
    if (size) found = size;
    name.remove_prefix(std::min(word.size() + 1, name.size()));
  }
  return found;
}

std::string_view unit_symbol(PowerUnit::Size size) {
  switch (size) {
    case PowerUnit::Size::watt:
      return "W";
    case PowerUnit::Size::milliwatt:
      return "mW";
    case PowerUnit::Size::kilowatt:
      return "kW";
    case PowerUnit::Size::microwatt:
      return "uW";
  }
  return {};
}

std::string_view unit_word(PowerUnit::Size size) {
  switch (size) {
    case PowerUnit::Size::watt:
      return "watts";
    case PowerUnit::Size::milliwatt:
      return "milliwatts";
    case PowerUnit::Size::kilowatt:
      return "kilowatts";
    case PowerUnit::Size::microwatt:
      return "microwatts";
  }
  return {};
}

}  // namespace aggregate_power
