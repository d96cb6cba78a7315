// Reads the window and the counts of a benchmark result.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/contract.h"
#include "base/system/byte_source.h"
#include "base/text/json_value.h"
#include "core/load/load_files.h"
#include "core/load/result_values.h"

namespace aggregate_power {

// Reads a result of any size in one pass. `name` is for messages. Faults are reasons, never
// exceptions, except what `source` throws.
LoadReading read_benchmark(ByteSource& source, const std::string& name, LoadRules rules);

// The same for values that a format has read: they state a window by either key.
inline constexpr std::string_view kStatedFields[] = {"benchmark_start_time_unix",
                                                     "benchmark_end_time_unix",
                                                     "duration",
                                                     "completed",
                                                     "total_input_tokens",
                                                     "total_output_tokens",
                                                     "max_concurrency",
                                                     "num_prompts",
                                                     "benchmark_outcome",
                                                     "failed",
                                                     "model_id",
                                                     "request_rate",
                                                     "backend",
                                                     "framework",
                                                     "precision",
                                                     "dtype",
                                                     "quantization",
                                                     "ep",
                                                     "ep_size",
                                                     "dataset_name",
                                                     "random_input_len",
                                                     "random_output_len",
                                                     "input_len",
                                                     "output_len",
                                                     "isl",
                                                     "osl",
                                                     "conc",
                                                     "hw",
                                                     "num_gpus",
                                                     "gpu_count",
                                                     "n_gpus",
                                                     "world_size",
                                                     "tensor_parallel_size",
                                                     "pipeline_parallel_size",
                                                     "data_parallel_size",
                                                     "tp",
                                                     "pp",
                                                     "dp",
                                                     "dp_attention",
                                                     "tp_size",
                                                     "pp_size",
                                                     "dp_size",
                                                     "gpus_per_node",
                                                     "num_nodes",
                                                     "nnodes"};
// What scripts, and `vllm bench serve --metadata`, add to any result.
inline constexpr auto kGpuKeys = std::span(kStatedFields).last<17>();
bool states_window(const ResultValues& values);
LoadReading judge_stated(const ResultValues& values, LoadRules rules);

// How far the reported duration may be from the window's: contract.md B.2.
double most_difference_s(Window window);
// Whether a window is as long as a load of `reported_s`, in whichever unit that is.
bool is_length_of(Window window, double reported_s);

// The row in the table of load generators. Any file may be a result: `head` always fits a little.
double fits_benchmark(const ResultHead& head);
std::vector<LoadReading> read_benchmark_files(const LoadFiles& files);

// ---- Whether a benchmark failed, by the requests that it completed. Contract-october.md 1.12.

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
