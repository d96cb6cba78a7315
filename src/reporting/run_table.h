// The table of runs: one row each.
#pragma once

#include <cstddef>
#include <string>

#include "reporting/report_runs.h"

namespace aggregate_power {

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
