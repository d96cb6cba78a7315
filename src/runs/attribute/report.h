// What the energy of a recording was used for, by the events of a trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/facility.h"

namespace aggregate_power {

enum class AttributionOrder { energy, time, power };

struct AttributionRow {
  std::string name;
  std::uint64_t calls = 0;
  std::uint64_t short_calls = 0;  // shorter than the sensor's period
  double time_s = 0;              // of all calls and GPUs
  double energy_j = 0;
  std::optional<double> power_w = {};  // nullopt: it took no time
  // If it was asked for: 95 %, or why there is none.
  std::optional<double> estimate_j = {};
  double low_j = 0;
  double high_j = 0;
  std::string no_interval = {};
};

struct AttributionGpu {
  std::string name;    // in the recording
  std::string device;  // in the trace; empty: a trace of the host alone
  std::string trace;
  std::string model;  // empty: unknown
  std::uint64_t events = 0;
  double busy_s = 0;  // while at least one event ran
  double energy_j = 0;
  double sensor_period_s = 0;
};

struct AttributionIteration {
  std::int64_t number = 0;
  bool is_warm_up = false;
  double time_s = 0;
  double gpu_time_s = 0;
  double energy_j = 0;
};

// One run of a kernel or a layer.
struct AttributionCall {
  std::uint32_t name = 0;
  double start_unix_s = 0;
  double end_unix_s = 0;
  double duration_s = 0;  // more exactly than the difference of the Unix times
  double start_w = 0;
  double end_w = 0;
  double energy_j = 0;
};

struct AttributionReport {
  std::vector<std::string> telemetry;
  std::vector<std::string> traces;
  std::vector<std::string> time_bases;  // of the traces
  std::string by;                       // "kernel", "layer", "annotation", "phase"
  std::string span;                     // "events", "recording"
  double start_unix_s = 0;
  double end_unix_s = 0;
  double span_s = 0;
  double gpu_time_s = 0;  // the spans of all GPUs
  std::uint64_t events = 0;
  std::uint64_t short_events = 0;
  double event_sum_s = 0;
  double busy_s = 0;    // of all GPUs
  double energy_j = 0;  // the integral
  double peak_w = 0;    // the highest sample or edge of one GPU
  double sensor_period_s = 0;
  std::vector<AttributionGpu> gpus;
  std::vector<AttributionIteration> iterations;
  std::vector<AttributionRow> rows;    // sorted
  AttributionRow rest;                 // nothing of these ran
  std::vector<AttributionCall> calls;  // only if they were asked for; in the order of time
  std::vector<std::string> call_names;
  std::vector<std::string> warnings;
  bool has_intervals = false;                   // they were asked for
  std::optional<FacilityReport> facility = {};  // of the integral; nullopt: not asked for

  double mean_w() const { return gpu_time_s > 0 ? energy_j / gpu_time_s : 0; }
};

// What the sensor resolved: "rows": each row's events are all longer than its period; "sum": only
// the sum of all rows; "nothing": not even that.
std::string measured_part(const AttributionReport& report);

// What a row costs: the part of all that is its part of the energy.
std::optional<FacilityFigures> facility_of(const AttributionReport& report,
                                           const AttributionRow& row);

// Sorts rows; those that are equal by name.
void sort_rows(std::vector<AttributionRow>& rows, AttributionOrder order);

// Text for people; `width` columns if names allow that.
std::string attribution_table(const AttributionReport& report, std::optional<std::size_t> most,
                              std::size_t width);
std::string attribution_json(const AttributionReport& report, std::optional<std::size_t> most);
std::string attribution_csv(const AttributionReport& report, std::optional<std::size_t> most);
// In the columns of GPUPP: one row for each call, or its file of the `most` ones by energy.
std::string attribution_gpupp(const AttributionReport& report, std::optional<std::size_t> most);

// ---- Two attributions beside each other, by name.

// What one name used in both; a side is 0 where the name is missing.
struct AttributionChange {
  std::string name;
  double time_s = 0;
  double energy_j = 0;
  double other_time_s = 0;
  double other_energy_j = 0;
  bool is_here = false;
  bool is_there = false;

  double change_j() const { return energy_j - other_energy_j; }
};

// `other` is what attribution_json() wrote, with all rows, of the file `path`. The largest changes
// of energy come first. Throws Error if it is something else, or by something else.
std::vector<AttributionChange> attribution_changes(const AttributionReport& report,
                                                   const std::string& other,
                                                   const std::string& path);

std::string changes_table(const std::vector<AttributionChange>& changes,
                          std::optional<std::size_t> most, std::size_t width);
std::string changes_csv(const std::vector<AttributionChange>& changes,
                        std::optional<std::size_t> most);
std::string changes_json(const AttributionReport& report,
                         const std::vector<AttributionChange>& changes, const std::string& path,
                         std::optional<std::size_t> most);

}  // namespace aggregate_power
