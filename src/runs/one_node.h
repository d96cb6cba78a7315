// One run on one node, end to end: telemetry and benchmark result in, patched aggregate and audit
// record out.
#pragma once

#include <string>

#include "results/deliver.h"
#include "runs/run_options.h"

namespace aggregate_power {

// The audit record's usual place is beside the benchmark result (schema 2); schema 1 has none.
struct AggregateRequest : RunOptions, RunFiles {
  std::string csv;  // normal path; "-": standard input; empty: find_telemetry()
};

// Where the telemetry is when nobody said: $GPU_METRICS_CSV when set, else the first of
// gpu_metrics.csv and /workspace/gpu_metrics.csv that exists, else gpu_metrics.csv.
std::string find_telemetry();

// Whatever the inputs are, this ends with a report; the status is 1 only when power is required.
CommandOutput aggregate(const AggregateRequest& request);

}  // namespace aggregate_power
