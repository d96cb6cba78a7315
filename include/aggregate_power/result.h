// The result of measuring one run, in whichever way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/contract.h"
#include "aggregate_power/energy_estimate.h"
#include "aggregate_power/gpu.h"
#include "aggregate_power/load.h"
#include "aggregate_power/metric.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/record_facts.h"
#include "aggregate_power/request.h"
#include "aggregate_power/sample.h"

namespace aggregate_power {

// CPU power of the nodes of a run, judged separately from the GPU power.

// What a socket's samples measure. CPU power is taken from the first of the first three sensors
// that all sockets have; rails accompany the Grace sensor.
enum class CpuSensor { module, grace_socket, dcgm_cpu_rail, cpu_rail, cpu_sysio };
inline constexpr std::size_t kCpuSensors = 5;

std::string_view name(CpuSensor sensor);  // "grace_socket"

struct CpuPower {
  Reasons reasons;  // empty: valid
  std::optional<CpuSensor> sensor;
  std::optional<std::string> source;
  std::size_t expected_sockets = 0;
  std::size_t observed_sockets = 0;
  std::uint64_t rows = 0;
  // Relative to the logs; empty unless the hosts made a recording of their own, too.
  std::string samples_file;
  std::vector<std::string> notes;  // what was left out without a reason, for people
  // Keyed by "host/socket0/grace_socket", ordered by host and socket.
  std::vector<std::pair<std::string, double>> max_sample_gap_s;  // of the bracketed ones
  std::vector<std::pair<std::string, double>> energy_j;          // empty if there are reasons
  Metrics metrics;                                               // of a valid run

  // Numbers that could not be written are not valid either.
  void withhold(const Reasons& unwritten) {
    if (unwritten.empty()) return;
    reasons.add(unwritten);
    energy_j.clear();
    metrics.clear();
  }
};

// ---- The power of all GPUs together over a window.

// A piecewise linear curve. Knots are in time order without duplicate times; the first and the last
// are the window's edges.
class FleetPower {
 public:
  explicit FleetPower(std::vector<Sample> knots) : knots_(std::move(knots)) {}

  std::span<const Sample> knots() const { return knots_; }

  // Joules between two instants; time outside the window does not count.
  double energy_j(double from_unix_s, double to_unix_s) const;

  // The smallest power that the curve is at or below for at least the share `q`, from 0 to 1, of
  // the window. Exact apart from rounding: between the powers of two neighbouring knots, that time
  // is linear. Infinite when some power is too large for a double.
  double quantile_w(double q) const;

 private:
  std::vector<Sample> knots_;
};

// ---- The power of GPUs that have nothing to do: the baseline of a net energy.

// A power with its standard uncertainty.
struct Power {
  double watts = 0;
  double standard_uncertainty_w = 0;
};

struct IdlePower {
  std::vector<std::string> reasons;  // why there is no baseline; if set, there are no numbers
  // "given_watts", "given_window", "before_load", "after_load"; empty: none was found.
  std::string source;
  std::optional<Window> stretch;  // where it was read; nullopt: it was given in watts
  std::vector<std::pair<std::string, Power>> gpus;
  Power total;  // its uncertainty is not always the quadratic sum: GPUs may drift together

