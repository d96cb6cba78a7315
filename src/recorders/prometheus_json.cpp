// Walks the series of a matrix or an export.
#include "recorders/prometheus_json.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text/decimal.h"
#include "base/text/json.h"
#include "base/text/pattern.h"
#include "base/text/unicode.h"
#include "recorders/metric_labels.h"
#include "recorders/stream_telemetry.h"
#include "recorders/watts.h"

namespace aggregate_power {
namespace {

enum SeriesPath { kSeries, kLabel, kPair, kPairItem, kValue, kStamp };

constexpr std::array<std::string_view, 4> kMatrixPaths = {"data.result[]", "data.result[].metric.*",
                                                          "data.result[].values[]",
                                                          "data.result[].values[][]"};
// A line has its values and its stamps in two arrays; the two paths without one are for pairs.
constexpr std::array<std::string_view, 6> kExportPaths = {
    "", "metric.*", "no_pair", "no_pair_item", "values[]", "timestamps[]"};

// Numbers as written. Most are decimals, of which the value is enough.
class Numbers {
 public:
  // Decimals from `most` on are kept as written.
  explicit Numbers(double most) : most_(most) {}
  void add(std::string_view text) {
    double value = 0;
    add(text, read_whole_decimal(text, value) ? value : std::numeric_limits<double>::quiet_NaN());
  }
  // The same of a text of which the number is known, if it has one.
  void add(std::string_view text, double value) {
    if (!(value < most_)) {
      value = std::numeric_limits<double>::quiet_NaN();
      odd_.emplace_back(values_.size(), text);
    }
    values_.push_back(value);
  }
  std::size_t size() const { return values_.size(); }
  double operator[](std::size_t i) const { return values_[i]; }  // NaN: only its text is known
  bool are_all_known() const { return odd_.empty(); }
  std::span<double> all() { return values_; }
  // Of numbers of which only that is known, and in their order.
  std::string_view text(std::size_t i) {
    while (odd_[next_].first != i) ++next_;
    return odd_[next_].second;
  }
  void clear() {
    values_.clear();
    odd_.clear();
    next_ = 0;
  }

