// Chooses the columns of a table by the table of recorders, by names, and by the user.
#include "core/telemetry/telemetry.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "base/text/pattern.h"
#include "core/telemetry/column_names.h"
#include "core/telemetry/gpu_names.h"
#include "core/telemetry/power_cell.h"
#include "core/telemetry/power_names.h"
#include "core/telemetry/recorder_schemas.h"

namespace aggregate_power {
namespace {

using columns::find_named;
using columns::for_patterns;
using columns::Found;
using columns::matches;
using columns::Name;
using columns::quoted_list;
using columns::read_names;

// The averaged power is preferred to the instant one.
constexpr const char* kPowerMetrics[] = {"DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS",
                                         "DCGM_FI_DEV_POWER_USAGE_INSTANT",
                                         "DCGM_FI_DEV_BOARD_POWER_RAW_WATTS"};

constexpr Pattern kAveragePower = "power\\.draw\\.average";
// Each list has the names of one power: its value now, and its mean over some time.
constexpr Pattern kSamePower[] = {"power\\.draw(\\.(average|instant))?",
                                  "dcgm_fi_dev_power_usage(_instant)?",
                                  "(average|current)_socket_power|socket_power"};

// formats.md section 9 row 12.
constexpr Pattern kGenericTimes[] = {"timestamp([ ._-]?(unix|utc|s|ms|ns))?", "date[ ._-]?time",
                                     "time", "ts", "date"};

// The six names of the original, then other names that distinguish devices.
constexpr Pattern kIndexNames = "index|gpu|gpu.?id|gpu.?index|card|device";
constexpr Pattern kOtherIdentities[] = {"uuid|gpu[ ._-]?uuid", "pci\\.bus_id|gpu_bus_id", "serial",
                                        "pci\\.bus", "module_id"};
constexpr Pattern kHostNames = "hostname|host|node|instance";

// Names with "time" in them that are not a timestamp: formats.md 5.2.
constexpr Pattern kNotAStamp =
    "time[ ._-]?(ms|s|us|secs?|seconds?)|.*relative.*|.*elapsed.*|.*duration.*|.*run_?time.*"
    "|.*up_?time.*|.*(start|end)_?time.*|.*gpu_time.*|.*evicted_time.*"
    "|.*clocks_(event|throttle)_reasons.*|total_?time.*|.*lifetime.*|.*time_?out.*";

constexpr const char* kSchemasOwn = "the schema's own column";

// Names that settle a detail.
constexpr Pattern kOwnTime = "timestamp|timestamp_unix";
constexpr Pattern kOwnDate = "date";
constexpr Pattern kMetricName = "metric_name|__name__";
constexpr Pattern kTime = ".*time.*";
constexpr Pattern kNumberedGpu = ".*gpu[ ._-]?[0-9]+.*";
constexpr Pattern kPowerOfNumberedGpu =
    "gpu[ ._-]?[0-9]+([ ._-]?(power|pwr|(milli)?watts?|w|mw)([ ._-].*)?)?";
constexpr Pattern kSummary = "duration|emissions";
constexpr Pattern kTableOfLimits = "max_power|min_power";

Column column(const Name& name, std::string why) { return {name.index, name.full, std::move(why)}; }

std::string_view cell(const std::vector<std::string>& row, std::size_t index) {
  return index < row.size() ? strip(row[index]) : std::string_view();
}

// Whether most of the first five values are absolute times (a header repeated among the rows is not
// a value).
bool holds_times(Rows rows, const Name& name, const IsAbsoluteTime& is_absolute_time) {
  int times = 0;
  int others = 0;
  for (const auto& row : rows) {
    const std::string_view text = cell(row, name.index);
    if (text.empty() || text == name.full) continue;
    ++(is_absolute_time(text) ? times : others);
    if (times + others == 5) break;
  }
  return times > others;
}

bool holds_times_of_day(Rows rows, std::size_t index) {
  static constexpr Pattern time_of_day = "[0-9]{1,2}:[0-9]{2}(:[0-9]{2}.*)?";
  for (const auto& row : rows) {
    const std::string_view text = cell(row, index);
    if (!text.empty()) return text.find(':') <= 2 && matches(text, time_of_day);
  }
  return false;
}

bool varies(Rows rows, std::size_t index) {
  std::string_view first;
  for (const auto& row : rows) {
    const std::string_view text = cell(row, index);
    if (text.empty()) continue;
    if (first.empty()) first = text;
    if (text != first) return true;
  }
  return false;
}

// The kind of a GPU, not its identity.
bool holds_model_names(Rows rows, std::size_t index) {
  for (const auto& row : rows) {
    const std::string_view text = cell(row, index);
    if (text.empty()) continue;
    if (text.find_first_not_of("0123456789") == std::string_view::npos) return false;
    return is_model_name(text);
  }
  return false;
}

// The input of a choice.
struct Header {
  std::vector<Name> names;
  Rows rows;
  const IsAbsoluteTime& is_absolute_time;

