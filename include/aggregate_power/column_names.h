// The user's choice of telemetry columns.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// Three of them by name, the unit of bare numbers in the power column, and the names of all for a
// file without a header. Empty: as the header shows.
struct ColumnNames {
  std::string timestamp = {};
  std::string power = {};
  std::string device = {};
  std::optional<PowerUnit::Size> power_unit = {};
  std::vector<std::string> all = {};  // in their order; "": that column is not needed
};

// Parses "timestamp,index,,power.draw" for ColumnNames::all. Throws Error.
std::vector<std::string> parse_column_names(std::string_view text);

}  // namespace aggregate_power
