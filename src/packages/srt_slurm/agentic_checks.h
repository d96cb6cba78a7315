// The preconditions of a run of agents on several nodes, checked before its package is read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "aggregate_power/gpu.h"
#include "aggregate_power/reason.h"
#include "base/files/tree.h"

namespace aggregate_power {

struct AgenticLoad {
  std::shared_ptr<const Tree> tree;
  std::string result_dir;  // in the tree
  std::string logs_root;
  std::optional<std::string> aggregate;  // its text; nullopt: it cannot be read
  std::string aggregate_fault;           // why it cannot be read
  std::string expected_producer_sha;
  std::optional<std::int64_t> expected_num_gpus = {};  // of a run on one node
  bool finds_gpus_of_node = false;                     // a run on one node may say its number
  std::string aggregate_name = {};                     // for messages; may be empty
};

struct AgenticChecks {
  Reasons reasons;  // empty: all of them hold
  RoleCounts gpus;
  std::string formal_result;  // in the tree; empty: there is not exactly one
  std::string window_file;    // the load's, relative to the package; empty: there is not exactly
                              // one result
};

// Makes all checks. Never throws because of the files.
AgenticChecks check_agentic_load(const AgenticLoad& load);

}  // namespace aggregate_power
