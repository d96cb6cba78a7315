// Whether a benchmark failed, by the requests that it completed. Contract-october.md 1.12.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "aggregate_power/contract.h"
#include "base/text/json_value.h"
#include "core/load/load_files.h"
#include "core/load/result_values.h"

namespace aggregate_power {

inline constexpr double kMaxFailureRate = 0.05;

// The paths of an outcome in a result.
inline constexpr std::string_view kOutcomePaths[] = {
    "benchmark_outcome",           "benchmark_outcome.status",
    "benchmark_outcome.requested", "benchmark_outcome.completed",
    "benchmark_outcome.failed",    "benchmark_outcome.max_failure_rate"};
// The outcome that values with these paths hold; null: there is none.
JsonValue outcome_in(const ResultValues& values);
// The outcome that the member is; one without counts if it is too large, or has a number that is.
JsonValue outcome_in(const JsonMember& member);

// Why the benchmark counts as failed; empty: it does not, or nothing says so. `outcome` is the
// member benchmark_outcome of a result or an aggregate, `completed` and `num_prompts` are the
// result's own counts; null: there is none. An outcome that does not follow from the counts is a
// failure too.
std::string benchmark_failure(const JsonValue& outcome, const JsonValue& completed,
                              const JsonValue& num_prompts);

// The same by a generator's own counts of the requests that failed and of those that completed.
std::string failure_by_counts(std::uint64_t failed, std::int64_t completed);

// Adds the reason to a result whose benchmark failed. August knew none.
void refuse_failed(Contract contract, LoadReading& reading);

}  // namespace aggregate_power
