// Reads CSVs with a column of power for each GPU, whose name says which: EnergiBridge's, and the
// ones that Grafana writes of series joined by time.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/csv.h"
#include "base/text/pattern.h"
#include "core/telemetry/energy_counter.h"
#include "core/telemetry/lines.h"
#include "recorders/metric_labels.h"
#include "recorders/node_sensors.h"
#include "recorders/recorder_table.h"
#include "recorders/recorders.h"

namespace aggregate_power {
namespace {

struct WideColumn {
  std::size_t index = 0;
  std::string host = {};  // empty: the GPU's name stands alone
  std::string gpu = {};
  MetricLabels series = {};
  std::size_t number_of_series = 0;          // as the sink numbers it
  std::optional<std::uint32_t> device = {};  // its number, once it had a sample

  std::uint32_t number(ReadingSink& sink) {
    if (!device) device = host.empty() ? sink.find(gpu) : sink.find(host, gpu);
    return *device;
  }
};

// What a header says.
struct WideHeader {
  std::optional<std::size_t> time;
  std::vector<WideColumn> columns;
  std::size_t cells = 0;
  std::vector<std::string> names;  // of all columns
  std::size_t other_series = 0;    // columns of series that are not known as power
  std::size_t unnamed = 0;         // those of them without a name
  std::string power;               // how the columns of power are called
  std::string device;              // what names the GPU
  Sensor sensor;
  std::optional<EnergyCounter> counter;  // of other columns, or of these
};

using ReadHeader = WideHeader (*)(const std::vector<std::string>& cells,
                                  const TelemetryOptions& options);

WideHeader energibridge_header(const std::vector<std::string>& cells, const TelemetryOptions&) {
  static constexpr Pattern power("GPU[0-9]+_POWER \\(mWatts\\)");
  WideHeader header;
  header.cells = cells.size();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string_view name = strip(cells[i]);
    if (name == "Time") header.time = i;
    if (!power.matches(name)) continue;
    const std::string gpu(name.substr(3, name.find('_') - 3));
    header.columns.push_back({.index = i, .gpu = gpu, .series = {std::string(name), {}}});
  }
  header.power = "GPU*_POWER (mWatts)";
  header.device = "the column";
  header.sensor = {"EnergiBridge", "nvmlDeviceGetPowerUsage", "gpu", "unknown"};
  return header;
}

WideHeader grafana_header(const std::vector<std::string>& cells, const TelemetryOptions& options) {
  WideHeader header;
  header.cells = cells.size();
  while (header.cells > 0 && strip(cells[header.cells - 1]).empty()) --header.cells;
  if (cells.empty() || lower_ascii(strip(cells[0])) != "time") return header;
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
  return header;
}

using RowCells = std::vector<std::string_view>;

// Splits a row at its commas; one with quotes or control characters as a CSV, into `copies`.
void split_row(std::string_view line, RowCells& cells, std::vector<std::string>& copies) {
  cells.clear();
  if (std::ranges::any_of(line, [](char c) { return c == '"' || (c >= 0 && c < ' '); })) {
    copies = cells_of_line(line);
    cells.assign(copies.begin(), copies.end());
    return;
  }
  for (std::size_t comma = line.find(','); comma != line.npos; comma = line.find(',')) {
    cells.push_back(line.substr(0, comma));
    line.remove_prefix(comma + 1);
  }
  cells.push_back(line);
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

// The cells of one row. MIG instances are columns of one GPU, and each repeats its power.
void take_wide_row(const RowCells& cells, bool is_whole, std::uint64_t line_number,
                   WideHeader& header, ReadingSink& sink) {
  if (cells.size() == 0) return sink.skip(&Skipped::blank);  // NUL bytes
  if (!is_whole && cells.size() < header.cells) return sink.skip(&Skipped::torn_tail);
  const std::size_t time = header.time.value_or(0);
  const std::string_view stamp = time < cells.size() ? cells[time] : std::string_view();
  Stamp at{};
  if (!sink.read_stamp(stamp, at)) {
    const HeaderRow row = header_row(header, cells);
    if (row == HeaderRow::other) throw OtherHeader(line_number);
    if (row == HeaderRow::repeated) return sink.skip(&Skipped::repeated_header);
    std::ignore = sink.start_row(stamp);
    return;
  }
  sink.start_row(at);
  const bool is_too_long = has_too_many(cells, header.cells);
  if (is_too_long) sink.skip(&Skipped::too_many_cells);
  for (WideColumn& column : header.columns) {
    if (column.index >= cells.size()) continue;
    const std::string_view cell = cells[column.index];
    const double watts = is_too_long ? std::numeric_limits<double>::quiet_NaN() : sink.number(cell);
    if (std::isnan(watts) && strip(cell).empty()) continue;  // another series has a sample then
    sink.add_to(column.number(sink), watts);
    sink.note_series(column.number_of_series, *column.device);
  }
}

// Reads the lines of a table into a sink.
class WideLines {
 public:
  WideLines(ReadHeader read_header, const TelemetryOptions& options, ReadingSink& sink)
      : read_header_(read_header), options_(options), sink_(sink) {}

  void take(std::string_view line, bool is_whole) {
    ++line_number_;
    if (strip(line).empty()) return sink_.skip(&Skipped::blank);
    if (!header_) return take_header(line);
    split_row(line, cells_, copies_);
    take_wide_row(cells_, is_whole, line_number_, *header_, sink_);
  }

 private:
  void take_header(std::string_view line) {
    if (line.starts_with("sep=")) return;
    const std::vector<std::string> names = cells_of_line(line);
    header_ = read_header_(names, options_);
    header_->names = names;
    if (options_.counters && header_->counter) sink_.count_energy(*header_->counter);
    for (WideColumn& column : header_->columns) {
      column.number_of_series = sink_.add_series(column.series);
    }
  }

  ReadHeader read_header_;
  const TelemetryOptions& options_;
  ReadingSink& sink_;
  std::optional<WideHeader> header_;
  RowCells cells_;
  std::vector<std::string> copies_;  // of cells that are not as they are written
  std::uint64_t line_number_ = 0;
};

void read_wide(ByteSource& source, ReadHeader read_header, const TelemetryOptions& options,
               ReadingSink& sink) {
  WideLines lines(read_header, options, sink);
  for_each_line(source, [&](std::string_view line, bool is_whole) { lines.take(line, is_whole); });
}

WideHeader header_in(std::string_view head, ReadHeader read_header,
                     const TelemetryOptions& options) {
  if (head.starts_with("sep=")) head.remove_prefix(std::min(head.find('\n') + 1, head.size()));
  try {
    return read_header(cells_of_line(head.substr(0, head.find('\n'))), options);
  } catch (const CsvError&) {
    return {};
  }
}

SeriesFacts wide_facts(const WideHeader& header, const char* schema, PowerUnit::Size unit,
                       const TelemetryOptions& options) {
  SeriesNames names = {.schema = schema, .timestamp = "Time"};
  names.unit = unit;
  if (!header.power.empty()) names.power = header.power;
  if (!header.power.empty() && header.power == options.columns.power) {
    names.power_why = "named by --power-column";
  }
  if (!header.device.empty()) names.device = header.device;
  TelemetryOptions others = options;
  if (header.device == options.columns.device) others.columns.device.clear();
  SeriesFacts facts = facts_of_names(names, others);
  facts.names_hosts = std::ranges::any_of(
      header.columns, [](const WideColumn& column) { return !column.host.empty(); });
  facts.sensor = header.sensor;
  facts.counter = header.counter;
  if (!names.power) {
    facts.reasons.explain(
        Reason::power_column_missing,
        header.unnamed == header.other_series
            ? "the series have no name; if their values are watts, pass --power-column value"
            : "no series is known as the power of a GPU; name its metric with --power-column");
  }
  return facts;
}

Telemetry open_wide(std::unique_ptr<ByteSource> source, const TelemetryOptions& options,
                    const char* schema, ReadHeader read_header, PowerUnit::Size unit) {
  return open_stream(std::move(source), options,
                     {.facts_of =
                          [&](std::string_view head) {
                            return wide_facts(header_in(head, read_header, options), schema, unit,
                                              options);
                          },
                      .read =
                          [options, read_header](ByteSource& bytes, ReadingSink& sink) {
                            try {
                              read_wide(bytes, read_header, options, sink);
                            } catch (const CsvError& error) {
                              throw TelemetryError(error.what());
                            }
                          },
                      .cut_off_after = at_any_line});
}

bool has_columns(std::string_view head, ReadHeader read_header) {
  const WideHeader header = header_in(head, read_header, {});
  return header.time && (!header.columns.empty() || header.unnamed > 0);
}

double fits_energibridge(std::string_view head) {
  return head.starts_with("Delta,Time,") && has_columns(head, energibridge_header) ? 0.9 : 0;
}

Telemetry open_energibridge(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  return open_wide(std::move(source), options, "energibridge", energibridge_header,
                   PowerUnit::Size::milliwatt);
}

std::vector<SchemaRow> energibridge_schemas() {
  return {{"energibridge", "`GPU0_POWER (mWatts)` and so on, in mW", "the column"}};
}

double fits_grafana_wide(std::string_view head) {
  return has_columns(head, grafana_header) ? 0.9 : 0;
}

Telemetry open_grafana_wide(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  return open_wide(std::move(source), options, "grafana-wide", grafana_header,
                   PowerUnit::Size::watt);
}

std::vector<SchemaRow> grafana_wide_schemas() {
  return {
      {"grafana-wide",
       "columns named `METRIC{labels}`, of a metric as in `prometheus-matrix`, in W; `{labels}` alone with `--power-column value`",
       "as in `prometheus-matrix`"}};
}

}  // namespace

const Recorder kGrafanaWideRecorder = {.name = "Grafana, series joined by time",
                                       .fits = fits_grafana_wide,
                                       .open = open_grafana_wide,
                                       .schemas = grafana_wide_schemas,
                                       .is_table = true};
const Recorder kEnergibridgeRecorder = {.name = "EnergiBridge",
                                        .fits = fits_energibridge,
                                        .open = open_energibridge,
                                        .schemas = energibridge_schemas};

// ---- Reads the CSV of older versions of Grafana, "Series;Time;Value", a row for each sample: from
// the row's end, since the series' name may contain anything.

namespace {

constexpr std::string_view kRowsHeader = "series;time;value";

struct GrafanaRow {
  std::string series;
  std::string_view time;
  std::string_view value;
};

// Newer versions put quotes around cells.
std::string without_quotes(std::string_view cell) {
  cell = strip(cell);
  if (cell.size() < 2 || cell.front() != '"' || cell.back() != '"') return std::string(cell);
  std::string text(cell.substr(1, cell.size() - 2));
  for (std::size_t i = text.find("\"\""); i != text.npos; i = text.find("\"\"", i + 1)) {
    text.erase(i, 1);
  }
  return text;
}

std::string_view take_last_cell(std::string_view& line) {
  const std::size_t separator = line.rfind(';');
  if (separator == line.npos) return {};
  std::string_view cell = strip(line.substr(separator + 1));
  line = line.substr(0, separator);
  if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') {
    cell = cell.substr(1, cell.size() - 2);
  }
  return cell;
}

// Which rows are power, and of which GPU.
class GrafanaSeries {
 public:
  explicit GrafanaSeries(const TelemetryOptions& options)
      : takes_any_(takes_any(options)), power_(options) {}

