// From published runs to what was measured at each power limit, and how they scale.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "decide/recommend/limit_sweep.h"
#include "decide/recommend/pareto_front.h"
#include "store/catalogue/published_runs.h"

namespace aggregate_power {

struct RunSweepRequest {
  std::vector<std::string> keys = {};  // that name a scenario; empty: the whole configuration
  std::string limit_key = {};          // the member with the limit; empty: those that are known
  unsigned most_threads = 1;
};

struct RunSweep {
  std::vector<LimitScenario> scenarios = {};
  std::vector<ScalingSweep> scalings = {};  // over concurrency
  std::vector<std::string> warnings = {};
  std::size_t without_limit = 0;
};

// The limit of a run is a member of its aggregate, else the one that its recording reports for the
// window. Runs with equal configurations are repeats.
RunSweep sweep_of_runs(const std::vector<PublishedRun>& runs, const RunSweepRequest& request);

}  // namespace aggregate_power