  Found find(const Pattern& pattern) const { return columns::find(names, pattern); }
  bool has(const Pattern& pattern) const { return !find(pattern).empty(); }
  Found all() const {
    Found all;
    for (const Name& name : names) all.push_back(&name);
    return all;
  }
};

// What has been chosen so far, and what the reasons need to know about it.
struct Choice {
  Columns columns;
  std::string ambiguous;             // the power names of the same rank
  std::vector<std::string> missing;  // columns named by the user
  bool is_wide = false;              // a column of power for each GPU
  bool has_model_names = false;      // where a device's name was expected
  std::string doubt;                 // about the power: LoosePower
};

void set_power(const Name& name, std::string why, Columns& columns) {
  columns.power = column(name, std::move(why));
  columns.unit = name.unit;
}

// ---- Times

std::optional<Column> generic_timestamp(const Header& header) {
  for (const Pattern& pattern : kGenericTimes) {
    for (const Name& name : header.names) {
      if (pattern.matches(name.no_brackets) &&
          holds_times(header.rows, name, header.is_absolute_time)) {
        return column(name, "named as a time, and its values are absolute times");
      }
    }
  }
  return std::nullopt;
}

Found loose_times(const Header& header) {
  Found times;
  for (const Name& name : header.names) {
    if (matches(name.full, kTime) && !matches(name.full, kNotAStamp) &&
        !kNotAStamp.matches(name.no_brackets)) {
      times.push_back(&name);
    }
  }
  return times;
}

// Empty if there is at most one candidate.
std::vector<std::string> warnings_of_second(const char* what, const Found& found,
                                            const char* option) {
  if (found.size() < 2) return {};
  return {fmt::format("several_{}_columns: '{}' is read; {} would fit too; choose with {}", what,
                      printable(found[0]->full), quoted_list({found.begin() + 1, found.end()}),
                      option)};
}

void choose_loose_timestamp(const Header& header, Columns& columns) {
  const Found times = loose_times(header);
  if (times.empty()) return;
  columns.timestamp =
      column(*times[0], "the first name with 'time' that is not known as another quantity");
  append(columns.warnings, warnings_of_second("timestamp", times, "--timestamp-column"));
}

// A recorder's own `timestamp` is taken as it is, so that its bad stamps are reported as such;
// columns with other names must contain absolute times.
void choose_timestamp(const Header& header, Columns& columns) {
  const Found own = header.find(columns.schema == "gpu-z" ? kOwnDate : kOwnTime);
  if (!own.empty()) {
    columns.timestamp = column(*own[0], kSchemasOwn);
    return;
  }
  columns.timestamp = generic_timestamp(header);
  if (!columns.timestamp) choose_loose_timestamp(header, columns);
}

// ---- Devices

std::optional<Column> host_of(const Header& header) {
  const Found hosts = header.find(kHostNames);
  return hosts.empty() ? std::nullopt
                       : std::optional(column(*hosts[0], "part of the device's name"));
}

void choose_device(const Header& header, const std::vector<DevicePattern>& patterns,
                   Columns& columns) {
  for (const DevicePattern& device : patterns) {
    const Found found = header.find(device.pattern);
    if (found.empty()) continue;
    columns.device = column(*found[0], kSchemasOwn);
    if (device.with_host) columns.host = host_of(header);
    return;
  }
}

// The values of two columns in the first rows: numbers, and the times beside them.
struct TimedNumbers {
  std::vector<double> numbers;
  std::vector<std::string_view> times;
  bool have_fraction = false;  // some are not whole
};

// Empty if a cell is something else.
TimedNumbers timed_numbers(Rows rows, std::size_t index, std::size_t time) {
  TimedNumbers timed;
  for (const auto& row : rows) {
    const std::string_view text = cell(row, index);
    if (text.empty() && row.size() <= index) continue;  // a blank line, or one that is cut off
    const auto number = python_float(text);
    if (!number || *number < 0) return {};
    timed.numbers.push_back(*number);
    timed.times.push_back(cell(row, time));
    timed.have_fraction = timed.have_fraction || *number != std::floor(*number);
  }
  return timed;
}

// The second of "2026-09-08 07:20:00.123", "1788852000.5" or "1788852000123".
std::string_view second_of(std::string_view time) {
  constexpr std::size_t kUnixDigits = 10;
  return time.substr(0, is_ascii_digits(time) ? kUnixDigits : time.find_first_of(".,"));
}

template <typename Key>
std::size_t count_distinct(std::vector<Key> keys) {
  std::ranges::sort(keys);
  return static_cast<std::size_t>(std::unique(keys.begin(), keys.end()) - keys.begin());
}

// Whether each row, or each time, has the next number.
bool are_counted_up(const TimedNumbers& timed) {
  constexpr std::size_t kFewest = 5;
  if (timed.numbers.size() < kFewest || count_distinct(timed.numbers) < kFewest) return false;
  bool by_row = true;
  bool by_time = true;
  for (std::size_t i = 1; i < timed.numbers.size(); ++i) {
    const double step = timed.numbers[i] - timed.numbers[i - 1];
    by_row = by_row && step == 1;
    by_time = by_time && step == (timed.times[i] == timed.times[i - 1] ? 0 : 1);
  }
  return by_row || by_time;
}

// Several devices have distinct numbers within a second; so many seconds show samples.
bool are_of_many_seconds(const TimedNumbers& timed) {
  constexpr std::size_t kFewest = 5;
  return count_distinct(mapped<std::string_view>(timed.times, second_of)) >= kFewest;
}

// Whether they go round as numbers of devices do: most rounds have each number once.
bool go_round(const std::vector<double>& numbers) {
  const std::size_t all = count_distinct(numbers);
  std::vector<double> round;
  std::size_t rounds = 0;
  std::size_t whole = 0;
  for (const double number : numbers) {
    if (std::ranges::find(round, number) != round.end()) {
      ++rounds;
      whole += round.size() == all ? 1 : 0;
      round.clear();
    }
    round.push_back(number);
  }
  return 5 * whole >= 4 * rounds;
}

// Whether one differs from both next to it. Where rows come device by device, none does.
bool has_lone_number(const std::vector<double>& numbers) {
  for (std::size_t i = 1; i + 1 < numbers.size(); ++i) {
    if (numbers[i] != numbers[i - 1] && numbers[i] != numbers[i + 1]) return true;
  }
  return false;
}

// Whether they are percents: up to 100, one at each time, in no order that devices would have.
bool are_loads(const TimedNumbers& timed) {
  constexpr double kMostGpus = 16;  // of a host; larger numbers are hardly names
  const std::vector<double>& numbers = timed.numbers;
  if (numbers.empty() || std::ranges::max(numbers) > 100) return false;
  if (timed.have_fraction) return true;
  return std::ranges::max(numbers) > kMostGpus && has_lone_number(numbers) &&
         count_distinct(timed.times) == numbers.size() &&
         std::ranges::is_sorted(timed.times, {}, second_of) && !go_round(numbers);
}

// Why a column that is named as a device's has no names of devices; empty: it may have. `others`
// are the candidates.
std::string doubt_about_names(const Header& header, const Name& name, const Found& others,
                              const Columns& columns) {
  static const Pattern may_be_load = "gpu|card|device";
  if (!columns.timestamp || columns.timestamp->index == name.index) return {};
  const std::size_t time = columns.timestamp->index;
  for (const auto& row : header.rows) {
    const std::string_view text = cell(row, name.index);
    if (!text.ends_with('%')) continue;
    return fmt::format("'{}' has percents, such as '{}': a load, and no GPU's name",
                       printable(name.full), printable(text));
  }
  const TimedNumbers timed = timed_numbers(header.rows, name.index, time);
  if (are_counted_up(timed)) {
    const auto names_devices = [&](const Name* other) {
      const TimedNumbers theirs = timed_numbers(header.rows, other->index, time);
      return other != &name && !theirs.numbers.empty() &&
             count_distinct(theirs.numbers) < theirs.numbers.size() && !are_counted_up(theirs);
    };
    if (!are_of_many_seconds(timed) && std::ranges::none_of(others, names_devices)) return {};
    return fmt::format("'{}' numbers the rows: it has as many values as there are samples",
                       printable(name.full));
  }
  if (matches(name.plain, may_be_load) && are_loads(timed)) {
    return fmt::format(
        "'{}' has numbers up to {} that change from row to row, one row at each time: loads in percent, and no GPU's name",
        printable(name.full), std::ranges::max(timed.numbers));
  }
  return {};
}

// The same if the schema does not say which. Returns whether only names of models were found.
bool choose_any_device(const Header& header, Columns& columns) {
  const Rows rows = header.rows;
  Found candidates = header.find(kIndexNames);
  const Found named = candidates;
  std::string doubt;
  std::erase_if(candidates, [&](const Name* name) {
    const std::string why = doubt_about_names(header, *name, named, columns);
    if (doubt.empty()) doubt = why;
    return !why.empty();
  });
  columns.device_doubt = doubt;
  const std::size_t indices = candidates.size();
  if (indices == 0 || !varies(rows, candidates[0]->index)) {
    for (const Pattern& pattern : kOtherIdentities) {
      const Found found = header.find(pattern);
      append(candidates, found);
    }
  }
  const auto models = std::erase_if(
      candidates, [&](const Name* name) { return holds_model_names(rows, name->index); });
  if (candidates.empty()) return models > 0;
  const auto varying =
      std::ranges::find_if(candidates, [&](const Name* name) { return varies(rows, name->index); });
  const bool first_is_constant = varying != candidates.begin() && varying != candidates.end();
  const Name& chosen = first_is_constant ? **varying : *candidates[0];
  columns.device = column(
      chosen, first_is_constant ? fmt::format("'{}' never varies", printable(candidates[0]->full))
              : !doubt.empty()  ? doubt
                                : "named as a device");
  if (indices > 0) {
    if (auto host = host_of(header)) columns.host = std::move(host);
  }
  return false;
}

// ---- By schema

bool fits(const Header& header, const Schema& schema) {
  const auto has = [&](const Pattern& pattern) { return header.has(pattern); };
  if (!std::ranges::all_of(schema.required, has) || !std::ranges::any_of(schema.power, has)) {
    return false;
  }
  return !schema.fits_row || (!header.rows.empty() && schema.fits_row(header.rows[0]));
}

// A long table has many metrics in one column; the averaged power is preferred to the instant one.
// Returns an empty text if the first rows have neither.
std::string power_metric(Rows rows, std::size_t metric_column) {
  for (const char* name : kPowerMetrics) {
    for (const auto& row : rows) {
      if (cell(row, metric_column) == name) return name;
    }
  }
  return {};
}

Choice choose_by(const Schema& schema, const Header& header) {
  Choice choice;
  Columns& columns = choice.columns;
  columns.schema = schema.name;
  columns.naive_is_utc = schema.naive_is_utc;
  columns.has_nanoseconds = schema.has_nanoseconds;
  for (const Pattern& pattern : schema.power) {
    const Found found = header.find(pattern);
    if (found.empty()) continue;
    if (columns.power) {
      if (schema.power_may_move) columns.other_power.push_back(found[0]->index);
      continue;
    }
    if (found.size() > 1) choice.ambiguous = quoted_list(found);
    set_power(*found[0], kSchemasOwn, columns);
  }
  if (schema.unit != PowerUnit::Size::watt && !columns.unit.stated) {
    columns.unit.size = schema.unit;
    columns.unit_is_recorders = true;
  }
  if (columns.schema == "dcgm-long" || columns.schema == "grafana-long") {
    const Name& metric = *header.find(kMetricName)[0];
    columns.metric_name = column(metric, "says which rows are power");
    columns.metric = power_metric(header.rows, metric.index);
  }
  choose_timestamp(header, columns);
  columns.only_device = schema.only_device;
  if (*schema.warning != '\0') columns.warnings.emplace_back(schema.warning);
  if (!schema.has_device) return choice;
  if (schema.device.empty()) {
    choice.has_model_names = choose_any_device(header, columns);
  } else {
    choose_device(header, schema.device, columns);
  }
  return choice;
}

// ---- By names alone

std::optional<Choice> choose_generic(const Header& header) {
  const Found power = columns::generic_power(header.names);
  if (power.size() != 1) return std::nullopt;
  Choice choice;
  choice.columns.timestamp = generic_timestamp(header);
  if (!choice.columns.timestamp) return std::nullopt;
  choice.columns.schema = "generic";
  set_power(*power[0], "the only column named as a power draw", choice.columns);
  choice.has_model_names = choose_any_device(header, choice.columns);
  return choice;
}

std::vector<std::string> warnings_of_loose(const Header& header, const Found& power) {
  const bool is_generic = columns::generic_power(header.names) == power;  // without a time
  if (power.size() != 1 || is_generic) {
    return warnings_of_second("power", power, "--power-column");
  }
  return {fmt::format(
      "loose_power_column: '{}' is read as the power of the GPU, by its name alone; if another "
      "column is, choose it with --power-column",
      printable(power[0]->full))};
}

Choice choose_loosely(const Header& header) {
  const columns::LoosePower loose = columns::loose_power(header.names);
  const Found& power = loose.columns;
  const bool has_times = !loose_times(header).empty();
  Choice choice;
  Columns& columns = choice.columns;
  choice.doubt = loose.doubt;
  if (!power.empty()) {
    set_power(*power[0], "the first name with 'power' that is not known as another quantity",
              columns);
  }
  if (choice.doubt.empty()) columns.warnings = warnings_of_loose(header, power);
  if (has_times) {
    choose_loose_timestamp(header, columns);
  } else {
    columns.timestamp = generic_timestamp(header);
  }
  choice.has_model_names = choose_any_device(header, columns);
  if (power.empty() && !has_times) return choice;
  columns.schema = "loose";
  choice.is_wide = std::ranges::count_if(power, [](const Name* name) {
                     return matches(name->full, kNumberedGpu);
                   }) > 1;
  return choice;
}

Choice choose(const Header& header) {
  const auto schema = std::ranges::find_if(
      schemas(), [&](const Schema& candidate) { return fits(header, candidate); });
  if (schema != schemas().end()) return choose_by(*schema, header);
  if (auto choice = choose_generic(header)) return std::move(*choice);
  return choose_loosely(header);
}

// ---- By the user

// Returns null if there is no such column, which is then in `choice.missing`.
const Name* named_column(const Header& header, const std::string& text, const char* option,
                         Choice& choice) {
  const Name* const name = find_named(header.names, text);
  if (name == nullptr) {
    choice.missing.push_back(fmt::format("{}: no column '{}'; the header has {}", option,
                                         printable(text), quoted_list(header.all())));
  }
  return name;
}

void drop_warnings(const char* start, Columns& columns) {
  std::erase_if(columns.warnings,
                [&](const std::string& warning) { return warning.starts_with(start); });
}

void take_named_timestamp(const Header& header, const std::string& wanted, Choice& choice) {
  const Name* const name = named_column(header, wanted, "--timestamp-column", choice);
  choice.columns.timestamp.reset();
  if (name) choice.columns.timestamp = column(*name, "named by --timestamp-column");
  drop_warnings("several_timestamp_columns", choice.columns);
}

// Of a column for each GPU, one is read.
void warn_of_other_gpus(const Header& header, const Name& chosen, Columns& columns) {
  Found others;
  for (const Name& name : header.names) {
    const bool is_power = matches(name.full, kPowerOfNumberedGpu) ||
                          (matches(name.full, kNumberedGpu) && columns::is_power_name(name.full));
    if (is_power && name.index != chosen.index) others.push_back(&name);
  }
  if (others.empty()) return;
  columns.warnings.push_back(
      fmt::format("one_of_several_gpus: '{}' is of one GPU, and others are not counted: {}",
                  printable(chosen.full), quoted_list(others)));
}

void take_named_power(const Header& header, const ColumnNames& wanted, Choice& choice) {
  Columns& columns = choice.columns;
  const Name* const name = named_column(header, wanted.power, "--power-column", choice);
  columns.power.reset();
  columns.other_power.clear();
  columns.metric_name.reset();
  choice.ambiguous.clear();
  choice.doubt.clear();
  choice.is_wide = false;
  if (name) set_power(*name, "named by --power-column", columns);
  if (name && matches(name->full, kNumberedGpu)) warn_of_other_gpus(header, *name, columns);
  drop_warnings("several_power_columns", columns);
  drop_warnings("loose_power_column", columns);
  if (columns.schema.empty() || columns.schema == "loose") columns.schema = "named";
  if (!columns.timestamp) columns.timestamp = generic_timestamp(header);
  if (!columns.device && wanted.device.empty()) {
    choice.has_model_names = choose_any_device(header, columns);
  }
}

void take_named_device(const Header& header, const std::string& wanted, Choice& choice) {
  const Name* const name = named_column(header, wanted, "--device-column", choice);
  choice.columns.device.reset();
  choice.columns.host.reset();
  choice.has_model_names = false;
  if (name) choice.columns.device = column(*name, "named by --device-column");
}

void take_named(const Header& header, const ColumnNames& wanted, Choice& choice) {
  if (!wanted.timestamp.empty()) take_named_timestamp(header, wanted.timestamp, choice);
  if (!wanted.power.empty()) take_named_power(header, wanted, choice);
  if (!wanted.device.empty()) take_named_device(header, wanted.device, choice);
  if (wanted.power_unit) choice.columns.unit = {*wanted.power_unit, false};
}

// ---- Other names of the same devices

// What a column calls the devices in the first rows. Empty: one of its names is that of two.
std::vector<std::string> names_in(const Header& header, const Name& name, const Columns& columns) {
  std::map<std::string_view, std::pair<std::string_view, std::string_view>> devices;
  for (const auto& row : header.rows) {
    const std::string_view own = cell(row, name.index);
    const std::string_view device = cell(row, columns.device->index);
    if (own.empty() || device.empty()) continue;
    const std::string_view host = columns.host ? cell(row, columns.host->index) : "";
    const std::pair known(host, device);
    if (devices.try_emplace(own, known).first->second != known) return {};
  }
  std::vector<std::string> names;
  for (const auto& [own, known] : devices) names.emplace_back(own);
  return names;
}

std::vector<SeriesFacts::OtherNames> other_names_in(const Header& header, const Columns& columns) {
  std::vector<SeriesFacts::OtherNames> others;
  if (!columns.device) return others;
  Found candidates = header.find(kIndexNames);
  for (const Pattern& pattern : kOtherIdentities) {
    const Found found = header.find(pattern);
    append(candidates, found);
  }
  for (const Name* const name : candidates) {
    if (name->index == columns.device->index) continue;
    std::vector<std::string> names = names_in(header, *name, columns);
    if (!names.empty()) others.push_back({name->full, std::move(names)});
  }
  return others;
}

// ---- All that identifies a GPU

bool names_some(Rows rows, std::size_t index) {
  return std::ranges::any_of(rows,
                             [&](const auto& row) { return !names_no_gpu(cell(row, index)); });
}

// Whether the values are names, and not measured: they recur.
bool recurs(Rows rows, std::size_t index) {
  constexpr std::size_t kFewRows = 4;
  std::set<std::string_view> values;
  for (const auto& row : rows) values.insert(cell(row, index));
  return rows.size() < kFewRows || 2 * values.size() <= rows.size();
}

std::optional<std::size_t> id_column(const Header& header, bool (*fits)(std::string_view)) {
  for (const Name& name : header.names) {
    if (fits(name.plain) && names_some(header.rows, name.index)) return name.index;
  }
  return std::nullopt;
}

std::vector<std::size_t> place_columns(const Header& header, const Columns& columns) {
  constexpr std::size_t kMost = 3;
  std::vector<std::size_t> places;
  for (const Name& name : header.names) {
    const auto is_that = [&](const std::optional<Column>& column) {
      return column && column->index == name.index;
    };
    if (!is_place_name(name.plain) || !names_some(header.rows, name.index)) continue;
    if (is_that(columns.device) || is_that(columns.host) || is_that(columns.power)) continue;
    if (recurs(header.rows, name.index) && places.size() < kMost) places.push_back(name.index);
  }
  return places;
}

bool shows_places(const Header& header, const Columns& columns) {
  const Columns::Key& key = *columns.key;
  GpuNames names(key.by_id);
  std::string text;
  for (const auto& row : header.rows) {
    const auto at = [&](const std::optional<std::size_t>& column) {
      return column ? cell(row, *column) : std::string_view();
    };
    std::vector<std::string_view> places;
    for (const std::size_t place : key.places) places.push_back(cell(row, place));
    const std::string_view host = columns.host ? cell(row, columns.host->index) : "";
    write_key({host, places, at(key.index), at(key.uuid), at(key.pci)}, text);
    const GpuKey gpu = read_key(text);
    if (names_gpu(gpu)) names.add(gpu);
  }
  return names.shows_places();
}

void choose_key(const Header& header, Columns& columns) {
  if (!columns.device) return;
  const std::size_t device = columns.device->index;
  const auto own =
      std::ranges::find_if(header.names, [&](const Name& name) { return name.index == device; });
  Columns::Key key;
  key.uuid = is_uuid_name(own->plain) ? device : id_column(header, is_uuid_name);
  key.pci = is_pci_name(own->plain) ? device : id_column(header, is_pci_name);
  key.by_id = key.uuid == device || key.pci == device;
  key.places = place_columns(header, columns);
  if (!key.by_id) {
    key.index = device;
  } else if (const Found found = header.find(kIndexNames); !found.empty()) {
    if (!holds_model_names(header.rows, found[0]->index)) key.index = found[0]->index;
  }
  const bool has_more = !key.places.empty() || (key.by_id ? key.index.has_value() : false) ||
                        (key.uuid && key.uuid != device) || (key.pci && key.pci != device);
  if (!has_more) return;
  columns.key = std::move(key);
  columns.shows_places = shows_places(header, columns);
}

// The columns that name what a row measures, and those that are known as something else.
MeasuredColumns measured_columns(const Columns& columns) {
  MeasuredColumns read{columns.timestamp->index, columns.power->index, {columns.device->index}, {}};
  const auto add = [&](const std::optional<std::size_t>& column) {
    if (column) read.thing.push_back(*column);
  };
  if (columns.host) add(columns.host->index);
  if (columns.key) {
    for (const std::size_t place : columns.key->places) add(place);
    for (const auto& column : {columns.key->index, columns.key->uuid, columns.key->pci})
      add(column);
  }
  read.others.insert(columns.other_power.begin(), columns.other_power.end());
  return read;
}

void note_turns(std::span<const std::string> header, Rows rows, Columns& columns) {
  if (!columns.timestamp || !columns.power || !columns.device || columns.metric_name) return;
  MeasuredColumns read = measured_columns(columns);
  for (const auto& state : choose_state_columns(header, columns.schema).quantities) {
    if (state) read.others.insert(*state);
  }
  const auto turns = columns::rows_in_turn(header, rows, std::move(read));
  columns.may_take_turns = turns && !turns->is_sure;
  if (turns && turns->is_sure) columns.identity_doubt = columns::turns_text(turns->numbers, header);
}

// Rows of parts of a device, each with a part of its power.
void note_tiles(std::span<const std::string> header, Rows rows, Columns& columns) {
  static constexpr Pattern part = "(gpu[ _]?)?tile([ _]?id)?|sub[ _]?device([ _]?id)?";
  if (!columns.power || !columns.identity_doubt.empty()) return;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (!part.matches(lower_ascii(strip(header[i])))) continue;
    std::set<std::string, std::less<>> tiles;  // with power: a GPU of one tile has its own
    for (const auto& row : rows) {
      const std::string_view tile = cell(row, i);
      const auto watts = parse_watts(cell(row, columns.power->index), columns.unit);
      if (is_ascii_digits(tile) && watts) tiles.emplace(tile);
    }
    if (tiles.size() < 2) continue;
    columns.identity_doubt = fmt::format(
        "column '{}' says that rows are of parts of a GPU, and each has a part of its power: record whole GPUs",
        printable(header[i]));
  }
}

// Of the partitions of a GPU, the first one has the power of all, and the others have none.
void leave_out_partitions(const Header& header, Columns& columns) {
  static constexpr Pattern partition = "xcp";
  if (columns.schema != "amd-smi-monitor" || !columns.power) return;
  const Found found = header.find(partition);
  if (found.empty()) return;
  bool has_first = false;
  bool has_others = false;
  for (const auto& row : header.rows) {
    const std::string_view number = cell(row, found[0]->index);
    if (!is_ascii_digits(number)) return;
    (number == "0" ? has_first : has_others) = true;
    const bool has_power = parse_watts(cell(row, columns.power->index), columns.unit).has_value();
    if (number != "0" && has_power) return;
  }
  if (!has_first || !has_others) return;
  columns.metric_name = column(*found[0], "says which rows have the power");
  columns.metric = "0";
}

// ---- What speaks against the choice

// The file has one row for each run, not for each sample.
bool is_summary(const Header& header, const Choice& choice, const ColumnNames& wanted) {
  const std::string& schema = choice.columns.schema;
  return (schema == "generic" || schema == "loose") && wanted.power.empty() && header.has(kSummary);
}

// Why a column is not read whose name states no unit of power; --power-unit overrides it.
std::string doubt_about_unit(const Choice& choice, const ColumnNames& wanted) {
  if (!choice.columns.power || wanted.power_unit) return {};
  return other_unit_text(choice.columns.power->name).value_or("");
}

// The column chosen as the power does not hold one.
bool has_no_power(const Choice& choice, bool is_a_summary) {
  return is_a_summary || choice.is_wide || !choice.ambiguous.empty();
}

// For columns that are final.
Reasons reasons_against(const Header& header, const Choice& choice, bool is_a_summary) {
  const Columns& columns = choice.columns;
  Reasons reasons;
  std::string names;  // used if nothing below says more
  if (!header.names.empty() && choice.missing.empty() && choice.ambiguous.empty())
    names = "the header has " + quoted_list(header.all());
  if (!columns.timestamp) {
    reasons.add(Reason::timestamp_column_missing, std::exchange(names, {}));
  }
  if (!choice.doubt.empty()) reasons.add(Reason::power_column_missing, choice.doubt);
  if (!columns.power) reasons.add(Reason::power_column_missing, std::exchange(names, {}));
  if (!columns.device && columns.only_device.empty()) {
    reasons.add(Reason::gpu_identity_column_missing,
                columns.device_doubt.empty() ? names : columns.device_doubt);
  }
  for (const std::string& text : choice.missing) reasons.add(Reason::named_column_missing, text);
  if (is_a_summary) reasons.add(Reason::run_summary);
  if (!choice.ambiguous.empty()) {
    reasons.add(Reason::ambiguous_power_column, choice.ambiguous + "; choose with --power-column");
  }
  if (choice.is_wide || (!columns.power && header.has(kPowerOfNumberedGpu))) {
    reasons.add(Reason::wide_power_columns);
  }
  if (!columns.power && choice.ambiguous.empty()) {
    const Found limits = columns::power_limits(header.names);
    if (!limits.empty()) reasons.add(Reason::only_power_limits, quoted_list(limits));
  }
  if (columns.schema == "amd-smi" && !columns.timestamp && header.has(kTableOfLimits)) {
    reasons.add(Reason::only_power_limits, "this is a table of limits");
  }
  if (choice.has_model_names) reasons.add(Reason::model_name_as_device);
  return reasons;
}

bool is_mig_enabled(const Header& header) {
  static constexpr Pattern mode = "mig[._ ]?mode([._ ]?current)?";
  return std::ranges::any_of(header.find(mode), [&](const Name* name) {
    return std::ranges::any_of(header.rows, [&](const auto& row) {
      return lower_ascii(cell(row, name->index)) == "enabled";
    });
  });
}

std::vector<std::string> warnings_of(const Header& header, const Columns& columns) {
  const std::vector<Name>& names = header.names;
  std::vector<std::string> warnings;
  for (const auto& chosen : {columns.timestamp, columns.power, columns.device}) {
    const auto name = std::ranges::find_if(names, [&](const Name& candidate) {
      return chosen && candidate.repeated && candidate.index == chosen->index;
    });
    if (name == names.end()) continue;
    warnings.push_back(
        fmt::format("duplicate_column: '{}' is in the header more than once; the last one is read",
                    printable(name->full)));
  }
  for (const char separator : {';', '\t', '|'}) {
    if (names.size() > 2 || names.empty() || std::ranges::count(names[0].full, separator) < 2) {
      continue;
    }
    warnings.push_back(fmt::format(
        "not_comma_separated: the header looks separated by '{}'; write the file with commas",
        separator == '\t' ? "\\t" : std::string(1, separator)));
  }
  if (is_mig_enabled(header)) {
    warnings.emplace_back(
        "mig: MIG is enabled, and the power is that of the whole GPU: if the run used one of its instances, that of the others is counted, too");
  }
  return warnings;
}

// The models that a column of the first rows names.
std::vector<std::string> models_in(const Header& header) {
  static constexpr Pattern model =
      "name|gpu_?name|product_?name|card_?name|device[_ ]?name|model|gpu_?model|model_?name"
      "|gpu_?model_?name|product_?model_?name|card_?model_?name|device[_ ]?model_?name";
  std::vector<std::string> models;
  for (const Name* const name : header.find(model)) {
    for (const auto& row : header.rows) {
      const std::string_view text = cell(row, name->index);
      if (is_model_name(text)) note_model(text, models);
    }
    if (!models.empty()) break;
  }
  return models;
}

// What columns of settings say, where all of the first rows say the same.
std::vector<std::pair<std::string, std::string>> settings_in(const Header& header) {
  static constexpr std::pair<std::string_view, Pattern> kSettings[] = {
      {"driver", "driver_?version"},
      {"clock_setting_mhz", "clocks\\.applications\\.(graphics|gr|sm)( ?\\[mhz\\])?"},
      {"max_clock_mhz", "clocks\\.max\\.(graphics|gr|sm)( ?\\[mhz\\])?"},
      {"max_power_limit_w", "power\\.max_limit( ?\\[w\\])?"}};
  std::vector<std::pair<std::string, std::string>> settings;
  for (const auto& [key, pattern] : kSettings) {
    for (const Name* const name : header.find(pattern)) {
      std::set<std::string> values;
      for (const auto& row : header.rows) {
        std::string_view text = strip(cell(row, name->index));
        for (const std::string_view unit : {" MHz", " W"}) {
          if (text.ends_with(unit)) text.remove_suffix(unit.size());
        }
        values.emplace(text);
      }
      if (values.size() != 1 || values.begin()->empty() || values.begin()->starts_with('['))
        continue;
      settings.emplace_back(key, *values.begin());
      break;
    }
  }
  return settings;
}

std::vector<std::string> same_power_in(const Header& header, const Columns& columns) {
  std::vector<std::string> same;
  for (const Pattern& names : kSamePower) {
    const Found found = header.find(names);
    const auto is_read = [&](const Name* name) {
      return columns.power && name->index == columns.power->index;
    };
    if (std::ranges::none_of(found, is_read)) continue;
    for (const Name* const name : found) {
      if (!is_read(name)) same.push_back(name->full);
    }
  }
  return same;
}

// How a number is written at a cell's front, and the unit after it. Nullopt: it is not plain.
std::optional<PowerForm> form_of_number(std::string_view text) {
  const auto count_digits = [&] {
    const auto end = std::ranges::find_if_not(text, is_ascii_digit);
    const auto count = static_cast<std::size_t>(end - text.begin());
    text.remove_prefix(count);
    return count;
  };
  PowerForm form;
  form.digits = count_digits();
  if (form.digits == 0) return std::nullopt;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    form.places = count_digits();
  }
  form.unit = strip(text);
  return form;
}