  // Whether the user says that all series are power. Then the label of the GPU is known from the
  // first series that has labels, wherever it is.
  static bool takes_any(const TelemetryOptions& options) {
    return !options.counters && lower_ascii(options.columns.power) == "value";
  }

  // Nullopt: it is not power. If the user says that all series are power, a name whose labels name
  // no GPU is the GPU's.
  std::optional<PowerSeries::Gpu> gpu_of(std::string_view series) {
    std::string_view rest = series;
    labels_ = take_metric(rest);
    if (!rest.empty() || (labels_ && labels_->labels.empty())) labels_.reset();
    if (labels_ && (power_.has(*labels_) || takes_any_)) {
      const PowerSeries::Gpu gpu = power_.gpu_of(*labels_);
      if (!takes_any_ || !power_.label().empty()) return gpu;
    }
    if (!takes_any_) return std::nullopt;
    return PowerSeries::Gpu{{}, series};
  }
  // The labels of the series that gpu_of() was last asked for; nullopt: it has none.
  const std::optional<MetricLabels>& labels() const { return labels_; }
  std::optional<std::string> power() const {
    if (takes_any_) return "Value";
    return power_.metric().empty() ? std::nullopt : std::optional(power_.metric());
  }
  std::optional<std::string> device() const {
    if (takes_any_ && power_.label().empty()) return "Series";
    return power_.label().empty() ? std::nullopt : std::optional(power_.label());
  }
  bool names_hosts() const { return power_.names_hosts(); }
  Sensor sensor() const { return power_.sensor(); }
  const PowerSeries& metrics() const { return power_; }

