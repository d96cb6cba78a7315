// Finds the aggregates and audit records below a folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/store_path.h"

namespace aggregate_power {

// "power_validation*.json"
bool is_run_record_name(std::string_view name);
// "agg_*.json"
bool is_aggregate_name(std::string_view name);

using IsWantedName = bool (*)(std::string_view name);

// The files with wanted names at most `levels` folders below `folder`, in the order of their paths.
// Links to folders are not followed. Throws FileError.
std::vector<StorePath> run_files(const StorePath& folder, int levels, IsWantedName is_wanted);

// What identifies a file, whatever leads to it.
std::string identity_of(const StorePath& place);

}  // namespace aggregate_power