// Of the rows before the last one, which may itself be cut off.
PowerForm form_of_power(Rows rows, const Columns& columns) {
  std::optional<PowerForm> common;
  for (std::size_t i = 0; columns.power && i + 1 < rows.size(); ++i) {
    const auto form = form_of_number(cell(rows[i], columns.power->index));
    if (!form) continue;
    if (!common) common = form;
    if (common->unit != form->unit) common->unit.clear();
    common->places = std::min(common->places, form->places);
    common->digits = std::min(common->digits, form->digits);
  }
  return common.value_or(PowerForm());
}

// What the power's column and its recorder show.
Sensor sensor_of(const Columns& columns) {
  Sensor sensor;
  const auto schema = std::ranges::find(schemas(), columns.schema, &Schema::name);
  if (schema != schemas().end()) sensor.collector = schema->collector;
  if (!columns.power) return sensor;
  sensor.name = columns.metric.empty() ? columns.power->name : columns.metric;
  const std::string name = lower_ascii(sensor.name);
  const bool is_own = columns.power->why == kSchemasOwn;
  if (name.starts_with("module.")) {
    sensor.scope = "module";
  } else if (is_own && schema != schemas().end()) {
    sensor.scope = schema->scope;
  }
  if (name.find("instant") != name.npos || name.ends_with("raw_watts")) {
    sensor.averaging = "instantaneous";
  } else if (name.starts_with("power.draw.average")) {
    sensor.averaging = "1 s";
  } else if (is_own && schema != schemas().end()) {
    sensor.averaging = schema->averaging;
  }
  return sensor;
}

}  // namespace