 private:
  bool takes_any_;
  PowerSeries power_;
  std::optional<MetricLabels> labels_;  // the GPU's name is in it
};

bool is_rows_header(std::string_view line) {
  std::string header = lower_ascii(strip(line));
  std::erase(header, '"');
  return header == kRowsHeader;
}

// Whether a line names the column of series: no series is called so.
bool begins_as_header(std::string_view line) {
  line = strip(line);
  if (line.starts_with('"')) line.remove_prefix(1);
  if (line.empty() || (line[0] != 'S' && line[0] != 's')) return false;
  const std::string begin = lower_ascii(line.substr(0, 8));
  return begin.starts_with("series;") || begin == "series\";";
}

// MIG instances are series of one GPU, and each repeats its power.
void read_grafana_rows(ByteSource& source, GrafanaSeries& series, ReadingSink* sink) {
  std::unordered_map<std::string, std::size_t> numbers;  // of series, by their text
  std::uint64_t line_number = 0;
  bool has_header = false;
  for_each_line(source, [&](std::string_view line, bool is_whole) {
    ++line_number;
    if (begins_as_header(line)) {
      if (!is_rows_header(line)) throw OtherHeader(line_number);
      if (has_header && sink != nullptr) sink->skip(&Skipped::repeated_header);
      has_header = true;
      return;
    }
    if (!is_whole && sink != nullptr) return sink->skip(&Skipped::torn_tail);
    line = strip(line);
    const std::string_view value = take_last_cell(line);
    const std::string_view time = take_last_cell(line);
    if (time.empty()) return;
    const std::string name = without_quotes(line);
    const auto gpu = series.gpu_of(name);
    if (sink != nullptr) sink->note_counter(series.metrics());
    if (!gpu || sink == nullptr) return;
    std::optional<std::size_t> number;
    if (series.labels()) {
      const auto [known, is_new] = numbers.try_emplace(name);
      if (is_new) known->second = sink->find_series(*series.labels());
      number = known->second;
    }
    if (value.empty() || value == "null") return;  // nothing was sampled
    if (!sink->start_row(time)) return;
    const std::uint32_t device =
        gpu->host.empty() ? sink->find(gpu->name) : sink->find(gpu->host, gpu->name);
    sink->add_to(device, value);
    if (number) sink->note_series(*number, device);
  });
}

SeriesFacts grafana_rows_facts(std::string_view head, const TelemetryOptions& options) {
  GrafanaSeries series(options);
  MemorySource source(head);
  try {
    read_grafana_rows(source, series, nullptr);
  } catch (const OtherHeader&) {  // reported when all is read
  }
  SeriesNames names = {.schema = "grafana-rows", .timestamp = "Time"};
  names.power = series.power();
  names.device = series.device();
  if (!options.columns.power.empty()) names.power_why = "named by --power-column";
  TelemetryOptions others = options;
  if (names.device) others.columns.device.clear();
  SeriesFacts facts = facts_of_names(names, others);
  facts.names_hosts = series.names_hosts();
  facts.sensor = series.sensor();
  if (!names.power) {
    facts.reasons.explain(
        Reason::power_column_missing,
        "no series is named as the power of a GPU; if all are, pass --power-column Value");
  }
  return facts;
}

// After a line "sep=;", which is for spreadsheets.
std::string_view first_row(std::string_view head) {
  if (head.starts_with("sep=")) head.remove_prefix(std::min(head.find('\n'), head.size() - 1) + 1);
  return strip(head.substr(0, head.find('\n')));
}

double fits_grafana_rows(std::string_view head) {
  return is_rows_header(first_row(head)) ? 0.95 : 0;
}

Telemetry open_grafana_rows(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  return open_stream(
      std::move(source), options,
      {.facts_of = [&](std::string_view head) { return grafana_rows_facts(head, options); },
       .read =
           [options](ByteSource& bytes, ReadingSink& sink) {
             GrafanaSeries series(options);
             read_grafana_rows(bytes, series, &sink);
           },
       .cut_off_after = GrafanaSeries::takes_any(options) ? nullptr : at_any_line});
}

std::vector<SchemaRow> grafana_rows_schemas() {
  return {
      {"grafana-rows",
       "`Value` of `Series;Time;Value`, as older versions of Grafana export it, in W: a series named as in `prometheus-matrix`, or all with `--power-column Value`",
       "as in `prometheus-matrix`; with `--power-column Value` the series where it has no such labels"}};
}

}  // namespace

