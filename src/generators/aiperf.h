// A benchmark as AIPerf exports it: when it ran, and what became of each request; contract.md D.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/load.h"
#include "aggregate_power/sample.h"
#include "base/files/tree.h"
#include "core/load/load_files.h"
#include "generators/generators.h"

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

// ---- The names of an agentic run's files: what AIPerf exports, and the results of a load on
// several nodes.

// AIPerf's exports, in aiperf_artifacts or in a folder inside it.
inline constexpr std::string_view kProfileFolder = "aiperf_artifacts";
// Where AIPerf makes a folder for each of its runs by default.
inline constexpr std::string_view kDefaultProfileFolder = "artifacts";
inline constexpr std::string_view kProfileSummary = "profile_export_aiperf.json";
inline constexpr std::string_view kProfileRecords = "profile_export.jsonl";
// Beside aiperf_artifacts.
inline constexpr std::string_view kCapturedZone = "agentic_power_timezone_offset.txt";

// profile_export.jsonl, possibly compressed.
bool is_records_name(std::string_view name);

// The profile_export.jsonl in `profile_folder`, then those in its folders, ordered by folder name;
// possibly compressed. The first one is the run's.
std::vector<std::string> all_records(const Tree& tree, const std::string& profile_folder);
std::optional<std::string> find_records(const Tree& tree, const std::string& profile_folder);

// The concurrency in a name, as written: a number above 0 without leading zeros. Returns nullopt
// for any other text.
std::optional<std::string> written_concurrency(std::string_view text);

// The concurrency in the name of the result of a load on several nodes,
// agentic_power_concurrency_16.json. Returns nullopt for any other name.
std::optional<std::string> formal_concurrency(std::string_view name);
// The formal results in a folder, sorted.
std::vector<std::string> formal_results(const Tree& tree, const std::string& folder);

// ---- The requests that AIPerf exports, one by one; contract.md D.

// One request: a line of profile_export.jsonl.
struct ProfileRecord {
  bool is_profiling = true;  // not the warm-up
  bool failed = false;
  bool cancelled = false;  // by AIPerf itself, as it was told to
  // By which it is recognized; empty: it has none.
  std::string id = {};
  std::string place = {};  // in the load
  // For a request that counts. nullopt: missing, not a number for Python's int(), or beyond 64
  // bits.
  std::optional<std::int64_t> input_tokens;
  std::optional<std::int64_t> output_tokens;
  std::optional<std::int64_t> usage_tokens;  // output tokens by the server's count
  // From its start to its end, which may be equal. nullopt unless both are known.
  std::optional<Window> in_flight;
};

// Passes the records to `take`, one at a time: memory is bounded by the longest line. Throws Error
// if a line is not such a record, or what the source throws.
void read_profile_records(const NamedSource& records,
                          const std::function<void(const ProfileRecord&)>& take);

}  // namespace aggregate_power
