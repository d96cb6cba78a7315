// The estimate for one GPU: from its readings, its counter, and every sensor that it may have. Pure
// arithmetic.
#pragma once

#include <optional>
#include <string>

#include "energy/uncertainty/estimate.h"
#include "energy/uncertainty/reading_series.h"

namespace aggregate_power {

// Of stamps of asking; standard.
struct StampUncertainty {
  double place_s = 0;  // of all of them together
  double span_s = 0;   // of the time between the first and the last
};

struct GpuEnergyQuestion {
  const GpuReadings& gpu;       // stamps are those of asking
  const ReadingSeries& series;  // its samples without faults
  Window window;                // on the recorder's clock
  double clock_uncertainty_s = 0;
  StampUncertainty stamps = {};
  double shift_uncertainty_s = 0;  // of a window that was moved to the load
};

struct GpuEnergy {
  Estimate energy;  // without the accuracy of the sensor
  double shift_j = 0;
  double edges_j = 0;
  double counter_j = 0;  // correction: the counter's energy instead of the readings'
  std::optional<CounterUse> counter;
  bool is_counter_rejected = false;
  std::string counter_fault;  // for people
  bool assumes_load_in_window = false;
};

GpuEnergy gpu_energy(const GpuEnergyQuestion& question);

}  // namespace aggregate_power
