// What `verify` checks of one run, and the run computed again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/text/json_patch.h"
#include "base/text/json_value.h"
#include "store/catalogue/multinode_logs.h"
#include "store/catalogue/run_record.h"
#include "store/catalogue/store_path.h"
#include "verify/run/verify_runs.h"

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

// ---- Compares two audit records of one run, value by value.

struct RecordDifference {
  std::string key;  // "metrics.avg_power_w", "nodes[0].hostname"
  std::string expected;
  std::string found;
  // The record states a number, or yes or no, that is another now or is no longer there; not only a
  // text, or what a record did not state yet.
  bool is_of_number = false;
  bool is_missing = false;  // in the record
};

// Whether its net energy has no bounds: somebody deleted them, or a development build of before
// they were recorded wrote it, whose version does not differ.
bool lacks_idle_bounds(const JsonValue& record);
inline constexpr const char* kNoIdleBounds =
    "its net energy has no bounds: a build of before they were recorded wrote it, or somebody deleted them; compute the run again";

// A null pointer stands for a value that is not there. Numbers are compared by value.
std::vector<RecordDifference> compare_values(const JsonValue* expected, const JsonValue* found,
                                             const std::string& key);

// All but what depends on where the files are, who asked, and which version answers.
std::vector<RecordDifference> compare_records(const JsonValue& expected, const JsonValue& found);

}  // namespace aggregate_power
