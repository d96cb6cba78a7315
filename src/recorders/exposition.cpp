// Reads scrapes of an exporter, as it prints them for Prometheus: one after the other in a file,
// each with its time at the end of a sample's line, or in a line of its own before a scrape
// ("1777118400", "# 2026-04-25T12:00:00Z").
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "aggregate_power/sample.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "base/text/json.h"
#include "base/text/pattern.h"
#include "base/text/timestamp.h"
#include "core/telemetry/lines.h"
#include "recorders/exposition.h"
#include "recorders/metric_labels.h"
#include "recorders/node_sensors.h"
#include "recorders/recorder_table.h"
#include "recorders/recorders.h"

namespace aggregate_power {
namespace {

// What follows a series: its value, and perhaps its own stamp.
struct ScrapedValue {
  std::string_view value;
  std::string_view stamp;  // empty: that of the scrape
};

ScrapedValue value_in(std::string_view rest) {
  const std::size_t end = std::min({rest.find(' '), rest.find('\t'), rest.size()});
  return {rest.substr(0, end), strip(rest.substr(end))};
}

// As the exposition format spells what is no finite number.
bool is_no_number(std::string_view value) {
  return value == "NaN" || value == "+Inf" || value == "-Inf" || value == "Inf";
}

// One series, which comes again with each scrape.
struct ScrapedSeries {
  std::string text;  // as written
  bool is_power = false;
  std::string host;  // of its GPU; empty: the GPU's name stands alone
  std::string gpu;
  GpuKey key = {};                           // by all its labels
  std::optional<std::uint32_t> device = {};  // the GPU's number, once it had a sample
  std::size_t number_of_series = 0;          // as the sink numbers it

  std::uint32_t number(ReadingSink& sink) {
    if (!device) device = sink.find_in(host, gpu, key);
    return *device;
  }
};

// They come in the same order with each scrape, so the next one is usually known by its text.
class ScrapedSeriesList {
 public:
  using Describe = std::function<ScrapedSeries(std::string_view text, const MetricLabels&)>;

  // The series at the front of `line`, which is removed with the blanks after it; null: it does not
  // begin with one. `describe` is asked about one that was not there before.
  ScrapedSeries* take(std::string_view& line, const Describe& describe) {
    if (line.empty() || line.starts_with('#')) return nullptr;
    if (next_ < known_.size() && begins_with(line, known_[next_].text)) {
      line = strip(line.substr(known_[next_].text.size()));
    } else {
      std::string_view rest = line;
      const std::optional<MetricLabels> labels = take_metric(rest);
      if (!labels) return nullptr;
      find(strip(line.substr(0, line.size() - rest.size())), *labels, describe);
      line = rest;
    }
    ScrapedSeries& found = known_[next_];
    next_ = next_ + 1 == known_.size() ? 0 : next_ + 1;
    return &found;
  }

 private:
  // Labels that change with each scrape would fill the memory.
  static constexpr std::size_t kMost = 65536;

  static bool begins_with(std::string_view line, std::string_view series) {
    return line.starts_with(series) && line.size() > series.size() &&
           (line[series.size()] == ' ' || line[series.size()] == '\t');
  }

  void find(std::string_view text, const MetricLabels& labels, const Describe& describe) {
    const auto place = places_.find(std::string(text));
    if (place != places_.end()) {
      next_ = place->second;
      return;
    }
    if (known_.size() == kMost) {
      known_.clear();
      places_.clear();
    }
    next_ = known_.size();
    known_.push_back(describe(text, labels));
    places_.emplace(text, next_);
  }

  std::vector<ScrapedSeries> known_;
  std::unordered_map<std::string, std::size_t> places_;
  std::size_t next_ = 0;
};

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
    ScrapedSeries* const series =
        series_.take(line, [this](std::string_view text, const MetricLabels& labels) {
          return described(text, labels);
        });
    if (series == nullptr || !series->is_power || line.empty()) return;
    if (!is_whole && sink_ != nullptr) return sink_->skip(&Skipped::torn_tail);
    const ScrapedValue sample = value_in(line);
    has_times_ = has_times_ || !sample.stamp.empty();
    if (sink_ == nullptr) return;
    if (!sink_->start_row(sample.stamp.empty() ? std::string_view(scrape_) : sample.stamp)) return;
    const std::uint32_t device = series->number(*sink_);
    sink_->add_to(device, sample.value);
    sink_->note_series(series->number_of_series, device);
  }
  void check() const { power_.check(); }
  bool has_times() const { return has_times_; }

