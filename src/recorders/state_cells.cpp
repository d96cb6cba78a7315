// Finds the cells, and puts their values together.
#include "recorders/state_cells.h"

#include <cmath>

namespace aggregate_power {

StateCells::StateCells(const GpuStateColumns& columns) {
  for (std::size_t i = 0; i < kGpuQuantities; ++i) {
    if (columns.quantities[i]) {
      cells_.push_back({*columns.quantities[i], 0, static_cast<GpuQuantity>(i)});
    }
  }
  if (columns.other_limit) cells_.push_back({*columns.other_limit, 0, GpuQuantity::power_limit_w});
  for (std::size_t i = 0; i < kReasonColumns; ++i) {
    if (columns.reasons[i]) {
      cells_.push_back({*columns.reasons[i], clock_reason(i), GpuQuantity::clock_reasons});
    }
  }
}

void StateCells::take(const CsvRow& row) {
  has_row_ = true;
  for (StateCell& cell : cells_) {
    const std::string_view text = row.cells[cell.place];
    if (text == cell.text) continue;
    cell.value = parse_state(text);
    cell.text = text;
  }
  state_ = joined();
}

GpuState StateCells::joined() const {
  GpuState state;
  for (const StateCell& cell : cells_) {
    double& value = state.values[static_cast<std::size_t>(cell.quantity)];
    if (cell.active_bit == 0) {
      if (std::isnan(value)) value = cell.value;
    } else if (cell.value == 0 || cell.value == 1) {
      const auto others = std::isnan(value) ? 0 : static_cast<std::uint64_t>(value);
      value = static_cast<double>(others | (cell.value == 1 ? cell.active_bit : 0));
    }
  }
  return state;
}

}  // namespace aggregate_power