const Recorder kGrafanaRowsRecorder = {.name = "Grafana, a row for each sample",
                                       .fits = fits_grafana_rows,
                                       .open = open_grafana_rows,
                                       .schemas = grafana_rows_schemas};

// ---- Reads tables of a node's sensors: a time, and columns of RAPL domains or of the node's
// power.

namespace {

struct SensorColumn {
  std::size_t index = 0;
  std::string name = {};  // as the header has it
  NodeWitness::Kind kind = NodeWitness::Kind::power;
  double factor = 1;  // to J or W
  std::string source = "csv";
  std::string scope = "unknown";
};

struct SensorTable {
  std::size_t time = std::string::npos;
  std::size_t domain = std::string::npos;  // the sensor's name is in the row
  std::size_t host = std::string::npos;
  std::size_t socket = std::string::npos;
  std::size_t range = std::string::npos;  // max_energy_range_uj of the row's sensor
  std::size_t cells = 0;
  std::vector<SensorColumn> sensors;
};

struct SensorUnit {
  NodeWitness::Kind kind;
  double factor;  // to J or W
};

struct WattUnit {
  std::string_view name;
  double watts;
};
constexpr WattUnit kWattUnits[] = {
    {"W", 1},     {"w", 1},          {"mW", 1e-3},      {"mw", 1e-3},      {"kW", 1e3},
    {"kw", 1e3},  {"KW", 1e3},       {"MW", 1e6},       {"uW", 1e-6},      {"uw", 1e-6},
    {"UW", 1e-6}, {"\u00B5W", 1e-6}, {"\u00B5w", 1e-6}, {"\u03BCW", 1e-6}, {"\u03BCw", 1e-6}};

// "microjoules" as "uJ", "Watts" as "W".
std::string unit_symbol_of(std::string_view unit) {
  constexpr std::pair<std::string_view, std::string_view> kPrefixes[] = {
      {"micro", "u"}, {"milli", "m"}, {"kilo", "k"}, {"mega", "M"}, {"", ""}};
  const std::string lower = lower_ascii(unit);
  for (const auto& [word, symbol] : kPrefixes) {
    if (!lower.starts_with(word)) continue;
    const std::string_view base = std::string_view(lower).substr(word.size());
    if (base == "joule" || base == "joules") return fmt::format("{}J", symbol);
    if (base == "watt" || base == "watts") return fmt::format("{}W", symbol);
  }
  return unit == "UJ" || unit == "\u00B5j" ? "uJ" : std::string(unit);
}

// The unit at a name's end. As in energy_unit(), MW and MJ are none if all letters are capitals.
std::optional<SensorUnit> sensor_unit(std::string_view name) {
  if (name.ends_with(']') || name.ends_with(')')) name.remove_suffix(1);
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 128;
  };
  std::size_t begin = name.size();
  while (begin > 0 && is_letter(name[begin - 1])) --begin;
  if (begin == 0) return std::nullopt;
  const std::string_view before = name.substr(0, begin);
  const std::string unit = unit_symbol_of(name.substr(begin));
  if (const auto energy = energy_unit(unit, before)) {
    return SensorUnit{NodeWitness::Kind::counter, energy->joules};
  }
  const auto* const power = std::ranges::find(kWattUnits, unit, &WattUnit::name);
  const bool has_small_letters =
      std::ranges::any_of(before, [](char c) { return c >= 'a' && c <= 'z'; });
  if (power == std::end(kWattUnits) || (unit == "MW" && !has_small_letters)) return std::nullopt;
  return SensorUnit{NodeWitness::Kind::power, power->watts};
}