 private:
  ScrapedSeries described(std::string_view text, const MetricLabels& labels) {
    ScrapedSeries series;
    series.text = text;
    series.is_power = power_.has(labels);
    if (sink_ != nullptr) sink_->note_counter(power_);
    if (!series.is_power) return series;
    if (sink_ != nullptr) series.number_of_series = sink_->find_series(labels);
    const PowerSeries::Gpu gpu = power_.gpu_of(labels);
    series.key = key_of(labels);
    series.host = gpu.host;
    series.gpu = gpu.host.empty() && power_.label().empty() ? "0" : gpu.name;
    return series;
  }

  PowerSeries& power_;
  ReadingSink* sink_;
  ScrapedSeriesList series_;
  std::string scrape_;  // its time
  bool has_times_ = false;
};

// Where the last scrape that has a line with its time begins.
std::size_t end_of_scrapes(std::string_view bytes) {
  std::size_t end = bytes.rfind('\n') + 1;
  while (end > 0) {
    const std::size_t begin = bytes.substr(0, end - 1).rfind('\n') + 1;
    if (!time_of_line(strip(bytes.substr(begin, end - begin))).empty()) return begin;
    end = begin;
  }
  return 0;
}

CutOff at_any_scrape(std::string_view /*head*/) { return end_of_scrapes; }

SeriesFacts scrape_facts(std::string_view head, const TelemetryOptions& options) {
  PowerSeries power(options);
  ScrapeReader reader(power, nullptr);
  MemorySource source(head);
  for_each_line(source, [&](std::string_view line, bool is_whole) { reader.take(line, is_whole); });
  return facts_of_series({.schema = "exporter-scrapes", .timestamp = "timestamp"}, power, options,
                         "no metric is known as the power of a GPU; name it with --power-column");
}

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
    } else if (!line.starts_with('#') && take_metric(line) && !line.empty()) {
      const ScrapedValue sample = value_in(line);
      const bool has_value = nearest_double(sample.value) || is_no_number(sample.value);
      samples += has_value ? 1 : 0;
      has_other = has_other || !has_value;
      has_times = has_times || !sample.stamp.empty();
    } else if (!line.starts_with('#')) {
      has_other = true;
    }
  });
  return samples > 0 && has_times && !has_other ? 0.8 : 0;
}

Telemetry open_scrapes(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  return open_stream(
      std::move(source), options,
      {.facts_of = [&](std::string_view head) { return scrape_facts(head, options); },
       .read =
           [options](ByteSource& bytes, ReadingSink& sink) {
             PowerSeries power(options);
             ScrapeReader reader(power, &sink);
             for_each_line(
                 bytes, [&](std::string_view line, bool is_whole) { reader.take(line, is_whole); });
             reader.check();
           },
       .cut_off_after = at_any_scrape});
}

}  // namespace

const Recorder kScrapesRecorder = {
    .name = "exporter scrapes",
    .fits = fits_scrapes,
    .open = open_scrapes,
    .schemas = {
        {"exporter-scrapes",
         "the text of dcgm-exporter and others, each scrape with its time, or a folder of scrapes: a metric as in `prometheus-matrix`, in W",
         "as in `prometheus-matrix`; MIG instances count as their GPU"}}};

// ---- What such metrics say of a node beside its GPUs

