// The audit record of a run as JSON, whichever way the run was measured. Keys and their order are
// those of contract.md B.7 and C.8.
#pragma once

#include <string>
#include <vector>

#include "aggregate_power/result.h"

namespace aggregate_power {

inline constexpr const char* kPowerValid = "power_valid";      // also of an aggregate
inline constexpr const char* kComputedFrom = "computed_from";  // by what, and how

// The source of a window that is not from a benchmark result: the whole of an AIPerf profile
// (contract.md D), or the formal result of agents on several nodes.
inline constexpr const char* kProfileWindowSource = "aiperf_profile_lifecycle";
inline constexpr const char* kFormalWindowSource = "aiperf_multinode_custom_benchmark";

// The record's path unless a user gives another: power_validation_STEM.json.
std::string record_beside(const std::string& bench_result);

// What a user can do if the record must not go there.
inline constexpr const char* kOtherValidationResult = "give another --validation-result";
inline constexpr const char* kNameIsTaken = "move it away: the audit record needs its name";

// The aggregate of a run in a store as it was left, and the hashes of the members of ours that it
// had before passes that changed them.
struct PatchedAggregate {
  InputFile left;
  std::vector<std::string> replaced = {};
};

// `aggregate_reasons` say what is wrong with the aggregate. Only the record of a run in a store
// (Sources::is_of_store) contains `patched`.
std::string record_text(const Result& result, const Reasons& aggregate_reasons = {},
                        const PatchedAggregate& patched = {});

}  // namespace aggregate_power
