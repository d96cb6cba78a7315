// How often a sensor gave a new value: nothing shorter can be told apart. Pure arithmetic.
#pragma once

#include <span>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// The median time between two changes of the value; the whole recording if it changed less than
// twice. `samples` are sorted. A recorder that samples less often than the sensor changes gives its
// own period: more the recording cannot show.
double sensor_period_s(std::span<const Sample> samples);

}  // namespace aggregate_power