namespace {

struct MeterMetric {
  std::string_view name;
  std::string_view source;
  std::string_view scope;  // empty: its label says it
  NodeWitness::Kind kind = NodeWitness::Kind::counter;
  bool wraps = false;
};

// Parts of one of these, as kepler_node_cpu_idle_watts is, and shares of containers are left out.
constexpr MeterMetric kMeterMetrics[] = {
    {"kepler_node_platform_joules_total", "kepler", "node"},
    {"kepler_node_package_joules_total", "kepler", "cpu"},
    {"kepler_node_dram_joules_total", "kepler", "memory"},
    {"kepler_node_core_joules_total", "kepler", "rail"},
    {"kepler_node_uncore_joules_total", "kepler", "rail"},
    {"kepler_node_cpu_joules_total", "kepler", ""},
    {"kepler_node_cpu_watts", "kepler", "", NodeWitness::Kind::power},
    {"kepler_platform_watts", "kepler", "", NodeWitness::Kind::power},
    {"node_rapl_package_joules_total", "rapl", "cpu", NodeWitness::Kind::counter, true},
    {"node_rapl_dram_joules_total", "rapl", "memory", NodeWitness::Kind::counter, true},
    {"node_rapl_core_joules_total", "rapl", "rail", NodeWitness::Kind::counter, true},
    {"ipmi_dcmi_power_consumption_watts", "ipmi", "node", NodeWitness::Kind::power}};

constexpr std::string_view kMode = "mode";  // of an energy: the modes of one sensor are added up

// By a zone of RAPL, or by the name that a management controller gives.
std::string scope_of_metric(const MeterMetric& metric, const MetricLabels& series) {
  if (!metric.scope.empty()) return std::string(metric.scope);
  if (const std::string_view zone = series.of("zone"); !zone.empty()) return scope_of_rapl(zone);
  const std::string name = lower_ascii(series.of("power_control_name"));
  const auto has = [&](std::string_view word) { return name.find(word) != name.npos; };
  return has("cpu") ? "cpu" : has("memory") ? "memory" : has("gpu") ? "gpu" : "node";
}

class MeterMetrics {
 public:
  MeterMetrics(const WitnessText& file, NodeWitnesses& found) : times_(file), found_(found) {}

  // The place of a series; nullopt: it is no meter's.
  std::optional<std::size_t> place(const MetricLabels& series) {
    const auto* const metric = std::ranges::find(kMeterMetrics, series.metric, &MeterMetric::name);
    if (metric == std::end(kMeterMetrics)) return std::nullopt;
    sensors_.push_back({metric, series, {}});
    return sensors_.size() - 1;
  }
  void add(std::size_t place, double unix_s, std::string_view value) {
    if (const auto number = sensor_number(value))
      sensors_[place].readings.push_back({unix_s, *number});
  }
  std::optional<double> unix_s(std::string_view text) { return times_.unix_s(text); }

  void finish() {
    std::map<std::string, std::vector<const Sensor*>> modes;
    std::set<std::string> hosts;
    for (const Sensor& sensor : sensors_) {
      if (sensor.readings.empty()) continue;
      modes[name_of(sensor)].push_back(&sensor);
      hosts.insert(key_of(sensor.series).host);
    }
    found_.has_several_hosts = hosts.size() > 1;
    for (const auto& [name, sensors] : modes) {
      const MeterMetric& metric = *sensors.front()->metric;
      NodeWitness& witness = witness_named(found_, name, metric.kind);
      witness.source = metric.source;
      witness.scope = scope_of_metric(metric, sensors.front()->series);
      witness.readings = together(sensors);
      if (metric.wraps) assume_rapl_wraps(witness);
    }
  }

 private:
  struct Sensor {
    const MeterMetric* metric;
    MetricLabels series;
    std::vector<NodeWitness::Reading> readings;
  };

  // With the labels in which it differs from another one of its metric.
  std::string name_of(const Sensor& sensor) const {
    std::string name(sensor.metric->name);
    for (const auto& label : sensor.series.labels) {
      const auto differs = [&](const Sensor& other) {
        return other.metric == sensor.metric && other.series.of(label.first) != label.second;
      };
      if (label.first != kMode && std::ranges::any_of(sensors_, differs))
        name += " " + label.second;
    }
    return name;
  }

  // The modes of one sensor: their sum at each time at which all of them have a reading. A series
  // that comes again, as in the next part of a file, has other times.
  static std::vector<NodeWitness::Reading> together(const std::vector<const Sensor*>& sensors) {
    std::set<std::string_view> modes;
    std::map<double, std::map<std::string_view, double>> by_time;
    for (const Sensor* const sensor : sensors) {
      const std::string_view mode = sensor->series.of(kMode);
      modes.insert(mode);
      for (const NodeWitness::Reading& reading : sensor->readings) {
        by_time[reading.unix_s][mode] = reading.value;
      }
    }
    std::vector<NodeWitness::Reading> sums;
    for (const auto& [unix_s, values] : by_time) {
      if (values.size() < modes.size()) continue;
      sums.push_back({unix_s, 0});
      for (const auto& [mode, value] : values) sums.back().value += value;
    }
    return sums;
  }

