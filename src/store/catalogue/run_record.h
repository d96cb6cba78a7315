// The audit record of one run, and the files that it names.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/files/tree.h"
#include "core/record/record_read.h"
#include "store/catalogue/store_path.h"

namespace aggregate_power {

// A place on disk, from its path; names are shown relative to the current folder where they are
// below it. An archive on the way counts as a folder. Nullopt: there is nothing. May throw
// FileError.
std::optional<StorePath> place_on_disk(const std::string& path,
                                       std::shared_ptr<const Tree> tree = disk_tree());
// The same for a place whose surroundings are a store: a folder or an archive is a store itself,
// and the store of any other file is the folder in the current one that leads to it ("a" of
// "a/b/c.json"), or its own folder if it is elsewhere. What the place leads to is looked for in
// that store alone, and where `access` allows it.
std::optional<StorePath> place_in_store(const std::string& path, const StoreAccess& access);
// The store of what is named: a folder or an archive itself; for a file, the folder of its run.
std::string root_of_store(const std::string& path);

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
  // Returns nullopt if there is none in the store. A name of more than 4096 bytes or 50 folders is
  // no name of a file. May throw FileError.
  std::optional<StorePath> find(const std::string& name, const std::string& hash = {}) const;
  // What is at a path that is absolute or relative to the current folder, in the record's store.
  std::optional<StorePath> find_on_disk(const std::string& path) const;
  // Of a name that find() does not find: "leads out of STORE, to TARGET ..." if it does; else
  // empty.
  std::string way_out(const std::string& name) const;
  // Its aggregate: the one that it names or, where that is not there, the one next to it with its
  // own name (agg_X.json of power_validation_X.json), unless that has other numbers.
  std::optional<StorePath> find_aggregate() const;
  // Of an aggregate that is not found: its name, and how it leads out of the store; nullopt: it
  // does not.
  struct WayOut {
    std::string name;
    std::string text;
  };
  std::optional<WayOut> aggregate_way_out() const;
};

// Returns nullopt if it is another JSON object. Throws Error and FileError for anything else.
std::optional<RunRecord> read_run_record(const StorePath& place);
// Returns nullopt for anything else, too.
std::optional<RunRecord> run_record_in(const StorePath& place);

}  // namespace aggregate_power
