// What was measured: when, and how much work it did.
#pragma once

#include <cstdint>
#include <string_view>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// Where a window comes from.
enum class WindowSource {
  exact,      // instants of the Unix clock that the result states
  tied,       // monotonic stamps of the result, and the recorder's pair of both clocks
  wrapped,    // the recorder, which ran the load generator
  session,    // the generator's whole session, with its set-up
  estimated,  // a stamp to the second and a duration, placed by the power
  given,      // the caller
};
std::string_view window_source_name(WindowSource source);

struct Load {
  Window window;
  double reported_duration_s = 0;
  // 0 if the file has no usable number.
  std::int64_t completed = 0;
  std::int64_t total_input_tokens = 0;
  std::int64_t total_output_tokens = 0;
};

// Whether requests or tokens are known; else it is only a window.
inline bool did_work(const Load& load) {
  return load.completed > 0 || load.total_input_tokens > 0 || load.total_output_tokens > 0;
}

}  // namespace aggregate_power
