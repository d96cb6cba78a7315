// Reads the states of GPUs from the cells of consecutive rows. Most cells repeat what they said a
// row before: such a cell is not parsed again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "aggregate_power/sample.h"
#include "base/text/csv.h"
#include "recorders/gpu_state.h"

namespace aggregate_power {

class StateCells {
 public:
  // `columns` says which cells of a row contain what.
  explicit StateCells(const GpuStateColumns& columns);

  // The state that a row reports. The text of its cells must stay valid until the next call.
  const GpuState& read(const CsvRow& row);

 private:
  struct StateCell {
    std::size_t place = 0;         // in a row
    std::uint64_t active_bit = 0;  // of a reason column; 0: its value is the quantity's
    GpuQuantity quantity = {};
    // Of the row before.
    std::string_view text = {};
    std::uint64_t first_characters = 0;
    double value = parse_state({});
  };
  static bool is_repeated(const StateCell& cell, std::string_view text);
  GpuState joined() const;

  std::vector<StateCell> cells_;
  GpuState state_;
};

}  // namespace aggregate_power
