// What a user said of the columns of telemetry.
#pragma once

#include <optional>
#include <string>

#include "aggregate_power/power_unit.h"

namespace aggregate_power {

// Their names, and what a bare number in that of power counts. Empty: as the header shows.
struct ColumnNames {
  std::string timestamp = {};
  std::string power = {};
  std::string device = {};
  std::optional<PowerUnit::Size> power_unit = {};
};

}  // namespace aggregate_power
