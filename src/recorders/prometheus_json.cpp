// Reads series as Prometheus and VictoriaMetrics give them out: the answer to query_range (a
// matrix), and the lines of /api/v1/export.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/json.h"
#include "base/text/pattern.h"
#include "recorders/metric_labels.h"
#include "recorders/recorder_table.h"
#include "recorders/recorders.h"

namespace aggregate_power {
namespace {

enum SeriesPath { kSeries, kLabel, kPair, kPairItem, kValue, kStamp };

constexpr std::array<std::string_view, 4> kMatrixPaths = {"data.result[]", "data.result[].metric.*",
                                                          "data.result[].values[]",
                                                          "data.result[].values[][]"};
// A line has its values and its stamps in two arrays; the two paths without one are for pairs.
constexpr std::array<std::string_view, 6> kExportPaths = {
    "", "metric.*", "no_pair", "no_pair_item", "values[]", "timestamps[]"};

// Many short texts, one after the other in memory.
class Texts {
 public:
  void add(std::string_view text) {
    all_ += text;
    ends_.push_back(all_.size());
  }
  std::size_t size() const { return ends_.size(); }
  std::string_view operator[](std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(all_).substr(begin, ends_[i] - begin);
  }
  void clear() {
    all_.clear();
    ends_.clear();
  }

 private:
  std::string all_;
  std::vector<std::size_t> ends_;
};

// Passes on the samples of the series of power. Those of the first ones are also kept for
// `inspect`.
class SeriesWalk : public JsonVisitor {
 public:
  SeriesWalk(PowerSeries& power, ReadingSink* sink) : power_(power), sink_(sink) {}

  void begin(std::size_t path) override {
    if (path == kSeries) {
      series_ = {};
      is_power_.reset();
      device_.reset();
    }
    if (path == kPair) pair_size_ = 0;
  }
  void end(std::size_t path) override {
    if (path == kPair && pair_size_ == 2 && is_power()) add(pair_[0], pair_[1]);
    if (path == kSeries) end_series();
  }
  void key(std::size_t /*path*/, std::string_view key) override { label_ = key; }
  void scalar(std::size_t path, JsonKind /*kind*/, std::string_view text) override {
    if (path == kLabel) add_label(text);
    if (path == kPairItem && pair_size_++ < 2) pair_[pair_size_ - 1] = text;
    if (path == kValue) values_.add(text);
    if (path == kStamp) stamps_.add(text);
  }
  // Decides about a series that is cut off.
  void settle() {
    ++all_;
    unnamed_ += series_.metric.empty() ? 1 : 0;
    is_power();
  }
  void check() const { power_.check(); }
  std::uint64_t unnamed() const { return unnamed_; }
  std::uint64_t series() const { return all_; }

 private:
  void add_label(std::string_view text) {
    if (is_power_) throw TelemetryError("the labels of a series come after its samples");
    if (label_ == "__name__") {
      series_.metric = text;
    } else {
      series_.labels.emplace_back(label_, text);
    }
  }

  bool is_power() {
    if (!is_power_) {
      is_power_ = power_.has(series_);
      if (sink_ != nullptr) sink_->note_counter(power_);
      if (*is_power_) gpu_ = power_.gpu_of(series_);
    }
    return *is_power_;
  }

  void end_series() {
    if (values_.size() != stamps_.size()) {
      throw TelemetryError(
          fmt::format("a series has {} values and {} timestamps", values_.size(), stamps_.size()));
    }
    if (values_.size() > 0 && is_power()) {
      for (std::size_t i = 0; i < values_.size(); ++i) add(stamps_[i], values_[i]);
    }
    values_.clear();
    stamps_.clear();
    settle();
  }

  void add(std::string_view stamp, std::string_view watts) {
    if (sink_ == nullptr || !sink_->start_row(stamp)) return;
    if (!device_) {
      device_ = number_of_gpu();
      number_ = sink_->add_series(series_);
    }
    sink_->add_to(*device_, watts);
    sink_->note_series(number_, *device_);
  }

  std::uint32_t number_of_gpu() {
    const bool is_unnamed = gpu_.host.empty() && power_.label().empty();
    return sink_->find_in(gpu_.host, is_unnamed ? "0" : gpu_.name, key_of(series_));
  }

