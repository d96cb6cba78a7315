// Gross and net energy as JSON: the record's object, and keys of the aggregate.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/result.h"
#include "base/text/json_patch.h"
#include "results/json_parts.h"

namespace aggregate_power {

// Of a result with Result::idle. `is_valid` takes faults of the aggregate into account.
Json idle_json(const Result& result, bool is_valid);

// A line for people; nullopt: not requested, or there is no baseline.
std::optional<std::string> idle_text(const Result& result);

// The keys of --extended.
std::vector<JsonEdit> idle_edits(const Result& result);
std::vector<std::string_view> idle_keys();

}  // namespace aggregate_power
