// Reads tables with a column of power for each GPU, or a row for each sample with the GPU's labels:
// a row of kWideForms says which columns are the time and the GPUs' power.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text/alternating_words.h"
#include "base/text/characters.h"
#include "base/text/csv.h"
#include "base/text/decimal.h"
#include "base/text/encoding.h"
#include "base/text/json.h"
#include "base/text/pattern.h"
#include "core/telemetry/column_names.h"
#include "core/telemetry/csv_telemetry.h"
#include "core/telemetry/gpu_names.h"
#include "core/telemetry/lines.h"
#include "core/telemetry/power_names.h"
#include "recorders/metric_labels.h"
#include "recorders/recorder_table.h"
#include "recorders/recorders.h"

namespace aggregate_power {
namespace {

struct WideColumn {
  std::size_t index = 0;
  std::string host = {};  // empty: the GPU's name stands alone
  std::string gpu = {};
  MetricLabels series = {};
  std::size_t number_of_series = 0;                          // as the sink numbers it
  std::optional<std::uint32_t> device = {};                  // its number, once it had a sample
  PowerForm form = {};                                       // of its cell in the row before
  std::optional<std::size_t> limit = {};                     // the column of its power limit
  std::optional<std::size_t> use = {};                       // and of its utilization
  double least_w = std::numeric_limits<double>::infinity();  // of all rows
  double most_w = 0;
  // Since WideHeader::duration began, up to the last row with a mean.
  double joules = 0;
  double last_duration_s = 0;