  PowerSeries& power_;
  ReadingSink* sink_;
  MetricLabels series_;
  std::optional<bool> is_power_;
  PowerSeries::Gpu gpu_;
  std::optional<std::uint32_t> device_;  // the GPU's number, once the series had a sample
  std::size_t number_ = 0;               // of the series, as the sink numbers it
  std::string label_;
  std::array<std::string, 2> pair_;  // a time and watts
  std::size_t pair_size_ = 0;
  Texts values_;
  Texts stamps_;
  std::uint64_t all_ = 0;
  std::uint64_t unnamed_ = 0;
};

struct SeriesFormat {
  const char* schema;
  JsonPaths paths;
  JsonTexts texts;
};

void walk_series(ByteSource& source, const SeriesFormat& format, const TelemetryOptions& options,
                 ReadingSink& sink) {
  PowerSeries power(options);
  SeriesWalk walk(power, &sink);
  walk_json(source, format.paths, walk, format.texts);
  walk.check();
}

// Why the series are not known to be power.
std::string_view no_power_text(const SeriesWalk& walk) {
  if (walk.series() > 0 && walk.unnamed() == walk.series()) {
    return "the series have no name; if their values are watts, pass --power-column value";
  }
  return "no series is known as the power of a GPU; name its metric with --power-column";
}

SeriesFacts series_facts_of(std::string_view head, const SeriesFormat& format,
                            const TelemetryOptions& options) {
  PowerSeries power(options);
  SeriesWalk walk(power, nullptr);
  MemorySource source(head);
  bool is_cut_off = false;
  try {
    walk_json(source, format.paths, walk, format.texts);
  } catch (const std::exception&) {
    is_cut_off = true;
    walk.settle();
  }
  // Where the beginning has other series only, power may come later.
  const bool may_come = is_cut_off && head.size() >= kHeadBytes && walk.unnamed() < walk.series();
  SeriesNames names = {.schema = format.schema, .timestamp = "timestamp"};
  if (may_come && power.metric().empty()) names.power = "value";
  if (may_come && power.label().empty()) names.device = "labels";
  return facts_of_series(names, power, options, no_power_text(walk));
}

Telemetry open_series(std::unique_ptr<ByteSource> source, const TelemetryOptions& options,
                      const SeriesFormat& format) {
  return open_stream(
      std::move(source), options,
      {.facts_of = [&](std::string_view head) { return series_facts_of(head, format, options); },
       .read = [&format, options](ByteSource& bytes,
                                  ReadingSink& sink) { walk_series(bytes, format, options, sink); },
       .has_lines = false});  // a last line that is cut off is the loss of a whole series
}

double fits_prometheus_matrix(std::string_view head) {
  static constexpr Pattern matrix = "\"resultType\"\\s*:\\s*\"matrix\"";
  return strip(head).starts_with('{') && matrix.is_found_in(head.substr(0, 1024)) ? 0.9 : 0;
}

Telemetry open_prometheus_matrix(std::unique_ptr<ByteSource> source,
                                 const TelemetryOptions& options) {
  static const SeriesFormat format = {"prometheus-matrix", JsonPaths(kMatrixPaths), JsonTexts::one};
  return open_series(std::move(source), options, format);
}

double fits_victoria_export(std::string_view head) {
  static constexpr Pattern begin = "\\{\\s*\"metric\"\\s*:\\s*\\{.*";
  static constexpr Pattern values = "\"values\"\\s*:\\s*\\[";
  const std::string_view line = strip(head.substr(0, head.find('\n')));
  return line.starts_with('{') && begin.matches(line.substr(0, 64)) && values.is_found_in(head)
             ? 0.9
             : 0;
}

Telemetry open_victoria_export(std::unique_ptr<ByteSource> source,
                               const TelemetryOptions& options) {
  static const SeriesFormat format = {"victoriametrics-export", JsonPaths(kExportPaths),
                                      JsonTexts::several};
  return open_series(std::move(source), options, format);
}

}  // namespace

const Recorder kPrometheusMatrixRecorder = {
    .name = "Prometheus matrix",
    .fits = fits_prometheus_matrix,
    .open = open_prometheus_matrix,
    .schemas = {
        {"prometheus-matrix",
         "the answer to `query_range`: the first metric known as a GPU's power, or that of `--power-column`, in W",
         "a label: `UUID`, else host and `gpu`, `gpu_id`, `index`, `card` or `device`; or that of `--device-column`"}}};
const Recorder kVictoriaExportRecorder = {
    .name = "VictoriaMetrics export",
    .fits = fits_victoria_export,
    .open = open_victoria_export,
    .schemas = {{"victoriametrics-export",
                 "the lines of `/api/v1/export`: a metric as in `prometheus-matrix`, in W",
                 "as in `prometheus-matrix`"}}};

}  // namespace aggregate_power
