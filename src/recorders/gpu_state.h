// What a telemetry file says of a GPU besides its power.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aggregate_power {

enum class GpuQuantity { temperature_c, utilization_pct, memory_used_mb };
inline constexpr std::size_t kGpuQuantities = 3;

// By quantity.
using GpuStateColumns = std::array<std::optional<std::size_t>, kGpuQuantities>;

// Of one row; NaN where it says nothing.
struct GpuState {
  std::array<double, kGpuQuantities> values = {std::numeric_limits<double>::quiet_NaN(),
                                               std::numeric_limits<double>::quiet_NaN(),
                                               std::numeric_limits<double>::quiet_NaN()};
  double operator[](GpuQuantity quantity) const {
    return values[static_cast<std::size_t>(quantity)];
  }
};

// Which columns of `header` hold them, by the names that the recorder of `schema`
// (Columns::schema) gives them. Duplicate names mean the last column of that name.
GpuStateColumns choose_state_columns(std::span<const std::string> header, std::string_view schema);

// "45", "45.5 %", "1234 MiB", "61 C": a finite number >= 0 with the unit of one of the three. NaN
// for any other text.
double parse_state(std::string_view cell);

}  // namespace aggregate_power
