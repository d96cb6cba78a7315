// The aggregate of a stored run, and where its results go.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/result.h"
#include "core/record/transaction.h"
#include "store/backfill/recompute.h"
#include "store/catalogue/stored_run.h"

namespace aggregate_power {

struct RunTarget {
  std::string aggregate;
  std::string record;
  std::string root;           // both are inside it
  bool is_elsewhere = false;  // not where the aggregate is
};

struct StoredAggregate {
  std::string text;
  RunTarget target;
};

// Throws FileError.
StoredAggregate read_aggregate(const StoredRun& run, const RecomputeOptions& options);

// Why an aggregate must not be replaced in its place: its mount does not allow that safely. Returns
// nullopt if it may be.
std::optional<std::string> replacement_fault(const StoredAggregate& aggregate);
// Throws JsonError if it is not JSON at all.
bool is_object(const StoredAggregate& aggregate);

// Whether `retract` withdrew the run's numbers, in the store or where its results go. Throws
// FileError.
bool is_retracted(const StoredRun& run, const StoredAggregate& aggregate);

// `path` relative to a folder of the store; both are relative to the store.
std::string relative_path(std::string_view folder, std::string_view path);

// The plan to write a result of the run, with all files that were read for it. `others` are the
// members of the aggregate that are not ours: the plan is good as long as they do not change.
std::unique_ptr<WritePlan> plan_of(const StoredRun& run, const StoredAggregate& aggregate,
                                   const InputFile& others,
                                   const std::vector<std::pair<std::string, FileFacts>>& inputs,
                                   const RecomputeOptions& options, Result result);

}  // namespace aggregate_power
