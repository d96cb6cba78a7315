// What `verify` checks of one run, and the run computed again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/text/json_patch.h"
#include "base/text/json_value.h"
#include "verify/run/verification.h"
#include "store/catalogue/run_record.h"
#include "store/catalogue/multinode_logs.h"
#include "store/catalogue/store_path.h"

namespace aggregate_power {

// ---- Recomputes a run from the files that its audit record names

struct RecomputedRun {
  std::string fault = {};                         // why it could not be done; empty: it was
  JsonValue record = {};                          // as it would be written now
  std::vector<JsonEdit> edits = {};               // of the aggregate
  std::optional<std::string> request_lines = {};  // of its file of requests, if it has one
};

// Runs the code of the command that wrote the record, with the options that the record states, and
// writes nothing. May throw FileError and Error.
RecomputedRun recompute_run(const RunRecord& record, const StorePath& aggregate);

// The stored package of a record; nullopt: its run has no package, or it is gone.
struct RecordedPackage {
  MultinodeLogs logs;
  StorePath benchmark;
};
std::optional<RecordedPackage> recorded_package(const RunRecord& record);

// ---- Whether the aggregate and the audit record of a run still say what its files give

// The words for what no longer holds: PublicationFault::verdict.
inline constexpr const char* kChanged = "changed";    // a file that the run was computed from
inline constexpr const char* kMissing = "missing";    // such a file, or the record of an aggregate
inline constexpr const char* kTampered = "tampered";  // an aggregate or a record
inline constexpr const char* kNotReproducible = "not reproducible by this version";

// Compares the hash of each input, computes the run again, and compares every value of the audit
// record, and every member of the aggregate that is ours. `artifacts`: where else the files may be;
// empty: nowhere. Never throws because of the files.
struct RunVerification {
  Verification found;
  std::optional<StorePath> aggregate;  // the run's, if it was found
};
RunVerification verify_run(const StorePath& record, const std::string& artifacts);

}  // namespace aggregate_power
