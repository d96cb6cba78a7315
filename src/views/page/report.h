// From the places where runs are to the page about them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/facility.h"
#include "base/files/tree.h"
#include "runs/evaluate/run_options.h"

namespace aggregate_power {

struct ReportRequest {
  std::vector<std::string> places;     // normal paths: of runs, or CSVs of power-limit sweeps
  std::string title = {};              // empty: by the places
  std::vector<std::string> keys = {};  // that make a configuration; empty: all that are known
  std::string limit_key = {};  // the member with the power limit; empty: those that are known
  // The power limit of runs whose own is not known; 0: the one that the maker of their GPU states.
  std::optional<double> otherwise_limit_w = {};
  FacilityOptions facility = {};  // energy of the facility, cost and carbon
  // Of so many runs, the first ones, the power curves are read from their recordings; nullopt: of
  // all if there are at most kMostRunsWithCurves, and of none if there are more.
  std::optional<std::size_t> curves = {};
  std::string out = {};    // normal path of the page; empty: unknown. Links are relative to it.
  RunSpec measuring = {};  // how runs are measured that nothing is published of
  StoreAccess access = {};
  unsigned most_threads = 1;
};
inline constexpr std::size_t kMostRunsWithCurves = 200;

struct Report {
  std::string html;
  std::size_t runs = 0;
  std::size_t valid = 0;
  std::size_t sweeps = 0;
  std::vector<std::string> warnings;  // files that were passed over, and why
  std::vector<std::string> notes;
};

// Changes nothing. Throws FileError for a place that cannot be opened, Error for one that holds
// something else.
Report make_report(const ReportRequest& request);

}  // namespace aggregate_power
