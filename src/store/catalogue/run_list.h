// A list of runs from outside, so that no store has to be searched for them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "store/catalogue/external_sort.h"
#include "store/catalogue/store_path.h"

namespace aggregate_power {

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
