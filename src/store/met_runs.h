// What a walk met, by the runs' names, kept on disk.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/disk_index.h"
#include "store/run_pieces.h"
#include "store/stored_run.h"

namespace aggregate_power {

// A run with an aggregate, to be worked on later.
struct KeptRun {
  StoredRun run;               // without places
  std::string aggregate_text;  // store_path_text()
};

// All that was met under one name.
struct MetName {
  std::string name;
  std::shared_ptr<const Namesakes> namesakes;
  std::vector<KeptRun> waiting;
  std::vector<KeptRun> found;
  bool is_listed = false;
  bool is_run = false;
  bool is_artifact = false;       // of runs of other names
  std::optional<StoredRun> bare;  // there is all of a run but an aggregate, without one anywhere
};

// May be used by several threads. These throw Error when the files cannot be had.
class MetRuns {
 public:
  // A name on the list of runs.
  void add_listed(const std::string& name);
  // A run with an aggregate. Pieces and aggregates are met in any order, so all are noted.
  void add_run(const StoredRun& run);
  // A folder that could hold a run's aggregate, and does not.
  void add_bare(const StoredRun& run);
  void add_piece(PieceKind kind, const std::string& name, const StorePath& place);
  // A run that has not all pieces near it, and waits until all of the stores was seen.
  void keep_waiting(const StoredRun& run);
  // A run that is worked on if its name is on the list.
  void keep_found(const StoredRun& run);

  // Name by name, in an order that depends on what was met alone. No more is added meanwhile.
  void for_each_name(const std::function<void(MetName)>& take);

 private:
  DiskIndex index_;
};

}  // namespace aggregate_power
