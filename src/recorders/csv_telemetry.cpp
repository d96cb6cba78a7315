// Finds the header of a telemetry CSV and reads the rows below it.
#include "recorders/csv_telemetry.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/text/encoding.h"
#include "base/text/unicode.h"
#include "base/text/written_time.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kHeadRows = 64;  // the header must be among these

// An absolute time, not seconds since some start: after 1973.
bool is_absolute_time(std::string_view text) {
  const auto stamp = StampParser(Zone::fixed(0)).parse(text);
  return stamp && stamp->unix_s >= kFirstAbsoluteUnixS;
}

// The rows at a file's beginning, and what is known about them.
struct Head {
  std::vector<CsvTextRow> rows;
  std::vector<std::vector<std::string>> cells;  // by row

  Rows behind(std::size_t row) const { return Rows(cells).subspan(row + 1); }
  bool is_comment(std::size_t row) const {
    return !rows[row].blank && strip(cells[row][0]).starts_with('#');
  }
};

Head split_head(std::string_view text, bool at_end) {
  Head head;
  try {
    split_csv(text, kHeadRows, at_end, head.rows);
  } catch (const CsvError&) {
    if (head.rows.empty()) throw;  // otherwise the reader reports the fault later
  }
  head.cells.reserve(head.rows.size());
  for (CsvTextRow& row : head.rows) head.cells.push_back(std::move(row.cells));
  return head;
}

// The first row that a schema knows; else the first that the loose rule accepts; else the first
// line; the number of rows if there is none.
std::size_t find_header(const Head& head) {
  const std::size_t none = head.rows.size();
  const auto first = [&](auto&& accept) {
    std::size_t i = 0;
    while (i < none && (head.rows[i].blank || !accept(i))) ++i;
    return i;
  };
  std::size_t header = none;
  for (const bool by_schema : {true, false}) {
    header = first([&](std::size_t i) {
      return is_header(head.cells[i], head.behind(i), is_absolute_time, by_schema);
    });
    if (header != none) break;
  }
  if (header == none) header = first([&](std::size_t i) { return !head.is_comment(i); });
  if (header == none) return none;
  // A repeated header counts where it first occurred, whatever the rows after it say.
  return static_cast<std::size_t>(std::ranges::find(head.cells, head.cells[header]) -
                                  head.cells.begin());
}

Skipped rows_before(std::size_t header, const Head& head) {
  Skipped skipped;
  for (std::size_t i = 0; i < header; ++i) {
    ++(head.rows[i].blank   ? skipped.blank
       : head.is_comment(i) ? skipped.comment
                            : skipped.preamble);
  }
  return skipped;
}

// "0" and "1" may name columns; "28.44" and a time cannot.
bool is_number_or_time(const std::string& cell) {
  const auto stamp = StampParser(Zone::fixed(0)).parse(strip(cell));
  return stamp && (stamp->unix_s >= kFirstAbsoluteUnixS || cell.find('.') != cell.npos);
}

void give(const RowReadings& found, const RowSelection& selection,
          const CsvTelemetry::TakeStates& take) {
  take({found.readings.data(), found.count},
       {found.states.data(), selection.states != nullptr ? found.count : 0});
}

}  // namespace

CsvTelemetry::CsvTelemetry(std::unique_ptr<ByteSource> source, const std::optional<Zone>& zone,
                           const ColumnNames& wanted)
    : source_(as_utf8(std::move(source))),
      zone_(zone ? *zone : Zone::local()),
      rows_(Columns(), zone_, 0) {
  read_head(wanted);
  if (!zone && columns().naive_is_utc) use_zone(Zone::parse("UTC"));
}

void CsvTelemetry::use_zone(const Zone& zone) {
  zone_ = zone;
  rows_.use_zone(zone_);
}

