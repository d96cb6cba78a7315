// What one benchmark used, for people and for programs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/facility.h"
#include "aggregate_power/load.h"
#include "aggregate_power/result.h"

namespace aggregate_power {

struct RunReport {
  std::string benchmark = {};  // "2: request_rate=4.0"; empty: the result has only one
  std::optional<double> stated_energy_j = {};  // the load generator's own figure
  bool has_approximate_counts = false;
  std::uint64_t failed_requests = 0;
  bool includes_set_up = false;  // the window is that of a command, longer than the load or failed
  std::string benchmark_failure = {};  // why its aggregate must not be valid; empty: it may be
  Result result = {};                  // with the reasons and the warnings
  std::optional<FacilityReport> facility = {};  // nullopt: not asked for
};

// {"schema": ..., "runs": [...]}: the aggregate's keys, and others with their unit in their name.
std::string report_json(const std::vector<RunReport>& runs);

// A table of at most 80 columns for each run.
std::string report_text(const std::vector<RunReport>& runs);

// What a window of that class is from: "stated by the result". Empty for an unknown class.
std::string_view explained_window(std::string_view source);

}  // namespace aggregate_power
