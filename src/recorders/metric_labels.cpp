// The power metrics of known exporters, and their labels.
#include "recorders/metric_labels.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/pattern.h"
#include "core/telemetry/energy_counter.h"
#include "core/telemetry/gpu_names.h"

namespace aggregate_power {
namespace {

struct KnownMetric {
  std::string_view name;
  std::string_view collector;
  std::string_view scope;
  std::string_view averaging;
};

constexpr KnownMetric kKnownMetrics[] = {
    {"DCGM_FI_DEV_POWER_USAGE", "DCGM", "gpu", "unknown"},
    {"DCGM_FI_DEV_BOARD_POWER_WATTS", "DCGM", "gpu", "unknown"},
    {"DCGM_FI_DEV_POWER_USAGE_INSTANT", "DCGM", "gpu", "instantaneous"},
    {"DCGM_FI_DEV_BOARD_POWER_RAW_WATTS", "DCGM", "gpu", "instantaneous"},
    {"nvidia_smi_power_draw_watts", "nvidia-smi", "gpu", "unknown"},
    {"nvidia_smi_power_draw_average_watts", "nvidia-smi", "gpu", "1 s"},
    {"nvidia_smi_power_draw_instant_watts", "nvidia-smi", "gpu", "instantaneous"},
    {"nvidia_gpu_power_usage_watts", "NVML", "gpu", "unknown"},
    {"gpu_package_power", "AMD device-metrics exporter", "package", "unknown"},
    {"gpu_average_package_power", "AMD device-metrics exporter", "package", "unknown"},
    {"gpu_power_usage", "AMD device-metrics exporter", "package", "unknown"},
    {"amd_gpu_package_power", "AMD device-metrics exporter", "package", "unknown"},
    {"amd_gpu_average_package_power", "AMD device-metrics exporter", "package", "unknown"},
    {"amd_gpu_power", "AMD SMI exporter", "package", "unknown"},
    {"all_smi_gpu_power_consumption_watts", "all-smi", "gpu", "unknown"},
    {"xpum_power_watts", "XPU Manager", "gpu", "unknown"},
    {"kepler_node_gpu_watts", "Kepler", "gpu", "unknown"},
    {"nvidia_smi_power_draw", "telegraf", "gpu", "unknown"},
    {"amd_rocm_smi_power_draw", "telegraf", "package", "unknown"},
};

constexpr std::string_view kUuidLabels[] = {"UUID", "gpu_uuid"};
constexpr std::string_view kIndexLabels[] = {"gpu",          "gpu_id",   "gpu_index",
                                             "index",        "card",     "device",
                                             "minor_number", "dev_file", "pci_bus_id"};
constexpr std::string_view kHostLabels[] = {"Hostname", "host", "node", "node_name", "instance"};

const KnownMetric* known_metric(std::string_view name) {
  const auto* const found = std::ranges::find(kKnownMetrics, name, &KnownMetric::name);
  return found == std::end(kKnownMetrics) ? nullptr : found;
}

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ':' || c == '.';
}

std::string_view take_name(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, is_name_char);
  const std::string_view name(text.begin(), end);
  text.remove_prefix(name.size());
  return name;
}

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

// After the opening quote; removes the closing one.
std::optional<std::string> take_quoted(std::string_view& text) {
  std::string value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return value;
    }
    const bool is_escaped = text[i] == '\\';
    if (is_escaped && ++i == text.size()) break;
    value += is_escaped && text[i] == 'n' ? '\n' : text[i];
  }
  return std::nullopt;
}

bool take_char(std::string_view& text, char c) {
  skip_blanks(text);
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  skip_blanks(text);
  return true;
}

// The labels after an opening brace; removes the closing one.
bool take_labels(std::string_view& text, MetricLabels& into) {
  while (!take_char(text, '}')) {
    std::string label(take_name(text));
    if (label.empty() || !take_char(text, '=') || !take_char(text, '"')) return false;
    std::optional<std::string> value = take_quoted(text);
    if (!value) return false;
    if (label == "__name__") {
      into.metric = std::move(*value);
    } else {
      into.labels.emplace_back(std::move(label), std::move(*value));
    }
    take_char(text, ',');
  }
  return true;
}

template <std::size_t N>
std::string_view first_label(const MetricLabels& series, const std::string_view (&names)[N]) {
  const auto* const found =
      std::ranges::find_if(names, [&](std::string_view name) { return !series.of(name).empty(); });
  return found == std::end(names) ? std::string_view() : *found;
}

