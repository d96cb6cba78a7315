// Whether the readings of each device of a recording are of one GPU, of a sensor that is counted
// once, fresh, and of one that moves. Pure arithmetic.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/reason.h"
#include "aggregate_power/sample.h"

namespace aggregate_power {

namespace energy {

// ---- Whether a sensor of power hangs: it shows one value while what it measures changes. Pure
// arithmetic.

struct DeviceSeries {
  std::string device;               // its name
  std::span<const Sample> samples;  // in time order, then in the file's order
  // Each that it stated of itself in its constant_stretches().
  std::vector<double> utilization_pct = {};
  std::vector<double> temperature_c = {};
  std::vector<double> clock_mhz = {};
  bool has_uuid = false;    // its rows name one GPU
  bool is_in_watts = true;  // as they are written
};

struct SeriesRules {
  Window window = kAlways;  // whose energy counts
  double max_sample_gap_s = 3;
  double clock_offset_s = 0;  // was added to the stamps
};

// Where a device's power does not change for at least 20 samples, in the recording, or for a fifth
// of the window and up to where it changes: what else the device stated meanwhile is worth a look.
struct ConstantStretch {
  std::size_t device = 0;  // its place
  Window stretch;
};
std::vector<ConstantStretch> constant_stretches(std::span<const DeviceSeries> devices,
                                                const SeriesRules& rules);

// Why the device's sensor is stuck, for people: "GPU 2 reads 311 W in all 54 samples while GPU 0
// went from 140 to 580 W; it is 5.8 % of the energy". Empty: nothing shows it.
//
// Its power is constant, see above, while its utilization or its clock changes by much, another
// device's power changes by more than a fifth, or, if the value has decimals, its temperature does
// or it works; or its other readings, of about the same power if there are any, hardly ever repeat;
// or elsewhere its power changes as another device's does. An idle device draws about as much as
// others when they are idle; one at its limit never draws more, and is not idle. A value with
// decimals is stuck if it stays from 10 s before the window to 10 s after it, unless it is below a
// quarter of what another device reads.
//
// Or it reads 0 W four times or more in the window, in 1 % of its readings there, while all others
// of the recording are above 15 W.
std::string stuck_text(std::span<const DeviceSeries> devices, std::size_t own,
                       const SeriesRules& rules);

// The same where it may also be a steady load or rest: no device's power changes from 2 s before
// the window to 2 s after it; its other readings repeat less than it does; it changes as another
// device's does, but seldom; or it rests for half of the window and works before and after that. A
// reason to ask, and none to refuse.
std::string possibly_stuck_text(std::span<const DeviceSeries> devices, std::size_t own,
                                const SeriesRules& rules);

// ---- Whether a recording has the total or the mean of its GPUs as a device of its own. Pure
// arithmetic.

// Devices that are called "total", "sum", "all", "average" or the like where others are not; those
// that are called a sensor of the machine, such as "system" or "node 0"; and
// those whose readings are the sum or the mean of the others' at all times, at least 20, with at
// least 5 values: of all others, or of all others on the same host ("host/0"). Says which, for
// people, with the --gpus that leaves them out; empty: there is none.
std::string total_text(std::span<const DeviceSeries> devices);

// Where all devices are means by their names ("mean", "avg"), or several GPUs ("0,1,2,3", or "1.5",
// the mean of their indices): says which. Empty: some are not.
std::string only_means_text(std::span<const DeviceSeries> devices);

}  // namespace energy

// ---- All checks

using energy::DeviceSeries;
using energy::SeriesRules;

// gpu_identity_conflict, several_gpus_in_one_series, same_sensor, readings_repeat and stuck_sensor,
// with the devices.
//
// * gpu_identity_conflict: two devices share the times of one, as where some rows lack its id: each
//   is there only where the other is not, in turn 5 times or more, and together at even intervals.
// * several_gpus_in_one_series: SingleSeries has a doubt of a device, or its power takes turns and
//   its rows have no UUID.
// * same_sensor: devices whose readings are equal at all their common times, at least 20, with at
//   least 5 values; not steps between a few plateaus, and not steps so coarse that GPUs 0.3 % apart
//   would have differed less than 5 times. Of sensors that are not coarse, 9 in 10 moves suffice,
//   and so do readings that differ by 0.2 % at most, to both sides, and move much more, or differ
//   by the same at low and at high power; whole watts by one, from 334 W on. Or a device is the
//   total of others, see total_text().
// * readings_repeat: see stale_text().
// * stuck_sensor: see stuck_text().
Reasons series_reasons(std::span<const DeviceSeries> devices, const SeriesRules& rules);

// same_sensor alone, of energy counters: those that counted the same at all times, or whose mean
// powers between readings are the same. Samples of `counts` are joules.
Reasons same_counter_reasons(std::span<const DeviceSeries> counts,
                             std::span<const DeviceSeries> powers);

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
