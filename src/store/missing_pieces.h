// What a stored run lacks, so that it cannot be recomputed.
#pragma once

#include "aggregate_power/reason.h"
#include "store/recompute_options.h"
#include "store/run_pieces.h"
#include "store/stored_run.h"

namespace aggregate_power {

// Empty: nothing. May throw FileError.
Reasons missing_pieces(const StoredRun& run, const OneNodePieces& pieces,
                       const RecomputeOptions& options);
Reasons missing_pieces(const StoredRun& run, const PackagePieces& pieces,
                       const RecomputeOptions& options);

}  // namespace aggregate_power
