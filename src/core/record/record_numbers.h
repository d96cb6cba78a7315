// The interval of a run's energy as JSON: the record's object, and keys of the aggregate.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/result.h"
#include "base/report/json_parts.h"
#include "base/text/json_patch.h"

namespace aggregate_power {

// Numbers are not rounded: an interval must not become narrower. `is_valid` takes faults of the
// aggregate into account; the result has an interval, or says why not.
Json uncertainty_json(const Result& result, bool is_valid);

// What an interval is made of.
Json components_json(const Estimate& estimate);

// The keys of --extended, rounded outwards.
std::vector<JsonEdit> uncertainty_edits(const Result& result);
std::vector<std::string_view> uncertainty_keys();

}  // namespace aggregate_power
