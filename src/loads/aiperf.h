// A benchmark as AIPerf exports it: when it ran, and what became of each request; contract.md D.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/reason.h"
#include "base/text/zone.h"
#include "loads/aiperf_records.h"
#include "loads/load_files.h"

namespace aggregate_power {

// The zone of times without an offset; without a zone, the fault says why there is none.
struct ProfileZone {
  std::optional<Zone> zone;
  Reasons fault;
};

// Parses "+0900", "-08:00": what `date +%z` wrote when the run began. Returns nullopt for any other
// text.
std::optional<Zone> captured_zone(std::string_view text);

// `summary` is profile_export_aiperf.json. The window is that of the whole profile, the counts are
// those of the requests that succeeded. Faults are reasons, except what the sources throw.
LoadReading read_profile(const NamedSource& summary, const NamedSource& records,
                         const ProfileZone& zone);

// The row in the table of load generators: profile_export.jsonl identifies the load, and these are
// the roles of its other files. The second one is opened first, unless the user named a zone.
inline constexpr std::string_view kProfileSummaryRole = "profile_summary";
inline constexpr std::string_view kProfileZoneRole = "profile_timezone_offset";
inline constexpr std::size_t kMostZoneBytes = 4096;  // far more than an offset and blanks around it
std::vector<LoadReading> read_profile_files(const LoadFiles& files);

// The raw benchmark result for such a window: contract.md B.2's six fields.
std::string benchmark_text(const Load& load);

}  // namespace aggregate_power
