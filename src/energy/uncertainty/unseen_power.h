// What stretches without readings leave open. Pure arithmetic.
#pragma once

#include "aggregate_power/sample.h"
#include "energy/uncertainty/reading_series.h"
#include "energy/uncertainty/sensor_model.h"

namespace aggregate_power {

// The standard uncertainty, in joules, of the energy of a window's stretches between two readings
// that are further apart than three periods and two windows of the sensor; 0 if there are none.
// For a stretch of length g it is g * sqrt(D(g / 2) * min(1, t / g)): D(L) is half the mean square
// difference of readings that are L apart (their variance, where none are), and t the time for
// which readings resemble one another. Stretches are independent.
double unseen_j(const ReadingSeries& series, const SensorModel& sensor, Window window);

}  // namespace aggregate_power
