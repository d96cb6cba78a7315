// The load of a stored run: its benchmark result, or the profile of its agents.
#pragma once

#include <optional>

#include "loads/load_files.h"
#include "runs/failed_requests.h"
#include "store/pair_inputs.h"
#include "store/recompute.h"

namespace aggregate_power {

struct StoredLoad {
  LoadReading reading;
  std::optional<FailedRequestsRequest> failed_requests = {};  // for a profile
};

// `place` is a benchmark result, or the records of an AIPerf profile. Throws FileError.
StoredLoad read_stored_load(const StorePath& place, const RecomputeOptions& options,
                            PairInputs& inputs);

}  // namespace aggregate_power
