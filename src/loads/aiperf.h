// What AIPerf exports of a benchmark: when it ran, and what became of each request; contract.md D.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "aggregate_power/reason.h"
#include "base/text/zone.h"
#include "loads/aiperf_records.h"
#include "loads/benchmark.h"

namespace aggregate_power {

// What times without an offset mean; without a zone, the fault is why there is none.
struct ProfileZone {
  std::optional<Zone> zone;
  Reasons fault;
};

// Far more than an offset and blanks around it.
inline constexpr std::size_t kMostZoneBytes = 4096;

// "+0900", "-08:00": what `date +%z` wrote when the run began. Nothing for any other text.
std::optional<Zone> captured_zone(std::string_view text);

struct ProfileReading {
  std::optional<Load> load;           // nothing: there is a reason
  Reasons reasons;                    // the first fault alone
  std::uint64_t failed_requests = 0;  // not of the warm-up
  // Why the window can hardly be that of the requests, for people; empty: it can.
  std::string doubt = {};
};

// `summary` is profile_export_aiperf.json. The window is the whole profile's, the counts are those
// of the requests that succeeded. What is wrong is a reason, but for what the sources throw.
ProfileReading read_profile(const NamedSource& summary, const NamedSource& records,
                            const ProfileZone& zone);

// The raw benchmark result that such a window makes: contract.md B.2's six fields.
std::string benchmark_text(const Load& load);

}  // namespace aggregate_power
