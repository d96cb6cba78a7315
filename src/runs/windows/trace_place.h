// Whether windows of recordings in memory are where their loads are, by the recordings' clock.
#pragma once

#include <string>
#include <vector>

#include "aggregate_power/reason.h"
#include "aggregate_power/sample.h"
#include "runs/windows/window_energy.h"

namespace aggregate_power::runs {

// All windows of a log, or all events of a profile, together.
struct PlacedSpan {
  Window window;
  bool is_of_load = false;    // else it may be of idle time as well
  std::string file = {};      // that states it: a recording that was copied with it has its time
  double clock_offset_s = 0;  // added to the recordings' times
  std::vector<Reason> accepted = {};
};

// Warnings, for people. Throws Error with what speaks against the span: timezone_ambiguous,
// load_outside_window and clock_offset_suspected, as for a run.
std::vector<std::string> place_doubts(const Traces& traces, const PlacedSpan& span);

}  // namespace aggregate_power::runs
