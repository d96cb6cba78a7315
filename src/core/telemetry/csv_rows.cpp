// Turns the cells of a row into a reading.
#include "core/telemetry/telemetry.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "core/telemetry/energy_counter.h"
#include "core/telemetry/gpu_names.h"
#include "core/telemetry/power_cell.h"

namespace aggregate_power {
namespace {

[[gnu::always_inline]] inline std::string_view trimmed(std::string_view cell) {
  const auto is_plain = [](char c) { return c > ' ' && c < 0x7F; };
  if (!cell.empty() && is_plain(cell.front()) && is_plain(cell.back())) return cell;
  return strip(cell);
}

// The seconds in the last three digits of "2022-07-13 02:07:36.708783111", which are cut off as in
// Python.
double beyond_microseconds(std::string_view stamp) {
  const std::size_t point = stamp.rfind('.');
  if (point == stamp.npos || stamp.size() - point != 10) return 0;
  double nanoseconds = 0;
  for (const char digit : stamp.substr(stamp.size() - 3)) {
    if (digit < '0' || digit > '9') return 0;
    nanoseconds = nanoseconds * 10 + (digit - '0');
  }
  return nanoseconds / 1e9;
}

// A file that was joined from several may have a byte-order mark before a header in its middle.
std::string name_in(std::string_view cell) {
  if (cell.starts_with("\xEF\xBB\xBF")) cell.remove_prefix(3);
  return std::string(strip(replace_invalid_utf8(cell)));
}

bool is_name(std::string_view cell, std::string_view name) { return name_in(cell) == name; }

bool has_long_number(std::string_view text) {
  constexpr int kLong = 5;
  int digits = 0;
  return std::ranges::any_of(text, [&](char c) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    return digits == kLong;
  });
}

bool has_comma_in_number(std::string_view cell) {
  const std::size_t comma = cell.find(',');
  return comma != cell.npos && comma > 0 && comma + 1 < cell.size() &&
         is_ascii_digit(cell[comma - 1]) && is_ascii_digit(cell[comma + 1]);
}

// What the cells of a row report of its GPU. `columns` says which of them contain what.
GpuState state_in(const CsvRow& row, const GpuStateColumns& columns) {
  GpuState state;
  for (std::size_t i = 0; i < kGpuQuantities; ++i) {
    if (columns.quantities[i]) state.values[i] = parse_state(row.cells[*columns.quantities[i]]);
  }
  double& limit_w = state.values[static_cast<std::size_t>(GpuQuantity::power_limit_w)];
  limit_w *= columns.limit_unit_w.value_or(1);
  if (columns.other_limit && std::isnan(limit_w)) {
    limit_w = columns.other_limit_unit_w.value_or(1) * parse_state(row.cells[*columns.other_limit]);
  }
  double& mask = state.values[static_cast<std::size_t>(GpuQuantity::clock_reasons)];
  for (std::size_t i = 0; i < kReasonColumns; ++i) {
    if (!columns.reasons[i]) continue;
    const double active = parse_state(row.cells[*columns.reasons[i]]);
    if (active != 0 && active != 1) continue;
    const auto others = std::isnan(mask) ? 0 : static_cast<std::uint64_t>(mask);
    mask = static_cast<double>(others | (active == 1 ? clock_reason(i) : 0));
  }
  return state;
}

bool are_same(const GpuState& one, const GpuState& other) {
  return std::memcmp(&one, &other, sizeof one) == 0;  // also where a value is missing
}

}  // namespace

void RowCounts::add(const RowCounts& later) {
  if (first_bad_row == 0 && later.first_bad_row > 0) {
    first_bad_row = rows + later.first_bad_row;
    first_bad_stamp = later.first_bad_stamp;
  }
  if (first_misfit_row == 0 && later.first_misfit_row > 0) {
    first_misfit_row = rows + later.first_misfit_row;
    first_misfit = later.first_misfit;
  }
  if (other_header_row == 0 && later.other_header_row > 0) {
    other_header_row = rows + later.other_header_row;
  }
  rows += later.rows;
  stamps += later.stamps;
  naive_stamps += later.naive_stamps;
  skipped += later.skipped;
  if (other_counter == nullptr) other_counter = later.other_counter;
  if (later.resolution) resolution = later.resolution;
}

void RowReadings::clear() {
  count = 0;
  states.clear();
}

RowStates RowReadings::row_states() const {
  if (states.empty()) return {};
  return {states, std::span(states_of_rows).first(count)};
}

RowReader::RowReader(Columns columns, const Zone& zone, std::size_t header_cells, GpuSelection gpus)
    : columns_(std::move(columns)),
      stamps_(zone),
      header_cells_(header_cells),
      named_cells_(header_cells - columns_.unnamed_cells),
      gpus_(std::move(gpus)) {
  if (columns_.key) key_at_ = power_columns().size();
}

void RowReader::use_names(std::vector<std::string> names) {
  names_ = std::move(names);
  for (std::string& name : names_) name = name_in(name);
  // "time_ms: 1745514104000" is a value with its name, as in every row of a log: that is no header.
  if (!names_.empty() && has_long_number(names_[0])) names_.clear();
}

