// The unit in which power is written.
#pragma once

#include <optional>
#include <string_view>

namespace aggregate_power {

// The unit of a bare number in the power column.
struct PowerUnit {
  enum class Size { watt, milliwatt, kilowatt };
  Size size = Size::watt;
  bool stated = false;  // by the header; a cell's own unit must then agree
};

// Parses a unit as people write it ("W", "mW", "Watts"), in any case. "MW" is read as milliwatts:
// no GPU recorder means megawatts.
std::optional<PowerUnit::Size> power_unit(std::string_view text);
// "W", "mW", "kW"; and "watts", "milliwatts", "kilowatts".
std::string_view unit_symbol(PowerUnit::Size size);
std::string_view unit_word(PowerUnit::Size size);
inline double in_watts(double number, PowerUnit::Size size) {
  switch (size) {
    case PowerUnit::Size::watt:
      return number;
    case PowerUnit::Size::milliwatt:
      return number / 1000;
    case PowerUnit::Size::kilowatt:
      return number * 1000;
  }
  return number;
}

}  // namespace aggregate_power
