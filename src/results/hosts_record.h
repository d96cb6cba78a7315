// The audit record of a run on several hosts as JSON. Its keys are those of contract.md C.8 as far
// as they fit, and of B.7.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/metric.h"
#include "aggregate_power/reason.h"
#include "energy/clock_offset.h"
#include "energy/integrate.h"
#include "loads/benchmark.h"
#include "results/record.h"
#include "runs/measurement.h"
#include "runs/roles.h"

namespace aggregate_power {

// What was found of one host.
struct HostFinding {
  std::string host;
  std::string csv;
  std::string identity_file;  // empty: there is none
  double clock_offset_s = 0;  // that was added to its stamps
  Reasons reasons;
  Integration integration;
  std::vector<RecordedGpu> gpus;  // as integration.gpu_ids
  // As integration.boundary_degenerate_rows, with the GPUs known as far as those above.
  std::vector<std::pair<RecordedGpu, std::uint64_t>> boundary_degenerate_rows;
  std::optional<TelemetryFacts> telemetry;  // nothing: it was not read
  std::optional<ClockOffset> clock_estimate;
  FleetMeasurement fleet;  // of --extended, by the host's own clock
};

struct HostsContent {
  Reasons reasons;
  std::string telemetry_source;
  std::string benchmark_result;
  std::optional<Load> load;
  std::optional<std::int64_t> expected_num_gpus;
  std::vector<Role> roles;  // of all GPUs, host by host; empty: not known
  Metrics metrics;          // written only when there is no reason against them
  bool extended = false;
};

// Of all GPUs, host by host, as the record names them.
std::vector<std::string> gpu_names(const HostsContent& content, std::span<const HostFinding> hosts);

std::string hosts_record_text(const HostsContent& content, std::span<const HostFinding> hosts);

}  // namespace aggregate_power
