// Reads CSVs with a column of power for each GPU, whose name says which: EnergiBridge's, and the
// ones that Grafana writes of series joined by time.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/text/csv.h"
#include "base/text/pattern.h"
#include "base/text/characters.h"
#include "core/telemetry/lines.h"
#include "recorders/metric_labels.h"
#include "recorders/recorder_table.h"
#include "recorders/stream_telemetry.h"

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

}  // namespace aggregate_power
