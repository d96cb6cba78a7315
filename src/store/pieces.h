// What lies near a run: its telemetry, its benchmark result.
#pragma once

#include <optional>
#include <vector>

#include "store/store.h"

namespace aggregate_power {

// The nearest files that can be this piece of a run on one node. Of an agentic run: anywhere in its
// results, the records of a profile standing for its benchmark result. Of others: in its own
// folder, else in the sibling gpu_metrics_NAME, else in the sibling power_audit_NAME, else in
// archives of these names, else in the folder above. A plain file goes before a compressed one of
// its name. Throws FileError when an archive there cannot be read.
struct FoundPieces {
  std::vector<StorePath> pieces;
  bool is_own = true;  // not just somewhere above
};
FoundPieces pieces_near(const StoredRun& run, PieceKind kind);

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

}  // namespace aggregate_power
