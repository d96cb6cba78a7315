// A report as one HTML page that needs nothing else.
#pragma once

#include <string>
#include <vector>

#include "reporting/limit_charts.h"
#include "reporting/report_runs.h"

namespace aggregate_power {

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

}  // namespace aggregate_power
