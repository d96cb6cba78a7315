// Finds the pieces of a stored run: its telemetry and its benchmark result near it, and everything
// that its layout prescribes.
#pragma once

#include <optional>
#include <vector>

#include "store/catalogue/run_pieces.h"
#include "store/catalogue/stored_run.h"

namespace aggregate_power {

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
