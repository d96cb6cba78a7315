// Runs and windows as families of gauges, for Prometheus and OpenTelemetry alike.
//
// A finished run is a gauge: its energy does not go on growing. No label turns one quantity into
// another: a sum over any label of a family never counts anything twice that its help does not
// name.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "views/export/export.h"

namespace aggregate_power {

enum class GaugeUnit { none, joules, watts, seconds, ratio, celsius, grams };

struct GaugeLabel {
  std::string name;  // [a-zA-Z_][a-zA-Z0-9_]*
  std::string value;
};

// The samples of one run share most labels; of many runs, copies would take most of the memory.
struct GaugeLabels {
  std::shared_ptr<const std::vector<GaugeLabel>> common;  // never null, and never empty
  std::vector<GaugeLabel> own = {};                       // after the common ones

  template <typename Take>
  void for_each(Take take) const {
    for (const GaugeLabel& label : *common) take(label);
    for (const GaugeLabel& label : own) take(label);
  }
};

struct GaugeSample {
  GaugeLabels labels;
  double value = 0;
  double start_unix_s = 0;  // of the window; 0: unknown
  double end_unix_s = 0;
};

struct GaugeFamily {
  std::string name;  // "energy_per_output_token"
  GaugeUnit unit = GaugeUnit::none;
  std::string help;
  bool is_count = false;  // whole numbers
  std::vector<GaugeSample> samples;
};

// Windows in one file are at most this many: each would be a series that is kept for ever.
inline constexpr std::size_t kMostWindowSeries = 10000;

// Families without samples are left out. Each run is freed once its samples are there. Throws Error
// for more windows.
std::vector<GaugeFamily> gauge_families(Exported exported);

// What the labels of a run's samples begin with: run, and its configuration.
std::shared_ptr<const std::vector<GaugeLabel>> run_labels(const ExportedRun& run);

// A label's name for a member of an aggregate: "parallelism.tp" is parallelism_tp. Names that this
// program uses itself, such as gpu, get the prefix config_.
std::string label_name(std::string_view key);

// "energy_joules": the name that Prometheus' rules want.
std::string prometheus_name(std::string_view name, GaugeUnit unit);

}  // namespace aggregate_power
