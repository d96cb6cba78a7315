// Recomputes a run from the files that its audit record names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/text/json_patch.h"
#include "base/text/json_value.h"
#include "store/catalogue/run_record.h"
#include "store/multinode_logs.h"

namespace aggregate_power {

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

}  // namespace aggregate_power
