// What may stand beside a recording and counts.
#pragma once

#include <string>

#include "aggregate_power/base/path.h"

namespace aggregate_power {

// What may stand beside a recording, and what it is for. The second zone file counts only when the
// first says nothing.
struct SideFile {
  const char* role;
  const char* end;  // behind the recording's stem
  const char* name;
};
inline constexpr SideFile kSideFiles[] = {
    {"timezone_file", "_context.json", ""},
    {"timezone_offset_file", "", "agentic_power_timezone_offset.txt"},
    {"energy_start", "_energy_start.csv", ""},
    {"energy_end", "_energy_end.csv", ""},
};

// The file's name beside the recording at `path`.
inline std::string side_name(const SideFile& side, const std::string& path) {
  return *side.end != '\0' ? plain_stem(path) + side.end : side.name;
}

}  // namespace aggregate_power
