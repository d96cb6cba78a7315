// Where a backfill reads and writes, checked before it starts.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/files/tree.h"
#include "store/catalogue/store_path.h"

namespace aggregate_power {

struct NamedStore {
  std::string named;
  std::string real;  // the path it leads to
};

// The stores in their order, without second names of a store and without stores that the walk of an
// outer one reaches. Throws FileError for a missing one.
std::vector<NamedStore> distinct_stores(const std::vector<std::string>& names);

// The stores to walk, without duplicates. `output`: empty, or the folder for results, in which each
// store then has its own folder. Throws Error for a name that is neither a folder nor an archive,
// and for stores whose results would have the same name.
std::vector<StorePath> stores_to_walk(const std::vector<std::string>& names,
                                      const std::string& output, const StoreAccess& access);

// The walk must not find what the backfill writes: throws Error if `output` is in one of the
// stores, or is not a folder.
void require_output_outside(const std::string& output, const std::vector<StorePath>& stores);

// Raises the limit of open files as far as the system allows and the work needs: the walk holds one
// folder open per level, a batch three files per run. Returns the limit; nullopt: unknown.
std::optional<std::size_t> allow_many_open_files();

}  // namespace aggregate_power
