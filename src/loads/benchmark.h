// Reads the window and the counts of a benchmark result.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/byte_source.h"
#include "loads/load_files.h"
#include "loads/result_head.h"
#include "loads/result_values.h"

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
                                                     "tp",
                                                     "world_size",
                                                     "tensor_parallel_size",
                                                     "pipeline_parallel_size",
                                                     "data_parallel_size"};
// What scripts, and `vllm bench serve --metadata`, add to any result: the number of GPUs is the
// first, else the product of the others, if the second is there. `count_of` reads a key.
inline constexpr auto kGpuKeys = std::span(kStatedFields).last<4>();
std::optional<std::int64_t> gpus_by_keys(
    const std::function<std::optional<std::int64_t>(std::string_view key)>& count_of);
bool states_window(const ResultValues& values);
LoadReading judge_stated(const ResultValues& values, LoadRules rules);

// How far the reported duration may be from the window's: contract.md B.2.
double most_difference_s(Window window);

// The row in the table of load generators. Any file may be a result: `head` always fits a little.
double fits_benchmark(const ResultHead& head);
std::vector<LoadReading> read_benchmark_files(const LoadFiles& files);

}  // namespace aggregate_power
