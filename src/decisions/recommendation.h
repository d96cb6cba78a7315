// Which power limit to choose, from whatever a sweep left behind.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/files/tree.h"
#include "decisions/asof_join.h"
#include "decisions/limit_choice.h"
#include "decisions/pareto_front.h"
#include "decisions/row_groups.h"
#include "decisions/sweep_rows.h"
#include "runs/run_options.h"

namespace aggregate_power {

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