// Whether two series of one GPU are of one exporter, so that each repeats the GPU's power, as its
// instances and the pods that share it do.
bool repeat_one_gpu(const MetricLabels& a, const MetricLabels& b) {
  // Of instances of a divided GPU, and of who shares one.
  static constexpr Pattern copy =
      "gpu_i_.*|.*mig.*|(.*[^a-z])?(pod|v_?gpu|container|namespace|workload|service|process|pid|user"
      "|hpc_?job|job_?id|job_?name)([^a-z].*)?";
  const auto differ_as_copies = [](const MetricLabels& one, const MetricLabels& other) {
    return std::ranges::all_of(one.labels, [&](const auto& label) {
      return other.of(label.first) == label.second || copy.matches(lower_ascii(label.first));
    });
  };
  const GpuKey key = key_of(a);
  return !key.uuid.empty() && same_gpu(key, key_of(b)) == SameGpu::yes && a.metric == b.metric &&
         differ_as_copies(a, b) && differ_as_copies(b, a);
}

}  // namespace

std::string_view MetricLabels::of(std::string_view label) const {
  for (const auto& [name, value] : labels) {
    if (name.size() == label.size() && lower_ascii(name) == lower_ascii(label)) return value;
  }
  return {};
}

std::optional<MetricLabels> take_metric(std::string_view& text) {
  std::string_view rest = text;
  MetricLabels series;
  series.metric = take_name(rest);
  const bool has_labels = rest.starts_with('{');
  if (series.metric.empty() && !has_labels) return std::nullopt;
  if (has_labels) {
    rest.remove_prefix(1);
    if (!take_labels(rest, series)) return std::nullopt;
  }
  skip_blanks(rest);
  text = rest;
  return series;
}

bool PowerSeries::has(const MetricLabels& series) {
  if (counter_ == nullptr) counter_ = counter_metric(series.metric);
  if (reads_counters_) {
    if (counter_ != nullptr) metric_ = counter_->name;
    return counter_ != nullptr && series.metric == metric_;
  }
  if (!wanted_metric_.empty()) {
    const bool is_wanted =
        series.metric.empty() ? wanted_metric_ == "value" : series.metric == wanted_metric_;
    if (is_wanted) metric_ = wanted_metric_;
    return is_wanted;
  }
  const KnownMetric* const known = known_metric(series.metric);
  if (metric_.empty() && known != nullptr) metric_ = series.metric;
  if (known != nullptr && known->collector != known_metric(metric_)->collector) {
    other_metric_ = series.metric;
  }
  return !metric_.empty() && series.metric == metric_;
}

void PowerSeries::check() const {
  if (other_metric_.empty()) return;
  throw TelemetryError(fmt::format(
      "the power of GPUs is in {} and in {}, which may be of other GPUs: name one of them with --power-column",
      metric_, other_metric_));
}

PowerSeries::Gpu PowerSeries::gpu_of(const MetricLabels& series) {
  if (!has_chosen_label_) {
    has_chosen_label_ = true;
    label_ = wanted_label_.empty() ? first_label(series, kUuidLabels) : wanted_label_;
    if (label_.empty()) {
      label_ = first_label(series, kIndexLabels);
      host_label_ = first_label(series, kHostLabels);
    }
  }
  if (label_.empty()) return {};
  return {host_label_.empty() ? std::string_view() : series.of(host_label_), series.of(label_)};
}

GpuKey key_of(const MetricLabels& series) {
  constexpr std::string_view kPciLabels[] = {"pci_bus_id", "gpu_bus_id", "bus_id", "bdf"};
  const auto value = [&](const auto& names) {
    const std::string_view label = first_label(series, names);
    return label.empty() ? std::string() : std::string(series.of(label));
  };
  return {.host = value(kHostLabels),
          .index = value(kIndexLabels),
          .uuid = value(kUuidLabels),
          .pci = value(kPciLabels)};
}

Sensor PowerSeries::sensor() const { return sensor_of_metric(metric_); }

Sensor sensor_of_metric(const std::string& metric) {
  Sensor sensor;
  if (!metric.empty() && metric != "value") sensor.name = metric;
  if (const KnownMetric* const known = known_metric(metric)) {
    sensor.collector = known->collector;
    sensor.scope = known->scope;
    sensor.averaging = known->averaging;
  }
  return sensor;
}

// ---- Keeps the stretch of each series, and compares the stretches of one device.

