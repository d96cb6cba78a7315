// Whether a stored run was recomputed before, and the files that it was computed from are
// unchanged.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/record_facts.h"
#include "core/record/record_read.h"
#include "store/backfill/stored_aggregate.h"
#include "store/catalogue/stored_run.h"

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

// What would be done now. The paths are relative to the store.
struct PreviousQuestion {
  Contract contract;
  std::vector<RecordedOption> options;
  std::string telemetry;
  std::string benchmark;
  // Whether the inputs are as they were when the record was written. May throw FileError.
  std::function<bool(const Sources& sources, std::int64_t record_ns)> is_as_read;
};

// The record of the same run, written by this version with the same options, from inputs and an
// aggregate that have not changed since. Returns nullopt if the run must be recomputed. Throws
// FileError.
std::optional<StoredRecord> previous_record(const StoredRun& run, const StoredAggregate& aggregate,
                                            const PreviousQuestion& question);

}  // namespace aggregate_power
