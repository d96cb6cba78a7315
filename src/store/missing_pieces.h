// The missing pieces without which a stored run cannot be recomputed.
#pragma once

#include "aggregate_power/reason.h"
#include "store/recompute.h"
#include "store/run_pieces.h"
#include "store/stored_run.h"

namespace aggregate_power {

// Empty: nothing is missing. May throw FileError.
Reasons missing_pieces(const StoredRun& run, const OneNodePieces& pieces,
                       const RecomputeOptions& options);
Reasons missing_pieces(const StoredRun& run, const PackagePieces& pieces,
                       const RecomputeOptions& options);

}  // namespace aggregate_power
