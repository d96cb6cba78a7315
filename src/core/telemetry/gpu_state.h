// What a telemetry file reports about a GPU besides its power.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// A column that says "Active" or "Not Active" of one of NVML's clocks event reasons.
inline constexpr std::size_t kReasonColumns = 5;

struct GpuStateColumns {
  std::array<std::optional<std::size_t>, kGpuQuantities> quantities = {};
  std::array<std::optional<std::size_t>, kReasonColumns> reasons = {};
  // Of the power limit too: it counts in rows where the first column states none.
  std::optional<std::size_t> other_limit = {};

  bool operator==(const GpuStateColumns&) const = default;
};

// The columns of `header` that contain the quantities, by the names that the recorder of `schema`
// (Columns::schema) gives them. Duplicate names mean the last column of that name.
GpuStateColumns choose_state_columns(std::span<const std::string> header, std::string_view schema);

// Parses "45", "45.5 %", "1234 MiB", "61 C", "700.00 W": a finite number >= 0 with the unit of one
// of the quantities; "Active" and "Not Active" are 1 and 0, and "0x4" is a number, too. Returns NaN
// for any other text.
double parse_state(std::string_view cell);

// NVML's bit of a reason column.
std::uint64_t clock_reason(std::size_t reason_column);

}  // namespace aggregate_power
