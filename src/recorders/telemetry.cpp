// A telemetry CSV to readings.
#include "recorders/telemetry.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/text/encoding.h"
#include "base/text/unicode.h"
#include "base/text/written_time.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kHeadBytes = 64 * 1024;
constexpr std::size_t kHeadRows = 64;  // in which the header must stand

std::string_view trimmed(std::string_view cell) {
  const auto is_plain = [](char c) { return c > ' ' && c < 0x7F; };
  if (!cell.empty() && is_plain(cell.front()) && is_plain(cell.back())) return cell;
  return strip(cell);
}

// An absolute time, not seconds since some start: after 1973.
bool is_absolute_time(std::string_view text) {
  const auto stamp = StampParser(Zone::fixed(0)).parse(text);
  return stamp && stamp->unix_s >= kFirstAbsoluteUnixS;
}

void read_state(const CsvRow& row, const GpuStateColumns& cells, GpuState& state) {
  for (std::size_t i = 0; i < kGpuQuantities; ++i) {
    if (cells[i]) state.values[i] = parse_state(row.cells[*cells[i]]);
  }
}

}  // namespace

std::vector<std::pair<std::string_view, std::uint64_t>> by_cause(const Skipped& skipped) {
  return {{"blank", skipped.blank},
          {"repeated_header", skipped.repeated_header},
          {"preamble", skipped.preamble},
          {"comment", skipped.comment},
          {"bad_timestamp", skipped.bad_timestamp},
          {"no_reading", skipped.no_reading},
          {"too_many_cells", skipped.too_many_cells},
          {"torn_tail", skipped.torn_tail}};
}

Telemetry::Telemetry(std::unique_ptr<ByteSource> source, const std::optional<Zone>& zone,
                     const ColumnNames& wanted)
    : source_(as_utf8(std::move(source))), zone_(zone ? *zone : Zone::local()), stamps_(zone_) {
  read_head(wanted);
  if (!zone && columns_.naive_is_utc) use_zone(Zone::parse("UTC"));
}

void Telemetry::use_zone(const Zone& zone) {
  zone_ = zone;
  stamps_ = StampParser(zone_);
}

void Telemetry::read_head(const ColumnNames& wanted) {
  head_ = read_up_to(*source_, kHeadBytes);
  const bool at_end = head_.size() < kHeadBytes;
  std::vector<CsvTextRow> rows;
  try {
    split_csv(head_, kHeadRows, at_end, rows);
  } catch (const CsvError&) {
    if (rows.empty()) throw;  // otherwise the reader meets the fault in its turn
  }

  std::vector<std::vector<std::string>> cells;
  cells.reserve(rows.size());
  for (CsvTextRow& row : rows) cells.push_back(std::move(row.cells));
  const auto behind = [&](std::size_t i) { return Rows(cells).subspan(i + 1); };
  const auto is_comment = [&](std::size_t i) {
    return !rows[i].blank && strip(cells[i][0]).starts_with('#');
  };
  const auto find_header = [&](auto&& accept) {
    std::size_t i = 0;
    while (i < rows.size() && (rows[i].blank || !accept(i))) ++i;
    return i;
  };

  // The first row that a schema knows; else the first that the loose rule takes; else the first
  // line.
  std::size_t header = find_header(
      [&](std::size_t i) { return is_header(cells[i], behind(i), is_absolute_time, true); });
  if (header == rows.size()) {
    header = find_header(
        [&](std::size_t i) { return is_header(cells[i], behind(i), is_absolute_time, false); });
  }
  if (header == rows.size()) header = find_header([&](std::size_t i) { return !is_comment(i); });
  if (header == rows.size()) {
    columns_ = choose_columns({}, {}, is_absolute_time, wanted);
    columns_.reasons.add(Reason::no_header);
    csv_ = std::make_unique<CsvReader>(*source_, "");
    return;
  }
  // A header that is repeated was the header where it first stood, whatever the rows behind it say.
  header = static_cast<std::size_t>(std::ranges::find(cells, cells[header]) - cells.begin());
  columns_ = choose_columns(cells[header], behind(header), is_absolute_time, wanted);
  for (std::size_t i = 0; i < header; ++i) {
    ++(rows[i].blank ? skipped_.blank : is_comment(i) ? skipped_.comment : skipped_.preamble);
  }
  // "0" and "1" may name columns; "28.44" and a time do not.
  if (std::ranges::any_of(cells[header], [](const std::string& cell) {
        const auto stamp = StampParser(Zone::fixed(0)).parse(strip(cell));
        return stamp && (stamp->unix_s >= kFirstAbsoluteUnixS || cell.find('.') != cell.npos);
      })) {
    columns_.reasons.add(Reason::no_header);
  }
  if (columns_.timestamp && header + 1 < cells.size() &&
      columns_.timestamp->index < cells[header + 1].size()) {
    note_first_stamp(strip(cells[header + 1][columns_.timestamp->index]));
  }
  header_cells_ = cells[header].size();
  header_ = std::move(cells[header]);
  head_nuls_ = static_cast<std::uint64_t>(std::count(
      head_.begin(), head_.begin() + static_cast<std::ptrdiff_t>(rows[header].end), '\0'));
  head_.erase(0, rows[header].end);
  csv_ = std::make_unique<CsvReader>(*source_, head_);
  head_ = {};
}

