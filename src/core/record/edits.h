// What a result changes in the aggregate. Contract.md A.8, B.6, C.8, F.1.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/result.h"
#include "base/text/json_patch.h"
#include "core/record/transaction.h"

namespace aggregate_power {

// Sets the metrics, or removes them, and what else `result.keys` asks for; one of these keys names
// the audit record, `record_name`.
std::vector<JsonEdit> edits_of(const Result& result, const std::string& record_name);

// The same for a run that was valid and is not any more.
std::vector<JsonEdit> edits_of_withdrawn(bool has_cpu);

// What an earlier run may have left in the aggregate. Other programs may set such keys too, so they
// are removed only if a member that only this program sets shows that it was here.
std::vector<WritePlan::Leftovers> leftovers_of(Way way);

// Whether some result may set or remove this member of an aggregate.
bool is_our_key(std::string_view key);

// ---- Turns a result into the plan of what to write.

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
