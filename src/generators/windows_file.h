// Reads the windows that a script logged: lines of begins and ends, a table, JSON, or what Zeus
// writes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/sample.h"
#include "base/text/time_zone.h"

namespace aggregate_power {

struct NamedWindow {
  std::string name;
  Window window;  // it may take no time
  // What the log itself says, in joules, by the number of the GPU: of a CSV of Zeus only.
  std::vector<std::pair<std::string, double>> logged_j = {};
};

struct WindowsFileOptions {
  Window recorded;                // what relative times are relative to
  std::optional<Zone> zone = {};  // of times without an offset
  bool* states_times = nullptr;   // set where a time is not relative to the recording
  bool any_clock = false;         // of a CSV of Zeus: times may be those of a monotonic clock
};

// Forms, recognized by the first line that is neither blank nor a comment ("# ..."):
//   begin NAME TIME, end NAME TIME   an end belongs to the last open begin of its name
//   name,start,end                   a CSV with these columns, in any order and among others
//   start_time,window_name,elapsed_time,...   a CSV of Zeus
//   [{"name": ..., "start": ..., "end": ...}, ...]   JSON
// TIME is an instant (instant.h), "+12.5" after the recording's start, or "-3" before its end. In
// the order of the file, lines by their begins; at least one. Throws FileError if the file cannot
// be opened, and Error, with the line, for what is none of these.
std::vector<NamedWindow> read_windows_file(const std::string& path,
                                           const WindowsFileOptions& options);

// The same for a text. `name` is for messages.
std::vector<NamedWindow> read_windows(std::string_view text, const std::string& name,
                                      const WindowsFileOptions& options);

// TIME. Throws Error with what is wrong with it, for the caller to say where.
double instant_in(std::string_view text, const WindowsFileOptions& options);

// Whether a text begins as a CSV of Zeus does: a log of windows, with energies and no samples.
bool is_zeus_log(std::string_view head);

}  // namespace aggregate_power