void RowReader::note_bad_stamp(std::string_view text) {
  counts_.first_bad_stamp = printable(strip(text));
  counts_.first_bad_row = counts_.rows;
}

void RowReader::note_misfit(std::string text) {
  if (counts_.first_misfit_row > 0) return;
  counts_.first_misfit = std::move(text);
  counts_.first_misfit_row = counts_.rows;
}

// Whether the file ends inside the number of its last row, whose last cell is the power.
bool RowReader::is_power_cut_off(const CsvRow& row) const {
  return columns_.unnamed_cells == 0 && columns_.power->index + 1 == header_cells_ &&
         row.cell_count == header_cells_ && is_cut_off(trimmed(row.cells[1]), columns_.power_form);
}

bool RowReader::is_repeated_header(const CsvRow& row) const {
  return row.cell_count == header_cells_ && is_name(row.cells[0], columns_.timestamp->name) &&
         is_name(row.cells[1], columns_.power->name);
}

// A row that has the time column's name, and another name than the header's in a cell that is read.
// A recorder that was started again with other columns writes one. An unfinished row is none.
bool RowReader::is_other_header(const CsvRow& row) const {
  if (names_.empty() || names_[0].empty() || !row.terminated) return false;
  if (!is_name(row.cells[0], names_[0]) || !std::isnan(find_watts(row))) return false;
  for (std::size_t i = 1; i < names_.size(); ++i) {
    if (!strip(row.cells[i]).empty() && !is_name(row.cells[i], names_[i])) return true;
  }
  return false;
}

bool RowReader::is_wanted_metric(std::string_view name) {
  const bool is_wanted = !name.empty() && name == columns_.metric;
  if (is_wanted && columns_.counter_unit_j == 0) return true;  // no counter
  if (counts_.other_counter == nullptr) counts_.other_counter = counter_metric(name);
  // If the file's beginning does not show which power metric it has, it is the first one seen.
  if (columns_.metric.empty() && is_power_metric(name)) columns_.metric = name;
  return !name.empty() && name == columns_.metric;
}

std::uint32_t RowReader::find_by_key(const CsvRow& row) {
  const Columns::Key& key = *columns_.key;
  std::array<std::string_view, kMaxWantedColumns> cells;
  std::size_t next = key_at_;
  const auto take = [&](bool is_there) {
    return is_there ? trimmed(row.cells[next++]) : std::string_view();
  };
  for (std::size_t i = 0; i < key.places.size(); ++i) cells[i] = take(true);
  const std::string_view host = columns_.host ? trimmed(row.cells[3]) : std::string_view();
  const std::string_view index = take(key.index.has_value());
  const std::string_view uuid = take(key.uuid.has_value());
  const std::string_view pci = take(key.pci.has_value());
  write_key({host, std::span(cells).first(key.places.size()), index, uuid, pci}, key_);
  const std::uint32_t device = devices_.find(key_);
  while (named_.size() <= device) {
    named_.push_back(names_gpu(read_key(devices_.names()[named_.size()])));
  }
  return named_[device] ? device : DeviceNames::kNone;
}

[[gnu::always_inline]] inline std::uint32_t RowReader::find_device(const CsvRow& row) {
  if (columns_.key) return find_by_key(row);
  if (columns_.host) return devices_.find(row.cells[3], row.cells[2]);
  return devices_.find(trimmed(row.cells[2]));
}