namespace {

constexpr std::size_t kMostSeriesShown = 160;
constexpr std::string_view kInstanceLabels[] = {"GPU_I_ID", "GPU_I_PROFILE"};

std::string series_text(const MetricLabels& series) {
  std::string text = series.metric + "{";
  for (const auto& [label, value] : series.labels) {
    text += fmt::format("{}{}=\"{}\"", text.back() == '{' ? "" : ",", label, value);
  }
  return text + "}";
}

std::string text_unless_instance(const MetricLabels& series) {
  const bool is_instance = std::ranges::any_of(
      kInstanceLabels, [&](std::string_view label) { return !series.of(label).empty(); });
  return is_instance ? std::string() : series_text(series);
}

}  // namespace

std::size_t SeriesOverlap::add(const MetricLabels& series) {
  series_.push_back({.text = text_unless_instance(series), .labels = series});
  return series_.size() - 1;
}

std::size_t SeriesOverlap::find(const MetricLabels& series) {
  const auto [place, is_new] = found_.try_emplace(series_text(series), series_.size());
  if (is_new) series_.push_back({.text = text_unless_instance(series), .labels = series});
  return place->second;
}

void SeriesOverlap::add_samples(const Series& more, Series& to) {
  to.device = more.device;
  const bool is_first = to.samples == 0;
  to.first_unix_s = is_first ? more.first_unix_s : std::min(to.first_unix_s, more.first_unix_s);
  to.last_unix_s = is_first ? more.last_unix_s : std::max(to.last_unix_s, more.last_unix_s);
  to.samples += more.samples;
}

void SeriesOverlap::merge(const SeriesOverlap& part, std::span<const std::uint32_t> numbers) {
  std::map<std::string, std::deque<std::size_t>> known;  // that may be equal, in their order
  for (std::size_t i = 0; i < series_.size(); ++i) {
    known[series_text(series_[i].labels)].push_back(i);
  }
  for (Series more : part.series_) {
    if (more.device < numbers.size()) more.device = numbers[more.device];
    std::deque<std::size_t>& equal = known[series_text(more.labels)];
    if (equal.empty()) {
      series_.push_back(std::move(more));
      continue;
    }
    Series& same = series_[equal.front()];
    if (more.samples > 0) add_samples(more, same);
    same.is_left_out = same.is_left_out || more.is_left_out;
    equal.pop_front();
  }
}

std::vector<std::string> SeriesOverlap::silent() const {
  std::vector<std::string> texts;
  for (const Series& series : series_) {
    if (series.samples == 0 && !series.is_left_out && !series.text.empty()) {
      texts.push_back(printable(series.text, kMostSeriesShown));
    }
  }
  return texts;
}

std::vector<std::pair<std::uint32_t, GpuKey>> SeriesOverlap::keys() const {
  std::vector<std::pair<std::uint32_t, GpuKey>> keys;
  for (const Series& series : series_) {
    if (series.samples > 0 && series.device != kNoDevice) {
      keys.emplace_back(series.device, key_of(series.labels));
    }
  }
  return keys;
}

std::vector<std::string> SeriesOverlap::conflicts() const {
  std::vector<std::string> conflicts;
  std::vector<const Series*> whole;
  std::map<std::string, const Series*> by_uuid;
  for (const Series& series : series_) {
    if (series.samples == 0 || series.device == kNoDevice) continue;
    if (!series.text.empty()) whole.push_back(&series);
    const GpuKey key = key_of(series.labels);
    if (key.uuid.empty()) continue;
    const Series& first = *by_uuid.try_emplace(key.uuid, &series).first->second;
    if (first.device == series.device) continue;
    conflicts.push_back(fmt::format(
        "{} and {} are of one GPU, {}, and count as two: leave out --device-column, which names a label that does not tell GPUs apart",
        printable(series_text(first.labels), kMostSeriesShown),
        printable(series_text(series.labels), kMostSeriesShown), printable(key.uuid)));
  }
  std::ranges::sort(whole, [](const Series* a, const Series* b) {
    return a->device != b->device ? a->device < b->device : a->first_unix_s < b->first_unix_s;
  });
  for (std::size_t i = 1; i < whole.size(); ++i) {
    const Series& before = *whole[i - 1];
    const Series& after = *whole[i];
    if (before.device != after.device || after.first_unix_s > before.last_unix_s) continue;
    if (repeat_one_gpu(before.labels, after.labels)) continue;
    const GpuKey key = key_of(before.labels);
    const bool is_one_uuid =
        !key.uuid.empty() && same_gpu(key, key_of(after.labels)) == SameGpu::yes;
    conflicts.push_back(fmt::format(
        "{} and {} are of one GPU at the same time: {}query one of them, or their sum if they are its parts",
        printable(before.text, kMostSeriesShown), printable(after.text, kMostSeriesShown),
        is_one_uuid ? "" : "name the label that tells GPUs apart with --device-column, or "));
  }
  return conflicts;
}

}  // namespace aggregate_power
