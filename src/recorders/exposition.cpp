// Reads samples of power, scrape by scrape.
#include "recorders/exposition.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/text/python_number.h"
#include "base/text/unicode.h"
#include "recorders/lines.h"
#include "recorders/metric_labels.h"
#include "recorders/stream_telemetry.h"
#include "recorders/time_line.h"

namespace aggregate_power {
namespace {

struct ScrapedSample {
  MetricLabels series;
  std::string_view value;
  std::string_view stamp;  // empty: that of the scrape
};

std::optional<ScrapedSample> sample_of_line(std::string_view line) {
  if (line.empty() || line.starts_with('#')) return std::nullopt;
  std::optional<MetricLabels> series = take_metric(line);
  if (!series) return std::nullopt;
  const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view value = line.substr(0, end);
  if (value.empty()) return std::nullopt;
  return ScrapedSample{std::move(*series), value, strip(line.substr(end))};
}

class ScrapeReader {
 public:
  ScrapeReader(PowerSeries& power, ReadingSink* sink) : power_(power), sink_(sink) {}

  void take(std::string_view line, bool is_whole) {
    line = strip(line);
    if (const std::string_view time = time_of_line(line); !time.empty()) {
      scrape_ = time;
      has_times_ = true;
      return;
    }
    const std::optional<ScrapedSample> sample = sample_of_line(line);
    if (!sample) return;
    const bool is_power = power_.has(sample->series);
    if (sink_ != nullptr) sink_->note_counter(power_);
    if (!is_power) return;
    if (!is_whole && sink_ != nullptr) return sink_->skip(&Skipped::torn_tail);
    const PowerSeries::Gpu gpu = power_.gpu_of(sample->series);
    has_times_ = has_times_ || !sample->stamp.empty();
    if (sink_ == nullptr) return;
    if (!sink_->start_row(sample->stamp.empty() ? std::string_view(scrape_) : sample->stamp))
      return;
    if (gpu.host.empty()) {
      sink_->add(power_.label().empty() ? "0" : gpu.name, sample->value);
    } else {
      sink_->add(gpu.host, gpu.name, sample->value);
    }
  }
  bool has_times() const { return has_times_; }

 private:
  PowerSeries& power_;
  ReadingSink* sink_;
  std::string scrape_;  // its time
  bool has_times_ = false;
};

SeriesFacts scrape_facts(std::string_view head, const TelemetryOptions& options) {
  PowerSeries power(options);
  ScrapeReader reader(power, nullptr);
  MemorySource source(head);
  for_each_line(source, [&](std::string_view line, bool is_whole) { reader.take(line, is_whole); });
  SeriesNames names = {.schema = "exporter-scrapes", .timestamp = "timestamp"};
  if (!power.metric().empty()) names.power = power.metric();
  if (!power.label().empty()) names.device = power.label();
  if (!options.columns.power.empty()) names.power_why = "named by --power-column";
  TelemetryOptions others = options;
  if (!power.label().empty()) others.columns.device.clear();
  SeriesFacts facts = facts_of_names(names, others);
  facts.names_hosts = power.names_hosts();
  facts.sensor = power.sensor();
  if (!names.power) {
    facts.reasons.explain(Reason::power_column_missing,
                          "no metric is known as the power of a GPU; name it with --power-column");
  }
  return facts;
}

}  // namespace

double fits_scrapes(std::string_view head) {
  constexpr std::size_t kEnough = 16 * 1024;
  if (head.find('{') == head.npos) return 0;
  std::size_t samples = 0;
  bool has_times = false;
  bool has_other = false;
  MemorySource source(head.substr(0, kEnough));
  for_each_line(source, [&](std::string_view line, bool is_whole) {
    line = strip(line);
    if (!is_whole || line.empty()) return;
    if (!time_of_line(line).empty()) {
      has_times = true;
    } else if (const auto sample = sample_of_line(line)) {
      const bool has_value = nearest_double(sample->value).has_value();
      samples += has_value ? 1 : 0;
      has_other = has_other || !has_value;
      has_times = has_times || !sample->stamp.empty();
    } else if (!line.starts_with('#')) {
      has_other = true;
    }
  });
  return samples > 0 && has_times && !has_other ? 0.8 : 0;
}

Telemetry open_scrapes(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  return open_stream(
      std::move(source), options,
      [&](std::string_view head) { return scrape_facts(head, options); },
      [options](ByteSource& bytes, ReadingSink& sink) {
        PowerSeries power(options);
        ScrapeReader reader(power, &sink);
        for_each_line(bytes,
                      [&](std::string_view line, bool is_whole) { reader.take(line, is_whole); });
      },
      true);
}

std::vector<SchemaRow> scrape_schemas() {
  return {
      {"exporter-scrapes",
       "the text of dcgm-exporter and others, each scrape with its time, or a folder of scrapes: a metric as in `prometheus-matrix`, in W",
       "as in `prometheus-matrix`; MIG instances count as their GPU"}};
}

}  // namespace aggregate_power