  bool is_available() const { return reasons.empty(); }
};

// ---- The energy of a run that is not valid for nothing but samples that are missing: --salvage.

// Where one GPU's samples are missing.
struct SalvagedGpu {
  std::string name;
  double covered_share = 0;         // of the window: the part that is not in a gap above 3 s
  std::vector<Window> holes;        // between two samples: gaps, and around cells without a reading
  std::uint64_t missing_cells = 0;  // without a reading, inside the window
};

struct SalvagedEnergy {
  // Its readings are further apart than any gap may be: a tracker's, each some 10 to 30 s. Then the
  // window's edges may be in such a gap, too. 0: they are not.
  double sparse_period_s = 0;
  std::string refusal;  // why there is no number; empty: there is
  std::vector<SalvagedGpu> gpus;
  EnergyEstimate energy;  // by the rules of --uncertainty
  Metrics metrics;        // of its estimate
};

// A GPU whose window is covered for less is not salvaged.
inline constexpr double kLeastCoveredShare = 0.9;

// The ways to measure a run. Their records and aggregates differ in keys and names.
enum class Way {
  sample_mean,  // schema 1: one recording, the mean of its samples
  one_node,     // schema 2: one recording
  hosts,        // a recording for each host
  package,      // a `dcgm-power` package of several nodes
  native,       // a native package: a recording and a manifest for each node
};

struct GpuResult {
  std::string name;     // as in the record: "3", "hostA/GPU-5f0c...", "hostA/0"
  DeviceEnergy energy;  // inside the window
  std::optional<Reason> issue = {};
};

// Total power of all GPUs at every instant, and how warm and busy they were.
struct FleetMeasurement {
  std::optional<FleetPower> power;  // if every GPU covers the window
  std::uint64_t samples_in_window = 0;
  std::array<std::optional<StateSummary>, kReportedQuantities> states;  // by quantity
};

// The GPUs' own energy counters compared with the integral of their samples: a check of the sensor.
struct CounterCheck {
  std::string unavailable;  // why nothing could be compared; if set, the other members are empty
  double accumulator_delta_j = 0;
  double integrated_stream_j = 0;
  std::optional<double> relative_error;  // nullopt unless the counters went up
  bool within_tolerance = false;
  double tolerance = 0.05;
  std::vector<std::pair<std::string, double>> per_gpu_delta_j;
  std::vector<std::string> integrated_gpu_ids;
  std::vector<std::string> unmatched_gpus;  // in one snapshot only
  std::vector<std::string> negative_delta_gpus;
  double stream_span_s = 0;
};

// One GPU's energy in the window by its recorded counter, and by its power. Only advice.
struct CounterInWindow {
  std::string gpu;
  std::string fault = {};  // why the counter does not measure the window; empty: it does
  std::optional<double> counter_j = {};
  std::optional<double> power_j = {};
  std::optional<double> resolution_j = {};  // of the counter, at both edges of the window together
  bool differs = false;                     // they contradict each other
  std::uint64_t readings = 0;               // of the counter, in the window
};

// The energy counters that a recording has beside the power.
struct RecordedCounters {
  EnergyCounter counter;
  std::vector<CounterInWindow> gpus;
};

// The failed requests of an agentic run. The run's energy includes all requests, its counts only
// the requests that succeeded.
struct FailedRequests {
  std::uint64_t count = 0;
  std::optional<double> energy_share_j;  // nullopt: unknown
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

// How far a host's clock differs from the others'.
struct ClockOffset {
  double offset_s = 0;  // to be added to the host's stamps
  double uncertainty_s = 0;
};

// One host in a run on several hosts.
struct HostResult {
  std::string host;
  std::string csv;
  std::string identity_file;  // empty: there is none
  double clock_offset_s = 0;  // was added to its stamps
  Reasons reasons;
  std::vector<RecordedGpu> gpus;
  std::optional<TelemetryFacts> telemetry;  // nullopt: it was not read
  std::optional<ClockOffset> clock_estimate;
};

// The window of a package that belongs to a result.
struct SelectedWindow {
  std::string file;         // relative to the package: "windows/NAME.json"
  std::string result_path;  // relative to the logs root
  std::string benchmark_type;
  std::int64_t concurrency = 0;
  Window window;
  double duration_s = 0;
  // Since October: what was measured in it, even if another window of the package is faulty.
  bool power_valid = false;
  Metrics metrics = {};
};

// What the samples show about a window that the package's recorder expected.
struct WindowFinding {
  std::string benchmark_type;
  std::int64_t concurrency = 0;
  std::optional<std::string> file;
  std::vector<std::string> codes;                      // the recorder's; empty: valid
  std::vector<std::pair<std::string, double>> gaps_s;  // by device: the longest
};

// How far the energy may be off because of gaps between samples that were accepted.
struct GapEnergyBound {
  double total_j = 0;
  std::vector<std::pair<std::string, double>> per_gpu_j;
};

// Facts that only a package has.
struct PackageFacts {
  std::optional<SelectedWindow> window;
  bool is_integral = false;  // it is what its manifest says, whether or not windows are faulty
  bool has_unproven_clocks = false;  // it is, apart from clocks that may differ
  std::vector<WindowFinding> windows;
  std::string gap_rule;                      // by which gaps were judged; empty: none were
  std::optional<std::string> source_metric;  // what the exporter read, and of which part of the
  std::optional<std::string> power_scope;    // machine, in its own words
  std::optional<std::string> producer_git_commit;
  std::string expected_producer_sha;  // empty: none was named
  bool is_pin_of_package = false;     // from power-producer-sha.txt, not from the caller
  std::optional<std::string> exporter_image_sha256;
  std::optional<bool> stored_publication_valid;
  std::optional<bool> recomputed_publication_valid;
  std::string dialect;      // the producer's rules; empty: unknown
  int samples_version = 0;  // 0: not read
  bool salvage = false;     // faults that concern only other windows do not invalidate this one
  std::map<std::string, std::uint64_t> salvaged;  // faults that were tolerated, and how often
  // It is what its manifest says, except that samples of windows are missing.
  bool lacks_only_samples = false;
  std::size_t asked_gpus = 0;  // requested by the caller
  bool is_refused = false;     // the package was not read at all
};

// A node of a native package that was read to its end.
struct NativeNodeFacts {
  std::string folder;                                         // "node-0"
  std::vector<std::pair<std::string, std::string>> manifest;  // its members, as JSON
  std::vector<std::pair<std::string, std::string>>
      physical_gpu_ids;  // UUIDs of the GPUs it recorded, by index
  std::string manifest_sha256;
  std::string telemetry_sha256;
  std::string identity_sha256;
  std::string identity_end_sha256;
};

// Why another one was not.
struct NativeNodeError {
  std::string node;    // the folder's name
  std::string type;    // the class of the original's exception
  std::string detail;  // its text
};

// Facts that only a native package has.
struct NativeFacts {
  std::optional<std::string> benchmark_result_sha256;  // nullopt: it cannot be read
  std::vector<NativeNodeFacts> nodes;
  std::vector<NativeNodeError> node_errors;
  std::vector<std::string> revisions;  // of the collectors, each once

