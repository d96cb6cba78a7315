// One agentic run on one node, end to end: its window and counts come from what AIPerf exported.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/text/zone.h"
#include "energy/integrate.h"
#include "recorders/schema.h"
#include "results/deliver.h"

namespace aggregate_power {

struct AgenticRequest {
  std::string result_dir;  // normal paths
  std::string agg_result;
  std::optional<std::int64_t> expected_num_gpus;
  double max_sample_gap_s = kDefaultMaxSampleGapS;
  bool extended = false;  // the consumer's further keys too
  bool require_power = false;
  bool dry_run = false;
  ColumnNames columns;
  std::optional<Zone> zone;  // of the telemetry and of the profile; nothing: as captured
};

// Whatever the inputs are, this ends with a report; the status is 1 only when power is required.
CommandOutput aggregate_agentic(const AgenticRequest& request);

}  // namespace aggregate_power
