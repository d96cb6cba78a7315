// Reads the states of GPUs from the cells of consecutive rows. Most cells repeat what they said a
// row before: such a cell is not parsed again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
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

  // Returns whether a cell differs from that of the row before, or this is the first row. The text
  // of the cells must stay valid as long as there are other rows to read.
  bool read(const CsvRow& row) {
    const bool is_same = has_row_ && std::ranges::all_of(cells_, [&](const StateCell& cell) {
                           return are_same(row.cells[cell.place], cell.text);
                         });
    if (!is_same) take(row);
    return !is_same;
  }
  // What the last row reports.
  const GpuState& state() const { return state_; }

 private:
  struct StateCell {
    std::size_t place = 0;         // in a row
    std::uint64_t active_bit = 0;  // of a reason column; 0: its value is the quantity's
    GpuQuantity quantity = {};
    std::string_view text = {};  // of the row before, or of an earlier one with the same
    double value = std::numeric_limits<double>::quiet_NaN();
  };
  // As ==, without a call for cells as short as most are.
  static bool are_same(std::string_view one, std::string_view other) {
    const std::size_t size = one.size();
    if (size != other.size()) return false;
    const auto are_ends_same = [&](auto characters) {
      auto others = characters;
      const auto are_same_at = [&](std::size_t at) {
        std::memcpy(&characters, one.data() + at, sizeof characters);
        std::memcpy(&others, other.data() + at, sizeof others);
        return characters == others;
      };
      return are_same_at(0) && are_same_at(size - sizeof characters);
    };
    if (size >= 4 && size <= 8) return are_ends_same(std::uint32_t{});
    if (size > 8 && size <= 16) return are_ends_same(std::uint64_t{});
    return one == other;
  }
  void take(const CsvRow& row);  // parses the cells that differ
  GpuState joined() const;

  std::vector<StateCell> cells_;
  bool has_row_ = false;
  GpuState state_;
};

}  // namespace aggregate_power
