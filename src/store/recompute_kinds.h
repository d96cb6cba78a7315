// The two kinds of stored runs, each recomputed in its way, and what they have in common.
#pragma once

#include "results/past_record.h"
#include "store/recompute.h"
#include "store/stored_aggregate.h"

namespace aggregate_power {

// With what a run is recomputed, besides its pieces.
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

// What keeps us from patching an aggregate. Throws JsonError.
std::optional<Ending> unusable(const StoredRun& run, const StoredAggregate& aggregate);

// A run that is up to date.
Recomputed unchanged(Recomputed run, const PastRecord& record, const StoredAggregate& aggregate);

// Notes outcome and metrics of a run that has its reasons, and plans to write `result`, which knows
// its options and inputs. `others` as in plan_of().
Recomputed planned(Recomputed run, Result result, const InputFile& others,
                   const RecomputeContext& context);

}  // namespace aggregate_power
