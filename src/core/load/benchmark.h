// Reads the window and the counts of a benchmark result.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/byte_source.h"
#include "core/load/load_files.h"
#include "core/load/result_head.h"
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

// The row in the table of load generators. Any file may be a result: `head` always fits a little.
double fits_benchmark(const ResultHead& head);
std::vector<LoadReading> read_benchmark_files(const LoadFiles& files);

}  // namespace aggregate_power
