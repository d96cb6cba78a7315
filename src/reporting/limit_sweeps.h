// Sweeps over power limits for charts, with what is recommended.
#pragma once

#include <string>
#include <vector>

#include "decisions/recommendation.h"
#include "reporting/limit_charts.h"
#include "reporting/report_runs.h"

namespace aggregate_power {

struct LimitSweepRequest {
  std::vector<std::string> keys = {};  // that name a scenario, as in arrange_runs()
  std::string limit_key = {};
  unsigned most_threads = 1;
};

// One for each configuration that was measured at two limits or more.
std::vector<LimitSweep> sweeps_of_runs(const ReportRuns& report, const LimitSweepRequest& request);

// Those of tables that a sweep tool left behind.
std::vector<LimitSweep> sweeps_of_tables(const Recommendation& recommendation);

}  // namespace aggregate_power
