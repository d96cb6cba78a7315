// Tables that other locales write: cells separated by semicolons or tabs, numbers with a decimal
// comma, times with a comma before their fraction. They are read as the CSV that they would be.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "base/system/byte_source.h"

namespace aggregate_power {

struct CsvDialect {
  char separator = ',';
  bool decimal_comma = false;    // "90,5" is 90.5
  bool unclear_points = false;   // "82.292" may be 82292, as semicolons and milliwatts show
  std::size_t header_cells = 0;  // with `divided_time`
  std::optional<std::size_t> divided_time =
      {};  // the cell that "07:20:00,123" begins, as two cells

  bool is_usual() const { return separator == ',' && !decimal_comma && !divided_time; }
};

// The dialect of the table that begins with `head`, by its first rows: all of them must agree. A
// number such as "1,234" has a decimal comma only if others show that commas are decimal, or where
// semicolons separate cells and no name says milliwatts. `at_end`:
// `head` is the whole table.
CsvDialect csv_dialect(std::string_view head, bool at_end);

// The same rows as CSV, one for one. In a table with decimal commas a number with a point is an
// error, and so is one with unclear points: the source then throws CsvError with the row. It also
// throws for a row of more than 1 MiB.
std::unique_ptr<ByteSource> as_usual_csv(std::unique_ptr<ByteSource> source, CsvDialect dialect);

}  // namespace aggregate_power