  WitnessTimes times_;
  NodeWitnesses& found_;
  std::vector<Sensor> sensors_;
};

bool fits_scraped_meters(std::string_view head) { return fits_scrapes(head) > 0; }

void read_scraped_meters(const WitnessText& file, NodeWitnesses& found) {
  MeterMetrics meters(file, found);
  std::unordered_map<std::string, std::optional<std::size_t>> places;  // by the series as written
  std::optional<double> scrape_unix_s;
  for_each_witness_line(file.text, [&](std::string_view line, std::size_t number) {
    if (const std::string_view time = time_of_line(line); !time.empty()) {
      scrape_unix_s = meters.unix_s(time);
      return;
    }
    std::string_view rest = line;
    if (line.empty() || line.starts_with('#')) return;
    const std::optional<MetricLabels> series = take_metric(rest);
    if (!series) return;
    const std::string text(line.substr(0, line.size() - rest.size()));
    const auto [known, is_new] = places.try_emplace(text);
    if (is_new) known->second = meters.place(*series);
    if (!known->second) return;
    const ScrapedValue sample = value_in(rest);
    const auto unix_s = sample.stamp.empty() ? scrape_unix_s : meters.unix_s(sample.stamp);
    if (!unix_s) {
      throw Error(
          fmt::format("{}: line {}: it has no time: write one before each scrape, as from date +%s",
                      printable_path(file.path), number));
    }
    meters.add(*known->second, *unix_s, sample.value);
  });
  meters.finish();
}

// The answer to query_range, or a line of /api/v1/export of VictoriaMetrics.
bool fits_queried_meters(std::string_view head) {
  const std::string_view first = strip(head).substr(0, 4096);
  return first.starts_with('{') && first.find("\"metric\"") != first.npos &&
         first.find("\"__name__\"") != first.npos;
}

MetricLabels labels_in(const Json& json) {
  MetricLabels series;
  const Json* const metric = find_member(json, "metric");
  if (!metric || !metric->is_object()) return series;
  for (const auto& [label, value] : metric->items()) {
    if (!value.is_string()) continue;
    if (label == "__name__") {
      series.metric = value.get<std::string>();
    } else {
      series.labels.emplace_back(label, value.get<std::string>());
    }
  }
  return series;
}

std::string text_or_empty(const Json& json) {
  return json.is_string() ? json.get<std::string>() : std::string();
}

std::string scalar_text(const Json& json) {
  return json.is_number() ? json_number(json.get<double>()) : text_or_empty(json);
}

void add_queried_series(const Json& series, MeterMetrics& meters) {
  const auto place = meters.place(labels_in(series));
  const Json* const values = find_member(series, "values");
  const Json* const stamps = find_member(series, "timestamps");
  if (!place || !values || !values->is_array()) return;
  const bool is_apart = stamps && stamps->is_array() && stamps->size() == values->size();
  for (std::size_t i = 0; i < values->size(); ++i) {
    const Json& value = (*values)[i];
    const bool is_pair = value.is_array() && value.size() == 2;
    if (!is_apart && !is_pair) continue;
    const auto unix_s = meters.unix_s(scalar_text(is_apart ? (*stamps)[i] : value[0]));
    if (unix_s) meters.add(*place, *unix_s, scalar_text(is_apart ? value : value[1]));
  }
}

void read_queried_meters(const WitnessText& file, NodeWitnesses& found) {
  MeterMetrics meters(file, found);
  const Json whole = parsed_json(file.text);
  const Json* const data = find_member(whole, "data");
  const Json* const result = data ? find_member(*data, "result") : nullptr;
  if (result && result->is_array()) {
    for (const Json& series : *result) add_queried_series(series, meters);
  } else {
    for_each_witness_line(file.text, [&](std::string_view line, std::size_t) {
      add_queried_series(parsed_json(line), meters);
    });
  }
  meters.finish();
}

}  // namespace

const WitnessForm kScrapedMetersForm = {fits_scraped_meters, read_scraped_meters};
const WitnessForm kQueriedMetersForm = {fits_queried_meters, read_queried_meters};

// ---- Lists the scrapes of a folder, and reads one after the other.

