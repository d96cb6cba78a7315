// Measures a recording over a window, in either schema.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/load.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/result.h"
#include "core/energy/fleet_power.h"
#include "core/energy/gpu_state_mean.h"
#include "core/energy/integrate.h"
#include "core/energy/mean_power.h"
#include "core/energy/plausibility.h"
#include "energy/shares/window_placement.h"
#include "energy/uncertainty/gather.h"
#include "recorders/recording.h"
#include "runs/evaluate/counters.h"
#include "runs/evaluate/run_options.h"
#include "runs/measure/gpu_work.h"
#include "runs/measure/series_doubts.h"

namespace aggregate_power {

struct SensorReadings;

// What its sensors can read.
PlausibleWatts plausible_watts(const SeriesFacts& facts);
// Whether all GPUs that it names are boards that never draw 5 W.
bool are_large(const SeriesFacts& facts);
// Whether what rows state of their GPU's limit is about the power that is read.
bool has_own_limit(const SeriesFacts& facts);

// Looks at the rows of a recording while it is measured.
struct Onlooker {
  GpuQuantitySet states = {};                   // that it wants to see
  std::function<void(const Batch&)> take = {};  // all rows, in the file's order
  // All samples of power, in time order, after the last row; not called for a recording that breaks
  // off.
  std::function<void(const Samples&, const Telemetry&)> conclude = {};
};

// `keys` may need the total power of all GPUs, and their states.
struct MeasurementRequest : RunOptions {
  bool with_snapshots = false;  // compare with the energy snapshots beside the recording
  bool explains = true;         // says more about its reasons where it can
  std::string host = {};        // that the recording is of, for people; empty: of the only one
  std::optional<PlaceSlack> slack = {};  // of a window that was placed by the power
  bool is_one_of_several = false;        // other recordings of the run may have the selected GPUs
  bool may_use_threads = false;  // for read_rows(); only if no other recording is read meanwhile
  // Also receives all readings, in the file's order.
  std::function<void(std::span<const Reading>)> also = {};
  // Called before each reading of the recording.
  std::function<Onlooker(const SeriesFacts&)> beside = {};
  // If an uncertainty or idle power is wanted: receives what assess() read of a run.
  SensorReadings* readings = nullptr;
  // Receives what the GPUs did in the window.
  runs::GpusAtWork* work = nullptr;
  // If other recordings may be of the same GPUs: receives samples to compare.
  SeriesSink* series = nullptr;
};

struct Measurement {
  Integration integration;              // schema 2; in schema 1 only the reasons and GPUs
  std::optional<MeanPower> mean_power;  // schema 1
  std::optional<CounterCheck> counter_check;
  std::vector<GatheredReadings> gathered;  // if an uncertainty or idle power is wanted
  std::optional<CountersRead> counters;    // if they could be read along with the power
  FleetMeasurement fleet;
  std::optional<GapEnergyBound> gap_bound;  // if longer gaps than usual are accepted
  std::vector<GpuLimit> limits;             // that rows in the window state
  // That warn: in schema 1 those that refuse a run of schema 2, in schema 2 those that are
  // possible.
  Reasons series_doubts;
  std::optional<std::string> edge_doubt;    // what the edges of the window may hide
  Reasons column_faults;                    // why columns are missing, beyond the contract's codes
  std::optional<TelemetryFacts> telemetry;  // nullopt: it was not read
  std::vector<std::string> devices;         // all that the recording names, selected or not
  std::vector<std::string> unread_gpus;     // TelemetryFacts'
  std::optional<std::string> zone_hint;
  std::optional<std::string> zone_doubt;  // Recording's
  bool could_not_read = false;            // the system's fault, not the content's
};

// Without a load only the snapshots are compared. Never throws because of the recording: problems
// with it are reasons.
Measurement measure(const MeasurementRequest& request, const Recording& recording,
                    const std::optional<Load>& load);

}  // namespace aggregate_power
