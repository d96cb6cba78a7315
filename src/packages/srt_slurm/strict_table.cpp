// Checks header, versions and cells of a strict table.
#include "packages/srt_slurm/strict_table.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "base/text/python_number.h"
#include "base/text/utf8.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kHeaderBytes = 4096;

void select(CsvReader& csv, std::size_t columns) {
  std::array<std::size_t, kMaxWantedColumns> numbers;
  std::iota(numbers.begin(), numbers.end(), 0);
  csv.select(std::span(numbers).first(columns), columns);
}

bool has_header(std::string_view head, std::span<const std::string_view> columns) {
  MemorySource source(head);
  CsvReader csv(source, "", CsvBlanks::kept);
  select(csv, columns.size());
  const auto rows = csv.next_batch(1);
  return !rows.empty() && rows[0].cell_count == columns.size() &&
         std::ranges::equal(columns, std::span(rows[0].cells).first(columns.size()));
}

}  // namespace

StrictTable::StrictTable(ByteSource& source, std::span<const TableVersion> versions)
    : head_(read_up_to(source, kHeaderBytes)), csv_(source, head_, CsvBlanks::kept) {
  const auto version = std::ranges::find_if(
      versions, [&](const TableVersion& one) { return has_header(head_, one.columns); });
  if (version == versions.end()) return;
  version_ = version->number;
  columns_ = version->columns;
  select(csv_, columns());
  csv_.next_batch(1);  // the header
}

std::optional<std::size_t> StrictTable::column(std::string_view name) const {
  const auto found = std::ranges::find(columns_, name);
  return found == columns_.end()
             ? std::nullopt
             : std::optional(static_cast<std::size_t>(found - columns_.begin()));
}

std::string_view StrictTable::first_line() const {
  return std::string_view(head_).substr(0, head_.find_first_of("\r\n"));
}

const char* StrictTable::shape_fault(const CsvRow& row) const {
  if (row.cell_count != columns()) return "the number of cells is not the header's";
  const std::string_view cell = row.cells[0];
  const bool is_plain = cell.size() == 1 && cell[0] == static_cast<char>('0' + version_);
  return is_plain || python_int(cell) == version_ ? nullptr : "a different schema_version";
}

bool StrictTable::is_text(const CsvRow& row) const {
  return std::ranges::all_of(std::span(row.cells).first(columns()), is_utf8);
}

std::string row_fault(std::uint64_t row, std::string_view what) {
  return fmt::format("row {} after the header{}{}", row, what.empty() ? "" : ": ", what);
}

}  // namespace aggregate_power