  // Nullopt: there are several, or none.
  std::optional<std::string> revision() const {
    return revisions.size() == 1 ? std::optional(revisions[0]) : std::nullopt;
  }
};

// What was understood of the sensor behind a GPU's readings.
struct UnderstoodSensor {
  std::string model;       // of the GPU, as it was named; empty: unknown
  std::string known_from;  // what named it: "name_column", "option", "identity_file", "aggregate"
  std::string column;      // that was read
  std::vector<double> windows_s;  // each that is possible
  double refresh_s = 0;
  std::string stamps;                         // "query_time", "whole_seconds"
  std::optional<std::string> counter_column;  // nullopt: there is none
};

// How far a valid run's energy may be off.
struct Uncertainty {
  EnergyEstimate energy;
  std::vector<UnderstoodSensor> sensors;  // in the order of energy.gpus
  std::vector<std::string> advice;        // why there is no interval, and what to do
};

struct Result {
  Way way = Way::one_node;
  Contract contract = Contract::october;
  std::optional<Load> load;     // absent: there is no window
  Reasons reasons;              // empty: valid
  std::vector<Reason> accepts;  // with these, too, the caller publishes
  Reasons accepted;             // of these, those that were found
  Metrics metrics;              // of a valid run

  std::optional<std::int64_t> expected_gpus;
  std::string expected_gpus_source;        // the input that names them; empty: the user, or nothing
  std::vector<std::string> selected_gpus;  // as given; empty: all that were recorded
  std::size_t observed_gpus = 0;
  std::vector<std::string> observed_gpu_ids;
  std::size_t metric_gpus = 0;  // the number by which the metrics per GPU are divided
  bool fits_window = false;     // some GPU covers the window; in schema 1, has samples in it
  std::vector<GpuResult> gpus;  // in the record's order
  std::vector<std::pair<std::string, std::string>> roles;  // by GPU; empty: unknown
  std::vector<Worker> workers;                             // of a valid run; empty: unknown
  // Rows outside the window with 0 W, by GPU.
  std::vector<std::pair<std::string, std::uint64_t>> boundary_degenerate_rows;