  std::uint32_t number(ReadingSink& sink) {
    if (!device) device = sink.find_in(host, gpu);
    return *device;
  }
};

// What a header says.
struct WideHeader {
  std::optional<std::size_t> time;
  std::vector<WideColumn> columns;
  std::size_t cells = 0;
  Cells names = {};                   // of all columns
  std::size_t other_series = 0;       // columns of series that are not known as power
  std::size_t unnamed = 0;            // columns of series without a name
  std::string power = {};             // how the columns of power are called
  std::string device = "the column";  // what names the GPU
  Sensor sensor = {};
  PowerUnit::Size unit = PowerUnit::Size::watt;
  std::optional<EnergyCounter> counter = {};  // of other columns, or of these
  std::vector<std::size_t> places = {};       // say which host's GPUs a row is of
  // Cells are means since this time in seconds began, which another column has.
  std::optional<std::size_t> duration = {};
  double last_duration_s = 0;  // of any row
  double begun_unix_s = 0;     // the duration of that row
  // The time of a row in ISO 8601, where it is written otherwise; empty: none is there.
  std::string (*stamp)(const RowCells& cells, const WideHeader& header) = nullptr;
  // Of dates with slashes. Nullopt: only dates such as 5/5/2026 are known.
  std::optional<bool> has_month_first = false;
  // Columns that are called temperatures, and the rows in which one is hotter than any GPU.
  std::vector<std::size_t> temperatures = {};
  std::size_t hot_rows = 0;
  std::size_t hottest = 0;  // the column
  double most_c = 0;
  std::string fault = {};  // why it cannot be read
  std::string warning = {};
  Reason reason = Reason::power_column_missing;
};

// The first rows of a table, header and all.
using TableRows = std::span<const CsvTextRow>;

struct WideForm {
  const char* name;
  SchemaRow schema;
  // Reads the header. Without a column of power and without a fault the table has another form.
  WideHeader (*read)(TableRows rows, const TelemetryOptions& options);
  std::size_t header_rows = 1;
  // Whether --power-column names a column of a plain CSV.
  bool may_be_plain = false;
};

// ---- The forms

WideHeader header_of(const Cells& names) {
  WideHeader header;
  header.names = names;
  header.cells = names.size();
  while (header.cells > 0 && strip(names[header.cells - 1]).empty()) --header.cells;
  return header;
}

void find_time(std::string_view name, WideHeader& header) {
  for (std::size_t i = 0; i < header.names.size() && !header.time; ++i) {
    if (lower_ascii(strip(header.names[i])) == name) header.time = i;
  }
}

// "gpu*_power_w" of "gpu0_power_w".
std::string with_any_number(std::string_view name, std::string_view number) {
  std::string text(name);
  const std::size_t at = text.find(number);
  return at == text.npos ? text : text.replace(at, number.size(), "*");
}

// Adds the columns that are numbered powers. `name_of` returns the part of a name that counts;
// empty: another column.
void find_numbered(const std::function<std::string_view(std::string_view)>& name_of,
                   WideHeader& header) {
  std::map<std::pair<std::string, std::string>, std::string> known;
  std::optional<PowerUnit> unit;
  bool has_bare = false;
  for (std::size_t i = 0; i < header.cells; ++i) {
    const std::string_view own = strip(header.names[i]);
    const std::string_view part = name_of(own);
    auto gpu = part.empty() ? std::nullopt : columns::numbered_power(part);
    if (!gpu) continue;
    if (header.power.empty()) header.power = with_any_number(own, gpu->gpu);
    const auto [place, is_new] = known.try_emplace({gpu->host, gpu->gpu}, own);
    if (!is_new) {
      header.fault = fmt::format("'{}' and '{}' are both the power of GPU {}: keep one of them",
                                 printable(place->second), printable(own), printable(gpu->gpu));
      header.reason = Reason::ambiguous_power_column;
    }
    if (unit && unit->size != gpu->unit.size) {
      header.fault = "the columns of power have several units: write all in one";
    }
    unit = gpu->unit;
    has_bare = has_bare || gpu->is_bare;
    header.columns.push_back({.index = i, .host = gpu->host, .gpu = gpu->gpu});
  }
  if (!unit) return;
  for (std::size_t i = 0; i < header.cells; ++i) {
    const std::string_view name = name_of(strip(header.names[i]));
    const auto limit = columns::numbered_limit(name);
    const auto use = columns::numbered_utilization(name);
    for (WideColumn& column : header.columns) {
      const auto is_its = [&](const std::optional<columns::NumberedPower>& other) {
        return other && column.gpu == other->gpu && column.host == other->host;
      };
      if (is_its(limit) && limit->unit.size == unit->size) column.limit = i;
      if (is_its(use)) column.use = i;
    }
  }
  header.unit = unit->size;
  header.device = "the number in the column's name";
  header.sensor.name = header.power;
  if (has_bare) {
    header.reason = Reason::wide_power_columns;
    header.fault = fmt::format(
        "nothing says that '{}' is a power: pass --power-unit W if it is, or name it in the header, as in gpu0_power_w",
        printable(header.power));
  }
}

constexpr auto kWholeName = [](std::string_view name) { return name; };

bool is_filled(const CsvTextRow& row) {
  return std::ranges::any_of(row.cells,
                             [](const std::string& cell) { return !strip(cell).empty(); });
}

// A GPU has such a temperature, and draws as much at rest.
constexpr double kLeastC = 15, kMostC = 95;

bool is_temperature_name(std::string_view name) {
  static constexpr Pattern temperature = "(.*[^a-z])?temp(erature)?([^a-z].*)?";
  return temperature.matches(lower_ascii(name));
}

// Whether a temperature is rather a power.
bool is_too_hot(double value) {
  constexpr double kHotC = 150, kMostW = 5000;
  constexpr double kNoReading = 255;
  return value > kHotC && value < kMostW && value != kNoReading;
}

std::string disorder_text(std::string_view power, double least, double most, std::string_view hot,
                          double most_c) {
  return fmt::format(
      "'{}' has {} to {}, and '{}' up to {}: the header disagrees with its columns; write it in the order of the cells",
      printable(strip(power)), least, most, printable(strip(hot)), most_c);
}

// The same for all rows: a load may begin late.
void refuse_disorder(const WideHeader& header) {
  constexpr std::size_t kFewestHot = 3;  // fewer are faults of the sensor
  if (header.hot_rows < kFewestHot) return;
  for (const WideColumn& column : header.columns) {
    if (column.least_w < kLeastC || column.most_w > kMostC || column.least_w > column.most_w) {
      continue;
    }
    throw TelemetryError(disorder_text(header.names[column.index], column.least_w, column.most_w,
                                       header.names[header.hottest], header.most_c));
  }
}

// Why the cells are not what the header says, as where a script writes them in another order.
std::string header_doubt(TableRows rows, const WideHeader& header) {
  const auto range = [&](std::size_t column) {
    std::pair found(std::numeric_limits<double>::infinity(), -1.0);
    for (const CsvTextRow& row : rows.subspan(1)) {
      const auto number =
          column < row.cells.size() ? nearest_double(strip(row.cells[column])) : std::nullopt;
      if (!number) continue;
      found = {std::min(found.first, *number), std::max(found.second, *number)};
    }
    return found;
  };
  std::optional<std::size_t> hot;
  for (std::size_t i = 0; i < header.cells && !hot; ++i) {
    if (is_temperature_name(header.names[i]) && is_too_hot(range(i).second)) hot = i;
  }
  for (const WideColumn& column : header.columns) {
    const auto [least, most] = range(column.index);
    if (!hot || least < kLeastC || most > kMostC || least > most) continue;
    return disorder_text(header.names[column.index], least, most, header.names[*hot],
                         range(*hot).second);
  }
  const auto cells_of = [](const CsvTextRow& row) {
    std::size_t cells = row.cells.size();
    while (cells > 0 && strip(row.cells[cells - 1]).empty()) --cells;
    return cells;
  };
  const auto is_too_long = [&](const CsvTextRow& row) { return cells_of(row) > header.cells; };
  if (rows.size() > 1 && std::ranges::all_of(rows.subspan(1), is_too_long)) {
    return fmt::format(
        "its rows have {} cells, and the header names {}: the header disagrees with its columns",
        cells_of(rows[1]), header.cells);
  }
  return {};
}

// Why the percentages are none: the cells are in another order than the header.
std::string percentage_doubt(TableRows rows, const WideHeader& header) {
  static constexpr Pattern percentage = ".*(util|pct|percent).*";
  static constexpr Pattern other = ".*(cpu|proc|power|pwr|limit|core|ram).*";
  constexpr double kMostPct = 110;
  for (std::size_t i = 0; i < header.cells; ++i) {
    const std::string name = lower_ascii(header.names[i]);
    if (!percentage.matches(name) || other.matches(name)) continue;
    for (const CsvTextRow& row : rows.subspan(1)) {
      const auto number = i < row.cells.size() ? nearest_double(strip(row.cells[i])) : std::nullopt;
      if (!number || *number <= kMostPct) continue;
      return fmt::format(
          "'{}' has {}, which is no percentage: the header disagrees with its columns; write it in the order of the cells",
          printable(strip(header.names[i])), *number);
    }
  }
  return {};
}

// A column of a GPU's power that no number names, so that the GPU would not count. A name that
// begins as a known GPU's does is another quantity of it.
std::string left_out_doubt(const WideHeader& header) {
  for (std::size_t i = 0; i < header.cells; ++i) {
    const std::string_view name = strip(header.names[i]);
    const auto is_of_known = [&](const WideColumn& column) {
      const std::string_view known = strip(header.names[column.index]);
      return column.index == i || name.starts_with(known.substr(0, known.find(column.gpu) + 1));
    };
    if (!columns::may_be_other_gpu(std::string(name)) ||
        std::ranges::any_of(header.columns, is_of_known)) {
      continue;
    }
    return fmt::format(
        "'{}' may be the power of a GPU, too, and its name does not fit '{}': name all GPUs alike, or leave that column out",
        printable(name), printable(header.power));
  }
  return {};
}

// Columns that name hosts, pods or ranks, whose values recur.
std::vector<std::size_t> places_in(const WideHeader& header, const std::vector<Cells>& rows) {
  constexpr std::size_t kFewRows = 4;
  constexpr std::size_t kMost = 3;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < header.cells && places.size() < kMost; ++i) {
    if (!is_place_name(strip(header.names[i]))) continue;
    std::set<std::string_view> words;
    for (const Cells& row : rows) {
      if (i < row.size() && !names_no_gpu(row[i])) words.insert(strip(row[i]));
    }
    const bool recur = rows.size() < kFewRows || 2 * words.size() <= rows.size();
    if (!words.empty() && recur) places.push_back(i);
  }
  return places;
}

// Finds rows of several hosts that another column tells apart.
void note_wide_turns(const std::vector<Cells>& rows, WideHeader& header) {
  MeasuredColumns read{
      header.time.value_or(header.cells), header.columns[0].index, header.places, {}};
  for (const WideColumn& column : header.columns) read.others.insert(column.index);
  const auto turns = columns::rows_in_turn(header.names, rows, read);
  if (!turns || !turns->is_sure) return;
  header.reason = Reason::gpu_identity_conflict;
  header.fault = columns::turns_text(turns->numbers, header.names);
}

// The only column whose cells are dates with times, whatever it is called.
std::optional<std::size_t> only_dates(const std::vector<Cells>& rows, std::size_t columns,
                                      const std::function<bool(std::string_view)>& is_absolute) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < columns; ++i) {
    const auto is_date = [&](const Cells& row) {
      return i < row.size() && row[i].find(':') != std::string::npos && is_absolute(row[i]);
    };
    if (rows.empty() || !std::ranges::all_of(rows, is_date)) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

// Of a header with a single GPU's column: another column says which GPU a row is of, or is the
// power, or nothing says that the column is a power.
bool is_read_better_as_rows(const WideHeader& header, const Columns& chosen) {
  const bool is_bare = header.reason == Reason::wide_power_columns;
  const bool is_other = chosen.power && chosen.power->index != header.columns[0].index;
  return is_bare || is_other || chosen.device;
}

WideHeader numbered_header(TableRows rows, const TelemetryOptions& options) {
  WideHeader header = header_of(rows[0].cells);
  find_numbered(kWholeName, header);
  if (header.columns.empty()) return {};
  const bool is_of_tracker = header.power.starts_with("system");
  if (header.fault.empty()) header.fault = header_doubt(rows, header);
  for (std::size_t i = 0; i < header.cells; ++i) {
    if (is_temperature_name(header.names[i])) header.temperatures.push_back(i);
  }
  if (options.columns.power_unit && header.reason == Reason::wide_power_columns) header.fault = {};
  std::vector<Cells> cells;
  for (const CsvTextRow& row : rows.subspan(1)) {
    if (is_filled(row)) cells.push_back(row.cells);
  }
  StampParser stamps(Zone::fixed(0));
  const auto is_absolute = [&](std::string_view text) {
    const auto stamp = stamps.parse(strip(text));
    return stamp && stamp->unix_s >= kFirstAbsoluteUnixS;
  };
  header.places = places_in(header, cells);
  find_time("_timestamp", header);
  if (is_of_tracker && header.time) header.sensor = {"W&B", header.power, "gpu", "unknown"};
  const Columns chosen = choose_columns(header.names, cells, is_absolute, options.columns);
  if (header.columns.size() == 1 && !is_of_tracker && is_read_better_as_rows(header, chosen)) {
    return {};
  }
  if (!header.time && chosen.timestamp) header.time = chosen.timestamp->index;
  if (!header.time) header.time = only_dates(cells, header.cells, is_absolute);
  if (header.fault.empty()) header.fault = percentage_doubt(rows, header);
  if (header.fault.empty()) {
    header.fault = left_out_doubt(header);
    if (!header.fault.empty()) header.reason = Reason::ambiguous_power_column;
  }
  if (header.fault.empty()) note_wide_turns(cells, header);
  return header;
}

WideHeader energibridge_header(TableRows rows, const TelemetryOptions& options) {
  if (rows[0].cells.size() < 2 || rows[0].cells[0] != "Delta" || rows[0].cells[1] != "Time") {
    return {};
  }
  WideHeader header = numbered_header(rows, options);
  if (header.columns.empty()) {  // one GPU
    header = header_of(rows[0].cells);
    find_numbered(kWholeName, header);
    find_time("time", header);
  }
  header.device = "the column";
  header.sensor = {"EnergiBridge", "nvmlDeviceGetPowerUsage", "gpu", "unknown"};
  return header;
}

// "run - system/gpu.0.powerWatts", with columns of the minimum and the maximum next to it.
WideHeader chart_header(TableRows rows, const TelemetryOptions&) {
  WideHeader header = header_of(rows[0].cells);
  find_time("wall time", header);
  find_numbered(
      [](std::string_view name) {
        const std::size_t dash = name.rfind(" - ");
        return dash == name.npos ? std::string_view() : name.substr(dash + 3);
      },
      header);
  if (header.columns.empty()) return {};
  if (!header.time) {
    header.reason = Reason::timestamp_column_missing;
    header.fault =
        "this is the download of a W&B chart whose times are seconds since the start: set its x axis to Wall Time, or export run.history(stream=\"system\") as a CSV";
  }
  header.sensor = {"W&B", header.power, "gpu", "unknown"};
  return header;
}

// Means since the collector's start are made means since the row before by their duration.
WideHeader nvitop_header(TableRows rows, const TelemetryOptions&) {
  WideHeader header = header_of(rows[0].cells);
  std::optional<std::size_t> time;
  std::optional<std::size_t> time_of_last;
  std::vector<WideColumn> means;
  for (std::size_t i = 0; i < header.cells; ++i) {
    const columns::NvitopName name = columns::nvitop_name(strip(header.names[i]));
    if (name.is_time) time = i;
    if (name.is_time_of_last) time_of_last = i;
    if (name.is_duration) header.duration = i;
    if (name.is_last) header.columns.push_back({.index = i, .gpu = name.gpu});
    if (name.is_mean) means.push_back({.index = i, .gpu = name.gpu});
  }
  header.device = "the number in the column's name";
  header.power = "power_usage (W)/last";
  header.sensor = {"nvitop", header.power, "gpu", "unknown"};
  if (!header.columns.empty()) {
    header.duration.reset();
    header.time = time_of_last ? time_of_last : time;
    return header;
  }
  if (means.empty()) return {};
  header.columns = std::move(means);
  header.power = "power_usage (W)/mean";
  header.sensor = {"nvitop", header.power, "gpu", "over the period before the stamp"};
  header.time = time;
  if (!header.duration) {
    header.fault =
        "its power is a mean since the collector's start, and no column has the duration: collect 'duration (s)' too, or 'power_usage (W)/last'";
  }
  return header;
}

// ---- HWiNFO and LibreHardwareMonitor

constexpr std::string_view kNoOrder =
    "no row shows whether its dates have the day or the month first: write them as 2026-09-08";

// The numbers of "8.9.2026", "9/8/2026", "2026-09-08", and what is between.
struct DateParts {
  std::vector<std::string_view> numbers;
  char between = ' ';
};
DateParts date_parts(std::string_view date) {
  DateParts parts;
  while (true) {
    const std::size_t end = std::min(date.find_first_of("./-"), date.size());
    if (!is_ascii_digits(date.substr(0, end))) return {};
    parts.numbers.push_back(date.substr(0, end));
    if (end == date.size()) break;
    parts.between = date[end];
    date.remove_prefix(end + 1);
  }
  return parts.numbers.size() == 3 ? parts : DateParts();
}

// "2026-09-08 09:20:30.123"; empty: the date is not one. Throws TelemetryError if the order counts
// and is not known.
std::string iso_of_local(std::string_view date, std::string_view time,
                         std::optional<bool> is_month_first) {
  const DateParts parts = date_parts(date);
  if (parts.numbers.empty()) return {};
  const auto& numbers = parts.numbers;
  const bool is_year_first = numbers[0].size() == 4;
  if (!is_year_first && !is_month_first && numbers[0] != numbers[1]) {
    throw TelemetryError(std::string(kNoOrder));
  }
  const std::size_t month = is_year_first || !is_month_first.value_or(false) ? 1 : 0;
  const std::size_t day = is_year_first ? 2 : 1 - month;
  const std::size_t colon = std::min(time.find(':'), time.size());
  return fmt::format("{}-{:0>2}-{:0>2} {:0>2}{}", numbers[is_year_first ? 0 : 2], numbers[month],
                     numbers[day], time.substr(0, colon), time.substr(colon));
}

struct DateOrder {
  std::optional<bool> is_month_first = {};  // none if no row decides it
  bool is_needed = false;                   // some row has another date by the other order
};

// Points are between day, month and year; slashes say nothing.
DateOrder date_order(TableRows rows) {
  DateOrder order;
  const auto number = [](std::string_view text) { return nearest_double(text).value_or(0); };
  for (const CsvTextRow& row : rows.subspan(1)) {
    const DateParts parts = row.cells.empty() ? DateParts() : date_parts(strip(row.cells[0]));
    if (parts.numbers.empty()) continue;
    if (parts.between != '/' || parts.numbers[0].size() == 4) return {false};
    const double first = number(parts.numbers[0]);
    const double second = number(parts.numbers[1]);
    if (first > 12) return {false};
    if (second > 12) return {true};
    order.is_needed = order.is_needed || first != second;
  }
  return order;
}

// Several columns may have one name; their order is the GPUs'. A board of AMD has a total and the
// part of its chip; "GPU Power" is what other GPUs have, and the graphics of processors.
WideHeader hwinfo_header(TableRows rows, const TelemetryOptions&) {
  static constexpr Pattern powers[] = {"gpu power \\[w\\]",
                                       "gpu board power.* \\[w\\]|total board power.* \\[w\\]",
                                       "gpu asic power \\[w\\]|total graphics power.* \\[w\\]"};
  const Cells& names = rows[0].cells;
  if (names.size() < 3 || names[0] != "Date" || names[1] != "Time") return {};
  WideHeader header = header_of(names);
  bool is_whole = true;  // the kind of the columns so far may not have a part in the next kind
  for (const Pattern& power : powers) {
    std::vector<std::size_t> found;
    for (std::size_t i = 2; i < header.cells; ++i) {
      if (power.matches(lower_ascii(strip(names[i])))) found.push_back(i);
    }
    if (!header.columns.empty() && !found.empty() &&
        (is_whole || found.size() > header.columns.size())) {
      header.reason = Reason::ambiguous_power_column;
      header.fault = fmt::format(
          "'{}' may be the power of another GPU than '{}': leave the columns out that are not of the GPUs that count",
          printable(strip(names[found[0]])), printable(header.power));
    }
    if (!header.columns.empty() || found.empty()) continue;
    is_whole = &power == &powers[0];
    header.power = strip(names[found.back()]);
    for (const std::size_t i : found) {
      header.columns.push_back({.index = i, .gpu = std::to_string(header.columns.size())});
    }
  }
  if (header.columns.empty()) return {};
  header.time = 0;
  header.device = "the order of the columns";
  header.sensor = {"HWiNFO", header.power, "gpu", "unknown"};
  const DateOrder order = date_order(rows);
  header.has_month_first = order.is_month_first;
  header.stamp = [](const RowCells& cells, const WideHeader& own) {
    return iso_of_local(cell_of(cells, 0), cell_of(cells, 1), own.has_month_first);
  };
  if (!order.is_month_first && order.is_needed) {
    header.reason = Reason::timestamp_column_missing;
    header.fault = kNoOrder;
  }
  return header;
}

// The identifiers of the sensors are above their names. A load may be called a power.
WideHeader hardware_monitor_header(TableRows rows, const TelemetryOptions&) {
  static constexpr Pattern id = "/gpu-[a-z]+/[0-9]+/power/[0-9]+";
  constexpr std::string_view kPowers[] = {"GPU Package", "GPU Power", "GPU Total"};
  if (rows.size() < 2 || rows[0].cells.empty() || !strip(rows[0].cells[0]).empty()) return {};
  const Cells& ids = rows[0].cells;
  WideHeader header = header_of(rows[1].cells);
  if (header.cells == 0 || header.names[0] != "Time") return {};
  std::map<std::string, bool> known;
  for (const std::string_view power : kPowers) {
    for (std::size_t i = 1; i < std::min(header.cells, ids.size()); ++i) {
      const std::string_view sensor = strip(ids[i]);
      if (strip(header.names[i]) != power || !id.matches(sensor)) continue;
      const std::string_view gpu = sensor.substr(1, sensor.find("/power/") - 1);
      if (!known.try_emplace(std::string(gpu), true).second) continue;
      header.columns.push_back({.index = i, .gpu = std::string(gpu)});
    }
  }
  if (header.columns.empty()) return {};
  for (std::size_t i = 1; i < std::min(header.cells, ids.size()); ++i) {
    const std::string_view sensor = strip(ids[i]);
    if (!sensor.starts_with("/gpu-") || sensor.find("/power/") == sensor.npos) continue;
    if (known.contains(std::string(sensor.substr(1, sensor.find("/power/") - 1)))) continue;
    header.warning =
        fmt::format("gpu_left_out: {} has '{}', but no power of the whole GPU, and does not count",
                    printable(sensor), printable(strip(header.names[i])));
  }
  header.time = 0;
  header.power = "GPU Package";
  header.device = "the sensor's identifier";
  header.sensor = {"LibreHardwareMonitor", header.power, "gpu", "unknown"};
  header.stamp = [](const RowCells& cells, const WideHeader&) {
    const std::string_view text = cell_of(cells, 0);
    const std::size_t blank = std::min(text.find(' '), text.size());
    return iso_of_local(text.substr(0, blank), strip(text.substr(blank)), true);
  };
  return header;
}

// ---- Grafana, series joined by time

WideHeader grafana_header(TableRows rows, const TelemetryOptions& options) {
  const Cells& cells = rows[0].cells;
  WideHeader header = header_of(cells);
  if (cells.empty() || lower_ascii(strip(cells[0])) != "time") return {};
  header.time = 0;
  PowerSeries power(options);
  for (std::size_t i = 1; i < cells.size(); ++i) {
    std::string_view name = strip(cells[i]);
    const std::optional<MetricLabels> series = take_metric(name);
    if (!series || series->labels.empty() || !name.empty()) continue;
    if (!power.has(*series)) {
      ++header.other_series;
      header.unnamed += series->metric.empty() ? 1 : 0;
      continue;
    }
    const PowerSeries::Gpu gpu = power.gpu_of(*series);
    header.columns.push_back({.index = i,
                              .host = std::string(gpu.host),
                              .gpu = std::string(gpu.name),
                              .series = *series});
  }
  header.power = power.metric();
  header.device = power.label();
  header.sensor = power.sensor();
  if (power.counter() != nullptr) header.counter = *power.counter();
  if (header.columns.empty() && header.other_series > 0) {
    header.fault =
        header.unnamed == header.other_series
            ? "the series have no name; if their values are watts, pass --power-column value"
            : "no series is known as the power of a GPU; name its metric with --power-column";
  }
  return header;
}

constexpr WideForm kWideForms[] = {
    {.name = "Grafana, series joined by time",
     .schema =
         {"grafana-wide",
          "columns named `METRIC{labels}`, of a metric as in `prometheus-matrix`, in W; `{labels}` alone with `--power-column value`",
          "as in `prometheus-matrix`"},
     .read = grafana_header},
    {.name = "EnergiBridge",
     .schema = {"energibridge", "`GPU0_POWER (mWatts)` and so on, in mW", "the column"},
     .read = energibridge_header},
    {.name = "W&B chart",
     .schema =
         {"wandb-chart",
          "columns `RUN - system/gpu.N.powerWatts` of a chart's download over Wall Time, in W",
          "the number in the column's name"},
     .read = chart_header},
    {.name = "nvitop's collector",
     .schema =
         {"nvitop",
          "columns `gpu:N/power_usage (W)/last` of nvitop's ResourceMetricCollector at `last_timestamp`; else `/mean`, which is since the collector's start, with `duration (s)`",
          "the number in the column's name, in brackets if there are two"},
     .read = nvitop_header},
    {.name = "HWiNFO",
     .schema = {"hwinfo", "columns `GPU Power [W]` of HWiNFO's CSV, with `Date` and `Time`",
                "the order of the columns"},
     .read = hwinfo_header},
    {.name = "LibreHardwareMonitor",
     .schema = {"librehardwaremonitor",
                "columns `GPU Package` below `/gpu-*/N/power/*`, in W; dates have the month first",
                "vendor and number of the sensor's identifier"},
     .read = hardware_monitor_header,
     .header_rows = 2},
    {.name = "a column for each GPU",
     .schema =
         {"wide",
          "a column for each GPU, named by a number, a word for power and its unit: `gpu0_power_w`, `GPU 0 Power (W)`, `system.gpu.0.powerWatts`, also in mW; bare `GPU0` with `--power-unit`",
          "the number in the column's name"},
     .read = numbered_header,
     .may_be_plain = true},
};

// ---- Rows

// A word for nothing, which tables have in rows of other samples.
bool is_word_for_nothing(std::string_view cell) {
  cell = strip(cell);
  return cell == "None" || cell == "null" || cell == "nan" || cell == "NaN";
}

// Whether a row has no power of any GPU, so that it is of other samples.
bool is_of_other_samples(const RowCells& cells, const WideHeader& header) {
  return std::ranges::all_of(header.columns, [&](const WideColumn& column) {
    const std::string_view cell = cell_of(cells, column.index);
    return cell.empty() || is_word_for_nothing(cell);
  });
}

// A row that has the time column's name is a header: the recording's, or one of other columns.
enum class HeaderRow { none, repeated, other };

HeaderRow header_row(const WideHeader& header, const RowCells& cells) {
  const std::size_t time = header.time.value_or(0);
  const auto is_same = [&](std::size_t i) { return strip(cells[i]) == strip(header.names[i]); };
  if (time >= cells.size() || time >= header.names.size() || !is_same(time)) {
    return HeaderRow::none;
  }
  if (cells.size() != header.names.size()) return HeaderRow::other;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!is_same(i)) return HeaderRow::other;
  }
  return HeaderRow::repeated;
}

