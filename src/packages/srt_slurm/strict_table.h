// A CSV file of a package, read as strictly as its producer reads it: Python's csv module without
// skipping blanks, the header letter by letter, UTF-8 without NUL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/system/byte_source.h"
#include "base/text/csv.h"

namespace aggregate_power {

// The names of a version's columns. The first one contains the version.
struct TableVersion {
  int number = 0;  // from 1 to 9
  std::span<const std::string_view> columns;
};

class StrictTable {
 public:
  // Reads the header, which must be one of these. Throws what `source` throws.
  StrictTable(ByteSource& source, std::span<const TableVersion> versions);

  int version() const { return version_; }  // 0: unknown header; the rows mean nothing then
  std::size_t columns() const { return columns_.size(); }
  // The index of a column of the header; nullopt: this version has none.
  std::optional<std::size_t> column(std::string_view name) const;
  // The header as it is in the file, for messages.
  std::string_view first_line() const;

  // As in CsvReader.
  std::span<const CsvRow> next_batch(std::size_t most_rows = kMaxBatchRows) {
    return csv_.next_batch(most_rows);
  }
  std::string_view ahead() const { return csv_.ahead(); }
  void skip(std::size_t bytes) { csv_.skip(bytes); }

  // What is wrong with the number of cells or the version of a row; null: nothing.
  const char* shape_fault(const CsvRow& row) const;
  // Whether its cells are UTF-8. If they are not, the rows after it cannot be read either.
  bool is_text(const CsvRow& row) const;
  // Only at the end: whether there was a NUL.
  bool had_nul() const { return csv_.dropped_nuls() > 0; }

 private:
  std::string head_;
  CsvReader csv_;
  int version_ = 0;
  std::span<const std::string_view> columns_;
};

// "row 3 after the header: WHAT"; WHAT may be empty.
std::string row_fault(std::uint64_t row, std::string_view what);

}  // namespace aggregate_power
