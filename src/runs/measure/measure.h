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

struct AmongRuns {
  // No other run is measured meanwhile; else one thread reads it, and only a small recording is
  // kept for an interval.
  bool is_alone = true;
  // Other results have the same recording: the command that was recorded may have run them.
  bool shares_recording = false;
  // Its number stands for the run, as a published one does: a benchmark that failed has none.
  bool refuses_failed = false;
};

// Of a run, or of each run in the folders that are named in place of its files.
MeasureReport measure_run(const RunSpec& request, AmongRuns among = {});

}  // namespace aggregate_power
