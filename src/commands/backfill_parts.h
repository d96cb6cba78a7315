// The parts of `backfill`: its summary, the manifest of a sweep, and which runs are this process's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/files/file.h"
#include "commands/options/options.h"
#include "store/backfill/tally.h"

namespace aggregate_power {

// ---- The summary of a backfill: how many runs had each outcome, and the reasons with the first
// names of the runs that have them.

// As a table for people, in lines of at most 80 columns except longer words.
std::string summary_text(const BackfillCounts& counts, bool dry_run);

// The same as one JSON object.
std::string summary_json(const BackfillCounts& counts, bool dry_run);

// ---- aggregate-power backfill --sweep-manifest: writes the manifest of a sweep instead

struct SweepManifestRequest {
  std::string out;          // empty: no manifest is wanted
  std::string description;  // of the sweep
  std::shared_ptr<StreamedFile> file = {};
};

void add_sweep_manifest_options(Options& options, SweepManifestRequest& request);
// Creates the file. Throws Error if it must not be written, or something else is asked for that
// would then have no effect.
void settle_sweep_manifest(const Options& options, SweepManifestRequest& request,
                           const std::vector<std::string>& stores);
// Returns the exit status: 0 written, 1 not, with the reasons on stderr. Nothing else is changed.
int write_sweep_manifest(const SweepManifestRequest& request, const std::string& store,
                         unsigned jobs);

// ---- Which part of a store's runs this process works on, by an option or by its scheduler.

// Part `index`, counted from 0, of `count`.
struct Shard {
  std::uint64_t index = 0;
  std::uint64_t count = 1;
  bool operator==(const Shard&) const = default;
};

// Works like getenv().
using Variables = std::function<const char*(const char* name)>;

// Parses "I/N", or "auto": the variables of Slurm arrays, indexed Kubernetes jobs, AWS Batch
// arrays, Google Batch, Cloud Run jobs or Open MPI decide. An empty variable counts as not set.
// Throws Error, also if the variables are missing, incomplete or contradictory.
Shard shard_of(const std::string& text, const Variables& variables);

}  // namespace aggregate_power
