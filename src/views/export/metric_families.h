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
  auto operator<=>(const GaugeLabel&) const = default;
};

// What the samples of one run have alike; of many runs, copies would take most of the memory.
struct GaugeSubject {
  std::vector<GaugeLabel> labels;            // never empty; the name of the run or file is first
  Shared<Configuration> configuration = {};  // more labels, by label_name()
  double end_unix_s = 0;                     // of the window; 0: unknown
};

struct GaugeSample {
  std::shared_ptr<const GaugeSubject> subject;  // never null
  double value = 0;
  Shared<std::vector<GaugeLabel>> more = {};  // labels after the subject's
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

std::shared_ptr<const GaugeSubject> gauge_subject(const ExportedRun& run);

// A label's name for a member of an aggregate: "parallelism.tp" is parallelism_tp. Names that this
// program uses itself, such as gpu, get the prefix config_.
std::string label_name(std::string_view key);

// "energy_joules": the name that Prometheus' rules want.
std::string prometheus_name(std::string_view name, GaugeUnit unit);

}  // namespace aggregate_power
