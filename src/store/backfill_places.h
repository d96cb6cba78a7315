// Where a backfill reads and writes, checked before it begins.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "store/store_path.h"

namespace aggregate_power {

// The stores to walk, each once. `output`: empty, or the folder for results, in which each store
// then has a folder of its own. Throws Error for a name that is neither a folder nor an archive,
// and for stores whose results would have one name.
std::vector<StorePath> stores_to_walk(const std::vector<std::string>& names,
                                      const std::string& output);

// What was written must not be found as if it had been there: throws Error when `output` is in one
// of the stores, or is not a folder.
void require_output_outside(const std::string& output, const std::vector<StorePath>& stores);

// As many as the system lets us have, up to what is enough: the walk holds a folder open at each
// level, a batch three files for each run. Says how many that is; nothing: not known.
std::optional<std::size_t> allow_many_open_files();

}  // namespace aggregate_power
