// What a result changes in the aggregate. Contract.md A.8, B.6, C.8, F.1.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/result.h"
#include "base/text/json.h"
#include "results/transaction.h"

namespace aggregate_power {

// The metrics, or nothing in their place; with `result.extended` the dashboard's keys too, of which
// one names the audit record, `record_name`.
std::vector<JsonEdit> edits_of(const Result& result, const std::string& record_name);

// The same when there is no audit record to show for it: nothing is claimed.
std::vector<JsonEdit> edits_without_record(const Result& result);

// Whether edits_of() claims that some power is valid.
bool claims_power(const Result& result);

// What an earlier run may have left in the aggregate. Others may set such keys too: they go only
// where a member that only this program sets shows that it did.
std::vector<WritePlan::Leftovers> leftovers_of(Way way);

// Whether a member of an aggregate is one that some result may set or remove.
bool is_our_key(std::string_view key);

}  // namespace aggregate_power
