// Finds out which file of a run is which by what is in it, so that they may be named in any order,
// or not at all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runs/evaluate/run_options.h"

namespace aggregate_power::runs {

// Whether a file is the result of a load generator. False if it cannot be read.
bool is_result_file(const std::string& path);

// Where the result is not, or where there is none, and one is among the recordings: that one.
// Throws Error if there are several.
void find_result(RunSpec& run);

// The recordings that are given, else $GPU_METRICS_CSV, else gpu_metrics.csv beside the result,
// here or in /workspace, else the only file beside the result that is a recording of power over
// time. A run that was found in a folder does not have what is here. Throws Error if there are
// several.
std::vector<std::string> recordings_near(const RunSpec& run, bool is_of_folder = false);

// The run of a folder with a result; nullopt: there is no result in it. Throws Error for a folder
// with several.
std::optional<RunSpec> run_in_folder(const RunSpec& options, const std::string& folder);

// A run for each folder that is named in place of its files: one with a result, or one whose
// folders have one each. A run without such a folder is itself. Throws Error for a folder with
// several results.
std::vector<RunSpec> runs_in_folders(const RunSpec& run);

}  // namespace aggregate_power::runs
