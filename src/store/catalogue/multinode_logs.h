// The files that a run on several nodes leaves: its recorder's package, its agents' results.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/record_facts.h"
#include "packages/srt_slurm/windows.h"
#include "store/catalogue/store_path.h"

namespace aggregate_power {

// LOGS of such a run, or of one of its loads.
struct MultinodeLogs {
  StorePath logs = {};
  std::optional<StorePath> power = {};    // the package: LOGS/power, or LOGS/native_power
  bool is_native = false;                 // it is the latter, with a recording of each node
  bool has_both = false;                  // LOGS also has the other kind of package
  std::optional<StorePath> agentic = {};  // LOGS/agentic, for a run of agents
  // For agents: the formal results in LOGS/agentic/conc_N if the run is the load of that
  // concurrency, else those in LOGS/agentic itself. If there is exactly one, it belongs to that
  // load.
  std::vector<StorePath> formal_results = {};
};

// The logs of a benchmark's run: LOGS in its own folder, else in its artifacts power_audit_R, which
// may be archives, in that folder or beside it. Empty: the run was on one node, or its logs are
// gone. If there are several, the most complete ones; more than one only if each of these is
// complete. Throws FileError if an archive cannot be read, unless others are complete.
std::vector<MultinodeLogs> find_multinode_logs(const StoredRun& run);

// The same for a run of agents, which may also be in its artifacts agentic_R. If there is such an
// artifact without LOGS, the run was on one node, and other artifacts are not searched; except for
// a load R_concN, which always has several nodes.
std::vector<MultinodeLogs> find_agents_logs(const StoredRun& run);

// ---- The files of a stored package: everything that a verdict on it depends on.

// In the package; names the producer that made it.
inline constexpr const char* kPinFile = "power-producer-sha.txt";

// Files by role.
using PackageFiles = std::vector<std::pair<std::string, StorePath>>;

// All of these require logs with a package.

PackagePlace package_place(const MultinodeLogs& package);

// Always in the same order. Throws FileError if a folder cannot be listed.
PackageFiles package_files(const MultinodeLogs& package, const StorePath& benchmark);

// Hashes of what no file contains: the names of everything in the windows folder, and the files
// outside the logs root that links lead to, which count as missing. May throw FileError.
std::array<InputFile, 2> package_listings(const MultinodeLogs& package, const PackageFiles& files);

// The profile of agents is only informative: its faults do not fail their run.
bool is_records_role(std::string_view role);

}  // namespace aggregate_power