std::optional<SensorColumn> sensor_column(std::size_t index, const std::string& header) {
  static constexpr Pattern rapl =
      "(intel-rapl|package|dram|core|uncore|psys|energy|domain)[-_: ]?[0-9:]*([^a-z0-9].*)?";
  static constexpr Pattern bare = "(package|dram|core|uncore|psys)[-_ ]?[0-9]*|intel-rapl:[0-9:]+";
  static constexpr Pattern node = "(sys|system|node|chassis|server|total system)[ _.-]*power.*";
  static constexpr Pattern plain = "power[ _-]?([mk]?w|watts?|\\[[mk]?w\\]|\\([mk]?w\\))";
  const std::string name = lower_ascii(header);
  const bool is_rapl = rapl.matches(name);
  const bool is_node = node.matches(name);
  if (!is_rapl && !is_node && !plain.matches(name)) return std::nullopt;
  SensorColumn column = {.index = index, .name = header};
  if (is_node) column.scope = "node";
  if (is_rapl) column.scope = scope_of_rapl(name);
  if (is_rapl) column.source = "rapl";
  if (const auto unit = sensor_unit(header)) {
    column.kind = unit->kind;
    column.factor = unit->factor;
    return column;
  }
  if (!bare.matches(name)) return std::nullopt;
  column.kind = NodeWitness::Kind::counter;  // what energy_uj holds
  column.factor = 1e-6;
  return column;
}

