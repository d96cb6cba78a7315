// aggregate-power backfill --sweep-manifest: writes the manifest of a sweep instead.
#pragma once

#include <string>
#include <vector>

#include "commands/options.h"

namespace aggregate_power {

struct SweepManifestRequest {
  std::string out;          // empty: no manifest is wanted
  std::string description;  // of the sweep
};

void add_sweep_manifest_options(Options& options, SweepManifestRequest& request);
// Throws Error if something else is asked for that would then have no effect.
void settle_sweep_manifest(const Options& options, const SweepManifestRequest& request,
                           const std::vector<std::string>& stores);
// Returns the exit status: 0 written, 1 not, with the reasons on stderr. Nothing else is changed.
int write_sweep_manifest(const SweepManifestRequest& request, const std::string& store,
                         unsigned jobs);

}  // namespace aggregate_power
