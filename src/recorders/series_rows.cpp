// Reads CSVs with a row for each sample of a labelled series, as InfluxDB and older versions of
// Grafana write them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/pattern.h"
#include "core/telemetry/lines.h"
#include "recorders/metric_labels.h"
#include "recorders/recorder_table.h"
#include "recorders/recorders.h"

namespace aggregate_power {

// ---- Grafana's "Series;Time;Value", from the row's end, since the series' name may contain
// anything.

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
  std::string text;
  cell = cell.substr(1, cell.size() - 2);
  for (std::size_t end = cell.find("\"\""); end != cell.npos; end = cell.find("\"\"")) {
    text += cell.substr(0, end + 1);
    cell.remove_prefix(end + 2);
  }
  return text.append(cell);
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
    const std::uint32_t device = sink->find_in(gpu->host, gpu->name);
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
  TelemetryOptions others = options;
  if (GrafanaSeries::takes_any(options)) {
    names.power = "Value";
    if (series.metrics().label().empty()) names.device = "Series";
    others.columns.device.clear();
  }
  return facts_of_series(
      names, series.metrics(), others,
      "no series is named as the power of a GPU; if all are, pass --power-column Value");
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

}  // namespace

const Recorder kGrafanaRowsRecorder = {
    .name = "Grafana, a row for each sample",
    .fits = fits_grafana_rows,
    .open = open_grafana_rows,
    .schemas = {
        {"grafana-rows",
         "`Value` of `Series;Time;Value`, as older versions of Grafana export it, in W: a series named as in `prometheus-matrix`, or all with `--power-column Value`",
         "as in `prometheus-matrix`; with `--power-column Value` the series where it has no such labels"}}};

// ---- InfluxDB's annotated CSV: tables after each other, each with its header. Only the field's
// name says the unit.

namespace {

class InfluxRows {
 public:
  static constexpr std::size_t kMostSeries = 65536;

  InfluxRows(const TelemetryOptions& options, ReadingSink* sink)
      : wanted_(options.columns.power), power_(options), sink_(sink) {}

  void take(std::string_view line, bool is_whole) {
    line = strip(line);
    if (line.empty()) return names_.clear();
    if (line.starts_with('#') || line.starts_with("\"#")) return names_.clear();
    if (!is_whole) return skip(&Skipped::torn_tail);
    split_row(line, cells_, copies_);
    if (names_.empty()) return take_header();
    take_row();
  }
  const PowerSeries& power() const { return power_; }

 private:
  struct Series {
    bool is_power = false;
    std::string host = {};
    std::string gpu = {};
    std::size_t number = 0;
  };

  void take_header() {
    names_.assign(cells_.begin(), cells_.end());
    const auto place = [&](std::string_view name) {
      const auto found = std::ranges::find(names_, name);
      return static_cast<std::size_t>(found - names_.begin());
    };
    time_ = place("_time");
    value_ = place("_value");
    field_ = place("_field");
    measurement_ = place("_measurement");
    tags_.clear();
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const std::string& name = names_[i];
      if (!name.empty() && !name.starts_with('_') && name != "result" && name != "table") {
        tags_.push_back(i);
      }
    }
  }

  void take_row() {
    const auto cell = [&](std::size_t i) { return cell_of(cells_, i); };
    key_.assign(cell(measurement_)).append("\n").append(cell(field_));
    for (const std::size_t tag : tags_) key_.append("\n").append(cell(tag));
    const auto [place, is_new] = series_.try_emplace(key_);
    if (series_.size() > kMostSeries) {
      throw TelemetryError(
          fmt::format("more than {} series: filter by the field that is the power", kMostSeries));
    }
    Series& series = place->second;
    if (is_new) series = described();
    if (!series.is_power || sink_ == nullptr || !sink_->start_row(cell(time_))) return;
    if (cell(value_).empty()) return;
    const std::uint32_t device = sink_->find_in(series.host, series.gpu);
    sink_->add_to(device, cell(value_));
    sink_->note_series(series.number, device);
  }

  Series described() {
    MetricLabels labels;
    labels.metric = cell_of(cells_, field_);
    if (labels.metric != wanted_) {
      labels.metric = fmt::format("{}_{}", cell_of(cells_, measurement_), labels.metric);
    }
    for (const std::size_t tag : tags_) {
      labels.labels.emplace_back(names_[tag], cell_of(cells_, tag));
    }
    if (!power_.has(labels)) return {};
    const PowerSeries::Gpu gpu = power_.gpu_of(labels);
    return {true, std::string(gpu.host), std::string(gpu.name),
            sink_ != nullptr ? sink_->find_series(labels) : 0};
  }

  void skip(std::uint64_t Skipped::*cause) const {
    if (sink_ != nullptr) sink_->skip(cause);
  }

  std::string wanted_;
  PowerSeries power_;
  ReadingSink* sink_;
  Cells names_;  // of the table; empty: its header is still to come
  std::size_t time_ = 0, value_ = 0, field_ = 0, measurement_ = 0;
  std::vector<std::size_t> tags_;
  std::unordered_map<std::string, Series> series_;
  std::string key_;
  RowCells cells_;
  Cells copies_;
};

void read_influx(ByteSource& bytes, InfluxRows& rows) {
  for_each_line(bytes, [&](std::string_view line, bool is_whole) { rows.take(line, is_whole); });
  rows.power().check();
}

SeriesFacts influx_facts(std::string_view head, const TelemetryOptions& options) {
  InfluxRows rows(options, nullptr);
  MemorySource source(head);
  try {
    read_influx(source, rows);
  } catch (const std::exception&) {  // reported when all is read
  }
  return facts_of_series(
      {.schema = "influxdb", .timestamp = "_time"}, rows.power(), options,
      "no field is known as the power of a GPU; name it with --power-column, as in power_draw, or filter by it");
}

double fits_influx(std::string_view head) {
  static constexpr Pattern annotation = "\"?#(datatype|group|default)[,\"].*";
  const auto lines = lines_of(head, 1);
  if (lines.empty()) return 0;
  return annotation.matches(lines[0]) || lines[0].starts_with(",result,table,") ? 0.95 : 0;
}

Telemetry open_influx(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  return open_stream(
      std::move(source), options,
      {.facts_of = [&](std::string_view head) { return influx_facts(head, options); },
       .read =
           [options](ByteSource& bytes, ReadingSink& sink) {
             InfluxRows rows(options, &sink);
             read_influx(bytes, rows);
           }});
}

}  // namespace

const Recorder kInfluxRecorder = {
    .name = "InfluxDB",
    .fits = fits_influx,
    .open = open_influx,
    .schemas = {
        {"influxdb",
         "`_value` of InfluxDB's annotated CSV in the rows of a known field, such as `power_draw` of telegraf's `nvidia_smi`, or of the field that `--power-column` names, in W",
         "the tag `uuid`, else host and `index`, `gpu` or another, as in `prometheus-matrix`"}}};

}  // namespace aggregate_power
