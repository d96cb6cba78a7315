// The parts of a report: its table of runs, its sweeps over power limits, and the page of both.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "decisions/recommendation.h"
#include "reporting/limit_charts.h"
#include "reporting/report_runs.h"

namespace aggregate_power {

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
