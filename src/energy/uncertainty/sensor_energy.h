// The energy of one GPU in a window under one sensor model, in the sensor's own frame. Pure
// arithmetic.
#pragma once

#include <cmath>
#include <optional>
#include <span>

#include "aggregate_power/sample.h"
#include "energy/uncertainty/reading_series.h"
#include "energy/uncertainty/sensor_model.h"

namespace aggregate_power {

// Of the energy, for a load in step with readings that leave out some time: one was 13 % off on a
// real board, but few loads are. 1.5 %, times the share of time that is not seen.
double in_step_share(const SensorModel& sensor, double period_s);
// The same for averages over a long window, every `period_s`: time is left out, or counted twice,
// where the period is not the window, and what power swings within averages is misread.
// `fast_share` is how much of that the readings show, relative to their mean. 0 for other sensors.
double between_windows_share(const SensorModel& sensor, double period_s, double fast_share);

struct SensedEnergyQuestion {
  const ReadingSeries& series;  // without faults; at least two
  SensorModel sensor;
  Window window;
  double timing_s = 0;  // standard uncertainty of the readings' place in time, beyond delay_s
  // Whether a load may begin with the window, and end with it.
  bool may_begin = true;
  bool may_end = true;
  // Whether only the energy is asked for, with sampling_j, between_windows_j and log_evidence.
  bool is_brief = false;
};

// Standard uncertainties in joules.
struct SensedEnergy {
  double joules = 0;
  double sampling_j = 0;         // readings do not see all
  double timing_j = 0;           // delay and clocks
  double window_known_j = 0;     // length of the sensor's window
  double between_windows_j = 0;  // of averages, of which some time is missing or counted twice
  double moments_j = 0;          // moments stand for means
  double not_seen_j = 0;         // a load in step with readings that leave out some time
  double shift_j = 0;            // correction: readings are older than their stamps
  double edges_j = 0;            // correction: what averages blur at the edges
  bool assumes_load_in_window = false;
  std::optional<double> log_evidence;  // of the sensor model; nullopt: unknown
  // Change of the energy if the readings were a second later, or its reverse if they were earlier:
  // whichever is larger for what is not known of their times.
  double rate_w = 0;
};

inline double larger_change(double one, double other) {
  return std::abs(one) < std::abs(other) ? other : one;
}

// By the posterior of the power.
SensedEnergy averaged_energy(const SensedEnergyQuestion& question);

// The same for a window of any length in bounded time: by the posterior at both edges and in some
// stretches in between, which stand for the rest.
SensedEnergy long_averaged_energy(const SensedEnergyQuestion& question);

// By straight lines between readings, which lose least if they are moments.
SensedEnergy moment_energy(const SensedEnergyQuestion& question);

// By whichever of the two suits the sensor and the recorder.
SensedEnergy sensor_energy(const SensedEnergyQuestion& question);

// The energy under straight lines between samples, which are in time order; level beyond both
// ends. Samples with one stamp count once, as their mean.
double line_energy_j(std::span<const Sample> samples, Window window);
// By how much it changes if the window is `later_s` later.
double later_energy_change_j(std::span<const Sample> samples, Window window, double later_s);

}  // namespace aggregate_power