 private:
  double most_;
  std::vector<double> values_;
  std::vector<std::pair<std::size_t, std::string>> odd_;
  std::size_t next_ = 0;
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
    if (path == kPair && pair_size_ == 2) end_pair();
    if (path == kSeries) end_series();
  }
  void key(std::size_t /*path*/, std::string_view key) override { label_ = key; }
  void scalar(std::size_t path, JsonKind /*kind*/, std::string_view text) override {
    if (path == kLabel) add_label(text);
    if (path == kPairItem) add_to_pair(text);
    if (path == kValue) values_.add(text);
    if (path == kStamp) stamps_.add(text);
  }
  void scalars(std::size_t path, std::span<const JsonScalar> some) override {
    if (path != kValue && path != kStamp) return JsonVisitor::scalars(path, some);
    Numbers& numbers = path == kValue ? values_ : stamps_;
    for (const JsonScalar& one : some) numbers.add(one.text, one.number);
  }
  void pairs(std::size_t path, std::size_t item, std::span<const JsonPair> some) override {
    while (!some.empty() && !device_) {
      if (is_power_ && !*is_power_) return;
      JsonVisitor::pairs(path, item, some.first(1));
      some = some.subspan(1);
    }
    for (const auto& [stamp, watts] : some) {
      if (std::isnan(stamp.number)) [[unlikely]] {
        add_known(stamp.text, watts.text);
      } else {
        add_known(Stamp{epoch_seconds(stamp.number), false}, watts_of(watts.text, watts.number));
      }
    }
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

  // Once it is known what the series is, the texts are read at once instead of kept.
  void add_to_pair(std::string_view text) {
    const std::size_t place = pair_size_++;
    if (place >= 2 || (is_power_ && !*is_power_)) return;
    if (!device_) {
      pair_[place] = text;
    } else if (place == 0) {
      has_stamp_ = sink_->read_stamp(text, stamp_);
      if (!has_stamp_) pair_[0] = text;
    } else {
      watts_ = sink_->number(text);
    }
  }

  void end_pair() {
    if (!device_) {
      if (is_power()) add(pair_[0], pair_[1]);
    } else if (has_stamp_) {
      add_known(stamp_, watts_);
    } else {
      note_bad(pair_[0]);
    }
  }

  // A stamp that is not a time.
  void note_bad(std::string_view stamp) { std::ignore = sink_->start_row(stamp); }

  // A sample of a series that has a device.
  void add_known(std::string_view stamp, std::string_view watts) {
    Stamp time{};
    if (!sink_->read_stamp(stamp, time)) return note_bad(stamp);
    add_known(time, sink_->number(watts));
  }
  [[gnu::always_inline]] void add_known(Stamp stamp, double watts) {
    sink_->start_row(stamp);
    sink_->add_to(*device_, watts);
    sink_->note_series(number_, *device_);
  }

  // `number` is that of the text, if it is known.
  double watts_of(std::string_view text, double number) const {
    return number < kFirstSentinel ? sink_->number(number) : sink_->number(text);
  }

  void end_series() {
    if (values_.size() != stamps_.size()) {
      throw TelemetryError(
          fmt::format("a series has {} values and {} timestamps", values_.size(), stamps_.size()));
    }
    if (values_.size() > 0 && is_power() && sink_ != nullptr) add_samples();
    values_.clear();
    stamps_.clear();
    settle();
  }

  void add_samples() {
    if (!values_.are_all_known() || !stamps_.are_all_known()) {
      for (std::size_t i = 0; i < values_.size(); ++i) add_sample(i);
      return;
    }
    if (!device_) know_device();
    for (double& stamp : stamps_.all()) stamp = epoch_seconds(stamp);
    for (double& value : values_.all()) value = sink_->number(value);
    sink_->add_rows(stamps_.all(), values_.all(), *device_, number_);
  }

  void add_sample(std::size_t i) {
    Stamp stamp{epoch_seconds(stamps_[i]), false};
    if (std::isnan(stamp.unix_s)) {
      const std::string_view text = stamps_.text(i);
      if (!sink_->read_stamp(text, stamp)) return note_bad(text);
    }
    if (!device_) know_device();
    add_known(stamp,
              std::isnan(values_[i]) ? sink_->number(values_.text(i)) : sink_->number(values_[i]));
  }

  void add(std::string_view stamp, std::string_view watts) {
    Stamp time{};
    if (sink_ == nullptr) return;
    if (!sink_->read_stamp(stamp, time)) return note_bad(stamp);
    know_device();
    add_known(time, sink_->number(watts));
  }

  void know_device() {
    device_ = number_of_gpu();
    number_ = sink_->add_series(series_);
  }

  std::uint32_t number_of_gpu() {
    if (!gpu_.host.empty()) return sink_->find(gpu_.host, gpu_.name);
    return sink_->find(power_.label().empty() ? "0" : gpu_.name);
  }

  PowerSeries& power_;
  ReadingSink* sink_;
  MetricLabels series_;
  std::optional<bool> is_power_;
  PowerSeries::Gpu gpu_;
  std::optional<std::uint32_t> device_;  // the GPU's number, once the series had a sample
  std::size_t number_ = 0;               // of the series, as the sink numbers it
  std::string label_;
  std::array<std::string, 2> pair_;  // of a series that had no sample yet
  Stamp stamp_{};                    // of the pair, if its series had one
  bool has_stamp_ = false;           // pair_[0] is no time otherwise
  double watts_ = 0;
  std::size_t pair_size_ = 0;
  Numbers values_{kFirstSentinel};
  Numbers stamps_{std::numeric_limits<double>::infinity()};
  std::uint64_t all_ = 0;
  std::uint64_t unnamed_ = 0;
};

struct SeriesFormat {
  const char* schema;
  JsonPaths paths;
  JsonTexts texts;
};

const SeriesFormat& matrix_format() {
  static const SeriesFormat format = {"prometheus-matrix", JsonPaths(kMatrixPaths), JsonTexts::one};
  return format;
}

const SeriesFormat& export_format() {
  static const SeriesFormat format = {"victoriametrics-export", JsonPaths(kExportPaths),
                                      JsonTexts::several};
  return format;
}

void walk_series(ByteSource& source, const SeriesFormat& format, const TelemetryOptions& options,
                 ReadingSink& sink) {
  PowerSeries power(options);
  SeriesWalk walk(power, &sink);
  walk_json(source, format.paths, walk, format.texts);
  walk.check();
}

// Why the series are not known to be power.
std::string no_power_text(const SeriesWalk& walk) {
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
  SeriesNames names = {
      .schema = format.schema, .timestamp = "timestamp", .power = {}, .device = {}};
  if (!power.metric().empty() || may_come) {
    names.power = power.metric().empty() ? "value" : power.metric();
  }
  if (!power.label().empty() || may_come) {
    names.device = power.label().empty() ? "labels" : power.label();
  }
  if (!options.columns.power.empty()) names.power_why = "named by --power-column";
  TelemetryOptions others = options;
  if (!power.label().empty()) others.columns.device.clear();
  SeriesFacts facts = facts_of_names(names, others);
  facts.names_hosts = power.names_hosts();
  facts.sensor = power.sensor();
  if (!names.power) facts.reasons.explain(Reason::power_column_missing, no_power_text(walk));
  return facts;
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

}  // namespace

double fits_prometheus_matrix(std::string_view head) {
  static constexpr Pattern matrix = "\"resultType\"\\s*:\\s*\"matrix\"";
  return strip(head).starts_with('{') && matrix.is_found_in(head.substr(0, 1024)) ? 0.9 : 0;
}

Telemetry open_prometheus_matrix(std::unique_ptr<ByteSource> source,
                                 const TelemetryOptions& options) {
  return open_series(std::move(source), options, matrix_format());
}

std::vector<SchemaRow> prometheus_matrix_schemas() {
  return {
      {"prometheus-matrix",
       "the answer to `query_range`: the first metric known as a GPU's power, or that of `--power-column`, in W",
       "a label: `UUID`, else host and `gpu`, `gpu_id`, `index`, `card` or `device`; or that of `--device-column`"}};
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
  return open_series(std::move(source), options, export_format());
}

std::vector<SchemaRow> victoria_export_schemas() {
  return {{"victoriametrics-export",
           "the lines of `/api/v1/export`: a metric as in `prometheus-matrix`, in W",
           "as in `prometheus-matrix`"}};
}

}  // namespace aggregate_power