Columns choose_columns(std::span<const std::string> header, Rows rows,
                       const IsAbsoluteTime& is_absolute_time, const ColumnNames& wanted) {
  const Header from{read_names(header), rows, is_absolute_time};
  Choice choice = choose(from);
  take_named(from, wanted, choice);
  Columns& columns = choice.columns;
  const bool is_a_summary = is_summary(from, choice, wanted);
  if (has_no_power(choice, is_a_summary)) columns.power.reset();
  if (std::string doubt = doubt_about_unit(choice, wanted); !doubt.empty()) {
    choice.doubt = std::move(doubt);
    columns.power.reset();
  }
  choose_key(from, columns);
  note_turns(header, rows, columns);
  note_tiles(header, rows, columns);
  columns.sensor = sensor_of(columns);
  leave_out_partitions(from, columns);
  columns.gpu_models = models_in(from);
  columns.settings = settings_in(from);
  columns.other_names = other_names_in(from, columns);
  columns.has_average_power = from.has(kAveragePower);
  if (wanted.power.empty()) columns.same_power = same_power_in(from, columns);
  columns.power_form = form_of_power(rows, columns);
  columns.time_of_day = columns.timestamp && holds_times_of_day(rows, columns.timestamp->index);
  columns.reasons = reasons_against(from, choice, is_a_summary);
  append(columns.warnings, warnings_of(from, columns));
  return std::move(columns);
}

