// Which readings of a sensor are new, and over which stretch of time each is a mean. Pure
// arithmetic.
#pragma once

#include <span>
#include <vector>

#include "aggregate_power/sample.h"
#include "energy/sensor_model.h"

namespace aggregate_power {

// The mean power over a stretch of the sensor's window_s that ended between end_unix_s - age_s and
// end_unix_s; nobody knows when.
struct PlacedReading {
  double watts = 0;
  double end_unix_s = 0;
  double age_s = 0;
};

// Of readings in time order with stamps of asking. A sensor asked faster than it refreshes repeats
// its value: then only readings that differ from the one before are new, and one for each refresh
// without a change.
std::vector<PlacedReading> place_readings(std::span<const Sample> samples,
                                          const SensorModel& sensor);

// Those inside a window, of samples in time order.
std::span<const Sample> samples_in(std::span<const Sample> samples, Window window);

// The median time between two stamps; 0 if there are fewer than two.
double median_period_s(std::span<const Sample> samples);

}  // namespace aggregate_power
