// What a recorder notes beside its recording: when a wrapped command ran, and how its clocks stood.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/sample.h"
#include "recorders/recording.h"

namespace aggregate_power {

// The Unix clock and the machine's monotonic clock at one instant.
struct ClockPair {
  double epoch_s = 0;
  double monotonic_s = 0;
  std::string boot_id;  // the monotonic clock starts at 0 with each boot
};

struct RecorderContext {
  std::optional<Window> window;    // of the command that the recorder ran
  std::optional<int> exit_status;  // of that command
  std::vector<ClockPair> clock_pairs;
};

// From STEM_context.json beside the recording. What it does not state properly is left out.
RecorderContext recorder_context(const Recording& recording);

// How far the Unix clock was set while a window was recorded, in seconds: positive is forward.
// Returns nullopt if it was less than half a second, or if nothing shows it.
std::optional<double> clock_step_s(Window window, const std::vector<ClockPair>& pairs);

// A window of the monotonic clock on the Unix clock.
struct TiedWindow {
  std::optional<Window> window;
  std::string fault;  // why there is none
};
TiedWindow tied_window(Window monotonic, const std::vector<ClockPair>& pairs);

}  // namespace aggregate_power
