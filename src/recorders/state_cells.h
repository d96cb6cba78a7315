// Reads the states of GPUs from the cells of consecutive rows. Most cells repeat what they said a
// row before: such a cell is not parsed again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
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

  // Returns whether a cell differs from that of the row before, or has more than the nothing that
  // is before the first row. The text of the cells must stay valid until the next call.
  bool read(const CsvRow& row) {
    bool is_other = false;
    for (StateCell& cell : cells_) {
      const std::string_view text = row.cells[cell.place];
      if (!are_same(text, cell.text)) {
        cell.value = parse_state(text);
        is_other = true;
      }
      cell.text = text;
    }
    if (is_other) state_ = joined();
    return is_other;
  }
  // What the last row reports.
  const GpuState& state() const { return state_; }

 private:
  struct StateCell {
    std::size_t place = 0;         // in a row
    std::uint64_t active_bit = 0;  // of a reason column; 0: its value is the quantity's
    GpuQuantity quantity = {};
    std::string_view text = {};  // of the row before
    double value = parse_state({});
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
  GpuState joined() const;

  std::vector<StateCell> cells_;
  GpuState state_;
};

}  // namespace aggregate_power
