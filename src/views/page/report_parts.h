// The parts of a report: its table of runs, its sweeps over power limits with their charts, and the
// page of all.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decide/recommend/recommend.h"
#include "chart/chart.h"
#include "views/page/chart_figure.h"
#include "views/page/report_runs.h"

namespace aggregate_power {

// ---- The charts of a sweep over power limits

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

// ---- Sweeps over power limits for charts, with what is recommended

struct LimitSweepRequest {
  std::vector<std::string> keys = {};  // that name a scenario, as in arrange_runs()
  std::string limit_key = {};
  unsigned most_threads = 1;
};

// One for each configuration that was measured at two limits or more.
std::vector<LimitSweep> sweeps_of_runs(const ReportRuns& report, const LimitSweepRequest& request);

// Those of tables that a sweep tool left behind.
std::vector<LimitSweep> sweeps_of_tables(const Recommendation& recommendation);

// ---- A report as one HTML page that needs nothing else

struct ReportPage {
  std::string title = {};
  std::string subtitle = {};  // below the title; empty: none
  std::string source = {};    // for captions: "artifacts, results.json"
  ReportRuns runs = {};
  std::vector<LimitSweep> sweeps = {};
  std::string curves_note = {};         // why there are no curves; empty: there are
  std::vector<std::string> notes = {};  // what was passed over
};

// The same page gives the same bytes, which are also well-formed XML.
std::string page_html(const ReportPage& page);

// ---- The table of runs: one row each

// Up to so many curves are drawn here, and seen without a script; of more, the page holds the
// compact numbers, which the script draws.
inline constexpr std::size_t kMostDrawnCurves = 500;

// Members that tell runs apart have a column each, up to so many.
inline constexpr std::size_t kMostMemberColumns = 8;

// With the id "runs". A column that no run has a value for is left out. Its attributes and those of
// its cells are what the page's script filters by:
//   table: data-shared, the members that all runs share, as JSON;
//   th: data-k, the column's key; data-f, it is offered as a filter;
//   tr: data-p, the number of the point that the run belongs to;
//   td: data-v, the value to filter and sort by, if it is not the text; data-c, a curve.
std::string run_table(const ReportRuns& report);

}  // namespace aggregate_power
