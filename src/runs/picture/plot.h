// Reads recordings and a load for a picture of both.
#pragma once

#include <string>
#include <vector>

#include "runs/picture/picture.h"
#include "runs/evaluate/run_options.h"

namespace aggregate_power {

struct PlottedRun {
  PowerPicture picture;
  std::vector<std::string> warnings;
};

// The energies are those that a single run publishes, by the same rules; without a load, those of
// the whole recording. Each recording is read once, except where its rows are out of order or its
// zone has to be found. Throws FileError if a file cannot be opened, and Error if the pictures
// cannot be one, or if `out` is one of the files that are read.
PlottedRun plotted_run(const RunSpec& request);

}  // namespace aggregate_power