namespace {

namespace fs = std::filesystem;

std::optional<double> time_in_name(const std::string& stem) {
  if (stem.find_first_not_of("0123456789.") != stem.npos) return std::nullopt;
  const auto stamp = StampParser(Zone::fixed(0)).parse(stem);
  if (!stamp || stamp->unix_s < kFirstAbsoluteUnixS) return std::nullopt;
  return stamp->unix_s;
}

// Nanoseconds are kept as a file system keeps them.
Scrape by_file_time(Scrape scrape, const struct stat& status) {
  scrape.time = fmt::format("{}.{:06}", status.st_mtim.tv_sec, status.st_mtim.tv_nsec / 1000);
  scrape.unix_s = static_cast<double>(status.st_mtim.tv_sec) +
                  static_cast<double>(status.st_mtim.tv_nsec) / 1e9;
  return scrape;
}

bool begins_as_scrape(const std::string& path) {
  constexpr std::size_t kEnough = 16 * 1024;
  try {
    return kScrapesRecorder.fits("# 1777118400\n" + read_up_to(*open_source(path), kEnough)) > 0;
  } catch (const FileError&) {
    return false;
  }
}

// MLflow's files of GPUs' power in a run's folder, each named by the line before it, as MLflow's
// form of a recording expects it.
std::vector<Scrape> mlflow_files(const std::string& folder) {
  static constexpr Pattern name = "gpu_[0-9]+_power_usage_watts";
  std::vector<Scrape> files;
  std::error_code ec;
  fs::path metrics = fs::path(folder) / "metrics" / "system";
  if (!fs::is_directory(metrics, ec)) metrics = folder;
  for (fs::recursive_directory_iterator at(metrics, ec), end; !ec && at != end; at.increment(ec)) {
    if (at.depth() >= 1) at.disable_recursion_pending();
    struct stat status {};
    if (!name.matches(at->path().filename().string())) continue;
    if (::stat(at->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const std::string place = "mlflow: system/" + at->path().lexically_relative(metrics).string();
    files.push_back({at->path().string(), place, 0, static_cast<std::uint64_t>(status.st_size)});
  }
  std::ranges::sort(files, {}, &Scrape::path);
  return files;
}

class ScrapesSource : public ByteSource {
 public:
  explicit ScrapesSource(std::span<const Scrape> scrapes) : rest_(scrapes) {}
  std::size_t read(std::span<char> into) override {
    while (true) {
      if (line_.empty() && !file_) {
        if (rest_.empty()) return 0;
        line_ = fmt::format("\n# {}\n", rest_.front().time);
        file_ = open_source(rest_.front().path);
        rest_ = rest_.subspan(1);
      }
      if (!line_.empty()) {
        const std::size_t count = line_.copy(into.data(), into.size());
        line_.erase(0, count);
        return count;
      }
      if (const std::size_t count = file_->read(into)) return count;
      file_.reset();
    }
  }

 private:
  std::span<const Scrape> rest_;
  std::string line_;
  std::unique_ptr<ByteSource> file_;
};

}  // namespace

std::vector<Scrape> scrapes_in(const std::string& folder) {
  if (std::vector<Scrape> files = mlflow_files(folder); !files.empty()) return files;
  std::vector<Scrape> named;
  std::vector<Scrape> others;
  std::error_code ec;
  for (fs::directory_iterator at(folder, ec), end; !ec && at != end; at.increment(ec)) {
    const fs::path& path = at->path();
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const std::string end_of_name = path.extension().string();
    if (end_of_name != ".txt" && end_of_name != ".prom") continue;
    Scrape scrape = {path.string(), {}, 0, static_cast<std::uint64_t>(status.st_size)};
    if (const auto unix_s = time_in_name(path.stem().string())) {
      scrape.time = path.stem().string();
      scrape.unix_s = *unix_s;
      named.push_back(std::move(scrape));
    } else {
      others.push_back(by_file_time(std::move(scrape), status));
    }
  }
  std::vector<Scrape>& scrapes = named.empty() ? others : named;
  std::ranges::sort(scrapes, [](const Scrape& a, const Scrape& b) {
    return std::pair(a.unix_s, a.path) < std::pair(b.unix_s, b.path);
  });
  if (!scrapes.empty() && !begins_as_scrape(scrapes.front().path)) scrapes.clear();
  return std::move(scrapes);
}

std::unique_ptr<ByteSource> scrapes_source(std::span<const Scrape> scrapes) {
  return std::make_unique<ScrapesSource>(scrapes);
}

}  // namespace aggregate_power