bool is_cut_off(std::string_view cell, const PowerForm& form) {
  const auto own = form_of_number(cell);
  if (!own || form.digits == 0) return false;
  return (!form.unit.empty() && own->unit != form.unit) || own->places < form.places ||
         (form.places == 0 && own->digits < form.digits);
}

SeriesFacts series_facts(const Columns& columns, const ColumnNames& wanted) {
  const auto name = [](const std::optional<Column>& column) {
    return column ? std::optional(column->name) : std::nullopt;
  };
  SeriesFacts facts = {.schema = columns.schema,
                       .timestamp_column = name(columns.timestamp),
                       .power_column = name(columns.power),
                       .device_column = name(columns.device),
                       .unit = columns.unit.size,
                       .names_hosts = columns.host.has_value() || columns.shows_places,
                       .naive_is_utc = columns.naive_is_utc,
                       .time_of_day = columns.time_of_day,
                       .sensor = columns.sensor,
                       .gpu_models = columns.gpu_models,
                       .settings = columns.settings,
                       .has_average_power = columns.has_average_power,
                       .same_power = columns.same_power,
                       .reasons = columns.reasons,
                       .warnings = columns.warnings,
                       .given_columns = wanted.all,
                       .other_names = columns.other_names};
  if (!wanted.all.empty()) {
    facts.lines.push_back({"columns", printable(joined_text(wanted.all, ",")), "from --columns"});
  }
  const auto add = [&](const char* what, const std::optional<Column>& column) {
    if (column) {
      facts.lines.push_back({what, fmt::format("'{}'", printable(column->name)), column->why});
    } else {
      facts.lines.push_back({what, "none", {}});
    }
  };
  add("timestamp", columns.timestamp);
  add("power", columns.power);
  if (columns.power) {
    facts.lines.push_back({"unit", std::string(unit_symbol(columns.unit.size)),
                           wanted.power_unit           ? "from --power-unit"
                           : columns.unit.stated       ? "from the column's name"
                           : columns.unit_is_recorders ? "what the recorder writes"
                                                       : "the default"});
  }
  add("device", columns.device);
  if (columns.host) add("host", columns.host);
  return facts;
}

