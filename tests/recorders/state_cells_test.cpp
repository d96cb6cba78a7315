// States of GPUs, row by row.
#include "recorders/state_cells.h"

#include <cmath>
#include <string_view>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace state_cells_test {

CsvRow row_of(std::string_view first, std::string_view second) {
  CsvRow row;
  row.cells[1] = first;
  row.cells[3] = second;
  return row;
}

constexpr double kMissing = -1;

TEST(StateCells, FollowCellsThatChange) {
  GpuStateColumns columns;
  columns.quantities[static_cast<std::size_t>(GpuQuantity::utilization_pct)] = 1;
  columns.quantities[static_cast<std::size_t>(GpuQuantity::power_limit_w)] = 3;
  StateCells cells(columns);
  const struct {
    std::string_view utilization;
    std::string_view limit;
    double utilization_pct;
    double limit_w;
    bool is_other;
  } rows[] = {
      {" 97 %", " 700.00 W", 97, 700, true},   {" 97 %", " 700.00 W", 97, 700, false},
      {" 98 %", " 700.00 W", 98, 700, true},   {" 98 %", " 700.50 W", 98, 700.5, true},
      {" 700.50 W", " 98 %", 700.5, 98, true}, {" 98", " [N/A]", 98, kMissing, true},
      {"", "", kMissing, kMissing, true},      {"", "", kMissing, kMissing, false},
      {" 98 %", " 700.00 W", 98, 700, true},
  };
  for (const auto& [utilization, limit, utilization_pct, limit_w, is_other] : rows) {
    EXPECT_EQ(cells.read(row_of(utilization, limit)), is_other) << utilization << limit;
    const GpuState& state = cells.state();
    const auto number = [&](GpuQuantity quantity) {
      return std::isnan(state[quantity]) ? kMissing : state[quantity];
    };
    EXPECT_EQ(number(GpuQuantity::utilization_pct), utilization_pct) << utilization;
    EXPECT_EQ(number(GpuQuantity::power_limit_w), limit_w) << limit;
    EXPECT_EQ(number(GpuQuantity::clock_reasons), kMissing);
  }
}

TEST(StateCells, SayThatTheFirstRowIsOther) {
  GpuStateColumns columns;
  columns.quantities[static_cast<std::size_t>(GpuQuantity::utilization_pct)] = 1;
  StateCells cells(columns);
  EXPECT_TRUE(cells.read(row_of("", "")));
  EXPECT_TRUE(std::isnan(cells.state()[GpuQuantity::utilization_pct]));
  EXPECT_FALSE(cells.read(row_of("", "")));
}

TEST(StateCells, JoinTheColumnsOfClockReasons) {
  GpuStateColumns columns;
  columns.quantities[static_cast<std::size_t>(GpuQuantity::clock_reasons)] = 1;
  columns.reasons[1] = 3;  // hw_slowdown: 0x8
  StateCells cells(columns);
  const auto mask = [&](std::string_view first, std::string_view second) {
    cells.read(row_of(first, second));
    return cells.state()[GpuQuantity::clock_reasons];
  };
  EXPECT_EQ(mask("0x4", "Active"), 0x4 + 0x8);
  EXPECT_EQ(mask("0x4", "Not Active"), 0x4);
  // Each the same in its first eight characters.
  EXPECT_EQ(mask("0x0000000000000004", "Not Active"), 0x4);
  EXPECT_EQ(mask("0x0000000000000020", "Not Active"), 0x20);
  EXPECT_EQ(mask("0x0000000000000020", "Not Activ"), 0x20);
  EXPECT_EQ(mask("", "Not Active"), 0);
  EXPECT_EQ(mask("", "Active"), 0x8);
  EXPECT_TRUE(std::isnan(mask("", "")));
}

}  // namespace state_cells_test
}  // namespace aggregate_power
