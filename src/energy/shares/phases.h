// The power of prefill and of decode on GPUs that do both at once, from the readings and the times
// of the requests. Pure arithmetic: no files, no clock, no printing.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/request.h"
#include "aggregate_power/request_energy.h"
#include "aggregate_power/sample.h"
#include "energy/uncertainty/sensor_model.h"

namespace aggregate_power {

struct PhaseQuestion {
  Window window;
  double energy_j = 0;           // of the window
  std::vector<Sample> readings;  // of all GPUs together, in time order, also around the window
  std::vector<RequestTimes> requests;
  // What a reading may be a mean of: at least one. The one that explains the readings best counts;
  // its delay, and the length of its window if it is long, are found along with the watts.
  std::vector<SensorModel> sensors;
};

struct PhaseAnswer {
  PhaseEnergy energy;
  // The watts of a request in each phase, by the counts; nullopt if they are refused.
  struct Weights {
    double prefill_w = 0;
    double decode_w = 0;
  };
  std::optional<Weights> weights;
  std::vector<std::string> weights_refused;
};

// A reading is explained by what the requests did in the very stretch that it averaged: the age of
// the value shown, between 0 and the sensor's refresh, counts as a mean of six ages.
PhaseAnswer phase_energy(PhaseQuestion question);

// The readings of several GPUs that were taken together, added: for each reading of the GPU with
// the fewest, the nearest one of every other. Readings are in time order.
std::vector<Sample> readings_together(std::span<const std::vector<Sample>> gpus);

}  // namespace aggregate_power
