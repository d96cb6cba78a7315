// The audit record of one run, and the files that it names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/column_names.h"
#include "base/text/json_value.h"
#include "base/text/zone.h"
#include "store/store_path.h"

namespace aggregate_power {

// A place on disk, from its path; names are shown relative to the current folder where they are
// below it. An archive on the way counts as a folder. Nullopt: there is nothing. May throw
// FileError.
std::optional<StorePath> place_on_disk(const std::string& path);

struct RecordedInput {
  std::string name;  // a path as given, or in a store the file's role
  std::uint64_t bytes = 0;
  std::string hash;
};

struct RunRecord {
  StorePath place;
  JsonValue content;
  std::string artifacts = {};  // where else the files may be; empty: nowhere

  const JsonValue& from() const { return content.at("computed_from"); }
  bool is_of_store() const { return from().at("patched").is_object(); }
  bool is_valid() const { return content.at("power_valid").is_true(); }
  std::vector<RecordedInput> inputs() const;
  // As in the record; the telemetry of several nodes is a folder.
  std::string telemetry() const;
  std::string benchmark() const { return content.at("benchmark_result").text; }

  // The file or folder that the record calls `name`: relative to the folder of the record or, for
  // a run that is not in a store, to the current one; if it was moved, as much of its path as is
  // found in the folder of the record or in one around it. A file with `hash` takes precedence.
  // Nullopt: there is none. May throw FileError.
  std::optional<StorePath> find(const std::string& name, const std::string& hash = {}) const;
  // Its aggregate.
  std::optional<StorePath> find_aggregate() const;
};

// The zone in which the run's stamps without an offset were read; nullopt: the record does not say.
// `facts` are the record's computed_from, or the part of a host in it.
std::optional<Zone> recorded_zone(const JsonValue& facts);
// The names that were given to the columns of a recording without a header.
ColumnNames recorded_columns(const JsonValue& record);

// The options that the record says were given, each value as its spelling.
std::vector<std::pair<std::string, std::string>> recorded_options(const JsonValue& record);

// Whether a JSON object is an audit record.
bool is_run_record(const JsonValue& content);

}  // namespace aggregate_power
