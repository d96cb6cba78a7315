// The requests that AIPerf exports, one by one; contract.md D.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "aggregate_power/sample.h"
#include "loads/load_files.h"

namespace aggregate_power {

// One request, as a line of profile_export.jsonl tells it.
struct ProfileRecord {
  bool is_profiling = true;  // not of the warm-up
  bool failed = false;
  // Of a request that counts. Nothing: missing, no number to Python's int(), or beyond 64 bits.
  std::optional<std::int64_t> input_tokens;
  std::optional<std::int64_t> output_tokens;
  // From its start to its end; they may be one. Nothing when it does not tell both.
  std::optional<Window> in_flight;
};

// Gives the records to `take`, one at a time: memory is for the longest line. Throws Error when a
// line is no such record, or what the source throws.
void read_profile_records(const NamedSource& records,
                          const std::function<void(const ProfileRecord&)>& take);

}  // namespace aggregate_power
