// The power of every device of one or several recordings, in memory, and how windows are reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/facility.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/sample.h"
#include "core/energy/counter_trace.h"
#include "core/energy/curve.h"
#include "core/energy/plausibility.h"
#include "core/telemetry/gpu_identity.h"
#include "core/telemetry/power_limits.h"
#include "runs/evaluate/counters.h"
#include "runs/evaluate/run_options.h"
#include "runs/measure/witnesses.h"

namespace aggregate_power {

// ---- What named windows used, for people and for programs, window by window: there may be
// millions.

enum class WindowFormat { table, csv, json, zeus };

// An energy with its interval: 95 %.
struct StatedEnergy {
  double estimate_j = 0;
  double low_j = 0;
  double high_j = 0;

  double half_j() const { return (high_j - low_j) / 2; }
};

// One GPU in one window. Without a fault its numbers are known.
struct GpuWindow {
  std::string fault = {};  // why it was not measured
  std::string_view source = "power";
  double energy_j = 0;
  double own_energy_j = 0;                  // outside the windows inside this one
  std::optional<double> peak_power_w = {};  // nullopt: the power does not cover the window

  // Of a GPU with an energy counter: what each source says.
  std::optional<double> power_energy_j = {};
  std::optional<double> counter_energy_j = {};
  std::optional<double> counter_resolution_j = {};  // at both edges together
  std::string counter_fault = {};                   // why it is not the counter's energy
  std::optional<double> logged_energy_j = {};       // what the windows file states
  // By how much the counter is off the power between its steps, and what power alone may be off.
  std::optional<double> counter_off_j = {};
  double repeatability_half_j = 0;
  std::optional<StatedEnergy> stated = {};  // if it was asked for and there is one

  std::optional<FacilityFigures> facility = {};  // of a measured GPU, if asked for
};

struct WindowRow {
  std::size_t number = 0;  // from 1
  std::string_view name = {};
  Window window = {};
  std::size_t parent = 0;  // its number; 0: none
  std::uint32_t depth = 0;
  std::string_view overlaps = {};  // a window's name; empty: none
  bool has_children = false;
  double own_duration_s = 0;
  std::vector<GpuWindow> gpus = {};           // in the order of WindowReportFacts::gpus
  std::optional<StatedEnergy> stated = {};    // of all GPUs
  std::string no_interval = {};               // why there is none; empty: there is, or nobody asked
  std::vector<WitnessEnergy> witnesses = {};  // in that of WindowReportFacts::witnesses
  // Of all GPUs, if they were all measured and it was asked for.
  std::optional<FacilityFigures> facility = {};
  std::optional<ModelledNode> node = {};  // by a calibration, if asked for