void Telemetry::note_first_stamp(std::string_view text) {
  const auto stamp = StampParser(Zone::fixed(0)).parse(text);
  if (!stamp) return;
  if (stamp->naive) first_wall_s_ = stamp->unix_s;
  const std::optional<WrittenTime> written = read_iso(text);
  if (stamp->naive || !written || !written->offset_us) return;
  first_offset_ = {stamp->unix_s, static_cast<std::int32_t>(*written->offset_us / 1'000'000)};
}

void Telemetry::note_bad_stamp(std::string_view text) {
  first_bad_stamp_ = fmt::format("'{}' in row {} behind the header", printable(strip(text)), rows_);
}

bool Telemetry::is_repeated_header(const CsvRow& row) const {
  // Files that were joined may have a byte-order mark before a header in their middle.
  const auto is_name = [](std::string_view cell, const std::string& name) {
    if (cell.starts_with("\xEF\xBB\xBF")) cell.remove_prefix(3);
    return strip(replace_invalid_utf8(cell)) == name;
  };
  return row.cell_count == header_cells_ && is_name(row.cells[0], columns_.timestamp->name) &&
         is_name(row.cells[1], columns_.power->name);
}

bool Telemetry::is_wanted_metric(std::string_view name) {
  // When the file's beginning does not show which power metric it has, it is the first one met.
  if (columns_.metric.empty() && is_power_metric(name)) columns_.metric = name;
  return !columns_.metric.empty() && name == columns_.metric;
}

inline std::uint32_t Telemetry::find_device(const CsvRow& row) {
  if (columns_.host) return devices_.find(row.cells[3], row.cells[2]);
  return devices_.find(trimmed(row.cells[2]));
}

// NaN when no power column holds a reading.
inline double Telemetry::find_watts(const CsvRow& row) const {
  const std::string_view cell = trimmed(row.cells[1]);
  if (columns_.unit.size == PowerUnit::Size::watt) {
    const double watts = common_watts(cell);
    if (watts < kFirstSentinel) return watts;
  }
  auto watts = parse_any_watts(cell, columns_.unit);
  for (std::size_t i = 0; !watts && i < columns_.other_power.size() && 5 + i < kMaxWantedColumns;
       ++i) {
    watts = parse_watts(trimmed(row.cells[5 + i]), columns_.unit);
  }
  return watts.value_or(std::numeric_limits<double>::quiet_NaN());
}

