// What the sensors behind recordings in memory do to stretches of them, and intervals for these.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/reason.h"
#include "aggregate_power/sample.h"
#include "energy/uncertainty/estimate.h"
#include "energy/uncertainty/sensor_table.h"
#include "runs/calibrate/calibrate.h"
#include "runs/windows/window_energy.h"

namespace aggregate_power::runs {

struct TraceSensors {
  std::string field;                     // that the readings are of: "power.draw [W]"
  std::string boards;                    // the model of the GPUs, or their family, for people
  std::vector<SensorModel> models = {};  // each that is possible; empty: nobody knows
  std::string unresolved = {};           // why there is none, and what to do; for people
  Stamps stamps = Stamps::query_time;
  std::optional<SensorAccuracy> accuracy = {};  // else as of boards in general

  // What the longest of them averages over; 0: nobody knows.
  double window_s() const;
  // How much older than their stamps readings are, in the mean.
  double age_s() const;
};

// For --calibration: the GPUs of all recordings together, and the options with the gain that a
// profile states for them, unless the caller states one.
CalibratedGpus gpus_of_traces(const UncertaintyOptions& options, const Traces& traces);
UncertaintyOptions with_calibration(UncertaintyOptions options, const AppliedProfile& profile);

// Of all files together: where they differ, there are no models.
TraceSensors trace_sensors(const Traces& traces, const UncertaintyOptions& options);

// For people: that stretches of `shortest_s` are smeared, where it is known that readings are means
// over a long time; empty: they are not.
std::string smear_note(const TraceSensors& sensors, double shortest_s);

// A GPU with the readings around a window, ready for an estimate of what was published of it.
GpuReadings readings_around(const PowerTrace& power, std::span<const CounterSample> counter,
                            const TraceSensors& sensors, Window window, double published_j);

// The estimate of GPUs over one window.
EnergyEstimate estimate_stretch(std::vector<GpuReadings> gpus, Window window,
                                const UncertaintyOptions& options);

// ---- Whether windows of recordings in memory are where their loads are, by the recordings' clock.

// All windows of a log, or all events of a profile, together.
struct PlacedSpan {
  Window window;
  bool is_of_load = false;    // else it may be of idle time as well
  std::string file = {};      // that states it: a recording that was copied with it has its time
  double clock_offset_s = 0;  // added to the recordings' times
  std::vector<Reason> accepted = {};
};

// Warnings, for people. Throws Error with what speaks against the span: timezone_ambiguous,
// load_outside_window and clock_offset_suspected, as for a run.
std::vector<std::string> place_doubts(const Traces& traces, const PlacedSpan& span);

}  // namespace aggregate_power::runs
