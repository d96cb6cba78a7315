// Watts of a meter for each watt of the GPUs that it measures, from readings of both over the same
// time. Pure arithmetic: no files, no clock, no printing.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/record_facts.h"
#include "aggregate_power/sample.h"
#include "core/energy/curve.h"

namespace aggregate_power {

struct CalibrationQuestion {
  // Of each recording the GPUs, all that the meter feeds and the same each time. At least one.
  std::vector<std::span<const PowerTrace>> recordings;
  const NodeWitness& meter;          // a power or a counter; over the time of all recordings
  std::vector<Window> windows = {};  // by the GPUs' clock; empty: wherever both have readings
  double max_sample_gap_s = 3;
};

// A number with its standard uncertainty, and the interval that holds it with a probability of
// 95 %.
struct BoundedNumber {
  double value = 0;
  double standard = 0;
  double low = 0;
  double high = 0;

  double half_width() const { return (high - low) / 2; }
};

// meter = slope * GPUs + intercept, in watts.
struct Calibration {
  std::string refusal = {};  // why there is none, and what to record instead; empty: there is one
  BoundedNumber slope = {};
  BoundedNumber intercept_w = {};  // of the meter when the GPUs draw nothing
  BoundedNumber lag_s = {};        // how much later the meter's stamps are than the GPUs': the mean
  BoundedNumber center_w =
      {};                   // of the meter at `gpu_center_w`, where slope and level are independent
  double gpu_center_w = 0;  // the mean of all stretches
  double gpu_least_w = 0;   // the range of the stretches
  double gpu_most_w = 0;
  double slow_w = 0;     // standard deviation of what changes slowly beside the GPUs, as fans do
  double slow_s = 0;     // how long that keeps its value
  double scatter_w = 0;  // standard deviation of all that the line leaves
  double freedom = 0;    // degrees
  double bow_w = 0;  // how far the middle of the range is above a straight line between its ends;
                     // 0: nothing shows that it is
  std::size_t zeros = 0;  // readings of 0 W, which were left out
  double step_w = 0;      // all powers of the meter are multiples of it apart; 0: they are not
  double refresh_s = 0;   // of the meter, as far as the readings show it
  std::size_t stretches = 0;
  double stretch_s = 0;
};

// Errors of both sides are allowed for: what readings of the GPUs miss between them does not lower
// the slope. The meter may smooth more or less than the GPUs' sensors, and be up to 15 s early or
// late, in each recording by another time. One line is fitted to all recordings together.
Calibration calibrate(const CalibrationQuestion& question);

}  // namespace aggregate_power
