// The user's choice of telemetry columns.
#pragma once

#include <optional>
#include <string>

#include "aggregate_power/power_unit.h"

namespace aggregate_power {

// Their names, and the unit of bare numbers in the power column. Empty: as the header shows.
struct ColumnNames {
  std::string timestamp = {};
  std::string power = {};
  std::string device = {};
  std::optional<PowerUnit::Size> power_unit = {};
};

}  // namespace aggregate_power
