// The audit record of a run as JSON. Keys and their order are contract.md B.7's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/metric.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/result.h"
#include "energy/counter_check.h"
#include "energy/integrate.h"
#include "energy/zone_witnesses.h"
#include "loads/benchmark.h"
#include "recorders/schema.h"
#include "recorders/telemetry.h"

namespace aggregate_power {

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
