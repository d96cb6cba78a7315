// The audit record of a run as JSON. Keys and their order are contract.md B.7's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/metric.h"
#include "aggregate_power/reason.h"
#include "energy/counter_check.h"
#include "energy/integrate.h"
#include "energy/zone_witnesses.h"
#include "loads/benchmark.h"
#include "recorders/schema.h"
#include "recorders/telemetry.h"

namespace aggregate_power {

// How the telemetry was understood.
struct TelemetryFacts {
  Columns columns;
  Skipped skipped;
  std::uint64_t stamps = 0;
  std::uint64_t naive_stamps = 0;  // that the zone decided
  std::string timezone;            // "local", "UTC", "+05:30", "Europe/Berlin"
  std::string timezone_source;     // "option", "file", "default", "evidence", or "stamps": theirs
  std::string utc_offset;          // of that zone at the window's start
};

// What a run was computed from, so that it can be told later whether it still would be: content,
// not times.
struct InputFile {
  std::string role;  // "telemetry", "benchmark_result", "aggregate_result", ...
  std::uint64_t bytes = 0;
  std::string hash;  // ContentHash
};

struct Origin {
  std::vector<InputFile> inputs;
  InputFile patched;              // the aggregate as it was left
  int schema_version = 2;         // and the other options, as given
  std::string expected_num_gpus;  // "auto", "8"
  std::string timezone;           // "auto", "evidence", "UTC"
  double max_sample_gap_s = kDefaultMaxSampleGapS;
  std::string expected_producer_sha;  // of packages
  bool salvage = false;               // likewise
  std::string power_unit;             // "mW"; empty: none was given
};

// How the zone of a run of a store was come by.
struct ZoneEvidenceRecord {
  ZoneReport report;
  std::string recorder;  // whose other runs are its witnesses; empty: not known
  std::optional<ZoneVote> vote;
};

// Of an agentic run, whose energy is that of all requests and whose counts are of those that
// succeeded.
struct FailedRequests {
  std::uint64_t count = 0;
  std::optional<double> energy_share_j;  // nothing: it cannot be told; written only of valid runs
};

struct RecordContent {
  Reasons reasons;
  std::string telemetry_source;
  std::string benchmark_result;
  std::optional<Load> load;
  std::string integration_method;
  std::string power_percentile_method;  // empty: there are no percentiles
  Integration integration;
  std::optional<CounterCheck> counter_check;
  Metrics metrics;                          // written only when there is no reason against them
  std::optional<TelemetryFacts> telemetry;  // nothing: it was not read
  std::optional<ZoneEvidenceRecord> zone_evidence;
  std::optional<Origin> origin;  // of runs in bulk
  // Where the window was taken from, when that is no benchmark result.
  std::string window_source;
  std::optional<FailedRequests> failed_requests;
};

inline constexpr const char* kTrapezoidMethod =
    "per_device_trapezoidal_with_linear_boundary_interpolation";
inline constexpr const char* kSampleMeanMethod = "mean_of_sample_buckets";

// Of a window that is the whole of an AIPerf profile; contract.md D.
inline constexpr const char* kProfileWindowSource = "aiperf_profile_lifecycle";
// Of one that was measured on several nodes.
inline constexpr const char* kFormalWindowSource = "aiperf_multinode_custom_benchmark";

// Where it goes unless a user says otherwise: power_validation_STEM.json.
std::string record_beside(const std::string& bench_result);
// What a user can do when it must not go there.
inline constexpr const char* kOtherValidationResult = "give another --validation-result";
inline constexpr const char* kNameIsTaken = "move it away: the audit record needs its name";

std::string one_node_record_text(const RecordContent& content);

// What an audit record of one_node_record_text() says of the run, for those who come to it again.
struct ParsedRecord {
  bool valid = false;
  std::vector<std::string> reasons;
  std::string telemetry_source;
  std::string benchmark_result;
  std::string timezone;
  std::optional<ZoneEvidenceRecord> zone_evidence;
  std::string tool_version;
  Origin origin;
};
// Nothing when it is no such record, or has no origin.
std::optional<ParsedRecord> parse_record(std::string_view text);

}  // namespace aggregate_power
