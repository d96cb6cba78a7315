// One run on one node, end to end: telemetry and benchmark result in, patched aggregate and audit
// record out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/text/zone.h"
#include "energy/integrate.h"
#include "recorders/schema.h"
#include "results/deliver.h"

namespace aggregate_power {

struct AggregateRequest {
  std::string csv;  // normal path; "-": standard input; empty: find_telemetry()
  std::string bench_result;
  std::string agg_result;
  std::string validation_result;  // empty: beside the benchmark result (schema 2), none (schema 1)
  std::optional<std::int64_t> expected_num_gpus;
  int schema_version = 2;
  double max_sample_gap_s = kDefaultMaxSampleGapS;
  bool extended = false;  // schema 2: the consumer's further keys too
  bool require_power = false;
  bool dry_run = false;
  ColumnNames columns;
  std::optional<Zone> zone;
};

// Where the telemetry is when nobody said: $GPU_METRICS_CSV when set, else the first of
// gpu_metrics.csv and /workspace/gpu_metrics.csv that exists, else gpu_metrics.csv.
std::string find_telemetry();

// Whatever the inputs are, this ends with a report; the status is 1 only when power is required.
CommandOutput aggregate(const AggregateRequest& request);

}  // namespace aggregate_power
