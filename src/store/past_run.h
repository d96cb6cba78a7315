// Whether a stored run was recomputed before, and what came of it.
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

// What would be done now. The paths are below the store.
struct PastRunQuestion {
  Origin wanted;  // the options
  std::string telemetry;
  std::string benchmark;
  // Whether the inputs are what they were when the record was written. May throw FileError.
  std::function<bool(const Origin& origin, std::int64_t record_ns)> is_as_read;
};

// The record of the same run, done by this version with the same options, of inputs and an
// aggregate that did not change since. Nothing: it has to be done. Throws FileError.
std::optional<PastRecord> past_run(const StoredRun& run, const StoredAggregate& aggregate,
                                   const PastRunQuestion& question);

}  // namespace aggregate_power
