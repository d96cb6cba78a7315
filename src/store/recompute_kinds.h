// The two kinds of stored runs, each recomputed in its own way, and what they share.
#pragma once

#include "energy/zone_witnesses.h"
#include "results/past_record.h"
#include "store/recompute_options.h"
#include "store/recomputed.h"
#include "store/run_pieces.h"
#include "store/stored_aggregate.h"

namespace aggregate_power {

// Everything besides its pieces that a run is recomputed with.
struct RecomputeContext {
  const StoredAggregate& aggregate;
  const RecomputeOptions& options;
  const OtherWitnesses* witnesses = nullptr;
};

// `begun` knows its run and the first of its pieces; none is missing. These throw JsonError for an
// aggregate that is not JSON, FileError or Error for other files.
Recomputed recompute_kind(Recomputed begun, const OneNodePieces& pieces,
                          const RecomputeContext& context);
Recomputed recompute_kind(Recomputed begun, const PackagePieces& pieces,
                          const RecomputeContext& context);

// Why a run ends without a result.
struct Ending {
  Outcome outcome = Outcome::failed;
  Reason reason;
  std::string detail;
};
Recomputed ended(Recomputed run, Ending ending);

// Why an aggregate cannot be patched. Throws JsonError.
std::optional<Ending> unusable(const StoredRun& run, const StoredAggregate& aggregate);

// A run that is up to date.
Recomputed unchanged(Recomputed run, const PastRecord& record, const StoredAggregate& aggregate);

// Notes outcome and metrics of a run whose reasons are known, and plans to write `result`, which
// knows its options and inputs. `others` as in plan_of().
Recomputed planned(Recomputed run, Result result, const InputFile& others,
                   const RecomputeContext& context);

}  // namespace aggregate_power
