// When other results next to a result were written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "loads/load_files.h"

namespace aggregate_power::runs {

// The stamps of the ends of benchmarks in other results of the generator, in the folder of the
// result `path`. At most 200 files of at most 16 MiB are looked at; what cannot be read has none.
std::vector<WallStamp> end_stamps_beside(const std::string& path, std::string_view generator);

}  // namespace aggregate_power::runs