SensorTable sensor_table(const std::vector<std::string>& header) {
  static constexpr Pattern time =
      "(unix|epoch|timestamp|time|datetime|date[ _]?time|ts)([ _-]?(unix|utc|s|ms|us|ns))?";
  static constexpr Pattern domain = "domain|zone|name|sensor";
  static constexpr Pattern host = "host|host[ _]?name|node|node[ _]?name|instance";
  static constexpr Pattern socket = "(socket|cpu[ _]?socket)([ _]?id)?";
  static constexpr Pattern range = "max_energy_range_uj";
  SensorTable table;
  table.cells = header.size();
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string name(strip(header[i]));
    const std::string lower = lower_ascii(name);
    if (range.matches(lower)) {
      table.range = i;
    } else if (domain.matches(lower)) {
      table.domain = i;
    } else if (host.matches(lower)) {
      table.host = i;
    } else if (socket.matches(lower)) {
      table.socket = i;
    } else if (table.time == std::string::npos && time.matches(lower)) {
      table.time = i;
    } else if (auto column = sensor_column(i, name)) {
      table.sensors.push_back(std::move(*column));
    }
  }
  return table;
}

bool is_usable(const SensorTable& table) {
  return table.time != std::string::npos && !table.sensors.empty();
}

// A name such as "energy_j" may be that of a GPU's counter.
bool is_rapl_counter(const SensorColumn& column) {
  const std::string name = lower_ascii(column.name);
  const bool is_named =
      column.scope != "unknown" || name == "energy_uj" || name.starts_with("intel-rapl");
  return column.source == "rapl" && column.kind == NodeWitness::Kind::counter && is_named;
}

