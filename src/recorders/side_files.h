// The files beside a recording that matter.
#pragma once

#include <string>
#include <vector>

#include "base/files/file.h"
#include "base/files/path.h"

namespace aggregate_power {

// A file that may be beside a recording, and its purpose. The second zone file counts only if the
// first is missing.
struct SideFile {
  const char* role;
  const char* end;  // after the recording's stem
  const char* name;
  FileKind kind;
};
inline constexpr SideFile kSideFiles[] = {
    {"timezone_file", "_context.json", "", kContextFile},
    {"timezone_offset_file", "", "agentic_power_timezone_offset.txt", kContextFile},
    {"energy_start", "_energy_start.csv", "", kEnergySnapshotFile},
    {"energy_end", "_energy_end.csv", "", kEnergySnapshotFile},
};

// The file's name beside the recording at `path`.
inline std::string side_name(const SideFile& side, const std::string& path) {
  return *side.end != '\0' ? plain_stem(path) + side.end : side.name;
}

// The recording at `path`, and every file that may be beside it.
inline std::vector<std::string> with_side_files(const std::string& path) {
  std::vector<std::string> files = {path};
  for (const SideFile& side : kSideFiles) files.push_back(beside(path, side_name(side, path)));
  return files;
}

}  // namespace aggregate_power
