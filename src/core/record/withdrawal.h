// What is left of a run whose numbers are withdrawn: its aggregate says what that of a run that is
// not valid says, its audit record keeps what was.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text/json_patch.h"
#include "base/text/json_value.h"

namespace aggregate_power {

// The edits of the aggregate. Under schema 1, which has no verdict, they only remove the metrics
// that the record has.
std::vector<JsonEdit> withdrawing_edits(const JsonValue& aggregate, const JsonValue& record);

// The record's text with the verdict "retracted". Its earlier verdict and metrics are in
// `retracted`, with `where`, the conditions that it met. `aggregate` is the aggregate's text as it
// will be. Throws Error if `record` is not JSON.
std::string withdrawn_record(std::string_view record, const std::vector<std::string>& where,
                             std::string_view aggregate);

// Whether an audit record's text is of a run whose numbers were withdrawn.
bool is_withdrawn(std::string_view record);

// The members of an aggregate that are ours, as they are spelled; values of several
// lines on one. NaN, which is not JSON, is left out.
std::vector<JsonEdit> members_of_ours(std::string_view aggregate);

// Their text, as in {"avg_power_w":1}.
std::string members_text(const std::vector<JsonEdit>& members);

// Whether they only say that the run has no valid power, or nothing.
bool claim_nothing(const std::vector<JsonEdit>& members);

// The edits that bring back members_of_ours() of an earlier state, and remove all others of ours.
std::vector<JsonEdit> restoring_edits(std::string_view aggregate,
                                      const std::vector<JsonEdit>& earlier);

}  // namespace aggregate_power
