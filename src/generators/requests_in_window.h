// The tokens of a window that is not the whole load, from its list of requests.
#pragma once

#include <cstdint>
#include <optional>

#include "core/load/load_files.h"

namespace aggregate_power {

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
