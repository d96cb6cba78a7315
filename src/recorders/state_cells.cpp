// Remembers the cells of the row before.
#include "recorders/state_cells.h"

#include <cmath>

#include "base/text/decimal.h"

namespace aggregate_power {

StateCells::StateCells(const GpuStateColumns& columns) {
  for (std::size_t i = 0; i < kGpuQuantities; ++i) {
    if (columns.quantities[i]) {
      cells_.push_back({*columns.quantities[i], 0, static_cast<GpuQuantity>(i)});
    }
  }
  for (std::size_t i = 0; i < kReasonColumns; ++i) {
    if (columns.reasons[i]) {
      cells_.push_back({*columns.reasons[i], clock_reason(i), GpuQuantity::clock_reasons});
    }
  }
}

bool StateCells::is_repeated(const StateCell& cell, std::string_view text) {
  return text.size() == cell.text.size() && first_eight(text) == cell.first_characters &&
         (text.size() <= 8 || text == cell.text);
}

GpuState StateCells::joined() const {
  GpuState state;
  for (const StateCell& cell : cells_) {
    double& value = state.values[static_cast<std::size_t>(cell.quantity)];
    if (cell.active_bit == 0) {
      value = cell.value;
    } else if (cell.value == 0 || cell.value == 1) {
      const auto others = std::isnan(value) ? 0 : static_cast<std::uint64_t>(value);
      value = static_cast<double>(others | (cell.value == 1 ? cell.active_bit : 0));
    }
  }
  return state;
}

const GpuState& StateCells::read(const CsvRow& row) {
  bool is_other = false;
  for (StateCell& cell : cells_) {
    const std::string_view text = row.cells[cell.place];
    if (!is_repeated(cell, text)) {
      cell.first_characters = first_eight(text);
      cell.value = parse_state(text);
      is_other = true;
    }
    cell.text = text;
  }
  if (is_other) state_ = joined();
  return state_;
}

}  // namespace aggregate_power
