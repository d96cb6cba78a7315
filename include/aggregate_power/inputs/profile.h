// What AIPerf exports of a benchmark: when it ran, and what became of each request; contract.md D.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "aggregate_power/base/byte_source.h"
#include "aggregate_power/base/time.h"
#include "aggregate_power/inputs/benchmark.h"
#include "aggregate_power/inputs/reason.h"
#include "aggregate_power/inputs/trace.h"

namespace aggregate_power {

struct NamedSource {
  ByteSource& source;
  std::string name;  // for messages
};

// One request, as a line of profile_export.jsonl tells it.
struct ProfileRecord {
  bool is_profiling = true;  // not of the warm-up
  bool failed = false;
  // Of a request that counts. Nothing: missing, no number to Python's int(), or beyond 64 bits.
  std::optional<std::int64_t> input_tokens;
  std::optional<std::int64_t> output_tokens;
  // From its start to its end; they may be one. Nothing when it does not tell both.
  std::optional<Window> in_flight;
};

// Gives the records to `take`, one at a time: memory is for the longest line. Throws Error when a
// line is no such record, or what the source throws.
void read_profile_records(const NamedSource& records,
                          const std::function<void(const ProfileRecord&)>& take);

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
  std::optional<Benchmark> benchmark;  // nothing: there is a reason
  Reasons reasons;                     // the first fault alone
  std::uint64_t failed_requests = 0;   // not of the warm-up
};

// `summary` is profile_export_aiperf.json. The window is the whole profile's, the counts are those
// of the requests that succeeded. What is wrong is a reason, but for what the sources throw.
ProfileReading read_profile(const NamedSource& summary, const NamedSource& records,
                            const ProfileZone& zone);

// The raw benchmark result that such a window makes: contract.md B.2's six fields.
std::string benchmark_text(const Benchmark& benchmark);

}  // namespace aggregate_power