std::vector<SchemaRow> csv_schemas() {
  auto rows = mapped(schemas(), [](const Schema& schema) {
    return SchemaRow{schema.name, schema.power_words, schema.device_words};
  });
  rows.push_back({"generic", "the only column named as a power draw, see below",
                  "an index or another id, see below"});
  rows.push_back(
      {"loose",
       "the first name with `power` in it that is not known as a limit, a cap, a state, a part's power, a statistic or an energy, with a warning; schema 2 takes it only if every word of the name is known, see below; schema 1 also takes a part's power if there is no other",
       "an index or another id, see below"});
  return rows;
}

bool is_power_metric(std::string_view name) {
  return std::ranges::find(kPowerMetrics, name) != std::end(kPowerMetrics);
}

HeaderKind header_kind(std::span<const std::string> header, Rows rows,
                       const IsAbsoluteTime& is_absolute_time) {
  const Header from{read_names(header), rows, is_absolute_time};
  const Choice choice = choose(from);
  const Columns& columns = choice.columns;
  if (columns.schema.empty()) return HeaderKind::none;
  if (columns.schema != "loose") return HeaderKind::of_schema;
  const bool is_loose = columns.power && columns.timestamp &&
                        !has_no_power(choice, is_summary(from, choice, {})) &&
                        columns.power->index != columns.timestamp->index;
  return is_loose ? HeaderKind::loose : HeaderKind::none;
}

}  // namespace aggregate_power
