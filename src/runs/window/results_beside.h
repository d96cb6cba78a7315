// Other results next to a result: when they were written, and when their loads ran.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files/tree.h"
#include "core/load/load_files.h"

namespace aggregate_power::runs {

// What a run has besides its result and its recording, by its name: aggregates, audit records, and
// files next to a recording.
bool is_of_run(std::string_view name);

// The stamps of the ends of benchmarks in other results of the generator, in the folder of the
// result `path`. At most 200 files of at most 16 MiB are looked at; what cannot be read has none.
std::vector<WallStamp> end_stamps_beside(const std::string& path, std::string_view generator);

// A result in a folder or an archive, with the recording that it was measured by.
struct MeasuredResult {
  const Tree& tree;
  std::string path;
  std::string telemetry;  // its path
};
// For people: other results in the folder that state their windows, whose loads ran at the same
// time as `load`, and which no recording of their own is named after. Of a result under two names
// each has an aggregate. None in a folder with more than 64 results, or if the recording is named
// after the result.
std::vector<std::string> shared_energy_doubts(const MeasuredResult& measured,
                                              const LoadReading& load);

}  // namespace aggregate_power::runs
