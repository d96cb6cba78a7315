// The unit in which power is written.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace aggregate_power {

// The unit of a bare number in the power column.
struct PowerUnit {
  enum class Size { watt, milliwatt, kilowatt, microwatt };
  Size size = Size::watt;
  bool stated = false;  // by the header; a cell's own unit must then agree
};

inline constexpr PowerUnit::Size kPowerUnits[] = {PowerUnit::Size::microwatt,
                                                  PowerUnit::Size::milliwatt, PowerUnit::Size::watt,
                                                  PowerUnit::Size::kilowatt};

// Parses a unit as people write it ("W", "mW", "Watts", "milliwatts"), in any case. "MW" is read as
// milliwatts: no GPU recorder means megawatts.
std::optional<PowerUnit::Size> power_unit(std::string_view text);
// The unit in a column's name: in brackets, or one of its words, the last one that is a unit:
// "power [mW]", "power_milliwatts", "powerMilliwatts", "power_mw_gpu0".
std::optional<PowerUnit::Size> power_unit_in_name(std::string_view name);
// Another unit that a column's name states: "10mW" in "power [10mW]", "x10 mW", "dW", "dBm", "%",
// "mJ". Words that say how, where or how long was measured are no unit:
// "power (GPU 0)", "power [1 s avg]". Returns nullopt if there is none.
std::optional<std::string> other_unit_in_name(std::string_view name);
// That such a column is not read, for people; nullopt: it may be.
std::optional<std::string> other_unit_text(std::string_view name);
// "uW", "mW", "W", "kW"; and "microwatts", "milliwatts", "watts", "kilowatts".
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
    case PowerUnit::Size::microwatt:
      return number / 1e6;
  }
  return number;
}

}  // namespace aggregate_power
