// Finds whether a stored run was recomputed before, and with what result.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "aggregate_power/provenance.h"
#include "results/past_record.h"
#include "store/stored_aggregate.h"
#include "store/stored_run.h"

namespace aggregate_power {

// What would be done now. The paths are relative to the store.
struct PastRunQuestion {
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
std::optional<PastRecord> past_run(const StoredRun& run, const StoredAggregate& aggregate,
                                   const PastRunQuestion& question);

}  // namespace aggregate_power