// Whether a cell has something in it that no name of the header is above.
bool has_too_many(const RowCells& cells, std::size_t names) {
  for (std::size_t i = names; i < cells.size(); ++i) {
    if (!strip(cells[i]).empty()) return true;
  }
  return false;
}

// The duration of a row's means; it may begin again, for all columns. 0: the row does not say it.
double duration_of(const RowCells& cells, double unix_s, WideHeader& header) {
  if (!header.duration) return 0;
  const double duration_s = nearest_double(cell_of(cells, *header.duration)).value_or(0);
  if (!(duration_s > 0)) return 0;
  // Since it began at the same time, or after the row before, which may be long ago.
  const double before_s = std::exchange(header.last_duration_s, duration_s);
  const double begun_unix_s = unix_s - duration_s;
  const double begun_before_s = std::exchange(header.begun_unix_s, begun_unix_s);
  const bool is_new = duration_s < before_s || begun_unix_s - begun_before_s > before_s / 2;
  for (WideColumn& column : header.columns) {
    if (is_new) column.joules = column.last_duration_s = 0;
  }
  return duration_s;
}

// The mean power since the last row with a mean, of a mean since the duration began.
double mean_since_row(double mean_w, double duration_s, WideColumn& column) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (std::isnan(mean_w) || duration_s == 0) return kNone;
  const double joules = mean_w * duration_s;
  const double period_s = duration_s - std::exchange(column.last_duration_s, duration_s);
  const double before_j = std::exchange(column.joules, joules);
  return period_s > 0 ? (joules - before_j) / period_s : kNone;
}

