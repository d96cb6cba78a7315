// Whether the readings of each device of a recording are of one GPU, of a sensor that is counted
// once, fresh, and of one that moves. Pure arithmetic.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/reason.h"
#include "aggregate_power/sample.h"

namespace aggregate_power {

struct DeviceSeries {
  std::string device;               // its name
  std::span<const Sample> samples;  // in time order, then in the file's order
  // Each that it stated of itself in its constant_stretches().
  std::vector<double> utilization_pct = {};
  std::vector<double> temperature_c = {};
};

struct SeriesRules {
  Window window = kAlways;  // whose energy counts
  double max_sample_gap_s = 3;
  double clock_offset_s = 0;  // was added to the stamps
};

// several_gpus_in_one_series, same_sensor, readings_repeat and stuck_sensor, with the devices.
//
// * several_gpus_in_one_series: SingleSeries has a doubt of a device.
// * same_sensor: devices whose readings are equal at all their common times, at least 20, with at
//   least 5 values; not steps between a few plateaus.
// * readings_repeat: the values of a device change only at multiples of a time that is longer than
//   the gap that is accepted, see refresh_s().
// * stuck_sensor: the power is one value, at least 20 times, in the whole recording or throughout
//   the window and up to where it changes, while the device's utilization doubles, another device's
//   power changes by more than a fifth, or, if the value has decimals, the device's temperature
//   does, or the device works while its readings elsewhere vary. An idle device draws about as much
//   as others when they are idle; one at its limit in the window draws as much nowhere else.
Reasons series_reasons(std::span<const DeviceSeries> devices, const SeriesRules& rules);

// ---- The parts

// Whether two devices are one sensor. Devices of one recording are compared at stamps up to half an
// interval apart, and must be equal. Devices of two recordings may be one GPU that two recorders
// asked: readings count as equal if they are within 0.1 W of that before or after their stamp,
// or within 1 W if one recorder rounds to whole watts.
enum class Sameness {
  none,
  possible,  // of two recordings: equal at all times, but of less than 5 values
  certain,
};
Sameness sameness(std::span<const Sample> a, std::span<const Sample> b, bool of_two_recordings);

// The time between new values of a sensor that is slower than its recorder; nullopt: the readings
// do not show one. Values change only at multiples of this time, give or take a sample, at least 8
// times in 10, and never sooner; of the values, 5 differ, or all. A sensor that repeats itself
// because it is rounded, idle or at its limit changes at times of all lengths, or by its last digit
// only.
std::optional<double> refresh_s(std::span<const Sample> samples);

// Where a device's power never changed, in the recording or in the window, for at least 20 samples:
// what else the device stated meanwhile is worth a look.
struct ConstantStretch {
  std::size_t device = 0;  // its place
  Window stretch;
};
std::vector<ConstantStretch> constant_stretches(std::span<const DeviceSeries> devices,
                                                const SeriesRules& rules);

}  // namespace aggregate_power
