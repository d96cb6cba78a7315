// The charts of a sweep over power limits.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drawing/chart.h"
#include "reporting/chart_figure.h"

namespace aggregate_power {

struct LimitValue {
  double mean = 0;
  std::optional<ErrorBar> interval = {};
};

// What was measured at one limit; nullopt: unknown.
struct LimitPoint {
  double limit_w = 0;
  std::size_t n = 0;
  std::optional<LimitValue> throughput = {};
  std::optional<LimitValue> temperature = {};
  std::optional<LimitValue> utilization = {};
  std::optional<LimitValue> time = {};
  std::optional<LimitValue> energy = {};
  std::string note = {};  // why it cannot be chosen; empty: it can
};

struct LimitSweep {
  std::string name;
  std::string source = {};    // for captions; empty: that of the page
  std::size_t hardware = 0;   // its colour
  std::string n_is = "runs";  // what n counts
  std::string time_title = "time (s)";
  std::string energy_title;  // "energy (J/output token)"
  std::string energy_formula;
  std::string boundary = "GPU boards";  // what was measured
  std::string throughput_title = "throughput (output tokens/s/GPU)";
  std::vector<LimitPoint> points = {};  // by rising limit
  std::optional<double> recommended_w = {};
  std::optional<double> runner_up_w = {};
  std::optional<double> margin = {};  // by which the runner-up is worse; 0.01: 1 %
  std::string verdict = {};           // for people: what is recommended and why, or why nothing is
};

struct LimitCharts {
  std::vector<Chart> charts;  // side by side
  FigureTable table;
  std::vector<std::string> missing;  // quantities that no point has
};
LimitCharts limit_charts(const LimitSweep& sweep, std::string_view source);

}  // namespace aggregate_power