// Whether a row's last cell is shorter than the same cell above because no line break ends it.
bool is_cut_off(std::string_view cell, bool is_whole, WideColumn& column) {
  if (!is_whole) return is_cut_off(strip(cell), column.form);
  const std::string_view number = strip(cell);
  const std::size_t point = std::min(number.find('.'), number.size());
  if (point > 0) column.form = {{}, number.size() - std::min(point + 1, number.size()), point};
  return false;
}

// "node-1/3" of a host and a rank.
std::string place_in_row(const RowCells& cells, const WideHeader& header) {
  std::string place;
  for (const std::size_t column : header.places) {
    const std::string_view cell = cell_of(cells, column);
    if (names_no_gpu(cell)) continue;
    if (!place.empty()) place += '/';
    place += cell;
  }
  return place;
}

void note_hot(const RowCells& cells, WideHeader& header) {
  constexpr std::size_t kShortest = 3;  // "151"
  bool is_hot = false;
  for (const std::size_t column : header.temperatures) {
    const std::string_view cell = cell_of(cells, column);
    if (cell.size() < kShortest || cell[2] == '.') continue;
    const double value = nearest_double(cell).value_or(0);
    if (!is_too_hot(value)) continue;
    is_hot = true;
    if (value > header.most_c) header.hottest = column;
    header.most_c = std::max(header.most_c, value);
  }
  header.hot_rows += is_hot ? 1 : 0;
}