// What makes a sensor of a table another one.
struct SensorKey {
  std::string host;
  std::string socket;
  std::string domain;
  std::string column;

  std::string joined() const { return fmt::format("{}\n{}\n{}\n{}", host, socket, domain, column); }
};

class SensorRows {
 public:
  SensorRows(const WitnessText& file, NodeWitnesses& found)
      : file_(file), times_(file), found_(found) {}

  // Rows count from 1.
  void take(const std::vector<std::string>& cells, std::uint32_t row) {
    if (row == 1) {
      table_ = sensor_table(cells);
      return;
    }
    const auto unix_s = times_.unix_s(cell(cells, table_.time));
    if (!unix_s) {
      take_header(cells, row);
    } else if (cells.size() <= table_.cells) {
      for (const SensorColumn& column : table_.sensors) take_cell(cells, *unix_s, column, row);
    }
  }

  // Refuses readings that one name cannot have, and names the sensors.
  void finish() {
    for (std::size_t i = 0; i < keys_.size(); ++i) refuse_contradictions(i);
    const auto differ = [&](std::string SensorKey::*part) {
      return std::ranges::any_of(keys_,
                                 [&](const SensorKey& key) { return key.*part != keys_[0].*part; });
    };
    const bool has_sockets = differ(&SensorKey::socket);
    const bool has_columns = differ(&SensorKey::column);
    found_.has_several_hosts = differ(&SensorKey::host);
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      const SensorKey& key = keys_[i];
      std::string name = found_.has_several_hosts ? key.host + ":" : "";
      if (has_sockets) name += fmt::format("socket {} ", key.socket);
      name += key.domain.empty() ? key.column : key.domain;
      if (has_columns && !key.domain.empty()) name += " " + key.column;
      found_.witnesses[i].name = std::move(name);
    }
  }

 private:
  static std::string_view cell(const std::vector<std::string>& cells, std::size_t index) {
    return index < cells.size() ? strip(cells[index]) : std::string_view();
  }

  // A recorder that started again writes another header. Rows of something else are not read.
  void take_header(const std::vector<std::string>& cells, std::uint32_t row) {
    const auto is_number = [](const std::string& text) { return sensor_number(text).has_value(); };
    if (std::ranges::any_of(cells, is_number)) return;
    SensorTable next = sensor_table(cells);
    if (next.time == std::string::npos && next.sensors.empty()) return;
    if (!is_usable(next)) {
      refuse(row, "it is another header, without a time or a sensor: divide the file there");
    }
    table_ = std::move(next);
  }

  void take_cell(const std::vector<std::string>& cells, double unix_s, const SensorColumn& column,
                 std::uint32_t row) {
    const auto number = sensor_number(cell(cells, column.index));
    if (!number) return;
    refuse_other_unit(column, *number);
    SensorKey key{std::string(cell(cells, table_.host)), std::string(cell(cells, table_.socket)),
                  std::string(cell(cells, table_.domain)), column.name};
    NodeWitness& witness = witness_named(found_, key.joined(), column.kind);
    const auto place = static_cast<std::size_t>(&witness - found_.witnesses.data());
    if (place == keys_.size()) {
      witness.source = column.source;
      witness.scope = key.domain.empty() ? column.scope : scope_of_rapl(key.domain);
      if (witness.scope == "unknown" && column.source == "rapl") witness.scope = column.scope;
      keys_.push_back(std::move(key));
      rows_.emplace_back();
    }
    witness.readings.push_back({unix_s, *number * column.factor});
    rows_[place].push_back(row);
    if (column.source != "rapl" || column.kind != NodeWitness::Kind::counter) return;
    if (const auto range = sensor_number(cell(cells, table_.range)); range && *range > 0) {
      witness.wraps_j = {*range / 1e6};
      witness.states_wrap = true;
    }
    assume_rapl_wraps(witness);
  }

  // A counter of microjoules has whole numbers; "package-0" of another recorder may be a power.
  void refuse_other_unit(const SensorColumn& column, double number) const {
    if (column.kind != NodeWitness::Kind::counter || column.factor != 1e-6) return;
    if (number == std::floor(number)) return;
    throw Error(fmt::format(
        "{}: column '{}' has {}, which is not a whole number of microjoules: name its unit in the header, as in '{}_w'",
        printable_path(file_.path), printable(column.name), number, printable(column.name)));
  }

  // Two values at one time are those of two sensors.
  void refuse_contradictions(std::size_t place) const {
    const std::vector<NodeWitness::Reading>& readings = found_.witnesses[place].readings;
    std::vector<std::uint32_t> order(readings.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return readings[i].unix_s; });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const NodeWitness::Reading& first = readings[order[i - 1]];
      const NodeWitness::Reading& second = readings[order[i]];
      if (first.unix_s != second.unix_s || first.value == second.value) continue;
      refuse(
          rows_[place][order[i]],
          fmt::format(
              "'{}' has another value than in row {} at the same time: a column that tells sensors apart must be named host, socket, domain or sensor",
              printable(keys_[place].column), rows_[place][order[i - 1]]));
    }
  }

  [[noreturn]] void refuse(std::uint32_t row, const std::string& what) const {
    throw Error(fmt::format("{}: row {}: {}", printable_path(file_.path), row, what));
  }

  const WitnessText& file_;
  WitnessTimes times_;
  NodeWitnesses& found_;
  SensorTable table_;
  // In the order of found_.witnesses.
  std::vector<SensorKey> keys_;
  std::vector<std::vector<std::uint32_t>> rows_;  // of the readings
};

