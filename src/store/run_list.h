// A list of runs from outside, so that nobody has to look through a store for them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "store/disk_index.h"
#include "store/store_path.h"

namespace aggregate_power {

// A line is the path of an aggregate if it has a slash or ends in ".json", else the name of a run.
// It ends before a tab, so that what `backfill --list` prints can be given back. Blank ones are
// passed over. Kept on disk.
class RunList {
 public:
  // Reads a file, or standard input for "-", and gives each name; `stores` must live on. Throws
  // FileError, and Error for a line that is too long for a path.
  RunList(const std::string& file, const std::vector<StorePath>& stores,
          const std::function<void(const std::string&)>& take_name);

  bool has_names() const { return has_names_; }

  // Gives each path once, as StorePath::display would be of it, with its store; as it was written, with
  // nothing, when it is not below any store. To be called once.
  void for_each_path(const std::function<void(const std::string&, const StorePath* store)>& take);

 private:
  void add_path(const std::string& line);

  const std::vector<StorePath>& stores_;
  bool has_names_ = false;
  DiskIndex paths_;
};

// What is left of `path` below a store: "bmk_x/agg_x.json". Both may be relative to the current
// folder or absolute. Nothing when it does not lie below the store.
std::optional<std::string> route_below(const StorePath& store, const std::string& path);

}  // namespace aggregate_power