// The cells of one row. MIG instances are columns of one GPU, and each repeats its power.
void take_wide_row(const RowCells& cells, bool is_whole, std::uint64_t line_number,
                   WideHeader& header, ReadingSink& sink) {
  if (cells.size() == 0) return sink.skip(&Skipped::blank);  // NUL bytes
  if (!is_whole && cells.size() < header.cells) return sink.skip(&Skipped::torn_tail);
  const std::size_t time = header.time.value_or(0);
  const std::string written = header.stamp != nullptr ? header.stamp(cells, header) : std::string();
  const std::string_view stamp = !written.empty()      ? std::string_view(written)
                                 : time < cells.size() ? cells[time]
                                                       : std::string_view();
  Stamp at{};
  if (!sink.read_stamp(stamp, at)) {
    const HeaderRow row = header_row(header, cells);
    if (row == HeaderRow::other) throw OtherHeader(line_number);
    if (row == HeaderRow::repeated) return sink.skip(&Skipped::repeated_header);
    if (header.stamp != nullptr && strip(stamp).empty()) return sink.skip(&Skipped::comment);
    std::ignore = sink.start_row(stamp);
    return;
  }
  sink.start_row(at);
  const bool is_too_long = has_too_many(cells, header.cells);
  if (is_too_long) sink.skip(&Skipped::too_many_cells);
  const double duration_s = duration_of(cells, at.unix_s, header);
  if (is_of_other_samples(cells, header)) return;
  const std::string place = place_in_row(cells, header);
  for (WideColumn& column : header.columns) {
    const bool is_there = column.index < cells.size();
    const std::string_view cell = is_there ? cells[column.index] : std::string_view();
    if (column.index + 1 == header.cells && is_cut_off(cell, is_whole, column)) {
      sink.skip(&Skipped::torn_tail);
      continue;
    }
    double watts = is_too_long ? std::numeric_limits<double>::quiet_NaN() : sink.number(cell);
    // An empty cell is no sample; one that is not there, or in words, is one that failed.
    if (std::isnan(watts) && is_there && strip(cell).empty()) continue;
    if (header.duration) watts = mean_since_row(watts, duration_s, column);
    const std::uint32_t device =
        header.places.empty() ? column.number(sink) : sink.find_in(place, column.gpu);
    if (column.limit) {
      sink.state(device, GpuQuantity::power_limit_w, sink.number(cell_of(cells, *column.limit)));
    }
    if (column.use) {
      sink.state(device, GpuQuantity::utilization_pct, parse_state(cell_of(cells, *column.use)));
    }
    if (watts >= 0) column.least_w = std::min(column.least_w, watts);
    if (watts >= 0) column.most_w = std::max(column.most_w, watts);
    sink.add_to(device, watts);
    if (!header.places.empty()) continue;
    sink.note_series(column.number_of_series, *column.device);
  }
  note_hot(cells, header);
}

