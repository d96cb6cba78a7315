// Whether the files that a run was computed from are still what they were.
#pragma once

#include <cstdint>

#include "results/record.h"
#include "store/store_path.h"

namespace aggregate_power {

struct PastInputs {
  const StorePath& telemetry;
  const StorePath& benchmark;
  bool zone_files_count;  // they do not where a zone was given
};

// Of the two and of what stands beside the telemetry: all that was read is there, nothing else that
// would be read is, all have their recorded sizes, and none was modified at `record_ns` or later.
// What was written in the same tick of the clock as the record may have been written behind it.
bool have_the_sizes(const PastInputs& inputs, const Origin& origin, std::int64_t record_ns);

// The same, but by their recorded contents. Throws FileError.
bool have_the_hashes(const PastInputs& inputs, const Origin& origin);

}  // namespace aggregate_power
