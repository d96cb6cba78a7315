// One request of a load.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace aggregate_power {

// Times are seconds of one clock: the Unix clock, or a monotonic one.
struct RequestTimes {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  double start_s = kUnknown;
  double first_token_s = kUnknown;  // its answer begins: prefill before it, decode after it
  double end_s = kUnknown;
  std::int64_t input_tokens = -1;  // -1: unknown
  std::int64_t output_tokens = -1;
  bool failed = false;
  bool cancelled = false;  // failed, because the load generator cancelled it as it was told to
  bool is_warm_up = false;
  std::string id = {};  // empty: the file has none

  bool has_times() const { return end_s >= start_s; }  // false if one is unknown
};

}  // namespace aggregate_power