void add_series(WideHeader& header, ReadingSink& sink) {
  if (!header.places.empty()) return;  // a column is of several GPUs
  for (WideColumn& column : header.columns) {
    column.number_of_series = sink.add_series(column.series);
  }
}

// Reads the lines of a table into a sink, after its header.
class WideLines {
 public:
  WideLines(WideHeader header, std::size_t header_rows, const TelemetryOptions& options,
            ReadingSink& sink)
      : header_(std::move(header)), header_rows_(header_rows), sink_(sink) {
    if (options.counters && header_.counter) sink_.count_energy(*header_.counter);
    add_series(header_, sink_);
  }

  void take(std::string_view line, bool is_whole) {
    ++line_number_;
    if (strip(line).empty()) return sink_.skip(&Skipped::blank);
    if (header_rows_ > 0) {
      header_rows_ -= line.starts_with("sep=") ? 0 : 1;
      return;
    }
    split_row(line, cells_, copies_);
    take_wide_row(cells_, is_whole, line_number_, header_, sink_);
  }

  void end() const { refuse_disorder(header_); }

 private:
  WideHeader header_;
  std::size_t header_rows_;  // still to come
  ReadingSink& sink_;
  RowCells cells_;
  Cells copies_;  // of cells that are not as they are written
  std::uint64_t line_number_ = 0;
};

