// The audit record of one run, and the files that it names.
#pragma once

#include <optional>
#include <string>

#include "results/record_read.h"
#include "store/store_path.h"

namespace aggregate_power {

// A place on disk, from its path; names are shown relative to the current folder where they are
// below it. An archive on the way counts as a folder. Nullopt: there is nothing. May throw
// FileError.
std::optional<StorePath> place_on_disk(const std::string& path);

struct RunRecord {
  StorePath place;
  JsonValue content;
  std::string artifacts = {};  // where else the files may be; empty: nowhere

  const JsonValue& from() const { return recorded_origin(content); }
  bool is_of_store() const { return recorded_patch(content).has_value(); }
  bool is_valid() const { return is_power_valid(content); }
  const std::string& telemetry() const { return recorded_telemetry(content); }
  const std::string& benchmark() const { return content.at("benchmark_result").text; }

  // The file or folder that the record calls `name`: relative to the folder of the record or, for
  // a run that is not in a store, to the current one; if it was moved, as much of its path as is
  // found in the folder of the record or in one around it. A file with `hash` takes precedence.
  // Nullopt: there is none. May throw FileError.
  std::optional<StorePath> find(const std::string& name, const std::string& hash = {}) const;
  // Its aggregate.
  std::optional<StorePath> find_aggregate() const;
};

// Returns nullopt if it is another JSON object. Throws Error and FileError for anything else.
std::optional<RunRecord> read_run_record(const StorePath& place);

}  // namespace aggregate_power
