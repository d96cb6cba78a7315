// What a run used, computed and reported; nothing that exists is changed.
#pragma once

#include <string>
#include <vector>

#include "runs/evaluate/run_options.h"

namespace aggregate_power {

// The first member of what `out` names, by which it is known to be of this command.
inline constexpr const char* kMeasuredKey = "window_source";

struct MeasureReport {
  int exit_status = 0;  // 0: all are valid; 1: not all are; 2: a file cannot be opened
  std::string out;
  std::vector<std::string> err;
  std::vector<std::string> refusals;  // why runs are not valid, which `out` says too
};

// Of a run, or of each run in the folders that are named in place of its files.
// `is_alone`: no other run is measured meanwhile; else one thread reads it, and only a small
// recording is kept for an interval.
MeasureReport measure_run(const RunSpec& request, bool is_alone = true);

}  // namespace aggregate_power