// The table's first rows, from its header on.
std::vector<CsvTextRow> first_rows(std::string_view head) {
  constexpr std::size_t kRows = 64;
  if (head.starts_with("sep=")) head.remove_prefix(std::min(head.find('\n') + 1, head.size()));
  std::vector<CsvTextRow> rows;
  try {
    split_csv(head, kRows, head.size() < kHeadBytes, rows);
  } catch (const CsvError&) {  // reported when it is read
  }
  const auto header = std::ranges::find_if(rows, is_filled);
  rows.erase(rows.begin(), header);
  return rows;
}

struct WideTable {
  const WideForm* form = nullptr;
  WideHeader header;
};

WideTable wide_table_of(std::string_view head, const TelemetryOptions& options) {
  const std::vector<CsvTextRow> rows = first_rows(head);
  if (rows.empty() || rows[0].cells[0].starts_with('{')) return {};  // JSON
  for (const WideForm& form : kWideForms) {
    WideHeader header = form.read(rows, options);
    if (header.columns.empty() && header.fault.empty()) continue;
    for (WideColumn& column : header.columns) {  // one without any value is named
      MetricLabels& series = column.series;
      if (series.metric.empty() && series.labels.empty())
        series.metric = header.names[column.index];
    }
    return {&form, std::move(header)};
  }
  return {};
}

