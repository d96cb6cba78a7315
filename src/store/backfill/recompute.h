// Recomputes one finished run of a store: from its pieces to what is to be written, or to why
// nothing is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files/tree.h"
#include "energy/zones/zone_sources.h"
#include "core/record/record_read.h"
#include "runs/evaluate/run_options.h"
#include "store/backfill/recomputed.h"
#include "store/catalogue/run_pieces.h"
#include "store/catalogue/stored_run.h"

namespace aggregate_power {

struct StoredAggregate;

// Options for all runs in a store. Missing ones are taken from each run: the number of GPUs from
// its aggregate, the zone from evidence, the producer's commit from its package.
struct RecomputeOptions : RunSpec {
  std::string output;               // empty: results go where the aggregate is
  std::vector<std::string> stores;  // if there is an output, nothing is written here
  bool is_searched = true;          // search the whole store for pieces, not just near the run
  bool force = false;
  bool verify = false;
  bool republish = false;  // also what was retracted
  StoreAccess access = {};
};

// Why a run cannot be recomputed, whatever its pieces: it has no aggregate, or the aggregate is in
// an archive and there is no other folder for results. Returns nullopt if it can.
std::optional<Recomputed> refused(const StoredRun& run, const RecomputeOptions& options);

// Recomputes a run that is not refused. It is not recomputable if it has no pieces of some kind. If
// there are several, the ones that fit each other are taken, provided that only these do. Never
// throws because of the run. `witnesses` are those of the zone besides the recording; without them,
// a run whose zone nothing states has no outcome yet.
Recomputed recompute(const StoredRun& run, const RunPieces& pieces, const RecomputeOptions& options,
                     const OtherWitnesses* witnesses = nullptr);

// ---- The two kinds of stored runs, each recomputed in its own way, and what they share

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
Recomputed unchanged(Recomputed run, const StoredRecord& record, const StoredAggregate& aggregate);

// Notes outcome and metrics of a run whose reasons are known, and plans to write `result`, which
// knows its options and inputs. `others` as in plan_of().
Recomputed planned(Recomputed run, Result result, const InputFile& others,
                   const RecomputeContext& context);

}  // namespace aggregate_power
