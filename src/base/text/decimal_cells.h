// Reads several decimals of a row at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/text/line_cells.h"

namespace aggregate_power {

// Where the digits of two cells are, each of up to eight characters. Bits of the characters in
// memory order, the first one lowest.
struct alignas(16) DecimalPair {
  using Both = std::array<std::uint64_t, 2>;

  Both text = {};                        // the characters of the cell
  Both zero = {};                        // what they are for digits that are 0, and the point
  Both most = {};                        // by how much each may be above that
  Both before = {};                      // the digits before the point
  Both after = {};                       // those after it, once they have moved to its place
  std::array<double, 2> scale = {1, 1};  // of all eight characters as one number

  // That of the decimal of `size` characters at `at`, as the cell `which`. Eight characters may be
  // read. False: it is none.
  bool note(std::size_t which, const char* at, std::size_t size);
};

// A kernel reads pairs of cells. What it finds is the same on every machine; only the instructions
// differ. False: a character is not where it should be.
struct PortableDecimals {
  static bool read(std::span<const DecimalPair> pairs, const char* const* cells, double* values);
};
#if defined(__SSE2__)
struct Sse2Decimals {
  static bool read(std::span<const DecimalPair> pairs, const char* const* cells, double* values);
};
#endif

// The decimals in some cells of one row after another, which are usually laid out alike.
class DecimalCells {
 public:
  explicit DecimalCells(std::vector<std::size_t> columns);

  // Returns false if one of them is not a decimal of up to eight characters. kLineSlack bytes after
  // the line must be readable.
  bool read(const LineCells& cells);
  // Of the row that was read last, by column: what read_whole_decimal() reads.
  std::span<double> values() { return std::span(values_).first(columns_.size()); }

 private:
  bool learn(const LineCells& cells);
  bool read_alike();

  std::vector<std::size_t> columns_;
  std::uint64_t layout_ = 0;  // LineCells::layout() of which the pairs are; 0: of none
  std::vector<DecimalPair> pairs_;
  std::vector<const char*> begins_;
  std::vector<double> values_;
};

}  // namespace aggregate_power