bool fits_sensor_table(std::string_view head) {
  try {
    const auto rows = split_csv(head, 1, true);
    return !rows.empty() && is_usable(sensor_table(rows[0].cells));
  } catch (const CsvError&) {
    return false;
  }
}

void read_sensor_table(const WitnessText& file, NodeWitnesses& found) {
  constexpr std::size_t kRowsAtOnce = 4096;
  SensorRows reader(file, found);
  std::uint32_t number = 0;
  try {
    for (std::size_t at = 0; at < file.text.size();) {
      const auto rows = split_csv(file.text.substr(at), kRowsAtOnce, true);
      if (rows.empty()) break;
      for (const CsvTextRow& row : rows) {
        ++number;
        // A last number without a line break after it may be cut off.
        if (row.terminated) reader.take(row.cells, number);
      }
      at += rows.back().end;
    }
  } catch (const CsvError& error) {
    throw Error(fmt::format("{}: {}", printable_path(file.path), error.what()));
  }
  reader.finish();
}

}  // namespace

bool is_rapl_table(std::string_view head) {
  try {
    const auto rows = split_csv(head, 1, true);
    if (rows.empty()) return false;
    const SensorTable table = sensor_table(rows[0].cells);
    return is_usable(table) && std::ranges::any_of(table.sensors, is_rapl_counter);
  } catch (const CsvError&) {
    return false;
  }
}

std::string what_a_table_needs(std::string_view head) {
  constexpr std::size_t kMostShown = 12;
  try {
    const auto rows = split_csv(head, 1, true);
    if (rows.empty() || rows[0].cells.size() < 2) return {};
    std::string columns;
    for (std::size_t i = 0; i < std::min(rows[0].cells.size(), kMostShown); ++i) {
      columns += fmt::format("{}'{}'", i == 0 ? "" : ", ", printable(strip(rows[0].cells[i])));
    }
    if (rows[0].cells.size() > kMostShown) {
      columns += fmt::format(" and {} more", rows[0].cells.size() - kMostShown);
    }
    return fmt::format(
        ". Its columns are {}. A table needs a time, such as timestamp or time, and a sensor with its unit, such as node_power_w, sys_power_kw, package-0_w or energy_uj; units are W, mW, uW, kW, MW, J, mJ, uJ, kJ and MJ",
        columns);
  } catch (const CsvError&) {
    return {};
  }
}

const WitnessForm kSensorTableForm = {fits_sensor_table, read_sensor_table};

}  // namespace aggregate_power
