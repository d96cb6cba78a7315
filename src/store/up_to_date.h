// Whether the files that a run was computed from are unchanged.
#pragma once

#include <cstdint>

#include "results/record.h"
#include "store/store_path.h"

namespace aggregate_power {

struct PastInputs {
  const StorePath& telemetry;
  const StorePath& benchmark;
  bool zone_files_count;   // false if a zone was given
  bool model_files_count;  // they do for an interval
};

// Checks the two files and those beside the telemetry: everything that was read exists, nothing
// else exists that would be read, all have their recorded sizes, and none was modified at
// `record_ns` or later. A file written in the same clock tick as the record may have been written
// after it.
bool have_the_sizes(const PastInputs& inputs, const Sources& sources, std::int64_t record_ns);

// The same, but compares the recorded contents. Throws FileError.
bool have_the_hashes(const PastInputs& inputs, const Sources& sources);

}  // namespace aggregate_power
