// A benchmark as AIPerf exports it: when it ran, and what became of each request; contract.md D.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/load.h"
#include "generators/aiperf_zone.h"
#include "core/load/load_files.h"

namespace aggregate_power {

// `summary` is profile_export_aiperf.json. The window is that of the whole profile, the counts are
// those of the requests that succeeded. `stated` is the zone that something besides the requests
// states. Faults are reasons, except what the sources throw.
LoadReading read_profile(const NamedSource& summary, const NamedSource& records,
                         const ProfileZone& stated);

// The row in the table of load generators: profile_export.jsonl identifies the load, and these are
// the roles of its other files. The second one is opened first.
inline constexpr std::string_view kProfileSummaryRole = "profile_summary";
inline constexpr std::string_view kProfileZoneRole = "profile_timezone_offset";
std::vector<LoadReading> read_profile_files(const LoadFiles& files);

// The raw benchmark result for such a window: contract.md B.2's six fields.
std::string benchmark_text(const Load& load);

}  // namespace aggregate_power
