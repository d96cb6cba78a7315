// Whether the readings of each device of a recording are of one GPU, of a sensor that is counted
// once, fresh, and of one that moves. Pure arithmetic.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/reason.h"
#include "aggregate_power/sample.h"
#include "energy/sensors/stuck_sensor.h"

namespace aggregate_power {

using energy::DeviceSeries;
using energy::SeriesRules;

// several_gpus_in_one_series, same_sensor, readings_repeat and stuck_sensor, with the devices.
//
// * several_gpus_in_one_series: SingleSeries has a doubt of a device.
// * same_sensor: devices whose readings are equal at all their common times, at least 20, with at
//   least 5 values; not steps between a few plateaus, and not steps so coarse that GPUs 0.3 % apart
//   would have differed less than 5 times. Of sensors that are not coarse, 9 in 10 moves suffice,
//   and so do readings that differ by 0.2 % at most, to both sides, and move much more, or differ
//   by the same at low and at high power; whole watts by one, from 334 W on. Or a device is the
//   total of others, see total_text().
// * readings_repeat: see stale_text().
// * stuck_sensor: see stuck_text().
Reasons series_reasons(std::span<const DeviceSeries> devices, const SeriesRules& rules);

// What may be wrong and is no reason to refuse: readings_repeat, see possible_hold_s() and
// possible_lines_s(); several_gpus_in_one_series of rows in groups; same_sensor of sensors whose
// steps are too coarse, or whose power hardly varies; stuck_sensor, see possibly_stuck_text().
Reasons possible_series_reasons(std::span<const DeviceSeries> devices, const SeriesRules& rules);

// ---- The parts

// Whether two devices are one sensor. Devices of one recording are compared at stamps up to half an
// interval apart, and must be equal. Devices of two recordings may be one GPU that two recorders
// asked: readings count as equal if they are within 0.1 W of that before or after their stamp,
// or within 1 W if one recorder rounds to whole watts.
enum class Sameness {
  none,
  possible,  // equal at all times, but in coarse steps, or, of two recordings, of few values
  certain,
};
Sameness sameness(std::span<const Sample> a, std::span<const Sample> b, bool of_two_recordings);

}  // namespace aggregate_power
