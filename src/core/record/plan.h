// Turns a result into the plan of what to write.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "aggregate_power/result.h"
#include "core/record/transaction.h"

namespace aggregate_power {

// The aggregate of a run in a store as it was read, and what its record states about earlier
// passes.
struct StoredBefore {
  std::string text;
  std::vector<std::string> replaced;  // recorded_replacements()
};

// Adds the edits of the aggregate and the text of the audit record to `target`, which says where
// the two files go and what was read. `before`: for a run in a store.
WritePlan plan(std::shared_ptr<const Result> result, WritePlan target, StoredBefore before = {});

}  // namespace aggregate_power
