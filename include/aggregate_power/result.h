// What one run came to, whichever way it was measured.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/cpu_power.h"
#include "aggregate_power/fleet_power.h"
#include "aggregate_power/gpu.h"
#include "aggregate_power/load.h"
#include "aggregate_power/metric.h"
#include "aggregate_power/provenance.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/sample.h"

namespace aggregate_power {

// The ways to measure a run. Records and aggregates differ between them in keys and in names.
enum class Way {
  sample_mean,  // schema 1: one recording, the mean of its samples
  one_node,     // schema 2: one recording
  hosts,        // a recording for each host
  package,      // a `dcgm-power` package of several nodes
};

struct GpuResult {
  std::string name;     // as the record has it: "3", "hostA/GPU-5f0c...", "hostA/0"
  DeviceEnergy energy;  // inside the window
  std::optional<Reason> issue = {};
};

// The power of all GPUs at every instant, and how warm and busy they were.
struct FleetMeasurement {
  std::optional<FleetPower> power;  // when every GPU covers the window
  std::uint64_t samples_in_window = 0;
  std::array<std::optional<StateSummary>, kGpuQuantities> states;  // by quantity
};

// The GPUs' own energy counters beside the integral of their samples: a check of the sensor.
struct CounterCheck {
  std::string unavailable;  // why nothing could be compared; the rest is empty then
  double accumulator_delta_j = 0;
  double integrated_stream_j = 0;
  std::optional<double> relative_error;  // nothing unless the counters went up
  bool within_tolerance = false;
  double tolerance = 0.05;
  std::vector<std::pair<std::string, double>> per_gpu_delta_j;
  std::vector<std::string> integrated_gpu_ids;
  std::vector<std::string> unmatched_gpus;  // in one snapshot only
  std::vector<std::string> negative_delta_gpus;
  double stream_span_s = 0;
};

// Requests of an agentic run that failed. The run's energy is that of all requests, its counts are
// those of the requests that succeeded.
struct FailedRequests {
  std::uint64_t count = 0;
  std::optional<double> energy_share_j;  // nothing: not known
};

// One worker of a deployment.
struct Worker {
  std::string role = {};
  std::int64_t worker_idx = 0;
  std::int64_t num_gpus = 0;
  double avg_power_w = 0;  // per GPU
  std::vector<std::string> hosts = {};
  std::optional<double> avg_temp_c = {};
  std::optional<double> peak_temp_c = {};
  std::optional<double> avg_util_pct = {};
  std::optional<double> avg_mem_used_mb = {};
};

// How far a host's clock is from the others'.
struct ClockOffset {
  double offset_s = 0;  // to add to the host's stamps
  double uncertainty_s = 0;
};

// One host of several.
struct HostResult {
  std::string host;
  std::string csv;
  std::string identity_file;  // empty: there is none
  double clock_offset_s = 0;  // that was added to its stamps
  Reasons reasons;
  std::vector<RecordedGpu> gpus;
  std::optional<TelemetryFacts> telemetry;  // nothing: it was not read
  std::optional<ClockOffset> clock_estimate;
};

// The window of a package that a result belongs to.
struct SelectedWindow {
  std::string file;         // below the package: "windows/NAME.json"
  std::string result_path;  // below the logs root
  std::string benchmark_type;
  std::int64_t concurrency = 0;
  Window window;
  double duration_s = 0;
};

// What only a package has.
struct PackageFacts {
  std::optional<SelectedWindow> window;
  std::optional<std::string> producer_git_commit;
  std::string expected_producer_sha;  // empty: nobody said
  bool is_pin_of_package = false;     // power-producer-sha.txt said so, not the caller
  std::optional<std::string> exporter_image_sha256;
  std::optional<bool> stored_publication_valid;
  std::optional<bool> recomputed_publication_valid;
  std::string dialect;      // the producer's rules; empty: not known
  int samples_version = 0;  // 0: not read
  bool salvage = false;     // faults that concern other windows only do not invalidate this one
  std::map<std::string, std::uint64_t> salvaged;  // what was passed over, how often
  std::size_t asked_gpus = 0;                     // by the caller
  bool is_refused = false;                        // without a look at the package
};

struct Result {
  Way way = Way::one_node;
  std::optional<Load> load;  // nothing: there is no window
  Reasons reasons;           // empty: valid
  Metrics metrics;           // of a valid run

  std::optional<std::int64_t> expected_gpus;
  std::size_t observed_gpus = 0;
  std::vector<std::string> observed_gpu_ids;
  std::size_t metric_gpus = 0;  // over which the metrics per GPU are taken
  bool fits_window = false;     // some GPU covers the window; by schema 1, has samples in it
  std::vector<GpuResult> gpus;  // in the record's order
  std::vector<std::pair<std::string, std::string>> roles;  // by GPU; empty: not known
  std::vector<Worker> workers;                             // of a valid run; empty: not known
  // Rows outside the window that say 0 W, by GPU.
  std::vector<std::pair<std::string, std::uint64_t>> boundary_degenerate_rows;

  bool extended = false;                  // the dashboard's further keys are wanted
  std::optional<FleetMeasurement> fleet;  // nothing: not asked for, or no samples were looked at
  std::optional<FleetPower> curve;        // of a valid run, where it was asked for
  std::optional<CpuPower> cpu;            // nothing: none was recorded, and none asked for
  std::optional<CounterCheck> counters;
  std::optional<FailedRequests> failed_requests;

  std::optional<TelemetryFacts> telemetry;  // of one recording; nothing: it was not read
  std::vector<HostResult> hosts;
  std::optional<PackageFacts> package;
  std::optional<ZoneEvidenceRecord> zone_evidence;
  std::optional<Origin> origin;  // of a run of a store
  std::string telemetry_source;  // as the record names it
  std::string benchmark_result;
  std::string window_source;  // empty: a benchmark result

  bool could_not_read = false;        // the system's fault, not the content's
  Reasons causes;                     // what is behind missing columns, beyond the contract's codes
  std::vector<std::string> failures;  // what is behind the reasons of a package, a sentence each
  std::vector<std::string> warnings;  // for people
  std::vector<std::string> hints;     // for people, when the run is not valid

  bool is_valid() const { return reasons.empty(); }
};

}  // namespace aggregate_power
