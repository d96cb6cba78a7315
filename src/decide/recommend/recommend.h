// Which power limit to choose, from whatever a sweep left behind.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/tree.h"
#include "decide/recommend/asof_join.h"
#include "decide/recommend/limit_choice.h"
#include "decide/recommend/limit_sweep.h"
#include "decide/recommend/pareto_front.h"
#include "decide/recommend/sweep_rows.h"
#include "runs/evaluate/run_options.h"

namespace aggregate_power {

enum class RowOutliers { none, zscore, mad };
std::optional<RowOutliers> row_outliers(std::string_view name);
std::string_view name(RowOutliers outliers);

struct RowRules {
  RowOutliers outliers = RowOutliers::zscore;
  bool is_cumulative = false;  // a rate is the mean since the load began, not that of the moment
};

// `rows` are settled. Power and rate are linear between two rows of a stretch. A stretch ends where
// the limit changes, and at a gap of more than ten median steps; what is between two stretches is
// not counted.
LimitScenario scenario_of_rows(const SweepRows& rows, const RowRules& rules);

struct RecommendRequest {
  std::vector<std::string> results = {};  // normal paths
  JoinRequest join = {};
  std::vector<std::pair<std::string, std::string>> scenarios = {};  // "training" and a normal path
  std::vector<std::string> keys = {};                               // --group-by
  std::string limit_key = {};
  LimitQuestion question = {};
  RowRules rows = {};
  std::string stats_out = {};  // normal path of a folder; empty: nothing is written
  RunSpec measuring = {};      // how runs are measured that nothing is published of
  StoreAccess access = {};
  unsigned most_threads = 1;
};

struct Recommendation {
  std::vector<LimitChoice> choices = {};  // rows first; sorted by name within a kind
  std::vector<ScalingSweep> scalings = {};
  std::vector<SweepRows> rows = {};  // of training and inference
  RowRules row_rules = {};
  JoinedRows join = {};
  bool was_joined = false;
  std::vector<std::string> written = {};  // files
  std::vector<std::string> notes = {};    // for people
  std::vector<std::string> warnings = {};

  // Whether each scenario has a recommendation, and there is something at all.
  bool is_complete() const;
};

// Whether a place holds runs, in JSON, and is no CSV of a sweep. Throws FileError.
bool holds_runs(const std::string& path);

// Throws FileError and Error.
Recommendation recommend(const RecommendRequest& request);

std::string recommendation_text(const Recommendation& recommendation);
std::string recommendation_json(const Recommendation& recommendation);

}  // namespace aggregate_power
