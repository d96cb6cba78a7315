// Tells the power of a GPU from other quantities with similar names.
#include "recorders/power_names.h"

#include <algorithm>

#include "base/text/pattern.h"

namespace aggregate_power::columns {
namespace {

// formats.md section 9 rows 11 and 12.
constexpr Pattern kGenericPower =
    "(gpu[ ._-]?)?(power|pwr)([ ._-]?(draw|usage|used|consumption))?"
    "([ ._-]?([umk]?w|(milli|micro|kilo|m|k)?-?watts?))?"
    "|gpu[ ._-]?(milli|micro|kilo)?watts?";
// Names with "power" in them that are not a draw: formats.md 5.1.
constexpr Pattern kLimitWords =
    ".*(limit|cap|default|enforced|requested).*|(max|min)power.*|.*power(max|min)"
    "|(.*[^a-z0-9])?(max|min)([^a-z0-9].*)?";
constexpr Pattern kNotADraw =
    ".*power[._ ]?management.*|.*inforom\\.(pwr|power).*|.*power[._ "
    "]?(state|profile|mode|unit|type).*"
    "|.*pstate.*|.*low[._ ]?power.*|.*clocks_(event|throttle)_reasons.*"
    "|.*(violation|throttle|brake|smoothing|residency).*"
    "|.*(energy|joule|kwh|mwh|totec|accumulator).*|.*_mj"
    "|.*%.*"
    "|.*(nano|deci|centi|hecto|deca|mega|giga)-?watts?.*|(.*[^a-z0-9])?[ncdg]w([^a-z0-9].*)?"
    "|(.*[^a-z0-9])?(pct|percent|percentage|ratio|factor|efficiency|cost|price|saved|savings|target"
    "|temp|temperature|wh|j|kj)([^a-z0-9].*)?";
constexpr Pattern kOtherScope =
    "(.*[^a-z0-9])?(cpu|processor|ram|dram|soc|ia|gt|sys|system|node|total|psu|pcie slot|6-pin|rail"
    "|mvddq|mtbl|ubb|module|board temp|hbm|memory|vram|fans?|rack|chassis|baseboard|sum|all"
    ")([^a-z0-9].*)?|.*(psu|ubb|mvddq|6-pin|pcie slot).*";
// Names of the power of a part of a GPU, or of another part of the machine.
constexpr Pattern kPart =
    "(.*[^a-z0-9])?(cores?|gfx|vddgfx|vddc?|uncore|package|pkg|chip|die|battery|bat|charger|apu"
    "|igpu|pcie|slot|pin|input|aux|display|screen|panel|lcd|backlight|usb|disk|ssd|nic|percent)([^a-z0-9].*)?"
    "|.*(core|package|battery|charger|memory|hbm|vram|dram|cpu|soc|fan)[ ._-]?(power|pwr).*"
    "|.*(power|pwr)[ ._-]?(core|package|battery|charger|memory|hbm|vram|dram|cpu|soc|fan).*";
// AMD's names of a whole GPU's power; the second only where nothing else is called a power.
constexpr Pattern kGraphicsPackage = ".*graphics package power.*";
constexpr Pattern kPackage = "(gpu[ ._-]?)?package[ ._-]?power([^a-z].*)?";
constexpr Pattern kExtremes = ".*(peak|median|q1|q3|_std).*";
constexpr Pattern kMeans = ".*(avg|mean).*";
constexpr Pattern kPower = ".*power.*";
constexpr Pattern kPowerOrShort = ".*(power|pwr).*";

bool is_excluded(const Name& name) {
  return matches(name.full, kLimitWords) || matches(name.full, kNotADraw) ||
         matches(name.full, kOtherScope);
}

Found not_excluded(const std::vector<Name>& names, bool without_means) {
  Found power;
  for (const Name& name : names) {
    if (matches(name.full, kPower) && !is_excluded(name) && !matches(name.full, kExtremes) &&
        !(without_means && matches(name.full, kMeans))) {
      power.push_back(&name);
    }
  }
  return power;
}

// All that is called a power and is neither a limit nor another quantity, whatever draws it.
Found all_power(const std::vector<Name>& names) {
  Found power;
  for (const Name& name : names) {
    if (matches(name.full, kPowerOrShort) && !matches(name.full, kLimitWords) &&
        !matches(name.full, kNotADraw)) {
      power.push_back(&name);
    }
  }
  return power;
}

}  // namespace

Found generic_power(const std::vector<Name>& names) {
  Found power;
  for (const Name& name : names) {
    if (kGenericPower.matches(name.plain) && !is_excluded(name)) power.push_back(&name);
  }
  return power;
}

LoosePower loose_power(const std::vector<Name>& names) {
  LoosePower power = {not_excluded(names, true), {}};
  if (power.columns.empty()) power.columns = not_excluded(names, false);
  const Found all = all_power(names);
  const auto is_part = [&](const Name* name) {
    const bool is_package =
        matches(name->full, kGraphicsPackage) || (all.size() == 1 && matches(name->full, kPackage));
    return matches(name->full, kPart) && !is_package;
  };
  if (std::ranges::all_of(power.columns, is_part)) {
    if (!power.columns.empty()) power.parts = quoted_list(all);
  } else {
    std::erase_if(power.columns, is_part);
  }
  return power;
}

Found power_limits(const std::vector<Name>& names) {
  Found limits;
  for (const Name& name : names) {
    if (matches(name.full, kPowerOrShort) && matches(name.full, kLimitWords)) {
      limits.push_back(&name);
    }
  }
  return limits;
}

}  // namespace aggregate_power::columns
