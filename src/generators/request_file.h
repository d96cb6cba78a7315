// The requests of a load one by one, whichever generator wrote them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/request.h"
#include "core/load/load_files.h"

namespace aggregate_power {

struct RequestFile {
  std::string generator;               // "vLLM"
  std::string source = {};             // the file
  std::vector<RequestTimes> requests;  // in the file's order, with failed ones and warm-ups
  // Their times are of the machine's monotonic clock, not Unix times.
  bool is_monotonic = false;
  std::optional<Window> monotonic_window = {};  // of the load, on that clock
  // That the generator counts and does not list.
  std::uint64_t unlisted_failures = 0;
  // What the file states of its load; 0: nothing.
  std::int64_t completed = 0;
  double duration_s = 0;
  bool has_instants = true;  // false: only how long the requests took

  // Moves times of a monotonic clock to the Unix clock: by the window of the load if `is_tied` to
  // this window, else the first request starts with the window. Returns whether that was assumed.
  bool place(Window window, bool is_tied);
};

// What must be in a list: when its requests ran, or at least how long they took.
enum class NeededTimes { instants, latencies };

// Throws FileError if the file cannot be read, and Error if it lists no request with its times; the
// message says what makes the generator write them. The summary of an AIPerf profile stands for the
// records beside it.
RequestFile read_requests(const std::string& path, NeededTimes needed = NeededTimes::instants);
RequestFile read_requests(LoadFiles files, NeededTimes needed);

// What read_requests() reads for this path.
std::string requests_path(const std::string& path);
// Where the file with the requests would be: the same path, except for a summary.
std::string requests_name(const std::string& path);

}  // namespace aggregate_power
