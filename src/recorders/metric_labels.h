// Series as Prometheus names them: which are a GPU's power, and which label is the GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aggregate_power/gpu.h"
#include "aggregate_power/record_facts.h"
#include "core/telemetry/telemetry.h"

namespace aggregate_power {

// A metric's name, empty if it has none, and its labels.
struct MetricLabels {
  std::string metric;
  std::vector<std::pair<std::string, std::string>> labels;

  // Empty if there is no such label. Capitals make no difference.
  std::string_view of(std::string_view label) const;
};

// Parses NAME{label="value",...} at the front of `text` and removes it, with blanks after it.
// Returns nullopt, and leaves `text`, if it does not begin so.
std::optional<MetricLabels> take_metric(std::string_view& text);

// Chooses the series of power among those of a recording, and names their GPUs. The choice is made
// by the first series of power and holds for all.
class PowerSeries {
 public:
  // Names given by the user; empty: none. The metric "value" is that of series without a name.
  explicit PowerSeries(const TelemetryOptions& options)
      : wanted_metric_(options.counters ? "" : options.columns.power),
        wanted_label_(options.columns.device),
        reads_counters_(options.counters) {}

  // Whether it is the power of a GPU; or its energy counter, if those are read.
  bool has(const MetricLabels& series);
  // The GPU of a series of power; its host is empty if the GPU's name stands alone. An instance of
  // a divided GPU (MIG) has the name of its GPU: each repeats the power of all of it.
  struct Gpu {
    std::string_view host;
    std::string_view name;
  };
  Gpu gpu_of(const MetricLabels& series);

  // Null if no series so far was one of an energy counter.
  const EnergyCounter* counter() const { return counter_; }
  bool reads_counters() const { return reads_counters_; }

  // Throws TelemetryError if there was power of two recorders, so that GPUs might be left out.
  void check() const;

  // Empty if there was none so far.
  const std::string& metric() const { return metric_; }
  const std::string& label() const { return label_; }
  bool names_hosts() const { return !host_label_.empty(); }
  // What measured it.
  Sensor sensor() const;

 private:
  std::string wanted_metric_;
  std::string wanted_label_;
  bool reads_counters_;
  const EnergyCounter* counter_ = nullptr;
  std::string metric_;
  std::string other_metric_;  // of another recorder
  std::string label_;
  std::string host_label_;
  bool has_chosen_label_ = false;
};

// Who the GPU of a series is, by all its labels.
GpuKey key_of(const MetricLabels& series);

// What a metric of an exporter measures.
Sensor sensor_of_metric(const std::string& metric);

// ---- Finds series that are of one GPU at the same time, although nothing says that each repeats
// its power: their labels do not tell several GPUs apart, or one GPU was queried twice; and devices
// that are one GPU.

class SeriesOverlap {
 public:
  // Numbers a series. find() gives one that is written the same the same number.
  std::size_t add(const MetricLabels& series);
  std::size_t find(const MetricLabels& series);
  // It has a sample of this device.
  void note(std::size_t series, std::uint32_t device, double unix_s) {
    Series& noted = series_[series];
    noted.device = device;
    if (noted.samples++ == 0) noted.first_unix_s = noted.last_unix_s = unix_s;
    if (unix_s < noted.first_unix_s) noted.first_unix_s = unix_s;
    if (unix_s > noted.last_unix_s) noted.last_unix_s = unix_s;
  }
  // Its samples are of a device that does not count: it is not silent.
  void leave_out(std::size_t series) { series_[series].is_left_out = true; }
  // Adds the samples of another part of the recording, in which the devices have other numbers:
  // numbers[i] is that of device i. Series that were added there and here must have been added in
  // the same order.
  void merge(const SeriesOverlap& part, std::span<const std::uint32_t> numbers);
  // Those without a sample, as text.
  std::vector<std::string> silent() const;
  // For people: two series of one device that meet in time, and two devices of one UUID. Instances
  // of a divided GPU (MIG) and pods that share one, which repeat its power, may meet; so may series
  // that follow each other, as when a pod ends.
  std::vector<std::string> conflicts() const;
  // What the labels say of who each device is, by its number.
  std::vector<std::pair<std::uint32_t, GpuKey>> keys() const;

 private:
  struct Series {
    std::string text;  // empty: an instance
    MetricLabels labels;
    std::uint32_t device = 0;
    std::uint64_t samples = 0;
    bool is_left_out = false;
    double first_unix_s = 0;
    double last_unix_s = 0;
  };

  static void add_samples(const Series& more, Series& to);

  std::vector<Series> series_;
  std::unordered_map<std::string, std::size_t> found_;  // by text
};

}  // namespace aggregate_power
