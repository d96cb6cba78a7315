// Reads the CSV of older versions of Grafana, "Series;Time;Value", a row for each sample: from the
// row's end, since the series' name may contain anything.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/text/characters.h"
#include "core/telemetry/lines.h"
#include "recorders/metric_labels.h"
#include "recorders/recorder_table.h"
#include "recorders/stream_telemetry.h"

namespace aggregate_power {
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

}  // namespace aggregate_power
