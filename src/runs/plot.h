// Reads recordings and a load for a picture of both.
#pragma once

#include <string>
#include <vector>

#include "runs/power_picture.h"
#include "runs/run_options.h"

namespace aggregate_power {

struct PlotRequest : RunOptions {
  std::vector<std::string> telemetry;  // normal paths; empty: found as for a single run
  std::string bench_result;            // normal path; empty: no load
  std::string out;                     // normal path of the file to write; empty: none

  bool has_window() const { return !bench_result.empty() || given.has_window(); }
};

struct PlottedRun {
  PowerPicture picture;
  std::vector<std::string> warnings;
};

// The energies are those that a single run publishes, by the same rules; without a load, those of
// the whole recording. Each recording is read once, except where its rows are out of order or its
// zone has to be found. Throws FileError if a file cannot be opened, and Error if the pictures
// cannot be one, or if `out` is one of the files that are read.
PlottedRun plotted_run(const PlotRequest& request);

}  // namespace aggregate_power