void CsvTelemetry::read_head(const ColumnNames& wanted) {
  std::string text = read_up_to(*source_, kHeadBytes);
  Head head = split_head(text, text.size() < kHeadBytes);
  const std::size_t header = find_header(head);
  if (header == head.rows.size()) {
    Columns columns = choose_columns({}, {}, is_absolute_time, wanted);
    columns.reasons.add(Reason::no_header);
    rows_ = RowReader(std::move(columns), zone_, 0);
    csv_ = std::make_unique<CsvReader>(*source_, "");
    return;
  }
  header_ = std::move(head.cells[header]);
  Columns columns = choose_columns(header_, head.behind(header), is_absolute_time, wanted);
  if (std::ranges::any_of(header_, is_number_or_time)) columns.reasons.add(Reason::no_header);
  if (columns.timestamp && header + 1 < head.cells.size() &&
      columns.timestamp->index < head.cells[header + 1].size()) {
    note_first_stamp(strip(head.cells[header + 1][columns.timestamp->index]));
  }
  rows_ = RowReader(std::move(columns), zone_, header_.size());
  rows_.counts().skipped = rows_before(header, head);
  const std::size_t end = head.rows[header].end;
  dropped_nuls_ = static_cast<std::uint64_t>(
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\0'));
  text.erase(0, end);
  csv_ = std::make_unique<CsvReader>(*source_, text);
}

void CsvTelemetry::note_first_stamp(std::string_view text) {
  const auto stamp = StampParser(Zone::fixed(0)).parse(text);
  if (!stamp) return;
  if (stamp->naive) first_wall_s_ = stamp->unix_s;
  const std::optional<WrittenTime> written = read_iso(text);
  if (stamp->naive || !written || !written->offset_us) return;
  first_offset_ = {stamp->unix_s, static_cast<std::int32_t>(*written->offset_us / 1'000'000)};
}

std::string CsvTelemetry::first_bad_stamp() const {
  const RowCounts& counts = rows_.counts();
  if (counts.first_bad_row == 0) return {};
  return fmt::format("'{}' in row {} after the header", counts.first_bad_stamp,
                     counts.first_bad_row);
}

void CsvTelemetry::read(const Take& take) {
  read_rows({rows_.columns_to_select(), header_.size(), nullptr},
            [&](std::span<const Reading> readings, std::span<const GpuState>) { take(readings); });
}

void CsvTelemetry::read_with_states(const TakeStates& take) {
  RowSelection selection = {rows_.columns_to_select(), header_.size(), nullptr};
  GpuStateColumns cells;  // the positions in a row, as selected
  const GpuStateColumns found = choose_state_columns(header_, columns().schema);
  for (std::size_t i = 0; i < kGpuQuantities; ++i) {
    if (!found[i] || selection.columns.size() == kMaxWantedColumns) continue;
    cells[i] = selection.columns.size();
    selection.columns.push_back(*found[i]);
  }
  selection.states = &cells;
  read_rows(selection, take);
}

void CsvTelemetry::read_rows(const RowSelection& selection, const TakeStates& take) {
  if (!columns().device) rows_.devices().add_only_device();
  if (uses_threads_ && gains_by_threads() && read_on_threads(selection, take)) return;
  csv_->select(selection.columns, selection.header_cells);
  RowReadings found;
  while (true) {
    const std::span<const CsvRow> rows = csv_->next_batch();
    if (rows.empty()) return;
    found.count = 0;
    rows_.read(rows, selection.states, found);
    give(found, selection, take);
  }
}

// Threads cannot read a file in which the metric that is the power depends on earlier rows. Rows
// that are long take most of their time in the system's read(), which threads do not speed up.
bool CsvTelemetry::gains_by_threads() const {
  constexpr std::ptrdiff_t kLongRowBytes = 256;
  const std::string_view begin = csv_->ahead();
  const auto size = static_cast<std::ptrdiff_t>(begin.size());
  return !columns().metric_name &&
         size < kLongRowBytes * std::count(begin.begin(), begin.end(), '\n');
}

// Returns false if no thread could be started: nothing was read.
bool CsvTelemetry::read_on_threads(const RowSelection& selection, const TakeStates& take) {
  RowThreads threads(*csv_, *source_, rows_, zone_, selection);
  if (!threads.are_there()) return false;
  while (const RowPiece* const piece = threads.next(rows_.devices())) {
    rows_.counts().add(piece->counts);
    dropped_nuls_ += piece->dropped_nuls;
    give(piece->found, selection, take);
  }
  return true;
}

namespace {

TelemetryCounts counts_of(const CsvTelemetry& csv) {
  return {.devices = csv.devices(),
          .skipped = csv.skipped(),
          .rows = csv.rows(),
          .stamps = csv.stamps(),
          .naive_stamps = csv.naive_stamps(),
          .dropped_nuls = csv.dropped_nuls(),
          .first_bad_stamp = csv.first_bad_stamp()};
}

void read_csv(CsvTelemetry& csv, const Telemetry::Wants& wants, const Telemetry::TakeStates& take,
              TelemetryCounts& counts) {
  csv.use_zone(wants.zone);
  if (wants.threads) csv.use_threads();
  try {
    if (wants.states) {
      csv.read_with_states(take);
    } else {
      csv.read([&](std::span<const Reading> readings) { take(readings, {}); });
    }
  } catch (const CsvError& error) {
    counts = counts_of(csv);
    throw TelemetryError(error.what());
  } catch (...) {
    counts = counts_of(csv);
    throw;
  }
  counts = counts_of(csv);
}

}  // namespace

double fits_csv(std::string_view) { return 0.1; }

Telemetry open_csv(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  try {
    const auto csv =
        std::make_shared<CsvTelemetry>(std::move(source), options.zone, options.columns);
    TelemetryHead head = {series_facts(csv->columns(), options.columns), csv->first_wall_s(),
                          csv->first_offset(), counts_of(*csv)};
    return Telemetry(std::move(head), csv->zone(),
                     [csv](const Telemetry::Wants& wants, const Telemetry::TakeStates& take,
                           TelemetryCounts& counts) { read_csv(*csv, wants, take, counts); });
  } catch (const CsvError& error) {
    throw TelemetryError(error.what());
  }
}

}  // namespace aggregate_power
