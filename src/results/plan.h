// Turns a result into the plan of what to write.
#pragma once

#include <memory>
#include <string>

#include "aggregate_power/result.h"
#include "results/transaction.h"

namespace aggregate_power {

// Adds the edits of the aggregate and the text of the audit record to `target`, which says where
// the two files go and what was read. `before` is the aggregate as it was read, for a run in a
// store.
WritePlan plan(std::shared_ptr<const Result> result, WritePlan target, std::string before = {});

}  // namespace aggregate_power
