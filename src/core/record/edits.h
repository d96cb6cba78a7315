// What a result changes in the aggregate. Contract.md A.8, B.6, C.8, F.1.
#pragma once

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

// The edits if there is no audit record to support them: nothing is claimed.
std::vector<JsonEdit> edits_without_record(const Result& result);

// The same for a run that was valid and is not any more.
std::vector<JsonEdit> edits_of_withdrawn(bool has_cpu);

// Whether edits_of() claims that some power is valid.
bool claims_power(const Result& result);

// What an earlier run may have left in the aggregate. Other programs may set such keys too, so they
// are removed only if a member that only this program sets shows that it was here.
std::vector<WritePlan::Leftovers> leftovers_of(Way way);

// Whether some result may set or remove this member of an aggregate.
bool is_our_key(std::string_view key);

}  // namespace aggregate_power
