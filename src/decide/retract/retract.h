// Withdraws what was published of runs, by what their audit records prove.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files/tree.h"

namespace aggregate_power {

// A fact that a record must state: a key of retract_keys(), and a glob for its value. The
// recordings of several hosts have each their own facts: all conditions must hold for one of them.
struct RetractCondition {
  std::string key;
  std::string value;
};
std::vector<std::string> retract_keys();

struct RetractRequest {
  std::vector<std::string> stores;           // those of read_published_runs()
  std::vector<RetractCondition> conditions;  // all must hold
  bool dry_run = false;
  StoreAccess access = {};
  unsigned most_threads = 1;
};

enum class RetractOutcome {
  retracted,          // or would be
  already_retracted,  // by an earlier call
  not_matching,
  not_valid,   // it has no numbers to withdraw
  left_alone,  // it matches, and cannot be written, or others changed it
};
inline constexpr int kRetractOutcomes = 5;
std::string_view retract_outcome_name(RetractOutcome outcome);

struct RetractedRun {
  std::string name;  // its aggregate's path
  bool is_matching = false;
  std::vector<std::vector<std::string>> stated;  // for each condition, what its record states
  RetractOutcome outcome = RetractOutcome::not_matching;
  std::string why;                   // of one that was left alone
  std::vector<std::string> changes;  // of a dry run, for people
};

struct RetractResult {
  std::vector<RetractedRun> runs;  // those with an audit record
  std::string why_none;            // that no record is matching, and what they state; empty: one is
  std::vector<std::string> warnings;
};

// Throws FileError for a store that cannot be opened, Error for a file that has no runs.
RetractResult retract_runs(const RetractRequest& request);

}  // namespace aggregate_power
