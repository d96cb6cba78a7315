// Rows exactly as Python's csv.reader (excel dialect) gives them from a file of UTF-8: for formats
// whose readers are strict, where csv.h forgives.
#pragma once

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "aggregate_power/base/byte_source.h"

namespace aggregate_power {

// Where csv.reader raises: a cell of more than 131,072 characters, or bytes that are no UTF-8.
struct PythonCsvError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Streams: memory is one row and a buffer.
class PythonCsv {
 public:
  explicit PythonCsv(ByteSource& source) : source_(source) {}

  // The next row; an empty line is a row without cells. False at the end. Blanks stay; a quote
  // opens a quoted cell only as a cell's first character. Throws PythonCsvError, or what the source
  // throws.
  bool next(std::vector<std::string>& cells);

 private:
  int get();
  void check(const std::string& cell) const;

  ByteSource& source_;
  std::array<char, 65536> buffer_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  bool after_cr_ = false;  // a line feed that follows belongs to that line end
};

}  // namespace aggregate_power
