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

// ---- The tokens of a window that is not the whole load, from its list of requests.

// What the requests did inside a window. The input tokens of a request belong to the time until its
// first token, its output tokens to the time from there to its end, evenly; a request is completed
// where it ends. A list that is a sample of `completed` requests is scaled to them. Returns nullopt
// if none is listed with its times and tokens, or none of them ran in the window.
struct WorkInWindow {
  std::int64_t completed = 0;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  bool is_approximate = false;  // scaled
};
std::optional<WorkInWindow> work_in(const RequestTally& requests, std::int64_t completed,
                                    Window window);

// Whether some part of them that matters ran outside the window.
bool reach_beyond(const RequestTally& requests, Window window);

// Sets the counts to what was done in the window, except the ones that `keep` names.
struct KeptCounts {
  bool completed = false;
  bool input_tokens = false;
  bool output_tokens = false;
};
void set_work(LoadReading& reading, Load& load, const WorkInWindow& inside, KeptCounts keep = {});

// For a result whose sums contain the whole of each request that overlaps its window: counts only
// what was done in the window, and notes it. Where none is listed with its tokens, and requests ran
// for `outside_s` outside the window, the sums are too high by up to that share of it; above 5 %
// they are wrong.
void cut_counts(LoadReading& reading, const RequestTally& requests, double outside_s);

// How much of the window no request ran in, before the first and after the last.
double without_requests_s(const RequestTally& requests, Window window);

}  // namespace aggregate_power
