// What a run of several nodes leaves: the package of its recorder, the results of its agents.
#pragma once

#include <optional>
#include <vector>

#include "store/stored_run.h"

namespace aggregate_power {

// LOGS of such a run, or of a load of it.
struct MultinodeLogs {
  StorePath logs;
  std::optional<StorePath> power;    // LOGS/power, the package
  std::optional<StorePath> agentic;  // LOGS/agentic, where it is a run of agents
  // Of agents: the formal results that are in LOGS/agentic/conc_N where the run is the load of that
  // concurrency, else those in LOGS/agentic itself. A single one is of that load.
  std::vector<StorePath> formal_results;
};

// Those that a run of a benchmark has: LOGS in its own folder, else in its artifacts power_audit_R,
// which may be archives, in that folder or beside it. None: it ran on one node, or nothing is left
// of them. Of several the most complete, more than one only where each of these has all it takes.
// Throws FileError when an archive cannot be read, unless others have all it takes.
std::vector<MultinodeLogs> find_multinode_logs(const StoredRun& run);

// The same of a run of agents, also in its artifacts agentic_R. With such an artifact that has no
// LOGS it ran on one node, and other artifacts are not looked into; but for a load R_concN, which
// several nodes leave.
std::vector<MultinodeLogs> find_agents_logs(const StoredRun& run);

}  // namespace aggregate_power
