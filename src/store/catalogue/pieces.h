// Finds the pieces of a stored run: its telemetry and its benchmark result near it, and everything
// that its layout prescribes.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "store/catalogue/multinode_logs.h"
#include "store/catalogue/store_path.h"

namespace aggregate_power {

// The files that a stored run is computed from. Their type shows which kind of run it is.

// Everything with the same name in the whole store.
struct Namesakes {
  std::array<std::vector<std::string>, 2>
      pieces;  // by PieceKind: store_path_text(), a limited number
  std::size_t runs = 0;
};

// The files that can be one kind of piece of a run.
struct Candidates {
  std::vector<StorePath> places;
  // They are near the run, where its own would be; otherwise they only have its name.
  bool are_own = true;
  bool are_too_many = false;  // then some of them are missing here
  // No other run in the store, and no other piece of this kind, has its name.
  bool are_only_namesakes = false;
};
inline constexpr std::size_t kMostCandidates = 16;

// The pieces of a run on one node.
struct OneNodePieces {
  Candidates telemetry;
  Candidates loads;        // benchmark results; for a run of agents, the records of its profile
  bool of_agents = false;  // the load came from agents, not from a benchmark
};

// The pieces of a run on several nodes.
struct PackagePieces {
  // The most complete one; if there are several, any could be the run's. Empty: none was found.
  std::vector<MultinodeLogs> logs;
  Candidates results;      // of the benchmark; for a run of agents, the formal ones
  bool of_agents = false;  // the load came from agents, not from a benchmark

  // The first logs, which contain the package. Returns nullptr if there are none.
  const MultinodeLogs* package() const {
    return !logs.empty() && logs[0].power ? &logs[0] : nullptr;
  }
};

using RunPieces = std::variant<OneNodePieces, PackagePieces>;

// The nearest files that can be this piece of a benchmark's run: in its own folder, else in the
// sibling gpu_metrics_NAME, else in the sibling power_audit_NAME, else in archives with these
// names, else in the folder above. A plain file takes precedence over a compressed one with its
// name. Throws FileError if an archive there cannot be read.
struct FoundPieces {
  std::vector<StorePath> pieces;
  bool is_own = true;  // not merely somewhere above
};
FoundPieces pieces_near(const StoredRun& run, PieceKind kind);

// The same for a run of agents: anywhere in its results; the records of a profile are its benchmark
// result. If there is no telemetry, it is searched for as for other runs.
FoundPieces agents_pieces_near(const StoredRun& run, PieceKind kind);

// Where the results of an agentic run are, unpacked if they are in an archive: agentic_NAME around
// its aggregate, in the aggregate's folder, or beside it. Throws FileError.
std::optional<StorePath> agentic_results(const StoredRun& run);

// The files that count beside the records of an AIPerf profile; nullopt if missing.
struct ProfileFiles {
  std::optional<StorePath> summary;
  std::optional<StorePath> captured_zone;  // in the result folder
};
// Returns nullopt if `place` is not a records file.
std::optional<ProfileFiles> profile_files(const StorePath& place);

// The pieces of runs, as LayoutRow::find_pieces() describes.
// A run of agents: on several nodes if it has left their logs, else on one.
std::optional<RunPieces> pieces_of_agents(const StoredRun& run, const Namesakes* namesakes);
// A run on several nodes.
std::optional<RunPieces> pieces_of_package(const StoredRun& run, const Namesakes* namesakes);
// Any other run: on one node if it has its own telemetry, else on several if it has left their
// logs.
std::optional<RunPieces> pieces_of_nodes(const StoredRun& run, const Namesakes* namesakes);

}  // namespace aggregate_power
