// What was met in a store, by the run's name, kept on disk: a store may hold millions of runs.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "store/list_file.h"

namespace aggregate_power {

struct IndexEntry {
  std::uint8_t kind = 0;  // the caller's
  std::string name;
  std::string text;
};

// May be used by several threads.
class DiskIndex {
 public:
  // These throw Error when the files cannot be had.
  DiskIndex();
  void add(const IndexEntry& entry);

  // Gives all entries of a name together, name by name, in an order that depends on the entries
  // alone. Memory: those of one of the files, a 64th of all. No more is added meanwhile.
  using Take = std::function<void(const std::string& name, const std::vector<IndexEntry>& entries)>;
  void for_each_name(const Take& take);

 private:
  std::mutex mutex_;
  std::array<std::optional<ListFile>, 64> files_;  // by the name's hash; made when they are needed
};

}  // namespace aggregate_power
