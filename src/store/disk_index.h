// A multimap on disk from run names to what was found under them: a store may hold millions of
// runs.
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
  std::uint8_t kind = 0;  // the meaning is the caller's
  std::string name;
  std::string text;
};

// May be used by several threads.
class DiskIndex {
 public:
  // These throw Error if the files cannot be used.
  DiskIndex();
  void add(const IndexEntry& entry);

  // Passes all entries of a name together, name by name, in an order that depends only on the
  // entries. Memory: the entries of one of the files, a 64th of all. Nothing is added after this.
  using Take = std::function<void(const std::string& name, const std::vector<IndexEntry>& entries)>;
  void for_each_name(const Take& take);

 private:
  std::mutex mutex_;
  std::array<std::optional<ListFile>, 64> files_;  // by the name's hash; created when needed
};

}  // namespace aggregate_power
