// Finds out which file of a run is which by what is in it, so that they may be named in any order,
// or not at all.
#pragma once

#include <string>
#include <vector>

#include "aggregate_power/reason.h"
#include "recorders/recording.h"
#include "runs/evaluate/run_options.h"

namespace aggregate_power::runs {

// Why a recording has no power over time, by its beginning; empty: it has.
Reasons why_no_power(const Recording& recording);

// Whether a file is the result of a load generator. False if it cannot be read.
bool is_result_file(const std::string& path);

// Whether a recorder writes files or folders of this form; results and folders of runs are not
// recordings. False if it cannot be read.
bool is_recording(const std::string& path);
// Whether it is one that a load generator writes next to its result, whose message names that.
bool is_recording_of_generator(const std::string& path);

// Where the result is not, or where there is none, and one is among the recordings: that one.
// Throws Error if there are several, or if an aggregate, a record or unknown JSON is among them.
void find_result(RunSpec& run);

// Throws Error if the result that `run` names is an aggregate or a recording, and the file that it
// names as the aggregate or the recording is a result.
void refuse_swapped(const RunSpec& run);

// The recordings that are given, else $GPU_METRICS_CSV, else gpu_metrics.csv beside the result,
// here or in /workspace, else the only file beside the result that is a recording of power over
// time. A run that was found in a folder does not have what is here. Throws Error if there are
// several.
std::vector<std::string> recordings_near(const RunSpec& run, bool is_of_folder = false);

// A run for each result in a folder. Throws Error for results of several generators: one may be
// another's summary.
std::vector<RunSpec> runs_of_folder(const RunSpec& options, const std::string& folder);

// The runs of each folder that is named in place of its files, or of the folders in it. A run
// without such a folder is itself. Throws as runs_of_folder() does.
std::vector<RunSpec> runs_in_folders(const RunSpec& run);

}  // namespace aggregate_power::runs
