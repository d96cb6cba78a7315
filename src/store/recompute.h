// Recomputes one finished run of a store: from its pieces to what is to be written, or to why
// nothing is.
#pragma once

#include <optional>

#include "energy/zone_witnesses.h"
#include "store/recompute_options.h"
#include "store/recomputed.h"
#include "store/run_pieces.h"
#include "store/stored_run.h"

namespace aggregate_power {

// Why a run cannot be recomputed, whatever its pieces: it has no aggregate, or the aggregate is in
// an archive and there is no other folder for results. Returns nullopt if it can.
std::optional<Recomputed> refused(const StoredRun& run, const RecomputeOptions& options);

// Recomputes a run that is not refused. It is not recomputable if it has no pieces of some kind. If
// there are several, the ones that fit each other are taken, provided that only these do. Never
// throws because of the run. `witnesses` are those of the zone besides the recording; without them,
// a run whose zone nothing states has no outcome yet.
Recomputed recompute(const StoredRun& run, const RunPieces& pieces, const RecomputeOptions& options,
                     const OtherWitnesses* witnesses = nullptr);

}  // namespace aggregate_power
