// What was measured: when, and how much work it did.
#pragma once

#include <cstdint>

#include "aggregate_power/sample.h"

namespace aggregate_power {

struct Load {
  Window window;
  double reported_duration_s = 0;
  // 0 if the file has no usable number.
  std::int64_t completed = 0;
  std::int64_t total_input_tokens = 0;
  std::int64_t total_output_tokens = 0;
};

}  // namespace aggregate_power