SeriesFacts wide_facts(const WideTable& table, const TelemetryOptions& options) {
  const WideHeader& header = table.header;
  SeriesNames names = {.schema = std::string(table.form->schema.name)};
  const bool lacks_time =
      header.reason == Reason::timestamp_column_missing && !header.fault.empty();
  if (header.time && !lacks_time) names.timestamp = strip(header.names[*header.time]);
  names.unit = header.unit;
  const bool lacks_power =
      header.reason != Reason::timestamp_column_missing && !header.fault.empty();
  if (!header.power.empty() && !lacks_power) names.power = header.power;
  if (names.power && header.power == options.columns.power) {
    names.power_why = "named by --power-column";
  }
  if (!header.device.empty()) names.device = header.device;
  TelemetryOptions others = options;
  if (header.device == options.columns.device) others.columns.device.clear();
  if (table.form->may_be_plain) others.columns.timestamp.clear();
  SeriesFacts facts = facts_of_names(names, others);
  const auto has_host = [](const WideColumn& column) { return !column.host.empty(); };
  facts.names_hosts = !header.places.empty() || std::ranges::any_of(header.columns, has_host);
  facts.sensor = header.sensor;
  facts.has_power_limit = std::ranges::any_of(
      header.columns, [](const WideColumn& column) { return column.limit.has_value(); });
  facts.counter = header.counter;
  if (!header.warning.empty()) facts.warnings.push_back(header.warning);
  if (!header.fault.empty()) {
    facts.reasons.add(header.reason, header.fault);
    facts.reasons.explain(header.reason, header.fault);
  } else if (!header.time) {
    facts.reasons.explain(Reason::timestamp_column_missing,
                          fmt::format("no column has absolute times; the header has '{}'",
                                      printable(joined_text(header.names, "', '"))));
  }
  return facts;
}

double fits_wide(std::string_view head) {
  return wide_table_of(head, {}).form != nullptr ? 0.9 : 0;
}

Telemetry open_wide(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  source = as_utf8(std::move(source));
  std::string head = read_up_to(*source, kHeadBytes);
  const WideTable table = wide_table_of(head, options);
  source = std::make_unique<ResumedSource>(std::move(head), std::move(source));
  if (table.form == nullptr || (table.form->may_be_plain && !options.columns.power.empty())) {
    return open_csv(std::move(source), options);
  }
  return open_stream(std::move(source), options,
                     {.facts_of = [&](std::string_view) { return wide_facts(table, options); },
                      .read =
                          [options, table](ByteSource& bytes, ReadingSink& sink) {
                            WideLines lines(table.header, table.form->header_rows, options, sink);
                            for_each_line(bytes, [&](std::string_view line, bool is_whole) {
                              lines.take(line, is_whole);
                            });
                            lines.end();
                          },
                      .cut_off_after = table.header.duration ? nullptr : at_any_line});
}

}  // namespace

const Recorder kWideRecorder = {.name = "a column for each GPU",
                                .fits = fits_wide,
                                .open = open_wide,
                                .schemas = schemas_of(kWideForms),
                                .is_table = true};

// ---- W&B's logged tables: {"columns": ["_timestamp", ...], "data": [[1788852030.12, 412.3],
// ...]}.

namespace {

constexpr std::string_view kTablePaths[] = {"columns[]", "data[]", "data[][]"};

class JsonTable : public JsonVisitor {
 public:
  explicit JsonTable(const std::function<void(const Cells& names, const Cells& row)>& take)
      : take_(take) {}
  void begin(std::size_t path) override {
    if (path == 1) row_.clear();
  }
  void end(std::size_t path) override {
    if (path == 1) take_(names_, row_);
  }
  void scalar(std::size_t path, JsonKind kind, std::string_view text) override {
    const bool is_none = kind == JsonKind::null;
    if (path == 0) names_.emplace_back(text);
    if (path == 2) row_.emplace_back(is_none ? std::string_view() : text);
  }

 private:
  const std::function<void(const Cells&, const Cells&)>& take_;
  Cells names_;
  Cells row_;
};

void walk_table(ByteSource& bytes,
                const std::function<void(const Cells& names, const Cells& row)>& take) {
  static const JsonPaths paths(kTablePaths);
  JsonTable table(take);
  walk_json(bytes, paths, table, JsonTexts::one);
}

// The header and the first rows.
std::vector<CsvTextRow> rows_of_table(std::string_view head) {
  constexpr std::size_t kRows = 64;
  std::vector<CsvTextRow> rows;
  MemorySource source(head);
  try {
    walk_table(source, [&](const Cells& names, const Cells& row) {
      if (rows.empty()) rows.push_back({.cells = names});
      if (rows.size() < kRows) rows.push_back({.cells = row});
    });
  } catch (const JsonError&) {  // cut off
  }
  return rows;
}

constexpr WideForm kTableForm = {
    .name = "W&B table",
    .schema = {"wandb-table",
               "columns `system.gpu.N.powerWatts` of a logged table, `*.table.json`, in W",
               "the number in the column's name"},
    .read = numbered_header};

WideHeader header_of_table(std::string_view head, const TelemetryOptions& options) {
  const std::vector<CsvTextRow> rows = rows_of_table(head);
  return rows.empty() ? WideHeader() : numbered_header(rows, options);
}

double fits_wandb_table(std::string_view head) {
  const bool may_fit = strip(head.substr(0, 64)).starts_with('{') &&
                       head.find("\"columns\"") != head.npos && head.find("\"data\"") != head.npos;
  return may_fit && !header_of_table(head, {}).columns.empty() ? 0.95 : 0;
}

Telemetry open_wandb_table(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  std::string head = read_up_to(*source, kHeadBytes);
  const WideTable table = {&kTableForm, header_of_table(head, options)};
  return open_stream(std::make_unique<ResumedSource>(std::move(head), std::move(source)), options,
                     {.facts_of = [&](std::string_view) { return wide_facts(table, options); },
                      .read =
                          [header = table.header](ByteSource& bytes, ReadingSink& sink) {
                            WideHeader own = header;
                            add_series(own, sink);
                            walk_table(bytes, [&](const Cells&, const Cells& row) {
                              take_wide_row(RowCells(row.begin(), row.end()), true, 1, own, sink);
                            });
                          },
                      .has_lines = false});
}

}  // namespace

const Recorder kWandbTableRecorder = {.name = "W&B table",
                                      .fits = fits_wandb_table,
                                      .open = open_wandb_table,
                                      .schemas = {kTableForm.schema}};

}  // namespace aggregate_power
