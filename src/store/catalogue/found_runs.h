// What a walk found, by the runs' names, kept on disk.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/catalogue/external_sort.h"
#include "store/catalogue/pieces.h"
#include "store/catalogue/store_path.h"

namespace aggregate_power {

// A run with an aggregate, to be worked on later.
struct KeptRun {
  StoredRun run;               // without places
  std::string aggregate_text;  // store_path_text()
};

// Everything that was found under one name.
struct MetName {
  std::string name;
  std::shared_ptr<const Namesakes> namesakes;
  std::vector<KeptRun> waiting;
  std::vector<KeptRun> found;
  bool is_listed = false;
  bool is_run = false;
  bool is_artifact = false;       // of runs with other names
  std::optional<StoredRun> bare;  // complete except for an aggregate, and none was found anywhere
};

// May be used by several threads. These throw Error if the files cannot be used.
class MetRuns {
 public:
  // A name on the list of runs.
  void add_listed(const std::string& name);
  // A run with an aggregate. Pieces and aggregates are found in any order, so all are noted.
  void add_run(const StoredRun& run);
  // A folder that could contain a run's aggregate, but does not.
  void add_bare(const StoredRun& run);
  void add_piece(PieceKind kind, const std::string& name, const StorePath& place);
  // A run that lacks pieces near it, and waits until all stores have been searched.
  void keep_waiting(const StoredRun& run);
  // A run to be worked on if its name is on the list.
  void keep_found(const StoredRun& run);

  // Passes name by name, in an order that depends only on what was found. Nothing is added after
  // this.
  void for_each_name(const std::function<void(MetName)>& take);

 private:
  // `kind`: of an entry.
  void add(std::uint8_t kind, std::string_view name, std::string_view text);

  std::mutex mutex_;
  ExternalSort entries_;
};

// ---- Selects the runs in the stores that a backfill works on.

struct Selection {
  std::uint64_t shard = 0;
  std::uint64_t shards = 1;
  std::string only;  // a glob that the runs' names must match; empty: all

  // Whether the runs of an artifact are in this shard. Runs of one recorder stay together, because
  // they are each other's witnesses.
  bool has_artifact(const std::string& artifact) const;
  // Whether this run of the artifact is selected.
  bool has_run(const std::string& name, const std::string& artifact) const;
};

// ---- The list of the runs that are wanted.

// A line is the path of an aggregate if it has a slash or ends in ".json", else the name of a run.
// It ends at a tab, so that the output of `backfill --list` can be used as a list. Blank lines are
// skipped. Kept on disk.
class RunList {
 public:
  // Reads a file, or standard input for "-", and passes each name to `take_name`; `stores` must
  // outlive this object. Throws FileError, and Error for a line that is too long for a path.
  RunList(const std::string& file, const std::vector<StorePath>& stores,
          const std::function<void(const std::string&)>& take_name);

  bool has_names() const { return has_names_; }

  // Passes each path once, in the form of StorePath::display, with its store; a path that is in no
  // store is passed as written, with nullptr. To be called exactly once.
  void for_each_path(const std::function<void(const std::string&, const StorePath* store)>& take);

 private:
  void add_path(const std::string& line);

  const std::vector<StorePath>& stores_;
  bool has_names_ = false;
  ExternalSort paths_;
};

// The part of `path` below a store: "bmk_x/agg_x.json". Both may be absolute or relative to the
// current folder. Returns nullopt if the path is not in the store.
std::optional<std::string> route_below(const StorePath& store, const std::string& path);

}  // namespace aggregate_power
