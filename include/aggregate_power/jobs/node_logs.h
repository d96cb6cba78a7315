// What a run of several nodes leaves: the package of its recorder, the results of its agents.
#pragma once

#include <optional>
#include <vector>

#include "aggregate_power/jobs/store.h"

namespace aggregate_power {

// The package of a run of several nodes: LOGS/power in its own folder, or in the artifact
// power_audit_R (of agents also agentic_R), which may be an archive. Nothing when there is none.
// Throws FileError when an archive there cannot be read.
struct PackageFolders {
  Place power;
  Place logs;
};
std::optional<PackageFolders> find_package(const StoredRun& run);

// LOGS of a run of agents on several nodes, where LOGS/agentic is; preferably one with a package.
// Nothing: it ran on one. Throws FileError.
std::optional<Place> agentic_logs(const StoredRun& run);

// The results of a load of agents. In conc_N where the run is a load of that concurrency, else in
// LOGS/agentic itself. The only one there must be of that load.
std::vector<Place> formal_results_of(const StoredRun& run, const Place& logs);

}  // namespace aggregate_power