// False when the row says nothing.
inline bool Telemetry::read_row(const CsvRow& row, Reading& reading) {
  if (!row.terminated && !row.swallowed_lines && row.cell_count < header_cells_ && !row.blank) {
    ++skipped_.torn_tail;
    return false;
  }
  if (columns_.metric_name && row.cell_count > 1 && !is_repeated_header(row) &&
      !is_wanted_metric(trimmed(row.cells[4]))) {
    return false;
  }
  Stamp stamp{};
  if (!stamps_.read(trimmed(row.cells[0]), stamp)) {
    if (row.blank || is_repeated_header(row)) {
      ++(row.blank ? skipped_.blank : skipped_.repeated_header);
      return false;
    }
    if (skipped_.bad_timestamp++ == 0) note_bad_stamp(row.cells[0]);
    reading = {0, 0, 0, Reading::Kind::bad_timestamp};
    return true;
  }
  ++stamps_read_;
  naive_stamps_ += stamp.naive ? 1 : 0;
  reading.unix_s = stamp.unix_s;
  reading.kind = Reading::Kind::no_power;
  reading.device = columns_.device ? find_device(row) : 0;
  if (row.filled_count > header_cells_) {
    ++skipped_.too_many_cells;
    return true;
  }
  const double watts = find_watts(row);
  if (std::isnan(watts)) {
    ++skipped_.no_reading;
    return true;
  }
  reading.watts = watts;
  const bool is_named = reading.device != DeviceNames::kNone;
  if (watts < 0) {
    ++skipped_.no_reading;
    if (is_named) reading.kind = Reading::Kind::negative_power;
    return true;
  }
  reading.kind = is_named ? Reading::Kind::power : Reading::Kind::no_device;
  return true;
}

std::vector<std::size_t> Telemetry::select_columns() const {
  std::vector<std::size_t> selected = {columns_.timestamp->index, columns_.power->index};
  const auto index_or_timestamp = [&](const std::optional<Column>& column) {
    return column ? column->index : columns_.timestamp->index;
  };
  selected.push_back(index_or_timestamp(columns_.device));
  selected.push_back(index_or_timestamp(columns_.host));
  selected.push_back(index_or_timestamp(columns_.metric_name));
  if (!columns_.host && !columns_.metric_name && columns_.other_power.empty()) selected.resize(3);
  for (const std::size_t index : columns_.other_power) {
    if (selected.size() < kMaxWantedColumns) selected.push_back(index);
  }
  return selected;
}

void Telemetry::read(const Take& take) {
  read_rows(
      select_columns(),
      [&](std::span<const Reading> readings, std::span<const GpuState>) { take(readings); },
      nullptr);
}

void Telemetry::read_with_states(const TakeStates& take) {
  std::vector<std::size_t> selected = select_columns();
  GpuStateColumns cells;  // of a row, as selected
  const GpuStateColumns columns = choose_state_columns(header_, columns_.schema);
  for (std::size_t i = 0; i < kGpuQuantities; ++i) {
    if (!columns[i] || selected.size() == kMaxWantedColumns) continue;
    cells[i] = selected.size();
    selected.push_back(*columns[i]);
  }
  read_rows(selected, take, &cells);
}

// `states` says which of the cells selected hold the GPU's state; without it none is read.
void Telemetry::read_rows(const std::vector<std::size_t>& selected, const TakeStates& take,
                          const GpuStateColumns* states) {
  csv_->select(selected, header_cells_);
  if (!columns_.device) devices_.add_only_device();

  std::vector<Reading> readings;
  std::vector<GpuState> found;
  while (true) {
    const std::span<const CsvRow> rows = csv_->next_batch();
    if (rows.empty()) return;
    readings.resize(rows.size());
    if (states != nullptr) found.assign(rows.size(), {});
    std::size_t count = 0;
    for (const CsvRow& row : rows) {
      ++rows_;
      const bool is_reading = read_row(row, readings[count]);
      if (states != nullptr && is_reading) read_state(row, *states, found[count]);
      count += is_reading ? 1 : 0;
    }
    take({readings.data(), count}, {found.data(), states != nullptr ? count : 0});
  }
}

}  // namespace aggregate_power