  RowKeys keys = RowKeys::seed;           // of the aggregate
  std::optional<FleetMeasurement> fleet;  // nullopt: not requested, or no samples were read
  // Of a package, and of a run that accepts long gaps, if it could be measured.
  std::optional<GapEnergyBound> gap_bound;
  std::vector<GpuLimit> limits;
  std::optional<FleetPower> curve;  // of a valid run, if requested
  std::optional<CpuPower> cpu;      // nullopt: neither recorded nor requested
  bool requires_cpu = false;        // required power includes that of the CPUs
  std::optional<CounterCheck> counters;
  std::optional<RecordedCounters> recorded_counters;  // nullopt: the recording has none
  std::optional<FailedRequests> failed_requests;
  std::optional<IdlePower> idle;                // nullopt: not requested
  std::optional<Uncertainty> uncertainty;       // nullopt: not requested
  std::optional<Uncertainty> shown_interval;    // of a valid run; for people, and for --out
  std::optional<SalvagedEnergy> salvaged;       // of a run that is not valid for missing samples
  std::optional<RequestEnergy> request_energy;  // nullopt: not requested
  std::optional<PhaseEnergy> phase_energy;      // nullopt: not requested
  std::optional<GoodWork> good_work;            // the same
  std::optional<CorrectAnswers> answers;        // the same
  std::vector<ReportedEnergy> reported_energies;
  std::vector<WitnessResult> witnesses;  // compared only: no number and no verdict depends on them
  std::optional<ModelledNode> modelled_node = {};  // if a node has a profile

  std::optional<TelemetryFacts> telemetry;  // of a single recording; nullopt: it was not read
  std::vector<HostResult> hosts;
  std::optional<PackageFacts> package;
  std::optional<NativeFacts> native;
  std::optional<ZoneEvidenceRecord> zone_evidence;
  Sources sources;               // of any other run
  std::string telemetry_source;  // as named in the record
  std::string benchmark_result;
  std::string audit_source = {};              // of power_audit; empty: the record's name
  bool is_audit_requested = false;            // by the caller, with that source as it is
  std::string window_source;                  // empty: a benchmark result
  std::optional<double> window_half_width_s;  // of the place of an estimated window
  // By how much of it the energy of an estimated window may differ at a place that is possible.
  std::optional<double> window_place_share;
  bool is_window_in_command = false;  // it was placed in the command that was recorded
  bool is_window_by_power = false;    // it is where the readings rise and fall
  std::string load_generator;         // empty: unknown

  bool could_not_read = false;        // the system's fault, not the content's
  Reasons causes;                     // why columns are missing, beyond the contract's codes
  std::vector<std::string> failures;  // details of a package's reasons, one sentence each
  std::vector<std::string> warnings;  // for people
  std::vector<std::string> hints;     // for people, when the run is not valid

  bool is_valid() const { return reasons.empty(); }
};

// Null: there is none, whether or not one was requested.
inline const Uncertainty* interval_of(const Result& result) {
  if (result.uncertainty) return &*result.uncertainty;
  return result.shown_interval ? &*result.shown_interval : nullptr;
}

}  // namespace aggregate_power
