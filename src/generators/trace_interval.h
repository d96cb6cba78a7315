// A stretch of time with a name: a kernel on a GPU, a layer, an annotation.
#pragma once

#include <cstdint>

namespace aggregate_power {

struct TraceInterval {
  double start_s = 0;  // from the origin of its trace
  double end_s = 0;    // not before the start
  std::uint32_t name = 0;
  std::uint32_t track = 0;  // the stream or thread that it is on: intervals of one track are nested
};

}  // namespace aggregate_power
