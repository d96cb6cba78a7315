// One run on several hosts, each with a recording of its own, end to end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/text/zone.h"
#include "energy/integrate.h"
#include "recorders/schema.h"
#include "results/deliver.h"
#include "runs/host_folders.h"
#include "runs/roles.h"

namespace aggregate_power {

struct HostsRequest {
  std::vector<HostFile> hosts;   // in the order in which they are read and recorded
  std::string no_hosts;          // why there are none
  std::string telemetry_source;  // as the audit record names it
  std::vector<RoleShare> roles;  // none: one whole deployment
  std::map<std::string, double> clock_offsets_s;  // by host: to be added to its stamps
  std::string bench_result;
  std::string agg_result;
  std::string validation_result;  // empty: beside the benchmark result
  std::optional<std::int64_t> expected_num_gpus;
  double max_sample_gap_s = kDefaultMaxSampleGapS;
  bool extended = false;  // the consumer's further keys too
  bool require_power = false;
  bool dry_run = false;
  ColumnNames columns;  // of every host, as is the zone
  std::optional<Zone> zone;
};

// Every host must carry the whole window: what is wrong with one voids the run. Ends with a report
// whatever the inputs are.
CommandOutput aggregate_hosts(const HostsRequest& request);

}  // namespace aggregate_power