  // Why not all GPUs were measured, with the GPU's name; empty: they were.
  std::string fault(const std::vector<std::string>& names) const;
  // The energy of all GPUs, if they were all measured.
  std::optional<double> measured_energy_j() const;
  // Of all GPUs, if all were measured.
  double energy_j() const;
  double own_energy_j() const;
};

struct WindowReportFacts {
  std::vector<std::string> gpus = {};
  std::vector<std::string> telemetry = {};
  std::string windows_file = {};
  Window recorded = {};
  std::size_t longest_name = 0;           // with its indentation
  std::vector<std::string> missing = {};  // why a benchmark has no window
  std::vector<WitnessFacts> witnesses = {};
  bool has_counters = false;     // some GPU has an energy counter
  bool has_intervals = false;    // they were asked for
  bool has_logged = false;       // some window of the file states energies
  FacilityRates rates = {};      // those asked for
  std::string measured = "gpu";  // measured_boundary()
};

// The parts of a report, in this order. Facts outlive it.
template <typename Row>
class RowReport {
 public:
  virtual ~RowReport() = default;
  virtual std::string head() = 0;
  virtual void add(const Row& row, std::string& text) = 0;
  virtual std::string foot() { return {}; }
};
using WindowReport = RowReport<WindowRow>;

std::unique_ptr<WindowReport> window_report(WindowFormat format, const WindowReportFacts& facts);

// The columns of a CSV of Zeus for these GPUs: "gpu3_energy" for a GPU named by its number; if not
// all are, by its place.
std::vector<std::string> zeus_columns(const std::vector<std::string>& gpus);

struct TracesRequest : RecordingOptions {
  std::vector<std::string> files;  // normal paths
  GpuSelection gpus = {};          // those that count
  bool with_counters = false;      // energy counters, too, where a recording has them
  bool compares_counters = false;  // those refute the power, and measure nothing
  // Reasons of series_doubts() that warn instead of refusing; nullopt: the readings are not judged.
  std::optional<std::vector<Reason>> accepted = {};
  double max_sample_gap_s = kDefaultMaxSampleGapS;
  double clock_offset_s = 0;  // to be added to the recordings' times
};

// One file as it was read.
struct TraceFile {
  std::string path;
  TelemetryFacts facts;
  std::vector<std::string> warnings;
  Zone zone = Zone::fixed(0);            // of stamps without an offset
  std::vector<std::string> models = {};  // SensorReadings'
  std::string models_from = {};
};

struct Traces {
  std::vector<PowerTrace> devices;         // in the order of their names
  std::vector<DeviceCounter> counters;     // also of devices without power
  std::map<std::string, double> limits_w;  // the highest power limit that a device's rows state
  // Devices whose readings below 5 W have a utilization of 50 % or more, with its mean.
  std::map<std::string, double> worked_pct;
  std::vector<std::string> silent;  // devices whose rows have no reading of power at all
  std::vector<TraceFile> files;
  double first_unix_s = 0;  // of all devices
  double last_unix_s = 0;
};

// Devices of one name in several files are named "FILE:DEVICE", by the stems of the files. Throws
// FileError if a file cannot be opened, and Error if one cannot be read, has no power and no energy
// counter that is requested, or lacks a GPU that was selected, or if their scopes differ: power of
// different scopes is never added.
Traces read_traces(const TracesRequest& request);

// Throws Error with the first of reasons against a recording, and how to accept it.
[[noreturn]] void refuse_doubts(const std::string& path, const Reasons& doubts);

// What their sensors measure: "gpu", "node". "unknown" if no recording shows it.
std::string scope_of(const Traces& traces);
PlausibleWatts plausible_watts_of(const Traces& traces);
// Whether counters of its GPUs also have a processor and its memory.
bool has_module(const Traces& traces);

// What is known of a GPU beside its readings.
struct PowerBounds {
  PlausibleWatts plausible = {};
  PowerUnit::Size unit = PowerUnit::Size::watt;  // in which bare numbers were read
  double limit_w = 0;                            // the highest that its rows state; 0: none
  std::optional<double> worked_pct = {};         // Traces'
  bool is_large = false;                         // DrawnPower's
  std::optional<PowerLimit> board = {};          // the highest of all files; nullopt: unknown
};
PowerBounds bounds_of(const Traces& traces, const std::string& device);
// Why no GPU drew that in a window, for people; empty: one may have.
std::string impossible_text(double mean_w, double peak_w, const PowerBounds& bounds);

// ---- What says how much energy one GPU used in a window: its counter if it can, else its power.

struct MeterOptions {
  double max_sample_gap_s = kDefaultMaxSampleGapS;
  PowerBounds bounds = {};
  bool is_of_module = false;  // counters also have the processor and the memory
  bool only_checks = false;   // its counter does not measure: CounterUnit
};

// Whether a counter says that the energy of the power in a window is wrong.
bool is_refuted(const CounterTrace& counter, double power_j, Window window,
                const MeterOptions& options);

class WindowMeter {
 public:
  // `power` is null if only the counter was recorded; it must outlive this object.
  WindowMeter(std::string gpu, const PowerTrace* power, std::optional<CounterTrace> counter,
              const MeterOptions& options);

  const std::string& gpu() const { return gpu_; }
  // `own` is the window without those inside it.
  GpuWindow measure(Window window, const std::vector<Window>& own) const;
  // The energy of a part of a window that was measured, by the source that measured it.
  double energy_in_part(Window part, const GpuWindow& whole) const;

 private:
  GpuWindow by_power(Window window, const std::vector<Window>& own) const;
  std::string counter_fault(Window window, const GpuWindow& gpu) const;

  std::string gpu_;
  const PowerTrace* power_;
  std::optional<TraceCoverage> coverage_;  // nullopt: no power
  std::optional<CounterTrace> counter_;
  MeterOptions options_;
};

// One for each GPU of the recordings, in the order of their names. The counters are moved from. The
// traces must outlive them.
std::vector<WindowMeter> meters_of(Traces& traces, double max_sample_gap_s);

}  // namespace aggregate_power
