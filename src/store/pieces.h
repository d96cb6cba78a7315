// The pieces of a stored run: those near it, its telemetry and its benchmark result, and all that
// its layout says it consists of.
#pragma once

#include <optional>
#include <vector>

#include "store/run_pieces.h"
#include "store/stored_run.h"

namespace aggregate_power {

// The nearest files that can be this piece of a run of a benchmark: in its own folder, else in the
// sibling gpu_metrics_NAME, else in the sibling power_audit_NAME, else in archives of these names,
// else in the folder above. A plain file goes before a compressed one of its name. Throws FileError
// when an archive there cannot be read.
struct FoundPieces {
  std::vector<StorePath> pieces;
  bool is_own = true;  // not just somewhere above
};
FoundPieces pieces_near(const StoredRun& run, PieceKind kind);

// The same of a run of agents: anywhere in its results, the records of a profile being its
// benchmark result. Telemetry that is not there is looked for as that of others.
FoundPieces agents_pieces_near(const StoredRun& run, PieceKind kind);

// Where the results of an agentic run are, unpacked where they lie in an archive: agentic_NAME
// around its aggregate, in the folder of that, or beside it. Throws FileError.
std::optional<StorePath> agentic_results(const StoredRun& run);

// What counts beside the records of an AIPerf profile; nothing where it is not there.
struct ProfileFiles {
  std::optional<StorePath> summary;
  std::optional<StorePath> captured_zone;  // in the result folder
};
// Nothing at all: `place` is no such records.
std::optional<ProfileFiles> profile_files(const StorePath& place);

// What runs consist of, as LayoutRow::find_pieces() says.
// Of a run of agents: on several nodes if it has left their logs, else on one.
std::optional<RunPieces> pieces_of_agents(const StoredRun& run, const Namesakes* namesakes);
// Of a run on several nodes.
std::optional<RunPieces> pieces_of_package(const StoredRun& run, const Namesakes* namesakes);
// Of any other run: on one node if it has telemetry of its own, else on several if it has left
// their logs.
std::optional<RunPieces> pieces_of_nodes(const StoredRun& run, const Namesakes* namesakes);

}  // namespace aggregate_power
