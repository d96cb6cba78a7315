// Names and symbols of power units.
#include "aggregate_power/power_unit.h"

#include "base/text/unicode.h"

namespace aggregate_power {
std::optional<PowerUnit::Size> power_unit(std::string_view text) {
  const std::string lower = lower_ascii(text);
  if (lower == "w" || lower == "watt" || lower == "watts") return PowerUnit::Size::watt;
  if (lower == "mw" || lower == "mwatt" || lower == "mwatts") return PowerUnit::Size::milliwatt;
  if (lower == "kw" || lower == "kwatt" || lower == "kwatts") return PowerUnit::Size::kilowatt;
  return std::nullopt;
}

std::string_view unit_symbol(PowerUnit::Size size) {
  switch (size) {
    case PowerUnit::Size::watt:
      return "W";
    case PowerUnit::Size::milliwatt:
      return "mW";
    case PowerUnit::Size::kilowatt:
      return "kW";
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
  }
  return {};
}

}  // namespace aggregate_power
