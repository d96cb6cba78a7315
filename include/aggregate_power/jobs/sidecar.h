// The audit record of a run as JSON. Keys and their order are contract.md B.7's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "aggregate_power/analysis/accumulator.h"
#include "aggregate_power/analysis/integrate.h"
#include "aggregate_power/analysis/metrics.h"
#include "aggregate_power/inputs/benchmark.h"
#include "aggregate_power/inputs/reason.h"
#include "aggregate_power/inputs/schema.h"
#include "aggregate_power/inputs/telemetry.h"

namespace aggregate_power {

// How the telemetry was understood.
struct TelemetryFacts {
  Columns columns;
  Skipped skipped;
  std::string timezone;         // "local", "UTC", "+05:30", "Europe/Berlin"
  std::string timezone_source;  // "option", "file", "default", or "stamps": they carry their own
  std::string utc_offset;       // of that zone at the window's start
};

struct SidecarContent {
  Reasons reasons;
  std::string telemetry_source;
  std::string benchmark_result;
  std::optional<Benchmark> benchmark;
  std::string integration_method;
  Integration integration;
  std::optional<AccumulatorCheck> accumulator_check;
  Metrics metrics;                          // written only when there is no reason against them
  std::optional<TelemetryFacts> telemetry;  // nothing: it was not read
};

inline constexpr const char* kTrapezoidMethod =
    "per_device_trapezoidal_with_linear_boundary_interpolation";
inline constexpr const char* kSampleMeanMethod = "mean_of_sample_buckets";

std::string sidecar_text(const SidecarContent& content);

}  // namespace aggregate_power
