// What speaks against the place of a run's window.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "aggregate_power/reason.h"
#include "aggregate_power/sample.h"
#include "core/telemetry/samples.h"
#include "energy/shares/window_placement.h"

namespace aggregate_power::energy {

// How a command corrects the recording's clock.
struct ClockRemedy {
  std::string host = {};  // whose recording it is, for --clock-offset; empty: of the only one
  double offset_s = 0;    // added already
  bool is_possible = true;
};
// "--clock-offset -30", "--clock-offset node1=-30": for a clock that is ahead by that much.
std::string clock_option(const ClockRemedy& clock, double ahead_s);

// load_outside_window and clock_offset_suspected, by load_elsewhere().
struct WindowDoubts {
  Reasons certain;   // that refuse the run
  Reasons possible;  // that warn
};
// Of GPUs, each with its samples in time order. A window that was placed by the power may be
// earlier or later, and a load there only warns; any other load refuses it, however near it is.
WindowDoubts window_doubts(std::span<const std::span<const Sample>> gpus, Window window,
                           const ClockRemedy& clock, const std::optional<PlaceSlack>& slack = {});
// `samples` are sorted.
WindowDoubts window_doubts(const Samples& samples, Window window, const ClockRemedy& clock,
                           const std::optional<PlaceSlack>& slack = {});

}  // namespace aggregate_power::energy