// NaN if no power column contains a reading.
[[gnu::always_inline]] inline double RowReader::find_watts(const CsvRow& row) const {
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

// The same for a counter of energy.
double RowReader::find_joules(const CsvRow& row) {
  double unit_j = columns_.counter_unit_j;
  if (columns_.counter_resolution) {
    counts_.resolution = parse_counter(trimmed(row.cells[5]), 1).value_or(0);
    if (*counts_.resolution <= 0) return std::numeric_limits<double>::quiet_NaN();
    unit_j *= *counts_.resolution;
  }
  return parse_counter(trimmed(row.cells[1]), unit_j)
      .value_or(std::numeric_limits<double>::quiet_NaN());
}

// Returns false if the row says nothing.
[[gnu::always_inline]] inline bool RowReader::read_row(const CsvRow& row, Reading& reading) {
  if (row.cell_count == 0) {
    ++counts_.skipped.blank;
    return false;
  }
  if (!row.terminated && !row.swallowed_lines && !row.blank &&
      (row.cell_count < header_cells_ || is_power_cut_off(row))) {
    ++counts_.skipped.torn_tail;
    return false;
  }
  if (columns_.metric_name && row.cell_count > 1 && !is_wanted_metric(trimmed(row.cells[4])) &&
      !is_repeated_header(row) && !is_other_header(row)) {
    return false;
  }
  Stamp stamp{};
  if (!stamps_.read(trimmed(row.cells[0]), stamp)) {
    if (is_other_header(row)) {
      counts_.other_header_row = counts_.rows;
      return false;
    }
    if (row.blank || is_repeated_header(row)) {
      ++(row.blank ? counts_.skipped.blank : counts_.skipped.repeated_header);
      return false;
    }
    if (counts_.skipped.bad_timestamp++ == 0) note_bad_stamp(row.cells[0]);
    reading = {0, 0, kNoDevice, Reading::Kind::bad_timestamp};
    return true;
  }
  ++counts_.stamps;
  counts_.naive_stamps += stamp.naive ? 1 : 0;
  reading.unix_s = stamp.unix_s;
  if (columns_.has_nanoseconds) reading.unix_s += beyond_microseconds(trimmed(row.cells[0]));
  reading.kind = Reading::Kind::no_power;
  reading.device = columns_.device ? find_device(row) : 0;
  if (row.filled_count > named_cells_) {
    ++counts_.skipped.too_many_cells;
    note_misfit(
        fmt::format("has {} cells, and the header has {}: a comma in a time or a number may "
                    "divide it; write points",
                    row.filled_count, named_cells_));
    return true;
  }
  const double watts = columns_.counter_unit_j > 0 ? find_joules(row) : find_watts(row);
  if (std::isnan(watts)) {
    ++counts_.skipped.no_reading;
    if (const std::string_view cell = trimmed(row.cells[1]); has_comma_in_number(cell)) {
      note_misfit(
          fmt::format("has the power '{}', whose comma may be decimal or between thousands: "
                      "write points, and nothing between thousands",
                      printable(cell)));
    }
    return true;
  }
  reading.watts = watts;
  const bool is_named = reading.device != DeviceNames::kNone;
  if (watts < 0) {
    ++counts_.skipped.no_reading;
    if (is_named) reading.kind = Reading::Kind::negative_power;
    return true;
  }
  reading.kind = is_named ? Reading::Kind::power : Reading::Kind::no_device;
  return true;
}

bool RowReader::is_selected(const std::string& name) const {
  if (!columns_.key) return gpus_.has(name, columns_.host.has_value());
  return gpus_.has({}, read_key(name), false);
}

// Whether the user selected other GPUs. A row that may have its cells in other places is not left
// out, and neither is a stray line: it names no GPU, whatever is in that place.
bool RowReader::is_left_out(const CsvRow& row) {
  const bool is_short = row.cell_count < header_cells_;
  if (row.blank || row.filled_count > named_cells_ || (is_short && !row.terminated)) return false;
  if (is_repeated_header(row) || is_other_header(row)) return false;
  if (columns_.metric_name && !is_wanted_metric(trimmed(row.cells[4]))) return false;
  Stamp stamp{};
  if (is_short && !stamps_.read(trimmed(row.cells[0]), stamp)) return false;
  const std::uint32_t device = find_device(row);
  if (device == DeviceNames::kNone) return false;
  const std::vector<std::string>& names = devices_.names();
  while (selected_.size() <= device) {
    selected_.push_back(is_selected(names[selected_.size()]));
  }
  return !selected_[device];
}

std::vector<std::size_t> RowReader::columns_to_select() const {
  std::vector<std::size_t> selected = power_columns();
  if (!columns_.key) return selected;
  const Columns::Key& key = *columns_.key;
  append(selected, key.places);
  for (const auto& column : {key.index, key.uuid, key.pci}) {
    if (column) selected.push_back(*column);
  }
  return selected;
}

// All columns but the key's.
std::vector<std::size_t> RowReader::power_columns() const {
  std::vector<std::size_t> selected = {columns_.timestamp->index, columns_.power->index};
  const auto index_or_timestamp = [&](const std::optional<Column>& column) {
    return column ? column->index : columns_.timestamp->index;
  };
  selected.push_back(index_or_timestamp(columns_.device));
  selected.push_back(index_or_timestamp(columns_.host));
  selected.push_back(index_or_timestamp(columns_.metric_name));
  if (columns_.counter_resolution) {
    selected.push_back(*columns_.counter_resolution);
    return selected;
  }
  if (!columns_.host && !columns_.metric_name && columns_.other_power.empty()) selected.resize(3);
  for (const std::size_t index : columns_.other_power) {
    if (selected.size() < kMaxWantedColumns) selected.push_back(index);
  }
  return selected;
}

void RowReader::read(std::span<const CsvRow> rows, const GpuStateColumns* states,
                     RowReadings& into) {
  const std::size_t most = into.count + rows.size();
  if (into.readings.size() < most) into.readings.resize(most);
  if (states != nullptr && into.states_of_rows.size() < most) into.states_of_rows.resize(most);
  const bool selects = gpus_.is_given() && columns_.device;
  std::size_t count = into.count;
  for (const CsvRow& row : rows) {
    ++counts_.rows;
    if (selects && is_left_out(row)) continue;
    const bool is_reading = read_row(row, into.readings[count]);
    if (states != nullptr && is_reading) {
      const GpuState state = state_in(row, *states);
      if (into.states.empty() || !are_same(state, into.states.back())) into.states.push_back(state);
      into.states_of_rows[count] = static_cast<std::uint32_t>(into.states.size() - 1);
    }
    count += is_reading ? 1 : 0;
    if (counts_.other_header_row > 0) break;
  }
  into.count = count;
}

}  // namespace aggregate_power
