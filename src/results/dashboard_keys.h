// The keys of --extended: what today's consumer of aggregates takes beside the original's.
// Contract.md F.1 and F.5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/metric.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/result.h"
#include "aggregate_power/sample.h"
#include "base/text/json.h"
#include "energy/fleet_power.h"
#include "results/transaction.h"
#include "runs/measurement.h"

namespace aggregate_power {

// The name of the rule behind the percentiles, for the audit record.
inline constexpr const char* kPercentileMethod =
    "time_weighted_synchronized_total_piecewise_linear";

// The four percentiles: of the power of all GPUs together, and that divided by their number.
Metrics percentile_metrics(const FleetPower& power, std::size_t gpus);
// Those, and the means of the GPUs' states where all of them have any. For a valid run, behind its
// other metrics: in the aggregate with their decimals, in the audit record as all metrics.
Metrics dashboard_metrics(const FleetMeasurement& fleet, std::size_t gpus);

// What it says of CPU power, which has a verdict of its own.
struct CpuAudit {
  std::optional<std::string> sensor_kind;
  std::optional<std::string> source;
  std::uint64_t expected_sockets = 0;
  std::uint64_t observed_sockets = 0;
  std::vector<std::string> reason_codes;
};

// What is known of a run, valid or not; what is not is left out.
struct PowerAudit {
  std::optional<Window> window;
  std::optional<std::int64_t> expected_gpu_count;
  std::optional<std::uint64_t> observed_gpu_count;
  std::optional<std::uint64_t> sample_count;  // in the window, over all GPUs
  std::optional<double> max_sample_gap_s;     // the longest that was found at the window
  std::vector<std::string> observed_gpu_ids;
  std::string source;                       // the audit record's name
  std::optional<std::string> producer_sha;  // of the package's recorder
  std::optional<std::string> exporter_image_sha256;
  std::optional<CpuAudit> cpu;
};

struct DashboardContent {
  Reasons reasons;  // empty: valid
  PowerAudit audit;
  std::vector<Worker> workers;  // empty: not known; written of a valid run only
};

// `power_invalid_reasons` of a run that is not valid, `power_audit`, and `workers` where they are
// known, each within the consumer's limits: what exceeds one is left out.
std::vector<JsonEdit> dashboard_edits(const DashboardContent& content);

// Makes the extended edits part of `edits`: each key once.
void add_dashboard_keys(std::vector<JsonEdit>& edits, const DashboardContent& content);

// All keys that a run with --extended may leave, but for `power_invalid_reasons`, which every run
// owns.
std::span<const char* const> dashboard_keys();

// Those of them that are metrics of CPUs.
std::span<const char* const> cpu_metric_keys();

// Such keys are others' too, so that a run removes them only where `power_audit` shows that an
// earlier run of this program with --extended set them.
WritePlan::Leftovers dashboard_leftovers();

// Of an earlier run of several nodes with CPU power, which `cpu_power_valid` shows.
WritePlan::Leftovers cpu_leftovers();

}  // namespace aggregate_power
