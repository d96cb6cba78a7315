// Finds the window of a load, from everything that says something about it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/result.h"
#include "core/load/load_files.h"
#include "energy/shares/window_placement.h"
#include "recorders/recording.h"
#include "runs/evaluate/run_options.h"

namespace aggregate_power {

struct WindowOptions {
  Contract contract = Contract::october;
  GivenLoad given = {};
  // Windows that are not exact and may be used nevertheless. A command that only reports takes any.
  bool takes_estimated = false;
  bool takes_wrapped = false;  // also one that is longer than the load, or that failed
  // A wrapped window as long as the load. Not in a store, where several results may lie beside one
  // recording.
  bool takes_wrapped_as_long = true;
  // The result, where other results may lie next to it; empty: none are looked at.
  std::string result = {};
  bool reports = false;  // what speaks against publishing a result is only reported
  bool takes_session = false;
  std::optional<Zone> result_zone = {};  // of the result's local times
  bool finds_zone = false;               // of the recording, by evidence
};
// `result` as in the options.
WindowOptions window_options(const RunOptions& run, const std::string& result = {});
// Of a command that only reports.
WindowOptions any_window(const RunSpec& run);

// The load with its window, or the reason why there is none.
struct PlacedLoad {
  LoadReading reading;
  std::optional<Placement> placement = {};  // of an estimated window
  std::vector<std::string> notes = {};      // what is odd about the window, for people
  bool includes_set_up = false;  // a wrapped window longer than the load, or a failed command
};

// In this order: what the caller states; exact instants; monotonic stamps tied by the recorder's
// clocks; the command that the recorder ran; an estimate; the generator's whole session. Throws
// what reading the recording throws.
PlacedLoad place_load(LoadReading reading, const Recording& recording,
                      const WindowOptions& options);

// The same of a recording that may have faults; a load that needs it then has these. Reads nothing
// of such a recording.
PlacedLoad placed_load(LoadReading reading, const Recording& recording,
                       const WindowOptions& options);

// Adds to the result of such a load where its window comes from and, if it is an estimate, what
// that means for each metric.
void add_window_facts(const PlacedLoad& placed, const LoadReading& reading, Result& result);

}  // namespace aggregate_power
