// A result to what is written of it.
#pragma once

#include <memory>
#include <string>

#include "aggregate_power/result.h"
#include "results/transaction.h"

namespace aggregate_power {

// Adds to `target`, which says where the two files go and what was read, the edits of the aggregate
// and the text of the audit record. `before` is the aggregate as it was read, for a run of a store.
WritePlan plan(std::shared_ptr<const Result> result, WritePlan target, std::string before = {});

}  // namespace aggregate_power
