// The power of every device of one or several recordings, in memory.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "energy/plausibility.h"
#include "energy/power_trace.h"
#include "recorders/gpu_selection.h"
#include "runs/counters.h"
#include "runs/run_options.h"

namespace aggregate_power {

struct TracesRequest : RecordingOptions {
  std::vector<std::string> files;  // normal paths
  GpuSelection gpus = {};          // those that count
  bool with_counters = false;      // energy counters, too, where a recording has them
  // Reasons of series_doubts() that warn instead of refusing; nullopt: the readings are not judged.
  std::optional<std::vector<Reason>> accepted = {};
  double max_sample_gap_s = kDefaultMaxSampleGapS;
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
  std::vector<std::string> silent;         // devices whose rows have no reading of power at all
  std::vector<TraceFile> files;
  double first_unix_s = 0;  // of all devices
  double last_unix_s = 0;
};

// Devices of one name in several files are named "FILE:DEVICE", by the stems of the files. Throws
// FileError if a file cannot be opened, and Error if one cannot be read, has no power and no energy
// counter that is requested, or lacks a GPU that was selected, or if their scopes differ: power of
// different scopes is never added.
Traces read_traces(const TracesRequest& request);

// What their sensors measure: "gpu", "node". "unknown" if no recording shows it.
std::string scope_of(const Traces& traces);
PlausibleWatts plausible_watts_of(const Traces& traces);
// Why a window's mean is above the highest power limit that the GPU's rows state; empty: it is not.
std::string above_limit_text(double mean_w, double limit_w);
// In which bare numbers of the first recording were read.
PowerUnit::Size unit_of(const Traces& traces);

}  // namespace aggregate_power
