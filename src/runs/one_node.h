// One run on one node, from start to end: reads telemetry and benchmark result, patches the
// aggregate and writes the audit record.
#pragma once

#include <string>
#include <vector>

#include "results/deliver.h"
#include "runs/run_options.h"

namespace aggregate_power {

// The telemetry's path if none is given: $GPU_METRICS_CSV if set, else the first of gpu_metrics.csv
// and /workspace/gpu_metrics.csv that exists, else gpu_metrics.csv.
std::string find_telemetry();
// The recordings that are given, else that one.
std::vector<std::string> recordings_of(const RunSpec& run);

// Of one recording; by default the audit record goes beside the benchmark result (schema 2), and
// schema 1 has none. Ends with a report whatever the inputs are; the status is 1 only if power is
// required.
CommandOutput aggregate(const RunSpec& request);

}  // namespace aggregate_power
