// Reads several decimals of a row at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace aggregate_power {

// Where the digits of four cells are, each of up to eight characters. Bits of the characters in
// memory order, the first one lowest.
struct alignas(32) DecimalFour {
  static constexpr std::size_t kCells = 4;
  using All = std::array<std::uint64_t, kCells>;

  All text = {};    // the characters of the cell
  All zero = {};    // what they are for digits that are 0, and the point
  All most = {};    // by how much each may be above that
  All before = {};  // the digits before the point
  All after = {};   // those after it, once they have moved to its place
  std::array<double, kCells> scale = {1, 1, 1, 1};  // of all eight characters as one number

  // That of the decimal of `size` characters at `at`, as the cell `which`. Eight characters may be
  // read. False: it is none.
  bool note(std::size_t which, const char* at, std::size_t size);
};

// A kernel reads cells, four at a time. What it finds is the same on every machine; only the
// instructions differ. False: a character is not where it should be.
struct PortableDecimals {
  static bool read(std::span<const DecimalFour> fours, const char* const* cells, double* values);
};
#if defined(__SSE2__)
struct Sse2Decimals {
  static bool read(std::span<const DecimalFour> fours, const char* const* cells, double* values);
};
#endif
#if defined(__x86_64__)
struct Avx2Decimals {  // where Avx2Kernel::is_supported()
  static bool read(std::span<const DecimalFour> fours, const char* const* cells, double* values);
};
#endif

// The decimals in some cells of one row after another, which are usually laid out alike. Rows are
// LineCells or LineWords.
class DecimalCells {
 public:
  explicit DecimalCells(std::vector<std::size_t> columns);

  // Returns false if one of them is neither a decimal of up to eight characters nor an integer of
  // up to 15. kLineSlack bytes after the line must be readable.
  template <typename Cells>
  bool read(const Cells& cells) {
    for (std::size_t i = 0; i < columns_.size(); ++i) begins_[i] = cells[columns_[i]].data();
    if (cells.layout() == layout_ && read_alike()) return true;
    layout_ = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) cells_[i] = cells[columns_[i]];
    if (!learn() || !read_alike()) return false;
    layout_ = cells.layout();
    return true;
  }
  // Of the row that was read last, by column: what read_whole_decimal() reads.
  std::span<double> values() { return std::span(values_).first(columns_.size()); }

 private:
  // An integer of more than eight digits is read as two: its last eight, and those before.
  struct LongInteger {
    std::size_t column;
    std::size_t last;  // where its last digits are among what is read
    std::size_t first_digits;
  };

  bool learn();
  void make_room(std::size_t count);
  bool read_alike();

  bool has_avx2_ = false;
  std::vector<std::size_t> columns_;
  std::uint64_t layout_ = 0;  // that of the row that was learned; 0: of none
  std::vector<DecimalFour> fours_;
  std::vector<LongInteger> long_;
  std::vector<const char*> begins_;  // of what is read: the cells, then what is left of long ones
  std::vector<double> values_;
  std::vector<std::string_view> cells_;  // of a row that is learned
};

}  // namespace aggregate_power
